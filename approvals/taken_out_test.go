package approvals_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// forSupplier is a rule that goes before the one for everybody.
func forSupplier(required int) approvals.NewRule {
	n := financeRule(required)
	n.Supplier = "V-2001"
	return n
}

// replaced lets somebody write the next version of a rule.
func (d *desk) replaced(by string, r models.Rule, n approvals.NewRule) models.Rule {
	d.t.Helper()
	next, err := d.svc.ReplaceRule(d.t.Context(), d.web(by), r.ID, r.Version, n)
	if err != nil {
		d.t.Fatal(err)
	}
	return next
}

func (d *desk) retired(by string, r models.Rule) {
	d.t.Helper()
	if err := d.svc.RetireRule(d.t.Context(), d.web(by), r.ID, r.Version); err != nil {
		d.t.Fatal(err)
	}
}

// Otto keeps the matrix and is a finance lead too.
func withOtto(t *testing.T, f func(t *testing.T, d *desk, clock *modelstest.Clock)) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.person("otto", models.RoleFinanceLead, models.RoleAPLead)
		f(t, d, clock)
	})
}

func TestWhoTakesOutAStricterRuleDoesNotDecideWhatFollows(t *testing.T) {
	withOtto(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		strict := d.rule(forSupplier(2))
		before := d.request("robot", ask(t, "1.00")).RequestID
		d.retired("otto", strict)
		clock.Advance(time.Hour)
		id := d.request("robot", ask(t, "2.00")).RequestID

		_, err := d.vote("otto", id, models.VoteApprove, "")
		ne := wantCode(t, err, models.Unprocessable)
		words := "took out or changed the rule that asked two people for this"
		if ne.Details["reason"] != "rule_for_two_taken_out" || !strings.Contains(ne.Message, "You "+words) {
			t.Fatalf("%v", ne)
		}
		// The page says so of him, to himself and to others.
		if p := d.page("otto", id); p.CanVote || !strings.Contains(p.WhyNot, words) {
			t.Errorf("his page: %t, %q", p.CanVote, p.WhyNot)
		}
		said := ""
		for _, who := range d.page("frank", id).Deciders {
			if who.Name == "otto" {
				said = who.Why
			}
		}
		if said != words {
			t.Errorf("of him the page says %q", said)
		}
		// So does a try of the matrix.
		tried, err := d.svc.Try(t.Context(), d.web("lars"), approvals.TryInput{Tool: "post_invoice_adjustment", Supplier: "V-2001", Amount: "2.00", Currency: "EUR"})
		if err != nil || !slices.ContainsFunc(tried.People, func(p approvals.TryPerson) bool { return p.Name == "otto" && !p.May && p.Why == words }) {
			t.Errorf("a try says %+v, %v", tried.People, err)
		}
		// The trail and the proof name him with the rule.
		var data struct {
			TakenOut []approvals.TakenOut `json:"taken_out"`
		}
		routed := d.eventsOf(id, "request.routed")
		if len(routed) != 1 || json.Unmarshal([]byte(routed[0].Data), &data) != nil || len(data.TakenOut) != 1 || data.TakenOut[0].UserID != d.users["otto"].ID || data.TakenOut[0].Rule.ID != strict.ID {
			t.Errorf("the trail holds %+v", routed)
		}
		proof := d.proof(d.web("audrey"), id).Authority
		if len(proof.TakenOut) != 1 || proof.TakenOut[0].Name != "otto" || proof.TakenOut[0].What != approvals.RuleRetired || proof.TakenOut[0].Rule.Required != 2 || !strings.Contains(proof.TakenOut[0].Text, "V-2001") {
			t.Errorf("the proof holds %+v", proof.TakenOut)
		}
		if v := d.yes("frank", id); v.Status != models.RequestApproved {
			t.Errorf("%+v", v)
		}
		// What the rule routed while it was there is not touched.
		d.yes("frank", before)
		if v := d.yes("otto", before); v.Status != models.RequestApproved {
			t.Errorf("otto's yes counts where two are still asked: %+v", v)
		}
		// After a month he decides again.
		clock.Advance(31 * 24 * time.Hour)
		late := d.request("robot", ask(t, "3.00")).RequestID
		if v := d.yes("otto", late); v.Status != models.RequestApproved {
			t.Errorf("%+v", v)
		}
	})
}

func TestWhichEditsKeepSomebodyFromDeciding(t *testing.T) {
	narrower := func(required int) approvals.NewRule {
		n := forSupplier(required)
		n.Supplier = "V-9"
		return n
	}
	for name, c := range map[string]struct {
		edits func(d *desk, strict models.Rule)
		why   string // the bar for otto, empty when he decides
	}{
		"a version that asks one less goes on routing, and bars its author": {func(d *desk, strict models.Rule) { d.replaced("otto", strict, forSupplier(1)) }, "rule_author"},
		"a version for another supplier":                                    {func(d *desk, strict models.Rule) { d.replaced("otto", strict, narrower(2)) }, "rule_for_two_taken_out"},
		"a version that ends below":                                         {func(d *desk, strict models.Rule) { n := forSupplier(2); n.To = "0.50"; d.replaced("otto", strict, n) }, "rule_for_two_taken_out"},
		"by somebody else":                                                  {func(d *desk, strict models.Rule) { d.retired("nina", strict) }, ""},
		"by the operator": {func(d *desk, strict models.Rule) {
			if err := d.svc.RetireRule(d.t.Context(), models.Operator(company), strict.ID, strict.Version); err != nil {
				d.t.Fatal(err)
			}
		}, ""},
		"an edit that asked the same, before somebody else took the rule out": {func(d *desk, strict models.Rule) {
			n := forSupplier(2)
			n.Valid = time.Hour
			d.retired("nina", d.replaced("otto", strict, n))
		}, ""},
		"a weaker version that somebody else took out": {func(d *desk, strict models.Rule) {
			d.retired("nina", d.replaced("otto", strict, forSupplier(1)))
		}, "rule_for_two_taken_out"},
		"put back by somebody else": {func(d *desk, strict models.Rule) {
			d.retired("otto", strict)
			if _, err := d.svc.CreateRule(d.t.Context(), d.web("nina"), forSupplier(2)); err != nil {
				d.t.Fatal(err)
			}
		}, ""},
		"a rule that asked other people": {func(d *desk, strict models.Rule) {
			n := forSupplier(1)
			n.Role = models.RoleMasterData
			other := d.replaced("nina", strict, n)
			d.retired("otto", other)
		}, "rule_taken_out"},
	} {
		t.Run(name, func(t *testing.T) {
			withOtto(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
				d.rule(financeRule(1))
				c.edits(d, d.rule(forSupplier(2)))
				_, err := d.vote("otto", d.request("robot", ask(t, "2.00")).RequestID, models.VoteApprove, "")
				if c.why == "" {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				if ne := wantCode(t, err, models.Unprocessable); ne.Details["reason"] != c.why {
					t.Errorf("%v", ne)
				}
			})
		})
	}
}

// Nor is somebody named for what has no rule because they took it out, and candidates say so.
func TestWhoTakesOutTheOnlyRuleIsNotNamed(t *testing.T) {
	withOtto(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		only := financeRule(2)
		only.DocumentType = "KR"
		d.retired("otto", d.rule(only))
		large := approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "5000", To: "10000"}
		d.rule(large)
		id := d.unrouted("7.00", "KR")
		list, err := d.svc.Candidates(t.Context(), d.web("lars"), id)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(c approvals.Candidate) bool { return c.Name == "otto" })
		if i < 0 || list[i].May || !strings.Contains(list[i].Why, "took out or changed the rule that asked two people for this") {
			t.Errorf("%+v", list)
		}
		err = d.store.InTx(t.Context(), d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, id, "otto@example.com") })
		if !models.IsCode(err, models.ValidationError) {
			t.Errorf("otto was named: %v", err)
		}
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, id, "frank@example.com") })
		if v := d.yes("frank", id); v.Status != models.RequestApproved {
			t.Errorf("%+v", v)
		}
	})
}
