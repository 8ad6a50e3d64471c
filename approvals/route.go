package approvals

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// NameApprover lets one person decide an unrouted request, this item only. The person must be an active
// member whose own limit covers the amount and whom nothing bars; VALIDATION_ERROR on /input/person
// otherwise. Where a rule matched, the number of people it asks for stands, and the named person is one
// of them. UNPROCESSABLE_ENTITY when the request is not unrouted any more, or still lacks people.
func (s *Service) NameApprover(tx *models.Tx, requestID, personEmail string) error {
	rules, r, err := lockUnrouted(tx, requestID)
	if err != nil {
		return err
	}
	wanted, err := wantedOf(tx, r)
	if err != nil {
		return err
	}
	invalid := func(format string, args ...any) error {
		return models.Invalid(models.Issue{Path: "/input/person", Message: fmt.Sprintf(format, args...)})
	}
	m, err := memberByEmail(tx, personEmail)
	if errors.Is(err, models.ErrNoRow) {
		return invalid("names no active person of this workspace; give the e-mail of one")
	}
	if err != nil {
		return err
	}
	limit, rule, ok := LimitOf(rules, m, r.Tool, r.DocumentType, r.Currency)
	if !ok {
		return invalid("%s holds no limit for %s in %s: no rule names them or their role", m.User.Name, r.Tool, r.Currency)
	}
	if compareAmounts(wanted.Amount.Abs().Text(), limit) > 0 {
		return invalid("%s may approve up to %s, and this is %s", m.User.Name, formatAmount(limit, r.Currency), wanted.Amount.Format())
	}
	routing := Routing{Named: copyOf(rule)}
	if matched, ok := Match(rules, wanted); ok {
		routing.Rule = copyOf(matched)
	}
	facts, err := factsOf(tx, r)
	if err != nil {
		return err
	}
	facts.Routing, facts.NamedID, facts.NamedByID = routing, m.User.ID, tx.By.UserID
	if bar := facts.bar(m.User.ID); bar != "" {
		return invalid("%s cannot decide this: they %s", m.User.Name, barText[bar])
	}
	return s.reroute(tx, r, facts, wanted, map[string]any{"named_id": m.User.ID, "named_by_id": tx.By.UserID},
		map[string]any{"named": m.User.ID, "named_name": m.User.Name, "limit": limit, "currency": r.Currency, "limit_rule": rule.ID, "limit_rule_version": rule.Version})
}

// RouteAgain tries the matrix again for an unrouted request. UNPROCESSABLE_ENTITY says what is still
// missing, with every rule that was tried and why it does not fit under details.tried.
func (s *Service) RouteAgain(tx *models.Tx, requestID string) error {
	rules, r, err := lockUnrouted(tx, requestID)
	if err != nil {
		return err
	}
	wanted, err := wantedOf(tx, r)
	if err != nil {
		return err
	}
	facts, err := factsOf(tx, r)
	if err != nil {
		return err
	}
	facts.Routing, facts.NamedID, facts.NamedByID = Routing{}, "", ""
	if matched, ok := Match(rules, wanted); ok {
		facts.Routing.Rule = copyOf(matched)
	}
	return s.reroute(tx, r, facts, wanted, map[string]any{"named_id": nil, "named_by_id": nil}, map[string]any{})
}

// lockUnrouted locks the matrix and then the request.
func lockUnrouted(tx *models.Tx, requestID string) ([]models.Rule, models.ApprovalRequest, error) {
	if _, err := tx.LockRules(); err != nil {
		return nil, models.ApprovalRequest{}, fmt.Errorf("approvals: lock rules: %w", err)
	}
	r, err := lockRequest(tx, requestID)
	if err != nil {
		return nil, r, err
	}
	if status := statusAt(r, tx.Now); status != models.RequestUnrouted {
		return nil, r, models.E(models.Unprocessable, fmt.Sprintf("The approval request behind this case is %s by now, so there is nothing to route.", status),
			map[string]any{"request_id": r.ID, "status": status})
	}
	rules, err := rulesInForce(tx)
	return rules, r, err
}

// reroute makes an unrouted request pending under a new routing, if that gives enough people the
// authority; its time starts anew.
func (s *Service) reroute(tx *models.Tx, r models.ApprovalRequest, facts Facts, wanted Wanted, columns, audit map[string]any) error {
	members, err := tx.Members()
	if err != nil {
		return fmt.Errorf("approvals: read members: %w", err)
	}
	tally := facts.Count(members)
	if tally.Status == models.RequestUnrouted {
		return stillMissing(tx, r, facts, wanted, tally)
	}
	calendar, err := tx.Calendar()
	if err != nil {
		return fmt.Errorf("approvals: read calendar: %w", err)
	}
	if err := setRouting(&r, facts.Routing); err != nil {
		return err
	}
	expires := calendar.AddBusinessDays(tx.Now, requestLife)
	columns["status"], columns["reason"], columns["version"], columns["expires_at"] = models.RequestPending, "", r.Version+1, expires
	columns["rule"], columns["rule_id"], columns["rule_version"], columns["required"] = r.Rule, r.RuleID, r.RuleVersion, r.Required
	if err := change(tx, &r, columns); err != nil {
		return err
	}
	if err := tx.Schedule(JobRequestExpire, r.ID, expires); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	audit["rule"], audit["rule_version"], audit["required"], audit["expires_at"] = r.RuleID, r.RuleVersion, r.Required, expires
	if err := tx.Audit("request.routed", r.Ref(), audit); err != nil {
		return err
	}
	// Votes cast before the request lost its deciders still count.
	if _, err := s.settle(tx, &r); err != nil {
		return err
	}
	notify(tx, r)
	return nil
}

// Tried is one rule of the matrix and why it does not let a request be decided.
type Tried struct {
	RuleID  string `json:"rule_id"`
	Version int64  `json:"version"`
	Rule    string `json:"rule"`
	Why     string `json:"why"`
}

// triedRules says of every rule why it does not help.
func triedRules(tx *models.Tx, rules []models.Rule, facts Facts, wanted Wanted, members []models.Member) ([]Tried, error) {
	var ids []string
	for _, r := range rules {
		ids = append(ids, peopleOf(r)...)
	}
	names, err := namesOf(tx, ids...)
	if err != nil {
		return nil, err
	}
	winner, matched := Match(rules, wanted)
	list := make([]Tried, len(rules))
	for i, r := range rules {
		c := copyOf(r)
		why := misses(r, wanted)
		switch {
		case why != "":
		case matched && r.ID == winner.ID:
			f := facts
			f.Routing = Routing{Rule: c}
			why = shortage(f, members)
		default:
			why = fmt.Sprintf("another rule goes first (%s)", winner.ID)
		}
		list[i] = Tried{RuleID: r.ID, Version: r.Version, Rule: c.Text(names), Why: why}
	}
	return list, nil
}

// shortage says why the people a rule names are too few.
func shortage(f Facts, members []models.Member) string {
	tally := f.Count(members)
	var barred []string
	for _, d := range f.Deciders(members) {
		if !d.May() && d.Bar != BarVoted {
			barred = append(barred, d.Name+" "+d.Why())
		}
	}
	text := fmt.Sprintf("it needs %d of its people and %d can decide", tally.Required, tally.Yes+tally.Left)
	if len(barred) > 0 {
		text += ": " + strings.Join(barred, "; ")
	}
	return text
}

func stillMissing(tx *models.Tx, r models.ApprovalRequest, facts Facts, wanted Wanted, tally Tally) error {
	names, err := namesOf(tx, facts.Routing.userIDs()...)
	if err != nil {
		return err
	}
	rules, err := rulesInForce(tx)
	if err != nil {
		return err
	}
	members, err := tx.Members()
	if err != nil {
		return fmt.Errorf("approvals: read members: %w", err)
	}
	tried, err := triedRules(tx, rules, facts, wanted, members)
	if err != nil {
		return err
	}
	return models.E(models.Unprocessable, "The request still cannot be routed. "+facts.whyUnrouted(wanted, tally, names),
		map[string]any{"request_id": r.ID, "required": tally.Required, "eligible": tally.Yes + tally.Left, "tried": tried})
}

// memberByEmail finds an active person of the workspace; ErrNoRow when there is none.
func memberByEmail(tx *models.Tx, email string) (models.Member, error) {
	u, err := tx.UserByEmail(email)
	if err != nil {
		return models.Member{}, err
	}
	members, err := tx.Members(u.ID)
	if err != nil {
		return models.Member{}, fmt.Errorf("approvals: read member: %w", err)
	}
	if len(members) == 0 || u.Kind != models.KindPerson {
		return models.Member{}, models.ErrNoRow
	}
	return members[0], nil
}
