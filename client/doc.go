// Package client brings a person into the calls of an agent that has nobody beside it.
//
// When an MCP server of revision 2026-07-28 wants to be sure of a call, it answers input_required with a
// question (elicitation). An agent on a server has no one to show it to. A [Confirmer] forwards the
// question to an apdesk: a person of the role the desk chooses sees the server, the tool, the exact
// arguments and the question, and answers on a page. The Confirmer waits, takes the answer, which is
// handed out once, and makes the call again with it.
//
//	desk := &client.REST{URL: "https://desk.example.com", Token: token}
//	confirmer := client.New(desk, &client.Options{RunID: "run-7f3"})
//	agent := confirmer.NewClient(
//		&mcp.Implementation{Name: "invoice-agent", Version: "1.0.0"},
//		client.Server{Name: "vendors", URL: "https://vendors.example.com/mcp"}, nil)
//	session, err := agent.Connect(ctx, transport, nil)
//	// From here on session.CallTool asks a person whenever the server asks.
//
// [Confirmer.NewClient] is the short way. [Confirmer.Middleware] does the same for a client made
// elsewhere, [Confirmer.CallTool] for one call, and [Confirmer.Confirm] for one round of a loop of your
// own. [Confirmer.ElicitationHandler] is for clients that keep the SDK's own loop.
//
// Nothing here ever answers for a person: when nobody answers in time the answer is cancel, and when the
// desk cannot be reached the call fails. A waiting call ends with its context; what was asked is then
// withdrawn, so that nobody answers for nothing.
package client
