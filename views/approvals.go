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
	InvoiceURL    templ.SafeURL // "" leads nowhere
	Supplier      ui.Foreign
	AskedBy       ui.Foreign
	Asked         ui.Moment
	Expires       ui.Moment // zero once decided
	Votes         string    // "1 of 2"
	Result        string    // what came of it: "posted as 5100001234"
	OnBehalf      string    // in whose place the reader decides: "Ines Hoffmann"
	Pick          bool      // it can be ticked, to be approved with others
	Picked        bool
	Present       []Presence // who else has it open
}

// ApprovalsPage is the list of approval requests.
type ApprovalsPage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab // waiting for me, others, decided
	Notices []ui.Notice
	Filter  *FilterForm
	Totals  *Totals
	Pick    *PickForm // nil where nothing can be ticked
	Caption string
	Rows    []ApprovalRow
	Empty   ui.Empty
	Pager   ui.Pager
}

// FilterForm narrows a list; it is sent with GET.
type FilterForm struct {
	URL      templ.SafeURL
	Hidden   []ui.Hidden
	Fields   []ui.Field
	Active   string // what the list is narrowed to, in words; "" when it is whole
	ClearURL templ.SafeURL
}

// Totals say how much of each currency is listed.
type Totals struct {
	Of      string // "What waits for you"
	Items   []Total
	Note    string // what is not in it
	MoreURL templ.SafeURL
	More    string
}

// Total is a sum in one currency.
type Total struct {
	Of               string // "credits", empty for what is posted
	Amount, Currency string
	Count            string // "3 requests"
}

// PickForm posts the requests ticked in the list, each as request.
type PickForm struct {
	URL     templ.SafeURL
	CSRF    string
	From    string // address of this list
	AllURL  templ.SafeURL
	NoneURL templ.SafeURL
	All     bool // all on the page are ticked
}

// picking says whether rows can be ticked.
func picking(rows []ApprovalRow) bool { return len(rows) > 0 && rows[0].Pick }

// BulkPage is the preview of approving several requests.
type BulkPage struct {
	Page    Page
	BackURL templ.SafeURL
	Lead    string
	Totals  *Totals
	Items   []BulkItem
	Form    *BulkForm // nil when none can be approved
	Problem string    // why nothing can be previewed
}

// BulkForm posts the requests that can be approved, each as item with its version, and reason.
type BulkForm struct {
	Form
	StepUp      *StepUp
	Reason      ui.Field
	Approve     string // "Approve 5 requests"
	PreviewURL  templ.SafeURL
	LeaveMarked string // "Leave out the 2 to look at"; "" when there are none, or nothing else
}

// BulkItem is one request of the preview.
type BulkItem struct {
	Missing          bool // nothing is known of it
	ID               string
	URL              templ.SafeURL
	Key              string // what the form posts for it; "" when it cannot be approved here
	Summary          ui.Foreign
	Sentence         ui.Foreign
	Amount, Currency string
	Supplier         ui.Foreign
	Invoice          ui.Foreign
	OnBehalf         string
	Expires          ui.Moment
	After            string // "1 more person has to say yes after you"
	Why              ui.Foreign
	OwnPage          bool
	Look             []ui.Foreign
	Mark             bool // it is one to look at
}

// BulkResultPage says what came of approving several requests.
type BulkResultPage struct {
	Page    Page
	BackURL templ.SafeURL
	Lead    string
	Totals  *Totals
	Items   []BulkAnswer
}

// BulkAnswer is what came of one request.
type BulkAnswer struct {
	Missing          bool // nothing is known of it
	ID               string
	URL              templ.SafeURL
	Result           ui.Badge
	Summary          ui.Foreign
	Amount, Currency string
	Supplier         ui.Foreign
	Invoice          ui.Foreign
	Why              ui.Foreign
}

// ApprovalPage is one request: the exact call, who may decide, and what became
// of it.
type ApprovalPage struct {
	Page     Page
	ID       string
	BackURL  templ.SafeURL
	ProofURL templ.SafeURL
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
	Deadline    *Deadline // nil once it is decided
	Supplier    ui.Foreign
	Number      ui.Foreign
	Match       *Match
	Before      *EarlierRequest
	Duplicates  *Duplicates // nil without any
	Needed      string      // what is still missing, in words
	MyLimit     string
	Steps       []Step // of a rule that asks one person after the other
	Questions   []AskedQuestion
	Ask         *AskForm
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
	// OnBehalf is the person whose place it is, "" when it is their own; Limit and Until belong to the place.
	OnBehalf string
	Limit    string
	Until    string // "until 12 Oct 2026"
}

// Step is one of two that follow one another.
type Step struct {
	Title  string // "First: finance lead"
	State  ui.Badge
	People []Eligible
}

// Deadline says how long a request can be decided.
type Deadline struct {
	Text   string // "4 days are left"
	Moment string // "Monday 12 October 2026 at 11:00, Europe/Berlin"
	Soon   bool   // less than a business day is left
}

// Match is order, receipt and invoice beside each other.
type Match struct {
	Currency string
	Lines    []MatchLine
	Expected string
	Invoiced string
	Differs  string
	Percent  string
	Over     bool
	Verdict  []ui.Foreign
}

// MatchLine is one line of a Match; what was not sent is "".
type MatchLine struct {
	Line, Text                  ui.Foreign
	Ordered, Received, Invoiced ui.Foreign
	OrderPrice, InvoicePrice    ui.Foreign
	Expected, Amount            string
	Differs, Percent            string
	Over                        bool
	Marks                       []ui.Foreign
}

// EarlierRequest is the request before for the same tool and invoice.
type EarlierRequest struct {
	URL      templ.SafeURL
	Asked    ui.Moment
	Came     string // "Fiona rejected it 2 days ago"
	Reason   ui.Foreign
	SentBack []ui.Entry // the correction it was sent back with
	Same     string     // set when the call is the very same
	Changes  []ChangedValue
	Evidence string // "1 piece of evidence then, 2 now"
}

// ChangedValue is one value that differs; Name is in the call's own words for an argument.
type ChangedValue struct {
	Name      string
	Argument  ui.Foreign
	Then, Now ui.Foreign
	WasThere  bool
	IsThere   bool
}

// AskedQuestion is what a person asked the agent about a request.
type AskedQuestion struct {
	By         string
	At         ui.Moment
	Text       ui.Foreign
	Answer     ui.Foreign
	AnsweredBy ui.Foreign
	AnsweredAt ui.Moment
	URL        templ.SafeURL
}

// AskForm posts question and version.
type AskForm struct {
	Form
	Question ui.Field
	Open     bool // it holds what was typed before
}

// Vote is one person's decision.
type Vote struct {
	Who     string // "Jonas Weber on behalf of Ines Hoffmann"
	Limit   string // the limit it was given under
	Role    string
	Badge   ui.Badge
	At      ui.Moment
	Channel string
	Reason  ui.Foreign
	Lost    string // why it counts no longer, empty when it does
}

// VoteForm posts decision (approve or reject), reason, version and, if a
// second step is asked for, second_step.
type VoteForm struct {
	Form
	Reason ui.Field
	// SecondStep is asked for when the same call ran before.
	SecondStep *ui.Field
	// StepUp asks again that it is the reader, where the amount wants it.
	StepUp       *StepUp
	ApproveLabel string // "Approve 1,234.50 EUR"
	OnBehalf     string // whose place the reader decides in, empty for their own
	After        string // "The agent then has 24 h to make exactly this call, once."
}

// SendBackForm rejects the call and tells the agent what to change. It posts
// decision=reject, input.<name>, reason and version.
type SendBackForm struct {
	Form
	Fields []ui.Field
	Reason ui.Field
	Open   bool   // it holds what was typed before
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
