package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/client"
)

// toolDesk is the MCP endpoint of a desk: three tools that answer from a list.
type toolDesk struct {
	mu      sync.Mutex
	called  []string
	args    []map[string]any
	answers map[string]*mcp.CallToolResult
	broken  []int // what becomes of the next calls: a status, -1 for a broken connection, 0 for nothing
}

func (d *toolDesk) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	for _, name := range []string{"request_confirmation", "get_confirmation", "take_confirmation"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			d.called, d.args = append(d.called, name), append(d.args, args)
			return d.answers[name], nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		broken := d.broken
		if r.Header.Get("Mcp-Method") != "tools/call" || len(broken) == 0 {
			broken = []int{0}
		} else {
			d.broken = broken[1:]
		}
		d.mu.Unlock()
		switch status := broken[0]; status {
		case 0:
			handler.ServeHTTP(w, r)
		case -1:
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(server.Close)
	session, err := mcp.NewClient(agent, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func TestTheDesksToolsServeAsWell(t *testing.T) {
	desk := &toolDesk{answers: map[string]*mcp.CallToolResult{
		"request_confirmation": says(`{"confirmation_id":"conf_1","status":"pending","url":"https://desk.example.test/confirmations/conf_1","expires_at":"2026-10-05T10:00:00Z"}`),
		"get_confirmation":     says(`{"confirmation_id":"conf_1","status":"answered","url":"https://desk.example.test/confirmations/conf_1","expires_at":"2026-10-05T10:00:00Z"}`),
		"take_confirmation":    says(`{"confirmation_id":"conf_1","input_responses":` + yes + `}`),
	}}
	desk.broken = []int{-1, http.StatusBadGateway, 0, http.StatusServiceUnavailable, 0, http.StatusTooManyRequests}
	other := newVendors(t, asksOnce)
	confirmer := fast(&client.Tools{Session: desk.connect(t), WorkspaceID: "1000"}, &client.Options{RunID: "run-1"})
	res, err := other.connect(t, confirmer.NewClient(agent, other.server(), nil)).CallTool(t.Context(), deletion)
	if err != nil || textOf(t, res) != "deleted" {
		t.Fatalf("%v, %v", res, err)
	}
	if want := []string{"request_confirmation", "get_confirmation", "take_confirmation"}; !slices.Equal(desk.called, want) {
		t.Fatalf("called %v, want %v", desk.called, want)
	}
	server := map[string]any{"name": "Vendor register", "url": other.url}
	for i, want := range []map[string]any{
		{"server": server, "tool": "delete_vendor", "arguments": deletion.Arguments, "run_id": "run-1", "workspace_id": "1000"},
		{"confirmation_id": "conf_1", "wait_seconds": 25.0, "workspace_id": "1000"},
		{"server": server, "tool": "delete_vendor", "arguments": deletion.Arguments, "confirmation_id": "conf_1", "workspace_id": "1000", "idempotency_key": "take-conf_1"},
	} {
		for name, value := range want {
			if !reflect.DeepEqual(desk.args[i][name], value) {
				t.Errorf("%s was given %s %v, want %v", desk.called[i], name, desk.args[i][name], value)
			}
		}
	}
	if key, _ := desk.args[0]["idempotency_key"].(string); key == "" || desk.args[0]["request_state_hash"] == nil || desk.args[0]["input_requests"] == nil {
		t.Errorf("request_confirmation was given %v", desk.args[0])
	}
}

func TestTheDesksToolsRefuseByName(t *testing.T) {
	refused := says(`{"code":"insufficient_scope","message":"No.","retryable":false,"next_action":"stop_and_escalate","details":{"scope":"confirmations:write"}}`)
	refused.IsError = true
	desk := &toolDesk{answers: map[string]*mcp.CallToolResult{"request_confirmation": refused}}
	other := newVendors(t, asksOnce)
	tools := &client.Tools{Session: desk.connect(t)}
	_, err := other.connect(t, fast(tools, nil).NewClient(agent, other.server(), nil)).CallTool(t.Context(), deletion)
	var named *client.Error
	if !errors.As(err, &named) || named.Code != "insufficient_scope" || named.Details["scope"] != "confirmations:write" || len(desk.called) != 1 {
		t.Errorf("ended with %v after %v", err, desk.called)
	}
	if err := tools.Withdraw(t.Context(), "conf_1"); !errors.Is(err, client.ErrCannotWithdraw) {
		t.Errorf("withdrawing ended with %v", err)
	}
	if err := tools.Session.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tools.Await(t.Context(), "conf_1", time.Second); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("a closed session ends with %v", err)
	}
}
