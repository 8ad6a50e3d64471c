package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/wire"
)

func (a *API) hold() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/holds", name: "holdAndRecheck", summary: "Make an invoice wait for a re-check",
		about:  "A hold for the same invoice, order and line is joined: 200 and created false.",
		action: "hold_and_recheck", scopes: []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.HoldBody}, answer: reflect.TypeFor[queue.HoldResult](),
		status: []int{http.StatusCreated, http.StatusOK}, fails: []models.Code{models.Conflict, models.Unprocessable},
		run: func(ctx context.Context, c *call) (int, any, error) {
			in, idem, err := wire.ReadHold(c.body)
			if err != nil {
				return 0, nil, err
			}
			result, err := a.cfg.Queue.Hold(ctx, c.by, in, idem)
			return made(result.Created), result, err
		},
	}
}

func (a *API) listHolds() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/holds", name: "listHolds", summary: "List holds",
		about:  "due=true lists those whose check is due, without leasing them; POST /holds/lease takes them.",
		scopes: []models.Scope{models.ScopeHoldsRead},
		query:  reflect.TypeFor[wire.HoldQuery](), answer: reflect.TypeFor[queue.HoldList](), status: []int{http.StatusOK},
		run: func(ctx context.Context, c *call) (int, any, error) {
			q := c.query.(*wire.HoldQuery)
			list, err := a.cfg.Queue.ListHolds(ctx, c.by, queue.HoldFilter{
				Status: models.HoldStatus(q.Status), Due: q.Due, InvoiceID: q.InvoiceID, Cursor: q.Cursor, Limit: int(q.Limit)})
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, a.withPages(list), nil
		},
	}
}

func (a *API) withPages(list queue.HoldList) queue.HoldList {
	for i := range list.Items {
		list.Items[i].URL = a.pageOf("holds", list.Items[i].HoldID)
	}
	return list
}

func (a *API) getHold() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/holds/{hold_id}", name: "getHold", summary: "Read a hold",
		scopes: []models.Scope{models.ScopeHoldsRead},
		answer: reflect.TypeFor[queue.HoldView](), status: []int{http.StatusOK}, fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			view, err := a.cfg.Queue.GetHold(ctx, c.by, c.id)
			if err != nil {
				return 0, nil, err
			}
			view.URL = a.pageOf("holds", view.HoldID)
			return http.StatusOK, view, nil
		},
	}
}

func (a *API) lease() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/holds/lease", name: "leaseDueRechecks", summary: "Take the re-checks that are due",
		about:  "Each hold taken is yours for ten minutes; nobody else gets it meanwhile.",
		action: "list_due_rechecks", scopes: []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.LeaseBody}, empty: true, answer: reflect.TypeFor[queue.HoldList](), status: []int{http.StatusOK},
		run: func(ctx context.Context, c *call) (int, any, error) {
			limit, idem, err := wire.ReadLease(c.body)
			if err != nil {
				return 0, nil, err
			}
			due, err := a.cfg.Queue.LeaseDue(ctx, c.by, limit, idem)
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, a.withPages(due), nil
		},
	}
}

func (a *API) recheck() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/holds/{hold_id}/recheck", name: "reportRecheck", summary: "Report what a re-check found",
		about:  "available ends the hold; still_missing plans the next check, and after the last one a case opens.",
		action: "report_recheck", scopes: []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.RecheckBody}, answer: reflect.TypeFor[queue.HoldResult](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound, models.Conflict},
		run: func(ctx context.Context, c *call) (int, any, error) {
			id, result, idem, err := wire.ReadRecheck(c.body)
			if err != nil {
				return 0, nil, err
			}
			answer, err := a.cfg.Queue.ReportCheck(ctx, c.by, id, result, idem)
			return http.StatusOK, answer, err
		},
	}
}
