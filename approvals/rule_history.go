package approvals

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// Matrix is all there is to know of a workspace's rules: those in force, what is found about them, and
// where the desk looks into calls.
type Matrix struct {
	Version  int64 // of the whole; it grows with every edit
	Rules    []RuleView
	Findings []Finding
	Bindings map[string]models.Binding
	// Waiting are the requests nobody can decide, and Covered how many of them the rules of now cover.
	// More than maxWaiting are not looked at.
	Waiting, Covered int
}

// maxWaiting bounds how many requests without an approver a page of the matrix looks at.
const maxWaiting = 500

// Matrix reads the rules in force with what is found about them. People of the workspace may.
func (s *Service) Matrix(ctx context.Context, by models.Principal) (Matrix, error) {
	if err := by.NeedRole(readers...); err != nil {
		return Matrix{}, err
	}
	var m Matrix
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		rules, err := rulesInForce(tx)
		if err != nil {
			return err
		}
		if m.Version, err = setVersion(tx); err != nil {
			return err
		}
		if m.Rules, err = ruleViews(tx, rules); err != nil {
			return err
		}
		if m.Bindings, err = tx.Bindings(); err != nil {
			return fmt.Errorf("approvals: read bindings: %w", err)
		}
		members, err := tx.Members()
		if err != nil {
			return fmt.Errorf("approvals: read members: %w", err)
		}
		m.Findings = slices.Concat(Coverage(rules), Staffing(rules, members, namesIn(m.Rules)), Unbound(rules, m.Bindings))
		m.Waiting, m.Covered, err = waitingFor(tx, rules, m.Bindings)
		return err
	})
	return m, err
}

func namesIn(views []RuleView) map[string]string {
	names := map[string]string{}
	for _, v := range views {
		for _, u := range slices.Concat(v.People, v.ThenPeople) {
			names[u.ID] = u.Name
		}
	}
	return names
}

func setVersion(tx *models.Tx) (int64, error) {
	var set models.RuleSet
	err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Take(&set).Error
	if errors.Is(err, models.ErrNoRow) {
		return 0, models.Missing("workspace", tx.By.WorkspaceID)
	}
	if err != nil {
		return 0, fmt.Errorf("approvals: read rule set: %w", err)
	}
	return set.Version, nil
}

// waitingFor counts the requests nobody can decide, and those of them that a rule covers by now.
func waitingFor(tx *models.Tx, rules []models.Rule, bindings map[string]models.Binding) (waiting, covered int, err error) {
	var rows []models.ApprovalRequest
	err = tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND status = ? AND expires_at > ?", tx.By.WorkspaceID, models.RequestUnrouted, tx.Now).
		Order("created_at, id").Limit(maxWaiting).Find(&rows).Error
	if err != nil {
		return 0, 0, fmt.Errorf("approvals: read unrouted requests: %w", err)
	}
	for _, r := range rows {
		w, err := wantedWith(bindings, r)
		if err != nil {
			return 0, 0, err
		}
		if _, ok := Match(rules, w); ok {
			covered++
		}
	}
	return len(rows), covered, nil
}

// FieldChange is one thing that differs between two versions of a rule, in words.
type FieldChange struct {
	Field         string // "Tool", "To", "Who decides"
	Before, After string
}

// What happened to a rule.
const (
	RuleAdded   = "added"
	RuleChanged = "changed"
	RuleRetired = "retired"
)

// RuleChange is one entry in the history of rules: a version somebody wrote, or a rule taken out of use.
type RuleChange struct {
	RuleID string
	What   string // RuleAdded, RuleChanged or RuleRetired
	At     models.Time
	By     string
	// After is the version written; of a retirement the last one.
	After  RuleView
	Before *RuleView // the version before, nil for the first one and for a retirement
	Fields []FieldChange
	// Routed counts the requests that carry this version; only a single rule's history has it.
	Routed int64
}

// RuleHistory is one page of changes, newest first.
type RuleHistory struct {
	Items      []RuleChange
	NextCursor string // empty on the last page
}

// RuleHistory lists everything that happened to one rule, newest first, with how many requests each
// version routed. People of the workspace may read it; NOT_FOUND for another workspace's rule.
func (s *Service) RuleHistory(ctx context.Context, by models.Principal, ruleID string) ([]RuleChange, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var list []RuleChange
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var rules []models.Rule
		if err := tx.DB.Where("workspace_id = ? AND id = ?", by.WorkspaceID, ruleID).Order("version DESC").Find(&rules).Error; err != nil {
			return fmt.Errorf("approvals: read rule versions: %w", err)
		}
		if len(rules) == 0 {
			return models.Missing("rule", clip(ruleID, 80))
		}
		views, err := ruleViews(tx, rules)
		if err != nil {
			return err
		}
		routed, err := routedBy(tx, ruleID)
		if err != nil {
			return err
		}
		if last := views[0]; !last.Rule.RetiredAt.IsZero() {
			list = append(list, RuleChange{RuleID: ruleID, What: RuleRetired, At: last.Rule.RetiredAt, By: last.Rule.RetiredBy, After: last})
		}
		for i, v := range views {
			c := written(v, nil)
			if i+1 < len(views) {
				c = written(v, &views[i+1])
			}
			c.Routed = routed[v.Rule.Version]
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// written is the entry of a version and the one before it.
func written(after RuleView, before *RuleView) RuleChange {
	c := RuleChange{RuleID: after.Rule.ID, What: RuleAdded, At: after.Rule.CreatedAt, By: after.Rule.AuthorName, After: after, Before: before}
	if before != nil {
		c.What, c.Fields = RuleChanged, differences(*before, after)
	}
	return c
}

// routedBy counts the requests that carry each version of a rule.
func routedBy(tx *models.Tx, ruleID string) (map[int64]int64, error) {
	var rows []struct{ RuleVersion, N int64 }
	err := tx.DB.Model(&models.ApprovalRequest{}).Select("rule_version, count(*) AS n").
		Where("workspace_id = ? AND rule_id = ? AND rule_id <> ''", tx.By.WorkspaceID, ruleID).Group("rule_version").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: count routed requests: %w", err)
	}
	routed := map[int64]int64{}
	for _, r := range rows {
		routed[r.RuleVersion] = r.N
	}
	return routed, nil
}

// MatrixHistory lists what happened to all rules of the workspace, newest first, by page. BAD_REQUEST
// for a cursor that is none.
func (s *Service) MatrixHistory(ctx context.Context, by models.Principal, cursor string) (RuleHistory, error) {
	if err := by.NeedRole(readers...); err != nil {
		return RuleHistory{}, err
	}
	after, err := readHistoryCursor(cursor)
	if err != nil {
		return RuleHistory{}, err
	}
	var page RuleHistory
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		entries, err := historyEntries(tx, after, DefaultLimit+1)
		if err != nil {
			return err
		}
		if len(entries) > DefaultLimit {
			entries = entries[:DefaultLimit]
			page.NextCursor = entries[DefaultLimit-1].cursor()
		}
		page.Items, err = changesOf(tx, entries)
		return err
	})
	return page, err
}

// historyEntry is one version written, or the last version of a rule retired.
type historyEntry struct {
	rule    models.Rule
	retired bool
}

func (e historyEntry) at() models.Time {
	if e.retired {
		return e.rule.RetiredAt
	}
	return e.rule.CreatedAt
}

// key orders entries of one moment.
func (e historyEntry) key() string { return historyKey(e.rule.ID, e.rule.Version, e.retired) }

func historyKey(id string, version int64, retired bool) string {
	return fmt.Sprintf("%s/%012d/%d", id, version, pick(retired, 1, 0))
}

func (e historyEntry) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(e.at().UnixNano(), 10) + " " + e.key()))
}

type historyCursor struct {
	at  models.Time
	key string
}

func readHistoryCursor(text string) (*historyCursor, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	at, key, ok := strings.Cut(string(raw), " ")
	nanos, numErr := strconv.ParseInt(at, 10, 64)
	if err != nil || !ok || numErr != nil {
		return nil, models.E(models.BadRequest, "The cursor is not one of this list.", map[string]any{"field": "cursor"})
	}
	return &historyCursor{models.At(time.Unix(0, nanos)), key}, nil
}

// historyEntries reads both kinds of entry up to a moment and joins them; of the moment where the page
// before ended, those that came after it in order. An import writes many rules at one moment, so that
// moment is read whole.
func historyEntries(tx *models.Tx, after *historyCursor, limit int) ([]historyEntry, error) {
	var all []historyEntry
	for _, kind := range []struct {
		column  string
		retired bool
	}{{"created_at", false}, {"retired_at", true}} {
		base := func() *gorm.DB {
			q := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID)
			if kind.retired {
				q = q.Where("retired_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rules later WHERE later.id = rules.id AND later.version > rules.version)")
			}
			return q
		}
		var rules []models.Rule
		if after != nil {
			if err := base().Where(kind.column+" = ?", after.at).Find(&rules).Error; err != nil {
				return nil, fmt.Errorf("approvals: read rule history: %w", err)
			}
			rules = slices.DeleteFunc(rules, func(r models.Rule) bool { return historyKey(r.ID, r.Version, kind.retired) >= after.key })
		}
		q := base().Order(kind.column + " DESC, id DESC, version DESC").Limit(limit)
		if after != nil {
			q = q.Where(kind.column+" < ?", after.at)
		}
		var rest []models.Rule
		if err := q.Find(&rest).Error; err != nil {
			return nil, fmt.Errorf("approvals: read rule history: %w", err)
		}
		for _, r := range append(rules, rest...) {
			all = append(all, historyEntry{r, kind.retired})
		}
	}
	slices.SortFunc(all, func(a, b historyEntry) int {
		return cmp.Or(b.at().Compare(a.at().Time), cmp.Compare(b.key(), a.key()))
	})
	return all[:min(len(all), limit)], nil
}

// changesOf puts entries into words, with the version before each.
func changesOf(tx *models.Tx, entries []historyEntry) ([]RuleChange, error) {
	var rules []models.Rule
	var ids []string
	for _, e := range entries {
		rules = append(rules, e.rule)
		if e.rule.Version > 1 && !e.retired {
			ids = append(ids, e.rule.ID)
		}
	}
	if len(ids) > 0 {
		var earlier []models.Rule
		if err := tx.DB.Where("workspace_id = ? AND id IN ?", tx.By.WorkspaceID, ids).Find(&earlier).Error; err != nil {
			return nil, fmt.Errorf("approvals: read earlier versions: %w", err)
		}
		rules = append(rules, earlier...)
	}
	views, err := ruleViews(tx, rules)
	if err != nil {
		return nil, err
	}
	type version struct {
		id string
		n  int64
	}
	byVersion := map[version]RuleView{}
	for _, v := range views {
		byVersion[version{v.Rule.ID, v.Rule.Version}] = v
	}
	changes := make([]RuleChange, len(entries))
	for i, e := range entries {
		v := views[i]
		if e.retired {
			changes[i] = RuleChange{RuleID: e.rule.ID, What: RuleRetired, At: e.rule.RetiredAt, By: e.rule.RetiredBy, After: v}
			continue
		}
		if before, ok := byVersion[version{e.rule.ID, e.rule.Version - 1}]; ok {
			changes[i] = written(v, &before)
		} else {
			changes[i] = written(v, nil)
		}
	}
	return changes, nil
}

// differences lists what a version says otherwise than the one before.
func differences(before, after RuleView) []FieldChange {
	a, b := ruleFields(before), ruleFields(after)
	var list []FieldChange
	for i := range a {
		if a[i].value != b[i].value {
			list = append(list, FieldChange{Field: a[i].label, Before: a[i].said, After: b[i].said})
		}
	}
	return list
}

// ruleField is one field of a rule: value is what is compared, said how it reads.
type ruleField struct{ label, value, said string }

// Fields is the whole version in words, field by field in a fixed order, under After.
func (v RuleView) Fields() []FieldChange {
	var list []FieldChange
	for _, f := range ruleFields(v) {
		list = append(list, FieldChange{Field: f.label, After: f.said})
	}
	return list
}

// coveringFields are the first of ruleFields: which writes and amounts the rule is about.
const coveringFields = 7

func ruleFields(v RuleView) []ruleField {
	r := v.Rule
	dimension := func(label, value string) ruleField {
		if value == "" {
			return ruleField{label, "", "any"}
		}
		return ruleField{label, value, value}
	}
	amount := func(label, text string) ruleField {
		units, ok := inUnits(text, r.Currency)
		if !ok {
			return ruleField{label, text, text}
		}
		return ruleField{label, units.String() + r.Currency, formatAmount(text, r.Currency)}
	}
	steps := stepsOf(r)
	step := func(label string, i int, said string) ruleField {
		if i >= len(steps) {
			return ruleField{label, "", "nobody"}
		}
		return ruleField{label, string(steps[i].Role) + whoIn(steps[i]), said}
	}
	return []ruleField{
		{"Currency", r.Currency, r.Currency},
		dimension("Tool", r.Tool), dimension("Document type", r.DocumentType), dimension("Supplier", r.Supplier), dimension("Cost centre", r.CostCentre),
		amount("From", r.FromAmount), amount("To", r.ToAmount),
		step("Who decides", 0, v.First), step("Then", 1, v.Then),
		{"How many", howMany(r), howMany(r)},
		{"Approval good for", strconv.FormatInt(r.ValidSeconds, 10), ValidText(v.Valid)},
	}
}

// whoIn are the people of a step, whatever the order they were named in.
func whoIn(step models.Rule) string {
	ids := slices.Clone(peopleOf(step))
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func howMany(r models.Rule) string {
	switch {
	case len(stepsOf(r)) > 1:
		return "two people, one after the other"
	case r.Required == 2:
		return "two people together"
	}
	return "one person"
}

// ValidText writes a length of time as it is typed: "24h", "90m".
func ValidText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// sameRule says whether two versions ask for the same, whoever wrote them and however the amounts are
// spelled.
func sameRule(a, b models.Rule) bool {
	return len(differences(RuleView{Rule: a, Valid: copyOf(a).Valid()}, RuleView{Rule: b, Valid: copyOf(b).Valid()})) == 0
}
