package views

import "github.com/apdesk/apdesk/views/ui"

// LoginPage is the sign-in form. It posts email and password, and next when
// the person was on the way somewhere.
type LoginPage struct {
	Page     Page
	Form     Form
	Email    ui.Field
	Password ui.Field
	Next     string
	Notice   *ui.Notice
	// Kept is what a person sent after their session had ended.
	Kept *Conflict
	// KeptForm is the same for the form to carry along, "" when it becomes no draft.
	KeptForm string
}
