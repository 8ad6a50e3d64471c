package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

type object = map[string]any

func invoice(id, amount string) object {
	return object{"id": id, "number": "INV-" + id, "supplier_id": "V-2001", "supplier_name": "Nordwind GmbH", "po_id": "4500018822", "amount": amount, "currency": "EUR", "invoice_date": "2026-10-03"}
}

func poClosed(invoiceID string) object {
	return object{
		"run_id": "run-1", "reason": "named_error", "invoice": invoice(invoiceID, "1234.50"),
		"errors": []object{{"tool": "get_purchase_order", "arguments": object{"po_id": "4500018822"}, "at": "2026-10-05T09:12:44Z",
			"error": object{"code": "PO_CLOSED", "message": "PO 4500018822 was closed on 2026-09-30.", "retryable": false, "next_action": "route_to_person", "details": object{"po_id": "4500018822"}}}},
		"evidence":    []object{{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": object{"status": "closed"}}},
		"explanation": "The order is closed, but the goods arrived.",
		"suggestion":  object{"exit": "reopen_po", "why": "One line is still open."},
	}
}

func posting(invoiceID, amount string) object {
	return object{"invoice_id": invoiceID, "supplier_id": "V-2001", "amount": amount, "currency": "EUR", "posting_date": "2026-12-01", "lines": []any{object{"no": 1}}}
}

func approvalFor(invoiceID, amount string) object {
	return object{
		"invoice": invoice(invoiceID, "1234.50"), "action": object{"tool": "post_invoice_adjustment", "arguments": posting(invoiceID, amount)},
		"amount": amount, "currency": "EUR", "posting_date": "2026-12-01", "summary": "Post the price difference.",
	}
}

func (w *world) ruleFor(role models.Role, to string) {
	w.t.Helper()
	rule := approvals.NewRule{Role: role, Currency: "EUR", From: "0", To: to, Required: 1, Valid: 24 * time.Hour}
	if _, err := w.approvals.CreateRule(w.t.Context(), models.Operator("1000"), rule); err != nil {
		w.t.Fatal(err)
	}
}

// From the stop to the person to the next step, with every client that is served.
func TestAStopReachesAPersonAndTheInstructionComesBack(t *testing.T) {
	for _, version := range []string{"", version202511, version202506} {
		t.Run("client "+version, func(t *testing.T) {
			w := newWorld(t)
			agent := w.dial("agent", version)
			want := version
			if want == "" {
				want = version2026
			}
			if got := agent.InitializeResult().ProtocolVersion; got != want {
				t.Fatalf("speaks %s, want %s", got, want)
			}

			filed := must[object](t, agent, "route_to_person", poClosed("1"))
			if filed["created"] != true || filed["queue"] != "procurement" || filed["code"] != "PO_CLOSED" || filed["status"] != "open" {
				t.Errorf("the handover is answered with %v", filed)
			}
			id := filed["case_id"].(string)
			if filed["url"] != "https://desk.example.test/cases/"+id {
				t.Errorf("the page is %v", filed["url"])
			}
			if again := must[object](t, agent, "route_to_person", poClosed("1")); again["created"] != false || again["case_id"] != id {
				t.Errorf("the same stop again is answered with %v", again)
			}

			told := make(chan object, 1)
			go func() { told <- must[object](t, agent, "get_case", object{"case_id": id, "wait_seconds": 50}) }()
			petra := w.person("petra@example.test")
			now := must[object](t, w.dial("agent", version), "get_case", object{"case_id": id})
			if now["instruction"] != nil {
				t.Errorf("an open case carries the instruction %v", now["instruction"])
			}
			_, err := w.queue.Decide(t.Context(), petra, queue.DecideInput{CaseID: id, Exit: "use_other_po", Input: map[string]string{"po_id": "4500018900"},
				Reason: "Moved to the new order.", Version: int64(now["version"].(float64))})
			if err != nil {
				t.Fatal(err)
			}
			got := <-told
			instruction, _ := got["instruction"].(map[string]any)
			input, _ := instruction["input"].(map[string]any)
			if instruction["kind"] != "retry_with" || input["po_id"] != "4500018900" || got["status"] != "resolved" {
				t.Errorf("the agent reads %v", got)
			}
		})
	}
}

func TestOneWriteIsAskedForApprovedRedeemedAndReported(t *testing.T) {
	for _, version := range []string{"", version202511, version202506} {
		t.Run("client "+version, func(t *testing.T) {
			w := newWorld(t)
			w.ruleFor(models.RoleFinanceLead, "10000")
			agent, erp := w.dial("agent", version), w.dial("erp", version)

			asked := must[object](t, agent, "request_approval", approvalFor("1", "250.00"))
			id := asked["request_id"].(string)
			if asked["status"] != "pending" || asked["created"] != true || asked["url"] != "https://desk.example.test/approvals/"+id {
				t.Errorf("the request is answered with %v", asked)
			}
			if again := must[object](t, agent, "request_approval", approvalFor("1", "250.00")); again["created"] != false || again["request_id"] != id {
				t.Errorf("the same call again is answered with %v", again)
			}
			told := make(chan object, 1)
			go func() { told <- must[object](t, agent, "get_approval", object{"request_id": id, "wait_seconds": 50}) }()
			w.vote(id, models.VoteApprove)
			granted := <-told
			approval, _ := granted["approval_id"].(string)
			if granted["status"] != "approved" || approval == "" {
				t.Fatalf("the agent reads %v", granted)
			}

			other := object{"approval_id": approval, "tool": "post_invoice_adjustment", "arguments": posting("1", "250.01"), "idempotency_key": "w-1"}
			if ne := refusedWith(t, erp, "redeem_approval", other); ne.Code != models.ApprovalMissing || ne.Details["reason"] != "different_call" {
				t.Errorf("another call is answered with %+v", ne)
			}
			call := object{"approval_id": approval, "tool": "post_invoice_adjustment", "arguments": posting("1", "250.00"), "idempotency_key": "w-1"}
			first := must[object](t, erp, "redeem_approval", call)
			again := must[object](t, erp, "redeem_approval", call)
			if first["redeemed_at"] != again["redeemed_at"] || first["invoice_id"] != "1" {
				t.Errorf("the same redeem is answered with %v, then %v", first, again)
			}
			call["idempotency_key"] = "w-2"
			if ne := refusedWith(t, erp, "redeem_approval", call); ne.Code != models.ApprovalMissing || ne.Details["reason"] != "already_used" {
				t.Errorf("a second redeem is answered with %+v", ne)
			}
			must[object](t, erp, "report_write", object{"approval_id": approval, "status": "posted", "document_number": "51000042"})
			if strings.Contains(w.log.String(), approval) {
				t.Error("the log shows an approval id")
			}
			if !strings.Contains(w.log.String(), models.MaskID(approval)) {
				t.Error("the log does not say which approval was redeemed")
			}
		})
	}
}

func (w *world) vote(requestID string, decision models.VoteDecision) {
	w.t.Helper()
	fiona := w.person("fiona@example.test")
	page, err := w.approvals.Page(w.t.Context(), fiona, requestID)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.approvals.Vote(w.t.Context(), fiona, approvals.VoteInput{RequestID: requestID, Decision: decision, Reason: "Checked.", Version: page.Request.Version}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAHoldIsFiledTakenAndReported(t *testing.T) {
	w := newWorld(t)
	agent := w.dial("agent", "")
	hold := must[object](t, agent, "hold_and_recheck", object{"code": "GR_MISSING", "invoice": invoice("1", "10.00"), "po_id": "4500018822"})
	if hold["status"] != "waiting" || hold["created"] != true {
		t.Errorf("the hold is answered with %v", hold)
	}
	if due := must[object](t, agent, "list_due_rechecks", object{}); len(due["items"].([]any)) != 0 {
		t.Errorf("due before its time: %v", due)
	}
	w.clock.Advance(5 * 24 * time.Hour)
	due := must[object](t, agent, "list_due_rechecks", object{})
	if items := due["items"].([]any); len(items) != 1 || items[0].(map[string]any)["hold_id"] != hold["hold_id"] {
		t.Fatalf("due is %v", due)
	}
	done := must[object](t, agent, "report_recheck", object{"hold_id": hold["hold_id"], "result": "available"})
	if done["status"] != "released" {
		t.Errorf("the report is answered with %v", done)
	}
}

func TestTheCallerSeesTheToolsItMayCall(t *testing.T) {
	w := newWorld(t)
	for token, want := range map[string][]string{
		"agent": {"cancel_hold", "get_approval", "get_case", "hold_and_recheck", "list_due_rechecks", "list_workspaces", "report_recheck", "request_approval", "revoke_approval",
			"route_to_person", "stop_and_escalate", "withdraw_case", "withdraw_request"},
		"erp": {"list_workspaces", "redeem_approval", "report_write"},
		// A scope without the role, and the other way round.
		"reader": {"get_case", "list_workspaces"},
		"admin":  {"get_approval", "get_case", "get_confirmation", "list_workspaces"},
	} {
		list, err := w.dial(token, "").ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range list.Tools {
			got = append(got, tool.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s sees %v, want %v", token, got, want)
		}
		if list.CacheScope != "private" {
			t.Errorf("%s: the list may be shared: %q", token, list.CacheScope)
		}
	}
}

func TestAHiddenToolAnswersWhyItIsHidden(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		token, tool string
		code        models.Code
		detail      string
		value       string
	}{
		{"reader", "route_to_person", models.InsufficientScope, "scope", "cases:write"},
		{"agent", "redeem_approval", models.InsufficientScope, "scope", "money"},
		{"everything", "redeem_approval", models.InsufficientPermission, "permission", "erp"},
		{"erp", "request_approval", models.InsufficientPermission, "permission", "agent"},
		{"admin", "hold_and_recheck", models.InsufficientPermission, "permission", "agent"},
	} {
		ne := refusedWith(t, w.dial(tc.token, ""), tc.tool, object{})
		if ne.Code != tc.code || ne.Details[tc.detail] != tc.value || ne.NextAction != models.StopAndEscalate {
			t.Errorf("%s calling %s: %+v", tc.token, tc.tool, ne)
		}
	}
}

func TestToolsAreDescribedHonestly(t *testing.T) {
	w := newWorld(t)
	reads := []string{"list_workspaces", "get_case", "get_approval", "get_confirmation"}
	undoes := []string{"withdraw_case", "withdraw_request", "revoke_approval", "cancel_hold"}
	for _, token := range []string{"everything", "erp"} {
		list, err := w.dial(token, "").ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if tool.Title == "" || len(tool.Description) < 40 {
				t.Errorf("%s has no proper title or description", tool.Name)
			}
			a := tool.Annotations
			if a == nil || a.DestructiveHint == nil || *a.DestructiveHint != slices.Contains(undoes, tool.Name) || a.OpenWorldHint == nil || *a.OpenWorldHint || a.ReadOnlyHint != slices.Contains(reads, tool.Name) {
				t.Errorf("%s has the annotations %+v", tool.Name, a)
			}
			in := tool.InputSchema.(map[string]any)
			properties := in["properties"].(map[string]any)
			if properties["workspace_id"] == nil {
				t.Errorf("%s takes no workspace_id", tool.Name)
			}
			if key := properties["idempotency_key"] != nil; key == a.ReadOnlyHint {
				t.Errorf("%s takes an idempotency_key: %v", tool.Name, key)
			}
			if wait := properties["wait_seconds"] != nil; wait != strings.HasPrefix(tool.Name, "get_") {
				t.Errorf("%s takes wait_seconds: %v", tool.Name, wait)
			}
			if in["additionalProperties"] != any(false) && !isFalseSchema(in["additionalProperties"]) {
				t.Errorf("%s takes any argument: %v", tool.Name, in["additionalProperties"])
			}
			if tool.OutputSchema == nil {
				t.Errorf("%s has no output schema", tool.Name)
			}
		}
	}
}

func isFalseSchema(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 1 && m["not"] != nil
}

// Clients check structured content against the published schema.
func TestAnswersMatchTheirPublishedSchemas(t *testing.T) {
	w := newWorld(t)
	w.ruleFor(models.RoleFinanceLead, "10000")
	agent, erp := w.dial("agent", ""), w.dial("erp", "")
	schemas := map[string]*jsonschema.Resolved{}
	for _, s := range []*mcp.ClientSession{agent, erp} {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			text, err := json.Marshal(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			if schemas[tool.Name], err = schema.Resolve(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(s *mcp.ClientSession, tool string, args object) object {
		t.Helper()
		answer := must[object](t, s, tool, args)
		if err := schemas[tool].Validate(map[string]any(answer)); err != nil {
			t.Errorf("%s: %v\n%v", tool, err, answer)
		}
		return answer
	}
	check(agent, "list_workspaces", object{})
	filed := check(agent, "route_to_person", poClosed("1"))
	check(agent, "stop_and_escalate", object{"reason": "other", "invoice": invoice("2", "1.00"), "errors": []any{}})
	id := filed["case_id"].(string)
	open := check(agent, "get_case", object{"case_id": id})
	if _, err := w.queue.Decide(t.Context(), w.person("petra@example.test"), queue.DecideInput{CaseID: id, Exit: "reject_invoice", Reason: "Not ours.", Version: int64(open["version"].(float64))}); err != nil {
		t.Fatal(err)
	}
	check(agent, "get_case", object{"case_id": id})
	asked := check(agent, "request_approval", approvalFor("3", "250.00"))
	check(agent, "get_approval", object{"request_id": asked["request_id"]})
	w.vote(asked["request_id"].(string), models.VoteApprove)
	granted := check(agent, "get_approval", object{"request_id": asked["request_id"]})
	check(erp, "redeem_approval", object{"approval_id": granted["approval_id"], "tool": "post_invoice_adjustment", "arguments": posting("3", "250.00"), "idempotency_key": "k"})
	check(erp, "report_write", object{"approval_id": granted["approval_id"], "status": "failed", "message": "locked"})
	hold := check(agent, "hold_and_recheck", object{"code": "GR_MISSING", "invoice": invoice("4", "10.00"), "po_id": "4500018822", "line": 10})
	w.clock.Advance(5 * 24 * time.Hour)
	if due := check(agent, "list_due_rechecks", object{"limit": 10}); len(due["items"].([]any)) != 1 {
		t.Errorf("due: %v", due)
	}
	check(agent, "report_recheck", object{"hold_id": hold["hold_id"], "result": "still_missing"})
}

// What the tools answer instead of an answer, as it goes over the wire.
func TestNamedErrors(t *testing.T) {
	w := newWorld(t)
	handover, err := json.Marshal(poClosed("1"))
	if err != nil {
		t.Fatal(err)
	}
	action := `{"tool":"post_invoice_adjustment","arguments":{"invoice_id":"1","amount":"250.00","amount":"2.00","currency":"EUR"}}`
	request := func(action string) string {
		return `{"invoice":{"id":"1","amount":"250.00","currency":"EUR"},"action":` + action + `,"amount":"250.00","currency":"EUR","summary":"Post it."}`
	}
	for name, a := range map[string]ask{
		"validation":                 callTool("agent", "route_to_person", `{"reason":"because","invoice":{"id":"1","amount":"12,50","currency":"EUR","colour":"red"},"errors":[]}`),
		"validation_wait":            callTool("agent", "get_case", `{"case_id":"case_1","wait_seconds":51}`),
		"validation_missing":         callTool("agent", "get_case", `{}`),
		"validation_workspace":       callTool("agent", "list_workspaces", `{"workspace_id":7}`),
		"validation_long_key":        callTool("agent", "report_recheck", `{"hold_id":"hold_1","result":"available","idempotency_key":"`+strings.Repeat("k", 256)+`"}`),
		"validation_duplicate":       callTool("agent", "request_approval", request(action)),
		"validation_inexact_number":  callTool("agent", "request_approval", request(`{"tool":"t","arguments":{"n":12345678901234567890}}`)),
		"validation_lone_surrogate":  callTool("agent", "request_approval", request(`{"tool":"t","arguments":{"s":"\ud800"}}`)),
		"validation_redeem":          callTool("erp", "redeem_approval", `{"approval_id":"apr_1","tool":"t","arguments":{"a":1,"a":2},"idempotency_key":"k"}`),
		"parse_duplicate_in_action":  callTool("agent", "request_approval", request(`{"tool":"t","tool":"u","arguments":{}}`)),
		"parse_duplicate_elsewhere":  callTool("agent", "route_to_person", strings.Replace(string(handover), `"status":"closed"`, `"status":"closed","status":"open"`, 1)),
		"not_found":                  callTool("agent", "get_case", `{"case_id":"case_nowhere"}`),
		"not_found_request":          callTool("agent", "get_approval", `{"request_id":"areq_nowhere"}`),
		"approver_not_found":         callTool("agent", "request_approval", request(`{"tool":"post_invoice_adjustment","arguments":{"invoice_id":"1","amount":"250.00","currency":"EUR"}}`)),
		"approval_missing":           callTool("erp", "redeem_approval", `{"approval_id":"apr_unknown","tool":"t","arguments":{},"idempotency_key":"k"}`),
		"unprocessable_misrouted":    callTool("agent", "route_to_person", strings.Replace(string(handover), "PO_CLOSED", "GR_MISSING", 1)),
		"insufficient_scope":         callTool("reader", "route_to_person", `{}`),
		"insufficient_permission":    callTool("everything", "redeem_approval", `{}`),
		"workspace_required":         callTool("both", "get_case", `{"case_id":"case_1"}`),
		"workspace_access_denied":    callTool("agent", "get_case", `{"case_id":"case_1","workspace_id":"2000"}`),
		"conflict_key_reused_first":  callTool("agent", "route_to_person", `{"idempotency_key":"one",`+string(handover)[1:]),
		"conflict_key_reused_second": callTool("agent", "route_to_person", `{"idempotency_key":"one",`+strings.Replace(string(handover), "run-1", "run-2", 1)[1:]),
	} {
		if name == "conflict_key_reused_first" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name == "conflict_key_reused_second" {
				w.send(callTool("agent", "route_to_person", `{"idempotency_key":"one",`+string(handover)[1:]))
			}
			res, body := w.send(a)
			golden(t, "errors/"+name, transcript(res, body))
		})
	}
}

func TestTheDefaultWorkspaceOfACallComesFromHeaderOrQuery(t *testing.T) {
	w := newWorld(t)
	for name, a := range map[string]ask{
		"header":   {headers: []string{"X-Workspace-Id: 2000"}},
		"query":    {path: Path + "?workspace_id=2000"},
		"argument": {},
	} {
		args := `{"case_id":"case_1"}`
		if name == "argument" {
			args = `{"case_id":"case_1","workspace_id":"2000"}`
		}
		call := callTool("both", "get_case", args)
		call.path, call.headers = a.path, append(call.headers, a.headers...)
		if _, body := w.send(call); !strings.Contains(body, "NOT_FOUND") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// next is the next long poll to begin (+1) or to end (-1).
func (w *world) next(want int) {
	w.t.Helper()
	select {
	case got := <-w.waits:
		if got != want {
			w.t.Fatalf("%+d waits, want %+d", got, want)
		}
	case <-w.t.Context().Done():
		w.t.Fatal("no wait began or ended")
	}
}

func TestAWaitEndsWhenTheClientLeaves(t *testing.T) {
	for _, version := range []string{"", version202511} {
		w := newWorld(t)
		agent := w.dial("agent", version)
		filed := must[object](t, agent, "route_to_person", poClosed("1"))
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: "get_case", Arguments: object{"case_id": filed["case_id"], "wait_seconds": 50}})
			ended <- err
		}()
		w.next(+1)
		leave()
		if err := <-ended; err == nil {
			t.Error("a call that was left succeeded")
		}
		w.next(-1)
	}
}

func TestAWaitEndsWithTheStateAsItIsOnShutdown(t *testing.T) {
	w := newWorld(t)
	agent := w.dial("agent", "")
	filed := must[object](t, agent, "route_to_person", poClosed("1"))
	told := make(chan object, 1)
	go func() {
		told <- must[object](t, agent, "get_case", object{"case_id": filed["case_id"], "wait_seconds": 50})
	}()
	w.next(+1)
	w.stop()
	if got := <-told; got["status"] != "open" || got["instruction"] != nil {
		t.Errorf("the agent reads %v", got)
	}
}

func TestEveryCallIsLoggedOnceWithoutSecrets(t *testing.T) {
	w := newWorld(t)
	agent := w.dial("agent", "")
	must[object](t, agent, "route_to_person", poClosed("1"))
	// A model may mix up its ids: what it sends in place of one must not end in the log.
	approval := models.NewIDs(time.Now, nil).New(models.PrefixApproval)
	refusedWith(t, agent, "get_case", object{"case_id": approval})
	w.send(callTool("agent", "drop_tables", "{}"))
	var got []string
	for line := range strings.Lines(w.log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry["msg"] != "tools/call" {
			continue
		}
		for _, field := range []string{"person", "token_type", "duration", "request_id"} {
			if entry[field] == nil || entry[field] == "" {
				t.Errorf("the line lacks %s: %s", field, line)
			}
		}
		got = append(got, entry["tool"].(string)+" "+entry["workspace"].(string)+" "+entry["status"].(string))
	}
	if want := []string{"route_to_person 1000 ok", "get_case 1000 NOT_FOUND", "drop_tables  -32602"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
	if strings.Contains(w.log.String(), approval) {
		t.Error("the log shows an approval id")
	}
	for name, secret := range w.tokens {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log shows the token %s", name)
		}
	}
}

// A misspelt argument is told at once, and the connection goes on.
func TestAnUnknownArgumentIsNamedToEveryClient(t *testing.T) {
	w := newWorld(t)
	for _, version := range []string{"", version202511, version202506} {
		s := w.dial("agent", version)
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_case", Arguments: object{"case_id": "case_1", "wait": 5}})
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Code != codeInvalidParams || !strings.Contains(refused.Message, `"wait"`) {
			t.Errorf("client %q: %v", version, err)
		}
		must[object](t, s, "list_workspaces", object{})
	}
}

func TestWhatACallDidIsOnTheTrailWithItsRequest(t *testing.T) {
	w := newWorld(t)
	handover, err := json.Marshal(poClosed("1"))
	if err != nil {
		t.Fatal(err)
	}
	res, _ := w.send(callTool("agent", "route_to_person", string(handover)))
	var events []models.AuditEvent
	w.in("1000", func(tx *models.Tx) error {
		return tx.DB.Where("request_id = ?", res.Header.Get("X-Request-Id")).Find(&events).Error
	})
	if len(events) == 0 {
		t.Fatal("nothing on the trail")
	}
	for _, e := range events {
		if e.Channel != models.ChannelMCP || e.ActorName != "Invoice agent" || e.WorkspaceID != "1000" {
			t.Errorf("on the trail: %+v", e)
		}
	}
}

func BenchmarkGetCase(b *testing.B) {
	w := newWorld(b)
	filed := w.dial("agent", "")
	res, err := filed.CallTool(b.Context(), &mcp.CallToolParams{Name: "route_to_person", Arguments: poClosed("1")})
	if err != nil {
		b.Fatal(err)
	}
	id := res.StructuredContent.(map[string]any)["case_id"].(string)
	a := callTool("agent", "get_case", `{"case_id":"`+id+`"}`)
	b.RunParallel(func(pb *testing.PB) {
		client := &http.Client{Transport: withToken(w.tokens["agent"])}
		for pb.Next() {
			post(b, client, w.url, a)
		}
	})
}

func BenchmarkBareEcho(b *testing.B) {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}, StructuredContent: req.Params.Arguments}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true}))
	b.Cleanup(s.Close)
	a := callTool("agent", "echo", `{"case_id":"case_01m45mn5m0dbk7gftfts0zbdcg"}`)
	b.RunParallel(func(pb *testing.PB) {
		client := &http.Client{Transport: withToken("none")}
		for pb.Next() {
			post(b, client, s.URL, a)
		}
	})
}

func post(b *testing.B, client *http.Client, url string, a ask) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(a.body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(versionHeader, a.version)
	for _, line := range a.headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || strings.Contains(string(body), "isError") {
		b.Fatalf("HTTP %d %s %v", res.StatusCode, body, err)
	}
}

// Every tool takes workspace_id; one that cannot be reached is refused, also where it would not matter.
func TestAWorkspaceOutOfReachIsRefusedByEveryTool(t *testing.T) {
	w := newWorld(t)
	agent := w.dial("agent", "")
	for _, workspace := range []any{"nowhere", 1000} {
		want := "workspace_access_denied"
		if _, isText := workspace.(string); !isText {
			want = "VALIDATION_ERROR"
		}
		for _, tool := range []string{"list_workspaces", "get_case"} {
			arguments := object{"workspace_id": workspace}
			if tool == "get_case" {
				arguments["case_id"] = "case_1"
			}
			if ne := refusedWith(t, agent, tool, arguments); string(ne.Code) != want {
				t.Errorf("%s in %v: %s, want %s", tool, workspace, ne.Code, want)
			}
		}
	}
}
