package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Values of Filter.Due. They list open cases only, since only an open case is due.
const (
	DueSoon    = "soon"    // not overdue, and within the hours in which its queue's cases count as due soon
	DueOverdue = "overdue" // past its time
	DueToday   = "today"   // due on the date it is in the workspace's zone
)

// Values of Filter.Snoozed.
const (
	SnoozedNot  = "not"  // leave snoozed cases out
	SnoozedOnly = "only" // nothing but snoozed cases
)

// dueWindow is from when to when a case of one queue must be due; a zero end is open.
type dueWindow struct {
	queue    models.Queue
	from, to models.Time // from included, to not
}

// dueWindows are the windows of a value of Filter.Due in the queues asked for. They are moments, so
// that an index finds what lies in them.
func dueWindows(due string, queues []models.Queue, hours models.WorkHours, cal models.Calendar, now models.Time) []dueWindow {
	out := make([]dueWindow, 0, len(queues))
	for _, q := range queues {
		w := dueWindow{queue: q}
		switch due {
		case DueOverdue:
			w.to = now
		case DueSoon:
			w.from, w.to = now, hours.SoonUntil(cal, now, q).Add(time.Microsecond)
		case DueToday:
			today := models.DateOf(now, cal.Zone())
			w.from, w.to = today.StartIn(cal.Zone()), today.AddDays(1).StartIn(cal.Zone())
		}
		out = append(out, w)
	}
	return out
}

func hoursAndCalendar(tx *models.Tx) (models.WorkHours, models.Calendar, error) {
	hours, err := tx.WorkHours()
	if err != nil {
		return hours, models.Calendar{}, err
	}
	cal, err := tx.Calendar()
	return hours, cal, err
}

// countDue adds to the counts of the queues how much of what is open is overdue, due soon and snoozed,
// and takes what is snoozed out of what stands in the list. Each is read from an index up to
// MostOverdue.
func countDue(tx *models.Tx, counts []QueueCount) error {
	hours, cal, err := hoursAndCalendar(tx)
	if err != nil {
		return err
	}
	for i := range counts {
		n := &counts[i]
		if n.Open == 0 {
			continue
		}
		soon := dueWindows(DueSoon, []models.Queue{n.Queue}, hours, cal, tx.Now)[0]
		// The state stands in the text, because a partial index is found only by a constant.
		const some, here = "SELECT count(*) FROM (SELECT 1 FROM ", " WHERE workspace_id = ? AND queue = ? AND status = 'open' AND "
		err := tx.DB.Raw("SELECT ("+some+"cases"+here+"due_at < ? LIMIT ?) AS late), ("+some+"cases"+here+"due_at >= ? AND due_at < ? LIMIT ?) AS soon), ("+
			some+snoozedCases(tx)+here+"snoozed_until IS NOT NULL LIMIT ?) AS snoozed)",
			tx.By.WorkspaceID, n.Queue, tx.Now, MostOverdue, tx.By.WorkspaceID, n.Queue, soon.from, soon.to, MostOverdue, tx.By.WorkspaceID, n.Queue, MostOverdue).
			Row().Scan(&n.Overdue, &n.DueSoon, &n.Snoozed)
		if err != nil {
			return err
		}
		n.Open -= n.Snoozed
	}
	return nil
}

// readHours reads the hours of queues as deskFor selects them, such as "ap:8,finance:4".
func readHours(text string) (map[models.Queue]int, error) {
	out := map[models.Queue]int{}
	for one := range strings.SplitSeq(text, ",") {
		if one == "" {
			continue
		}
		q, hours, _ := strings.Cut(one, ":")
		n, err := strconv.Atoi(hours)
		if err != nil {
			return nil, fmt.Errorf("queue: hours of %s: %w", q, err)
		}
		out[models.Queue(q)] = n
	}
	return out, nil
}

// due is when a case that arrives in a queue now should be decided.
func (d desk) due(now models.Time, q models.Queue) models.Time {
	hours, ok := d.hours[q]
	if !ok {
		hours = models.DefaultSLA(q).Hours
	}
	return d.calendar.AddBusinessHours(now, time.Duration(hours)*time.Hour)
}

// MyDue is what of a person's queues is late or close to it, the first due first, at most a page's worth
// of each.
type MyDue struct {
	Overdue []CaseItem
	Soon    []CaseItem
}

// DueForMe reads what is overdue or due soon in the queues the person works, whoever holds it.
func (s *Service) DueForMe(ctx context.Context, by models.Principal) (MyDue, error) {
	if err := mayLook(by); err != nil {
		return MyDue{}, err
	}
	var out MyDue
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		var err error
		if out.Overdue, err = firstOfMine(tx, Filter{Due: DueOverdue}); err != nil {
			return err
		}
		out.Soon, err = firstOfMine(tx, Filter{Due: DueSoon})
		return err
	})
	return out, err
}
