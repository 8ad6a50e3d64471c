package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// deciders are the roles a rule may name. Auditors change nothing, admins decide nothing by that role,
// and tokens never vote.
var deciders = models.DecidingRoles()

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
	ThenRole     models.Role   // who says yes second, one after the other
	ThenPeople   []string      // e-mails, instead of a role
	Required     int           // 1 or 2; 0 means 1, or 2 when the rule says who comes second
	Valid        time.Duration // whole seconds; 0 means DefaultValid
}

// RuleView is one version of a rule, in words.
type RuleView struct {
	Rule       models.Rule
	Text       string
	Who        string        // "Finance lead", "Ines, Karl", "Finance lead, then AP lead"
	First      string        // who decides, or decides first
	Then       string        // who comes second, empty when nobody does
	People     []models.User // named, instead of a role
	ThenPeople []models.User
	Valid      time.Duration
}

// Sequence says whether two people decide one after the other.
func (v RuleView) Sequence() bool { return v.Then != "" }

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

func ruleViews(tx *models.Tx, rules []models.Rule) ([]RuleView, error) {
	users := map[string]models.User{}
	names := map[string]string{}
	var ids []string
	for _, r := range rules {
		ids = append(append(ids, peopleOf(r)...), peopleOf(models.Rule{People: r.ThenPeople})...)
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
		v := RuleView{Rule: r, Text: c.Text(names), Who: c.Who(names), Valid: c.Valid()}
		for step, at := range stepsOf(r) {
			who := copyOf(at).Who(names)
			var people []models.User
			for _, id := range peopleOf(at) {
				people = append(people, users[id])
			}
			if step == 0 {
				v.First, v.People = who, people
			} else {
				v.Then, v.ThenPeople = who, people
			}
		}
		views[i] = v
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

// CreateRule adds a row to the matrix. Requests already routed keep the copy they have. CONFLICT when a
// rule in force asks the same people about the same writes and amounts, however long its approvals are good.
func (s *Service) CreateRule(ctx context.Context, by models.Principal, n NewRule) (models.Rule, error) {
	var rule models.Rule
	err := s.editRules(ctx, by, func(tx *models.Tx) error {
		var err error
		if rule, err = ruleFrom(tx, n); err != nil {
			return err
		}
		if err := refuseTwin(tx, rule, ""); err != nil {
			return err
		}
		rule.ID, rule.Version, rule.FirstAt = tx.NewID(models.PrefixRule), 1, tx.Now
		return insertRule(tx, rule, "rule.created", nil)
	})
	return rule, err
}

// refuseTwin answers CONFLICT when another rule in force than the one being replaced says the same already.
func refuseTwin(tx *models.Tx, rule models.Rule, replaced string) error {
	// Only what names the same writes can say the same, so that a change costs what it costs in a short matrix.
	rules, err := models.All[models.Rule](tx, `SELECT * FROM rules WHERE workspace_id = ? AND retired_at IS NULL AND currency = ? AND tool = ? AND document_type = ? AND supplier = ?
		AND cost_centre = ? ORDER BY first_at, id`, tx.By.WorkspaceID, rule.Currency, rule.Tool, rule.DocumentType, rule.Supplier, rule.CostCentre)
	if err != nil {
		return fmt.Errorf("approvals: read rules: %w", err)
	}
	for _, r := range rules {
		if r.ID != replaced && asksKey(r) == asksKey(rule) {
			return models.E(models.Conflict, fmt.Sprintf("%s says this already, since %s; a second one would never decide anything.", RuleName(r.ID), when(r.FirstAt)),
				map[string]any{"reason": "rule_exists", "rule_id": r.ID, "version": r.Version})
		}
	}
	return nil
}

// ReplaceRule makes the next version of a rule in force and retires the one before. version is the one
// the person saw; CONFLICT when it is not in force any more,
// and when another rule says the same already.
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
		if sameRule(old, rule) {
			// A version that changes nothing would only make its author unable to vote under it.
			return models.E(models.Unprocessable, "Nothing was changed: the rule already says this.", map[string]any{"rule_id": old.ID, "version": old.Version})
		}
		if err := refuseTwin(tx, rule, old.ID); err != nil {
			return err
		}
		rule, err = replaceRule(tx, old, rule)
		return err
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
		return retireRule(tx, old)
	})
}

// replaceRule puts the next version of a rule in force.
func replaceRule(tx *models.Tx, old, rule models.Rule) (models.Rule, error) {
	rule.ID, rule.Version, rule.FirstAt = old.ID, old.Version+1, old.FirstAt
	if err := retire(tx, old); err != nil {
		return rule, err
	}
	return rule, insertRule(tx, rule, "rule.replaced", map[string]any{"before": copyOf(old)})
}

func retireRule(tx *models.Tx, old models.Rule) error {
	if err := retire(tx, old); err != nil {
		return err
	}
	return tx.Audit("rule.retired", models.Ref{Subject: old.ID}, map[string]any{"rule": copyOf(old)})
}

func (s *Service) editRules(ctx context.Context, by models.Principal, edit func(*models.Tx) error) error {
	if err := mayEditRules(by); err != nil {
		return err
	}
	return s.changeRules(ctx, by, func(tx *models.Tx, _ models.RuleSet) (bool, error) { return true, edit(tx) })
}

// changeRules runs an edit with the matrix locked. The matrix gets its next version when the edit says
// that it changed something.
func (s *Service) changeRules(ctx context.Context, by models.Principal, edit func(*models.Tx, models.RuleSet) (changed bool, err error)) error {
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		set, err := tx.LockRules()
		if errors.Is(err, models.ErrNoRow) {
			return models.Missing("workspace", by.WorkspaceID)
		}
		if err != nil {
			return fmt.Errorf("approvals: lock rules: %w", err)
		}
		changed, err := edit(tx, set)
		if err != nil || !changed {
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
		Updates(map[string]any{"retired_at": tx.Now, "retired_by": tx.By.UserName, "retired_by_id": userOf(tx.By)})
	if done.Error != nil {
		return fmt.Errorf("approvals: retire rule: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return models.E(models.Conflict, "This rule was changed in the meantime.", map[string]any{"rule_id": old.ID})
	}
	return nil
}

// roster is every active person of a workspace, by e-mail.
type roster map[string]models.Member

func rosterOf(tx *models.Tx) (roster, error) {
	members, err := tx.Members()
	if err != nil {
		return nil, fmt.Errorf("approvals: read members: %w", err)
	}
	r := make(roster, len(members))
	for _, m := range members {
		if m.User.Kind == models.KindPerson {
			r[m.User.Email] = m
		}
	}
	return r, nil
}

// ruleFrom checks what a person wrote; tx.By is its author.
func ruleFrom(tx *models.Tx, n NewRule) (models.Rule, error) {
	people, err := rosterOf(tx)
	if err != nil {
		return models.Rule{}, err
	}
	rule, issues := n.rule(people)
	if len(issues) > 0 {
		return models.Rule{}, models.Invalid(issues...)
	}
	return writtenBy(tx, rule), nil
}

// writtenBy puts author and time on a rule.
func writtenBy(tx *models.Tx, rule models.Rule) models.Rule {
	rule.WorkspaceID, rule.AuthorName, rule.CreatedAt = tx.By.WorkspaceID, tx.By.UserName, tx.Now
	rule.AuthorID = userOf(tx.By)
	return rule
}

// userOf is the user who acts, nil for the operator.
func userOf(by models.Principal) *string {
	if by.UserID == "" {
		return nil
	}
	return &by.UserID
}

// rule reads what a person wrote, or says everything that is wrong with it.
func (n NewRule) rule(people roster) (models.Rule, []models.Issue) {
	sequence := n.ThenRole != "" || len(n.ThenPeople) > 0
	if n.Required == 0 {
		n.Required = pick(sequence, 2, 1)
	}
	if n.Valid == 0 {
		n.Valid = DefaultValid
	}
	var issues []models.Issue
	issue := func(path, format string, args ...any) {
		issues = append(issues, models.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	for _, d := range []struct{ path, text string }{{"/tool", n.Tool}, {"/document_type", n.DocumentType}, {"/supplier", n.Supplier}, {"/cost_centre", n.CostCentre}} {
		switch {
		case len([]rune(d.text)) > maxDimension:
			issue(d.path, "must have at most %d characters", maxDimension)
		case !utf8.ValidString(d.text) || strings.ContainsFunc(d.text, unicode.IsControl):
			issue(d.path, "must not hold control characters")
		case strings.TrimSpace(d.text) != d.text:
			issue(d.path, "must not begin or end with a blank")
		}
	}
	issues = append(issues, n.bandIssues()...)
	if n.Required != 1 && n.Required != 2 {
		issue("/required", "must be 1 or 2 people")
	} else if sequence && n.Required != 2 {
		issue("/required", "must be 2 people when the rule says who comes second")
	}
	if n.Valid < time.Second || n.Valid > MaxValid || n.Valid%time.Second != 0 {
		issue("/valid", "must be whole seconds, at least one and at most 366 days")
	}
	first, more := stepIssues(people, n.Role, n.People, "/role", "/person")
	issues = append(issues, more...)
	var second []string
	if sequence {
		second, more = stepIssues(people, n.ThenRole, n.ThenPeople, "/then_role", "/then_person")
		issues = append(issues, more...)
	}
	if len(issues) == 0 {
		switch {
		case !sequence && n.Role == "" && len(first) < n.Required:
			issue("/person", "must name at least %d different people", n.Required)
		case len(first) == 1 && len(second) == 1 && first[0] == second[0]:
			issue("/then_person", "must name somebody else than who comes first")
		}
	}
	if len(issues) > 0 {
		return models.Rule{}, issues
	}
	return models.Rule{Tool: n.Tool, DocumentType: n.DocumentType, Supplier: n.Supplier, CostCentre: n.CostCentre,
		Currency: n.Currency, FromAmount: n.From, ToAmount: n.To, Role: n.Role, People: idList(first), ThenRole: n.ThenRole, ThenPeople: idList(second),
		Required: n.Required, ValidSeconds: int64(n.Valid / time.Second)}, nil
}

// maxDimension is the longest name of a tool, document type, supplier or cost centre, in characters.
const maxDimension = 200

func (n NewRule) bandIssues() []models.Issue {
	if !models.ValidCurrency(n.Currency) {
		return []models.Issue{{Path: "/currency", Message: models.ErrCurrencyUnknown.Error()}}
	}
	var issues []models.Issue
	for _, bound := range []struct{ path, text string }{{"/from", n.From}, {"/to", n.To}} {
		if m, err := models.ParseMoney(bound.text, n.Currency); err != nil {
			issues = append(issues, models.Issue{Path: bound.path, Message: err.Error()})
		} else if m.Negative() {
			issues = append(issues, models.Issue{Path: bound.path, Message: "must not be negative: the amount counts without its sign"})
		}
	}
	if len(issues) == 0 && compareAmounts(n.From, n.To) > 0 {
		issues = append(issues, models.Issue{Path: "/to", Message: "must not be below " + n.From})
	}
	return issues
}

// stepIssues checks who one step of a rule asks: a role that can decide, or people who can. It answers
// the ids of those people.
func stepIssues(people roster, role models.Role, emails []string, rolePath, personPath string) (ids []string, issues []models.Issue) {
	issue := func(path, format string, args ...any) {
		issues = append(issues, models.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case role == "" && len(emails) == 0:
		issue(rolePath, "is required, or name people instead")
	case role != "" && len(emails) > 0:
		issue(personPath, "cannot be combined with a role; a rule names either")
	case role != "" && !slices.Contains(deciders, role):
		issue(rolePath, "must be one of ap_clerk, ap_lead, procurement, finance_lead, master_data; %q cannot decide", clip(string(role), 40))
	}
	for _, email := range emails {
		m, known := people[strings.ToLower(strings.TrimSpace(email))]
		switch {
		case !known:
			issue(personPath, "%q is no active person of this workspace", clip(email, 120))
		case !m.Has(append(slices.Clone(deciders), models.RoleAdmin)...):
			issue(personPath, "%s only reads or works with tokens here and cannot decide", m.User.Name)
		case !slices.Contains(ids, m.User.ID):
			ids = append(ids, m.User.ID)
		}
	}
	return ids, issues
}

// idList writes ids as the table keeps them.
func idList(ids []string) string {
	if len(ids) == 0 {
		return "[]"
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return "[]" // unreachable: strings can always be written
	}
	return string(text)
}
