package approvals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Figures are what became of the approval requests and confirmations asked for in a period.
type Figures struct {
	Asked     int
	Approved  int
	Rejected  int
	Expired   int
	Withdrawn int
	Waiting   int // still pending or without an approver
	// Median is the time, not only of business hours, from asking to deciding of those a person decided.
	Median        time.Duration
	Totals        []CurrencyTotal // of what was approved
	Confirmations int             // questions of other servers
	// Invoices is about how many invoices approvals and confirmations were asked for: the two together,
	// divided by it, are the prompts per invoice. What names no invoice is left out of both.
	Invoices int
	Prompts  int
	Most     []InvoicePrompts // the invoices with the most prompts, at most five; none with one only
	Voters   []VoterFigures   // by name
	// Cut says that more happened than is counted: only the last models.MostCounted of each kind are.
	Cut bool
}

// InvoicePrompts is how often people were asked about one invoice.
type InvoicePrompts struct {
	InvoiceID string
	N         int
}

// VoterFigures is how often one person voted in the period.
type VoterFigures struct {
	UserID string
	Name   string
	Votes  int
}

const mostAsked = 5

// Figures counts what was asked and voted from one moment to before another. It is for those who read
// the whole trail (models.AuditReaders); others are refused with insufficient_permission.
func (s *Service) Figures(ctx context.Context, by models.Principal, from, to models.Time) (Figures, error) {
	if err := mayRead(by); err != nil {
		return Figures{}, err
	}
	if err := by.NeedRole(models.AuditReaders()...); err != nil {
		return Figures{}, err
	}
	var out Figures
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		out = Figures{}
		prompts := map[string]int{}
		if err := out.requests(tx, from, to, prompts); err != nil {
			return err
		}
		if err := out.confirmations(tx, from, to, prompts); err != nil {
			return err
		}
		out.prompts(prompts)
		return out.votes(tx, from, to)
	})
	return out, err
}

func (f *Figures) requests(tx *models.Tx, from, to models.Time, prompts map[string]int) error {
	// All states are named, because the index by time has the state before it.
	rows, err := tx.Query(`SELECT status, invoice_id, amount, currency, created_at, decided_at FROM approval_requests WHERE workspace_id = ?
		AND status IN ('pending', 'unrouted', 'approved', 'rejected', 'expired', 'withdrawn') AND created_at >= ? AND created_at < ? LIMIT ?`, tx.By.WorkspaceID, from, to, models.MostCounted)
	if err != nil {
		return err
	}
	defer rows.Close()
	var took []time.Duration
	var amounts []models.Money
	for rows.Next() {
		var status models.RequestStatus
		var invoice, amount, currency string
		var asked, decided models.Time
		if err := rows.Scan(&status, &invoice, &amount, &currency, &asked, &decided); err != nil {
			return err
		}
		f.Asked++
		if invoice != "" {
			prompts[invoice]++
		}
		if status == models.RequestApproved || status == models.RequestRejected {
			took = append(took, decided.Sub(asked.Time))
		}
		switch status {
		case models.RequestApproved:
			f.Approved++
			m, err := models.ParseMoney(amount, currency)
			if err != nil {
				return fmt.Errorf("approvals: read an amount: %w", err)
			}
			amounts = append(amounts, m)
		case models.RequestRejected:
			f.Rejected++
		case models.RequestExpired:
			f.Expired++
		case models.RequestWithdrawn:
			f.Withdrawn++
		default:
			f.Waiting++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	f.Cut = f.Cut || f.Asked == models.MostCounted
	f.Median = models.Median(took)
	f.Totals, err = TotalsOf(amounts)
	return err
}

func (f *Figures) confirmations(tx *models.Tx, from, to models.Time, prompts map[string]int) error {
	rows, err := tx.Query(`SELECT invoice_id FROM confirmations WHERE workspace_id = ? AND status IN ('pending', 'answered', 'taken', 'expired', 'withdrawn')
		AND created_at >= ? AND created_at < ? LIMIT ?`, tx.By.WorkspaceID, from, to, models.MostCounted)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var invoice string
		if err := rows.Scan(&invoice); err != nil {
			return err
		}
		f.Confirmations++
		if invoice != "" {
			prompts[invoice]++
		}
	}
	f.Cut = f.Cut || f.Confirmations == models.MostCounted
	return rows.Err()
}

func (f *Figures) prompts(prompts map[string]int) {
	f.Invoices = len(prompts)
	for invoice, n := range prompts {
		f.Prompts += n
		if n > 1 {
			f.Most = append(f.Most, InvoicePrompts{invoice, n})
		}
	}
	slices.SortFunc(f.Most, func(a, b InvoicePrompts) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.InvoiceID, b.InvoiceID))
	})
	f.Most = f.Most[:min(mostAsked, len(f.Most))]
}

func (f *Figures) votes(tx *models.Tx, from, to models.Time) error {
	rows, err := tx.Query(`SELECT user_id, MAX(user_name), count(*) FROM (SELECT user_id, user_name FROM votes WHERE workspace_id = ? AND at >= ? AND at < ? ORDER BY at DESC LIMIT ?) AS cast_votes
		GROUP BY user_id`, tx.By.WorkspaceID, from, to, models.MostCounted)
	if err != nil {
		return err
	}
	defer rows.Close()
	all := 0
	for rows.Next() {
		var v VoterFigures
		if err := rows.Scan(&v.UserID, &v.Name, &v.Votes); err != nil {
			return err
		}
		f.Voters = append(f.Voters, v)
		all += v.Votes
	}
	f.Cut = f.Cut || all == models.MostCounted
	slices.SortFunc(f.Voters, func(a, b VoterFigures) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UserID, b.UserID))
	})
	return rows.Err()
}
