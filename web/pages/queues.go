package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	allCasesPath = "/cases"
	// listShown is how many cases a page of a list shows; more would make the page heavy.
	listShown = 25
)

// mountLists puts the lists of cases, what can be done with several of them, and kept views on the
// router. It comes before the page of one case, whose address would take "bulk" for an id.
func mountLists(get, post route) {
	get("/queues/:queue.csv", (*visit).queueSheet)
	get("/queues/:queue", (*visit).showQueue)
	get(allCasesPath+".csv", (*visit).allSheet)
	get(allCasesPath, (*visit).showCases)
	get(bulkPath, (*visit).toCases)
	post(bulkPath, (*visit).previewBulkCases)
	post(bulkPath+"/do", (*visit).bulkCases)
	get(viewsPath, (*visit).showViews)
	post(viewsPath, (*visit).saveView)
	post(viewsPath+"/:id/rename", (*visit).renameView)
	post(viewsPath+"/:id/delete", (*visit).deleteView)
}

// The fields that narrow a list of cases, as they stand in its address; sort orders it.
var queueFilters = []string{"state", "due", "age", "code", "claimed_by", "supplier", "number", "invoice_id", "po_id", "run_id", "agent", "amount_from", "amount_to", "currency", "sort"}

// caseList is a list of cases as an address describes it.
type caseList struct {
	queue  models.Queue // "" for all of them
	asked  map[string]string
	filter queue.Filter
	issues map[string]string // what could not be read, by field; it does not narrow
}

// listOf reads the list of an address. What it does not know is an issue and narrows nothing. Amounts
// without a currency are meant in the workspace's own.
func (w words) listOf(q models.Queue, ask func(name string) string, currency string) caseList {
	l := caseList{queue: q, asked: map[string]string{}, filter: queue.Filter{Queue: q}, issues: map[string]string{}}
	for _, name := range queueFilters {
		if value := strings.TrimSpace(strings.ToValidUTF8(ask(name), "\uFFFD")); value != "" {
			l.asked[name] = strings.Clone(value)
		}
	}
	l.asked["currency"] = strings.ToUpper(l.asked["currency"])
	known := func(name string, values ...string) string {
		value := l.asked[name]
		if value != "" && !slices.Contains(values, value) {
			l.issues[name] = w.tr("there is no %s to choose", ui.Foreign(clip(value)).Plain())
			return ""
		}
		return value
	}
	text := func(name string) string {
		if len(l.asked[name]) > maxFilter {
			l.issues[name] = w.tr("must have at most %d characters", maxFilter)
			return ""
		}
		return l.asked[name]
	}
	f := &l.filter
	state := known("state", caseStates...)
	f.Status = models.CaseStatus(orSome(state, string(models.CaseOpen)))
	f.Due = known("due", queue.DueSoon, queue.DueOverdue, queue.DueToday)
	switch {
	case state == stateSnoozed:
		f.Status, f.Snoozed = models.CaseOpen, queue.SnoozedOnly
	case f.Status != models.CaseOpen && f.Due != "":
		l.issues["due"] = w.tr("only an open case is due")
		f.Due = ""
	case f.Status == models.CaseOpen && f.Due == "":
		f.Snoozed = queue.SnoozedNot // what is due is due, snoozed or not
	}
	f.Age = known("age", queue.Ages()...)
	codes := []string{string(queue.NoCode)}
	for _, o := range models.Outcomes() {
		codes = append(codes, string(o.Code))
	}
	f.Code = models.Code(known("code", codes...))
	f.ClaimedBy = l.asked["claimed_by"]
	if !strings.HasPrefix(f.ClaimedBy, models.PrefixUser+"_") {
		f.ClaimedBy = known("claimed_by", queue.ClaimedByMe, queue.ClaimedByNobody, queue.ClaimedBySomebody)
	}
	f.Supplier, f.InvoiceNumber, f.InvoiceID, f.PoID, f.RunID, f.Agent = text("supplier"), text("number"), text("invoice_id"), text("po_id"), text("run_id"), text("agent")
	if f.InvoiceNumber != "" && models.NormaliseNumber(f.InvoiceNumber) == "" {
		l.issues["number"] = w.tr("must have a letter or a digit")
		f.InvoiceNumber = ""
	}
	w.readAmounts(&l, currency)
	f.Sort = known("sort", queue.Sorts()...)
	if f.Sort == "" {
		f.Sort = queue.SortDue
		if f.Status == models.CaseResolved {
			f.Sort = queue.SortNewest
		}
	}
	return l
}

// readAmounts reads the range of amounts.
func (w words) readAmounts(l *caseList, currency string) {
	f := &l.filter
	if code := l.asked["currency"]; code != "" {
		if !models.ValidCurrency(code) {
			l.issues["currency"] = w.said(models.ErrCurrencyUnknown.Error())
			return // an amount of an unknown currency is none
		}
		f.Currency, currency = code, code
	}
	var ends []models.Money
	for _, end := range []struct {
		name string
		into *string
	}{{"amount_from", &f.AmountFrom}, {"amount_to", &f.AmountTo}} {
		if l.asked[end.name] == "" {
			continue
		}
		plain := lang.FiguresInAddress(w.lang.ReadFigures(l.asked[end.name]))
		m, err := models.ParseMoney(plain, currency)
		if err != nil {
			l.issues[end.name] = w.said(err.Error())
			continue
		}
		*end.into, f.Currency, l.asked[end.name] = plain, currency, plain
		ends = append(ends, m)
	}
	if len(ends) == 2 && ends[0].SortKey() > ends[1].SortKey() {
		l.issues["amount_to"] = w.tr("must not be less than the amount it begins with")
		f.AmountTo = ""
	}
}

// typedAmount is an amount of the list as its field shows it: what was not understood as it was typed.
func (w words) typedAmount(l caseList, name string) string {
	if l.issues[name] != "" {
		return l.asked[name]
	}
	return w.lang.TypeFigures(l.asked[name])
}

const maxFilter = 200

var caseStates = []string{string(models.CaseOpen), stateSnoozed, string(models.CaseHeld), string(models.CaseResolved)}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// path is the address of the list without what narrows it.
func (l caseList) path() string {
	if l.queue == "" {
		return allCasesPath
	}
	return queueURL(l.queue)
}

// listTitle is what people call a list of cases.
func (w words) listTitle(l caseList) string {
	if l.queue == "" {
		return w.tr("All cases")
	}
	return w.queue(l.queue)
}

// query is what narrows and sorts the list, in pairs, without what was not understood and without the
// names given; pairs of with replace it.
func (l caseList) query(without []string, with ...string) (query []string) {
	for _, name := range queueFilters {
		if i := slices.Index(with, name); i >= 0 && i%2 == 0 {
			query = append(query, name, with[i+1])
			continue
		}
		value := l.asked[name]
		if value == "" || l.issues[name] != "" || slices.Contains(without, name) || name == "state" && value == string(models.CaseOpen) {
			continue
		}
		query = append(query, name, value)
	}
	return query
}

// address is the list's own address as text, for forms and kept views.
func (l caseList) address() (path, query string) {
	values := url.Values{}
	pairs := l.query(nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return l.path(), values.Encode()
}

// readList reads the list that an address within the desk names.
func (w words) readList(path, query, currency string) (caseList, bool) {
	q := models.Queue(strings.TrimPrefix(path, "/queues/"))
	if path == allCasesPath {
		q = ""
	} else if !q.Valid() || path != queueURL(q) {
		return caseList{}, false
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return caseList{}, false
	}
	return w.listOf(q, values.Get, currency), true
}

// here is the list of the address that was asked for.
func (v *visit) listHere(q models.Queue) caseList {
	return v.listOf(q, func(name string) string { return v.c.Query(name) }, v.ws.Currency)
}

// showQueue is GET /queues/{queue}.
func (v *visit) showQueue() error {
	q := models.Queue(v.param("queue"))
	if !q.Valid() {
		return models.Missing("queue", string(q))
	}
	return v.showList(v.listHere(q), refusal{}, http.StatusOK)
}

// showCases is GET /cases: the cases of every queue.
func (v *visit) showCases() error {
	return v.showList(v.listHere(""), refusal{}, http.StatusOK)
}

func (v *visit) showList(l caseList, refused refusal, status int) error {
	f := l.filter
	f.Cursor, f.Limit = strings.Clone(v.c.Query("cursor")), listShown
	list, err := v.p.queue.List(v.ctx, v.by, f)
	if models.IsCode(err, models.BadRequest) && f.Cursor != "" {
		l.issues["cursor"] = v.tr("The page belongs to another list, so this one begins at its beginning.")
		f.Cursor = ""
		list, err = v.p.queue.List(v.ctx, v.by, f)
	}
	if err != nil {
		return err
	}
	beside, err := v.counts()
	if err != nil {
		return err
	}
	n := countsIn(l.queue, beside.queues)
	query := l.query(nil)
	self := v.link(l.path(), append(slices.Clone(query), "cursor", f.Cursor, "select", v.c.Query("select"))...)
	topic := "queue:" + string(l.queue)
	if l.queue == "" {
		topic = "cases"
	}
	found, plain, err := v.howMany(l, f, list, n)
	if err != nil {
		return err
	}
	page, err := v.page(v.listTitle(l)+" ("+v.foundText(found)+")", self, topic)
	if err != nil {
		return err
	}
	out := views.QueuePage{Page: page, Heading: v.listTitle(l), Code: string(l.queue), Lead: v.listLead(l.queue, n), States: v.listTabs(l, n), Filter: v.listFilter(l), Heads: v.sortHeads(l),
		Pager: v.pager(l.path(), len(list.Items), f.Cursor, list.NextCursor, query...)}
	if out.Rows, err = v.listRows(list.Items, l.queue == ""); err != nil {
		return err
	}
	if !plain && len(list.Items) > 0 {
		out.Total = v.foundWords(found)
	}
	out.Errors = ui.ErrorsOf(out.Filter.Fields...)
	if text := l.issues["cursor"]; text != "" {
		out.Errors = append(out.Errors, ui.FieldError{Text: text})
		status = http.StatusBadRequest
	}
	if len(out.Errors) > 0 && status == http.StatusOK {
		status = http.StatusUnprocessableEntity
	}
	out.Empty = v.emptyList(l)
	v.tickable(&out, l, append(slices.Clone(query), "cursor", f.Cursor))
	v.keepable(&out, l, beside.views, refused)
	if len(l.issues) == 0 {
		out.Sheet = v.link(l.path()+".csv", query...)
		if list.NextCursor != "" {
			out.Rest = v.tr("up to %s rows", v.lang.Figures(fmt.Sprint(queue.MostRows)))
		}
	}
	return render(v.c, status, views.Queue(out))
}

// mostInList is up to where the cases of a list are counted that no count is kept of.
const mostInList = 500

// howMany is how many cases the list holds whose page is shown; plain says that it is all that is open.
func (v *visit) howMany(l caseList, f queue.Filter, page queue.Page, n queue.QueueCount) (found queue.Found, plain bool, err error) {
	plain = len(l.query([]string{"sort"})) == 0
	switch {
	case plain:
		return queue.Found{N: int(n.Open)}, true, nil
	case f.Cursor == "" && page.NextCursor == "":
		return queue.Found{N: len(page.Items)}, false, nil
	}
	counts, err := v.p.queue.CountEach(v.ctx, v.by, []queue.Filter{l.filter}, mostInList)
	if err != nil {
		return queue.Found{}, false, err
	}
	found = counts[0]
	if found.N < len(page.Items) { // not met among those looked at
		found = queue.Found{N: len(page.Items), More: true}
	}
	return found, false, nil
}

func (w words) foundText(found queue.Found) string {
	if found.More {
		return w.lang.Figures(fmt.Sprint(found.N)) + "+"
	}
	return fmt.Sprint(found.N)
}

// foundWords is the count above the rows.
func (w words) foundWords(found queue.Found) string {
	if found.More {
		return w.tr("%s cases or more", w.lang.Figures(fmt.Sprint(found.N)))
	}
	return w.trn("%d case", "%d cases", found.N)
}

// countsIn are the counts of a queue, or of all of them together.
func countsIn(q models.Queue, all []queue.QueueCount) queue.QueueCount {
	sum := queue.QueueCount{Queue: q}
	for _, c := range all {
		if c.Queue == q {
			return c
		}
		sum.Open, sum.Held, sum.Resolved = sum.Open+c.Open, sum.Held+c.Held, sum.Resolved+c.Resolved
		sum.Overdue, sum.DueSoon, sum.Snoozed = sum.Overdue+c.Overdue, sum.DueSoon+c.DueSoon, sum.Snoozed+c.Snoozed
	}
	return sum
}

func (w words) listLead(q models.Queue, n queue.QueueCount) string {
	if q == "" {
		return w.tr("Every queue together.") + " " + w.queueLoad(n)
	}
	return w.queueLead(n)
}

func (w words) queueLead(n queue.QueueCount) string {
	roles := make([]string, 0, 2)
	for _, r := range n.Queue.Roles() {
		roles = append(roles, w.lower(w.role(r)))
	}
	return w.tr("Worked by %s.", w.list(roles)) + " " + w.queueLoad(n)
}

// listTabs are the states of the list. What narrows it stays; the counts are of all there is, so they
// are left out while it is narrowed.
func (v *visit) listTabs(l caseList, n queue.QueueCount) []ui.Tab {
	rest := []string{"state", "due", "sort"}
	narrowed := slices.ContainsFunc(queueFilters, func(name string) bool {
		return !slices.Contains(rest, name) && l.asked[name] != "" && l.issues[name] == ""
	})
	f := l.filter
	plain := f.Due == "" && f.Snoozed != queue.SnoozedOnly
	tab := func(label, count, testID string, current bool, with ...string) ui.Tab {
		if narrowed {
			count = ""
		}
		return ui.Tab{Label: label, Count: count, URL: v.link(l.path(), l.query(rest, with...)...), Current: current, TestID: testID}
	}
	return []ui.Tab{
		tab(v.tr("Open"), fmt.Sprint(n.Open), "filter-open", plain && f.Status == models.CaseOpen),
		tab(v.tr("Overdue"), v.overdueText(n.Overdue), "filter-overdue", f.Due == queue.DueOverdue, "due", queue.DueOverdue),
		tab(v.tr("Due soon"), v.overdueText(n.DueSoon), "filter-soon", f.Due == queue.DueSoon, "due", queue.DueSoon),
		tab(v.tr("Due today"), "", "filter-today", f.Due == queue.DueToday, "due", queue.DueToday),
		tab(v.tr("Snoozed"), v.overdueText(n.Snoozed), "filter-snoozed", f.Snoozed == queue.SnoozedOnly, "state", stateSnoozed),
		tab(v.tr("Held"), fmt.Sprint(n.Held), "filter-held", f.Status == models.CaseHeld, "state", string(models.CaseHeld)),
		tab(v.tr("Resolved"), "", "filter-resolved", f.Status == models.CaseResolved, "state", string(models.CaseResolved)),
	}
}

// sortWords are the sorts of a list, in words.
var sortWords = []struct{ sort, words string }{
	{queue.SortDue, lang.Mark("the first due first")}, {queue.SortDueLast, lang.Mark("the last due first")}, {queue.SortOldest, lang.Mark("the oldest first")},
	{queue.SortNewest, lang.Mark("the newest first")}, {queue.SortLargest, lang.Mark("the largest amount first")}, {queue.SortSmallest, lang.Mark("the smallest amount first")},
}

func (w words) sortName(sort string) string {
	for _, s := range sortWords {
		if s.sort == sort {
			return w.tr(s.words)
		}
	}
	return ""
}

// sortHeads are the columns that sort. A column shows the order of what stands in it: the oldest case
// has the highest age.
func (v *visit) sortHeads(l caseList) []views.SortHead {
	column := func(name, first, second string, ascending ...string) views.SortHead {
		to := first
		h := views.SortHead{Column: name}
		switch l.filter.Sort {
		case first:
			to = second
			fallthrough
		case second:
			h.Sorted = "descending"
			if slices.Contains(ascending, l.filter.Sort) {
				h.Sorted = "ascending"
			}
			h.Words = v.tr("sorted: %s; turn round", v.sortName(l.filter.Sort))
		default:
			h.Words = v.tr("sort: %s", v.sortName(to))
		}
		h.URL = v.link(l.path(), l.query(nil, "sort", to)...)
		return h
	}
	return []views.SortHead{
		column(views.ColumnDue, queue.SortDue, queue.SortDueLast, queue.SortDue),
		column(views.ColumnAmount, queue.SortLargest, queue.SortSmallest, queue.SortSmallest),
		column(views.ColumnAge, queue.SortOldest, queue.SortNewest, queue.SortNewest),
	}
}

// Words of the choices of the filters.
var (
	dueChoices = map[string]string{queue.DueSoon: lang.Mark("soon"), queue.DueOverdue: lang.Mark("overdue"), queue.DueToday: lang.Mark("today")}
	ageWords   = map[string]string{"1d": lang.Mark("a day or more"), "3d": lang.Mark("3 days or more"), "7d": lang.Mark("a week or more"), "30d": lang.Mark("30 days or more")}
	stateWords = map[string]string{stateSnoozed: lang.Mark("snoozed"), "held": lang.Mark("held"), "resolved": lang.Mark("resolved")}
)

// holder is a choice of who has claimed a case, behind "Claimed by".
func (w words) holder(choice string) string {
	switch choice {
	case queue.ClaimedByMe:
		return w.trc("claimed by", "you")
	case queue.ClaimedByNobody:
		return w.trc("claimed by", "nobody")
	case queue.ClaimedBySomebody:
		return w.trc("claimed by", "somebody")
	}
	return ""
}

// listFilter is the form that narrows the list, and what it is narrowed to.
func (v *visit) listFilter(l caseList) views.ListFilter {
	out := views.ListFilter{URL: templ.SafeURL(l.path()), ClearURL: v.link(l.path()), Open: len(l.issues) > 0}
	if v.by.WorkspaceID != v.chosen {
		out.Hidden = append(out.Hidden, ui.Hidden{Name: "workspace_id", Value: v.by.WorkspaceID})
	}
	choose := func(name, label, any string, values []string, word func(string) string) ui.Field {
		f := ui.Field{Name: name, Label: label, Kind: ui.FieldSelect, Options: []ui.Option{{Value: "", Label: any}}}
		value, known := l.asked[name], l.asked[name] == ""
		for _, o := range values {
			f.Options = append(f.Options, ui.Option{Value: o, Label: word(o), Selected: o == value})
			known = known || o == value
		}
		if !known { // what an address asks for is kept in sight
			f.Options = append(f.Options, ui.Option{Value: value, Label: ui.Foreign(clip(value)).Plain(), Selected: true})
		}
		return f
	}
	in := func(m map[string]string) func(string) string {
		return func(s string) string { return upper(v.tr(m[s])) }
	}
	codes := make([]string, 0, len(models.Outcomes())+1)
	for _, o := range models.Outcomes() {
		codes = append(codes, string(o.Code))
	}
	codes = append(codes, string(queue.NoCode))
	sorts := make([]string, 0, len(sortWords))
	for _, w := range sortWords {
		sorts = append(sorts, w.sort)
	}
	text := func(name, label, hint string) ui.Field {
		return ui.Field{Name: name, Label: label, Value: l.asked[name], Hint: hint}
	}
	out.Fields = []ui.Field{
		choose("state", v.tr("State"), v.tr("Open"), caseStates[1:], in(stateWords)),
		choose("due", v.tr("Due"), v.tr("Any time"), []string{queue.DueOverdue, queue.DueSoon, queue.DueToday}, in(dueChoices)),
		choose("age", v.tr("Age"), v.tr("Any age"), queue.Ages(), in(ageWords)),
		choose("code", v.tr("Stopped because"), v.tr("Anything"), codes, func(s string) string { return v.codeWords(models.Code(s)) }),
		choose("claimed_by", v.tr("Claimed by"), v.tr("Anybody or nobody"), []string{queue.ClaimedByMe, queue.ClaimedByNobody, queue.ClaimedBySomebody}, func(s string) string { return upper(v.holder(s)) }),
		text("supplier", v.tr("Supplier"), v.tr("Id, or the name as it was sent")),
		text("number", v.tr("Invoice number"), ""),
		text("po_id", v.tr("PO"), ""),
		text("run_id", v.tr("Run of the agent"), ""),
		text("agent", v.tr("Agent"), v.tr("Its name")),
		{Name: "amount_from", Label: v.tr("Amount from"), Kind: ui.FieldAmount, Value: v.typedAmount(l, "amount_from"), Hint: v.tr("Such as %s; credit notes are below 0", v.lang.Figures("1234.50"))},
		{Name: "amount_to", Label: v.tr("Amount to"), Kind: ui.FieldAmount, Value: v.typedAmount(l, "amount_to")},
		{Name: "currency", Label: v.tr("Currency"), Value: l.asked["currency"], Placeholder: v.ws.Currency, Hint: v.tr("Of amounts; without one %s", v.ws.Currency)},
		choose("sort", v.tr("Sorted by"), v.tr("As usual"), sorts, func(s string) string { return upper(v.sortName(s)) }),
	}
	for i := range out.Fields {
		out.Fields[i].Error = l.issues[out.Fields[i].Name]
	}
	if l.asked["invoice_id"] != "" { // comes from links; nobody types the ERP's id
		out.Hidden = append(out.Hidden, ui.Hidden{Name: "invoice_id", Value: l.asked["invoice_id"]})
	}
	out.Chips = v.chips(l)
	return out
}

func (w words) codeWords(c models.Code) string {
	if c == queue.NoCode {
		return w.tr("None of the named errors")
	}
	return w.codeTitle(c)
}

// chips are what the list is narrowed to, each with the way back.
func (v *visit) chips(l caseList) (chips []views.Chip) {
	f := l.filter
	add := func(name, value string, fields ...string) {
		if value != "" {
			chips = append(chips, views.Chip{Name: name, Value: ui.Foreign(value), URL: v.link(l.path(), l.query(fields)...), TestID: "chip-" + fields[0]})
		}
	}
	if l.issues["state"] == "" {
		add(v.tr("State"), v.tr(stateWords[l.asked["state"]]), "state")
	}
	add(v.tr("Due"), v.tr(dueChoices[f.Due]), "due")
	add(v.tr("Age"), v.tr(ageWords[f.Age]), "age")
	if f.Code != "" {
		add(v.tr("Stopped because"), v.codeWords(f.Code), "code")
	}
	add(v.tr("Claimed by"), orSome(v.holder(f.ClaimedBy), f.ClaimedBy), "claimed_by")
	add(v.tr("Supplier"), f.Supplier, "supplier")
	add(v.tr("Invoice number"), f.InvoiceNumber, "number")
	add(v.tr("Invoice"), f.InvoiceID, "invoice_id")
	add(v.tr("PO"), f.PoID, "po_id")
	add(v.tr("Run"), f.RunID, "run_id")
	add(v.tr("Agent"), f.Agent, "agent")
	if f.AmountFrom != "" {
		add(v.tr("Amount from"), v.money(f.AmountFrom, f.Currency), "amount_from")
	}
	if f.AmountTo != "" {
		add(v.tr("Amount to"), v.money(f.AmountTo, f.Currency), "amount_to")
	}
	if l.asked["currency"] != "" && l.issues["currency"] == "" {
		add(v.tr("Currency"), f.Currency, "currency")
	}
	return chips
}

// listRows are the rows with who has each case open.
func (v *visit) listRows(items []queue.CaseItem, withQueue bool) ([]views.CaseRow, error) {
	rows := v.caseRows(items, withQueue)
	return rows, presentIn(v, rows, func(r *views.CaseRow) (string, *[]views.Presence) { return r.ID, &r.Present })
}

// emptyList says that nothing is in the list, and why.
func (v *visit) emptyList(l caseList) ui.Empty {
	open := func(e ui.Empty) ui.Empty {
		e.LinkText, e.URL, e.TestID = v.tr("See what is open"), v.link(l.path()), "empty"
		return e
	}
	f := l.filter
	if f.Supplier != "" {
		return ui.Empty{Heading: v.tr("Nothing here is like that"), Text: v.tr("A supplier is looked for by the whole id or name, capital or small; search finds parts of names."),
			LinkText: v.tr("Search for “%s”", ui.Foreign(clip(f.Supplier)).Plain()), URL: v.link(searchPath, "q", f.Supplier), TestID: "empty"}
	}
	for _, name := range queueFilters {
		if !slices.Contains([]string{"state", "due", "sort"}, name) && l.asked[name] != "" && l.issues[name] == "" {
			return ui.Empty{Heading: v.tr("Nothing here is like that"), Text: v.tr("Take away a filter; other cases may be here all the same."), LinkText: v.tr("Clear all"), URL: v.link(l.path()), TestID: "empty"}
		}
	}
	switch {
	case f.Due == queue.DueOverdue:
		return open(ui.Empty{Heading: v.tr("Nothing is overdue here"), Text: v.tr("Every open case still has time.")})
	case f.Due == queue.DueSoon:
		return open(ui.Empty{Heading: v.tr("Nothing is due soon here"), Text: v.tr("When a case comes close to the time it is due, it appears here by itself.")})
	case f.Due == queue.DueToday:
		return open(ui.Empty{Heading: v.tr("Nothing is due today here"), Text: v.tr("Days are those of %s.", v.zone.String())})
	case f.Snoozed == queue.SnoozedOnly:
		return open(ui.Empty{Heading: v.tr("Nothing is snoozed here"), Text: v.tr("A snoozed case is out of the list until the time somebody chose, and comes back by itself.")})
	case f.Status == models.CaseHeld:
		return open(ui.Empty{Heading: v.tr("Nothing is held here"), Text: v.tr("Cases that wait for a date come back by themselves.")})
	case f.Status == models.CaseResolved:
		return open(ui.Empty{Heading: v.tr("Nothing was resolved here yet")})
	}
	text := v.tr("When the agent stops at something this queue decides, the case appears here by itself.")
	if l.queue == "" {
		text = v.tr("When an agent stops at something a person decides, the case appears here by itself.")
	}
	return ui.Empty{Heading: v.tr("Nothing is waiting here"), Text: text, LinkText: v.tr("See what was resolved"), URL: v.link(l.path(), "state", "resolved"), TestID: "empty"}
}

// worksHere says whether the person can do something with cases of the list.
func (v *visit) worksHere(q models.Queue) bool {
	if q != "" {
		return v.by.Has(append(slices.Clone(q.Roles()), models.RoleAPLead)...)
	}
	return slices.ContainsFunc(models.Queues(), func(q models.Queue) bool { return v.by.Has(q.Roles()...) })
}

// tickable lets the rows be ticked, all at once by a link, where the person can do something with them.
func (v *visit) tickable(out *views.QueuePage, l caseList, query []string) {
	if l.filter.Status == models.CaseResolved || !v.worksHere(l.queue) {
		untickable(&out.Page)
		return
	}
	if len(out.Rows) == 0 {
		return
	}
	all := v.c.Query("select") == "all"
	for i := range out.Rows {
		out.Rows[i].Pick, out.Rows[i].Picked = true, all
	}
	out.Pick = &views.PickCases{URL: bulkPath, CSRF: v.csrf, Back: string(v.link(l.path(), query...)), All: all,
		AllURL: v.link(l.path(), append(slices.Clone(query), "select", "all")...), NoneURL: v.link(l.path(), query...)}
	for _, act := range queue.BulkActs() {
		out.Pick.Acts = append(out.Pick.Acts, ui.Button{Label: v.bulkWords(act).verb + "…", Variant: ui.ButtonPlain, Name: "act", Value: string(act), TestID: "bulk-" + string(act)})
	}
}
