package lang

import (
	"regexp"
	"slices"
	"strings"
)

// pattern is the form of a sentence of the services, with the places where values stand.
type pattern struct {
	form  *regexp.Regexp
	text  string // with %s for each value, or %[2]s where the order differs
	start string // what it begins with, to pass over most forms at once
	fixed int    // how many letters are the form's own: the most exact form wins
}

var verb = regexp.MustCompile(`%(\[\d+\])?[sdqv]`)

// learn takes a sentence of the services.
func (l *Lang) learn(id, text string) {
	if !verb.MatchString(id) {
		l.exact[id] = text
		return
	}
	var form strings.Builder
	form.WriteString(`(?s)^`)
	start, at := "", 0
	for i, m := range verb.FindAllStringIndex(id, -1) {
		if i == 0 {
			start = id[:m[0]]
		}
		form.WriteString(regexp.QuoteMeta(id[at:m[0]]))
		if id[m[1]-1] == 'd' {
			form.WriteString(`(-?\d+)`)
		} else {
			form.WriteString(`(.+?)`)
		}
		at = m[1]
	}
	form.WriteString(regexp.QuoteMeta(id[at:]) + `$`)
	l.said = append(l.said, pattern{form: regexp.MustCompile(form.String()), text: strings.ReplaceAll(strings.ReplaceAll(text, "%d", "%s"), "%q", "%s"),
		start: start, fixed: len(verb.ReplaceAllString(id, ""))})
	slices.SortStableFunc(l.said, func(a, b pattern) int { return b.fixed - a.fixed })
}

// Said is a sentence of the services, which speak English, in this language: several sentences are
// looked up one by one, and one that is not known stays as it is. It is for words of the desk alone,
// never for text of people or agents.
func (l *Lang) Said(text string) string {
	l = l.or()
	if len(l.exact) == 0 || text == "" {
		return text
	}
	if found, ok := l.sentence(text, true); ok {
		return found
	}
	parts := strings.SplitAfter(text, ". ")
	if len(parts) == 1 {
		return text
	}
	for i, p := range parts {
		whole := strings.TrimSuffix(p, " ")
		if found, ok := l.sentence(whole, true); ok {
			parts[i] = found + p[len(whole):]
		}
	}
	return strings.Join(parts, "")
}

func (l *Lang) sentence(text string, deeper bool) (string, bool) {
	if found, ok := l.exact[text]; ok {
		return found, true
	}
	for _, p := range l.said {
		if !strings.HasPrefix(text, p.start) {
			continue
		}
		m := p.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		values := make([]any, len(m)-1)
		for i, value := range m[1:] {
			values[i] = value
			if found, ok := l.exact[value]; ok && deeper {
				values[i] = found
			}
		}
		return fill(p.text, values), true
	}
	return "", false
}
