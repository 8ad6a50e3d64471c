package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// StepUp asks a person again, within a form, that it is them. It posts password, or passkey, which the
// script fills in.
type StepUp struct {
	Text     string    // why they are asked
	Password *ui.Field // nil for somebody who has a passkey, or neither
	Email    string    // whose password it is, for password managers
	Passkey  *Passkey
	Error    string
	// SetUpURL is where a person with neither adds a passkey; Missing says so.
	SetUpURL templ.SafeURL
	Missing  string
}

// Passkey lets the script ask the browser for a passkey when the form is sent.
type Passkey struct {
	AskURL   templ.SafeURL // where a challenge is made
	Add      bool          // a passkey is added, not used
	For      string        // value of the button that needs it; empty: every one
	NoScript string        // what to do without script
}

// PasskeysPage lists a person's passkeys.
type PasskeysPage struct {
	Page    Page
	Tabs    []ui.Tab
	Lead    string
	Notices []ui.Notice
	Rows    []PasskeyRow
	Empty   ui.Empty
	// Confirm comes before anything can be changed; nil once the person has confirmed lately.
	Confirm     *ConfirmForm
	ConfirmedAt string // "You confirmed at 10:31 …", empty when Confirm is there
	Add         *PasskeyForm
	CodesLeft   string // "7 of 10 recovery codes are left."; empty without a passkey
	Renew       *ui.PostForm
}

// PasskeyRow is one passkey.
type PasskeyRow struct {
	ID, Name string
	Added    ui.Moment
	Used     ui.Moment
	NotUsed  bool
	Rename   Form
	NameIs   ui.Field
	Remove   *ui.PostForm
}

// ConfirmForm confirms that it is the person and goes back to a page.
type ConfirmForm struct {
	Form
	StepUp StepUp
	Next   string
}

// PasskeyForm adds a passkey. It posts name, and passkey by the script.
type PasskeyForm struct {
	Form
	Name    ui.Field
	Passkey Passkey
}

// RecoveryCodesPage shows recovery codes, this once.
type RecoveryCodesPage struct {
	Page    Page
	Codes   []string
	Words   string
	BackURL templ.SafeURL
}

// SignInStepPage asks for the passkey of somebody whose password was right. One form posts passkey, the
// other code; both next and kept.
type SignInStepPage struct {
	Page     Page
	Form     Form
	Code     ui.Field
	Passkey  *Passkey // nil where browsers do no passkeys
	Missing  string   // why not
	Next     string
	KeptForm string
	CodeOpen bool
}

// AskAgain is when a workspace asks people again that it is them, and whom it asks for a passkey.
type AskAgain struct {
	Amounts  []AskAgainRow
	None     string
	Add      *AskAgainForm
	Required string
	Switch   *ui.PostForm
}

// AskAgainRow is one amount.
type AskAgainRow struct {
	Amount string // with its currency
	Remove *ui.PostForm
}

// AskAgainForm sets an amount. It posts currency and above.
type AskAgainForm struct {
	Form
	Fields []ui.Field
}
