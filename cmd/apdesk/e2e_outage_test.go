package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// These tests take away what a desk stands on, and give it back: it says so in the
// words of the contract, keeps what people typed, and goes on without a restart.

// status asks an address of the desk.
func (d *desk) status(path string) int {
	d.t.Helper()
	res, err := http.Get(d.url + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		d.t.Fatal(err)
	}
	return res.StatusCode
}

// mustBeUnavailable checks an answer of REST that asks to wait.
func mustBeUnavailable(t testing.TB, what string, got answer) {
	t.Helper()
	if got.status != http.StatusServiceUnavailable || got.code() != "UNAVAILABLE" || got.header.Get("Retry-After") == "" ||
		got.text("error", "next_action") != "hold_and_recheck" || dig(got.body, "error", "retryable") != true {
		t.Errorf("%s is answered with %s, Retry-After %q; want UNAVAILABLE that asks to wait", what, got, got.header.Get("Retry-After"))
	}
}

// outage is what a person and the callers of a company meet while its database takes no writes.
type outage struct {
	c      *company
	agent  api
	petra  *visitor
	caseID string
	seen   page // of the case, read before
	n      int  // numbers what is handed over
	vain   page // the comment that could not be taken
}

func newOutage(t testing.TB, c *company) *outage {
	t.Helper()
	o := &outage{c: c, agent: c.as(c.agent), petra: c.signIn(t, petra)}
	o.caseID = o.agent.handOver(t, poClosed(1))
	o.seen = o.petra.get(t, "/cases/"+o.caseID)
	return o
}

// begins hands over until the desk cannot, which is at once unless there is room left in files that are there.
func (o *outage) begins(t testing.TB) {
	t.Helper()
	for tries := 0; ; tries++ {
		o.n++
		got, err := o.agent.try(t.Context(), http.MethodPost, "/handovers", poClosed(1000+o.n), key(o.n))
		if err != nil {
			t.Fatal(err)
		}
		if got.status == http.StatusCreated && tries < 200 {
			continue
		}
		mustBeUnavailable(t, "a handover", got)
		return
	}
}

const comment = "I ask the buyer <b>tomorrow</b>."

// lasts checks what everybody is told meanwhile. readable says that the database can still be read.
func (o *outage) lasts(t testing.TB, readable bool) {
	t.Helper()
	if got := o.c.status("/healthz"); got != http.StatusOK {
		t.Errorf("/healthz says %d, though both addresses accept", got)
	}
	if got := o.c.status("/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz says %d", got)
	}
	err := callTool(t.Context(), http.DefaultClient, o.c.mcpURL, o.c.agent, "route_to_person", poClosed(5))
	if err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") && !strings.Contains(err.Error(), "503") {
		t.Errorf("route_to_person over MCP: %v, want UNAVAILABLE", err)
	}
	got, err := o.agent.try(t.Context(), http.MethodGet, "/cases/"+o.caseID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if readable && got.status != http.StatusOK {
		t.Errorf("what can be read is answered with %s", got)
	} else if !readable {
		mustBeUnavailable(t, "reading", got)
	}
	o.vain = o.petra.send(t, o.seen, "comment-form", url.Values{"text": {comment}})
	if o.vain.status != http.StatusServiceUnavailable || o.vain.header.Get("Retry-After") == "" {
		t.Errorf("a comment is answered with %s, Retry-After %q", o.vain, o.vain.header.Get("Retry-After"))
	}
	if kept := o.vain.text("typed-kept"); !strings.Contains(kept, comment) {
		t.Errorf("the page does not keep what was typed: %s", o.vain)
	}
}

// ends checks that the desk goes on by itself, and that nothing was written half.
func (o *outage) ends(t testing.TB) {
	t.Helper()
	eventually(t, "the desk is ready again", func() bool { return o.c.status("/readyz") == http.StatusOK })
	if after := o.petra.send(t, o.vain, "again-form", nil); after.status != http.StatusOK || !strings.Contains(after.all(), comment) {
		t.Errorf("sent again, the comment is answered with %s", after)
	}
	got, err := o.agent.try(t.Context(), http.MethodPost, "/handovers", poClosed(1000+o.n), key(o.n))
	if err != nil || got.status != http.StatusCreated {
		t.Errorf("the handover, sent again, is answered with %s, %v", got, err)
	}
	again, err := o.agent.try(t.Context(), http.MethodPost, "/handovers", poClosed(1000+o.n), key(o.n))
	if err != nil || again.text("case_id") != got.text("case_id") {
		t.Errorf("and once more with %s, %v, want %s", again, err, got)
	}
	if err := callTool(t.Context(), http.DefaultClient, o.c.mcpURL, o.c.agent, "get_case", object{"case_id": o.caseID}); err != nil {
		t.Errorf("get_case over MCP: %v", err)
	}
	openDatabase(t, o.c.database).whole()
	if said := o.c.run("audit", "verify"); !strings.Contains(said, "intact") {
		t.Errorf("the trail: %s", said)
	}
}

func key(n int) string { return fmt.Sprintf("handover-%d", n) }

// smallDisk is a file system of a few megabytes of this test.
func smallDisk(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "apdesk-test", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk needs root: %v: %s", err, bytes.TrimSpace(said))
	}
	t.Cleanup(func() {
		if said, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, said)
		}
	})
	return dir
}

func TestAFullDiskIsToldAndPasses(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "24m")
	c := open(t, "sqlite:"+filepath.Join(disk, "apdesk.db"))
	o := newOutage(t, c)
	filler := filepath.Join(disk, "filler")
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	o.begins(t)
	o.lasts(t, true)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	o.ends(t)
}

func TestADatabaseThatAnotherProcessLocksIsToldAndPasses(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	o := newOutage(t, c)
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(c.database, "sqlite:")+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	lock, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	o.begins(t)
	o.lasts(t, true)
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	o.ends(t)
}

func TestADeskDoesNotStartOnADiskItCannotWriteTo(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "24m")
	c := open(t, "sqlite:"+filepath.Join(disk, "apdesk.db"))
	id := c.as(c.agent).handOver(t, poClosed(1))
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	remount := func(how string) {
		t.Helper()
		if said, err := exec.Command("mount", "-o", "remount,"+how, disk).CombinedOutput(); err != nil {
			t.Fatalf("remount: %v: %s", err, said)
		}
	}
	remount("ro")
	serve := exec.Command(program(t), "serve", "--addr", c.addr, "--mcp-addr", c.mcpAddr)
	serve.Env = c.environment()
	said, err := serve.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(said), "apdesk.db") || !strings.Contains(string(said), "must be able to write") {
		t.Errorf("on a read-only disk serve ends with %v: %s", err, said)
	}
	remount("rw")
	c.start()
	if got := c.as(c.agent).get(t, "/cases/"+id); got.status != http.StatusOK {
		t.Errorf("afterwards the case is answered with %s", got)
	}
}

// TestPostgresComesAndGoes has a server of its own to take away.
func TestPostgresComesAndGoes(t *testing.T) {
	t.Parallel()
	server := modelstest.OwnPostgres(t)
	past := found(t, server.URL())
	openCopy := func(t *testing.T) *company {
		t.Helper()
		c := &company{desk: newDesk(t, server.Copy(past.database)), agent: past.agent, erp: past.erp}
		c.start()
		return c
	}
	t.Run("what is gone is told and passes", func(t *testing.T) { goneAndBack(t, server, openCopy(t)) })
	t.Run("restarted under load it loses nothing", func(t *testing.T) { restartedUnderLoad(t, server, openCopy(t)) })
}

func goneAndBack(t *testing.T, server *modelstest.Server, c *company) {
	t.Helper()
	o := newOutage(t, c)
	live := o.petra.stream(t, o.seen)
	waiting := c.waits(t, "/cases/"+o.caseID)
	eventually(t, "the wait has reached the desk", func() bool { return c.metric(t, `apdesk_waits{channel="api"}`) == "1" })

	server.Stop()
	o.begins(t)
	o.lasts(t, false)
	if got := waiting(); got.status != http.StatusOK {
		mustBeUnavailable(t, "whoever waited", got)
	}
	server.Start()
	o.ends(t)

	// What happens afterwards wakes pages and waits again, and is heard from another replica too.
	live.close()
	live = o.petra.stream(t, o.seen)
	defer live.close()
	waiting = c.waits(t, "/cases/"+o.caseID)
	eventually(t, "the wait has reached the desk", func() bool { return c.metric(t, `apdesk_waits{channel="api"}`) == "1" })
	other := c.replica()
	paul := other.signIn(t, paul)
	if after := paul.decideCase(t, o.caseID, "reopen_po"); after.status != http.StatusOK {
		t.Fatalf("the decision at the other desk is answered with %s", after)
	}
	if got := waiting(); got.text("instruction", "kind") != "resume" {
		t.Errorf("the wait ends with %s", got)
	}
	live.told(t)
}

// stream is the live stream of an open page.
type stream struct {
	body   io.ReadCloser
	cancel context.CancelFunc
}

func (v *visitor) stream(t testing.TB, of page) *stream {
	t.Helper()
	address := of.doc.Find("body").AttrOr("data-live", "")
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := v.http.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the live stream %q: %v, %v", address, res, err)
	}
	return &stream{body: res.Body, cancel: cancel}
}

func (s *stream) close() {
	s.cancel()
	_ = s.body.Close()
}

// told reads until the stream tells of a change.
func (s *stream) told(t testing.TB) {
	t.Helper()
	var all []byte
	for buffer := make([]byte, 512); !bytes.Contains(all, []byte("data: changed")); {
		n, err := s.body.Read(buffer)
		all = append(all, buffer[:n]...)
		if err != nil {
			t.Fatalf("the stream ended with %v after %q", err, all)
		}
	}
}

// restartedUnderLoad restarts the database at once, twice, while a company works at two desks.
func restartedUnderLoad(t *testing.T, server *modelstest.Server, c *company) {
	t.Helper()
	l := newLoad(t, c, 5)
	l.outages = true
	l.desks = append(l.desks, c.replica())
	db := openDatabase(t, c.database)
	l.stock(db)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reached := l.milestones()
	clients := l.run(ctx)
	for restart := range 2 {
		reached(t, 60*(restart+1))
		server.Stop()
		server.Start()
	}
	reached(t, 240)
	cancel()
	clients.Wait()
	if l.told503 == 0 {
		t.Error("nobody was told that the desk could not reach its database")
	}
	for _, d := range l.desks {
		eventually(t, "the desk is ready again", func() bool { return d.status("/readyz") == http.StatusOK })
	}
	l.settle(t, db)
	t.Logf("acknowledged %v; %d answers asked to wait", l.tally(), l.told503)
}

// TestAnExhaustedPoolIsToldAndPasses keeps every connection of a desk busy behind a lock.
func TestAnExhaustedPoolIsToldAndPasses(t *testing.T) {
	t.Parallel()
	c := open(t, modelstest.PostgresURL(t))
	o := newOutage(t, c)
	db := openDatabase(t, c.database).db
	lock, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec("LOCK TABLE cases IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stuck sync.WaitGroup
	for range 32 {
		stuck.Go(func() {
			_, _ = o.agent.try(ctx, http.MethodGet, "/cases/"+o.caseID, nil, "") // whatever it gets once the lock is gone
		})
	}
	eventually(t, "every connection is busy", func() bool {
		var n int
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n == 32
	})
	o.begins(t)
	o.lasts(t, false)
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	stuck.Wait()
	o.ends(t)
}
