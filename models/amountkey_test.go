package models_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// amountsInOrder are amounts of one currency from the least to the greatest; those of one line are equal.
var amountsInOrder = [][]string{
	{"-123456789012345678.90"}, {"-1000"}, {"-999.99"}, {"-12.51"}, {"-12.50", "-12.5", "-012.5"}, {"-0.01"}, {"0", "-0", "0.00", "000"},
	{"0.01"}, {"0.1", "0.10"}, {"9.99"}, {"10", "010.00"}, {"12.5"}, {"999.99"}, {"1000"}, {"9007199254740993.01"}, {"9007199254740993.02"},
}

func TestTheSortKeyOfAnAmountSortsLikeTheAmount(t *testing.T) {
	t.Parallel()
	last := ""
	for _, equal := range amountsInOrder {
		key := must(t, equal[0], "EUR").SortKey()
		for _, other := range equal {
			if got := must(t, other, "EUR").SortKey(); got != key {
				t.Errorf("%s has the key %s, %s has %s", other, got, equal[0], key)
			}
		}
		if key <= last {
			t.Errorf("%s has the key %s, which does not come after %s", equal[0], key, last)
		}
		if strings.Trim(key, "0123456789") != "" {
			t.Errorf("%s has the key %q, which a collation could sort otherwise", equal[0], key)
		}
		last = key
	}
	if (models.Money{}).SortKey() != "" {
		t.Error("no amount has a key")
	}
}

// Cases from before have no key until the migration computes it; it must be the one the desk writes.
func TestAmountsFromBeforeGetTheKeyTheDeskWouldWrite(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		file := "migrations/sqlite/0008_lists.sql"
		if store.Postgres() {
			file = "migrations/postgres/0008_lists.sql"
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		backfill := regexp.MustCompile(`(?m)^UPDATE cases [^;]*`).FindString(string(text))
		amounts := slices.Concat(amountsInOrder...)
		err = store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			for _, amount := range amounts {
				c := models.Case{ID: tx.NewID(models.PrefixCase), WorkspaceID: "1000", Status: models.CaseOpen, Queue: models.QueueAP, Reason: models.ReasonOther, JoinKey: amount,
					Amount: amount, Currency: "EUR", Invoice: "{}", Marks: "[]", DueAt: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now}
				if err := tx.DB.Create(&c).Error; err != nil {
					return err
				}
			}
			return tx.DB.Exec(backfill).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		var rows []models.Case
		err = store.View(t.Context(), operator, func(tx *models.Tx) error { return tx.DB.Find(&rows).Error })
		if err != nil || len(rows) != len(amounts) {
			t.Fatal(len(rows), err)
		}
		for _, c := range rows {
			if want := must(t, c.Amount, "EUR").SortKey(); c.AmountKey != want {
				t.Errorf("%s gets %s, not %s", c.Amount, c.AmountKey, want)
			}
		}
	})
}
