package models

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm/clause"
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
	tx.jobs = true
	return tx.DB.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "kind"}, {Name: "subject"}},
		DoUpdates: clause.Assignments(map[string]any{"due_at": due, "attempts": 0, "last_error": ""}),
	}).Create(&Job{Kind: kind, Subject: subject, WorkspaceID: tx.By.WorkspaceID, DueAt: due}).Error
}

// Unschedule drops a job that is no longer needed.
func (tx *Tx) Unschedule(kind JobKind, subject string) error {
	return tx.DB.Where("kind = ? AND subject = ?", kind, subject).Delete(&Job{}).Error
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
		next, err := w.RunDue(ctx)
		pause := jobLookAhead
		if err != nil && ctx.Err() == nil {
			w.log.Warn("due jobs not read", "cause", err)
			pause = 5 * time.Second
		} else if !next.IsZero() {
			pause = min(pause, max(0, next.Sub(w.store.Now().Time)))
		}
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
		now := w.store.Now()
		err := w.store.View(ctx, Principal{}, func(tx *Tx) error {
			return tx.DB.Where("kind IN ?", kinds).Order("due_at").Limit(jobBatch).Find(&jobs).Error
		})
		if err != nil || len(jobs) == 0 {
			return Time{}, err
		}
		for _, job := range jobs {
			if job.DueAt.After(now.Time) {
				return job.DueAt, nil
			}
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
