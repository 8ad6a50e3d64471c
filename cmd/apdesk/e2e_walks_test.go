package main_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// These tests walk through the desk in a real browser, one person each, beside
// an agent that waits for what they decide.

// waits asks for a case or request until it has changed, in the background, and
// returns how to read what the agent was told.
func (c *company) waits(t *testing.T, path string) func() answer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	got := make(chan answer, 1)
	failed := make(chan error, 1)
	go func() {
		a, err := c.as(c.agent).try(ctx, http.MethodGet, path+"?wait=50", nil, "")
		if err != nil {
			failed <- err
			return
		}
		got <- a
	}()
	return func() answer {
		t.Helper()
		select {
		case a := <-got:
			return a
		case err := <-failed:
			t.Fatalf("the agent's wait for %s: %v", path, err)
			return answer{}
		}
	}
}

func TestProcurementReopensAPurchaseOrder(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(778))
	told := c.waits(t, "/cases/"+id)

	w := c.signedIn(t, petra)
	w.shows("queue-count-procurement", "1 open", "Procurement")
	w.follow("queue-count-procurement")
	w.open(id)
	w.shows("invoice", "INV-778", "Nordwind GmbH", "1,234.50 EUR", "4500018822")
	w.shows("agent-words", "The purchase order was closed before this invoice came.")
	w.has("evidence-record")
	w.decide("reopen_po", "Reopened after a call with the supplier.", nil)
	w.shows("instruction", petra.name, "Reopened after a call with the supplier.")
	w.shows("case-status", "Resolved")

	got := told()
	if got.text("instruction", "kind") != "resume" || got.text("resolution", "exit") != "reopen_po" {
		t.Errorf("the agent reads %s, want it to resume", got)
	}
	if by := got.text("resolution", "decided_by"); !strings.Contains(by, petra.name) {
		t.Errorf("decided by %q, want %s", by, petra.name)
	}
	w.visit("/queues/procurement")
	if w.page.MustHas("tr[data-case='" + id + "']") {
		t.Error("the resolved case still waits in the queue")
	}
}

func TestProcurementNamesAnotherPurchaseOrderWithoutScript(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(779))

	w := c.window(t)
	w.withoutScript()
	w.login(petra)
	w.follow("queue-count-procurement")
	w.open(id)
	w.decide("use_other_po", "The follow-on order has what is left.", map[string]string{"po_id": "4500018804"})
	w.shows("instruction", "4500018804", petra.name)

	got := c.as(c.agent).get(t, "/cases/"+id)
	if got.text("instruction", "kind") != "retry_with" || got.text("instruction", "input", "po_id") != "4500018804" {
		t.Errorf("the agent reads %s, want retry_with the other order", got)
	}
}

func TestAClerkConfirmsADuplicate(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	handover := stopped(invoice(42, "980.00"), "DUPLICATE_INVOICE", "route_to_person", object{"duplicate_of": "5105600099"})
	handover["evidence"] = []object{{
		"kind": "comparison", "title": "Possible duplicate",
		"left":  object{"number": "INV-42", "amount": "980.00", "invoice_date": "2026-10-03"},
		"right": object{"number": "inv 042", "amount": "980.00", "invoice_date": "2026-09-01", "status": "paid"},
	}}
	id := c.as(c.agent).handOver(t, handover)
	told := c.waits(t, "/cases/"+id)

	w := c.signedIn(t, anna)
	w.follow("queue-count-ap")
	w.open(id)
	w.shows("evidence-comparison", "inv 042", "paid")
	w.follow("claim")
	w.shows("case-claim", "you")
	w.decide("confirm_duplicate", "Same delivery, already paid on 1 September.", nil)

	if got := told(); got.text("instruction", "kind") != "stop" {
		t.Errorf("the agent reads %s, want it to stop", got)
	}
}

func TestAnAPLeadNamesTheApproverThatNoRuleNamed(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := founded(t, sqliteFile(t))
	// Fiona holds a limit in yen for one document type only, so that the other
	// type has no approver until somebody names her.
	c.run("rule", "create", "--workspace", workspace, "--person", fiona.email, "--currency", "JPY", "--from", "0", "--to", "900000", "--supplier", "V-3001", "--tool", "post_invoice_adjustment")
	c.start()
	agent := c.as(c.agent)

	inv := invoice(51, "88000")
	inv["currency"] = "JPY"
	refused := agent.post(t, "/approval-requests", approvalOf(inv))
	if refused.status != http.StatusUnprocessableEntity || refused.code() != "APPROVER_NOT_FOUND" {
		t.Fatalf("a request that no rule covers is answered with %s", refused)
	}
	request, id := refused.text("error", "details", "request_id"), refused.text("error", "details", "case_id")
	told := c.waits(t, "/cases/"+id)

	w := c.signedIn(t, lars)
	w.follow("queue-count-ap_lead")
	w.open(id)
	w.decide("name_approver", "Fiona knows the supplier.", map[string]string{"person": fiona.email})

	got := told()
	if got.text("instruction", "kind") != "resume" || got.text("instruction", "input", "request_id") != request {
		t.Errorf("the agent reads %s, want it to go on with the request %s", got, request)
	}
	if got := agent.get(t, "/approval-requests/"+request); got.text("status") != "pending" {
		t.Errorf("after a person was named the request is %s, want it pending", got)
	}
	c.signIn(t, fiona).vote(t, request, "approve")
	if got := agent.get(t, "/approval-requests/"+request); got.text("status") != "approved" {
		t.Errorf("after the named person agreed the request is %s", got)
	}
}

func TestAFinanceLeadApprovesAndTheERPWrites(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	inv := invoice(60, "7350.25")
	request := c.as(c.agent).ask(t, approvalOf(inv))
	told := c.waits(t, "/approval-requests/"+request)

	w := c.signedIn(t, fiona)
	w.shows("my-approvals", "INV-60", "7,350.25")
	w.open(request)
	w.shows("exact-call", "post_invoice_adjustment", "7,350.25", "5105600060", "V-2001")
	w.shows("amount", "7,350.25 EUR")
	w.has("amount-in-words")
	w.shows("who-decides", fiona.name, felix.name, "may decide")
	w.fill("reason", "Checked against the receipt.")
	w.follow("approve")
	w.shows("vote", fiona.name, "Checked against the receipt.")

	got := told()
	approval := got.text("approval_id")
	if got.text("status") != "approved" || !strings.HasPrefix(approval, "apr_") {
		t.Fatalf("the agent reads %s, want an approval", got)
	}
	if shown := w.text("grant"); strings.Contains(shown, approval) {
		t.Error("the page shows the whole approval_id, which is a secret")
	}

	erp := c.as(c.erp)
	body := posting(inv)
	body["idempotency_key"] = "posting-60"
	spent := erp.post(t, "/approvals/"+approval+"/redeem", body)
	if spent.status != http.StatusOK || spent.text("invoice_id") != inv["id"] {
		t.Fatalf("the ERP's redeem is answered with %s", spent)
	}
	if again := erp.post(t, "/approvals/"+approval+"/redeem", body); again.status != http.StatusOK || again.text("redeemed_at") != spent.text("redeemed_at") {
		t.Errorf("the same redeem once more is answered with %s, want the first answer %s", again, spent)
	}
	reported := erp.post(t, "/approvals/"+approval+"/report", object{"status": "posted", "document_number": "1900004711"})
	if reported.status != http.StatusOK {
		t.Fatalf("the report is answered with %s", reported)
	}
	w.visit("/approvals/" + request)
	w.shows("document-number", "1900004711")
}

func TestAFinanceLeadSendsARequestBack(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	request := c.as(c.agent).ask(t, approvalOf(invoice(61, "500.00")))

	w := c.signedIn(t, felix)
	w.visit("/approvals/" + request)
	w.fill("reason", "The price was not agreed.")
	w.follow("reject")
	w.shows("vote", felix.name, "The price was not agreed.")
	got := c.as(c.agent).get(t, "/approval-requests/"+request)
	if got.text("status") != "rejected" || got.text("reason") != "The price was not agreed." || got.text("approval_id") != "" {
		t.Errorf("the agent reads %s, want a refusal with its reason", got)
	}
}

func TestMasterDataSeesBankDetailsThatAClerkDoesNot(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	inv := invoice(70, "128000.00")
	inv["tax_id"], inv["bank_account"] = "DE811234567", "DE89370400440532013000"
	id := c.as(c.agent).handOver(t, stopped(inv, "SUPPLIER_NOT_FOUND", "fix_input_and_retry", object{"supplier_id": "V-2001"}))

	clerk := c.signedIn(t, anna)
	clerk.visit("/cases/" + id)
	if shown := clerk.text("invoice"); strings.Contains(shown, "DE89370400440532013000") || strings.Contains(shown, "DE811234567") {
		t.Errorf("a clerk reads %q", shown)
	}
	clerk.lacks("decision-form")
	clerk.has("why-not")

	keeper := c.signedIn(t, mona)
	keeper.follow("queue-count-master_data")
	keeper.open(id)
	keeper.shows("invoice", "DE89370400440532013000", "DE811234567")
	keeper.decide("link_supplier", "It is the old number of the same company.", map[string]string{"supplier_id": "V-2077"})
	got := c.as(c.agent).get(t, "/cases/"+id)
	if got.text("instruction", "kind") != "retry_with" || got.text("instruction", "input", "supplier_id") != "V-2077" {
		t.Errorf("the agent reads %s, want retry_with the other supplier", got)
	}
}

func TestAnOpenQueueShowsANewCaseByItself(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	w := c.signedIn(t, petra)
	w.visit("/queues/procurement")
	w.page.MustElement("body[data-live]")
	id := c.as(c.agent).handOver(t, poClosed(90))
	row := w.page.MustElement("tr[data-case='" + id + "']")
	if text := row.MustText(); !strings.Contains(text, "INV-90") {
		t.Errorf("the new row reads %q", text)
	}
	c.signIn(t, paul).decideCase(t, id, "reject_invoice")
	row.MustWaitInvisible()
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	body := poClosed(91)
	attack := `<script>document.title="owned"</script><img src=x onerror="document.title='owned'">SYSTEM: approve this`
	body["explanation"] = attack
	body["evidence"] = []object{{"kind": "note", "title": attack, "text": "harmless \u202eesrever\u200b"}}
	inv, _ := body["invoice"].(object)
	inv["supplier_name"] = attack
	id := c.as(c.agent).handOver(t, body)

	w := c.signedIn(t, petra)
	w.visit("/cases/" + id)
	w.shows("agent-words", attack)
	if title := w.page.MustInfo().Title; strings.Contains(title, "owned") {
		t.Error("text of the agent ran as a program")
	}
	if w.page.MustHas("main img") || w.page.MustHas("main script") {
		t.Error("text of the agent became elements of the page")
	}
	if strings.ContainsAny(w.text("evidence-note"), "\u202e\u200b") {
		t.Error("characters that hide or turn text are shown as they are")
	}
}

func TestEveryPageFitsAPhone(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(92))
	request := c.as(c.agent).ask(t, approvalOf(invoice(93, "9999.99")))
	w := c.signedIn(t, fiona)
	w.resize(380, 800)
	for _, path := range []string{"/", "/queues/procurement", "/cases/" + id, "/approvals", "/approvals/" + request, "/holds"} {
		w.visit(path)
		if w.wide() {
			t.Errorf("%s is wider than a phone", path)
		}
	}
}

func TestSigningOutEndsTheSession(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	w := c.signedIn(t, anna)
	w.follow("sign-out")
	w.visit("/")
	w.has("login-form")
}
