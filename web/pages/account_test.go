package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// knows gives somebody a password whose hash costs next to nothing to compare.
func (d *desk) knows(name, secret string) {
	d.t.Helper()
	hash, err := argon2id.CreateHash(secret, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		d.t.Fatal(err)
	}
	d.tx(models.Operator(""), func(tx *models.Tx) error { return tx.SetPassword(d.users[name].ID, hash) })
}

func (v *visitor) signsIn(email, secret string) page {
	v.t.Helper()
	return v.send(v.get("/login"), "login-form", one("email", email, "password", secret))
}

func TestAPersonChangesTheirPasswordAndEveryOtherSessionEnds(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		d.knows("anna", password)
		here, there := d.stranger(), d.signedIn("anna")
		here.follow(here.signsIn("anna@example.com", password))
		account := here.get("/settings/me/security")
		const next = "wintry kettle of seven geese"
		for _, c := range []struct{ current, fresh, again, want string }{
			{"not it at all", next, next, "Present password: is not right"},
			{password, "password1234", "password1234", "New password: is too easy to guess"},
			{password, "anna@example.com", "anna@example.com", "made of your name or e-mail address"},
			{password, "zq9", "zq9", "at least 12 characters"},
			{password, password, password, "is the one you have"},
			{password, next, next + "!", "once more: is not the same"},
		} {
			bad := here.send(account, "password-form", one("current", c.current, "password", c.fresh, "again", c.again))
			if bad.status != http.StatusUnprocessableEntity || !strings.Contains(bad.text(".error-summary"), c.want) {
				t.Errorf("%v is answered %d: %s", c, bad.status, bad.text(".error-summary"))
			}
			if strings.Contains(bad.raw, c.current) || strings.Contains(bad.raw, c.fresh) && c.fresh != "anna@example.com" {
				t.Errorf("a password stands on the page of %v", c)
			}
		}
		if p := there.do(http.MethodGet, "/", nil); p.status != http.StatusOK {
			t.Fatalf("the other session is answered %d", p.status)
		}
		done := here.follow(here.send(account, "password-form", one("current", password, "password", next, "again", next)))
		if !strings.Contains(done.raw, "Your password is changed") {
			t.Error("nothing says that it is done")
		}
		if p := there.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther {
			t.Errorf("the other session lives on: %d", p.status)
		}
		here.get("/notices").wants(t, "notice-row", "Your password was changed")
		d.signedIn("audra").get("/settings/people/"+d.users["anna"].ID).wants(t, "acts", "changed their password")
		if p := d.stranger().signsIn("anna@example.com", password); p.status != http.StatusUnauthorized {
			t.Errorf("the old password is answered %d", p.status)
		}
		if p := d.stranger().signsIn("anna@example.com", next); p.status != http.StatusSeeOther {
			t.Errorf("the new one is answered %d", p.status)
		}
		// Whoever finds the desk open cannot guess on.
		for range 10 {
			here.send(account, "password-form", one("current", "a guess", "password", password, "again", password))
		}
		if p := here.send(account, "password-form", one("current", next, "password", password, "again", password)); p.status != http.StatusTooManyRequests {
			t.Errorf("after ten guesses the present password is answered %d", p.status)
		}
	})
}

func TestAPersonSeesWhereTheyAreSignedInAndEndsIt(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		d.knows("anna", password)
		phone := d.stranger()
		phone.headers = map[string]string{"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"}
		phone.follow(phone.signsIn("anna@example.com", password))
		clock.Advance(2 * time.Hour)
		desk := d.stranger()
		desk.headers = map[string]string{"User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0"}
		desk.follow(desk.signsIn("anna@example.com", password))
		third := d.signedIn("anna")
		d.signedIn("lars")

		p := desk.get("/settings/me/security")
		if n := p.doc.Find("[data-testid=session-row]").Length(); n != 3 {
			t.Errorf("%d sessions are shown: %s", n, p.testID("sessions"))
		}
		p.wants(t, "sessions", "Safari on iPhone", "Firefox on Windows", "an unknown browser", "0.0.0.0", "after 8 hours without use, and after 7 days")
		if row := p.doc.Find("[data-testid=this-session]").Closest("tr").Text(); !strings.Contains(row, "Firefox on Windows") {
			t.Errorf("this session is %q", row)
		}
		// The row of the phone alone.
		form := p.doc.Find("[data-testid=session-row]:contains(iPhone) form")
		sent := url.Values{"csrf_token": {form.Find("[name=csrf_token]").AttrOr("value", "")}, "session": {form.Find("[name=session]").AttrOr("value", "")}}
		// Nobody else can end it.
		lars := d.signedIn("lars")
		theirs := url.Values{"csrf_token": {lars.get("/").doc.Find("[name=csrf_token]").AttrOr("value", "")}, "session": sent["session"]}
		lars.do(http.MethodPost, "/settings/me/security/sessions", theirs)
		if p := phone.do(http.MethodGet, "/", nil); p.status != http.StatusOK {
			t.Error("somebody else ended the session")
		}
		after := desk.follow(desk.do(http.MethodPost, "/settings/me/security/sessions", sent))
		if p := phone.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther {
			t.Errorf("the phone is answered %d", p.status)
		}
		if p := third.do(http.MethodGet, "/", nil); p.status != http.StatusOK {
			t.Error("another session ended too")
		}
		gone := desk.follow(desk.press(after, "end-all"))
		if n := gone.doc.Find("[data-testid=session-row]").Length(); n != 1 || gone.has("end-all") {
			t.Errorf("%d sessions are left", n)
		}
		if p := third.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther {
			t.Errorf("the third is answered %d", p.status)
		}
		d.signedIn("audra").get("/settings/people/"+d.users["anna"].ID).wants(t, "acts", "ended sessions of their own")
	})
}

func TestAnAdminInvitesSomebodyWhoSetsTheirOwnPassword(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		adam := d.signedIn("adam")
		made := adam.send(adam.get("/settings/people"), "person-form", one("email", "Nora@example.com", "name", "Nora", "time_zone", "Europe/Lisbon", "role", "ap_clerk"))
		link, err := url.Parse(made.doc.Find("[data-testid=secret]").AttrOr("value", ""))
		if made.status != http.StatusCreated || err != nil || link.Path != "/welcome" || made.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("answered %d with the link %s (%v)", made.status, link, err)
		}
		people := adam.get("/settings/people")
		people.wants(t, "invitation-row", "nora@example.com", "AP clerk", "Adam")
		if strings.Contains(people.raw, link.Query().Get("link")) {
			t.Error("the link is shown again")
		}
		if d.signedIn("lars").get("/settings/people").has("invitations") {
			t.Error("who cannot invite sees invitations")
		}

		// A mail scanner follows the link, over and over.
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
			if p := d.stranger().do(method, link.RequestURI(), nil); p.status != http.StatusOK || p.header.Get("X-Robots-Tag") == "" {
				t.Errorf("%s is answered %d", method, p.status)
			}
		}
		nora := d.stranger()
		form := nora.get(link.RequestURI())
		if got := form.doc.Find("[name=name]").AttrOr("value", ""); got != "Nora" || !strings.Contains(form.text("main"), "Nordlicht Handels GmbH") {
			t.Errorf("the page names %q: %s", got, form.text("main"))
		}
		if p := nora.do(http.MethodPost, "/welcome", one("link", link.Query().Get("link"), "name", "Eve", "password", password, "again", password)); p.status != http.StatusForbidden {
			t.Errorf("without its token the form is answered %d", p.status)
		}
		weak := nora.send(form, "welcome-form", one("name", "Nora Neu", "password", "nora-neu-2026", "again", "nora-neu-2026"))
		if weak.status != http.StatusUnprocessableEntity || weak.doc.Find("[name=name]").AttrOr("value", "") != "Nora Neu" || strings.Contains(weak.raw, "nora-neu-2026") {
			t.Errorf("a weak password is answered %d: %s", weak.status, weak.text("main"))
		}
		in := nora.send(weak, "welcome-form", one("name", "Nora Neu", "password", password, "again", password))
		if in.status != http.StatusSeeOther || in.location != "/login" {
			t.Fatalf("answered %d to %q: %s", in.status, in.location, in.text("main"))
		}
		if p := nora.get("/login"); !strings.Contains(p.raw, "Your password is set") {
			t.Error("nothing says that it is done")
		}
		nora.follow(nora.signsIn("nora@example.com", password)).wants(t, "signed-in-as", "Nora Neu", "AP clerk")
		for _, p := range []page{nora.do(http.MethodGet, link.RequestURI(), nil), d.stranger().do(http.MethodGet, "/welcome?link=nothing", nil), d.stranger().do(http.MethodGet, "/welcome", nil)} {
			if p.status != http.StatusGone || !strings.Contains(p.text("main"), "This link is not good any more") || p.has("welcome-form") {
				t.Errorf("a spent link is answered %d: %s", p.status, p.text("main"))
			}
		}
		if adam.get("/settings/people").has("invitations") {
			t.Error("an invitation that was used still waits")
		}
		if trail := d.signedIn("audra").get("/audit").text("main"); !strings.Contains(trail, "invited Nora to the workspace") || !strings.Contains(trail, "accepted the invitation") {
			t.Errorf("the trail reads %s", trail)
		}

		second := adam.send(adam.get("/settings/people"), "person-form", one("email", "late@example.com", "name", "", "role", "ap_clerk"))
		late, _ := url.Parse(second.doc.Find("[data-testid=secret]").AttrOr("value", ""))
		adam.follow(adam.press(second, "withdraw-invitation"))
		if p := d.stranger().do(http.MethodGet, late.RequestURI(), nil); p.status != http.StatusGone {
			t.Errorf("a withdrawn invitation is answered %d", p.status)
		}
	})
}

func TestATokenIsMadeShownOnceRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		works := func(secret string) bool {
			t.Helper()
			_, err := store.IdentityByToken(t.Context(), secret)
			if err != nil && !models.IsCode(err, models.Unauthenticated) {
				t.Fatal(err)
			}
			return err == nil
		}
		secretOf := func(p page) string { return p.doc.Find("[data-testid=secret]").AttrOr("value", "") }

		anna := d.signedIn("anna")
		form := anna.get("/settings/tokens")
		if form.has("other-tokens") || form.doc.Find("[name=user]").Length() > 0 {
			t.Error("a clerk is offered the tokens of others")
		}
		bad := anna.send(form, "token-form", one("name", "", "days", "90"))
		if text := bad.text(".error-summary"); bad.status != http.StatusUnprocessableEntity || !strings.Contains(text, "What it is for") || !strings.Contains(text, "What it may do") {
			t.Errorf("answered %d: %s", bad.status, text)
		}
		if p := anna.send(form, "token-form", one("name", "x", "scope", "all", "days", "10000")); p.status != http.StatusUnprocessableEntity {
			t.Errorf("one for 27 years is answered %d", p.status)
		}
		made := anna.send(form, "token-form", one("name", "My script", "scope", "cases:read", "days", "30"))
		secret := secretOf(made)
		if made.status != http.StatusCreated || !works(secret) {
			t.Fatalf("answered %d: %s", made.status, made.text("main"))
		}
		list := anna.get("/settings/tokens")
		list.wants(t, "own-tokens", "My script", "cases:read", "by Anna", "4 Nov 2026")
		if strings.Contains(list.raw, secret) {
			t.Error("the secret is shown again")
		}
		rotated := anna.press(list, "rotate-token")
		next := secretOf(rotated)
		if rotated.status != http.StatusCreated || !works(next) || !works(secret) || next == secret {
			t.Fatalf("rotating is answered %d", rotated.status)
		}
		rotated.wants(t, "own-tokens", "Rotated, ends soon")
		clock.Advance(models.TokenOverlap)
		if works(secret) || !works(next) {
			t.Error("the overlap does not end with the old token")
		}

		adam := d.signedIn("adam")
		page := adam.get("/settings/tokens")
		page.wants(t, "other-tokens", "My script", "Anna")
		robots := adam.send(page, "token-form", one("user", "robot@example.com", "name", "Nightly", "scope", "all", "days", "365"))
		if !works(secretOf(robots)) {
			t.Fatalf("a token of a service account is answered %d: %s", robots.status, robots.text("main"))
		}
		if p := adam.send(page, "token-form", one("user", "anna@example.com", "name", "Hers", "scope", "all", "days", "30")); p.status != http.StatusUnprocessableEntity {
			t.Errorf("a token of another person is answered %d", p.status)
		}
		row := adam.get("/settings/tokens").doc.Find("[data-testid=token-row]:contains(Good):contains(Anna)")
		if row.Find("[data-testid=rotate-token]").Length() > 0 {
			t.Error("an admin is offered to rotate a person's token")
		}
		revoke := row.Find("form")
		adam.follow(adam.do(http.MethodPost, revoke.AttrOr("action", ""), url.Values{"csrf_token": {revoke.Find("[name=csrf_token]").AttrOr("value", "")}, "token": {revoke.Find("[name=token]").AttrOr("value", "")}}))
		if works(next) {
			t.Error("a revoked token works")
		}
		told := d.signedIn("anna")
		told.get("/notices").wants(t, "notice-row", "Adam revoked the token My script of Anna")
		if trail := d.signedIn("audra").get("/audit").text("main"); !strings.Contains(trail, "revoked a token of anna@example.com") || !strings.Contains(trail, "rotated a token of anna@example.com") {
			t.Errorf("the trail reads %s", trail)
		}

		// Somebody else's tokens are not there for others.
		id := row.AttrOr("data-token", "")
		lars := d.signedIn("lars")
		csrf := lars.get("/").doc.Find("[name=csrf_token]").AttrOr("value", "")
		for _, path := range []string{"/settings/tokens/revoke", "/settings/tokens/rotate"} {
			if p := lars.do(http.MethodPost, path, one("csrf_token", csrf, "token", id)); p.status != http.StatusNotFound {
				t.Errorf("%s of another's token is answered %d", path, p.status)
			}
		}
		if p := lars.do(http.MethodPost, "/settings/tokens", one("csrf_token", csrf, "user", "robot@example.com", "name", "x", "scope", "all", "days", "30")); p.status != http.StatusForbidden {
			t.Errorf("an AP lead makes a token of a service account: %d", p.status)
		}
	})
}
