package approvals

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// Sizes of a page of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Filter narrows a list of requests. Empty fields do not narrow.
type Filter struct {
	Status    []models.RequestStatus
	InvoiceID string
	Supplier  string
	Tool      string
	CaseID    string
	Currency  string
	Asker     string // user id
	Report    ReportStatus
	Sort      string // created_at, -created_at (newest first, the default), or expires_at (what lapses first)
	Cursor    string // of the page before
	Limit     int    // 0 means DefaultLimit
}

// List is one page of requests.
type List struct {
	Items      []ListItem
	NextCursor string // empty on the last page
}

// ListItem is one request in a list.
type ListItem struct {
	RequestID  string
	Status     models.RequestStatus
	Tool       string
	Summary    string
	Amount     models.Money
	InvoiceID  string
	Invoice    models.Invoice
	SupplierID string
	AskerName  string
	CaseID     string
	CreatedAt  models.Time
	ExpiresAt  models.Time
	DecidedAt  models.Time
	Yes        int // yes votes so far
	Required   int
	// OnBehalfOf is in whose place the reader would decide, empty when it is their own.
	OnBehalfOf string
	Reason     string
	Approval   models.ApprovalStatus // empty without an approval
	Report     ReportStatus
	Document   string
}

// List reads requests, by keyset. People of the workspace see every request, an agent what it filed.
// BAD_REQUEST for an unknown sort field or cursor.
func (s *Service) List(ctx context.Context, by models.Principal, f Filter) (List, error) {
	if err := mayRead(by); err != nil {
		return List{}, err
	}
	sorted, err := f.check()
	if err != nil {
		return List{}, err
	}
	var list List
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		list = List{}
		q, err := f.query(tx, sorted)
		if err != nil {
			return err
		}
		var rows []models.ApprovalRequest
		if err := q.Omit(heavyColumns...).Limit(f.Limit + 1).Find(&rows).Error; err != nil {
			return fmt.Errorf("approvals: list: %w", err)
		}
		if len(rows) > f.Limit {
			rows = rows[:f.Limit]
			list.NextCursor = sorted.cursor(rows[len(rows)-1])
		}
		list.Items, err = itemsOf(tx, rows)
		return err
	})
	return list, err
}

// sorting is the order of a list: by a moment, then by id.
type sorting struct {
	column, direction string
	moment            func(models.ApprovalRequest) models.Time
}

var (
	newestFirst = sorting{"created_at", "DESC", func(r models.ApprovalRequest) models.Time { return r.CreatedAt }}
	oldestFirst = sorting{"created_at", "ASC", newestFirst.moment}
	lapsesFirst = sorting{"expires_at", "ASC", func(r models.ApprovalRequest) models.Time { return r.ExpiresAt }}
)

func (s sorting) cursor(r models.ApprovalRequest) string { return models.KeyCursor(s.moment(r), r.ID) }

func (f *Filter) check() (sorting, error) {
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	if f.Limit < 1 || f.Limit > MaxLimit {
		return sorting{}, models.Invalid(models.Issue{Path: "/limit", Message: fmt.Sprintf("must be 1 to %d", MaxLimit)})
	}
	for _, st := range f.Status {
		if !st.Valid() {
			return sorting{}, models.E(models.BadRequest, fmt.Sprintf("%q is no status of an approval request.", clip(string(st), 40)), map[string]any{"field": "status"})
		}
	}
	switch f.Sort {
	case "", "-created_at":
		return newestFirst, nil
	case "created_at":
		return oldestFirst, nil
	case "expires_at":
		return lapsesFirst, nil
	}
	return sorting{}, models.E(models.BadRequest, "Requests can be sorted by created_at, -created_at or expires_at.", map[string]any{"field": "sort"})
}

func (f *Filter) query(tx *models.Tx, s sorting) (*gorm.DB, error) {
	q := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Order(s.column + " " + s.direction + ", id " + s.direction)
	if !tx.By.Has(readers...) && tx.By.Channel != models.ChannelSystem {
		q = q.Where("EXISTS (SELECT 1 FROM askers k WHERE k.request_id = approval_requests.id AND k.user_id = ? AND k.relation = ?)", tx.By.UserID, relationAsked)
	}
	for column, value := range map[string]string{"invoice_id": f.InvoiceID, "supplier_id": f.Supplier, "tool": f.Tool, "case_id": f.CaseID, "asker_id": f.Asker, "currency": f.Currency} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if len(f.Status) > 0 {
		either := tx.DB.Session(&gorm.Session{NewDB: true})
		for _, st := range f.Status {
			// A request past its time is expired, whether or not the job has written it down.
			switch st {
			case models.RequestPending, models.RequestUnrouted:
				either = either.Or("status = ? AND expires_at > ?", st, tx.Now)
			case models.RequestExpired:
				either = either.Or("(status = ? OR (status IN ? AND expires_at <= ?))", st, []models.RequestStatus{models.RequestPending, models.RequestUnrouted}, tx.Now)
			default:
				either = either.Or("status = ?", st)
			}
		}
		q = q.Where(either)
	}
	if f.Report != "" {
		q = q.Where("EXISTS (SELECT 1 FROM approvals a WHERE a.request_id = approval_requests.id AND a.report_status = ?)", f.Report)
	}
	if f.Cursor != "" {
		at, id, err := models.ReadKeyCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		compare := map[string]string{"DESC": "<", "ASC": ">"}[s.direction]
		q = q.Where("("+s.column+" "+compare+" ? OR ("+s.column+" = ? AND id "+compare+" ?))", at, at, id)
	}
	return q, nil
}

func itemsOf(tx *models.Tx, rows []models.ApprovalRequest) ([]ListItem, error) {
	items := make([]ListItem, len(rows))
	if len(rows) == 0 {
		return items, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	var grants []models.Approval
	if err := tx.DB.Where("request_id IN ? AND workspace_id = ?", ids, tx.By.WorkspaceID).Find(&grants).Error; err != nil {
		return nil, fmt.Errorf("approvals: read approvals: %w", err)
	}
	byRequest := map[string]models.Approval{}
	for _, a := range grants {
		byRequest[a.RequestID] = a
	}
	var votes []models.Vote
	if err := tx.DB.Select("request_id").Where("request_id IN ? AND decision = ?", ids, models.VoteApprove).Find(&votes).Error; err != nil {
		return nil, fmt.Errorf("approvals: read votes: %w", err)
	}
	yes := map[string]int{}
	for _, v := range votes {
		yes[v.RequestID]++
	}
	for i, r := range rows {
		amount, err := models.ParseMoney(r.Amount, r.Currency)
		if err != nil {
			return nil, fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
		}
		item := ListItem{RequestID: r.ID, Status: statusAt(r, tx.Now), Tool: r.Tool, Summary: r.Summary, Amount: amount, InvoiceID: r.InvoiceID,
			Invoice: invoiceOf(r), SupplierID: r.SupplierID, AskerName: r.AskerName, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			DecidedAt: r.DecidedAt, Yes: yes[r.ID], Required: r.Required, Reason: r.Reason}
		if r.CaseID != nil {
			item.CaseID = *r.CaseID
		}
		if a, ok := byRequest[r.ID]; ok {
			item.Approval, item.Report, item.Document = approvalAt(a, tx.Now), ReportStatus(a.ReportStatus), a.DocumentNumber
		}
		items[i] = item
	}
	return items, nil
}

// heavyColumns may hold megabytes and are for the page of one request.
var heavyColumns = []string{"arguments", "evidence", "body", "explanation"}

// uncounted are columns that say nothing about who may decide a request.
var uncounted = append([]string{"run_id", "invoice", "digest", "summary", "posting_date", "cost_centre", "asker_name", "token_id", "reason", "instruction", "decided_at", "updated_at"}, heavyColumns...)

// Bounds of a walk over what waits. A batch is read with a fixed number of queries.
const (
	waitingBatch = 100
	// maxWalk is how many requests one call looks at. Most are kept away by the query; only what needs the
	// rule's copy, a delegation or a limit to be told apart is looked at in vain.
	maxWalk = 1000
)

// WaitingFilter narrows what waits for a person. Empty fields do not narrow.
type WaitingFilter struct {
	Currency string
	Supplier string // id
	Tool     string
	Asker    string // user id
	Cursor   string // of the page before
	Limit    int    // 0 means DefaultLimit
}

// WaitingFor lists the requests by may decide now, those that lapse first on top. What others delegated
// to by is among them; what by delegated is not.
func (s *Service) WaitingFor(ctx context.Context, by models.Principal, cursor string, limit int) (List, error) {
	return s.WaitingList(ctx, by, WaitingFilter{Cursor: cursor, Limit: limit})
}

// WaitingList is WaitingFor, narrowed. A page can hold fewer than were asked for and still have a next
// one: a call looks at so many requests and no more.
func (s *Service) WaitingList(ctx context.Context, by models.Principal, f WaitingFilter) (List, error) {
	if err := mayRead(by); err != nil {
		return List{}, err
	}
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	if f.Limit < 1 || f.Limit > MaxLimit {
		return List{}, models.Invalid(models.Issue{Path: "/limit", Message: fmt.Sprintf("must be 1 to %d", MaxLimit)})
	}
	var list List
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		w, ok, err := walkWaiting(tx, f)
		if err != nil || !ok {
			return err
		}
		var rows []models.ApprovalRequest
		for n := f.Limit + 1; len(rows) <= f.Limit && !w.done; n = waitingBatch {
			batch, err := w.next(n)
			if err != nil {
				return err
			}
			rows = append(rows, batch...)
		}
		if len(rows) > f.Limit {
			rows = rows[:f.Limit]
			list.NextCursor = lapsesFirst.cursor(rows[len(rows)-1])
		} else if w.more {
			list.NextCursor = lapsesFirst.cursor(w.last)
		}
		if list.Items, err = itemsOf(tx, rows); err != nil {
			return err
		}
		for i := range list.Items {
			list.Items[i].OnBehalfOf = w.places[list.Items[i].RequestID]
		}
		return nil
	})
	return list, err
}

// CountWaiting counts what WaitingFor lists, up to limit. more says that there is or may be more.
func (s *Service) CountWaiting(ctx context.Context, by models.Principal, limit int) (n int, more bool, err error) {
	if err := mayRead(by); err != nil {
		return 0, false, err
	}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		n, more = 0, false
		w, ok, err := walkWaiting(tx, WaitingFilter{})
		if err != nil || !ok {
			return err
		}
		w.query = w.query.Omit(uncounted...)
		for size := limit + 1; n <= limit && !w.done; size = waitingBatch {
			batch, err := w.next(size)
			if err != nil {
				return err
			}
			n += len(batch)
		}
		more = n > limit || w.more
		n = min(n, limit)
		return nil
	})
	return n, more, err
}

// CurrencyTotal is how much of one currency waits.
type CurrencyTotal struct {
	Total  models.Money
	Count  int
	Credit bool // of amounts below zero, which are never set off against the others
}

// maxTotalled bounds how many requests WaitingTotals adds up.
const maxTotalled = 1000

// WaitingTotals adds up what waits for a person per currency, those that lapse first first; more says
// that there is more than it adds up. Nothing is converted.
func (s *Service) WaitingTotals(ctx context.Context, by models.Principal, f WaitingFilter) (totals []CurrencyTotal, more bool, err error) {
	if err := mayRead(by); err != nil {
		return nil, false, err
	}
	f.Cursor = ""
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		totals, more = nil, false
		w, ok, err := walkWaiting(tx, f)
		if err != nil || !ok {
			return err
		}
		var amounts []models.Money
		for len(amounts) < maxTotalled && !w.done {
			batch, err := w.next(waitingBatch)
			if err != nil {
				return err
			}
			for _, r := range batch {
				m, err := models.ParseMoney(r.Amount, r.Currency)
				if err != nil {
					return fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
				}
				amounts = append(amounts, m)
			}
		}
		more = !w.done || w.more
		totals, err = TotalsOf(amounts)
		return err
	})
	return totals, more, err
}

// TotalsOf adds amounts up per currency, by its code, the credits after and apart from the rest: a credit
// note does not make what is paid out smaller.
func TotalsOf(amounts []models.Money) ([]CurrencyTotal, error) {
	var out []CurrencyTotal
	for _, m := range amounts {
		i := slices.IndexFunc(out, func(t CurrencyTotal) bool { return t.Total.Currency() == m.Currency() && t.Credit == m.Negative() })
		if i < 0 {
			out = append(out, CurrencyTotal{Total: m, Count: 1, Credit: m.Negative()})
			continue
		}
		sum, err := out[i].Total.Add(m)
		if err != nil {
			return nil, fmt.Errorf("approvals: add up %s: %w", m.Currency(), err)
		}
		out[i].Total, out[i].Count = sum, out[i].Count+1
	}
	slices.SortFunc(out, func(a, b CurrencyTotal) int {
		if by := strings.Compare(a.Total.Currency(), b.Total.Currency()); by != 0 {
			return by
		}
		if a.Credit {
			return 1
		}
		return -1
	})
	return out, nil
}

// waitingWalk goes through the pending requests of a workspace that may be a person's, by what lapses
// first, and keeps those that are.
type waitingWalk struct {
	tx     *models.Tx
	query  *gorm.DB
	last   models.ApprovalRequest // last one looked at
	begun  bool
	looked int
	places map[string]string // request id to in whose place, where it is not the person's own
	// done says that next has nothing more to give: all was seen, or the walk went as far as it may; more
	// tells the second from the first.
	done, more bool
}

// walkWaiting starts a walk; ok is false for somebody who is no active member.
func walkWaiting(tx *models.Tx, f WaitingFilter) (w *waitingWalk, ok bool, err error) {
	w = &waitingWalk{tx: tx, places: map[string]string{}}
	// Whose places the person may fill now: their own, and those delegated to them.
	places := []string{tx.By.UserID}
	var from []string
	err = tx.DB.Model(&models.Delegation{}).Where("workspace_id = ? AND to_id = ? AND starts_at <= ? AND ends_at > ? AND ended_at IS NULL",
		tx.By.WorkspaceID, tx.By.UserID, tx.Now, tx.Now).Pluck("from_id", &from).Error
	if err != nil {
		return nil, false, fmt.Errorf("approvals: read delegations: %w", err)
	}
	places = append(places, from...)
	members, err := tx.Members(places...)
	if err != nil {
		return nil, false, fmt.Errorf("approvals: read members: %w", err)
	}
	if !slices.ContainsFunc(members, func(m models.Member) bool { return m.User.ID == tx.By.UserID }) {
		return nil, false, nil
	}
	roles := []models.Role{"-"} // no rule names it, so that the list is never empty
	for _, m := range members {
		roles = append(roles, m.Roles...)
	}
	named := tx.DB.Session(&gorm.Session{NewDB: true}).Where("approval_requests.named_id IN ?", places).Or("r.role IN ?", roles).Or("r.then_role IN ?", roles)
	for _, id := range places {
		named = named.Or("r.people LIKE ?", `%"`+id+`"%`).Or("r.then_people LIKE ?", `%"`+id+`"%`)
	}
	// The query keeps away what the person can never decide: what no rule, as it was when it routed, and no
	// lead's choice lets them near, what they asked for or voted on, what they routed themselves.
	rule := tx.DB.Session(&gorm.Session{NewDB: true}).Table("rules r").Select("1").
		Where("r.id = approval_requests.rule_id AND r.version = approval_requests.rule_version AND (r.author_id IS NULL OR r.author_id <> ?)", tx.By.UserID).Where(named)
	q := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status = ? AND expires_at > ?", tx.By.WorkspaceID, models.RequestPending, tx.Now).
		Where("EXISTS (?)", rule).
		Where("(named_by_id IS NULL OR named_by_id <> ?)", tx.By.UserID).
		Where("NOT EXISTS (SELECT 1 FROM askers k WHERE k.request_id = approval_requests.id AND k.user_id = ?)", tx.By.UserID).
		Where("NOT EXISTS (SELECT 1 FROM votes v WHERE v.request_id = approval_requests.id AND v.user_id = ?)", tx.By.UserID)
	for column, value := range map[string]string{"currency": f.Currency, "supplier_id": f.Supplier, "tool": f.Tool, "asker_id": f.Asker} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if f.Cursor != "" {
		at, id, err := models.ReadKeyCursor(f.Cursor)
		if err != nil {
			return nil, false, err
		}
		w.last, w.begun = models.ApprovalRequest{ID: id, ExpiresAt: at}, true
	}
	w.query = q
	return w, true, nil
}

// next reads a batch of n and answers those the person may decide now, which may be none.
func (w *waitingWalk) next(n int) ([]models.ApprovalRequest, error) {
	q := w.query.Session(&gorm.Session{})
	if w.begun {
		q = q.Where("(expires_at > ? OR (expires_at = ? AND id > ?))", w.last.ExpiresAt, w.last.ExpiresAt, w.last.ID)
	}
	var rows []models.ApprovalRequest
	if err := q.Order("expires_at, id").Limit(n).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("approvals: list pending: %w", err)
	}
	if len(rows) < n {
		w.done = true
	}
	if len(rows) == 0 {
		return nil, nil
	}
	w.last, w.begun, w.looked = rows[len(rows)-1], true, w.looked+len(rows)
	if w.looked >= maxWalk && !w.done {
		w.done, w.more = true, true
	}
	facts, members, err := countAll(w.tx, rows)
	if err != nil {
		return nil, err
	}
	var mine []models.ApprovalRequest
	for _, r := range rows {
		with, err := mayVote(w.tx.By, facts[r.ID], members)
		if err != nil {
			continue // not theirs to decide now
		}
		mine = append(mine, r)
		if with.by != nil {
			w.places[r.ID] = with.owner.User.Name
		}
	}
	return mine, nil
}
