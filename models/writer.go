package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"
)

// maxBatch bounds how many transactions share one commit.
const maxBatch = 64

// writer is SQLite's one writer: a goroutine that takes what has queued up, runs it piece by piece inside
// one transaction, and commits once. There is no timer: a lone write commits at once, and under load
// the commit's fsync is shared. An answer is given only after the commit. A piece may run twice.
type writer struct {
	db    *gorm.DB
	sql   *sql.DB // behind db
	queue chan write
	quit  chan struct{}
	done  chan struct{}

	rehearse bool
}

type write struct {
	ctx   context.Context
	fn    func(*gorm.DB) error
	reply chan error
}

func startWriter(db *gorm.DB, behind *sql.DB, rehearse bool) *writer {
	w := &writer{rehearse: rehearse, db: db, sql: behind, queue: make(chan write, 1024), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

func (w *writer) stop() {
	close(w.quit)
	<-w.done
}

// do queues fn and waits for its commit. A caller that goes away while fn still waits in the queue
// leaves nothing behind; once it runs it is finished.
func (w *writer) do(ctx context.Context, fn func(*gorm.DB) error) error {
	job := write{ctx: ctx, fn: fn, reply: make(chan error, 1)}
	select {
	case w.queue <- job:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return stopping()
	}
	select {
	case err := <-job.reply:
		return err
	case <-w.done:
		select {
		case err := <-job.reply:
			return err
		default:
			return stopping()
		}
	}
}

func (w *writer) loop() {
	defer close(w.done)
	batch := make([]write, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case job := <-w.queue:
			batch = append(batch, job)
		case <-w.quit:
			return
		}
		w.commit(w.gather(batch))
	}
}

// gather adds what else has queued up. It lets those who are about to write go first, for as long as some
// are: they would otherwise pay for a commit of their own. When nobody is, that costs nothing.
func (w *writer) gather(batch []write) []write {
	for {
		before := len(batch)
		for len(batch) < maxBatch && len(w.queue) > 0 {
			batch = append(batch, <-w.queue)
		}
		if len(batch) == maxBatch || len(batch) == before && before > 0 && len(w.queue) == 0 {
			return batch
		}
		runtime.Gosched()
	}
}

// commit answers each caller of a batch, with as few transactions as can be.
func (w *writer) commit(batch []write) {
	conn, err := w.sql.Conn(context.Background())
	if err != nil {
		answer(batch, make([]error, len(batch)), err)
		return
	}
	defer func() { _ = conn.Close() }() // it goes back to its pool
	tx := &batchTx{conn: conn}
	tx.db = inside(context.Background(), w.db, tx)
	if w.rehearse {
		w.undone(tx, batch)
	}
	for len(batch) > 0 {
		batch = batch[w.commitSome(tx, batch):]
	}
}

// undone runs pieces and takes back what they did; see Options.Rehearse.
func (w *writer) undone(tx *batchTx, batch []write) {
	for _, job := range batch {
		if tx.begin() == nil {
			_ = protect(job.fn, tx.db) // it runs again
			_ = tx.rollback()          // the next begin says so when it could not
		}
	}
}

// commitSome runs the pieces from the front of a batch in one transaction, answers those that it ended
// with, and says how many they are.
//
// There are no savepoints: SQLite copies every page that is touched after one, which cost more than
// everything else. Instead a piece that fails after it changed something takes the whole transaction
// with it. Those before it then run again without it, and it runs again after them, alone: it is judged
// by what is committed, as if it had come a moment later, and is undone alone. Each piece runs twice at
// most, but for one that fails first in line.
func (w *writer) commitSome(tx *batchTx, batch []write) int {
	for n := len(batch); ; {
		results := make([]error, n)
		failed, err := w.try(tx, batch[:n], results)
		switch {
		case err != nil:
			answer(batch[:n], results, err)
			return n
		case failed < 0:
			answer(batch[:n], results, nil)
			return n
		case !tx.before: // nothing else was undone with it
			answer(batch[:failed+1], results[:failed+1], nil)
			return failed + 1
		}
		n = failed
	}
}

// try runs pieces in one transaction and commits it. A piece that failed after a change ends the
// transaction and is named; -1: none did. The error is the whole transaction's, which changed nothing
// then.
func (w *writer) try(tx *batchTx, batch []write, results []error) (failed int, err error) {
	if err := tx.begin(); err != nil {
		return -1, err
	}
	for i, job := range batch {
		if results[i] = job.ctx.Err(); results[i] != nil {
			continue
		}
		tx.before, tx.changed = tx.before || tx.changed, false
		results[i] = protect(job.fn, tx.db)
		switch {
		case tx.lost():
			// A full disk, for one, rolls the transaction back by itself, and with it every piece.
			return -1, errors.Join(tx.cause, results[i])
		case results[i] != nil && tx.changed:
			return i, tx.rollback()
		}
	}
	return -1, tx.commit()
}

// batchTx is the open transaction of a batch, as GORM wants it. It knows whether the piece that runs
// has changed anything, and lets no statement through once SQLite has rolled back by itself: it would
// be committed alone.
type batchTx struct {
	conn    *sql.Conn
	db      *gorm.DB // on this transaction
	open    bool
	before  bool  // earlier pieces changed something
	changed bool  // the piece that runs may have
	cause   error // of the loss of the transaction
}

var errLost = errors.New("models: the transaction was rolled back")

func (tx *batchTx) begin() error {
	tx.before, tx.changed, tx.cause = false, false, nil
	_, err := tx.conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	tx.open = err == nil
	return err
}

// commit commits, or rolls back what cannot be committed.
func (tx *batchTx) commit() error {
	_, err := tx.conn.ExecContext(context.Background(), "COMMIT")
	if err != nil {
		return errors.Join(err, tx.rollback())
	}
	tx.open = false
	return nil
}

func (tx *batchTx) rollback() error {
	tx.open = false
	if tx.ended() {
		return nil
	}
	_, err := tx.conn.ExecContext(context.Background(), "ROLLBACK")
	return err
}

// ended says whether SQLite has no transaction open.
func (tx *batchTx) ended() bool {
	ended := true
	err := tx.conn.Raw(func(c any) error {
		if c, ok := c.(*sqlite3.SQLiteConn); ok {
			ended = c.AutoCommit()
		}
		return nil
	})
	return err != nil || ended
}

// lost says whether the transaction was rolled back while pieces ran.
func (tx *batchTx) lost() bool {
	if tx.open && tx.ended() {
		tx.open = false
		if tx.cause == nil {
			tx.cause = errLost
		}
	}
	return !tx.open
}

// watch notes what came of a statement.
func (tx *batchTx) watch(err error) error {
	if err != nil && tx.lost() && errors.Is(tx.cause, errLost) {
		tx.cause = err
	}
	return err
}

func (tx *batchTx) note(query string) error {
	if !tx.open {
		return tx.cause
	}
	if !startsWith(query, "SELECT") {
		tx.changed = true
	}
	return nil
}

func startsWith(query, word string) bool {
	return len(query) >= len(word) && strings.EqualFold(query[:len(word)], word)
}

// ExecContext is for GORM. An UPDATE or DELETE that met no row changed nothing: a piece that lost a race and
// is refused for it must not take the one that won along.
func (tx *batchTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	before := tx.changed
	if err := tx.note(query); err != nil {
		return nil, err
	}
	done, err := tx.conn.ExecContext(ctx, query, args...)
	if err == nil && (startsWith(query, "UPDATE") || startsWith(query, "DELETE")) {
		if rows, unknown := done.RowsAffected(); unknown == nil && rows == 0 {
			tx.changed = before
		}
	}
	return done, tx.watch(err)
}

// QueryContext is for GORM.
func (tx *batchTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := tx.note(query); err != nil {
		return nil, err
	}
	rows, err := tx.conn.QueryContext(ctx, query, args...)
	return rows, tx.watch(err)
}

// QueryRowContext is for GORM.
func (tx *batchTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if tx.note(query) != nil {
		gone, cancel := context.WithCancel(ctx)
		cancel()
		return tx.conn.QueryRowContext(gone, query, args...)
	}
	return tx.conn.QueryRowContext(ctx, query, args...)
}

// PrepareContext is for GORM.
func (tx *batchTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := tx.note(query); err != nil {
		return nil, err
	}
	return tx.conn.PrepareContext(ctx, query)
}

// inside is GORM on an open transaction.
func inside(ctx context.Context, db *gorm.DB, tx gorm.ConnPool) *gorm.DB {
	session := db.Session(&gorm.Session{NewDB: true, Context: ctx})
	session.Statement.ConnPool = tx
	return session.Session(&gorm.Session{NewDB: true})
}

// protect turns a panic of fn into an error, so that one caller's fault never stops the writer.
func protect(fn func(*gorm.DB) error, db *gorm.DB) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(db)
}

// answer tells every caller its own result, or the one that befell the whole batch.
func answer(batch []write, results []error, whole error) {
	for i, job := range batch {
		if results[i] == nil {
			results[i] = whole
		}
		job.reply <- results[i]
	}
}
