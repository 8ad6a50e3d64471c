package web

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/pages"
)

// unreadableMark stands for what is no text, as browsers show it.
const unreadableMark = "\uFFFD"

// isText says whether s can be kept by every database: valid UTF-8 without the character zero.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// readable lets only text through, so that both databases answer alike: no record has an address that
// is no text, such a query is not understood, and in a form the unreadable places are marked, so that
// nothing a person typed is lost. JSON bodies are read strictly by themselves.
func readable(c *fiber.Ctx) error {
	// Fiber would unpack a body as often as it is asked for it, with no limit on what comes out and
	// before anybody proved who they are.
	if coding := c.Get(fiber.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return fiber.NewError(fiber.StatusUnsupportedMediaType, "Send the body as it is, without Content-Encoding.")
	}
	path, err := url.PathUnescape(c.Path())
	if err != nil || !isText(path) {
		return models.E(models.NotFound, "There is nothing at this address.", nil)
	}
	unreadable := ""
	c.Context().QueryArgs().VisitAll(func(name, value []byte) {
		if !isText(string(name)) || !isText(string(value)) {
			unreadable = strings.ToValidUTF8(string(name), unreadableMark)
		}
	})
	if unreadable != "" {
		return models.E(models.BadRequest, "The query holds characters that are no text.", map[string]any{"field": strings.ReplaceAll(unreadable, "\x00", unreadableMark)})
	}
	markUnreadable(c)
	return c.Next()
}

func markUnreadable(c *fiber.Ctx) {
	form := c.Context().PostArgs()
	var fields []pages.Typed
	clean := true
	form.VisitAll(func(name, value []byte) {
		f := pages.Typed{Name: string(name), Value: string(value)}
		clean = clean && isText(f.Name) && isText(f.Value)
		fields = append(fields, f)
	})
	if clean {
		return
	}
	c.Locals(pages.TypedKey, fields) // the pages name what cannot stand in a text
	form.Reset()
	for _, f := range fields {
		form.Add(marked(f.Name), marked(f.Value))
	}
}

func marked(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, unreadableMark), "\x00", unreadableMark)
}
