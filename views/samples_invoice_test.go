package views_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleInvoiceStory() views.InvoicePage {
	p := samplePage("Invoice INV-778", "/invoices/5105600123")
	p.Bell = &views.Bell{URL: "/notices", Unread: "3", Words: "Notices, 3 unread"}
	entry := func(kind ui.TimelineKind, who, channel, what, words, about, url string, at time.Duration, details ...ui.Entry) ui.TimelineEntry {
		return ui.TimelineEntry{At: ago(at), Kind: kind, Who: ui.Foreign(who), Channel: channel, What: what, Words: ui.Foreign(words), About: about, URL: templ.SafeURL(url), Details: details}
	}
	return views.InvoicePage{
		Page: p, ID: "5105600123", Number: "INV-778", Normalised: "INV778", Supplier: hostileScript, Caption: "everything",
		States: []views.InvoiceState{
			{Badge: ui.Badge{Text: "Waiting", Tone: ui.ToneWarn, Sign: ui.SignPaused}, Text: "Goods receipt missing, PO 4500018901, line 10: checked again on 6 Oct 2026 at 06:00; 4 of 5 checks left.",
				Link: views.RelatedLink{Text: "The hold", URL: "/holds/hold_1"}},
			{Badge: ui.Badge{Text: "Used", Tone: ui.ToneGood, Sign: ui.SignDone}, Text: "Approved by Jonas Weber on behalf of Ines Hoffmann on 5 Oct 2026 at 11:01, posted as 5100001234 on 5 Oct 2026 at 11:03.", Amount: "1,234.50", Code: "EUR",
				Link: views.RelatedLink{Text: "The request", URL: "/approvals/areq_1"}, More: &views.RelatedLink{Text: "Its proof", URL: "/approvals/areq_1/proof"}},
			{Badge: ui.Badge{Text: "Resolved", Tone: ui.ToneGood, Sign: ui.SignDone}, Text: "Purchase order closed: Petra Vogel chose “Reopen the PO” on 5 Oct 2026 at 10:12.", Link: views.RelatedLink{Text: "The case", URL: "/cases/case_1"}},
		},
		Invoice: views.Invoice{ID: "5105600123", Number: "INV-778", SupplierID: "V-2001", SupplierName: hostileScript, PO: "4500018822", Amount: "1,234.50", Currency: "EUR", InvoiceDate: "3 Oct 2026", Withheld: true},
		SentBy:  "invoice-agent", SentAt: ago(3 * time.Hour),
		Filters: []ui.Tab{{Label: "All", URL: "/invoices/5105600123", Current: true, TestID: "filter-all"}, {Label: "Money only", URL: "/invoices/5105600123?show=money", TestID: "filter-money"}},
		Timeline: []ui.TimelineEntry{
			entry(ui.ByERP, "erp-posting", "over REST", "reported the write as posted", "", "the request", "/approvals/areq_1", 20*time.Minute, ui.Pair("Document", "5100001234")),
			entry(ui.ByPerson, "Jonas Weber on behalf of Ines Hoffmann", "in the browser", "voted yes", hostilePrompt, "the request", "/approvals/areq_1", 22*time.Minute, ui.Pair("Limit", "10,000.00 EUR")),
			entry(ui.ByAgent, "invoice-agent", "over MCP", "asked the desk to wait and check again", "", "the hold", "/holds/hold_1", 2*time.Hour),
		},
		Pager: ui.Pager{Next: "/invoices/5105600123?cursor=x", Text: "50 shown"},
	}
}

func sampleNotices() views.NoticesPage {
	open := func(label string) *ui.PostForm {
		return &ui.PostForm{URL: "/notices/note_1/read", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "workspace", Value: "1000"}},
			Button: ui.Button{Label: label, About: "and mark this notice as read", Variant: ui.ButtonPlain, TestID: "open-notice"}}
	}
	p := samplePage("Notices (2)", "/notices")
	p.Bell = &views.Bell{URL: "/notices", Unread: "2", Words: "Notices, 2 unread"}
	return views.NoticesPage{
		Page: p, Lead: "What the desk told you in this workspace. Opening a notice marks it as read.",
		ReadAll: &ui.PostForm{URL: "/notices/read", CSRF: "csrf-sample", Hidden: []ui.Hidden{{Name: "newest", Value: "note_1"}}, Button: ui.Button{Label: "Mark all as read", Variant: ui.ButtonPlain, TestID: "read-all"}},
		Rows: []views.NoticeRow{
			{ID: "note_1", Unread: true, Badge: ui.Badge{Text: "Approval", Tone: ui.ToneWarn}, Text: "A request that waits for you expires soon: 1,234.50 EUR for invoice INV-778 of " + longSupplier + ".", At: ago(4 * time.Minute), Open: open("Open the request")},
			{ID: "note_2", Unread: true, Badge: ui.Badge{Text: "Fraud", Tone: ui.ToneBad}, Text: ui.Foreign("Mona Lind suspects fraud: " + hostilePrompt), At: ago(2 * time.Hour), Open: open("Open the case")},
			{ID: "note_3", Badge: ui.Badge{Text: "Delegation", Tone: ui.ToneInfo}, Text: "Ines Hoffmann is away from 6 Oct 2026 to 9 Oct 2026; Jonas Weber decides in their place.", At: ago(26 * time.Hour),
				Link: &views.RelatedLink{Text: "See the delegations", URL: "/settings/delegations"}},
		},
		Pager: ui.Pager{Text: "3 shown", First: "/notices"},
	}
}

func noNotices() views.NoticesPage {
	p := samplePage("Notices (0)", "/notices")
	p.Bell = &views.Bell{URL: "/notices", Words: "Notices, all read"}
	return views.NoticesPage{Page: p, Lead: "What the desk told you in this workspace.", Empty: ui.Empty{Heading: "You were told nothing yet", Text: "When something waits for you, it appears here by itself.", TestID: "empty"}}
}

func sampleProof() views.ProofPage {
	fact := func(name, value string) views.ProofFact {
		return views.ProofFact{Name: name, Value: ui.Foreign(value)}
	}
	p := samplePage("Proof areq_01m45mn5m0dbk7gftfsrsf5vk8 INV-778", "/approvals/areq_01m45mn5m0dbk7gftfsrsf5vk8/proof")
	p.LiveURL = ""
	out := views.ProofPage{AuthorityHeading: "The rule, as it was",
		Page: p, ID: "areq_01m45mn5m0dbk7gftfsrsf5vk8", BackURL: "/approvals/areq_01m45mn5m0dbk7gftfsrsf5vk8", JSONURL: "/approvals/areq_01m45mn5m0dbk7gftfsrsf5vk8/proof.json",
		State:  "Approved by Ines Roth and Jonas Weber on behalf of Ines Hoffmann on 5 Oct 2026 at 11:01, posted as 5100001234 on 5 Oct 2026 at 11:03.",
		Issuer: "1000 · Nordlicht Handels GmbH", MadeAt: "5 Oct 2026, 09:30:00 UTC (11:30:00 Europe/Berlin)", Amount: "12,234.50", Currency: "EUR",
		Sentence: "Post an adjustment of 12,234.50 EUR on invoice 5105600123 of supplier V-2001, dated 5 Oct 2026.", Tool: "post_invoice_adjustment",
		Arguments: data(`{"amount":"12234.50","currency":"EUR","invoice_id":"5105600123","posting_date":"2026-10-05","supplier_id":"V-2001","text":"Price difference"}`),
		Digest:    "c89d9de0172ed44c84cee7afd020a36fab8a72e45a657d984a82f15d11a8f5ad",
		HowDigest: "It is the SHA-256 of the RFC 8785 form of {workspace, tool, arguments}, arguments without top-level approval_id and idempotency_key.",
		Asked: []views.ProofFact{fact("Asked by", "invoice-agent (service account)"), fact("Stands behind", "Mia Brandt, responsible for the account"),
			fact("Asked", "5 Oct 2026, 08:40:00 UTC (10:40:00 Europe/Berlin), over MCP"), fact("For", "Post the price difference on INV-778 "+hostileRTL), fact("Invoice", "5105600123"),
			fact("Invoice number", "INV-778 (compared as INV778)"), fact("Supplier", "Nordwind GmbH V-2001"), fact("Invoice total", "13,000.00 EUR"), fact("PO", "4500018822"),
			fact("Document type", "KR"), fact("Posting date", "5 Oct 2026"), fact("Cost centre", "C-210"), fact("Run", "run-9"), fact("Decided", "5 Oct 2026, 09:01:00 UTC (11:01:00 Europe/Berlin)")},
		Authority: []views.ProofFact{fact("In words", "Finance lead · EUR 10,000.01 to EUR 100,000.00"), fact("Needed", "2 different people")},
		RuleFacts: []views.ProofFact{{Name: "Rule", Value: "rule_01m45mn5m0dbk7gftfsh35eaa0", Code: true}, fact("Version", "3"), fact("Amounts", "10,000.01 EUR to 100,000.00 EUR"), fact("Role", "finance lead"),
			fact("Tool", "any"), fact("Document type", "any"), fact("Supplier", "any"), fact("Cost centre", "any"), fact("An approval is good for", "24 h"), fact("Written by", "Lars Ohm"), fact("Written", "12 Sep 2026, 07:00:00 UTC (09:00:00 Europe/Berlin)")},
		Votes: []views.ProofVote{
			{Answer: "Yes", Who: "Ines Roth", Role: "finance lead", Step: "Step 1", Limit: "100,000.00 EUR", Rule: "Rule rule_01m45mn5m0dbk7gftfsh35eaa0, version 3", Channel: "in the browser", At: "5 Oct 2026, 09:00:10 UTC (11:00:10 Europe/Berlin)"},
			{Answer: "Yes", Who: "Jonas Weber", Role: "finance lead", OnBehalf: "on behalf of Ines Hoffmann (delegation deleg_01m45mn5m0, 1 Oct 2026 to 9 Oct 2026, set by Ines Hoffmann)", Step: "Step 1", Limit: "50,000.00 EUR",
				Rule: "Rule rule_01m45mn5m0dbk7gftfsh35eaa0, version 3", Channel: "in the browser", At: "5 Oct 2026, 09:01:00 UTC (11:01:00 Europe/Berlin)", Second: "Second step: confirmed that the same call had been carried out before.",
				Reason: "The buyer confirmed the new price.", HasReason: true},
		},
		Approval: []views.ProofFact{fact("Approval", "apr_01m45mq070…"), fact("State", "Used"), fact("Granted", "5 Oct 2026, 09:01:00 UTC (11:01:00 Europe/Berlin)"), fact("Good until", "6 Oct 2026, 09:01:00 UTC (11:01:00 Europe/Berlin)"),
			fact("Used", "5 Oct 2026, 09:02:00 UTC (11:02:00 Europe/Berlin) by erp-posting"), fact("Outcome", "posted"), fact("Document number", "5100001234"), fact("Reported", "5 Oct 2026, 09:03:00 UTC (11:03:00 Europe/Berlin)")},
		Refused: []views.ProofLine{{At: "5 Oct 2026, 08:59:00 UTC (10:59:00 Europe/Berlin)", Channel: "in the browser", Who: "Mia Brandt", What: "tried to vote, refused: You answer for the account that asked for this, so you cannot decide it."}},
	}
	for i, action := range []string{"request.filed", "request.routed", "vote.refused", "vote.cast", "vote.cast", "approval.granted", "approval.redeemed", "write.reported"} {
		out.Trail = append(out.Trail, views.ProofEvent{Seq: string(rune('1' + i)), ID: "evt_01m45mq07033dv96b5b3g4jkxd", Action: action, At: "2026-10-05 09:01:00", Who: "Jonas Weber",
			Hash: "6c53aee7b5c1e2d4f60718293a4b5c6d7e8f90123456789abcdef0123456789a"})
	}
	return out
}
