package views_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

func expiresIn(d time.Duration, text string) ui.Moment {
	return ui.Moment{ISO: now.Add(d).Format(time.RFC3339), Text: text, Absolute: ui.Absolute(lang.English(), now.Add(d), berlin)}
}

func sampleConfirmationRows() []views.ConfirmationRow {
	row := func(id, tool, server, message, invoice string, known bool) views.ConfirmationRow {
		return views.ConfirmationRow{ID: id, URL: templ.SafeURL("/confirmations/" + id), Status: badgePending, Expires: expiresIn(42*time.Minute, "expires in 42 min"), Message: ui.Foreign(message),
			Tool: ui.Foreign(tool), Server: ui.Foreign(server), Known: known, Invoice: ui.Foreign(invoice), AskedBy: "invoice-agent", Asked: ago(18 * time.Minute), Answers: "answered by finance lead"}
	}
	rows := []views.ConfirmationRow{
		row("conf_01k6w1", "delete_document", "Document archive", "Delete document D-77 and its 3 versions for good?", "5105600123", true),
		row("conf_01k6w2", hostileRTL, hostileScript, hostilePrompt, "", false),
		row("conf_01k6w3", "cancel_payment_run", "Treasury", "Cancel payment run 2026-41?", "5105600124", true),
	}
	rows[2].Status, rows[2].Expires = ui.Badge{Text: "Declined", Tone: ui.ToneBad, Sign: ui.SignNo}, ui.Moment{}
	rows[2].Answered, rows[2].At = "declined by Ines Roth", ago(3*time.Minute)
	return rows
}

func sampleConfirmationsPage() views.ConfirmationsPage {
	return views.ConfirmationsPage{Page: samplePage("Confirmations (2)", "/confirmations"), Lead: "Other servers ask a person before they run a call that an agent made. 2 wait for you.",
		Tabs: []ui.Tab{{Label: "Waiting for me", Count: "2", URL: "/confirmations?tab=mine", Current: true}, {Label: "All open", URL: "/confirmations?tab=open"}, {Label: "Done", URL: "/confirmations?tab=decided"}},
		Rows: sampleConfirmationRows(), Caption: "waiting for me"}
}

func sampleServer() views.Server {
	return views.Server{Name: "Document archive", By: "invoice-agent", URL: "https://archive.example.com/mcp", Host: "archive.example.com"}
}

func deletionCall() views.Call {
	return views.Call{Tool: "delete_document", Arguments: data(`{"document_id":"D-77","versions":[1,2,3],"reason":"duplicate of D-76","options":{"keep_until":null,"notify":true}}`),
		AsSent: `{"document_id":"D-77"}`}
}

func sampleFields() []ui.Field {
	foreign := func(f ui.Field, label string) ui.Field {
		f.Label, f.LabelForeign = ui.Foreign(label).Plain(), ui.Foreign(label)
		return f
	}
	return []ui.Field{
		foreign(ui.Field{ID: "content-1", Name: "content.confirm", Kind: ui.FieldRadios, Required: true, About: "It cannot be brought back.", Options: []ui.Option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}}, "Delete it"),
		foreign(ui.Field{ID: "content-2", Name: "content.note", Kind: ui.FieldArea, Hint: "At most 200 characters."}, "Note for the archive"),
		foreign(ui.Field{ID: "content-3", Name: "content.keep", Kind: ui.FieldWhole, Hint: "A whole number from 0 to 30.", Value: "7", Required: true}, "Days to keep a copy"),
		foreign(ui.Field{ID: "content-4", Name: "content.when", Kind: ui.FieldDateTime, Hint: "Time in Europe/Berlin.", Value: "2026-10-05T18:00"}, "Not before"),
		foreign(ui.Field{ID: "content-5", Name: "content.what", Kind: ui.FieldChecks, Hint: "Choose 1 to 2.", Required: true, Options: []ui.Option{{Value: "file", Label: "The file", Note: "file", Selected: true}, {Value: "index", Label: "Its index entry", Note: "index"}, {Value: "log", Label: hostileScript, Note: "log"}}}, "What to delete"),
		foreign(ui.Field{ID: "content-6", Name: "content.class", Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Label: "Choose one"}, {Value: "a", Label: "Invoice (a)"}, {Value: "b", Label: "Delivery note (b)"}}}, hostileRTL),
	}
}

func sampleConfirmation() views.ConfirmationPage {
	invoice := sampleInvoice()
	return views.ConfirmationPage{Page: samplePage("Confirm delete_document", "/confirmations/conf_01k6w1"), ID: "conf_01k6w1", BackURL: "/confirmations",
		Status:  ui.Badge{Text: "Waiting", Tone: ui.ToneInfo, Sign: ui.SignOpen, TestID: "confirmation-status"},
		Expires: expiresIn(42*time.Minute, "expires in 42 min"), Asked: ago(18 * time.Minute), Agent: "invoice-agent", OnBehalf: "Mia Brandt answers for this account", Run: "run-7f3",
		Server: sampleServer(), CallHeading: "If you accept, the server goes on with exactly this call", Call: deletionCall(), Digest: "8f14e45fceea167a5a36dedd4bea25438f14e45fceea167a5a36dedd4bea2543",
		StateHash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Questions: []views.Question{{Message: "Delete document D-77 and its 3 versions for good?\n" + hostilePrompt, Title: "Deletion", Fields: sampleFields()}}, Invoice: &invoice,
		Who: "One answer of finance lead", WhoWhy: "No rule of this workspace names this server and tool.",
		Eligible: []views.Eligible{{Name: "Ines Roth", Role: "finance lead", May: true, You: true}, {Name: "Mia Brandt", Role: "finance lead", Why: "answers for the account that asked for this"}},
		Form: &views.AnswerForm{Form: views.Form{URL: "/confirmations/conf_01k6w1", CSRF: "csrf-sample", Version: "1"}, After: "What you choose counts once, and stands on the trail beside your name.",
			Reason: ui.Field{Name: "reason", Label: "Reason", Kind: ui.FieldArea, Rows: 2, Hint: "For the trail. The server does not get it."}},
		Notices: []ui.Notice{{Tone: ui.ToneWarn, Heading: "This workspace does not know this server", Text: "Its name and address are what the agent invoice-agent reports. Nobody has checked them.",
			LinkText: "Servers this workspace knows", URL: "/settings/servers", TestID: "unknown-server"}},
		Timeline: sampleTimeline()[2:]}
}

func refusedConfirmation() views.ConfirmationPage {
	p := sampleConfirmation()
	fields := p.Questions[0].Fields
	fields[0].Error, fields[2].Error, fields[2].Value, fields[4].Error = "is required: choose yes or no", "must be at most 30", "31", "must be at most 2 choices"
	p.Form.Heading, p.Form.Errors = "Nothing was answered", ui.ErrorsOf(fields...)
	p.Server.Known, p.Server.Reported, p.Notices = true, "Archive", nil
	return p
}

func urlConfirmation() views.ConfirmationPage {
	p := sampleConfirmation()
	p.CallHeading, p.Form.Opens = "The call that it asks about", true
	p.Questions = []views.Question{{Message: "Sign in at our partner to go on.", Address: &views.Address{Host: "login.xn--prtner-bua.example.com:8443", URL: "https://login.xn--prtner-bua.example.com:8443/start?session=8f14e45fceea167a5a36dedd4bea2543&return=%2Fmcp",
		Note: "letters of another alphabet stand in this name; it may only look like one you know"}}}
	p.Who, p.WhoWhy, p.Eligible = "Mia Brandt alone", "An address is opened for the account that asks, so only the person responsible for it may consent.", nil
	return p
}

func doneConfirmation() views.ConfirmationPage {
	p := sampleConfirmation()
	p.Status = ui.Badge{Text: "Accepted, taken", Tone: ui.ToneGood, Sign: ui.SignYes, TestID: "confirmation-status"}
	p.Form, p.Expires, p.Notices, p.Eligible, p.CallHeading = nil, ui.Moment{}, nil, nil, "This call was accepted, and the agent has the answer"
	p.Answer = &views.ConfirmationAnswer{Badge: ui.Badge{Text: "Accepted", Tone: ui.ToneGood, Sign: ui.SignYes}, Who: "Ines Roth", Role: "finance lead", At: ago(3 * time.Minute), Reason: "D-76 is the same document.",
		Values: sampleGiven(), Taken: "invoice-agent took it 2 min ago. It is handed out once."}
	p.Conflict = &views.Conflict{Text: "Ines Roth accepted this 3 min ago (11:27).", Reason: "D-76 is the same document.", Typed: []ui.Entry{ui.Pair("You chose", "Decline")}}
	return p
}

func sampleGiven() []views.GivenValue {
	return []views.GivenValue{{Label: "Delete it", Name: "confirm", Value: "Yes", Given: true}, {Label: "Note for the archive", Name: "note"}, {Label: "Days to keep a copy", Name: "keep", Value: "7", Given: true}}
}

func sampleSecondStep() views.SecondStepPage {
	p := samplePage("Accept delete_document?", "/confirmations/conf_01k6w1")
	p.LiveURL = ""
	return views.SecondStepPage{Page: p, BackURL: "/confirmations", ID: "conf_01k6w1", Heading: "Once more: accept this call?", Text: "Nothing is recorded yet. Read the call as it will run; an acceptance cannot be taken back.",
		Server: sampleServer(), Agent: "invoice-agent", Expires: expiresIn(41*time.Minute, "expires in 41 min"), Call: deletionCall(), Values: sampleGiven(), Reason: "D-76 is the same document.",
		Form: views.Form{URL: "/confirmations/conf_01k6w1", CSRF: "csrf-sample", Version: "1"}, Hidden: []ui.Hidden{{Name: "content.confirm", Value: "true"}},
		Step:   ui.Field{Name: "second_step", Label: "Yes, this call is to go on", Kind: ui.FieldCheckbox, Value: "yes", Required: true, TestID: "second-step"},
		Button: "Accept this call"}
}

func sampleServers() views.ServersPage {
	retire := &views.Form{URL: "/settings/servers/srule_1/retire", CSRF: "csrf-sample"}
	return views.ServersPage{Page: samplePage("Servers", "/settings/servers"), Lead: "Which servers this workspace knows, and whose role answers.",
		Tabs: []ui.Tab{{Label: "Workspace", URL: "/settings"}, {Label: "Approval rules", URL: "/settings/rules"}, {Label: "Servers", URL: "/settings/servers", Current: true}, {Label: "Security", URL: "/settings/security"}},
		Rows: []views.ServerRuleRow{{ID: "srule_1", Server: "Document archive", URL: "https://archive.example.com", Role: "Procurement", Written: "Adam Kern, 2 Oct 2026", Retire: retire},
			{ID: "srule_2", Server: longSupplier, URL: "https://treasury.example.com:8443/a/very/long/path/of/an/mcp/endpoint", Tool: "cancel_payment_run", Role: "Finance lead", Written: "Adam Kern, 2 Oct 2026", Retire: retire}},
		Add: &views.ServerRuleForm{Form: views.Form{URL: "/settings/servers", CSRF: "csrf-sample"}, Fields: []ui.Field{{ID: "s-name", Name: "server_name", Label: "Server", Required: true, Hint: "What people call it."},
			{ID: "s-url", Name: "server_url", Label: "Address", Kind: ui.FieldURL, Required: true, Hint: "Without a path it stands for every address there.", Placeholder: "https://erp.example.com/mcp"},
			{ID: "s-tool", Name: "tool", Label: "Tool", Hint: "Empty: any that no other rule names."},
			{ID: "s-role", Name: "role", Label: "Who answers", Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Value: "finance_lead", Label: "Finance lead"}, {Value: "ap_lead", Label: "AP lead"}}}}}}
}

func sampleSecurity() views.SecurityPage {
	change := func(label string) *ui.PostForm {
		return &ui.PostForm{URL: "/settings/security", CSRF: "csrf-sample", Button: ui.Button{Label: label, Variant: ui.ButtonQuiet, About: "route_to_person over MCP"}}
	}
	return views.SecurityPage{Page: samplePage("Security (1)", "/settings/security"), Lead: "What agents and systems may do over which channel.",
		Tabs: []ui.Tab{{Label: "Workspace", URL: "/settings"}, {Label: "Approval rules", URL: "/settings/rules"}, {Label: "Servers", URL: "/settings/servers"}, {Label: "Security", URL: "/settings/security", Current: true}},
		Groups: []views.ActionGroup{{Heading: "Cases", Rows: []views.ActionRow{
			{Action: "route_to_person", Words: "Hand an invoice over to a person", API: views.ActionCell{Offered: true, Blocked: true, By: "by Adam Kern, 10:12", TestID: "a", Change: change("Allow")}, MCP: views.ActionCell{Offered: true, TestID: "b", Change: change("Block")}},
			{Action: "withdraw_case", Words: "Withdraw a case", API: views.ActionCell{TestID: "c"}, MCP: views.ActionCell{Offered: true, TestID: "d", Change: change("Block")}},
		}}}}
}
