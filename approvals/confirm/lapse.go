package confirm

import (
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// JobExpire ends a question that nobody answered, or an answer that nobody took; its subject is the
// confirmation.
const JobExpire models.JobKind = "confirmation.expire"

// Jobs are what the desk does by itself: it lets confirmations lapse and forgets old state.
func (s *Service) Jobs() map[models.JobKind]models.JobFunc {
	return map[models.JobKind]models.JobFunc{
		JobExpire: func(tx *models.Tx, job models.Job) error {
			c, err := lock(tx, job.Subject)
			if models.IsCode(err, models.NotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return putAwayLapsed(tx, &c)
		},
		JobPurge: purge,
	}
}

// putAwayLapsed writes down that a locked confirmation is past its time; one that still lives, or has
// ended, is left alone.
func putAwayLapsed(tx *models.Tx, c *models.Confirmation) error {
	if statusAt(*c, tx.Now) != models.ConfirmationExpired || c.Status == models.ConfirmationExpired {
		return nil
	}
	data := map[string]any{"expired_at": c.ExpiresAt, "answered": c.Status == models.ConfirmationAnswered}
	if err := change(tx, c, map[string]any{"status": models.ConfirmationExpired}); err != nil {
		return err
	}
	if err := tx.Unschedule(JobExpire, c.ID); err != nil {
		return fmt.Errorf("confirm: unschedule: %w", err)
	}
	return tx.Audit("confirmation.expired", c.Ref(), data)
}
