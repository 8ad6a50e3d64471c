package views_test

import (
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleHours() views.HoursPage {
	page := views.HoursPage{Page: samplePage("Hours", "/settings/hours"), Lead: "How long a case may wait, in business hours. Changes count for cases that arrive from then on.",
		Tabs:  []ui.Tab{{Label: "Workspace", URL: "/settings"}, {Label: "Hours", URL: "/settings/hours", Current: true}},
		Facts: []ui.Entry{ui.Pair("Open", "Monday to Friday, 09:00 to 17:00, less the holidays"), ui.Pair("Time zone", "Europe/Berlin")}, HolidaysURL: "/settings",
		Form:    &views.Form{URL: "/settings/hours", CSRF: "csrf-sample", Heading: "The hours were not saved", Errors: []ui.FieldError{{FieldID: "f-closes_at", Text: "Closes at: must be at least an hour after opening"}}},
		Opens:   ui.Field{Name: "opens_at", Label: "Opens at", Required: true, Value: "09:00", Hint: "Such as 09:00, on the clock of Europe/Berlin."},
		Closes:  ui.Field{Name: "closes_at", Label: "Closes at", Required: true, Value: "09:30", Error: "must be at least an hour after opening"},
		Preview: true}
	for code, name := range map[string]string{"ap": "Accounts payable"} {
		page.Queues = append(page.Queues, views.QueueHours{Name: name, InWords: "8 business hours, due soon 2 before, overdue ones escalated",
			Hours:    ui.Field{Name: "hours." + code, Label: "Due after, in business hours", Kind: ui.FieldWhole, Required: true, Value: "8"},
			Soon:     ui.Field{Name: "due_soon." + code, Label: "Due soon, hours before", Kind: ui.FieldWhole, Required: true, Value: "2"},
			Escalate: ui.Field{Name: "escalate." + code, Label: "Escalate what is overdue", Kind: ui.FieldCheckbox, Value: "yes", Checked: true},
			Due:      ui.Moment{ISO: "2026-10-06T09:30:00Z", Text: "due in 8 business hours"}, DueFull: "Tue 6 Oct 2026, 23:30 (Pacific/Kiritimati), Tue 6 Oct 2026, 11:30 (Europe/Berlin)"})
	}
	return page
}

// sampleMoving is a case that somebody snoozed, with both forms that take it out of its list.
func sampleMoving() views.CasePage {
	page := sampleCase()
	page.Snooze = &views.Snooze{Text: "Snoozed by you until Tue 6 Oct, 09:00. It is out of the list until then.", Reason: hostilePrompt, Summary: "Snooze until another time",
		Wake: &ui.PostForm{URL: "/cases/x/unsnooze", CSRF: "csrf-sample", Button: ui.Button{Label: "Bring it back now", Variant: ui.ButtonPlain, TestID: "unsnooze"}},
		Form: &views.Form{URL: "/cases/x/snooze", CSRF: "csrf-sample", Version: "3", Heading: "The case was not snoozed", Errors: []ui.FieldError{{FieldID: "f-until", Text: "Until: choose until when"}}},
		Until: ui.Field{Name: "until", Label: "Until", Kind: ui.FieldRadios, Required: true, Error: "choose until when", Options: []ui.Option{{Value: "a", Label: "Later today, Mon 5 Oct, 13:30"},
			{Value: "b", Label: "Tomorrow, Tue 6 Oct, 09:00"}, {Value: "own", Label: "Another time"}}},
		UntilAt: ui.Field{Name: "until_at", Label: "Another time", Kind: ui.FieldDateTime, Hint: "On the clock of Europe/Berlin; within 90 days."},
		Why:     ui.Field{ID: "f-snooze-reason", Name: "reason", Label: "Reason", Kind: ui.FieldArea, Rows: 2}}
	page.Reroute = &views.Reroute{Form: views.Form{URL: "/cases/x/reroute", CSRF: "csrf-sample", Version: "3", Heading: "The case was not moved", Errors: []ui.FieldError{{FieldID: "f-reroute-reason", Text: "Reason: must say why"}}},
		To:     ui.Field{Name: "to", Label: "Queue", Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Label: "Choose a queue"}, {Value: "ap", Label: "Accounts payable"}}},
		Reason: ui.Field{ID: "f-reroute-reason", Name: "reason", Label: "Reason", Kind: ui.FieldArea, Rows: 2, Required: true, Error: "must say why"}}
	return page
}
