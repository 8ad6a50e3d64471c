package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// onlyByScript are the addresses of forms that need script, with what a person without it has instead.
var onlyByScript = map[string]string{
	"/drafts":                   "text is kept while it is typed; without script it stays in the form until it is sent",
	"/presence":                 "who else looks at a case is told by those who look with script",
	"/presence/leave":           "as /presence",
	"/settings/me/passkeys":     "browsers make passkeys for scripts alone; passwords and recovery codes need none",
	"/settings/me/passkeys/ask": "as /settings/me/passkeys",
	"/settings/me/confirm/ask":  "as /settings/me/passkeys",
	"/login/second/ask":         "as /settings/me/passkeys",
	"/login/second use-passkey": "as /settings/me/passkeys",
	"/settings/me/passkeys add": "as /settings/me/passkeys",
	"/cases/:id":                "another name of /cases/:id/decision",
	"/approvals/:id":            "another name of /approvals/:id/vote",
}

// ofOneself are the acts that change nothing but what is a person's own.
var ofOneself = []string{"/logout ", "/workspace ", "/settings/me ", "/settings/me/", "/settings/tokens", "/views", "/notices/", "/drafts/discard "}

// walk is one desk on which everybody does everything there is to do.
type walk struct {
	*site
	t    *testing.T
	acts *acts
	last int // invoice
}

// as is the browser of somebody, at their desk.
func (k *walk) as(role models.Role) *scriptless {
	b := k.browser(k.people[role], k.acts)
	b.t = k.t
	return b.opened("/")
}

// at is the browser of somebody else than those who hold one role each.
func (k *walk) at(email string) *scriptless {
	who := k.person(email)
	b := k.browser(k.session(models.User{ID: who.UserID, Name: who.UserName}), k.acts)
	b.t = k.t
	return b.opened("/")
}

// invoiceID is an invoice nobody has seen yet.
func (k *walk) invoiceID() string {
	k.last++
	return fmt.Sprintf("51057%05d", k.last)
}

// handOver files a stop. One for want of a receipt comes to people when the last check has found none.
func (k *walk) handOver(code string) (caseID string) {
	k.t.Helper()
	if code == "GR_MISSING" {
		hold := k.filed("/holds", "agent-all", k.holdOf(k.invoiceID()), "hold_id")
		for caseID == "" {
			caseID = k.filed("/holds/"+hold+"/recheck", "agent-all", `{"result": "still_missing"}`, "case_id")
		}
		return caseID
	}
	return k.filed("/handovers", "agent-all", k.handover(k.invoiceID(), code), "case_id")
}

func (k *walk) ask(amount string) (requestID string) {
	return k.filed("/approval-requests", "agent-all", k.write(k.invoiceID(), amount), "request_id")
}

// told is what the agent reads.
func (k *walk) told(path string, texts ...string) {
	k.t.Helper()
	a := k.call(http.MethodGet, "/api/v1"+path, "agent-all", "")
	for _, text := range texts {
		if !strings.Contains(strings.ReplaceAll(a.body, `": "`, `":"`), text) {
			k.t.Errorf("the agent reads %.400s…, which lacks %s", a.body, text)
		}
	}
}

// Every act of the product, by people who have switched script off: whatever form is on any page anybody can
// reach, somebody here has sent it and it was taken.
func TestEveryActWorksWithoutScript(t *testing.T) {
	t.Parallel()
	k := &walk{site: newSite(t, plainTexts), t: t}
	k.acts = newActs(k.site)
	for _, role := range models.Roles() {
		b := k.as(role)
		b.acts = newActs(k.site)
		if pages := b.crawl(); pages < 20 {
			t.Errorf("%s finds the way to %d pages only", role, pages)
		}
		for act, at := range b.acts.seen {
			if role == models.RoleAuditor && !slices.ContainsFunc(ofOneself, func(path string) bool { return strings.HasPrefix(act, path) }) {
				t.Errorf("an auditor, who changes nothing, is offered %s at %s", act, at)
			}
		}
		maps.Copy(k.acts.seen, b.acts.seen)
	}
	for _, part := range []struct {
		name string
		walk func()
	}{
		{"cases", k.workOnCases}, {"exits", k.chooseEveryExit}, {"lists", k.workOnLists}, {"approvals", k.decideApprovals}, {"confirmations", k.answerConfirmations},
		{"delegations", k.goAway}, {"rules", k.editRules}, {"settings", k.changeSettings}, {"people", k.inviteAndLeave},
	} {
		t.Run(part.name, func(t *testing.T) {
			k.t, k.site.t = t, t
			part.walk()
		})
	}
	k.t, k.site.t = t, t
	if t.Failed() {
		return // what nobody did may come of that
	}
	for _, act := range slices.Sorted(maps.Keys(k.acts.seen)) {
		if route, _, _ := strings.Cut(act, " "); !k.acts.done[act] && onlyByScript[route] == "" && onlyByScript[act] == "" {
			t.Errorf("nobody did this without script: %s, seen at %s", act, k.acts.seen[act])
		}
	}
	for _, r := range k.pageRoutes() {
		method, route, _ := strings.Cut(r, " ")
		used := slices.ContainsFunc(slices.Collect(maps.Keys(k.acts.done)), func(act string) bool { return strings.HasPrefix(act, route+" ") })
		if method == http.MethodPost && !used && onlyByScript[route] == "" {
			t.Errorf("no page leads to POST %s, or nobody did it", route)
		}
	}
}

func (k *walk) workOnCases() {
	id := k.handOver("PO_CLOSED")
	buyer := k.as(models.RoleProcurement)
	buyer.follow("queue-count-procurement").follow("/cases/" + id)
	buyer.press("claim", nil).reads("case-claim", "you").reads("flash", "You claimed this case")
	buyer.press("release", nil).reads("flash", "You released this case")
	buyer.press("Add the comment", values("text", "Who knows this order?", "mention", k.people[models.RoleFinanceLead].name)).reads("comment", "Who knows this order?", "@")
	buyer.press("add-file", values("file", uploaded("receipt.png", tinyPNG))).reads("files", "receipt.png", "Kranich procurement")
	if buyer.follow("receipt.png"); buyer.body != tinyPNG {
		k.t.Errorf("the file is %q", buyer.body)
	}
	buyer.opened("/cases/" + id)

	buyer.press("snooze-submit", values("until", "own", "until_at", "2026-10-09T12:00", "reason", "The buyer is away.")).reads("snoozed", "9 Oct, 12:00").reads("snooze", "The buyer is away.")
	buyer.press("unsnooze", nil)
	if buyer.has("snoozed") {
		k.t.Error("the case is snoozed still")
	}

	// What was typed stays until it is right.
	buyer.try("decide", values("exit", "use_other_po", "input.po_id", "", "reason", "The follow-on order has what is left."))
	if buyer.status != http.StatusUnprocessableEntity || buyer.doc.Find("[data-testid=decision-form] textarea[name=reason]").Text() != "The follow-on order has what is left." ||
		buyer.doc.Find("[name=exit][value=use_other_po][checked]").Length() != 1 {
		k.t.Errorf("a decision without its field is answered %d: %s", buyer.status, buyer.text("decision-form"))
	}
	buyer.reads("error-summary", "Purchase order")
	buyer.press("decide", values("input.po_id", "4500018804")).reads("instruction", "4500018804", "The follow-on order has what is left.").reads("case-status", "Resolved")
	k.told("/cases/"+id, `"kind":"retry_with"`, `"po_id":"4500018804"`)

	// With a write of the agent's proposal, and on to the next case.
	id = k.handOver("PO_CLOSED")
	buyer.opened("/").follow("queue-count-procurement").follow("/cases/" + id)
	buyer.press("decide", values("exit", "reopen_po", "reason", "Reopened.", "after", "next", "proposed.0", "yes", "proposed.0.amount", "12.00", "proposed.0.posting_date", "2026-10-06", "proposed.0.summary", "Adjust it."))
	k.told("/cases/"+id, `"approval_request_ids":["areq_`)
	if !strings.HasPrefix(buyer.path, "/cases/") || strings.Contains(buyer.path, id) {
		k.t.Errorf("after the decision the page is %s", buyer.path)
	}

	// To another queue, and taken over there by the lead.
	id = k.handOver("PO_CLOSED")
	lead := k.as(models.RoleAPLead)
	lead.follow("queue-count-procurement").follow("/cases/" + id)
	lead.press("reroute-submit", values("to", "ap_lead", "reason", "The lead knows the supplier.")).reads("rerouted", "The lead knows the supplier.")
	k.told("/cases/"+id, `"queue":"ap_lead"`)

	id = k.handOver("APPROVER_NOT_FOUND")
	k.at("lena@example.test").follow("queue-count-ap_lead").follow("/cases/"+id).press("claim", nil)
	lead.opened("/").follow("queue-count-ap_lead").follow("/cases/"+id).press("take-over", nil).reads("case-claim", "you")

	// The text kept while somebody typed with script is shown to them without it, and can be thrown away.
	buyer.opened("/").follow("queue-count-procurement").follow("/cases/"+k.ids["case"]).reads("draft", "You had typed this")
	if buyer.press("discard-draft", nil); buyer.has("draft") {
		k.t.Error("the draft is there still")
	}

	// Who was named in the comment is told.
	named := k.as(models.RoleFinanceLead)
	named.follow("bell").reads("main", "Kranich procurement")
	named.press("open-notice", nil, "mentions you").reads("comments", "Who knows this order?")
	named.follow("bell").press("read-all", nil)
	if named.doc.Find("[data-testid=open-notice]").Length() > 0 {
		k.t.Error("there are unread notices still")
	}
}

// chooseEveryExit decides a case by every exit of every outcome.
func (k *walk) chooseEveryExit() {
	fields := url.Values{"input.po_id": {"4500018804"}, "input.until": {"2026-10-20"}, "input.person": {k.people[models.RoleFinanceLead].user.Email}, "input.posting_date": {"2026-10-06"}, "input.invoice_id": {"5105600777"},
		"input.supplier_id": {"V-2002"}, "input.amount": {"1000.00"}, "input.note": {"Take the order of May."}, "input.question": {"Which order did you mean?"}}
	for code, role := range map[string]models.Role{"PO_CLOSED": models.RoleProcurement, "DUPLICATE_INVOICE": models.RoleAPClerk, "APPROVER_NOT_FOUND": models.RoleAPLead, "PERIOD_CLOSED": models.RoleFinanceLead,
		"INVOICE_NOT_FOUND": models.RoleAPClerk, "PO_NOT_FOUND": models.RoleAPClerk, "SUPPLIER_NOT_FOUND": models.RoleMasterData, "GR_MISSING": models.RoleAPClerk, "NOT_KNOWN": models.RoleAPClerk} {
		owner := k.as(role)
		for left := []string{""}; len(left) > 0; left = left[1:] {
			id := k.handOver(code)
			owner.opened("/cases/" + id)
			if left[0] == "" {
				left = nil
				owner.doc.Find("[name=exit]").Each(func(_ int, e *goquery.Selection) { left = append(left, e.AttrOr("value", "")) })
				if len(left) == 0 {
					k.t.Fatalf("%s: %s finds no exits: %s", code, role, owner.text("main"))
				}
			}
			exit := left[0]
			filled := values("exit", exit, "reason", "Looked at it.")
			owner.doc.Find("[data-exit='" + exit + "'] [name^='input.']").Each(func(_ int, f *goquery.Selection) {
				name := f.AttrOr("name", "")
				if fields[name] == nil {
					k.t.Fatalf("%s %s asks for %s", code, exit, name)
				}
				filled[name] = fields[name]
			})
			owner.press("decide", filled)
			want := `"exit":"` + exit + `"`
			switch {
			case exit == "ask_agent":
				want = "Which order did you mean?"
			case exit == "treat_as_non_po" && code == "PO_CLOSED":
				want = `"queue":"ap"`
			case filled.Has("input.until") && exit != "reopen_period":
				want = `"status":"held"`
			}
			k.told("/cases/"+id, want)
		}
	}
}

func (k *walk) workOnLists() {
	first, second := k.handOver("PO_CLOSED"), k.handOver("PO_CLOSED")
	buyer := k.as(models.RoleProcurement)
	both := url.Values{"case": {first, second}}
	buyer.follow("queue-count-procurement").press("Narrow", values("code", "PO_CLOSED", "amount_from", "1000", "sort", "amount")).reads("chips", "Purchase order closed")
	buyer.follow("Age").follow("pick-all")
	buyer.follow("pick-none")

	// Views are named, renamed and thrown away.
	buyer.press("Keep it", values("name", "Closed orders")).reads("saved-as", "Closed orders")
	buyer.follow("nav-views").press("Rename", values("name", "Closed, by amount"), "Closed orders").reads("views", "Closed, by amount")
	buyer.follow("Closed, by amount").reads("chips", "Purchase order closed")
	buyer.follow("nav-views").press("delete-view", nil, "Closed, by amount")
	if strings.Contains(buyer.text("views"), "Closed, by amount") {
		k.t.Error("the view is there still")
	}

	// Several at once: each is shown first, and answered for afterwards.
	buyer.follow("nav-queue-procurement")
	many := func(act string, fields url.Values, outcome string) {
		k.t.Helper()
		buyer.press("act="+act, both)
		if n := buyer.doc.Find("[data-testid=bulk-case]").Length(); n != 2 {
			k.t.Errorf("%s: %d cases are shown first", act, n)
		}
		buyer.press("bulk-do", fields).reads("main", "What came of it", "2 "+outcome)
		buyer.follow("bulk-back")
	}
	many("claim", nil, "claimed")
	many("release", nil, "released")
	many("snooze", values("until", "own", "until_at", "2026-10-09T12:00", "reason", "Not before Friday."), "snoozed")
	both = url.Values{"case": {k.handOver("PO_CLOSED"), k.handOver("PO_CLOSED")}}
	buyer.follow("nav-queue-procurement")
	many("reroute", values("to", "ap", "reason", "They know."), "sent on")

	// Search, and what is found; a list as a sheet.
	buyer.press("Search", values("q", "4500018822")).reads("main", "More than 100 results", "Purchase order closed").follow("kind-case")
	buyer.doc.Find("[data-testid=search-hit] a").First().Each(func(_ int, a *goquery.Selection) { buyer.opened(a.AttrOr("href", "")) })
	if !strings.HasPrefix(buyer.path, "/cases/") && !strings.HasPrefix(buyer.path, "/invoices/") && !strings.HasPrefix(buyer.path, "/approvals/") {
		k.t.Errorf("the first hit leads to %s", buyer.path)
	}
	buyer.follow("nav-queue-procurement").follow("sheet")
	if !strings.Contains(buyer.body, "PO_CLOSED") || !strings.HasPrefix(buyer.header.Get("Content-Type"), "text/csv") {
		k.t.Errorf("the sheet is %s", buyer.body)
	}
	buyer.opened("/").follow("nav-holds").follow("/holds/"+k.ids["hold"]).reads("main", "4500018823")
}

func (k *walk) decideApprovals() {
	finance := k.as(models.RoleFinanceLead)
	from := func(id string) *scriptless {
		return finance.opened("/").follow("nav-approvals").follow("/approvals/" + id)
	}

	id := k.ask("101.00")
	from(id).press("ask", values("question", "Why so much?")).reads("question", "Why so much?")
	finance.press("approve", values("reason", "As agreed.")).reads("approval-status", "Approved").reads("vote", "As agreed.")
	k.told("/approval-requests/"+id, `"status":"approved"`)
	finance.follow("proof-link").reads("proof", id, "As agreed.").follow("proof-json")
	if !strings.Contains(finance.body, id) {
		k.t.Errorf("the proof is %s", finance.body)
	}
	finance.opened("/approvals/"+id).follow("Revoke the approval…").press("Revoke the approval", values("reason", "The wrong invoice.")).reads("main", "The wrong invoice.")
	k.told("/approval-requests/"+id, `revoked`)

	id = k.ask("102.00")
	from(id).press("reject", values("reason", "Not agreed."))
	k.told("/approval-requests/"+id, `"status":"rejected"`, "Not agreed.")

	id = k.ask("103.00")
	from(id).press("send-back", values("input.amount", "99.00", "reason", "The old price counts."))
	k.told("/approval-requests/"+id, `"status":"rejected"`, "99.00")

	// Several at once, some of which are left out.
	ids := []string{k.ask("104.00"), k.ask("105.00"), k.ask("106.00")}
	finance.opened("/").follow("nav-approvals").press("pick", url.Values{"request": ids})
	if n := finance.doc.Find("[data-testid=bulk-item] input[name=item]").Length(); n != 3 {
		k.t.Errorf("%d requests are shown first", n)
	}
	finance.press("without="+ids[0], nil)
	finance.press("bulk-approve", values("reason", "Two as agreed."))
	for id, status := range map[string]string{ids[0]: "pending", ids[1]: "approved", ids[2]: "approved"} {
		k.told("/approval-requests/"+id, `"status":"`+status+`"`)
	}

	// Those that need a look, since they may be duplicates, are left out together.
	alone := strings.NewReplacer("V-2001", "V-2077", "1234.50", "109.00", "INV-", "No ").Replace(k.write(k.invoiceID(), "109.00"))
	ids = []string{k.ask("107.00"), k.ask("108.00"), k.filed("/approval-requests", "agent-all", alone, "request_id")}
	finance.opened("/").follow("nav-approvals").press("pick", url.Values{"request": ids}).press("bulk-skip-marked", nil)
	if strings.Contains(finance.text("bulk-form"), "107.00") || !strings.Contains(finance.text("bulk-form"), "109.00") {
		k.t.Errorf("without those to look at the page reads %s", finance.text("bulk-form"))
	}

	// Who asked can take it back.
	id = k.filed("/approval-requests", "role-agent", k.write(k.invoiceID(), "107.00"), "request_id")
	asker := k.as(models.RoleAgent)
	asker.opened("/approvals/"+id).follow("Withdraw the request…").press("Withdraw the request", values("reason", "No longer needed."))
	finance.opened("/approvals/"+id).reads("main", "withdrawn")
}

func (k *walk) answerConfirmations() {
	buyer := k.as(models.RoleProcurement)
	question := k.question(k.invoiceID())
	everyKind := strings.Replace(question, `"confirm": {"type": "boolean"`, `"plain": {"type": "string", "minLength": 2, "maxLength": 10}, "mail": {"type": "string", "format": "email"}, "day": {"type": "string", "format": "date"},
		"moment": {"type": "string", "format": "date-time"}, "number": {"type": "number", "minimum": 0.5}, "whole": {"type": "integer", "minimum": 1, "maximum": 5},
		"many": {"type": "string", "enum": ["1", "2", "3", "4", "5", "6", "7", "8"]}, "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}}, "confirm": {"type": "boolean"`, 1)
	id := k.filed("/confirmations", "agent-all", everyKind, "confirmation_id")
	buyer.follow("nav-confirmations").follow("/confirmations/" + id)
	buyer.press("action=accept", url.Values{"content.confirm": {"true"}, "content.pick": {"two"}, "content.plain": {"Words"}, "content.mail": {"a@example.com"}, "content.day": {"2026-10-06"}, "content.moment": {"2026-10-06T10:30"},
		"content.number": {"1.50"}, "content.whole": {"3"}, "content.many": {"7"}, "content.tags": {"x", "z"}, "reason": {"It is a copy."}, "after": {"stay"}})
	buyer.reads("second-step-form", "Words", "a@example.com", "It is a copy.").press("action=change", nil).reads("answer-form", "It is a copy.")
	buyer.press("action=accept", nil)
	step := buyer.doc.Find("[data-testid=second-step-form] input[type=checkbox]")
	buyer.press("accept-now", url.Values{step.AttrOr("name", ""): {step.AttrOr("value", "")}}).reads("answer", "Accepted", "Words")

	for action, word := range map[string]string{"decline": "Declined", "cancel": "Cancelled"} {
		id := k.filed("/confirmations", "agent-all", question, "confirmation_id")
		buyer.opened("/").follow("nav-confirmations").follow("/confirmations/"+id).press("action="+action, values("after", "stay")).reads("answer", word)
	}
}

func (k *walk) goAway() {
	lead := k.as(models.RoleAPLead)
	lead.follow("nav-settings").follow("tab-away").press("Plan the absence", values("person", "second@"+k.texts.mark+".test", "delegate", "finance_lead@"+k.texts.mark+".test", "first_day", "2026-11-20", "last_day", "2026-11-21", "note", "A wedding"))
	lead.reads("other-delegations", "A wedding").press("Call it off", nil, "A wedding")
	if strings.Contains(lead.text("other-delegations"), "A wedding") {
		k.t.Error("the absence is planned still")
	}
	finance := k.as(models.RoleFinanceLead)
	finance.follow("nav-settings").follow("tab-away").press("Plan the absence", values("delegate", "second@"+k.texts.mark+".test", "first_day", "2026-10-05", "last_day", "2026-10-05", "note", "Half a day"))
	finance.reads("my-delegations", "Half a day").press("End it now", nil, "Half a day")
}

func (k *walk) editRules() {
	lead := k.as(models.RoleAPLead)
	lead.follow("nav-settings").follow("tab-rules")
	lead.press("Add the rule", values("tool", "pay_rent", "from", "0", "to", "500", "role", "finance_lead")).reads("rules", "pay_rent")
	lead.follow("rules-try").press("Try it", values("tool", "pay_rent", "amount", "450")).reads("try-result", "pay_rent")
	rule := ""
	lead.opened("/settings/rules").doc.Find("[data-testid=rule-link]").Each(func(_ int, a *goquery.Selection) {
		if strings.Contains(a.Closest("tbody").Text(), "pay_rent") {
			rule = a.AttrOr("href", "")
		}
	})
	lead.follow(rule).press("Save the next version", values("to", "600")).reads("rule-history", "600")
	lead.opened("/settings/rules").follow(rule).press("retire", nil).reads("flash", "retired")

	// A sheet, typed and as a file.
	sheet := k.people[models.RoleAPLead].sheet(false)
	lead.opened("/settings/rules").follow("rules-import").press("Check the sheet", values("sheet", sheet)).press("Apply: 1 change", nil)
	lead.reads("flash", "imported")
	lead.follow("rules-import").press("Check the sheet", values("file", uploaded("rules.csv", strings.Replace(sheet, "77", "79", 1)))).press("Apply: 1 change", nil).reads("flash", "imported")
	lead.follow("rules-history").reads("matrix-history", "77", "79")
	lead.opened("/settings/rules").follow("rules-export")
	if !strings.Contains(lead.body, "EUR") {
		k.t.Errorf("the sheet is %s", lead.body)
	}
}

func (k *walk) changeSettings() {
	lead, finance, admin := k.as(models.RoleAPLead), k.as(models.RoleFinanceLead), k.as(models.RoleAdmin)
	lead.follow("nav-settings").press("Add the holiday", values("day", "2026-12-31")).reads("holidays", "31 Dec 2026").press("Remove", nil, "31 Dec 2026")
	lead.follow("tab-hours").press("hours-preview", values("opens_at", "08:00", "hours.ap", "4")).reads("hours-example", "not saved yet")
	lead.press("hours-save", values("closes_at", "18:00")).reads("main", "18:00", "08:00")
	finance.follow("nav-settings").press("Move the date", values("period_closed_through", "2026-08-31")).reads("period-closed-through", "31 Aug 2026")
	admin.follow("nav-settings").press("Save the link", values("erp_link", "https://erp.example.com/{invoice_id}")).reads("erp-link", "https://erp.example.com/{invoice_id}")
	admin.press("Save the pointers", values("tool", "pay_rent", "invoice_id", "/a", "amount", "/b", "currency", "/c")).reads("bindings", "pay_rent").press("remove-binding", nil, "pay_rent")

	finance.follow("tab-servers").press("Add the rule", values("server_name", "Vault", "server_url", "https://vault.example.com/mcp", "role", "finance_lead")).reads("server-rules", "Vault")
	finance.press("Retire this rule", nil, "Vault")

	admin.follow("tab-security").press("Block", nil, "get_case").press("Allow", nil, "get_case")
	admin.press("Save the amount", values("above", "900", "currency", "EUR")).reads("ask-again-amount", "900.00").press("Remove", nil, "above 900.00")
	admin.press("require-passkey", nil).reads("second-factor", "passkey").press("Require it no more", nil)
}

func (k *walk) inviteAndLeave() {
	const password, better = "four words of no sense", "quite other words of sense"
	admin := k.as(models.RoleAdmin)
	admin.follow("nav-settings").follow("tab-people").press("Add", values("email", "late@example.test", "name", "Late", "role", "ap_clerk")).press("withdraw-invitation", nil, "late@example.test")
	admin.press("Add", values("email", "nora@example.test", "name", "Nora", "role", "finance_lead")).reads("invitations", "nora@example.test")
	link, err := url.Parse(admin.doc.Find("[data-testid=secret]").AttrOr("value", ""))
	if err != nil || link.Path == "" {
		k.t.Fatalf("the invitation shows %q", admin.text("made-secret"))
	}
	nora := k.browser(nil, k.acts)
	nora.t, nora.name = k.t, "Nora"
	nora.opened(link.RequestURI()).press("Join", values("name", "Nora New", "password", password, "again", password))
	if nora.try("Sign in", values("email", "nora@example.test", "password", "something else")); nora.status != http.StatusUnauthorized {
		k.t.Errorf("a wrong password is answered %d", nora.status)
	}
	nora.press("Sign in", values("email", "nora@example.test", "password", password)).reads("signed-in-as", "Nora New", "Finance lead")

	// What is about oneself.
	nora.follow("me").press("save-preferences", values("after_decision", "list", "language", "de", "theme", "dark"))
	if nora.doc.Find("html[lang=de]").Length() != 1 {
		k.t.Error("the page is not in German")
	}
	nora.press("save-preferences", values("language", "en"))
	nora.follow("account-link").press("Change the password", values("current", password, "password", better, "again", better))
	for _, button := range []string{"end-session", "end-all"} {
		other := k.browser(nil, k.acts)
		other.t = k.t
		other.opened("/login").press("Sign in", values("email", "nora@example.test", "password", better)).reads("signed-in-as", "Nora New")
		nora.opened("/settings/me/security").press(button, nil)
		if other.open("/"); !strings.HasPrefix(other.path, "/login") {
			k.t.Errorf("after %s the other browser is at %s", button, other.path)
		}
	}
	secret := func() string { return nora.doc.Find("[data-testid=secret]").AttrOr("value", "") }
	works := func(secret string, status int) {
		k.t.Helper()
		if a := k.call(http.MethodGet, "/api/v1/cases/"+k.ids["case"], secret, ""); a.status != status {
			k.t.Errorf("the token is answered %d, not %d", a.status, status)
		}
	}
	nora.follow("tab-tokens").press("Make the token", values("name", "Script", "scope", "cases:read", "days", "30"))
	first := secret()
	works(first, http.StatusOK)
	nora.press("rotate-token", nil, "Script")
	second := secret()
	works(second, http.StatusOK)
	nora.press("revoke-token", nil, "Script")
	works(second, http.StatusUnauthorized)

	// Asked again that it is them, they give their password.
	admin.opened("/settings/security").press("Save the amount", values("above", "50", "currency", "EUR"))
	id := k.ask("60.00")
	nora.opened("/").follow("nav-approvals").follow("/approvals/"+id).press("approve", values("reason", "Yes.", "password", better, "after", "stay")).reads("approval-status", "Approved")

	k.clock.Advance(models.StepUpFor + time.Minute)
	// With a passkey, a recovery code signs in where no script can ask for the passkey.
	nora.follow("me").follow("passkeys-link").press("confirm-me", values("password", better))
	k.in("1000", func(tx *models.Tx) error {
		user, err := tx.UserByEmail("nora@example.test")
		if err != nil {
			return err
		}
		for _, name := range []string{"Phone", "Lost key"} {
			key := models.Passkey{ID: tx.NewID(models.PrefixPasskey), UserID: user.ID, CredentialID: name, Name: name, Credential: "{}", CreatedAt: tx.Now}
			if err := tx.DB.Create(&key).Error; err != nil {
				return err
			}
		}
		return nil
	})
	nora.opened("/settings/me/passkeys").press("Save the name", values("name", "Old phone"), "Phone").press("remove-passkey", nil, "Lost key").press("renew-codes", nil)
	code := nora.doc.Find("[data-testid=recovery-codes] code").First().Text()
	nora.follow("kept").press("sign-out", nil)
	nora.press("Sign in", values("email", "nora@example.test", "password", better)).reads("main", "recovery code")
	nora.press("Sign in with the code", values("code", code)).reads("signed-in-as", "Nora New")

	// Other roles, and the end.
	admin.opened("/settings/people").follow("Nora New").press("Set the roles", url.Values{"role": {"finance_lead", "ap_clerk"}}).reads("person-facts", "AP clerk")
	admin.follow("deactivate").press("Deactivate Nora New", values("reason", "She left.")).reads("gone", "Nora New")
	if nora.open("/"); strings.Contains(nora.body, "queue-count-ap") {
		k.t.Error("who was deactivated is at work still")
	}
	admin.follow("Nora New").press("Reactivate", nil).reads("person-state", "Active")

	// Who works in two companies changes from one to the other.
	both := k.at("petra@example.test")
	both.press("Switch", values("workspace_id", "2000")).reads("main", "desk")
	if both.doc.Find("select[name=workspace_id] option[selected]").AttrOr("value", "") != "2000" {
		k.t.Error("the other company is not chosen")
	}
}
