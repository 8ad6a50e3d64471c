package mcpserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// Whatever the body, it is refused as published or passed on with its bytes unchanged.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `[{}]`, `{"a":1,"a":2}`, `"\ud800"`, `{"id":1.5}`, "\xff", ``, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"request_approval","arguments":{"action":{"arguments":{"a":1,"a":2}}}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_case","arguments":{"case_id":"c","wait_seconds":50},"inputResponses":{"k":{"action":"accept"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	store, _ := modelstest.SQLite(f)
	h := newHandler(Config{Store: store, Confirm: confirmOver(f, store), MCPURL: "http://127.0.0.1/mcp"})
	f.Fuzz(func(t *testing.T, body []byte) {
		m, refused := h.parse(body)
		if refused == nil && !m.notification() {
			refused = h.checkParams(m, version202511)
		}
		if refused != nil {
			if refused.status != http.StatusBadRequest || (refused.id != nil && !readableID(refused.id)) {
				t.Errorf("refused with %+v", refused)
			}
			return
		}
		if !json.Valid(body) {
			t.Errorf("passed though no JSON: %q", body)
		}
		if !m.notification() && !readableID(m.id) {
			t.Errorf("passed with the id %q", m.id)
		}
	})
}

// FuzzDecodeHeader: a header's value is what it says, or is refused; plain text stays as it is.
func FuzzDecodeHeader(f *testing.F) {
	f.Add("get_case")
	f.Add("=?base64?Z2V0X2Nhc2U=?=")
	f.Add("=?base64?%?=")
	f.Add("=?base64??=")
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := decodeHeader(value)
		if !strings.HasPrefix(value, "=?base64?") && (got != value || !ok) {
			t.Errorf("%q is read as %q, %v", value, got, ok)
		}
		if len(got) > len(value) {
			t.Errorf("%q grows to %q", value, got)
		}
	})
}
