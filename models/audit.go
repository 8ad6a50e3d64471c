package models

import (
	"context"
	"encoding/json"
	"strings"
)

// AuditEvent is one line of the trail. Its action is a past-tense verb such as case.claimed.
type AuditEvent struct {
	ID                string `gorm:"primaryKey"`
	WorkspaceID       string
	At                Time
	ActorID           string
	ActorName         string
	ActorRoles        string
	Channel           Channel
	TokenID           string
	Action            string
	Subject           string // id of the record it is about
	CaseID            string
	ApprovalRequestID string
	InvoiceID         string
	RequestID         string // of the HTTP request, to find its log line
	Data              string // JSON object
	Seq               *int64
	PrevHash          *string
	Hash              *string
}

// Ref names what an audit event is about; empty fields do not apply.
type Ref struct {
	Subject           string
	CaseID            string
	ApprovalRequestID string
	InvoiceID         string
}

// Audit adds an event to the trail, in the transaction of the change it records.
func (tx *Tx) Audit(action string, ref Ref, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	payload, err := json.Marshal(data)
	if err != nil {
		return err
	}
	roles := make([]string, len(tx.By.Roles))
	for i, r := range tx.By.Roles {
		roles[i] = string(r)
	}
	if ref.Subject == "" {
		ref.Subject = ref.CaseID
	}
	if ref.Subject == "" {
		ref.Subject = ref.ApprovalRequestID
	}
	if tx.sealing == nil {
		tx.sealing = map[string]bool{}
	}
	tx.sealing[tx.By.WorkspaceID] = true
	_, err = tx.Exec(`INSERT INTO audit_events (id, workspace_id, at, actor_id, actor_name, actor_roles, channel, token_id, action, subject,
		case_id, approval_request_id, invoice_id, request_id, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.NewID(PrefixEvent), tx.By.WorkspaceID, tx.Now, tx.By.UserID, tx.By.UserName, strings.Join(roles, ","), string(tx.By.Channel), tx.By.TokenID, action, ref.Subject,
		ref.CaseID, ref.ApprovalRequestID, ref.InvoiceID, tx.By.RequestID, string(payload))
	return err
}

// RecordRefusal adds an event for an attempt that was refused, in a transaction of its own since the
// attempt's was undone.
func (s *Store) RecordRefusal(ctx context.Context, by Principal, action string, ref Ref, data map[string]any) error {
	return s.InTx(context.WithoutCancel(ctx), by, func(tx *Tx) error { return tx.Audit(action, ref, data) })
}
