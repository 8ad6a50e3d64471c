package pages

import (
	"sync"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// timing is how a person is told when something is due: in the business hours of the workspace, and as
// a moment in their own zone.
type timing struct {
	calendar func() models.Calendar // read when the first due time is told
	own      *time.Location         // the reader's own zone; nil: the workspace's
}

// timing reads the calendar of the workspace entered, once. Without it the default hours count.
func (v *visit) timingHere() timing {
	by, zone := v.by, v.ws.Zone()
	return timing{own: v.meantZone(), calendar: sync.OnceValue(func() models.Calendar {
		calendar := models.NewCalendar(zone, nil)
		err := v.p.store.View(v.ctx, by, func(tx *models.Tx) error {
			read, err := tx.Calendar()
			if err == nil {
				calendar = read
			}
			return err
		})
		if err != nil {
			v.p.log.WarnContext(v.ctx, "calendar not read", "workspace", by.WorkspaceID, "cause", err)
		}
		return calendar
	})}
}

// caseDue is when a case is due, in business hours.
func (w words) caseDue(t models.Time) ui.Moment {
	if t.IsZero() {
		return ui.Moment{}
	}
	m := ui.Moment{ISO: t.UTC().Format(time.RFC3339), Absolute: w.moment(t), Late: !w.now.Before(t.Time)}
	if w.calendar == nil {
		m.Text, m.Kind = w.lang.Due(t.Time, w.now), ui.MomentDue
		return m
	}
	m.Text = w.dueWords(w.calendar(), models.At(w.now), t)
	return m
}

// dueWords tells how much business time is left, or has passed since. Nights, weekends and holidays are
// none, so what became overdue in the evening is not more overdue in the morning.
func (w words) dueWords(c models.Calendar, now, due models.Time) string {
	left := c.BusinessTime(now, due)
	switch {
	case now.Before(due.Time):
		switch {
		case left >= time.Minute:
		case due.Sub(now.Time) < time.Minute:
			return w.tr("due now")
		default:
			return w.tr("due outside business hours") // a holiday was added since
		}
		return w.tr("due in %s", w.businessSpan(left, c.Hours().Length()))
	case -left < time.Minute:
		if now.Sub(due.Time) < time.Minute {
			return w.tr("due now")
		}
		return w.tr("overdue")
	}
	return w.tr("overdue by %s", w.businessSpan(-left, c.Hours().Length()))
}

// businessSpan is business time in its largest whole unit: days from two on, hours, minutes. It stands
// behind a preposition.
func (w words) businessSpan(d, day time.Duration) string {
	switch {
	case d >= 2*day:
		return w.trn("%d business day", "%d business days", int(d/day))
	case d >= time.Hour:
		return w.trn("%d business hour", "%d business hours", int(d/time.Hour))
	}
	return w.trn("%d business minute", "%d business minutes", int(d/time.Minute))
}

// moment is a moment in full in the reader's own zone, and beside it in the workspace's where they
// differ.
func (w words) moment(t models.Time) string {
	own := w.ownZone()
	text := w.lang.Format(t.In(own), lang.WeekdayTime) + " (" + own.String() + ")"
	if _, here := t.In(own).Zone(); !sameOffset(here, t.In(w.zone)) {
		text += ", " + w.lang.Format(t.In(w.zone), lang.WeekdayTime) + " (" + w.zone.String() + ")"
	}
	return text
}

func sameOffset(offset int, at time.Time) bool {
	_, other := at.Zone()
	return offset == other
}

// momentText writes the text of a moment as a date and time of day; what is none stays as it is.
func (w words) momentText(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return w.clockIn(models.At(at))
}

// clockIn is date and time of day in the reader's own zone.
func (w words) clockIn(t models.Time) string { return w.lang.Format(t.In(w.ownZone()), lang.ShortTime) }

// ownZone is the reader's own zone, else the workspace's.
func (w words) ownZone() *time.Location {
	if w.own != nil {
		return w.own
	}
	return w.zone
}

// awake says why a snooze ended.
func (w words) awake(why, by string) string {
	switch why {
	case "time":
		return w.tr("since its time has come")
	case "joined":
		return w.tr("since the agent stopped at the same again")
	case "answered":
		return w.tr("since the agent answered")
	case "receipt":
		return w.tr("since a re-check found the goods receipt")
	}
	return w.tr("since %s ended the snooze", orSome(by, w.tr("somebody")))
}

// queueLoad says what stands in a queue.
func (w words) queueLoad(n queue.QueueCount) string {
	if n.Open == 0 && n.Snoozed == 0 {
		return w.tr("Nothing is open.")
	}
	text := w.tr("%d open", int(n.Open))
	if n.Overdue > 0 {
		text += ", " + w.tr("%s overdue", w.overdueText(n.Overdue))
	} else {
		text += ", " + w.tr("none overdue")
	}
	if n.DueSoon > 0 {
		text += ", " + w.tr("%s due soon", w.overdueText(n.DueSoon))
	}
	if n.Snoozed > 0 {
		text += ", " + w.tr("%s snoozed", w.overdueText(n.Snoozed))
	}
	return text + "."
}

// stateSnoozed is the list of what is snoozed, beside the states of a case.
const stateSnoozed = "snoozed"
