package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// Assets are the content-hashed addresses of the style sheets, the script and
// the icon. Every page has the sheet CSS; of the others it takes those of its kind.
type Assets struct {
	CSS, Lists, Records, Settings, JS, Icon string
}

// kind says what a page shows, and so which style it needs.
type kind int

const (
	anyKind kind = iota // all style there is
	aList
	aRecord // one case, approval, confirmation, hold or invoice
)

func (p Page) of(k kind) Page {
	p.kind = k
	return p
}

// sheets are the style sheets beside the common one.
func (p Page) sheets() []string {
	switch p.kind {
	case aList:
		return []string{p.Assets.Lists}
	case aRecord:
		return []string{p.Assets.Records}
	}
	return []string{p.Assets.Lists, p.Assets.Records, p.Assets.Settings}
}

// Page is what stands around the content of every page.
type Page struct {
	// Title is the document title without the product's name; it carries the
	// counts a person looks for in a row of tabs: "Procurement (4)".
	Title  string
	Assets Assets
	// Theme is "" (as the system), "light" or "dark".
	Theme string
	// CSRF is the token every form of the page posts.
	CSRF string
	// LiveURL is the event stream that says when this page may have changed;
	// "" when nothing on it changes by itself.
	LiveURL string
	// SelfURL is the address that shows this page when asked for with GET, also
	// while the browser is still at the address of a refused form.
	SelfURL templ.SafeURL
	// Now is the server's time (RFC 3339), by which the script keeps relative
	// times true on a machine with a wrong clock.
	Now string
	// Person is who is signed in; nil before sign-in.
	Person     *Person
	Workspaces []Workspace
	SwitchURL  templ.SafeURL
	Nav        []NavGroup
	// Search is the box in the top bar; nil for who may not search, and on the page that has its own.
	Search *SearchBox
	// Bell leads to what the person was told; nil before sign-in.
	Bell    *Bell
	Flashes []ui.Flash
	// Keys are the shortcuts of this page; nil while the person has them off.
	Keys *KeySheet
	// KeysURL leads to the page about shortcuts, MeURL to the person's own settings; "" before sign-in.
	KeysURL, MeURL templ.SafeURL
	// Here is the record the page is about; nil on other pages.
	Here *Here

	kind kind
}

// Bell says how much a person was told and has not read.
type Bell struct {
	URL    templ.SafeURL
	Unread string // "" when nothing is unread
	Words  string // for those who do not see it: "3 notices you have not read"
}

// Person is the signed-in person.
type Person struct {
	Name       string
	Roles      string // in words: "AP clerk, AP lead"
	SignOutURL templ.SafeURL
}

// Workspace is one of the company codes the person reaches.
type Workspace struct {
	ID, Name string
	Current  bool
}

// NavGroup is a titled part of the navigation; Heading may be empty.
type NavGroup struct {
	Heading string
	Items   []NavItem
}

// NavItem is one way to go. Count is "" when there is nothing to count.
type NavItem struct {
	Label   string
	URL     templ.SafeURL
	Count   string
	CountIs string // what is counted, for screen readers: "open"
	Current bool
	TestID  string
}

// several says whether there is another workspace to go to.
func (p Page) several() bool { return len(p.Workspaces) > 1 }

func (p Page) workspace() Workspace {
	for _, w := range p.Workspaces {
		if w.Current {
			return w
		}
	}
	return Workspace{}
}
