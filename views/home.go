package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// HomePage is a person's own desk: what waits for this person, then where the
// rest of the work stands.
type HomePage struct {
	Page      Page
	Lead      string
	Notices   []ui.Notice // reports that did not come, approvals about to expire
	Mine      []CaseRow
	MineEmpty ui.Empty
	Overdue   []CaseRow // in the person's queues, whoever holds it
	Soon      []CaseRow
	Next      []CaseRow // free in the person's queues, the first due first
	// ShowApprovals and ShowHolds are false for people whom neither concerns.
	ShowApprovals  bool
	Approvals      []ApprovalRow
	ApprovalsURL   templ.SafeURL
	ApprovalsEmpty ui.Empty
	// ShowConfirmations is false for people who answer none.
	ShowConfirmations  bool
	Confirmations      []ConfirmationRow
	ConfirmationsURL   templ.SafeURL
	ConfirmationsEmpty ui.Empty
	ShowHolds          bool
	Holds              []HoldRow // overdue only
	HoldsURL           templ.SafeURL
	HoldsEmpty         ui.Empty
	Queues             []QueueCount
}

// QueueCount is one queue at a glance.
type QueueCount struct {
	Code    string
	Name    string
	URL     templ.SafeURL
	Open    string
	Overdue string // "" when none
	Soon    string
	Snoozed string
	Held    string
	Oldest  ui.Moment
	Mine    bool // the person's roles work it

	OverdueURL, SoonURL templ.SafeURL
}
