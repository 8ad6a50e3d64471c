package pages_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/wire"
)

func TestAFinanceLeadSeesExactlyWhatWillBeWrittenAndApproves(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("7350.25"))
	fiona := d.signedIn("fiona")

	home := fiona.get("/")
	home.wants(t, "my-approvals", "Post the price difference", "7,350.25", "INV-778", "robot")
	if title := home.text("title"); !strings.HasPrefix(title, "Your desk (1)") {
		t.Errorf("the title is %q", title)
	}
	list := fiona.get("/approvals")
	if title := list.text("title"); !strings.HasPrefix(title, "Approvals (1)") {
		t.Errorf("the title is %q", title)
	}
	href, _ := list.doc.Find("tr[data-request='" + request + "'] a").Attr("href")
	seen := fiona.get(href)
	seen.wants(t, "amount", "7,350.25 EUR")
	seen.wants(t, "amount-in-words", "seven thousand three hundred fifty EUR and 25/100")
	seen.wants(t, "exact-call", "Exactly this will be written if you approve", "Post an adjustment of 7,350.25 EUR on invoice 5105600123 of supplier V-2001, dated 5 Oct 2026.",
		"post_invoice_adjustment", "posting_date", "2026-10-05", "KR", "C-210", "/amount")
	seen.wants(t, "who-decides", "One yes of finance lead", "Fiona", "(you)", "Felix", "may decide", "EUR 0.00 to EUR 10,000.00", "version 1", "24 h")
	seen.wants(t, "agent-words", "The price was raised.")
	seen.wants(t, "evidence-note", "The new price counts.")
	if button := seen.testID("approve"); button != "Approve 7,350.25 EUR" {
		t.Errorf("the button reads %q", button)
	}

	after := fiona.follow(fiona.send(seen, "vote-form", one("decision", "approve", "reason", "Checked.")))
	after.wants(t, "vote", "Fiona", "finance lead", "Yes", "Checked.", "in the browser")
	after.wants(t, "approval-status", "Approved")
	after.wants(t, "grant", "Granted, not used yet", "apr_")
	after.wants(t, "timeline", "voted yes", "granted the approval")
	view, err := d.approvals.Get(t.Context(), d.robot(), request)
	if err != nil {
		t.Fatal(err)
	}
	if view.ApprovalID == "" || strings.Contains(after.raw, view.ApprovalID) {
		t.Errorf("the page shows the whole approval id %q", view.ApprovalID)
	}

	arguments := models.Call{Tool: "post_invoice_adjustment", Arguments: []byte(`{"invoice_id": "5105600123", "amount": "7350.25", "currency": "EUR",
		"posting_date": "2026-10-05", "supplier_id": "V-2001", "text": "Price difference"}`)}
	if _, err := d.approvals.Redeem(t.Context(), d.sap(), approvals.RedeemInput{ApprovalID: view.ApprovalID, Call: arguments, IdempotencyKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.approvals.Report(t.Context(), d.sap(), view.ApprovalID, approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "1900004711"}, models.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	spent := fiona.get(href)
	spent.wants(t, "grant", "Used", "sap", "Posted")
	spent.wants(t, "document-number", "1900004711")
	spent.wants(t, "exact-call", "Exactly this was written")
	decided := fiona.get("/approvals?tab=decided")
	if text := decided.text("tr[data-request='" + request + "']"); !strings.Contains(text, "posted as 1900004711") {
		t.Errorf("the decided request's row reads %q", text)
	}

	again := d.ask(d.robot(), approvalFor("7350.25"))
	repeated := fiona.get("/approvals/" + again)
	repeated.wants(t, "redeemed-before", "This exact call was carried out before", "document 1900004711")
	unsure := fiona.send(repeated, "vote-form", one("decision", "approve", "reason", "Again."))
	if unsure.status != http.StatusUnprocessableEntity {
		t.Errorf("approving the same call again in one step is answered %d", unsure.status)
	}
	unsure.wants(t, "error-summary", "Nothing was decided", "must be confirmed")
	if got := unsure.doc.Find("textarea[name=reason]").First().Text(); got != "Again." {
		t.Errorf("the reason typed is now %q", got)
	}
	fiona.follow(fiona.send(repeated, "vote-form", one("decision", "approve", "reason", "Again.", "second_step", "yes"))).wants(t, "approval-status", "Approved")
}

func TestRejectingNeedsAReasonAndKeepsTheForm(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	refused := fiona.send(seen, "vote-form", one("decision", "reject", "reason", ""))
	if refused.status != http.StatusUnprocessableEntity {
		t.Fatalf("answered %d", refused.status)
	}
	refused.wants(t, "error-summary", "Reason: is required when you reject")
	after := fiona.follow(fiona.send(seen, "vote-form", one("decision", "reject", "reason", "The price was not agreed.")))
	after.wants(t, "vote", "Fiona", "No", "The price was not agreed.")
	after.wants(t, "approval-status", "Rejected")
	after.wants(t, "exact-call", "This was refused and not written")
}

func TestACallIsSentBackWithACorrection(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	if got := seen.doc.Find("[data-testid=send-back-form] [name='input.amount']").AttrOr("value", ""); got != "500.00" {
		t.Errorf("the amount to correct reads %q", got)
	}
	unchanged := fiona.send(seen, "send-back-form", one("reason", "Wrong.", "input.amount", "500.00"))
	if unchanged.status != http.StatusUnprocessableEntity {
		t.Errorf("sending back without a change is answered %d", unchanged.status)
	}
	after := fiona.follow(fiona.send(seen, "send-back-form", one("reason", "Only half was delivered.", "input.amount", "250.00")))
	after.wants(t, "approval-status", "Rejected")
	after.wants(t, "sent-back", "250.00")
	view, err := d.approvals.Get(t.Context(), d.robot(), request)
	if err != nil {
		t.Fatal(err)
	}
	if view.Instruction == nil || view.Instruction.Kind != models.InstructRetryWith || view.Instruction.Input["amount"] != "250.00" {
		t.Errorf("the agent is told %+v", view.Instruction)
	}
}

func TestAVoteThatCameSecondIsToldWhoDecided(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	seen := felix.get("/approvals/" + request)
	fiona.follow(fiona.send(fiona.get("/approvals/"+request), "vote-form", one("decision", "approve")))
	d.clock.Advance(3 * time.Minute)
	late := felix.send(seen, "vote-form", one("decision", "reject", "reason", "Not agreed."))
	if late.status != http.StatusConflict {
		t.Fatalf("the second vote is answered %d", late.status)
	}
	late.wants(t, "conflict", "Fiona approved this 3 min ago", "Nothing you sent was recorded")
	late.wants(t, "typed-kept", "Reject", "Not agreed.")
	late.wants(t, "approval-status", "Approved")
}

func TestTwoVotesAreNeededAboveTheLimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("25000.00"))
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	seenByFelix := felix.get("/approvals/" + request)
	first := fiona.follow(fiona.send(fiona.get("/approvals/"+request), "vote-form", one("decision", "approve")))
	first.wants(t, "approval-status", "Pending")
	first.wants(t, "who-decides", "1 of 2", "2 different people must say yes")
	first.wants(t, "why-not", "voted on this request already")
	felix.follow(felix.send(seenByFelix, "vote-form", one("decision", "approve"))).wants(t, "approval-status", "Approved")
}

func TestWhoMayNotDecideIsToldWhyAndRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	_, form := fiona.get("/approvals/"+request).fill(t, "vote-form", one("decision", "approve", "reason", "I say so."))
	for _, name := range []string{"anna", "lars", "audra", "adam"} {
		who := d.signedIn(name)
		seen := who.get("/approvals/" + request)
		seen.wants(t, "why-not", "Finance lead, which you do not hold")
		if seen.has("vote-form") || seen.has("send-back-form") {
			t.Errorf("%s is offered a form", name)
		}
		form.Set("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
		forced := who.do(http.MethodPost, "/approvals/"+request+"/vote", form)
		if forced.status != http.StatusForbidden || !strings.Contains(forced.raw, "I say so.") {
			t.Errorf("%s votes and is answered %d", name, forced.status)
		}
	}
	fiona.get("/approvals/"+request).wants(t, "approval-status", "Pending")
}

func TestWhoCorrectedACaseCannotApproveItsCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(company, "petra", models.RoleFinanceLead)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	petra.follow(petra.send(petra.get("/cases/"+id), "decision-form", one("exit", "use_other_po", "input.po_id", "4500018901", "reason", "Follow-up.")))
	request := d.ask(d.robot(), approvalFor("500.00"))
	seen := petra.get("/approvals/" + request)
	seen.wants(t, "why-not", "corrected an earlier step of this invoice")
	_, form := d.signedIn("fiona").get("/approvals/"+request).fill(t, "vote-form", one("decision", "approve"))
	form.Set("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
	if forced := petra.do(http.MethodPost, "/approvals/"+request, form); forced.status != http.StatusUnprocessableEntity {
		t.Errorf("the corrector votes and is answered %d", forced.status)
	}
}

func TestARequestNobodyCanDecideLeadsToItsCaseAndBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("250000.00"))
	fiona, lars := d.signedIn("fiona"), d.signedIn("lars")
	seen := fiona.get("/approvals/" + request)
	seen.wants(t, "approval-status", "Unrouted")
	seen.wants(t, "unrouted", "No rule of the approval matrix covers EUR 250,000.00")
	seen.wants(t, "tried-rule", "it ends at EUR 100,000.00")
	href, _ := seen.doc.Find("[data-testid=related-case]").Attr("href")
	theCase := lars.get(href)
	theCase.wants(t, "case-status", "Open")
	theCase.wants(t, "tried-rule", "it ends at EUR 100,000.00")
	if back, _ := theCase.doc.Find("[data-testid=related-request]").Attr("href"); back != "/approvals/"+request {
		t.Errorf("the case leads to %q", back)
	}
	theCase.wants(t, "candidates", "Nobody")
	still := lars.send(theCase, "decision-form", one("exit", "matrix_fixed", "reason", "Rule added."))
	if still.status != http.StatusUnprocessableEntity || !strings.Contains(still.testID("error-summary"), "still cannot be routed") {
		t.Errorf("a matrix that was not fixed is answered %d: %s", still.status, still.testID("error-summary"))
	}
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "100000.01", To: "500000", Role: models.RoleFinanceLead})
	lars.follow(lars.send(theCase, "decision-form", one("exit", "matrix_fixed", "reason", "Rule added."))).wants(t, "case-status", "Resolved")
	fiona.get("/approvals/"+request).wants(t, "approval-status", "Pending")
}

func TestTheAPLeadSeesWhoCouldBeNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.rule(company, approvals.NewRule{Tool: "post_invoice_adjustment", Supplier: "V-9999", Currency: "EUR", From: "0", To: "900000", People: []string{"fiona@example.com"}})
	request := d.ask(d.robot(), approvalFor("250000.00"))
	view, err := d.approvals.Page(t.Context(), models.System(company), request)
	if err != nil {
		t.Fatal(err)
	}
	lars := d.signedIn("lars")
	seen := lars.get("/cases/" + *view.Request.UnroutedCaseID)
	seen.wants(t, "candidates", "Fiona fiona@example.com up to EUR 900,000.00")
	if strings.Contains(seen.testID("candidates"), "Felix") {
		t.Error("somebody without the limit is named")
	}
	wrong := lars.send(seen, "decision-form", one("exit", "name_approver", "input.person", "felix@example.com", "reason", "He knows it."))
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("error-summary"), "Felix may approve up to EUR 10,000.00") {
		t.Errorf("naming somebody without the limit is answered %d: %s", wrong.status, wrong.testID("error-summary"))
	}
	lars.follow(lars.send(seen, "decision-form", one("exit", "name_approver", "input.person", "fiona@example.com", "reason", "She knows it."))).wants(t, "case-status", "Resolved")
	d.signedIn("fiona").get("/approvals/"+request).wants(t, "who-decides", "One yes of Fiona", "Fiona was named by Lars for this item", "the limit is from Rule")
}

func TestAPersonWhoApprovedCanTakeItBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	after := fiona.follow(fiona.send(fiona.get("/approvals/"+request), "vote-form", one("decision", "approve")))
	href, _ := after.doc.Find("[data-testid=can-revoke] a").Attr("href")
	asked := fiona.get(href)
	if silent := fiona.send(asked, "confirm-form", one("reason", "")); silent.status != http.StatusUnprocessableEntity {
		t.Errorf("revoking without a reason is answered %d", silent.status)
	}
	gone := fiona.follow(fiona.send(asked, "confirm-form", one("reason", "Wrong supplier.")))
	gone.wants(t, "grant", "Revoked")
	gone.wants(t, "approval-status", "Approval revoked")
	if list := fiona.get("/approvals?tab=decided"); !strings.Contains(list.raw, "Approval revoked") {
		t.Error("the list still says approved")
	}
	gone.wants(t, "revoked", "Wrong supplier.")
	if again := fiona.do(http.MethodGet, href, nil); again.status != http.StatusSeeOther {
		t.Errorf("what is revoked is asked about again: %d", again.status)
	}
	felix := d.signedIn("felix")
	for _, path := range []string{href, "/approvals/" + request + "/withdraw"} {
		if p := felix.do(http.MethodGet, path, nil); p.status != http.StatusForbidden || p.has("confirm-form") {
			t.Errorf("%s is shown to who may not: %d", path, p.status)
		}
	}
	_, form := asked.fill(t, "confirm-form", one("reason", "x"))
	form.Set("csrf_token", felix.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", ""))
	if p := felix.do(http.MethodPost, href, form); p.status != http.StatusForbidden {
		t.Errorf("somebody who did not approve revokes and is answered %d", p.status)
	}
}

func TestAnApprovalOfAnotherWorkspaceIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.rule(other, approvals.NewRule{Currency: "EUR", From: "0", To: "10000", Role: models.RoleFinanceLead})
	theirs := d.ask(d.agent(other, "robo2", models.RoleAgent), approvalFor("500.00"))
	mine := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	_, form := fiona.get("/approvals/"+mine).fill(t, "vote-form", one("decision", "approve"))
	for _, p := range []page{fiona.do(http.MethodGet, "/approvals/"+theirs, nil), fiona.do(http.MethodPost, "/approvals/"+theirs+"/vote", form),
		fiona.do(http.MethodGet, "/approvals/"+theirs+"/revoke", nil), fiona.do(http.MethodGet, "/live?topic=request:"+theirs, nil)} {
		if p.status != http.StatusNotFound {
			t.Errorf("answered %d", p.status)
		}
	}
	if strings.Contains(fiona.get("/approvals?tab=open").raw, theirs) {
		t.Error("the list shows another workspace's request")
	}
}

func TestHostileTextOfARequestStaysText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	q := strings.ReplaceAll(hostile, `"`, `\"`) + `\u202e\u200b`
	ask := func(amount string) string {
		return d.ask(d.robot(), `{"run_id": "`+q+`", "invoice": {"id": "5", "number": "`+q+`", "supplier_name": "`+q+`", "amount": "1.00", "currency": "EUR"},
			"action": {"tool": "`+q+`", "arguments": {"`+q+`": "`+q+`", "list": ["`+q+amount+`"]}}, "amount": "`+amount+`", "currency": "EUR", "document_type": "`+q+`",
			"cost_centre": "`+q+`", "summary": "`+q+`", "explanation": "`+q+`", "evidence": [{"kind": "note", "title": "`+q+`", "text": "`+q+`"}]}`)
	}
	routed, unrouted := ask("500.00"), ask("999999.00")
	fiona, lars := d.signedIn("fiona"), d.signedIn("lars")
	seen := fiona.get("/approvals/" + unrouted)
	theCase, _ := seen.doc.Find("[data-testid=related-case]").Attr("href")
	failed := lars.send(lars.get(theCase), "decision-form", one("exit", "matrix_fixed", "reason", "x"))
	decided := fiona.follow(fiona.send(fiona.get("/approvals/"+routed), "vote-form", one("decision", "reject", "reason", "No.")))
	for name, p := range map[string]page{"unrouted": seen, "its case": lars.get(theCase), "refused": failed, "decided": decided, "home": fiona.get("/"),
		"open": fiona.get("/approvals?tab=open"), "all decided": fiona.get("/approvals?tab=decided"), "routed": fiona.get("/approvals/" + routed)} {
		if p.doc.Find("body script, body img, [onerror]").Length() > 0 {
			t.Errorf("%s: text of the agent became elements of the page", name)
		}
		if i := strings.IndexAny(p.raw, "\u202e\u200b"); i >= 0 {
			t.Errorf("%s: characters that hide or turn text are on the page as they are: %q", name, p.raw[max(0, i-200):i+20])
		}
	}
}

const matched = `{"kind": "table", "title": "Order, receipt and invoice", "columns": ["line", "text", "ordered", "received", "unit_price", "value"], "rows": [["10", "Carbide insert", "20", "20", "58.80", "1176.00"]]},
	{"kind": "record", "title": "Difference", "source": "run_three_way_match", "data": {"received_value": "1176.00 EUR", "difference": "58.50 EUR", "limit": "2 %"}}`

func withEvidence(request, evidence string) string {
	return strings.Replace(request, `"evidence": [`, `"evidence": [`+evidence+`, `, 1)
}

func TestOrderReceiptAndInvoiceStandOnThePage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), withEvidence(approvalFor("500.00"), matched))
	seen := d.signedIn("fiona").get("/approvals/" + request)
	seen.wants(t, "match-verdict", "Over the tolerance of 2 %: EUR 58.50 more than expected (5 %)")
	seen.wants(t, "match-line", "10 Carbide insert", "over the tolerance of 2 %", "20 at 58.80", "1,176.00", "1,234.50", "+58.50", "+5 %")
	seen.wants(t, "match-total", "Together", "1,176.00", "1,234.50", "+58.50")
	seen.wants(t, "evidence-table", "Carbide insert", "1176.00")
	seen.wants(t, "supplier", "Nordwind GmbH (V-2001)", "INV-778")
	seen.wants(t, "decide-bar", "500.00 EUR", "Approve…", "Reject…")
	for _, target := range []string{"decide-now", "decide-reason"} {
		if seen.doc.Find("[data-testid=vote-form] #"+target).Length() != 1 || seen.doc.Find("[data-testid=decide-bar] a[href='#"+target+"']").Length() != 1 {
			t.Errorf("the bar does not lead to %s in the form", target)
		}
	}
	if d.signedIn("fiona").get("/approvals/" + d.ask(d.robot(), approvalFor("501.00"))).has("match") {
		t.Error("a request without order and receipt shows a match")
	}
}

// The words stand beside the figures so that a slipped digit is seen: the longest amount needs them most.
func TestEveryAmountThatIsAcceptedHasWords(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"EUR", "JPY", "KWD", "CLF"} {
		digits := models.CurrencyDigits(code)
		accepted := 0
		for n := 1; n <= 40; n++ {
			whole := strings.Repeat("9", n)
			for _, text := range []string{whole, "-" + whole, whole + "." + strings.Repeat("9", digits)} {
				if _, err := models.ParseMoney(text, code); err != nil {
					continue
				}
				accepted++
				for _, l := range lang.All() {
					if words := ui.Words(l, text, code); words == "" || strings.Contains(words, "  ") {
						t.Errorf("%s %s is %q in words of %s", text, code, words, l.Tag())
					}
				}
			}
		}
		if accepted < 60 {
			t.Errorf("of %s only %d amounts were accepted", code, accepted)
		}
	}
}

func TestAnAmountOfZeroIsShownWithoutASign(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := strings.Replace(approvalFor("-0.00"), `"amount": "1234.50"`, `"amount": "-0.00"`, 1)
	request := d.ask(d.robot(), withEvidence(text, `{"kind": "table", "columns": ["line", "ordered", "received", "unit_price"], "rows": [["1", "-5", "-5", "0.00"]]}`))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	seen.wants(t, "amount-in-words", "zero EUR")
	seen.wants(t, "match-total", "0.00")
	// What was sent stands there as it was sent, in the call and the evidence.
	seen.doc.Find(".code-text, [data-testid=evidence], .call, .data").Remove()
	for name, shown := range map[string]string{"request": seen.doc.Text(), "list": fiona.get("/approvals").doc.Text(), "home": fiona.get("/").doc.Text()} {
		for _, sign := range []string{"-0.0", "\u22120", "minus"} {
			if i := strings.Index(shown, sign); i >= 0 {
				t.Errorf("the %s shows %q", name, shown[max(0, i-60):min(len(shown), i+20)])
			}
		}
	}
}

// docs/evidence.md shows one request whole and what the page says of it; its lists of names are tested in approvals.
func TestTheDocumentedEvidenceMakesTheComparison(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, after, _ := strings.Cut(string(text), "```"+language+"\n")
		inside, _, ok := strings.Cut(after, "```")
		if !ok {
			t.Fatalf("the page has no example in %s", language)
		}
		return inside
	}
	d := newDesk(t)
	seen := d.signedIn("fiona").get("/approvals/" + d.ask(d.robot(), block("json")))
	match := seen.testID("match-verdict") + seen.testID("match")
	for line := range strings.Lines(block("text")) {
		if line = strings.TrimSpace(line); !strings.Contains(match, line) {
			t.Errorf("the page does not say %q: %s", line, match)
		}
	}
	seen.wants(t, "match-line", "20 at 118.00", "2,360.00", "20 at 123.90", "2,478.00", "+118.00")
}

func TestWhatChangedSinceTheEarlierRequestIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	first := d.ask(d.robot(), approvalFor("500.00"))
	fiona.follow(fiona.send(fiona.get("/approvals/"+first), "send-back-form", one("reason", "Only half was delivered.", "input.amount", "250.00")))
	d.clock.Advance(2 * time.Hour)
	again := d.ask(d.robot(), strings.ReplaceAll(approvalFor("250.00"), "Price difference", "Half of it"))
	seen := felix.get("/approvals/" + again)
	seen.wants(t, "earlier-request", "Fiona sent it back 2 h ago", "Only half was delivered.", "1 piece of evidence came with it, as many as then")
	var changed []string
	seen.doc.Find("[data-testid=changed]").Each(func(_ int, row *goquery.Selection) {
		var cells []string
		row.Children().Each(func(_ int, cell *goquery.Selection) { cells = append(cells, strings.TrimSpace(cell.Text())) })
		changed = append(changed, strings.Join(cells, " "))
	})
	if want := []string{"Amount EUR 500.00 EUR 250.00", "amount 500.00 250.00", "text Price difference Half of it"}; !slices.Equal(changed, want) {
		t.Errorf("the changes read %q, want %q", changed, want)
	}
	if felix.get("/approvals/" + first).has("earlier-request") {
		t.Error("the first request has an earlier one")
	}
	fiona.get("/approvals/"+again).wants(t, "why-not", "corrected an earlier step of this invoice")
}

func TestTheDeadlineIsSaidAndWarnedOf(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	early := fiona.get("/approvals/" + request)
	early.wants(t, "deadline", "7 days are left, until Monday 12 October 2026 at 11:00, Europe/Berlin")
	early.wants(t, "my-limit", "You may approve here up to EUR 10,000.00, more only together with somebody else.")
	early.wants(t, "needed", "a yes of Finance lead")
	if early.has("lapses-soon") {
		t.Error("a request with a week left is warned of")
	}
	d.clock.Advance(time.Second)
	d.signedIn("fiona").get("/approvals/"+request).wants(t, "deadline", "7 days are left")
	d.clock.Advance(4*24*time.Hour + 2*time.Hour) // Friday 13:00: a weekend lies between
	d.signedIn("fiona").get("/approvals/"+request).wants(t, "lapses-soon", "Less than a business day is left", "Monday 12 October 2026 at 11:00")
}

// For each thing that keeps somebody from deciding, the page, the answer to a forced vote and the trail
// say the same.
func TestEveryBarIsSaidRefusedAndOnTheTrailAlike(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(company, "frida", models.RoleFinanceLead, models.RoleAgent)
	d.person(company, "otto", models.RoleFinanceLead, models.RoleAPLead)
	frida := d.agent(company, "frida", models.RoleFinanceLead, models.RoleAgent)
	frida.Kind, frida.OwnerID, frida.TokenBy = models.KindPerson, "", d.users["felix"].ID
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Exec("UPDATE users SET owner_id = ? WHERE id = ?", d.users["otto"].ID, d.users["robot"].ID).Error
	})
	owned := d.robot()
	owned.OwnerID = d.users["otto"].ID
	byAuthor := models.Principal{UserID: d.users["otto"].ID, UserName: "Otto", Kind: models.KindPerson, WorkspaceID: company, Roles: []models.Role{models.RoleFinanceLead, models.RoleAPLead}, Channel: models.ChannelWeb}
	asked := d.ask(frida, approvalFor("11.00"))
	robots := d.ask(owned, approvalFor("12.00"))
	voted := d.ask(d.robot(), approvalFor("25000.00"))
	if _, err := d.approvals.CreateRule(t.Context(), byAuthor, approvals.NewRule{Tool: "post_invoice_adjustment", Currency: "EUR", From: "13", To: "13", Role: models.RoleFinanceLead}); err != nil {
		t.Fatal(err)
	}
	written := d.ask(d.robot(), approvalFor("13.00"))
	strict, err := d.approvals.CreateRule(t.Context(), models.Operator(company), approvals.NewRule{Tool: "post_invoice_adjustment", Currency: "EUR", From: "14", To: "14", Role: models.RoleFinanceLead, Required: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.approvals.RetireRule(t.Context(), byAuthor, strict.ID, 1); err != nil {
		t.Fatal(err)
	}
	loosened := d.ask(d.robot(), approvalFor("14.00"))
	fiona := d.signedIn("fiona")
	fiona.follow(fiona.send(fiona.get("/approvals/"+voted), "vote-form", one("decision", "approve")))
	for _, c := range []struct{ name, who, request, words, reason string }{
		{"asked", "frida", asked, "asked for this", "asker"},
		{"made the token", "felix", asked, "made the token that asked for this", "token_creator"},
		{"answers for the account", "otto", robots, "answer for the account that asked for this", "responsible"},
		{"voted already", "fiona", voted, "voted on this request already", "voted"},
		{"wrote the rule", "otto", written, "wrote the version of the rule that routed this", "rule_author"},
		{"took out the rule for two", "otto", loosened, "took out or changed the rule that asked two people for this", "rule_for_two_taken_out"},
		{"holds no role", "anna", robots, "Finance lead, which you do not hold", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			who := d.signedIn(c.who)
			seen := who.get("/approvals/" + c.request)
			said := seen.testID("why-not")
			if !strings.Contains(said, c.words) || seen.has("vote-form") || seen.has("decide-bar") {
				t.Fatalf("the page says %q", said)
			}
			forced := who.do(http.MethodPost, "/approvals/"+c.request+"/vote", one("decision", "approve", "version", "1", "csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", "")))
			if forced.status != http.StatusUnprocessableEntity && forced.status != http.StatusForbidden {
				t.Errorf("a forced vote is answered %d", forced.status)
			}
			forced.wants(t, "conflict", said)
			var e models.AuditEvent
			d.tx(models.System(company), func(tx *models.Tx) error {
				return tx.DB.Where("action = ? AND subject = ? AND actor_id = ?", "vote.refused", c.request, d.users[c.who].ID).Take(&e).Error
			})
			var data struct{ Why, Reason string }
			if err := json.Unmarshal([]byte(e.Data), &data); err != nil || data.Why != said || data.Reason != c.reason {
				t.Errorf("the trail holds %s; the page says %q (%v)", e.Data, said, err)
			}
		})
	}
}

func TestSeveralAreApprovedFromTheList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fine, over, two := d.ask(d.robot(), approvalFor("100.10")), d.ask(d.robot(), withEvidence(approvalFor("200.20"), matched)), d.ask(d.robot(), approvalFor("25000.00"))
	fiona := d.signedIn("fiona")
	list := fiona.get("/approvals")
	list.wants(t, "totals", "What waits for you", "25,300.30 EUR", "3 requests")
	if n := list.doc.Find("[data-testid=pick-form] input[name=request][checked]").Length(); n != 0 {
		t.Errorf("%d are ticked before anybody did", n)
	}
	all, _ := list.doc.Find("[data-testid=pick-all]").Attr("href")
	ticked := fiona.get(all)
	if n := ticked.doc.Find("[data-testid=pick-form] input[name=request][checked]").Length(); n != 3 {
		t.Errorf("the link ticks %d of 3", n)
	}
	preview := fiona.send(ticked, "pick-form", url.Values{"request": {fine, over, two}})
	if preview.status != http.StatusOK {
		t.Fatalf("the preview is answered %d", preview.status)
	}
	preview.wants(t, "totals", "What would be approved", "25,300.30 EUR", "3 requests")
	preview.wants(t, "bulk-look", "Over the tolerance of 2 %")
	preview.wants(t, "bulk-item", "Post an adjustment of 100.10 EUR on invoice 5105600123", "Nordwind GmbH", "INV-778", "1 more person has to say yes after you")
	fiona.get("/approvals/"+fine).wants(t, "approval-status", "Pending")

	// Leaving out works with the form's own buttons, without script.
	action, sent := preview.fill(t, "bulk-form", nil)
	if action != "/approvals/bulk/approve" || len(sent["item"]) != 3 {
		t.Fatalf("the form posts %v to %s", sent, action)
	}
	less := maps.Clone(sent)
	less.Set("skip", "marked")
	without := fiona.do(http.MethodPost, "/approvals/bulk", less)
	without.wants(t, "totals", "25,100.10 EUR", "2 requests")
	if strings.Contains(without.testID("bulk-item"), "200.20") {
		t.Error("what is marked is still there")
	}
	less.Del("skip")
	less.Set("without", two)
	fiona.do(http.MethodPost, "/approvals/bulk", less).wants(t, "totals", "300.30 EUR", "2 requests")

	done := fiona.do(http.MethodPost, action, sent)
	done.wants(t, "totals", "Approved", "300.30 EUR", "2 requests")
	done.wants(t, "bulk-result", "Approved", "Your yes is recorded", "waits for one more yes of Finance lead")
	fiona.get("/approvals/"+fine).wants(t, "approval-status", "Approved")
	twice := fiona.do(http.MethodPost, action, sent)
	if text := twice.testID("bulk-result"); strings.Count(text, "Already decided by you") != 3 || twice.has("totals") {
		t.Errorf("sent twice it reads %q", text)
	}
	if back := fiona.do(http.MethodGet, "/approvals/bulk", nil); back.status != http.StatusSeeOther {
		t.Errorf("coming back to the preview is answered %d", back.status)
	}
	felix := d.signedIn("felix")
	none := felix.send(felix.get("/approvals"), "pick-form", nil)
	if none.status != http.StatusUnprocessableEntity || !strings.Contains(none.testID("bulk-problem"), "Tick at least one request") {
		t.Errorf("nothing ticked is answered %d: %s", none.status, none.testID("bulk-problem"))
	}
	forged := fiona.do(http.MethodPost, action, url.Values{"item": sent["item"]})
	if forged.status != http.StatusForbidden {
		t.Errorf("a form without its token is answered %d", forged.status)
	}
}

func TestTheListIsNarrowed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ask(d.robot(), approvalFor("100.10"))
	d.ask(d.robot(), strings.ReplaceAll(approvalFor("5.00"), "V-2001", "V-9"))
	fiona := d.signedIn("fiona")
	narrowed := fiona.get("/approvals?tab=mine&supplier=V-9&currency=eur&asked_by=" + d.users["robot"].ID)
	if n := narrowed.doc.Find("[data-testid=approval-row]").Length(); n != 1 || !strings.Contains(narrowed.testID("approval-row"), "5.00 EUR") {
		t.Errorf("%d rows: %s", n, narrowed.testID("approval-row"))
	}
	narrowed.wants(t, "totals", "5.00 EUR")
	if text := narrowed.text("details.filter summary"); text != "Narrowed to EUR, supplier V-9 and asked by robot" {
		t.Errorf("it says %q", text)
	}
	fiona.get("/approvals?tab=open&tool=other").wants(t, "empty", "Nothing here is like that")
	if n := fiona.get("/approvals?tab=open&supplier=V-2001").doc.Find("[data-testid=approval-row]").Length(); n != 1 {
		t.Errorf("all open shows %d", n)
	}
}

func TestTheAgentIsAskedAboutARequest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	silent := fiona.send(seen, "ask-form", one("question", " "))
	if silent.status != http.StatusUnprocessableEntity || !strings.Contains(silent.testID("error-summary"), "The question was not sent") {
		t.Errorf("an empty question is answered %d: %s", silent.status, silent.testID("error-summary"))
	}
	after := fiona.follow(fiona.send(seen, "ask-form", one("question", "Who signed the <b>delivery note</b>?")))
	after.wants(t, "question", "Fiona", "Who signed the <b>delivery note</b>?", "has not answered yet")
	if !after.has("vote-form") {
		t.Error("a question keeps her from deciding")
	}
	view, err := d.approvals.Get(t.Context(), d.robot(), request)
	if err != nil || view.Instruction == nil || view.Instruction.Question == "" {
		t.Fatalf("the agent is told %+v, %v", view.Instruction, err)
	}
	id, _ := view.Instruction.Input["case_id"].(string)
	answer, idem, err := wire.ReadAnswer(d.body(`{"case_id": "` + id + `", "answer": "Mr Tanaka did."}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.queue.Answer(t.Context(), d.robot(), answer, idem); err != nil {
		t.Fatal(err)
	}
	fiona.get("/approvals/"+request).wants(t, "question", "Mr Tanaka did.", "robot answered")
}

// A request opened out of a list carries the list in its address; the proof's address is its own all the same.
func TestTheProofIsFoundFromARequestOpenedInAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	from := fiona.get("/approvals").doc.Find("tr[data-request='"+id+"'] a").AttrOr("href", "")
	if !strings.Contains(from, "from=") {
		t.Fatalf("the list leads to %s", from)
	}
	proof := fiona.get(from).doc.Find("[data-testid=proof-link]").AttrOr("href", "")
	fiona.get(proof).wants(t, "proof", id)
}

// A value that no call can carry comes back at its field, with everything that was typed.
func TestACorrectionThatNobodyCanUseComesBackAtItsField(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("2100.00"))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	for _, c := range []struct{ field, value, want string }{
		{"input.currency", "XXZ", "ISO 4217"}, {"input.currency", "usd", "ISO 4217"}, {"input.currency", "JPY", "correct the amount too"},
		{"input.supplier_id", "V-\u202e1002", "cannot be seen"}, {"input.supplier_id", "V-\u00071002", "cannot be seen"}, {"input.invoice_id", "51\u200b05", "cannot be seen"},
		{"input.amount", "two", "an amount such as"}, {"input.posting_date", "2026-02-30", "date"},
	} {
		back := fiona.send(seen, "send-back-form", one("reason", "Not like this.", "input.document_text", "", c.field, c.value))
		if back.status != http.StatusUnprocessableEntity {
			t.Fatalf("%s %q is answered %d", c.field, c.value, back.status)
		}
		form := back.doc.Find("[data-testid=send-back-form]")
		field := form.Find("[name='" + c.field + "']")
		id := field.AttrOr("id", "none")
		if got := field.AttrOr("value", ""); got != c.value || field.AttrOr("aria-invalid", "") != "true" {
			t.Errorf("%s was typed as %q and is now %q", c.field, c.value, got)
		}
		if said := form.Find("[id='" + id + "-error']").Text(); !strings.Contains(said, c.want) {
			t.Errorf("%s %q: the field says %q", c.field, c.value, said)
		}
		if form.Find("textarea[name=reason]").Text() != "Not like this." || !strings.Contains(back.testID("approval-status"), "Pending") {
			t.Errorf("%s %q: the reason is lost or something was decided", c.field, c.value)
		}
	}
}

// What stands inside a list or object of the call can be corrected too, and reads as what it is.
func TestAValueInsideTheCallIsCorrectedOnThePage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.SetBinding("post_lines", models.Binding{InvoiceID: "/invoice_id", Amount: "/lines/0/value", Currency: "/sum/currency"})
	})
	request := d.ask(d.robot(), `{"invoice": {"id": "5105600123", "supplier_id": "V-2001", "amount": "2100.00", "currency": "EUR"}, "amount": "2100.00", "currency": "EUR", "summary": "Post it",
		"action": {"tool": "post_lines", "arguments": {"invoice_id": "5105600123", "note": "first\nsecond", "lines": [{"value": "2100.00", "tax": 399}], "sum": {"currency": "EUR"}}}}`)
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + request)
	seen.wants(t, "send-back-form", "Amount", "Stands inside the call at /lines/0/value.", "/sum/currency")
	wrong := fiona.send(seen, "send-back-form", one("reason", "Wrong.", "input./sum/currency", "XXZ"))
	if said := wrong.doc.Find("[id='back-sum-currency-error']").Text(); wrong.status != http.StatusUnprocessableEntity || !strings.Contains(said, "ISO 4217") {
		t.Errorf("answered %d, the field says %q", wrong.status, said)
	}
	if same := fiona.send(seen, "send-back-form", one("reason", "Wrong.", "input.note", "first\r\nsecond", "input./lines/0/value", "2100.00")); same.status != http.StatusUnprocessableEntity {
		t.Errorf("sending back without a change is answered %d", same.status)
	}
	after := fiona.follow(fiona.send(seen, "send-back-form", one("reason", "Only a part came.", "input./lines/0/value", "210.00")))
	after.wants(t, "sent-back", "lines › [1] › value: 210.00")
	if strings.Contains(after.testID("sent-back"), "399") {
		t.Error("what did not change is told as a correction")
	}
	fiona.get("/approvals/"+request+"/proof").wants(t, "proof", "lines › [1] › value: 210.00")
}

// What a form refuses as unseen is what the pages mark.
func TestUnseenCharactersAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if text := string(r); utf8.ValidRune(r) && models.HasUnseen(text) != ui.Visible(text)[0].Mark {
			t.Errorf("U+%04X is refused: %v, marked: %v", r, models.HasUnseen(text), ui.Visible(text)[0].Mark)
		}
	}
	if !models.HasUnseen("\xff") || !ui.Visible("\xff")[0].Mark {
		t.Error("a byte that is no text is let through")
	}
}

func TestCreditNotesStandBesideWhatIsPosted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ids := url.Values{"request": {d.ask(d.robot(), approvalFor("3001.00")), d.ask(d.robot(), approvalFor("3002.00")), d.ask(d.robot(), approvalFor("-3003.00"))}}
	fiona, felix := d.signedIn("fiona"), d.inGerman("felix")
	list := fiona.get("/approvals")
	list.wants(t, "totals", "6,003.00 EUR2 requests", "credits−3,003.00 EUR1 request")
	preview := fiona.send(list, "pick-form", ids)
	preview.wants(t, "totals", "6,003.00 EUR2 requests", "credits−3,003.00 EUR1 request")
	german := felix.send(felix.get("/approvals"), "pick-form", ids)
	german.isGerman(t, "a preview with a credit note")
	german.wants(t, "totals", "Gutschriften")
	action, sent := preview.fill(t, "bulk-form", nil)
	fiona.do(http.MethodPost, action, sent).wants(t, "totals", "Approved", "6,003.00 EUR2 requests", "credits−3,003.00 EUR1 request")
}

// What cannot be approved with others still says what it is; of what is not here nothing is made up.
func TestWhatIsLeftOutOfSeveralSaysWhatItIs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mine, gone := d.ask(d.robot(), approvalFor("10.00")), d.ask(d.robot(), approvalFor("11.00"))
	foreign := d.ask(d.agent(other, "robo2", models.RoleAgent), `{"invoice": {"id": "9", "amount": "1", "currency": "JPY"}, "action": {"tool": "pay", "arguments": {"a": "1"}}, "amount": "1", "currency": "JPY", "summary": "Secret"}`)
	fiona, felix := d.signedIn("fiona"), d.inGerman("felix")
	list := fiona.get("/approvals")
	ids := url.Values{"request": {mine, gone, foreign, "areq_nowhere"}}
	germanList := felix.get("/approvals")
	first, _ := fiona.send(list, "pick-form", ids).fill(t, "bulk-form", nil)
	d.approve("fiona", models.RoleFinanceLead, gone)
	preview := fiona.send(list, "pick-form", ids)
	items := preview.doc.Find("[data-testid=bulk-item]")
	if items.Length() != 4 || first == "" {
		t.Fatalf("%d items", items.Length())
	}
	if text := items.Eq(1).Text(); !strings.Contains(text, "Post an adjustment of 11.00 EUR on invoice 5105600123") {
		t.Errorf("what was decided meanwhile reads %q", text)
	}
	for i := 2; i < 4; i++ {
		item := items.Eq(i)
		if text := item.Text(); !strings.Contains(text, "This request is not here") || !strings.Contains(text, "no such request in this workspace") || strings.Contains(text, "no summary") ||
			strings.Contains(text, "not named") || strings.Contains(text, "Secret") || item.Find("a").Length() > 0 {
			t.Errorf("what is not here reads %q", text)
		}
	}
	_, sent := preview.fill(t, "bulk-form", nil)
	sent["item"] = append(sent["item"], foreign+"@1", "areq_nowhere@1")
	done := fiona.do(http.MethodPost, "/approvals/bulk/approve", sent)
	if text := done.testID("bulk-result"); strings.Count(text, "This request is not here") != 2 || strings.Contains(text, "no summary") || strings.Contains(text, "without a number") {
		t.Errorf("the result reads %q", text)
	}
	felix.send(germanList, "pick-form", ids).isGerman(t, "a preview with requests that are not here")
}

func TestAYesOfWhoLeftIsMarkedAtItsRow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(company, "flora", models.RoleFinanceLead)
	request := d.ask(d.robot(), approvalFor("25000.00"))
	d.approve("felix", models.RoleFinanceLead, request)
	fiona, german := d.signedIn("fiona"), d.inGerman("fiona")
	if fiona.get("/approvals/" + request).has("vote-lost") {
		t.Error("a yes that counts is marked")
	}
	d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.DeactivateMember(d.users["felix"].ID, "Left.") })
	seen := fiona.get("/approvals/" + request)
	seen.wants(t, "who-decides", "Votes so far: 0 of 2", "Yes, counts no longer")
	seen.wants(t, "vote-lost", "This yes no longer counts. Felix, who approved, is no longer an active member of the workspace.")
	german.get("/approvals/"+request).isGerman(t, "a yes that counts no longer")
}

// A limit that a rule of two people gives is never called one's own.
func TestALimitSaysWhatIsOnlyForTwo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fiona := d.signedIn("fiona")
	request := d.ask(d.robot(), approvalFor("25000.00"))
	fiona.get("/approvals/"+request).wants(t, "my-limit", "You may approve here up to EUR 10,000.00, more only together with somebody else.")
	d.inGerman("fiona").get("/approvals/"+request).isGerman(t, "a limit for two")
	d.rule(company, approvals.NewRule{Currency: "USD", From: "0", To: "99999999999999999999.99", Role: models.RoleFinanceLead, Required: 2})
	dollars := d.ask(d.robot(), strings.ReplaceAll(approvalFor("7.00"), `"currency": "EUR"`, `"currency": "USD"`))
	fiona.get("/approvals/"+dollars).wants(t, "my-limit", "You may approve here only together with somebody else: up to USD 99,999,999,999,999,999,999.99.")
}

func TestWhoCannotEditPointersIsToldWhoCan(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lars := d.signedIn("lars").get("/settings/rules")
	lars.wants(t, "pointers-by", "by the admins of this workspace")
	if d.signedIn("adam").get("/settings/rules").has("pointers-by") {
		t.Error("an admin is sent to somebody else")
	}
	d.inGerman("lars").get("/settings/rules").isGerman(t, "rules with pointers")
}
