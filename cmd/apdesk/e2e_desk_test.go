package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models/modelstest"
)

// secretKey is what the desks of the tests seal with, so that a restarted one
// and a second replica know each other's cookies and tokens.
const secretKey = "6ac1bf0d0e1f52f1a0e5d5c3b2a19087f6e5d4c3b2a1908f7e6d5c4b3a291807"

// patience bounds how long a test waits for something that always comes. It is
// no requirement on the desk's speed.
const patience = 60 * time.Second

// desk is one "apdesk serve" process and the command line beside it.
type desk struct {
	t        testing.TB
	database string
	url      string // of pages and REST
	mcpURL   string // of the MCP endpoint
	addr     string
	mcpAddr  string
	process  *exec.Cmd
	exited   chan error
	log      *tail
}

// newDesk prepares a desk on a database without starting it.
func newDesk(t testing.TB, database string) *desk {
	t.Helper()
	d := &desk{t: t, database: database, addr: freeAddress(t), mcpAddr: freeAddress(t), log: &tail{}}
	d.url, d.mcpURL = "http://"+d.addr, "http://"+d.mcpAddr+"/mcp"
	program(t)
	t.Cleanup(func() {
		if d.process != nil {
			d.kill()
		}
		if t.Failed() {
			t.Logf("the end of the desk's log:\n%s", d.log)
		}
	})
	return d
}

// startDesk starts a desk on a database and waits until both its addresses
// answer.
func startDesk(t testing.TB, database string, flags ...string) *desk {
	t.Helper()
	d := newDesk(t, database)
	d.start(flags...)
	return d
}

// start runs "apdesk serve" and returns once /healthz answers.
func (d *desk) start(flags ...string) {
	d.t.Helper()
	args := append([]string{"serve", "--addr", d.addr, "--mcp-addr", d.mcpAddr, "--log-format", "json", "--rate-limit", "0"}, flags...)
	d.process = exec.Command(program(d.t), args...)
	d.process.Env = d.environment()
	output, input, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	d.process.Stdout, d.process.Stderr = input, input
	if err := start(d.process); err != nil {
		d.t.Fatalf("start the desk: %v", err)
	}
	_ = input.Close() // the child has its own
	go d.log.read(output)
	exited := make(chan error, 1)
	process := d.process
	go func() { exited <- process.Wait() }()
	d.exited = exited

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for retry := time.NewTicker(20 * time.Millisecond); ; {
		if d.healthy(ctx) {
			retry.Stop()
			return
		}
		select {
		case err := <-exited:
			exited <- err
			d.t.Fatalf("the desk ended while it started: %v\n%s", err, d.log)
		case <-ctx.Done():
			d.t.Fatalf("the desk did not become healthy\n%s", d.log)
		case <-retry.C:
		}
	}
}

func (d *desk) healthy(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/healthz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// kill ends the desk with SIGKILL, as a power cut would.
func (d *desk) kill() {
	d.t.Helper()
	_ = d.process.Process.Kill() // it may have ended by itself
	if err := <-d.exited; err == nil {
		d.t.Log("the desk had ended by itself before it was killed")
	}
	d.process = nil
}

// stop asks the desk to end and returns how it did.
func (d *desk) stop() error {
	d.t.Helper()
	if err := d.process.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	defer func() { d.process = nil }()
	select {
	case err := <-d.exited:
		return err
	case <-time.After(patience):
		return errors.New("the desk did not end when asked to")
	}
}

// replica starts a second desk on the same database.
func (d *desk) replica() *desk {
	d.t.Helper()
	return startDesk(d.t, d.database)
}

func (d *desk) environment() []string {
	env := []string{"APDESK_DATABASE=" + d.database, "APDESK_SECRET_KEY=" + secretKey}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs one command of the built program on the desk's database and returns
// what it printed on standard output, trimmed.
func (d *desk) run(args ...string) string {
	d.t.Helper()
	return d.runWith("", args...)
}

// runWith is run with something on standard input.
func (d *desk) runWith(input string, args ...string) string {
	d.t.Helper()
	cmd := exec.Command(program(d.t), args...)
	cmd.Env = d.environment()
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("apdesk %s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String())
}

// freeAddress is an address of this machine that nobody listens on just now.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually asks until it is so. It is for what arrives by itself and offers
// nothing to wait on.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for !so() {
		select {
		case <-deadline.C:
			t.Fatalf("never came about: %s", what)
		case <-retry.C:
		}
	}
}

// tail keeps the end of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (l *tail) read(r io.ReadCloser) {
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l.mu.Lock()
		l.lines = append(l.lines, lines.Text())
		if len(l.lines) > 400 {
			l.lines = l.lines[100:]
		}
		l.mu.Unlock()
	}
}

// String is the last lines.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines[max(0, len(l.lines)-40):], "\n")
}

// company is the workspace and people that most tests act with.
type company struct {
	*desk
	agent token // of the service account that hands over and asks
	erp   token // of the service account that redeems
}

const workspace = "1000"

// cast is one of the people of the tests.
type cast struct{ name, email, role string }

// Each of them holds one role.
var (
	anna  = cast{"Anna Klein", "anna@example.com", "ap_clerk"}
	arne  = cast{"Arne Holm", "arne@example.com", "ap_clerk"}
	lars  = cast{"Lars Lindner", "lars@example.com", "ap_lead"}
	petra = cast{"Petra Vogel", "petra@example.com", "procurement"}
	paul  = cast{"Paul Ahrens", "paul@example.com", "procurement"}
	fiona = cast{"Fiona Falk", "fiona@example.com", "finance_lead"}
	felix = cast{"Felix Frank", "felix@example.com", "finance_lead"}
	mona  = cast{"Mona Marx", "mona@example.com", "master_data"}
	audra = cast{"Audra Adler", "audra@example.com", "auditor"}
	adam  = cast{"Adam Admin", "adam@example.com", "admin"}
)

const password = "correct horse battery staple"

// token is a bearer credential.
type token string

// founded gives a desk, not yet started, whose database holds one company: its
// people, two service accounts and their tokens, and the matrix "one finance lead
// up to 10,000 EUR, two up to 100,000". The first one of each kind of database is
// founded by command in the empty database given; later ones are copies of it,
// since every person's password takes its time to hash.
func founded(t testing.TB, database string) *company {
	t.Helper()
	path, isFile := strings.CutPrefix(database, "sqlite:")
	past := &founding.postgres
	if isFile {
		past = &founding.sqlite
	}
	past.Lock()
	defer past.Unlock()
	switch {
	case past.agent == "":
		first := found(t, database)
		if isFile {
			// Closing the last connection moved everything from the log into the file.
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			past.file = file
		} else {
			past.template = modelstest.KeepPostgres(t, database)
		}
		past.agent, past.erp = first.agent, first.erp
		return first
	case isFile:
		if err := os.WriteFile(path, past.file, 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		database = modelstest.CopyPostgres(t, past.template)
	}
	return &company{desk: newDesk(t, database), agent: past.agent, erp: past.erp}
}

type foundation struct {
	sync.Mutex
	file       []byte // a whole SQLite database
	template   string // a kept PostgreSQL database
	agent, erp token
}

var founding struct{ sqlite, postgres foundation }

func found(t testing.TB, database string) *company {
	t.Helper()
	c := &company{desk: newDesk(t, database)}
	c.run("workspace", "create", "--id", workspace, "--name", "Falk & Söhne GmbH", "--time-zone", "Europe/Berlin", "--currency", "EUR")
	for _, p := range []cast{anna, arne, lars, petra, paul, fiona, felix, mona, audra, adam} {
		c.runWith(password+"\n", "user", "create", "--email", p.email, "--name", p.name,
			"--workspace", workspace, "--role", p.role, "--password-stdin")
	}
	for _, account := range []cast{{"Invoice agent", "agent@example.com", "agent"}, {"ERP", "erp@example.com", "erp"}} {
		c.run("user", "create", "--service", "--owner", lars.email, "--email", account.email, "--name", account.name,
			"--workspace", workspace, "--role", account.role)
	}
	c.agent = token(c.run("token", "create", "--user", "agent@example.com", "--name", "agent", "--scope", "cases:write,approvals:write,holds:write"))
	c.erp = token(c.run("token", "create", "--user", "erp@example.com", "--name", "erp", "--scope", "approvals:write,money"))
	c.run("rule", "create", "--workspace", workspace, "--role", "finance_lead", "--currency", "EUR", "--from", "0", "--to", "10000")
	c.run("rule", "create", "--workspace", workspace, "--role", "finance_lead", "--currency", "EUR", "--from", "10000.01", "--to", "100000", "--required", "2")
	return c
}

// open founds a company on a database and starts its desk.
func open(t testing.TB, database string) *company {
	t.Helper()
	c := founded(t, database)
	c.start()
	return c
}
