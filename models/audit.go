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
	return tx.DB.Create(&AuditEvent{
		ID: tx.NewID(PrefixEvent), WorkspaceID: tx.By.WorkspaceID, At: tx.Now,
		ActorID: tx.By.UserID, ActorName: tx.By.UserName, ActorRoles: strings.Join(roles, ","), Channel: tx.By.Channel, TokenID: tx.By.TokenID,
		Action: action, Subject: ref.Subject, CaseID: ref.CaseID, ApprovalRequestID: ref.ApprovalRequestID, InvoiceID: ref.InvoiceID,
		RequestID: tx.By.RequestID, Data: string(payload),
	}).Error
}

// RecordRefusal adds an event for an attempt that was refused, in a transaction of its own since the
// attempt's was undone.
func (s *Store) RecordRefusal(ctx context.Context, by Principal, action string, ref Ref, data map[string]any) error {
	return s.InTx(context.WithoutCancel(ctx), by, func(tx *Tx) error { return tx.Audit(action, ref, data) })
}
