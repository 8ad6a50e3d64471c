package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/proxy"
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
	d.addresses(c.Serve, e.cli.Database)
	d.issuer(e.ctx, c.Serve.OAuthIssuer)
	d.people(e.ctx, c.Serve)
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

// danger is a setting, or a mix of settings, with which the desk does not start unless --insecure says so.
type danger struct{ check, text, do string }

// dangers are the settings that would let others read or forge what people and agents send.
func dangers(c serveCmd, publicURL, mcpURL, database string, proxies proxy.Trust) []danger {
	var found []danger
	const tls = "Put a proxy with TLS before the desk and give --public-url https://…; or listen on 127.0.0.1; or, on a network that nobody else is on, give --insecure"
	for _, x := range []struct{ flag, addr, urlFlag, url, word string }{
		{"--addr", c.Addr, "--public-url", publicURL, "public URL"}, {"--mcp-addr", c.MCPAddr, "--mcp-url", mcpURL, "MCP URL"}} {
		switch {
		case !loopback(x.addr) && !strings.HasPrefix(strings.ToLower(x.url), "https://"):
			found = append(found, danger{"transport", fmt.Sprintf("%s %s takes connections from other machines, and %s (%s) is not https: passwords, sessions and tokens would be readable on the network.", x.flag, x.addr, x.urlFlag, x.url), tls})
		case readable(x.url):
			found = append(found, danger{"transport", fmt.Sprintf("The %s %s is not https: passwords, sessions and tokens can be read on their way.", x.word, x.url), "Serve it through a proxy with TLS and give " + x.urlFlag + " https://…; or, on a network that nobody else is on, give --insecure"})
		}
	}
	if r, wide := proxies.TooWide(); wide {
		found = append(found, danger{"proxies", fmt.Sprintf("--trusted-proxy %s holds more than proxies: anybody there can pretend to be any address, and so guess passwords without end.", r), "Name the addresses of the proxies alone, such as 127.0.0.1 or 10.0.0.5."})
	}
	if host, how := plainDatabase(database); how == overInternet {
		found = append(found, danger{"database connection", fmt.Sprintf("The connection to PostgreSQL at %s is not always encrypted: its password and everything the desk holds can be read on its way.", host), "Add sslmode=verify-full to --database (with sslrootcert for an authority of your own); or, on a network that nobody else is on, give --insecure"})
	}
	return found
}

// checkUnsafe refuses to serve with such settings.
func checkUnsafe(c serveCmd, publicURL, mcpURL, database string, proxies proxy.Trust) error {
	if c.Insecure {
		return nil
	}
	var errs []error
	for _, x := range dangers(c, publicURL, mcpURL, database, proxies) {
		errs = append(errs, errors.New(x.text+"\n"+x.do))
	}
	return errors.Join(errs...)
}

// reach is how far a connection goes without TLS.
type reach int

const (
	overNothing  reach = iota // it is encrypted, or stays on this machine
	unverified                // encrypted, with whoever answers
	overLAN                   // to a private address, or a name without dots, such as a container's
	overInternet              // anywhere else
)

// plainDatabase says where the database's server is, and how far what the desk sends there goes unprotected.
func plainDatabase(database string) (host string, how reach) {
	if models.SQLitePath(database) != "" {
		return "", overNothing
	}
	cfg, err := pgx.ParseConfig(database)
	if err != nil {
		return "", overNothing // the desk does not start with it anyway
	}
	type way struct {
		host string
		tls  *tls.Config
	}
	ways := []way{{cfg.Host, cfg.TLSConfig}}
	for _, f := range cfg.Fallbacks {
		ways = append(ways, way{f.Host, f.TLSConfig})
	}
	for _, w := range ways {
		got := overNothing
		ip, parseErr := netip.ParseAddr(w.host)
		switch {
		case strings.HasPrefix(w.host, "/") || loopback(w.host):
		case w.tls != nil && w.tls.InsecureSkipVerify && w.tls.VerifyPeerCertificate == nil && w.tls.VerifyConnection == nil:
			got = unverified
		case w.tls != nil:
		case parseErr == nil && (ip.IsPrivate() || ip.IsLinkLocalUnicast()), parseErr != nil && !strings.Contains(w.host, "."):
			got = overLAN
		default:
			got = overInternet
		}
		if got > how {
			host, how = w.host, got
		}
	}
	return host, how
}

func (d *doctor) addresses(c serveCmd, database string) {
	publicURL, mcpURL, err := c.urls()
	if err != nil {
		d.problem("addresses", err.Error(), "Correct the flag; the desk does not start with it.")
		return
	}
	proxies, err := proxy.Parse(c.TrustedProxy...)
	if err != nil {
		d.problem("proxies", "--trusted-proxy: "+err.Error()+".", "Correct the flag; the desk does not start with it.")
		return
	}
	seen := map[string]bool{}
	for _, x := range dangers(c, publicURL, mcpURL, database, proxies) {
		if seen[x.check] = true; c.Insecure {
			d.warn(x.check, x.text+" --insecure allows it.", x.do)
		} else {
			d.problem(x.check, x.text, x.do)
		}
	}
	https := strings.HasPrefix(strings.ToLower(publicURL), "https://")
	switch {
	case seen["transport"]:
	case https:
		d.ok("transport", "People come over https; cookies are Secure.")
	default:
		d.warn("transport", "Without --public-url only this machine reaches the desk.", "For others, put a proxy with TLS before it and give --public-url https://….")
	}
	switch {
	case seen["proxies"]:
	case !proxies.Nobody():
		d.ok("proxies", "Believed when they say for whom they ask: "+proxies.String()+".")
	case https:
		d.warn("proxies", "None is trusted, so everybody who comes through one has its address: in the log, in the list of sessions, and when sign-ins are limited.", "Give the address from which your proxy connects as --trusted-proxy; it must set X-Forwarded-For itself.")
	}
	d.connection(database, seen["database connection"])
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

// connection looks at the way to the database's server.
func (d *doctor) connection(database string, said bool) {
	const check = "database connection"
	host, how := plainDatabase(database)
	switch {
	case said || models.SQLitePath(database) != "":
	case how == overLAN:
		d.warn(check, fmt.Sprintf("The connection to PostgreSQL at %s is not always encrypted.", host), "Unless nobody else is on that network, add sslmode=verify-full to --database.")
	case how == unverified:
		d.warn(check, fmt.Sprintf("PostgreSQL at %s is not asked to prove who it is.", host), "Add sslmode=verify-full to --database, with sslrootcert for an authority of your own.")
	default:
		d.ok(check, "It is encrypted and verified, or stays on this machine.")
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

// clockApart is how far two clocks may differ before it matters.
const clockApart = 5 * time.Second

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
	var sample []string
	if err == nil {
		sample, err = store.PeopleWithPassword(e.ctx, samplePassword)
	}
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
	if len(sample) > 0 {
		d.problem("passwords", "The password of the README's example signs in "+strings.Join(sample, ", ")+".", "apdesk user password --email …, or deactivate them.")
	}
	switch since := d.now.Sub(h.LastBackup.Time); {
	case h.LastBackup.IsZero():
		d.warn("backup", "The desk knows of none.", "apdesk backup FILE, daily; or PostgreSQL's own tools. Keep the secret key apart from it.")
	case since > 48*time.Hour:
		d.warn("backup", fmt.Sprintf("The last one was made %d days ago.", int(since/(24*time.Hour))), "apdesk backup FILE, daily.")
	default:
		d.ok("backup", "The last one was made "+moment(h.LastBackup)+".")
	}
}

// samplePassword is in the README, so everybody knows it.
const samplePassword = "correct horse battery staple"

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
	case h.ClockAhead.Abs() > clockApart:
		d.problem("clock", fmt.Sprintf("The clocks of this machine and of the database's server are %s apart.", h.ClockAhead.Abs().Round(time.Second)), "Set both (NTP): with several replicas leases, expiries and sessions end at different times on each.")
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
