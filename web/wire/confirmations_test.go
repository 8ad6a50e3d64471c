package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

const asksToDelete = `{"workspace_id": "1000", "idempotency_key": "k", "run_id": "run-7f3",
 "server": {"name": "archive", "url": "https://archive.example.test/mcp"}, "tool": "delete_document",
 "arguments": {"document_id": "D-1", "count": 2.50},
 "input_requests": {"z": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"type": "string"}}}}}},
 "request_state_hash": "", "invoice": {"id": "5105600123", "amount": 12.50, "currency": "EUR"}, "expires_in": 60}`

func problems(t *testing.T, err error) string {
	t.Helper()
	ne, ok := models.AsNamed(err)
	if !ok || ne.Code != models.ValidationError {
		t.Fatalf("not VALIDATION_ERROR but %v", err)
	}
	var out []string
	for _, i := range ne.Details["issues"].([]models.Issue) {
		out = append(out, i.Path+" "+i.Message)
	}
	return strings.Join(out, "\n")
}

func TestAForwardedQuestion_is_read_as_it_was_sent(t *testing.T) {
	b, err := Parse([]byte(asksToDelete))
	if err != nil {
		t.Fatal(err)
	}
	in, idem, err := ReadConfirmationRequest(b)
	if err != nil {
		t.Fatal(err)
	}
	if in.ServerName != "archive" || in.ServerURL != "https://archive.example.test/mcp" || in.Tool != "delete_document" || in.RunID != "run-7f3" || *in.ExpiresIn != 60 || idem.Key != "k" {
		t.Errorf("%+v %+v", in, idem)
	}
	if string(in.Arguments) != `{"document_id":"D-1","count":2.50}` {
		t.Errorf("arguments %s", in.Arguments)
	}
	if text := string(in.InputRequests); strings.Index(text, `"b"`) > strings.Index(text, `"a"`) {
		t.Errorf("the fields of the form lost their order: %s", text)
	}
	if in.Invoice == nil || in.Invoice.ID != "5105600123" || string(in.Invoice.Sent) != `{"id":"5105600123","amount":"12.50","currency":"EUR"}` {
		t.Errorf("invoice %+v", in.Invoice)
	}
}

func TestAForwardedQuestion_tells_every_issue_at_its_path(t *testing.T) {
	for body, want := range map[string][]string{
		`{}`: {"/server is required", "/tool is required", "/arguments is required", "/input_requests is required"},
		`{"server": {"url": ""}, "tool": "t", "arguments": {"n": 12345678901234567890, "a": 1, "a": 2}, "input_requests": [], "expires_in": 0, "invoice": {"amount": "1"}, "role": "admin"}`: {
			"/server/name is required", "/server/url must not be empty", "/arguments/n ", "/arguments/a is given twice", "/input_requests must be an object",
			"/expires_in must be", "/invoice/id is required", "/invoice/currency is required beside an amount", "/role is not a known field"},
	} {
		b, err := Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ReadConfirmationRequest(b)
		got := problems(t, err)
		for _, w := range want {
			if !strings.Contains("\n"+got, "\n"+w) {
				t.Errorf("%s is not told in:\n%s", w, got)
			}
		}
	}
}

func TestTakingAnAnswer_needs_its_key_and_the_same_call(t *testing.T) {
	b, err := Parse([]byte(`{"server": {"url": "https://archive.example.test/mcp"}, "tool": "delete_document", "arguments": {"document_id": "D-1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	b.UseID("confirmation_id", "conf_1")
	if _, err := ReadTakeConfirmation(b); problems(t, err) != "/idempotency_key is required" {
		t.Errorf("%v", err)
	}
	b.UseKey("t1")
	in, err := ReadTakeConfirmation(b)
	if err != nil || in.ID != "conf_1" || in.IdempotencyKey != "t1" || in.Tool != "delete_document" || !json.Valid(in.Arguments) {
		t.Errorf("%+v %v", in, err)
	}
}
