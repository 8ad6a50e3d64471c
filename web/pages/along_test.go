package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// carries fails unless the page leads back to the list: the way around does, every form that acts on the
// record carries it, and so does every link to a page of the record's own.
func (p page) carries(t *testing.T, record, list string) {
	t.Helper()
	if got := p.doc.Find("[data-testid=around-list]").AttrOr("href", "none"); p.has("around-list") && got != list {
		t.Errorf("the way back leads to %s, want %s", got, list)
	}
	forms := 0
	p.doc.Find("main form[method=post]").Each(func(_ int, f *goquery.Selection) {
		action := f.AttrOr("action", "")
		if !strings.HasPrefix(action, record) {
			return
		}
		forms++
		if got := f.Find("input[type=hidden][name=from]").AttrOr("value", "none"); got != list {
			t.Errorf("the form to %s carries %s, want %s", action, got, list)
		}
	})
	p.doc.Find("main a[href^='" + record + "/']").Each(func(_ int, a *goquery.Selection) {
		if u, err := url.Parse(a.AttrOr("href", "")); err != nil || u.Query().Get("from") != list {
			t.Errorf("the link to %s loses the list", a.AttrOr("href", ""))
		}
	})
	if forms == 0 {
		t.Errorf("%s has no form: %s", record, p.text("main"))
	}
}

// staysIn fails unless an answer to a form, taken or refused, keeps the list: its page, or where it sends the browser.
func (v *visitor) staysIn(t *testing.T, act string, answer page, record, list string, status int) page {
	t.Helper()
	if answer.status != status {
		t.Fatalf("%s is answered %d, want %d: %s", act, answer.status, status, answer.text("main"))
	}
	if status == http.StatusSeeOther {
		at, _, _ := strings.Cut(answer.location, "#")
		if at != record+"?from="+url.QueryEscape(list) {
			t.Errorf("%s leads to %s", act, answer.location)
		}
		answer = v.get(at)
	}
	answer.carries(t, record, list)
	return answer
}

func TestEveryActOnACaseKeepsTheListThePersonCameFrom(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	const list = "/queues/procurement?sort=-amount&supplier=V-2001"
	record, at := "/cases/"+id, "/cases/"+id+"?from="+url.QueryEscape(list)
	petra, paul, lars := d.signedIn("petra"), d.signedIn("paul"), d.signedIn("lars")
	seen := petra.get(at)
	seen.carries(t, record, list)
	taken := func(v *visitor, p page, button string) page {
		t.Helper()
		return v.staysIn(t, button, v.press(p, button), record, list, http.StatusSeeOther)
	}
	sent := func(v *visitor, p page, form string, status int, values ...string) page {
		t.Helper()
		return v.staysIn(t, form, v.send(p, form, one(values...)), record, list, status)
	}

	stale := paul.get(at)
	mine := taken(petra, seen, "claim")
	paul.staysIn(t, "a claim too late", paul.press(stale, "claim"), record, list, http.StatusConflict)
	taken(petra, mine, "release")
	mine = taken(petra, petra.get(at), "claim")
	sent(petra, mine, "comment-form", http.StatusUnprocessableEntity, "text", "")
	mine = sent(petra, mine, "comment-form", http.StatusSeeOther, "text", "Who knows this order?")
	petra.staysIn(t, "a file", petra.addFile(mine, "receipt.png", tinyPNG), record, list, http.StatusSeeOther)
	petra.staysIn(t, "a file of another kind", petra.addFile(mine, "receipt.exe", "MZ"), record, list, http.StatusUnprocessableEntity)
	sent(petra, mine, "snooze-form", http.StatusUnprocessableEntity, "until", "own", "until_at", "yesterday")
	asleep := sent(petra, mine, "snooze-form", http.StatusSeeOther, "until", "own", "until_at", "2026-10-09T12:00")
	mine = taken(petra, asleep, "unsnooze")
	sent(petra, mine, "reroute-form", http.StatusUnprocessableEntity, "to", "")
	sent(petra, mine, "decision-form", http.StatusUnprocessableEntity, "exit", "use_other_po", "reason", "x")
	still := lars.get(at)
	moved := sent(lars, still, "reroute-form", http.StatusSeeOther, "to", "ap_lead", "reason", "The lead knows it.")
	sent(lars, still, "reroute-form", http.StatusConflict, "to", "finance", "reason", "Finance knows it.")
	gone := petra.send(seen, "decision-form", one("exit", "reopen_po", "reason", "x"))
	if got := gone.doc.Find("[data-testid=around-list]").AttrOr("href", ""); gone.status != http.StatusConflict || got != list {
		t.Errorf("a decision on a case that has moved away is answered %d and leads back to %s", gone.status, got)
	}
	done := lars.send(moved, "decision-form", one("exit", "reopen_po", "reason", "x", "after", "stay"))
	if done.location != at {
		t.Errorf("the decision leads to %s", done.location)
	}

	// A lead takes over what somebody of their queue holds.
	other := d.handOver(d.robot(), duplicate)
	const ap = "/queues/ap?supplier=V-2001"
	anna := d.signedIn("anna")
	anna.follow(anna.press(anna.get("/cases/"+other), "claim"))
	over := lars.press(lars.get("/cases/"+other+"?from="+url.QueryEscape(ap)), "take-over")
	lars.staysIn(t, "take-over", over, "/cases/"+other, ap, http.StatusSeeOther)

	// What another site made up is not carried on.
	id = d.handOver(d.robot(), numbered("00805"))
	p := petra.get("/cases/" + id)
	claim := petra.do(http.MethodPost, "/cases/"+id+"/claim", one("csrf_token", p.doc.Find("[name=csrf_token]").AttrOr("value", ""), "from", "//evil.example/queues/procurement"))
	if claim.location != "/cases/"+id {
		t.Errorf("with a foreign list a claim leads to %s", claim.location)
	}

	// Nor is the list lost to who has to sign in again.
	p = petra.get("/cases/" + id + "?from=" + url.QueryEscape(list))
	delete(petra.cookies, "apdesk_session")
	ended := petra.send(p, "comment-form", one("text", "Who knows this order?"))
	if back := petra.send(ended, "login-form", one("email", "petra@example.com", "password", password)); back.location != "/cases/"+id+"?from="+url.QueryEscape(list) {
		t.Errorf("signing in again leads to %s", back.location)
	}
}

func TestEveryActOnAnApprovalKeepsTheListThePersonCameFrom(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const list = "/approvals?currency=EUR&tab=mine"
	fiona := d.signedIn("fiona")
	open := func(id string) page { return fiona.get("/approvals/" + id + "?from=" + url.QueryEscape(list)) }
	first := d.ask(d.robot(), approvalFor("250.00"))
	record := "/approvals/" + first
	seen := open(first)
	seen.carries(t, record, list)
	fiona.staysIn(t, "a question", fiona.send(seen, "ask-form", one("question", "")), record, list, http.StatusUnprocessableEntity)
	fiona.staysIn(t, "a vote", fiona.send(seen, "vote-form", one("decision", "reject")), record, list, http.StatusUnprocessableEntity)
	fiona.staysIn(t, "sending back", fiona.send(seen, "send-back-form", one("reason", "")), record, list, http.StatusUnprocessableEntity)
	seen = fiona.staysIn(t, "a question", fiona.send(seen, "ask-form", one("question", "Why so much?")), record, list, http.StatusSeeOther)
	granted := fiona.follow(fiona.send(seen, "vote-form", one("decision", "approve", "after", "stay")))
	if got := granted.doc.Find("[data-testid=around-list]").AttrOr("href", ""); got != list {
		t.Errorf("after the vote the way back leads to %s", got)
	}
	revoke, _ := granted.doc.Find("[data-testid=can-revoke] a").Attr("href")
	asks := fiona.get(revoke)
	asks.carries(t, record, list)
	if cancel := asks.doc.Find("main a[href='" + record + "?from=" + url.QueryEscape(list) + "']").Length(); cancel == 0 {
		t.Error("changing one's mind about revoking loses the list")
	}
	proof, _ := granted.doc.Find("[data-testid=proof-link]").Attr("href")
	if got := fiona.get(proof).doc.Find("main a[href='" + record + "?from=" + url.QueryEscape(list) + "']").Length(); got == 0 {
		t.Error("the way back from the proof loses the list")
	}
	refused := fiona.send(asks, "confirm-form", one("reason", ""))
	refused.carries(t, record, list)
	if gone := fiona.send(refused, "confirm-form", one("reason", "Not yet.")); gone.location != record+"?from="+url.QueryEscape(list) {
		t.Errorf("revoking leads to %s", gone.location)
	}

	// Several at once, from a list that is narrowed.
	second := d.ask(d.robot(), approvalFor("251.00"))
	picked := fiona.send(fiona.get(list), "pick-form", one("request", second))
	for what, selector := range map[string]string{"the way back": "main .crumbs a", "its page": "main .bulk__item a.cases__link"} {
		href, _ := picked.doc.Find(selector).First().Attr("href")
		if u, err := url.Parse(href); err != nil || href != list && u.Query().Get("from") != list {
			t.Errorf("among several, %s leads to %s", what, href)
		}
	}
	result := fiona.send(picked, "bulk-form", one("item", picked.doc.Find("[name=item]").AttrOr("value", "")))
	if back, _ := result.doc.Find("[data-testid=bulk-back]").Attr("href"); back != list {
		t.Errorf("after several the way back leads to %s", back)
	}
}

func TestEveryActOnAConfirmationKeepsTheListThePersonCameFrom(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const list = "/confirmations?tab=open"
	id := d.forward(d.robot(), asks(`"note": {"type": "string"}`, ``))
	record := "/confirmations/" + id
	fiona := d.signedIn("fiona")
	seen := fiona.get(record + "?from=" + url.QueryEscape(list))
	seen.carries(t, record, list)
	again := fiona.staysIn(t, "accepting", fiona.send(seen, "answer-form", one("action", "accept")), record, list, http.StatusOK)
	if back, _ := again.doc.Find("main .crumbs a").First().Attr("href"); back != list {
		t.Errorf("from the second look the way back leads to %s", back)
	}
	fiona.staysIn(t, "changing it", fiona.send(again, "second-step-form", one("action", "change")), record, list, http.StatusOK)
	fiona.staysIn(t, "accepting unticked", fiona.send(again, "second-step-form", one("action", "accept")), record, list, http.StatusUnprocessableEntity)
	if done := fiona.send(again, "second-step-form", one("action", "accept", "second_step", "yes", "after", "stay")); done.location != record+"?from="+url.QueryEscape(list) {
		t.Errorf("the answer leads to %s", done.location)
	}
}
