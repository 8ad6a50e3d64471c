package models

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm/clause"
)

// User is a person, or a service account, which cannot sign in to pages.
type User struct {
	ID           string `gorm:"primaryKey"`
	Kind         UserKind
	Email        string // lower case
	Name         string
	TimeZone     string // empty: the workspace's
	PasswordHash string
	OwnerID      *string // responsible person of a service account
	Active       bool
	// PasswordOff says that the person signs in through the identity provider only.
	PasswordOff bool
	CreatedAt   Time
}

// Membership is a user's place in one workspace.
type Membership struct {
	UserID      string `gorm:"primaryKey"`
	WorkspaceID string `gorm:"primaryKey"`
	Active      bool
	// OffByProvider says that the groups at the identity provider ended it, and can begin it again.
	OffByProvider bool
	CreatedAt     Time
	Roles         []Role `gorm:"-"`
}

type membershipRole struct {
	UserID      string `gorm:"primaryKey"`
	WorkspaceID string `gorm:"primaryKey"`
	Role        Role   `gorm:"primaryKey"`
}

func (membershipRole) TableName() string { return "membership_roles" }

// Token is a bearer credential of a user; only its hash is kept.
type Token struct {
	ID                 string `gorm:"primaryKey"`
	UserID             string
	Name               string
	Prefix             string // the visible start, to recognise it by
	Hash               string
	Scopes             string
	DefaultWorkspaceID *string
	CreatedByID        *string // nil: the operator
	CreatedAt          Time
	ExpiresAt          Time
	RevokedAt          Time
	LastUsedAt         Time
	ReplacedByID       *string // the token that took its place when it was rotated
}

// NormaliseEmail checks and lowers an e-mail address.
func NormaliseEmail(s string) (string, error) {
	a, err := mail.ParseAddress(strings.TrimSpace(s))
	if err != nil || a.Name != "" || !strings.Contains(a.Address, "@") {
		return "", errors.New("must be an e-mail address")
	}
	return strings.ToLower(a.Address), nil
}

// NewUser is what CreateUser needs.
type NewUser struct {
	Email, Name  string
	TimeZone     string
	Roles        []Role
	Service      bool
	OwnerEmail   string // of a service account's responsible person
	PasswordHash string
}

// CreateUser adds a user with a membership of the workspace acted in. For a known e-mail it adds the
// membership or its roles and changes nothing else. It answers whether the user is new.
func (tx *Tx) CreateUser(n NewUser) (User, bool, error) {
	var issues []Issue
	email, err := NormaliseEmail(n.Email)
	if err != nil {
		issues = append(issues, Issue{"/email", err.Error()})
	}
	if len(n.Roles) == 0 {
		issues = append(issues, Issue{"/role", "must name at least one role"})
	}
	for _, r := range n.Roles {
		if !r.Valid() {
			issues = append(issues, Issue{"/role", fmt.Sprintf("%q is no role; roles are %s", r, joinRoles(Roles()))})
		}
	}
	if n.TimeZone != "" {
		if _, err := time.LoadLocation(n.TimeZone); err != nil {
			issues = append(issues, Issue{"/time_zone", "must be an IANA time zone such as Europe/Berlin"})
		}
	}
	if n.Service && n.PasswordHash != "" {
		issues = append(issues, Issue{"/password", "a service account has none; it works with tokens"})
	}
	if len(issues) > 0 {
		return User{}, false, Invalid(issues...)
	}
	if err := tx.lockPeople(); err != nil {
		return User{}, false, err
	}
	user, err := tx.UserByEmail(email)
	isNew := errors.Is(err, ErrNoRow)
	if err != nil && !isNew {
		return User{}, false, err
	}
	if isNew {
		if user, err = tx.addUser(n, email); err != nil {
			return User{}, false, err
		}
	}
	m := Membership{UserID: user.ID, WorkspaceID: tx.By.WorkspaceID, Active: true, CreatedAt: tx.Now}
	joined := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&m)
	if joined.Error != nil {
		return User{}, false, joined.Error
	}
	if joined.RowsAffected == 0 {
		m, err := tx.readMember(user.ID)
		if err != nil {
			return User{}, false, err
		}
		if !m.Active { // roles must not grow unseen on somebody who was sent away
			return User{}, false, E(Conflict, fmt.Sprintf("%s was deactivated in workspace %s. Reactivate them instead.", user.Email, tx.By.WorkspaceID),
				map[string]any{"user_id": user.ID})
		}
	}
	if err := tx.addRoles(user.ID, n.Roles); err != nil {
		return User{}, false, err
	}
	err = tx.Audit("membership.added", Ref{Subject: user.ID}, map[string]any{"email": user.Email, "name": user.Name, "roles": n.Roles, "new_user": isNew})
	if err != nil {
		return User{}, false, err
	}
	return user, isNew, tx.peopleChanged(user.ID)
}

func (tx *Tx) addRoles(userID string, roles []Role) error {
	for _, r := range roles {
		row := membershipRole{UserID: userID, WorkspaceID: tx.By.WorkspaceID, Role: r}
		if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
	}
	return nil
}

// maxKnownName is the longest name the operator or a provider gives somebody, in characters.
const maxKnownName = 255

func (tx *Tx) addUser(n NewUser, email string) (User, error) {
	name, why := NeededLine(n.Name, maxKnownName, "must not be empty for a new user")
	if why != "" {
		return User{}, Invalid(Issue{"/name", why})
	}
	u := User{ID: tx.NewID(PrefixUser), Kind: KindPerson, Email: email, Name: name, TimeZone: n.TimeZone,
		PasswordHash: n.PasswordHash, Active: true, CreatedAt: tx.Now}
	if n.Service {
		u.Kind = KindService
		ownerEmail, err := NormaliseEmail(n.OwnerEmail)
		if err != nil {
			return User{}, Invalid(Issue{"/owner", "must be the e-mail of the responsible person"})
		}
		owner, err := tx.UserByEmail(ownerEmail)
		if errors.Is(err, ErrNoRow) || (err == nil && owner.Kind != KindPerson) {
			return User{}, Invalid(Issue{"/owner", "must be the e-mail of a person the desk knows"})
		}
		if err != nil {
			return User{}, err
		}
		u.OwnerID = &owner.ID
	}
	return u, tx.DB.Create(&u).Error
}

func joinRoles(roles []Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// UserByEmail finds a user; ErrNoRow when there is none.
func (tx *Tx) UserByEmail(email string) (User, error) {
	var u User
	known, err := NormaliseEmail(email)
	if err != nil {
		known = strings.ToLower(strings.TrimSpace(email))
	}
	err = tx.DB.Where("email = ?", known).Take(&u).Error
	return u, err
}

// User finds a user by id; ErrNoRow when there is none.
func (tx *Tx) User(id string) (User, error) {
	var u User
	err := tx.DB.Where("id = ?", id).Take(&u).Error
	return u, err
}

// Member is an active user with an active membership of the workspace acted in.
type Member struct {
	User  User
	Roles []Role
}

// Has says whether the member holds one of the roles.
func (m Member) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(m.Roles, r) })
}

// Members lists the active members of the workspace acted in by name, all or only those named.
func (tx *Tx) Members(userIDs ...string) ([]Member, error) {
	named, args := amongUsers("m.user_id", tx.By.WorkspaceID, userIDs)
	users, err := All[User](tx, "SELECT u.* FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = ? AND m.active AND u.active"+named+" ORDER BY u.name, u.id", args...)
	if err != nil {
		return nil, err
	}
	roles, err := tx.rolesOf(userIDs...)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(users))
	for i, u := range users {
		members[i] = Member{User: u, Roles: roles[u.ID]}
	}
	return members, nil
}

// amongUsers narrows a SELECT that begins with the workspace to some users; none named are all.
func amongUsers(column, workspaceID string, userIDs []string) (condition string, args []any) {
	args = []any{workspaceID}
	if len(userIDs) == 0 {
		return "", args
	}
	for _, id := range userIDs {
		args = append(args, id)
	}
	return " AND " + column + " IN (?" + strings.Repeat(", ?", len(userIDs)-1) + ")", args
}

func (tx *Tx) rolesOf(userIDs ...string) (map[string][]Role, error) {
	named, args := amongUsers("user_id", tx.By.WorkspaceID, userIDs)
	rows, err := All[membershipRole](tx, "SELECT user_id, role FROM membership_roles WHERE workspace_id = ?"+named+" ORDER BY role", args...)
	if err != nil {
		return nil, err
	}
	roles := map[string][]Role{}
	for _, r := range rows {
		roles[r.UserID] = append(roles[r.UserID], r.Role)
	}
	return roles, nil
}

// NewToken is what CreateToken needs.
type NewToken struct {
	UserEmail        string
	Name             string
	Scopes           []Scope
	DefaultWorkspace string
	ExpiresAt        Time
	CreatedByID      string // empty: the operator
}

// TokenPrefix starts every personal token.
const TokenPrefix = "apd_"

// CreateToken makes a personal token and answers its secret, which is kept nowhere.
func (tx *Tx) CreateToken(n NewToken) (secret string, token Token, err error) {
	var issues []Issue
	name, why := checkedName(n.Name, MaxName)
	if n.Name = name; why != "" {
		issues = append(issues, Issue{"/name", why})
	}
	if len(n.Scopes) == 0 {
		issues = append(issues, Issue{"/scope", "must name at least one scope"})
	}
	names := make([]string, len(n.Scopes))
	for i, s := range n.Scopes {
		names[i] = string(s)
		if !s.Valid() {
			issues = append(issues, Issue{"/scope", fmt.Sprintf("%q is no scope; scopes are %s", s, joinScopes(Scopes()))})
		}
	}
	user, err := tx.UserByEmail(n.UserEmail)
	if errors.Is(err, ErrNoRow) {
		issues = append(issues, Issue{"/user", "no user has this e-mail"})
	} else if err != nil {
		return "", Token{}, err
	}
	if len(issues) > 0 {
		return "", Token{}, Invalid(issues...)
	}
	if n.DefaultWorkspace != "" {
		var m int64
		err := tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id = ? AND active", user.ID, n.DefaultWorkspace).Count(&m).Error
		if err != nil {
			return "", Token{}, err
		}
		if m == 0 {
			return "", Token{}, Invalid(Issue{"/workspace", fmt.Sprintf("%s is no member of workspace %s", user.Email, n.DefaultWorkspace)})
		}
	}
	secret = TokenPrefix + Secret(tx.store.ids.random, 25)
	token = Token{ID: tx.NewID(PrefixToken), UserID: user.ID, Name: n.Name, Prefix: secret[:len(TokenPrefix)+6], Hash: HashSecret(secret),
		Scopes: strings.Join(names, ","), CreatedAt: tx.Now, ExpiresAt: n.ExpiresAt}
	if n.DefaultWorkspace != "" {
		token.DefaultWorkspaceID = &n.DefaultWorkspace
	}
	if n.CreatedByID != "" {
		token.CreatedByID = &n.CreatedByID
	}
	if err := tx.DB.Create(&token).Error; err != nil {
		return "", Token{}, err
	}
	if err := tx.warnLater(token); err != nil {
		return "", Token{}, err
	}
	var holder Identity
	if err := tx.identify(&holder, user.ID); err != nil {
		return "", Token{}, err
	}
	return secret, token, tx.auditEverywhere(holder, "token.created",
		map[string]any{"user": user.Email, "name": n.Name, "scopes": names, "prefix": token.Prefix})
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
