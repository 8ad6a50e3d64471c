package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// PeoplePage is who works in the workspace.
type PeoplePage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab
	WhyNot  string // why nothing can be changed here, or ""
	Notices []ui.Notice
	Rows    []PersonRow // active
	Gone    []PersonRow // deactivated
	Add     *PersonForm
	Invited []InvitationRow
	Made    *MadeSecret // the link of an invitation, this once
}

// PersonRow is one person or service account in the list.
type PersonRow struct {
	ID       string
	URL      templ.SafeURL
	Name     string
	Email    string
	Service  bool
	You      bool
	Roles    string
	State    ui.Badge
	Away     string // "until Fri 4 Dec 2026; Jonas Weber decides"
	Zone     string
	Owner    string // of a service account
	NoOwner  string // what is wrong with the owner, or ""
	Last     ui.Moment
	LastWhat string // "signed in", "used", or "never"
}

// PersonForm adds somebody.
type PersonForm struct {
	Form
	Fields []ui.Field
	Roles  ui.Field // checks named role
	After  string   // what happens then
}

// PersonPage is one person or service account.
type PersonPage struct {
	Page        Page
	BackURL     templ.SafeURL
	Name        string
	State       ui.Badge
	Facts       []ui.Entry
	Notices     []ui.Notice
	WhyNot      string // why the reader can change nothing here
	Roles       *RolesForm
	Deactivate  *ui.Link // to the page that says what will happen
	Reactivate  *ReactivateForm
	ShowLimits  bool
	Limits      []LimitRow
	Delegations []DelegationCard
	Acts        []ui.TimelineEntry
	ActsFrom    string // how far back was looked
}

// RolesForm sets the roles. It posts role, and was: the roles the reader saw.
type RolesForm struct {
	Form
	Was   string
	Roles ui.Field
	After string
}

// ReactivateForm lets somebody work again.
type ReactivateForm struct {
	Form
	After string
}

// LimitRow is how much somebody may approve of one kind of write.
type LimitRow struct {
	What             string // "any write", "tool post_invoice_adjustment, document type KR"
	Amount, Currency string
	By               string // "as finance lead, together with another person"
	URL              templ.SafeURL
}

// LeavingPage asks once more before somebody loses the workspace or roles, and says what will happen.
type LeavingPage struct {
	Page      Page
	Heading   string
	Lead      string
	Will      []string // one sentence each
	Form      Form
	Hidden    []ui.Hidden
	Fields    []ui.Field
	Button    ui.Button
	CancelURL templ.SafeURL
}
