package approvals

import (
	"errors"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// The jobs of requests; the subject of each is the request's id, so that no approval id stands in the
// job table.
const (
	JobRequestExpire    models.JobKind = "request.expire"
	JobRequestExpiring  models.JobKind = "request.expiring"
	JobApprovalExpire   models.JobKind = "approval.expire"
	JobApprovalExpiring models.JobKind = "approval.expiring"
	JobReportOverdue    models.JobKind = "report.overdue"
	JobReportRemind     models.JobKind = "report.remind"  // an hour after the redeem
	JobReportRemind2    models.JobKind = "report.remind2" // a day after it, for the last time
)

// Jobs are what the desk does by itself: it lets requests and approvals lapse and warns before, says so
// when a write is not reported, starts and ends delegations, and settles what these change.
func (s *Service) Jobs() map[models.JobKind]models.JobFunc {
	lapse := func(tx *models.Tx, job models.Job) error {
		r, err := lockRequest(tx, job.Subject)
		if err != nil {
			return ignoreMissing(err)
		}
		_, err = s.putAwayLapsed(tx, &r)
		return err
	}
	return map[models.JobKind]models.JobFunc{
		JobRequestExpire: lapse, JobApprovalExpire: lapse,
		JobRequestExpiring: warnOfRequest, JobApprovalExpiring: warnOfApproval,
		JobReportOverdue: reportOverdue, JobReportRemind: remindOfReport, JobReportRemind2: remindOfReport,
		JobDelegationStart: s.startDelegation, JobDelegationEnd: s.finishDelegation,
		JobSettle: s.settleMore, JobReopen: s.reopenMore, JobRoute: s.routeMore,
	}
}

func ignoreMissing(err error) error {
	if models.IsCode(err, models.NotFound) {
		return nil
	}
	return err
}

// asDesk does what nobody decided: what it writes names the desk and no person.
func asDesk(tx *models.Tx, do func() error) error {
	by := tx.By
	tx.By = models.System(by.WorkspaceID)
	defer func() { tx.By = by }()
	return do()
}

func unschedule(tx *models.Tx, subject string, kinds ...models.JobKind) error {
	if err := tx.DB.Where("kind IN ? AND subject = ?", kinds, subject).Delete(&models.Job{}).Error; err != nil {
		return fmt.Errorf("approvals: unschedule: %w", err)
	}
	return nil
}

// putAwayLapsed writes down that a locked request, or its approval, is past its time. It answers
// whether it was; a request that still lives is left alone. Whoever happens to find it out is not named.
func (s *Service) putAwayLapsed(tx *models.Tx, r *models.ApprovalRequest) (lapsed bool, err error) {
	err = asDesk(tx, func() error {
		lapsed, err = s.lapse(tx, r)
		return err
	})
	return lapsed, err
}

func (s *Service) lapse(tx *models.Tx, r *models.ApprovalRequest) (bool, error) {
	if statusAt(*r, tx.Now) == models.RequestExpired && r.Status != models.RequestExpired {
		return true, s.lapseRequest(tx, r)
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

func (s *Service) lapseRequest(tx *models.Tx, r *models.ApprovalRequest) error {
	var told []string
	if r.Status == models.RequestPending {
		facts, members, _, err := count(tx, *r)
		if err != nil {
			return err
		}
		told = deciderIDs(facts, members)
		for _, v := range facts.Votes {
			told = append(told, v.UserID)
		}
	}
	if err := change(tx, r, map[string]any{"status": models.RequestExpired, "live": false, "version": r.Version + 1, "reason": ""}); err != nil {
		return err
	}
	if err := unschedule(tx, r.ID, JobRequestExpire, JobRequestExpiring); err != nil {
		return err
	}
	if err := s.concluded(tx, *r, "The request expired; nobody decided it in time."); err != nil {
		return err
	}
	if err := tell(tx, NoticeLapsed, r.ID, noticeData(*r), told...); err != nil {
		return err
	}
	notify(tx, *r)
	return tx.Audit("request.expired", r.Ref(), map[string]any{"expired_at": r.ExpiresAt})
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
	if err := unschedule(tx, r.ID, JobApprovalExpire, JobApprovalExpiring); err != nil {
		return err
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
func (s *Service) withdraw(tx *models.Tx, r *models.ApprovalRequest, reason string) error {
	err := change(tx, r, map[string]any{"status": models.RequestWithdrawn, "live": false, "reason": reason, "decided_at": tx.Now, "version": r.Version + 1})
	if err != nil {
		return err
	}
	if err := unschedule(tx, r.ID, JobRequestExpire, JobRequestExpiring); err != nil {
		return err
	}
	if err := s.concluded(tx, *r, "The request was withdrawn: "+reason); err != nil {
		return err
	}
	notify(tx, *r)
	return tx.Audit("request.withdrawn", r.Ref(), map[string]any{"reason": reason})
}
