package approvals

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// sheetRoster are the people a sheet can name.
func sheetRoster() roster {
	r := roster{}
	for _, m := range cast() {
		if m.User.Kind == models.KindPerson {
			m.User.Email = m.User.ID + "@example.com"
			r[m.User.Email] = m
		}
	}
	return r
}

// viewsOf are rules with the people of the cast, and one who left.
func viewsOf(rules []models.Rule) []RuleView {
	views := make([]RuleView, len(rules))
	for i, r := range rules {
		v := RuleView{Rule: r, Valid: copyOf(r).Valid()}
		for step, at := range stepsOf(r) {
			var people []models.User
			for _, id := range peopleOf(at) {
				people = append(people, models.User{ID: id, Name: id, Email: id + "@example.com"})
			}
			if step == 0 {
				v.People = people
			} else {
				v.ThenPeople = people
			}
		}
		views[i] = v
	}
	return views
}

func problemTexts(problems []SheetProblem) []string {
	list := []string{}
	for _, p := range problems {
		list = append(list, p.String())
	}
	return list
}

func TestASheetIsReadHowSpreadsheetsWriteIt(t *testing.T) {
	t.Parallel()
	want := []NewRule{
		{Tool: "pay, now", Currency: "EUR", From: "0", To: "1000.50", Role: models.RoleFinanceLead, Required: 2, Valid: 90 * time.Minute},
		{Currency: "EUR", From: "1000.51", To: "5000", People: []string{"frank@example.com", "grace@example.com"}, ThenRole: models.RoleAPLead, Valid: 72 * time.Hour},
	}
	header := "Currency,from,to,role,people,then role,required,valid,tool\n"
	rows := "eur,0,1000.50,Finance lead,,,2,90m,\"pay, now\"\n,,,,,,,,\nEUR,1000.51,5000,,frank@example.com grace@example.com,AP Lead,,3d,\n"
	semicolons := strings.NewReplacer("\"pay, now\"", "\"pay, now\"", ",", ";").Replace
	for name, text := range map[string]string{
		"commas":        header + rows,
		"BOM and CRLF":  "\ufeff" + strings.ReplaceAll(header+rows, "\n", "\r\n"),
		"semicolons":    strings.ReplaceAll(semicolons(header+rows), "pay; now", "pay, now"),
		"sep= line":     "sep=;\n" + strings.ReplaceAll(semicolons(header+rows), "pay; now", "pay, now"),
		"tabs":          strings.ReplaceAll(strings.ReplaceAll(header+rows, ",", "\t"), "pay\t now", "pay, now"),
		"CR alone":      strings.ReplaceAll(header+rows, "\n", "\r"),
		"no last break": strings.TrimSuffix(header+rows, "\n"),
	} {
		lines, problems := readSheet([]byte(text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problemTexts(problems))
			continue
		}
		if len(lines) != 2 {
			t.Errorf("%s: %d lines", name, len(lines))
			continue
		}
		for i := range want {
			if got := fmt.Sprintf("%+v", lines[i].rule); got != fmt.Sprintf("%+v", want[i]) {
				t.Errorf("%s: line %d is %s, want %+v", name, i, got, want[i])
			}
		}
	}
}

func TestEveryProblemOfASheetIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	before := viewsOf([]models.Rule{row("rule_a", "eur 0 10"), row("rule_b", "eur 11 20")})
	for _, c := range []struct {
		name, sheet string
		want        []string
	}{
		{"nothing in it", "", []string{"The sheet is empty. Its first line names the columns: " + strings.Join(SheetColumns(), ", ") + "."}},
		{"columns nobody knows, twice or missing", "currency,from,from,colour\n", []string{
			"Line 1: the column from stands twice",
			`Line 1: "colour" is no column; the columns are ` + strings.Join(SheetColumns(), ", "),
			"Line 1: the column to is missing", "Line 1: the columns role and people are missing; a rule names either"}},
		{"several lines, several problems", "currency,from,to,role,people,required,valid\nEUR,10,5,finance_lead,,3,soon\nEURO,1,2,agent,,1,1h\nEUR,1e3,-2,,nobody@example.com,0,1h\n", []string{
			"Line 2, column valid: must be a length of time such as 24h, 90m or 3d",
			"Line 2, column to: must not be below 10", "Line 2, column required: must be 1 or 2 people",
			"Line 3, column currency: must be an ISO 4217 currency code such as EUR",
			`Line 3, column role: must be one of ap_clerk, ap_lead, procurement, finance_lead, master_data; "agent" cannot decide`,
			"Line 4, column required: must be 1 or 2 people",
			`Line 4, column from: must be a plain decimal such as "1234.50", without separators, sign "+" or exponent`,
			"Line 4, column to: must not be negative: the amount counts without its sign",
			`Line 4, column people: "nobody@example.com" is no active person of this workspace`}},
		{"a rule that is not there, and one named twice", "rule,currency,from,to,role\nrule_x,EUR,0,10,finance_lead\nrule_a,EUR,0,11,finance_lead\nrule_a,EUR,0,12,finance_lead\n", []string{
			`Line 2, column rule: "rule_x" is no rule in force of this workspace; leave it empty to add a rule`,
			"Line 4, column rule: Rule RULE_A stands on line 3 too"}},
		{"a rule that changed since the export", "rule,version,currency,from,to,role\nrule_a,7,EUR,0,11,finance_lead\n", []string{
			"Line 2, column version: the rule is at version 1 by now and this sheet was made from version 7; export the rules again and repeat the change there"}},
		{"the same new rule twice", "currency,from,to,role\nUSD,0,1,ap_lead\nUSD,0.00,1,ap_lead\n", []string{"Line 3: says the same as line 2"}},
		{"cells without a column", "currency,from,to,role\nUSD,0,1,ap_lead,oops\n", []string{"Line 2: has more cells than there are columns; put text that holds the separator into quotes"}},
		{"a quote that does not end", "currency,from,to,role\nUSD,0,1,ap_lead\nUSD,\"0,1,ap_lead\n", []string{`Line 4: cannot be read: extraneous or missing " in quoted-field (character 0)`}},
		{"no UTF-8", "currency,from,to,role,tool\nUSD,0,1,ap_lead,\xe4\n", []string{"Line 2: holds bytes that are no UTF-8 text; save the sheet as CSV UTF-8"}},
		{"too much", strings.Repeat("x", MaxSheetBytes+1), []string{"The sheet has more than 1024 kB."}},
		{"too many", "currency,from,to,role\n" + strings.Repeat("USD,0,1,ap_lead\n", MaxSheetLines+1), []string{"The sheet has more than 5000 rules."}},
		{"one after the other needs two, of different people", "currency,from,to,role,people,then_people,required\nUSD,0,1,ap_lead,,grace@example.com,1\nUSD,0,2,,grace@example.com,grace@example.com,\n", []string{
			"Line 2, column required: must be 2 people when the rule says who comes second",
			"Line 3, column then_people: must name somebody else than who comes first"}},
	} {
		lines, problems := readSheet([]byte(c.sheet))
		if !fatal(problems) {
			problems = append(problems, match(lines, before, sheetRoster()).Problems...)
		}
		slices.SortStableFunc(problems, func(a, b SheetProblem) int { return a.Line - b.Line })
		if got := problemTexts(problems); !slices.Equal(got, c.want) && !(c.name == "a quote that does not end" && len(got) == 1 && strings.Contains(got[0], "cannot be read")) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// fatal says whether a sheet could not be read to its end.
func fatal(problems []SheetProblem) bool {
	return slices.ContainsFunc(problems, func(p SheetProblem) bool { return p.Line == 0 || p.Line == 1 || strings.Contains(p.Message, "UTF-8") })
}

func TestASheetSaysWhatItWouldChange(t *testing.T) {
	t.Parallel()
	rules := []models.Rule{row("rule_a", "eur 0 10"), row("rule_b", "eur 10.01 20 tool=pay"), row("rule_c", "usd 0 5")}
	rules[0].Role, rules[0].People = "", `["gone","frank"]`
	for i := range rules {
		rules[i].ValidSeconds = int64(DefaultValid / time.Second)
	}
	before := viewsOf(rules)
	plan := func(sheet string) SheetPlan {
		lines, problems := readSheet([]byte(sheet))
		if len(problems) > 0 {
			t.Fatal(problemTexts(problems))
		}
		p := match(lines, before, sheetRoster())
		if len(p.Problems) > 0 {
			t.Fatal(problemTexts(p.Problems))
		}
		return p
	}
	// rule_a stays although one of its people left; rule_b is found by what it covers, and asks two now;
	// rule_c is not in the sheet.
	p := plan("currency,tool,from,to,role,people,required\nEUR,,0.00,10,,gone@example.com frank@example.com,\nEUR,pay,10.01,20.00,finance_lead,,2\nJPY,,0,7,ap_lead,,\n")
	if p.Unchanged != 1 || len(p.Added) != 1 || len(p.Changed) != 1 || len(p.Retired) != 1 {
		t.Fatalf("got %+v", p)
	}
	if c := p.Changed[0]; c.Before.Rule.ID != "rule_b" || c.Line != 3 || c.After.Rule.Required != 2 {
		t.Errorf("changed %+v", c)
	}
	if p.Added[0].After.Rule.Currency != "JPY" || p.Retired[0].Before.Rule.ID != "rule_c" {
		t.Errorf("added %+v, retired %+v", p.Added[0], p.Retired[0])
	}
	if fields := differences(*p.Changed[0].Before, *p.Changed[0].After); len(fields) != 1 || fields[0] != (FieldChange{"How many", "one person", "two people together"}) {
		t.Errorf("the change reads %+v", fields)
	}
	// Named by its id a rule may change whatever it covers.
	if p := plan("rule,currency,from,to,role\nrule_c,EUR,100,200,ap_lead\n"); len(p.Changed) != 1 || p.Changed[0].Before.Rule.ID != "rule_c" || len(p.Retired) != 2 {
		t.Errorf("got %+v", p)
	}
}

// randomRules are up to eleven rules of every make.
func randomRules(rng *rand.Rand) []models.Rule {
	words := []string{"", "", "pay", "=1+1", "'=x", "-12.50", "-x", "@sum", "a,b", `say "no"`, "a;b", "'quoted'", "＝x", "ümlaut", "'-12.50", "1.5", "1;=1+1", `a;"=1"`, "x\u202ey", "[U+202E]", "'[U+202E]"}
	roles := []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleProcurement}
	people := []string{"[]", `["frank"]`, `["grace","frank"]`, `["gone","clara"]`}
	var rules []models.Rule
	for i := range rng.IntN(12) {
		r := row(fmt.Sprintf("rule_%d", i), fmt.Sprintf("eur %d.%02d 1000", rng.IntN(999), rng.IntN(100)))
		r.Tool, r.DocumentType, r.Supplier, r.CostCentre = words[rng.IntN(len(words))], words[rng.IntN(len(words))], words[rng.IntN(len(words))], words[rng.IntN(len(words))]
		if rng.IntN(3) == 0 {
			r.Currency, r.FromAmount, r.ToAmount = "JPY", "0", fmt.Sprint(rng.IntN(3))
		}
		r.Role, r.Required, r.ValidSeconds, r.Version = roles[rng.IntN(3)], 1+rng.IntN(2), []int64{1, 60, 5400, 86400}[rng.IntN(4)], 1+rng.Int64N(5)
		if rng.IntN(3) == 0 {
			r.Role, r.People = "", people[1+rng.IntN(3)]
		}
		if rng.IntN(4) == 0 {
			r.ThenRole, r.Required = models.RoleAPLead, 2
		} else if rng.IntN(4) == 0 {
			r.ThenPeople, r.Required = people[1+rng.IntN(3)], 2
		}
		rules = append(rules, r)
	}
	return rules
}

// TestAnExportImportedAgainChangesNothing writes random matrices and reads them, with their ids and
// without.
func TestAnExportImportedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 5))
	for round := range 300 {
		rules := randomRules(rng)
		before := viewsOf(rules)
		sheet, err := writeSheet(before)
		if err != nil {
			t.Fatal(err)
		}
		modelstest.Rows(t, string(sheet))
		for _, text := range [][]byte{sheet, bytes.ReplaceAll(sheet, []byte("\r\n"), []byte("\n")), withoutIDs(t, sheet)} {
			lines, problems := readSheet(text)
			plan := match(lines, before, sheetRoster())
			if len(problems)+len(plan.Problems) > 0 || plan.Changes() != 0 || plan.Unchanged != len(rules) {
				t.Fatalf("round %d: %v %+v\n%s", round, problemTexts(append(problems, plan.Problems...)), plan, text)
			}
		}
	}
}

// A column that a sheet leaves out changes nothing of a rule that stands, whichever it is and however the
// line finds its rule.
func TestAColumnThatIsLeftOutLeavesWhatStands(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 3))
	needed := []string{colCurrency, colFrom, colTo}
	for round := range 600 {
		rules := randomRules(rng)
		before := viewsOf(rules)
		sheet, err := writeSheet(before)
		if err != nil {
			t.Fatal(err)
		}
		var dropped []string
		for _, c := range SheetColumns() {
			if !slices.Contains(needed, c) && rng.IntN(3) == 0 {
				dropped = append(dropped, c)
			}
		}
		if slices.Contains(dropped, colRole) && slices.Contains(dropped, colPeople) {
			continue // a sheet names who decides
		}
		lines, problems := readSheet(withoutColumns(t, sheet, dropped))
		plan := match(lines, before, sheetRoster())
		if len(problems)+len(plan.Problems) > 0 || plan.Changes() != 0 || plan.Unchanged != len(rules) {
			t.Fatalf("round %d without %v: %v %+v\n%s", round, dropped, problemTexts(append(problems, plan.Problems...)), plan, sheet)
		}
	}
}

// withoutColumns takes columns out of a sheet.
func withoutColumns(t *testing.T, sheet []byte, columns []string) []byte {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(sheet)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	head := slices.Clone(records[0])
	for _, record := range records {
		var kept []string
		for i, cell := range record {
			if !slices.Contains(columns, strings.TrimPrefix(head[i], "\ufeff")) {
				kept = append(kept, cell)
			}
		}
		if err := w.Write(kept); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	return out.Bytes()
}

func TestALineChangesOnlyWhatItsSheetHasAColumnFor(t *testing.T) {
	t.Parallel()
	rules := []models.Rule{row("rule_a", "eur 0 10 tool=pay supplier=V-1"), row("rule_b", "eur 10.01 20"), row("rule_c", "eur 30 40 supplier=V-1"), row("rule_d", "eur 30 40 supplier=V-2"), row("rule_e", "usd 0 5")}
	for i := range rules {
		rules[i].Required, rules[i].ValidSeconds = 2, 259200
	}
	rules[1].Role, rules[1].People = "", `["frank","grace"]`
	rules[4].Required, rules[4].Role, rules[4].ThenRole = 2, models.RoleAPLead, models.RoleFinanceLead
	before := viewsOf(rules)
	for _, c := range []struct {
		name, sheet string
		want        string // what changes, or the problem
	}{
		{"a limit by id", "rule,currency,from,to,role\nrule_a,EUR,0,11,finance_lead\n", "rule_a To amounts"},
		{"a limit by what it covers is a new rule", "currency,from,to,role\nEUR,0,11,finance_lead\n", "new 1 person"},
		{"who decides, found without the supplier", "currency,from,to,role\nEUR,0,10,ap_lead\n", "rule_a Who decides "},
		{"people stay without their column", "rule,currency,from,to,role\nrule_b,EUR,10.01,25,\n", "rule_b To amounts"},
		{"a role takes the place of people", "rule,currency,from,to,role\nrule_b,EUR,10.01,20,ap_lead\n", "rule_b Who decides "},
		{"fewer people", "rule,currency,from,to,role,required\nrule_a,EUR,0,10,finance_lead,1\n", "rule_a How many people"},
		{"a supplier less", "rule,currency,supplier,from,to,role\nrule_a,EUR,,0,10,finance_lead\n", "rule_a Supplier writes"},
		{"a longer approval and a lower start", "rule,currency,from,to,role,valid\nrule_b,EUR,5,20,,4d\n", "rule_b From Approval good for amounts valid"},
		{"one after the other stays", "rule,currency,from,to,role\nrule_e,USD,0,4,ap_lead\n", "rule_e To "},
		{"nobody can tell which", "currency,from,to,role\nEUR,30,40,ap_lead\n", "may be about more than one rule"},
		{"a new one gets what is usual", "currency,from,to,role\nJPY,0,10,ap_lead\n", "new 1 person"},
	} {
		lines, problems := readSheet([]byte(c.sheet))
		plan := match(lines, before, sheetRoster())
		got := strings.Join(problemTexts(append(problems, plan.Problems...)), "; ")
		for _, ch := range plan.Changed {
			after := viewsOf([]models.Rule{ch.After.Rule})[0]
			got += ch.Before.Rule.ID
			for _, f := range differences(*ch.Before, after) {
				got += " " + f.Field
			}
			for _, how := range loosened(ch.Before.Rule, after.Rule) {
				got += " " + string(how)
			}
			if len(loosened(ch.Before.Rule, after.Rule)) == 0 {
				got += " "
			}
		}
		for _, ch := range plan.Added {
			got += fmt.Sprintf("new %d person", ch.After.Rule.Required)
			if ch.After.Rule.ValidSeconds != int64(DefaultValid/time.Second) {
				t.Errorf("%s: good for %d seconds", c.name, ch.After.Rule.ValidSeconds)
			}
		}
		if got != c.want && (!strings.Contains(got, c.want) || len(plan.Problems) == 0) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// withoutIDs empties the columns that name a rule.
func withoutIDs(t *testing.T, sheet []byte) []byte {
	t.Helper()
	var out []string
	for i, line := range strings.Split(string(sheet), "\r\n") {
		if i > 0 && line != "" {
			_, rest, _ := strings.Cut(line, ",")
			_, rest, _ = strings.Cut(rest, ",")
			line = ",," + rest
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\r\n"))
}

func FuzzSheetsAreReadOrRefused(f *testing.F) {
	f.Add([]byte("currency,from,to,role\nEUR,0,1,ap_lead\n"))
	f.Add([]byte("sep=;\ncurrency;from;to;people\nEUR;0;1;\"a@b c@d\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, problems := readSheet(text)
		plan := match(lines, nil, sheetRoster())
		for _, p := range append(problems, plan.Problems...) {
			if p.Message == "" {
				t.Error("a problem without words")
			}
		}
		for _, c := range plan.Added {
			if _, issues := (NewRule{Currency: c.After.Rule.Currency, From: c.After.Rule.FromAmount, To: c.After.Rule.ToAmount, Role: models.RoleAPLead}).rule(sheetRoster()); len(issues) > 0 {
				t.Errorf("a sheet adds %+v, which is no rule: %v", c.After.Rule, issues)
			}
		}
	})
}
