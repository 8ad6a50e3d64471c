package views

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

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
	Typed     []ui.Entry // what the person had typed into the form that was sent
	Again     *SendAgain // nil: it cannot be sent again from here
}

// SendAgain is a form that could not be taken, with everything that was sent in it.
type SendAgain struct {
	URL    templ.SafeURL
	Fields []ui.Hidden
}

// ProblemWords is a ProblemPage in the words of an HTTP status: what happened,
// that nothing was changed by it where that is so, and what to do next. The
// caller adds Page and RequestID, and may say more in Text.
func ProblemWords(status int) ProblemPage {
	p := ProblemPage{Status: strconv.Itoa(status), LinkText: "Go to your desk", URL: "/"}
	switch status {
	case 400:
		p.Heading, p.Text = "That could not be read", "Nothing was changed."
		p.Next = "Go back, load the page again and repeat what you did."
	case 403:
		p.Heading, p.Text = "You may not do this here", "Your roles in this workspace do not allow it. Nothing was changed."
		p.Next = "If you should be allowed to, ask an admin of the workspace."
	case 404:
		p.Heading, p.Text = "There is nothing here", "The address is wrong, or the record belongs to a workspace you do not reach."
		p.Next = "If you work in several workspaces, switch to the other one and open the address again."
	case 405:
		p.Heading, p.Text = "This address takes no such call", "Nothing was changed."
	case 409:
		p.Heading, p.Text = "Somebody was faster", "The record changed before your decision arrived. Nothing you sent was recorded."
		p.Next = "Open it again, read what is new, then decide."
	case 413:
		p.Heading, p.Text = "That was too much at once", "What you sent is larger than the desk takes. Nothing was changed."
	case 422:
		p.Heading, p.Text = "That is not possible", "A rule of the desk forbids it. Nothing was changed."
		p.Next = "Go back and read the notes beside the form."
	case 429:
		p.Heading, p.Text = "Too many attempts", "The desk slows down repeated attempts. Nothing was changed."
		p.Next = "Wait a minute, then try again."
	case 503:
		p.Heading, p.Text = "The desk cannot be reached just now", "Its database or a service it depends on does not answer. What was recorded is safe."
		p.Next = "Try again in half a minute."
	default:
		p.Heading, p.Text = "Something went wrong on our side", "The desk met an error it does not know."
		p.Next = "Look whether your last step was recorded before you repeat it."
	}
	return p
}
