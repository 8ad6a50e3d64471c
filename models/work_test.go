package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// colleagues are two people of one company, on the pages.
func colleagues(t *testing.T, store *models.Store) (petra, paul models.Principal) {
	t.Helper()
	company(t, store)
	as := func(name string) models.Principal {
		u := person(t, store, models.NewUser{Email: strings.ToLower(name) + "@example.com", Name: name, Roles: []models.Role{models.RoleProcurement}})
		return models.Principal{UserID: u.ID, UserName: name, Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{models.RoleProcurement}, Channel: models.ChannelWeb}
	}
	return as("Petra"), as("Paul")
}

func TestPreferencesAreThoseOfThePersonAndCheckedWhole(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, _ *modelstest.Clock) {
		petra, paul := colleagues(t, store)
		read := func(by models.Principal) models.Preference {
			t.Helper()
			p, err := store.Preferences(t.Context(), by)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if p := read(petra); p.AfterDecision != models.AfterStay || !p.Shortcuts || p.Theme != models.ThemeSystem {
			t.Errorf("somebody who chose nothing has %+v", p)
		}
		for _, shortcuts := range []bool{false, true, false} {
			err := store.SetPreferences(t.Context(), petra, func(p *models.Preference) {
				p.AfterDecision, p.Shortcuts, p.Theme = models.AfterNext, shortcuts, models.ThemeDark
			})
			if err != nil {
				t.Fatal(err)
			}
			if p := read(petra); p.AfterDecision != models.AfterNext || p.Shortcuts != shortcuts || p.Theme != models.ThemeDark {
				t.Errorf("chosen was next, keys %v, dark; kept is %+v", shortcuts, p)
			}
		}
		if p := read(paul); p.AfterDecision != models.AfterStay {
			t.Errorf("a colleague has %+v", p)
		}
		err := store.SetPreferences(t.Context(), petra, func(p *models.Preference) { p.AfterDecision, p.Theme = "away", "sepia" })
		if !models.IsCode(err, models.ValidationError) {
			t.Errorf("want VALIDATION_ERROR, got %v", err)
		}
		token := petra
		token.Channel = models.ChannelAPI
		if err := store.SetPreferences(t.Context(), token, func(*models.Preference) {}); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("a token set preferences: %v", err)
		}
	})
}

func TestOthersAreSeenUntilTheyLeaveOrAreHeardOfNoMore(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		petra, paul := colleagues(t, store)
		const record = "case_01"
		before := countEvents(t, store)
		attend := func(by models.Principal, doing models.Doing) {
			t.Helper()
			if err := store.Attend(t.Context(), by, record, doing); err != nil {
				t.Fatal(err)
			}
		}
		sees := func(by models.Principal, want string) {
			t.Helper()
			all, err := store.Presences(t.Context(), by, record, "case_02")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range all[record] {
				got += p.UserName + " " + string(p.Doing) + ";"
			}
			if got != want || len(all["case_02"]) != 0 {
				t.Errorf("%s sees %q, want %q", by.UserName, got, want)
			}
		}
		woken := func(act func()) bool {
			wake, cancel := store.Hub().Subscribe(models.TopicPresence(record))
			defer cancel()
			act()
			select {
			case <-wake:
				return true
			default:
				return false
			}
		}
		if !woken(func() { attend(petra, models.Viewing) }) {
			t.Error("nobody is told that somebody came")
		}
		sees(paul, "Petra viewing;")
		sees(petra, "")
		if woken(func() { attend(petra, models.Viewing) }) {
			t.Error("others are woken although nothing is new")
		}
		if !woken(func() { attend(petra, models.Editing) }) {
			t.Error("nobody is told that somebody writes")
		}
		attend(paul, models.Viewing)
		sees(paul, "Petra editing;")
		sees(petra, "Paul viewing;")
		elsewhere := paul
		elsewhere.WorkspaceID = "2000"
		sees(elsewhere, "")

		clock.Advance(models.PresenceLife - time.Second)
		sees(paul, "Petra editing;")
		clock.Advance(time.Second)
		sees(paul, "")
		if !woken(func() { attend(petra, models.Editing) }) {
			t.Error("nobody is told that somebody came back")
		}
		if !woken(func() {
			if err := store.Leave(t.Context(), petra, record); err != nil {
				t.Fatal(err)
			}
		}) {
			t.Error("nobody is told that somebody left")
		}
		sees(paul, "")
		if n := countEvents(t, store) - before; n != 0 {
			t.Errorf("being there left %d events on the trail", n)
		}
		if err := store.Attend(t.Context(), petra, record, "sleeping"); !models.IsCode(err, models.ValidationError) {
			t.Errorf("want VALIDATION_ERROR, got %v", err)
		}
		if err := store.NeedRecord(t.Context(), petra, "case_unknown"); !models.IsCode(err, models.NotFound) {
			t.Errorf("want NOT_FOUND, got %v", err)
		}
	})
}

func TestADraftIsPrivateBoundedAndGoneOnceItsFormIsSent(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		petra, paul := colleagues(t, store)
		const record, form = "case_01", "decision"
		fields := []models.DraftField{{Name: "exit", Value: "use_other_po"}, {Name: "reason", Value: "The follow-on order: “4500018804” \u202e"}}
		save := func(by models.Principal, fields []models.DraftField, made models.Time) error {
			_, _, err := store.SaveTyped(t.Context(), by, models.Draft{Subject: record, Form: form, Version: 3}, fields, made, models.Typing{})
			return err
		}
		kept := func(by models.Principal) (models.Draft, bool) {
			t.Helper()
			all, err := store.Drafts(t.Context(), by, record)
			if err != nil {
				t.Fatal(err)
			}
			d, ok := all[form]
			return d, ok
		}
		opened := store.Now()
		clock.Advance(time.Minute)
		if err := save(petra, fields, opened); err != nil {
			t.Fatal(err)
		}
		d, ok := kept(petra)
		if !ok || d.Version != 3 || d.Value("reason") != fields[1].Value || len(d.Typed()) != 2 || !d.SavedAt.Equal(store.Now().Time) {
			t.Errorf("kept is %+v", d)
		}
		if _, ok := kept(paul); ok {
			t.Error("a colleague reads the draft")
		}
		elsewhere := petra
		elsewhere.WorkspaceID = "2000"
		if _, ok := kept(elsewhere); ok {
			t.Error("the draft shows in another workspace")
		}

		if err := store.DropDraft(t.Context(), petra, record, form); err != nil {
			t.Fatal(err)
		}
		if err := save(petra, fields, opened); err != nil { // was on its way when the form was sent
			t.Fatal(err)
		}
		if d, ok := kept(petra); ok {
			t.Errorf("what was sent came back: %+v", d)
		}
		if err := save(petra, fields, store.Now()); err != nil {
			t.Fatal(err)
		}
		if _, ok := kept(petra); !ok {
			t.Error("a page opened after the sending keeps nothing")
		}
		if err := save(petra, []models.DraftField{{Name: "reason", Value: " "}}, store.Now()); err != nil {
			t.Fatal(err)
		}
		if _, ok := kept(petra); ok {
			t.Error("an emptied form is still kept")
		}

		long := []models.DraftField{{Name: "reason", Value: strings.Repeat("x", models.MaxDraft)}}
		if err := save(petra, long, store.Now()); !models.IsCode(err, models.ValidationError) {
			t.Errorf("a form of more than 64 kilobytes: want VALIDATION_ERROR, got %v", err)
		}
		token := petra
		token.Channel = models.ChannelMCP
		if err := save(token, fields, store.Now()); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("a token saved a draft: %v", err)
		}

		if err := save(petra, fields, store.Now()); err != nil {
			t.Fatal(err)
		}
		if err := store.Attend(t.Context(), petra, record, models.Viewing); err != nil {
			t.Fatal(err)
		}
		clock.Advance(models.KeepDrafts)
		if _, ok := kept(petra); ok {
			t.Error("a draft of 30 days ago is offered")
		}
		// The store's own job leaves no row behind.
		err := store.InTx(t.Context(), operator, func(tx *models.Tx) error {
			return models.HouseKeeping()[models.JobForgetKeys](tx, models.Job{Kind: models.JobForgetKeys})
		})
		if err != nil {
			t.Fatal(err)
		}
		err = store.View(t.Context(), operator, func(tx *models.Tx) error {
			for _, table := range []string{"drafts", "presences"} {
				var n int
				if err := tx.DB.Raw("SELECT count(*) FROM " + table).Row().Scan(&n); err != nil || n != 0 {
					t.Errorf("%d rows are left in %s: %v", n, table, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
