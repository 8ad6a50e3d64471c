package models_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestMain(m *testing.M) { modelstest.Main(m) }

var discard = slog.New(slog.DiscardHandler)

var operator = models.Operator("1000")

// company creates workspace 1000 in Berlin.
func company(t *testing.T, store *models.Store) {
	t.Helper()
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		return tx.CreateWorkspace(models.Workspace{ID: "1000", Name: "Nordwind GmbH", TimeZone: "Europe/Berlin", Currency: "EUR"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func person(t *testing.T, store *models.Store, n models.NewUser) models.User {
	t.Helper()
	var u models.User
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		var err error
		u, _, err = tx.CreateUser(n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func countEvents(t *testing.T, store *models.Store) (n int64) {
	t.Helper()
	err := store.View(t.Context(), operator, func(tx *models.Tx) error {
		return tx.DB.Model(&models.AuditEvent{}).Where("workspace_id = ?", "1000").Count(&n).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestATransactionIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		before := countEvents(t, store)
		boom := errors.New("boom")
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			if err := tx.Audit("case.opened", models.Ref{Subject: "x"}, nil); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatalf("the cause was lost: %v", err)
		}
		if after := countEvents(t, store); after != before {
			t.Errorf("%d events were left behind", after-before)
		}
	})
}

func TestOneFaultyWriteDoesNotHarmTheOthersInItsCommit(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		before := countEvents(t, store)
		var wg sync.WaitGroup
		var good, bad atomic.Int64
		for i := range 200 {
			wg.Go(func() {
				err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
					if err := tx.Audit("case.opened", models.Ref{Subject: fmt.Sprint(i)}, nil); err != nil {
						return err
					}
					switch i % 4 {
					case 1:
						return errors.New("refused")
					case 2:
						panic("a fault")
					case 3:
						return tx.DB.Exec("INSERT INTO jobs (kind) VALUES (NULL)").Error
					}
					return nil
				})
				if err == nil {
					good.Add(1)
				} else {
					bad.Add(1)
				}
			})
		}
		wg.Wait()
		if good.Load() != 50 || bad.Load() != 150 {
			t.Errorf("%d succeeded and %d failed, want 50 and 150", good.Load(), bad.Load())
		}
		if got := countEvents(t, store) - before; got != 50 {
			t.Errorf("%d events stand, want 50", got)
		}
	})
}

func TestACallerThatWentAwayBeforeItsTurnChangesNothing(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		before := countEvents(t, store)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		err := store.InTx(gone, operator, func(tx *models.Tx) error { return tx.Audit("case.opened", models.Ref{}, nil) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("want the caller's own cancellation, got %v", err)
		}
		if after := countEvents(t, store); after != before {
			t.Error("it wrote all the same")
		}
	})
}

func TestDeadlocksOnlyCostARepeat(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		for _, id := range []string{"1000", "2000"} {
			err := store.InTx(t.Context(), models.Operator(id), func(tx *models.Tx) error {
				return tx.CreateWorkspace(models.Workspace{ID: id, Name: id, TimeZone: "UTC", Currency: "EUR"})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				order := []string{"1000", "2000"}
				if i%2 == 1 {
					order[0], order[1] = order[1], order[0]
				}
				err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
					for _, id := range order {
						if err := tx.DB.Exec("UPDATE rule_sets SET version = version + 1 WHERE workspace_id = ?", id).Error; err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range []string{"1000", "2000"} {
			err := store.View(t.Context(), models.Operator(id), func(tx *models.Tx) error {
				set, err := tx.LockRules()
				if err == nil && set.Version != 6 {
					t.Errorf("workspace %s was counted %d times, want 6", id, set.Version)
				}
				return err
			})
			if err != nil && !store.Postgres() {
				t.Error(err)
			}
		}
	})
}

func TestTheTrailCannotBeChanged(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		for _, sealed := range []bool{false, true} {
			if sealed {
				if err := store.SealEvents(t.Context(), "1000"); err != nil {
					t.Fatal(err)
				}
			}
			for _, attack := range []string{
				"UPDATE audit_events SET actor_name = 'somebody else'",
				"UPDATE audit_events SET hash = 'x'",
				"UPDATE audit_events SET data = '{}', seq = 1, prev_hash = '', hash = 'x'",
				"DELETE FROM audit_events",
			} {
				err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.DB.Exec(attack).Error })
				if err == nil || !strings.Contains(err.Error(), "audit events are never") {
					t.Errorf("sealed=%v: %s: %v", sealed, attack, err)
				}
			}
		}
	})
}

func TestEventsAreLinkedIntoOneChain(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Audit("case.opened", models.Ref{}, nil) }); err != nil {
					t.Error(err)
				}
				if err := store.SealEvents(t.Context(), "1000"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		err := store.View(t.Context(), operator, func(tx *models.Tx) error {
			var events []models.AuditEvent
			if err := tx.DB.Order("seq").Find(&events).Error; err != nil {
				return err
			}
			if len(events) != 41 {
				t.Errorf("%d events, want 41", len(events))
			}
			prev := ""
			for i, e := range events {
				if e.Seq == nil || *e.Seq != int64(i+1) || *e.PrevHash != prev {
					t.Fatalf("event %d does not follow the one before it", i+1)
				}
				prev = *e.Hash
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

type answer struct{ ID string }

func once(ctx context.Context, store *models.Store, by models.Principal, key, body string, ran *atomic.Int64) (answer, error) {
	var a answer
	err := store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		a, err = models.Once(tx, "handover", models.Idempotency{Key: key, BodyHash: models.HashBody([]byte(body))}, func() (answer, error) {
			n := ran.Add(1)
			if body == "refused" {
				return answer{}, models.E(models.Unprocessable, "no", nil)
			}
			return answer{ID: fmt.Sprint(n)}, tx.Audit("case.opened", models.Ref{}, nil)
		})
		return err
	})
	return a, err
}

func TestAnIdempotencyKeyRunsItsCallOnce(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		agent := models.Principal{UserID: "usr_a", UserName: "Agent", WorkspaceID: "1000", Channel: models.ChannelAPI}
		var ran atomic.Int64
		answers := make([]answer, 24)
		var wg sync.WaitGroup
		before := countEvents(t, store)
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = once(t.Context(), store, agent, "key", "body", &ran); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, a := range answers {
			if a != answers[0] {
				t.Errorf("twins got %v and %v", a, answers[0])
			}
		}
		if got := countEvents(t, store) - before; got != 1 {
			t.Errorf("it took effect %d times", got)
		}
		if _, err := once(t.Context(), store, agent, "key", "another body", &ran); !models.IsCode(err, models.Conflict) {
			t.Errorf("another body under the same key: %v", err)
		}
		other := agent
		other.UserID = "usr_b"
		if a, err := once(t.Context(), store, other, "key", "another body", &ran); err != nil || a == answers[0] {
			t.Errorf("somebody else's key was mixed up: %v, %v", a, err)
		}
		if _, err := once(t.Context(), store, agent, "again", "refused", &ran); !models.IsCode(err, models.Unprocessable) {
			t.Fatalf("want the refusal, got %v", err)
		}
		if _, err := once(t.Context(), store, agent, "again", "corrected", &ran); err != nil {
			t.Errorf("a refused call was remembered: %v", err)
		}
	})
}

func TestJobsRunWhenDueAndOnce(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		var ran atomic.Int64
		fail := true
		handlers := map[models.JobKind]models.JobFunc{
			"count": func(tx *models.Tx, _ models.Job) error { ran.Add(1); return tx.Audit("counted", models.Ref{}, nil) },
			"flaky": func(*models.Tx, models.Job) error {
				if fail {
					return errors.New("not now")
				}
				return nil
			},
		}
		worker := models.NewWorker(store, discard, handlers)
		schedule := func(kind models.JobKind, subject string, in time.Duration) {
			t.Helper()
			err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Schedule(kind, subject, tx.Now.Add(in)) })
			if err != nil {
				t.Fatal(err)
			}
		}
		runDue := func() models.Time {
			t.Helper()
			next, err := worker.RunDue(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		schedule("count", "a", time.Hour)
		schedule("count", "b", time.Hour)
		schedule("count", "b", 2*time.Hour) // moved, not doubled
		if next := runDue(); ran.Load() != 0 || next.Sub(clock.Now()) != time.Hour {
			t.Errorf("%d ran early; next is due in %s", ran.Load(), next.Sub(clock.Now()))
		}
		clock.Advance(time.Hour)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := worker.RunDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// A transaction may run more often than it takes effect: only what is kept counts.
		counted := func() (n int64) {
			t.Helper()
			err := store.View(t.Context(), operator, func(tx *models.Tx) error {
				return tx.DB.Model(&models.AuditEvent{}).Where("action = 'counted'").Count(&n).Error
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := counted(); n != 1 {
			t.Errorf("four workers did the one due job %d times", n)
		}
		clock.Advance(time.Hour)
		runDue()
		if n := counted(); n != 2 {
			t.Errorf("two jobs took effect %d times", n)
		}
		schedule("flaky", "f", 0)
		if next := runDue(); !next.After(clock.Now()) {
			t.Errorf("a failed job is tried again at %s, now is %s", next, clock.Now())
		}
		fail = false
		clock.Advance(time.Minute)
		runDue()
		var left int64
		err := store.View(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Model(&models.Job{}).Where("kind = 'flaky'").Count(&left).Error
		})
		if err != nil || left != 0 {
			t.Errorf("%d flaky jobs left (%v)", left, err)
		}
	})
}

func TestWaitWakesAtOnceWhenAnotherStoreChangesTheDatabase(t *testing.T) {
	t.Parallel()
	url := modelstest.MigratedPostgresURL(t)
	clock := modelstest.NewClock()
	here, there := modelstest.Open(t, url, clock), modelstest.Open(t, url, clock)
	company(t, here)
	woken := make(chan error, 1)
	reading := make(chan struct{}, 16)
	go func() {
		woken <- here.Hub().Wait(t.Context(), time.Minute, []string{models.TopicCase("c")}, func() (bool, error) {
			var n int64
			err := here.View(t.Context(), operator, func(tx *models.Tx) error {
				return tx.DB.Model(&models.AuditEvent{}).Where("subject = 'c'").Count(&n).Error
			})
			reading <- struct{}{}
			return n > 0, err
		})
	}()
	<-reading
	err := there.InTx(t.Context(), operator, func(tx *models.Tx) error {
		tx.Notify(models.TopicCase("c"))
		return tx.Audit("case.decided", models.Ref{Subject: "c"}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-woken; err != nil {
		t.Error(err)
	}
}

func TestWaitGivesTheStateAsItIsWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	reads := 0
	err := store.Hub().Wait(t.Context(), time.Millisecond, []string{"x"}, func() (bool, error) { reads++; return false, nil })
	if err != nil || reads != 2 {
		t.Errorf("%d reads, %v", reads, err)
	}
}

func TestPeopleAndTheirTokens(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		err := store.InTx(t.Context(), models.Operator("2000"), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "2000", Name: "Südwind KK", TimeZone: "Asia/Tokyo", Currency: "JPY"})
		})
		if err != nil {
			t.Fatal(err)
		}
		olga := person(t, store, models.NewUser{Email: "Olga@Example.com", Name: "Olga Brandt", Roles: []models.Role{models.RoleAPLead}})
		agent := person(t, store, models.NewUser{Email: "agent@example.com", Name: "Invoice agent", Service: true, OwnerEmail: "olga@example.com", Roles: []models.Role{models.RoleAgent}})
		if again := person(t, store, models.NewUser{Email: "olga@example.com", Name: "Other name", Roles: []models.Role{models.RoleAuditor}}); again.ID != olga.ID || again.Name != "Olga Brandt" {
			t.Errorf("a known person was changed: %+v", again)
		}
		newToken := func(n models.NewToken) string {
			t.Helper()
			var secret string
			err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
				var err error
				secret, _, err = tx.CreateToken(n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		secret := newToken(models.NewToken{UserEmail: "agent@example.com", Name: "agent", Scopes: []models.Scope{models.ScopeCasesWrite}})
		id, err := store.IdentityByToken(t.Context(), secret)
		if err != nil || id.User.ID != agent.ID {
			t.Fatalf("%+v, %v", id.User, err)
		}
		if !strings.HasPrefix(secret, "apd_") {
			t.Errorf("token %s", secret)
		}
		ws, err := id.ChooseWorkspace("", "", "")
		if err != nil || ws != "1000" {
			t.Errorf("the only workspace: %q, %v", ws, err)
		}
		p, err := id.As("1000", models.ChannelMCP, "r1")
		if err != nil || p.OwnerID != olga.ID || !p.Has(models.RoleAgent) {
			t.Errorf("%+v, %v", p, err)
		}
		for _, unreachable := range []string{"2000", "9999"} {
			if _, err := id.As(unreachable, models.ChannelMCP, ""); !models.IsCode(err, models.WorkspaceAccessDenied) {
				t.Errorf("%s: %v", unreachable, err)
			}
			if _, err := id.ChooseWorkspace("1000", unreachable, ""); !models.IsCode(err, models.WorkspaceAccessDenied) {
				t.Errorf("header %s beside a good argument: %v", unreachable, err)
			}
		}
		short := newToken(models.NewToken{UserEmail: "agent@example.com", Name: "short", Scopes: []models.Scope{models.ScopeAll}, ExpiresAt: models.At(clock.Now().Add(time.Hour))})
		clock.Advance(time.Hour)
		for _, bad := range []string{short, "", "apd_", secret + "x", models.HashSecret(secret)} {
			if _, err := store.IdentityByToken(t.Context(), bad); !models.IsCode(err, models.Unauthenticated) {
				t.Errorf("token %q: %v", bad, err)
			}
		}
		err = store.View(t.Context(), operator, func(tx *models.Tx) error {
			var kept []models.Token
			if err := tx.DB.Find(&kept).Error; err != nil {
				return err
			}
			text, err := json.Marshal(kept)
			if strings.Contains(string(text), secret) {
				t.Error("a token's secret is kept")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = store.InTx(t.Context(), models.Operator("2000"), func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: "agent@example.com", Roles: []models.Role{models.RoleAgent}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if id, err = store.IdentityByToken(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if _, err := id.ChooseWorkspace("", "", ""); !models.IsCode(err, models.WorkspaceRequired) {
			t.Errorf("two workspaces and none named: %v", err)
		}
		if ws, err := id.ChooseWorkspace("2000", "1000", ""); err != nil || ws != "2000" {
			t.Errorf("the argument wins over the header: %q, %v", ws, err)
		}
	})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		hash, err := models.HashPassword("correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		person(t, store, models.NewUser{Email: "olga@example.com", Name: "Olga Brandt", Roles: []models.Role{models.RoleAPLead}, PasswordHash: hash})
		person(t, store, models.NewUser{Email: "agent@example.com", Name: "Agent", Service: true, OwnerEmail: "olga@example.com", Roles: []models.Role{models.RoleAgent}})
		signIn := func(email, password string) (string, error) {
			secret, _, err := store.SignIn(t.Context(), email, password, "127.0.0.1", "test")
			return secret, err
		}
		secret, err := signIn(" Olga@example.com", "correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		id, err := store.IdentityBySession(t.Context(), secret)
		if err != nil || id.User.Name != "Olga Brandt" {
			t.Fatalf("%+v, %v", id.User, err)
		}
		for _, c := range [][2]string{{"olga@example.com", "wrong"}, {"nobody@example.com", "correct horse battery"}, {"agent@example.com", ""}} {
			if _, err := signIn(c[0], c[1]); !models.IsCode(err, models.Unauthenticated) {
				t.Errorf("%v: %v", c, err)
			}
		}
		for range 12 {
			_, err = signIn("olga@example.com", "wrong")
		}
		if !models.IsCode(err, models.RateLimited) {
			t.Errorf("guessing on: %v", err)
		}
		if _, err := signIn("olga@example.com", "correct horse battery"); !models.IsCode(err, models.RateLimited) {
			t.Errorf("a limited sign-in was answered: %v", err)
		}
		if err := store.SignOut(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := store.IdentityBySession(t.Context(), secret); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("signed out and still in: %v", err)
		}
		clock.Advance(16 * time.Minute)
		if secret, err = signIn("olga@example.com", "correct horse battery"); err != nil {
			t.Fatal(err)
		}
		clock.Advance(models.SessionIdle + time.Second)
		if _, err := store.IdentityBySession(t.Context(), secret); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("an idle session lives on: %v", err)
		}
	})
}

func TestGuessingAtTheSameMomentGetsNoFurtherThanOneAfterTheOther(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		var wg sync.WaitGroup
		var looked, limited atomic.Int64
		for range 24 {
			wg.Go(func() {
				_, _, err := store.SignIn(t.Context(), "nobody@example.com", "guess", "127.0.0.1", "test")
				switch {
				case models.IsCode(err, models.Unauthenticated):
					looked.Add(1)
				case models.IsCode(err, models.RateLimited):
					limited.Add(1)
				default:
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
		if looked.Load() != 10 || limited.Load() != 14 {
			t.Errorf("%d guesses were looked at and %d refused, want 10 and 14", looked.Load(), limited.Load())
		}
	})
}

func TestEventsOfAProcessThatEndedAreSealedByTheNext(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		first, err := models.Open(t.Context(), url, models.Options{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		company(t, first)
		if err := first.Close(); err != nil { // sooner than the sealer's pause
			t.Fatal(err)
		}
		second := modelstest.Open(t, url, clock)
		wait := second.Hub().Wait(t.Context(), time.Minute, nil, func() (bool, error) {
			var left int64
			err := second.View(t.Context(), operator, func(tx *models.Tx) error {
				return tx.DB.Model(&models.AuditEvent{}).Where("seq IS NULL").Count(&left).Error
			})
			return left == 0, err
		})
		var left int64
		err = second.View(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Model(&models.AuditEvent{}).Where("seq IS NULL").Count(&left).Error
		})
		if wait != nil || err != nil || left != 0 {
			t.Errorf("%d events are in no chain (%v, %v)", left, wait, err)
		}
	})
}

func TestWhatTheCommandsRefuse(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	for name, c := range map[string]struct {
		do   func(tx *models.Tx) error
		path string
	}{
		"an unknown role": {func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: "a@example.com", Name: "A", Roles: []models.Role{"boss"}})
			return err
		}, "/role"},
		"no e-mail": {func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: "nobody", Name: "A", Roles: []models.Role{models.RoleAPClerk}})
			return err
		}, "/email"},
		"a service account without a responsible person": {func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: "a@example.com", Name: "A", Service: true, Roles: []models.Role{models.RoleAgent}})
			return err
		}, "/owner"},
		"an unknown scope": {func(tx *models.Tx) error {
			_, _, err := tx.CreateToken(models.NewToken{UserEmail: "a@example.com", Name: "x", Scopes: []models.Scope{"everything"}})
			return err
		}, "/scope"},
		"a zone that is none": {func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "3000", Name: "X", TimeZone: "Mars/Olympus", Currency: "EUR"})
		}, "/time_zone"},
		"a currency that is none": {func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "3000", Name: "X", TimeZone: "UTC", Currency: "EURO"})
		}, "/currency"},
	} {
		t.Run(name, func(t *testing.T) {
			err := store.InTx(t.Context(), operator, c.do)
			ne, ok := models.AsNamed(err)
			if !ok || ne.Code != models.ValidationError {
				t.Fatalf("%v", err)
			}
			for _, is := range ne.Details["issues"].([]models.Issue) {
				if is.Path == c.path {
					return
				}
			}
			t.Errorf("no issue at %s: %v", c.path, ne.Details)
		})
	}
	if err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		return tx.CreateWorkspace(models.Workspace{ID: "1000", Name: "Again", TimeZone: "UTC", Currency: "EUR"})
	}); !models.IsCode(err, models.Conflict) {
		t.Errorf("a workspace was created twice: %v", err)
	}
}

func TestSettingsAreChangedOnlyByTheRolesThatMay(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	day, err := models.ParseDate("2026-12-24")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		do  func(tx *models.Tx) error
		may []models.Role
	}{
		"period":        {func(tx *models.Tx) error { return tx.MovePeriod(day, models.Date{}) }, []models.Role{models.RoleFinanceLead}},
		"holiday":       {func(tx *models.Tx) error { return tx.AddHolidays(day) }, []models.Role{models.RoleAdmin, models.RoleAPLead}},
		"holiday taken": {func(tx *models.Tx) error { return tx.RemoveHoliday(day) }, []models.Role{models.RoleAdmin, models.RoleAPLead}},
		"binding":       {func(tx *models.Tx) error { return tx.SetBinding("pay", models.Binding{Amount: "/a"}) }, []models.Role{models.RoleAdmin}},
	} {
		for _, role := range models.Roles() {
			by := models.Principal{UserID: "usr_x", UserName: "X", Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{role}, Channel: models.ChannelWeb}
			err := store.InTx(t.Context(), by, c.do)
			if may := slices.Contains(c.may, role); may != (err == nil) || (!may && !models.IsCode(err, models.InsufficientPermission)) {
				t.Errorf("%s by %s: %v", name, role, err)
			}
			by.Channel, by.Scopes = models.ChannelAPI, []models.Scope{models.ScopeAll}
			if err := store.InTx(t.Context(), by, c.do); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s by a token of %s: %v", name, role, err)
			}
		}
	}
}

// A database that restarts drops every connection at once. Calls on the dropped ones are told to come
// back, or go through on a new one; none is told that the desk is broken.
func TestDroppedConnectionsAreAnOutageNotAFault(t *testing.T) {
	t.Parallel()
	url := modelstest.MigratedPostgresURL(t)
	clock := modelstest.NewClock()
	store, other := modelstest.Open(t, url, clock), modelstest.Open(t, url, clock)
	company(t, store)
	var read, write sync.WaitGroup
	each := func(wg *sync.WaitGroup, do func() error) {
		for range 8 {
			wg.Go(func() {
				if err := do(); err != nil && !models.IsCode(err, models.Unavailable) {
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
	}
	reading := func() error {
		return store.View(t.Context(), operator, func(tx *models.Tx) error { _, err := tx.Workspace(); return err })
	}
	writing := func() error {
		return store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Audit("case.opened", models.Ref{}, nil) })
	}
	for range 3 {
		each(&read, reading)
		err := other.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return tx.DB.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Error
		})
		if err != nil && !models.IsCode(err, models.Unavailable) {
			t.Fatal(err)
		}
		each(&read, reading)
		each(&write, writing)
	}
	if err := writing(); err != nil {
		t.Errorf("the desk did not recover: %v", err)
	}
}
