package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Body is one JSON object as it was sent.
type Body struct {
	raw     jsontext.Value
	members []member
	issues  []models.Issue // duplicate names and text that is no Unicode
	object  bool
}

type member struct {
	name string
	raw  jsontext.Value
}

// Parse takes a body apart. Only what cannot be read as JSON at all fails here, with BAD_REQUEST; the
// rest is told by the functions that read a request out of the body. No bytes at all are an empty
// object. The body keeps no reference to raw.
func Parse(raw []byte) (*Body, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return &Body{raw: jsontext.Value("{}"), object: true}, nil
	}
	b := &Body{raw: jsontext.Value(bytes.Clone(raw))}
	if !b.raw.IsValid() {
		issues, err := blemishes(b.raw)
		if err != nil {
			return nil, err
		}
		b.issues = issues
	}
	b.issues = append(b.issues, bounds(b.raw)...)
	b.members, b.object = membersOf(b.raw)
	return b, nil
}

// WorkspaceID is the workspace the body names; empty when it names none, or not as text.
func (b *Body) WorkspaceID() string {
	if i := slices.IndexFunc(b.members, func(m member) bool { return m.name == "workspace_id" }); i >= 0 {
		if s, ok := textOf(b.members[i].raw); ok {
			return s
		}
	}
	return ""
}

// CheckWorkspace is VALIDATION_ERROR when the body names a workspace, but not as text: such a call
// must not be taken for one that names none.
func (b *Body) CheckWorkspace() error {
	for _, m := range b.members {
		if _, ok := textOf(m.raw); m.name == "workspace_id" && !ok {
			return models.Invalid(models.Issue{Path: "/workspace_id", Message: "must be text"})
		}
	}
	return nil
}

// Has says whether the body has a member of that name at its top.
func (b *Body) Has(name string) bool {
	return slices.ContainsFunc(b.members, func(m member) bool { return m.name == name })
}

// Unknown lists the members at the body's top that the request has no field for, in their order.
func (b *Body) Unknown(s *Spec) []string {
	var names []string
	for _, m := range b.members {
		if !slices.Contains(s.names, m.name) && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// membersOf lists the members of an object, false when raw is none. Raw must be well-formed.
func membersOf(raw jsontext.Value) ([]member, bool) {
	if raw.Kind() != '{' {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	var list []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, member{text, cut(raw, dec, value)})
	}
	return list, true
}

// itemsOf lists the items of an array, false when raw is none. Raw must be well-formed.
func itemsOf(raw jsontext.Value) ([]jsontext.Value, bool) {
	if raw.Kind() != '[' {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	list := []jsontext.Value{}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, cut(raw, dec, value))
	}
	return list, true
}

// cut is the part of raw that the decoder read last: what the decoder gives is good only until it
// reads on.
func cut(raw jsontext.Value, dec *jsontext.Decoder, value jsontext.Value) jsontext.Value {
	end := dec.InputOffset()
	return raw[end-int64(len(value)) : end : end]
}

// textOf is the string a JSON text stands for, false when it is none.
func textOf(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, []byte(raw))
	return string(text), err == nil
}

func quote(s string) jsontext.Value {
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return jsontext.Value(`""`) // only for text that is no Unicode, which was refused before
	}
	return text
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func child(at, name string) string { return at + "/" + pointerEscapes.Replace(name) }

func item(at string, i int) string { return at + "/" + strconv.Itoa(i) }

// What a body may hold, so that whatever is kept can also be shown.
const (
	maxDepth  = 64
	maxItems  = 2000
	maxValues = 50000
)

// bounds finds the place from which on a body is too deep, too long or too large to be shown to a
// person. Raw must be well-formed.
func bounds(raw jsontext.Value) []models.Issue {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	for values := 0; ; values++ {
		if _, err := dec.ReadToken(); err != nil {
			return nil // the end
		}
		at := string(dec.StackPointer())
		if values > maxValues {
			return []models.Issue{{Path: "", Message: fmt.Sprintf("holds more than %d values; send those that matter", maxValues)}}
		}
		depth := dec.StackDepth()
		if depth > maxDepth {
			return []models.Issue{{Path: at, Message: fmt.Sprintf("is nested more than %d levels deep; send it flatter", maxDepth)}}
		}
		if kind, n := dec.StackIndex(depth); kind == '[' && n > maxItems {
			return []models.Issue{{Path: at[:strings.LastIndexByte(at, '/')], Message: fmt.Sprintf("holds more than %d items; send those that matter", maxItems)}}
		}
	}
}

// blemishes finds every duplicate name and every text that is no Unicode in JSON that is otherwise
// well-formed, and fails with BAD_REQUEST where it is not.
func blemishes(raw jsontext.Value) ([]models.Issue, error) {
	type level struct {
		at    string
		list  bool
		next  int // in a list
		names map[string]bool
		name  string // the member being read
	}
	var (
		issues []models.Issue
		stack  []*level
	)
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	here := func() string {
		if len(stack) == 0 {
			return ""
		}
		top := stack[len(stack)-1]
		if top.list {
			return item(top.at, top.next)
		}
		return child(top.at, top.name)
	}
	for {
		kind := dec.PeekKind()
		inObject := len(stack) > 0 && !stack[len(stack)-1].list
		isName := inObject && kind == '"' && func() bool { _, n := dec.StackIndex(dec.StackDepth()); return n%2 == 0 }()
		switch {
		case kind == '{' || kind == '[':
			at := here()
			if _, err := dec.ReadToken(); err != nil {
				return nil, notJSON(err)
			}
			stack = append(stack, &level{at: at, list: kind == '[', names: map[string]bool{}})
			continue
		case kind == '}' || kind == ']':
			if _, err := dec.ReadToken(); err != nil {
				return nil, notJSON(err)
			}
			stack = stack[:len(stack)-1]
		default:
			value, err := dec.ReadValue()
			if errors.Is(err, io.EOF) && len(stack) == 0 {
				return issues, nil
			}
			if err != nil {
				return nil, notJSON(err)
			}
			var sound error
			if kind == '"' {
				var text []byte
				text, sound = jsontext.AppendUnquote(nil, []byte(value))
				if isName {
					top := stack[len(stack)-1]
					top.name = string(text)
					if top.names[top.name] {
						issues = append(issues, models.Issue{Path: here(), Message: "is given twice; give each name once"})
					}
					top.names[top.name] = true
				}
			}
			if sound != nil {
				issues = append(issues, models.Issue{Path: here(), Message: "is not valid Unicode text; send UTF-8 without lone surrogates"})
			}
			if isName {
				continue
			}
		}
		if len(stack) > 0 {
			stack[len(stack)-1].next++
		} else if rest := bytes.TrimSpace(raw[dec.InputOffset():]); len(rest) > 0 {
			return nil, notJSON(errors.New("more than one value"))
		}
	}
}

func notJSON(cause error) error {
	return models.E(models.BadRequest, "The body is not valid JSON. Send one JSON object.", nil).Because(cause)
}
