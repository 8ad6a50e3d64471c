package models

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"gorm.io/gorm/clause"
)

// Checkpoint says how far a workspace's chain had come at a time. Signed and kept where the desk's
// machine cannot reach it, it proves later that nothing before it was changed.
type Checkpoint struct {
	WorkspaceID string
	Seq         int64  // how many events
	Hash        string // of the last of them, in hex
	At          Time   // of the last of them
}

// AuditKey signs checkpoints, or only checks them. They are signed notes (golang.org/x/mod/sumdb/note)
// with an Ed25519 key.
type AuditKey struct {
	signer   note.Signer
	verifier note.Verifier
	public   string
}

const (
	auditKeyName = "apdesk"
	auditKeyInfo = "apdesk audit checkpoints, version 1"
)

// NewAuditKey derives the key from the desk's secret key, so that there is nothing more to keep.
func NewAuditKey(secret []byte) (*AuditKey, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, auditKeyInfo, 32)
	if err != nil {
		return nil, fmt.Errorf("models: audit key: %w", err)
	}
	private, public, err := note.GenerateKey(bytes.NewReader(seed), auditKeyName)
	if err != nil {
		return nil, fmt.Errorf("models: audit key: %w", err)
	}
	k, err := ParseAuditKey(public)
	if err != nil {
		return nil, err
	}
	k.signer, err = note.NewSigner(private)
	return k, err
}

// ParseAuditKey reads a public key as Public writes it. It checks checkpoints and signs none.
func ParseAuditKey(public string) (*AuditKey, error) {
	v, err := note.NewVerifier(strings.TrimSpace(public))
	if err != nil {
		return nil, fmt.Errorf("not a public key as `apdesk audit key` prints it: %w", err)
	}
	return &AuditKey{verifier: v, public: strings.TrimSpace(public)}, nil
}

// Public is the key others check checkpoints with.
func (k *AuditKey) Public() string { return k.public }

func origin(workspaceID string) string {
	if workspaceID == "" {
		return auditKeyName
	}
	return auditKeyName + "/" + workspaceID
}

// Sign writes a checkpoint as a signed note: origin, number of events and hash each on a line of its
// own, then the time of the last event.
func (k *AuditKey) Sign(c Checkpoint) (string, error) {
	if k.signer == nil {
		return "", errors.New("models: a public key cannot sign")
	}
	hash, err := hex.DecodeString(c.Hash)
	if err != nil {
		return "", fmt.Errorf("models: checkpoint: %w", err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\n", origin(c.WorkspaceID), c.Seq, base64.StdEncoding.EncodeToString(hash), c.At)
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	return string(signed), err
}

// Open reads the checkpoints of a file, one signed note after the other. It fails unless every one is
// signed with this key.
func (k *AuditKey) Open(file []byte) ([]Checkpoint, error) {
	var all []Checkpoint
	for _, text := range splitNotes(string(file)) {
		opened, err := note.Open([]byte(text), note.VerifierList(k.verifier))
		if err != nil {
			var unsigned *note.UnverifiedNoteError
			if errors.As(err, &unsigned) {
				return nil, fmt.Errorf("checkpoint %d is not signed with this desk's key %s", len(all)+1, k.public)
			}
			var forged *note.InvalidSignatureError
			if errors.As(err, &forged) {
				return nil, fmt.Errorf("checkpoint %d was changed after it was signed", len(all)+1)
			}
			return nil, fmt.Errorf("checkpoint %d: %w", len(all)+1, err)
		}
		c, err := parseCheckpoint(opened.Text)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no checkpoint in it")
	}
	return all, nil
}

const signatureMark = "— "

// splitNotes parts notes that follow one another: a note ends with its signatures.
func splitNotes(file string) []string {
	var notes []string
	var current strings.Builder
	signed := false
	for line := range strings.Lines(strings.ReplaceAll(file, "\r\n", "\n")) {
		isSignature := strings.HasPrefix(line, signatureMark)
		if signed && !isSignature {
			notes = append(notes, current.String())
			current.Reset()
			signed = false
		}
		if current.Len() == 0 && strings.TrimSpace(line) == "" {
			continue
		}
		signed = signed || isSignature
		current.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	if current.Len() > 0 {
		notes = append(notes, current.String())
	}
	return notes
}

func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return Checkpoint{}, errors.New("it lacks lines")
	}
	name, ws, _ := strings.Cut(lines[0], "/")
	if name != auditKeyName {
		return Checkpoint{}, fmt.Errorf("it is of %q, which is no desk", lines[0])
	}
	c := Checkpoint{WorkspaceID: ws}
	var err error
	if c.Seq, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Seq < 1 {
		return Checkpoint{}, fmt.Errorf("%q is no number of events", lines[1])
	}
	hash, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(hash) != sha256.Size {
		return Checkpoint{}, fmt.Errorf("%q is no hash", lines[2])
	}
	c.Hash = hex.EncodeToString(hash)
	for _, line := range lines[3:] {
		if at, ok := strings.CutPrefix(line, "time "); ok {
			if err := c.At.Scan(at); err != nil {
				return Checkpoint{}, err
			}
		}
	}
	return c, nil
}

// StoredCheckpoint is a checkpoint the desk keeps beside the trail. The copy that proves something is
// the one kept elsewhere.
type StoredCheckpoint struct {
	WorkspaceID string `gorm:"primaryKey"`
	Seq         int64  `gorm:"primaryKey"`
	Hash        string
	Note        string
	At          Time // when it was signed
}

// TableName is the table of stored checkpoints.
func (StoredCheckpoint) TableName() string { return "audit_checkpoints" }

// TakeCheckpoint signs how far the chain of the workspace acted in has come and stores the note. There
// is none yet while the chain is empty. An unchanged chain has the note it had. It fails when the last
// event is not the one the desk sealed, since a signature must not cover that up.
func (tx *Tx) TakeCheckpoint(k *AuditKey) (*StoredCheckpoint, error) {
	ws := tx.By.WorkspaceID
	if err := tx.LockName("audit:" + ws); err != nil {
		return nil, err
	}
	var head []auditHead
	if err := tx.DB.Where("workspace_id = ?", ws).Limit(1).Find(&head).Error; err != nil || len(head) == 0 {
		return nil, err
	}
	var last []AuditEvent
	if err := tx.DB.Where("workspace_id = ? AND seq IS NOT NULL", ws).Order("seq DESC").Limit(1).Find(&last).Error; err != nil {
		return nil, err
	}
	if len(last) == 0 || *last[0].Seq != head[0].Seq || last[0].Hash == nil || *last[0].Hash != head[0].Hash {
		return nil, E(Unprocessable, fmt.Sprintf("The trail of workspace %s does not end with the event the desk sealed last. Nothing was signed; run apdesk audit verify.", ws), nil)
	}
	var there []StoredCheckpoint
	if err := tx.DB.Where("workspace_id = ? AND seq = ?", ws, head[0].Seq).Limit(1).Find(&there).Error; err != nil {
		return nil, err
	}
	c := Checkpoint{WorkspaceID: ws, Seq: head[0].Seq, Hash: head[0].Hash, At: head[0].At}
	text, err := k.Sign(c)
	if err != nil {
		return nil, err
	}
	if len(there) == 1 && there[0].Note == text {
		return &there[0], nil
	}
	row := StoredCheckpoint{WorkspaceID: ws, Seq: c.Seq, Hash: c.Hash, Note: text, At: tx.Now}
	// One signed with another key stays as it is: rows are never changed.
	return &row, tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
}

// Checkpoints lists the latest stored checkpoints of the workspace acted in, the newest first.
func (s *Store) Checkpoints(ctx context.Context, by Principal, limit int) (rows []StoredCheckpoint, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		return tx.DB.Where("workspace_id = ?", by.WorkspaceID).Order("seq DESC").Limit(limit).Find(&rows).Error
	})
	return rows, err
}

// Job kinds of checkpoints: one that comes daily, and the work it plans for each workspace.
const (
	JobCheckpoints JobKind = "audit.checkpoints"
	JobCheckpoint  JobKind = "audit.checkpoint"
)

// AuditJobs sign a checkpoint of every workspace's chain each day, with an event since the last.
func AuditJobs(k *AuditKey) map[JobKind]JobFunc {
	return map[JobKind]JobFunc{
		JobCheckpoints: func(tx *Tx, job Job) error {
			var heads []auditHead
			if err := tx.DB.Find(&heads).Error; err != nil {
				return err
			}
			for _, h := range heads {
				row := Job{Kind: JobCheckpoint, Subject: orDesk(h.WorkspaceID), WorkspaceID: h.WorkspaceID, DueAt: tx.Now}
				if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
					return err
				}
			}
			tomorrow := tx.Now.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + 5*time.Minute)
			return tx.Schedule(JobCheckpoints, job.Subject, At(tomorrow))
		},
		JobCheckpoint: func(tx *Tx, _ Job) error {
			_, err := tx.TakeCheckpoint(k)
			return err
		},
	}
}

// orDesk names the chain of what belongs to no workspace.
func orDesk(workspaceID string) string {
	if workspaceID == "" {
		return "(desk)"
	}
	return workspaceID
}
