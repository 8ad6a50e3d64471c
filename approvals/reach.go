package approvals

import (
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// Reach says how much of what somebody decides a delegate has a limit of their own for, by the rules of now.
type Reach struct {
	Rules int // by which the absent person decides what the delegation is for
	Full  int // of those: the delegate's limit covers all that the rule does
	Part  int // of those: it covers some amounts, tools or document types
}

// Whole says whether nothing stays with the absent person for want of a limit.
func (r Reach) Whole() bool { return r.Full == r.Rules }

// Nothing says whether everything does.
func (r Reach) Nothing() bool { return r.Full+r.Part == 0 }

// reach works out what a delegate's limits cover of the rules by which somebody decides. The two rules that
// meet are the one that gives the place and the one that gives the limit; which requests will come is not known.
func reach(routes, limits []models.Rule, bindings map[string]models.Binding, from, to models.Member, documentType string) Reach {
	wrote := func(r models.Rule, m models.Member) bool { return r.AuthorID != nil && *r.AuthorID == m.User.ID }
	var own []models.Rule
	for _, r := range limits {
		if grants(r, to) && !wrote(r, to) {
			own = append(own, r)
		}
	}
	var out Reach
	for _, r := range routes {
		kind, ok := both(r.DocumentType, documentType)
		if !ok || !grants(r, from) || wrote(r, from) {
			continue
		}
		out.Rules++
		full, part := false, false
		for _, l := range own {
			tool, sameTool := both(r.Tool, l.Tool)
			whole, sameType := both(kind, l.DocumentType)
			if !sameTool || !sameType || l.Currency != r.Currency || l.Required > r.Required || wrote(r, to) {
				continue
			}
			upTo := compareAmounts(l.ToAmount, r.ToAmount) >= 0
			if _, bound := bindings[tool]; upTo || ((bound || tool == "") && compareAmounts(l.ToAmount, r.FromAmount) >= 0) {
				part = true
			}
			full = full || (upTo && tool == r.Tool && whole == kind)
		}
		switch {
		case full:
			out.Full++
		case part:
			out.Part++
		}
	}
	return out
}

// both is what two dimensions of rules have in common, empty for any; ok is false when that is nothing.
func both(a, b string) (common string, ok bool) {
	if a == "" {
		return b, true
	}
	return a, b == "" || a == b
}

// reachOf is reach for delegations that have a delegate; those whose people have left are not in it.
func reachOf(tx *models.Tx, delegations []models.Delegation) (map[string]Reach, error) {
	out := map[string]Reach{}
	var with []models.Delegation
	for _, d := range delegations {
		if d.ToID != nil {
			with = append(with, d)
		}
	}
	s, err := standInsBy(tx, with)
	if err != nil {
		return nil, err
	}
	for _, d := range with {
		from, there := s.members[d.FromID]
		to, standsIn := s.members[*d.ToID]
		if there && standsIn {
			out[d.ID] = reach(s.rules, s.rules, s.bindings, from, to, d.DocumentType)
		}
	}
	return out, nil
}

// coversNothing says why a delegation would move nothing, whatever comes: the delegate has no limit of their
// own for anything that the rules of now, or those that pending requests carry, let the person decide. A
// person who decides nothing yet may still name somebody.
func coversNothing(tx *models.Tx, from, to models.Member, documentType string) (string, error) {
	rules, err := matrixOf(tx)
	if err != nil {
		return "", err
	}
	bindings, err := tx.Bindings()
	if err != nil {
		return "", fmt.Errorf("approvals: read bindings: %w", err)
	}
	now := reach(rules, rules, bindings, from, to, documentType)
	if now.Rules == 0 || !now.Nothing() {
		return "", nil
	}
	carried, err := models.All[models.Rule](tx, `SELECT * FROM rules WHERE workspace_id = ? AND retired_at IS NOT NULL AND EXISTS
		(SELECT 1 FROM approval_requests r WHERE r.workspace_id = rules.workspace_id AND r.status = ? AND r.rule_id = rules.id AND r.rule_version = rules.version)`,
		tx.By.WorkspaceID, models.RequestPending)
	if err != nil {
		return "", fmt.Errorf("approvals: read rules of pending requests: %w", err)
	}
	if !reach(carried, rules, bindings, from, to, documentType).Nothing() {
		return "", nil
	}
	what := ""
	if documentType != "" {
		what = " on document type " + documentType
	}
	return fmt.Sprintf("has no limit of their own for anything %s decides%s, and both limits count, so nothing would move to %s", from.User.Name, what, to.User.Name), nil
}
