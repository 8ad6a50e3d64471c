package views_test

import (
	"time"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleRuleFields(to string) []views.RuleField {
	return []views.RuleField{{Label: "Currency", Before: "EUR", After: "EUR"}, {Label: "Tool", Before: "any", After: "any"},
		{Label: "From", Before: "EUR 0.00", After: "EUR 0.00"}, {Label: "To", Before: ui.Foreign(to), After: "EUR 10,000.00", Changed: true},
		{Label: "Who decides", Before: "Finance lead", After: "Finance lead"}, {Label: "How many", Before: "two people together", After: "one person", Changed: true}}
}

func sampleRule() views.RulePage {
	form := sampleRuleForm()
	form.Version, form.Button = "3", "Save the next version"
	return views.RulePage{Page: samplePage("Rule 7K2PXM", "/settings/rules/rule_7"), Heading: "Rule 7K2PXM", Lead: "Version 3, written by Lena Hoff on 12 Sep 2026.", Back: "/settings/rules",
		Badge:    ui.Badge{Text: "In force", Tone: ui.ToneGood, Sign: ui.SignDone},
		Facts:    []ui.Entry{ui.Pair("Currency", "EUR"), ui.Pair("Tool", "any"), ui.Pair("From", "EUR 0.00"), ui.Pair("To", "EUR 10,000.00"), ui.Pair("Who decides", "Finance lead"), ui.Pair("How many", "one person"), ui.Pair("Approval good for", "24h")},
		Conflict: "Karl Sommer changed this rule on 1 October 2026 at 08:12 UTC; look at version 3 before you edit it.",
		Edit:     &form, Retire: &views.RetireForm{Form: views.Form{URL: "/settings/rules/rule_7/retire", CSRF: "csrf-sample", Version: "3"}, What: "New requests are no longer routed by it. Requests already asked keep their copy."},
		Changes: []views.RuleChange{
			{What: "changed the rule", Version: "version 3", At: ago(20 * 24 * time.Hour), Who: "Lena Hoff", Routed: "14 requests carry it", Fields: sampleRuleFields("EUR 5,000.00")},
			{What: "added the rule", Version: "version 1", At: ago(200 * 24 * time.Hour), Who: "operator", Routed: "no request carries it", First: true, Fields: sampleRuleFields("")}}}
}

func sampleRulesHistory() views.RuleHistoryPage {
	return views.RuleHistoryPage{Page: samplePage("History of the rules", "/settings/rules/history"), Back: "/settings/rules",
		Changes: []views.RuleChange{
			{Rule: "Rule 2BBC0D", URL: "/settings/rules/rule_2", What: "retired", Version: "version 4", At: ago(2 * time.Hour), Who: "Lena Hoff"},
			{Rule: "Rule 7K2PXM", URL: "/settings/rules/rule_7", What: "changed", Version: "version 3", At: ago(20 * 24 * time.Hour), Who: "Lena Hoff", Fields: sampleRuleFields("EUR 5,000.00")[3:4]}},
		Pager: ui.Pager{Next: "/settings/rules/history?cursor=x"}}
}

func sampleTry() views.TryPage {
	row := views.RuleRow{ID: "rule_9", Name: "Rule 9QW4ZT", URL: "/settings/rules/rule_9", Version: "version 1", From: "10,000.01", To: "100,000.00", Who: "finance lead", Then: "AP lead"}
	return views.TryPage{Page: samplePage("Try a request", "/settings/rules/try"), Back: "/settings/rules", URL: "/settings/rules/try",
		Fields: []ui.Field{{Name: "tool", Label: "Tool", Required: true, Value: "post_invoice_adjustment"}, {Name: "amount", Label: "Amount", Kind: ui.FieldAmount, Required: true, Value: "12500"}, {Name: "currency", Label: "Currency", Required: true, Value: "EUR"},
			{Name: "document_type", Label: "Document type"}, {Name: "supplier", Label: "Supplier"}, {Name: "cost_centre", Label: "Cost centre"}, {Name: "asker", Label: "Who would ask", Hint: "E-mail of an account or person; nobody decides their own"}},
		Result: &views.TryResult{Write: "EUR 12,500.00 for post_invoice_adjustment", Rule: &row, Currency: "EUR", Scope: views.RuleScope{Supplier: "V-2001"}, Why: "It goes before Rule 7K2PXM (it names more).",
			Missing: "The rule for EUR 12,500.00 with post_invoice_adjustment needs a yes of Finance lead, then AP lead, of different people, and too few active people who may decide it are left (1).",
			People: []views.TryPerson{{Name: "Ines Roth", Role: "Finance lead", Turn: "comes first", Limit: "EUR 100,000.00", Absence: "away until 12 Oct 2026; Karl Sommer decides meanwhile", Why: "delegated this to Karl Sommer"},
				{Name: "Karl Sommer", Role: "Finance lead", Turn: "comes first", OnBehalfOf: "Ines Roth", Limit: "EUR 50,000.00", May: true}, {Name: "Lena Hoff", Role: "AP lead", Turn: "comes second", Why: "wrote the version of the rule that routed this"}},
			Others: []views.OtherRule{{Name: "Rule 7K2PXM", URL: "/settings/rules/rule_7", Text: "Finance lead · EUR 0.00 to EUR 10,000.00", Why: "It ends at EUR 10,000.00."}}}}
}

func sampleImport() views.ImportPage {
	return views.ImportPage{Page: samplePage("Import rules", "/settings/rules/import"), Back: "/settings/rules", Form: views.Form{URL: "/settings/rules/import", CSRF: "csrf-sample"}, Template: "/settings/rules.csv",
		File: ui.Field{Hint: "CSV in UTF-8, separated by commas or semicolons; at most 1024 kB and 5000 rules"}, Text: ui.Field{Name: "sheet", Label: "Or the sheet as text", Kind: ui.FieldArea, Rows: 8, Value: "currency,from,to,role\nEUR,20,10,finance_lead\n"},
		Retire:   ui.Field{Name: "retire_missing", Label: "Retire rules that are not in the file", Kind: ui.FieldCheckbox, Value: "yes", Hint: "Else they stay as they are."},
		Problems: []string{"Line 2, column to: must not be below 20", `Line 3, column role: must be one of ap_clerk, ap_lead, procurement, finance_lead, master_data; "agent" cannot decide`},
		Columns:  []views.ImportColumn{{Name: "currency, from, to", What: "The amounts, both included, as plain decimals such as 10000.01."}, {Name: "tool, document_type, supplier, cost_centre", What: "What the rule is for; empty is any."}}}
}

func samplePreview() views.ImportPreview {
	return views.ImportPreview{Page: samplePage("What the sheet would change", "/settings/rules/import"), Back: "/settings/rules", Again: "/settings/rules/import",
		Counts: []ui.Entry{ui.Pair("Added", "1 rule"), ui.Pair("Changed", "1 rule"), ui.Pair("Retired", "1 rule"), ui.Pair("Unchanged", "12 rules")},
		Added:  []views.ImportChange{{Line: "line 4", Text: "AP lead, then Finance lead · USD 0.00 to USD 10.00 · one after the other · good for 8 h"}},
		Changed: []views.ImportChange{{Line: "line 2", Name: "Rule 7K2PXM", URL: "/settings/rules/rule_7", Fields: sampleRuleFields("EUR 5,000.00")[3:4],
			Looser: "Less strict than now: fewer people decide and it reaches amounts that it did not reach."}},
		Retired: []views.ImportChange{{Name: "Rule 2BBC0D", URL: "/settings/rules/rule_2", Text: "Finance lead · JPY 0 to JPY 1,000,000"}},
		Form:    &views.Form{URL: "/settings/rules/import/apply", CSRF: "csrf-sample", Version: "17"}, Button: "Apply: 3 changes"}
}
