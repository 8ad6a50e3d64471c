package models_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestAPersonKeepsViewsUnderNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		as := func(name string) models.Principal {
			u := person(t, store, models.NewUser{Email: name + "@example.test", Name: name, Roles: []models.Role{models.RoleAPClerk}})
			return models.Principal{UserID: u.ID, UserName: name, Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{models.RoleAPClerk}, Channel: models.ChannelWeb}
		}
		anna, bert := as("anna"), as("bert")
		save := func(by models.Principal, name, query string) (models.SavedView, error) {
			return store.SaveView(t.Context(), by, name, "/queues/ap", query)
		}
		issue := func(err error, path string) {
			t.Helper()
			ne, ok := models.AsNamed(err)
			if !ok || ne.Code != models.ValidationError || ne.Details["issues"].([]models.Issue)[0].Path != path {
				t.Errorf("want an issue on %s, got %v", path, err)
			}
		}
		first, err := save(anna, "  Überfällig   heute ", "due=overdue")
		if err != nil || first.Name != "Überfällig heute" {
			t.Fatal(first, err)
		}
		again, err := save(anna, "Überfällig heute", "due=overdue")
		if err != nil || again.ID != first.ID {
			t.Errorf("sent twice it is kept twice: %v, %v", again, err)
		}
		for _, taken := range []string{"Überfällig heute", "überfällig HEUTE"} {
			_, err = save(anna, taken, "due=today")
			issue(err, "/name")
		}
		for _, bad := range []string{"", " ", strings.Repeat("x", 61), "a\x00b"} {
			_, err = save(anna, bad, "")
			issue(err, "/name")
		}
		_, err = store.SaveView(t.Context(), anna, "elsewhere", "https://evil.example/", "")
		issue(err, "/path")
		if _, err := save(bert, "Überfällig heute", "due=overdue"); err != nil {
			t.Errorf("a colleague cannot have the same name: %v", err)
		}
		second, err := save(anna, "alle über 10.000", "amount_from=10000")
		if err != nil {
			t.Fatal(err)
		}
		issue(store.RenameView(t.Context(), anna, second.ID, "überfällig heute"), "/name")
		if err := store.RenameView(t.Context(), anna, second.ID, "Alle über 10.000"); err != nil {
			t.Errorf("a name cannot be written otherwise: %v", err)
		}
		if err := store.RenameView(t.Context(), bert, second.ID, "Mine"); !models.IsCode(err, models.NotFound) {
			t.Errorf("somebody else's view can be renamed: %v", err)
		}
		if err := store.DeleteView(t.Context(), bert, second.ID); err != nil {
			t.Fatal(err)
		}
		names := func(limit int) string {
			views, all, err := store.SavedViews(t.Context(), anna, limit)
			if err != nil {
				t.Fatal(err)
			}
			out := fmt.Sprint(all)
			for _, v := range views {
				out += ", " + v.Name
			}
			return out
		}
		if got := names(10); got != "2, Alle über 10.000, Überfällig heute" {
			t.Errorf("views: %s", got)
		}
		if got := names(1); got != "2, Alle über 10.000" {
			t.Errorf("the first view: %s", got)
		}
		if err := store.DeleteView(t.Context(), anna, first.ID); err != nil {
			t.Fatal(err)
		}
		if got := names(10); got != "1, Alle über 10.000" {
			t.Errorf("after deleting one: %s", got)
		}
		token := anna
		token.Channel, token.TokenID = models.ChannelAPI, "tok"
		if _, err := save(token, "x", ""); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("a token keeps a view: %v", err)
		}
	})
}

func TestAPersonKeepsABoundedNumberOfViewsWhoeverIsFaster(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		company(t, store)
		u := person(t, store, models.NewUser{Email: "anna@example.test", Name: "Anna", Roles: []models.Role{models.RoleAPClerk}})
		anna := models.Principal{UserID: u.ID, UserName: "Anna", Kind: models.KindPerson, WorkspaceID: "1000", Roles: []models.Role{models.RoleAPClerk}, Channel: models.ChannelWeb}
		var racers sync.WaitGroup
		kept := make([]error, 4)
		for i := range kept {
			racers.Go(func() { _, kept[i] = store.SaveView(t.Context(), anna, "One", "/cases", fmt.Sprint("code=", i)) })
		}
		racers.Wait()
		won := 0
		for _, err := range kept {
			if err == nil {
				won++
			} else if !models.IsCode(err, models.ValidationError) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d of four views have one name", won)
		}
		for i := range models.MostViews - 1 {
			if _, err := store.SaveView(t.Context(), anna, fmt.Sprint("View ", i), "/cases", ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.SaveView(t.Context(), anna, "One too many", "/cases", ""); !models.IsCode(err, models.ValidationError) {
			t.Errorf("a view too many: %v", err)
		}
	})
}
