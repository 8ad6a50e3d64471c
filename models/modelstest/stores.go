package modelstest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Each runs test once on a fresh SQLite file and once on a fresh PostgreSQL
// database, as the subtests "sqlite" and "postgres". Both are migrated, empty,
// stand at Start and make the same ids in every run. test may call t.Parallel.
func Each(t *testing.T, test func(t *testing.T, store *models.Store)) {
	t.Helper()
	EachAt(t, func(t *testing.T, store *models.Store, _ *Clock) { test(t, store) })
}

// EachAt is Each for a test that also moves the clock.
func EachAt(t *testing.T, test func(t *testing.T, store *models.Store, clock *Clock)) {
	t.Helper()
	EachDatabase(t, func(t *testing.T, url string) {
		clock := NewClock()
		test(t, Open(t, url, clock), clock)
	})
}

// EachDatabase runs test with the address of a migrated, empty database of each
// kind, for a test that opens it more than once: a restart, or two replicas.
func EachDatabase(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLiteURL(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, MigratedPostgresURL(t)) })
}

// SQLite opens a fresh, migrated SQLite file, for a test of something that
// cannot differ between the databases.
func SQLite(t testing.TB) (*models.Store, *Clock) {
	t.Helper()
	clock := NewClock()
	return Open(t, SQLiteURL(t), clock), clock
}

// rehearse names the variable with which every write transaction of the tests runs twice on SQLite; see
// models.Options.
const rehearse = "APDESK_TEST_REHEARSE"

// Open opens a database with a manual clock and closes it when the test ends.
// Stores opened on one database in one test make different ids.
func Open(t testing.TB, url string, clock *Clock) *models.Store {
	t.Helper()
	store, err := models.Open(t.Context(), url, models.Options{Clock: clock.Now, Random: seeded(t), Rehearse: os.Getenv(rehearse) != "",
		SearchPatience: time.Minute}) // however busy the machine is
	if err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("modelstest: close the store: %v", err)
		}
	})
	return store
}

var sqliteTemplate struct {
	once sync.Once
	file []byte
	err  error
}

// SQLiteURL is the address of a migrated, empty SQLite file of this test.
func SQLiteURL(t testing.TB) string {
	t.Helper()
	sqliteTemplate.once.Do(func() { sqliteTemplate.file, sqliteTemplate.err = migratedSQLiteFile() })
	if sqliteTemplate.err != nil {
		t.Fatalf("modelstest: %v", sqliteTemplate.err)
	}
	path := filepath.Join(t.TempDir(), "apdesk.db")
	if err := os.WriteFile(path, sqliteTemplate.file, 0o600); err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	return "sqlite:" + path
}

func migratedSQLiteFile() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "apdesk-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = firstError(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "apdesk.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}
	// Closing the last connection moved everything from the log into the file.
	return os.ReadFile(path)
}

const templateDatabase = "migrated"

// MigratedPostgresURL is the address of a migrated, empty PostgreSQL database
// of this test. The test is skipped where PostgreSQL is not installed.
func MigratedPostgresURL(t testing.TB) string {
	t.Helper()
	c := requireCluster(t)
	if err := c.migrateTemplate(); err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	return c.createDatabase(t, templateDatabase)
}

func (c *cluster) migrateTemplate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.migrated {
		return nil
	}
	if err := c.exec("CREATE DATABASE " + templateDatabase); err != nil {
		return err
	}
	if err := migrate(c.url(templateDatabase)); err != nil {
		return firstError(err, c.exec("DROP DATABASE "+templateDatabase+" WITH (FORCE)"))
	}
	c.migrated = true
	return nil
}

func migrate(url string) error {
	store, err := models.Open(context.Background(), url, models.Options{Clock: NewClock().Now})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return store.Close()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var opened struct {
	sync.Mutex
	byTest map[testing.TB]uint64
}

// seeded is a source of randomness that is the same in every run, and another
// one for each store of a test.
func seeded(t testing.TB) io.Reader {
	opened.Lock()
	defer opened.Unlock()
	if opened.byTest == nil {
		opened.byTest = map[testing.TB]uint64{}
	}
	opened.byTest[t]++
	var seed [32]byte
	seed[0] = byte(opened.byTest[t])
	t.Cleanup(func() {
		opened.Lock()
		defer opened.Unlock()
		delete(opened.byTest, t)
	})
	return &lockedReader{r: rand.NewChaCha8(seed)}
}

// lockedReader lets several goroutines draw from one source.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}

// WithToken is a principal who comes with a token that is there and good, for what looks at it again.
func WithToken(t testing.TB, store *models.Store, by models.Principal) models.Principal {
	t.Helper()
	err := store.InTx(t.Context(), models.Operator(by.WorkspaceID), func(tx *models.Tx) error {
		user, err := tx.User(by.UserID)
		if err != nil {
			return err
		}
		_, token, err := tx.CreateToken(models.NewToken{UserEmail: user.Email, Name: by.TokenName, Scopes: by.Scopes})
		by.TokenID = token.ID
		return err
	})
	if err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	return by
}
