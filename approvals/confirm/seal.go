package confirm

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// StateLife is how long a question of the desk itself may be answered.
const StateLife = 10 * time.Minute

// JobPurge forgets questions past their time; its subject is the workspace and an hour.
const JobPurge models.JobKind = "state.purge"

// Outcomes of a spent question.
const (
	OutcomeRan       = "ran"       // the tool ran
	OutcomeRefused   = "refused"   // answered, and nothing came of it
	OutcomeDeclined  = "declined"  // the person said no
	OutcomeCancelled = "cancelled" // the person dismissed it
)

const (
	minKey      = 32
	stateFormat = "v1." // also authenticated
	keyPurpose  = "apdesk requestState v1"
	maxState    = 4096 // bytes
)

// Sealer seals what a question of the desk was about into the requestState that goes through the
// client, and spends each question once. Its rows are in the database, so any replica can go on where
// another one asked.
type Sealer struct {
	store *models.Store
	aead  cipher.AEAD
}

// NewSealer makes a sealer whose key is derived from the desk's secret key.
func NewSealer(store *models.Store, secretKey []byte) (*Sealer, error) {
	if len(secretKey) < minKey {
		return nil, fmt.Errorf("confirm: the secret key has %d bytes, it needs at least %d", len(secretKey), minKey)
	}
	key, err := hkdf.Key(sha256.New, secretKey, nil, keyPurpose, 32)
	if err != nil {
		return nil, fmt.Errorf("confirm: derive the key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("confirm: cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("confirm: cipher: %w", err)
	}
	return &Sealer{store: store, aead: aead}, nil
}

// sealed is what a state says.
type sealed struct {
	User      string `json:"u"`
	Token     string `json:"t"`
	Workspace string `json:"w"`
	Tool      string `json:"c"`
	Digest    string `json:"d"`
	Nonce     string `json:"n"`
	Expires   int64  `json:"e"` // microseconds since 1970
}

// StateError is the one answer to a requestState that is not valid for the call it came with. Its text
// never says why; Reason does, for the log only.
type StateError struct{ Reason string }

// Error is the same for every reason.
func (e *StateError) Error() string {
	return "The requestState is not valid for this call. Call again without it to be asked anew."
}

// LogValue gives the log the reason.
func (e *StateError) LogValue() slog.Value { return slog.StringValue("requestState: " + e.Reason) }

// IsStateError says whether a requestState was turned down.
func IsStateError(err error) bool {
	var se *StateError
	return errors.As(err, &se)
}

// Ask keeps a new question about one exact call, and answers the state to send with it. digest is
// Digest of the call. Fails with confirmation_unavailable when the question cannot be kept.
func (s *Sealer) Ask(ctx context.Context, by models.Principal, tool, digest string) (state string, err error) {
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		state, err = s.AskTx(tx, tool, digest)
		return err
	})
	if err != nil {
		return "", Unavailable(err)
	}
	return state, nil
}

// AskTx is Ask in the caller's transaction.
func (s *Sealer) AskTx(tx *models.Tx, tool, digest string) (string, error) {
	row := models.StateNonce{Nonce: models.Secret(rand.Reader, 20), WorkspaceID: tx.By.WorkspaceID, UserID: tx.By.UserID, TokenID: tx.By.TokenID,
		Tool: tool, Digest: digest, CreatedAt: tx.Now, ExpiresAt: tx.Now.Add(StateLife)}
	if err := tx.DB.Create(&row).Error; err != nil {
		return "", fmt.Errorf("confirm: keep question: %w", err)
	}
	// One job per hour, always at the same time, however many questions there are.
	hour := row.ExpiresAt.Truncate(time.Hour)
	if err := tx.Schedule(JobPurge, row.WorkspaceID+"@"+hour.Format("2006-01-02T15"), models.At(hour.Add(2*time.Hour))); err != nil {
		return "", fmt.Errorf("confirm: schedule purge: %w", err)
	}
	if err := tx.Audit("confirmation.asked", models.Ref{Subject: digest}, map[string]any{"tool": tool, "expires_at": row.ExpiresAt}); err != nil {
		return "", err
	}
	return s.seal(row)
}

func (s *Sealer) seal(row models.StateNonce) (string, error) {
	plain, err := json.Marshal(sealed{User: row.UserID, Token: row.TokenID, Workspace: row.WorkspaceID, Tool: row.Tool, Digest: row.Digest,
		Nonce: row.Nonce, Expires: row.ExpiresAt.UnixMicro()})
	if err != nil {
		return "", fmt.Errorf("confirm: seal: %w", err)
	}
	return stateFormat + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(stateFormat))), nil
}

// Open reads a state that came back with a call of by and answers the question's nonce. It changes
// nothing. Whatever is wrong with the state, the error is a StateError with one text.
func (s *Sealer) Open(by models.Principal, tool, digest, state string) (nonce string, err error) {
	text, ok := strings.CutPrefix(state, stateFormat)
	if !ok || len(state) > maxState {
		return "", &StateError{"not of this format"}
	}
	box, err := base64.RawURLEncoding.DecodeString(text)
	// One state has one spelling: the decoder would also take line breaks and stray last bits.
	if err != nil || base64.RawURLEncoding.EncodeToString(box) != text {
		return "", &StateError{"not base64"}
	}
	plain, err := s.aead.Open(nil, nil, box, []byte(stateFormat))
	if err != nil {
		return "", &StateError{"not sealed by this desk, or changed"}
	}
	var in sealed
	if err := json.Unmarshal(plain, &in); err != nil {
		return "", &StateError{"unreadable inside"}
	}
	switch {
	case in.User != by.UserID || in.Token != by.TokenID:
		return "", &StateError{"of another principal"}
	case in.Workspace != by.WorkspaceID:
		return "", &StateError{"of another workspace"}
	case in.Tool != tool:
		return "", &StateError{"of another tool"}
	case in.Digest != digest:
		return "", &StateError{"of other arguments"}
	case s.store.Now().UnixMicro() >= in.Expires:
		return "", &StateError{"expired"}
	}
	return in.Nonce, nil
}

// Spend marks a question as answered, in the transaction that runs the tool or records the refusal. The
// first answer wins: a later one is USER_DECLINED when the first said no, else confirmation_replayed,
// and its transaction must end with that error.
func (s *Sealer) Spend(tx *models.Tx, nonce, outcome string) error {
	done := tx.DB.Model(&models.StateNonce{}).
		Where("nonce = ? AND workspace_id = ? AND user_id = ? AND token_id = ? AND spent_at IS NULL", nonce, tx.By.WorkspaceID, tx.By.UserID, tx.By.TokenID).
		Updates(map[string]any{"spent_at": tx.Now, "outcome": outcome})
	if done.Error != nil {
		return fmt.Errorf("confirm: spend question: %w", done.Error)
	}
	if done.RowsAffected == 1 {
		return nil
	}
	var row models.StateNonce
	err := tx.DB.Where("nonce = ? AND workspace_id = ? AND user_id = ?", nonce, tx.By.WorkspaceID, tx.By.UserID).Take(&row).Error
	if err != nil && !errors.Is(err, models.ErrNoRow) {
		return fmt.Errorf("confirm: read question: %w", err)
	}
	if row.Outcome == OutcomeDeclined || row.Outcome == OutcomeCancelled {
		return Declined()
	}
	return models.E(models.ConfirmationReplayed, "This confirmation was used already. Call again without requestState to be asked anew. Nothing was changed.", nil)
}

// Declined is USER_DECLINED.
func Declined() *models.NamedError {
	return models.E(models.UserDeclined, "The person said no. Nothing was changed; do not repeat the call.", nil)
}

// SpendWith gives Spend as a step for a service that runs it first in its own transaction, and puts on
// the trail how the question was answered.
func (s *Sealer) SpendWith(nonce, outcome string, a Answered) func(*models.Tx) error {
	return func(tx *models.Tx) error {
		if err := s.Spend(tx, nonce, outcome); err != nil {
			return err
		}
		return RecordAnswer(tx, a)
	}
}

// Refuse spends a question whose answer was no, or led to nothing, in a transaction of its own, and
// records it. For declined and cancelled the error is USER_DECLINED; for refused it is nil, and the
// caller goes on with its own. An earlier answer wins as in Spend.
func (s *Sealer) Refuse(ctx context.Context, by models.Principal, nonce, outcome string, a Answered) error {
	err := s.store.InTx(ctx, by, s.SpendWith(nonce, outcome, a))
	if err != nil {
		return Unavailable(err)
	}
	if outcome == OutcomeDeclined || outcome == OutcomeCancelled {
		return Declined()
	}
	return nil
}

// Answered is an answer that a client gave to a question of the desk.
type Answered struct {
	Tool    string
	Ref     models.Ref // of the record the tool is about
	Action  models.ElicitAction
	Confirm *bool  // what the form's box said, if it came
	Reason  string // as typed in the client
}

// RecordAnswer puts an answer given in a client on the trail, which says that nobody checked who gave
// it.
func RecordAnswer(tx *models.Tx, a Answered) error {
	data := map[string]any{"tool": a.Tool, "action": a.Action, "reason": clip(a.Reason, maxReason), "person_verified": false,
		"note": "answered in the client of token " + tx.By.TokenName + ", person not verified"}
	if a.Confirm != nil {
		data["confirm"] = *a.Confirm
	}
	return tx.Audit("confirmation.answered_in_client", a.Ref, data)
}

// Unavailable turns UNAVAILABLE into confirmation_unavailable, for whoever confirms or asks to: without
// the store there is no proof that a question was not answered before. Other errors pass.
func Unavailable(err error) error {
	if !models.IsCode(err, models.Unavailable) {
		return err
	}
	return models.E(models.ConfirmationUnavailable, "Confirmations cannot be kept right now. Nothing was changed. Wait and repeat the same call.",
		map[string]any{"retry_after_seconds": 5}).Because(err)
}

// purge forgets questions that can no longer be answered.
func purge(tx *models.Tx, _ models.Job) error {
	return tx.DB.Where("workspace_id = ? AND expires_at < ?", tx.By.WorkspaceID, tx.Now.Add(-time.Hour)).Delete(&models.StateNonce{}).Error
}
