package pages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// numbered is a handover of another invoice at the same error.
func numbered(n string) string {
	return strings.NewReplacer("5105600123", "51056"+n, "INV-778", "INV-"+n).Replace(poClosed)
}

func TestAfterADecisionThePersonGoesWhereTheyChose(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		var ids []string
		for _, n := range []string{"00801", "00802", "00803"} {
			ids = append(ids, d.handOver(d.robot(), numbered(n)))
			d.clock.Advance(time.Minute)
		}
		petra := d.signedIn("petra")
		const narrowed = "/queues/procurement?supplier=V-2001"
		row, _ := petra.get(narrowed).doc.Find("tr[data-case='" + ids[0] + "'] a.cases__link").Attr("href")
		if want := "/cases/" + ids[0] + "?from=" + url.QueryEscape(narrowed); row != want {
			t.Fatalf("the row leads to %q, want %q", row, want)
		}
		seen := petra.get(row)
		next, _ := seen.doc.Find("[data-testid=around-next]").Attr("href")
		if !strings.HasPrefix(next, "/cases/"+ids[1]+"?from=") || seen.has("around-prev") {
			t.Errorf("beside the first case stands %q", next)
		}
		if list, _ := seen.doc.Find("[data-testid=around-list]").Attr("href"); list != narrowed {
			t.Errorf("the way back leads to %q", list)
		}

		stayed := petra.follow(petra.send(seen, "decision-form", one("exit", "reopen_po", "reason", "Reopened.", "after", "stay")))
		stayed.wants(t, "case-status", "Resolved")

		onward := petra.send(petra.get("/cases/"+ids[1]), "decision-form", one("exit", "reopen_po", "reason", "Reopened.", "after", "next"))
		there := petra.do(http.MethodGet, onward.location, nil)
		if !strings.HasPrefix(there.location, "/cases/"+ids[2]) {
			t.Fatalf("next led to %q, want the one case left", there.location)
		}
		third := petra.get(there.location)
		third.wants(t, "flash", "INV-00802", "reopen the purchase order", "Your decision is recorded")
		if chosen, _ := third.doc.Find("[data-testid=decision-form] [name=after] option[selected]").Attr("value"); chosen != "next" {
			t.Errorf("the next form offers %q first, want what was chosen last", chosen)
		}
		petra.get("/settings/me").doc.Find("[name=after_decision][checked]").Each(func(_ int, s *goquery.Selection) {
			if s.AttrOr("value", "") != "next" {
				t.Errorf("the preference is %s", s.AttrOr("value", ""))
			}
		})

		d.handOver(d.robot(), duplicate)
		done := petra.send(third, "decision-form", one("exit", "reopen_po", "reason", "Reopened.", "after", "next"))
		left := petra.get(done.location)
		left.wants(t, "nothing-left", "Nothing else waits for you")
		if h := left.text("h1"); h != "Nothing left in Procurement" {
			t.Errorf("the heading is %q", h)
		}
		left.wants(t, "flash", "INV-00803")

		fourth := d.handOver(d.robot(), numbered("00804"))
		toList := petra.follow(petra.send(petra.get("/cases/"+fourth+"?from="+url.QueryEscape(narrowed)), "decision-form", one("exit", "reopen_po", "reason", "x", "after", "list")))
		toList.wants(t, "flash", "INV-00804")
		if toList.text("h1") != "Procurement" {
			t.Errorf("the list is %q", toList.text("h1"))
		}
	})
}

func TestTheListToGoBackToIsOneOfTheDesk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	for _, from := range []string{"https://evil.example/queues/procurement", "//evil.example", "/\\evil.example", "/logout", "/settings/people", "javascript:alert(1)", "/cases/" + id} {
		p := petra.get("/cases/" + id + "?from=" + url.QueryEscape(from))
		if list, _ := p.doc.Find("[data-testid=around-list]").Attr("href"); list != "/queues/procurement" {
			t.Errorf("from %q the way back leads to %q", from, list)
		}
		if kept, _ := p.doc.Find("[data-testid=decision-form] [name=from]").Attr("value"); kept != "/queues/procurement" {
			t.Errorf("from %q the form carries %q", from, kept)
		}
	}
	if sent := petra.do(http.MethodGet, "/next?from="+url.QueryEscape("https://evil.example/"), nil); sent.status == http.StatusSeeOther && !strings.HasPrefix(sent.location, "/cases/") {
		t.Errorf("next led to %q", sent.location)
	}
	if sent := petra.send(petra.get("/cases/"+id), "decision-form", one("exit", "reopen_po", "reason", "x", "after", "list", "from", "//evil.example/")); sent.location != "/queues/procurement" {
		t.Errorf("the list after the decision is %q", sent.location)
	}
}

func TestVotesAndAnswersGoOnToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, second := d.ask(d.robot(), approvalFor("250.00")), d.ask(d.robot(), approvalFor("251.00"))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/approvals/" + first + "?from=%2Fapprovals")
	voted := fiona.send(seen, "vote-form", one("decision", "approve", "after", "next"))
	there := fiona.do(http.MethodGet, voted.location, nil)
	if !strings.HasPrefix(there.location, "/approvals/"+second) {
		t.Fatalf("next led to %q", there.location)
	}
	fiona.get(there.location).wants(t, "flash", "250.00 EUR", "Your yes is recorded")
	back := fiona.send(fiona.get(there.location), "send-back-form", one("reason", "Too much.", "input.amount", "200.00", "after", "next"))
	left := fiona.get(back.location)
	if h := left.text("h1"); h != "Nothing left in Approvals" {
		t.Errorf("the heading is %q", h)
	}
}

func TestWhatIsTypedIsOfferedBack(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		id := d.handOver(d.robot(), poClosed)
		petra := d.signedIn("petra")
		open := petra.get("/cases/" + id)
		save := func(v *visitor, p page, form string, values url.Values) page {
			t.Helper()
			_, sent := p.fill(t, form, values)
			sent.Set("made", p.doc.Find("body").AttrOr("data-now", ""))
			return v.do(http.MethodPost, "/drafts", sent)
		}
		typed := one("exit", "use_other_po", "input.po_id", "4500018804", "reason", "The follow-on order.")
		if got := save(petra, open, "decision-form", typed); got.status != http.StatusNoContent {
			t.Fatalf("saving is answered %d", got.status)
		}
		again := petra.get("/cases/" + id)
		again.wants(t, "draft", "You had typed this at")
		if got := again.doc.Find("[name=reason]").First().Text(); got != "The follow-on order." {
			t.Errorf("the reason reads %q", got)
		}
		if again.doc.Find("[name=exit][value=use_other_po][checked]").Length() != 1 || again.doc.Find("[name='input.po_id']").AttrOr("value", "") != "4500018804" {
			t.Error("exit and order are not filled in")
		}
		if d.signedIn("paul").get("/cases/" + id).has("draft") {
			t.Error("a colleague is offered the text")
		}

		d.handOver(d.robot(), strings.ReplaceAll(poClosed, "although goods are still to come", "and more is known")) // joins
		changed := petra.get("/cases/" + id)
		changed.wants(t, "draft", "This has changed since", "4500018804", "The follow-on order.")
		if got := changed.doc.Find("[name=reason]").First().Text(); got != "" {
			t.Errorf("after a change the form is filled with %q", got)
		}
		use, _ := changed.doc.Find("[data-testid=use-draft]").Attr("href")
		if got := petra.get(use).doc.Find("[name=reason]").First().Text(); got != "The follow-on order." {
			t.Errorf("using it fills in %q", got)
		}
		discard, _ := changed.doc.Find("[data-testid=discard-draft]").Attr("value")
		csrf, _ := changed.doc.Find("#drop-draft [name=csrf_token]").Attr("value")
		gone := petra.follow(petra.do(http.MethodPost, "/drafts/discard", one("csrf_token", csrf, "draft", discard, "back", "/cases/"+id)))
		gone.wants(t, "flash", "discarded")
		if gone.has("draft") {
			t.Error("what was discarded is offered")
		}

		// A decision in vain keeps its text, and one that counts drops it.
		d.clock.Advance(time.Second)
		late := petra.send(open, "decision-form", typed)
		if late.status != http.StatusConflict {
			t.Fatalf("a decision on an older version is answered %d", late.status)
		}
		petra.get("/cases/"+id).wants(t, "draft", "The follow-on order.")
		save(petra, gone, "comment-form", one("text", "Called them."))
		if got := petra.get("/cases/" + id).doc.Find("[data-testid=comment-form] [name=text]").Text(); got != "Called them." {
			t.Errorf("the comment reads %q", got)
		}
		if p := petra.follow(petra.send(gone, "comment-form", one("text", "Called them."))); p.doc.Find("[data-testid=comment-form] [data-testid=draft]").Length() != 0 {
			t.Error("a comment that was sent is offered again")
		}
		petra.follow(petra.send(petra.get("/cases/"+id), "decision-form", typed))
		if petra.get("/cases/"+id).doc.Find("[data-testid=draft]").Length() != 0 {
			t.Error("a decision that was sent is offered again")
		}

		for name, sent := range map[string]url.Values{
			"without a token":  one("draft", id+"/decision", "made", "2026-10-05T09:00:00Z"),
			"an unknown form":  one("csrf_token", csrf, "draft", id+"/password", "made", "2026-10-05T09:00:00Z"),
			"an unknown case":  one("csrf_token", csrf, "draft", "case_none/decision", "made", "2026-10-05T09:00:00Z"),
			"without a time":   one("csrf_token", csrf, "draft", id+"/decision"),
			"more than 64 kB":  one("csrf_token", csrf, "draft", id+"/comment", "made", "2026-12-05T09:00:00Z", "text", strings.Repeat("x", models.MaxDraft)),
			"another's record": one("csrf_token", csrf, "draft", d.handOver(d.agent(other, "robo2", models.RoleAgent), strings.ReplaceAll(poClosed, "EUR", "USD"))+"/comment", "made", "2026-12-05T09:00:00Z", "text", "x"),
		} {
			if got := petra.do(http.MethodPost, "/drafts", sent); got.status < 400 || got.status >= 500 {
				t.Errorf("a save %s is answered %d", name, got.status)
			}
		}
	})
}

func TestTextOfTwoWindowsIsKeptInBoth(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		id := d.handOver(d.robot(), poClosed)
		petra := d.signedIn("petra")
		save := func(p page, window, based, reason string) page {
			t.Helper()
			d.clock.Advance(time.Second)
			_, sent := p.fill(t, "decision-form", one("exit", "reopen_po", "reason", reason, "window", window, "made", p.doc.Find("body").AttrOr("data-now", "")))
			if based != "" {
				sent.Set("based", strings.Trim(based, `"`))
			}
			return petra.do(http.MethodPost, "/drafts", sent)
		}
		first := petra.get("/cases/" + id)
		a := save(first, "one", "", "A")
		second := petra.get("/cases/" + id)
		b := save(second, "two", "", "B")
		if a.status != http.StatusNoContent || b.status != http.StatusNoContent || a.header.Get("ETag") == "" {
			t.Fatalf("saving is answered %d and %d", a.status, b.status)
		}
		// The first window does not know of the second; its own saves are no stranger to it.
		clash := save(first, "one", a.header.Get("ETag"), "A and more")
		if clash.status != http.StatusConflict {
			t.Fatalf("saving over another window's text is answered %d", clash.status)
		}
		clash.wants(t, "other-window", "B", "another window")
		if again := save(second, "two", "", "B, and more"); again.status != http.StatusNoContent {
			t.Errorf("the window that saved last is answered %d", again.status)
		}
		both := petra.get("/cases/" + id)
		both.wants(t, "draft-beside", "A and more")
		if got := both.doc.Find("[data-testid=decision-form] [name=reason]").Text(); got != "B, and more" {
			t.Errorf("the form holds %q", got)
		}
		use, _ := both.doc.Find("[data-testid=draft-beside] a").Attr("href")
		used := petra.get(use)
		used.wants(t, "draft-beside", "B, and more")
		if got := used.doc.Find("[data-testid=decision-form] [name=reason]").Text(); got != "A and more" {
			t.Errorf("using the other text fills in %q", got)
		}
		if got := save(used, "three", "", "A and much more"); got.status != http.StatusConflict {
			t.Errorf("going on with the one text writes over the other: %d", got.status)
		}
		state, _ := save(first, "one", "", "A, meant").doc.Find("[data-keep-mine]").Attr("data-keep-mine")
		if got := save(first, "one", state, "A, meant"); got.status != http.StatusNoContent {
			t.Errorf("a window whose text is to be kept is answered %d", got.status)
		}
		last := petra.get("/cases/" + id)
		if got := last.doc.Find("[data-testid=decision-form] [name=reason]").Text(); got != "A, meant" {
			t.Errorf("the form holds %q", got)
		}
		petra.follow(petra.send(last, "decision-form", one("exit", "reopen_po", "reason", "Done.", "after", "stay")))
		if left, err := d.store.Drafts(t.Context(), d.as("petra"), id); err != nil || len(left) > 0 {
			t.Errorf("after the decision %d texts are kept, %v", len(left), err)
		}
	})
}

func TestWhatWasSentAfterTheSessionEndedIsADraftAfterSigningIn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	open := petra.get("/cases/" + id)
	delete(petra.cookies, "apdesk_session")
	late := petra.send(open, "decision-form", one("exit", "use_other_po", "input.po_id", "4500018804", "reason", "The follow-on order."))
	if late.status != http.StatusUnauthorized {
		t.Fatalf("answered %d", late.status)
	}
	late.wants(t, "typed-kept", "The follow-on order.", "4500018804")
	wrong := petra.send(late, "login-form", one("email", "petra@example.com", "password", "wrong"))
	wrong.wants(t, "typed-kept", "The follow-on order.")
	back := petra.follow(petra.send(wrong, "login-form", one("email", "petra@example.com", "password", password)))
	back.wants(t, "draft", "You had typed this")
	if got := back.doc.Find("[data-testid=decision-form] [name=reason]").Text(); got != "The follow-on order." {
		t.Errorf("the reason reads %q", got)
	}
}

func TestTextSentInVainStaysBesideThatOfAnotherWindow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	save := func(p page, window, based, reason string) int {
		t.Helper()
		d.clock.Advance(time.Second)
		_, sent := p.fill(t, "decision-form", one("exit", "use_other_po", "reason", reason, "window", window, "made", p.doc.Find("body").AttrOr("data-now", "")))
		if based != "" {
			sent.Set("based", based)
		}
		return petra.do(http.MethodPost, "/drafts", sent).status
	}
	reason := func(p page) string { return p.doc.Find("[data-testid=decision-form] [name=reason]").Text() }
	open := petra.get("/cases/" + id)
	if got := save(open, "two", "", "B"); got != http.StatusNoContent {
		t.Fatalf("saving is answered %d", got)
	}
	// A form that is refused still goes on from where its window did, not from what the other one typed meanwhile.
	refused := petra.send(open, "decision-form", one("exit", "use_other_po", "reason", "A", "window", "one"))
	if refused.status != http.StatusUnprocessableEntity && refused.status != http.StatusBadRequest || reason(refused) != "A" {
		t.Fatalf("answered %d with the reason %q", refused.status, reason(refused))
	}
	if got := save(refused, "three", "", "A and more"); got != http.StatusConflict {
		t.Errorf("a window whose form was refused writes over the text of another: %d", got)
	}
	// Also what was sent after the session had ended is kept beside, not over it.
	cookie := petra.cookies["apdesk_session"]
	delete(petra.cookies, "apdesk_session")
	late := petra.send(open, "decision-form", one("exit", "use_other_po", "reason", "C", "window", "four"))
	if late.status != http.StatusUnauthorized || cookie == "" {
		t.Fatalf("answered %d", late.status)
	}
	back := petra.follow(petra.send(late, "login-form", one("email", "petra@example.com", "password", password)))
	if got := reason(back); got != "B" {
		t.Errorf("after signing in the form holds %q", got)
	}
	back.wants(t, "decision-form", "another window", "A and more")
	if beside := back.doc.Find("[data-testid=draft-beside]").Text(); !strings.Contains(beside, "C") {
		t.Errorf("beside it there is %q", beside)
	}
	for _, window := range []string{"~", "a b", "muchtoolong13"} {
		if got := save(back, window, "", "D"); got != http.StatusBadRequest && got != http.StatusUnprocessableEntity {
			t.Errorf("a window named %q is answered %d", window, got)
		}
	}
}

func TestAnotherWindowsAnswerIsFilledInWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), asks(`"note": {"type": "string"}`, ``))
	fiona := d.signedIn("fiona")
	open := fiona.get("/confirmations/" + id)
	save := func(window, note string) int {
		t.Helper()
		d.clock.Advance(time.Second)
		_, sent := open.fill(t, "answer-form", one("content.note", note, "window", window, "made", open.doc.Find("body").AttrOr("data-now", "")))
		return fiona.do(http.MethodPost, "/drafts", sent).status
	}
	if a, b := save("one", "first note"), save("two", "second note"); a != http.StatusNoContent || b != http.StatusConflict {
		t.Fatalf("saving is answered %d and %d", a, b)
	}
	note := func(p page) string {
		field := p.doc.Find("[data-testid=answer-form] [name='content.note']")
		return field.AttrOr("value", field.Text())
	}
	both := fiona.get("/confirmations/" + id)
	use, _ := both.doc.Find("[data-testid=draft-beside] a").Attr("href")
	if got := note(fiona.get(use)); got != "second note" || note(both) != "first note" {
		t.Errorf("the form holds %q, and when the other text is asked for %q", note(both), got)
	}
}

func TestTaxDataTypedIntoAConfirmationIsNoDraft(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	plain := d.forward(d.robot(), asks(`"note": {"type": "string"}`, ``))
	bank := d.forward(d.robot(), asks(`"supplier_tax_id": {"type": "string"}`, ``))
	fiona := d.signedIn("fiona")
	if got := fiona.get("/confirmations/" + plain).doc.Find("[data-testid=answer-form] [name=draft]").Length(); got != 1 {
		t.Error("an ordinary form keeps nothing")
	}
	if got := fiona.get("/confirmations/" + bank).doc.Find("[data-testid=answer-form] [name=draft]").Length(); got != 0 {
		t.Error("a form with tax data would be kept")
	}
}

func TestAnOpenPageTellsWhoIsThereAndKeepsItsClaim(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		id := d.handOver(d.robot(), poClosed)
		petra, paul := d.signedIn("petra"), d.signedIn("paul")
		mine := petra.get("/cases/" + id)
		csrf := func(p page) string { return p.doc.Find("[name=csrf_token]").First().AttrOr("value", "") }
		beat := func(v *visitor, token, doing, used string) (answer struct {
			Present  string `json:"present"`
			ClaimEnd string `json:"claim_end"`
		}) {
			t.Helper()
			p := v.do(http.MethodPost, "/presence", one("csrf_token", token, "subject", id, "doing", doing, "used", used))
			if p.status != http.StatusOK {
				t.Fatalf("answered %d: %s", p.status, p.raw)
			}
			if err := json.Unmarshal([]byte(p.raw), &answer); err != nil {
				t.Fatal(err)
			}
			return answer
		}
		before := d.trail()
		if got := beat(petra, csrf(mine), "editing", "yes"); got.Present != "" || got.ClaimEnd != "" {
			t.Errorf("alone and without a claim the page hears %+v", got)
		}
		his := paul.get("/cases/" + id)
		his.wants(t, "presence", "Petra is writing")
		if got := beat(paul, csrf(his), "viewing", ""); got.Present != his.doc.Find("[data-present]").AttrOr("data-present", "") {
			t.Errorf("the page shows who is there, and hears %q", got.Present)
		}
		if n := d.trail() - before; n != 0 {
			t.Errorf("being there left %d events on the trail", n)
		}
		paul.do(http.MethodPost, "/presence/leave", one("csrf_token", csrf(his), "subject", id))
		if got := beat(petra, csrf(mine), "viewing", ""); got.Present != "" {
			t.Errorf("after Paul left the page hears %q", got.Present)
		}

		claimed := petra.follow(petra.press(mine, "claim"))
		end := claimed.doc.Find("body").AttrOr("data-claim-end", "")
		d.clock.Advance(10 * time.Minute)
		if got := beat(petra, csrf(mine), "viewing", ""); got.ClaimEnd != end {
			t.Errorf("an idle page moved its claim from %s to %s", end, got.ClaimEnd)
		}
		if got := beat(petra, csrf(mine), "viewing", "yes"); got.ClaimEnd <= end {
			t.Errorf("a page in use did not keep its claim: %s after %s", got.ClaimEnd, end)
		}
		d.clock.Advance(31 * time.Minute)
		if got := beat(petra, csrf(mine), "viewing", "yes"); got.ClaimEnd != "" {
			t.Errorf("a claim that ran out came back: %s", got.ClaimEnd)
		}

		for name, sent := range map[string]url.Values{
			"without a token": one("subject", id, "doing", "viewing"),
			"an unknown case": one("csrf_token", csrf(mine), "subject", "case_none", "doing", "viewing"),
			"an unknown act":  one("csrf_token", csrf(mine), "subject", id, "doing", "sleeping"),
			"a hold":          one("csrf_token", csrf(mine), "subject", "hold_1", "doing", "viewing"),
		} {
			if got := petra.do(http.MethodPost, "/presence", sent); got.status < 400 || got.status >= 500 {
				t.Errorf("%s: answered %d", name, got.status)
			}
		}
		if got := petra.do(http.MethodGet, "/presence", nil); got.status < 400 {
			t.Errorf("GET is answered %d", got.status)
		}
	})
}

func TestHowAPersonWorksIsSavedAndShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	petra := d.signedIn("petra")
	p := petra.get("/settings/me")
	if p.doc.Find("html").AttrOr("data-theme", "none") != "none" || !p.has("keys") {
		t.Error("somebody who chose nothing has a theme or no keys")
	}
	saved := petra.follow(petra.send(p, "preferences-form", one("after_decision", "list", "theme", "dark")))
	saved.wants(t, "flash", "How you work is saved")
	if saved.doc.Find("html").AttrOr("data-theme", "") != "dark" || saved.has("keys") {
		t.Error("the page is not dark, or has keys")
	}
	petra.get("/shortcuts").wants(t, "shortcuts-off", "switched shortcuts off")
	bad := petra.send(saved, "preferences-form", one("after_decision", "away", "theme", "dark"))
	if bad.status != http.StatusUnprocessableEntity || !bad.has("error-summary") {
		t.Errorf("an unknown choice is answered %d", bad.status)
	}
	sheet := d.signedIn("paul").get("/shortcuts")
	sheet.wants(t, "shortcuts", "the next row", "choose the exit with this number", "get ready to approve", "go to your queue")
	seen := map[string]bool{}
	list := d.signedIn("paul").get("/queues/procurement").doc.Find("#keys [data-keys]")
	list.Each(func(_ int, s *goquery.Selection) {
		for way := range strings.FieldsSeq(s.AttrOr("data-keys", "")) {
			if seen[way] {
				t.Errorf("%q does two things on one page", way)
			}
			seen[way] = true
		}
	})
	if list.Length() == 0 {
		t.Error("the list's page has no keys")
	}
}

// The keys of a page's sheet find there what they are for: rows to go through, boxes to tick, pages of a list.
func TestTheSheetOfAPagePromisesWhatThePageHas(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, n := range []string{"00821", "00822"} {
		d.handOver(d.robot(), numbered(n))
	}
	d.ask(d.robot(), approvalFor("250.00"))
	d.forward(d.robot(), asks(`"note": {"type": "string"}`, ``))
	d.hold(d.robot(), holdText)
	script, err := os.ReadFile("../../static/js/app.js")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`const rowAt = "([^"]+)"`).FindSubmatch(script)
	if found == nil {
		t.Fatal("the script names no rows")
	}
	rowAt := string(found[1])
	for _, at := range []struct{ who, page string }{
		{"petra", "/"}, {"petra", "/queues/procurement"}, {"petra", "/queues/ap"}, {"petra", "/queues/procurement?state=resolved"}, {"petra", "/cases"}, {"audra", "/queues/procurement"}, {"audra", "/cases"},
		{"fiona", "/approvals"}, {"fiona", "/approvals?tab=decided"}, {"audra", "/approvals?tab=open"}, {"fiona", "/confirmations"}, {"anna", "/holds"}, {"petra", "/search?q=nordwind"}, {"fiona", "/notices"},
		{"petra", "/settings"},
	} {
		p := d.signedIn(at.who).get(at.page)
		keys := map[string]bool{}
		p.doc.Find("#keys [data-keys]").Each(func(_ int, s *goquery.Selection) {
			for way := range strings.FieldsSeq(s.AttrOr("data-keys", "")) {
				keys[way] = true
			}
		})
		rows := p.doc.Find(rowAt).Length()
		boxes := p.doc.Find("main tbody tr input[type=checkbox]").Length()
		if empty := p.has("empty") || p.has("empty-mine"); rows == 0 && keys["j"] && !empty {
			t.Errorf("%s has no rows to go through with j: %s", at.page, p.text("main"))
		} else if rows > 0 && !keys["j"] {
			t.Errorf("%s has rows, and no key goes through them", at.page)
		}
		if keys["x"] && boxes == 0 && !p.has("empty") || !keys["x"] && boxes > 0 {
			t.Errorf("%s of %s has %d boxes; x on its sheet: %v", at.page, at.who, boxes, keys["x"])
		}
		if live := p.doc.Find("body").AttrOr("data-live", "") != ""; live != keys["R"] {
			t.Errorf("%s changes by itself: %v; R on its sheet: %v", at.page, live, keys["R"])
		}
	}
}

// What is kept of a form is shown in the reader's words: field, exit and day.
func TestAKeptTextIsShownInTheReadersWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.inGerman("petra")
	p := petra.get("/cases/" + id)
	_, typed := p.fill(t, "decision-form", one("exit", "use_other_po", "input.po_id", "4500018999", "reason", "Steht in der Mail.", "window", "one", "made", p.doc.Find("body").AttrOr("data-now", "")))
	if got := petra.do(http.MethodPost, "/drafts", typed); got.status != http.StatusNoContent {
		t.Fatal(got.status)
	}
	typed.Set("window", "two")
	typed.Set("reason", "Anders.")
	clash := petra.do(http.MethodPost, "/drafts", typed)
	clash.wants(t, "other-window", "Bestellnummer", "4500018999", "Begründung", "Steht in der Mail.", "Andere Bestellung verwenden")
	if shown := clash.doc.Find("[data-testid=other-window]").Text(); strings.Contains(shown, "use_other_po") {
		t.Errorf("an exit is shown as its code: %s", shown)
	}
}
