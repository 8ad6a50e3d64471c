package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func mountPeople(get, post route) {
	get("/settings/people", (*visit).listPeople)
	post("/settings/people", (*visit).addPerson)
	get("/settings/people/:id", (*visit).showPerson)
	post("/settings/people/:id/roles", (*visit).setRoles)
	get("/settings/people/:id/deactivate", (*visit).askDeactivate)
	post("/settings/people/:id/deactivate", (*visit).deactivatePerson)
	post("/settings/people/:id/reactivate", (*visit).reactivatePerson)
}

// The forms about people.
const (
	formPerson     = "person"
	formRoles      = "roles"
	formDeactivate = "deactivate"
	formReactivate = "reactivate"
)

const (
	// actsShown bounds the acts on the page of one person.
	actsShown = 30
	// waitingShown bounds how many waiting requests are counted.
	waitingShown = 100
)

func personPath(id string) string { return "/settings/people/" + url.PathEscape(id) }

// listPeople is GET /settings/people.
func (v *visit) listPeople() error { return v.people(http.StatusOK, refusal{}, nil) }

func (v *visit) people(status int, refused refusal, roles []models.Role) error {
	list, err := v.p.store.People(v.ctx, v.by)
	if err != nil {
		return err
	}
	absent, err := v.p.store.ActiveDelegations(v.ctx, v.by, "")
	if err != nil {
		return err
	}
	active := 0
	for _, p := range list {
		if p.Active() {
			active++
		}
	}
	page, err := v.page(counted(v.tr("People"), active), v.link("/settings/people"), "people")
	if err != nil {
		return err
	}
	out := views.PeoplePage{Page: page, Tabs: v.settingsTabs("/settings/people"),
		Lead: "Who works in " + v.ws.Name + ", by which roles, and who answers for the accounts of agents and systems."}
	for _, p := range list {
		row := v.personRow(p, absent)
		if !p.Active() {
			out.Gone = append(out.Gone, row)
			continue
		}
		out.Rows = append(out.Rows, row)
		if row.NoOwner != "" {
			out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: "Nobody answers for " + p.User.Name,
				Text: ui.Foreign("Its responsible person, " + orSome(p.OwnerName, "unnamed") + ", is not an active member of this workspace. Questions only that person may answer are cancelled at once."),
				URL:  v.link(personPath(p.User.ID)), LinkText: v.tr("See the account"), TestID: "no-responsible"})
		}
	}
	if v.by.Has(models.RoleAdmin) {
		out.Add = v.personForm(refused.of(formPerson), roles)
	} else {
		out.WhyNot = v.tr("You can see who works here, not change it: that is for admins of this workspace.")
	}
	return render(v.c, status, views.People(out))
}

func (v *visit) personRow(p models.PersonView, absent []models.Delegation) views.PersonRow {
	row := views.PersonRow{ID: p.User.ID, URL: v.link(personPath(p.User.ID)), Name: p.User.Name, Email: p.User.Email, Service: p.User.Kind == models.KindService,
		You: p.User.ID == v.by.UserID, Roles: v.roleTitles(p.Roles), State: personBadge(p), Zone: orSome(p.User.TimeZone, v.ws.TimeZone+" (the workspace’s)"), LastWhat: "never"}
	for _, d := range absent {
		if d.FromID == p.User.ID {
			row.Away = strings.TrimPrefix(row.Away+". "+v.awayUntil(d), ". ")
		}
	}
	if row.Service {
		row.Owner, row.NoOwner = p.OwnerName, ownerProblem(p)
	}
	switch {
	case !p.LastSeen.IsZero() && (row.Service || p.LastSeen.After(p.LastSignIn.Time)):
		row.Last, row.LastWhat = v.at(p.LastSeen), "seen"
		if row.Service {
			row.LastWhat = "used"
		}
	case !p.LastSignIn.IsZero():
		row.Last, row.LastWhat = v.at(p.LastSignIn), v.tr("signed in")
	}
	return row
}

// ownerProblem says what is wrong with who answers for a service account.
func ownerProblem(p models.PersonView) string {
	if p.User.Kind != models.KindService || p.OwnerActive {
		return ""
	}
	return "not active here"
}

func personBadge(p models.PersonView) ui.Badge {
	switch {
	case !p.User.Active:
		return ui.Badge{Text: "Deactivated by the operator", Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "person-state"}
	case !p.Joined:
		return ui.Badge{Text: "Deactivated", Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "person-state"}
	case p.User.Kind == models.KindService:
		return ui.Badge{Text: "Service account", Tone: ui.ToneAgent, Sign: ui.SignDone, TestID: "person-state"}
	}
	return ui.Badge{Text: "Active", Tone: ui.ToneGood, Sign: ui.SignDone, TestID: "person-state"}
}

// awayUntil is an absence behind the word Away.
func (w words) awayUntil(d models.Delegation) string {
	if d.ToID == nil {
		return "until " + w.weekday(d.LastDay)
	}
	return "until " + w.weekday(d.LastDay) + "; " + d.ToName + " decides " + w.documentsOf(d.DocumentType)
}

// documentsOf names what an absence covers.
func (w words) documentsOf(documentType string) string {
	if documentType == "" {
		return "every document type"
	}
	return "document type " + ui.Foreign(documentType).Plain()
}

func (v *visit) personForm(refused refusal, roles []models.Role) *views.PersonForm {
	f := &views.PersonForm{Form: v.form(v.link("/settings/people")),
		After: "A known e-mail joins this workspace with these roles, and nothing else about the user changes. A new one can sign in once the operator of the desk has set a first password, " +
			"with apdesk user password. Service accounts are made at the command line."}
	for _, field := range []ui.Field{
		{Name: "email", Label: "E-mail", Kind: ui.FieldEmail, Required: true, Autocomplete: "off"},
		{Name: "name", Label: v.tr("Full name"), Hint: v.tr("Needed for somebody new to the desk"), Autocomplete: "off"},
		{Name: "time_zone", Label: v.tr("Time zone"), Hint: v.tr("Such as Europe/Berlin; empty: the workspace’s")},
	} {
		f.Fields = append(f.Fields, refused.field(field))
	}
	f.Roles = v.roleChecks(models.KindPerson, roles, refused.problems["role"])
	f.Heading, f.Errors = refused.heading, refused.summary(append(slices.Clone(f.Fields), f.Roles)...)
	return f
}

// roleChecks lets any of the roles that a kind of user can hold be ticked.
func (w words) roleChecks(kind models.UserKind, held []models.Role, problem string) ui.Field {
	f := ui.Field{Name: "role", Label: "Roles", Kind: ui.FieldChecks, Required: true, Error: problem, TestID: "roles"}
	for _, r := range models.RolesFor(kind) {
		f.Options = append(f.Options, ui.Option{Value: string(r), Label: w.said(r.Title()) + ": " + roleMeans[r], Selected: slices.Contains(held, r)})
	}
	return f
}

var roleMeans = map[models.Role]string{
	models.RoleAPClerk:     "works Accounts payable",
	models.RoleAPLead:      "works Accounts payable and AP lead, edits the matrix",
	models.RoleProcurement: "works Procurement",
	models.RoleFinanceLead: "works Finance, approves, moves the closed period",
	models.RoleMasterData:  "works Master data, sees tax and bank data",
	models.RoleAuditor:     "reads everything, changes nothing",
	models.RoleAdmin:       "people and rules of this workspace; decides nothing by that",
	models.RoleAgent:       "hands over cases and asks for approvals",
	models.RoleERP:         "redeems approvals and reports writes",
}

// postedRoles are the roles ticked.
func (v *visit) postedRoles(name string) []models.Role {
	var roles []models.Role
	for _, f := range posted(v.c) {
		if f.name == name && strings.TrimSpace(f.value) != "" {
			roles = append(roles, models.Role(strings.TrimSpace(f.value)))
		}
	}
	return roles
}

// addPerson is POST /settings/people.
func (v *visit) addPerson() error {
	typed, roles := v.typed("email", "name", "time_zone"), v.postedRoles("role")
	isNew := false
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		_, isNew, err = tx.AddMember(models.NewUser{Email: typed["email"], Name: typed["name"], TimeZone: typed["time_zone"], Roles: roles})
		return err
	})
	if err == nil {
		message := "member_added"
		if isNew {
			message = "member_created"
		}
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings/people")))
	}
	r, ok := v.refuse(err, formPerson, v.tr("Nobody was added"), typed, nil)
	if !ok {
		return v.refusedOnPeople(err, "")
	}
	return v.people(formStatus(err), r, roles)
}

// refusedOnPeople leaves an attempt of somebody who may not change people on the trail.
func (v *visit) refusedOnPeople(err error, userID string) error {
	if !models.IsCode(err, models.InsufficientPermission) {
		return err
	}
	if trailErr := v.p.store.RecordRefusal(v.ctx, v.by, "membership.change_refused", models.Ref{Subject: userID}, map[string]any{"message": asNamed(err).Message}); trailErr != nil {
		return trailErr
	}
	return err
}

// showPerson is GET /settings/people/{id}.
func (v *visit) showPerson() error {
	return v.person(v.param("id"), http.StatusOK, refusal{}, nil)
}

func (v *visit) person(id string, status int, refused refusal, ticked []models.Role) error {
	p, err := v.p.store.Person(v.ctx, v.by, id)
	if err != nil {
		return err
	}
	acts, err := v.p.store.RecentActs(v.ctx, v.by, id, actsShown)
	if err != nil {
		return err
	}
	page, err := v.page(p.User.Name, v.link(personPath(id)), "")
	if err != nil {
		return err
	}
	out := views.PersonPage{Page: page, BackURL: v.link("/settings/people"), Name: p.User.Name, State: personBadge(p), Facts: v.personFacts(p), Acts: v.timeline(acts, nil),
		ActsFrom: v.tr("At most %d, of the workspace’s last 5,000 events.", actsShown)}
	if ownerProblem(p) != "" {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("Nobody answers for this account"), TestID: "no-responsible",
			Text: ui.Foreign(orSome(p.OwnerName, v.tr("Its responsible person")) + " is not an active member of this workspace. Questions only that person may answer are cancelled at once.")})
	}
	if p.User.Kind == models.KindPerson {
		out.ShowLimits = true
		if out.Limits, err = v.limitRows(p); err != nil {
			return err
		}
		if out.Delegations, err = v.delegationsOf(id); err != nil {
			return err
		}
	}
	switch {
	case !v.by.Has(models.RoleAdmin):
		out.WhyNot = v.tr("You can read this page, not change it: people are changed by admins of this workspace.")
	case id == v.by.UserID:
		out.WhyNot = v.tr("This is you. Nobody changes their own membership or roles; another admin or the operator can.")
	default:
		v.personForms(&out, p, refused, ticked)
	}
	return render(v.c, status, views.PersonDetails(out))
}

func (v *visit) personForms(out *views.PersonPage, p models.PersonView, refused refusal, ticked []models.Role) {
	path := personPath(p.User.ID)
	held, own := p.Roles, refused.of(formRoles)
	if own.heading != "" {
		held = ticked
	}
	roles := &views.RolesForm{Form: v.form(v.link(path + "/roles")), Was: joinedRoles(p.Roles), Roles: v.roleChecks(p.User.Kind, held, own.problems["role"]),
		After: v.tr("A role that is taken away takes effect at once, and the next page says what goes back before it does.")}
	roles.Heading, roles.Errors = own.heading, own.summary(roles.Roles)
	out.Roles = roles
	if other := refused.of(formReactivate); other.heading != "" {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneBad, Heading: other.heading, Text: ui.Foreign(sentence(other.problems[""])), TestID: "refused"})
	}
	switch {
	case !p.User.Active:
		out.WhyNot = v.tr("The operator of the desk deactivated this user everywhere, and alone can take that back.")
	case p.Joined:
		out.Deactivate = &ui.Link{Title: ui.Foreign("Deactivate " + p.User.Name + "…"), URL: string(v.link(path + "/deactivate"))}
	default:
		out.Reactivate = &views.ReactivateForm{Form: v.form(v.link(path + "/reactivate")),
			After: "They have their roles again: " + orSome(v.roleTitles(p.Roles), "none") + ". Sessions, tokens, claims and delegations that ended stay ended."}
	}
}

func (v *visit) personFacts(p models.PersonView) []ui.Entry {
	facts := []ui.Entry{{Key: "email", Label: "E-mail", Value: ui.TextValue(p.User.Email)}, ui.Pair(v.tr("Roles"), orSome(v.roleTitles(p.Roles), "none")), ui.Pair(v.tr("Member since"), v.day(p.Since))}
	if p.User.Kind == models.KindService {
		facts = append(facts, ui.Pair(v.tr("Responsible person"), orSome(p.OwnerName, "none")))
	} else {
		facts = append(facts, ui.Pair(v.tr("Time zone"), orSome(p.User.TimeZone, v.ws.TimeZone+" (the workspace’s)")))
	}
	if !p.LastSignIn.IsZero() {
		facts = append(facts, ui.Pair(v.tr("Last sign-in"), v.exactly(p.LastSignIn).Text))
	}
	if !p.LastSeen.IsZero() {
		facts = append(facts, ui.Pair(v.tr("Last seen"), v.exactly(p.LastSeen).Text))
	}
	return facts
}

// limitRows is how much somebody may approve of each kind of write a rule in force names.
func (v *visit) limitRows(p models.PersonView) ([]views.LimitRow, error) {
	list, err := v.p.approvals.Rules(v.ctx, v.by)
	if err != nil {
		return nil, err
	}
	rules := make([]models.Rule, len(list))
	for i, r := range list {
		rules[i] = r.Rule
	}
	m := models.Member{User: p.User, Roles: p.Roles}
	if !p.Active() {
		m.Roles = nil
	}
	type kind struct{ tool, documentType, currency string }
	seen := map[kind]bool{}
	var rows []views.LimitRow
	for _, r := range rules {
		k := kind{r.Tool, r.DocumentType, r.Currency}
		if seen[k] {
			continue
		}
		seen[k] = true
		limit, by, ok := approvals.LimitOf(rules, m, k.tool, k.documentType, k.currency)
		if !ok || !p.Active() {
			continue
		}
		how := "by the rule for " + v.lower(v.role(by.Role))
		if by.Role == "" {
			how = v.tr("by a rule that names people")
		}
		switch {
		case by.ThenRole != "":
			how += ", then " + v.lower(v.role(by.ThenRole))
		case by.Required > 1:
			how += v.tr(", together with somebody else")
		}
		rows = append(rows, views.LimitRow{What: writesOf(k.tool, k.documentType), Amount: v.figures(limit, k.currency), Currency: k.currency, By: how, URL: v.link("/settings/rules")})
	}
	return rows, nil
}

// writesOf names a kind of write.
func writesOf(tool, documentType string) string {
	var parts []string
	if tool != "" {
		parts = append(parts, "tool "+ui.Foreign(tool).Plain())
	}
	if documentType != "" {
		parts = append(parts, "document type "+ui.Foreign(documentType).Plain())
	}
	if len(parts) == 0 {
		return "any write"
	}
	return strings.Join(parts, ", ")
}

func joinedRoles(roles []models.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// setRoles is POST /settings/people/{id}/roles. Taking a role away asks once more on a page of its own.
func (v *visit) setRoles() error {
	id, roles := v.param("id"), v.postedRoles("role")
	typed := v.typed("was", "confirmed")
	p, err := v.p.store.Person(v.ctx, v.by, id)
	if err != nil {
		return err
	}
	if joinedRoles(p.Roles) != typed["was"] {
		err = models.E(models.Conflict, fmt.Sprintf("The roles of %s changed since you opened the page. They are now: %s.", p.User.Name, orSome(v.roleTitles(p.Roles), "none")), nil)
	}
	loses := slices.DeleteFunc(slices.Clone(p.Roles), func(r models.Role) bool { return slices.Contains(roles, r) })
	if err == nil && len(loses) > 0 && len(roles) > 0 && p.Active() && typed["confirmed"] == "" && v.by.Has(models.RoleAdmin) && id != v.by.UserID {
		return v.askRoles(p, roles, loses)
	}
	if err == nil {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetRoles(id, roles) })
	}
	return v.personChanged(id, err, formRoles, v.tr("The roles were not changed"), "roles_set", roles)
}

func (v *visit) personChanged(id string, err error, form, heading, message string, ticked []models.Role) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link(personPath(id))))
	}
	r, ok := v.refuse(err, form, heading, nil, nil)
	if !ok {
		return v.refusedOnPeople(err, id)
	}
	return v.person(id, formStatus(err), r, ticked)
}

func (v *visit) askRoles(p models.PersonView, roles, loses []models.Role) error {
	will, err := v.willLose(p, roles...)
	if err != nil {
		return err
	}
	path := personPath(p.User.ID)
	page, err := v.page("Change the roles of "+p.User.Name+"?", v.link(path), "")
	if err != nil {
		return err
	}
	out := views.LeavingPage{Page: page, Heading: page.Title, Lead: "Taken away: " + v.roleTitles(loses) + ". Left: " + v.roleTitles(roles) + ".", Will: will,
		Form: v.form(v.link(path + "/roles")), CancelURL: v.link(path), Button: ui.Button{Label: v.tr("Set the roles"), Variant: ui.ButtonDanger},
		Hidden: []ui.Hidden{{Name: "was", Value: joinedRoles(p.Roles)}, {Name: "confirmed", Value: "yes"}}}
	for _, r := range roles {
		out.Hidden = append(out.Hidden, ui.Hidden{Name: "role", Value: string(r)})
	}
	return render(v.c, http.StatusOK, views.Leaving(out))
}

// askDeactivate is GET /settings/people/{id}/deactivate: what will happen, before it does.
func (v *visit) askDeactivate() error { return v.leaving(v.param("id"), http.StatusOK, refusal{}) }

// deactivatePerson is POST /settings/people/{id}/deactivate.
func (v *visit) deactivatePerson() error {
	id, typed := v.param("id"), v.typed("reason")
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.DeactivateMember(id, typed["reason"]) })
	if err == nil {
		v.p.say(v.c, "deactivated")
		return seeOther(v.c, string(v.link("/settings/people")))
	}
	r, ok := v.refuse(err, formDeactivate, v.tr("Nothing was changed"), typed, nil)
	if !ok {
		return v.refusedOnPeople(err, id)
	}
	return v.leaving(id, formStatus(err), r)
}

// reactivatePerson is POST /settings/people/{id}/reactivate.
func (v *visit) reactivatePerson() error {
	id := v.param("id")
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.ReactivateMember(id) })
	return v.personChanged(id, err, formReactivate, v.tr("Nothing was changed"), "reactivated", nil)
}

func (v *visit) leaving(id string, status int, refused refusal) error {
	p, err := v.p.store.Person(v.ctx, v.by, id)
	if err != nil {
		return err
	}
	will, err := v.willLose(p)
	if err != nil {
		return err
	}
	path := personPath(id)
	page, err := v.page("Deactivate "+p.User.Name+"?", v.link(path+"/deactivate"), "")
	if err != nil {
		return err
	}
	reason := refused.field(ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Hint: v.tr("Kept on the trail. People of this workspace can read it.")})
	out := views.LeavingPage{Page: page, Heading: page.Title, Lead: p.User.Email + ", " + v.lower(orSome(v.roleTitles(p.Roles), v.tr("no role"))) + " in " + v.ws.Name + ".", Will: will,
		Form: v.form(v.link(path + "/deactivate")), Fields: []ui.Field{reason}, CancelURL: v.link(path), Button: ui.Button{Label: "Deactivate " + p.User.Name, Variant: ui.ButtonDanger}}
	out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(reason)
	return render(v.c, status, views.Leaving(out))
}

// willLose says in words what follows when somebody loses the workspace, or keeps only some roles there.
func (v *visit) willLose(p models.PersonView, keeps ...models.Role) ([]string, error) {
	would, err := v.p.store.WhatLeaving(v.ctx, v.by, p.User.ID, keeps...)
	if err != nil {
		return nil, err
	}
	name := p.User.Name
	will := []string{counts(would.Claims, "No case goes back: "+name+" holds none that would.",
		v.tr("1 claimed case goes back to its queue."), v.tr("%d claimed cases go back to their queues."))}
	if p.User.Kind == models.KindPerson {
		will = append(will, counts(would.Approvals, "No approval is revoked: "+name+" gave none that is still unused.",
			"1 approval that "+name+" gave and nobody used is revoked, and a case opens for the AP lead to look into it.",
			"%d approvals that "+name+" gave and nobody used are revoked, and a case for each opens for the AP lead."))
		waiting, more, err := v.p.approvals.CountWaiting(v.ctx, v.asThem(p), waitingShown)
		if err != nil && !models.IsCode(err, models.InsufficientPermission) {
			return nil, err
		}
		one, many := "1 request that waits for "+name+" loses an approver.", "%d requests that wait for "+name+" lose an approver."
		if len(keeps) > 0 {
			one, many = "1 request waits for "+name+" and may lose an approver.", "%d requests wait for "+name+" and may lose an approver."
		}
		text := counts(int64(waiting), "No request waits for "+name+".", one, many)
		if more {
			text = "More than " + text
		}
		if waiting > 0 {
			text += v.tr(" One that too few people are left to decide becomes unrouted, and a case opens for the AP lead.")
		}
		will = append(will, text)
	}
	if len(keeps) > 0 {
		return append(will, v.tr("Sessions and tokens stay; from the next page or call on they have only the roles that are left.")), nil
	}
	if would.Delegations > 0 {
		will = append(will, counts(would.Delegations, "", "1 delegation from or to "+name+" ends.", "%d delegations from or to "+name+" end."))
	}
	switch {
	case would.Elsewhere:
		will = append(will, "Sessions and tokens stay, since "+name+" is active in another workspace too; none of them reaches this workspace any more.")
	case would.Ends == models.Credentials{}:
		will = append(will, v.tr("No session and no token is there to end. Signing in is refused from now on."))
	default:
		will = append(will, counts(would.Ends.Sessions, v.tr("No session is open"), v.tr("1 session ends"), v.tr("%d sessions end"))+", and "+
			counts(would.Ends.Tokens, v.tr("no token is in use"), v.tr("1 token is revoked"), v.tr("%d tokens are revoked"))+" for good. Signing in is refused from now on.")
	}
	return append(will, "What "+name+" did stays on the trail. You can reactivate the membership; what went back or ended does not return."), nil
}

// counts puts a number into one of three sentences.
func counts(n int64, none, one, many string) string {
	switch n {
	case 0:
		return none
	case 1:
		return one
	}
	return fmt.Sprintf(many, n)
}

// asThem is the member as they would come to the pages, to count what waits for them.
func (v *visit) asThem(p models.PersonView) models.Principal {
	return models.Principal{UserID: p.User.ID, UserName: p.User.Name, Email: p.User.Email, Kind: p.User.Kind, TimeZone: p.User.TimeZone,
		WorkspaceID: v.by.WorkspaceID, Roles: p.Roles, Channel: models.ChannelWeb}
}

// delegationsOf are the absences of one person, and those in which they decide.
func (v *visit) delegationsOf(userID string) ([]views.DelegationCard, error) {
	list, err := v.p.approvals.Delegations(v.ctx, v.by, false)
	if err != nil {
		return nil, err
	}
	var cards []views.DelegationCard
	for _, d := range list {
		if d.FromID == userID || (d.ToID != nil && *d.ToID == userID) {
			cards = append(cards, v.delegationCard(d, refusal{}))
		}
	}
	return cards, nil
}

// peopleEvent is what the desk writes beside events about people.
type peopleEvent struct {
	Name     string        `json:"name"`
	Email    string        `json:"email"`
	User     string        `json:"user"`
	Roles    []models.Role `json:"roles"`
	Before   []models.Role `json:"before"`
	After    []models.Role `json:"after"`
	NewUser  bool          `json:"new_user"`
	Reason   string        `json:"reason"`
	Message  string        `json:"message"`
	Sessions int64         `json:"sessions_ended"`
	Tokens   int64         `json:"tokens_revoked"`
	First    bool          `json:"first"`
	Prefix   string        `json:"prefix"`
	Address  string        `json:"address"`
	Failures int64         `json:"failures"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	FirstDay string        `json:"first_day"`
	LastDay  string        `json:"last_day"`
	Why      string        `json:"why"`
}

// tellPeople puts an event about members and what they sign in with into words.
func (w words) tellPeople(e models.AuditEvent) told {
	var d peopleEvent
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read is told without its facts
	who := orSome(orSome(d.Name, d.Email), "somebody")
	ended := pairs("Sessions ended", counts(d.Sessions, "", "1", "%d"), "Tokens revoked", counts(d.Tokens, "", "1", "%d"))
	switch e.Action {
	case "membership.added":
		t := told{what: "added " + who + " to the workspace", details: pairs("Roles", w.roleTitles(d.Roles))}
		if d.NewUser {
			t.what = "created " + who + " as a member of the workspace"
		}
		return t
	case "membership.roles_set":
		return told{what: "changed the roles of " + who, details: pairs("Before", w.roleTitles(d.Before), "Now", w.roleTitles(d.After))}
	case "membership.deactivated":
		return told{what: "deactivated " + who + " in the workspace", words: d.Reason, details: ended}
	case "membership.reactivated":
		return told{what: "reactivated " + who + " in the workspace", details: pairs("Roles", w.roleTitles(d.Roles))}
	case "membership.change_refused":
		return told{what: "tried to change people and was refused", details: pairs("Why", d.Message)}
	case "user.deactivated":
		return told{what: "deactivated " + who + " everywhere", words: d.Reason, details: ended}
	case "user.reactivated":
		return told{what: "let " + who + " work again"}
	case "person.signed_in":
		return told{what: "signed in"}
	case "person.signed_out":
		return told{what: "signed out"}
	case "person.sign_in_failed":
		return told{what: "failed to sign in"}
	case "person.sign_in_locked":
		return told{what: "failed to sign in so often that more attempts have to wait", details: pairs("From", orSome(d.Address, "many addresses"), "Failed", counts(d.Failures, "", "once", "%d times"))}
	case "person.sign_in_unlocked":
		return told{what: "cleared the failed sign-ins of " + d.User}
	case "person.session_ended":
		return told{what: "ended sessions of their own", details: ended}
	case "person.password_changed":
		return told{what: "changed their password", details: ended}
	case "person.confirmation_failed":
		return told{what: "did not know their password when asked for it again"}
	case "person.password_set":
		if d.First {
			return told{what: "set the first password of " + d.User}
		}
		return told{what: "set a new password of " + d.User, details: ended}
	case "delegation.set":
		return told{what: "planned that " + d.From + " is away; " + orSome(d.To, "nobody") + " decides meanwhile", details: pairs("From", w.dateText(d.FirstDay), "To", w.dateText(d.LastDay))}
	case "delegation.started":
		return told{what: "began: " + d.From + " is away; " + orSome(d.To, "nobody") + " decides meanwhile"}
	case "delegation.ended":
		return told{what: "ended the absence of " + d.From, details: pairs("Decided meanwhile", d.To, "Why", d.Why)}
	case "token.created":
		return told{what: "made a token of " + d.User, details: pairs("Token", d.Prefix+"…", "Name", d.Name)}
	}
	return told{what: strings.NewReplacer(".", " ", "_", " ").Replace(e.Action), words: d.Reason}
}
