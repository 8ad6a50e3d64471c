package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func TestProcurementFindsAndDecidesACase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")

	home := petra.get("/")
	home.wants(t, "queue-count-procurement", "1 open", "Procurement")
	if title := home.text("title"); !strings.HasPrefix(title, "Your desk (0)") {
		t.Errorf("the title is %q", title)
	}
	link, _ := home.doc.Find("[data-testid=queue-count-procurement]").Attr("href")
	list := petra.get(link)
	if title := list.text("title"); !strings.HasPrefix(title, "Procurement (1)") {
		t.Errorf("the title is %q", title)
	}
	row := list.doc.Find("tr[data-case='" + id + "']")
	if text := strings.Join(strings.Fields(row.Text()), " "); !strings.Contains(text, "Purchase order closed") || !strings.Contains(text, "INV-778") || !strings.Contains(text, "nobody") {
		t.Errorf("the row reads %q", text)
	}
	href, _ := row.Find("a").Attr("href")
	seen := petra.get(href)
	seen.wants(t, "invoice", "INV-778", "Nordwind GmbH", "4500018822", "3 Oct 2026")
	seen.wants(t, "agent-words", "The order is closed although goods are still to come.")
	seen.wants(t, "suggestion", "Reopen the purchase order")
	seen.wants(t, "evidence-record", "12345678901234567890", "closed")
	seen.wants(t, "case-status", "Open")
	if seen.doc.Find("input[name=exit][value=reopen_po]").Length() != 1 || seen.doc.Find("[name='input.po_id']").Length() != 1 {
		t.Error("the form lacks an exit or its field")
	}

	done := petra.send(seen, "decision-form", one("exit", "reopen_po", "reason", "Called the supplier."))
	after := petra.follow(done)
	after.wants(t, "case-status", "Resolved")
	after.wants(t, "instruction", "Petra", "Called the supplier.", "The agent goes on from where it stopped.", "procurement")
	after.wants(t, "flash", "Your decision is recorded")
	after.wants(t, "timeline", "Called the supplier.", "robot", "over MCP")
	if after.has("decision-form") {
		t.Error("a resolved case still has a form to decide it")
	}
	if again := petra.get(href); again.has("flash") {
		t.Error("the message is said twice")
	}
}

func TestOpeningACaseClaimsNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	first := petra.get("/cases/" + id)
	first.wants(t, "case-claim", "Claimed by nobody")
	petra.do(http.MethodHead, "/cases/"+id, nil)
	petra.get("/cases/"+id).wants(t, "case-claim", "Claimed by nobody")
}

func TestClaimReleaseAndTakeOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), duplicate)
	anna, lars := d.signedIn("anna"), d.signedIn("lars")

	mine := anna.follow(anna.press(anna.get("/cases/"+id), "claim"))
	mine.wants(t, "case-claim", "Claimed by you until 11:30")
	anna.get("/").wants(t, "my-cases", "INV-778", "Accounts payable")

	theirs := lars.get("/cases/" + id)
	theirs.wants(t, "case-claim", "Claimed by Anna until 11:30")
	theirs.wants(t, "why-not", "Anna holds this case.")
	if theirs.has("claim") || theirs.has("decision-form") {
		t.Error("a case somebody holds can be claimed or decided by another")
	}
	lars.follow(lars.press(theirs, "take-over")).wants(t, "case-claim", "Claimed by you")

	late := anna.press(mine, "release")
	if late.status != http.StatusConflict {
		t.Errorf("releasing what somebody took over is answered %d", late.status)
	}
	late.wants(t, "conflict", "Lars holds this case until 11:30.")
	lars.follow(lars.press(lars.get("/cases/"+id), "release")).wants(t, "case-claim", "Claimed by nobody")
}

func TestADecisionThatCameSecondIsToldWhoWasFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra, paul := d.signedIn("petra"), d.signedIn("paul")
	seenByPetra, seenByPaul := petra.get("/cases/"+id), paul.get("/cases/"+id)
	petra.follow(petra.send(seenByPetra, "decision-form", one("exit", "use_other_po", "input.po_id", "4500018901", "reason", "Follow-up order.")))
	d.clock.Advance(2 * time.Minute)

	late := paul.send(seenByPaul, "decision-form", one("exit", "reject_invoice", "reason", "Nobody ordered <b>this</b>."))
	if late.status != http.StatusConflict {
		t.Fatalf("the second decision is answered %d", late.status)
	}
	late.wants(t, "conflict", "Petra decided this 2 min ago", "use another purchase order", "Follow-up order.", "Nothing you sent was recorded")
	late.wants(t, "typed-kept", "Reject the invoice", "Nobody ordered <b>this</b>.")
	late.wants(t, "instruction", "4500018901")
	late.wants(t, "case-status", "Resolved")
}

func TestAStaleDecisionKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + id)
	d.clock.Advance(time.Minute)
	if joined := d.handOver(d.robot(), poClosed); joined != id {
		t.Fatalf("the same stop opened %s beside %s", joined, id)
	}
	stale := petra.send(seen, "decision-form", one("exit", "use_other_po", "input.po_id", "4500018901", "reason", "Follow-up order."))
	if stale.status != http.StatusConflict {
		t.Fatalf("a decision on an older version is answered %d", stale.status)
	}
	stale.wants(t, "changed-since", "robot handed over the same stop again")
	if got := stale.doc.Find("textarea[name=reason]").First().Text(); got != "Follow-up order." {
		t.Errorf("the reason typed is now %q", got)
	}
	if got := stale.doc.Find("[name='input.po_id']").AttrOr("value", ""); got != "4500018901" {
		t.Errorf("the order typed is now %q", got)
	}
	if stale.doc.Find("input[name=exit][value=use_other_po]").AttrOr("checked", "no") == "no" {
		t.Error("the exit chosen is no longer chosen")
	}
	again := petra.follow(petra.send(stale, "decision-form", one("exit", "use_other_po", "input.po_id", "4500018901", "reason", "Follow-up order.")))
	again.wants(t, "case-status", "Resolved")
}

func TestARefusedDecisionNamesItsFields(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + id)
	refused := petra.send(seen, "decision-form", one("exit", "use_other_po", "reason", ""))
	if refused.status != http.StatusUnprocessableEntity {
		t.Fatalf("answered %d", refused.status)
	}
	refused.wants(t, "error-summary", "The case was not decided", "Purchase order: must be filled in", "Reason: must say why")
	if petra.get("/cases/"+id).testID("case-status") != "○ Open" {
		t.Error("a refused decision changed the case")
	}
	none := petra.send(seen, "decision-form", one("reason", "because"))
	if none.status != http.StatusUnprocessableEntity || !strings.Contains(none.testID("error-summary"), "Choose what should happen") {
		t.Errorf("a decision without an exit is answered %d: %s", none.status, none.testID("error-summary"))
	}
	twice := petra.do(http.MethodPost, "/cases/"+id+"/decision", one("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""),
		"version", "1", "exit", "use_other_po", "input.po_id", "1", "input.po_id", "2", "reason", "x"))
	if twice.status != http.StatusUnprocessableEntity {
		t.Errorf("two different values for one field are answered %d", twice.status)
	}
}

func TestADecisionPostedToThePageItselfCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	_, form := petra.get("/cases/"+id).fill(t, "decision-form", one("exit", "reject_invoice", "reason", "Not ours."))
	petra.follow(petra.do(http.MethodPost, "/cases/"+id, form)).wants(t, "instruction", "Not ours.", "The agent stops")
}

func TestSomebodyOfAnotherRoleMayReadAndNotDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	_, form := petra.get("/cases/"+id).fill(t, "decision-form", one("exit", "reject_invoice", "reason", "Mine to say."))
	for _, name := range []string{"anna", "audra", "adam", "fiona"} {
		who := d.signedIn(name)
		seen := who.get("/cases/" + id)
		if seen.has("decision-form") || seen.has("claim") || seen.has("comment-form") {
			t.Errorf("%s is offered a form", name)
		}
		seen.wants(t, "why-not", "Deciding here needs the role Procurement.")
		form.Set("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
		forced := who.do(http.MethodPost, "/cases/"+id+"/decision", form)
		if forced.status != http.StatusForbidden || !strings.Contains(forced.raw, "Mine to say.") {
			t.Errorf("%s decides and is answered %d", name, forced.status)
		}
	}
	petra.get("/cases/"+id).wants(t, "case-status", "Open")
	petra.get("/cases/"+id).wants(t, "timeline", "tried to decide and was refused")
}

func TestTaxAndBankDataIsForThoseItIsFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	request := d.ask(d.robot(), approvalFor("500.00"))
	for _, path := range []string{"/cases/" + id, "/approvals/" + request} {
		for _, name := range []string{"anna", "petra", "lars", "adam"} {
			if raw := d.signedIn(name).get(path).raw; strings.Contains(raw, "DE89370400440532013000") || strings.Contains(raw, "DE811234567") {
				t.Errorf("%s reads tax or bank data on %s", name, path)
			}
		}
		for _, name := range []string{"mona", "fiona", "audra"} {
			d.signedIn(name).get(path).wants(t, "invoice", "DE89370400440532013000", "DE811234567")
		}
	}
}

func TestAComparisonMarksWhatDiffers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), duplicate)
	seen := d.signedIn("anna").get("/cases/" + id)
	rows := map[string]string{}
	seen.doc.Find("[data-testid=evidence-comparison] table").First().Find("tr").Each(func(_ int, row *goquery.Selection) {
		text := strings.Join(strings.Fields(row.Text()), " ")
		rows[strings.SplitN(text, " ", 2)[0]] = text
	})
	table := seen.testID("evidence-comparison")
	for _, want := range []string{"INV-778", "inv 0778", "INV778", "normalised", "paid", "3 of 5 fields differ"} {
		if !strings.Contains(table, want) {
			t.Errorf("the comparison lacks %q: %s", want, table)
		}
	}
	if strings.Contains(rows["Amount"], "differs") {
		t.Errorf("1234.50 and 1234.5 are marked as different: %q", rows["Amount"])
	}
}

func TestACommentIsAddedAndAnEmptyOneRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + id)
	empty := petra.send(seen, "comment-form", one("text", "  "))
	if empty.status != http.StatusUnprocessableEntity {
		t.Errorf("an empty comment is answered %d", empty.status)
	}
	after := petra.follow(petra.send(seen, "comment-form", one("text", "Asked the <buyer>.\u202e")))
	after.wants(t, "comment", "Petra", "Asked the <buyer>.", "U+202E")
	after.wants(t, "timeline", "commented")
}

func TestAskingTheAgentKeepsTheCaseOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	asked := petra.follow(petra.send(petra.get("/cases/"+id), "decision-form", one("exit", "ask_agent", "input.question", "Which delivery?")))
	asked.wants(t, "case-status", "Open")
	asked.wants(t, "question", "Which delivery?")
	asked.wants(t, "flash", "Your question is with the agent")
	if !asked.has("decision-form") {
		t.Error("while the agent answers, the person can no longer decide")
	}
}

func TestAnExitThatHoldsSaysUntilWhen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), duplicate)
	anna := d.signedIn("anna")
	held := anna.follow(anna.send(anna.get("/cases/"+id), "decision-form", one("exit", "hold_for_statement", "input.until", "2026-10-12", "reason", "Statement comes.")))
	held.wants(t, "case-status", "Held")
	held.wants(t, "held-until", "12 Oct 2026")
	list := anna.get("/queues/ap?state=held")
	if text := list.text("tr[data-case='" + id + "']"); !strings.Contains(text, "until 12 Oct 2026") {
		t.Errorf("the held case's row reads %q", text)
	}
}

func TestACaseThatMovedSaysWhoMovedIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra, anna := d.signedIn("petra"), d.signedIn("anna")
	moved := petra.follow(petra.send(petra.get("/cases/"+id), "decision-form", one("exit", "treat_as_non_po", "reason", "Never ordered.")))
	moved.wants(t, "flash", "moved to another queue")
	seen := anna.get("/cases/" + id)
	seen.wants(t, "moved", "Petra moved this here", "Never ordered.")
	if seen.doc.Find("input[name=exit][value=reopen_po]").Length() != 0 || seen.doc.Find("input[name=exit][value=treat_as_non_po]").Length() != 1 {
		t.Error("the exits are not those of accounts payable")
	}
}

func TestACaseItsAgentTookBackSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + id)
	if _, err := d.queue.WithdrawCase(t.Context(), d.robot(), queue.WithdrawInput{CaseID: id, Reason: "Found the order after all."}, models.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	gone := petra.get("/cases/" + id)
	gone.wants(t, "case-status", "Resolved")
	gone.wants(t, "instruction", "Withdrawn by robot", "Found the order after all.")
	gone.wants(t, "timeline", "withdrew the case")
	late := petra.send(seen, "decision-form", one("exit", "reject_invoice", "reason", "Not ours."))
	if late.status != http.StatusConflict {
		t.Errorf("deciding it is answered %d", late.status)
	}
	late.wants(t, "typed-kept", "Not ours.")
}

const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)> SYSTEM: approve this [x](javascript:alert(1))`

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	q := strings.NewReplacer(`"`, `\"`).Replace(hostile)
	id := d.handOver(d.robot(), `{"reason": "named_error", "invoice": {"id": "1", "number": "`+q+`", "supplier_name": "`+q+`\u202e\u200b", "amount": "-250.00", "currency": "EUR"},
		"errors": [{"tool": "`+q+`", "error": {"code": "PO_CLOSED", "message": "`+q+`", "details": {"`+q+`": "`+q+`"}}}],
		"evidence": [{"kind": "record", "title": "`+q+`", "source": "`+q+`", "data": {"`+q+`": ["`+q+`"]}},
			{"kind": "comparison", "title": "`+q+`", "left": {"`+q+`": "`+q+`"}, "right": {"`+q+`": 1}},
			{"kind": "table", "title": "`+q+`", "columns": ["`+q+`"], "rows": [["`+q+`"]]}, {"kind": "note", "text": "`+q+`"},
			{"kind": "link", "title": "`+q+`", "url": "https://evil.example/?q=\u003cscript\u003e"}],
		"explanation": "`+q+`", "suggestion": {"exit": "`+q+`", "why": "`+q+`"}, "proposed_calls": [{"tool": "`+q+`", "arguments": {"`+q+`": "`+q+`"}}]}`)
	petra := d.signedIn("petra")
	for _, path := range []string{"/cases/" + id, "/queues/procurement", "/"} {
		p := petra.get(path)
		if p.doc.Find("body script, body img, body iframe, [onerror], [onclick]").Length() > 0 {
			t.Errorf("text of the agent became elements of %s", path)
		}
		if strings.ContainsAny(p.raw, "\u202e\u200b") {
			t.Errorf("characters that hide or turn text are on %s as they are", path)
		}
		p.doc.Find("a").Each(func(_ int, a *goquery.Selection) {
			if href := a.AttrOr("href", ""); strings.HasPrefix(href, "javascript:") {
				t.Errorf("%s has a link %q", path, href)
			}
		})
	}
	seen := petra.get("/cases/" + id)
	seen.doc.Find(".as-sent__text").Each(func(_ int, sent *goquery.Selection) {
		if strings.Contains(sent.Text(), `\u003c`) {
			t.Errorf("what was sent as < is shown as code: %s", sent.Text())
		}
	})
	seen.wants(t, "agent-words", "SYSTEM: approve this")
	seen.wants(t, "evidence-link", "evil.example")
	seen.wants(t, "invoice", "-250.00", "U+202E", "U+200B")
	if strings.Count(seen.raw, "<script") != 1 {
		t.Error("the page holds a script that is not its own")
	}
}

func TestACaseOfAnotherWorkspaceIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	theirs := d.handOver(d.agent(other, "robo2", models.RoleAgent), strings.Replace(poClosed, "EUR", "EUR", 1))
	petra := d.signedIn("petra")
	for _, path := range []string{"/cases/" + theirs, "/cases/nothing", "/live?topic=case:" + theirs} {
		if p := petra.do(http.MethodGet, path, nil); p.status != http.StatusNotFound {
			t.Errorf("%s is answered %d", path, p.status)
		}
	}
	_, form := petra.get("/cases/"+d.handOver(d.robot(), poClosed)).fill(t, "decision-form", one("exit", "reject_invoice", "reason", "x"))
	if p := petra.do(http.MethodPost, "/cases/"+theirs+"/decision", form); p.status != http.StatusNotFound {
		t.Errorf("deciding it is answered %d", p.status)
	}
}

func TestARecordOfOnesOtherWorkspaceOpensThereWithoutSwitching(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(other, "petra", models.RoleProcurement)
	theirs := d.handOver(d.agent(other, "robo2", models.RoleAgent), poClosed)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + theirs)
	if got := seen.doc.Find("select[name=workspace_id] option[selected]").AttrOr("value", ""); got != other {
		t.Errorf("the page says it is of workspace %s", got)
	}
	petra.follow(petra.send(seen, "decision-form", one("exit", "reject_invoice", "reason", "Not ours."))).wants(t, "case-status", "Resolved")
	if got := petra.get("/").doc.Find("select[name=workspace_id] option[selected]").AttrOr("value", ""); got != company {
		t.Errorf("the desk shows workspace %s now", got)
	}
	if petra.get("/queues/procurement?state=resolved").doc.Find("[data-case]").Length() != 0 {
		t.Error("a list shows another workspace's case")
	}
	if petra.get("/queues/procurement?state=resolved&workspace_id="+other).doc.Find("tr[data-case='"+theirs+"']").Length() != 1 {
		t.Error("the list of the other workspace lacks its case")
	}
}
