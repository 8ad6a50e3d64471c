package approvals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apdesk/apdesk/models"
)

func TestHowMuchADelegateHasALimitFor(t *testing.T) {
	t.Parallel()
	ines, karl := member("ines", models.RoleFinanceLead), member("karl", models.RoleAPLead)
	rule := func(role models.Role, from, to string, change ...func(*models.Rule)) models.Rule {
		r := models.Rule{Currency: "EUR", FromAmount: from, ToAmount: to, Role: role, Required: 1}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	hers := func(from, to string, change ...func(*models.Rule)) models.Rule {
		return rule(models.RoleFinanceLead, from, to, change...)
	}
	his := func(from, to string, change ...func(*models.Rule)) models.Rule {
		return rule(models.RoleAPLead, from, to, change...)
	}
	tool := func(name string) func(*models.Rule) { return func(r *models.Rule) { r.Tool = name } }
	kind := func(name string) func(*models.Rule) { return func(r *models.Rule) { r.DocumentType = name } }
	by := func(name string) func(*models.Rule) { return func(r *models.Rule) { r.AuthorID = &name } }
	two := func(r *models.Rule) { r.Required = 2 }
	dollars := func(r *models.Rule) { r.Currency = "USD" }
	for name, c := range map[string]struct {
		rules    []models.Rule
		document string
		want     Reach
	}{
		"no rule names her":                             {[]models.Rule{his("0", "10")}, "", Reach{}},
		"no rule names him":                             {[]models.Rule{hers("0", "10")}, "", Reach{Rules: 1}},
		"his goes as high":                              {[]models.Rule{hers("0", "10"), his("0", "10")}, "", Reach{Rules: 1, Full: 1}},
		"his ends within hers":                          {[]models.Rule{hers("0", "10"), his("0", "9")}, "", Reach{Rules: 1, Part: 1}},
		"his ends where hers begins":                    {[]models.Rule{hers("10", "20"), his("0", "10")}, "", Reach{Rules: 1, Part: 1}},
		"his ends below hers":                           {[]models.Rule{hers("10", "20"), his("0", "9.99")}, "", Reach{Rules: 1}},
		"only in another currency":                      {[]models.Rule{hers("0", "10"), his("0", "10", dollars)}, "", Reach{Rules: 1}},
		"only for another tool":                         {[]models.Rule{hers("0", "10", tool("post")), his("0", "10", tool("notify"))}, "", Reach{Rules: 1}},
		"for one tool of all":                           {[]models.Rule{hers("0", "10"), his("0", "10", tool("post"))}, "", Reach{Rules: 1, Part: 1}},
		"a tool without pointers takes the whole limit": {[]models.Rule{hers("0", "10", tool("other")), his("0", "9")}, "", Reach{Rules: 1}},
		"only for another document type":                {[]models.Rule{hers("0", "10", kind("KR")), his("0", "10", kind("KG"))}, "", Reach{Rules: 1}},
		"for the document type that is delegated":       {[]models.Rule{hers("0", "10"), his("0", "10", kind("KG"))}, "KG", Reach{Rules: 1, Full: 1}},
		"not for the one that is":                       {[]models.Rule{hers("0", "10"), his("0", "10", kind("KG"))}, "KR", Reach{Rules: 1}},
		"hers for another than is delegated":            {[]models.Rule{hers("0", "10", kind("KG")), his("0", "10")}, "KR", Reach{}},
		"his only together with somebody":               {[]models.Rule{hers("0", "10"), his("0", "10", two)}, "", Reach{Rules: 1}},
		"where hers asks two as well":                   {[]models.Rule{hers("0", "10", two), his("0", "10", two)}, "", Reach{Rules: 1, Full: 1}},
		"his by a rule he wrote":                        {[]models.Rule{hers("0", "10"), his("0", "10", by("karl"))}, "", Reach{Rules: 1}},
		"hers by a rule he wrote":                       {[]models.Rule{hers("0", "10", by("karl")), his("0", "10")}, "", Reach{Rules: 1}},
		"a rule she wrote is not hers to decide":        {[]models.Rule{hers("0", "10", by("ines")), his("0", "10")}, "", Reach{}},
		"several":                                       {[]models.Rule{hers("0", "10"), hers("11", "50"), hers("51", "99"), his("0", "20")}, "", Reach{Rules: 3, Full: 1, Part: 1}},
	} {
		if got := reach(c.rules, c.rules, map[string]models.Binding{"post": {}, "notify": {}}, ines, karl, c.document); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What is said to be out of reach never moves: random rules, and random requests that they route.
func TestNothingMovesThatIsOutOfReach(t *testing.T) {
	t.Parallel()
	nothing, moved := 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		pick := func(list ...string) string { return list[rng.IntN(len(list))] }
		from, to := member("ines", models.RoleFinanceLead), member("karl", models.RoleAPLead)
		var rules []models.Rule
		for i := range 2 + rng.IntN(4) {
			low := rng.IntN(50)
			r := models.Rule{ID: fmt.Sprint(i), Currency: pick("EUR", "EUR", "USD"), FromAmount: fmt.Sprint(low), ToAmount: fmt.Sprint(low + rng.IntN(60)), Required: 1 + rng.IntN(2),
				Tool: pick("", "", "", "post", "other"), DocumentType: pick("", "", "KR", "KG"), Role: []models.Role{models.RoleFinanceLead, models.RoleAPLead}[rng.IntN(2)]}
			if author := pick("", "", "", "", "", "", "ines", "karl"); author != "" {
				r.AuthorID = &author
			}
			rules = append(rules, r)
		}
		kind, bindings := pick("", "KR"), map[string]models.Binding{"post": {}}
		out := reach(rules, rules, bindings, from, to, kind).Nothing()
		if out {
			nothing++
		}
		for range 20 {
			amount, err := models.ParseMoney(fmt.Sprint(rng.IntN(100)), pick("EUR", "USD"))
			if err != nil {
				t.Fatal(err)
			}
			r := models.ApprovalRequest{Tool: pick("post", "other"), DocumentType: pick("", "KR", "KG"), Amount: amount.Text(), Currency: amount.Currency()}
			_, bound := bindings[r.Tool]
			book := ruleBook{rules: rules}
			f := Facts{Routing: book.route(Wanted{Tool: r.Tool, DocumentType: r.DocumentType, Amount: amount, Unbound: !bound})}
			if f.Routing.Rule == nil {
				continue
			}
			s := standIns{delegations: []models.Delegation{{ID: "d", FromID: "ines", ToID: &to.User.ID, DocumentType: kind}},
				members: map[string]models.Member{"ines": from, "karl": to}, rules: rules, bindings: bindings, limits: map[limitKey]string{}}
			if f.Substitutes, err = s.on(r, f); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(f.board([]models.Member{from, to}).seats, func(s seat) bool { return s.by != nil }) {
				continue
			}
			if moved++; out {
				t.Fatalf("seed %d: it is said that nothing moves, and %+v does under %+v", seed, r, rules)
			}
		}
	}
	if nothing < 500 || moved < 200 {
		t.Fatalf("too little happened: nothing in reach %d times, %d moved", nothing, moved)
	}
}

func member(name string, roles ...models.Role) models.Member {
	return models.Member{User: models.User{ID: name, Name: name, Kind: models.KindPerson, Active: true}, Roles: roles}
}
