package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/wire"
)

// handoverAnswer is where a handover went.
type handoverAnswer struct {
	queue.HandoverResult
	URL string `json:"url"`
}

func made(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (a *API) handOver() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/handovers", name: "handOver", summary: "Hand an invoice over to a person",
		about: "The last of the ten codes among the errors decides where the case goes. The same stop handed over again joins the open case: 200 and created false. " +
			"An answer to a person's question is a body of case_id and answer alone, with evidence, explanation and run_id if wanted.",
		action: "route_to_person", scopes: []models.Scope{models.ScopeCasesWrite}, roles: []models.Role{models.RoleAgent},
		bodies: []*wire.Spec{wire.HandoverBody, wire.AnswerBody}, answer: reflect.TypeFor[handoverAnswer](),
		status: []int{http.StatusCreated, http.StatusOK}, fails: []models.Code{models.Conflict, models.Unprocessable, models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			result, err := a.file(ctx, c)
			if err != nil {
				return 0, nil, err
			}
			return made(result.Created), handoverAnswer{result, a.pageOf("cases", result.CaseID)}, nil
		},
	}
}

func (a *API) file(ctx context.Context, c *call) (queue.HandoverResult, error) {
	if wire.IsAnswer(c.body) {
		in, idem, err := wire.ReadAnswer(c.body)
		if err != nil {
			return queue.HandoverResult{}, err
		}
		return a.cfg.Queue.Answer(ctx, c.by, in, idem)
	}
	in, idem, err := wire.ReadHandover(c.body, false)
	if err != nil {
		return queue.HandoverResult{}, err
	}
	return a.cfg.Queue.HandOver(ctx, c.by, in, idem)
}

func (a *API) listCases() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/cases", name: "listCases", summary: "List cases",
		about:  "Agents see the cases they filed, people of the workspace all of them.",
		action: "get_case", scopes: []models.Scope{models.ScopeCasesRead},
		query: reflect.TypeFor[wire.CaseQuery](), answer: reflect.TypeFor[queue.Page](), status: []int{http.StatusOK},
		run: func(ctx context.Context, c *call) (int, any, error) {
			q := c.query.(*wire.CaseQuery)
			page, err := a.cfg.Queue.List(ctx, c.by, queue.Filter{
				Queue: models.Queue(q.Queue), Status: models.CaseStatus(q.Status), Unresolved: q.Unresolved, Code: models.Code(q.Code),
				Reason: models.HandoverReason(q.Reason), ClaimedBy: q.ClaimedBy, Supplier: q.Supplier, InvoiceID: q.InvoiceID,
				InvoiceNumber: q.InvoiceNumber, PoID: q.PoID, RunID: q.RunID, Agent: q.Agent, Due: q.Due, Snoozed: q.Snoozed, Age: q.Age,
				Currency: q.Currency, AmountFrom: q.AmountFrom, AmountTo: q.AmountTo, Cursor: q.Cursor, Limit: int(q.Limit), Sort: q.Sort,
			})
			if err != nil {
				return 0, nil, err
			}
			for i := range page.Items {
				page.Items[i].URL = a.pageOf("cases", page.Items[i].CaseID)
			}
			return http.StatusOK, page, nil
		},
	}
}

func (a *API) getCase() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/cases/{case_id}", name: "getCase", summary: "Read a case",
		about:  "With wait the answer comes as soon as a person has decided, else with the case as it is when the time is up.",
		action: "get_case", scopes: []models.Scope{models.ScopeCasesRead},
		query: reflect.TypeFor[wire.WaitQuery](), answer: reflect.TypeFor[queue.CaseView](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			q := c.query.(*wire.WaitQuery)
			view, err := wait(a, ctx, q.Wait, func(ctx context.Context, d time.Duration) (queue.CaseView, error) {
				return a.cfg.Queue.Await(ctx, c.by, c.id, d)
			})
			if err != nil {
				return 0, nil, err
			}
			view.URL = a.pageOf("cases", view.CaseID)
			return http.StatusOK, view, nil
		},
	}
}
