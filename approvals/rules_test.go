package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestOnlyPeopleAndTheOperatorEditTheMatrix(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		rule := d.rule(financeRule(1))
		sheet := []byte("currency,from,to,role\nUSD,0,1,ap_lead\n")
		for _, by := range []models.Principal{d.mcp("lars"), d.as("adam", models.ChannelAPI), d.mcp("robot"), d.web("clara"), d.web("fumiko"), d.web("audrey")} {
			_, create := d.svc.CreateRule(t.Context(), by, financeRule(2))
			_, replace := d.svc.ReplaceRule(t.Context(), by, rule.ID, 1, financeRule(2))
			_, plan := d.svc.PlanSheet(t.Context(), by, sheet, false)
			_, apply := d.svc.ApplySheet(t.Context(), by, sheet, false, 1)
			for what, err := range map[string]error{"create": create, "replace": replace, "retire": d.svc.RetireRule(t.Context(), by, rule.ID, 1), "plan": plan, "apply": apply} {
				if !models.IsCode(err, models.InsufficientPermission) {
					t.Errorf("%s on %s: %s is answered %v", by.UserName, by.Channel, what, err)
				}
			}
		}
		for _, who := range []string{"clara", "fumiko", "audrey", "lars", "adam"} {
			if m, err := d.svc.Matrix(t.Context(), d.web(who)); err != nil || len(m.Rules) != 1 {
				t.Errorf("%s reads %+v, %v", who, m, err)
			}
		}
		if _, err := d.svc.Matrix(t.Context(), d.mcp("robot")); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("an agent reads the matrix: %v", err)
		}
	})
}

func TestARuleForTwoOneAfterTheOtherIsCheckedAtBothSteps(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		for path, n := range map[string]approvals.NewRule{
			"/then_role":   {Role: models.RoleFinanceLead, ThenRole: models.RoleAuditor},
			"/then_person": {Role: models.RoleFinanceLead, ThenRole: models.RoleAPLead, ThenPeople: []string{"nina@example.com"}},
			"/required":    {Role: models.RoleFinanceLead, ThenRole: models.RoleAPLead, Required: 1},
			"/tool":        {Role: models.RoleFinanceLead, Tool: "pay\ninvoice"},
			"/supplier":    {Role: models.RoleFinanceLead, Supplier: " V-1"},
		} {
			n.Currency, n.From, n.To = "EUR", "0", "10"
			_, err := d.svc.CreateRule(t.Context(), models.Operator(company), n)
			wantIssue(t, err, path)
		}
		same := approvals.NewRule{Currency: "EUR", From: "0", To: "10", People: []string{"nina@example.com"}, ThenPeople: []string{"Nina@Example.com"}}
		_, err := d.svc.CreateRule(t.Context(), models.Operator(company), same)
		wantIssue(t, err, "/then_person")
		rule := d.rule(approvals.NewRule{Currency: "EUR", From: "0", To: "10000", Role: models.RoleFinanceLead, ThenRole: models.RoleAPLead})
		if rule.Required != 2 {
			t.Errorf("it asks for %d people", rule.Required)
		}
		v := d.request("robot", ask(t, "250.00"))
		if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestPending {
			t.Fatalf("after the first yes: %+v", got)
		}
		if got := d.yes("nina", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("after the second yes: %+v", got)
		}
		m, err := d.svc.Matrix(t.Context(), d.web("clara"))
		if err != nil || m.Rules[0].Who != "Finance lead, then AP lead" {
			t.Errorf("%+v, %v", m.Rules, err)
		}
	})
}

func TestASheetIsAppliedWholeOrNotAtAll(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		kept, gone := d.rule(financeRule(1)), d.rule(approvals.NewRule{Role: models.RoleAPLead, Currency: "CHF", From: "0", To: "10"})
		exported, err := d.svc.ExportSheet(t.Context(), d.web("audrey"))
		if err != nil {
			t.Fatal(err)
		}
		same, err := d.svc.ApplySheet(t.Context(), d.web("lars"), exported, true, 2)
		if err != nil || same.Changes() != 0 || same.Unchanged != 2 {
			t.Fatalf("an import of the export changes %+v, %v", same, err)
		}
		sheet := []byte("rule,currency,from,to,role\n" + kept.ID + ",EUR,0,20000,finance_lead\n,JPY,0,10,ap_lead\n")
		plan, err := d.svc.PlanSheet(t.Context(), d.web("lars"), sheet, true)
		if err != nil || len(plan.Added) != 1 || len(plan.Changed) != 1 || len(plan.Retired) != 1 || plan.Retired[0].Before.Rule.ID != gone.ID || plan.Version != 2 {
			t.Fatalf("%+v, %v", plan, err)
		}
		_, err = d.svc.ApplySheet(t.Context(), d.web("lars"), append(sheet, "JPY,9,1,ap_lead,x\n"...), true, 2)
		wantCode(t, err, models.ValidationError)
		if m, _ := d.svc.Matrix(t.Context(), d.web("lars")); m.Version != 2 || len(m.Rules) != 2 {
			t.Fatalf("a sheet that is wrong changed the matrix: %+v", m)
		}
		d.rule(approvals.NewRule{Role: models.RoleAPLead, Currency: "USD", From: "0", To: "10"})
		_, err = d.svc.ApplySheet(t.Context(), d.web("lars"), sheet, false, plan.Version)
		wantCode(t, err, models.Conflict)
		if _, err := d.svc.ApplySheet(t.Context(), d.web("lars"), sheet, true, 3); err != nil {
			t.Fatal(err)
		}
		m, err := d.svc.Matrix(t.Context(), d.web("lars"))
		if err != nil || m.Version != 4 || len(m.Rules) != 2 {
			t.Fatalf("%+v, %v", m, err)
		}
		history, err := d.svc.RuleHistory(t.Context(), d.web("audrey"), kept.ID)
		if err != nil || len(history) != 2 || history[0].By != "lars" || len(history[0].Fields) != 1 || history[0].Fields[0] != (approvals.FieldChange{Field: "To", Before: "EUR 10,000.00", After: "EUR 20,000.00"}) {
			t.Errorf("%+v, %v", history, err)
		}
		if got := len(d.refusals("rules.imported")); got != 1 {
			t.Errorf("%d imports are on the trail", got)
		}
		whole, err := d.svc.MatrixHistory(t.Context(), d.web("clara"), "")
		if err != nil || len(whole.Items) != 7 {
			t.Fatalf("%+v, %v", whole, err)
		}
		retired := 0
		for _, c := range whole.Items {
			if c.What == approvals.RuleRetired {
				retired++
			}
		}
		if retired != 2 {
			t.Errorf("%d rules are retired", retired)
		}
	})
}

func TestTryingARequestWritesNothingAndSaysWhy(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "500", Supplier: "V-1", Required: 2})
		try := func(change func(*approvals.TryInput)) approvals.TryResult {
			in := approvals.TryInput{Tool: "post_invoice_adjustment", Amount: "-250.00", Currency: "EUR", Supplier: "V-1"}
			change(&in)
			r, err := d.svc.Try(t.Context(), d.web("audrey"), in)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := try(func(*approvals.TryInput) {})
		if r.Rule == nil || r.Rule.Rule.Supplier != "V-1" || !r.Routed || len(r.People) != 2 || len(r.Tried) != 1 || !strings.HasSuffix(r.Tried[0].Why, "goes first: it names more") {
			t.Errorf("%+v", r)
		}
		// Fumiko cannot decide what she asks for, and then two are too few.
		if r := try(func(in *approvals.TryInput) { in.Asker = "fumiko@example.com" }); r.Routed || !strings.Contains(r.Missing, "too few") {
			t.Errorf("%+v", r)
		}
		if r := try(func(in *approvals.TryInput) { in.Supplier, in.Amount = "V-2", "10000.01" }); r.Rule != nil || r.Routed || len(r.Tried) != 2 {
			t.Errorf("%+v", r)
		}
		_, err := d.svc.Try(t.Context(), d.web("audrey"), approvals.TryInput{Tool: "x", Amount: "1", Currency: "EUR", Asker: "nobody@example.com"})
		wantIssue(t, err, "/asker")
		if _, err := d.svc.Try(t.Context(), d.mcp("robot"), approvals.TryInput{Tool: "x", Amount: "1", Currency: "EUR"}); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("a token tries the matrix: %v", err)
		}
		if list, err := d.svc.List(t.Context(), d.web("audrey"), approvals.Filter{}); err != nil || len(list.Items) != 0 {
			t.Errorf("trying left %+v, %v", list.Items, err)
		}
	})
}

func TestARuleThatExistsIsNotAddedASecondTime(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		first := d.rule(financeRule(1))
		again := financeRule(1)
		again.To, again.Valid = "10000.00", 3600_000_000_000
		_, err := d.svc.CreateRule(t.Context(), d.web("lars"), again)
		if got := wantCode(t, err, models.Conflict); got.Details["rule_id"] != first.ID || !strings.HasPrefix(got.Message, approvals.RuleName(first.ID)+" says this already") {
			t.Errorf("%+v", got)
		}
		for what, change := range map[string]func(*approvals.NewRule){
			"required": func(n *approvals.NewRule) { n.Required = 2 },
			"amount":   func(n *approvals.NewRule) { n.To = "10000.01" },
			"supplier": func(n *approvals.NewRule) { n.Supplier = "V-1" },
			"people":   func(n *approvals.NewRule) { n.Role, n.People = "", []string{"fumiko@example.com"} },
			"then":     func(n *approvals.NewRule) { n.Required, n.ThenRole = 2, models.RoleAPLead },
		} {
			other := financeRule(1)
			change(&other)
			if _, err := d.svc.CreateRule(t.Context(), d.web("lars"), other); err != nil {
				t.Errorf("another %s: %v", what, err)
			}
		}
		// Nor is one changed into it; a change of its own life alone is one.
		near := financeRule(1)
		near.CostCentre = "4711"
		changed := d.rule(near)
		_, err = d.svc.ReplaceRule(t.Context(), d.web("lars"), changed.ID, 1, financeRule(1))
		if got := wantCode(t, err, models.Conflict); got.Details["rule_id"] != first.ID {
			t.Errorf("%+v", got)
		}
		if _, err := d.svc.ReplaceRule(t.Context(), d.web("lars"), first.ID, 1, again); err != nil {
			t.Errorf("its own life: %v", err)
		}
		// Of two posts at once one is refused.
		errs := make(chan error, 2)
		twice := financeRule(1)
		twice.Currency = "USD"
		for range 2 {
			go func() {
				_, err := d.svc.CreateRule(t.Context(), d.web("lars"), twice)
				errs <- err
			}()
		}
		if a, b := <-errs, <-errs; (a == nil) == (b == nil) || !models.IsCode(errors.Join(a, b), models.Conflict) {
			t.Errorf("twice at once: %v, %v", a, b)
		}
		if rules, err := d.svc.Rules(t.Context(), d.web("lars")); err != nil || len(rules) != 8 {
			t.Errorf("%d rules, %v", len(rules), err)
		}
	})
}
