package ui

import (
	"time"

	"github.com/apdesk/apdesk/views/lang"
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
func At(l *lang.Lang, t, now time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: l.Ago(t, now), Absolute: Absolute(l, t, zone), Kind: MomentAgo}
}

// DueAt is a moment something is due.
func DueAt(l *lang.Lang, t, now time.Time, zone *time.Location) Moment {
	return Moment{
		ISO: t.UTC().Format(time.RFC3339), Text: l.Due(t, now), Absolute: Absolute(l, t, zone),
		Kind: MomentDue, Late: !now.Before(t),
	}
}

// AgeAt is how long ago something was, for columns that say so themselves.
func AgeAt(l *lang.Lang, t, now time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: l.Age(t, now), Absolute: Absolute(l, t, zone), Kind: MomentAge}
}

// Exactly is a moment shown as date and time.
func Exactly(l *lang.Lang, t time.Time, zone *time.Location) Moment {
	return Moment{ISO: t.UTC().Format(time.RFC3339), Text: l.Format(t.In(zone), lang.DayTime), Absolute: Absolute(l, t, zone)}
}

// Absolute is date, time and zone in full.
func Absolute(l *lang.Lang, t time.Time, zone *time.Location) string {
	return l.Format(t.In(zone), lang.Exact) + " (" + zone.String() + ")"
}
