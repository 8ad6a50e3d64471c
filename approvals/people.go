package approvals

import (
	"fmt"
	"slices"

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
)

// barText finishes a sentence that begins with "You" or "they".
var barText = map[Bar]string{
	BarVoted:       "voted on this request already",
	BarAsker:       "asked for this",
	BarResponsible: "answer for the account that asked for this",
	BarTokenMaker:  "made the token that asked for this",
	BarCorrected:   "corrected an earlier step of this invoice, so somebody else must approve the corrected call",
	BarRuleAuthor:  "wrote the version of the rule that routed this",
	BarNamedBy:     "named the approver of this",
}

// Facts is all that deciding who may vote needs to know of a request, besides the members.
type Facts struct {
	Routing    Routing
	NamedID    string
	NamedByID  string
	Askers     map[string]Bar  // user id to how they count as asker
	Correctors map[string]bool // user ids that corrected an earlier call of the invoice
	Votes      []models.Vote
}

// place says by which role, or by name, a member may vote on the request; ok is false when the
// routing names neither them nor a role of theirs. Only people have a place, since a service account
// can never sign in to vote.
func (f Facts) place(m models.Member) (role models.Role, ok bool) {
	if m.User.Kind != models.KindPerson {
		return "", false
	}
	if r := f.Routing.Rule; r != nil {
		if role, ok := r.place(m); ok {
			return role, true
		}
	}
	if n := f.Routing.Named; n != nil && f.NamedID == m.User.ID {
		return n.place(m)
	}
	return "", false
}

func (c RuleCopy) place(m models.Member) (models.Role, bool) {
	if c.Role != "" {
		return c.Role, m.Has(c.Role)
	}
	if !slices.Contains(c.People, m.User.ID) {
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
	return ""
}

// Eligible is one person whom the routing names, and whether they may decide now.
type Eligible struct {
	UserID string
	Name   string
	Role   models.Role
	Bar    Bar // empty: they may
}

// May says whether the person may decide now.
func (e Eligible) May() bool { return e.Bar == "" }

// Why says in words why the person may not decide; it finishes a sentence that begins with their name.
func (e Eligible) Why() string {
	if e.Bar == BarResponsible {
		return "answers for the account that asked for this"
	}
	return barText[e.Bar]
}

// Deciders lists the active members whom the routing names.
func (f Facts) Deciders(members []models.Member) []Eligible {
	var list []Eligible
	for _, m := range members {
		if role, ok := f.place(m); ok {
			list = append(list, Eligible{UserID: m.User.ID, Name: m.User.Name, Role: role, Bar: f.bar(m.User.ID)})
		}
	}
	return list
}

// Tally is where a request stands by its votes.
type Tally struct {
	Status   models.RequestStatus // pending, unrouted, approved or rejected
	Yes      int                  // yes votes that count
	Required int
	Left     int // people who may still vote
}

// Count computes where a request stands. One no rejects. A yes counts once per person and only while
// that person still has the place it was given under and nothing has come up that bars them. With
// fewer people left than votes missing nobody can decide it: unrouted.
func (f Facts) Count(members []models.Member) Tally {
	t := Tally{Status: models.RequestPending, Required: f.Routing.Required()}
	if f.Routing.Authority() == nil {
		t.Status = models.RequestUnrouted
		return t
	}
	yes := map[string]bool{}
	for _, v := range f.Votes {
		if v.Decision == models.VoteReject {
			t.Status = models.RequestRejected
			return t
		}
		yes[v.UserID] = true
	}
	for _, m := range members {
		if _, ok := f.place(m); !ok {
			continue
		}
		switch {
		case yes[m.User.ID] && f.standingBar(m.User.ID) == "":
			t.Yes++
		case f.bar(m.User.ID) == "":
			t.Left++
		}
	}
	switch {
	case t.Yes >= t.Required:
		t.Status = models.RequestApproved
	case t.Yes+t.Left < t.Required:
		t.Status = models.RequestUnrouted
	}
	return t
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
	missing := fmt.Sprintf("one yes of %s", f.Routing.Authority().Who(names))
	if t.Required > 1 {
		missing = fmt.Sprintf("%d different people of %s", t.Required, f.Routing.Authority().Who(names))
	}
	return fmt.Sprintf("The rule for %s with %s needs %s, and too few active people who may decide it are left (%d).",
		w.Amount.Format(), w.Tool, missing, t.Yes+t.Left)
}
