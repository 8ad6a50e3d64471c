package models_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// admin is an admin of workspace 1000, signed in to the pages.
func admin(t *testing.T, store *models.Store, name string) models.Principal {
	t.Helper()
	u := person(t, store, models.NewUser{Email: name + "@example.com", Name: name, Roles: []models.Role{models.RoleAdmin}})
	return models.Principal{UserID: u.ID, UserName: u.Name, Email: u.Email, Kind: u.Kind, WorkspaceID: "1000", Roles: []models.Role{models.RoleAdmin}, Channel: models.ChannelWeb}
}

func try(t *testing.T, store *models.Store, by models.Principal, fn func(*models.Tx) error) error {
	t.Helper()
	return store.InTx(t.Context(), by, fn)
}

func secondCompany(t *testing.T, store *models.Store, users ...models.NewUser) {
	t.Helper()
	err := store.InTx(t.Context(), models.Operator("2000"), func(tx *models.Tx) error {
		if err := tx.CreateWorkspace(models.Workspace{ID: "2000", Name: "Nordwind KK", TimeZone: "Asia/Tokyo", Currency: "JPY"}); err != nil {
			return err
		}
		for _, n := range users {
			if _, _, err := tx.CreateUser(n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func token(t *testing.T, store *models.Store, email string) string {
	t.Helper()
	var secret string
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		var err error
		secret, _, err = tx.CreateToken(models.NewToken{UserEmail: email, Name: "laptop", Scopes: []models.Scope{models.ScopeAll}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

const testPassword = "correct horse battery staple"

func TestWhoLeavesTheirLastWorkspaceIsSignedOutAndTheirTokensEnd(t *testing.T) {
	t.Parallel()
	hash, err := models.HashPassword(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam := admin(t, store, "adam")
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: hash})
		secret := token(t, store, "anna@example.com")
		session, _, err := store.SignIn(t.Context(), "anna@example.com", testPassword, "10.0.0.1", "")
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.Person(t.Context(), adam, anna.ID)
		if err != nil || !list.Active() || list.LastSignIn.IsZero() || list.LastSeen.IsZero() {
			t.Errorf("the list shows %+v, %v", list, err)
		}
		would, err := store.WhatLeaving(t.Context(), adam, anna.ID)
		if err != nil || would.Ends != (models.Credentials{Sessions: 1, Tokens: 1}) || would.Elsewhere {
			t.Errorf("the preview counts %+v, %v", would, err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "left the company") }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityBySession(t.Context(), session); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the session lives on: %v", err)
		}
		if _, err := store.IdentityByToken(t.Context(), secret); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the token lives on: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), "anna@example.com", testPassword, "10.0.0.1", ""); !models.IsCode(err, models.MembershipInactive) {
			t.Errorf("signing in is answered %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), "anna@example.com", "something else entirely", "10.0.0.1", ""); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("a wrong password is answered %v", err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") }); !models.IsCode(err, models.Conflict) {
			t.Errorf("a second time is answered %v", err)
		}
		_, _, err = func() (u models.User, isNew bool, err error) {
			err = try(t, store, adam, func(tx *models.Tx) error {
				u, isNew, err = tx.AddMember(models.NewUser{Email: "anna@example.com", Roles: []models.Role{models.RoleAPLead}})
				return err
			})
			return u, isNew, err
		}()
		if !models.IsCode(err, models.Conflict) {
			t.Errorf("adding somebody who was sent away is answered %v", err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.ReactivateMember(anna.ID) }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityByToken(t.Context(), secret); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the token came back: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), "anna@example.com", testPassword, "10.0.0.1", ""); err != nil {
			t.Errorf("after the reactivation: %v", err)
		}
		acts, err := store.RecentActs(t.Context(), adam, adam.UserID, 10)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, e := range acts {
			said = append(said, e.Action)
		}
		if !slices.Equal(said, []string{"membership.reactivated", "membership.deactivated"}) {
			t.Errorf("the trail says %v", said)
		}
		if !strings.Contains(acts[1].Data, `"reason":"left the company"`) || !strings.Contains(acts[1].Data, `"tokens_revoked":1`) {
			t.Errorf("the trail keeps %s", acts[1].Data)
		}
	})
}

func TestAnAdminEndsNoCredentialsThatStillWorkElsewhere(t *testing.T) {
	t.Parallel()
	hash, err := models.HashPassword(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam := admin(t, store, "adam")
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: hash})
		secondCompany(t, store, models.NewUser{Email: "anna@example.com", Roles: []models.Role{models.RoleProcurement}})
		secret := token(t, store, "anna@example.com")
		session, id, err := store.SignIn(t.Context(), "anna@example.com", testPassword, "10.0.0.1", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SelectWorkspace(t.Context(), id, "1000"); err != nil {
			t.Fatal(err)
		}
		if would, err := store.WhatLeaving(t.Context(), adam, anna.ID); err != nil || !would.Elsewhere || would.Ends != (models.Credentials{}) {
			t.Errorf("the preview counts %+v, %v", would, err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") }); err != nil {
			t.Fatal(err)
		}
		id, err = store.IdentityBySession(t.Context(), session)
		if err != nil || !slices.Equal(id.Reachable(), []string{"2000"}) || id.Session.WorkspaceID != nil {
			t.Errorf("the session reaches %v and shows %v (%v)", id.Reachable(), id.Session, err)
		}
		id, err = store.IdentityByToken(t.Context(), secret)
		if err != nil || !slices.Equal(id.Reachable(), []string{"2000"}) {
			t.Errorf("the token reaches %v (%v)", id.Reachable(), err)
		}
		if _, err := id.As("1000", models.ChannelAPI, ""); !models.IsCode(err, models.MembershipInactive) {
			t.Errorf("the lost workspace answers %v", err)
		}
		// The operator ends everything everywhere, and takes it back.
		if err := try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.DeactivateUser(anna.ID, "") }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityByToken(t.Context(), secret); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the token lives on: %v", err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.ReactivateMember(anna.ID) }); !models.IsCode(err, models.Unprocessable) {
			t.Errorf("an admin took back what the operator did: %v", err)
		}
		if err := try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.ReactivateUser(anna.ID) }); err != nil {
			t.Fatal(err)
		}
		if err := try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.ReactivateUser(anna.ID) }); !models.IsCode(err, models.Conflict) {
			t.Errorf("a second time is answered %v", err)
		}
		for _, ws := range []string{"1000", "2000"} {
			p, err := store.Person(t.Context(), models.Operator(ws), anna.ID)
			if err != nil || p.Active() != (ws == "2000") {
				t.Errorf("in %s: %+v, %v", ws, p, err)
			}
		}
	})
}

func TestTheLastActiveAdminStays(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam, berta := admin(t, store, "adam"), admin(t, store, "berta")
		if err := try(t, store, berta, func(tx *models.Tx) error { return tx.SetRoles(adam.UserID, []models.Role{models.RoleAuditor}) }); err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func(*models.Tx) error{
			"deactivated in the workspace": func(tx *models.Tx) error { return tx.DeactivateMember(berta.UserID, "") },
			"deactivated everywhere":       func(tx *models.Tx) error { return tx.DeactivateUser(berta.UserID, "") },
			"robbed of the role":           func(tx *models.Tx) error { return tx.SetRoles(berta.UserID, []models.Role{models.RoleAPLead}) },
		} {
			err := try(t, store, operator, change)
			if !models.IsCode(err, models.Unprocessable) || !strings.Contains(err.Error(), "last active admin") {
				t.Errorf("the last admin was %s: %v", what, err)
			}
		}
		// With a second one again, the first may go.
		if err := try(t, store, berta, func(tx *models.Tx) error {
			return tx.SetRoles(adam.UserID, []models.Role{models.RoleAdmin, models.RoleAuditor})
		}); err != nil {
			t.Fatal(err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.DeactivateMember(berta.UserID, "") }); err != nil {
			t.Errorf("one of two admins stays for ever: %v", err)
		}
	})
}

func TestTwoAdminsWhoDeactivateEachOtherLeaveOne(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam, berta := admin(t, store, "adam"), admin(t, store, "berta")
		done := make(chan error, 2)
		start := make(chan struct{})
		for _, pair := range [][2]models.Principal{{adam, berta}, {berta, adam}} {
			go func() {
				<-start
				done <- store.InTx(t.Context(), pair[0], func(tx *models.Tx) error { return tx.DeactivateMember(pair[1].UserID, "") })
			}()
		}
		close(start)
		first, second := <-done, <-done
		if (first == nil) == (second == nil) {
			t.Errorf("answered %v and %v, so %d admins are left", first, second, map[bool]int{true: 0, false: 2}[first == nil])
		}
	})
}

func TestOnlyAdminsChangePeopleAndNobodyThemselves(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam := admin(t, store, "adam")
		admin(t, store, "berta")
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}})
		robot := person(t, store, models.NewUser{Email: "robot@example.com", Name: "Robot", Service: true, OwnerEmail: "anna@example.com", Roles: []models.Role{models.RoleAgent}})
		secondCompany(t, store, models.NewUser{Email: "yuki@example.com", Name: "Yuki", Roles: []models.Role{models.RoleAdmin}})
		var yuki models.User
		if err := try(t, store, operator, func(tx *models.Tx) (err error) { yuki, err = tx.UserByEmail("yuki@example.com"); return err }); err != nil {
			t.Fatal(err)
		}
		lead := adam
		lead.UserID, lead.Roles = anna.ID, []models.Role{models.RoleAPLead}
		byToken := adam
		byToken.Channel, byToken.Scopes = models.ChannelAPI, []models.Scope{models.ScopeAll}
		foreign := adam
		foreign.UserID = yuki.ID // an admin of 2000 who acts in 2000
		foreign.WorkspaceID = "2000"
		for _, c := range []struct {
			what string
			by   models.Principal
			do   func(*models.Tx) error
			want models.Code
		}{
			{"an AP lead sets roles", lead, func(tx *models.Tx) error { return tx.SetRoles(robot.ID, []models.Role{models.RoleERP}) }, models.InsufficientPermission},
			{"an AP lead deactivates", lead, func(tx *models.Tx) error { return tx.DeactivateMember(robot.ID, "") }, models.InsufficientPermission},
			{"an AP lead adds", lead, func(tx *models.Tx) error {
				_, _, err := tx.AddMember(models.NewUser{Email: "new@example.com", Name: "New", Roles: []models.Role{models.RoleAdmin}})
				return err
			}, models.InsufficientPermission},
			{"a token deactivates", byToken, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") }, models.InsufficientPermission},
			{"an admin deactivates the user as such", adam, func(tx *models.Tx) error { return tx.DeactivateUser(anna.ID, "") }, models.InsufficientPermission},
			{"an admin sets a password", adam, func(tx *models.Tx) error { return tx.SetPassword(anna.ID, "x") }, models.InsufficientPermission},
			{"an admin of another workspace", foreign, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") }, models.NotFound},
			{"an admin deactivates themself", adam, func(tx *models.Tx) error { return tx.DeactivateMember(adam.UserID, "") }, models.Unprocessable},
			{"an admin gives themself a role", adam, func(tx *models.Tx) error {
				return tx.SetRoles(adam.UserID, []models.Role{models.RoleAdmin, models.RoleFinanceLead})
			}, models.Unprocessable},
			{"an admin adds themself with a role", adam, func(tx *models.Tx) error {
				_, _, err := tx.AddMember(models.NewUser{Email: "ADAM@example.com", Roles: []models.Role{models.RoleFinanceLead}})
				return err
			}, models.Unprocessable},
			{"an admin adds themself in another spelling", adam, func(tx *models.Tx) error {
				_, _, err := tx.AddMember(models.NewUser{Email: " <Adam@example.com> ", Roles: []models.Role{models.RoleFinanceLead}})
				return err
			}, models.Unprocessable},
			{"a service account is added as a clerk in another spelling", adam, func(tx *models.Tx) error {
				_, _, err := tx.AddMember(models.NewUser{Email: "<robot@example.com>", Roles: []models.Role{models.RoleAPClerk}})
				return err
			}, models.ValidationError},
			{"no role is left", adam, func(tx *models.Tx) error { return tx.SetRoles(anna.ID, nil) }, models.ValidationError},
			{"a role that is none", adam, func(tx *models.Tx) error { return tx.SetRoles(anna.ID, []models.Role{"boss"}) }, models.ValidationError},
			{"a service account becomes a finance lead", adam, func(tx *models.Tx) error { return tx.SetRoles(robot.ID, []models.Role{models.RoleFinanceLead}) }, models.ValidationError},
			{"a service account is added as a clerk", adam, func(tx *models.Tx) error {
				_, _, err := tx.AddMember(models.NewUser{Email: "robot@example.com", Roles: []models.Role{models.RoleAPClerk}})
				return err
			}, models.ValidationError},
			{"nobody", adam, func(tx *models.Tx) error { return tx.DeactivateMember("usr_nobody", "") }, models.NotFound},
			{"a reason without end", adam, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, strings.Repeat("x", 1001)) }, models.ValidationError},
		} {
			if err := try(t, store, c.by, c.do); !models.IsCode(err, c.want) {
				t.Errorf("%s: answered %v, want %s", c.what, err, c.want)
			}
		}
		// A person may be a caller too.
		if err := try(t, store, adam, func(tx *models.Tx) error {
			return tx.SetRoles(anna.ID, []models.Role{models.RoleAgent, models.RoleAPClerk, models.RoleAgent})
		}); err != nil {
			t.Error(err)
		}
		p, err := store.Person(t.Context(), adam, anna.ID)
		if err != nil || !slices.Equal(p.Roles, []models.Role{models.RoleAgent, models.RoleAPClerk}) {
			t.Errorf("Anna is %v, %v", p.Roles, err)
		}
	})
}

func TestHooksSeeWhoChangedInEachWorkspace(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		var seen []string
		store.OnPeopleChanged(func(tx *models.Tx, ids ...string) error {
			members, err := tx.Members(ids...)
			state := "gone"
			if len(members) == 1 {
				state = string(members[0].Roles[0])
			}
			seen = append(seen, tx.By.WorkspaceID+" "+state)
			return err
		})
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}})
		secondCompany(t, store, models.NewUser{Email: "anna@example.com", Roles: []models.Role{models.RoleAuditor}})
		for _, change := range []func(*models.Tx) error{
			func(tx *models.Tx) error { return tx.SetRoles(anna.ID, []models.Role{models.RoleProcurement}) },
			func(tx *models.Tx) error { return tx.DeactivateUser(anna.ID, "") },
			func(tx *models.Tx) error { return tx.ReactivateUser(anna.ID) },
			func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") },
			func(tx *models.Tx) error { return tx.ReactivateMember(anna.ID) },
		} {
			if err := try(t, store, operator, change); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"1000 ap_clerk", "2000 auditor", "1000 procurement", "1000 gone", "2000 gone", "1000 procurement", "2000 auditor", "1000 gone", "1000 procurement"}
		if !slices.Equal(seen, want) {
			t.Errorf("seen %v, want %v", seen, want)
		}
	})
}

func TestAServiceAccountShowsWhoAnswersForIt(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam := admin(t, store, "adam")
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}})
		robot := person(t, store, models.NewUser{Email: "robot@example.com", Name: "Robot", Service: true, OwnerEmail: "anna@example.com", Roles: []models.Role{models.RoleAgent}})
		p, err := store.Person(t.Context(), adam, robot.ID)
		if err != nil || p.OwnerName != "Anna" || !p.OwnerActive {
			t.Errorf("shown is %+v, %v", p, err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.DeactivateMember(anna.ID, "") }); err != nil {
			t.Fatal(err)
		}
		p, err = store.Person(t.Context(), adam, robot.ID)
		if err != nil || p.OwnerName != "Anna" || p.OwnerActive || !p.Active() {
			t.Errorf("shown is %+v, %v", p, err)
		}
		if _, err := store.People(t.Context(), models.Principal{UserID: robot.ID, Roles: []models.Role{models.RoleAgent}, WorkspaceID: "1000", Channel: models.ChannelMCP}); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("an agent reads the people: %v", err)
		}
		list, err := store.People(t.Context(), adam)
		if err != nil || len(list) != 3 || list[0].User.Name != "adam" || list[1].User.Name != "Robot" || list[2].User.Name != "Anna" {
			t.Errorf("the order is %v, %v", list, err)
		}
	})
}

func TestTheOperatorSetsAPasswordAndEndsTheSessionsOfTheOldOne(t *testing.T) {
	t.Parallel()
	old, err := models.HashPassword(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := models.HashPassword("another horse of mine")
	if err != nil {
		t.Fatal(err)
	}
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: old})
		session, _, err := store.SignIn(t.Context(), anna.Email, testPassword, "10.0.0.1", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.SetPassword(anna.ID, fresh) }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityBySession(t.Context(), session); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the session lives on: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), anna.Email, testPassword, "10.0.0.1", ""); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("the old password still works: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), anna.Email, "another horse of mine", "10.0.0.1", ""); err != nil {
			t.Errorf("the new one does not: %v", err)
		}
	})
}
