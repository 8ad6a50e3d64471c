package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/api"
)

// callAccess is who may make a call, with which scope of their token.
type callAccess struct {
	anybody bool
	scope   models.Scope  // the least that is enough; "": any token
	money   bool          // and the scope money besides
	roles   []models.Role // nil: everybody in the company, each for what they may see
	body    func(s *site) string
}

func filesWith(scope models.Scope, body func(s *site) string) callAccess {
	return callAccess{scope: scope, roles: []models.Role{models.RoleAgent}, body: body}
}

func spends(body func(s *site) string) callAccess {
	return callAccess{scope: models.ScopeApprovalsWrite, money: true, roles: []models.Role{models.RoleERP}, body: body}
}

func readsWith(scope models.Scope) callAccess { return callAccess{scope: scope} }

func nothing(*site) string { return `{}` }

func redeems(s *site) string {
	return `{"tool": "post_invoice_adjustment", "idempotency_key": "k", "arguments": {"invoice_id": "5105600123"}}`
}

func takes(s *site) string {
	return `{"idempotency_key": "k", "server": {"name": "a", "url": "https://archive.example.test/mcp"}, "tool": "t", "arguments": {}}`
}

// restAccess is who may make each call over REST. One that is not here fails the tests.
var restAccess = map[string]callAccess{
	"GET /outcomes": {anybody: true}, "GET /openapi.json": {anybody: true},
	"GET /workspaces":                               {},
	"POST /handovers":                               filesWith(models.ScopeCasesWrite, func(s *site) string { return s.handover("1", "PO_CLOSED") }),
	"GET /cases":                                    readsWith(models.ScopeCasesRead),
	"GET /cases/:case_id":                           readsWith(models.ScopeCasesRead),
	"POST /approval-requests":                       filesWith(models.ScopeApprovalsWrite, func(s *site) string { return s.write("1", "20.00") }),
	"GET /approval-requests/:request_id":            readsWith(models.ScopeApprovalsRead),
	"GET /approval-requests/:request_id/proof":      readsWith(models.ScopeApprovalsRead),
	"POST /approvals/:approval_id/redeem":           spends(redeems),
	"POST /approvals/:approval_id/report":           spends(func(*site) string { return `{"status": "posted", "document_number": "1"}` }),
	"POST /confirmations":                           filesWith(models.ScopeConfirmationsWrite, func(s *site) string { return s.question("1") }),
	"GET /confirmations/:confirmation_id":           readsWith(models.ScopeConfirmationsRead),
	"POST /confirmations/:confirmation_id/take":     filesWith(models.ScopeConfirmationsWrite, takes),
	"POST /confirmations/:confirmation_id/withdraw": filesWith(models.ScopeConfirmationsWrite, nothing),
	"POST /holds":                                   filesWith(models.ScopeHoldsWrite, func(s *site) string { return s.holdOf("1") }),
	"GET /holds":                                    readsWith(models.ScopeHoldsRead),
	"GET /holds/:hold_id":                           readsWith(models.ScopeHoldsRead),
	"POST /holds/lease":                             filesWith(models.ScopeHoldsWrite, nothing),
	"POST /holds/:hold_id/recheck":                  filesWith(models.ScopeHoldsWrite, func(*site) string { return `{"result": "available"}` }),
	"POST /files":                                   filesWith(models.ScopeCasesWrite, func(*site) string { return "%PDF-1.7 x" }),
	"GET /files/:file_id":                           readsWith(models.ScopeCasesRead),
	"GET /files/:file_id/content":                   readsWith(models.ScopeCasesRead),
	"GET /audit":                                    {scope: models.ScopeCasesRead, roles: models.AuditReaders()},
}

// toolAccess is who may call each tool. One that is not here fails the tests.
var toolAccess = map[string]callAccess{
	"list_workspaces":   {body: nothing},
	"route_to_person":   filesWith(models.ScopeCasesWrite, func(s *site) string { return s.handover("2", "PO_CLOSED") }),
	"stop_and_escalate": filesWith(models.ScopeCasesWrite, func(s *site) string { return s.handover("3", "PERIOD_CLOSED") }),
	"get_case":          {scope: models.ScopeCasesRead, body: func(s *site) string { return `{"case_id": "` + s.ids["case"] + `"}` }},
	"withdraw_case":     filesWith(models.ScopeCasesWrite, func(s *site) string { return `{"case_id": "` + s.ids["case"] + `"}` }),
	"request_approval":  filesWith(models.ScopeApprovalsWrite, func(s *site) string { return s.write("2", "20.00") }),
	"get_approval":      {scope: models.ScopeApprovalsRead, body: func(s *site) string { return `{"request_id": "` + s.ids["request"] + `"}` }},
	"withdraw_request":  filesWith(models.ScopeApprovalsWrite, func(s *site) string { return `{"request_id": "` + s.ids["request"] + `"}` }),
	"revoke_approval":   filesWith(models.ScopeApprovalsWrite, func(s *site) string { return `{"approval_id": "` + s.ids["approval"] + `"}` }),
	"redeem_approval": spends(func(s *site) string {
		return strings.Replace(redeems(s), "{", `{"approval_id": "`+s.ids["approval"]+`", `, 1)
	}),
	"report_write": spends(func(s *site) string {
		return `{"approval_id": "` + s.ids["approval"] + `", "status": "posted", "document_number": "1"}`
	}),
	"request_confirmation": filesWith(models.ScopeConfirmationsWrite, func(s *site) string { return s.question("2") }),
	"get_confirmation":     {scope: models.ScopeConfirmationsRead, body: func(s *site) string { return `{"confirmation_id": "` + s.ids["confirmation"] + `"}` }},
	"take_confirmation": filesWith(models.ScopeConfirmationsWrite, func(s *site) string {
		return strings.Replace(takes(s), "{", `{"confirmation_id": "`+s.ids["confirmation"]+`", `, 1)
	}),
	"hold_and_recheck":  filesWith(models.ScopeHoldsWrite, func(s *site) string { return s.holdOf("2") }),
	"list_due_rechecks": filesWith(models.ScopeHoldsWrite, nothing),
	"report_recheck":    filesWith(models.ScopeHoldsWrite, func(s *site) string { return `{"hold_id": "` + s.ids["hold"] + `", "result": "available"}` }),
	"cancel_hold":       filesWith(models.ScopeHoldsWrite, func(s *site) string { return `{"hold_id": "` + s.ids["hold"] + `"}` }),
}

// enough says whether a token of one scope passes.
func (a callAccess) enough(scope models.Scope) bool {
	area, _, _ := strings.Cut(string(a.scope), ":")
	switch {
	case a.anybody || a.scope == "" || scope == models.ScopeAll:
		return true
	case a.money: // two scopes are needed
		return false
	case scope == a.scope || strings.HasSuffix(string(a.scope), ":read") && scope == models.Scope(area+":write"):
		return true
	}
	return false
}

func (s *site) restRoutes() []string {
	var list []string
	for _, r := range s.server.app.GetRoutes(true) {
		path, isCall := strings.CutPrefix(r.Path, api.Prefix)
		name := r.Method + " " + path
		if isCall && r.Method != http.MethodHead && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// rest makes a call with real records in the place of its parameters.
func (s *site) rest(r, token string, headers ...string) answer {
	method, route, _ := strings.Cut(r, " ")
	path, _ := s.address(api.Prefix + route)
	body := bodyOf(s, restAccess[r])
	if r == "POST /files" {
		headers = append(headers, "Content-Type", "application/pdf")
	}
	return s.call(method, path, token, body, headers...)
}

func TestEveryCallAndToolIsInItsAccessTable(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	known := func(what string, there []string, table map[string]callAccess) {
		for _, name := range there {
			if _, ok := table[name]; !ok {
				t.Errorf("%s %s is new: say in its table who may use it", what, name)
			}
		}
		for name := range maps.Keys(table) {
			if !slices.Contains(there, name) {
				t.Errorf("%s %s is gone", what, name)
			}
		}
	}
	known("the call", s.restRoutes(), restAccess)
	known("the tool", s.toolNames(), toolAccess)
}

func TestNoCallIsForWhoHasNoToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	before := s.state("")
	for _, r := range s.restRoutes() {
		for _, token := range []string{"", "apd_guessed", s.tokens["agent-all"][:len(s.tokens["agent-all"])-1]} {
			a := s.rest(r, token)
			if restAccess[r].anybody {
				if a.status != http.StatusOK {
					t.Errorf("%s is answered %d", r, a.status)
				}
			} else if a.status != http.StatusUnauthorized || a.code() != "unauthenticated" || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with token %q is answered %d %s", r, token, a.status, a.body)
			}
			if s.shows(a) {
				t.Errorf("%s shows something: %s", r, a.body)
			}
		}
		// A session of the pages is no token, and a token no session.
		v := s.people[models.RoleAPLead]
		method, route, _ := strings.Cut(r, " ")
		path, _ := s.address(api.Prefix + route)
		if a := v.do(method, path, nil); !restAccess[r].anybody && a.status != http.StatusUnauthorized {
			t.Errorf("%s with a session's cookie is answered %d", r, a.status)
		}
	}
	for _, r := range s.pageRoutes() {
		if method, route, _ := strings.Cut(r, " "); !pageAccess[r].anybody && route != "/live" {
			path, _ := s.address(route)
			if a := s.call(method, path, "role-ap_lead", ""); a.status == http.StatusOK || s.shows(a) {
				t.Errorf("%s with a token is answered %d", r, a.status)
			}
		}
	}
	for _, name := range s.toolNames() {
		for _, token := range []string{"", "apd_guessed"} {
			if a := s.tool(name, token, toolAccess[name].body(s)); a.status != http.StatusUnauthorized || s.shows(a) {
				t.Errorf("%s with token %q is answered %d %s", name, token, a.status, a.body)
			}
		}
	}
	if c := changed(before, s.state("")); len(c) > 0 {
		t.Errorf("somebody without a token changed %v", c)
	}
}

// Agents and ERPs of another company, and somebody with every role there, with the true ids of this one.
func TestNoCallLeadsIntoAnotherCompany(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	parts := []string{"askers", "confirmation_askers", "attachment_pieces"} // of records that name their company
	before := s.state("1000", parts...)
	s.wearing = "Fremd"
	// A refusal says that there is nothing, and never what is there instead.
	elsewhere := func(code, body string) bool {
		return code == "NOT_FOUND" || code == "APPROVAL_MISSING" && strings.Contains(body, "unknown")
	}
	for _, token := range []string{"outside-agent", "outside-erp", "outside-all"} {
		for _, r := range s.restRoutes() {
			want := restAccess[r]
			if want.anybody {
				continue
			}
			_, route, _ := strings.Cut(r, " ")
			_, names := s.address(api.Prefix + route)
			a := s.rest(r, token)
			if names && !elsewhere(a.code(), a.body) && a.code() != "insufficient_permission" {
				t.Errorf("%s of %s is answered %d %s", r, token, a.status, a.body)
			}
			if s.shows(a) {
				t.Errorf("%s of %s shows something: %s", r, token, a.body)
			}
			for _, b := range []answer{s.rest(r, token, "X-Workspace-Id", "1000"), s.call(strings.Fields(r)[0], mustPath(s, route)+"?workspace_id=1000", token, bodyOf(s, want))} {
				if b.status != http.StatusForbidden || b.code() != "workspace_access_denied" {
					t.Errorf("%s of %s with the company named is answered %d %s", r, token, b.status, b.body)
				}
			}
		}
		for _, name := range s.toolNames() {
			body := bodyOf(s, toolAccess[name])
			code, text := s.toolCode(name, token, body)
			if strings.Contains(body, "_id") && !strings.Contains(body, `"invoice"`) && !elsewhere(code, text) && code != "insufficient_permission" {
				t.Errorf("%s of %s is answered %s %s", name, token, code, text)
			}
			if code == "" && strings.Contains(strings.ToLower(text), s.texts.mark) {
				t.Errorf("%s of %s shows something: %s", name, token, text)
			}
			if a := s.tool(name, token, body, "X-Workspace-Id", "1000"); a.status != http.StatusForbidden {
				t.Errorf("%s of %s with the company in a header is answered %d %s", name, token, a.status, a.body)
			}
			if code, text := s.toolCode(name, token, strings.Replace(body, "{", `{"workspace_id": "1000", `, 1)); body != "{}" && code != "workspace_access_denied" {
				t.Errorf("%s of %s with the company named is answered %s %s", name, token, code, text)
			}
		}
	}
	if c := changed(before, s.state("1000", parts...)); len(c) > 0 {
		t.Errorf("somebody of another company changed %v", c)
	}
}

func mustPath(s *site, route string) string {
	path, _ := s.address(api.Prefix + route)
	return path
}

func bodyOf(s *site, a callAccess) string {
	if a.body == nil {
		return ""
	}
	if s.wearing != "" {
		return strings.ReplaceAll(a.body(s), "Kranich", s.wearing)
	}
	return a.body(s)
}

// Every token of one scope at every call and tool, and every role with a token of all scopes.
func TestEveryCallAndToolKnowsItsScopeAndRole(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	before := s.state("", "audit_events")
	for _, scope := range models.Scopes() {
		if scope == models.ScopeAll {
			continue
		}
		for _, who := range []models.Role{models.RoleAgent, models.RoleERP, models.RoleAuditor} {
			token := string(who) + " " + string(scope)
			for _, r := range s.restRoutes() {
				want := restAccess[r]
				if want.enough(scope) && r != "GET /audit" { // which needs two scopes to read
					continue
				}
				if a := s.rest(r, token); a.status != http.StatusForbidden || a.code() != "insufficient_scope" {
					t.Errorf("%s with the scope %s of %s is answered %d %s", r, scope, who, a.status, a.body)
				}
			}
			for _, name := range s.toolNames() {
				if toolAccess[name].enough(scope) {
					continue
				}
				if code, text := s.toolCode(name, token, toolAccess[name].body(s)); code != "insufficient_scope" {
					t.Errorf("%s with the scope %s of %s is answered %s %s", name, scope, who, code, text)
				}
			}
		}
	}
	for _, role := range models.Roles() {
		token := "role-" + string(role)
		for _, r := range s.restRoutes() {
			want := restAccess[r]
			if want.roles == nil || slices.Contains(want.roles, role) {
				continue
			}
			if a := s.rest(r, token); a.status != http.StatusForbidden || a.code() != "insufficient_permission" {
				t.Errorf("%s with the role %s is answered %d %s", r, role, a.status, a.body)
			}
		}
		for _, name := range s.toolNames() {
			want := toolAccess[name]
			if want.roles == nil || slices.Contains(want.roles, role) {
				continue
			}
			if code, text := s.toolCode(name, token, want.body(s)); code != "insufficient_permission" {
				t.Errorf("%s with the role %s is answered %s %s", name, role, code, text)
			}
		}
	}
	if c := changed(before, s.state("", "audit_events")); len(c) > 0 {
		t.Errorf("what was refused changed %v", c)
	}
	// And who may, may: nothing above was refused for another reason.
	for _, r := range s.restRoutes() {
		token := "agent-all"
		if slices.Equal(restAccess[r].roles, []models.Role{models.RoleERP}) {
			token = "erp-all"
		}
		if r == "GET /audit" {
			token = "role-auditor"
		}
		if strings.HasPrefix(r, "GET /files") {
			token = "role-ap_clerk" // a person added the file
		}
		if a := s.rest(r, token); a.status == http.StatusForbidden && a.code() != "APPROVAL_MISSING" || a.status == http.StatusNotFound || a.status == http.StatusUnauthorized || a.status >= 500 {
			t.Errorf("%s is answered %d %s", r, a.status, a.body)
		}
	}
	for _, name := range s.toolNames() {
		token := "agent-all"
		if slices.Equal(toolAccess[name].roles, []models.Role{models.RoleERP}) {
			token = "erp-all"
		}
		if code, text := s.toolCode(name, token, toolAccess[name].body(s)); strings.HasPrefix(code, "insufficient") || code == "NOT_FOUND" || code == "INTERNAL" || code == "VALIDATION_ERROR" {
			t.Errorf("%s is answered %s %s", name, code, text)
		}
	}
}

// speak sends one request to the MCP endpoint as the newest clients do, who can ask the person beside them.
func (s *site) speak(method, name, token, params string, headers ...string) answer {
	s.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`, method, params)
	req := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://desk.example.test/mcp", strings.NewReader(body))
	for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	if secret := s.tokens[token]; secret != "" {
		token = secret
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.server.mcp.Handler.ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func (s *site) tool(name, token, args string, headers ...string) answer {
	s.t.Helper()
	return s.speak("tools/call", name, token, fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args), headers...)
}

// toolCode is how a call ended: the code of its error, "" for none, and the text.
func (s *site) toolCode(name, token, args string) (code, text string) {
	s.t.Helper()
	a := s.tool(name, token, args)
	var message struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.body), &message); err != nil || len(message.Error) > 0 {
		return fmt.Sprint("refused ", a.status), a.body
	}
	if !message.Result.IsError {
		return "", a.body
	}
	var named struct{ Code string }
	if err := json.Unmarshal([]byte(message.Result.Content[0].Text), &named); err != nil {
		return "no code", a.body
	}
	return named.Code, a.body
}

// toolNames are the tools of the running server: all that any token of company 1000 is shown.
func (s *site) toolNames() []string {
	s.t.Helper()
	var names []string
	for _, token := range []string{"agent-all", "erp-all", "role-agent", "role-erp", "role-admin", "role-finance_lead"} {
		a := s.speak("tools/list", "", token, "")
		var message struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(a.body), &message); err != nil || len(message.Result.Tools) == 0 {
			s.t.Fatalf("tools/list of %s is answered %d %s", token, a.status, a.body)
		}
		for _, tool := range message.Result.Tools {
			if !slices.Contains(names, tool.Name) {
				names = append(names, tool.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
