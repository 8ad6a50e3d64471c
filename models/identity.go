package models

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
)

// HashSecret is the form in which tokens and session secrets are kept. They carry enough randomness
// of their own that a plain hash suffices.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Identity is a user who proved who they are, before a workspace is chosen.
type Identity struct {
	User        User
	Token       *Token       // nil in a web session and with an OAuth access token
	OAuth       *OAuthToken  // nil but with an OAuth access token
	Memberships []Membership // of existing workspaces, by workspace id
	Session     *Session     // nil with a token

	access int64 // see Principal
}

// OAuthToken is what an access token of the configured issuer says about itself. There is no row for it,
// and it never holds the token.
type OAuthToken struct {
	ID       string // the issuer's own name for the token; may be empty
	Subject  string // whom the issuer gave it to
	ClientID string // the program that got it; may be empty
	Scopes   []Scope
}

// ref is how the trail names the token.
func (t OAuthToken) ref() string {
	if t.ID == "" {
		return "oauth"
	}
	return "oauth:" + clip(t.ID, 200)
}

func (t OAuthToken) name() string {
	if t.ClientID == "" {
		return "oauth client"
	}
	return "oauth client " + clip(t.ClientID, 200)
}

// Session is a person's signed-in browser. Its id is the hash of the cookie's secret.
type Session struct {
	ID          string `gorm:"primaryKey"`
	UserID      string
	WorkspaceID *string // last chosen on the pages
	CreatedAt   Time
	LastSeenAt  Time
	ExpiresAt   Time
	UserAgent   string
	Address     string // where they signed in from
	SignedInBy  Factor `gorm:"default:password"`
	// SteppedUpAt is when the person last confirmed that it is them; see Principal.
	SteppedUpAt  Time
	SteppedUpHow Factor
}

// Session life: absolute, and without use. The operator can set others; see SetSessionLimits.
const (
	SessionLife = 7 * 24 * time.Hour
	SessionIdle = 8 * time.Hour
)

const lastUsedEvery = time.Minute // how exact a token's or session's last use is kept

// IdentityByToken finds who holds a bearer token. An unknown, expired or revoked token, or one of a
// deactivated user, is unauthenticated.
func (s *Store) IdentityByToken(ctx context.Context, secret string) (Identity, error) {
	if secret == "" {
		return Identity{}, noSuchToken()
	}
	return s.identityOfToken(ctx, "t.hash", HashSecret(secret))
}

func noSuchToken() *NamedError {
	return E(Unauthenticated, "The token is missing, unknown, expired or revoked.", nil)
}

func (s *Store) identityOfToken(ctx context.Context, key, value string) (Identity, error) {
	id, err := s.readToken(ctx, credential{key, value})
	if err == nil && (!id.Token.RevokedAt.IsZero() || (!id.Token.ExpiresAt.IsZero() && !s.Now().Before(id.Token.ExpiresAt.Time))) {
		err = ErrNoRow
	}
	if errors.Is(err, ErrNoRow) {
		return Identity{}, noSuchToken()
	}
	if err != nil {
		return Identity{}, err
	}
	if now := s.Now(); now.Sub(id.Token.LastUsedAt.Time) > lastUsedEvery {
		s.uses.note(id.Token.ID, now)
	}
	return id, nil
}

// readToken finds a token and its holder, in memory or in the database; see access.
func (s *Store) readToken(ctx context.Context, by credential) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	state, err := s.accessState(ctx)
	if err != nil {
		return Identity{}, translate(err)
	}
	if id, ok := s.access.identity(state, by); ok {
		return id, nil
	}
	var t Token
	id := Identity{Token: &t}
	err = s.identifyBy(ctx, &id, "a.n, t.id, t.hash, t.name, t.prefix, t.scopes, t.default_workspace_id, t.created_by_id, t.created_at, t.expires_at, t.revoked_at, t.last_used_at",
		"tokens t JOIN users u ON u.id = t.user_id JOIN access_changes a ON 1 = 1", by.key, by.value,
		&state, &t.ID, &t.Hash, &t.Name, &t.Prefix, &t.Scopes, &t.DefaultWorkspaceID, &t.CreatedByID, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt, &t.LastUsedAt)
	if err != nil {
		return Identity{}, err
	}
	t.UserID, id.access = id.User.ID, state
	s.access.keep(state, by, id)
	return id, nil
}

// Await is Hub.Wait for a call that came with a token. Before it looks again it finds out anew who calls and what
// they may do, as a new call would: it fails with unauthenticated once the token was revoked or ran out, and as As
// does once the workspace is out of reach.
func (s *Store) Await(ctx context.Context, by Principal, wait time.Duration, topic string, read func(by Principal) (done bool, err error)) error {
	first := true
	return s.hub.Wait(ctx, wait, []string{topic, topicUser(by.UserID)}, func() (bool, error) {
		if !first {
			now, err := s.again(ctx, by)
			if err != nil {
				return false, err
			}
			by = now
		}
		first = false
		return read(by)
	})
}

// again is who acts with the same credential now.
func (s *Store) again(ctx context.Context, by Principal) (Principal, error) {
	if by.UserID == "" {
		return by, nil // the desk itself
	}
	if strings.HasPrefix(by.TokenID, PrefixToken+"_") {
		id, err := s.identityOfToken(ctx, "t.id", by.TokenID)
		if err != nil {
			return by, err
		}
		return id.As(by.WorkspaceID, by.Channel, by.RequestID)
	}
	// A session, or an access token, which says by itself how long it is good: its holder is looked at.
	var id Identity
	var userID string
	if err := s.identifyBy(ctx, &id, "u.id", "users u", "u.id", by.UserID, &userID); errors.Is(err, ErrNoRow) {
		return by, noSuchToken()
	} else if err != nil {
		return by, err
	}
	now, err := id.As(by.WorkspaceID, by.Channel, by.RequestID)
	now.Scopes, now.TokenID, now.TokenName, now.TokenBy = by.Scopes, by.TokenID, by.TokenName, by.TokenBy
	now.SteppedUpAt, now.SteppedUpHow = by.SteppedUpAt, by.SteppedUpHow
	return now, err
}

// touch notes that a credential was used. A database that takes no writes can be read still, so that stops
// nobody.
func (s *Store) touch(ctx context.Context, fn func(*Tx) error) error {
	if s.broken.Load() {
		return nil
	}
	err := s.InTx(ctx, Principal{}, fn)
	if IsCode(err, Unavailable) {
		return nil // told by learn
	}
	return err
}

// identifyBy reads a credential with its active user and their memberships in one statement, since it comes
// before every call; and anew before every call, so that what was revoked is refused from that moment.
func (s *Store) identifyBy(ctx context.Context, id *Identity, columns, from, key, value string, credential ...any) error {
	ctx, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, s.places("SELECT "+columns+`, u.id, u.kind, u.email, u.name, u.time_zone, u.password_hash, u.owner_id, u.active, u.created_at,
		m.workspace_id, m.active, m.created_at, r.role FROM `+from+` LEFT JOIN memberships m ON m.user_id = u.id
		LEFT JOIN membership_roles r ON r.user_id = m.user_id AND r.workspace_id = m.workspace_id
		WHERE `+key+" = ? ORDER BY m.workspace_id, r.role"), value)
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	var workspace, role sql.NullString
	var active sql.NullBool
	var since Time
	u := &id.User
	into := append(credential, &u.ID, &u.Kind, &u.Email, &u.Name, &u.TimeZone, &u.PasswordHash, &u.OwnerID, &u.Active, &u.CreatedAt, &workspace, &active, &since, &role)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return translate(err)
		}
		if !workspace.Valid {
			continue
		}
		if n := len(id.Memberships); n == 0 || id.Memberships[n-1].WorkspaceID != workspace.String {
			id.Memberships = append(id.Memberships, Membership{UserID: u.ID, WorkspaceID: workspace.String, Active: active.Bool, CreatedAt: since})
		}
		if role.Valid {
			m := &id.Memberships[len(id.Memberships)-1]
			m.Roles = append(m.Roles, Role(role.String))
		}
	}
	if err := rows.Err(); err != nil {
		return translate(err)
	}
	if !u.Active {
		return ErrNoRow
	}
	return nil
}

// identify fills in an active user and the memberships.
func (tx *Tx) identify(id *Identity, userID string) error {
	user, err := tx.User(userID)
	if err != nil {
		return err
	}
	if !user.Active {
		return ErrNoRow
	}
	id.User = user
	if err := tx.DB.Where("user_id = ?", userID).Order("workspace_id").Find(&id.Memberships).Error; err != nil {
		return err
	}
	var roles []membershipRole
	if err := tx.DB.Where("user_id = ?", userID).Order("role").Find(&roles).Error; err != nil {
		return err
	}
	for i := range id.Memberships {
		for _, r := range roles {
			if r.WorkspaceID == id.Memberships[i].WorkspaceID {
				id.Memberships[i].Roles = append(id.Memberships[i].Roles, r.Role)
			}
		}
	}
	return nil
}

// IdentityByOAuth finds the active user with the e-mail for whom an access token was verified. Nobody, or
// somebody deactivated, is unauthenticated.
func (s *Store) IdentityByOAuth(ctx context.Context, email string, token OAuthToken) (Identity, error) {
	id := Identity{OAuth: &token}
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		user, err := tx.UserByEmail(email)
		if err != nil {
			return err
		}
		return tx.identify(&id, user.ID)
	})
	if errors.Is(err, ErrNoRow) {
		return Identity{}, E(Unauthenticated, "The access token belongs to nobody who may use the desk.", nil)
	}
	return id, err
}

// Scopes are the token's; nil in a web session.
func (id Identity) Scopes() []Scope {
	if id.OAuth != nil {
		return id.OAuth.Scopes
	}
	if id.Token == nil {
		return nil
	}
	var scopes []Scope
	for _, s := range strings.Split(id.Token.Scopes, ",") {
		scopes = append(scopes, Scope(s))
	}
	return scopes
}

// Kinds of credential, as logs name them.
const (
	TokenPersonal = "personal"
	TokenOAuth    = "oauth"
	TokenNone     = "none" // a web session
)

// TokenType says what kind of token the identity was proved with.
func (id Identity) TokenType() string {
	switch {
	case id.OAuth != nil:
		return TokenOAuth
	case id.Token != nil:
		return TokenPersonal
	}
	return TokenNone
}

// TokenName is the token in words; empty in a web session.
func (id Identity) TokenName() string {
	switch {
	case id.OAuth != nil:
		return id.OAuth.name()
	case id.Token != nil:
		return id.Token.Name
	}
	return ""
}

// Reachable lists the ids of workspaces with an active membership.
func (id Identity) Reachable() []string {
	var ids []string
	for _, m := range id.Memberships {
		if m.Active {
			ids = append(ids, m.WorkspaceID)
		}
	}
	sort.Strings(ids)
	return ids
}

// As is the principal acting in one workspace. A workspace that does not exist and one out of reach
// both are workspace_access_denied; a membership switched off is membership_inactive.
func (id Identity) As(workspaceID string, channel Channel, requestID string) (Principal, error) {
	for _, m := range id.Memberships {
		if m.WorkspaceID != workspaceID {
			continue
		}
		if !m.Active {
			return Principal{}, E(MembershipInactive, fmt.Sprintf("The membership of %s in workspace %s is switched off. An admin of the workspace can switch it on.",
				id.User.Name, workspaceID), map[string]any{"workspace_id": workspaceID})
		}
		p := Principal{UserID: id.User.ID, UserName: id.User.Name, Email: id.User.Email, Kind: id.User.Kind, TimeZone: id.User.TimeZone,
			WorkspaceID: workspaceID, Roles: m.Roles, Scopes: id.Scopes(), Channel: channel, RequestID: requestID, access: id.access}
		if id.User.OwnerID != nil {
			p.OwnerID = *id.User.OwnerID
		}
		if id.OAuth != nil {
			p.TokenID, p.TokenName = id.OAuth.ref(), id.TokenName()
		}
		if id.Session != nil {
			p.SteppedUpAt, p.SteppedUpHow = id.Session.SteppedUpAt, id.Session.SteppedUpHow
		}
		if id.Token != nil {
			p.TokenID, p.TokenName = id.Token.ID, id.TokenName()
			if id.Token.CreatedByID != nil {
				p.TokenBy = *id.Token.CreatedByID
			}
		}
		return p, nil
	}
	return Principal{}, accessDenied(workspaceID)
}

func accessDenied(workspaceID string) *NamedError {
	return E(WorkspaceAccessDenied, fmt.Sprintf("Workspace %q does not exist or this caller cannot reach it. Call list_workspaces and use one of those.", workspaceID),
		map[string]any{"workspace_id": workspaceID})
}

// ChooseWorkspace says which workspace a call is about: the argument, else the header, else the
// query, else the token's default, else the only one reachable, else workspace_required. A header or
// query that cannot be reached refuses the call even with a good argument.
func (id Identity) ChooseWorkspace(argument, header, query string) (string, error) {
	for _, named := range []string{header, query} {
		if named == "" {
			continue
		}
		if _, err := id.As(named, "", ""); err != nil {
			return "", err
		}
	}
	for _, named := range []string{argument, header, query} {
		if named != "" {
			return named, nil
		}
	}
	if id.Token != nil && id.Token.DefaultWorkspaceID != nil {
		return *id.Token.DefaultWorkspaceID, nil
	}
	reachable := id.Reachable()
	if len(reachable) == 1 {
		return reachable[0], nil
	}
	if len(reachable) == 0 && len(id.Memberships) == 1 {
		return id.Memberships[0].WorkspaceID, nil
	}
	return "", E(WorkspaceRequired, "Several workspaces can be reached. Call list_workspaces, then repeat this call with a workspace_id.",
		map[string]any{"workspaces": reachable})
}

// WorkspacesOf lists the workspaces an identity reaches.
func (s *Store) WorkspacesOf(ctx context.Context, id Identity) ([]Workspace, error) {
	var list []Workspace
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		return tx.DB.Where("id IN ?", append(id.Reachable(), "")).Order("id").Find(&list).Error
	})
	return list, err
}

// decoyHash makes a sign-in with an unknown e-mail take as long as one with a wrong password.
var decoyHash = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash("a password nobody has", argon2id.DefaultParams)
	if err != nil {
		panic("models: no randomness: " + err.Error())
	}
	return hash
})

// SignIn checks a password and opens a session; secret is the cookie's value. For a person with a passkey
// there is no session in id yet: secret then is for FinishSignIn. Wrong e-mail and wrong password look the
// same (unauthenticated), to the clock too; too many failures are RATE_LIMITED; without an active membership
// the right password is membership_inactive. devices are those that the browser says it is known as.
func (s *Store) SignIn(ctx context.Context, email, password, address, userAgent string, devices ...KnownDevice) (secret string, id Identity, err error) {
	user, counted, err := s.checkPassword(ctx, email, password, address, devices)
	if err != nil {
		return "", Identity{}, err
	}
	secret = Secret(s.ids.random, 32)
	err = s.InTx(ctx, Principal{UserID: user.ID, UserName: user.Name, Channel: ChannelWeb}, func(tx *Tx) error {
		if err := tx.succeeded(counted); err != nil {
			return err
		}
		if half, err := tx.awaitsPasskey(user, secret, address, userAgent); err != nil || half {
			id = Identity{User: user}
			return err
		}
		id, err = tx.openSession(user, secret, address, userAgent, FactorPassword, nil)
		return err
	})
	return secret, id, err
}

// checkPassword finds the person whose e-mail and password these are. The attempt stays counted until
// succeeded is given what it answers.
func (s *Store) checkPassword(ctx context.Context, email, password, address string, devices []KnownDevice) (user User, counted []signInLimit, err error) {
	email = strings.ToLower(strings.TrimSpace(email))
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		var err error
		user, err = tx.UserByEmail(email)
		return err
	})
	if err != nil && !errors.Is(err, ErrNoRow) {
		return User{}, nil, err
	}
	var reached []signInLimit
	err = s.InTx(ctx, Principal{}, func(tx *Tx) error {
		counted = attempt{email: email, address: address, device: knownFor(user, devices)}.rows()
		var err error
		reached, err = tx.count(counted)
		return err
	})
	if err != nil {
		return User{}, nil, err
	}
	hash := user.PasswordHash
	if hash == "" {
		hash = decoyHash()
	}
	match, cmpErr := comparePassword(ctx, password, hash)
	if cmpErr != nil || !match || user.PasswordHash == "" || user.PasswordOff || !user.Active || user.Kind != KindPerson {
		if ctx.Err() != nil {
			return User{}, nil, ctx.Err()
		}
		if err := s.recordFailure(ctx, user, email, address, counted, reached); err != nil {
			return User{}, nil, err
		}
		return User{}, nil, E(Unauthenticated, "E-mail or password is not right.", nil)
	}
	return user, counted, nil
}

// auditEverywhere records what a person did outside any one workspace on the trail of each.
func (tx *Tx) auditEverywhere(id Identity, action string, data map[string]any) error {
	by := tx.By
	defer func() { tx.By = by }()
	for _, ws := range id.Reachable() {
		tx.By.WorkspaceID = ws
		if err := tx.Audit(action, Ref{Subject: id.User.ID}, data); err != nil {
			return err
		}
	}
	return nil
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// recordFailure puts a failed sign-in of a known person on the trails of their workspaces, and the limits
// it reached. For somebody unknown it writes too, so that both take as long.
func (s *Store) recordFailure(ctx context.Context, user User, email, address string, counted, reached []signInLimit) error {
	return s.InTx(ctx, Principal{UserID: user.ID, UserName: clip(email, MaxEmail), Channel: ChannelWeb}, func(tx *Tx) error {
		id := Identity{}
		err := ErrNoRow
		if user.ID != "" {
			err = tx.identify(&id, user.ID)
		}
		if errors.Is(err, ErrNoRow) {
			_, err := tx.Exec("UPDATE sign_in_limits SET last_at = ? WHERE subject = ?", tx.Now, counted[len(counted)-1].Subject)
			return err
		}
		if err != nil {
			return err
		}
		if err := tx.auditEverywhere(id, "person.sign_in_failed", map[string]any{"address": address}); err != nil {
			return err
		}
		return tx.locked(id, reached)
	})
}

// hashing bounds how many passwords are checked at once: each takes 64 MB and a core.
var hashing = make(chan struct{}, max(2, runtime.NumCPU()))

func comparePassword(ctx context.Context, password, hash string) (bool, error) {
	normal := NormalPassword(password)
	// What is too long to be a password takes as long as one that is not.
	if len(normal) > 4*MaxPassword || len(password) > 16*MaxPassword {
		password, normal = "", ""
	}
	select {
	case hashing <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() {
		<-hashing
		giveBack()
	}()
	match, err := argon2id.ComparePasswordAndHash(normal, hash)
	if err == nil && !match && normal != password {
		match, err = argon2id.ComparePasswordAndHash(password, hash) // set before passwords were normalised
	}
	return match, err
}

// giveBack returns the memory of a password's hash once none is checked. The collector would take its 64 MB
// for what the desk needs, and wait for twice as much before it looks again.
func giveBack() {
	if len(hashing) == 0 {
		go debug.FreeOSMemory()
	}
}

// IdentityBySession finds who a session's cookie belongs to. An unknown or expired session is
// unauthenticated.
func (s *Store) IdentityBySession(ctx context.Context, secret string) (Identity, error) {
	refused := E(Unauthenticated, "You are not signed in, or your session has ended.", nil)
	if secret == "" {
		return Identity{}, refused
	}
	session := Session{ID: HashSecret(secret)}
	id := Identity{Session: &session}
	err := s.identifyBy(ctx, &id, "s.workspace_id, s.created_at, s.last_seen_at, s.expires_at, s.user_agent, s.signed_in_by, s.stepped_up_at, s.stepped_up_how", "sessions s JOIN users u ON u.id = s.user_id", "s.id", session.ID,
		&session.WorkspaceID, &session.CreatedAt, &session.LastSeenAt, &session.ExpiresAt, &session.UserAgent, &session.SignedInBy, &session.SteppedUpAt, &session.SteppedUpHow)
	session.UserID = id.User.ID
	if err == nil && !s.alive(session) {
		err = ErrNoRow
	}
	if errors.Is(err, ErrNoRow) {
		return Identity{}, refused
	}
	if err != nil {
		return Identity{}, err
	}
	if s.Now().Sub(id.Session.LastSeenAt.Time) > lastUsedEvery {
		err = s.touch(ctx, func(tx *Tx) error {
			return tx.DB.Model(&Session{}).Where("id = ?", id.Session.ID).Update("last_seen_at", tx.Now).Error
		})
	}
	return id, err
}

// SignOut ends a session.
func (s *Store) SignOut(ctx context.Context, id Identity) error {
	return s.InTx(ctx, Principal{UserID: id.User.ID, UserName: id.User.Name, Channel: ChannelWeb}, func(tx *Tx) error {
		if err := tx.DB.Where("id = ?", id.Session.ID).Delete(&Session{}).Error; err != nil {
			return err
		}
		return tx.auditEverywhere(id, "person.signed_out", nil)
	})
}

// SelectWorkspace remembers which workspace the pages of a session show.
func (s *Store) SelectWorkspace(ctx context.Context, id Identity, workspaceID string) error {
	if _, err := id.As(workspaceID, ChannelWeb, ""); err != nil {
		return err
	}
	return s.InTx(ctx, Principal{}, func(tx *Tx) error {
		return tx.DB.Model(&Session{}).Where("id = ?", id.Session.ID).Update("workspace_id", workspaceID).Error
	})
}

// SessionAlive says whether a session goes on. Asking is no activity of its person.
func (s *Store) SessionAlive(ctx context.Context, sessionID string) (bool, error) {
	// One statement, since every change is told to every open page, and each asks this first.
	ctx, cancel := context.WithTimeout(ctx, acquireTime)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, s.places("SELECT last_seen_at, expires_at FROM sessions WHERE id = ?"), sessionID)
	if err != nil {
		return false, translate(err)
	}
	var session Session
	if err := firstRow(rows, &session.LastSeenAt, &session.ExpiresAt); err != nil {
		if errors.Is(err, ErrNoRow) {
			err = nil
		}
		return false, translate(err)
	}
	return s.alive(session), nil
}
