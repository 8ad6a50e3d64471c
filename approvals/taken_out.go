package approvals

import (
	"cmp"
	"slices"
	"time"

	"github.com/apdesk/apdesk/models"
)

// takenOutCounts is how long before a request was filed somebody may have taken a rule out of the matrix
// and still not decide it. An invoice is asked about within days of its arrival; a month outlasts that and
// the life of a request, and lets people who keep the matrix decide again.
const takenOutCounts = 30 * 24 * time.Hour

// takenOutKept is how far back a matrix remembers what was taken out: takenOutCounts before the oldest
// request that can still be routed.
const takenOutKept = 3 * takenOutCounts

// TakenOut is an edit without which another rule would have decided a request: who made it, and the rule
// as it was before. The request keeps it with its routing.
type TakenOut struct {
	UserID   string      `json:"user_id"`
	UserName string      `json:"user_name"`
	What     string      `json:"what"` // RuleRetired, or RuleChanged for a version that another one followed
	At       models.Time `json:"at"`
	Rule     *RuleCopy   `json:"rule"`
}

// ruleBook is the rules in force, with the versions that were in force lately.
type ruleBook struct {
	rules []models.Rule
	out   []models.Rule // retired or replaced, newest first
}

// route finds the rule that decides about w, and who brought that about by taking out another.
func (m ruleBook) route(w Wanted) Routing {
	var routing Routing
	now, ok := Match(m.rules, w)
	if ok {
		routing.Rule = copyOf(now)
	}
	amount := w.Amount.Abs().Text()
	goesFirst := func(r models.Rule) bool { return isCovered(r, w, amount) && (!ok || inOrder(r, now, w) <= 0) }
	var edits []models.Rule
	for _, r := range m.out {
		if r.RetiredByID == nil || r.RetiredAt.Before(w.At.Add(-takenOutCounts).Time) || !goesFirst(r) || (ok && asksNoLess(now, r)) {
			continue
		}
		// Who only wrote the next version, which asked the same before the rule that decides now, loosened nothing.
		if next, found := m.version(r.ID, r.Version+1); found && goesFirst(next) && asksNoLess(next, r) {
			continue
		}
		edits = append(edits, r)
	}
	// The strictest of what a person took out is the one they are told.
	slices.SortStableFunc(edits, func(a, b models.Rule) int { return cmp.Or(cmp.Compare(b.Required, a.Required), inOrder(a, b, w)) })
	for _, r := range edits {
		if slices.ContainsFunc(routing.TakenOut, func(t TakenOut) bool { return t.UserID == *r.RetiredByID }) {
			continue
		}
		what := RuleRetired
		if _, followed := m.version(r.ID, r.Version+1); followed {
			what = RuleChanged
		}
		routing.TakenOut = append(routing.TakenOut, TakenOut{UserID: *r.RetiredByID, UserName: r.RetiredBy, What: what, At: r.RetiredAt, Rule: copyOf(r)})
	}
	return routing
}

// version finds one version of a rule, in force or taken out.
func (m ruleBook) version(id string, version int64) (models.Rule, bool) {
	for _, list := range [][]models.Rule{m.rules, m.out} {
		for _, r := range list {
			if r.ID == id && r.Version == version {
				return r, true
			}
		}
	}
	return models.Rule{}, false
}

// asksNoLess says whether a rule asks the same people as another, and at least as many of them.
func asksNoLess(r, other models.Rule) bool {
	return r.Required >= other.Required && r.Role == other.Role && r.ThenRole == other.ThenRole && whoIn(r) == whoIn(other) &&
		whoIn(models.Rule{People: r.ThenPeople}) == whoIn(models.Rule{People: other.ThenPeople})
}

// tookOut says why an edit of the matrix keeps a user from deciding, "" when none does.
func (r Routing) tookOut(userID string) Bar {
	for _, t := range r.TakenOut {
		if t.UserID != userID || userID == "" {
			continue
		}
		if t.Rule.Required > r.Required() {
			return BarTookOutTwo
		}
		return BarTookOut
	}
	return ""
}
