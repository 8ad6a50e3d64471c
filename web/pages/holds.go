package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// stateOverdue lists the holds whose check is due and not made.
const stateOverdue = "overdue"

// listHolds is GET /holds.
func (v *visit) listHolds() error {
	state, cursor := orSome(v.c.Query("state"), string(models.HoldWaiting)), v.c.Query("cursor")
	f := queue.HoldFilter{Cursor: cursor, Status: models.HoldStatus(state)}
	if state == stateOverdue {
		f.Status, f.Due = "", true
	}
	list, err := v.p.queue.ListHolds(v.ctx, v.by, f)
	if models.IsCode(err, models.ValidationError) {
		state = string(models.HoldWaiting)
		list, err = v.p.queue.ListHolds(v.ctx, v.by, queue.HoldFilter{Status: models.HoldWaiting})
	}
	if err != nil {
		return err
	}
	due, err := v.p.queue.ListHolds(v.ctx, v.by, queue.HoldFilter{Due: true, Limit: queue.MostLimit})
	if err != nil {
		return err
	}
	overdue := len(due.Items)
	page, err := v.page(counted(v.tr("Holds"), overdue), v.link("/holds", "state", v.c.Query("state"), "cursor", cursor), "holds")
	if err != nil {
		return err
	}
	tab := func(label, of string, count string) ui.Tab {
		return ui.Tab{Label: label, Count: count, URL: v.link("/holds", "state", of), Current: state == of, TestID: "filter-" + of}
	}
	out := views.HoldsPage{Page: page, Caption: v.lower(v.holdStateName(state)), Rows: v.holdRows(list.Items),
		Lead: v.tr("Invoices that wait for something the ERP does not have yet. The agent checks again on schedule; after the last check a person decides."),
		Tabs: []ui.Tab{tab(v.tr("Waiting"), string(models.HoldWaiting), ""), tab(v.tr("Overdue"), stateOverdue, fmt.Sprint(overdue)), tab(v.tr("Escalated"), string(models.HoldEscalated), ""),
			tab(v.tr("Released"), string(models.HoldReleased), ""), tab(v.tr("Cancelled"), string(models.HoldCancelled), "")},
		Empty: ui.Empty{Heading: v.noHold(state), TestID: "empty"},
		Pager: v.pager("/holds", len(list.Items), cursor, list.NextCursor, "state", state)}
	if state == string(models.HoldWaiting) {
		out.Empty = ui.Empty{Heading: v.tr("Nothing waits for a re-check"), Text: v.tr("When a goods receipt is missing, the agent holds the invoice here and looks again."), TestID: "empty"}
	}
	return render(v.c, http.StatusOK, views.Holds(out))
}

// holdStateName is a state of holds in words, as its tab has it.
func (w words) holdStateName(state string) string {
	if state == stateOverdue {
		return w.tr("Overdue")
	}
	return w.holdBadge(models.HoldStatus(state), false).Text
}

func (w words) noHold(state string) string {
	switch state {
	case stateOverdue:
		return w.tr("No hold is overdue")
	case string(models.HoldEscalated):
		return w.tr("No hold is escalated")
	case string(models.HoldReleased):
		return w.tr("No hold is released")
	}
	return w.tr("No hold is cancelled")
}

// isOverdue says whether a hold's check is due and not made.
func (v *visit) isOverdue(h queue.HoldView) bool {
	return h.Status == models.HoldWaiting && !h.NextCheckAt.IsZero() && !v.now.Before(h.NextCheckAt.Time)
}

func (v *visit) holdRows(items []queue.HoldView) []views.HoldRow {
	rows := make([]views.HoldRow, 0, len(items))
	for _, h := range items {
		row := views.HoldRow{ID: h.HoldID, URL: holdURL(h.HoldID), Status: v.holdBadge(h.Status, v.isOverdue(h)), CodeWords: v.codeTitle(h.Code), Code: ui.Foreign(h.Code),
			InvoiceNumber: ui.Foreign(h.InvoiceNumber), Supplier: ui.Foreign(h.Supplier), PO: v.orderLine(h), Amount: v.figures(h.Amount, h.Currency), Currency: h.Currency,
			Waiting: v.age(h.CreatedAt), Agent: ui.Foreign(h.Agent), Left: v.tr("%d of %d", h.ChecksLeft, h.MaxChecks)}
		if h.Status == models.HoldWaiting {
			row.NextCheck = v.due(h.NextCheckAt)
		}
		if made := h.MaxChecks - h.ChecksLeft; made > 0 && h.Status == models.HoldWaiting {
			row.Last = v.trn("still missing after %d check", "still missing after %d checks", made)
		}
		rows = append(rows, row)
	}
	return rows
}

func (w words) orderLine(h queue.HoldView) ui.Foreign {
	if h.Line == nil {
		return ui.Foreign(h.PoID)
	}
	return ui.Foreign(w.tr("%s, line %d", h.PoID, *h.Line))
}

// goToHold enters the workspace that holds the hold.
func (v *visit) goToHold(id string) error {
	return v.find(func() error {
		_, err := v.p.queue.GetHold(v.ctx, v.by, id)
		return err
	})
}

// showHold is GET /holds/{id}.
func (v *visit) showHold() error {
	id := v.param("id")
	var page queue.HoldPage
	err := v.find(func() error {
		var err error
		page, err = v.p.queue.HoldPage(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	h, r := page.Hold, v.reader()
	r.bankData = r.bankData && !page.Hidden
	title := v.codeTitle(h.Code)
	if number := ui.Foreign(h.InvoiceNumber).Plain(); number != "" {
		title += ": " + number
	}
	around, err := v.page(title, holdURL(id), "hold:"+id)
	if err != nil {
		return err
	}
	badge := v.holdBadge(h.Status, v.isOverdue(h))
	badge.TestID = "hold-status"
	out := views.HoldPage{Page: around, ID: h.HoldID, BackURL: v.link("/holds"), Heading: v.codeTitle(h.Code), Code: ui.Foreign(h.Code), Status: badge,
		Left: v.tr("%d of %d checks left", h.ChecksLeft, h.MaxChecks), Waiting: v.at(h.CreatedAt), Agent: ui.Foreign(h.Agent), PO: ui.Foreign(v.tr("PO %s", v.orderLine(h))),
		Invoice: r.invoice(h.Invoice), Errors: r.seenErrors(h.Errors), Timeline: v.timeline(page.Timeline, nil)}
	if h.Status == models.HoldWaiting {
		out.NextCheck = v.due(h.NextCheckAt)
	}
	for i, c := range page.Checks {
		out.Checks = append(out.Checks, v.check(i+1, c))
	}
	slices.Reverse(out.Checks)
	if h.CaseID != "" {
		out.Case = &views.RelatedLink{Text: v.tr("The case that was opened"), URL: caseURL(h.CaseID)}
	}
	if h.Status == models.HoldCancelled {
		out.Notices = append(out.Notices, v.cancelled(page.Timeline))
	}
	if v.isOverdue(h) {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("The check is overdue"), TestID: "overdue",
			Text: ui.Foreign(v.tr("A check that nobody makes within 24 hours of its time counts as missed. After the last one a case opens in accounts payable."))})
	}
	return render(v.c, http.StatusOK, views.Hold(out))
}

// cancelled says who ended a hold, and why.
func (v *visit) cancelled(events []models.AuditEvent) ui.Notice {
	n := ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("This hold is cancelled: no check of it comes due any more"), TestID: "cancelled"}
	for _, e := range events {
		if e.Action != "hold.cancelled" {
			continue
		}
		var d eventData
		_ = json.Unmarshal([]byte(e.Data), &d) // without a reason that can be read there is none
		n.Heading, n.Text = v.tr("%s cancelled this hold %s", ui.Foreign(e.ActorName).Plain(), v.ago(e.At)), ui.Foreign(orSome(d.Reason, v.tr("No reason was given. No check of it comes due any more.")))
	}
	return n
}

func (v *visit) check(number int, c models.HoldCheck) views.HoldCheck {
	out := views.HoldCheck{Number: fmt.Sprint(number), Due: v.exactly(c.DueAt), At: v.at(c.At), By: ui.Foreign(c.ByName)}
	switch c.Result {
	case string(queue.CheckAvailable):
		out.Result = ui.Badge{Text: v.tr("Available"), Tone: ui.ToneGood, Sign: ui.SignYes}
	case string(queue.CheckStillMissing):
		out.Result = ui.Badge{Text: v.tr("Still missing"), Tone: ui.ToneWarn, Sign: ui.SignNo}
	default:
		out.Result, out.At = ui.Badge{Text: v.tr("Missed"), Tone: ui.ToneBad, Sign: ui.SignAlert}, ui.Moment{}
	}
	return out
}
