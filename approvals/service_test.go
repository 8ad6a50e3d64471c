package approvals_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestOneYesGrantsAndTheWriteIsMadeOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		asked := d.request("robot", ask(t, "250.00"))
		if asked.Status != models.RequestPending || !asked.Created || asked.Approver == nil || asked.Approver.Role != "finance_lead" || asked.Approver.Required != 1 {
			t.Fatalf("asked: %+v", asked)
		}
		voted := d.yes("fumiko", asked.RequestID)
		if voted.Status != models.RequestApproved || voted.ApprovalID != "" {
			t.Fatalf("the voter must see approved and no approval id: %+v", voted)
		}
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), asked.RequestID)
		if err != nil || got.ApprovalID == "" || got.ApprovalExpiresAt == nil || !slices.Equal(got.DecidedBy, []string{"fumiko"}) {
			t.Fatalf("robot reads %+v, %v", got, err)
		}
		_, err = d.redeem("sap", got.ApprovalID, "k1", arguments("250.0"))
		wantReason(t, err, "different_call") // 250.0 is another text than 250.00
		first, err := d.redeem("sap", got.ApprovalID, "k1", arguments("250.00"))
		if err != nil || first.RequestID != asked.RequestID || first.InvoiceID != "5105600123" || len(first.Approvers) != 1 || first.Approvers[0].Name != "fumiko" || first.Approvers[0].Role != "finance_lead" {
			t.Fatalf("redeemed: %+v, %v", first, err)
		}
		again, err := d.redeem("sap", got.ApprovalID, "k1", arguments("250.00"))
		if err != nil || !again.RedeemedAt.Equal(first.RedeemedAt.Time) {
			t.Fatalf("the same key must get the first answer again: %+v, %v", again, err)
		}
		_, err = d.redeem("sap", got.ApprovalID, "k2", arguments("250.00"))
		wantReason(t, err, "already_used")
		_, err = d.redeem("sap-two", got.ApprovalID, "k1", arguments("250.00"))
		wantReason(t, err, "already_used")
		after, err := d.svc.Get(t.Context(), d.mcp("robot"), asked.RequestID)
		if err != nil || after.ApprovalID != "" {
			t.Fatalf("a spent approval's id must not be shown: %+v, %v", after, err)
		}
		want := []string{"request.filed", "request.routed", "vote.cast", "approval.granted", "redeem.refused", "approval.redeemed", "redeem.refused", "redeem.refused"}
		if trail := d.trail(asked.RequestID); !slices.Equal(trail, want) {
			t.Fatalf("trail %v", trail)
		}
		for _, e := range d.refusals("redeem.refused") {
			if strings.Contains(e.Data, got.ApprovalID) {
				t.Fatalf("an approval id stands on the trail: %s", e.Data)
			}
		}
	})
}

func TestSixtyFourRedeemsAtOnceHaveOneWinner(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		_, id := d.approved(ask(t, "250.00"))
		results := make([]error, 64)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() { _, results[i] = d.redeem("sap", id, fmt.Sprintf("key-%d", i), arguments("250.00")) })
		}
		all.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			wantReason(t, err, "already_used")
		}
		if won != 1 {
			t.Fatalf("%d redeems won, want 1", won)
		}
		if n := len(d.refusals("redeem.refused")); n != 63 {
			t.Fatalf("%d refusals on the trail, want 63", n)
		}
	})
}

func TestTwoYesVotesAtTheSameMomentGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		for round := range 10 {
			v := d.request("robot", ask(t, fmt.Sprintf("%d.00", 100+round)))
			var both sync.WaitGroup
			for _, name := range []string{"fumiko", "frank"} {
				both.Go(func() {
					_, err := d.svc.Vote(t.Context(), d.web(name), approvals.VoteInput{RequestID: v.RequestID, Decision: models.VoteApprove, Version: 1})
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			both.Wait()
			got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
			if err != nil || got.Status != models.RequestApproved || got.ApprovalID == "" || len(got.DecidedBy) != 2 {
				t.Fatalf("round %d: %+v, %v", round, got, err)
			}
		}
	})
}

func TestApproveAndRejectAtTheSameMomentIsOneDecision(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "10.00"))
		errs := make([]error, 2)
		var both sync.WaitGroup
		for i, vote := range []approvals.VoteInput{{Decision: models.VoteApprove}, {Decision: models.VoteReject, Reason: "not agreed"}} {
			vote.RequestID, vote.Version = v.RequestID, 1
			name := []string{"fumiko", "frank"}[i]
			both.Go(func() { _, errs[i] = d.svc.Vote(t.Context(), d.web(name), vote) })
		}
		both.Wait()
		loser := errs[0]
		if loser == nil {
			loser = errs[1]
		} else if errs[1] != nil {
			t.Fatalf("both lost: %v", errs)
		}
		ne := wantCode(t, loser, models.Conflict)
		by, _ := ne.Details["decided_by"].([]string)
		if len(by) != 1 || !strings.Contains(ne.Message, by[0]) || !strings.Contains(ne.Message, "5 October 2026") {
			t.Fatalf("the loser must be told who decided what and when: %v", ne)
		}
	})
}

func TestTheSameCallJoins(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		const n = 16
		ids := make([]string, n)
		created := make([]bool, n)
		var all sync.WaitGroup
		for i := range n {
			by := []string{"robot", "other-robot"}[i%2]
			all.Go(func() {
				v, err := d.svc.Request(t.Context(), d.mcp(by), ask(t, "77.00"), models.Idempotency{})
				if err != nil {
					t.Error(err)
				}
				ids[i], created[i] = v.RequestID, v.Created
			})
		}
		all.Wait()
		made := 0
		for i := range n {
			if ids[i] != ids[0] {
				t.Fatalf("two requests for one call: %s and %s", ids[i], ids[0])
			}
			if created[i] {
				made++
			}
		}
		if made != 1 {
			t.Fatalf("%d answers say created", made)
		}
		d.yes("fumiko", ids[0])
		for _, robot := range []string{"robot", "other-robot"} {
			got, err := d.svc.Get(t.Context(), d.mcp(robot), ids[0])
			if err != nil || got.ApprovalID == "" {
				t.Fatalf("%s asked too and must get the approval: %+v %v", robot, got, err)
			}
		}
		joined := d.request("robot", ask(t, "77.00"))
		if joined.Created || joined.Status != models.RequestApproved || joined.ApprovalID == "" {
			t.Fatalf("an approved, unspent request is joined: %+v", joined)
		}
		clock.Advance(25 * time.Hour) // the approval lapses; no job has run
		anew := d.request("robot", ask(t, "77.00"))
		if !anew.Created || anew.RequestID == ids[0] {
			t.Fatalf("after expiry the call is asked for anew: %+v", anew)
		}
	})
}

func TestAnIdempotencyKeyAnswersTheFirstAnswerAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		idem := models.Idempotency{Key: "once", BodyHash: models.HashBody([]byte("a"))}
		first, err := d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "5.00"), idem)
		if err != nil || first.Refused == nil {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "5.00"), idem)
		if err != nil || again.Refused == nil || again.Refused.Details["case_id"] != first.Refused.Details["case_id"] || !again.Created {
			t.Fatalf("%+v, %v", again, err)
		}
	})
}

func TestBinding(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "100000", Required: 1})
		for name, c := range map[string]struct {
			path   string
			change func(*approvals.RequestInput)
		}{
			"another invoice":      {"/invoice/id", func(in *approvals.RequestInput) { in.Invoice.ID = "5105600999" }},
			"another supplier":     {"/invoice/supplier_id", func(in *approvals.RequestInput) { in.Invoice.SupplierID = "V-9" }},
			"a smaller amount":     {"/amount", func(in *approvals.RequestInput) { in.Action.Arguments = arguments("2500.00") }},
			"another currency":     {"/currency", func(in *approvals.RequestInput) { in.Amount, _ = models.ParseMoney("250.00", "USD") }},
			"another posting date": {"/posting_date", func(in *approvals.RequestInput) { in.PostingDate = in.PostingDate.AddDays(1) }},
			"a number as string":   {"/action/arguments/amount", func(in *approvals.RequestInput) { in.Action.Arguments = []byte(`{"amount":12345678901234567890}`) }},
			"a name twice":         {"/action/arguments/a", func(in *approvals.RequestInput) { in.Action.Arguments = []byte(`{"a":1,"a":1}`) }},
			"no object":            {"/action/arguments", func(in *approvals.RequestInput) { in.Action.Arguments = []byte(`[1]`) }},
			"an unknown case":      {"/case_id", func(in *approvals.RequestInput) { in.CaseID = "case_nowhere" }},
		} {
			_, err := d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "250.00", c.change), models.Idempotency{})
			is := wantIssue(t, err, c.path)
			if c.path == "/amount" && !strings.Contains(is.Message, "2500.00") {
				t.Errorf("%s: the issue must say what the call says: %s", name, is.Message)
			}
		}
		same := d.request("robot", ask(t, "250.00", func(in *approvals.RequestInput) {
			in.Action.Arguments = []byte(`{"invoice_id":"5105600123","amount":250,"currency":"EUR"}`)
		}))
		if same.Status != models.RequestPending {
			t.Fatalf("250 and 250.00 are one amount, and absent values are the request's own: %+v", same)
		}
	})
}

func TestUnroutedOpensACaseAndStaysTheSame(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		first := d.request("robot", ask(t, "20000.00"))
		if first.Status != models.RequestUnrouted || first.Refused == nil || first.Refused.Code != models.ApproverNotFound {
			t.Fatalf("%+v", first)
		}
		if first.Refused.Details["request_id"] != first.RequestID || first.Refused.Details["case_id"] != "case_for_"+first.RequestID {
			t.Fatalf("details %v", first.Refused.Details)
		}
		if seen := d.cases.opened[first.RequestID]; seen.Error.Code != models.ApproverNotFound || seen.Error.Message != first.Refused.Message {
			t.Fatalf("the case must store the error as sent: %+v", seen)
		}
		again := d.request("robot", ask(t, "20000.00"))
		if again.Created || again.Refused == nil || again.Refused.Message != first.Refused.Message || again.Refused.Details["case_id"] != first.Refused.Details["case_id"] {
			t.Fatalf("asking again must answer the same error: %+v", again)
		}
		err := d.store.InTx(t.Context(), d.web("lars"), func(tx *models.Tx) error { return d.svc.RouteAgain(tx, first.RequestID) })
		if ne := wantCode(t, err, models.Unprocessable); !strings.Contains(fmt.Sprint(ne.Details["tried"]), "it ends at EUR 10,000.00") {
			t.Fatalf("what is missing must be said: %v", ne.Details)
		}
		if _, err := d.svc.CreateRule(t.Context(), d.web("lars"), approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "10000.01", To: "50000"}); err != nil {
			t.Fatal(err)
		}
		if got, _ := d.svc.Get(t.Context(), d.mcp("robot"), first.RequestID); got.Status != models.RequestUnrouted {
			t.Fatalf("a new rule alone changes no request: %+v", got)
		}
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.RouteAgain(tx, first.RequestID) })
		if got, _ := d.svc.Get(t.Context(), d.mcp("robot"), first.RequestID); got.Status != models.RequestPending || got.Approver == nil {
			t.Fatalf("routed again: %+v", got)
		}
		if v := d.yes("frank", first.RequestID); v.Status != models.RequestApproved {
			t.Fatalf("%+v", v)
		}
	})
}

func TestANamedApproverDecidesThisItemOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "10000", To: "50000"})
		v := d.request("robot", ask(t, "7500.00"))
		name := func(by, email string) error {
			return d.store.InTx(t.Context(), d.web(by), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, email) })
		}
		for email, why := range map[string]string{"nobody@example.com": "no active person", "clara@example.com": "no limit", "robot@example.com": "no active person"} {
			if is := wantIssue(t, name("lars", email), "/input/person"); !strings.Contains(is.Message, why) {
				t.Errorf("%s: %s", email, is.Message)
			}
		}
		if err := name("lars", "fumiko@example.com"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.vote("frank", v.RequestID, models.VoteApprove, ""); !models.IsCode(err, models.InsufficientPermission) {
			t.Fatalf("frank was not named: %v", err)
		}
		if asked, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID); err != nil || asked.Approver == nil || asked.Approver.Role != "fumiko" {
			t.Errorf("the agent must read who was named: %+v, %v", asked.Approver, err)
		}
		if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("%+v", got)
		}
		wantCode(t, name("lars", "frank@example.com"), models.Unprocessable)
	})
}

func TestNamingDoesNotHalveATwoPersonRule(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		d.takeRole("frank", models.RoleFinanceLead)
		v := d.request("robot", ask(t, "10.00"))
		if v.Status != models.RequestUnrouted {
			t.Fatalf("one finance lead is too few for two votes: %+v", v)
		}
		name := func(email string) error {
			return d.store.InTx(t.Context(), d.web("lars"), func(tx *models.Tx) error { return d.svc.NameApprover(tx, v.RequestID, email) })
		}
		wantCode(t, name("fumiko@example.com"), models.Unprocessable)
		d.rule(approvals.NewRule{People: []string{"nina@example.com"}, Tool: "post_invoice_adjustment", DocumentType: "", Supplier: "V-1", Currency: "EUR", From: "0", To: "50000"})
		if err := name("nina@example.com"); err != nil {
			t.Fatal(err)
		}
		if got := d.yes("nina", v.RequestID); got.Status != models.RequestPending {
			t.Fatalf("one of two: %+v", got)
		}
		if got := d.yes("fumiko", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("two of two: %+v", got)
		}
	})
}

func TestSeparationOfDuties(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		rule := financeRule(1)
		rule.To = "1000"
		d.rule(rule)
		d.person("grace", models.RoleFinanceLead)
		d.person("double", models.RoleFinanceLead, models.RoleAgent, models.RoleAdmin)
		d.account("owned", "fumiko", models.RoleAgent)

		refused := func(name, requestID, word string) {
			t.Helper()
			page, err := d.svc.Page(t.Context(), d.web(name), requestID)
			if err != nil || page.CanVote || !strings.Contains(page.WhyNot, word) {
				t.Errorf("%s must be told why not (%s): %q, %v", name, word, page.WhyNot, err)
			}
			_, err = d.vote(name, requestID, models.VoteApprove, "")
			if ne, ok := models.AsNamed(err); !ok || (ne.Code != models.Unprocessable && ne.Code != models.InsufficientPermission) || !strings.Contains(ne.Message, word) {
				t.Errorf("%s must be refused in words (%s): %v", name, word, err)
			}
		}
		v := d.request("owned", ask(t, "1.00"))
		refused("fumiko", v.RequestID, "answer for the account")
		refused("audrey", v.RequestID, "Finance lead")
		refused("adam", v.RequestID, "Finance lead")
		v = d.request("double", ask(t, "2.00"))
		refused("double", v.RequestID, "asked for this")

		by := d.mcp("robot")
		by.TokenBy = d.users["frank"].ID
		made, err := d.svc.Request(t.Context(), by, ask(t, "3.00"), models.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		refused("frank", made.RequestID, "made the token")

		// A second asker joins: their person may not decide either.
		d.request("owned", ask(t, "3.00"))
		refused("fumiko", made.RequestID, "answer for the account")

		// Grace sends a call back with a correction; she may not approve the corrected one.
		v = d.request("robot", ask(t, "4.00"))
		sent, err := d.svc.Vote(t.Context(), d.web("grace"), approvals.VoteInput{RequestID: v.RequestID, Decision: models.VoteReject, Reason: "take the net amount",
			Version: 1, Correction: map[string]string{"amount": "3.36", "currency": ""}})
		if err != nil || sent.Status != models.RequestRejected || sent.Instruction == nil || sent.Instruction.Kind != models.InstructRetryWith || sent.Instruction.Input["amount"] != "3.36" || len(sent.Instruction.Input) != 1 {
			t.Fatalf("%+v, %v", sent, err)
		}
		v = d.request("robot", ask(t, "3.36"))
		refused("grace", v.RequestID, "corrected an earlier step")

		// Nor when the correction is another invoice: the call that comes back is about that one.
		about := func(id string) func(*approvals.RequestInput) {
			return func(in *approvals.RequestInput) {
				in.Invoice.ID = id
				in.Action.Arguments = json.RawMessage(strings.ReplaceAll(string(in.Action.Arguments), "5105600123", id))
			}
		}
		v = d.request("robot", ask(t, "5.00"))
		if _, err := d.svc.Vote(t.Context(), d.web("frank"), approvals.VoteInput{RequestID: v.RequestID, Decision: models.VoteReject, Reason: "another invoice",
			Version: 1, Correction: map[string]string{"invoice_id": "cv-0999"}}); err != nil {
			t.Fatal(err)
		}
		for _, spelling := range []string{"cv-0999", "CV-0999", "CV 999", "ＣＶ０９９９"} {
			v = d.request("robot", ask(t, "5.00", about(spelling)))
			refused("frank", v.RequestID, "corrected an earlier step")
		}

		// So may not whoever resolved a case of the invoice with retry_with.
		d.person("greta", models.RoleFinanceLead)
		v = d.request("robot", ask(t, "6.00"))
		d.tx(d.web("greta"), func(tx *models.Tx) error { return tx.Correct("case_x", "5105600123") })
		refused("greta", v.RequestID, "corrected an earlier step")

		// Nor who wrote the rule.
		_, err = d.svc.CreateRule(t.Context(), d.web("adam"), approvals.NewRule{People: []string{"adam@example.com", "fumiko@example.com"}, Currency: "EUR", From: "1000.01", To: "2000"})
		if err != nil {
			t.Fatal(err)
		}
		v = d.request("robot", ask(t, "1500.00"))
		refused("adam", v.RequestID, "wrote the version of the rule")

		for _, e := range d.refusals("vote.refused") {
			if e.InvoiceID == "" {
				t.Fatalf("a refused vote must stand in the story of its invoice: %+v", e)
			}
		}
		if n := len(d.refusals("vote.refused")); n < 8 {
			t.Errorf("only %d refused votes on the trail", n)
		}
	})
}

func TestNoTokenCanVote(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		for _, channel := range []models.Channel{models.ChannelAPI, models.ChannelMCP} {
			_, err := d.svc.Vote(t.Context(), d.as("fumiko", channel), approvals.VoteInput{RequestID: v.RequestID, Decision: models.VoteApprove, Version: 1})
			wantCode(t, err, models.InsufficientPermission)
		}
		_, err := d.svc.CreateRule(t.Context(), d.as("adam", models.ChannelAPI), financeRule(1))
		wantCode(t, err, models.InsufficientPermission)
	})
}

func TestAVoterWhoLeavesBeforeTheWriteRevokesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		r := d.rule(financeRule(1))
		request, id := d.approved(ask(t, "1.00"))
		// An edit of the rule alone changes nothing.
		if _, err := d.svc.ReplaceRule(t.Context(), models.Operator(company), r.ID, 1, approvals.NewRule{Role: models.RoleAPLead, Currency: "EUR", From: "0", To: "1"}); err != nil {
			t.Fatal(err)
		}
		d.takeRole("fumiko", models.RoleFinanceLead)
		_, err := d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "revoked")
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), request)
		if err != nil || got.ApprovalID != "" || !strings.Contains(got.Reason, "fumiko") {
			t.Fatalf("the revocation stays: %+v, %v", got, err)
		}
		if trail := d.trail(request); !slices.Contains(trail, "approval.revoked") {
			t.Fatalf("trail %v", trail)
		}
	})
}

func TestPeopleWhoLeaveAreNoticedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		_, id := d.approved(ask(t, "1.00"))
		waiting := d.request("robot", ask(t, "2.00"))
		d.takeRole("frank", models.RoleFinanceLead)
		d.tx(models.Operator(company), func(tx *models.Tx) error { return d.svc.PeopleChanged(tx) })
		if got, _ := d.svc.Get(t.Context(), d.mcp("robot"), waiting.RequestID); got.Status != models.RequestPending {
			t.Fatalf("fumiko is left: %+v", got)
		}
		d.takeRole("fumiko", models.RoleFinanceLead)
		d.tx(models.Operator(company), func(tx *models.Tx) error { return d.svc.PeopleChanged(tx) })
		if _, opened := d.cases.opened[waiting.RequestID]; !opened {
			t.Fatal("nobody is left, but no case was opened")
		}
		if n := len(d.refusals("approval.revoked")); n != 1 {
			t.Fatalf("%d approvals revoked, want 1", n)
		}
		_, err := d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "revoked")
	})
}

func TestARuleEditChangesNothingGranted(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		r := d.rule(financeRule(1))
		_, id := d.approved(ask(t, "1.00"))
		if err := d.svc.RetireRule(t.Context(), models.Operator(company), r.ID, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatal(err)
		}
		wantCode(t, d.svc.RetireRule(t.Context(), models.Operator(company), r.ID, 1), models.Conflict)
	})
}

func TestTooFewPeopleLeftUnroutesAPendingRequest(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "1.00"))
		d.yes("fumiko", v.RequestID)
		d.deactivate("frank")
		d.peopleChanged("frank")
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil || got.Status != models.RequestUnrouted {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, opened := d.cases.opened[v.RequestID]; !opened {
			t.Fatal("no case was opened")
		}
		d.person("grace", models.RoleFinanceLead)
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.RouteAgain(tx, v.RequestID) })
		if got := d.yes("grace", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("fumiko's yes still counts: %+v", got)
		}
	})
}

func TestClosedPeriod(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		_, id := d.approved(ask(t, "1.00"))
		d.closePeriod("2026-10-05")
		_, err := d.redeem("sap", id, "k", arguments("1.00"))
		wantCode(t, err, models.PeriodClosed)
		_, err = d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "2.00"), models.Idempotency{})
		if ne := wantCode(t, err, models.PeriodClosed); ne.Details["period_closed_through"] != "2026-10-05" {
			t.Fatalf("%v", ne.Details)
		}
		// The date in the call counts, also when the request names none.
		_, err = d.svc.Request(t.Context(), d.mcp("robot"), ask(t, "3.00", func(in *approvals.RequestInput) { in.PostingDate = models.Date{} }), models.Idempotency{})
		wantCode(t, err, models.PeriodClosed)
		d.closePeriod("2026-10-04")
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatalf("the refusal spent something: %v", err)
		}
	})
}

func TestRedeemTellsWhyNot(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		_, id := d.approved(ask(t, "1.00"))
		_, err := d.redeem("sap", "apr_unknown", "k", arguments("1.00"))
		wantReason(t, err, "unknown")
		elsewhere := d.mcp("sap")
		elsewhere.WorkspaceID = "2000"
		in := approvals.RedeemInput{ApprovalID: id, IdempotencyKey: "k", Call: models.Call{Tool: "post_invoice_adjustment", Arguments: arguments("1.00")}, Reachable: []string{company, "2000"}}
		_, err = d.svc.Redeem(t.Context(), elsewhere, in)
		wantReason(t, err, "wrong_workspace")
		in.Reachable = []string{"2000"}
		_, err = d.svc.Redeem(t.Context(), elsewhere, in)
		wantReason(t, err, "unknown")
		_, err = d.redeem("sap", id, "k", []byte(`{"amount":1e400}`))
		wantIssue(t, err, "/arguments/amount")
		_, err = d.redeem("sap", id, "", arguments("1.00"))
		wantIssue(t, err, "/idempotency_key")
		_, err = d.redeem("robot", id, "k", arguments("1.00"))
		wantCode(t, err, models.InsufficientPermission)
		poor := d.mcp("sap")
		poor.Scopes = []models.Scope{models.ScopeApprovalsWrite}
		_, err = d.svc.Redeem(t.Context(), poor, in)
		if ne := wantCode(t, err, models.InsufficientScope); ne.Details["scope"] != "money" {
			t.Fatalf("%v", ne.Details)
		}
		clock.Advance(day)
		_, err = d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "expired") // though no job has run
		d.runJobs()
		_, err = d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "expired")
	})
}

func TestReports(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		request, id := d.approved(ask(t, "1.00"))
		report := func(in approvals.ReportInput) error {
			_, err := d.svc.Report(t.Context(), d.mcp("sap"), id, in, models.Idempotency{})
			return err
		}
		wantCode(t, report(approvals.ReportInput{Status: approvals.ReportPosted}), models.Unprocessable)
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatal(err)
		}
		clock.Advance(16 * time.Minute)
		d.runJobs()
		page, err := d.svc.Page(t.Context(), d.web("lars"), request)
		if err != nil || page.Grant == nil || page.Grant.Report != approvals.ReportOverdue {
			t.Fatalf("silence must be told: %+v %v", page.Grant, err)
		}
		overdue, err := d.svc.List(t.Context(), d.web("lars"), approvals.Filter{Report: approvals.ReportOverdue})
		if err != nil || len(overdue.Items) != 1 {
			t.Fatalf("%+v, %v", overdue, err)
		}
		wantIssue(t, report(approvals.ReportInput{Status: "perhaps"}), "/status")
		if err := report(approvals.ReportInput{Status: approvals.ReportFailed, Message: "lock"}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatalf("after failed the same key may go on: %v", err)
		}
		_, err = d.redeem("sap", id, "k2", arguments("1.00"))
		wantReason(t, err, "already_used")
		if err := report(approvals.ReportInput{Status: approvals.ReportFailed}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(day)
		_, err = d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "expired")
		if err := report(approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "1900001"}); err != nil {
			t.Fatalf("failed may become posted: %v", err)
		}
		wantCode(t, report(approvals.ReportInput{Status: approvals.ReportFailed}), models.Conflict)

		// The same call again: the page says so and a yes needs a second step.
		again := d.request("robot", ask(t, "1.00"))
		if !again.Created {
			t.Fatalf("%+v", again)
		}
		page, err = d.svc.Page(t.Context(), d.web("fumiko"), again.RequestID)
		if err != nil || page.Earlier == nil || page.Earlier.DocumentNumber != "1900001" {
			t.Fatalf("%+v, %v", page.Earlier, err)
		}
		_, err = d.vote("fumiko", again.RequestID, models.VoteApprove, "")
		if is := wantIssue(t, err, "/second_step"); !strings.Contains(is.Message, "1900001") {
			t.Fatalf("%+v", is)
		}
		if _, err := d.svc.Vote(t.Context(), d.web("fumiko"), approvals.VoteInput{RequestID: again.RequestID, Decision: models.VoteApprove, Version: 1, SecondStep: true}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestARequestExpiresAfterFiveBusinessDays(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		if want := modelstest.Start.AddDate(0, 0, 7); !v.ExpiresAt.Equal(want) {
			t.Fatalf("expires %s, want %s", v.ExpiresAt, want)
		}
		clock.Advance(7 * day)
		expired := func(when string) {
			t.Helper()
			got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
			if err != nil || got.Status != models.RequestExpired || len(got.DecidedBy) != 0 {
				t.Fatalf("%s: %+v, %v", when, got, err)
			}
			_, err = d.vote("fumiko", v.RequestID, models.VoteApprove, "")
			wantCode(t, err, models.Conflict)
			list, err := d.svc.List(t.Context(), d.web("lars"), approvals.Filter{Status: []models.RequestStatus{models.RequestExpired}})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%s: %+v, %v", when, list, err)
			}
			waiting, err := d.svc.WaitingFor(t.Context(), d.web("fumiko"), "", 10)
			if err != nil || len(waiting.Items) != 0 {
				t.Fatalf("%s: %+v, %v", when, waiting, err)
			}
		}
		expired("before the job ran")
		d.runJobs()
		expired("after the job ran")
	})
}

func TestTakingBack(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		_, err := d.svc.WithdrawRequest(t.Context(), d.mcp("other-robot"), approvals.WithdrawInput{RequestID: v.RequestID})
		wantCode(t, err, models.NotFound)
		got, err := d.svc.WithdrawRequest(t.Context(), d.mcp("robot"), approvals.WithdrawInput{RequestID: v.RequestID, Reason: "wrong invoice"})
		if err != nil || got.Status != models.RequestWithdrawn || got.Reason != "wrong invoice" {
			t.Fatalf("%+v, %v", got, err)
		}
		_, id := d.approved(ask(t, "2.00"))
		_, err = d.svc.RevokeApproval(t.Context(), d.mcp("other-robot"), approvals.RevokeInput{ApprovalID: id})
		wantCode(t, err, models.NotFound)
		if _, err = d.svc.RevokeApproval(t.Context(), d.mcp("robot"), approvals.RevokeInput{ApprovalID: id}); err != nil {
			t.Fatal(err)
		}
		_, err = d.redeem("sap", id, "k", arguments("2.00"))
		wantReason(t, err, "revoked")
		request, id := d.approved(ask(t, "3.00"))
		_, err = d.svc.RevokeApproval(t.Context(), d.web("frank"), approvals.RevokeInput{RequestID: request, Reason: "no"})
		wantCode(t, err, models.InsufficientPermission)
		if _, err = d.svc.RevokeApproval(t.Context(), d.web("fumiko"), approvals.RevokeInput{RequestID: request, Reason: "mistake"}); err != nil {
			t.Fatal(err)
		}
		_, err = d.redeem("sap", id, "k", arguments("3.00"))
		wantReason(t, err, "revoked")
	})
}

func TestACaseDecisionSupersedes(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		pending := d.request("robot", ask(t, "1.00"))
		unrouted := d.request("robot", ask(t, "99999.00"))
		granted, id := d.approved(ask(t, "2.00"))
		d.tx(d.web("clara"), func(tx *models.Tx) error {
			return d.svc.Supersede(tx, models.Case{ID: "case_1", InvoiceID: "5105600123"}, tx.By, "reject_invoice")
		})
		for _, request := range []string{pending.RequestID, unrouted.RequestID} {
			if got, err := d.svc.Get(t.Context(), d.mcp("robot"), request); err != nil || got.Status != models.RequestWithdrawn || !strings.Contains(got.Reason, "clara") {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if got, err := d.svc.Get(t.Context(), d.mcp("robot"), granted); err != nil || got.ApprovalID != "" || !strings.Contains(got.Reason, "revoked") {
			t.Fatalf("%+v, %v", got, err)
		}
		_, err := d.redeem("sap", id, "k", arguments("2.00"))
		wantReason(t, err, "revoked")
	})
}

func TestWhoReadsWhat(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		if _, err := d.svc.Get(t.Context(), d.web("clara"), v.RequestID); err != nil {
			t.Fatalf("people of the workspace read every request: %v", err)
		}
		_, err := d.svc.Get(t.Context(), d.mcp("other-robot"), v.RequestID)
		wantCode(t, err, models.NotFound)
		_, err = d.svc.Get(t.Context(), d.mcp("sap"), v.RequestID)
		wantCode(t, err, models.InsufficientPermission)
		foreign := d.web("clara")
		foreign.WorkspaceID = "2000"
		_, err = d.svc.Get(t.Context(), foreign, v.RequestID)
		wantCode(t, err, models.NotFound)
		list, err := d.svc.List(t.Context(), d.mcp("other-robot"), approvals.Filter{})
		if err != nil || len(list.Items) != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		waiting, err := d.svc.WaitingFor(t.Context(), d.web("frank"), "", 10)
		if err != nil || len(waiting.Items) != 1 {
			t.Fatalf("%+v, %v", waiting, err)
		}
		if waiting, err = d.svc.WaitingFor(t.Context(), d.web("lars"), "", 10); err != nil || len(waiting.Items) != 0 {
			t.Fatalf("%+v, %v", waiting, err)
		}
	})
}

func TestListPagesByKey(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		var want []string
		for i := range 7 {
			want = append(want, d.request("robot", ask(t, fmt.Sprintf("%d.00", i+1))).RequestID)
			if i%2 == 0 {
				clock.Advance(time.Second) // some share their moment
			}
		}
		slices.Reverse(want)
		var got []string
		f := approvals.Filter{Limit: 3, Status: []models.RequestStatus{models.RequestPending, models.RequestRejected}}
		for {
			page, err := d.svc.List(t.Context(), d.web("lars"), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				got = append(got, it.RequestID)
			}
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v want %v", got, want)
		}
		_, err := d.svc.List(t.Context(), d.web("lars"), approvals.Filter{Sort: "amount"})
		wantCode(t, err, models.BadRequest)
		_, err = d.svc.List(t.Context(), d.web("lars"), approvals.Filter{Cursor: "!"})
		wantCode(t, err, models.BadRequest)
	})
}

func TestAwaitWakesWhenAPersonDecides(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		got := make(chan approvals.RequestView, 1)
		robot := modelstest.WithToken(t, d.store, d.mcp("robot"))
		go func() {
			view, err := d.svc.Await(t.Context(), robot, v.RequestID, 50*time.Second)
			if err != nil {
				t.Error(err)
			}
			got <- view
		}()
		d.yes("fumiko", v.RequestID)
		if view := <-got; view.Status != models.RequestApproved || view.ApprovalID == "" {
			t.Fatalf("%+v", view)
		}
	})
}

func TestRules(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		for path, n := range map[string]approvals.NewRule{
			"/role":     {Role: models.RoleAuditor, Currency: "EUR", From: "0", To: "1"},
			"/person":   {People: []string{"audrey@example.com"}, Currency: "EUR", From: "0", To: "1"},
			"/currency": {Role: models.RoleAPLead, Currency: "EURO", From: "0", To: "1"},
			"/from":     {Role: models.RoleAPLead, Currency: "EUR", From: "-1", To: "1"},
			"/to":       {Role: models.RoleAPLead, Currency: "EUR", From: "2", To: "1.99"},
			"/required": {Role: models.RoleAPLead, Currency: "EUR", From: "0", To: "1", Required: 3},
			"/valid":    {Role: models.RoleAPLead, Currency: "EUR", From: "0", To: "1", Valid: time.Millisecond},
		} {
			_, err := d.svc.CreateRule(t.Context(), d.web("lars"), n)
			wantIssue(t, err, path)
		}
		_, err := d.svc.CreateRule(t.Context(), d.web("fumiko"), financeRule(1))
		wantCode(t, err, models.InsufficientPermission)
		r, err := d.svc.CreateRule(t.Context(), d.web("lars"), financeRule(1))
		if err != nil {
			t.Fatal(err)
		}
		next, err := d.svc.ReplaceRule(t.Context(), d.web("adam"), r.ID, 1, financeRule(2))
		if err != nil || next.Version != 2 {
			t.Fatalf("%+v, %v", next, err)
		}
		_, err = d.svc.ReplaceRule(t.Context(), d.web("lars"), r.ID, 1, financeRule(1))
		if ne := wantCode(t, err, models.Conflict); !strings.Contains(ne.Message, "adam") {
			t.Fatalf("%v", ne)
		}
		rules, err := d.svc.Rules(t.Context(), d.web("audrey"))
		if err != nil || len(rules) != 1 || rules[0].Rule.Version != 2 || rules[0].Text != "Finance lead · EUR 0.00 to EUR 10,000.00" {
			t.Fatalf("%+v, %v", rules, err)
		}
	})
}

// A document number that comes after the report is added once; what stands is never replaced.
func TestADocumentNumberMayComeAfterTheReport(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		request, id := d.approved(ask(t, "1.00"))
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatal(err)
		}
		report := func(in approvals.ReportInput) (approvals.ReportResult, error) {
			clock.Advance(time.Minute)
			return d.svc.Report(t.Context(), d.mcp("sap"), id, in, models.Idempotency{})
		}
		posted := approvals.ReportInput{Status: approvals.ReportPosted}
		first, err := report(posted)
		if err != nil {
			t.Fatal(err)
		}
		_, err = report(approvals.ReportInput{Status: approvals.ReportFailed})
		if ne := wantCode(t, err, models.Conflict); strings.Contains(ne.Message, `""`) || !strings.Contains(ne.Message, "may still be added") {
			t.Errorf("failed after posted is told %q", ne.Message)
		}
		numbered := approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "4711", Message: "numbered by the night run"}
		for range 2 { // the second time is a retry
			got, err := report(numbered)
			if err != nil || got.DocumentNumber != "4711" || got.Message != numbered.Message || !got.ReportedAt.Equal(first.ReportedAt.Time) {
				t.Fatalf("a number that was missing is answered %+v, %v", got, err)
			}
		}
		if again, err := report(posted); err != nil || again.DocumentNumber != "4711" {
			t.Errorf("the first report again is answered %+v, %v", again, err)
		}
		for _, other := range []approvals.ReportInput{{Status: approvals.ReportPosted, DocumentNumber: "4712"}, {Status: approvals.ReportFailed}, {Status: approvals.ReportFailed, DocumentNumber: "4711"}} {
			_, err = report(other)
			if ne := wantCode(t, err, models.Conflict); !strings.Contains(ne.Message, `document number "4711"`) {
				t.Errorf("%+v is told %q", other, ne.Message)
			}
		}
		page, err := d.svc.Page(t.Context(), d.web("lars"), request)
		if err != nil || page.Grant.DocumentNumber != "4711" || page.Grant.Report != approvals.ReportPosted {
			t.Errorf("%+v, %v", page.Grant, err)
		}
		told := 0
		for _, action := range d.trail(request) {
			if action == "write.reported" || action == "write.numbered" {
				told++
			}
		}
		if told != 2 {
			t.Errorf("the trail has %v", d.trail(request))
		}
	})
}
