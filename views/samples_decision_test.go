package views_test

import (
	"time"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// weighedApproval has everything a finance lead decides on: order, receipt and invoice, an earlier
// request, two people one after the other, a delegate, a question and a deadline that is near.
func weighedApproval() views.ApprovalPage {
	p := sampleApproval()
	p.Supplier, p.Number = "Nordwind GmbH (V-2001)", "INV-778"
	p.Deadline = &views.Deadline{Text: "Less than a business day is left: 5 h", Moment: "Monday 5 October 2026 at 16:30, Europe/Berlin", Soon: true}
	p.Needed, p.MyLimit = "a yes of Finance lead, then one of AP lead", "Your own limit here: up to EUR 10,000.00."
	p.Match = &views.Match{Currency: "EUR", Expected: "123,456,789,012,345.00", Invoiced: "123,456,789,012,463.00", Differs: "+118.00", Percent: "+5", Over: true,
		Verdict: []ui.Foreign{"Over the tolerance of 2 %: EUR 118.00 more than expected (5 %)."},
		Lines: []views.MatchLine{
			{Line: "10", Text: "Carbide insert, coated, ten to a box", Ordered: "20", Received: "18", Invoiced: "20", OrderPrice: "118.00", InvoicePrice: "123.90", Expected: "2,124.00", Amount: "2,478.00", Differs: "+354.00", Percent: "+16.7",
				Over: true, Marks: []ui.Foreign{"over the tolerance of 2 %", "20 invoiced, only 18 received", "price 123.90 instead of 118.00"}},
			{Line: "20", Text: ui.Foreign("Freight \u202e<b>"), Ordered: "1", OrderPrice: "123456789012345.00", Amount: "123,456,789,012,345.00"},
		}}
	p.Before = &views.EarlierRequest{URL: "/approvals/areq_01k6va0", Asked: ago(50 * time.Hour), Came: "Karl Sommer sent it back 2 days ago.", Reason: "Only half was delivered.",
		SentBack: []ui.Entry{ui.Pair("amount", "1234.50")}, Evidence: "1 piece of evidence then, 2 now.",
		Changes: []views.ChangedValue{{Name: "Amount", Then: "EUR 2,469.00", Now: "EUR 1,234.50", WasThere: true, IsThere: true},
			{Argument: "lines › [2] › gl_account", Now: "473000", IsThere: true}, {Argument: "text", Then: "Price difference", WasThere: true, IsThere: true}}}
	p.Eligible = nil
	p.Steps = []views.Step{
		{Title: "First: finance lead", State: ui.Badge{Text: "now", Tone: ui.ToneInfo, Sign: ui.SignOpen}, People: []views.Eligible{
			{Name: "Ines Hoffmann", Role: "finance lead", Why: "delegated this to Jonas Weber"},
			{Name: "Jonas Weber", Role: "finance lead", May: true, You: true, OnBehalf: "Ines Hoffmann", Limit: "EUR 10,000.00", Until: "until 12 Oct 2026, 00:00"}}},
		{Title: "Then: AP lead", State: ui.Badge{Text: "not yet", Tone: ui.ToneNeutral, Sign: ui.SignPaused}, People: []views.Eligible{{Name: "Lena Hoff", Role: "AP lead", Why: "comes second"}}},
	}
	p.VotesText = "0 of 2"
	p.Questions = []views.AskedQuestion{
		{By: "Ines Roth", At: ago(3 * time.Hour), Text: "Was the freight agreed?", Answer: "Yes: the offer of 12 September names it.", AnsweredBy: "invoice-agent", AnsweredAt: ago(2 * time.Hour), URL: "/cases/case_01k6v8b"},
		{By: "Jonas Weber", At: ago(time.Hour), Text: "Who signed the delivery note?", URL: "/cases/case_01k6v8b"},
	}
	p.Ask = &views.AskForm{Form: views.Form{URL: "/approvals/areq_01k6va1/ask", CSRF: "csrf-sample", Version: "1"},
		Question: ui.Field{Name: "question", Label: "Question", Kind: ui.FieldArea, Required: true, Hint: "The agent reads it and answers here."}}
	return p
}

// barredApproval is one its reader cannot decide.
func barredApproval() views.ApprovalPage {
	p := weighedApproval()
	p.Form, p.SendBack = nil, nil
	p.WhyNot = "You corrected an earlier step of this invoice, which somebody else must approve, so you cannot decide it."
	return p
}

func pickableApprovals() views.ApprovalsPage {
	p := sampleApprovalsPage()
	for i := range p.Rows {
		p.Rows[i].Pick, p.Rows[i].Picked = true, i == 0
	}
	p.Rows[1].OnBehalf = "Ines Hoffmann"
	p.Pick = &views.PickForm{URL: "/approvals/bulk", CSRF: "csrf-sample", AllURL: "/approvals?select=all", NoneURL: "/approvals"}
	p.Totals = sampleTotals("On this page")
	p.Totals.More, p.Totals.MoreURL = "Add up everything that waits", "/approvals?totals=all"
	p.Filter = &views.FilterForm{URL: "/approvals", Active: "EUR and supplier V-2001", ClearURL: "/approvals", Hidden: []ui.Hidden{{Name: "tab", Value: "mine"}},
		Fields: []ui.Field{{Name: "currency", Label: "Currency", Value: "EUR"}, {Name: "supplier", Label: "Supplier id", Value: "V-2001"}, {Name: "tool", Label: "Tool"},
			{Name: "asked_by", Label: "Asked by", Kind: ui.FieldSelect, Options: []ui.Option{{Label: "anybody"}, {Value: "usr_1", Label: "invoice-agent"}}}}}
	return p
}

func sampleTotals(of string) *views.Totals {
	return &views.Totals{Of: of, Items: []views.Total{{Amount: "12,345.60", Currency: "EUR", Count: "2 requests"}, {Amount: lang.English().Figures(wideAmount), Currency: "KWD", Count: "1 request"},
		{Of: "credits", Amount: "-3,003.00", Currency: "KWD", Count: "1 request"}}}
}

func sampleBulkPage() views.BulkPage {
	return views.BulkPage{Page: samplePage("Approve several", "/approvals"), BackURL: "/approvals", Lead: "Nothing is approved yet. 2 of 4 requests can be approved together, 1 of them with something to look at first.",
		Totals: sampleTotals("What would be approved"),
		Form: &views.BulkForm{Form: views.Form{URL: "/approvals/bulk/approve", CSRF: "csrf-sample"}, Reason: ui.Field{Name: "reason", Label: "Reason", Kind: ui.FieldArea, Hint: "Not needed. Kept on the trail of each."},
			Approve: "Approve 2 requests", PreviewURL: "/approvals/bulk", LeaveMarked: "Leave out the 1 to look at"},
		Items: []views.BulkItem{
			{ID: "areq_01k6va1", URL: "/approvals/areq_01k6va1", Key: "areq_01k6va1@1", Summary: "Post the price difference on INV-778", Sentence: "Post an adjustment of 1,234.50 EUR on invoice 5105600123.",
				Amount: "1,234.50", Currency: "EUR", Supplier: "Nordwind GmbH", Invoice: "INV-778", After: "1 more person has to say yes after you.", OnBehalf: "Ines Hoffmann"},
			{ID: "areq_01k6va2", URL: "/approvals/areq_01k6va2", Key: "areq_01k6va2@1", Summary: hostilePrompt, Sentence: "Call pay.", Amount: lang.English().Figures(wideAmount), Currency: "KWD", Supplier: "Kuwait Steel", Invoice: "KS-1",
				Look: []ui.Foreign{"Over the tolerance of 2 %: KWD 20.00 more than expected (20 %).", "It may be a duplicate of 5105600099."}, Mark: true},
			{ID: "areq_01k6va3", URL: "/approvals/areq_01k6va3", Summary: "Post again", Amount: "980.00", Currency: "EUR", Supplier: "Nordwind GmbH", Invoice: "INV-7", OwnPage: true,
				Why: "Exactly this call was carried out on 1 October 2026. Decide it on its own page."},
			{ID: "areq_01k6va4", URL: "/approvals/areq_01k6va4", Summary: "Not hers", Amount: "1.00", Currency: "EUR", Why: "It is not your turn yet: first a yes of Finance lead."},
			{ID: "areq_01k6va5", Missing: true, Why: "There is no such request in this workspace."},
		}}
}

func sampleBulkResult() views.BulkResultPage {
	return views.BulkResultPage{Page: samplePage("What came of it", "/approvals"), BackURL: "/approvals", Lead: "1 approved, 1 now waiting for somebody else's yes and 1 refused.", Totals: sampleTotals("Approved"),
		Items: []views.BulkAnswer{
			{ID: "areq_01k6va1", URL: "/approvals/areq_01k6va1", Result: ui.Badge{Text: "Approved", Tone: ui.ToneGood, Sign: ui.SignYes}, Summary: "Post the price difference on INV-778", Amount: "1,234.50", Currency: "EUR", Supplier: "Nordwind GmbH", Invoice: "INV-778"},
			{ID: "areq_01k6va2", URL: "/approvals/areq_01k6va2", Result: ui.Badge{Text: "Your yes is recorded", Tone: ui.ToneInfo, Sign: ui.SignHalf}, Summary: hostilePrompt, Amount: lang.English().Figures(wideAmount), Currency: "KWD", Why: "It now waits for a yes of AP lead."},
			{ID: "areq_01k6va3", URL: "/approvals/areq_01k6va3", Result: ui.Badge{Text: "Not approved", Tone: ui.ToneBad, Sign: ui.SignNo}, Summary: "Post again", Amount: "980.00", Currency: "EUR", Why: "Felix rejected this request on 5 October 2026 at 09:00 UTC."},
		}}
}
