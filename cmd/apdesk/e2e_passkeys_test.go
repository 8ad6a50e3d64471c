package main_test

import (
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/proto"
)

// securityKey puts a key into the window, in software, that agrees to everything.
func (w *window) securityKey() {
	w.t.Helper()
	if err := (proto.WebAuthnEnable{}).Call(w.page); err != nil {
		w.t.Fatal(err)
	}
	_, err := proto.WebAuthnAddVirtualAuthenticator{Options: &proto.WebAuthnVirtualAuthenticatorOptions{Protocol: proto.WebAuthnAuthenticatorProtocolCtap2,
		Transport: proto.WebAuthnAuthenticatorTransportUsb, HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}}.Call(w.page)
	if err != nil {
		w.t.Fatal(err)
	}
}

// atLocalhost opens a window at the name for which browsers do passkeys without TLS.
func (d *desk) atLocalhost(t testing.TB) *window {
	t.Helper()
	w := d.window(t)
	w.url = strings.Replace(d.url, "127.0.0.1", "localhost", 1)
	return w
}

// Fiona adds a passkey, signs in again with password and passkey, and confirms a large approval with it. Nothing
// but the desk's own script speaks to the browser, under the policy that forbids every other.
func TestAPasskeyInARealBrowserFromAddingItToAnApproval(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := founded(t, sqliteFile(t))
	c.run("workspace", "set", "--id", workspace, "--step-up", "EUR=1000")
	c.start()
	request := c.as(c.agent).ask(t, approvalOf(invoice(89, "2500.75")))

	w := c.atLocalhost(t)
	w.securityKey()
	w.login(fiona)
	w.visit("/settings/me/passkeys")
	w.has("empty")
	w.fill("password", password)
	w.follow("confirm-me")
	w.fill("name", "Key on the key ring")
	w.follow("add")
	codes := w.page.MustElements("[data-testid=recovery-codes] code")
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes are shown", len(codes))
	}
	code := codes[0].MustText()
	w.follow("kept")
	w.shows("passkey", "Key on the key ring", "never")
	w.follow("sign-out")

	w.visit("/login")
	w.fill("email", fiona.email)
	w.fill("password", password)
	w.press("Sign in")
	w.lacks("signed-in-as")
	w.follow("use-passkey")
	w.shows("signed-in-as", fiona.name)

	w.visit("/approvals/" + request)
	w.shows("step-up", "asks you again")
	w.fill("reason", "Agreed with the buyer.")
	w.follow("approve")
	w.shows("approval-status", "Approved")
	w.visit("/approvals/" + request + "/proof")
	if text := w.page.MustElement("main").MustText(); !strings.Contains(text, "Confirmed that it is them by passkey") {
		t.Errorf("the proof reads %s", text)
	}

	// Without script the page says what is needed, and a recovery code signs in all the same.
	plain := c.atLocalhost(t)
	plain.withoutScript()
	plain.visit("/login")
	plain.fill("email", fiona.email)
	plain.fill("password", password)
	plain.press("Sign in")
	plain.press("Use your passkey")
	if text := plain.page.MustElement("main").MustText(); !strings.Contains(text, "needs JavaScript") {
		t.Errorf("without script the page reads %s", text)
	}
	plain.page.MustElement("details summary").MustClick()
	plain.fill("code", code)
	plain.press("Sign in with the code")
	plain.shows("signed-in-as", fiona.name)

	if listed := c.run("user", "passkeys", "--email", fiona.email); !strings.Contains(listed, "Key on the key ring") || !strings.Contains(listed, "9 of 10") {
		t.Errorf("the operator is told %q", listed)
	}
	c.run("user", "passkeys", "--email", fiona.email, "--remove")
	c.signedIn(t, fiona).shows("signed-in-as", fiona.name)
}
