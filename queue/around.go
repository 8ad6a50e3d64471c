package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Neighbours are the cases beside one in a list; "" where there is none.
type Neighbours struct{ Before, After string }

// Around finds what stands beside a case in the list that f describes, also when the case itself is no
// longer in it. It fails as List does.
func (s *Service) Around(ctx context.Context, by models.Principal, f Filter, caseID string) (Neighbours, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return Neighbours{}, err
	}
	if _, err := f.check(); err != nil {
		return Neighbours{}, err
	}
	back := f
	back.Sort = reversed(f.Sort)
	var out Neighbours
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		here, err := caseInList(tx, caseID)
		if err != nil {
			return err
		}
		if out.After, err = firstBeyond(tx, f, here); err != nil {
			return err
		}
		out.Before, err = firstBeyond(tx, back, here)
		return err
	})
	return out, err
}

func firstBeyond(tx *models.Tx, f Filter, here models.Case) (string, error) {
	rows, err := f.rows(tx, f.place(here), 1)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].ID, nil
}

// lookedThrough bounds how many cases NextFree passes over because others hold them.
const lookedThrough = 200

// NextFree finds the first case of the list that the person can take up: beyond the one named, else
// from the start; never that one itself, nor one that somebody else holds or that stands in a queue the
// person does not work. It answers "" when none is left.
func (s *Service) NextFree(ctx context.Context, by models.Principal, f Filter, beyond string) (string, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return "", err
	}
	if _, err := f.check(); err != nil {
		return "", err
	}
	f.among = slices.DeleteFunc(models.Queues(), func(q models.Queue) bool { return !by.Has(q.Roles()...) })
	if len(f.among) == 0 || f.Queue != "" && !slices.Contains(f.among, f.Queue) {
		return "", nil
	}
	found := ""
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		starts := []*cursor{nil}
		here, err := caseInList(tx, beyond)
		switch {
		case err == nil:
			starts = []*cursor{f.place(here), nil}
		case !models.IsCode(err, models.NotFound):
			return err
		}
		for _, start := range starts {
			rows, err := f.rows(tx, start, lookedThrough)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if holder := row.ClaimedAt(tx.Now); row.ID != beyond && (holder == "" || holder == by.UserID) {
					found = row.ID
					return nil
				}
			}
		}
		return nil
	})
	return found, err
}

// place is where a case stands in the list.
func (f Filter) place(c models.Case) *cursor {
	at := f.at(c)
	return &at
}

func reversed(sort string) string {
	if back, ok := strings.CutPrefix(sort, "-"); ok {
		return back
	}
	return "-" + sort
}

// caseInList reads what a case's place in a list depends on. It fails with NOT_FOUND.
func caseInList(tx *models.Tx, id string) (c models.Case, err error) {
	err = tx.DB.Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID).Take(&c).Error
	if errors.Is(err, models.ErrNoRow) {
		err = models.Missing("case", id)
	}
	return c, err
}

// ClaimState is who holds a case now, and until when.
type ClaimState struct {
	Mine  bool
	Until models.Time // zero while nobody holds it
}

// keepEvery is the least time between two renewals of a claim by an open page.
const keepEvery = time.Minute

// KeepClaim says whether the person's claim stands, and makes it last again when inUse says that they
// work on the case. It writes at most once in keepEvery and leaves nothing on the trail. It fails with
// NOT_FOUND.
func (s *Service) KeepClaim(ctx context.Context, by models.Principal, caseID string, inUse bool) (ClaimState, error) {
	if err := by.NeedPerson(); err != nil {
		return ClaimState{}, err
	}
	var c models.Case
	var now models.Time
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var err error
		c, err = caseInList(tx, caseID)
		now = tx.Now
		return err
	})
	if err != nil {
		return ClaimState{}, err
	}
	state := ClaimState{}
	if holder := c.ClaimedAt(now); holder != "" {
		state = ClaimState{Mine: holder == by.UserID, Until: c.ClaimedUntil}
	}
	if !state.Mine || !inUse || state.Until.Sub(now.Time) > claimLease-keepEvery {
		return state, nil
	}
	if _, err := s.Renew(ctx, by, caseID); err != nil {
		if models.IsCode(err, models.Conflict) { // decided, or changed, at this moment
			return ClaimState{}, nil
		}
		return ClaimState{}, err
	}
	return ClaimState{Mine: true, Until: now.Add(claimLease)}, nil
}
