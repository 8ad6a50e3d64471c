package mcpcall

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve runs a server whose only tool answers what is given, behind weather.
func serve(t *testing.T, weather func(n int32) bool, answer func() (*mcp.CallToolResult, error)) (*Client, *atomic.Int32) {
	t.Helper()
	var ran atomic.Int32
	server := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran.Add(1)
		return answer()
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var n atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		if weather(n.Add(1)) {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		tools.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c := New(web.URL, "secret", "test")
	t.Cleanup(c.Close)
	return c, &ran
}

func fine(int32) bool { return false }

func text(s string, isError bool) func() (*mcp.CallToolResult, error) {
	return func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: isError, Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil
	}
}

func TestBadWeatherIsWaitedOutUnseen(t *testing.T) {
	c, ran := serve(t, func(n int32) bool { return n%3 != 0 }, text(`{"amount":"12345678901234567890.10"}`, false))
	raw, refused, err := c.Call(t.Context(), "tool", map[string]any{}, nil)
	if err != nil || refused != nil || string(raw) != `{"amount":"12345678901234567890.10"}` {
		t.Errorf("%s, %v, %v", raw, refused, err)
	}
	if ran.Load() != 1 {
		t.Errorf("the tool ran %d times", ran.Load())
	}
}

func TestANamedErrorComesBackAsOne(t *testing.T) {
	c, _ := serve(t, fine, text(`{"code":"PO_CLOSED","message":"closed","retryable":false,"next_action":"route_to_person","details":{"po_id":"45"}}`, true))
	_, refused, err := c.Call(t.Context(), "tool", map[string]any{}, nil)
	if err != nil || refused == nil || refused.Code != "PO_CLOSED" || refused.NextAction != "route_to_person" || refused.Detail("po_id") != "45" {
		t.Errorf("%v, %v", refused, err)
	}
}

func TestAnErrorWithoutTheFiveFieldsIsNoNamedError(t *testing.T) {
	c, _ := serve(t, fine, text(`{"message":"oops"}`, true))
	if _, refused, err := c.Call(t.Context(), "tool", map[string]any{}, nil); err == nil || refused != nil {
		t.Errorf("%v, %v", refused, err)
	}
}

func TestARefusedRequestIsNotRepeated(t *testing.T) {
	c, ran := serve(t, fine, text(`{}`, false))
	_, _, err := c.Call(t.Context(), "unknown", map[string]any{}, nil)
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams || ran.Load() != 0 {
		t.Errorf("%v", err)
	}
}
