package models

import (
	"context"
	"errors"
)

// learn notes whether writes find the database in a state that takes them. A caller who left says nothing
// about it, nor does a transaction that changed nothing.
func (s *Store) learn(ctx context.Context, err error, tx *Tx) {
	switch {
	case err == nil && (len(tx.topics) > 0 || len(tx.sealing) > 0):
		s.takesWrites(ctx)
	case IsCode(err, Unavailable) && ctx.Err() == nil && !errors.Is(err, errStopping):
		if s.broken.CompareAndSwap(false, true) {
			s.log.WarnContext(ctx, "the database takes no writes", "cause", errors.Unwrap(err))
		}
	}
}

func (s *Store) takesWrites(ctx context.Context) {
	if s.broken.Load() && s.broken.CompareAndSwap(true, false) {
		s.log.InfoContext(ctx, "the database takes writes again")
	}
}

// errStopping is why a closing store takes no more writes.
var errStopping = errors.New("the store is closing")

func stopping() error {
	return E(Unavailable, "The desk is shutting down; repeat the call in a moment.", map[string]any{"retry_after_seconds": 5}).Because(errStopping)
}

// Ready says whether calls can be answered now: the database answers, and the last write did not find it
// full, read-only, locked or gone, or it takes writes again since.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil || !s.broken.Load() {
		return err
	}
	if !s.trying.CompareAndSwap(false, true) {
		return errNotYet // who asked before waits for the database still
	}
	tried := make(chan error, 1)
	go func() {
		defer s.trying.Store(false)
		tried <- s.tryWriting(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-tried:
		return err
	case <-ctx.Done():
		return errNotYet
	}
}

var (
	errNotYet = errors.New("the database takes no writes yet")
	errTried  = errors.New("tried")
)

// tryWriting writes something that changes nothing.
func (s *Store) tryWriting(ctx context.Context) error {
	err := s.InTx(ctx, Principal{}, func(tx *Tx) error {
		if !s.postgres {
			// Only what is committed meets a full disk. This writes the file's first page as it is.
			return tx.DB.Exec("PRAGMA user_version = 0").Error
		}
		if _, err := tx.Exec("INSERT INTO jobs (kind, subject, workspace_id, due_at) VALUES ('ready', ?, '', ?)", tx.NewID("try"), tx.Now); err != nil {
			return err
		}
		return errTried // nothing of it stays
	})
	if err != nil && !errors.Is(err, errTried) {
		return err
	}
	s.takesWrites(ctx)
	return nil
}
