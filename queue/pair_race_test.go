package queue_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// While a clerk says that two invoices are no duplicates, agents hand the pair over again. Whoever comes
// first, no case stays open that asks the same question once more.
func TestAPairIsNotRaisedAgainWhileItIsBeingJudged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for round := range 12 {
			a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
			stop := func() queue.HandoverInput { return c.stop(a, models.DuplicateInvoice, `{"duplicate_of":"`+b+`"}`) }
			v := c.get(c.clara, c.file(stop()).CaseID)
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := c.desk.Decide(t.Context(), c.clara, queue.DecideInput{CaseID: v.CaseID, Exit: "not_duplicate", Reason: "Another year.", Version: v.Version})
				if err != nil && !models.IsCode(err, models.Conflict) { // a join came first, and she looks again
					t.Errorf("%v", err)
				}
			})
			for _, in := range []queue.HandoverInput{stop(), c.stop(b, models.DuplicateInvoice, `{"duplicate_of":"`+a+`"}`)} {
				wg.Go(func() {
					if _, err := c.desk.HandOver(t.Context(), c.other, in, models.Idempotency{}); err != nil {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			now := c.get(c.clara, v.CaseID)
			out := c.file(stop())
			if now.Status == models.CaseResolved && out.CaseID != v.CaseID {
				t.Fatalf("round %d: the pair was judged in %s and is asked about in %s", round, v.CaseID, out.CaseID)
			}
		}
	})
}

// An identifier that no record can have names nothing; it must not end in a fault of the database.
func TestADuplicateThatCannotBeAnIDNamesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for i, other := range []string{`x\u0000y`, fmt.Sprintf("%020000d", 1)} {
			id := c.file(c.stop(fmt.Sprintf("i%d", i), models.DuplicateInvoice, `{"duplicate_of":"`+other+`"}`)).CaseID
			c.decide(c.clara, id, "not_duplicate", nil, "No.")
			if out := c.file(c.stop(fmt.Sprintf("i%d", i), models.DuplicateInvoice, `{"duplicate_of":"`+other+`"}`)); !out.Created {
				t.Error("a verdict on nothing was remembered")
			}
		}
	})
}

// An agent hands over a call that carried an approval; whoever reads the case must not be able to use it.
func TestApprovalIDsInHandoversAreMasked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := models.NewIDs(c.clock.Now, nil).New(models.PrefixApproval)
		in := c.stop("i1", models.POClosed, `{"approval_id":"`+id+`"}`)
		in.Errors = append(in.Errors[:0:0], seen(models.POClosed, "post", `{"approval_id":"`+id+`"}`, `{"tried":["`+id+`"]}`))
		in.Explanation = "I used " + id
		text := fmt.Sprintf("%+v", c.get(c.petra, c.file(in).CaseID))
		for _, h := range c.get(c.petra, c.file(in).CaseID).Handovers {
			text += h.Explanation + string(h.Errors[0].Arguments) + string(h.Errors[0].Error.Details)
		}
		if strings.Contains(text, id) || !strings.Contains(text, models.MaskID(id)) {
			t.Errorf("an approval id is shown: %s", text)
		}
	})
}
