package models

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// SavedView is a filtered list that a person keeps in a workspace. Query is that of the list's address.
type SavedView struct {
	ID          string `gorm:"primaryKey"`
	WorkspaceID string
	UserID      string
	Name        string
	Path        string
	Query       string
	CreatedAt   Time
}

// Bounds of saved views.
const (
	MostViews      = 100 // that one person keeps in a workspace
	MaxViewName    = 60  // characters
	maxViewAddress = 2000
)

// SavedViews are the first of the person's views in the workspace, by name, and how many there are.
func (s *Store) SavedViews(ctx context.Context, by Principal, limit int) (views []SavedView, all int, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		views, err = tx.savedViews()
		all = len(views)
		views = views[:min(limit, all)]
		return err
	})
	return views, all, err
}

// savedViews are all the person has, in the order in which people look names up.
func (tx *Tx) savedViews() ([]SavedView, error) {
	views, err := All[SavedView](tx, "SELECT id, workspace_id, user_id, name, path, query, created_at FROM saved_views WHERE workspace_id = ? AND user_id = ?", tx.By.WorkspaceID, tx.By.UserID)
	slices.SortFunc(views, func(a, b SavedView) int {
		if order := strings.Compare(foldName(a.Name), foldName(b.Name)); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return views, err
}

// foldName is a name as people compare it.
func foldName(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// SaveView keeps a list under a name. Saving the same list under the same name again changes nothing. It
// fails with VALIDATION_ERROR on /name or /path, and with insufficient_permission for anybody but a
// person signed in to the pages.
func (s *Store) SaveView(ctx context.Context, by Principal, name, path, query string) (view SavedView, err error) {
	if err := by.NeedPerson(); err != nil {
		return SavedView{}, err
	}
	name, issues := viewName(name)
	if !strings.HasPrefix(path, "/") || len(path)+len(query) > maxViewAddress {
		issues = append(issues, Issue{Path: "/path", Message: "is no list that can be kept"})
	}
	if len(issues) > 0 {
		return SavedView{}, Invalid(issues...)
	}
	err = s.changeViews(ctx, by, func(tx *Tx, views []SavedView) error {
		for _, v := range views {
			if v.Name == name && v.Path == path && v.Query == query {
				view = v
				return nil
			}
		}
		if len(views) >= MostViews {
			return Invalid(Issue{Path: "/name", Message: fmt.Sprintf("cannot be added: you keep %d views already; delete one first", MostViews)})
		}
		if err := nameIsFree(views, name, ""); err != nil {
			return err
		}
		view = SavedView{ID: tx.NewID(PrefixSavedView), WorkspaceID: by.WorkspaceID, UserID: by.UserID, Name: name, Path: path, Query: query, CreatedAt: tx.Now}
		_, err := tx.Exec("INSERT INTO saved_views (id, workspace_id, user_id, name, path, query, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			view.ID, view.WorkspaceID, view.UserID, view.Name, view.Path, view.Query, view.CreatedAt)
		return err
	})
	return view, err
}

// RenameView gives one of the person's views another name. It fails as SaveView does, and with NOT_FOUND.
func (s *Store) RenameView(ctx context.Context, by Principal, id, name string) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	name, issues := viewName(name)
	if len(issues) > 0 {
		return Invalid(issues...)
	}
	return s.changeViews(ctx, by, func(tx *Tx, views []SavedView) error {
		if !slices.ContainsFunc(views, func(v SavedView) bool { return v.ID == id }) {
			return Missing("view", id)
		}
		if err := nameIsFree(views, name, id); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE saved_views SET name = ? WHERE id = ? AND workspace_id = ? AND user_id = ?", name, id, by.WorkspaceID, by.UserID)
		return err
	})
}

// DeleteView forgets one of the person's views. One that is gone already is no failure.
func (s *Store) DeleteView(ctx context.Context, by Principal, id string) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return s.changeViews(ctx, by, func(tx *Tx, _ []SavedView) error {
		_, err := tx.Exec("DELETE FROM saved_views WHERE id = ? AND workspace_id = ? AND user_id = ?", id, by.WorkspaceID, by.UserID)
		return err
	})
}

// changeViews runs a change of the person's views, one after the other.
func (s *Store) changeViews(ctx context.Context, by Principal, change func(*Tx, []SavedView) error) error {
	return s.InTx(ctx, by, func(tx *Tx) error {
		if err := tx.LockName("views:" + by.WorkspaceID + "\x1f" + by.UserID); err != nil {
			return err
		}
		views, err := tx.savedViews()
		if err != nil {
			return err
		}
		return change(tx, views)
	})
}

func viewName(name string) (string, []Issue) {
	name, why := checkedName(name, MaxViewName)
	if why != "" {
		return "", []Issue{{Path: "/name", Message: why}}
	}
	return name, nil
}

// nameIsFree refuses a name that another of the views has, however it is written.
func nameIsFree(views []SavedView, name, id string) error {
	for _, v := range views {
		if v.ID != id && foldName(v.Name) == foldName(name) {
			return Invalid(Issue{Path: "/name", Message: "is the name of another of your views; choose one that tells them apart"})
		}
	}
	return nil
}
