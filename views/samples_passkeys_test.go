package views_test

import (
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func samplePasskey(add bool, button string) views.Passkey {
	return views.Passkey{AskURL: "/settings/me/confirm/ask", Add: add, For: button, NoScript: "Using a passkey needs JavaScript."}
}

func samplePasskeys() views.PasskeysPage {
	row := func(id, name string) views.PasskeyRow {
		return views.PasskeyRow{ID: id, Name: name, Added: ui.Moment{Text: "3 days ago", ISO: "2026-11-28T09:00:00Z"}, NotUsed: true, Rename: views.Form{URL: "/settings/me/passkeys/x/rename", CSRF: "csrf-sample"},
			NameIs: ui.Field{ID: "name-" + id, Name: "name", Label: "Name", Required: true, Value: name}, Remove: &ui.PostForm{URL: "/settings/me/passkeys/x/remove", CSRF: "csrf-sample", Button: ui.Button{Label: "Remove", About: name, Variant: ui.ButtonQuiet}}}
	}
	phone := row("pkey_1", "Phone")
	phone.NotUsed, phone.Used = false, ui.Moment{Text: "5 min ago", ISO: "2026-12-01T09:00:00Z"}
	return views.PasskeysPage{Page: samplePage("Passkeys", "/settings/me/passkeys"), Tabs: []ui.Tab{{Label: "You", URL: "/settings/me", Current: true}}, Lead: "With a passkey, signing in asks for it after the password.",
		Rows: []views.PasskeyRow{phone, row("pkey_2", "Key on the key ring, the blue one that opens the cupboard too")}, ConfirmedAt: "You confirmed at 10:31 that it is you.",
		Add:       &views.PasskeyForm{Form: views.Form{URL: "/settings/me/passkeys", CSRF: "csrf-sample"}, Name: ui.Field{ID: "passkey-name", Name: "name", Label: "Name", Required: true}, Passkey: samplePasskey(true, "")},
		CodesLeft: "7 of 10 are left.", Renew: &ui.PostForm{URL: "/settings/me/passkeys/codes", CSRF: "csrf-sample", Button: ui.Button{Label: "Make new codes", Variant: ui.ButtonPlain}}}
}

func sampleNoPasskeys() views.PasskeysPage {
	return views.PasskeysPage{Page: samplePage("Passkeys", "/settings/me/passkeys"), Tabs: []ui.Tab{{Label: "You", URL: "/settings/me", Current: true}}, Lead: "With a passkey, signing in asks for it after the password.",
		Empty: ui.Empty{Heading: "You have no passkey", Text: "Your password alone signs you in.", TestID: "empty"},
		Confirm: &views.ConfirmForm{Form: views.Form{URL: "/settings/me/confirm", CSRF: "csrf-sample"}, Next: "/settings/me/passkeys",
			StepUp: views.StepUp{Text: "Before your passkeys can be added or removed.", Email: "petra@example.com", Password: &ui.Field{ID: "step-up-password", Name: "password", Autocomplete: "current-password", Label: "Your password, to confirm that it is you", Kind: ui.FieldPassword, Required: true}}}}
}

func sampleSignInStep() views.SignInStepPage {
	p := samplePasskey(false, "")
	return views.SignInStepPage{Page: views.Page{Title: "One more step", Assets: samplePage("", "").Assets, SelfURL: "/login/second"}, Form: views.Form{URL: "/login/second", CSRF: "csrf-sample"}, Passkey: &p,
		Code: ui.Field{Name: "code", Label: "Recovery code", Required: true}}
}
