package mcpserver

import (
	"context"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// confirmationTools bring other servers' questions in front of a person.
func (h *handler) confirmationTools() []*tool {
	if h.cfg.Confirm == nil {
		return nil
	}
	return []*tool{h.requestConfirmation(), h.getConfirmation(), h.takeConfirmation()}
}

func (h *handler) confirmationAnswer(view confirm.View) confirm.View {
	view.URL = h.pageOf("confirmations", view.ConfirmationID)
	return view
}

func (h *handler) requestConfirmation() *tool {
	return &tool{
		name: confirm.ActionRequest, title: "Put another server's question in front of a person",
		description: "Forwards a question that another MCP server asked about one of its calls, when you have no person beside you: that server answered input_required. Send server (name and url), the tool and its exact arguments, " +
			"the server's inputRequests unchanged as input_requests, and the SHA-256 of its requestState as request_state_hash; keep the requestState itself. Add run_id and invoice so that the person knows what it is about. " +
			"Never ask for passwords or other secrets this way: such a form is refused. Then call get_confirmation with wait_seconds until it is no longer pending, and take_confirmation.",
		scopes: []models.Scope{models.ScopeConfirmationsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.ConfirmationBody, output: reflect.TypeFor[confirm.View](), opaque: "/arguments",
		run: func(ctx context.Context, c *call) (any, error) {
			in, idem, err := wire.ReadConfirmationRequest(c.body)
			if err != nil {
				return nil, err
			}
			view, err := h.cfg.Confirm.Request(ctx, c.by, in, idem)
			if err != nil {
				return nil, err
			}
			c.log.about(view.ConfirmationID)
			return h.confirmationAnswer(view), nil
		},
	}
}

func (h *handler) getConfirmation() *tool {
	return &tool{
		name: confirm.ActionGet, title: "Read where a confirmation stands",
		description: "Reads whether a person has answered a question you forwarded. With wait_seconds (0 to 50) it answers as soon as it is no longer pending, else with its state when the time is up; call it again while status is pending. " +
			"It never shows the answer: take_confirmation does, once. expired and withdrawn are answered with cancel.",
		scopes: []models.Scope{models.ScopeConfirmationsRead}, roles: readers, readOnly: true,
		spec: wire.GetConfirmationArguments, output: reflect.TypeFor[confirm.View](),
		run: func(ctx context.Context, c *call) (any, error) {
			in, err := wire.ReadGetConfirmation(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(in.ConfirmationID)
			view, err := await(ctx, h, time.Duration(in.WaitSeconds)*time.Second, func(ctx context.Context, wait time.Duration) (confirm.View, error) {
				return h.cfg.Confirm.Await(ctx, c.by, in.ConfirmationID, wait)
			})
			if err != nil {
				return nil, err
			}
			return h.confirmationAnswer(view), nil
		},
	}
}

func (h *handler) takeConfirmation() *tool {
	return &tool{
		name: confirm.ActionTake, title: "Take the answer of a confirmation, once",
		description: "Hands you the person's answer for the very call it was asked about: give server, tool and arguments exactly as you forwarded them, and an idempotency_key. Resend that call to its server with input_responses as inputResponses and the requestState you kept. " +
			"The same key and call give the answer again, so a lost response can be repeated; any other take is confirmation_replayed. CONFLICT with details.reason not_answered means that nobody has answered yet, different_call that the call is not the one asked about. " +
			"An answer of decline or cancel is a no: resend it or drop the call, and do not ask again.",
		scopes: []models.Scope{models.ScopeConfirmationsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.TakeConfirmationArguments, output: reflect.TypeFor[confirm.TakeResult](), opaque: "/arguments",
		run: func(ctx context.Context, c *call) (any, error) {
			in, err := wire.ReadTakeConfirmation(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(in.ID)
			return h.cfg.Confirm.Take(ctx, c.by, in)
		},
	}
}
