package models

import (
	"fmt"
	"strconv"
	"time"
)

// Calendar knows a workspace's business days and hours: Monday to Friday in its zone from opening to
// closing, less its holidays. It counts what the clock on the wall shows as opening hours, in time that
// really passes: a day whose clock is put forward within them has an hour less.
type Calendar struct {
	zone  *time.Location
	hours OpeningHours
	off   map[Date]bool
}

// DayTime is a time of day on the clock on the wall, in minutes after midnight. The end of the day is
// 24:00.
type DayTime int

const (
	minutesOfADay DayTime = 24 * 60
	recheckHour   DayTime = 6 * 60
)

// ParseDayTime reads hours and minutes as 09:00 or 9:00, up to 24:00.
func ParseDayTime(s string) (DayTime, error) {
	bad := fmt.Errorf("must be a time of day such as 09:00")
	i := len(s) - 3
	if i < 1 || i > 2 || s[i] != ':' {
		return 0, bad
	}
	h, err := strconv.ParseUint(s[:i], 10, 8)
	if err != nil {
		return 0, bad
	}
	m, err := strconv.ParseUint(s[i+1:], 10, 8)
	at := DayTime(h*60 + m)
	if err != nil || m > 59 || at > minutesOfADay {
		return 0, bad
	}
	return at, nil
}

// String is the time of day as 09:00.
func (t DayTime) String() string { return fmt.Sprintf("%02d:%02d", int(t)/60, int(t)%60) }

// OpeningHours are from when to when people work on a business day.
type OpeningHours struct{ Opens, Closes DayTime }

// DefaultOpeningHours are those of a workspace that states none.
var DefaultOpeningHours = OpeningHours{Opens: 9 * 60, Closes: 17 * 60}

// shortestDay is the least that a business day must have.
const shortestDay DayTime = 60

// Length is how long a business day is, but for days on which the clock changes.
func (h OpeningHours) Length() time.Duration { return time.Duration(h.Closes-h.Opens) * time.Minute }

// String is the hours as 09:00 to 17:00.
func (h OpeningHours) String() string { return h.Opens.String() + " to " + h.Closes.String() }

// valid says whether there is a day between opening and closing.
func (h OpeningHours) valid() bool {
	return h.Opens >= 0 && h.Closes <= minutesOfADay && h.Closes-h.Opens >= shortestDay
}

// NewCalendar makes the calendar of a zone with its holidays and the default hours.
func NewCalendar(zone *time.Location, holidays []Date) Calendar {
	off := make(map[Date]bool, len(holidays))
	for _, h := range holidays {
		off[h] = true
	}
	return Calendar{zone: zone, hours: DefaultOpeningHours, off: off}
}

// WithHours is the calendar with other opening hours. Hours that are none leave it as it is.
func (c Calendar) WithHours(h OpeningHours) Calendar {
	if h.valid() {
		c.hours = h
	}
	return c
}

// Zone is the calendar's time zone.
func (c Calendar) Zone() *time.Location { return c.zone }

// Hours are the opening hours of a business day.
func (c Calendar) Hours() OpeningHours { return c.hours }

// IsBusinessDay says whether people work on a date.
func (c Calendar) IsBusinessDay(d Date) bool {
	day := d.utc().Weekday()
	return day != time.Saturday && day != time.Sunday && !c.off[d]
}

// open is when work starts and ends on a date; both are one moment on a day without work.
func (c Calendar) open(d Date) (from, to time.Time) {
	from = WallClock(d, c.hours.Opens, c.zone).Time
	if !c.IsBusinessDay(d) {
		return from, from
	}
	return from, WallClock(d, c.hours.Closes, c.zone).Time
}

// mostDays bounds how far a calendar is walked: whoever declares every day a holiday gets an answer too.
const mostDays = 3660

// AddBusinessHours is the moment when d of business time has passed since t.
func (c Calendar) AddBusinessHours(t Time, d time.Duration) Time {
	if d <= 0 {
		return t
	}
	day := DateOf(t, c.zone)
	for range mostDays {
		from, to := c.open(day)
		if t.After(from) {
			from = t.Time
		}
		if left := to.Sub(from); left >= d {
			return At(from.Add(d))
		} else if left > 0 {
			d -= left
		}
		day = day.AddDays(1)
	}
	return day.StartIn(c.zone)
}

// BusinessTime is how much business time lies between two moments, below zero when to is before from.
// More than ten years count as ten.
func (c Calendar) BusinessTime(from, to Time) time.Duration {
	if to.Before(from.Time) {
		return -c.BusinessTime(to, from)
	}
	total := time.Duration(0)
	day, last := DateOf(from, c.zone), DateOf(to, c.zone)
	for range mostDays {
		start, end := c.open(day)
		if from.After(start) {
			start = from.Time
		}
		if to.Before(end) {
			end = to.Time
		}
		total += max(0, end.Sub(start))
		if !last.After(day) {
			break
		}
		day = day.AddDays(1)
	}
	return total
}

// AddBusinessDays is the same time of the day, n business days later, or earlier when n is below zero.
func (c Calendar) AddBusinessDays(t Time, n int) Time {
	local := t.In(c.zone)
	day := c.businessDay(DateOf(t, c.zone), n)
	if n == 0 {
		return t
	}
	y, m, d := day.utc().Date()
	h, min, s := local.Clock()
	return At(time.Date(y, m, d, h, min, s, local.Nanosecond(), c.zone))
}

// businessDay is the nth business day after a date, or before it when n is below zero.
func (c Calendar) businessDay(d Date, n int) Date {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for range mostDays {
		if n == 0 {
			break
		}
		if d = d.AddDays(step); c.IsBusinessDay(d) {
			n--
		}
	}
	return d
}

// NextRecheck is 06:00 of the next business day after t, the default for holds.
func (c Calendar) NextRecheck(t Time) Time {
	return WallClock(c.businessDay(DateOf(t, c.zone), 1), recheckHour, c.zone)
}

// WallClock is the first moment at which the clock on the wall of a zone shows a time of a date, or has
// passed it: where a change of the clock skips that time, the moment of the change. A day that begins
// at 01:00 because midnight is skipped so begins with its first moment, and not on the day before.
func WallClock(d Date, at DayTime, zone *time.Location) Time {
	y, m, day := d.utc().Date()
	wall := time.Date(y, m, day, 0, int(at), 0, 0, time.UTC)
	guess := time.Date(y, m, day, 0, int(at), 0, 0, zone)
	start, end := guess.ZoneBounds()
	first := time.Time{}
	for _, near := range []time.Time{start.Add(-time.Second), guess, end} {
		if near.IsZero() || near.Year() < 1 {
			continue
		}
		_, offset := near.In(zone).Zone()
		moment := wall.Add(-time.Duration(offset) * time.Second)
		if shows(moment.In(zone), wall) && (first.IsZero() || moment.Before(first)) {
			first = moment
		}
	}
	if !first.IsZero() {
		return At(first)
	}
	if local := guess.In(zone); !end.IsZero() && before(local, wall) {
		return At(end)
	}
	return At(start)
}

// shows says whether the clock of local shows what wall, in UTC, shows.
func shows(local, wall time.Time) bool {
	return local.Format(time.DateTime) == wall.Format(time.DateTime)
}

func before(local, wall time.Time) bool {
	return local.Format(time.DateTime) < wall.Format(time.DateTime)
}
