package pages

import (
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func (v *visit) renderConfirmation(id string, status int, d draft) error {
	var page confirm.Page
	err := v.find(func() error {
		var err error
		page, err = v.p.confirm.Page(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	title := v.tr("Confirmation %s", ui.Foreign(page.Confirmation.Tool).Plain())
	if page.CanAnswer {
		title = v.tr("Confirm %s", ui.Foreign(page.Confirmation.Tool).Plain())
	}
	var refused []string
	if d.sent {
		refused = []string{formAnswer}
	}
	typed, err := v.unsent(id, confirmationURL(id), refused...)
	if err != nil {
		return err
	}
	d = typed.intoAnswer(d, page)
	around, err := v.page(title, v.self(confirmationURL(id)), "confirmation:"+id)
	if err != nil {
		return err
	}
	if around.Here, err = v.here(id, "/confirmations"); err != nil {
		return err
	}
	out := v.confirmationPage(around, page, d)
	if out.Form != nil {
		if isDrafted(page) {
			typed.offer(&out.Form.Form, formAnswer)
			out.Form.Kept = out.Form.Kept && !out.Form.Draft.Filled
		}
		if err := v.onward(&out.Form.Form, "/confirmations"); err != nil {
			return err
		}
	}
	return render(v.c, status, views.Confirmation(out))
}

func (v *visit) confirmationPage(around views.Page, page confirm.Page, d draft) views.ConfirmationPage {
	c, r := page.Confirmation, v.reader()
	// Whoever answers for a call sees all of it: what is accepted is exactly what is shown.
	r.bankData = r.bankData || page.CanAnswer
	badge := v.confirmationBadge(page.Status, c.Action)
	badge.TestID = "confirmation-status"
	out := views.ConfirmationPage{Page: around, ID: c.ID, BackURL: v.link("/confirmations"), Status: badge, Asked: v.at(c.CreatedAt), Agent: ui.Foreign(page.Agent),
		OnBehalf: v.behalfWords(page.OnBehalf), Run: ui.Foreign(c.RunID), Server: serverOf(page.Server), CallHeading: v.confirmationHeading(page), Call: r.call(c.Tool, page.Arguments),
		Digest: c.Digest, StateHash: c.RequestStateHash, Questions: v.questions(page), WhyNot: v.whyNoAnswer(page), Answer: v.answerGiven(page), Notices: v.confirmationNotices(page),
		Timeline: v.timeline(page.Timeline, nil)}
	out.Call.InWords = "" // only what the other server does with it counts, and the desk does not know that
	if page.Status == models.ConfirmationPending {
		out.Expires = v.expires(c.ExpiresAt)
	}
	if page.Invoice != nil {
		invoice := r.invoice(page.Invoice)
		out.Invoice = &invoice
	}
	out.Who, out.WhoWhy = v.whoAnswers(page)
	if page.Status == models.ConfirmationPending {
		for _, p := range page.Deciders {
			out.Eligible = append(out.Eligible, views.Eligible{Name: p.Name, Role: v.roleWords(p.Role), May: p.May, Why: v.said(p.Why), You: p.You})
		}
	}
	if page.CanAnswer {
		out.Form = v.answerForm(page, out.Questions, d)
	}
	out.Conflict = v.answerTooLate(page, d)
	return out
}

func serverOf(s confirm.Server) views.Server {
	out := views.Server{Name: ui.Foreign(s.Name), Known: s.Registered, By: ui.Foreign(s.ReportedBy), URL: ui.Foreign(s.URL), Host: ui.Foreign(s.Host)}
	if s.Reported != s.Name {
		out.Reported = ui.Foreign(s.Reported)
	}
	return out
}

func (w words) behalfWords(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return w.tr("%s answers for this account", names[0])
	}
	return w.tr("%s answer for this account", w.list(names))
}

// confirmationHeading says where the call stands.
func (w words) confirmationHeading(page confirm.Page) string {
	c := page.Confirmation
	switch {
	case c.Mode == confirm.ModeURL:
		return w.tr("The call that it asks about")
	case page.Status == models.ConfirmationPending && page.CanAnswer:
		return w.tr("If you accept, the server goes on with exactly this call")
	case page.Status == models.ConfirmationPending:
		return w.tr("If it is accepted, the server goes on with exactly this call")
	case page.CancelOnly || c.Action != models.ElicitAccept:
		return w.tr("Nobody agreed to this call")
	case page.Status == models.ConfirmationTaken:
		return w.tr("This call was accepted, and the agent has the answer")
	}
	return w.tr("This call is accepted, for the agent to take once")
}

// questions are the server's requests in its own words.
func (v *visit) questions(page confirm.Page) []views.Question {
	out := make([]views.Question, 0, len(page.Questions))
	for _, q := range page.Questions {
		one := views.Question{Message: ui.Foreign(q.Message)}
		if len(page.Questions) > 1 {
			one.Key = ui.Foreign(q.Key)
		}
		if q.Form != nil {
			one.Title, one.About = ui.Foreign(q.Form.Title), ui.Foreign(q.Form.Description)
		}
		if q.Mode == confirm.ModeURL {
			one.Address = v.address(page, q)
		}
		out = append(out, one)
	}
	return out
}

// address is where a person is asked to go. It is a link only for the person who consented, and only
// after that.
func (v *visit) address(page confirm.Page, q confirm.Question) *views.Address {
	a := &views.Address{Host: ui.Foreign(q.Host), URL: ui.Foreign(q.URL)}
	if strings.Contains(q.Host, "xn--") {
		a.Note = v.tr("letters of another alphabet stand in this name; it may only look like one you know")
	}
	c := page.Confirmation
	consented := c.Action == models.ElicitAccept && !page.CancelOnly && c.AnsweredByID != nil && *c.AnsweredByID == v.by.UserID
	if link, ok := ui.ParseLink("", q.URL); ok && consented {
		a.Link = &link
	}
	return a
}

func (w words) whoAnswers(page confirm.Page) (who, why string) {
	c := page.Confirmation
	if c.Mode == confirm.ModeURL {
		why = w.tr("An address is opened for the account that asks, so only the person responsible for it may consent.")
		if page.Person == "" {
			return w.tr("Nobody"), why
		}
		return w.tr("%s alone", page.Person), why
	}
	who = w.tr("One answer of %s", w.lower(w.role(page.Role)))
	if c.RuleID != "" {
		return who, w.tr("A rule of this workspace for this server says so.")
	}
	return who, w.tr("No rule of this workspace names this server and tool.")
}

// whyNoAnswer says why this person cannot answer; for a question that is over, how it ended.
func (v *visit) whyNoAnswer(page confirm.Page) string {
	c := page.Confirmation
	switch {
	case page.WhyNot != "":
		return v.said(page.WhyNot)
	case page.Status == models.ConfirmationExpired && c.Action == "":
		return v.tr("Nobody answered in time; this expired %s. The agent is told cancel, and nothing was accepted.", v.ago(c.ExpiresAt))
	case page.Status == models.ConfirmationWithdrawn && c.Action == "":
		return v.tr("%s withdrew this question %s. Nothing is answered any more.", ui.Foreign(page.Agent).Plain(), v.ago(c.UpdatedAt))
	}
	return ""
}

func (v *visit) answerGiven(page confirm.Page) *views.ConfirmationAnswer {
	c := page.Confirmation
	if c.Action == "" {
		return nil
	}
	out := &views.ConfirmationAnswer{Badge: v.actionBadge(c.Action), Who: c.AnsweredByName, Role: v.roleWords(c.AnsweredRole), At: v.at(c.AnsweredAt), Reason: ui.Foreign(c.Reason),
		Values: v.given(page.Answer)}
	switch page.Status {
	case models.ConfirmationAnswered:
		out.Taken = v.tr("The agent has not taken it yet; until %s it can.", v.clock(c.ExpiresAt))
	case models.ConfirmationTaken:
		out.Taken = v.tr("%s took it %s. It is handed out once.", ui.Foreign(page.TakenBy).Plain(), v.ago(c.TakenAt))
	case models.ConfirmationExpired:
		out.CancelOnly = v.tr("Nobody took this answer in time; it expired %s. The agent is told cancel.", v.ago(c.ExpiresAt))
	case models.ConfirmationWithdrawn:
		out.CancelOnly = v.tr("%s withdrew the question %s. The agent is told cancel, whatever was answered.", ui.Foreign(page.Agent).Plain(), v.ago(c.UpdatedAt))
	}
	return out
}

func (w words) given(values []confirm.AnswerValue) []views.GivenValue {
	out := make([]views.GivenValue, 0, len(values))
	for _, a := range values {
		value := a.Value
		if a.Field.Kind == confirm.KindBoolean {
			value = w.part(value)
		}
		if a.Field.Kind == confirm.KindNumber {
			value = strings.ReplaceAll(w.lang.Figures(value), "\u2212", "-")
		}
		out = append(out, views.GivenValue{Label: ui.Foreign(a.Field.Label()), Name: ui.Foreign(a.Field.Name), Value: ui.Foreign(value), Given: a.Given})
	}
	return out
}

// confirmationNotices are what to know before going on.
func (v *visit) confirmationNotices(page confirm.Page) []ui.Notice {
	var out []ui.Notice
	if !page.Server.Registered && page.Status == models.ConfirmationPending {
		n := ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("This workspace does not know this server"), TestID: "unknown-server",
			Text: ui.Foreign(v.tr("Its name and address are what the agent %s reports. Nobody has checked them.", page.Agent))}
		if v.by.Has(serverEditors...) {
			n.LinkText, n.URL = v.tr("Servers this workspace knows"), v.link("/settings/servers")
		}
		out = append(out, n)
	}
	return out
}

// answerForm is the form of a question that waits for this person.
func (v *visit) answerForm(page confirm.Page, questions []views.Question, d draft) *views.AnswerForm {
	c := page.Confirmation
	f := &views.AnswerForm{Form: v.recordForm(confirmationURL(c.ID)), Opens: c.Mode == confirm.ModeURL, Kept: d.sent, After: v.tr("What you choose counts once, and stands on the trail beside your name."),
		Reason: ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Hint: v.tr("For the trail. The server does not get it."), Value: d.reason, Rows: 2}}
	f.Version = strconv.FormatInt(c.Version, 10)
	refused := d.refused.of(formAnswer)
	f.Reason.Error = refused.problems["reason"]
	var all []ui.Field
	known := map[string]string{} // where the service tells an issue, to the field it is about
	n := 0
	for i, q := range page.Questions {
		if q.Form == nil {
			continue
		}
		for _, field := range q.Form.Fields {
			n++
			control := v.control(field, n, d)
			path := strings.ReplaceAll(strings.TrimPrefix(field.Path(), "/"), "/", ".")
			control.Error, known[path] = refused.problems[path], control.Name
			questions[i].Fields = append(questions[i].Fields, control)
			all = append(all, control)
		}
	}
	rest := refusal{problems: map[string]string{}}
	for name, problem := range refused.problems {
		if _, told := known[name]; !told && name != "reason" {
			if field, ok := strings.CutPrefix(name, "content."); ok {
				problem = "“" + field + "” " + problem
			}
			rest.problems[name] = problem
		}
	}
	f.Heading = refused.heading
	f.Errors = append(ui.ErrorsOf(append(all, f.Reason)...), rest.summary()...)
	return f
}

// radiosUpTo is how many choices are shown at once; more are a list to pick from.
const radiosUpTo = 6

// lineLength is up to how many characters a text is one line.
const lineLength = 120

// control is the control of a field of another server's form: its own words as its label, its default,
// and its limits in the desk's words. What was typed is given back.
func (v *visit) control(f confirm.Field, number int, d draft) ui.Field {
	out := ui.Field{ID: "content-" + strconv.Itoa(number), Name: "content." + f.FormName, Label: ui.Foreign(f.Label()).Plain(), LabelForeign: ui.Foreign(f.Label()),
		About: ui.Foreign(f.Description), Required: f.Required, Autocomplete: "off", TestID: "field"}
	values := f.Default
	if d.sent {
		values = d.content[f.FormName]
	}
	if len(values) > 0 {
		out.Value = values[len(values)-1]
	}
	switch f.Kind {
	case confirm.KindBoolean:
		out.Kind = ui.FieldRadios
		out.Options = v.options([]confirm.Option{{Value: "true", Title: v.tr("Yes")}, {Value: "false", Title: v.tr("No")}}, out.Value)
	case confirm.KindChoice:
		out.Kind, out.Options = ui.FieldRadios, v.options(f.Options, values...)
		if len(f.Options) > radiosUpTo && !offers(f.Options, "") {
			out.Kind = ui.FieldSelect
			first := v.tr("Choose one")
			if !f.Required {
				first = v.tr("No answer")
			}
			for i := range out.Options {
				if note := out.Options[i].Note; note != "" {
					out.Options[i].Label += " (" + note + ")"
				}
				out.Options[i].Label = ui.Foreign(out.Options[i].Label).Plain()
			}
			out.Options = append([]ui.Option{{Label: first, Selected: out.Value == ""}}, out.Options...)
		}
	case confirm.KindChoices:
		out.Kind, out.Options, out.Hint = ui.FieldChecks, v.options(f.Options, values...), v.choicesHint(f)
	case confirm.KindNumber:
		out.Kind, out.Hint = ui.FieldDecimal, v.numberHint(v.tr("A number"), f)
		if !d.sent {
			out.Value = v.lang.TypeFigures(out.Value)
		}
	case confirm.KindInteger:
		out.Kind, out.Hint = ui.FieldWhole, v.numberHint(v.tr("A whole number"), f)
	default:
		v.textControl(&out, f)
	}
	if out.Kind == ui.FieldRadios && !f.Required && !offers(f.Options, "") {
		out.Options = append(out.Options, ui.Option{Label: v.tr("No answer"), Selected: out.Value == ""})
	}
	return out
}

func (v *visit) textControl(out *ui.Field, f confirm.Field) {
	out.Hint = v.lengthHint(f)
	switch f.Format {
	case confirm.FormatEmail:
		out.Kind = ui.FieldEmail
	case confirm.FormatURI:
		out.Kind, out.Hint = ui.FieldURL, orSome(out.Hint, v.tr("A full address such as https://example.com/page."))
	case confirm.FormatDate:
		// A browser shows nothing of a value that is none, so what was typed stays in a plain field.
		if _, err := models.ParseDate(out.Value); err == nil || out.Value == "" {
			out.Kind = ui.FieldDate
		}
	case confirm.FormatDateTime:
		zone := v.meantZone()
		out.Hint = v.tr("Time in %s.", zone.String())
		local, step, ok := localMoment(out.Value, zone)
		if ok {
			out.Kind, out.Value, out.Step = ui.FieldDateTime, local, step
		}
	default:
		if f.MaxLength == nil || *f.MaxLength > lineLength || strings.Contains(out.Value, "\n") {
			out.Kind = ui.FieldArea
		}
	}
}

// localMoment writes a moment as a browser's date and time field has it, in zone.
func localMoment(text string, zone *time.Location) (local, step string, ok bool) {
	if text == "" {
		return "", "", true
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, text); err == nil {
			if layout == "2006-01-02T15:04:05" {
				step = "1"
			}
			return text, step, true
		}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Nanosecond() != 0 {
		return "", "", false
	}
	if t.Second() != 0 {
		return t.In(zone).Format("2006-01-02T15:04:05"), "1", true
	}
	return t.In(zone).Format("2006-01-02T15:04"), "", true
}

func offers(all []confirm.Option, value string) bool {
	for _, o := range all {
		if o.Value == value {
			return true
		}
	}
	return false
}

// options shows beside a title the value it stands for, where the two differ.
func (w words) options(all []confirm.Option, chosen ...string) []ui.Option {
	out := make([]ui.Option, 0, len(all))
	for _, o := range all {
		one := ui.Option{Value: o.Value, Label: o.Title}
		if one.Label == "" {
			one.Label = orSome(o.Value, w.tr("(empty)"))
		}
		if o.Title != o.Value && o.Value != "true" && o.Value != "false" {
			one.Note = o.Value
		}
		for _, c := range chosen {
			one.Selected = one.Selected || c == o.Value
		}
		out = append(out, one)
	}
	return out
}

func (w words) lengthHint(f confirm.Field) string {
	switch {
	case f.MinLength != nil && *f.MinLength > 0 && f.MaxLength != nil && *f.MinLength == *f.MaxLength:
		return w.trn("Exactly %d character.", "Exactly %d characters.", *f.MinLength)
	case f.MinLength != nil && *f.MinLength > 0 && f.MaxLength != nil:
		return w.tr("%d to %d characters.", *f.MinLength, *f.MaxLength)
	case f.MinLength != nil && *f.MinLength > 0:
		return w.trn("At least %d character.", "At least %d characters.", *f.MinLength)
	case f.MaxLength != nil:
		return w.trn("At most %d character.", "At most %d characters.", *f.MaxLength)
	}
	return ""
}

func (w words) numberHint(what string, f confirm.Field) string {
	if f.Kind == confirm.KindNumber {
		f.Minimum, f.Maximum = w.lang.Figures(f.Minimum), w.lang.Figures(f.Maximum)
	}
	switch {
	case f.Minimum != "" && f.Maximum != "":
		return w.tr("%s from %s to %s.", what, f.Minimum, f.Maximum)
	case f.Minimum != "":
		return w.tr("%s, at least %s.", what, f.Minimum)
	case f.Maximum != "":
		return w.tr("%s, at most %s.", what, f.Maximum)
	}
	return what + "."
}

func (w words) choicesHint(f confirm.Field) string {
	switch {
	case f.MinItems != nil && *f.MinItems > 0 && f.MaxItems != nil && *f.MinItems == *f.MaxItems:
		return w.tr("Choose %d.", *f.MinItems)
	case f.MinItems != nil && *f.MinItems > 0 && f.MaxItems != nil:
		return w.tr("Choose %d to %d.", *f.MinItems, *f.MaxItems)
	case f.MinItems != nil && *f.MinItems > 0:
		return w.tr("Choose at least %d.", *f.MinItems)
	case f.MaxItems != nil:
		return w.tr("Choose at most %d.", *f.MaxItems)
	}
	return w.tr("Choose any.")
}

// answerTooLate says who answered meanwhile, or why the answer does not count. What was typed stays to
// be copied.
func (v *visit) answerTooLate(page confirm.Page, d draft) *views.Conflict {
	if d.late == nil {
		return nil
	}
	details := d.late.Details
	c := &views.Conflict{Text: v.problem(d.late.Message)}
	who, _ := details["answered_by"].(string)
	action, _ := details["action"].(models.ElicitAction)
	if at, ok := details["answered_at"].(models.Time); ok && who != "" && details["reason"] == "answered" {
		c.Text = v.elicited(action, who, v.tr("%s (%s)", v.ago(at), v.clock(at)))
		c.Reason = ui.Foreign(page.Confirmation.Reason)
	}
	if chosen := v.elicitChoice(d.action); chosen != "" {
		c.Typed = append(c.Typed, ui.Pair(v.tr("You chose"), chosen))
	}
	for _, q := range page.Questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			if text := strings.Join(d.content[f.FormName], ", "); text != "" {
				c.Typed = append(c.Typed, ui.Entry{Key: ui.Foreign(f.Name), Label: ui.Foreign(f.Label()), Value: ui.TextValue(text)})
			}
		}
	}
	c.Typed = append(c.Typed, pairs(v.tr("Reason"), d.reason)...)
	return c
}

// elicitWords is an answer as something that somebody, who stands before it, did.
func (w words) elicitWords(a models.ElicitAction) string {
	switch a {
	case models.ElicitAccept:
		return w.tr("accepted")
	case models.ElicitDecline:
		return w.tr("declined")
	case models.ElicitCancel:
		return w.tr("cancelled")
	}
	return ""
}

// elicitedBy is an answer as something somebody did.
func (w words) elicitedBy(a models.ElicitAction, who string) string {
	switch a {
	case models.ElicitAccept:
		return w.tr("accepted by %s", who)
	case models.ElicitDecline:
		return w.tr("declined by %s", who)
	}
	return w.tr("cancelled by %s", who)
}

// elicited says who answered, and when.
func (w words) elicited(a models.ElicitAction, who, when string) string {
	switch a {
	case models.ElicitAccept:
		return w.tr("%s accepted this %s.", who, when)
	case models.ElicitDecline:
		return w.tr("%s declined this %s.", who, when)
	}
	return w.tr("%s cancelled this %s.", who, when)
}

// elicitChoice is an answer as the button that gives it says it.
func (w words) elicitChoice(a models.ElicitAction) string {
	switch a {
	case models.ElicitAccept:
		return w.tr("Accept")
	case models.ElicitDecline:
		return w.tr("Decline")
	case models.ElicitCancel:
		return w.tr("Cancel")
	}
	return ""
}

// roleWords is a role, or the place of a responsible person, within a sentence.
func (w words) roleWords(role string) string {
	if r := models.Role(role); r.Valid() {
		return w.lower(w.said(r.Title()))
	}
	return role
}

func (w words) actionBadge(a models.ElicitAction) ui.Badge {
	switch a {
	case models.ElicitAccept:
		return ui.Badge{Text: w.tr("Accepted"), Tone: ui.ToneGood, Sign: ui.SignYes}
	case models.ElicitDecline:
		return ui.Badge{Text: w.tr("Declined"), Tone: ui.ToneBad, Sign: ui.SignNo}
	}
	return ui.Badge{Text: w.tr("Cancelled"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
}

func (w words) confirmationBadge(s models.ConfirmationStatus, a models.ElicitAction) ui.Badge {
	switch s {
	case models.ConfirmationAnswered:
		return w.actionBadge(a)
	case models.ConfirmationTaken:
		b := w.actionBadge(a)
		b.Text = w.tr("%s, taken", b.Text)
		return b
	case models.ConfirmationExpired:
		return ui.Badge{Text: w.tr("Expired"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	case models.ConfirmationWithdrawn:
		return ui.Badge{Text: w.tr("Withdrawn"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	}
	return ui.Badge{Text: w.tr("Waiting"), Tone: ui.ToneInfo, Sign: ui.SignOpen}
}
