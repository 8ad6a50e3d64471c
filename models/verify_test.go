package models_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"
	_ "github.com/mattn/go-sqlite3"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// attacker has the database itself: its file, or its owner's account.
type attacker struct {
	t     *testing.T
	begin string
	exec  func(statement string, args ...any)
}

// atOnce does it in one transaction, so that the desk, which seals in the background, never takes a half
// made change for events that wait to be sealed.
func (a attacker) atOnce(do func()) {
	a.t.Helper()
	a.exec(a.begin)
	do()
	a.exec("COMMIT")
}

func behindTheDesk(t *testing.T, url string) attacker {
	t.Helper()
	a := attacker{t: t, begin: "BEGIN"}
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=10000")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1) // a transaction is opened and ended by statements
		a.begin = "BEGIN IMMEDIATE"
		a.exec = func(statement string, args ...any) {
			t.Helper()
			if _, err := db.Exec(statement, args...); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		for _, trigger := range []string{"audit_never_deleted", "audit_never_changed", "audit_heads_never_deleted", "audit_heads_only_grow", "audit_checkpoints_never_deleted", "audit_checkpoints_never_changed"} {
			a.exec("DROP TRIGGER " + trigger)
		}
		return a
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	a.exec = func(statement string, args ...any) {
		t.Helper()
		for i := range args {
			statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", i+1), 1)
		}
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, table := range []string{"audit_events", "audit_heads", "audit_checkpoints"} {
		a.exec("ALTER TABLE " + table + " DISABLE TRIGGER USER")
	}
	return a
}

// sealAnew computes an event's hash from what the papers say of the chain, as an attacker would: every
// field, its place and the hash before it, as RFC 8785 JSON.
func sealAnew(t *testing.T, e models.AuditEvent, seq int64, prev string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"id": e.ID, "workspace_id": e.WorkspaceID, "at": e.At, "actor_id": e.ActorID, "actor_name": e.ActorName,
		"actor_roles": e.ActorRoles, "channel": e.Channel, "token_id": e.TokenID, "action": e.Action, "subject": e.Subject, "case_id": e.CaseID,
		"approval_request_id": e.ApprovalRequestID, "invoice_id": e.InvoiceID, "request_id": e.RequestID, "data": e.Data, "seq": seq, "prev_hash": prev})
	if err != nil {
		t.Fatal(err)
	}
	canonical := jsontext.Value(body)
	if err := canonical.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func chainOf(t *testing.T, store *models.Store) (events []models.AuditEvent) {
	t.Helper()
	err := store.View(t.Context(), operator, func(tx *models.Tx) error {
		return tx.DB.Where("workspace_id = ? AND seq IS NOT NULL", "1000").Order("seq").Find(&events).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func auditKey(t *testing.T) *models.AuditKey {
	t.Helper()
	key, err := models.NewAuditKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// writeEvents adds sealed events to the trail of workspace 1000 until it holds n.
func writeEvents(t *testing.T, store *models.Store, clock *modelstest.Clock, n int) {
	t.Helper()
	if err := store.SealEvents(t.Context(), "1000"); err != nil {
		t.Fatal(err)
	}
	for i := len(chainOf(t, store)); i < n; i++ {
		clock.Advance(time.Minute)
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return tx.Audit("case.commented", models.Ref{CaseID: fmt.Sprintf("case_%03d", i)}, map[string]any{"why": `because "` + fmt.Sprint(i) + `" <é> & \ ` + "\u2028"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.SealEvents(t.Context(), "1000"); err != nil {
		t.Fatal(err)
	}
}

func takeCheckpoint(t *testing.T, store *models.Store, key *models.AuditKey) (note string) {
	t.Helper()
	err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
		row, err := tx.TakeCheckpoint(key)
		if err == nil {
			note = row.Note
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func verify(t *testing.T, store *models.Store, o models.VerifyOptions) models.ChainReport {
	t.Helper()
	reports, err := store.VerifyAudit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.WorkspaceID == "1000" {
			return r
		}
	}
	t.Fatalf("nothing is said of the workspace: %+v", reports)
	return models.ChainReport{}
}

const wrote = `UPDATE audit_events SET seq = ?, prev_hash = ?, hash = ? WHERE id = ?`

// rewrite makes a chain of the events that fits, from one place on.
func (a attacker) rewrite(events []models.AuditEvent, from int64, prev string) (seq int64, hash string) {
	a.t.Helper()
	seq, hash = from, prev
	for _, e := range events { // out of the way of the unique index
		a.exec("UPDATE audit_events SET seq = NULL WHERE id = ?", e.ID)
	}
	for _, e := range events {
		next := sealAnew(a.t, e, seq, hash)
		a.exec(wrote, seq, hash, next, e.ID)
		seq, hash = seq+1, next
	}
	return seq - 1, hash
}

const copyRow = `INSERT INTO audit_events (id, workspace_id, at, actor_id, actor_name, channel, action, data, seq, prev_hash, hash)
	SELECT ?, workspace_id, at, actor_id, 'somebody else', channel, 'vote.cast', data, NULL, NULL, NULL FROM audit_events WHERE id = ?`

func TestEveryKindOfTamperingIsFoundWithItsPlaceAndKind(t *testing.T) {
	t.Parallel()
	const all = 30
	id := func(n int) string { return fmt.Sprintf("evt_forged%d", n) }
	cases := []struct {
		name string
		do   func(a attacker, e []models.AuditEvent) // e[i] has number i+1
		kind models.BreakKind
		seq  int64
		says string
	}{
		{"nothing", func(attacker, []models.AuditEvent) {}, "", 0, ""},
		{"an edited reason", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET data = '{}' WHERE id = ?", e[11].ID)
		}, models.BreakEdited, 12, "Event 12 does not say what was sealed"},
		{"an edited actor of the last event", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET actor_name = 'Nobody' WHERE id = ?", e[all-1].ID)
		}, models.BreakEdited, all, "Event 30"},
		{"an edited time", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET at = '2026-10-05T09:00:00.000000Z' WHERE id = ?", e[11].ID)
		}, models.BreakEdited, 12, "Event 12"},
		{"an event edited together with its hash", func(a attacker, e []models.AuditEvent) {
			forged := e[11]
			forged.Data = "{}"
			a.exec("UPDATE audit_events SET data = '{}', hash = ? WHERE id = ?", sealAnew(a.t, forged, 12, *forged.PrevHash), forged.ID)
		}, models.BreakEdited, 12, "together with its own hash"},
		{"an event moved to another workspace", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET workspace_id = '2000' WHERE id = ?", e[11].ID)
		}, models.BreakRemoved, 12, "1 event is missing: the chain goes from number 11 to number 13"},
		{"a removed event", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE id = ?", e[11].ID)
		}, models.BreakRemoved, 12, "1 event is missing"},
		{"the beginning removed", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE seq <= 5 AND workspace_id = '1000'")
		}, models.BreakRemoved, 1, "5 events are missing"},
		{"removed events, the rest renumbered", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq IN (12, 13, 14)")
			for i := 14; i < all; i++ {
				a.exec("UPDATE audit_events SET seq = ? WHERE id = ?", i-2, e[i].ID)
			}
		}, models.BreakRemoved, 12, "3 events are missing before this one, and the rest was renumbered"},
		{"almost all removed, the last renumbered", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq BETWEEN 3 AND 29")
			a.exec("UPDATE audit_events SET seq = 3 WHERE id = ?", e[all-1].ID)
		}, models.BreakRemoved, 3, "27 events are missing"},
		{"removed events, the rest sealed anew with its numbers", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq IN (12, 13)")
			a.rewrite(e[13:], 14, *e[10].Hash)
		}, models.BreakRemoved, 12, "sealed anew by somebody else"},
		{"neighbours that changed numbers", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET seq = -1 WHERE id = ?", e[11].ID)
			a.exec("UPDATE audit_events SET seq = 12 WHERE id = ?", e[12].ID)
			a.exec("UPDATE audit_events SET seq = 13 WHERE id = ?", e[11].ID)
		}, models.BreakReordered, 12, "sealed as number 13"},
		{"distant events that changed places with their links", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET seq = NULL WHERE id = ?", e[4].ID)
			a.exec(wrote, 5, *e[4].PrevHash, *e[4].Hash, e[20].ID)
			a.exec(wrote, 21, *e[20].PrevHash, *e[20].Hash, e[4].ID)
		}, models.BreakReordered, 5, "sealed as number 21"},
		{"an event put in with a fitting hash, the rest renumbered", func(a attacker, e []models.AuditEvent) {
			for i := all - 1; i >= 11; i-- {
				a.exec("UPDATE audit_events SET seq = ? WHERE id = ?", i+2, e[i].ID)
			}
			a.exec(copyRow, id(1), e[11].ID)
			forged := e[11]
			forged.ID, forged.ActorName, forged.Action, forged.ActorRoles, forged.CaseID, forged.Subject = id(1), "somebody else", "vote.cast", "", "", ""
			a.exec(wrote, 12, *e[10].Hash, sealAnew(a.t, forged, 12, *e[10].Hash), id(1))
		}, models.BreakInserted, 12, "1 event was put in at number 12"},
		{"an event put in with any hash, the rest renumbered", func(a attacker, e []models.AuditEvent) {
			for i := all - 1; i >= 11; i-- {
				a.exec("UPDATE audit_events SET seq = ? WHERE id = ?", i+2, e[i].ID)
			}
			a.exec(copyRow, id(1), e[11].ID)
			a.exec(wrote, 12, *e[10].Hash, "00", id(1))
		}, models.BreakInserted, 12, "The event at number 12 was put in"},
		{"an event put in with a number that is taken", func(a attacker, e []models.AuditEvent) {
			a.exec("DROP INDEX audit_events_chain")
			a.exec(copyRow, id(1), e[11].ID)
			a.exec(wrote, 12, *e[10].Hash, *e[11].Hash, id(1))
		}, models.BreakInserted, 12, ""},
		{"an event put before the first", func(a attacker, e []models.AuditEvent) {
			a.exec(copyRow, id(1), e[11].ID)
			a.exec(wrote, -3, "", "00", id(1))
		}, models.BreakInserted, -3, "before the first"},
		{"an event put after the last with a fitting hash", func(a attacker, e []models.AuditEvent) {
			a.exec(copyRow, id(1), e[11].ID)
			forged := e[11]
			forged.ID, forged.ActorName, forged.Action, forged.ActorRoles, forged.CaseID, forged.Subject = id(1), "somebody else", "vote.cast", "", "", ""
			a.exec(wrote, all+1, *e[all-1].Hash, sealAnew(a.t, forged, all+1, *e[all-1].Hash), id(1))
		}, models.BreakInserted, all + 1, "after event 30, the last one the desk sealed"},
		{"a removed tail", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq > 27")
		}, models.BreakTail, 28, "3 events are missing at the end"},
		{"everything removed", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000'")
		}, models.BreakTail, 1, "30 events are missing at the end"},
		{"everything removed with the desk's notes", func(a attacker, e []models.AuditEvent) {
			for _, table := range []string{"audit_events", "audit_heads", "audit_checkpoints"} {
				a.exec("DELETE FROM " + table + " WHERE workspace_id = '1000'")
			}
		}, models.BreakTail, 1, "no event at all"},
		{"the desk's note of the end removed", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_heads WHERE workspace_id = '1000'")
		}, models.BreakTail, all, "note of how far it sealed is gone"},
		{"a removed tail with the note of the end turned back", func(a attacker, e []models.AuditEvent) {
			a.exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq > 15")
			a.exec("UPDATE audit_heads SET seq = 15, hash = ? WHERE workspace_id = '1000'", *e[14].Hash)
		}, models.BreakTail, 16, "5 events are missing at the end: the desk's own signed checkpoint"},
		{"a rewritten suffix", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET data = '{}' WHERE id = ?", e[24].ID)
			e[24].Data = "{}"
			a.rewrite(e[24:], 25, *e[23].Hash)
		}, models.BreakRewritten, all, "the last one, is not the one the desk sealed"},
		{"a rewritten suffix with the note of the end", func(a attacker, e []models.AuditEvent) {
			a.exec("UPDATE audit_events SET data = '{}' WHERE id = ?", e[14].ID)
			e[14].Data = "{}"
			seq, hash := a.rewrite(e[14:], 15, *e[13].Hash)
			a.exec("UPDATE audit_heads SET seq = ?, hash = ? WHERE workspace_id = '1000'", seq, hash)
		}, models.BreakRewritten, 20, "between event 11, the one after the last that is signed and unchanged, and event 20"},
	}
	modelstest.EachDatabase(t, func(t *testing.T, _ string) {
		sqlite := strings.HasSuffix(t.Name(), "/sqlite")
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				url := modelstest.SQLiteURL(t)
				if !sqlite {
					url = modelstest.MigratedPostgresURL(t)
				}
				clock, key := modelstest.NewClock(), auditKey(t)
				store := modelstest.Open(t, url, clock)
				company(t, store)
				writeEvents(t, store, clock, 10)
				takeCheckpoint(t, store, key)
				writeEvents(t, store, clock, 20)
				takeCheckpoint(t, store, key)
				writeEvents(t, store, clock, all)

				a, events := behindTheDesk(t, url), chainOf(t, store)
				a.atOnce(func() { c.do(a, events) })

				r := verify(t, store, models.VerifyOptions{Key: key})
				if c.kind == "" {
					if r.Break != nil || r.Events != all || r.HeadSeq != all || r.HeadHash == "" || r.Signed != 2 || r.Unsealed != 0 || r.SealedLate != 0 {
						t.Errorf("an intact chain is reported as %+v (%+v)", r, r.Break)
					}
					return
				}
				if r.Break == nil {
					t.Fatal("nothing was found")
				}
				if r.Break.Kind != c.kind || r.Break.Seq != c.seq || !strings.Contains(r.Break.Text, c.says) {
					t.Errorf("found %s at %d: %s; want %s at %d: …%s…", r.Break.Kind, r.Break.Seq, r.Break.Text, c.kind, c.seq, c.says)
				}

				// What happens afterwards does not cover it up.
				err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { return tx.Audit("case.opened", models.Ref{}, nil) })
				if err == nil {
					err = store.SealEvents(t.Context(), "1000")
				}
				if err != nil {
					t.Fatalf("the desk cannot go on: %v", err)
				}
				if later := verify(t, store, models.VerifyOptions{Key: key}); later.Break == nil && c.name != "everything removed with the desk's notes" && c.name != "the desk's note of the end removed" {
					t.Error("after the next event nothing is found any more")
				}
			})
		}
	})
}

func TestACheckpointKeptElsewhereProvesThatTheChainOfTodayExtendsIt(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock, key := modelstest.NewClock(), auditKey(t)
		store := modelstest.Open(t, url, clock)
		company(t, store)
		writeEvents(t, store, clock, 20)
		note := takeCheckpoint(t, store, key)
		if again := takeCheckpoint(t, store, key); again != note {
			t.Errorf("an unchanged chain is signed as\n%s\nafter\n%s", again, note)
		}
		writeEvents(t, store, clock, 30)
		note += "\n" + takeCheckpoint(t, store, key)
		writeEvents(t, store, clock, 35)
		if !strings.HasPrefix(note, "apdesk/1000\n20\n") {
			t.Errorf("the note reads\n%s", note)
		}

		public, err := models.ParseAuditKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		kept, err := public.Open([]byte(note))
		if err != nil || len(kept) != 2 || kept[1].Seq != 30 || kept[1].WorkspaceID != "1000" {
			t.Fatalf("the file reads as %+v (%v)", kept, err)
		}
		if r := verify(t, store, models.VerifyOptions{Signed: kept, Key: key}); r.Break != nil || r.Signed != 4 {
			t.Fatalf("an intact chain is reported as %+v", r)
		}
		// A file without the desk's key, changed, or cut off proves nothing.
		other, err := models.NewAuditKey(bytes.Repeat([]byte("x"), 32))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"changed after": strings.Replace(note, "\n20\n", "\n21\n", 1), "not signed with": strings.Split(note, "\n— ")[0], "no checkpoint": "\n"} {
			if _, err := key.Open([]byte(text)); err == nil {
				t.Errorf("a note that is %s is taken", name)
			}
		}
		if _, err := other.Open([]byte(note)); err == nil || !strings.Contains(err.Error(), "not signed with this desk's key") {
			t.Errorf("another desk's key takes the note: %v", err)
		}

		// Whoever rewrites everything the desk keeps is still found out by the copy.
		a, events := behindTheDesk(t, url), chainOf(t, store)
		a.exec("UPDATE audit_events SET data = '{}' WHERE id = ?", events[24].ID)
		events[24].Data = "{}"
		a.atOnce(func() {
			seq, hash := a.rewrite(events[24:], 25, *events[23].Hash)
			a.exec("UPDATE audit_heads SET seq = ?, hash = ? WHERE workspace_id = '1000'", seq, hash)
			a.exec("DELETE FROM audit_checkpoints WHERE workspace_id = '1000'")
		})
		if r := verify(t, store, models.VerifyOptions{Key: key}); r.Break != nil {
			t.Errorf("the rewritten chain does not fit: %+v", r.Break)
		}
		r := verify(t, store, models.VerifyOptions{Signed: kept, Key: key})
		if r.Break == nil || r.Break.Kind != models.BreakRewritten || r.Break.Seq != 30 || !strings.Contains(r.Break.Text, "the checkpoint you kept") || !strings.Contains(r.Break.Text, "between event 21") {
			t.Errorf("the copy shows %+v", r.Break)
		}
		// So is whoever takes the whole trail away.
		for _, table := range []string{"audit_events", "audit_heads"} {
			a.exec("DELETE FROM " + table + " WHERE workspace_id = '1000'")
		}
		r = verify(t, store, models.VerifyOptions{Signed: kept, Key: key})
		if r.Break == nil || r.Break.Kind != models.BreakTail || !strings.Contains(r.Break.Text, "covers 30 events, and 0 are left") {
			t.Errorf("with nothing left the copy shows %+v", r.Break)
		}
	})
}

func TestACheckpointIsSignedDailyByOneJob(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock, key := modelstest.NewClock(), auditKey(t)
		store := modelstest.Open(t, url, clock)
		company(t, store)
		writeEvents(t, store, clock, 5)
		second := modelstest.Open(t, url, clock)
		work := func(s *models.Store) {
			t.Helper()
			if _, err := models.NewWorker(s, discard, models.AuditJobs(key)).RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		stored := func() []models.StoredCheckpoint {
			t.Helper()
			rows, err := store.Checkpoints(t.Context(), operator, 10)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		work(store)
		work(second)
		if rows := stored(); len(rows) != 1 || rows[0].Seq != 5 {
			t.Fatalf("after the first day there are %+v", rows)
		}
		clock.Advance(24 * time.Hour)
		work(second) // nothing happened meanwhile
		if rows := stored(); len(rows) != 1 {
			t.Errorf("an unchanged chain is stored %d times", len(rows))
		}
		writeEvents(t, store, clock, 8)
		clock.Advance(24 * time.Hour)
		work(store)
		if rows := stored(); len(rows) != 2 || rows[0].Seq != 8 || !rows[0].At.Time.Equal(clock.Now()) {
			t.Errorf("after the third day there are %+v", rows)
		}
		// A chain that does not end as it was sealed is not signed.
		behindTheDesk(t, url).exec("DELETE FROM audit_events WHERE workspace_id = '1000' AND seq = 8")
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error { _, err := tx.TakeCheckpoint(key); return err })
		if err == nil || !strings.Contains(err.Error(), "apdesk audit verify") {
			t.Errorf("a cut chain is signed: %v", err)
		}
	})
}

func TestEventsThatWereNotSealedAreCountedAndLateOnesTold(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		store := modelstest.Open(t, url, clock)
		company(t, store)
		writeEvents(t, store, clock, 5)
		// What a killed process left: written, and in no chain yet. It carries a time of an hour ago.
		a := behindTheDesk(t, url)
		a.exec(`INSERT INTO audit_events (id, workspace_id, at, actor_name, channel, action) VALUES ('evt_left', '1000', '2026-10-05T08:00:00.000000Z', 'apdesk', 'system', 'case.opened')`)
		if r := verify(t, store, models.VerifyOptions{}); r.Break != nil || r.Events != 5 || r.Unsealed != 1 || r.UnsealedAt.Hour() != 8 {
			t.Errorf("before sealing, reported is %+v", r)
		}
		if err := store.SealEvents(t.Context(), "1000"); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, store, models.VerifyOptions{}); r.Break != nil || r.Events != 6 || r.SealedLate != 1 || r.Unsealed != 0 {
			t.Errorf("reported is %+v", r)
		}
	})
}

func TestAForgedHeadDoesNotKeepAVerifyBusy(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		store := modelstest.Open(t, url, clock)
		company(t, store)
		writeEvents(t, store, clock, 5)
		a := behindTheDesk(t, url)
		a.exec("UPDATE audit_events SET data = '{\"forged\":1}' WHERE workspace_id = '1000' AND seq = 2")
		a.exec("UPDATE audit_heads SET seq = 4000000000000000000 WHERE workspace_id = '1000'")
		if r := verify(t, store, models.VerifyOptions{}); r.Break == nil || r.Break.Kind != models.BreakEdited || r.Break.Seq != 2 {
			t.Errorf("reported is %+v", r.Break)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := store.VerifyAudit(stopped, models.VerifyOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a verify that was stopped: %v", err)
		}
	})
}
