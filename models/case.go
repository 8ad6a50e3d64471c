package models

import (
	"bytes"
	"encoding/json"
	"slices"
)

// CaseStatus is where a case stands. A claim is a lease on top of it, not a status.
type CaseStatus string

// The three states of a case.
const (
	CaseOpen     CaseStatus = "open"     // somebody has to decide
	CaseHeld     CaseStatus = "held"     // a person made it wait until a date; returns to open by itself
	CaseResolved CaseStatus = "resolved" // decided, for good
)

// CaseStatuses lists every state.
func CaseStatuses() []CaseStatus { return []CaseStatus{CaseOpen, CaseHeld, CaseResolved} }

// Valid says whether s is a known state.
func (s CaseStatus) Valid() bool { return slices.Contains(CaseStatuses(), s) }

// HandoverReason is why an agent hands over.
type HandoverReason string

// The reasons of a handover.
const (
	ReasonNamedError      HandoverReason = "named_error"
	ReasonRetryExhausted  HandoverReason = "retry_exhausted"
	ReasonLoopDetected    HandoverReason = "loop_detected"
	ReasonBudgetExhausted HandoverReason = "budget_exhausted"
	ReasonOther           HandoverReason = "other"
)

// HandoverReasons lists every reason.
func HandoverReasons() []HandoverReason {
	return []HandoverReason{ReasonNamedError, ReasonRetryExhausted, ReasonLoopDetected, ReasonBudgetExhausted, ReasonOther}
}

// InstructionKind is what the agent does next after a person acted.
type InstructionKind string

// The four kinds of instruction.
const (
	InstructResume    InstructionKind = "resume"     // go on from where it stopped
	InstructRetryWith InstructionKind = "retry_with" // call again with the corrected input
	InstructWait      InstructionKind = "wait"       // held, comes back later
	InstructStop      InstructionKind = "stop"       // nothing more to do
)

// Instruction tells the agent what to do next.
type Instruction struct {
	Kind     InstructionKind `json:"kind"`
	Input    map[string]any  `json:"input"`
	Question string          `json:"question,omitempty"`
	Note     string          `json:"note,omitempty"`
	Until    string          `json:"until,omitempty"` // a date
}

// UnmarshalJSON reads numbers of the input as they are written, not as floats.
func (in *Instruction) UnmarshalJSON(text []byte) error {
	type plain Instruction
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode((*plain)(in))
}

// Case is the work item people see.
type Case struct {
	ID            string `gorm:"primaryKey"`
	WorkspaceID   string
	Status        CaseStatus
	Code          Code // empty when none of the ten was named
	Queue         Queue
	Reason        HandoverReason
	Version       int64 // raised by joins and decisions; a decision names the version it was made on
	JoinKey       string
	InvoiceID     string
	InvoiceNumber string
	NumberNorm    string
	SupplierID    string
	SupplierName  string
	PoID          string
	Amount        string
	Currency      string
	AmountKey     string // the amount as text that sorts like the number; see Money.SortKey
	Invoice       string // JSON, as sent, amounts as strings
	Marks         string // JSON array of what intake noticed
	DuplicateOf   string
	Moved         string  // exit that moved the case to another queue, if any
	RequestID     *string // approval request behind an APPROVER_NOT_FOUND case
	HoldID        *string // hold behind an overdue GR_MISSING case
	AgentID       *string
	AgentName     string
	RunID         string
	HandoverCount int
	ClaimedByID   *string
	ClaimedUntil  Time
	DueAt         Time
	HeldUntil     Date
	SnoozedUntil  Time    // zero: not snoozed
	SnoozedBy     string  // id of who snoozed it
	SnoozeReason  string  // in that person's words
	EscalatedAt   Time    // when it was brought before the leads for being overdue; zero: it was not
	Instruction   *string // JSON of Instruction
	CreatedAt     Time
	UpdatedAt     Time
	ResolvedAt    Time
}

// Ref points an audit event at the case.
func (c Case) Ref() Ref {
	return Ref{Subject: c.ID, CaseID: c.ID, InvoiceID: c.InvoiceID}
}

// ClaimedAt says who holds a running claim on the case, "" when nobody.
func (c Case) ClaimedAt(now Time) string {
	if c.ClaimedByID == nil || !now.Before(c.ClaimedUntil.Time) {
		return ""
	}
	return *c.ClaimedByID
}

// Handover is what an agent submitted, as it came; never edited.
type Handover struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	CaseID      string
	Kind        string // handover, or answer to a person's question
	At          Time
	RunID       string
	AgentID     string
	AgentName   string
	TokenID     string
	Channel     Channel
	Body        string // JSON
}

// Decision is one exit a person chose on a case.
type Decision struct {
	ID                 string `gorm:"primaryKey"`
	WorkspaceID        string
	CaseID             string
	InvoiceID          string
	Exit               string
	InstructionKind    InstructionKind // empty when the exit only moved the case
	Instruction        *string
	Input              string // JSON object
	Reason             string
	DecidedByID        *string
	DecidedByName      string
	Role               Role
	CaseVersion        int64
	ApprovalRequestIDs string // JSON array
	DecidedAt          Time
}

// Comment is a person's remark on a case.
type Comment struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	CaseID      string
	AuthorID    string
	AuthorName  string
	Text        string
	At          Time
}

// PairVerdict remembers that two invoices were judged not to be duplicates; Low and High are their
// ids in order, so that either asks for the same verdict.
type PairVerdict struct {
	WorkspaceID string `gorm:"primaryKey"`
	Low         string `gorm:"primaryKey"`
	High        string `gorm:"primaryKey"`
	CaseID      string
	DecidedAt   Time
}

// CaseCount is how many cases of a queue are in a state, kept by the database.
type CaseCount struct {
	WorkspaceID string
	Queue       Queue
	Status      CaseStatus
	N           int64
}

// HoldStatus is where a hold stands.
type HoldStatus string

// The states of a hold.
const (
	HoldWaiting   HoldStatus = "waiting"
	HoldReleased  HoldStatus = "released"
	HoldEscalated HoldStatus = "escalated"
	HoldCancelled HoldStatus = "cancelled"
)

// Hold is an invoice that waits for a re-check.
type Hold struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	Status      HoldStatus
	Code        Code
	InvoiceID   string
	PoID        string
	Line        *int64
	JoinKey     string
	Invoice     string
	Amount      string
	Currency    string
	Errors      string
	Body        string
	MaxChecks   int
	ChecksLeft  int
	NextCheckAt Time
	LeaseUntil  Time
	LeasedByID  *string
	CaseID      *string
	AgentID     string
	AgentName   string
	CreatedAt   Time
	UpdatedAt   Time
}

// HoldCheck is one re-check of a hold, made or missed.
type HoldCheck struct {
	ID          string `gorm:"primaryKey"`
	HoldID      string
	WorkspaceID string
	At          Time
	DueAt       Time
	Result      string // available, still_missing, missed
	ByName      string
}
