package views_test

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleAccount() views.AccountPage {
	end := func(id string) *ui.PostForm {
		return &ui.PostForm{URL: "/settings/me/security/sessions", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "session", Value: id}}, Button: ui.Button{Label: "End", About: "the session of Safari on iPhone", Variant: ui.ButtonPlain}}
	}
	return views.AccountPage{Page: samplePage("Password and sessions", "/settings/me/security"), BackURL: "/settings/me", Tabs: []ui.Tab{{Label: "You", URL: "/settings/me", Current: true}},
		Password: views.Form{URL: "/settings/me/security/password", CSRF: "csrf-sample", Heading: "Your password was not changed", Errors: []ui.FieldError{{FieldID: "f-password", Text: "New password: is too easy to guess"}}},
		Fields: []ui.Field{{Name: "current", Label: "Present password", Kind: ui.FieldPassword, Required: true, Autocomplete: "current-password"},
			{Name: "password", Label: "New password", Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password", Hint: "At least 12 characters.", Error: "is too easy to guess: it is one that many people use"},
			{Name: "again", Label: "New password, once more", Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password"}},
		After: "All your other sessions end.", Limits: "A session ends after 8 hours without use, and after 7 days in any case.",
		Sessions: []views.SessionRow{
			{Device: "Firefox on Windows", Address: "2001:db8:85a3:8d3:1319:8a2e:370:7348", SignedIn: ago(26 * time.Hour), Used: ago(time.Minute), Current: true},
			{Device: "Safari on iPhone", Address: "203.0.113.9", SignedIn: ago(50 * time.Hour), Used: ago(3 * time.Hour), End: end("a")}},
		EndAll: &ui.PostForm{URL: "/settings/me/security/sessions", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "all", Value: "yes"}}, Button: ui.Button{Label: "End all other sessions", Variant: ui.ButtonDanger}}}
}

func sampleTokens() views.TokensPage {
	press := func(path, label string, variant ui.ButtonVariant) *ui.PostForm {
		return &ui.PostForm{URL: "/settings/tokens", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "token", Value: "tok_1"}}, Button: ui.Button{Label: label, About: "the token Nightly of Invoice agent", Variant: variant}}
	}
	return views.TokensPage{Page: samplePage("Tokens", "/settings/tokens"), Lead: "What agents, systems and scripts call the desk with.", Tabs: []ui.Tab{{Label: "Tokens", URL: "/settings/tokens", Current: true}},
		Made: sampleMade("Token", "apd_7q2mgm3v6s2a5yq4k7x3h6w2n5t4b7c3d6f5g4h3"),
		Groups: []views.TokenGroup{
			{ID: "own-tokens", Heading: "Your tokens", Empty: "You have none. An agent or a script that acts as you needs one."},
			{ID: "other-tokens", Heading: "Tokens of this workspace", Whose: true, Rows: []views.TokenRow{
				{ID: "tok_1", Name: "Nightly", Begins: "apd_7q2mgm", Whose: "Invoice agent", Scopes: "cases:write, approvals:write, holds:write", CreatedBy: "by Jonas Weber", Created: ago(80 * 24 * time.Hour), Used: ago(4 * time.Minute), Ends: "12 Oct 2026, 11:00",
					State: ui.Badge{Text: "Ends soon", Tone: ui.ToneWarn, Sign: ui.SignAlert}, Rotate: press("rotate", "Rotate", ui.ButtonPlain), Revoke: press("revoke", "Revoke", ui.ButtonQuiet)},
				{ID: "tok_2", Name: "Old", Begins: "apd_a2mgm7", Whose: "ERP", Scopes: "money", CreatedBy: "by the operator", Created: ago(400 * 24 * time.Hour), Ends: "never", State: ui.Badge{Text: "Revoked", Tone: ui.ToneNeutral, Sign: ui.SignNo}}}}},
		Add: &views.TokenForm{Form: views.Form{URL: "/settings/tokens", CSRF: "csrf-sample"}, After: "Calls with it are made in the name of its user.", Fields: []ui.Field{
			{Name: "user", Label: "For", Kind: ui.FieldSelect, Options: []ui.Option{{Value: "jonas@example.com", Label: "yourself"}}}, {Name: "name", Label: "What it is for", Required: true},
			{Name: "scope", Label: "What it may do", Kind: ui.FieldChecks, Required: true, Options: []ui.Option{{Value: "cases:read", Label: "cases:read"}, {Value: "all", Label: "all"}}},
			{Name: "days", Label: "Good for", Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Value: "90", Label: "90 days", Selected: true}}},
			{Name: "workspace", Label: "Calls that name no workspace are about this one", Kind: ui.FieldCheckbox, Value: "yes", Checked: true}}}}
}

func sampleMade(label, secret string) *views.MadeSecret {
	return &views.MadeSecret{Heading: "Made", Text: "Copy it now: it is shown this once.", Label: label, Secret: secret}
}

func sampleWelcome() views.WelcomePage {
	page := samplePage("You are invited to apdesk", "/welcome")
	page.Person, page.LiveURL = nil, ""
	return views.WelcomePage{Page: page, Heading: "You are invited to apdesk", Lead: "Choose the name colleagues see and a password, then sign in.",
		Facts: []ui.Entry{ui.Pair("E-mail", "nora@example.com"), ui.Pair("Workspace", "Nordlicht Handels GmbH"), ui.Pair("Roles", "AP clerk")},
		Form:  &views.Form{URL: "/welcome", CSRF: "csrf-sample"}, Link: "secret", Button: "Join", Login: "To the sign-in page",
		Fields: []ui.Field{{Name: "name", Label: "Your name", Required: true, Autocomplete: "name"}, {Name: "password", Label: "New password", Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password"},
			{Name: "again", Label: "New password, once more", Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password"}}}
}

func sampleSpent() views.WelcomePage {
	page := samplePage("This link is not good any more", "/welcome")
	page.Person, page.LiveURL = nil, ""
	return views.WelcomePage{Page: page, Heading: "This link is not good any more", Lead: "It was used, replaced or withdrawn, or its time is over.", Spent: "Ask whoever gave it to you for a new one.", Login: "To the sign-in page"}
}

func sampleInvitations() []views.InvitationRow {
	return []views.InvitationRow{{ID: "link_1", Email: "nora.neumann@nordlicht-handelsgesellschaft.example.com", Roles: "AP clerk, Procurement", By: "Jonas Weber", Ends: due(50 * time.Hour),
		Withdraw: &ui.PostForm{URL: "/settings/people/invitations/withdraw", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "invitation", Value: "link_1"}}, Button: ui.Button{Label: "Withdraw", Variant: ui.ButtonPlain}}}}
}

func TestAccountsPostWhatTheirHandlersRead(t *testing.T) {
	t.Parallel()
	account := render(t, views.Account(sampleAccount()))
	sameNames(t, testID(account, "password-form"), "csrf_token", "current", "password", "again")
	sameNames(t, testID(account, "session-row").Find("form"), "csrf_token", "session")
	mustSay(t, testID(account, "session-row").First(), "Firefox on Windows", "This session")
	tokens := render(t, views.Tokens(sampleTokens()))
	sameNames(t, testID(tokens, "token-form"), "csrf_token", "user", "name", "scope", "scope", "days", "workspace")
	mustSay(t, testID(tokens, "own-tokens"), "You have none")
	sameNames(t, testID(render(t, views.Welcome(sampleWelcome())), "welcome-form"), "csrf_token", "link", "name", "password", "again")
	if spent := render(t, views.Welcome(sampleSpent())); testID(spent, "welcome-form").Length() != 0 {
		t.Error("a spent link shows a form")
	}
}
