package pages

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const reportsPath = "/reports"

// mostDays is the longest period whose figures are counted at once, a quarter.
const mostDays = 92

func mountReports(get, _ route) {
	get(reportsPath, (*visit).showReports)
	get(reportsPath+".csv", (*visit).exportReports)
}

// period is a span of whole days in the workspace's zone, both ends included.
type period struct{ from, to models.Date }

func (p period) query() []string { return []string{"from", p.from.String(), "to", p.to.String()} }

// in is the period as moments: from included, to not.
func (p period) in(zone *time.Location) (from, to models.Time) {
	return p.from.StartIn(zone), p.to.AddDays(1).StartIn(zone)
}

// lastDays are the last n days, today included.
func lastDays(today models.Date, n int) period { return period{today.AddDays(1 - n), today} }

// monthOf is the month a day lies in, up to the day itself when that month is not over.
func monthOf(day, today models.Date) period {
	first := day.AddDays(1 - dayOfMonth(day))
	last := first.AddDays(31)
	last = last.AddDays(-dayOfMonth(last))
	if last.After(today) {
		last = today
	}
	return period{first, last}
}

func dayOfMonth(d models.Date) int {
	n, err := strconv.Atoi(d.String()[8:])
	if err != nil {
		return 1 // a date is written as YYYY-MM-DD
	}
	return n
}

// periodAsked reads the period of the address; without one it is the last seven days.
func (v *visit) periodAsked() (p period, asked map[string]string, issues []models.Issue) {
	asked = map[string]string{"from": strings.TrimSpace(strings.Clone(v.c.Query("from"))), "to": strings.TrimSpace(strings.Clone(v.c.Query("to")))}
	today := models.DateOf(models.At(v.now), v.zone)
	day := func(name string, otherwise models.Date) models.Date {
		if asked[name] == "" {
			return otherwise
		}
		d, err := models.ParseDate(asked[name])
		if err != nil {
			issues = append(issues, models.Issue{Path: "/" + name, Message: err.Error()})
		}
		return d
	}
	p.to = day("to", today)
	if len(issues) > 0 {
		return p, asked, issues
	}
	p.from = day("from", p.to.AddDays(-6))
	switch days, ok := models.DaysBetween(p.from, p.to); {
	case len(issues) > 0:
	case p.from.After(p.to):
		issues = append(issues, models.Issue{Path: "/to", Message: "must not be before the first day"})
	case !ok || days >= mostDays:
		issues = append(issues, models.Issue{Path: "/from", Message: v.tr("must be at most %d days before the last day", mostDays-1)})
	}
	asked["from"], asked["to"] = p.from.String(), p.to.String()
	return p, asked, issues
}

// figures are what is counted of a period.
type figures struct {
	cases     queue.Figures
	approvals approvals.Figures
}

func (v *visit) figuresOf(p period) (out figures, err error) {
	from, to := p.in(v.zone)
	if out.cases, err = v.p.queue.Figures(v.ctx, v.by, from, to); err != nil {
		return out, err
	}
	out.approvals, err = v.p.approvals.Figures(v.ctx, v.by, from, to)
	return out, err
}

// showReports is GET /reports.
func (v *visit) showReports() error {
	if err := v.by.NeedRole(models.AuditReaders()...); err != nil {
		return err
	}
	p, asked, issues := v.periodAsked()
	page, err := v.page(v.tr("Reports"), v.link(reportsPath, "from", asked["from"], "to", asked["to"]), "")
	if err != nil {
		return err
	}
	out := views.ReportsPage{Page: page, Form: views.FilterForm{URL: reportsPath, Fields: []ui.Field{
		{Name: "from", Label: v.tr("First day"), Kind: ui.FieldDate, Value: asked["from"]}, {Name: "to", Label: v.tr("Last day"), Kind: ui.FieldDate, Value: asked["to"]}}},
		Lead: v.tr("What came, what was decided and how fast, in days of %s.", v.zone.String())}
	if v.by.WorkspaceID != v.chosen {
		out.Form.Hidden = append(out.Form.Hidden, ui.Hidden{Name: "workspace_id", Value: v.by.WorkspaceID})
	}
	today := models.DateOf(models.At(v.now), v.zone)
	this := monthOf(today, today)
	for _, often := range []struct {
		label, id string
		period    period
	}{{v.tr("Last 7 days"), "week", lastDays(today, 7)}, {v.tr("Last 30 days"), "days", lastDays(today, 30)}, {v.tr("This month"), "month", this}, {v.tr("Last month"), "before", monthOf(this.from.AddDays(-1), today)}} {
		out.Tabs = append(out.Tabs, ui.Tab{Label: often.label, URL: v.link(reportsPath, often.period.query()...), Current: often.period == p, TestID: "period-" + often.id})
	}
	if len(issues) > 0 {
		for i := range out.Form.Fields {
			for _, issue := range issues {
				if issue.Path == "/"+out.Form.Fields[i].Name {
					out.Form.Fields[i].Error = v.said(issue.Message)
				}
			}
		}
		out.Errors = ui.ErrorsOf(out.Form.Fields...)
		return render(v.c, http.StatusUnprocessableEntity, views.Reports(out))
	}
	counted, err := v.figuresOf(p)
	if err != nil {
		return err
	}
	now, err := v.p.queue.Counts(v.ctx, v.by)
	if err != nil {
		return err
	}
	out.Tables = []views.FigureTable{v.queueFigures(counted.cases, now), v.codeFigures(counted.cases), v.approvalFigures(counted.approvals), v.peopleFigures(counted)}
	if len(counted.approvals.Most) > 0 {
		out.Tables = append(out.Tables, v.mostAsked(counted.approvals))
	}
	if counted.cases.Cut || counted.approvals.Cut {
		out.Cut = v.tr("More happened in this period than is counted at once: the last %s of each kind are. Choose fewer days.", v.lang.Figures(strconv.Itoa(models.MostCounted)))
	}
	out.CSV = v.link(reportsPath+".csv", p.query()...)
	return render(v.c, http.StatusOK, views.Reports(out))
}

func (w words) figure(n int) string { return w.lang.Figures(strconv.Itoa(n)) }

func (v *visit) queueFigures(f queue.Figures, now []queue.QueueCount) views.FigureTable {
	t := views.FigureTable{ID: "queues", Heading: v.tr("Queues"), Note: v.tr("A case that was moved counts where it is now. In time is what people resolved before it was overdue."),
		Columns: []views.FigureColumn{{Name: v.tr("Queue")}, {Name: v.tr("Came")}, {Name: v.tr("Resolved")}, {Name: v.tr("In time")}, {Name: v.tr("Half of them within")}, {Name: v.tr("Open now")}, {Name: v.tr("Overdue now")}}}
	day := v.timingHere().calendar().Hours().Length()
	for _, q := range f.Queues {
		row := views.FigureRow{Name: ui.Foreign(v.queue(q.Queue)), URL: v.link(queueURL(q.Queue)), Cells: []string{v.figure(q.Came), v.figure(q.Resolved), "", "", "", ""}}
		if q.Resolved > 0 {
			row.Cells[2] = v.tr("%s of %s", v.figure(q.InTime), v.figure(q.Resolved))
			row.Cells[3] = v.businessSpan(q.Median, day)
		}
		n := countsIn(q.Queue, now)
		row.Cells[4], row.Cells[5] = v.figure(int(n.Open)), v.overdueText(n.Overdue)
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (v *visit) codeFigures(f queue.Figures) views.FigureTable {
	t := views.FigureTable{ID: "codes", Heading: v.tr("What agents stopped at, and how it ended"), Empty: v.tr("Nothing came and nothing was decided."),
		Columns: []views.FigureColumn{{Name: v.tr("Outcome")}, {Name: v.tr("Came")}, {Name: v.tr("Decisions"), Text: true}}}
	for _, c := range f.Codes {
		var chosen []string
		for _, e := range c.Exits {
			chosen = append(chosen, v.exit(e.Exit)+" "+v.figure(e.N))
		}
		row := views.FigureRow{Name: ui.Foreign(v.codeWords(c.Code)), Cells: []string{v.figure(c.Came), strings.Join(chosen, " · ")}}
		if c.Code != queue.NoCode {
			row.Code = string(c.Code)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (v *visit) approvalFigures(f approvals.Figures) views.FigureTable {
	t := views.FigureTable{ID: "approvals", Heading: v.tr("Approvals and confirmations"), Note: v.tr("What was asked for in the period, and where it stands now."),
		Columns: []views.FigureColumn{{Name: v.tr("Figure")}, {Name: v.tr("Number")}, {Name: v.tr("More"), Text: true}}}
	add := func(name, n, more string) {
		t.Rows = append(t.Rows, views.FigureRow{Name: ui.Foreign(name), Cells: []string{n, more}})
	}
	var totals []string
	for _, c := range f.Totals {
		totals = append(totals, v.money(c.Total.Text(), c.Total.Currency()))
	}
	half := ""
	if f.Approved+f.Rejected > 0 {
		half = v.tr("half of what was decided within %s", v.span(f.Median))
	}
	add(v.tr("Approvals asked for"), v.figure(f.Asked), half)
	add(v.tr("Approved"), v.figure(f.Approved), strings.Join(totals, " · "))
	add(v.tr("Rejected"), v.figure(f.Rejected), "")
	add(v.tr("Expired"), v.figure(f.Expired), "")
	add(v.tr("Withdrawn"), v.figure(f.Withdrawn), "")
	add(v.tr("Still waiting"), v.figure(f.Waiting), "")
	add(v.tr("Confirmations asked for"), v.figure(f.Confirmations), "")
	if f.Invoices > 0 {
		tenths := (10*f.Prompts + f.Invoices/2) / f.Invoices
		add(v.tr("Prompts per invoice"), v.lang.Figures(fmt.Sprintf("%d.%d", tenths/10, tenths%10)),
			v.tr("how often people were asked about one invoice, of %s invoices", v.figure(f.Invoices)))
	}
	return t
}

func (v *visit) mostAsked(f approvals.Figures) views.FigureTable {
	t := views.FigureTable{ID: "prompts", Heading: v.tr("Invoices people were asked about most"), Columns: []views.FigureColumn{{Name: v.tr("Invoice id")}, {Name: v.tr("Prompts")}}}
	for _, m := range f.Most {
		t.Rows = append(t.Rows, views.FigureRow{Name: ui.Foreign(m.InvoiceID), URL: v.invoiceURL(m.InvoiceID), Cells: []string{v.figure(m.N)}})
	}
	return t
}

// load is what one person did and holds claimed.
type load struct {
	id, name                string
	decided, votes, claimed int
}

// loads joins decisions and votes by person, in the order of names.
func (f figures) loads() []load {
	var out []load
	place := map[string]int{}
	at := func(id, name string) *load {
		i, ok := place[id]
		if !ok {
			i = len(out)
			place[id], out = i, append(out, load{id: id, name: name})
		}
		return &out[i]
	}
	for _, p := range f.cases.People {
		one := at(p.UserID, p.Name)
		one.decided, one.claimed = p.Decided, p.Claimed
	}
	for _, p := range f.approvals.Voters {
		at(p.UserID, p.Name).votes = p.Votes
	}
	return out
}

func (v *visit) peopleFigures(f figures) views.FigureTable {
	t := views.FigureTable{ID: "people", Heading: v.tr("Work by person"), Note: v.tr("To see where help is needed; how hard a case was is not in it."), Empty: v.tr("Nobody decided anything."),
		Columns: []views.FigureColumn{{Name: v.tr("Person")}, {Name: v.tr("Cases decided")}, {Name: v.tr("Votes")}, {Name: v.tr("Claimed now")}}}
	for _, l := range f.loads() {
		t.Rows = append(t.Rows, views.FigureRow{Name: ui.Foreign(l.name), URL: v.link("/settings/people/" + l.id), Cells: []string{v.figure(l.decided), v.figure(l.votes), v.figure(l.claimed)}})
	}
	return t
}

// exportReports is GET /reports.csv: the same figures, one a line.
func (v *visit) exportReports() error {
	if err := v.by.NeedRole(models.AuditReaders()...); err != nil {
		return err
	}
	p, _, issues := v.periodAsked()
	if err := invalid(issues); err != nil {
		return err
	}
	f, err := v.figuresOf(p)
	if err != nil {
		return err
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.UseCRLF = true
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = models.PlainCell(models.MaskIDs(cells[i]))
		}
		_ = w.Write(append([]string{p.from.String(), p.to.String()}, cells...)) // into memory
	}
	_ = w.Write([]string{"from", "to", "table", "of", "figure", "value"})
	for _, q := range f.cases.Queues {
		line("queue", string(q.Queue), "came", strconv.Itoa(q.Came))
		line("queue", string(q.Queue), "resolved", strconv.Itoa(q.Resolved))
		line("queue", string(q.Queue), "in_time", strconv.Itoa(q.InTime))
		if q.Resolved > 0 {
			line("queue", string(q.Queue), "median_business_minutes", strconv.Itoa(int(q.Median.Minutes())))
		}
	}
	for _, c := range f.cases.Codes {
		line("code", string(c.Code), "came", strconv.Itoa(c.Came))
		for _, e := range c.Exits {
			line("code", string(c.Code), "exit "+e.Exit, strconv.Itoa(e.N))
		}
	}
	a := f.approvals
	for _, one := range []struct {
		figure string
		n      int
	}{{"asked", a.Asked}, {"approved", a.Approved}, {"rejected", a.Rejected}, {"expired", a.Expired}, {"withdrawn", a.Withdrawn}, {"waiting", a.Waiting},
		{"confirmations", a.Confirmations}, {"prompts", a.Prompts}, {"invoices", a.Invoices}} {
		line("approvals", "", one.figure, strconv.Itoa(one.n))
	}
	if a.Approved+a.Rejected > 0 {
		line("approvals", "", "median_minutes", strconv.Itoa(int(a.Median.Minutes())))
	}
	for _, t := range a.Totals {
		line("approvals", t.Total.Currency(), "approved_total", t.Total.Text())
	}
	for _, l := range f.loads() {
		line("person", l.name, "cases_decided", strconv.Itoa(l.decided))
		line("person", l.name, "votes", strconv.Itoa(l.votes))
		line("person", l.name, "claimed_now", strconv.Itoa(l.claimed))
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	v.c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	v.c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+fileName("apdesk reports "+v.by.WorkspaceID+" "+p.from.String()+" "+p.to.String())+`.csv"`)
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	return v.c.SendString(text.String())
}
