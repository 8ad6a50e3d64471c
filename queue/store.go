package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// peopleRoles are the roles of people; whoever holds one may read every case of the workspace.
var peopleRoles = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead,
	models.RoleMasterData, models.RoleAuditor, models.RoleAdmin}

// readsAll says whether by reads every record of the workspace, not only what it filed itself.
func readsAll(by models.Principal) bool {
	return by.Channel == models.ChannelSystem || by.Has(peopleRoles...)
}

// lockCase reads a case of the workspace and keeps others from changing it until tx ends. It fails
// with NOT_FOUND.
func lockCase(tx *models.Tx, id string) (models.Case, error) {
	var c models.Case
	err := tx.Lock().Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID).Take(&c).Error
	if errors.Is(err, models.ErrNoRow) {
		return c, models.Missing("case", clipID(id))
	}
	return c, err
}

// replace writes what may change of a case, only if it is still as it was when locked, and wakes who
// waits for or looks at it.
func replace(tx *models.Tx, before, after models.Case) error {
	tx.Notify(models.TopicCase(after.ID), models.TopicQueues(after.WorkspaceID))
	return rewrite(tx, before, after)
}

// rewrite is replace without waking anybody, for what nobody sees. A case with another time to be due
// has not been escalated for it yet.
func rewrite(tx *models.Tx, before, after models.Case) error {
	if !after.DueAt.Equal(before.DueAt.Time) {
		after.EscalatedAt = models.Time{}
	}
	res := tx.DB.Exec(`UPDATE cases SET status = ?, queue = ?, version = ?, marks = ?, moved = ?, handover_count = ?, claimed_by_id = ?, claimed_until = ?,
		due_at = ?, held_until = ?, snoozed_until = ?, snoozed_by = ?, snooze_reason = ?, escalated_at = ?, instruction = ?, updated_at = ?, resolved_at = ? WHERE id = ? AND workspace_id = ? AND version = ? AND status = ?`,
		after.Status, after.Queue, after.Version, after.Marks, after.Moved, after.HandoverCount, after.ClaimedByID, after.ClaimedUntil,
		after.DueAt, after.HeldUntil, after.SnoozedUntil, after.SnoozedBy, after.SnoozeReason, after.EscalatedAt, after.Instruction, tx.Now, after.ResolvedAt, before.ID, before.WorkspaceID, before.Version, before.Status)
	if res.Error != nil {
		return res.Error
	}
	if res.RowsAffected == 0 {
		return models.E(models.Conflict, "The case changed at the same moment. Look at it again.", map[string]any{"reason": "stale", "version": before.Version})
	}
	return follow(tx, before, after)
}

// filedBy says whether a principal handed this case over, alone or as one of several.
func filedBy(tx *models.Tx, c models.Case) (bool, error) {
	if tx.By.UserID == "" {
		return false, nil
	}
	if c.AgentID != nil && *c.AgentID == tx.By.UserID {
		return true, nil
	}
	var n int64
	err := tx.DB.Model(&models.Handover{}).Where("case_id = ? AND agent_id = ?", c.ID, tx.By.UserID).Limit(1).Count(&n).Error
	return n > 0, err
}

// desk is what of a workspace decides where a case goes and until when.
type desk struct {
	home     models.Queue // of the code asked for, "" for none
	calendar models.Calendar
	hours    map[models.Queue]int // of queues whose SLA the workspace states itself
}

// deskFor reads the workspace's own queue for a code, its calendar and its SLAs in one statement, since
// every handover needs them.
func (s *Service) deskFor(tx *models.Tx, code models.Code) (desk, error) {
	days, slas := `group_concat(day, ',')`, `group_concat(queue || ':' || hours, ',')`
	if s.store.Postgres() {
		days, slas = `string_agg(to_char(day, 'YYYY-MM-DD'), ',')`, `string_agg(queue || ':' || hours, ',')`
	}
	var zone, opens, closes, queue, off, own string
	err := tx.DB.Raw(`SELECT w.time_zone, w.opens_at, w.closes_at,
		COALESCE((SELECT r.queue FROM queue_routes r WHERE r.workspace_id = w.id AND r.code = ?), ''),
		COALESCE((SELECT `+days+` FROM holidays h WHERE h.workspace_id = w.id AND h.day >= ?), ''),
		COALESCE((SELECT `+slas+` FROM sla_settings a WHERE a.workspace_id = w.id), '')
		FROM workspaces w WHERE w.id = ?`, string(code), models.DateOf(tx.Now.Add(-48*time.Hour), time.UTC), tx.By.WorkspaceID).
		Row().Scan(&zone, &opens, &closes, &queue, &off, &own)
	if err != nil {
		return desk{}, err
	}
	var holidays []models.Date
	for text := range strings.SplitSeq(off, ",") {
		if text == "" {
			continue
		}
		day, err := models.ParseDate(text)
		if err != nil {
			return desk{}, err
		}
		holidays = append(holidays, day)
	}
	home := models.Queue(queue)
	if home == "" {
		entry, _ := models.Lookup(code)
		home = entry.Queue
	}
	hours, err := readHours(own)
	if err != nil {
		return desk{}, err
	}
	return desk{home: home, calendar: models.NewCalendar(s.zone(zone), holidays).WithHours(models.ReadOpeningHours(opens, closes)), hours: hours}, nil
}

// zone is a time zone by name, read from the system once.
func (s *Service) zone(name string) *time.Location {
	if known, ok := s.zones.Load(name); ok {
		return known.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = time.UTC
	}
	s.zones.Store(name, zone)
	return zone
}

// refused leaves an attempt on the trail that was refused for who made it, and hands the refusal on.
func (s *Service) refused(ctx context.Context, by models.Principal, action string, ref models.Ref, refusal error) error {
	ne, ok := models.AsNamed(refusal)
	if !ok {
		return refusal
	}
	ref.Subject = clipID(ref.Subject)
	if err := s.store.RecordRefusal(ctx, by, action, ref, map[string]any{"code": string(ne.Code), "message": ne.Message}); err != nil {
		return err
	}
	return refusal
}

// clipID bounds an id that came from outside.
func clipID(id string) string {
	if r := []rune(id); len(r) > 64 {
		return string(r[:64])
	}
	return id
}

// toJSON writes what cannot fail to be written: our own plain structs and JSON already checked.
func toJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// instructionIn reads a stored instruction; nil when there is none.
func instructionIn(text *string) *models.Instruction {
	if text == nil {
		return nil
	}
	var in models.Instruction
	if err := json.Unmarshal([]byte(*text), &in); err != nil {
		return nil
	}
	return &in
}

// questionOf is the question a case waits to have answered, "" when none.
func questionOf(c models.Case) string {
	if in := instructionIn(c.Instruction); in != nil && c.Status != models.CaseResolved {
		return in.Question
	}
	return ""
}

// marksIn reads stored marks.
func marksIn(text string) []Mark {
	var marks []Mark
	if err := json.Unmarshal([]byte(text), &marks); err != nil {
		return nil
	}
	return marks
}
