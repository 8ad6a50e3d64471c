package queue

import (
	"context"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// Claim lends the case to by for 30 minutes; each act of by on it makes them start again. It fails
// with CONFLICT while somebody else holds the case or when it is resolved, insufficient_permission
// for tokens and people who do not work the queue, NOT_FOUND.
func (s *Service) Claim(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	return s.act(ctx, by, caseID, "case.claim_refused", func(tx *models.Tx, c models.Case, holder string) (models.Case, string, error) {
		if err := by.NeedRole(c.Queue.Roles()...); err != nil {
			return c, "", err
		}
		next, err := claim(c, by, tx.Now, holder)
		if err != nil || c.ClaimedAt(tx.Now) == by.UserID {
			return next, "", err
		}
		return next, "case.claimed", nil
	})
}

// Renew makes a claim of by last 30 minutes from now; without one it changes nothing.
func (s *Service) Renew(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	return s.act(ctx, by, caseID, "case.claim_refused", func(tx *models.Tx, c models.Case, _ string) (models.Case, string, error) {
		return renew(c, by, tx.Now), "", nil
	})
}

// Release gives a claimed case back to its queue. It fails with CONFLICT when somebody else holds it.
func (s *Service) Release(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	return s.act(ctx, by, caseID, "case.release_refused", func(tx *models.Tx, c models.Case, holder string) (models.Case, string, error) {
		if err := by.NeedRole(c.Queue.Roles()...); err != nil {
			return c, "", err
		}
		next, err := release(c, by, tx.Now, holder)
		if err != nil || c.ClaimedAt(tx.Now) != by.UserID {
			return next, "", err
		}
		return next, "case.released", nil
	})
}

// TakeOver lends a case to an AP lead whoever holds it, in queues ap and ap_lead. Elsewhere, and for
// others, it fails with insufficient_permission.
func (s *Service) TakeOver(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	return s.act(ctx, by, caseID, "case.take_over_refused", func(tx *models.Tx, c models.Case, _ string) (models.Case, string, error) {
		if !mayTakeOver(by, c.Queue) {
			return c, "", models.E(models.InsufficientPermission, "Only an AP lead takes cases over, in the queues Accounts payable and AP lead.",
				map[string]any{"permission": string(models.RoleAPLead), "workspace_id": by.WorkspaceID})
		}
		return takeOver(c, by, tx.Now), "case.taken_over", nil
	})
}

// ReturnClaims gives back to their queues the cases that people hold but may no longer work, since they
// left the workspace or lost the role. It works in the transaction of that change.
func (s *Service) ReturnClaims(tx *models.Tx, userIDs ...string) error {
	for _, id := range userIDs {
		members, err := tx.Members(id)
		if err != nil {
			return err
		}
		var held []models.Case
		if err := tx.Lock().Where("workspace_id = ? AND claimed_by_id = ?", tx.By.WorkspaceID, id).Order("id").Find(&held).Error; err != nil {
			return err
		}
		for _, c := range held {
			mayWork := slices.ContainsFunc(members, func(m models.Member) bool { return m.Has(c.Queue.Roles()...) })
			if mayWork || c.ClaimedAt(tx.Now) == "" {
				continue
			}
			holder, err := tx.User(id)
			if err != nil {
				return err
			}
			if err := replace(tx, c, unclaimed(c)); err != nil {
				return err
			}
			if err := tx.Audit("case.claim_returned", c.Ref(), map[string]any{"from": holder.Name, "queue": c.Queue, "version": c.Version}); err != nil {
				return err
			}
			why := "you no longer work the queue " + c.Queue.Title()
			if err := tx.Tell("case.returned", c.ID, map[string]any{"why": why, "by": tx.By.UserName}, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// act runs one claim rule on an unresolved case: change(the case, the name of who holds it) answers
// the case as it will be and the event to record, "" for none.
func (s *Service) act(ctx context.Context, by models.Principal, caseID, refusedAs string,
	change func(*models.Tx, models.Case, string) (models.Case, string, error)) (CaseView, error) {
	if err := by.NeedPerson(); err != nil {
		return CaseView{}, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	var out CaseView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		c, err := lockCase(tx, caseID)
		if err != nil {
			return err
		}
		if c.Status == models.CaseResolved {
			return alreadyResolved(tx, c)
		}
		holder, err := holderName(tx, c)
		if err != nil {
			return err
		}
		next, action, err := change(tx, c, holder)
		if err != nil {
			return err
		}
		write := replace
		if action == "" { // a claim that only lasts longer
			write = rewrite
		}
		if err := write(tx, c, next); err != nil {
			return err
		}
		if action != "" {
			data := map[string]any{"version": c.Version}
			if action == "case.taken_over" && holder != "" {
				data["from"] = holder
			}
			if err := tx.Audit(action, c.Ref(), data); err != nil {
				return err
			}
		}
		out, err = reread(tx, caseID)
		return err
	})
	if models.IsCode(err, models.InsufficientPermission) {
		return out, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	return out, err
}

// refusedOnCase leaves a refused attempt on the trail of a case of the workspace. About a case that is
// not there nothing is recorded and the answer is NOT_FOUND.
func (s *Service) refusedOnCase(ctx context.Context, by models.Principal, caseID, action string, refusal error) error {
	var row caseRow
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var err error
		row, _, err = readCase(tx, caseID)
		return err
	})
	if err != nil {
		return err
	}
	return s.refused(ctx, by, action, row.Ref(), refusal)
}

func reread(tx *models.Tx, caseID string) (CaseView, error) {
	row, private, err := readCase(tx, caseID)
	if err != nil {
		return CaseView{}, err
	}
	return viewOf(tx, row, private)
}

// holderName is the name of who holds a running claim, "" when nobody does.
func holderName(tx *models.Tx, c models.Case) (string, error) {
	id := c.ClaimedAt(tx.Now)
	if id == "" {
		return "", nil
	}
	if id == tx.By.UserID {
		return tx.By.UserName, nil
	}
	u, err := tx.User(id)
	return u.Name, err
}

// AddComment adds a person's remark, also to a resolved case, and renews the person's claim. It fails
// with VALIDATION_ERROR on /text, insufficient_permission for tokens and people who do not work the
// queue, NOT_FOUND.
func (s *Service) AddComment(ctx context.Context, by models.Principal, caseID, text string) error {
	const refusedAs = "case.comment_refused"
	if err := by.NeedPerson(); err != nil {
		return s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	text, why := models.NeededText(text, maxLongText, "must not be empty")
	if why != "" {
		return models.Invalid(models.Issue{Path: "/text", Message: why})
	}
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		c, err := lockCase(tx, caseID)
		if err != nil {
			return err
		}
		if err := by.NeedRole(c.Queue.Roles()...); err != nil {
			return err
		}
		comment := models.Comment{ID: tx.NewID(models.PrefixComment), WorkspaceID: c.WorkspaceID, CaseID: c.ID, AuthorID: by.UserID, AuthorName: by.UserName, Text: text, At: tx.Now}
		if err := tx.DB.Create(&comment).Error; err != nil {
			return err
		}
		if err := tx.IndexComment(comment.ID); err != nil {
			return err
		}
		if err := tellMentioned(tx, c, comment); err != nil {
			return err
		}
		if err := replace(tx, c, renew(c, by, tx.Now)); err != nil {
			return err
		}
		return tx.Audit("case.commented", c.Ref(), map[string]any{"comment_id": comment.ID})
	})
	if models.IsCode(err, models.InsufficientPermission) {
		return s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	return err
}
