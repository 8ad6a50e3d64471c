package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// Snooze is how a case is snoozed, and the forms that change it.
type Snooze struct {
	Text    string // "Snoozed by Anna until Tue 6 Oct, 09:00."; "" when it is not
	Reason  ui.Foreign
	Wake    *ui.PostForm
	Form    *Form // nil for people who may not snooze it
	Summary string
	Until   ui.Field // the moments offered
	UntilAt ui.Field // a moment of the person's own choice
	Why     ui.Field
	Open    bool // holds what was typed
}

// Reroute is the form that moves a case to another queue.
type Reroute struct {
	Form   Form
	To     ui.Field
	Reason ui.Field
	Open   bool // holds what was typed
}

// HoursPage is when people work and how long each queue has.
type HoursPage struct {
	Page   Page
	Lead   string
	Tabs   []ui.Tab
	WhyNot string // why nothing can be changed here, or ""
	Facts  []ui.Entry
	// HolidaysURL leads to the days without business hours.
	HolidaysURL templ.SafeURL
	Queues      []QueueHours
	Form        *Form // nil for people who may not change the hours
	Was         string
	Opens       ui.Field
	Closes      ui.Field
	// Preview says that the figures are those typed, and not saved.
	Preview bool
}

// QueueHours are the hours of one queue.
type QueueHours struct {
	Name                  string
	Hours, Soon, Escalate ui.Field
	// InWords are the figures for people who may not change them.
	InWords string
	Due     ui.Moment // of a case that arrives now; zero while what was typed is not right
	DueFull string
}
