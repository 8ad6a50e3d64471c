package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/views/lang"
)

// ValueKind says how a Value is shown.
type ValueKind string

// The kinds of a Value.
const (
	KindText   ValueKind = "text"   // Text is a string
	KindNumber ValueKind = "number" // Text is the number's own digits
	KindBool   ValueKind = "bool"   // Text is "yes" or "no"
	KindNone   ValueKind = "none"   // nothing was given (null)
	KindFields ValueKind = "fields" // Fields hold an object, in its own order
	KindItems  ValueKind = "items"  // Items hold a list
)

// Value is data of any shape, ready to be read: an object becomes a definition
// list, a list of alike objects a small table, any other list a list.
type Value struct {
	Kind   ValueKind
	Text   Foreign
	Fields []Entry
	Items  []Value
	// Shown is Text as the reader's language writes it; "" where that is Text itself. Figure says that it is
	// an amount or a quantity, whatever it was sent as.
	Shown  Foreign
	Figure bool
}

// Entry is one named value. Key is the exact name as sent; Label is the same
// in words and is shown where exactness does not matter.
type Entry struct {
	Key   Foreign
	Label Foreign
	Value Value
}

// TextValue is a Value of plain text.
func TextValue(s string) Value { return Value{Kind: KindText, Text: Foreign(s)} }

// Pair is an Entry of plain text under a label.
func Pair(label, text string) Entry {
	return Entry{Key: Foreign(label), Label: Foreign(label), Value: TextValue(text)}
}

// FieldsValue is a Value of named values.
func FieldsValue(entries ...Entry) Value { return Value{Kind: KindFields, Fields: entries} }

// maxDepth bounds nesting: deeper data is shown as the text that was sent, so
// that a page stays a page whatever arrives.
const maxDepth = 24

var errTrailing = errors.New("ui: more than one JSON value")

// FromJSON reads JSON into a Value. Members keep their order, numbers their own
// digits. It fails on text that is not exactly one JSON value.
func FromJSON(raw []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readValue(dec, 0)
	if err != nil {
		return Value{}, fmt.Errorf("ui: read value: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errTrailing
	}
	return v, nil
}

func readValue(dec *json.Decoder, depth int) (Value, error) {
	if depth >= maxDepth {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return Value{}, err
		}
		return TextValue(string(raw)), nil
	}
	tok, err := dec.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return readFields(dec, depth)
		}
		return readItems(dec, depth)
	case json.Number:
		return Value{Kind: KindNumber, Text: Foreign(t.String())}, nil
	case bool:
		if t {
			return Value{Kind: KindBool, Text: "yes"}, nil
		}
		return Value{Kind: KindBool, Text: "no"}, nil
	case string:
		return TextValue(t), nil
	}
	return Value{Kind: KindNone}, nil
}

func readFields(dec *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: KindFields}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := key.(string) // the decoder only gives strings here
		member, err := readValue(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Fields = append(v.Fields, Entry{Key: Foreign(name), Label: Label(name), Value: member})
	}
	_, err := dec.Token()
	return v, err
}

func readItems(dec *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: KindItems}
	for dec.More() {
		item, err := readValue(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	_, err := dec.Token()
	return v, err
}

// labelWords are the parts of names that are not written as they stand.
var labelWords = map[string]string{
	"po": "PO", "id": "ID", "gr": "GR", "erp": "ERP", "iban": "IBAN", "bic": "BIC", "vat": "VAT",
	"url": "URL", "qty": "quantity", "no": "number", "num": "number", "pct": "%", "sla": "SLA",
}

// Label puts a snake_case name into words: "po_id" is "PO ID",
// "quantity_left" is "Quantity left". A name of another make stays as it is.
func Label(key string) Foreign {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		return Foreign(key)
	}
	words := strings.FieldsFunc(key, func(r rune) bool { return r == '_' })
	for i, w := range words {
		if known, ok := labelWords[w]; ok {
			words[i] = known
			continue
		}
		if i == 0 {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return Foreign(strings.Join(words, " "))
}

// Scalar says whether the value is shown in one piece.
func (v Value) Scalar() bool { return v.Kind != KindFields && v.Kind != KindItems }

// words is what is read: the reader's form, or the text as sent where names and values are to be exact.
func (v Value) words(exact bool) Foreign {
	if exact || v.Shown == "" {
		return v.Text
	}
	return v.Shown
}

// raw is the text as sent where something else is read, to be had on hover; "" where it is read itself.
func (v Value) raw(exact bool) string {
	if exact || v.Shown == "" || v.Shown == v.Text {
		return ""
	}
	return v.Text.Plain()
}

// Empty says whether there is nothing to show.
func (v Value) Empty() bool {
	switch v.Kind {
	case KindFields:
		return len(v.Fields) == 0
	case KindItems:
		return len(v.Items) == 0
	case KindNone:
		return true
	}
	return v.Text == ""
}

// Columns are the table headings of a list of alike objects: at least one
// object, only objects, every value in one piece, few enough to read. Any
// other list has none.
func (v Value) Columns() []Entry {
	if v.Kind != KindItems || len(v.Items) == 0 {
		return nil
	}
	var cols []Entry
	seen := map[Foreign]bool{}
	for _, item := range v.Items {
		if item.Kind != KindFields || len(item.Fields) == 0 {
			return nil
		}
		for _, f := range item.Fields {
			if !f.Value.Scalar() {
				return nil
			}
			if !seen[f.Key] {
				seen[f.Key] = true
				cols = append(cols, Entry{Key: f.Key, Label: f.Label})
			}
		}
	}
	if len(cols) > 8 {
		return nil
	}
	TellApart(cols)
	return cols
}

// TellApart adds its exact name to each label that another name beside it has too, so that no value is taken
// for the other's.
func TellApart(entries []Entry) {
	names := map[Foreign]Foreign{} // by label; "" for one that several names have
	for _, e := range entries {
		if first, ok := names[e.Label]; ok && first != e.Key {
			names[e.Label] = ""
			continue
		}
		names[e.Label] = e.Key
	}
	for i, e := range entries {
		if e.Label != "" && names[e.Label] == "" {
			entries[i].Label += " (" + e.Key + ")"
		}
	}
}

// nested says whether the value needs the whole width below its name.
func (v Value) nested() bool {
	if v.Kind == KindFields {
		return len(v.Fields) > 0
	}
	return slices.ContainsFunc(v.Items, func(item Value) bool { return !item.Scalar() })
}

// Deep says whether values stand within values of it.
func (v Value) Deep() bool {
	return slices.ContainsFunc(v.Fields, func(e Entry) bool { return e.Value.nested() }) || v.Kind == KindItems && v.nested()
}

// numeric says whether a column holds figures to be set flush right: numbers,
// or decimals sent as text. Digits alone as text are names, not figures.
func numeric(items []Value, key Foreign) bool {
	some := false
	for _, item := range items {
		switch v := item.Get(key); v.Kind {
		case KindNumber:
			some = true
		case KindNone:
		case KindText:
			if v.Figure {
				some = true
				continue
			}
			if _, _, frac, ok := lang.Decimal(string(v.Text)); !ok || frac == "" {
				return false
			}
			some = true
		default:
			return false
		}
	}
	return some
}

// Get is the value under key, or nothing.
func (v Value) Get(key Foreign) Value {
	for _, f := range v.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return Value{Kind: KindNone}
}

func (v Value) equal(w Value) bool {
	if v.Kind != w.Kind || v.Text != w.Text || len(v.Fields) != len(w.Fields) || len(v.Items) != len(w.Items) {
		return false
	}
	for _, f := range v.Fields {
		if !f.Value.equal(w.Get(f.Key)) {
			return false
		}
	}
	for i := range v.Items {
		if !v.Items[i].equal(w.Items[i]) {
			return false
		}
	}
	return true
}

// Difference is how two sides of a row relate.
type Difference string

// The differences.
const (
	Same      Difference = "same"
	Differs   Difference = "differs"
	OnlyLeft  Difference = "only_left"
	OnlyRight Difference = "only_right"
)

// CompareRow is one line of a comparison.
type CompareRow struct {
	Key, Label  Foreign
	Left, Right Value
	Difference  Difference
}

// needsRaw says whether the two sides read the same although they differ: then what was sent tells them apart.
func (r CompareRow) needsRaw() bool {
	return r.Difference == Differs && r.Left.Scalar() && r.Right.Scalar() && r.Left.Text != r.Right.Text && r.Left.words(false) == r.Right.words(false)
}

// Compare joins two objects by name: the left side's order first, then what
// only the right side has.
func Compare(left, right Value) []CompareRow {
	var rows []CompareRow
	has := map[Foreign]bool{}
	for _, f := range right.Fields {
		has[f.Key] = true
	}
	done := map[Foreign]bool{}
	for _, f := range left.Fields {
		if done[f.Key] {
			continue
		}
		done[f.Key] = true
		row := CompareRow{Key: f.Key, Label: f.Label, Left: f.Value, Right: right.Get(f.Key)}
		switch {
		case !has[f.Key]:
			row.Difference = OnlyLeft
		case row.Left.equal(row.Right):
			row.Difference = Same
		default:
			row.Difference = Differs
		}
		rows = append(rows, row)
	}
	for _, f := range right.Fields {
		if done[f.Key] {
			continue
		}
		done[f.Key] = true
		rows = append(rows, CompareRow{Key: f.Key, Label: f.Label, Left: Value{Kind: KindNone}, Right: f.Value, Difference: OnlyRight})
	}
	return rows
}

// CountDifferences counts the rows that are not the same.
func CountDifferences(rows []CompareRow) int {
	n := 0
	for _, r := range rows {
		if r.Difference != Same {
			n++
		}
	}
	return n
}
