package queue_test

import (
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// requestOf is an approval request as its side hands it to the queues.
func (c *cast) requestOf(id, invoiceID string) models.ApprovalRequest {
	return models.ApprovalRequest{ID: id, WorkspaceID: "1000", Status: models.RequestPending, InvoiceID: invoiceID, Tool: "post_invoice_adjustment",
		Amount: "1234.50", Currency: "EUR", Explanation: "The price differs.", RunID: "run-9", AskerID: c.agent.UserID, AskerName: c.agent.UserName}
}

// in runs fn as somebody in one transaction.
func (c *cast) in(by models.Principal, fn func(tx *models.Tx) error) error {
	c.t.Helper()
	return c.store.InTx(c.t.Context(), by, fn)
}

func TestAQuestionAboutARequestIsAskedAnsweredAndClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		r := c.requestOf("areq_1", "i1")
		ask := func(by models.Principal, caseID, question string) (id string, err error) {
			err = c.in(by, func(tx *models.Tx) error {
				id, err = c.desk.AskAgent(tx, r, c.invoice("i1"), caseID, question)
				return err
			})
			return id, err
		}
		_, err := ask(c.fiona, "", "  ")
		issueOn(t, err, "/question")
		id, err := ask(c.fiona, "", "Is freight included?")
		must(t, err)
		v := c.get(c.agent, id)
		if v.Queue != models.QueueFinance || v.Code != nil || v.Reason != models.ReasonOther || v.Status != models.CaseOpen || v.Instruction == nil ||
			v.Instruction.Kind != models.InstructResume || v.Instruction.Question != "Is freight included?" || v.Instruction.Input["case_id"] != id {
			t.Fatalf("the agent sees %+v with %+v", v, v.Instruction)
		}
		p, err := c.desk.Page(t.Context(), c.fiona, id)
		must(t, err)
		if len(p.Exits) != 0 || p.RequestID != r.ID {
			t.Errorf("while a question waits the page offers %v, request %s", p.Exits, p.RequestID)
		}
		_, err = ask(c.fiona, id, "And again?")
		if ne := refusal(t, err, models.Conflict); ne.Details["reason"] != "question_waits" {
			t.Errorf("a second question: %+v", ne)
		}

		_, err = c.desk.Answer(t.Context(), c.agent, answer(id, "Yes, on page 2."), models.Idempotency{})
		must(t, err)
		if v := c.get(c.agent, id); v.Instruction != nil || v.Handovers[1].Answer != "Yes, on page 2." {
			t.Errorf("after the answer: %+v", v)
		}
		told, _, err := c.store.Notices(t.Context(), c.fiona, "")
		must(t, err)
		if len(told) != 1 || told[0].Kind != queue.NoticeAnswered || told[0].Subject != r.ID {
			t.Errorf("who asked about the request is told %+v", told)
		}
		p, err = c.desk.Page(t.Context(), c.fiona, id)
		must(t, err)
		if len(p.Exits) != 1 || p.Exits[0].Code != "ask_agent" {
			t.Errorf("a case for questions offers only to ask: %+v", p.Exits)
		}
		_, err = c.choose(c.fiona, id, "close", nil, "Enough.")
		issueOn(t, err, "/exit")
		if v := c.decide(c.fiona, id, "ask_agent", map[string]string{"question": "Which page?"}, ""); v.Instruction.Input["case_id"] != id {
			t.Errorf("asked on the case's page: %+v", v.Instruction)
		}

		for range 2 { // the second time it is closed already
			must(t, c.in(models.System("1000"), func(tx *models.Tx) error { return c.desk.CloseQuestion(tx, id, "The request expired.") }))
		}
		v = c.get(c.agent, id)
		if v.Status != models.CaseResolved || v.Resolution.Exit != "close" || v.Resolution.DecidedBy != "apdesk" || v.Instruction.Kind != models.InstructResume ||
			v.Instruction.Input["request_id"] != r.ID || v.Instruction.Note != "The request expired." || v.Instruction.Question != "" {
			t.Errorf("closed: %+v, told %+v", v.Resolution, v.Instruction)
		}
		again, err := ask(c.lena, id, "One more?")
		must(t, err)
		if v := c.get(c.agent, again); again == id || v.Queue != models.QueueAP || v.Instruction.Question != "One more?" {
			t.Errorf("a question after the case was closed opens another: %+v", v)
		}
	})
}

func TestARevokedApprovalIsReviewedByAnAPLead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		r := c.requestOf("areq_1", "i1")
		open := func() (id string) {
			must(t, c.in(c.adam, func(tx *models.Tx) error {
				var err error
				id, err = c.desk.OpenReview(tx, r, c.invoice("i1"), "Fiona left and her approval was not used yet.")
				return err
			}))
			return id
		}
		id := open()
		if again := open(); again != id {
			t.Errorf("two cases for one approval: %s and %s", id, again)
		}
		p, err := c.desk.Page(t.Context(), c.lena, id)
		must(t, err)
		if p.Case.Queue != models.QueueAPLead || p.Case.Code != nil || p.RequestID != r.ID || len(p.Marks) != 1 || !contains(p.Marks[0].Text, "Fiona left") || len(p.Exits) == 0 {
			t.Errorf("the lead sees %+v", p)
		}
		if v := c.decide(c.lena, id, "close", nil, "Asked anew."); v.Status != models.CaseResolved {
			t.Errorf("reviewed: %+v", v)
		}
	})
}

func TestACaseIsClosedWhenItsRequestIsRoutedElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		r := c.requestOf("areq_1", "i1")
		var id string
		must(t, c.in(c.agent, func(tx *models.Tx) error {
			var err error
			id, err = c.desk.OpenUnrouted(tx, r, c.invoice("i1"), seen(models.ApproverNotFound, "request_approval", "", `{}`))
			return err
		}))
		_, err := c.desk.Claim(t.Context(), c.lena, id)
		must(t, err)
		for range 2 {
			must(t, c.in(c.lena, func(tx *models.Tx) error {
				return c.desk.CloseRouted(tx, id, r.ID, "matrix_fixed", "Routed by the rule changed on another case.")
			}))
		}
		v := c.get(c.agent, id)
		if v.Status != models.CaseResolved || v.ClaimedBy != nil || v.Resolution.Exit != "matrix_fixed" || v.Resolution.DecidedBy != "Lena" || v.Instruction.Kind != models.InstructResume ||
			v.Instruction.Input["request_id"] != r.ID || len(v.Resolution.ApprovalRequestIDs) != 1 {
			t.Errorf("closed: %+v, told %+v", v.Resolution, v.Instruction)
		}
		must(t, c.in(c.lena, func(tx *models.Tx) error {
			return c.desk.CloseRouted(tx, "case_unknown", r.ID, "matrix_fixed", "x")
		}))
	})
}

func answer(caseID, text string) queue.AnswerInput {
	return queue.AnswerInput{CaseID: caseID, Answer: text, RunID: "run-9"}
}
