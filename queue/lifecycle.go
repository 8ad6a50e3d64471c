package queue

import (
	"fmt"
	"time"

	"github.com/apdesk/apdesk/models"
)

// claimLease is how long a claim lasts without activity of its holder.
const claimLease = 30 * time.Minute

// The functions here are the rules of a case's life. They take the case as it is and answer the case
// as it will be, or why not; none reads or writes anything.

// works says whether the principal works the queue.
func works(by models.Principal, q models.Queue) bool { return by.Has(q.Roles()...) }

// roleIn is the role by which the principal works the queue.
func roleIn(by models.Principal, q models.Queue) models.Role {
	for _, r := range q.Roles() {
		if by.Has(r) {
			return r
		}
	}
	return ""
}

// mayTakeOver says whether the principal may take a claim from its holder: a lead, in the lead's queues.
func mayTakeOver(by models.Principal, q models.Queue) bool {
	return (q == models.QueueAP || q == models.QueueAPLead) && by.Has(models.RoleAPLead)
}

// claim lends the case to the principal. It fails with CONFLICT while somebody else holds it.
func claim(c models.Case, by models.Principal, now models.Time, holder string) (models.Case, error) {
	if held := c.ClaimedAt(now); held != "" && held != by.UserID {
		return c, heldByOther(c, holder)
	}
	return lend(c, by, now), nil
}

// takeOver lends the case to the principal, whoever holds it.
func takeOver(c models.Case, by models.Principal, now models.Time) models.Case {
	return lend(c, by, now)
}

// lend gives the case to the principal, who works on it now: it is snoozed no more.
func lend(c models.Case, by models.Principal, now models.Time) models.Case {
	c = awake(c)
	c.ClaimedByID, c.ClaimedUntil = &by.UserID, now.Add(claimLease)
	return c
}

// release gives the case back. It fails with CONFLICT when somebody else holds it; a claim that ran
// out, or none, is no failure.
func release(c models.Case, by models.Principal, now models.Time, holder string) (models.Case, error) {
	if held := c.ClaimedAt(now); held != "" && held != by.UserID {
		return c, heldByOther(c, holder)
	}
	c.ClaimedByID, c.ClaimedUntil = nil, models.Time{}
	return c, nil
}

// renew makes a claim the principal holds last again, since there was activity.
func renew(c models.Case, by models.Principal, now models.Time) models.Case {
	if c.ClaimedAt(now) == by.UserID {
		return lend(c, by, now)
	}
	return c
}

func heldByOther(c models.Case, holder string) *models.NamedError {
	return models.E(models.Conflict, fmt.Sprintf("%s holds this case until %s.", holder, c.ClaimedUntil),
		map[string]any{"reason": "claimed", "claimed_by": holder, "claimed_until": c.ClaimedUntil, "version": c.Version})
}

// unclaimed is the case as it is when nobody holds it any more.
func unclaimed(c models.Case) models.Case {
	c.ClaimedByID, c.ClaimedUntil = nil, models.Time{}
	return c
}

// decided is the case after an exit: resolved, held, moved to queue ap, or open with a question.
// Deciding claims; only a case that stays with the person stays claimed. values are the checked inputs.
func decided(c models.Case, e Exit, by models.Principal, until models.Date, now models.Time) models.Case {
	c = awake(c)
	c.Version++
	switch e.effect {
	case effectAsk:
		c = lend(c, by, now)
		c.Status, c.HeldUntil = models.CaseOpen, models.Date{}
	case effectHold:
		c = unclaimed(c)
		c.Status, c.HeldUntil = models.CaseHeld, until
	case effectMove:
		c = unclaimed(c)
		c.Status, c.HeldUntil, c.Queue, c.Moved = models.CaseOpen, models.Date{}, models.QueueAP, e.Code
	default:
		c = unclaimed(c)
		c.Status, c.HeldUntil, c.ResolvedAt = models.CaseResolved, models.Date{}, now
	}
	return c
}

// returned is a held case when its day has come: open again, the instruction to wait gone.
func returned(c models.Case) models.Case {
	c = unclaimed(c)
	c.Version++
	c.Status, c.HeldUntil, c.Instruction = models.CaseOpen, models.Date{}, nil
	return c
}
