package models

import (
	"context"
	"database/sql"
	"slices"
	"sync"
)

// access keeps who is let in with which token, and what workspaces forbid, since every call asks for both. What
// it keeps is of one state of the database, named by the number that triggers raise with every change of the
// tables behind it, whoever makes it. Every call reads that number anew and takes nothing that another one names,
// so that what was revoked is refused from that moment, as if nothing were kept.
type access struct {
	mu         sync.RWMutex
	state      int64
	identities map[credential]Identity
	blocks     map[block]bool // nil: not read yet in this state
}

// credential is how an identity was looked up: by which column, and its value.
type credential struct{ key, value string }

// block is an action that a workspace forbids on a channel.
type block struct {
	workspaceID, action string
	channel             Channel
}

// keptIdentities bounds how many are kept; with one more, all are looked up anew.
const keptIdentities = 10_000

// accessState is the number of the state of users, roles, tokens and blocks that is committed now.
func (s *Store) accessState(ctx context.Context) (state int64, err error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT n FROM access_changes")
	if err != nil {
		return 0, err
	}
	err = firstRow(rows, &state)
	return state, err
}

// identity is what was kept of a credential in a state.
func (a *access) identity(state int64, by credential) (Identity, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	id, ok := a.identities[by]
	if !ok || a.state != state {
		return Identity{}, false
	}
	return id.apart(), true
}

// apart is the same identity of a token, with nothing that both hold.
func (id Identity) apart() Identity {
	token := *id.Token
	id.Token = &token
	id.Memberships = slices.Clone(id.Memberships)
	for i := range id.Memberships {
		id.Memberships[i].Roles = slices.Clone(id.Memberships[i].Roles)
	}
	return id
}

// keep takes down an identity that was read with its state.
func (a *access) keep(state int64, by credential, id Identity) {
	id = id.apart()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(state)
	if a.state != state {
		return
	}
	if a.identities == nil || len(a.identities) >= keptIdentities {
		a.identities = map[credential]Identity{}
	}
	a.identities[by] = id
}

// turn forgets what was kept of an earlier state.
func (a *access) turn(state int64) {
	if state > a.state {
		a.state, a.identities, a.blocks = state, nil, nil
	}
}

// blocked says whether the workspace forbids an action in a state; known: whether that is kept.
func (a *access) blocked(state int64, b block) (blocked, known bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.blocks[b], a.blocks != nil && a.state == state
}

func (a *access) keepBlocks(state int64, blocks map[block]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn(state)
	if a.state == state {
		a.blocks = blocks
	}
}

// readBlocks reads what all workspaces forbid, and of which state that is, in one statement.
func (s *Store) readBlocks(ctx context.Context) (state int64, blocks map[block]bool, err error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT a.n, b.workspace_id, b.action, b.channel FROM access_changes a LEFT JOIN security_blocks b ON 1 = 1`)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	blocks = map[block]bool{}
	for rows.Next() {
		var workspace, action, channel sql.NullString
		if err := rows.Scan(&state, &workspace, &action, &channel); err != nil {
			return 0, nil, err
		}
		if workspace.Valid {
			blocks[block{workspace.String, action.String, Channel(channel.String)}] = true
		}
	}
	return state, blocks, rows.Err()
}
