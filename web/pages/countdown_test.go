package pages

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

func loaded(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestTheCountdownCountsBusinessHours(t *testing.T) {
	t.Parallel()
	berlin := loaded(t, "Europe/Berlin")
	off, err := models.ParseDate("2026-10-07")
	if err != nil {
		t.Fatal(err)
	}
	calendar := models.NewCalendar(berlin, []models.Date{off})
	at := func(text string) models.Time {
		v, err := time.ParseInLocation("2 15:04:05", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return models.At(time.Date(2026, 10, v.Day(), v.Hour(), v.Minute(), v.Second(), 0, berlin))
	}
	for _, x := range []struct{ now, due, want string }{
		{"05 16:00:00", "06 11:00:00", "due in 3 business hours"},
		{"05 16:30:00", "06 10:00:00", "due in 1 business hour"},
		{"05 16:40:00", "06 09:20:00", "due in 40 business minutes"},
		{"05 19:00:00", "06 09:01:00", "due in 1 business minute"},
		{"03 12:00:00", "05 10:30:00", "due in 1 business hour"}, // from Saturday
		{"05 09:00:00", "08 09:30:00", "due in 2 business days"}, // the 7th is a holiday
		{"05 10:59:30", "05 11:00:00", "due now"},
		{"05 11:00:00", "05 11:00:00", "due now"},
		{"05 11:00:30", "05 11:00:00", "due now"},
		{"05 11:10:00", "05 11:00:00", "overdue by 10 business minutes"},
		{"05 22:00:00", "05 17:00:00", "overdue"}, // no business time has passed
		{"06 08:00:00", "05 16:00:00", "overdue by 1 business hour"},
		{"09 12:00:00", "05 12:00:00", "overdue by 3 business days"},
		{"06 20:00:00", "07 11:00:00", "due outside business hours"}, // became a holiday after it was due
	} {
		if got := (words{}).dueWords(calendar, at(x.now), at(x.due)); got != x.want {
			t.Errorf("at %s, due %s: %q, want %q", x.now, x.due, got, x.want)
		}
	}
}

func TestDueTimesAreToldInTheReadersZoneAndTheWorkspaces(t *testing.T) {
	t.Parallel()
	berlin := loaded(t, "Europe/Berlin")
	due := models.At(time.Date(2026, 10, 26, 9, 30, 0, 0, time.UTC)) // the Monday after summer time ended in Berlin
	for zone, want := range map[string]string{
		"Europe/Berlin":      "Mon 26 Oct 2026, 10:30 (Europe/Berlin)",
		"Europe/Paris":       "Mon 26 Oct 2026, 10:30 (Europe/Paris)", // another name for the same clock
		"Pacific/Kiritimati": "Mon 26 Oct 2026, 23:30 (Pacific/Kiritimati), Mon 26 Oct 2026, 10:30 (Europe/Berlin)",
		"Pacific/Pago_Pago":  "Sun 25 Oct 2026, 22:30 (Pacific/Pago_Pago), Mon 26 Oct 2026, 10:30 (Europe/Berlin)",
	} {
		w := words{now: time.Date(2026, 10, 23, 14, 0, 0, 0, time.UTC), zone: berlin, timing: timing{own: loaded(t, zone),
			calendar: func() models.Calendar { return models.NewCalendar(berlin, nil) }}}
		m := w.caseDue(due)
		if m.Absolute != want || m.Text != "due in 2 business hours" || m.Late {
			t.Errorf("%s: %q, %q", zone, m.Text, m.Absolute)
		}
	}
}

func TestMomentsToSnoozeUntilAreThoseOfThePersonsClock(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		zone, now string
		want      []string
	}{
		{"Europe/Berlin", "2026-10-05T09:10:00Z", []string{"Later today 5 13:30", "Tomorrow 6 09:00", "Next Monday 12 09:00"}},
		{"Europe/Berlin", "2026-10-04T09:00:00Z", []string{"Later today 4 13:30", "Tomorrow 5 09:00"}},                           // on Sunday both are one
		{"Europe/Berlin", "2026-10-05T20:30:00Z", []string{"Tomorrow 6 09:00", "Next Monday 12 09:00"}},                          // nothing is left of today
		{"Pacific/Kiritimati", "2026-10-05T09:10:00Z", []string{"Tomorrow 6 09:00", "Next Monday 12 09:00"}},                     // 23:10 on Monday
		{"Pacific/Pago_Pago", "2026-10-05T09:10:00Z", []string{"Tomorrow 5 09:00"}},                                              // 22:10 on Sunday
		{"Europe/Berlin", "2026-10-24T10:00:00Z", []string{"Later today 24 14:30", "Tomorrow 25 09:00", "Next Monday 26 09:00"}}, // the clock goes back in between
	} {
		zone := loaded(t, x.zone)
		now, err := time.Parse(time.RFC3339, x.now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range presets(now, zone) {
			got = append(got, p.label+" "+p.at.In(zone).Format("2 15:04"))
		}
		if len(got) != len(x.want) {
			t.Errorf("%s at %s: %v", x.zone, x.now, got)
			continue
		}
		for i := range got {
			if got[i] != x.want[i] {
				t.Errorf("%s at %s: %q, want %q", x.zone, x.now, got[i], x.want[i])
			}
		}
	}
}

func TestATypedMomentIsReadOnThePersonsClock(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ zone, choice, typed, want, wrong string }{
		{"Pacific/Kiritimati", snoozeOwn, "2026-10-06T09:00", "2026-10-05T19:00:00Z", ""},
		{"Pacific/Pago_Pago", snoozeOwn, "2026-10-06T09:00:30", "2026-10-06T20:00:00Z", ""},
		{"Europe/Berlin", snoozeOwn, "2026-03-29T02:30", "2026-03-29T01:00:00Z", ""}, // never shown
		{"Africa/Cairo", snoozeOwn, "2026-04-24T00:00", "2026-04-23T22:00:00Z", ""},  // as well
		{"Europe/Berlin", "", "2026-10-06T09:00", "2026-10-06T07:00:00Z", ""},        // without script nobody need choose first
		{"Europe/Berlin", "2026-10-06T07:00:00Z", "2026-12-24T09:00", "2026-10-06T07:00:00Z", ""},
		{"Europe/Berlin", "", "", "", "/until"},
		{"Europe/Berlin", "tomorrow", "", "", "/until"},
		{"Europe/Berlin", snoozeOwn, "", "", "/until_at"},
		{"Europe/Berlin", snoozeOwn, "2026-02-30T09:00", "", "/until_at"},
		{"Europe/Berlin", snoozeOwn, "2026-10-06", "", "/until_at"},
		{"Europe/Berlin", snoozeOwn, "2026-10-06Tnoon!", "", "/until_at"},
	} {
		at, wrong := readUntil(x.choice, x.typed, loaded(t, x.zone))
		switch {
		case x.wrong != "":
			if wrong == nil || wrong.Path != x.wrong {
				t.Errorf("%+v: %v", x, wrong)
			}
		case wrong != nil || at.String() != x.want:
			t.Errorf("%+v: %s (%v)", x, at, wrong)
		}
	}
}
