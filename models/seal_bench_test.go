package models_test

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// BenchmarkSeal says how many events a second are linked, beside how many are written in batches of
// 64: the sealer must stay well ahead of the writers.
func BenchmarkSeal(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			url := ""
			if kind == "sqlite" {
				url = modelstest.SQLiteURL(b)
			} else {
				url = modelstest.MigratedPostgresURL(b)
			}
			store := modelstest.Open(b, url, modelstest.NewClock())
			by := models.Operator("bench")
			var sealing, writing time.Duration
			events := 0
			for b.Loop() {
				started := time.Now()
				for range 32 {
					err := store.InTx(b.Context(), by, func(tx *models.Tx) error {
						for range 64 {
							if err := tx.Audit("case.opened", models.Ref{CaseID: "case_1", InvoiceID: "5105600123"}, map[string]any{"queue": "ap", "version": 1}); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				writing += time.Since(started)
				started = time.Now()
				if err := store.SealEvents(b.Context(), "bench"); err != nil {
					b.Fatal(err)
				}
				sealing += time.Since(started)
				events += 32 * 64
			}
			b.ReportMetric(float64(events)/writing.Seconds(), "written/s")
			b.ReportMetric(float64(events)/sealing.Seconds(), "sealed/s")
		})
	}
}
