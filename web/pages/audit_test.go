package pages_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// events lists the actions shown, newest first.
func (p page) events() []string {
	var actions []string
	rows := p.doc.Find("[data-testid=event]")
	for i := range rows.Nodes {
		actions = append(actions, rows.Eq(i).AttrOr("data-action", ""))
	}
	return actions
}

func TestTheTrailIsForThoseWhoReadAllOfIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for who, may := range map[string]bool{"audra": true, "fiona": true, "lars": true, "adam": true, "anna": false, "petra": false, "mona": false} {
		v := d.signedIn(who)
		if has := v.get("/").has("nav-audit"); has != may {
			t.Errorf("the navigation of %s leads to the trail: %v", who, has)
		}
		for _, path := range []string{"/audit", "/audit.jsonl", "/audit.csv"} {
			p := v.do(http.MethodGet, path, nil)
			if may != (p.status == http.StatusOK) {
				t.Errorf("%s of %s is answered %d", path, who, p.status)
			}
			if !may && (p.status != http.StatusForbidden || !strings.Contains(p.text("main"), "This is not yours to do") || strings.Contains(p.raw, "workspace.created")) {
				t.Errorf("%s of %s is refused with %d %s", path, who, p.status, p.text("main"))
			}
		}
	}
	if p := d.stranger().do(http.MethodGet, "/audit.csv", nil); p.status != http.StatusSeeOther {
		t.Errorf("a stranger is answered %d", p.status)
	}
	if p := d.signedIn("yuki").do(http.MethodGet, "/audit?workspace_id="+company, nil); p.status == http.StatusOK {
		t.Error("somebody of another company reads the trail")
	}
}

func TestTheTrailIsFilteredByPlainAddresses(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.clock.Advance(24 * time.Hour) // Tuesday 6 October, 11:00 in Berlin
	caseID := d.handOver(d.robot(), poClosed)
	request := d.ask(d.robot(), approvalFor("500.00"))
	d.tx(d.as("lars"), func(tx *models.Tx) error {
		return tx.Audit("case.claim_refused", models.Ref{CaseID: caseID}, map[string]any{"message": "Petra holds it."})
	})
	d.tx(d.as("fiona"), func(tx *models.Tx) error { return tx.MovePeriod(mustDate(t, "2026-09-30"), models.Date{}) })
	v := d.signedIn("audra")

	all := v.get("/audit")
	if n := len(all.events()); n != 50 && n < 15 {
		t.Errorf("%d events are shown", n)
	}
	all.wants(t, "changes", "2026-09-30", "Before", "After")
	all.wants(t, "refused", "Refused")
	for query, want := range map[string]string{
		"case=" + caseID:                      "case.claim_refused case.opened",
		"request=" + request:                  "request.routed request.filed",
		"action=period.moved":                 "period.moved",
		"refused=1":                           "case.claim_refused",
		"actor=" + d.users["fiona"].ID:        "period.moved",
		"channel=mcp&case=" + caseID:          "case.opened",
		"channel=web&from=2026-10-06":         "period.moved case.claim_refused",
		"actor=nobody":                        "",
		"to=2026-10-04":                       "",
		"from=2026-10-06&action=case.claimed": "",
	} {
		if got := strings.Join(v.get("/audit?"+query).events(), " "); got != want {
			t.Errorf("%s shows %q, want %q", query, got, want)
		}
	}
	if got := v.get("/audit?invoice=5105600123").events(); len(got) < 3 {
		t.Errorf("the invoice's story is %v", got)
	}
	if p := v.get("/audit?actor=nobody"); !p.has("empty") {
		t.Error("nothing found is not said")
	}
	wrong := v.do(http.MethodGet, "/audit?from=yesterday&case="+caseID, nil)
	if wrong.status != http.StatusUnprocessableEntity || !wrong.has("error-summary") || wrong.doc.Find("input[name=case]").AttrOr("value", "") != caseID || wrong.doc.Find("input[name=from]").AttrOr("value", "") != "yesterday" {
		t.Errorf("a day that is none is answered %d: %s", wrong.status, wrong.text("main"))
	}
	if p := v.do(http.MethodGet, "/audit?from=2026-10-06&to=2026-10-05", nil); p.status != http.StatusUnprocessableEntity {
		t.Errorf("days in the wrong order are answered %d", p.status)
	}
	if p := v.do(http.MethodGet, "/audit.csv?from=yesterday", nil); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a file of such days is answered %d", p.status)
	}
}

func (d *desk) as(name string) models.Principal {
	u := d.users[name]
	return models.Principal{UserID: u.ID, UserName: u.Name, Kind: models.KindPerson, WorkspaceID: company, Channel: models.ChannelWeb,
		Roles: map[string][]models.Role{"lars": {models.RoleAPLead}, "fiona": {models.RoleFinanceLead}, "petra": {models.RoleProcurement}}[name]}
}

func mustDate(t *testing.T, s string) models.Date {
	t.Helper()
	day, err := models.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return day
}

func TestTheTrailIsReadPageByPageAndTakenAwayWhole(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tx(d.as("lars"), func(tx *models.Tx) error {
		for range 120 {
			if err := tx.Audit("case.claimed", models.Ref{CaseID: "case_1", InvoiceID: "-12.50"}, map[string]any{"input": map[string]any{"iban": "DE02120300000000202051"}, "note": "=1+1"}); err != nil {
				return err
			}
		}
		return nil
	})
	lars, audra := d.signedIn("lars"), d.signedIn("audra")
	seen := map[string]bool{}
	path, pages := "/audit?action=case.claimed", 0
	for path != "" {
		p := lars.get(path)
		pages++
		p.doc.Find("[data-testid=event]").Each(func(_ int, row *goquery.Selection) { seen[row.AttrOr("data-event", "")] = true })
		if strings.Contains(p.raw, "DE021203") {
			t.Error("bank data is shown to an AP lead")
		}
		path = p.doc.Find("[data-testid=pager-next]").AttrOr("href", "")
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d events on %d pages", len(seen), pages)
	}
	if p := audra.get("/audit?action=case.claimed"); !strings.Contains(p.raw, "DE021203") {
		t.Error("the auditor does not see what was entered")
	}

	first := lars.get("/audit?action=case.claimed")
	lines := lars.get(first.doc.Find("[data-testid=export-jsonl]").AttrOr("href", ""))
	if lines.header.Get("Content-Type") != "application/jsonl" || !strings.Contains(lines.header.Get("Content-Disposition"), `filename="apdesk audit 1000`) || lines.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the file is sent as %v", lines.header)
	}
	text := strings.Split(strings.TrimSpace(lines.raw), "\n")
	var e struct {
		Action    string
		Workspace string `json:"workspace_id"`
		Data      map[string]any
	}
	if err := json.Unmarshal([]byte(text[0]), &e); err != nil || len(text) != 120 || e.Action != "case.claimed" || e.Workspace != company || e.Data["input"] != "(hidden)" {
		t.Errorf("%d lines, the first %+v (%v)", len(text), e, err)
	}
	table := audra.get(first.doc.Find("[data-testid=export-csv]").AttrOr("href", ""))
	rows := modelstest.Rows(t, table.raw)
	if len(rows) != 121 || !strings.Contains(table.raw, ",-12.50,") || !strings.Contains(table.raw, "DE021203") {
		t.Errorf("%d rows", len(rows))
	}
	if p := lars.do(http.MethodHead, "/audit.csv", nil); p.status != http.StatusOK || p.raw != "" {
		t.Errorf("HEAD is answered %d", p.status)
	}
}

func TestSignedCheckpointsStandOnTheTrailsPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if p := d.signedIn("audra").get("/audit"); !strings.Contains(p.testID("checkpoints"), "None is signed yet") {
		t.Error("that none is signed is not said")
	}
	key, err := models.NewAuditKey([]byte(strings.Repeat("k", 32)))
	if err == nil {
		err = d.store.SealEvents(t.Context(), company)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.NewWorker(d.store, slog.New(slog.DiscardHandler), models.AuditJobs(key)).RunDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := d.signedIn("audra").get("/audit")
	p.wants(t, "checkpoint", "events, signed", "apdesk/1000", "— apdesk")
	if strings.Contains(p.testID("checkpoints"), "apdesk/2000") {
		t.Error("another company's checkpoint is shown")
	}
}

func TestTextOfOthersOnTheTrailIsNoMarkup(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	evil := d.robot()
	evil.UserName = `<script>alert(1)</script>`
	d.tx(evil, func(tx *models.Tx) error {
		return tx.Audit("case.opened", models.Ref{InvoiceID: `"><img src=x>`, CaseID: `x"><b>`}, map[string]any{"<i>": "<script>2</script>", "reason": "<u>3</u>"})
	})
	p := d.signedIn("audra").get("/audit?invoice=" + url.QueryEscape(`"><img src=x>`))
	if len(p.events()) != 1 {
		t.Fatal("the event is not found")
	}
	if main := p.doc.Find("main"); main.Find("script, img, u, i, b").Length() != 0 {
		t.Error("text of others is markup")
	}
}
