package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func TestAListIsReadPageByPageInItsOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		var ids []string
		for i := range 7 {
			ids = append(ids, c.file(c.stop(fmt.Sprintf("i%d", i), models.DuplicateInvoice, `{}`)).CaseID)
			if i%2 == 0 {
				c.clock.Advance(time.Minute)
			}
		}
		c.decide(c.clara, ids[2], "confirm_duplicate", nil, "x")
		c.decide(c.clara, ids[4], "hold_for_statement", map[string]string{"until": c.tomorrow(4)}, "x")
		read := func(f queue.Filter) (got []string) {
			for {
				p, err := c.desk.List(t.Context(), c.clara, f)
				must(t, err)
				if len(p.Items) > f.Limit {
					t.Errorf("%d items on a page of %d", len(p.Items), f.Limit)
				}
				for _, item := range p.Items {
					got = append(got, item.CaseID)
				}
				if f.Cursor = p.NextCursor; f.Cursor == "" {
					return got
				}
			}
		}
		back := slices.Clone(ids)
		slices.Reverse(back)
		for name, x := range map[string]struct {
			filter queue.Filter
			want   []string
		}{
			"by due time":      {queue.Filter{}, ids},
			"the last first":   {queue.Filter{Sort: queue.SortDueLast}, back},
			"by age":           {queue.Filter{Sort: queue.SortOldest}, ids},
			"newest first":     {queue.Filter{Sort: queue.SortNewest}, back},
			"one state":        {queue.Filter{Status: models.CaseResolved}, ids[2:3]},
			"unresolved":       {queue.Filter{Unresolved: true}, slices.Concat(ids[:2], ids[3:])},
			"one queue":        {queue.Filter{Queue: models.QueueAP, Status: models.CaseOpen}, slices.Concat(ids[:2], ids[3:4], ids[5:])},
			"an empty queue":   {queue.Filter{Queue: models.QueueFinance}, nil},
			"one invoice":      {queue.Filter{InvoiceID: "i3"}, ids[3:4]},
			"a number as read": {queue.Filter{InvoiceNumber: "inv i 3"}, ids[3:4]},
			"a supplier":       {queue.Filter{Supplier: "Nordwind GmbH"}, ids},
			"by a small name":  {queue.Filter{Supplier: "nORDWIND gmbh"}, ids},
			"no such supplier": {queue.Filter{Supplier: "Südwind"}, nil},
		} {
			x.filter.Limit = 2
			if got := read(x.filter); !slices.Equal(got, x.want) {
				t.Errorf("%s: got %v, want %v", name, got, x.want)
			}
		}
	})
}

func TestAListShowsEverybodyWhatTheyMayRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		for by, want := range map[*models.Principal]int{&c.clara: 1, &c.aude: 1, &c.agent: 1, &c.other: 0, &c.erp: 0, &c.stranger: 0} {
			p, err := c.desk.List(t.Context(), *by, queue.Filter{})
			must(t, err)
			if len(p.Items) != want {
				t.Errorf("%s sees %d cases, want %d", by.UserName, len(p.Items), want)
			}
		}
		_, err := c.desk.HandOver(t.Context(), c.other, c.stop("i1", models.POClosed, `{}`), models.Idempotency{})
		must(t, err)
		p, err := c.desk.List(t.Context(), c.other, queue.Filter{})
		must(t, err)
		if len(p.Items) != 1 || p.Items[0].CaseID != id {
			t.Errorf("who joined sees the case: %+v", p.Items)
		}
		_, err = c.desk.Claim(t.Context(), c.petra, id)
		must(t, err)
		for filter, want := range map[string]int{queue.ClaimedByMe: 1, queue.ClaimedByNobody: 0, c.petra.UserID: 1, c.clara.UserID: 0} {
			p, err := c.desk.List(t.Context(), c.petra, queue.Filter{ClaimedBy: filter})
			must(t, err)
			if len(p.Items) != want || want == 1 && (*p.Items[0].ClaimedBy != "Petra" || !p.Items[0].ClaimedByMe) {
				t.Errorf("claimed by %s: %+v", filter, p.Items)
			}
		}
	})
}

func TestAListRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for path, f := range map[string]queue.Filter{"/queue": {Queue: "sales"}, "/status": {Status: "closed"}, "/code": {Code: "NOT_FOUND"}, "/reason": {Reason: "because"}, "/limit": {Limit: 201},
			"/age": {Age: "2d"}, "/due": {Due: "later"}, "/currency": {AmountFrom: "5"}, "/amount_from": {Currency: "JPY", AmountFrom: "5.5"}, "/amount_to": {Currency: "EUR", AmountFrom: "10", AmountTo: "9.99"}} {
			_, err := c.desk.List(t.Context(), c.clara, f)
			issueOn(t, err, path)
		}
		for _, f := range []queue.Filter{{Sort: "supplier"}, {Cursor: "x"}, {Cursor: "bnVsbA"}} {
			_, err := c.desk.List(t.Context(), c.clara, f)
			refused(t, err, models.BadRequest)
		}
		for i := range 3 {
			c.file(c.stop(fmt.Sprintf("i%d", i), models.DuplicateInvoice, `{}`))
		}
		p, err := c.desk.List(t.Context(), c.clara, queue.Filter{Limit: 1})
		must(t, err)
		_, err = c.desk.List(t.Context(), c.clara, queue.Filter{Limit: 1, Cursor: p.NextCursor, Sort: queue.SortNewest})
		refused(t, err, models.BadRequest)
	})
}

func TestMineIsWhatWaitsForThePerson(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		po := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		first := c.file(c.stop("i2", models.DuplicateInvoice, `{}`)).CaseID
		c.clock.Advance(time.Minute)
		second := c.file(c.stop("i3", models.DuplicateInvoice, `{}`)).CaseID
		lead := c.file(c.stop("i4", models.ApproverNotFound, `{}`)).CaseID
		_, err := c.desk.Claim(t.Context(), c.clara, first)
		must(t, err)
		ids := func(items []queue.CaseItem) (out []string) {
			for _, i := range items {
				out = append(out, i.CaseID)
			}
			return out
		}
		for _, x := range []struct {
			by            models.Principal
			claimed, next []string
		}{
			{c.clara, []string{first}, []string{second}},
			{c.lena, nil, []string{second, lead}},
			{c.petra, nil, []string{po}},
			{c.aude, nil, nil},
		} {
			w, err := c.desk.Mine(t.Context(), x.by)
			must(t, err)
			if !slices.Equal(ids(w.Claimed), x.claimed) || !slices.Equal(ids(w.Next), x.next) {
				t.Errorf("%s: claimed %v, next %v", x.by.UserName, ids(w.Claimed), ids(w.Next))
			}
		}
		_, err = c.desk.Mine(t.Context(), c.agent)
		refused(t, err, models.InsufficientPermission)
		c.clock.Advance(72 * time.Hour)
		counts, err := c.desk.Counts(t.Context(), c.clara)
		must(t, err)
		for _, n := range counts {
			if n.Queue == models.QueueAP && (n.Open != 2 || n.Overdue != 2 || !n.Mine || n.OldestDue.String() != "2026-10-06T09:00:00Z") {
				t.Errorf("ap: %+v", n)
			}
			if n.Queue == models.QueueProcurement && (n.Open != 1 || n.Mine) {
				t.Errorf("procurement: %+v", n)
			}
		}
	})
}
