package pages

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	formSnooze  = "snooze"
	formReroute = "reroute"
)

// snoozeOwn is the choice of a moment that is not offered.
const snoozeOwn = "own"

// preset is a moment offered to snooze a case until.
type preset struct {
	label string // a message
	at    models.Time
}

const snoozeHour models.DayTime = 9 * 60

// presets are the moments offered to somebody whose clock shows now in their zone. They are moments and
// no names, so that a page left open overnight means what it says.
func presets(now time.Time, zone *time.Location) []preset {
	var out []preset
	today := models.DateOf(models.At(now), zone)
	later := models.At(now.Add(2 * time.Hour).Truncate(30 * time.Minute).Add(30 * time.Minute))
	if models.DateOf(later, zone) == today {
		out = append(out, preset{lang.Mark("Later today"), later})
	}
	tomorrow := today.AddDays(1)
	out = append(out, preset{lang.Mark("Tomorrow"), models.WallClock(tomorrow, snoozeHour, zone)})
	monday := tomorrow
	for weekdayOf(monday) != time.Monday {
		monday = monday.AddDays(1)
	}
	if monday != tomorrow {
		out = append(out, preset{lang.Mark("Next Monday"), models.WallClock(monday, snoozeHour, zone)})
	}
	return out
}

func weekdayOf(d models.Date) time.Weekday { return d.StartIn(time.UTC).Weekday() }

// readUntil reads until when a case is to be snoozed: a moment offered, or one typed on the clock of
// the person's zone.
func readUntil(choice, typed string, zone *time.Location) (models.Time, *models.Issue) {
	switch {
	case choice != "" && choice != snoozeOwn:
		at, err := time.Parse(time.RFC3339, choice)
		if err != nil {
			return models.Time{}, &models.Issue{Path: "/until", Message: "choose until when"}
		}
		return models.At(at), nil
	case typed == "" && choice == "":
		return models.Time{}, &models.Issue{Path: "/until", Message: "choose until when"}
	}
	day, clock, _ := strings.Cut(typed, "T")
	date, err := models.ParseDate(day)
	if err == nil {
		var at models.DayTime
		if at, err = models.ParseDayTime(firstFive(clock)); err == nil {
			return models.WallClock(date, at, zone), nil
		}
	}
	return models.Time{}, &models.Issue{Path: "/until_at", Message: "must be a date and a time of day"}
}

// firstFive leaves seconds out, which some browsers send.
func firstFive(clock string) string { return clock[:min(5, len(clock))] }

// snoozeCase is POST /cases/{id}/snooze.
func (v *visit) snoozeCase() error {
	id, typed := v.param("id"), v.typed("until", "until_at", "reason", "version")
	if err := v.goToCase(id); err != nil {
		return err
	}
	at, issues := version(typed["version"])
	until, wrong := readUntil(typed["until"], typed["until_at"], v.ownZone())
	if wrong != nil {
		issues = append(issues, *wrong)
	}
	err := invalid(issues)
	if err == nil {
		_, err = v.p.queue.Snooze(v.ctx, v.by, queue.SnoozeInput{CaseID: id, Until: until, Reason: typed["reason"], Version: at})
	}
	names := map[string]string{"reason": "snooze_reason"}
	if typed["until"] == snoozeOwn {
		names["until"] = "until_at"
	}
	typed["snooze_reason"] = typed["reason"]
	return v.movedCase(id, err, formSnooze, v.tr("The case was not snoozed"), "snoozed", typed, names)
}

// unsnoozeCase is POST /cases/{id}/unsnooze.
func (v *visit) unsnoozeCase() error {
	id, typed := v.param("id"), v.typed("version")
	if err := v.goToCase(id); err != nil {
		return err
	}
	at, issues := version(typed["version"])
	err := invalid(issues)
	if err == nil {
		_, err = v.p.queue.Unsnooze(v.ctx, v.by, id, at)
	}
	return v.movedCase(id, err, formSnooze, v.tr("The case is still snoozed"), "unsnoozed", typed, nil)
}

// rerouteCase is POST /cases/{id}/reroute.
func (v *visit) rerouteCase() error {
	id, typed := v.param("id"), v.typed("to", "reason", "version")
	if err := v.goToCase(id); err != nil {
		return err
	}
	at, issues := version(typed["version"])
	err := invalid(issues)
	if err == nil {
		_, err = v.p.queue.Reroute(v.ctx, v.by, queue.RerouteInput{CaseID: id, To: models.Queue(typed["to"]), Reason: typed["reason"], Version: at})
	}
	typed["reroute_reason"] = typed["reason"]
	return v.movedCase(id, err, formReroute, v.tr("The case was not moved"), "rerouted", typed, map[string]string{"reason": "reroute_reason"})
}

// movedCase answers a form that takes a case out of its list: back to the case, or the case with what is
// wrong. Who was too late sees the case as it is now.
func (v *visit) movedCase(id string, err error, form, heading, message string, typed, names map[string]string) error {
	if err == nil {
		v.p.say(v.c, message)
		return v.backTo(caseURL(id))
	}
	if models.IsCode(err, models.Conflict) {
		return v.renderCase(id, http.StatusConflict, caseForm{late: asNamed(err), since: typed["version"], moving: refusal{form: form, typed: typed}})
	}
	r, ok := v.refuse(err, form, heading, typed, names)
	if !ok {
		return err
	}
	return v.renderCase(id, formStatus(err), caseForm{moving: r})
}

// snooze is how a case is snoozed, and what the reader can do about it; nil when there is nothing to say.
func (v *visit) snooze(page queue.CasePage, refused refusal) *views.Snooze {
	s := page.Snooze
	if s.Until.IsZero() && !s.May {
		return nil
	}
	refused = refused.of(formSnooze)
	at, current := caseURL(page.Case.CaseID), fmt.Sprint(page.Case.Version)
	out := &views.Snooze{Summary: v.tr("Snooze")}
	if !s.Until.IsZero() {
		out.Text, out.Reason, out.Summary = v.tr("Snoozed by %s until %s. It is out of the list until then.", orSome(s.By, v.tr("somebody")), v.clockIn(s.Until)), ui.Foreign(s.Reason), v.tr("Snooze until another time")
		if s.Mine {
			out.Text = v.tr("Snoozed by you until %s. It is out of the list until then.", v.clockIn(s.Until))
		}
		if s.May {
			out.Wake = &ui.PostForm{URL: at + "/unsnooze", CSRF: v.csrf, Hidden: append(v.along(), ui.Hidden{Name: "version", Value: current}),
				Button: ui.Button{Label: v.tr("Bring it back now"), Variant: ui.ButtonPlain, TestID: "unsnooze"}}
		}
	}
	if !s.May {
		return out
	}
	out.Until = ui.Field{Name: "until", Label: v.tr("Until"), Kind: ui.FieldRadios, Required: true, Error: refused.problems["until"], TestID: "snooze-until"}
	for _, p := range presets(v.now, v.ownZone()) {
		out.Until.Options = append(out.Until.Options, ui.Option{Value: p.at.UTC().Format(time.RFC3339), Label: v.tr(p.label) + ", " + v.clockIn(p.at)})
	}
	out.Until.Options = append(out.Until.Options, ui.Option{Value: snoozeOwn, Label: v.tr("Another time")})
	for i, o := range out.Until.Options {
		out.Until.Options[i].Selected = o.Value == refused.typed["until"] && o.Value != ""
	}
	out.UntilAt = refused.field(ui.Field{Name: "until_at", Label: v.tr("Another time"), Kind: ui.FieldDateTime, RequiredLater: false, Hint: v.tr("On the clock of %s; within 90 days.", v.ownZone().String())})
	out.Why = ui.Field{ID: "f-snooze-reason", Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Rows: 2, Value: refused.typed["snooze_reason"], Error: refused.problems["snooze_reason"],
		Hint: v.tr("Shown on the case and on its trail.")}
	form := v.recordForm(at + "/snooze")
	form.Version = current
	form.Heading, form.Errors = refused.heading, movingErrors(refused, "snooze_reason", out.Until, out.UntilAt, out.Why)
	out.Form, out.Open = &form, refused.typed != nil
	return out
}

// movingErrors is the summary of a form whose reason has another name among the problems, since the
// page has several reasons.
func movingErrors(refused refusal, reason string, fields ...ui.Field) []ui.FieldError {
	rest := refusal{form: refused.form, problems: map[string]string{}}
	for name, problem := range refused.problems {
		if name != reason {
			rest.problems[name] = problem
		}
	}
	return rest.summary(fields...)
}

// reroute is the form that moves a case to another queue; nil when the reader cannot.
func (v *visit) reroute(page queue.CasePage, refused refusal) *views.Reroute {
	if len(page.Reroute.To) == 0 {
		return nil
	}
	refused = refused.of(formReroute)
	out := &views.Reroute{Form: v.recordForm(caseURL(page.Case.CaseID) + "/reroute")}
	out.Form.Version, out.Open = fmt.Sprint(page.Case.Version), refused.typed != nil
	options := []ui.Option{{Label: v.tr("Choose a queue")}}
	for _, q := range page.Reroute.To {
		options = append(options, ui.Option{Value: string(q), Label: v.queue(q)})
	}
	out.To = refused.field(ui.Field{Name: "to", Label: v.tr("Queue"), Kind: ui.FieldSelect, Required: true, Options: options})
	out.Reason = ui.Field{ID: "f-reroute-reason", Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Rows: 2, Required: true, Value: refused.typed["reroute_reason"],
		Error: refused.problems["reroute_reason"], Hint: v.tr("Shown to the people of that queue.")}
	out.Form.Heading, out.Form.Errors = refused.heading, movingErrors(refused, "reroute_reason", out.To, out.Reason)
	return out
}

// timeNotices say how a case came to its queue and that it is overdue.
func (v *visit) timeNotices(page queue.CasePage) []ui.Notice {
	var out []ui.Notice
	if from := page.Reroute.From; from != nil {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("%s moved this here from %s, %s.", from.By, v.queue(from.From), v.ago(from.At)), Text: ui.Foreign(from.Reason), TestID: "rerouted"})
	}
	if !page.Escalated.IsZero() && page.Case.Status == models.CaseOpen {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Text: ui.Foreign(v.tr("This case is overdue. The AP leads and everybody who works %s were told %s.", v.queue(page.Case.Queue), v.ago(page.Escalated))), TestID: "escalated"})
	}
	return out
}
