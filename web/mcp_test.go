package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// tool calls a tool of the MCP endpoint as the newest clients do.
func (r *running) tool(t *testing.T, token, name, args string) answer {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, name, args)
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.agents+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": name, "Authorization": "Bearer " + r.tokens[token]} {
		req.Header.Set(key, value)
	}
	a, err := send(req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTools_are_counted_by_outcome_and_never_by_workspace(t *testing.T) {
	r := run(t)
	r.tool(t, "agent", "list_workspaces", "{}")
	r.tool(t, "agent", "get_case", `{"case_id":"case_nowhere"}`)
	r.tool(t, "agent", "no_such_tool_1", "{}")
	r.tool(t, "agent", "no_such_tool_2", "{}")
	a, err := r.get(t.Context(), r.people+"/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`apdesk_tool_calls_total{outcome="ok",tool="list_workspaces"} 1`,
		`apdesk_tool_calls_total{outcome="NOT_FOUND",tool="get_case"} 1`,
		`apdesk_tool_calls_total{outcome="-32602",tool="unknown"} 2`,
		`apdesk_tool_call_seconds_count{outcome="ok",tool="list_workspaces"} 1`,
		`apdesk_waits{channel="mcp"} 0`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, never := range []string{"no_such_tool", "workspace=", `"1000"`} {
		if strings.Contains(a.body, never) {
			t.Errorf("the metrics show %s", never)
		}
	}
}

func TestRateLimit_counts_a_person_over_REST_and_MCP_together(t *testing.T) {
	r := run(t, func(c *Config) { c.RateLimit = 1 })
	for range 4 {
		if a := r.call("GET", "/api/v1/cases", "agent", ""); a.status != 200 {
			t.Fatalf("within the burst: %d", a.status)
		}
	}
	if a := r.tool(t, "agent", "list_workspaces", "{}"); a.status != 200 || strings.Contains(a.body, "isError") {
		t.Errorf("the fifth call: %d %s", a.status, a.body)
	}
	if a := r.tool(t, "agent", "list_workspaces", "{}"); a.status != 200 || !strings.Contains(a.body, `\"code\":\"RATE_LIMITED\"`) || !strings.Contains(a.body, `\"retry_after_seconds\":1`) {
		t.Errorf("the sixth call: %d %s", a.status, a.body)
	}
}

func TestRateLimit_bounds_an_address_whoever_calls(t *testing.T) {
	r := run(t, func(c *Config) { c.RateLimit = 1 })
	for _, token := range []string{"agent", "erp", "agent", "erp", "agent"} {
		if a := r.tool(t, token, "list_workspaces", "{}"); a.status != 200 {
			t.Fatalf("within the burst: %d %s", a.status, a.body)
		}
	}
	if a := r.tool(t, "erp", "list_workspaces", "{}"); a.status != 429 || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"code":-32600`) || !strings.Contains(a.body, `"RATE_LIMITED"`) {
		t.Errorf("the sixth call: %d %s", a.status, a.body)
	}
}
