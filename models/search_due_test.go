package models_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// What is written for the search after the commit is found by whoever searches next.
func TestASearchFindsWhatWasCommittedBeforeIt(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		t.Parallel()
		a := newArchive(t, store)
		for i := range 150 {
			name := fmt.Sprint("case", i)
			a.aCase(name, "1000", models.Case{SupplierName: fmt.Sprint("Lieferant", i)}, "{}")
			if i%50 == 0 {
				if got := a.find(clerk("1000"), fmt.Sprint("lieferant", i)); !slices.Equal(got, []string{name}) {
					t.Errorf("case %d: found %q", i, got)
				}
			}
		}
		if got := a.find(clerk("1000"), "lieferant149"); !slices.Equal(got, []string{"case149"}) {
			t.Errorf("found %q", got)
		}
		if got := a.find(clerk("2000"), "lieferant149"); len(got) > 0 {
			t.Errorf("the other company found %q", got)
		}
	})
}

func TestManyWhoWriteAndSearchAtOnceFindTheirOwn(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		t.Parallel()
		a := newArchive(t, store)
		var everybody sync.WaitGroup
		for w := range 6 {
			everybody.Go(func() {
				for i := range 8 {
					id := fmt.Sprintf("inv%dx%d", w, i)
					err := store.InTx(t.Context(), models.System("1000"), func(tx *models.Tx) error {
						return tx.SeeInvoice(models.Invoice{ID: id, SupplierName: "Nordwind"}, "")
					})
					if err != nil {
						t.Error(err)
						return
					}
					found, err := store.Search(t.Context(), clerk("1000"), models.ReadSearch(id), models.SearchPage{})
					if err != nil || len(found.Hits) == 0 || found.Hits[0].Subject != id {
						t.Errorf("%s: found %d others, %v", id, len(found.Hits), err)
					}
				}
			})
		}
		everybody.Wait()
		if got := a.find(clerk("1000"), "kind:supplier nordwind"); len(got) != 1 {
			t.Errorf("the supplier is found as %q", got)
		}
	})
}

func TestWhatAKilledDeskHadNotYetWrittenForTheSearchIsFoundAfterTheStart(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		clock := modelstest.NewClock()
		store := modelstest.Open(t, url, clock)
		a := newArchive(t, store)
		id := a.aCase("lost", "1000", models.Case{SupplierName: "Nordwind"}, "{}")
		a.settle()
		a.in("1000", func(tx *models.Tx) error { // as a kill between commit and search leaves it
			if _, err := tx.Exec("DELETE FROM search_docs"); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO search_due (workspace_id, source, subject) VALUES ('1000', 'cases', ?)", id)
			return err
		})
		again := modelstest.Open(t, url, clock)
		found, err := again.Search(t.Context(), clerk("1000"), models.ReadSearch("nordwind"), models.SearchPage{})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Subject != id {
			t.Errorf("found %+v, %v", found.Hits, err)
		}
	})
}

func TestARecordThatCannotBeReadKeepsNoOtherFromBeingFound(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		t.Parallel()
		a := newArchive(t, store)
		a.in("1000", func(tx *models.Tx) error {
			for _, due := range [][2]string{{"nonsense", "x"}, {"cases", "case_gone"}} {
				if _, err := tx.Exec("INSERT INTO search_due (workspace_id, source, subject) VALUES ('1000', ?, ?)", due[0], due[1]); err != nil {
					return err
				}
			}
			return nil
		})
		a.aCase("other", "1000", models.Case{SupplierName: "Nordwind"}, "{}")
		a.settle()
		if got := a.find(clerk("1000"), "nordwind"); !slices.Equal(got, []string{"other"}) {
			t.Errorf("found %q", got)
		}
		a.in("1000", func(tx *models.Tx) error {
			var left int
			err := tx.Value(&left, "SELECT count(*) FROM search_due")
			if left != 0 {
				t.Errorf("%d records wait for ever", left)
			}
			return err
		})
	})
}
