package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/clause"

	"github.com/apdesk/apdesk/models"
)

// What people are told of cases.
const (
	NoticeFraud      models.NoticeKind = "fraud.suspected"
	NoticeReturned   models.NoticeKind = "case.returned"
	NoticePeriodOver models.NoticeKind = "period.reopened_over"
)

// sideEffects does what some exits do besides telling the agent. It answers the requests concerned and
// what the agent is told in addition.
func (s *Service) sideEffects(tx *models.Tx, c models.Case, next *models.Case, exit Exit, values map[string]string) (requests []string, note string, err error) {
	switch exit.effect {
	case effectVerdict:
		err = rememberPair(tx, c)
	case effectFraud:
		err = s.suspectFraud(tx, next)
	case effectPeriod:
		err = s.reopenPeriod(tx, c, values["until"])
	case effectRecheckPair:
		note, err = changeSupplier(tx, c, values["supplier_id"])
	case effectCreditFirst:
		note = creditFirst(c)
	case effectName, effectRoute:
		requests, err = s.routeRequest(tx, c, exit, values["person"])
	case effectHold:
		note, err = keepChecking(tx, c, next.HeldUntil)
	}
	if err == nil && next.Status == models.CaseResolved {
		err = endHold(tx, c)
	}
	return requests, note, err
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

// creditFirst names the invoice that has to be credited before the one that corrects it is paid.
func creditFirst(c models.Case) string {
	if c.DuplicateOf == "" {
		return ""
	}
	return "It is invoice " + c.DuplicateOf + "."
}

// changeSupplier remembers the supplier that somebody found for the invoice, and looks at once for
// invoices of that supplier that this one may be again. The agent checks in the ERP, too.
func changeSupplier(tx *models.Tx, c models.Case, supplierID string) (string, error) {
	inv := invoiceOfCase(c)
	inv.SupplierID = supplierID
	if err := tx.SeeInvoice(inv, supplierID); err != nil {
		return "", err
	}
	found, err := tx.DuplicateCandidates(inv)
	if err != nil {
		return "", err
	}
	open := slices.DeleteFunc(found.Candidates, func(d models.DuplicateCandidate) bool {
		return d.Judged != nil && !d.Judged.Outdated && d.Judged.Exit == exitNotDuplicate
	})
	ref := c.Ref()
	if err := tx.Audit("case.duplicates_checked", ref, map[string]any{"supplier_id": supplierID, "candidates": len(open), "more": found.More}); err != nil {
		return "", err
	}
	switch n := len(open); {
	case n == 0:
		return "", nil
	case n == 1:
		return "The desk has seen one invoice of this supplier that this one may be again.", nil
	case found.More:
		return fmt.Sprintf("The desk has seen more than %d invoices of this supplier that this one may be again.", n), nil
	default:
		return fmt.Sprintf("The desk has seen %d invoices of this supplier that this one may be again.", n), nil
	}
}

// suspectFraud marks the case, tells the AP leads, and flags what else is open of the same supplier or
// bank account, so that nobody decides it unaware.
func (s *Service) suspectFraud(tx *models.Tx, next *models.Case) error {
	marks, err := toJSON(addMarks(marksIn(next.Marks), []Mark{{MarkSuspectedFraud, tx.By.UserName + " suspects fraud."}}))
	if err != nil {
		return err
	}
	next.Marks = marks
	flagged, err := s.flagOthers(tx, *next)
	if err != nil {
		return err
	}
	data := map[string]any{"amount": next.Amount, "currency": next.Currency, "invoice_id": next.InvoiceID, "invoice_number": next.InvoiceNumber, "supplier": supplierName(*next),
		"by": tx.By.UserName, "flagged": flagged}
	if err := tx.TellRole(NoticeFraud, next.ID, data, models.RoleAPLead); err != nil {
		return err
	}
	tx.Notify(models.TopicQueues(next.WorkspaceID))
	return tx.Audit("case.fraud_suspected", next.Ref(), map[string]any{"told": models.RoleAPLead, "flagged": flagged})
}

func supplierName(c models.Case) string {
	if c.SupplierName != "" {
		return c.SupplierName
	}
	return c.SupplierID
}

// flagOthers marks the other unresolved cases of the supplier or bank account of a case, and answers how
// many. A marked case has a new version: whoever looked at it before sees the mark first.
func (s *Service) flagOthers(tx *models.Tx, c models.Case) (int, error) {
	alike := []string{}
	args := []any{c.WorkspaceID, c.ID}
	if c.SupplierID != "" {
		alike, args = append(alike, "supplier_id = ?"), append(args, c.SupplierID)
	}
	if c.SupplierName != "" {
		alike, args = append(alike, "supplier_name = ?"), append(args, c.SupplierName)
	}
	account := bankAccount(c)
	if account != "" {
		has := "instr(upper(replace(invoice, ' ', '')), ?) > 0"
		if s.store.Postgres() {
			has = "strpos(upper(replace(invoice, ' ', '')), ?) > 0"
		}
		alike, args = append(alike, has), append(args, account)
	}
	if len(alike) == 0 {
		return 0, nil
	}
	var ids []string
	err := tx.DB.Model(&models.Case{}).Where("workspace_id = ? AND status IN ('open', 'held') AND id <> ? AND ("+strings.Join(alike, " OR ")+")", args...).Order("id").Pluck("id", &ids).Error
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		other, err := lockCase(tx, id)
		if err != nil {
			return n, err
		}
		by := alikeBy(c, account, other)
		if by == "" || other.Status == models.CaseResolved {
			continue
		}
		marks, err := toJSON(addMarks(marksIn(other.Marks), []Mark{{MarkFraudElsewhere, fmt.Sprintf("%s suspects fraud on case %s of the same %s.", tx.By.UserName, c.ID, by)}}))
		if err != nil {
			return n, err
		}
		marked := other
		marked.Marks = marks
		marked.Version++
		if err := replace(tx, other, marked); err != nil {
			return n, err
		}
		if err := tx.Audit("case.flagged", other.Ref(), map[string]any{"version": marked.Version, "fraud_case": c.ID, "same": by}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// alikeBy says in words what two cases have in common, "" for nothing: the supplier by its id, by its
// name where an id is missing, or the bank account.
func alikeBy(c models.Case, account string, other models.Case) string {
	switch {
	case c.SupplierID != "" && other.SupplierID != "":
		if c.SupplierID == other.SupplierID {
			return "supplier"
		}
	case c.SupplierName != "" && c.SupplierName == other.SupplierName:
		return "supplier"
	}
	if account != "" && account == bankAccount(other) {
		return "bank account"
	}
	return ""
}

// bankAccount is the bank account an invoice names, as accounts are compared; "" when it names none.
func bankAccount(c models.Case) string {
	var inv struct {
		BankAccount any `json:"bank_account"`
	}
	if err := json.Unmarshal([]byte(c.Invoice), &inv); err != nil {
		return ""
	}
	text, _ := inv.BankAccount.(string)
	text = strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	if len(text) < minRepeated {
		return ""
	}
	return text
}

// fraudElsewhere marks a case opened after fraud was suspected on another one of its supplier or bank
// account, which was not there to be flagged then.
func fraudElsewhere(tx *models.Tx, c models.Case) ([]Mark, error) {
	if c.Status == models.CaseResolved {
		return nil, nil
	}
	var rows []struct {
		models.Case   `gorm:"embedded"`
		DecidedByName string
	}
	// The exit stands in the text, because the partial index is found only by a constant.
	err := tx.DB.Raw(`SELECT c.*, d.decided_by_name FROM decisions d JOIN cases c ON c.id = d.case_id
		WHERE d.workspace_id = ? AND d.exit = 'suspected_fraud' AND d.decided_at <= ? AND c.id <> ? ORDER BY d.decided_at DESC LIMIT ?`,
		c.WorkspaceID, c.CreatedAt, c.ID, maxFrauds).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	account := bankAccount(c)
	for _, r := range rows {
		if by := alikeBy(c, account, r.Case); by != "" {
			return []Mark{{MarkFraudElsewhere, fmt.Sprintf("%s suspected fraud on case %s of the same %s.", r.DecidedByName, r.ID, by)}}, nil
		}
	}
	return nil, nil
}

// maxFrauds is how many suspicions of fraud a case is compared with, the newest first.
const maxFrauds = 200

// reopenPeriod moves the desk's closed-through date back before the month in which the invoice is to be
// posted (see reopenedThrough). Nothing closes it again by itself: when the time is up, the finance
// leads are told. A period that is reopened already stays so until the later of the two days.
func (s *Service) reopenPeriod(tx *models.Tx, c models.Case, until string) error {
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
	if through == ws.PeriodClosedThrough && ws.PeriodReopenedUntil.IsZero() {
		return nil // nobody closed the month of the posting date
	}
	if err := tx.Schedule(JobPeriodOver, c.ID, end.AddDays(1).StartIn(s.zone(ws.TimeZone))); err != nil {
		return err
	}
	if ws.PeriodReopenedUntil.After(end) {
		end = ws.PeriodReopenedUntil
	}
	if through == ws.PeriodClosedThrough && end == ws.PeriodReopenedUntil {
		return nil
	}
	return tx.MovePeriod(through, end)
}

// periodOver tells the finance leads that the time is up for which a period was reopened on a case. Who
// moved the period by hand since has seen to it.
func (s *Service) periodOver(tx *models.Tx, job models.Job) error {
	ws, err := tx.Workspace()
	if err != nil || ws.PeriodReopenedUntil.IsZero() {
		return err
	}
	last, err := lastDecision(tx, job.Subject, 0)
	if err != nil || last == nil {
		return err
	}
	var input map[string]string
	if err := json.Unmarshal([]byte(last.Input), &input); err != nil {
		return fmt.Errorf("queue: input of %s: %w", last.ID, err)
	}
	until, err := dateIn(input["until"])
	if err != nil || until.IsZero() {
		return err
	}
	if start := until.AddDays(1).StartIn(s.zone(ws.TimeZone)); tx.Now.Before(start.Time) {
		return tx.Schedule(JobPeriodOver, job.Subject, start)
	}
	data := map[string]any{"by": last.DecidedByName, "until": until, "closed_through": ws.PeriodClosedThrough, "invoice_id": last.InvoiceID}
	if err := tx.TellRole(NoticePeriodOver, job.Subject, data, models.RoleFinanceLead); err != nil {
		return err
	}
	return tx.Audit("period.reopened_over", models.Ref{Subject: ws.ID, CaseID: job.Subject, InvoiceID: last.InvoiceID},
		map[string]any{"until": until, "closed_through": ws.PeriodClosedThrough, "told": models.RoleFinanceLead})
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

// keepChecking lets the hold behind an overdue case wait again while the case is held: a check each
// business day until then, so that a receipt that comes earlier is noticed. It answers what the agent is
// told of it, "" when no hold is behind the case.
func keepChecking(tx *models.Tx, c models.Case, until models.Date) (string, error) {
	if c.HoldID == nil {
		return "", nil
	}
	h, err := holdOf(tx, *c.HoldID)
	if err != nil || h.Status != models.HoldEscalated {
		return "", err
	}
	cal, err := tx.Calendar()
	if err != nil {
		return "", err
	}
	checks := checksUntil(cal, tx.Now, until.StartIn(cal.Zone()))
	first := cal.NextRecheck(tx.Now)
	// One hold waits for a thing at a time: an agent may have filed another one since.
	res := tx.DB.Exec(`UPDATE holds SET status = ?, checks_left = ?, max_checks = max_checks + ?, next_check_at = ?, updated_at = ? WHERE id = ? AND status = ?
		AND NOT EXISTS (SELECT 1 FROM holds o WHERE o.workspace_id = holds.workspace_id AND o.join_key = holds.join_key AND o.status = 'waiting')`,
		models.HoldWaiting, checks, checks, first, tx.Now, h.ID, models.HoldEscalated)
	if res.Error != nil || res.RowsAffected == 0 {
		return "", res.Error
	}
	if err := tx.Schedule(JobMissed, h.ID, first.Add(missedAfter)); err != nil {
		return "", err
	}
	notifyHold(tx, h)
	ref := holdRef(h)
	ref.CaseID = c.ID
	if err := tx.Audit("hold.resumed", ref, map[string]any{"next_check_at": first, "checks_left": checks}); err != nil {
		return "", err
	}
	return "The hold " + h.ID + " waits again: go on with its re-checks.", nil
}

// checksUntil is how many checks, one each business day, come due before end: at least one, and at most
// as many as a hold may have.
func checksUntil(cal models.Calendar, now, end models.Time) int {
	n := 0
	for at := cal.NextRecheck(now); at.Before(end.Time) && n < MostChecks; at = cal.NextRecheck(at) {
		n++
	}
	return max(n, 1)
}

// endHold ends the wait of the hold behind a case that is decided.
func endHold(tx *models.Tx, c models.Case) error {
	if c.HoldID == nil {
		return nil
	}
	h, err := holdOf(tx, *c.HoldID)
	if err != nil || h.Status != models.HoldWaiting {
		return err
	}
	h.Status, h.NextCheckAt = models.HoldCancelled, models.Time{}
	if err := replaceHold(tx, h); err != nil {
		return err
	}
	if err := tx.Unschedule(JobMissed, h.ID); err != nil {
		return err
	}
	ref := holdRef(h)
	ref.CaseID = c.ID
	return tx.Audit("hold.cancelled", ref, map[string]any{"checks_left": h.ChecksLeft, "reason": "The case it waited with is decided."})
}

// holdOf locks a hold behind a case.
func holdOf(tx *models.Tx, id string) (models.Hold, error) {
	var h models.Hold
	err := tx.Lock().Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID).Take(&h).Error
	return h, err
}

// receiptCame brings a held case back when a check of the hold behind it found what it waited for. A
// person confirms it: no caller resolves a case.
func (s *Service) receiptCame(tx *models.Tx, h models.Hold) error {
	if h.CaseID == nil {
		return nil
	}
	c, err := lockCase(tx, *h.CaseID)
	if err != nil || c.Status == models.CaseResolved {
		return err
	}
	marks, err := toJSON(addMarks(marksIn(c.Marks), []Mark{{MarkReceiptCame, "A re-check found the goods receipt: " + tx.By.UserName + " reported it. Confirm it so that the agent goes on."}}))
	if err != nil {
		return err
	}
	next := awake(c)
	next.Version++
	if c.Status == models.CaseHeld {
		next = returned(c)
		d, err := s.deskFor(tx, c.Code)
		if err != nil {
			return err
		}
		next.DueAt = d.due(tx.Now, c.Queue)
		if err := tx.Unschedule(JobReturn, c.ID); err != nil {
			return err
		}
	}
	next.Marks = marks
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := tx.Audit("case.reopened", c.Ref(), map[string]any{"version": next.Version, "hold_id": h.ID, "why": "receipt"}); err != nil {
		return err
	}
	if c.Status != models.CaseHeld {
		return disturb(tx, c, wakeReceipt)
	}
	return tellReturned(tx, c, "a re-check found the goods receipt")
}

// tellReturned tells who held a case that it is back, and why.
func tellReturned(tx *models.Tx, c models.Case, why string) error {
	last, err := lastDecision(tx, c.ID, 0)
	if err != nil || last == nil || last.DecidedByID == nil {
		return err
	}
	return tx.Tell(NoticeReturned, c.ID, map[string]any{"held_until": c.HeldUntil, "why": why, "invoice_id": c.InvoiceID, "invoice_number": c.InvoiceNumber,
		"supplier": supplierName(c), "queue": c.Queue}, *last.DecidedByID)
}
