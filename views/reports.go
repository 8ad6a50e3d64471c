package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// ReportsPage are the figures of a period.
type ReportsPage struct {
	Page   Page
	Lead   string
	Tabs   []ui.Tab // periods people ask for often
	Form   FilterForm
	Errors []ui.FieldError // of the period
	Tables []FigureTable   // none when the period is refused
	Cut    string          // why the figures are not whole
	CSV    templ.SafeURL
}

// FigureTable is a table of figures; its first column names the rows.
type FigureTable struct {
	ID      string
	Heading string
	Note    string // what is counted how
	Columns []FigureColumn
	Rows    []FigureRow
	Empty   string // instead of rows
}

// FigureColumn is the head of a column.
type FigureColumn struct {
	Name string
	Text bool // its cells are words, not numbers
}

// FigureRow is a row; it has a cell for every column but the first.
type FigureRow struct {
	Name  ui.Foreign
	Code  string // the name as it stands in the contract, "" when that is no code
	URL   templ.SafeURL
	Cells []string
}
