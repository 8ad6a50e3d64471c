package models_test

import (
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// quickHash is a hash of a password that costs next to nothing to compare.
func quickHash(t *testing.T, password string) string {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// events are the actions of the trail of workspace 1000 about somebody, counted.
func events(t *testing.T, store *models.Store, subject string) map[string]int {
	t.Helper()
	list, _, err := store.Trail(t.Context(), operator, models.TrailFilter{Subject: subject, Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range list {
		n[e.Action]++
	}
	return n
}

func TestFailingElsewhereLocksNobodyOutOfTheirOwnBrowser(t *testing.T) {
	t.Parallel()
	hash := quickHash(t, testPassword)
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: hash})
		home := models.KnownDevice{ID: "annas-own-browser", UserID: anna.ID, Epoch: models.DeviceEpoch(anna)}
		try := func(password, address string, known ...models.KnownDevice) error {
			_, _, err := store.SignIn(t.Context(), anna.Email, password, address, "", known...)
			return err
		}
		for i := range 10 {
			if err := try("guess", "203.0.113.9"); !models.IsCode(err, models.Unauthenticated) {
				t.Fatalf("guess %d: %v", i+1, err)
			}
		}
		locked := try(testPassword, "203.0.113.9")
		if ne, ok := models.AsNamed(locked); !ok || ne.Code != models.RateLimited || ne.Details["retry_after_seconds"] != 30 {
			t.Errorf("after ten guesses: %v", locked)
		}
		if err := try(testPassword, "203.0.113.9", home); err != nil {
			t.Errorf("in her own browser, at the attacker's own address: %v", err)
		}
		if err := try(testPassword, "198.51.100.7"); err != nil {
			t.Errorf("from another address: %v", err)
		}
		// An unread notice and one event tell of it, however long it goes on.
		got := events(t, store, anna.ID)
		if got["person.sign_in_locked"] != 1 || got["person.sign_in_failed"] != 10 {
			t.Errorf("the trail has %v", got)
		}
		by := models.Principal{UserID: anna.ID, WorkspaceID: "1000", Kind: models.KindPerson, Channel: models.ChannelWeb}
		if list, _, err := store.Notices(t.Context(), by, ""); err != nil || len(list) != 1 || list[0].Kind != models.NoticeSignInLocked {
			t.Errorf("she is told %v, %v", list, err)
		}

		// The delay doubles with each failure.
		clock.Advance(30 * time.Second)
		if err := try("guess", "203.0.113.9"); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("after the delay: %v", err)
		}
		again := try(testPassword, "203.0.113.9")
		if ne, ok := models.AsNamed(again); !ok || ne.Details["retry_after_seconds"] != 60 {
			t.Errorf("the second delay: %v", again)
		}
		// The right password is let in when it is over, and the address starts anew.
		clock.Advance(time.Minute)
		if err := try(testPassword, "203.0.113.9"); err != nil {
			t.Errorf("after the second delay: %v", err)
		}
		if err := try("guess", "203.0.113.9"); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("one failure after a sign-in: %v", err)
		}
		if err := try(testPassword, "203.0.113.9"); err != nil {
			t.Errorf("and the right password: %v", err)
		}
	})
}

func TestGuessesFromManyAddressesAreCountedForTheAccountAndNotForItsOwnBrowsers(t *testing.T) {
	t.Parallel()
	hash := quickHash(t, testPassword)
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: hash})
		home := models.KnownDevice{ID: "annas-own-browser", UserID: anna.ID, Epoch: models.DeviceEpoch(anna)}
		// What a botnet did before, without the cost of a hash for each guess.
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Exec("INSERT INTO sign_in_limits (subject, kind, email, failures, last_at, blocked_until) VALUES (?, 'account', ?, 29, ?, ?)",
				"account:"+models.HashSecret(anna.Email), anna.Email, tx.Now, tx.Now).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		try := func(email, password, address string, known ...models.KnownDevice) error {
			_, _, err := store.SignIn(t.Context(), email, password, address, "", known...)
			return err
		}
		if err := try(anna.Email, "guess", "203.0.113.30"); !models.IsCode(err, models.Unauthenticated) {
			t.Fatalf("the thirtieth guess: %v", err)
		}
		if err := try(anna.Email, "guess", "203.0.113.31"); !models.IsCode(err, models.RateLimited) {
			t.Errorf("one from a fresh address: %v", err)
		}
		if err := try(anna.Email, testPassword, "198.51.100.7", home); err != nil {
			t.Errorf("she in her own browser: %v", err)
		}
		// A device is hers alone, and only with the password it was made known with.
		for name, d := range map[string]models.KnownDevice{"another's device": {ID: home.ID, UserID: "usr_other", Epoch: home.Epoch}, "one from before a new password": {ID: home.ID, UserID: anna.ID, Epoch: "0"},
			"one without a name": {UserID: anna.ID, Epoch: home.Epoch}} {
			if err := try(anna.Email, testPassword, "198.51.100.8", d); !models.IsCode(err, models.RateLimited) {
				t.Errorf("%s: %v", name, err)
			}
		}
		locks, err := store.SignInLocks(t.Context(), operator, "Anna@example.com")
		if err != nil || len(locks) != 2 || locks[0].Failures+locks[1].Failures != 31 {
			t.Errorf("the operator sees %+v, %v", locks, err)
		}
		if _, err := store.SignInLocks(t.Context(), models.Principal{UserID: "x", WorkspaceID: "1000", Roles: []models.Role{models.RoleAdmin}, Channel: models.ChannelWeb}, ""); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("an admin sees it: %v", err)
		}
		var n int64
		err = store.InTx(t.Context(), models.Operator(""), func(tx *models.Tx) error {
			n, err = tx.ClearSignInLocks(anna.Email, "")
			return err
		})
		if err != nil || n != 2 || events(t, store, anna.ID)["person.sign_in_unlocked"] != 1 {
			t.Errorf("cleared %d, %v, %v", n, err, events(t, store, anna.ID))
		}
		if err := try(anna.Email, testPassword, "203.0.113.32"); err != nil {
			t.Errorf("once cleared, from anywhere: %v", err)
		}
	})
}

func TestSomebodyUnknownIsSlowedDownLikeSomebodyKnown(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}, PasswordHash: quickHash(t, testPassword)})
		// Whatever address of one network of IPv6 they take.
		addresses := []string{"2001:db8:1:2::1", "2001:db8:1:2::ffff", "2001:db8:1:2:3:4:5:6"}
		for _, email := range []string{"anna@example.com", "nobody@example.com"} {
			for i := range 10 {
				if _, _, err := store.SignIn(t.Context(), email, "", addresses[i%3], ""); !models.IsCode(err, models.Unauthenticated) {
					t.Errorf("%s, guess %d: %v", email, i+1, err)
				}
			}
			_, _, err := store.SignIn(t.Context(), email, "", addresses[0], "")
			if ne, ok := models.AsNamed(err); !ok || ne.Code != models.RateLimited || ne.Message != "Too many failed sign-ins. Wait a while and try again." || ne.Details["retry_after_seconds"] != 30 {
				t.Errorf("%s: %v", email, err)
			}
		}
	})
}

func TestAnAddressCountsForWhatOneCustomerIsGiven(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "": "", "pipe": "pipe"} {
		if got := models.NetworkOf(address); got != want {
			t.Errorf("%s counts for %s", address, got)
		}
	}
}
