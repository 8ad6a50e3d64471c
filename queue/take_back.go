package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// exitWithdrawn is how a case ends that its agent takes back. No person can choose it.
const exitWithdrawn = "withdrawn"

// WithdrawInput takes a case back. Reason may be empty.
type WithdrawInput struct {
	CaseID string
	Reason string
}

// CancelInput ends a hold. Reason may be empty.
type CancelInput struct {
	HoldID string
	Reason string
}

// CaseToWithdraw reads a case that by could withdraw now, and fails as WithdrawCase would. It changes
// nothing.
func (s *Service) CaseToWithdraw(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	if err := mayFile(by, models.ScopeCasesWrite); err != nil {
		return CaseView{}, err
	}
	var out CaseView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		row, private, err := readCase(tx, caseID)
		if err != nil {
			return err
		}
		if err := withdrawable(tx, row.Case); err != nil {
			return err
		}
		out, err = viewOf(tx, row, private)
		return err
	})
	return out, err
}

// WithdrawCase resolves a case that by handed over, with exit withdrawn: nobody has to decide it any
// more, whoever holds it. It fails with CONFLICT when the case is resolved, insufficient_permission when
// somebody else handed it over, VALIDATION_ERROR on /reason, NOT_FOUND.
func (s *Service) WithdrawCase(ctx context.Context, by models.Principal, in WithdrawInput, idem models.Idempotency) (CaseView, error) {
	var out CaseView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		out, err = models.Once(tx, OpWithdrawCase, idem, func() (CaseView, error) { return s.WithdrawCaseIn(tx, in) })
		return err
	})
	return out, err
}

// WithdrawCaseIn is WithdrawCase inside the caller's transaction.
func (s *Service) WithdrawCaseIn(tx *models.Tx, in WithdrawInput) (CaseView, error) {
	if err := mayFile(tx.By, models.ScopeCasesWrite); err != nil {
		return CaseView{}, err
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return CaseView{}, err
	}
	if _, _, err := readCase(tx, in.CaseID); err != nil {
		return CaseView{}, err
	}
	c, err := lockCase(tx, in.CaseID)
	if err != nil {
		return CaseView{}, err
	}
	if err := withdrawable(tx, c); err != nil {
		return CaseView{}, err
	}
	note := "Withdrawn by " + tx.By.UserName + "."
	next := withdrawn(c, tx.Now)
	text, err := toJSON(models.Instruction{Kind: models.InstructStop, Note: note})
	if err != nil {
		return CaseView{}, err
	}
	next.Instruction = &text
	if err := replace(tx, c, next); err != nil {
		return CaseView{}, err
	}
	if c.Status == models.CaseHeld {
		if err := tx.Unschedule(JobReturn, c.ID); err != nil {
			return CaseView{}, err
		}
	}
	if err := endHold(tx, c); err != nil {
		return CaseView{}, err
	}
	if c.Code == models.ApproverNotFound && c.RequestID != nil && s.approvals != nil {
		// The request behind the case would wait for a lead who has nothing to decide any more.
		if err := s.approvals.Supersede(tx, next, tx.By, exitWithdrawn); err != nil {
			return CaseView{}, err
		}
	}
	d := models.Decision{ID: tx.NewID(models.PrefixDecision), WorkspaceID: c.WorkspaceID, CaseID: c.ID, InvoiceID: c.InvoiceID, Exit: exitWithdrawn,
		InstructionKind: models.InstructStop, Instruction: next.Instruction, Input: "{}", Reason: reason, DecidedByID: &tx.By.UserID, DecidedByName: tx.By.UserName,
		Role: models.RoleAgent, CaseVersion: c.Version, ApprovalRequestIDs: "[]", DecidedAt: tx.Now}
	if err := tx.DB.Create(&d).Error; err != nil {
		return CaseView{}, err
	}
	if err := tx.IndexDecision(d.ID); err != nil {
		return CaseView{}, err
	}
	if err := tx.Audit("case.withdrawn", c.Ref(), withReason(map[string]any{"version": next.Version, "queue": c.Queue}, reason)); err != nil {
		return CaseView{}, err
	}
	if err := tx.Audit("case.resolved", c.Ref(), map[string]any{"version": next.Version, "exit": exitWithdrawn}); err != nil {
		return CaseView{}, err
	}
	return reread(tx, c.ID)
}

// withdrawn is the case after its agent took it back.
func withdrawn(c models.Case, now models.Time) models.Case {
	c = awake(unclaimed(c))
	c.Version++
	c.Status, c.HeldUntil, c.ResolvedAt = models.CaseResolved, models.Date{}, now
	return c
}

// withdrawable says why the principal may not withdraw a case it may read.
func withdrawable(tx *models.Tx, c models.Case) error {
	filed, err := filedBy(tx, c)
	if err != nil {
		return err
	}
	if !filed {
		return models.E(models.InsufficientPermission, "Only the account that handed this case over can withdraw it.",
			map[string]any{"permission": "asker", "case_id": c.ID})
	}
	if c.Status == models.CaseResolved {
		return alreadyResolved(tx, c)
	}
	return nil
}

// HoldToCancel reads a hold that by could cancel now, and fails as CancelHold would. It changes nothing.
func (s *Service) HoldToCancel(ctx context.Context, by models.Principal, holdID string) (HoldView, error) {
	if err := mayFile(by, models.ScopeHoldsWrite); err != nil {
		return HoldView{}, err
	}
	var out HoldView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		h, err := readHold(tx, holdID)
		if err != nil {
			return err
		}
		if err := cancellable(tx, h); err != nil {
			return err
		}
		out, err = holdViewOf(h, true)
		return err
	})
	return out, err
}

// CancelHold ends a hold that by filed or joined: no check of it comes due any more, and a lease on it
// ends. It fails with CONFLICT when the hold waits no more, insufficient_permission when somebody else
// filed it, VALIDATION_ERROR on /reason, NOT_FOUND.
func (s *Service) CancelHold(ctx context.Context, by models.Principal, in CancelInput, idem models.Idempotency) (HoldResult, error) {
	var out HoldResult
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		out, err = models.Once(tx, OpCancelHold, idem, func() (HoldResult, error) { return s.CancelHoldIn(tx, in) })
		return err
	})
	return out, err
}

// CancelHoldIn is CancelHold inside the caller's transaction.
func (s *Service) CancelHoldIn(tx *models.Tx, in CancelInput) (HoldResult, error) {
	if err := mayFile(tx.By, models.ScopeHoldsWrite); err != nil {
		return HoldResult{}, err
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return HoldResult{}, err
	}
	h, err := lockHold(tx, in.HoldID)
	if err != nil {
		return HoldResult{}, err
	}
	if err := cancellable(tx, h); err != nil {
		return HoldResult{}, err
	}
	h.Status, h.NextCheckAt = models.HoldCancelled, models.Time{}
	if err := replaceHold(tx, h); err != nil {
		return HoldResult{}, err
	}
	if err := tx.Unschedule(JobMissed, h.ID); err != nil {
		return HoldResult{}, err
	}
	return holdResultOf(h, false), tx.Audit("hold.cancelled", holdRef(h), withReason(map[string]any{"checks_left": h.ChecksLeft}, reason))
}

// cancellable says why the principal may not cancel a hold it may read.
func cancellable(tx *models.Tx, h models.Hold) error {
	own := tx.By
	own.Roles = []models.Role{models.RoleAgent} // what else it may read as is no reason to cancel it
	var filed models.Hold
	err := filedHolds(tx.DB, own).Where("holds.id = ?", h.ID).Take(&filed).Error
	if errors.Is(err, models.ErrNoRow) {
		return models.E(models.InsufficientPermission, "Only the account that filed this hold can cancel it.",
			map[string]any{"permission": "asker", "hold_id": h.ID})
	}
	if err != nil {
		return err
	}
	if h.Status != models.HoldWaiting {
		return notWaiting(h)
	}
	return nil
}

func notWaiting(h models.Hold) error {
	return models.E(models.Conflict, fmt.Sprintf("The hold waits no more: it is %s.", h.Status),
		map[string]any{"reason": "not_waiting", "status": h.Status, "hold_id": h.ID})
}

// reasonOf checks the words somebody gave for taking something back.
func reasonOf(reason string) (string, error) { return models.CheckReason(reason, maxLongText) }

func withReason(data map[string]any, reason string) map[string]any {
	if reason != "" {
		data["reason"] = reason
	}
	return data
}
