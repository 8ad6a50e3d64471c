package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// confirmedAs is somebody in the browser who confirmed at a moment that it is them.
func (d *desk) confirmedAs(name string, how models.Factor, at time.Time) models.Principal {
	p := d.web(name)
	p.SteppedUpAt, p.SteppedUpHow = models.At(at), how
	return p
}

func (d *desk) asksAgainAbove(currency, above string) {
	d.t.Helper()
	d.tx(models.Operator("1000"), func(tx *models.Tx) error { return tx.SetStepUp(currency, above) })
}

func (d *desk) voteAs(by models.Principal, requestID string, decision models.VoteDecision) error {
	d.t.Helper()
	page, err := d.svc.Page(d.t.Context(), by, requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = d.svc.Vote(d.t.Context(), by, approvals.VoteInput{RequestID: requestID, Decision: decision, Reason: "checked", Version: page.Request.Version})
	return err
}

func wantStepUp(t *testing.T, err error) {
	t.Helper()
	ne, named := models.AsNamed(err)
	if !named || ne.Code != models.ValidationError {
		t.Fatalf("answered %v, want VALIDATION_ERROR", err)
	}
	issues, _ := ne.Details["issues"].([]models.Issue)
	if len(issues) != 1 || issues[0].Path != approvals.IssueStepUp {
		t.Fatalf("issues %v, want one on %s", issues, approvals.IssueStepUp)
	}
}

func TestAYesAboveTheAmountNeedsAConfirmationOfTheLastFiveMinutes(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		d.asksAgainAbove("EUR", "200")
		id := d.request("robot", ask(t, "250.00")).RequestID

		wantStepUp(t, d.voteAs(d.web("fumiko"), id, models.VoteApprove))
		wantStepUp(t, d.voteAs(d.confirmedAs("fumiko", models.FactorPasskey, clock.Now().Add(-5*time.Minute-time.Second)), id, models.VoteApprove))
		wantStepUp(t, d.voteAs(d.confirmedAs("fumiko", models.FactorPasskey, clock.Now().Add(time.Hour)), id, models.VoteApprove))
		if got := d.status(id); got.Status != models.RequestPending {
			t.Fatalf("the request is %s although no vote counted", got.Status)
		}

		at := clock.Now().Add(-5 * time.Minute)
		if err := d.voteAs(d.confirmedAs("fumiko", models.FactorPasskey, at), id, models.VoteApprove); err != nil {
			t.Fatal(err)
		}
		proof := d.proof(d.web("fumiko"), id)
		if c := proof.Votes[0].Confirmed; c == nil || c.How != models.FactorPasskey || !c.At.UTC.Equal(at) {
			t.Errorf("the proof says %+v of the confirmation", c)
		}
		cast := d.eventsOf(id, "vote.cast")
		if len(cast) != 1 || !strings.Contains(cast[0].Data, `"confirmed_how":"passkey"`) {
			t.Errorf("the trail says %v", cast)
		}
	})
}

func TestANoAndSmallAmountsAndOtherCurrenciesAskNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.asksAgainAbove("EUR", "250")
		d.asksAgainAbove("USD", "0")
		same := d.request("robot", ask(t, "250.00")).RequestID
		if err := d.voteAs(d.web("fumiko"), same, models.VoteApprove); err != nil {
			t.Errorf("the amount itself asks: %v", err)
		}
		if c := d.proof(d.web("fumiko"), same).Votes[0].Confirmed; c != nil {
			t.Errorf("the proof claims a confirmation nobody asked for: %+v", c)
		}
		above := d.request("robot", ask(t, "251.00")).RequestID
		if err := d.voteAs(d.web("fumiko"), above, models.VoteReject); err != nil {
			t.Errorf("a no asks: %v", err)
		}
		d.asksAgainAbove("EUR", "")
		again := d.request("robot", ask(t, "252.00")).RequestID
		if err := d.voteAs(d.web("fumiko"), again, models.VoteApprove); err != nil {
			t.Errorf("an amount taken back still asks: %v", err)
		}
	})
}

func TestSeveralAreApprovedAfterOneConfirmationOrNoneIs(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		d.asksAgainAbove("EUR", "200")
		var choices []approvals.BulkChoice
		var ids []string
		for _, amount := range []string{"100.00", "250.00"} {
			id := d.request("robot", ask(t, amount)).RequestID
			page, err := d.svc.Page(t.Context(), d.web("fumiko"), id)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			choices = append(choices, approvals.BulkChoice{RequestID: id, Version: page.Request.Version})
		}
		preview := d.preview(t, "fumiko", ids...)
		if preview.StepUp.Text() != "200" || preview.Items[0].StepUp || !preview.Items[1].StepUp {
			t.Fatalf("the preview asks above %q: %+v", preview.StepUp.Text(), preview.Items)
		}
		_, err := d.svc.BulkApprove(t.Context(), d.web("fumiko"), choices, "")
		wantStepUp(t, err)
		if got := d.status(ids[0]); got.Status != models.RequestPending {
			t.Fatalf("the small one is %s although nothing was to be approved", got.Status)
		}
		result, err := d.svc.BulkApprove(t.Context(), d.confirmedAs("fumiko", models.FactorPassword, clock.Now()), choices, "")
		if err != nil || result.Count != 2 {
			t.Fatalf("approved %d of 2, %v", result.Count, err)
		}
		if c := d.proof(d.web("fumiko"), ids[1]).Votes[0].Confirmed; c == nil || c.How != models.FactorPassword {
			t.Errorf("the proof says %+v of the confirmation", c)
		}
	})
}
