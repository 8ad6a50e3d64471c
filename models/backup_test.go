package models_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// restore makes a database of a backup, as docs/operate.md says.
func restore(t *testing.T, file string, postgres bool) (databaseURL string) {
	t.Helper()
	if !postgres {
		path := filepath.Join(t.TempDir(), "restored.db")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path
	}
	databaseURL = modelstest.PostgresURL(t)
	if said, err := exec.Command("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+databaseURL, file).CombinedOutput(); err != nil {
		t.Fatalf("pg_restore: %v: %s", err, said)
	}
	return databaseURL
}

func TestABackupUnderLoadHoldsEverythingAcknowledgedBefore(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, databaseURL string) {
		if strings.HasPrefix(databaseURL, "postgres") {
			if _, err := exec.LookPath("pg_dump"); err != nil {
				t.Skip("no pg_dump here")
			}
		}
		clock, key := modelstest.NewClock(), auditKey(t)
		store := modelstest.Open(t, databaseURL, clock)
		company(t, store)
		writeEvents(t, store, clock, 20)
		takeCheckpoint(t, store, key)

		// Four writers go on until the backup is there; each acknowledged write is counted.
		var writers sync.WaitGroup
		var acknowledged [4]atomic.Int64
		stop := make(chan struct{})
		busy := make(chan struct{}, 4)
		for w := range acknowledged {
			writers.Go(func() {
				for i := int64(1); ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
						return tx.Audit("case.commented", models.Ref{CaseID: fmt.Sprintf("case_w%d_%d", w, i)}, nil)
					})
					if err != nil {
						t.Error(err)
						return
					}
					if acknowledged[w].Store(i); i == 5 {
						busy <- struct{}{}
					}
				}
			})
		}
		for range acknowledged {
			<-busy
		}
		var before [4]int64
		for w := range acknowledged {
			before[w] = acknowledged[w].Load()
		}
		file := filepath.Join(t.TempDir(), "desk.backup")
		report, err := store.Backup(t.Context(), file, key)
		close(stop)
		writers.Wait()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != report.Bytes || report.Broken() {
			t.Errorf("the file is %v (%v), the report %+v", info, err, report)
		}
		if left, err := filepath.Glob(file + ".partial*"); err != nil || len(left) != 0 {
			t.Errorf("left behind is %v (%v)", left, err)
		}
		if _, err := store.Backup(t.Context(), file, key); err == nil || !strings.Contains(err.Error(), "overwrites nothing") {
			t.Errorf("a backup onto a file that is there: %v", err)
		}

		desk := modelstest.Open(t, restore(t, file, store.Postgres()), clock)
		if err := desk.SealEvents(t.Context(), "1000"); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, desk, models.VerifyOptions{Key: key}); r.Break != nil || r.Unsealed != 0 || r.Signed != 1 {
			t.Errorf("the trail of the copy: %+v %+v", r, r.Break)
		}
		err = desk.View(t.Context(), operator, func(tx *models.Tx) error {
			for w, last := range before {
				var there int64
				if err := tx.DB.Model(&models.AuditEvent{}).Where("case_id LIKE ?", fmt.Sprintf("case_w%d_%%", w)).Count(&there).Error; err != nil {
					return err
				}
				if there < last {
					t.Errorf("writer %d: %d acknowledged before the backup began, %d in the copy", w, last, there)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The copy is a desk: it goes on where the other was.
		writeEvents(t, desk, clock, len(chainOf(t, desk))+5)
		if r := verify(t, desk, models.VerifyOptions{Key: key}); r.Break != nil {
			t.Errorf("after going on: %+v", r.Break)
		}
	})
}

func TestABackupOfATamperedTrailSaysSo(t *testing.T) {
	t.Parallel()
	databaseURL := modelstest.SQLiteURL(t)
	clock, key := modelstest.NewClock(), auditKey(t)
	store := modelstest.Open(t, databaseURL, clock)
	company(t, store)
	writeEvents(t, store, clock, 5)
	behindTheDesk(t, databaseURL).exec("UPDATE audit_events SET data = '{}' WHERE seq = 3")
	file := filepath.Join(t.TempDir(), "desk.backup")
	report, err := store.Backup(t.Context(), file, key)
	if err != nil || !report.Broken() {
		t.Errorf("the backup reports %+v (%v)", report, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("the evidence is not kept")
	}
	if _, err := store.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "such", "place"), key); err == nil {
		t.Error("a backup into a directory that is not there is said to be done")
	}
}

func TestThePasswordOfTheDatabaseIsNoArgumentOfAProgram(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://desk:secret@db/apdesk?sslmode=require&pool_max_conns=3": "postgres://desk@db/apdesk?sslmode=require",
		"postgres://desk@/apdesk?host=%2Frun&password=secret":               "postgres://desk@/apdesk?host=%2Frun",
	} {
		address, environment, err := models.WithoutPassword(in)
		if err != nil || address != want || len(environment) != 1 || environment[0] != "PGPASSWORD=secret" {
			t.Errorf("%s becomes %s with %v (%v)", in, address, environment, err)
		}
		if _, err := url.Parse(address); err != nil {
			t.Error(err)
		}
	}
}
