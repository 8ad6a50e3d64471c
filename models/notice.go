package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// NoticeKind says what a person is told.
type NoticeKind string

// Notice is something one person is told in the desk. Data holds what its words need, never secrets or
// approval ids.
type Notice struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	UserID      string
	Kind        NoticeKind
	Subject     string // id of the case, request, approval request or invoice it is about
	Data        string // JSON object
	At          Time
	ReadAt      Time
}

// TopicNotices is what changes with the notices of one person.
func TopicNotices(workspaceID, userID string) string { return "notices:" + workspaceID + ":" + userID }

// Tell puts a notice before each of the people, in the transaction of what it is about. Unknown and
// repeated ids are left out.
func (tx *Tx) Tell(kind NoticeKind, subject string, data map[string]any, userIDs ...string) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("models: notice: %w", err)
	}
	if data == nil {
		text = []byte("{}")
	}
	members, err := tx.Members(append([]string{""}, userIDs...)...)
	if err != nil {
		return err
	}
	var rows []Notice
	for _, m := range members {
		if m.User.Kind != KindPerson || slices.ContainsFunc(rows, func(n Notice) bool { return n.UserID == m.User.ID }) {
			continue
		}
		rows = append(rows, Notice{ID: tx.NewID(PrefixNotice), WorkspaceID: tx.By.WorkspaceID, UserID: m.User.ID, Kind: kind, Subject: subject, Data: string(text), At: tx.Now})
		tx.Notify(TopicNotices(tx.By.WorkspaceID, m.User.ID))
	}
	// A database takes only so many values in one statement.
	for batch := range slices.Chunk(rows, 500) {
		if err := tx.DB.Create(&batch).Error; err != nil {
			return err
		}
	}
	return nil
}

// TellRole is Tell for everybody who holds one of the roles.
func (tx *Tx) TellRole(kind NoticeKind, subject string, data map[string]any, roles ...Role) error {
	members, err := tx.Members()
	if err != nil {
		return err
	}
	var ids []string
	for _, m := range members {
		if m.Has(roles...) {
			ids = append(ids, m.User.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Tell(kind, subject, data, ids...)
}

// Settled marks as read, for everybody, the notices of these kinds about a subject that needs nothing of
// them any more.
func (tx *Tx) Settled(subject string, kinds ...NoticeKind) error {
	if len(kinds) == 0 {
		return nil
	}
	args := []any{tx.Now, tx.By.WorkspaceID, subject}
	for _, k := range kinds {
		args = append(args, string(k))
	}
	read, err := All[Notice](tx, "UPDATE notices SET read_at = ? WHERE workspace_id = ? AND subject = ? AND read_at IS NULL AND kind IN (?"+
		strings.Repeat(", ?", len(kinds)-1)+") RETURNING user_id", args...)
	if err != nil {
		return err
	}
	for _, n := range read {
		tx.Notify(TopicNotices(tx.By.WorkspaceID, n.UserID))
	}
	return nil
}

// maxNotices bounds how many notices one page shows.
const maxNotices = 50

// Notices lists what a person was told, newest first. before is the id of the last one seen, empty for
// the first page.
func (s *Store) Notices(ctx context.Context, by Principal, before string) (list []Notice, more bool, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		q := tx.DB.Where("workspace_id = ? AND user_id = ?", by.WorkspaceID, by.UserID).Order("at DESC, id DESC").Limit(maxNotices + 1)
		if before != "" {
			last, err := tx.notice(before)
			if err != nil {
				return err
			}
			q = q.Where("(at < ? OR (at = ? AND id < ?))", last.At, last.At, last.ID)
		}
		return q.Find(&list).Error
	})
	if len(list) > maxNotices {
		list, more = list[:maxNotices], true
	}
	return list, more, err
}

// UnreadNotices counts what a person was told and has not read, up to limit.
func (s *Store) UnreadNotices(ctx context.Context, by Principal, limit int) (n int, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		var ids []string
		err := tx.DB.Model(&Notice{}).Where("workspace_id = ? AND user_id = ? AND read_at IS NULL", by.WorkspaceID, by.UserID).Limit(limit).Pluck("id", &ids).Error
		n = len(ids)
		return err
	})
	return n, err
}

// Notice reads one of a person's notices. It fails with NOT_FOUND.
func (s *Store) Notice(ctx context.Context, by Principal, id string) (n Notice, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		n, err = tx.notice(id)
		return err
	})
	return n, err
}

func (tx *Tx) notice(id string) (n Notice, err error) {
	err = tx.DB.Where("id = ? AND workspace_id = ? AND user_id = ?", id, tx.By.WorkspaceID, tx.By.UserID).Take(&n).Error
	if errors.Is(err, ErrNoRow) {
		err = Missing("notice", id)
	}
	return n, err
}

// ReadNotices marks a person's notices as read, all of them or those named.
func (s *Store) ReadNotices(ctx context.Context, by Principal, ids ...string) error {
	return s.InTx(ctx, by, func(tx *Tx) error {
		return tx.readNotices(func(q *gorm.DB) *gorm.DB {
			if len(ids) == 0 {
				return q
			}
			return q.Where("id IN ?", ids)
		})
	})
}

// ReadNoticesUpTo marks as read what a person was told up to the notice named, so that what came after
// they looked stays new. It fails with NOT_FOUND.
func (s *Store) ReadNoticesUpTo(ctx context.Context, by Principal, newest string) error {
	return s.InTx(ctx, by, func(tx *Tx) error {
		n, err := tx.notice(newest)
		if err != nil {
			return err
		}
		return tx.readNotices(func(q *gorm.DB) *gorm.DB { return q.Where("(at < ? OR (at = ? AND id <= ?))", n.At, n.At, n.ID) })
	})
}

func (tx *Tx) readNotices(which func(*gorm.DB) *gorm.DB) error {
	q := tx.DB.Model(&Notice{}).Where("workspace_id = ? AND user_id = ? AND read_at IS NULL", tx.By.WorkspaceID, tx.By.UserID)
	tx.Notify(TopicNotices(tx.By.WorkspaceID, tx.By.UserID))
	return which(q).Update("read_at", tx.Now).Error
}
