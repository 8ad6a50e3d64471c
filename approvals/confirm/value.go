package confirm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

// read turns what a form was posted with into the value that the schema asks for: a string, a
// json.Number, a bool or a list of strings. ok is false when the field is left out; problem says in
// words what is wrong. zone is where a time without one is meant.
func (f Field) read(given []string, zone *time.Location) (value any, ok bool, problem string) {
	if f.Kind == KindChoices {
		return f.readChoices(given)
	}
	if f.Kind == KindBoolean {
		return f.readBoolean(given)
	}
	if len(given) > 1 {
		return nil, false, "must be given once"
	}
	text := ""
	if len(given) == 1 {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(given[0]) // as browsers send the lines of a text
	}
	if f.Kind == KindChoice {
		switch {
		case len(given) == 1 && f.has(text):
			return text, true, ""
		case text == "":
			return nil, false, f.missing("choose one")
		}
		return nil, false, "must be one of the choices"
	}
	if f.Kind != KindText || f.Format != "" {
		text = strings.TrimSpace(text)
	}
	if why := models.CheckFreeText(text); why != "" {
		return nil, false, why
	}
	if !models.HasVisible(text) {
		return nil, false, f.missing("")
	}
	if f.Kind == KindText {
		value, problem = f.readText(text, zone)
	} else {
		value, problem = f.readNumber(text)
	}
	return value, problem == "", problem
}

func (f Field) missing(how string) string {
	switch {
	case !f.Required:
		return ""
	case how == "":
		return "is required"
	}
	return "is required: " + how
}

func (f Field) has(value string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value })
}

func (f Field) readBoolean(given []string) (any, bool, string) {
	// A box with a hidden "false" before it posts both when it is ticked.
	if len(given) == 2 && given[0] == "false" {
		given = given[1:]
	}
	if len(given) > 1 {
		return nil, false, "must be given once"
	}
	if len(given) == 0 || given[0] == "" {
		return nil, false, f.missing("choose yes or no")
	}
	switch given[0] {
	case "true", "on":
		return true, true, ""
	case "false":
		return false, true, ""
	}
	return nil, false, "must be true or false"
}

func (f Field) readChoices(given []string) (any, bool, string) {
	chosen := []string{}
	for _, v := range given {
		switch {
		case v == "" && !f.has(""): // a hidden empty value says only that the field was shown
		case !f.has(v):
			return nil, false, "must be some of the choices"
		case slices.Contains(chosen, v):
			return nil, false, "must name a choice only once"
		default:
			chosen = append(chosen, v)
		}
	}
	if len(chosen) == 0 && !f.Required && (len(f.Default) == 0 || (f.MinItems != nil && *f.MinItems > 0)) {
		return nil, false, ""
	}
	if f.MinItems != nil && len(chosen) < *f.MinItems {
		return nil, false, fmt.Sprintf("must be at least %s", choicesOf(*f.MinItems))
	}
	if f.MaxItems != nil && len(chosen) > *f.MaxItems {
		return nil, false, fmt.Sprintf("must be at most %s", choicesOf(*f.MaxItems))
	}
	return chosen, true, ""
}

func choicesOf(n int) string {
	if n == 1 {
		return "1 choice"
	}
	return fmt.Sprintf("%d choices", n)
}

func (f Field) readText(text string, zone *time.Location) (string, string) {
	most := maxAnswer
	if f.MaxLength != nil {
		most = *f.MaxLength
	}
	switch f.Format {
	case FormatEmail:
		if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
			return "", "must be an e-mail address"
		}
	case FormatURI:
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || (u.Host == "" && u.Opaque == "" && u.Path == "") || strings.ContainsFunc(text, notInURI) {
			return "", "must be a full address such as https://example.com/page"
		}
	case FormatDate:
		if _, err := models.ParseDate(text); err != nil {
			return "", err.Error()
		}
	case FormatDateTime:
		var problem string
		if text, problem = readMoment(text, zone); problem != "" {
			return "", problem
		}
	}
	n := utf8.RuneCountInString(text)
	if f.MinLength != nil && n < *f.MinLength {
		return "", fmt.Sprintf("must have at least %d characters; it has %d", *f.MinLength, n)
	}
	if n > most {
		return "", fmt.Sprintf("must have at most %d characters; it has %d", most, n)
	}
	return text, ""
}

// notInURI are characters that an address carries only escaped (RFC 3986).
func notInURI(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) || unicode.IsControl(r)
}

// readMoment reads RFC 3339, or what a browser's date and time field posts, which is meant in zone.
func readMoment(text string, zone *time.Location) (string, string) {
	const problem = "must be a date and time such as 2026-10-05T14:30"
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && len(text) <= 40 {
		return t.Format(time.RFC3339Nano), ""
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return "", "does not exist on that day: the clocks go forward then"
		}
		return t.Format(time.RFC3339), ""
	}
	return "", problem
}

var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func (f Field) readNumber(text string) (json.Number, string) {
	if !plainNumber.MatchString(text) || len(text) > maxDigits {
		if f.Kind == KindInteger {
			return "", "must be a whole number such as 12"
		}
		return "", "must be a number such as 12.50"
	}
	number := withoutZeros(text)
	if f.Kind == KindInteger && strings.Contains(number, ".") {
		return "", "must be a whole number"
	}
	if len(approvals.CheckArguments(json.RawMessage(`{"n":`+number+`}`), "")) > 0 {
		return "", "has more digits than the server could read exactly"
	}
	if f.Minimum != "" && compare(number, f.Minimum) < 0 {
		return "", "must be at least " + f.Minimum
	}
	if f.Maximum != "" && compare(number, f.Maximum) > 0 {
		return "", "must be at most " + f.Maximum
	}
	return json.Number(number), ""
}

// withoutZeros writes a plain decimal as JSON allows it: no leading zeros, and no minus before zero.
func withoutZeros(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	digits = strings.TrimLeft(digits, "0")
	if digits == "" || digits[0] == '.' {
		digits = "0" + digits
	}
	if negative && strings.Trim(digits, "0.") != "" {
		return "-" + digits
	}
	return digits
}

// compare orders two plain decimals.
func compare(a, b string) int {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if !okX || !okY {
		return 0
	}
	return x.Cmp(y)
}

// Response is a person's answer to one request, as it goes back to the server (MCP 2026-07-28).
type Response struct {
	Action  models.ElicitAction `json:"action"`
	Content map[string]any      `json:"content,omitzero"` // of an accepted form: string, number, bool or list of strings
}

// accepted reads a filled-in form into the answers of every request. Each issue stands at
// /content/<form name>. What is not in the form is refused.
func accepted(questions []Question, content map[string][]string, zone *time.Location) (map[string]Response, []models.Issue) {
	answers := make(map[string]Response, len(questions))
	var issues []models.Issue
	known := map[string]bool{}
	for _, q := range questions {
		answer := Response{Action: models.ElicitAccept}
		if q.Form != nil {
			answer.Content = map[string]any{}
			for _, f := range q.Form.Fields {
				known[f.FormName] = true
				value, ok, problem := f.read(content[f.FormName], zone)
				switch {
				case problem != "":
					issues = append(issues, models.Issue{Path: at("/content", f.FormName), Message: problem})
				case ok:
					answer.Content[f.Name] = value
				}
			}
		}
		answers[q.Key] = answer
	}
	for name := range content {
		if !known[name] {
			issues = append(issues, models.Issue{Path: at("/content", name), Message: "is no field of this form"})
		}
	}
	return answers, issues
}

// WithFigures is the content with the decimals in it in their plain form, as read reads them.
func WithFigures(questions []Question, content map[string][]string, read func(typed string) string) map[string][]string {
	if read == nil {
		return content
	}
	plain := maps.Clone(content)
	for _, q := range questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			if f.Kind != KindNumber {
				continue
			}
			for i, typed := range plain[f.FormName] {
				if i == 0 {
					plain[f.FormName] = slices.Clone(plain[f.FormName])
				}
				plain[f.FormName][i] = read(typed)
			}
		}
	}
	return plain
}

// sameForAll answers every request with one action and no content.
func sameForAll(questions []Question, action models.ElicitAction) map[string]Response {
	answers := make(map[string]Response, len(questions))
	for _, q := range questions {
		answers[q.Key] = Response{Action: action}
	}
	return answers
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
