package models

import (
	"time"

	"github.com/rickar/cal/v2"
)

// Calendar knows a workspace's business days and hours: Monday to Friday in its zone, less its
// holidays.
type Calendar struct {
	zone     *time.Location
	business *cal.BusinessCalendar
}

// Business hours of every workspace.
const (
	workdayStart = 9
	workdayEnd   = 17
	recheckHour  = 6
)

// atHour is the wall-clock hour of a date, also on a day whose clock changes.
func atHour(hour int) func(time.Time) time.Time {
	return func(date time.Time) time.Time {
		y, m, d := date.Date()
		return time.Date(y, m, d, hour, 0, 0, 0, date.Location())
	}
}

// NewCalendar makes the calendar of a zone with its holidays.
func NewCalendar(zone *time.Location, holidays []Date) Calendar {
	off := make(map[string]bool, len(holidays))
	for _, h := range holidays {
		off[h.String()] = true
	}
	b := cal.NewBusinessCalendar()
	b.WorkdayStartFunc = atHour(workdayStart)
	b.WorkdayEndFunc = atHour(workdayEnd)
	b.WorkdayFunc = func(date time.Time) bool {
		return date.Weekday() != time.Saturday && date.Weekday() != time.Sunday && !off[date.Format(time.DateOnly)]
	}
	return Calendar{zone: zone, business: b}
}

// Zone is the calendar's time zone.
func (c Calendar) Zone() *time.Location { return c.zone }

// AddBusinessHours is the moment when d of business time has passed since t.
func (c Calendar) AddBusinessHours(t Time, d time.Duration) Time {
	return At(c.business.AddWorkHours(t.In(c.zone), d))
}

// AddBusinessDays is the same hour of the day, n business days later.
func (c Calendar) AddBusinessDays(t Time, n int) Time {
	return At(c.business.WorkdaysFrom(t.In(c.zone), n))
}

// NextRecheck is 06:00 of the next business day after t, the default for holds.
func (c Calendar) NextRecheck(t Time) Time {
	return At(atHour(recheckHour)(c.business.WorkdaysFrom(t.In(c.zone), 1)))
}
