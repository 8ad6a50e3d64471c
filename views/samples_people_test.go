package views_test

import (
	"testing"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleRoles() ui.Field {
	return ui.Field{Name: "role", Label: "Roles", Kind: ui.FieldChecks, Required: true, TestID: "roles", Options: []ui.Option{
		{Value: "ap_clerk", Label: "AP clerk: works Accounts payable"}, {Value: "finance_lead", Label: "Finance lead: works Finance, approves, moves the closed period", Selected: true}}}
}

func samplePeople() views.PeoplePage {
	active := ui.Badge{Text: "Active", Tone: ui.ToneGood, Sign: ui.SignDone}
	return views.PeoplePage{Page: samplePage("People (3)", "/settings/people"), Lead: "Who works in Nordlicht Handels GmbH.", Tabs: []ui.Tab{{Label: "People", URL: "/settings/people", Current: true}},
		Notices: []ui.Notice{{Tone: ui.ToneWarn, Heading: "Nobody answers for Invoice agent", Text: "Lars Lindner is not an active member of this workspace.", LinkText: "See the account", URL: "/settings/people/usr_3"}},
		Rows: []views.PersonRow{
			{ID: "usr_1", URL: "/settings/people/usr_1", Name: "Ines Hoffmann", Email: "ines.hoffmann@nordlicht-handelsgesellschaft.example.com", Roles: "Finance lead, AP clerk", State: active, Zone: "Europe/Lisbon",
				Away: "until Fri 4 Dec 2026; Jonas Weber decides every document type", Last: ui.Moment{Text: "5 min ago", ISO: "2026-12-01T09:00:00Z"}, LastWhat: "signed in"},
			{ID: "usr_2", URL: "/settings/people/usr_2", Name: "Jonas Weber", Email: "jonas@example.com", You: true, Roles: "Admin", State: active, Zone: "Europe/Berlin (the workspace’s)", LastWhat: "never"},
			{ID: "usr_3", URL: "/settings/people/usr_3", Name: "Invoice agent", Email: "agent@example.com", Service: true, Roles: "Agent", State: ui.Badge{Text: "Service account", Tone: ui.ToneAgent, Sign: ui.SignDone},
				Owner: "Lars Lindner", NoOwner: "not active here", LastWhat: "never"},
		},
		Gone:    []views.PersonRow{{ID: "usr_4", URL: "/settings/people/usr_4", Name: "Lars Lindner", Email: "lars@example.com", Roles: "AP lead", State: ui.Badge{Text: "Deactivated", Tone: ui.ToneNeutral, Sign: ui.SignNo}, Zone: "Europe/Berlin", LastWhat: "never"}},
		Invited: sampleInvitations(), Made: sampleMade("Link", "https://desk.example.com/welcome?link=7q2mgm3v6s2a5yq4k7x3h6w2n5t4b7c3d6f5g4h3"),
		Add: &views.PersonForm{Form: views.Form{URL: "/settings/people", CSRF: "csrf-sample"}, Fields: []ui.Field{{Name: "email", Label: "E-mail", Kind: ui.FieldEmail, Required: true}, {Name: "name", Label: "Full name"}},
			Roles: sampleRoles(), After: "A known e-mail joins this workspace with these roles."}}
}

func samplePerson() views.PersonPage {
	return views.PersonPage{Page: samplePage("Ines Hoffmann", "/settings/people/usr_1"), BackURL: "/settings/people", Name: "Ines Hoffmann", State: ui.Badge{Text: "Active", Tone: ui.ToneGood, Sign: ui.SignDone},
		Facts:      []ui.Entry{ui.Pair("E-mail", "ines@example.com"), ui.Pair("Roles", "Finance lead")},
		Roles:      &views.RolesForm{Form: views.Form{URL: "/settings/people/usr_1/roles", CSRF: "csrf-sample"}, Was: "finance_lead", Roles: sampleRoles(), After: "A role that is taken away takes effect at once."},
		Deactivate: &ui.Link{Title: "Deactivate Ines Hoffmann…", URL: "/settings/people/usr_1/deactivate"},
		ShowLimits: true, Limits: []views.LimitRow{{What: "any write", Amount: "100,000.00", Currency: "EUR", By: "by the rule for finance lead, together with somebody else", URL: "/settings/rules"}},
		Delegations: sampleAbsences()[:1], ActsFrom: "At most 30, of the workspace’s last 5,000 events."}
}

func sampleLeaving() views.LeavingPage {
	return views.LeavingPage{Page: samplePage("Deactivate Ines Hoffmann?", "/settings/people/usr_1/deactivate"), Heading: "Deactivate Ines Hoffmann?", Lead: "ines@example.com, finance lead in Nordlicht Handels GmbH.",
		Will: []string{"2 claimed cases go back to their queues.", "1 approval that Ines Hoffmann gave and nobody used is revoked, and a case opens for the AP lead to look into it."},
		Form: views.Form{URL: "/settings/people/usr_1/deactivate", CSRF: "csrf-sample"}, Fields: []ui.Field{{Name: "reason", Label: "Reason", Kind: ui.FieldArea}},
		Button: ui.Button{Label: "Deactivate Ines Hoffmann", Variant: ui.ButtonDanger}, CancelURL: "/settings/people/usr_1"}
}

func sampleAbsences() []views.DelegationCard {
	return []views.DelegationCard{
		{ID: "del_1", Heading: "Ines Hoffmann is away; you decide", State: ui.Badge{Text: "Away now", Tone: ui.ToneWarn, Sign: ui.SignPaused}, When: "Mon 30 Nov 2026 to Fri 4 Dec 2026 (Europe/Lisbon)",
			Next: ui.Moment{Text: "in 3 days", ISO: "2026-12-05T00:00:00Z"}, NextIs: "ends", What: "Every document type", Note: "On holiday <b>until</b> Friday.", Moved: "3 requests wait with you through it now.", Set: "Set by Lars Lindner, 27 Nov 2026",
			End: &views.DelegationEnd{Form: views.Form{URL: "/settings/delegations/del_1/end", CSRF: "csrf-sample"}, What: "What waits with Jonas Weber and is not decided comes back to Ines Hoffmann at once.", Button: ui.Button{Label: "End it now", Variant: ui.ButtonPlain}}},
		{ID: "del_2", Heading: "You are away; nobody decides in your place", State: ui.Badge{Text: "Planned", Tone: ui.ToneInfo, Sign: ui.SignOpen}, When: "Mon 21 Dec 2026 (Europe/Berlin)", What: "Document type KR", Set: "Set by Jonas Weber, 27 Nov 2026"},
	}
}

func sampleDelegations() views.DelegationsPage {
	return views.DelegationsPage{Page: samplePage("Away, and in whose place", "/settings/delegations"), Lead: "Who is away, and who decides in their place meanwhile.", Tabs: []ui.Tab{{Label: "Away", URL: "/settings/delegations", Current: true}},
		Mine: sampleAbsences(), Form: &views.DelegationForm{Form: views.Form{URL: "/settings/delegations", CSRF: "csrf-sample", Heading: "The absence was not planned", Errors: []ui.FieldError{{FieldID: "f-last_day", Text: "Last day away: must not lie before the first day"}}},
			Who:  []ui.Field{{Name: "delegate", Label: "Who decides meanwhile", Kind: ui.FieldSelect, Options: []ui.Option{{Value: "", Label: "nobody: requests stay where they are"}, {Value: "jonas@example.com", Label: "Jonas Weber, finance lead"}}}},
			When: []ui.Field{{Name: "first_day", Label: "First day away", Kind: ui.FieldDate, Required: true, Hint: "Days count in Europe/Berlin, your time zone."}, {Name: "last_day", Label: "Last day away", Kind: ui.FieldDate, Required: true, Error: "must not lie before the first day"}},
			What: []ui.Field{{Name: "note", Label: "Note", Kind: ui.FieldArea, Rows: 2}}, Will: []string{"From the start of the first day, requests that wait for the absent person wait for the delegate instead."},
			Button: ui.Button{Label: "Plan the absence", Variant: ui.ButtonPrimary}}}
}

func TestPeopleAndAbsencesPostWhatTheirHandlersRead(t *testing.T) {
	t.Parallel()
	sameNames(t, testID(render(t, views.People(samplePeople())), "person-form"), "csrf_token", "email", "name", "role", "role")
	sameNames(t, testID(render(t, views.PersonDetails(samplePerson())), "roles-form"), "csrf_token", "was", "role", "role")
	sameNames(t, testID(render(t, views.Leaving(sampleLeaving())), "confirm-form"), "csrf_token", "reason")
	doc := render(t, views.Delegations(sampleDelegations()))
	sameNames(t, testID(doc, "delegation-form"), "csrf_token", "delegate", "first_day", "last_day", "note")
	sameNames(t, testID(doc, "end-delegation"), "csrf_token")
	mustSay(t, testID(doc, "delegation").First(), "Away now", "Ines Hoffmann is away; you decide", "(Europe/Lisbon)", "3 requests wait with you", "<b>until</b>")
}
