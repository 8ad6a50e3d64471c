package models_test

import (
	"database/sql"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// BenchmarkDurableWrites sets the store's grouped commits beside raw single-row transactions on the
// same disk: the ratio says what sharing the fsync is worth.
func BenchmarkDurableWrites(b *testing.B) {
	b.Run("raw", func(b *testing.B) {
		db, err := sql.Open("sqlite3", "file:"+b.TempDir()+"/raw.db?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_busy_timeout=10000")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)"); err != nil {
			b.Fatal(err)
		}
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				tx, err := db.Begin()
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := tx.Exec("INSERT INTO t (text) VALUES ('x')"); err != nil {
					b.Error(err)
				}
				if err := tx.Commit(); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("store", func(b *testing.B) {
		store, _ := modelstest.SQLite(b)
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				err := store.InTx(b.Context(), operator, func(tx *models.Tx) error {
					return tx.Audit("case.opened", models.Ref{Subject: "x"}, map[string]any{"n": 1})
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	})
}
