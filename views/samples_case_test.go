package views_test

import (
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// sampleDuplicates are two candidates, one of them with hostile text and a verdict that ended.
func sampleDuplicates() *views.Duplicates {
	row := func(label, left, right string, d ui.Difference) ui.CompareRow {
		return ui.CompareRow{Key: ui.Foreign(label), Label: ui.Foreign(label), Left: ui.TextValue(left), Right: ui.TextValue(right), Difference: d}
	}
	return &views.Duplicates{Lead: "2 invoices the desk has seen may be this one again. It is for a person to judge.", More: "There are more; the 2 likeliest are shown.",
		Items: []views.Duplicate{
			{ID: "5105600098", URL: "/invoices/5105600098", Number: "inv 0778", Amount: "1,234.50 EUR", Date: "29 Sep 2026", Why: "same number, same amount and near date", Open: true,
				ThisTitle: "This invoice", ThatTitle: "Seen 1 Oct 2026", DiffersText: "2 of 4 fields differ",
				Rows: []ui.CompareRow{row("Invoice number", "INV-778", "inv 0778", ui.Differs), row("Number as compared", "INV778", "INV778", ui.Same),
					row("Amount", "1,234.50 EUR", "1,234.50 EUR", ui.Same), row("Invoice date", "3 Oct 2026", "29 Sep 2026", ui.Differs)},
				Cases:     []views.RelatedState{{Text: "PO is closed", State: "resolved: reopen the PO", URL: "/cases/case_1"}},
				Approvals: []views.RelatedState{{Text: "50.00 EUR with post_invoice_adjustment", State: "posted as document 5000012", URL: "/approvals/areq_1"}}},
			{ID: hostileRTL, Number: hostileScript, Amount: wideAmount + " EUR", Why: "same number", Hint: "The dates lie 364 days apart: the supplier’s numbers may have started anew.",
				Verdict: "Anna judged on 1 Oct 2026 that the two are no duplicates. The supplier of one of them changed since, so that verdict does not count any more.", VerdictTone: ui.ToneWarn,
				VerdictURL: "/cases/case_2", ThisTitle: "This invoice", ThatTitle: "Seen 1 Oct 2025", DiffersText: "1 of 1 field differs",
				Rows: []ui.CompareRow{row("Supplier name", longSupplier, hostileZero, ui.Differs)}},
		}}
}

// sampleProposed are two writes the agent proposed, one of them ticked and refused.
func sampleProposed() []views.ProposedCall {
	fields := func(i, problem string) []ui.Field {
		name := "proposed." + i + "."
		return []ui.Field{{Name: name + "amount", Label: "Amount of this write", Kind: ui.FieldAmount, Value: "50.00", RequiredLater: true, Error: problem},
			{Name: name + "currency", Label: "Currency", Value: "EUR", RequiredLater: true}, {Name: name + "posting_date", Label: "Posting date", Kind: ui.FieldDate, Value: "2026-10-05"},
			{Name: name + "document_type", Label: "Document type", Hint: "As the approval matrix names it."}, {Name: name + "cost_centre", Label: "Cost centre"},
			{Name: name + "summary", Label: "What is asked, in one sentence", Value: "Post an adjustment.", RequiredLater: true}}
	}
	tick := func(i, tool string, on bool) ui.Field {
		return ui.Field{Name: "proposed." + i, Label: "Ask for " + tool, Kind: ui.FieldCheckbox, Value: "yes", Checked: on}
	}
	return []views.ProposedCall{
		{Tick: tick("0", "post_invoice_adjustment", true), Tool: "post_invoice_adjustment", InWords: "Post an adjustment of 50.00 EUR on invoice 5105600123.", Bound: true,
			Fields: fields("0", "differs from the call"), Open: true},
		{Tick: tick("1", "tell_the_buyer_of_everything_that_was_found", false), Tool: "tell_the_buyer_of_everything_that_was_found", Fields: fields("1", "")},
	}
}

// sampleSearch is a request that nobody can decide.
func sampleSearch() *views.ApproverSearch {
	return &views.ApproverSearch{Facts: []ui.Entry{ui.Pair("What is asked", hostilePrompt), ui.Pair("Tool", "post_invoice_adjustment"), ui.Pair("Amount", "7,500.00 USD")}, Amount: "7,500.00 USD",
		Candidates: []views.ApproverCandidate{{Name: "Fiona Berg", Email: "fiona@example.com", Limit: "USD 10,000.00", Absence: "away until 12 Oct 2026; Jonas Weber decides meanwhile"}},
		Others:     []views.ApproverCandidate{{Name: "Felix Kern", Email: "felix@example.com", Limit: "USD 5,000.00", Why: "may approve up to USD 5,000.00, and this is more"}},
		Tried:      []views.TriedRule{{Name: "Rule 6CA32R, version 1", Text: "finance lead · EUR 0 to 10,000", Why: "it is for EUR, and this is USD"}}, TryURL: "/settings/rules/try?amount=7500"}
}
