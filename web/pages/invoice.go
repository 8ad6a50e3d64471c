package pages

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/queue"
)

func mountInvoice(_, _ route) {}

// invoiceURL is the page of an invoice, by its id as agents send it, which may hold anything. It is ""
// for people who may not read what others filed.
func (v *visit) invoiceURL(id string) templ.SafeURL {
	if id == "" || !queue.ReadsAll(v.by) {
		return ""
	}
	if id == "." || id == ".." {
		return v.link("/invoices", "id", id) // browsers would take them for steps of the path
	}
	return v.link("/invoices/" + url.PathEscape(id))
}
