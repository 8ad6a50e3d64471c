package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep a message may be nested; the SDK's own limit is the same.
const maxDepth = 1000

// maxSafeID is the largest integer that every JSON reader keeps exact; the SDK reads ids as doubles.
const maxSafeID = 1<<53 - 1

// message is one JSON-RPC message, its parts the bytes as they came.
type message struct {
	id        json.RawMessage // nil when absent or unreadable
	method    string
	params    map[string]json.RawMessage
	badParams bool            // params are no object
	tool      string          // tools/call: params.name
	args      json.RawMessage // tools/call: params.arguments, {} when absent
	repeated  []string        // pointers of members whose name occurred before in their object
}

var errNotJSON = errors.New("the body is not one JSON value")

// notification says whether the message expects no answer.
func (m *message) notification() bool {
	return m.id == nil && strings.HasPrefix(m.method, "notifications/")
}

var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// scan reads body once from end to end. It fails unless the body is exactly one JSON text in UTF-8, and
// answers where names repeat. Escaped lone surrogates pass: they are well-formed JSON, and what may
// stand in a value is for the reader of that value to say.
func scan(body []byte) (repeated []string, err error) {
	if !utf8.Valid(body) {
		return nil, errNotJSON
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsonOptions...)
	if err := walk(dec, "", 0, &repeated); err != nil {
		return nil, errNotJSON
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return repeated, nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func walk(dec *jsontext.Decoder, path string, depth int, repeated *[]string) error {
	if depth > maxDepth {
		return errNotJSON
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch tok.Kind() {
	case '{':
		seen := map[string]bool{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			key := name.String()
			at := path + "/" + pointerEscapes.Replace(key)
			if seen[key] {
				*repeated = append(*repeated, at)
			}
			seen[key] = true
			if err := walk(dec, at, depth+1, repeated); err != nil {
				return err
			}
		}
		_, err = dec.ReadToken()
	case '[':
		for i := 0; dec.PeekKind() != ']'; i++ {
			if err := walk(dec, path+"/"+strconv.Itoa(i), depth+1, repeated); err != nil {
				return err
			}
		}
		_, err = dec.ReadToken()
	}
	return err
}

// members splits an object into its members without copying or changing a byte of their values; ok is
// false when raw is no object. raw must have passed scan.
func members(raw json.RawMessage) (all map[string]json.RawMessage, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsonOptions...)
	tok, err := dec.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return nil, false
	}
	all = map[string]json.RawMessage{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		end := int(dec.InputOffset())
		all[key] = raw[end-len(value) : end]
	}
	return all, true
}

// text reads a JSON string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

var integerSyntax = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})$`)

// readableID says whether raw is an id the desk can echo exactly: a string, or an integer that a double
// holds.
func readableID(raw json.RawMessage) bool {
	if _, ok := text(raw); ok {
		return true
	}
	if !integerSyntax.Match(raw) {
		return false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n <= maxSafeID && n >= -maxSafeID
}
