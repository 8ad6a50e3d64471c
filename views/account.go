package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// AccountPage is where a person changes their password and sees where they are signed in.
type AccountPage struct {
	Page     Page
	Email    string // whose password it is, for password managers
	BackURL  templ.SafeURL
	Tabs     []ui.Tab
	Password Form // posts current, password and again
	Fields   []ui.Field
	After    string // what happens then
	Sessions []SessionRow
	EndAll   *ui.PostForm // nil when there is no other session
	Limits   string       // when sessions end by themselves
}

// SessionRow is one browser in which the person is signed in.
type SessionRow struct {
	Device   string // "Firefox on Windows"
	Address  string
	SignedIn ui.Moment
	Used     ui.Moment
	Current  bool
	End      *ui.PostForm // nil for the current one
}

// TokensPage lists tokens and makes new ones.
type TokensPage struct {
	Page   Page
	Lead   string
	Tabs   []ui.Tab
	Made   *MadeSecret
	Groups []TokenGroup
	Add    *TokenForm
}

// MadeSecret is a secret that is shown this once.
type MadeSecret struct {
	Heading string
	Text    string
	Label   string
	Secret  string
}

// TokenGroup are the tokens of oneself, or those of the workspace.
type TokenGroup struct {
	ID      string
	Heading string
	Empty   string
	Whose   bool // names whose each is
	Rows    []TokenRow
}

// TokenRow is one token; its secret is kept nowhere.
type TokenRow struct {
	ID        string
	Name      string
	Begins    string
	Whose     string
	Scopes    string
	CreatedBy string
	Created   ui.Moment
	Used      ui.Moment
	Ends      string
	State     ui.Badge
	Rotate    *ui.PostForm
	Revoke    *ui.PostForm
}

// TokenForm makes a token. It posts user, name, scope, workspace and days.
type TokenForm struct {
	Form
	Fields []ui.Field
	After  string
}

// WelcomePage is where a link that works once leads: to a form, or to why it is not good.
type WelcomePage struct {
	Page    Page
	Heading string
	Lead    string
	Facts   []ui.Entry
	Email   string // whose password it is, for password managers
	Form    *Form  // posts link, name and password; nil when the link is not good
	Link    string
	Fields  []ui.Field
	Button  string
	Spent   string // what to do when it is not good
	Login   string // the words of the way to the sign-in page
}

// InvitationRow is an invitation that waits to be used.
type InvitationRow struct {
	ID       string
	Email    string
	Roles    string
	By       string
	Ends     ui.Moment
	Withdraw *ui.PostForm
}
