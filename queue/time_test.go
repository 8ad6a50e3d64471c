package queue_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// toldOf lists the subjects of the notices of one kind that a person has, the newest first.
func (c *cast) toldOf(who models.Principal, kind models.NoticeKind) []string {
	c.t.Helper()
	var out []string
	for _, n := range c.told(who) {
		if n.Kind == kind {
			out = append(out, n.Subject)
		}
	}
	return out
}

func (c *cast) setHours(change func(*models.WorkHours)) {
	c.t.Helper()
	must(c.t, c.store.InTx(c.t.Context(), c.lena, func(tx *models.Tx) error {
		return tx.SetWorkHours(func(h models.WorkHours) models.WorkHours { change(&h); return h }, "")
	}))
}

func (c *cast) ids(by models.Principal, f queue.Filter) []string {
	c.t.Helper()
	p, err := c.desk.List(c.t.Context(), by, f)
	must(c.t, err)
	out := []string{}
	for _, i := range p.Items {
		out = append(out, i.CaseID)
	}
	return out
}

func (c *cast) count(q models.Queue) queue.QueueCount {
	c.t.Helper()
	all, err := c.desk.Counts(c.t.Context(), c.clara)
	must(c.t, err)
	return all[slices.IndexFunc(all, func(n queue.QueueCount) bool { return n.Queue == q })]
}

func (c *cast) planned(kind models.JobKind) (subjects []string) {
	c.t.Helper()
	must(c.t, c.store.View(c.t.Context(), models.System("1000"), func(tx *models.Tx) error {
		return tx.DB.Model(&models.Job{}).Where("kind = ?", kind).Order("subject").Pluck("subject", &subjects).Error
	}))
	return subjects
}

func TestNewCasesAreDueByTheHoursOfTheWorkspaceAndOldOnesKeepTheirTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		old := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID // Monday, 11:00 in Berlin
		before := c.get(c.clara, old).DueAt
		if want := time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC); !before.Equal(want) {
			t.Errorf("eight hours of nine to five end at %s", before)
		}
		c.setHours(func(h *models.WorkHours) {
			h.Opening = models.OpeningHours{Opens: 8 * 60, Closes: 12 * 60}
			h.SLAs[models.QueueAP] = models.SLA{Hours: 3, DueSoon: 1, Escalate: true}
		})
		fresh := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		if got, want := c.get(c.clara, fresh).DueAt, time.Date(2026, 10, 6, 8, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("three hours of eight to noon end at %s, want %s", got, want)
		}
		if got := c.get(c.clara, old).DueAt; !got.Equal(before.Time) {
			t.Errorf("the case of before is due at %s now", got)
		}
		if got := c.get(c.petra, c.file(c.stop("i3", models.POClosed, `{}`)).CaseID).DueAt; !got.Equal(time.Date(2026, 10, 9, 9, 0, 0, 0, time.UTC)) {
			t.Errorf("the desk's own 16 hours end at %s", got)
		}
	})
}

func TestWhatIsDueSoonOverdueAndTodayIsListedAndCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		first := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID  // due Tuesday 11:00 in Berlin
		c.clock.Advance(5 * time.Hour)                                       // 16:00
		second := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID // due Tuesday 16:00
		po := c.file(c.stop("i3", models.POClosed, `{}`)).CaseID             // due Wednesday 16:00
		shows := func(at, due string, want ...string) {
			t.Helper()
			if got := c.ids(c.clara, queue.Filter{Due: due}); !slices.Equal(got, want) {
				t.Errorf("%s, due %s: %v, want %v", at, due, got, want)
			}
			n := 0
			for _, id := range want {
				if id != po {
					n++
				}
			}
			if got := c.ids(c.clara, queue.Filter{Queue: models.QueueAP, Due: due}); len(got) != n {
				t.Errorf("%s, due %s in ap: %v", at, due, got)
			}
		}
		shows("on Monday", queue.DueSoon)
		shows("on Monday", queue.DueOverdue)
		shows("on Monday", queue.DueToday)
		c.clock.Set(time.Date(2026, 10, 5, 22, 30, 0, 0, time.UTC)) // half past midnight in Berlin
		shows("after midnight", queue.DueToday, first, second)
		shows("before opening, two hours are ahead", queue.DueSoon, first)
		c.clock.Set(time.Date(2026, 10, 6, 9, 0, 0, 1000, time.UTC))
		shows("at eleven", queue.DueOverdue, first)
		shows("at eleven", queue.DueToday, first, second)
		shows("at eleven", queue.DueSoon)
		c.clock.Set(time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC))
		shows("at two", queue.DueSoon, second)
		if n := c.count(models.QueueAP); n.Open != 2 || n.Overdue != 1 || n.DueSoon != 1 || n.Snoozed != 0 {
			t.Errorf("counted %+v", n)
		}
		if n := c.count(models.QueueProcurement); n.Overdue != 0 || n.DueSoon != 0 {
			t.Errorf("counted %+v", n)
		}
		c.decide(c.clara, first, "hold_for_statement", map[string]string{"until": c.tomorrow(4)}, "x")
		shows("a held case is not due", queue.DueOverdue)
		if got := c.ids(c.clara, queue.Filter{Due: queue.DueOverdue, Status: models.CaseResolved}); len(got) != 0 {
			t.Errorf("resolved cases are due: %v", got)
		}
		_, err := c.desk.List(t.Context(), c.clara, queue.Filter{Due: "later"})
		issueOn(t, err, "/due")
		_, err = c.desk.List(t.Context(), c.clara, queue.Filter{Snoozed: "some"})
		issueOn(t, err, "/snoozed")
	})
}

func TestAnOverdueCaseIsEscalatedOnceWhoeverWorksOnIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		po := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		due := c.get(c.petra, po).DueAt
		_, err := c.desk.Claim(t.Context(), c.petra, po)
		must(t, err)
		c.clock.Set(due.Add(-time.Second).Time)
		c.runJobs()
		if got := c.toldOf(c.petra, queue.NoticeOverdue); len(got) != 0 {
			t.Errorf("told before it was due: %v", got)
		}
		c.clock.Set(due.Time)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := models.NewWorker(c.store, discard, c.desk.Jobs()).RunDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		c.clock.Advance(48 * time.Hour)
		c.runJobs()
		for who, want := range map[*models.Principal]int{&c.petra: 1, &c.lena: 1, &c.clara: 0, &c.fiona: 0, &c.aude: 0, &c.adam: 0} {
			if got := c.toldOf(*who, queue.NoticeOverdue); len(got) != want || want == 1 && got[0] != po {
				t.Errorf("%s was told %v, want %d", who.UserName, got, want)
			}
		}
		if got := c.page(c.petra, po).Escalated; !got.Equal(due.Time) {
			t.Errorf("escalated at %s", got)
		}
		n := 0
		for _, a := range c.actions(po) {
			if a == "case.escalated" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d escalations on the trail", n)
		}
		if got := c.planned(queue.JobOverdue); len(got) != 0 {
			t.Errorf("still planned: %v", got)
		}
	})
}

func TestHeldAndResolvedCasesAreNotEscalatedAndAnotherTimeCountsAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		held := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		done := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		quiet := c.file(c.stop("i3", models.POClosed, `{}`)).CaseID
		c.setHours(func(h *models.WorkHours) { h.SLAs[models.QueueProcurement] = models.SLA{Hours: 16, DueSoon: 2} })
		c.decide(c.clara, held, "hold_for_statement", map[string]string{"until": "2026-10-12"}, "x")
		c.decide(c.clara, done, "confirm_duplicate", nil, "x")
		if got := c.planned(queue.JobOverdue); !slices.Equal(got, []string{quiet}) {
			t.Errorf("planned: %v", got)
		}
		c.clock.Set(time.Date(2026, 10, 11, 22, 0, 0, 0, time.UTC)) // the 12th in Berlin
		c.runJobs()
		if got := c.toldOf(c.lena, queue.NoticeOverdue); len(got) != 0 {
			t.Errorf("told of %v", got)
		}
		if !c.page(c.petra, quiet).Escalated.IsZero() {
			t.Error("escalated although the queue's cases are not")
		}
		due := c.get(c.clara, held).DueAt
		if !due.Equal(time.Date(2026, 10, 12, 15, 0, 0, 0, time.UTC)) {
			t.Fatalf("back, it is due at %s", due)
		}
		c.clock.Set(due.Time)
		c.runJobs()
		if got := c.toldOf(c.clara, queue.NoticeOverdue); !slices.Equal(got, []string{held}) {
			t.Errorf("told of %v", got)
		}
		c.decide(c.clara, held, "hold_for_statement", map[string]string{"until": "2026-10-19"}, "x")
		c.clock.Set(time.Date(2026, 10, 25, 23, 0, 0, 0, time.UTC))
		c.runJobs() // comes back
		if !c.page(c.clara, held).Escalated.IsZero() {
			t.Error("it is due anew, and counts as escalated")
		}
		c.clock.Advance(24 * time.Hour)
		c.runJobs()
		if got := c.toldOf(c.clara, queue.NoticeOverdue); !slices.Equal(got, []string{held, held}) {
			t.Errorf("the second time told of %v", got)
		}
	})
}

func TestCasesTheDeskOpensItselfAreEscalatedToo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var review string
		must(t, c.store.InTx(t.Context(), models.System("1000"), func(tx *models.Tx) error {
			var err error
			review, err = c.desk.OpenReview(tx, models.ApprovalRequest{ID: "areq_1", WorkspaceID: "1000", Amount: "5.00", Currency: "EUR", AskerID: c.agent.UserID, AskerName: "agent-one"},
				c.invoice("i1"), "Fiona left.")
			return err
		}))
		if got := c.planned(queue.JobOverdue); !slices.Equal(got, []string{review}) {
			t.Errorf("planned: %v", got)
		}
		_, err := c.desk.Reroute(t.Context(), c.lena, queue.RerouteInput{CaseID: review, To: models.QueueFinance, Reason: "x", Version: 1})
		issueOn(t, err, "/to")
	})
}

func TestASnoozedCaseLeavesTheListAndComesBackByItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		other := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		_, err := c.desk.Claim(t.Context(), c.clara, id)
		must(t, err)
		until := models.At(time.Date(2026, 10, 7, 7, 0, 0, 0, time.UTC))
		in := queue.SnoozeInput{CaseID: id, Until: until, Reason: "The supplier calls back.", Version: 1}
		for name, x := range map[string]struct {
			by   models.Principal
			code models.Code
		}{"another clerk while it is held": {c.carl, models.Conflict}, "procurement": {c.petra, models.InsufficientPermission}, "the auditor": {c.aude, models.InsufficientPermission},
			"a token": {onToken(c.clara), models.InsufficientPermission}, "the agent": {c.agent, models.InsufficientPermission}, "another company": {c.stranger, models.NotFound}} {
			if _, err := c.desk.Snooze(t.Context(), x.by, in); !models.IsCode(err, x.code) {
				t.Errorf("%s: %v, want %s", name, err, x.code)
			}
		}
		for path, bad := range map[string]queue.SnoozeInput{
			"/until":   {CaseID: id, Until: models.At(c.clock.Now()), Version: 1},
			"/version": {CaseID: id, Until: until},
			"/reason":  {CaseID: id, Until: until, Reason: string(make([]rune, 4001)) + "x", Version: 1},
		} {
			if path == "/reason" {
				bad.Reason = fmt.Sprintf("%04001d", 1)
			}
			_, err := c.desk.Snooze(t.Context(), c.clara, bad)
			issueOn(t, err, path)
		}
		_, err = c.desk.Snooze(t.Context(), c.clara, queue.SnoozeInput{CaseID: id, Until: models.At(c.clock.Now().Add(91 * 24 * time.Hour)), Version: 1})
		issueOn(t, err, "/until")
		due := c.get(c.clara, id).DueAt
		_, err = c.desk.Snooze(t.Context(), c.clara, in)
		must(t, err)

		awake := queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen, Snoozed: queue.SnoozedNot}
		if got := c.ids(c.clara, awake); !slices.Equal(got, []string{other}) {
			t.Errorf("the list shows %v", got)
		}
		if got := c.ids(c.clara, queue.Filter{Queue: models.QueueAP, Snoozed: queue.SnoozedOnly}); !slices.Equal(got, []string{id}) {
			t.Errorf("snoozed are %v", got)
		}
		if got := c.ids(c.agent, queue.Filter{}); len(got) != 2 {
			t.Errorf("its agent sees %v", got)
		}
		mine, err := c.desk.Mine(t.Context(), c.clara)
		must(t, err)
		if len(mine.Claimed) != 0 || len(mine.Next) != 1 || mine.Next[0].CaseID != other {
			t.Errorf("on the desk: %+v %+v", mine.Claimed, mine.Next)
		}
		if n := c.count(models.QueueAP); n.Open != 1 || n.Snoozed != 1 {
			t.Errorf("counted %+v", n)
		}
		p := c.page(c.carl, id)
		if p.Snooze.By != "Clara" || p.Snooze.Mine || !p.Snooze.May || p.Snooze.Reason != "The supplier calls back." || !p.Snooze.Until.Equal(until.Time) || p.Claim.By != "" {
			t.Errorf("its page says %+v, claim %+v", p.Snooze, p.Claim)
		}
		// The clock goes on: it is due and escalated as every other.
		c.clock.Set(due.Time)
		c.runJobs()
		if got := c.toldOf(c.lena, queue.NoticeOverdue); !slices.Contains(got, id) {
			t.Errorf("the lead was told of %v", got)
		}
		if got := c.ids(c.clara, awake); slices.Contains(got, id) {
			t.Error("it is back early")
		}
		c.clock.Set(until.Time)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := models.NewWorker(c.store, discard, c.desk.Jobs()).RunDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if got := c.ids(c.clara, awake); !slices.Contains(got, id) {
			t.Errorf("it did not come back: %v", got)
		}
		if got := c.toldOf(c.clara, queue.NoticeAwake); !slices.Equal(got, []string{id}) {
			t.Errorf("Clara was told %v", got)
		}
		if got := c.toldOf(c.carl, queue.NoticeAwake); len(got) != 0 {
			t.Errorf("Carl was told %v", got)
		}
		if got := c.actions(id); !slices.Contains(got, "case.snoozed") || got[len(got)-1] != "case.snooze_ended" {
			t.Errorf("the trail: %v", got)
		}
	})
}

func TestNewsFromTheAgentOrAColleagueEndsASnooze(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		until := models.At(c.clock.Now().Add(72 * time.Hour))
		snooze := func(id string) {
			t.Helper()
			_, err := c.desk.Snooze(t.Context(), c.clara, queue.SnoozeInput{CaseID: id, Until: until, Version: c.get(c.clara, id).Version})
			must(t, err)
		}
		asleep := func(id string) bool { return !c.page(c.clara, id).Snooze.Until.IsZero() }

		joined := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		snooze(joined)
		c.file(c.stop("i1", models.DuplicateInvoice, `{}`))
		if asleep(joined) || !slices.Equal(c.toldOf(c.clara, queue.NoticeAwake), []string{joined}) {
			t.Error("the same stop again does not end the snooze")
		}

		asked := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		c.decide(c.clara, asked, "ask_agent", map[string]string{"question": "Which one?"}, "")
		snooze(asked)
		_, err := c.desk.Answer(t.Context(), c.agent, queue.AnswerInput{CaseID: asked, Answer: "This one."}, models.Idempotency{})
		must(t, err)
		if asleep(asked) || c.toldOf(c.clara, queue.NoticeAwake)[0] != asked {
			t.Error("the answer does not end the snooze")
		}

		claimed := c.file(c.stop("i3", models.DuplicateInvoice, `{}`)).CaseID
		snooze(claimed)
		_, err = c.desk.Claim(t.Context(), c.carl, claimed)
		must(t, err)
		if asleep(claimed) {
			t.Error("who claims it does not end the snooze")
		}

		decided := c.file(c.stop("i4", models.DuplicateInvoice, `{}`)).CaseID
		snooze(decided)
		c.decide(c.carl, decided, "confirm_duplicate", nil, "x")
		if asleep(decided) {
			t.Error("a decided case is snoozed")
		}

		back := c.file(c.stop("i5", models.DuplicateInvoice, `{}`)).CaseID
		snooze(back)
		_, err = c.desk.Unsnooze(t.Context(), c.petra, back, 1)
		refused(t, err, models.InsufficientPermission)
		_, err = c.desk.Unsnooze(t.Context(), c.carl, back, 1)
		must(t, err)
		if asleep(back) || c.toldOf(c.clara, queue.NoticeAwake)[0] != back {
			t.Error("a colleague does not end the snooze")
		}
		snooze(back)
		_, err = c.desk.Unsnooze(t.Context(), c.clara, back, 1)
		must(t, err)
		if got := c.toldOf(c.clara, queue.NoticeAwake); len(got) != 3 {
			t.Errorf("told of what she did herself: %v", got)
		}
		if got := c.planned(queue.JobWake); len(got) != 0 {
			t.Errorf("still planned: %v", got)
		}
		// A held case comes back by itself already.
		c.decide(c.clara, back, "hold_for_statement", map[string]string{"until": c.tomorrow(4)}, "x")
		_, err = c.desk.Snooze(t.Context(), c.clara, queue.SnoozeInput{CaseID: back, Until: until, Version: 2})
		refused(t, err, models.Conflict)
	})
}

func TestACaseIsReroutedWithAReasonToPeopleWhoMayDecideIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		c.decide(c.petra, id, "ask_agent", map[string]string{"question": "Which order?"}, "")
		in := queue.RerouteInput{CaseID: id, To: models.QueueAP, Reason: "No order is meant.", Version: 2}
		for name, x := range map[string]struct {
			by   models.Principal
			code models.Code
		}{"a clerk": {c.clara, models.InsufficientPermission}, "the lead while it is held": {c.lena, models.Conflict}, "the auditor": {c.aude, models.InsufficientPermission},
			"the admin": {c.adam, models.InsufficientPermission}, "a token": {onToken(c.petra), models.InsufficientPermission}, "another company": {c.stranger, models.NotFound}} {
			if _, err := c.desk.Reroute(t.Context(), x.by, in); !models.IsCode(err, x.code) {
				t.Errorf("%s: %v, want %s", name, err, x.code)
			}
		}
		for path, change := range map[string]func(*queue.RerouteInput){
			"/to": func(in *queue.RerouteInput) { in.To = models.QueueProcurement }, "/reason": func(in *queue.RerouteInput) { in.Reason = "  " }, "/version": func(in *queue.RerouteInput) { in.Version = 0 }} {
			bad := in
			change(&bad)
			_, err := c.desk.Reroute(t.Context(), c.petra, bad)
			issueOn(t, err, path)
		}
		_, err := c.desk.Reroute(t.Context(), c.petra, queue.RerouteInput{CaseID: id, To: "sales", Reason: "x", Version: 2})
		issueOn(t, err, "/to")
		stale := in
		stale.Version = 1
		_, err = c.desk.Reroute(t.Context(), c.petra, stale)
		refused(t, err, models.Conflict)

		c.clock.Advance(3 * time.Hour)
		_, err = c.desk.Reroute(t.Context(), c.petra, in)
		must(t, err)
		after := c.page(c.clara, id)
		if after.Case.Queue != models.QueueAP || after.Case.Version != 3 || after.Claim.By != "" || after.Question != "Which order?" {
			t.Errorf("it is in %s, version %d, held by %q, question %q", after.Case.Queue, after.Case.Version, after.Claim.By, after.Question)
		}
		if want := time.Date(2026, 10, 6, 12, 0, 0, 0, time.UTC); !after.Case.DueAt.Equal(want) {
			t.Errorf("it is due at %s, want %s: the eight hours of its queue from now", after.Case.DueAt, want)
		}
		if from := after.Reroute.From; from == nil || from.By != "Petra" || from.From != models.QueueProcurement || from.Reason != "No order is meant." {
			t.Errorf("how it came: %+v", from)
		}
		if len(c.toldOf(c.clara, queue.NoticeOverdue)) != 0 || c.count(models.QueueAP).Open != 1 || c.count(models.QueueProcurement).Open != 0 {
			t.Error("the counts do not tell of it, or somebody was told")
		}
		ne := refusal(t, func() error {
			_, err := c.desk.Decide(t.Context(), c.petra, queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "x", Version: 2})
			return err
		}(), models.Conflict)
		if changes := ne.Details["changes"].([]string); len(changes) != 1 {
			t.Errorf("who decides on what they saw is told %v", changes)
		}
		c.decide(c.clara, id, "reject_invoice", nil, "x")
		_, err = c.desk.Reroute(t.Context(), c.clara, queue.RerouteInput{CaseID: id, To: models.QueueFinance, Reason: "x", Version: 4})
		refused(t, err, models.Conflict)
	})
}

func TestWhereACaseCanGo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		all := models.Queues()
		for code, want := range map[models.Code][]models.Queue{
			models.POClosed: all, models.DuplicateInvoice: all, models.PONotFound: all, models.InvoiceNotFound: all,
			models.ApproverNotFound: {models.QueueAPLead}, models.PeriodClosed: {models.QueueFinance},
			models.SupplierNotFound: {models.QueueFinance, models.QueueMasterData},
		} {
			id := c.file(c.stop("i-"+string(code), code, `{}`)).CaseID
			p := c.page(c.lena, id)
			var others []models.Queue
			for _, q := range all {
				if q != p.Case.Queue && slices.Contains(want, q) {
					others = append(others, q)
				}
			}
			if !slices.Equal(p.Reroute.To, others) {
				t.Errorf("%s can go to %v, want %v", code, p.Reroute.To, others)
			}
			if got := c.page(c.aude, id).Reroute.To; len(got) != 0 {
				t.Errorf("the auditor can send %s to %v", code, got)
			}
		}
		// Where the workspace itself sends a code, its cases may go.
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			return tx.DB.Exec("INSERT INTO queue_routes (workspace_id, code, queue) VALUES ('1000', ?, 'finance')", models.ApproverNotFound).Error
		}))
		id := c.ids(c.lena, queue.Filter{Code: models.ApproverNotFound})[0]
		if got := c.page(c.lena, id).Reroute.To; !slices.Equal(got, []models.Queue{models.QueueFinance}) {
			t.Errorf("sent elsewhere by the workspace, it can go to %v", got)
		}
	})
}

func TestALeadReroutesWhatSomebodyElseHoldsOnlyWhereTheLeadTakesOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		dup := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		_, err := c.desk.Claim(t.Context(), c.clara, dup)
		must(t, err)
		_, err = c.desk.Reroute(t.Context(), c.carl, queue.RerouteInput{CaseID: dup, To: models.QueueFinance, Reason: "x", Version: 1})
		refused(t, err, models.Conflict)
		_, err = c.desk.Reroute(t.Context(), c.lena, queue.RerouteInput{CaseID: dup, To: models.QueueFinance, Reason: "x", Version: 1})
		must(t, err)
		free := c.file(c.stop("i2", models.POClosed, `{}`)).CaseID
		_, err = c.desk.Reroute(t.Context(), c.lena, queue.RerouteInput{CaseID: free, To: models.QueueAP, Reason: "x", Version: 1})
		must(t, err)
		if got := c.planned(queue.JobOverdue); len(got) != 2 {
			t.Errorf("planned: %v", got)
		}
	})
}
