package approvals_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// gate is a row that two acts must both pass: while a test holds its lock they queue up before it, in
// an order the test decides.
type gate struct {
	table, column, value string
}

// race lets first and second queue up at the gate in this order, then opens it and waits for both.
// Only acts that wait for the gate's row in their first statement that changes anything can be told
// apart; both do their work after it opens.
func (d *desk) race(at gate, first, second func() error) (errFirst, errSecond error) {
	d.t.Helper()
	d.searchable()
	var held, open sync.WaitGroup
	held.Add(1)
	open.Add(1)
	var acts sync.WaitGroup
	acts.Go(func() {
		err := d.store.InTx(d.t.Context(), models.System(company), func(tx *models.Tx) error {
			var rows []map[string]any
			if err := tx.Lock().Table(at.table).Where(at.column+" = ?", at.value).Find(&rows).Error; err != nil || len(rows) != 1 {
				d.t.Errorf("the gate %+v has %d rows: %v", at, len(rows), err)
			}
			held.Done()
			open.Wait()
			return nil
		})
		if err != nil {
			d.t.Error(err)
		}
	})
	held.Wait()
	done := make([]chan struct{}, 2)
	errs := make([]error, 2)
	for i, act := range []func() error{first, second} {
		done[i] = make(chan struct{})
		acts.Go(func() {
			errs[i] = act()
			close(done[i])
		})
		d.waitForQueue(done[:i+1])
	}
	open.Done()
	acts.Wait()
	return errs[0], errs[1]
}

// searchable returns once all that happened is written for the search, which locks the records it reads
// and would be taken for an act that waits.
func (d *desk) searchable() {
	d.t.Helper()
	for left := 1; left > 0 && d.t.Context().Err() == nil; runtime.Gosched() {
		err := d.store.View(d.t.Context(), models.System(company), func(tx *models.Tx) error { return tx.Value(&left, "SELECT count(*) FROM search_due") })
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// waitForQueue returns once every act that is not done yet waits for a row. What the desk does in the
// background waits for names, and does not count.
func (d *desk) waitForQueue(done []chan struct{}) {
	d.t.Helper()
	for d.t.Context().Err() == nil {
		undone := 0
		for _, c := range done {
			select {
			case <-c:
			default:
				undone++
			}
		}
		var waiting int
		err := d.store.View(d.t.Context(), models.System(company), func(tx *models.Tx) error {
			return tx.DB.Raw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple')").Scan(&waiting).Error
		})
		if err != nil {
			d.t.Error(err)
			return
		}
		if waiting >= undone {
			return
		}
		runtime.Gosched()
	}
}

// inBothOrders runs a pair of acts on fresh requests, each once as the first at the gate.
func inBothOrders(t *testing.T, test func(t *testing.T, d *desk, swapped bool)) {
	t.Helper()
	t.Parallel()
	for _, swapped := range []bool{false, true} {
		t.Run(map[bool]string{false: "in order", true: "swapped"}[swapped], func(t *testing.T) {
			t.Parallel()
			store := modelstest.Open(t, modelstest.MigratedPostgresURL(t), modelstest.NewClock())
			test(t, newDesk(t, store), swapped)
		})
	}
}

func (d *desk) raceOf(swapped bool, at gate, a, b func() error) (errA, errB error) {
	d.t.Helper()
	if swapped {
		errB, errA = d.race(at, b, a)
		return errA, errB
	}
	return d.race(at, a, b)
}

func requestGate(requestID string) gate { return gate{"approval_requests", "id", requestID} }

var rulesGate = gate{"rule_sets", "workspace_id", company}

func (d *desk) castVote(name, requestID string, decision models.VoteDecision) func() error {
	return func() error {
		_, err := d.svc.Vote(d.t.Context(), d.web(name), approvals.VoteInput{RequestID: requestID, Decision: decision, Reason: "seen", Version: 1})
		return err
	}
}

func (d *desk) status(requestID string) approvals.RequestView {
	d.t.Helper()
	v, err := d.svc.Get(d.t.Context(), d.mcp("robot"), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

func TestVoteAgainstVote(t *testing.T) {
	inBothOrders(t, func(t *testing.T, d *desk, swapped bool) {
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "100.00"))
		a, b := d.raceOf(swapped, requestGate(v.RequestID), d.castVote("fumiko", v.RequestID, models.VoteApprove), d.castVote("frank", v.RequestID, models.VoteApprove))
		if got := d.status(v.RequestID); a != nil || b != nil || got.Status != models.RequestApproved || len(got.DecidedBy) != 2 || got.ApprovalID == "" {
			t.Errorf("two people said yes at once: %v, %v, %+v", a, b, got)
		}

		v = d.request("robot", ask(t, "101.00"))
		a, b = d.raceOf(swapped, requestGate(v.RequestID), d.castVote("fumiko", v.RequestID, models.VoteApprove), d.castVote("frank", v.RequestID, models.VoteReject))
		got := d.status(v.RequestID)
		if b != nil || got.Status != models.RequestRejected || got.ApprovalID != "" {
			t.Errorf("one no rejects, whoever comes first: %v, %+v", b, got)
		}
		if swapped {
			wantCode(t, a, models.Conflict)
		} else if a != nil {
			t.Errorf("the yes came before the no and must count: %v", a)
		}

		// The same person in two tabs.
		v = d.request("robot", ask(t, "102.00"))
		a, b = d.raceOf(swapped, requestGate(v.RequestID), d.castVote("fumiko", v.RequestID, models.VoteApprove), d.castVote("fumiko", v.RequestID, models.VoteApprove))
		if (a == nil) == (b == nil) || d.status(v.RequestID).Status != models.RequestPending {
			t.Errorf("one person's two clicks are one vote: %v, %v, %+v", a, b, d.status(v.RequestID))
		}
	})
}

func TestRequestAgainstRuleEdit(t *testing.T) {
	inBothOrders(t, func(t *testing.T, d *desk, swapped bool) {
		rule := d.rule(financeRule(1))
		var v approvals.RequestView
		edit := financeRule(2)
		a, b := d.raceOf(swapped, rulesGate, func() (err error) {
			v, err = d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "100.00"), models.Idempotency{})
			return err
		}, func() error {
			_, err := d.svc.ReplaceRule(t.Context(), models.Operator(company), rule.ID, 1, edit)
			return err
		})
		if a != nil || b != nil {
			t.Fatalf("neither refuses the other: %v, %v", a, b)
		}
		page, err := d.svc.Page(t.Context(), d.web("fumiko"), v.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "version 1, 1 of 1", true: "version 2, 2 of 2"}[swapped]
		copied := page.Routing.Authority()
		if got := fmt.Sprintf("version %d, %d of %d", page.Request.RuleVersion, page.Request.Required, copied.Required); got != want || copied.Version != page.Request.RuleVersion {
			t.Errorf("the request was routed by %s, want %s: the rule as it was when it came to be routed", got, want)
		}
	})
}

func TestRedeemAgainstPeriodClose(t *testing.T) {
	inBothOrders(t, func(t *testing.T, d *desk, swapped bool) {
		d.rule(financeRule(1))
		requestID, approvalID := d.approved(ask(t, "100.00"))
		closed, err := models.ParseDate("2026-10-31")
		if err != nil {
			t.Fatal(err)
		}
		a, b := d.raceOf(swapped, requestGate(requestID), func() error {
			_, err := d.redeem("sap", approvalID, "k1", arguments("100.00"))
			return err
		}, func() error {
			return d.store.InTx(t.Context(), models.Operator(company), func(tx *models.Tx) error { return tx.MovePeriod(closed, models.Date{}) })
		})
		if b != nil {
			t.Fatal(b)
		}
		// Closing does not wait for the request: it is done before the redeem passes the gate, whichever
		// began first.
		wantCode(t, a, models.PeriodClosed)
		open, err := models.ParseDate("2026-09-30")
		if err != nil {
			t.Fatal(err)
		}
		d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.MovePeriod(open, models.Date{}) })
		if _, err := d.redeem("sap", approvalID, "k1", arguments("100.00")); err != nil {
			t.Errorf("a refused redeem spends nothing: %v", err)
		}
	})
}

func TestRedeemAgainstRevoke(t *testing.T) {
	inBothOrders(t, func(t *testing.T, d *desk, swapped bool) {
		d.rule(financeRule(1))
		requestID, approvalID := d.approved(ask(t, "100.00"))
		redeem, revoke := d.raceOf(swapped, requestGate(requestID), func() error {
			_, err := d.redeem("sap", approvalID, "k1", arguments("100.00"))
			return err
		}, func() error {
			_, err := d.svc.RevokeApproval(t.Context(), d.web("fumiko"), approvals.RevokeInput{RequestID: requestID, Reason: "I was wrong."})
			return err
		})
		page, err := d.svc.Page(t.Context(), d.web("fumiko"), requestID)
		if err != nil {
			t.Fatal(err)
		}
		if swapped {
			wantReason(t, redeem, "revoked")
			if revoke != nil || page.Grant.Status != models.ApprovalRevoked {
				t.Errorf("revoked first: %v, %+v", revoke, page.Grant)
			}
			return
		}
		wantCode(t, revoke, models.Conflict)
		if redeem != nil || page.Grant.Status != models.ApprovalRedeemed {
			t.Errorf("redeemed first: %v, %+v", redeem, page.Grant)
		}
	})
}

func TestVoteAgainstLeaving(t *testing.T) {
	inBothOrders(t, func(t *testing.T, d *desk, swapped bool) {
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "100.00"))
		d.yes("fumiko", v.RequestID)
		// The second yes needs the first voter's membership, which is just being taken away.
		vote, leave := d.raceOf(swapped, gate{"memberships", "user_id", d.users["fumiko"].ID}, d.castVote("frank", v.RequestID, models.VoteApprove), func() error {
			return d.store.InTx(t.Context(), models.Operator(company), func(tx *models.Tx) error {
				err := tx.DB.Exec("UPDATE memberships SET active = ? WHERE user_id = ? AND workspace_id = ?", false, d.users["fumiko"].ID, company).Error
				if err != nil {
					return err
				}
				return d.svc.PeopleChanged(tx, d.users["fumiko"].ID)
			})
		})
		got := d.status(v.RequestID)
		if leave != nil || got.ApprovalID != "" {
			t.Fatalf("an approval rests on the vote of somebody who is gone: %v, %+v", leave, got)
		}
		if swapped {
			// Fumiko is gone before the vote counts: too few people are left.
			wantCode(t, vote, models.Conflict)
			if got.Status != models.RequestUnrouted {
				t.Errorf("the request is %s: %+v", got.Status, got)
			}
			return
		}
		if vote != nil || got.Status != models.RequestApproved || !strings.Contains(got.Reason, "fumiko") {
			t.Errorf("the grant came first and is revoked with her leaving: %v, %+v", vote, got)
		}
	})
}

// Whatever moment two acts meet at, with nobody ordering them.
func TestFreeRacesEndInAllowedStates(t *testing.T) {
	t.Parallel()
	store := modelstest.Open(t, modelstest.MigratedPostgresURL(t), modelstest.NewClock())
	d := newDesk(t, store)
	d.rule(financeRule(1))
	for round := range 15 {
		requestID, approvalID := d.approved(ask(t, fmt.Sprintf("%d.00", 100+round)))
		var start, both sync.WaitGroup
		start.Add(1)
		var redeem, revoke error
		both.Go(func() {
			start.Wait()
			_, redeem = d.redeem("sap", approvalID, "k1", arguments(fmt.Sprintf("%d.00", 100+round)))
		})
		both.Go(func() {
			start.Wait()
			_, revoke = d.svc.RevokeApproval(t.Context(), d.web("fumiko"), approvals.RevokeInput{RequestID: requestID, Reason: "I was wrong."})
		})
		start.Done()
		both.Wait()
		page, err := d.svc.Page(t.Context(), d.web("fumiko"), requestID)
		if err != nil {
			t.Fatal(err)
		}
		switch page.Grant.Status {
		case models.ApprovalRedeemed:
			if redeem != nil || revoke == nil {
				t.Errorf("round %d: redeemed, and the answers were %v and %v", round, redeem, revoke)
			}
		case models.ApprovalRevoked:
			if redeem == nil || revoke != nil {
				t.Errorf("round %d: revoked, and the answers were %v and %v", round, redeem, revoke)
			}
		default:
			t.Errorf("round %d: neither won: %s", round, page.Grant.Status)
		}
	}
}
