package approvals

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// count computes where a request stands by its votes and the members of now.
func count(tx *models.Tx, r models.ApprovalRequest) (Facts, []models.Member, Tally, error) {
	facts, err := factsOf(tx, r)
	if err != nil {
		return Facts{}, nil, Tally{}, err
	}
	members, err := membersFor(tx, facts)
	if err != nil {
		return Facts{}, nil, Tally{}, err
	}
	return facts, members, facts.Count(members), nil
}

// settle counts a locked, pending request and writes the state that comes of it: a grant, or an
// APPROVER_NOT_FOUND case when nobody can decide it. A rejection is written by the vote itself.
func (s *Service) settle(tx *models.Tx, r *models.ApprovalRequest) (Tally, error) {
	facts, _, tally, err := count(tx, *r)
	if err != nil {
		return tally, err
	}
	return tally, s.settleAs(tx, r, facts, tally)
}

func (s *Service) settleAs(tx *models.Tx, r *models.ApprovalRequest, facts Facts, tally Tally) error {
	switch tally.Status {
	case models.RequestApproved:
		again, err := countLocked(tx, facts)
		if err != nil {
			return err
		}
		if again.Status != models.RequestApproved {
			return s.settleAs(tx, r, facts, again)
		}
		return s.grant(tx, r, facts, again.yes)
	case models.RequestUnrouted:
		return s.unroute(tx, r, facts, tally)
	}
	return nil
}

// countLocked counts again once nobody whose vote or place counts can leave or lose a role before the grant
// is committed: an earlier voter's leaving waits for it and then revokes it, or is seen here.
func countLocked(tx *models.Tx, facts Facts) (Tally, error) {
	ids := map[string]bool{}
	for _, v := range facts.Votes {
		ids[v.UserID], ids[ownerOf(v)] = true, true
	}
	if err := lockMembers(tx, keys(ids)...); err != nil {
		return Tally{}, err
	}
	members, err := membersFor(tx, facts)
	if err != nil {
		return Tally{}, err
	}
	return facts.Count(members), nil
}

// settleBatch bounds how many requests one transaction settles; the others follow in jobs.
const settleBatch = 200

// JobSettle goes on settling the pending requests of a workspace where a transaction stopped. Its subject
// is the workspace and the last request looked at.
const JobSettle models.JobKind = "requests.settle"

func settleSubject(workspaceID, after string) string { return workspaceID + "/" + after }

func (s *Service) settleMore(tx *models.Tx, job models.Job) error {
	_, after, _ := strings.Cut(job.Subject, "/")
	return s.settlePending(tx, after)
}

// PeopleChanged is called in the transaction that takes a membership, a role or a place away, so that
// what it means is written with it: approvals of a voter who is gone are revoked and a case for review
// opens, delegations of who is gone end, requests that too few people can decide open their case, and those
// that enough people can decide again go back to them. The first of these requests are settled at once and the others by jobs. Without ids everybody may
// have changed.
func (s *Service) PeopleChanged(tx *models.Tx, userIDs ...string) error {
	if err := s.endDelegationsOf(tx, userIDs); err != nil {
		return err
	}
	if err := s.revokeOf(tx, userIDs); err != nil {
		return err
	}
	return s.settleMoved(tx)
}

// revokeOf revokes the granted approvals whose voters, or those they stood in for, are no longer who
// they were.
func (s *Service) revokeOf(tx *models.Tx, userIDs []string) error {
	q := tx.DB.Table("approvals a").Select("DISTINCT a.request_id").Joins("JOIN votes v ON v.request_id = a.request_id").
		Where("a.workspace_id = ? AND a.status = ? AND v.decision = ?", tx.By.WorkspaceID, models.ApprovalGranted, models.VoteApprove)
	if len(userIDs) > 0 {
		q = q.Where("(v.user_id IN ? OR v.on_behalf_of_id IN ?)", userIDs, userIDs)
	}
	var ids []string
	if err := q.Order("a.request_id").Pluck("a.request_id", &ids).Error; err != nil {
		return fmt.Errorf("approvals: read grants: %w", err)
	}
	for _, id := range ids {
		r, err := lockRequest(tx, id)
		if err != nil {
			return err
		}
		lapsed, err := s.putAwayLapsed(tx, &r)
		if err != nil {
			return err
		}
		if lapsed {
			continue
		}
		if err := s.revokeIfVoterGone(tx, &r); err != nil {
			return err
		}
	}
	return nil
}

// settlePending settles the next pending requests of the workspace, in the order in which they were
// filed, and plans a job for the ones after them.
func (s *Service) settlePending(tx *models.Tx, after string) error {
	q := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status = ?", tx.By.WorkspaceID, models.RequestPending).Order("created_at, id").Limit(settleBatch)
	if after != "" {
		last, err := takeRequest(tx, "id, created_at", after, "")
		if err != nil {
			return ignoreMissing(err)
		}
		q = q.Where("(created_at > ? OR (created_at = ? AND id > ?))", last.CreatedAt, last.CreatedAt, last.ID)
	}
	var rows []models.ApprovalRequest
	if err := q.Find(&rows).Error; err != nil {
		return fmt.Errorf("approvals: read pending requests: %w", err)
	}
	if err := s.settleRows(tx, rows); err != nil || len(rows) < settleBatch {
		return err
	}
	if err := tx.Schedule(JobSettle, settleSubject(tx.By.WorkspaceID, rows[len(rows)-1].ID), tx.Now); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	return nil
}

// settleInvoices settles the pending requests of invoices of which somebody just corrected a call.
func (s *Service) settleInvoices(tx *models.Tx, invoiceIDs ...string) error {
	var rows []models.ApprovalRequest
	err := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND invoice_id IN ? AND status = ?", tx.By.WorkspaceID, invoiceIDs, models.RequestPending).
		Order("id").Find(&rows).Error
	if err != nil {
		return fmt.Errorf("approvals: read requests of an invoice: %w", err)
	}
	return s.settleRows(tx, rows)
}

// settleRows looks at pending requests with a fixed number of reads, and locks and settles those that
// are not pending any more by what they depend on.
func (s *Service) settleRows(tx *models.Tx, rows []models.ApprovalRequest) error {
	facts, members, err := countAll(tx, rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if statusAt(row, tx.Now) != models.RequestPending || facts[row.ID].Count(members).Status == models.RequestPending {
			continue // what lapsed has its own job
		}
		r, err := lockRequest(tx, row.ID)
		if err != nil {
			return err
		}
		if r.Status != models.RequestPending {
			continue
		}
		if _, err := s.settle(tx, &r); err != nil {
			return err
		}
		notify(tx, r)
	}
	return nil
}

func (s *Service) revokeIfVoterGone(tx *models.Tx, r *models.ApprovalRequest) error {
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil || !ok || a.Status != models.ApprovalGranted {
		return err
	}
	yes, err := yesVotes(tx, *r, a)
	if err != nil {
		return err
	}
	gone, err := voterGone(tx, yes)
	if err != nil || gone == "" {
		return err
	}
	return s.revokeGone(tx, r, a, gone)
}

// revokeGone revokes an approval because of who gave it. Somebody has to look at that: a case opens for
// an AP lead, and the AP leads and who answers for the asker are told.
func (s *Service) revokeGone(tx *models.Tx, r *models.ApprovalRequest, a models.Approval, why string) error {
	if err := revoke(tx, r, a, why); err != nil {
		return err
	}
	caseID, err := s.cases.OpenReview(tx, *r, invoiceOf(*r), why)
	if err != nil {
		return fmt.Errorf("approvals: open review: %w", err)
	}
	told, err := responsibleFor(tx, r.ID)
	if err != nil {
		return err
	}
	data := noticeData(*r)
	data["why"], data["case_id"] = why, caseID
	return tellLeads(tx, NoticeRevoked, r.ID, data, told...)
}

// concluded closes the cases that stand open about a request once it is decided, in whatever way. The
// exits of APPROVER_NOT_FOUND that route do not fit a request that ended unrouted: send_back is the one
// by which nobody decides it, and the agent, going on with get_approval, reads why.
func (s *Service) concluded(tx *models.Tx, r models.ApprovalRequest, note string) error {
	if err := tx.Settled(r.ID, NoticeWaiting, NoticeExpiring); err != nil {
		return fmt.Errorf("approvals: settle notices: %w", err)
	}
	if r.QuestionCaseID != nil {
		if err := s.cases.CloseQuestion(tx, *r.QuestionCaseID, note); err != nil {
			return fmt.Errorf("approvals: close question: %w", err)
		}
	}
	if r.UnroutedCaseID == nil || r.Status == models.RequestApproved || r.Status == models.RequestRejected {
		return nil
	}
	if err := s.cases.CloseRouted(tx, *r.UnroutedCaseID, r.ID, exitSendBack, note); err != nil {
		return fmt.Errorf("approvals: close case: %w", err)
	}
	return nil
}

const exitSendBack = "send_back"

// grant gives leave for the call of a request, on the votes that count.
func (s *Service) grant(tx *models.Tx, r *models.ApprovalRequest, facts Facts, votes []models.Vote) error {
	if n := facts.Routing.Required(); facts.Routing.Steps() == 1 && len(votes) > n {
		votes = votes[:n]
	}
	ids := make([]string, len(votes))
	for i, v := range votes {
		ids[i] = v.ID
	}
	a := models.Approval{ID: tx.NewID(models.PrefixApproval), WorkspaceID: r.WorkspaceID, RequestID: r.ID, Digest: r.Digest, VoteIDs: strings.Join(ids, " "),
		Status: models.ApprovalGranted, GrantedAt: tx.Now, ExpiresAt: tx.Now.Add(facts.Routing.Authority().Valid())}
	if err := tx.DB.Create(&a).Error; err != nil {
		return fmt.Errorf("approvals: grant: %w", err)
	}
	if err := change(tx, r, map[string]any{"status": models.RequestApproved, "decided_at": tx.Now, "reason": "", "version": r.Version + 1}); err != nil {
		return err
	}
	if err := unschedule(tx, r.ID, JobRequestExpire, JobRequestExpiring); err != nil {
		return err
	}
	if err := tx.Schedule(JobApprovalExpire, r.ID, a.ExpiresAt); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	if err := tx.Schedule(JobApprovalExpiring, r.ID, a.ExpiresAt.Add(-facts.Routing.Authority().Valid()/4)); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	if err := s.concluded(tx, *r, "The request was approved."); err != nil {
		return err
	}
	approvers := []map[string]any{}
	for _, v := range votes {
		approver := map[string]any{"vote": v.ID, "user": v.UserID, "name": v.UserName, "role": v.Role, "channel": v.Channel}
		if v.OnBehalfOfID != nil {
			approver["on_behalf_of_name"], approver["on_behalf_of_id"] = v.OnBehalfOfName, *v.OnBehalfOfID
		}
		approvers = append(approvers, approver)
	}
	return tx.Audit("approval.granted", r.Ref(), map[string]any{"approval": models.MaskID(a.ID), "digest": r.Digest, "expires_at": a.ExpiresAt,
		"rule": r.RuleID, "rule_version": r.RuleVersion, "required": r.Required, "approvers": approvers})
}

// unroute records that nobody can decide a request, and opens the case of an AP lead for it.
func (s *Service) unroute(tx *models.Tx, r *models.ApprovalRequest, facts Facts, tally Tally) error {
	wanted, err := wantedOf(tx, *r)
	if err != nil {
		return err
	}
	names, err := namesOf(tx, append(facts.Routing.userIDs(), facts.NamedID)...)
	if err != nil {
		return err
	}
	r.Reason = facts.whyUnrouted(wanted, tally, names)
	opened, err := s.openUnrouted(tx, *r)
	if err != nil {
		return err
	}
	err = change(tx, r, map[string]any{"status": models.RequestUnrouted, "unrouted_case_id": opened, "version": r.Version + 1, "reason": r.Reason})
	if err != nil {
		return err
	}
	if err := tx.Settled(r.ID, NoticeWaiting, NoticeExpiring); err != nil {
		return fmt.Errorf("approvals: settle notices: %w", err)
	}
	ref := r.Ref()
	ref.CaseID = opened
	return tx.Audit("request.unrouted", ref, map[string]any{"why": r.Reason, "case_id": opened, "required": tally.Required, "left": tally.Left, "yes": tally.Yes})
}

// openUnrouted opens the case with the error as the agent gets it; the id of the case joins its details
// there.
func (s *Service) openUnrouted(tx *models.Tx, r models.ApprovalRequest) (string, error) {
	r.UnroutedCaseID = nil
	refused := approverNotFound(r)
	details, err := json.Marshal(refused.Details)
	if err != nil {
		return "", fmt.Errorf("approvals: details: %w", err)
	}
	retryable := refused.Retryable
	id, err := s.cases.OpenUnrouted(tx, r, invoiceOf(r), models.SeenError{Tool: "request_approval", At: tx.Now.String(),
		Error: models.SeenNamedError{Code: refused.Code, Message: refused.Message, Retryable: &retryable, NextAction: refused.NextAction, Details: details}})
	if err != nil {
		return "", fmt.Errorf("approvals: open case: %w", err)
	}
	return id, nil
}

// invoiceOf rebuilds the invoice of a request from what was sent; an amount that is missing or
// unreadable there is left out.
func invoiceOf(r models.ApprovalRequest) models.Invoice {
	var sent struct {
		Number       string `json:"number"`
		SupplierID   string `json:"supplier_id"`
		SupplierName string `json:"supplier_name"`
		PoID         string `json:"po_id"`
		Amount       string `json:"amount"`
		Currency     string `json:"currency"`
		InvoiceDate  string `json:"invoice_date"`
		DueDate      string `json:"due_date"`
		TaxID        string `json:"tax_id"`
		BankAccount  string `json:"bank_account"`
		DocumentURL  string `json:"document_url"`
	}
	inv := models.Invoice{ID: r.InvoiceID, Sent: json.RawMessage(r.Invoice)}
	if json.Unmarshal([]byte(r.Invoice), &sent) != nil {
		return inv
	}
	inv.SupplierID = sent.SupplierID
	inv.Number, inv.SupplierName, inv.PoID, inv.TaxID, inv.BankAccount, inv.DocumentURL = sent.Number, sent.SupplierName, sent.PoID, sent.TaxID, sent.BankAccount, sent.DocumentURL
	if m, err := models.ParseMoney(sent.Amount, sent.Currency); err == nil {
		inv.Amount = m
	}
	if d, err := models.ParseDate(sent.InvoiceDate); err == nil {
		inv.InvoiceDate = d
	}
	if d, err := models.ParseDate(sent.DueDate); err == nil {
		inv.DueDate = d
	}
	return inv
}
