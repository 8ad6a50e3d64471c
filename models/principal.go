package models

import (
	"fmt"
	"slices"
	"strings"
)

// UserKind tells people from service accounts.
type UserKind string

// The two kinds of user.
const (
	KindPerson  UserKind = "person"
	KindService UserKind = "service" // cannot sign in to pages; has a responsible person
)

// Principal is who acts now, in one workspace, through one channel. It is passed explicitly, never
// hidden in a context.
type Principal struct {
	UserID      string
	UserName    string
	Email       string
	Kind        UserKind
	OwnerID     string // responsible person of a service account
	TimeZone    string
	WorkspaceID string
	Roles       []Role // in WorkspaceID
	Scopes      []Scope
	Channel     Channel
	TokenID     string
	TokenName   string
	TokenBy     string // who created the token; empty for the operator
	RequestID   string
	// SteppedUpAt is when the person last confirmed in this session that it is them, and SteppedUpHow by
	// what; zero when they have not.
	SteppedUpAt  Time
	SteppedUpHow Factor

	access int64 // state of the desk's users, tokens and blocks in which a token was looked at; 0: none was
}

// System is the desk itself acting in a workspace, for schedules and expiries.
func System(workspaceID string) Principal {
	return Principal{UserName: "apdesk", WorkspaceID: workspaceID, Channel: ChannelSystem}
}

// Operator is somebody at the command line of the desk's machine.
func Operator(workspaceID string) Principal {
	return Principal{UserName: "operator", WorkspaceID: workspaceID, Channel: ChannelSystem}
}

// Has says whether the principal holds one of the roles.
func (p Principal) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(p.Roles, r) })
}

// remote says whether a program acts, through REST or MCP.
func (p Principal) remote() bool { return p.Channel == ChannelAPI || p.Channel == ChannelMCP }

// IsPerson says whether a person acts in a signed-in web session: the only way to decide anything.
func (p Principal) IsPerson() bool { return p.Channel == ChannelWeb && p.Kind == KindPerson }

// NeedScope answers insufficient_scope when a token lacks the scope. Web sessions carry no scopes
// and the desk itself needs none.
func (p Principal) NeedScope(scopes ...Scope) error {
	if p.Channel == ChannelWeb || p.Channel == ChannelSystem {
		return nil
	}
	for _, s := range scopes {
		if !Grants(p.Scopes, s) {
			return E(InsufficientScope, fmt.Sprintf("The token %q lacks the scope %s. Ask its owner for a token with that scope.", p.TokenName, s),
				map[string]any{"scope": string(s)})
		}
	}
	return nil
}

// NeedRole answers insufficient_permission when the user holds none of the roles.
func (p Principal) NeedRole(roles ...Role) error {
	if p.Channel == ChannelSystem || p.Has(roles...) {
		return nil
	}
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return E(InsufficientPermission, fmt.Sprintf("%s needs the role %s in workspace %s. An admin of the workspace can grant it.",
		p.UserName, strings.Join(names, " or "), p.WorkspaceID), map[string]any{"permission": names[0], "workspace_id": p.WorkspaceID})
}

// NeedPerson refuses tokens where only a person in the browser may decide.
func (p Principal) NeedPerson() error {
	if p.IsPerson() {
		return nil
	}
	return E(InsufficientPermission, "Only a person signed in to the desk's pages can decide this; no token of any scope can.",
		map[string]any{"permission": "signed_in_person"})
}

// needEditor lets a signed-in person with one of the roles change settings, and the operator at the
// command line.
func (p Principal) needEditor(roles ...Role) error {
	if p.Channel == ChannelSystem {
		return nil
	}
	if err := p.NeedPerson(); err != nil {
		return err
	}
	return p.NeedRole(roles...)
}
