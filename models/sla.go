package models

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"gorm.io/gorm/clause"
)

// SLA is how long a queue has for a case that arrives in it, in business hours of its workspace.
type SLA struct {
	Hours    int  // until a case is due, 1 to MostSLAHours
	DueSoon  int  // before it is due it counts as due soon, 0 to Hours
	Escalate bool // a case that is overdue is brought before the AP leads and who works the queue
}

// MostSLAHours bounds the hours of an SLA.
const MostSLAHours = 400

const dueSoonHours = 2

// DefaultSLA is the desk's own figure for a queue, as long as its workspace states none.
func DefaultSLA(q Queue) SLA {
	switch q {
	case QueueProcurement, QueueMasterData:
		return SLA{Hours: 16, DueSoon: dueSoonHours, Escalate: true}
	}
	return SLA{Hours: 8, DueSoon: dueSoonHours, Escalate: true}
}

// WorkHours are the opening hours of a workspace and the SLA of every queue.
type WorkHours struct {
	Opening OpeningHours
	SLAs    map[Queue]SLA
}

// SLA is that of a queue.
func (w WorkHours) SLA(q Queue) SLA {
	if s, ok := w.SLAs[q]; ok {
		return s
	}
	return DefaultSLA(q)
}

// Mark is one text for equal hours, by which a form tells whether they changed since it was shown.
func (w WorkHours) Mark() string {
	var b strings.Builder
	b.WriteString(w.Opening.String())
	for _, q := range Queues() {
		s := w.SLA(q)
		fmt.Fprintf(&b, " %s %d %d %t", q, s.Hours, s.DueSoon, s.Escalate)
	}
	return b.String()
}

// Check fails with VALIDATION_ERROR for hours that cannot be, as SetWorkHours does.
func (w WorkHours) Check() error {
	if issues := w.check(); len(issues) > 0 {
		return Invalid(issues...)
	}
	return nil
}

// check says what is wrong with hours, by JSON Pointer.
func (w WorkHours) check() []Issue {
	var issues []Issue
	switch o := w.Opening; {
	case o.Opens < 0 || o.Opens >= minutesOfADay:
		issues = append(issues, Issue{"/opens_at", "must be a time of day such as 09:00"})
	case o.Closes > minutesOfADay || o.Closes < 0:
		issues = append(issues, Issue{"/closes_at", "must be a time of day such as 17:00"})
	case !o.valid():
		issues = append(issues, Issue{"/closes_at", "must be at least an hour after opening"})
	}
	for _, q := range Queues() {
		s := w.SLA(q)
		if s.Hours < 1 || s.Hours > MostSLAHours {
			issues = append(issues, Issue{"/hours/" + string(q), fmt.Sprintf("must be 1 to %d business hours", MostSLAHours)})
		} else if s.DueSoon < 0 || s.DueSoon > s.Hours {
			issues = append(issues, Issue{"/due_soon/" + string(q), "must be 0 or more and not more than the time until it is due"})
		}
	}
	return issues
}

type slaSetting struct {
	WorkspaceID  string `gorm:"primaryKey"`
	Queue        Queue  `gorm:"primaryKey"`
	Hours        int
	DueSoonHours int
	Escalate     bool
}

func (slaSetting) TableName() string { return "sla_settings" }

// WorkHours reads the hours of the workspace acted in.
func (tx *Tx) WorkHours() (WorkHours, error) {
	w, err := tx.Workspace()
	if err != nil {
		return WorkHours{}, err
	}
	out := WorkHours{Opening: w.Opening(), SLAs: map[Queue]SLA{}}
	for _, q := range Queues() {
		out.SLAs[q] = DefaultSLA(q)
	}
	var rows []slaSetting
	if err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Find(&rows).Error; err != nil {
		return WorkHours{}, err
	}
	for _, r := range rows {
		out.SLAs[r.Queue] = SLA{Hours: r.Hours, DueSoon: r.DueSoonHours, Escalate: r.Escalate}
	}
	return out, nil
}

// Opening are the workspace's opening hours; what cannot be read counts as the default.
func (w Workspace) Opening() OpeningHours { return ReadOpeningHours(w.OpensAt, w.ClosesAt) }

// ReadOpeningHours reads hours as they are stored; what cannot be read counts as the default.
func ReadOpeningHours(opens, closes string) OpeningHours {
	from, err := ParseDayTime(opens)
	if err != nil {
		return DefaultOpeningHours
	}
	to, err := ParseDayTime(closes)
	if h := (OpeningHours{Opens: from, Closes: to}); err == nil && h.valid() {
		return h
	}
	return DefaultOpeningHours
}

// SetWorkHours changes the opening hours and SLAs of the workspace acted in. AP leads and admins may. A
// case that is there keeps the time it is due. seen is the mark of the hours that were changed, empty
// when it does not matter: it fails with CONFLICT when somebody changed them since, and with
// VALIDATION_ERROR on /opens_at, /closes_at, /hours/<queue> or /due_soon/<queue>.
func (tx *Tx) SetWorkHours(change func(WorkHours) WorkHours, seen string) error {
	if err := tx.By.needEditor(RoleAdmin, RoleAPLead); err != nil {
		return err
	}
	var locked Workspace
	if err := tx.Lock().Where("id = ?", tx.By.WorkspaceID).Take(&locked).Error; err != nil {
		return err
	}
	before, err := tx.WorkHours()
	if err != nil {
		return err
	}
	if seen != "" && seen != before.Mark() {
		return E(Conflict, "Somebody changed the hours since you opened this page. Look at them again before you save.", map[string]any{"reason": "stale"})
	}
	after := change(WorkHours{Opening: before.Opening, SLAs: maps.Clone(before.SLAs)})
	if err := after.Check(); err != nil {
		return err
	}
	if after.Opening != before.Opening {
		err := tx.DB.Model(&Workspace{}).Where("id = ?", tx.By.WorkspaceID).
			Updates(map[string]any{"opens_at": after.Opening.Opens.String(), "closes_at": after.Opening.Closes.String()}).Error
		if err != nil {
			return err
		}
		err = tx.Audit("hours.changed", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"before": before.Opening.String(), "after": after.Opening.String()})
		if err != nil {
			return err
		}
	}
	for _, q := range Queues() {
		was, is := before.SLA(q), after.SLA(q)
		if was == is {
			continue
		}
		row := slaSetting{WorkspaceID: tx.By.WorkspaceID, Queue: q, Hours: is.Hours, DueSoonHours: is.DueSoon, Escalate: is.Escalate}
		err := tx.DB.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "workspace_id"}, {Name: "queue"}},
			DoUpdates: clause.AssignmentColumns([]string{"hours", "due_soon_hours", "escalate"})}).Create(&row).Error
		if err != nil {
			return err
		}
		if err := tx.Audit("sla.changed", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"queue": q, "before": was.String(), "after": is.String()}); err != nil {
			return err
		}
	}
	return nil
}

// String is the SLA in words.
func (s SLA) String() string {
	words := fmt.Sprintf("%d business hours, due soon %d before", s.Hours, s.DueSoon)
	if s.Escalate {
		return words + ", overdue ones escalated"
	}
	return words + ", never escalated"
}

// Due is when a case that arrives in a queue now is to be decided.
func (w WorkHours) Due(c Calendar, now Time, q Queue) Time {
	return c.AddBusinessHours(now, time.Duration(w.SLA(q).Hours)*time.Hour)
}

// SoonUntil is up to when a case of the queue must be due to count as due soon.
func (w WorkHours) SoonUntil(c Calendar, now Time, q Queue) Time {
	return c.AddBusinessHours(now, time.Duration(w.SLA(q).DueSoon)*time.Hour)
}
