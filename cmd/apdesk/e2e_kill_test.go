package main_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	killRounds = flag.Int("kill-rounds", 2, "how often each database's desk is killed under load")
	killSeed   = flag.Uint64("kill-seed", 0, "when it is killed; 0: another time in every run")
)

// TestNothingAcknowledgedIsLostOrDoubledBySIGKILL kills a desk under mixed load at a random moment, starts it
// again and goes through everything its clients had been told, round after round on one database.
func TestNothingAcknowledgedIsLostOrDoubledBySIGKILL(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, address string) {
		t.Parallel()
		seed := *killSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		t.Logf("seed %d", seed)
		moments := rand.New(rand.NewPCG(seed, 11))
		c := open(t, address)
		l := newLoad(t, c, seed)
		db := openDatabase(t, c.database)
		sum, repeated := map[string]int{}, 0
		began := time.Now()
		var slowest time.Duration
		for round := range *killRounds {
			start := time.Now()
			l.stock(db)
			l.killedAfter(t, 1+moments.IntN(120), time.Duration(moments.Int64N(int64(15*time.Millisecond))))
			c.start()
			keys := l.keys()
			l.repeat(t.Context(), keys)
			repeated += len(keys)
			l.there(db, start)
			db.whole()
			if said := c.run("audit", "verify"); !strings.Contains(said, "intact") {
				t.Errorf("after round %d the trail is not intact: %s", round, said)
			}
			for kind, n := range l.forget() {
				sum[kind] += n
			}
			slowest = max(slowest, time.Since(start))
			if t.Failed() {
				t.Fatalf("round %d of seed %d", round, seed)
			}
		}
		t.Logf("%d rounds in %s, the slowest in %s: every act that was acknowledged is there once, the trail is intact (%s events), %d rules between rows hold",
			*killRounds, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond), db.column("SELECT count(*) FROM audit_events")[0], len(wholes))
		var told []string
		for _, kind := range slices.Sorted(maps.Keys(sum)) {
			told = append(told, fmt.Sprintf("%d %s", sum[kind], kind))
		}
		t.Logf("acknowledged: %s; %d calls repeated with their keys", strings.Join(told, ", "), repeated)
	})
}

// killedAfter lets everybody work and kills the desk a while after some of it was acknowledged.
func (l *load) killedAfter(t *testing.T, acknowledged int, later time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough := make(chan struct{})
	first := l.acks
	l.acked = func(all int) {
		if all-first == acknowledged {
			close(enough)
		}
	}
	clients := l.run(ctx)
	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	select {
	case <-enough:
	case <-ended:
		t.Error("the clients ended before there was enough to lose")
	}
	moment := time.NewTimer(later)
	<-moment.C
	l.c.kill()
	cancel()
	<-ended
	l.acked = nil
}
