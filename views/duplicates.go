package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// Duplicates are invoices the desk has seen that one invoice may be again.
type Duplicates struct {
	Lead  string // "2 invoices the desk has seen may be this one again."
	Items []Duplicate
	More  string // says that there are more; "" when there are not
}

// Duplicate is one of them, beside the invoice looked at.
type Duplicate struct {
	ID     ui.Foreign
	URL    templ.SafeURL // all the desk knows about it; "" leads nowhere
	Number ui.Foreign
	Amount string // "1,234.50 EUR"
	Date   string
	Why    string // "same number, same amount and near date"
	Hint   string // "The dates lie 364 days apart: …"; "" for none
	// Verdict says what a person decided about the two, with its case.
	Verdict     string
	VerdictTone ui.Tone
	VerdictURL  templ.SafeURL
	Open        bool // shown unfolded
	// BesideURL leads to the page with this one shown field by field; "" where it is so shown. Chosen is the one
	// such a link led to.
	BesideURL   templ.SafeURL
	Chosen      bool
	ThisTitle   ui.Foreign
	ThatTitle   ui.Foreign
	Rows        []ui.CompareRow
	DiffersText string // "2 of 7 fields differ"
	Cases       []RelatedState
	Approvals   []RelatedState
}

// RelatedState is a record that belongs to another one, and where it stands.
type RelatedState struct {
	Text  string // "PO is closed"
	State string // "resolved: reopen the PO"
	URL   templ.SafeURL
}
