package queue

import (
	"github.com/apdesk/apdesk/models"
)

// Kinds of jobs; the subject is the case's or the hold's id.
const (
	JobReturn models.JobKind = "case.return" // a held case's day has come
	JobMissed models.JobKind = "hold.missed" // a due check was not reported in time

	JobOverdue models.JobKind = "case.overdue" // an open case is due
	JobWake    models.JobKind = "case.wake"    // a snoozed case's time has come

	JobPeriodOver models.JobKind = "period.reopened_over" // the time is up for which a case reopened the period
)

// Jobs are what happens to cases and holds by itself.
func (s *Service) Jobs() map[models.JobKind]models.JobFunc {
	return map[models.JobKind]models.JobFunc{
		JobReturn:     s.returnCase,
		JobMissed:     s.missCheck,
		JobOverdue:    s.overdueCase,
		JobWake:       s.wakeCase,
		JobPeriodOver: s.periodOver,
	}
}

// returnCase opens a held case on the day it was held until, with a new time to decide it in.
func (s *Service) returnCase(tx *models.Tx, job models.Job) error {
	c, err := lockCase(tx, job.Subject)
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Status != models.CaseHeld {
		return nil
	}
	d, err := s.deskFor(tx, c.Code)
	if err != nil {
		return err
	}
	if start := c.HeldUntil.StartIn(d.calendar.Zone()); tx.Now.Before(start.Time) {
		return tx.Schedule(JobReturn, c.ID, start)
	}
	next := returned(c)
	next.DueAt = d.due(tx.Now, c.Queue)
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := tx.Audit("case.reopened", c.Ref(), map[string]any{"version": next.Version, "held_until": c.HeldUntil}); err != nil {
		return err
	}
	return tellReturned(tx, c, "")
}
