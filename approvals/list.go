package approvals

import (
	"context"
	"encoding/base64"
	"fmt"
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
	Asker     string // user id
	Report    ReportStatus
	Sort      string // created_at, or -created_at (newest first, the default)
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
	order, err := f.check()
	if err != nil {
		return List{}, err
	}
	var list List
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		q, err := f.query(tx, order)
		if err != nil {
			return err
		}
		var rows []models.ApprovalRequest
		if err := q.Omit(heavyColumns...).Limit(f.Limit + 1).Find(&rows).Error; err != nil {
			return fmt.Errorf("approvals: list: %w", err)
		}
		if len(rows) > f.Limit {
			rows = rows[:f.Limit]
			list.NextCursor = cursorOf(rows[len(rows)-1])
		}
		list.Items, err = itemsOf(tx, rows)
		return err
	})
	return list, err
}

func (f *Filter) check() (order string, err error) {
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	if f.Limit < 1 || f.Limit > MaxLimit {
		return "", models.Invalid(models.Issue{Path: "/limit", Message: fmt.Sprintf("must be 1 to %d", MaxLimit)})
	}
	for _, st := range f.Status {
		if !st.Valid() {
			return "", models.E(models.BadRequest, fmt.Sprintf("%q is no status of an approval request.", clip(string(st), 40)), map[string]any{"field": "status"})
		}
	}
	switch f.Sort {
	case "", "-created_at":
		return "DESC", nil
	case "created_at":
		return "ASC", nil
	}
	return "", models.E(models.BadRequest, "Requests can be sorted by created_at or -created_at.", map[string]any{"field": "sort"})
}

func (f *Filter) query(tx *models.Tx, order string) (*gorm.DB, error) {
	q := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Order("created_at " + order + ", id " + order)
	if !tx.By.Has(readers...) && tx.By.Channel != models.ChannelSystem {
		q = q.Where("EXISTS (SELECT 1 FROM askers k WHERE k.request_id = approval_requests.id AND k.user_id = ? AND k.relation = ?)", tx.By.UserID, relationAsked)
	}
	for column, value := range map[string]string{"invoice_id": f.InvoiceID, "supplier_id": f.Supplier, "tool": f.Tool, "case_id": f.CaseID, "asker_id": f.Asker} {
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
		at, id, err := readCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		compare := map[string]string{"DESC": "<", "ASC": ">"}[order]
		q = q.Where("(created_at "+compare+" ? OR (created_at = ? AND id "+compare+" ?))", at, at, id)
	}
	return q, nil
}

func cursorOf(r models.ApprovalRequest) string {
	return base64.RawURLEncoding.EncodeToString([]byte(r.CreatedAt.String() + "|" + r.ID))
}

func readCursor(cursor string) (at models.Time, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	when, id, ok := strings.Cut(string(raw), "|")
	if err == nil && ok {
		err = at.Scan(when)
	}
	if err != nil || !ok {
		return at, "", models.E(models.BadRequest, "This cursor is not one the desk gave out. Start again without it.", map[string]any{"field": "cursor"})
	}
	return at, id, nil
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

// maxWaiting bounds what WaitingFor looks through; requests nearest to their expiry come first.
const maxWaiting = 1000

// WaitingFor lists the requests by may decide now, those that lapse first on top.
func (s *Service) WaitingFor(ctx context.Context, by models.Principal) ([]ListItem, error) {
	if err := mayRead(by); err != nil {
		return nil, err
	}
	var items []ListItem
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		members, err := tx.Members(by.UserID)
		if err != nil || len(members) == 0 {
			return err
		}
		var rows []models.ApprovalRequest
		// Only what a rule, as it was when it routed them, or a lead's choice lets this person near.
		err = tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status = ? AND expires_at > ?", by.WorkspaceID, models.RequestPending, tx.Now).
			Where("named_id = ? OR EXISTS (SELECT 1 FROM rules r WHERE r.id = rule_id AND r.version = rule_version AND (r.role IN ? OR r.people LIKE ?))",
				by.UserID, append([]models.Role{"-"}, by.Roles...), `%"`+by.UserID+`"%`).
			Order("expires_at, id").Limit(maxWaiting).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("approvals: list pending: %w", err)
		}
		facts, err := factsOfAll(tx, rows)
		if err != nil {
			return err
		}
		var mine []models.ApprovalRequest
		for _, r := range rows {
			if _, err := mayVote(by, facts[r.ID], members); err == nil {
				mine = append(mine, r)
			}
		}
		items, err = itemsOf(tx, mine)
		return err
	})
	return items, err
}
