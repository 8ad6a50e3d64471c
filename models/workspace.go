package models

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"gorm.io/gorm/clause"
)

// Workspace is one company code; everything else belongs to exactly one.
type Workspace struct {
	ID                  string `gorm:"primaryKey"`
	Name                string
	TimeZone            string
	Currency            string
	PeriodClosedThrough Date
	PeriodReopenedUntil Date
	OpensAt             string // of a business day, on the clock of its zone, as 09:00
	ClosesAt            string
	ERPLink             string `gorm:"column:erp_link"` // template; see ParseERPLink
	SecondFactor        bool   // people whose roles decide need a passkey
	CreatedAt           Time
}

// Zone is the workspace's time zone.
func (w Workspace) Zone() *time.Location {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Binding says where in a write tool's arguments the compared values stand, as JSON Pointers. An
// empty pointer means the request's own value is used.
type Binding struct {
	InvoiceID   string `json:"invoice_id,omitempty"`
	Amount      string `json:"amount,omitempty"`
	Currency    string `json:"currency,omitempty"`
	PostingDate string `json:"posting_date,omitempty"`
	SupplierID  string `json:"supplier_id,omitempty"`
}

// DefaultBindings are those of every workspace, until it states its own.
func DefaultBindings() map[string]Binding {
	return map[string]Binding{
		"post_invoice_adjustment": {InvoiceID: "/invoice_id", Amount: "/amount", Currency: "/currency", PostingDate: "/posting_date", SupplierID: "/supplier_id"},
		"notify_supplier":         {InvoiceID: "/invoice_id", SupplierID: "/supplier_id"},
	}
}

type holiday struct {
	WorkspaceID string `gorm:"primaryKey"`
	Day         Date   `gorm:"primaryKey"`
}

func (holiday) TableName() string { return "holidays" }

type bindingRow struct {
	WorkspaceID string `gorm:"primaryKey"`
	Tool        string `gorm:"primaryKey"`
	Pointers    string
}

func (bindingRow) TableName() string { return "bindings" }

// RuleSet is the row that routing, rule edits and period changes lock; its version is the matrix's.
type RuleSet struct {
	WorkspaceID string `gorm:"primaryKey"`
	Version     int64
}

// LockRules makes routing, rule edits and period changes of the workspace wait for one another.
func (tx *Tx) LockRules() (RuleSet, error) {
	var set RuleSet
	err := tx.Lock().Where("workspace_id = ?", tx.By.WorkspaceID).Take(&set).Error
	return set, err
}

// Workspace reads the workspace acted in.
func (tx *Tx) Workspace() (Workspace, error) {
	return One[Workspace](tx, "SELECT * FROM workspaces WHERE id = ?", tx.By.WorkspaceID)
}

// Calendar is the business calendar of the workspace acted in.
func (tx *Tx) Calendar() (Calendar, error) {
	w, err := tx.Workspace()
	if err != nil {
		return Calendar{}, err
	}
	days, err := tx.Holidays()
	if err != nil {
		return Calendar{}, err
	}
	return NewCalendar(w.Zone(), days).WithHours(w.Opening()), nil
}

// Holidays lists the workspace's holidays in order.
func (tx *Tx) Holidays() ([]Date, error) {
	var rows []holiday
	if err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Order("day").Find(&rows).Error; err != nil {
		return nil, err
	}
	days := make([]Date, len(rows))
	for i, r := range rows {
		days[i] = r.Day
	}
	return days, nil
}

// Bindings gives every write tool's binding in the workspace acted in.
func (tx *Tx) Bindings() (map[string]Binding, error) {
	all := DefaultBindings()
	var rows []bindingRow
	if err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Find(&rows).Error; err != nil {
		return nil, err
	}
	for _, r := range rows {
		var b Binding
		if err := json.Unmarshal([]byte(r.Pointers), &b); err != nil {
			return nil, fmt.Errorf("binding of %s: %w", r.Tool, err)
		}
		all[r.Tool] = b
	}
	return all, nil
}

var workspaceIDSyntax = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CreateWorkspace adds a company code. It fails with VALIDATION_ERROR, or CONFLICT when it exists.
func (tx *Tx) CreateWorkspace(w Workspace) error {
	var issues []Issue
	if !workspaceIDSyntax.MatchString(w.ID) {
		issues = append(issues, Issue{"/id", "must be 1 to 64 letters, digits, dots, dashes or underscores"})
	}
	name, why := checkedName(w.Name, maxKnownName)
	if w.Name = name; why != "" {
		issues = append(issues, Issue{"/name", why})
	}
	if _, err := time.LoadLocation(w.TimeZone); err != nil || w.TimeZone == "" || w.TimeZone == "Local" {
		issues = append(issues, Issue{"/time_zone", "must be an IANA time zone such as Europe/Berlin"})
	}
	if !ValidCurrency(w.Currency) {
		issues = append(issues, Issue{"/currency", ErrCurrencyUnknown.Error()})
	}
	if len(issues) > 0 {
		return Invalid(issues...)
	}
	w.CreatedAt = tx.Now
	if w.OpensAt == "" {
		w.OpensAt, w.ClosesAt = DefaultOpeningHours.Opens.String(), DefaultOpeningHours.Closes.String()
	}
	made := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&w)
	if made.Error != nil {
		return made.Error
	}
	if made.RowsAffected == 0 {
		return E(Conflict, fmt.Sprintf("Workspace %s exists already.", w.ID), nil)
	}
	if err := tx.DB.Create(&RuleSet{WorkspaceID: w.ID}).Error; err != nil {
		return err
	}
	if err := tx.Schedule(JobForgetKeys, w.ID, tx.Now.Add(24*time.Hour)); err != nil {
		return err
	}
	return tx.Audit("workspace.created", Ref{Subject: w.ID}, map[string]any{"name": w.Name, "time_zone": w.TimeZone, "currency": w.Currency})
}

// MovePeriod sets through which date the workspace's books are closed; no date means none is. Finance
// leads may do it on the pages, operators at the command line. Redeems and requests from then on see
// the new date.
func (tx *Tx) MovePeriod(through Date, reopenedUntil Date) error {
	if err := tx.By.needEditor(RoleFinanceLead); err != nil {
		return err
	}
	if _, err := tx.LockRules(); err != nil {
		return err
	}
	w, err := tx.Workspace()
	if err != nil {
		return err
	}
	err = tx.DB.Model(&Workspace{}).Where("id = ?", w.ID).
		Updates(map[string]any{"period_closed_through": through, "period_reopened_until": reopenedUntil}).Error
	if err != nil {
		return err
	}
	return tx.Audit("period.moved", Ref{Subject: w.ID},
		map[string]any{"before": w.PeriodClosedThrough, "after": through, "reopened_until": reopenedUntil})
}

// AddHolidays adds days on which nobody works. Admins and AP leads may.
func (tx *Tx) AddHolidays(days ...Date) error {
	if err := tx.By.needEditor(RoleAdmin, RoleAPLead); err != nil {
		return err
	}
	for _, d := range days {
		if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&holiday{WorkspaceID: tx.By.WorkspaceID, Day: d}).Error; err != nil {
			return err
		}
	}
	return tx.Audit("holidays.added", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"days": days})
}

// RemoveHoliday takes a holiday back. Admins and AP leads may.
func (tx *Tx) RemoveHoliday(day Date) error {
	if err := tx.By.needEditor(RoleAdmin, RoleAPLead); err != nil {
		return err
	}
	if err := tx.DB.Where("workspace_id = ? AND day = ?", tx.By.WorkspaceID, day).Delete(&holiday{}).Error; err != nil {
		return err
	}
	return tx.Audit("holiday.removed", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"day": day})
}

// RemoveBinding forgets what the workspace stated about a tool; what is built in for it counts again. Admins may.
// NOT_FOUND when nothing was stated.
func (tx *Tx) RemoveBinding(tool string) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	if _, err := tx.LockRules(); err != nil {
		return err
	}
	done := tx.DB.Where("workspace_id = ? AND tool = ?", tx.By.WorkspaceID, tool).Delete(&bindingRow{})
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected == 0 {
		return E(NotFound, "This workspace states no pointers for this tool.", nil)
	}
	return tx.Audit("binding.removed", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"tool": tool})
}

// SetBinding states where a write tool's compared values stand. Admins may.
func (tx *Tx) SetBinding(tool string, b Binding) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	var issues []Issue
	if tool == "" {
		issues = append(issues, Issue{"/tool", "must name a tool"})
	}
	for name, pointer := range map[string]string{"invoice_id": b.InvoiceID, "amount": b.Amount, "currency": b.Currency, "posting_date": b.PostingDate, "supplier_id": b.SupplierID} {
		// A pointer that can never be found would silently switch the comparison off.
		if pointer != "" && !jsontext.Pointer(pointer).IsValid() {
			issues = append(issues, Issue{"/" + name, fmt.Sprintf("holds %q, which is no JSON Pointer such as /invoice_id", pointer)})
		}
	}
	if len(issues) > 0 {
		return Invalid(issues...)
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if _, err := tx.LockRules(); err != nil {
		return err
	}
	err = tx.DB.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "workspace_id"}, {Name: "tool"}}, DoUpdates: clause.AssignmentColumns([]string{"pointers"})}).
		Create(&bindingRow{WorkspaceID: tx.By.WorkspaceID, Tool: tool, Pointers: string(text)}).Error
	if err != nil {
		return err
	}
	return tx.Audit("binding.set", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"tool": tool, "pointers": b})
}
