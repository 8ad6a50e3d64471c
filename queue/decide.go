package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/clause"

	"github.com/apdesk/apdesk/models"
)

// DecideInput is the exit a person chose on the case as it was at Version.
type DecideInput struct {
	CaseID  string
	Exit    string
	Input   map[string]string
	Reason  string
	Version int64
}

// Decide carries out the exit a person chose: it claims the case if it is free, remembers the
// decision, and tells the agent. It fails with VALIDATION_ERROR on /exit, /input/<name>, /reason or
// /version; CONFLICT, saying who decided what and when, or what changed, when the case is resolved or
// no longer at the version decided on, or saying who holds it; insufficient_permission for tokens and
// people who do not work the queue; UNPROCESSABLE_ENTITY when a request cannot be routed; NOT_FOUND.
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
	values, issues := checkInput(exit, in.Input, in.Reason, facts{
		today: models.DateOf(tx.Now, s.zone(ws.TimeZone)), closedThrough: ws.PeriodClosedThrough, invoiceAmount: amount})
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return s.carryOut(tx, c, exit, values, strings.TrimSpace(in.Reason), ws)
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
func (s *Service) carryOut(tx *models.Tx, c models.Case, exit Exit, values map[string]string, reason string, ws models.Workspace) error {
	until, err := dateIn(values["until"])
	if err != nil {
		return err
	}
	next := decided(c, exit, tx.By, until, tx.Now)
	instruction := instructionFor(c, exit, values)
	next.Instruction = nil
	if instruction != nil {
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
	requests, err := s.sideEffects(tx, c, &next, exit, values)
	if err != nil {
		return err
	}
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := s.plan(tx, c, next, ws); err != nil {
		return err
	}
	if err := remember(tx, c, next, exit, values, reason, requests); err != nil {
		return err
	}
	if s.approvals != nil && (exit.Instruction == models.InstructRetryWith || exit.Instruction == models.InstructStop) {
		if err := s.approvals.Supersede(tx, next, tx.By, exit.Code); err != nil {
			return err
		}
	}
	data := map[string]any{"exit": exit.Code, "version": next.Version, "queue": c.Queue, "input": values}
	if reason != "" {
		data["reason"] = reason
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

// sideEffects does what some exits do besides telling the agent, and answers the requests concerned.
func (s *Service) sideEffects(tx *models.Tx, c models.Case, next *models.Case, exit Exit, values map[string]string) ([]string, error) {
	switch exit.effect {
	case effectVerdict:
		return nil, rememberPair(tx, c)
	case effectFraud:
		return nil, markFraud(tx, next)
	case effectPeriod:
		return nil, reopenPeriod(tx, c, values["until"])
	case effectName, effectRoute:
		return s.routeRequest(tx, c, exit, values["person"])
	}
	return nil, nil
}

// rememberPair keeps the verdict on a pair; a case that does not name the other invoice leaves none.
func rememberPair(tx *models.Tx, c models.Case) error {
	low, high, ok := pair(c.InvoiceID, c.DuplicateOf)
	if !ok {
		return nil
	}
	verdict := models.PairVerdict{WorkspaceID: c.WorkspaceID, Low: low, High: high, CaseID: c.ID, DecidedAt: tx.Now}
	// A pair is judged again only when the verdict before does not count any more.
	return tx.DB.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "workspace_id"}, {Name: "low"}, {Name: "high"}},
		DoUpdates: clause.AssignmentColumns([]string{"case_id", "decided_at"})}).Create(&verdict).Error
}

// markFraud marks the case for the AP lead, whose own page lists such cases.
func markFraud(tx *models.Tx, next *models.Case) error {
	marks, err := toJSON(addMarks(marksIn(next.Marks), []Mark{{MarkSuspectedFraud, tx.By.UserName + " suspects fraud."}}))
	if err != nil {
		return err
	}
	next.Marks = marks
	tx.Notify(models.TopicQueues(next.WorkspaceID))
	return tx.Audit("case.fraud_suspected", next.Ref(), map[string]any{"told": models.RoleAPLead})
}

// reopenPeriod moves the desk's closed-through date back before the month in which the invoice is to
// be posted (see reopenedThrough). Nothing closes it again by itself.
func reopenPeriod(tx *models.Tx, c models.Case, until string) error {
	wanted, err := postingDate(tx, c)
	if err != nil {
		return err
	}
	end, err := dateIn(until)
	if err != nil {
		return err
	}
	// Whoever moves the period at the same moment is waited for, and what they left is what moves.
	if _, err := tx.LockRules(); err != nil {
		return err
	}
	ws, err := tx.Workspace()
	if err != nil {
		return err
	}
	through := reopenedThrough(ws.PeriodClosedThrough, wanted)
	if through == ws.PeriodClosedThrough {
		return nil
	}
	return tx.MovePeriod(through, end)
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

// routeRequest lets the approval request behind the case go on. Without one the agent asks again.
func (s *Service) routeRequest(tx *models.Tx, c models.Case, exit Exit, person string) ([]string, error) {
	if exit.effect == effectName {
		if err := activeMember(tx, person); err != nil {
			return nil, err
		}
	}
	if c.RequestID == nil || s.approvals == nil {
		return nil, nil
	}
	var err error
	if exit.effect == effectName {
		err = s.approvals.NameApprover(tx, *c.RequestID, person)
	} else {
		err = s.approvals.RouteAgain(tx, *c.RequestID)
	}
	return []string{*c.RequestID}, err
}

func activeMember(tx *models.Tx, email string) error {
	unknown := models.Invalid(models.Issue{Path: "/input/person", Message: "must be the e-mail of an active member of this workspace"})
	user, err := tx.UserByEmail(email)
	if errors.Is(err, models.ErrNoRow) {
		return unknown
	}
	if err != nil {
		return err
	}
	members, err := tx.Members(user.ID)
	if err == nil && (len(members) == 0 || user.Kind != models.KindPerson) {
		return unknown
	}
	return err
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
	return tx.DB.Create(&d).Error
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
		[]string{"case.joined", "case.answered", "case.decided", "case.reopened"}).Order("at DESC, id DESC").Limit(maxChanges).Find(&events).Error
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
	}
	return fmt.Sprintf("it came back by itself on %s", e.At)
}
