package mcpserver

import (
	"context"
	"net/url"
	"reflect"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/wire"
)

// readers may read what their workspace holds; the services narrow agents to what they filed.
var readers = []models.Role{models.RoleAgent, models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead,
	models.RoleMasterData, models.RoleAuditor, models.RoleAdmin}

// handoverAnswer is where a handover went.
type handoverAnswer struct {
	queue.HandoverResult
	URL string `json:"url" jsonschema:"page of the case, for people"`
}

func (h *handler) pageOf(kind, id string) string {
	return h.cfg.PublicURL + "/" + kind + "/" + url.PathEscape(id)
}

const handoverFields = "Give reason, invoice (id, amount, currency and whatever else you know) and errors, oldest first, exactly as the tools answered them: the last one decides who gets the case. " +
	"Add evidence a person needs to judge (records you read, comparisons, tables, notes), your explanation, and a suggestion if you have one. "

const handoverNext = "The same stop handed over again joins the open case (created false). " +
	"Then call get_case with the case_id and wait_seconds until it has an instruction; if the answer itself has one, follow it."

func (h *handler) routeToPerson() *tool {
	return &tool{
		name: "route_to_person", title: "Hand an invoice over to a person",
		description: "Hands an invoice you cannot go on with to the person who can decide. Use it when an error's next_action is route_to_person, when a corrected retry failed again (reason retry_exhausted), " +
			"or when you notice that you go in circles or your budget is spent. " + handoverFields +
			"Errors whose next_action is request_approval or hold_and_recheck belong to those tools. " + handoverNext +
			" To answer a person's question on a case send case_id and answer alone (with evidence, explanation and run_id if you like).",
		scopes: []models.Scope{models.ScopeCasesWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.HandoverArguments, output: reflect.TypeFor[handoverAnswer](),
		run: h.handOver(false),
	}
}

func (h *handler) stopAndEscalate() *tool {
	return &tool{
		name: "stop_and_escalate", title: "Stop and escalate an invoice",
		description: "Stops work on an invoice and puts it in front of a person. Use it when an error's next_action is stop_and_escalate, such as PERIOD_CLOSED; do nothing more on that invoice until the case has an instruction. " +
			handoverFields + "Without any of the known codes the case goes to finance. " + handoverNext,
		scopes: []models.Scope{models.ScopeCasesWrite}, roles: []models.Role{models.RoleAgent},
		spec: wire.HandoverArguments, output: reflect.TypeFor[handoverAnswer](),
		run: h.handOver(true),
	}
}

func (h *handler) handOver(escalate bool) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		result, err := h.file(ctx, c, escalate)
		if err != nil {
			return nil, err
		}
		c.log.about(result.CaseID)
		return handoverAnswer{result, h.pageOf("cases", result.CaseID)}, nil
	}
}

func (h *handler) file(ctx context.Context, c *call, escalate bool) (queue.HandoverResult, error) {
	if wire.IsAnswer(c.body) {
		in, idem, err := wire.ReadAnswer(c.body)
		if err != nil {
			return queue.HandoverResult{}, err
		}
		return h.cfg.Queue.Answer(ctx, c.by, in, idem)
	}
	in, idem, err := wire.ReadHandover(c.body, escalate)
	if err != nil {
		return queue.HandoverResult{}, err
	}
	return h.cfg.Queue.HandOver(ctx, c.by, in, idem)
}

func (h *handler) getCase() *tool {
	return &tool{
		name: "get_case", title: "Read a case",
		description: "Reads a case you handed over. With wait_seconds (0 to 50) it answers as soon as a person has decided, else with the case as it is when the time is up; call it again while instruction is null. " +
			"The instruction is what you do next: resume (go on; with a question, answer it through route_to_person), retry_with (make the call again with instruction.input laid over your arguments), " +
			"wait (leave it until the date given) or stop.",
		scopes: []models.Scope{models.ScopeCasesRead}, roles: readers, readOnly: true,
		spec: wire.GetCaseArguments, output: reflect.TypeFor[queue.CaseView](),
		run: func(ctx context.Context, c *call) (any, error) {
			in, err := wire.ReadGetCase(c.body)
			if err != nil {
				return nil, err
			}
			c.log.about(in.CaseID)
			view, err := await(ctx, h, time.Duration(in.WaitSeconds)*time.Second, func(ctx context.Context, wait time.Duration) (queue.CaseView, error) {
				return h.cfg.Queue.Await(ctx, c.by, in.CaseID, wait)
			})
			if err != nil {
				return nil, err
			}
			view.URL = h.pageOf("cases", view.CaseID)
			return view, nil
		},
	}
}
