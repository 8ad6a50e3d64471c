package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/web/auth/passkey/passkeytest"
)

// bothDesks runs a story at localhost, where browsers do passkeys without TLS, on each database.
func bothDesks(t *testing.T, story func(t *testing.T, d *desk)) {
	t.Helper()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		d := newDeskOn(t, store, clock)
		d.host = "localhost:8080"
		story(t, d)
	})
}

const origin = "http://localhost:8080"

// login gives e-mail and password and answers what came of it.
func (v *visitor) login(name string) page {
	v.t.Helper()
	return v.send(v.get("/login"), "login-form", one("email", name+"@example.com", "password", password))
}

// asked is what the script of a form is told when it asks for a challenge.
func (v *visitor) asked(p page, formID string) []byte {
	v.t.Helper()
	at, ok := p.doc.Find("form[data-testid=" + formID + "] input[data-passkey]").Attr("data-passkey")
	if !ok {
		v.t.Fatalf("the form %s asks for no passkey: %s", formID, p.text("main"))
	}
	_, sent := p.fill(v.t, formID, nil)
	got := v.do(http.MethodPost, at, one("csrf_token", sent.Get("csrf_token")))
	if got.status != http.StatusOK {
		v.t.Fatalf("%s is answered %d: %s", at, got.status, got.raw)
	}
	return []byte(got.raw)
}

// confirmByPassword confirms on the page about passkeys.
func (v *visitor) confirmByPassword() page {
	v.t.Helper()
	return v.follow(v.send(v.get("/settings/me/passkeys"), "confirm-form", one("password", password)))
}

// addPasskey adds one and answers the page that says so.
func (v *visitor) addPasskey(p page, key *passkeytest.Device, name string) page {
	v.t.Helper()
	return v.send(p, "add-passkey", one("name", name, "passkey", key.Add(v.t, v.asked(p, "add-passkey"), origin)))
}

func codesOn(p page) []string {
	return p.doc.Find("[data-testid=recovery-codes] code").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
}

func (d *desk) actions(name string) []string {
	d.t.Helper()
	var list []string
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Model(&models.AuditEvent{}).Where("workspace_id = ? AND subject = ?", company, d.users[name].ID).Order("at, id").Pluck("action", &list).Error
	})
	return list
}

func TestAPersonAddsAPasskeyAndIsAskedForItAfterThePassword(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		fiona := d.signedIn("fiona")
		key, spare := passkeytest.New(t), passkeytest.New(t)
		first := fiona.get("/settings/me/passkeys")
		if first.has("add-passkey") || !first.has("confirm-form") {
			t.Fatal("a passkey can be added without confirming first")
		}
		wrong := fiona.send(first, "confirm-form", one("password", "not it"))
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.text("main"), "Is not right") && !strings.Contains(wrong.text("main"), "is not right") {
			t.Fatalf("a wrong password is answered %d: %s", wrong.status, wrong.text("main"))
		}
		codes := codesOn(fiona.addPasskey(fiona.confirmByPassword(), key, "Phone"))
		if len(codes) != models.RecoveryCodes {
			t.Fatalf("%d recovery codes are shown", len(codes))
		}
		second := fiona.follow(fiona.addPasskey(fiona.get("/settings/me/passkeys"), spare, "Key on the key ring"))
		if n := second.doc.Find("[data-testid=passkey]").Length(); n != 2 {
			t.Fatalf("%d passkeys are listed", n)
		}
		second.wants(t, "codes", "10 of 10 are left")

		// A stolen password is not enough, whichever page is asked for.
		back := d.stranger()
		step := back.login("fiona")
		if step.status != http.StatusOK || !step.has("passkey-form") {
			t.Fatalf("after the password %d: %s", step.status, step.text("main"))
		}
		if got := back.do(http.MethodGet, "/", nil); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, "/login") {
			t.Fatalf("the desk answers %d with the password alone", got.status)
		}
		asked := back.asked(step, "passkey-form")
		answer := key.Use(t, asked, origin)
		in := back.send(step, "passkey-form", one("passkey", answer))
		if in.status != http.StatusSeeOther || in.location != "/" {
			t.Fatalf("the passkey is answered %d %s: %s", in.status, in.location, in.text("main"))
		}
		back.get("/")
		used := back.get("/settings/me/passkeys")
		if text := used.doc.Find("[data-testid=passkey]").First().Text(); strings.Contains(text, "never") {
			t.Errorf("the passkey that was used reads %q", text)
		}

		// The same answer counts once, in one browser, and for five minutes.
		thief := d.stranger()
		theirs := thief.login("fiona")
		if got := thief.send(theirs, "passkey-form", one("passkey", answer)); got.status != http.StatusUnprocessableEntity {
			t.Errorf("an answer given before is answered %d", got.status)
		}
		late := d.stranger()
		step = late.login("fiona")
		answer = key.Use(t, late.asked(step, "passkey-form"), origin)
		d.clock.Advance(models.PasskeyChallengeLife)
		if got := late.send(step, "passkey-form", one("passkey", answer)); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text("main"), "too late") {
			t.Errorf("an answer after five minutes is answered %d: %s", got.status, got.text("main"))
		}
		elsewhere := d.stranger()
		step = elsewhere.login("fiona")
		if got := elsewhere.send(step, "passkey-form", one("passkey", key.Use(t, elsewhere.asked(step, "passkey-form"), "http://evil.example"))); got.status != http.StatusUnprocessableEntity {
			t.Errorf("an answer given to another site is answered %d", got.status)
		}
		d.clock.Advance(models.HalfSignInLife)
		if got := late.send(step, "code-form", one("code", codes[0])); got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
			t.Errorf("a sign-in begun long ago is answered %d", got.status)
		}
	})
}

func TestACopyOfAPasskeyIsRefusedAndOnTheTrail(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		fiona := d.signedIn("fiona")
		key := passkeytest.New(t)
		key.Counter = 40
		fiona.addPasskey(fiona.confirmByPassword(), key, "Phone")
		key.Counter = 7
		back := d.stranger()
		step := back.login("fiona")
		got := back.send(step, "passkey-form", one("passkey", key.Use(t, back.asked(step, "passkey-form"), origin)))
		if got.status != http.StatusUnprocessableEntity {
			t.Fatalf("a counter that went back is answered %d", got.status)
		}
		var refused []models.AuditEvent
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			return tx.DB.Where("workspace_id = ? AND action = ?", company, "passkey.refused").Find(&refused).Error
		})
		if len(refused) != 1 || !strings.Contains(refused[0].Data, "counter went back") || !strings.Contains(refused[0].Data, "Phone") {
			t.Fatalf("the trail says %v", refused)
		}
		key.Counter = 41
		step = back.login("fiona")
		if got := back.send(step, "passkey-form", one("passkey", key.Use(t, back.asked(step, "passkey-form"), origin))); got.status != http.StatusSeeOther {
			t.Errorf("the device itself is answered %d", got.status)
		}
	})
}

func TestARecoveryCodeSignsInOnceAndALostKeyIsReplaced(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		fiona := d.signedIn("fiona")
		codes := codesOn(fiona.addPasskey(fiona.confirmByPassword(), passkeytest.New(t), "Phone"))
		back := d.stranger()
		if got := back.send(back.login("fiona"), "code-form", one("code", "aaaa-bbbb-cccc-dddd")); got.status != http.StatusUnprocessableEntity || !got.has("code-form") {
			t.Fatalf("a made-up code is answered %d", got.status)
		}
		// As a person types it: capitals, blanks for dashes.
		if got := back.send(back.login("fiona"), "code-form", one("code", strings.ToUpper(strings.ReplaceAll(codes[3], "-", " ")))); got.status != http.StatusSeeOther {
			t.Fatalf("a code is answered %d: %s", got.status, got.text("main"))
		}
		back.get("/settings/me/passkeys").wants(t, "codes", "9 of 10 are left")
		again := d.stranger()
		if got := again.send(again.login("fiona"), "code-form", one("code", codes[3])); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a code used before is answered %d", got.status)
		}
		for range 12 {
			again.send(again.login("fiona"), "code-form", one("code", "aaaa-bbbb-cccc-dddd"))
		}
		if got := again.send(again.login("fiona"), "code-form", one("code", codes[4])); got.status != http.StatusTooManyRequests {
			t.Errorf("after many wrong codes a right one is answered %d", got.status)
		}
		if !strings.Contains(strings.Join(d.actions("fiona"), " "), "recovery_code.refused") {
			t.Error("the trail does not tell of wrong codes")
		}
		// The operator helps when everything is lost.
		d.tx(models.Operator(""), func(tx *models.Tx) error { return tx.RemovePasskeys(d.users["fiona"].ID) })
		if got := back.do(http.MethodGet, "/", nil); got.status != http.StatusSeeOther {
			t.Error("sessions outlive the passkeys that were taken away")
		}
		if got := d.stranger().login("fiona"); got.status != http.StatusSeeOther {
			t.Errorf("without passkeys the password is answered %d", got.status)
		}
	})
}

func TestRemovingAPasskeyNeedsAFreshConfirmationByIt(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		fiona := d.signedIn("fiona")
		key := passkeytest.New(t)
		fiona.addPasskey(fiona.confirmByPassword(), key, "Phone")
		open := fiona.get("/settings/me/passkeys")
		d.clock.Advance(6 * time.Minute)
		if got := fiona.press(open, "remove-passkey"); got.status != http.StatusUnprocessableEntity {
			t.Fatalf("six minutes after the confirmation it is answered %d", got.status)
		}
		p := fiona.get("/settings/me/passkeys")
		if p.has("remove-passkey") {
			t.Error("the page still offers it")
		}
		// The password does not do any more: there is a passkey.
		if got := fiona.send(p, "confirm-form", one("password", password)); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the password is answered %d", got.status)
		}
		p = fiona.follow(fiona.send(p, "confirm-form", one("passkey", key.Use(t, fiona.asked(p, "confirm-form"), origin))))
		if gone := fiona.follow(fiona.press(p, "remove-passkey")); gone.has("passkey") || gone.has("codes") {
			t.Errorf("after it is removed the page reads %s", gone.text("main"))
		}
		if got := d.stranger().login("fiona"); got.status != http.StatusSeeOther {
			t.Errorf("without passkeys the password is answered %d", got.status)
		}
	})
}

func TestNobodyChangesAnothersPasskeys(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		fiona := d.signedIn("fiona")
		fiona.addPasskey(fiona.confirmByPassword(), passkeytest.New(t), "Phone")
		form, _ := fiona.get("/settings/me/passkeys").fill(t, "rename-passkey", nil)
		felix := d.signedIn("felix")
		_, sent := felix.confirmByPassword().fill(t, "add-passkey", nil)
		for _, action := range []string{form, strings.Replace(form, "/rename", "/remove", 1)} {
			if got := felix.do(http.MethodPost, action, url.Values{"csrf_token": {sent.Get("csrf_token")}, "name": {"Mine"}}); got.status != http.StatusNotFound {
				t.Errorf("%s is answered %d", action, got.status)
			}
		}
		if p := fiona.get("/settings/me/passkeys"); !strings.Contains(p.text("[data-testid=passkey]"), "Phone") {
			t.Error("somebody else changed it")
		}
	})
}

func TestAWorkspaceRequiresAPasskeyOfWhoDecides(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		adam, fiona, audra := d.signedIn("adam"), d.signedIn("fiona"), d.signedIn("audra")
		request := d.ask(d.robot(), approvalFor("100.00"))
		open := fiona.get("/approvals/" + request)
		set := adam.follow(adam.press(adam.get("/settings/security"), "require-passkey"))
		set.wants(t, "second-factor", "need a passkey")
		if got := fiona.send(open, "vote-form", one("decision", "approve")); got.status != http.StatusForbidden {
			t.Fatalf("a vote without a passkey is answered %d", got.status)
		}
		if got := fiona.do(http.MethodGet, "/approvals/"+request, nil); got.status != http.StatusSeeOther || got.location != "/settings/me/passkeys" {
			t.Fatalf("she is led to %d %s", got.status, got.location)
		}
		fiona.get("/settings/me/passkeys").wants(t, "required", "requires a passkey")
		adam.get("/")
		audra.get("/approvals/" + request)
		fiona.addPasskey(fiona.confirmByPassword(), passkeytest.New(t), "Phone")
		if got := fiona.send(fiona.get("/approvals/"+request), "vote-form", one("decision", "approve")); got.status != http.StatusSeeOther {
			t.Fatalf("with a passkey the vote is answered %d", got.status)
		}
	})
}

func TestOnlyAdminsSetWhenPeopleAreAskedAgain(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		adam := d.signedIn("adam")
		p := adam.get("/settings/security")
		bad := adam.send(p, "step-up-form", one("above", "12.345", "currency", "EUR"))
		if bad.status != http.StatusUnprocessableEntity || bad.doc.Find("#step-up-above").AttrOr("value", "") != "12.345" {
			t.Fatalf("an amount with three decimals is answered %d", bad.status)
		}
		set := adam.follow(adam.send(p, "step-up-form", one("above", "10000,00", "currency", "eur"))) // as a German types it
		set.wants(t, "ask-again-amount", "above 10,000.00 EUR")
		fiona := d.signedIn("fiona")
		if theirs := fiona.get("/settings/security"); theirs.has("step-up-form") || !theirs.has("ask-again-amount") {
			t.Error("a finance lead can change the amount, or cannot see it")
		}
		_, csrf := fiona.get("/settings/me").fill(t, "preferences-form", nil)
		if got := fiona.do(http.MethodPost, "/settings/security/step-up", one("csrf_token", csrf.Get("csrf_token"), "currency", "EUR", "above", "")); got.status != http.StatusForbidden {
			t.Errorf("a finance lead who takes it away is answered %d", got.status)
		}
	})
}

func TestAVoteAboveTheAmountAsksForThePasswordAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.SetStepUp("EUR", "1000") })
		request := d.ask(d.robot(), approvalFor("1234.50"))
		fiona := d.signedIn("fiona")
		p := fiona.get("/approvals/" + request)
		p.wants(t, "step-up", "Above 1,000.00 EUR")
		for _, typed := range []string{"", "not it"} {
			got := fiona.send(p, "vote-form", one("decision", "approve", "reason", "The mail agrees.", "password", typed))
			if got.status != http.StatusUnprocessableEntity {
				t.Fatalf("with the password %q it is answered %d", typed, got.status)
			}
			if kept := got.doc.Find("[data-testid=vote-form] textarea[name=reason]").Text(); kept != "The mail agrees." {
				t.Errorf("the reason is %q", kept)
			}
			if strings.Contains(got.raw, "not it") {
				t.Error("the page gives a password back")
			}
		}
		if got := fiona.send(p, "vote-form", one("decision", "approve", "reason", "The mail agrees.", "password", password)); got.status != http.StatusSeeOther {
			t.Fatalf("with the password it is answered %d: %s", got.status, got.text("main"))
		}
		decided := fiona.get("/approvals/" + request)
		if !strings.Contains(decided.text("main"), "by password") {
			t.Error("the line of time does not say how it was confirmed")
		}
		if proof := fiona.get("/approvals/" + request + "/proof"); !strings.Contains(proof.text("main"), "Confirmed that it is them by password") {
			t.Errorf("the proof reads %s", proof.text("main"))
		}
		// For five minutes nothing more is asked, in this session alone.
		next := d.ask(d.robot(), approvalFor("1300.00"))
		if fiona.get("/approvals/" + next).has("step-up") {
			t.Error("it is asked again within five minutes")
		}
		if !d.signedIn("fiona").get("/approvals/" + next).has("step-up") {
			t.Error("another session of hers is not asked")
		}
		d.clock.Advance(models.StepUpFor + time.Second)
		if !fiona.get("/approvals/" + next).has("step-up") {
			t.Error("it is not asked after five minutes")
		}
	})
}

func TestAPersonWithAPasskeyConfirmsAVoteWithIt(t *testing.T) {
	t.Parallel()
	bothDesks(t, func(t *testing.T, d *desk) {
		d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.SetStepUp("EUR", "1000") })
		request := d.ask(d.robot(), approvalFor("1234.50"))
		fiona := d.signedIn("fiona")
		key := passkeytest.New(t)
		fiona.addPasskey(fiona.confirmByPassword(), key, "Phone")
		d.clock.Advance(models.StepUpFor + time.Second)
		p := fiona.get("/approvals/" + request)
		if p.doc.Find("[data-testid=step-up] input[name=password]").Length() != 0 {
			t.Error("the password is asked of somebody with a passkey")
		}
		if got := fiona.send(p, "vote-form", one("decision", "approve", "password", password)); got.status != http.StatusUnprocessableEntity {
			t.Fatalf("the password is answered %d", got.status)
		}
		if got := fiona.send(p, "vote-form", one("decision", "approve", "passkey", key.Use(t, fiona.asked(p, "vote-form"), origin))); got.status != http.StatusSeeOther {
			t.Fatalf("the passkey is answered %d: %s", got.status, got.text("main"))
		}
		if proof := fiona.get("/approvals/" + request + "/proof"); !strings.Contains(proof.text("main"), "Confirmed that it is them by passkey") {
			t.Errorf("the proof reads %s", proof.text("main"))
		}
	})
}
