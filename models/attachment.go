package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxFile is the most bytes a file may have.
const MaxFile = 20 << 20

const (
	filePiece     = 256 << 10      // bytes of a piece
	looseFileLife = 24 * time.Hour // how long a file is kept that nothing refers to
	maxFileName   = 120            // characters
	maxCaseFiles  = 100            // files of one case or request
)

// JobForgetFile removes a file that nothing refers to a day after it came; its subject is the file.
const JobForgetFile JobKind = "file.forget"

// Attachment is a file. Its content stands in pieces beside it and never changes.
type Attachment struct {
	ID             string `gorm:"primaryKey"`
	WorkspaceID    string
	CaseID         *string // the case it belongs to, or the approval request that came without one; nil: none yet
	Name           string
	MediaType      string // as its content says
	Size           int64  // bytes
	SHA256         string `gorm:"column:sha256"`
	UploadedByID   string
	UploadedByName string
	Channel        Channel
	CreatedAt      Time
}

// Ref points an audit event at the file.
func (a Attachment) Ref() Ref {
	ref := Ref{Subject: a.ID}
	if a.CaseID == nil {
		return ref
	}
	if strings.HasPrefix(*a.CaseID, PrefixApprovalRequest+"_") {
		ref.ApprovalRequestID = *a.CaseID
	} else {
		ref.CaseID = *a.CaseID
	}
	return ref
}

// Image says whether the file is a picture.
func (a Attachment) Image() bool { return strings.HasPrefix(a.MediaType, "image/") }

// Upload is a file as somebody sends it. Open reads it from its beginning, as often as it is called.
type Upload struct {
	Name string
	Open func() (io.Reader, error)
}

// CheckedUpload is an upload whose content was read once: it is one of the kinds kept.
type CheckedUpload struct {
	Upload
	MediaType string
	Size      int64
	SHA256    string
}

// fileKinds are the kinds of file kept, with the ending of their names.
var fileKinds = map[string][]string{
	"application/pdf": {".pdf"},
	"image/png":       {".png"},
	"image/jpeg":      {".jpg", ".jpeg"},
	"image/gif":       {".gif"},
	"image/webp":      {".webp"},
}

// FileKinds are the media types of files that are kept, in order.
func FileKinds() []string { return slices.Sorted(maps.Keys(fileKinds)) }

const sentKinds = "send a PDF, PNG, JPEG, GIF or WebP file"

// CheckUpload reads a file once: what it is by its content alone, its size and digest. It fails with
// VALIDATION_ERROR on /file; a file of more than MaxFile bytes fails with ErrFileTooLarge.
func CheckUpload(u Upload) (CheckedUpload, error) {
	content, err := u.Open()
	if err != nil {
		return CheckedUpload{}, err
	}
	head := make([]byte, 512) // what the sniffing looks at
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return CheckedUpload{}, err
	}
	head = head[:n]
	if n == 0 {
		return CheckedUpload{}, Invalid(Issue{"/file", "is empty"})
	}
	digest := sha256.New()
	digest.Write(head)
	rest, err := io.Copy(digest, io.LimitReader(content, MaxFile+1-int64(n)))
	if err != nil {
		return CheckedUpload{}, err
	}
	size := int64(n) + rest
	if size > MaxFile {
		return CheckedUpload{}, ErrFileTooLarge
	}
	kind, what := sniff(head)
	if what != "" {
		return CheckedUpload{}, Invalid(Issue{"/file", "is " + what + " by its content; " + sentKinds})
	}
	u.Name = FileName(u.Name, kind)
	return CheckedUpload{Upload: u, MediaType: kind, Size: size, SHA256: hex.EncodeToString(digest.Sum(nil))}, nil
}

// ErrFileTooLarge is what a file of more than MaxFile bytes fails with.
var ErrFileTooLarge = Invalid(Issue{"/file", fmt.Sprintf("has more than %d MB (%d bytes)", MaxFile>>20, MaxFile)})

// sniff tells the kind of a file by how it begins; of one that is not kept it says what it is.
func sniff(head []byte) (kind, refused string) {
	kind, _, _ = strings.Cut(http.DetectContentType(head), ";")
	if _, kept := fileKinds[kind]; kept {
		return kind, ""
	}
	text := strings.ToLower(string(head))
	switch {
	case kind == "text/html":
		return kind, "an HTML page, which can carry script"
	case strings.HasPrefix(kind, "text/") && strings.Contains(text, "<svg"):
		return kind, "an SVG picture, which can carry script"
	case kind == "application/zip":
		return kind, "a ZIP archive or an Office file"
	case strings.HasPrefix(kind, "text/"):
		return kind, "text"
	case kind == "application/octet-stream":
		return kind, "of an unknown kind"
	}
	return kind, "a file of the kind " + kind
}

// FileName is the name a file is kept under: the last part of the path it came with, without what
// could mislead a reader or a disk, and with the ending of its kind, so that a saved file is opened as
// what it is.
func FileName(name, mediaType string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == '\u2028', r == '\u2029':
			return -1
		case strings.ContainsRune(`<>:"|?*/`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), " .")
	endings := fileKinds[mediaType]
	ending := ""
	if len(endings) > 0 {
		ending = endings[0]
	}
	for _, known := range endings {
		if len(name) > len(known) && strings.EqualFold(name[len(name)-len(known):], known) {
			name, ending = name[:len(name)-len(known)], name[len(name)-len(known):]
			break
		}
	}
	if most := maxFileName - utf8.RuneCountInString(ending); utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most])
	}
	if name = strings.TrimRight(name, " ."); name == "" {
		name = "file"
	}
	return name + ending
}

// AddFile keeps a file, as the caller's own. With a caseID it belongs to that case, else it is removed
// after a day unless something sent later names it.
func (tx *Tx) AddFile(u CheckedUpload, caseID string) (Attachment, error) {
	a := Attachment{ID: tx.NewID(PrefixAttachment), WorkspaceID: tx.By.WorkspaceID, Name: u.Name, MediaType: u.MediaType, Size: u.Size, SHA256: u.SHA256,
		UploadedByID: tx.By.UserID, UploadedByName: tx.By.UserName, Channel: tx.By.Channel, CreatedAt: tx.Now}
	if caseID != "" {
		a.CaseID = &caseID
		if err := tx.roomForFile(caseID); err != nil {
			return a, err
		}
	}
	if err := tx.DB.Create(&a).Error; err != nil {
		return a, err
	}
	if err := tx.addPieces(a, u.Open); err != nil {
		return a, err
	}
	if caseID == "" {
		if err := tx.Schedule(JobForgetFile, a.ID, tx.Now.Add(looseFileLife)); err != nil {
			return a, err
		}
	}
	return a, tx.Audit("file.uploaded", a.Ref(), map[string]any{"file_id": a.ID, "name": a.Name, "media_type": a.MediaType, "size": a.Size, "sha256": a.SHA256})
}

func (tx *Tx) roomForFile(caseID string) error {
	var n int
	if err := tx.Value(&n, "SELECT count(*) FROM attachments WHERE workspace_id = ? AND case_id = ?", tx.By.WorkspaceID, caseID); err != nil {
		return err
	}
	if n >= maxCaseFiles {
		return E(Unprocessable, fmt.Sprintf("There are %d files already, and no more are kept in one place.", n), map[string]any{"reason": "too_many_files"})
	}
	return nil
}

func (tx *Tx) addPieces(a Attachment, open func() (io.Reader, error)) error {
	content, err := open()
	if err != nil {
		return err
	}
	piece := make([]byte, filePiece)
	written := int64(0)
	for n := 0; written < a.Size; n++ {
		got, err := io.ReadFull(content, piece)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("models: content of %s: %w", a.ID, err)
		}
		if _, err := tx.Exec("INSERT INTO attachment_pieces (attachment_id, n, content) VALUES (?, ?, ?)", a.ID, n, piece[:got]); err != nil {
			return err
		}
		written += int64(got)
	}
	if written != a.Size {
		return fmt.Errorf("models: content of %s has %d bytes, not %d", a.ID, written, a.Size)
	}
	return nil
}

// UseFiles makes the files that pieces of evidence name belong to a case or request. It fails with
// VALIDATION_ERROR when one of them is no file the caller uploaded in this workspace. A file that
// belongs somewhere already stays there, and is shown in both places.
func (tx *Tx) UseFiles(subject string, evidence []json.RawMessage) error {
	var issues []Issue
	for i, raw := range evidence {
		id, isFile := fileNamed(raw)
		if !isFile {
			continue
		}
		a, err := One[Attachment](tx, "SELECT * FROM attachments WHERE id = ? AND workspace_id = ? AND uploaded_by_id = ?"+tx.ForChange(), id, tx.By.WorkspaceID, tx.By.UserID)
		if errors.Is(err, ErrNoRow) {
			issues = append(issues, Issue{fmt.Sprintf("/evidence/%d/file_id", i), "names no file that you uploaded in this workspace; unused files are kept for a day"})
			continue
		}
		if err != nil {
			return err
		}
		if a.CaseID != nil {
			continue
		}
		if err := tx.roomForFile(subject); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE attachments SET case_id = ? WHERE id = ?", subject, a.ID); err != nil {
			return err
		}
		if err := tx.Unschedule(JobForgetFile, a.ID); err != nil {
			return err
		}
		a.CaseID = &subject
		if err := tx.Audit("file.attached", a.Ref(), map[string]any{"file_id": a.ID, "name": a.Name, "sha256": a.SHA256}); err != nil {
			return err
		}
	}
	if len(issues) > 0 {
		return Invalid(issues...)
	}
	return nil
}

// fileNamed is the file a piece of evidence names, if it is of that kind.
func fileNamed(evidence json.RawMessage) (id string, isFile bool) {
	var e struct {
		Kind   string `json:"kind"`
		FileID string `json:"file_id"`
	}
	if json.Unmarshal(evidence, &e) != nil || e.Kind != "file" {
		return "", false
	}
	return e.FileID, true
}

// FilesOf lists the files of a case or request, oldest first.
func (tx *Tx) FilesOf(subject string) ([]Attachment, error) {
	return All[Attachment](tx, "SELECT * FROM attachments WHERE workspace_id = ? AND case_id = ? ORDER BY created_at, id", tx.By.WorkspaceID, subject)
}

// forgetFile removes a file that nothing refers to.
func forgetFile(tx *Tx, job Job) error {
	a, err := One[Attachment](tx, "SELECT * FROM attachments WHERE id = ? AND workspace_id = ? AND case_id IS NULL"+tx.ForChange(), job.Subject, tx.By.WorkspaceID)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM attachment_pieces WHERE attachment_id = ?", a.ID); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM attachments WHERE id = ?", a.ID); err != nil {
		return err
	}
	return tx.Audit("file.removed", a.Ref(), map[string]any{"file_id": a.ID, "name": a.Name, "sha256": a.SHA256})
}

// File reads about a file. People of the workspace see every file that belongs to something; everybody
// else, and people for loose files, their own. It fails with NOT_FOUND.
func (s *Store) File(ctx context.Context, by Principal, id string) (a Attachment, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		a, err = One[Attachment](tx, "SELECT * FROM attachments WHERE id = ? AND workspace_id = ?", id, by.WorkspaceID)
		if errors.Is(err, ErrNoRow) || err == nil && a.UploadedByID != by.UserID && (a.CaseID == nil || !by.Has(peopleRoles...)) {
			a, err = Attachment{}, Missing("file", clip(id, 64))
		}
		return err
	})
	return a, err
}

// peopleRoles are the roles of people, who read every record of the workspace.
var peopleRoles = []Role{RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData, RoleAuditor, RoleAdmin}

// FileContent reads a file piece by piece, so that no more than one stands in memory.
func (s *Store) FileContent(ctx context.Context, a Attachment) io.Reader {
	return &fileReader{ctx: context.WithoutCancel(ctx), store: s, file: a}
}

type fileReader struct {
	ctx   context.Context
	store *Store
	file  Attachment
	next  int
	piece []byte
	read  int64
}

// Read reads on. It fails with io.ErrUnexpectedEOF when a piece is missing.
func (r *fileReader) Read(p []byte) (int, error) {
	if len(r.piece) == 0 {
		if r.read == r.file.Size {
			return 0, io.EOF
		}
		err := r.store.View(r.ctx, System(r.file.WorkspaceID), func(tx *Tx) error {
			return tx.Value(&r.piece, "SELECT content FROM attachment_pieces WHERE attachment_id = ? AND n = ?", r.file.ID, r.next)
		})
		if errors.Is(err, ErrNoRow) || err == nil && len(r.piece) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		r.next++
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	r.read += int64(n)
	return n, nil
}
