package approvals_test

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// unrouted asks for an amount in a document type that nobody may decide yet.
func (d *desk) unrouted(amount, documentType string) string {
	d.t.Helper()
	v := d.request("robot", ask(d.t, amount, func(in *approvals.RequestInput) { in.DocumentType = documentType }))
	if v.Status != models.RequestUnrouted {
		d.t.Fatalf("%s of %s is %s", amount, documentType, v.Status)
	}
	return v.RequestID
}

func (d *desk) stateOf(requestID string) models.RequestStatus {
	d.t.Helper()
	v, err := d.svc.Get(d.t.Context(), d.mcp("robot"), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Status
}

func TestWhatTheMatrixCoversNowIsRoutedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		decided, alike, narrow, above := d.unrouted("20000.00", "KR"), d.unrouted("30000.00", "KR"), d.unrouted("40000.00", "KG"), d.unrouted("900000.00", "KR")

		// Nina closes the gap, for finance leads and herself together; Lars says that it is fixed.
		rule, err := d.svc.CreateRule(t.Context(), d.web("nina"), approvals.NewRule{Currency: "EUR", From: "10000.01", To: "50000", DocumentType: "KR",
			People: []string{"nina@example.com", "fumiko@example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.RouteAgain(tx, decided) })
		for id, want := range map[string]models.RequestStatus{decided: models.RequestPending, alike: models.RequestPending, narrow: models.RequestUnrouted, above: models.RequestUnrouted} {
			if got := d.stateOf(id); got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		if got := d.cases.closed["case_for_"+alike]; got != "matrix_fixed" {
			t.Errorf("the other's case is closed by %q", got)
		}
		for _, id := range []string{decided, narrow, above} {
			if got, closed := d.cases.closed["case_for_"+id]; closed {
				t.Errorf("the case of %s is closed by %q", id, got)
			}
		}
		// Who wrote the version never votes on what it routed.
		for _, id := range []string{decided, alike} {
			_, err := d.vote("nina", id, models.VoteApprove, "")
			if ne := wantCode(t, err, models.Unprocessable); ne.Details["reason"] != "rule_author" {
				t.Errorf("nina votes on what her rule routed: %v", ne)
			}
		}
		// Lars makes the next version, with Nina first: it bars him from what it will route, and changes
		// nothing for what the older one routed.
		if _, err := d.svc.ReplaceRule(t.Context(), d.web("fumiko"), rule.ID, 1, approvals.NewRule{Currency: "EUR", From: "10000.01", To: "50000", People: []string{"fumiko@example.com"}}); !models.IsCode(err, models.InsufficientPermission) {
			t.Fatalf("a finance lead edits the matrix: %v", err)
		}
		d.add(models.NewUser{Email: "fumiko@example.com", Name: "fumiko", Roles: []models.Role{models.RoleAPLead}})
		d.roles["fumiko"] = []models.Role{models.RoleFinanceLead, models.RoleAPLead}
		if _, err := d.svc.ReplaceRule(t.Context(), d.web("fumiko"), rule.ID, 1, approvals.NewRule{Currency: "EUR", From: "10000.01", To: "60000", People: []string{"fumiko@example.com", "frank@example.com"}}); err != nil {
			t.Fatal(err)
		}
		if v := d.yes("fumiko", decided); v.Status != models.RequestApproved {
			t.Errorf("who edits a rule later still decides what an older version routed: %+v", v)
		}
		fresh := d.request("robot", ask(t, "41000.00", func(in *approvals.RequestInput) { in.DocumentType = "KR" }))
		if _, err := d.vote("fumiko", fresh.RequestID, models.VoteApprove, ""); !models.IsCode(err, models.Unprocessable) {
			t.Errorf("fumiko votes on what her own version routed: %v", err)
		}
		if v := d.yes("frank", fresh.RequestID); v.Status != models.RequestApproved {
			t.Errorf("%+v", v)
		}
	})
}

func TestNamingAnApproverRoutesWhatElseIsCovered(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "10000", To: "50000"})
		named, other := d.unrouted("7500.00", ""), d.unrouted("600.00", "")
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "500", To: "700"})
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, named, "frank@example.com") })
		if d.stateOf(named) != models.RequestPending || d.stateOf(other) != models.RequestPending {
			t.Fatalf("named %s, other %s", d.stateOf(named), d.stateOf(other))
		}
		if got := d.cases.closed["case_for_"+other]; got != "name_approver" {
			t.Errorf("the other's case is closed by %q", got)
		}
		if v := d.yes("fumiko", other); v.Status != models.RequestApproved {
			t.Errorf("the other one is for every finance lead: %+v", v)
		}
		if _, err := d.vote("fumiko", named, models.VoteApprove, ""); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("only frank was named: %v", err)
		}
		if v := d.yes("frank", named); v.Status != models.RequestApproved {
			t.Errorf("%+v", v)
		}
	})
}

func TestCandidatesComeWithLimitAbsenceAndWhyNot(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "10000", To: "50000"})
		d.rule(approvals.NewRule{People: []string{"nina@example.com"}, Currency: "EUR", From: "8000", To: "9000"})
		d.rule(approvals.NewRule{Role: models.RoleAPClerk, Currency: "EUR", From: "0", To: "100"})
		d.rule(approvals.NewRule{People: []string{"lars@example.com"}, Currency: "EUR", From: "0", To: "7000"})
		id := d.unrouted("7500.00", "")
		day, err := models.ParseDate("2026-10-09")
		if err != nil {
			t.Fatal(err)
		}
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			return tx.DB.Create(&models.Delegation{ID: "del_1", WorkspaceID: company, FromID: d.users["frank"].ID, FromName: "frank", FirstDay: day, LastDay: day, TimeZone: "Europe/Berlin",
				StartsAt: tx.Now.Add(-day2), EndsAt: tx.Now.Add(day2), CreatedByName: "frank", CreatedAt: tx.Now}).Error
		})
		list, err := d.svc.Candidates(t.Context(), d.web("lars"), id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			line := c.Name + " " + c.Limit
			if c.Absence != "" {
				line += " " + c.Absence
			}
			if !c.May {
				line += ": " + c.Why
			}
			got = append(got, line)
		}
		want := []string{"nina EUR 9,000.00", "frank EUR 50,000.00 away until 9 Oct 2026", "fumiko EUR 50,000.00",
			"lars EUR 7,000.00: may approve up to EUR 7,000.00, and this is EUR 7,500.00", "clara EUR 100.00: may approve up to EUR 100.00, and this is EUR 7,500.00"}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if _, err := d.svc.Candidates(t.Context(), d.mcp("robot"), id); err == nil {
			t.Error("a token reads the candidates")
		}
	})
}

const day2 = 2 * day
