package models

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
)

const (
	// MaxPasskeys is how many passkeys one person can have.
	MaxPasskeys = 20
	// MaxPasskeyName is the longest name of a passkey, in characters.
	MaxPasskeyName = 80
	// RecoveryCodes is how many codes a person gets, each good for one sign-in without a passkey.
	RecoveryCodes = 10
	// PasskeyChallengeLife is how long a browser has to answer a challenge.
	PasskeyChallengeLife = 5 * time.Minute
	// HalfSignInLife is how long after the password the passkey is waited for.
	HalfSignInLife = 10 * time.Minute
)

// Passkey is a public key of a person's device or security key. Credential is what the web layer keeps of
// it, as JSON.
type Passkey struct {
	ID           string `gorm:"primaryKey"`
	UserID       string
	CredentialID string // as browsers write it
	Name         string
	Credential   string
	CreatedAt    Time
	LastUsedAt   Time // zero: never
}

type recoveryCode struct {
	Hash      string `gorm:"primaryKey"`
	UserID    string
	CreatedAt Time
	UsedAt    Time
}

// HalfSignIn is somebody whose password was right and whose passkey is still asked for.
type HalfSignIn struct {
	ID        string `gorm:"primaryKey"`
	UserID    string
	Address   string
	UserAgent string
	CreatedAt Time
	ExpiresAt Time
}

// What a passkey is asked for.
const (
	PasskeyRegister = "register"
	PasskeyConfirm  = "confirm"
	PasskeySignIn   = "sign_in"
)

type passkeyChallenge struct {
	ID        string `gorm:"primaryKey"`
	UserID    string
	Purpose   string
	BoundTo   string
	Data      string
	ExpiresAt Time
}

// MakeChallenge makes a challenge for a person with the passkeys they have: the challenge itself, and what
// checking the answer needs.
type MakeChallenge func(user User, keys []Passkey) (challenge, data string, err error)

// CheckPasskey checks a browser's answer. It gives back the key that answered as it is to be kept now;
// refused says why the answer does not count, and is empty when it does.
type CheckPasskey func(user User, keys []Passkey, data string) (used Passkey, refused string)

func (tx *Tx) passkeysOf(userID string) ([]Passkey, error) {
	var keys []Passkey
	err := tx.DB.Where("user_id = ?", userID).Order("created_at, id").Find(&keys).Error
	return keys, err
}

func (tx *Tx) passkeyCount(userID string) (int64, error) {
	var n int64
	err := tx.DB.Model(&Passkey{}).Where("user_id = ?", userID).Count(&n).Error
	return n, err
}

// Passkeys lists a person's passkeys, oldest first, and says how many recovery codes are left.
func (s *Store) Passkeys(ctx context.Context, userID string) (keys []Passkey, codes int64, err error) {
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		if keys, err = tx.passkeysOf(userID); err != nil {
			return err
		}
		return tx.DB.Model(&recoveryCode{}).Where("user_id = ? AND used_at IS NULL", userID).Count(&codes).Error
	})
	return keys, codes, err
}

// HasPasskey says whether a person has one.
func (s *Store) HasPasskey(ctx context.Context, userID string) (bool, error) {
	var n int64
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		var err error
		n, err = tx.passkeyCount(userID)
		return err
	})
	return n > 0, err
}

// mayChangeKeys lets a person change their passkeys and codes after a fresh confirmation. Who has neither
// passkey nor password can give none; they must have signed in just now instead.
func (tx *Tx) mayChangeKeys(id Identity) error {
	if err := id.needOwnSession(); err != nil {
		return err
	}
	by := id.themself()
	by.SteppedUpAt = id.Session.SteppedUpAt
	if by.SteppedUp(tx.Now) {
		return nil
	}
	user, err := tx.User(id.User.ID)
	if err != nil {
		return err
	}
	keys, err := tx.passkeyCount(id.User.ID)
	if err != nil {
		return err
	}
	if keys == 0 && (user.PasswordHash == "" || user.PasswordOff) {
		if age := tx.Now.Sub(id.Session.CreatedAt.Time); age >= 0 && age <= StepUpFor {
			return nil
		}
		return E(Unprocessable, "Sign out and in again, and add the passkey within five minutes: you have neither a passkey nor a password to confirm with.",
			map[string]any{"reason": "sign_in_again"})
	}
	return Invalid(Issue{"/step_up", "must be confirmed first: it was not, or more than five minutes ago"})
}

// boundTo is the session, or half sign-in, whose browser a challenge is for.
func (tx *Tx) newChallenge(userID, purpose, boundTo string, create MakeChallenge) error {
	user, err := tx.User(userID)
	if err != nil {
		return err
	}
	keys, err := tx.passkeysOf(userID)
	if err != nil {
		return err
	}
	switch {
	case purpose == PasskeyRegister && len(keys) >= MaxPasskeys:
		return E(Unprocessable, fmt.Sprintf("You have %d passkeys, the most there can be. Remove one first.", MaxPasskeys), map[string]any{"reason": "too_many"})
	case purpose != PasskeyRegister && len(keys) == 0:
		return E(Unprocessable, "You have no passkey.", map[string]any{"reason": "no_passkey"})
	}
	challenge, data, err := create(user, keys)
	if err != nil {
		return err
	}
	// One ceremony at a time for a browser: a newer one ends the older.
	if err := tx.DB.Where("bound_to = ? AND purpose = ?", boundTo, purpose).Delete(&passkeyChallenge{}).Error; err != nil {
		return err
	}
	return tx.DB.Create(&passkeyChallenge{ID: HashSecret(challenge), UserID: userID, Purpose: purpose, BoundTo: boundTo, Data: data,
		ExpiresAt: tx.Now.Add(PasskeyChallengeLife)}).Error
}

// spendChallenge takes a challenge; ok is false when it is unknown, spent, too old or another browser's.
// Whatever comes of the answer, it cannot be given again.
func (tx *Tx) spendChallenge(challenge, userID, purpose, boundTo string) (data string, ok bool, err error) {
	var rows []passkeyChallenge
	key := HashSecret(challenge)
	if err := tx.Lock().Where("id = ?", key).Find(&rows).Error; err != nil || len(rows) == 0 {
		return "", false, err
	}
	spent := tx.DB.Where("id = ?", key).Delete(&passkeyChallenge{})
	if spent.Error != nil || spent.RowsAffected == 0 {
		return "", false, spent.Error
	}
	c := rows[0]
	ok = c.UserID == userID && c.Purpose == purpose && c.BoundTo == boundTo && tx.Now.Before(c.ExpiresAt.Time)
	return c.Data, ok, nil
}

// NewPasskeyChallenge makes the challenge for registering a passkey or for confirming with one in a
// session. It fails as RegisterPasskey and ConfirmByPasskey do before the answer is looked at.
func (s *Store) NewPasskeyChallenge(ctx context.Context, id Identity, purpose string, create MakeChallenge) error {
	return s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := id.needOwnSession(); err != nil {
			return err
		}
		if purpose == PasskeyRegister {
			if err := tx.mayChangeKeys(id); err != nil {
				return err
			}
		}
		return tx.newChallenge(id.User.ID, purpose, id.Session.ID, create)
	})
}

// staleChallenge is the refusal of an answer to a challenge that does not count any more.
func staleChallenge() error {
	return Invalid(Issue{"/passkey", "came too late, or was used already; try again"})
}

// checkName reads the name of a passkey.
func checkName(name string) (string, error) {
	name, why := checkedName(name, MaxPasskeyName)
	if why != "" {
		return "", Invalid(Issue{"/name", why})
	}
	return name, nil
}

// RegisterPasskey keeps a new passkey of a person. With the first one they get recovery codes, which are
// told once. It fails with VALIDATION_ERROR on /name, /passkey, or /step_up when a fresh confirmation is
// missing, and with UNPROCESSABLE_ENTITY (reason sign_in_again, too_many or known_passkey).
func (s *Store) RegisterPasskey(ctx context.Context, id Identity, challenge, name string, check CheckPasskey) (codes []string, err error) {
	name, err = checkName(name)
	if err != nil {
		return nil, err
	}
	var refusal error
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		codes, refusal = nil, nil
		if err := tx.mayChangeKeys(id); err != nil {
			return err
		}
		data, ok, err := tx.spendChallenge(challenge, id.User.ID, PasskeyRegister, id.Session.ID)
		if err != nil {
			return err
		}
		if !ok {
			refusal = staleChallenge()
			return nil
		}
		user, err := tx.User(id.User.ID)
		if err != nil {
			return err
		}
		keys, err := tx.passkeysOf(id.User.ID)
		if err != nil {
			return err
		}
		key, refused := check(user, keys, data)
		if refused != "" {
			refusal = Invalid(Issue{"/passkey", "was not accepted; try again"})
			return tx.auditEverywhere(id, "passkey.refused", map[string]any{"for": PasskeyRegister, "why": refused})
		}
		var known int64
		if err := tx.DB.Model(&Passkey{}).Where("credential_id = ?", key.CredentialID).Count(&known).Error; err != nil {
			return err
		}
		if known > 0 {
			refusal = E(Unprocessable, "This passkey is registered at the desk already.", map[string]any{"reason": "known_passkey"})
			return nil
		}
		key.ID, key.UserID, key.Name, key.CreatedAt, key.LastUsedAt = tx.NewID(PrefixPasskey), id.User.ID, name, tx.Now, Time{}
		if err := tx.DB.Create(&key).Error; err != nil {
			return err
		}
		if err := tx.auditEverywhere(id, "passkey.added", map[string]any{"passkey": key.ID, "name": name}); err != nil {
			return err
		}
		if len(keys) == 0 {
			codes, err = tx.newRecoveryCodes(id.User.ID)
		}
		return err
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// newRecoveryCodes replaces a person's codes.
func (tx *Tx) newRecoveryCodes(userID string) ([]string, error) {
	if err := tx.DB.Where("user_id = ?", userID).Delete(&recoveryCode{}).Error; err != nil {
		return nil, err
	}
	codes := make([]string, RecoveryCodes)
	for i := range codes {
		plain := Secret(tx.store.ids.random, 10)
		codes[i] = plain[0:4] + "-" + plain[4:8] + "-" + plain[8:12] + "-" + plain[12:16]
		if err := tx.DB.Create(&recoveryCode{Hash: HashSecret(userID + " " + plain), UserID: userID, CreatedAt: tx.Now}).Error; err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// RenewRecoveryCodes gives a person new codes, told once; the old ones count no more. It fails with
// VALIDATION_ERROR on /step_up when a fresh confirmation is missing, and UNPROCESSABLE_ENTITY (reason
// no_passkey) for somebody without a passkey.
func (s *Store) RenewRecoveryCodes(ctx context.Context, id Identity) (codes []string, err error) {
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := tx.mayChangeKeys(id); err != nil {
			return err
		}
		n, err := tx.passkeyCount(id.User.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return E(Unprocessable, "You have no passkey.", map[string]any{"reason": "no_passkey"})
		}
		if codes, err = tx.newRecoveryCodes(id.User.ID); err != nil {
			return err
		}
		return tx.auditEverywhere(id, "recovery_codes.made", nil)
	})
	return codes, err
}

// RenamePasskey gives a passkey of the person another name. It fails with VALIDATION_ERROR on /name and
// NOT_FOUND.
func (s *Store) RenamePasskey(ctx context.Context, id Identity, passkeyID, name string) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	return s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := id.needOwnSession(); err != nil {
			return err
		}
		key, err := tx.passkey(id.User.ID, passkeyID)
		if err != nil || key.Name == name {
			return err
		}
		if err := tx.DB.Model(&Passkey{}).Where("id = ?", key.ID).Update("name", name).Error; err != nil {
			return err
		}
		return tx.auditEverywhere(id, "passkey.renamed", map[string]any{"passkey": key.ID, "before": key.Name, "after": name})
	})
}

func (tx *Tx) passkey(userID, passkeyID string) (Passkey, error) {
	var key Passkey
	err := tx.Lock().Where("id = ? AND user_id = ?", passkeyID, userID).Take(&key).Error
	if errors.Is(err, ErrNoRow) {
		return key, Missing("passkey", clip(passkeyID, 64))
	}
	return key, err
}

// RemovePasskey removes a passkey of the person; with the last one their recovery codes go. It fails with
// NOT_FOUND, and VALIDATION_ERROR on /step_up when a fresh confirmation is missing.
func (s *Store) RemovePasskey(ctx context.Context, id Identity, passkeyID string) error {
	return s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := id.needOwnSession(); err != nil {
			return err
		}
		key, err := tx.passkey(id.User.ID, passkeyID)
		if err != nil {
			return err
		}
		if err := tx.mayChangeKeys(id); err != nil {
			return err
		}
		if err := tx.DB.Where("id = ?", key.ID).Delete(&Passkey{}).Error; err != nil {
			return err
		}
		left, err := tx.passkeyCount(id.User.ID)
		if err != nil {
			return err
		}
		if left == 0 {
			if err := tx.DB.Where("user_id = ?", id.User.ID).Delete(&recoveryCode{}).Error; err != nil {
				return err
			}
		}
		return tx.auditEverywhere(id, "passkey.removed", map[string]any{"passkey": key.ID, "name": key.Name, "left": left})
	})
}

// RemovePasskeys takes every passkey and recovery code of a person away, for one who lost them all. Their
// sessions end. Only the operator may. It fails with NOT_FOUND, and CONFLICT when there is none.
func (tx *Tx) RemovePasskeys(userID string) error {
	if err := tx.By.needOperator(); err != nil {
		return err
	}
	var holder Identity
	user, err := tx.User(userID)
	if errors.Is(err, ErrNoRow) {
		return Missing("user", clip(userID, 64))
	}
	if err != nil {
		return err
	}
	gone := tx.DB.Where("user_id = ?", userID).Delete(&Passkey{})
	if gone.Error != nil {
		return gone.Error
	}
	if gone.RowsAffected == 0 {
		return E(Conflict, fmt.Sprintf("%s has no passkey.", user.Email), map[string]any{"user_id": userID})
	}
	if err := tx.DB.Where("user_id = ?", userID).Delete(&recoveryCode{}).Error; err != nil {
		return err
	}
	if _, err := tx.endSessions(userID, ""); err != nil {
		return err
	}
	holder.User = user
	if err := tx.DB.Where("user_id = ?", userID).Order("workspace_id").Find(&holder.Memberships).Error; err != nil {
		return err
	}
	return tx.auditEverywhere(holder, "passkeys.removed", map[string]any{"email": user.Email, "passkeys": gone.RowsAffected})
}

// answer checks a browser's answer and keeps what changed about the key. refusal is the answer that does not
// count, which is on the trail then; the transaction must commit all the same, since the challenge is spent.
func (tx *Tx) answer(id Identity, challenge, purpose, boundTo string, check CheckPasskey) (key Passkey, refusal, err error) {
	data, ok, err := tx.spendChallenge(challenge, id.User.ID, purpose, boundTo)
	if err != nil {
		return key, nil, err
	}
	if !ok {
		return key, staleChallenge(), nil
	}
	user, err := tx.User(id.User.ID)
	if err != nil {
		return key, nil, err
	}
	// Two answers at once must not both count against the counter that one of them has moved.
	var keys []Passkey
	if err := tx.Lock().Where("user_id = ?", id.User.ID).Order("created_at, id").Find(&keys).Error; err != nil {
		return key, nil, err
	}
	key, refused := check(user, keys, data)
	if refused != "" {
		return key, Invalid(Issue{"/passkey", "was not accepted; try again, or use another one"}),
			tx.auditEverywhere(id, "passkey.refused", map[string]any{"for": purpose, "why": refused, "passkey": key.ID, "name": key.Name})
	}
	err = tx.DB.Model(&Passkey{}).Where("id = ? AND user_id = ?", key.ID, id.User.ID).Updates(map[string]any{"credential": key.Credential, "last_used_at": tx.Now}).Error
	return key, nil, err
}

// ConfirmByPasskey marks a session as freshly confirmed when the answer of a passkey is good. It fails with
// VALIDATION_ERROR on /passkey.
func (s *Store) ConfirmByPasskey(ctx context.Context, id Identity, challenge string, check CheckPasskey) (Identity, error) {
	if err := id.needOwnSession(); err != nil {
		return id, err
	}
	var refusal error
	err := s.InTx(ctx, id.themself(), func(tx *Tx) error {
		var key Passkey
		var err error
		if key, refusal, err = tx.answer(id, challenge, PasskeyConfirm, id.Session.ID, check); err != nil || refusal != nil {
			return err
		}
		return tx.stepUp(&id, FactorPasskey, map[string]any{"passkey": key.ID, "name": key.Name})
	})
	if err == nil {
		err = refusal
	}
	return id, err
}

// awaitsPasskey keeps a sign-in half open when the person has a passkey: secret then belongs to that, not
// to a session.
func (tx *Tx) awaitsPasskey(user User, secret, address, userAgent string) (bool, error) {
	n, err := tx.passkeyCount(user.ID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.DB.Create(&HalfSignIn{ID: HashSecret(secret), UserID: user.ID, Address: address, UserAgent: clip(userAgent, 200), CreatedAt: tx.Now,
		ExpiresAt: tx.Now.Add(HalfSignInLife)}).Error
}

// openSession starts a session of a person who has shown who they are, and says so on the trail. It fails
// with membership_inactive when every membership is switched off.
func (tx *Tx) openSession(user User, secret, address, userAgent string, by Factor, data map[string]any) (Identity, error) {
	session := Session{ID: HashSecret(secret), UserID: user.ID, CreatedAt: tx.Now, LastSeenAt: tx.Now, ExpiresAt: tx.Now.Add(tx.store.sessionLife), UserAgent: clip(userAgent, 200),
		Address: clip(address, 64), SignedInBy: by}
	id := Identity{Session: &session}
	if err := tx.identify(&id, user.ID); err != nil {
		return id, err
	}
	if len(id.Memberships) > 0 && len(id.Reachable()) == 0 {
		return id, E(MembershipInactive, "Your membership was deactivated, so there is nothing to sign in to. An admin of your workspace can reactivate it.", nil)
	}
	if err := tx.DB.Create(&session).Error; err != nil {
		return id, err
	}
	if data == nil {
		data = map[string]any{}
	}
	data["address"], data["by"] = address, by
	return id, tx.auditEverywhere(id, "person.signed_in", data)
}

// halfSignIn finds a sign-in that waits for a passkey, read through db. It fails with unauthenticated when
// there is none.
func (tx *Tx) halfSignIn(db *gorm.DB, secret string) (HalfSignIn, Identity, error) {
	gone := E(Unauthenticated, "Your sign-in took too long. Begin again with e-mail and password.", nil)
	var rows []HalfSignIn
	if secret == "" {
		return HalfSignIn{}, Identity{}, gone
	}
	if err := db.Where("id = ?", HashSecret(secret)).Find(&rows).Error; err != nil {
		return HalfSignIn{}, Identity{}, err
	}
	if len(rows) == 0 || !tx.Now.Before(rows[0].ExpiresAt.Time) {
		return HalfSignIn{}, Identity{}, gone
	}
	var id Identity
	err := tx.identify(&id, rows[0].UserID)
	if errors.Is(err, ErrNoRow) { // deactivated since
		err = gone
	}
	return rows[0], id, err
}

// HalfSignedIn finds who a sign-in that waits for a passkey is of. It fails with unauthenticated.
func (s *Store) HalfSignedIn(ctx context.Context, secret string) (User, error) {
	var id Identity
	err := s.View(ctx, Principal{}, func(tx *Tx) error {
		var err error
		_, id, err = tx.halfSignIn(tx.DB, secret)
		return err
	})
	return id.User, err
}

// NewSignInChallenge makes the challenge for the passkey of a sign-in. It fails with unauthenticated.
func (s *Store) NewSignInChallenge(ctx context.Context, secret string, create MakeChallenge) error {
	return s.InTx(ctx, Principal{}, func(tx *Tx) error {
		half, id, err := tx.halfSignIn(tx.Lock(), secret)
		if err != nil {
			return err
		}
		return tx.newChallenge(id.User.ID, PasskeySignIn, half.ID, create)
	})
}

// FinishSignIn opens the session of a sign-in that waited for a passkey, when the answer of one is good. It
// fails with unauthenticated when nothing waits, and VALIDATION_ERROR on /passkey.
func (s *Store) FinishSignIn(ctx context.Context, secret, challenge string, check CheckPasskey) (string, Identity, error) {
	return s.finish(ctx, secret, func(tx *Tx, half HalfSignIn, id Identity) (Factor, map[string]any, error, error) {
		key, refusal, err := tx.answer(id, challenge, PasskeySignIn, half.ID, check)
		return FactorPasskey, map[string]any{"passkey": key.ID}, refusal, err
	})
}

// FinishSignInByCode is FinishSignIn with a recovery code, which counts no more then. It fails with
// unauthenticated when nothing waits, VALIDATION_ERROR on /code, and RATE_LIMITED.
func (s *Store) FinishSignInByCode(ctx context.Context, secret, code string) (string, Identity, error) {
	plain := strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, code))
	return s.finish(ctx, secret, func(tx *Tx, _ HalfSignIn, id Identity) (Factor, map[string]any, error, error) {
		counted := []signInLimit{{Subject: "code:" + id.User.ID, Kind: limitPassword, Email: id.User.Email}}
		reached, err := tx.count(counted)
		if err != nil {
			return "", nil, nil, err
		}
		used := tx.DB.Model(&recoveryCode{}).Where("hash = ? AND user_id = ? AND used_at IS NULL", HashSecret(id.User.ID+" "+plain), id.User.ID).Update("used_at", tx.Now)
		if used.Error != nil {
			return "", nil, nil, used.Error
		}
		if used.RowsAffected == 0 {
			if err := tx.auditEverywhere(id, "recovery_code.refused", nil); err != nil {
				return "", nil, nil, err
			}
			return "", nil, Invalid(Issue{"/code", "is not right, or was used already"}), tx.locked(id, reached)
		}
		var left int64
		if err := tx.DB.Model(&recoveryCode{}).Where("user_id = ? AND used_at IS NULL", id.User.ID).Count(&left).Error; err != nil {
			return "", nil, nil, err
		}
		return FactorRecoveryCode, map[string]any{"codes_left": left}, nil, tx.succeeded(counted)
	})
}

// finish spends a half sign-in with what second says: how it was finished, or a refusal that leaves it open.
func (s *Store) finish(ctx context.Context, secret string, second func(*Tx, HalfSignIn, Identity) (by Factor, data map[string]any, refusal, err error)) (string, Identity, error) {
	opened := Secret(s.ids.random, 32)
	var out Identity
	var refusal error
	err := s.InTx(ctx, Principal{}, func(tx *Tx) error {
		half, id, err := tx.halfSignIn(tx.Lock(), secret)
		if err != nil {
			return err
		}
		tx.By = id.themself()
		by, data, refused, err := second(tx, half, id)
		if refusal = refused; err != nil || refused != nil {
			return err
		}
		spent := tx.DB.Where("id = ?", half.ID).Delete(&HalfSignIn{})
		if spent.Error != nil {
			return spent.Error
		}
		if spent.RowsAffected == 0 {
			return E(Conflict, "This sign-in was finished already.", nil)
		}
		out, err = tx.openSession(id.User, opened, half.Address, half.UserAgent, by, data)
		return err
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return "", Identity{}, err
	}
	return opened, out, nil
}

// forgetHalfSignIns drops what sign-ins left behind on their way.
func (tx *Tx) forgetHalfSignIns() error {
	for _, row := range []any{&HalfSignIn{}, &passkeyChallenge{}, &ProviderSignIn{}} {
		if err := tx.DB.Where("expires_at < ?", tx.Now).Delete(row).Error; err != nil {
			return err
		}
	}
	return nil
}
