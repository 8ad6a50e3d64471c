package models_test

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestAnInvitationIsUsedOnce(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		adam := admin(t, store, "adam")
		invite := func(by models.Principal, email string, roles ...models.Role) (in models.Invited, err error) {
			err = try(t, store, by, func(tx *models.Tx) error {
				in, err = tx.Invite(models.NewUser{Email: email, Name: "Nora", TimeZone: "Europe/Lisbon", Roles: roles})
				return err
			})
			return in, err
		}
		spent := func(what, secret string) {
			t.Helper()
			for name, err := range map[string]error{"opened": func() error { _, err := store.OpenLink(t.Context(), secret); return err }(), "used": func() error {
				_, err := store.UseLink(t.Context(), secret, "Eve", "another horse of mine")
				return err
			}()} {
				if ne, ok := models.AsNamed(err); !ok || ne.Code != models.NotFound || !strings.Contains(ne.Message, "not good any more") {
					t.Errorf("%s is %s: %v", what, name, err)
				}
			}
		}

		first, err := invite(adam, "nora@example.com", models.RoleAPClerk)
		if err != nil || first.Secret == "" {
			t.Fatal(first, err)
		}
		second, err := invite(adam, " Nora@Example.com ", models.RoleProcurement, models.RoleAPClerk)
		if err != nil {
			t.Fatal(err)
		}
		spent("an invitation that was made anew", first.Secret)
		spent("nothing at all", "")
		list, err := store.Invitations(t.Context(), adam)
		if err != nil || len(list) != 1 || list[0].ByName != "adam" || len(list[0].Roles) != 2 {
			t.Errorf("the invitations are %+v, %v", list, err)
		}
		opened, err := store.OpenLink(t.Context(), second.Secret)
		if err != nil || opened.Email != "nora@example.com" || opened.Workspace == "" || opened.Known || opened.Kind != models.LinkInvitation {
			t.Errorf("opened: %+v, %v", opened, err)
		}
		for path, typed := range map[string][2]string{"/name": {" ", testPassword}, "/password": {"Nora Neu", "nora nora nora"}} {
			if _, err := store.UseLink(t.Context(), second.Secret, typed[0], typed[1]); !hasIssue(err, path) {
				t.Errorf("%s: %v", path, err)
			}
		}
		nora, err := store.UseLink(t.Context(), second.Secret, " Nora Neu ", testPassword)
		if err != nil || nora.Name != "Nora Neu" || nora.TimeZone != "Europe/Lisbon" {
			t.Fatal(nora, err)
		}
		spent("an invitation that was used", second.Secret)
		if _, id, err := store.SignIn(t.Context(), nora.Email, testPassword, "10.0.0.1", ""); err != nil || len(id.Memberships) != 1 || len(id.Memberships[0].Roles) != 2 {
			t.Errorf("she signs in as %+v, %v", id.Memberships, err)
		}

		// Whoever has an account by the time the link is opened keeps their password, and joins.
		secondCompany(t, store)
		other, err := invite(models.Operator("2000"), "olga@example.com", models.RoleAPLead)
		if err != nil {
			t.Fatal(err)
		}
		olga := person(t, store, models.NewUser{Email: "olga@example.com", Name: "Olga", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: quickHash(t, testPassword)})
		if opened, err := store.OpenLink(t.Context(), other.Secret); err != nil || !opened.Known {
			t.Errorf("opened: %+v, %v", opened, err)
		}
		if _, err := store.UseLink(t.Context(), other.Secret, "Eve", "eve sets a password here"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.SignIn(t.Context(), olga.Email, "eve sets a password here", "10.0.0.2", ""); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("an invitation set the password of somebody known: %v", err)
		}
		if _, id, err := store.SignIn(t.Context(), olga.Email, testPassword, "10.0.0.1", ""); err != nil || len(id.Memberships) != 2 || id.User.Name != "Olga" {
			t.Errorf("olga is %+v, %v", id, err)
		}
		// Somebody known needs no link.
		known, err := invite(adam, "olga@example.com", models.RoleProcurement)
		if err != nil || known.Secret != "" || known.User.ID != olga.ID {
			t.Errorf("inviting somebody known: %+v, %v", known, err)
		}

		late, err := invite(adam, "late@example.com", models.RoleAPClerk)
		if err != nil {
			t.Fatal(err)
		}
		gone, err := invite(adam, "gone@example.com", models.RoleAPClerk)
		if err != nil {
			t.Fatal(err)
		}
		if err := try(t, store, adam, func(tx *models.Tx) error { return tx.WithdrawInvitation(gone.Link.ID) }); err != nil {
			t.Fatal(err)
		}
		spent("an invitation that was withdrawn", gone.Secret)
		clock.Advance(models.InvitationLife)
		spent("an invitation after 72 hours", late.Secret)

		// Whoever is no admin any more invites nobody.
		admin(t, store, "ada")
		last, err := invite(adam, "last@example.com", models.RoleAdmin)
		if err != nil {
			t.Fatal(err)
		}
		if err := try(t, store, operator, func(tx *models.Tx) error { return tx.SetRoles(adam.UserID, []models.Role{models.RoleAuditor}) }); err != nil {
			t.Fatal(err)
		}
		spent("an invitation of somebody who is no admin any more", last.Secret)
	})
}

func TestWhoMayInvite(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		adam := admin(t, store, "adam")
		clerk := adam
		clerk.Roles = []models.Role{models.RoleAPLead}
		byToken := adam
		byToken.Channel = models.ChannelAPI
		for name, by := range map[string]models.Principal{"an AP lead": clerk, "a token": byToken} {
			err := try(t, store, by, func(tx *models.Tx) error {
				_, err := tx.Invite(models.NewUser{Email: "x@example.com", Roles: []models.Role{models.RoleAPClerk}})
				return err
			})
			if !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s invites: %v", name, err)
			}
			if _, err := store.Invitations(t.Context(), by); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s reads the invitations: %v", name, err)
			}
		}
		// Inviting oneself is giving oneself a role.
		err := try(t, store, adam, func(tx *models.Tx) error {
			_, err := tx.Invite(models.NewUser{Email: "adam@example.com", Roles: []models.Role{models.RoleFinanceLead}})
			return err
		})
		if !models.IsCode(err, models.Unprocessable) {
			t.Errorf("an admin invites themself: %v", err)
		}
		for path, n := range map[string]models.NewUser{"/email": {Email: "no address", Roles: []models.Role{models.RoleAPClerk}}, "/role": {Email: "x@example.com", Roles: []models.Role{"boss"}},
			"/time_zone": {Email: "x@example.com", TimeZone: "Mars", Roles: []models.Role{models.RoleAPClerk}}} {
			err := try(t, store, adam, func(tx *models.Tx) error { _, err := tx.Invite(n); return err })
			if !hasIssue(err, path) {
				t.Errorf("%s: %v", path, err)
			}
		}
		// A person's credentials are not an admin's.
		err = try(t, store, adam, func(tx *models.Tx) error { _, _, err := tx.ResetLink(adam.UserID); return err })
		if !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("an admin makes a link for a password: %v", err)
		}
	})
}

func TestALinkOfTheOperatorSetsANewPasswordOnce(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: quickHash(t, testPassword)})
		session, _, err := store.SignIn(t.Context(), anna.Email, testPassword, "10.0.0.1", "")
		if err != nil {
			t.Fatal(err)
		}
		reset := func() (secret string) {
			t.Helper()
			err := try(t, store, models.Operator(""), func(tx *models.Tx) error {
				var err error
				secret, _, err = tx.ResetLink(anna.ID)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		old, link := reset(), reset()
		if _, err := store.OpenLink(t.Context(), old); !models.IsCode(err, models.NotFound) {
			t.Errorf("the link before is answered %v", err)
		}
		if opened, err := store.OpenLink(t.Context(), link); err != nil || opened.Kind != models.LinkReset || opened.Email != anna.Email {
			t.Errorf("opened: %+v, %v", opened, err)
		}
		if _, err := store.IdentityBySession(t.Context(), session); err != nil {
			t.Errorf("opening the link ended her session: %v", err)
		}
		for range 10 { // so that she is locked out here
			if _, _, err := store.SignIn(t.Context(), anna.Email, "forgotten", "10.0.0.1", ""); !models.IsCode(err, models.Unauthenticated) {
				t.Fatal(err)
			}
		}
		if _, err := store.UseLink(t.Context(), link, "Eve", "another horse of mine"); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityBySession(t.Context(), session); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("her session lives on: %v", err)
		}
		if _, id, err := store.SignIn(t.Context(), anna.Email, "another horse of mine", "10.0.0.1", ""); err != nil || id.User.Name != "Anna" {
			t.Errorf("the new password: %v, %v", id.User.Name, err)
		}
		if _, err := store.UseLink(t.Context(), link, "", "yet another horse of mine"); !models.IsCode(err, models.NotFound) {
			t.Errorf("a second time: %v", err)
		}
		late := reset()
		clock.Advance(models.ResetLife)
		if _, err := store.OpenLink(t.Context(), late); !models.IsCode(err, models.NotFound) {
			t.Errorf("after an hour: %v", err)
		}
		// The operator's own command makes a link worthless too.
		other := reset()
		if err := try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.SetPassword(anna.ID, quickHash(t, testPassword)) }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.OpenLink(t.Context(), other); !models.IsCode(err, models.NotFound) {
			t.Errorf("after the operator set a password: %v", err)
		}
		got := events(t, store, anna.ID)
		if got["person.reset_link_made"] != 4 || got["person.password_set"] != 2 {
			t.Errorf("the trail has %v", got)
		}
		var kept int64
		err = store.View(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Raw("SELECT count(*) FROM one_time_links WHERE hash IN ?", []string{link, other, late}).Row().Scan(&kept)
		})
		if err != nil || kept != 0 {
			t.Errorf("%d secrets are kept as they are (%v)", kept, err)
		}
	})
}

func hasIssue(err error, path string) bool {
	ne, ok := models.AsNamed(err)
	if !ok {
		return false
	}
	issues, _ := ne.Details["issues"].([]models.Issue)
	for _, is := range issues {
		if is.Path == path {
			return true
		}
	}
	return false
}
