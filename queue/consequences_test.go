package queue_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// told lists what somebody was told, the newest first, as kind and subject.
func (c *cast) told(p models.Principal) []models.Notice {
	c.t.Helper()
	list, _, err := c.store.Notices(c.t.Context(), p, "")
	must(c.t, err)
	return list
}

func (c *cast) page(by models.Principal, caseID string) queue.CasePage {
	c.t.Helper()
	p, err := c.desk.Page(c.t.Context(), by, caseID)
	must(c.t, err)
	return p
}

func (c *cast) marked(by models.Principal, caseID, kind string) bool {
	for _, m := range c.page(by, caseID).Marks {
		if m.Kind == kind {
			return true
		}
	}
	return false
}

func candidateIDs(p queue.CasePage) string {
	var ids []string
	for _, d := range p.Duplicates.Candidates {
		ids = append(ids, d.Invoice.InvoiceID)
	}
	return strings.Join(ids, " ")
}

func TestAFoundSupplierIsLookedThroughForDuplicates(t *testing.T) {
	t.Parallel()
	for _, exit := range []string{"link_supplier", "supplier_created"} {
		each(t, func(t *testing.T, c *cast) {
			earlier := c.stop("i1", models.POClosed, `{}`)
			earlier.Invoice.Number = "INV-007"
			c.file(earlier)
			unknown := c.stop("i2", models.SupplierNotFound, `{}`)
			unknown.Invoice.Number, unknown.Invoice.SupplierID, unknown.Invoice.SupplierName = "inv 7", "", "Nordwnd"
			id := c.file(unknown).CaseID
			if got := candidateIDs(c.page(c.mara, id)); got != "" {
				t.Errorf("under the unknown supplier: %s", got)
			}
			v := c.decide(c.mara, id, exit, map[string]string{"supplier_id": "V-2001"}, "Same tax id.")
			told := c.get(c.agent, id).Instruction
			if v.Status != models.CaseResolved || told.Kind != models.InstructRetryWith || told.Input["supplier_id"] != "V-2001" ||
				!contains(told.Note, "check_duplicate_invoice", "one invoice of this supplier") {
				t.Errorf("%s: the agent is told %+v", exit, told)
			}
			p := c.page(c.mara, id)
			if candidateIDs(p) != "i1" || p.Duplicates.Candidates[0].Why != models.WhyBoth {
				t.Errorf("%s: people see %+v", exit, p.Duplicates)
			}
		})
	}
}

func TestAVerdictEndsWithTheSupplierItWasGivenUnder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		pair := func(invoice, other, supplier string) queue.HandoverInput {
			in := c.stop(invoice, models.DuplicateInvoice, `{"duplicate_of":"`+other+`"}`)
			in.Invoice.SupplierID = supplier
			return in
		}
		c.file(c.stop("i1", models.POClosed, `{}`)) // the other one is known
		first := c.file(pair("i2", "i1", "V-2001")).CaseID
		c.decide(c.clara, first, "not_duplicate", nil, "Two deliveries.")
		for _, again := range []queue.HandoverInput{pair("i2", "i1", "V-2001"), pair("i1", "i2", "V-2001"), pair("i2", "i1", "")} {
			if out := c.file(again); out.Created || out.CaseID != first || out.Instruction == nil || out.Instruction.Kind != models.InstructResume {
				t.Errorf("the verdict counts: %+v", out)
			}
		}
		if p := c.page(c.clara, first); len(p.Duplicates.Candidates) == 0 || p.Duplicates.Candidates[0].Judged == nil || p.Duplicates.Candidates[0].Judged.By != "Clara" {
			t.Errorf("people see the verdict: %+v", p.Duplicates.Candidates)
		}

		c.clock.Advance(time.Hour)
		lost := c.stop("i2", models.SupplierNotFound, `{}`)
		found := c.file(lost).CaseID
		c.decide(c.mara, found, "link_supplier", map[string]string{"supplier_id": "V-3000"}, "It is the sister company.")
		c.clock.Advance(time.Hour)
		second := c.file(pair("i2", "i1", "V-3000"))
		if !second.Created || second.CaseID == first || second.Instruction != nil {
			t.Fatalf("under the new supplier the pair is judged again: %+v", second)
		}
		if !c.marked(c.clara, second.CaseID, queue.MarkVerdictOutdated) {
			t.Errorf("nobody is told of the verdict before: %+v", c.page(c.clara, second.CaseID).Marks)
		}
		c.decide(c.clara, second.CaseID, "not_duplicate", nil, "Still two.")
		c.clock.Advance(time.Hour)
		if out := c.file(pair("i2", "i1", "V-3000")); out.CaseID != second.CaseID || out.Instruction == nil {
			t.Errorf("the new verdict counts: %+v", out)
		}
	})
}

func TestSuspectedFraudIsToldAndMarkedElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		sameSupplier := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		account := c.stop("i2", models.POClosed, `{}`)
		account.Invoice.SupplierID, account.Invoice.SupplierName, account.Invoice.BankAccount = "V-9", "Other", "de02 1203 0000 0000 2020 51"
		sameAccount := c.file(account).CaseID
		apart := c.stop("i3", models.POClosed, `{}`)
		apart.Invoice.SupplierID, apart.Invoice.SupplierName, apart.Invoice.BankAccount = "V-8", "Third", "DE99"
		stranger := c.file(apart).CaseID
		done := c.file(c.stop("i4", models.POClosed, `{}`)).CaseID
		c.decide(c.petra, done, "reject_invoice", nil, "x")
		version := c.get(c.petra, sameSupplier).Version

		fraud := c.file(c.stop("i5", models.SupplierNotFound, `{}`)).CaseID
		v := c.decide(c.mara, fraud, "suspected_fraud", nil, "The account is new.")
		if v.Instruction.Kind != models.InstructStop || len(h.superseded) != 2 || !c.marked(c.lena, fraud, queue.MarkSuspectedFraud) {
			t.Errorf("the case itself: %+v, superseded %v", v, h.superseded)
		}
		if n := c.told(c.lena); len(n) != 1 || n[0].Kind != queue.NoticeFraud || n[0].Subject != fraud || !contains(n[0].Data, `"flagged":2`, `"by":"Mara"`) || strings.Contains(n[0].Data, "DE02") {
			t.Errorf("the lead is told %+v", n)
		}
		if len(c.told(c.clara)) != 0 {
			t.Error("a clerk is told too")
		}
		for id, want := range map[string]bool{sameSupplier: true, sameAccount: true, stranger: false, done: false} {
			if got := c.marked(c.petra, id, queue.MarkFraudElsewhere); got != want {
				t.Errorf("case %s is marked: %v", id, got)
			}
		}
		for _, m := range c.page(c.petra, sameAccount).Marks {
			if strings.Contains(m.Text, "DE02") {
				t.Errorf("the mark gives the account away: %s", m.Text)
			}
		}
		_, err := c.desk.Decide(t.Context(), c.petra, queue.DecideInput{CaseID: sameSupplier, Exit: "reopen_po", Reason: "x", Version: version})
		if ne := refusal(t, err, models.Conflict); !contains(ne.Message, "suspected fraud on another case") {
			t.Errorf("who had not seen the mark decides: %v", err)
		}
		c.clock.Advance(time.Hour)
		if later := c.file(c.stop("i6", models.POClosed, `{}`)).CaseID; !c.marked(c.petra, later, queue.MarkFraudElsewhere) {
			t.Error("a case that came later says nothing")
		}
	})
}

func TestTheFinanceLeadsAreToldWhenAReopenedPeriodIsOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		c.closePeriod("2026-09-30")
		id := c.file(c.stop("i1", models.PeriodClosed, `{"posting_date":"2026-09-15"}`)).CaseID
		v := c.decide(c.fiona, id, "reopen_period", map[string]string{"until": "2026-10-07"}, "One late invoice.")
		if v.Instruction.Kind != models.InstructResume || v.Instruction.Until != "2026-10-07" || c.closedThrough() != "2026-08-31" {
			t.Fatalf("reopened: %+v, closed through %s", v.Instruction, c.closedThrough())
		}
		second := c.file(c.stop("i2", models.PeriodClosed, `{"posting_date":"2026-09-20"}`)).CaseID
		c.decide(c.fiona, second, "reopen_period", map[string]string{"until": "2026-10-09"}, "And another.")
		var until string
		must(t, c.store.View(t.Context(), c.fiona, func(tx *models.Tx) error {
			ws, err := tx.Workspace()
			until = ws.PeriodReopenedUntil.String()
			return err
		}))
		if until != "2026-10-09" || c.closedThrough() != "2026-08-31" {
			t.Errorf("the later day counts: until %s, closed through %s", until, c.closedThrough())
		}
		c.clock.Set(time.Date(2026, 10, 7, 21, 59, 0, 0, time.UTC))
		c.runJobs()
		if n := c.told(c.fiona); len(n) != 0 {
			t.Errorf("told on the last day already: %+v", n)
		}
		c.clock.Set(time.Date(2026, 10, 7, 22, 0, 0, 0, time.UTC)) // midnight in Berlin
		c.runJobs()
		if n := c.told(c.fiona); len(n) != 1 || n[0].Kind != queue.NoticePeriodOver || n[0].Subject != id || !contains(n[0].Data, "2026-10-07", "2026-08-31") {
			t.Errorf("told %+v", n)
		}
		if c.closedThrough() != "2026-08-31" {
			t.Error("the desk closed the period by itself")
		}
		c.closePeriod("2026-09-30") // by hand
		c.clock.Set(time.Date(2026, 10, 10, 0, 0, 0, 0, time.UTC))
		c.runJobs()
		if n := c.told(c.fiona); len(n) != 1 {
			t.Errorf("told although somebody closed it: %+v", n)
		}
	})
}

func TestWhoHeldACaseIsToldThatItIsBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for code, exit := range map[models.Code]string{models.DuplicateInvoice: "hold_for_statement", models.PONotFound: "ask_supplier", models.InvoiceNotFound: "wait_for_import"} {
			id := c.file(c.stop("i-"+exit, code, `{}`)).CaseID
			c.decide(c.carl, id, exit, map[string]string{"until": "2026-10-08"}, "Later.")
			if told := c.get(c.agent, id).Instruction; told.Kind != models.InstructWait || told.Until != "2026-10-08" {
				t.Errorf("%s: the agent is told %+v", exit, told)
			}
		}
		c.clock.Set(time.Date(2026, 10, 7, 22, 0, 0, 0, time.UTC))
		c.runJobs()
		n := c.told(c.carl)
		if len(n) != 3 || len(c.told(c.clara)) != 0 {
			t.Fatalf("Carl is told %d times, Clara %d times", len(n), len(c.told(c.clara)))
		}
		for _, one := range n {
			if v := c.get(c.agent, one.Subject); one.Kind != queue.NoticeReturned || v.Status != models.CaseOpen || v.Instruction != nil || !contains(one.Data, "2026-10-08") {
				t.Errorf("%+v, the case is %s", one, v.Status)
			}
		}
	})
}

func TestKeepingOnWaitingChecksAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := c.hold(c.waitFor("i1", 1))
		id := c.report(h.HoldID, queue.CheckStillMissing).CaseID
		c.decide(c.clara, id, "keep_waiting", map[string]string{"until": "2026-10-12"}, "The truck is late.") // Monday to Monday
		if told := c.get(c.agent, id).Instruction; told.Kind != models.InstructWait || !contains(told.Note, h.HoldID) {
			t.Errorf("the agent is told %+v", told)
		}
		again, err := c.desk.GetHold(t.Context(), c.agent, h.HoldID)
		must(t, err)
		if again.Status != models.HoldWaiting || again.ChecksLeft != 4 || again.MaxChecks != 5 || again.NextCheckAt.String() != "2026-10-06T04:00:00Z" {
			t.Fatalf("the hold waits again: %+v", again)
		}
		c.clock.Set(again.NextCheckAt.Time)
		if due := c.lease(); len(due) != 1 || due[0] != h.HoldID {
			t.Fatalf("due: %v", due)
		}
		if out := c.report(h.HoldID, queue.CheckAvailable); out.Status != models.HoldReleased {
			t.Errorf("released: %+v", out)
		}
		v := c.get(c.agent, id)
		if v.Status != models.CaseOpen || v.Instruction != nil || !c.marked(c.clara, id, queue.MarkReceiptCame) {
			t.Errorf("the case is back for a person: %+v", v)
		}
		if n := c.told(c.clara); len(n) != 1 || n[0].Kind != queue.NoticeReturned {
			t.Errorf("told %+v", n)
		}
		if v := c.decide(c.clara, id, "receipt_confirmed", nil, ""); v.Instruction.Kind != models.InstructResume {
			t.Errorf("confirmed: %+v", v)
		}

		// Another exit ends the wait that goes on.
		other := c.waitFor("i2", 1)
		other.PoID = "45"
		h2 := c.hold(other)
		id2 := c.report(h2.HoldID, queue.CheckStillMissing).CaseID
		c.decide(c.clara, id2, "keep_waiting", map[string]string{"until": "2026-10-12"}, "Wait.")
		c.decide(c.clara, id2, "short_pay", map[string]string{"amount": "1000.00"}, "Half came.")
		if v, err := c.desk.GetHold(t.Context(), c.agent, h2.HoldID); err != nil || v.Status != models.HoldCancelled {
			t.Errorf("the wait goes on after the decision: %+v %v", v, err)
		}
		c.clock.Advance(30 * 24 * time.Hour)
		c.runJobs()
		if v := c.get(c.agent, id2); v.Status != models.CaseResolved {
			t.Errorf("the case came back: %+v", v)
		}
	})
}

func TestAnotherVersionNamesWhatIsCreditedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i2", models.DuplicateInvoice, `{"duplicate_of":"i1"}`)).CaseID
		c.decide(c.clara, id, "corrected_version", nil, "Price corrected.")
		if told := c.get(c.agent, id).Instruction; told.Kind != models.InstructResume || !contains(told.Note, "credited first", "i1") {
			t.Errorf("told %+v", told)
		}
	})
}

func TestAConfirmedDuplicateStopsAndSupersedes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		c.file(c.stop("i1", models.POClosed, `{}`))
		id := c.file(c.stop("i2", models.DuplicateInvoice, `{"duplicate_of":"i1"}`)).CaseID
		c.decide(c.clara, id, "confirm_duplicate", nil, "Sent twice.")
		if told := c.get(c.agent, id).Instruction; told.Kind != models.InstructStop || strings.Join(h.superseded, "") != "i2 Clara confirm_duplicate" {
			t.Errorf("told %+v, superseded %v", told, h.superseded)
		}
		j := c.page(c.clara, id).Duplicates.Candidates[0]
		if !j.Named || j.Judged == nil || j.Judged.Exit != "confirm_duplicate" {
			t.Errorf("people see %+v", j)
		}
		if out := c.file(c.stop("i2", models.DuplicateInvoice, `{"duplicate_of":"i1"}`)); !out.Created {
			t.Errorf("a confirmed pair that comes again is a case again: %+v", out)
		}
	})
}

func TestAnApproverFoundWithoutARequestIsAskedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for exit, input := range map[string]map[string]string{"name_approver": {"person": "fiona@example.test"}, "matrix_fixed": nil} {
			id := c.file(c.stop("i-"+exit, models.ApproverNotFound, `{}`)).CaseID
			c.decide(c.lena, id, exit, input, "Gap.")
			if v := c.get(c.agent, id); v.Instruction.Kind != models.InstructResume || len(v.Instruction.Input) != 0 || !contains(v.Instruction.Note, "Ask for the approval again") || len(v.Resolution.ApprovalRequestIDs) != 0 {
				t.Errorf("%s: told %+v", exit, v.Instruction)
			}
		}
	})
}

// What was proposed before a correction and holds what it replaces is never asked for together with it: the
// people asked would approve what the decision refuses.
func TestACallThatHoldsWhatADecisionReplacesIsNotAskedFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		n := 0
		for _, story := range []struct {
			code        models.Code
			exit        string
			input       map[string]string
			refused, ok []string
		}{
			{models.GRMissing, "short_pay", map[string]string{"amount": "90.00"},
				[]string{`{"amount":"1234.50"}`, `{"amount":1234.5}`, `{"total":"1234.500"}`, `{"lines":[{"value":"1234.50"}]}`, `{"amount":"95.00"}`, `{"a":{"b":[[1234.5]]}}`, `{"x":1.2345e3}`, `{"amount":1e999999999}`},
				[]string{`{"amount":"90.00"}`, `{"amount":90}`, `{"text":"short"}`, `{"lines":[{"amount":"90.0"}]}`}},
			{models.PeriodClosed, "post_next_period", map[string]string{"posting_date": "2026-10-01"},
				[]string{`{"posting_date":"2026-09-30"}`, `{"posting_date":"2026-10-02"}`, `{"posting_date":20260930}`},
				[]string{`{"posting_date":"2026-10-01"}`, `{"invoice_date":"2026-09-12"}`}},
			{models.SupplierNotFound, "link_supplier", map[string]string{"supplier_id": "V-2"},
				[]string{`{"supplier_id":"V-1"}`, `{"vendor":"V-1"}`, `{"supplier_id":"V-3"}`}, []string{`{"supplier_id":"V-2"}`, `{"text":"V-12"}`}},
			{models.POClosed, "use_other_po", map[string]string{"po_id": "PO-2"}, []string{`{"order":{"no":"PO-1"}}`, `{"po_id":"PO-1"}`}, []string{`{"po_id":"PO-2"}`, `{}`}},
			{models.InvoiceNotFound, "correct_id", map[string]string{"invoice_id": "other"}, []string{`{"ref":"OLD"}`, `{"invoice_id":"OLD"}`}, []string{`{"invoice_id":"other"}`}},
		} {
			for i, arguments := range slices.Concat(story.refused, story.ok) {
				n++
				id := fmt.Sprintf("stale-%d", n)
				in := c.stop(id, story.code, `{}`)
				in.Reason = models.ReasonRetryExhausted
				in.Invoice.SupplierID, in.Invoice.PoID = "V-1", "PO-1"
				in.Errors[0].Arguments = json.RawMessage(`{"posting_date":"2026-09-30"}`)
				in.ProposedCalls = []models.Call{{Tool: "post_invoice_adjustment", Arguments: json.RawMessage(strings.ReplaceAll(arguments, "OLD", id))}}
				caseID := c.file(in).CaseID
				decider := map[models.Code]models.Principal{models.GRMissing: c.clara, models.PeriodClosed: c.fiona, models.SupplierNotFound: c.mara, models.POClosed: c.petra, models.InvoiceNotFound: c.clara}[story.code]
				choose := func(p queue.ProposedInput) error {
					_, err := c.desk.Decide(t.Context(), decider, queue.DecideInput{CaseID: caseID, Exit: story.exit, Input: story.input, Reason: "x", Version: 1, Proposed: []queue.ProposedInput{p}})
					return err
				}
				typed := queue.ProposedInput{Amount: "12.00", Currency: "EUR", Summary: "Adjust."}
				h.proposed = nil
				if i < len(story.refused) {
					issueOn(t, choose(typed), "/proposed/0/summary")
					if v := c.get(decider, caseID); v.Status != models.CaseOpen || len(h.proposed) != 0 {
						t.Errorf("%s with %s: %s, asked for %d", story.exit, arguments, v.Status, len(h.proposed))
					}
					continue
				}
				if story.exit == "short_pay" {
					typed.Amount = "1234.50"
					issueOn(t, choose(typed), "/proposed/0/amount")
					typed.Amount = "90.00"
				}
				if story.exit == "post_next_period" {
					typed.PostingDate = "2026-09-30"
					issueOn(t, choose(typed), "/proposed/0/posting_date")
					typed.PostingDate = ""
				}
				if err := choose(typed); err != nil || len(h.proposed) != 1 {
					t.Errorf("%s with %s: %v, asked for %d", story.exit, arguments, err, len(h.proposed))
					continue
				}
				asked := h.proposed[0]
				got := map[string]string{"amount": asked.Amount.Text(), "posting_date": asked.PostingDate.String(), "supplier_id": asked.Invoice.SupplierID, "po_id": asked.Invoice.PoID, "invoice_id": asked.Invoice.ID}
				for name, want := range story.input {
					if got[name] != want {
						t.Errorf("%s is asked for with %s %q", story.exit, name, got[name])
					}
				}
			}
		}
	})
}

func TestWhatIsWrongWithAProposedCallComesBackOnItsField(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		h := &hook{}
		c.desk.UseApprovals(h)
		in := c.stop("i1", models.POClosed, `{}`)
		in.ProposedCalls = []models.Call{{Tool: "post_invoice_adjustment", Arguments: json.RawMessage(`{"invoice_id":"i1","amount":"50.00","currency":"EUR","posting_date":"2026-10-05"}`)},
			{Tool: "other_write", Arguments: json.RawMessage(`{"x":1}`)}}
		id := c.file(in).CaseID
		p := c.page(c.petra, id)
		if len(p.Proposed) != 2 || !p.Proposed[0].Bound || p.Proposed[0].Amount != "50.00" || p.Proposed[0].Currency != "EUR" || p.Proposed[0].PostingDate != "2026-10-05" || p.Proposed[1].Bound {
			t.Fatalf("offered: %+v", p.Proposed)
		}
		choose := func(exit string, calls ...queue.ProposedInput) error {
			_, err := c.desk.Decide(t.Context(), c.petra, queue.DecideInput{CaseID: id, Exit: exit, Reason: "x", Version: 1, Proposed: calls})
			return err
		}
		good := queue.ProposedInput{Index: 0, Amount: "50.00", Currency: "EUR", PostingDate: "2026-10-05", Summary: "Adjust the price."}
		issueOn(t, choose("reject_invoice", good), "/proposed")
		issueOn(t, choose("ask_agent", good), "/proposed")
		issueOn(t, choose("reopen_po", queue.ProposedInput{Index: 2, Amount: "1", Currency: "EUR", Summary: "x"}), "/proposed")
		issueOn(t, choose("reopen_po", good, good), "/proposed")
		for field, bad := range map[string]queue.ProposedInput{
			"amount": {Amount: "1e3", Currency: "EUR", Summary: "x"}, "currency": {Amount: "1", Currency: "XYZ", Summary: "x"},
			"posting_date": {Amount: "1", Currency: "EUR", Summary: "x", PostingDate: "2026-02-30"}, "summary": {Amount: "1", Currency: "EUR"},
			"document_type": {Amount: "1", Currency: "EUR", Summary: "x", DocumentType: strings.Repeat("x", 65)}} {
			issueOn(t, choose("reopen_po", bad), "/proposed/0/"+field)
		}
		h.err = models.Invalid(models.Issue{Path: "/amount", Message: "differs from the call"}, models.Issue{Path: "/invoice/id", Message: "differs"})
		issueOn(t, choose("reopen_po", good), "/proposed/0/amount")
		issueOn(t, choose("reopen_po", good), "/proposed/0/summary")
		h.err = models.E(models.PeriodClosed, "The books are closed.", nil)
		issueOn(t, choose("reopen_po", good), "/proposed/0/posting_date")
		if v := c.get(c.petra, id); v.Status != models.CaseOpen || v.Version != 1 {
			t.Errorf("a refused request leaves the decision behind: %+v", v)
		}
		h.err, h.proposed = nil, nil
		must(t, choose("reopen_po", good))
		v := c.get(c.agent, id)
		if v.Instruction.Kind != models.InstructResume || len(v.Resolution.ApprovalRequestIDs) != 1 || v.Resolution.ApprovalRequestIDs[0] != "areq_proposed" || len(h.proposed) != 1 {
			t.Fatalf("decided: %+v", v.Resolution)
		}
		if a := h.proposed[0].Agent; a.UserID != c.agent.UserID || a.OwnerID == "" || h.proposed[0].Invoice.ID != "i1" || string(h.proposed[0].Call.Arguments) == "" {
			t.Errorf("asked for %+v", h.proposed[0])
		}
	})
}
