package approvals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// world is one request under random rules, people, delegations, votes and clocks, and what an outsider
// who only reads the rules of the product would have noted beside it.
type world struct {
	rng     *rand.Rand
	now     models.Time
	members []models.Member
	gone    map[string]bool
	limits  map[string]string
	amount  string
	away    []models.Delegation
	book    ruleBook
	wanted  Wanted
	facts   Facts
}

var somebody = []string{"ada", "ben", "cleo", "dan", "eve", "fay", "bot"}

func newWorld(rng *rand.Rand) *world {
	w := &world{rng: rng, now: models.At(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)), gone: map[string]bool{}, limits: map[string]string{},
		amount: fmt.Sprint(10 + rng.IntN(90))}
	roles := []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleAPClerk, models.RoleAuditor, models.RoleAdmin}
	for _, name := range somebody {
		m := models.Member{User: models.User{ID: name, Name: name, Kind: models.KindPerson, Active: true}}
		if name == "bot" {
			m.User.Kind = models.KindService
		}
		for _, r := range roles {
			if rng.IntN(5) < 2 {
				m.Roles = append(m.Roles, r)
			}
		}
		w.members = append(w.members, m)
		if rng.IntN(4) > 0 {
			w.limits[name] = fmt.Sprint(20 + rng.IntN(150))
		}
	}
	rule := RuleCopy{ID: "rule_1", Version: 1, Currency: "EUR", From: "0", To: "100", Required: 1 + rng.IntN(2), ValidSeconds: 60}
	rule.Role, rule.People = w.who(roles)
	if rng.IntN(2) == 0 {
		rule.Required = 2
		rule.ThenRole, rule.ThenPeople = w.who(roles)
	}
	if rng.IntN(4) == 0 {
		rule.AuthorID = w.one()
	}
	w.facts = Facts{Routing: Routing{Rule: &rule}, Askers: map[string]Bar{}, Correctors: map[string]bool{}}
	if rng.IntN(2) == 0 {
		w.editMatrix(rule, roles)
	}
	if rng.IntN(5) == 0 {
		w.facts.Routing.Named, w.facts.NamedID, w.facts.NamedByID = &RuleCopy{ID: "rule_2", Role: models.RoleFinanceLead, To: "100"}, w.one(), w.one()
	}
	if rng.IntN(2) == 0 {
		w.facts.Askers[w.one()] = BarAsker
	}
	return w
}

// editMatrix lets people have taken rules out of the matrix, at random, before the request was filed: those
// that stay out of it ask otherwise, come first or do not, and were taken out lately or long ago.
func (w *world) editMatrix(decides RuleCopy, roles []models.Role) {
	amount, err := models.ParseMoney(w.amount, "EUR")
	if err != nil {
		panic(err)
	}
	w.wanted = Wanted{Tool: "post", DocumentType: "invoice", Supplier: "V-1", Amount: amount, At: w.now, Unbound: w.rng.IntN(6) == 0}
	stored := func(c RuleCopy) models.Rule {
		return models.Rule{ID: c.ID, Version: c.Version, Currency: c.Currency, FromAmount: c.From, ToAmount: c.To, Role: c.Role, People: idList(c.People),
			ThenRole: c.ThenRole, ThenPeople: idList(c.ThenPeople), Required: c.Required, ValidSeconds: c.ValidSeconds, AuthorID: &c.AuthorID, FirstAt: w.now}
	}
	w.book.rules = []models.Rule{stored(decides)}
	for i := range 1 + w.rng.IntN(3) {
		versions := 1 + w.rng.IntN(3)
		at := w.now.Add(-time.Duration(w.rng.IntN(40*24)) * time.Hour)
		for v := range versions {
			c := decides
			if w.rng.IntN(3) > 0 {
				c.Role, c.People = w.who(roles)
			}
			c.ID, c.Version, c.Required = fmt.Sprintf("rule_9%d", i), int64(v+1), 1+w.rng.IntN(2)
			if decides.Sequence() && w.rng.IntN(2) == 0 {
				c.ThenRole, c.ThenPeople = "", nil
			}
			c.To = []string{"50", "100", "200"}[w.rng.IntN(3)]
			r := stored(c)
			r.Supplier = []string{"", "V-1", "V-2"}[w.rng.IntN(3)]
			r.FirstAt = w.now.Add(time.Duration(i-1) * time.Hour)
			if v == versions-1 && w.rng.IntN(3) == 0 {
				if _, ok := Match(append(slices.Clone(w.book.rules), r), w.wanted); ok { // it stays in force
					w.book.rules = append(w.book.rules, r)
					break
				}
			}
			r.RetiredAt = at.Add(time.Duration(v) * time.Minute)
			if by := w.one(); w.rng.IntN(6) > 0 {
				r.RetiredByID, r.RetiredBy = &by, by
			}
			w.book.out = append(w.book.out, r)
		}
	}
	if routing := w.book.route(w.wanted); routing.Rule != nil {
		w.facts.Routing = routing
	} else {
		w.book = ruleBook{} // the amount is above every rule that is left
	}
}

// loosened says whether somebody made an edit, in the month before, by which the request is decided by
// others or by fewer: with the rule as it was beside the one that decides, it would have gone first, and with
// what they made of it, what goes first asks otherwise.
func (w *world) loosened(id string) bool {
	i := slices.IndexFunc(w.book.rules, func(r models.Rule) bool { return r.ID == w.facts.Routing.Rule.ID })
	for _, old := range w.book.out {
		if old.RetiredByID == nil || *old.RetiredByID != id || w.wanted.At.Sub(old.RetiredAt.Time) > 30*24*time.Hour {
			continue
		}
		decides := w.book.rules[i]
		first, _ := Match([]models.Rule{old, decides}, w.wanted)
		after := []models.Rule{decides}
		for _, next := range slices.Concat(w.book.rules, w.book.out) {
			if next.ID == old.ID && next.Version == old.Version+1 {
				after = append(after, next)
			}
		}
		then, _ := Match(after, w.wanted)
		sameBefore, sameNow := sameAsked(first, then), sameAsked(first, decides)
		if first.ID == old.ID && first.Version == old.Version && !sameBefore && !sameNow {
			return true
		}
	}
	return false
}

// sameAsked says whether the second rule asks all that the first one does.
func sameAsked(first, second models.Rule) bool {
	return copyOf(first).Who(nil) == copyOf(second).Who(nil) && first.Required <= second.Required
}

func (w *world) one() string { return somebody[w.rng.IntN(len(somebody))] }

func (w *world) who(roles []models.Role) (models.Role, []string) {
	if w.rng.IntN(2) == 0 {
		return roles[w.rng.IntN(3)], nil
	}
	people := []string{w.one()}
	for range w.rng.IntN(3) {
		people = append(people, w.one())
	}
	return "", people
}

func (w *world) active() []models.Member {
	return slices.DeleteFunc(slices.Clone(w.members), func(m models.Member) bool { return w.gone[m.User.ID] })
}

// read gathers the facts of the moment, as the store does.
func (w *world) read() Facts {
	f := w.facts
	f.Substitutes = nil
	for _, d := range w.away {
		if d.ToID == nil || !d.ActiveAt(w.now) || (d.DocumentType != "" && d.DocumentType != "invoice") {
			continue
		}
		own := w.limits[d.FromID]
		if own == "" || compareAmounts(f.Routing.Authority().To, own) > 0 {
			own = f.Routing.Authority().To
		}
		s := Substitute{Delegation: d}
		s.Limit, s.Within = within(w.amount, own, w.limits[*d.ToID])
		f.Substitutes = append(f.Substitutes, s)
	}
	return f
}

// names says, from nothing but the words of the rule, whether it gives somebody a place at a step.
func (w *world) names(id string, step int) bool {
	if w.gone[id] || id == "bot" {
		return false
	}
	m := w.members[slices.IndexFunc(w.members, func(m models.Member) bool { return m.User.ID == id })]
	r := w.facts.Routing.Rule
	role, people := r.Role, r.People
	if step == 2 {
		role, people = r.ThenRole, r.ThenPeople
	}
	reads := !m.Has(models.RoleFinanceLead, models.RoleAPLead, models.RoleAPClerk, models.RoleAdmin)
	if (role != "" && m.Has(role)) || (slices.Contains(people, id) && !reads) {
		return true
	}
	return w.facts.Routing.Named != nil && w.facts.NamedID == id && m.Has(models.RoleFinanceLead)
}

// ownJudge says whether somebody would judge what is their own.
func (w *world) ownJudge(id string) bool {
	_, asked := w.facts.Askers[id]
	return asked || w.facts.Correctors[id] || (w.facts.Routing.Rule.AuthorID == id && id != "") || w.facts.NamedByID == id || w.loosened(id)
}

// standsFor finds the delegation by which somebody may use another's place now.
func (w *world) standsFor(from, to string) bool {
	return slices.ContainsFunc(w.away, func(d models.Delegation) bool {
		return d.FromID == from && d.ToID != nil && *d.ToID == to && d.ActiveAt(w.now) && (d.DocumentType == "" || d.DocumentType == "invoice") &&
			w.limits[to] != "" && compareAmounts(w.amount, w.limits[to]) <= 0
	})
}

// wrong says what the product's rules hold against a vote at this moment, "" when nothing.
func (w *world) wrong(voter, owner string, step int) string {
	for _, v := range w.facts.Votes {
		for _, id := range []string{v.UserID, ownerOf(v)} {
			if id == voter || id == owner {
				return id + " has a part in another vote"
			}
		}
	}
	switch {
	case w.gone[voter] || voter == "bot":
		return voter + " is no active person"
	case !w.names(owner, step):
		return owner + " has no place"
	case w.ownJudge(voter) || w.ownJudge(owner):
		return "somebody judges their own"
	case voter != owner && !w.standsFor(owner, voter):
		return voter + " does not stand in for " + owner
	case voter == owner && slices.ContainsFunc(w.away, func(d models.Delegation) bool {
		_, asked := w.facts.Askers[*orNobody(d.ToID)]
		return asked && d.FromID == voter && d.ActiveAt(w.now) && d.DocumentType != "credit"
	}):
		return voter + " delegates to who asked"
	}
	if step == 2 && !slices.ContainsFunc(w.facts.Votes, func(v models.Vote) bool {
		return v.Decision == models.VoteApprove && v.Step == 1 && w.names(ownerOf(v), 1) && !w.gone[v.UserID]
	}) {
		return "the first yes is missing"
	}
	return ""
}

func orNobody(id *string) *string {
	if id == nil {
		nobody := ""
		return &nobody
	}
	return id
}

// happen lets one thing happen.
func (w *world) happen() {
	switch w.rng.IntN(10) {
	case 0:
		w.gone[w.one()] = true
	case 1:
		delete(w.gone, w.one())
	case 2:
		w.now = w.now.Add(time.Duration(1+w.rng.IntN(30)) * time.Hour)
	case 3, 4, 7, 8:
		w.delegate()
	case 5:
		if len(w.away) > 0 {
			w.away[w.rng.IntN(len(w.away))].EndedAt = w.now
		}
	case 6:
		if w.rng.IntN(4) == 0 {
			w.facts.Askers[w.one()] = BarResponsible
		}
		if w.rng.IntN(4) == 0 {
			w.facts.Correctors[w.one()] = true
		}
	}
}

func (w *world) delegate() {
	from, to := w.one(), w.one()
	if from == to {
		return
	}
	d := models.Delegation{ID: fmt.Sprintf("deleg_%d", len(w.away)), FromID: from, FromName: from, ToID: &to, ToName: to,
		StartsAt: w.now.Add(time.Duration(w.rng.IntN(24)-20) * time.Hour), EndsAt: w.now.Add(time.Duration(13+w.rng.IntN(72)) * time.Hour),
		DocumentType: []string{"", "invoice", "credit"}[w.rng.IntN(3)]}
	if len(clash(d, w.away)) == 0 {
		w.away = append(w.away, d)
	}
}

// vote lets somebody try.
func (w *world) vote(t *testing.T, id string) {
	t.Helper()
	f := w.read()
	s, err := mayVote(models.Principal{UserID: id}, f, w.active())
	if err != nil {
		return
	}
	v := w.cast(s)
	if why := w.wrong(id, s.owner.User.ID, v.Step); why != "" {
		t.Fatalf("%s was let vote in the place of %s at step %d, though %s\n%+v", id, s.owner.User.ID, s.step, why, f)
	}
	if w.rng.IntN(12) == 0 {
		v.Decision = models.VoteReject
	}
	w.facts.Votes = append(w.facts.Votes, v)
}

func (w *world) cast(s seat) models.Vote {
	v := models.Vote{ID: fmt.Sprintf("vote_%d", len(w.facts.Votes)), UserID: s.holder.User.ID, UserName: s.holder.User.ID, Role: string(s.role), Step: s.step, Decision: models.VoteApprove}
	if s.by != nil {
		v.OnBehalfOfID, v.OnBehalfOfName = &s.owner.User.ID, s.owner.User.Name
	}
	return v
}

// reachable tries every order of yes votes: can the request still be approved, with nothing else
// changing?
func (w *world) reachable(f Facts, depth int) bool {
	members := w.active()
	if f.Count(members).Status == models.RequestApproved {
		return true
	}
	if depth == 0 {
		return false
	}
	for _, m := range members {
		s, err := mayVote(models.Principal{UserID: m.User.ID}, f, members)
		if err != nil {
			continue
		}
		next := f
		next.Votes = append(slices.Clone(f.Votes), w.cast(s))
		if w.reachable(next, depth-1) {
			return true
		}
	}
	return false
}

// check holds what Count says against what an outsider counts.
func (w *world) check(t *testing.T) models.RequestStatus {
	t.Helper()
	f := w.read()
	got := f.Count(w.active())
	rejected := slices.ContainsFunc(f.Votes, func(v models.Vote) bool { return v.Decision == models.VoteReject })
	if rejected != (got.Status == models.RequestRejected) {
		t.Fatalf("one no rejects, and nothing else does: %+v of %+v", got, f)
	}
	if rejected {
		return got.Status
	}
	good := map[int]int{}
	taken := map[string]bool{}
	for _, v := range f.Votes {
		owner, step := ownerOf(v), f.stepOf(v)
		if taken[v.UserID] || taken[owner] {
			t.Fatalf("somebody has a part in two votes: %+v", f.Votes)
		}
		taken[v.UserID], taken[owner] = true, true
		if !w.gone[v.UserID] && w.names(owner, step) && !w.ownJudge(v.UserID) && !w.ownJudge(owner) {
			good[step]++
		}
	}
	enough := good[1] >= f.Routing.Required()
	if f.Routing.Steps() == 2 {
		enough = good[1] > 0 && good[2] > 0
	}
	if got.Status == models.RequestApproved && !enough {
		t.Fatalf("approved with too few good votes %v: %+v", good, f)
	}
	if can := w.reachable(f, 2); can != (got.Status != models.RequestUnrouted) {
		t.Fatalf("it says %s, but that it can still be approved is %t\nvotes %+v\nrule %+v\nnamed %q by %q, askers %v, correctors %v, substitutes %+v, gone %v",
			got.Status, can, f.Votes, f.Routing.Rule, f.NamedID, f.NamedByID, f.Askers, f.Correctors, f.Substitutes, w.gone)
	}
	return got.Status
}

func (w *world) play(t *testing.T, seed uint64) models.RequestStatus {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	for range 14 {
		w.happen()
		if status := w.check(t); status == models.RequestApproved || status == models.RequestRejected {
			return status
		}
		w.vote(t, w.one())
	}
	return w.check(t)
}

// TestRandomWorldsKeepTheRules plays many requests through votes, absences, delegations, people who
// leave and come back, and clocks. At every step: nobody votes who may not by the words of the rules,
// nobody whose edit loosened the matrix for the request votes on it, nobody has a part in two votes, nothing is approved without enough good votes, and a request is
// unrouted exactly when no order of votes could still approve it.
func TestRandomWorldsKeepTheRules(t *testing.T) {
	t.Parallel()
	seen := map[models.RequestStatus]int{}
	behalf, steps, loose := 0, 0, 0
	for seed := range uint64(3000) {
		w := newWorld(rand.New(rand.NewPCG(seed, 7)))
		seen[w.play(t, seed)]++
		loose += len(w.facts.Routing.TakenOut)
		for _, v := range w.facts.Votes {
			if v.OnBehalfOfID != nil {
				behalf++
			}
			if v.Step == 2 {
				steps++
			}
		}
	}
	if seen[models.RequestApproved] < 100 || seen[models.RequestUnrouted] < 100 || seen[models.RequestPending] < 100 || behalf < 50 || steps < 100 || loose < 300 {
		t.Fatalf("too little happened for this to prove anything: %v, %d on behalf, %d second steps, %d edits that bar", seen, behalf, steps, loose)
	}
}
