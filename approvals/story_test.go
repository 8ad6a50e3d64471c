package approvals

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// The cast of the stories. Everybody is an active member; bot is a service account.
func cast() []models.Member {
	person := func(name string, roles ...models.Role) models.Member {
		return models.Member{User: models.User{ID: name, Name: name, Kind: models.KindPerson, Active: true}, Roles: roles}
	}
	bot := person("bot", models.RoleFinanceLead, models.RoleAgent)
	bot.User.Kind = models.KindService
	return []models.Member{person("fumiko", models.RoleFinanceLead), person("frank", models.RoleFinanceLead), person("grace", models.RoleFinanceLead),
		person("lars", models.RoleAPLead), person("clara", models.RoleAPClerk), person("audrey", models.RoleAuditor), person("adam", models.RoleAdmin), bot}
}

func without(members []models.Member, gone ...string) []models.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m models.Member) bool { return slices.Contains(gone, m.User.ID) })
}

func financeLeads(required int) Routing {
	return Routing{Rule: &RuleCopy{ID: "rule_1", Version: 1, Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "100", Required: required, ValidSeconds: 60}}
}

func named(required int, people ...string) Routing {
	r := financeLeads(required)
	r.Rule.Role, r.Rule.People = "", people
	return r
}

func TestStories(t *testing.T) {
	t.Parallel()
	const (
		pending, unrouted = models.RequestPending, models.RequestUnrouted
		approved, no      = models.RequestApproved, models.RequestRejected
	)
	type step struct {
		who    string
		vote   models.VoteDecision // empty: nobody votes, something else happens
		barred Bar                 // the vote must be refused for this
		happen func(f *Facts, members *[]models.Member)
		want   models.RequestStatus
		why    string
	}
	yes, reject := models.VoteApprove, models.VoteReject
	leaves := func(name string) func(*Facts, *[]models.Member) {
		return func(_ *Facts, m *[]models.Member) { *m = without(*m, name) }
	}
	for _, story := range []struct {
		name    string
		routing Routing
		facts   Facts
		steps   []step
	}{
		{"one finance lead says yes", financeLeads(1), Facts{}, []step{
			{who: "fumiko", vote: yes, want: approved, why: "one is enough"}}},
		{"one no outweighs a yes", financeLeads(2), Facts{}, []step{
			{who: "fumiko", vote: yes, want: pending, why: "two are needed"},
			{who: "frank", vote: reject, want: no, why: "one no rejects"}}},
		{"nobody counts twice", financeLeads(2), Facts{}, []step{
			{who: "fumiko", vote: yes, want: pending},
			{who: "fumiko", vote: yes, barred: BarVoted, want: pending, why: "different people must say yes"},
			{who: "grace", vote: yes, want: approved}}},
		{"nobody approves their own", financeLeads(1), Facts{Askers: map[string]Bar{"fumiko": BarAsker, "frank": BarResponsible, "grace": BarTokenMaker}}, []step{
			{who: "fumiko", barred: BarAsker, vote: yes, want: unrouted, why: "all three finance leads stand behind the asker"}}},
		{"a corrector does not approve what they corrected", financeLeads(2), Facts{Correctors: map[string]bool{"fumiko": true}}, []step{
			{who: "fumiko", vote: yes, barred: BarCorrected, want: pending},
			{who: "frank", vote: yes, want: pending},
			{who: "grace", vote: yes, want: approved}}},
		{"an admin decides nothing by that role", financeLeads(1), Facts{}, []step{
			{who: "adam", vote: yes, barred: "no place", want: pending},
			{who: "audrey", vote: yes, barred: "no place", want: pending},
			{who: "bot", vote: yes, barred: "no place", want: pending, why: "a service account cannot sign in"}}},
		{"an auditor named by mistake still changes nothing", named(1, "audrey"), Facts{}, []step{{want: unrouted}}},
		{"an admin named as a person may decide", named(1, "adam"), Facts{}, []step{{who: "adam", vote: yes, want: approved}}},
		{"the author of the rule does not vote under it", func() Routing { r := named(1, "lars", "clara"); r.Rule.AuthorID = "lars"; return r }(), Facts{}, []step{
			{who: "lars", vote: yes, barred: BarRuleAuthor, want: pending},
			{who: "clara", vote: yes, want: approved}}},
		{"who names the approver cannot be it", Routing{Named: &RuleCopy{Role: models.RoleAPLead, Required: 2}}, Facts{NamedID: "lars", NamedByID: "lars"}, []step{
			{who: "lars", vote: yes, barred: BarNamedBy, want: unrouted}}},
		{"a person named where no rule matched decides alone", Routing{Named: financeLeads(2).Rule}, Facts{NamedID: "fumiko", NamedByID: "lars"}, []step{
			{who: "frank", vote: yes, barred: "no place", want: pending, why: "the rule gives fumiko her limit, and nobody else a place"},
			{who: "fumiko", vote: yes, want: approved}}},
		{"a voter who leaves no longer counts", financeLeads(2), Facts{}, []step{
			{who: "fumiko", vote: yes, want: pending},
			{happen: leaves("fumiko"), want: pending, why: "frank and grace can still make two"},
			{who: "frank", vote: yes, want: pending},
			{happen: leaves("grace"), want: unrouted, why: "one yes and nobody left"}}},
		{"a yes stops counting when its voter turns out to have asked", financeLeads(2), Facts{Askers: map[string]Bar{}}, []step{
			{who: "fumiko", vote: yes, want: pending},
			{happen: func(f *Facts, _ *[]models.Member) { f.Askers["fumiko"] = BarResponsible }, want: pending},
			{who: "frank", vote: yes, want: pending},
			{who: "grace", vote: yes, want: approved}}},
		{"no rule, no decision", Routing{}, Facts{}, []step{{who: "fumiko", vote: yes, barred: "no place", want: unrouted}}},
	} {
		f, members := story.facts, cast()
		f.Routing = story.routing
		for i, s := range story.steps {
			if s.happen != nil {
				s.happen(&f, &members)
			}
			if s.vote != "" {
				_, err := mayVote(models.Principal{UserID: s.who, WorkspaceID: "1000"}, f, members)
				if (err != nil) != (s.barred != "") {
					t.Errorf("%s, step %d: %s votes: %v", story.name, i+1, s.who, err)
				}
				if ne, ok := models.AsNamed(err); ok && ne.Code == models.Unprocessable && ne.Details["reason"] != string(s.barred) {
					t.Errorf("%s, step %d: %s is barred as %v, want %s", story.name, i+1, s.who, ne.Details["reason"], s.barred)
				}
				if err == nil {
					f.Votes = append(f.Votes, models.Vote{UserID: s.who, Decision: s.vote})
				}
			}
			if got := f.Count(members); got.Status != s.want {
				t.Errorf("%s, step %d: %+v, want %s (%s)", story.name, i+1, got, s.want, s.why)
			}
		}
	}
}

// TestNothingIsApprovedWithoutEnoughEligiblePeople tries random rules, people, bars and votes, also
// votes that should never have been let in, in random order.
func TestNothingIsApprovedWithoutEnoughEligiblePeople(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	all := cast()
	bars := []Bar{BarAsker, BarResponsible, BarTokenMaker}
	granted := 0
	for range 20_000 {
		members := slices.DeleteFunc(slices.Clone(all), func(models.Member) bool { return rng.IntN(5) == 0 })
		f := Facts{Askers: map[string]Bar{}, Correctors: map[string]bool{}}
		required := 1 + rng.IntN(2)
		if rng.IntN(2) == 0 {
			f.Routing = financeLeads(required)
		} else {
			var people []string
			for _, m := range all {
				if rng.IntN(2) == 0 {
					people = append(people, m.User.ID)
				}
			}
			f.Routing = named(required, people...)
		}
		pickOne := func() string { return all[rng.IntN(len(all))].User.ID }
		if rng.IntN(4) == 0 {
			f.Routing.Rule.AuthorID = pickOne()
		}
		if rng.IntN(4) == 0 {
			f.Routing.Named, f.NamedID, f.NamedByID = financeLeads(1).Rule, pickOne(), pickOne()
		}
		for range rng.IntN(3) {
			f.Askers[pickOne()] = bars[rng.IntN(len(bars))]
			f.Correctors[pickOne()] = true
		}
		rejected := false
		for range rng.IntN(5) {
			v := models.Vote{UserID: pickOne(), Decision: models.VoteApprove}
			if rng.IntN(10) == 0 {
				v.Decision, rejected = models.VoteReject, true
			}
			f.Votes = append(f.Votes, v)
		}
		got := f.Count(members)
		if got.Status != models.RequestApproved {
			continue
		}
		granted++
		// Counted again from nothing but the words of the rule.
		good := map[string]bool{}
		for _, v := range f.Votes {
			i := slices.IndexFunc(members, func(m models.Member) bool { return m.User.ID == v.UserID })
			if i < 0 || members[i].User.Kind != models.KindPerson {
				continue
			}
			m := members[i]
			byRule := (f.Routing.Rule.Role != "" && m.Has(f.Routing.Rule.Role)) || slices.Contains(f.Routing.Rule.People, v.UserID)
			byName := f.NamedID == v.UserID && m.Has(models.RoleFinanceLead)
			_, asked := f.Askers[v.UserID]
			if (byRule || byName) && !asked && !f.Correctors[v.UserID] && f.Routing.Rule.AuthorID != v.UserID && f.NamedByID != v.UserID {
				good[v.UserID] = true
			}
		}
		if rejected || len(good) < required {
			t.Fatalf("approved with %d of %d good votes, rejected %t: %+v", len(good), required, rejected, f)
		}
	}
	if granted < 100 {
		t.Fatalf("only %d of the random requests were approved; the test proves nothing", granted)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	at := func(s string) models.Time {
		var m models.Time
		if err := m.Scan(s); err != nil {
			t.Fatal(err)
		}
		return m
	}
	rule := func(id, from, to string, change ...func(*models.Rule)) models.Rule {
		r := models.Rule{ID: id, Version: 1, Currency: "EUR", FromAmount: from, ToAmount: to, Role: models.RoleFinanceLead, Required: 1, FirstAt: at("2026-01-02T00:00:00Z")}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	tool := func(r *models.Rule) { r.Tool = "post" }
	supplier := func(r *models.Rule) { r.Supplier = "V-1" }
	docType := func(r *models.Rule) { r.DocumentType = "credit" }
	two := func(r *models.Rule) { r.Required = 2 }
	older := func(r *models.Rule) { r.FirstAt = at("2026-01-01T00:00:00Z") }
	dollars := func(r *models.Rule) { r.Currency = "USD" }
	for _, c := range []struct {
		name   string
		rules  []models.Rule
		amount string
		change func(*Wanted)
		want   string
	}{
		{"the lower end is included", []models.Rule{rule("a", "100", "200")}, "100.00", nil, "a"},
		{"the upper end is included", []models.Rule{rule("a", "100", "200")}, "200.00", nil, "a"},
		{"a cent above is not", []models.Rule{rule("a", "100", "200")}, "200.01", nil, ""},
		{"a cent below is not", []models.Rule{rule("a", "100", "200")}, "99.99", nil, ""},
		{"a credit note counts without its sign", []models.Rule{rule("a", "100", "200")}, "-150.00", nil, "a"},
		{"no rule of another currency", []models.Rule{rule("a", "0", "1000", dollars)}, "1.00", nil, ""},
		{"most dimensions named wins", []models.Rule{rule("any", "0", "1000", two), rule("one", "0", "1000", tool), rule("two", "0", "5000", tool, supplier)}, "1.00", nil, "two"},
		{"then more votes", []models.Rule{rule("one", "0", "10"), rule("two", "0", "1000", two)}, "1.00", nil, "two"},
		{"then the lower limit", []models.Rule{rule("high", "0", "1000", older), rule("low", "0", "10")}, "1.00", nil, "low"},
		{"then the older", []models.Rule{rule("a", "0", "10"), rule("b", "0", "10.00", older)}, "1.00", nil, "b"},
		{"a rule for another document type does not match", []models.Rule{rule("a", "0", "10", docType)}, "1.00", nil, ""},
		{"a tool without binding takes the highest limit, whatever is claimed",
			[]models.Rule{rule("low", "0", "10", tool, two), rule("high", "1000.01", "5000"), rule("dollars", "0", "99999", dollars)}, "1.00", func(w *Wanted) { w.Unbound = true }, "high"},
		{"but only one that reaches the claim", []models.Rule{rule("low", "0", "10"), rule("high", "1000", "5000")}, "5000.01", func(w *Wanted) { w.Unbound = true }, ""},
	} {
		amount, err := models.ParseMoney(c.amount, "EUR")
		if err != nil {
			t.Fatal(err)
		}
		w := Wanted{Tool: "post", Supplier: "V-1", Amount: amount}
		if c.change != nil {
			c.change(&w)
		}
		for range 2 { // in either order
			slices.Reverse(c.rules)
			got, ok := Match(c.rules, w)
			if got.ID != c.want || ok != (c.want != "") {
				t.Errorf("%s: got %q", c.name, got.ID)
			}
		}
	}
}

func TestLimitOf(t *testing.T) {
	t.Parallel()
	rules := []models.Rule{
		{ID: "a", Currency: "EUR", ToAmount: "1000", Role: models.RoleFinanceLead},
		{ID: "b", Currency: "EUR", ToAmount: "9000.50", Role: models.RoleFinanceLead, Tool: "post"},
		{ID: "c", Currency: "EUR", ToAmount: "10000", Role: models.RoleAPLead, Tool: "post"},
		{ID: "d", Currency: "USD", ToAmount: "99999", Role: models.RoleFinanceLead},
		{ID: "e", Currency: "EUR", ToAmount: "20000", People: `["frank"]`, DocumentType: "credit"},
	}
	members := cast()
	for _, c := range []struct {
		who, tool, docType, currency, want string
	}{
		{"fumiko", "post", "", "EUR", "9000.50"}, {"fumiko", "notify", "", "EUR", "1000"}, {"fumiko", "post", "", "USD", "99999"},
		{"frank", "post", "credit", "EUR", "20000"}, {"frank", "post", "", "EUR", "9000.50"}, {"clara", "post", "", "EUR", ""},
	} {
		i := slices.IndexFunc(members, func(m models.Member) bool { return m.User.ID == c.who })
		if got, _, _ := LimitOf(rules, members[i], c.tool, c.docType, c.currency); got != c.want {
			t.Errorf("%s, %s %s %s: got %q, want %q", c.who, c.tool, c.docType, c.currency, got, c.want)
		}
	}
}
