package approvals

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// JobReopen goes on looking at the unrouted requests of a workspace where a transaction stopped. Its
// subject is the workspace and the last request looked at.
const JobReopen models.JobKind = "requests.reopen"

// settleMoved settles what depends on who is there and who stands in for whom: pending requests that
// nobody can decide any more, and unrouted ones that can be decided again.
func (s *Service) settleMoved(tx *models.Tx) error {
	// What comes of it nobody decided: the grant of votes cast before is the desk's to write down, not that
	// of whoever let somebody in again.
	return asDesk(tx, func() error {
		if err := s.settlePending(tx, ""); err != nil {
			return err
		}
		return s.reopen(tx, "")
	})
}

func (s *Service) reopenMore(tx *models.Tx, job models.Job) error {
	_, after, _ := strings.Cut(job.Subject, "/")
	return s.reopen(tx, after)
}

// routed are the requests of a state that some rule or person was found for, in the order in which they
// were filed. Those without any routing wait for the matrix, and for nothing that people do by being here.
func routed(tx *models.Tx, limit int, status ...models.RequestStatus) ([]models.ApprovalRequest, error) {
	return routedAfter(tx, limit, "", status...)
}

func routedAfter(tx *models.Tx, limit int, after string, status ...models.RequestStatus) ([]models.ApprovalRequest, error) {
	q := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status IN ? AND rule IS NOT NULL AND expires_at > ?", tx.By.WorkspaceID, status, tx.Now).
		Order("created_at, id").Limit(limit)
	if after != "" {
		last, err := takeRequest(tx, "id, created_at", after, "")
		if err != nil {
			return nil, ignoreMissing(err)
		}
		q = q.Where("(created_at > ? OR (created_at = ? AND id > ?))", last.CreatedAt, last.CreatedAt, last.ID)
	}
	var rows []models.ApprovalRequest
	if err := q.Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("approvals: read routed requests: %w", err)
	}
	return rows, nil
}

// reopen makes unrouted requests pending again that can be decided under the routing they have, and
// plans a job for those after the first ones. Nobody decided that: tx.By must be the desk.
func (s *Service) reopen(tx *models.Tx, after string) error {
	rows, err := routedAfter(tx, settleBatch, after, models.RequestUnrouted)
	if err != nil || len(rows) == 0 {
		return err
	}
	facts, members, err := countAll(tx, rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if facts[row.ID].Count(members).Status == models.RequestUnrouted {
			continue
		}
		if err := s.reopenOne(tx, row.ID); err != nil {
			return err
		}
	}
	if len(rows) < settleBatch {
		return nil
	}
	return reschedule(tx, JobReopen, settleSubject(tx.By.WorkspaceID, rows[len(rows)-1].ID), tx.Now)
}

const reopenedNote = "Enough people who may decide the request are there again, so it went back to them by itself."

func (s *Service) reopenOne(tx *models.Tx, id string) error {
	r, err := lockRequest(tx, id)
	if err != nil || statusAt(r, tx.Now) != models.RequestUnrouted {
		return err
	}
	_, _, tally, err := count(tx, r)
	if err != nil || tally.Status == models.RequestUnrouted {
		return err
	}
	calendar, err := tx.Calendar()
	if err != nil {
		return fmt.Errorf("approvals: read calendar: %w", err)
	}
	// As with every routing its time starts anew: meanwhile nobody could use it.
	expires := calendar.AddBusinessDays(tx.Now, requestLife)
	if err := change(tx, &r, map[string]any{"status": models.RequestPending, "reason": "", "version": r.Version + 1, "expires_at": expires}); err != nil {
		return err
	}
	if err := reschedule(tx, JobRequestExpire, r.ID, expires); err != nil {
		return err
	}
	if err := reschedule(tx, JobRequestExpiring, r.ID, warnAt(calendar, tx.Now, expires)); err != nil {
		return err
	}
	err = tx.Audit("request.routed", r.Ref(), map[string]any{"rule": r.RuleID, "rule_version": r.RuleVersion, "required": r.Required, "expires_at": expires, "again": true, "why": reopenedNote})
	if err != nil {
		return err
	}
	if r.UnroutedCaseID != nil {
		if err := s.cases.CloseRouted(tx, *r.UnroutedCaseID, r.ID, exitMatrixFixed, reopenedNote); err != nil {
			return fmt.Errorf("approvals: close case: %w", err)
		}
	}
	// Votes cast before the request lost its deciders still count.
	if _, err := s.settle(tx, &r); err != nil {
		return err
	}
	notify(tx, r)
	return s.tellWaiting(tx, r)
}

// strandedBy counts per delegation, planned or active, the requests that nobody can decide while it is
// active and that could be decided without it, among the first ones that are open.
func strandedBy(tx *models.Tx, delegations []models.Delegation) (map[string]int, error) {
	stranded := map[string]int{}
	if !slices.ContainsFunc(delegations, func(d models.Delegation) bool { return d.ToID != nil }) {
		return stranded, nil
	}
	rows, err := routed(tx, maxMoved, models.RequestPending, models.RequestUnrouted)
	if err != nil || len(rows) == 0 {
		return stranded, err
	}
	facts, members, err := countAll(tx, rows)
	if err != nil {
		return nil, err
	}
	for _, d := range delegations {
		if d.ToID == nil {
			continue
		}
		only, err := standInsBy(tx, []models.Delegation{d})
		if err != nil {
			return nil, err
		}
		all := membersWith(members, only.members)
		for _, r := range rows {
			f := facts[r.ID]
			without := f
			without.Substitutes = slices.DeleteFunc(slices.Clone(f.Substitutes), func(s Substitute) bool { return s.ID == d.ID })
			bears, err := only.on(r, f)
			if err != nil {
				return nil, err
			}
			if len(bears) == 0 {
				continue
			}
			with := without
			with.Substitutes = slices.Concat(without.Substitutes, bears)
			if with.Count(all).Status == models.RequestUnrouted && without.Count(all).Status != models.RequestUnrouted {
				stranded[d.ID]++
			}
		}
	}
	return stranded, nil
}

// membersWith adds members that are not among the others.
func membersWith(members []models.Member, more map[string]models.Member) []models.Member {
	all := slices.Clone(members)
	for _, id := range slices.Sorted(maps.Keys(more)) {
		if !slices.ContainsFunc(members, func(m models.Member) bool { return m.User.ID == id }) {
			all = append(all, more[id])
		}
	}
	return all
}
