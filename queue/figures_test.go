package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func TestFiguresOfAPeriod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		before := c.store.Now()
		c.clock.Advance(time.Minute) // Monday, 11:01 in Berlin
		from := c.store.Now()
		reopened := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		late := c.file(c.stop("i2", models.POClosed, `{}`)).CaseID
		taken := c.file(c.stop("i3", models.POClosed, `{}`)).CaseID
		duplicate := c.file(c.stop("d1", models.DuplicateInvoice, `{"duplicate_of":"d0"}`)).CaseID
		other := c.stop("o1", models.POClosed, `{}`)
		other.Reason, other.Errors = models.ReasonLoopDetected, nil
		c.file(other)
		c.decide(c.clara, duplicate, "ask_agent", map[string]string{"question": "Which one?"}, "")
		c.clock.Advance(90 * time.Minute)
		c.decide(c.petra, reopened, "reopen_po", nil, "More was ordered.")
		if _, err := c.withdraw(c.agent, taken, "Solved."); err != nil {
			t.Fatal(err)
		}
		c.clock.Advance(30 * 24 * time.Hour)
		c.decide(c.petra, late, "reject_invoice", nil, "Too late.")
		_, err := c.desk.Claim(t.Context(), c.clara, duplicate)
		must(t, err)
		c.clock.Advance(time.Minute)

		figures := func(by models.Principal, from, to models.Time) queue.Figures {
			t.Helper()
			f, err := c.desk.Figures(t.Context(), by, from, to)
			must(t, err)
			return f
		}
		all := figures(c.lena, from, c.store.Now())
		procurement := queue.QueueFigures{Queue: models.QueueProcurement, Came: 3, Resolved: 2, InTime: 1, Median: 90 * time.Minute}
		for _, q := range all.Queues {
			if q.Queue == models.QueueProcurement && q != procurement {
				t.Errorf("procurement: %+v", q)
			}
			if q.Queue == models.QueueAP && (q.Came != 2 || q.Resolved != 0) {
				t.Errorf("ap: %+v", q)
			}
		}
		if len(all.Queues) != 5 || all.Cut {
			t.Errorf("queues: %+v", all)
		}
		exits := map[models.Code]map[string]int{}
		came := map[models.Code]int{}
		for _, code := range all.Codes {
			came[code.Code], exits[code.Code] = code.Came, map[string]int{}
			for _, e := range code.Exits {
				exits[code.Code][e.Exit] = e.N
			}
		}
		if all.Codes[0].Code != models.POClosed || came[models.POClosed] != 3 || came[models.DuplicateInvoice] != 1 || came[queue.NoCode] != 1 || len(exits[models.DuplicateInvoice]) != 0 {
			t.Errorf("came: %v", all.Codes)
		}
		if got := exits[models.POClosed]; len(got) != 3 || got["reopen_po"] != 1 || got["reject_invoice"] != 1 || got["withdrawn"] != 1 {
			t.Errorf("exits: %v", got)
		}
		if len(all.People) != 2 || all.People[0] != (queue.PersonFigures{UserID: c.clara.UserID, Name: "Clara", Claimed: 1}) ||
			all.People[1] != (queue.PersonFigures{UserID: c.petra.UserID, Name: "Petra", Decided: 2}) {
			t.Errorf("people: %+v", all.People)
		}
		// What lies outside does not count, the end itself included.
		for _, q := range figures(c.aude, before, from).Queues {
			if q.Came+q.Resolved != 0 {
				t.Errorf("before anything happened: %+v", q)
			}
		}
		lead := c.person("2000", "Ludo", models.RoleAPLead)
		if f := figures(lead, before, c.store.Now()); len(f.Codes) != 0 || len(f.People) != 0 {
			t.Errorf("another company sees %+v", f)
		}
		for _, by := range []models.Principal{c.clara, c.petra, c.mara, c.agent, c.erp} {
			if _, err := c.desk.Figures(context.Background(), by, from, c.store.Now()); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s: %v", by.UserName, err)
			}
		}
	})
}
