package approvals_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func evidenceOf(pieces ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range pieces {
		out = append(out, json.RawMessage(p))
	}
	return out
}

// lineText is a line of a match as one would read it across the table.
func lineText(l approvals.MatchLine) string {
	parts := []string{l.Line, l.Text, l.Ordered, l.Received, l.Invoiced, l.OrderPrice, l.InvoicePrice, l.Expected, l.Amount, l.Difference, l.Percent}
	for i, p := range parts {
		if p == "" {
			parts[i] = "-"
		}
	}
	return strings.Join(append(parts, l.Marks...), " | ")
}

func TestOrderReceiptAndInvoiceStandBesideEachOther(t *testing.T) {
	t.Parallel()
	const invoice = `{"id": "5105600106", "amount": "2478.00", "currency": "EUR"}`
	table := `{"kind": "table", "title": "Order, receipt and invoice", "columns": ["line", "text", "ordered", "received", "unit_price", "value"],
		"rows": [["10", "Carbide insert", "20", "20", "118.00", "2360.00"]]}`
	difference := `{"kind": "record", "title": "Difference", "source": "run_three_way_match", "data": {"received_value": "2360.00 EUR", "invoiced": "2478.00 EUR",
		"difference": "118.00 EUR", "percent": "5.0 %", "limit": "2 %"}}`
	for _, c := range []struct {
		name     string
		evidence []json.RawMessage
		invoice  string
		lines    []string
		whole    string
		over     bool
		marks    []string
	}{
		{name: "a table and the record of the match tool", evidence: evidenceOf(table, difference), invoice: invoice,
			lines: []string{"10 | Carbide insert | 20 | 20 | - | 118.00 | - | 2360.00 | 2478.00 | 118.00 | 5 | over the tolerance of 2 %"},
			whole: "2360.00 2478.00 118.00 5", over: true, marks: []string{"Over the tolerance of 2 %: EUR 118.00 more than expected (5 %)"}},
		{name: "what the match tool answers, whole", invoice: invoice,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"result": "tolerance_exceeded", "lines": [{"line": 10, "text": "Carbide insert", "ordered": "20",
				"received": "18", "unit_price": "118.00", "value": "2124.00"}], "expected": "2124.00", "invoiced": "2478.00", "difference": "354.00", "percent": "16.7", "limit_percent": "2", "currency": "EUR"}}`),
			lines: []string{"10 | Carbide insert | 20 | 18 | - | 118.00 | - | 2124.00 | 2478.00 | 354.00 | 16.7 | over the tolerance of 2 % | 18 received of 20 ordered"},
			whole: "2124.00 2478.00 354.00 16.7", over: true, marks: []string{"Over the tolerance of 2 %: EUR 354.00 more than expected (16.7 %)"}},
		{name: "the invoice's own lines join those of the order and the receipt by number", invoice: `{"amount": "1500.00", "currency": "EUR", "lines": [
				{"line": "00010", "quantity": "12", "unit_price": "50.00"}, {"line": "20", "quantity": "3", "unit_price": "300.00", "amount": "900.00"}]}`,
			evidence: evidenceOf(`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"line": 10, "quantity": "10", "price": "50.00"}, {"line": 20, "quantity": "3", "price": "290.00"}]}}`,
				`{"kind": "record", "source": "get_goods_receipt", "data": {"lines": [{"line": 10, "quantity": "10"}, {"line": 20, "quantity": "3"}]}}`,
				`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "5 %"}}`),
			lines: []string{"10 | - | 10 | 10 | 12 | 50.00 | 50.00 | 500.00 | 600.00 | 100.00 | 20 | over the tolerance of 5 % | 12 invoiced, only 10 received",
				"20 | - | 3 | 3 | 3 | 290.00 | 300.00 | 870.00 | 900.00 | 30.00 | 3.4 | price 300.00 instead of 290.00"},
			whole: "1370.00 1500.00 130.00 9.5", over: true, marks: []string{"Over the tolerance of 5 %: EUR 130.00 more than expected (9.5 %)"}},
		{name: "a difference just over the limit is not shown as the limit", invoice: `{"amount": "1020.01", "currency": "EUR"}`,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"expected": "1000.00", "invoiced": "1020.01", "limit_percent": "2"}}`),
			whole:    "1000.00 1020.01 20.01 2.001", over: true, marks: []string{"Over the tolerance of 2 %: EUR 20.01 more than expected (2.001 %)"}},
		{name: "exactly the limit is within it", invoice: `{"amount": "980.00", "currency": "EUR"}`,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"expected": "1000.00", "invoiced": "980.00", "limit_percent": "2.0"}}`),
			whole:    "1000.00 980.00 -20.00 -2", marks: []string{"Within the tolerance of 2.0 %"}},
		{name: "amounts that no double holds, in a currency without decimals", invoice: `{"amount": "123456789012345678", "currency": "JPY"}`,
			evidence: evidenceOf(`{"kind": "table", "columns": ["Line", "Ordered", "Received", "PO price"], "rows": [[10, 2, 2, 61728394506172838.5]]}`),
			lines:    []string{"10 | - | 2 | 2 | - | 61728394506172838.5 | - | 123456789012345677 | 123456789012345678 | 1 | 0"},
			whole:    "123456789012345677 123456789012345678 1 0", marks: []string{"The evidence does not say which tolerance holds"}},
		{name: "values that are missing, or that nobody can read for certain, are left out", invoice: `{"amount": "10.00", "currency": "EUR"}`,
			evidence: evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "invoiced", "unit_price"], "rows": [["1", "4", null, "4", "1,234.50"], ["2"], ["3", "1", "1", "1", "2.50"]]}`),
			lines:    []string{"1 | - | 4 | - | 4 | 1,234.50 | - | - | - | - | -", "2 | - | - | - | - | - | - | - | - | - | -", "3 | - | 1 | 1 | 1 | 2.50 | - | 2.50 | - | - | -"},
			whole:    " 10.00  "},
		{name: "nothing received: no percentage, and any tolerance is broken", invoice: `{"amount": "99.00", "currency": "EUR"}`,
			evidence: evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price"], "rows": [["10", "9", "0", "11.00"]]}`,
				`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2"}}`),
			lines: []string{"10 | - | 9 | 0 | - | 11.00 | - | 0.00 | 99.00 | 99.00 | - | over the tolerance of 2 % | 0 received of 9 ordered"},
			whole: "0.00 99.00 99.00 ", over: true, marks: []string{"Over the tolerance of 2 %: EUR 99.00 more than expected"}},
		{name: "figures that do not fit one another are said", invoice: `{"amount": "119.00", "currency": "EUR", "lines": [{"line": "1", "quantity": "1", "unit_price": "100.00", "amount": "101.00"}]}`,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"difference": "5.00", "lines": [{"line": "1", "ordered": "1", "received": "1", "unit_price": "100.00", "value": "99.00"}]}}`),
			lines:    []string{"1 | - | 1 | 1 | 1 | 100.00 | 100.00 | 100.00 | 101.00 | 1.00 | 1 | states a value of EUR 99.00; quantity times price is EUR 100.00 | bills EUR 101.00; quantity times price is EUR 100.00"},
			whole:    "100.00 101.00 1.00 1", marks: []string{"The evidence does not say which tolerance holds", "The evidence states a difference of EUR 5.00; its figures give EUR 1.00",
				"The lines bill EUR 101.00 together; the invoice's total is EUR 119.00"}},
		{name: "another currency is never converted", invoice: `{"amount": "7500.00", "currency": "USD", "lines": [{"line": "1", "quantity": "6", "unit_price": "1250.00"}]}`,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"currency": "EUR", "expected": "7200.00", "limit": "2"}}`),
			whole:    "7200.00   ", marks: []string{"The order is in EUR and the invoice in USD: their amounts are not compared"}},
		{name: "a credit note", invoice: `{"amount": "-110.00", "currency": "EUR"}`,
			evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"expected": "-100.00", "limit": "2"}}`),
			whole:    "-100.00 -110.00 -10.00 -10", over: true, marks: []string{"Over the tolerance of 2 %: EUR 10.00 less than expected (-10 %)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := approvals.MatchOf(c.evidence, json.RawMessage(c.invoice))
			if m == nil {
				t.Fatal("there is no match")
			}
			var lines []string
			for _, l := range m.Lines {
				lines = append(lines, lineText(l))
			}
			if !slices.Equal(lines, c.lines) {
				t.Errorf("the lines are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(c.lines, "\n"))
			}
			if whole := strings.Join([]string{m.Expected, m.Invoiced, m.Difference, m.Percent}, " "); whole != c.whole || m.Over != c.over {
				t.Errorf("the whole is %q (over %v), want %q (over %v)", whole, m.Over, c.whole, c.over)
			}
			if !slices.Equal(m.Marks, c.marks) {
				t.Errorf("it is marked %q, want %q", m.Marks, c.marks)
			}
		})
	}
}

func TestEvidenceWithoutOrderOrReceiptIsNoMatch(t *testing.T) {
	t.Parallel()
	for _, evidence := range [][]json.RawMessage{
		nil,
		evidenceOf(`{"kind": "note", "text": "ordered 5, received 4"}`, `null`, `[]`, `"x"`, `{`),
		evidenceOf(`{"kind": "table", "columns": ["po_id", "text", "value"], "rows": [["4500018804", "Paper", "1680.00"]]}`),
		evidenceOf(`{"kind": "record", "source": "get_supplier_history", "data": {"expected": "5.00", "lines": [{"ordered": "1"}]}}`),
		evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": ["x"]}`, `{"kind": "record", "source": "run_three_way_match", "data": {"lines": "none", "expected": {}}}`),
	} {
		if m := approvals.MatchOf(evidence, json.RawMessage(`{"amount": "5.00", "currency": "EUR", "lines": [{"quantity": "1"}]}`)); m != nil {
			t.Errorf("%s makes a match: %+v", evidence, m)
		}
	}
}

func TestChangesAreListedFieldByField(t *testing.T) {
	t.Parallel()
	then := models.ApprovalRequest{Amount: "500.00", Currency: "EUR", CostCentre: "C-1", Arguments: `{"amount":"500.00","lines":[{"gl":"400100"},{"gl":"473000"}],"note":null,"urgent":true,"a":{"b":1}}`}
	now := models.ApprovalRequest{Amount: "250.00", Currency: "EUR", Arguments: `{"amount":"250.00","lines":[{"gl":"400200"}],"text":"","urgent":"true","a › b":2}`}
	var got []string
	for _, c := range approvals.Changes(then, now) {
		was, is := c.Then, c.Now
		if !c.WasThere {
			was = "nothing"
		}
		if !c.IsThere {
			is = "nothing"
		}
		got = append(got, c.Name+": "+was+" to "+is)
	}
	want := []string{"Amount: EUR 500.00 to EUR 250.00", "Cost centre: C-1 to nothing", `a \› b: nothing to 2`, "a › b: 1 to nothing", "amount: 500.00 to 250.00", "lines › [1] › gl: 400100 to 400200",
		"lines › [2] › gl: 473000 to nothing", "note: null to nothing", "text: nothing to ", "urgent: true to true"}
	if !slices.Equal(got, want) {
		t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatBecameOfTheEarlierRequestIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		first := d.request("robot", ask(t, "500.00"))
		d.mustVote(t, "fumiko", first.RequestID, approvals.VoteInput{Decision: models.VoteReject, Reason: "Only half came.", Correction: map[string]string{"amount": "250.00"}})
		clock.Advance(day)
		d.request("robot", ask(t, "777.00", func(in *approvals.RequestInput) {
			in.Action.Tool, in.Amount = "notify_supplier", models.Money{}
			in.Amount, _ = models.ParseMoney("777.00", "EUR")
		}))
		again := d.request("robot", ask(t, "250.00", func(in *approvals.RequestInput) {
			in.Evidence = evidenceOf(`{"kind": "note", "text": "Delivery note"}`)
		}))
		e, err := d.svc.EarlierRequestOf(t.Context(), d.web("frank"), again.RequestID)
		if err != nil || e == nil {
			t.Fatalf("the earlier request is %+v, %v", e, err)
		}
		if e.RequestID != first.RequestID || e.Status != models.RequestRejected || !e.SentBack || e.Reason != "Only half came." || !slices.Equal(e.DecidedBy, []string{"fumiko"}) ||
			len(e.Correction) != 1 || e.Correction[0] != (approvals.CorrectedValue{Name: "amount", Value: "250.00"}) || e.EvidenceThen != 0 || e.EvidenceNow != 1 || e.SameCall {
			t.Errorf("the earlier request is told as %+v", e)
		}
		if len(e.Changes) != 2 || e.Changes[0].Now != "EUR 250.00" || e.Changes[1].Name != "amount" {
			t.Errorf("the changes are %+v", e.Changes)
		}
		if none, err := d.svc.EarlierRequestOf(t.Context(), d.web("frank"), first.RequestID); err != nil || none != nil {
			t.Errorf("the first request has an earlier one: %+v, %v", none, err)
		}
		if _, err := d.svc.EarlierRequestOf(t.Context(), d.mcp("other-robot"), again.RequestID); !models.IsCode(err, models.NotFound) {
			t.Errorf("another agent is answered %v", err)
		}
	})
}

// mustVote votes on the request as it is now.
func (d *desk) mustVote(t *testing.T, name, requestID string, in approvals.VoteInput) {
	t.Helper()
	page, err := d.svc.Page(t.Context(), d.web(name), requestID)
	if err != nil {
		t.Fatal(err)
	}
	in.RequestID, in.Version = requestID, page.Request.Version
	if _, err := d.svc.Vote(t.Context(), d.web(name), in); err != nil {
		t.Fatal(err)
	}
}
