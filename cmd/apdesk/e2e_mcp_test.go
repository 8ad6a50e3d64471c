package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// requireNode turns "skipped, npm's client is not installed" into a failure.
const requireNode = "APDESK_TEST_REQUIRE_NODE"

const protocol2026 = "2026-07-28"

// toolCaller is an MCP client: one library's, with one token.
type toolCaller interface {
	// call runs a tool. Exactly one of result and refused is set.
	call(t testing.TB, tool string, arguments object) (result, refused object)
	protocol() string
	tools() []string
}

// goClient is the client of the Go SDK.
type goClient struct {
	session *mcp.ClientSession
	listed  []string
}

type bearer struct{ token token }

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b.token))
	return http.DefaultTransport.RoundTrip(req)
}

func newGoClient(t testing.TB, d *desk, tok token) toolCaller {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "apdesk-test-go", Version: "1.0.0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: d.mcpURL, HTTPClient: &http.Client{Transport: bearer{tok}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: protocol2026})
	if err != nil {
		t.Fatalf("the Go client cannot connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	g := &goClient{session: session}
	for _, tool := range list.Tools {
		g.listed = append(g.listed, tool.Name)
	}
	return g
}

func (g *goClient) protocol() string { return g.session.InitializeResult().ProtocolVersion }

func (g *goClient) tools() []string { return g.listed }

func (g *goClient) call(t testing.TB, tool string, arguments object) (result, refused object) {
	t.Helper()
	res, err := g.session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s answered %d blocks, want 1", tool, len(res.Content))
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s answered a %T", tool, res.Content[0])
	}
	var text object
	if err := json.Unmarshal([]byte(block.Text), &text); err != nil {
		t.Fatalf("%s answered %q: %v", tool, block.Text, err)
	}
	if res.IsError {
		if res.StructuredContent != nil {
			t.Errorf("%s: an error carries structured content, which clients check against the output schema", tool)
		}
		return nil, text
	}
	if !reflect.DeepEqual(res.StructuredContent, any(text)) {
		t.Errorf("%s: the text %v is not the structured content %v", tool, text, res.StructuredContent)
	}
	return text, nil
}

// nodeClient is npm's client in a process of its own.
type nodeClient struct {
	mu      sync.Mutex
	agreed  string
	listed  []string
	in      *json.Encoder
	answers *bufio.Scanner
}

// nodeProgram is Node, where npm's MCP client is installed too; else the test is
// skipped.
func nodeProgram(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join("testdata", "node", "node_modules", "@modelcontextprotocol", "client")); err != nil {
		needs(t, requireNode, "npm's MCP client is not installed: run npm ci in cmd/apdesk/testdata/node")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		needs(t, requireNode, "no node on PATH")
	}
	return node
}

func newNodeClient(t testing.TB, d *desk, tok token) toolCaller {
	t.Helper()
	node := nodeProgram(t)
	cmd := exec.Command(node, "client.mjs")
	cmd.Dir = filepath.Join("testdata", "node")
	cmd.Env = append(os.Environ(), "MCP_URL="+d.mcpURL, "MCP_TOKEN="+string(tok))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the Node client: %v\n%s", err, said.String())
		}
	})
	n := &nodeClient{in: json.NewEncoder(stdin), answers: bufio.NewScanner(stdout)}
	n.answers.Buffer(nil, 1<<24)
	var hello struct {
		Protocol string
		Tools    []string
	}
	n.read(t, &hello)
	n.agreed, n.listed = hello.Protocol, hello.Tools
	return n
}

func (n *nodeClient) read(t testing.TB, into any) {
	t.Helper()
	if !n.answers.Scan() {
		t.Fatalf("the Node client ended: %v", n.answers.Err())
	}
	if err := json.Unmarshal(n.answers.Bytes(), into); err != nil {
		t.Fatalf("the Node client said %q: %v", n.answers.Text(), err)
	}
}

func (n *nodeClient) protocol() string { return n.agreed }

func (n *nodeClient) tools() []string { return n.listed }

func (n *nodeClient) call(t testing.TB, tool string, arguments object) (result, refused object) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.in.Encode(object{"tool": tool, "arguments": arguments}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Result, Refused, Text object
		Structured            bool
		Failed                string
	}
	n.read(t, &got)
	switch {
	case got.Failed != "":
		t.Fatalf("%s: %s", tool, got.Failed)
	case got.Structured:
		t.Errorf("%s: an error carries structured content, which clients check against the output schema", tool)
	case got.Refused == nil && !reflect.DeepEqual(got.Text, got.Result):
		t.Errorf("%s: the text %v is not the structured content %v", tool, got.Text, got.Result)
	}
	return got.Result, got.Refused
}

// TestAnAgentAndAnERPWorkOverMCP is the whole spine through each library's
// client: hand over, wait, be told; ask, wait, be granted; redeem, report.
func TestAnAgentAndAnERPWorkOverMCP(t *testing.T) {
	t.Parallel()
	clients := map[string]func(testing.TB, *desk, token) toolCaller{"go": newGoClient, "npm": newNodeClient}
	for name, connect := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, sqliteFile(t))
			agent, erp := connect(t, c.desk, c.agent), connect(t, c.desk, c.erp)
			if got := agent.protocol(); got != protocol2026 {
				t.Errorf("the two sides agreed on %s, want %s", got, protocol2026)
			}
			for _, tool := range []string{"list_workspaces", "route_to_person", "stop_and_escalate", "hold_and_recheck", "get_case", "request_approval", "get_approval"} {
				if !slices.Contains(agent.tools(), tool) {
					t.Errorf("the agent is not offered %s, only %v", tool, agent.tools())
				}
			}
			if slices.Contains(agent.tools(), "redeem_approval") {
				t.Error("an agent without the scope money is offered redeem_approval")
			}
			if !slices.Contains(erp.tools(), "redeem_approval") {
				t.Errorf("the ERP is not offered redeem_approval, only %v", erp.tools())
			}

			// A stop, and the person it needs.
			case1, refused := agent.call(t, "route_to_person", poClosed(1))
			if refused != nil || case1["status"] != "open" || case1["queue"] != "procurement" || case1["created"] != true {
				t.Fatalf("the handover is answered with %v %v", case1, refused)
			}
			id, _ := case1["case_id"].(string)
			waiting := connect(t, c.desk, c.agent)
			told := inBackground(func() object {
				got, _ := waiting.call(t, "get_case", object{"case_id": id, "wait_seconds": 50})
				return got
			})
			c.signIn(t, petra).decideCase(t, id, "reopen_po")
			if got := <-told; dig(got, "instruction", "kind") != "resume" {
				t.Errorf("the agent reads %v, want to resume", got)
			}

			// A write, and the leave it needs.
			inv := invoice(2, "4200.00")
			asked, refused := agent.call(t, "request_approval", approvalOf(inv))
			if refused != nil || asked["status"] != "pending" {
				t.Fatalf("the request is answered with %v %v", asked, refused)
			}
			request, _ := asked["request_id"].(string)
			granted := inBackground(func() object {
				got, _ := waiting.call(t, "get_approval", object{"request_id": request, "wait_seconds": 50})
				return got
			})
			c.signIn(t, felix).vote(t, request, "approve")
			got := <-granted
			approval, _ := got["approval_id"].(string)
			if got["status"] != "approved" || approval == "" {
				t.Fatalf("the agent reads %v, want an approval", got)
			}

			// Another call than the one approved is refused and spends nothing.
			other := posting(invoice(2, "4200.01"))
			other["approval_id"], other["idempotency_key"] = approval, "other"
			_, refused = erp.call(t, "redeem_approval", other)
			if refused["code"] != "APPROVAL_MISSING" || dig(refused, "details", "reason") != "different_call" {
				t.Errorf("another call is answered with %v, want APPROVAL_MISSING, different_call", refused)
			}
			for _, field := range []string{"code", "message", "retryable", "next_action", "details"} {
				if _, ok := refused[field]; !ok {
					t.Errorf("the error lacks %s: %v", field, refused)
				}
			}
			exact := posting(inv)
			exact["approval_id"], exact["idempotency_key"] = approval, "exact"
			spent, refused := erp.call(t, "redeem_approval", exact)
			if refused != nil || spent["request_id"] != request || spent["invoice_id"] != inv["id"] {
				t.Fatalf("the redeem is answered with %v %v", spent, refused)
			}
			if by := dig(first(spent["approvers"]), "name"); by != felix.name {
				t.Errorf("approved by %v, want %s", by, felix.name)
			}
			again, _ := erp.call(t, "redeem_approval", exact)
			if !reflect.DeepEqual(again, spent) {
				t.Errorf("the same redeem again is answered with %v, want the first answer %v", again, spent)
			}
			if _, refused := erp.call(t, "report_write", object{"approval_id": approval, "status": "posted", "document_number": "1900004712"}); refused != nil {
				t.Errorf("the report is answered with %v", refused)
			}
			if shown := c.signIn(t, fiona).get(t, "/approvals/"+request).text("document-number"); shown != "1900004712" {
				t.Errorf("the page shows document %q", shown)
			}
		})
	}
}

// inBackground runs do and gives a channel with what it returned. The channel
// closes even when do ended the test.
func inBackground[T any](do func() T) <-chan T {
	result := make(chan T, 1)
	go func() {
		defer close(result)
		result <- do()
	}()
	return result
}

// TestNoTokenDecides tells the attack first: an agent that holds a token with
// every scope, of a person who may decide, tries to decide for itself.
func TestNoTokenDecides(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	all := token(c.run("token", "create", "--user", fiona.email, "--name", "all", "--scope", "all"))
	id := c.as(c.agent).handOver(t, poClosed(1))
	request := c.as(c.agent).ask(t, approvalOf(invoice(2, "10.00")))

	for _, path := range []string{"/approvals/" + request, "/cases/" + id, "/cases/" + id + "/decide", "/cases/" + id + "/claim", "/approvals/" + request + "/vote"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+path, strings.NewReader("decision=approve&exit=reopen_po&reason=me"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+string(all))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Errorf("POST %s with a token is answered with 200", path)
		}
	}
	if got := c.as(c.agent).get(t, "/approval-requests/"+request); got.text("status") != "pending" {
		t.Errorf("the request is %s, want it untouched", got)
	}
	if got := c.as(c.agent).get(t, "/cases/"+id); got.text("status") != "open" || got.body["claimed_by"] != nil {
		t.Errorf("the case is %s, want it untouched", got)
	}
	for _, tool := range newGoClient(t, c.desk, all).tools() {
		for _, verb := range []string{"vote", "resolve", "claim", "decide", "approve"} {
			if strings.HasPrefix(tool, verb) {
				t.Errorf("a token is offered the tool %s", tool)
			}
		}
	}
}

// TestAPersonCannotApproveWhatTheirOwnTokenAsked: the asker is whoever answers
// for the account or made the token, not the account alone.
func TestAPersonCannotApproveWhatTheirOwnTokenAsked(t *testing.T) {
	t.Parallel()
	c := founded(t, sqliteFile(t))
	gina := cast{"Gina Gross", "gina@example.com", "finance_lead,agent"}
	c.runWith(password+"\n", "user", "create", "--email", gina.email, "--name", gina.name, "--workspace", workspace, "--role", gina.role, "--password-stdin")
	own := token(c.run("token", "create", "--user", gina.email, "--name", "own", "--scope", "approvals:write"))
	c.start()
	request := c.as(own).ask(t, approvalOf(invoice(3, "10.00")))
	seen := c.signIn(t, gina).get(t, "/approvals/"+request)
	if seen.doc.Find("[data-testid=vote-form]").Length() != 0 {
		t.Error("the page offers the asker to vote")
	}
	if why := seen.text("why-not"); why == "" {
		t.Error("the page does not say why")
	}
	if got := fmt.Sprint(c.as(own).get(t, "/approval-requests/"+request)); !strings.Contains(got, "pending") {
		t.Errorf("the agent reads %s", got)
	}
}
