package models_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestTheTrailIsFilteredPageByPage(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		anna := models.Principal{UserID: "usr_anna", UserName: "Anna", WorkspaceID: "1000", Channel: models.ChannelWeb}
		robot := models.Principal{UserID: "usr_robot", UserName: "Robot", WorkspaceID: "1000", Channel: models.ChannelMCP}
		elsewhere := models.Principal{UserID: "usr_anna", UserName: "Anna", WorkspaceID: "2000", Channel: models.ChannelWeb}
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "3000", Name: "Other", TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
		if err != nil {
			t.Fatal(err)
		}
		write := func(by models.Principal, action string, ref models.Ref) {
			t.Helper()
			clock.Advance(time.Minute)
			if err := store.InTx(t.Context(), by, func(tx *models.Tx) error { return tx.Audit(action, ref, map[string]any{"reason": "-12"}) }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			write(robot, "case.opened", models.Ref{CaseID: fmt.Sprintf("case_%d", i), InvoiceID: fmt.Sprintf("inv_%d", i%3)})
			write(anna, "case.claimed", models.Ref{CaseID: fmt.Sprintf("case_%d", i)})
			write(elsewhere, "case.claimed", models.Ref{CaseID: fmt.Sprintf("case_%d", i)})
		}
		write(anna, "vote.refused", models.Ref{ApprovalRequestID: "areq_1"})

		read := func(q models.AuditQuery) (n int, pages int) {
			t.Helper()
			for {
				page, err := store.AuditPage(t.Context(), operator, q)
				if err != nil {
					t.Fatal(err)
				}
				pages++
				n += len(page.Events)
				for _, e := range page.Events {
					if e.WorkspaceID != "1000" {
						t.Fatalf("an event of %s is shown", e.WorkspaceID)
					}
				}
				if page.Next == nil {
					return n, pages
				}
				q.After = page.Next
			}
		}
		for name, c := range map[string]struct {
			q    models.AuditQuery
			want int
		}{
			"all":              {models.AuditQuery{}, 63},
			"action":           {models.AuditQuery{TrailFilter: models.TrailFilter{Action: "case.claimed"}}, 30},
			"user":             {models.AuditQuery{Actor: "usr_anna"}, 31},
			"the operator":     {models.AuditQuery{Actor: "operator"}, 2},
			"the desk":         {models.AuditQuery{Actor: "apdesk"}, 0},
			"channel":          {models.AuditQuery{Channel: models.ChannelMCP}, 30},
			"refused":          {models.AuditQuery{Refused: true}, 1},
			"case and user":    {models.AuditQuery{Actor: "usr_anna", TrailFilter: models.TrailFilter{CaseID: "case_7"}}, 1},
			"invoice":          {models.AuditQuery{TrailFilter: models.TrailFilter{InvoiceID: "inv_1"}}, 10},
			"request":          {models.AuditQuery{TrailFilter: models.TrailFilter{ApprovalRequestID: "areq_1"}}, 1},
			"user and action":  {models.AuditQuery{Actor: "usr_anna", TrailFilter: models.TrailFilter{Action: "vote.refused"}}, 1},
			"from":             {models.AuditQuery{TrailFilter: models.TrailFilter{From: models.At(modelstest.Start.Add(91 * time.Minute))}}, 1},
			"to":               {models.AuditQuery{TrailFilter: models.TrailFilter{To: models.At(modelstest.Start.Add(time.Minute))}}, 2},
			"somebody unknown": {models.AuditQuery{Actor: "usr_nobody"}, 0},
		} {
			for _, limit := range []int{7, 50, 200} {
				c.q.Limit = limit
				if n, pages := read(c.q); n != c.want || pages > c.want/limit+1 {
					t.Errorf("%s: %d events on %d pages of %d, want %d", name, n, pages, limit, c.want)
				}
			}
		}
		actions, actors, err := store.AuditChoices(t.Context(), operator)
		if err != nil || !slices.Equal(actions, []string{"case.claimed", "case.opened", "vote.refused", "workspace.created"}) || len(actors) != 0 {
			t.Errorf("to choose from are %v and %v (%v)", actions, actors, err)
		}
	})
}

// A filter that hardly anything matches must not cost what the history is long.
func TestAPageOfTheTrailLooksAtABoundedNumberOfEvents(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		for range models.AuditScan + 500 {
			if err := tx.Audit("case.opened", models.Ref{}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := store.AuditPage(t.Context(), operator, models.AuditQuery{Channel: models.ChannelMCP, TrailFilter: models.TrailFilter{Limit: 50}})
	if err != nil || len(page.Events) != 0 || !page.Cut || page.Next == nil || page.Until.IsZero() {
		t.Fatalf("the first page is %+v (%v)", page, err)
	}
	page, err = store.AuditPage(t.Context(), operator, models.AuditQuery{Channel: models.ChannelMCP, TrailFilter: models.TrailFilter{Limit: 50, After: page.Next}})
	if err != nil || page.Cut || page.Next != nil {
		t.Errorf("the second page is %+v (%v)", page, err)
	}
}

// Every filter is answered from an index that also gives the order, so a page costs the same however
// long the trail is.
func TestEveryFilterOfTheTrailHasItsIndex(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	const page, from, to = " AND (at, id) < ('2026-12-01', 'evt_x')", " AND at >= '2026-10-05'", " AND at < '2026-10-06'"
	filters := map[string]string{
		"":                                          "audit_events_at",
		"AND action = 'case.opened'":                "audit_events_action",
		"AND actor_id = 'usr_anna'":                 "audit_events_actor",
		"AND subject = 'x' AND subject <> ''":       "audit_events_subject",
		"AND case_id = 'x' AND case_id <> ''":       "audit_events_case",
		"AND invoice_id = 'x' AND invoice_id <> ''": "audit_events_invoice",
		"AND approval_request_id = 'x' AND approval_request_id <> ''": "audit_events_request",
	}
	conditions := map[string]string{}
	for filter, index := range filters {
		for _, more := range []string{"", page, from, to} {
			conditions[filter+more] = index
		}
	}
	for condition, index := range conditions {
		var plan []struct{ Detail string }
		err := store.View(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Raw("EXPLAIN QUERY PLAN SELECT * FROM audit_events WHERE workspace_id = '1000' " + condition + " ORDER BY at DESC, id DESC LIMIT 51").Scan(&plan).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(plan)
		if !strings.Contains(text, "USING INDEX "+index+" ") || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
			t.Errorf("%s: %s, want %s", condition, text, index)
		}
	}
}

func TestTheTrailIsExportedWholeAndWithoutFormulas(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		evil := models.Principal{UserID: "usr_evil", UserName: `=HYPERLINK("http://evil.example","x")`, WorkspaceID: "1000", Channel: models.ChannelMCP}
		err := store.InTx(t.Context(), evil, func(tx *models.Tx) error {
			return tx.Audit("case.decided", models.Ref{CaseID: "case_1", InvoiceID: "-12.50"}, map[string]any{"input": map[string]any{"iban": "DE02120300000000202051"}, "why": "a <b>,\n\"c\""})
		})
		if err != nil {
			t.Fatal(err)
		}
		writeEvents(t, store, clock, 1200) // more than a page
		export := func(by models.Principal, format models.AuditFormat) string {
			t.Helper()
			var out bytes.Buffer
			if err := store.ExportAudit(t.Context(), by, models.AuditQuery{TrailFilter: models.TrailFilter{Oldest: true}}, format, &out); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		lines := strings.Split(strings.TrimSpace(export(operator, models.AuditJSONL)), "\n")
		if len(lines) != 1200 {
			t.Fatalf("%d lines are exported", len(lines))
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(lines[1]), &e); err != nil || e["actor_name"] != evil.UserName || e["seq"] != 2.0 || e["data"].(map[string]any)["why"] != "a <b>,\n\"c\"" {
			t.Errorf("exported is %v (%v)", e, err)
		}
		rows, err := modelstest.Rows(t, export(operator, models.AuditCSV)), error(nil)
		if err != nil || len(rows) != 1201 {
			t.Fatalf("%d rows are exported (%v)", len(rows), err)
		}
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = rows[2][i]
		}
		if row["actor_name"] != "'"+evil.UserName || row["invoice_id"] != "-12.50" || !strings.Contains(row["data"], "DE02120300000000202051") {
			t.Errorf("the row is %v", row)
		}
		lead := models.Principal{UserID: "usr_l", WorkspaceID: "1000", Roles: []models.Role{models.RoleAPLead}, Channel: models.ChannelWeb}
		for _, format := range []models.AuditFormat{models.AuditJSONL, models.AuditCSV} {
			if text := export(lead, format); strings.Contains(text, "DE021203") || !strings.Contains(text, "(hidden)") {
				t.Errorf("bank data is exported to an AP lead as %s", format)
			}
		}
	})
}

// hostileCells are texts that some spreadsheet runs, or that mislead whoever reads them.
var hostileCells = []string{"1;=1+1", `"=1+1"`, `a;"=1+1"`, "a,=1", "a\t+1", "a\n@x", "a; -2+3", "=1+1", "\r=1", "a;＝1", `[1,-2]`, "a;;=1", "'=1", "a;'=1", "''", "[U+202E]", "x\u202ey\u202c\u200b", "\ufeff=1", "INV;+49", "\u200b;=1"}

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "a": "a", "-12.50": "-12.50", "12": "12", "-1e5": "'-1e5", "=1+1": "'=1+1", "+49 30": "'+49 30", "@SUM(A1)": "'@SUM(A1)", "-": "'-", "-2+3": "'-2+3",
		"\t=1": "'\t'=1", "  =1": "'  =1", "\r=1": "[U+000D]=1", "＝1": "'＝1", "|cmd": "'|cmd", "2026-10-05": "2026-10-05", "1;=1+1": "1;'=1+1", `"=1+1"`: `'"=1+1"`, `a;"=1"`: `a;'"=1"`, "a, -1": "a,' -1",
		"Müller; Söhne": "Müller; Söhne", "INV\u202e-1": "INV[U+202E]-1", "[U+202E]": "[U+005B]U+202E]", "a\xffb": "a[0xFF]b", "[1]": "[1]"} {
		if got := models.PlainCell(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
}

func FuzzCellsRunNothingAndComeBack(f *testing.F) {
	for _, s := range append(hostileCells, "-12.50", "plain", "'-12.50", "＋x", "@", `"`, "a;") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var b strings.Builder
		sheet, err := models.NewSheet(&b)
		if err == nil {
			err = errors.Join(sheet.Write([]string{"id", s, "end"}), sheet.Flush())
		}
		if err != nil {
			t.Fatal(err)
		}
		row := modelstest.Rows(t, b.String())[0]
		if utf8.ValidString(s) && models.ReadCell(row[1]) != s {
			t.Errorf("%q is written %q and read %q", s, row[1], models.ReadCell(row[1]))
		}
		if strings.ContainsAny(b.String(), "\u202e\u202c\u200b\x00") {
			t.Errorf("%q is written with characters that cannot be seen", s)
		}
	})
}

func TestPrivateDataInsideAnEventIsHiddenByItsName(t *testing.T) {
	t.Parallel()
	e := models.AuditEvent{Data: `{"before":{"bank_account":"DE89370400440532013000","amount":12.50},"after":[{"tax_id":"DE811234567"}],"approval":"apr_0123456789abcdefghijklmnopqrstuv"}`}
	for _, role := range models.AuditReaders() {
		got := string(e.DataFor(models.Principal{Roles: []models.Role{role}, Channel: models.ChannelWeb}))
		sees := role == models.RoleAuditor || role == models.RoleFinanceLead
		if strings.Contains(got, "DE8937") != sees || strings.Contains(got, "DE8112") != sees || !strings.Contains(got, "12.50") || strings.Contains(got, "mnopqr") {
			t.Errorf("%s reads %s", role, got)
		}
	}
}
