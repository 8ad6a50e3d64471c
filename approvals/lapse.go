package approvals

import (
	"errors"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// The jobs of requests; the subject of each is the request's id, so that no approval id stands in the
// job table.
const (
	JobRequestExpire  models.JobKind = "request.expire"
	JobApprovalExpire models.JobKind = "approval.expire"
	JobReportOverdue  models.JobKind = "report.overdue"
)

// Jobs are what the desk does by itself about requests: it lets them lapse, and says so when a write
// is not reported.
func (s *Service) Jobs() map[models.JobKind]models.JobFunc {
	lapse := func(tx *models.Tx, job models.Job) error {
		r, err := lockRequest(tx, job.Subject)
		if err != nil {
			return ignoreMissing(err)
		}
		_, err = s.putAwayLapsed(tx, &r)
		return err
	}
	return map[models.JobKind]models.JobFunc{JobRequestExpire: lapse, JobApprovalExpire: lapse, JobReportOverdue: reportOverdue}
}

func ignoreMissing(err error) error {
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	return err
}

// putAwayLapsed writes down that a locked request, or its approval, is past its time. It answers
// whether it was; a request that still lives is left alone.
func (s *Service) putAwayLapsed(tx *models.Tx, r *models.ApprovalRequest) (bool, error) {
	if statusAt(*r, tx.Now) == models.RequestExpired && r.Status != models.RequestExpired {
		if err := change(tx, r, map[string]any{"status": models.RequestExpired, "live": false, "version": r.Version + 1, "reason": ""}); err != nil {
			return false, err
		}
		if err := tx.Unschedule(JobRequestExpire, r.ID); err != nil {
			return false, fmt.Errorf("approvals: unschedule: %w", err)
		}
		notify(tx, *r)
		return true, tx.Audit("request.expired", r.Ref(), map[string]any{"expired_at": r.ExpiresAt})
	}
	if r.Status != models.RequestApproved || !r.Live {
		return !r.Live, nil
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, errors.New("approvals: an approved request without its approval")
	}
	if approvalAt(a, tx.Now) != models.ApprovalExpired {
		return false, nil
	}
	if err := endApproval(tx, r, a, map[string]any{"status": models.ApprovalExpired}); err != nil {
		return false, err
	}
	notify(tx, *r)
	return true, tx.Audit("approval.expired", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "expired_at": a.ExpiresAt})
}

// endApproval takes a granted approval, whose request is locked, to one of its ends. Its request is no
// longer live: the same call may be asked for anew. CONFLICT when it was not granted any more.
func endApproval(tx *models.Tx, r *models.ApprovalRequest, a models.Approval, columns map[string]any) error {
	done := tx.DB.Model(&models.Approval{}).Where("id = ? AND workspace_id = ? AND status = ?", a.ID, a.WorkspaceID, models.ApprovalGranted).Updates(columns)
	if done.Error != nil {
		return fmt.Errorf("approvals: end approval: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return models.E(models.Conflict, "The approval was used, revoked or expired in the meantime.", map[string]any{"request_id": r.ID})
	}
	if err := tx.Unschedule(JobApprovalExpire, r.ID); err != nil {
		return fmt.Errorf("approvals: unschedule: %w", err)
	}
	return change(tx, r, map[string]any{"live": false})
}

// revoke ends a granted approval for a reason that is kept.
func revoke(tx *models.Tx, r *models.ApprovalRequest, a models.Approval, reason string) error {
	err := endApproval(tx, r, a, map[string]any{"status": models.ApprovalRevoked, "revoked_at": tx.Now, "revoked_by": tx.By.UserName, "revoke_reason": reason})
	if err != nil {
		return err
	}
	notify(tx, *r)
	return tx.Audit("approval.revoked", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "reason": reason})
}

// withdraw ends a pending or unrouted request.
func withdraw(tx *models.Tx, r *models.ApprovalRequest, reason string) error {
	err := change(tx, r, map[string]any{"status": models.RequestWithdrawn, "live": false, "reason": reason, "decided_at": tx.Now, "version": r.Version + 1})
	if err != nil {
		return err
	}
	if err := tx.Unschedule(JobRequestExpire, r.ID); err != nil {
		return fmt.Errorf("approvals: unschedule: %w", err)
	}
	notify(tx, *r)
	return tx.Audit("request.withdrawn", r.Ref(), map[string]any{"reason": reason})
}
