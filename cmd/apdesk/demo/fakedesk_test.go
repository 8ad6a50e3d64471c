package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// fakeDesk is just enough of a desk for the ERP and the agent to meet: it
// decides at once, as the script of the people says.
type fakeDesk struct {
	set data.Set

	mu        sync.Mutex
	next      int
	cases     map[string]*fakeCase
	requests  map[string]*fakeRequest
	holds     map[string]*fakeHold
	replies   map[string]*mcp.CallToolResult
	redeemed  map[string]string
	reports   map[string]string
	misuses   []string
	handovers int
}

type fakeCase struct {
	ID, Workspace, Code, Status string
	Invoice                     map[string]any
	Errors                      []any
	Exit, By                    string
	Input                       map[string]any
	Instruction                 map[string]any
	asked                       bool
}

type fakeRequest struct {
	ID, Tool, Status, ApprovalID, Digest string
	By                                   []string
	Correction                           map[string]string
}

type fakeHold struct {
	ID, Status string
	Left       int
}

func newFakeDesk(set data.Set) *fakeDesk {
	return &fakeDesk{set: set, cases: map[string]*fakeCase{}, requests: map[string]*fakeRequest{}, holds: map[string]*fakeHold{},
		replies: map[string]*mcp.CallToolResult{}, redeemed: map[string]string{}, reports: map[string]string{}}
}

func (f *fakeDesk) id(prefix string) string { f.next++; return fmt.Sprintf("%s_%04d", prefix, f.next) }

func (f *fakeDesk) key(invoice map[string]any) string {
	for _, d := range f.set.Inbox {
		if d.Number == invoice["number"] {
			return d.Key
		}
	}
	return ""
}

func ok(v any) *mcp.CallToolResult {
	raw, _ := json.Marshal(v)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
}

func refuse(code, next string, details map[string]any) *mcp.CallToolResult {
	r := ok(map[string]any{"code": code, "message": code, "retryable": false, "next_action": next, "details": details})
	r.IsError = true
	return r
}

// handler serves /mcp and the REST routes the ERP uses.
func (f *fakeDesk) handler() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "fake-desk"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	for name, run := range map[string]func(map[string]any) *mcp.CallToolResult{
		"route_to_person": f.route, "stop_and_escalate": f.route, "get_case": f.getCase, "request_approval": f.request, "get_approval": f.getApproval,
		"hold_and_recheck": f.hold, "list_due_rechecks": func(map[string]any) *mcp.CallToolResult { return ok(map[string]any{"items": []any{}}) }, "report_recheck": f.recheck,
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if key, _ := args["idempotency_key"].(string); key != "" {
				if again := f.replies[key]; again != nil {
					return again, nil
				}
				f.replies[key] = run(args)
				return f.replies[key], nil
			}
			return run(args), nil
		})
	}
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools)
	mux.HandleFunc("POST /api/v1/approvals/{id}/redeem", f.redeem)
	mux.HandleFunc("POST /api/v1/approvals/{id}/report", f.report)
	mux.HandleFunc("GET /api/v1/cases", f.listCases)
	mux.HandleFunc("GET /api/v1/cases/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = json.NewEncoder(w).Encode(f.shown(f.cases[r.PathValue("id")]))
	})
	return mux
}

func (f *fakeDesk) route(args map[string]any) *mcp.CallToolResult {
	if id, _ := args["case_id"].(string); id != "" {
		c := f.cases[id]
		if args["answer"] == "" {
			f.misuses = append(f.misuses, "empty answer")
		}
		c.Instruction = nil
		f.decide(c)
		return ok(map[string]any{"case_id": id, "status": c.Status, "created": false})
	}
	f.handovers++
	errs, _ := args["errors"].([]any)
	code := ""
	if len(errs) > 0 {
		code = errs[len(errs)-1].(map[string]any)["error"].(map[string]any)["code"].(string)
	}
	c := &fakeCase{ID: f.id("case"), Workspace: args["workspace_id"].(string), Code: code, Status: "open", Invoice: args["invoice"].(map[string]any), Errors: errs}
	f.cases[c.ID] = c
	f.decide(c)
	return ok(map[string]any{"case_id": c.ID, "status": "open", "code": code, "queue": "ap", "created": true})
}

func (f *fakeDesk) decide(c *fakeCase) {
	for _, d := range f.set.Decisions {
		if d.Invoice != f.key(c.Invoice) || d.Code != c.Code || d.Exit == "" {
			continue
		}
		if d.Ask != "" && !c.asked {
			c.asked = true
			c.Instruction = map[string]any{"kind": "resume", "question": d.Ask}
			return
		}
		kinds := map[string]string{"use_other_po": "retry_with", "post_next_period": "retry_with", "correct_id": "retry_with", "link_supplier": "retry_with",
			"confirm_duplicate": "stop", "suspected_fraud": "stop"}
		kind := kinds[d.Exit]
		if kind == "" {
			kind = "resume"
		}
		c.Input = map[string]any{}
		for k, v := range d.Inputs {
			c.Input[k] = v
		}
		if d.Exit == "name_approver" {
			for _, e := range c.Errors {
				details := e.(map[string]any)["error"].(map[string]any)["details"].(map[string]any)
				if id, _ := details["request_id"].(string); id != "" {
					c.Input["request_id"] = id
					f.requests[id].Status = "pending"
				}
			}
		}
		c.Exit, c.By, c.Status = d.Exit, f.set.Person(d.Person).Name, "resolved"
		c.Instruction = map[string]any{"kind": kind, "input": c.Input}
		return
	}
}

func (f *fakeDesk) shown(c *fakeCase) map[string]any {
	out := map[string]any{"case_id": c.ID, "status": c.Status, "code": c.Code, "invoice": c.Invoice, "instruction": c.Instruction,
		"handovers": []any{map[string]any{"errors": c.Errors}}, "resolution": nil}
	if c.Exit != "" {
		out["resolution"] = map[string]any{"exit": c.Exit, "input": c.Input, "decided_by": c.By}
	}
	return out
}

func (f *fakeDesk) getCase(args map[string]any) *mcp.CallToolResult {
	return ok(f.shown(f.cases[args["case_id"].(string)]))
}

func (f *fakeDesk) request(args map[string]any) *mcp.CallToolResult {
	invoice := args["invoice"].(map[string]any)
	action := args["action"].(map[string]any)
	tool, call := action["tool"].(string), action["arguments"].(map[string]any)
	if d, _ := call["posting_date"].(string); d != "" && d <= f.set.Workspaces[0].ClosedThrough {
		return refuse("PERIOD_CLOSED", "stop_and_escalate", map[string]any{"posting_date": d})
	}
	r := &fakeRequest{ID: f.id("areq"), Tool: tool, Status: "pending", Digest: digest(call)}
	f.requests[r.ID] = r
	for _, d := range f.set.Decisions {
		if d.Invoice != f.key(invoice) || d.Tool != tool {
			continue
		}
		if d.Amount != "" && d.Amount != call["amount"] {
			continue
		}
		r.By = append(r.By, f.set.Person(d.Person).Name)
		if d.Vote == "reject" {
			r.Status, r.Correction = "rejected", d.Inputs
		}
	}
	if invoice["currency"] == "USD" && args["workspace_id"] == "1000" {
		r.Status = "unrouted"
		return refuse("APPROVER_NOT_FOUND", "route_to_person", map[string]any{"request_id": r.ID, "case_id": "case_0"})
	}
	return ok(map[string]any{"request_id": r.ID, "status": "pending", "created": true})
}

func (f *fakeDesk) getApproval(args map[string]any) *mcp.CallToolResult {
	r := f.requests[args["request_id"].(string)]
	if r.Status == "pending" {
		r.Status, r.ApprovalID = "approved", f.id("apr")
	}
	out := map[string]any{"request_id": r.ID, "status": r.Status, "decided_by": r.By}
	if r.Correction != nil {
		out["instruction"] = map[string]any{"kind": "retry_with", "input": r.Correction}
	}
	if r.ApprovalID != "" {
		out["approval_id"] = r.ApprovalID
	}
	return ok(out)
}

func (f *fakeDesk) hold(args map[string]any) *mcp.CallToolResult {
	left := 5
	if n, is := args["max_checks"].(float64); is {
		left = int(n)
	}
	h := &fakeHold{ID: f.id("hold"), Status: "waiting", Left: left}
	f.holds[h.ID] = h
	return ok(map[string]any{"hold_id": h.ID, "status": h.Status, "checks_left": left, "created": true})
}

func (f *fakeDesk) recheck(args map[string]any) *mcp.CallToolResult {
	h := f.holds[args["hold_id"].(string)]
	h.Left--
	switch {
	case args["result"] == "available":
		h.Status = "released"
	case h.Left == 0:
		h.Status = "escalated"
	}
	return ok(map[string]any{"hold_id": h.ID, "status": h.Status, "checks_left": h.Left})
}

func digest(args map[string]any) string {
	plain := maps.Clone(args)
	delete(plain, "approval_id")
	delete(plain, "idempotency_key")
	raw, _ := json.Marshal(plain)
	return string(raw)
}

func (f *fakeDesk) redeem(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Tool           string         `json:"tool"`
		Arguments      map[string]any `json:"arguments"`
		IdempotencyKey string         `json:"idempotency_key"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	id := r.PathValue("id")
	deny := func(reason string) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": "APPROVAL_MISSING", "message": reason, "retryable": false,
			"next_action": "request_approval", "details": map[string]any{"reason": reason}}})
	}
	for _, req := range f.requests {
		if req.ApprovalID != id {
			continue
		}
		key := in.IdempotencyKey + in.Tool + digest(in.Arguments)
		switch {
		case f.redeemed[id] == key:
		case f.redeemed[id] != "":
			deny("already_used")
			return
		case req.Tool != in.Tool || req.Digest != digest(in.Arguments):
			deny("different_call")
			return
		}
		f.redeemed[id] = key
		_ = json.NewEncoder(w).Encode(map[string]any{"approval_id": id, "request_id": req.ID})
		return
	}
	deny("unknown")
}

func (f *fakeDesk) report(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	document := fmt.Sprint(in["document_number"])
	if old := f.reports[r.PathValue("id")]; old != "" && old != document {
		f.misuses = append(f.misuses, "reported "+old+" and "+document)
	}
	f.reports[r.PathValue("id")] = document
	_ = json.NewEncoder(w).Encode(map[string]any{})
}

func (f *fakeDesk) listCases(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := []any{}
	for _, id := range slices.Sorted(maps.Keys(f.cases)) {
		c := f.cases[id]
		if c.Workspace == r.Header.Get("X-Workspace-Id") && c.Status == "resolved" && strings.Contains(r.URL.RawQuery, "status=resolved") {
			items = append(items, f.shown(c))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "next_cursor": nil})
}
