package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Sizes a form may have. They keep it one that a person can fill in.
const (
	maxFields      = 50
	maxOptions     = 200
	maxName        = 100   // characters of a key or a field's name
	maxTitle       = 200   // characters
	maxDescription = 2000  // characters
	maxMessage     = 8000  // characters
	maxAnswer      = 10000 // characters of one answer
	maxDigits      = 400   // characters of a number
)

// Kind is what a field takes.
type Kind string

// The kinds of fields a form may have.
const (
	KindText    Kind = "text"    // characters, perhaps of a Format
	KindNumber  Kind = "number"  // a decimal
	KindInteger Kind = "integer" // a whole number
	KindBoolean Kind = "boolean" // yes or no
	KindChoice  Kind = "choice"  // one of Options
	KindChoices Kind = "choices" // some of Options
)

// Formats a text field may have.
const (
	FormatEmail    = "email"
	FormatURI      = "uri"
	FormatDate     = "date"
	FormatDateTime = "date-time"
)

// Form is a requestedSchema that has been read: its fields in the order the server wrote them.
type Form struct {
	Title       string
	Description string
	Fields      []Field
}

// Field is one field of a form. Title, Description and Options are a foreign server's text.
type Field struct {
	Name        string // of the property
	FormName    string // under which the answer comes back: the name, or <key>.<name> among several requests
	Kind        Kind
	Title       string
	Description string
	Required    bool
	Format      string // of a text, empty for any
	MinLength   *int   // characters of a text
	MaxLength   *int
	Minimum     string // of a number, as a plain decimal; empty for none
	Maximum     string
	MinItems    *int // of choices
	MaxItems    *int
	Options     []Option
	Default     []string // as an answer would be given; empty for none
}

// Option is one choice. Title is its value when the server gave no other.
type Option struct{ Value, Title string }

// Label is how the field is called: its title, else its name.
func (f Field) Label() string {
	if strings.TrimSpace(f.Title) != "" {
		return f.Title
	}
	return f.Name
}

// takesSecrets says whether a secret could be typed into the field at all.
func (f Field) takesSecrets() bool {
	return f.Kind == KindNumber || f.Kind == KindInteger || (f.Kind == KindText && f.Format == "")
}

// reader collects what is wrong with a schema. It works on JSON that is known to be well formed.
type reader struct{ issues []models.Issue }

func (r *reader) add(path, format string, args ...any) {
	r.issues = append(r.issues, models.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// at is the JSON Pointer of a member.
func at(base, name string) string { return base + "/" + pointerEscapes.Replace(clip(name, maxName)) }

type member struct {
	name  string
	value json.RawMessage
}

// members reads an object in the order it was written.
func members(raw json.RawMessage) ([]member, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return nil, false
	}
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
		list = append(list, member{text, json.RawMessage(bytes.Clone(value))})
	}
	return list, true
}

// object reads an object and turns down every member that is not allowed.
func (r *reader) object(path string, raw json.RawMessage, what string, allowed ...string) map[string]json.RawMessage {
	list, ok := members(raw)
	if !ok {
		r.add(path, "must be an object: %s", what)
		return nil
	}
	got := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		if !slices.Contains(allowed, m.name) {
			r.add(at(path, m.name), "is not permitted in %s", what)
			continue
		}
		got[m.name] = m.value
	}
	return got
}

func kindOf(raw json.RawMessage) jsontext.Kind { return jsontext.Value(raw).Kind() }

// text reads a string of at most so many characters; an absent one is empty.
func (r *reader) text(path string, raw json.RawMessage, most int) string {
	if raw == nil {
		return ""
	}
	if kindOf(raw) != '"' {
		r.add(path, "must be a string")
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		r.add(path, "must be a string")
		return ""
	}
	if utf8.RuneCountInString(s) > most {
		r.add(path, "must have at most %d characters", most)
		return ""
	}
	return s
}

// items reads an array; nil with an issue when it is none.
func (r *reader) items(path string, raw json.RawMessage, what string) []json.RawMessage {
	if kindOf(raw) != '[' {
		r.add(path, "must be an array of %s", what)
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		r.add(path, "must be an array of %s", what)
		return nil
	}
	return list
}

// number reads a JSON number as a plain decimal; empty when absent or wrong.
func (r *reader) number(path string, raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	if kindOf(raw) == '0' && len(raw) <= maxDigits {
		if n, ok := plain(string(raw)); ok {
			return n
		}
	}
	r.add(path, "must be a number")
	return ""
}

// count reads a whole number that is not negative.
func (r *reader) count(path string, raw json.RawMessage, most int, of string) *int {
	if raw == nil {
		return nil
	}
	text := r.number(path, raw)
	if text == "" {
		return nil
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || !value.IsInt() || value.Sign() < 0 {
		r.add(path, "must be a whole number of %s", of)
		return nil
	}
	n := most + 1
	if value.Num().IsInt64() && value.Num().Int64() <= int64(most) {
		n = int(value.Num().Int64())
	}
	return &n
}

// plain writes a JSON number without an exponent and without changing its value.
func plain(number string) (string, bool) {
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return "", false
	}
	digits, exact := value.FloatPrec()
	if !exact || digits > maxDigits {
		return "", false
	}
	text := value.FloatString(digits)
	return text, len(text) <= maxDigits
}

// form reads a requestedSchema.
func (r *reader) form(path string, raw json.RawMessage) *Form {
	if raw == nil {
		r.add(path, "is required: the form that the server asks to have filled in")
		return nil
	}
	root := r.object(path, raw, "a form's schema", "$schema", "type", "title", "description", "properties", "required", "additionalProperties")
	if root == nil {
		return nil
	}
	r.text(at(path, "$schema"), root["$schema"], maxTitle)
	f := &Form{Title: r.text(at(path, "title"), root["title"], maxTitle), Description: r.text(at(path, "description"), root["description"], maxDescription)}
	if root["type"] == nil || r.text(at(path, "type"), root["type"], maxTitle) != "object" {
		r.add(at(path, "type"), `must be "object"`)
	}
	// A form is closed anyway: nothing is answered that it does not name.
	if extra := root["additionalProperties"]; extra != nil && kindOf(extra) != 'f' {
		r.add(at(path, "additionalProperties"), "must be false, or absent: a form has no other fields than those it names")
	}
	if root["properties"] == nil {
		r.add(at(path, "properties"), "is required: the fields of the form; an empty object for none")
		return f
	}
	fields, ok := members(root["properties"])
	if !ok {
		r.add(at(path, "properties"), "must be an object: the fields of the form")
		return f
	}
	if len(fields) > maxFields {
		r.add(at(path, "properties"), "must have at most %d fields", maxFields)
		return f
	}
	for _, m := range fields {
		f.Fields = append(f.Fields, r.field(at(at(path, "properties"), m.name), m))
	}
	r.required(at(path, "required"), root["required"], f)
	return f
}

func (r *reader) required(path string, raw json.RawMessage, f *Form) {
	if raw == nil {
		return
	}
	for i, item := range r.items(path, raw, "field names") {
		here := fmt.Sprintf("%s/%d", path, i)
		name := r.text(here, item, maxName)
		k := slices.IndexFunc(f.Fields, func(f Field) bool { return f.Name == name })
		switch {
		case k < 0:
			r.add(here, "names no field of the form")
		case f.Fields[k].Required:
			r.add(here, "names a field that is named before")
		default:
			f.Fields[k].Required = true
		}
	}
}

// everyField are the keywords that a field of any kind may have.
var everyField = []string{"type", "title", "description", "default"}

func (r *reader) field(path string, m member) Field {
	f := Field{Name: m.name, FormName: m.name}
	switch {
	case m.name == "":
		r.add(path, "must have a name")
	case utf8.RuneCountInString(m.name) > maxName:
		r.add(path, "must have a name of at most %d characters", maxName)
	}
	list, ok := members(m.value)
	if !ok {
		r.add(path, "must be an object: the schema of a field")
		return f
	}
	schema := make(map[string]json.RawMessage, len(list))
	for _, k := range list {
		schema[k.name] = k.value
	}
	if schema["type"] == nil {
		r.add(at(path, "type"), "is required: string, number, integer, boolean, or array for several choices")
		return f
	}
	start := len(r.issues)
	var own []string
	switch kind := r.text(at(path, "type"), schema["type"], maxTitle); kind {
	case "string":
		switch {
		case schema["enum"] != nil:
			f.Kind, own = KindChoice, []string{"enum", "enumNames"}
			f.Options = r.enum(path, schema)
		case schema["oneOf"] != nil:
			f.Kind, own = KindChoice, []string{"oneOf"}
			f.Options = r.titled(at(path, "oneOf"), schema["oneOf"])
		default:
			f.Kind, own = KindText, []string{"minLength", "maxLength", "format"}
			r.lengths(path, schema, &f)
		}
	case "number", "integer":
		f.Kind, own = Kind(kind), []string{"minimum", "maximum"}
		f.Minimum, f.Maximum = r.number(at(path, "minimum"), schema["minimum"]), r.number(at(path, "maximum"), schema["maximum"])
		if f.Minimum != "" && f.Maximum != "" && compare(f.Minimum, f.Maximum) > 0 {
			r.add(at(path, "maximum"), "must not be below minimum")
		}
	case "boolean":
		f.Kind = KindBoolean
	case "array":
		f.Kind, own = KindChoices, []string{"items", "minItems", "maxItems"}
		r.choices(path, schema, &f)
	case "object":
		r.add(at(path, "type"), "must not be object: a form is flat")
	default:
		r.add(at(path, "type"), "must be string, number, integer, boolean, or array for several choices")
	}
	for _, k := range list {
		if f.Kind != "" && !slices.Contains(everyField, k.name) && !slices.Contains(own, k.name) {
			r.add(at(path, k.name), "is not permitted in this kind of field")
		}
	}
	f.Title = r.text(at(path, "title"), schema["title"], maxTitle)
	f.Description = r.text(at(path, "description"), schema["description"], maxDescription)
	if len(r.issues) == start {
		r.byDefault(at(path, "default"), schema["default"], &f)
	}
	return f
}

func (r *reader) lengths(path string, schema map[string]json.RawMessage, f *Field) {
	f.MinLength = r.count(at(path, "minLength"), schema["minLength"], maxAnswer, "characters")
	f.MaxLength = r.count(at(path, "maxLength"), schema["maxLength"], maxAnswer, "characters")
	if f.MinLength != nil && *f.MinLength > maxAnswer {
		r.add(at(path, "minLength"), "must be at most %d: nobody can be asked for more", maxAnswer)
	} else if f.MinLength != nil && f.MaxLength != nil && *f.MinLength > *f.MaxLength {
		r.add(at(path, "maxLength"), "must not be below minLength")
	}
	if f.MaxLength != nil && *f.MaxLength > maxAnswer {
		*f.MaxLength = maxAnswer
	}
	if schema["format"] == nil {
		return
	}
	f.Format = r.text(at(path, "format"), schema["format"], maxTitle)
	if !slices.Contains([]string{FormatEmail, FormatURI, FormatDate, FormatDateTime}, f.Format) {
		r.add(at(path, "format"), "must be email, uri, date or date-time")
	}
}

// enum reads plain choices, with the titles of the older form enumNames if there are any.
func (r *reader) enum(path string, schema map[string]json.RawMessage) []Option {
	options := r.plainOptions(at(path, "enum"), schema["enum"])
	if schema["enumNames"] == nil {
		return options
	}
	names := r.items(at(path, "enumNames"), schema["enumNames"], "titles")
	if names != nil && len(names) != len(options) {
		r.add(at(path, "enumNames"), "must have one title for each of enum")
		return options
	}
	for i, raw := range names {
		options[i].Title = r.text(fmt.Sprintf("%s/enumNames/%d", path, i), raw, maxTitle)
	}
	return options
}

func (r *reader) plainOptions(path string, raw json.RawMessage) []Option {
	var options []Option
	for i, item := range r.optionItems(path, raw, "strings") {
		here := fmt.Sprintf("%s/%d", path, i)
		value := r.text(here, item, maxTitle)
		options = r.option(here, options, Option{Value: value, Title: value})
	}
	return options
}

// titled reads choices given as {"const", "title"}.
func (r *reader) titled(path string, raw json.RawMessage) []Option {
	var options []Option
	for i, item := range r.optionItems(path, raw, `{"const", "title"}`) {
		here := fmt.Sprintf("%s/%d", path, i)
		got := r.object(here, item, "a choice", "const", "title")
		for _, name := range []string{"const", "title"} {
			if got != nil && got[name] == nil {
				r.add(at(here, name), "is required")
			}
		}
		options = r.option(at(here, "const"), options, Option{Value: r.text(at(here, "const"), got["const"], maxTitle), Title: r.text(at(here, "title"), got["title"], maxTitle)})
	}
	return options
}

func (r *reader) optionItems(path string, raw json.RawMessage, what string) []json.RawMessage {
	list := r.items(path, raw, what)
	switch {
	case list != nil && len(list) == 0:
		r.add(path, "must have at least one choice")
	case len(list) > maxOptions:
		r.add(path, "must have at most %d choices", maxOptions)
		return nil
	}
	return list
}

func (r *reader) option(path string, options []Option, o Option) []Option {
	if slices.ContainsFunc(options, func(other Option) bool { return other.Value == o.Value }) {
		r.add(path, "is a choice already")
	}
	return append(options, o)
}

func (r *reader) choices(path string, schema map[string]json.RawMessage, f *Field) {
	items := at(path, "items")
	if schema["items"] == nil {
		r.add(items, "is required: the choices")
	} else if list, ok := members(schema["items"]); !ok {
		r.add(items, "must be an object: the choices")
	} else if slices.ContainsFunc(list, func(m member) bool { return m.name == "anyOf" }) {
		got := r.object(items, schema["items"], "titled choices", "anyOf")
		f.Options = r.titled(at(items, "anyOf"), got["anyOf"])
	} else {
		got := r.object(items, schema["items"], "choices", "type", "enum")
		if got["type"] == nil || r.text(at(items, "type"), got["type"], maxTitle) != "string" {
			r.add(at(items, "type"), `must be "string"`)
		}
		if got["enum"] == nil {
			r.add(at(items, "enum"), "is required: an array field can only be choices")
		} else {
			f.Options = r.plainOptions(at(items, "enum"), got["enum"])
		}
	}
	f.MinItems = r.count(at(path, "minItems"), schema["minItems"], maxOptions, "choices")
	f.MaxItems = r.count(at(path, "maxItems"), schema["maxItems"], maxOptions, "choices")
	if f.MinItems != nil && *f.MinItems > len(f.Options) {
		r.add(at(path, "minItems"), "must not be more than there are choices")
	} else if f.MinItems != nil && f.MaxItems != nil && *f.MinItems > *f.MaxItems {
		r.add(at(path, "maxItems"), "must not be below minItems")
	}
}

// byDefault reads a default, which has to be an answer that the field would take.
func (r *reader) byDefault(path string, raw json.RawMessage, f *Field) {
	if raw == nil {
		return
	}
	var given []string
	switch kind := kindOf(raw); {
	case f.Kind == KindChoices && kind == '[':
		given = []string{}
		for i, item := range r.items(path, raw, "choices") {
			given = append(given, r.text(fmt.Sprintf("%s/%d", path, i), item, maxTitle))
		}
	case (f.Kind == KindText || f.Kind == KindChoice) && kind == '"':
		given = []string{r.text(path, raw, maxAnswer)}
	case (f.Kind == KindNumber || f.Kind == KindInteger) && kind == '0':
		given = []string{r.number(path, raw)}
	case f.Kind == KindBoolean && (kind == 't' || kind == 'f'):
		given = []string{string(raw)}
	default:
		r.add(path, "must be of the field's own type")
		return
	}
	if f.Kind == KindText && given[0] == "" && (f.MinLength == nil || *f.MinLength == 0) {
		return // an empty text stands in the field already
	}
	if _, _, problem := f.read(given, time.UTC); problem != "" {
		r.add(path, "is no answer that the field takes: it %s", problem)
		return
	}
	f.Default = given
}
