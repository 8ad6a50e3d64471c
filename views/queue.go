package views

import (
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
	Age           ui.Moment
	Agent         ui.Foreign
	Queue         string // in words; shown only in lists of several queues
}

// QueuePage is one queue's list.
type QueuePage struct {
	Page    Page
	Heading string // "Procurement"
	Lead    string // "Worked by procurement. 4 open, 1 of them overdue."
	Code    string
	States  []ui.Tab // open, held, resolved
	Rows    []CaseRow
	Empty   ui.Empty
	Pager   ui.Pager
}
