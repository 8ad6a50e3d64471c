package views

import (
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// CaseRow is a case in a list.
type CaseRow struct {
	ID            string
	URL           templ.SafeURL
	Status        ui.Badge
	Due           ui.Moment
	CodeWords     string     // "PO is closed"
	Code          ui.Foreign // "PO_CLOSED"; "" when the handover had none
	InvoiceNumber ui.Foreign
	Supplier      ui.Foreign
	Amount        string
	Currency      string
	ClaimedBy     string // a name; "" when nobody
	ClaimedByMe   bool
	Present       []Presence // who else has it open
	Age           ui.Moment
	Agent         ui.Foreign
	Queue         string // in words; shown only in lists of several queues
	Pick, Picked  bool   // it can be ticked, and is
}

// wholeNumber is up to how many characters a number stands in one line.
const wholeNumber = 20

func (r CaseRow) shortNumber() bool {
	return utf8.RuneCountInString(r.InvoiceNumber.Plain()) <= wholeNumber
}

// QueuePage is a list of cases: one queue's, or all of them.
type QueuePage struct {
	Page    Page
	Heading string // "Procurement"
	Lead    string // "Worked by procurement. 4 open, 1 of them overdue."
	Code    string // the queue; "" for all of them
	States  []ui.Tab
	Filter  ListFilter
	Errors  []ui.FieldError // what the address asks for and the desk does not know
	Heads   []SortHead
	Rows    []CaseRow
	Total   string // above the rows of a narrowed list: "14 cases"; "" when it is not
	Empty   ui.Empty
	Pager   ui.Pager
	Pick    *PickCases    // nil: there is nothing to tick
	Save    *SaveViewForm // nil: the reader keeps no views
	Saved   string        // the name under which this list is kept; "" when it is not
	Sheet   templ.SafeURL // the list as a file; "" when it is refused
	Rest    string        // about the file: "the first 10,000 of them"
}

// ListFilter is the form that narrows a list, and what it is narrowed to.
type ListFilter struct {
	URL      templ.SafeURL
	Hidden   []ui.Hidden
	Fields   []ui.Field
	Chips    []Chip
	ClearURL templ.SafeURL
	Open     bool // the form is unfolded
}

// Chip is one thing a list is narrowed to; its link takes it away.
type Chip struct {
	Name   string     // "Supplier"
	Value  ui.Foreign // "V-2001"
	URL    templ.SafeURL
	TestID string
}

// SortHead is a column by which a list can be sorted.
type SortHead struct {
	Column string        // one of the columns below
	URL    templ.SafeURL // sorts by it, or turns the order round
	Sorted string        // "ascending", "descending", or "" when it is not the order of the list
	Words  string        // for who does not see the arrow: "the first due first"
}

// The columns by which cases can be sorted.
const (
	ColumnDue    = "Due"
	ColumnAmount = "Amount"
	ColumnAge    = "Age"
)

// sorted is the value of aria-sort.
func (h SortHead) sorted() string {
	if h.Sorted == "" {
		return "none"
	}
	return h.Sorted
}

func (h SortHead) arrow() string {
	switch h.Sorted {
	case "ascending":
		return "▲"
	case "descending":
		return "▼"
	}
	return ""
}

// head is the column's way to sort; nil when the table has none.
func head(heads []SortHead, column string) *SortHead {
	for i := range heads {
		if heads[i].Column == column {
			return &heads[i]
		}
	}
	return nil
}

// PickCases lets rows be ticked for an act on several.
type PickCases struct {
	URL     templ.SafeURL
	CSRF    string
	Back    string // the address of this list
	Acts    []ui.Button
	All     bool // all of the page are ticked
	AllURL  templ.SafeURL
	NoneURL templ.SafeURL
}

func pickingCases(rows []CaseRow) bool {
	for _, r := range rows {
		if r.Pick {
			return true
		}
	}
	return false
}

// SaveViewForm keeps a list under a name.
type SaveViewForm struct {
	Form
	Name ui.Field
	List string // the address of the list
	Open bool
}

// BulkCasesPage shows what an act would do to each of several cases.
type BulkCasesPage struct {
	Page    Page
	Heading string // "Claim several"
	Lead    string
	BackURL templ.SafeURL
	Problem string // why nothing is shown
	Items   []BulkCase
	Form    *BulkCasesForm // nil when it can be done to none
}

// BulkCase is one of several cases, before or after an act.
type BulkCase struct {
	ID, Key string // Key is sent with the form; "" when the act does nothing to it
	Row     CaseRow
	Found   bool
	What    string // what will happen: "goes to Finance"
	Why     ui.Foreign
	Result  ui.Badge // after the act
}

// BulkCasesForm does the act. Fields are those it needs, such as a reason.
type BulkCasesForm struct {
	Form
	Hidden []ui.Hidden
	Fields []ui.Field
	Do     string // "Claim 3 cases"
	Hint   string
}

// BulkCasesResultPage says what came of each.
type BulkCasesResultPage struct {
	Page    Page
	Heading string
	Lead    string
	BackURL templ.SafeURL
	Items   []BulkCase
}

// ViewsPage are all the lists a person keeps.
type ViewsPage struct {
	Page    Page
	Lead    string
	Heading string // of what was refused
	Errors  []ui.FieldError
	Views   []SavedView
	Empty   ui.Empty
}

// SavedView is one list a person keeps.
type SavedView struct {
	ID     string
	Name   ui.Foreign
	URL    templ.SafeURL
	Where  string // "Procurement", "All cases"
	Chips  []Chip // what it is narrowed to
	Count  string
	Rename Form
	Field  ui.Field
	Delete ui.PostForm
}
