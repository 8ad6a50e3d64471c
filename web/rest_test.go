package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

const poClosed = `{"run_id": "run-7f3", "reason": "named_error",
 "invoice": {"id": "5105600123", "number": "INV-778", "supplier_id": "V-2001", "supplier_name": "Nordwind GmbH",
             "po_id": "4500018822", "amount": 1234.50, "currency": "EUR", "invoice_date": "2026-10-03"},
 "errors": [{"tool": "get_purchase_order", "arguments": {"po_id": "4500018822"}, "at": "2026-10-05T09:12:44Z",
             "error": {"code": "PO_CLOSED", "message": "PO 4500018822 was closed on 2026-09-30.", "retryable": false,
                       "next_action": "route_to_person", "details": {"po_id": "4500018822"}}}],
 "evidence": [{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": {"status": "closed", "open": 12345678901234567890}}],
 "explanation": "It is closed.", "suggestion": {"exit": "reopen_po", "why": "The invoice is late."}}`

const write = `{"invoice": {"id": "5105600123", "supplier_id": "V-2001", "amount": "1234.50", "currency": "EUR"},
 "action": {"tool": "post_invoice_adjustment", "arguments": {"invoice_id": "5105600123", "amount": "250.00", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001"}},
 "amount": 250.0, "currency": "EUR", "posting_date": "2026-10-05", "summary": "Post the difference of 250.00 EUR."}`

const theCall = `"tool": "post_invoice_adjustment", "arguments": {"supplier_id": "V-2001", "posting_date": "2026-10-05", "amount": "250.00", "currency": "EUR", "invoice_id": "5105600123"}`

const hold = `{"code": "GR_MISSING", "invoice": {"id": "5105600124", "amount": "80", "currency": "EUR"}, "po_id": "4500018823", "line": 10, "errors": []}`

// swap is a text with one part replaced, which must be there once.
func swap(t *testing.T, text, old, with string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q does not stand exactly once in %s", old, text)
	}
	return strings.Replace(text, old, with, 1)
}

// Every answer an agent or an ERP can get over REST, as it goes over the wire.
func TestREST_on_the_wire(t *testing.T) {
	w := newWorld(t)
	talk := w.talk()
	ids, say := talk.ids, talk.say

	say("the ten outcomes", "GET", "/api/v1/outcomes", "", "")
	say("workspaces", "GET", "/api/v1/workspaces", "both", "")

	// Refusals before anything is looked at.
	say("without a token", "GET", "/api/v1/cases", "", "")
	say("with a token nobody has", "GET", "/api/v1/cases", "apd_nobody", "")
	say("several workspaces and none named", "GET", "/api/v1/cases", "both", "")
	say("a workspace out of reach", "GET", "/api/v1/cases?workspace_id=3000", "both", "")
	say("a workspace out of reach in the header, a good one in the body", "POST", "/api/v1/handovers", "both", swap(t, poClosed, `{"run_id"`, `{"workspace_id": "1000", "run_id"`), "X-Workspace-Id", "3000")
	say("a membership switched off", "GET", "/api/v1/cases", "gone", "")
	say("a scope the token lacks", "POST", "/api/v1/handovers", "reader", poClosed)
	say("a role the user lacks", "POST", "/api/v1/handovers", "fiona", poClosed)
	say("an address that does not exist", "GET", "/api/v1/nothing", "agent", "")
	say("a method the address does not take", "DELETE", "/api/v1/cases", "agent", "")
	say("a body that is not JSON", "POST", "/api/v1/handovers", "agent", `{"reason": }`)
	say("a body of another type", "POST", "/api/v1/handovers", "agent", poClosed, "Content-Type", "text/plain")
	say("no body", "POST", "/api/v1/handovers", "agent", "")
	say("a body that names nothing right", "POST", "/api/v1/handovers", "agent",
		`{"reason": "tired", "invoice": {"amount": "1e5", "currency": "EURO", "invoice_date": "2026-02-30"}, "errors": [], "evidence": [{"kind": "video"}, {"kind": "link", "url": "http://x.test"}], "extra": 1}`)
	say("an unknown filter", "GET", "/api/v1/cases?colour=red", "agent", "")
	say("an unknown sort", "GET", "/api/v1/cases?sort=colour", "agent", "")
	say("a limit out of range", "GET", "/api/v1/cases?limit=201", "agent", "")
	say("a wait out of range", "GET", "/api/v1/cases/case_1?wait=51", "agent", "")

	// A handover and its decision.
	a := say("a handover", "POST", "/api/v1/handovers", "agent", poClosed, "Idempotency-Key", "k1")
	ids["case"] = a.field("case_id")
	say("the same with the same key: the first answer", "POST", "/api/v1/handovers", "agent", poClosed, "Idempotency-Key", "k1")
	say("the same again: joined", "POST", "/api/v1/handovers", "agent", poClosed)
	say("the key with another body", "POST", "/api/v1/handovers", "agent", swap(t, poClosed, "It is closed.", "Closed."), "Idempotency-Key", "k1")
	say("a misrouted outcome", "POST", "/api/v1/handovers", "agent", strings.ReplaceAll(poClosed, "PO_CLOSED", "TOLERANCE_EXCEEDED"))
	say("the case", "GET", "/api/v1/cases/{case}?wait=0", "agent", "")
	say("cases of an amount", "GET", "/api/v1/cases?currency=EUR&amount_from=1000&amount_to=1234.50&snoozed=not&sort=-amount&limit=1", "agent", "")
	say("an amount without its currency", "GET", "/api/v1/cases?amount_from=1000", "agent", "")
	say("an age that is none", "GET", "/api/v1/cases?age=2d&due=never&snoozed=maybe", "agent", "")
	say("the cases", "GET", "/api/v1/cases?status=open&code=PO_CLOSED&limit=1", "agent", "")
	say("a case of another workspace", "GET", "/api/v1/cases/{case}?workspace_id=2000", "both", "")
	case1, err := w.queue.Get(t.Context(), w.person("petra@example.test"), ids["case"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.queue.Decide(t.Context(), w.person("petra@example.test"), queue.DecideInput{CaseID: ids["case"], Exit: "use_other_po", Input: map[string]string{"po_id": "4500018900"}, Reason: "Replaced.", Version: case1.Version})
	if err != nil {
		t.Fatal(err)
	}
	say("the case once decided", "GET", "/api/v1/cases/{case}?wait=50", "agent", "")
	say("an answer nobody asked for", "POST", "/api/v1/handovers", "agent", `{"case_id": "{case}", "answer": "Yes."}`)

	// An approval and its write.
	a = say("an approval request", "POST", "/api/v1/approval-requests", "agent", write)
	ids["request"] = a.field("request_id")
	say("the same call again: joined", "POST", "/api/v1/approval-requests", "agent", write)
	say("a claim that differs from the call", "POST", "/api/v1/approval-requests", "agent", swap(t, write, `"amount": 250.0,`, `"amount": 251,`))
	say("arguments that are not exact", "POST", "/api/v1/approval-requests", "agent", swap(t, write, `"amount": "250.00"`, `"amount": 12345678901234567890, "amount": 2`))
	a = say("a request no rule routes", "POST", "/api/v1/approval-requests", "agent", strings.ReplaceAll(strings.ReplaceAll(write, "250.00", "25000.00"), "250.0,", "25000,"))
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("unrouted: %d", a.status)
	}
	say("the request", "GET", "/api/v1/approval-requests/{request}", "agent", "")
	view, err := w.approvals.Page(t.Context(), w.person("fiona@example.test"), ids["request"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.approvals.Vote(t.Context(), w.person("fiona@example.test"), approvals.VoteInput{RequestID: ids["request"], Decision: models.VoteApprove, Version: view.Request.Version})
	if err != nil {
		t.Fatal(err)
	}
	a = say("the request once approved", "GET", "/api/v1/approval-requests/{request}?wait=50", "agent", "")
	ids["approval"] = a.field("approval_id")
	say("an agent redeems", "POST", "/api/v1/approvals/{approval}/redeem", "agent", `{`+theCall+`, "idempotency_key": "r1"}`)
	say("an approval that is not", "POST", "/api/v1/approvals/apr_nothing/redeem", "erp", `{`+theCall+`, "idempotency_key": "r1"}`)
	say("another call", "POST", "/api/v1/approvals/{approval}/redeem", "erp", `{`+strings.Replace(theCall, "250.00", "250.01", 1)+`, "idempotency_key": "r1"}`)
	say("no key", "POST", "/api/v1/approvals/{approval}/redeem", "erp", `{`+theCall+`}`)
	say("a report before the redeem", "POST", "/api/v1/approvals/{approval}/report", "erp", `{"status": "posted", "document_number": "5100000001"}`)
	say("the redeem", "POST", "/api/v1/approvals/{approval}/redeem", "erp", `{`+theCall+`, "idempotency_key": "r1"}`)
	say("the same redeem, its key in the header", "POST", "/api/v1/approvals/{approval}/redeem", "erp", `{`+theCall+`}`, "Idempotency-Key", "r1")
	say("a second redeem", "POST", "/api/v1/approvals/{approval}/redeem", "erp", `{`+theCall+`, "idempotency_key": "r2"}`)
	say("the report", "POST", "/api/v1/approvals/{approval}/report", "erp", `{"status": "posted", "document_number": "5100000001"}`)
	say("a report that says something else", "POST", "/api/v1/approvals/{approval}/report", "erp", `{"status": "failed"}`)
	w.in("1000", func(tx *models.Tx) error {
		day, err := models.ParseDate("2026-10-31")
		if err != nil {
			return err
		}
		return tx.MovePeriod(day, models.Date{})
	})
	say("a posting date in a closed period", "POST", "/api/v1/approval-requests", "agent", strings.ReplaceAll(strings.ReplaceAll(write, "250.00", "260.00"), "250.0,", "260,"))

	// A hold.
	a = say("a hold", "POST", "/api/v1/holds", "agent", hold)
	ids["hold"] = a.field("hold_id")
	say("the same hold again: joined", "POST", "/api/v1/holds", "agent", hold)
	say("a code that is not waited for", "POST", "/api/v1/holds", "agent", swap(t, hold, "GR_MISSING", "PO_CLOSED"))
	say("a hold that names little right", "POST", "/api/v1/holds", "agent", `{"code": "NOPE", "invoice": {"id": "1", "amount": "1", "currency": "EUR"}, "po_id": "", "line": 1.5, "max_checks": 21, "recheck_at": "tomorrow"}`)
	say("nothing is due yet", "POST", "/api/v1/holds/lease", "agent", "")
	w.clock.Advance(36 * time.Hour)
	say("what is due", "GET", "/api/v1/holds?due=true", "agent", "")
	say("taking what is due", "POST", "/api/v1/holds/lease", "agent", `{"limit": 10}`)
	say("the hold", "GET", "/api/v1/holds/{hold}", "agent", "")
	say("still missing", "POST", "/api/v1/holds/{hold}/recheck", "agent", `{"result": "still_missing"}`)
	say("available", "POST", "/api/v1/holds/{hold}/recheck", "agent", `{"result": "available"}`)
	say("a hold that waits no more", "POST", "/api/v1/holds/{hold}/recheck", "agent", `{"result": "available"}`)
	say("the trail", "GET", "/api/v1/audit?case_id={case}&sort=at&limit=2", "fiona", "")
	say("the trail is not for agents", "GET", "/api/v1/audit", "both", "", "X-Workspace-Id", "1000")

	talk.golden("testdata/rest.golden")
}

func TestOutcomes_have_the_published_shape(t *testing.T) {
	a := newWorld(t).call("GET", "/api/v1/outcomes", "", "")
	var got map[string][]map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || len(got) != 1 || len(got["outcomes"]) != 10 {
		t.Fatalf("%v %s", err, a.body)
	}
	for i, e := range models.Outcomes() {
		one := got["outcomes"][i]
		if len(one) != 5 || one["code"] != string(e.Code) || one["kind"] != string(e.Kind) || one["retryable"] != e.Retryable || one["next_action"] != string(e.NextAction) {
			t.Errorf("%d: %v", i, one)
		}
		if e.Queue == "" && one["queue"] != nil || e.Queue != "" && one["queue"] != string(e.Queue) {
			t.Errorf("%s: queue %v", e.Code, one["queue"])
		}
	}
}

func TestAmounts_keep_their_digits_from_the_wire_to_the_answer(t *testing.T) {
	w := newWorld(t)
	a := w.call("POST", "/api/v1/handovers", "agent", poClosed)
	a = w.call("GET", "/api/v1/cases/"+a.field("case_id"), "agent", "")
	for _, want := range []string{`"amount":"1234.50"`, `"open":12345678901234567890`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
}

func TestKeys_are_scoped_to_user_workspace_and_operation(t *testing.T) {
	w := newWorld(t)
	key := []string{"Idempotency-Key", "same"}
	if a := w.call("POST", "/api/v1/handovers", "agent", poClosed, key...); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := w.call("POST", "/api/v1/approval-requests", "agent", write, key...); a.status != 201 {
		t.Errorf("another operation: %d %s", a.status, a.body)
	}
	other := strings.Replace(poClosed, "5105600123", "5105600999", 1)
	if a := w.call("POST", "/api/v1/handovers?workspace_id=1000", "both", other, key...); a.status != 201 {
		t.Errorf("another user: %d %s", a.status, a.body)
	}
	if a := w.call("POST", "/api/v1/handovers?workspace_id=2000", "both", other, key...); a.status != 201 {
		t.Errorf("another workspace: %d %s", a.status, a.body)
	}
	// Refusals are not remembered.
	if a := w.call("POST", "/api/v1/handovers", "agent", `{"idempotency_key": "second"}`); a.status != 400 {
		t.Errorf("%d", a.status)
	}
	if a := w.call("POST", "/api/v1/handovers", "agent", other, "Idempotency-Key", "second"); a.status != 201 && a.status != 200 {
		t.Errorf("after a refusal: %d %s", a.status, a.body)
	}
	if a := w.call("POST", "/api/v1/handovers", "agent", poClosed, "Idempotency-Key", strings.Repeat("k", 256)); a.code() != "VALIDATION_ERROR" || !strings.Contains(a.body, `"/idempotency_key"`) {
		t.Errorf("a long key: %d %s", a.status, a.body)
	}
	// The 422 of an unrouted request wrote rows, so its key is remembered.
	unrouted := strings.ReplaceAll(strings.ReplaceAll(write, "250.00", "25000.00"), "250.0,", "25000,")
	first := w.call("POST", "/api/v1/approval-requests", "agent", unrouted, "Idempotency-Key", "u")
	second := w.call("POST", "/api/v1/approval-requests", "agent", unrouted, "Idempotency-Key", "u")
	if first.code() != "APPROVER_NOT_FOUND" || first.status != 422 || second.status != 422 || first.body != second.body {
		t.Errorf("unrouted: %d %s\n%d %s", first.status, first.body, second.status, second.body)
	}
}

// No token of any scope reaches an operation that decides: there is none.
func TestNoToken_can_decide(t *testing.T) {
	w := newWorld(t)
	a := w.call("POST", "/api/v1/handovers", "agent", poClosed)
	id := a.field("case_id")
	for _, path := range []string{"/cases/" + id, "/cases/" + id + "/claim", "/cases/" + id + "/decision"} {
		if a := w.call("POST", path, "fiona", ""); a.status < 300 || (a.status < 400 && !strings.HasPrefix(a.header.Get("Location"), "/login")) {
			t.Errorf("%s with a token: %d", path, a.status)
		}
		if a := w.call("POST", "/api/v1"+path, "fiona", `{}`); a.status != 404 && a.status != 405 {
			t.Errorf("/api/v1%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestAudit(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		body := strings.ReplaceAll(poClosed, "5105600123", fmt.Sprintf("51056001%02d", i))
		if a := w.call("POST", "/api/v1/handovers", "agent", body); a.status != 201 {
			t.Fatal(a.body)
		}
	}
	type page struct {
		Items []struct {
			ID     string
			Action string
			Data   map[string]any
		}
		NextCursor string `json:"next_cursor"`
	}
	read := func(query string) page {
		t.Helper()
		a := w.call("GET", "/api/v1/audit?action=case.opened"+query, "fiona", "")
		var p page
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != 200 {
			t.Fatalf("%v %d %s", err, a.status, a.body)
		}
		return p
	}
	for _, sort := range []string{"", "&sort=at"} {
		var ids []string
		p := read(sort + "&limit=2")
		for ; ; p = read(sort + "&limit=2&cursor=" + p.NextCursor) {
			for _, e := range p.Items {
				ids = append(ids, e.ID)
			}
			if p.NextCursor == "" {
				break
			}
		}
		sorted := slices.Clone(ids)
		slices.Sort(sorted)
		if sort == "" {
			slices.Reverse(sorted)
		}
		if len(ids) != 5 || !slices.Equal(ids, sorted) {
			t.Errorf("sort %q: %v", sort, ids)
		}
	}
	if a := w.call("GET", "/api/v1/audit?cursor=nonsense", "fiona", ""); a.code() != "BAD_REQUEST" {
		t.Errorf("a made-up cursor: %s", a.body)
	}
	if a := w.call("GET", "/api/v1/audit?sort=actor_id", "fiona", ""); a.code() != "BAD_REQUEST" {
		t.Errorf("an unknown sort: %s", a.body)
	}
	if a := w.call("GET", "/api/v1/audit?from=yesterday", "fiona", ""); a.code() != "VALIDATION_ERROR" {
		t.Errorf("a wrong time: %s", a.body)
	}
	if a := w.call("GET", "/api/v1/audit?workspace_id=2000", "both", ""); a.code() != "insufficient_permission" {
		t.Errorf("an agent: %s", a.body)
	}
}

func TestRateLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.RateLimit = 1 })
	for range 5 {
		if a := w.call("GET", "/api/v1/cases", "agent", ""); a.status != 200 {
			t.Fatalf("within the burst: %d", a.status)
		}
	}
	a := w.call("GET", "/api/v1/cases", "agent", "")
	if a.status != 429 || a.code() != "RATE_LIMITED" || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"retry_after_seconds":1`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.call("GET", "/api/v1/cases", "lena", ""); a.status != 200 {
		t.Errorf("another user is limited too: %d", a.status)
	}
	w.clock.Advance(time.Second)
	if a := w.call("GET", "/api/v1/cases", "agent", ""); a.status != 200 {
		t.Errorf("after the wait: %d", a.status)
	}
}

// The same on both databases: what REST promises about keys and lists does not depend on one.
func TestREST_on_both_databases(t *testing.T) {
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		w := newWorldOn(t, store, clock)
		first := w.call("POST", "/api/v1/handovers", "agent", poClosed, "Idempotency-Key", "k")
		again := w.call("POST", "/api/v1/handovers", "agent", poClosed, "Idempotency-Key", "k")
		if first.status != 201 || again.status != 201 || first.body != again.body {
			t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
		}
		if a := w.call("GET", "/api/v1/audit?limit=1", "fiona", ""); a.status != 200 || a.field("next_cursor") == "" {
			t.Errorf("%d %s", a.status, a.body)
		} else if a := w.call("GET", "/api/v1/audit?limit=1&cursor="+a.field("next_cursor"), "fiona", ""); a.status != 200 {
			t.Errorf("second page: %d %s", a.status, a.body)
		}
		if a := w.call("POST", "/api/v1/holds", "agent", hold); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
