package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// What changed is written for the search a moment after the commit: taking a record's texts apart, and
// its place in the index of terms, cost more than the change itself, and less when many records are
// written together. The transaction of the change only notes which record is due, so that a search
// finds it whatever happens to the process in between.

const (
	searchLock     = "search:backlog" // one desk writes for the search at a time
	searchPause    = 300 * time.Millisecond
	searchSweep    = 15 * time.Second // what another process left, or a failure, is done at the latest after this
	searchPatience = time.Second      // a search does not wait longer for what is due; see Options
	searchRest     = 3                // times as long as writing a batch took, others write alone when they want to
)

// searchBatch is how many records are written in one transaction. On SQLite other writes wait for it; on
// PostgreSQL the records stay locked until it ends.
func (s *Store) searchBatch() int {
	if s.postgres {
		return 10
	}
	return 64
}

// dueForSearch notes that the search has to look at a record again.
func (tx *Tx) dueForSearch(source, id string) error {
	tx.searchDue = true
	_, err := tx.Exec("INSERT INTO search_due (workspace_id, source, subject) VALUES (?, ?, ?)", tx.By.WorkspaceID, source, id)
	return searchWritten(err)
}

// IndexCase makes a case found by its invoice and by what agents wrote on it, soon after the commit.
func (tx *Tx) IndexCase(id string) error { return tx.dueForSearch("cases", id) }

// IndexRequest makes an approval request found, soon after the commit.
func (tx *Tx) IndexRequest(id string) error { return tx.dueForSearch("approval_requests", id) }

// IndexHold makes a hold found, soon after the commit.
func (tx *Tx) IndexHold(id string) error { return tx.dueForSearch("holds", id) }

// IndexConfirmation makes another server's question found by the server, the tool and its words, soon
// after the commit.
func (tx *Tx) IndexConfirmation(id string) error { return tx.dueForSearch("confirmations", id) }

// IndexComment makes a comment found by its text and by the invoice of its case, soon after the commit.
func (tx *Tx) IndexComment(id string) error { return tx.dueForSearch("comments", id) }

// IndexDecision makes the reason of a decision found, soon after the commit.
func (tx *Tx) IndexDecision(id string) error { return tx.dueForSearch("decisions", id) }

// IndexVote makes the reason of a vote found, soon after the commit.
func (tx *Tx) IndexVote(id string) error { return tx.dueForSearch("votes", id) }

// searchRounds lets those who search wait for those who write for the search.
type searchRounds struct {
	due chan struct{} // something is due
	now chan struct{} // somebody waits for it

	mu   sync.Mutex
	next *searchRound // the one that runs, or else the next one
}

type searchRound struct {
	ended  chan struct{} // closed at its end
	failed bool          // known once it ended
}

func (r *searchRounds) start() {
	r.due, r.now, r.next = make(chan struct{}, 1), make(chan struct{}, 1), &searchRound{ended: make(chan struct{})}
}

func (r *searchRounds) wake() { poke(r.due) }

// hurry begins a round at once, and gives the one that ends next.
func (r *searchRounds) hurry() *searchRound {
	r.mu.Lock()
	defer r.mu.Unlock()
	poke(r.now)
	return r.next
}

// rest waits for a while; when somebody searches meanwhile it ends, and says that there is no more rest.
func (r *searchRounds) rest(ctx context.Context, d time.Duration) (undisturbed bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.now:
		return false
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

func (r *searchRounds) end(failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next.failed = failed
	close(r.next.ended)
	r.next = &searchRound{ended: make(chan struct{})}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keepSearch writes what is due until ctx ends. It lets a burst gather, unless somebody searches.
func (s *Store) keepSearch(ctx context.Context) {
	s.fillSearch(ctx)
	sweep := time.NewTicker(searchSweep)
	defer sweep.Stop()
	poke(s.search.now) // what a process before left
	for {
		giveWay := true
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
		case <-s.search.now:
			giveWay = false
		case <-s.search.due:
			giveWay = s.search.rest(ctx, searchPause)
		}
		err := s.indexDue(ctx, giveWay)
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "records not searchable yet", "cause", err)
		}
		s.search.end(err != nil)
	}
}

// awaitSearch lets what is due now be written before somebody searches, for a bounded time: a search
// answers also while nothing can be written.
func (s *Store) awaitSearch(ctx context.Context) {
	last, err := s.lastDue(ctx, 1<<62)
	if err != nil || last == 0 {
		return
	}
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	for {
		round := s.search.hurry()
		if left, err := s.lastDue(ctx, last); err != nil || left == 0 {
			return
		}
		select {
		case <-round.ended:
			if round.failed {
				return // nothing can be written just now
			}
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lastDue is the last place among what is due, up to one; 0: nothing is.
func (s *Store) lastDue(ctx context.Context, upTo int64) (last int64, err error) {
	rows, err := s.reader.QueryContext(ctx, s.places("SELECT COALESCE(MAX(seq), 0) FROM search_due WHERE seq <= ?"), upTo)
	if err != nil {
		return 0, err
	}
	return last, firstRow(rows, &last)
}

// dueRecord is a record that the search has to look at again.
type dueRecord struct {
	Seq         int64
	WorkspaceID string
	Source      string
	Subject     string
}

// indexDue writes for the search what is due until nothing is. A record that cannot be read does not
// keep others from being found. When told to give way, it leaves most of the time to those who hand
// something over, as long as some do and nobody searches.
func (s *Store) indexDue(ctx context.Context, giveWay bool) error {
	for most := s.searchBatch(); ; {
		if last, err := s.lastDue(ctx, 1<<62); err != nil || last == 0 {
			return translate(err)
		}
		var taken []dueRecord
		began, before := time.Now(), s.committed.Load()
		err := s.InTx(ctx, System(""), func(tx *Tx) error {
			var err error
			taken, err = tx.indexSome(most)
			return err
		})
		if othersWrote := s.committed.Load() > before+1; err == nil && giveWay && othersWrote {
			giveWay = s.search.rest(ctx, searchRest*time.Since(began))
		}
		switch {
		case err == nil:
			most = s.searchBatch()
		case ctx.Err() != nil || IsCode(err, Unavailable) || len(taken) == 0:
			return err
		case most > 1:
			most = 1
		default:
			s.log.ErrorContext(ctx, "a record cannot be searched", "source", taken[0].Source, "subject", taken[0].Subject, "cause", err)
			if err := s.InTx(ctx, System(""), func(tx *Tx) error {
				_, err := tx.Exec("DELETE FROM search_due WHERE seq = ?", taken[0].Seq)
				return err
			}); err != nil {
				return err
			}
		}
	}
}

// indexSome takes some of the records that are due and writes them.
func (tx *Tx) indexSome(most int) (taken []dueRecord, err error) {
	if err := tx.LockName(searchLock); err != nil {
		return nil, err
	}
	taken, err = All[dueRecord](tx, "DELETE FROM search_due WHERE seq IN (SELECT seq FROM search_due ORDER BY seq LIMIT ?) RETURNING seq, workspace_id, source, subject", most)
	if err != nil {
		return nil, searchRead(err)
	}
	slices.SortFunc(taken, func(a, b dueRecord) int { return int(a.Seq - b.Seq) })
	tx.indexing = map[int64]bool{}
	done := map[dueRecord]bool{}
	for _, due := range taken {
		record := due
		record.Seq = 0
		if done[record] {
			continue
		}
		done[record] = true
		inside := *tx
		inside.By = System(due.WorkspaceID)
		if err := inside.index(due); err != nil {
			return taken, err
		}
	}
	return taken, tx.writeIndex()
}

func (tx *Tx) index(due dueRecord) error {
	for _, source := range searchSources {
		if source.table != due.Source {
			continue
		}
		err := source.add(tx, due.Subject)
		if errors.Is(err, ErrNoRow) {
			return nil // it was removed meanwhile
		}
		return err
	}
	return fmt.Errorf("models: search: unknown source %q", due.Source)
}

// reindex notes that the terms of a record's row are to be written. What the index holds of the row is
// taken out now, before the row changes: the index reads it there.
func (tx *Tx) reindex(seq int64, there bool) error {
	if tx.store.postgres || tx.indexing[seq] {
		return nil // PostgreSQL keeps the terms itself
	}
	tx.indexing[seq] = true
	if !there {
		return nil
	}
	_, err := tx.Exec("DELETE FROM search_index WHERE docid = ?", seq)
	return searchWritten(err)
}

// writeIndex writes the terms of the rows that changed in one statement, in the order of their keys, so
// that they become one segment of the index.
func (tx *Tx) writeIndex() error {
	if len(tx.indexing) == 0 {
		return nil
	}
	rows := make([]int64, 0, len(tx.indexing))
	for seq := range tx.indexing {
		rows = append(rows, seq)
	}
	slices.Sort(rows)
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO search_index (docid, norm) SELECT seq, norm FROM search_docs WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq", string(list))
	return searchWritten(err)
}
