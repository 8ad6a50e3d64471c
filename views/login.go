package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// LoginPage is the sign-in form. It posts email and password, and next when
// the person was on the way somewhere.
type LoginPage struct {
	Page     Page
	Form     Form
	Email    ui.Field
	Password ui.Field
	Next     string
	// Languages are those the page can be read in; choosing one shows the page again.
	Languages []LanguageChoice
	Notice    *ui.Notice
	// Kept is what a person sent after their session had ended.
	Kept *Conflict
	// KeptForm is the same for the form to carry along, "" when it becomes no draft.
	KeptForm string
	// Provider signs in through an identity provider; nil where there is none.
	Provider *ProviderForm
}

// ProviderForm goes to the identity provider. It posts next.
type ProviderForm struct {
	Form
	Next string
	Name string
}

// ToProviderPage stands while the browser goes to the identity provider.
type ToProviderPage struct {
	Page Page
	Name string
	URL  templ.SafeURL
}

// LanguageChoice is one language the sign-in page can be read in, by its own name.
type LanguageChoice struct {
	Tag, Name string
	URL       templ.SafeURL
	Current   bool
}
