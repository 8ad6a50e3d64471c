package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
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
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("error-summary"), "Felix may approve up to EUR 100,000.00") {
		t.Errorf("naming somebody without the limit is answered %d: %s", wrong.status, wrong.testID("error-summary"))
	}
	lars.follow(lars.send(seen, "decision-form", one("exit", "name_approver", "input.person", "fiona@example.com", "reason", "She knows it."))).wants(t, "case-status", "Resolved")
	d.signedIn("fiona").get("/approvals/"+request).wants(t, "who-decides", "One yes of Fiona", "named by Lars for this request only")
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
	gone.wants(t, "revoked", "Wrong supplier.")
	felix := d.signedIn("felix")
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
