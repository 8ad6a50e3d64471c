package agent

import (
	"testing"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

func TestLoopLimits(t *testing.T) {
	read := func(run int, args, code string) Call {
		return Call{Run: run, Tool: "get_goods_receipt", Arguments: args, Code: code, Counted: true}
	}
	write := func(run int, approval, code string) Call {
		return Call{Run: run, Tool: toolPost, Arguments: `{"a":1}`, ApprovalID: approval, Code: code, Counted: true}
	}
	var spent []Call
	for i := range Budget {
		spent = append(spent, read(i, "{}", ""))
	}
	polls := make([]Call, 100)
	tests := []struct {
		name           string
		done           []Call
		next           Call
		write, granted bool
		want           string
	}{
		{"a first call is fine", nil, read(1, "{}", ""), false, false, ""},
		{"the same call in the same run is a loop", []Call{read(1, "{}", "")}, read(1, "{}", ""), false, false, loopDetected},
		{"the same call with other input is none", []Call{read(1, `{"po_id":"1"}`, "")}, read(1, `{"po_id":"2"}`, ""), false, false, ""},
		{"after GR_MISSING the same read waits for the next run", []Call{read(1, "{}", "GR_MISSING")}, read(1, "{}", ""), false, false, loopDetected},
		{"the next run may read again", []Call{read(1, "{}", "GR_MISSING")}, read(2, "{}", ""), false, false, ""},
		{"a person's decision grants one fresh try", []Call{read(1, "{}", "PO_CLOSED")}, read(1, "{}", ""), false, true, ""},
		{"a call answered with not now may be repeated", []Call{{Run: 1, Tool: "t", Arguments: "{}", Transient: true}}, Call{Run: 1, Tool: "t", Arguments: "{}"}, false, false, ""},
		{"after APPROVAL_MISSING no write without an approval", []Call{write(1, "", "APPROVAL_MISSING")}, Call{Run: 1, Tool: toolNotify, Arguments: "{}"}, true, false, loopDetected},
		{"not even one a person's decision granted", []Call{write(1, "", "APPROVAL_MISSING")}, write(1, "", ""), true, true, loopDetected},
		{"nor with the approval that was refused", []Call{write(1, "apr_1", "APPROVAL_MISSING")}, write(1, "apr_1", ""), true, false, loopDetected},
		{"a new approval opens the write again", []Call{write(1, "", "APPROVAL_MISSING")}, write(1, "apr_2", ""), true, false, ""},
		{"the budget ends it", spent, read(99, "{}", ""), false, false, budgetExhausted},
		{"one granted call goes beyond it", spent, read(99, "{}", ""), false, true, ""},
		{"polls and handovers cost nothing", polls, read(1, "{}", ""), false, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reason, ok := allowed(tt.done, tt.next, tt.write, tt.granted)
			if reason != tt.want || ok != (tt.want == "") {
				t.Errorf("allowed = %q, %v; want %q", reason, ok, tt.want)
			}
		})
	}
}

func TestCorrection(t *testing.T) {
	near := func(details string) *mcpcall.NamedError {
		return &mcpcall.NamedError{Details: []byte(details)}
	}
	tests := []struct {
		name, got, want string
	}{
		{"a near id comes first", correctID("450001812", nil, near(`{"near_ids":["4500018812"]}`)), "4500018812"},
		{"letters are read as digits", correctID("52O569O8O2", nil, near(`{"near_ids":[]}`)), "5205690802"},
		{"what was tried is not tried again", correctID("5205690802", []string{"4500018812"}, near(`{"near_ids":["4500018812"]}`)), ""},
		{"a near supplier needs the name on the invoice", correctSupplier("V-3011", "Sakura Denki Holdings", nil, near(`{"near":[{"supplier_id":"V-3001","name":"Sakura Denki K.K."}]}`)), ""},
		{"and is taken with it", correctSupplier("V-3011", "sakura denki k.k.", nil, near(`{"near":[{"supplier_id":"V-3001","name":"Sakura Denki K.K."}]}`)), "V-3001"},
		{"a prefix keeps its letters", correctSupplier("SOL-3O91", "X", nil, near(`{}`)), "SOL-3091"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if mayCorrect([]string{"get_invoice"}, "get_invoice") || !mayCorrect([]string{"get_invoice"}, "get_purchase_order") {
		t.Error("one corrected retry per tool")
	}
}
