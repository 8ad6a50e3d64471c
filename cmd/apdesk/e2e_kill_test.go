package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// ledger is what the clients of a desk were told before it was killed.
type ledger struct {
	mu       sync.Mutex
	cases    map[int]string // invoice number to case id
	tried    []int          // invoices handed over, answered or not
	votes    []string       // requests whose voter saw the vote recorded
	redeemed map[string]string
	reached  func(handovers, votes, redeems int)
}

func (l *ledger) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.reached(len(l.cases), len(l.votes), len(l.redeemed))
}

// TestNothingAcknowledgedIsLostOrDoubledBySIGKILL kills a desk while handovers,
// votes and redeems stream in, starts it again and goes through everything its
// clients had been told.
func TestNothingAcknowledgedIsLostOrDoubledBySIGKILL(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		c := open(t, database)
		agent := c.as(c.agent)

		// Work for the voters and for the ERP.
		const each = 60
		pending, approvals := make([]string, each), make([]string, each)
		calls := make([]object, each)
		voter := c.signIn(t, fiona)
		for i := range each {
			pending[i] = agent.ask(t, approvalOf(invoice(1000+i, "100.00")))
			inv := invoice(2000+i, "200.00")
			request := agent.ask(t, approvalOf(inv))
			voter.vote(t, request, "approve")
			approvals[i] = agent.get(t, "/approval-requests/"+request).text("approval_id")
			if approvals[i] == "" {
				t.Fatalf("request %s was not granted", request)
			}
			calls[i] = posting(inv)
			calls[i]["idempotency_key"] = "first"
		}

		enough := make(chan struct{})
		var once sync.Once
		l := &ledger{cases: map[int]string{}, redeemed: map[string]string{}, reached: func(handovers, votes, redeems int) {
			if handovers >= 80 && votes >= 8 && redeems >= 8 {
				once.Do(func() { close(enough) })
			}
		}}
		c.stream(t, l, pending, approvals, calls, enough)
		c.start()
		c.checkLedger(t, l, pending, approvals, calls)
	})
}

// stream lets all clients work until there is enough to lose, and kills the
// desk under them.
func (c *company) stream(t *testing.T, l *ledger, pending, approvals []string, calls []object, enough <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent, erp := c.as(c.agent), c.as(c.erp)
	var clients sync.WaitGroup

	for worker := range 8 {
		clients.Go(func() {
			for n := worker; ctx.Err() == nil; n += 8 {
				l.note(func() { l.tried = append(l.tried, n) })
				got, err := agent.try(ctx, http.MethodPost, "/handovers", poClosed(n), key(n))
				if err != nil {
					return
				}
				if got.status != http.StatusCreated {
					t.Errorf("handover %d is answered with %s", n, got)
					return
				}
				l.note(func() { l.cases[n] = got.text("case_id") })
			}
		})
	}
	for i, who := range []cast{fiona, felix} {
		visitor := c.signIn(t, who)
		clients.Go(func() {
			for n := i; n < len(pending); n += 2 {
				seen, err := visitor.try(ctx, http.MethodGet, "/approvals/"+pending[n], nil)
				if err != nil {
					return
				}
				after, err := visitor.submit(ctx, seen, "vote-form", url.Values{"decision": {"approve"}, "reason": {"Agreed."}})
				if err != nil {
					return
				}
				if after.status != http.StatusOK {
					t.Errorf("the vote on %s is answered with %d: %s", pending[n], after.status, after.all())
					return
				}
				l.note(func() { l.votes = append(l.votes, pending[n]) })
			}
		})
	}
	for worker := range 2 {
		clients.Go(func() {
			for n := worker; n < len(approvals); n += 2 {
				got, err := erp.try(ctx, http.MethodPost, "/approvals/"+approvals[n]+"/redeem", calls[n], "")
				if err != nil {
					return
				}
				if got.status != http.StatusOK {
					t.Errorf("the redeem of %s is answered with %s", approvals[n], got)
					return
				}
				l.note(func() { l.redeemed[approvals[n]] = got.text("redeemed_at") })
			}
		})
	}

	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	select {
	case <-enough:
	case <-ended:
		t.Error("the clients ended before there was enough to lose")
	}
	c.kill()
	cancel()
	<-ended
}

func key(n int) string { return fmt.Sprintf("handover-%d", n) }

func (c *company) checkLedger(t *testing.T, l *ledger, pending, approvals []string, calls []object) {
	t.Helper()
	agent, erp := c.as(c.agent), c.as(c.erp)
	t.Logf("told before the kill: %d handovers of %d, %d votes of %d, %d redeems of %d",
		len(l.cases), len(l.tried), len(l.votes), len(pending), len(l.redeemed), len(approvals))

	// Every client repeats what it had sent, as it would after losing the
	// connection. What was acknowledged is answered as before.
	for _, n := range l.tried {
		got, err := agent.try(t.Context(), http.MethodPost, "/handovers", poClosed(n), key(n))
		if err != nil || got.status != http.StatusCreated {
			t.Fatalf("handover %d, sent again, is answered with %s, %v", n, got, err)
		}
		if before, acknowledged := l.cases[n]; acknowledged && got.text("case_id") != before {
			t.Errorf("handover %d was case %s and is now %s", n, before, got.text("case_id"))
		}
		l.cases[n] = got.text("case_id")
	}
	seen := c.allCases(t)
	for n, id := range l.cases {
		if count := len(seen[fmt.Sprintf("51056%05d", n)]); count != 1 {
			t.Errorf("invoice %d has %d cases, want 1", n, count)
		}
		got := agent.get(t, "/cases/"+id)
		if handovers, _ := got.body["handovers"].([]any); len(handovers) != 1 {
			t.Errorf("case %s holds %d handovers, want 1", id, len(handovers))
		}
	}

	for _, request := range pending {
		got := agent.get(t, "/approval-requests/"+request)
		recorded := got.text("status") == "approved"
		if !recorded && slices.Contains(l.votes, request) {
			t.Errorf("the vote on %s was acknowledged and is gone: %s", request, got)
		}
		if names, _ := got.body["decided_by"].([]any); recorded && len(names) != 1 {
			t.Errorf("%s was decided by %v, want one person", request, names)
		}
	}

	for i, approval := range approvals {
		got := erp.post(t, "/approvals/"+approval+"/redeem", calls[i])
		if got.status != http.StatusOK {
			t.Errorf("the redeem of %s, sent again, is answered with %s", approval, got)
		}
		if before, acknowledged := l.redeemed[approval]; acknowledged && got.text("redeemed_at") != before {
			t.Errorf("%s was redeemed at %s and is now at %s", approval, before, got.text("redeemed_at"))
		}
		second := posting(invoice(2000+i, "200.00"))
		second["idempotency_key"] = "second"
		if got := erp.post(t, "/approvals/"+approval+"/redeem", second); got.text("error", "details", "reason") != "already_used" {
			t.Errorf("%s can be redeemed twice: %s", approval, got)
		}
	}
}

// allCases pages through every case and groups the ids by invoice.
func (c *company) allCases(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for cursor, pages := "", 0; pages < 1000; pages++ {
		path := "/cases?limit=200"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		got := c.as(c.agent).get(t, path)
		items, ok := got.body["items"].([]any)
		if got.status != http.StatusOK || !ok {
			t.Fatalf("GET %s is answered with %s", path, got)
		}
		for _, item := range items {
			inv, _ := dig(item, "invoice", "id").(string)
			id, _ := dig(item, "case_id").(string)
			found[inv] = append(found[inv], id)
		}
		if cursor = got.text("next_cursor"); cursor == "" {
			return found
		}
	}
	t.Fatal("the list of cases does not end")
	return nil
}
