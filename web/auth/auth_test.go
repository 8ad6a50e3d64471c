package auth

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/web/problem"
)

const password = "correct horse battery"

var testKey = bytes.Repeat([]byte{7}, 32)

type desk struct {
	t     *testing.T
	store *models.Store
	clock *modelstest.Clock
	app   *fiber.App
	auth  *Auth
	token string // of the agent, who reaches both workspaces
}

func newDesk(t *testing.T, publicURL string) *desk {
	t.Helper()
	store, clock := modelstest.SQLite(t)
	d := &desk{t: t, store: store, clock: clock}
	hash, err := models.HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	for _, ws := range []string{"1000", "2000"} {
		err := store.InTx(t.Context(), models.Operator(ws), func(tx *models.Tx) error {
			if err := tx.CreateWorkspace(models.Workspace{ID: ws, Name: "Company " + ws, TimeZone: "Europe/Berlin", Currency: "EUR"}); err != nil {
				return err
			}
			if _, _, err := tx.CreateUser(models.NewUser{Email: "anna@example.com", Name: "Anna Weber", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: hash}); err != nil {
				return err
			}
			_, _, err := tx.CreateUser(models.NewUser{Email: "agent@example.com", Name: "Agent", Roles: []models.Role{models.RoleAgent}, Service: true, OwnerEmail: "anna@example.com"})
			if err != nil || ws == "1000" {
				return err
			}
			d.token, _, err = tx.CreateToken(models.NewToken{UserEmail: "agent@example.com", Name: "test", Scopes: []models.Scope{models.ScopeAll}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if d.auth, err = New(store, testKey, publicURL); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d.app = fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error { return problem.Send(c, log, err) }})
	d.app.Get("/login", func(c *fiber.Ctx) error {
		token, err := d.auth.CSRFToken(c)
		if err != nil {
			return err
		}
		return c.SendString(token)
	})
	d.app.Post("/login", func(c *fiber.Ctx) error {
		if err := d.auth.CheckCSRF(c); err != nil {
			return err
		}
		return d.auth.SignIn(c, c.FormValue("email"), c.FormValue("password"))
	})
	d.app.Post("/act", func(c *fiber.Ctx) error {
		if err := d.auth.CheckCSRF(c); err != nil {
			return err
		}
		id, err := d.auth.Session(c)
		if err != nil {
			return err
		}
		return c.SendString(id.User.Name)
	})
	d.app.Post("/logout", func(c *fiber.Ctx) error {
		id, err := d.auth.Session(c)
		if err != nil {
			return err
		}
		return d.auth.SignOut(c, id)
	})
	d.app.Get("/api", Bearer(store.IdentityByToken), func(c *fiber.Ctx) error {
		by, err := Principal(c, c.Query("argument"))
		if err != nil {
			return err
		}
		return c.SendString(by.WorkspaceID)
	})
	return d
}

// browser is one client with cookies.
type browser struct {
	d       *desk
	cookies map[string]*http.Cookie
	header  http.Header
}

func (d *desk) browser() *browser {
	return &browser{d: d, cookies: map[string]*http.Cookie{}, header: http.Header{}}
}

func (b *browser) do(method, path string, form url.Values) (int, string) {
	b.d.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req := httptest.NewRequestWithContext(context.Background(), method, path, body)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range b.header {
		req.Header[name] = values
	}
	for _, c := range b.cookies {
		req.AddCookie(c)
	}
	res, err := b.d.app.Test(req, -1)
	if err != nil {
		b.d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Expires.Before(time.Now()) && !c.Expires.IsZero() {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.d.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (b *browser) signIn() {
	b.d.t.Helper()
	_, token := b.do("GET", "/login", nil)
	if status, body := b.do("POST", "/login", url.Values{"csrf_token": {token}, "email": {"anna@example.com"}, "password": {password}}); status != 200 {
		b.d.t.Fatalf("sign in: %d %s", status, body)
	}
}

func TestSession(t *testing.T) {
	t.Run("a person signs in, acts, and signs out", func(t *testing.T) {
		b := newDesk(t, "").browser()
		b.signIn()
		c := b.cookies["apdesk_session"]
		if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure {
			t.Fatalf("cookie %+v", c)
		}
		if b.cookies["apdesk_sign_in"] != nil {
			t.Error("the pre-session outlives the sign-in")
		}
		_, token := b.do("GET", "/login", nil)
		if status, body := b.do("POST", "/act", url.Values{"csrf_token": {token}}); status != 200 || body != "Anna Weber" {
			t.Errorf("act: %d %s", status, body)
		}
		if status, _ := b.do("POST", "/logout", nil); status != 200 || len(b.cookies) != 1 || b.cookies["apdesk_device"] == nil {
			t.Errorf("sign out: %d, cookies %v", status, b.cookies)
		}
		b.cookies["apdesk_session"] = c
		if status, _ := b.do("POST", "/logout", nil); status != 401 {
			t.Errorf("a stolen cookie still works after signing out: %d", status)
		}
	})
	t.Run("a session ends after eight idle hours", func(t *testing.T) {
		d := newDesk(t, "")
		b := d.browser()
		b.signIn()
		d.clock.Advance(models.SessionIdle + time.Minute)
		if status, _ := b.do("POST", "/logout", nil); status != 401 || b.cookies["apdesk_session"] != nil {
			t.Errorf("idle session: %d", status)
		}
	})
	t.Run("a session ends after seven days, however much it is used", func(t *testing.T) {
		d := newDesk(t, "")
		b := d.browser()
		b.signIn()
		_, token := b.do("GET", "/login", nil)
		for spent := time.Duration(0); spent < models.SessionLife-7*time.Hour; spent += 7 * time.Hour {
			d.clock.Advance(7 * time.Hour)
			if status, body := b.do("POST", "/act", url.Values{"csrf_token": {token}}); status != 200 {
				t.Fatalf("after %s: %d %s", spent, status, body)
			}
		}
		d.clock.Advance(7 * time.Hour)
		if status, _ := b.do("POST", "/logout", nil); status != 401 {
			t.Errorf("after seven days: %d", status)
		}
	})
	t.Run("over https the cookies are bound to the host", func(t *testing.T) {
		b := newDesk(t, "https://desk.example.com").browser()
		b.signIn()
		if c := b.cookies["__Host-apdesk_session"]; c == nil || !c.Secure || c.Path != "/" || c.Domain != "" {
			t.Errorf("cookies %v", b.cookies)
		}
	})
	t.Run("a wrong password and an unknown e-mail look the same", func(t *testing.T) {
		b := newDesk(t, "").browser()
		_, token := b.do("GET", "/login", nil)
		s1, b1 := b.do("POST", "/login", url.Values{"csrf_token": {token}, "email": {"anna@example.com"}, "password": {"wrong wrong wrong"}})
		s2, b2 := b.do("POST", "/login", url.Values{"csrf_token": {token}, "email": {"nobody@example.com"}, "password": {password}})
		s3, b3 := b.do("POST", "/login", url.Values{"csrf_token": {token}, "email": {"agent@example.com"}, "password": {password}})
		if s1 != 401 || s2 != 401 || s3 != 401 || b1 != b2 || b1 != b3 {
			t.Errorf("%d %s\n%d %s\n%d %s", s1, b1, s2, b2, s3, b3)
		}
	})
}

func TestCheckCSRF(t *testing.T) {
	refused := func(t *testing.T, status int, body string) {
		t.Helper()
		if status != 403 || !strings.Contains(body, `"form_not_current"`) {
			t.Errorf("got %d %s", status, body)
		}
	}
	d := newDesk(t, "")
	b := d.browser()
	b.signIn()
	_, token := b.do("GET", "/login", nil)
	act := func(token string, header ...string) (int, string) {
		b.header = http.Header{}
		for i := 0; i < len(header); i += 2 {
			b.header.Set(header[i], header[i+1])
		}
		defer func() { b.header = http.Header{} }()
		return b.do("POST", "/act", url.Values{"csrf_token": {token}})
	}
	t.Run("refuses a form without the token", func(t *testing.T) {
		status, body := act("")
		refused(t, status, body)
	})
	t.Run("refuses another session's token", func(t *testing.T) {
		other := d.browser()
		other.signIn()
		_, foreign := other.do("GET", "/login", nil)
		status, body := act(foreign)
		refused(t, status, body)
	})
	t.Run("refuses a token in the address", func(t *testing.T) {
		status, body := b.do("POST", "/act?csrf_token="+url.QueryEscape(token), url.Values{"x": {"1"}})
		refused(t, status, body)
	})
	t.Run("refuses what the browser says comes from elsewhere", func(t *testing.T) {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
			status, body := act(token, header...)
			refused(t, status, body)
		}
	})
	t.Run("accepts what comes from the desk itself", func(t *testing.T) {
		if status, body := act(token, "Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"); status != 200 {
			t.Errorf("got %d %s", status, body)
		}
	})
	t.Run("a sign-in form works only in the browser that loaded it", func(t *testing.T) {
		first, second := d.browser(), d.browser()
		_, token := first.do("GET", "/login", nil)
		status, body := second.do("POST", "/login", url.Values{"csrf_token": {token}, "email": {"anna@example.com"}, "password": {password}})
		refused(t, status, body)
	})
	t.Run("over https only the public origin counts", func(t *testing.T) {
		b := newDesk(t, "https://desk.example.com").browser()
		b.signIn()
		_, token := b.do("GET", "/login", nil)
		b.header.Set("Origin", "http://example.com")
		status, body := b.do("POST", "/act", url.Values{"csrf_token": {token}})
		refused(t, status, body)
		b.header.Set("Origin", "https://desk.example.com")
		if status, body := b.do("POST", "/act", url.Values{"csrf_token": {token}}); status != 200 {
			t.Errorf("got %d %s", status, body)
		}
	})
}

func TestBearer(t *testing.T) {
	d := newDesk(t, "")
	call := func(path string, header ...string) (int, string, http.Header) {
		req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := d.app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body), res.Header
	}
	token := "Bearer " + d.token
	for _, tc := range []struct {
		name, path string
		header     []string
		status     int
		says       string
	}{
		{"without a token nobody passes", "/api", nil, 401, "unauthenticated"},
		{"nor with a wrong one", "/api", []string{"Authorization", "Bearer apd_wrong"}, 401, "unauthenticated"},
		{"nor with another scheme", "/api", []string{"Authorization", "Basic " + d.token}, 401, "unauthenticated"},
		{"with two workspaces one must be named", "/api", []string{"Authorization", token}, 400, "workspace_required"},
		{"the argument names it", "/api?argument=2000", []string{"Authorization", token}, 200, "2000"},
		{"the header names it", "/api", []string{"Authorization", token, "X-Workspace-Id", "1000"}, 200, "1000"},
		{"the query names it", "/api?workspace_id=2000", []string{"Authorization", "bearer " + d.token}, 200, "2000"},
		{"the argument goes before the header", "/api?argument=2000", []string{"Authorization", token, "X-Workspace-Id", "1000"}, 200, "2000"},
		{"a workspace out of reach is refused", "/api?argument=3000", []string{"Authorization", token}, 403, "workspace_access_denied"},
		{"in the header even with a good argument", "/api?argument=2000", []string{"Authorization", token, "X-Workspace-Id", "3000"}, 403, "workspace_access_denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body, header := call(tc.path, tc.header...)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("got %d %s", status, body)
			}
			if (status == 401) != strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("WWW-Authenticate %q", header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestNew_refuses_a_weak_key_and_a_strange_address(t *testing.T) {
	if _, err := New(nil, testKey[:31], ""); err == nil {
		t.Error("a short key was taken")
	}
	for _, address := range []string{"desk.example.com", "ftp://desk.example.com", "https://"} {
		if _, err := New(nil, testKey, address); err == nil {
			t.Errorf("%s was taken", address)
		}
	}
}
