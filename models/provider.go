package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ProviderSignInLife is how long somebody may take at the identity provider.
const ProviderSignInLife = 10 * time.Minute

// ProviderSignIn is a sign-in on its way through the identity provider.
type ProviderSignIn struct {
	ID        string `gorm:"primaryKey"` // hash of the state
	Browser   string // hash of a secret in a cookie of the browser
	Nonce     string
	Verifier  string // of PKCE
	Next      string // page to go on to
	ExpiresAt Time
}

type providerLink struct {
	Issuer     string `gorm:"primaryKey"`
	Subject    string `gorm:"primaryKey"`
	UserID     string
	CreatedAt  Time
	LastUsedAt Time
}

// ProviderPerson is what the identity provider says of somebody, once that is verified.
type ProviderPerson struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	Groups          []string
}

// ProviderRoles are the roles that groups at the identity provider give, by group and workspace.
type ProviderRoles map[string]map[string][]Role

// Workspaces are those whose memberships the groups decide.
func (m ProviderRoles) Workspaces() []string {
	named := map[string]bool{}
	for _, places := range m {
		for ws := range places {
			named[ws] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// For are the roles of somebody in these groups, by workspace.
func (m ProviderRoles) For(groups []string) map[string][]Role {
	given := map[string][]Role{}
	for _, g := range groups {
		for ws, roles := range m[g] {
			given[ws] = append(given[ws], roles...)
		}
	}
	for ws, roles := range given {
		given[ws] = sortedRoles(roles)
	}
	return given
}

// Check finds what is wrong with a mapping.
func (m ProviderRoles) Check() error {
	for _, group := range slices.Sorted(maps.Keys(m)) {
		for _, ws := range slices.Sorted(maps.Keys(m[group])) {
			if !workspaceIDSyntax.MatchString(ws) {
				return fmt.Errorf("group %q names the workspace %q, which can be none", group, ws)
			}
			for _, is := range checkRoles(KindPerson, m[group][ws]) {
				return fmt.Errorf("group %q, workspace %s: %s", group, ws, is.Message)
			}
		}
	}
	return nil
}

// BeginProviderSignIn keeps what belongs to a sign-in that goes through the identity provider: its state,
// and a secret that ties it to one browser.
func (s *Store) BeginProviderSignIn(ctx context.Context, state, browser string, in ProviderSignIn) error {
	return s.InTx(ctx, Principal{}, func(tx *Tx) error {
		in.ID, in.Browser, in.ExpiresAt = HashSecret(state), HashSecret(browser), tx.Now.Add(ProviderSignInLife)
		return tx.DB.Create(&in).Error
	})
}

// TakeProviderSignIn takes a sign-in that comes back from the identity provider; it cannot be taken again.
// It fails with unauthenticated when it is unknown, too old, or another browser's.
func (s *Store) TakeProviderSignIn(ctx context.Context, state, browser string) (ProviderSignIn, error) {
	var taken ProviderSignIn
	ok := false
	err := s.InTx(ctx, Principal{}, func(tx *Tx) error {
		var rows []ProviderSignIn
		ok = false
		if err := tx.Lock().Where("id = ?", HashSecret(state)).Find(&rows).Error; err != nil || len(rows) == 0 {
			return err
		}
		gone := tx.DB.Where("id = ?", rows[0].ID).Delete(&ProviderSignIn{})
		if gone.Error != nil {
			return gone.Error
		}
		taken = rows[0]
		ok = gone.RowsAffected == 1 && browser != "" && taken.Browser == HashSecret(browser) && tx.Now.Before(taken.ExpiresAt.Time)
		return nil
	})
	if err == nil && !ok {
		err = E(Unauthenticated, "This sign-in was finished already, took too long, or began in another browser. Begin again.", nil)
	}
	if err != nil {
		return ProviderSignIn{}, err
	}
	return taken, nil
}

// provider is the identity provider acting in a workspace by the groups it tells of somebody.
func provider(workspaceID string) Principal {
	return Principal{UserName: "identity provider", WorkspaceID: workspaceID, Channel: ChannelSystem}
}

// SignInByProvider opens a session of somebody the identity provider vouches for. They are found by issuer
// and subject, the first time by verified e-mail address. roles, unless empty, decide their memberships of
// the workspaces it names: those are changed first, with what follows of it, but for the last admin of a
// workspace, who stays. passwordOff lets them sign in no other way from then on. It fails with
// unauthenticated for somebody unknown here, without a verified address or switched off, and with
// insufficient_permission when none of their groups gives a role.
func (s *Store) SignInByProvider(ctx context.Context, who ProviderPerson, roles ProviderRoles, passwordOff bool, address, userAgent string) (secret string, id Identity, err error) {
	secret = Secret(s.ids.random, 32)
	var refusal error
	err = s.InTx(ctx, Principal{}, func(tx *Tx) error {
		id, refusal = Identity{}, nil
		given := roles.For(who.Groups)
		user, refused, err := tx.userOfProvider(who, given)
		if err != nil || refused != nil {
			refusal = refused
			return err
		}
		if err := tx.followProvider(user, roles.Workspaces(), given); err != nil {
			return err
		}
		if !user.Active {
			refusal = E(Unauthenticated, "Your account is switched off at this desk. Ask whoever operates it.", nil)
			return nil
		}
		if len(roles) > 0 && len(given) == 0 {
			refusal = E(InsufficientPermission, "None of your groups at the identity provider gives you a role at this desk. Ask who manages the groups there.", map[string]any{"permission": "provider_group"})
			return nil
		}
		tx.By = Principal{UserID: user.ID, UserName: user.Name, Channel: ChannelWeb}
		if passwordOff && !user.PasswordOff {
			if err := tx.setPasswordOff(user, true); err != nil {
				return err
			}
		}
		id, err = tx.openSession(user, secret, address, userAgent, FactorProvider, map[string]any{"issuer": who.Issuer})
		if ne, named := AsNamed(err); named && ne.Code == MembershipInactive {
			refusal = ne // what the groups changed stays
			return nil
		}
		return err
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return "", Identity{}, err
	}
	return secret, id, nil
}

// userOfProvider finds whom the provider means, and links or creates them the first time.
func (tx *Tx) userOfProvider(who ProviderPerson, given map[string][]Role) (user User, refusal, err error) {
	var links []providerLink
	if err := tx.Lock().Where("issuer = ? AND subject = ?", who.Issuer, who.Subject).Find(&links).Error; err != nil {
		return user, nil, err
	}
	if len(links) > 0 {
		if user, err = tx.User(links[0].UserID); err != nil {
			return user, nil, err
		}
		return user, nil, tx.DB.Model(&providerLink{}).Where("issuer = ? AND subject = ?", who.Issuer, who.Subject).Update("last_used_at", tx.Now).Error
	}
	email, mailErr := NormaliseEmail(who.Email)
	if mailErr != nil || !who.EmailVerified {
		return user, E(Unauthenticated, "The identity provider does not vouch for your e-mail address, so the desk cannot tell who you are. Have it verified there, then sign in again.", nil), nil
	}
	user, err = tx.UserByEmail(email)
	switch {
	case errors.Is(err, ErrNoRow) && len(given) > 0:
		for _, ws := range slices.Sorted(maps.Keys(given)) {
			tx.By = provider(ws)
			name := who.Name
			if name == "" {
				name = email
			}
			created, _, err := tx.CreateUser(NewUser{Email: email, Name: clip(name, 200), Roles: given[ws]})
			if err != nil {
				return user, nil, err
			}
			user = created
		}
	case errors.Is(err, ErrNoRow):
		return user, E(Unauthenticated, "Nobody with your e-mail address may use this desk. An admin of your workspace can add you.", nil), nil
	case err != nil:
		return user, nil, err
	}
	if user.Kind != KindPerson {
		return user, E(Unauthenticated, "This e-mail address belongs to a service account, which cannot sign in to pages.", nil), nil
	}
	var others int64
	if err := tx.DB.Model(&providerLink{}).Where("issuer = ? AND user_id = ?", who.Issuer, user.ID).Count(&others).Error; err != nil {
		return user, nil, err
	}
	if others > 0 {
		return user, E(Unauthenticated, "Your e-mail address belongs to another account of the identity provider already. Ask whoever operates the desk.", nil), nil
	}
	if err := tx.DB.Create(&providerLink{Issuer: who.Issuer, Subject: who.Subject, UserID: user.ID, CreatedAt: tx.Now, LastUsedAt: tx.Now}).Error; err != nil {
		return user, nil, err
	}
	return user, nil, tx.tellTrails(user, "person.linked", map[string]any{"issuer": who.Issuer, "subject": clip(who.Subject, 200)})
}

// tellTrails records something about a user on the trails of all their workspaces, as done by the provider.
func (tx *Tx) tellTrails(user User, action string, data map[string]any) error {
	var holder Identity
	if err := tx.identify(&holder, user.ID); err != nil {
		if errors.Is(err, ErrNoRow) {
			return nil // switched off
		}
		return err
	}
	by := tx.By
	defer func() { tx.By = by }()
	tx.By = provider("")
	return tx.auditEverywhere(holder, action, data)
}

// followProvider changes the memberships of the workspaces that groups decide, in the order of their ids.
func (tx *Tx) followProvider(user User, workspaces []string, given map[string][]Role) error {
	by := tx.By
	defer func() { tx.By = by }()
	for _, ws := range workspaces {
		tx.By = provider(ws)
		if err := tx.lockPeople(); err != nil {
			if IsCode(err, NotFound) {
				continue // not made yet
			}
			return err
		}
		m, err := tx.readMember(user.ID)
		switch missing := IsCode(err, NotFound); {
		case err != nil && !missing:
			return err
		case missing && len(given[ws]) == 0:
			continue
		case missing:
			_, _, err = tx.CreateUser(NewUser{Email: user.Email, Roles: given[ws]})
		case len(given[ws]) == 0 && m.Active:
			err = tx.DeactivateMember(user.ID, "No group of theirs at the identity provider gives a role here any more.")
			if err == nil {
				err = tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id = ?", user.ID, ws).Update("off_by_provider", true).Error
			}
		case len(given[ws]) == 0:
			continue
		case !m.Active && !m.OffByProvider:
			continue // an admin or the operator sent them away; that stands
		default:
			if !m.Active && user.Active {
				if err := tx.ReactivateMember(user.ID); err != nil {
					return err
				}
			}
			err = tx.SetRoles(user.ID, given[ws])
		}
		if ne, named := AsNamed(err); named && ne.Details["reason"] == "last_admin" {
			err = tx.Audit("provider.roles_kept", Ref{Subject: user.ID}, map[string]any{"email": user.Email, "name": user.Name, "roles": m.Roles, "after": given[ws], "why": ne.Message})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) setPasswordOff(user User, off bool) error {
	if err := tx.DB.Model(&User{}).Where("id = ?", user.ID).Update("password_off", off).Error; err != nil {
		return err
	}
	return tx.tellTrails(user, "person.password_switched", map[string]any{"email": user.Email, "name": user.Name, "off": off})
}

// SwitchPassword lets a person sign in with a password again, or through the identity provider only. Only
// the operator may. It fails with NOT_FOUND.
func (tx *Tx) SwitchPassword(userID string, off bool) error {
	user, err := tx.userForOperator(userID)
	if err != nil || user.PasswordOff == off {
		return err
	}
	return tx.setPasswordOff(user, off)
}

// UnlinkProvider forgets who a person is at the identity provider, so that they are found by verified e-mail
// address again. Only the operator may. It fails with NOT_FOUND, and CONFLICT when there is nothing to forget.
func (tx *Tx) UnlinkProvider(userID string) error {
	user, err := tx.userForOperator(userID)
	if err != nil {
		return err
	}
	gone := tx.DB.Where("user_id = ?", userID).Delete(&providerLink{})
	if gone.Error != nil {
		return gone.Error
	}
	if gone.RowsAffected == 0 {
		return E(Conflict, fmt.Sprintf("%s is not linked to an account of the identity provider.", user.Email), map[string]any{"user_id": userID})
	}
	return tx.tellTrails(user, "person.unlinked", map[string]any{"email": user.Email, "name": user.Name})
}

func (tx *Tx) userForOperator(userID string) (User, error) {
	if err := tx.By.needOperator(); err != nil {
		return User{}, err
	}
	user, err := tx.User(userID)
	if errors.Is(err, ErrNoRow) {
		err = Missing("user", clip(userID, 64))
	}
	return user, err
}
