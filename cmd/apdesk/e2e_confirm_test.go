package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/client"
)

// register is a server of somebody else's, on 2026-07-28, with a tool that destroys and asks first.
type register struct {
	url string

	mu      sync.Mutex
	vendors map[string]bool
	asked   map[string]string // state to vendor, until it is answered
	said    []string          // what became of each answer
}

const vendorForm = `{"type":"object","required":["sure","why"],"properties":{
	"sure":{"type":"boolean","title":"I am sure"},
	"why":{"type":"string","title":"Why","minLength":3},
	"keep_days":{"type":"integer","title":"Keep the invoices for (days)","minimum":0,"default":30},
	"region":{"type":"string","oneOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"America"}]}}}`

func newRegister(t testing.TB) *register {
	t.Helper()
	r := &register{vendors: map[string]bool{"V-2001": true, "V-2002": true}, asked: map[string]string{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "vendors", Version: "1.0.0"}, &mcp.ServerOptions{SupportedProtocolVersions: []string{protocol2026}})
	destructive := true
	server.AddTool(&mcp.Tool{
		Name: "delete_vendor", Description: "Deletes a vendor for good", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"vendor_id":{"type":"string"}},"required":["vendor_id"]}`),
	}, r.deleteVendor)
	served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(served.Close)
	r.url = served.URL
	return r
}

// deleteVendor asks once for each call and never runs without an answer to that very question.
func (r *register) deleteVendor(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var args struct {
		VendorID string `json:"vendor_id"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	if req.Params.RequestState == "" {
		if caps := req.ClientCapabilities(); caps == nil || caps.Elicitation == nil {
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "needs elicitation", Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{"form":{}}}}`)}
		}
		state := fmt.Sprintf("state-%d", len(r.asked)+len(r.said)+1)
		r.asked[state] = args.VendorID
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{
			Mode: "form", Message: "Delete vendor " + args.VendorID + " and <b>everything</b> about it?", RequestedSchema: json.RawMessage(vendorForm),
		}}}, nil
	}
	if r.asked[req.Params.RequestState] != args.VendorID {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this was not asked"}
	}
	answer, ok := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "an answer is missing"}
	}
	delete(r.asked, req.Params.RequestState)
	if answer.Action != "accept" || answer.Content["sure"] != true {
		r.said = append(r.said, answer.Action)
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: args.VendorID + " stays: " + answer.Action}}}, nil
	}
	r.said = append(r.said, fmt.Sprintf("deleted %s: %v, %v days, %v", args.VendorID, answer.Content["why"], answer.Content["keep_days"], answer.Content["region"]))
	delete(r.vendors, args.VendorID)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: args.VendorID + " is deleted"}}}, nil
}

func (r *register) outcomes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said)
}

func (r *register) server() client.Server { return client.Server{Name: "Vendor register", URL: r.url} }

// asking gives the company's agent a token for confirmations.
func (c *company) asking() token {
	c.t.Helper()
	return token(c.run("token", "create", "--user", "agent@example.com", "--name", "asker", "--scope", "confirmations:write"))
}

// accepts, declines and cancels are what a person does on a confirmation's page.
var (
	accepts  = url.Values{"action": {"accept"}, "content.sure": {"true"}, "content.why": {"closed <down>"}, "content.keep_days": {"90"}, "content.region": {"eu"}, "reason": {"Asked the buyer."}}
	declines = url.Values{"action": {"decline"}, "reason": {"Still in use."}}
	cancels  = url.Values{"action": {"cancel"}}
)

// answers answers a confirmation on its page, taking the second step that accepting asks for.
func (v *visitor) answers(ctx context.Context, id string, values url.Values) error {
	asked, err := v.try(ctx, http.MethodGet, "/confirmations/"+id, nil)
	if err != nil {
		return err
	}
	after, err := v.submit(ctx, asked, "answer-form", values)
	if err != nil {
		return err
	}
	if values.Get("action") == "accept" {
		step := after.doc.Find("form[data-testid=second-step-form] input[type=checkbox]")
		again := url.Values{"action": {"accept"}, step.AttrOr("name", ""): {step.AttrOr("value", "")}}
		if after, err = v.submit(ctx, after, "second-step-form", again); err != nil {
			return err
		}
	}
	if after.status != http.StatusOK || after.text("answer") == "" {
		return fmt.Errorf("answering %s led to %s with status %d: %.800s", id, after.path, after.status, after.all())
	}
	return nil
}

// person answers the confirmation that a call files, once told of it; answered waits until they have.
func person(t *testing.T, v *visitor, values url.Values) (told func(client.Progress), answered func()) {
	var once sync.Once
	done := make(chan error, 1)
	told = func(p client.Progress) {
		once.Do(func() {
			if page := v.url + "/confirmations/" + p.Confirmation.ID; p.Confirmation.URL != page {
				t.Errorf("the page is said to be %s, not %s", p.Confirmation.URL, page)
			}
			go func() { done <- v.answers(t.Context(), p.Confirmation.ID, values) }()
		})
	}
	return told, func() {
		t.Helper()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("nobody was asked, or they never finished answering")
		}
	}
}

var invoiceAgent = &mcp.Implementation{Name: "invoice-agent", Version: "1.0.0"}

// calls makes the destructive call with the Go helper and returns what the agent reads.
func (r *register) calls(ctx context.Context, confirmer *client.Confirmer, vendor string) (string, error) {
	agent := confirmer.NewClient(invoiceAgent, r.server(), nil)
	session, err := agent.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: r.url}, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	if got := session.InitializeResult().ProtocolVersion; got != protocol2026 {
		return "", fmt.Errorf("the register speaks %s", got)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "delete_vendor", Arguments: map[string]any{"vendor_id": vendor}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func TestAHeadlessAgentsCallIsConfirmedByAPerson(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		c := open(t, database)
		asker, fiona := c.asking(), c.signIn(t, fiona)
		over := map[string]client.Desk{
			"REST": &client.REST{URL: c.url, Token: string(asker)},
			"MCP":  &client.Tools{Session: newGoClient(t, c.desk, asker).(*goClient).session},
		}
		for name, desk := range over {
			for _, test := range []struct {
				answer url.Values
				reads  string
				said   string
			}{
				{declines, "V-2001 stays: decline", "decline"},
				{cancels, "V-2001 stays: cancel", "cancel"},
				{accepts, "V-2001 is deleted", "deleted V-2001: closed <down>, 90 days, eu"},
			} {
				r := newRegister(t)
				told, answered := person(t, fiona, test.answer)
				got, err := r.calls(t.Context(), client.New(desk, &client.Options{RunID: "run-1", Invoice: invoice(1, "10.00"), Progress: told}), "V-2001")
				answered()
				if err != nil || got != test.reads {
					t.Errorf("over %s: %q, %v, want %q", name, got, err, test.reads)
				}
				if said := r.outcomes(); !slices.Equal(said, []string{test.said}) {
					t.Errorf("over %s: the register was told %q, want %q", name, said, test.said)
				}
			}
		}
	})
}

func TestACalledOffCallIsWithdrawnFromTheDesk(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	r, fiona, asker := newRegister(t), c.signIn(t, fiona), c.asking()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var id string
	confirmer := client.New(&client.REST{URL: c.url, Token: string(asker)}, &client.Options{Progress: func(p client.Progress) {
		id = p.Confirmation.ID
		cancel()
	}})
	agent := confirmer.NewClient(invoiceAgent, r.server(), nil)
	session, err := agent.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "delete_vendor", Arguments: map[string]any{"vendor_id": "V-2001"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if got := c.as(asker).get(t, "/confirmations/"+id); got.text("status") != "withdrawn" {
		t.Errorf("the desk says %s", got)
	}
	if err := fiona.answers(t.Context(), id, accepts); err == nil {
		t.Error("a withdrawn question can still be answered")
	}
	if said := r.outcomes(); len(said) != 0 {
		t.Errorf("the register was told %q", said)
	}
}

func TestAWaitingCallOutlivesADeskThatIsKilled(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	r, fiona, asker := newRegister(t), c.signIn(t, fiona), c.asking()
	asked, ended := make(chan string, 1), make(chan error, 1)
	confirmer := client.New(&client.REST{URL: c.url, Token: string(asker)}, &client.Options{Patience: patience, Progress: func(p client.Progress) {
		if p.Confirmation.Status == client.Pending {
			select {
			case asked <- p.Confirmation.ID:
			default:
			}
		}
	}})
	go func() {
		got, err := r.calls(t.Context(), confirmer, "V-2002")
		if err == nil && got != "V-2002 is deleted" {
			err = fmt.Errorf("the agent read %q", got)
		}
		ended <- err
	}()
	var id string
	select {
	case id = <-asked:
	case err := <-ended:
		t.Fatalf("the call ended unasked: %v", err)
	}
	c.kill()
	c.start()
	if err := fiona.answers(t.Context(), id, accepts); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := r.outcomes(); len(said) != 1 {
		t.Errorf("the register was told %q", said)
	}
}

// TestTheTypeScriptRecipe compiles the code of docs/typescript.md as a reader would and runs it.
func TestTheTypeScriptRecipe(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs(filepath.Join("testdata", "node", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		needs(t, requireNode, "npm's MCP client is not installed: run npm ci in cmd/apdesk/testdata/node")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		needs(t, requireNode, "no node on PATH")
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", `{"type": "module"}`)
	recipe, err := os.ReadFile(filepath.Join("..", "..", "docs", "typescript.md"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, block := range regexp.MustCompile("(?s)```ts\n// ([a-z-]+\\.ts)\n(.*?)```").FindAllStringSubmatch(string(recipe), -1) {
		files = append(files, block[1])
		write(block[1], block[2])
	}
	if want := []string{"agent.ts", "confirmations.ts", "rounds.ts"}; !slices.Equal(files, want) {
		t.Fatalf("docs/typescript.md holds %v, want %v", files, want)
	}
	compile := exec.Command(node, compiler, "--target", "es2023", "--module", "nodenext", "--strict", "--noUnusedLocals",
		"--rewriteRelativeImportExtensions", "--skipLibCheck", "--types", "node", "agent.ts", "rounds.ts")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}

	c := open(t, sqliteFile(t))
	asker, fiona := c.asking(), c.signIn(t, fiona)
	for _, script := range []string{"agent.js", "rounds.js"} {
		for _, test := range []struct {
			answer url.Values
			reads  string
			said   string
		}{
			{declines, "V-2001 stays: decline", "decline"},
			{accepts, "V-2001 is deleted", "deleted V-2001: closed <down>, 90 days, eu"},
		} {
			r := newRegister(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			agent := exec.CommandContext(ctx, node, script)
			agent.Dir = dir
			agent.Env = append(os.Environ(), "APDESK_URL="+c.url, "APDESK_TOKEN="+string(asker), "VENDORS_URL="+r.url)
			var told, troubles bytes.Buffer
			agent.Stdout, agent.Stderr = &told, &troubles
			if err := start(agent); err != nil {
				t.Fatal(err)
			}
			id := ""
			eventually(t, "a question on the list of confirmations", func() bool {
				id = fiona.waiting(t)
				return id != ""
			})
			if err := fiona.answers(ctx, id, test.answer); err != nil {
				t.Error(err)
			}
			if err := agent.Wait(); err != nil {
				t.Fatalf("%s: %v\n%s%s", script, err, &told, &troubles)
			}
			want := []string{"delete_vendor pending", "delete_vendor answered", test.reads}
			lines := slices.Compact(strings.Split(strings.TrimSpace(told.String()), "\n"))
			if !slices.Equal(lines, want) {
				t.Errorf("%s printed %q, want %q", script, lines, want)
			}
			if said := r.outcomes(); !slices.Equal(said, []string{test.said}) {
				t.Errorf("%s: the register was told %q, want %q", script, said, test.said)
			}
		}
	}
}

// waiting is the first confirmation on the list that waits for the visitor; "" when none does.
func (v *visitor) waiting(t testing.TB) string {
	t.Helper()
	list := v.get(t, "/confirmations")
	link := list.doc.Find(`a[href^="/confirmations/conf_"]`).First().AttrOr("href", "")
	return strings.TrimPrefix(link, "/confirmations/")
}
