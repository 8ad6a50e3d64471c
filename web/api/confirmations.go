package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

func (a *API) confirmationAnswer(view confirm.View) confirm.View {
	view.URL = a.pageOf("confirmations", view.ConfirmationID)
	return view
}

func (a *API) requestConfirmation() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/confirmations", name: "requestConfirmation", summary: "Put another server's question in front of a person",
		about: "For a client whose call was answered with input_required and which has no person beside it. Send the server's input requests unchanged, with the exact call they came for. " +
			"Who answers is for the workspace to say. A form that asks for a secret is refused.",
		action: confirm.ActionRequest, scopes: []models.Scope{models.ScopeConfirmationsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.ConfirmationBody}, answer: reflect.TypeFor[confirm.View](), status: []int{http.StatusCreated},
		fails: []models.Code{models.Conflict, models.Unprocessable},
		run: func(ctx context.Context, c *call) (int, any, error) {
			in, idem, err := wire.ReadConfirmationRequest(c.body)
			if err != nil {
				return 0, nil, err
			}
			view, err := a.cfg.Confirm.Request(ctx, c.by, in, idem)
			if err != nil {
				return 0, nil, err
			}
			return http.StatusCreated, a.confirmationAnswer(view), nil
		},
	}
}

func (a *API) getConfirmation() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/confirmations/{confirmation_id}", name: "getConfirmation", summary: "Read where a confirmation stands",
		about:  "Never shows the answer: take it. With wait the answer comes as soon as it is no longer pending, else with its state when the time is up.",
		action: confirm.ActionGet, scopes: []models.Scope{models.ScopeConfirmationsRead},
		query: reflect.TypeFor[wire.WaitQuery](), answer: reflect.TypeFor[confirm.View](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			q := c.query.(*wire.WaitQuery)
			view, err := wait(a, ctx, q.Wait, func(ctx context.Context, d time.Duration) (confirm.View, error) {
				return a.cfg.Confirm.Await(ctx, c.by, c.id, d)
			})
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, a.confirmationAnswer(view), nil
		},
	}
}

func (a *API) takeConfirmation() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/confirmations/{confirmation_id}/take", name: "takeConfirmation", summary: "Take the answer of a confirmation, once",
		about: "Hands the input responses out for the very call they were asked for. The same key and call give them again; any other take is confirmation_replayed. " +
			"CONFLICT with details.reason not_answered while nobody has answered, different_call for another server, tool or arguments. What expired or was withdrawn is answered with cancel. " +
			"The key may come as the Idempotency-Key header.",
		action: confirm.ActionTake, scopes: []models.Scope{models.ScopeConfirmationsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.TakeConfirmationBody}, answer: reflect.TypeFor[confirm.TakeResult](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound, models.Conflict, models.ConfirmationReplayed},
		run: func(ctx context.Context, c *call) (int, any, error) {
			in, err := wire.ReadTakeConfirmation(c.body)
			if err != nil {
				return 0, nil, err
			}
			result, err := a.cfg.Confirm.Take(ctx, c.by, in)
			return http.StatusOK, result, err
		},
	}
}

func (a *API) withdrawConfirmation() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/confirmations/{confirmation_id}/withdraw", name: "withdrawConfirmation", summary: "Withdraw a question",
		about:  "Only the account that asked can. Its answer is then cancel, whatever anybody answered.",
		action: confirm.ActionWithdraw, scopes: []models.Scope{models.ScopeConfirmationsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.WithdrawConfirmationBody}, empty: true, answer: reflect.TypeFor[confirm.View](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound, models.Conflict},
		run: func(ctx context.Context, c *call) (int, any, error) {
			id, err := wire.ReadWithdrawConfirmation(c.body)
			if err != nil {
				return 0, nil, err
			}
			view, err := a.cfg.Confirm.Withdraw(ctx, c.by, id)
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, a.confirmationAnswer(view), nil
		},
	}
}
