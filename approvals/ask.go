package approvals

import (
	"context"
	"errors"

	"github.com/apdesk/apdesk/models"
)

// AskAgent puts a question about a request to the agent that filed it. version is the request's as the
// person saw it.
func (s *Service) AskAgent(ctx context.Context, by models.Principal, requestID, question string, version int64) error {
	return errors.ErrUnsupported
}
