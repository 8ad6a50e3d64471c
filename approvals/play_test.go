package approvals_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// TestRandomPlayThroughTheService lets random people do random things to random requests on a real
// database, and holds what is left behind against the rules: no approval without enough different people
// who had a place, none for the asker's own, none spent twice, for another call, or after its end.
func TestRandomPlayThroughTheService(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		rng := rand.New(rand.NewPCG(11, 4))
		d.person("greta", models.RoleFinanceLead)
		d.person("olaf", models.RoleFinanceLead, models.RoleAPLead)
		d.rule(financeRule(1))
		two := financeRule(2)
		two.From, two.To = "10000.01", "20000"
		d.rule(two)
		three := firstFinanceThenAP()
		three.From, three.To = "20000.01", "30000"
		d.rule(three)
		people := []string{"lars", "nina", "fumiko", "frank", "greta", "olaf", "clara"}
		one := func() string { return people[rng.IntN(len(people))] }
		type asked struct{ by, requestID, amount, approvalID string }
		var requests []*asked
		spent := map[string]int{}
		some := func() *asked { return requests[max(0, len(requests)-1-rng.IntN(8))] }
		owners := []string{"robot", "other-robot"}
		file := func() {
			amount := fmt.Sprintf("%d.%02d", []int{1, 10_001, 20_001}[rng.IntN(3)]+rng.IntN(5000), rng.IntN(100))
			by := owners[rng.IntN(2)]
			v := d.request(by, ask(t, amount))
			requests = append(requests, &asked{by: by, requestID: v.RequestID, amount: amount})
		}
		file()
		for range 220 {
			clock.Advance(time.Duration(rng.IntN(40)) * time.Minute)
			switch rng.IntN(12) {
			case 0, 1:
				file()
			case 2, 3, 4, 5, 6:
				decision, reason := models.VoteApprove, ""
				if rng.IntN(12) == 0 {
					decision, reason = models.VoteReject, "no"
				}
				_, err := d.vote(one(), some().requestID, decision, reason)
				if err != nil && !models.IsCode(err, models.Unprocessable) && !models.IsCode(err, models.InsufficientPermission) && !models.IsCode(err, models.Conflict) {
					t.Fatal(err)
				}
			case 7, 8:
				a := some()
				got, err := d.svc.Get(t.Context(), d.mcp(a.by), a.requestID)
				if err == nil && got.ApprovalID != "" {
					a.approvalID = got.ApprovalID
				}
				if a.approvalID == "" {
					continue
				}
				amount := a.amount
				if rng.IntN(3) == 0 {
					amount = some().amount
				}
				before := d.page("audrey", a.requestID)
				if answer, err := d.redeem("sap", a.approvalID, fmt.Sprintf("key-%d", rng.Int()), arguments(amount)); err == nil {
					if len(answer.Approvers) != before.Request.Required {
						t.Fatalf("%d approvers stand behind it, want %d", len(answer.Approvers), before.Request.Required)
					}
					spent[a.requestID]++
					if amount != a.amount || before.Grant.Status != models.ApprovalGranted {
						t.Fatalf("%s was redeemed for %s while %s", a.amount, amount, before.Grant.Status)
					}
				}
			case 9:
				if rng.IntN(3) > 0 {
					continue
				}
				n := d.toDelegate(1, 1, one()+"@example.com")
				n.FirstDay = models.DateOf(models.At(clock.Now()), time.UTC).AddDays(rng.IntN(2))
				n.LastDay = n.FirstDay.AddDays(rng.IntN(3))
				if _, err := d.svc.Delegate(t.Context(), d.web(one()), n); err != nil && !models.IsCode(err, models.ValidationError) && !models.IsCode(err, models.InsufficientPermission) {
					t.Fatal(err)
				}
			case 10:
				d.runJobs()
			case 11:
				if rng.IntN(12) == 0 {
					name := []string{"greta", "olaf"}[rng.IntN(2)]
					d.deactivate(name)
					d.peopleChanged(name)
				}
			}
		}
		approved, behalf := 0, 0
		for _, a := range requests {
			p := d.page("audrey", a.requestID)
			if spent[a.requestID] > 1 {
				t.Fatalf("%s was redeemed %d times", a.requestID, spent[a.requestID])
			}
			if p.Status != models.RequestApproved {
				if p.Grant != nil || spent[a.requestID] > 0 {
					t.Fatalf("%s is %s and has a grant", a.requestID, p.Status)
				}
				continue
			}
			approved++
			part := []string{d.users["clara"].ID} // who answers for the robots
			steps := map[int]int{}
			for _, v := range p.Votes {
				mine := []string{v.UserID}
				if v.OnBehalfOfID != nil {
					behalf++
					mine = append(mine, *v.OnBehalfOfID)
				}
				for _, id := range mine {
					if slices.Contains(part, id) {
						t.Fatalf("somebody has two parts in %s: %+v", a.requestID, p.Votes)
					}
				}
				part = append(part, mine...)
				steps[v.Step]++
				amount, err := models.ParseMoney(a.amount, "EUR")
				if err != nil {
					t.Fatal(err)
				}
				limit, err := models.ParseMoney(v.LimitAmount, "EUR")
				if err != nil {
					t.Fatal(err)
				}
				if above, err := amount.Cmp(limit); err != nil || above > 0 {
					t.Fatalf("%s voted on %s with a limit of %s, %v", v.UserName, a.amount, v.LimitAmount, err)
				}
			}
			if len(p.Votes) < p.Request.Required || p.Routing.Rule.Sequence() && (steps[1] == 0 || steps[2] == 0) {
				t.Fatalf("%s was approved by %+v", a.requestID, p.Votes)
			}
		}
		if approved < 10 || len(spent) == 0 {
			t.Fatalf("only %d approved, %d on behalf, %d spent", approved, behalf, len(spent))
		}
	})
}
