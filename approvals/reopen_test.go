package approvals_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func (d *desk) standing(requestID string) models.RequestStatus {
	d.t.Helper()
	v, err := d.svc.Get(d.t.Context(), d.mcp("robot"), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Status
}

func (d *desk) giveRole(name string, role models.Role) {
	d.t.Helper()
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Exec("INSERT INTO membership_roles (user_id, workspace_id, role) VALUES (?, ?, ?)", d.users[name].ID, company, role).Error
	})
}

func (d *desk) unread(name string, kind models.NoticeKind) int {
	d.t.Helper()
	list, _, err := d.store.Notices(d.t.Context(), d.web(name), "")
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, notice := range list {
		if notice.Kind == kind && notice.ReadAt.IsZero() {
			n++
		}
	}
	return n
}

// onlyFumiko is a rule that names one person; clara answers for the robot that asks.
func onlyFumiko() approvals.NewRule {
	return approvals.NewRule{People: []string{"fumiko@example.com"}, Currency: "EUR", From: "0", To: "300", Supplier: "V-2001"}
}

func TestWhatADelegationLeftWithoutAnybodyComesBackWhenItIsEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(onlyFumiko())
		d.rule(smallLimit("clara"))
		v := d.request("robot", ask(t, "200.00"))
		made, err := d.svc.Delegate(t.Context(), d.web("fumiko"), d.toDelegate(5, 9, "clara@example.com"))
		if err != nil || made.Stranded != 1 {
			t.Fatalf("the answer warns of %d requests without anybody, %v", made.Stranded, err)
		}
		if got := d.standing(v.RequestID); got != models.RequestUnrouted {
			t.Fatalf("while both stand for the asker it is %s", got)
		}
		list, err := d.svc.Delegations(t.Context(), d.web("fumiko"), false)
		if err != nil || len(list) != 1 || list[0].Stranded != 1 {
			t.Fatalf("the page warns of it: %+v, %v", list, err)
		}
		if err := d.svc.EndDelegation(t.Context(), d.web("fumiko"), made.ID); err != nil {
			t.Fatal(err)
		}
		if got := d.standing(v.RequestID); got != models.RequestPending {
			t.Fatalf("when it is ended the request is %s", got)
		}
		if exit := d.cases.closed["case_for_"+v.RequestID]; exit != "matrix_fixed" {
			t.Errorf("its case is closed by %q", exit)
		}
		if d.unread("fumiko", "request.waiting") != 1 {
			t.Errorf("fumiko is told again: %v", d.notices("fumiko"))
		}
		p := d.page("audrey", v.RequestID)
		i := slices.IndexFunc(p.Timeline, func(e models.AuditEvent) bool { return e.Action == "request.routed" && e.ActorName == "apdesk" })
		if i < 0 || p.Request.Reason != "" {
			t.Errorf("the trail says that the desk routed it: %v, reason %q", d.trail(v.RequestID), p.Request.Reason)
		}
		if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestApproved {
			t.Errorf("fumiko decides it: %+v", got)
		}
	})
}

func TestWhatADelegationLeftWithoutAnybodyComesBackAtItsEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(onlyFumiko())
		d.rule(smallLimit("clara"))
		planned, err := d.svc.Delegate(t.Context(), d.web("fumiko"), d.toDelegate(7, 7, "clara@example.com"))
		if err != nil || planned.Stranded != 0 {
			t.Fatalf("nothing waits yet: %+v, %v", planned, err)
		}
		v := d.request("robot", ask(t, "200.00"))
		if list, err := d.svc.Delegations(t.Context(), d.web("fumiko"), false); err != nil || list[0].Stranded != 1 {
			t.Fatalf("before it starts the page warns: %+v, %v", list, err)
		}
		clock.Advance(2 * day)
		d.runJobs()
		if got := d.standing(v.RequestID); got != models.RequestUnrouted {
			t.Fatalf("on the day it is %s", got)
		}
		clock.Advance(day)
		d.runJobs()
		if got := d.standing(v.RequestID); got != models.RequestPending {
			t.Fatalf("the day after it is %s", got)
		}
	})
}

func TestRequestsComeBackWithThePeopleWhoMayDecideThem(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "250.00"))
		none := d.request("robot", ask(t, "20000.00"))
		d.yes("fumiko", v.RequestID)
		d.takeRole("frank", models.RoleFinanceLead)
		d.peopleChanged("frank")
		if got := d.standing(v.RequestID); got != models.RequestUnrouted {
			t.Fatalf("with one of two left it is %s", got)
		}
		if d.unread("frank", "request.waiting") != 0 {
			t.Error("what nobody can decide waits for nobody")
		}
		d.giveRole("frank", models.RoleFinanceLead)
		d.peopleChanged("frank")
		if got := d.standing(v.RequestID); got != models.RequestPending {
			t.Fatalf("when he is back it is %s", got)
		}
		if got := d.standing(none.RequestID); got != models.RequestUnrouted {
			t.Errorf("what no rule covered waits for the matrix, and is %s", got)
		}
		if got := d.yes("frank", v.RequestID); got.Status != models.RequestApproved {
			t.Errorf("the yes of before still counts: %+v", got)
		}
	})
}

func TestARequestSomebodyWasNamedForComesBackWithThem(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "300", To: "500"})
		v := d.request("robot", ask(t, "200.00"))
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, "fumiko@example.com") })
		d.takeRole("fumiko", models.RoleFinanceLead)
		d.peopleChanged("fumiko")
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil || got.Status != models.RequestUnrouted || got.Reason != "fumiko was named to decide this item and cannot any more, and nobody else may." {
			t.Fatalf("%+v, %v", got, err)
		}
		d.giveRole("fumiko", models.RoleFinanceLead)
		d.peopleChanged("fumiko")
		if got := d.standing(v.RequestID); got != models.RequestPending {
			t.Fatalf("when she is back it is %s", got)
		}
	})
}

func TestNoticesOfARequestAreReadOnceItNeedsNobody(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		decided, withdrawn, lapses := d.request("robot", ask(t, "250.00")), d.request("robot", ask(t, "251.00")), d.request("robot", ask(t, "252.00"))
		if d.unread("frank", "request.waiting") != 3 {
			t.Fatalf("frank is told %v", d.notices("frank"))
		}
		d.yes("fumiko", decided.RequestID)
		if d.unread("frank", "request.waiting") != 2 || d.unread("fumiko", "request.waiting") != 2 {
			t.Errorf("after the decision frank has %d and fumiko %d", d.unread("frank", "request.waiting"), d.unread("fumiko", "request.waiting"))
		}
		if _, err := d.svc.WithdrawRequest(t.Context(), d.mcp("robot"), approvals.WithdrawInput{RequestID: withdrawn.RequestID}); err != nil {
			t.Fatal(err)
		}
		if d.unread("frank", "request.waiting") != 1 {
			t.Errorf("after it was withdrawn frank has %d", d.unread("frank", "request.waiting"))
		}
		clock.Advance(6 * day)
		d.runJobs()
		clock.Advance(6 * day)
		d.runJobs()
		if d.standing(lapses.RequestID) != models.RequestExpired || d.unread("frank", "request.waiting") != 0 || d.unread("frank", "request.expiring") != 0 || d.unread("frank", "request.lapsed") != 1 {
			t.Errorf("after it lapsed frank has %v", d.notices("frank"))
		}
	})
}

func TestWhoNamingWouldRefuseIsNotOffered(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		d.takeRole("frank", models.RoleFinanceLead)
		d.rule(approvals.NewRule{People: []string{"fumiko@example.com", "nina@example.com", "lars@example.com"}, Required: 1, Currency: "EUR", From: "0", To: "9000", Supplier: "V-1"})
		v := d.request("robot", ask(t, "250.00"))
		list, err := d.svc.Candidates(t.Context(), d.web("lars"), v.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			switch c.Name {
			case "nina":
				if !c.May {
					t.Errorf("nina makes the second of two and is not offered: %s", c.Why)
				}
			case "fumiko":
				if c.May || c.Why != "alone is not enough: the rule asks for 2 different people, and with them there are 1" {
					t.Errorf("fumiko is one of the two already: %t %q", c.May, c.Why)
				}
			case "lars":
				if c.May || c.Why != "looks for the approver, and nobody names themself" {
					t.Errorf("lars: %t %q", c.May, c.Why)
				}
			}
		}
	})
}

func TestTheProofOfANamedApproverSaysThatTheRuleOnlyGaveTheLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		rule := d.rule(approvals.NewRule{Role: models.RoleAPLead, ThenRole: models.RoleFinanceLead, Currency: "EUR", From: "300", To: "500"})
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "400", To: "450", Supplier: "V-1"})
		v := d.request("robot", ask(t, "200.00"))
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, "fumiko@example.com") })
		proof, err := d.svc.Proof(t.Context(), d.web("audrey"), v.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		if a := proof.Authority; a.Required != 1 || !strings.HasPrefix(a.Text, "fumiko, named by lars for this item; limit from Rule ") || a.Named.ID == rule.ID {
			t.Errorf("%+v", a)
		}
	})
}
