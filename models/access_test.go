package models_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// agentAt opens a desk twice, as two replicas or a desk and the command line do, and gives out a token.
func agentAt(t *testing.T, url string) (desk, other *models.Store, secret string, robot models.User) {
	t.Helper()
	clock := modelstest.NewClock()
	desk, other = modelstest.Open(t, url, clock), modelstest.Open(t, url, clock)
	w := newTokenWorld(t, desk)
	secret, _, err := w.issue(t, w.adam, "robot@example.com", 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return desk, other, secret, w.robot
}

func does(t *testing.T, store *models.Store, statement string, args ...any) {
	t.Helper()
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

const forbid = "INSERT INTO security_blocks (workspace_id, action, channel, author_name, created_at) VALUES ('1000', 'get_case', 'mcp', 'Olga', '2026-10-05 08:00:00')"

// What a desk keeps in memory of who may do what never outlives a change, whoever makes it.
func TestWhatIsKeptOfATokenEndsWithAnyChange(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		desk, other, secret, robot := agentAt(t, url)
		look := func() (models.Principal, error) {
			id, err := desk.IdentityByToken(t.Context(), secret)
			if err != nil {
				return models.Principal{}, err
			}
			return id.As("1000", models.ChannelMCP, "req_1")
		}
		may := func() error {
			by, err := look()
			if err != nil {
				return err
			}
			return desk.CheckBlocked(t.Context(), by, "get_case")
		}
		for range 2 { // looked up, and kept
			if by, err := look(); err != nil || !slices.Equal(by.Roles, []models.Role{models.RoleAgent}) || may() != nil {
				t.Fatalf("an agent with its token: %+v, %v, %v", by, err, may())
			}
		}
		for _, c := range []struct {
			change, back string
			code         models.Code
		}{
			{"UPDATE tokens SET revoked_at = '2026-10-05 07:00:00' WHERE user_id = ?", "UPDATE tokens SET revoked_at = NULL WHERE user_id = ?", models.Unauthenticated},
			{"UPDATE tokens SET expires_at = '2026-10-05 07:00:00' WHERE user_id = ?", "UPDATE tokens SET expires_at = NULL WHERE user_id = ?", models.Unauthenticated},
			{"UPDATE users SET active = FALSE WHERE id = ?", "UPDATE users SET active = TRUE WHERE id = ?", models.Unauthenticated},
			{"UPDATE memberships SET active = FALSE WHERE user_id = ?", "UPDATE memberships SET active = TRUE WHERE user_id = ?", models.MembershipInactive},
			{forbid, "DELETE FROM security_blocks", models.SecurityBlocked},
		} {
			args := []any{robot.ID}
			if c.change == forbid {
				args = nil
			}
			does(t, other, c.change, args...)
			if err := may(); !models.IsCode(err, c.code) {
				t.Errorf("after %q: %v, want %s", c.change, err, c.code)
			}
			does(t, other, c.back, args...)
			if err := may(); err != nil {
				t.Errorf("after %q: %v", c.back, err)
			}
		}

		does(t, other, "INSERT INTO membership_roles (user_id, workspace_id, role) VALUES (?, '1000', 'erp')", robot.ID)
		if by, err := look(); err != nil || !by.Has(models.RoleERP) {
			t.Errorf("after a role was given: %v, %v", by.Roles, err)
		}
		does(t, other, "DELETE FROM membership_roles WHERE user_id = ?", robot.ID)
		if by, err := look(); err != nil || len(by.Roles) != 0 {
			t.Errorf("after the roles were taken: %v, %v", by.Roles, err)
		}
		does(t, other, "DELETE FROM tokens WHERE user_id = ?", robot.ID)
		if _, err := look(); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("after the token was deleted: %v", err)
		}
	})
}

// Every column of what is kept counts, also one that comes later. That a token was used is written all the time
// and must not.
func TestEveryColumnOfAccessCounts(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		desk, _, _, _ := agentAt(t, url)
		does(t, desk, forbid)
		state := func() (n int64) {
			t.Helper()
			err := desk.View(t.Context(), operator, func(tx *models.Tx) error { return tx.DB.Raw("SELECT n FROM access_changes").Scan(&n).Error })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		columns := func(table string) (names []string) {
			t.Helper()
			err := desk.View(t.Context(), operator, func(tx *models.Tx) error {
				rows, err := tx.DB.Raw("SELECT * FROM " + table + " LIMIT 1").Rows()
				if err != nil {
					return err
				}
				defer rows.Close()
				names, err = rows.Columns()
				return errors.Join(err, rows.Err())
			})
			if err != nil || len(names) < 3 {
				t.Fatal(table, names, err)
			}
			return names
		}
		for _, table := range []string{"users", "memberships", "membership_roles", "tokens", "security_blocks"} {
			for _, column := range columns(table) {
				before := state()
				does(t, desk, "UPDATE "+table+" SET "+column+" = "+column)
				if rose, want := state() > before, table+"."+column != "tokens.last_used_at"; rose != want {
					t.Errorf("%s.%s: the change counts: %v, want %v", table, column, rose, want)
				}
			}
		}
	})
}

// Calls that look at the same time never keep what was before a change for what is after it.
func TestAChangeIsSeenWhileOthersLook(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		desk, other, secret, robot := agentAt(t, url)
		ctx, stop := context.WithCancel(t.Context())
		var looking sync.WaitGroup
		defer looking.Wait()
		defer stop()
		for range 3 {
			looking.Go(func() {
				for ctx.Err() == nil {
					if _, err := desk.IdentityByToken(ctx, secret); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i := range 40 {
			change := "INSERT INTO membership_roles (user_id, workspace_id, role) VALUES (?, '1000', 'erp')"
			if i%2 == 1 {
				change = "DELETE FROM membership_roles WHERE user_id = ? AND role = 'erp'"
			}
			does(t, other, change, robot.ID)
			id, err := desk.IdentityByToken(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			by, err := id.As("1000", models.ChannelAPI, "req_1")
			if err != nil || by.Has(models.RoleERP) != (i%2 == 0) {
				t.Fatalf("after change %d the roles are %v, %v", i, by.Roles, err)
			}
		}
	})
}

// Whoever is handed an identity may change it without changing what others are handed.
func TestAnIdentityIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	desk, _, secret, _ := agentAt(t, modelstest.SQLiteURL(t))
	for range 3 {
		id, err := desk.IdentityByToken(t.Context(), secret)
		if err != nil || id.Token.Name != "nightly" || id.Memberships[0].WorkspaceID != "1000" || id.Memberships[0].Roles[0] != models.RoleAgent {
			t.Fatalf("%+v, %v", id, err)
		}
		id.Memberships[0].Roles[0] = models.RoleAdmin
		id.Token.Name, id.Memberships[0].WorkspaceID = "spoilt", "2000"
	}
}
