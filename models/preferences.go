package models

import (
	"context"
	"errors"
	"slices"
)

// AfterDecision is where a person goes once they have decided something.
type AfterDecision string

// What a person can choose.
const (
	AfterStay AfterDecision = "stay" // on the page of what was decided
	AfterList AfterDecision = "list" // back to the list they came from
	AfterNext AfterDecision = "next" // to the next of that list
)

// AfterDecisions lists what can be chosen.
func AfterDecisions() []AfterDecision { return []AfterDecision{AfterStay, AfterList, AfterNext} }

// Valid says whether it is one of those that can be chosen.
func (a AfterDecision) Valid() bool { return slices.Contains(AfterDecisions(), a) }

// The colours a page can have; empty is as the person's system has them.
const (
	ThemeSystem = ""
	ThemeLight  = "light"
	ThemeDark   = "dark"
)

// Preference is how one person likes to work, in every workspace.
type Preference struct {
	UserID        string `gorm:"primaryKey"`
	AfterDecision AfterDecision
	Shortcuts     bool // single keys do something
	Theme         string
	Language      string // empty: as the browser asks
	UpdatedAt     Time
}

// Preferences are those of the person, or the desk's own until they chose.
func (s *Store) Preferences(ctx context.Context, by Principal) (p Preference, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		p, err = tx.preferences()
		return err
	})
	return p, err
}

func (tx *Tx) preferences() (Preference, error) {
	p, err := One[Preference](tx, "SELECT user_id, after_decision, shortcuts, theme, language, updated_at FROM preferences WHERE user_id = ?", tx.By.UserID)
	if errors.Is(err, ErrNoRow) {
		return Preference{UserID: tx.By.UserID, AfterDecision: AfterStay, Shortcuts: true}, nil
	}
	return p, err
}

// SetPreferences keeps what change makes of the person's preferences. It fails with VALIDATION_ERROR,
// and with insufficient_permission for anybody but a person signed in to the pages.
func (s *Store) SetPreferences(ctx context.Context, by Principal, change func(*Preference)) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return s.InTx(ctx, by, func(tx *Tx) error {
		p, err := tx.preferences()
		if err != nil {
			return err
		}
		was := p
		change(&p)
		var issues []Issue
		if !p.AfterDecision.Valid() {
			issues = append(issues, Issue{Path: "/after_decision", Message: "must be stay, list or next"})
		}
		if !slices.Contains([]string{ThemeSystem, ThemeLight, ThemeDark}, p.Theme) {
			issues = append(issues, Issue{Path: "/theme", Message: "must be light or dark, or empty for the system's"})
		}
		if !slices.Contains([]string{"", "en", "de"}, p.Language) {
			issues = append(issues, Issue{Path: "/language", Message: "must be en or de, or empty for the browser's"})
		}
		if len(issues) > 0 {
			return Invalid(issues...)
		}
		if p == was {
			return nil
		}
		_, err = tx.Exec(`INSERT INTO preferences (user_id, after_decision, shortcuts, theme, language, updated_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (user_id) DO UPDATE SET after_decision = excluded.after_decision, shortcuts = excluded.shortcuts, theme = excluded.theme,
			language = excluded.language, updated_at = excluded.updated_at`, tx.By.UserID, string(p.AfterDecision), p.Shortcuts, p.Theme, p.Language, tx.Now)
		return err
	})
}
