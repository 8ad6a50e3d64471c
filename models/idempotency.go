package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// MaxIdempotencyKey is the longest idempotency key accepted, in characters.
const MaxIdempotencyKey = 255

// KeepIdempotencyKeys is how long a first answer can be replayed.
const KeepIdempotencyKeys = 7 * 24 * time.Hour

// JobForgetKeys removes idempotency keys past their time; its subject is the workspace.
const JobForgetKeys JobKind = "idempotency.forget"

type idempotencyKey struct {
	Scope     string `gorm:"primaryKey"`
	BodyHash  string
	Answer    string
	CreatedAt Time
}

func (idempotencyKey) TableName() string { return "idempotency_keys" }

// Idempotency is a caller's key for one operation and the digest of the body it came with.
type Idempotency struct {
	Key      string
	BodyHash string
}

// HashBody is the digest of a request body's canonical form.
func HashBody(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// Once runs fn once per user, workspace, operation and key, and answers later calls with the first
// answer as long as their body is the same; another body is CONFLICT. A call with the same key that is
// still running is waited for. An error of fn undoes the transaction, so refusals are not
// remembered. Without a key fn simply runs.
func Once[T any](tx *Tx, operation string, idem Idempotency, fn func() (T, error)) (T, error) {
	var answer T
	if idem.Key == "" {
		return fn()
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{tx.By.UserID, tx.By.WorkspaceID, operation, idem.Key}, "\x00")))
	scope := hex.EncodeToString(sum[:])
	// The row is written first: on PostgreSQL a twin waits here until the first one has ended.
	made, err := tx.Exec("INSERT INTO idempotency_keys (scope, body_hash, answer, created_at) VALUES (?, ?, '', ?) ON CONFLICT DO NOTHING", scope, idem.BodyHash, tx.Now)
	if err != nil {
		return answer, err
	}
	if made == 0 {
		first, err := One[idempotencyKey](tx, "SELECT body_hash, answer FROM idempotency_keys WHERE scope = ?", scope)
		if err != nil {
			return answer, err
		}
		if first.BodyHash != idem.BodyHash {
			return answer, E(Conflict, "This idempotency key was used before with another body. Use a new key for a new request.",
				map[string]any{"reason": "idempotency_key_reused"})
		}
		return answer, json.Unmarshal([]byte(first.Answer), &answer)
	}
	if answer, err = fn(); err != nil {
		return answer, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return answer, err
	}
	_, err = tx.Exec("UPDATE idempotency_keys SET answer = ? WHERE scope = ?", string(text), scope)
	return answer, err
}

// HouseKeeping are the store's own jobs.
func HouseKeeping() map[JobKind]JobFunc {
	return map[JobKind]JobFunc{
		JobForgetFile:    forgetFile,
		JobTokenExpiring: warnOfToken,
		JobForgetKeys: func(tx *Tx, job Job) error {
			if err := tx.DB.Where("created_at < ?", tx.Now.Add(-KeepIdempotencyKeys)).Delete(&idempotencyKey{}).Error; err != nil {
				return err
			}
			if err := tx.DB.Where("expires_at < ?", tx.Now).Delete(&Session{}).Error; err != nil {
				return err
			}
			if err := tx.forgetSignIns(); err != nil {
				return err
			}
			if err := tx.forgetHalfSignIns(); err != nil {
				return err
			}
			if err := tx.forgetLinks(); err != nil {
				return err
			}
			if err := tx.forgetAbsent(); err != nil {
				return err
			}
			if err := tx.forgetDrafts(); err != nil {
				return err
			}
			return tx.Schedule(JobForgetKeys, job.Subject, tx.Now.Add(24*time.Hour))
		},
	}
}
