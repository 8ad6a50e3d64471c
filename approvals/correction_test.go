package approvals_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// deepTool is a write whose values stand inside a list and an object.
const deepTool = "post_lines"

var deepBinding = models.Binding{InvoiceID: "/invoice_id", SupplierID: "/header/supplier", Amount: "/lines/0/value", Currency: "/sum/currency", PostingDate: "/header/date"}

// deepCall asks for a deepTool.
func deepCall(t *testing.T) approvals.RequestInput {
	return ask(t, "2100.00", func(in *approvals.RequestInput) {
		in.Action = models.Call{Tool: deepTool, Arguments: json.RawMessage(`{"invoice_id":"5105600123","header":{"supplier":"V-2001","date":"2026-10-05","booked":true},
			"lines":[{"value":"2100.00","text":"a <b> & c","rate":0.19},{"value":"1.00"}],"sum":{"currency":"EUR"}}`)}
	})
}

// sendBack is a person's correction of a request and what the agent is told.
func (d *desk) sendBack(requestID string, changes map[string]string) (*models.Instruction, error) {
	v, err := d.svc.Vote(d.t.Context(), d.web("frank"), approvals.VoteInput{RequestID: requestID, Decision: models.VoteReject, Reason: "Not like this.", Version: 1, Correction: changes})
	return v.Instruction, err
}

// corrected is the request of an agent that takes the instruction over to the letter: each member of input
// in the place of the call's own, and the claims as the corrected call says them.
func corrected(t *testing.T, in approvals.RequestInput, told *models.Instruction, b models.Binding) (approvals.RequestInput, error) {
	t.Helper()
	var args map[string]any
	if err := json.Unmarshal(in.Action.Arguments, &args); err != nil {
		t.Fatal(err)
	}
	maps.Copy(args, told.Input)
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	in.Action.Arguments = text
	said := func(pointer string) string {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(pointer[1:], "/") {
			if list, ok := v.([]any); ok {
				v = list[0] // no pointer here names another
				continue
			}
			v = v.(map[string]any)[name]
		}
		return fmt.Sprint(v)
	}
	in.Invoice.ID, in.Invoice.SupplierID = said(b.InvoiceID), said(b.SupplierID)
	if in.Amount, err = models.ParseMoney(said(b.Amount), said(b.Currency)); err != nil {
		return in, err
	}
	in.PostingDate, err = models.ParseDate(said(b.PostingDate))
	return in, err
}

// What a person may send back the agent can use: every value is either refused at its field, or the call
// that comes of it is one that can be asked for.
func TestACorrectionIsCheckedAsTheNextRequestWillBe(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "JPY", From: "0", To: "1000000"})
		d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.SetBinding(deepTool, deepBinding) })
		d.closePeriod("2026-09-30")
		flat := models.DefaultBindings()["post_invoice_adjustment"]
		for round, call := range []struct {
			in      approvals.RequestInput
			binding models.Binding
			names   models.Binding // of the values in a correction
		}{
			{ask(t, "2100.00"), flat, models.Binding{InvoiceID: "invoice_id", SupplierID: "supplier_id", Amount: "amount", Currency: "currency", PostingDate: "posting_date"}},
			{deepCall(t), deepBinding, models.Binding{InvoiceID: "invoice_id", SupplierID: "/header/supplier", Amount: "/lines/0/value", Currency: "/sum/currency", PostingDate: "/header/date"}},
		} {
			n := call.names
			for i, c := range []struct {
				changes map[string]string
				refused string // the value at fault, empty for none
				words   string
			}{
				{map[string]string{n.Currency: "XXZ"}, n.Currency, "ISO 4217"},
				{map[string]string{n.Currency: "usd"}, n.Currency, "ISO 4217"},
				{map[string]string{n.Currency: "JPY"}, n.Currency, "JPY has 0 decimals"},
				{map[string]string{n.Currency: "JPY", n.Amount: "2100.50"}, n.Amount, "JPY has 0"},
				{map[string]string{n.Currency: "EU\u200bR"}, n.Currency, "ISO 4217"},
				{map[string]string{n.Amount: "1,5"}, n.Amount, "plain decimal"},
				{map[string]string{n.Amount: "1.005"}, n.Amount, "more decimals"},
				{map[string]string{n.PostingDate: "2026-02-30"}, n.PostingDate, "date"},
				{map[string]string{n.PostingDate: "2026-09-30"}, n.PostingDate, "books are closed"},
				{map[string]string{n.SupplierID: "V-\u202e1002"}, n.SupplierID, "cannot be seen"},
				{map[string]string{n.SupplierID: "V-\x001002"}, n.SupplierID, "cannot be seen"},
				{map[string]string{n.SupplierID: "V-1002\nV-1003"}, n.SupplierID, "one line"},
				{map[string]string{n.SupplierID: "V-\xff1002"}, n.SupplierID, "cannot be seen"},
				{map[string]string{n.InvoiceID: "51\u00ad05"}, n.InvoiceID, "cannot be seen"},
				{map[string]string{n.InvoiceID: strings.Repeat("9", 256)}, n.InvoiceID, "at most 255"},
				{map[string]string{n.Currency: "JPY", n.Amount: "2100"}, "", ""},
				{map[string]string{n.Currency: "USD"}, "", ""},
				{map[string]string{n.Amount: "250.5"}, "", ""},
				{map[string]string{n.PostingDate: "2026-10-01", n.SupplierID: "Müller & Söhne <1>"}, "", ""},
				{map[string]string{n.InvoiceID: "5105600999"}, "", ""},
			} {
				in := call.in
				in.Invoice.ID = fmt.Sprintf("51057%d%04d", round, i) // nobody corrects two calls of one invoice
				in.Action.Arguments = json.RawMessage(strings.Replace(string(in.Action.Arguments), "5105600123", in.Invoice.ID, 1))
				asked := d.request("robot", in)
				told, err := d.sendBack(asked.RequestID, c.changes)
				if c.refused != "" {
					if is := wantIssue(t, err, approvals.CorrectionPath(c.refused)); !strings.Contains(is.Message, c.words) {
						t.Errorf("%v: %s", c.changes, is.Message)
					}
					continue
				}
				if err != nil {
					t.Errorf("%v: %v", c.changes, err)
					continue
				}
				next, err := corrected(t, in, told, call.binding)
				if err != nil {
					t.Errorf("%v makes a call that nobody can ask for: %v", c.changes, err)
					continue
				}
				if v, err := d.svc.Request(t.Context(), d.mcp("robot"), next, models.Idempotency{}); err != nil || !v.Created {
					t.Errorf("%v: the corrected call is answered %+v, %v", c.changes, v, err)
				}
			}
		}
	})
}

// A value inside a list or object is corrected like any other; the rest of that argument stays as it was.
func TestAValueDeeperDownIsCorrectedInItsPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.SetBinding(deepTool, deepBinding) })
		asked := d.request("robot", deepCall(t))
		page, err := d.svc.Page(t.Context(), d.web("frank"), asked.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		want := []approvals.Correctable{{Name: "invoice_id", Value: "5105600123", Bound: approvals.BoundInvoice}, {Name: "/header/date", Value: "2026-10-05", Bound: approvals.BoundPostingDate},
			{Name: "/header/supplier", Value: "V-2001", Bound: approvals.BoundSupplier}, {Name: "/lines/0/value", Value: "2100.00", Bound: approvals.BoundAmount}, {Name: "/sum/currency", Value: "EUR", Bound: approvals.BoundCurrency}}
		if fmt.Sprint(page.Correctable) != fmt.Sprint(want) {
			t.Errorf("correctable are %+v", page.Correctable)
		}
		told, err := d.sendBack(asked.RequestID, map[string]string{"/lines/0/value": "210.00", "/header/date": "2026-10-05", "/sum/currency": "USD", "invoice_id": "5105600123"})
		if err != nil {
			t.Fatal(err)
		}
		input, err := json.Marshal(told.Input)
		if err != nil {
			t.Fatal(err)
		}
		var got, whole any
		if json.Unmarshal(input, &got) != nil || json.Unmarshal([]byte(`{"lines":[{"value":"210.00","text":"a <b> & c","rate":0.19},{"value":"1.00"}],"sum":{"currency":"USD"}}`), &whole) != nil || fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Errorf("the agent is told %s", input)
		}
		values := fmt.Sprint(approvals.CorrectedValues(page.Arguments, told))
		if values != "[{lines › [1] › value 210.00} {sum › currency USD}]" {
			t.Errorf("people are told %s", values)
		}
	})
}
