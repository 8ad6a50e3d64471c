package pages

import (
	"net/http"
	"strconv"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func mountHours(get, post route) {
	get(hoursPath, (*visit).showHours)
	post(hoursPath, (*visit).setHours)
	post("/cases/:id/snooze", (*visit).snoozeCase)
	post("/cases/:id/unsnooze", (*visit).unsnoozeCase)
	post("/cases/:id/reroute", (*visit).rerouteCase)
}

const (
	hoursPath = "/settings/hours"
	formHours = "hours"
)

// showHours is GET /settings/hours.
func (v *visit) showHours() error { return v.hours(http.StatusOK, refusal{}, nil) }

// hoursFields names the fields of a queue.
func hoursFields(q models.Queue) (hours, soon, escalate string) {
	return "hours." + string(q), "due_soon." + string(q), "escalate." + string(q)
}

// typedHours reads the form over the hours as they are.
func (v *visit) typedHours() (typed map[string]string, change func(models.WorkHours) models.WorkHours, issues []models.Issue) {
	names := []string{"opens_at", "closes_at", "was", "preview"}
	for _, q := range models.Queues() {
		hours, soon, escalate := hoursFields(q)
		names = append(names, hours, soon, escalate)
	}
	typed = v.typed(names...)
	var opening models.OpeningHours
	for _, f := range []struct {
		name string
		into *models.DayTime
	}{{"opens_at", &opening.Opens}, {"closes_at", &opening.Closes}} {
		at, err := models.ParseDayTime(typed[f.name])
		if err != nil {
			issues = append(issues, models.Issue{Path: "/" + f.name, Message: err.Error()})
		}
		*f.into = at
	}
	slas := map[models.Queue]models.SLA{}
	for _, q := range models.Queues() {
		hours, soon, escalate := hoursFields(q)
		s := models.SLA{Escalate: typed[escalate] != ""}
		for _, f := range []struct {
			name string
			into *int
		}{{hours, &s.Hours}, {soon, &s.DueSoon}} {
			n, err := strconv.Atoi(typed[f.name])
			if err != nil {
				issues = append(issues, models.Issue{Path: "/" + f.name, Message: "must be a whole number of hours"})
			}
			*f.into = n
		}
		slas[q] = s
	}
	return typed, func(models.WorkHours) models.WorkHours { return models.WorkHours{Opening: opening, SLAs: slas} }, issues
}

// setHours is POST /settings/hours. With preview it shows what the hours would mean, and saves nothing.
func (v *visit) setHours() error {
	typed, change, issues := v.typedHours()
	if err := v.by.NeedRole(workspaceEditors...); err != nil {
		return err
	}
	err := invalid(issues)
	if err == nil {
		err = change(models.WorkHours{}).Check()
	}
	if err == nil && typed["preview"] != "" {
		hours := change(models.WorkHours{})
		return v.hours(http.StatusOK, refusal{form: formHours, typed: typed}, &hours)
	}
	if err == nil {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetWorkHours(change, typed["was"]) })
	}
	if err == nil {
		v.p.say(v.c, "hours_saved")
		return seeOther(v.c, string(v.link(hoursPath)))
	}
	r, ok := v.refuse(err, formHours, v.tr("The hours were not saved"), typed, nil)
	if !ok {
		return err
	}
	return v.hours(formStatus(err), r, nil)
}

func (v *visit) hours(status int, refused refusal, preview *models.WorkHours) error {
	var hours models.WorkHours
	var calendar models.Calendar
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		if hours, err = tx.WorkHours(); err != nil {
			return err
		}
		calendar, err = tx.Calendar()
		return err
	})
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Hours"), v.link(hoursPath), "")
	if err != nil {
		return err
	}
	out := views.HoursPage{Page: page, Tabs: v.settingsTabs(hoursPath), HolidaysURL: v.link("/settings"), Was: hours.Mark(),
		Lead:  v.tr("How long a case may wait, in business hours. Changes count for cases that arrive from then on: one that is there keeps the time it is due. What is due soon, and whether overdue cases are escalated, follows at once."),
		Facts: []ui.Entry{ui.Pair(v.tr("Open"), v.tr("Monday to Friday, %s, less the holidays", v.opening(hours.Opening))), ui.Pair(v.tr("Time zone"), v.ws.TimeZone)}}
	edits := v.by.Has(workspaceEditors...)
	shown := hours
	if preview != nil {
		shown, out.Preview = *preview, true
		calendar = calendar.WithHours(shown.Opening)
	}
	now := models.At(v.now)
	for _, q := range models.Queues() {
		sla, due := shown.SLA(q), shown.Due(calendar, now, q)
		row := views.QueueHours{Name: v.queue(q), InWords: upper(v.sla(sla)), DueFull: v.moment(due),
			Due: ui.Moment{ISO: due.UTC().Format("2006-01-02T15:04:05Z07:00"), Text: v.dueWords(calendar, now, due), Absolute: v.moment(due)}}
		if edits {
			saved := hours.SLA(q)
			name, soon, escalate := hoursFields(q)
			row.Hours = refused.field(ui.Field{Name: name, Label: v.tr("Due after, in business hours"), Kind: ui.FieldWhole, Required: true, Value: strconv.Itoa(saved.Hours)})
			row.Soon = refused.field(ui.Field{Name: soon, Label: v.tr("Due soon, hours before"), Kind: ui.FieldWhole, Required: true, Value: strconv.Itoa(saved.DueSoon)})
			row.Escalate = ui.Field{Name: escalate, Label: v.tr("Escalate what is overdue"), Kind: ui.FieldCheckbox, Value: "yes", Checked: saved.Escalate}
			if refused.typed != nil {
				row.Escalate.Checked = refused.typed[escalate] != ""
			}
		}
		out.Queues = append(out.Queues, row)
	}
	if !edits {
		out.WhyNot = v.tr("You can read the hours, not change them. An AP lead or an admin changes them.")
		return render(v.c, status, views.Hours(out))
	}
	out.Opens = refused.field(ui.Field{Name: "opens_at", Label: v.tr("Opens at"), Required: true, Value: hours.Opening.Opens.String(), Hint: v.tr("Such as 09:00, on the clock of %s.", v.ws.TimeZone)})
	out.Closes = refused.field(ui.Field{Name: "closes_at", Label: v.tr("Closes at"), Required: true, Value: hours.Opening.Closes.String(), Hint: v.tr("Such as 17:00; 24:00 is midnight.")})
	fields := []ui.Field{out.Opens, out.Closes}
	for _, q := range out.Queues {
		fields = append(fields, v.ofQueue(q.Name, q.Hours), v.ofQueue(q.Name, q.Soon))
	}
	form := v.form(v.link(hoursPath))
	form.Heading, form.Errors = refused.heading, refused.summary(fields...)
	if was, ok := refused.typed["was"]; ok && status != http.StatusConflict {
		out.Was = was
	}
	out.Form = &form
	return render(v.c, status, views.Hours(out))
}

// opening are the hours of a day.
func (w words) opening(h models.OpeningHours) string {
	return w.tr("%s to %s", h.Opens.String(), h.Closes.String())
}

// sla says how long a queue has for a case.
func (w words) sla(s models.SLA) string {
	if s.Escalate {
		return w.tr("%d business hours, due soon %d before, overdue ones escalated", s.Hours, s.DueSoon)
	}
	return w.tr("%d business hours, due soon %d before, never escalated", s.Hours, s.DueSoon)
}

// ofQueue is a field with the queue it is of before its label, for a summary away from it.
func (w words) ofQueue(queue string, f ui.Field) ui.Field {
	f.Label = queue + ": " + w.lower(f.Label)
	return f
}

// hoursText is a value of an event as it was recorded.
func (w words) hoursText(value any) string {
	text, _ := value.(string)
	return w.said(text)
}
