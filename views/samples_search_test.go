package views_test

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// found writes pieces in short: what stands in brackets was found.
func found(text string) []views.Piece {
	var out []views.Piece
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '[' || r == ']' }) {
		out = append(out, views.Piece{Text: ui.Foreign(part), Found: (i%2 == 1) != strings.HasPrefix(text, "[")})
	}
	return out
}

func sampleFound() views.SearchPage {
	page := samplePage("Search (100+): inv 778", "/search?q=inv+778")
	page.Search = nil
	tab := func(label string, current bool) ui.Tab {
		return ui.Tab{Label: label, URL: "/search?q=inv+778", Current: current}
	}
	link := func(id string) templ.SafeURL { return templ.SafeURL("/cases/" + id) }
	return views.SearchPage{Page: page, Heading: "Search", Lead: "More than 100 results.", Box: views.SearchBox{URL: "/search", Text: "inv 778"},
		Notes:  []string{"That was long: only its first words were looked for."},
		Kinds:  []ui.Tab{tab("All", false), tab("Cases", true), tab("Approval requests", false), tab("Invoices", false), tab("Holds", false), tab("Confirmations", false), tab("Suppliers", false), tab("Purchase orders", false), tab("Comments", false), tab("Reasons", false)},
		States: []ui.Tab{tab("Any state", true), tab("Open", false), tab("Held", false), tab("Resolved", false)},
		Rows: []views.SearchRow{
			{Kind: "Invoice", KindCode: "invoice", URL: "/invoices/5105600123", Title: found("[INV-778]"), Supplier: found("Nordwind GmbH"), Amount: "1,234.50", Currency: "EUR", At: ui.AgeAt(lang.English(), now.Add(-72*time.Hour), now, berlin), Own: true},
			{Kind: "Case", KindCode: "case", URL: link("case_1"), Title: found("PO is closed"), Status: ui.Badge{Text: "Open", Tone: ui.ToneInfo, Sign: ui.SignOpen}, Queue: "Procurement",
				Number: found("[INV-778]"), Supplier: found("Nordwind GmbH"), Amount: "1,234.50", Currency: "EUR", AmountIs: true, At: ui.AgeAt(lang.English(), now.Add(-72*time.Hour), now, berlin),
				Snippet: found("… the order of [INV-778] was closed <b>early</b> by \u202ethe buyer although goods are still to come, which is what the supplier wrote in the mail of last Friday …")},
			{Kind: "Comment", KindCode: "comment", URL: link("case_2"), Title: found("by Clara Clerk"), Number: found("RE-2026-0000000000000000000000000000000000000[778]"), Supplier: found("Gesellschaft für außergewöhnlich langwierige Lieferantenbezeichnungen mit beschränkter Haftung & Co. KG"),
				Amount: "999,999,999,999,999.99", Currency: "EUR", At: ui.AgeAt(lang.English(), now.Add(-30*24*time.Hour), now, berlin), Snippet: found("They will credit [INV 778] first.")},
		},
		Pager: ui.Pager{Next: "/search?q=inv+778&cursor=r1", Text: "25 shown"}}
}

func sampleSearchHelp() views.SearchPage {
	p := views.SearchPage{Page: samplePage("Search", "/search"), Heading: "Search", Lead: "Cases, invoices, suppliers, purchase orders, approval requests, holds, confirmations, comments and reasons of this workspace.", Box: views.SearchBox{URL: "/search"}}
	p.Page.Search = nil
	for _, e := range [][2]string{{"INV-778", "a number, with or without its signs and leading zeros, or its beginning"}, {`supplier:"Nordwind GmbH" status:open`, "what belongs to a supplier and is open"}, {"from:2026-10-01 to:2026-10-31", "what began between two days"}} {
		p.Examples = append(p.Examples, views.SearchExample{Text: e[0], URL: "/search", Words: e[1]})
	}
	return p
}

func sampleSearchEmpty() views.SearchPage {
	p := sampleSearchHelp()
	p.Page.Title, p.Lead, p.Box.Text = "Search (0): INV-0000779", "0 results.", "INV-0000779"
	p.Kinds = sampleFound().Kinds
	p.Empty = &ui.Empty{Heading: "Nothing was found", Text: "Every word must be in the same record. Leave words out, or look for the beginning of a number."}
	p.Looked = []string{"As a number, this was looked for as INV779, whatever signs and zeros stand in it."}
	return p
}
