package pages_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// eachDesk runs a story on both databases.
func eachDesk(t *testing.T, story func(t *testing.T, d *desk)) {
	t.Helper()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		story(t, newDeskOn(t, store, clock))
	})
}

func (d *desk) runDue() {
	d.t.Helper()
	if _, err := models.NewWorker(d.store, slog.New(slog.DiscardHandler), d.queue.Jobs()).RunDue(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

func TestAClerkSnoozesACaseAndFindsItAgain(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		id := d.handOver(d.robot(), poClosed)
		petra := d.signedIn("petra")
		seen := petra.get("/cases/" + id)
		seen.wants(t, "snooze-form", "Later today, Mon 5 Oct, 13:30", "Tomorrow, Tue 6 Oct, 09:00", "Next Monday, Mon 12 Oct, 09:00", "On the clock of Europe/Berlin")
		none := petra.send(seen, "snooze-form", one("reason", "They call back."))
		if none.status != http.StatusUnprocessableEntity || !strings.Contains(none.testID("snooze-form"), "choose until when") || !strings.Contains(none.testID("snooze-form"), "They call back.") {
			t.Fatalf("without a time it is answered %d: %s", none.status, none.testID("snooze-form"))
		}
		past := petra.send(seen, "snooze-form", one("until", "own", "until_at", "2026-10-05T10:59"))
		if past.status != http.StatusUnprocessableEntity || !strings.Contains(past.testID("snooze-form"), "must be a moment in the future") {
			t.Fatalf("a time gone by is answered %d: %s", past.status, past.testID("snooze-form"))
		}
		if got := past.doc.Find("[name=until_at]").AttrOr("value", ""); got != "2026-10-05T10:59" {
			t.Errorf("what was typed is %q", got)
		}
		after := petra.follow(petra.send(seen, "snooze-form", one("until", "2026-10-06T07:00:00Z", "reason", "They <b>call</b> back.")))
		after.wants(t, "flash", "The case is snoozed")
		after.wants(t, "snooze", "Snoozed by you until Tue 6 Oct, 09:00", "They <b>call</b> back.")
		after.wants(t, "timeline", "snoozed the case until Tue 6 Oct, 09:00")
		list := petra.get("/queues/procurement")
		list.wants(t, "empty", "Nothing is waiting here")
		list.wants(t, "filter-snoozed", "1")
		list.wants(t, "filter-open", "0")
		if href := list.doc.Find("[data-testid=filter-snoozed]").AttrOr("href", ""); !strings.Contains(petra.get(href).testID("case-row"), "Snoozed until Tue 6 Oct, 09:00") {
			t.Error("the snoozed case does not stand under its tab")
		}
		if petra.get("/").has("next-cases") {
			t.Error("the snoozed case is the next on the desk")
		}
		d.clock.Set(time.Date(2026, 10, 6, 7, 0, 0, 0, time.UTC))
		petra = d.signedIn("petra") // a session does not last so long
		d.runDue()
		petra.get("/queues/procurement").wants(t, "filter-open", "1")
		petra.get("/notices").wants(t, "notice-row", "A case you snoozed is back in Procurement, since its time has come: invoice INV-778. Your note: They <b>call</b> back.")

		again := petra.send(petra.get("/cases/"+id), "snooze-form", one("until", "own", "until_at", "2026-10-09T12:00"))
		back := petra.follow(petra.press(petra.follow(again), "unsnooze"))
		back.wants(t, "flash", "The case is back in the list")
		if back.has("snoozed") {
			t.Error("it is still snoozed")
		}
		// Who may not act sees how it stands, and no form.
		petra.send(back, "snooze-form", one("until", "own", "until_at", "2026-10-09T12:00"))
		audra := d.signedIn("audra").get("/cases/" + id)
		audra.wants(t, "snooze", "Snoozed by Petra until Fri 9 Oct, 12:00")
		if audra.has("snooze-form") || audra.has("unsnooze") || audra.has("reroute-form") {
			t.Error("the auditor has forms")
		}
	})
}

func TestACaseIsMovedToAnotherQueueWithAReason(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		id := d.handOver(d.robot(), poClosed)
		petra := d.signedIn("petra")
		seen := petra.get("/cases/" + id)
		wrong := petra.send(seen, "reroute-form", one("to", "ap", "reason", " "))
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("reroute-form"), "must say why") || wrong.doc.Find("[name=to] option[selected]").AttrOr("value", "") != "ap" {
			t.Fatalf("without a reason it is answered %d: %s", wrong.status, wrong.testID("reroute-form"))
		}
		if n := wrong.doc.Find("[data-testid=reroute] details[open]").Length(); n != 1 {
			t.Error("the form with what is wrong is folded away")
		}
		after := petra.follow(petra.send(seen, "reroute-form", one("to", "ap", "reason", "No order is meant.")))
		after.wants(t, "flash", "moved to another queue")
		after.wants(t, "timeline", "moved the case from Procurement to Accounts payable", "No order is meant.")
		if after.has("reroute-form") {
			t.Error("who no longer works its queue can move it")
		}
		anna := d.signedIn("anna")
		anna.get("/cases/"+id).wants(t, "rerouted", "Petra moved this here from Procurement", "No order is meant.")
		late := petra.send(seen, "reroute-form", one("to", "finance", "reason", "Second thoughts."))
		if late.status != http.StatusConflict || !strings.Contains(late.text("main"), "moved the case from Procurement to Accounts payable") {
			t.Errorf("a form of before is answered %d: %s", late.status, late.text("main"))
		}
	})
}

func TestWhatIsDueIsSeenOnTheDeskAndInTheQueue(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed) // due Wednesday 11:00 in Berlin
	petra := d.signedIn("petra")
	petra.get("/cases/" + id).doc.Find(".case__bar time").First().Each(func(_ int, s *goquery.Selection) {
		if s.Text() != "due in 2 business days" || s.AttrOr("title", "") != "Wed 7 Oct 2026, 11:00 (Europe/Berlin)" {
			t.Errorf("due %q, %q", s.Text(), s.AttrOr("title", ""))
		}
	})
	d.clock.Set(time.Date(2026, 10, 7, 7, 30, 0, 0, time.UTC))
	petra = d.signedIn("petra") // a session does not last so long
	home := petra.get("/")
	home.wants(t, "soon-procurement", "1 due soon")
	home.wants(t, "soon-cases", "due in 1 business hour", "INV-778")
	if home.has("overdue-cases") || home.has("next-cases") {
		t.Error("the case stands twice on the desk")
	}
	href := home.doc.Find("[data-testid=soon-procurement]").AttrOr("href", "")
	petra.get(href).wants(t, "case-row", "INV-778")
	d.clock.Set(time.Date(2026, 10, 7, 11, 0, 0, 0, time.UTC))
	petra = d.signedIn("petra") // a session does not last so long
	d.runDue()
	home = petra.get("/")
	home.wants(t, "overdue-procurement", "1 overdue")
	home.wants(t, "overdue-cases", "overdue by 2 business hours")
	petra.get("/queues/procurement?due=overdue").wants(t, "case-row", "INV-778")
	petra.get("/queues/procurement?due=soon").wants(t, "empty", "Nothing is due soon here")
	petra.get("/queues/procurement?due=today").wants(t, "case-row", "INV-778")
	if p := petra.do(http.MethodGet, "/queues/procurement?due=never", nil); p.status != http.StatusUnprocessableEntity && p.status != http.StatusBadRequest {
		t.Errorf("an unknown filter is answered %d", p.status)
	}
	for _, name := range []string{"petra", "lars"} {
		d.signedIn(name).get("/notices").wants(t, "notice-row", "A case in Procurement is overdue: 1,234.50 EUR for invoice INV-778 of Nordwind GmbH.")
	}
	petra.get("/cases/"+id).wants(t, "escalated", "The AP leads and everybody who works Procurement were told")
	if got := d.signedIn("anna").get("/notices").testID("notice-row"); strings.Contains(got, "overdue") {
		t.Errorf("a clerk was told: %s", got)
	}
}

func TestPeopleFarApartSeeOneMomentOnTheirOwnClocks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	hash, err := passwordHash()
	if err != nil {
		t.Fatal(err)
	}
	for name, zone := range map[string]string{"east": "Pacific/Kiritimati", "west": "Pacific/Pago_Pago"} {
		d.add(company, models.NewUser{Email: name + "@example.com", Name: name, TimeZone: zone, Roles: []models.Role{models.RoleProcurement}, PasswordHash: hash})
	}
	for name, want := range map[string]struct{ due, offered string }{
		"east": {"Wed 7 Oct 2026, 23:00 (Pacific/Kiritimati), Wed 7 Oct 2026, 11:00 (Europe/Berlin)", "Tomorrow, Tue 6 Oct, 09:00"},
		"west": {"Tue 6 Oct 2026, 22:00 (Pacific/Pago_Pago), Wed 7 Oct 2026, 11:00 (Europe/Berlin)", "Tomorrow, Mon 5 Oct, 09:00"},
	} {
		p := d.signedIn(name).get("/cases/" + id)
		if got := p.doc.Find(".case__bar time").First().AttrOr("title", ""); got != want.due {
			t.Errorf("%s is told %q", name, got)
		}
		p.wants(t, "snooze-form", want.offered)
	}
}

func TestLeadsAndAdminsEditTheHoursAndOthersReadThem(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		lars, adam := d.signedIn("lars"), d.signedIn("adam")
		seen := lars.get("/settings/hours")
		seen.wants(t, "hours-example", "As it is now", "due in 2 business days", "Wed 7 Oct 2026, 11:00 (Europe/Berlin)")
		fields := func(more ...string) map[string][]string {
			v := one("opens_at", "8:00", "closes_at", "16:30")
			for _, q := range models.Queues() {
				v.Set("hours."+string(q), "8")
				v.Set("due_soon."+string(q), "2")
				v.Set("escalate."+string(q), "yes")
			}
			for i := 0; i+1 < len(more); i += 2 {
				v.Set(more[i], more[i+1])
			}
			return v
		}
		before := d.trail()
		preview := lars.send(seen, "hours-form", fields("preview", "1", "hours.procurement", "3"))
		if preview.status != http.StatusOK || d.trail() != before {
			t.Fatalf("looking at what it means is answered %d and leaves %d events", preview.status, d.trail()-before)
		}
		preview.wants(t, "hours-example", "not saved yet", "due in 3 business hours", "Mon 5 Oct 2026, 14:00 (Europe/Berlin)")
		if got := preview.doc.Find("[name='hours.procurement']").AttrOr("value", ""); got != "3" {
			t.Errorf("what was typed is %q", got)
		}
		wrong := lars.send(seen, "hours-form", fields("closes_at", "8:30", "hours.ap", "none"))
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("error-summary"), "Accounts payable: due after, in business hours: must be a whole number of hours") {
			t.Errorf("wrong hours are answered %d: %s", wrong.status, wrong.testID("error-summary"))
		}
		wrong = lars.send(seen, "hours-form", fields("closes_at", "8:30"))
		wrong.wants(t, "error-summary", "Closes at: must be at least an hour after opening")
		theirs := adam.get("/settings/hours")
		lars.follow(lars.send(seen, "hours-form", fields("hours.procurement", "3", "escalate.finance", ""))).wants(t, "flash", "They count for cases that arrive from now on")
		if got := lars.get("/settings").text("main"); !strings.Contains(got, "Monday to Friday, 08:00 to 16:30") {
			t.Errorf("the settings read %q", got)
		}
		late := adam.send(theirs, "hours-form", fields())
		if late.status != http.StatusConflict || !strings.Contains(late.testID("error-summary"), "Somebody changed the hours") {
			t.Errorf("hours changed meanwhile are answered %d: %s", late.status, late.testID("error-summary"))
		}
		petra := d.signedIn("petra")
		read := petra.get("/settings/hours")
		read.wants(t, "why-not", "An AP lead or an admin changes them")
		read.wants(t, "hours-example", "3 business hours, due soon 2 before, overdue ones escalated", "never escalated")
		if read.has("hours-form") {
			t.Error("procurement has the form")
		}
		refused := fields()
		refused["csrf_token"] = []string{read.doc.Find("input[name=csrf_token]").AttrOr("value", "")}
		if p := petra.do(http.MethodPost, "/settings/hours", refused); p.status != http.StatusForbidden {
			t.Errorf("procurement's own form is answered %d", p.status)
		}
		id := d.handOver(d.robot(), poClosed)
		petra.get("/cases/" + id).doc.Find(".case__bar time").First().Each(func(_ int, s *goquery.Selection) {
			if s.Text() != "due in 3 business hours" {
				t.Errorf("a new case is %q", s.Text())
			}
		})
		trail := d.signedIn("audra").get("/audit").text("main")
		for _, want := range []string{"changed the opening hours", "09:00 to 17:00", "08:00 to 16:30", "changed how long Procurement has for a case", "3 business hours, due soon 2 before"} {
			if !strings.Contains(trail, want) {
				t.Errorf("the trail lacks %q", want)
			}
		}
	})
}
