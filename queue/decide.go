package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// DecideInput is the exit a person chose on the case as it was at Version.
type DecideInput struct {
	CaseID  string
	Exit    string
	Input   map[string]string
	Reason  string
	Version int64
	// Proposed are calls the agent proposed with its last handover, for which an approval request is
	// filed together with the decision. Only exits by which the agent goes on allow them.
	Proposed []ProposedInput
}

// Decide carries out the exit a person chose: it claims the case if it is free, remembers the
// decision, and tells the agent. It fails with VALIDATION_ERROR on /exit, /input/<name>, /reason or
// /version; CONFLICT, saying who decided what and when, or what changed, when the case is resolved or
// no longer at the version decided on, or saying who holds it; insufficient_permission for tokens and
// people who do not work the queue; UNPROCESSABLE_ENTITY when a request cannot be routed; NOT_FOUND. What
// is wrong with a proposed call is a VALIDATION_ERROR on /proposed/<index>/<field>.
func (s *Service) Decide(ctx context.Context, by models.Principal, in DecideInput) (CaseView, error) {
	const refusedAs = "case.decide_refused"
	if err := by.NeedPerson(); err != nil {
		return CaseView{}, s.refusedOnCase(ctx, by, in.CaseID, refusedAs, err)
	}
	var out CaseView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		if err := s.decide(tx, in); err != nil {
			return err
		}
		var err error
		out, err = reread(tx, in.CaseID)
		return err
	})
	if models.IsCode(err, models.InsufficientPermission) {
		return out, s.refusedOnCase(ctx, by, in.CaseID, refusedAs, err)
	}
	return out, err
}

func (s *Service) decide(tx *models.Tx, in DecideInput) error {
	by := tx.By
	if in.Exit == exitNotDuplicate {
		// In the order of a handover, which looks at the pair before it looks at the case.
		if err := lockPairOf(tx, in.CaseID); err != nil {
			return err
		}
	}
	c, err := lockCase(tx, in.CaseID)
	if err != nil {
		return err
	}
	if c.Status == models.CaseResolved {
		return alreadyResolved(tx, c)
	}
	// The version comes before the role: who decided on a case that has moved on since is told that,
	// not that its new queue is not theirs.
	if in.Version != c.Version {
		return stale(tx, c, in.Version)
	}
	if err := by.NeedRole(c.Queue.Roles()...); err != nil {
		return err
	}
	holder, err := holderName(tx, c)
	if err != nil {
		return err
	}
	if _, err := claim(c, by, tx.Now, holder); err != nil {
		return err
	}
	exit, err := chosen(c, by, in.Exit)
	if err != nil {
		return err
	}
	ws, err := tx.Workspace()
	if err != nil {
		return err
	}
	amount, err := models.ParseMoney(c.Amount, c.Currency)
	if err != nil {
		return fmt.Errorf("queue: amount of %s: %w", c.ID, err)
	}
	values, reason, issues := checkInput(exit, in.Input, in.Reason, facts{
		today: models.DateOf(tx.Now, s.zone(ws.TimeZone)), closedThrough: ws.PeriodClosedThrough, invoiceAmount: amount})
	proposed, more, err := readProposed(tx, c, exit, values, in.Proposed)
	if err != nil {
		return err
	}
	if issues = append(issues, more...); len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return s.carryOut(tx, c, exit, values, reason, proposed, ws)
}

// chosen finds the exit among those the case offers.
func chosen(c models.Case, by models.Principal, code string) (Exit, error) {
	offered := exitsOf(c, by)
	i := slices.IndexFunc(offered, func(e Exit) bool { return e.Code == code })
	if i < 0 {
		names := make([]string, len(offered))
		for i, e := range offered {
			names[i] = e.Code
		}
		return Exit{}, models.Invalid(models.Issue{Path: "/exit", Message: "must be one of " + strings.Join(names, ", ")})
	}
	return offered[i], nil
}

// carryOut does everything an exit does, in one transaction.
func (s *Service) carryOut(tx *models.Tx, c models.Case, exit Exit, values map[string]string, reason string, proposed []proposal, ws models.Workspace) error {
	until, err := dateIn(values["until"])
	if err != nil {
		return err
	}
	next := decided(c, exit, tx.By, until, tx.Now)
	requests, note, err := s.sideEffects(tx, c, &next, exit, values)
	if err != nil {
		return err
	}
	instruction := instructionFor(c, exit, values)
	next.Instruction = nil
	if instruction != nil {
		instruction.Note = joined(instruction.Note, note)
		text, err := toJSON(instruction)
		if err != nil {
			return err
		}
		next.Instruction = &text
	}
	if next.Queue != c.Queue {
		d, err := s.deskFor(tx, c.Code)
		if err != nil {
			return err
		}
		next.DueAt = d.due(tx.Now, next.Queue)
	}
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := s.plan(tx, c, next, ws); err != nil {
		return err
	}
	if exit.Instruction == models.InstructRetryWith {
		if err := tx.Correct(c.ID, c.InvoiceID, values["invoice_id"]); err != nil {
			return err
		}
	}
	if s.approvals != nil && (exit.Instruction == models.InstructRetryWith || exit.Instruction == models.InstructStop) {
		// What the decision corrects or stops goes before what is asked for together with it.
		if err := s.approvals.Supersede(tx, next, tx.By, exit.Code); err != nil {
			return err
		}
	}
	filed, err := s.fileProposed(tx, next, proposed)
	if err != nil {
		return err
	}
	requests = append(requests, filed...)
	if err := remember(tx, c, next, exit, values, reason, requests); err != nil {
		return err
	}
	data := map[string]any{"exit": exit.Code, "version": next.Version, "queue": c.Queue, "input": values}
	if reason != "" {
		data["reason"] = reason
	}
	if len(filed) > 0 {
		data["approval_request_ids"] = filed
	}
	if c.ClaimedAt(tx.Now) != tx.By.UserID {
		if err := tx.Audit("case.claimed", c.Ref(), map[string]any{"version": c.Version}); err != nil {
			return err
		}
	}
	if err := tx.Audit("case.decided", requestRef(tx, c), data); err != nil {
		return err
	}
	action, more := followUp(exit, next)
	if action == "" {
		return nil
	}
	return tx.Audit(action, c.Ref(), more)
}

// joined puts two notes to the agent together.
func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), " ")
}

// followUp is the event that says where the case stands after the decision, "" when it only asked.
func followUp(exit Exit, next models.Case) (string, map[string]any) {
	switch exit.effect {
	case effectAsk:
		return "", nil
	case effectHold:
		return "case.held", map[string]any{"version": next.Version, "until": next.HeldUntil}
	case effectMove:
		return "case.moved", map[string]any{"version": next.Version, "queue": next.Queue}
	}
	return "case.resolved", map[string]any{"version": next.Version, "exit": exit.Code}
}

// postingDate is when the invoice is to be posted: what the last error's details or its call's
// arguments say, else a call the agent proposed; no date when nobody said.
func postingDate(tx *models.Tx, c models.Case) (models.Date, error) {
	var rows []models.Handover
	err := tx.DB.Where("case_id = ? AND kind = ?", c.ID, kindHandover).Order("at DESC, id DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return models.Date{}, err
	}
	h, err := handoverOf(rows[0])
	if err != nil {
		return models.Date{}, err
	}
	return wantedDate(h.Errors, h.ProposedCalls), nil
}

func wantedDate(errs []models.SeenError, calls []models.Call) models.Date {
	var said []string
	for _, e := range slices.Backward(errs) {
		said = append(said, detail(e.Error.Details, "posting_date"), detail(e.Arguments, "posting_date"))
	}
	for _, call := range calls {
		said = append(said, detail(call.Arguments, "posting_date"))
	}
	for _, text := range said {
		if d, err := models.ParseDate(text); err == nil {
			return d
		}
	}
	return models.Date{}
}

// plan schedules the return of a held case, and drops it for one no longer held.
func (s *Service) plan(tx *models.Tx, before, after models.Case, ws models.Workspace) error {
	switch {
	case after.Status == models.CaseHeld:
		return tx.Schedule(JobReturn, after.ID, after.HeldUntil.StartIn(s.zone(ws.TimeZone)))
	case before.Status == models.CaseHeld:
		return tx.Unschedule(JobReturn, after.ID)
	}
	return nil
}

func remember(tx *models.Tx, c, next models.Case, exit Exit, values map[string]string, reason string, requests []string) error {
	input, err := toJSON(values)
	if err != nil {
		return err
	}
	if requests == nil {
		requests = []string{}
	}
	ids, err := toJSON(requests)
	if err != nil {
		return err
	}
	d := models.Decision{ID: tx.NewID(models.PrefixDecision), WorkspaceID: c.WorkspaceID, CaseID: c.ID, InvoiceID: c.InvoiceID, Exit: exit.Code,
		InstructionKind: exit.Instruction, Instruction: next.Instruction, Input: input, Reason: reason, DecidedByID: actor(tx.By), DecidedByName: tx.By.UserName,
		Role: roleIn(tx.By, c.Queue), CaseVersion: c.Version, ApprovalRequestIDs: ids, DecidedAt: tx.Now}
	if err := tx.DB.Create(&d).Error; err != nil {
		return err
	}
	return tx.IndexDecision(d.ID)
}

func dateIn(text string) (models.Date, error) {
	if text == "" {
		return models.Date{}, nil
	}
	return models.ParseDate(text)
}

// alreadyResolved says who decided the case, what and when.
func alreadyResolved(tx *models.Tx, c models.Case) error {
	details := map[string]any{"reason": "already_resolved", "version": c.Version, "status": c.Status}
	message := "This case is already resolved."
	last, err := lastDecision(tx, c.ID, 0)
	if err != nil {
		return err
	}
	if last != nil {
		message = fmt.Sprintf("%s already resolved this case on %s: %s.", last.DecidedByName, last.DecidedAt, ExitLabel(last.Exit))
		addDecision(details, *last)
	}
	return models.E(models.Conflict, message, details)
}

// stale says what happened to the case since the version somebody decided on.
func stale(tx *models.Tx, c models.Case, version int64) error {
	if version <= 0 {
		return models.Invalid(models.Issue{Path: "/version", Message: "must be the version of the case that was decided on"})
	}
	changes, err := changesSince(tx, c.ID, version)
	if err != nil {
		return err
	}
	last, err := lastDecision(tx, c.ID, version)
	if err != nil {
		return err
	}
	details := map[string]any{"reason": "stale", "version": c.Version, "status": c.Status, "queue": c.Queue, "changes": changes}
	message := "The case changed since you opened it; look at it again before you decide."
	if last != nil {
		addDecision(details, *last)
		message = fmt.Sprintf("%s decided on this case on %s: %s. Look at it again before you decide.", last.DecidedByName, last.DecidedAt, ExitLabel(last.Exit))
	} else if len(changes) > 0 {
		message = "The case changed since you opened it: " + strings.Join(changes, "; ") + ". Look at it again before you decide."
	}
	return models.E(models.Conflict, message, details)
}

func addDecision(details map[string]any, d models.Decision) {
	details["decided_by"], details["decided_at"], details["exit"] = d.DecidedByName, d.DecidedAt, d.Exit
	details["instruction"] = d.InstructionKind
	if d.Reason != "" {
		details["decision_reason"] = d.Reason
	}
}

// lastDecision is the newest decision on a case that was taken on version from or a later one.
func lastDecision(tx *models.Tx, caseID string, from int64) (*models.Decision, error) {
	var rows []models.Decision
	err := tx.DB.Where("case_id = ? AND case_version >= ?", caseID, from).Order("decided_at DESC, id DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// maxChanges bounds how many changes a refused decision lists.
const maxChanges = 20

// changesSince puts into words, oldest first, what raised the case's version since then.
func changesSince(tx *models.Tx, caseID string, version int64) ([]string, error) {
	var events []models.AuditEvent
	err := tx.DB.Where("workspace_id = ? AND case_id = ? AND case_id <> '' AND action IN ?", tx.By.WorkspaceID, caseID,
		[]string{"case.joined", "case.answered", "case.decided", "case.reopened", "case.flagged", "case.rerouted"}).Order("at DESC, id DESC").Limit(maxChanges).Find(&events).Error
	if err != nil {
		return nil, err
	}
	changes := []string{}
	for _, e := range slices.Backward(events) {
		var data struct {
			Version int64  `json:"version"`
			Exit    string `json:"exit"`
		}
		if err := json.Unmarshal([]byte(e.Data), &data); err != nil || data.Version <= version {
			continue
		}
		changes = append(changes, changeInWords(e, data.Exit))
	}
	return changes, nil
}

func changeInWords(e models.AuditEvent, exit string) string {
	switch e.Action {
	case "case.joined":
		return fmt.Sprintf("%s handed over the same stop again on %s", e.ActorName, e.At)
	case "case.answered":
		return fmt.Sprintf("%s answered on %s", e.ActorName, e.At)
	case "case.decided":
		return fmt.Sprintf("%s chose %q on %s", e.ActorName, ExitLabel(exit), e.At)
	case "case.rerouted":
		return fmt.Sprintf("%s moved it to another queue on %s", e.ActorName, e.At)
	case "case.flagged":
		return fmt.Sprintf("%s suspected fraud on another case of this supplier or bank account on %s", e.ActorName, e.At)
	}
	return fmt.Sprintf("it came back by itself on %s", e.At)
}
