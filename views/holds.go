package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// HoldRow is a hold in a list.
type HoldRow struct {
	ID            string
	URL           templ.SafeURL
	Status        ui.Badge
	CodeWords     string
	Code          ui.Foreign
	InvoiceNumber ui.Foreign
	Supplier      ui.Foreign
	PO            ui.Foreign // with the line: "4500018822, line 10"
	Amount        string
	Currency      string
	Waiting       ui.Moment // since when
	NextCheck     ui.Moment
	Left          string // "3 of 5"
	Last          string // "still missing, 6 h ago"
	Agent         ui.Foreign
}

// HoldsPage is the list of holds.
type HoldsPage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab
	Caption string
	Rows    []HoldRow
	Empty   ui.Empty
	Pager   ui.Pager
}

// HoldPage is one hold with every check made.
type HoldPage struct {
	Page      Page
	ID        string
	BackURL   templ.SafeURL
	Heading   string // "Goods receipt missing"
	Code      ui.Foreign
	Status    ui.Badge // test id "hold-status"
	NextCheck ui.Moment
	Left      string
	Waiting   ui.Moment
	Agent     ui.Foreign
	PO        ui.Foreign
	Invoice   Invoice
	Errors    []SeenError
	Checks    []HoldCheck
	Case      *RelatedLink
	Notices   []ui.Notice
	Timeline  []ui.TimelineEntry
}

// HoldCheck is one re-check, made or missed.
type HoldCheck struct {
	Number string
	Due    ui.Moment
	At     ui.Moment // zero when it was missed or is still to come
	Result ui.Badge
	By     ui.Foreign
}
