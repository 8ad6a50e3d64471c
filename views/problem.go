package views

import "github.com/a-h/templ"

// ProblemPage says what went wrong, what was not changed by it, and what to do
// next. Nothing of the inside is on it but the id to quote.
type ProblemPage struct {
	Page      Page
	Status    string // "404"
	Heading   string // "There is nothing here"
	Text      string
	Next      string // what to do now
	LinkText  string
	URL       templ.SafeURL
	RequestID string
}
