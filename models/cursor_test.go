package models_test

import (
	"testing"

	"github.com/apdesk/apdesk/models"
)

// FuzzReadKeyCursor: a cursor is read or refused by its code, and what was read is what is given out again.
func FuzzReadKeyCursor(f *testing.F) {
	var at models.Time
	if err := at.Scan("2026-10-05T09:12:44Z"); err != nil {
		f.Fatal(err)
	}
	f.Add(models.KeyCursor(at, "case_1"))
	f.Add("")
	f.Add("MjAyNi0xMC0wNVQwOToxMjo0NFp8")
	f.Add("' OR 1=1 --")
	f.Fuzz(func(t *testing.T, cursor string) {
		at, id, err := models.ReadKeyCursor(cursor)
		if err != nil {
			if !models.IsCode(err, models.BadRequest) {
				t.Errorf("%q fails with %v", cursor, err)
			}
			return
		}
		again, sameID, err := models.ReadKeyCursor(models.KeyCursor(at, id))
		if err != nil || !again.Equal(at.Time) || sameID != id || id == "" {
			t.Errorf("%q is %v %q, and given out again %v %q (%v)", cursor, at, id, again, sameID, err)
		}
	})
}
