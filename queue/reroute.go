package queue

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// RerouteInput moves a case to another queue.
type RerouteInput struct {
	CaseID  string
	To      models.Queue
	Reason  string
	Version int64
}

// Reroute moves an open case to another queue, whose time for it begins now; nobody holds it there, and
// what the agent was told stays. Who works the queue may, unless somebody else holds the case; AP leads
// may from every queue, and there like everybody not while somebody else holds it, but in the queues
// where they take over. It fails with CONFLICT when somebody else holds the case, when it is held or
// resolved, or no longer at the version seen; VALIDATION_ERROR on /to, /reason or /version;
// insufficient_permission; NOT_FOUND.
func (s *Service) Reroute(ctx context.Context, by models.Principal, in RerouteInput) (CaseView, error) {
	return s.actIn(ctx, by, in.CaseID, "case.reroute_refused", func(tx *models.Tx) error { return s.rerouteIn(tx, in) })
}

func (s *Service) rerouteIn(tx *models.Tx, in RerouteInput) error {
	c, err := openCase(tx, in.CaseID, in.Version)
	if err != nil {
		return err
	}
	if err := tx.By.NeedRole(append(slices.Clone(c.Queue.Roles()), models.RoleAPLead)...); err != nil {
		return err
	}
	holder, err := holderName(tx, c)
	if err != nil {
		return err
	}
	if held := c.ClaimedAt(tx.Now); held != "" && held != tx.By.UserID && !mayTakeOver(tx.By, c.Queue) {
		return heldByOther(c, holder)
	}
	d, err := s.deskFor(tx, c.Code)
	if err != nil {
		return err
	}
	var issues []models.Issue
	if why := whyNotTo(c, in.To, d.home); why != "" {
		issues = append(issues, models.Issue{Path: "/to", Message: why})
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	if reason == "" {
		issues = append(issues, models.Issue{Path: "/reason", Message: "must say why"})
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	next := rerouted(c, in.To)
	next.DueAt = d.due(tx.Now, in.To)
	if err := replace(tx, c, next); err != nil {
		return err
	}
	if err := disturb(tx, c, wakePerson); err != nil {
		return err
	}
	return tx.Audit("case.rerouted", requestRef(tx, c), map[string]any{"from_queue": c.Queue, "queue": in.To, "reason": reason, "version": next.Version, "due_at": next.DueAt})
}

// rerouted is the case in another queue: in its list, and free.
func rerouted(c models.Case, to models.Queue) models.Case {
	c = awake(unclaimed(c))
	c.Version++
	c.Queue = to
	return c
}

// whyNotTo says why a case cannot go to a queue, "" when it can. The exits of a case belong to its code
// and go with it; who may choose them is a matter of the queue. So a case goes only where everybody who
// works there may choose every exit it has, and see what they must see for it:
//
//   - exits that give or find authority to decide about money are the AP lead's: APPROVER_NOT_FOUND stays
//     in queue ap_lead;
//   - the period is the finance lead's: PERIOD_CLOSED stays in queue finance;
//   - a supplier is judged by tax and bank data: SUPPLIER_NOT_FOUND goes to master_data and finance, whose
//     people see it;
//   - a case about an approval request itself, with its questions or its review, stays where it is.
//
// The queue to which the workspace itself sends the code is always allowed.
func whyNotTo(c models.Case, to, home models.Queue) string {
	switch {
	case !to.Valid():
		return "must be ap, ap_lead, procurement, finance or master_data"
	case to == c.Queue:
		return "is the queue the case is in"
	case aboutRequest(c):
		return "cannot be changed: the case is about an approval request and stays where it is"
	case to == home && c.Code != "":
		return ""
	}
	for _, role := range rolesFor(c) {
		if !onlyFor(to, role...) {
			return "is no queue whose people may choose every exit of this case"
		}
	}
	return ""
}

// rolesFor lists, for each thing a case's exits need, the roles that have it.
func rolesFor(c models.Case) [][]models.Role {
	var out [][]models.Role
	for _, e := range Exits(c.Code, c.Reason, c.Moved) {
		switch e.effect {
		case effectPeriod:
			out = append(out, []models.Role{models.RoleFinanceLead})
		case effectName, effectRoute:
			out = append(out, []models.Role{models.RoleAPLead})
		case effectRecheckPair, effectFraud:
			out = append(out, []models.Role{models.RoleMasterData, models.RoleFinanceLead})
		}
	}
	return out
}

// onlyFor says whether everybody who works a queue has one of the roles.
func onlyFor(q models.Queue, roles ...models.Role) bool {
	return !slices.ContainsFunc(q.Roles(), func(r models.Role) bool { return !slices.Contains(roles, r) })
}

// aboutRequest says whether a case was opened for an approval request: for questions about it, or to
// review an approval whose giver left.
func aboutRequest(c models.Case) bool {
	return slices.ContainsFunc(marksIn(c.Marks), func(m Mark) bool { return m.Kind == MarkQuestions || m.Kind == MarkReview })
}

// RerouteView is where a case can go from here, and how it came.
type RerouteView struct {
	To   []models.Queue // empty: the reader cannot reroute it
	From *Rerouted      // the last time somebody rerouted it; nil when nobody did
}

// Rerouted is one time somebody moved a case to another queue.
type Rerouted struct {
	By     string
	From   models.Queue
	Reason string
	At     models.Time
}

func (s *Service) rerouteOf(tx *models.Tx, c models.Case, timeline []models.AuditEvent) (RerouteView, error) {
	var v RerouteView
	if i := slices.IndexFunc(timeline, func(e models.AuditEvent) bool { return e.Action == "case.rerouted" }); i >= 0 && c.Status != models.CaseResolved {
		var d struct {
			From   models.Queue `json:"from_queue"`
			To     models.Queue `json:"queue"`
			Reason string       `json:"reason"`
		}
		if err := json.Unmarshal([]byte(timeline[i].Data), &d); err == nil && d.To == c.Queue {
			v.From = &Rerouted{By: timeline[i].ActorName, From: d.From, Reason: strings.TrimSpace(d.Reason), At: timeline[i].At}
		}
	}
	holder := c.ClaimedAt(tx.Now)
	if !tx.By.IsPerson() || c.Status != models.CaseOpen || !works(tx.By, c.Queue) && !tx.By.Has(models.RoleAPLead) ||
		holder != "" && holder != tx.By.UserID && !mayTakeOver(tx.By, c.Queue) {
		return v, nil
	}
	d, err := s.deskFor(tx, c.Code)
	if err != nil {
		return v, err
	}
	for _, q := range models.Queues() {
		if whyNotTo(c, q, d.home) == "" {
			v.To = append(v.To, q)
		}
	}
	return v, nil
}
