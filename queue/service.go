package queue

import (
	"encoding/json"
	"sync"

	"github.com/apdesk/apdesk/models"
)

// Service works cases and holds. Make it with New.
type Service struct {
	store     *models.Store
	approvals Approvals
	zones     sync.Map // time zones by name, which never change while we run
}

// Approvals is what case decisions need of approval requests. Every method works in the caller's
// transaction.
type Approvals interface {
	// Supersede withdraws the pending and unrouted requests and revokes the unspent approvals of an
	// invoice whose calls a case decision corrects or stops.
	Supersede(tx *models.Tx, c models.Case, decidedBy models.Principal, exit string) error
	// NameApprover lets one person decide an unrouted request, whoever the rules name. The person
	// must be an eligible member whose limit covers the amount; else UNPROCESSABLE_ENTITY or
	// VALIDATION_ERROR on /input/person.
	NameApprover(tx *models.Tx, requestID, personEmail string) error
	// RouteAgain tries the matrix again for an unrouted request; UNPROCESSABLE_ENTITY saying what is
	// still missing when no rule gives enough people the authority.
	RouteAgain(tx *models.Tx, requestID string) error
	// FileProposed files an approval request for a write the agent of a case proposed, on behalf of the
	// deciding person tx.By, who thereby asks too and can never vote on it. The agent finds it with
	// get_approval. It answers the request's id; a live request for the same call is joined.
	FileProposed(tx *models.Tx, c models.Case, p models.ProposedRequest) (requestID string, err error)
}

// New makes the service. approvals may be set later with UseApprovals, since each needs the other.
func New(store *models.Store) *Service { return &Service{store: store} }

// UseApprovals plugs in what case decisions need of approval requests.
func (s *Service) UseApprovals(a Approvals) { s.approvals = a }

// HandoverInput is what an agent submits, its fields already checked for form.
type HandoverInput struct {
	RunID         string
	Reason        models.HandoverReason
	Invoice       models.Invoice
	Errors        []models.SeenError
	Evidence      []json.RawMessage
	Explanation   string
	Suggestion    *Suggestion
	ProposedCalls []models.Call
	Escalate      bool            // filed through stop_and_escalate: without one of the ten codes it goes to finance
	Body          json.RawMessage // as sent, less workspace_id and idempotency_key, amounts as strings
}

// Suggestion is the exit the agent would choose.
type Suggestion struct {
	Exit string `json:"exit"`
	Why  string `json:"why,omitempty"`
}

// AnswerInput is an agent's answer to a person's question on a case.
type AnswerInput struct {
	CaseID      string
	Answer      string
	Evidence    []json.RawMessage
	Explanation string
	RunID       string
	Body        json.RawMessage
}

// HandoverResult tells the agent where its handover went.
type HandoverResult struct {
	CaseID      string              `json:"case_id"`
	Status      models.CaseStatus   `json:"status"`
	Code        *models.Code        `json:"code"`
	Queue       models.Queue        `json:"queue"`
	Created     bool                `json:"created"`
	Instruction *models.Instruction `json:"instruction,omitempty"` // of a pair already judged not_duplicate
}
