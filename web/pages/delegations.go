package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func mountDelegations(get, post route) {
	get("/settings/delegations", (*visit).listDelegations)
	post("/settings/delegations", (*visit).delegate)
	post("/settings/delegations/:id/end", (*visit).endDelegation)
}

const (
	formDelegation    = "delegation"
	formEndDelegation = "end:"
	delegationsPath   = "/settings/delegations"
)

// deciding are the roles whose holders decide something, or see to it that others do.
var deciding = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead, models.RoleMasterData}

// listDelegations is GET /settings/delegations.
func (v *visit) listDelegations() error { return v.delegations(http.StatusOK, refusal{}) }

func (v *visit) delegations(status int, refused refusal) error {
	current, err := v.p.approvals.Delegations(v.ctx, v.by, false)
	if err != nil {
		return err
	}
	ended, err := v.p.approvals.Delegations(v.ctx, v.by, true)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Away, and in whose place"), v.link(delegationsPath), "delegations")
	if err != nil {
		return err
	}
	out := views.DelegationsPage{Page: page, Tabs: v.settingsTabs(delegationsPath),
		Lead: v.tr("Who is away, and who decides in their place meanwhile. Both people’s limits count, and page and trail name both.")}
	for _, d := range current {
		card := v.delegationCard(d, refused)
		if v.concerns(d.Delegation) {
			out.Mine = append(out.Mine, card)
		} else {
			out.Others = append(out.Others, card)
		}
	}
	for _, d := range ended {
		out.Ended = append(out.Ended, v.delegationCard(d, refused))
	}
	if id, isEnd := strings.CutPrefix(refused.form, formEndDelegation); isEnd && !slices.ContainsFunc(current, func(d approvals.DelegationView) bool { return d.ID == id && d.CanEnd }) {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: refused.heading, Text: ui.Foreign(sentence(refused.problems[""])), TestID: "refused"})
	}
	if !v.by.Has(deciding...) {
		out.WhyNot = v.tr("Nothing waits for your roles, so there is nothing to hand to somebody else. An AP lead can plan an absence for a colleague.")
		return render(v.c, status, views.Delegations(out))
	}
	if out.Form, err = v.delegationForm(refused.of(formDelegation)); err != nil {
		return err
	}
	return render(v.c, status, views.Delegations(out))
}

// concerns says whether the reader is away by it, or decides by it.
func (v *visit) concerns(d models.Delegation) bool {
	return d.FromID == v.by.UserID || (d.ToID != nil && *d.ToID == v.by.UserID)
}

func (v *visit) delegationCard(d approvals.DelegationView, refused refusal) views.DelegationCard {
	card := views.DelegationCard{ID: d.ID, Heading: v.delegationHeading(d), State: v.delegationBadge(d.State), What: upper(v.documentsOf(d.DocumentType)), Note: ui.Foreign(d.Note),
		When: v.tr("%s to %s (%s)", v.weekday(d.FirstDay), v.weekday(d.LastDay), d.TimeZone), Set: v.tr("Set by %s, %s", d.CreatedByName, v.day(d.CreatedAt))}
	if d.FirstDay == d.LastDay {
		card.When = v.weekday(d.FirstDay) + " (" + d.TimeZone + ")"
	}
	switch d.State {
	case approvals.DelegationPlanned:
		card.Next, card.NextIs = v.toCome(d.StartsAt), v.tr("starts")
	case approvals.DelegationActive:
		card.Next, card.NextIs = v.toCome(d.EndsAt), v.tr("ends")
		card.Moved = v.moved(d)
	default:
		card.Next, card.NextIs = v.at(d.EndsAt), v.trc("of an absence", "ended")
		if !d.EndedAt.IsZero() {
			card.Next, card.NextIs = v.at(d.EndedAt), v.tr("ended by %s", d.EndedBy)
		}
	}
	if d.Stranded > 0 {
		card.Warning = v.stranded(d)
	}
	if d.ToID != nil && d.State != approvals.DelegationEnded {
		card.Limits = v.limitsOf(d)
	}
	if !d.CanEnd {
		return card
	}
	end := &views.DelegationEnd{Form: v.form(v.link(delegationsPath + "/" + url.PathEscape(d.ID) + "/end")), What: v.endMeans(d), Button: ui.Button{Label: v.tr("End it now"), Variant: ui.ButtonPlain}}
	if d.State == approvals.DelegationPlanned {
		end.Button.Label = v.tr("Call it off")
	}
	end.Button.About = card.Heading
	own := refused.of(formEndDelegation + d.ID)
	end.Heading, end.Errors = own.heading, own.summary()
	card.End = end
	return card
}

// stranded says what nobody can decide because of an absence.
func (w words) stranded(d approvals.DelegationView) string {
	if d.State == approvals.DelegationPlanned {
		return w.trn("%d request that is open now would have nobody who can decide it while this holds, because neither of the two may decide what the other asked for, and no other person can.",
			"%d requests that are open now would have nobody who can decide them while this holds, because neither of the two may decide what the other asked for, and no other person can.", d.Stranded)
	}
	return w.trn("%d open request has nobody who can decide it while this holds, because neither of the two may decide what the other asked for, and no other person can.",
		"%d open requests have nobody who can decide them while this holds, because neither of the two may decide what the other asked for, and no other person can.", d.Stranded)
}

// limitsOf says what stays with the absent person since the delegate has no limit for it, empty for nothing.
func (w words) limitsOf(d approvals.DelegationView) string {
	switch r := d.Reach; {
	case r.Rules == 0:
		return w.tr("By the rules of now, %s decides nothing that could move to %s.", d.FromName, d.ToName)
	case r.Nothing():
		return w.tr("Nothing moves: by the rules of now, %s has no limit of their own for anything %s decides, and both limits count.", d.ToName, d.FromName)
	case !r.Whole():
		return w.tr("Not everything moves, since both limits count: of %d rules by which %s decides, %s has a limit for %d as a whole and for %d in part. The rest stays with %s.",
			r.Rules, d.FromName, d.ToName, r.Full, r.Part, d.FromName)
	}
	return ""
}

// toCome is a moment to come, with the time that is left rounded.
func (v *visit) toCome(t models.Time) ui.Moment {
	m := v.at(t)
	m.Text, m.Kind = v.in(t), ui.MomentPlain
	return m
}

// delegationHeading says who is away and who decides, as the reader would say it.
func (v *visit) delegationHeading(d approvals.DelegationView) string {
	isAway, decide := v.tr("%s is away", d.FromName), v.tr("%s decides", d.ToName)
	if d.FromID == v.by.UserID {
		isAway = v.tr("You are away")
	}
	switch {
	case d.ToID == nil:
		decide = v.tr("nobody decides in their place")
		if d.FromID == v.by.UserID {
			decide = v.tr("nobody decides in your place")
		}
	case *d.ToID == v.by.UserID:
		decide = v.tr("you decide")
	}
	return v.tr("%s; %s", isAway, decide)
}

func (w words) delegationBadge(state string) ui.Badge {
	switch state {
	case approvals.DelegationPlanned:
		return ui.Badge{Text: w.tr("Planned"), Tone: ui.ToneInfo, Sign: ui.SignOpen}
	case approvals.DelegationActive:
		return ui.Badge{Text: w.tr("Away now"), Tone: ui.ToneWarn, Sign: ui.SignPaused}
	}
	return ui.Badge{Text: w.tr("Ended"), Tone: ui.ToneNeutral, Sign: ui.SignDone}
}

// moved says what waits with the delegate through it now.
func (v *visit) moved(d approvals.DelegationView) string {
	switch {
	case d.ToID == nil:
		return v.tr("Requests stay where they are; the list of approvers says that %s is away.", d.FromName)
	case *d.ToID == v.by.UserID:
		if d.Moved == 0 {
			return v.tr("No request waits with you through it now.")
		}
		return v.trn("%d request waits with you through it now.", "%d requests wait with you through it now.", d.Moved)
	case d.Moved == 0:
		return v.tr("No request waits with %s through it now.", d.ToName)
	}
	return v.trn("%d request waits with %s through it now.", "%d requests wait with %s through it now.", d.Moved, d.ToName)
}

// endMeans says what ending it does.
func (v *visit) endMeans(d approvals.DelegationView) string {
	whose, yours := d.FromName, d.FromID == v.by.UserID
	switch {
	case d.State == approvals.DelegationPlanned && d.ToID == nil:
		return v.tr("It never starts.")
	case d.State == approvals.DelegationPlanned && yours:
		return v.tr("It never starts; what waits for you stays there. Both are told.")
	case d.State == approvals.DelegationPlanned:
		return v.tr("It never starts; what waits for %s stays there. Both are told.", whose)
	case d.ToID == nil && yours:
		return v.tr("From now on you count as there again.")
	case d.ToID == nil:
		return v.tr("From now on %s counts as there again.", whose)
	case yours:
		return v.tr("What waits with %s through it and is not decided comes back to you at once. Votes already cast keep counting. Both are told.", d.ToName)
	}
	return v.tr("What waits with %s through it and is not decided comes back to %s at once. Votes already cast keep counting. Both are told.", d.ToName, whose)
}

// zoneOfPerson is the time zone in which somebody's days are counted.
func (v *visit) zoneOfPerson(u models.User) *time.Location {
	if u.TimeZone != "" {
		if zone, err := time.LoadLocation(u.TimeZone); err == nil {
			return zone
		}
	}
	return v.ws.Zone()
}

func (v *visit) delegationForm(refused refusal) (*views.DelegationForm, error) {
	var members []models.Member
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		members, err = tx.Members()
		return err
	})
	if err != nil {
		return nil, err
	}
	types, err := v.documentTypes()
	if err != nil {
		return nil, err
	}
	forOthers := v.by.Has(models.RoleAPLead)
	zone := v.zoneOfPerson(v.id.User)
	today := models.DateOf(models.At(v.now), zone).String()
	person := ui.Field{Name: "person", Label: v.tr("Who is away"), Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Value: "", Label: v.tr("I am"), Selected: true}},
		Hint: v.tr("As AP lead you can plan it for a colleague, and then not name yourself.")}
	delegate := ui.Field{Name: "delegate", Label: v.tr("Who decides meanwhile"), Kind: ui.FieldSelect, Options: []ui.Option{{Value: "", Label: v.tr("nobody"), Selected: true}},
		Hint: v.tr("Their own limit counts too: somebody who has none for anything the absent person decides is refused. With nobody, requests stay where they are.")}
	for _, m := range members {
		if m.User.Kind != models.KindPerson || !m.Has(deciding...) {
			continue
		}
		label := m.User.Name + ", " + v.lower(v.roleTitles(m.Roles))
		if m.User.ID != v.by.UserID {
			person.Options = append(person.Options, ui.Option{Value: m.User.Email, Label: label})
			delegate.Options = append(delegate.Options, ui.Option{Value: m.User.Email, Label: label})
		}
	}
	days, first := v.tr("Days count in %s, your time zone.", zone.String()), ui.Field{Name: "first_day", Label: v.tr("First day away"), Kind: ui.FieldDate, Required: true, Min: today}
	if forOthers {
		days, first.Min = v.tr("Days count in the time zone of who is away; yours is %s.", zone.String()), ""
	}
	first.Hint = days
	last := ui.Field{Name: "last_day", Label: v.tr("Last day away"), Kind: ui.FieldDate, Required: true, Hint: v.tr("It ends at the midnight after this day.")}
	documentType := ui.Field{Name: "document_type", Label: v.tr("Document type"), Hint: v.tr("Empty: every type.") + " " + types}
	note := ui.Field{Name: "note", Label: v.tr("Note"), Hint: v.tr("Read by people of this workspace"), Kind: ui.FieldArea, Rows: 2}

	f := &views.DelegationForm{Form: v.form(v.link(delegationsPath)), Button: ui.Button{Label: v.tr("Plan the absence"), Variant: ui.ButtonPrimary},
		Will: []string{
			v.tr("From the start of the first day, requests that wait for the absent person wait for the delegate instead, if both people’s limits cover the amount and nothing else keeps the delegate from deciding. The absent person cannot vote on those meanwhile."),
			v.tr("What the delegate may not decide stays with the absent person, and so does everything when nobody is named."),
			v.tr("With a delegate, what would have nobody left who can decide it, because neither of the two may, is counted beside the absence before it starts."),
			v.tr("At the midnight after the last day, or when it is ended earlier, what is undecided comes back. Votes already cast keep counting."),
			v.tr("Neither of the two can decide what the other asked for while it holds."),
			v.tr("With a delegate both are told, and a vote reads “%s on behalf of …” on page and trail.", orSome(firstOther(delegate), v.tr("delegate"))),
		}}
	for i, field := range []*ui.Field{&person, &delegate, &first, &last, &documentType, &note} {
		*field = refused.field(*field)
		if i == 0 && !forOthers {
			continue
		}
		switch {
		case i < 2:
			f.Who = append(f.Who, *field)
		case i < 4:
			f.When = append(f.When, *field)
		default:
			f.What = append(f.What, *field)
		}
	}
	f.Heading, f.Errors = refused.heading, refused.summary(slices.Concat(f.Who, f.When, f.What)...)
	return f, nil
}

// firstOther is a name to show how a vote will read.
func firstOther(f ui.Field) string {
	for _, o := range f.Options {
		if o.Value != "" {
			name, _, _ := strings.Cut(o.Label, ", ")
			return name
		}
	}
	return ""
}

// documentTypes names the types that the matrix tells apart.
func (v *visit) documentTypes() (string, error) {
	rules, err := v.p.approvals.Rules(v.ctx, v.by)
	if err != nil {
		return "", err
	}
	var types []string
	for _, r := range rules {
		if t := ui.Foreign(r.Rule.DocumentType).Plain(); t != "" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	if len(types) == 0 {
		return v.tr("The rules of this workspace tell none apart."), nil
	}
	return v.tr("The rules of this workspace name %s.", v.list(types)), nil
}

// delegate is POST /settings/delegations.
func (v *visit) delegate() error {
	typed := v.typed("person", "delegate", "first_day", "last_day", "document_type", "note")
	n := approvals.NewDelegation{PersonEmail: typed["person"], DelegateEmail: typed["delegate"], DocumentType: typed["document_type"], Note: typed["note"]}
	var issues []models.Issue
	for name, to := range map[string]*models.Date{"first_day": &n.FirstDay, "last_day": &n.LastDay} {
		day, err := optionalDate(typed[name], "/"+name)
		if err != nil {
			issues = append(issues, models.Issue{Path: "/" + name, Message: "must be a calendar date such as 2026-10-05"})
		}
		*to = day
	}
	var made approvals.DelegationView
	err := invalid(issues)
	if err == nil {
		made, err = v.p.approvals.Delegate(v.ctx, v.by, n)
	}
	if err == nil {
		said := "delegated"
		switch {
		case n.DelegateEmail == "":
			said = "away"
		case !made.Reach.Whole() || made.Reach.Rules == 0:
			said = "delegated_part"
		}
		v.p.say(v.c, said)
		return seeOther(v.c, string(v.link(delegationsPath)))
	}
	r, ok := v.refuse(err, formDelegation, v.tr("The absence was not planned"), typed, nil)
	if !ok {
		return err
	}
	return v.delegations(formStatus(err), r)
}

// endDelegation is POST /settings/delegations/{id}/end.
func (v *visit) endDelegation() error {
	id := v.param("id")
	err := v.p.approvals.EndDelegation(v.ctx, v.by, id)
	if err == nil {
		v.p.say(v.c, "delegation_ended")
		return seeOther(v.c, string(v.link(delegationsPath)))
	}
	r, ok := v.refuse(err, formEndDelegation+id, v.tr("Nothing was ended"), nil, nil)
	if !ok {
		return err
	}
	return v.delegations(formStatus(err), r)
}

// delegationNotes says above what waits for a person that they decide for somebody, or somebody for them.
func (v *visit) delegationNotes() ([]ui.Notice, error) {
	running, err := v.p.store.ActiveDelegations(v.ctx, v.by, v.by.UserID)
	if err != nil {
		return nil, err
	}
	var out []ui.Notice
	for _, d := range running {
		until := v.tr("until %s", v.weekday(d.LastDay))
		if d.DocumentType != "" {
			until = v.tr("on %s until %s", v.documentsOf(d.DocumentType), v.weekday(d.LastDay))
		}
		n := ui.Notice{Tone: ui.ToneInfo, URL: v.link(delegationsPath), TestID: "delegation-note"}
		switch {
		case d.FromID != v.by.UserID:
			n.Heading = v.tr("You decide for %s %s", d.FromName, until)
			n.Text, n.LinkText = ui.Foreign(v.tr("What both your limits cover waits for you, marked with the name.")), v.tr("What has moved")
		case d.ToID == nil:
			n.Heading = v.tr("You are away %s", until)
			n.Text, n.LinkText = ui.Foreign(v.tr("Nobody decides in your place; requests wait for you.")), v.tr("End it")
		default:
			n.Tone = ui.ToneWarn
			n.Heading = v.tr("%s decides for you %s", d.ToName, until)
			n.Text, n.LinkText = ui.Foreign(v.tr("What both your limits cover waits there. To decide it yourself, end the absence.")), v.tr("End it")
		}
		out = append(out, n)
	}
	return out, nil
}
