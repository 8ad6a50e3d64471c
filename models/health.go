package models

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Health is what the database says about the desk's state, for apdesk doctor.
type Health struct {
	Schema         int64             // version
	Settings       map[string]string // of the database, those that decide whether an answer survives
	MissingGuards  []string          // triggers that keep the trail from being changed
	LastEvent      Time
	Unsealed       int64
	UnsealedSince  Time
	StuckJobs      []Job // due for longer than StuckAfter, the oldest first
	Workspaces     []WorkspaceHealth
	Ownerless      []string // service accounts without an active responsible person, by e-mail
	EternalTokens  []string // that never expire
	IdleTokens     []string // not used for IdleToken
	LastBackup     Time
	LastCheckpoint Time
	ClockAhead     time.Duration // of the database's server over this machine; 0 on SQLite, which has no clock of its own
}

// WorkspaceHealth is what one workspace lacks.
type WorkspaceHealth struct {
	ID, Name string
	Rules    int      // in force
	Gaps     []string // rules for which there are not enough people, in words
	Unbound  []string // tools with a rule of their own and no binding
	Admins   int
}

// Ages from which something is worth a look.
const (
	StuckAfter = 10 * time.Minute
	IdleToken  = 90 * 24 * time.Hour
)

// ActionBackedUp is the event that a backup leaves on the trail of the desk itself.
const ActionBackedUp = "backup.made"

// guards are the triggers that keep the trail, by table.
var guards = map[bool][]string{
	false: {"audit_never_deleted", "audit_never_changed", "audit_heads_never_deleted", "audit_heads_only_grow", "audit_checkpoints_never_deleted", "audit_checkpoints_never_changed"},
	true:  {"audit_never_changed", "audit_never_truncated", "audit_heads_only_grow", "audit_heads_never_truncated", "audit_checkpoints_never_changed", "audit_checkpoints_never_truncated"},
}

// MissingGuards names the triggers of the trail that are gone or switched off.
func (s *Store) MissingGuards(ctx context.Context) (missing []string, err error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'trigger'"
	if s.postgres {
		query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'"
	}
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		var there []string
		if err := tx.DB.Raw(query).Scan(&there).Error; err != nil {
			return err
		}
		for _, name := range guards[s.postgres] {
			if !slices.Contains(there, name) {
				missing = append(missing, name)
			}
		}
		return nil
	})
	return missing, err
}

// Health reads what apdesk doctor judges.
func (s *Store) Health(ctx context.Context) (Health, error) {
	h := Health{Settings: map[string]string{}}
	var err error
	if h.MissingGuards, err = s.MissingGuards(ctx); err != nil {
		return h, err
	}
	if err := s.settings(ctx, h.Settings); err != nil {
		return h, err
	}
	if h.ClockAhead, err = s.clockAhead(ctx); err != nil {
		return h, err
	}
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		if err := tx.DB.Raw("SELECT MAX(version_id) FROM goose_db_version").Scan(&h.Schema).Error; err != nil {
			return err
		}
		if err := tx.healthOfTrail(&h); err != nil {
			return err
		}
		if err := tx.DB.Where("due_at < ?", tx.Now.Add(-StuckAfter)).Order("due_at").Limit(20).Find(&h.StuckJobs).Error; err != nil {
			return err
		}
		if err := tx.healthOfAccounts(&h); err != nil {
			return err
		}
		var all []Workspace
		if err := tx.DB.Order("id").Find(&all).Error; err != nil {
			return err
		}
		for _, w := range all {
			in := *tx
			in.By = System(w.ID)
			found, err := in.workspaceHealth(w)
			if err != nil {
				return err
			}
			h.Workspaces = append(h.Workspaces, found)
		}
		return nil
	})
	return h, err
}

// settings reads how the writing connection works.
func (s *Store) settings(ctx context.Context, into map[string]string) error {
	names, query := []string{"journal_mode", "synchronous", "foreign_keys"}, "PRAGMA "
	if s.postgres {
		names, query = []string{"server_version", "fsync", "full_page_writes", "synchronous_commit"}, "SHOW "
	}
	db, err := s.write.DB()
	if err != nil {
		return err
	}
	for _, name := range names {
		var value string
		if err := db.QueryRowContext(ctx, query+name).Scan(&value); err != nil {
			return fmt.Errorf("models: setting %s: %w", name, translate(err))
		}
		into[name] = value
	}
	return nil
}

// clockAhead is how far the clock of the database's server is ahead, to within half the time the question
// took.
func (s *Store) clockAhead(ctx context.Context) (time.Duration, error) {
	if !s.postgres {
		return 0, nil
	}
	db, err := s.write.DB()
	if err != nil {
		return 0, err
	}
	asked := s.clock()
	var there time.Time
	if err := db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
		return 0, fmt.Errorf("models: the database's clock: %w", translate(err))
	}
	answered := s.clock()
	return there.Sub(asked.Add(answered.Sub(asked) / 2)), nil
}

// mostPasswordsTried bounds how many passwords PeopleWithPassword tries, since each takes as long as a sign-in.
const mostPasswordsTried = 20

// PeopleWithPassword names those among the people last added who can sign in with a password that
// everybody knows, by e-mail.
func (s *Store) PeopleWithPassword(ctx context.Context, known string) ([]string, error) {
	var people []User
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		return tx.DB.Where("kind = ? AND active AND password_hash <> ''", KindPerson).Order("created_at DESC").Limit(mostPasswordsTried).Find(&people).Error
	})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, u := range people {
		same, err := comparePassword(ctx, known, u.PasswordHash)
		if err != nil {
			return nil, err
		}
		if same {
			found = append(found, u.Email)
		}
	}
	return found, nil
}

func (tx *Tx) healthOfTrail(h *Health) error {
	chains, err := tx.chains()
	if err != nil {
		return err
	}
	for _, ws := range chains {
		var last []AuditEvent
		if err := tx.DB.Where("workspace_id = ?", ws).Order("at DESC, id DESC").Limit(1).Find(&last).Error; err != nil {
			return err
		}
		if len(last) == 1 && last[0].At.After(h.LastEvent.Time) {
			h.LastEvent = last[0].At
		}
		var backups []AuditEvent
		if err := tx.DB.Where("workspace_id = ? AND action = ?", ws, ActionBackedUp).Order("at DESC, id DESC").Limit(1).Find(&backups).Error; err != nil {
			return err
		}
		if len(backups) == 1 && backups[0].At.After(h.LastBackup.Time) {
			h.LastBackup = backups[0].At
		}
	}
	if err := tx.DB.Model(&AuditEvent{}).Where("seq IS NULL").Count(&h.Unsealed).Error; err != nil {
		return err
	}
	var oldest []AuditEvent
	if err := tx.DB.Where("seq IS NULL").Order("at").Limit(1).Find(&oldest).Error; err != nil {
		return err
	}
	if len(oldest) == 1 {
		h.UnsealedSince = oldest[0].At
	}
	var signed []StoredCheckpoint
	if err := tx.DB.Order("at DESC").Limit(1).Find(&signed).Error; err != nil {
		return err
	}
	if len(signed) == 1 {
		h.LastCheckpoint = signed[0].At
	}
	return nil
}

func (tx *Tx) healthOfAccounts(h *Health) error {
	err := tx.DB.Raw(`SELECT u.email FROM users u LEFT JOIN users o ON o.id = u.owner_id
		WHERE u.kind = 'service' AND u.active AND (o.id IS NULL OR NOT o.active
			OR NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = o.id AND m.active)) ORDER BY u.email`).Scan(&h.Ownerless).Error
	if err != nil {
		return err
	}
	type row struct {
		Name, Email string
		CreatedAt   Time
		ExpiresAt   Time
		LastUsedAt  Time
	}
	var tokens []row
	err = tx.DB.Raw(`SELECT t.name, u.email, t.created_at, t.expires_at, t.last_used_at FROM tokens t JOIN users u ON u.id = t.user_id
		WHERE t.revoked_at IS NULL AND u.active ORDER BY u.email, t.name`).Scan(&tokens).Error
	if err != nil {
		return err
	}
	for _, t := range tokens {
		words := fmt.Sprintf("%q of %s", t.Name, t.Email)
		switch used := t.LastUsedAt; {
		case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(tx.Now.Time):
			continue
		case t.ExpiresAt.IsZero():
			h.EternalTokens = append(h.EternalTokens, words)
			fallthrough
		default:
			if used.IsZero() {
				used = t.CreatedAt
			}
			if used.Add(IdleToken).Before(tx.Now.Time) {
				h.IdleTokens = append(h.IdleTokens, words)
			}
		}
	}
	return nil
}

func (tx *Tx) workspaceHealth(w Workspace) (WorkspaceHealth, error) {
	out := WorkspaceHealth{ID: w.ID, Name: w.Name}
	members, err := tx.Members()
	if err != nil {
		return out, err
	}
	able := func(role Role, named string) (n int) {
		var ids []string
		_ = json.Unmarshal([]byte(named), &ids) // none when there is nothing to read
		for _, m := range members {
			if m.User.Kind == KindPerson && (role != "" && m.Has(role) || slices.Contains(ids, m.User.ID)) {
				n++
			}
		}
		return n
	}
	for _, m := range members {
		if m.User.Kind == KindPerson && m.Has(RoleAdmin) {
			out.Admins++
		}
	}
	bindings, err := tx.Bindings()
	if err != nil {
		return out, err
	}
	var rules []Rule
	if err := tx.DB.Where("workspace_id = ? AND retired_at IS NULL", w.ID).Order("first_at, id").Find(&rules).Error; err != nil {
		return out, err
	}
	out.Rules = len(rules)
	for _, r := range rules {
		who := string(r.Role)
		if who == "" {
			who = "the people it names"
		}
		about := fmt.Sprintf("the rule for %s from %s to %s", r.Currency, r.FromAmount, r.ToAmount)
		if r.ThenRole != "" || r.ThenPeople != "" && r.ThenPeople != "[]" {
			if able(r.Role, r.People) == 0 || able(r.ThenRole, r.ThenPeople) == 0 {
				out.Gaps = append(out.Gaps, about+" needs one person after the other, and for one of the steps there is nobody active")
			}
		} else if n := able(r.Role, r.People); n < r.Required {
			out.Gaps = append(out.Gaps, fmt.Sprintf("%s needs %d of %s, and %d are active", about, r.Required, who, n))
		}
		if _, bound := bindings[r.Tool]; r.Tool != "" && !bound && !slices.Contains(out.Unbound, r.Tool) {
			out.Unbound = append(out.Unbound, r.Tool)
		}
	}
	slices.SortFunc(out.Unbound, strings.Compare)
	return out, nil
}
