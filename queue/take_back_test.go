package queue_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func (c *cast) withdraw(by models.Principal, caseID, reason string) (queue.CaseView, error) {
	return c.desk.WithdrawCase(c.t.Context(), by, queue.WithdrawInput{CaseID: caseID, Reason: reason}, models.Idempotency{})
}

func (c *cast) cancel(by models.Principal, holdID, reason string) (queue.HoldResult, error) {
	return c.desk.CancelHold(c.t.Context(), by, queue.CancelInput{HoldID: holdID, Reason: reason}, models.Idempotency{})
}

func TestAnAgentWithdrawsWhatItHandedOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{"po_id":"1"}`)).CaseID
		_, err := c.desk.Claim(t.Context(), c.petra, id)
		must(t, err)
		v, err := c.desk.CaseToWithdraw(t.Context(), c.agent, id)
		must(t, err)
		if v.Status != models.CaseOpen || v.Resolution != nil {
			t.Errorf("looking changes nothing: %+v", v)
		}
		v, err = c.withdraw(c.agent, id, "Found the order myself.")
		must(t, err)
		if v.Status != models.CaseResolved || v.ClaimedBy != nil || v.Instruction == nil || v.Instruction.Kind != models.InstructStop {
			t.Errorf("withdrawn: %+v", v)
		}
		if r := v.Resolution; r == nil || r.Exit != "withdrawn" || r.DecidedBy != "agent-one" || r.Reason != "Found the order myself." {
			t.Errorf("resolved as %+v", r)
		}
		if got, want := c.actions(id), []string{"case.opened", "case.claimed", "case.withdrawn", "case.resolved"}; !slices.Equal(got, want) {
			t.Errorf("trail %v, want %v", got, want)
		}
		page, err := c.desk.Page(t.Context(), c.petra, id)
		must(t, err)
		if len(page.Decisions) != 1 || page.Decisions[0].Label != "Withdrawn by the agent" || page.WhyNot != "This case is resolved." {
			t.Errorf("the page says %+v, %s", page.Decisions, page.WhyNot)
		}
		_, err = c.choose(c.petra, id, "reopen_po", nil, "Reopened.")
		if ne := refusal(t, err, models.Conflict); !strings.Contains(ne.Message, "agent-one already resolved this case") {
			t.Errorf("the person who held it is told %q", ne.Message)
		}
		_, err = c.withdraw(c.agent, id, "")
		refused(t, err, models.Conflict)
		if again := c.file(c.stop("i1", models.POClosed, `{"po_id":"1"}`)); !again.Created {
			t.Errorf("the same stop later opens a case of its own: %+v", again)
		}
	})
}

func TestWhoMayNotWithdrawACase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{"po_id":"1"}`)).CaseID
		_, err := c.withdraw(c.other, id, "")
		refused(t, err, models.NotFound)
		_, err = c.desk.CaseToWithdraw(t.Context(), c.other, id)
		refused(t, err, models.NotFound)
		_, err = c.withdraw(c.petra, id, "")
		refused(t, err, models.InsufficientPermission)
		both := c.other
		both.Roles = append(slices.Clone(both.Roles), models.RoleAPClerk)
		_, err = c.withdraw(both, id, "")
		refused(t, err, models.InsufficientPermission)
		reader := c.agent
		reader.Scopes = []models.Scope{models.ScopeCasesRead}
		_, err = c.withdraw(reader, id, "")
		refused(t, err, models.InsufficientScope)
		_, err = c.withdraw(c.agent, id, strings.Repeat("x", 4001))
		issueOn(t, err, "/reason")
		if v := c.get(c.petra, id); v.Status != models.CaseOpen || v.Version != 1 {
			t.Errorf("afterwards: %+v", v)
		}
	})
}

func TestAWithdrawnCaseDoesNotComeBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.PONotFound, `{"po_id":"1"}`)).CaseID
		c.decide(c.clara, id, "ask_supplier", map[string]string{"until": c.tomorrow(3)}, "Asked.")
		_, err := c.withdraw(c.agent, id, "")
		must(t, err)
		c.clock.Advance(5 * 24 * time.Hour)
		c.runJobs()
		if v := c.get(c.clara, id); v.Status != models.CaseResolved || v.Resolution.Exit != "withdrawn" {
			t.Errorf("after its day: %+v", v)
		}
	})
}

func TestADecisionAndAWithdrawalAtOnceLeaveOneOutcome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{"po_id":"1"}`)).CaseID
		var wg sync.WaitGroup
		errs := make([]error, 2)
		wg.Go(func() { _, errs[0] = c.withdraw(c.agent, id, "") })
		wg.Go(func() { _, errs[1] = c.choose(c.petra, id, "reopen_po", nil, "Reopened.") })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("both or neither: %v, %v", errs[0], errs[1])
		}
		for _, err := range errs {
			if err != nil {
				refused(t, err, models.Conflict)
			}
		}
	})
}

func TestAnAgentCancelsItsHold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 1))
		c.clock.Set(h.NextCheckAt.Time)
		c.lease()
		if v, err := c.desk.HoldToCancel(t.Context(), c.agent, h.HoldID); err != nil || v.Status != models.HoldWaiting {
			t.Errorf("looking: %+v %v", v, err)
		}
		out, err := c.cancel(c.agent, h.HoldID, "The goods were returned.")
		must(t, err)
		if out.Status != models.HoldCancelled || !out.NextCheckAt.IsZero() {
			t.Errorf("cancelled: %+v", out)
		}
		c.clock.Advance(3 * 24 * time.Hour)
		c.runJobs()
		page, err := c.desk.HoldPage(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if page.Hold.Status != models.HoldCancelled || len(page.Checks) != 0 || !page.Hold.LeaseUntil.IsZero() || page.Hold.CaseID != "" {
			t.Errorf("no check is missed and no case opens: %+v", page)
		}
		last := page.Timeline[len(page.Timeline)-1]
		if last.Action != "hold.cancelled" || !strings.Contains(last.Data, "The goods were returned.") {
			t.Errorf("the trail ends with %+v", last)
		}
		_, err = c.cancel(c.agent, h.HoldID, "")
		refused(t, err, models.Conflict)
		_, err = c.desk.ReportCheck(t.Context(), c.agent, h.HoldID, queue.CheckAvailable, models.Idempotency{})
		refused(t, err, models.Conflict)
		if again := c.hold(c.waitFor("i1", 1)); !again.Created {
			t.Errorf("the same wait later is a hold of its own: %+v", again)
		}
	})
}

func TestWhoMayNotCancelAHold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		_, err := c.cancel(c.other, h.HoldID, "")
		refused(t, err, models.NotFound)
		both := c.other
		both.Roles = append(slices.Clone(both.Roles), models.RoleAPClerk)
		_, err = c.cancel(both, h.HoldID, "")
		refused(t, err, models.InsufficientPermission)
		_, err = c.cancel(c.clara, h.HoldID, "")
		refused(t, err, models.InsufficientPermission)
		joined, err := c.desk.Hold(t.Context(), c.other, c.waitFor("i1", 0), models.Idempotency{})
		must(t, err)
		if joined.HoldID != h.HoldID {
			t.Fatalf("joined %+v", joined)
		}
		_, err = c.cancel(c.other, h.HoldID, "") // who joined filed it too
		must(t, err)
	})
}

func TestALostLeaseIsGivenAgainForTheSameKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		c.clock.Set(h.NextCheckAt.Time)
		key := models.Idempotency{Key: "k", BodyHash: "b"}
		first, err := c.desk.LeaseDue(t.Context(), c.agent, 10, key)
		must(t, err)
		c.clock.Advance(time.Minute)
		again, err := c.desk.LeaseDue(t.Context(), c.agent, 10, key)
		must(t, err)
		if len(first.Items) != 1 || len(again.Items) != 1 || again.Items[0].HoldID != h.HoldID || again.Items[0].LeaseUntil != first.Items[0].LeaseUntil ||
			string(again.Items[0].Invoice) == "" || len(again.Items[0].Errors) != 1 {
			t.Errorf("first %+v, again %+v", first, again)
		}
		if got := c.lease(); len(got) != 0 {
			t.Errorf("another call leases it too: %v", got)
		}
		_, err = c.desk.LeaseDue(t.Context(), c.agent, 10, models.Idempotency{Key: "k", BodyHash: "other"})
		refused(t, err, models.Conflict)
	})
}

func TestAHoldTellsItsChecksItsLeaseAndItsZone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 3))
		c.clock.Set(h.NextCheckAt.Time)
		c.lease()
		page, err := c.desk.HoldPage(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if page.LeasedBy != "agent-one" || page.Zone != "Europe/Berlin" || len(page.Checks) != 0 {
			t.Errorf("while it is checked: %+v", page)
		}
		next := c.report(h.HoldID, queue.CheckStillMissing)
		c.clock.Set(next.NextCheckAt.Add(24 * time.Hour).Time)
		c.runJobs()
		v, err := c.desk.GetHold(t.Context(), c.agent, h.HoldID)
		must(t, err)
		if len(v.Checks) != 2 || v.Checks[0].Result != "still_missing" || v.Checks[0].By != "agent-one" || v.Checks[0].DueAt != h.NextCheckAt ||
			v.Checks[1].Result != "missed" || v.Checks[1].By != "" || v.ChecksLeft != 1 {
			t.Errorf("after a report and a miss: %+v", v)
		}
		if page, err = c.desk.HoldPage(t.Context(), c.clara, h.HoldID); err != nil || page.LeasedBy != "" {
			t.Errorf("nobody checks it now: %v %q", err, page.LeasedBy)
		}
	})
}

// The request behind a case without an approver would wait for a lead who has nothing to decide.
func TestWithdrawingACaseTakesBackTheRequestBehindIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		id := c.file(c.stop("i1", models.ApproverNotFound, `{}`)).CaseID
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			return tx.DB.Model(&models.Case{}).Where("id = ?", id).Update("request_id", "areq_x").Error
		}))
		_, err := c.withdraw(c.agent, id, "")
		must(t, err)
		if len(h.superseded) != 1 || h.superseded[0] != "i1 agent-one withdrawn" {
			t.Errorf("superseded: %v", h.superseded)
		}
	})
}
