package approvals_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// waitingFor walks the pages of what waits for somebody and answers the invoices in order.
func (d *desk) waitingFor(t *testing.T, name string, limit int) []string {
	t.Helper()
	var invoices []string
	for cursor, pages := "", 0; ; pages++ {
		list, err := d.svc.WaitingFor(t.Context(), d.web(name), cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) > limit || pages > 100 {
			t.Fatalf("page %d holds %d", pages, len(list.Items))
		}
		for _, i := range list.Items {
			invoices = append(invoices, i.InvoiceID)
		}
		if cursor = list.NextCursor; cursor == "" {
			return invoices
		}
	}
}

func TestWhatWaitsIsReadByWhatLapsesFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		d.rule(approvals.NewRule{Role: models.RoleAPLead, Tool: "notify_supplier", Currency: "EUR", From: "0", To: "9000"})
		var want []string
		for i := range 7 {
			invoice := fmt.Sprint(i)
			in := askIn(t, invoice, fmt.Sprintf("%d.00", i+1), "EUR")
			if i == 3 {
				in.Action.Tool = "notify_supplier" // not a finance lead's
			} else {
				want = append(want, invoice)
			}
			d.request("robot", in)
			clock.Advance(time.Minute)
		}
		if got := d.waitingFor(t, "fumiko", 2); !slices.Equal(got, want) {
			t.Errorf("in pages of two: %q, want %q", got, want)
		}
		if got := d.waitingFor(t, "lars", 50); !slices.Equal(got, []string{"3"}) {
			t.Errorf("for the AP lead: %q", got)
		}
		if got := d.waitingFor(t, "clara", 50); len(got) != 0 {
			t.Errorf("for a clerk: %q", got)
		}
		for limit, want := range map[int]string{3: "3 true", 6: "6 false", 99: "6 false"} {
			n, more, err := d.svc.CountWaiting(t.Context(), d.web("fumiko"), limit)
			if got := fmt.Sprint(n, more); err != nil || got != want {
				t.Errorf("counted up to %d: %s, %v", limit, got, err)
			}
		}
		totals, more, err := d.svc.WaitingTotals(t.Context(), d.web("fumiko"), approvals.WaitingFilter{Supplier: "V-2"})
		if err != nil || more || totalText(totals) != "EUR 3.00 (1)" {
			t.Errorf("of one supplier: %s, %v, %v", totalText(totals), more, err)
		}
		_, err = d.svc.WaitingFor(t.Context(), d.web("fumiko"), "nonsense", 5)
		wantCode(t, err, models.BadRequest)
		clock.Advance(30 * day)
		if got := d.waitingFor(t, "fumiko", 50); len(got) != 0 {
			t.Errorf("what lapsed still waits: %q", got)
		}
	})
}

func TestWhatIsDelegatedWaitsForTheDelegate(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(approvals.NewRule{People: []string{"fumiko@example.com"}, Currency: "EUR", From: "0", To: "5000", Tool: "post_invoice_adjustment"})
		d.rule(financeRule(1))
		d.request("robot", askIn(t, "1", "10.00", "EUR"))
		d.request("robot", askIn(t, "2", "9000.00", "EUR")) // any finance lead's
		if got := d.waitingFor(t, "frank", 50); !slices.Equal(got, []string{"2"}) {
			t.Fatalf("before: %q", got)
		}
		today := models.DateOf(models.At(clock.Now()), time.UTC)
		if _, err := d.svc.Delegate(t.Context(), d.web("fumiko"), approvals.NewDelegation{DelegateEmail: "frank@example.com", FirstDay: today, LastDay: today}); err != nil {
			t.Fatal(err)
		}
		list, err := d.svc.WaitingFor(t.Context(), d.web("frank"), "", 50)
		if err != nil || len(list.Items) != 2 || list.Items[0].OnBehalfOf != "fumiko" || list.Items[1].OnBehalfOf != "" {
			t.Errorf("meanwhile the delegate has %+v, %v", list.Items, err)
		}
		if got := d.waitingFor(t, "fumiko", 50); slices.Contains(got, "1") {
			t.Errorf("meanwhile who is away has %q", got)
		}
		if n, _, err := d.svc.CountWaiting(t.Context(), d.web("frank"), 99); err != nil || n != 2 {
			t.Errorf("the delegate's count is %d, %v", n, err)
		}
		preview := d.preview(t, "frank", list.Items[0].RequestID)
		if i := preview.Items[0]; !i.Can || i.OnBehalfOf != "fumiko" {
			t.Errorf("together with others it is shown as %+v", i)
		}
		clock.Advance(day)
		if got := d.waitingFor(t, "frank", 50); !slices.Equal(got, []string{"2"}) {
			t.Errorf("afterwards the delegate has %q", got)
		}
		if got := d.waitingFor(t, "fumiko", 50); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("afterwards who was away has %q", got)
		}
	})
}

// A person barred from everything must not cost a walk through everything.
func TestAWalkThroughWhatWaitsIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		// fumiko corrected a step of the invoice, which no query keeps away.
		sentBack := d.request("robot", askIn(t, "1", "2.00", "EUR"))
		d.mustVote(t, "fumiko", sentBack.RequestID, approvals.VoteInput{Decision: models.VoteReject, Reason: "Half.", Correction: map[string]string{"amount": "1.00"}})
		first := d.request("robot", askIn(t, "1", "1.00", "EUR"))
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			var r models.ApprovalRequest
			if err := tx.DB.Where("id = ?", first.RequestID).Take(&r).Error; err != nil {
				return err
			}
			var rows []models.ApprovalRequest
			for i := range 1200 {
				next := r
				next.ID, next.Digest = tx.NewID(models.PrefixApprovalRequest), fmt.Sprintf("%064d", i)
				next.ExpiresAt = r.ExpiresAt.Add(time.Duration(i+1) * time.Second)
				rows = append(rows, next)
			}
			return tx.DB.CreateInBatches(rows, 100).Error
		})
		if n, more, err := d.svc.CountWaiting(t.Context(), d.web("fumiko"), 99); err != nil || n != 0 || !more {
			t.Errorf("who is barred from all counts %d, %v, %v", n, more, err)
		}
		list, err := d.svc.WaitingFor(t.Context(), d.web("fumiko"), "", 50)
		if err != nil || len(list.Items) != 0 || list.NextCursor == "" {
			t.Errorf("who is barred from all is shown %d, then %q, %v", len(list.Items), list.NextCursor, err)
		}
		if got := d.waitingFor(t, "fumiko", 50); len(got) != 0 {
			t.Errorf("further on %d wait", len(got))
		}
		n, more, err := d.svc.CountWaiting(t.Context(), d.web("frank"), 99)
		if err != nil || n != 99 || !more {
			t.Errorf("counted %d, %v, %v", n, more, err)
		}
		totals, more, err := d.svc.WaitingTotals(t.Context(), d.web("frank"), approvals.WaitingFilter{})
		if err != nil || !more || totals[0].Count != 1000 {
			t.Errorf("added up %+v, %v, %v", totals, more, err)
		}
		if got := d.waitingFor(t, "frank", 200); len(got) != 1201 {
			t.Errorf("the pages hold %d", len(got))
		}
	})
}
