package main_test

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
)

// These tests spend a day with those who see to it that the others can work: the AP lead, the admin and the
// auditor. They open one address and go on by links and forms.

// link follows a link by its words.
func (w *window) link(words string) {
	w.t.Helper()
	w.leave(func() *rod.Element { return w.page.MustElementR("a", "^\\s*"+words) })
}

// tick ticks what stands in the row of a case or request.
func (w *window) tick(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.page.MustElement("tr[data-case='" + id + "'] input[type=checkbox]").MustClick()
	}
}

// unfold opens what is folded away behind words.
func (w *window) unfold(words string) {
	w.t.Helper()
	click(w.t, func() *rod.Element { return w.page.MustElementR("summary", words) })
}

// check ticks or unticks the box of a field.
func (w *window) check(name, value string) {
	w.t.Helper()
	click(w.t, func() *rod.Element { return w.page.MustElement("input[name='" + name + "'][value='" + value + "']") })
}

// within presses a button, named by the beginning of its words, in a part of the page.
func (w *window) within(part, button string) {
	w.t.Helper()
	w.leave(func() *rod.Element { return w.page.MustElement(part).MustElementR("button", "^\\s*"+button) })
}

// berlin is where the company's days begin.
func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// late makes cases overdue, as the hours that pass would.
func (c *company) late(t testing.TB, ids ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(c.database, "sqlite:")+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, id := range ids {
		if _, err := db.Exec("UPDATE cases SET due_at = created_at WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADayOfTheAPLead(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := founded(t, sqliteFile(t))
	c.run("rule", "create", "--workspace", workspace, "--person", fiona.email, "--currency", "JPY", "--from", "0", "--to", "900000", "--supplier", "V-3001")
	c.run("rule", "create", "--workspace", workspace, "--person", felix.email, "--tool", "post_invoice_adjustment", "--currency", "EUR", "--from", "5000.01", "--to", "10000")
	c.start()
	agent := c.as(c.agent)
	unrouted := func(n int, amount, currency string) (request, id string) {
		inv := invoice(n, amount)
		inv["currency"] = currency
		refused := agent.post(t, "/approval-requests", approvalOf(inv))
		if refused.code() != "APPROVER_NOT_FOUND" {
			t.Fatalf("a request that no rule covers is answered with %s", refused)
		}
		return refused.text("error", "details", "request_id"), refused.text("error", "details", "case_id")
	}
	status := func(request string) string { return agent.get(t, "/approval-requests/"+request).text("status") }
	yen, yenCase := unrouted(301, "88000", "JPY")
	francs, francsCase := unrouted(302, "300.00", "CHF")
	waiting := agent.ask(t, approvalOf(invoice(303, "7500.75")))
	var duplicates []string
	for n := range 3 {
		handover := stopped(invoice(310+n, "75.00"), "DUPLICATE_INVOICE", "route_to_person", object{"duplicate_of": "5105600099"})
		duplicates = append(duplicates, agent.handOver(t, handover))
	}
	closed := agent.handOver(t, poClosed(320))
	c.late(t, duplicates[:2]...)

	w := c.signedIn(t, lars)
	w.shows("queue-count-ap_lead", "2 open", "AP lead")

	// A request that no rule covers gets somebody by name.
	w.follow("queue-count-ap_lead")
	w.open(yenCase)
	w.shows("unrouted-request", "88,000 JPY", "post_invoice_adjustment")
	w.decide("name_approver", "Fiona knows the supplier.", map[string]string{"person": fiona.email})
	w.shows("instruction", lars.name, "Fiona knows the supplier.")
	if got := status(yen); got != "pending" {
		t.Errorf("after Fiona was named the request is %s", got)
	}

	// The gap in the matrix is closed once, tried, and the other request goes its way.
	w.follow("nav-rules")
	w.fill("currency", "CHF")
	w.fill("to", "1000")
	w.fill("role", "finance_lead")
	w.press("Add the rule")
	w.shows("flash", "The rule is added")
	w.shows("rules", "CHF", "1,000.00")
	w.follow("rules-try")
	w.fill("tool", "post_invoice_adjustment")
	w.fill("amount", "300")
	w.fill("currency", "CHF")
	w.press("Try it")
	w.shows("try-rule", "1,000.00 CHF")
	w.shows("try-people", fiona.name, felix.name)
	w.follow("nav-queue-ap_lead")
	w.open(francsCase)
	w.decide("matrix_fixed", "A rule for francs was missing.", nil)
	w.shows("case-status", "Resolved")
	if got := status(francs); got != "pending" {
		t.Errorf("after the rule was added the request is %s", got)
	}
	c.signIn(t, fiona).vote(t, francs, "approve")
	if got := status(francs); got != "approved" {
		t.Errorf("by the new rule the request is %s", got)
	}

	// Somebody is ill: what waits for them goes to a colleague.
	w.follow("nav-away")
	w.fill("person", felix.name)
	w.fill("delegate", fiona.name)
	today := time.Now().In(berlin(t)).Format(time.DateOnly)
	w.fill("first_day", today)
	w.fill("last_day", today)
	w.fill("note", "Ill since this morning")
	w.press("Plan the absence")
	w.shows("flash", "The absence is planned")
	w.shows("other-delegations", felix.name, fiona.name, "Ill since this morning")
	place := c.signIn(t, fiona)
	if list := place.get(t, "/approvals"); !strings.Contains(list.text("approval-row"), "on behalf of "+felix.name) {
		t.Errorf("what waits for Fiona reads %q", list.text("approval-row"))
	}
	place.vote(t, waiting, "approve")
	if got := agent.get(t, "/approval-requests/"+waiting); got.text("status") != "approved" || !strings.Contains(got.String(), fiona.name) || !strings.Contains(got.String(), felix.name) {
		t.Errorf("decided in Felix's place the agent reads %s", got)
	}

	// A case in the wrong hands is moved.
	w.follow("nav-queue-procurement")
	w.open(closed)
	w.unfold("Move to another queue")
	w.fill("to", "ap_lead")
	w.has("reroute-form").MustElement("[name=reason]").MustInput("I know what was agreed.")
	w.follow("reroute-submit")
	w.shows("rerouted", "I know what was agreed.")
	if got := agent.get(t, "/cases/"+closed).text("queue"); got != "ap_lead" {
		t.Errorf("the case is in the queue %s", got)
	}

	// What is overdue is found on the desk, and given to somebody together.
	w.follow("nav-home")
	w.shows("overdue-cases", "INV-310", "INV-311")
	w.shows("overdue-ap", "2 overdue")
	w.follow("overdue-ap")
	if rows := w.page.MustElements("[data-testid=case-row]"); len(rows) != 2 {
		t.Errorf("%d cases are overdue", len(rows))
	}
	w.tick(duplicates[:2]...)
	w.follow("bulk-claim")
	if items := w.page.MustElements("[data-testid=bulk-case]"); len(items) != 2 {
		t.Errorf("%d cases are shown before they are claimed", len(items))
	}
	if got := agent.get(t, "/cases/"+duplicates[0]).text("claimed_by"); got != "" {
		t.Errorf("the preview claimed for %s", got)
	}
	w.follow("bulk-do")
	w.page.MustElementR("main", "2 claimed")
	for _, id := range duplicates[:2] {
		if got := agent.get(t, "/cases/"+id).text("claimed_by"); got != lars.name {
			t.Errorf("the case is claimed by %q", got)
		}
	}
	w.follow("bulk-back")
	w.tick(duplicates[:2]...)
	w.follow("bulk-reroute")
	w.fill("to", "ap_lead")
	w.fill("reason", "I decide these with the supplier.")
	w.follow("bulk-do")
	w.page.MustElementR("main", "2 sent on")
	if got := agent.get(t, "/cases/"+duplicates[1]).text("queue"); got != "ap_lead" {
		t.Errorf("the overdue case is in the queue %s", got)
	}
	w.follow("nav-home")
	w.shows("queue-count-ap", "1 open")
	w.shows("queue-count-ap_lead", "3 open")
}

func TestADayOfAnAdmin(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := founded(t, sqliteFile(t))
	quinn := cast{"Quinn Quist", "quinn@example.com", ""}
	c.runWith(password+"\n", "user", "create", "--email", quinn.email, "--name", quinn.name, "--workspace", workspace, "--role", "procurement,finance_lead", "--password-stdin")
	leaving := token(c.run("token", "create", "--user", quinn.email, "--name", "laptop", "--scope", "cases:read"))
	c.start()
	agent := c.as(c.agent)
	claimed, asked := agent.handOver(t, poClosed(401)), approvalOf(invoice(402, "900.00"))
	request := agent.ask(t, asked)
	left := c.signIn(t, quinn)
	claim := left.get(t, "/cases/"+claimed).doc.Find("[data-testid=claim]").Closest("form")
	if p, err := left.submitForm(t.Context(), claim, nil); err != nil || p.status != http.StatusOK {
		t.Fatalf("claiming is answered with %s %v", p, err)
	}
	left.vote(t, request, "approve")
	approval := agent.get(t, "/approval-requests/"+request).text("approval_id")
	if approval == "" || agent.get(t, "/cases/"+claimed).text("claimed_by") != quinn.name {
		t.Fatal("Quinn has neither a claim nor an approval to leave behind")
	}

	// A newcomer is invited, comes in by the link, and has the role they were given.
	w := c.signedIn(t, adam)
	w.follow("nav-settings")
	w.follow("tab-people")
	w.fill("email", "nele@example.com")
	w.fill("name", "Nele Neu")
	w.check("role", "ap_clerk")
	w.press("Add")
	w.shows("invitations", "nele@example.com", "AP clerk")
	link := w.has("secret").MustProperty("value").Str()
	guest := c.window(t)
	guest.page.MustNavigate(link).MustWaitLoad()
	guest.fill("name", "Nele Neu")
	guest.fill("password", password)
	guest.fill("again", password)
	guest.press("Join")
	guest.fill("email", "nele@example.com")
	guest.fill("password", password)
	guest.press("Sign in")
	guest.shows("signed-in-as", "Nele Neu", "AP clerk")

	// A role more.
	w.follow("nav-settings")
	w.follow("tab-people")
	w.link("Nele Neu")
	w.check("role", "procurement")
	w.press("Set the roles")
	w.shows("flash", "The roles are set")
	w.shows("person-facts", "AP clerk", "Procurement")
	guest.follow("queue-count-procurement")
	guest.open(claimed)
	guest.shows("signed-in-as", "Procurement")
	guest.shows("case-claim", quinn.name)

	// Somebody leaves: first it is said what that means, then it happens.
	w.follow("nav-settings")
	w.follow("tab-people")
	w.link(quinn.name)
	w.follow("deactivate")
	w.shows("will", "1 claimed case goes back", "1 approval that "+quinn.name+" gave and nobody used is revoked", "1 session ends", "1 token is revoked")
	if agent.get(t, "/cases/"+claimed).text("claimed_by") == "" {
		t.Error("asking took the claim away")
	}
	w.fill("reason", "Left the company.")
	w.press("Deactivate " + quinn.name)
	w.shows("flash", "deactivated")
	w.shows("gone", quinn.name)
	if got := agent.get(t, "/cases/"+claimed).text("claimed_by"); got != "" {
		t.Errorf("the case is claimed by %s still", got)
	}
	spend := posting(asked["invoice"].(object))
	spend["idempotency_key"] = "after-quinn"
	if got := c.as(c.erp).post(t, "/approvals/"+approval+"/redeem", spend); got.code() != "APPROVAL_MISSING" {
		t.Errorf("what Quinn approved is redeemed with %s", got)
	}
	if got := c.as(leaving).get(t, "/cases/"+claimed); got.status != http.StatusUnauthorized {
		t.Errorf("Quinn's token is answered with %s", got)
	}
	if p := left.get(t, "/"); p.path != "/login" {
		t.Errorf("Quinn's browser is at %s", p.path)
	}

	// A token is made, seen once, and taken back.
	w.follow("nav-settings")
	w.follow("tab-tokens")
	w.fill("user", "agent@example.com")
	w.fill("name", "second agent")
	w.check("scope", "cases:write")
	w.fill("days", "30")
	w.press("Make the token")
	second := token(w.has("secret").MustProperty("value").Str())
	if got := c.as(second).get(t, "/cases/"+claimed); got.status != http.StatusOK {
		t.Errorf("the new token is answered with %s", got)
	}
	w.follow("nav-settings")
	w.follow("tab-tokens")
	w.lacks("secret")
	w.leave(func() *rod.Element {
		return w.page.MustElementR("[data-testid=token-row]", "second agent").MustElement("[data-testid=revoke-token]")
	})
	w.shows("flash", "revoked")
	if got := c.as(second).get(t, "/cases/"+claimed); got.status != http.StatusUnauthorized {
		t.Errorf("the revoked token is answered with %s", got)
	}

	// Hours, holidays and how long a queue has.
	before := agent.get(t, "/cases/"+agent.handOver(t, stopped(invoice(403, "10.00"), "DUPLICATE_INVOICE", "route_to_person", object{"duplicate_of": "1"}))).text("due_at")
	w.follow("nav-settings")
	w.fill("day", "2027-12-24")
	w.press("Add the holiday")
	w.shows("holidays", "24 Dec 2027")
	w.follow("tab-hours")
	w.fill("hours.ap", "2")
	w.fill("due_soon.ap", "1")
	w.follow("hours-preview")
	w.shows("hours-example", "not saved yet")
	w.follow("hours-save")
	w.shows("hours-example", "As it is now", "2 business hours")
	if after := agent.get(t, "/cases/"+agent.handOver(t, stopped(invoice(404, "10.00"), "DUPLICATE_INVOICE", "route_to_person", object{"duplicate_of": "1"}))).text("due_at"); after >= before {
		t.Errorf("with two hours for a case it is due at %s, with eight at %s", after, before)
	}

	// What agents may do over which channel, and when people are asked again that it is them.
	cell := "tr[data-action=route_to_person] td:nth-of-type(2)"
	w.follow("tab-security")
	w.within(cell, "Block")
	if got := agent.post(t, "/handovers", poClosed(405)); got.status != http.StatusForbidden {
		t.Errorf("the blocked call is answered with %s", got)
	}
	w.within(cell, "Allow")
	agent.handOver(t, poClosed(405))
	w.fill("above", "500")
	w.press("Save the amount")
	w.shows("ask-again-amount", "above 500.00 EUR")
	big := agent.ask(t, approvalOf(invoice(406, "700.00")))
	if p := c.signIn(t, fiona).get(t, "/approvals/"+big); p.text("step-up") == "" {
		t.Error("above the amount nobody is asked again that it is them")
	}

	// Being an admin gives no say over money.
	w.follow("nav-approvals")
	w.follow("tab-open")
	w.open(big)
	w.has("why-not")
	w.lacks("vote-form")
}

// changesNothing fails if the page offers anything to send but what is the person's own.
func (w *window) changesNothing() {
	w.t.Helper()
	for _, form := range w.page.MustEval(`() => Array.from(document.querySelectorAll("main form[method=post]")).map((f) => f.getAttribute("action"))`).Arr() {
		if form.Str() != "/views" {
			w.t.Errorf("%s lets an auditor send something to %s", w.path(), form.Str())
		}
	}
}

// file is what a link to a file leads to.
func (w *window) file(testID string) string {
	w.t.Helper()
	return w.has(testID).MustEval(`async function () { return (await fetch(this.href)).text() }`).Str()
}

func TestADayOfAnAuditor(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent, erp := c.as(c.agent), c.as(c.erp)
	inv := invoice(501, "7350.25")
	handover := poClosed(501)
	handover["invoice"] = inv
	id := agent.handOver(t, handover)
	c.signIn(t, petra).decideCase(t, id, "reopen_po")
	request, approval := c.approved(t, inv)
	spend := posting(inv)
	spend["idempotency_key"] = "posting-501"
	if got := erp.post(t, "/approvals/"+approval+"/redeem", spend); got.status != http.StatusOK {
		t.Fatalf("the redeem is answered with %s", got)
	}
	if got := erp.post(t, "/approvals/"+approval+"/report", object{"status": "posted", "document_number": "1900004711"}); got.status != http.StatusOK {
		t.Fatalf("the report is answered with %s", got)
	}
	lead := c.signIn(t, lars)
	rules := lead.get(t, "/settings/rules")
	rule, _ := rules.doc.Find("[data-testid=rule-link]").First().Attr("href")
	changed := lead.get(t, rule).doc.Find("form[data-testid=rule-form]")
	sent := url.Values{}
	changed.Find("input, select").Each(func(_ int, f *goquery.Selection) {
		sent.Set(f.AttrOr("name", ""), f.AttrOr("value", f.Find("[selected]").AttrOr("value", "")))
	})
	sent.Set("to", "9000")
	if p, err := lead.submitForm(t.Context(), changed, sent); err != nil || p.status != http.StatusOK {
		t.Fatalf("the rule is changed with %s %v", p, err)
	}

	// Who did what, narrowed to what is looked for, with what was there before.
	w := c.signedIn(t, audra)
	w.changesNothing()
	w.follow("nav-audit")
	w.changesNothing()
	w.unfold("Narrow the list")
	w.fill("action", "rule.replaced")
	w.press("Narrow")
	w.shows("trail", lars.name, "rule.replaced")
	w.shows("changes", "To Before 10000 After 9000")
	if rows := w.page.MustElements("[data-testid=event]"); len(rows) != 1 {
		t.Errorf("%d events are left", len(rows))
	}
	w.link("Show all")
	w.unfold("Narrow the list")
	w.fill("actor", petra.name)
	w.press("Narrow")
	w.shows("trail", petra.name)
	if strings.Contains(w.text("trail"), lars.name) {
		t.Error("narrowed to Petra the trail shows what Lars did")
	}

	// What is chosen can be taken along, whole.
	lines := strings.Split(strings.TrimSpace(w.file("export-jsonl")), "\n")
	if rows := w.page.MustElements("[data-testid=event]"); len(lines) != len(rows) {
		t.Errorf("%d events are shown and %d exported", len(rows), len(lines))
	}
	for _, line := range lines {
		var event object
		if err := json.Unmarshal([]byte(line), &event); err != nil || !strings.Contains(line, petra.name) {
			t.Errorf("the export has the line %s (%v)", line, err)
		}
	}
	if sheet := w.file("export-csv"); !strings.Contains(sheet, petra.name) || !strings.Contains(sheet, "case.resolved") || strings.Contains(sheet, lars.name) {
		t.Errorf("the sheet is %s", sheet)
	}

	// From the event to the case, and on to all that happened to the invoice.
	w.leave(func() *rod.Element {
		return w.page.MustElement("[data-action='case.resolved'] .audit__links a[href^='/cases/']")
	})
	w.changesNothing()
	w.shows("instruction", petra.name, "Checked.")
	w.has("why-not")
	w.follow("invoice-link")
	w.changesNothing()
	story := w.page.MustElement("main").MustText()
	for _, part := range []string{"Purchase order closed", petra.name, fiona.name, "7,350.25 EUR", "1900004711"} {
		if !strings.Contains(story, part) {
			t.Errorf("the story of the invoice lacks %q: %s", part, story)
		}
	}

	// Who approved the write by which authority, to print and to check.
	w.follow("nav-approvals")
	w.follow("tab-decided")
	w.open(request)
	w.changesNothing()
	w.follow("proof-link")
	w.changesNothing()
	w.shows("proof", request, "7,350.25", fiona.name, "1900004711", "Checked with the buyer.")
	pdf, err := w.page.PDF(&proto.PagePrintToPDF{})
	if err != nil {
		t.Fatal(err)
	}
	if printed, err := io.ReadAll(pdf); err != nil || !strings.HasPrefix(string(printed), "%PDF-") {
		t.Errorf("printing gives %.20q (%v)", printed, err)
	}
	digest := w.text("proof-digest")
	var record object
	if err := json.Unmarshal([]byte(w.file("proof-json")), &record); err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(record); err != nil || digest == "" || !strings.Contains(string(text), digest) || !strings.Contains(string(text), fiona.name) {
		t.Errorf("the record %s does not hold the fingerprint %s", text, digest)
	}

	// The rest of the desk is there to be read as well.
	for _, page := range []string{"nav-rules", "nav-away", "nav-holds", "nav-confirmations", "nav-cases", "nav-settings", "tab-people", "tab-servers", "tab-security", "tab-hours"} {
		w.follow(page)
		w.changesNothing()
	}
}

// unseen lists what forms ask for or are sent with and nobody can see, once all that is folded is open.
const unseen = `() => {
	for (const fold of document.querySelectorAll("details")) fold.open = true;
	return Array.from(document.querySelectorAll("form button, form input, form select, form textarea, button[form]"))
		.filter((e) => e.type !== "hidden" && !e.closest("[hidden], dialog"))
		.filter((e) => !e.checkVisibility({visibilityProperty: true}) || e.getBoundingClientRect().width < 1)
		.map((e) => e.outerHTML.slice(0, 200));
}`

// What forms of every kind of page show without script is there to be seen: no rule of the style waits for a
// script to uncover it.
func TestWithoutScriptEveryFieldAndButtonCanBeSeen(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	id, request := agent.handOver(t, poClosed(601)), agent.ask(t, approvalOf(invoice(602, "700.00")))
	for _, of := range []struct {
		who   cast
		pages []string
	}{
		{petra, []string{"/queues/procurement", "/cases/" + id, "/settings/me", "/settings/me/security", "/settings/tokens"}},
		{fiona, []string{"/approvals", "/approvals/" + request, "/settings", "/settings/servers", "/settings/delegations"}},
		{adam, []string{"/settings", "/settings/people", "/settings/rules", "/settings/rules/import", "/settings/rules/try", "/settings/hours", "/settings/security", "/audit", "/reports"}},
	} {
		w := c.window(t)
		w.withoutScript()
		w.login(of.who)
		for _, path := range of.pages {
			w.visit(path)
			if w.page.MustEval(`() => document.querySelectorAll("main form").length`).Int() == 0 {
				t.Errorf("%s shows %s no form", path, of.who.name)
			}
			for _, e := range w.page.MustEval(unseen).Arr() {
				t.Errorf("%s hides %s", path, e.Str())
			}
		}
	}
}
