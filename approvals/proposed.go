package approvals

import (
	"errors"

	"github.com/apdesk/apdesk/models"
)

// FileProposed implements what case decisions need of approval requests.
func (s *Service) FileProposed(tx *models.Tx, c models.Case, p models.ProposedRequest) (string, error) {
	return "", errors.ErrUnsupported
}
