package models

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

//go:embed migrations
var migrations embed.FS

// Options are what a store needs from outside. The zero value uses the system's clock and randomness.
type Options struct {
	Clock  func() time.Time
	Random io.Reader
	Logger *slog.Logger
	// Rehearse runs every write transaction on SQLite once more, and undoes that, before it runs for good.
	// It is for tests, to show that what runs twice does no more than what runs once.
	Rehearse bool
	// SearchPatience is how long a search waits at most for what changed just before it; 0 means a second.
	SearchPatience time.Duration
}

// Store keeps everything, in SQLite or PostgreSQL alike.
//
// On SQLite all writes go through one goroutine that commits what has queued up together (see
// writer); reads have their own pool. On PostgreSQL every InTx is a transaction of its own.
type Store struct {
	url       string
	postgres  bool
	clock     func() time.Time
	ids       *IDs
	log       *slog.Logger
	write     *gorm.DB
	read      *gorm.DB
	reader    *sql.DB  // behind read
	placed    sync.Map // statements as PostgreSQL wants them, by their text
	writer    *writer
	rehearse  bool
	hub       *Hub
	jobs      chan struct{}
	alarm     alarm
	sealing   chan string
	searched  atomic.Int64 // counts records made searchable
	committed atomic.Int64 // counts transactions that wrote
	broken    atomic.Bool  // the last write found the database unreachable, full, locked or read-only
	trying    atomic.Bool  // a write that tells whether it still is runs
	search    searchRounds
	patience  time.Duration // of a search
	close     func() error
	bg        sync.WaitGroup
	stop      context.CancelFunc

	peopleHooks []PeopleHook

	sessionIdle, sessionLife time.Duration
	uses                     *uses // of tokens
	access                   access
}

// Open opens the database named by databaseURL, "sqlite:PATH" or "postgres://…", and brings its schema
// up to date.
func Open(ctx context.Context, databaseURL string, opts Options) (*Store, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		url:     databaseURL,
		clock:   opts.Clock,
		ids:     NewIDs(opts.Clock, opts.Random),
		log:     opts.Logger,
		hub:     newHub(),
		jobs:    make(chan struct{}, 1),
		sealing: make(chan string, 1024),

		sessionIdle: SessionIdle, sessionLife: SessionLife, uses: newUses(),
		rehearse: opts.Rehearse, patience: cmp.Or(opts.SearchPatience, searchPatience),
	}
	var err error
	switch {
	case strings.HasPrefix(databaseURL, "sqlite:"):
		err = unwritable(s.openSQLite(ctx, strings.TrimPrefix(strings.TrimPrefix(databaseURL, "sqlite:"), "//")))
	case strings.HasPrefix(databaseURL, "postgres://"), strings.HasPrefix(databaseURL, "postgresql://"):
		s.postgres = true
		err = s.openPostgres(ctx)
	default:
		err = fmt.Errorf("database %q: must start with sqlite: or postgres://", redactURL(databaseURL))
	}
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", redactURL(databaseURL), err)
	}
	bg, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.bg.Go(func() { s.sealEvents(bg) })
	s.search.start()
	s.bg.Go(func() { s.keepSearch(bg) })
	s.bg.Go(func() { s.keepUses(bg) })
	if s.postgres {
		s.bg.Go(func() { s.listen(bg) })
	}
	return s, nil
}

// unwritable says what SQLite leaves unsaid: its log and the log's index stand beside the file.
func unwritable(err error) error {
	var lite sqlite3.Error
	if errors.As(err, &lite) && (lite.Code == sqlite3.ErrCantOpen || lite.Code == sqlite3.ErrReadonly || lite.Code == sqlite3.ErrPerm) {
		return fmt.Errorf("%w (the desk must be able to write to the file and to the directory it is in)", err)
	}
	return err
}

// statementCache is how many prepared statements SQLite's driver keeps per connection. GORM's own
// cache prepares anew in every transaction, which cost a third of the writer's time.
const statementCache = 256

const (
	writerCache     = 8192 // kibibytes of pages the writer keeps: the ends of every index it writes to
	checkpointPages = 4000 // in the log (16 MB) before they are moved into the file, many changes of a page at once
)

// ownTimes lets SQLite's driver try the form in which Time is kept first. It tries one form after the
// other on every timestamp it reads, which cost a tenth of the time of a page.
var ownTimes = sync.OnceFunc(func() {
	sqlite3.SQLiteTimestampFormats = slices.Insert(slices.Clone(sqlite3.SQLiteTimestampFormats), 0, "2006-01-02T15:04:05.999999999")
})

func (s *Store) openSQLite(ctx context.Context, path string) error {
	ownTimes()
	if path == "" {
		return errors.New("no file named")
	}
	if dir := filepath.Dir(path); dir != "." {
		if _, err := os.Stat(dir); err != nil {
			return err
		}
	}
	dsn := func(extra url.Values) string {
		// database/sql uses a connection from one goroutine at a time, so SQLite need not lock it again.
		q := url.Values{"_mutex": {"no"}, "_busy_timeout": {"10000"}, "_foreign_keys": {"1"}, "_journal_mode": {"WAL"}, "_synchronous": {"FULL"},
			"_stmt_cache_size": {strconv.Itoa(statementCache)}}
		for k, v := range extra {
			q[k] = v
		}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	}
	write, err := s.gorm(sqlite.Open(dsn(url.Values{"_txlock": {"immediate"}, "_cache_size": {strconv.Itoa(-writerCache)}})))
	if err != nil {
		return err
	}
	writeDB, err := write.DB()
	if err != nil {
		return err
	}
	writeDB.SetMaxOpenConns(1)
	writeDB.SetMaxIdleConns(1)
	if err := migrateUp(ctx, writeDB, goose.DialectSQLite3, "sqlite"); err != nil {
		return errors.Join(err, writeDB.Close())
	}
	if _, err := writeDB.ExecContext(ctx, "PRAGMA wal_autocheckpoint = "+strconv.Itoa(checkpointPages)); err != nil {
		return errors.Join(err, writeDB.Close())
	}
	// What a statement that fails may have to bring back is kept in memory, not in a temporary file.
	if _, err := writeDB.ExecContext(ctx, "PRAGMA temp_store = MEMORY"); err != nil {
		return errors.Join(err, writeDB.Close())
	}
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrPermission) {
		return errors.Join(err, writeDB.Close())
	}
	read, err := s.gorm(sqlite.Open(dsn(url.Values{"_query_only": {"1"}})))
	if err != nil {
		return errors.Join(err, writeDB.Close())
	}
	readDB, err := read.DB()
	if err != nil {
		return errors.Join(err, writeDB.Close())
	}
	readDB.SetMaxOpenConns(8)
	readDB.SetMaxIdleConns(8)
	s.write, s.read, s.reader = write, read, readDB
	s.writer = startWriter(write, writeDB, s.rehearse)
	s.close = func() error {
		s.writer.stop()
		return errors.Join(readDB.Close(), writeDB.Close())
	}
	return nil
}

func (s *Store) openPostgres(ctx context.Context) error {
	db, err := s.gorm(postgres.Open(s.url))
	if err != nil {
		return err
	}
	sqlDB, err := db.DB()
	if err != nil {
		return err
	}
	sqlDB.SetMaxOpenConns(32)
	sqlDB.SetMaxIdleConns(32)
	sqlDB.SetConnMaxIdleTime(5 * time.Minute)
	if err := migrateUp(ctx, sqlDB, goose.DialectPostgres, "postgres"); err != nil {
		return errors.Join(err, sqlDB.Close())
	}
	s.write, s.read, s.reader = db, db, sqlDB
	s.close = sqlDB.Close
	return nil
}

func (s *Store) gorm(d gorm.Dialector) (*gorm.DB, error) {
	return gorm.Open(d, &gorm.Config{
		SkipDefaultTransaction: true,
		PrepareStmt:            false, // both drivers keep prepared statements per connection
		TranslateError:         false,
		Logger:                 logger.Discard,
		NowFunc:                func() time.Time { return s.clock().UTC() },
	})
}

// migrateUp runs through *sql.DB, because GORM's prepared statements take only the first statement
// of a script.
func migrateUp(ctx context.Context, db *sql.DB, dialect goose.Dialect, dir string) error {
	sub, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		return err
	}
	var opts []goose.ProviderOption
	if dialect == goose.DialectPostgres {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, db, sub, opts...)
	if err != nil {
		return err
	}
	// On SQLite two processes may start on one new file: the loser of the race finds the work done
	// when it looks again.
	for attempt := 0; ; attempt++ {
		_, err = p.Up(ctx)
		if err == nil || dialect == goose.DialectPostgres || attempt == 5 || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Duration(attempt+1) * 100 * time.Millisecond)
	}
}

func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable)"
	}
	return u.Redacted()
}

// Close ends background work and closes the database.
func (s *Store) Close() error {
	s.stop()
	s.bg.Wait()
	return s.close()
}

// Postgres says which database it is, for what differs between the two.
func (s *Store) Postgres() bool { return s.postgres }

// Hub is where waits subscribe.
func (s *Store) Hub() *Hub { return s.hub }

// Now is the store's clock.
func (s *Store) Now() Time { return At(s.clock()) }

// NewID makes a prefixed id.
func (s *Store) NewID(prefix string) string { return s.ids.New(prefix) }

// Ping says whether the database can be read.
func (s *Store) Ping(ctx context.Context) error {
	db, err := s.read.DB()
	if err != nil {
		return err
	}
	var one int
	return translate(db.QueryRowContext(ctx, "SELECT count(*) FROM workspaces").Scan(&one))
}

// Tx is one transaction: everything a user's action changes, together with its audit events and jobs.
// DB must be used for every statement inside.
type Tx struct {
	DB  *gorm.DB
	Now Time
	By  Principal

	store   *Store
	topics  []string
	sealing map[string]bool
	job     Time // the first of those planned; zero: none was

	searchDue bool           // a record is due for the search
	indexing  map[int64]bool // records whose terms this transaction writes; see writeIndex
}

// NewID makes a prefixed id.
func (tx *Tx) NewID(prefix string) string { return tx.store.NewID(prefix) }

// Notify wakes waits on the topics once the transaction has committed.
func (tx *Tx) Notify(topics ...string) { tx.topics = append(tx.topics, topics...) }

// Lock makes the following read lock its rows until the transaction ends, where the database has
// more than one writer.
func (tx *Tx) Lock() *gorm.DB {
	if !tx.store.postgres {
		return tx.DB
	}
	return tx.DB.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
}

// LockName makes transactions that lock the same name wait for one another, for what has no row to
// lock. What the one before committed is seen by the statements that follow.
func (tx *Tx) LockName(name string) error {
	if !tx.store.postgres {
		return nil // there is one writer
	}
	return tx.DB.Exec("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", name).Error
}

// InTx runs fn in one write transaction. fn may run more than once, so it must have no effect outside
// tx; it must not call InTx or View. Its error undoes everything.
func (s *Store) InTx(ctx context.Context, by Principal, fn func(*Tx) error) error {
	var committed *Tx
	body := func(db *gorm.DB) error {
		tx := &Tx{DB: db, Now: s.Now(), By: by, store: s}
		if err := fn(tx); err != nil {
			return err
		}
		if s.postgres && len(tx.topics) > 0 {
			if err := db.Exec("SELECT pg_notify(?, ?)", notifyChannel, packTopics(tx.topics)).Error; err != nil {
				return err
			}
		}
		committed = tx
		return nil
	}
	var err error
	if s.postgres {
		err = s.inPostgresTx(ctx, body)
	} else {
		err = s.writer.do(ctx, body)
	}
	err = translate(err)
	s.learn(ctx, err, committed)
	if err != nil {
		return err
	}
	s.committed.Add(1)
	s.hub.Publish(committed.topics...)
	if committed.searchDue {
		s.search.wake()
	}
	if !committed.job.IsZero() && s.alarm.before(committed.job) {
		select {
		case s.jobs <- struct{}{}:
		default:
		}
	}
	for ws := range committed.sealing {
		select {
		case s.sealing <- ws:
		default: // the sealer is behind; it takes all of a workspace's events at once
		}
	}
	return nil
}

const (
	postgresAttempts = 8
	// acquireTime is how long a call waits for one of the connections. When all are busy for so long, more
	// calls that wait only make it worse.
	acquireTime = 5 * time.Second
)

// begin starts a transaction on a connection of the pool that reads, which on PostgreSQL also writes. end gives the connection back, and must be
// called when the transaction has ended.
func (s *Store) begin(ctx context.Context, from *gorm.DB, opts *sql.TxOptions) (db *gorm.DB, tx *sql.Tx, end func(), err error) {
	acquiring, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	conn, err := s.reader.Conn(acquiring)
	if err != nil {
		if ctx.Err() == nil && acquiring.Err() != nil {
			err = E(Unavailable, "The desk is busy; nothing was changed. Wait and repeat the same call.", map[string]any{"retry_after_seconds": 5}).Because(err)
		}
		return nil, nil, nil, err
	}
	if tx, err = conn.BeginTx(ctx, opts); err != nil {
		return nil, nil, nil, errors.Join(err, conn.Close())
	}
	return inside(ctx, from, tx), tx, func() { _ = conn.Close() }, nil // only told of what is closed already
}

func (s *Store) inPostgresTx(ctx context.Context, fn func(*gorm.DB) error) error {
	var err error
	for attempt := range postgresAttempts {
		var begun bool
		begun, err = s.tryPostgresTx(ctx, fn)
		// Before it began nothing can have happened, so another connection may do better.
		if _, told := AsNamed(err); err == nil || told || begun && !retryable(err) || ctx.Err() != nil {
			return err
		}
		s.log.DebugContext(ctx, "transaction repeated", "attempt", attempt+1, "cause", err)
		// Those who met in a deadlock must not meet again: each waits a while of its own.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(attempt+1) * 25 * time.Millisecond)):
		}
	}
	return err
}

func (s *Store) tryPostgresTx(ctx context.Context, fn func(*gorm.DB) error) (begun bool, err error) {
	db, tx, end, err := s.begin(ctx, s.write, nil)
	if err != nil {
		return false, err
	}
	defer end()
	if err := protect(fn, db); err != nil {
		return true, errors.Join(err, ended(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		if outage(err) && !retryable(err) {
			// The answer to COMMIT is lost: it may have been done.
			return true, E(Unavailable, "The desk lost its database while it recorded this, and cannot tell whether it did. Repeat the same call with the same idempotency key, or look before you repeat it.",
				map[string]any{"retry_after_seconds": 5}).Because(err)
		}
		return true, err
	}
	return true, nil
}

// ended makes nothing of a rollback that was not needed any more.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// View runs fn on one consistent snapshot for reading. fn must not call InTx or View.
func (s *Store) View(ctx context.Context, by Principal, fn func(*Tx) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if s.postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	db, tx, end, err := s.begin(ctx, s.read, opts)
	if _, told := AsNamed(err); err != nil && !told && ctx.Err() == nil { // a connection that the database ended while nobody used it
		db, tx, end, err = s.begin(ctx, s.read, opts)
	}
	if err != nil {
		return translate(err)
	}
	defer end()
	defer func() { _ = tx.Rollback() }() // also when fn panics; there is nothing to keep
	return translate(fn(&Tx{DB: db, Now: s.Now(), By: by, store: s}))
}
