package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// These tests let people and machines act at the same moment. On PostgreSQL
// they use two desks: what must not happen twice must not happen twice between
// processes either.

// both is the company's desk and, on PostgreSQL, a second one beside it.
func (c *company) both(t *testing.T) [2]*desk {
	t.Helper()
	if strings.HasPrefix(c.database, "sqlite:") {
		return [2]*desk{c.desk, c.desk}
	}
	return [2]*desk{c.desk, c.replica()}
}

// atOnce runs n things at the same moment and returns when all have ended.
func atOnce(n int, do func(i int)) {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			do(i)
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
}

// approved asks for leave to post an invoice, lets a finance lead agree and
// returns the request's and the approval's id.
func (c *company) approved(t testing.TB, inv object) (requestID, approvalID string) {
	t.Helper()
	agent := c.as(c.agent)
	requestID = agent.ask(t, approvalOf(inv))
	c.signIn(t, fiona).vote(t, requestID, "approve")
	got := agent.get(t, "/approval-requests/"+requestID)
	approvalID = got.text("approval_id")
	if got.text("status") != "approved" || approvalID == "" {
		t.Fatalf("after the vote the agent reads %s", got)
	}
	return requestID, approvalID
}

// vote opens a request's page and votes.
func (v *visitor) vote(t testing.TB, requestID, decision string) page {
	t.Helper()
	seen := v.get(t, "/approvals/"+requestID)
	return v.send(t, seen, "vote-form", url.Values{"decision": {decision}, "reason": {"Checked with the buyer."}})
}

func TestOnlyOneOf64CallersRedeemsAnApproval(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		c := open(t, database)
		desks := c.both(t)
		inv := invoice(1, "950.00")
		_, approval := c.approved(t, inv)

		const callers = 64
		answers := make([]answer, callers)
		errs := make([]error, callers)
		atOnce(callers, func(i int) {
			body := posting(inv)
			body["idempotency_key"] = fmt.Sprintf("caller-%d", i)
			answers[i], errs[i] = desks[i%2].as(c.erp).try(t.Context(), http.MethodPost, "/approvals/"+approval+"/redeem", body, "")
		})

		winners := 0
		for i, got := range answers {
			switch {
			case errs[i] != nil:
				t.Errorf("caller %d: %v", i, errs[i])
			case got.status == http.StatusOK:
				winners++
				if name := dig(first(got.body["approvers"]), "name"); name != fiona.name {
					t.Errorf("the winner is told that %v approved, want %s", name, fiona.name)
				}
			case got.code() != "APPROVAL_MISSING" || got.text("error", "details", "reason") != "already_used":
				t.Errorf("caller %d got %s, want APPROVAL_MISSING with reason already_used", i, got)
			}
		}
		if winners != 1 {
			t.Errorf("%d callers redeemed the approval, want 1", winners)
		}
	})
}

func TestTwoYesVotesAtTheSameMomentGrantATwoPersonRequest(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		c := open(t, database)
		desks := c.both(t)
		voters := [2]*visitor{desks[0].signIn(t, fiona), desks[1].signIn(t, felix)}
		agent := c.as(c.agent)

		// Several rounds, since one may happen to run in turn.
		for round := range 5 {
			request := agent.ask(t, approvalOf(invoice(round, "25000.00")))
			var seen [2]page
			for i, v := range voters {
				seen[i] = v.get(t, "/approvals/"+request)
			}
			errs := make([]error, 2)
			after := make([]page, 2)
			atOnce(2, func(i int) {
				after[i], errs[i] = voters[i].submit(t.Context(), seen[i], "vote-form", url.Values{"decision": {"approve"}, "reason": {"Agreed."}})
			})
			for i := range voters {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				// The other's yes is no reason to ask this person again.
				if after[i].status != http.StatusOK {
					t.Fatalf("round %d: voter %d sees status %d: %s", round, i, after[i].status, after[i].all())
				}
			}
			got := agent.get(t, "/approval-requests/"+request)
			if got.text("status") != "approved" || got.text("approval_id") == "" {
				t.Fatalf("round %d: two people agreed and the agent reads %s", round, got)
			}
			if names := fmt.Sprint(got.body["decided_by"]); !strings.Contains(names, fiona.name) || !strings.Contains(names, felix.name) {
				t.Errorf("decided by %s, want both finance leads", names)
			}
		}
	})
}

func TestOfTwoPeopleResolvingOneCaseOneWinsAndTheOtherIsToldWho(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		c := open(t, database)
		desks := c.both(t)
		people := [2]cast{petra, paul}
		visitors := [2]*visitor{desks[0].signIn(t, petra), desks[1].signIn(t, paul)}
		agent := c.as(c.agent)

		for round := range 5 {
			id := agent.handOver(t, poClosed(round))
			var seen [2]page
			for i, v := range visitors {
				seen[i] = v.get(t, "/cases/"+id)
			}
			exits := [2]string{"reopen_po", "reject_invoice"}
			after := make([]page, 2)
			errs := make([]error, 2)
			atOnce(2, func(i int) {
				after[i], errs[i] = visitors[i].submit(t.Context(), seen[i], "decision-form",
					url.Values{"exit": {exits[i]}, "reason": {"Because of " + people[i].name}})
			})
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}

			got := agent.get(t, "/cases/"+id)
			winner := 0
			if got.text("resolution", "exit") == exits[1] {
				winner = 1
			}
			if got.text("status") != "resolved" || got.text("resolution", "exit") != exits[winner] {
				t.Fatalf("round %d: the agent reads %s", round, got)
			}
			if by := got.text("resolution", "decided_by"); !strings.Contains(by, people[winner].name) {
				t.Errorf("decided by %q, want %s", by, people[winner].name)
			}
			loser := 1 - winner
			if after[winner].status != http.StatusOK {
				t.Errorf("the winner sees status %d: %s", after[winner].status, after[winner].all())
			}
			if after[loser].status != http.StatusConflict {
				t.Errorf("the loser sees status %d, want 409", after[loser].status)
			}
			if said := after[loser].text("conflict"); !strings.Contains(said, people[winner].name) {
				t.Errorf("the loser is told %q, which does not name %s", said, people[winner].name)
			}
			if kept := after[loser].all(); !strings.Contains(kept, "Because of "+people[loser].name) {
				t.Errorf("what %s had typed is gone", people[loser].name)
			}
		}
	})
}

func TestAWaitWakesWhenAPersonDecidesAtTheOtherReplica(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		c := open(t, database)
		other := c.both(t)[1]
		id := c.as(c.agent).handOver(t, poClosed(1))
		seen := other.signIn(t, petra)
		before := seen.get(t, "/cases/"+id)

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woken := make(chan answer, 1)
		go func() {
			if got, err := c.as(c.agent).try(ctx, http.MethodGet, "/cases/"+id+"?wait=50", nil, ""); err == nil {
				woken <- got
			}
			close(woken)
		}()
		seen.send(t, before, "decision-form", url.Values{"exit": {"reopen_po"}, "reason": {"Reopened this morning."}})
		if got := <-woken; got.text("instruction", "kind") != "resume" {
			t.Errorf("the waiting agent reads %s, want the instruction resume", got)
		}
	})
}

func first(list any) any {
	if items, ok := list.([]any); ok && len(items) > 0 {
		return items[0]
	}
	return nil
}
