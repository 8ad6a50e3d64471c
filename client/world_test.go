package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/client"
)

// fakeDesk is a desk of the published REST contract whose person answers by a function.
type fakeDesk struct {
	mu        sync.Mutex
	asked     []map[string]any // bodies of POST /confirmations, one for each new one
	keys      map[string]string
	status    map[string]client.Status
	takenBy   map[string]string
	withdrawn []string
	calls     []string // method, path without the id
	headers   []http.Header

	answer  func(n int, body map[string]any) string       // JSON of input_responses; "" keeps people waiting
	trouble func(call string, w http.ResponseWriter) bool // true when it answered in the desk's place
	lose    func(call string) bool                        // true: the desk acts but its answer is lost
	waiting chan string                                   // told of waits, when not nil
	answers map[string]string
	url     string
}

const token = "apd_test"

func newDesk(t testing.TB, answer func(n int, body map[string]any) string) *fakeDesk {
	t.Helper()
	d := &fakeDesk{answer: answer, keys: map[string]string{}, status: map[string]client.Status{}, takenBy: map[string]string{}, answers: map[string]string{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func (d *fakeDesk) rest() *client.REST { return &client.REST{URL: d.url, Token: token} }

func refuse(w http.ResponseWriter, status int, code, nextAction string, retryable bool, details string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%q,"message":"No.","retryable":%t,"next_action":%q,"details":%s}}`, code, retryable, nextAction, details)
}

func (d *fakeDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ours := strings.CutPrefix(r.URL.Path, "/api/v1/confirmations")
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	id := parts[0]
	call := r.Method + " " + strings.Replace(rest, "/"+id, "/{id}", 1)
	if id == "" {
		call = r.Method + " " + rest
	}
	call = strings.TrimSpace(call)
	var body map[string]any
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.headers = append(d.calls, call), append(d.headers, r.Header)
	switch {
	case !ours || r.Header.Get("Authorization") != "Bearer "+token:
		refuse(w, http.StatusUnauthorized, "unauthenticated", "stop_and_escalate", false, "{}")
		return
	case d.trouble != nil && d.trouble(call, w):
		return
	}
	if d.lose != nil && d.lose(call) {
		rec := httptest.NewRecorder()
		d.act(rec, r, call, id, body)
		panic(http.ErrAbortHandler)
	}
	d.act(w, r, call, id, body)
}

func (d *fakeDesk) act(w http.ResponseWriter, r *http.Request, call, id string, body map[string]any) {
	show := func(status int) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"confirmation_id":%q,"status":%q,"url":"%s/confirmations/%s","expires_at":"2026-10-05T10:00:00Z"}`, id, d.status[id], d.url, id)
	}
	switch call {
	case "POST":
		key := r.Header.Get("Idempotency-Key")
		if id = d.keys[key]; id == "" {
			d.asked = append(d.asked, body)
			id = fmt.Sprintf("conf_%d", len(d.asked))
			d.keys[key], d.status[id] = id, client.Pending
		}
		show(http.StatusCreated)
	case "GET /{id}":
		if d.status[id] == client.Pending {
			n := 0
			_, _ = fmt.Sscanf(id, "conf_%d", &n)
			if answer := d.answer(n, d.asked[n-1]); answer != "" {
				d.status[id], d.answers[id] = client.Answered, answer
			} else if d.waiting != nil {
				d.mu.Unlock()
				d.waiting <- id
				<-r.Context().Done()
				d.mu.Lock()
			}
		}
		show(http.StatusOK)
	case "POST /{id}/take":
		key, _ := body["idempotency_key"].(string)
		if d.status[id] == client.Taken && d.takenBy[id] != key {
			refuse(w, http.StatusConflict, "confirmation_replayed", "fix_input_and_retry", true, "{}")
			return
		}
		answers := d.answers[id]
		if d.status[id] == client.Answered || d.status[id] == client.Taken {
			d.status[id], d.takenBy[id] = client.Taken, key
		}
		_, _ = fmt.Fprintf(w, `{"confirmation_id":%q,"input_responses":%s}`, id, answers)
	case "POST /{id}/withdraw":
		d.status[id] = client.Withdrawn
		d.withdrawn = append(d.withdrawn, id)
		show(http.StatusOK)
	default:
		refuse(w, http.StatusNotFound, "NOT_FOUND", "fix_input_and_retry", true, "{}")
	}
}

// did lists what was called, in order, once per run of the same call.
func (d *fakeDesk) did() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Compact(slices.Clone(d.calls))
}

// vendors is another server, with a tool that destroys.
type vendors struct {
	mu      sync.Mutex
	ran     []string                            // arguments of each run
	states  []string                            // requestState of each call
	answers []map[string]any                    // inputResponses of each call, as sent
	bodies  []string                            // of each request
	ask     func(round int) *mcp.CallToolResult // nil: run
	url     string
}

func (v *vendors) server() client.Server { return client.Server{Name: "Vendor register", URL: v.url} }

const sure = `{"type":"object","properties":{"sure":{"type":"boolean"},"why":{"type":"string"},"count":{"type":"integer"}},"required":["sure"]}`

// asksOnce asks one question in the first round and then runs.
func asksOnce(round int) *mcp.CallToolResult {
	if round > 0 {
		return nil
	}
	return &mcp.CallToolResult{
		RequestState: "state-1",
		InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{
			Mode: "form", Message: "Delete vendor V-2001 <for good>?", RequestedSchema: json.RawMessage(sure),
		}},
	}
}

func newVendors(t testing.TB, ask func(round int) *mcp.CallToolResult) *vendors {
	t.Helper()
	v := &vendors{ask: ask}
	s := mcp.NewServer(&mcp.Implementation{Name: "vendors", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "delete_vendor", InputSchema: json.RawMessage(`{"type":"object"}`)}, v.deleteVendor)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.bodies = append(v.bodies, string(body))
		v.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func (v *vendors) deleteVendor(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	round := len(v.states)
	v.states = append(v.states, req.Params.RequestState)
	given := map[string]any{}
	for key, answer := range req.Params.InputResponses {
		given[key] = answer
	}
	v.answers = append(v.answers, given)
	if res := v.ask(round); res != nil {
		return res, nil
	}
	for _, answer := range given {
		if res, ok := answer.(*mcp.ElicitResult); !ok || res.Action != "accept" {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "not deleted: " + res.Action}}}, nil
		}
	}
	v.ran = append(v.ran, string(req.Params.Arguments))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil
}

// connect is a session of an SDK client with the server.
func (v *vendors) connect(t testing.TB, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: v.url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != "2026-07-28" {
		t.Fatalf("the session speaks %s", got)
	}
	return session
}

var agent = &mcp.Implementation{Name: "invoice-agent", Version: "1"}

var deletion = &mcp.CallToolParams{Name: "delete_vendor", Arguments: map[string]any{"vendor_id": "V-2001", "note": "a < b & c"}}

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("answered %d blocks", len(res.Content))
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func fast(desk client.Desk, opts *client.Options) *client.Confirmer {
	return client.WithoutPauses(client.New(desk, opts), nil)
}

func always(answers string) func(int, map[string]any) string {
	return func(int, map[string]any) string { return answers }
}

const yes = `{"confirm":{"action":"accept","content":{"sure":true,"why":"closed down","count":12345678901234567}}}`
