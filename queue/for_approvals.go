package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// CloseRouted resolves the APPROVER_NOT_FOUND case of a request that is routed by what somebody
// decided elsewhere: the agent goes on waiting for the request. exit says by which decision, note what
// it was. A case that is not there or resolved already stays as it is.
func (s *Service) CloseRouted(tx *models.Tx, caseID, requestID, exit, note string) error {
	in := models.Instruction{Kind: models.InstructResume, Input: map[string]any{"request_id": requestID}, Note: note}
	return closeFor(tx, caseID, requestID, exit, note, in)
}

// CloseQuestion resolves the case for questions about a request that is decided. Whoever asked for the
// request reads with get_approval what became of it.
func (s *Service) CloseQuestion(tx *models.Tx, caseID, note string) error {
	in := models.Instruction{Kind: models.InstructResume, Note: note}
	return closeFor(tx, caseID, "", exitClose, note, in)
}

// closeFor resolves a case in the name of whoever acts on the request behind it, whoever holds it.
func closeFor(tx *models.Tx, caseID, requestID, exit, note string, in models.Instruction) error {
	c, err := lockCase(tx, caseID)
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	if err != nil || c.Status == models.CaseResolved {
		return err
	}
	if requestID == "" && c.RequestID != nil {
		requestID = *c.RequestID
		in.Input = map[string]any{"request_id": requestID}
	}
	text, err := toJSON(in)
	if err != nil {
		return err
	}
	next := withdrawn(c, tx.Now) // resolved and free, whoever held it
	next.Instruction = &text
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if c.Status == models.CaseHeld {
		if err := tx.Unschedule(JobReturn, c.ID); err != nil {
			return err
		}
	}
	ids, err := toJSON(slices.DeleteFunc([]string{requestID}, func(id string) bool { return id == "" }))
	if err != nil {
		return err
	}
	d := models.Decision{ID: tx.NewID(models.PrefixDecision), WorkspaceID: c.WorkspaceID, CaseID: c.ID, InvoiceID: c.InvoiceID, Exit: exit,
		InstructionKind: in.Kind, Instruction: next.Instruction, Input: "{}", Reason: note, DecidedByID: actor(tx.By), DecidedByName: tx.By.UserName,
		Role: roleIn(tx.By, c.Queue), CaseVersion: c.Version, ApprovalRequestIDs: ids, DecidedAt: tx.Now}
	if err := tx.DB.Create(&d).Error; err != nil {
		return err
	}
	if err := tx.IndexDecision(d.ID); err != nil {
		return err
	}
	ref := c.Ref()
	ref.ApprovalRequestID = requestID
	return tx.Audit("case.resolved", ref, map[string]any{"version": next.Version, "exit": exit, "note": note})
}

// actor is who decides, nil for the desk itself.
func actor(by models.Principal) *string {
	if by.UserID == "" {
		return nil
	}
	return &by.UserID
}

// OpenReview opens a case for an AP lead about an approval that was revoked because of who gave it, or
// joins the one open for the same request, and answers its id.
func (s *Service) OpenReview(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, why string) (string, error) {
	c, err := s.openAbout(tx, request, invoice, about{purpose: "review", queue: models.QueueAPLead,
		explanation: why, mark: Mark{MarkReview, "An approval was revoked because of who gave it. " + why}})
	return c.ID, err
}

// AskAgent puts a person's question about a request to the account that filed it. It stands on the
// request's case for questions, which opens when caseID names none that is open; the case's id is the
// answer. It fails with VALIDATION_ERROR on /question, and CONFLICT while an earlier question waits.
func (s *Service) AskAgent(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, caseID, question string) (string, error) {
	question, why := models.NeededText(question, maxLongText, "must be filled in")
	if why != "" {
		return "", models.Invalid(models.Issue{Path: "/question", Message: why})
	}
	c, err := s.openForQuestions(tx, request, invoice, caseID)
	if err != nil {
		return "", err
	}
	if waiting := questionOf(c); waiting != "" {
		return "", models.E(models.Conflict, "A question about this request waits for the agent's answer already: "+waiting,
			map[string]any{"reason": "question_waits", "case_id": c.ID, "request_id": request.ID})
	}
	values := map[string]string{"question": question}
	next := decided(c, askAgent, tx.By, models.Date{}, tx.Now)
	text, err := toJSON(instructionFor(c, askAgent, values))
	if err != nil {
		return "", err
	}
	next.Instruction = &text
	if err := replace(tx, c, next); err != nil {
		return "", err
	}
	if err := remember(tx, c, next, askAgent, values, "", []string{request.ID}); err != nil {
		return "", err
	}
	return c.ID, tx.Audit("case.decided", requestRef(tx, c), map[string]any{"exit": exitAskAgent, "version": next.Version, "queue": c.Queue, "input": values})
}

func (s *Service) openForQuestions(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, caseID string) (models.Case, error) {
	if caseID != "" {
		c, err := lockCase(tx, caseID)
		if err != nil || c.Status != models.CaseResolved {
			return c, err
		}
	}
	return s.openAbout(tx, request, invoice, about{purpose: "question", queue: homeQueue(tx.By), explanation: request.Explanation,
		mark: Mark{MarkQuestions, "Questions about an approval request stand here. The request itself is decided on its own page."}})
}

// homeQueue is where a person's questions about requests stand: finance for finance leads, else the
// first queue they work.
func homeQueue(by models.Principal) models.Queue {
	if by.Has(models.RoleFinanceLead) {
		return models.QueueFinance
	}
	for _, q := range models.Queues() {
		if works(by, q) {
			return q
		}
	}
	return models.QueueFinance
}

// about says what a case about an approval request is for.
type about struct {
	purpose     string
	queue       models.Queue
	explanation string
	mark        Mark
}

// openAbout opens a case about an approval request in the name of the account that filed it, or finds
// the one open for the same purpose. It has no code, since the agent met no error.
func (s *Service) openAbout(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, a about) (models.Case, error) {
	invoice, err := withAmount(invoice, request)
	if err != nil {
		return models.Case{}, err
	}
	f, err := newFiling(HandoverInput{RunID: request.RunID, Reason: models.ReasonOther, Invoice: invoice, Explanation: a.explanation}, "", -1)
	if err != nil {
		return models.Case{}, err
	}
	f.key = aboutKey(a.purpose, request.ID)
	f.marks, f.requestID = []Mark{a.mark}, request.ID
	f.agentID, f.agentName = request.AskerID, request.AskerName
	var open []models.Case
	// The state stands in the text, because the partial index is found only by a constant.
	err = tx.Lock().Where("workspace_id = ? AND join_key = ? AND status <> 'resolved'", tx.By.WorkspaceID, f.key).Limit(1).Find(&open).Error
	if err != nil || len(open) == 1 {
		return append(open, models.Case{})[0], err
	}
	d, err := s.deskFor(tx, "")
	if err != nil {
		return models.Case{}, err
	}
	c, err := newCase(tx, f, d)
	if err != nil {
		return c, err
	}
	c.Queue, c.DueAt = a.queue, d.due(tx.Now, a.queue)
	if err := tx.DB.Create(&c).Error; err != nil {
		return c, err
	}
	if err := addHandover(tx, c.ID, kindHandover, f); err != nil {
		return c, err
	}
	if err := watch(tx, c); err != nil {
		return c, err
	}
	tx.Notify(models.TopicCase(c.ID), models.TopicQueues(c.WorkspaceID))
	ref := c.Ref()
	ref.ApprovalRequestID = request.ID
	return c, tx.Audit("case.opened", ref, map[string]any{"queue": c.Queue, "code": c.Code, "reason": c.Reason, "version": c.Version, "about_request": request.ID, "purpose": a.purpose})
}

// aboutKey lets one case be open per request and purpose.
func aboutKey(purpose, requestID string) string {
	sum := sha256.Sum256([]byte("about\x00" + purpose + "\x00" + requestID))
	return hex.EncodeToString(sum[:])
}

// withAmount gives an invoice whose total nobody sent the amount asked for.
func withAmount(invoice models.Invoice, request models.ApprovalRequest) (models.Invoice, error) {
	if !invoice.Amount.IsZero() {
		return invoice, nil
	}
	amount, err := models.ParseMoney(request.Amount, request.Currency)
	if err != nil {
		return invoice, fmt.Errorf("queue: amount of %s: %w", request.ID, err)
	}
	invoice.Amount = amount
	return invoice, nil
}

// forQuestions says whether a case stands for questions about an approval request, which is decided on
// its own page.
func forQuestions(c models.Case) bool {
	return slices.ContainsFunc(marksIn(c.Marks), func(m Mark) bool { return m.Kind == MarkQuestions })
}

// instructionFor is instructionOf for a case: it names the request or the case with which the agent
// goes on.
func instructionFor(c models.Case, e Exit, values map[string]string) *models.Instruction {
	requestID := ""
	if c.RequestID != nil {
		requestID = *c.RequestID
	}
	in := instructionOf(e, values, requestID)
	if in != nil && e.effect == effectAsk && forQuestions(c) {
		in.Input = map[string]any{"case_id": c.ID}
	}
	return in
}

// requestRef points an event at a case and, when the case is about an approval request, at that too;
// whoever looks at the request is woken.
func requestRef(tx *models.Tx, c models.Case) models.Ref {
	ref := c.Ref()
	if c.RequestID != nil {
		ref.ApprovalRequestID = *c.RequestID
		tx.Notify(models.TopicRequest(*c.RequestID))
	}
	return ref
}
