package pages_test

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/queue"
)

func TestReportsTellWhatCameAndWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.clock.Advance(24 * time.Hour) // Tuesday 6 October, 11:00 in Berlin
	id := d.handOver(d.robot(), poClosed)
	d.ask(d.robot(), approvalFor("500.00"))
	d.clock.Advance(time.Hour)
	if _, err := d.queue.Decide(t.Context(), d.as("petra"), queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "More was ordered.", Version: 1}); err != nil {
		t.Fatal(err)
	}
	lars := d.signedIn("lars")
	p := lars.get("/reports")
	p.wants(t, "figures-queues", "Procurement", "1 of 1", "1 business hour")
	p.wants(t, "figures-codes", "PO_CLOSED", "Reopen the purchase order 1")
	p.wants(t, "figures-approvals", "Approvals asked for", "Still waiting", "Prompts per invoice")
	p.wants(t, "figures-people", "Petra")
	if !p.has("nav-reports") || p.doc.Find("[data-testid=period-week]").AttrOr("aria-current", "") == "" {
		t.Errorf("the last seven days are not the chosen period: %s", p.text("main"))
	}
	if got := p.doc.Find("input[name=from]").AttrOr("value", "") + " " + p.doc.Find("input[name=to]").AttrOr("value", ""); got != "2026-09-30 2026-10-06" {
		t.Errorf("the period is %s", got)
	}
	for tab, want := range map[string]string{"month": "from=2026-10-01&to=2026-10-06", "before": "from=2026-09-01&to=2026-09-30", "days": "from=2026-09-07&to=2026-10-06"} {
		if got := p.doc.Find("[data-testid=period-"+tab+"]").AttrOr("href", ""); got != "/reports?"+want {
			t.Errorf("%s leads to %s", tab, got)
		}
	}
	before := lars.get("/reports?from=2026-09-01&to=2026-10-05")
	before.wants(t, "figures-codes", "Nothing came and nothing was decided.")
	for query, want := range map[string]string{"from=yesterday": "date", "from=2026-10-06&to=2026-10-05": "must not be before the first day", "from=2026-01-01&to=2026-10-05": "must be at most 91 days before the last day",
		"to=2026-02-30": "date"} {
		wrong := lars.do(http.MethodGet, "/reports?"+query, nil)
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.text("main"), want) || wrong.has("figures-queues") {
			t.Errorf("%s is answered %d: %s", query, wrong.status, wrong.text("main"))
		}
		if p := lars.do(http.MethodGet, "/reports.csv?"+query, nil); p.status != http.StatusUnprocessableEntity {
			t.Errorf("the file of %s is answered %d", query, p.status)
		}
	}
	href := p.doc.Find("[data-testid=export-csv]").AttrOr("href", "")
	rows, err := csv.NewReader(strings.NewReader(lars.get(href).raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	has := func(cells ...string) {
		t.Helper()
		want := append([]string{"2026-09-30", "2026-10-06"}, cells...)
		if !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the file lacks %q: %q", want, rows)
		}
	}
	has("queue", "procurement", "came", "1")
	has("queue", "procurement", "median_business_minutes", "60")
	has("code", "PO_CLOSED", "exit reopen_po", "1")
	has("approvals", "", "waiting", "1")
	has("person", "Petra", "cases_decided", "1")
	for _, who := range []string{"anna", "petra", "mona"} {
		v := d.signedIn(who)
		if v.get("/").has("nav-reports") {
			t.Errorf("%s is led to the reports", who)
		}
	}
}
