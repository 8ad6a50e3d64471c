package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// Operations that remember idempotency keys. Those exported have a core that works in the caller's
// transaction, so that the caller can remember their answer itself.
const (
	opHandover = "handover"
	opAnswer   = "handover.answer"
	opHold     = "hold"
	opRecheck  = "hold.recheck"
	opLease    = "hold.lease"

	OpWithdrawCase = "case.withdraw"
	OpCancelHold   = "hold.cancel"
)

// Kinds of handover rows.
const (
	kindHandover = "handover"
	kindAnswer   = "answer"
)

// HandOver files an agent's stop as a case, or joins it to the unresolved case of the same stop. A
// pair of invoices already judged not to be duplicates is answered with that verdict. It fails with
// UNPROCESSABLE_ENTITY when the code has a better next step than a person (its next_action says which),
// VALIDATION_ERROR, insufficient_scope, insufficient_permission, or CONFLICT for an idempotency key
// used with another body.
func (s *Service) HandOver(ctx context.Context, by models.Principal, in HandoverInput, idem models.Idempotency) (HandoverResult, error) {
	if err := mayFile(by, models.ScopeCasesWrite); err != nil {
		return HandoverResult{}, err
	}
	if !slices.Contains(models.HandoverReasons(), in.Reason) {
		return HandoverResult{}, models.Invalid(models.Issue{Path: "/reason", Message: "must be named_error, retry_exhausted, loop_detected, budget_exhausted or other"})
	}
	if in.Reason == models.ReasonNamedError && len(in.Errors) == 0 {
		return HandoverResult{}, models.Invalid(models.Issue{Path: "/errors", Message: "must hold the error met when the reason is named_error"})
	}
	code, at := lastOutcome(in.Errors)
	if refusal := teach(in.Reason, code, in.Escalate); refusal != nil {
		return HandoverResult{}, s.refused(ctx, by, "handover.refused", models.Ref{InvoiceID: in.Invoice.ID}, refusal)
	}
	f, err := newFiling(in, code, at)
	if err != nil {
		return HandoverResult{}, err
	}
	f.agentID, f.agentName = by.UserID, by.UserName
	var out HandoverResult
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		out, err = models.Once(tx, opHandover, idem, func() (HandoverResult, error) {
			out, err := s.file(tx, f)
			if err == nil {
				err = tx.UseFiles(out.CaseID, in.Evidence)
			}
			if err != nil || f.code == models.InvoiceNotFound {
				return out, err // an id that the ERP does not know names no invoice to remember
			}
			return out, tx.SeeInvoice(f.invoice, "")
		})
		return err
	})
	return out, err
}

// mayFile checks scope and role of a caller that hands something in.
func mayFile(by models.Principal, scope models.Scope) error {
	if err := by.NeedScope(scope); err != nil {
		return err
	}
	return by.NeedRole(models.RoleAgent)
}

// filing is one handover with everything computed that needs no database, so that the transaction
// does little more than write.
type filing struct {
	code        models.Code
	reason      models.HandoverReason
	escalate    bool
	invoice     models.Invoice
	invoiceJSON string
	number      string // normalised
	key         string
	marks       []Mark
	duplicateOf string
	saidCase    string // case and request an APPROVER_NOT_FOUND names, as the agent says
	saidRequest string
	requestID   string // request and hold behind the case, as the desk knows
	holdID      string
	runID       string
	agentID     string
	agentName   string
	body        string
}

func newFiling(in HandoverInput, code models.Code, at int) (filing, error) {
	sent, err := invoiceText(in.Invoice)
	if err != nil {
		return filing{}, err
	}
	body := in.Body
	if len(body) == 0 {
		if body, err = bodyOf(in, sent); err != nil {
			return filing{}, err
		}
	}
	f := filing{
		code: code, reason: in.Reason, escalate: in.Escalate, invoice: in.Invoice, invoiceJSON: sent,
		number: models.NormaliseNumber(in.Invoice.Number), key: joinKey(code, in.Invoice, lastDetails(in.Errors)),
		marks: marksOf(in, code, at), runID: in.RunID, body: string(body),
	}
	if at >= 0 {
		details := in.Errors[at].Error.Details
		switch code {
		case models.DuplicateInvoice:
			f.duplicateOf = detail(details, "duplicate_of")
		case models.ApproverNotFound:
			f.saidCase, f.saidRequest = detail(details, "case_id"), detail(details, "request_id")
		}
	}
	return f, nil
}

// invoiceText is the invoice as sent; one that came without its text is written from its fields.
func invoiceText(inv models.Invoice) (string, error) {
	if len(inv.Sent) > 0 {
		return string(inv.Sent), nil
	}
	fields := map[string]string{"id": inv.ID, "amount": inv.Amount.Text(), "currency": inv.Amount.Currency()}
	for name, value := range map[string]string{"number": inv.Number, "supplier_id": inv.SupplierID, "supplier_name": inv.SupplierName, "po_id": inv.PoID,
		"invoice_date": inv.InvoiceDate.String(), "due_date": inv.DueDate.String(), "tax_id": inv.TaxID, "bank_account": inv.BankAccount, "document_url": inv.DocumentURL} {
		if value != "" {
			fields[name] = value
		}
	}
	return toJSON(fields)
}

func bodyOf(in HandoverInput, invoice string) (json.RawMessage, error) {
	text, err := toJSON(handoverBody{RunID: in.RunID, Reason: in.Reason, Invoice: json.RawMessage(invoice), Errors: in.Errors, Evidence: in.Evidence,
		Explanation: in.Explanation, Suggestion: in.Suggestion, ProposedCalls: in.ProposedCalls})
	return json.RawMessage(text), err
}

// handoverBody is a handover as stored and read again.
type handoverBody struct {
	RunID         string                `json:"run_id,omitempty"`
	Reason        models.HandoverReason `json:"reason,omitempty"`
	Invoice       json.RawMessage       `json:"invoice,omitempty"`
	Errors        []models.SeenError    `json:"errors"`
	Evidence      []json.RawMessage     `json:"evidence,omitempty"`
	Explanation   string                `json:"explanation,omitempty"`
	Suggestion    *Suggestion           `json:"suggestion,omitempty"`
	ProposedCalls []models.Call         `json:"proposed_calls,omitempty"`
	Answer        string                `json:"answer,omitempty"`
}

// file writes a handover: to the case that judged the pair, to the unresolved case of the same stop,
// or to a new one.
func (s *Service) file(tx *models.Tx, f filing) (HandoverResult, error) {
	judged, found, outdated, err := judgedPair(tx, f)
	if err != nil {
		return HandoverResult{}, err
	}
	if found {
		return addToDecided(tx, judged, f)
	}
	if outdated != "" {
		f.marks = append(f.marks, Mark{MarkVerdictOutdated, "These two were judged not to be duplicates before, on case " + outdated +
			". The supplier of one of them changed since, so the pair is to be judged again."})
	}
	if f.saidCase != "" && f.saidRequest != "" {
		c, found, err := unroutedCase(tx, f)
		if err != nil {
			return HandoverResult{}, err
		}
		if found && c.Status == models.CaseResolved {
			// The lead was faster than the agent's own handover of the error.
			return addToDecided(tx, c, f)
		}
		if found {
			return join(tx, c, f)
		}
	}
	d, err := s.deskFor(tx, f.code)
	if err != nil {
		return HandoverResult{}, err
	}
	c, created, err := openOrJoin(tx, f, d)
	if err != nil {
		return HandoverResult{}, err
	}
	return resultOf(c, created), nil
}

func resultOf(c models.Case, created bool) HandoverResult {
	out := HandoverResult{CaseID: c.ID, Status: c.Status, Queue: c.Queue, Created: created}
	if c.Code != "" {
		out.Code = &c.Code
	}
	return out
}

// openAttempts bounds how often opening and joining may miss each other, each time because a person
// resolved the case in between.
const openAttempts = 5

var errJoinRace = errors.New("queue: the case of this stop was resolved again and again while joining it")

// openOrJoin lets the unique index decide: whoever inserts the row opens the case, the others join it.
func openOrJoin(tx *models.Tx, f filing, d desk) (models.Case, bool, error) {
	c, err := newCase(tx, f, d)
	if err != nil {
		return c, false, err
	}
	for range openAttempts {
		made, err := tx.Exec(`INSERT INTO cases (id, workspace_id, status, code, queue, reason, version, join_key, invoice_id, invoice_number, number_norm,
			supplier_id, supplier_name, po_id, amount, currency, amount_key, invoice, marks, duplicate_of, request_id, hold_id, agent_id, agent_name, run_id, handover_count,
			due_at, created_at, updated_at) VALUES (?,?,?,?,?,?,1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,1,?,?,?) ON CONFLICT DO NOTHING`,
			c.ID, c.WorkspaceID, c.Status, c.Code, c.Queue, c.Reason, c.JoinKey, c.InvoiceID, c.InvoiceNumber, c.NumberNorm,
			c.SupplierID, c.SupplierName, c.PoID, c.Amount, c.Currency, c.AmountKey, c.Invoice, c.Marks, c.DuplicateOf, c.RequestID, c.HoldID, c.AgentID, c.AgentName, c.RunID,
			c.DueAt, c.CreatedAt, c.UpdatedAt)
		if err != nil {
			return c, false, err
		}
		if made == 1 {
			if err := addHandover(tx, c.ID, kindHandover, f); err != nil {
				return c, false, err
			}
			if err := watch(tx, c); err != nil {
				return c, false, err
			}
			tx.Notify(models.TopicCase(c.ID), models.TopicQueues(c.WorkspaceID))
			return c, true, tx.Audit("case.opened", c.Ref(), map[string]any{"queue": c.Queue, "code": c.Code, "reason": c.Reason, "version": c.Version})
		}
		var there models.Case
		// The state stands in the text, because the partial index is found only by a constant.
		err = tx.Lock().Where("workspace_id = ? AND join_key = ? AND status <> 'resolved'", c.WorkspaceID, c.JoinKey).Take(&there).Error
		if errors.Is(err, models.ErrNoRow) {
			continue
		}
		if err != nil {
			return c, false, err
		}
		if _, err := join(tx, there, f); err != nil {
			return c, false, err
		}
		return there, false, nil
	}
	return c, false, errJoinRace
}

func newCase(tx *models.Tx, f filing, d desk) (models.Case, error) {
	marks, err := toJSON(f.marks)
	if err != nil {
		return models.Case{}, err
	}
	inv := f.invoice
	q := queueFor(f.code, d.home, f.escalate)
	c := models.Case{
		ID: tx.NewID(models.PrefixCase), WorkspaceID: tx.By.WorkspaceID, Status: models.CaseOpen, Code: f.code, Queue: q, Reason: f.reason, Version: 1,
		JoinKey: f.key, InvoiceID: inv.ID, InvoiceNumber: inv.Number, NumberNorm: f.number, SupplierID: inv.SupplierID, SupplierName: inv.SupplierName,
		PoID: inv.PoID, Amount: inv.Amount.Text(), Currency: inv.Amount.Currency(), AmountKey: inv.Amount.SortKey(), Invoice: f.invoiceJSON, Marks: marks, DuplicateOf: f.duplicateOf,
		AgentName: f.agentName, RunID: f.runID, HandoverCount: 1, DueAt: d.due(tx.Now, q), CreatedAt: tx.Now, UpdatedAt: tx.Now,
	}
	if f.agentID != "" {
		c.AgentID = &f.agentID
	}
	if f.requestID != "" {
		c.RequestID = &f.requestID
	}
	if f.holdID != "" {
		c.HoldID = &f.holdID
	}
	return c, nil
}

// join adds a handover to the unresolved case of the same stop and raises its version, so that nobody
// decides without having seen it.
func join(tx *models.Tx, c models.Case, f filing) (HandoverResult, error) {
	next := awake(c)
	next.Version++
	next.HandoverCount++
	marks, err := toJSON(addMarks(marksIn(c.Marks), f.marks))
	if err != nil {
		return HandoverResult{}, err
	}
	next.Marks = marks
	if err := replace(tx, c, next); err != nil {
		return HandoverResult{}, err
	}
	if err := addHandover(tx, c.ID, kindHandover, f); err != nil {
		return HandoverResult{}, err
	}
	if err := disturb(tx, c, wakeJoined); err != nil {
		return HandoverResult{}, err
	}
	return resultOf(next, false), tx.Audit("case.joined", c.Ref(), map[string]any{"version": next.Version, "run_id": f.runID})
}

// addToDecided keeps a handover that a decision already answers, beside that decision.
func addToDecided(tx *models.Tx, c models.Case, f filing) (HandoverResult, error) {
	if err := addHandover(tx, c.ID, kindHandover, f); err != nil {
		return HandoverResult{}, err
	}
	if err := tx.DB.Exec("UPDATE cases SET handover_count = handover_count + 1 WHERE id = ?", c.ID).Error; err != nil {
		return HandoverResult{}, err
	}
	tx.Notify(models.TopicCase(c.ID))
	out := resultOf(c, false)
	out.Instruction = instructionIn(c.Instruction)
	return out, tx.Audit("case.joined", models.Ref{Subject: c.ID, CaseID: c.ID, InvoiceID: f.invoice.ID},
		map[string]any{"version": c.Version, "run_id": f.runID, "already_decided": true})
}

func addHandover(tx *models.Tx, caseID, kind string, f filing) error {
	_, err := tx.Exec(`INSERT INTO handovers (id, workspace_id, case_id, kind, at, run_id, agent_id, agent_name, token_id, channel, body) VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		tx.NewID(models.PrefixHandover), tx.By.WorkspaceID, caseID, kind, tx.Now, f.runID, f.agentID, f.agentName, tx.By.TokenID, string(tx.By.Channel), f.body)
	if err != nil {
		return err
	}
	return tx.IndexCase(caseID)
}

// judgedPair finds the case that judged the two invoices of a DUPLICATE_INVOICE not to be duplicates. A
// verdict does not count once the supplier of one of the two changed: outdated names its case then.
func judgedPair(tx *models.Tx, f filing) (c models.Case, found bool, outdated string, err error) {
	low, high, ok := pair(f.invoice.ID, f.duplicateOf)
	if !ok {
		return c, false, "", nil
	}
	if err := lockPair(tx, low, high); err != nil {
		return c, false, "", err
	}
	caseID, old, ok, err := tx.NotDuplicate(f.invoice, f.duplicateOf)
	if err != nil || !ok {
		return c, false, "", err
	}
	if old {
		return c, false, caseID, nil
	}
	err = tx.DB.Where("id = ? AND workspace_id = ?", caseID, tx.By.WorkspaceID).Take(&c).Error
	return c, err == nil, "", err
}

// lockPair makes a handover of a pair and a verdict on it wait for one another: a pair judged at this
// moment is not raised again.
func lockPair(tx *models.Tx, low, high string) error {
	return tx.LockName("pair:" + tx.By.WorkspaceID + "\x1f" + low + "\x1f" + high)
}

// lockPairOf is lockPair for the pair of a case, whose invoices never change.
func lockPairOf(tx *models.Tx, caseID string) error {
	var c models.Case
	err := tx.DB.Where("id = ? AND workspace_id = ?", caseID, tx.By.WorkspaceID).Take(&c).Error
	if errors.Is(err, models.ErrNoRow) {
		return nil // whoever locks the case says so
	}
	if err != nil {
		return err
	}
	low, high, ok := pair(c.InvoiceID, c.DuplicateOf)
	if !ok {
		return nil
	}
	return lockPair(tx, low, high)
}

// unroutedCase finds the case that the desk opened when it refused to route a request, from the ids in
// its error.
func unroutedCase(tx *models.Tx, f filing) (models.Case, bool, error) {
	var c models.Case
	err := tx.Lock().Where("id = ? AND workspace_id = ? AND request_id = ? AND invoice_id = ? AND code = ?", f.saidCase, tx.By.WorkspaceID, f.saidRequest, f.invoice.ID, models.ApproverNotFound).Take(&c).Error
	if errors.Is(err, models.ErrNoRow) {
		return c, false, nil
	}
	return c, err == nil, err
}

// OpenUnrouted opens the APPROVER_NOT_FOUND case of a request that no rule routes, or joins the one
// open, and answers its id. The error is kept with request_id and case_id among its details, as the
// agent gets it, so that the agent's own handover of it joins.
func (s *Service) OpenUnrouted(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, seen models.SeenError) (string, error) {
	var open models.Case
	err := tx.Lock().Where("workspace_id = ? AND invoice_id = ? AND code = ? AND request_id = ? AND status <> ?",
		tx.By.WorkspaceID, invoice.ID, models.ApproverNotFound, request.ID, models.CaseResolved).Take(&open).Error
	if err == nil {
		return open.ID, nil
	}
	if !errors.Is(err, models.ErrNoRow) {
		return "", err
	}
	if invoice, err = withAmount(invoice, request); err != nil {
		return "", err
	}
	caseID := tx.NewID(models.PrefixCase)
	if seen.Error.Details, err = withMembers(seen.Error.Details, map[string]any{"request_id": request.ID, "case_id": caseID}); err != nil {
		return "", err
	}
	var evidence []json.RawMessage
	if request.Evidence != "" {
		if err := json.Unmarshal([]byte(request.Evidence), &evidence); err != nil {
			return "", fmt.Errorf("queue: evidence of %s: %w", request.ID, err)
		}
	}
	in := HandoverInput{RunID: request.RunID, Reason: models.ReasonNamedError, Invoice: invoice, Errors: []models.SeenError{seen},
		Evidence: evidence, Explanation: request.Explanation}
	f, err := newFiling(in, models.ApproverNotFound, 0)
	if err != nil {
		return "", err
	}
	f.marks, f.requestID = []Mark{}, request.ID
	f.agentID, f.agentName = request.AskerID, request.AskerName
	d, err := s.deskFor(tx, f.code)
	if err != nil {
		return "", err
	}
	c, err := newCase(tx, f, d)
	if err != nil {
		return "", err
	}
	c.ID = caseID
	if err := tx.DB.Create(&c).Error; err != nil {
		return "", err
	}
	if err := addHandover(tx, c.ID, kindHandover, f); err != nil {
		return "", err
	}
	if err := watch(tx, c); err != nil {
		return "", err
	}
	tx.Notify(models.TopicCase(c.ID), models.TopicQueues(c.WorkspaceID))
	ref := c.Ref()
	ref.ApprovalRequestID = request.ID
	return c.ID, tx.Audit("case.opened", ref, map[string]any{"queue": c.Queue, "code": c.Code, "reason": c.Reason, "version": c.Version, "unrouted_request": request.ID})
}

// withMembers adds members to a JSON object.
func withMembers(raw json.RawMessage, members map[string]any) (json.RawMessage, error) {
	all := map[string]any{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			return nil, fmt.Errorf("queue: error details: %w", err)
		}
	}
	for k, v := range members {
		all[k] = v
	}
	return json.Marshal(all)
}

// Answer takes an agent's answer to the question a person asked on a case: it clears the instruction,
// so that people see the case wants them again. Only who filed the case may answer. It fails with
// NOT_FOUND, or CONFLICT when no question waits.
func (s *Service) Answer(ctx context.Context, by models.Principal, in AnswerInput, idem models.Idempotency) (HandoverResult, error) {
	if err := mayFile(by, models.ScopeCasesWrite); err != nil {
		return HandoverResult{}, err
	}
	body := in.Body
	if len(body) == 0 {
		text, err := toJSON(handoverBody{RunID: in.RunID, Errors: []models.SeenError{}, Evidence: in.Evidence, Explanation: in.Explanation, Answer: in.Answer})
		if err != nil {
			return HandoverResult{}, err
		}
		body = json.RawMessage(text)
	}
	f := filing{runID: in.RunID, agentID: by.UserID, agentName: by.UserName, body: string(body)}
	var out HandoverResult
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		out, err = models.Once(tx, opAnswer, idem, func() (HandoverResult, error) {
			out, err := answer(tx, in.CaseID, f)
			if err != nil {
				return out, err
			}
			return out, tx.UseFiles(out.CaseID, in.Evidence)
		})
		return err
	})
	return out, err
}

func answer(tx *models.Tx, caseID string, f filing) (HandoverResult, error) {
	c, err := lockCase(tx, caseID)
	if err != nil {
		return HandoverResult{}, err
	}
	mine, err := filedBy(tx, c)
	if err != nil {
		return HandoverResult{}, err
	}
	if !mine {
		return HandoverResult{}, models.Missing("case", clipID(caseID))
	}
	if questionOf(c) == "" {
		return HandoverResult{}, models.E(models.Conflict, "No question waits for an answer on this case. Read it with get_case for what was decided.",
			map[string]any{"reason": "no_question", "case_id": c.ID, "status": c.Status, "version": c.Version})
	}
	next := awake(c)
	next.Version++
	next.HandoverCount++
	next.Instruction = nil
	if err := replace(tx, c, next); err != nil {
		return HandoverResult{}, err
	}
	if err := addHandover(tx, c.ID, kindAnswer, f); err != nil {
		return HandoverResult{}, err
	}
	if err := disturb(tx, c, wakeAnswered); err != nil {
		return HandoverResult{}, err
	}
	if err := tellAnswered(tx, c, f); err != nil {
		return HandoverResult{}, err
	}
	return resultOf(next, false), tx.Audit("case.answered", requestRef(tx, c), map[string]any{"version": next.Version, "run_id": f.runID})
}

// NoticeAnswered tells who asked the agent a question that it answered. It leads to the case, or to the
// approval request when that is what the question was about.
const NoticeAnswered models.NoticeKind = "case.answered"

func tellAnswered(tx *models.Tx, c models.Case, f filing) error {
	var asked []models.Decision
	err := tx.DB.Select("id", "decided_by_id").Where("case_id = ? AND workspace_id = ? AND exit = ?", c.ID, c.WorkspaceID, exitAskAgent).
		Order("decided_at DESC, id DESC").Limit(1).Find(&asked).Error
	if err != nil || len(asked) == 0 || asked[0].DecidedByID == nil {
		return err
	}
	subject := c.ID
	if forQuestions(c) && c.RequestID != nil {
		subject = *c.RequestID
	}
	return tx.Tell(NoticeAnswered, subject, map[string]any{"by": f.agentName, "invoice_id": c.InvoiceID, "invoice_number": c.InvoiceNumber, "case_id": c.ID}, *asked[0].DecidedByID)
}
