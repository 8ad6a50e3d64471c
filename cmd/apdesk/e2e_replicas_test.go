package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// TestSeveralDesksUnderLoadLoseNothingWhenOneIsKilled lets a company work at two and at three desks on one
// database, any client at any desk; one is killed in the middle and comes back later.
func TestSeveralDesksUnderLoadLoseNothingWhenOneIsKilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d desks", n), func(t *testing.T) {
			t.Parallel()
			c := open(t, modelstest.PostgresURL(t))
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			l := newLoad(t, c, seed)
			for range n - 1 {
				l.desks = append(l.desks, c.replica())
			}
			db := openDatabase(t, c.database)
			l.stock(db)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			reached := l.milestones()
			clients := l.run(ctx)
			reached(t, 50)
			l.mu.Lock()
			victim := l.desks[l.rng.IntN(n)]
			l.desks = slices.DeleteFunc(l.desks, func(d *desk) bool { return d == victim })
			l.mu.Unlock()
			victim.kill()
			reached(t, 120)
			victim.start()
			l.mu.Lock()
			l.desks = append(l.desks, victim)
			l.mu.Unlock()
			reached(t, 170)
			cancel()
			clients.Wait()
			l.settle(t, db)
			t.Logf("acknowledged %v", l.tally())
		})
	}
}

// TestEveryDueJobIsDoneOnceByTwoDesks makes requests lapse while two desks look for what is due.
func TestEveryDueJobIsDoneOnceByTwoDesks(t *testing.T) {
	t.Parallel()
	c := open(t, modelstest.PostgresURL(t))
	const many = 40
	agent := c.as(c.agent)
	for n := range many {
		agent.ask(t, approvalOf(invoice(n, "100.00")))
	}
	db := openDatabase(t, c.database)
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"UPDATE approval_requests SET expires_at = now() - interval '1 minute'",
		"UPDATE jobs SET due_at = now() - interval '1 minute' WHERE kind = 'request.expire'",
	} {
		if _, err := db.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	other := newDesk(t, c.database)
	atOnce(2, func(i int) { []*desk{c.desk, other}[i].start() })
	eventually(t, "every request has expired", func() bool {
		return len(db.column("SELECT id FROM approval_requests WHERE status = 'expired'")) == many
	})
	if twice := db.column("SELECT approval_request_id FROM audit_events WHERE action = 'request.expired' GROUP BY 1 HAVING count(*) <> 1"); len(twice) > 0 {
		t.Errorf("%d requests expired more than once", len(twice))
	}
	if left := db.column("SELECT subject FROM jobs WHERE kind = 'request.expire'"); len(left) > 0 {
		t.Errorf("%d jobs are left", len(left))
	}
}

// TestABackupOfABusyDeskIsRestored copies a desk that works, restores the copy as docs/operate.md says, and finds
// in it everything that was acknowledged before the copy began.
func TestABackupOfABusyDeskIsRestored(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, address string) {
		t.Parallel()
		onPostgres := !strings.HasPrefix(address, "sqlite:")
		if onPostgres {
			for _, program := range []string{"pg_dump", "pg_restore"} {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%v: install Debian's package postgresql-client", err)
				}
			}
		}
		c := open(t, address)
		l := newLoad(t, c, rand.Uint64())
		db := openDatabase(t, c.database)
		l.stock(db)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reached := l.milestones()
		clients := l.run(ctx)
		reached(t, 40)
		before := l.tallied()
		file := filepath.Join(t.TempDir(), "backup")
		c.run("backup", file)
		l.mu.Lock()
		during := l.acks
		l.mu.Unlock()
		reached(t, during+5) // it goes on working
		cancel()
		clients.Wait()
		if err := c.stop(); err != nil {
			t.Fatal(err)
		}

		restored := "sqlite:" + file
		if onPostgres {
			restored = modelstest.PostgresURL(t)
			if said, err := exec.Command("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+restored, file).CombinedOutput(); err != nil {
				t.Fatalf("pg_restore: %v: %s", err, said)
			}
		}
		copied := openDatabase(t, restored)
		copied.whole()
		for kind, table := range map[string]string{"case": "cases", "request": "approval_requests", "hold": "holds", "confirmation": "confirmations"} {
			there := copied.column("SELECT id FROM " + table)
			for _, id := range before[kind] {
				if !slices.Contains(there, id) {
					t.Errorf("%s %s was acknowledged before the backup began and is not in it", kind, id)
				}
			}
		}
		d := newDesk(t, restored)
		if said := d.run("audit", "verify"); !strings.Contains(said, "intact") {
			t.Errorf("the trail of the copy: %s", said)
		}
		// People, tokens and cases work on.
		d.start()
		id := before["case"][0]
		if got := d.as(c.agent).get(t, "/cases/"+id); got.text("case_id") != id {
			t.Errorf("the restored desk answers %s", got)
		}
		next := d.as(c.agent).handOver(t, poClosed(900_000))
		anna := d.signIn(t, petra)
		seen := anna.get(t, "/cases/"+next)
		if after := anna.send(t, seen, "decision-form", url.Values{"exit": {"reopen_po"}, "reason": {"Reopened."}}); after.status != 200 {
			t.Errorf("a decision at the restored desk is answered with %s", after)
		}
	})
}

// tallied are the ids acknowledged so far, by kind.
func (l *load) tallied() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[string][]string{}
	for _, k := range l.keyed {
		if k.told != "" {
			ids[k.kind] = append(ids[k.kind], k.told)
		}
	}
	return ids
}
