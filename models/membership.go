package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// PeopleHook is what follows for cases and requests when people come, go or change roles. It works in
// the transaction of the change, in one workspace, after the new memberships are written. The ids name
// whose membership or roles changed.
type PeopleHook func(tx *Tx, userIDs ...string) error

// OnPeopleChanged adds a hook. Hooks run in the order in which they were added; add them while wiring,
// before the store is used.
func (s *Store) OnPeopleChanged(hook PeopleHook) { s.peopleHooks = append(s.peopleHooks, hook) }

func (tx *Tx) peopleChanged(userIDs ...string) error {
	tx.Notify(TopicPeople(tx.By.WorkspaceID))
	for _, hook := range tx.store.peopleHooks {
		if err := hook(tx, userIDs...); err != nil {
			return err
		}
	}
	return nil
}

// TopicPeople is what changes with the members of a workspace and their roles.
func TopicPeople(workspaceID string) string { return "people:" + workspaceID }

// MaxReason is the longest reason for a change of people, in characters.
const MaxReason = 1000

// member is a membership together with its user.
type member struct {
	user User
	Membership
}

// active says whether the member may act in the workspace.
func (m member) active() bool { return m.Active && m.user.Active }

// memberToChange reads a membership that tx.By may change: an admin of the workspace in the browser, or
// the operator, and never one's own. Changes of people, routing and rule edits of one workspace wait for
// one another, so that no request is routed to somebody who is just leaving.
func (tx *Tx) memberToChange(userID string) (member, error) {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return member{}, err
	}
	if err := tx.lockPeople(); err != nil {
		return member{}, err
	}
	m, err := tx.readMember(userID)
	if err != nil {
		return m, err
	}
	return m, tx.notOneself(userID)
}

func (tx *Tx) lockPeople() error {
	_, err := tx.LockRules()
	if errors.Is(err, ErrNoRow) {
		return Missing("workspace", tx.By.WorkspaceID)
	}
	return err
}

func (tx *Tx) readMember(userID string) (member, error) {
	var m member
	err := tx.Lock().Where("user_id = ? AND workspace_id = ?", userID, tx.By.WorkspaceID).Take(&m.Membership).Error
	if errors.Is(err, ErrNoRow) {
		return m, Missing("member", clip(userID, 64))
	}
	if err != nil {
		return m, err
	}
	if m.user, err = tx.User(userID); err != nil {
		return m, err
	}
	roles, err := tx.rolesOf(userID)
	m.Roles = roles[userID]
	return m, err
}

// notOneself keeps admins from their own membership, so that nobody gives themselves a role.
func (tx *Tx) notOneself(userID string) error {
	if tx.By.UserID == "" || tx.By.UserID != userID {
		return nil
	}
	return E(Unprocessable, "Nobody changes their own membership or roles. Ask another admin of the workspace, or the operator.",
		map[string]any{"reason": "oneself"})
}

func checkReason(reason string) (string, error) { return CheckReason(reason, MaxReason) }

// keepAnAdmin refuses to take away the last active admin of the workspace.
func (tx *Tx) keepAnAdmin(m member) error {
	if !m.active() || !slices.Contains(m.Roles, RoleAdmin) {
		return nil
	}
	var others int64
	err := tx.DB.Table("membership_roles r").Joins("JOIN memberships m ON m.user_id = r.user_id AND m.workspace_id = r.workspace_id").
		Joins("JOIN users u ON u.id = r.user_id").
		Where("r.workspace_id = ? AND r.role = ? AND r.user_id <> ? AND m.active AND u.active AND u.kind = ?", tx.By.WorkspaceID, RoleAdmin, m.user.ID, KindPerson).
		Count(&others).Error
	if err != nil || others > 0 {
		return err
	}
	return E(Unprocessable, fmt.Sprintf("%s is the last active admin of workspace %s. Make somebody else admin first, then try again.", m.user.Name, tx.By.WorkspaceID),
		map[string]any{"reason": "last_admin", "workspace_id": tx.By.WorkspaceID})
}

// DeactivateMember ends somebody's work in the workspace acted in. The hooks give their claims back, end
// delegations from and to them, revoke approvals they gave and nobody used, and settle requests again;
// with their last active membership their sessions and tokens end too. Admins of the workspace may, and
// the operator. It fails with NOT_FOUND, CONFLICT when they are inactive already, and
// UNPROCESSABLE_ENTITY for oneself and the last active admin.
func (tx *Tx) DeactivateMember(userID, reason string) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	m, err := tx.memberToChange(userID)
	if err != nil {
		return err
	}
	if !m.Active {
		return E(Conflict, fmt.Sprintf("%s is not active in workspace %s already.", m.user.Name, tx.By.WorkspaceID), map[string]any{"user_id": userID})
	}
	if err := tx.keepAnAdmin(m); err != nil {
		return err
	}
	if err := tx.setMembership(userID, false); err != nil {
		return err
	}
	ended, err := tx.endCredentials(m.user)
	if err != nil {
		return err
	}
	err = tx.Audit("membership.deactivated", Ref{Subject: userID}, map[string]any{"email": m.user.Email, "name": m.user.Name, "roles": m.Roles, "reason": reason,
		"sessions_ended": ended.Sessions, "tokens_revoked": ended.Tokens})
	if err != nil {
		return err
	}
	return tx.peopleChanged(userID)
}

func (tx *Tx) setMembership(userID string, active bool) error {
	return tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id = ?", userID, tx.By.WorkspaceID).
		Updates(map[string]any{"active": active, "off_by_provider": false}).Error
}

// Credentials counts what somebody signs in and calls with.
type Credentials struct{ Sessions, Tokens int64 }

// endCredentials ends the sessions and tokens of somebody whom no active membership is left. Who still
// works elsewhere keeps them, and the sessions no longer show this workspace.
func (tx *Tx) endCredentials(u User) (Credentials, error) {
	tx.Notify(topicUser(u.ID)) // also for a place that is lost while others are left
	var ended Credentials
	if u.Active {
		elsewhere, err := tx.activeElsewhere(u.ID, "")
		if err != nil {
			return ended, err
		}
		if elsewhere {
			return ended, tx.DB.Model(&Session{}).Where("user_id = ? AND workspace_id = ?", u.ID, tx.By.WorkspaceID).Update("workspace_id", nil).Error
		}
	}
	sessions, err := tx.endSessions(u.ID, "")
	if err != nil {
		return ended, err
	}
	tokens := tx.DB.Model(&Token{}).Where("user_id = ? AND revoked_at IS NULL", u.ID).Update("revoked_at", tx.Now)
	return Credentials{Sessions: sessions, Tokens: tokens.RowsAffected}, tokens.Error
}

// activeElsewhere says whether a user has an active membership of another workspace than the one named.
func (tx *Tx) activeElsewhere(userID, workspaceID string) (bool, error) {
	var n int64
	err := tx.DB.Model(&Membership{}).Where("user_id = ? AND workspace_id <> ? AND active", userID, workspaceID).Count(&n).Error
	return n > 0, err
}

// ReactivateMember lets somebody work in the workspace again, with the roles they had. Ended sessions,
// tokens, claims and delegations stay ended. Admins of the workspace may, and the operator. It fails
// with NOT_FOUND, CONFLICT when they are active already, and UNPROCESSABLE_ENTITY while the operator has
// deactivated the user as such.
func (tx *Tx) ReactivateMember(userID string) error {
	m, err := tx.memberToChange(userID)
	if err != nil {
		return err
	}
	if !m.user.Active {
		return E(Unprocessable, fmt.Sprintf("%s was deactivated by the operator of the desk, who alone can take that back (apdesk user activate).", m.user.Name),
			map[string]any{"reason": "user_inactive"})
	}
	if m.Active {
		return E(Conflict, fmt.Sprintf("%s is active in workspace %s already.", m.user.Name, tx.By.WorkspaceID), map[string]any{"user_id": userID})
	}
	if err := tx.setMembership(userID, true); err != nil {
		return err
	}
	if err := tx.Audit("membership.reactivated", Ref{Subject: userID}, map[string]any{"email": m.user.Email, "name": m.user.Name, "roles": m.Roles}); err != nil {
		return err
	}
	return tx.peopleChanged(userID)
}

// RolesFor lists the roles a kind of user can hold: people every role, service accounts those of callers.
func RolesFor(kind UserKind) []Role {
	if kind == KindService {
		return []Role{RoleAgent, RoleERP}
	}
	return Roles()
}

// checkRoles finds what is wrong with the roles somebody is to have.
func checkRoles(kind UserKind, roles []Role) []Issue {
	if len(roles) == 0 {
		return []Issue{{"/role", "must name at least one role"}}
	}
	var issues []Issue
	for _, r := range roles {
		switch {
		case !r.Valid():
			issues = append(issues, Issue{"/role", fmt.Sprintf("%q is no role; roles are %s", r, joinRoles(Roles()))})
		case !slices.Contains(RolesFor(kind), r):
			issues = append(issues, Issue{"/role", fmt.Sprintf("%s is a role of people; a service account can be %s", r, joinRoles(RolesFor(kind)))})
		}
	}
	return issues
}

// SetRoles gives somebody these roles in the workspace acted in and no others. What a role that is gone
// allowed goes back at once: claims in its queues, unused approvals given by it. Admins of the workspace
// may, and the operator. It fails with NOT_FOUND, VALIDATION_ERROR on /role, and UNPROCESSABLE_ENTITY for
// oneself and when no active admin would be left.
func (tx *Tx) SetRoles(userID string, roles []Role) error {
	m, err := tx.memberToChange(userID)
	if err != nil {
		return err
	}
	if issues := checkRoles(m.user.Kind, roles); len(issues) > 0 {
		return Invalid(issues...)
	}
	wanted := sortedRoles(roles)
	if slices.Equal(wanted, sortedRoles(m.Roles)) {
		return nil
	}
	if !slices.Contains(wanted, RoleAdmin) {
		if err := tx.keepAnAdmin(m); err != nil {
			return err
		}
	}
	if err := tx.DB.Where("user_id = ? AND workspace_id = ? AND role NOT IN ?", userID, tx.By.WorkspaceID, wanted).Delete(&membershipRole{}).Error; err != nil {
		return err
	}
	if err := tx.addRoles(userID, wanted); err != nil {
		return err
	}
	err = tx.Audit("membership.roles_set", Ref{Subject: userID}, map[string]any{"email": m.user.Email, "name": m.user.Name, "before": m.Roles, "after": wanted})
	if err != nil {
		return err
	}
	return tx.peopleChanged(userID)
}

func sortedRoles(roles []Role) []Role {
	out := slices.Clone(roles)
	slices.Sort(out)
	return slices.Compact(out)
}

// AddMember is CreateUser for an admin of the workspace on the pages: never for oneself, and only with
// roles the kind of user can hold. A known e-mail gains the membership or roles; somebody whose
// membership was deactivated must be reactivated instead (CONFLICT).
func (tx *Tx) AddMember(n NewUser) (User, bool, error) {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return User{}, false, err
	}
	kind := KindPerson
	if n.Service {
		kind = KindService
	}
	// However the address is written, it is one person's: "<a@example.com>" must not pass as somebody new.
	if email, err := NormaliseEmail(n.Email); err == nil {
		n.Email = email
	}
	known, err := tx.UserByEmail(n.Email)
	if err == nil {
		if err := tx.notOneself(known.ID); err != nil {
			return User{}, false, err
		}
		kind = known.Kind
	} else if !errors.Is(err, ErrNoRow) {
		return User{}, false, err
	}
	if issues := checkRoles(kind, n.Roles); len(issues) > 0 {
		return User{}, false, Invalid(issues...)
	}
	n.PasswordHash = "" // a person's credentials are theirs and the operator's
	return tx.CreateUser(n)
}

// needOperator keeps what reaches beyond one workspace for the command line.
func (p Principal) needOperator() error {
	if p.Channel == ChannelSystem {
		return nil
	}
	return E(InsufficientPermission, "Only the operator of the desk can do this, at the command line.", map[string]any{"permission": "operator"})
}

// DeactivateUser ends somebody's work in every workspace, as DeactivateMember does in one; their
// memberships stay as they are for ReactivateUser. Only the operator may. It fails with NOT_FOUND,
// CONFLICT when they are inactive already, and UNPROCESSABLE_ENTITY for the last active admin of a
// workspace.
func (tx *Tx) DeactivateUser(userID, reason string) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	return tx.switchUser(userID, false, func(m member) error { return tx.keepAnAdmin(m) }, func(m member, ended Credentials) error {
		err := tx.Audit("user.deactivated", Ref{Subject: userID}, map[string]any{"email": m.user.Email, "name": m.user.Name, "roles": m.Roles, "reason": reason,
			"sessions_ended": ended.Sessions, "tokens_revoked": ended.Tokens})
		if err != nil {
			return err
		}
		return tx.peopleChanged(userID)
	})
}

// ReactivateUser takes DeactivateUser back: the user works again wherever their membership is active.
// Ended sessions, tokens, claims and delegations stay ended. Only the operator may. It fails with
// NOT_FOUND, and CONFLICT when they are active already.
func (tx *Tx) ReactivateUser(userID string) error {
	return tx.switchUser(userID, true, func(member) error { return nil }, func(m member, _ Credentials) error {
		if err := tx.Audit("user.reactivated", Ref{Subject: userID}, map[string]any{"email": m.user.Email, "name": m.user.Name, "roles": m.Roles}); err != nil {
			return err
		}
		return tx.peopleChanged(userID)
	})
}

// switchUser switches a user on or off and does what follows in each workspace of theirs, in the order
// of the workspaces' ids: before may refuse, after follows.
func (tx *Tx) switchUser(userID string, on bool, before func(member) error, after func(member, Credentials) error) error {
	if err := tx.By.needOperator(); err != nil {
		return err
	}
	user, err := tx.User(userID)
	if errors.Is(err, ErrNoRow) {
		return Missing("user", clip(userID, 64))
	}
	if err != nil {
		return err
	}
	var places []Membership
	if err := tx.DB.Where("user_id = ? AND active", userID).Order("workspace_id").Find(&places).Error; err != nil {
		return err
	}
	by := tx.By
	defer func() { tx.By = by }()
	members := make([]member, len(places))
	for i, p := range places {
		tx.By.WorkspaceID = p.WorkspaceID
		if err := tx.lockPeople(); err != nil {
			return err
		}
		if members[i], err = tx.readMember(userID); err != nil {
			return err
		}
		if err := before(members[i]); err != nil {
			return err
		}
	}
	switched := tx.DB.Model(&User{}).Where("id = ? AND active = ?", userID, !on).Update("active", on)
	if switched.Error != nil {
		return switched.Error
	}
	if switched.RowsAffected == 0 {
		state := "deactivated"
		if on {
			state = "active"
		}
		return E(Conflict, fmt.Sprintf("%s is %s already.", user.Email, state), map[string]any{"user_id": userID})
	}
	user.Active = on
	var ended Credentials
	if !on {
		if ended, err = tx.endCredentials(user); err != nil {
			return err
		}
	}
	for i, p := range places {
		tx.By.WorkspaceID, members[i].user.Active = p.WorkspaceID, on
		if err := after(members[i], ended); err != nil {
			return err
		}
	}
	return nil
}

// SetPassword gives a person a password and ends their sessions, so that whoever knew the old one is out.
// Only the operator may. It fails with NOT_FOUND, and UNPROCESSABLE_ENTITY for a service account.
func (tx *Tx) SetPassword(userID, hash string) error {
	if err := tx.By.needOperator(); err != nil {
		return err
	}
	user, err := tx.User(userID)
	if errors.Is(err, ErrNoRow) {
		return Missing("user", clip(userID, 64))
	}
	if err != nil {
		return err
	}
	if user.Kind != KindPerson {
		return E(Unprocessable, user.Email+" is a service account; it works with tokens and has no password.", nil)
	}
	if err := tx.withdrawResets(userID); err != nil {
		return err
	}
	first := user.PasswordHash == ""
	if err := tx.DB.Model(&User{}).Where("id = ?", userID).Update("password_hash", hash).Error; err != nil {
		return err
	}
	ended, err := tx.endSessions(userID, "")
	if err != nil {
		return err
	}
	var holder Identity
	if err := tx.identify(&holder, userID); err != nil {
		if errors.Is(err, ErrNoRow) {
			return nil // deactivated: on no trail now
		}
		return err
	}
	return tx.auditEverywhere(holder, "person.password_set", map[string]any{"user": user.Email, "first": first, "sessions_ended": ended})
}

// PersonView is somebody of a workspace as the people pages show them.
type PersonView struct {
	User   User
	Joined bool // the membership is active
	Roles  []Role
	Since  Time
	// Owner is a service account's responsible person; OwnerActive says whether they are an active member
	// of this workspace.
	OwnerName   string
	OwnerEmail  string
	OwnerActive bool
	LastSignIn  Time // of a person, to this workspace
	LastSeen    Time // in a session or with a token that is still good
}

// Active says whether they may act in the workspace.
func (p PersonView) Active() bool { return p.Joined && p.User.Active }

// People lists everybody who is or was a member of the workspace acted in, people before service
// accounts, the active ones first; all or only those named. People of the workspace may read it.
func (s *Store) People(ctx context.Context, by Principal, userIDs ...string) ([]PersonView, error) {
	if err := by.needReader(); err != nil {
		return nil, err
	}
	var list []PersonView
	err := s.View(ctx, by, func(tx *Tx) error {
		if _, err := tx.Workspace(); err != nil {
			if errors.Is(err, ErrNoRow) {
				return Missing("workspace", by.WorkspaceID)
			}
			return err
		}
		var err error
		list, err = tx.people(userIDs...)
		return err
	})
	return list, err
}

// Person is People for one; NOT_FOUND for somebody who never was a member.
func (s *Store) Person(ctx context.Context, by Principal, userID string) (PersonView, error) {
	list, err := s.People(ctx, by, userID)
	if err == nil && len(list) == 0 {
		err = Missing("member", clip(userID, 64))
	}
	if err != nil {
		return PersonView{}, err
	}
	return list[0], nil
}

// needReader lets people of the workspace read what is everybody's to read.
func (p Principal) needReader() error {
	return p.NeedRole(RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData, RoleAuditor, RoleAdmin)
}

func (tx *Tx) people(userIDs ...string) ([]PersonView, error) {
	q := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID)
	if len(userIDs) > 0 {
		q = q.Where("user_id IN ?", userIDs)
	}
	var places []Membership
	if err := q.Find(&places).Error; err != nil {
		return nil, err
	}
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.UserID
	}
	users, err := tx.usersByID(ids)
	if err != nil {
		return nil, err
	}
	var ownerIDs []string
	for _, u := range users {
		if u.OwnerID != nil {
			ownerIDs = append(ownerIDs, *u.OwnerID)
		}
	}
	owners, err := tx.usersByID(ownerIDs)
	if err != nil {
		return nil, err
	}
	active, err := tx.Members(append(ownerIDs, "")...)
	if err != nil {
		return nil, err
	}
	roles, err := tx.rolesOf(ids...)
	if err != nil {
		return nil, err
	}
	used, err := tx.lastUses(ids)
	if err != nil {
		return nil, err
	}
	list := make([]PersonView, 0, len(places))
	for _, p := range places {
		v := PersonView{User: users[p.UserID], Joined: p.Active, Roles: roles[p.UserID], Since: p.CreatedAt, LastSignIn: used[p.UserID].SignedInAt, LastSeen: used[p.UserID].seen()}
		if id := v.User.OwnerID; id != nil {
			v.OwnerName, v.OwnerEmail = owners[*id].Name, owners[*id].Email
			v.OwnerActive = slices.ContainsFunc(active, func(m Member) bool { return m.User.ID == *id })
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b PersonView) int {
		if a.Active() != b.Active() {
			return falseFirst(!a.Active())
		}
		if a.User.Kind != b.User.Kind {
			return falseFirst(a.User.Kind == KindService)
		}
		return cmp.Or(cmp.Compare(a.User.Name, b.User.Name), cmp.Compare(a.User.ID, b.User.ID))
	})
	return list, nil
}

func falseFirst(a bool) int {
	if a {
		return 1
	}
	return -1
}

func (tx *Tx) usersByID(ids []string) (map[string]User, error) {
	var users []User
	if err := tx.DB.Where("id IN ?", append(slices.Clone(ids), "")).Find(&users).Error; err != nil {
		return nil, err
	}
	byID := make(map[string]User, len(users))
	for _, u := range users {
		byID[u.ID] = u
	}
	return byID, nil
}

// lastUse is when somebody was last here, by each of the ways to be.
type lastUse struct {
	UserID     string
	SignedInAt Time
	SessionAt  Time
	TokenAt    Time
}

func (l lastUse) seen() Time {
	latest := l.SessionAt
	if l.TokenAt.After(latest.Time) {
		latest = l.TokenAt
	}
	return latest
}

// lastUses reads when people last signed in to the workspace acted in and were last seen. Each is the
// head of an index, whatever the length of the trail.
func (tx *Tx) lastUses(ids []string) (map[string]lastUse, error) {
	var rows []lastUse
	err := tx.DB.Raw(`SELECT u.id AS user_id,
		(SELECT e.at FROM audit_events e WHERE e.workspace_id = ? AND e.subject = u.id AND e.subject <> '' AND e.action = 'person.signed_in' ORDER BY e.at DESC, e.id DESC LIMIT 1) AS signed_in_at,
		(SELECT max(s.last_seen_at) FROM sessions s WHERE s.user_id = u.id) AS session_at,
		(SELECT max(t.last_used_at) FROM tokens t WHERE t.user_id = u.id) AS token_at
		FROM users u WHERE u.id IN ?`, tx.By.WorkspaceID, append(slices.Clone(ids), "")).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	byID := make(map[string]lastUse, len(rows))
	for _, r := range rows {
		byID[r.UserID] = r
	}
	return byID, nil
}

// Leaving is what would end or go back if somebody lost the workspace, or only some roles there.
type Leaving struct {
	Claims      int64 // cases they hold and may then no longer work
	Approvals   int64 // granted and not used, with a vote of theirs that counts
	Delegations int64 // from or to them, running or planned
	Elsewhere   bool  // they work in another workspace too, so that nothing of Ends ends
	Ends        Credentials
}

// WhatLeaving counts what DeactivateMember would do for somebody, or SetRoles with keeps as their roles.
// It is for a preview: what happens until the change is not in it. Admins of the workspace may ask.
func (s *Store) WhatLeaving(ctx context.Context, by Principal, userID string, keeps ...Role) (Leaving, error) {
	var l Leaving
	if err := by.needEditor(RoleAdmin); err != nil {
		return l, err
	}
	queues := []Queue{""}
	for _, q := range Queues() {
		if !(Member{Roles: keeps}).Has(q.Roles()...) {
			queues = append(queues, q)
		}
	}
	err := s.View(ctx, by, func(tx *Tx) error {
		err := tx.DB.Model(&Case{}).Where("workspace_id = ? AND claimed_by_id = ? AND claimed_until > ? AND status <> ? AND queue IN ?",
			by.WorkspaceID, userID, tx.Now, CaseResolved, queues).Count(&l.Claims).Error
		if err != nil {
			return err
		}
		votes := tx.DB.Table("votes v").Joins("JOIN approvals a ON a.request_id = v.request_id").
			Where("v.workspace_id = ? AND (v.user_id = ? OR v.on_behalf_of_id = ?) AND v.decision = ? AND a.status = ? AND a.expires_at > ?",
				by.WorkspaceID, userID, userID, VoteApprove, ApprovalGranted, tx.Now)
		if len(keeps) > 0 {
			votes = votes.Where("v.role NOT IN ?", keeps)
		}
		if err := votes.Distinct("v.request_id").Count(&l.Approvals).Error; err != nil {
			return err
		}
		if len(keeps) > 0 {
			return nil
		}
		err = tx.DB.Model(&Delegation{}).Where("workspace_id = ? AND (from_id = ? OR to_id = ?) AND ended_at IS NULL AND ends_at > ?", by.WorkspaceID, userID, userID, tx.Now).
			Count(&l.Delegations).Error
		if err != nil {
			return err
		}
		if l.Elsewhere, err = tx.activeElsewhere(userID, by.WorkspaceID); err != nil || l.Elsewhere {
			return err
		}
		if err := tx.DB.Model(&Session{}).Where("user_id = ? AND expires_at > ? AND last_seen_at > ?", userID, tx.Now, tx.Now.Add(-s.sessionIdle)).Count(&l.Ends.Sessions).Error; err != nil {
			return err
		}
		return tx.DB.Model(&Token{}).Where("user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", userID, tx.Now).Count(&l.Ends.Tokens).Error
	})
	return l, err
}

// ActiveDelegations lists the absences of the workspace acted in that hold now, by their end: all, or
// those from and to one person.
func (s *Store) ActiveDelegations(ctx context.Context, by Principal, userID string) ([]Delegation, error) {
	var list []Delegation
	err := s.View(ctx, by, func(tx *Tx) error {
		q := tx.DB.Where("workspace_id = ? AND ends_at > ? AND starts_at <= ? AND ended_at IS NULL", by.WorkspaceID, tx.Now, tx.Now)
		if userID != "" {
			q = q.Where("(from_id = ? OR to_id = ?)", userID, userID)
		}
		return q.Order("ends_at, id").Find(&list).Error
	})
	return list, err
}

// recentEvents bounds how far back RecentActs looks.
const recentEvents = 5000

// RecentActs lists what somebody did last in the workspace acted in, newest first, at most limit of the
// workspace's last 5,000 events. People of the workspace may read it.
func (s *Store) RecentActs(ctx context.Context, by Principal, userID string, limit int) ([]AuditEvent, error) {
	if err := by.needReader(); err != nil {
		return nil, err
	}
	var events []AuditEvent
	err := s.View(ctx, by, func(tx *Tx) error {
		recent := tx.DB.Model(&AuditEvent{}).Where("workspace_id = ?", by.WorkspaceID).Order("at DESC, id DESC").Limit(recentEvents)
		return tx.DB.Table("(?) AS recent", recent).Where("actor_id = ?", userID).Order("at DESC, id DESC").Limit(limit).Find(&events).Error
	})
	return events, err
}
