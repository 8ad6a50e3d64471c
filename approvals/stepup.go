package approvals

import (
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// IssueStepUp is the path of the issue by which a vote is refused that needs a fresh confirmation first.
const IssueStepUp = "/step_up"

// stepUp refuses a yes on an amount for which the workspace asks people again that it is them, unless the
// voter confirmed lately in this session. needed says that the amount asked for it.
func stepUp(tx *models.Tx, r models.ApprovalRequest, decision models.VoteDecision) (needed bool, err error) {
	if decision != models.VoteApprove {
		return false, nil
	}
	above, needed, err := asksAgain(tx, r)
	if err != nil || !needed || tx.By.SteppedUp(tx.Now) {
		return needed, err
	}
	return true, models.Invalid(models.Issue{Path: IssueStepUp, Message: askAgainText(above)})
}

// asksAgain finds the amount of the workspace that a request is above.
func asksAgain(tx *models.Tx, r models.ApprovalRequest) (above models.Money, needed bool, err error) {
	amounts, err := tx.StepUpAmounts()
	if err != nil || len(amounts) == 0 {
		return models.Money{}, false, err
	}
	amount, err := models.ParseMoney(r.Amount, r.Currency)
	if err != nil {
		return models.Money{}, false, fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
	}
	above, needed = models.AsksAgain(amounts, amount)
	return above, needed, nil
}

func askAgainText(above models.Money) string {
	return fmt.Sprintf("must be confirmed: above %s this workspace asks you again that it is you, at most %d minutes before you approve", above.Format(), int(models.StepUpFor.Minutes()))
}
