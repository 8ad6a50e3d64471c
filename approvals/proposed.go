package approvals

import (
	"encoding/json"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

// FileProposed files an approval request for a write that the agent of a case proposed, in the
// transaction in which a person decides the case. The person, the agent, the person responsible for it
// and whoever made its token all ask, so none of them can vote. The agent finds the request with
// get_approval, and gets the approval_id there once it is approved. A live request for the same call is
// joined. It fails as Request does.
func (s *Service) FileProposed(tx *models.Tx, c models.Case, p models.ProposedRequest) (string, error) {
	if err := tx.By.NeedPerson(); err != nil {
		return "", err
	}
	if p.Agent.UserID == "" {
		return "", models.E(models.Unprocessable, "No agent handed this case over, so nobody could use the approval.", map[string]any{"case_id": c.ID})
	}
	in := RequestInput{RunID: c.RunID, CaseID: c.ID, Invoice: p.Invoice, Action: p.Call, Amount: p.Amount, DocumentType: p.DocumentType, PostingDate: p.PostingDate,
		CostCentre: p.CostCentre, Summary: p.Summary, Explanation: fmt.Sprintf("%s proposed this call on case %s; %s asks for it.", p.Agent.UserName, c.ID, tx.By.UserName),
		agent: &p.Agent}
	body, err := json.Marshal(map[string]any{"case_id": c.ID, "invoice": p.Invoice.Sent, "action": p.Call, "amount": p.Amount.Text(), "currency": p.Amount.Currency(),
		"document_type": p.DocumentType, "posting_date": p.PostingDate, "cost_centre": p.CostCentre, "summary": p.Summary, "asked_by": tx.By.UserName})
	if err != nil {
		return "", fmt.Errorf("approvals: body of a proposed request: %w", err)
	}
	in.Body = body
	call, err := readCall(tx.By.WorkspaceID, in)
	if err != nil {
		return "", err
	}
	view, err := s.file(tx, in, call)
	return view.RequestID, err
}
