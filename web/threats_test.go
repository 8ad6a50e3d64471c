package web

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apdesk/apdesk/models"
)

const knownPassword = "Zwölf Kraniche, gelb über Wismar 77"

// withPassword is somebody of both companies who can sign in with knownPassword.
func withPassword(t *testing.T, w *world, email string) {
	t.Helper()
	hash, err := models.HashPassword(knownPassword)
	if err != nil {
		t.Fatal(err)
	}
	for _, ws := range []string{"1000", "2000"} {
		w.in(ws, func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: email, Name: "Signe", Roles: []models.Role{models.RoleProcurement}, PasswordHash: hash})
			return err
		})
	}
}

// signIn fills in the form of the sign-in page in a browser that may hold cookies already.
func (v *visitor) signIn(email string) answer {
	v.w.t.Helper()
	form := v.do(http.MethodGet, "/login", nil)
	v.keep(form)
	a := v.do(http.MethodPost, "/login", values("csrf_token", attribute(form.body, `name="csrf_token" value="`), "email", email, "password", knownPassword))
	v.keep(a)
	return a
}

// keep takes over the cookies of an answer.
func (v *visitor) keep(a answer) {
	for _, line := range a.header.Values("Set-Cookie") {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			v.w.t.Fatal(err)
		}
		if c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c.Value
		}
	}
}

// Whoever plants a session in somebody's browser, one of their own or an invented one, shares nothing with
// the session that begins when the person signs in.
func TestSigningInBeginsASessionThatNobodyPlanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withPassword(t, w, "signe@example.test")
	const name = "__Host-apdesk_session"
	invented := strings.Repeat("a", 43)
	victim := &visitor{w: w, cookies: map[string]string{name: invented, "apdesk_session": invented}}
	if a := victim.signIn("signe@example.test"); a.status != http.StatusSeeOther || victim.cookies[name] == invented || victim.cookies[name] == "" {
		t.Fatalf("answered %d with the cookie %q", a.status, victim.cookies[name])
	}
	for _, planted := range []map[string]string{{name: invented}, {"apdesk_session": invented}, {"apdesk_session": victim.cookies[name]}, {"__Secure-apdesk_session": victim.cookies[name]}} {
		attacker := &visitor{w: w, cookies: planted}
		if a := attacker.do(http.MethodGet, "/", nil); a.status != http.StatusSeeOther {
			t.Errorf("%v is answered %d", planted, a.status)
		}
	}
	first := victim.cookies[name]
	again := &visitor{w: w, cookies: map[string]string{}}
	again.signIn("signe@example.test")
	if again.cookies[name] == first || len(first) < 40 {
		t.Errorf("two sessions have the cookies %q and %q", first, again.cookies[name])
	}
	// The form of a browser that is not signed in is of no use after signing in.
	if a := victim.do(http.MethodPost, "/workspace", values("csrf_token", attribute((&visitor{w: w, cookies: map[string]string{}}).do(http.MethodGet, "/login", nil).body, `name="csrf_token" value="`), "workspace_id", "2000")); a.status != http.StatusForbidden {
		t.Errorf("a form from before the session is answered %d", a.status)
	}
}

// Cookies go over https to this host alone, no script reads them, and other sites' forms do not carry them.
func TestEveryCookieIsBoundToTheDesk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withPassword(t, w, "signe@example.test")
	v := &visitor{w: w, cookies: map[string]string{}}
	form := v.do(http.MethodGet, "/login", nil)
	v.keep(form)
	in := v.do(http.MethodPost, "/login", values("csrf_token", attribute(form.body, `name="csrf_token" value="`), "email", "signe@example.test", "password", knownPassword))
	v.keep(in)
	v.csrf = attribute(v.do(http.MethodGet, "/", nil).body, `name="csrf_token" value="`)
	lines := slices.Concat(form.header.Values("Set-Cookie"), in.header.Values("Set-Cookie"), v.post("/workspace", values("workspace_id", "2000")).header.Values("Set-Cookie"), v.post("/logout", nil).header.Values("Set-Cookie"))
	if len(lines) < 5 {
		t.Errorf("only %v", lines)
	}
	for _, line := range lines {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode && c.SameSite != http.SameSiteStrictMode {
			t.Errorf("the cookie %s", line)
		}
	}
}

// No cache on the way keeps what is for one person, and no other site frames or reads it.
func TestNothingPrivateIsKeptByCachesOrFramedByOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	v := s.people[models.RoleFinanceLead]
	for _, r := range s.pageRoutes() {
		method, route, _ := strings.Cut(r, " ")
		if method != http.MethodGet || route == "/static/*" {
			continue
		}
		path, _ := s.address(route)
		a := v.do(method, path, nil)
		kept := a.header.Get("Cache-Control")
		if route == "/files/:id" && a.status == http.StatusOK {
			if !strings.HasPrefix(kept, "private") {
				t.Errorf("%s may be kept: %q", r, kept)
			}
		} else if !strings.Contains(kept, "no-store") {
			t.Errorf("%s may be kept: %q", r, kept)
		}
		if a.header.Get("X-Frame-Options") != "DENY" && route != "/files/:id" {
			t.Errorf("%s may be framed: %q", r, a.header.Get("X-Frame-Options"))
		}
		policy := a.header.Get("Content-Security-Policy")
		if sandboxed, found := strings.CutPrefix(policy, "sandbox; "); found && route == "/files/:id" {
			policy = strings.Replace(sandboxed, "style-src 'unsafe-inline'; ", "", 1) // for the browser's own viewer, with nothing else to reach
		}
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe-") || strings.Contains(policy, "http:") || strings.Contains(policy, "*") || !strings.Contains(policy, "frame-ancestors '") {
			t.Errorf("%s has the policy %q", r, policy)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s can be read by other sites", r)
		}
	}
	for _, r := range s.restRoutes() {
		if a := s.rest(r, "agent-all"); a.header.Get("Cache-Control") == "" || strings.Contains(a.header.Get("Cache-Control"), "public") || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %q %q", r, a.header.Get("Cache-Control"), a.header.Get("Access-Control-Allow-Origin"))
		}
	}
}

// Fields that a form does not have do nothing, whatever they are called: nobody gives themselves a role,
// another person's name or a decision.
func TestFieldsThatAFormDoesNotHaveDoNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	clerk := s.people[models.RoleAPClerk]
	before := s.state("", "preferences", "presences", "drafts", "saved_views", "sessions", "audit_events")
	extra := values("role", "admin", "roles", "admin", "is_admin", "true", "user_id", s.people[models.RoleAdmin].user.ID, "id", s.ids["request"], "email", "evil@example.test", "password", "x", "password_hash", "x", "active", "true",
		"workspace_id", "1000", "status", "approved", "state", "resolved", "claimed_by", clerk.user.ID, "decided_by", s.people[models.RoleFinanceLead].user.ID, "voter", s.people[models.RoleFinanceLead].user.ID, "user", s.people[models.RoleAdmin].user.ID,
		"channel", "system", "scopes", "all", "version", "1", "created_at", "2020-01-01T00:00:00Z", "after_decision", "list", "theme", "dark", "name", "List", "list", "/queues/ap", "subject", s.ids["case"], "doing", "viewing",
		"draft", s.ids["case"]+"/decision", "made", models.At(s.clock.Now()).String(), "reason", "x")
	for _, path := range []string{"/settings/me", "/views", "/presence", "/drafts", "/notices/read", "/workspace"} {
		if a := clerk.post(path, extra); a.status >= 500 {
			t.Errorf("%s is answered %d", path, a.status)
		}
	}
	if c := changed(before, s.state("", "preferences", "presences", "drafts", "saved_views", "sessions", "audit_events")); len(c) > 0 {
		t.Errorf("changed %v", c)
	}
	// Over REST a field that is not known is refused by its name, on every call.
	for _, r := range s.restRoutes() {
		want := restAccess[r]
		if want.body == nil || r == "POST /files" || want.body(s) == "{}" {
			continue
		}
		method, route, _ := strings.Cut(r, " ")
		token := "agent-all"
		if slices.Equal(want.roles, []models.Role{models.RoleERP}) {
			token = "erp-all"
		}
		body := strings.Replace(want.body(s), "{", `{"approved_by": "usr_1", `, 1)
		if a := s.call(method, mustPath(s, route), token, body); a.code() != "VALIDATION_ERROR" || !strings.Contains(a.body, "/approved_by") {
			t.Errorf("%s is answered %d %s", r, a.status, a.body)
		}
	}
}

// Addresses in what agents send are shown and never opened: nothing comes to a server that waits for it.
func TestNoAddressFromOutsideIsEverFetched(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var came atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = conn.Close()
		}
	}()
	bait := "https://" + listener.Addr().String()
	s := newSite(t, plainTexts)
	bodies := strings.NewReplacer("https://elsewhere.example", bait, "https://archive.example.test", bait)
	id := s.filed("/handovers", "agent-all", strings.Replace(bodies.Replace(s.handover("77", "PO_CLOSED")), `"currency": "EUR"`, `"currency": "EUR", "document_url": "`+bait+`/invoice.pdf"`, 1), "case_id")
	question := s.filed("/confirmations", "agent-all", bodies.Replace(s.question("77")), "confirmation_id")
	s.people[models.RoleAdmin].must("/settings/erp", values("erp_link", bait+"/{invoice_id}"))
	for _, v := range s.people {
		for _, path := range []string{"/cases/" + id, "/confirmations/" + question, "/invoices/77", "/settings"} {
			v.do(http.MethodGet, path, nil)
		}
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if n := came.Load(); n != 0 {
		t.Errorf("the desk came %d times", n)
	}
	// And nothing in it could: only the identity provider is asked for anything.
	for _, dir := range []string{"../models", "../queue", "../approvals", "../web", "../views"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "web/auth/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, client := range []string{"http.Get(", "http.Post(", "http.Head(", "http.DefaultClient", "http.Client{", "http.NewRequest", "fasthttp.Client", "fasthttp.Get(", "fiber.Get(", "net.Dial", ".DialContext("} {
				if strings.Contains(string(text), client) && !strings.Contains(string(text), "// An address of the operator's own") {
					t.Errorf("%s uses %s", path, client)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Who steals the database gets no secret with which to sign in or to call.
func TestSecretsAreKeptAsTheirHashesAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	withPassword(t, s.world, "signe@example.test")
	v := &visitor{w: s.world, cookies: map[string]string{}}
	v.signIn("signe@example.test")
	secrets := map[string]string{"a password": knownPassword, "a session": v.cookies["__Host-apdesk_session"], "a form's token": v.csrf}
	for name, secret := range s.tokens {
		secrets["the token "+name] = secret
	}
	rows := 0
	s.in("", func(tx *models.Tx) error {
		tables, err := tx.DB.Migrator().GetTables()
		if err != nil {
			return err
		}
		for _, table := range tables {
			if strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "search_") {
				continue
			}
			var all []map[string]any
			if err := tx.DB.Table(table).Find(&all).Error; err != nil {
				return err
			}
			for _, row := range all {
				rows++
				text := fmt.Sprintf("%s", row)
				for name, secret := range secrets {
					if secret != "" && strings.Contains(text, secret) {
						t.Errorf("%s stands in %s", name, table)
					}
				}
			}
		}
		return nil
	})
	if rows < 100 {
		t.Errorf("only %d rows", rows)
	}
}

// No secret stands in an address, where logs, histories and other sites would get it.
func TestNoAddressOnAnyPageCarriesASecret(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	for _, role := range []models.Role{models.RoleFinanceLead, models.RoleAdmin, models.RoleProcurement} {
		v := s.people[role]
		for _, r := range s.pageRoutes() {
			method, route, _ := strings.Cut(r, " ")
			if method != http.MethodGet || route == "/live" {
				continue
			}
			path, _ := s.address(route)
			a := v.do(method, path, nil)
			for _, before := range []string{`href="`, `action="`, `src="`, `data-live="`} {
				for rest := a.body; ; {
					_, after, found := strings.Cut(rest, before)
					if !found {
						break
					}
					link, _, _ := strings.Cut(after, `"`)
					rest = after
					for _, secret := range []string{v.csrf, v.cookies["__Host-apdesk_session"], s.ids["approval"], "csrf_token", "apd_"} {
						if strings.Contains(link, secret) {
							t.Errorf("%s of %s has the address %s", r, role, link)
						}
					}
				}
			}
			if strings.Contains(a.body, s.ids["approval"]) {
				t.Errorf("%s shows %s the whole approval id", r, role)
			}
		}
	}
	for _, path := range []string{"/login?email=a&password=b", "/cases?csrf_token=x"} {
		s.people[models.RoleAPClerk].do(http.MethodGet, path, nil)
	}
	if log := s.log.String(); strings.Contains(log, "password=") || strings.Contains(log, "csrf_token") {
		t.Error("the log holds the query of an address")
	}
}
