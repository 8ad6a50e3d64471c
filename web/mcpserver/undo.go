package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// keeper seals the desk's own questions into requestState and spends each once.
type keeper interface {
	Ask(ctx context.Context, by models.Principal, tool, digest string) (state string, err error)
	Open(by models.Principal, tool, digest, state string) (nonce string, err error)
	Spend(tx *models.Tx, nonce, outcome string) error
	Refuse(ctx context.Context, by models.Principal, nonce, outcome string, a confirm.Answered) error
}

// undoing is what a tool that takes something back adds to the asking, which is the same for all.
type undoing[T any] struct {
	operation string // remembers idempotency keys
	read      func(*wire.Body) (id string, idem models.Idempotency, err error)
	// look reads what would be undone: in words, and for the trail. It fails where undo would.
	look   func(ctx context.Context, by models.Principal, id string) (words string, ref models.Ref, err error)
	undo   func(tx *models.Tx, id, reason string) (T, error)
	show   func(T) any // the answer; nil: as it is
	secret bool        // the id is one, and shown in parts only
}

// subject is the id as it may be written down.
func (u undoing[T]) subject(id string) string {
	if u.secret {
		return models.MaskID(id)
	}
	return id
}

// formQuestion is the answer of a tool that waits for its caller's person.
type formQuestion struct {
	message string
	state   string
}

// answerKey names the one thing that is asked.
const answerKey = "confirm"

const maxReasonAsked = 1000 // characters

// answerSchema is the form that the caller's client shows.
var answerSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
	`"confirm":{"type":"boolean","title":"Yes, undo it","description":"Only yes undoes it; anything else changes nothing."},`+
	`"reason":{"type":"string","title":"Reason","description":"Why, for the people at the desk.","maxLength":%d}},"required":["confirm"]}`, maxReasonAsked))

// result is the question as it goes to the client.
func (q formQuestion) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{},
		InputRequests: mcp.InputRequestMap{answerKey: &mcp.ElicitParams{
			Mode: "form", Message: q.message, RequestedSchema: answerSchema,
		}},
		RequestState: q.state,
	}
}

// canAsk says whether the client of this call shows forms to a person: it speaks 2026-07-28 and declares
// form elicitation, which an elicitation that names no mode is too.
func (x *exchange) canAsk() bool {
	if x.version != version2026 {
		return false
	}
	meta, _ := members(x.msg.params["_meta"])
	capabilities, _ := members(meta[metaClientCaps])
	modes, ok := members(capabilities["elicitation"])
	if !ok {
		return false
	}
	_, form := members(modes["form"])
	_, address := members(modes["url"])
	return form || !address
}

func confirmationRequired(tool string) error {
	return models.E(models.ConfirmationRequired, tool+" undoes something for good, so a person must confirm it, and this client cannot ask one. Nothing was changed. "+
		"Call it from a client that speaks MCP "+version2026+" and shows forms (capability elicitation.form), or leave it to the people at the desk.",
		map[string]any{"tool": tool, "protocol_version": version2026, "capability": "elicitation.form"})
}

// undo makes the run of a tool that takes something back: it asks the caller's person first, and does it
// once, in the transaction that spends the question. What a resend is allowed is checked before its
// answer counts, and an answer that cannot be trusted is none.
func undo[T any](h *handler, u undoing[T]) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		if !c.x.canAsk() {
			return nil, confirmationRequired(c.x.msg.tool)
		}
		id, idem, err := u.read(c.body)
		if err != nil {
			return nil, err
		}
		c.log.about(u.subject(id))
		out, err := (&asking[T]{undoing: u, h: h, c: c, id: id, idem: idem}).run(ctx)
		return out, confirm.Unavailable(err)
	}
}

// asking is one call of a tool that asks first.
type asking[T any] struct {
	undoing[T]
	h    *handler
	c    *call
	id   string
	idem models.Idempotency
}

func (a *asking[T]) run(ctx context.Context) (any, error) {
	tool := a.c.x.msg.tool
	digest, err := confirm.Digest(a.c.by.WorkspaceID, "", tool, a.c.x.msg.args)
	if err != nil {
		return nil, err
	}
	raw, resent := a.c.x.msg.params["requestState"]
	if !resent {
		if out, done, err := a.before(ctx); done || err != nil {
			return out, err
		}
		words, _, err := a.look(ctx, a.c.by, a.id)
		if err != nil {
			return nil, err
		}
		state, err := a.h.keeper.Ask(ctx, a.c.by, tool, digest)
		return formQuestion{words, state}, err
	}
	state, _ := text(raw)
	nonce, err := a.h.keeper.Open(a.c.by, tool, digest, state)
	if err != nil {
		return nil, err
	}
	answer, err := answerIn(a.c.x.msg.params["inputResponses"])
	if err != nil {
		return nil, err
	}
	switch answer.meaning {
	case meansYes:
		return a.confirmed(ctx, nonce, answer)
	case meansNo:
		return nil, a.h.keeper.Refuse(ctx, a.c.by, nonce, confirm.OutcomeDeclined, a.answered(ctx, answer))
	case meansDismissed:
		return nil, a.h.keeper.Refuse(ctx, a.c.by, nonce, confirm.OutcomeCancelled, a.answered(ctx, answer))
	}
	return a.again(ctx, nonce, state)
}

var errLooking = errors.New("mcpserver: only looked")

// before gives the first answer again when this very call succeeded under its idempotency key.
func (a *asking[T]) before(ctx context.Context) (out any, done bool, err error) {
	if a.idem.Key == "" {
		return nil, false, nil
	}
	var first T
	err = a.h.cfg.Store.InTx(ctx, a.c.by, func(tx *models.Tx) error {
		var err error
		first, err = models.Once(tx, a.operation, a.idem, func() (T, error) { return first, errLooking })
		return err
	})
	if errors.Is(err, errLooking) {
		return nil, false, nil
	}
	return a.shown(first), err == nil, err
}

// again repeats a question that was resent without a usable answer. The question stays the one it was,
// so that it can still be answered once only.
func (a *asking[T]) again(ctx context.Context, nonce, state string) (any, error) {
	err := a.h.cfg.Store.InTx(ctx, a.c.by, func(tx *models.Tx) error {
		if err := a.h.keeper.Spend(tx, nonce, confirm.OutcomeRefused); err != nil {
			return err // answered before
		}
		return errLooking
	})
	if !errors.Is(err, errLooking) {
		return nil, err
	}
	words, _, err := a.look(ctx, a.c.by, a.id)
	if err != nil {
		return nil, err
	}
	return formQuestion{words, state}, nil
}

// confirmed does what was confirmed, together with the spending of the question. When the desk's rules
// refuse it the question is spent all the same, unless the refusal is about who calls.
func (a *asking[T]) confirmed(ctx context.Context, nonce string, answer answer) (any, error) {
	told := a.answered(ctx, answer)
	var out T
	err := a.h.cfg.Store.InTx(ctx, a.c.by, func(tx *models.Tx) error {
		spent := a.h.keeper.Spend(tx, nonce, confirm.OutcomeRan)
		if spent != nil && (a.idem.Key == "" || !isReplay(spent)) {
			return spent
		}
		var err error
		out, err = models.Once(tx, a.operation, a.idem, func() (T, error) {
			if spent != nil {
				return out, spent
			}
			if err := confirm.RecordAnswer(tx, told); err != nil {
				return out, err
			}
			return a.undo(tx, a.id, answer.reason)
		})
		return err
	})
	if err == nil {
		return a.shown(out), nil
	}
	if !isReplay(err) && refusedByRule(err) {
		if failed := a.h.keeper.Refuse(ctx, a.c.by, nonce, confirm.OutcomeRefused, told); failed != nil {
			return nil, failed
		}
	}
	return nil, err
}

func isReplay(err error) bool {
	return models.IsCode(err, models.ConfirmationReplayed) || models.IsCode(err, models.UserDeclined)
}

// refusedByRule tells a refusal of the call itself from a fault, and from a caller who may not make it.
func refusedByRule(err error) bool {
	ne, ok := models.AsNamed(err)
	if !ok {
		return false
	}
	switch ne.Code {
	case models.Unavailable, models.Internal, models.InsufficientScope, models.InsufficientPermission, models.SecurityBlocked:
		return false
	}
	return true
}

func (a *asking[T]) shown(out T) any {
	if a.show == nil {
		return out
	}
	return a.show(out)
}

// answered is the answer for the trail. Where the record is out of reach by now, its id alone tells.
func (a *asking[T]) answered(ctx context.Context, answer answer) confirm.Answered {
	_, ref, err := a.look(ctx, a.c.by, a.id)
	if err != nil && ref.Subject == "" {
		ref = models.Ref{Subject: a.subject(a.id)}
	}
	return confirm.Answered{Tool: a.c.x.msg.tool, Ref: ref, Action: answer.action, Confirm: answer.confirm, Reason: answer.reason}
}

// meaning is what an answer comes to.
type meaning int

const (
	meansNothing   meaning = iota // asked again
	meansYes                      // accepted, with the box ticked
	meansNo                       // declined, or accepted with the box left empty
	meansDismissed                // cancelled
)

type answer struct {
	meaning meaning
	action  models.ElicitAction
	confirm *bool
	reason  string
}

// answerIn reads what the client sent for the question; keys that were not asked for are ignored. It
// fails with -32602 for an action that the protocol does not know, and for a content that is no object.
func answerIn(responses json.RawMessage) (answer, error) {
	all, _ := members(responses)
	fields, given := members(all[answerKey])
	if !given {
		return answer{}, nil
	}
	action, _ := text(fields["action"])
	out := answer{action: models.ElicitAction(action)}
	switch out.action {
	case models.ElicitDecline:
		out.meaning = meansNo
		return out, nil
	case models.ElicitCancel:
		out.meaning = meansDismissed
		return out, nil
	case models.ElicitAccept:
	default:
		return out, &jsonrpc.Error{Code: codeInvalidParams, Message: "Invalid params: inputResponses/" + answerKey + "/action must be accept, decline or cancel"}
	}
	raw, sent := fields["content"]
	content, ok := members(raw)
	if sent && !ok && string(raw) != "null" {
		return out, &jsonrpc.Error{Code: codeInvalidParams, Message: "Invalid params: inputResponses/" + answerKey + "/content must be an object"}
	}
	switch string(content["confirm"]) {
	case "true":
		out.meaning = meansYes
	case "false":
		out.meaning = meansNo
	default:
		return out, nil
	}
	yes := out.meaning == meansYes
	out.confirm = &yes
	if raw, sent := content["reason"]; sent && string(raw) != "null" {
		reason, ok := text(raw)
		kept, why := models.FreeText(reason, maxReasonAsked)
		if yes && (!ok || why != "") {
			return answer{action: out.action}, nil // not what the form takes
		}
		if out.reason = kept; why != "" { // a no stands, whatever was said with it
			out.reason = strings.Map(func(r rune) rune {
				if unicode.IsControl(r) && r != '\n' && r != '\t' {
					return unicode.ReplacementChar
				}
				return r
			}, reason)
		}
	}
	return out, nil
}

// stateRefused answers a requestState that is not valid for its call. Why not is for the log alone.
func (h *handler) stateRefused(ctx context.Context, x *exchange, err error) error {
	h.logger.WarnContext(ctx, "requestState refused", "tool", x.msg.tool, "person", x.identity.User.ID, "request_id", x.requestID, "cause", reasonIn(err))
	x.log.ended(fmt.Sprint(codeInvalidParams))
	return &jsonrpc.Error{Code: codeInvalidParams, Message: (&confirm.StateError{}).Error()}
}

func reasonIn(err error) string {
	var refused *confirm.StateError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return err.Error()
}

// withoutAnswer is a call as the SDK gets it when the tool reads the answer itself, from the bytes: what
// the SDK makes of it is of no use then, and it refuses shapes that are merely not asked for.
func (m *message) withoutAnswer() []byte {
	params := map[string]json.RawMessage{}
	for name, raw := range m.params {
		if name != "requestState" && name != "inputResponses" {
			params[name] = raw
		}
	}
	return encode(struct {
		JSONRPC string                     `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Method  string                     `json:"method"`
		Params  map[string]json.RawMessage `json:"params"`
	}{"2.0", m.id, m.method, params})
}

// quoted is a text of an agent or a supplier inside a sentence of the desk's own: on one line, without
// characters that hide or turn what stands beside them, and not endless.
func quoted(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == '“', r == '”':
			return '·'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return "“" + s + "”"
}

// moment is a time in a question.
func moment(t models.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2 January 2006, 15:04") + " UTC"
}
