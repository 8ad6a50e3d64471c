package models_test

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func dayOf(t *testing.T, text string) models.Date {
	t.Helper()
	d, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// utc reads a moment such as 2026-10-05T09:00Z.
func utc(t *testing.T, text string) models.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z", text)
	if err != nil {
		t.Fatal(err)
	}
	return models.At(at)
}

func TestDueTimesCountBusinessHoursAcrossClockChangesHolidaysAndZones(t *testing.T) {
	t.Parallel()
	nine := models.DefaultOpeningHours
	for _, x := range []struct {
		name, zone string
		hours      models.OpeningHours
		holidays   []string
		from       string
		business   time.Duration
		want       string
	}{
		{"Monday noon to Tuesday noon", "Europe/Berlin", nine, nil, "2026-10-05T10:00Z", 8 * time.Hour, "2026-10-06T10:00Z"},
		{"to the minute of closing", "Europe/Berlin", nine, nil, "2026-10-05T07:00Z", 8 * time.Hour, "2026-10-05T15:00Z"},
		{"after closing, from the next opening", "Europe/Berlin", nine, nil, "2026-10-05T20:00Z", time.Hour, "2026-10-06T08:00Z"},
		{"over the weekend on which summer time ends", "Europe/Berlin", nine, nil, "2026-10-23T14:00Z", 2 * time.Hour, "2026-10-26T09:00Z"},
		{"over the weekend on which summer time begins", "Europe/Berlin", nine, nil, "2026-03-27T15:00Z", 2 * time.Hour, "2026-03-30T08:00Z"},
		{"Christmas and the days after", "Europe/Berlin", nine, []string{"2026-12-24", "2026-12-25", "2026-12-28"}, "2026-12-23T15:00Z", 2 * time.Hour, "2026-12-29T09:00Z"},
		{"at UTC+14 it is Monday while it is Sunday in London", "Pacific/Kiritimati", nine, nil, "2026-10-04T19:00Z", 8 * time.Hour, "2026-10-05T03:00Z"},
		{"at UTC-11 it is still Friday", "Pacific/Pago_Pago", nine, nil, "2026-10-10T03:00Z", 2 * time.Hour, "2026-10-12T21:00Z"},
		{"a holiday is one at UTC-11 by its own date", "Pacific/Pago_Pago", nine, []string{"2026-10-12"}, "2026-10-10T03:00Z", 2 * time.Hour, "2026-10-13T21:00Z"},
		// In Cairo the Friday of 24 April 2026 begins at 01:00: its midnight does not exist.
		{"a business day without a midnight", "Africa/Cairo", nine, nil, "2026-04-23T14:00Z", 2 * time.Hour, "2026-04-24T07:00Z"},
		{"open around the clock, that day has 23 hours", "Africa/Cairo", models.OpeningHours{Opens: 0, Closes: 24 * 60}, nil, "2026-04-23T22:00Z", 24 * time.Hour, "2026-04-26T22:00Z"},
		{"and the one on which summer time ends has 25", "Africa/Cairo", models.OpeningHours{Opens: 0, Closes: 24 * 60}, nil, "2026-10-28T21:00Z", 25 * time.Hour, "2026-10-29T22:00Z"},
		{"half hours of a zone and of opening", "Asia/Kolkata", models.OpeningHours{Opens: 9*60 + 30, Closes: 18 * 60}, nil, "2026-10-05T12:00Z", time.Hour, "2026-10-06T04:30Z"},
		{"a day that Samoa left out", "Pacific/Apia", nine, nil, "2011-12-30T03:00Z", 4 * time.Hour, "2012-01-01T23:00Z"},
		{"no time at all", "Europe/Berlin", nine, nil, "2026-10-04T12:00Z", 0, "2026-10-04T12:00Z"},
	} {
		var off []models.Date
		for _, d := range x.holidays {
			off = append(off, dayOf(t, d))
		}
		c := models.NewCalendar(zoneOf(t, x.zone), off).WithHours(x.hours)
		got := c.AddBusinessHours(utc(t, x.from), x.business)
		if want := utc(t, x.want); !got.Equal(want.Time) {
			t.Errorf("%s: due %s, want %s", x.name, got.In(c.Zone()), want.In(c.Zone()))
		}
		if back := c.BusinessTime(utc(t, x.from), got); back != x.business {
			t.Errorf("%s: %s lie between, want %s", x.name, back, x.business)
		}
		if back := c.BusinessTime(got, utc(t, x.from)); back != -x.business {
			t.Errorf("%s: looking back %s lie between", x.name, back)
		}
	}
}

func TestBusinessTimeAddsUpInEveryZoneAndYear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Africa/Cairo", "America/Havana", "Asia/Beirut", "America/Santiago", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Australia/Lord_Howe", "UTC"} {
		c := models.NewCalendar(zoneOf(t, name), []models.Date{dayOf(t, "2026-04-24")}).WithHours(models.OpeningHours{Opens: 0, Closes: 24 * 60})
		from := utc(t, "2026-01-01T00:07Z")
		for i := range 300 {
			d := time.Duration(i+1) * 5 * time.Hour
			due := c.AddBusinessHours(from, d)
			if got := c.BusinessTime(from, due); got != d {
				t.Fatalf("%s: %s after %s is %s, between which lie %s", name, d, from, due, got)
			}
		}
	}
}

func TestADayBeginsWithItsFirstMomentEverywhere(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ zone, date, want string }{
		{"Europe/Berlin", "2026-10-05", "2026-10-04T22:00Z"},
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00Z"},     // 00:00 becomes 01:00
		{"America/Santiago", "2026-09-06", "2026-09-06T04:00Z"}, // as well
		{"Asia/Beirut", "2026-03-29", "2026-03-28T22:00Z"},      // as well
		{"America/Havana", "2026-11-01", "2026-11-01T04:00Z"},   // 01:00 becomes 00:00: midnight comes twice
		{"Pacific/Kiritimati", "2026-10-05", "2026-10-04T10:00Z"},
		{"Pacific/Pago_Pago", "2026-10-05", "2026-10-05T11:00Z"},
	} {
		zone := zoneOf(t, x.zone)
		got := dayOf(t, x.date).StartIn(zone)
		if want := utc(t, x.want); !got.Equal(want.Time) || models.DateOf(got, zone).String() != x.date {
			t.Errorf("%s begins in %s at %s, want %s", x.date, x.zone, got.In(zone), want.In(zone))
		}
		if before := models.DateOf(got.Add(-time.Second), zone); !dayOf(t, x.date).After(before) {
			t.Errorf("a second before %s begins in %s it is %s", x.date, x.zone, before)
		}
	}
	if !(models.Date{}).StartIn(time.UTC).IsZero() {
		t.Error("no date begins")
	}
}

func TestTheClockOnTheWallIsReadOnceAndNeverSkipped(t *testing.T) {
	t.Parallel()
	berlin := zoneOf(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"2026-03-29 02:30": "2026-03-29T01:00Z", // the clock never shows it
		"2026-10-25 02:30": "2026-10-25T00:30Z", // it shows it twice
		"2026-10-05 24:00": "2026-10-05T22:00Z",
	} {
		at, err := models.ParseDayTime(text[11:])
		if err != nil {
			t.Fatal(err)
		}
		if got := models.WallClock(dayOf(t, text[:10]), at, berlin); !got.Equal(utc(t, want).Time) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{"", "9", "24:01", "25:00", "9:60", "-1:00", "09:0", "nine", "009:00", "+9:00", "09:00:00"} {
		if at, err := models.ParseDayTime(bad); err == nil {
			t.Errorf("%q is read as %s", bad, at)
		}
	}
	if at, err := models.ParseDayTime("9:05"); err != nil || at.String() != "09:05" {
		t.Errorf("9:05 is read as %s (%v)", at, err)
	}
}

func TestACalendarWithoutAWorkingDayEnds(t *testing.T) {
	t.Parallel()
	var off []models.Date
	for d := dayOf(t, "2026-10-05"); len(off) < 4000; d = d.AddDays(1) {
		off = append(off, d)
	}
	c := models.NewCalendar(time.UTC, off)
	if got := c.AddBusinessHours(utc(t, "2026-10-05T09:00Z"), time.Hour); got.Year() < 2036 {
		t.Errorf("due %s", got)
	}
	if got := c.NextRecheck(utc(t, "2026-10-05T09:00Z")); got.Year() < 2036 {
		t.Errorf("checked %s", got)
	}
}

func TestLeadsAndAdminsSetTheHoursOfTheirWorkspace(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		in := func(by models.Principal, fn func(*models.Tx) error) error { return store.InTx(t.Context(), by, fn) }
		for _, id := range []string{"1000", "2000"} {
			if err := in(models.Operator(id), func(tx *models.Tx) error {
				return tx.CreateWorkspace(models.Workspace{ID: id, Name: id, TimeZone: "Europe/Berlin", Currency: "EUR"})
			}); err != nil {
				t.Fatal(err)
			}
		}
		person := func(role models.Role) models.Principal {
			return models.Principal{UserID: "usr_" + string(role), UserName: string(role), Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{role}, Channel: models.ChannelWeb}
		}
		read := func(ws string) (h models.WorkHours) {
			if err := store.View(t.Context(), models.Operator(ws), func(tx *models.Tx) (err error) { h, err = tx.WorkHours(); return err }); err != nil {
				t.Fatal(err)
			}
			return h
		}
		first := read("1000")
		if first.Opening != models.DefaultOpeningHours || first.SLA(models.QueueAP).Hours != 8 || first.SLA(models.QueueProcurement).Hours != 16 {
			t.Errorf("at first %s", first.Mark())
		}
		shorter := func(h models.WorkHours) models.WorkHours {
			h.Opening = models.OpeningHours{Opens: 8 * 60, Closes: 16*60 + 30}
			h.SLAs[models.QueueAP] = models.SLA{Hours: 4, DueSoon: 1}
			return h
		}
		if err := in(person(models.RoleAPLead), func(tx *models.Tx) error { return tx.SetWorkHours(shorter, first.Mark()) }); err != nil {
			t.Fatal(err)
		}
		if got := read("1000"); got.Opening.String() != "08:00 to 16:30" || got.SLA(models.QueueAP) != (models.SLA{Hours: 4, DueSoon: 1}) || got.SLA(models.QueueFinance) != models.DefaultSLA(models.QueueFinance) {
			t.Errorf("set to %s", got.Mark())
		}
		if got := read("2000"); got.Mark() != first.Mark() {
			t.Errorf("the other workspace has %s", got.Mark())
		}
		if err := in(person(models.RoleAdmin), func(tx *models.Tx) error { return tx.SetWorkHours(shorter, first.Mark()) }); !models.IsCode(err, models.Conflict) {
			t.Errorf("a form of before the change: %v", err)
		}
		for _, role := range []models.Role{models.RoleAPClerk, models.RoleFinanceLead, models.RoleAuditor} {
			if err := in(person(role), func(tx *models.Tx) error { return tx.SetWorkHours(shorter, "") }); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s: %v", role, err)
			}
		}
		for path, change := range map[string]func(*models.WorkHours){
			"/closes_at":        func(h *models.WorkHours) { h.Opening.Closes = h.Opening.Opens + 59 },
			"/opens_at":         func(h *models.WorkHours) { h.Opening.Opens = 24 * 60 },
			"/hours/finance":    func(h *models.WorkHours) { h.SLAs[models.QueueFinance] = models.SLA{Hours: 401} },
			"/due_soon/ap":      func(h *models.WorkHours) { h.SLAs[models.QueueAP] = models.SLA{Hours: 4, DueSoon: 5} },
			"/hours/ap_lead":    func(h *models.WorkHours) { h.SLAs[models.QueueAPLead] = models.SLA{} },
			"/due_soon/ap_lead": func(h *models.WorkHours) { h.SLAs[models.QueueAPLead] = models.SLA{Hours: 1, DueSoon: -1} },
		} {
			err := in(person(models.RoleAdmin), func(tx *models.Tx) error {
				return tx.SetWorkHours(func(h models.WorkHours) models.WorkHours { change(&h); return h }, "")
			})
			ne, _ := models.AsNamed(err)
			if ne == nil || ne.Code != models.ValidationError || ne.Details["issues"].([]models.Issue)[0].Path != path {
				t.Errorf("%s: %v", path, err)
			}
		}
		var told []models.AuditEvent
		if err := store.View(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			return tx.DB.Where("workspace_id = '1000' AND action IN ('hours.changed', 'sla.changed')").Order("at, id").Find(&told).Error
		}); err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 {
			t.Fatalf("%d changes on the trail", len(told))
		}
		for i, want := range []string{`{"after":"08:00 to 16:30","before":"09:00 to 17:00"}`,
			`{"after":"4 business hours, due soon 1 before, never escalated","before":"8 business hours, due soon 2 before, overdue ones escalated","queue":"ap"}`} {
			if told[i].Data != want {
				t.Errorf("change %d: %s", i, told[i].Data)
			}
		}
	})
}
