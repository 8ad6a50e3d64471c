package queue

import (
	"context"

	"github.com/apdesk/apdesk/models"
)

const opUpload = "file.upload"

// UploadFile keeps a file of an agent until a handover, an answer or an approval request names it, for a
// day at most. It fails with VALIDATION_ERROR on /file, models.ErrFileTooLarge among them, and with
// CONFLICT for an idempotency key used with another file.
func (s *Service) UploadFile(ctx context.Context, by models.Principal, u models.Upload, key string) (models.Attachment, error) {
	if err := mayFile(by, models.ScopeCasesWrite); err != nil {
		return models.Attachment{}, err
	}
	checked, err := models.CheckUpload(u)
	if err != nil {
		return models.Attachment{}, err
	}
	idem := models.Idempotency{Key: key, BodyHash: models.HashBody([]byte(checked.SHA256 + " " + checked.Name))}
	var out models.Attachment
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		out, err = models.Once(tx, opUpload, idem, func() (models.Attachment, error) { return tx.AddFile(checked, "") })
		return err
	})
	return out, err
}

// AttachFile adds a file to a case. People whose role works the queue may, also when the case is
// resolved. It fails with NOT_FOUND, VALIDATION_ERROR on /file, or UNPROCESSABLE_ENTITY when the case
// has too many.
func (s *Service) AttachFile(ctx context.Context, by models.Principal, caseID string, u models.Upload) (models.Attachment, error) {
	const refusedAs = "case.file_refused"
	if err := by.NeedPerson(); err != nil {
		return models.Attachment{}, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	checked, err := models.CheckUpload(u)
	if err != nil {
		return models.Attachment{}, err
	}
	var out models.Attachment
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		c, err := lockCase(tx, caseID)
		if err != nil {
			return err
		}
		if err := by.NeedRole(c.Queue.Roles()...); err != nil {
			return err
		}
		if out, err = tx.AddFile(checked, c.ID); err != nil {
			return err
		}
		return replace(tx, c, renew(c, by, tx.Now))
	})
	if models.IsCode(err, models.InsufficientPermission) {
		return out, s.refusedOnCase(ctx, by, caseID, refusedAs, err)
	}
	return out, err
}
