package models

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// JobKind names what is to be done when a job is due.
type JobKind string

// Job is work that is due at a time. There is at most one per kind and subject.
type Job struct {
	Kind        JobKind `gorm:"primaryKey"`
	Subject     string  `gorm:"primaryKey"`
	WorkspaceID string
	DueAt       Time
	Attempts    int
	LastError   string
}

// Schedule plans a job, in the transaction of the change that makes it needed. A job of the same kind
// and subject is moved to the new time.
func (tx *Tx) Schedule(kind JobKind, subject string, due Time) error {
	if tx.job.IsZero() || due.Before(tx.job.Time) {
		tx.job = due
	}
	_, err := tx.Exec(`INSERT INTO jobs (kind, subject, workspace_id, due_at, attempts, last_error) VALUES (?, ?, ?, ?, 0, '')
		ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at, attempts = 0, last_error = ''`, string(kind), subject, tx.By.WorkspaceID, due)
	return err
}

// Unschedule drops a job that is no longer needed.
func (tx *Tx) Unschedule(kind JobKind, subject string) error {
	_, err := tx.Exec("DELETE FROM jobs WHERE kind = ? AND subject = ?", string(kind), subject)
	return err
}

// alarm is when the worker means to look again: a job planned for later need not wake it. Zero while it
// looks, when anything may have to.
type alarm struct{ at atomic.Int64 }

func (a *alarm) set(at time.Time) { a.at.Store(at.UnixMicro()) }
func (a *alarm) clear()           { a.at.Store(0) }

// before says whether the worker would look too late for a job.
func (a *alarm) before(due Time) bool {
	at := a.at.Load()
	return at == 0 || due.UnixMicro() < at
}

// JobFunc does a due job inside tx, which acts as the desk itself in the job's workspace. The job is
// gone when it succeeds, unless it scheduled itself again; on an error it is tried later.
type JobFunc func(tx *Tx, job Job) error

// Worker runs due jobs, each in one transaction together with its removal, so that any number of
// workers on one database do each job once.
type Worker struct {
	store    *Store
	log      *slog.Logger
	handlers map[JobKind]JobFunc
}

// NewWorker makes a worker with the job kinds it knows; others are left for a newer version.
func NewWorker(store *Store, log *slog.Logger, handlers ...map[JobKind]JobFunc) *Worker {
	w := &Worker{store: store, log: log, handlers: map[JobKind]JobFunc{}}
	for _, set := range handlers {
		for kind, fn := range set {
			w.handlers[kind] = fn
		}
	}
	return w
}

const (
	jobLookAhead = time.Minute      // a job planned by another process is noticed at the latest after this
	jobRetry     = 30 * time.Second // first pause after a failure, doubled up to jobRetryMax
	jobRetryMax  = time.Hour
	jobBatch     = 100
)

// Run does jobs as they become due until ctx ends. While nothing is due it sleeps; it does not poll.
func (w *Worker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		w.store.alarm.clear() // before reading, so that no job falls in between
		next, err := w.RunDue(ctx)
		pause := jobLookAhead
		if err != nil && ctx.Err() == nil {
			w.log.Warn("due jobs not read", "cause", err)
			pause = 5 * time.Second
		} else if !next.IsZero() {
			pause = min(pause, max(0, next.Sub(w.store.Now().Time)))
		}
		w.store.alarm.set(w.store.Now().Time.Add(pause))
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-w.store.jobs:
		}
		timer.Stop()
	}
}

// RunDue does every job that is due now and answers when the next one will be; the zero time means
// none is planned.
func (w *Worker) RunDue(ctx context.Context) (next Time, err error) {
	kinds := make([]JobKind, 0, len(w.handlers))
	for k := range w.handlers {
		kinds = append(kinds, k)
	}
	for {
		var jobs []Job
		err := w.store.View(ctx, Principal{}, func(tx *Tx) error {
			err := tx.DB.Where("kind IN ? AND due_at <= ?", kinds, tx.Now).Order("due_at").Limit(jobBatch).Find(&jobs).Error
			if err != nil || len(jobs) > 0 {
				return err
			}
			var first []Job
			err = tx.DB.Select("due_at").Where("kind IN ?", kinds).Order("due_at").Limit(1).Find(&first).Error
			if len(first) == 1 {
				next = first[0].DueAt
			}
			return err
		})
		if err != nil || len(jobs) == 0 {
			return next, err
		}
		for _, job := range jobs {
			if err := w.runOne(ctx, job); err != nil {
				return Time{}, err
			}
		}
	}
}

var errNotDue = errors.New("done by somebody else, or moved")

func (w *Worker) runOne(ctx context.Context, job Job) error {
	by := System(job.WorkspaceID)
	err := w.store.InTx(ctx, by, func(tx *Tx) error {
		gone := tx.DB.Where("kind = ? AND subject = ? AND due_at <= ?", job.Kind, job.Subject, tx.Now).Delete(&Job{})
		if gone.Error != nil {
			return gone.Error
		}
		if gone.RowsAffected == 0 {
			return errNotDue
		}
		return w.handlers[job.Kind](tx, job)
	})
	if err == nil || errors.Is(err, errNotDue) {
		return nil
	}
	if ctx.Err() != nil || IsCode(err, Unavailable) {
		return err
	}
	w.log.Error("job failed, will be tried again", "kind", job.Kind, "subject", job.Subject, "attempts", job.Attempts+1, "cause", err)
	pause := min(jobRetry<<min(job.Attempts, 10), jobRetryMax)
	return w.store.InTx(ctx, by, func(tx *Tx) error {
		// Only as it was: one that was moved meanwhile keeps its new time.
		return tx.DB.Model(&Job{}).Where("kind = ? AND subject = ? AND due_at = ?", job.Kind, job.Subject, job.DueAt).
			Updates(map[string]any{"attempts": job.Attempts + 1, "last_error": err.Error(), "due_at": tx.Now.Add(pause)}).Error
	})
}
