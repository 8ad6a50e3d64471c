package models

import (
	"context"
	"errors"
	"slices"
)

// ConfirmationStatus is where a forwarded confirmation stands.
type ConfirmationStatus string

// The states of a confirmation.
const (
	ConfirmationPending   ConfirmationStatus = "pending"   // waits for a person
	ConfirmationAnswered  ConfirmationStatus = "answered"  // a person answered; the agent has not taken it yet
	ConfirmationTaken     ConfirmationStatus = "taken"     // the answer was handed out, once
	ConfirmationExpired   ConfirmationStatus = "expired"   // nobody answered in time, or nobody took the answer
	ConfirmationWithdrawn ConfirmationStatus = "withdrawn" // the asker took it back
)

// ConfirmationStatuses lists every state.
func ConfirmationStatuses() []ConfirmationStatus {
	return []ConfirmationStatus{ConfirmationPending, ConfirmationAnswered, ConfirmationTaken, ConfirmationExpired, ConfirmationWithdrawn}
}

// Valid says whether s is a known state.
func (s ConfirmationStatus) Valid() bool { return slices.Contains(ConfirmationStatuses(), s) }

// ElicitAction is a person's answer to an elicitation (MCP 2026-07-28).
type ElicitAction string

// The three answers.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // an explicit no
	ElicitCancel  ElicitAction = "cancel"  // dismissed without an answer
)

// Confirmation is another server's question about one of its calls, forwarded to a person.
type Confirmation struct {
	ID               string `gorm:"primaryKey"`
	WorkspaceID      string
	Status           ConfirmationStatus
	Version          int64
	Mode             string // form or url
	ServerName       string
	ServerURL        string
	Registered       bool // the workspace knows the server; else it is only what the agent reported
	Tool             string
	Arguments        string // canonical JSON
	Digest           string // hex SHA-256 of workspace, server, tool and arguments
	InputRequests    string // JSON object, as sent
	RequestStateHash string
	RunID            string
	InvoiceID        string
	Invoice          string
	Role             Role   // who may answer; empty in url mode
	RuleID           string // server rule that chose the role, if any
	PersonID         *string
	AskerID          string
	AskerName        string
	TokenID          string
	Channel          Channel
	Answers          string // JSON object: key -> {action, content?}
	Action           ElicitAction
	Reason           string
	AnsweredByID     *string
	AnsweredByName   string
	AnsweredRole     string
	AnsweredAt       Time
	TakeKey          string
	TakenByID        *string
	TakenAt          Time
	ExpiresAt        Time
	CreatedAt        Time
	UpdatedAt        Time
}

// Ref points an audit event at the confirmation.
func (c Confirmation) Ref() Ref { return Ref{Subject: c.ID, InvoiceID: c.InvoiceID} }

// ConfirmationAsker is somebody who counts as having asked, and so may never answer.
type ConfirmationAsker struct {
	ConfirmationID string `gorm:"primaryKey"`
	UserID         string `gorm:"primaryKey"`
	Relation       string `gorm:"primaryKey"`
}

// ServerRule names a server by its address and says whose role confirms a tool of it; an empty tool
// stands for all that no other rule names.
type ServerRule struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	ServerURL   string
	ServerName  string
	Tool        string
	Role        Role
	AuthorID    *string
	AuthorName  string
	CreatedAt   Time
	RetiredAt   Time
	RetiredBy   string
}

// StateNonce is a question asked through requestState. Any answer spends it.
type StateNonce struct {
	Nonce       string `gorm:"primaryKey"`
	WorkspaceID string
	UserID      string
	TokenID     string
	Tool        string
	Digest      string
	CreatedAt   Time
	ExpiresAt   Time
	SpentAt     Time
	Outcome     string // ran, refused, declined, cancelled
}

// SecurityBlock forbids an action on a channel in one workspace.
type SecurityBlock struct {
	WorkspaceID string  `gorm:"primaryKey"`
	Action      string  `gorm:"primaryKey"` // name of the tool, the same on REST
	Channel     Channel `gorm:"primaryKey"` // api or mcp
	AuthorID    *string
	AuthorName  string
	CreatedAt   Time
}

// TopicConfirmation and TopicConfirmations are woken by changes of one confirmation and of a
// workspace's list of them.
func TopicConfirmation(id string) string           { return "confirmation:" + id }
func TopicConfirmations(workspaceID string) string { return "confirmations:" + workspaceID }

// CheckBlocked answers SECURITY_BLOCKED when the workspace acted in forbids the action on the
// principal's channel.
func (tx *Tx) CheckBlocked(action string) error {
	if !tx.By.remote() {
		return nil
	}
	rows, err := tx.Query("SELECT 1 FROM security_blocks WHERE workspace_id = ? AND action = ? AND channel = ?", tx.By.WorkspaceID, action, string(tx.By.Channel))
	if err != nil {
		return err
	}
	var one int
	if err := firstRow(rows, &one); err != nil {
		if errors.Is(err, ErrNoRow) {
			return nil
		}
		return err
	}
	return securityBlocked(tx.By.Channel, action)
}

// CheckBlocked is Tx.CheckBlocked outside a transaction, by the settings as they were when the principal's token
// was looked at, or as they are now for who came with a token of another issuer.
func (s *Store) CheckBlocked(ctx context.Context, by Principal, action string) error {
	if !by.remote() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	state := by.access
	if state == 0 {
		var err error
		if state, err = s.accessState(ctx); err != nil {
			return translate(err)
		}
	}
	b := block{by.WorkspaceID, action, by.Channel}
	blocked, known := s.access.blocked(state, b)
	if !known {
		state, blocks, err := s.readBlocks(ctx)
		if err != nil {
			return translate(err)
		}
		s.access.keepBlocks(state, blocks)
		blocked = blocks[b]
	}
	if blocked {
		return securityBlocked(by.Channel, action)
	}
	return nil
}

func securityBlocked(channel Channel, action string) *NamedError {
	return E(SecurityBlocked, "The security settings of this workspace forbid "+action+" on this channel. An admin can change that under /settings/security.",
		map[string]any{"action": action, "channel": channel, "settings": "/settings/security"})
}
