package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apdesk/apdesk/models"
)

// ReportStatus is what came of a write.
type ReportStatus string

// What is reported, and what the desk notes when nothing is.
const (
	ReportPosted  ReportStatus = "posted"
	ReportFailed  ReportStatus = "failed"
	ReportOverdue ReportStatus = "overdue" // nothing was reported in time
)

// ReportInput is what the ERP says about a write after it redeemed.
type ReportInput struct {
	Status         ReportStatus // posted or failed
	DocumentNumber string
	Message        string
}

// ReportResult is the report as the desk keeps it.
type ReportResult struct {
	ApprovalID     string       `json:"approval_id"`
	RequestID      string       `json:"request_id"`
	InvoiceID      string       `json:"invoice_id"`
	Status         ReportStatus `json:"status"`
	DocumentNumber string       `json:"document_number,omitempty"`
	Message        string       `json:"message,omitempty"`
	ReportedAt     models.Time  `json:"reported_at"`
}

const (
	maxDocumentNumber = 100
	maxReportMessage  = 4000
)

func (in ReportInput) check() error {
	var issues []models.Issue
	if in.Status != ReportPosted && in.Status != ReportFailed {
		issues = append(issues, models.Issue{Path: "/status", Message: "must be posted or failed"})
	}
	if len([]rune(in.DocumentNumber)) > maxDocumentNumber {
		issues = append(issues, models.Issue{Path: "/document_number", Message: fmt.Sprintf("must have at most %d characters", maxDocumentNumber)})
	}
	if len([]rune(in.Message)) > maxReportMessage {
		issues = append(issues, models.Issue{Path: "/message", Message: fmt.Sprintf("must have at most %d characters", maxReportMessage)})
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return nil
}

// Report keeps what came of the write of a redeemed approval. A failed write may still be reported as
// posted; a posted one stays posted under its document number (CONFLICT), which may come later when the
// first report had none. UNPROCESSABLE_ENTITY before the approval is redeemed.
func (s *Service) Report(ctx context.Context, by models.Principal, approvalID string, in ReportInput, idem models.Idempotency) (ReportResult, error) {
	if err := by.NeedScope(models.ScopeApprovalsWrite, models.ScopeMoney); err != nil {
		return ReportResult{}, err
	}
	if err := by.NeedRole(models.RoleERP); err != nil {
		return ReportResult{}, err
	}
	if err := in.check(); err != nil {
		return ReportResult{}, err
	}
	var result ReportResult
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		result, err = models.Once(tx, "report_write:"+approvalID, idem, func() (ReportResult, error) { return report(tx, approvalID, in) })
		return err
	})
	return result, err
}

func report(tx *models.Tx, approvalID string, in ReportInput) (ReportResult, error) {
	found, ok, err := findApproval(tx, RedeemInput{ApprovalID: approvalID})
	if err != nil {
		return ReportResult{}, err
	}
	if !ok {
		return ReportResult{}, models.E(models.NotFound, "There is no such approval in this workspace.", nil)
	}
	r, err := lockRequest(tx, found.RequestID)
	if err != nil {
		return ReportResult{}, err
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil {
		return ReportResult{}, err
	}
	if !ok {
		return ReportResult{}, errors.New("approvals: an approval vanished")
	}
	if a.Status != models.ApprovalRedeemed {
		return ReportResult{}, models.E(models.Unprocessable, "This approval was not redeemed, so there is no write to report. Redeem before you write.",
			map[string]any{"request_id": r.ID, "status": a.Status})
	}
	result := ReportResult{ApprovalID: a.ID, RequestID: r.ID, InvoiceID: r.InvoiceID, Status: in.Status, DocumentNumber: in.DocumentNumber, Message: in.Message, ReportedAt: tx.Now}
	if a.ReportStatus == string(ReportPosted) {
		return addToPosted(tx, r, a, in, result)
	}
	err = setReport(tx, a, map[string]any{"report_status": in.Status, "document_number": in.DocumentNumber, "report_message": in.Message, "reported_at": tx.Now})
	if err != nil {
		return ReportResult{}, err
	}
	if err := unschedule(tx, r.ID, JobReportOverdue, JobReportRemind, JobReportRemind2); err != nil {
		return ReportResult{}, err
	}
	notify(tx, r)
	return result, tx.Audit("write.reported", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "status": in.Status, "document_number": in.DocumentNumber,
		"message": in.Message, "before": a.ReportStatus})
}

// addToPosted answers a further report of a posted write with what stands. The document number may be
// filled in once; anything that differs is a CONFLICT.
func addToPosted(tx *models.Tx, r models.ApprovalRequest, a models.Approval, in ReportInput, result ReportResult) (ReportResult, error) {
	result.DocumentNumber, result.Message, result.ReportedAt = a.DocumentNumber, a.ReportMessage, a.ReportedAt
	details := map[string]any{"request_id": r.ID, "document_number": a.DocumentNumber}
	switch {
	case in.Status == ReportPosted && (in.DocumentNumber == "" || in.DocumentNumber == a.DocumentNumber):
		return result, nil
	case a.DocumentNumber != "":
		return ReportResult{}, models.E(models.Conflict, fmt.Sprintf("This write was reported as posted with document number %q on %s; that stands.", a.DocumentNumber, when(a.ReportedAt)), details)
	case in.Status != ReportPosted:
		return ReportResult{}, models.E(models.Conflict, fmt.Sprintf("This write was reported as posted on %s; that stands. Only its document number may still be added.", when(a.ReportedAt)), details)
	}
	result.DocumentNumber = in.DocumentNumber
	columns := map[string]any{"document_number": in.DocumentNumber}
	if a.ReportMessage == "" {
		columns["report_message"], result.Message = in.Message, in.Message
	}
	if err := setReport(tx, a, columns); err != nil {
		return ReportResult{}, err
	}
	notify(tx, r)
	return result, tx.Audit("write.numbered", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "document_number": in.DocumentNumber, "message": in.Message})
}

func setReport(tx *models.Tx, a models.Approval, columns map[string]any) error {
	err := tx.DB.Model(&models.Approval{}).Where("id = ? AND workspace_id = ?", a.ID, a.WorkspaceID).Updates(columns).Error
	if err != nil {
		return fmt.Errorf("approvals: write report: %w", err)
	}
	return nil
}

// When the silence of the ERP about a write is told, counted from the redeem: first after reportWithin,
// again after an hour and after a day, and then no more.
const (
	remindAfter  = time.Hour
	remindAfter2 = 24 * time.Hour
)

// expectReport plans what happens when nobody reports what came of a write released now.
func expectReport(tx *models.Tx, requestID string) error {
	if err := unschedule(tx, requestID, JobReportRemind, JobReportRemind2); err != nil {
		return err
	}
	return reschedule(tx, JobReportOverdue, requestID, tx.Now.Add(reportWithin))
}

// reportOverdue marks a write about which the ERP has been silent: nobody knows whether it was made.
// Whoever approved it and the AP leads are told.
func reportOverdue(tx *models.Tx, job models.Job) error {
	r, a, silent, err := lockSilent(tx, job, "")
	if err != nil || !silent {
		return err
	}
	if err := setReport(tx, a, map[string]any{"report_status": ReportOverdue}); err != nil {
		return err
	}
	if err := tellSilence(tx, r, a); err != nil {
		return err
	}
	if err := reschedule(tx, JobReportRemind, r.ID, job.DueAt.Add(remindAfter-reportWithin)); err != nil {
		return err
	}
	notify(tx, r)
	return tx.Audit("report.overdue", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "redeemed_at": a.RedeemedAt})
}

// remindOfReport tells the same people again.
func remindOfReport(tx *models.Tx, job models.Job) error {
	r, a, silent, err := lockSilent(tx, job, ReportOverdue)
	if err != nil || !silent {
		return err
	}
	if err := tellSilence(tx, r, a); err != nil {
		return err
	}
	if job.Kind == JobReportRemind {
		if err := reschedule(tx, JobReportRemind2, r.ID, job.DueAt.Add(remindAfter2-remindAfter)); err != nil {
			return err
		}
	}
	return tx.Audit("report.reminded", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "redeemed_at": a.RedeemedAt, "last": job.Kind == JobReportRemind2})
}

// lockSilent locks the request of a job and says whether its write is still unreported, as far as was
// noted.
func lockSilent(tx *models.Tx, job models.Job, noted ReportStatus) (r models.ApprovalRequest, a models.Approval, silent bool, err error) {
	if r, err = lockRequest(tx, job.Subject); err != nil {
		return r, a, false, ignoreMissing(err)
	}
	a, ok, err := approvalOf(tx, r.ID)
	return r, a, err == nil && ok && a.Status == models.ApprovalRedeemed && a.ReportStatus == string(noted), err
}

func tellSilence(tx *models.Tx, r models.ApprovalRequest, a models.Approval) error {
	approvers, err := approversOf(tx, r)
	if err != nil {
		return err
	}
	data := noticeData(r)
	data["redeemed_at"] = a.RedeemedAt
	return tellLeads(tx, NoticeReportOverdue, r.ID, data, approvers...)
}
