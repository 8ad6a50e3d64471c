package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func TestTheNextOfAListIsTheOneBeyondThatSomebodyCanTakeUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var ids []string
		for i := range 5 {
			ids = append(ids, c.file(c.stop(fmt.Sprintf("i%d", i), models.DuplicateInvoice, `{}`)).CaseID)
			c.clock.Advance(time.Minute)
		}
		open := queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen}
		around := func(f queue.Filter, id string) queue.Neighbours {
			t.Helper()
			n, err := c.desk.Around(t.Context(), c.clara, f, id)
			must(t, err)
			return n
		}
		if got, want := around(open, ids[2]), (queue.Neighbours{Before: ids[1], After: ids[3]}); got != want {
			t.Errorf("beside the third stand %v, want %v", got, want)
		}
		if got, want := around(open, ids[0]), (queue.Neighbours{After: ids[1]}); got != want {
			t.Errorf("beside the first stand %v, want %v", got, want)
		}
		last := open
		last.Sort = queue.SortDueLast
		if got, want := around(last, ids[0]), (queue.Neighbours{Before: ids[1]}); got != want {
			t.Errorf("turned round, beside the first stand %v, want %v", got, want)
		}

		next := func(f queue.Filter, beyond, want, why string) {
			t.Helper()
			got, err := c.desk.NextFree(t.Context(), c.clara, f, beyond)
			must(t, err)
			if got != want {
				t.Errorf("%s: next is %q, want %q", why, got, want)
			}
		}
		c.decide(c.clara, ids[1], "confirm_duplicate", nil, "x")
		next(open, ids[1], ids[2], "beyond a decided one")
		if _, err := c.desk.Claim(t.Context(), c.lena, ids[2]); err != nil {
			t.Fatal(err)
		}
		next(open, ids[1], ids[3], "one that a colleague holds is passed over")
		next(open, ids[4], ids[0], "after the last the list starts again")
		next(open, "case_unknown", ids[0], "beyond one that is not there")
		next(queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen, InvoiceID: "i0"}, ids[0], "", "the only one of a narrowed list")
		elsewhere := c.file(c.stop("i9", models.POClosed, `{}`)).CaseID
		next(queue.Filter{Status: models.CaseOpen}, ids[4], ids[0], "in a list of all queues one the person does not work is passed over")
		next(queue.Filter{Status: models.CaseOpen, InvoiceID: "i9"}, elsewhere+"x", "", "one that is not theirs to decide is none")
		next(queue.Filter{Queue: models.QueueFinance, Status: models.CaseOpen}, ids[0], "", "an empty queue")
	})
}

func TestAnOpenPageInUseKeepsItsClaimAndAnIdleOneLosesIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		keep := func(by models.Principal, inUse bool) queue.ClaimState {
			t.Helper()
			state, err := c.desk.KeepClaim(t.Context(), by, id, inUse)
			must(t, err)
			return state
		}
		if got := keep(c.clara, true); got != (queue.ClaimState{}) {
			t.Errorf("looking claimed the case: %v", got)
		}
		_, err := c.desk.Claim(t.Context(), c.clara, id)
		must(t, err)
		claimed := keep(c.clara, true).Until
		c.clock.Advance(30 * time.Second)
		if got := keep(c.clara, true).Until; got != claimed {
			t.Errorf("the claim was written again after half a minute: until %v", got)
		}
		c.clock.Advance(25 * time.Minute)
		if got := keep(c.clara, false); !got.Mine || got.Until != claimed {
			t.Errorf("an idle page kept the claim: %v", got)
		}
		if got := keep(c.clara, true); !got.Mine || !got.Until.After(claimed.Time) {
			t.Errorf("a page in use did not keep its claim: %v", got)
		}
		c.clock.Advance(20 * time.Minute)
		if got := keep(c.lena, true); got.Mine || got.Until.IsZero() {
			t.Errorf("a colleague sees %v", got)
		}
		c.clock.Advance(15 * time.Minute)
		if got := keep(c.clara, true); got != (queue.ClaimState{}) {
			t.Errorf("a claim that ran out came back: %v", got)
		}
		for _, action := range c.actions(id)[1:] {
			if action != "case.claimed" {
				t.Errorf("keeping the claim left %s on the trail", action)
			}
		}
		_, err = c.desk.KeepClaim(t.Context(), onToken(c.clara), id, true)
		refused(t, err, models.InsufficientPermission)
	})
}
