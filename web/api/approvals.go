package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// requestAnswer is where an approval request stands.
type requestAnswer struct {
	approvals.RequestView
	URL string `json:"url"`
}

func (a *API) answerTo(view approvals.RequestView) requestAnswer {
	view.Refused = nil // told as an error by those whom it concerns
	return requestAnswer{view, a.pageOf("approvals", view.RequestID)}
}

func (a *API) requestApproval() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/approval-requests", name: "requestApproval", summary: "Ask for approval of one write",
		about: "The approval is bound to the exact tool and arguments. A request for the same call joins the one that lives: 200 and created false. " +
			"When no rule gives enough people the authority the answer is APPROVER_NOT_FOUND with the ids of the request and of the case opened for it.",
		action: "request_approval", scopes: []models.Scope{models.ScopeApprovalsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.ApprovalRequestBody}, answer: reflect.TypeFor[requestAnswer](),
		status: []int{http.StatusCreated, http.StatusOK}, fails: []models.Code{models.ApproverNotFound, models.PeriodClosed, models.Conflict},
		run: func(ctx context.Context, c *call) (int, any, error) {
			in, idem, err := wire.ReadApprovalRequest(c.body)
			if err != nil {
				return 0, nil, err
			}
			view, err := a.cfg.Approvals.Request(ctx, c.by, in, idem)
			if err != nil {
				return 0, nil, err
			}
			if view.Refused != nil {
				return 0, nil, view.Refused
			}
			return made(view.Created), a.answerTo(view), nil
		},
	}
}

func (a *API) getApprovalRequest() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/approval-requests/{request_id}", name: "getApprovalRequest", summary: "Read an approval request",
		about:  "With wait the answer comes as soon as it is decided, else with the request as it is when the time is up. approval_id stands in the answer once it is approved.",
		action: "get_approval", scopes: []models.Scope{models.ScopeApprovalsRead},
		query: reflect.TypeFor[wire.WaitQuery](), answer: reflect.TypeFor[requestAnswer](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			q := c.query.(*wire.WaitQuery)
			view, err := wait(a, ctx, q.Wait, func(ctx context.Context, d time.Duration) (approvals.RequestView, error) {
				return a.cfg.Approvals.Await(ctx, c.by, c.id, d)
			})
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, a.answerTo(view), nil
		},
	}
}

func (a *API) redeem() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/approvals/{approval_id}/redeem", name: "redeemApproval", summary: "Spend an approval before its write",
		about: "For the system that makes the write. The same key with the same call gives the first answer again; any other use is APPROVAL_MISSING with details.reason, and spends nothing. " +
			"The key may come as the Idempotency-Key header.",
		action: "redeem_approval", scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}, roles: []models.Role{models.RoleERP},
		bodies: []*wire.Spec{wire.RedeemBody}, answer: reflect.TypeFor[approvals.RedeemResult](), status: []int{http.StatusOK},
		fails: []models.Code{models.ApprovalMissing, models.PeriodClosed},
		run: func(ctx context.Context, c *call) (int, any, error) {
			in, err := wire.ReadRedeem(c.body)
			if err != nil {
				return 0, nil, err
			}
			in.Reachable = c.identity.Reachable()
			result, err := a.cfg.Approvals.Redeem(ctx, c.by, in)
			return http.StatusOK, result, err
		},
	}
}

func (a *API) report() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/approvals/{approval_id}/report", name: "reportWrite", summary: "Report how an approved write ended",
		about:  "A failed write may be tried again under the same approval and key, and then be reported as posted. Silence for 15 minutes alarms the people who approved.",
		action: "report_write", scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}, roles: []models.Role{models.RoleERP},
		bodies: []*wire.Spec{wire.ReportBody}, answer: reflect.TypeFor[approvals.ReportResult](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound, models.Conflict, models.Unprocessable},
		run: func(ctx context.Context, c *call) (int, any, error) {
			id, in, idem, err := wire.ReadReport(c.body)
			if err != nil {
				return 0, nil, err
			}
			result, err := a.cfg.Approvals.Report(ctx, c.by, id, in, idem)
			return http.StatusOK, result, err
		},
	}
}
