package approvals

import (
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// EarlierRun is a redeemed approval of the very same call.
type EarlierRun struct {
	RequestID      string
	RedeemedAt     models.Time
	Report         ReportStatus // empty: nothing was reported yet
	DocumentNumber string
}

// Text says in words what happened then.
func (e EarlierRun) Text() string {
	switch {
	case e.Report == ReportPosted && e.DocumentNumber != "":
		return fmt.Sprintf("exactly this call was carried out on %s as document %s", when(e.RedeemedAt), e.DocumentNumber)
	case e.Report == ReportPosted:
		return fmt.Sprintf("exactly this call was carried out on %s; no document number was reported", when(e.RedeemedAt))
	case e.Report == ReportFailed:
		return fmt.Sprintf("exactly this call was tried on %s and reported as failed", when(e.RedeemedAt))
	default:
		return fmt.Sprintf("exactly this call was released on %s and nobody reported what came of it", when(e.RedeemedAt))
	}
}

// earlierRun finds the last other approval of the same call that was redeemed, nil when there is none.
func earlierRun(tx *models.Tx, r models.ApprovalRequest) (*EarlierRun, error) {
	var rows []models.Approval
	err := tx.DB.Table("approvals a").Select("a.*").Joins("JOIN approval_requests r ON r.id = a.request_id").
		Where("r.workspace_id = ? AND r.digest = ? AND r.id <> ? AND a.status = ?", r.WorkspaceID, r.Digest, r.ID, models.ApprovalRedeemed).
		Order("a.redeemed_at DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read earlier runs: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &EarlierRun{RequestID: rows[0].RequestID, RedeemedAt: rows[0].RedeemedAt, Report: ReportStatus(rows[0].ReportStatus), DocumentNumber: rows[0].DocumentNumber}, nil
}
