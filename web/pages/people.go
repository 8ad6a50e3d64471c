package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

func mountPeople(get, post route) {
	get("/settings/people", (*visit).listPeople)
	post("/settings/people", (*visit).addPerson)
	post("/settings/people/invitations/withdraw", (*visit).withdrawInvitation)
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
func (v *visit) listPeople() error { return v.people(http.StatusOK, refusal{}, nil, nil) }

func (v *visit) people(status int, refused refusal, roles []models.Role, made *views.MadeSecret) error {
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
		Lead: v.tr("Who works in %s, by which roles, and who answers for the accounts of agents and systems.", v.ws.Name)}
	for _, p := range list {
		row := v.personRow(p, absent)
		if !p.Active() {
			out.Gone = append(out.Gone, row)
			continue
		}
		out.Rows = append(out.Rows, row)
		if row.NoOwner != "" {
			out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("Nobody answers for %s", p.User.Name),
				Text: ui.Foreign(v.tr("Its responsible person, %s, is not an active member of this workspace. Questions only that person may answer are cancelled at once.", orSome(p.OwnerName, v.tr("unnamed")))),
				URL:  v.link(personPath(p.User.ID)), LinkText: v.tr("See the account"), TestID: "no-responsible"})
		}
	}
	out.Made = made
	if out.Invited, err = v.invitations(); err != nil {
		return err
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
		You: p.User.ID == v.by.UserID, Roles: v.roleTitles(p.Roles), State: v.personBadge(p), Zone: orSome(p.User.TimeZone, v.tr("%s (the workspace’s)", v.ws.TimeZone)), LastWhat: v.tr("never")}
	for _, d := range absent {
		if d.FromID == p.User.ID {
			row.Away = strings.TrimPrefix(row.Away+". "+v.awayUntil(d), ". ")
		}
	}
	if row.Service {
		row.Owner, row.NoOwner = p.OwnerName, v.ownerProblem(p)
	}
	switch {
	case !p.LastSeen.IsZero() && (row.Service || p.LastSeen.After(p.LastSignIn.Time)):
		row.Last, row.LastWhat = v.at(p.LastSeen), v.tr("seen")
		if row.Service {
			row.LastWhat = v.tr("used")
		}
	case !p.LastSignIn.IsZero():
		row.Last, row.LastWhat = v.at(p.LastSignIn), v.tr("signed in")
	}
	return row
}

// ownerProblem says what is wrong with who answers for a service account.
func (w words) ownerProblem(p models.PersonView) string {
	if p.User.Kind != models.KindService || p.OwnerActive {
		return ""
	}
	return w.tr("not active here")
}

func (w words) personBadge(p models.PersonView) ui.Badge {
	switch {
	case !p.User.Active:
		return ui.Badge{Text: w.tr("Deactivated by the operator"), Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "person-state"}
	case !p.Joined:
		return ui.Badge{Text: w.tr("Deactivated"), Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "person-state"}
	case p.User.Kind == models.KindService:
		return ui.Badge{Text: w.tr("Service account"), Tone: ui.ToneAgent, Sign: ui.SignDone, TestID: "person-state"}
	}
	return ui.Badge{Text: w.tr("Active"), Tone: ui.ToneGood, Sign: ui.SignDone, TestID: "person-state"}
}

// awayUntil is an absence behind the word Away.
func (w words) awayUntil(d models.Delegation) string {
	if d.ToID == nil {
		return w.tr("until %s", w.weekday(d.LastDay))
	}
	return w.tr("until %s; %s decides %s", w.weekday(d.LastDay), d.ToName, w.documentsOf(d.DocumentType))
}

// documentsOf names what an absence covers.
func (w words) documentsOf(documentType string) string {
	if documentType == "" {
		return w.tr("every document type")
	}
	return w.tr("document type %s", ui.Foreign(documentType).Plain())
}

func (v *visit) personForm(refused refusal, roles []models.Role) *views.PersonForm {
	f := &views.PersonForm{Form: v.form(v.link("/settings/people")),
		After: v.tr("A known e-mail joins this workspace with these roles, and nothing else about the user changes. For a new one you get a link to hand over, with which the person sets a password of their own. Service accounts are made at the command line.")}
	for _, field := range []ui.Field{
		{Name: "email", Label: v.tr("E-mail"), Kind: ui.FieldEmail, Required: true, Autocomplete: "off"},
		{Name: "name", Label: v.tr("Full name"), Hint: v.tr("For somebody new to the desk, who can change it"), Autocomplete: "off"},
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
	f := ui.Field{Name: "role", Label: w.tr("Roles"), Kind: ui.FieldChecks, Required: true, Error: problem, TestID: "roles"}
	for _, r := range models.RolesFor(kind) {
		f.Options = append(f.Options, ui.Option{Value: string(r), Label: w.tr("%s: %s", w.role(r), w.tr(roleMeans[r])), Selected: slices.Contains(held, r)})
	}
	return f
}

var roleMeans = map[models.Role]string{
	models.RoleAPClerk:     lang.Mark("works Accounts payable"),
	models.RoleAPLead:      lang.Mark("works Accounts payable and AP lead, edits the matrix"),
	models.RoleProcurement: lang.Mark("works Procurement"),
	models.RoleFinanceLead: lang.Mark("works Finance, approves, moves the closed period"),
	models.RoleMasterData:  lang.Mark("works Master data, sees tax and bank data"),
	models.RoleAuditor:     lang.Mark("reads everything, changes nothing"),
	models.RoleAdmin:       lang.Mark("people and rules of this workspace; decides nothing by that"),
	models.RoleAgent:       lang.Mark("hands over cases and asks for approvals"),
	models.RoleERP:         lang.Mark("redeems approvals and reports writes"),
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
	var in models.Invited
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		in, err = tx.Invite(models.NewUser{Email: typed["email"], Name: typed["name"], TimeZone: typed["time_zone"], Roles: roles})
		return err
	})
	if err == nil && in.Secret != "" {
		return v.people(http.StatusCreated, refusal{}, nil, v.invited(in))
	}
	if err == nil {
		v.p.say(v.c, "member_added")
		return seeOther(v.c, string(v.link("/settings/people")))
	}
	r, ok := v.refuse(err, formPerson, v.tr("Nobody was added"), typed, nil)
	if !ok {
		return v.refusedOnPeople(err, "")
	}
	return v.people(formStatus(err), r, roles, nil)
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
	out := views.PersonPage{Page: page, BackURL: v.link("/settings/people"), Name: p.User.Name, State: v.personBadge(p), Facts: v.personFacts(p), Acts: v.timeline(acts, nil),
		ActsFrom: v.tr("At most %d, of the workspace’s last 5,000 events.", actsShown)}
	if v.ownerProblem(p) != "" {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("Nobody answers for this account"), TestID: "no-responsible",
			Text: ui.Foreign(v.tr("%s is not an active member of this workspace. Questions only that person may answer are cancelled at once.", orSome(p.OwnerName, v.tr("Its responsible person"))))})
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
		out.Deactivate = &ui.Link{Title: ui.Foreign(v.tr("Deactivate %s…", p.User.Name)), URL: string(v.link(path + "/deactivate"))}
	default:
		out.Reactivate = &views.ReactivateForm{Form: v.form(v.link(path + "/reactivate")),
			After: v.tr("They have their roles again: %s. Sessions, tokens, claims and delegations that ended stay ended.", orSome(v.roleTitles(p.Roles), v.tr("none")))}
	}
}

func (v *visit) personFacts(p models.PersonView) []ui.Entry {
	facts := []ui.Entry{{Key: "email", Label: ui.Foreign(v.tr("E-mail")), Value: ui.TextValue(p.User.Email)}, ui.Pair(v.tr("Roles"), orSome(v.roleTitles(p.Roles), v.tr("none"))), ui.Pair(v.tr("Member since"), v.day(p.Since))}
	if p.User.Kind == models.KindService {
		facts = append(facts, ui.Pair(v.tr("Responsible person"), orSome(p.OwnerName, v.tr("none"))))
	} else {
		facts = append(facts, ui.Pair(v.tr("Time zone"), orSome(p.User.TimeZone, v.tr("%s (the workspace’s)", v.ws.TimeZone))))
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
		how := v.tr("by the rule for %s", v.lower(v.role(by.Role)))
		if by.Role == "" {
			how = v.tr("by a rule that names people")
		}
		switch {
		case by.ThenRole != "":
			how = v.tr("%s, then %s", how, v.lower(v.role(by.ThenRole)))
		case by.Required > 1:
			how = v.tr("%s, together with somebody else", how)
		}
		rows = append(rows, views.LimitRow{What: v.writesOf(k.tool, k.documentType), Amount: v.figures(limit, k.currency), Currency: k.currency, By: how, URL: v.link("/settings/rules")})
	}
	return rows, nil
}

// writesOf names a kind of write.
func (w words) writesOf(tool, documentType string) string {
	var parts []string
	if tool != "" {
		parts = append(parts, w.tr("tool %s", ui.Foreign(tool).Plain()))
	}
	if documentType != "" {
		parts = append(parts, w.documentsOf(documentType))
	}
	if len(parts) == 0 {
		return w.tr("any write")
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
		err = models.E(models.Conflict, fmt.Sprintf("The roles of %s changed since you opened the page. They are now: %s.", p.User.Name, orSome(titles(p.Roles), "none")), nil)
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
	page, err := v.page(v.tr("Change the roles of %s?", p.User.Name), v.link(path), "")
	if err != nil {
		return err
	}
	out := views.LeavingPage{Page: page, Heading: page.Title, Lead: v.tr("Taken away: %s. Left: %s.", v.roleTitles(loses), v.roleTitles(roles)), Will: will,
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
	page, err := v.page(v.tr("Deactivate %s?", p.User.Name), v.link(path+"/deactivate"), "")
	if err != nil {
		return err
	}
	reason := refused.field(ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Hint: v.tr("Kept on the trail. People of this workspace can read it.")})
	out := views.LeavingPage{Page: page, Heading: page.Title, Lead: v.tr("%s, %s in %s.", p.User.Email, v.lower(orSome(v.roleTitles(p.Roles), v.tr("no role"))), v.ws.Name), Will: will,
		Form: v.form(v.link(path + "/deactivate")), Fields: []ui.Field{reason}, CancelURL: v.link(path), Button: ui.Button{Label: v.tr("Deactivate %s", p.User.Name), Variant: ui.ButtonDanger}}
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
	will := []string{v.tr("No case goes back: %s holds none that would.", name)}
	if would.Claims > 0 {
		will[0] = v.trn("%d claimed case goes back to its queue.", "%d claimed cases go back to their queues.", int(would.Claims))
	}
	if p.User.Kind == models.KindPerson {
		text := v.tr("No approval is revoked: %s gave none that is still unused.", name)
		if would.Approvals > 0 {
			text = v.trn("%d approval that %s gave and nobody used is revoked, and a case opens for the AP lead to look into it.",
				"%d approvals that %s gave and nobody used are revoked, and a case for each opens for the AP lead.", int(would.Approvals), name)
		}
		will = append(will, text)
		waiting, more, err := v.p.approvals.CountWaiting(v.ctx, v.asThem(p), waitingShown)
		if err != nil && !models.IsCode(err, models.InsufficientPermission) {
			return nil, err
		}
		will = append(will, v.waitingLoses(name, waiting, more, len(keeps) > 0))
	}
	if len(keeps) > 0 {
		return append(will, v.tr("Sessions and tokens stay; from the next page or call on they have only the roles that are left.")), nil
	}
	if would.Delegations > 0 {
		will = append(will, v.trn("%d delegation from or to %s ends.", "%d delegations from or to %s end.", int(would.Delegations), name))
	}
	switch {
	case would.Elsewhere:
		will = append(will, v.tr("Sessions and tokens stay, since %s is active in another workspace too; none of them reaches this workspace any more.", name))
	case would.Ends == models.Credentials{}:
		will = append(will, v.tr("No session and no token is there to end. Signing in is refused from now on."))
	default:
		sessions, tokens := v.tr("No session is open"), v.tr("no token is in use")
		if would.Ends.Sessions > 0 {
			sessions = v.trn("%d session ends", "%d sessions end", int(would.Ends.Sessions))
		}
		if would.Ends.Tokens > 0 {
			tokens = v.trn("%d token is revoked", "%d tokens are revoked", int(would.Ends.Tokens))
		}
		will = append(will, v.tr("%s, and %s for good. Signing in is refused from now on.", sessions, tokens))
	}
	return append(will, v.tr("What %s did stays on the trail. You can reactivate the membership; what went back or ended does not return.", name)), nil
}

// waitingLoses says what becomes of the requests that wait for somebody who loses the workspace, or may
// lose some of them with a role. more says that there are more than were counted.
func (w words) waitingLoses(name string, waiting int, more, keepsSome bool) string {
	if waiting == 0 {
		return w.tr("No request waits for %s.", name)
	}
	text := ""
	switch {
	case more && keepsSome:
		text = w.tr("More than %d requests wait for %s and may lose an approver.", waiting, name)
	case more:
		text = w.tr("More than %d requests that wait for %s lose an approver.", waiting, name)
	case keepsSome:
		text = w.trn("%d request waits for %s and may lose an approver.", "%d requests wait for %s and may lose an approver.", waiting, name)
	default:
		text = w.trn("%d request that waits for %s loses an approver.", "%d requests that wait for %s lose an approver.", waiting, name)
	}
	return text + " " + w.tr("One that too few people are left to decide becomes unrouted, and a case opens for the AP lead.")
}

// titles are roles as the services name them.
func titles(roles []models.Role) string { return words{}.roleTitles(roles) }

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
	ByLink   bool          `json:"by_link"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	FirstDay string        `json:"first_day"`
	LastDay  string        `json:"last_day"`
	Why      string        `json:"why"`
	How      models.Factor `json:"how"`
	Off      bool          `json:"off"`
}

// tellPeople puts an event about members and what they sign in with into words.
func (w words) tellPeople(e models.AuditEvent) told {
	var d peopleEvent
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read is told without its facts
	who := orSome(orSome(d.Name, d.Email), w.tr("somebody"))
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	ended := pairs(w.tr("Sessions ended"), number(d.Sessions), w.tr("Tokens revoked"), number(d.Tokens))
	switch e.Action {
	case "membership.added":
		t := told{what: w.tr("added %s to the workspace", who), details: pairs(w.tr("Roles"), w.roleTitles(d.Roles))}
		if d.NewUser {
			t.what = w.tr("created %s as a member of the workspace", who)
		}
		return t
	case "membership.roles_set":
		return told{what: w.tr("changed the roles of %s", who), details: pairs(w.tr("Before"), w.roleTitles(d.Before), w.tr("Now"), w.roleTitles(d.After))}
	case "membership.deactivated":
		return told{what: w.tr("deactivated %s in the workspace", who), words: d.Reason, details: ended}
	case "membership.reactivated":
		return told{what: w.tr("reactivated %s in the workspace", who), details: pairs(w.tr("Roles"), w.roleTitles(d.Roles))}
	case "membership.change_refused":
		return told{what: w.tr("tried to change people and was refused"), details: pairs(w.tr("Why"), w.said(d.Message))}
	case "user.deactivated":
		return told{what: w.tr("deactivated %s everywhere", who), words: d.Reason, details: ended}
	case "user.reactivated":
		return told{what: w.tr("let %s work again", who)}
	case "person.signed_in":
		return told{what: w.tr("signed in")}
	case "person.signed_out":
		return told{what: w.tr("signed out")}
	case "person.confirmed":
		return told{what: w.tr("confirmed %s that it is them", w.factor(d.How)), details: pairs(w.tr("Passkey"), d.Name)}
	case "person.linked":
		return told{what: w.tr("linked %s to an account of the identity provider", who)}
	case "person.unlinked":
		return told{what: w.tr("unlinked %s from their account of the identity provider", who)}
	case "person.password_switched":
		if d.Off {
			return told{what: w.tr("let %s sign in through the identity provider only", who)}
		}
		return told{what: w.tr("let %s sign in with a password again", who)}
	case "provider.roles_kept":
		return told{what: w.tr("kept the roles of %s, who is the last admin", who), details: pairs(w.tr("Roles"), w.roleTitles(d.Roles))}
	case "passkey.added":
		return told{what: w.tr("added a passkey"), details: pairs(w.tr("Name"), d.Name)}
	case "passkey.renamed":
		return told{what: w.tr("renamed a passkey")}
	case "passkey.removed":
		return told{what: w.tr("removed a passkey"), details: pairs(w.tr("Name"), d.Name)}
	case "passkey.refused":
		return told{what: w.tr("gave a passkey that was refused"), details: pairs(w.tr("Passkey"), d.Name, w.tr("Why"), d.Why)}
	case "passkeys.removed":
		return told{what: w.tr("removed the passkeys of %s", who)}
	case "recovery_codes.made":
		return told{what: w.tr("made new recovery codes")}
	case "recovery_code.refused":
		return told{what: w.tr("gave a recovery code that was refused")}
	case "person.sign_in_failed":
		return told{what: w.tr("failed to sign in")}
	case "person.sign_in_locked":
		failed := number(d.Failures)
		if d.Failures > 0 {
			failed = w.trn("once", "%d times", int(d.Failures))
		}
		return told{what: w.tr("failed to sign in so often that more attempts have to wait"), details: pairs(w.tr("From"), orSome(d.Address, w.tr("many addresses")), w.tr("Failed"), failed)}
	case "person.sign_in_unlocked":
		return told{what: w.tr("cleared the failed sign-ins of %s", d.User)}
	case "person.session_ended":
		return told{what: w.tr("ended sessions of their own"), details: ended}
	case "person.password_changed":
		return told{what: w.tr("changed their password"), details: ended}
	case "person.confirmation_failed":
		return told{what: w.tr("did not know their password when asked for it again")}
	case "person.reset_link_made":
		return told{what: w.tr("made a link with which %s can set a new password", d.User)}
	case "invitation.made":
		return told{what: w.tr("invited %s to the workspace", who), details: pairs(w.tr("E-mail"), d.Email, w.tr("Roles"), w.roleTitles(d.Roles))}
	case "invitation.withdrawn":
		return told{what: w.tr("withdrew the invitation of %s", d.Email)}
	case "invitation.accepted":
		return told{what: w.tr("accepted the invitation to the workspace"), details: pairs(w.tr("Roles"), w.roleTitles(d.Roles))}
	case "token.revoked":
		return told{what: w.tr("revoked a token of %s", d.User), details: pairs(w.tr("Token"), d.Prefix+"…", w.tr("Name"), d.Name)}
	case "token.rotated":
		return told{what: w.tr("rotated a token of %s", d.User), details: pairs(w.tr("Token"), d.Prefix+"…", w.tr("Name"), d.Name, w.tr("New token"), d.To+"…")}
	case "person.password_set":
		if d.ByLink {
			return told{what: w.tr("set a new password by a link of the operator"), details: ended}
		}
		if d.First {
			return told{what: w.tr("set the first password of %s", d.User)}
		}
		return told{what: w.tr("set a new password of %s", d.User), details: ended}
	case "delegation.set":
		return told{what: w.tr("planned that %s is away; %s decides meanwhile", d.From, orSome(d.To, w.tr("nobody"))), details: pairs(w.tr("From"), w.dateText(d.FirstDay), w.tr("To"), w.dateText(d.LastDay))}
	case "delegation.started":
		return told{what: w.tr("began: %s is away; %s decides meanwhile", d.From, orSome(d.To, w.tr("nobody")))}
	case "delegation.ended":
		return told{what: w.tr("ended the absence of %s", d.From), details: pairs(w.tr("Decided meanwhile"), d.To, w.tr("Why"), w.said(d.Why))}
	case "token.created":
		return told{what: w.tr("made a token of %s", d.User), details: pairs(w.tr("Token"), d.Prefix+"…", w.tr("Name"), d.Name)}
	}
	return told{what: plainWords(e.Action), words: d.Reason}
}
