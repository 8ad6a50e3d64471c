package models

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// PresenceLife is how long somebody counts as there after the last sign of life of their page.
const PresenceLife = 45 * time.Second

// Doing is what somebody does with a record.
type Doing string

// What can be done with a record while it is open.
const (
	Viewing Doing = "viewing"
	Editing Doing = "editing" // a field of one of its forms is in use
)

// Presence says that somebody has a record open. It counts until ExpiresAt.
type Presence struct {
	WorkspaceID string
	Subject     string // id of the case, approval request or confirmation
	UserID      string
	UserName    string
	Doing       Doing
	Since       Time
	ExpiresAt   Time
}

// TopicPresence is what changes when somebody opens, edits or leaves a record.
func TopicPresence(subject string) string { return "presence:" + subject }

// TopicPresences is TopicPresence for every record of a workspace.
func TopicPresences(workspaceID string) string { return "presences:" + workspaceID }

// recordTables are where records stand that people open, by the prefix of their ids.
var recordTables = map[string]string{
	PrefixCase:            "SELECT count(*) FROM cases WHERE id = ? AND workspace_id = ?",
	PrefixApprovalRequest: "SELECT count(*) FROM approval_requests WHERE id = ? AND workspace_id = ?",
	PrefixConfirmation:    "SELECT count(*) FROM confirmations WHERE id = ? AND workspace_id = ?",
}

// NeedRecord answers NOT_FOUND unless the workspace has the case, approval request or confirmation and
// by is one of its people, who may all read it.
func (s *Store) NeedRecord(ctx context.Context, by Principal, id string) error {
	prefix, _, _ := strings.Cut(id, "_")
	query, known := recordTables[prefix]
	people := slices.ContainsFunc(by.Roles, func(r Role) bool { return r != RoleAgent && r != RoleERP })
	if !known || !people || !by.IsPerson() {
		return Missing("record", id)
	}
	var n int
	err := s.View(ctx, by, func(tx *Tx) error { return tx.Value(&n, query, id, by.WorkspaceID) })
	if err == nil && n == 0 {
		err = Missing("record", id)
	}
	return err
}

// Attend says that the person has the record open and what they do with it. Whoever reads that they
// may read the record has been asked before. It leaves nothing on the trail, and wakes others only when
// there is something new to see.
func (s *Store) Attend(ctx context.Context, by Principal, subject string, doing Doing) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	if doing != Viewing && doing != Editing {
		return Invalid(Issue{Path: "/doing", Message: "must be viewing or editing"})
	}
	return s.InTx(ctx, by, func(tx *Tx) error {
		before, err := tx.presence(subject)
		if err != nil {
			return err
		}
		since := before.Since
		if !before.ExpiresAt.After(tx.Now.Time) {
			since, before.Doing = tx.Now, ""
		}
		_, err = tx.Exec(`INSERT INTO presences (workspace_id, subject, user_id, user_name, doing, since, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, subject, user_id) DO UPDATE SET user_name = excluded.user_name, doing = excluded.doing, since = excluded.since, expires_at = excluded.expires_at`,
			tx.By.WorkspaceID, subject, tx.By.UserID, tx.By.UserName, string(doing), since, tx.Now.Add(PresenceLife))
		if before.Doing != doing {
			tx.Notify(TopicPresence(subject), TopicPresences(tx.By.WorkspaceID))
		}
		return err
	})
}

// presence is the person's own row for a record; empty when there is none.
func (tx *Tx) presence(subject string) (Presence, error) {
	p, err := One[Presence](tx, "SELECT doing, since, expires_at FROM presences WHERE workspace_id = ? AND subject = ? AND user_id = ?", tx.By.WorkspaceID, subject, tx.By.UserID)
	if errors.Is(err, ErrNoRow) {
		err = nil
	}
	return p, err
}

// Leave says that the person closed the record.
func (s *Store) Leave(ctx context.Context, by Principal, subject string) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return s.InTx(ctx, by, func(tx *Tx) error {
		n, err := tx.Exec("DELETE FROM presences WHERE workspace_id = ? AND subject = ? AND user_id = ?", tx.By.WorkspaceID, subject, tx.By.UserID)
		if n > 0 {
			tx.Notify(TopicPresence(subject), TopicPresences(tx.By.WorkspaceID))
		}
		return err
	})
}

// mostPresent bounds how many people are named at one record.
const mostPresent = 20

// Presences says who else has each of the records open now, those who edit first and then by when they
// came.
func (s *Store) Presences(ctx context.Context, by Principal, subjects ...string) (map[string][]Presence, error) {
	if len(subjects) == 0 {
		return nil, nil
	}
	found := map[string][]Presence{}
	err := s.View(ctx, by, func(tx *Tx) error {
		var rows []Presence
		err := tx.DB.Where("workspace_id = ? AND subject IN ? AND user_id <> ? AND expires_at > ?", by.WorkspaceID, subjects, by.UserID, tx.Now).
			Order("doing, since, user_id").Limit(mostPresent * len(subjects)).Find(&rows).Error
		for _, p := range rows {
			if len(found[p.Subject]) < mostPresent {
				found[p.Subject] = append(found[p.Subject], p)
			}
		}
		return err
	})
	return found, err
}

// forgetAbsent removes rows of people who are gone.
func (tx *Tx) forgetAbsent() error {
	_, err := tx.Exec("DELETE FROM presences WHERE expires_at <= ?", tx.Now)
	return err
}
