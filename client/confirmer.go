package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long things take unless Options say otherwise.
const (
	defaultPatience = time.Minute
	defaultRounds   = 10
	defaultExpiry   = time.Hour        // the desk's own
	pollWait        = 25 * time.Second // below what proxies usually allow
	grace           = 10 * time.Second // to put things in order once the context has ended
	mostOfCall      = 30 * time.Second // of a call of the desk, besides what it waits
	shortestPause   = 500 * time.Millisecond
	longestPause    = 10 * time.Second
	mostBusy        = 3 // times a server may answer that it is busy
)

// Refusals of the package's own. The desk's are [*Error].
var (
	// ErrNoCall is answered to an elicitation whose call is not known: no [Confirmer.Middleware] is
	// installed and the context holds no [WithCall], or the server is of a revision before 2026-07-28 and
	// asks outside of any call.
	ErrNoCall = errors.New("client: the call that this question is about is not known")
	// ErrNotElicitation is answered when a server asks for something other than a person's answer, such
	// as sampling, which a desk cannot give.
	ErrNotElicitation = errors.New("client: the server asks for something that no person at the desk can answer")
	// ErrTooManyRounds is answered when a server goes on asking.
	ErrTooManyRounds = errors.New("client: the server asked too often about one call")
	// ErrBusy is answered when a server says again and again that the call should be made later.
	ErrBusy = errors.New("client: the server is busy")
)

// Options say how questions are asked. The zero value is fine.
type Options struct {
	// RunID tells people which run of the agent asks.
	RunID string
	// Invoice is what the calls are about: anything that marshals to a JSON object with the fields of a
	// handover's invoice, of which only id is needed.
	Invoice any
	// ExpiresIn is how long people have to answer, in whole seconds; the desk's own hour when 0. A
	// context's deadline shortens it.
	ExpiresIn time.Duration
	// Patience is how long the desk may be out of reach before a call is given up; a minute when 0.
	Patience time.Duration
	// MaxRounds is how many questions one call may be asked; 10 when 0.
	MaxRounds int
	// Progress is told when a question was filed, after every wait and when the answer was taken. It is
	// called by the goroutine that makes the call, and must not block.
	Progress func(Progress)
}

// Progress is how far a question is.
type Progress struct {
	Call         Call
	Confirmation Confirmation
}

// Confirmer forwards the questions of MCP servers to people at a desk. It keeps no state between calls
// and may be used by several goroutines. Make it with [New].
type Confirmer struct {
	desk  Desk
	opts  Options
	pause func(context.Context, time.Duration) error
}

// New makes a Confirmer; opts may be nil.
func New(desk Desk, opts *Options) *Confirmer {
	c := &Confirmer{desk: desk, pause: pause}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Patience <= 0 {
		c.opts.Patience = defaultPatience
	}
	if c.opts.MaxRounds <= 0 {
		c.opts.MaxRounds = defaultRounds
	}
	return c
}

// NewClient makes an SDK client for one server: it tells the server that questions can be asked (forms
// and addresses to open), and its sessions' CallTool asks a person whenever the server asks. opts may be
// nil; its elicitation capability, handler and loop are replaced.
func (c *Confirmer) NewClient(impl *mcp.Implementation, server Server, opts *mcp.ClientOptions) *mcp.Client {
	var own mcp.ClientOptions
	if opts != nil {
		own = *opts
	}
	capabilities := mcp.ClientCapabilities{}
	if own.Capabilities != nil {
		capabilities = *own.Capabilities
	}
	capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	own.Capabilities = &capabilities
	own.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	own.ElicitationHandler = c.ElicitationHandler()
	client := mcp.NewClient(impl, &own)
	client.AddSendingMiddleware(c.Middleware(server))
	return client
}

// Middleware is sending middleware for a client of one server. It remembers which call is made, for
// [Confirmer.ElicitationHandler]; and when a tools/call comes back with questions, which it does on
// clients whose own loop is off (MultiRoundTrip.Disabled), it forwards them, all of one round at once,
// and makes the call again.
func (c *Confirmer) Middleware(server Server) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			params, ok := req.GetParams().(*mcp.CallToolParams)
			session, isClient := req.GetSession().(*mcp.ClientSession)
			if !ok || !isClient || params == nil {
				return next(ctx, method, req)
			}
			return c.loop(ctx, server, params, func(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				res, err := next(ctx, method, &mcp.ClientRequest[*mcp.CallToolParams]{Session: session, Params: params})
				if err != nil {
					return nil, err
				}
				result, ok := res.(*mcp.CallToolResult)
				if !ok {
					return nil, fmt.Errorf("client: tools/call was answered with a %T", res)
				}
				return result, nil
			})
		}
	}
}

// CallTool makes one call on a session whose client has no [Confirmer.Middleware], whose own loop is off
// (MultiRoundTrip.Disabled) and which tells servers that it takes elicitation.
func (c *Confirmer) CallTool(ctx context.Context, session *mcp.ClientSession, server Server, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return c.loop(ctx, server, params, session.CallTool)
}

// loop makes a call until the server asks no more.
func (c *Confirmer) loop(ctx context.Context, server Server, params *mcp.CallToolParams,
	send func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	call, err := callOf(server, params)
	if err != nil {
		return nil, err
	}
	ctx = WithCall(ctx, call)
	next := *params
	next.Arguments = call.Arguments // what people see is what is sent
	busy := 0
	for round := 0; ; {
		res, err := send(ctx, &next)
		if err != nil || !res.NeedsInput() {
			return res, err
		}
		again := *params
		again.Arguments, again.RequestState = call.Arguments, res.RequestState
		again.InputResponses = nil
		if len(res.InputRequests) == 0 {
			if busy++; busy >= mostBusy {
				return nil, ErrBusy
			}
			if err := c.pause(ctx, shortestPause<<busy); err != nil {
				return nil, err
			}
			next = again
			continue
		}
		if round++; round > c.opts.MaxRounds {
			return nil, ErrTooManyRounds
		}
		if again.InputResponses, err = c.Confirm(ctx, call, res.InputRequests, res.RequestState); err != nil {
			return nil, err
		}
		next = again
	}
}

func callOf(server Server, params *mcp.CallToolParams) (Call, error) {
	call := Call{Server: server, Tool: params.Name, Arguments: json.RawMessage("{}")}
	call.Server.Name = strings.TrimSpace(server.Name)
	if params.Arguments == nil {
		return call, nil
	}
	raw, err := encode(params.Arguments)
	if err != nil {
		return call, fmt.Errorf("client: arguments of %s: %w", params.Name, err)
	}
	if !bytes.Equal(raw, []byte("null")) {
		call.Arguments = raw
	}
	return call, nil
}

type callKey struct{}

// WithCall tells [Confirmer.ElicitationHandler] which call is being made. [Confirmer.Middleware] does it
// by itself.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// ElicitationHandler is the handler of an SDK client that keeps its own loop: it asks a person at the
// desk and returns the answer. The client needs [Confirmer.Middleware] or [WithCall], since a handler
// alone does not know the call. Each question of a round is then one of its own for people, and the
// desk does not learn of the server's requestState; [Confirmer.NewClient] has neither limit.
func (c *Confirmer) ElicitationHandler() func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	const key = "question"
	return func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		call, ok := ctx.Value(callKey{}).(Call)
		if !ok {
			return nil, ErrNoCall
		}
		answers, err := c.ask(ctx, call, mcp.InputRequestMap{key: req.Params}, "")
		if err != nil {
			return nil, err
		}
		return answerOf(answers[key], false)
	}
}

// Confirm brings the questions of one answer of a server (its InputRequests and RequestState) in front of
// a person, waits, and returns the answers to send with the next call. It ends with ctx, withdrawing the
// questions; that nobody answered in time, or the questions were withdrawn elsewhere, is the answer
// cancel and no error.
func (c *Confirmer) Confirm(ctx context.Context, call Call, requests mcp.InputRequestMap, requestState string) (mcp.InputResponseMap, error) {
	answers, err := c.ask(ctx, call, requests, requestState)
	if err != nil {
		return nil, err
	}
	responses := make(mcp.InputResponseMap, len(requests))
	for key := range requests {
		if responses[key], err = answerOf(answers[key], true); err != nil {
			return nil, fmt.Errorf("client: the answer to %q: %w", key, err)
		}
	}
	return responses, nil
}

func (c *Confirmer) ask(ctx context.Context, call Call, requests mcp.InputRequestMap, requestState string) (map[string]json.RawMessage, error) {
	q, err := c.question(ctx, call, requests, requestState)
	if err != nil {
		return nil, err
	}
	// The question is filed to the end even when ctx ends meanwhile, so that its id is known and it can
	// be withdrawn.
	asking, done := outliving(ctx)
	defer done()
	key := rand.Text()
	filed, err := try(ctx, asking, c, mostOfCall, func(ctx context.Context) (Confirmation, error) { return c.desk.Ask(ctx, key, q) })
	if err != nil {
		return nil, fmt.Errorf("client: ask the desk about %s: %w", call.Tool, err)
	}
	c.tell(call, filed)
	answers, err := c.answer(ctx, call, filed)
	if err != nil {
		return nil, fmt.Errorf("client: confirmation %s: %w", filed.ID, err)
	}
	return answers, nil
}

// answer waits for a person and takes the answer.
func (c *Confirmer) answer(ctx context.Context, call Call, at Confirmation) (map[string]json.RawMessage, error) {
	id := at.ID
	for at.Status == Pending {
		began := time.Now()
		read, err := try(ctx, ctx, c, pollWait+mostOfCall, func(ctx context.Context) (Confirmation, error) { return c.desk.Await(ctx, id, pollWait) })
		if err != nil {
			return nil, c.giveUp(ctx, id, err)
		}
		at = read
		c.tell(call, at)
		// A desk that is going down answers waits at once.
		if at.Status == Pending && time.Since(began) < shortestPause {
			if err := c.pause(ctx, shortestPause); err != nil {
				return nil, c.giveUp(ctx, id, err)
			}
		}
	}
	// Every state but pending hands something out: the answer, or cancel when there is none. The key is
	// the same however often this is tried.
	answers, err := try(ctx, ctx, c, mostOfCall, func(ctx context.Context) (map[string]json.RawMessage, error) {
		return c.desk.Take(ctx, id, "take-"+id, call)
	})
	if err != nil {
		return nil, c.giveUp(ctx, id, err)
	}
	if at.Status == Answered {
		at.Status = Taken
	}
	c.tell(call, at)
	return answers, nil
}

// giveUp withdraws what nobody waits for any more.
func (c *Confirmer) giveUp(ctx context.Context, id string, cause error) error {
	if ctx.Err() == nil {
		return cause
	}
	cause = context.Cause(ctx)
	withdrawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := c.desk.Withdraw(withdrawing, id); err != nil {
		return fmt.Errorf("%w (not withdrawn: %w)", cause, err)
	}
	return cause
}

func (c *Confirmer) tell(call Call, at Confirmation) {
	if c.opts.Progress != nil {
		c.opts.Progress(Progress{Call: call, Confirmation: at})
	}
}

func (c *Confirmer) question(ctx context.Context, call Call, requests mcp.InputRequestMap, requestState string) (Question, error) {
	q := Question{Call: call, RunID: c.opts.RunID}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		if _, ok := requests[key].(*mcp.ElicitParams); !ok {
			return q, fmt.Errorf("%w: %q is a %T", ErrNotElicitation, key, requests[key])
		}
	}
	var err error
	if q.InputRequests, err = encode(requests); err != nil {
		return q, fmt.Errorf("client: questions of %s: %w", call.Tool, err)
	}
	if requestState != "" {
		sum := sha256.Sum256([]byte(requestState))
		q.RequestStateHash = hex.EncodeToString(sum[:])
	}
	if c.opts.Invoice != nil {
		if q.Invoice, err = encode(c.opts.Invoice); err != nil {
			return q, fmt.Errorf("client: invoice: %w", err)
		}
	}
	q.ExpiresIn = int64(c.opts.ExpiresIn / time.Second)
	if deadline, ok := ctx.Deadline(); ok {
		most := int64(defaultExpiry / time.Second)
		if q.ExpiresIn > 0 {
			most = q.ExpiresIn
		}
		if left := int64(time.Until(deadline)/time.Second) + 1; left < most {
			q.ExpiresIn = max(left, 1)
		}
	}
	return q, nil
}

// answerOf reads a person's answer. exact keeps numbers as they were written; without, they are float64,
// as the SDK's own check of a handler's answer wants them.
func answerOf(raw json.RawMessage, exact bool) (*mcp.ElicitResult, error) {
	var answer struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if exact {
		dec.UseNumber()
	}
	if err := dec.Decode(&answer); err != nil {
		return nil, fmt.Errorf("the desk gave no answer: %w", err)
	}
	switch answer.Action {
	case "accept":
	case "decline", "cancel":
		answer.Content = nil
	default:
		return nil, fmt.Errorf("the desk answered %q, which is no action", answer.Action)
	}
	return &mcp.ElicitResult{Action: answer.Action, Content: answer.Content}, nil
}
