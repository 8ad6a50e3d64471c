package views_test

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// stopCodes are the codes a case can have.
var stopCodes = []string{"INVOICE_NOT_FOUND", "PO_NOT_FOUND", "SUPPLIER_NOT_FOUND", "GR_MISSING", "PO_CLOSED", "DUPLICATE_INVOICE", "APPROVER_NOT_FOUND", "PERIOD_CLOSED"}

// stopped is a case of a code as an agent that does its work hands it over, on a busy day: marked, with
// an earlier decision, a long explanation and invoices that look alike.
func stopped(code string) views.CasePage {
	p := workedCase()
	p.Code, p.Heading, p.Search = ui.Foreign(code), code, nil
	p.Page.Here.Subject, p.Page.Here.Present = "", nil // nobody answers the script here
	p.Related, p.Files = nil, views.Files{}
	told := views.HandoverView{At: ago(46 * time.Minute), Agent: "invoice-agent", Run: "run-7f3", Suggestion: &views.Suggestion{ExitWords: "Reopen the PO", Exit: "reopen_po", Why: "The buyer expects the rest."},
		Explanation: ui.Foreign(strings.Repeat("The order was closed before the second delivery was invoiced, and the buyer has been asked by mail. ", 12))}
	seen := func(tool, message, details, arguments string) views.SeenError {
		return views.SeenError{At: ago(46 * time.Minute), Tool: ui.Foreign(tool), CodeWords: code, Code: ui.Foreign(code), Message: ui.Foreign(message), Details: data(details), Arguments: data(arguments), NextWords: "hand over to a person"}
	}
	record := func(title, of string) views.Evidence {
		return views.Evidence{Kind: views.EvidenceRecord, Title: ui.Foreign(title), Source: "get_purchase_order", Data: data(of)}
	}
	compared := func(title, left, right string) views.Evidence {
		rows := ui.Compare(data(left), data(right))
		return views.Evidence{Kind: views.EvidenceComparison, Title: ui.Foreign(title), LeftTitle: "This invoice", RightTitle: "The other", Rows: rows, DiffersText: "some fields differ"}
	}
	note := views.Evidence{Kind: views.EvidenceNote, Title: "On the document", Note: "Delivered and to be booked in the month of delivery."}
	order := record("PO 4500018822", `{"closed_because":"fully invoiced","closed_by":"m.brandt","closed_on":"2026-09-30","left":"980.00","po_id":"4500018822"}`)
	others := sampleEvidence()[2]
	match := weighedApproval().Match
	switch code {
	case "INVOICE_NOT_FOUND":
		told.Errors = []views.SeenError{seen("get_invoice", "There is no invoice 52O5690802.", `{"invoice_id":"52O5690802","near":[]}`, `{"invoice_id":"52O5690802"}`),
			seen("get_invoice", "There is no invoice 5205690802.", `{"invoice_id":"5205690802","near":[]}`, `{"invoice_id":"5205690802"}`)}
		told.Evidence = []views.Evidence{note}
	case "PO_NOT_FOUND":
		told.Errors = []views.SeenError{seen("get_purchase_order", "There is no purchase order 46OOO31399.", `{"po_id":"46OOO31399"}`, `{"po_id":"46OOO31399"}`)}
		told.Evidence = []views.Evidence{others, note}
	case "SUPPLIER_NOT_FOUND":
		told.Errors = []views.SeenError{seen("get_supplier_history", "There is no supplier V-3013.", `{"supplier_id":"V-3013"}`, `{"supplier_id":"V-3013"}`)}
		told.Evidence = []views.Evidence{note, compared("The invoice and the nearest master record", `{"name":"Pacific Chips Inc","supplier_id":"V-3013","tax_id":"US-94"}`, `{"name":"Pacific Chips Inc.","supplier_id":"V-3003","tax_id":"US-94"}`)}
	case "GR_MISSING":
		p.Match = match
		told.Errors = []views.SeenError{seen("get_goods_receipt", "Nothing has been received for PO 4500018822, line 10.", `{"line":10,"po_id":"4500018822"}`, `{"po_id":"4500018822"}`)}
	case "PO_CLOSED":
		p.Match = match
		told.Errors = []views.SeenError{seen("get_purchase_order", "PO 4500018822 was closed on 2026-09-30.", `{"po_id":"4500018822","closed_on":"2026-09-30"}`, `{"po_id":"4500018822"}`)}
		told.Evidence = []views.Evidence{order, others}
	case "DUPLICATE_INVOICE":
		told.Errors = []views.SeenError{seen("check_duplicate_invoice", "Invoice 5105600123 has the number of invoice 5105600098.", `{"duplicate_of":"5105600098"}`, `{"invoice_id":"5105600123"}`)}
		told.Evidence = []views.Evidence{order, sampleEvidence()[1]}
	case "APPROVER_NOT_FOUND":
		p.Match, p.Search = match, sampleSearch()
		told.Errors = []views.SeenError{seen("request_approval", "No rule covers USD 7,500.00.", `{"request_id":"areq_1"}`, `{"amount":"7500.00","currency":"USD"}`)}
	case "PERIOD_CLOSED":
		p.Match = match
		told.Errors = []views.SeenError{seen("request_approval", "The books are closed through 2026-09-30.", `{"first_open_date":"2026-10-01","period_closed_through":"2026-09-30","posting_date":"2026-09-28"}`, `{"action":{"tool":"post_invoice_adjustment","arguments":{"amount":"860.00","posting_date":"2026-09-28"}},"posting_date":"2026-09-28"}`)}
		told.Evidence = []views.Evidence{order, note}
	}
	p.Handovers = []views.HandoverView{told, {At: ago(3 * time.Hour), Agent: "invoice-agent", Errors: told.Errors, Explanation: "The first time."}}
	return p
}

// withStops adds a case of every code.
func withStops(pages map[string]templ.Component) map[string]templ.Component {
	for _, code := range stopCodes {
		pages["stop-"+code] = views.Case(stopped(code))
	}
	pages["stop-alike"] = views.Case(manyAlike())
	return pages
}

// manyAlike is a case with eleven invoices that look alike, of which three are shown whole.
func manyAlike() views.CasePage {
	p := stopped("DUPLICATE_INVOICE")
	whole := sampleDuplicates().Items[0]
	d := &views.Duplicates{Lead: "11 invoices the desk has seen may be this one again. It is for a person to judge."}
	for i := range 11 {
		one := whole
		one.Open = i == 0
		if i >= 3 {
			one.Rows, one.Cases, one.Approvals, one.BesideURL = nil, nil, nil, "/cases/case_01k6v8a?beside=5105600098#beside"
		}
		d.Items = append(d.Items, one)
	}
	p.Duplicates = d
	return p
}
