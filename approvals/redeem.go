package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// reportWithin is how long the ERP may be silent about a write after redeeming.
const reportWithin = 15 * time.Minute

// Redeem spends an approval for the one call it is bound to. The same key, call and account get the
// first answer again, so that a lost answer can be asked for. A refusal spends nothing and stands on
// the trail: APPROVAL_MISSING with details.reason unknown, wrong_workspace, already_used, revoked,
// expired or different_call; PERIOD_CLOSED; VALIDATION_ERROR for arguments that cannot be digested.
func (s *Service) Redeem(ctx context.Context, by models.Principal, in RedeemInput) (RedeemResult, error) {
	refuse := func(err error) (RedeemResult, error) {
		if ne, ok := models.AsNamed(err); ok && ne.Code != models.ValidationError && ne.Code != models.Unavailable {
			if recErr := s.store.RecordRefusal(ctx, by, "redeem.refused", models.Ref{}, refusalData(in, ne)); recErr != nil {
				return RedeemResult{}, recErr
			}
		}
		return RedeemResult{}, err
	}
	if err := by.NeedScope(models.ScopeApprovalsWrite, models.ScopeMoney); err != nil {
		return refuse(err)
	}
	if err := by.NeedRole(models.RoleERP); err != nil {
		return refuse(err)
	}
	digest, err := in.digest(by.WorkspaceID)
	if err != nil {
		return refuse(err)
	}
	var answer RedeemResult
	var refused *models.NamedError
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		answer, refused, err = s.redeem(tx, in, digest)
		return err
	})
	if err == nil && refused != nil {
		err = refused
	}
	return answer, err
}

func (in RedeemInput) digest(workspace string) (string, error) {
	issues := CheckArguments(in.Call.Arguments, "/arguments")
	if strings.TrimSpace(in.Call.Tool) == "" {
		issues = append(issues, models.Issue{Path: "/tool", Message: "is required: the tool that makes the write"})
	}
	switch n := len([]rune(in.IdempotencyKey)); {
	case n == 0:
		issues = append(issues, models.Issue{Path: "/idempotency_key", Message: "is required, so that a lost answer can be asked for again"})
	case n > models.MaxIdempotencyKey:
		issues = append(issues, models.Issue{Path: "/idempotency_key", Message: fmt.Sprintf("must have at most %d characters", models.MaxIdempotencyKey)})
	}
	if len(issues) > 0 {
		return "", models.Invalid(issues...)
	}
	return Digest(workspace, in.Call.Tool, in.Call.Arguments)
}

func refusalData(in RedeemInput, ne *models.NamedError) map[string]any {
	return map[string]any{"approval": models.MaskID(clip(in.ApprovalID, 80)), "tool": clip(in.Call.Tool, 120), "code": ne.Code, "reason": ne.Details["reason"], "why": ne.Message}
}

var missingText = map[string]string{
	"unknown":         "There is no such approval in a workspace you can reach.",
	"wrong_workspace": "This approval belongs to another workspace than the one the call names.",
	"already_used":    "This approval was used already; each is good for one write.",
	"revoked":         "This approval was revoked.",
	"expired":         "This approval expired before it was used.",
	"different_call":  "This approval is for another call: tool or arguments differ from what was approved.",
}

// approvalMissing is the refusal of a redeem.
func approvalMissing(reason string, in RedeemInput) *models.NamedError {
	return models.E(models.ApprovalMissing, missingText[reason]+" Nothing was written and nothing spent. Ask for an approval of exactly this call.",
		map[string]any{"reason": reason, "tool": clip(in.Call.Tool, 120)})
}

// redeem decides in the published order: same key and call, unknown, wrong_workspace, already_used,
// revoked, expired, different_call, closed period. A refusal is written to the trail in the same
// transaction, and so is a revocation that is only found out here.
func (s *Service) redeem(tx *models.Tx, in RedeemInput, digest string) (RedeemResult, *models.NamedError, error) {
	refuse := func(ref models.Ref, ne *models.NamedError) (RedeemResult, *models.NamedError, error) {
		return RedeemResult{}, ne, tx.Audit("redeem.refused", ref, refusalData(in, ne))
	}
	found, ok, err := findApproval(tx, in)
	if err != nil {
		return RedeemResult{}, nil, err
	}
	if !ok {
		return refuse(models.Ref{}, approvalMissing("unknown", in))
	}
	if found.WorkspaceID != tx.By.WorkspaceID {
		return refuse(models.Ref{}, approvalMissing("wrong_workspace", in))
	}
	r, err := lockRequest(tx, found.RequestID)
	if err != nil {
		return RedeemResult{}, nil, err
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil {
		return RedeemResult{}, nil, err
	}
	if !ok {
		return RedeemResult{}, nil, errors.New("approvals: an approval vanished")
	}
	if a.Status == models.ApprovalRedeemed && a.RedeemKey == in.IdempotencyKey && a.Digest == digest && a.RedeemedByID != nil && *a.RedeemedByID == tx.By.UserID {
		return redeemAgain(tx, in, r, a)
	}
	var yes Facts
	reason := refusalOf(a, digest, tx.Now)
	if reason == "" || reason == "different_call" {
		if yes, err = yesVotes(tx, r, a); err != nil {
			return RedeemResult{}, nil, err
		}
		gone, err := voterGone(tx, yes)
		if err != nil {
			return RedeemResult{}, nil, err
		}
		if gone != "" {
			if err := asDesk(tx, func() error { return s.revokeGone(tx, &r, a, gone) }); err != nil {
				return RedeemResult{}, nil, err
			}
			reason = "revoked"
		}
	}
	if reason != "" {
		ne := approvalMissing(reason, in)
		ne.Details["request_id"], ne.Details["invoice_id"] = r.ID, r.InvoiceID
		return refuse(r.Ref(), ne)
	}
	if err := checkPeriod(tx, r.PostingDate); err != nil {
		if ne, ok := models.AsNamed(err); ok {
			ne.Details["request_id"], ne.Details["invoice_id"] = r.ID, r.InvoiceID
			return refuse(r.Ref(), ne)
		}
		return RedeemResult{}, nil, err
	}
	answer, err := spend(tx, in, r, a, yes.Votes)
	return answer, nil, err
}

// refusalOf says why an approval cannot be spent for a call, "" when it can.
func refusalOf(a models.Approval, digest string, now models.Time) string {
	switch approvalAt(a, now) {
	case models.ApprovalRedeemed:
		return "already_used"
	case models.ApprovalRevoked:
		return "revoked"
	case models.ApprovalExpired:
		return "expired"
	}
	if a.Digest != digest {
		return "different_call"
	}
	return ""
}

// findApproval looks for the approval in the workspaces the caller reaches.
func findApproval(tx *models.Tx, in RedeemInput) (a models.Approval, ok bool, err error) {
	a, err = models.One[models.Approval](tx, "SELECT id, workspace_id, request_id FROM approvals WHERE id = ?", in.ApprovalID)
	if errors.Is(err, models.ErrNoRow) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("approvals: read approval: %w", err)
	}
	return a, a.WorkspaceID == tx.By.WorkspaceID || slices.Contains(in.Reachable, a.WorkspaceID), nil
}

// yesVotes are the votes a grant rests on, with what says whether their voters still have their place.
func yesVotes(tx *models.Tx, r models.ApprovalRequest, a models.Approval) (Facts, error) {
	routing, err := routingOf(r)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Routing: routing}
	if r.NamedID != nil {
		f.NamedID = *r.NamedID
	}
	f.Votes, err = models.All[models.Vote](tx, "SELECT * FROM votes WHERE request_id = ? AND workspace_id = ? AND decision = ? ORDER BY at, id",
		r.ID, r.WorkspaceID, string(models.VoteApprove))
	if err != nil {
		return Facts{}, fmt.Errorf("approvals: read votes: %w", err)
	}
	if f.Votes = f.basis(a); len(f.Votes) == 0 {
		return Facts{}, errors.New("approvals: an approval without votes")
	}
	return f, nil
}

// voterGone says which voter no longer holds the membership, role or place under which they said yes,
// or lost whom they stood in for; "" when all stand. What the matrix says today does not matter: the
// request's own copy counts.
func voterGone(tx *models.Tx, f Facts) (string, error) {
	var ids []string
	for _, v := range f.Votes {
		ids = append(ids, v.UserID, ownerOf(v))
	}
	list, err := tx.Members(ids...)
	if err != nil {
		return "", fmt.Errorf("approvals: read members: %w", err)
	}
	members := map[string]models.Member{}
	for _, m := range list {
		members[m.User.ID] = m
	}
	for _, v := range f.Votes {
		if why := f.lost(v, members); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// spend takes the approval, once.
func spend(tx *models.Tx, in RedeemInput, r models.ApprovalRequest, a models.Approval, votes []models.Vote) (RedeemResult, error) {
	answer := RedeemResult{ApprovalID: a.ID, RequestID: r.ID, InvoiceID: r.InvoiceID, Approvers: []ApproverVote{}, RedeemedAt: tx.Now}
	for _, v := range votes {
		answer.Approvers = append(answer.Approvers, ApproverVote{Name: v.UserName, Role: v.Role, At: v.At})
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return RedeemResult{}, fmt.Errorf("approvals: answer: %w", err)
	}
	err = endApproval(tx, &r, a, map[string]any{"status": models.ApprovalRedeemed, "redeemed_at": tx.Now, "redeemed_by_id": tx.By.UserID,
		"redeem_key": in.IdempotencyKey, "redeem_answer": string(text)})
	if err != nil {
		return RedeemResult{}, err
	}
	if err := reschedule(tx, JobReportOverdue, r.ID, tx.Now.Add(reportWithin)); err != nil {
		return RedeemResult{}, err
	}
	notify(tx, r)
	return answer, tx.Audit("approval.redeemed", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "tool": r.Tool, "digest": r.Digest})
}

// redeemAgain gives the first answer again. After a failed write that is leave for another try, until
// the approval expires.
func redeemAgain(tx *models.Tx, in RedeemInput, r models.ApprovalRequest, a models.Approval) (RedeemResult, *models.NamedError, error) {
	var answer RedeemResult
	if err := json.Unmarshal([]byte(a.RedeemAnswer), &answer); err != nil {
		return RedeemResult{}, nil, fmt.Errorf("approvals: first answer: %w", err)
	}
	if a.ReportStatus != string(ReportFailed) {
		return answer, nil, nil
	}
	if !tx.Now.Before(a.ExpiresAt.Time) {
		ne := approvalMissing("expired", in)
		ne.Details["request_id"], ne.Details["invoice_id"] = r.ID, r.InvoiceID
		return RedeemResult{}, ne, tx.Audit("redeem.refused", r.Ref(), refusalData(in, ne))
	}
	if err := setReport(tx, a, map[string]any{"report_status": ""}); err != nil {
		return RedeemResult{}, nil, err
	}
	if err := expectReport(tx, r.ID); err != nil {
		return RedeemResult{}, nil, err
	}
	notify(tx, r)
	return answer, nil, tx.Audit("approval.retried", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "after": a.ReportMessage})
}
