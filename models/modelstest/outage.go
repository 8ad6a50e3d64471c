package modelstest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server of one test, which may take it away from whoever uses it.
type Server struct {
	t testing.TB
	c *cluster
}

// OwnPostgres starts a server for this test alone; it ends with the test. The test is skipped where
// PostgreSQL is not installed.
func OwnPostgres(t testing.TB) *Server {
	t.Helper()
	requireCluster(t) // skips
	c, err := startCluster()
	if err != nil {
		t.Fatalf("modelstest: start PostgreSQL: %v", err)
	}
	t.Cleanup(c.stop)
	return &Server{t: t, c: c}
}

// URL creates an empty database on the server.
func (s *Server) URL() string {
	s.t.Helper()
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.next++
	name := fmt.Sprintf("t%d", s.c.next)
	if err := s.c.exec("CREATE DATABASE " + name); err != nil {
		s.t.Fatalf("modelstest: %v", err)
	}
	return s.c.url(name)
}

// Copy creates a database with everything that another one of this server holds, to which nobody may be
// connected.
func (s *Server) Copy(databaseURL string) string {
	s.t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		s.t.Fatalf("modelstest: %v", err)
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.next++
	name := fmt.Sprintf("t%d", s.c.next)
	if err := s.c.exec("CREATE DATABASE " + name + " TEMPLATE " + strings.TrimPrefix(u.Path, "/")); err != nil {
		s.t.Fatalf("modelstest: %v", err)
	}
	return s.c.url(name)
}

// Stop ends the server at once, as "pg_ctl stop -m immediate" does: every connection breaks off, and what
// was committed is recovered at the next start.
func (s *Server) Stop() {
	s.t.Helper()
	if err := os.WriteFile(s.stopped(), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	lock := filepath.Join(s.c.dir, "data", "postmaster.pid")
	text, err := os.ReadFile(lock)
	if err != nil {
		s.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		s.t.Fatal(err)
	}
	s.until("the server has ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// Start starts the server again and returns once it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	if err := os.Remove(s.stopped()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	s.until("the server takes connections", func() bool {
		conn, err := pgx.Connect(s.t.Context(), s.c.url("postgres"))
		if err != nil {
			return false
		}
		return conn.Close(s.t.Context()) == nil
	})
}

func (s *Server) stopped() string { return filepath.Join(s.c.dir, "stopped") }

// until asks until it is so; a process of somebody else's offers nothing to wait on.
func (s *Server) until(what string, so func() bool) {
	s.t.Helper()
	over := time.NewTimer(time.Minute)
	defer over.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-over.C:
			s.t.Fatalf("modelstest: it never came about that %s\n%s", what, s.c.log)
		case <-again.C:
		}
	}
}
