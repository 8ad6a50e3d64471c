package mcpserver

import (
	"context"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// requestAnswer is where an approval request stands.
type requestAnswer struct {
	approvals.RequestView
	URL string `json:"url" jsonschema:"page of the request, for people"`
}

func (h *handler) answerTo(view approvals.RequestView) requestAnswer {
	view.Refused = nil // told as an error by those whom it concerns
	return requestAnswer{view, h.pageOf("approvals", view.RequestID)}
}

func (h *handler) requestApproval() *tool {
	return &tool{
		name: "request_approval", title: "Request approval of one write",
		description: "Asks the people entitled to it for leave to make exactly one write. Use it when an error's next_action is request_approval (APPROVAL_MISSING, TOLERANCE_EXCEEDED), or before a write you know needs approval. " +
			"action holds the tool and the exact arguments you will call it with: the approval is bound to them, so any change later needs a new request. Leave approval_id and idempotency_key out of them. " +
			"amount and currency say what the write moves, summary says in one sentence what it does; add posting_date, document_type, explanation and evidence. " +
			"Asking again for the same call joins the request that waits (created false). Then call get_approval with the request_id and wait_seconds.",
		scopes: []models.Scope{models.ScopeApprovalsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.ApprovalRequestBody, output: reflect.TypeFor[requestAnswer](), opaque: "/action/arguments",
		run: func(ctx context.Context, c *call) (any, error) {
			in, idem, err := wire.ReadApprovalRequest(c.body)
			if err != nil {
				return nil, err
			}
			view, err := h.cfg.Approvals.Request(ctx, c.by, in, idem)
			if err != nil {
				return nil, err
			}
			c.log.about(view.RequestID)
			if view.Refused != nil {
				return nil, view.Refused
			}
			return h.answerTo(view), nil
		},
	}
}

func (h *handler) getApproval() *tool {
	return &tool{
		name: "get_approval", title: "Read an approval request",
		description: "Reads an approval request you made. With wait_seconds (0 to 50) it answers as soon as it is decided, else with its state when the time is up; call it again while status is pending or unrouted. " +
			"approved: make the very call you asked for, with approval_id added to its arguments, once, before approval_expires_at. rejected: read reason, and follow instruction if there is one (retry_with: correct the arguments and request again). " +
			"expired or withdrawn: the write may not be made.",
		scopes: []models.Scope{models.ScopeApprovalsRead}, roles: readers, readOnly: true,
		spec: wire.GetRequestArguments, output: reflect.TypeFor[requestAnswer](),
		run: func(ctx context.Context, c *call) (any, error) {
			in, err := wire.ReadGetApproval(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(in.RequestID)
			view, err := await(ctx, h, time.Duration(in.WaitSeconds)*time.Second, func(ctx context.Context, wait time.Duration) (approvals.RequestView, error) {
				return h.cfg.Approvals.Await(ctx, c.by, in.RequestID, wait)
			})
			if err != nil {
				return nil, err
			}
			return h.answerTo(view), nil
		},
	}
}

func (h *handler) redeemApproval() *tool {
	return &tool{
		name: "redeem_approval", title: "Redeem an approval before a write",
		description: "For the system that makes the write, not for the agent that asked. Spends an approval for exactly the call it is bound to, and proves who approved. Call it before you write; write only when it succeeds. " +
			"The same idempotency_key with the same call gives the first answer again, so a lost response can be repeated. Any other use answers APPROVAL_MISSING with details.reason and spends nothing. Afterwards call report_write.",
		scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}, roles: []models.Role{models.RoleERP},
		spec: wire.RedeemArguments, output: reflect.TypeFor[approvals.RedeemResult](), opaque: "/arguments",
		run: func(ctx context.Context, c *call) (any, error) {
			in, err := wire.ReadRedeem(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(models.MaskID(in.ApprovalID))
			in.Reachable = c.identity.Reachable()
			return h.cfg.Approvals.Redeem(ctx, c.by, in)
		},
	}
}

func (h *handler) reportWrite() *tool {
	return &tool{
		name: "report_write", title: "Report how an approved write ended",
		description: "For the system that makes the write. After redeem_approval, says whether the write was posted (with document_number) or failed (with message). A write reported as failed may be tried again under the same approval and idempotency_key, " +
			"and then be reported as posted. A posted write reported without its document number may be reported once more with it. Silence for 15 minutes alarms the people who approved.",
		scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}, roles: []models.Role{models.RoleERP},
		spec: wire.ReportArguments, output: reflect.TypeFor[approvals.ReportResult](),
		run: func(ctx context.Context, c *call) (any, error) {
			approvalID, in, idem, err := wire.ReadReport(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(models.MaskID(approvalID))
			return h.cfg.Approvals.Report(ctx, c.by, approvalID, in, idem)
		},
	}
}
