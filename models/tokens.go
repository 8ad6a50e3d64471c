package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tokens are made, rotated and revoked by the person they are of, by an admin for service accounts, and by
// the operator. An admin reaches only tokens of users who work nowhere but in workspaces they are admin of,
// since a token reaches as far as its user.

const (
	// TokenOverlap is how long a rotated token goes on beside the one that takes its place, unless said otherwise.
	TokenOverlap = 24 * time.Hour
	// MostTokenOverlap is the longest.
	MostTokenOverlap = 7 * 24 * time.Hour
	// TokenWarning is how long before it ends somebody is told.
	TokenWarning = 7 * 24 * time.Hour
	// MostTokenLife is the longest life of a token made on the pages; the operator can make one without end.
	MostTokenLife = 365 * 24 * time.Hour
)

// TokenDays are the lives of a token that can be chosen on the pages, in days.
func TokenDays() []int { return []int{30, 90, 365} }

// JobTokenExpiring tells somebody that a token ends soon.
const JobTokenExpiring JobKind = "token.expiring"

// ScopeList are the token's scopes.
func (t Token) ScopeList() []Scope {
	var scopes []Scope
	for name := range strings.SplitSeq(t.Scopes, ",") {
		scopes = append(scopes, Scope(name))
	}
	return scopes
}

// GoodAt says whether calls with the token are answered.
func (t Token) GoodAt(now Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt.Time))
}

// TokenView is a token as who may see it is shown it; its secret is kept nowhere.
type TokenView struct {
	Token     Token
	User      User
	CreatedBy string // name; empty: the operator
	Good      bool   // calls with it are answered
	MayRevoke bool
	MayRotate bool
}

// Tokens lists tokens that are good or ended within 30 days, by their users' names, newest first: one's own,
// for an admin also those of the members of the workspace acted in, and for the operator everybody's there or,
// without a workspace, of the whole desk.
func (s *Store) Tokens(ctx context.Context, by Principal) ([]TokenView, error) {
	operator := by.Channel == ChannelSystem
	if !operator {
		if err := by.NeedPerson(); err != nil {
			return nil, err
		}
	}
	var list []TokenView
	err := s.View(ctx, by, func(tx *Tx) error {
		long := tx.Now.Add(-30 * 24 * time.Hour)
		q := tx.DB.Where("(revoked_at IS NULL OR revoked_at > ?) AND (expires_at IS NULL OR expires_at > ?)", long, long).Order("created_at DESC, id DESC").Limit(1000)
		members := tx.DB.Table("memberships").Select("user_id").Where("workspace_id = ?", by.WorkspaceID)
		switch {
		case operator && by.WorkspaceID == "":
		case operator || by.Has(RoleAdmin):
			q = q.Where("user_id = ? OR user_id IN (?)", by.UserID, members)
		default:
			q = q.Where("user_id = ?", by.UserID)
		}
		var tokens []Token
		if err := q.Find(&tokens).Error; err != nil {
			return err
		}
		var ids []string
		for _, t := range tokens {
			ids = append(ids, t.UserID)
			if t.CreatedByID != nil {
				ids = append(ids, *t.CreatedByID)
			}
		}
		users, err := tx.usersByID(ids)
		if err != nil {
			return err
		}
		manages := map[string]bool{}
		for _, t := range tokens {
			v := TokenView{Token: t, User: users[t.UserID], Good: t.GoodAt(tx.Now)}
			if t.CreatedByID != nil {
				v.CreatedBy = users[*t.CreatedByID].Name
			}
			if _, asked := manages[t.UserID]; !asked {
				if manages[t.UserID], err = tx.managesTokensOf(v.User); err != nil {
					return err
				}
			}
			v.MayRevoke = v.Good && manages[t.UserID]
			v.MayRotate = v.MayRevoke && t.ReplacedByID == nil && (operator || v.User.Kind == KindService || t.UserID == by.UserID)
			list = append(list, v)
		}
		slices.SortStableFunc(list, func(a, b TokenView) int {
			if (a.User.ID == by.UserID) != (b.User.ID == by.UserID) {
				return falseFirst(a.User.ID != by.UserID)
			}
			return strings.Compare(a.User.Name+a.User.ID, b.User.Name+b.User.ID)
		})
		return nil
	})
	return list, err
}

// managesTokensOf says whether tx.By may end tokens of a user.
func (tx *Tx) managesTokensOf(u User) (bool, error) {
	switch {
	case tx.By.Channel == ChannelSystem:
		return true, nil
	case !tx.By.IsPerson():
		return false, nil
	case u.ID == tx.By.UserID:
		return true, nil
	case !tx.By.Has(RoleAdmin):
		return false, nil
	}
	// They are or were a member here, and are active in no workspace that the admin does not administer.
	var here, beyond int64
	if err := tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id = ?", u.ID, tx.By.WorkspaceID).Count(&here).Error; err != nil || here == 0 {
		return false, err
	}
	err := tx.DB.Raw(`SELECT count(*) FROM memberships m WHERE m.user_id = ? AND m.active AND NOT EXISTS (
		SELECT 1 FROM membership_roles r JOIN memberships mine ON mine.user_id = r.user_id AND mine.workspace_id = r.workspace_id
		WHERE r.user_id = ? AND r.workspace_id = m.workspace_id AND r.role = ? AND mine.active)`, u.ID, tx.By.UserID, RoleAdmin).Row().Scan(&beyond)
	return beyond == 0, err
}

// tokenToChange reads a token that tx.By may end. What they may not see is NOT_FOUND.
func (tx *Tx) tokenToChange(id string) (Token, User, error) {
	missing := Missing("token", clip(id, 64))
	token, err := One[Token](tx, "SELECT * FROM tokens WHERE id = ?"+tx.ForChange(), id)
	if errors.Is(err, ErrNoRow) {
		return Token{}, User{}, missing
	}
	if err != nil {
		return Token{}, User{}, err
	}
	user, err := tx.User(token.UserID)
	if err != nil {
		return Token{}, User{}, err
	}
	may, err := tx.managesTokensOf(user)
	if err != nil || may {
		return token, user, err
	}
	// An admin sees the tokens of everybody here, and may be told why one is not theirs to end.
	var here int64
	if tx.By.IsPerson() && tx.By.Has(RoleAdmin) {
		if err := tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id = ?", user.ID, tx.By.WorkspaceID).Count(&here).Error; err != nil {
			return Token{}, User{}, err
		}
	}
	if here == 0 {
		return Token{}, User{}, missing
	}
	return Token{}, User{}, reachesBeyond(user)
}

func reachesBeyond(u User) error {
	return E(Unprocessable, fmt.Sprintf("%s works in a workspace too that you are no admin of, and the token reaches that as well. The operator of the desk can do it (apdesk token).", u.Name),
		map[string]any{"reason": "beyond_workspace"})
}

// IssueToken is CreateToken on the pages: for oneself, or by an admin for a service account. The token ends
// at the latest after MostTokenLife. It fails as CreateToken does, with VALIDATION_ERROR on /expires, and with
// UNPROCESSABLE_ENTITY for a person other than oneself and an account that works beyond the admin's workspaces.
func (tx *Tx) IssueToken(n NewToken, life time.Duration) (secret string, token Token, err error) {
	if err := tx.By.NeedPerson(); err != nil {
		return "", Token{}, err
	}
	if life < time.Hour || life > MostTokenLife {
		return "", Token{}, Invalid(Issue{"/expires", "must be one of the choices"})
	}
	user, err := tx.UserByEmail(n.UserEmail)
	if errors.Is(err, ErrNoRow) {
		return "", Token{}, Invalid(Issue{"/user", "must be you, or a service account of this workspace"})
	}
	if err != nil {
		return "", Token{}, err
	}
	if user.ID != tx.By.UserID {
		if err := tx.By.needEditor(RoleAdmin); err != nil {
			return "", Token{}, err
		}
		members, err := tx.Members(user.ID)
		if err != nil {
			return "", Token{}, err
		}
		if user.Kind != KindService || len(members) == 0 {
			return "", Token{}, Invalid(Issue{"/user", "must be you, or a service account of this workspace"})
		}
		may, err := tx.managesTokensOf(user)
		if err != nil {
			return "", Token{}, err
		}
		if !may {
			return "", Token{}, reachesBeyond(user)
		}
	}
	n.CreatedByID, n.ExpiresAt = tx.By.UserID, tx.Now.Add(life)
	return tx.CreateToken(n)
}

// RevokeToken ends a token at once and tells who holds it or answers for its account. It fails with
// NOT_FOUND, CONFLICT when it has ended already, and UNPROCESSABLE_ENTITY when it reaches beyond the admin's
// workspaces.
func (tx *Tx) RevokeToken(id string) (Token, error) {
	token, user, err := tx.tokenToChange(id)
	if err != nil {
		return Token{}, err
	}
	if !token.GoodAt(tx.Now) {
		return Token{}, E(Conflict, "This token has ended already.", map[string]any{"token_id": token.ID})
	}
	if _, err := tx.Exec("UPDATE tokens SET revoked_at = ? WHERE id = ?", tx.Now, token.ID); err != nil {
		return Token{}, err
	}
	tx.Notify(topicUser(user.ID))
	if err := tx.Unschedule(JobTokenExpiring, token.ID); err != nil {
		return Token{}, err
	}
	if err := tx.auditToken(user, token, "token.revoked", nil); err != nil {
		return Token{}, err
	}
	return token, tx.tellHolder(user, token, NoticeTokenRevoked, map[string]any{"by": tx.By.UserName})
}

// RotateToken makes a token that takes the place of another, with its name, scopes and length of life; the
// old one goes on for the overlap. It answers the new secret, which is kept nowhere. It fails as RevokeToken
// does, with CONFLICT when the token was rotated already, VALIDATION_ERROR on /overlap, and
// insufficient_permission for a token of another person.
func (tx *Tx) RotateToken(id string, overlap time.Duration) (secret string, token Token, err error) {
	if overlap < 0 || overlap > MostTokenOverlap {
		return "", Token{}, Invalid(Issue{"/overlap", fmt.Sprintf("must be between 0h and %.0fh", MostTokenOverlap.Hours())})
	}
	old, user, err := tx.tokenToChange(id)
	if err != nil {
		return "", Token{}, err
	}
	if tx.By.Channel != ChannelSystem && user.Kind != KindService && user.ID != tx.By.UserID {
		return "", Token{}, E(InsufficientPermission, "A token of another person is theirs and the operator's to rotate; an admin can revoke it.", map[string]any{"permission": "operator"})
	}
	if !old.GoodAt(tx.Now) || old.ReplacedByID != nil {
		return "", Token{}, E(Conflict, "This token has ended or was rotated already.", map[string]any{"token_id": old.ID})
	}
	n := NewToken{UserEmail: user.Email, Name: old.Name, Scopes: old.ScopeList(), CreatedByID: tx.By.UserID}
	if n.CreatedByID == "" && old.CreatedByID != nil { // by the operator: who made it stays who made it
		n.CreatedByID = *old.CreatedByID
	}
	if old.DefaultWorkspaceID != nil {
		n.DefaultWorkspace = *old.DefaultWorkspaceID
	}
	switch {
	case !old.ExpiresAt.IsZero():
		n.ExpiresAt = tx.Now.Add(max(old.ExpiresAt.Sub(old.CreatedAt.Time), 24*time.Hour))
	case tx.By.Channel != ChannelSystem:
		n.ExpiresAt = tx.Now.Add(MostTokenLife)
	}
	if secret, token, err = tx.CreateToken(n); err != nil {
		return "", Token{}, err
	}
	ends := tx.Now.Add(overlap)
	if !old.ExpiresAt.IsZero() && old.ExpiresAt.Before(ends.Time) {
		ends = old.ExpiresAt
	}
	if _, err := tx.Exec("UPDATE tokens SET replaced_by_id = ?, expires_at = ? WHERE id = ?", token.ID, ends, old.ID); err != nil {
		return "", Token{}, err
	}
	if err := tx.Unschedule(JobTokenExpiring, old.ID); err != nil {
		return "", Token{}, err
	}
	return secret, token, tx.auditToken(user, old, "token.rotated", map[string]any{"to": token.Prefix, "until": ends})
}

func (tx *Tx) auditToken(user User, token Token, action string, more map[string]any) error {
	var holder Identity
	if err := tx.identify(&holder, user.ID); err != nil {
		if errors.Is(err, ErrNoRow) {
			return nil // deactivated: on no trail now
		}
		return err
	}
	data := map[string]any{"user": user.Email, "name": token.Name, "prefix": token.Prefix}
	for k, v := range more {
		data[k] = v
	}
	return tx.auditEverywhere(holder, action, data)
}

// warnLater plans that somebody is told before a token ends; one that lives too short for that is not.
func (tx *Tx) warnLater(token Token) error {
	at := token.ExpiresAt.Add(-TokenWarning)
	if token.ExpiresAt.IsZero() || !tx.Now.Before(at.Time) {
		return nil
	}
	return tx.Schedule(JobTokenExpiring, token.ID, at)
}

// warnOfToken tells who holds a token that it ends soon, unless it was revoked or rotated meanwhile.
func warnOfToken(tx *Tx, job Job) error {
	token, err := One[Token](tx, "SELECT * FROM tokens WHERE id = ?", job.Subject)
	if errors.Is(err, ErrNoRow) || (err == nil && (!token.GoodAt(tx.Now) || token.ReplacedByID != nil)) {
		return nil
	}
	if err != nil {
		return err
	}
	user, err := tx.User(token.UserID)
	if err != nil {
		return err
	}
	return tx.tellHolder(user, token, NoticeTokenExpiring, map[string]any{"until": token.ExpiresAt.Format(time.DateOnly)})
}

// tellHolder puts a notice about a token before the person it is of or who answers for its account, once: in
// the token's own workspace, else in the first that both work in. Who does it themself is told nothing.
func (tx *Tx) tellHolder(user User, token Token, kind NoticeKind, data map[string]any) error {
	holder := user.ID
	if user.OwnerID != nil {
		holder = *user.OwnerID
	}
	if holder == tx.By.UserID {
		return nil
	}
	var who, account Identity
	for _, one := range []struct {
		id   string
		into *Identity
	}{{holder, &who}, {user.ID, &account}} {
		if err := tx.identify(one.into, one.id); err != nil {
			if errors.Is(err, ErrNoRow) {
				return nil // nobody is there to be told
			}
			return err
		}
	}
	reach := account.Reachable()
	if token.DefaultWorkspaceID != nil {
		reach = append([]string{*token.DefaultWorkspaceID}, reach...)
	}
	for _, ws := range reach {
		if !slices.Contains(who.Reachable(), ws) {
			continue
		}
		by := tx.By
		defer func() { tx.By = by }()
		tx.By.WorkspaceID = ws
		told := map[string]any{"name": token.Name, "prefix": token.Prefix, "holder": user.Name}
		for k, v := range data {
			told[k] = v
		}
		return tx.Tell(kind, token.ID, told, holder)
	}
	return nil
}

// uses remembers which tokens were used, so that no call waits for that to be written.
type uses struct {
	mu      sync.Mutex
	pending map[string]Time
	noted   map[string]Time // when the use last written or waiting was
	wake    chan struct{}
}

func newUses() *uses {
	return &uses{pending: map[string]Time{}, noted: map[string]Time{}, wake: make(chan struct{}, 1)}
}

// note takes down a use, at most once in lastUsedEvery for each token.
func (u *uses) note(id string, now Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, known := u.noted[id]; known && now.Sub(last.Time) <= lastUsedEvery {
		return
	}
	u.noted[id], u.pending[id] = now, now
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// take answers what waits to be written, and forgets tokens that have not been used for a while.
func (u *uses) take(now Time) map[string]Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting := u.pending
	u.pending = map[string]Time{}
	for id, at := range u.noted {
		if now.Sub(at.Time) > 2*lastUsedEvery {
			delete(u.noted, id)
		}
	}
	return waiting
}

// put gives back what could not be written.
func (u *uses) put(waiting map[string]Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range waiting {
		if _, later := u.pending[id]; !later {
			u.pending[id] = at
		}
	}
}

// keepUses writes the last uses of tokens until ctx ends. What cannot be written waits for the next use.
func (s *Store) keepUses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = s.writeUses(last)
			return
		case <-s.uses.wake:
			if err := s.writeUses(ctx); err != nil && ctx.Err() == nil {
				s.log.DebugContext(ctx, "last uses of tokens not written", "cause", err)
			}
		}
	}
}

func (s *Store) writeUses(ctx context.Context) error {
	used := s.uses.take(s.Now())
	if len(used) == 0 {
		return nil
	}
	ids := make([]string, 0, len(used))
	for id := range used {
		ids = append(ids, id)
	}
	slices.Sort(ids) // in one order, so that two replicas never wait for each other
	err := s.InTx(ctx, Principal{}, func(tx *Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec("UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", used[id], id, used[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.uses.put(used)
	}
	return err
}
