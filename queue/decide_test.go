package queue_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func contains(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(text, s) })
}

func TestEveryExitTellsTheAgentWhatItMeans(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		c.closePeriod("2026-09-30")
		soon := c.tomorrow(3)
		for _, x := range []struct {
			code  models.Code
			by    models.Principal
			exit  string
			input map[string]string
			want  models.InstructionKind
			told  map[string]any
		}{
			{models.POClosed, c.petra, "reopen_po", nil, models.InstructResume, nil},
			{models.POClosed, c.petra, "use_other_po", map[string]string{"po_id": "45"}, models.InstructRetryWith, map[string]any{"po_id": "45"}},
			{models.POClosed, c.petra, "reject_invoice", nil, models.InstructStop, nil},
			{models.DuplicateInvoice, c.clara, "confirm_duplicate", nil, models.InstructStop, nil},
			{models.DuplicateInvoice, c.lena, "not_duplicate", nil, models.InstructResume, nil},
			{models.DuplicateInvoice, c.clara, "corrected_version", nil, models.InstructResume, nil},
			{models.DuplicateInvoice, c.clara, "hold_for_statement", map[string]string{"until": soon}, models.InstructWait, nil},
			{models.ApproverNotFound, c.lena, "name_approver", map[string]string{"person": "Fiona@example.test"}, models.InstructResume, nil},
			{models.ApproverNotFound, c.lena, "matrix_fixed", nil, models.InstructResume, nil},
			{models.ApproverNotFound, c.lena, "send_back", nil, models.InstructStop, nil},
			{models.PeriodClosed, c.fiona, "post_next_period", map[string]string{"posting_date": "2026-10-01"}, models.InstructRetryWith, map[string]any{"posting_date": "2026-10-01"}},
			{models.PeriodClosed, c.fiona, "accrue", nil, models.InstructStop, nil},
			{models.PeriodClosed, c.fiona, "reject_invoice", nil, models.InstructStop, nil},
			{models.InvoiceNotFound, c.clara, "correct_id", map[string]string{"invoice_id": "5"}, models.InstructRetryWith, map[string]any{"invoice_id": "5"}},
			{models.InvoiceNotFound, c.clara, "wait_for_import", map[string]string{"until": soon}, models.InstructWait, nil},
			{models.InvoiceNotFound, c.clara, "registered", nil, models.InstructResume, nil},
			{models.InvoiceNotFound, c.clara, "cancel", nil, models.InstructStop, nil},
			{models.PONotFound, c.clara, "correct_po", map[string]string{"po_id": "45"}, models.InstructRetryWith, map[string]any{"po_id": "45"}},
			{models.PONotFound, c.clara, "treat_as_non_po", nil, models.InstructResume, nil},
			{models.PONotFound, c.clara, "ask_supplier", map[string]string{"until": soon}, models.InstructWait, nil},
			{models.PONotFound, c.clara, "reject_invoice", nil, models.InstructStop, nil},
			{models.SupplierNotFound, c.mara, "link_supplier", map[string]string{"supplier_id": "V-1"}, models.InstructRetryWith, map[string]any{"supplier_id": "V-1"}},
			{models.SupplierNotFound, c.mara, "supplier_created", map[string]string{"supplier_id": "V-1"}, models.InstructRetryWith, map[string]any{"supplier_id": "V-1"}},
			{models.SupplierNotFound, c.mara, "suspected_fraud", nil, models.InstructStop, nil},
			{models.SupplierNotFound, c.mara, "reject_invoice", nil, models.InstructStop, nil},
			{models.GRMissing, c.clara, "keep_waiting", map[string]string{"until": soon}, models.InstructWait, nil},
			{models.GRMissing, c.clara, "receipt_confirmed", nil, models.InstructResume, nil},
			{models.GRMissing, c.clara, "two_way_match", nil, models.InstructResume, nil},
			{models.GRMissing, c.clara, "short_pay", map[string]string{"amount": "1000.00"}, models.InstructRetryWith, map[string]any{"amount": "1000.00"}},
			{models.GRMissing, c.clara, "reject_invoice", nil, models.InstructStop, nil},
		} {
			in := c.stop(string(x.code)+x.exit, x.code, `{}`)
			if x.code == models.GRMissing {
				in.Reason = models.ReasonOther
			}
			id := c.file(in).CaseID
			v, err := c.choose(x.by, id, x.exit, x.input, "Because.")
			if err != nil {
				t.Errorf("%s %s: %v", x.code, x.exit, err)
				continue
			}
			want := models.CaseResolved
			if x.want == models.InstructWait {
				want = models.CaseHeld
				if v.Instruction.Until != soon {
					t.Errorf("%s: until %q", x.exit, v.Instruction.Until)
				}
			} else if v.Resolution == nil || v.Resolution.Exit != x.exit || v.Resolution.DecidedBy != x.by.UserName || v.Resolution.Reason != "Because." || v.Resolution.Instruction != x.want {
				t.Errorf("%s: resolution %+v", x.exit, v.Resolution)
			}
			if v.Status != want || v.Instruction == nil || v.Instruction.Kind != x.want || v.ClaimedBy != nil || asText(t, v.Instruction.Input) != asText(t, x.told) {
				t.Errorf("%s %s: %s, told %+v", x.code, x.exit, v.Status, v.Instruction)
			}
		}
	})
}

func TestWhatAnExitAsksFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		c.closePeriod("2026-09-30")
		po := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		_, err := c.choose(c.petra, po, "use_other_po", map[string]string{"po_id": " "}, "x")
		issueOn(t, err, "/input/po_id")
		_, err = c.choose(c.petra, po, "reopen_po", nil, "  ")
		issueOn(t, err, "/reason")
		_, err = c.choose(c.petra, po, "confirm_duplicate", nil, "x")
		issueOn(t, err, "/exit")
		_, err = c.choose(c.petra, po, "close", nil, "x")
		issueOn(t, err, "/exit")
		if v := c.get(c.petra, po); v.Version != 1 || v.ClaimedBy != nil {
			t.Errorf("refused decisions leave nothing behind: %+v", v)
		}

		dup := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		for _, until := range []string{"", "2026-02-30", "2026-10-05", "2026-10-04"} {
			_, err = c.choose(c.clara, dup, "hold_for_statement", map[string]string{"until": until}, "x")
			issueOn(t, err, "/input/until")
		}

		period := c.file(c.stop("i3", models.PeriodClosed, `{}`)).CaseID
		_, err = c.choose(c.fiona, period, "post_next_period", map[string]string{"posting_date": "2026-09-30"}, "x")
		issueOn(t, err, "/input/posting_date")

		short := c.stop("i4", models.GRMissing, `{}`)
		short.Reason = models.ReasonRetryExhausted
		gr := c.file(short).CaseID
		for _, amount := range []string{"", "1e3", "0", "-5.00", "1234.50", "2000", "10.005", "1,000.00"} {
			_, err = c.choose(c.clara, gr, "short_pay", map[string]string{"amount": amount}, "x")
			issueOn(t, err, "/input/amount")
		}

		none := c.file(c.stop("i5", models.ApproverNotFound, `{}`)).CaseID
		for _, person := range []string{"", "Fiona", "nobody@example.test", "sven@example.test", "agent-one@example.test"} {
			_, err = c.choose(c.lena, none, "name_approver", map[string]string{"person": person}, "x")
			issueOn(t, err, "/input/person")
		}
	})
}

func TestHandoversWithoutACulpritCanBeAnsweredOrClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", models.PONotFound, `{}`)
		in.Reason = models.ReasonBudgetExhausted
		id := c.file(in).CaseID
		v := c.decide(c.clara, id, "answer_agent", map[string]string{"note": "Use the order on page 2."}, "")
		if v.Status != models.CaseResolved || v.Instruction.Kind != models.InstructResume || v.Instruction.Note != "Use the order on page 2." {
			t.Errorf("answered: %+v", v)
		}
		other := c.file(queue.HandoverInput{Reason: models.ReasonOther, Invoice: c.invoice("i2")}).CaseID
		if v := c.decide(c.clara, other, "close", nil, "Done by hand."); v.Instruction.Kind != models.InstructStop {
			t.Errorf("closed: %+v", v.Instruction)
		}
	})
}

func TestProcurementMovesACaseToAccountsPayable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		v := c.decide(c.petra, id, "treat_as_non_po", nil, "No order needed.")
		if v.Status != models.CaseOpen || v.Queue != models.QueueAP || v.Instruction != nil || v.Version != 2 || v.ClaimedBy != nil {
			t.Fatalf("moved: %+v", v)
		}
		if got := v.DueAt.String(); got != "2026-10-06T09:00:00Z" { // 8 business hours from Monday 11:00 in Berlin
			t.Errorf("due %s", got)
		}
		_, err := c.choose(c.petra, id, "treat_as_non_po", nil, "x")
		refused(t, err, models.InsufficientPermission)
		p, err := c.desk.Page(t.Context(), c.clara, id)
		must(t, err)
		var codes []string
		for _, e := range p.Exits {
			codes = append(codes, e.Code)
		}
		if !slices.Equal(codes, []string{"treat_as_non_po", "reject_invoice", "ask_agent"}) {
			t.Errorf("exits after the move: %v", codes)
		}
		if v := c.decide(c.clara, id, "treat_as_non_po", nil, "Agreed."); v.Status != models.CaseResolved || v.Instruction.Kind != models.InstructResume {
			t.Errorf("confirmed: %+v", v)
		}
		counts, err := c.desk.Counts(t.Context(), c.clara)
		must(t, err)
		for _, n := range counts {
			if n.Open != 0 || n.Held != 0 || (n.Queue == models.QueueAP) != (n.Resolved == 1) {
				t.Errorf("counts of %s: %+v", n.Queue, n)
			}
		}
	})
}

func TestAHeldCaseComesBackOnItsDay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		v := c.decide(c.clara, id, "hold_for_statement", map[string]string{"until": "2026-10-08"}, "Statement comes on Thursday.")
		if v.Status != models.CaseHeld || v.Instruction.Kind != models.InstructWait || v.Instruction.Until != "2026-10-08" {
			t.Fatalf("held: %+v", v)
		}
		c.clock.Set(time.Date(2026, 10, 7, 21, 59, 0, 0, time.UTC)) // one minute before midnight in Berlin
		c.runJobs()
		if v := c.get(c.clara, id); v.Status != models.CaseHeld {
			t.Errorf("too early: %s", v.Status)
		}
		c.clock.Set(time.Date(2026, 10, 7, 22, 0, 0, 0, time.UTC))
		c.runJobs()
		v = c.get(c.clara, id)
		if v.Status != models.CaseOpen || v.Instruction != nil || v.Version != 3 || v.DueAt.String() != "2026-10-08T15:00:00Z" {
			t.Errorf("back: %+v", v)
		}
		c.decide(c.clara, id, "confirm_duplicate", nil, "It is.")
		if got, want := c.actions(id), []string{"case.opened", "case.claimed", "case.decided", "case.held", "case.reopened", "case.claimed", "case.decided", "case.resolved"}; !slices.Equal(got, want) {
			t.Errorf("trail %v", got)
		}
	})
}

func TestAHeldCaseThatIsDecidedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		c.decide(c.clara, id, "hold_for_statement", map[string]string{"until": "2026-10-08"}, "Wait.")
		c.decide(c.carl, id, "confirm_duplicate", nil, "The statement came early.")
		c.clock.Advance(10 * 24 * time.Hour)
		c.runJobs()
		if v := c.get(c.clara, id); v.Status != models.CaseResolved {
			t.Errorf("it is %s", v.Status)
		}
	})
}

func TestReopeningAPeriodMovesTheDesksOwnDate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		c.closePeriod("2026-09-30")
		id := c.file(c.stop("i1", models.PeriodClosed, `{"posting_date":"2026-08-14"}`)).CaseID
		_, err := c.choose(c.fiona, id, "reopen_period", map[string]string{"until": "2026-10-04"}, "x")
		issueOn(t, err, "/input/until")
		v := c.decide(c.fiona, id, "reopen_period", map[string]string{"until": "2026-10-09"}, "Late invoice.")
		if v.Instruction.Kind != models.InstructResume || c.closedThrough() != "2026-07-31" {
			t.Errorf("told %+v, closed through %s", v.Instruction, c.closedThrough())
		}
	})
}

func TestOnlyAFinanceLeadReopensAPeriod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			return tx.DB.Exec("INSERT INTO queue_routes (workspace_id, code, queue) VALUES ('1000', 'PERIOD_CLOSED', 'ap')").Error
		}))
		c.closePeriod("2026-09-30")
		id := c.file(c.stop("i1", models.PeriodClosed, `{}`)).CaseID
		_, err := c.choose(c.clara, id, "reopen_period", map[string]string{"until": "2026-10-09"}, "x")
		issueOn(t, err, "/exit")
		if c.closedThrough() != "2026-09-30" {
			t.Error("the period moved")
		}
	})
}

func TestNoTokenDecides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		petra := onToken(c.petra)
		system := models.System("1000")
		for _, by := range []models.Principal{petra, c.agent, system} {
			_, err := c.desk.Decide(t.Context(), by, queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "x", Version: 1})
			refused(t, err, models.InsufficientPermission)
			_, err = c.desk.Claim(t.Context(), by, id)
			refused(t, err, models.InsufficientPermission)
			_, err = c.desk.Release(t.Context(), by, id)
			refused(t, err, models.InsufficientPermission)
			_, err = c.desk.TakeOver(t.Context(), by, id)
			refused(t, err, models.InsufficientPermission)
			refused(t, c.desk.AddComment(t.Context(), by, id, "hello"), models.InsufficientPermission)
		}
		if v := c.get(c.petra, id); v.Status != models.CaseOpen || v.ClaimedBy != nil {
			t.Errorf("the case changed: %+v", v)
		}
		if got := c.actions(id); !slices.Contains(got, "case.decide_refused") || !slices.Contains(got, "case.claim_refused") {
			t.Errorf("the attempts must stand on the trail: %v", got)
		}
		_, err := c.desk.Decide(t.Context(), onToken(c.stranger), queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "x", Version: 1})
		refused(t, err, models.NotFound)
	})
}

func TestActingNeedsTheQueuesRole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		for _, by := range []models.Principal{c.clara, c.lena, c.fiona, c.aude, c.adam} {
			_, err := c.choose(by, id, "reopen_po", nil, "x")
			refused(t, err, models.InsufficientPermission)
			_, err = c.desk.Claim(t.Context(), by, id)
			refused(t, err, models.InsufficientPermission)
			refused(t, c.desk.AddComment(t.Context(), by, id, "hello"), models.InsufficientPermission)
			p, err := c.desk.Page(t.Context(), by, id)
			must(t, err)
			if p.WhyNot == "" || len(p.Exits) != 0 || p.Claim.CanClaim || p.CanComment {
				t.Errorf("%s is offered what they may not do: %+v", by.UserName, p)
			}
		}
		must(t, c.desk.AddComment(t.Context(), c.petra, id, " Looking into it. "))
		p, err := c.desk.Page(t.Context(), c.aude, id)
		must(t, err)
		if len(p.Comments) != 1 || p.Comments[0].Text != "Looking into it." || p.Comments[0].AuthorName != "Petra" {
			t.Errorf("comments: %+v", p.Comments)
		}
		issueOn(t, c.desk.AddComment(t.Context(), c.petra, id, "  "), "/text")
	})
}

func TestAClaimIsALease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		v, err := c.desk.Claim(t.Context(), c.clara, id)
		must(t, err)
		if v.ClaimedBy == nil || *v.ClaimedBy != "Clara" || v.Version != 1 {
			t.Fatalf("claimed: %+v", v)
		}
		_, err = c.desk.Claim(t.Context(), c.carl, id)
		ne := refusal(t, err, models.Conflict)
		if ne.Details["claimed_by"] != "Clara" || !contains(ne.Message, "Clara", "2026-10-05T09:30:00Z") {
			t.Errorf("the refusal must say who and until when: %+v", ne)
		}
		_, err = c.choose(c.carl, id, "confirm_duplicate", nil, "x")
		if ne := refusal(t, err, models.Conflict); ne.Details["claimed_by"] != "Clara" {
			t.Errorf("deciding on it: %+v", ne)
		}
		_, err = c.desk.Release(t.Context(), c.carl, id)
		refused(t, err, models.Conflict)

		c.clock.Advance(29 * time.Minute)
		must(t, c.desk.AddComment(t.Context(), c.clara, id, "Still on it.")) // activity renews
		c.clock.Advance(29 * time.Minute)
		if v := c.get(c.carl, id); v.ClaimedBy == nil {
			t.Error("activity must renew the claim")
		}
		c.clock.Advance(time.Minute)
		if v := c.get(c.carl, id); v.ClaimedBy != nil {
			t.Error("the claim must end after 30 minutes")
		}
		v, err = c.desk.Claim(t.Context(), c.carl, id)
		must(t, err)
		if *v.ClaimedBy != "Carl" {
			t.Errorf("claimed by %s", *v.ClaimedBy)
		}
		_, err = c.desk.TakeOver(t.Context(), c.clara, id)
		refused(t, err, models.InsufficientPermission)
		v, err = c.desk.TakeOver(t.Context(), c.lena, id)
		must(t, err)
		if *v.ClaimedBy != "Lena" {
			t.Errorf("taken over by %s", *v.ClaimedBy)
		}
		v, err = c.desk.Release(t.Context(), c.lena, id)
		must(t, err)
		if v.ClaimedBy != nil {
			t.Errorf("released: %+v", v)
		}
		if got, want := c.actions(id), []string{"case.opened", "case.claimed", "case.commented", "case.claimed", "case.take_over_refused", "case.taken_over", "case.released"}; !slices.Equal(got, want) {
			t.Errorf("trail %v", got)
		}
		po := c.file(c.stop("i2", models.POClosed, `{}`)).CaseID
		_, err = c.desk.Claim(t.Context(), c.petra, po)
		must(t, err)
		_, err = c.desk.TakeOver(t.Context(), c.lena, po)
		refused(t, err, models.InsufficientPermission)
	})
}

func TestTwoPeopleDecideOneCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for range 5 {
			id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
			people := []models.Principal{c.clara, c.carl}
			exits := []string{"confirm_duplicate", "corrected_version"}
			errs := make([]error, 2)
			var wg sync.WaitGroup
			for i := range people {
				wg.Go(func() {
					_, errs[i] = c.desk.Decide(t.Context(), people[i], queue.DecideInput{CaseID: id, Exit: exits[i], Reason: "Mine.", Version: 1})
				})
			}
			wg.Wait()
			winner := slices.Index(errs, nil)
			if winner < 0 {
				t.Fatalf("nobody won: %v", errs)
			}
			loser := 1 - winner
			ne := refusal(t, errs[loser], models.Conflict)
			if ne.Details["decided_by"] != people[winner].UserName || ne.Details["exit"] != exits[winner] || ne.Details["decided_at"] == nil {
				t.Errorf("the loser must be told who decided what and when: %+v", ne.Details)
			}
			if v := c.get(c.clara, id); v.Resolution.DecidedBy != people[winner].UserName {
				t.Errorf("decided by %s", v.Resolution.DecidedBy)
			}
		}
	})
}

func TestAStaleDecisionIsToldWhatChanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		c.file(c.stop("i1", models.POClosed, `{}`))
		_, err := c.desk.Decide(t.Context(), c.petra, queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "x", Version: 1})
		ne := refusal(t, err, models.Conflict)
		changes := ne.Details["changes"].([]string)
		if len(changes) != 1 || !contains(changes[0], "agent-one", "again") || ne.Details["version"] != int64(2) {
			t.Errorf("after a join: %+v", ne.Details)
		}
		c.decide(c.petra, id, "treat_as_non_po", nil, "No order.")
		_, err = c.desk.Decide(t.Context(), c.petra, queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "x", Version: 2})
		ne = refusal(t, err, models.Conflict)
		if ne.Details["decided_by"] != "Petra" || ne.Details["exit"] != "treat_as_non_po" || !contains(ne.Message, "Petra", "Treat as an invoice without order") {
			t.Errorf("after a move: %+v", ne)
		}
		_, err = c.desk.Decide(t.Context(), c.clara, queue.DecideInput{CaseID: id, Exit: "reject_invoice", Reason: "x"})
		issueOn(t, err, "/version")
		c.decide(c.clara, id, "reject_invoice", nil, "No.")
		_, err = c.desk.Decide(t.Context(), c.carl, queue.DecideInput{CaseID: id, Exit: "reject_invoice", Reason: "x", Version: 3})
		ne = refusal(t, err, models.Conflict)
		if ne.Details["reason"] != "already_resolved" || ne.Details["decided_by"] != "Clara" || ne.Details["exit"] != "reject_invoice" {
			t.Errorf("after the end: %+v", ne)
		}
		_, err = c.desk.Claim(t.Context(), c.carl, id)
		refused(t, err, models.Conflict)
	})
}

func TestTheSameErrorWithinADayShowsTheEarlierDecision(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		first := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		c.decide(c.petra, first, "reopen_po", nil, "Reopened.")
		c.clock.Advance(3 * time.Hour)
		p, err := c.desk.Page(t.Context(), c.petra, c.file(c.stop("i1", models.POClosed, `{}`)).CaseID)
		must(t, err)
		if len(p.Earlier) != 1 || p.Earlier[0].Exit != "reopen_po" || p.Earlier[0].By != "Petra" || p.Earlier[0].CaseID != first {
			t.Errorf("earlier: %+v", p.Earlier)
		}
		p, err = c.desk.Page(t.Context(), c.petra, c.file(c.stop("i2", models.POClosed, `{}`)).CaseID)
		must(t, err)
		if len(p.Earlier) != 0 {
			t.Errorf("another invoice's: %+v", p.Earlier)
		}
	})
}

func TestTheAPLeadIsToldOfSuspectedFraud(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.SupplierNotFound, `{}`)).CaseID
		c.decide(c.mara, id, "suspected_fraud", nil, "Another bank account.")
		w, err := c.desk.Mine(t.Context(), c.lena)
		must(t, err)
		if len(w.Fraud) != 1 || w.Fraud[0].CaseID != id || w.Fraud[0].By != "Mara" || w.Fraud[0].Reason != "Another bank account." || w.Fraud[0].Supplier != "Nordwind GmbH" {
			t.Errorf("the lead sees %+v", w.Fraud)
		}
		if w, err = c.desk.Mine(t.Context(), c.clara); err != nil || len(w.Fraud) != 0 {
			t.Errorf("the clerk sees %+v, %v", w.Fraud, err)
		}
		p, err := c.desk.Page(t.Context(), c.lena, id)
		must(t, err)
		if !slices.ContainsFunc(p.Marks, func(m queue.Mark) bool { return m.Kind == queue.MarkSuspectedFraud }) || !slices.Contains(c.actions(id), "case.fraud_suspected") {
			t.Errorf("marks %+v", p.Marks)
		}
	})
}

// hook records what case decisions ask of the approval requests.
type hook struct {
	proposed []models.ProposedRequest

	superseded, named, routed []string
	err                       error
}

func (h *hook) Supersede(_ *models.Tx, c models.Case, by models.Principal, exit string) error {
	h.superseded = append(h.superseded, c.InvoiceID+" "+by.UserName+" "+exit)
	return h.err
}

func (h *hook) NameApprover(_ *models.Tx, requestID, person string) error {
	h.named = append(h.named, requestID+" "+person)
	return h.err
}

func (h *hook) RouteAgain(_ *models.Tx, requestID string) error {
	h.routed = append(h.routed, requestID)
	return h.err
}

func TestDecisionsReachTheApprovalRequestsTheyConcern(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		c.decide(c.petra, c.file(c.stop("i1", models.POClosed, `{}`)).CaseID, "reopen_po", nil, "x")
		c.decide(c.petra, c.file(c.stop("i2", models.POClosed, `{}`)).CaseID, "use_other_po", map[string]string{"po_id": "1"}, "x")
		c.decide(c.petra, c.file(c.stop("i3", models.POClosed, `{}`)).CaseID, "reject_invoice", nil, "x")
		if got := strings.Join(h.superseded, "; "); got != "i2 Petra use_other_po; i3 Petra reject_invoice" {
			t.Errorf("superseded: %s", got)
		}
	})
}

func TestAnUnroutedRequestOpensTheCaseItsErrorJoins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		request := models.ApprovalRequest{ID: "areq_1", RunID: "run-1", AskerID: c.agent.UserID, AskerName: c.agent.UserName, Evidence: "[]"}
		open := func() (id string) {
			must(t, c.store.InTx(t.Context(), c.agent, func(tx *models.Tx) (err error) {
				id, err = c.desk.OpenUnrouted(tx, request, c.invoice("i1"), seen(models.ApproverNotFound, "request_approval", `{"a":1}`, `{"request_id":"areq_1","tried":[]}`))
				return err
			}))
			return id
		}
		id := open()
		if again := open(); again != id {
			t.Fatalf("asked again: %s, want %s", again, id)
		}
		own := c.stop("i1", models.ApproverNotFound, `{"request_id":"areq_1","tried":[],"case_id":"`+id+`"}`)
		if out := c.file(own); out.Created || out.CaseID != id || out.Queue != models.QueueAPLead {
			t.Errorf("the agent's handover of the error: %+v", out)
		}
		// Whatever the agent leaves out or adds, the two ids lead to the case.
		bare := c.stop("i1", models.ApproverNotFound, `{"request_id":"areq_1","case_id":"`+id+`","more":true}`)
		bare.Invoice.Number = ""
		if out := c.file(bare); out.CaseID != id {
			t.Errorf("by its ids: %+v", out)
		}
		foreign := c.stop("i2", models.ApproverNotFound, `{"request_id":"areq_1","case_id":"`+id+`"}`)
		if out := c.file(foreign); out.CaseID == id {
			t.Error("another invoice must not join")
		}

		h.err = models.Invalid(models.Issue{Path: "/input/person", Message: "does not hold the limit"})
		_, err := c.choose(c.lena, id, "name_approver", map[string]string{"person": "fiona@example.test"}, "Gap.")
		issueOn(t, err, "/input/person")
		h.err = nil
		v := c.decide(c.lena, id, "name_approver", map[string]string{"person": "fiona@example.test"}, "Gap.")
		if v.Instruction.Kind != models.InstructResume || v.Instruction.Input["request_id"] != "areq_1" || !slices.Equal(v.Resolution.ApprovalRequestIDs, []string{"areq_1"}) {
			t.Errorf("told %+v, resolution %+v", v.Instruction, v.Resolution)
		}
		if out := c.file(own); out.Created || out.CaseID != id || out.Status != models.CaseResolved || out.Instruction == nil {
			t.Errorf("a late handover of the error: %+v", out)
		}
	})
}

func (h *hook) FileProposed(_ *models.Tx, _ models.Case, p models.ProposedRequest) (string, error) {
	h.proposed = append(h.proposed, p)
	return "areq_proposed", h.err
}

// Whoever tells the agent to use another invoice corrected that one too, in whatever spelling: nobody
// approves what follows from their own correction.
func TestACorrectionThatNamesAnotherInvoiceCountsForBoth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("ci-1", models.InvoiceNotFound, `{"invoice_id":"ci-1"}`)).CaseID
		c.decide(c.clara, id, "correct_id", map[string]string{"invoice_id": "ci-02"}, "The scan reads 02.")
		var found []models.Correction
		err := c.store.View(t.Context(), c.clara, func(tx *models.Tx) error {
			return tx.DB.Where("workspace_id = ? AND source = ?", c.clara.WorkspaceID, id).Order("invoice_id").Find(&found).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		var invoices []string
		for _, f := range found {
			if f.UserID != c.clara.UserID {
				t.Errorf("corrected by %s", f.UserID)
			}
			invoices = append(invoices, f.InvoiceID)
		}
		slices.Sort(invoices)
		if got := strings.Join(invoices, " "); got != "CI1 CI2 ci-02 ci-1" {
			t.Errorf("corrected are %q", got)
		}
	})
}
