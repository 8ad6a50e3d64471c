package confirm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apdesk/apdesk/models"
)

const secondStepPath = "/second_step"

// Answer records a person's answer. Only a signed-in person of the role that the confirmation names can
// give it, never one who counts as having asked; what asks to open an address is only for the person
// responsible for the account. Refused with VALIDATION_ERROR, issues at /content/<form name>, for values
// the form does not take, and at /second_step (see NeedsSecondStep) for an acceptance that was not
// confirmed yet; with CONFLICT, saying who, what and when, once it is answered or over.
func (s *Service) Answer(ctx context.Context, by models.Principal, in AnswerInput) (View, error) {
	view, ref, err := s.answer(ctx, by, in)
	if ne, ok := models.AsNamed(err); ok && (ne.Code == models.InsufficientPermission || ne.Code == models.Unprocessable || ne.Code == models.Conflict) {
		data := map[string]any{"action": clip(string(in.Action), 20), "code": ne.Code, "why": ne.Message}
		if reason, ok := ne.Details["reason"]; ok {
			data["reason"] = reason
		}
		if ref.Subject == "" {
			ref.Subject = clip(in.ID, 80)
		}
		if recErr := s.store.RecordRefusal(ctx, by, "confirmation.answer_refused", ref, data); recErr != nil {
			return View{}, recErr
		}
	}
	return view, err
}

// NeedsSecondStep says that an acceptance was right in all but one thing: the person has to be shown
// once more what they accept, and accept it with SecondStep.
func NeedsSecondStep(err error) bool {
	ne, ok := models.AsNamed(err)
	if !ok || ne.Code != models.ValidationError {
		return false
	}
	issues, _ := ne.Details["issues"].([]models.Issue)
	return len(issues) == 1 && issues[0].Path == secondStepPath
}

func (s *Service) answer(ctx context.Context, by models.Principal, in AnswerInput) (View, models.Ref, error) {
	var view View
	var ref models.Ref
	if err := by.NeedPerson(); err != nil {
		return view, ref, err
	}
	if err := in.check(); err != nil {
		return view, ref, err
	}
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		c, err := lockVisible(tx, in.ID)
		if err != nil {
			return err
		}
		ref = c.Ref()
		if err := stillOpen(c, in.Version, tx.Now); err != nil {
			return err
		}
		role, err := mayAnswer(tx, c)
		if err != nil {
			return err
		}
		answers, err := answersFor(tx, c, in)
		if err != nil {
			return err
		}
		err = change(tx, &c, map[string]any{"status": models.ConfirmationAnswered, "action": in.Action, "answers": answers, "reason": in.Reason,
			"answered_by_id": by.UserID, "answered_by_name": by.UserName, "answered_role": role, "answered_at": tx.Now, "expires_at": tx.Now.Add(AnswerLife)})
		if err != nil {
			return err
		}
		if err := tx.Schedule(JobExpire, c.ID, c.ExpiresAt); err != nil {
			return fmt.Errorf("confirm: schedule expiry: %w", err)
		}
		view = viewOf(c, tx.Now)
		return tx.Audit("confirmation.answered", c.Ref(), map[string]any{"action": c.Action, "reason": c.Reason, "role": role, "rule": c.RuleID,
			"answers": json.RawMessage(answers), "seen_version": in.Version, "second_step": in.SecondStep})
	})
	return view, ref, err
}

// check refuses a form that cannot be an answer, and brings the reason into the form that is kept.
func (in *AnswerInput) check() error {
	var issues []models.Issue
	switch in.Action {
	case models.ElicitAccept, models.ElicitDecline, models.ElicitCancel:
	default:
		issues = append(issues, models.Issue{Path: "/action", Message: "must be accept, decline or cancel"})
	}
	reason, why := models.FreeText(in.Reason, maxReason)
	if why != "" {
		issues = append(issues, models.Issue{Path: "/reason", Message: why})
	}
	in.Reason = reason
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return nil
}

// inWords are the actions as something somebody did.
var inWords = map[models.ElicitAction]string{models.ElicitAccept: "accepted", models.ElicitDecline: "declined", models.ElicitCancel: "cancelled"}

// stillOpen answers CONFLICT, in words, when a confirmation is answered, over, or no longer what the
// person saw.
func stillOpen(c models.Confirmation, seen int64, now models.Time) error {
	status := statusAt(c, now)
	details := map[string]any{"confirmation_id": c.ID, "status": status, "version": c.Version}
	if c.Action != "" {
		details["action"], details["answered_by"], details["answered_at"] = c.Action, c.AnsweredByName, c.AnsweredAt
	}
	switch {
	case status == models.ConfirmationPending && seen == c.Version:
		return nil
	case status == models.ConfirmationPending:
		details["reason"] = "stale"
		return models.E(models.Conflict, "This confirmation changed since you opened it. Look at it again before you answer.", details)
	case status == models.ConfirmationWithdrawn:
		details["reason"] = "withdrawn"
		return models.E(models.Conflict, fmt.Sprintf("%s withdrew this question on %s. Nothing is answered any more.", c.AskerName, when(c.UpdatedAt)), details)
	case status == models.ConfirmationExpired && c.Action == "":
		details["reason"], details["expired_at"] = "expired", c.ExpiresAt
		return models.E(models.Conflict, fmt.Sprintf("This question expired on %s before anybody answered. The answer was cancel; nothing is accepted any more.", when(c.ExpiresAt)), details)
	case status == models.ConfirmationExpired:
		details["reason"] = "expired"
		return models.E(models.Conflict, fmt.Sprintf("%s %s this on %s, and the answer expired on %s because nobody took it.",
			c.AnsweredByName, inWords[c.Action], when(c.AnsweredAt), when(c.ExpiresAt)), details)
	}
	details["reason"] = "answered"
	return models.E(models.Conflict, fmt.Sprintf("%s %s this on %s.", c.AnsweredByName, inWords[c.Action], when(c.AnsweredAt)), details)
}

// answersFor is what the server will be told, as JSON.
func answersFor(tx *models.Tx, c models.Confirmation, in AnswerInput) (string, error) {
	questions, err := questionsOf(c)
	if err != nil {
		return "", err
	}
	answers := sameForAll(questions, in.Action)
	if in.Action == models.ElicitAccept {
		zone, err := zoneOf(tx)
		if err != nil {
			return "", err
		}
		var issues []models.Issue
		if answers, issues = accepted(questions, WithFigures(questions, in.Content, in.Figures), zone); len(issues) > 0 {
			return "", models.Invalid(issues...)
		}
		if !in.SecondStep {
			return "", models.Invalid(models.Issue{Path: secondStepPath, Message: "must be confirmed: look once more at what you accept"})
		}
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return "", fmt.Errorf("confirm: answers: %w", err)
	}
	return string(text), nil
}

// zoneOf is the zone in which the person means a time that names none.
func zoneOf(tx *models.Tx) (*time.Location, error) {
	if tx.By.TimeZone != "" {
		if zone, err := time.LoadLocation(tx.By.TimeZone); err == nil {
			return zone, nil
		}
	}
	w, err := tx.Workspace()
	if err != nil {
		return nil, fmt.Errorf("confirm: read workspace: %w", err)
	}
	return w.Zone(), nil
}

// barText finishes a sentence that begins with "You".
var barText = map[string]string{
	relationAsked:       "asked for this",
	relationResponsible: "answer for the account that asked for this",
	relationTokenMaker:  "made the token that asked for this",
}

// roleResponsible stands on the trail where somebody answers as the person responsible for the account.
const roleResponsible = "responsible person"

// mayAnswer says in which role the caller answers, or why they may not.
func mayAnswer(tx *models.Tx, c models.Confirmation) (string, error) {
	members, err := tx.Members(tx.By.UserID)
	if err != nil {
		return "", fmt.Errorf("confirm: read member: %w", err)
	}
	bars, err := barsOf(tx, c)
	if err != nil {
		return "", err
	}
	return authority(tx.By, c, members, bars[c.ID])
}

// authority is mayAnswer on what was read.
func authority(by models.Principal, c models.Confirmation, members []models.Member, bars map[string]string) (string, error) {
	var me *models.Member
	for i := range members {
		if members[i].User.ID == by.UserID && members[i].User.Kind == models.KindPerson {
			me = &members[i]
		}
	}
	if c.Mode == ModeURL {
		if me != nil && c.PersonID != nil && *c.PersonID == by.UserID {
			return roleResponsible, nil
		}
		return "", models.E(models.InsufficientPermission, "This asks to open an address for the account "+c.AskerName+". Only the person responsible for that account may answer it.",
			map[string]any{"permission": "responsible_person", "workspace_id": by.WorkspaceID})
	}
	if me == nil || !me.Has(c.Role) {
		return "", models.E(models.InsufficientPermission, fmt.Sprintf("Answering this needs the role %s, which you do not hold in this workspace.", c.Role.Title()),
			map[string]any{"permission": string(c.Role), "workspace_id": by.WorkspaceID})
	}
	if relation, barred := bars[by.UserID]; barred {
		return "", models.E(models.Unprocessable, fmt.Sprintf("You %s, so you cannot answer it. Somebody else must.", barText[relation]), map[string]any{"reason": relation})
	}
	return string(c.Role), nil
}

// barsOf says for each confirmation who counts as having asked: who did then, and who is responsible
// for the asking account now.
func barsOf(tx *models.Tx, list ...models.Confirmation) (map[string]map[string]string, error) {
	bars := make(map[string]map[string]string, len(list))
	if len(list) == 0 {
		return bars, nil
	}
	var ids, accounts []string
	for _, c := range list {
		ids, accounts = append(ids, c.ID), append(accounts, c.AskerID)
		bars[c.ID] = map[string]string{}
	}
	var rows []models.ConfirmationAsker
	if err := tx.DB.Where("confirmation_id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("confirm: read askers: %w", err)
	}
	users, err := usersOf(tx, accounts...)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if owner := users[c.AskerID].OwnerID; owner != nil {
			bars[c.ID][*owner] = relationResponsible
		}
	}
	for _, r := range rows {
		if bars[r.ConfirmationID][r.UserID] != relationAsked { // asking oneself outweighs the other relations
			bars[r.ConfirmationID][r.UserID] = r.Relation
		}
	}
	return bars, nil
}
