package pages

import (
	"net/http"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// queueFilters are the fields that narrow a queue's list, as they stand in its address.
var queueFilters = []string{"state", "due", "code", "claimed_by", "supplier", "invoice_id", "number", "po_id", "run_id", "sort"}

// showQueue is GET /queues/{queue}.
func (v *visit) showQueue() error {
	q := models.Queue(v.param("queue"))
	if !q.Valid() {
		return models.Missing("queue", string(q))
	}
	query := v.narrowed()
	state := models.CaseStatus(orSome(v.c.Query("state"), string(models.CaseOpen)))
	snoozed := v.c.Query("state") == stateSnoozed
	if !state.Valid() {
		state = models.CaseOpen
	}
	f := queue.Filter{Queue: q, Status: state, Code: models.Code(v.c.Query("code")), ClaimedBy: v.c.Query("claimed_by"), Supplier: v.c.Query("supplier"),
		InvoiceID: v.c.Query("invoice_id"), InvoiceNumber: v.c.Query("number"), PoID: v.c.Query("po_id"), RunID: v.c.Query("run_id"),
		Due: v.c.Query("due"), Sort: v.c.Query("sort"), Cursor: v.c.Query("cursor")}
	switch {
	case snoozed:
		f.Snoozed = queue.SnoozedOnly
	case f.Due == "" && state == models.CaseOpen:
		f.Snoozed = queue.SnoozedNot // what is due is due, snoozed or not
	}
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
		States: v.queueTabs(n, state, f.Due, snoozed),
		Pager:  v.pager(queueURL(q), len(list.Items), f.Cursor, list.NextCursor, query...)}
	out.Empty = v.emptyQueue(q, state)
	if f.Due != "" || snoozed {
		out.Empty = v.nothingDue(q, f.Due)
	}
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
	return lead + queueLoad(n)
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
