package approvals_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func (d *desk) loseRole(name string, role models.Role) {
	d.t.Helper()
	d.takeRole(name, role)
	d.peopleChanged(name)
}

// eventsOf are the events of a request with an action.
func (d *desk) eventsOf(requestID, action string) []models.AuditEvent {
	d.t.Helper()
	var events []models.AuditEvent
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Where("approval_request_id = ? AND action = ?", requestID, action).Order("at, id").Find(&events).Error
	})
	return events
}

func TestAGrantRestsOnTheVotesThatCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.person("greta", models.RoleFinanceLead)
		d.person("olaf", models.RoleFinanceLead)
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "250.00"))
		d.yes("fumiko", v.RequestID)
		clock.Advance(time.Minute)
		d.loseRole("fumiko", models.RoleFinanceLead)
		d.yes("frank", v.RequestID)
		clock.Advance(time.Minute)
		d.loseRole("frank", models.RoleFinanceLead)
		d.giveRole("fumiko", models.RoleFinanceLead)
		d.yes("greta", v.RequestID)
		want := []string{"fumiko", "greta"}
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil || got.ApprovalID == "" || !slices.Equal(got.DecidedBy, want) {
			t.Fatalf("%+v, %v", got, err)
		}
		if e := d.eventsOf(v.RequestID, "approval.granted"); len(e) != 1 || !strings.Contains(e[0].Data, d.users["fumiko"].ID) || strings.Contains(e[0].Data, d.users["frank"].ID) {
			t.Errorf("trail: %+v", e)
		}
		// Whose vote did not count changes nothing by leaving.
		d.deactivate("frank")
		d.peopleChanged("frank")
		done, err := d.redeem("sap", got.ApprovalID, "k", arguments("250.00"))
		if err != nil || len(done.Approvers) != 2 || done.Approvers[0].Name != "fumiko" || done.Approvers[1].Name != "greta" {
			t.Errorf("redeemed: %+v, %v", done, err)
		}
	})
}

func TestWhoWasRepresentedDoesNotAskForWhatWasApprovedInTheirPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.person("greta", models.RoleFinanceLead, models.RoleAgent)
		d.account("gretas", "greta", models.RoleAgent)
		d.rule(approvals.NewRule{People: []string{"greta@example.com"}, Currency: "EUR", From: "0", To: "10000"})
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "10000", Supplier: "x"})
		v := d.request("robot", ask(t, "250.00"))
		n := d.toDelegate(1, 1, "frank@example.com")
		n.FirstDay = models.DateOf(models.At(clock.Now()), time.UTC)
		n.LastDay = n.FirstDay
		d.delegates("greta", n)
		if got := d.yes("frank", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("%+v", got)
		}
		for _, asker := range []string{"greta", "gretas"} {
			got, err := d.svc.Request(t.Context(), d.mcp(asker), ask(t, "250.00"), models.Idempotency{})
			if ne := wantCode(t, err, models.Unprocessable); ne.Details["reason"] != "voter_asks" || got.ApprovalID != "" ||
				!strings.Contains(ne.Message, "frank approved this very call in the place of greta") {
				t.Errorf("%s: %+v", asker, ne)
			}
		}
	})
}

func TestWhatComesOfLettingSomebodyInAgainIsTheDesksToWriteDown(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.store.OnPeopleChanged(d.svc.PeopleChanged)
		d.person("greta", models.RoleFinanceLead)
		d.person("olaf", models.RoleFinanceLead)
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "250.00"))
		d.yes("fumiko", v.RequestID)
		d.tx(d.web("adam"), func(tx *models.Tx) error { return tx.DeactivateMember(d.users["fumiko"].ID, "left") })
		d.yes("frank", v.RequestID)
		d.tx(d.web("adam"), func(tx *models.Tx) error { return tx.ReactivateMember(d.users["fumiko"].ID) })
		if got := d.stateOf(v.RequestID); got != models.RequestApproved {
			t.Fatalf("%s", got)
		}
		if e := d.eventsOf(v.RequestID, "approval.granted"); len(e) != 1 || e[0].ActorName == "adam" || e[0].Channel != models.ChannelSystem {
			t.Errorf("granted by %+v", e)
		}
	})
}
