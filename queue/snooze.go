package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/apdesk/apdesk/models"
)

// NoticeAwake tells who snoozed a case that it is back in the list.
const NoticeAwake models.NoticeKind = "case.awake"

// MostSnooze is the longest a case can be snoozed for.
const MostSnooze = 90 * 24 * time.Hour

// Why a snooze ended.
const (
	wakeTime     = "time"     // its time has come
	wakeJoined   = "joined"   // the agent stopped at the same again
	wakeAnswered = "answered" // the agent answered
	wakeReceipt  = "receipt"  // the goods receipt came
	wakePerson   = "person"   // somebody ended it
)

// SnoozeInput takes a case out of the list until a moment. Reason may be empty.
type SnoozeInput struct {
	CaseID  string
	Until   models.Time
	Reason  string
	Version int64
}

// Snooze takes an open case out of its queue's list until a moment, for who works the queue: free again,
// if by held it. The time it is due stays, and it is escalated as every other. It fails with CONFLICT
// when somebody else holds the case, when it is held or resolved, or no longer at the version seen;
// VALIDATION_ERROR on /until, /reason or /version; insufficient_permission; NOT_FOUND.
func (s *Service) Snooze(ctx context.Context, by models.Principal, in SnoozeInput) (CaseView, error) {
	return s.actIn(ctx, by, in.CaseID, "case.snooze_refused", func(tx *models.Tx) error { return s.snoozeIn(tx, in) })
}

// Unsnooze brings a snoozed case back into the list, for who works the queue. A case that is not snoozed
// stays as it is. It fails as Snooze does.
func (s *Service) Unsnooze(ctx context.Context, by models.Principal, caseID string, version int64) (CaseView, error) {
	return s.actIn(ctx, by, caseID, "case.snooze_refused", func(tx *models.Tx) error {
		c, err := openCase(tx, caseID, version)
		if err != nil || c.SnoozedUntil.IsZero() {
			return err
		}
		if err := by.NeedRole(c.Queue.Roles()...); err != nil {
			return err
		}
		return wake(tx, c, awake(c), wakePerson)
	})
}

// actIn runs an act of a person on a case in one transaction and answers the case; an act refused for
// who acts is kept on the trail.
func (s *Service) actIn(ctx context.Context, by models.Principal, caseID, refusedAs string, act func(*models.Tx) error) (CaseView, error) {
	if err := by.NeedPerson(); err != nil {
		return CaseView{}, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	var out CaseView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		if err := act(tx); err != nil {
			return err
		}
		var err error
		out, err = reread(tx, caseID)
		return err
	})
	if models.IsCode(err, models.InsufficientPermission) {
		return out, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	return out, err
}

// openCase locks a case that is open and at the version somebody saw.
func openCase(tx *models.Tx, caseID string, version int64) (models.Case, error) {
	c, err := lockCase(tx, caseID)
	if err != nil {
		return c, err
	}
	if c.Status == models.CaseResolved {
		return c, alreadyResolved(tx, c)
	}
	if version != c.Version {
		return c, stale(tx, c, version)
	}
	if c.Status == models.CaseHeld {
		return c, models.E(models.Conflict, fmt.Sprintf("The case is held until %s and comes back by itself.", c.HeldUntil),
			map[string]any{"reason": "held", "held_until": c.HeldUntil, "version": c.Version})
	}
	return c, nil
}

func (s *Service) snoozeIn(tx *models.Tx, in SnoozeInput) error {
	c, err := openCase(tx, in.CaseID, in.Version)
	if err != nil {
		return err
	}
	if err := tx.By.NeedRole(c.Queue.Roles()...); err != nil {
		return err
	}
	holder, err := holderName(tx, c)
	if err != nil {
		return err
	}
	if held := c.ClaimedAt(tx.Now); held != "" && held != tx.By.UserID {
		return heldByOther(c, holder)
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	switch {
	case !in.Until.After(tx.Now.Time):
		return models.Invalid(models.Issue{Path: "/until", Message: "must be a moment in the future"})
	case in.Until.After(tx.Now.Add(MostSnooze).Time):
		return models.Invalid(models.Issue{Path: "/until", Message: "must be within 90 days; hold the case instead, if an exit allows it"})
	}
	next := snoozed(c, tx.By.UserID, in.Until, reason)
	if err := replace(tx, c, next); err != nil {
		return err
	}
	return tx.Audit("case.snoozed", c.Ref(), withReason(map[string]any{"until": in.Until, "queue": c.Queue, "version": c.Version}, reason))
}

// snoozed is the case out of the list until then, held by nobody.
func snoozed(c models.Case, by string, until models.Time, reason string) models.Case {
	c = unclaimed(c)
	c.SnoozedUntil, c.SnoozedBy, c.SnoozeReason = until, by, reason
	return c
}

// awake is the case as it is when nobody snoozes it any more.
func awake(c models.Case) models.Case {
	c.SnoozedUntil, c.SnoozedBy, c.SnoozeReason = models.Time{}, "", ""
	return c
}

// wake writes a case that is snoozed no more and tells who snoozed it, but for what they did themself.
func wake(tx *models.Tx, before, after models.Case, why string) error {
	if err := replace(tx, before, after); err != nil {
		return err
	}
	return tellAwake(tx, before, why)
}

// tellAwake records the end of a snooze, and tells who snoozed the case.
func tellAwake(tx *models.Tx, before models.Case, why string) error {
	err := tx.Audit("case.snooze_ended", before.Ref(), map[string]any{"why": why, "until": before.SnoozedUntil, "queue": before.Queue})
	if err != nil || before.SnoozedBy == tx.By.UserID {
		return err
	}
	data := map[string]any{"ended": why, "by": tx.By.UserName, "queue": before.Queue, "invoice_id": before.InvoiceID, "invoice_number": before.InvoiceNumber,
		"supplier": supplierName(before), "note": before.SnoozeReason, "due_at": before.DueAt}
	return tx.Tell(NoticeAwake, before.ID, data, before.SnoozedBy)
}

// disturb ends the snooze of a case about which there is news from the agent.
func disturb(tx *models.Tx, before models.Case, why string) error {
	if before.SnoozedUntil.IsZero() {
		return nil
	}
	return tellAwake(tx, before, why)
}

// wakeCase brings a snoozed case back when its time has come.
func (s *Service) wakeCase(tx *models.Tx, job models.Job) error {
	c, err := lockCase(tx, job.Subject)
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	if err != nil || c.SnoozedUntil.IsZero() {
		return err
	}
	if tx.Now.Before(c.SnoozedUntil.Time) {
		return tx.Schedule(JobWake, c.ID, c.SnoozedUntil)
	}
	return wake(tx, c, awake(c), wakeTime)
}

// SnoozeView is how a case is snoozed and whether the reader may change that.
type SnoozeView struct {
	Until  models.Time // zero: it is not snoozed
	By     string      // name
	Mine   bool
	Reason string
	May    bool // the reader may snooze it, or bring it back
}

func snoozeOf(tx *models.Tx, c models.Case) (SnoozeView, error) {
	holder := c.ClaimedAt(tx.Now)
	v := SnoozeView{Until: c.SnoozedUntil, Mine: c.SnoozedBy != "" && c.SnoozedBy == tx.By.UserID, Reason: c.SnoozeReason,
		May: tx.By.IsPerson() && c.Status == models.CaseOpen && works(tx.By, c.Queue) && (holder == "" || holder == tx.By.UserID)}
	if c.SnoozedUntil.IsZero() {
		return v, nil
	}
	u, err := tx.User(c.SnoozedBy)
	v.By = u.Name
	return v, err
}
