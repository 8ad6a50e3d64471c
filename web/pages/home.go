package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	// soonHours is how long before a request lapses its deciders are warned.
	soonHours = 24
	// shownHere bounds each list of the desk; the list's own page has the rest.
	shownHere = 25
)

// home is GET /: what waits for this person, then where the rest stands.
func (v *visit) home() error {
	work, err := v.p.queue.Mine(v.ctx, v.by)
	if err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return err
	}
	late, err := v.p.queue.DueForMe(v.ctx, v.by)
	if err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return err
	}
	beside, err := v.counts()
	if err != nil {
		return err
	}
	waiting := beside.waiting
	shown, err := v.p.approvals.WaitingFor(v.ctx, v.by, "", shownHere)
	if err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return err
	}
	due, err := v.p.queue.ListHolds(v.ctx, v.by, queue.HoldFilter{Due: true})
	if err != nil {
		return err
	}
	unreported, err := v.unreported()
	if err != nil {
		return err
	}
	standIns, err := v.delegationNotes()
	if err != nil {
		return err
	}
	page, err := v.page(waitingCount{len(work.Claimed) + waiting.n + len(beside.answers), waiting.more}.counted(v.tr("Your desk")), v.link("/"), "home")
	if err != nil {
		return err
	}
	out := views.HomePage{Page: page, Lead: v.homeLead(work, waiting, len(beside.answers)), Mine: v.caseRows(work.Claimed, true),
		MineEmpty:    v.nothingClaimed(work.Counts),
		Overdue:      v.caseRows(without(late.Overdue, work.Claimed), true),
		Soon:         v.caseRows(without(late.Soon, work.Claimed), true),
		Next:         v.caseRows(without(work.Next, late.Overdue, late.Soon), true),
		Approvals:    v.approvalRows(shown.Items),
		ApprovalsURL: v.link("/approvals"),
		ApprovalsEmpty: ui.Empty{Heading: v.tr("No approval waits for you"), Text: v.tr("When a write needs your yes, it appears here by itself, with the exact call."),
			LinkText: v.tr("All approvals"), URL: v.link("/approvals", "tab", tabOpen)},
		ShowApprovals:     waiting.n > 0 || v.by.Has(models.RoleFinanceLead),
		ShowConfirmations: len(beside.answers) > 0 || v.by.Has(models.RoleFinanceLead), Confirmations: v.confirmationRows(beside.answers[:min(len(beside.answers), shownHere)]),
		ConfirmationsURL: v.link("/confirmations"), ConfirmationsEmpty: v.nothingToConfirm(),
		Holds: v.holdRows(due.Items[:min(len(due.Items), shownHere)]), HoldsURL: v.link("/holds"), ShowHolds: len(due.Items) > 0 || v.by.Has(models.RoleAPClerk, models.RoleAPLead),
		HoldsEmpty: ui.Empty{Heading: v.tr("No re-check is overdue"), Text: v.tr("Invoices that wait for a goods receipt are checked by the agent on schedule.")},
		Notices:    slices.Concat(standIns, v.alerts(work.Fraud, shown.Items), unreported),
	}
	for _, c := range work.Counts {
		out.Queues = append(out.Queues, v.queueCount(c))
	}
	return render(v.c, http.StatusOK, views.Home(out))
}

// without leaves out the cases that another list of the page shows.
func without(items []queue.CaseItem, shown ...[]queue.CaseItem) []queue.CaseItem {
	return slices.DeleteFunc(slices.Clone(items), func(i queue.CaseItem) bool {
		return slices.ContainsFunc(slices.Concat(shown...), func(s queue.CaseItem) bool { return s.CaseID == i.CaseID })
	})
}

func (v *visit) homeLead(work queue.MyWork, waiting waitingCount, confirmations int) string {
	day := v.lang.Format(v.now.In(v.zone), lang.WeekdayLong)
	open := int64(0)
	for _, c := range work.Counts {
		if c.Mine {
			open += c.Open
		}
	}
	var parts []string
	if open > 0 {
		parts = append(parts, v.trn("%d case is open in your queues", "%d cases are open in your queues", int(open)))
	}
	switch {
	case waiting.more && waiting.n > 0:
		parts = append(parts, v.tr("more than %d approvals wait for you", waiting.n))
	case waiting.n > 0:
		parts = append(parts, v.trn("%d approval waits for you", "%d approvals wait for you", waiting.n))
	}
	if confirmations > 0 {
		parts = append(parts, v.trn("%d confirmation waits for you", "%d confirmations wait for you", confirmations))
	}
	switch {
	case len(parts) > 0:
		return day + ". " + strings.Join(parts, ", ") + "."
	case len(work.Claimed) > 0:
		return day + ". " + v.trn("%d case is open in your queues", "%d cases are open in your queues", 0) + "."
	}
	return day + ". " + v.tr("Nothing waits for you.")
}

// nothingClaimed leads to the person's queue where most waits.
func (v *visit) nothingClaimed(counts []queue.QueueCount) ui.Empty {
	e := ui.Empty{Heading: v.tr("You have claimed nothing"), Text: v.tr("A claim keeps a case yours for 30 minutes while you look into it.")}
	var most queue.QueueCount
	for _, c := range counts {
		if c.Mine && c.Open > most.Open {
			most = c
		}
	}
	if most.Open > 0 {
		e.LinkText, e.URL = v.tr("Go to %s, %d open", v.queue(most.Queue), most.Open), v.link(queueURL(most.Queue))
	}
	return e
}

func (v *visit) queueCount(c queue.QueueCount) views.QueueCount {
	out := views.QueueCount{Code: string(c.Queue), Name: v.queue(c.Queue), URL: v.link(queueURL(c.Queue)), Open: strconv.FormatInt(c.Open, 10), Oldest: v.caseDue(c.OldestDue), Mine: c.Mine,
		OverdueURL: v.link(queueURL(c.Queue), "due", queue.DueOverdue), SoonURL: v.link(queueURL(c.Queue), "due", queue.DueSoon)}
	if c.Overdue > 0 {
		out.Overdue = v.overdueText(c.Overdue)
	}
	if c.DueSoon > 0 {
		out.Soon = v.overdueText(c.DueSoon)
	}
	if c.Snoozed > 0 {
		out.Snoozed = v.overdueText(c.Snoozed)
	}
	if c.Held > 0 {
		out.Held = strconv.FormatInt(c.Held, 10)
	}
	return out
}

func (w words) overdueText(n int64) string {
	if n >= queue.MostOverdue {
		return w.tr("%d or more", queue.MostOverdue)
	}
	return strconv.FormatInt(n, 10)
}

// alerts are what must not be missed: suspected fraud for the AP lead, requests about to lapse for who
// may decide them.
func (v *visit) alerts(fraud []queue.FraudAlert, waiting []approvals.ListItem) []ui.Notice {
	var out []ui.Notice
	for _, f := range fraud {
		out = append(out, ui.Notice{Tone: ui.ToneBad, Heading: v.tr("%s suspects fraud, %s", f.By, v.ago(f.At)),
			Text: ui.Foreign(orSome(f.Supplier, v.tr("unnamed supplier")) + ": " + f.Reason), LinkText: v.tr("See the case"), URL: caseURL(f.CaseID), TestID: "fraud-alert"})
	}
	for _, w := range waiting {
		if left := w.ExpiresAt.Sub(v.now); left.Hours() < soonHours {
			out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("An approval request %s", v.expires(w.ExpiresAt).Text), Text: ui.Foreign(v.tr("Without a decision it lapses and the write is refused.")),
				LinkText: v.tr("Decide it"), URL: requestURL(w.RequestID), TestID: "expiring"})
		}
	}
	return out
}

// unreported are writes released an age ago of which nobody said what came of them; approver and AP
// lead are told.
func (v *visit) unreported() ([]ui.Notice, error) {
	if !v.by.Has(models.RoleFinanceLead, models.RoleAPLead) {
		return nil, nil
	}
	late, err := v.p.approvals.List(v.ctx, v.by, approvals.Filter{Report: approvals.ReportOverdue, Limit: 20})
	if err != nil {
		return nil, err
	}
	var out []ui.Notice
	for _, i := range late.Items {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("No report came of an approved write"), LinkText: v.tr("See the request"), URL: requestURL(i.RequestID), TestID: "report-overdue",
			Text: ui.Foreign(v.tr("%s for invoice %s: check in the ERP whether it was posted.", i.Amount.Format(), orSome(i.Invoice.Number, i.InvoiceID)))})
	}
	return out, nil
}

// counts are what the navigation counts. Somebody without a role of people here has nothing to count.
func (v *visit) counts() (*figuresBeside, error) {
	if v.counted != nil {
		return v.counted, nil
	}
	var beside figuresBeside
	var err error
	if beside.queues, err = v.p.queue.Counts(v.ctx, v.by); err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return nil, err
	}
	beside.waiting.n, beside.waiting.more, err = v.p.approvals.CountWaiting(v.ctx, v.by, mostWaiting)
	if err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return nil, err
	}
	if beside.answers, err = v.p.confirm.WaitingFor(v.ctx, v.by); err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return nil, err
	}
	if beside.unread, err = v.p.store.UnreadNotices(v.ctx, v.by, mostUnread); err != nil {
		return nil, err
	}
	if beside.views, beside.allViews, err = v.keptViews(viewsBeside); err != nil {
		return nil, err
	}
	v.counted = &beside
	return v.counted, nil
}

// counted is a title with the number a person looks for in a row of tabs.
func counted[N int | int64](title string, n N) string { return fmt.Sprintf("%s (%d)", title, n) }

func count(n int) string { return strconv.Itoa(n) }

// caseRows are cases in a list; withQueue names the queue in each.
func (v *visit) caseRows(items []queue.CaseItem, withQueue bool) []views.CaseRow {
	rows := make([]views.CaseRow, 0, len(items))
	for _, i := range items {
		row := views.CaseRow{ID: i.CaseID, URL: v.fromHere(caseURL(i.CaseID)), Status: v.caseBadge(i.Status), CodeWords: v.codeTitle(codeOf(i.Code)), Code: ui.Foreign(codeOf(i.Code)),
			InvoiceNumber: ui.Foreign(orSome(i.InvoiceNumber, i.InvoiceID)), Supplier: ui.Foreign(i.Supplier), Amount: v.figures(i.Amount, i.Currency), Currency: i.Currency,
			ClaimedByMe: i.ClaimedByMe, Age: v.age(i.CreatedAt), Agent: ui.Foreign(i.Agent)}
		switch i.Status {
		case models.CaseOpen:
			row.Due = v.caseDue(i.DueAt)
			if !i.SnoozedUntil.IsZero() {
				row.Status = ui.Badge{Text: v.tr("Snoozed until %s", v.clockIn(i.SnoozedUntil)), Tone: ui.ToneNeutral, Sign: ui.SignPaused}
			}
		case models.CaseHeld:
			row.Due = ui.Moment{Text: v.tr("until %s", v.date(i.HeldUntil)), Absolute: v.weekday(i.HeldUntil), ISO: i.HeldUntil.String()}
		}
		if i.ClaimedBy != nil {
			row.ClaimedBy = *i.ClaimedBy
		}
		if slices.ContainsFunc(i.Marks, func(m queue.Mark) bool { return m.Kind == queue.MarkSuspectedFraud }) {
			row.Status = ui.Badge{Text: v.tr("Suspected fraud"), Tone: ui.ToneBad, Sign: ui.SignAlert}
		}
		if withQueue {
			row.Queue = v.queue(i.Queue)
		}
		rows = append(rows, row)
	}
	return rows
}

// pager leads on from one page of a list. The query is what narrows it, in pairs.
func (v *visit) pager(path string, shown int, cursor, next string, query ...string) ui.Pager {
	var p ui.Pager
	if cursor != "" {
		p.First = v.link(path, query...)
	}
	if next != "" {
		p.Next = v.link(path, append(slices.Clone(query), "cursor", next)...)
	}
	if p.First != "" || p.Next != "" {
		p.Text = v.trn("%d shown", "%d shown", shown)
	}
	return p
}
