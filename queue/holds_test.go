package queue_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func (c *cast) waitFor(invoiceID string, maxChecks int) queue.HoldInput {
	return queue.HoldInput{Code: models.GRMissing, Invoice: c.invoice(invoiceID), PoID: "4500018822", MaxChecks: maxChecks,
		Errors: []models.SeenError{seen(models.GRMissing, "get_goods_receipt", `{"po_id":"4500018822"}`, `{"po_id":"4500018822"}`)}}
}

func (c *cast) hold(in queue.HoldInput) queue.HoldResult {
	c.t.Helper()
	out, err := c.desk.Hold(c.t.Context(), c.agent, in, models.Idempotency{})
	must(c.t, err)
	return out
}

func (c *cast) lease() []string {
	c.t.Helper()
	due, err := c.desk.LeaseDue(c.t.Context(), c.agent, 0, models.Idempotency{})
	must(c.t, err)
	ids := []string{}
	for _, h := range due.Items {
		ids = append(ids, h.HoldID)
	}
	return ids
}

func (c *cast) report(holdID string, result queue.CheckResult) queue.HoldResult {
	c.t.Helper()
	out, err := c.desk.ReportCheck(c.t.Context(), c.agent, holdID, result, models.Idempotency{})
	must(c.t, err)
	return out
}

func TestAHoldWaitsForTheNextBusinessMorning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		if !h.Created || h.Status != models.HoldWaiting || h.ChecksLeft != 5 || h.NextCheckAt.String() != "2026-10-06T04:00:00Z" {
			t.Fatalf("held: %+v", h)
		}
		if again := c.hold(c.waitFor("i1", 3)); again.Created || again.HoldID != h.HoldID || again.ChecksLeft != 5 {
			t.Errorf("the same wait joins: %+v", again)
		}
		line := c.waitFor("i1", 0)
		ten := int64(10)
		line.Line = &ten
		if other := c.hold(line); !other.Created {
			t.Errorf("another line is another wait: %+v", other)
		}
		own := c.waitFor("i2", 0)
		own.RecheckAt = models.At(c.clock.Now().Add(time.Hour))
		if h := c.hold(own); h.NextCheckAt != own.RecheckAt {
			t.Errorf("its own time: %s", h.NextCheckAt)
		}
	})
}

func TestWhatCannotBeHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.waitFor("i1", 0)
		in.Code = models.POClosed
		_, err := c.desk.Hold(t.Context(), c.agent, in, models.Idempotency{})
		if ne := refusal(t, err, models.Unprocessable); ne.NextAction != models.RouteToPerson {
			t.Errorf("next action %s", ne.NextAction)
		}
		in.Code = "SLOW"
		_, err = c.desk.Hold(t.Context(), c.agent, in, models.Idempotency{})
		issueOn(t, err, "/code")
		_, err = c.desk.Hold(t.Context(), c.agent, c.waitFor("i1", 21), models.Idempotency{})
		issueOn(t, err, "/max_checks")
		_, err = c.desk.Hold(t.Context(), c.clara, c.waitFor("i1", 0), models.Idempotency{})
		refused(t, err, models.InsufficientPermission)
	})
}

func TestADueHoldIsLeasedToOneWorkerAtATime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		if got := c.lease(); len(got) != 0 {
			t.Fatalf("not due yet: %v", got)
		}
		c.clock.Set(h.NextCheckAt.Time)
		due, err := c.desk.ListHolds(t.Context(), c.agent, queue.HoldFilter{Due: true})
		must(t, err)
		if len(due.Items) != 1 {
			t.Errorf("due: %+v", due)
		}
		if others, err := c.desk.LeaseDue(t.Context(), c.other, 0, models.Idempotency{}); err != nil || len(others.Items) != 0 {
			t.Errorf("another account leases what it did not file: %v %v", others, err)
		}
		if got := c.lease(); !slices.Equal(got, []string{h.HoldID}) {
			t.Errorf("leased %v", got)
		}
		if got := c.lease(); len(got) != 0 {
			t.Errorf("leased twice: %v", got)
		}
		c.clock.Advance(10 * time.Minute)
		if got := c.lease(); !slices.Equal(got, []string{h.HoldID}) {
			t.Errorf("a lease ends after 10 minutes: %v", got)
		}
		if out := c.report(h.HoldID, queue.CheckStillMissing); out.Status != models.HoldWaiting || out.ChecksLeft != 4 || out.NextCheckAt.String() != "2026-10-07T04:00:00Z" {
			t.Errorf("reported: %+v", out)
		}
	})
}

func TestEveryWorkerGetsOtherHolds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var h queue.HoldResult
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			h = c.hold(c.waitFor(id, 0))
		}
		c.clock.Set(h.NextCheckAt.Time)
		got := make([]queue.HoldList, 4)
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i], errs[i] = c.desk.LeaseDue(t.Context(), c.agent, 3, models.Idempotency{}) })
		}
		wg.Wait()
		times := map[string]int{}
		for i := range got {
			must(t, errs[i])
			for _, v := range got[i].Items {
				times[v.HoldID]++
			}
		}
		if len(times) != 8 {
			t.Errorf("%d of 8 holds leased", len(times))
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s leased %d times", id, n)
			}
		}
	})
}

// Whoever is done with a hold in a moment, such as the desk that makes it searchable, does not hide it
// from the worker that asks just then.
func TestALeaseWaitsForWhoeverWorksOnAHold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		c.clock.Set(h.NextCheckAt.Time)
		held, release := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			err := c.store.InTx(t.Context(), c.agent, func(tx *models.Tx) error {
				var row models.Hold
				if err := tx.Lock().Where("id = ?", h.HoldID).Take(&row).Error; err != nil {
					return err
				}
				close(held)
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-held
		var got queue.HoldList
		var err error
		all.Go(func() { got, err = c.desk.LeaseDue(t.Context(), c.agent, 0, models.Idempotency{}) })
		// SQLite's one writer lets nobody pass.
		for waits := 0; c.store.Postgres() && waits == 0 && t.Context().Err() == nil; runtime.Gosched() {
			must(t, c.store.View(t.Context(), c.agent, func(tx *models.Tx) error {
				return tx.Value(&waits, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple')")
			}))
		}
		close(release)
		all.Wait()
		if err != nil || len(got.Items) != 1 {
			t.Errorf("leased %+v, %v", got.Items, err)
		}
	})
}

func TestAReceiptReleasesTheHold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		key := models.Idempotency{Key: "k", BodyHash: "b"}
		out, err := c.desk.ReportCheck(t.Context(), c.agent, h.HoldID, queue.CheckAvailable, key) // before it is due
		must(t, err)
		if out.Status != models.HoldReleased || !out.NextCheckAt.IsZero() {
			t.Errorf("released: %+v", out)
		}
		twin, err := c.desk.ReportCheck(t.Context(), c.agent, h.HoldID, queue.CheckAvailable, key)
		must(t, err)
		if twin.Status != models.HoldReleased {
			t.Errorf("replayed: %+v", twin)
		}
		_, err = c.desk.ReportCheck(t.Context(), c.agent, h.HoldID, queue.CheckStillMissing, models.Idempotency{})
		if ne := refusal(t, err, models.Conflict); ne.Details["status"] != models.HoldReleased {
			t.Errorf("a report too late: %+v", ne)
		}
		_, err = c.desk.ReportCheck(t.Context(), c.other, h.HoldID, queue.CheckAvailable, models.Idempotency{})
		refused(t, err, models.NotFound)
		_, err = c.desk.ReportCheck(t.Context(), c.agent, h.HoldID, "maybe", models.Idempotency{})
		issueOn(t, err, "/result")
		c.clock.Advance(10 * 24 * time.Hour)
		c.runJobs()
		if v, err := c.desk.GetHold(t.Context(), c.agent, h.HoldID); err != nil || v.Status != models.HoldReleased {
			t.Errorf("later: %+v %v", v, err)
		}
		if h := c.hold(c.waitFor("i1", 0)); !h.Created {
			t.Error("a new wait begins")
		}
	})
}

func TestTheLastCheckOpensACase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 2))
		c.report(h.HoldID, queue.CheckStillMissing)
		out := c.report(h.HoldID, queue.CheckStillMissing)
		if out.Status != models.HoldEscalated || out.ChecksLeft != 0 || out.CaseID == "" {
			t.Fatalf("escalated: %+v", out)
		}
		p, err := c.desk.Page(t.Context(), c.clara, out.CaseID)
		must(t, err)
		var codes []string
		for _, e := range p.Exits {
			codes = append(codes, e.Code)
		}
		if p.Case.Queue != models.QueueAP || *p.Case.Code != models.GRMissing || p.HoldID != h.HoldID ||
			!slices.Equal(codes, []string{"keep_waiting", "receipt_confirmed", "two_way_match", "short_pay", "reject_invoice", "ask_agent"}) {
			t.Errorf("the case: %+v, exits %v", p.Case, codes)
		}
		c.get(c.agent, out.CaseID) // who filed the hold reads its case
		v := c.decide(c.clara, out.CaseID, "keep_waiting", map[string]string{"until": c.tomorrow(2)}, "The truck is late.")
		if v.Status != models.CaseHeld || v.Instruction.Kind != models.InstructWait {
			t.Errorf("kept waiting: %+v", v)
		}
		page, err := c.desk.HoldPage(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if len(page.Checks) != 2 || page.Hold.CaseID != out.CaseID || !page.Hidden {
			t.Errorf("the hold's page: %+v", page)
		}
		var trail []string
		for _, e := range page.Timeline {
			trail = append(trail, e.Action)
		}
		if !slices.Equal(trail, []string{"hold.opened", "hold.checked", "hold.escalated", "hold.resumed"}) {
			t.Errorf("trail %v", trail)
		}
	})
}

func TestACheckNobodyReportsCountsAsMissed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 2))
		c.clock.Set(h.NextCheckAt.Add(24*time.Hour - time.Second).Time)
		c.runJobs()
		if v, err := c.desk.GetHold(t.Context(), c.clara, h.HoldID); err != nil || v.ChecksLeft != 2 {
			t.Errorf("too early: %+v %v", v, err)
		}
		c.clock.Advance(time.Second)
		c.runJobs()
		v, err := c.desk.GetHold(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if v.ChecksLeft != 1 || v.Status != models.HoldWaiting || v.NextCheckAt.String() != "2026-10-08T04:00:00Z" {
			t.Errorf("one missed: %+v", v)
		}
		c.clock.Set(v.NextCheckAt.Add(24 * time.Hour).Time)
		c.runJobs()
		v, err = c.desk.GetHold(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if v.Status != models.HoldEscalated || v.CaseID == "" {
			t.Errorf("all missed: %+v", v)
		}
		page, err := c.desk.HoldPage(t.Context(), c.clara, h.HoldID)
		must(t, err)
		for _, check := range page.Checks {
			if check.Result != "missed" || check.ByName != "" {
				t.Errorf("check %+v", check)
			}
		}
	})
}

func TestHoldsAreReadByThoseTheyConcern(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 0))
		for _, by := range []models.Principal{c.other, c.erp, c.stranger} {
			_, err := c.desk.GetHold(t.Context(), by, h.HoldID)
			refused(t, err, models.NotFound)
		}
		joined, err := c.desk.Hold(t.Context(), c.other, c.waitFor("i1", 0), models.Idempotency{})
		must(t, err)
		v, err := c.desk.GetHold(t.Context(), c.other, joined.HoldID)
		must(t, err)
		if !contains(asText(t, v), "DE123456789") {
			t.Error("who joined sent the same data")
		}
		v, err = c.desk.GetHold(t.Context(), c.clara, h.HoldID)
		must(t, err)
		if contains(asText(t, v), "DE123456789") {
			t.Error("tax data is not for a clerk")
		}
	})
}

func TestHoldsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		want := map[string]bool{}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			want[c.hold(c.waitFor(id, 0)).HoldID] = true
		}
		for _, f := range []queue.HoldFilter{{Limit: 2}, {Limit: 2, Status: models.HoldWaiting}} {
			got := map[string]bool{}
			for pages := 0; ; pages++ {
				l, err := c.desk.ListHolds(t.Context(), c.clara, f)
				must(t, err)
				for _, h := range l.Items {
					got[h.HoldID] = true
				}
				if f.Cursor = l.NextCursor; f.Cursor == "" {
					if pages != 2 {
						t.Errorf("%d pages", pages+1)
					}
					break
				}
			}
			if len(got) != len(want) {
				t.Errorf("got %d of %d", len(got), len(want))
			}
		}
		_, err := c.desk.ListHolds(t.Context(), c.clara, queue.HoldFilter{Status: "lost"})
		issueOn(t, err, "/status")
	})
}
