package pages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// queueFilters are the fields that narrow a queue's list, as they stand in its address.
var queueFilters = []string{"state", "code", "claimed_by", "supplier", "invoice_id", "number", "po_id", "run_id", "sort"}

// showQueue is GET /queues/{queue}.
func (v *visit) showQueue() error {
	q := models.Queue(v.param("queue"))
	if !q.Valid() {
		return models.Missing("queue", string(q))
	}
	query := v.narrowed()
	state := models.CaseStatus(orSome(v.c.Query("state"), string(models.CaseOpen)))
	if !state.Valid() {
		state = models.CaseOpen
	}
	f := queue.Filter{Queue: q, Status: state, Code: models.Code(v.c.Query("code")), ClaimedBy: v.c.Query("claimed_by"), Supplier: v.c.Query("supplier"),
		InvoiceID: v.c.Query("invoice_id"), InvoiceNumber: v.c.Query("number"), PoID: v.c.Query("po_id"), RunID: v.c.Query("run_id"),
		Sort: v.c.Query("sort"), Cursor: v.c.Query("cursor")}
	if f.Sort == "" && state == models.CaseResolved {
		f.Sort = queue.SortNewest
	}
	list, err := v.p.queue.List(v.ctx, v.by, f)
	if err != nil {
		return err
	}
	beside, err := v.figures()
	if err != nil {
		return err
	}
	n := queue.QueueCount{Queue: q}
	for _, c := range beside.queues {
		if c.Queue == q {
			n = c
		}
	}
	self := v.link(queueURL(q), append(query, "cursor", f.Cursor)...)
	page, err := v.page(counted(q.Title(), n.Open), self, "queue:"+string(q))
	if err != nil {
		return err
	}
	out := views.QueuePage{Page: page, Heading: q.Title(), Code: string(q), Lead: queueLead(n), Rows: v.caseRows(list.Items, false),
		States: []ui.Tab{
			{Label: "Open", Count: fmt.Sprint(n.Open), URL: v.link(queueURL(q)), Current: state == models.CaseOpen, TestID: "filter-open"},
			{Label: "Held", Count: fmt.Sprint(n.Held), URL: v.link(queueURL(q), "state", "held"), Current: state == models.CaseHeld, TestID: "filter-held"},
			{Label: "Resolved", URL: v.link(queueURL(q), "state", "resolved"), Current: state == models.CaseResolved, TestID: "filter-resolved"},
		},
		Pager: v.pager(queueURL(q), len(list.Items), f.Cursor, list.NextCursor, query...)}
	out.Empty = v.emptyQueue(q, state)
	return render(v.c, http.StatusOK, views.Queue(out))
}

// narrowed are the filters in the address, in pairs.
func (v *visit) narrowed() []string {
	var query []string
	for _, name := range queueFilters {
		if value := v.c.Query(name); value != "" {
			query = append(query, name, strings.Clone(value))
		}
	}
	return query
}

func queueLead(n queue.QueueCount) string {
	roles := make([]string, 0, 2)
	for _, r := range n.Queue.Roles() {
		roles = append(roles, lower(r.Title()))
	}
	lead := "Worked by " + list(roles) + ". "
	switch {
	case n.Open == 0:
		lead += "Nothing is open."
	case n.Overdue > 0:
		lead += fmt.Sprintf("%d open, %s of them overdue.", n.Open, overdueText(n.Overdue))
	default:
		lead += fmt.Sprintf("%d open, none overdue.", n.Open)
	}
	return lead
}

func (v *visit) emptyQueue(q models.Queue, state models.CaseStatus) ui.Empty {
	switch state {
	case models.CaseHeld:
		return ui.Empty{Heading: "Nothing is held here", Text: "Cases that wait for a date come back by themselves.", LinkText: "See what is open", URL: v.link(queueURL(q)), TestID: "empty"}
	case models.CaseResolved:
		return ui.Empty{Heading: "Nothing was resolved here yet", LinkText: "See what is open", URL: v.link(queueURL(q)), TestID: "empty"}
	}
	return ui.Empty{Heading: "Nothing is waiting here", Text: "When the agent stops at something this queue decides, the case appears here by itself.",
		LinkText: "See what was resolved", URL: v.link(queueURL(q), "state", "resolved"), TestID: "empty"}
}
