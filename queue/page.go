package queue

import (
	"context"
	"slices"
	"time"

	"github.com/apdesk/apdesk/models"
)

// CasePage is everything the page of a case shows to one reader.
type CasePage struct {
	Case       CaseView
	Hidden     bool // tax and bank data is not for the reader
	Marks      []Mark
	Claim      Claim
	Exits      []Exit // what the reader may choose; empty when nothing
	WhyNot     string // why the reader may not decide, in words; empty when they may
	CanComment bool
	Decisions  []Decision // of this case, oldest first
	Earlier    []Decision // on the same error of the same invoice within the last day, newest first
	Comments   []models.Comment
	Timeline   []models.AuditEvent // newest first
	MoreEvents bool                // the timeline is cut
	RequestID  string              // approval request behind the case
	HoldID     string              // hold behind the case
	Moved      string              // exit that moved the case here
	Question   string              // a question waits for the agent's answer
	HeldUntil  models.Date
	Snooze     SnoozeView
	Reroute    RerouteView
	Escalated  models.Time // when it was brought before the leads for being overdue; zero: it was not
	AgentName  string
	RunID      string
	Amount     models.Money // of the invoice
	// Of a PERIOD_CLOSED case: through when the books are closed, and through when they would be after
	// reopen_period.
	ClosedThrough   models.Date
	ReopenedThrough models.Date
	Proposed        []ProposedCall    // calls the reader may ask an approval for when deciding
	Duplicates      models.Duplicates // invoices the desk has seen that this one may be again
}

// Claim is who holds a case and what the reader can do about it.
type Claim struct {
	By          string // name; empty when nobody holds it
	Until       models.Time
	Mine        bool
	CanClaim    bool
	CanRelease  bool
	CanTakeOver bool
}

// Decision is one exit somebody chose.
type Decision struct {
	CaseID      string
	Exit        string
	Label       string
	Instruction models.InstructionKind
	Input       map[string]string
	Reason      string
	By          string
	Role        models.Role
	At          models.Time
}

const (
	maxTimeline = 200
	earlierTime = 24 * time.Hour
)

// Page reads everything the page of a case shows. It fails with NOT_FOUND.
func (s *Service) Page(ctx context.Context, by models.Principal, caseID string) (CasePage, error) {
	var out CasePage
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return out, err
	}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		row, private, err := readCase(tx, caseID)
		if err != nil {
			return err
		}
		if out, err = pageOf(tx, row, private); err != nil {
			return err
		}
		if out.Snooze, err = snoozeOf(tx, row.Case); err != nil {
			return err
		}
		out.Escalated = row.EscalatedAt
		out.Reroute, err = s.rerouteOf(tx, row.Case, out.Timeline)
		return err
	})
	return out, err
}

func pageOf(tx *models.Tx, row caseRow, private bool) (CasePage, error) {
	c := row.Case
	view, err := viewOf(tx, row, private)
	if err != nil {
		return CasePage{}, err
	}
	out := CasePage{Case: view, Hidden: !private, Marks: marksIn(c.Marks), Claim: claimOf(row, tx), Moved: c.Moved, Question: questionOf(c),
		HeldUntil: c.HeldUntil, AgentName: c.AgentName, RunID: c.RunID, CanComment: tx.By.IsPerson() && works(tx.By, c.Queue)}
	if out.Amount, err = models.ParseMoney(c.Amount, c.Currency); err != nil {
		return out, err
	}
	if c.RequestID != nil {
		out.RequestID = *c.RequestID
	}
	if c.HoldID != nil {
		out.HoldID = *c.HoldID
	}
	if out.WhyNot = whyNot(row, tx); out.WhyNot == "" {
		out.Exits = exitsOf(c, tx.By)
		if out.Proposed, err = proposedCalls(tx, c); err != nil {
			return out, err
		}
	}
	elsewhere, err := fraudElsewhere(tx, c)
	if err != nil {
		return out, err
	}
	out.Marks = addMarks(out.Marks, elsewhere)
	if c.Code == models.PeriodClosed && c.Status != models.CaseResolved {
		ws, err := tx.Workspace()
		if err != nil {
			return out, err
		}
		wanted, err := postingDate(tx, c)
		if err != nil {
			return out, err
		}
		out.ClosedThrough, out.ReopenedThrough = ws.PeriodClosedThrough, reopenedThrough(ws.PeriodClosedThrough, wanted)
	}
	if readsAll(tx.By) {
		// What others filed is not for callers.
		if out.Duplicates, err = tx.DuplicateCandidates(invoiceOfCase(c), c.DuplicateOf); err != nil {
			return out, err
		}
	}
	var decisions []models.Decision
	if err := tx.DB.Where("case_id = ?", c.ID).Order("decided_at, id").Find(&decisions).Error; err != nil {
		return out, err
	}
	if out.Decisions, err = decisionsOf(decisions); err != nil {
		return out, err
	}
	askedBefore(out.Case.Handovers, out.Decisions)
	if out.Earlier, err = earlier(tx, c); err != nil {
		return out, err
	}
	if err := tx.DB.Where("case_id = ?", c.ID).Order("at, id").Find(&out.Comments).Error; err != nil {
		return out, err
	}
	err = tx.DB.Where("workspace_id = ? AND case_id = ? AND case_id <> ''", c.WorkspaceID, c.ID).Order("at DESC, id DESC").Limit(maxTimeline + 1).Find(&out.Timeline).Error
	if len(out.Timeline) > maxTimeline {
		out.Timeline, out.MoreEvents = out.Timeline[:maxTimeline], true
	}
	return out, err
}

// invoiceOfCase is the invoice of a case as far as it is compared with others.
func invoiceOfCase(c models.Case) models.Invoice {
	inv, err := invoiceIn(c.Invoice, c.Amount, c.Currency)
	if err != nil {
		inv = models.Invoice{} // an invoice the desk cannot read is compared by what it kept of it
	}
	inv.ID, inv.Number, inv.SupplierID, inv.SupplierName, inv.PoID = c.InvoiceID, c.InvoiceNumber, c.SupplierID, c.SupplierName, c.PoID
	return inv
}

func claimOf(row caseRow, tx *models.Tx) Claim {
	c, by := row.Case, tx.By
	holder := c.ClaimedAt(tx.Now)
	may := by.IsPerson() && c.Status != models.CaseResolved && works(by, c.Queue)
	claim := Claim{CanClaim: may && holder == ""}
	if holder != "" {
		claim.By, claim.Until, claim.Mine = row.ClaimedByName, c.ClaimedUntil, holder == by.UserID
		claim.CanRelease = may && claim.Mine
		claim.CanTakeOver = may && !claim.Mine && mayTakeOver(by, c.Queue)
	}
	return claim
}

// whyNot says in words why the reader may not decide, "" when they may.
func whyNot(row caseRow, tx *models.Tx) string {
	c, by := row.Case, tx.By
	switch {
	case c.Status == models.CaseResolved:
		return "This case is resolved."
	case !by.IsPerson():
		return "Only a person signed in to the desk's pages can decide."
	case !works(by, c.Queue):
		roles := c.Queue.Roles()
		words := roles[0].Title()
		for _, r := range roles[1:] {
			words += " or " + r.Title()
		}
		return "Deciding here needs the role " + words + "."
	}
	if holder := c.ClaimedAt(tx.Now); holder != "" && holder != by.UserID {
		return row.ClaimedByName + " holds this case."
	}
	return ""
}

func decisionsOf(rows []models.Decision) ([]Decision, error) {
	out := make([]Decision, 0, len(rows))
	for _, d := range rows {
		r, err := resolutionOf(d)
		if err != nil {
			return nil, err
		}
		out = append(out, Decision{CaseID: d.CaseID, Exit: d.Exit, Label: ExitLabel(d.Exit), Instruction: d.InstructionKind, Input: r.Input,
			Reason: d.Reason, By: d.DecidedByName, Role: d.Role, At: d.DecidedAt})
	}
	return out, nil
}

// askedBefore puts beside each answer the question that was asked last before it.
func askedBefore(handovers []HandoverView, decisions []Decision) {
	for i := range handovers {
		if handovers[i].Answer == "" {
			continue
		}
		for _, d := range slices.Backward(decisions) {
			if d.Exit == exitAskAgent && !d.At.After(handovers[i].At.Time) {
				handovers[i].Question = d.Input["question"]
				break
			}
		}
	}
}

// earlier finds what was decided within a day before this case on the same error of the same invoice.
func earlier(tx *models.Tx, c models.Case) ([]Decision, error) {
	if c.Code == "" {
		return nil, nil
	}
	var rows []models.Decision
	err := tx.DB.Table("decisions").Select("decisions.*").Joins("JOIN cases c ON c.id = decisions.case_id").
		Where("decisions.workspace_id = ? AND decisions.invoice_id = ? AND decisions.case_id <> ? AND c.code = ? AND decisions.decided_at >= ? AND decisions.decided_at <= ? AND decisions.exit <> ?",
			c.WorkspaceID, c.InvoiceID, c.ID, c.Code, c.CreatedAt.Add(-earlierTime), c.CreatedAt, exitAskAgent).
		Order("decisions.decided_at DESC").Limit(5).Find(&rows).Error
	if err != nil {
		return nil, err
	}
	return decisionsOf(rows)
}
