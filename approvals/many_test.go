package approvals_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestManyUnroutedRequestsAreRoutedInBatches(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		const n = 130
		ids := make([]string, n)
		for i := range ids {
			ids[i] = d.unrouted(fmt.Sprintf("%d.00", 100+i), "")
		}
		d.rule(financeRule(1))
		d.tx(d.web("lars"), func(tx *models.Tx) error { return d.svc.RouteAgain(tx, ids[n-1]) })
		count := func() (pending int) {
			for _, id := range ids {
				if d.stateOf(id) == models.RequestPending {
					pending++
				}
			}
			return pending
		}
		if got := count(); got != 101 {
			t.Fatalf("%d of %d are routed at once", got, n)
		}
		d.runJobs()
		if got := count(); got != n {
			t.Fatalf("%d of %d are routed", got, n)
		}
		for _, id := range ids {
			if events := d.eventsOf(id, "request.routed"); len(events) != 1 {
				t.Errorf("%s was routed %d times", id, len(events))
			}
		}
	})
}

func TestWhoIsDeactivatedWhileWaitingGetsNoApproval(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "250.00"))
		waiting, other := d.mcp("robot"), d.mcp("other-robot")
		if _, err := d.svc.Request(t.Context(), other, ask(t, "250.00"), models.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		d.deactivate("robot")
		d.yes("fumiko", v.RequestID)
		got, err := d.svc.Await(t.Context(), waiting, v.RequestID, 0)
		if err != nil || got.Status != models.RequestApproved || got.ApprovalID != "" {
			t.Errorf("deactivated: %+v, %v", got, err)
		}
		if got, err := d.svc.Await(t.Context(), other, v.RequestID, 0); err != nil || got.ApprovalID == "" {
			t.Errorf("still here: %+v, %v", got, err)
		}
	})
}

func TestAVeryLongMatrixIsComparedInPart(t *testing.T) {
	rules := make([]models.Rule, 4000)
	for i := range rules {
		rules[i] = models.Rule{ID: fmt.Sprintf("rule_%05d", i), Version: 1, Currency: "EUR", FromAmount: fmt.Sprint(i * 4), ToAmount: fmt.Sprint(i*4 + 2), Role: models.RoleFinanceLead, Required: 1,
			Supplier: []string{"", fmt.Sprintf("s%d", i%300)}[i%2]}
	}
	said := 0
	for _, f := range approvals.Coverage(rules) {
		if strings.Contains(f.Text, "too many rules in EUR to compare (4000): only the first 500") {
			said++
		}
		if f.Kind == approvals.FindingGap {
			t.Fatalf("a gap of a part: %s", f.Text)
		}
	}
	if said != 1 {
		t.Errorf("said %d times that only a part was compared", said)
	}
	for _, f := range approvals.Coverage(rules[:500]) {
		if strings.Contains(f.Text, "too many") {
			t.Errorf("500 rules are compared: %s", f.Text)
		}
	}
}
