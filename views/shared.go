package views

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// Invoice is an invoice as it was sent, amounts grouped, dates as dates.
type Invoice struct {
	ID, Number, SupplierID, SupplierName ui.Foreign
	PO                                   ui.Foreign
	Amount, Currency                     string
	InvoiceDate, DueDate                 string
	// URL leads to all the desk knows about the invoice; "" leads nowhere.
	URL templ.SafeURL
	// TaxID and BankAccount are left empty, with Withheld set, for people who
	// may not see tax and bank data.
	TaxID, BankAccount ui.Foreign
	Withheld           bool
	Document           *ui.Link
	ERP                *ui.Link // where it stands in the ERP; nil leads nowhere
	Lines              ui.Value // a list, or nothing
	More               []ui.Entry
}

// EvidenceKind is how a piece of evidence is shown.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceRecord     EvidenceKind = "record"
	EvidenceComparison EvidenceKind = "comparison"
	EvidenceTable      EvidenceKind = "table"
	EvidenceNote       EvidenceKind = "note"
	EvidenceLink       EvidenceKind = "link"
	EvidenceFile       EvidenceKind = "file"
)

// Evidence is one thing the agent brought along.
type Evidence struct {
	Kind   EvidenceKind
	Title  ui.Foreign
	Source ui.Foreign // the tool it came from
	Data   ui.Value   // record

	LeftTitle, RightTitle ui.Foreign // comparison; "Left" and "Right" when empty
	Rows                  []ui.CompareRow
	DiffersText           string // "3 of 8 fields differ"

	Columns []ui.Foreign // table
	Table   [][]Cell

	Note ui.Foreign // note
	Link *ui.Link   // link
	File *File      // file

	AsSent ui.Foreign // the raw JSON, behind a fold
}

// Cell is one cell of a table of evidence.
type Cell struct {
	Value  ui.Value
	Number bool // aligned to the right
}

// figures says whether the column's first cell is a figure.
func (e Evidence) figures(column int) bool {
	return len(e.Table) > 0 && column < len(e.Table[0]) && e.Table[0][column].Number
}

// Call is one call of a tool: its name, what it does in words, and every
// argument under its exact name.
type Call struct {
	Tool      ui.Foreign
	InWords   ui.Foreign
	Arguments ui.Value
	AsSent    ui.Foreign
}

// SeenError is one error the agent ran into.
type SeenError struct {
	At        ui.Moment
	Tool      ui.Foreign
	CodeWords string
	Code      ui.Foreign
	Message   ui.Foreign
	Details   ui.Value
	Arguments ui.Value // what the call was made with
	NextWords string   // what the code tells the agent to do
	AsSent    ui.Foreign
}

// Conflict says who was faster, and keeps what the person had typed.
type Conflict struct {
	Text   string // "Decided by Petra Vogel 2 min ago: reopen the PO."
	Reason ui.Foreign
	Typed  []ui.Entry
}

// Changes says what is new since the page was opened. Typed is what has no place in a form any more; Again
// says what to do with the rest, "" where the person can do nothing.
type Changes struct {
	Heading string
	Items   []Change
	Typed   []ui.Entry
	Again   string
}

// Change is one thing that is new.
type Change struct {
	At   ui.Moment
	Text ui.Foreign
}

// Comment is a remark of a person.
type Comment struct {
	At   ui.Moment
	Who  string
	Text ui.Foreign
	// Parts are the text in stretches when it names people; none: it is all text.
	Parts []CommentPart
}

// Form is a form with what it refuses. Errors stand above it as a summary.
type Form struct {
	URL     templ.SafeURL
	CSRF    string
	Version string // "" when the form has none
	Heading string // of the summary: "The case was not decided"
	Errors  []ui.FieldError
	// From is the list the person came from; After are the choices where to go once it is decided, nil
	// for forms that decide nothing.
	From  string
	After []ui.Option
	// Draft is where what is typed is kept until it is sent; nil for forms of which nothing is kept.
	Draft *Draft
}

// CommentForm adds a comment; its text field is named "text".
type CommentForm struct {
	Form
	Text    ui.Field
	Mention ui.Field    // whom to tell
	People  []ui.Option // who can be told
}

func orTitle(f, absent ui.Foreign) ui.Foreign {
	if f == "" {
		return absent
	}
	return f
}

func count(n int) string { return strconv.Itoa(n) }
