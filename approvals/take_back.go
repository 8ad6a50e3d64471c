package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// WithdrawInput takes a request back.
type WithdrawInput struct {
	RequestID string
	Reason    string
}

// TakeBack is what would be undone, for words in a question about it. Texts are as the agent sent them.
type TakeBack struct {
	RequestID string
	Status    models.RequestStatus
	Tool      string
	Summary   string
	InvoiceID string
	Amount    string
	Currency  string
	ExpiresAt models.Time // of the request, or of the approval that is to be revoked
	Approvers []string    // names of who voted yes
}

// RequestToWithdraw reads a request that by could withdraw now, and fails as WithdrawRequest would; so
// does one that is withdrawn already. It changes nothing.
func (s *Service) RequestToWithdraw(ctx context.Context, by models.Principal, requestID string) (TakeBack, error) {
	if err := mayWithdraw(by); err != nil {
		return TakeBack{}, err
	}
	var out TakeBack
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		if err := withdrawable(tx, r); err != nil {
			return err
		}
		if r.Status == models.RequestWithdrawn {
			return stillOpen(tx, r, r.Version)
		}
		out, err = takeBackOf(tx, r)
		return err
	})
	return out, err
}

func takeBackOf(tx *models.Tx, r models.ApprovalRequest) (TakeBack, error) {
	out := TakeBack{RequestID: r.ID, Status: statusAt(r, tx.Now), Tool: r.Tool, Summary: r.Summary, InvoiceID: r.InvoiceID, Amount: r.Amount, Currency: r.Currency, ExpiresAt: r.ExpiresAt}
	if r.Status != models.RequestApproved {
		return out, nil
	}
	var err error
	out.Approvers, err = decidedBy(tx, r)
	return out, err
}

// WithdrawRequest takes back a pending or unrouted request; only an account that asked for it may.
// CONFLICT when it was decided already.
func (s *Service) WithdrawRequest(ctx context.Context, by models.Principal, in WithdrawInput) (RequestView, error) {
	var view RequestView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		view, err = s.WithdrawRequestIn(tx, in)
		return err
	})
	return view, err
}

// WithdrawRequestIn is WithdrawRequest inside the caller's transaction.
func (s *Service) WithdrawRequestIn(tx *models.Tx, in WithdrawInput) (RequestView, error) {
	if err := mayWithdraw(tx.By); err != nil {
		return RequestView{}, err
	}
	reason, err := checkReason(in.Reason)
	if err != nil {
		return RequestView{}, err
	}
	r, err := lockVisible(tx, in.RequestID)
	if err != nil {
		return RequestView{}, err
	}
	if err := withdrawable(tx, r); err != nil {
		return RequestView{}, err
	}
	if r.Status != models.RequestWithdrawn {
		if err := s.withdraw(tx, &r, orElse(reason, "withdrawn by "+tx.By.UserName)); err != nil {
			return RequestView{}, err
		}
	}
	return viewOf(tx, r)
}

func mayWithdraw(by models.Principal) error {
	if err := by.NeedScope(models.ScopeApprovalsWrite); err != nil {
		return err
	}
	return by.NeedRole(models.RoleAgent)
}

// withdrawable says why the caller may not withdraw a request it may read.
func withdrawable(tx *models.Tx, r models.ApprovalRequest) error {
	filed, err := filedBy(tx, r.ID, tx.By.UserID)
	if err != nil {
		return err
	}
	if !filed {
		return models.E(models.InsufficientPermission, "Only the account that asked for this can withdraw it.", map[string]any{"permission": "asker", "request_id": r.ID})
	}
	switch statusAt(r, tx.Now) {
	case models.RequestPending, models.RequestUnrouted, models.RequestWithdrawn:
		return nil
	case models.RequestApproved:
		return models.E(models.Conflict, "This request was approved already. To give the approval back, revoke it.", map[string]any{"request_id": r.ID, "status": r.Status})
	}
	return stillOpen(tx, r, r.Version)
}

// RevokeInput takes an approval back, named by its id or by its request.
type RevokeInput struct {
	ApprovalID string
	RequestID  string
	Reason     string
}

// ApprovalToRevoke reads what by could revoke now, and fails as RevokeApproval would. It changes nothing.
func (s *Service) ApprovalToRevoke(ctx context.Context, by models.Principal, in RevokeInput) (TakeBack, error) {
	if err := mayAskToRevoke(by); err != nil {
		return TakeBack{}, err
	}
	var out TakeBack
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := requestToRevoke(tx, in, findRequest)
		if err != nil {
			return err
		}
		a, err := revocable(tx, r)
		if err != nil {
			return err
		}
		out, err = takeBackOf(tx, r)
		out.ExpiresAt = a.ExpiresAt
		return err
	})
	return out, err
}

// RevokeApproval ends a granted approval before it is used. An account that asked may, and on the pages
// a person who voted for it, who must say why. CONFLICT when it was used or ended already.
func (s *Service) RevokeApproval(ctx context.Context, by models.Principal, in RevokeInput) (RequestView, error) {
	var view RequestView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		view, err = s.RevokeApprovalIn(tx, in)
		return err
	})
	return view, err
}

// RevokeApprovalIn is RevokeApproval inside the caller's transaction.
func (s *Service) RevokeApprovalIn(tx *models.Tx, in RevokeInput) (RequestView, error) {
	if err := mayAskToRevoke(tx.By); err != nil {
		return RequestView{}, err
	}
	reason, err := checkReason(in.Reason)
	if err != nil {
		return RequestView{}, err
	}
	if tx.By.IsPerson() && reason == "" {
		return RequestView{}, models.Invalid(models.Issue{Path: "/reason", Message: "is required: why the approval is taken back"})
	}
	r, err := requestToRevoke(tx, in, lockVisible)
	if err != nil {
		return RequestView{}, err
	}
	a, err := revocable(tx, r)
	if err != nil {
		return RequestView{}, err
	}
	if err := revoke(tx, &r, a, orElse(reason, "revoked by "+tx.By.UserName)); err != nil {
		return RequestView{}, err
	}
	return viewOf(tx, r)
}

func mayAskToRevoke(by models.Principal) error {
	if err := by.NeedScope(models.ScopeApprovalsWrite); err != nil || by.IsPerson() {
		return err
	}
	return by.NeedRole(models.RoleAgent)
}

// revocable finds the grant that the caller may revoke now.
func revocable(tx *models.Tx, r models.ApprovalRequest) (models.Approval, error) {
	if err := mayRevoke(tx, r); err != nil {
		return models.Approval{}, err
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil {
		return a, err
	}
	if !ok {
		return a, models.E(models.Conflict, "This request is not approved, so there is nothing to revoke.", map[string]any{"request_id": r.ID, "status": statusAt(r, tx.Now)})
	}
	if status := approvalAt(a, tx.Now); status != models.ApprovalGranted {
		return a, models.E(models.Conflict, fmt.Sprintf("This approval is %s already; it cannot be revoked any more.", status), map[string]any{"request_id": r.ID, "status": status})
	}
	return a, nil
}

func requestToRevoke(tx *models.Tx, in RevokeInput, read func(*models.Tx, string) (models.ApprovalRequest, error)) (models.ApprovalRequest, error) {
	if in.ApprovalID == "" {
		return read(tx, in.RequestID)
	}
	missing := models.E(models.NotFound, "There is no such approval in a workspace you can reach.", nil)
	found, ok, err := findApproval(tx, RedeemInput{ApprovalID: in.ApprovalID})
	if err != nil {
		return models.ApprovalRequest{}, err
	}
	if !ok {
		return models.ApprovalRequest{}, missing
	}
	r, err := read(tx, found.RequestID)
	if models.IsCode(err, models.NotFound) {
		return r, missing
	}
	return r, err
}

// mayRevoke lets the accounts that asked revoke, and people who voted yes in the browser.
func mayRevoke(tx *models.Tx, r models.ApprovalRequest) error {
	by := tx.By
	if by.Has(models.RoleAgent) {
		filed, err := filedBy(tx, r.ID, by.UserID)
		if err != nil || filed {
			return err
		}
	}
	if by.IsPerson() {
		facts, err := factsOf(tx, r)
		if err != nil {
			return err
		}
		for _, v := range facts.Votes {
			if v.UserID == by.UserID && v.Decision == models.VoteApprove {
				return nil
			}
		}
	}
	return models.E(models.InsufficientPermission, "Only the account that asked, or a person who approved it, can revoke this approval.",
		map[string]any{"permission": "asker", "request_id": r.ID})
}

func checkReason(reason string) (string, error) { return models.CheckReason(reason, maxReason) }

func orElse(s, otherwise string) string {
	if s = strings.TrimSpace(s); s != "" {
		return s
	}
	return otherwise
}

// Supersede withdraws the pending and unrouted requests, and revokes the unspent approvals, of the
// calls that a case decision corrects or stops: those of the case's invoice, or only the request
// behind an APPROVER_NOT_FOUND case.
func (s *Service) Supersede(tx *models.Tx, c models.Case, decidedBy models.Principal, exit string) error {
	q := tx.Lock().Where("workspace_id = ? AND invoice_id = ? AND live", tx.By.WorkspaceID, c.InvoiceID)
	if c.RequestID != nil {
		q = q.Where("id = ?", *c.RequestID)
	}
	var live []models.ApprovalRequest
	if err := q.Order("id").Find(&live).Error; err != nil {
		return fmt.Errorf("approvals: read requests of an invoice: %w", err)
	}
	reason := fmt.Sprintf("superseded: %s decided %s on case %s", decidedBy.UserName, exit, c.ID)
	for i := range live {
		r := &live[i]
		lapsed, err := s.putAwayLapsed(tx, r)
		if err != nil {
			return err
		}
		if lapsed {
			continue
		}
		if r.Status != models.RequestApproved {
			if err := s.withdraw(tx, r, reason); err != nil {
				return err
			}
			continue
		}
		a, ok, err := approvalOf(tx, r.ID)
		if err != nil {
			return err
		}
		if ok {
			if err := revoke(tx, r, a, reason); err != nil {
				return err
			}
		}
	}
	// Whoever corrected a call of this invoice cannot approve the others that wait for it.
	return s.settleInvoices(tx, c.InvoiceID, namedBy(c.Instruction))
}

// namedBy is the invoice that an instruction tells the agent to use instead, empty when none.
func namedBy(instruction *string) string {
	var in models.Instruction
	if instruction == nil || json.Unmarshal([]byte(*instruction), &in) != nil {
		return ""
	}
	id, _ := in.Input["invoice_id"].(string)
	return id
}
