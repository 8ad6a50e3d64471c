package models

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The bounds of how long a session may live.
const (
	LeastSessionIdle = 5 * time.Minute
	MostSessionIdle  = 24 * time.Hour
	LeastSessionLife = 15 * time.Minute
	MostSessionLife  = 30 * 24 * time.Hour
)

// SetSessionLimits sets after how long without use, and after how long altogether, sessions end: all of them
// for the first, those opened from then on for the second. Call it while wiring, before the store is used. It
// fails outside the bounds, and when a session would end by age before it can end by idleness.
func (s *Store) SetSessionLimits(idle, life time.Duration) error {
	switch {
	case idle < LeastSessionIdle || idle > MostSessionIdle:
		return fmt.Errorf("a session without use must end after %s to %s, not %s", LeastSessionIdle, MostSessionIdle, idle)
	case life < LeastSessionLife || life > MostSessionLife:
		return fmt.Errorf("a session must end after %s to %s, not %s", LeastSessionLife, MostSessionLife, life)
	case idle > life:
		return fmt.Errorf("a session cannot be unused for %s when it ends after %s", idle, life)
	}
	s.sessionIdle, s.sessionLife = idle, life
	return nil
}

// SessionLimits are after how long without use, and after how long altogether, sessions end.
func (s *Store) SessionLimits() (idle, life time.Duration) { return s.sessionIdle, s.sessionLife }

func (s *Store) alive(session Session) bool {
	now := s.Now()
	return now.Before(session.ExpiresAt.Time) && now.Sub(session.LastSeenAt.Time) <= s.sessionIdle
}

// needSession refuses what only a person in a session may do to their own account.
func (id Identity) needOwnSession() error {
	if id.Session == nil || id.User.Kind != KindPerson {
		return E(InsufficientPermission, "Only a person signed in to the desk's pages can do this.", map[string]any{"permission": "signed_in_person"})
	}
	return nil
}

// themself is a principal for what a person does to their own account, outside any one workspace.
func (id Identity) themself() Principal {
	return Principal{UserID: id.User.ID, UserName: id.User.Name, Email: id.User.Email, Kind: id.User.Kind, Channel: ChannelWeb}
}

// Sessions lists the sessions of a person that go on, the latest used first.
func (s *Store) Sessions(ctx context.Context, id Identity) ([]Session, error) {
	if err := id.needOwnSession(); err != nil {
		return nil, err
	}
	var list, alive []Session
	err := s.View(ctx, id.themself(), func(tx *Tx) error {
		return tx.DB.Where("user_id = ?", id.User.ID).Order("last_seen_at DESC, id").Find(&list).Error
	})
	for _, session := range list {
		if s.alive(session) {
			alive = append(alive, session)
		}
	}
	return alive, err
}

// EndSession ends another session of the same person. It fails with NOT_FOUND when there is none of that id
// that goes on, and UNPROCESSABLE_ENTITY for the session that asks: signing out ends that.
func (s *Store) EndSession(ctx context.Context, id Identity, sessionID string) error {
	if err := id.needOwnSession(); err != nil {
		return err
	}
	if sessionID == id.Session.ID {
		return E(Unprocessable, "This is the session you are in. Sign out to end it.", map[string]any{"reason": "oneself"})
	}
	return s.InTx(ctx, id.themself(), func(tx *Tx) error {
		session, err := One[Session](tx, "SELECT * FROM sessions WHERE id = ? AND user_id = ?", sessionID, id.User.ID)
		if errors.Is(err, ErrNoRow) || (err == nil && !s.alive(session)) {
			return E(NotFound, "This session has ended already.", nil)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM sessions WHERE id = ? AND user_id = ?", sessionID, id.User.ID); err != nil {
			return err
		}
		return tx.auditEverywhere(id, "person.session_ended", map[string]any{"sessions_ended": 1, "address": session.Address})
	})
}

// EndOtherSessions ends every session of the person but the one that asks, and says how many that were.
func (s *Store) EndOtherSessions(ctx context.Context, id Identity) (ended int64, err error) {
	if err := id.needOwnSession(); err != nil {
		return 0, err
	}
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if ended, err = tx.endSessions(id.User.ID, id.Session.ID); err != nil || ended == 0 {
			return err
		}
		return tx.auditEverywhere(id, "person.session_ended", map[string]any{"sessions_ended": ended})
	})
	return ended, err
}

// endSessions ends every session of a person but the one kept, if any, and every sign-in that waits for a
// passkey, so that whoever knew the password a moment ago is out. What it counts may have ended by itself.
func (tx *Tx) endSessions(userID, keep string) (int64, error) {
	if _, err := tx.Exec("DELETE FROM half_sign_ins WHERE user_id = ?", userID); err != nil {
		return 0, err
	}
	return tx.Exec("DELETE FROM sessions WHERE user_id = ? AND id <> ?", userID, keep)
}
