package approvals

import (
	"encoding/json"

	"github.com/apdesk/apdesk/models"
)

// Service keeps the matrix, requests, votes and grants. Make it with New.
type Service struct {
	store *models.Store
	cases Cases
}

// Cases is what routing needs of the queues. It works in the caller's transaction.
type Cases interface {
	// OpenUnrouted opens the APPROVER_NOT_FOUND case of a request that no rule routes, or joins the one
	// open, and answers its id. The case stores seen as the error, so that the agent's own handover of
	// the same error joins it.
	OpenUnrouted(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, seen models.SeenError) (caseID string, err error)
	// CloseRouted resolves the APPROVER_NOT_FOUND case of a request that is routed by what somebody decided
	// on another case; exit and by are of that decision. A case resolved already stays as it is.
	CloseRouted(tx *models.Tx, caseID, requestID, exit, note string) error
	// OpenReview opens a case in queue ap_lead about an approval that was revoked because of who gave it,
	// and answers its id.
	OpenReview(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, why string) (caseID string, err error)
	// AskAgent puts a person's question about a request to the agent that filed it, on the request's case
	// for questions, which is opened when caseID is empty. It answers the case's id.
	AskAgent(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, caseID, question string) (string, error)
	// CloseQuestion resolves the case for questions about a request that is decided; exit close.
	CloseQuestion(tx *models.Tx, caseID, note string) error
}

// New makes the service. cases may be set later with UseCases, since each needs the other.
func New(store *models.Store) *Service { return &Service{store: store} }

// UseCases plugs in what routing needs of the queues.
func (s *Service) UseCases(c Cases) { s.cases = c }

// RequestInput is one write an agent asks leave for, its fields already checked for form.
type RequestInput struct {
	RunID        string
	CaseID       string
	Invoice      models.Invoice
	Action       models.Call // arguments are the raw bytes as sent
	Amount       models.Money
	DocumentType string
	PostingDate  models.Date
	CostCentre   string
	Summary      string
	Explanation  string
	Evidence     []json.RawMessage
	Body         json.RawMessage // as sent, less workspace_id and idempotency_key, amounts as strings

	agent *models.AgentOf // for which a person files it
}

// RequestView is what the asking agent sees of a request.
type RequestView struct {
	RequestID         string               `json:"request_id"`
	Status            models.RequestStatus `json:"status"`
	Created           bool                 `json:"created"`
	Approver          *ApproverView        `json:"approver"`
	ExpiresAt         models.Time          `json:"expires_at"`
	ApprovalID        string               `json:"approval_id,omitempty"`
	ApprovalExpiresAt *models.Time         `json:"approval_expires_at,omitempty"`
	Reason            string               `json:"reason,omitempty"`
	DecidedBy         []string             `json:"decided_by,omitempty"`
	Instruction       *models.Instruction  `json:"instruction,omitempty"`
	// Refused is set when the request exists but no rule routes it: the caller gets this error, and
	// what was written stays.
	Refused *models.NamedError `json:"refused,omitempty"`
}

// ApproverView says who may decide.
type ApproverView struct {
	Role     string `json:"role"`
	Required int    `json:"required"`
}

// RedeemInput is the ERP's attempt to spend an approval.
type RedeemInput struct {
	ApprovalID     string
	Call           models.Call
	IdempotencyKey string
	// Reachable are the ids of all workspaces the caller reaches (models.Identity.Reachable). An
	// approval of one of them is told apart from an unknown one.
	Reachable []string
}

// RedeemResult proves to the ERP who approved.
type RedeemResult struct {
	ApprovalID string         `json:"approval_id"`
	RequestID  string         `json:"request_id"`
	InvoiceID  string         `json:"invoice_id"`
	Approvers  []ApproverVote `json:"approvers"`
	RedeemedAt models.Time    `json:"redeemed_at"`
}

// ApproverVote is one yes.
type ApproverVote struct {
	Name string      `json:"name"`
	Role string      `json:"role"`
	At   models.Time `json:"at"`
}
