package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LinkKind says what a link that works once is for.
type LinkKind string

// The kinds.
const (
	LinkInvitation LinkKind = "invitation" // somebody new joins a workspace and sets a password of their own
	LinkReset      LinkKind = "reset"      // somebody known sets a new password
)

// How long a link that was not used is good.
const (
	InvitationLife = 72 * time.Hour
	ResetLife      = time.Hour
)

// OneTimeLink is a link that works once. Its secret is kept nowhere, only the hash of it.
type OneTimeLink struct {
	ID          string `gorm:"primaryKey"`
	Kind        LinkKind
	Hash        string
	WorkspaceID *string // of an invitation
	UserID      *string // whose password a reset sets
	Email       string
	Name        string // as the admin knows the person; may be empty
	TimeZone    string
	Roles       string  // of an invitation, with commas
	CreatedByID *string // nil: the operator
	CreatedAt   Time
	ExpiresAt   Time
	UsedAt      Time
	WithdrawnAt Time
}

func (l OneTimeLink) roles() []Role {
	var roles []Role
	for name := range strings.SplitSeq(l.Roles, ",") {
		if name != "" {
			roles = append(roles, Role(name))
		}
	}
	return roles
}

// Invited is what became of an invitation: a link to hand over, or somebody known who is a member now.
type Invited struct {
	Secret string // of the link; empty for somebody known
	Link   OneTimeLink
	User   User // somebody known
}

// Invite lets somebody new join the workspace acted in: it answers the secret of a link, with which they set
// a name and password of their own. Somebody known becomes a member at once, and nothing else about them
// changes. An earlier invitation of the same e-mail to the workspace is withdrawn. Admins of the workspace
// may, and the operator. It fails with VALIDATION_ERROR, and as AddMember does for somebody known.
func (tx *Tx) Invite(n NewUser) (Invited, error) {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return Invited{}, err
	}
	n.Service, n.OwnerEmail, n.PasswordHash = false, "", ""
	email, err := NormaliseEmail(n.Email)
	if err == nil && len([]rune(email)) > MaxEmail {
		err = fmt.Errorf("must have at most %d characters", MaxEmail)
	}
	var issues []Issue
	name, why := FreeLine(n.Name, MaxName)
	if n.Name = name; why != "" {
		issues = append(issues, Issue{"/name", why})
	}
	if err != nil {
		issues = append(issues, Issue{"/email", err.Error()})
	} else {
		known, err := tx.UserByEmail(email)
		if err == nil {
			return tx.addKnown(known, n)
		}
		if !errors.Is(err, ErrNoRow) {
			return Invited{}, err
		}
	}
	issues = append(issues, checkRoles(KindPerson, n.Roles)...)
	if n.TimeZone != "" {
		if _, err := time.LoadLocation(n.TimeZone); err != nil {
			issues = append(issues, Issue{"/time_zone", "must be an IANA time zone such as Europe/Berlin"})
		}
	}
	if len(issues) > 0 {
		return Invited{}, Invalid(issues...)
	}
	if err := tx.lockPeople(); err != nil {
		return Invited{}, err
	}
	replaced, err := tx.Exec("UPDATE one_time_links SET withdrawn_at = ? WHERE kind = ? AND workspace_id = ? AND email = ? AND used_at IS NULL AND withdrawn_at IS NULL",
		tx.Now, string(LinkInvitation), tx.By.WorkspaceID, email)
	if err != nil {
		return Invited{}, err
	}
	ws, roles := tx.By.WorkspaceID, sortedRoles(n.Roles)
	link := OneTimeLink{Kind: LinkInvitation, WorkspaceID: &ws, Email: email, Name: n.Name, TimeZone: n.TimeZone, ExpiresAt: tx.Now.Add(InvitationLife)}
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	link.Roles = strings.Join(names, ",")
	secret, err := tx.addLink(&link)
	if err != nil {
		return Invited{}, err
	}
	err = tx.Audit("invitation.made", Ref{Subject: link.ID}, map[string]any{"email": email, "name": n.Name, "roles": roles, "expires_at": link.ExpiresAt, "replaced": replaced > 0})
	tx.Notify(TopicPeople(tx.By.WorkspaceID))
	return Invited{Secret: secret, Link: link}, err
}

// MaxName is the longest name of a person, in characters.
const MaxName = 120

func (tx *Tx) addKnown(known User, n NewUser) (Invited, error) {
	user, _, err := tx.AddMember(NewUser{Email: known.Email, Roles: n.Roles})
	return Invited{User: user}, err
}

func (tx *Tx) addLink(link *OneTimeLink) (secret string, err error) {
	secret = Secret(tx.store.ids.random, 32)
	link.ID, link.Hash, link.CreatedAt = tx.NewID(PrefixLink), HashSecret(secret), tx.Now
	if tx.By.UserID != "" {
		by := tx.By.UserID
		link.CreatedByID = &by
	}
	return secret, tx.DB.Create(link).Error
}

// ResetLink answers the secret of a link with which a person sets a new password; earlier ones are
// withdrawn. Only the operator may: a person's credentials change by them and the operator alone. It fails
// with NOT_FOUND, and UNPROCESSABLE_ENTITY for a service account and somebody deactivated.
func (tx *Tx) ResetLink(userID string) (secret string, link OneTimeLink, err error) {
	if err := tx.By.needOperator(); err != nil {
		return "", OneTimeLink{}, err
	}
	user, err := tx.User(userID)
	switch {
	case errors.Is(err, ErrNoRow):
		return "", OneTimeLink{}, Missing("user", clip(userID, 64))
	case err != nil:
		return "", OneTimeLink{}, err
	case user.Kind != KindPerson:
		return "", OneTimeLink{}, E(Unprocessable, user.Email+" is a service account; it works with tokens and has no password.", nil)
	case !user.Active:
		return "", OneTimeLink{}, E(Unprocessable, user.Email+" was deactivated; activate them first (apdesk user activate).", nil)
	}
	if err := tx.withdrawResets(user.ID); err != nil {
		return "", OneTimeLink{}, err
	}
	link = OneTimeLink{Kind: LinkReset, UserID: &user.ID, Email: user.Email, Name: user.Name, ExpiresAt: tx.Now.Add(ResetLife)}
	if secret, err = tx.addLink(&link); err != nil {
		return "", OneTimeLink{}, err
	}
	var holder Identity
	if err := tx.identify(&holder, user.ID); err != nil {
		return "", OneTimeLink{}, err
	}
	return secret, link, tx.auditEverywhere(holder, "person.reset_link_made", map[string]any{"user": user.Email, "expires_at": link.ExpiresAt})
}

func (tx *Tx) withdrawResets(userID string) error {
	_, err := tx.Exec("UPDATE one_time_links SET withdrawn_at = ? WHERE kind = ? AND user_id = ? AND used_at IS NULL AND withdrawn_at IS NULL", tx.Now, string(LinkReset), userID)
	return err
}

// InvitationView is an invitation that waits to be used.
type InvitationView struct {
	Link   OneTimeLink
	Roles  []Role
	ByName string // who invited; empty: the operator
}

// Invitations lists the invitations to the workspace acted in that wait to be used, those that end first in
// front. Admins of the workspace may, and the operator.
func (s *Store) Invitations(ctx context.Context, by Principal) ([]InvitationView, error) {
	if err := by.needEditor(RoleAdmin); err != nil {
		return nil, err
	}
	var list []InvitationView
	err := s.View(ctx, by, func(tx *Tx) error {
		var links []OneTimeLink
		err := tx.DB.Where("kind = ? AND workspace_id = ? AND used_at IS NULL AND withdrawn_at IS NULL AND expires_at > ?", LinkInvitation, by.WorkspaceID, tx.Now).
			Order("expires_at, id").Find(&links).Error
		if err != nil {
			return err
		}
		var ids []string
		for _, l := range links {
			if l.CreatedByID != nil {
				ids = append(ids, *l.CreatedByID)
			}
		}
		users, err := tx.usersByID(ids)
		if err != nil {
			return err
		}
		for _, l := range links {
			v := InvitationView{Link: l, Roles: l.roles()}
			if l.CreatedByID != nil {
				v.ByName = users[*l.CreatedByID].Name
			}
			list = append(list, v)
		}
		return nil
	})
	return list, err
}

// WithdrawInvitation makes an invitation to the workspace acted in worthless. Admins of the workspace may,
// and the operator. It fails with NOT_FOUND when there is none of that id that waits.
func (tx *Tx) WithdrawInvitation(id string) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	link, err := One[OneTimeLink](tx, "SELECT * FROM one_time_links WHERE id = ? AND kind = ? AND workspace_id = ?"+tx.ForChange(), id, string(LinkInvitation), tx.By.WorkspaceID)
	if errors.Is(err, ErrNoRow) || (err == nil && !link.good(tx.Now)) {
		return E(NotFound, "This invitation was used, withdrawn or has expired already.", nil)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE one_time_links SET withdrawn_at = ? WHERE id = ?", tx.Now, id); err != nil {
		return err
	}
	tx.Notify(TopicPeople(tx.By.WorkspaceID))
	return tx.Audit("invitation.withdrawn", Ref{Subject: id}, map[string]any{"email": link.Email})
}

func (l OneTimeLink) good(now Time) bool {
	return l.UsedAt.IsZero() && l.WithdrawnAt.IsZero() && now.Before(l.ExpiresAt.Time)
}

// OpenedLink is what a link that is still good is for.
type OpenedLink struct {
	Kind      LinkKind
	Email     string
	Name      string
	Workspace string // the name of the workspace of an invitation
	Roles     []Role
	Known     bool // an invitation of somebody who has an account by now: they keep their password
	ExpiresAt Time
}

// errLinkSpent says the same of every link that is not good, whatever became of it.
func errLinkSpent() error {
	return E(NotFound, "This link is not good any more: it was used, replaced or withdrawn, or its time is over.", map[string]any{"reason": "link_spent"})
}

// OpenLink says what a link is for, and changes nothing. It fails with NOT_FOUND when the link is not good.
func (s *Store) OpenLink(ctx context.Context, secret string) (OpenedLink, error) {
	var opened OpenedLink
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		link, known, err := tx.openLink(secret, "")
		if err != nil {
			return err
		}
		opened = OpenedLink{Kind: link.Kind, Email: link.Email, Name: link.Name, Roles: link.roles(), ExpiresAt: link.ExpiresAt, Known: link.Kind == LinkInvitation && known.ID != ""}
		if link.WorkspaceID == nil {
			return nil
		}
		tx.By.WorkspaceID = *link.WorkspaceID
		ws, err := tx.Workspace()
		opened.Workspace = ws.Name
		return err
	})
	return opened, err
}

// openLink finds a link that is good, and the user it is about when there is one.
func (tx *Tx) openLink(secret, lock string) (OneTimeLink, User, error) {
	link, err := One[OneTimeLink](tx, "SELECT * FROM one_time_links WHERE hash = ?"+lock, HashSecret(secret))
	if errors.Is(err, ErrNoRow) || (err == nil && !link.good(tx.Now)) {
		return OneTimeLink{}, User{}, errLinkSpent()
	}
	if err != nil {
		return OneTimeLink{}, User{}, err
	}
	if link.Kind == LinkReset {
		user, err := tx.User(*link.UserID)
		if err == nil && !user.Active {
			err = errLinkSpent()
		}
		return link, user, err
	}
	if link.CreatedByID != nil { // who is no admin any more invites nobody
		tx.By.WorkspaceID = *link.WorkspaceID
		members, err := tx.Members(*link.CreatedByID)
		if err != nil {
			return OneTimeLink{}, User{}, err
		}
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Has(RoleAdmin) }) {
			return OneTimeLink{}, User{}, errLinkSpent()
		}
	}
	user, err := tx.UserByEmail(link.Email)
	if errors.Is(err, ErrNoRow) {
		return link, User{}, nil
	}
	return link, user, err
}

// UseLink spends a link: somebody invited becomes a member with the name and password they chose, somebody
// known becomes a member and keeps both, and after a reset the new password counts and all sessions of the
// person have ended. It opens no session. It fails with NOT_FOUND when the link is not good, VALIDATION_ERROR
// on /name or /password, and CONFLICT for somebody who was deactivated in the workspace meanwhile.
func (s *Store) UseLink(ctx context.Context, secret, name, password string) (User, error) {
	opened, err := s.OpenLink(ctx, secret) // before anything costly is done
	if err != nil {
		return User{}, err
	}
	hash := ""
	if name = strings.TrimSpace(name); opened.Kind == LinkReset {
		name = opened.Name
	}
	if !opened.Known {
		var issues []Issue
		var why string
		if name, why = checkedName(name, MaxName); why != "" {
			issues = append(issues, Issue{"/name", why})
		}
		if wrong := CheckPassword(password, opened.Email, name); wrong != "" {
			issues = append(issues, Issue{"/password", wrong})
		}
		if len(issues) > 0 {
			return User{}, Invalid(issues...)
		}
		if hash, err = HashPassword(password, opened.Email, name); err != nil {
			return User{}, err
		}
	}
	var user User
	err = s.InTx(ctx, Principal{Channel: ChannelWeb}, func(tx *Tx) error {
		link, known, err := tx.openLink(secret, tx.ForChange())
		if err != nil {
			return err
		}
		spent, err := tx.Exec("UPDATE one_time_links SET used_at = ? WHERE id = ? AND used_at IS NULL", tx.Now, link.ID)
		if err != nil {
			return err
		}
		if spent == 0 {
			return errLinkSpent()
		}
		tx.By = Principal{UserID: known.ID, UserName: cmp.Or(known.Name, name), Email: link.Email, Kind: KindPerson, Channel: ChannelWeb}
		if link.Kind == LinkReset {
			user = known
			user.PasswordHash = hash
			return tx.resetByLink(user)
		}
		tx.By.WorkspaceID = *link.WorkspaceID
		if user, _, err = tx.CreateUser(NewUser{Email: link.Email, Name: name, TimeZone: link.TimeZone, Roles: link.roles(), PasswordHash: hash}); err != nil {
			return err
		}
		tx.By.UserID = user.ID
		return tx.Audit("invitation.accepted", Ref{Subject: link.ID}, map[string]any{"email": link.Email, "name": user.Name, "roles": link.roles()})
	})
	return user, err
}

// resetByLink gives a person the password whose hash user has, and lets them try it at once.
func (tx *Tx) resetByLink(user User) error {
	if _, err := tx.Exec("UPDATE users SET password_hash = ? WHERE id = ?", user.PasswordHash, user.ID); err != nil {
		return err
	}
	if err := tx.withdrawResets(user.ID); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM sign_in_limits WHERE email = ?", user.Email); err != nil {
		return err
	}
	ended, err := tx.endSessions(user.ID, "")
	if err != nil {
		return err
	}
	var holder Identity
	if err := tx.identify(&holder, user.ID); err != nil {
		return err
	}
	if err := tx.auditEverywhere(holder, "person.password_set", map[string]any{"user": user.Email, "sessions_ended": ended, "by_link": true}); err != nil {
		return err
	}
	return tx.tellEverywhere(holder, NoticePasswordChanged, map[string]any{"by": user.Name})
}

// forgetLinks drops links that ended long ago; the trail keeps what became of them.
func (tx *Tx) forgetLinks() error {
	_, err := tx.Exec("DELETE FROM one_time_links WHERE expires_at < ?", tx.Now.Add(-30*24*time.Hour))
	return err
}
