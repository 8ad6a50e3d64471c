package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// The jobs of delegations; the subject is the delegation's id.
const (
	JobDelegationStart models.JobKind = "delegation.start"
	JobDelegationEnd   models.JobKind = "delegation.end"
)

// maxDelegated is the longest delegation, in days.
const maxDelegated = 366

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
	// Stranded counts the requests that nobody can decide while it is active, and could without it.
	Stranded int
	Reach    Reach // of a delegation that has not ended
}

// stateOf says where a delegation stands at a moment.
func stateOf(d models.Delegation, now models.Time) string {
	switch {
	case d.ActiveAt(now):
		return DelegationActive
	case d.EndedAt.IsZero() && now.Before(d.StartsAt.Time):
		return DelegationPlanned
	}
	return DelegationEnded
}

// span is when a delegation holds: from the start of its first day to the end of its last one, both in
// the zone of the person who is away. A day whose midnight the clock skips starts when the clock goes on.
func span(first, last models.Date, zone *time.Location) (starts, ends models.Time) {
	return first.StartIn(zone), last.AddDays(1).StartIn(zone)
}

// checkDays says what is wrong with the days of a delegation; today is that of the person who is away.
func checkDays(first, last, today models.Date) []models.Issue {
	switch {
	case first.IsZero():
		return []models.Issue{{Path: "/first_day", Message: "is required: the first day away"}}
	case last.IsZero():
		return []models.Issue{{Path: "/last_day", Message: "is required: the last day away"}}
	case today.After(first):
		return []models.Issue{{Path: "/first_day", Message: fmt.Sprintf("must not lie in the past; today is %s", inWords(today))}}
	case first.After(last):
		return []models.Issue{{Path: "/last_day", Message: "must not lie before the first day"}}
	case last.After(first.AddDays(maxDelegated - 1)):
		return []models.Issue{{Path: "/last_day", Message: fmt.Sprintf("must lie within %d days of the first day", maxDelegated)}}
	}
	return nil
}

// meet says whether two delegations hold at the same time for the same type of document.
func meet(a, b models.Delegation) bool {
	sameType := a.DocumentType == "" || b.DocumentType == "" || a.DocumentType == b.DocumentType
	return sameType && a.EndedAt.IsZero() && b.EndedAt.IsZero() && a.StartsAt.Before(b.EndsAt.Time) && b.StartsAt.Before(a.EndsAt.Time)
}

// clash says why a new delegation cannot stand beside those there are: somebody delegates once at a
// time, and never through a third person or in a circle.
func clash(n models.Delegation, others []models.Delegation) []models.Issue {
	issue := func(path, format string, args ...any) []models.Issue {
		return []models.Issue{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	days := func(d models.Delegation) string { return inWords(d.FirstDay) + " to " + inWords(d.LastDay) }
	for _, o := range others {
		if !meet(n, o) {
			continue
		}
		switch {
		case o.FromID == n.FromID:
			return issue("/first_day", "%s is away from %s already; end that first or choose other days", n.FromName, days(o))
		case n.ToID != nil && o.ToID != nil && o.FromID == *n.ToID && *o.ToID == n.FromID:
			return issue("/delegate", "%s delegated to %s from %s; the two would decide for one another", o.FromName, n.FromName, days(o))
		case n.ToID != nil && o.FromID == *n.ToID:
			return issue("/delegate", "%s is away from %s; name somebody who is there", o.FromName, days(o))
		case n.ToID != nil && o.ToID != nil && *o.ToID == n.FromID:
			return issue("/delegate", "%s decides for %s from %s, and what was delegated cannot be delegated on", n.FromName, o.FromName, days(o))
		}
	}
	return nil
}

// Delegate records an absence and who decides meanwhile. People set their own; an AP lead sets that of
// a colleague, and cannot name themself. Fails with VALIDATION_ERROR on /person, /delegate, /first_day,
// /last_day, /document_type or /note, and with insufficient_permission. That requests which wait would be
// left without anybody is no refusal; the answer counts them. A delegate who has no limit of their own for
// anything the person decides is refused; one who has it for a part is not, and the answer says so.
func (s *Service) Delegate(ctx context.Context, by models.Principal, n NewDelegation) (DelegationView, error) {
	if err := by.NeedPerson(); err != nil {
		return DelegationView{}, err
	}
	note, why := models.FreeText(n.Note, 1000)
	kind, whyNot := models.FreeLine(n.DocumentType, 200)
	n.Note, n.DocumentType = note, kind
	var issues []models.Issue
	if why != "" {
		issues = append(issues, models.Issue{Path: "/note", Message: why})
	}
	if whyNot != "" {
		issues = append(issues, models.Issue{Path: "/document_type", Message: whyNot})
	}
	if len(issues) > 0 {
		return DelegationView{}, models.Invalid(issues...)
	}
	var made DelegationView
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		d, err := s.delegate(tx, n)
		if err != nil {
			return err
		}
		stranded, err := strandedBy(tx, []models.Delegation{d})
		if err != nil {
			return err
		}
		reach, err := reachOf(tx, []models.Delegation{d})
		made = DelegationView{Delegation: d, State: stateOf(d, tx.Now), CanEnd: mayEnd(by, d), Stranded: stranded[d.ID], Reach: reach[d.ID]}
		return err
	})
	return made, err
}

func (s *Service) delegate(tx *models.Tx, n NewDelegation) (models.Delegation, error) {
	// Two delegations that would make a chain must see one another.
	if err := tx.LockName("delegations:" + tx.By.WorkspaceID); err != nil {
		return models.Delegation{}, fmt.Errorf("approvals: lock delegations: %w", err)
	}
	person, err := absentOf(tx, n)
	if err != nil {
		return models.Delegation{}, err
	}
	zone, err := zoneOf(tx, person.User)
	if err != nil {
		return models.Delegation{}, err
	}
	issues := checkDays(n.FirstDay, n.LastDay, models.DateOf(tx.Now, zone))
	d := models.Delegation{ID: tx.NewID(models.PrefixDelegation), WorkspaceID: tx.By.WorkspaceID, FromID: person.User.ID, FromName: person.User.Name,
		DocumentType: n.DocumentType, FirstDay: n.FirstDay, LastDay: n.LastDay, TimeZone: zone.String(), Note: n.Note,
		CreatedByID: &tx.By.UserID, CreatedByName: tx.By.UserName, CreatedAt: tx.Now}
	var delegate models.Member
	if n.DelegateEmail != "" {
		m, problem, err := delegateOf(tx, n.DelegateEmail, person)
		if err != nil {
			return d, err
		}
		delegate = m
		if problem != "" {
			issues = append(issues, models.Issue{Path: "/delegate", Message: problem})
		} else {
			d.ToID, d.ToName = &m.User.ID, m.User.Name
		}
	}
	if len(issues) > 0 {
		return d, models.Invalid(issues...)
	}
	d.StartsAt, d.EndsAt = span(n.FirstDay, n.LastDay, zone)
	var others []models.Delegation
	err = tx.DB.Where("workspace_id = ? AND ends_at > ? AND ended_at IS NULL", tx.By.WorkspaceID, tx.Now).Order("starts_at, id").Find(&others).Error
	if err != nil {
		return d, fmt.Errorf("approvals: read delegations: %w", err)
	}
	if issues := clash(d, others); len(issues) > 0 {
		return d, models.Invalid(issues...)
	}
	if d.ToID != nil {
		problem, err := coversNothing(tx, person, delegate, n.DocumentType)
		if err != nil {
			return d, err
		}
		if problem != "" {
			return d, models.Invalid(models.Issue{Path: "/delegate", Message: problem})
		}
	}
	if err := tx.DB.Create(&d).Error; err != nil {
		return d, fmt.Errorf("approvals: write delegation: %w", err)
	}
	if err := tx.Audit("delegation.set", refOf(d), trailOf(d)); err != nil {
		return d, err
	}
	if err := tell(tx, NoticeDelegationSet, d.ID, dataOf(d), concernedBy(d)...); err != nil {
		return d, err
	}
	if err := reschedule(tx, JobDelegationEnd, d.ID, d.EndsAt); err != nil {
		return d, err
	}
	if !d.ActiveAt(tx.Now) {
		return d, reschedule(tx, JobDelegationStart, d.ID, d.StartsAt)
	}
	return d, asDesk(tx, func() error { return s.begun(tx, d) })
}

// absentOf finds who is away.
func absentOf(tx *models.Tx, n NewDelegation) (models.Member, error) {
	by := tx.By
	email := strings.TrimSpace(n.PersonEmail)
	if email == "" || strings.EqualFold(email, by.Email) {
		mine, err := tx.Members("", by.UserID)
		if err != nil {
			return models.Member{}, fmt.Errorf("approvals: read member: %w", err)
		}
		if len(mine) == 0 {
			return models.Member{}, models.E(models.InsufficientPermission, "You are no active member of this workspace.", map[string]any{"permission": "membership", "workspace_id": by.WorkspaceID})
		}
		return mine[0], nil
	}
	if !by.Has(models.RoleAPLead) {
		return models.Member{}, models.E(models.InsufficientPermission, "You can delegate for yourself only; an AP lead can do it for a colleague who is away.",
			map[string]any{"permission": string(models.RoleAPLead), "workspace_id": by.WorkspaceID})
	}
	m, err := memberByEmail(tx, email)
	if errors.Is(err, models.ErrNoRow) {
		return m, models.Invalid(models.Issue{Path: "/person", Message: "names no active person of this workspace; give the e-mail of one"})
	}
	return m, err
}

// delegateOf finds who decides in somebody's place, or says why they cannot.
func delegateOf(tx *models.Tx, email string, person models.Member) (m models.Member, problem string, err error) {
	m, err = memberByEmail(tx, strings.TrimSpace(email))
	switch {
	case errors.Is(err, models.ErrNoRow):
		return m, "names no active person of this workspace; give the e-mail of one", nil
	case err != nil:
		return m, "", err
	case m.User.ID == person.User.ID:
		return m, "must be somebody else than who is away", nil
	case m.User.ID == tx.By.UserID:
		return m, "must be somebody else: nobody names themself to decide for a colleague", nil
	case !m.Has(deciders...):
		return m, fmt.Sprintf("must hold a role that decides; %s has none here", m.User.Name), nil
	}
	return m, "", nil
}

// zoneOf is a person's time zone, else the workspace's.
func zoneOf(tx *models.Tx, u models.User) (*time.Location, error) {
	if u.TimeZone != "" {
		if zone, err := time.LoadLocation(u.TimeZone); err == nil {
			return zone, nil
		}
	}
	w, err := tx.Workspace()
	if err != nil {
		return nil, fmt.Errorf("approvals: read workspace: %w", err)
	}
	return w.Zone(), nil
}

func refOf(d models.Delegation) models.Ref { return models.Ref{Subject: d.ID} }

func trailOf(d models.Delegation) map[string]any {
	data := dataOf(d)
	data["from_id"], data["to_id"], data["note"], data["starts_at"], data["ends_at"], data["time_zone"] = d.FromID, d.ToID, d.Note, d.StartsAt, d.EndsAt, d.TimeZone
	return data
}

func dataOf(d models.Delegation) map[string]any {
	return map[string]any{"from": d.FromName, "to": d.ToName, "document_type": d.DocumentType, "first_day": d.FirstDay, "last_day": d.LastDay, "set_by": d.CreatedByName}
}

// concernedBy lists who is told about a delegation.
func concernedBy(d models.Delegation) []string {
	if d.ToID == nil {
		return []string{d.FromID}
	}
	return []string{d.FromID, *d.ToID}
}

// EndDelegation ends a delegation before its time, or calls off a planned one: what waits with the
// delegate comes back, and votes cast stay. The person may, who set it, and an AP lead. CONFLICT when it
// ended already; NOT_FOUND.
func (s *Service) EndDelegation(ctx context.Context, by models.Principal, id string) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		d, err := lockDelegation(tx, id)
		if err != nil {
			return err
		}
		if !mayEnd(by, d) {
			return models.E(models.InsufficientPermission, "Only the person who is away, who set this, or an AP lead can end it.", map[string]any{"permission": string(models.RoleAPLead), "workspace_id": by.WorkspaceID})
		}
		if stateOf(d, tx.Now) == DelegationEnded {
			return models.E(models.Conflict, "This delegation ended already.", map[string]any{"delegation_id": d.ID})
		}
		return s.end(tx, d, "")
	})
}

func mayEnd(by models.Principal, d models.Delegation) bool {
	return by.IsPerson() && (d.FromID == by.UserID || (d.CreatedByID != nil && *d.CreatedByID == by.UserID) || by.Has(models.RoleAPLead))
}

func lockDelegation(tx *models.Tx, id string) (models.Delegation, error) {
	var d models.Delegation
	err := tx.Lock().Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID).Take(&d).Error
	if errors.Is(err, models.ErrNoRow) {
		return d, models.Missing("delegation", clip(id, 80))
	}
	if err != nil {
		return d, fmt.Errorf("approvals: read delegation: %w", err)
	}
	return d, nil
}

// end ends a delegation now, by whoever acts.
func (s *Service) end(tx *models.Tx, d models.Delegation, why string) error {
	wasActive := d.ActiveAt(tx.Now)
	d.EndedAt, d.EndedBy = tx.Now, tx.By.UserName
	err := tx.DB.Model(&models.Delegation{}).Where("id = ? AND workspace_id = ?", d.ID, d.WorkspaceID).Updates(map[string]any{"ended_at": d.EndedAt, "ended_by": d.EndedBy}).Error
	if err != nil {
		return fmt.Errorf("approvals: end delegation: %w", err)
	}
	if err := unschedule(tx, d.ID, JobDelegationStart, JobDelegationEnd); err != nil {
		return err
	}
	data := trailOf(d)
	data["early"] = true
	if why != "" {
		data["why"] = why
	}
	if err := tx.Audit("delegation.ended", refOf(d), data); err != nil {
		return err
	}
	notice := dataOf(d)
	notice["by"] = d.EndedBy
	if err := tell(tx, NoticeDelegationEnded, d.ID, notice, concernedBy(d)...); err != nil || !wasActive {
		return err
	}
	tx.Notify(models.TopicApprovals(d.WorkspaceID))
	return s.settleMoved(tx)
}

// begun says that a delegation is active from now on, and settles what it moves.
func (s *Service) begun(tx *models.Tx, d models.Delegation) error {
	moved, err := movedBy(tx, []models.Delegation{d})
	if err != nil {
		return err
	}
	data := trailOf(d)
	data["moved"] = moved[d.ID]
	if err := tx.Audit("delegation.started", refOf(d), data); err != nil {
		return err
	}
	notice := dataOf(d)
	notice["moved"] = moved[d.ID]
	if err := tell(tx, NoticeDelegationStarted, d.ID, notice, concernedBy(d)...); err != nil {
		return err
	}
	tx.Notify(models.TopicApprovals(d.WorkspaceID))
	return s.settleMoved(tx)
}

// startDelegation is the job of a delegation's first day.
func (s *Service) startDelegation(tx *models.Tx, job models.Job) error {
	d, err := lockDelegation(tx, job.Subject)
	if err != nil {
		return ignoreMissing(err)
	}
	if !d.ActiveAt(tx.Now) {
		return nil
	}
	return s.begun(tx, d)
}

// finishDelegation is the job of the midnight after a delegation's last day.
func (s *Service) finishDelegation(tx *models.Tx, job models.Job) error {
	d, err := lockDelegation(tx, job.Subject)
	if err != nil {
		return ignoreMissing(err)
	}
	if !d.EndedAt.IsZero() || tx.Now.Before(d.EndsAt.Time) {
		return nil
	}
	if err := tx.Audit("delegation.ended", refOf(d), trailOf(d)); err != nil {
		return err
	}
	if err := tell(tx, NoticeDelegationEnded, d.ID, dataOf(d), concernedBy(d)...); err != nil {
		return err
	}
	tx.Notify(models.TopicApprovals(d.WorkspaceID))
	return s.settleMoved(tx)
}

// endDelegationsOf ends the delegations from and to people who are no active members any more.
func (s *Service) endDelegationsOf(tx *models.Tx, userIDs []string) error {
	q := tx.Lock().Where("workspace_id = ? AND ends_at > ? AND ended_at IS NULL", tx.By.WorkspaceID, tx.Now)
	if len(userIDs) > 0 {
		q = q.Where("(from_id IN ? OR to_id IN ?)", userIDs, userIDs)
	}
	var list []models.Delegation
	if err := q.Order("id").Find(&list).Error; err != nil {
		return fmt.Errorf("approvals: read delegations: %w", err)
	}
	if len(list) == 0 {
		return nil
	}
	var ids []string
	for _, d := range list {
		ids = append(ids, concernedBy(d)...)
	}
	members, err := tx.Members(ids...)
	if err != nil {
		return fmt.Errorf("approvals: read members: %w", err)
	}
	for _, d := range list {
		for _, id := range concernedBy(d) {
			if slices.ContainsFunc(members, func(m models.Member) bool { return m.User.ID == id }) {
				continue
			}
			if err := s.end(tx, d, "somebody left the workspace"); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// maxMoved bounds how many requests movedBy looks at.
const maxMoved = 1000

// movedBy counts per delegation the requests that wait with the delegate through it now, among those
// that lapse first.
func movedBy(tx *models.Tx, delegations []models.Delegation) (map[string]int, error) {
	moved := map[string]int{}
	var from []string
	for _, d := range delegations {
		if d.ToID != nil && d.ActiveAt(tx.Now) {
			from = append(from, d.FromID)
		}
	}
	if len(from) == 0 {
		return moved, nil
	}
	members, err := tx.Members(from...)
	if err != nil {
		return nil, fmt.Errorf("approvals: read members: %w", err)
	}
	rules := tx.DB.Session(&gorm.Session{NewDB: true})
	named := rules.Where("approval_requests.named_id IN ?", from)
	for _, m := range members {
		named = named.Or("r.role IN ? OR r.then_role IN ?", m.Roles, m.Roles).Or("r.people LIKE ? OR r.then_people LIKE ?", `%"`+m.User.ID+`"%`, `%"`+m.User.ID+`"%`)
	}
	rule := rules.Table("rules r").Select("1").Where("r.id = approval_requests.rule_id AND r.version = approval_requests.rule_version").Where(named)
	var rows []models.ApprovalRequest
	err = tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status = ? AND expires_at > ?", tx.By.WorkspaceID, models.RequestPending, tx.Now).
		Where("EXISTS (?)", rule).Order("expires_at, id").Limit(maxMoved).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read pending requests: %w", err)
	}
	facts, all, err := countAll(tx, rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		seen := map[string]bool{}
		for _, seat := range facts[r.ID].board(all).seats {
			if seat.by != nil && !seen[seat.by.ID] {
				seen[seat.by.ID] = true
				moved[seat.by.ID]++
			}
		}
	}
	return moved, nil
}

// maxDelegations bounds how many delegations a page shows.
const maxDelegations = 200

// Delegations lists the delegations of the workspace, for its people: those planned and active, by
// their start, or those that ended, the last ones first.
func (s *Service) Delegations(ctx context.Context, by models.Principal, ended bool) ([]DelegationView, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var views []DelegationView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		q := tx.DB.Where("workspace_id = ?", by.WorkspaceID).Limit(maxDelegations)
		if ended {
			q = q.Where("(ends_at <= ? OR ended_at IS NOT NULL)", tx.Now).Order("ends_at DESC, id DESC")
		} else {
			q = q.Where("ends_at > ? AND ended_at IS NULL", tx.Now).Order("starts_at, id")
		}
		var rows []models.Delegation
		if err := q.Find(&rows).Error; err != nil {
			return fmt.Errorf("approvals: read delegations: %w", err)
		}
		moved, err := movedBy(tx, rows)
		if err != nil {
			return err
		}
		stranded, reach := map[string]int{}, map[string]Reach{}
		if !ended {
			if stranded, err = strandedBy(tx, rows); err != nil {
				return err
			}
			if reach, err = reachOf(tx, rows); err != nil {
				return err
			}
		}
		views = make([]DelegationView, len(rows))
		for i, d := range rows {
			state := stateOf(d, tx.Now)
			views[i] = DelegationView{Delegation: d, State: state, CanEnd: state != DelegationEnded && mayEnd(by, d), Moved: moved[d.ID], Stranded: stranded[d.ID], Reach: reach[d.ID]}
		}
		return nil
	})
	return views, err
}
