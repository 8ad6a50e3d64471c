package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apdesk/apdesk/models"
)

// deciders are the roles a rule may name. Auditors change nothing, admins decide nothing by that role,
// and tokens never vote.
var deciders = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead, models.RoleMasterData}

// Life of an approval under a rule: when none is given, and at most.
const (
	DefaultValid = 24 * time.Hour
	MaxValid     = 366 * 24 * time.Hour
)

// NewRule is one row of the matrix as a person writes it. Empty dimensions mean any.
type NewRule struct {
	Tool         string
	DocumentType string
	Supplier     string
	CostCentre   string
	Currency     string
	From         string // included
	To           string // included
	Role         models.Role
	People       []string      // e-mails, instead of a role
	Required     int           // 1 or 2; 0 means 1
	Valid        time.Duration // whole seconds; 0 means DefaultValid
}

// RuleView is one rule in force, in words.
type RuleView struct {
	Rule   models.Rule
	Text   string
	Who    string
	People []models.User // named, instead of a role
	Valid  time.Duration
}

// Rules lists the matrix in force. People of the workspace may read it.
func (s *Service) Rules(ctx context.Context, by models.Principal) ([]RuleView, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var views []RuleView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		rules, err := rulesInForce(tx)
		if err != nil {
			return err
		}
		views, err = ruleViews(tx, rules)
		return err
	})
	return views, err
}

// Rule is one rule in force.
func (s *Service) Rule(ctx context.Context, by models.Principal, ruleID string) (RuleView, error) {
	views, err := s.Rules(ctx, by)
	if err != nil {
		return RuleView{}, err
	}
	for _, v := range views {
		if v.Rule.ID == ruleID {
			return v, nil
		}
	}
	return RuleView{}, models.Missing("rule", clip(ruleID, 80))
}

// RuleHistory lists every version of a rule, newest first.
func (s *Service) RuleHistory(ctx context.Context, by models.Principal, ruleID string) ([]RuleView, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var views []RuleView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var rules []models.Rule
		if err := tx.DB.Where("workspace_id = ? AND id = ?", by.WorkspaceID, ruleID).Order("version DESC").Find(&rules).Error; err != nil {
			return fmt.Errorf("approvals: read rule versions: %w", err)
		}
		if len(rules) == 0 {
			return models.Missing("rule", clip(ruleID, 80))
		}
		var err error
		views, err = ruleViews(tx, rules)
		return err
	})
	return views, err
}

func ruleViews(tx *models.Tx, rules []models.Rule) ([]RuleView, error) {
	users := map[string]models.User{}
	names := map[string]string{}
	var ids []string
	for _, r := range rules {
		ids = append(ids, peopleOf(r)...)
	}
	if len(ids) > 0 {
		var rows []models.User
		if err := tx.DB.Where("id IN ?", ids).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("approvals: read people: %w", err)
		}
		for _, u := range rows {
			users[u.ID], names[u.ID] = u, u.Name
		}
	}
	views := make([]RuleView, len(rules))
	for i, r := range rules {
		c := copyOf(r)
		views[i] = RuleView{Rule: r, Text: c.Text(names), Who: c.Who(names), Valid: c.Valid()}
		for _, id := range c.People {
			views[i].People = append(views[i].People, users[id])
		}
	}
	return views, nil
}

// mayEditRules lets AP leads and admins edit the matrix on the pages, and operators at the command
// line. No token can.
func mayEditRules(by models.Principal) error {
	if by.Channel == models.ChannelSystem {
		return nil
	}
	if err := by.NeedPerson(); err != nil {
		return err
	}
	return by.NeedRole(models.RoleAPLead, models.RoleAdmin)
}

// CreateRule adds a row to the matrix. Requests already routed keep the copy they have.
func (s *Service) CreateRule(ctx context.Context, by models.Principal, n NewRule) (models.Rule, error) {
	var rule models.Rule
	err := s.editRules(ctx, by, func(tx *models.Tx) error {
		var err error
		if rule, err = ruleFrom(tx, n); err != nil {
			return err
		}
		rule.ID, rule.Version, rule.FirstAt = tx.NewID(models.PrefixRule), 1, tx.Now
		return insertRule(tx, rule, "rule.created", nil)
	})
	return rule, err
}

// ReplaceRule makes the next version of a rule in force and retires the one before. version is the one
// the person saw; CONFLICT when it is not in force any more.
func (s *Service) ReplaceRule(ctx context.Context, by models.Principal, ruleID string, version int64, n NewRule) (models.Rule, error) {
	var rule models.Rule
	err := s.editRules(ctx, by, func(tx *models.Tx) error {
		old, err := ruleInForce(tx, ruleID, version)
		if err != nil {
			return err
		}
		if rule, err = ruleFrom(tx, n); err != nil {
			return err
		}
		rule.ID, rule.Version, rule.FirstAt = old.ID, old.Version+1, old.FirstAt
		if err := retire(tx, old); err != nil {
			return err
		}
		return insertRule(tx, rule, "rule.replaced", map[string]any{"before": copyOf(old)})
	})
	return rule, err
}

// RetireRule takes a rule out of the matrix. Requests it routed keep their copy.
func (s *Service) RetireRule(ctx context.Context, by models.Principal, ruleID string, version int64) error {
	return s.editRules(ctx, by, func(tx *models.Tx) error {
		old, err := ruleInForce(tx, ruleID, version)
		if err != nil {
			return err
		}
		if err := retire(tx, old); err != nil {
			return err
		}
		return tx.Audit("rule.retired", models.Ref{Subject: old.ID}, map[string]any{"rule": copyOf(old)})
	})
}

func (s *Service) editRules(ctx context.Context, by models.Principal, edit func(*models.Tx) error) error {
	if err := mayEditRules(by); err != nil {
		return err
	}
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		set, err := tx.LockRules()
		if errors.Is(err, models.ErrNoRow) {
			return models.Missing("workspace", by.WorkspaceID)
		}
		if err != nil {
			return fmt.Errorf("approvals: lock rules: %w", err)
		}
		if err := edit(tx); err != nil {
			return err
		}
		tx.Notify(models.TopicApprovals(by.WorkspaceID))
		err = tx.DB.Model(&models.RuleSet{}).Where("workspace_id = ?", by.WorkspaceID).Update("version", set.Version+1).Error
		if err != nil {
			return fmt.Errorf("approvals: rule set version: %w", err)
		}
		return nil
	})
}

func insertRule(tx *models.Tx, rule models.Rule, action string, data map[string]any) error {
	if err := tx.DB.Create(&rule).Error; err != nil {
		return fmt.Errorf("approvals: write rule: %w", err)
	}
	if data == nil {
		data = map[string]any{}
	}
	data["rule"] = copyOf(rule)
	return tx.Audit(action, models.Ref{Subject: rule.ID}, data)
}

func ruleInForce(tx *models.Tx, id string, version int64) (models.Rule, error) {
	var rows []models.Rule
	err := tx.DB.Where("workspace_id = ? AND id = ?", tx.By.WorkspaceID, id).Order("version DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return models.Rule{}, fmt.Errorf("approvals: read rule: %w", err)
	}
	if len(rows) == 0 {
		return models.Rule{}, models.Missing("rule", clip(id, 80))
	}
	last := rows[0]
	switch {
	case !last.RetiredAt.IsZero():
		return last, models.E(models.Conflict, fmt.Sprintf("%s retired this rule on %s.", last.RetiredBy, when(last.RetiredAt)), map[string]any{"rule_id": id, "version": last.Version})
	case last.Version != version:
		return last, models.E(models.Conflict, fmt.Sprintf("%s changed this rule on %s; look at version %d before you edit it.", last.AuthorName, when(last.CreatedAt), last.Version),
			map[string]any{"rule_id": id, "version": last.Version})
	}
	return last, nil
}

func retire(tx *models.Tx, old models.Rule) error {
	done := tx.DB.Model(&models.Rule{}).Where("id = ? AND version = ? AND workspace_id = ? AND retired_at IS NULL", old.ID, old.Version, old.WorkspaceID).
		Updates(map[string]any{"retired_at": tx.Now, "retired_by": tx.By.UserName})
	if done.Error != nil {
		return fmt.Errorf("approvals: retire rule: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return models.E(models.Conflict, "This rule was changed in the meantime.", map[string]any{"rule_id": old.ID})
	}
	return nil
}

// ruleFrom checks what a person wrote.
func ruleFrom(tx *models.Tx, n NewRule) (models.Rule, error) {
	if n.Required == 0 {
		n.Required = 1
	}
	if n.Valid == 0 {
		n.Valid = DefaultValid
	}
	var issues []models.Issue
	issue := func(path, format string, args ...any) {
		issues = append(issues, models.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if !models.ValidCurrency(n.Currency) {
		issue("/currency", "%s", models.ErrCurrencyUnknown)
	} else {
		bounds := map[string]models.Money{}
		for path, text := range map[string]string{"/from": n.From, "/to": n.To} {
			m, err := models.ParseMoney(text, n.Currency)
			switch {
			case err != nil:
				issue(path, "%s", err)
			case m.Negative():
				issue(path, "must not be negative: the amount counts without its sign")
			default:
				bounds[path] = m
			}
		}
		if len(bounds) == 2 && compareAmounts(n.From, n.To) > 0 {
			issue("/to", "must not be below %s", n.From)
		}
	}
	if n.Required != 1 && n.Required != 2 {
		issue("/required", "must be 1 or 2 people")
	}
	if n.Valid < time.Second || n.Valid > MaxValid || n.Valid%time.Second != 0 {
		issue("/valid", "must be whole seconds, at least one and at most 366 days")
	}
	for path, text := range map[string]string{"/tool": n.Tool, "/document_type": n.DocumentType, "/supplier": n.Supplier, "/cost_centre": n.CostCentre} {
		if len([]rune(text)) > 200 {
			issue(path, "must have at most 200 characters")
		}
	}
	people := []string{}
	switch {
	case n.Role == "" && len(n.People) == 0:
		issue("/role", "is required, or name people instead")
	case n.Role != "" && len(n.People) > 0:
		issue("/person", "cannot be combined with a role; a rule names either")
	case n.Role != "" && !slices.Contains(deciders, n.Role):
		issue("/role", "must be one of ap_clerk, ap_lead, procurement, finance_lead, master_data; %q cannot decide", n.Role)
	}
	for _, email := range n.People {
		m, err := memberByEmail(tx, email)
		if errors.Is(err, models.ErrNoRow) {
			issue("/person", "%q is no active person of this workspace", clip(email, 120))
			continue
		}
		if err != nil {
			return models.Rule{}, err
		}
		if !m.Has(append(slices.Clone(deciders), models.RoleAdmin)...) {
			issue("/person", "%s only reads or works with tokens here and cannot decide", m.User.Name)
			continue
		}
		if !slices.Contains(people, m.User.ID) {
			people = append(people, m.User.ID)
		}
	}
	if len(issues) == 0 && n.Role == "" && len(people) < n.Required {
		issue("/person", "must name at least %d different people", n.Required)
	}
	if len(issues) > 0 {
		return models.Rule{}, models.Invalid(issues...)
	}
	named, err := json.Marshal(people)
	if err != nil {
		return models.Rule{}, fmt.Errorf("approvals: people: %w", err)
	}
	rule := models.Rule{WorkspaceID: tx.By.WorkspaceID, Tool: n.Tool, DocumentType: n.DocumentType, Supplier: n.Supplier, CostCentre: n.CostCentre,
		Currency: n.Currency, FromAmount: n.From, ToAmount: n.To, Role: n.Role, People: string(named), ThenPeople: "[]", Required: n.Required,
		ValidSeconds: int64(n.Valid / time.Second), AuthorName: tx.By.UserName, CreatedAt: tx.Now}
	if tx.By.UserID != "" {
		rule.AuthorID = &tx.By.UserID
	}
	return rule, nil
}
