package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// reader fills request structs and collects what is wrong on the way.
type reader struct {
	issues []models.Issue
	query  bool // values come from a query string: numbers and booleans are text
}

func (r *reader) fail(at, format string, args ...any) {
	r.issues = append(r.issues, models.Issue{Path: at, Message: fmt.Sprintf(format, args...)})
}

// err is VALIDATION_ERROR when anything was wrong.
func (r *reader) err() error {
	if len(r.issues) == 0 {
		return nil
	}
	return models.Invalid(r.issues...)
}

// reads is a type that reads itself from JSON.
type reads interface {
	read(r *reader, raw jsontext.Value, at string)
}

// oneOf is a text type with a fixed list of values.
type oneOf interface{ values() []string }

// checks is a struct with rules that go across its fields; it sees only what was readable.
type checks interface{ check(r *reader, at string) }

// keeps is a struct that also wants the JSON it was read from.
type keeps interface{ keep(raw jsontext.Value) }

// limits come from a field's wire tag: "max=255" bounds the characters of a text or the value of a
// number, "min=1" the value of a number.
type limits struct {
	required bool
	min, max *int64
}

type field struct {
	name  string
	index []int
	limits
}

var fieldCache sync.Map // reflect.Type to []field

// fieldsOf lists the JSON fields of a struct type in order.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		one := field{name: name, index: f.Index}
		one.required = !strings.Contains(rest, "omitempty") && !strings.Contains(rest, "omitzero")
		for part := range strings.SplitSeq(f.Tag.Get("wire"), ",") {
			key, text, found := strings.Cut(part, "=")
			n, err := strconv.ParseInt(text, 10, 64)
			if !found {
				continue
			}
			if err != nil {
				panic("wire: tag of " + t.Name() + "." + f.Name + ": " + err.Error())
			}
			switch key {
			case "min":
				one.min = &n
			case "max":
				one.max = &n
			}
		}
		list = append(list, one)
	}
	fieldCache.Store(t, list)
	return list
}

func (r *reader) value(raw jsontext.Value, at string, dst reflect.Value, lim limits) {
	if own, ok := dst.Addr().Interface().(reads); ok {
		own.read(r, raw, at)
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(dst.Type().Elem())
		r.value(raw, at, fresh.Elem(), lim)
		dst.Set(fresh)
	case reflect.String:
		if s, ok := r.text(raw, at, lim); ok {
			if set, fixed := dst.Interface().(oneOf); fixed && !slices.Contains(set.values(), s) {
				r.fail(at, "must be one of %s", strings.Join(set.values(), ", "))
				return
			}
			dst.SetString(s)
		}
	case reflect.Bool:
		if r.query && raw.Kind() == '"' {
			raw = jsontext.Value(strings.Trim(string(raw), `"`))
		}
		switch string(raw) {
		case "true", "false":
			dst.SetBool(string(raw) == "true")
		default:
			r.fail(at, "must be true or false")
		}
	case reflect.Int, reflect.Int64:
		if n, ok := r.integer(raw, at, lim); ok {
			dst.SetInt(n)
		}
	case reflect.Slice:
		r.list(raw, at, dst)
	case reflect.Struct:
		r.object(raw, at, dst)
	default:
		panic("wire: no way to read a " + dst.Type().String())
	}
}

func (r *reader) text(raw jsontext.Value, at string, lim limits) (string, bool) {
	if raw.Kind() != '"' {
		r.fail(at, "must be text%s", orLeaveOut(raw, lim))
		return "", false
	}
	s, ok := textOf(raw)
	switch {
	case !ok:
		return "", false // told by blemishes
	case strings.ContainsRune(s, 0):
		r.fail(at, `must not contain the character \u0000`)
	case lim.required && !models.HasVisible(s):
		r.fail(at, "must not be empty")
	case lim.max != nil && int64(utf8.RuneCountInString(s)) > *lim.max:
		r.fail(at, "must have at most %d characters", *lim.max)
	default:
		return s, true
	}
	return "", false
}

func orLeaveOut(raw jsontext.Value, lim limits) string {
	if raw.Kind() == 'n' && !lim.required {
		return "; leave the field out when there is none"
	}
	return ""
}

func (r *reader) integer(raw jsontext.Value, at string, lim limits) (int64, bool) {
	digits := string(raw)
	if r.query && raw.Kind() == '"' {
		digits, _ = textOf(raw)
	} else if raw.Kind() != '0' {
		r.fail(at, "must be a whole number%s", orLeaveOut(raw, lim))
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '+' {
		r.fail(at, "must be a whole number")
		return 0, false
	}
	switch {
	case lim.min != nil && lim.max != nil && (n < *lim.min || n > *lim.max):
		r.fail(at, "must be from %d to %d", *lim.min, *lim.max)
		return 0, false
	case lim.min != nil && n < *lim.min:
		r.fail(at, "must be at least %d", *lim.min)
		return 0, false
	}
	return n, true
}

func (r *reader) list(raw jsontext.Value, at string, dst reflect.Value) {
	items, ok := itemsOf(raw)
	if !ok {
		r.fail(at, "must be a list%s", orLeaveOut(raw, limits{}))
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, one := range items {
		r.value(one, item(at, i), list.Index(i), limits{})
	}
	dst.Set(list)
}

func (r *reader) object(raw jsontext.Value, at string, dst reflect.Value) {
	members, ok := membersOf(raw)
	if !ok {
		r.fail(at, "must be an object%s", orLeaveOut(raw, limits{}))
		return
	}
	r.members(members, at, dst)
	if k, ok := dst.Addr().Interface().(keeps); ok {
		k.keep(raw)
	}
}

func (r *reader) members(members []member, at string, dst reflect.Value) {
	fields := fieldsOf(dst.Type())
	given := make([]bool, len(fields))
	for _, m := range members {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		if i < 0 {
			r.fail(child(at, m.name), "is not a known field; known are %s", namesOf(fields))
			continue
		}
		given[i] = true
		r.value(m.raw, child(at, m.name), dst.FieldByIndex(fields[i].index), fields[i].limits)
	}
	for i, f := range fields {
		if f.required && !given[i] {
			r.fail(child(at, f.name), "is required")
		}
	}
	if c, ok := dst.Addr().Interface().(checks); ok {
		c.check(r, at)
	}
}

func namesOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}
