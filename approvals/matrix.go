package approvals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Wanted is what the matrix is asked about: one write, its values already bound to the call.
type Wanted struct {
	Tool         string
	DocumentType string
	Supplier     string
	CostCentre   string
	Amount       models.Money
	// Unbound is set for a tool without a binding: nobody can check the amount it claims against the
	// call, so the rule with the highest limit decides, not the one for a small amount.
	Unbound bool
	At      models.Time // when it was asked for
}

// Match finds the rule that decides about w: most dimensions named wins, then more votes, then the
// lower limit, then the older rule. Amounts are compared without their sign and both ends are
// included; another currency never matches. ok is false when no rule covers w.
func Match(rules []models.Rule, w Wanted) (rule models.Rule, ok bool) {
	var found []models.Rule
	amount := w.Amount.Abs().Text()
	for _, r := range rules {
		if isCovered(r, w, amount) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return models.Rule{}, false
	}
	return slices.MinFunc(found, func(a, b models.Rule) int { return inOrder(a, b, w) }), true
}

// inOrder is negative when a goes before b where both cover w.
func inOrder(a, b models.Rule, w Wanted) int {
	highest := 0
	if w.Unbound {
		highest = compareAmounts(b.ToAmount, a.ToAmount)
	}
	return cmp.Or(highest, cmp.Compare(dimensions(b), dimensions(a)), cmp.Compare(b.Required, a.Required),
		compareAmounts(a.ToAmount, b.ToAmount), a.FirstAt.Compare(b.FirstAt.Time), cmp.Compare(a.ID, b.ID))
}

// isCovered says whether misses finds nothing, without its words: the matrix is long, and most of it does not match.
func isCovered(r models.Rule, w Wanted, amount string) bool {
	if r.Currency != w.Amount.Currency() || (r.Tool != "" && r.Tool != w.Tool) || (r.DocumentType != "" && r.DocumentType != w.DocumentType) ||
		(r.Supplier != "" && r.Supplier != w.Supplier) || (r.CostCentre != "" && r.CostCentre != w.CostCentre) {
		return false
	}
	return compareAmounts(amount, r.ToAmount) <= 0 && (w.Unbound || compareAmounts(amount, r.FromAmount) >= 0)
}

// misses says in words why a rule does not cover w, "" when it does.
func misses(r models.Rule, w Wanted) string {
	for _, d := range []struct{ what, rule, wanted string }{
		{"tool", r.Tool, w.Tool}, {"document type", r.DocumentType, w.DocumentType},
		{"supplier", r.Supplier, w.Supplier}, {"cost centre", r.CostCentre, w.CostCentre},
	} {
		if d.rule != "" && d.rule != d.wanted {
			return fmt.Sprintf("it is for %s %s only", d.what, d.rule)
		}
	}
	if r.Currency != w.Amount.Currency() {
		return fmt.Sprintf("it is for %s, and amounts are never converted", r.Currency)
	}
	if amount := w.Amount.Abs().Text(); compareAmounts(amount, r.ToAmount) > 0 {
		return fmt.Sprintf("it ends at %s", formatAmount(r.ToAmount, r.Currency))
	} else if !w.Unbound && compareAmounts(amount, r.FromAmount) < 0 {
		return fmt.Sprintf("it begins at %s", formatAmount(r.FromAmount, r.Currency))
	}
	return ""
}

func dimensions(r models.Rule) int {
	n := 0
	for _, named := range []string{r.Tool, r.DocumentType, r.Supplier, r.CostCentre} {
		if named != "" {
			n++
		}
	}
	return n
}

// compareAmounts compares two plain decimals exactly.
func compareAmounts(a, b string) int {
	x, okX := decimalOf(a)
	y, okY := decimalOf(b)
	if !okX || !okY {
		return cmp.Compare(a, b) // unreachable: amounts are checked before they are kept
	}
	return x.compare(y)
}

func (d decimal) compare(o decimal) int {
	switch {
	case d == o:
		return 0
	case d.digits == "":
		return pick(o.negative, 1, -1)
	case o.digits == "":
		return pick(d.negative, -1, 1)
	case d.negative != o.negative:
		return pick(d.negative, -1, 1)
	}
	magnitude := cmp.Or(cmp.Compare(d.exponent+int64(len(d.digits)), o.exponent+int64(len(o.digits))), cmp.Compare(d.digits, o.digits))
	return pick(d.negative, -magnitude, magnitude)
}

func pick(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

// LimitOf is the highest amount a member may approve with a tool, document type and currency, alone or
// with others: the highest end of the rules that name them or their role. ok is false when no rule does.
func LimitOf(rules []models.Rule, m models.Member, tool, documentType, currency string) (limit string, rule models.Rule, ok bool) {
	return limitAmong(rules, m, tool, documentType, currency, func(models.Rule) bool { return true })
}

// limitBeside is LimitOf for somebody who gets a place that no rule gives them, where required people
// must say yes: as named approver, or standing in for another. A rule that asks for more people gives
// nobody a limit of their own, and neither does a version they wrote themself.
func limitBeside(rules []models.Rule, m models.Member, required int, tool, documentType, currency string) (limit string, rule models.Rule, ok bool) {
	return limitAmong(rules, m, tool, documentType, currency, func(r models.Rule) bool {
		return r.Required <= required && (r.AuthorID == nil || *r.AuthorID != m.User.ID)
	})
}

func limitAmong(rules []models.Rule, m models.Member, tool, documentType, currency string, counts func(models.Rule) bool) (limit string, rule models.Rule, ok bool) {
	for _, r := range rules {
		if r.Currency != currency || (r.Tool != "" && r.Tool != tool) || (r.DocumentType != "" && r.DocumentType != documentType) || !grants(r, m) || !counts(r) {
			continue
		}
		if !ok || compareAmounts(r.ToAmount, limit) > 0 {
			limit, rule, ok = r.ToAmount, r, true
		}
	}
	return limit, rule, ok
}

// grants says whether a rule names the member or their role.
func grants(r models.Rule, m models.Member) bool {
	return (r.Role != "" && m.Has(r.Role)) || (r.ThenRole != "" && m.Has(r.ThenRole)) ||
		slices.Contains(peopleOf(r), m.User.ID) || slices.Contains(thenPeopleOf(r), m.User.ID)
}

// peopleOf are the user ids of the people a rule names, for the first or only step.
func peopleOf(r models.Rule) []string { return idsIn(r.People) }

// thenPeopleOf are the user ids of the people a rule names for the second step.
func thenPeopleOf(r models.Rule) []string { return idsIn(r.ThenPeople) }

func idsIn(list string) []string {
	if list == "" || list == "[]" {
		return nil
	}
	var ids []string
	if json.Unmarshal([]byte(list), &ids) != nil {
		return nil // unreachable: the desk writes this list itself
	}
	return ids
}

// RuleCopy is the rule as it was when it routed a request. Later edits of the matrix do not reach it.
type RuleCopy struct {
	ID           string      `json:"id"`
	Version      int64       `json:"version"`
	Tool         string      `json:"tool,omitempty"`
	DocumentType string      `json:"document_type,omitempty"`
	Supplier     string      `json:"supplier,omitempty"`
	CostCentre   string      `json:"cost_centre,omitempty"`
	Currency     string      `json:"currency"`
	From         string      `json:"from"`
	To           string      `json:"to"`
	Role         models.Role `json:"role,omitempty"`
	People       []string    `json:"people,omitempty"` // user ids
	ThenRole     models.Role `json:"then_role,omitempty"`
	ThenPeople   []string    `json:"then_people,omitempty"` // user ids
	Required     int         `json:"required"`
	ValidSeconds int64       `json:"valid_seconds"`
	AuthorID     string      `json:"author_id,omitempty"` // empty: the operator
	AuthorName   string      `json:"author_name"`
	CreatedAt    models.Time `json:"created_at"`
}

func copyOf(r models.Rule) *RuleCopy {
	c := RuleCopy{ID: r.ID, Version: r.Version, Tool: r.Tool, DocumentType: r.DocumentType, Supplier: r.Supplier, CostCentre: r.CostCentre,
		Currency: r.Currency, From: r.FromAmount, To: r.ToAmount, Role: r.Role, People: peopleOf(r), ThenRole: r.ThenRole, ThenPeople: thenPeopleOf(r), Required: r.Required,
		ValidSeconds: r.ValidSeconds, AuthorName: r.AuthorName, CreatedAt: r.CreatedAt}
	if r.AuthorID != nil {
		c.AuthorID = *r.AuthorID
	}
	return &c
}

// Routing is how a request found its deciders: by the matrix, by a person named for this item only,
// or both. The request keeps it.
type Routing struct {
	Rule *RuleCopy `json:"rule,omitempty"`
	// Named is the rule that gives the named person their limit.
	Named *RuleCopy `json:"named,omitempty"`
	// TakenOut are the edits without which a rule that asked otherwise would have gone first, one a person.
	TakenOut []TakenOut `json:"taken_out,omitempty"`
}

// Authority is the rule that counts for votes and the grant: the matrix's, else the named person's.
func (r Routing) Authority() *RuleCopy {
	if r.Rule != nil {
		return r.Rule
	}
	return r.Named
}

// Required is how many different people must say yes. A person named where no rule matched decides
// alone; where a rule matched its number stands.
func (r Routing) Required() int {
	if r.Rule != nil {
		return r.Rule.Required
	}
	return 1
}

// Steps is how many steps the decision takes: two when one person comes after the other.
func (r Routing) Steps() int {
	if r.Rule != nil && r.Rule.Sequence() {
		return 2
	}
	return 1
}

// Text says in words what the rule covers and who decides under it.
func (c RuleCopy) Text(names map[string]string) string {
	parts := []string{c.Who(names), fmt.Sprintf("%s to %s", formatAmount(c.From, c.Currency), formatAmount(c.To, c.Currency))}
	for _, d := range []struct{ what, value string }{{"tool", c.Tool}, {"document type", c.DocumentType}, {"supplier", c.Supplier}, {"cost centre", c.CostCentre}} {
		if d.value != "" {
			parts = append(parts, d.what+" "+d.value)
		}
	}
	return strings.Join(parts, " · ")
}

// Sequence says whether two people decide one after the other.
func (c RuleCopy) Sequence() bool { return c.ThenRole != "" || len(c.ThenPeople) > 0 }

// Who names the role or the people of the rule, in order when one comes after the other.
func (c RuleCopy) Who(names map[string]string) string {
	if c.Sequence() {
		return c.whoAt(1, names) + ", then " + c.whoAt(2, names)
	}
	return c.whoAt(1, names)
}

// whoAt names the role or the people of one step.
func (c RuleCopy) whoAt(step int, names map[string]string) string {
	role, people := c.Role, c.People
	if step == 2 {
		role, people = c.ThenRole, c.ThenPeople
	}
	if role != "" {
		return role.Title()
	}
	list := make([]string, len(people))
	for i, id := range people {
		list[i] = names[id]
		if list[i] == "" {
			list[i] = id
		}
	}
	return strings.Join(list, ", ")
}

// Valid is how long an approval under the rule lives.
func (c RuleCopy) Valid() time.Duration { return time.Duration(c.ValidSeconds) * time.Second }

func formatAmount(amount, currency string) string {
	m, err := models.ParseMoney(amount, currency)
	if err != nil {
		return currency + " " + amount
	}
	return m.Format()
}
