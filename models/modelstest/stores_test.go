package modelstest

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

func TestEach(t *testing.T) {
	t.Parallel()
	ids := map[string][]string{}
	for range 2 {
		EachAt(t, func(t *testing.T, store *models.Store, clock *Clock) {
			if err := store.Ping(t.Context()); err != nil {
				t.Fatalf("a migrated store must answer: %v", err)
			}
			if got := store.Now(); !got.Time.Equal(Start) {
				t.Errorf("the clock stands at %s, want %s", got, Start)
			}
			clock.Advance(time.Hour)
			if got := store.Now(); !got.Time.Equal(Start.Add(time.Hour)) {
				t.Errorf("an hour later it stands at %s", got)
			}
			kind := "sqlite"
			if store.Postgres() {
				kind = "postgres"
			}
			ids[kind] = append(ids[kind], store.NewID(models.PrefixCase))
		})
	}
	for kind, made := range ids {
		if len(made) == 2 && made[0] != made[1] {
			t.Errorf("%s: ids differ from run to run: %v", kind, made)
		}
	}
}

func TestOpenTwice(t *testing.T) {
	t.Parallel()
	EachDatabase(t, func(t *testing.T, url string) {
		clock := NewClock()
		first, second := Open(t, url, clock), Open(t, url, clock)
		if a, b := first.NewID(models.PrefixCase), second.NewID(models.PrefixCase); a == b {
			t.Errorf("two replicas both made %s", a)
		}
	})
}
