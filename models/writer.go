package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"gorm.io/gorm"
)

// maxBatch bounds how many transactions share one commit.
const maxBatch = 64

// writer is SQLite's one writer: a goroutine that takes what has queued up, runs each piece behind a
// savepoint inside one transaction, and commits once. There is no timer: a lone write commits at
// once, and under load the commit's fsync is shared. An answer is given only after the commit.
type writer struct {
	db    *gorm.DB
	sql   *sql.DB // behind db
	queue chan write
	quit  chan struct{}
	done  chan struct{}
}

type write struct {
	ctx   context.Context
	fn    func(*gorm.DB) error
	reply chan error
}

func startWriter(db *gorm.DB, behind *sql.DB) *writer {
	w := &writer{db: db, sql: behind, queue: make(chan write, 1024), quit: make(chan struct{}), done: make(chan struct{})}
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

// commit runs a batch in one transaction and answers each of its callers.
func (w *writer) commit(batch []write) {
	results := make([]error, len(batch))
	tx, err := w.sql.BeginTx(context.Background(), nil)
	if err != nil {
		answer(batch, results, err)
		return
	}
	for i, job := range batch {
		if results[i] = job.ctx.Err(); results[i] != nil {
			continue
		}
		if fatal := w.runOne(tx, job, len(batch) > 1, &results[i]); fatal != nil {
			// The transaction itself is lost (a full disk rolls it back as a whole), and with it
			// every piece of the batch.
			_ = tx.Rollback() // there may be nothing left to roll back
			answer(batch, results, fatal)
			return
		}
	}
	if len(batch) == 1 && results[0] != nil {
		_ = tx.Rollback() // what failed is told already
		answer(batch, results, nil)
		return
	}
	answer(batch, results, tx.Commit()) // the driver rolls back what it cannot commit
}

// runOne runs one piece, behind a savepoint when it shares the transaction. Its error ends only that
// piece; the returned error ends the batch.
func (w *writer) runOne(tx *sql.Tx, job write, shared bool, result *error) error {
	if shared {
		if _, err := tx.Exec("SAVEPOINT piece"); err != nil {
			return err
		}
	}
	*result = protect(job.fn, inside(context.Background(), w.db, tx))
	if !shared {
		return nil
	}
	if *result != nil {
		if _, err := tx.Exec("ROLLBACK TO piece"); err != nil {
			return errors.Join(*result, err) // why the transaction is lost is what the piece met
		}
	}
	_, err := tx.Exec("RELEASE piece")
	return err
}

// inside is GORM on an open transaction.
func inside(ctx context.Context, db *gorm.DB, tx *sql.Tx) *gorm.DB {
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
