package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/client"
)

// An agent without anybody beside it deletes a vendor. The vendor register wants to be sure; the person
// who is sure sits at the desk.
func Example() {
	ctx := context.Background()
	register, desk := exampleRegister(), exampleDesk()
	defer register.Close()
	defer desk.Close()

	confirmer := client.New(&client.REST{URL: desk.URL, Token: "apd_…"}, &client.Options{
		RunID: "run-7f3",
		Progress: func(p client.Progress) {
			fmt.Println(p.Call.Tool, p.Confirmation.Status)
		},
	})
	agent := confirmer.NewClient(
		&mcp.Implementation{Name: "invoice-agent", Version: "1.0.0"},
		client.Server{Name: "Vendor register", URL: register.URL}, nil)
	session, err := agent.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: register.URL}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()

	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "delete_vendor", Arguments: map[string]any{"vendor_id": "V-2001"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// delete_vendor pending
	// delete_vendor answered
	// delete_vendor taken
	// V-2001 is deleted
}

// exampleRegister is an MCP server that asks before it deletes.
func exampleRegister() *httptest.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "vendors", Version: "1.0.0"}, nil)
	server.AddTool(&mcp.Tool{Name: "delete_vendor", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, ok := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
			switch {
			case !ok:
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{
					Message:         "Delete V-2001 for good?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`),
				}}}, nil
			case answer.Action != "accept" || answer.Content["sure"] != true:
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "V-2001 stays"}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "V-2001 is deleted"}}}, nil
		})
	return httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
}

// exampleDesk is a desk at which somebody says yes as soon as they are asked.
func exampleDesk() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := "pending"
		switch {
		case strings.HasSuffix(r.URL.Path, "/take"):
			_, _ = io.WriteString(w, `{"confirmation_id": "conf_1", "input_responses": {"confirm": {"action": "accept", "content": {"sure": true}}}}`)
			return
		case r.Method == http.MethodGet:
			status = "answered"
		}
		_, _ = fmt.Fprintf(w, `{"confirmation_id": "conf_1", "status": %q, "url": "https://desk.example.com/confirmations/conf_1", "expires_at": "2026-10-05T10:00:00Z"}`, status)
	}))
}
