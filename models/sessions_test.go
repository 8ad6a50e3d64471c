package models_test

import (
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// Who knew the password a moment ago and stands before the question for the passkey is out as well.
func TestWhatEndsSessionsEndsSignInsThatWaitForAPasskey(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, _ *modelstest.Clock) {
		company(t, store)
		const next = "another horse of mine"
		for name, end := range map[string]func(anna models.User, open models.Identity) error{
			"a password of her own": func(_ models.User, open models.Identity) error {
				_, err := store.ChangePassword(t.Context(), open, testPassword, next)
				return err
			},
			"ending the other sessions": func(_ models.User, open models.Identity) error {
				_, err := store.EndOtherSessions(t.Context(), open)
				return err
			},
			"a password of the operator": func(anna models.User, _ models.Identity) error {
				return try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.SetPassword(anna.ID, quickHash(t, next)) })
			},
			"a link of the operator": func(anna models.User, _ models.Identity) error {
				secret := ""
				err := try(t, store, models.Operator(""), func(tx *models.Tx) (err error) {
					secret, _, err = tx.ResetLink(anna.ID)
					return err
				})
				if err != nil {
					return err
				}
				_, err = store.UseLink(t.Context(), secret, "", next)
				return err
			},
			"removing her passkeys": func(anna models.User, _ models.Identity) error {
				return try(t, store, models.Operator(""), func(tx *models.Tx) error { return tx.RemovePasskeys(anna.ID) })
			},
		} {
			email := models.HashSecret(name)[:12] + "@example.com"
			anna := person(t, store, models.NewUser{Email: email, Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: quickHash(t, testPassword)})
			_, open, err := store.SignIn(t.Context(), email, testPassword, "10.0.0.1", "")
			if err != nil {
				t.Fatal(err)
			}
			err = try(t, store, operator, func(tx *models.Tx) error {
				return tx.DB.Create(&models.Passkey{ID: "pk_" + email, UserID: anna.ID, CredentialID: email, Name: "key", Credential: "{}", CreatedAt: tx.Now}).Error
			})
			if err != nil {
				t.Fatal(err)
			}
			half, id, err := store.SignIn(t.Context(), email, testPassword, "10.0.0.2", "")
			if err != nil || id.Session != nil {
				t.Fatalf("a sign-in with a passkey ends with %v, %v", id.Session, err)
			}
			if user, err := store.HalfSignedIn(t.Context(), half); err != nil || user.ID != anna.ID {
				t.Fatalf("the sign-in does not wait: %v", err)
			}
			if err := end(anna, open); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := store.HalfSignedIn(t.Context(), half); !models.IsCode(err, models.Unauthenticated) {
				t.Errorf("after %s the sign-in still waits: %v", name, err)
			}
		}
	})
}
