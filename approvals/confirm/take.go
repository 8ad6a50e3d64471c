package confirm

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// Take hands the answer out, once, to the account that asked. The same key with the same call gets it
// again; any other attempt is confirmation_replayed. CONFLICT with reason not_answered while nobody has
// answered and different_call for another server, tool or arguments. When nobody answered in time, the
// answer was not taken in time, or the question was withdrawn, every key is handed cancel.
func (s *Service) Take(ctx context.Context, by models.Principal, in TakeInput) (TakeResult, error) {
	if err := mayWrite(by); err != nil {
		return TakeResult{}, err
	}
	digest, err := in.digest(by.WorkspaceID)
	if err != nil {
		return TakeResult{}, err
	}
	var result TakeResult
	var ref models.Ref
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		if err := tx.CheckBlocked(ActionTake); err != nil {
			return err
		}
		c, err := lockAsked(tx, in.ID, "take its answer")
		if err != nil {
			return err
		}
		ref = c.Ref()
		if err := putAwayLapsed(tx, &c); err != nil {
			return err
		}
		answers, err := handOut(tx, &c, in, digest)
		if err != nil {
			return err
		}
		result = TakeResult{ConfirmationID: c.ID}
		if err := json.Unmarshal([]byte(answers), &result.InputResponses); err != nil {
			return fmt.Errorf("confirm: answers of %s: %w", c.ID, err)
		}
		return nil
	})
	if ne, ok := models.AsNamed(err); ok && ref.Subject != "" && (ne.Code == models.ConfirmationReplayed || ne.Details["reason"] == reasonDifferentCall) {
		if recErr := s.store.RecordRefusal(ctx, by, "confirmation.take_refused", ref, map[string]any{"code": ne.Code, "digest": digest}); recErr != nil {
			return TakeResult{}, recErr
		}
	}
	return result, err
}

// Reasons of a refused take.
const (
	reasonNotAnswered   = "not_answered"
	reasonDifferentCall = "different_call"
)

func (in TakeInput) digest(workspace string) (string, error) {
	var issues []models.Issue
	if n := utf8.RuneCountInString(in.IdempotencyKey); n == 0 || n > models.MaxIdempotencyKey {
		issues = append(issues, models.Issue{Path: "/idempotency_key", Message: fmt.Sprintf("is required, with at most %d characters", models.MaxIdempotencyKey)})
	}
	server, _, problem := serverAddress(in.ServerURL)
	if problem != "" {
		issues = append(issues, models.Issue{Path: "/server/url", Message: problem})
	}
	issues = append(issues, checkCall(in.Tool, in.Arguments)...)
	if len(issues) > 0 {
		return "", models.Invalid(issues...)
	}
	return Digest(workspace, server, in.Tool, in.Arguments)
}

func handOut(tx *models.Tx, c *models.Confirmation, in TakeInput, digest string) (string, error) {
	details := map[string]any{"confirmation_id": c.ID, "status": c.Status}
	sameCall := digest == c.Digest && (in.ServerName == "" || in.ServerName == c.ServerName)
	switch {
	case c.Status == models.ConfirmationTaken && sameCall && in.IdempotencyKey == c.TakeKey && c.TakenByID != nil && *c.TakenByID == tx.By.UserID:
		return c.Answers, nil
	case c.Status == models.ConfirmationTaken:
		return "", models.E(models.ConfirmationReplayed, "This answer was taken already, for another key or call. An answer counts once: make the call again without requestState to be asked anew.", details)
	case !sameCall:
		details["reason"] = reasonDifferentCall
		return "", models.E(models.Conflict, "The answer is for another call: server, tool and arguments must be exactly those it was asked about.", details)
	case c.Status == models.ConfirmationPending:
		details["reason"], details["expires_at"] = reasonNotAnswered, c.ExpiresAt
		return "", models.E(models.Conflict, "Nobody has answered yet. Wait with get_confirmation until the status is no longer pending.", details)
	case c.Status != models.ConfirmationAnswered:
		return handOutCancel(tx, c)
	}
	err := change(tx, c, map[string]any{"status": models.ConfirmationTaken, "take_key": in.IdempotencyKey, "taken_by_id": tx.By.UserID, "taken_at": tx.Now})
	if err != nil {
		return "", err
	}
	if err := tx.Unschedule(JobExpire, c.ID); err != nil {
		return "", fmt.Errorf("confirm: unschedule: %w", err)
	}
	return c.Answers, tx.Audit("confirmation.taken", c.Ref(), map[string]any{"action": c.Action, "digest": c.Digest})
}

// handOutCancel answers cancel to all that was asked, as often as it is asked for; the trail says so
// once.
func handOutCancel(tx *models.Tx, c *models.Confirmation) (string, error) {
	questions, err := questionsOf(*c)
	if err != nil {
		return "", err
	}
	if c.TakenAt.IsZero() {
		if err := change(tx, c, map[string]any{"taken_by_id": tx.By.UserID, "taken_at": tx.Now}); err != nil {
			return "", err
		}
		if err := tx.Audit("confirmation.cancel_taken", c.Ref(), map[string]any{"action": models.ElicitCancel, "status": c.Status}); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(sameForAll(questions, models.ElicitCancel))
	if err != nil {
		return "", fmt.Errorf("confirm: answers: %w", err)
	}
	return string(text), nil
}

// Withdraw takes a question back; only the account that asked may. An answer that was not taken is
// void with it. CONFLICT when the answer was taken or the question is over.
func (s *Service) Withdraw(ctx context.Context, by models.Principal, id string) (View, error) {
	if err := mayWrite(by); err != nil {
		return View{}, err
	}
	var view View
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		if err := tx.CheckBlocked(ActionWithdraw); err != nil {
			return err
		}
		c, err := lockAsked(tx, id, "withdraw it")
		if err != nil {
			return err
		}
		switch status := statusAt(c, tx.Now); status {
		case models.ConfirmationPending, models.ConfirmationAnswered:
			if err := withdraw(tx, &c); err != nil {
				return err
			}
		case models.ConfirmationWithdrawn:
		default:
			return models.E(models.Conflict, fmt.Sprintf("This confirmation is %s already; it cannot be withdrawn any more.", status), map[string]any{"confirmation_id": c.ID, "status": status})
		}
		view = viewOf(c, tx.Now)
		return nil
	})
	return view, err
}

func withdraw(tx *models.Tx, c *models.Confirmation) error {
	answered := c.Status == models.ConfirmationAnswered
	if err := change(tx, c, map[string]any{"status": models.ConfirmationWithdrawn}); err != nil {
		return err
	}
	if err := tx.Unschedule(JobExpire, c.ID); err != nil {
		return fmt.Errorf("confirm: unschedule: %w", err)
	}
	return tx.Audit("confirmation.withdrawn", c.Ref(), map[string]any{"answered": answered})
}

// lockAsked reads a confirmation for a change that only the account that asked may make.
func lockAsked(tx *models.Tx, id, what string) (models.Confirmation, error) {
	c, err := lockVisible(tx, id)
	if err == nil && c.AskerID != tx.By.UserID {
		err = models.E(models.InsufficientPermission, "Only the account that asked for this confirmation can "+what+".", map[string]any{"permission": "asker", "confirmation_id": c.ID})
	}
	return c, err
}
