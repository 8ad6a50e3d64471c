package queue

import (
	"errors"

	"github.com/apdesk/apdesk/models"
)

// CloseRouted implements what approvals needs of the queues.
func (s *Service) CloseRouted(tx *models.Tx, caseID, requestID, exit, note string) error {
	return errors.ErrUnsupported
}

// OpenReview implements what approvals needs of the queues.
func (s *Service) OpenReview(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, why string) (string, error) {
	return "", errors.ErrUnsupported
}

// AskAgent implements what approvals needs of the queues.
func (s *Service) AskAgent(tx *models.Tx, request models.ApprovalRequest, invoice models.Invoice, caseID, question string) (string, error) {
	return "", errors.ErrUnsupported
}

// CloseQuestion implements what approvals needs of the queues.
func (s *Service) CloseQuestion(tx *models.Tx, caseID, note string) error { return errors.ErrUnsupported }
