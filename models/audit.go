package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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

// digest is what the chain seals of an event: every field but the chain's own, in canonical JSON.
func (e AuditEvent) digest(seq int64, prev string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"id": e.ID, "workspace_id": e.WorkspaceID, "at": e.At, "actor_id": e.ActorID, "actor_name": e.ActorName, "actor_roles": e.ActorRoles,
		"channel": e.Channel, "token_id": e.TokenID, "action": e.Action, "subject": e.Subject, "case_id": e.CaseID,
		"approval_request_id": e.ApprovalRequestID, "invoice_id": e.InvoiceID, "request_id": e.RequestID, "data": e.Data,
		"seq": seq, "prev_hash": prev,
	})
	if err != nil {
		return "", err
	}
	canonical := jsontext.Value(body)
	if err := canonical.Canonicalize(); err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

const (
	sealBatch = 500
	sealPause = 200 * time.Millisecond
)

// sealEvents links new events into their workspace's hash chain shortly after they were written, so
// that no writer ever waits for the chain's head.
func (s *Store) sealEvents(ctx context.Context) {
	if err := s.sealLeftOver(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("audit events not sealed yet", "cause", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.sealing:
			select { // let a burst gather
			case <-ctx.Done():
				return
			case <-time.After(sealPause):
			}
			due := map[string]bool{first: true}
			for drained := false; !drained; {
				select {
				case ws := <-s.sealing:
					due[ws] = true
				default:
					drained = true
				}
			}
			for ws := range due {
				if err := s.SealEvents(ctx, ws); err != nil && ctx.Err() == nil {
					s.log.Warn("audit events not sealed yet", "cause", err)
				}
			}
		}
	}
}

// sealLeftOver links what a process wrote that ended before it could seal.
func (s *Store) sealLeftOver(ctx context.Context) error {
	var workspaces []string
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		return tx.DB.Model(&AuditEvent{}).Where("seq IS NULL").Distinct().Pluck("workspace_id", &workspaces).Error
	})
	for _, ws := range workspaces {
		err = errors.Join(err, s.SealEvents(ctx, ws))
	}
	return err
}

// SealEvents links every event of a workspace that is not yet in its hash chain.
func (s *Store) SealEvents(ctx context.Context, workspaceID string) error {
	for {
		var sealed int
		err := s.InTx(ctx, System(workspaceID), func(tx *Tx) error {
			var err error
			sealed, err = tx.seal(workspaceID)
			return err
		})
		if err != nil || sealed < sealBatch {
			return err
		}
	}
}

func (tx *Tx) seal(workspaceID string) (int, error) {
	if err := tx.LockName("audit:" + workspaceID); err != nil {
		return 0, err
	}
	var head []AuditEvent
	if err := tx.DB.Where("workspace_id = ? AND seq IS NOT NULL", workspaceID).Order("seq DESC").Limit(1).Find(&head).Error; err != nil {
		return 0, err
	}
	seq, prev := int64(0), ""
	if len(head) == 1 {
		seq, prev = *head[0].Seq, *head[0].Hash
	}
	var events []AuditEvent
	if err := tx.DB.Where("workspace_id = ? AND seq IS NULL", workspaceID).Order("id").Limit(sealBatch).Find(&events).Error; err != nil {
		return 0, err
	}
	for _, e := range events {
		seq++
		hash, err := e.digest(seq, prev)
		if err != nil {
			return 0, err
		}
		if err := tx.DB.Exec("UPDATE audit_events SET seq = ?, prev_hash = ?, hash = ? WHERE id = ?", seq, prev, hash, e.ID).Error; err != nil {
			return 0, err
		}
		prev = hash
	}
	return len(events), nil
}
