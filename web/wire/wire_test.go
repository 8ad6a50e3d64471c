package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/apdesk/apdesk/models"
)

const handover = `{"workspace_id": "1000", "idempotency_key": "k1", "run_id": "run-7f3", "reason": "named_error",
 "invoice": {"id": "5105600123", "number": "INV-778", "supplier_id": "V-2001", "supplier_name": "Nordwind GmbH",
             "po_id": "4500018822", "amount": 1234.50, "currency": "EUR", "invoice_date": "2026-10-03", "lines": [{"amount": 12.10, "qty": 3}]},
 "errors": [{"tool": "get_purchase_order", "arguments": {"po_id": "4500018822"}, "at": "2026-10-05T09:12:44Z",
             "error": {"code": "PO_CLOSED", "message": "PO 4500018822 was closed on 2026-09-30.", "retryable": false,
                       "next_action": "route_to_person", "details": {"po_id": "4500018822"}}}],
 "evidence": [{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": {"status": "closed"}},
              {"kind": "comparison", "title": "Possible duplicate", "left": {}, "right": {}},
              {"kind": "table", "columns": ["a", "b"], "rows": [["x", 1], [null]]},
              {"kind": "note", "text": "seen"}, {"kind": "link", "url": "https://example.com/a"}],
 "explanation": "It is closed.", "suggestion": {"exit": "reopen_po", "why": "late invoice"},
 "proposed_calls": [{"tool": "post_invoice_adjustment", "arguments": {"amount": 2.50}}]}`

func parse(t *testing.T, raw string) *Body {
	t.Helper()
	b, err := Parse([]byte(raw))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return b
}

func issuesOf(t *testing.T, err error) []models.Issue {
	t.Helper()
	ne, ok := models.AsNamed(err)
	if !ok || ne.Code != models.ValidationError {
		t.Fatalf("got %v, want VALIDATION_ERROR", err)
	}
	return ne.Details["issues"].([]models.Issue)
}

// edit is the handover with one text in it replaced.
func edit(t *testing.T, old, with string) string {
	t.Helper()
	if strings.Count(handover, old) != 1 {
		t.Fatalf("%q does not stand exactly once in the handover", old)
	}
	return strings.Replace(handover, old, with, 1)
}

func TestHandover(t *testing.T) {
	t.Run("reads every field and keeps the digits", func(t *testing.T) {
		b := parse(t, handover)
		in, idem, err := ReadHandover(b, false)
		if err != nil {
			t.Fatal(err)
		}
		if b.WorkspaceID() != "1000" || idem.Key != "k1" || idem.BodyHash == "" {
			t.Errorf("workspace %q, idempotency %+v", b.WorkspaceID(), idem)
		}
		if in.Invoice.Amount.Text() != "1234.50" || in.Invoice.InvoiceDate.String() != "2026-10-03" || in.Invoice.SupplierName != "Nordwind GmbH" {
			t.Errorf("invoice %+v", in.Invoice)
		}
		want := `{"id":"5105600123","number":"INV-778","supplier_id":"V-2001","supplier_name":"Nordwind GmbH","po_id":"4500018822","amount":"1234.50","currency":"EUR","invoice_date":"2026-10-03","lines":[{"amount":"12.10","qty":3}]}`
		if string(in.Invoice.Sent) != want {
			t.Errorf("sent\n%s\nwant\n%s", in.Invoice.Sent, want)
		}
		if len(in.Errors) != 1 || in.Errors[0].Error.Code != models.POClosed || string(in.Errors[0].Error.Details) != `{"po_id":"4500018822"}` || *in.Errors[0].Error.Retryable {
			t.Errorf("errors %+v", in.Errors)
		}
		if len(in.Evidence) != 5 || in.Suggestion.Exit != "reopen_po" || string(in.ProposedCalls[0].Arguments) != `{"amount":2.50}` {
			t.Errorf("got %+v", in)
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(in.Body, &body); err != nil {
			t.Fatal(err)
		}
		if body["workspace_id"] != nil || body["idempotency_key"] != nil || string(body["invoice"]) != want {
			t.Errorf("body %s", in.Body)
		}
	})

	refused := []struct{ name, old, with, path, says string }{
		{"an amount as text with a separator", `1234.50`, `"1,234.50"`, "/invoice/amount", "plain decimal"},
		{"an amount with an exponent", `1234.50`, `1e3`, "/invoice/amount", "plain decimal"},
		{"an amount with a plus", `1234.50`, `"+5"`, "/invoice/amount", "plain decimal"},
		{"more decimals than the currency has", `1234.50`, `"1234.505"`, "/invoice/amount", "more decimals"},
		{"an amount that is no amount", `1234.50`, `true`, "/invoice/amount", "plain decimal"},
		{"decimals of a currency without any", `"EUR"`, `"JPY"`, "/invoice/amount", "more decimals"},
		{"an unknown currency", `"EUR"`, `"EURO"`, "/invoice/currency", "ISO 4217"},
		{"a date that does not exist", `"2026-10-03"`, `"2026-02-30"`, "/invoice/invoice_date", "calendar date"},
		{"a date that is a number", `"2026-10-03"`, `20261003`, "/invoice/invoice_date", "calendar date"},
		{"a time without a zone", `"2026-10-05T09:12:44Z"`, `"2026-10-05T09:12:44"`, "/errors/0/at", "RFC 3339"},
		{"a line amount with an exponent", `12.10`, `1e2`, "/invoice/lines/0/amount", "plain decimal"},
		{"an unknown reason", `"named_error"`, `"tired"`, "/reason", "named_error, retry_exhausted"},
		{"an empty invoice id", `"5105600123"`, `" "`, "/invoice/id", "must not be empty"},
		{"null where text belongs", `"run-7f3"`, `null`, "/run_id", "leave the field out"},
		{"a number where text belongs", `"run-7f3"`, `7`, "/run_id", "must be text"},
		{"an unknown field at the top", `"explanation"`, `"explanations"`, "/explanations", "not a known field"},
		{"an unknown nested field", `"number"`, `"nummer"`, "/invoice/nummer", "not a known field"},
		{"an unknown field with odd characters", `"number"`, `"a/b~c"`, "/invoice/a~1b~0c", "not a known field"},
		{"an unknown field of evidence", `"source"`, `"sauce"`, "/evidence/0/sauce", "not a known field"},
		{"a file without an id", `{"kind": "note", "text": "seen"}`, `{"kind": "file"}`, "/evidence/3/file_id", "is required"},
		{"an unknown kind of evidence", `"note"`, `"video"`, "/evidence/3/kind", "record, comparison, table, note, link, file"},
		{"a link that is not https", `https://example.com/a`, `http://example.com/a`, "/evidence/4/url", "https address"},
		{"a link that is script", `https://example.com/a`, `javascript:alert(1)`, "/evidence/4/url", "https address"},
		{"a record without data", `, "data": {"status": "closed"}`, ``, "/evidence/0/data", "is required"},
		{"a row longer than the table is wide", `["x", 1]`, `["x", 1, 2]`, "/evidence/2/rows/0", "3 cells for 2 columns"},
		{"a duplicate name at the top", `"run_id": "run-7f3"`, `"run_id": "a", "run_id": "b"`, "/run_id", "given twice"},
		{"a duplicate name in free data", `{"status": "closed"}`, `{"a": [{"b": 1, "b": 2}]}`, "/evidence/0/data/a/0/b", "given twice"},
		{"a duplicate name spelled with an escape", `{"status": "closed"}`, `{"ab": 1, "\u0061b": 2}`, "/evidence/0/data/ab", "given twice"},
		{"a lone surrogate", `"It is closed."`, `"It is \ud800 closed."`, "/explanation", "Unicode"},
		{"bytes that are no UTF-8", `"It is closed."`, "\"It is \xff closed.\"", "/explanation", "Unicode"},
		{"the character 0", `"It is closed."`, `"It is \u0000 closed."`, "/explanation", "u0000"},
		{"an argument that is not exact for every reader", `{"amount": 2.50}`, `{"amount": 12345678901234567890}`, "/proposed_calls/0/arguments/amount", "send it as a string"},
		{"a named error without any error", `[{"tool": "get_purchase_order", "arguments": {"po_id": "4500018822"}, "at": "2026-10-05T09:12:44Z",
             "error": {"code": "PO_CLOSED", "message": "PO 4500018822 was closed on 2026-09-30.", "retryable": false,
                       "next_action": "route_to_person", "details": {"po_id": "4500018822"}}}]`, `[]`, "/errors", "must not be empty"},
		{"an idempotency key that is too long", `"k1"`, `"` + strings.Repeat("ä", 256) + `"`, "/idempotency_key", "at most 255"},
	}
	for _, tc := range refused {
		t.Run("refuses "+tc.name, func(t *testing.T) {
			_, _, err := ReadHandover(parse(t, edit(t, tc.old, tc.with)), false)
			got := issuesOf(t, err)
			if len(got) != 1 || got[0].Path != tc.path || !strings.Contains(got[0].Message, tc.says) {
				t.Errorf("got %+v, want one issue at %s with %q", got, tc.path, tc.says)
			}
		})
	}

	t.Run("accepts a key of 255 characters, any code and an unknown exit", func(t *testing.T) {
		raw := strings.NewReplacer(`"k1"`, `"`+strings.Repeat("ä", 255)+`"`, `"PO_CLOSED"`, `"E4711"`, `"reopen_po"`, `"ask_mum"`).Replace(handover)
		if _, _, err := ReadHandover(parse(t, raw), false); err != nil {
			t.Error(err)
		}
	})

	t.Run("names everything that is wrong at once", func(t *testing.T) {
		_, _, err := ReadHandover(parse(t, `{"invoice": {"amount": "1e5", "currency": "XXQ", "invoice_date": "2026-13-01"}, "evidence": [{"kind": "link"}, 7], "x": 1}`), false)
		var paths []string
		for _, issue := range issuesOf(t, err) {
			paths = append(paths, issue.Path)
		}
		want := []string{"/errors", "/evidence/0/url", "/evidence/1", "/invoice/amount", "/invoice/currency", "/invoice/id", "/invoice/invoice_date", "/reason", "/x"}
		if !slices.Equal(paths, want) {
			t.Errorf("got %v, want %v", paths, want)
		}
	})

	t.Run("refuses a body that is no object", func(t *testing.T) {
		_, _, err := ReadHandover(parse(t, `[1]`), false)
		if got := issuesOf(t, err); len(got) != 1 || got[0].Path != "" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestParse_refuses_what_is_no_JSON(t *testing.T) {
	for _, raw := range []string{`{`, `{"a" 1}`, `{"a": 1} x`, `{"a": 1}{}`, `{'a': 1}`, `{"a": 01}`, "{\"a\": \"\n\"}", `{"a": 1,}`, `{"a": 1, "a": }`} {
		if _, err := Parse([]byte(raw)); !models.IsCode(err, models.BadRequest) {
			t.Errorf("%s: got %v, want BAD_REQUEST", raw, err)
		}
	}
}

func TestIdempotency(t *testing.T) {
	hash := func(raw string) string {
		_, idem, err := ReadHandover(parse(t, raw), false)
		if err != nil {
			t.Fatal(err)
		}
		return idem.BodyHash
	}
	first := hash(handover)
	t.Run("the key, the workspace and the order of members are not part of the body", func(t *testing.T) {
		moved := edit(t, `{"workspace_id": "1000", "idempotency_key": "k1", "run_id": "run-7f3", `, `{"idempotency_key": "k2", `)
		moved = strings.Replace(moved, `"explanation"`, `"run_id": "run-7f3", "explanation"`, 1)
		if hash(moved) != first {
			t.Error("another hash for the same body")
		}
	})
	t.Run("another digit is another body", func(t *testing.T) {
		if hash(edit(t, `1234.50`, `1234.5`)) == first || hash(edit(t, `{"status": "closed"}`, `{"status": 1.0}`)) == hash(edit(t, `{"status": "closed"}`, `{"status": 1.00}`)) {
			t.Error("digits were lost")
		}
	})
	t.Run("a header key counts like one in the body, and a different one is an issue", func(t *testing.T) {
		b := parse(t, edit(t, `"idempotency_key": "k1", `, ``))
		b.UseKey("from the header")
		if _, idem, err := ReadHandover(b, false); err != nil || idem.Key != "from the header" || idem.BodyHash != first {
			t.Errorf("got %+v, %v", idem, err)
		}
		b = parse(t, handover)
		b.UseKey("k2")
		_, _, err := ReadHandover(b, false)
		if got := issuesOf(t, err); len(got) != 1 || got[0].Path != "/idempotency_key" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestApprovalRequest(t *testing.T) {
	const request = `{"invoice": {"id": "1", "amount": "10.00", "currency": "EUR"}, "action": {"tool": "post_invoice_adjustment", "arguments": {"amount": 0.1, "text": "a"}},
		"amount": -250, "currency": "JPY", "summary": "Post it", "posting_date": "2026-10-05"}`
	t.Run("keeps the raw arguments and both amounts", func(t *testing.T) {
		in, _, err := ReadApprovalRequest(parse(t, request))
		if err != nil {
			t.Fatal(err)
		}
		if string(in.Action.Arguments) != `{"amount":0.1,"text":"a"}` || in.Amount.Format() != "JPY -250" || in.Invoice.Amount.Text() != "10.00" || in.PostingDate.String() != "2026-10-05" {
			t.Errorf("got %+v", in)
		}
		if !strings.Contains(string(in.Body), `"amount":"-250"`) {
			t.Errorf("body %s", in.Body)
		}
	})
	for old, with := range map[string]string{`0.1`: `1e400`, `"a"`: `"\udc00"`, `"text": "a"`: `"amount": 2`} {
		t.Run("refuses the arguments "+with, func(t *testing.T) {
			_, _, err := ReadApprovalRequest(parse(t, strings.Replace(request, old, with, 1)))
			got := issuesOf(t, err)
			if len(got) != 1 || !strings.HasPrefix(got[0].Path, "/action/arguments/") {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("names what is missing at its own place", func(t *testing.T) {
		_, _, err := ReadApprovalRequest(parse(t, `{"action": {}}`))
		var paths []string
		for _, issue := range issuesOf(t, err) {
			paths = append(paths, issue.Path)
		}
		if want := []string{"/action/arguments", "/action/tool", "/amount", "/currency", "/invoice", "/summary"}; !slices.Equal(paths, want) {
			t.Errorf("got %v, want %v", paths, want)
		}
	})
}

func TestUnknown_tells_arguments_without_a_field(t *testing.T) {
	b := parse(t, `{"case_id": "c", "wait": 3, "wait": 4, "invoice": {"x": 1}}`)
	if got := b.Unknown(GetCaseArguments); !slices.Equal(got, []string{"wait", "invoice"}) {
		t.Errorf("got %v", got)
	}
	if got := b.Unknown(HandoverArguments); !slices.Equal(got, []string{"wait"}) {
		t.Errorf("got %v", got)
	}
}

func TestWaiting(t *testing.T) {
	for seconds, ok := range map[string]bool{"0": true, "50": true, "51": false, "-1": false, "1.5": false, `"5"`: false, "1e1": false} {
		_, err := ReadGetCase(parse(t, `{"case_id": "case_1", "wait_seconds": `+seconds+`}`))
		if ok != (err == nil) {
			t.Errorf("wait_seconds %s: %v", seconds, err)
		}
	}
}

// What the reader accepts, the published schema accepts too, so that a client that validates against
// it never refuses what the desk would take.
func TestSchema(t *testing.T) {
	compiled := func(t *testing.T, s *jsonschema.Schema) *validator.Schema {
		t.Helper()
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := validator.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		c := validator.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("urn:request", doc); err != nil {
			t.Fatal(err)
		}
		schema, err := c.Compile("urn:request")
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	valid := func(t *testing.T, s *Spec, raw string) error {
		t.Helper()
		doc, err := validator.UnmarshalJSON(strings.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return compiled(t, s.Schema()).Validate(doc)
	}
	t.Run("accepts the handover", func(t *testing.T) {
		for _, s := range []*Spec{HandoverBody, HandoverArguments} {
			if err := valid(t, s, handover); err != nil {
				t.Error(err)
			}
		}
	})
	for _, tc := range [][2]string{{`1234.50`, `"1,234.50"`}, {`"2026-10-03"`, `"2026-02-30"`}, {`"named_error"`, `"tired"`}, {`"run-7f3"`, `null`},
		{`"number"`, `"nummer"`}, {`"note"`, `"video"`}, {`https://example.com/a`, `http://example.com/a`}, {`"5105600123"`, `""`}} {
		t.Run("refuses "+tc[1], func(t *testing.T) {
			if err := valid(t, HandoverBody, edit(t, tc[0], tc[1])); err == nil {
				t.Error("accepted")
			}
		})
	}
	t.Run("describes every field", func(t *testing.T) {
		for i, s := range []*Spec{HandoverBody, AnswerBody, HandoverArguments, ApprovalRequestBody, RedeemArguments, ReportArguments, HoldBody, LeaseBody, RecheckArguments, GetCaseArguments, GetRequestArguments, NoArguments} {
			for name, p := range s.Schema().Properties {
				if p.Description == "" {
					t.Errorf("request %d: %s has no description", i, name)
				}
			}
		}
	})
	t.Run("the tools' handover has the fields of both", func(t *testing.T) {
		for _, s := range []*Spec{HandoverBody, AnswerBody} {
			for name := range s.Schema().Properties {
				if HandoverArguments.Schema().Properties[name] == nil {
					t.Errorf("%s is missing", name)
				}
			}
		}
	})
}

func FuzzHandover(f *testing.F) {
	f.Add([]byte(handover))
	f.Add([]byte(`{"invoice": {"amount": 1e5, "amount": "\ud800"}}`))
	f.Add([]byte(`[[[`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Parse(raw)
		if err != nil {
			if !models.IsCode(err, models.BadRequest) {
				t.Fatalf("Parse: %v", err)
			}
			return
		}
		in, idem, err := ReadHandover(b, false)
		if err != nil {
			issuesOf(t, err)
			return
		}
		if !json.Valid(in.Body) || !json.Valid(in.Invoice.Sent) {
			t.Fatalf("what is stored is no JSON: %s", in.Body)
		}
		again, err := Parse(in.Body)
		if err != nil {
			t.Fatalf("what is stored cannot be read: %v", err)
		}
		again.UseKey(idem.Key)
		twice, second, err := ReadHandover(again, false)
		if err != nil {
			t.Fatalf("what is stored was refused: %v", err)
		}
		if second.BodyHash != idem.BodyHash || string(twice.Body) != string(in.Body) {
			t.Fatal("reading what is stored gives something else")
		}
	})
}

func FuzzApprovalRequest(f *testing.F) {
	f.Add([]byte(`{"invoice": {"id": "1", "amount": "10.00", "currency": "EUR"}, "action": {"tool": "t", "arguments": {"amount": 0.1}}, "amount": 1, "currency": "JPY", "summary": "s"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := Parse(raw)
		if err != nil {
			return
		}
		in, _, err := ReadApprovalRequest(b)
		if err != nil {
			issuesOf(t, err)
			return
		}
		if in.Amount.IsZero() || !json.Valid(in.Action.Arguments) {
			t.Fatalf("accepted %+v", in)
		}
	})
}

func TestReadQuery(t *testing.T) {
	read := func(pairs ...string) (CaseQuery, error) {
		var list []Parameter
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, Parameter{pairs[i], pairs[i+1]})
		}
		var q CaseQuery
		return q, ReadQuery(list, &q)
	}
	for _, field := range []string{"colour", "status[in]", "amount>", ""} {
		if _, err := read(field, "1"); !models.IsCode(err, models.BadRequest) {
			t.Errorf("%q: got %v, want BAD_REQUEST", field, err)
		}
	}
	if _, err := read("limit", "1", "limit", "2"); !models.IsCode(err, models.BadRequest) {
		t.Errorf("a field given twice: got %v", err)
	}
	for _, pair := range [][2]string{{"limit", "0"}, {"limit", "201"}, {"limit", "ten"}, {"limit", "+5"}, {"unresolved", "yes"}, {"queue", "everything"}, {"status", "closed"}, {"code", "NOPE"}, {"po_id", "\x00"}, {"po_id", "\xff"}} {
		_, err := read(pair[0], pair[1])
		if got := issuesOf(t, err); len(got) != 1 || got[0].Path != "/"+pair[0] {
			t.Errorf("%v: got %+v", pair, got)
		}
	}
	var q CaseQuery
	err := ReadQuery([]Parameter{{"limit", "200"}, {"unresolved", "true"}, {"queue", "ap"}, {"status", ""}, {"supplier", `Müller "&" Söhne`}, {"workspace_id", "1000"}}, &q)
	if err != nil || q.Limit != 200 || !q.Unresolved || q.Queue != "ap" || q.Supplier != `Müller "&" Söhne` || q.WorkspaceID != "1000" {
		t.Errorf("got %+v, %v", q, err)
	}
}

func BenchmarkReadHandover(b *testing.B) {
	raw := []byte(handover)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		body, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := ReadHandover(body, false); err != nil {
			b.Fatal(err)
		}
	}
}
