package queue

import (
	"context"
	"encoding/json"

	"github.com/apdesk/apdesk/models"
)

// ReadsAll says whether by reads every record of the workspace, and not only what it filed itself.
func ReadsAll(by models.Principal) bool { return readsAll(by) }

// InvoiceWork is what the queues know of one invoice.
type InvoiceWork struct {
	Cases []InvoiceCase // the unresolved ones first, then the newest
	Holds []HoldView    // those that wait first, then the newest
	More  bool          // there are more than asked for
	// Sent is the invoice as it was described last, nil when no case or hold is about it. Tax and bank
	// data is hidden from those it is not for.
	Sent   json.RawMessage
	SentBy string
	SentAt models.Time
	Hidden bool // tax and bank data is not for the reader
}

// InvoiceCase is a case of an invoice with the decision taken last.
type InvoiceCase struct {
	CaseItem
	Last *Decision
}

// OfInvoice reads the cases and holds of an invoice, at most limit of each. Only people who may read
// every case of the workspace may ask.
func (s *Service) OfInvoice(ctx context.Context, by models.Principal, invoiceID string, limit int) (InvoiceWork, error) {
	out := InvoiceWork{Hidden: !seesPrivate(by, false)}
	if err := mayLook(by); err != nil {
		return out, err
	}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		if err := casesOfInvoice(tx, &out, invoiceID, limit); err != nil {
			return err
		}
		return holdsOfInvoice(tx, &out, invoiceID, limit)
	})
	return out, err
}

func casesOfInvoice(tx *models.Tx, out *InvoiceWork, invoiceID string, limit int) error {
	var rows []caseRow
	err := tx.DB.Table("cases").Select(selectCaseRow).Where("cases.workspace_id = ? AND cases.invoice_id = ?", tx.By.WorkspaceID, invoiceID).
		Order("CASE cases.status WHEN 'resolved' THEN 1 ELSE 0 END, cases.created_at DESC, cases.id DESC").Limit(limit + 1).Find(&rows).Error
	if err != nil {
		return err
	}
	if len(rows) > limit {
		rows, out.More = rows[:limit], true
	}
	for _, row := range rows {
		item := InvoiceCase{CaseItem: itemOf(row, tx)}
		var last []models.Decision
		if err := tx.DB.Where("case_id = ?", row.ID).Order("decided_at DESC, id DESC").Limit(1).Find(&last).Error; err != nil {
			return err
		}
		decided, err := decisionsOf(last)
		if err != nil {
			return err
		}
		if len(decided) == 1 {
			item.Last = &decided[0]
		}
		out.Cases = append(out.Cases, item)
		if row.CreatedAt.After(out.SentAt.Time) {
			out.Sent, out.SentBy, out.SentAt = item.Invoice, row.AgentName, row.CreatedAt
		}
	}
	return nil
}

func holdsOfInvoice(tx *models.Tx, out *InvoiceWork, invoiceID string, limit int) error {
	var rows []models.Hold
	err := tx.DB.Where("workspace_id = ? AND invoice_id = ?", tx.By.WorkspaceID, invoiceID).
		Order("CASE status WHEN 'waiting' THEN 0 ELSE 1 END, created_at DESC, id DESC").Limit(limit + 1).Find(&rows).Error
	if err != nil {
		return err
	}
	if len(rows) > limit {
		rows, out.More = rows[:limit], true
	}
	for _, h := range rows {
		v, err := holdViewOf(h, !out.Hidden)
		if err != nil {
			return err
		}
		out.Holds = append(out.Holds, v)
		if h.CreatedAt.After(out.SentAt.Time) {
			out.Sent, out.SentBy, out.SentAt = v.Invoice, h.AgentName, h.CreatedAt
		}
	}
	return nil
}

// Comments reads comments of the workspace by their ids, in no particular order. Only people who may
// read every case may ask.
func (s *Service) Comments(ctx context.Context, by models.Principal, ids ...string) (list []models.Comment, err error) {
	if err := mayLook(by); err != nil || len(ids) == 0 {
		return nil, err
	}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		return tx.DB.Where("workspace_id = ? AND id IN ?", by.WorkspaceID, ids).Find(&list).Error
	})
	return list, err
}
