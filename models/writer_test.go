package models_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// batch lets SQLite's writer take several pieces into one transaction, in their order: they queue up
// while it is kept busy. It answers what came of each.
func batch(t *testing.T, store *models.Store, pieces ...func(tx *models.Tx) error) []error {
	t.Helper()
	held, hold := make(chan struct{}), make(chan struct{})
	results := make([]error, len(pieces))
	var all sync.WaitGroup
	all.Go(func() {
		err := store.InTx(t.Context(), operator, func(*models.Tx) error {
			close(held)
			<-hold
			return nil
		})
		if err != nil {
			t.Errorf("the writer could not be kept busy: %v", err)
		}
	})
	<-held
	for i, piece := range pieces {
		all.Go(func() { results[i] = store.InTx(t.Context(), operator, piece) })
		for store.Queued() != i+1 {
			runtime.Gosched()
		}
	}
	close(hold)
	all.Wait()
	return results
}

// trail is what the actions of the events are, in the order in which they were written.
func trail(t *testing.T, store *models.Store) (actions []string) {
	t.Helper()
	err := store.View(t.Context(), operator, func(tx *models.Tx) error {
		return tx.DB.Raw("SELECT action FROM audit_events ORDER BY rowid").Scan(&actions).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return actions
}

func TestAPieceThatFailsLeavesTheOthersOfItsTransactionAlone(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	refused := models.E(models.Conflict, "No.", nil)
	var woken []string
	var mu sync.Mutex
	topics := []string{"a", "b", "c", "d", "e", "f"}
	for _, topic := range topics {
		wake, cancel := store.Hub().Subscribe(topic)
		t.Cleanup(func() {
			cancel()
			mu.Lock()
			defer mu.Unlock()
			select {
			case <-wake:
				if topic != "a" && topic != "c" && topic != "f" {
					t.Errorf("those who wait for %s were woken, and nothing happened", topic)
				}
			default:
				if topic == "a" || topic == "c" || topic == "f" {
					t.Errorf("nobody was told of %s", topic)
				}
			}
			woken = append(woken, topic)
		})
	}
	runs := map[string]int{}
	piece := func(name string, end func() error) func(tx *models.Tx) error {
		return func(tx *models.Tx) error {
			runs[name]++
			tx.Notify(name)
			if err := tx.Audit(name, models.Ref{}, nil); err != nil {
				return err
			}
			return end()
		}
	}
	fine := func() error { return nil }
	results := batch(t, store,
		piece("a", fine),
		piece("b", func() error { return refused }),
		piece("c", fine),
		piece("d", func() error { panic("a fault") }),
		func(tx *models.Tx) error { // refused before it changed anything
			runs["e"]++
			tx.Notify("e")
			var n int
			if err := tx.Value(&n, "SELECT count(*) FROM audit_events"); err != nil || n != 2 {
				t.Errorf("it sees %d events, want the two before it, %v", n, err)
			}
			return refused
		},
		piece("f", fine))
	for i, want := range []func(error) bool{
		func(err error) bool { return err == nil },
		func(err error) bool { return models.IsCode(err, models.Conflict) },
		func(err error) bool { return err == nil },
		func(err error) bool { return err != nil && strings.Contains(err.Error(), "a fault") },
		func(err error) bool { return models.IsCode(err, models.Conflict) },
		func(err error) bool { return err == nil },
	} {
		if !want(results[i]) {
			t.Errorf("piece %s: %v", topics[i], results[i])
		}
	}
	if got := trail(t, store); !slices.Equal(got, []string{"a", "c", "f"}) {
		t.Errorf("the trail holds %q", got)
	}
	for name, n := range runs {
		if n > 2 {
			t.Errorf("piece %s ran %d times", name, n)
		}
	}
	if runs["e"] != 1 || runs["f"] != 1 {
		t.Errorf("a refusal that changed nothing cost others a run: %v", runs)
	}
}

// Who comes second finds nothing left to change and is refused, which costs the first no second run.
func TestALoserThatChangedNothingTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	at := store.Now()
	if err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Schedule("take", "it", at) }); err != nil {
		t.Fatal(err)
	}
	lost := models.E(models.Conflict, "Somebody else has it.", nil)
	for _, take := range []string{
		"UPDATE jobs SET attempts = attempts + 1 WHERE kind = 'take' AND attempts = 0",
		"delete from jobs WHERE kind = 'take'",
	} {
		runs := make([]int, 3)
		var pieces []func(tx *models.Tx) error
		for i := range runs {
			pieces = append(pieces, func(tx *models.Tx) error {
				runs[i]++
				if n, err := tx.Exec(take); err != nil || n > 0 {
					return err
				}
				return lost
			})
		}
		results := batch(t, store, pieces...)
		if results[0] != nil || !models.IsCode(results[1], models.Conflict) || !models.IsCode(results[2], models.Conflict) {
			t.Errorf("%s: %v", take, results)
		}
		if !slices.Equal(runs, []int{1, 1, 1}) {
			t.Errorf("%s: the pieces ran %d times", take, runs)
		}
	}
}

// What a piece did that is undone is no reason to refuse the next one.
func TestAPieceIsJudgedByWhatIsCommitted(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	take := func(fail error) func(tx *models.Tx) error {
		return func(tx *models.Tx) error {
			if _, err := tx.Exec("INSERT INTO sign_in_limits (subject, kind, failures, last_at, blocked_until) VALUES ('the one', 'pair', 1, ?, ?)", tx.Now, tx.Now); err != nil {
				return err
			}
			return fail
		}
	}
	other := func(tx *models.Tx) error { return tx.Audit("other", models.Ref{}, nil) }
	fault := errors.New("a fault")
	results := batch(t, store, other, take(fault), take(nil), take(nil), other)
	if results[0] != nil || !errors.Is(results[1], fault) || results[2] != nil || !models.IsDuplicate(results[3]) || results[4] != nil {
		t.Errorf("the pieces end with %v", results)
	}
}

func TestTwinsInOneTransactionAreOneCall(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	key := models.Idempotency{Key: "k", BodyHash: "b"}
	var answers [4]string
	call := func(i int, fail error) func(tx *models.Tx) error {
		return func(tx *models.Tx) error {
			answer, err := models.Once(tx, "call", key, func() (string, error) {
				return fmt.Sprint("call ", i), errors.Join(fail, tx.Audit("called", models.Ref{}, nil))
			})
			answers[i] = answer
			return err
		}
	}
	fault := errors.New("a fault")
	results := batch(t, store, call(0, fault), call(1, nil), call(2, nil), call(3, fault))
	if !errors.Is(results[0], fault) || results[1] != nil || results[2] != nil || results[3] != nil {
		t.Errorf("the twins end with %v", results)
	}
	if answers[1] != "call 1" || answers[2] != "call 1" || answers[3] != "call 1" {
		t.Errorf("the twins are answered %q", answers)
	}
	if got := trail(t, store); !slices.Equal(got, []string{"called"}) {
		t.Errorf("the trail holds %q", got)
	}
}

// A full disk makes SQLite roll back the whole transaction by itself: no later statement of any piece
// may then be committed alone.
func TestATransactionThatTheDatabaseRolledBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	pages := func(tx *models.Tx, most int) error {
		var set int
		return tx.DB.Raw(fmt.Sprintf("PRAGMA max_page_count = %d", most)).Scan(&set).Error
	}
	write := func(name string) func(tx *models.Tx) error {
		return func(tx *models.Tx) error { return tx.Audit(name, models.Ref{}, nil) }
	}
	results := batch(t, store, write("before"), func(tx *models.Tx) error {
		if err := pages(tx, 1); err != nil { // the least there can be is what the file has
			return err
		}
		if err := tx.Audit("too much", models.Ref{}, map[string]any{"text": strings.Repeat("x", 1<<20)}); err == nil {
			t.Error("a full disk took a megabyte")
		}
		if err := tx.Audit("after the loss", models.Ref{}, nil); err == nil {
			t.Error("a statement goes through although its transaction is gone")
		}
		return nil // as if nothing were
	}, write("behind"))
	for i, err := range results {
		if !models.IsCode(err, models.Unavailable) {
			t.Errorf("piece %d: %v", i, err)
		}
	}
	if got := trail(t, store); len(got) != 0 {
		t.Errorf("the trail holds %q", got)
	}
	for _, name := range []string{"first", "second"} {
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return errors.Join(pages(tx, 1<<20), tx.Audit(name, models.Ref{}, nil))
		})
		if err != nil {
			t.Fatalf("once there is room again: %v", err)
		}
	}
	if got := trail(t, store); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the trail holds %q", got)
	}
}

func TestACallerWhoLeavesWhileItsPieceWaitsChangesNothingAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	gone, leave := context.WithCancel(t.Context())
	held, hold := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = store.InTx(t.Context(), operator, func(*models.Tx) error { // what it answers is of no interest
			close(held)
			<-hold
			return nil
		})
	})
	<-held
	var left, stayed error
	all.Go(func() {
		left = store.InTx(gone, operator, func(tx *models.Tx) error { return tx.Audit("left", models.Ref{}, nil) })
	})
	for store.Queued() != 1 {
		runtime.Gosched()
	}
	all.Go(func() {
		stayed = store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Audit("stayed", models.Ref{}, nil) })
	})
	for store.Queued() != 2 {
		runtime.Gosched()
	}
	leave()
	close(hold)
	all.Wait()
	if !errors.Is(left, context.Canceled) || stayed != nil {
		t.Errorf("who left is told %v, who stayed %v", left, stayed)
	}
	if got := trail(t, store); !slices.Equal(got, []string{"stayed"}) {
		t.Errorf("the trail holds %q", got)
	}
}

// Readers are on snapshots of their own: they hold up no writer and see no half of an action.
func TestReadersSeeWholeActionsWhileOthersWrite(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	reading, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for reading.Err() == nil {
				err := store.View(t.Context(), operator, func(tx *models.Tx) error {
					var one, two int
					err := errors.Join(tx.Value(&one, "SELECT count(*) FROM audit_events WHERE action = 'one'"), tx.Value(&two, "SELECT count(*) FROM audit_events WHERE action = 'two'"))
					if one != two {
						t.Errorf("a reader sees %d first and %d second halves", one, two)
					}
					return err
				})
				if err != nil {
					t.Errorf("a reader: %v", err)
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for i := range 25 {
				err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
					err := errors.Join(tx.Audit("one", models.Ref{}, nil), tx.Audit("two", models.Ref{}, nil))
					if i%5 == 0 {
						return errors.Join(err, models.E(models.Conflict, "No.", nil))
					}
					return err
				})
				if err != nil && i%5 != 0 {
					t.Errorf("a writer: %v", err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	if n := countEvents(t, store); n != 4*20*2 {
		t.Errorf("%d events, want %d", n, 4*20*2)
	}
}
