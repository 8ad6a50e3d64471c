package wire

import (
	"github.com/apdesk/apdesk/models"
)

// The arguments of the tools that take something back. REST has no such calls: a person confirms them in
// the caller's client, and only MCP can ask there.
type (
	// WithdrawCase takes a case back.
	WithdrawCase struct {
		Write
		CaseID string `json:"case_id" wire:"max=255" jsonschema:"the case to withdraw"`
	}
	// WithdrawRequest takes an approval request back.
	WithdrawRequest struct {
		Write
		RequestID string `json:"request_id" wire:"max=255" jsonschema:"the approval request to withdraw"`
	}
	// RevokeApproval gives an approval back.
	RevokeApproval struct {
		Write
		ApprovalID string `json:"approval_id" wire:"max=255" jsonschema:"the approval to revoke"`
	}
	// CancelHold ends a hold.
	CancelHold struct {
		Write
		HoldID string `json:"hold_id" wire:"max=255" jsonschema:"the hold to cancel"`
	}
)

// The arguments of the tools that take something back, as they are published.
var (
	WithdrawCaseArguments    = specOf[WithdrawCase]()
	WithdrawRequestArguments = specOf[WithdrawRequest]()
	RevokeApprovalArguments  = specOf[RevokeApproval]()
	CancelHoldArguments      = specOf[CancelHold]()
)

// ReadWithdrawCase reads which case to withdraw.
func ReadWithdrawCase(b *Body) (id string, idem models.Idempotency, err error) {
	q, err := read[WithdrawCase](b)
	return q.CaseID, b.named(q.Write), err
}

// ReadWithdrawRequest reads which approval request to withdraw.
func ReadWithdrawRequest(b *Body) (id string, idem models.Idempotency, err error) {
	q, err := read[WithdrawRequest](b)
	return q.RequestID, b.named(q.Write), err
}

// ReadRevokeApproval reads which approval to revoke.
func ReadRevokeApproval(b *Body) (id string, idem models.Idempotency, err error) {
	q, err := read[RevokeApproval](b)
	return q.ApprovalID, b.named(q.Write), err
}

// ReadCancelHold reads which hold to cancel.
func ReadCancelHold(b *Body) (id string, idem models.Idempotency, err error) {
	q, err := read[CancelHold](b)
	return q.HoldID, b.named(q.Write), err
}

func (b *Body) named(w Write) models.Idempotency { return idempotency(w.IdempotencyKey, b.kept(nil)) }
