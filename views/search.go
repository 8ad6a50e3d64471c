package views

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// SearchBox looks for records from any page.
type SearchBox struct {
	URL         templ.SafeURL
	Text        ui.Foreign // what was typed before
	WorkspaceID string     // to search in, when it is not the one the session shows
}

// Piece is a piece of text that was found, or not.
type Piece struct {
	Text  ui.Foreign
	Found bool
}

// SearchRow is a record that was found.
type SearchRow struct {
	Kind     string // in words: "Case"
	KindCode string
	URL      templ.SafeURL // "" leads nowhere
	Title    []Piece
	Status   ui.Badge // without text: the record has no state
	Queue    string   // in words
	Number   []Piece  // of the invoice
	Supplier []Piece
	Amount   string
	Currency string
	AmountIs bool // the amount was asked for
	At       ui.Moment
	Snippet  []Piece // where in its text it was found
	Own      bool    // its own id or number was asked for
}

// SearchExample is something that can be typed.
type SearchExample struct {
	Text  string
	URL   templ.SafeURL
	Words string // what it finds
}

// SearchPage is the search and what it found.
type SearchPage struct {
	Page     Page
	Box      SearchBox
	Heading  string
	Lead     string
	Notes    []string // "Only the first 12 words were looked for."
	Kinds    []ui.Tab // empty before anything was looked for
	States   []ui.Tab // of the kind; may be empty
	Rows     []SearchRow
	Empty    *ui.Empty // when nothing was found
	Looked   []string  // in which forms it was looked for, when nothing was found
	Examples []SearchExample
	Pager    ui.Pager
}

// pieces prints text with what was found in it marked. It is written by hand so that no blank is added
// between the pieces.
func pieces(all []Piece) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, p := range all {
			before, after := "", ""
			if p.Found {
				before, after = `<mark class="found">`, `</mark>`
			}
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if err := ui.Text(p.Text).Render(ctx, w); err != nil {
				return err
			}
			if _, err := io.WriteString(w, after); err != nil {
				return err
			}
		}
		return nil
	})
}
