package web

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

// unambiguous refuses a request that another server could see end elsewhere than this one does: behind a
// proxy, what one of them takes for a body the other takes for the next request, of somebody else. The
// connection ends with it. RFC 9112, sections 2.2, 5 and 6.
func unambiguous(c *fiber.Ctx) error {
	if why := ambiguity(c.Request().Header.RawHeaders(), c.Request().Header.IsHTTP11()); why != "" {
		c.Context().SetConnectionClose()
		return models.E(models.BadRequest, "The request is not understood: "+why+".", nil)
	}
	return c.Next()
}

// ambiguity says what is wrong with the header lines of a request, "" when nothing is.
func ambiguity(head []byte, http11 bool) string {
	lengths, codings, hosts := 0, 0, 0
	for len(head) > 0 {
		line, rest, found := bytes.Cut(head, []byte("\n"))
		head = rest
		if !found && len(line) == 0 {
			break
		}
		whole, ended := bytes.CutSuffix(line, []byte("\r"))
		if found && !ended {
			return "a line of its header ends without a carriage return"
		}
		if len(whole) == 0 {
			break
		}
		name, value, named := bytes.Cut(whole, []byte(":"))
		switch {
		case whole[0] == ' ' || whole[0] == '\t':
			return "a line of its header is folded"
		case !named || len(name) == 0 || bytes.ContainsFunc(name, notInName):
			return "a line of its header has no proper name"
		case bytes.ContainsFunc(value, func(r rune) bool { return r == '\r' || r == 0 }):
			return "a line of its header holds control characters"
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if lengths++; len(value) == 0 || bytes.ContainsFunc(value, func(r rune) bool { return r < '0' || r > '9' }) {
				return "its Content-Length is no number"
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			if codings++; !bytes.EqualFold(value, []byte("chunked")) {
				return "its Transfer-Encoding is not chunked"
			}
		case bytes.EqualFold(name, []byte("Host")):
			hosts++
		}
	}
	switch {
	case lengths > 1 || codings > 1 || lengths+codings > 1:
		return "its length is given twice"
	case codings > 0 && !http11:
		return "HTTP/1.0 knows no Transfer-Encoding"
	case hosts > 1:
		return "it names two hosts"
	}
	return ""
}

// notInName says whether a character cannot stand in a header's name (RFC 9110, 5.6.2).
func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !bytes.ContainsRune([]byte("!#$%&'*+-.^_`|~"), r)
}
