package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// ApprovalRow is an approval request in a list.
type ApprovalRow struct {
	ID            string
	URL           templ.SafeURL
	Status        ui.Badge
	Tool          ui.Foreign
	Summary       ui.Foreign
	Amount        string
	Currency      string
	InvoiceNumber ui.Foreign
	Supplier      ui.Foreign
	AskedBy       ui.Foreign
	Asked         ui.Moment
	Expires       ui.Moment // zero once decided
	Votes         string    // "1 of 2"
	Result        string    // what came of it: "posted as 5100001234"
}

// ApprovalsPage is the list of approval requests.
type ApprovalsPage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab // waiting for me, others, decided
	Caption string
	Rows    []ApprovalRow
	Empty   ui.Empty
	Pager   ui.Pager
}

// ApprovalPage is one request: the exact call, who may decide, and what became
// of it.
type ApprovalPage struct {
	Page     Page
	ID       string
	BackURL  templ.SafeURL
	Status   ui.Badge // test id "approval-status"
	Expires  ui.Moment
	Asked    ui.Moment
	AskedBy  ui.Foreign
	OnBehalf string // "Mia Brandt answers for this account"
	// CallHeading says where the call stands: "Exactly this will be written",
	// "Exactly this was written", "This was refused and not written".
	CallHeading string
	Sentence    ui.Foreign
	Amount      string
	Currency    string
	InWords     string // the amount as on a cheque; may be empty
	Facts       []ui.Entry
	Call        Call
	Digest      string
	Binding     []BoundValue
	Invoice     Invoice
	Summary     ui.Foreign
	Explained   ui.Foreign
	Run         ui.Foreign
	Evidence    []Evidence
	Rule        Rule
	Eligible    []Eligible
	Votes       []Vote
	VotesText   string // "1 of 2 needed votes"
	WhyNot      string // "You asked for this yourself, so you cannot decide it."
	Form        *VoteForm
	SendBack    *SendBackForm // nil when the call cannot be corrected
	Grant       *Grant
	// RedeemedBefore is set when the same call was already carried out.
	RedeemedBefore *ui.Notice
	Case           *RelatedLink
	Search         *ApproverSearch // of a request that nobody can decide
	Notices        []ui.Notice
	Conflict       *Conflict
	Changes        *Changes
	Timeline       []ui.TimelineEntry
}

// BoundValue is a value of the request that was compared with the call.
type BoundValue struct {
	Name    string     // "Amount"
	Value   ui.Foreign // as it stands
	Pointer ui.Foreign // where in the arguments; "" when it is the request's own
}

// Rule is the request's own copy of the rule that routed it.
type Rule struct {
	None    string // set when no rule covers the request: why not
	Name    string // "Rule 7, version 3"
	Text    string // "finance lead · EUR 0 to 10,000 · any tool"
	Need    string // "one yes of a finance lead"
	Valid   string // "an approval is good for 24 h"
	Written string // "written by Jonas Weber, 12 Sep 2026"
}

// Eligible is one person who may, or may not, decide.
type Eligible struct {
	Name string
	Role string
	May  bool
	Why  string // why not, in words
	You  bool
}

// Vote is one person's decision.
type Vote struct {
	Who     string
	Role    string
	Badge   ui.Badge
	At      ui.Moment
	Channel string
	Reason  ui.Foreign
}

// VoteForm posts decision (approve or reject), reason, version and, if a
// second step is asked for, second_step.
type VoteForm struct {
	Form
	Reason ui.Field
	// SecondStep is asked for when the same call ran before.
	SecondStep   *ui.Field
	ApproveLabel string // "Approve 1,234.50 EUR"
	After        string // "The agent then has 24 h to make exactly this call, once."
}

// SendBackForm rejects the call and tells the agent what to change. It posts
// decision=reject, input.<name>, reason and version.
type SendBackForm struct {
	Form
	Fields []ui.Field
	Reason ui.Field
	What   string // "You cannot approve the corrected call yourself."
}

// Grant is the approval that came of the request.
type Grant struct {
	MaskedID string
	Status   ui.Badge
	Expires  ui.Moment
	Redeemed *Redeemed
	Report   *Report
	Missing  string // "No report has come for 20 min."
}

// Redeemed says who used the approval.
type Redeemed struct {
	At ui.Moment
	By ui.Foreign
}

// Report is what the system that wrote said afterwards.
type Report struct {
	Status   ui.Badge
	Document ui.Foreign
	Message  ui.Foreign
	At       ui.Moment
}
