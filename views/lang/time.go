package lang

import (
	"strings"
	"time"
)

// Placeholders for names of months and days while the rest of a layout is formatted.
var namesIn = []struct {
	layout, mark string
	name         func(*Lang, time.Time) string
}{
	{"January", "\x01", func(l *Lang, t time.Time) string { return l.locale.MonthWide(t.Month()) }},
	{"Jan", "\x02", func(l *Lang, t time.Time) string { return l.locale.MonthAbbreviated(t.Month()) }},
	{"Monday", "\x03", func(l *Lang, t time.Time) string { return l.locale.WeekdayWide(t.Weekday()) }},
	{"Mon", "\x05", func(l *Lang, t time.Time) string { return l.locale.WeekdayAbbreviated(t.Weekday()) }},
}

// Format writes a moment by a layout of package time; the layout itself is a message, so that each
// language orders day and month its own way.
func (l *Lang) Format(t time.Time, layout string) string {
	l = l.or()
	if l == english {
		return t.Format(layout)
	}
	layout = l.T(layout)
	for _, n := range namesIn {
		layout = strings.ReplaceAll(layout, n.layout, n.mark)
	}
	text := t.Format(layout)
	for _, n := range namesIn {
		if strings.Contains(text, n.mark) {
			text = strings.ReplaceAll(text, n.mark, n.name(l, t))
		}
	}
	return text
}

// Layouts of package time a page uses. Each is a message.
var (
	DayTime     = Mark("2 Jan 2006, 15:04")
	Day         = Mark("2 Jan 2006")
	DayLong     = Mark("2 January 2006")
	WeekdayTime = Mark("Mon 2 Jan 2006, 15:04")
	Exact       = Mark("Mon 2 Jan 2006, 15:04:05")
	WeekdayDate = Mark("Mon 2 Jan 2006")
	WeekdayLong = Mark("Monday 2 January 2006")
	WeekdayDay  = Mark("Mon 2 Jan")
	ShortTime   = Mark("Mon 2 Jan, 15:04")
	DayMonth    = Mark("2 January")
	WeekdayAt   = Mark("Monday 2 January 2006 at 15:04")
	DayAtTime   = Mark("2 Jan 2006 at 15:04")
	DaySecond   = Mark("2 Jan 2006, 15:04:05")
	SaidMoment  = Mark("2 January 2006 at 15:04 UTC") // in sentences of the services
)

// Span is a length of time in its largest whole unit, rounded down; less than a minute is "".
func (l *Lang) Span(d time.Duration) string { return l.span(d, l.T("%d days", int(d/(24*time.Hour)))) }

// spanAfter is a Span behind a preposition, where some languages bend it.
func (l *Lang) spanAfter(d time.Duration) string {
	return l.span(d, l.C("after a preposition", "%d days", int(d/(24*time.Hour))))
}

func (l *Lang) span(d time.Duration, days string) string {
	switch {
	case d < time.Minute:
		return ""
	case d < time.Hour:
		return l.T("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return l.T("%d h", int(d/time.Hour))
	}
	return days
}

// Ago puts the distance from now into words: "just now", "5 min ago", "in 3 h", "2 days ago".
func (l *Lang) Ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		span := l.spanAfter(-d)
		if span == "" {
			return l.T("now")
		}
		return l.T("in %s", span)
	}
	span := l.spanAfter(d)
	if span == "" {
		return l.T("just now")
	}
	return l.T("%s ago", span)
}

// Age is the length of time since t; less than a minute is "new".
func (l *Lang) Age(t, now time.Time) string {
	if span := l.Span(now.Sub(t)); span != "" {
		return span
	}
	return l.T("new")
}

// Due puts the distance to a due time into words.
func (l *Lang) Due(t, now time.Time) string {
	d := t.Sub(now)
	span := l.spanAfter(d.Abs())
	switch {
	case span == "":
		return l.T("due now")
	case d <= 0:
		return l.T("overdue by %s", span)
	}
	return l.T("due in %s", span)
}

// TimeWords are the messages by which the page's script keeps times fresh, by the same rules.
func (l *Lang) TimeWords() map[string]string {
	return map[string]string{"min": l.T("%d min"), "h": l.T("%d h"), "days": l.C("after a preposition", "%d days"), "daysOld": l.T("%d days"), "now": l.T("now"), "in": l.T("in %s"), "just": l.T("just now"),
		"ago": l.T("%s ago"), "new": l.T("new"), "due": l.T("due now"), "over": l.T("overdue by %s"), "left": l.T("due in %s")}
}
