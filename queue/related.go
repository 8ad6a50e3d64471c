package queue

import (
	"context"

	"github.com/apdesk/apdesk/models"
)

// maxRelated bounds how many related cases of a kind one page shows.
const maxRelated = 10

// RelatedCases are other cases of a workspace that belong with one.
type RelatedCases struct {
	Invoice  RelatedList // of the same invoice
	Supplier RelatedList // of the same supplier, other invoices
	Run      RelatedList // of the same run, other invoices
}

// RelatedList is the newest of them.
type RelatedList struct {
	Items []RelatedCase
	More  bool // there are others
}

// RelatedCase is one case beside another.
type RelatedCase struct {
	CaseID        string
	Code          models.Code
	Reason        models.HandoverReason
	Status        models.CaseStatus
	Queue         models.Queue
	InvoiceNumber string
	Amount        string
	Currency      string
	Exit          string // chosen last; empty while nobody decided
	CreatedAt     models.Time
}

// Related reads which other cases belong with a case. What others filed is for people alone: an agent
// gets none. It fails with NOT_FOUND.
func (s *Service) Related(ctx context.Context, by models.Principal, caseID string) (RelatedCases, error) {
	var out RelatedCases
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return out, err
	}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		row, _, err := readCase(tx, caseID)
		if err != nil || !readsAll(by) {
			return err
		}
		c := row.Case
		if out.Invoice, err = relatedBy(tx, c, "invoice_id = ?", c.InvoiceID); err != nil {
			return err
		}
		// The indexes hold only cases that name a supplier or a run, so the condition says so too.
		if c.SupplierID != "" {
			if out.Supplier, err = relatedBy(tx, c, "supplier_id <> '' AND supplier_id = ? AND invoice_id <> ?", c.SupplierID, c.InvoiceID); err != nil {
				return err
			}
		}
		if c.RunID != "" {
			out.Run, err = relatedBy(tx, c, "run_id <> '' AND run_id = ? AND invoice_id <> ?", c.RunID, c.InvoiceID)
		}
		return err
	})
	return out, err
}

func relatedBy(tx *models.Tx, c models.Case, condition string, values ...any) (RelatedList, error) {
	args := append(append([]any{c.WorkspaceID}, values...), c.ID, maxRelated+1)
	rows, err := models.All[models.Case](tx, `SELECT id, code, reason, status, queue, invoice_number, amount, currency, created_at FROM cases
		WHERE workspace_id = ? AND `+condition+` AND id <> ? ORDER BY created_at DESC, id DESC LIMIT ?`, args...)
	if err != nil {
		return RelatedList{}, err
	}
	var out RelatedList
	if len(rows) > maxRelated {
		rows, out.More = rows[:maxRelated], true
	}
	for _, r := range rows {
		one := RelatedCase{CaseID: r.ID, Code: r.Code, Reason: r.Reason, Status: r.Status, Queue: r.Queue, InvoiceNumber: r.InvoiceNumber,
			Amount: r.Amount, Currency: r.Currency, CreatedAt: r.CreatedAt}
		decided, err := models.All[models.Decision](tx, "SELECT exit FROM decisions WHERE case_id = ? ORDER BY decided_at DESC, id DESC LIMIT 1", r.ID)
		if err != nil {
			return RelatedList{}, err
		}
		if len(decided) > 0 {
			one.Exit = decided[0].Exit
		}
		out.Items = append(out.Items, one)
	}
	return out, nil
}
