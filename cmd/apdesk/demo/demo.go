package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/agent"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/erp"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/people"
)

// Options of the demo.
type Options struct {
	// Binary is the apdesk program whose processes the demo is made of; empty
	// means the running one.
	Binary string
	// Dir keeps database and files; empty means a temporary one that is removed
	// at the end.
	Dir string
	// Addr and MCPAddr of the desk; empty means 127.0.0.1:8080 and 127.0.0.1:8081
	// if they are free, else free ports.
	Addr, MCPAddr string
	// Fast lets scripted people decide, checks every end and returns.
	Fast bool
	// Timeout of a fast run; zero means five minutes.
	Timeout time.Duration
	// Stdout gets what the demo has to say.
	Stdout io.Writer
}

// ChildCommand is the hidden subcommand by which the demo starts its parts:
// BINARY ChildCommand NAME FILE, NAME being erp, agent or people.
const ChildCommand = "demo-part"

// ErrNotAsExpected says that a fast run ended otherwise than its data set.
var ErrNotAsExpected = errors.New("not every invoice ended as expected")

// Part runs one part of the demo with the options in a file, until the context
// ends or the part has nothing left to do. Being told to stop is no error.
func Part(ctx context.Context, name, file string, stdout, stderr io.Writer) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	switch name {
	case "erp":
		var opt erp.Options
		if err := json.Unmarshal(raw, &opt); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		return RunERP(ctx, opt, log)
	case "agent":
		var opt agent.Options
		if err := json.Unmarshal(raw, &opt); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		return RunAgent(ctx, opt, stdout)
	case "people":
		var opt people.Options
		if err := json.Unmarshal(raw, &opt); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		return RunPeople(ctx, opt, stdout)
	}
	return fmt.Errorf("demo: no part is called %q", name)
}

// RunERP runs the simulated ERP until the context ends.
func RunERP(ctx context.Context, opt erp.Options, log *slog.Logger) error {
	server, err := erp.New(opt, log)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// RunAgent works the whole inbox; it returns nil when every invoice has ended,
// the context's error when it was stopped before.
func RunAgent(ctx context.Context, opt agent.Options, out io.Writer) error {
	set, err := setOf(opt.Today)
	if err != nil {
		return err
	}
	return agent.New(opt, out).Run(ctx, set.Inbox)
}

// RunPeople lets the scripted people work until the context ends.
func RunPeople(ctx context.Context, opt people.Options, out io.Writer) error {
	set, err := setOf(opt.Today)
	if err != nil {
		return err
	}
	return people.Run(ctx, opt, set, out)
}

func setOf(today string) (data.Set, error) {
	day, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return data.Set{}, fmt.Errorf("demo: today: %w", err)
	}
	return data.New(day), nil
}

// Run sets the demo up and keeps it going until the context ends or, with Fast,
// every invoice has ended. It answers ErrNotAsExpected when a fast run ended
// otherwise than the data set says.
func Run(ctx context.Context, opt Options) error {
	d, err := prepare(opt)
	if err != nil {
		return err
	}
	defer d.remove()
	defer d.release()
	if opt.Fast {
		timeout := opt.Timeout
		if timeout == 0 {
			timeout = 5 * time.Minute
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	d.say("Setting up two companies in %s", d.dir)
	if err := d.setUp(ctx); err != nil {
		return err
	}
	return d.play(ctx)
}

type demo struct {
	opt       Options
	set       data.Set
	dir       string
	temporary bool
	addr, mcp string
	erpAddr   string
	passwords map[string]string
	// tokens by what they are for
	agentToken, erpToken, officeToken, toERP string

	reserved []net.Listener

	outMu sync.Mutex
}

func prepare(opt Options) (ready *demo, err error) {
	d := &demo{opt: opt, set: data.New(time.Now()), dir: opt.Dir, passwords: map[string]string{}, toERP: secret("erp")}
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	if d.opt.Stdout == nil {
		d.opt.Stdout = io.Discard
	}
	if d.opt.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		d.opt.Binary = self
	}
	erpAddr := ""
	if opt.Addr != "" {
		erpAddr = "127.0.0.1:0" // whoever chooses addresses wants the usual ones left alone
	}
	if d.addr, err = d.reserve(opt.Addr, "127.0.0.1:8080"); err != nil {
		return nil, err
	}
	if d.mcp, err = d.reserve(opt.MCPAddr, "127.0.0.1:8081"); err != nil {
		return nil, err
	}
	if d.erpAddr, err = d.reserve(erpAddr, "127.0.0.1:8082"); err != nil {
		return nil, err
	}
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "apdesk-demo-"); err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		d.temporary = true
	} else if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if _, err := os.Stat(d.database()); err == nil {
		return nil, fmt.Errorf("demo: %s already holds a demo; give an empty directory", d.dir)
	}
	return d, nil
}

func (d *demo) database() string { return filepath.Join(d.dir, "apdesk.db") }

func (d *demo) remove() {
	if d.temporary {
		_ = os.RemoveAll(d.dir)
	}
}

// Write lets the processes of the demo share one output, a line at a time.
func (d *demo) Write(p []byte) (int, error) {
	d.outMu.Lock()
	defer d.outMu.Unlock()
	return d.opt.Stdout.Write(p)
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// reserve takes the address given, else the usual one if it is free, else a free
// port, and keeps it from others until the part that wants it is started.
func (d *demo) reserve(given, usual string) (string, error) {
	candidates := []string{usual, "127.0.0.1:0"}
	if given != "" {
		candidates = []string{given}
	}
	var err error
	for _, a := range candidates {
		var l net.Listener
		if l, err = net.Listen("tcp", a); err == nil {
			d.reserved = append(d.reserved, l)
			return l.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("demo: %w", err)
}

func (d *demo) release() {
	for _, l := range d.reserved {
		_ = l.Close()
	}
	d.reserved = nil
}

func secret(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// setUp fills the database with the commands anybody would use.
func (d *demo) setUp(ctx context.Context) error {
	for _, w := range d.set.Workspaces {
		if _, err := d.run(ctx, "", "workspace", "create", "--id", w.ID, "--name", w.Name, "--time-zone", w.TimeZone, "--currency", w.Currency); err != nil {
			return err
		}
		if _, err := d.run(ctx, "", "workspace", "set", "--id", w.ID, "--period-closed-through", w.ClosedThrough); err != nil {
			return err
		}
	}
	for _, p := range d.set.People {
		password := strings.ToLower(rand.Text()[:12])
		d.passwords[p.Key] = password
		for i, w := range d.set.Workspaces {
			args := []string{"user", "create", "--email", p.Email, "--name", p.Name, "--workspace", w.ID, "--role", p.Role}
			if i == 0 {
				args = append(args, "--time-zone", w.TimeZone, "--password-stdin")
			}
			if _, err := d.run(ctx, password, args...); err != nil {
				return err
			}
		}
	}
	owner := d.set.Person(data.Admin).Email
	for _, role := range []string{"agent", "erp"} {
		for _, w := range d.set.Workspaces {
			if _, err := d.run(ctx, "", "user", "create", "--email", role+"@demo.example", "--name", "Demo "+role, "--workspace", w.ID, "--role", role, "--service", "--owner", owner); err != nil {
				return err
			}
		}
	}
	for _, r := range d.set.Rules {
		args := []string{"rule", "create", "--workspace", r.Workspace, "--role", r.Role, "--currency", r.Currency, "--from", r.From, "--to", r.To, "--required", fmt.Sprint(r.Required)}
		if r.Tool != "" {
			args = append(args, "--tool", r.Tool)
		}
		if _, err := d.run(ctx, "", args...); err != nil {
			return err
		}
	}
	first := d.set.Workspaces[0].ID
	for _, t := range []struct {
		to                 *string
		user, name, scopes string
	}{
		{&d.agentToken, "agent@demo.example", "demo agent", "cases:write,approvals:write,confirmations:write,holds:write"},
		{&d.erpToken, "erp@demo.example", "demo ERP", "approvals:write,money"},
		{&d.officeToken, d.set.Person(data.Auditor).Email, "demo office", "cases:read"},
	} {
		out, err := d.run(ctx, "", "token", "create", "--user", t.user, "--name", t.name, "--scope", t.scopes, "--workspace", first)
		if err != nil {
			return err
		}
		*t.to = strings.TrimSpace(out)
	}
	return nil
}

// run runs one apdesk command on the demo's database and answers its output.
func (d *demo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.opt.Binary, append([]string{"--database", "sqlite:" + d.database()}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdin = plainEnv(), d.dir, strings.NewReader(stdin+"\n")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("apdesk %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// plainEnv keeps the operator's own APDESK_* settings out of the demo.
func plainEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "APDESK_") {
			env = append(env, v)
		}
	}
	return env
}

func (d *demo) play(ctx context.Context) error {
	files, err := d.writeOptions()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &supervisor{demo: d}
	defer s.stop()

	d.release()
	s.start("desk", nil, "--database", "sqlite:"+d.database(), "serve", "--insecure", "--addr", d.addr, "--mcp-addr", d.mcp)
	if err := s.await(ctx, "http://"+d.addr+"/healthz"); err != nil {
		return err
	}
	s.start("erp", nil, ChildCommand, "erp", files["erp"])
	if err := s.await(ctx, "http://"+d.erpAddr+"/"); err != nil {
		return err
	}
	d.welcome()
	worked := s.start("agent", d.worked, ChildCommand, "agent", files["agent"])
	if d.opt.Fast {
		s.start("people", nil, ChildCommand, "people", files["people"])
	}
	if !d.opt.Fast {
		select {
		case <-ctx.Done():
		case <-worked:
			d.say("\nThe agent has finished its inbox. The desk stays open until Ctrl-C.")
			select {
			case <-ctx.Done():
			case <-s.broken():
				return s.fault()
			}
		case <-s.broken():
			return s.fault()
		}
		d.say("\nStopping.")
		return nil
	}
	select {
	case <-worked:
	case <-ctx.Done():
	case <-s.broken():
		return s.fault()
	}
	return d.conclude(ctx)
}

func (d *demo) writeOptions() (map[string]string, error) {
	files := map[string]string{}
	pace := 20000
	if d.opt.Fast {
		pace = 1500
	}
	for name, opt := range map[string]any{
		"erp": erp.Options{Addr: d.erpAddr, Books: filepath.Join(d.dir, "books.json"), Token: d.toERP, DeskURL: "http://" + d.addr,
			DeskToken: d.erpToken, OfficeToken: d.officeToken, Today: d.set.Today, Seed: 1},
		"agent": agent.Options{Dir: d.agentDir(), DeskURL: "http://" + d.mcp + "/mcp", DeskToken: d.agentToken,
			ERPURL: "http://" + d.erpAddr + "/mcp", ERPToken: d.toERP, Today: d.set.Today, Fast: d.opt.Fast, RecheckEvery: pace},
		"people": people.Options{URL: "http://" + d.addr, Today: d.set.Today, Passwords: d.passwords},
	} {
		raw, err := json.Marshal(opt)
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		files[name] = filepath.Join(d.dir, name+".options")
		// The options hold tokens and passwords: a file for this user alone, not
		// the command line, which everybody on the machine can read.
		if err := os.WriteFile(files[name], raw, 0o600); err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	return files, nil
}

// worked says whether the agent has brought every invoice to an end.
func (d *demo) worked() bool {
	works, err := agent.Load(d.agentDir())
	if err != nil {
		return false
	}
	for _, doc := range d.set.Inbox {
		if w := works[doc.Key]; w == nil || w.End == "" {
			return false
		}
	}
	return true
}

func (d *demo) agentDir() string { return filepath.Join(d.dir, "agent") }

// welcome prints who can sign in where and what there is to do.
func (d *demo) welcome() {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe desk       http://%s   (pages and REST)\n", d.addr)
	fmt.Fprintf(&b, "               http://%s/mcp   (MCP)\n", d.mcp)
	fmt.Fprintf(&b, "Simulated ERP  http://%s   (its invoices, read only)\n\n", d.erpAddr)
	t := tabwriter.NewWriter(&b, 0, 4, 3, ' ', 0)
	fmt.Fprintln(t, "SIGN IN AS\tPASSWORD\tNAME\tROLE")
	for _, p := range d.set.People {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Email, d.passwords[p.Key], p.Name, p.Role)
	}
	_ = t.Flush()
	fmt.Fprintf(&b, "\nAll of them work in workspaces %s (%s) and %s (%s).\n", d.set.Workspaces[0].ID, d.set.Workspaces[0].Name, d.set.Workspaces[1].ID, d.set.Workspaces[1].Name)
	fmt.Fprintf(&b, "A token for an agent of your own (role agent): %s\n", d.agentToken)
	if d.opt.Fast {
		fmt.Fprintf(&b, "\nThe agent works %d invoices; scripted people decide.\n\n", len(d.set.Inbox))
	} else {
		fmt.Fprintf(&b, `
The agent works %d invoices and stops where it needs you. Sign in, for example as
%s (queue procurement, orders that were closed),
%s (queue ap, duplicates and wrong numbers) or
%s (approvals), decide, and watch here what the agent does.
Kill any of the processes named below: nothing is lost or done twice. Ctrl-C ends it.

`, len(d.set.Inbox), d.set.Person(data.Procurement).Email, d.set.Person(data.Clerk).Email, d.set.Person(data.FinanceA).Email)
	}
	_, _ = io.WriteString(d, b.String())
}

// conclude waits until the ERP has reported what it wrote and carried out what
// people stated, then compares and prints.
func (d *demo) conclude(ctx context.Context) error {
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	var lines []Line
	for {
		books, err := d.books(patience)
		works, loadErr := agent.Load(d.agentDir())
		cases, casesErr := d.cases(patience)
		err = errors.Join(err, casesErr)
		if err == nil && loadErr == nil {
			lines = Compare(d.set, works, books, cases)
			if books.Unreported == 0 && allRight(lines) || ctx.Err() != nil {
				if books.Unreported > 0 {
					d.say("%d writes were not reported to the desk", books.Unreported)
				}
				break
			}
		}
		select {
		case <-patience.Done():
			if lines == nil {
				return errors.Join(errors.New("demo: no state to compare"), err, loadErr)
			}
		case <-time.After(200 * time.Millisecond):
			continue
		}
		break
	}
	d.say("")
	WriteTable(d, lines)
	if !allRight(lines) {
		return ErrNotAsExpected
	}
	d.say("\nAll %d invoices ended as expected.", len(lines))
	return nil
}

func allRight(lines []Line) bool {
	for _, l := range lines {
		if l.Wrong != "" {
			return false
		}
	}
	return true
}

// books asks the ERP for its state over its socket.
func (d *demo) books(ctx context.Context) (erp.State, error) {
	var state erp.State
	err := getJSON(ctx, "http://"+d.erpAddr+"/state", d.toERP, &state)
	return state, err
}

// cases counts the desk's cases by invoice, over its socket too.
func (d *demo) cases(ctx context.Context) (map[string]int, error) {
	count := map[string]int{}
	for _, w := range d.set.Workspaces {
		var page struct {
			Items []struct {
				Invoice struct {
					Number string `json:"number"`
				} `json:"invoice"`
			} `json:"items"`
		}
		// One page is plenty: more cases than that would be wrong anyway.
		if err := getJSON(ctx, "http://"+d.addr+"/api/v1/cases?limit=200&workspace_id="+w.ID, d.officeToken, &page); err != nil {
			return nil, err
		}
		for _, c := range page.Items {
			for _, doc := range d.set.Inbox {
				if doc.Number == c.Invoice.Number {
					count[doc.Key]++
				}
			}
		}
	}
	return count, nil
}

func getJSON(ctx context.Context, url, token string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("demo: %s answers %s", req.URL.Path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("demo: %s: %w", req.URL.Path, err)
	}
	return nil
}
