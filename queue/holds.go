package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// Limits of holds.
const (
	DefaultMaxChecks = 5
	MostChecks       = 20
	leaseTime        = 10 * time.Minute
	missedAfter      = 24 * time.Hour
)

// CheckResult is what a re-check found.
type CheckResult string

// The two results a re-check reports; a check nobody reported is missed.
const (
	CheckAvailable    CheckResult = "available"
	CheckStillMissing CheckResult = "still_missing"
	checkMissed                   = "missed"
)

// HoldInput is an invoice that waits for something the ERP does not have yet, its fields already
// checked for form. A zero RecheckAt and MaxChecks mean the defaults.
type HoldInput struct {
	Code      models.Code
	Invoice   models.Invoice
	PoID      string
	Line      *int64
	RecheckAt models.Time
	MaxChecks int
	Errors    []models.SeenError
	Body      json.RawMessage
}

// HoldResult is where a hold stands, for who filed or reported it.
type HoldResult struct {
	HoldID      string            `json:"hold_id"`
	Status      models.HoldStatus `json:"status"`
	NextCheckAt models.Time       `json:"next_check_at"`
	ChecksLeft  int               `json:"checks_left"`
	Created     bool              `json:"created"`
	CaseID      string            `json:"case_id,omitempty"` // of an escalated hold
}

// HoldView is a hold as it is read and leased.
type HoldView struct {
	HoldID      string             `json:"hold_id"`
	Status      models.HoldStatus  `json:"status"`
	NextCheckAt models.Time        `json:"next_check_at"`
	ChecksLeft  int                `json:"checks_left"`
	MaxChecks   int                `json:"max_checks"`
	Code        models.Code        `json:"code"`
	Invoice     json.RawMessage    `json:"invoice"`
	PoID        string             `json:"po_id"`
	Line        *int64             `json:"line,omitempty"`
	Errors      []models.SeenError `json:"errors"`
	LeaseUntil  models.Time        `json:"lease_until"`
	CaseID      string             `json:"case_id,omitempty"`
	URL         string             `json:"url"`
	CreatedAt   models.Time        `json:"created_at"`
	Checks      []CheckView        `json:"checks,omitempty"` // of a single hold, oldest first

	Agent         string `json:"-"`
	InvoiceNumber string `json:"-"`
	Supplier      string `json:"-"`
	Amount        string `json:"-"`
	Currency      string `json:"-"`
}

// CheckView is one re-check of a hold: made, with who reported it, or missed.
type CheckView struct {
	At     models.Time `json:"at"`
	DueAt  models.Time `json:"due_at"`
	Result string      `json:"result"` // available, still_missing or missed
	By     string      `json:"by,omitempty"`
}

// Hold makes an invoice wait for a re-check, or joins the hold that already waits for the same
// invoice, order and line. It fails with UNPROCESSABLE_ENTITY for a code that is not waited for (its
// next_action is that code's own), VALIDATION_ERROR, insufficient_scope, insufficient_permission.
func (s *Service) Hold(ctx context.Context, by models.Principal, in HoldInput, idem models.Idempotency) (HoldResult, error) {
	if err := mayFile(by, models.ScopeHoldsWrite); err != nil {
		return HoldResult{}, err
	}
	if err := checkHold(&in); err != nil {
		return HoldResult{}, err
	}
	sent, err := invoiceText(in.Invoice)
	if err != nil {
		return HoldResult{}, err
	}
	if in.Errors == nil {
		in.Errors = []models.SeenError{}
	}
	errs, err := toJSON(in.Errors)
	if err != nil {
		return HoldResult{}, err
	}
	h := models.Hold{WorkspaceID: by.WorkspaceID, Status: models.HoldWaiting, Code: in.Code, InvoiceID: in.Invoice.ID, PoID: in.PoID, Line: in.Line,
		JoinKey: holdKey(in), Invoice: sent, Amount: in.Invoice.Amount.Text(), Currency: in.Invoice.Amount.Currency(), Errors: errs, Body: string(in.Body),
		MaxChecks: in.MaxChecks, ChecksLeft: in.MaxChecks, NextCheckAt: in.RecheckAt, AgentID: by.UserID, AgentName: by.UserName}
	seen := in.Invoice
	if seen.PoID == "" {
		seen.PoID = in.PoID
	}
	var out HoldResult
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		out, err = models.Once(tx, opHold, idem, func() (HoldResult, error) {
			out, err := s.holdOrJoin(tx, h)
			if err != nil {
				return out, err
			}
			return out, tx.SeeInvoice(seen, "")
		})
		return err
	})
	return out, err
}

func checkHold(in *HoldInput) error {
	entry, known := models.Lookup(in.Code)
	if !known || !in.Code.IsOutcome() {
		return models.Invalid(models.Issue{Path: "/code", Message: "must be GR_MISSING, the code that is waited for"})
	}
	if entry.NextAction != models.HoldAndRecheck {
		err := models.E(models.Unprocessable, fmt.Sprintf("%s is not waited for: its next action is %s.", in.Code, entry.NextAction),
			map[string]any{"code": string(in.Code), "next_action": string(entry.NextAction)})
		err.NextAction = entry.NextAction
		return err
	}
	if in.MaxChecks == 0 {
		in.MaxChecks = DefaultMaxChecks
	}
	var issues []models.Issue
	if in.MaxChecks < 1 || in.MaxChecks > MostChecks {
		issues = append(issues, models.Issue{Path: "/max_checks", Message: fmt.Sprintf("must be 1 to %d", MostChecks)})
	}
	if in.PoID == "" {
		issues = append(issues, models.Issue{Path: "/po_id", Message: "must name the purchase order"})
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return nil
}

// holdKey tells whether two holds wait for the same thing.
func holdKey(in HoldInput) string {
	line := ""
	if in.Line != nil {
		line = strconv.FormatInt(*in.Line, 10)
	}
	text, err := toJSON([]string{in.Invoice.ID, in.PoID, line})
	if err != nil {
		return in.Invoice.ID + "\x00" + in.PoID + "\x00" + line
	}
	return text
}

var errHoldRace = errors.New("queue: the hold was ended again and again while joining it")

func (s *Service) holdOrJoin(tx *models.Tx, h models.Hold) (HoldResult, error) {
	if h.NextCheckAt.IsZero() {
		cal, err := tx.Calendar()
		if err != nil {
			return HoldResult{}, err
		}
		h.NextCheckAt = cal.NextRecheck(tx.Now)
	}
	h.ID, h.CreatedAt, h.UpdatedAt = tx.NewID(models.PrefixHold), tx.Now, tx.Now
	for range openAttempts {
		made := tx.DB.Exec(`INSERT INTO holds (id, workspace_id, status, code, invoice_id, po_id, line, join_key, invoice, amount, currency, errors, body,
			max_checks, checks_left, next_check_at, agent_id, agent_name, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
			h.ID, h.WorkspaceID, h.Status, h.Code, h.InvoiceID, h.PoID, h.Line, h.JoinKey, h.Invoice, h.Amount, h.Currency, h.Errors, h.Body,
			h.MaxChecks, h.ChecksLeft, h.NextCheckAt, h.AgentID, h.AgentName, h.CreatedAt, h.UpdatedAt)
		if made.Error != nil {
			return HoldResult{}, made.Error
		}
		if made.RowsAffected == 1 {
			if err := tx.IndexHold(h.ID); err != nil {
				return HoldResult{}, err
			}
			if err := tx.Schedule(JobMissed, h.ID, h.NextCheckAt.Add(missedAfter)); err != nil {
				return HoldResult{}, err
			}
			notifyHold(tx, h)
			return holdResultOf(h, true), tx.Audit("hold.opened", holdRef(h), map[string]any{"next_check_at": h.NextCheckAt, "max_checks": h.MaxChecks, "po_id": h.PoID})
		}
		var there models.Hold
		err := tx.Lock().Where("workspace_id = ? AND join_key = ? AND status = 'waiting'", h.WorkspaceID, h.JoinKey).Take(&there).Error
		if errors.Is(err, models.ErrNoRow) {
			continue
		}
		if err != nil {
			return HoldResult{}, err
		}
		return holdResultOf(there, false), tx.Audit("hold.joined", holdRef(there), nil)
	}
	return HoldResult{}, errHoldRace
}

func holdResultOf(h models.Hold, created bool) HoldResult {
	out := HoldResult{HoldID: h.ID, Status: h.Status, NextCheckAt: h.NextCheckAt, ChecksLeft: h.ChecksLeft, Created: created}
	if h.CaseID != nil {
		out.CaseID = *h.CaseID
	}
	return out
}

func holdRef(h models.Hold) models.Ref { return models.Ref{Subject: h.ID, InvoiceID: h.InvoiceID} }

func notifyHold(tx *models.Tx, h models.Hold) {
	tx.Notify(models.TopicHold(h.ID), models.TopicHolds(h.WorkspaceID))
}

// filedHolds narrows a query on holds to those the principal filed or joined, unless it reads all.
func filedHolds(q *gorm.DB, by models.Principal) *gorm.DB {
	if readsAll(by) {
		return q
	}
	return q.Where(`(holds.agent_id = ? OR EXISTS (SELECT 1 FROM audit_events e WHERE e.subject = holds.id AND e.subject <> '' AND e.action = 'hold.joined' AND e.actor_id = ?))`, by.UserID, by.UserID)
}

// LeaseDue hands out due holds to re-check, for 10 minutes each, so that no two workers check the same
// one. Callers get those they filed. limit is 1 to 200. A lost answer is given again for the same key;
// its leases still end when they did.
func (s *Service) LeaseDue(ctx context.Context, by models.Principal, limit int, idem models.Idempotency) (HoldList, error) {
	if err := mayFile(by, models.ScopeHoldsWrite); err != nil {
		return HoldList{}, err
	}
	limit, err := checkLimit(limit)
	if err != nil {
		return HoldList{}, err
	}
	var out HoldList
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		out, err = models.Once(tx, opLease, idem, func() (HoldList, error) { return s.leaseDue(tx, limit) })
		return err
	})
	return out, err
}

func (s *Service) leaseDue(tx *models.Tx, limit int) (HoldList, error) {
	out := HoldList{Items: []HoldView{}}
	by := tx.By
	// Workers come one after the other instead of passing over rows that somebody works on: a hold that
	// is only being made searchable would be due and in nobody's answer.
	if err := tx.LockName("holds.lease:" + by.WorkspaceID); err != nil {
		return out, err
	}
	var due []models.Hold
	q := tx.Lock().Where("holds.workspace_id = ? AND holds.status = ? AND holds.next_check_at <= ? AND (holds.lease_until IS NULL OR holds.lease_until <= ?)",
		by.WorkspaceID, models.HoldWaiting, tx.Now, tx.Now)
	if err := filedHolds(q, by).Order("holds.next_check_at, holds.id").Limit(limit).Find(&due).Error; err != nil {
		return out, err
	}
	ids := make([]string, len(due))
	for i, h := range due {
		h.LeaseUntil = tx.Now.Add(leaseTime)
		v, err := holdViewOf(h, seesPrivate(by, !readsAll(by) || h.AgentID == by.UserID))
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, v)
		ids[i] = h.ID
		if err := tx.Audit("hold.leased", holdRef(h), map[string]any{"until": h.LeaseUntil}); err != nil {
			return out, err
		}
		notifyHold(tx, h)
	}
	if len(ids) == 0 {
		return out, nil
	}
	return out, tx.DB.Exec("UPDATE holds SET lease_until = ?, leased_by_id = ?, updated_at = ? WHERE id IN ?", tx.Now.Add(leaseTime), by.UserID, tx.Now, ids).Error
}

// ReportCheck takes the result of a re-check, which may come before the check is due. Available
// releases the hold; still missing plans the next check, and after the last opens a case. It fails
// with CONFLICT when the hold waits no more, NOT_FOUND, VALIDATION_ERROR on /result.
func (s *Service) ReportCheck(ctx context.Context, by models.Principal, holdID string, result CheckResult, idem models.Idempotency) (HoldResult, error) {
	if err := mayFile(by, models.ScopeHoldsWrite); err != nil {
		return HoldResult{}, err
	}
	if result != CheckAvailable && result != CheckStillMissing {
		return HoldResult{}, models.Invalid(models.Issue{Path: "/result", Message: "must be available or still_missing"})
	}
	var out HoldResult
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		out, err = models.Once(tx, opRecheck, idem, func() (HoldResult, error) { return s.reportCheck(tx, holdID, result) })
		return err
	})
	return out, err
}

func (s *Service) reportCheck(tx *models.Tx, holdID string, result CheckResult) (HoldResult, error) {
	h, err := lockHold(tx, holdID)
	if err != nil {
		return HoldResult{}, err
	}
	if h.Status != models.HoldWaiting {
		return HoldResult{}, notWaiting(h)
	}
	if result == CheckStillMissing {
		h, err = s.checkFailed(tx, h, string(result), tx.By.UserName)
		return holdResultOf(h, false), err
	}
	if err := addCheck(tx, h, string(result), tx.By.UserName); err != nil {
		return HoldResult{}, err
	}
	h.Status, h.NextCheckAt = models.HoldReleased, models.Time{}
	if err := replaceHold(tx, h); err != nil {
		return HoldResult{}, err
	}
	if err := tx.Unschedule(JobMissed, h.ID); err != nil {
		return HoldResult{}, err
	}
	if err := tx.Audit("hold.released", holdRef(h), map[string]any{"result": result}); err != nil {
		return HoldResult{}, err
	}
	return holdResultOf(h, false), s.receiptCame(tx, h)
}

func lockHold(tx *models.Tx, id string) (models.Hold, error) {
	var h models.Hold
	err := filedHolds(tx.Lock(), tx.By).Where("holds.id = ? AND holds.workspace_id = ?", id, tx.By.WorkspaceID).Take(&h).Error
	if errors.Is(err, models.ErrNoRow) {
		return h, models.Missing("hold", clipID(id))
	}
	return h, err
}

// replaceHold writes what may change of a hold that waits; a lease ends with every report.
func replaceHold(tx *models.Tx, h models.Hold) error {
	res := tx.DB.Exec(`UPDATE holds SET status = ?, checks_left = ?, next_check_at = ?, lease_until = NULL, leased_by_id = NULL, case_id = ?, updated_at = ?
		WHERE id = ? AND status = ?`, h.Status, h.ChecksLeft, h.NextCheckAt, h.CaseID, tx.Now, h.ID, models.HoldWaiting)
	if res.Error != nil {
		return res.Error
	}
	if res.RowsAffected == 0 {
		return models.E(models.Conflict, "The hold changed at the same moment.", map[string]any{"reason": "not_waiting", "hold_id": h.ID})
	}
	notifyHold(tx, h)
	return nil
}

func addCheck(tx *models.Tx, h models.Hold, result, byName string) error {
	return tx.DB.Create(&models.HoldCheck{ID: tx.NewID("check"), HoldID: h.ID, WorkspaceID: h.WorkspaceID, At: tx.Now, DueAt: h.NextCheckAt, Result: result, ByName: byName}).Error
}

// checkFailed uses up one check, made or missed, and plans the next; after the last a case opens.
func (s *Service) checkFailed(tx *models.Tx, h models.Hold, result, byName string) (models.Hold, error) {
	if err := addCheck(tx, h, result, byName); err != nil {
		return h, err
	}
	h.ChecksLeft--
	if h.ChecksLeft <= 0 {
		return s.escalate(tx, h, result)
	}
	cal, err := tx.Calendar()
	if err != nil {
		return h, err
	}
	h.NextCheckAt = cal.NextRecheck(tx.Now)
	if err := replaceHold(tx, h); err != nil {
		return h, err
	}
	if err := tx.Schedule(JobMissed, h.ID, h.NextCheckAt.Add(missedAfter)); err != nil {
		return h, err
	}
	action := "hold.checked"
	if result == checkMissed {
		action = "hold.check_missed"
	}
	return h, tx.Audit(action, holdRef(h), map[string]any{"result": result, "checks_left": h.ChecksLeft, "next_check_at": h.NextCheckAt})
}

// escalate hands a hold without checks left to people.
func (s *Service) escalate(tx *models.Tx, h models.Hold, result string) (models.Hold, error) {
	f, err := overdue(h)
	if err != nil {
		return h, err
	}
	d, err := s.deskFor(tx, f.code)
	if err != nil {
		return h, err
	}
	c, _, err := openOrJoin(tx, f, d)
	if err != nil {
		return h, err
	}
	h.Status, h.NextCheckAt, h.CaseID = models.HoldEscalated, models.Time{}, &c.ID
	if err := replaceHold(tx, h); err != nil {
		return h, err
	}
	if err := tx.Unschedule(JobMissed, h.ID); err != nil {
		return h, err
	}
	ref := holdRef(h)
	ref.CaseID = c.ID
	return h, tx.Audit("hold.escalated", ref, map[string]any{"result": result, "checks": h.MaxChecks, "case_id": c.ID})
}

// overdue is the handover that an escalated hold makes, in the name of the agent that filed it.
func overdue(h models.Hold) (filing, error) {
	var errs []models.SeenError
	if err := json.Unmarshal([]byte(h.Errors), &errs); err != nil {
		return filing{}, fmt.Errorf("queue: errors of %s: %w", h.ID, err)
	}
	details := map[string]any{"po_id": h.PoID}
	if h.Line != nil {
		details["line"] = *h.Line
	}
	if len(errs) == 0 {
		text, err := json.Marshal(details)
		if err != nil {
			return filing{}, err
		}
		errs = []models.SeenError{{Error: models.SeenNamedError{Code: h.Code, Message: "No goods receipt came for purchase order " + h.PoID + ".", Details: text}}}
	}
	inv, err := invoiceIn(h.Invoice, h.Amount, h.Currency)
	if err != nil {
		return filing{}, fmt.Errorf("queue: invoice of %s: %w", h.ID, err)
	}
	if inv.PoID == "" {
		inv.PoID = h.PoID
	}
	in := HandoverInput{Reason: models.ReasonNamedError, Invoice: inv, Errors: errs,
		Explanation: fmt.Sprintf("The desk waited for the goods receipt of purchase order %s: %d checks, and it is still missing.", h.PoID, h.MaxChecks)}
	f, err := newFiling(in, h.Code, len(errs)-1)
	if err != nil {
		return filing{}, err
	}
	f.marks, f.holdID, f.agentID, f.agentName = []Mark{}, h.ID, h.AgentID, h.AgentName
	return f, nil
}

// invoiceIn reads a stored invoice again.
func invoiceIn(sent, amount, currency string) (models.Invoice, error) {
	var text struct {
		ID           string `json:"id"`
		Number       string `json:"number"`
		SupplierID   string `json:"supplier_id"`
		SupplierName string `json:"supplier_name"`
		PoID         string `json:"po_id"`
		InvoiceDate  string `json:"invoice_date"`
	}
	if err := json.Unmarshal([]byte(sent), &text); err != nil {
		return models.Invoice{}, err
	}
	money, err := models.ParseMoney(amount, currency)
	inv := models.Invoice{ID: text.ID, Number: text.Number, SupplierID: text.SupplierID, SupplierName: text.SupplierName, PoID: text.PoID,
		Amount: money, Sent: json.RawMessage(sent)}
	if day, dateErr := models.ParseDate(text.InvoiceDate); dateErr == nil {
		inv.InvoiceDate = day
	}
	return inv, err
}

// missCheck counts a due check that nobody reported for 24 hours.
func (s *Service) missCheck(tx *models.Tx, job models.Job) error {
	h, err := lockHold(tx, job.Subject)
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	if err != nil || h.Status != models.HoldWaiting {
		return err
	}
	if missed := h.NextCheckAt.Add(missedAfter); tx.Now.Before(missed.Time) {
		return tx.Schedule(JobMissed, h.ID, missed)
	}
	_, err = s.checkFailed(tx, h, checkMissed, "")
	return err
}

// GetHold reads one hold. People of the workspace read every hold, callers what they filed; else
// NOT_FOUND.
func (s *Service) GetHold(ctx context.Context, by models.Principal, holdID string) (HoldView, error) {
	var out HoldView
	if err := by.NeedScope(models.ScopeHoldsRead); err != nil {
		return out, err
	}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		h, err := readHold(tx, holdID)
		if err != nil {
			return err
		}
		if out, err = holdViewOf(h, seesPrivate(by, !readsAll(by) || h.AgentID == by.UserID)); err != nil {
			return err
		}
		checks, err := checksOf(tx, h.ID)
		for _, c := range checks {
			out.Checks = append(out.Checks, CheckView{At: c.At, DueAt: c.DueAt, Result: c.Result, By: c.ByName})
		}
		return err
	})
	return out, err
}

func checksOf(tx *models.Tx, holdID string) (checks []models.HoldCheck, err error) {
	err = tx.DB.Where("hold_id = ?", holdID).Order("at, id").Find(&checks).Error
	return checks, err
}

func readHold(tx *models.Tx, id string) (models.Hold, error) {
	var h models.Hold
	err := filedHolds(tx.DB, tx.By).Where("holds.id = ? AND holds.workspace_id = ?", id, tx.By.WorkspaceID).Take(&h).Error
	if errors.Is(err, models.ErrNoRow) {
		return h, models.Missing("hold", clipID(id))
	}
	return h, err
}

func holdViewOf(h models.Hold, private bool) (HoldView, error) {
	v := HoldView{HoldID: h.ID, Status: h.Status, NextCheckAt: h.NextCheckAt, ChecksLeft: h.ChecksLeft, MaxChecks: h.MaxChecks, Code: h.Code,
		Invoice: json.RawMessage(h.Invoice), PoID: h.PoID, Line: h.Line, LeaseUntil: h.LeaseUntil, CreatedAt: h.CreatedAt, Agent: h.AgentName,
		Amount: h.Amount, Currency: h.Currency, Errors: []models.SeenError{}}
	if h.CaseID != nil {
		v.CaseID = *h.CaseID
	}
	if err := json.Unmarshal([]byte(h.Errors), &v.Errors); err != nil {
		return v, fmt.Errorf("queue: errors of %s: %w", h.ID, err)
	}
	inv, err := invoiceIn(h.Invoice, h.Amount, h.Currency)
	if err != nil {
		return v, fmt.Errorf("queue: invoice of %s: %w", h.ID, err)
	}
	v.InvoiceNumber, v.Supplier = inv.Number, inv.SupplierName
	if v.Supplier == "" {
		v.Supplier = inv.SupplierID
	}
	if !private {
		hid := &hider{}
		hid.learnRaw(v.Invoice)
		for _, e := range v.Errors {
			hid.learnRaw(e.Arguments)
			hid.learnRaw(e.Error.Details)
		}
		v.Invoice = hid.raw(v.Invoice)
		hideInErrors(hid, v.Errors)
	}
	return v, nil
}

// HoldFilter narrows a list of holds; zero fields do not narrow.
type HoldFilter struct {
	Status    models.HoldStatus
	Due       bool // waiting, and its check is due now
	InvoiceID string
	Cursor    string
	Limit     int
}

// HoldList is one page of holds, the next check first, and where the next page starts.
type HoldList struct {
	Items      []HoldView `json:"items"`
	NextCursor string     `json:"next_cursor"` // "" on the last page
}

// ListHolds lists holds without leasing them: those that wait by their next check, others newest
// first. It fails with BAD_REQUEST for a cursor it did not make and VALIDATION_ERROR for wrong values.
func (s *Service) ListHolds(ctx context.Context, by models.Principal, f HoldFilter) (HoldList, error) {
	if err := by.NeedScope(models.ScopeHoldsRead); err != nil {
		return HoldList{}, err
	}
	limit, err := checkLimit(f.Limit)
	if err != nil {
		return HoldList{}, err
	}
	if f.Status != "" && !slices.Contains([]models.HoldStatus{models.HoldWaiting, models.HoldReleased, models.HoldEscalated, models.HoldCancelled}, f.Status) {
		return HoldList{}, models.Invalid(models.Issue{Path: "/status", Message: "must be waiting, released, escalated or cancelled"})
	}
	byCheck := f.Due || f.Status == models.HoldWaiting
	sort := "-id"
	if byCheck {
		sort = "next_check_at"
	}
	after, err := readCursor(f.Cursor, sort)
	if err != nil {
		return HoldList{}, err
	}
	out := HoldList{Items: []HoldView{}}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		q := filedHolds(tx.DB, by).Where("holds.workspace_id = ?", by.WorkspaceID)
		if f.Due {
			q = q.Where("holds.status = ? AND holds.next_check_at <= ?", models.HoldWaiting, tx.Now)
		}
		if f.Status != "" {
			q = q.Where("holds.status = ?", f.Status)
		}
		if f.InvoiceID != "" {
			q = q.Where("holds.invoice_id = ?", f.InvoiceID)
		}
		if byCheck {
			if after != nil {
				q = q.Where("(holds.next_check_at, holds.id) > (?, ?)", after.At, after.ID)
			}
			q = q.Order("holds.next_check_at, holds.id")
		} else {
			if after != nil {
				q = q.Where("holds.id < ?", after.ID)
			}
			q = q.Order("holds.id DESC")
		}
		var rows []models.Hold
		if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			last := rows[limit-1]
			out.NextCursor = cursor{Sort: sort, At: last.NextCheckAt, ID: last.ID}.text()
		}
		for _, h := range rows {
			v, err := holdViewOf(h, seesPrivate(by, !readsAll(by) || h.AgentID == by.UserID))
			if err != nil {
				return err
			}
			out.Items = append(out.Items, v)
		}
		return nil
	})
	return out, err
}

// HoldPage is one hold with every check and its history, oldest first.
type HoldPage struct {
	Hold     HoldView
	Hidden   bool   // tax and bank data is not for the reader
	LeasedBy string // name of who makes the due check right now; empty when nobody does
	Zone     string // of the workspace, whose business days the checks follow
	Checks   []models.HoldCheck
	Timeline []models.AuditEvent
}

// HoldPage reads everything the page of a hold shows. It fails with NOT_FOUND.
func (s *Service) HoldPage(ctx context.Context, by models.Principal, holdID string) (HoldPage, error) {
	var out HoldPage
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		h, err := readHold(tx, holdID)
		if err != nil {
			return err
		}
		private := seesPrivate(by, h.AgentID == by.UserID)
		out.Hidden = !private
		if out.Hold, err = holdViewOf(h, private); err != nil {
			return err
		}
		if out.Checks, err = checksOf(tx, h.ID); err != nil {
			return err
		}
		ws, err := tx.Workspace()
		if err != nil {
			return err
		}
		out.Zone = ws.TimeZone
		if h.LeasedByID != nil && tx.Now.Before(h.LeaseUntil.Time) {
			holder, err := tx.User(*h.LeasedByID)
			if err != nil {
				return err
			}
			out.LeasedBy = holder.Name
		}
		return tx.DB.Where("workspace_id = ? AND subject = ? AND subject <> ''", by.WorkspaceID, h.ID).Order("at, id").Limit(maxTimeline).Find(&out.Timeline).Error
	})
	return out, err
}
