package approvals_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// BenchmarkAmongOthers files, decides and redeems one request beside few and beside many others and
// rules. What it measures must not grow with them.
func BenchmarkAmongOthers(b *testing.B) {
	for _, size := range []struct{ requests, rules int }{{10, 10}, {10_000, 500}} {
		b.Run(fmt.Sprintf("%d requests, %d rules", size.requests, size.rules), func(b *testing.B) {
			store, clock := modelstest.SQLite(b)
			amongOthers(b, store, clock, size.requests, size.rules)
		})
	}
}

func amongOthers(b *testing.B, store *models.Store, clock *modelstest.Clock, requests, rules int) {
	b.Helper()
	d := newDeskIn(b, store)
	d.rule(financeRule(1))
	for i := 1; i < rules; i++ {
		n := financeRule(1)
		n.Supplier, n.From, n.To = fmt.Sprintf("V-%d", 9000+i), "0", fmt.Sprint(10_000+i)
		d.rule(n)
	}
	clock.Advance(time.Second)
	first, err := d.svc.Request(b.Context(), d.mcp("robot"), ask(b, "1.00"), models.Idempotency{})
	if err != nil {
		b.Fatal(err)
	}
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		var r models.ApprovalRequest
		if err := tx.DB.Where("id = ?", first.RequestID).Take(&r).Error; err != nil {
			return err
		}
		var rows []models.ApprovalRequest
		var askers []models.Asker
		for i := 1; i < requests; i++ {
			c := r
			c.ID, c.Digest, c.InvoiceID = tx.NewID(models.PrefixApprovalRequest), fmt.Sprintf("digest-%d", i), fmt.Sprintf("INV-%d", i)
			rows = append(rows, c)
			askers = append(askers, models.Asker{RequestID: c.ID, UserID: c.AskerID, Relation: "asked"})
		}
		if err := tx.DB.CreateInBatches(&rows, 200).Error; err != nil {
			return err
		}
		return tx.DB.CreateInBatches(&askers, 1000).Error
	})
	n := 0
	next := func() (approvals.RequestInput, json.RawMessage) {
		n++
		clock.Advance(time.Millisecond)
		amount := fmt.Sprintf("%d.%02d", 100+n/100, n%100)
		return ask(b, amount), arguments(amount)
	}
	file := func(b *testing.B) (approvals.RequestView, json.RawMessage) {
		in, args := next()
		v, err := d.svc.Request(b.Context(), d.mcp("robot"), in, models.Idempotency{})
		if err != nil || v.Status != models.RequestPending {
			b.Fatalf("%+v, %v", v, err)
		}
		return v, args
	}
	vote := func(b *testing.B, v approvals.RequestView) {
		if _, err := d.svc.Vote(b.Context(), d.web("fumiko"), approvals.VoteInput{RequestID: v.RequestID, Decision: models.VoteApprove, Version: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			file(b)
		}
	})
	b.Run("decide", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			v, _ := file(b)
			b.StartTimer()
			vote(b, v)
		}
	})
	b.Run("redeem", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			v, args := file(b)
			vote(b, v)
			got, err := d.svc.Get(b.Context(), d.mcp("robot"), v.RequestID)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := d.redeem("sap", got.ApprovalID, "k", args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		v, _ := file(b)
		for b.Loop() {
			if _, err := d.svc.Page(b.Context(), d.web("fumiko"), v.RequestID); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.svc.WaitingList(b.Context(), d.web("fumiko"), approvals.WaitingFilter{Limit: 10}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := d.svc.CountWaiting(b.Context(), d.web("fumiko"), 99); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change a rule", func(b *testing.B) {
		views, err := d.svc.Rules(b.Context(), d.web("fumiko"))
		if err != nil {
			b.Fatal(err)
		}
		last, n := views[0].Rule, financeRule(1)
		hours := 25
		for b.Loop() {
			hours++
			n.Valid = time.Duration(hours%8000) * time.Hour
			if last, err = d.svc.ReplaceRule(b.Context(), models.Operator(company), last.ID, last.Version, n); err != nil {
				b.Fatal(err)
			}
		}
	})
}
