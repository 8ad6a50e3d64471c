package queue

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/apdesk/apdesk/models"
)

// Limits of a page of a list.
const (
	DefaultLimit = 50
	MostLimit    = 200
)

// Special values of Filter.ClaimedBy.
const (
	ClaimedByMe       = "me"
	ClaimedByNobody   = "nobody"
	ClaimedBySomebody = "somebody"
)

// NoCode is the value of Filter.Code for cases that name none of the ten outcomes.
const NoCode models.Code = "none"

// Ages are the values of Filter.Age: cases that came in at least that long ago.
func Ages() []string { return []string{"1d", "3d", "7d", "30d"} }

var ages = map[string]time.Duration{"1d": 24 * time.Hour, "3d": 72 * time.Hour, "7d": 168 * time.Hour, "30d": 720 * time.Hour}

// Sorts of a list of cases; a leading minus turns the order round.
const (
	SortDue      = "due_at"
	SortDueLast  = "-due_at"
	SortOldest   = "created_at"
	SortNewest   = "-created_at"
	SortSmallest = "amount" // currency by currency
	SortLargest  = "-amount"
)

// Sorts lists every sort of a list of cases.
func Sorts() []string {
	return []string{SortDue, SortDueLast, SortOldest, SortNewest, SortSmallest, SortLargest}
}

// Filter narrows a list of cases; zero fields do not narrow.
type Filter struct {
	Queue         models.Queue
	Status        models.CaseStatus
	Unresolved    bool // open or held
	Code          models.Code
	Reason        models.HandoverReason
	ClaimedBy     string // me, nobody, somebody, or a user's id
	Supplier      string // whole id or name, capital or small
	Agent         string // id or name of the account that handed over first
	InvoiceID     string
	InvoiceNumber string // compared normalised
	PoID          string
	RunID         string
	Due           string // soon, overdue or today: open cases only
	Snoozed       string // not or only
	Age           string // one of Ages
	Currency      string
	AmountFrom    string // in Currency, included; a plain decimal
	AmountTo      string
	Cursor        string
	Limit         int
	Sort          string

	among []models.Queue // of several queues only these; nil: all
}

// CaseItem is a case in a list, with what pages show beside the fields of the wire.
type CaseItem struct {
	CaseSummary
	Instruction *models.Instruction `json:"instruction"`

	InvoiceID     string      `json:"-"`
	InvoiceNumber string      `json:"-"`
	Supplier      string      `json:"-"` // name, else id
	SupplierID    string      `json:"-"`
	PoID          string      `json:"-"`
	RunID         string      `json:"-"`
	Amount        string      `json:"-"`
	Currency      string      `json:"-"`
	Agent         string      `json:"-"`
	ClaimedByMe   bool        `json:"-"`
	ClaimedUntil  models.Time `json:"-"`
	HeldUntil     models.Date `json:"-"`
	Overdue       bool        `json:"-"` // open, and past its time
	SnoozedUntil  models.Time `json:"-"`
	EscalatedAt   models.Time `json:"-"`
	Marks         []Mark      `json:"-"`
	Handovers     int         `json:"-"`
}

// Page is one page of cases and where the next one starts, "" when there is none.
type Page struct {
	Items      []CaseItem `json:"items"`
	NextCursor string     `json:"next_cursor"`
}

// List reads cases by their due time, or as Sort says. Callers see what they filed, people of the
// workspace everything. It fails with BAD_REQUEST for an unknown sort or a cursor of another list,
// VALIDATION_ERROR for wrong values.
func (s *Service) List(ctx context.Context, by models.Principal, f Filter) (Page, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return Page{}, err
	}
	limit, err := f.check()
	if err != nil {
		return Page{}, err
	}
	after, err := readCursor(f.Cursor, f.Sort)
	if err != nil {
		return Page{}, err
	}
	out := Page{Items: []CaseItem{}}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		rows, err := f.rows(tx, after, limit+1)
		if err != nil {
			return err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			out.NextCursor = f.at(rows[limit-1].Case).text()
		}
		for _, row := range rows {
			out.Items = append(out.Items, itemOf(row, tx))
		}
		return nil
	})
	return out, err
}

// check validates the filter and fills its defaults.
func (f *Filter) check() (limit int, err error) {
	if f.Sort == "" {
		f.Sort = SortDue
	}
	if !slices.Contains(Sorts(), f.Sort) {
		return 0, models.E(models.BadRequest, fmt.Sprintf("The list cannot be sorted by %q; it can by %s.", clipID(f.Sort), strings.Join(Sorts(), ", ")), map[string]any{"field": "sort"})
	}
	var issues []models.Issue
	if f.Queue != "" && !f.Queue.Valid() {
		issues = append(issues, models.Issue{Path: "/queue", Message: "must be ap, ap_lead, procurement, finance or master_data"})
	}
	if f.Status != "" && !f.Status.Valid() {
		issues = append(issues, models.Issue{Path: "/status", Message: "must be open, held or resolved"})
	}
	if f.Code != "" && f.Code != NoCode && !f.Code.IsOutcome() {
		issues = append(issues, models.Issue{Path: "/code", Message: "must be one of the ten outcomes"})
	}
	if f.Reason != "" && !slices.Contains(models.HandoverReasons(), f.Reason) {
		issues = append(issues, models.Issue{Path: "/reason", Message: "must be named_error, retry_exhausted, loop_detected, budget_exhausted or other"})
	}
	if f.Due != "" && f.Due != DueSoon && f.Due != DueOverdue && f.Due != DueToday {
		issues = append(issues, models.Issue{Path: "/due", Message: "must be soon, overdue or today"})
	}
	if f.Snoozed != "" && f.Snoozed != SnoozedNot && f.Snoozed != SnoozedOnly {
		issues = append(issues, models.Issue{Path: "/snoozed", Message: "must be not or only"})
	}
	if f.Age != "" && ages[f.Age] == 0 {
		issues = append(issues, models.Issue{Path: "/age", Message: "must be " + strings.Join(Ages(), ", ")})
	}
	issues = append(issues, f.checkAmounts()...)
	if len(issues) > 0 {
		return 0, models.Invalid(issues...)
	}
	return checkLimit(f.Limit)
}

func (f Filter) checkAmounts() (issues []models.Issue) {
	if f.Currency != "" && !models.ValidCurrency(f.Currency) {
		return []models.Issue{{Path: "/currency", Message: models.ErrCurrencyUnknown.Error()}}
	}
	if f.Currency == "" && f.AmountFrom+f.AmountTo != "" {
		return []models.Issue{{Path: "/currency", Message: "must be chosen with an amount, since amounts of different currencies do not compare"}}
	}
	keys := map[string]string{}
	for path, amount := range map[string]string{"/amount_from": f.AmountFrom, "/amount_to": f.AmountTo} {
		if amount == "" {
			continue
		}
		m, err := models.ParseMoney(amount, f.Currency)
		if err != nil {
			issues = append(issues, models.Issue{Path: path, Message: err.Error()})
		}
		keys[path] = m.SortKey()
	}
	if len(issues) == 0 && len(keys) == 2 && keys["/amount_from"] > keys["/amount_to"] {
		issues = append(issues, models.Issue{Path: "/amount_to", Message: "must not be less than the amount it begins with"})
	}
	return issues
}

func checkLimit(limit int) (int, error) {
	if limit == 0 {
		return DefaultLimit, nil
	}
	if limit < 1 || limit > MostLimit {
		return 0, models.Invalid(models.Issue{Path: "/limit", Message: fmt.Sprintf("must be 1 to %d", MostLimit)})
	}
	return limit, nil
}

func (f Filter) column() string {
	return strings.TrimPrefix(f.Sort, "-")
}

// order is what the list is sorted by, as the statement names it.
func (f Filter) order() []string {
	switch f.column() {
	case SortOldest:
		return []string{"cases.created_at", "cases.id"}
	case SortSmallest:
		return []string{"cases.currency", "cases.amount_key", "cases.id"}
	}
	return []string{"cases.due_at", "cases.id"}
}

// at is where a case stands in the list.
func (f Filter) at(c models.Case) cursor {
	at := cursor{Sort: f.Sort, ID: c.ID}
	switch f.column() {
	case SortOldest:
		at.At = c.CreatedAt
	case SortSmallest:
		at.Amount = [2]string{c.Currency, c.AmountKey}
	default:
		at.At = c.DueAt
	}
	return at
}

// compare orders two places of one list, as order does without turning it round.
func (c cursor) compare(other cursor) int {
	return cmp.Or(c.At.Compare(other.At.Time), cmp.Compare(c.Amount[0], other.Amount[0]), cmp.Compare(c.Amount[1], other.Amount[1]), cmp.Compare(c.ID, other.ID))
}

// values are the place as the statement compares it with order.
func (c cursor) values() []any {
	if c.Amount[0] != "" {
		return []any{c.Amount[0], c.Amount[1], c.ID}
	}
	return []any{c.At, c.ID}
}

// statuses are the states listed. They are read one by one, because an index answers one state in
// order, and not several.
func (f Filter) statuses() []models.CaseStatus {
	switch {
	case f.Due != "" || f.Snoozed == SnoozedOnly:
		// Only an open case is due or snoozed.
		if f.Status != "" && f.Status != models.CaseOpen {
			return nil
		}
		return []models.CaseStatus{models.CaseOpen}
	case f.Status != "":
		return []models.CaseStatus{f.Status}
	case f.Unresolved:
		return []models.CaseStatus{models.CaseOpen, models.CaseHeld}
	}
	return models.CaseStatuses()
}

// parts are lists of one state, and of one queue where the sort needs it, that together are the list:
// an index answers each of them in order.
func (f Filter) parts() []Filter {
	var parts []Filter
	for _, status := range f.statuses() {
		part := f
		part.Status = status
		if f.Queue != "" || f.few() || f.column() == SortDue && f.Due == "" && f.Snoozed != SnoozedOnly {
			parts = append(parts, part)
			continue
		}
		for _, part.Queue = range models.Queues() {
			parts = append(parts, part)
		}
	}
	return parts
}

// few says whether the filter leaves so few cases, however long the history, that they are better found
// by it and sorted than met while walking through a queue.
func (f Filter) few() bool {
	return f.InvoiceID != "" || f.RunID != "" || f.ClaimedBy != "" && f.ClaimedBy != ClaimedByNobody
}

func (f Filter) rows(tx *models.Tx, after *cursor, n int) ([]caseRow, error) {
	due, err := f.windows(tx)
	if err != nil {
		return nil, err
	}
	var all []caseRow
	for _, part := range f.parts() {
		query, args := part.statement(tx, due, after, n)
		var rows []caseRow
		if err := tx.DB.Raw(query, args...).Find(&rows).Error; err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b caseRow) int {
		order := f.at(a.Case).compare(f.at(b.Case))
		if strings.HasPrefix(f.Sort, "-") {
			return -order
		}
		return order
	})
	return all[:min(n, len(all))], nil
}

// statement reads the first n cases of one part beyond a place.
func (f Filter) statement(tx *models.Tx, due map[models.Queue]dueWindow, after *cursor, n int) (string, []any) {
	op, dir := " > ", ""
	if strings.HasPrefix(f.Sort, "-") {
		op, dir = " < ", " DESC"
	}
	order := f.order()
	where := f.within(tx, due)
	f.narrow(&where, tx)
	if after != nil {
		values := after.values()
		where.and("("+strings.Join(order, ", ")+")"+op+"("+strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")+")", values...)
	}
	query := "SELECT " + selectCaseRow + " FROM " + f.table(tx) + " WHERE " + where.text() + " ORDER BY " + strings.Join(order, dir+", ") + dir + " LIMIT ?"
	return query, append(where.args, n)
}

// table is the table of cases as a part reads it.
func (f Filter) table(tx *models.Tx) string {
	if f.Snoozed == SnoozedOnly && !f.few() {
		return snoozedCases(tx)
	}
	return "cases"
}

// snoozedCases is the table of cases as it is read for what is snoozed. SQLite, which keeps no figures
// about its tables, would walk through all that is open, so it is told the index.
func snoozedCases(tx *models.Tx) string {
	if tx.DB.Name() == "postgres" {
		return "cases"
	}
	return "cases INDEXED BY cases_snoozed"
}

// Found is how many cases a list holds, as far as they were counted.
type Found struct {
	N    int
	More bool // there may be more than N
	Bad  bool // the list asks for what does not exist
}

// lookedAt bounds how many cases are looked at to count one list.
const lookedAt = 500

// CountEach counts lists up to most cases each, with a statement or two for each that looks at a bounded
// number of cases, however many there are.
func (s *Service) CountEach(ctx context.Context, by models.Principal, lists []Filter, most int) ([]Found, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return nil, err
	}
	out := make([]Found, len(lists))
	if len(lists) == 0 {
		return out, nil
	}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		for i, f := range lists {
			if _, err := f.check(); err != nil {
				out[i].Bad = true
				continue
			}
			var err error
			if out[i], err = f.count(tx, most); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (f Filter) count(tx *models.Tx, most int) (Found, error) {
	due, err := f.windows(tx)
	if err != nil {
		return Found{}, err
	}
	f.Sort = SortDue
	var found Found
	for _, part := range f.parts() {
		var rest conditions
		part.narrow(&rest, tx)
		where := part.within(tx, due)
		if f.few() {
			where.and(rest.text(), rest.args...)
			rest = conditions{}
		}
		limit, asks := most+1, "1 = 1"
		if len(rest.all) > 0 {
			limit, asks = lookedAt, rest.text()
		}
		var looked, n int
		query := "SELECT count(*), count(CASE WHEN " + asks + " THEN 1 END) FROM (SELECT * FROM " + part.table(tx) + " WHERE " + where.text() + " LIMIT ?) AS cases"
		if err := tx.DB.Raw(query, slices.Concat(rest.args, where.args, []any{limit})...).Row().Scan(&looked, &n); err != nil {
			return Found{}, err
		}
		found.N += n
		found.More = found.More || looked == limit
	}
	if found.N > most {
		found.N, found.More = most, true
	}
	return found, nil
}

// mostCapitals bounds how many different letters beyond ASCII are compared capital or small.
const mostCapitals = 16

// alike compares a column with a text, capital or small. Databases differ in which letters beyond ASCII
// they know the small ones of, so those of the text are named.
func alike(column, text string) (string, []any) {
	small := strings.ToLower(text)
	expr := "lower(" + column + ")"
	var args []any
	seen := map[rune]bool{}
	for _, r := range small {
		if up := unicode.ToUpper(r); r > unicode.MaxASCII && up != r && !seen[r] && len(seen) < mostCapitals {
			seen[r] = true
			expr = "replace(" + expr + ", ?, ?)"
			args = append(args, string(up), string(r))
		}
	}
	return expr + " = ?", append(args, small)
}

// conditions are what a statement asks of its rows.
type conditions struct {
	all  []string
	args []any
}

func (c *conditions) and(text string, args ...any) {
	c.all, c.args = append(c.all, text), append(c.args, args...)
}

func (c *conditions) text() string { return strings.Join(c.all, " AND ") }

// windows are from when to when cases must be due, by queue; nil when the filter does not ask.
func (f Filter) windows(tx *models.Tx) (map[models.Queue]dueWindow, error) {
	if f.Due == "" {
		return nil, nil
	}
	hours, cal, err := hoursAndCalendar(tx)
	if err != nil {
		return nil, err
	}
	out := map[models.Queue]dueWindow{}
	for _, w := range dueWindows(f.Due, models.Queues(), hours, cal, tx.Now) {
		out[w.queue] = w
	}
	return out, nil
}

// within are the conditions of one part that its index answers. Where few are left the index of that
// filter is the better one; SQLite, which keeps no figures about its tables, is told so by the plus.
func (f Filter) within(tx *models.Tx, due map[models.Queue]dueWindow) conditions {
	var where conditions
	mark := ""
	if f.few() && tx.DB.Name() != "postgres" {
		mark = "+"
	}
	if f.InvoiceID == "" && f.RunID == "" {
		where.and(mark+"cases.workspace_id = ?", tx.By.WorkspaceID) // the index of claims is not a workspace's
	} else {
		where.and("cases.workspace_id = ?", tx.By.WorkspaceID)
	}
	if f.Queue != "" {
		where.and(mark+"cases.queue = ?", f.Queue)
	}
	where.and(mark+"cases.status = ?", f.Status)
	switch f.Snoozed {
	case SnoozedNot:
		where.and("cases.snoozed_until IS NULL")
	case SnoozedOnly:
		where.and("cases.snoozed_until IS NOT NULL")
	}
	if due == nil {
		return where
	}
	if f.Queue != "" {
		text, args := due[f.Queue].condition()
		where.and(text, args...)
		return where
	}
	var windows []string
	for _, q := range models.Queues() {
		text, args := due[q].condition()
		windows, where.args = append(windows, "cases.queue = ? AND "+text), append(append(where.args, q), args...)
	}
	where.all = append(where.all, "("+strings.Join(windows, " OR ")+")")
	return where
}

func (w dueWindow) condition() (string, []any) {
	if w.from.IsZero() {
		return "cases.due_at < ?", []any{w.to}
	}
	return "cases.due_at >= ? AND cases.due_at < ?", []any{w.from, w.to}
}

// narrow adds the conditions that rows are met with one by one.
func (f Filter) narrow(where *conditions, tx *models.Tx) {
	if !readsAll(tx.By) {
		where.and("(cases.agent_id = ? OR EXISTS (SELECT 1 FROM handovers h WHERE h.case_id = cases.id AND h.agent_id = ?))", tx.By.UserID, tx.By.UserID)
	}
	for _, c := range []struct{ column, value string }{{"reason", string(f.Reason)}, {"invoice_id", f.InvoiceID}, {"number_norm", models.NormaliseNumber(f.InvoiceNumber)},
		{"po_id", f.PoID}, {"run_id", f.RunID}, {"currency", f.Currency}} {
		if c.value != "" {
			where.and("cases."+c.column+" = ?", c.value)
		}
	}
	if f.RunID != "" {
		where.and("cases.run_id <> ''") // its index is found only by this constant
	}
	switch f.Code {
	case "":
	case NoCode:
		where.and("cases.code = ''")
	default:
		where.and("cases.code = ?", f.Code)
	}
	if f.Queue == "" && f.among != nil {
		var args []any
		for _, q := range f.among {
			args = append(args, q)
		}
		where.and("cases.queue IN ("+strings.TrimPrefix(strings.Repeat(", ?", len(args)), ", ")+")", args...)
	}
	if f.Supplier != "" {
		id, args := alike("cases.supplier_id", f.Supplier)
		name, more := alike("cases.supplier_name", f.Supplier)
		where.and("("+id+" OR "+name+")", append(args, more...)...)
	}
	if f.Agent != "" {
		where.and("(cases.agent_id = ? OR cases.agent_name = ?)", f.Agent, f.Agent)
	}
	if f.Age != "" {
		where.and("cases.created_at <= ?", tx.Now.Add(-ages[f.Age]))
	}
	if f.AmountFrom != "" {
		where.and("cases.amount_key >= ?", amountKey(f.AmountFrom, f.Currency))
	}
	if f.AmountTo != "" {
		where.and("cases.amount_key <= ?", amountKey(f.AmountTo, f.Currency))
	}
	switch f.ClaimedBy {
	case "":
	case ClaimedByNobody:
		where.and("(cases.claimed_by_id IS NULL OR cases.claimed_until <= ?)", tx.Now)
	case ClaimedBySomebody: // the comparison, unlike IS NOT NULL, can be answered by the index of claims
		where.and("cases.claimed_by_id > '' AND cases.claimed_until > ?", tx.Now)
	case ClaimedByMe:
		where.and("cases.claimed_by_id = ? AND cases.claimed_until > ?", tx.By.UserID, tx.Now)
	default:
		where.and("cases.claimed_by_id = ? AND cases.claimed_until > ?", f.ClaimedBy, tx.Now)
	}
}

// amountKey is the key of an amount that was checked before.
func amountKey(amount, currency string) string {
	m, err := models.ParseMoney(amount, currency)
	if err != nil {
		return ""
	}
	return m.SortKey()
}

func itemOf(row caseRow, tx *models.Tx) CaseItem {
	c := row.Case
	filed := c.AgentID != nil && *c.AgentID == tx.By.UserID || !readsAll(tx.By)
	item := CaseItem{CaseSummary: summaryOf(row, tx.Now), Instruction: instructionIn(c.Instruction), InvoiceID: c.InvoiceID, InvoiceNumber: c.InvoiceNumber,
		SupplierID: c.SupplierID, PoID: c.PoID, RunID: c.RunID, Supplier: c.SupplierName, Amount: c.Amount, Currency: c.Currency, Agent: c.AgentName, ClaimedByMe: c.ClaimedAt(tx.Now) != "" && c.ClaimedAt(tx.Now) == tx.By.UserID,
		HeldUntil: c.HeldUntil, Overdue: c.Status == models.CaseOpen && tx.Now.After(c.DueAt.Time), SnoozedUntil: c.SnoozedUntil, EscalatedAt: c.EscalatedAt, Marks: marksIn(c.Marks), Handovers: c.HandoverCount}
	if item.Supplier == "" {
		item.Supplier = c.SupplierID
	}
	if item.ClaimedBy != nil {
		item.ClaimedUntil = c.ClaimedUntil
	}
	if !seesPrivate(tx.By, filed) {
		item.Invoice = hideInvoice(item.Invoice)
	}
	return item
}

// cursor is where a page ended: the sort key and the id of its last row.
type cursor struct {
	Sort   string      `json:"s"`
	At     models.Time `json:"-"`
	Text   string      `json:"t,omitempty"`
	Amount [2]string   `json:"a,omitzero"` // currency and key, when the list is sorted by them
	ID     string      `json:"i"`
}

func (c cursor) text() string {
	if !c.At.IsZero() {
		c.Text = c.At.String()
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// readCursor reads what text wrote for a list with this sort; nil for the first page.
func readCursor(text, sort string) (*cursor, error) {
	if text == "" {
		return nil, nil
	}
	bad := models.E(models.BadRequest, "The cursor belongs to another list. Send next_cursor of the page before, with the same sort.", map[string]any{"field": "cursor"})
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, bad
	}
	var c cursor
	if err := json.Unmarshal(raw, &c); err != nil || c.Sort != sort || c.ID == "" {
		return nil, bad
	}
	if byAmount := strings.TrimPrefix(sort, "-") == SortSmallest; byAmount != (c.Amount[0] != "") {
		return nil, bad
	}
	if c.Text != "" {
		if err := c.At.Scan(c.Text); err != nil {
			return nil, bad
		}
	}
	return &c, nil
}

// QueueCount is how much waits in one queue.
type QueueCount struct {
	Queue     models.Queue
	Open      int64 // and in its list: what is snoozed is counted apart
	Held      int64
	Resolved  int64
	Overdue   int64       // open and past their time, snoozed or not; counted up to MostOverdue
	DueSoon   int64       // open and due within the hours of their queue, snoozed or not; counted up to MostOverdue
	Snoozed   int64       // open and out of the list for a while; counted up to MostOverdue
	OldestDue models.Time // the open case that is due first
	Mine      bool        // the person works the queue
}

// MostOverdue is up to where cases that are overdue, due soon or snoozed are counted.
const MostOverdue = 1000

// Counts says for every queue how much waits in it, without looking at history.
func (s *Service) Counts(ctx context.Context, by models.Principal) ([]QueueCount, error) {
	if err := mayLook(by); err != nil {
		return nil, err
	}
	var out []QueueCount
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var err error
		out, err = countsOf(tx)
		return err
	})
	return out, err
}

// mayLook refuses callers where people look at all that goes on in a workspace.
func mayLook(by models.Principal) error {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return err
	}
	return by.NeedRole(peopleRoles...)
}

func countsOf(tx *models.Tx) ([]QueueCount, error) {
	var rows []models.CaseCount
	if err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Find(&rows).Error; err != nil {
		return nil, err
	}
	out := make([]QueueCount, 0, len(models.Queues()))
	for _, q := range models.Queues() {
		n := QueueCount{Queue: q, Mine: works(tx.By, q)}
		for _, row := range rows {
			if row.Queue != q {
				continue
			}
			switch row.Status {
			case models.CaseOpen:
				n.Open = row.N
			case models.CaseHeld:
				n.Held = row.N
			case models.CaseResolved:
				n.Resolved = row.N
			}
		}
		if n.Open > 0 {
			var first []models.Case
			open := tx.DB.Select("id, due_at").Where("workspace_id = ? AND queue = ? AND status = ?", tx.By.WorkspaceID, q, models.CaseOpen)
			if err := open.Order("due_at, id").Limit(1).Find(&first).Error; err != nil {
				return nil, err
			}
			if len(first) == 1 {
				n.OldestDue = first[0].DueAt
			}
		}
		out = append(out, n)
	}
	return out, countDue(tx, out)
}

// MyWork is what waits for one person.
type MyWork struct {
	Claimed []CaseItem   // held by the person, the first due first
	Next    []CaseItem   // free in the person's queues, the first due first
	Fraud   []FraudAlert // for AP leads
	Counts  []QueueCount
}

// FraudAlert tells the AP lead that somebody suspected fraud.
type FraudAlert struct {
	CaseID    string
	InvoiceID string
	Supplier  string
	By        string
	Reason    string
	At        models.Time
}

const (
	nextShown  = 10
	fraudShown = 20
	fraudDays  = 14 // how long an alert stands
)

// firstOfMine are the cases of the queues the person works that are due first, as many as one section
// shows.
func firstOfMine(tx *models.Tx, f Filter) ([]CaseItem, error) {
	f.Sort = SortDue
	var rows []caseRow
	for _, q := range models.Queues() {
		if !works(tx.By, q) {
			continue
		}
		f.Queue = q
		more, err := f.rows(tx, nil, nextShown)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	slices.SortFunc(rows, func(a, b caseRow) int { return cmp.Or(a.DueAt.Compare(b.DueAt.Time), cmp.Compare(a.ID, b.ID)) })
	items := []CaseItem{}
	for _, row := range rows[:min(nextShown, len(rows))] {
		items = append(items, itemOf(row, tx))
	}
	return items, nil
}

// Mine reads what waits for the person.
func (s *Service) Mine(ctx context.Context, by models.Principal) (MyWork, error) {
	if err := mayLook(by); err != nil {
		return MyWork{}, err
	}
	out := MyWork{Claimed: []CaseItem{}, Next: []CaseItem{}}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var claimed []caseRow
		err := tx.DB.Table("cases").Select(selectCaseRow).
			Where("cases.claimed_by_id = ? AND cases.workspace_id = ? AND cases.claimed_until > ? AND cases.status <> ?", by.UserID, by.WorkspaceID, tx.Now, models.CaseResolved).
			Order("cases.due_at, cases.id").Limit(MostLimit).Find(&claimed).Error
		if err != nil {
			return err
		}
		for _, row := range claimed {
			out.Claimed = append(out.Claimed, itemOf(row, tx))
		}
		if out.Next, err = firstOfMine(tx, Filter{Status: models.CaseOpen, ClaimedBy: ClaimedByNobody, Snoozed: SnoozedNot}); err != nil {
			return err
		}
		if by.Has(models.RoleAPLead) {
			if out.Fraud, err = fraudAlerts(tx); err != nil {
				return err
			}
		}
		out.Counts, err = countsOf(tx)
		return err
	})
	return out, err
}

func fraudAlerts(tx *models.Tx) ([]FraudAlert, error) {
	var rows []struct {
		models.Decision `gorm:"embedded"`
		Supplier        string
	}
	err := tx.DB.Table("decisions").Select("decisions.*, COALESCE(NULLIF(c.supplier_name, ''), c.supplier_id) AS supplier").Joins("JOIN cases c ON c.id = decisions.case_id").
		Where("decisions.workspace_id = ? AND decisions.exit = 'suspected_fraud' AND decisions.decided_at > ?", tx.By.WorkspaceID, tx.Now.AddDate(0, 0, -fraudDays)).
		Order("decisions.decided_at DESC").Limit(fraudShown).Find(&rows).Error
	alerts := make([]FraudAlert, len(rows))
	for i, r := range rows {
		alerts[i] = FraudAlert{CaseID: r.CaseID, InvoiceID: r.InvoiceID, Supplier: r.Supplier, By: r.DecidedByName, Reason: r.Reason, At: r.DecidedAt}
	}
	return alerts, err
}
