package mcpserver

import (
	"context"
	"reflect"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/wire"
)

func (h *handler) holdAndRecheck() *tool {
	return &tool{
		name: "hold_and_recheck", title: "Hold an invoice for a re-check",
		description: "Makes an invoice wait and be checked again. Use it when an error's next_action is hold_and_recheck and it is not retryable, such as GR_MISSING: give code, invoice and po_id (line if it is about one). " +
			"Without recheck_at the first check is the next business morning. A hold for the same invoice, order and line is joined (created false). Then go on with other invoices; list_due_rechecks tells when to look again. " +
			"After the last check without success a person gets the case.",
		scopes: []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.HoldBody, output: reflect.TypeFor[queue.HoldResult](),
		run: func(ctx context.Context, c *call) (any, error) {
			in, idem, err := wire.ReadHold(c.body)
			if err != nil {
				return nil, err
			}
			result, err := h.cfg.Queue.Hold(ctx, c.by, in, idem)
			if err != nil {
				return nil, err
			}
			c.log.about(result.HoldID)
			return result, nil
		},
	}
}

func (h *handler) listDueRechecks() *tool {
	return &tool{
		name: "list_due_rechecks", title: "Take the re-checks that are due",
		description: "Takes your holds whose check is due, for ten minutes: nobody else gets them meanwhile. For each, make the read that failed before, then call report_recheck. An empty list means nothing is due now.",
		scopes:      []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.LeaseBody, output: reflect.TypeFor[queue.HoldList](),
		run: func(ctx context.Context, c *call) (any, error) {
			limit, idem, err := wire.ReadLease(c.body)
			if err != nil {
				return nil, err
			}
			due, err := h.cfg.Queue.LeaseDue(ctx, c.by, limit, idem)
			if err != nil {
				return nil, err
			}
			for i := range due.Items {
				due.Items[i].URL = h.pageOf("holds", due.Items[i].HoldID)
			}
			return due, nil
		},
	}
}

func (h *handler) reportRecheck() *tool {
	return &tool{
		name: "report_recheck", title: "Report a re-check",
		description: "Says what a re-check of a hold found: available (the hold ends; go on with the invoice) or still_missing (it waits for the next check, or, after the last one, goes to a person: then case_id names the case to read with get_case).",
		scopes:      []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.RecheckArguments, output: reflect.TypeFor[queue.HoldResult](),
		run: func(ctx context.Context, c *call) (any, error) {
			holdID, result, idem, err := wire.ReadRecheck(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(holdID)
			return h.cfg.Queue.ReportCheck(ctx, c.by, holdID, result, idem)
		},
	}
}
