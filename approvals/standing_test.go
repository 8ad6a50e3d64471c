package approvals

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestTheKeptMatrixIsNeverStale(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		s := New(store)
		operator := models.Operator("1000")
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "1000", Name: "Company", TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func(tx *models.Tx) string {
			rules, err := rulesInForce(tx)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, r := range rules {
				text += fmt.Sprintf("%s:%d ", r.ToAmount, r.Version)
			}
			return text
		}
		wants := func(want, when string) {
			t.Helper()
			for range 2 { // read, and read from memory
				clock.Advance(time.Second)
				err := store.View(t.Context(), operator, func(tx *models.Tx) error {
					if got := read(tx); got != want {
						t.Errorf("%s: %q, want %q", when, got, want)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				err = store.InTx(t.Context(), operator, func(tx *models.Tx) error {
					if got := read(tx); got != want {
						t.Errorf("%s, when writing: %q, want %q", when, got, want)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		wants("", "no rule")
		rule := NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "10"}
		made, err := s.CreateRule(t.Context(), operator, rule)
		if err != nil {
			t.Fatal(err)
		}
		wants("10:1 ", "a rule made")
		rule.To = "20"
		if _, err := s.ReplaceRule(t.Context(), operator, made.ID, 1, rule); err != nil {
			t.Fatal(err)
		}
		wants("20:2 ", "a rule replaced")
		// What an edit reads of its own doing, and then undoes, is seen by nobody.
		undone := errors.New("undone")
		for _, edit := range []struct {
			do   func(tx *models.Tx) error
			want string
		}{
			{func(tx *models.Tx) error {
				return tx.DB.Model(&models.Rule{}).Where("id = ? AND version = 2", made.ID).Updates(map[string]any{"retired_at": tx.Now}).Error
			}, ""},
			{func(tx *models.Tx) error {
				var r models.Rule
				if err := tx.DB.Where("id = ? AND version = 2", made.ID).Take(&r).Error; err != nil {
					return err
				}
				r.ID, r.ToAmount, r.CreatedAt, r.FirstAt = "rule_other", "30", tx.Now, tx.Now
				return tx.DB.Create(&r).Error
			}, "20:2 30:2 "},
		} {
			for _, bumped := range []bool{false, true} {
				err = store.InTx(t.Context(), operator, func(tx *models.Tx) error {
					if bumped {
						if err := tx.DB.Model(&models.RuleSet{}).Where("workspace_id = ?", "1000").Update("version", 3).Error; err != nil {
							return err
						}
					}
					if err := edit.do(tx); err != nil {
						return err
					}
					if got := read(tx); got != edit.want {
						t.Errorf("the edit itself reads %q, want %q", got, edit.want)
					}
					return undone
				})
				if !errors.Is(err, undone) {
					t.Fatal(err)
				}
			}
			wants("20:2 ", "an edit undone")
		}
		rule.To = "40"
		if _, err := s.ReplaceRule(t.Context(), operator, made.ID, 2, rule); err != nil {
			t.Fatal(err)
		}
		wants("40:3 ", "the version that was undone before, now for good")
		if err := s.RetireRule(t.Context(), operator, made.ID, 3); err != nil {
			t.Fatal(err)
		}
		wants("", "a rule retired")
		for range 20 {
			clock.Advance(time.Second)
			rule.To = fmt.Sprint(50 + clock.Now().Unix()%1000)
			if _, err := s.CreateRule(t.Context(), operator, rule); err != nil {
				t.Fatal(err)
			}
		}
	})
}
