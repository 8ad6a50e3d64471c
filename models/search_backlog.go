package models

import (
	"context"
	"errors"
	"fmt"
)

// backlogBatch is how many records from before the search are added in one transaction, so that
// writers wait no longer than for some of them and memory holds no more.
const backlogBatch = 50

// searchSources are the tables whose records are searched, in the order in which those from before are
// added, and how one of their records is.
var searchSources = []struct {
	table string
	add   func(tx *Tx, id string) error
}{
	{"cases", (*Tx).indexCase},
	{"approval_requests", (*Tx).indexRequest},
	{"holds", (*Tx).indexHold},
	{"confirmations", (*Tx).indexConfirmation},
	{"seen_invoices", (*Tx).indexSeen},
	{"comments", (*Tx).indexComment},
	{"decisions", (*Tx).indexDecision},
	{"votes", (*Tx).indexVote},
}

// backlog is how far the search has come in a table.
type backlog struct {
	Source  string
	AfterWs string
	AfterID string
}

// FillSearch adds the records from before the search, and those that changed since, until none is left.
// It goes on where it was stopped; of several desks on one database each adds some.
func (s *Store) FillSearch(ctx context.Context) error {
	for {
		left := false
		err := s.InTx(ctx, System(""), func(tx *Tx) error {
			var err error
			left, err = tx.fillSome()
			return err
		})
		if err != nil {
			return err
		}
		if !left {
			return s.indexDue(ctx, false)
		}
	}
}

// fillSearch is FillSearch in the background of a desk that starts, beside everything else.
func (s *Store) fillSearch(ctx context.Context) {
	var waiting int64
	if err := s.read.WithContext(ctx).Raw("SELECT count(*) FROM search_backlog").Scan(&waiting).Error; err != nil || waiting == 0 {
		return // what stops this stops everything, and is told elsewhere
	}
	s.bg.Go(func() {
		if err := s.FillSearch(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "records from before the search could not be added; the next start goes on", "cause", err)
		}
	})
}

// fillSome adds the next records and says whether others are left.
func (tx *Tx) fillSome() (left bool, err error) {
	if err := tx.LockName(searchLock); err != nil {
		return false, err
	}
	for _, source := range searchSources {
		at, err := One[backlog](tx, "SELECT source, after_ws, after_id FROM search_backlog WHERE source = ?", source.table)
		if errors.Is(err, ErrNoRow) {
			continue
		}
		if err != nil {
			return false, searchRead(err)
		}
		return true, tx.fillFrom(at, source.add)
	}
	return false, nil
}

func (tx *Tx) fillFrom(at backlog, add func(*Tx, string) error) error {
	query, args := "SELECT workspace_id, id FROM "+at.Source+" WHERE id > ? ORDER BY id LIMIT ?", []any{at.AfterID, backlogBatch}
	if at.Source == "seen_invoices" {
		query = "SELECT workspace_id, invoice_id AS id FROM seen_invoices WHERE (workspace_id, invoice_id) > (?, ?) ORDER BY workspace_id, invoice_id LIMIT ?"
		args = []any{at.AfterWs, at.AfterID, backlogBatch}
	}
	type row struct{ WorkspaceID, ID string }
	rows, err := All[row](tx, query, args...)
	if err != nil {
		return searchRead(err)
	}
	tx.indexing = map[int64]bool{}
	for _, r := range rows {
		inside := *tx
		inside.By = System(r.WorkspaceID)
		if err := add(&inside, r.ID); err != nil {
			return fmt.Errorf("%s: %w", r.ID, err)
		}
	}
	if err := tx.writeIndex(); err != nil {
		return err
	}
	if len(rows) < backlogBatch {
		_, err := tx.Exec("DELETE FROM search_backlog WHERE source = ?", at.Source)
		return err
	}
	last := rows[len(rows)-1]
	_, err = tx.Exec("UPDATE search_backlog SET after_ws = ?, after_id = ? WHERE source = ?", last.WorkspaceID, last.ID, at.Source)
	return err
}
