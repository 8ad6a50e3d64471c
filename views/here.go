package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// Here is the record a page is about: who else has it open, what stands beside it in the list the
// person came from, and how long their claim lasts.
type Here struct {
	Subject  string // id of the record; "" when nobody is shown as present
	Present  []Presence
	List     string // "Procurement"
	ListURL  templ.SafeURL
	PrevURL  templ.SafeURL // "" at the ends
	NextURL  templ.SafeURL
	ClaimEnd string // RFC 3339; "" while the person holds no claim
}

// Presence is somebody else who has a record open.
type Presence struct {
	Name    string
	Words   string // "is writing", "is looking at this"
	Editing bool
}

// signature is what the page compares to know whether others came or left.
func (h Here) signature() string { return PresenceSignature(h.Present) }

// PresenceSignature is who is there and what they do, as text to be compared.
func PresenceSignature(all []Presence) string {
	text := ""
	for _, p := range all {
		text += p.Name + " " + p.Words + ";"
	}
	return text
}

// Draft is what a person has typed into a form and not sent.
type Draft struct {
	Key string // names record and form: "case_01k6/decision"
	// At is when it was saved, "" when there is none: "today at 14:02".
	At string
	// Filled says that it stands in the form already; else the record has changed since, and UseURL
	// fills it in.
	Filled bool
	UseURL templ.SafeURL
	Typed  []ui.Entry
	Based  string // the state of what is kept, from which the form goes on
	Others []Kept // what other windows have kept of the same form
}

// Kept is text of a form that waits to be used or discarded.
type Kept struct {
	Key    string
	At     string
	Typed  []ui.Entry
	UseURL templ.SafeURL
}

// KeySheet are shortcuts as the sheet shows them and as the script reads them.
type KeySheet struct {
	Groups []KeyGroup
}

// KeyGroup is a titled part of the sheet.
type KeyGroup struct {
	Heading string
	Keys    []Shortcut
}

// Shortcut is one act without the mouse.
type Shortcut struct {
	Show  [][]string // what to press, each a way of its own: {{"g", "h"}}, {{"j"}, {"↓"}}
	Words string
	// Keys are the same for the script, ways apart by blanks and keys of a sequence by commas; Act is what
	// it does, To what with.
	Keys, Act, To string
}

// ShortcutsPage is the sheet as a page.
type ShortcutsPage struct {
	Page  Page
	Lead  string
	Off   bool
	MeURL templ.SafeURL
	Sheet KeySheet
}

// NothingLeftPage says that a list is done and what else waits.
type NothingLeftPage struct {
	Page    Page
	Heading string // "Nothing left in Procurement"
	Text    string
	ListURL templ.SafeURL
	Others  []Waiting
}

// Waiting is something else to go on with.
type Waiting struct {
	Text  string // "Accounts payable"
	Count string
	URL   templ.SafeURL
}
