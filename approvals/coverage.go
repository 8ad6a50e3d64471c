package approvals

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// FindingKind says what a finding about the matrix is.
type FindingKind string

// What can be found in a matrix.
const (
	FindingGap      FindingKind = "gap"      // amounts between rules that no rule covers
	FindingOverlap  FindingKind = "overlap"  // amounts that two rules cover
	FindingUnused   FindingKind = "unused"   // a rule that another goes before, wherever it could decide
	FindingAbove    FindingKind = "above"    // where a currency's authority ends, said once
	FindingRest     FindingKind = "rest"     // writes of a currency that no rule names
	FindingStaffing FindingKind = "staffing" // a rule that too few people can fill now
	FindingBinding  FindingKind = "binding"  // a rule that names a tool without pointers
)

// Scope is what a rule names besides its amounts; empty fields mean any.
type Scope struct {
	Tool         string
	DocumentType string
	Supplier     string
	CostCentre   string
}

// ScopeOf is what a rule names.
func ScopeOf(r models.Rule) Scope {
	return Scope{Tool: r.Tool, DocumentType: r.DocumentType, Supplier: r.Supplier, CostCentre: r.CostCentre}
}

// Text names the scope in words: "any tool", "tool pay_invoice, supplier V-2001".
func (s Scope) Text() string {
	var parts []string
	for _, d := range []struct{ what, value string }{{"tool", s.Tool}, {"document type", s.DocumentType}, {"supplier", s.Supplier}, {"cost centre", s.CostCentre}} {
		if d.value != "" {
			parts = append(parts, d.what+" "+d.value)
		}
	}
	if len(parts) == 0 {
		return "any tool"
	}
	return strings.Join(parts, ", ")
}

// dims are the scope's values in a fixed order.
func (s Scope) dims() [4]string {
	return [4]string{s.Tool, s.DocumentType, s.Supplier, s.CostCentre}
}

// meets says whether some write can fall under both scopes.
func (s Scope) meets(o Scope) bool {
	a, b := s.dims(), o.dims()
	for i := range a {
		if a[i] != "" && b[i] != "" && a[i] != b[i] {
			return false
		}
	}
	return true
}

// with is what falls under both scopes, which must meet.
func (s Scope) with(o Scope) Scope {
	return Scope{cmp.Or(s.Tool, o.Tool), cmp.Or(s.DocumentType, o.DocumentType), cmp.Or(s.Supplier, o.Supplier), cmp.Or(s.CostCentre, o.CostCentre)}
}

// wider lists the scopes under which every write of s falls too, s itself last.
func (s Scope) wider() []Scope {
	d := s.dims()
	seen := map[Scope]bool{s: true}
	var list []Scope
	for mask := range 1 << len(d) {
		kept := d
		for i := range kept {
			if mask&(1<<i) == 0 {
				kept[i] = ""
			}
		}
		w := Scope{kept[0], kept[1], kept[2], kept[3]}
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return append(list, s)
}

// Finding is one thing worth knowing about the matrix, in words.
type Finding struct {
	Kind     FindingKind
	Warn     bool // somebody should look at it; else it is only said
	Currency string
	Scope    Scope
	From, To string   // the amounts concerned, both included; empty where none are
	Rules    []string // ids, the one that goes first before the others
	Text     string   // names rules by RuleName
}

// RuleName is how people name a rule: the end of its id.
func RuleName(id string) string {
	const tail = 6
	if len(id) > tail {
		id = id[len(id)-tail:]
	}
	return "Rule " + strings.ToUpper(id)
}

// maxOverlaps bounds the overlaps told of one currency. A matrix with more has one problem, not many.
const maxOverlaps = 500

// maxCompared bounds how many rules of one currency are compared with each other: the work grows with the
// square of it.
const maxCompared = 500

// Coverage finds what a matrix leaves open and what it says twice: gaps and overlaps of amount bands by
// currency and by what rules name, rules that never decide, and where authority ends. Two bands leave no
// gap when one begins a smallest unit of the currency above the other's end. Rules whose amounts cannot
// be read are passed over. Of a currency with very many rules only the first are compared, and it says so.
func Coverage(rules []models.Rule) []Finding {
	byCurrency := map[string][]bandRule{}
	var currencies []string
	for _, r := range rules {
		b, ok := bandOf(r)
		if !ok {
			continue
		}
		if byCurrency[r.Currency] == nil {
			currencies = append(currencies, r.Currency)
		}
		byCurrency[r.Currency] = append(byCurrency[r.Currency], b)
	}
	slices.Sort(currencies)
	var found []Finding
	for _, c := range currencies {
		found = append(found, currencySheet{currency: c, rules: byCurrency[c]}.findings()...)
	}
	return found
}

// band is a range of amounts in the currency's smallest unit, both ends included.
type band struct{ lo, hi *big.Int }

type bandRule struct {
	models.Rule
	band
	scope Scope
}

func bandOf(r models.Rule) (bandRule, bool) {
	lo, okLo := inUnits(r.FromAmount, r.Currency)
	hi, okHi := inUnits(r.ToAmount, r.Currency)
	return bandRule{r, band{lo, hi}, ScopeOf(r)}, okLo && okHi && lo.Cmp(hi) <= 0
}

// inUnits reads an amount as a whole number of the currency's smallest unit.
func inUnits(amount, currency string) (*big.Int, bool) {
	if _, err := models.ParseMoney(amount, currency); err != nil {
		return nil, false
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	return new(big.Int).SetString(whole+fraction+strings.Repeat("0", models.CurrencyDigits(currency)-len(fraction)), 10)
}

// fromUnits is the inverse of inUnits.
func fromUnits(n *big.Int, currency string) string {
	digits := models.CurrencyDigits(currency)
	text := n.String()
	if digits == 0 {
		return text
	}
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}

var oneUnit = big.NewInt(1)

func unitAfter(n *big.Int) *big.Int  { return new(big.Int).Add(n, oneUnit) }
func unitBefore(n *big.Int) *big.Int { return new(big.Int).Sub(n, oneUnit) }

// less takes bands away from b and answers what is left, ascending.
func (b band) less(taken []band) []band {
	taken = slices.Clone(taken)
	slices.SortFunc(taken, func(x, y band) int { return x.lo.Cmp(y.lo) })
	var left []band
	at := b.lo
	for _, t := range taken {
		if t.lo.Cmp(b.hi) > 0 {
			break
		}
		if t.lo.Cmp(at) > 0 {
			left = append(left, band{at, unitBefore(t.lo)})
		}
		if after := unitAfter(t.hi); after.Cmp(at) > 0 {
			at = after
		}
	}
	if at.Cmp(b.hi) <= 0 {
		left = append(left, band{at, b.hi})
	}
	return left
}

// and is what two bands share; ok is false when they share nothing.
func (b band) and(o band) (shared band, ok bool) {
	shared = b
	if o.lo.Cmp(shared.lo) > 0 {
		shared.lo = o.lo
	}
	if o.hi.Cmp(shared.hi) < 0 {
		shared.hi = o.hi
	}
	return shared, shared.lo.Cmp(shared.hi) <= 0
}

// currencySheet is the part of a matrix that is about one currency.
type currencySheet struct {
	currency string
	rules    []bandRule
}

func (s currencySheet) findings() []Finding {
	byScope := map[Scope][]bandRule{}
	var scopes []Scope
	for _, r := range s.rules {
		if byScope[r.scope] == nil {
			scopes = append(scopes, r.scope)
		}
		byScope[r.scope] = append(byScope[r.scope], r)
	}
	// A scope comes after every one that is wider, whose gaps it need not repeat.
	slices.SortFunc(scopes, func(a, b Scope) int {
		return cmp.Or(cmp.Compare(a.named(), b.named()), slices.Compare(sliceOf(a), sliceOf(b)))
	})
	var found []Finding
	compared := s
	if len(s.rules) > maxCompared {
		// A gap found among some of the rules may be none among all.
		compared.rules = s.rules[:maxCompared]
		found = append(found, Finding{Kind: FindingOverlap, Warn: true, Currency: s.currency,
			Text: fmt.Sprintf("There are too many rules in %s to compare (%d): only the first %d are held against each other, and gaps between amounts are not looked for.", s.currency, len(s.rules), maxCompared)})
	} else {
		found = s.gaps(scopes, byScope)
	}
	found = append(found, s.above(byScope))
	if len(byScope[Scope{}]) == 0 {
		found = append(found, s.rest(scopes))
	}
	if len(compared.rules) < len(s.rules) {
		byScope = map[Scope][]bandRule{}
		for _, r := range compared.rules {
			byScope[r.scope] = append(byScope[r.scope], r)
		}
	}
	found = append(found, s.unused(scopes, byScope)...)
	return append(found, compared.overlaps()...)
}

func sliceOf(s Scope) []string { d := s.dims(); return d[:] }

// named is how many dimensions the scope names.
func (s Scope) named() int {
	n := 0
	for _, v := range s.dims() {
		if v != "" {
			n++
		}
	}
	return n
}

// gaps looks, for what each rule names, at all rules that cover it, and lists what they leave open below
// their highest limit.
func (s currencySheet) gaps(scopes []Scope, byScope map[Scope][]bandRule) []Finding {
	var found []Finding
	open := map[Scope][]band{} // gaps told of already
	for _, scope := range scopes {
		var covered, told []band
		var covering []bandRule
		top := big.NewInt(-1)
		for _, wider := range scope.wider() {
			told = append(told, open[wider]...)
			for _, r := range byScope[wider] {
				covering, covered = append(covering, r), append(covered, r.band)
				if r.hi.Cmp(top) > 0 {
					top = r.hi
				}
			}
		}
		for _, gap := range (band{big.NewInt(0), top}).less(append(covered, told...)) {
			open[scope] = append(open[scope], gap)
			found = append(found, s.gap(scope, gap, covering))
		}
	}
	return found
}

func (s currencySheet) gap(scope Scope, gap band, covering []bandRule) Finding {
	f := Finding{Kind: FindingGap, Warn: true, Currency: s.currency, Scope: scope, From: fromUnits(gap.lo, s.currency), To: fromUnits(gap.hi, s.currency)}
	f.Text = fmt.Sprintf("Nobody decides %s for %s", s.amounts(gap), scope.Text())
	var below, above *bandRule
	for i := range covering {
		r := &covering[i]
		if r.hi.Cmp(gap.lo) < 0 && (below == nil || r.hi.Cmp(below.hi) > 0) {
			below = r
		}
		if r.lo.Cmp(gap.hi) > 0 && (above == nil || r.lo.Cmp(above.lo) < 0) {
			above = r
		}
	}
	switch {
	case below != nil && above != nil && below.ID != above.ID:
		f.Rules = []string{below.ID, above.ID}
		f.Text += fmt.Sprintf(": %s ends below it and %s begins above it.", RuleName(below.ID), RuleName(above.ID))
	case above != nil:
		f.Rules = []string{above.ID}
		f.Text += fmt.Sprintf(": %s begins above it.", RuleName(above.ID))
	default:
		f.Text += "."
	}
	var filling []string
	for _, r := range s.rules {
		if r.scope == scope || !slices.Contains(r.scope.wider(), scope) {
			continue
		}
		if _, ok := r.and(gap); ok {
			f.Rules = append(f.Rules, r.ID)
			filling = append(filling, fmt.Sprintf("%s for %s", RuleName(r.ID), r.scope.Text()))
		}
	}
	if len(filling) > 0 {
		f.Text += " Only what names more reaches into it: " + strings.Join(filling, "; ") + "."
	}
	return f
}

// amounts writes a band for people: "EUR 10,000.01 to 49,999.99".
func (s currencySheet) amounts(b band) string {
	from := formatAmount(fromUnits(b.lo, s.currency), s.currency)
	if b.lo.Cmp(b.hi) == 0 {
		return from
	}
	return from + " to " + strings.TrimPrefix(formatAmount(fromUnits(b.hi, s.currency), s.currency), s.currency+" ")
}

// above says once where the currency's authority ends.
func (s currencySheet) above(byScope map[Scope][]bandRule) Finding {
	top := slices.MaxFunc(s.rules, func(a, b bandRule) int { return a.hi.Cmp(b.hi) })
	f := Finding{Kind: FindingAbove, Currency: s.currency, Scope: top.scope, From: fromUnits(unitAfter(top.hi), s.currency), Rules: []string{top.ID},
		Text: fmt.Sprintf("Nobody decides more than %s", s.amounts(band{top.hi, top.hi}))}
	if top.scope != (Scope{}) {
		f.Text += ", which is the limit for " + top.scope.Text()
	}
	f.Text += "."
	if general := byScope[Scope{}]; len(general) > 0 {
		most := slices.MaxFunc(general, func(a, b bandRule) int { return a.hi.Cmp(b.hi) })
		if most.hi.Cmp(top.hi) < 0 {
			f.Rules = append(f.Rules, most.ID)
			f.Text += fmt.Sprintf(" For what no rule names the limit is %s.", s.amounts(band{most.hi, most.hi}))
		}
	}
	return f
}

// rest says that the currency has no rule for writes that none names.
func (s currencySheet) rest(scopes []Scope) Finding {
	names := make([]string, 0, len(scopes))
	for _, sc := range scopes[:min(len(scopes), 3)] {
		names = append(names, sc.Text())
	}
	text := strings.Join(names, "; ")
	if more := len(scopes) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return Finding{Kind: FindingRest, Currency: s.currency, Text: fmt.Sprintf("In %s only what a rule names is decided (%s); there is no rule for any tool.", s.currency, text)}
}

// unused lists the rules that never come first. Only rules that name the same can stand before a rule
// everywhere: more named counts more, and less named covers more than a rule can hide.
func (s currencySheet) unused(scopes []Scope, byScope map[Scope][]bandRule) []Finding {
	var found []Finding
	for _, scope := range scopes {
		group := byScope[scope]
		for i, r := range group {
			var before []band
			var ids []string
			for j, o := range group {
				if i == j {
					continue
				}
				if _, both := r.and(o.band); both && precedes(o, r) {
					before, ids = append(before, o.band), append(ids, o.ID)
				}
			}
			if len(before) == 0 || len(r.less(before)) > 0 {
				continue
			}
			others := make([]string, len(ids))
			for k, id := range ids {
				others[k] = RuleName(id)
			}
			verb := "goes"
			if len(ids) > 1 {
				verb = "go"
			}
			found = append(found, Finding{Kind: FindingUnused, Warn: true, Currency: s.currency, Scope: scope, From: r.FromAmount, To: r.ToAmount, Rules: append(ids, r.ID),
				Text: fmt.Sprintf("%s never decides: %s %s first for all of %s (%s).", RuleName(r.ID), strings.Join(others, " and "), verb, s.amounts(r.band), scope.Text())})
		}
	}
	return found
}

// precedes says whether a goes before b for what both cover, as Match has it for a tool with a binding.
func precedes(a, b bandRule) bool {
	scope := a.scope.with(b.scope)
	shared, _ := a.and(b.band)
	amount, err := models.ParseMoney(fromUnits(shared.lo, a.Currency), a.Currency)
	if err != nil {
		return false // unreachable: both amounts were read
	}
	first, _ := Match([]models.Rule{a.Rule, b.Rule}, Wanted{Tool: scope.Tool, DocumentType: scope.DocumentType, Supplier: scope.Supplier, CostCentre: scope.CostCentre, Amount: amount})
	return first.ID == a.ID
}

// overlaps lists the pairs of rules that can cover one write, and which of them goes first. Pairs that
// differ in how much they name are an exception to a general rule, as intended; the others are worth a
// look.
func (s currencySheet) overlaps() []Finding {
	var found []Finding
	for i, a := range s.rules {
		for _, b := range s.rules[i+1:] {
			if !a.scope.meets(b.scope) {
				continue
			}
			shared, both := a.and(b.band)
			if !both {
				continue
			}
			if len(found) == maxOverlaps {
				return append(found, Finding{Kind: FindingOverlap, Warn: true, Currency: s.currency,
					Text: fmt.Sprintf("More than %d pairs of rules in %s overlap; the others are not listed.", maxOverlaps, s.currency)})
			}
			first, second := a, b
			if precedes(b, a) {
				first, second = b, a
			}
			found = append(found, s.overlap(first, second, shared))
		}
	}
	return found
}

func (s currencySheet) overlap(first, second bandRule, shared band) Finding {
	scope := first.scope.with(second.scope)
	return Finding{Kind: FindingOverlap, Warn: first.scope.named() == second.scope.named(), Currency: s.currency, Scope: scope,
		From: fromUnits(shared.lo, s.currency), To: fromUnits(shared.hi, s.currency), Rules: []string{first.ID, second.ID},
		Text: fmt.Sprintf("%s and %s both cover %s for %s; %s goes first because %s.", RuleName(first.ID), RuleName(second.ID), s.amounts(shared), scope.Text(),
			RuleName(first.ID), whyFirst(first.Rule, second.Rule))}
}

// whyFirst finishes a sentence: the winner goes first because …
func whyFirst(winner, loser models.Rule) string {
	switch {
	case dimensions(winner) != dimensions(loser):
		return "it names more"
	case winner.Required != loser.Required:
		return "it asks for more votes"
	case compareAmounts(winner.ToAmount, loser.ToAmount) != 0:
		return "its limit is lower"
	case !winner.FirstAt.Equal(loser.FirstAt.Time):
		return "it is older"
	}
	return "its id sorts first"
}

// Staffing finds the rules that the members of now cannot fill: a role nobody holds, people who left, or
// fewer different people than must say yes. Who wrote a rule never votes under it.
func Staffing(rules []models.Rule, members []models.Member, names map[string]string) []Finding {
	var found []Finding
	for _, r := range rules {
		if (Facts{Routing: Routing{Rule: copyOf(r)}}).Count(members).Status != models.RequestUnrouted {
			if gone := goneOf(r, members, names); len(gone) > 0 {
				found = append(found, staffing(r, false, fmt.Sprintf("%s still names %s, who cannot decide here any more; the others can fill it.", RuleName(r.ID), strings.Join(gone, ", "))))
			}
			continue
		}
		found = append(found, staffing(r, true, fmt.Sprintf("%s needs %s, and %s.", RuleName(r.ID), needs(r, names), lack(r, members, names))))
	}
	return found
}

func staffing(r models.Rule, warn bool, text string) Finding {
	return Finding{Kind: FindingStaffing, Warn: warn, Currency: r.Currency, Scope: ScopeOf(r), From: r.FromAmount, To: r.ToAmount, Rules: []string{r.ID}, Text: text}
}

// stepsOf are the roles or people a rule asks, one after the other; one step unless the rule says who
// comes second.
func stepsOf(r models.Rule) []models.Rule {
	steps := []models.Rule{{Role: r.Role, People: r.People}}
	if second := (models.Rule{Role: r.ThenRole, People: r.ThenPeople}); second.Role != "" || len(peopleOf(second)) > 0 {
		steps = append(steps, second)
	}
	return steps
}

// needs says in words whose yes a rule asks for.
func needs(r models.Rule, names map[string]string) string {
	steps := stepsOf(r)
	first := copyOf(steps[0]).Who(names)
	switch {
	case len(steps) > 1:
		return fmt.Sprintf("one yes of %s and then one of %s", first, copyOf(steps[1]).Who(names))
	case r.Required > 1:
		return fmt.Sprintf("%d different people of %s", r.Required, first)
	}
	return "one yes of " + first
}

// lack says why a rule cannot be filled.
func lack(r models.Rule, members []models.Member, names map[string]string) string {
	var why []string
	for _, step := range stepsOf(r) {
		who := copyOf(step).Who(names)
		var able []string
		author := ""
		for _, m := range members {
			switch {
			case !fills(step, m):
			case r.AuthorID != nil && *r.AuthorID == m.User.ID:
				author = m.User.Name
			default:
				able = append(able, m.User.Name)
			}
		}
		switch {
		case len(able) == 0 && author != "":
			why = append(why, fmt.Sprintf("only %s is there for it, who wrote this version", author))
		case len(able) == 0 && step.Role != "":
			why = append(why, "no active person is "+who)
		case len(able) == 0:
			why = append(why, who+" cannot decide here any more")
		case len(able) == 1 && r.Required > 1:
			text := "only " + able[0] + " is there for it"
			if author != "" {
				text += " besides " + author + ", who wrote this version"
			}
			why = append(why, text)
		}
	}
	if len(why) == 0 {
		return "too few active people can"
	}
	return strings.Join(slices.Compact(why), ", and ")
}

// fills says whether a member holds a step's role or place.
func fills(at models.Rule, m models.Member) bool {
	if m.User.Kind != models.KindPerson {
		return false
	}
	if at.Role != "" {
		return m.Has(at.Role)
	}
	return slices.Contains(peopleOf(at), m.User.ID) && m.Has(append(slices.Clone(deciders), models.RoleAdmin)...)
}

// goneOf names the people of a rule who cannot decide any more.
func goneOf(r models.Rule, members []models.Member, names map[string]string) []string {
	var gone []string
	for _, list := range []string{r.People, r.ThenPeople} {
		at := models.Rule{People: list}
		for _, id := range peopleOf(at) {
			there := slices.ContainsFunc(members, func(m models.Member) bool { return m.User.ID == id && fills(at, m) })
			if name := orID(names[id], id); !there && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
	}
	return gone
}

func orID(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// Unbound finds the rules that name a tool whose values the desk cannot find in a call.
func Unbound(rules []models.Rule, bindings map[string]models.Binding) []Finding {
	var found []Finding
	for _, r := range rules {
		if _, bound := bindings[r.Tool]; r.Tool == "" || bound {
			continue
		}
		found = append(found, Finding{Kind: FindingBinding, Warn: true, Currency: r.Currency, Scope: ScopeOf(r), From: r.FromAmount, To: r.ToAmount, Rules: []string{r.ID},
			Text: fmt.Sprintf("%s names the tool %s, which has no pointers: nobody compares the amount asked for with the call, so the rule with the highest limit decides about it.",
				RuleName(r.ID), r.Tool)})
	}
	return found
}
