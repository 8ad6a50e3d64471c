package approvals

import (
	"context"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// InvoiceRequest is one approval request of an invoice: where it stands, and who decided it.
type InvoiceRequest struct {
	ListItem
	Approvers []string // who said yes, or who said no to a rejected one
	// Of the grant, zero without one.
	ApprovalExpires models.Time
	RedeemedAt      models.Time
	RevokedAt       models.Time
	RevokeReason    string
	ReportedAt      models.Time
	ReportMessage   string
}

// OfInvoice lists the newest requests about an invoice, at most limit of them, and says whether there
// are more. Only people who may read every request of the workspace may ask.
func (s *Service) OfInvoice(ctx context.Context, by models.Principal, invoiceID string, limit int) (list []InvoiceRequest, more bool, err error) {
	if err := by.NeedScope(models.ScopeApprovalsRead); err != nil {
		return nil, false, err
	}
	if err := by.NeedRole(readers...); err != nil {
		return nil, false, err
	}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		var rows []models.ApprovalRequest
		err := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND invoice_id = ?", by.WorkspaceID, invoiceID).
			Order("created_at DESC, id DESC").Limit(limit + 1).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("approvals: read requests of an invoice: %w", err)
		}
		if len(rows) > limit {
			rows, more = rows[:limit], true
		}
		items, err := itemsOf(tx, rows)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		var votes []models.Vote
		if err := tx.DB.Where("request_id IN ? AND workspace_id = ?", ids, by.WorkspaceID).Order("at, id").Find(&votes).Error; err != nil {
			return fmt.Errorf("approvals: read votes: %w", err)
		}
		var grants []models.Approval
		if err := tx.DB.Where("request_id IN ? AND workspace_id = ?", ids, by.WorkspaceID).Find(&grants).Error; err != nil {
			return fmt.Errorf("approvals: read approvals: %w", err)
		}
		list = make([]InvoiceRequest, len(items))
		for i, item := range items {
			list[i] = InvoiceRequest{ListItem: item}
			for _, v := range votes {
				if v.RequestID == item.RequestID && (v.Decision == models.VoteReject) == (item.Status == models.RequestRejected) {
					list[i].Approvers = append(list[i].Approvers, voterName(v))
				}
			}
			for _, a := range grants {
				if a.RequestID == item.RequestID {
					list[i].ApprovalExpires, list[i].RedeemedAt, list[i].RevokedAt, list[i].RevokeReason = a.ExpiresAt, a.RedeemedAt, a.RevokedAt, a.RevokeReason
					list[i].ReportedAt, list[i].ReportMessage = a.ReportedAt, a.ReportMessage
				}
			}
		}
		return nil
	})
	return list, more, err
}

// voterName names a voter, and in whose place they voted.
func voterName(v models.Vote) string {
	if v.OnBehalfOfName == "" {
		return v.UserName
	}
	return v.UserName + " on behalf of " + v.OnBehalfOfName
}
