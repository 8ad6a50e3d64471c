package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"gorm.io/gorm/clause"
)

// digest is what the chain seals of an event: the SHA-256 of every field, with its place and the hash
// before it, as RFC 8785 JSON. The members are written in that form's order.
func (e AuditEvent) digest(seq int64, prev string) string {
	at := "null"
	if !e.At.IsZero() {
		at = `"` + e.At.String() + `"`
	}
	b := make([]byte, 0, 512+len(e.Data)+len(e.Data)/4)
	text := func(name, value string) {
		b = append(b, name...)
		b, _ = jsontext.AppendQuote(b, value) // what is no UTF-8 counts as U+FFFD, as everywhere in JSON
	}
	text(`{"action":`, e.Action)
	text(`,"actor_id":`, e.ActorID)
	text(`,"actor_name":`, e.ActorName)
	text(`,"actor_roles":`, e.ActorRoles)
	text(`,"approval_request_id":`, e.ApprovalRequestID)
	b = append(b, `,"at":`...)
	b = append(b, at...)
	text(`,"case_id":`, e.CaseID)
	text(`,"channel":`, string(e.Channel))
	text(`,"data":`, e.Data)
	text(`,"id":`, e.ID)
	text(`,"invoice_id":`, e.InvoiceID)
	text(`,"prev_hash":`, prev)
	text(`,"request_id":`, e.RequestID)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	text(`,"subject":`, e.Subject)
	text(`,"token_id":`, e.TokenID)
	text(`,"workspace_id":`, e.WorkspaceID)
	b = append(b, '}')
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

const (
	sealBatch = 250 // events sealed in one transaction, which on SQLite other writes wait for
	sealPause = 200 * time.Millisecond
	sealSweep = time.Minute // what another process left, or a failure, is sealed at the latest after this
)

// sealEvents links new events into their workspace's hash chain shortly after they were written, so
// that no writer ever waits for the chain's head.
func (s *Store) sealEvents(ctx context.Context) {
	report := func(err error) {
		if err != nil && ctx.Err() == nil {
			s.log.Warn("audit events not sealed yet", "cause", err)
		}
	}
	report(s.sealLeftOver(ctx))
	sweep := time.NewTicker(sealSweep)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			report(s.sealLeftOver(ctx))
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
				report(s.SealEvents(ctx, ws))
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

// auditHead is how far the desk has sealed a workspace's chain.
type auditHead struct {
	WorkspaceID string `gorm:"primaryKey"`
	Seq         int64
	Hash        string
	At          Time // of the event
}

func (auditHead) TableName() string { return "audit_heads" }

// link is one event's place in the chain.
type link struct {
	ID   string `json:"id"`
	Seq  int64  `json:"seq"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`
}

const (
	linkSQLite = `UPDATE audit_events SET seq = v.value ->> 'seq', prev_hash = v.value ->> 'prev', hash = v.value ->> 'hash'
		FROM json_each(?) v WHERE audit_events.id = v.value ->> 'id'`
	linkPostgres = `UPDATE audit_events e SET seq = v.seq, prev_hash = v.prev, hash = v.hash
		FROM jsonb_to_recordset(?::jsonb) AS v (id text, seq bigint, prev text, hash text) WHERE e.id = v.id`
)

func (tx *Tx) seal(workspaceID string) (int, error) {
	if err := tx.LockName("audit:" + workspaceID); err != nil {
		return 0, err
	}
	var events []AuditEvent
	if err := tx.DB.Where("workspace_id = ? AND seq IS NULL", workspaceID).Order("id").Limit(sealBatch).Find(&events).Error; err != nil || len(events) == 0 {
		return 0, err
	}
	head, err := tx.chainHead(workspaceID)
	if err != nil {
		return 0, err
	}
	links := make([]link, len(events))
	for i, e := range events {
		head.Seq++
		links[i] = link{e.ID, head.Seq, head.Hash, e.digest(head.Seq, head.Hash)}
		head.Hash, head.At = links[i].Hash, e.At
	}
	text, err := json.Marshal(links)
	if err != nil {
		return 0, err
	}
	statement := linkSQLite
	if tx.store.postgres {
		statement = linkPostgres
	}
	if err := tx.DB.Exec(statement, string(text)).Error; err != nil {
		return 0, err
	}
	head.WorkspaceID = workspaceID
	return len(events), tx.DB.Clauses(clause.OnConflict{UpdateAll: true}).Create(&head).Error
}

// chainHead is what the next event follows. Where the trail's end is not the one the desk sealed, it
// keeps to what was sealed: events removed from the end leave their gap for ever, and what was put
// there by others stays outside the chain.
func (tx *Tx) chainHead(workspaceID string) (auditHead, error) {
	var sealed []auditHead
	if err := tx.DB.Where("workspace_id = ?", workspaceID).Limit(1).Find(&sealed).Error; err != nil {
		return auditHead{}, err
	}
	var last []AuditEvent
	if err := tx.DB.Select("seq", "hash").Where("workspace_id = ? AND seq IS NOT NULL", workspaceID).Order("seq DESC").Limit(1).Find(&last).Error; err != nil {
		return auditHead{}, err
	}
	head := auditHead{}
	if len(sealed) == 1 {
		head = sealed[0]
	}
	if len(last) == 1 && *last[0].Seq > head.Seq {
		head.Seq = *last[0].Seq
		if len(sealed) == 0 {
			head.Hash = *last[0].Hash
		}
	}
	return head, nil
}
