package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	signin "github.com/apdesk/apdesk/web/auth/provider"
)

// deskURL is where the provider of the tests sends people back to; nothing listens there.
const deskURL = "http://127.0.0.1:9"

// browser is somebody's browser at a desk that has no socket.
type browser struct {
	*world
	cookies map[string]string
}

func (w *world) browser() *browser { return &browser{world: w, cookies: map[string]string{}} }

type seen struct {
	status int
	header http.Header
	doc    *goquery.Document
}

func (s seen) text() string { return strings.Join(strings.Fields(s.doc.Find("main").Text()), " ") }

func (b *browser) do(method, path string, form url.Values) seen {
	b.t.Helper()
	req := httptest.NewRequest(method, deskURL+path, strings.NewReader(form.Encode()))
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Accept", "text/html")
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := b.server.app.Test(req, -1)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c.Value
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(raw)))
	if err != nil {
		b.t.Fatal(err)
	}
	return seen{res.StatusCode, res.Header, doc}
}

// begin presses the button on the sign-in page and answers where the browser is sent.
func (b *browser) begin(next string) string {
	b.t.Helper()
	page := b.do(http.MethodGet, "/login?"+url.Values{"next": {next}}.Encode(), nil)
	sent := url.Values{}
	page.doc.Find("form[data-testid=provider-form] input[type=hidden]").Each(func(_ int, f *goquery.Selection) { sent.Add(f.AttrOr("name", ""), f.AttrOr("value", "")) })
	on := b.do(http.MethodPost, "/login/provider", sent)
	to, ok := strings.CutPrefix(on.header.Get("Refresh"), "0; url=")
	if on.status != http.StatusOK || !ok || on.doc.Find("[data-testid=to-provider]").AttrOr("href", "") != to {
		b.t.Fatalf("the button is answered %d %q", on.status, on.header.Get("Refresh"))
	}
	return to
}

// through signs in at the provider and answers the address it sends the browser back to.
func (b *browser) through(p *provider, address, user string) string {
	b.t.Helper()
	client := &http.Client{CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if req.URL.Path == "/login" {
			query := req.URL.Query()
			query.Set("user", user)
			req.URL.RawQuery = query.Encode()
		}
		if strings.HasPrefix(req.URL.String(), deskURL) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	if err != nil {
		b.t.Fatalf("the provider answers %d %v", res.StatusCode, err)
	}
	return back.RequestURI()
}

// signIn goes all the way, signed out before; a session that is refused leaves the one there was.
func (b *browser) signIn(p *provider, user string) seen {
	b.t.Helper()
	fresh := b.browser()
	got := fresh.do(http.MethodGet, fresh.through(p, fresh.begin(""), user), nil)
	if got.status == http.StatusSeeOther {
		b.cookies = fresh.cookies
	}
	return got
}

func (p *provider) groups(user string, groups ...string) {
	p.t.Helper()
	p.read(http.MethodPost, "/operator/groups?"+url.Values{"user": {user}, "group": groups}.Encode(), nil)
}

// roles are what somebody has in a workspace; nil when the membership is not active or not there.
func (w *world) roles(email, workspace string) []models.Role {
	w.t.Helper()
	var found []models.Role
	w.in(workspace, func(tx *models.Tx) error {
		found = nil
		user, err := tx.UserByEmail(email)
		if err != nil {
			return nil //nolint:nilerr // nobody has no roles
		}
		members, err := tx.Members("", user.ID)
		for _, m := range members {
			found = m.Roles
		}
		return err
	})
	slices.Sort(found)
	return found
}

func (w *world) trail(workspace string) string {
	w.t.Helper()
	var list []string
	w.in(workspace, func(tx *models.Tx) error {
		return tx.DB.Model(&models.AuditEvent{}).Where("workspace_id = ?", workspace).Order("at, id").Pluck("action", &list).Error
	})
	return strings.Join(list, " ")
}

// providerWorlds runs a story with a real provider on each database.
func providerWorlds(t *testing.T, roles models.ProviderRoles, passwordOff bool, story func(t *testing.T, w *world, p *provider)) {
	t.Helper()
	program := buildProvider(t)
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		p := startProvider(t, program)
		clock.Set(time.Now()) // the world's, in which the provider lives
		w := newWorldOn(t, store, clock, func(c *Config) {
			c.PublicURL = deskURL
			var err error
			c.Provider, err = signin.New(signin.Config{Store: store, Issuer: p.issuer, ClientID: "desk", ClientSecret: "desk-secret", PublicURL: deskURL, Scopes: []string{"openid", "email", "profile"},
				Name: "Nordwind login", Roles: roles, PasswordOff: passwordOff})
			if err != nil {
				t.Fatal(err)
			}
		})
		story(t, w, p)
	})
}

func TestPeopleSignInThroughAProviderWithTheRolesTheDeskKnows(t *testing.T) {
	providerWorlds(t, nil, true, func(t *testing.T, w *world, p *provider) {
		fiona := w.browser()
		back := fiona.through(p, fiona.begin("/approvals?tab=open"), "u-fiona")
		if head := fiona.do(http.MethodHead, back, nil); head.status != http.StatusMethodNotAllowed {
			t.Errorf("HEAD signs in: %d", head.status)
		}
		// What another browser is sent back with signs nobody in, and is spent.
		if got := w.browser().do(http.MethodGet, back, nil); got.status != http.StatusUnauthorized || !strings.Contains(got.text(), "another browser") {
			t.Fatalf("another browser is answered %d: %s", got.status, got.text())
		}
		if got := fiona.do(http.MethodGet, back, nil); got.status != http.StatusUnauthorized {
			t.Fatalf("what was used is answered %d", got.status)
		}
		back = fiona.through(p, fiona.begin("/approvals?tab=open"), "u-fiona")
		in := fiona.do(http.MethodGet, back, nil)
		if in.status != http.StatusSeeOther || in.header.Get("Location") != "/approvals?tab=open" {
			t.Fatalf("she is answered %d %s: %s", in.status, in.header.Get("Location"), in.text())
		}
		if home := fiona.do(http.MethodGet, "/", nil); home.status != http.StatusOK || !strings.Contains(home.doc.Find("[data-testid=signed-in-as]").Text(), "Fiona Finance") {
			t.Fatalf("her desk answers %d", home.status)
		}
		if trail := w.trail("1000"); !strings.Contains(trail, "person.linked") || !strings.Contains(trail, "person.signed_in") || !strings.Contains(trail, "person.password_switched") {
			t.Errorf("the trail says %s", trail)
		}
		// Nobody is led elsewhere by the way through.
		away := w.browser()
		if got := away.do(http.MethodGet, away.through(p, away.begin("https://evil.example/"), "u-fiona"), nil); got.header.Get("Location") != "/" {
			t.Errorf("she is led to %s", got.header.Get("Location"))
		}
		for user, why := range map[string]string{"u-careful": "does not vouch", "u-nobody": "may use this desk", "u-agent": "service account"} {
			if got := w.browser().signIn(p, user); got.status != http.StatusUnauthorized || !strings.Contains(got.text(), why) {
				t.Errorf("%s is answered %d: %s", user, got.status, got.text())
			}
		}
		// Ten minutes later the way back is closed.
		late := w.browser()
		back = late.through(p, late.begin(""), "u-fiona")
		w.clock.Advance(models.ProviderSignInLife)
		if got := late.do(http.MethodGet, back, nil); got.status != http.StatusUnauthorized || !strings.Contains(got.text(), "too long") {
			t.Errorf("after ten minutes it is answered %d: %s", got.status, got.text())
		}
	})
}

func TestGroupsAtTheProviderDecideTheMemberships(t *testing.T) {
	roles := models.ProviderRoles{"finance": {"1000": {models.RoleFinanceLead}}, "ap": {"1000": {models.RoleAPClerk}, "2000": {models.RoleAPClerk}}, "it": {"2000": {models.RoleAdmin}}}
	providerWorlds(t, roles, false, func(t *testing.T, w *world, p *provider) {
		p.groups("u-new", "canteen")
		nora := w.browser()
		if got := nora.signIn(p, "u-new"); got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
			t.Fatalf("somebody no group maps is answered %d", got.status)
		}
		p.groups("u-new", "canteen", "finance", "ap")
		if got := nora.signIn(p, "u-new"); got.status != http.StatusSeeOther {
			t.Fatalf("a new person is answered %d: %s", got.status, got.text())
		}
		if a, b := w.roles("nora@example.test", "1000"), w.roles("nora@example.test", "2000"); fmt.Sprint(a, b) != "[ap_clerk finance_lead] [ap_clerk]" {
			t.Fatalf("she has %v and %v", a, b)
		}
		p.groups("u-new", "finance")
		if got := nora.signIn(p, "u-new"); got.status != http.StatusSeeOther {
			t.Fatalf("with fewer groups she is answered %d: %s", got.status, got.text())
		}
		if a, b := w.roles("nora@example.test", "1000"), w.roles("nora@example.test", "2000"); fmt.Sprint(a, b) != "[finance_lead] []" {
			t.Fatalf("with fewer groups she has %v and %v", a, b)
		}
		p.groups("u-new")
		if got := nora.signIn(p, "u-new"); got.status != http.StatusForbidden || !strings.Contains(got.text(), "None of your groups") {
			t.Fatalf("without groups she is answered %d: %s", got.status, got.text())
		}
		if got := nora.do(http.MethodGet, "/", nil); got.status != http.StatusSeeOther {
			t.Error("her session outlives her last membership")
		}
		p.groups("u-new", "ap")
		if got := nora.signIn(p, "u-new"); got.status != http.StatusSeeOther {
			t.Fatalf("back in a group she is answered %d: %s", got.status, got.text())
		}
		if a := w.roles("nora@example.test", "1000"); fmt.Sprint(a) != "[ap_clerk]" {
			t.Fatalf("back in a group she has %v", a)
		}
		// What an admin of the desk ended, a group does not begin again.
		w.in("1000", func(tx *models.Tx) error {
			user, err := tx.UserByEmail("nora@example.test")
			if err != nil {
				return err
			}
			return tx.DeactivateMember(user.ID, "left the team")
		})
		if got := nora.signIn(p, "u-new"); got.status != http.StatusSeeOther {
			t.Fatalf("with one membership left she is answered %d: %s", got.status, got.text())
		}
		if a := w.roles("nora@example.test", "1000"); len(a) > 0 {
			t.Errorf("a group gave back %v", a)
		}
		for _, action := range []string{"membership.added", "membership.roles_set", "membership.deactivated", "membership.reactivated"} {
			if !strings.Contains(w.trail("1000"), action) {
				t.Errorf("the trail lacks %s", action)
			}
		}
	})
}

func TestTheLastAdminStaysWhateverTheGroupsSay(t *testing.T) {
	roles := models.ProviderRoles{"finance": {"1000": {models.RoleFinanceLead}}}
	providerWorlds(t, roles, false, func(t *testing.T, w *world, p *provider) {
		p.groups("u-olga", "finance")
		olga := w.browser()
		if got := olga.signIn(p, "u-olga"); got.status != http.StatusSeeOther {
			t.Fatalf("the last admin is answered %d: %s", got.status, got.text())
		}
		if a := w.roles("olga@example.test", "1000"); !slices.Contains(a, models.RoleAdmin) {
			t.Errorf("workspace 1000 has no admin any more: %v", a)
		}
		if trail := w.trail("1000"); !strings.Contains(trail, "provider.roles_kept") {
			t.Errorf("the trail says %s", trail)
		}
	})
}
