package models

import (
	"context"
	"fmt"
)

// TrailFilter chooses a page of a workspace's audit events; empty fields do not filter.
type TrailFilter struct {
	Action            string
	ActorID           string
	Subject           string
	CaseID            string
	ApprovalRequestID string
	InvoiceID         string
	From, To          Time // from is included, to is not
	Oldest            bool // oldest first; else newest first
	After             *TrailKey
	Limit             int
}

// TrailKey is where a page of the trail ended.
type TrailKey struct {
	At Time
	ID string
}

// Trail reads a page of the audit events of the workspace acted in, and says whether there are more.
func (s *Store) Trail(ctx context.Context, by Principal, f TrailFilter) (events []AuditEvent, more bool, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		db := tx.DB.Where("workspace_id = ?", by.WorkspaceID)
		// The indexes hold no empty values; without saying so SQLite would not use them.
		for _, want := range []struct{ condition, value string }{
			{"action = ?", f.Action},
			{"actor_id = ?", f.ActorID},
			{"subject = ? AND subject <> ''", f.Subject},
			{"case_id = ? AND case_id <> ''", f.CaseID},
			{"approval_request_id = ? AND approval_request_id <> ''", f.ApprovalRequestID},
			{"invoice_id = ? AND invoice_id <> ''", f.InvoiceID},
		} {
			if want.value != "" {
				db = db.Where(want.condition, want.value)
			}
		}
		if !f.From.IsZero() {
			db = db.Where("at >= ?", f.From)
		}
		if !f.To.IsZero() {
			db = db.Where("at < ?", f.To)
		}
		op, order := "<", "at DESC, id DESC"
		if f.Oldest {
			op, order = ">", "at, id"
		}
		if f.After != nil {
			db = db.Where("(at, id) "+op+" (?, ?)", f.After.At, f.After.ID)
		}
		if err := db.Order(order).Limit(f.Limit + 1).Find(&events).Error; err != nil {
			return fmt.Errorf("models: read the trail: %w", err)
		}
		return nil
	})
	if len(events) > f.Limit {
		return events[:f.Limit], true, err
	}
	return events, false, err
}
