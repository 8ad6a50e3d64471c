package queue

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// Limits of a page of a list.
const (
	DefaultLimit = 50
	MostLimit    = 200
)

// Special values of Filter.ClaimedBy.
const (
	ClaimedByMe     = "me"
	ClaimedByNobody = "nobody"
)

// Sorts of a list of cases; a leading minus turns the order round.
const (
	SortDue        = "due_at"
	SortDueLast    = "-due_at"
	SortOldest     = "created_at"
	SortNewest     = "-created_at"
	sortsOfTheList = "due_at, -due_at, created_at, -created_at"
)

// Filter narrows a list of cases; zero fields do not narrow.
type Filter struct {
	Queue         models.Queue
	Status        models.CaseStatus
	Unresolved    bool // open or held
	Code          models.Code
	Reason        models.HandoverReason
	ClaimedBy     string // me, nobody, or a user's id
	Supplier      string // id or name
	InvoiceID     string
	InvoiceNumber string // compared normalised
	PoID          string
	RunID         string
	Due           string // soon, overdue or today: open cases only
	Snoozed       string // not or only
	Cursor        string
	Limit         int
	Sort          string
}

// CaseItem is a case in a list, with what pages show beside the fields of the wire.
type CaseItem struct {
	CaseSummary
	Instruction *models.Instruction `json:"instruction"`

	InvoiceID     string      `json:"-"`
	InvoiceNumber string      `json:"-"`
	Supplier      string      `json:"-"` // name, else id
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
			last := rows[limit-1]
			out.NextCursor = cursor{Sort: f.Sort, At: f.key(last.Case), ID: last.ID}.text()
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
	if !slices.Contains([]string{SortDue, SortDueLast, SortOldest, SortNewest}, f.Sort) {
		return 0, models.E(models.BadRequest, fmt.Sprintf("The list cannot be sorted by %q; it can by %s.", clipID(f.Sort), sortsOfTheList), map[string]any{"field": "sort"})
	}
	var issues []models.Issue
	if f.Queue != "" && !f.Queue.Valid() {
		issues = append(issues, models.Issue{Path: "/queue", Message: "must be ap, ap_lead, procurement, finance or master_data"})
	}
	if f.Status != "" && !f.Status.Valid() {
		issues = append(issues, models.Issue{Path: "/status", Message: "must be open, held or resolved"})
	}
	if f.Code != "" && !f.Code.IsOutcome() {
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
	if len(issues) > 0 {
		return 0, models.Invalid(issues...)
	}
	return checkLimit(f.Limit)
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

// orderBy is the column as the statement names it. What waits is few, so for the age of open and held
// cases the index by state is used and not the one by age, which would walk through history.
func (f Filter) orderBy(status models.CaseStatus) string {
	col := "cases." + f.column()
	if f.column() == SortOldest && status != models.CaseResolved {
		return "COALESCE(" + col + ", " + col + ")"
	}
	return col
}

func (f Filter) key(c models.Case) models.Time {
	if f.column() == SortOldest {
		return c.CreatedAt
	}
	return c.DueAt
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

func (f Filter) rows(tx *models.Tx, after *cursor, n int) ([]caseRow, error) {
	var all []caseRow
	for _, status := range f.statuses() {
		var rows []caseRow
		q, err := f.whereDue(f.where(tx.DB.Table("cases").Select(selectCaseRow), tx).Where("cases.status = ?", status), tx)
		if err != nil {
			return nil, err
		}
		col, op, dir := f.orderBy(status), ">", ""
		if strings.HasPrefix(f.Sort, "-") {
			op, dir = "<", " DESC"
		}
		if after != nil {
			q = q.Where("("+col+", cases.id) "+op+" (?, ?)", after.At, after.ID)
		}
		if err := q.Order(col + dir + ", cases.id" + dir).Limit(n).Find(&rows).Error; err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b caseRow) int {
		order := f.key(a.Case).Compare(f.key(b.Case).Time)
		if order == 0 {
			order = cmp.Compare(a.ID, b.ID)
		}
		if strings.HasPrefix(f.Sort, "-") {
			return -order
		}
		return order
	})
	return all[:min(n, len(all))], nil
}

func (f Filter) where(q *gorm.DB, tx *models.Tx) *gorm.DB {
	q = q.Where("cases.workspace_id = ?", tx.By.WorkspaceID)
	if !readsAll(tx.By) {
		q = q.Where("(cases.agent_id = ? OR EXISTS (SELECT 1 FROM handovers h WHERE h.case_id = cases.id AND h.agent_id = ?))", tx.By.UserID, tx.By.UserID)
	}
	for column, value := range map[string]string{"queue": string(f.Queue), "code": string(f.Code), "reason": string(f.Reason),
		"invoice_id": f.InvoiceID, "number_norm": models.NormaliseNumber(f.InvoiceNumber), "po_id": f.PoID, "run_id": f.RunID} {
		if value != "" {
			q = q.Where("cases."+column+" = ?", value)
		}
	}
	if f.Supplier != "" {
		q = q.Where("(cases.supplier_id = ? OR cases.supplier_name = ?)", f.Supplier, f.Supplier)
	}
	switch f.ClaimedBy {
	case "":
	case ClaimedByNobody:
		q = q.Where("(cases.claimed_by_id IS NULL OR cases.claimed_until <= ?)", tx.Now)
	case ClaimedByMe:
		q = q.Where("cases.claimed_by_id = ? AND cases.claimed_until > ?", tx.By.UserID, tx.Now)
	default:
		q = q.Where("cases.claimed_by_id = ? AND cases.claimed_until > ?", f.ClaimedBy, tx.Now)
	}
	return q
}

func itemOf(row caseRow, tx *models.Tx) CaseItem {
	c := row.Case
	filed := c.AgentID != nil && *c.AgentID == tx.By.UserID || !readsAll(tx.By)
	item := CaseItem{CaseSummary: summaryOf(row, tx.Now), Instruction: instructionIn(c.Instruction), InvoiceID: c.InvoiceID, InvoiceNumber: c.InvoiceNumber,
		Supplier: c.SupplierName, Amount: c.Amount, Currency: c.Currency, Agent: c.AgentName, ClaimedByMe: c.ClaimedAt(tx.Now) != "" && c.ClaimedAt(tx.Now) == tx.By.UserID,
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
	Sort string      `json:"s"`
	At   models.Time `json:"-"`
	Text string      `json:"t,omitempty"`
	ID   string      `json:"i"`
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
	Open      int64
	Held      int64
	Resolved  int64
	Overdue   int64       // open and past their time; counted up to MostOverdue
	DueSoon   int64       // open and due within the hours of their queue; counted up to MostOverdue
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
		var free []caseRow
		for _, q := range models.Queues() {
			if !works(by, q) {
				continue
			}
			f := Filter{Queue: q, Status: models.CaseOpen, ClaimedBy: ClaimedByNobody, Snoozed: SnoozedNot, Sort: SortDue}
			rows, err := f.rows(tx, nil, nextShown)
			if err != nil {
				return err
			}
			free = append(free, rows...)
		}
		slices.SortFunc(free, func(a, b caseRow) int {
			if order := a.DueAt.Compare(b.DueAt.Time); order != 0 {
				return order
			}
			return cmp.Compare(a.ID, b.ID)
		})
		for _, row := range free[:min(nextShown, len(free))] {
			out.Next = append(out.Next, itemOf(row, tx))
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
