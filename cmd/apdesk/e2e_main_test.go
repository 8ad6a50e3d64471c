package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// TestMain ends what the end-to-end tests share: the browser, the PostgreSQL
// cluster and the built program.
func TestMain(m *testing.M) {
	if address := os.Getenv(echoAddress); address != "" {
		fmt.Fprintln(os.Stderr, serveEcho(address))
		os.Exit(1)
	}
	code := m.Run()
	closeBrowser()
	modelstest.Stop()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	once    sync.Once
	dir     string
	program string
	err     error
}

// program compiles apdesk once for all tests of the process and returns where
// it is. The file is named apdesk.
func program(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "apdesk-e2e-")
		if built.err != nil {
			return
		}
		built.program = filepath.Join(built.dir, "apdesk")
		if out, err := exec.Command("go", "build", "-o", built.program, ".").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.program
}

// eachDatabase runs a test of the built program on an empty database of each
// kind.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteFile(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, modelstest.PostgresURL(t)) })
}

// sqliteFile is the address of a SQLite database that does not exist yet.
func sqliteFile(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "apdesk.db")
}

// needs skips a test whose program is missing, or fails it where continuous
// integration says that nothing may be skipped.
func needs(t testing.TB, switchName, missing string) {
	t.Helper()
	if os.Getenv(switchName) == "1" {
		t.Fatalf("%s (and %s=1)", missing, switchName)
	}
	t.Skipf("%s (set %s=1 to make this a failure)", missing, switchName)
}
