package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/problem"
	"github.com/apdesk/apdesk/web/wire"
)

// tool is one tool of the endpoint.
type tool struct {
	name        string
	title       string
	description string // for a model: when to use it, what comes back, what to do next

	scopes      []models.Scope // all are needed
	roles       []models.Role  // one is needed; none: any member may
	noWorkspace bool           // answers about the caller, not about a workspace

	readOnly    bool
	idempotent  bool // the same call again changes nothing more, even without a key
	destructive bool // undoes something for good
	asks        bool // may answer with a question, and reads the answer from the call that comes back

	spec   *wire.Spec
	shown  *mcp.Tool       // as tools/list shows it; nil: as the SDK knows it
	takes  map[string]bool // names of the arguments
	output reflect.Type
	opaque string // pointer of the arguments of another call among the own, "" when there are none

	run func(ctx context.Context, c *call) (any, error)
}

// call is one call of a tool by somebody who may make it.
type call struct {
	by       models.Principal
	identity models.Identity
	body     *wire.Body
	x        *exchange
	log      *record
}

// published is the tool as tools/list shows it.
func (t *tool) published() *mcp.Tool {
	in := t.spec.Schema()
	t.takes = make(map[string]bool, len(in.Properties))
	for name := range in.Properties {
		t.takes[name] = true
	}
	no := false // nothing reaches beyond the desk
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema: in, OutputSchema: outputSchema(t.output),
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.readOnly, IdempotentHint: t.readOnly || t.idempotent,
			DestructiveHint: &t.destructive, OpenWorldHint: &no,
		},
	}
}

// registered is the tool as the SDK needs to know it to call it. The desk checks arguments itself, and the SDK
// reads a tool's whole schema anew at every call, which took a tenth of the time of a short one.
func (t *tool) registered() *mcp.Tool {
	return &mcp.Tool{Name: t.name, InputSchema: &jsonschema.Schema{Type: "object"}}
}

var outputLeaves = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[models.Time]():               {Types: []string{"string", "null"}, Format: "date-time"},
	reflect.TypeFor[models.Date]():               {Types: []string{"string", "null"}, Format: "date"},
	reflect.TypeFor[json.RawMessage]():           {Type: "object"},
	reflect.TypeFor[models.CaseStatus]():         oneOf(models.CaseStatuses()),
	reflect.TypeFor[models.Queue]():              oneOf(models.Queues()),
	reflect.TypeFor[models.RequestStatus]():      oneOf(models.RequestStatuses()),
	reflect.TypeFor[models.ConfirmationStatus](): oneOf(models.ConfirmationStatuses()),
	reflect.TypeFor[models.HoldStatus]():         oneOf([]models.HoldStatus{models.HoldWaiting, models.HoldReleased, models.HoldEscalated, models.HoldCancelled}),
	reflect.TypeFor[models.InstructionKind]():    oneOf([]models.InstructionKind{models.InstructResume, models.InstructRetryWith, models.InstructWait, models.InstructStop}),
	reflect.TypeFor[approvals.ReportStatus]():    oneOf([]approvals.ReportStatus{approvals.ReportPosted, approvals.ReportFailed}),
}

func oneOf[T ~string](values []T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// outputSchema describes an answer. Unlike a request it may hold null, and may gain fields later.
func outputSchema(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: outputLeaves})
	if err != nil {
		panic("mcpserver: schema of " + t.String() + ": " + err.Error())
	}
	delete(s.Properties, "refused") // an error of its own
	loosen(s)
	return s
}

func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	switch {
	case s.Properties != nil:
		s.AdditionalProperties = nil
	case s.AdditionalProperties != nil && s.Type == "object":
		s.Type, s.Types = "", []string{"null", "object"} // an empty map
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
}

// mayCall answers the access code when the caller's token or role does not allow the tool. workspace is
// the argument naming one.
func (t *tool) mayCall(x *exchange, workspace string) (models.Principal, error) {
	probe := models.Principal{Scopes: x.identity.Scopes(), TokenName: x.identity.TokenName(), Channel: models.ChannelMCP}
	if err := probe.NeedScope(t.scopes...); err != nil {
		return probe, err
	}
	if t.noWorkspace {
		if workspace != "" { // named all the same, it must be one that can be reached
			_, err := x.identity.As(workspace, models.ChannelMCP, x.requestID)
			return probe, err
		}
		return probe, nil
	}
	by, err := auth.In(x.identity, workspace, x.header, x.query, models.ChannelMCP, x.requestID)
	if err != nil {
		return probe, err
	}
	x.log.in(by.WorkspaceID)
	if len(t.roles) > 0 {
		if err := by.NeedRole(t.roles...); err != nil {
			return by, err
		}
	}
	return by, nil
}

// listedFor says whether tools/list shows the tool: the token has its scopes, and in the workspace
// chosen by default, or else in any, the user has one of its roles.
func (t *tool) listedFor(x *exchange) bool {
	for _, scope := range t.scopes {
		if !models.Grants(x.identity.Scopes(), scope) {
			return false
		}
	}
	if len(t.roles) == 0 {
		return true
	}
	chosen, err := x.identity.ChooseWorkspace("", x.header, x.query)
	for _, m := range x.identity.Memberships {
		if !m.Active || (err == nil && m.WorkspaceID != chosen) {
			continue
		}
		if (models.Principal{Roles: m.Roles}).Has(t.roles...) {
			return true
		}
	}
	return false
}

// serve is the tool as the SDK calls it. Arguments come from the bytes of the request.
func (h *handler) serve(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		x := exchangeOf(ctx)
		if x == nil || x.msg.tool != t.name {
			return nil, errors.New("mcpserver: a call that did not pass the checks")
		}
		// The SDK ends a call whose client left only on 2026; here every client may leave.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(x.http, cancel)()
		out, err := h.run(ctx, t, x)
		if err != nil {
			return h.failed(ctx, x, err)
		}
		if q, ok := out.(formQuestion); ok {
			x.log.ended("input_required")
			return q.result(), nil
		}
		x.log.ended("ok")
		text := encode(out)
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: rawJSON(text),
		}, nil
	}
}

// rawJSON is JSON that is passed on as it is.
type rawJSON []byte

// MarshalJSON gives the JSON itself.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// run is the published order of checks from the limit on: who calls how often, scope and role, what the
// workspace forbids; then the tool looks at its arguments.
func (h *handler) run(ctx context.Context, t *tool, x *exchange) (any, error) {
	if err := h.checkPerson(x.identity); err != nil {
		return nil, err
	}
	body, err := wire.Parse(x.msg.args)
	if err != nil {
		return nil, err
	}
	if err := body.CheckWorkspace(); err != nil {
		return nil, err
	}
	by, err := t.mayCall(x, body.WorkspaceID())
	if err != nil {
		return nil, err
	}
	if err := h.checkBlocked(ctx, t, by); err != nil {
		return nil, err
	}
	if _, sent := x.msg.params["requestState"]; sent && !t.asks {
		return nil, &confirm.StateError{Reason: "of a tool that asks nothing"}
	}
	return t.run(ctx, &call{by: by, identity: x.identity, body: body, x: x, log: &x.log})
}

// checkBlocked refuses what the workspace's security page forbids on this channel. What is about no
// workspace, nobody can forbid.
func (h *handler) checkBlocked(ctx context.Context, t *tool, by models.Principal) error {
	if t.noWorkspace {
		return nil
	}
	err := h.cfg.Store.CheckBlocked(ctx, by, t.name)
	if t.asks {
		return confirm.Unavailable(err)
	}
	return err
}

// failed answers a named error as the tool's result: its five fields as one text block, and no
// structured content, which clients check against the output schema. Anything unknown is INTERNAL to
// the caller; its cause goes to the log.
func (h *handler) failed(ctx context.Context, x *exchange, err error) (*mcp.CallToolResult, error) {
	if x.http.Err() != nil {
		x.log.ended("client_gone")
		return nil, &jsonrpc.Error{Code: codeInternal, Message: "the client went away"}
	}
	if confirm.IsStateError(err) {
		return nil, h.stateRefused(ctx, x, err)
	}
	var protocol *jsonrpc.Error
	if errors.As(err, &protocol) {
		x.log.ended(fmt.Sprint(protocol.Code))
		return nil, protocol
	}
	ne, _, unexpected := problem.Of(err, x.requestID)
	if unexpected {
		problem.Log(ctx, h.logger, ne, x.requestID, err)
	}
	x.log.ended(string(ne.Code))
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(encode(ne))}}}, nil
}

func internalMessage(requestID string) string {
	return fmt.Sprintf("Something went wrong at the desk. Stop, and tell the people who run it this request id: %s.", requestID)
}

// survive keeps the process alive when a handler panics or answers nothing; both would end it, since
// the SDK runs handlers in goroutines of its own.
func (h *handler) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		x := exchangeOf(ctx)
		requestID := ""
		if x != nil {
			requestID = x.requestID
		}
		broken := func(cause any, stack []byte) {
			h.logger.ErrorContext(ctx, "method failed", "method", method, "request_id", requestID, "cause", fmt.Sprint(cause), "stack", string(stack))
			if x != nil {
				x.log.ended(fmt.Sprint(codeInternal))
			}
			res, err = nil, &jsonrpc.Error{Code: codeInternal, Message: internalMessage(requestID)}
		}
		defer func() {
			if cause := recover(); cause != nil {
				broken(cause, debug.Stack())
			}
		}()
		res, err = next(ctx, method, req)
		if err == nil && isNil(res) {
			broken("no result", nil)
		}
		var protocol *jsonrpc.Error
		if err != nil && !errors.As(err, &protocol) {
			broken(err, nil)
		}
		return res, err
	}
}

func isNil(res mcp.Result) bool {
	if res == nil {
		return true
	}
	v := reflect.ValueOf(res)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// listed leaves in tools/list what the caller may call.
func (h *handler) listed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		x := exchangeOf(ctx)
		if err != nil || !ok || list == nil {
			return res, err
		}
		seen := []*mcp.Tool{}
		for _, one := range list.Tools {
			if t := h.tools[one.Name]; x != nil && t != nil && t.listedFor(x) {
				seen = append(seen, cmp.Or(t.shown, one))
			}
		}
		list.Tools = seen
		return list, nil
	}
}

// await reads with a wait that ends at once, with the state as it is, when the program shuts down.
func await[T any](ctx context.Context, h *handler, wait time.Duration, read func(context.Context, time.Duration) (T, error)) (T, error) {
	if wait <= 0 {
		return read(ctx, 0)
	}
	if h.waiting != nil {
		h.waiting(+1)
		defer h.waiting(-1)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-h.cfg.Stopping: // never, when nil
			cancel()
		case <-done:
		}
	}()
	out, err := read(waiting, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return read(ctx, 0)
	}
	return out, err
}
