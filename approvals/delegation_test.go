package approvals

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

func dayOf(t *testing.T, text string) models.Date {
	t.Helper()
	d, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func zoneNamed(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestADelegationHoldsFromTheFirstMidnightToTheOneAfterTheLastDayWhereThePersonIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, first, last, starts, ends, why string }{
		{"Europe/Berlin", "2026-10-05", "2026-10-09", "2026-10-04T22:00:00Z", "2026-10-09T22:00:00Z", "summer time"},
		{"Europe/Berlin", "2026-10-25", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "the day has 25 hours"},
		{"Europe/Berlin", "2026-03-29", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "the day has 23 hours"},
		{"Pacific/Kiritimati", "2026-10-05", "2026-10-05", "2026-10-04T10:00:00Z", "2026-10-05T10:00:00Z", "UTC+14"},
		{"Pacific/Pago_Pago", "2026-10-05", "2026-10-05", "2026-10-05T11:00:00Z", "2026-10-06T11:00:00Z", "UTC-11"},
		{"America/Havana", "2026-03-08", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", "the clock goes from midnight to one"},
		{"Africa/Cairo", "2026-04-24", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z", "the clock goes from midnight to one"},
		{"UTC", "2028-02-28", "2028-02-29", "2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z", "a leap day"},
	} {
		starts, ends := span(dayOf(t, c.first), dayOf(t, c.last), zoneNamed(t, c.zone))
		if starts.String() != c.starts || ends.String() != c.ends {
			t.Errorf("%s, %s to %s (%s): %s to %s, want %s to %s", c.zone, c.first, c.last, c.why, starts, ends, c.starts, c.ends)
		}
	}
}

func TestTheDaysOfADelegation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, last, path string }{
		{"2026-10-05", "2026-10-05", ""}, {"2026-10-05", "2027-10-05", ""}, {"2026-10-05", "2027-10-06", "/last_day"},
		{"2026-10-04", "2026-10-09", "/first_day"}, {"2026-10-09", "2026-10-08", "/last_day"}, {"", "2026-10-08", "/first_day"}, {"2026-10-08", "", "/last_day"},
	} {
		var first, last models.Date
		if c.first != "" {
			first = dayOf(t, c.first)
		}
		if c.last != "" {
			last = dayOf(t, c.last)
		}
		issues := checkDays(first, last, dayOf(t, "2026-10-05"))
		if c.path == "" && len(issues) > 0 || c.path != "" && (len(issues) != 1 || issues[0].Path != c.path) {
			t.Errorf("%q to %q: %v, want one at %q", c.first, c.last, issues, c.path)
		}
	}
}

// away is a delegation of some days of October 2026, in UTC.
func away(t *testing.T, from, to, first, last, documentType string) models.Delegation {
	t.Helper()
	d := models.Delegation{ID: from + to + first, FromID: from, FromName: from, DocumentType: documentType, FirstDay: dayOf(t, "2026-10-"+first), LastDay: dayOf(t, "2026-10-"+last)}
	if to != "" {
		d.ToID, d.ToName = &to, to
	}
	d.StartsAt, d.EndsAt = span(d.FirstDay, d.LastDay, time.UTC)
	return d
}

func TestDelegationsThatClash(t *testing.T) {
	t.Parallel()
	ended := away(t, "ada", "ben", "05", "09", "")
	ended.EndedAt = ended.StartsAt.Add(time.Hour)
	for _, c := range []struct {
		name  string
		have  models.Delegation
		wants models.Delegation
		path  string
	}{
		{"the same person twice", away(t, "ada", "ben", "05", "09", ""), away(t, "ada", "cleo", "09", "12", ""), "/first_day"},
		{"the day after is free", away(t, "ada", "ben", "05", "09", ""), away(t, "ada", "cleo", "10", "12", ""), ""},
		{"any type meets every type", away(t, "ada", "ben", "05", "09", ""), away(t, "ada", "cleo", "05", "09", "credit"), "/first_day"},
		{"another type is another delegation", away(t, "ada", "ben", "05", "09", "invoice"), away(t, "ada", "cleo", "05", "09", "credit"), ""},
		{"one after another absence", away(t, "ada", "", "05", "09", ""), away(t, "ada", "cleo", "07", "08", ""), "/first_day"},
		{"what ended does not count", ended, away(t, "ada", "cleo", "05", "09", ""), ""},
		{"a chain behind", away(t, "ben", "cleo", "05", "09", ""), away(t, "ada", "ben", "09", "12", ""), "/delegate"},
		{"a chain before", away(t, "cleo", "ada", "05", "09", ""), away(t, "ada", "ben", "05", "05", ""), "/delegate"},
		{"a chain of other types is none", away(t, "ben", "cleo", "05", "09", "invoice"), away(t, "ada", "ben", "05", "09", "credit"), ""},
		{"a loop", away(t, "ben", "ada", "05", "09", ""), away(t, "ada", "ben", "08", "08", ""), "/delegate"},
		{"a delegate who is away", away(t, "ben", "", "05", "09", ""), away(t, "ada", "ben", "08", "08", ""), "/delegate"},
		{"a delegate may fall ill", away(t, "ada", "ben", "05", "09", ""), away(t, "ben", "", "08", "08", ""), ""},
		{"two for one delegate", away(t, "ada", "ben", "05", "09", ""), away(t, "cleo", "ben", "05", "09", ""), ""},
	} {
		issues := clash(c.wants, []models.Delegation{c.have})
		if c.path == "" && len(issues) > 0 || c.path != "" && (len(issues) != 1 || issues[0].Path != c.path) {
			t.Errorf("%s: %v, want one at %q", c.name, issues, c.path)
		}
	}
}

func TestBothLimitsMustCoverTheAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount, from, to, lower string
		ok                      bool
	}{
		{"100", "100", "100.00", "100", true}, {"100.01", "1000", "100", "100", false}, {"100", "50", "1000", "50", false},
		{"100", "1000", "", "", false}, {"100", "", "1000", "", false}, {"9", "1000", "10", "10", true},
	} {
		if lower, ok := within(c.amount, c.from, c.to); lower != c.lower || ok != c.ok {
			t.Errorf("%s within %q and %q: %q %t, want %q %t", c.amount, c.from, c.to, lower, ok, c.lower, c.ok)
		}
	}
}

func TestAWarningComesABusinessDayBeforeOrWithAFifthLeft(t *testing.T) {
	t.Parallel()
	calendar := models.NewCalendar(zoneNamed(t, "Europe/Berlin"), []models.Date{dayOf(t, "2026-10-09")})
	at := func(text string) models.Time {
		var m models.Time
		if err := m.Scan(text); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct{ begun, expires, want, why string }{
		{"2026-10-05T09:00:00Z", "2026-10-13T09:00:00Z", "2026-10-12T09:00:00Z", "a business day before"},
		{"2026-10-05T09:00:00Z", "2026-10-12T09:00:00Z", "2026-10-08T09:00:00Z", "the Friday before is a holiday"},
		{"2026-10-05T09:00:00Z", "2026-10-05T14:00:00Z", "2026-10-05T13:00:00Z", "a short life warns with a fifth left"},
	} {
		if got := warnAt(calendar, at(c.begun), at(c.expires)); got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}
