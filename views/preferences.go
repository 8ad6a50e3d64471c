package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// PreferencesPage is how one person likes to work.
type PreferencesPage struct {
	Page    Page
	Tabs    []ui.Tab
	Lead    string
	Facts   []ui.Entry
	Form    Form
	Fields  []ui.Field
	KeysURL templ.SafeURL
	// AccountURL leads to the person's password and sessions.
	AccountURL templ.SafeURL
	// PasskeysURL leads to the person's passkeys, and Passkeys says how many there are.
	PasskeysURL templ.SafeURL
	Passkeys    string
}
