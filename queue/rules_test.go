package queue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		code     models.Code
		home     models.Queue
		escalate bool
		want     models.Queue
	}{
		{"", "", false, models.QueueAP},
		{"", "", true, models.QueueFinance},
		{models.POClosed, models.QueueProcurement, true, models.QueueProcurement},
		{models.POClosed, models.QueueAP, false, models.QueueAP},
		{models.GRMissing, "", false, models.QueueAP},
		{models.ApprovalMissing, "", true, models.QueueAP},
	} {
		if got := queueFor(x.code, x.home, x.escalate); got != x.want {
			t.Errorf("%q at home in %q, escalated %v: %s, want %s", x.code, x.home, x.escalate, got, x.want)
		}
	}
}

func TestTheLastOfTheTenCodesCounts(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		codes []models.Code
		want  models.Code
		at    int
	}{
		{nil, "", -1},
		{[]models.Code{"TIMEOUT"}, "", -1},
		{[]models.Code{models.PONotFound, models.POClosed}, models.POClosed, 1},
		{[]models.Code{models.POClosed, "TIMEOUT", models.NotFound}, models.POClosed, 0},
	} {
		var errs []models.SeenError
		for _, code := range x.codes {
			errs = append(errs, models.SeenError{Error: models.SeenNamedError{Code: code}})
		}
		if got, at := lastOutcome(errs); got != x.want || at != x.at {
			t.Errorf("%v: %q at %d", x.codes, got, at)
		}
	}
}

func TestJoinKey(t *testing.T) {
	t.Parallel()
	inv := func(id, number, supplier, name string) models.Invoice {
		return models.Invoice{ID: id, Number: number, SupplierID: supplier, SupplierName: name}
	}
	base := joinKey(models.POClosed, inv("1", "INV-001", "V-1", "N"), json.RawMessage(`{"a":1,"b":"x"}`))
	for name, x := range map[string]struct {
		key  string
		same bool
	}{
		"the number as another person writes it": {joinKey(models.POClosed, inv("1", "ｉｎｖ 1", "V-1", "N"), json.RawMessage(`{"a":1,"b":"x"}`)), true},
		"members in another order":               {joinKey(models.POClosed, inv("1", "INV-001", "V-1", "N"), json.RawMessage(`{ "b":"\u0078", "a":1 }`)), true},
		"another name of the same supplier id":   {joinKey(models.POClosed, inv("1", "INV-001", "V-1", "Nord"), json.RawMessage(`{"a":1,"b":"x"}`)), true},
		"another supplier":                       {joinKey(models.POClosed, inv("1", "INV-001", "V-2", "N"), json.RawMessage(`{"a":1,"b":"x"}`)), false},
		"the supplier by name alone":             {joinKey(models.POClosed, inv("1", "INV-001", "", "N"), json.RawMessage(`{"a":1,"b":"x"}`)), false},
		"another invoice":                        {joinKey(models.POClosed, inv("2", "INV-001", "V-1", "N"), json.RawMessage(`{"a":1,"b":"x"}`)), false},
		"another code":                           {joinKey(models.PONotFound, inv("1", "INV-001", "V-1", "N"), json.RawMessage(`{"a":1,"b":"x"}`)), false},
		"other details":                          {joinKey(models.POClosed, inv("1", "INV-001", "V-1", "N"), json.RawMessage(`{"a":1}`)), false},
	} {
		if (x.key == base) != x.same {
			t.Errorf("%s: same %v", name, x.key == base)
		}
	}
	long := func(n string) string { return joinKey("", inv("1", "", "", ""), json.RawMessage(`{"n":`+n+`}`)) }
	if long("12345678901234567890") == long("12345678901234567891") {
		t.Error("long ids in numbers must stay different")
	}
	none := inv("1", "", "", "")
	if joinKey("", none, nil) != joinKey("", none, json.RawMessage(`{}`)) || joinKey("", none, nil) != joinKey("", none, json.RawMessage(`null`)) {
		t.Error("no details are empty details")
	}
}

func TestEveryOutcomeHasItsExits(t *testing.T) {
	t.Parallel()
	want := map[models.Code][]string{
		models.InvoiceNotFound:   {"correct_id", "wait_for_import", "registered", "cancel", "ask_agent"},
		models.PONotFound:        {"correct_po", "treat_as_non_po", "ask_supplier", "reject_invoice", "ask_agent"},
		models.SupplierNotFound:  {"link_supplier", "supplier_created", "suspected_fraud", "reject_invoice", "ask_agent"},
		models.GRMissing:         {"keep_waiting", "receipt_confirmed", "two_way_match", "short_pay", "reject_invoice", "ask_agent"},
		models.POClosed:          {"reopen_po", "use_other_po", "treat_as_non_po", "reject_invoice", "ask_agent"},
		models.DuplicateInvoice:  {"confirm_duplicate", "not_duplicate", "corrected_version", "hold_for_statement", "ask_agent"},
		models.ApproverNotFound:  {"name_approver", "matrix_fixed", "send_back", "ask_agent"},
		models.ApprovalMissing:   {"answer_agent", "close", "ask_agent"},
		models.PeriodClosed:      {"post_next_period", "reopen_period", "accrue", "reject_invoice", "ask_agent"},
		models.ToleranceExceeded: {"answer_agent", "close", "ask_agent"},
		"":                       {"answer_agent", "close", "ask_agent"},
	}
	codesOf := func(exits []Exit) (out []string) {
		for _, e := range exits {
			out = append(out, e.Code)
		}
		return out
	}
	for code, exits := range want {
		if got := codesOf(Exits(code, models.ReasonNamedError, "")); !slices.Equal(got, exits) {
			t.Errorf("%q: %v, want %v", code, got, exits)
		}
		got := codesOf(Exits(code, models.ReasonOther, ""))
		if !slices.Contains(got, "answer_agent") || !slices.Contains(got, "close") {
			t.Errorf("%q without a culprit: %v", code, got)
		}
	}
}

func TestEveryExitSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	for _, e := range slices.Concat(exits, movedNonPO, withoutCulprit, []Exit{askAgent}) {
		if e.Label == "" || e.Next == "" || ExitLabel(e.Code) == e.Code {
			t.Errorf("%s has no words", e.Code)
		}
		wants := e.Instruction == models.InstructRetryWith || e.Instruction == models.InstructWait
		if wants != (len(e.Fields) > 0) && e.effect != effectName && e.effect != effectPeriod && e.effect != effectAsk && e.Code != exitAnswerAgent {
			t.Errorf("%s: %s with %d fields", e.Code, e.Instruction, len(e.Fields))
		}
		if (e.Instruction == models.InstructWait) != (e.effect == effectHold) {
			t.Errorf("%s: waiting and holding must go together", e.Code)
		}
		if e.Plain && e.Instruction != models.InstructResume {
			t.Errorf("%s: only going on needs no reason", e.Code)
		}
	}
}

func TestReopenedThrough(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ closed, posting, want string }{
		{"2026-09-30", "2026-09-14", "2026-08-31"},
		{"2026-09-30", "2026-09-01", "2026-08-31"},
		{"2026-09-30", "2026-01-31", "2025-12-31"},
		{"2026-09-30", "2026-10-01", "2026-09-30"},
		{"2026-09-30", "", "2026-08-31"},
		{"2026-09-15", "2026-09-14", "2026-08-31"},
		{"", "2026-09-14", ""},
		{"2024-03-31", "2024-03-05", "2024-02-29"},
	} {
		closed, err := dateIn(x.closed)
		if err != nil {
			t.Fatal(err)
		}
		posting, err := dateIn(x.posting)
		if err != nil {
			t.Fatal(err)
		}
		if got := reopenedThrough(closed, posting).String(); got != x.want {
			t.Errorf("closed %s, posting on %s: %s, want %s", x.closed, x.posting, got, x.want)
		}
	}
}

func TestThePostingDateWanted(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		errs  []models.SeenError
		calls []models.Call
		want  string
	}{
		"in the details":    {[]models.SeenError{{Arguments: json.RawMessage(`{"posting_date":"2026-09-02"}`), Error: models.SeenNamedError{Details: json.RawMessage(`{"posting_date":"2026-09-01"}`)}}}, nil, "2026-09-01"},
		"in the call":       {[]models.SeenError{{Arguments: json.RawMessage(`{"posting_date":"2026-09-02"}`)}}, nil, "2026-09-02"},
		"in a proposal":     {nil, []models.Call{{Arguments: json.RawMessage(`{"posting_date":"2026-09-03"}`)}}, "2026-09-03"},
		"no date":           {[]models.SeenError{{Arguments: json.RawMessage(`{"posting_date":"soon"}`)}}, nil, ""},
		"nothing said":      {nil, nil, ""},
		"details no object": {[]models.SeenError{{Error: models.SeenNamedError{Details: json.RawMessage(`[]`)}}}, nil, ""},
	} {
		if got := wantedDate(x.errs, x.calls).String(); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

func TestPrivateNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"tax_id": true, "Tax ID": true, "taxId": true, "IBAN": true, "old_iban": true, "bank_account": true, "BankDetails": true, "vat_number": true,
		"tax_code": false, "amount": false, "riverbank": false, "supplier_id": false, "swiftly": false} {
		if got := models.IsPrivateName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// An id that nobody can read, of whatever exit, is refused where it is typed: no other system has it.
func TestAnIDWithSomethingUnseenIsRefusedOnEveryExit(t *testing.T) {
	t.Parallel()
	fields := 0
	for _, set := range [][]Exit{exits, movedNonPO, withoutCulprit, {askAgent}} {
		for _, e := range set {
			for _, f := range e.Fields {
				if f.Kind != FieldText {
					continue
				}
				fields++
				for text, want := range map[string]string{"4500018812": "", "Müller & Söhne": "", "4500\u202e018812": "cannot be seen", "4500\u200b": "cannot be seen", "4500\x00": "cannot be seen",
					"45\u00ad00": "cannot be seen", "45\xff00": "cannot be seen", "4500\n4501": "one line", "4500\t4501": "one line"} {
					value, problem := checkField(e, f, text, facts{})
					if want == "" && (problem != "" || value != text) || want != "" && !strings.Contains(problem, want) {
						t.Errorf("%s: %q is answered %q, %q", e.Code, text, value, problem)
					}
				}
			}
		}
	}
	if fields == 0 {
		t.Error("no exit asks for an id")
	}
}
