package queue_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

var discard = slog.New(slog.DiscardHandler)

func TestHandoverOpensACaseWhereItsCodeIsWorked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for code, want := range map[models.Code]models.Queue{
			models.POClosed: models.QueueProcurement, models.DuplicateInvoice: models.QueueAP, models.ApproverNotFound: models.QueueAPLead,
			models.PeriodClosed: models.QueueFinance, models.InvoiceNotFound: models.QueueAP, models.PONotFound: models.QueueAP, models.SupplierNotFound: models.QueueMasterData,
		} {
			out := c.file(c.stop("inv-"+string(code), code, `{"po_id":"1"}`))
			if out.Queue != want || !out.Created || out.Status != models.CaseOpen || out.Code == nil || *out.Code != code {
				t.Errorf("%s: got %+v, want queue %s", code, out, want)
			}
		}
		v := c.get(c.petra, c.file(c.stop("x", models.POClosed, `{}`)).CaseID)
		if v.Version != 1 || v.ClaimedBy != nil || v.Instruction != nil || v.Resolution != nil || len(v.Handovers) != 1 {
			t.Errorf("a new case: %+v", v)
		}
		if h := v.Handovers[0]; h.Agent != "agent-one" || h.RunID != "run-1" || h.Errors[0].Error.Code != models.POClosed || h.Explanation != "I stopped." {
			t.Errorf("the handover as it came: %+v", h)
		}
	})
}

func TestAWorkspaceMayWorkACodeElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			return tx.DB.Exec("INSERT INTO queue_routes (workspace_id, code, queue) VALUES ('1000', 'PO_CLOSED', 'ap')").Error
		}))
		if out := c.file(c.stop("i1", models.POClosed, `{}`)); out.Queue != models.QueueAP {
			t.Errorf("got queue %s", out.Queue)
		}
	})
}

func TestTheSameStopJoinsItsUnresolvedCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		first := c.file(c.stop("i1", models.POClosed, `{"po_id":"4500018822","a":1}`))
		again := c.stop("i1", models.POClosed, ` { "a" : 1, "po_id": "4500018822" } `)
		again.Invoice.Number = "inv i1" // the same number to a person
		second, err := c.desk.HandOver(t.Context(), c.other, again, models.Idempotency{})
		must(t, err)
		if second.Created || second.CaseID != first.CaseID {
			t.Fatalf("want a join of %s, got %+v", first.CaseID, second)
		}
		v := c.get(c.petra, first.CaseID)
		if v.Version != 2 || len(v.Handovers) != 2 || v.Handovers[1].Agent != "agent-two" {
			t.Errorf("after the join: version %d, %d handovers", v.Version, len(v.Handovers))
		}
		c.get(c.other, first.CaseID) // who joined may read
		for name, other := range map[string]queue.HandoverInput{
			"other details": c.stop("i1", models.POClosed, `{"po_id":"4500018823"}`),
			"other code":    c.stop("i1", models.PONotFound, `{"po_id":"4500018822","a":1}`),
			"other invoice": c.stop("i2", models.POClosed, `{"po_id":"4500018822","a":1}`),
		} {
			if out := c.file(other); !out.Created {
				t.Errorf("%s: joined %s", name, out.CaseID)
			}
		}
		c.decide(c.petra, first.CaseID, "reopen_po", nil, "Reopened.")
		if out := c.file(c.stop("i1", models.POClosed, `{"po_id":"4500018822","a":1}`)); !out.Created {
			t.Error("a resolved case takes no joins")
		}
		if got, want := c.actions(first.CaseID), []string{"case.opened", "case.joined", "case.claimed", "case.decided", "case.resolved"}; !slices.Equal(got, want) {
			t.Errorf("trail %v, want %v", got, want)
		}
	})
}

func TestSixteenHandoversAtOnceOpenOneCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var wg sync.WaitGroup
		results := make([]queue.HandoverResult, 16)
		errs := make([]error, 16)
		for i := range 16 {
			wg.Go(func() {
				results[i], errs[i] = c.desk.HandOver(t.Context(), c.agent, c.stop("i1", models.POClosed, `{"po_id":"1"}`), models.Idempotency{})
			})
		}
		wg.Wait()
		created := 0
		for i, out := range results {
			must(t, errs[i])
			if out.Created {
				created++
			}
			if out.CaseID != results[0].CaseID {
				t.Errorf("two cases: %s and %s", out.CaseID, results[0].CaseID)
			}
		}
		v := c.get(c.petra, results[0].CaseID)
		if created != 1 || len(v.Handovers) != 16 || v.Version != 16 {
			t.Errorf("%d created, %d handovers, version %d", created, len(v.Handovers), v.Version)
		}
	})
}

func TestAnIdempotencyKeyReplaysTheFirstAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", models.POClosed, `{}`)
		key := models.Idempotency{Key: "k", BodyHash: "a"}
		first, err := c.desk.HandOver(t.Context(), c.agent, in, key)
		must(t, err)
		twin, err := c.desk.HandOver(t.Context(), c.agent, in, key)
		must(t, err)
		if !twin.Created || twin.CaseID != first.CaseID {
			t.Errorf("replayed %+v, first was %+v", twin, first)
		}
		if v := c.get(c.petra, first.CaseID); len(v.Handovers) != 1 {
			t.Errorf("%d handovers", len(v.Handovers))
		}
		_, err = c.desk.HandOver(t.Context(), c.agent, in, models.Idempotency{Key: "k", BodyHash: "b"})
		refused(t, err, models.Conflict)
		out, err := c.desk.HandOver(t.Context(), c.other, in, key)
		must(t, err)
		if out.Created {
			t.Error("another account's key is its own, and its handover joins")
		}
	})
}

func TestTheDeskTeachesTheBetterStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for code, next := range map[models.Code]models.NextAction{
			models.GRMissing: models.HoldAndRecheck, models.ApprovalMissing: models.RequestApproval, models.ToleranceExceeded: models.RequestApproval,
		} {
			_, err := c.desk.HandOver(t.Context(), c.agent, c.stop("i1", code, `{}`), models.Idempotency{})
			if ne := refusal(t, err, models.Unprocessable); ne.NextAction != next {
				t.Errorf("%s: next action %s, want %s", code, ne.NextAction, next)
			}
			in := c.stop("i-"+string(code), code, `{}`)
			in.Reason = models.ReasonLoopDetected
			if out := c.file(in); out.Queue != models.QueueAP {
				t.Errorf("%s after a loop: queue %s", code, out.Queue)
			}
		}
		// The last of the ten decides, not what comes after it.
		in := c.stop("i9", models.GRMissing, `{}`)
		in.Errors = append(in.Errors, seen("TIMEOUT", "get_invoice", `{}`, `{}`))
		_, err := c.desk.HandOver(t.Context(), c.agent, in, models.Idempotency{})
		refused(t, err, models.Unprocessable)
	})
}

func TestHandoversWithoutOneOfTheTenCodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", "TIMEOUT", `{}`)
		out := c.file(in)
		if out.Code != nil || out.Queue != models.QueueAP {
			t.Errorf("routed to %s with code %v", out.Queue, out.Code)
		}
		in = c.stop("i2", "TIMEOUT", `{}`)
		in.Escalate = true
		if out := c.file(in); out.Queue != models.QueueFinance {
			t.Errorf("escalated to %s", out.Queue)
		}
		_, err := c.desk.HandOver(t.Context(), c.agent, queue.HandoverInput{Reason: models.ReasonNamedError, Invoice: c.invoice("i3")}, models.Idempotency{})
		issueOn(t, err, "/errors")
		if out := c.file(queue.HandoverInput{Reason: models.ReasonOther, Invoice: c.invoice("i4")}); out.Queue != models.QueueAP {
			t.Errorf("other went to %s", out.Queue)
		}
	})
}

func TestWhatIntakeMarks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		kinds := func(in queue.HandoverInput) []string {
			p, err := c.desk.Page(t.Context(), c.clara, c.file(in).CaseID)
			must(t, err)
			var out []string
			for _, m := range p.Marks {
				out = append(out, m.Kind)
			}
			return out
		}
		once := c.stop("i1", models.PONotFound, `{}`)
		if got := kinds(once); !slices.Equal(got, []string{queue.MarkNoRetry}) {
			t.Errorf("one try: %v", got)
		}
		twice := c.stop("i2", models.PONotFound, `{}`)
		twice.Errors = append(twice.Errors, seen(models.PONotFound, "get_purchase_order", `{"po_id":"4500018823"}`, `{}`))
		if got := kinds(twice); len(got) != 0 {
			t.Errorf("a corrected retry: %v", got)
		}
		same := c.stop("i3", models.PONotFound, `{}`)
		same.Errors = append(same.Errors, seen(models.PONotFound, "get_purchase_order", `{ "po_id" : "4500018822" }`, `{}`))
		if got := kinds(same); !slices.Equal(got, []string{queue.MarkNoRetry}) {
			t.Errorf("an identical retry: %v", got)
		}
		odd := c.stop("i4", models.POClosed, `{}`)
		odd.Explanation, odd.Suggestion = "  ", &queue.Suggestion{Exit: "pay_it"}
		odd.Errors = append([]models.SeenError{seen("TIMEOUT", "x", `{}`, `{}`)}, odd.Errors...)
		if got := kinds(odd); !slices.Equal(got, []string{queue.MarkNoExplanation, queue.MarkUnknownExit, queue.MarkUnknownCode}) {
			t.Errorf("an odd handover: %v", got)
		}
	})
}

func TestWhoMayHandOverAndRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", models.POClosed, `{}`)
		narrow := c.agent
		narrow.Scopes = []models.Scope{models.ScopeCasesRead}
		_, err := c.desk.HandOver(t.Context(), narrow, in, models.Idempotency{})
		refused(t, err, models.InsufficientScope)
		_, err = c.desk.HandOver(t.Context(), c.erp, in, models.Idempotency{})
		refused(t, err, models.InsufficientPermission)
		id := c.file(in).CaseID
		for _, by := range []models.Principal{c.clara, c.lena, c.petra, c.aude, c.adam, c.agent, onToken(c.clara)} {
			c.get(by, id)
		}
		for _, by := range []models.Principal{c.other, c.erp, c.stranger} {
			_, err := c.desk.Get(t.Context(), by, id)
			refused(t, err, models.NotFound)
		}
		blind := onToken(c.clara)
		blind.Scopes = []models.Scope{models.ScopeHoldsRead}
		_, err = c.desk.Get(t.Context(), blind, id)
		refused(t, err, models.InsufficientScope)
	})
}

func TestADueTimeKeepsBusinessHours(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		// Monday 11:00 in Berlin: 16 business hours end on Wednesday at 11:00; Tuesday off moves it on.
		v := c.get(c.petra, c.file(c.stop("i1", models.POClosed, `{}`)).CaseID)
		if got := v.DueAt.String(); got != "2026-10-07T09:00:00Z" {
			t.Errorf("due %s", got)
		}
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			day, err := models.ParseDate("2026-10-06")
			must(t, err)
			return tx.AddHolidays(day)
		}))
		v = c.get(c.petra, c.file(c.stop("i2", models.POClosed, `{}`)).CaseID)
		if got := v.DueAt.String(); got != "2026-10-08T09:00:00Z" {
			t.Errorf("over a holiday due %s", got)
		}
	})
}

func TestAPairJudgedNotDuplicateIsNotRaisedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("5105600105", models.DuplicateInvoice, `{"duplicate_of":"5105600001"}`)).CaseID
		c.decide(c.clara, id, "not_duplicate", nil, "Another year.")
		for _, in := range []queue.HandoverInput{
			c.stop("5105600105", models.DuplicateInvoice, `{"duplicate_of":"5105600001","score":2}`),
			c.stop("5105600001", models.DuplicateInvoice, `{"duplicate_of":"5105600105"}`),
		} {
			out, err := c.desk.HandOver(t.Context(), c.other, in, models.Idempotency{})
			must(t, err)
			if out.Created || out.CaseID != id || out.Status != models.CaseResolved || out.Instruction == nil || out.Instruction.Kind != models.InstructResume {
				t.Errorf("want the verdict of %s, got %+v", id, out)
			}
		}
		if v := c.get(c.other, id); len(v.Handovers) != 3 {
			t.Errorf("%d handovers kept", len(v.Handovers))
		}
		if out := c.file(c.stop("5105600105", models.DuplicateInvoice, `{"duplicate_of":"5105600002"}`)); !out.Created {
			t.Error("another pair is another question")
		}
		unnamed := c.file(c.stop("7", models.DuplicateInvoice, `{}`))
		c.decide(c.clara, unnamed.CaseID, "not_duplicate", nil, "No.")
		if out := c.file(c.stop("7", models.DuplicateInvoice, `{}`)); !out.Created {
			t.Error("without the other invoice nothing is remembered")
		}
	})
}

func TestAnAgentAnswersAPersonsQuestion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.PONotFound, `{}`)).CaseID
		_, err := c.desk.Answer(t.Context(), c.agent, queue.AnswerInput{CaseID: id, Answer: "?"}, models.Idempotency{})
		refused(t, err, models.Conflict)

		v := c.decide(c.clara, id, "ask_agent", map[string]string{"question": "Who ordered this?"}, "")
		if v.Status != models.CaseOpen || v.Version != 2 || v.Instruction == nil || v.Instruction.Kind != models.InstructResume || v.Instruction.Question != "Who ordered this?" || v.Resolution != nil {
			t.Fatalf("after the question: %+v", v)
		}
		if v.ClaimedBy == nil || *v.ClaimedBy != "Clara" {
			t.Error("who asks keeps the case")
		}
		_, err = c.choose(c.clara, id, "ask_agent", map[string]string{"question": "And when?"}, "")
		issueOn(t, err, "/exit")
		_, err = c.desk.Answer(t.Context(), c.other, queue.AnswerInput{CaseID: id, Answer: "Me."}, models.Idempotency{})
		refused(t, err, models.NotFound)

		out, err := c.desk.Answer(t.Context(), c.agent, queue.AnswerInput{CaseID: id, Answer: "Maintenance did.", RunID: "run-2"}, models.Idempotency{Key: "a", BodyHash: "a"})
		must(t, err)
		if out.Created || out.CaseID != id || out.Status != models.CaseOpen {
			t.Errorf("answered %+v", out)
		}
		told, _, err := c.store.Notices(t.Context(), c.clara, "")
		must(t, err)
		if len(told) != 1 || told[0].Kind != queue.NoticeAnswered || told[0].Subject != id {
			t.Errorf("who asked is told %+v", told)
		}
		p, err := c.desk.Page(t.Context(), c.clara, id)
		must(t, err)
		if p.Case.Instruction != nil || p.Case.Version != 3 || p.Question != "" {
			t.Errorf("after the answer: %+v", p.Case)
		}
		if h := p.Case.Handovers[1]; h.Answer != "Maintenance did." || h.Question != "Who ordered this?" {
			t.Errorf("the answer on the page: %+v", h)
		}
		c.decide(c.clara, id, "treat_as_non_po", nil, "Maintenance confirmed it.")
	})
}

func TestALongPollEndsWhenAPersonDecides(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		v, err := c.desk.Await(t.Context(), c.agent, id, 0)
		must(t, err)
		if v.Instruction != nil {
			t.Fatalf("nothing is decided yet: %+v", v.Instruction)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := make(chan queue.CaseView, 1)
		agent := modelstest.WithToken(t, c.store, c.agent)
		go func() {
			v, err := c.desk.Await(ctx, agent, id, 50*time.Second)
			if err != nil {
				t.Errorf("await: %v", err)
			}
			got <- v
		}()
		c.decide(c.petra, id, "use_other_po", map[string]string{"po_id": "4500018804"}, "The follow-on order.")
		v = <-got
		if v.Instruction == nil || v.Instruction.Kind != models.InstructRetryWith || v.Instruction.Input["po_id"] != "4500018804" {
			t.Errorf("the agent is told %+v", v.Instruction)
		}
		_, err = c.desk.Await(t.Context(), c.other, id, time.Minute)
		refused(t, err, models.NotFound)
	})
}

func TestTaxAndBankDataIsForThoseItIsFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", models.SupplierNotFound, `{"iban":"DE02120300000000202051"}`)
		in.Explanation = "The account DE02120300000000202051 is new."
		in.Evidence = append(in.Evidence, []byte(`{"kind":"table","title":"t","columns":["Tax ID","Name"],"rows":[["DE123456789","Nordwind"]]}`))
		id := c.file(in).CaseID
		for _, by := range []models.Principal{c.mara, c.fiona, c.aude, c.agent} {
			v := c.get(by, id)
			text := asText(t, v)
			if !contains(text, "DE123456789", "DE02120300000000202051") {
				t.Errorf("%s must see the data: %s", by.UserName, text)
			}
		}
		for _, by := range []models.Principal{c.clara, c.lena, c.petra, c.adam, onToken(c.clara)} {
			p, err := c.desk.Page(t.Context(), by, id)
			must(t, err)
			text := asText(t, p.Case) + asText(t, c.get(by, id))
			if contains(text, "DE123456789") || contains(text, "DE02120300000000202051") || !contains(text, "Nordwind", "1234.50") || !p.Hidden {
				t.Errorf("%s must not see the data: %s", by.UserName, text)
			}
			list, err := c.desk.List(t.Context(), by, queue.Filter{})
			must(t, err)
			if contains(asText(t, list), "DE123456789") {
				t.Errorf("%s must not see it in a list", by.UserName)
			}
		}
	})
}
