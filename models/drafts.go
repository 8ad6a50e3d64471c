package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// KeepDrafts is how long what was typed and not sent is kept.
	KeepDrafts = 30 * 24 * time.Hour
	// MaxDraft is how many bytes of names and values one form may have to be kept.
	MaxDraft = 64 << 10
	// keepSent is how long a form that was sent is remembered, so that a save that was still on its way
	// brings nothing back.
	keepSent = time.Hour
)

// DraftField is one field of a form as it was typed.
type DraftField struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// Draft is what a person typed into a form of a record and has not sent. Nobody else reads it.
type Draft struct {
	WorkspaceID string
	UserID      string
	Subject     string // id of the record
	Form        string // which of the record's forms
	Version     int64  // of the record when the form was made; 0: the form has none
	Fields      string // JSON list of DraftField; empty once the form was sent
	SavedAt     Time
}

// Typed are the fields, in the order in which they stand in the form.
func (d Draft) Typed() []DraftField {
	_, fields := d.read()
	return fields
}

// read is the window in which the text was typed last, and the fields.
func (d Draft) read() (window string, fields []DraftField) {
	if json.Unmarshal([]byte(d.Fields), &fields) != nil {
		return "", nil
	}
	if len(fields) > 0 && fields[0].Name == "" {
		return fields[0].Value, fields[1:]
	}
	return "", fields
}

// Window is where the text was typed last, "" when that is not known.
func (d Draft) Window() string {
	window, _ := d.read()
	return window
}

// State names what is kept just now, "" for nothing. A window that goes on typing says which it goes on from.
func (d Draft) State() string {
	if d.Fields == "" {
		return ""
	}
	return d.SavedAt.UTC().Format(time.RFC3339Nano)
}

// Typing is the window in which somebody types, and the state of the draft it goes on from.
type Typing struct{ Window, Based string }

// windowName is what a window may call itself.
var windowName = regexp.MustCompile(`^[0-9A-Za-z]{0,12}$`)

// asideMark parts the name of a form from the window whose text is kept beside that of another.
const asideMark = "~"

// Beside is the form whose draft this one is kept beside; ok says whether it is one that is.
func (d Draft) Beside() (form string, ok bool) {
	form, _, ok = strings.Cut(d.Form, asideMark)
	return form, ok
}

// Aside is the form under which the text of a window is kept beside this one.
func (d Draft) Aside(window string) string { return d.Form + asideMark + window }

// Value is the first value of a field; empty without one.
func (d Draft) Value(name string) string {
	for _, f := range d.Typed() {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// SaveTyped keeps what was typed into a form. madeAt is when the page with the form was made: a save of
// a page older than the sending of that form comes too late and does nothing. Without any filled field
// the draft is dropped. It fails with VALIDATION_ERROR when the form is larger than MaxDraft, and with
// insufficient_permission for anybody but a person signed in to the pages. Whether the person may read
// the record is asked before.
//
// What another window typed since the state this one goes on from stays: the text is then kept beside it, and
// that of the other window is answered. now is what is kept for the form afterwards.
func (s *Store) SaveTyped(ctx context.Context, by Principal, d Draft, fields []DraftField, madeAt Time, at Typing) (now Draft, other *Draft, err error) {
	if err := by.NeedPerson(); err != nil {
		return now, nil, err
	}
	size, filled := 0, false
	for _, f := range fields {
		size += len(f.Name) + len(f.Value)
		filled = filled || strings.TrimSpace(f.Value) != ""
	}
	switch {
	case size > MaxDraft:
		return now, nil, Invalid(Issue{Path: "/fields", Message: fmt.Sprintf("are more than %d kilobytes of text, which are not kept as a draft", MaxDraft>>10)})
	case d.Subject == "" || len(d.Subject) > 80 || d.Form == "" || len(d.Form) > 40:
		return now, nil, Invalid(Issue{Path: "/form", Message: "must name a form of a record"})
	case !windowName.MatchString(at.Window):
		return now, nil, Invalid(Issue{Path: "/window", Message: "must be at most 12 letters and digits"})
	}
	text, err := json.Marshal(fields)
	if at.Window != "" {
		text, err = json.Marshal(append([]DraftField{{Value: at.Window}}, fields...))
	}
	if err != nil {
		return now, nil, fmt.Errorf("models: draft: %w", err)
	}
	err = s.InTx(ctx, by, func(tx *Tx) error {
		now, other = Draft{}, nil
		was, err := tx.draft(d.Subject, d.Form)
		if err != nil {
			return err
		}
		if was.Fields == "" && !was.SavedAt.IsZero() && madeAt.Before(was.SavedAt.Time) {
			return nil
		}
		form := d.Form
		if was.Fields != "" {
			window, typed := was.read()
			if window != at.Window && at.Based != was.State() && !slices.Equal(typed, fields) {
				other, form = &was, d.Aside(at.Window)
			}
		}
		if other == nil && at.Window != "" {
			if _, err := tx.Exec("DELETE FROM drafts WHERE workspace_id = ? AND user_id = ? AND subject = ? AND form = ?", tx.By.WorkspaceID, tx.By.UserID, d.Subject, d.Aside(at.Window)); err != nil {
				return err
			}
		}
		if !filled {
			_, err := tx.Exec("DELETE FROM drafts WHERE workspace_id = ? AND user_id = ? AND subject = ? AND form = ? AND fields <> ''", tx.By.WorkspaceID, tx.By.UserID, d.Subject, form)
			return err
		}
		if err := tx.putDraft(d.Subject, form, d.Version, string(text)); err != nil {
			return err
		}
		now, err = tx.draft(d.Subject, d.Form)
		return err
	})
	return now, other, err
}

func (tx *Tx) putDraft(subject, form string, version int64, fields string) error {
	_, err := tx.Exec(`INSERT INTO drafts (workspace_id, user_id, subject, form, version, fields, saved_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, user_id, subject, form) DO UPDATE SET version = excluded.version, fields = excluded.fields, saved_at = excluded.saved_at`,
		tx.By.WorkspaceID, tx.By.UserID, subject, form, version, fields, tx.Now)
	return err
}

func (tx *Tx) draft(subject, form string) (Draft, error) {
	d, err := One[Draft](tx, "SELECT * FROM drafts WHERE workspace_id = ? AND user_id = ? AND subject = ? AND form = ?", tx.By.WorkspaceID, tx.By.UserID, subject, form)
	if errors.Is(err, ErrNoRow) {
		return Draft{}, nil
	}
	return d, err
}

// DropDraft forgets what was typed into the forms, since they were sent or the person discards it.
func (s *Store) DropDraft(ctx context.Context, by Principal, subject string, forms ...string) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return s.InTx(ctx, by, func(tx *Tx) error {
		for _, form := range forms {
			if err := tx.putDraft(subject, form, 0, ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drafts are what the person has typed into the forms of a record and not sent, by form.
func (s *Store) Drafts(ctx context.Context, by Principal, subject string) (map[string]Draft, error) {
	found := map[string]Draft{}
	if !by.IsPerson() {
		return found, nil
	}
	err := s.View(ctx, by, func(tx *Tx) error {
		all, err := All[Draft](tx, "SELECT * FROM drafts WHERE workspace_id = ? AND user_id = ? AND subject = ? AND fields <> '' AND saved_at > ?",
			by.WorkspaceID, by.UserID, subject, tx.Now.Add(-KeepDrafts))
		for _, d := range all {
			found[d.Form] = d
		}
		return err
	})
	return found, err
}

// forgetDrafts removes what nobody came back to.
func (tx *Tx) forgetDrafts() error {
	_, err := tx.Exec("DELETE FROM drafts WHERE saved_at <= ? OR (fields = '' AND saved_at <= ?)", tx.Now.Add(-KeepDrafts), tx.Now.Add(-keepSent))
	return err
}
