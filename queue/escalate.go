package queue

import (
	"github.com/apdesk/apdesk/models"
)

// NoticeOverdue tells of a case that is past its time.
const NoticeOverdue models.NoticeKind = "case.overdue"

// follow keeps the jobs of a case in step with it, in the transaction of the change: an open case is
// escalated when it is due, whoever holds it and whether it is snoozed or not; one that is held or
// resolved is not; and who ends a snooze early takes its wake-up away.
func follow(tx *models.Tx, before, after models.Case) error {
	wasOpen, isOpen := before.Status == models.CaseOpen, after.Status == models.CaseOpen
	switch {
	case isOpen && (!wasOpen || !before.DueAt.Equal(after.DueAt.Time)):
		if err := watch(tx, after); err != nil {
			return err
		}
	case wasOpen && !isOpen:
		if err := tx.Unschedule(JobOverdue, after.ID); err != nil {
			return err
		}
	}
	switch {
	case !after.SnoozedUntil.IsZero() && !after.SnoozedUntil.Equal(before.SnoozedUntil.Time):
		return tx.Schedule(JobWake, after.ID, after.SnoozedUntil)
	case !before.SnoozedUntil.IsZero() && after.SnoozedUntil.IsZero():
		return tx.Unschedule(JobWake, after.ID)
	}
	return nil
}

// watch plans the escalation of an open case for when it is due. It is planned also while the queue's
// cases are not escalated, since that is looked at when the time comes.
func watch(tx *models.Tx, c models.Case) error {
	return tx.Schedule(JobOverdue, c.ID, c.DueAt)
}

// overdueCase brings a case that nobody decided in time before the AP leads and everybody who works its
// queue, once for each time it is due.
func (s *Service) overdueCase(tx *models.Tx, job models.Job) error {
	c, err := lockCase(tx, job.Subject)
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Status != models.CaseOpen || !c.EscalatedAt.IsZero() {
		return nil
	}
	if tx.Now.Before(c.DueAt.Time) {
		return watch(tx, c)
	}
	hours, err := tx.WorkHours()
	if err != nil {
		return err
	}
	if !hours.SLA(c.Queue).Escalate {
		return nil
	}
	next := c
	next.EscalatedAt = tx.Now
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := tx.Audit("case.escalated", c.Ref(), map[string]any{"queue": c.Queue, "due_at": c.DueAt, "version": c.Version}); err != nil {
		return err
	}
	holder, err := holderName(tx, c)
	if err != nil {
		return err
	}
	data := map[string]any{"queue": c.Queue, "due_at": c.DueAt, "invoice_id": c.InvoiceID, "invoice_number": c.InvoiceNumber, "supplier": supplierName(c),
		"amount": c.Amount, "currency": c.Currency, "code": c.Code, "claimed_by": holder}
	return tx.TellRole(NoticeOverdue, c.ID, data, append([]models.Role{models.RoleAPLead}, c.Queue.Roles()...)...)
}
