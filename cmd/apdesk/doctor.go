package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

type doctorCmd struct {
	// What it would be served with; doctor judges these too.
	Serve serveCmd `embed:""`
	JSON  bool     `help:"Answer as JSON." name:"json"`
}

// level is how bad a finding is.
type level string

const (
	levelOK      level = "OK"
	levelWarning level = "WARNING"
	levelProblem level = "PROBLEM" // the desk is unsafe, or will fail its people
)

// finding is one thing that was looked at.
type finding struct {
	Check string `json:"check"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what to do about it
}

type doctor struct {
	findings []finding
	now      time.Time
}

func (d *doctor) ok(check, text string) {
	d.findings = append(d.findings, finding{check, levelOK, text, ""})
}

func (d *doctor) warn(check, text, do string) {
	d.findings = append(d.findings, finding{check, levelWarning, text, do})
}

func (d *doctor) problem(check, text, do string) {
	d.findings = append(d.findings, finding{check, levelProblem, text, do})
}

func (c doctorCmd) Run(e *env) error {
	d := &doctor{now: time.Now()}
	d.addresses(c.Serve)
	d.issuer(e.ctx, c.Serve.OAuthIssuer)
	d.key(c.Serve, e.cli.Database)
	if d.files(e.cli.Database) {
		d.database(e)
	}
	worst := levelOK
	problems := 0
	for _, f := range d.findings {
		if f.Level == levelProblem {
			worst, problems = levelProblem, problems+1
		} else if f.Level == levelWarning && worst == levelOK {
			worst = levelWarning
		}
	}
	if c.JSON {
		err := printJSON(e.stdout, struct {
			Worst    level     `json:"worst"`
			Findings []finding `json:"findings"`
		}{worst, d.findings})
		if err != nil {
			return err
		}
	} else {
		for _, f := range d.findings {
			fmt.Fprintf(e.stdout, "%-8s %s: %s\n", f.Level, f.Check, f.Text)
			if f.Do != "" {
				fmt.Fprintf(e.stdout, "%-8s   → %s\n", "", f.Do)
			}
		}
	}
	if problems > 0 {
		return fmt.Errorf("%s found", counted(int64(problems), "problem"))
	}
	return nil
}

// loopback says whether only this machine reaches an address to listen on.
func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// readable says whether what goes to a URL can be read on its way over a network.
func readable(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Scheme != "https" && !loopback(u.Host) && !loopback(u.Hostname())
}

// checkUnsafe refuses to serve what would carry passwords and tokens over a network for everybody on
// it to read: an address that other machines reach, under a public URL that is not https.
func checkUnsafe(c serveCmd, publicURL, mcpURL string) error {
	if c.Insecure {
		return nil
	}
	for _, x := range []struct{ flag, addr, urlFlag, url string }{{"--addr", c.Addr, "--public-url", publicURL}, {"--mcp-addr", c.MCPAddr, "--mcp-url", mcpURL}} {
		if !loopback(x.addr) && !strings.HasPrefix(strings.ToLower(x.url), "https://") {
			return fmt.Errorf("%s %s takes connections from other machines, and %s (%s) is not https: passwords, sessions and tokens would be readable on the network.\n"+
				"Put a proxy with TLS before the desk and give --public-url https://…; or listen on 127.0.0.1; or, on a network that nobody else is on, give --insecure", x.flag, x.addr, x.urlFlag, x.url)
		}
	}
	return nil
}

func (d *doctor) addresses(c serveCmd) {
	publicURL, mcpURL, err := c.urls()
	if err != nil {
		d.problem("addresses", err.Error(), "Correct the flag; the desk does not start with it.")
		return
	}
	unsafe := c
	unsafe.Insecure = false
	switch err := checkUnsafe(unsafe, publicURL, mcpURL); {
	case err != nil && c.Insecure:
		d.warn("transport", "The desk takes connections from other machines without TLS, as --insecure allows.", "Only on a network that nobody else is on: passwords, sessions and tokens can be read there.")
	case err != nil:
		text, do, _ := strings.Cut(err.Error(), "\n")
		d.problem("transport", text, do)
	case readable(publicURL):
		d.problem("transport", fmt.Sprintf("The public URL %s is not https: cookies are not Secure, and what people send can be read on its way.", publicURL), "Serve it through a proxy with TLS and give --public-url https://….")
	case readable(mcpURL):
		d.problem("transport", fmt.Sprintf("The MCP URL %s is not https: agents' tokens can be read on their way.", mcpURL), "Serve it through a proxy with TLS and give --mcp-url https://….")
	case strings.HasPrefix(strings.ToLower(publicURL), "https://"):
		d.ok("transport", "People come over https; cookies are Secure.")
	default:
		d.warn("transport", "Without --public-url only this machine reaches the desk.", "For others, put a proxy with TLS before it and give --public-url https://….")
	}
	public, mcp := hostOf(publicURL), hostOf(mcpURL)
	switch {
	case !c.mcpBeside() && !strings.EqualFold(public, mcp):
		d.warn("MCP URL", fmt.Sprintf("Agents reach the desk at %s and people at %s.", mcp, public), "That works; one name through one proxy (--mcp-url PUBLIC-URL/mcp) is simpler to certify and to allow.")
	default:
		d.ok("MCP URL", mcpURL)
	}
	if c.RateLimit == 0 {
		d.warn("rate limit", "Calls are not limited.", "Leave --rate-limit at its default unless a proxy limits them.")
	}
}

// mcpBeside says whether the desk is used on this machine alone, its two addresses side by side.
func (c serveCmd) mcpBeside() bool { return c.PublicURL == "" && c.MCPURL == "" }

func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	return u.Hostname()
}

// issuer asks an identity provider for its settings, as the desk does when it starts.
func (d *doctor) issuer(ctx context.Context, issuer string) {
	if issuer == "" {
		return
	}
	if readable(issuer) {
		d.problem("identity provider", fmt.Sprintf("The issuer %s is not https: whoever is on the way can forge its keys.", issuer), "Give the provider's https address as --oauth-issuer.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		d.problem("identity provider", err.Error(), "Correct --oauth-issuer.")
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.problem("identity provider", fmt.Sprintf("%s does not answer: %v", issuer, err), "Until it does its access tokens are refused. Check the address, the network and the certificate.")
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		d.problem("identity provider", fmt.Sprintf("%s answers %s to OIDC discovery.", issuer, res.Status), "Check --oauth-issuer: it must be the issuer exactly as the provider names itself.")
		return
	}
	d.ok("identity provider", issuer+" answers.")
}

// key looks at the secret key without making one.
func (d *doctor) key(c serveCmd, database string) {
	const check = "secret key"
	path := c.SecretKeyFile
	if path == "" && c.SecretKey == "" {
		if models.SQLitePath(database) == "" {
			d.problem(check, "There is none, and PostgreSQL needs one.", "Make one with `openssl rand -hex 32` and give it as --secret-key-file, the same for every replica.")
			return
		}
		path = models.SQLitePath(database) + ".key"
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			d.warn(check, "There is none yet.", "The desk makes one when it starts first; keep a copy apart from the backups.")
			return
		}
	}
	key, err := serveCmd{SecretKey: c.SecretKey, SecretKeyFile: path}.secretKey(database)
	if err != nil {
		d.problem(check, err.Error(), "Make one with `openssl rand -hex 32`.")
		return
	}
	seen := map[byte]bool{}
	for _, b := range key {
		seen[b] = true
	}
	// Of 32 random bytes about 30 differ; fewer than 16 do once in 10^15 keys or rarer.
	if len(seen) < secretKeyBytes/2 {
		d.problem(check, "It is not random, so others may have the same.", "Make one with `openssl rand -hex 32`. Everybody signs in anew after the change.")
		return
	}
	if path == "" {
		d.ok(check, "Given by flag or variable.")
		return
	}
	d.mode(check, path)
}

// mode looks at who may read a file that is for the desk alone.
func (d *doctor) mode(check, path string) {
	info, err := os.Stat(path)
	if err != nil {
		d.problem(check, err.Error(), "The desk needs this file.")
		return
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o007 != 0:
		d.problem(check, fmt.Sprintf("%s can be read by everybody on this machine (mode %04o).", path, mode), "chmod 600 "+path)
	case mode&0o070 != 0:
		d.warn(check, fmt.Sprintf("%s can be read by its group (mode %04o).", path, mode), "chmod 600 "+path)
	default:
		d.ok(check, fmt.Sprintf("%s is for its owner alone.", path))
	}
}

const (
	diskLow  = 2 << 30   // bytes free
	diskFull = 200 << 20 // bytes free
)

// files looks at the database's files before they are opened, and says whether there is one to open.
func (d *doctor) files(database string) bool {
	path := models.SQLitePath(database)
	if path == "" {
		return true
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.problem("database", path+" is not there.", "Is --database right? A new desk makes it: apdesk workspace create …")
		return false
	}
	d.mode("database file", path)
	for _, more := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(path + more); err == nil && info.Mode().Perm()&0o077 != 0 {
			d.mode("database file", path+more)
		}
	}
	free, known := freeBytes(filepath.Dir(path))
	switch {
	case !known:
	case free < diskFull:
		d.problem("disk", fmt.Sprintf("%d MB are free where the database is.", free>>20), "Make room now: with a full disk the desk answers 503.")
	case free < diskLow:
		d.warn("disk", fmt.Sprintf("%d MB are free where the database is.", free>>20), "Make room, or move the database.")
	default:
		d.ok("disk", fmt.Sprintf("%d GB are free where the database is.", free>>30))
	}
	return true
}

func (d *doctor) database(e *env) {
	store, err := e.open()
	if err != nil {
		d.problem("database", err.Error(), "The desk cannot start like this.")
		return
	}
	h, err := store.Health(e.ctx)
	if err = errors.Join(err, store.Close()); err != nil {
		d.problem("database", explain(err), "The desk cannot work like this.")
		return
	}
	d.ok("database", fmt.Sprintf("It answers; its schema is up to date (version %d).", h.Schema))
	d.durability(h)
	d.trail(h)
	d.jobs(h)
	for _, w := range h.Workspaces {
		d.workspace(w)
	}
	if len(h.Workspaces) == 0 {
		d.warn("workspaces", "There is none.", "apdesk workspace create --id 1000 --name … --time-zone Europe/Berlin --currency EUR")
	}
	d.accounts(h)
	switch since := d.now.Sub(h.LastBackup.Time); {
	case h.LastBackup.IsZero():
		d.warn("backup", "The desk knows of none.", "apdesk backup FILE, daily; or PostgreSQL's own tools. Keep the secret key apart from it.")
	case since > 48*time.Hour:
		d.warn("backup", fmt.Sprintf("The last one was made %d days ago.", int(since/(24*time.Hour))), "apdesk backup FILE, daily.")
	default:
		d.ok("backup", "The last one was made "+moment(h.LastBackup)+".")
	}
}

func (d *doctor) durability(h models.Health) {
	want, do := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"}, "Set by the desk itself: is the file on a file system without locks, such as NFS?"
	if _, postgres := h.Settings["server_version"]; postgres {
		want, do = map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}, "Set it in the server's settings: without it an acknowledged decision can be lost."
	}
	bad := false
	for name, value := range want {
		if got := h.Settings[name]; got != value && !(name == "synchronous_commit" && (got == "remote_apply" || got == "remote_write")) {
			bad = true
			d.problem("durability", fmt.Sprintf("%s is %s, not %s.", name, got, value), do)
		}
	}
	if !bad {
		d.ok("durability", "What is acknowledged is on the disk.")
	}
}

func (d *doctor) trail(h models.Health) {
	if len(h.MissingGuards) > 0 {
		d.problem("trail", "The database no longer refuses changes of the trail: "+strings.Join(h.MissingGuards, ", ")+" gone or switched off.", "Find out who did that; apdesk audit verify, with a checkpoint kept elsewhere.")
	} else {
		d.ok("trail", "The database refuses changes of the trail. (apdesk audit verify reads the whole of it.)")
	}
	if age := d.now.Sub(h.UnsealedSince.Time); h.Unsealed > 0 && age > 5*time.Minute {
		d.warn("trail", fmt.Sprintf("%s not in the chain since %s.", counted(h.Unsealed, "event"), moment(h.UnsealedSince)), "A running desk seals them within a minute; this command did so too if it could. Look for `audit events not sealed yet` in the log.")
	}
	switch ahead := h.LastEvent.Sub(d.now); {
	case ahead > time.Minute:
		d.problem("clock", fmt.Sprintf("The last event is of %s, and this machine's clock shows %s.", moment(h.LastEvent), moment(models.At(d.now))), "Set the clock (NTP): leases, expiries and closed periods follow it.")
	case d.now.Year() < 2026:
		d.problem("clock", "This machine's clock shows "+moment(models.At(d.now))+".", "Set the clock (NTP).")
	default:
		d.ok("clock", "It agrees with the trail.")
	}
	switch since := d.now.Sub(h.LastCheckpoint.Time); {
	case h.LastEvent.IsZero():
	case h.LastCheckpoint.IsZero():
		d.warn("checkpoints", "None is signed yet.", "A running desk signs one a day. apdesk audit checkpoint prints one: keep it where this machine cannot write.")
	case since > 48*time.Hour && h.LastEvent.After(h.LastCheckpoint.Time.Add(48*time.Hour)):
		d.warn("checkpoints", "The last one is of "+moment(h.LastCheckpoint)+".", "A running desk signs one a day: is it running, and what does its log say of audit.checkpoint?")
	default:
		d.ok("checkpoints", "The last one is of "+moment(h.LastCheckpoint)+".")
	}
}

func (d *doctor) jobs(h models.Health) {
	if len(h.StuckJobs) == 0 {
		d.ok("jobs", "None is overdue.")
		return
	}
	oldest := h.StuckJobs[0]
	text := fmt.Sprintf("%s overdue, the oldest (%s) since %s.", counted(int64(len(h.StuckJobs)), "job"), oldest.Kind, moment(oldest.DueAt))
	for _, j := range h.StuckJobs {
		if j.Attempts > 0 {
			d.problem("jobs", text+fmt.Sprintf(" %s failed %d times: %s", j.Kind, j.Attempts, j.LastError), "Expiries and reminders depend on them; mend the cause, they are tried again by themselves.")
			return
		}
	}
	d.warn("jobs", text, "A running desk does them when they are due. Is it running?")
}

func (d *doctor) workspace(w models.WorkspaceHealth) {
	check := "workspace " + w.ID
	before := len(d.findings)
	if w.Rules == 0 {
		d.warn(check, "It has no approval rule, so no write can be approved.", "apdesk rule create --workspace "+w.ID+" …, or /settings/rules")
	}
	for _, gap := range w.Gaps {
		d.warn(check, gap+".", "Requests it covers go unrouted. Give more people the role, or change the rule.")
	}
	for _, tool := range w.Unbound {
		d.warn(check, "The tool "+tool+" has a rule and no binding: its amount is what the agent claims.", "Say where invoice, amount and currency stand in its arguments: apdesk workspace set --id "+w.ID+" --binding FILE")
	}
	if w.Admins == 0 {
		d.warn(check, "It has no active admin.", "apdesk user create --email … --workspace "+w.ID+" --role admin")
	}
	if len(d.findings) == before {
		d.ok(check, counted(int64(w.Rules), "rule")+", each with enough people.")
	}
}

func (d *doctor) accounts(h models.Health) {
	some := func(names []string) string {
		if len(names) > 5 {
			return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
		}
		return strings.Join(names, ", ")
	}
	before := len(d.findings)
	if len(h.Ownerless) > 0 {
		d.problem("service accounts", "Nobody active answers for "+some(h.Ownerless)+".", "Give each another responsible person, or deactivate it.")
	}
	if len(h.EternalTokens) > 0 {
		d.warn("tokens", fmt.Sprintf("%s without an end: %s.", counted(int64(len(h.EternalTokens)), "token"), some(h.EternalTokens)), "Create them with --expires, and replace them in time.")
	}
	if len(h.IdleTokens) > 0 {
		d.warn("tokens", fmt.Sprintf("%s unused for 90 days: %s.", counted(int64(len(h.IdleTokens)), "token"), some(h.IdleTokens)), "Revoke what nobody uses.")
	}
	if len(d.findings) == before {
		d.ok("service accounts", "Each has an active responsible person; every token expires and is used.")
	}
}
