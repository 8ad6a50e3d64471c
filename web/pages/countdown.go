package pages

import (
	"fmt"
	"sync"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
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
	m.Text = dueWords(w.calendar(), models.At(w.now), t)
	return m
}

// dueWords tells how much business time is left, or has passed since. Nights, weekends and holidays are
// none, so what became overdue in the evening is not more overdue in the morning.
func dueWords(c models.Calendar, now, due models.Time) string {
	left := c.BusinessTime(now, due)
	switch {
	case now.Before(due.Time):
		switch {
		case left >= time.Minute:
		case due.Sub(now.Time) < time.Minute:
			return "due now"
		default:
			return "due outside business hours" // a holiday was added since
		}
		return "due in " + businessSpan(left, c.Hours().Length())
	case -left < time.Minute:
		if now.Sub(due.Time) < time.Minute {
			return "due now"
		}
		return "overdue"
	}
	return "overdue by " + businessSpan(-left, c.Hours().Length())
}

// businessSpan is business time in its largest whole unit: days from two on, hours, minutes.
func businessSpan(d, day time.Duration) string {
	switch {
	case d >= 2*day:
		return plural(int64(d/day), "business day", "business days")
	case d >= time.Hour:
		return plural(int64(d/time.Hour), "business hour", "business hours")
	}
	return plural(int64(d/time.Minute), "business minute", "business minutes")
}

// moment is a moment in full in the reader's own zone, and beside it in the workspace's where they
// differ.
func (w words) moment(t models.Time) string {
	own := w.ownZone()
	const form = "Mon 2 Jan 2006, 15:04"
	text := t.In(own).Format(form) + " (" + own.String() + ")"
	if _, here := t.In(own).Zone(); !sameOffset(here, t.In(w.zone)) {
		text += ", " + t.In(w.zone).Format(form) + " (" + w.zone.String() + ")"
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
func (w words) clockIn(t models.Time) string { return t.In(w.ownZone()).Format("Mon 2 Jan, 15:04") }

// ownZone is the reader's own zone, else the workspace's.
func (w words) ownZone() *time.Location {
	if w.own != nil {
		return w.own
	}
	return w.zone
}

// awakeWords say why a snooze ended.
func awakeWords(why, by string) string {
	switch why {
	case "time":
		return "since its time has come"
	case "joined":
		return "since the agent stopped at the same again"
	case "answered":
		return "since the agent answered"
	case "receipt":
		return "since a re-check found the goods receipt"
	}
	return "since " + orSome(by, "somebody") + " ended the snooze"
}

// queueLoad says what stands in a queue.
func queueLoad(n queue.QueueCount) string {
	if n.Open == 0 && n.Snoozed == 0 {
		return "Nothing is open."
	}
	text := fmt.Sprintf("%d open", n.Open)
	if n.Overdue > 0 {
		text += ", " + overdueText(n.Overdue) + " overdue"
	} else {
		text += ", none overdue"
	}
	if n.DueSoon > 0 {
		text += ", " + overdueText(n.DueSoon) + " due soon"
	}
	if n.Snoozed > 0 {
		text += ", " + overdueText(n.Snoozed) + " snoozed"
	}
	return text + "."
}

// stateSnoozed is the list of what is snoozed, beside the states of a case.
const stateSnoozed = "snoozed"
