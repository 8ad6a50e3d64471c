package ui

import (
	"strconv"
	"time"
)

// MomentKind says from which side a moment is looked at; the page's script
// keeps the words fresh by the same rule.
type MomentKind string

// The kinds of a Moment.
const (
	MomentPlain MomentKind = ""    // Text stays as it is
	MomentAgo   MomentKind = "ago" // "5 min ago", "in 2 h"
	MomentDue   MomentKind = "due" // "due in 2 h", "overdue by 3 days"
	MomentAge   MomentKind = "age" // "5 min", "3 days"
)

// Moment is a point in time in words, with the exact time behind it. The zero
// Moment shows nothing.
type Moment struct {
	ISO      string // RFC 3339, for machines
	Text     string // "due in 3 h"
	Absolute string // "5 Oct 2026, 14:30 (Europe/Berlin)", shown on hover
	Kind     MomentKind
	Late     bool // it has passed and should not have
}

// Zero says whether there is a moment at all.
func (m Moment) Zero() bool { return m.Text == "" }

// At is a moment seen as past or coming; zone names the reader's zone.
func At(t, now time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: Ago(t, now), Absolute: Absolute(t, zone), Kind: MomentAgo}
}

// DueAt is a moment something is due.
func DueAt(t, now time.Time, zone *time.Location) Moment {
	return Moment{
		ISO: t.UTC().Format(time.RFC3339), Text: Due(t, now), Absolute: Absolute(t, zone),
		Kind: MomentDue, Late: !now.Before(t),
	}
}

// AgeAt is how long ago something was, for columns that say so themselves.
func AgeAt(t, now time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: Age(t, now), Absolute: Absolute(t, zone), Kind: MomentAge}
}

// Exactly is a moment shown as date and time.
func Exactly(t time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: t.In(zone).Format("2 Jan 2006, 15:04"), Absolute: Absolute(t, zone)}
}

// Absolute is date, time and zone in full.
func Absolute(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2 Jan 2006, 15:04:05") + " (" + zone.String() + ")"
}

// Ago puts the distance from now into words: "just now", "5 min ago",
// "in 3 h", "2 days ago".
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < 0 {
		span := Span(-d)
		if span == "" {
			return "now"
		}
		return "in " + span
	}
	span := Span(d)
	if span == "" {
		return "just now"
	}
	return span + " ago"
}

// Age is the length of time since t; less than a minute is "new".
func Age(t, now time.Time) string {
	if span := Span(now.Sub(t)); span != "" {
		return span
	}
	return "new"
}

// Due puts the distance to a due time into words.
func Due(t, now time.Time) string {
	d := t.Sub(now)
	if d <= 0 {
		span := Span(-d)
		if span == "" {
			return "due now"
		}
		return "overdue by " + span
	}
	span := Span(d)
	if span == "" {
		return "due now"
	}
	return "due in " + span
}

// Span is a length of time in its largest whole unit, rounded down; less than
// a minute is "".
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return ""
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}
