package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// TryInput is a write somebody wonders about; nothing is asked for by it.
type TryInput struct {
	Tool         string
	DocumentType string
	Supplier     string
	CostCentre   string
	Amount       string
	Currency     string
	Asker        string // e-mail of who would ask, a person or a service account; empty: nobody in particular
}

// TryResult says what the matrix would do with a write, and who could decide it now.
type TryResult struct {
	Amount models.Money
	Bound  bool // the workspace knows where the values stand in this tool's calls
	// Rule is the rule that decides, nil when none covers the write; Why says why it is this one.
	Rule    *RuleView
	Why     string
	Tried   []Tried // every other rule and why it does not decide, those that cover the write first
	Routed  bool    // enough people can decide now
	Missing string  // why nobody can, in words
	People  []TryPerson
}

// TryPerson is somebody whom the rule names, or who stands in for them.
type TryPerson struct {
	Name       string
	Role       models.Role
	Step       int    // 2 for who comes second
	OnBehalfOf string // whose place it is, empty when it is their own
	Limit      string // for such a write: "EUR 10,000.00"
	Absence    string // empty when they are there
	May        bool   // now, or when their turn comes
	Why        string // why not; finishes a sentence that begins with their name
}

// Try says which rule would decide a write and why each other would not, and who could decide it now. It
// writes nothing. People of the workspace may; VALIDATION_ERROR for what is no amount, currency or user.
func (s *Service) Try(ctx context.Context, by models.Principal, in TryInput) (TryResult, error) {
	if err := by.NeedRole(readers...); err != nil {
		return TryResult{}, err
	}
	amount, issues := in.check()
	if len(issues) > 0 {
		return TryResult{}, models.Invalid(issues...)
	}
	var out TryResult
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		bindings, err := tx.Bindings()
		if err != nil {
			return fmt.Errorf("approvals: read bindings: %w", err)
		}
		_, bound := bindings[in.Tool]
		wanted := Wanted{Tool: in.Tool, DocumentType: in.DocumentType, Supplier: in.Supplier, CostCentre: in.CostCentre, Amount: amount, Unbound: !bound, At: tx.Now}
		askers, err := askersBy(tx, in.Asker)
		if err != nil {
			return err
		}
		out, err = tryOut(tx, wanted, askers)
		return err
	})
	return out, err
}

func (in TryInput) check() (models.Money, []models.Issue) {
	var issues []models.Issue
	if in.Tool == "" {
		issues = append(issues, models.Issue{Path: "/tool", Message: "must name a tool"})
	}
	if !models.ValidCurrency(in.Currency) {
		return models.Money{}, append(issues, models.Issue{Path: "/currency", Message: models.ErrCurrencyUnknown.Error()})
	}
	amount, err := models.ParseMoney(in.Amount, in.Currency)
	if err != nil {
		issues = append(issues, models.Issue{Path: "/amount", Message: err.Error()})
	}
	return amount, issues
}

// askersBy finds who counts as asker when the user with an e-mail asks.
func askersBy(tx *models.Tx, email string) (map[string]Bar, error) {
	askers := map[string]Bar{}
	if email == "" {
		return askers, nil
	}
	unknown := models.Invalid(models.Issue{Path: "/asker", Message: "must be the e-mail of an active member of this workspace, or empty"})
	u, err := tx.UserByEmail(email)
	if errors.Is(err, models.ErrNoRow) {
		return nil, unknown
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: read asker: %w", err)
	}
	members, err := tx.Members(u.ID)
	if err != nil {
		return nil, fmt.Errorf("approvals: read asker: %w", err)
	}
	if len(members) == 0 {
		return nil, unknown
	}
	if u.OwnerID != nil {
		askers[*u.OwnerID] = BarResponsible
	}
	askers[u.ID] = BarAsker
	return askers, nil
}

func tryOut(tx *models.Tx, wanted Wanted, askers map[string]Bar) (TryResult, error) {
	out := TryResult{Amount: wanted.Amount, Bound: !wanted.Unbound}
	book, err := bookOf(tx)
	if err != nil {
		return out, err
	}
	rules := book.rules
	members, err := tx.Members()
	if err != nil {
		return out, fmt.Errorf("approvals: read members: %w", err)
	}
	facts := Facts{Askers: askers, Correctors: map[string]bool{}}
	winner, matched := Match(rules, wanted)
	facts.Routing = book.route(wanted)
	stand, err := standInsOf(tx)
	if err != nil {
		return out, err
	}
	facts.Substitutes, err = stand.on(models.ApprovalRequest{Tool: wanted.Tool, DocumentType: wanted.DocumentType, Amount: wanted.Amount.Text(), Currency: wanted.Amount.Currency()}, facts)
	if err != nil {
		return out, err
	}
	tried, err := triedRules(tx, book, facts, wanted, members)
	if err != nil {
		return out, err
	}
	out.Why = fillTried(&out, tried, winner, matched)
	tally := facts.Count(members)
	if out.Routed = tally.Status != models.RequestUnrouted; !out.Routed {
		names, err := namesOf(tx, facts.Routing.userIDs()...)
		if err != nil {
			return out, err
		}
		out.Missing = facts.whyUnrouted(wanted, tally, names)
	}
	if !matched {
		return out, nil
	}
	views, err := ruleViews(tx, []models.Rule{winner})
	if err != nil {
		return out, err
	}
	out.Rule = &views[0]
	away, err := absences(tx)
	if err != nil {
		return out, err
	}
	out.People = tryPeople(rules, facts, wanted, members, away)
	return out, nil
}

// fillTried splits what was tried into those that cover the write and the others, and says why the
// winner is first.
func fillTried(out *TryResult, tried []Tried, winner models.Rule, matched bool) string {
	var behind, others []Tried
	for _, t := range tried {
		switch {
		case matched && t.RuleID == winner.ID:
		case t.Covers:
			behind = append(behind, t)
		default:
			others = append(others, t)
		}
	}
	out.Tried = append(behind, others...)
	switch {
	case !matched:
		return ""
	case len(behind) == 0:
		return "It is the only rule that covers this."
	}
	names := make([]string, 0, len(behind))
	for _, t := range behind[:min(len(behind), 3)] {
		names = append(names, RuleName(t.RuleID)+" ("+t.because+")")
	}
	text := strings.Join(names, ", ")
	if more := len(behind) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "It goes before " + text + "."
}

func tryPeople(rules []models.Rule, facts Facts, wanted Wanted, members []models.Member, away map[string]string) []TryPerson {
	byID := map[string]models.Member{}
	for _, m := range members {
		byID[m.User.ID] = m
	}
	var people []TryPerson
	for _, d := range facts.Deciders(members) {
		p := TryPerson{Name: d.Name, Role: d.Role, Step: d.Step, OnBehalfOf: d.OnBehalfOf, Absence: away[d.UserID], May: d.May() || d.Bar == BarTurn}
		if !p.May {
			p.Why = d.Why()
		}
		limit := d.Limit
		if limit == "" {
			limit, _, _ = LimitOf(rules, byID[d.UserID], wanted.Tool, wanted.DocumentType, wanted.Amount.Currency())
		}
		if limit != "" {
			p.Limit = formatAmount(limit, wanted.Amount.Currency())
		}
		people = append(people, p)
	}
	return people
}
