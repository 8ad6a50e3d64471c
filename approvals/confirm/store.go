package confirm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// readers are the roles of people who may read every confirmation of their workspace. Agents read what
// they asked.
var readers = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead,
	models.RoleMasterData, models.RoleAuditor, models.RoleAdmin}

// answerers are the roles a server rule may name.
var answerers = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead, models.RoleMasterData}

func readsAll(by models.Principal) bool {
	return by.Channel == models.ChannelSystem || by.Has(readers...)
}

// mayRead needs the scope. Which confirmations somebody sees is decided record by record, because the
// person responsible for an account may hold no role but still has to answer for it.
func mayRead(by models.Principal) error {
	if err := by.NeedScope(models.ScopeConfirmationsRead); err != nil {
		return err
	}
	if readsAll(by) || by.IsPerson() {
		return nil
	}
	return by.NeedRole(models.RoleAgent)
}

func mayWrite(by models.Principal) error {
	if err := by.NeedScope(models.ScopeConfirmationsWrite); err != nil {
		return err
	}
	return by.NeedRole(models.RoleAgent)
}

// find reads a confirmation the caller may see; NOT_FOUND otherwise.
func find(tx *models.Tx, id string) (models.Confirmation, error) {
	c, err := take(tx, tx.DB, id)
	if err != nil {
		return c, err
	}
	return c, visible(tx, c)
}

// lockVisible is find for a change: answers, takes and lapses wait for one another here.
func lockVisible(tx *models.Tx, id string) (models.Confirmation, error) {
	c, err := lock(tx, id)
	if err != nil {
		return c, err
	}
	return c, visible(tx, c)
}

func lock(tx *models.Tx, id string) (models.Confirmation, error) { return take(tx, tx.Lock(), id) }

func take(tx *models.Tx, db *gorm.DB, id string) (models.Confirmation, error) {
	var c models.Confirmation
	err := db.Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID).Take(&c).Error
	if errors.Is(err, models.ErrNoRow) {
		return c, missing(id)
	}
	if err != nil {
		return c, fmt.Errorf("confirm: read confirmation: %w", err)
	}
	return c, nil
}

func missing(id string) error { return models.Missing("confirmation", clip(id, 80)) }

func visible(tx *models.Tx, c models.Confirmation) error {
	by := tx.By
	if readsAll(by) || (by.UserID != "" && by.UserID == c.AskerID) || (by.IsPerson() && c.PersonID != nil && *c.PersonID == by.UserID) {
		return nil
	}
	return missing(c.ID)
}

// change writes some columns of a locked confirmation and keeps c in step with them.
func change(tx *models.Tx, c *models.Confirmation, columns map[string]any) error {
	columns["updated_at"] = tx.Now
	columns["version"] = c.Version + 1
	done := tx.DB.Model(&models.Confirmation{}).Where("id = ? AND workspace_id = ? AND version = ?", c.ID, c.WorkspaceID, c.Version).Updates(columns)
	if done.Error != nil {
		return fmt.Errorf("confirm: change confirmation: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return models.E(models.Conflict, "The confirmation changed at the same moment. Look at it again.", map[string]any{"confirmation_id": c.ID, "reason": "stale"})
	}
	if err := tx.DB.Where("id = ?", c.ID).Take(c).Error; err != nil {
		return fmt.Errorf("confirm: read confirmation again: %w", err)
	}
	tx.Notify(models.TopicConfirmation(c.ID), models.TopicConfirmations(c.WorkspaceID))
	return nil
}

// statusAt is the state at a moment: past its time it is expired, also before the job that writes this
// has run.
func statusAt(c models.Confirmation, now models.Time) models.ConfirmationStatus {
	if (c.Status == models.ConfirmationPending || c.Status == models.ConfirmationAnswered) && !now.Before(c.ExpiresAt.Time) {
		return models.ConfirmationExpired
	}
	return c.Status
}

func viewOf(c models.Confirmation, now models.Time) View {
	return View{ConfirmationID: c.ID, Status: statusAt(c, now), ExpiresAt: c.ExpiresAt}
}

// questionsOf reads the stored questions, which were read once before.
func questionsOf(c models.Confirmation) ([]Question, error) {
	questions, issues := ReadQuestions(json.RawMessage(c.InputRequests), "/input_requests")
	if len(issues) > 0 {
		return nil, fmt.Errorf("confirm: questions of %s: %s %s", c.ID, issues[0].Path, issues[0].Message)
	}
	return questions, nil
}

// canonical is the RFC 8785 form of arguments that passed the check. Nothing is left out: a question is
// answered for one call to the letter.
func canonical(arguments json.RawMessage) (json.RawMessage, error) {
	v := jsontext.Value(append([]byte(nil), arguments...))
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("confirm: arguments: %w", err)
	}
	return json.RawMessage(v), nil
}

// Digest is the hex SHA-256 of a call in RFC 8785 form, its arguments complete: unlike the digest of an
// approval it also covers approval_id and idempotency_key, which for some tools are what is undone.
// Arguments must have passed approvals.CheckArguments. server is empty for the desk's own tools.
func Digest(workspace, server, tool string, arguments json.RawMessage) (string, error) {
	exact, err := canonical(arguments)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"workspace": workspace, "server": server, "tool": tool, "arguments": exact})
	if err != nil {
		return "", fmt.Errorf("confirm: digest: %w", err)
	}
	whole := jsontext.Value(body)
	if err := whole.Canonicalize(); err != nil {
		return "", fmt.Errorf("confirm: digest: %w", err)
	}
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:]), nil
}

// usersOf finds users by id.
func usersOf(tx *models.Tx, ids ...string) (map[string]models.User, error) {
	users := map[string]models.User{}
	var rows []models.User
	if err := tx.DB.Select("id", "kind", "email", "name", "active", "owner_id").Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("confirm: read people: %w", err)
	}
	for _, u := range rows {
		users[u.ID] = u
	}
	return users, nil
}

// when is a moment in words. Pages that know the reader's zone write their own.
func when(t models.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }
