package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every row of the published order of checks, as it goes over the wire.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	list := modern("agent", "tools/list", "")
	with := func(a ask, change func(*ask)) ask { change(&a); return a }
	body := func(text string) ask { a := list; a.body = text; return a }
	header := func(a ask, lines ...string) ask {
		a.headers = append(append([]string{}, a.headers...), lines...)
		return a
	}

	for name, a := range map[string]ask{
		"413_declared":                 header(ask{token: "agent"}, "Content-Length: 14680065"),
		"413_before_credentials":       header(ask{}, "Content-Length: 14680065"),
		"405_get":                      {method: "GET", token: "agent"},
		"405_delete":                   {method: "DELETE", token: "agent"},
		"401_no_token":                 with(list, func(a *ask) { a.token = "" }),
		"401_unknown_token":            header(with(list, func(a *ask) { a.token = "" }), "Authorization: Bearer apd_unknown"),
		"401_before_host":              header(with(list, func(a *ask) { a.token = "" }), "Host: evil.example"),
		"403_foreign_host":             header(list, "Host: evil.example"),
		"403_foreign_origin":           header(list, "Origin: https://evil.example"),
		"403_null_origin":              header(list, "Origin: null"),
		"200_own_origin":               header(modern("agent", "prompts/list", ""), "Origin: https://desk.example.test", "Host: desk.example.test"),
		"403_workspace_header":         header(list, "X-Workspace-Id: 2000"),
		"403_workspace_query":          with(list, func(a *ask) { a.path = Path + "?workspace_id=nowhere" }),
		"403_workspace_before_json":    header(body("{"), "X-Workspace-Id: 2000"),
		"415_text":                     header(list, "Content-Type: text/plain"),
		"400_accept":                   header(list, "Accept: application/json"),
		"32700_malformed":              body(`{"jsonrpc":"2.0",`),
		"32700_empty":                  body(``),
		"32700_trailing_bytes":         body(list.body + `x`),
		"32700_two_values":             body(list.body + list.body),
		"32700_not_utf8":               body("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"),
		"32700_duplicate_name":         body(`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`),
		"32700_duplicate_id":           body(`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`),
		"32700_duplicate_in_arguments": callTool("agent", "list_workspaces", `{"workspace_id":"1000","workspace_id":"2000"}`),
		"32700_too_deep":               body(strings.Repeat("[", 2000) + strings.Repeat("]", 2000)),
		"32600_array":                  body(`[` + list.body + `]`),
		"32600_string":                 body(`"hello"`),
		"32600_version_tag":            body(`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`),
		"32600_no_method":              body(`{"jsonrpc":"2.0","id":1}`),
		"32600_response":               body(`{"jsonrpc":"2.0","id":1,"result":{}}`),
		"32600_id_null":                body(`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`),
		"32600_id_missing":             body(`{"jsonrpc":"2.0","method":"tools/list"}`),
		"32600_id_fraction":            body(`{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`),
		"32600_id_object":              body(`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`),
		"32600_id_not_exact":           body(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`),
		"202_notification":             body(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		"202_unknown_notification":     body(`{"jsonrpc":"2.0","method":"notifications/anything"}`),
		"32022_future":                 with(list, func(a *ask) { a.version = "2099-01-01" }),
		"32022_1900":                   with(list, func(a *ask) { a.version = "1900-01-01" }),
		"32022_2025_03_26":             with(list, func(a *ask) { a.version = "2025-03-26" }),
		"32020_no_version":             with(list, func(a *ask) { a.version = "" }),
		"32020_no_version_in_2025":     {token: "agent", body: `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`},
		"32020_version_differs":        with(list, func(a *ask) { a.version = version202511 }),
		"32020_no_method_header":       with(list, func(a *ask) { a.headers = nil }),
		"32020_method_differs":         with(list, func(a *ask) { a.headers = []string{"Mcp-Method: tools/call"} }),
		"32020_no_name_header":         with(callTool("agent", "list_workspaces", "{}"), func(a *ask) { a.headers = a.headers[:1] }),
		"32020_name_differs":           with(callTool("agent", "list_workspaces", "{}"), func(a *ask) { a.headers = []string{a.headers[0], "Mcp-Name: get_case"} }),
		"32020_name_not_base64":        with(callTool("agent", "list_workspaces", "{}"), func(a *ask) { a.headers = []string{a.headers[0], "Mcp-Name: =?base64?***?="} }),
		"200_name_in_base64":           with(callTool("agent", "list_workspaces", "{}"), func(a *ask) { a.headers = []string{a.headers[0], "Mcp-Name: =?base64?bGlzdF93b3Jrc3BhY2Vz?="} }),
		"32601_unknown_method":         modern("agent", "tools/delete", ""),
		"32601_removed_method":         modern("agent", "initialize", ""),
		"32601_not_offered":            modern("agent", "completion/complete", ""),
		"32601_2025":                   {token: "agent", version: version202506, body: `{"jsonrpc":"2.0","id":"a","method":"logging/setLevel","params":{"level":"info"}}`},
		"32602_params_list":            with(list, func(a *ask) { a.body = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}` }),
		"32602_no_meta":                with(list, func(a *ask) { a.body = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}` }),
		"32602_no_capabilities": with(list, func(a *ask) {
			a.body = strings.Replace(a.body, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1)
		}),
		"32602_capabilities_of_another_kind": formCall("agent", `{"elicitation":true}`, "list_workspaces", `{}`, ""),
		"32602_no_name":                      modern("agent", "tools/call", `"arguments":{}`),
		"32602_unknown_tool":                 callTool("agent", "drop_tables", `{}`),
		"32602_unknown_tool_2025":            {token: "agent", version: version202511, body: `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"drop_tables"}}`},
		"32602_unknown_argument":             callTool("agent", "list_workspaces", `{"worksapce_id":"1000","zzz":1}`),
		"32602_arguments_list":               callTool("agent", "list_workspaces", `[]`),
		"32602_unknown_prompt":               modern("agent", "prompts/get", `"name":"hello"`),
		"32602_unknown_resource":             modern("agent", "resources/read", `"uri":"file:///etc/passwd"`),
		"32002_unknown_resource_2025":        {token: "agent", version: version202511, body: `{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"file:///x"}}`},
		"32602_cursor":                       modern("agent", "tools/list", `"cursor":"abc"`),
		"32602_request_state":                modern("agent", "tools/call", `"name":"list_workspaces","arguments":{},"requestState":7`),
		"32602_input_responses":              modern("agent", "tools/call", `"name":"list_workspaces","arguments":{},"inputResponses":{"confirm":{}}`),
		"200_last_event_id_is_ignored":       header(modern("agent", "prompts/list", ""), "Last-Event-ID: 7"),
		"200_initialize_without_version":     {token: "agent", body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`},
		"200_discover":                       modern("agent", "server/discover", ""),
		"200_ping_2025":                      {token: "agent", version: version202506, body: `{"jsonrpc":"2.0","id":"a","method":"ping"}`},
		"404_elsewhere":                      {path: "/", token: "agent"},
		"metadata":                           {method: "GET", path: "/.well-known/oauth-protected-resource/mcp"},
		"metadata_root":                      {method: "GET", path: "/.well-known/oauth-protected-resource"},
		"metadata_post":                      {path: "/.well-known/oauth-protected-resource"},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := w.send(a)
			if body != "" {
				var any map[string]json.RawMessage
				if err := json.Unmarshal([]byte(body), &any); err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
					t.Errorf("the body is no JSON object: %q", body)
				}
				if id, sent := any["id"]; string(id) == "null" && sent != (res.StatusCode == 413) {
					t.Errorf("id null outside a 413: %s", body)
				}
			}
			golden(t, "transport/"+name, transcript(res, body))
		})
	}
}

func TestABodyOfUnknownLengthIsRefusedAtTheLimitToo(t *testing.T) {
	w := newWorld(t)
	chunk := strings.Repeat(" ", 0x100000)
	body := strings.Repeat("100000\r\n"+chunk+"\r\n", 15) + "0\r\n\r\n"
	res, got := w.send(ask{headers: []string{"Transfer-Encoding: chunked"}, body: body})
	if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Request body too large (limit 14680064 bytes)"}}`; res.StatusCode != 413 || got != want {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}

func TestABodyJustUnderTheLimitIsRead(t *testing.T) {
	w := newWorld(t)
	a := modern("agent", "prompts/list", "")
	a.body += strings.Repeat(" ", bodyLimit-len(a.body))
	if res, got := w.send(a); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}

func TestLoopbackNamesAreAlwaysAnswered(t *testing.T) {
	hosts := newHostList("https://desk.example.test", "http://127.0.0.1:8081/mcp")
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8081": true, "127.0.0.1:8081": true, "127.9.9.9": true, "[::1]:8081": true, "[::1]": true, "LOCALHOST.": true,
		"desk.example.test": true, "Desk.Example.Test:443": true,
		"desk.example.test.evil.example": false, "evil.example": false, "10.0.0.1:8081": false, "": false, "localhost.evil.example": false,
	} {
		if hosts.has(host) != want {
			t.Errorf("has(%q) = %v", host, !want)
		}
	}
}
