package views

import (
	"github.com/apdesk/apdesk/views/ui"
)

// InvoicePage is all the desk knows about one invoice: where it stands, and one line of time.
type InvoicePage struct {
	Page       Page
	ID         ui.Foreign
	Number     ui.Foreign
	Normalised string // the number as the desk compares it
	Supplier   ui.Foreign
	// States say in words where the invoice stands, what still waits first.
	States []InvoiceState
	// Invoice is as it was described last; SentBy and SentAt say by whom and when.
	Invoice  Invoice
	SentBy   ui.Foreign
	SentAt   ui.Moment
	Filters  []ui.Tab
	Caption  string // of the line of time: "everything", "money only"
	Timeline []ui.TimelineEntry
	Empty    ui.Empty
	Pager    ui.Pager
}

// InvoiceState is where one record about the invoice stands.
type InvoiceState struct {
	Badge  ui.Badge
	Text   ui.Foreign // "Approved by Ines Roth on 5 Oct 2026 at 11:30, posted as 5100001234 on …"
	Amount string     // of a write; "" for other records
	Code   string     // its currency
	Link   RelatedLink
	More   *RelatedLink // the proof of an approval
}
