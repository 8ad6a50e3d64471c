package approvals

import (
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// What people are told about requests, approvals and delegations.
const (
	NoticeWaiting           models.NoticeKind = "request.waiting"    // it is your turn to decide
	NoticeExpiring          models.NoticeKind = "request.expiring"   // it lapses soon
	NoticeLapsed            models.NoticeKind = "request.lapsed"     // nobody decided it in time
	NoticeApprovalExpiring  models.NoticeKind = "approval.expiring"  // what you approved was not used yet
	NoticeRevoked           models.NoticeKind = "approval.revoked"   // because of who gave it
	NoticeReportOverdue     models.NoticeKind = "report.overdue"     // nobody said what came of the write
	NoticeDelegationSet     models.NoticeKind = "delegation.set"     // planned
	NoticeDelegationStarted models.NoticeKind = "delegation.started" // items moved to the delegate
	NoticeDelegationEnded   models.NoticeKind = "delegation.ended"   // items moved back
)

// maxTold bounds how many people one event is told to; everybody finds it on their pages.
const maxTold = 50

// noticeData is what the words of a notice about a request need. It holds no approval id.
func noticeData(r models.ApprovalRequest) map[string]any {
	invoice := invoiceOf(r)
	return map[string]any{"summary": clip(r.Summary, 200), "amount": r.Amount, "currency": r.Currency, "invoice_id": r.InvoiceID, "invoice_number": clip(invoice.Number, 100),
		"supplier": clip(invoice.SupplierName, 200), "tool": r.Tool, "expires_at": r.ExpiresAt, "asker": r.AskerName}
}

func tell(tx *models.Tx, kind models.NoticeKind, subject string, data map[string]any, userIDs ...string) error {
	if len(userIDs) == 0 {
		return nil
	}
	if len(userIDs) > maxTold {
		userIDs = userIDs[:maxTold]
	}
	if err := tx.Tell(kind, subject, data, userIDs...); err != nil {
		return fmt.Errorf("approvals: tell: %w", err)
	}
	return nil
}

// tellLeads tells some people and the AP leads.
func tellLeads(tx *models.Tx, kind models.NoticeKind, subject string, data map[string]any, userIDs ...string) error {
	leads := map[string]bool{}
	if err := holders(tx, map[models.Role]bool{models.RoleAPLead: true}, leads); err != nil {
		return err
	}
	return tell(tx, kind, subject, data, append(userIDs, keys(leads)...)...)
}

// deciderIDs lists who may decide now.
func deciderIDs(f Facts, members []models.Member) []string {
	var ids []string
	for _, d := range f.Deciders(members) {
		if d.May() {
			ids = append(ids, d.UserID)
		}
	}
	return ids
}

// responsibleFor lists the people who asked for a request or answer for the account that did.
func responsibleFor(tx *models.Tx, requestID string) ([]string, error) {
	var ids []string
	err := tx.DB.Model(&models.Asker{}).Where("request_id = ? AND relation IN ?", requestID, []string{relationAsked, relationResponsible}).
		Order("user_id").Pluck("user_id", &ids).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read askers: %w", err)
	}
	return ids, nil
}

// tellWaiting tells those who can decide a request now that it waits for them.
func (s *Service) tellWaiting(tx *models.Tx, r models.ApprovalRequest) error {
	if r.Status != models.RequestPending {
		return nil
	}
	facts, members, _, err := count(tx, r)
	if err != nil {
		return err
	}
	return tell(tx, NoticeWaiting, r.ID, noticeData(r), deciderIDs(facts, members)...)
}

// warnAt is when it is time to say that a request lapses: one business day before, or for a life that is
// shorter than that when a fifth of it is left.
func warnAt(calendar models.Calendar, begun, expires models.Time) models.Time {
	if early := calendar.AddBusinessDays(expires, -1); early.After(begun.Time) {
		return early
	}
	return expires.Add(-expires.Sub(begun.Time) / 5)
}

// warnOfRequest tells those who can still decide a request that it lapses soon. A request whose time
// began anew, or that is unrouted meanwhile, is looked at again later.
func warnOfRequest(tx *models.Tx, job models.Job) error {
	r, err := lockRequest(tx, job.Subject)
	if err != nil {
		return ignoreMissing(err)
	}
	switch statusAt(r, tx.Now) {
	case models.RequestUnrouted:
		return reschedule(tx, JobRequestExpiring, r.ID, r.ExpiresAt)
	case models.RequestPending:
	default:
		return nil
	}
	calendar, err := tx.Calendar()
	if err != nil {
		return fmt.Errorf("approvals: read calendar: %w", err)
	}
	if due := warnAt(calendar, r.CreatedAt, r.ExpiresAt); due.After(tx.Now.Time) {
		return reschedule(tx, JobRequestExpiring, r.ID, due)
	}
	facts, members, tally, err := count(tx, r)
	if err != nil || tally.Status != models.RequestPending {
		return err
	}
	if err := tell(tx, NoticeExpiring, r.ID, noticeData(r), deciderIDs(facts, members)...); err != nil {
		return err
	}
	return tx.Audit("request.expiring", r.Ref(), map[string]any{"expires_at": r.ExpiresAt})
}

func reschedule(tx *models.Tx, kind models.JobKind, subject string, due models.Time) error {
	if err := tx.Schedule(kind, subject, due); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	return nil
}

// warnOfApproval tells those who approved that a quarter of the approval's life is left and nobody used
// it.
func warnOfApproval(tx *models.Tx, job models.Job) error {
	r, err := lockRequest(tx, job.Subject)
	if err != nil {
		return ignoreMissing(err)
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil || !ok || approvalAt(a, tx.Now) != models.ApprovalGranted {
		return err
	}
	approvers, err := approversOf(tx, r)
	if err != nil {
		return err
	}
	data := noticeData(r)
	data["expires_at"] = a.ExpiresAt
	if err := tell(tx, NoticeApprovalExpiring, r.ID, data, approvers...); err != nil {
		return err
	}
	return tx.Audit("approval.expiring", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "expires_at": a.ExpiresAt})
}

// approversOf lists who voted yes.
func approversOf(tx *models.Tx, r models.ApprovalRequest) ([]string, error) {
	var ids []string
	err := tx.DB.Model(&models.Vote{}).Where("request_id = ? AND workspace_id = ? AND decision = ?", r.ID, r.WorkspaceID, models.VoteApprove).
		Order("at, id").Pluck("user_id", &ids).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read votes: %w", err)
	}
	return ids, nil
}
