package approvals

import (
	"encoding/json"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// count computes where a request stands by its votes and the members of now.
func count(tx *models.Tx, r models.ApprovalRequest) (Facts, []models.Member, Tally, error) {
	facts, err := factsOf(tx, r)
	if err != nil {
		return Facts{}, nil, Tally{}, err
	}
	members, err := tx.Members()
	if err != nil {
		return Facts{}, nil, Tally{}, fmt.Errorf("approvals: read members: %w", err)
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
	switch tally.Status {
	case models.RequestApproved:
		return tally, grant(tx, r, facts)
	case models.RequestUnrouted:
		return tally, s.unroute(tx, r, facts, tally)
	}
	return tally, nil
}

// PeopleChanged is called in the transaction that takes a membership, a role or a place away, so that
// what it means for requests is written with it: approvals of a voter who is gone are revoked, and
// requests that too few people can decide open their case. Without the call the same is found out when
// a request is next read, voted on or redeemed.
func (s *Service) PeopleChanged(tx *models.Tx, userIDs ...string) error {
	var live []models.ApprovalRequest
	err := tx.Lock().Where("workspace_id = ? AND live AND status IN ?", tx.By.WorkspaceID, []models.RequestStatus{models.RequestPending, models.RequestApproved}).
		Order("id").Find(&live).Error
	if err != nil {
		return fmt.Errorf("approvals: read live requests: %w", err)
	}
	for i := range live {
		r := &live[i]
		lapsed, err := s.putAwayLapsed(tx, r)
		if err != nil {
			return err
		}
		switch {
		case lapsed:
		case r.Status == models.RequestPending:
			before := r.Version
			if _, err := s.settle(tx, r); err != nil {
				return err
			}
			if r.Version != before {
				notify(tx, *r)
			}
		default:
			if err := revokeIfVoterGone(tx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func revokeIfVoterGone(tx *models.Tx, r *models.ApprovalRequest) error {
	yes, err := yesVotes(tx, *r)
	if err != nil {
		return err
	}
	gone, err := voterGone(tx, yes)
	if err != nil || gone == "" {
		return err
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil || !ok || a.Status != models.ApprovalGranted {
		return err
	}
	return revoke(tx, r, a, gone)
}

// grant gives leave for the call of a request.
func grant(tx *models.Tx, r *models.ApprovalRequest, facts Facts) error {
	a := models.Approval{ID: tx.NewID(models.PrefixApproval), WorkspaceID: r.WorkspaceID, RequestID: r.ID, Digest: r.Digest,
		Status: models.ApprovalGranted, GrantedAt: tx.Now, ExpiresAt: tx.Now.Add(facts.Routing.Authority().Valid())}
	if err := tx.DB.Create(&a).Error; err != nil {
		return fmt.Errorf("approvals: grant: %w", err)
	}
	if err := change(tx, r, map[string]any{"status": models.RequestApproved, "decided_at": tx.Now, "reason": "", "version": r.Version + 1}); err != nil {
		return err
	}
	if err := tx.Unschedule(JobRequestExpire, r.ID); err != nil {
		return fmt.Errorf("approvals: unschedule: %w", err)
	}
	if err := tx.Schedule(JobApprovalExpire, r.ID, a.ExpiresAt); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	approvers := []map[string]any{}
	for _, v := range facts.Votes {
		approvers = append(approvers, map[string]any{"vote": v.ID, "user": v.UserID, "name": v.UserName, "role": v.Role, "channel": v.Channel})
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
	names, err := namesOf(tx, facts.Routing.userIDs()...)
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
