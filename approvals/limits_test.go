package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestALimitHeldTogetherLetsNobodyDecideAlone(t *testing.T) {
	joint := func(then models.Role) approvals.NewRule {
		r := financeRule(2)
		r.Supplier, r.To, r.ThenRole = "V-1", "1000000", then
		return r
	}
	for what, rule := range map[string]approvals.NewRule{"two at once": joint(""), "one after the other": joint(models.RoleAPLead)} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
				d.rule(rule)
				v := d.request("robot", ask(t, "900000.00"))
				name := func() error {
					return d.store.InTx(t.Context(), d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, "fumiko@example.com") })
				}
				if issue := wantIssue(t, name(), "/input/person"); !strings.Contains(issue.Message, "fumiko may approve up to EUR 1,000,000.00 only together with somebody else") {
					t.Errorf("why not: %q", issue.Message)
				}
				list, err := d.svc.Candidates(t.Context(), d.web("lars"), v.RequestID)
				if err != nil || len(list) == 0 {
					t.Fatalf("%v, %v", list, err)
				}
				for _, c := range list {
					if c.May {
						t.Errorf("%s may be named: %+v", c.Name, c)
					}
				}
				alone := financeRule(1)
				alone.Supplier, alone.To = "V-2", "500"
				d.rule(alone)
				if issue := wantIssue(t, name(), "/input/person"); !strings.Contains(issue.Message, "fumiko may approve up to EUR 500.00, more only together with somebody else, and this is EUR 900,000.00") {
					t.Errorf("why not: %q", issue.Message)
				}
				alone.Supplier, alone.To = "V-3", "900000"
				d.rule(alone)
				if err := name(); err != nil {
					t.Fatal(err)
				}
				if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestApproved {
					t.Errorf("whose own limit covers it decides alone: %+v", got)
				}
			})
		})
	}
}

func TestALimitHeldTogetherCountsWhereTwoDecide(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		two := financeRule(2)
		two.Role, two.People = "", []string{"fumiko@example.com", "frank@example.com"}
		d.rule(two)
		d.person("greta", models.RoleProcurement)
		d.rule(approvals.NewRule{Role: models.RoleProcurement, Required: 2, Supplier: "V-1", Currency: "EUR", From: "0", To: "5000"})
		d.deactivate("frank")
		v := d.request("robot", ask(t, "250.00"))
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, "greta@example.com") })
		if got := d.yes("greta", v.RequestID); got.Status != models.RequestPending {
			t.Fatalf("one of two: %+v", got)
		}
		if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("two of two: %+v", got)
		}
	})
}

// smallLimit gives somebody a limit of one euro, which is enough to be named as delegate.
func smallLimit(name string) approvals.NewRule {
	return approvals.NewRule{People: []string{name + "@example.com"}, Currency: "EUR", From: "0", To: "1"}
}

// wrote adds a rule in somebody's own name.
func (d *desk) wrote(by string, n approvals.NewRule) {
	d.t.Helper()
	if _, err := d.svc.CreateRule(d.t.Context(), d.web(by), n); err != nil {
		d.t.Fatal(err)
	}
}

func TestARuleOneWroteGivesNoLimitForAnothersPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		all := financeRule(1)
		all.To = "1000000"
		d.rule(all)
		own := approvals.NewRule{Role: models.RoleAPLead, Currency: "EUR", From: "0", To: "1000000", Supplier: "nobody"}
		d.wrote("lars", own)
		d.rule(smallLimit("lars"))
		v := d.request("robot", ask(t, "900000.00"))
		n := d.toDelegate(1, 1, "lars@example.com")
		n.PersonEmail = "fumiko@example.com"
		n.FirstDay = models.DateOf(models.At(clock.Now()), time.UTC)
		n.LastDay = n.FirstDay.AddDays(2)
		d.delegates("nina", n)
		if got, err := d.vote("lars", v.RequestID, models.VoteApprove, ""); err == nil || got.Status == models.RequestApproved {
			t.Fatalf("who wrote the rule that is their limit decided in another's place: %+v", got)
		}
		if p := d.page("fumiko", v.RequestID); !p.CanVote {
			t.Errorf("it stays with who is away: %s", p.WhyNot)
		}
		// The same limit by somebody else's hand counts.
		own.Supplier = "nobody-else"
		d.rule(own)
		if got := d.yes("lars", v.RequestID); got.Status != models.RequestApproved {
			t.Errorf("%+v", got)
		}
	})
}

func TestARuleOneWroteGivesNoLimitForBeingNamed(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		own := approvals.NewRule{Role: models.RoleAPLead, Currency: "EUR", From: "0", To: "1000000", Supplier: "nobody"}
		d.wrote("lars", own)
		v := d.request("robot", ask(t, "900.00"))
		name := func() error {
			return d.store.InTx(t.Context(), d.web("nina"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, "lars@example.com") })
		}
		if issue := wantIssue(t, name(), "/input/person"); !strings.Contains(issue.Message, "only by a rule they wrote themself") {
			t.Errorf("why not: %q", issue.Message)
		}
		own.To, own.Supplier = "1000", "nobody-else"
		d.rule(own)
		if err := name(); err != nil {
			t.Errorf("a lower limit by somebody else's hand: %v", err)
		}
	})
}
