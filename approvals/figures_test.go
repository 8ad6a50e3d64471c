package approvals_test

import (
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestFiguresOfWhatWasAskedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		before := d.store.Now()
		clock.Advance(time.Minute)
		from := d.store.Now()
		of := func(invoice string) func(*approvals.RequestInput) {
			return func(in *approvals.RequestInput) { in.Invoice.ID = invoice }
		}
		ofAnother := ask(t, "70.00", of("another"))
		ofAnother.Action.Arguments = []byte(`{"invoice_id":"another","amount":"70.00","currency":"EUR","posting_date":"2026-10-05","supplier_id":"V-2001"}`)
		yes, no, again := d.request("robot", ask(t, "100.00")), d.request("robot", ask(t, "200.00")), d.request("robot", ofAnother)
		d.request("robot", ask(t, "300.00"))
		clock.Advance(20 * time.Minute)
		d.yes("fumiko", yes.RequestID)
		d.yes("frank", again.RequestID)
		if _, err := d.vote("fumiko", no.RequestID, models.VoteReject, "No."); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		f, err := d.svc.Figures(t.Context(), d.web("nina"), from, d.store.Now())
		if err != nil {
			t.Fatal(err)
		}
		if f.Asked != 4 || f.Approved != 2 || f.Rejected != 1 || f.Waiting != 1 || f.Expired != 0 || f.Withdrawn != 0 || f.Median != 20*time.Minute || f.Cut {
			t.Errorf("counted: %+v", f)
		}
		if got := totalText(f.Totals); got != "EUR 170.00 (2)" {
			t.Errorf("approved: %s", got)
		}
		if f.Invoices != 2 || f.Prompts != 4 || len(f.Most) != 1 || f.Most[0] != (approvals.InvoicePrompts{InvoiceID: "5105600123", N: 3}) {
			t.Errorf("prompts: %+v", f)
		}
		if len(f.Voters) != 2 || f.Voters[0].Name != "frank" || f.Voters[0].Votes != 1 || f.Voters[1].Votes != 2 {
			t.Errorf("votes: %+v", f.Voters)
		}
		if f, err := d.svc.Figures(t.Context(), d.web("audrey"), before, from); err != nil || f.Asked != 0 || len(f.Voters) != 0 {
			t.Errorf("before anything happened: %+v, %v", f, err)
		}
		for _, name := range []string{"clara", "robot", "sap"} {
			if _, err := d.svc.Figures(t.Context(), d.web(name), from, d.store.Now()); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
