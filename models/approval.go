package models

import "slices"

// RequestStatus is where an approval request stands; it is computed from rule and votes.
type RequestStatus string

// The states of an approval request.
const (
	RequestPending   RequestStatus = "pending"   // waits for votes
	RequestUnrouted  RequestStatus = "unrouted"  // no rule gives enough people the authority
	RequestApproved  RequestStatus = "approved"  // enough eligible people said yes; an approval exists
	RequestRejected  RequestStatus = "rejected"  // somebody said no
	RequestExpired   RequestStatus = "expired"   // nobody decided in time; no person is named
	RequestWithdrawn RequestStatus = "withdrawn" // taken back, or superseded by a decision
)

// RequestStatuses lists every state.
func RequestStatuses() []RequestStatus {
	return []RequestStatus{RequestPending, RequestUnrouted, RequestApproved, RequestRejected, RequestExpired, RequestWithdrawn}
}

// Valid says whether s is a known state.
func (s RequestStatus) Valid() bool { return slices.Contains(RequestStatuses(), s) }

// ApprovalRequest asks whether exactly one write may be made.
type ApprovalRequest struct {
	ID             string `gorm:"primaryKey"`
	WorkspaceID    string
	Status         RequestStatus
	Live           bool // pending, unrouted, or approved and unspent
	Version        int64
	RunID          string
	CaseID         *string // case whose decision or handover it belongs to
	UnroutedCaseID *string // APPROVER_NOT_FOUND case opened for it
	InvoiceID      string
	SupplierID     string
	Invoice        string // JSON, as sent
	Tool           string
	Arguments      string // JSON, canonical: what page, digest and redeem agree on
	Digest         string // hex SHA-256
	Amount         string
	Currency       string
	DocumentType   string
	PostingDate    Date
	CostCentre     string
	Summary        string
	Explanation    string
	Evidence       string  // JSON array
	Body           string  // JSON, as sent
	Rule           *string // JSON copy of the rule that routed it
	RuleID         string
	RuleVersion    int64
	Required       int
	QuestionCaseID *string // case on which a person asked the agent about it
	NamedID        *string // person named for this item only
	NamedByID      *string
	AskerID        string
	AskerName      string
	TokenID        string
	Channel        Channel
	Reason         string // of a rejection or withdrawal
	Instruction    *string
	DecidedAt      Time
	ExpiresAt      Time
	CreatedAt      Time
	UpdatedAt      Time
}

// Ref points an audit event at the request.
func (r ApprovalRequest) Ref() Ref {
	ref := Ref{Subject: r.ID, ApprovalRequestID: r.ID, InvoiceID: r.InvoiceID}
	if r.CaseID != nil {
		ref.CaseID = *r.CaseID
	}
	return ref
}

// Asker is somebody who counts as having asked, and so may never vote on the request.
type Asker struct {
	RequestID string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey"`
	Relation  string `gorm:"primaryKey"` // asked, responsible, token_creator
}

// VoteDecision is a person's answer.
type VoteDecision string

// The two answers.
const (
	VoteApprove VoteDecision = "approve"
	VoteReject  VoteDecision = "reject"
)

// Vote is one person's answer, with the authority it was given under.
type Vote struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	RequestID   string
	UserID      string
	UserName    string
	Role        string
	Decision    VoteDecision
	Reason      string
	// Step is 1, or 2 for the second person of a rule that asks one after the other.
	Step int
	// OnBehalfOfID is who delegated their place to the voter, nil when the vote is the voter's own.
	OnBehalfOfID   *string
	OnBehalfOfName string
	DelegationID   string
	LimitAmount    string // highest amount the person could approve at that moment
	RuleID         string
	RuleVersion    int64
	Channel        Channel
	// ConfirmedHow and ConfirmedAt are how and when the voter confirmed that it is them, where the workspace
	// asks that for the amount.
	ConfirmedHow Factor
	ConfirmedAt  Time
	At           Time
}

// ApprovalStatus is where a grant stands.
type ApprovalStatus string

// The states of an approval.
const (
	ApprovalGranted  ApprovalStatus = "granted"
	ApprovalRedeemed ApprovalStatus = "redeemed"
	ApprovalExpired  ApprovalStatus = "expired"
	ApprovalRevoked  ApprovalStatus = "revoked"
)

// Approval is the grant. Its id is the approval_id: whoever holds it may make the one call it is
// bound to, once.
type Approval struct {
	ID             string `gorm:"primaryKey"`
	WorkspaceID    string
	RequestID      string
	Digest         string
	VoteIDs        string // of the votes the grant rests on, a space between them; empty for old grants
	Status         ApprovalStatus
	GrantedAt      Time
	ExpiresAt      Time
	RedeemedAt     Time
	RedeemedByID   *string
	RedeemKey      string
	RedeemAnswer   string
	RevokedAt      Time
	RevokedBy      string
	RevokeReason   string
	ReportStatus   string // posted, failed, overdue
	DocumentNumber string
	ReportMessage  string
	ReportedAt     Time
}

// Rule is one version of one row of the matrix: who may approve what.
type Rule struct {
	ID           string `gorm:"primaryKey"`
	Version      int64  `gorm:"primaryKey"`
	WorkspaceID  string
	Tool         string // empty: any
	DocumentType string
	Supplier     string
	CostCentre   string
	Currency     string
	FromAmount   string // included
	ToAmount     string // included
	Role         Role   // empty when people are named
	People       string // JSON array of user ids
	ThenRole     Role   // who comes second, one after the other; empty when people are named or nobody
	ThenPeople   string // JSON array of user ids
	Required     int    // 1 or 2 different people
	ValidSeconds int64  // life of an approval granted under it
	AuthorID     *string
	AuthorName   string
	FirstAt      Time // when version 1 was made
	CreatedAt    Time
	RetiredAt    Time
	RetiredBy    string
	RetiredByID  *string // nil: the operator, or still in force
}
