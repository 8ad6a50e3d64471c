package approvals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Bar is why somebody may not decide a request although the rule names them.
type Bar string

// The bars, in the order in which they are told.
const (
	BarVoted       Bar = "voted"
	BarAsker       Bar = "asker"
	BarResponsible Bar = "responsible"
	BarTokenMaker  Bar = "token_creator"
	BarCorrected   Bar = "corrected"
	BarRuleAuthor  Bar = "rule_author"
	BarNamedBy     Bar = "named_approver"
	BarTookOutTwo  Bar = "rule_for_two_taken_out"
	BarTookOut     Bar = "rule_taken_out"
	BarDelegation  Bar = "delegation"   // delegates to somebody who asked, or stands in for them
	BarStoodIn     Bar = "stood_in"     // somebody voted in their place
	BarDelegated   Bar = "delegated"    // somebody stands in for them now
	BarNeededThen  Bar = "needed_later" // nobody else could give the second yes
	BarTurn        Bar = "not_your_turn"
	BarStepDone    Bar = "step_done" // their step has its yes
)

// barText finishes a sentence that begins with "You" or "they".
var barText = map[Bar]string{
	BarVoted:       "voted on this request already",
	BarAsker:       "asked for this",
	BarResponsible: "answer for the account that asked for this",
	BarTokenMaker:  "made the token that asked for this",
	BarCorrected:   "corrected an earlier step of this invoice, which somebody else must approve",
	BarRuleAuthor:  "wrote the version of the rule that routed this",
	BarNamedBy:     "named the approver of this",
	BarTookOutTwo:  "took out or changed the rule that asked two people for this",
	BarTookOut:     "took out or changed the rule that would have decided this",
	BarDelegation:  "stand in for somebody who asked for this, or are represented by them",
	BarStoodIn:     "were represented already: somebody voted in your place",
	BarDelegated:   "delegated this",
	BarNeededThen:  "are needed for the second yes, which nobody else can give",
	BarTurn:        "come second",
	BarStepDone:    "belong to a step that has its yes already",
}

// Substitute is a delegation that is active and for the request's type of document, as it bears on one
// request.
type Substitute struct {
	models.Delegation
	Within bool   // the limits of both people cover the amount
	Limit  string // the lower of both
}

// Facts is all that deciding who may vote needs to know of a request, besides the members.
type Facts struct {
	Routing     Routing
	NamedID     string
	NamedByID   string
	Askers      map[string]Bar  // user id to how they count as asker
	Correctors  map[string]bool // user ids that corrected an earlier call of the invoice
	Votes       []models.Vote
	Substitutes []Substitute
}

// place says by which role, or by name, a member may vote at one step of the request; ok is false when
// the routing names neither them nor a role of theirs. Only people have a place, since a service
// account can never sign in to vote. A person named for this item may take either step.
func (f Facts) place(m models.Member, step int) (role models.Role, ok bool) {
	if m.User.Kind != models.KindPerson {
		return "", false
	}
	if r := f.Routing.Rule; r != nil {
		if role, ok := r.place(m, step); ok {
			return role, true
		}
	}
	if n := f.Routing.Named; n != nil && f.NamedID == m.User.ID {
		if role, ok := n.place(m, 1); ok {
			return role, true
		}
		return n.place(m, 2)
	}
	return "", false
}

// placed says whether a member has a place at any step.
func (f Facts) placed(m models.Member) bool {
	for step := range f.Routing.Steps() {
		if _, ok := f.place(m, step+1); ok {
			return true
		}
	}
	return false
}

func (c RuleCopy) place(m models.Member, step int) (models.Role, bool) {
	role, people := c.Role, c.People
	if step == 2 {
		role, people = c.ThenRole, c.ThenPeople
	}
	if role != "" {
		return role, m.Has(role)
	}
	if !slices.Contains(people, m.User.ID) {
		return "", false
	}
	for _, r := range []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleProcurement, models.RoleMasterData, models.RoleAPClerk} {
		if m.Has(r) {
			return r, true
		}
	}
	// A place by name is worth nothing to somebody who only reads here, or only works with tokens.
	return models.RoleAdmin, m.Has(models.RoleAdmin)
}

// bar says why a user may not decide, whoever the rule names.
func (f Facts) bar(userID string) Bar {
	for _, v := range f.Votes {
		if v.UserID == userID {
			return BarVoted
		}
	}
	return f.standingBar(userID)
}

// standingBar is bar without the one of having voted already: what also makes a vote not count.
func (f Facts) standingBar(userID string) Bar {
	if bar, ok := f.Askers[userID]; ok {
		return bar
	}
	if f.Correctors[userID] {
		return BarCorrected
	}
	for _, r := range []*RuleCopy{f.Routing.Rule, f.Routing.Named} {
		if r != nil && r.AuthorID == userID && userID != "" {
			return BarRuleAuthor
		}
	}
	if f.NamedByID != "" && f.NamedByID == userID {
		return BarNamedBy
	}
	if bar := f.Routing.tookOut(userID); bar != "" {
		return bar
	}
	for _, s := range f.Substitutes {
		if s.ToID == nil {
			continue
		}
		if _, asked := f.Askers[s.FromID]; asked && *s.ToID == userID {
			return BarDelegation
		}
		if _, asked := f.Askers[*s.ToID]; asked && s.FromID == userID {
			return BarDelegation
		}
	}
	return ""
}

// ownerOf is the user whose place a vote was given in.
func ownerOf(v models.Vote) string {
	if v.OnBehalfOfID != nil {
		return *v.OnBehalfOfID
	}
	return v.UserID
}

// stepOf is the step of the routing that a vote belongs to.
func (f Facts) stepOf(v models.Vote) int {
	if f.Routing.Steps() == 2 && v.Step == 2 {
		return 2
	}
	return 1
}

// seat is one person's place at one step, and who holds it now: the person, or who stands in for them.
type seat struct {
	step   int
	role   models.Role
	owner  models.Member
	holder models.Member
	by     *Substitute // nil while the owner holds it
	bar    Bar         // why the holder may not vote with it now; empty: they may
}

// board is a request with its seats and the votes that count.
type board struct {
	facts    Facts
	members  map[string]models.Member
	seats    []seat
	yes      []models.Vote // that count, at most one per person and place
	done     [3]bool       // steps that have what they need
	involved map[string]bool
	open     int      // the step that is open now; 0 when none is
	second   []string // owners who can still give the second yes; three are enough to know of
}

// board works out who may vote now. The rules are: one person, one vote; a place is used once, by its
// owner or by who stands in; two steps need different people; a step opens when the one before has its
// yes; a person's own place goes before one held for another; and nobody may use up a place in a way
// that leaves nobody for the second step.
func (f Facts) board(members []models.Member) board {
	b := board{facts: f, members: make(map[string]models.Member, len(members)), involved: map[string]bool{}}
	for _, m := range members {
		b.members[m.User.ID] = m
	}
	for _, v := range f.Votes {
		b.involved[v.UserID], b.involved[ownerOf(v)] = true, true
	}
	if f.Routing.Authority() == nil {
		return b
	}
	b.countYes()
	if steps := f.Routing.Steps(); !b.done[1] {
		b.open = 1
	} else if steps == 2 && !b.done[2] {
		b.open = 2
	}
	for step := 1; step <= f.Routing.Steps(); step++ {
		for _, m := range members {
			if role, ok := f.place(m, step); ok {
				b.seats = append(b.seats, seat{step: step, role: role, owner: m, holder: m})
			}
		}
	}
	for _, s := range b.seats {
		if s.step == 2 && len(b.second) < 3 && b.usable(s) {
			b.second = append(b.second, s.owner.User.ID)
		}
	}
	b.substitute()
	for i := range b.seats {
		b.seats[i].bar = b.barOf(b.seats[i])
	}
	return b
}

// countYes collects the yes votes that count: of people who still have the place they voted in and
// whom nothing bars, no person and no place twice.
func (b *board) countYes() {
	used := map[string]bool{}
	perStep := [3]int{}
	for _, v := range b.facts.Votes {
		owner := ownerOf(v)
		if v.Decision != models.VoteApprove || used[v.UserID] || used[owner] || b.facts.lost(v, b.members) != "" ||
			b.facts.standingBar(v.UserID) != "" || b.facts.standingBar(owner) != "" {
			continue
		}
		step := b.facts.stepOf(v)
		if b.facts.Routing.Steps() == 2 && perStep[step] == 1 {
			continue
		}
		used[v.UserID], used[owner] = true, true
		perStep[step]++
		b.yes = append(b.yes, v)
	}
	if b.facts.Routing.Steps() == 2 {
		b.done[1], b.done[2] = perStep[1] > 0, perStep[2] > 0
		return
	}
	b.done[1] = perStep[1] >= b.facts.Routing.Required()
}

// usable says whether a seat can still bring a vote, whoever holds it.
func (b *board) usable(s seat) bool {
	return !b.done[s.step] && !b.involved[s.owner.User.ID] && b.facts.standingBar(s.owner.User.ID) == ""
}

// substitute gives seats to those who stand in for their owners, where the delegation covers the
// request: within both limits, to an active person whom nothing bars, and without robbing the second
// step of its last person.
func (b *board) substitute() {
	for i, s := range b.seats {
		if !b.usable(s) {
			continue
		}
		for j, d := range b.facts.Substitutes {
			if d.FromID != s.owner.User.ID || d.ToID == nil || !d.Within {
				continue
			}
			holder, active := b.members[*d.ToID]
			if !active || holder.User.Kind != models.KindPerson || b.involved[*d.ToID] || b.facts.standingBar(*d.ToID) != "" ||
				!b.leavesSecond(s, *d.ToID) {
				continue
			}
			b.seats[i].holder, b.seats[i].by = holder, &b.facts.Substitutes[j]
			break
		}
	}
}

// leavesSecond says whether somebody else can give the second yes once voter gave the first in a seat.
func (b *board) leavesSecond(first seat, voter string) bool {
	if b.facts.Routing.Steps() != 2 || first.step != 1 || b.done[2] {
		return true
	}
	return slices.ContainsFunc(b.second, func(owner string) bool { return owner != voter && owner != first.owner.User.ID })
}

// barOf says why the holder of a seat may not vote with it now.
func (b *board) barOf(s seat) Bar {
	owner := s.owner.User.ID
	if bar := b.facts.bar(owner); bar != "" {
		return bar
	}
	switch {
	case b.involved[owner]:
		return BarStoodIn
	case b.done[s.step]:
		return BarStepDone
	case s.step > b.open:
		return BarTurn
	case !b.leavesSecond(s, s.holder.User.ID):
		return BarNeededThen
	case s.by != nil && slices.ContainsFunc(b.seats, func(o seat) bool {
		return o.step == s.step && o.by == nil && o.owner.User.ID == s.holder.User.ID && b.usable(o)
	}):
		return BarVoted // once they vote, which they do in their own place
	}
	return ""
}

// seatOf finds the seat a user votes with now: their own before one they hold for another.
func (b *board) seatOf(userID string) (seat, bool) {
	for _, own := range []bool{true, false} {
		for _, s := range b.seats {
			if s.bar == "" && s.holder.User.ID == userID && (s.by == nil) == own {
				return s, true
			}
		}
	}
	return seat{}, false
}

// decidable says whether the votes that are missing can still come.
func (b *board) decidable() bool {
	if b.open == 0 {
		return true
	}
	if b.facts.Routing.Steps() == 2 {
		return slices.ContainsFunc(b.seats, func(s seat) bool { return s.step == b.open && b.usable(s) && b.leavesSecond(s, s.holder.User.ID) })
	}
	return len(b.yes)+b.left() >= b.facts.Routing.Required()
}

// left counts the people whose place can still bring a vote.
func (b *board) left() int {
	owners := map[string]bool{}
	for _, s := range b.seats {
		if b.usable(s) {
			owners[s.owner.User.ID] = true
		}
	}
	return len(owners)
}

// lost says why a vote no longer stands on the place it was given in, "" when it does: its voter, or
// whoever they stood in for, is no active member any more or lost the role or place. That a delegation
// has ended since does not matter.
func (f Facts) lost(v models.Vote, members map[string]models.Member) string {
	voter, active := members[v.UserID]
	if !active || voter.User.Kind != models.KindPerson {
		return fmt.Sprintf("%s, who approved, is no longer an active member of the workspace.", v.UserName)
	}
	owner, name := voter, v.UserName
	if v.OnBehalfOfID != nil {
		name = v.OnBehalfOfName
		if owner, active = members[*v.OnBehalfOfID]; !active {
			return fmt.Sprintf("%s, in whose place %s approved, is no longer an active member of the workspace.", name, v.UserName)
		}
	}
	if _, ok := f.place(owner, f.stepOf(v)); ok {
		return ""
	}
	if v.OnBehalfOfID != nil {
		return fmt.Sprintf("%s, in whose place %s approved, no longer holds the role %s.", name, v.UserName, models.Role(v.Role).Title())
	}
	return fmt.Sprintf("%s, who approved, no longer holds the role %s.", name, models.Role(v.Role).Title())
}

// notCounted says why each yes that does not count any more does not, by the vote's id.
func (f Facts) notCounted(t Tally, members []models.Member) map[string]string {
	byID := make(map[string]models.Member, len(members))
	for _, m := range members {
		byID[m.User.ID] = m
	}
	out := map[string]string{}
	for _, v := range f.Votes {
		if v.Decision == models.VoteApprove && !slices.ContainsFunc(t.yes, func(c models.Vote) bool { return c.ID == v.ID }) {
			out[v.ID] = f.lost(v, byID)
		}
	}
	return out
}

// basis is the yes votes a grant rests on: those that counted when it was given. For grants that do not
// know them it is the last ones that make the number, or the last of each step.
func (f Facts) basis(a models.Approval) []models.Vote {
	var list []models.Vote
	if ids := strings.Fields(a.VoteIDs); len(ids) > 0 {
		for _, v := range f.Votes {
			if slices.Contains(ids, v.ID) {
				list = append(list, v)
			}
		}
		return list
	}
	taken := [3]int{}
	for _, v := range slices.Backward(f.Votes) {
		step := f.stepOf(v)
		if v.Decision != models.VoteApprove || (f.Routing.Steps() == 2 && taken[step] == 1) || (f.Routing.Steps() == 1 && taken[step] == f.Routing.Required()) {
			continue
		}
		taken[step]++
		list = append(list, v)
	}
	slices.Reverse(list)
	return list
}

// Eligible is one person whom the routing names, or who stands in for one, and whether they may decide
// now.
type Eligible struct {
	UserID     string
	Name       string
	Role       models.Role
	Bar        Bar // empty: they may
	Step       int
	OnBehalfOf string      // name of whose place it is, empty when it is their own
	Limit      string      // of a place held for another: the lower of both limits
	StandIn    string      // with BarDelegated: who stands in
	Until      models.Time // when the delegation ends
}

// May says whether the person may decide now.
func (e Eligible) May() bool { return e.Bar == "" }

// Why says in words why the person may not decide; it finishes a sentence that begins with their name.
func (e Eligible) Why() string {
	switch e.Bar {
	case BarResponsible:
		return "answers for the account that asked for this"
	case BarDelegation:
		return "stands in for somebody who asked for this, or is represented by them"
	case BarStoodIn:
		return "was represented: somebody voted in their place"
	case BarDelegated:
		return "delegated this to " + e.StandIn
	case BarNeededThen:
		return "is needed for the second yes"
	case BarTurn:
		return "comes second"
	case BarStepDone:
		return "is not needed: this step has its yes"
	}
	return barText[e.Bar]
}

// Deciders lists the active members whom the routing names, and who stands in for them.
func (f Facts) Deciders(members []models.Member) []Eligible {
	b := f.board(members)
	var list []Eligible
	for _, s := range b.seats {
		e := Eligible{UserID: s.owner.User.ID, Name: s.owner.User.Name, Role: s.role, Bar: s.bar, Step: s.step}
		if s.by == nil {
			if s.bar == BarStepDone {
				continue
			}
			list = append(list, e)
			continue
		}
		e.Bar, e.StandIn, e.Until = BarDelegated, s.holder.User.Name, s.by.EndsAt
		list = append(list, e)
		if s.bar == BarVoted {
			continue // the stand-in votes in a place of their own
		}
		list = append(list, Eligible{UserID: s.holder.User.ID, Name: s.holder.User.Name, Role: s.role, Bar: s.bar, Step: s.step,
			OnBehalfOf: s.owner.User.Name, Limit: s.by.Limit, Until: s.by.EndsAt})
	}
	return list
}

// Tally is where a request stands by its votes.
type Tally struct {
	Status   models.RequestStatus // pending, unrouted, approved or rejected
	Yes      int                  // yes votes that count
	Required int
	Left     int // people who may still vote, now or when their turn comes
	Open     int // the step that is open, 1 or 2; 0 when no vote is missing

	yes []models.Vote // the votes that count
}

// Count computes where a request stands. One no rejects. A yes counts once per person and place, and
// only while that place is still its owner's and nothing has come up that bars them. When the votes
// that are missing cannot come any more nobody can decide it: unrouted.
func (f Facts) Count(members []models.Member) Tally {
	t := Tally{Status: models.RequestPending, Required: f.Routing.Required()}
	if f.Routing.Authority() == nil {
		t.Status = models.RequestUnrouted
		return t
	}
	for _, v := range f.Votes {
		if v.Decision == models.VoteReject {
			t.Status = models.RequestRejected
			return t
		}
	}
	b := f.board(members)
	t.Yes, t.Left, t.Open, t.yes = len(b.yes), b.left(), b.open, b.yes
	switch {
	case b.open == 0:
		t.Status = models.RequestApproved
	case !b.decidable():
		t.Status = models.RequestUnrouted
	}
	return t
}

// needed says in words which votes are missing, such as "a yes of Finance lead, then one of AP lead".
func (f Facts) needed(t Tally, names map[string]string) string {
	c := f.Routing.Authority()
	if c == nil || t.Open == 0 {
		return ""
	}
	who := func(step int) string {
		text := c.whoAt(step, names)
		if f.Routing.Rule != nil && f.Routing.Named != nil && f.NamedID != "" {
			text += " or " + nameOr(names, f.NamedID)
		} else if f.Routing.Rule == nil {
			text = nameOr(names, f.NamedID)
		}
		return text
	}
	switch {
	case f.Routing.Steps() == 2 && t.Open == 1 && t.Yes == 0:
		return fmt.Sprintf("a yes of %s, then one of %s", who(1), who(2))
	case f.Routing.Steps() == 2:
		return "a yes of " + who(t.Open)
	case t.Required-t.Yes > 1:
		return fmt.Sprintf("a yes of %d different people of %s", t.Required-t.Yes, who(1))
	case t.Yes > 0:
		return "one more yes of " + who(1)
	}
	return "a yes of " + who(1)
}

func nameOr(names map[string]string, id string) string {
	if name := names[id]; name != "" {
		return name
	}
	return id
}

// whyUnrouted says what an unrouted request lacks.
func (f Facts) whyUnrouted(w Wanted, t Tally, names map[string]string) string {
	if f.Routing.Authority() == nil {
		doc := ""
		if w.DocumentType != "" {
			doc = ", document type " + w.DocumentType
		}
		return fmt.Sprintf("No rule of the approval matrix covers %s for %s%s.", w.Amount.Format(), w.Tool, doc)
	}
	if f.Routing.Rule == nil {
		return fmt.Sprintf("%s was named to decide this item and cannot any more, and nobody else may.", nameOr(names, f.NamedID))
	}
	missing := fmt.Sprintf("one yes of %s", f.Routing.Authority().Who(names))
	switch {
	case f.Routing.Steps() == 2:
		missing = fmt.Sprintf("a yes of %s, of different people", f.Routing.Authority().Who(names))
	case t.Required > 1:
		missing = fmt.Sprintf("%d different people of %s", t.Required, f.Routing.Authority().Who(names))
	}
	return fmt.Sprintf("The rule for %s with %s needs %s, and too few active people who may decide it are left (%d).",
		w.Amount.Format(), w.Tool, missing, t.Yes+t.Left)
}

// mayVote finds the seat a person votes with, or says why they may not.
func mayVote(by models.Principal, facts Facts, members []models.Member) (seat, error) {
	b := facts.board(members)
	if s, ok := b.seatOf(by.UserID); ok {
		return s, nil
	}
	names := map[string]string{}
	for _, m := range members {
		names[m.User.ID] = m.User.Name
	}
	refuse := func(reason Bar, format string, args ...any) (seat, error) {
		return seat{}, models.E(models.Unprocessable, fmt.Sprintf(format, args...), map[string]any{"reason": string(reason)})
	}
	var mine *seat
	for i, s := range b.seats {
		if s.owner.User.ID == by.UserID && (mine == nil || mine.bar == BarStepDone) {
			mine = &b.seats[i]
		}
	}
	for i, s := range b.seats {
		if s.by != nil && s.holder.User.ID == by.UserID && mine == nil {
			mine = &b.seats[i]
		}
	}
	if mine != nil {
		first := facts.Routing.Authority().whoAt(1, names)
		switch {
		case mine.by != nil && mine.owner.User.ID == by.UserID:
			return refuse(BarDelegated, "You delegated this to %s until %s; end the delegation to decide yourself.", mine.holder.User.Name, inWords(mine.by.LastDay))
		case mine.bar == BarTurn:
			return refuse(BarTurn, "It is not your turn yet: first a yes of %s.", first)
		case mine.bar == BarNeededThen:
			return refuse(BarNeededThen, "It is not your turn yet: you %s. First a yes of somebody else: %s.", barText[BarNeededThen], first)
		case mine.bar == BarStepDone:
			return refuse(BarStepDone, "Your step has its yes already; now a yes of %s is needed.", facts.Routing.Authority().whoAt(max(b.open, 1), names))
		case mine.bar != "":
			return refuse(mine.bar, "You %s, so you cannot decide it.", barText[mine.bar])
		}
	}
	// Whoever was asked to stand in is told why it did not come to them.
	for _, d := range facts.Substitutes {
		owner, active := b.members[d.FromID]
		if d.ToID == nil || *d.ToID != by.UserID || !active || !facts.placed(owner) {
			continue
		}
		if bar := facts.bar(by.UserID); bar != "" {
			return refuse(bar, "You %s, so you cannot decide it for %s.", barText[bar], owner.User.Name)
		}
		if !d.Within {
			return refuse("delegation_limit", "You stand in for %s, but the amount is above what both of you may approve, so this stays with %s.", owner.User.Name, owner.User.Name)
		}
	}
	if bar := facts.bar(by.UserID); bar == BarVoted {
		return refuse(bar, "You %s, so you cannot decide it.", barText[bar])
	}
	authority := facts.Routing.Authority()
	permission, text := "named_approver", "Only the people named for this request may decide it, and you are not one of them."
	if authority != nil && facts.Routing.Rule != nil {
		var roles []string
		for _, r := range []models.Role{authority.Role, authority.ThenRole} {
			if r != "" {
				roles = append(roles, r.Title())
				if permission == "named_approver" {
					permission = string(r)
				}
			}
		}
		if len(roles) > 0 {
			text = fmt.Sprintf("The rule asks for the role %s, which you do not hold in this workspace.", strings.Join(roles, " or "))
		}
	}
	return seat{}, models.E(models.InsufficientPermission, text, map[string]any{"permission": permission, "workspace_id": by.WorkspaceID})
}

// inWords is a date as people read it.
func inWords(d models.Date) string {
	t, err := time.Parse(time.DateOnly, d.String())
	if err != nil {
		return d.String()
	}
	return t.Format("2 January 2006")
}
