package models

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// scrubber takes out of text what may not be found by anybody: tax and bank data, which is for some
// readers only while the index is for all, and approval ids, which are for nobody.
type scrubber struct {
	known  []*regexp.Regexp // values of private members, however they are spaced
	values map[string]bool  // the same, letters and digits only
}

// minPrivate is the length in letters and digits from which a private value is looked for in other text;
// shorter ones would take out what has nothing to do with them.
const minPrivate = 6

const mostPrivate = 200 // values kept of one record

// scrubberFor learns the private values in JSON; what cannot be read teaches nothing.
func scrubberFor(raws ...json.RawMessage) *scrubber {
	s := &scrubber{values: map[string]bool{}}
	for _, raw := range raws {
		var v any
		if len(raw) > 0 && json.Unmarshal(raw, &v) == nil {
			s.learn(v)
		}
	}
	return s
}

func (s *scrubber) learn(v any) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && IsPrivateName(name) {
			s.keep(v["value"])
		}
		for name, value := range v {
			if IsPrivateName(name) {
				s.keep(value)
			}
			s.learn(value)
		}
		s.learnColumns(v)
	case []any:
		for _, value := range v {
			s.learn(value)
		}
	}
}

// learnColumns learns the cells of a table under private column names.
func (s *scrubber) learnColumns(table map[string]any) {
	names, _ := table["columns"].([]any)
	rows, _ := table["rows"].([]any)
	for i, n := range names {
		name, ok := n.(string)
		if !ok || !IsPrivateName(name) {
			continue
		}
		for _, row := range rows {
			if cells, ok := row.([]any); ok && i < len(cells) {
				s.keep(cells[i])
			}
		}
	}
}

func (s *scrubber) keep(v any) {
	switch v := v.(type) {
	case string:
		signs := bareSigns(v)
		if len([]rune(signs)) < minPrivate || len(signs) > 200 || s.values[signs] || len(s.values) >= mostPrivate {
			return
		}
		s.values[signs] = true
		spaced := make([]string, 0, len(signs))
		for _, r := range signs {
			spaced = append(spaced, regexp.QuoteMeta(string(r)))
		}
		if re, err := regexp.Compile(`(?i)` + strings.Join(spaced, `[\s.,/\-]{0,3}`)); err == nil {
			s.known = append(s.known, re)
		}
	case map[string]any:
		for _, value := range v {
			s.keep(value)
		}
	case []any:
		for _, value := range v {
			s.keep(value)
		}
	}
}

func bareSigns(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// number is an id or number of the record, "" when it is private data or an approval id.
func (s *scrubber) number(text string) string {
	if s.values[bareSigns(text)] || anyApprovalID.MatchString(text) {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// text is free text without what is private in it.
func (s *scrubber) text(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	text = anyApprovalID.ReplaceAllString(text, "(hidden)")
	text = likeIBAN.ReplaceAllStringFunc(text, withoutIBAN)
	for _, re := range s.known {
		text = re.ReplaceAllString(text, "(hidden)")
	}
	return likeVAT.ReplaceAllString(text, "(hidden)")
}

var (
	likeIBAN = regexp.MustCompile(`(?i)\b[a-z]{2}\d{2}(?:[ \x{a0}.\-]?[a-z0-9]){11,30}\b`)
	// VAT ids of the European Union as they are written, where letters and length make them plain.
	likeVAT = regexp.MustCompile(`(?i)\b(?:ATU\d{8}|BE[01]\d{9}|BG\d{9,10}|CY\d{8}[A-Z]|CZ\d{8,10}|DE ?\d{9}|DK\d{8}|EE\d{9}|EL\d{9}|ES[A-Z0-9]\d{7}[A-Z0-9]|FI\d{8}|FR[A-Z0-9]{2}\d{9}|HR\d{11}|HU\d{8}|IE\d[A-Z0-9+*]\d{5}[A-Z]{1,2}|IT\d{11}|LT\d{9}(?:\d{3})?|LU\d{8}|LV\d{11}|MT\d{8}|NL\d{9}B\d{2}|PL\d{10}|PT\d{9}|RO\d{8,10}|SE\d{12}|SI\d{8}|SK\d{10})\b`)
)

// lengthOfIBAN is how many letters and digits a country's account numbers have; of others any length is
// tried.
var lengthOfIBAN = map[string]int{"AD": 24, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27,
	"HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SI": 19, "SK": 24,
	"SM": 27, "TR": 26, "UA": 29}

// withoutIBAN hides the account number that a text begins with, and keeps what follows it.
func withoutIBAN(text string) string {
	signs := make([]rune, 0, len(text))
	ends := make([]int, 0, len(text)) // behind each sign
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			signs = append(signs, unicode.ToUpper(r))
			ends = append(ends, i+len(string(r)))
		}
	}
	if n := lengthOfIBAN[string(signs[:2])]; n > 0 && n <= len(signs) && validIBAN(signs[:n]) {
		return "(hidden)" + text[ends[n-1]:]
	}
	for n := min(len(signs), 34); n >= 15; n-- {
		if validIBAN(signs[:n]) {
			return "(hidden)" + text[ends[n-1]:]
		}
	}
	return text
}

// validIBAN checks the digits that ISO 13616 puts in third and fourth place.
func validIBAN(signs []rune) bool {
	rest := 0
	for _, r := range slices.Concat(signs[4:], signs[:4]) {
		switch {
		case r >= '0' && r <= '9':
			rest = (rest*10 + int(r-'0')) % 97
		case r >= 'A' && r <= 'Z':
			rest = (rest*100 + int(r-'A') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}
