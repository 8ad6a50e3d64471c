package modelstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// RequirePostgres is the environment variable that turns "skipped, there is no
// PostgreSQL here" into a failure when it is "1". Continuous integration sets it.
const RequirePostgres = "APDESK_TEST_REQUIRE_POSTGRES"

// superuser owns the cluster. Only this machine's owner of the cluster's
// directory (and root) can reach its socket.
const superuser = "apdesk"

// errNoPostgres says that no server is installed; tests are skipped for it.
var errNoPostgres = errors.New("initdb was found neither on PATH nor under /usr/lib/postgresql: install Debian's package postgresql")

// cluster is one PostgreSQL server with its data in a temporary directory,
// reachable through a unix socket in that directory only.
type cluster struct {
	dir   string
	guard *exec.Cmd
	// alive is the write end of the guard's standard input. The guard ends the
	// server when it closes, which it does even if this process is killed.
	alive io.Closer
	log   *lastLines

	mu       sync.Mutex
	next     int
	migrated bool
}

var shared struct {
	sync.Mutex
	started bool
	cluster *cluster
	err     error
}

// sharedCluster starts the cluster of this test process at the first call.
func sharedCluster() (*cluster, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.started {
		shared.started = true
		shared.cluster, shared.err = startCluster()
	}
	return shared.cluster, shared.err
}

// Main runs the tests of a package and then ends the PostgreSQL cluster they
// started, whether they passed or not. It does not return.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop ends the PostgreSQL cluster of this process, if one runs, and removes
// its files. A TestMain that has more to do than Main calls it at its end.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	shared.cluster, shared.err = nil, errors.New("the cluster of this test process was stopped")
}

// PostgresURL creates an empty database, without any table, that is dropped
// when the test ends. The test is skipped where PostgreSQL is not installed.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return requireCluster(t).createDatabase(t, "")
}

// KeepPostgres copies a database that nobody is connected to, and keeps the copy
// until the test process ends, as the template of later tests; see CopyPostgres.
func KeepPostgres(t testing.TB, databaseURL string) (template string) {
	t.Helper()
	c := requireCluster(t)
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	template = fmt.Sprintf("kept%d", c.next)
	if err := c.exec("CREATE DATABASE " + template + " TEMPLATE " + strings.TrimPrefix(u.Path, "/")); err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	return template
}

// CopyPostgres creates a database of this test with everything that a kept one
// holds.
func CopyPostgres(t testing.TB, template string) string {
	t.Helper()
	return requireCluster(t).createDatabase(t, template)
}

func requireCluster(t testing.TB) *cluster {
	t.Helper()
	c, err := sharedCluster()
	switch {
	case errors.Is(err, errNoPostgres) && os.Getenv(RequirePostgres) != "1":
		t.Skipf("no PostgreSQL here: %v (set %s=1 to make this a failure)", err, RequirePostgres)
	case err != nil:
		t.Fatalf("modelstest: start PostgreSQL: %v", err)
	}
	return c
}

// Tests kill the desk, never the database's machine, so what the operating system has taken counts as
// written; waiting for the disk would take most of the tests' time.

// guardScript runs the server until its standard input ends, then stops it at
// once and removes its directory. A server that ends while the file "stopped" is
// there starts again when it goes. Arguments: directory, server program.
const guardScript = `
exec 3<&0
(
	cat <&3 >/dev/null
	touch "$1/over"
	until kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")" 2>/dev/null; do
		[ -e "$1/data" ] || break # it had ended
		sleep 0.05
	done
) &
while :; do
	"$2" -D "$1/data" -k "$1" -h "" -c fsync=off -c full_page_writes=off \
		-c max_connections=500 -c shared_buffers=64MB -c lc_messages=C -c log_min_messages=warning \
		-c log_line_prefix='' </dev/null &
	wait $!
	[ -e "$1/stopped" ] || break
	while [ -e "$1/stopped" ] && [ ! -e "$1/over" ]; do sleep 0.05; done
	[ ! -e "$1/over" ] || break
done
cd /
rm -rf "$1"
`

func startCluster() (_ *cluster, err error) {
	initdb, server, err := findPrograms()
	if err != nil {
		return nil, err
	}
	sweepAbandoned()

	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	account, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}

	init := exec.Command(initdb, "--pgdata="+filepath.Join(dir, "data"), "--username="+superuser,
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	init.Dir, init.Env, init.SysProcAttr = dir, cleanEnvironment(), account
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}

	guard := exec.Command("/bin/sh", "-c", guardScript, "apdesk-postgres-guard", dir, server)
	guard.Dir, guard.Env, guard.SysProcAttr = dir, cleanEnvironment(), ownGroup(account)
	alive, err := guard.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	guard.Stdout, guard.Stderr = input, input
	if err := guard.Start(); err != nil {
		return nil, errors.Join(err, input.Close(), output.Close())
	}
	if err := input.Close(); err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, guard: guard, alive: alive, log: &lastLines{}}
	ready := c.follow(output)
	if !<-ready {
		c.stop()
		return nil, fmt.Errorf("the server did not start:\n%s", c.log)
	}
	return c, nil
}

// follow reads the server's log to its end and reports once whether the server
// said that it is ready.
func (c *cluster) follow(output io.ReadCloser) <-chan bool {
	ready := make(chan bool, 1)
	go func() {
		defer output.Close()
		said := false
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			c.log.add(lines.Text())
			if !said && strings.Contains(lines.Text(), "ready to accept connections") {
				said = true
				ready <- true
			}
		}
		if !said {
			ready <- false
		}
	}()
	return ready
}

func (c *cluster) stop() {
	// The guard's exit status is the server's and says nothing here: an
	// immediate shutdown is not a clean one, and the files are gone.
	_ = c.alive.Close()
	_ = c.guard.Wait()
}

// url is the address of one database of the cluster.
func (c *cluster) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database,
		RawQuery: url.Values{"host": {c.dir}}.Encode()}
	return u.String()
}

// createDatabase makes a database, as a copy of template when one is named, and
// drops it when the test ends.
func (c *cluster) createDatabase(t testing.TB, template string) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	name := fmt.Sprintf("t%d", c.next)
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	if err := c.exec(statement); err != nil {
		t.Fatalf("modelstest: %v", err)
	}
	t.Cleanup(func() {
		if err := c.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("modelstest: %v", err)
		}
	})
	return c.url(name)
}

// exec runs one statement outside any transaction in the maintenance database.
func (c *cluster) exec(statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w\n%s", err, c.log)
	}
	_, err = conn.Exec(ctx, statement)
	if err != nil {
		err = fmt.Errorf("%s: %w", statement, err)
	}
	return errors.Join(err, conn.Close(ctx))
}

// findPrograms returns initdb and the postgres beside it, of the newest
// installed major version unless PATH names one.
func findPrograms() (initdb, server string, err error) {
	candidates := []string{}
	if found, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, found)
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", "", err
	}
	sort.Slice(installed, func(i, j int) bool {
		return len(installed[i]) > len(installed[j]) ||
			len(installed[i]) == len(installed[j]) && installed[i] > installed[j]
	})
	for _, initdb := range append(candidates, installed...) {
		// A link on PATH may point into the directory that holds the server.
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			initdb = real
		}
		server := filepath.Join(filepath.Dir(initdb), "postgres")
		if _, err := os.Stat(server); err == nil {
			return initdb, server, nil
		}
	}
	return "", "", errNoPostgres
}

// cleanEnvironment keeps PG* settings of the person running the tests away
// from the cluster.
func cleanEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// lastLines keeps the end of the server's log for the message of a failure.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lastLines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > 50 {
		l.lines = l.lines[1:]
	}
}

// String returns the lines kept, one under the other.
func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
