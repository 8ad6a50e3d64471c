package lang

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// pattern is the form of a sentence of the services, with the places where values stand.
type pattern struct {
	form  *regexp.Regexp
	text  string // with %s for each value, or %[2]s where the order differs
	plain []bool // by value: written %v in the form, for words of people or agents, which stay as they are
	start string // what it begins with, to pass over most forms at once
	fixed int    // how many letters are the form's own: the most exact form wins
}

// amountForm is an amount, a range of amounts, or a figure, as the services write them. A bare row of
// digits may be a number of a document, so it is none.
const figureForm = `[-\x{2212}]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-\x{2212}]?\d+(?:\.\d+)?`

var (
	amountForm = regexp.MustCompile(`^(?:([A-Z]{3}) )?(` + figureForm + `)$`)
	rangeForm  = regexp.MustCompile(`^([A-Z]{3}) (` + figureForm + `) to (` + figureForm + `)$`)
)

// saidLayouts are the forms of dates and moments in sentences of the services.
var saidLayouts = []string{DayLong, SaidMoment, Day, DayTime}

var verb = regexp.MustCompile(`%(\[\d+\])?[sdqv]`)

// learn takes a sentence of the services.
func (l *Lang) learn(id, text string) {
	if !verb.MatchString(id) {
		l.exact[id] = text
		return
	}
	l.said = learnt(l.said, id, text)
}

// learnPart takes a piece that stands only within sentences, or where SaidPart is asked: "%s or %s".
func (l *Lang) learnPart(id, text string) {
	if !verb.MatchString(id) {
		l.exactParts[id] = text
		return
	}
	l.parts = learnt(l.parts, id, text)
}

func learnt(known []pattern, id, text string) []pattern {
	var form strings.Builder
	form.WriteString(`(?s)^`)
	start, at := "", 0
	var plain []bool
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
		plain = append(plain, id[m[1]-1] == 'v')
		at = m[1]
	}
	form.WriteString(regexp.QuoteMeta(id[at:]) + `$`)
	return append(known, pattern{form: regexp.MustCompile(form.String()), text: verb.ReplaceAllString(text, "%${1}s"), plain: plain,
		start: start, fixed: len(verb.ReplaceAllString(id, ""))})
}

// exactFirst puts the most exact form first, which wins where several fit.
func exactFirst(known []pattern) []pattern {
	slices.SortStableFunc(known, func(a, b pattern) int { return b.fixed - a.fixed })
	return known
}

// deepest is how far values within values of a sentence are looked up.
const deepest = 4

// Said is a sentence of the services, which speak English, in this language: several sentences are
// looked up one by one, and one that is not known stays as it is. Amounts and dates within are written as
// the language does. It is for words of the desk alone, never for text of people or agents.
func (l *Lang) Said(text string) string {
	l = l.or()
	if len(l.exact) == 0 || text == "" {
		return text
	}
	whole, known := l.sentence(text, deepest)
	parts := strings.SplitAfter(text, ". ")
	if known && (len(parts) == 1 || l.exact[text] != "") {
		return whole
	}
	all := true
	for i, p := range parts {
		one := strings.TrimSuffix(p, " ")
		found, ok := l.sentence(one, deepest)
		if all = all && ok; ok {
			parts[i] = found + p[len(one):]
		}
	}
	// A form that several sentences fit into takes what they say for a value; but a name may have a full stop too.
	if known && !all {
		return whole
	}
	return strings.Join(parts, "")
}

// SaidPart is Said for a piece of a sentence, a title or an amount of the services: "Finance lead, then
// AP lead", "EUR 1,000.00".
func (l *Lang) SaidPart(text string) string {
	l = l.or()
	if len(l.exact) == 0 || text == "" {
		return text
	}
	return l.value(text, deepest)
}

func (l *Lang) sentence(text string, depth int) (string, bool) {
	if found, ok := l.exact[text]; ok {
		return found, true
	}
	return l.formed(l.said, text, depth)
}

func (l *Lang) formed(known []pattern, text string, depth int) (string, bool) {
	if depth == 0 {
		return "", false
	}
	for _, p := range known {
		if !strings.HasPrefix(text, p.start) {
			continue
		}
		m := p.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		values := make([]any, len(m)-1)
		for i, value := range m[1:] {
			if values[i] = value; !p.plain[i] {
				values[i] = l.value(value, depth-1)
			}
		}
		return fill(p.text, values), true
	}
	return "", false
}

// value is what stands within a sentence: words of the desk, an amount, a date, or something that stays.
func (l *Lang) value(text string, depth int) string {
	if found, ok := l.exactParts[text]; ok {
		return found
	}
	if found, ok := l.exact[text]; ok {
		return found
	}
	if m := amountForm.FindStringSubmatch(text); m != nil && (m[1] != "" || strings.ContainsAny(text, ",.")) {
		return strings.TrimSpace(l.figuresOf(m[2]) + " " + m[1])
	}
	if m := rangeForm.FindStringSubmatch(text); m != nil {
		return l.C("amounts", "%s to %s", l.figuresOf(m[2]), l.figuresOf(m[3])) + " " + m[1]
	}
	for _, layout := range saidLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return l.Format(t, layout)
		}
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return l.Format(t, Day)
	}
	for _, joint := range joints {
		if found, ok := l.listed(text, joint, depth); ok {
			return found
		}
	}
	for _, known := range [][]pattern{l.said, l.parts} {
		if found, ok := l.formed(known, text, depth); ok {
			return found
		}
	}
	return text
}

// joints are what stands between the pieces of a list, the widest first.
var joints = []string{"; ", ", and ", ", ", " and "}

// listed is a list of pieces each of which is known.
func (l *Lang) listed(text, joint string, depth int) (string, bool) {
	pieces := strings.Split(text, joint)
	if len(pieces) == 1 {
		return "", false
	}
	for i, piece := range pieces {
		if pieces[i] = l.value(piece, depth); pieces[i] == piece {
			return "", false
		}
	}
	between, ok := l.exactParts[joint]
	if !ok {
		between = joint
	}
	return strings.Join(pieces, between), true
}

// amountWithin is an amount anywhere in a text of the services.
var amountWithin = regexp.MustCompile(`\b([A-Z]{3}) ([\x{2212}-]?[0-9][0-9,]*(?:\.[0-9]+)?)`)

// AmountsIn writes the amounts in a text of the services as the language does, also where the text itself
// is not known.
func (l *Lang) AmountsIn(text string) string {
	if l = l.or(); l == english {
		return text
	}
	return amountWithin.ReplaceAllStringFunc(text, func(found string) string {
		m := amountWithin.FindStringSubmatch(found)
		return l.figuresOf(m[2]) + " " + m[1]
	})
}

// figuresOf writes figures of the services by the language's marks.
func (l *Lang) figuresOf(text string) string {
	return l.Figures(strings.NewReplacer(",", "", "\u2212", "-").Replace(text))
}
