package views_test

import (
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleKeys() views.KeySheet {
	return views.KeySheet{Groups: []views.KeyGroup{
		{Heading: "In a list", Keys: []views.Shortcut{
			{Show: [][]string{{"j"}, {"↓"}}, Words: "the next row", Keys: "j ArrowDown", Act: "row", To: "1"},
			{Show: [][]string{{"o"}, {"Enter"}}, Words: "open the row", Keys: "o Enter", Act: "open"},
		}},
		{Heading: "On a case", Keys: []views.Shortcut{
			{Show: [][]string{{"1"}, {"… 9"}}, Words: "choose the exit with this number", Keys: "1 2 3 4 5 6 7 8 9", Act: "pick"},
			{Show: [][]string{{"r"}}, Words: "go to the reason", Keys: "r", Act: "focus", To: "[data-testid=decision-form] [name=reason]"},
			{Show: [][]string{{"Ctrl", "Enter"}}, Words: "decide, or send the form you write in", Keys: "Ctrl+Enter", Act: "send", To: "[data-testid=decision-form]"},
		}},
		{Heading: "Everywhere", Keys: []views.Shortcut{
			{Show: [][]string{{"?"}}, Words: "show this sheet", Keys: "?", Act: "help"},
			{Show: [][]string{{"g", "h"}}, Words: "go to your desk", Keys: "g,h", Act: "go", To: "/"},
		}},
	}}
}

func sampleAfter() []ui.Option {
	return []ui.Option{{Value: "stay", Label: "stay here"}, {Value: "list", Label: "go to the list"}, {Value: "next", Label: "open the next one", Selected: true}}
}

// workedCase is a case that a colleague has open too, with text typed before.
func workedCase() views.CasePage {
	p := sampleCase()
	sheet := sampleKeys()
	p.Page.Keys, p.Page.KeysURL, p.Page.MeURL = &sheet, "/shortcuts", "/settings/me"
	p.Page.Here = &views.Here{Subject: p.ID, List: "Procurement", ListURL: "/queues/procurement", PrevURL: "/cases/case_before", NextURL: "/cases/case_after",
		Present: []views.Presence{{Name: "Paul Ahrens", Words: "is writing", Editing: true}, {Name: "Lars Lindner", Words: "is looking at this"}}}
	p.Decision.From, p.Decision.After = "/queues/procurement", sampleAfter()
	p.Decision.Draft = &views.Draft{Key: p.ID + "/decision", At: "at 14:02", UseURL: "/cases/" + "case_01k6v8a?draft=decision",
		Typed: []ui.Entry{ui.Pair("reason", "The follow-on order has what is left.")}}
	return p
}

func sampleShortcuts() views.ShortcutsPage {
	return views.ShortcutsPage{Page: sampleCase().Page, Lead: "What keys do on which page.", Off: true, MeURL: "/settings/me", Sheet: sampleKeys()}
}

func samplePreferences() views.PreferencesPage {
	return views.PreferencesPage{Page: sampleCase().Page, Lead: "This is about you alone, in every workspace.", Form: views.Form{URL: "/settings/me", CSRF: "csrf-sample"},
		Fields: []ui.Field{
			{Name: "after_decision", Label: "After a decision", Kind: ui.FieldRadios, Required: true, Options: sampleAfter(), Hint: "Beside every button that decides you can choose otherwise, and that is remembered too."},
			{Name: "shortcuts", Label: "Single keys do something", Kind: ui.FieldCheckbox, Value: "yes", Checked: true},
		},
		Facts: []ui.Entry{ui.Pair("Your time zone", "Europe/Berlin, where it is 14:05 now")}, KeysURL: "/shortcuts"}
}

func sampleNothingLeft() views.NothingLeftPage {
	return views.NothingLeftPage{Page: sampleCase().Page, Heading: "Nothing left in Procurement", Text: "What is still in this list is with somebody else, or the list is empty.",
		ListURL: "/queues/procurement", Others: []views.Waiting{{Text: "Accounts payable", Count: "12", URL: "/queues/ap"}, {Text: "Approvals", Count: "3", URL: "/approvals"}}}
}
