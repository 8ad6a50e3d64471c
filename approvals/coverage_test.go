package approvals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// row writes a rule of finance leads: "eur 0 1000", or with what it names "eur 0 1000 tool=x".
func row(id, text string) models.Rule {
	f := strings.Fields(text)
	r := models.Rule{ID: id, Version: 1, Currency: strings.ToUpper(f[0]), FromAmount: f[1], ToAmount: f[2], Role: models.RoleFinanceLead, People: "[]", ThenPeople: "[]",
		Required: 1, ValidSeconds: 60, FirstAt: models.At(time.Unix(0, 0))}
	for _, more := range f[3:] {
		what, value, _ := strings.Cut(more, "=")
		switch what {
		case "tool":
			r.Tool = value
		case "type":
			r.DocumentType = value
		case "supplier":
			r.Supplier = value
		case "centre":
			r.CostCentre = value
		case "two":
			r.Required = 2
		}
	}
	return r
}

func matrix(rows ...string) []models.Rule {
	var rules []models.Rule
	for i, text := range rows {
		rules = append(rules, row(string(rune('a'+i)), text))
	}
	return rules
}

func texts(found []Finding, kinds ...FindingKind) []string {
	list := []string{}
	for _, f := range found {
		if slices.Contains(kinds, f.Kind) {
			list = append(list, f.Text)
		}
	}
	return list
}

func TestCoverageSaysWhatAMatrixLeavesOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rows []string
		want []string
	}{
		{"a matrix without rules says nothing", nil, nil},
		{"bands that meet at the smallest unit leave no gap", []string{"eur 0 10000", "eur 10000.01 50000"}, nil},
		{"a yen is the smallest unit of yen", []string{"jpy 0 1000", "jpy 1001 5000"}, nil},
		{"three decimals of a dinar are three", []string{"kwd 0 10", "kwd 10.01 50"}, []string{
			"Nobody decides KWD 10.001 to 10.009 for any tool: Rule A ends below it and Rule B begins above it."}},
		{"a gap between two bands", []string{"eur 0 10000", "eur 50000 90000"}, []string{
			"Nobody decides EUR 10,000.01 to 49,999.99 for any tool: Rule A ends below it and Rule B begins above it."}},
		{"a gap of one cent", []string{"eur 0 10000", "eur 10000.02 90000"}, []string{
			"Nobody decides EUR 10,000.01 for any tool: Rule A ends below it and Rule B begins above it."}},
		{"a gap below the first band", []string{"eur 100 200"}, []string{"Nobody decides EUR 0.00 to 99.99 for any tool: Rule A begins above it."}},
		{"a narrow band within a wide one is no gap", []string{"eur 0 100", "eur 10 20"}, nil},
		{"a rule for a tool fills a part of the gap, and the gap stays for the rest", []string{"eur 0 10", "eur 20 30", "eur 12 15 tool=pay"}, []string{
			"Nobody decides EUR 10.01 to 19.99 for any tool: Rule A ends below it and Rule B begins above it. Only what names more reaches into it: Rule C for tool pay."}},
		{"what a tool's own rules leave open is told for the tool", []string{"eur 0 10", "eur 50 60 tool=pay"}, []string{
			"Nobody decides EUR 10.01 to 49.99 for tool pay: Rule A ends below it and Rule B begins above it."}},
		{"a general rule closes the gap of a narrower one", []string{"eur 0 100", "eur 0 10 supplier=V", "eur 20 30 supplier=V"}, nil},
		{"currencies stand apart", []string{"eur 0 10", "usd 20 30"}, []string{"Nobody decides USD 0.00 to 19.99 for any tool: Rule B begins above it."}},
	} {
		if got := texts(Coverage(matrix(c.rows...)), FindingGap); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCoverageSaysWhichOfTwoRulesGoesFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rows []string
		want []string
		warn bool
	}{
		{"bands that touch in one cent", []string{"eur 0 100", "eur 100 200"}, []string{
			"Rule A and Rule B both cover EUR 100.00 for any tool; Rule A goes first because its limit is lower."}, true},
		{"naming more wins, and that is meant", []string{"eur 500 2000", "eur 0 1000 tool=pay"}, []string{
			"Rule B and Rule A both cover EUR 500.00 to 1,000.00 for tool pay; Rule B goes first because it names more."}, false},
		{"different names meet in one write", []string{"eur 0 10 tool=pay", "eur 0 20 supplier=V"}, []string{
			"Rule A and Rule B both cover EUR 0.00 to 10.00 for tool pay, supplier V; Rule A goes first because its limit is lower."}, true},
		{"more votes win", []string{"eur 0 10", "eur 0 10 two"}, []string{
			"Rule B and Rule A both cover EUR 0.00 to 10.00 for any tool; Rule B goes first because it asks for more votes."}, true},
		{"of equals the older or the first by id", []string{"eur 0 10", "eur 0 10"}, []string{
			"Rule A and Rule B both cover EUR 0.00 to 10.00 for any tool; Rule A goes first because its id sorts first."}, true},
		{"different tools never meet", []string{"eur 0 10 tool=pay", "eur 0 10 tool=post"}, nil, false},
		{"different currencies never meet", []string{"eur 0 10", "usd 0 10"}, nil, false},
	} {
		found := slices.DeleteFunc(Coverage(matrix(c.rows...)), func(f Finding) bool { return f.Kind != FindingOverlap })
		if got := texts(found, FindingOverlap); len(got)+len(c.want) > 0 && !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		for _, f := range found {
			if f.Warn != c.warn {
				t.Errorf("%s: warned %v", c.name, f.Warn)
			}
		}
	}
}

func TestCoverageFindsRulesThatNeverDecide(t *testing.T) {
	t.Parallel()
	got := texts(Coverage(matrix("eur 0 100", "eur 0 50 two", "eur 50.01 100 two", "eur 0 100 tool=pay")), FindingUnused)
	want := []string{"Rule A never decides: Rule B and Rule C go first for all of EUR 0.00 to 100.00 (any tool)."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCoverageSaysOnceWhereAuthorityEnds(t *testing.T) {
	t.Parallel()
	got := texts(Coverage(matrix("eur 0 100", "eur 100.01 500", "eur 0 900 tool=pay", "usd 0 10 tool=pay")), FindingAbove, FindingRest)
	want := []string{"Nobody decides more than EUR 900.00, which is the limit for tool pay. For what no rule names the limit is EUR 500.00.",
		"Nobody decides more than USD 10.00, which is the limit for tool pay.",
		"In USD only what a rule names is decided (tool pay); there is no rule for any tool."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCoverageAgreesWithMatch compares the findings on random matrices with what Match says of every
// single write.
func TestCoverageAgreesWithMatch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 2))
	values := []string{"", "", "x", "y"}
	const top = 24
	for round := range 400 {
		var rules []models.Rule
		for i := range rng.IntN(7) {
			lo := rng.IntN(top)
			r := row(fmt.Sprintf("rule_%d", i), fmt.Sprintf("jpy %d %d", lo, lo+rng.IntN(top-lo)))
			r.Tool, r.Supplier, r.Required = values[rng.IntN(4)], values[rng.IntN(4)], 1+rng.IntN(2)
			rules = append(rules, r)
		}
		found := Coverage(rules)
		decides := map[string]bool{}
		for _, tool := range []string{"x", "y", "other"} {
			for _, supplier := range []string{"x", "y", "other"} {
				for amount := range top + 1 {
					money, err := models.ParseMoney(fmt.Sprint(amount), "JPY")
					if err != nil {
						t.Fatal(err)
					}
					w := Wanted{Tool: tool, Supplier: supplier, Amount: money}
					var covering []string
					under := false // some rule that could cover such a write reaches this high
					for _, r := range rules {
						if misses(r, w) == "" {
							covering = append(covering, r.ID)
						}
						named := row("", "jpy 0 "+r.ToAmount)
						named.Tool, named.Supplier = r.Tool, r.Supplier
						under = under || misses(named, w) == ""
					}
					winner, ok := Match(rules, w)
					decides[winner.ID] = true
					inGap := false
					for _, f := range found {
						if f.Kind == FindingGap && holds(f, w) {
							inGap = true
						}
					}
					// A gap told of a wider scope may be filled by a rule that names more, and says so.
					if !ok && under && !inGap {
						t.Fatalf("round %d: nobody decides %+v, and no finding says so: %+v in %+v", round, w, found, rules)
					}
					if inGap && !under {
						t.Fatalf("round %d: %+v is above every limit, and a finding calls it a gap", round, w)
					}
					for i, a := range covering {
						for _, b := range covering[i+1:] {
							if !slices.ContainsFunc(found, func(f Finding) bool {
								return f.Kind == FindingOverlap && holds(f, w) && slices.Contains(f.Rules, a) && slices.Contains(f.Rules, b)
							}) {
								t.Fatalf("round %d: %s and %s both cover %+v, and no finding says so", round, a, b, w)
							}
						}
					}
					for _, f := range found {
						if f.Kind == FindingOverlap && holds(f, w) && len(covering) == 2 && winner.ID != f.Rules[0] {
							t.Fatalf("round %d: %s wins for %+v, and a finding says %s", round, winner.ID, w, f.Rules[0])
						}
					}
				}
			}
		}
		for _, f := range found {
			if f.Kind == FindingUnused && decides[f.Rules[len(f.Rules)-1]] {
				t.Fatalf("round %d: %q, but it does: %+v", round, f.Text, rules)
			}
			if f.Kind != FindingGap {
				continue
			}
			// In a gap nobody decides about a write that names just what the finding names.
			for amount := range top + 1 {
				money, _ := models.ParseMoney(fmt.Sprint(amount), "JPY")
				w := Wanted{Tool: orSomething(f.Scope.Tool), Supplier: orSomething(f.Scope.Supplier), Amount: money}
				if _, ok := Match(rules, w); ok && holds(f, w) {
					t.Fatalf("round %d: %q, but somebody decides %+v", round, f.Text, w)
				}
			}
		}
	}
}

func orSomething(s string) string {
	if s == "" {
		return "other"
	}
	return s
}

// holds says whether a write falls under a finding.
func holds(f Finding, w Wanted) bool {
	amount := w.Amount.Text()
	return (f.Scope.Tool == "" || f.Scope.Tool == w.Tool) && (f.Scope.Supplier == "" || f.Scope.Supplier == w.Supplier) &&
		compareAmounts(f.From, amount) <= 0 && compareAmounts(amount, f.To) <= 0
}

func TestStaffingSaysWhichRulesNobodyCanFill(t *testing.T) {
	t.Parallel()
	names := map[string]string{"lars": "Lars", "gone": "Greta", "clara": "Clara", "audrey": "Audrey"}
	written := func(r models.Rule, by string) models.Rule { r.AuthorID = &by; return r }
	people := func(r models.Rule, list string) models.Rule { r.Role, r.People = "", list; return r }
	role := func(r models.Rule, role models.Role) models.Rule { r.Role = role; return r }
	for _, c := range []struct {
		name string
		rule models.Rule
		want string
		warn bool
	}{
		{"finance leads are there", row("a", "eur 0 10 two"), "", false},
		{"nobody holds the role", role(row("a", "eur 0 10"), models.RoleMasterData), "Rule A needs one yes of Master data, and no active person is Master data.", true},
		{"two are needed and one is there", role(row("a", "eur 0 10 two"), models.RoleAPLead), "Rule A needs 2 different people of AP lead, and only lars is there for it.", true},
		{"the only one wrote the rule", written(role(row("a", "eur 0 10"), models.RoleAPLead), "lars"), "Rule A needs one yes of AP lead, and only lars is there for it, who wrote this version.", true},
		{"the person named is gone", people(row("a", "eur 0 10"), `["gone"]`), "Rule A needs one yes of Greta, and Greta cannot decide here any more.", true},
		{"one of those named is gone", people(row("a", "eur 0 10"), `["gone","clara"]`), "Rule A still names Greta, who cannot decide here any more; the others can fill it.", false},
		{"who only reads decides nothing", people(row("a", "eur 0 10"), `["audrey"]`), "Rule A needs one yes of Audrey, and Audrey cannot decide here any more.", true},
	} {
		found := Staffing([]models.Rule{c.rule}, cast(), names)
		got := strings.Join(texts(found, FindingStaffing), " ")
		if got != c.want || (len(found) > 0 && found[0].Warn != c.warn) {
			t.Errorf("%s: got %q (%+v), want %q", c.name, got, found, c.want)
		}
	}
}

func TestARuleForAToolWithoutPointersIsToldOf(t *testing.T) {
	t.Parallel()
	found := Unbound(matrix("eur 0 10", "eur 0 10 tool=post_invoice_adjustment", "eur 0 10 tool=pay"), models.DefaultBindings())
	if len(found) != 1 || !slices.Equal(found[0].Rules, []string{"c"}) || !strings.Contains(found[0].Text, "Rule C names the tool pay, which has no pointers") {
		t.Errorf("got %+v", found)
	}
}

func FuzzUnitsOfAnAmountAreTheAmount(f *testing.F) {
	f.Add("10000.01", "EUR")
	f.Add("0", "JPY")
	f.Add("1.5", "KWD")
	f.Fuzz(func(t *testing.T, amount, currency string) {
		n, ok := inUnits(amount, currency)
		if !ok || strings.HasPrefix(amount, "-") {
			return
		}
		if back := fromUnits(n, currency); compareAmounts(back, amount) != 0 {
			t.Errorf("%s %s is %s units, which are %s", currency, amount, n, back)
		}
	})
}
