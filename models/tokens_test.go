package models_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// people of two companies, with the accounts their tokens are of.
type tokenWorld struct {
	store             *models.Store
	adam, anna        models.Principal
	robot, both, lars models.User
}

func newTokenWorld(t *testing.T, store *models.Store) tokenWorld {
	t.Helper()
	company(t, store)
	w := tokenWorld{store: store, adam: admin(t, store, "adam")}
	w.lars = person(t, store, models.NewUser{Email: "lars@example.com", Name: "Lars", Roles: []models.Role{models.RoleAPLead}})
	anna := person(t, store, models.NewUser{Email: "anna@example.com", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}})
	w.anna = models.Principal{UserID: anna.ID, UserName: anna.Name, Email: anna.Email, Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{models.RoleAPClerk}, Channel: models.ChannelWeb}
	w.robot = person(t, store, models.NewUser{Email: "robot@example.com", Name: "Robot", Service: true, OwnerEmail: "lars@example.com", Roles: []models.Role{models.RoleAgent}})
	w.both = person(t, store, models.NewUser{Email: "both@example.com", Name: "Both", Service: true, OwnerEmail: "lars@example.com", Roles: []models.Role{models.RoleAgent}})
	secondCompany(t, store, models.NewUser{Email: "both@example.com", Roles: []models.Role{models.RoleERP}})
	return w
}

func (w tokenWorld) issue(t *testing.T, by models.Principal, email string, life time.Duration) (secret string, token models.Token, err error) {
	t.Helper()
	err = w.store.InTx(t.Context(), by, func(tx *models.Tx) error {
		secret, token, err = tx.IssueToken(models.NewToken{UserEmail: email, Name: "nightly", Scopes: []models.Scope{models.ScopeAll}}, life)
		return err
	})
	return secret, token, err
}

func TestWhoMakesSeesAndEndsWhichTokens(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		w := newTokenWorld(t, store)
		own, annas, err := w.issue(t, w.anna, "anna@example.com", month)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := store.IdentityByToken(t.Context(), own); err != nil || id.User.Name != "Anna" {
			t.Errorf("her token is of %s, %v", id.User.Name, err)
		}
		_, robots, err := w.issue(t, w.adam, "robot@example.com", month)
		if err != nil || robots.CreatedByID == nil || *robots.CreatedByID != w.adam.UserID {
			t.Fatal(robots, err)
		}
		boths := operatorsToken(t, store, "both@example.com")
		for _, c := range []struct {
			name  string
			by    models.Principal
			email string
			life  time.Duration
			code  models.Code
		}{
			{"a clerk for a service account", w.anna, "robot@example.com", month, models.InsufficientPermission},
			{"an admin for another person", w.adam, "anna@example.com", month, models.ValidationError},
			{"an admin for somebody unknown", w.adam, "nobody@example.com", month, models.ValidationError},
			{"an admin for an account of another company too", w.adam, "both@example.com", month, models.Unprocessable},
			{"without an end", w.anna, "anna@example.com", 0, models.ValidationError},
			{"for two years", w.anna, "anna@example.com", 2 * models.MostTokenLife, models.ValidationError},
		} {
			if _, _, err := w.issue(t, c.by, c.email, c.life); !models.IsCode(err, c.code) {
				t.Errorf("a token made by %s: %v", c.name, err)
			}
		}

		seen := func(by models.Principal) map[string]models.TokenView {
			t.Helper()
			list, err := store.Tokens(t.Context(), by)
			if err != nil {
				t.Fatal(err)
			}
			byID := map[string]models.TokenView{}
			for _, v := range list {
				byID[v.Token.ID] = v
			}
			return byID
		}
		if got := seen(w.anna); len(got) != 1 || !got[annas.ID].MayRevoke || !got[annas.ID].MayRotate {
			t.Errorf("a clerk sees %v", got)
		}
		got := seen(w.adam)
		if len(got) != 3 || !got[annas.ID].MayRevoke || got[annas.ID].MayRotate || !got[robots.ID].MayRotate || got[boths.ID].MayRevoke || got[robots.ID].CreatedBy != "adam" {
			t.Errorf("an admin sees %+v", got)
		}
		if got := seen(models.Operator("")); len(got) != 3 || !got[boths.ID].MayRotate {
			t.Errorf("the operator sees %v", got)
		}
		byToken := w.anna
		byToken.Channel = models.ChannelAPI
		if _, err := store.Tokens(t.Context(), byToken); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("a token lists tokens: %v", err)
		}

		revoke := func(by models.Principal, id string) error {
			return store.InTx(t.Context(), by, func(tx *models.Tx) error { _, err := tx.RevokeToken(id); return err })
		}
		rotate := func(by models.Principal, id string) error {
			return store.InTx(t.Context(), by, func(tx *models.Tx) error { _, _, err := tx.RotateToken(id, models.TokenOverlap); return err })
		}
		for _, c := range []struct {
			name string
			err  error
			code models.Code
		}{
			{"a clerk revokes an account's", revoke(w.anna, robots.ID), models.NotFound},
			{"a clerk rotates an account's", rotate(w.anna, robots.ID), models.NotFound},
			{"an admin revokes one that reaches another company", revoke(w.adam, boths.ID), models.Unprocessable},
			{"an admin rotates another person's", rotate(w.adam, annas.ID), models.InsufficientPermission},
			{"a token revokes", revoke(byToken, annas.ID), models.NotFound},
			{"one that is not there", revoke(w.adam, "tok_x"), models.NotFound},
		} {
			if !models.IsCode(c.err, c.code) {
				t.Errorf("%s: %v", c.name, c.err)
			}
		}
		if err := revoke(w.adam, annas.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityByToken(t.Context(), own); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("a revoked token is answered %v", err)
		}
		if err := revoke(w.adam, annas.ID); !models.IsCode(err, models.Conflict) {
			t.Errorf("a second time: %v", err)
		}
		if list, _, err := store.Notices(t.Context(), w.anna, ""); err != nil || len(list) != 1 || list[0].Kind != models.NoticeTokenRevoked {
			t.Errorf("she is told %v, %v", list, err)
		}
	})
}

func operatorsToken(t *testing.T, store *models.Store, email string) (token models.Token) {
	t.Helper()
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		var err error
		_, token, err = tx.CreateToken(models.NewToken{UserEmail: email, Name: "nightly", Scopes: []models.Scope{models.ScopeAll}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestARotatedTokenGoesOnForTheOverlap(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		w := newTokenWorld(t, store)
		old, token, err := w.issue(t, w.adam, "robot@example.com", 90*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(40 * 24 * time.Hour)
		rotate := func(overlap time.Duration) (secret string, next models.Token, err error) {
			err = store.InTx(t.Context(), w.adam, func(tx *models.Tx) error {
				secret, next, err = tx.RotateToken(token.ID, overlap)
				return err
			})
			return secret, next, err
		}
		if _, _, err := rotate(30 * 24 * time.Hour); !hasIssue(err, "/overlap") {
			t.Errorf("a month of overlap: %v", err)
		}
		fresh, next, err := rotate(models.TokenOverlap)
		if err != nil {
			t.Fatal(err)
		}
		if next.Name != token.Name || next.Scopes != token.Scopes || next.ExpiresAt != models.At(clock.Now()).Add(90*24*time.Hour) || next.UserID != w.robot.ID {
			t.Errorf("the new token is %+v", next)
		}
		for name, secret := range map[string]string{"old": old, "new": fresh} {
			if _, err := store.IdentityByToken(t.Context(), secret); err != nil {
				t.Errorf("during the overlap the %s one is answered %v", name, err)
			}
		}
		if _, _, err := rotate(models.TokenOverlap); !models.IsCode(err, models.Conflict) {
			t.Errorf("the old one is rotated again: %v", err)
		}
		clock.Advance(models.TokenOverlap)
		if _, err := store.IdentityByToken(t.Context(), old); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("after the overlap the old one is answered %v", err)
		}
		if _, err := store.IdentityByToken(t.Context(), fresh); err != nil {
			t.Errorf("and the new one %v", err)
		}
	})
}

func TestWhoAnswersForAnAccountIsToldAWeekBeforeItsTokenEnds(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		w := newTokenWorld(t, store)
		_, ends, err := w.issue(t, w.adam, "robot@example.com", 30*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		_, rotated, err := w.issue(t, w.adam, "robot@example.com", 30*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.InTx(t.Context(), w.adam, func(tx *models.Tx) error { _, _, err := tx.RotateToken(rotated.ID, 0); return err }); err != nil {
			t.Fatal(err)
		}
		worker := models.NewWorker(store, nil, models.HouseKeeping())
		told := func() (list []models.Notice) {
			t.Helper()
			if _, err := worker.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, _, err := store.Notices(t.Context(), models.Principal{UserID: w.lars.ID, WorkspaceID: "1000"}, "")
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		clock.Advance(23*24*time.Hour - time.Minute)
		if list := told(); len(list) != 0 {
			t.Errorf("too early he is told %v", list)
		}
		clock.Advance(2 * time.Minute)
		list := told()
		if len(list) != 2 { // the one that ends, and the one that took the other's place
			t.Fatalf("he is told %v", list)
		}
		for _, n := range list {
			if n.Kind != models.NoticeTokenExpiring || n.Subject == rotated.ID {
				t.Errorf("he is told %+v", n)
			}
		}
		if list[0].Subject != ends.ID && list[1].Subject != ends.ID {
			t.Errorf("nobody is told of %s", ends.ID)
		}
	})
}

func TestTheLastUseOfATokenIsWrittenBesideTheCallsAndAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		store, err := models.Open(t.Context(), url, models.Options{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		w := newTokenWorld(t, store)
		secret, token, err := w.issue(t, w.anna, "anna@example.com", 30*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		first := models.At(clock.Now())
		for range 5 {
			if _, err := store.IdentityByToken(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			clock.Advance(10 * time.Second)
		}
		if err := store.Close(); err != nil { // writes what waits
			t.Fatal(err)
		}
		used := func(store *models.Store) (at models.Time) {
			t.Helper()
			err := store.View(t.Context(), operator, func(tx *models.Tx) error {
				return tx.Value(&at, "SELECT last_used_at FROM tokens WHERE id = ?", token.ID)
			})
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		again, err := models.Open(t.Context(), url, models.Options{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		if at := used(again); at != first {
			t.Errorf("the last use is %v, want %v", at, first)
		}
		clock.Advance(time.Minute)
		if _, err := again.IdentityByToken(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		last := modelstest.Open(t, url, clock)
		if at := used(last); at != models.At(clock.Now()) {
			t.Errorf("after a minute it is %v, want %v", at, clock.Now())
		}
	})
}

func TestAWaitLooksAtItsTokenBeforeItLooksAgain(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		store := modelstest.Open(t, url, clock)
		other := store
		if store.Postgres() {
			other = modelstest.Open(t, url, clock) // another replica
		}
		w := newTokenWorld(t, store)
		secret, token, err := w.issue(t, w.adam, "robot@example.com", 30*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		id, err := store.IdentityByToken(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		by, err := id.As("1000", models.ChannelAPI, "req_1")
		if err != nil {
			t.Fatal(err)
		}

		// What a look is made as is what a new call would be made as.
		looks := 0
		err = store.Await(t.Context(), by, time.Millisecond, "case:x", func(now models.Principal) (bool, error) {
			if looks++; !reflect.DeepEqual(now, by) {
				t.Errorf("look %d is made as %+v, want %+v", looks, now, by)
			}
			return false, nil
		})
		if err != nil || looks != 2 {
			t.Errorf("a wait whose time is up looked %d times and ends with %v", looks, err)
		}

		began, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			begun := false
			ended <- store.Await(t.Context(), by, time.Hour, "case:x", func(models.Principal) (bool, error) {
				if !begun {
					begun = true
					close(began)
				}
				return false, nil
			})
		}()
		<-began
		if err := other.InTx(t.Context(), w.adam, func(tx *models.Tx) error { _, err := tx.RevokeToken(token.ID); return err }); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("after its token was revoked the wait ends with %v", err)
		}
	})
}
