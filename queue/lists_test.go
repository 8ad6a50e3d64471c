package queue_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

// trail are the actions on a case so far.
func (c *cast) trail(id string) (actions []string) {
	c.t.Helper()
	must(c.t, c.store.View(c.t.Context(), models.System("1000"), func(tx *models.Tx) error {
		return tx.DB.Model(&models.AuditEvent{}).Where("case_id = ?", id).Order("at, id").Pluck("action", &actions).Error
	}))
	return actions
}

// costs files a stop of an invoice over an amount and answers the case.
func (c *cast) costs(id, amount, currency string) string {
	c.t.Helper()
	in := c.stop(id, models.DuplicateInvoice, `{}`)
	m, err := models.ParseMoney(amount, currency)
	must(c.t, err)
	in.Invoice.Amount = m
	return c.file(in).CaseID
}

// whole reads a list to its end, a few at a time.
func (c *cast) whole(by models.Principal, f queue.Filter) (ids []string) {
	c.t.Helper()
	f.Limit = 2
	for {
		p, err := c.desk.List(c.t.Context(), by, f)
		must(c.t, err)
		for _, i := range p.Items {
			ids = append(ids, i.CaseID)
		}
		if f.Cursor = p.NextCursor; f.Cursor == "" {
			return ids
		}
	}
}

func TestAListIsSortedByAmountWithinEachCurrency(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		ids := map[string]string{}
		for i, a := range []string{"9.99 EUR", "1000 EUR", "-12.50 EUR", "100 USD", "-1000.00 EUR", "10 EUR", "123456789012345678.90 EUR", "5 USD"} {
			amount, currency, _ := strings.Cut(a, " ")
			ids[a] = c.costs(fmt.Sprint("i", i), amount, currency)
		}
		po := c.stop("p1", models.POClosed, `{}`)
		m, err := models.ParseMoney("50", "EUR")
		must(t, err)
		po.Invoice.Amount = m
		ids["50 EUR"] = c.file(po).CaseID
		c.decide(c.clara, ids["1000 EUR"], "confirm_duplicate", nil, "x")
		in := func(names ...string) (out []string) {
			for _, n := range names {
				out = append(out, ids[n])
			}
			return out
		}
		open := queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen, Sort: queue.SortSmallest}
		want := in("-1000.00 EUR", "-12.50 EUR", "9.99 EUR", "10 EUR", "123456789012345678.90 EUR", "5 USD", "100 USD")
		if got := c.whole(c.clara, open); !slices.Equal(got, want) {
			t.Errorf("the smallest first: %v, want %v", got, want)
		}
		open.Sort = queue.SortLargest
		slices.Reverse(want)
		if got := c.whole(c.clara, open); !slices.Equal(got, want) {
			t.Errorf("the largest first: %v, want %v", got, want)
		}
		all := queue.Filter{Sort: queue.SortSmallest}
		want = in("-1000.00 EUR", "-12.50 EUR", "9.99 EUR", "10 EUR", "50 EUR", "1000 EUR", "123456789012345678.90 EUR", "5 USD", "100 USD")
		if got := c.whole(c.clara, all); !slices.Equal(got, want) {
			t.Errorf("every queue and state: %v, want %v", got, want)
		}
		ranged := queue.Filter{Sort: queue.SortSmallest, Currency: "EUR", AmountFrom: "-12.5", AmountTo: "10.00"}
		if got, want := c.whole(c.clara, ranged), in("-12.50 EUR", "9.99 EUR", "10 EUR"); !slices.Equal(got, want) {
			t.Errorf("-12.5 to 10: %v, want %v", got, want)
		}
		n, err := c.desk.Around(t.Context(), c.clara, queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen, Sort: queue.SortSmallest}, ids["9.99 EUR"])
		must(t, err)
		if n.Before != ids["-12.50 EUR"] || n.After != ids["10 EUR"] {
			t.Errorf("beside 9.99 stand %v", n)
		}
		p, err := c.desk.List(t.Context(), c.clara, queue.Filter{Sort: queue.SortSmallest, Limit: 1})
		must(t, err)
		_, err = c.desk.List(t.Context(), c.clara, queue.Filter{Sort: queue.SortLargest, Limit: 1, Cursor: p.NextCursor})
		refused(t, err, models.BadRequest)
	})
}

func TestASupplierIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("i1", models.DuplicateInvoice, `{}`)
		in.Invoice.SupplierName, in.Invoice.SupplierID = "MÜLLER & Söhne Œuvre", "V-ä1"
		id := c.file(in).CaseID
		c.file(c.stop("i2", models.DuplicateInvoice, `{}`))
		for _, asked := range []string{"müller & söhne œuvre", "MÜLLER & SÖHNE ŒUVRE", "Müller & Söhne Œuvre", "v-Ä1", "V-ä1"} {
			if got := c.whole(c.clara, queue.Filter{Supplier: asked}); !slices.Equal(got, []string{id}) {
				t.Errorf("%s finds %v", asked, got)
			}
			if found, err := c.desk.CountEach(t.Context(), c.clara, []queue.Filter{{Supplier: asked}}, 9); err != nil || found[0].N != 1 {
				t.Errorf("%s counts %v (%v)", asked, found, err)
			}
		}
		for _, other := range []string{"müller", "muller & sohne œuvre", strings.Repeat("äöüéèêàáâçñ", 18)} {
			if got := c.whole(c.clara, queue.Filter{Supplier: other}); len(got) != 0 {
				t.Errorf("%s finds %v", other, got)
			}
		}
	})
}

func TestAListIsNarrowedByAgeAgentHolderAndCode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		old := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		c.clock.Advance(3 * 24 * time.Hour)
		mid, err := c.desk.HandOver(t.Context(), c.other, c.stop("i2", models.DuplicateInvoice, `{}`), models.Idempotency{})
		must(t, err)
		c.clock.Advance(24 * time.Hour)
		in := c.stop("i3", models.DuplicateInvoice, `{}`)
		in.Reason, in.Errors = models.ReasonOther, nil
		young := c.file(in).CaseID
		_, err = c.desk.Claim(t.Context(), c.clara, old)
		must(t, err)
		_, err = c.desk.Claim(t.Context(), c.carl, young)
		must(t, err)
		for name, x := range map[string]struct {
			f    queue.Filter
			want []string
		}{
			"a day or more":     {queue.Filter{Age: "1d"}, []string{old, mid.CaseID}},
			"three days":        {queue.Filter{Age: "3d"}, []string{old}},
			"a week":            {queue.Filter{Age: "7d"}, nil},
			"agent by name":     {queue.Filter{Agent: "agent-two"}, []string{mid.CaseID}},
			"agent by id":       {queue.Filter{Agent: c.agent.UserID}, []string{old, young}},
			"held by somebody":  {queue.Filter{ClaimedBy: queue.ClaimedBySomebody}, []string{old, young}},
			"held by nobody":    {queue.Filter{ClaimedBy: queue.ClaimedByNobody}, []string{mid.CaseID}},
			"mine":              {queue.Filter{ClaimedBy: queue.ClaimedByMe, Queue: models.QueueAP}, []string{old}},
			"none of the codes": {queue.Filter{Code: queue.NoCode}, []string{young}},
			"of one run":        {queue.Filter{RunID: "no such run"}, nil},
		} {
			for _, sort := range []string{queue.SortDue, queue.SortOldest} {
				x.f.Sort = sort
				if got := c.whole(c.clara, x.f); !slices.Equal(got, x.want) {
					t.Errorf("%s by %s: %v, want %v", name, sort, got, x.want)
				}
			}
			found, err := c.desk.CountEach(t.Context(), c.clara, []queue.Filter{x.f}, 99)
			must(t, err)
			if found[0] != (queue.Found{N: len(x.want)}) {
				t.Errorf("%s: counted %+v, want %d", name, found[0], len(x.want))
			}
		}
	})
}

func TestListsAreCountedWithABound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for i := range 5 {
			c.file(c.stop(fmt.Sprint("i", i), models.DuplicateInvoice, `{}`))
		}
		found, err := c.desk.CountEach(t.Context(), c.clara, []queue.Filter{{Queue: models.QueueAP}, {Queue: models.QueueAP, Currency: "EUR"}, {Due: queue.DueOverdue}, {Age: "2d"}, {Supplier: "Nordwind GmbH"}}, 3)
		must(t, err)
		want := []queue.Found{{N: 3, More: true}, {N: 3, More: true}, {}, {Bad: true}, {N: 3, More: true}}
		if !slices.Equal(found, want) {
			t.Errorf("counted %+v, want %+v", found, want)
		}
	})
}

// The common lists walk along one index, however long the queue and the history are.
func TestTheCommonListsAreReadAlongAnIndex(t *testing.T) {
	t.Parallel()
	store, clock := modelstest.SQLite(t)
	c := newCast(t, store, clock)
	q := queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen, Snoozed: queue.SnoozedNot}
	with := func(change func(*queue.Filter)) queue.Filter {
		f := q
		change(&f)
		return f
	}
	for name, x := range map[string]struct {
		f     queue.Filter
		index string
	}{
		"due":          {q, "cases_"},
		"due, back":    {with(func(f *queue.Filter) { f.Sort = queue.SortDueLast }), "cases_"},
		"age":          {with(func(f *queue.Filter) { f.Sort = queue.SortOldest }), "cases_by_age"},
		"newest":       {with(func(f *queue.Filter) { f.Sort, f.Status, f.Snoozed = queue.SortNewest, models.CaseResolved, "" }), "cases_by_age"},
		"amount":       {with(func(f *queue.Filter) { f.Sort = queue.SortLargest }), "cases_by_amount"},
		"overdue":      {with(func(f *queue.Filter) { f.Due, f.Snoozed = queue.DueOverdue, "" }), "cases_"},
		"snoozed":      {with(func(f *queue.Filter) { f.Snoozed = queue.SnoozedOnly }), "cases_snoozed"},
		"all snoozed":  {with(func(f *queue.Filter) { f.Queue, f.Snoozed, f.Sort = "", queue.SnoozedOnly, queue.SortLargest }), "cases_snoozed"},
		"one code":     {with(func(f *queue.Filter) { f.Code = models.DuplicateInvoice }), "cases_"},
		"one supplier": {with(func(f *queue.Filter) { f.Supplier = "V-1" }), "cases_"},
		"all, due":     {with(func(f *queue.Filter) { f.Queue = "" }), "cases_status"},
		"all, age":     {with(func(f *queue.Filter) { f.Queue, f.Sort = "", queue.SortOldest }), "cases_by_age"},
		"all, amount":  {with(func(f *queue.Filter) { f.Queue, f.Sort = "", queue.SortSmallest }), "cases_by_amount"},
		"mine":         {with(func(f *queue.Filter) { f.ClaimedBy = queue.ClaimedByMe }), "cases_claimed"},
		"somebody's":   {with(func(f *queue.Filter) { f.ClaimedBy = queue.ClaimedBySomebody }), "cases_claimed"},
		"one run":      {with(func(f *queue.Filter) { f.RunID = "run-1" }), "cases_by_run"},
		"one invoice":  {with(func(f *queue.Filter) { f.InvoiceID = "i1" }), "cases_invoice"},
	} {
		for _, plan := range queue.ListPlans(t, c.store, c.clara, x.f) {
			few := slices.Contains([]string{"all snoozed", "mine", "somebody's", "one run", "one invoice"}, name)
			if !strings.Contains(plan, "USING INDEX "+x.index) || strings.Contains(plan, "TEMP B-TREE") && !few {
				t.Errorf("%s: %s", name, plan)
			}
		}
	}
}

func TestSeveralCasesAreWorkedAtOnceEachByItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var ids []string
		for i := range 4 {
			ids = append(ids, c.file(c.stop(fmt.Sprint("i", i), models.DuplicateInvoice, `{}`)).CaseID)
		}
		po := c.file(c.stop("p1", models.POClosed, `{}`)).CaseID
		c.decide(c.clara, ids[0], "confirm_duplicate", nil, "x")
		_, err := c.desk.Claim(t.Context(), c.carl, ids[1])
		must(t, err)
		all := append(slices.Clone(ids), po, "case_unknown")

		preview, err := c.desk.BulkPreview(t.Context(), c.clara, queue.BulkClaim, append(all, ids[2]))
		must(t, err)
		var why []string
		for _, i := range preview {
			why = append(why, i.Why)
		}
		if want := []string{"It is resolved.", "Carl holds it.", "", "", "You do not work the queue Procurement.", "There is no such case in this workspace."}; !slices.Equal(why, want) {
			t.Errorf("before: %q", why)
		}
		choices := func() (out []queue.BulkChoice) {
			for _, i := range preview {
				out = append(out, queue.BulkChoice{CaseID: i.CaseID, Version: i.Version})
			}
			return out
		}
		run := func(by models.Principal, in queue.BulkInput) (outcomes []queue.BulkOutcome, why []string) {
			t.Helper()
			in.Cases = choices()
			results, err := c.desk.Bulk(t.Context(), by, in)
			must(t, err)
			for _, r := range results {
				outcomes, why = append(outcomes, r.Outcome), append(why, r.Why)
			}
			return outcomes, why
		}
		const done, already, no = queue.BulkDone, queue.BulkAlready, queue.BulkRefused
		got, words := run(c.clara, queue.BulkInput{Act: queue.BulkClaim})
		if !slices.Equal(got, []queue.BulkOutcome{no, no, done, done, no, no}) || words[1] != "Carl holds it." {
			t.Errorf("claimed: %v %q", got, words)
		}
		events := len(c.trail(ids[2]))
		if got, _ := run(c.clara, queue.BulkInput{Act: queue.BulkClaim}); !slices.Equal(got, []queue.BulkOutcome{no, no, already, already, no, no}) || len(c.trail(ids[2])) != events {
			t.Errorf("claimed again: %v", got)
		}
		if got, _ := run(c.clara, queue.BulkInput{Act: queue.BulkRelease}); !slices.Equal(got[:4], []queue.BulkOutcome{no, no, done, done}) {
			t.Errorf("released: %v", got)
		}
		until := models.At(c.clock.Now().Add(26 * time.Hour))
		if got, _ := run(c.clara, queue.BulkInput{Act: queue.BulkSnooze, Until: until, Reason: "statement comes tomorrow"}); !slices.Equal(got[:4], []queue.BulkOutcome{no, no, done, done}) {
			t.Errorf("snoozed: %v", got)
		}
		events = len(c.trail(ids[2]))
		if got, _ := run(c.clara, queue.BulkInput{Act: queue.BulkSnooze, Until: until}); !slices.Equal(got[:4], []queue.BulkOutcome{no, no, already, already}) || len(c.trail(ids[2])) != events {
			t.Errorf("snoozed again: %v", got)
		}
		if got, words := run(c.clara, queue.BulkInput{Act: queue.BulkReroute, To: models.QueueAPLead, Reason: "needs the lead"}); !slices.Equal(got[:4], []queue.BulkOutcome{no, no, done, done}) {
			t.Errorf("rerouted: %v %q", got, words)
		}
		events = len(c.trail(ids[2]))
		if got, words := run(c.clara, queue.BulkInput{Act: queue.BulkReroute, To: models.QueueAPLead, Reason: "needs the lead"}); !slices.Equal(got[2:4], []queue.BulkOutcome{already, already}) || len(c.trail(ids[2])) != events {
			t.Errorf("rerouted again: %v %q", got, words)
		}
		// What changed since the preview is refused, the rest goes on.
		must(t, func() error {
			var err error
			preview, err = c.desk.BulkPreview(t.Context(), c.lena, queue.BulkReroute, ids[2:4])
			return err
		}())
		c.file(c.stop("i2", models.DuplicateInvoice, `{}`))
		got, words = run(c.lena, queue.BulkInput{Act: queue.BulkReroute, To: models.QueueAP, Reason: "back"})
		if !slices.Equal(got, []queue.BulkOutcome{no, done}) || words[0] == "" {
			t.Errorf("after a join: %v %q", got, words)
		}
	})
}

func TestAnActOnSeveralIsRefusedWholeWhenItsFormIsWrong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.DuplicateInvoice, `{}`)).CaseID
		one := []queue.BulkChoice{{CaseID: id, Version: 1}}
		many := make([]queue.BulkChoice, queue.MostBulk+1)
		for i := range many {
			many[i] = queue.BulkChoice{CaseID: fmt.Sprint("case_", i), Version: 1}
		}
		now := models.At(c.clock.Now())
		for _, x := range []struct {
			path string
			in   queue.BulkInput
		}{
			{"/act", queue.BulkInput{Act: "decide", Cases: one}},
			{"/cases", queue.BulkInput{Act: queue.BulkClaim}},
			{"/cases", queue.BulkInput{Act: queue.BulkClaim, Cases: many}},
			{"/to", queue.BulkInput{Act: queue.BulkReroute, Cases: one, Reason: "x"}},
			{"/reason", queue.BulkInput{Act: queue.BulkReroute, Cases: one, To: models.QueueAPLead}},
			{"/until", queue.BulkInput{Act: queue.BulkSnooze, Cases: one}},
			{"/until", queue.BulkInput{Act: queue.BulkSnooze, Cases: one, Until: now}},
			{"/until", queue.BulkInput{Act: queue.BulkSnooze, Cases: one, Until: now.Add(queue.MostSnooze + time.Second)}},
		} {
			_, err := c.desk.Bulk(t.Context(), c.clara, x.in)
			issueOn(t, err, x.path)
		}
		_, err := c.desk.Bulk(t.Context(), onToken(c.clara), queue.BulkInput{Act: queue.BulkClaim, Cases: one})
		refused(t, err, models.InsufficientPermission)
		_, err = c.desk.BulkPreview(t.Context(), c.agent, queue.BulkClaim, []string{id})
		refused(t, err, models.InsufficientPermission)
	})
}

func TestAListIsWrittenAsASheetThatRunsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		in := c.stop("=1+1", models.DuplicateInvoice, `{}`)
		m, err := models.ParseMoney("-12.50", "EUR")
		must(t, err)
		in.Invoice.Amount, in.Invoice.Number, in.Invoice.SupplierName, in.Invoice.SupplierID, in.Invoice.PoID = m, "\t=cmd|' /C calc'!A0;=1\u202e", `@SUM(1,"2")`, "＝1", "-12"
		in.Invoice.BankAccount, in.Invoice.TaxID = "DE89370400440532013000", "DE811234567"
		in.RunID = "+run,\r\n1"
		id := c.file(in).CaseID
		for i := range 230 { // more than is read at once
			c.file(c.stop(fmt.Sprint("i", i), models.DuplicateInvoice, `{}`))
		}
		berlin, err := time.LoadLocation("Europe/Berlin")
		must(t, err)
		var out bytes.Buffer
		must(t, c.desk.WriteSheet(t.Context(), c.fiona, queue.Filter{Queue: models.QueueAP, Sort: queue.SortOldest}, berlin, func(id string) string { return "https://desk.example/cases/" + id }, &out))
		for _, private := range []string{"DE89370400440532013000", "DE811234567"} {
			if strings.Contains(out.String(), private) {
				t.Errorf("the sheet holds %s", private)
			}
		}
		rows := modelstest.Rows(t, out.String())
		if len(rows) != 232 || !slices.Equal(rows[0], queue.SheetColumns()) {
			t.Fatalf("%d rows, the first %v", len(rows), rows[0])
		}
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = rows[1][i]
		}
		for name, want := range map[string]string{"case_id": id, "status": "open", "code": "DUPLICATE_INVOICE", "queue": "ap", "invoice_id": "'=1+1", "invoice_number": "'\t'=cmd|' /C calc'!A0;'=1[U+202E]",
			"supplier_name": `'@SUM(1,"2")`, "supplier_id": "'＝1", "po_id": "-12", "amount": "-12.50", "currency": "EUR", "run_id": "'+run,[U+000D]\n1", "created_at": "2026-10-05T11:00:00+02:00",
			"overdue": "false", "claimed_by": "", "handovers": "1", "url": "https://desk.example/cases/" + id} {
			if row[name] != want {
				t.Errorf("%s is %q, want %q", name, row[name], want)
			}
		}
	})
}
