package pages

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// listConfirmations is GET /confirmations: what waits for this person, for anybody, or is done.
func (v *visit) listConfirmations() error {
	beside, err := v.counts()
	if err != nil {
		return err
	}
	waiting := beside.answers
	tab := v.c.Query("tab")
	if tab != tabOpen && tab != tabDecided && tab != tabMine {
		tab = tabMine
		if len(waiting) == 0 && !v.by.Has(models.RoleFinanceLead) {
			tab = tabOpen
		}
	}
	list := confirm.List{Items: waiting[:min(len(waiting), confirm.MaxLimit)]} // those that lapse first
	cursor := v.c.Query("cursor")
	switch tab {
	case tabOpen:
		list, err = v.p.confirm.List(v.ctx, v.by, confirm.Filter{Status: []models.ConfirmationStatus{models.ConfirmationPending}, Sort: "created_at", Cursor: cursor})
	case tabDecided:
		list, err = v.p.confirm.List(v.ctx, v.by, confirm.Filter{Cursor: cursor,
			Status: []models.ConfirmationStatus{models.ConfirmationAnswered, models.ConfirmationTaken, models.ConfirmationExpired, models.ConfirmationWithdrawn}})
	}
	if err != nil {
		return err
	}
	page, err := v.page(counted(v.tr("Confirmations"), len(waiting)), v.link("/confirmations", "tab", v.c.Query("tab"), "cursor", cursor), "confirmations")
	if err != nil {
		return err
	}
	out := views.ConfirmationsPage{Page: page, Rows: v.confirmationRows(list.Items),
		Lead: v.tr("Other servers ask a person before they run a call that an agent made.") + " " + v.waitingWords(waitingCount{n: len(waiting)}),
		Tabs: []ui.Tab{
			{Label: v.tr("Waiting for me"), Count: count(len(waiting)), URL: v.link("/confirmations", "tab", tabMine), Current: tab == tabMine, TestID: "tab-mine"},
			{Label: v.tr("All open"), URL: v.link("/confirmations", "tab", tabOpen), Current: tab == tabOpen, TestID: "tab-open"},
			{Label: v.tr("Done"), URL: v.link("/confirmations", "tab", tabDecided), Current: tab == tabDecided, TestID: "tab-decided"},
		}}
	if err := presentIn(v, out.Rows, func(r *views.ConfirmationRow) (string, *[]views.Presence) { return r.ID, &r.Present }); err != nil {
		return err
	}
	switch tab {
	case tabMine:
		out.Caption = v.tr("waiting for me")
		out.Empty = v.nothingToConfirm()
		out.Empty.TestID = "empty"
	case tabOpen:
		out.Caption = v.tr("all open")
		out.Empty = ui.Empty{Heading: v.tr("No question is open"), Text: v.tr("A question that nobody answers in time is answered with cancel."), LinkText: v.tr("See what is done"), URL: v.link("/confirmations", "tab", tabDecided), TestID: "empty"}
	default:
		out.Caption = v.tr("done")
		out.Empty = ui.Empty{Heading: v.tr("No question was answered yet"), TestID: "empty"}
	}
	out.Pager = v.pager("/confirmations", len(out.Rows), cursor, list.NextCursor, "tab", tab)
	return render(v.c, http.StatusOK, views.Confirmations(out))
}

func (v *visit) nothingToConfirm() ui.Empty {
	return ui.Empty{Heading: v.tr("No confirmation waits for you"), Text: v.tr("When another server asks a person about a call, and you are one who may answer, it appears here by itself."),
		LinkText: v.tr("See what waits for others"), URL: v.link("/confirmations", "tab", tabOpen)}
}

func (v *visit) confirmationRows(items []confirm.ListItem) []views.ConfirmationRow {
	rows := make([]views.ConfirmationRow, 0, len(items))
	for _, i := range items {
		row := views.ConfirmationRow{ID: i.ConfirmationID, URL: v.fromHere(confirmationURL(i.ConfirmationID)), Status: v.confirmationBadge(i.Status, i.Action), Message: ui.Foreign(i.Message),
			Tool: ui.Foreign(i.Tool), Server: ui.Foreign(i.ServerName), Known: i.Registered, Invoice: ui.Foreign(i.InvoiceID), AskedBy: ui.Foreign(i.Agent), Asked: v.at(i.CreatedAt),
			Answers: v.tr("answered by %s", v.lower(v.role(i.Role)))}
		if i.Mode == confirm.ModeURL {
			row.Answers = v.tr("answered by the responsible person")
		}
		if i.Status == models.ConfirmationPending {
			row.Expires = v.expires(i.ExpiresAt)
		}
		switch {
		case i.Action != "":
			row.Answered, row.At = v.elicitedBy(i.Action, i.AnsweredBy), v.at(i.AnsweredAt)
		case i.Status == models.ConfirmationExpired:
			row.Answered = v.tr("nobody in time: cancel")
		case i.Status == models.ConfirmationWithdrawn:
			row.Answered = v.tr("withdrawn: cancel")
		}
		rows = append(rows, row)
	}
	return rows
}

// goToConfirmation enters the workspace that holds the confirmation.
func (v *visit) goToConfirmation(id string) error {
	return v.find(func() error {
		_, err := v.p.confirm.Get(v.ctx, v.by, id)
		return err
	})
}

// showConfirmation is GET /confirmations/{id}.
func (v *visit) showConfirmation() error {
	return v.renderConfirmation(v.param("id"), http.StatusOK, draft{})
}

// draft is an answer that is not recorded: refused, or to be looked at once more.
type draft struct {
	sent    bool
	action  models.ElicitAction
	content map[string][]string // by form name
	reason  string
	refused refusal
	late    *models.NamedError // answered meanwhile, or not this person's to answer
}

// answers is what the page's fields post beside action, reason and version: content.<name>.
func answers(fields []formField) map[string][]string {
	content := map[string][]string{}
	for _, f := range fields {
		if name, ok := strings.CutPrefix(f.name, "content."); ok {
			content[name] = append(content[name], f.value)
		}
	}
	return content
}

// changing goes back from the second look to the form.
const changing = "change"

// answerConfirmation is POST /confirmations/{id}. An acceptance that is right is first shown once more;
// only the form on that page, with its box ticked, records it.
func (v *visit) answerConfirmation() error {
	id := v.param("id")
	if err := v.goToConfirmation(id); err != nil {
		return err
	}
	typed := v.typed("action", "reason", "version", "second_step", "shown_again")
	d := draft{sent: true, action: models.ElicitAction(typed["action"]), content: answers(posted(v.c)), reason: typed["reason"]}
	if typed["action"] == changing {
		return v.renderConfirmation(id, http.StatusOK, d)
	}
	in := confirm.AnswerInput{ID: id, Action: d.action, Content: d.content, Reason: d.reason, SecondStep: typed["second_step"] != "", Figures: v.lang.ReadFigures}
	var issues []models.Issue
	in.Version, issues = version(typed["version"])
	err := invalid(issues)
	if err == nil {
		_, err = v.p.confirm.Answer(v.ctx, v.by, in)
	}
	switch {
	case err == nil:
		v.sent(id, formAnswer)
		return v.goOn(map[models.ElicitAction]string{models.ElicitAccept: "accepted", models.ElicitDecline: "declined", models.ElicitCancel: "cancelled"}[in.Action], id, "/confirmations")
	case confirm.NeedsSecondStep(err):
		return v.secondStep(id, in, d, typed["shown_again"] != "")
	}
	ne, named := models.AsNamed(err)
	if !named {
		return err
	}
	switch ne.Code {
	case models.ValidationError:
		return v.renderConfirmation(id, statusOf(err), d.with(v.words, err))
	case models.Conflict, models.Unprocessable, models.InsufficientPermission:
		d.late = ne
		return v.renderConfirmation(id, statusOf(err), d)
	}
	return err
}

const formAnswer = "answer"

func (d draft) with(w words, err error) draft {
	d.refused, _ = w.refuse(err, formAnswer, w.tr("Nothing was answered"), map[string]string{"reason": d.reason}, nil)
	return d
}

// secondStep shows an acceptance once more, with what the server would be told.
func (v *visit) secondStep(id string, in confirm.AnswerInput, d draft, unticked bool) error {
	page, err := v.p.confirm.Page(v.ctx, v.by, id)
	if err != nil {
		return err
	}
	values, issues, err := confirm.Preview(page.Questions, confirm.WithFigures(page.Questions, in.Content, in.Figures), v.meantZone())
	if err != nil {
		return err
	}
	if len(issues) > 0 { // the form changed at this moment
		return v.renderConfirmation(id, http.StatusUnprocessableEntity, d.with(v.words, models.Invalid(issues...)))
	}
	around, err := v.page(v.tr("Accept %s?", ui.Foreign(page.Confirmation.Tool).Plain()), v.self(confirmationURL(id)), "")
	if err != nil {
		return err
	}
	r := v.reader()
	r.bankData = true // who accepts a call sees all of it
	c := page.Confirmation
	out := views.SecondStepPage{Page: around, ID: c.ID, BackURL: v.listAt("/confirmations"), Heading: v.tr("Once more: accept this call?"),
		Text:   v.tr("Nothing is recorded yet. Read the call as it will run; an acceptance cannot be taken back."),
		Server: serverOf(page.Server), Agent: ui.Foreign(page.Agent), Expires: v.expires(c.ExpiresAt), Call: r.call(c.Tool, page.Arguments), Question: v.questions(page),
		Values: v.given(values), Reason: ui.Foreign(in.Reason), Form: v.recordForm(confirmationURL(id)), Button: v.tr("Accept this call"),
		Step: ui.Field{Name: "second_step", Label: v.tr("Yes, this call is to go on"), Kind: ui.FieldCheckbox, Value: "yes", Required: true, TestID: "second-step"}}
	if c.Mode == confirm.ModeURL {
		out.Heading, out.Button = v.tr("Once more: consent to open this address?"), v.tr("Consent")
		out.Text = v.tr("Nothing is recorded and nothing is opened yet. Read where the address leads.")
		out.Step.Label = v.tr("Yes, I know this host and mean to open the address myself")
	}
	out.Form.Version = strconv.FormatInt(in.Version, 10)
	if err := v.onward(&out.Form, "/confirmations"); err != nil {
		return err
	}
	status := http.StatusOK
	if unticked {
		status = http.StatusUnprocessableEntity
		out.Step.Error = v.tr("Tick the box if you mean it.")
		out.Form.Heading, out.Form.Errors = v.tr("Nothing was answered"), ui.ErrorsOf(out.Step)
	}
	out.Hidden = append(out.Hidden, ui.Hidden{Name: "shown_again", Value: "yes"}, ui.Hidden{Name: "reason", Value: in.Reason})
	for _, q := range page.Questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			for _, value := range in.Content[f.FormName] {
				out.Hidden = append(out.Hidden, ui.Hidden{Name: "content." + f.FormName, Value: value})
			}
		}
	}
	return render(v.c, status, views.SecondStep(out))
}

// meantZone is the zone in which the person means a time that names none, as the service reads it.
func (v *visit) meantZone() *time.Location {
	if v.by.TimeZone != "" {
		if zone, err := time.LoadLocation(v.by.TimeZone); err == nil {
			return zone
		}
	}
	return v.ws.Zone()
}
