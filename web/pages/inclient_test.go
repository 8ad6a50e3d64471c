package pages_test

import (
	"testing"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
)

// Nobody at the desk saw who ticked the box in an agent's client, and the page does not pretend so.
func TestAnAnswerGivenInAClientIsShownAsUnverified(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	robot, yes, no := d.robot(), true, false
	robot.TokenName = "night run"
	for _, a := range []confirm.Answered{
		{Action: models.ElicitDecline}, {Action: models.ElicitCancel}, {Action: models.ElicitAccept, Confirm: &no}, {Action: models.ElicitAccept, Confirm: &yes, Reason: "It was a test."},
	} {
		a.Tool, a.Ref = "withdraw_case", models.Ref{Subject: id, CaseID: id}
		if err := d.store.InTx(t.Context(), robot, func(tx *models.Tx) error { return confirm.RecordAnswer(tx, a) }); err != nil {
			t.Fatal(err)
		}
	}
	d.signedIn("petra").get("/cases/"+id).wants(t, "timeline", "passed on a yes to withdraw_case", "passed on a no to withdraw_case", "passed on that nobody answered about withdraw_case",
		"answered in the client of token night run, person not verified", "It was a test.")
}
