package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

const holdText = `{"code": "GR_MISSING", "invoice": ` + invoiceText + `, "po_id": "4500018901", "line": 10, "max_checks": 3, "errors": []}`

func TestHoldsAreListedWithTheirChecks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.hold(d.robot(), holdText)
	anna := d.signedIn("anna")
	list := anna.get("/holds")
	if text := list.text("tr[data-hold='" + id + "'], [data-testid=hold-row]"); !strings.Contains(text, "4500018901, line 10") || !strings.Contains(text, "3 of 3") {
		t.Errorf("the hold's row reads %q", text)
	}
	d.clock.Advance(24 * time.Hour)
	anna = d.signedIn("anna")
	anna.get("/").wants(t, "overdue-holds", "INV-778")
	if title := anna.get("/holds?state=overdue").text("title"); !strings.HasPrefix(title, "Holds (1)") {
		t.Errorf("the title is %q", title)
	}
	if _, err := d.queue.ReportCheck(t.Context(), d.robot(), id, "still_missing", models.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	seen := anna.get("/holds/" + id)
	seen.wants(t, "hold-status", "Waiting")
	seen.wants(t, "check", "Still missing", "robot")
	seen.wants(t, "timeline", "checked: still missing")
	if _, err := d.queue.ReportCheck(t.Context(), d.robot(), id, "available", models.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	anna.get("/holds/"+id).wants(t, "hold-status", "Released")
}

func TestAFinanceLeadMovesTheClosedPeriod(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fiona := d.signedIn("fiona")
	seen := fiona.get("/settings")
	bad := fiona.send(seen, "period-form", one("period_closed_through", "2026-02-31"))
	if bad.status != http.StatusUnprocessableEntity || bad.doc.Find("[name=period_closed_through]").AttrOr("value", "") != "2026-02-31" {
		t.Errorf("a date that is none is answered %d", bad.status)
	}
	fiona.follow(fiona.send(seen, "period-form", one("period_closed_through", "2026-09-30"))).wants(t, "period", "Closed through 30 Sep 2026")
	token := one("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
	if empty := fiona.do(http.MethodPost, "/settings/period", token); empty.status != http.StatusUnprocessableEntity {
		t.Errorf("a form without its field is answered %d", empty.status)
	}
	fiona.get("/settings").wants(t, "period", "Closed through 30 Sep 2026")
	fiona.follow(fiona.send(seen, "period-form", one("period_closed_through", ""))).wants(t, "period", "No day is closed")
	for _, name := range []string{"anna", "adam", "audra"} {
		who := d.signedIn(name)
		p := who.get("/settings")
		if p.has("period-form") {
			t.Errorf("%s may move the period", name)
		}
		forced := who.do(http.MethodPost, "/settings/period", one("csrf_token", p.doc.Find("input[name=csrf_token]").AttrOr("value", ""), "period_closed_through", "2026-09-30"))
		if forced.status != http.StatusForbidden {
			t.Errorf("%s moves the period and is answered %d", name, forced.status)
		}
	}
}

func TestAnAdminKeepsHolidaysAndPointers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	seen := adam.get("/settings")
	seen.wants(t, "bindings", "post_invoice_adjustment", "/posting_date", "built in")
	added := adam.follow(adam.send(seen, "holiday-form", one("day", "2026-12-25")))
	added.wants(t, "holidays", "Fri 25 Dec 2026")
	token := added.doc.Find("input[name=csrf_token]").AttrOr("value", "")
	adam.follow(adam.do(http.MethodPost, "/settings/holidays/remove", one("csrf_token", token, "day", "2026-12-25")))
	if strings.Contains(adam.get("/settings").testID("holidays"), "25 Dec") {
		t.Error("the holiday is still there")
	}
	wrong := adam.send(seen, "binding-form", one("tool", "pay_invoice", "amount", "amount"))
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("error-summary"), "JSON Pointer") {
		t.Errorf("a pointer that is none is answered %d", wrong.status)
	}
	adam.follow(adam.send(seen, "binding-form", one("tool", "pay_invoice", "amount", "/total/amount"))).wants(t, "bindings", "pay_invoice", "/total/amount")

	// What was stated is taken back: a tool of the workspace's own is gone, one that is built in is as it was.
	adam.follow(adam.send(seen, "binding-form", one("tool", "post_invoice_adjustment", "amount", "/elsewhere"))).wants(t, "bindings", "/elsewhere", "Back to what is built in")
	for _, tool := range []string{"pay_invoice", "post_invoice_adjustment"} {
		adam.follow(adam.do(http.MethodPost, "/settings/bindings/remove", one("csrf_token", token, "tool", tool)))
	}
	left := adam.get("/settings").testID("bindings")
	for _, gone := range []string{"pay_invoice", "/elsewhere"} {
		if strings.Contains(left, gone) {
			t.Errorf("%s is still among the pointers: %s", gone, left)
		}
	}
	if !strings.Contains(left, "/posting_date") || !strings.Contains(left, "built in") {
		t.Errorf("what is built in does not count again: %s", left)
	}
	if again := adam.do(http.MethodPost, "/settings/bindings/remove", one("csrf_token", token, "tool", "pay_invoice")); again.status != http.StatusNotFound {
		t.Errorf("pointers that are not there are removed again: %d", again.status)
	}
}

func TestAListGoesOnWhereItsPageEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 30 {
		d.handOver(d.robot(), strings.Replace(poClosed, `"id": "5105600123"`, `"id": "`+strings.Repeat("9", 3)+string(rune('a'+i%26))+string(rune('a'+i/26))+`"`, 1))
	}
	petra := d.signedIn("petra")
	first := petra.get("/queues/procurement?code=PO_CLOSED")
	next, ok := first.doc.Find("[data-testid=pager-next]").Attr("href")
	if !ok || !strings.Contains(next, "code=PO_CLOSED") {
		t.Fatalf("the next page is at %q", next)
	}
	second := petra.get(next)
	if a, b := first.doc.Find("[data-testid=case-row]").Length(), second.doc.Find("[data-testid=case-row]").Length(); a != 25 || b != 5 {
		t.Errorf("the pages show %d and %d cases", a, b)
	}
	if !second.has("pager-first") {
		t.Error("there is no way back to the first page")
	}
	if p := petra.do(http.MethodGet, "/queues/procurement?cursor=nonsense", nil); p.status != http.StatusBadRequest {
		t.Errorf("a cursor that is none is answered %d", p.status)
	}
}

func TestACancelledHoldSaysWhoAndWhy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.hold(d.robot(), holdText)
	anna := d.signedIn("anna")
	anna.get("/holds").wants(t, "hold-row", "filed by robot")
	waiting := anna.get("/holds/" + id)
	if n := waiting.doc.Find("main form").Length(); n != 0 {
		t.Errorf("a person is shown %d forms; only the agent that filed a hold ends it", n)
	}
	if p := anna.do(http.MethodPost, "/holds/"+id, one("csrf_token", waiting.doc.Find("input[name=csrf_token]").AttrOr("value", ""))); p.status != http.StatusMethodNotAllowed && p.status != http.StatusNotFound {
		t.Errorf("a form posted to a hold is answered %d", p.status)
	}
	if _, err := d.queue.CancelHold(t.Context(), d.robot(), queue.CancelInput{HoldID: id, Reason: "The supplier sent a credit note."}, models.Idempotency{}); err != nil {
		t.Fatal(err)
	}
	seen := anna.get("/holds/" + id)
	seen.wants(t, "hold-status", "Cancelled")
	seen.wants(t, "cancelled", "robot cancelled this hold just now", "The supplier sent a credit note.")
	seen.wants(t, "timeline", "cancelled the hold")
	anna.get("/holds?state=cancelled").wants(t, "hold-row", "Cancelled")
	if anna.get("/holds").has("hold-row") {
		t.Error("it still waits")
	}
}
