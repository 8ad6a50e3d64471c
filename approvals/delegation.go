package approvals

import (
	"context"
	"errors"

	"github.com/apdesk/apdesk/models"
)

// NewDelegation says that somebody is away and who decides in their place.
type NewDelegation struct {
	PersonEmail   string // who is away; empty: whoever sets it
	DelegateEmail string // empty: nobody decides in their place
	DocumentType  string // empty: any
	Note          string
	FirstDay      models.Date
	LastDay       models.Date // included
}

// States of a delegation.
const (
	DelegationPlanned = "planned"
	DelegationActive  = "active"
	DelegationEnded   = "ended"
)

// DelegationView is a delegation as people see it.
type DelegationView struct {
	models.Delegation
	State  string // planned, active or ended
	CanEnd bool   // the reader may end it now
	Moved  int    // requests that wait with the delegate through it now
}

// Delegate records an absence and who decides meanwhile.
func (s *Service) Delegate(ctx context.Context, by models.Principal, n NewDelegation) (models.Delegation, error) {
	return models.Delegation{}, errors.ErrUnsupported
}

// EndDelegation ends a delegation before its time.
func (s *Service) EndDelegation(ctx context.Context, by models.Principal, id string) error {
	return errors.ErrUnsupported
}

// Delegations lists the delegations of the workspace: planned and active ones, or those that ended.
func (s *Service) Delegations(ctx context.Context, by models.Principal, ended bool) ([]DelegationView, error) {
	return nil, errors.ErrUnsupported
}
