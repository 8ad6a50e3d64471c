package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Figures are what became of the cases of a workspace in a period, for those who lead its work.
type Figures struct {
	Queues []QueueFigures  // all queues, in their order
	Codes  []CodeFigures   // what agents stopped at, the most frequent first
	People []PersonFigures // who decided or claimed something, by name
	// Cut says that more happened than is counted: only the last models.MostCounted arrivals and decisions are.
	Cut bool
}

// QueueFigures are the figures of one queue. A case that was moved counts where it is now.
type QueueFigures struct {
	Queue    models.Queue
	Came     int // cases opened in the period
	Resolved int // by people in the period
	InTime   int // of those resolved, before they were overdue
	// Median is the business time from opening to resolving of those resolved; half took longer.
	Median time.Duration
}

// CodeFigures are the figures of one code; NoCode stands for handovers that no single error explains.
type CodeFigures struct {
	Code  models.Code
	Came  int
	Exits []ExitFigure // chosen in the period, the most frequent first
}

// ExitFigure is how often an exit was chosen.
type ExitFigure struct {
	Exit string
	N    int
}

// PersonFigures are the figures of one person.
type PersonFigures struct {
	UserID  string
	Name    string
	Decided int // decisions on cases in the period; questions to agents are none
	Claimed int // cases held now
}

// Figures counts what happened from one moment to before another. It is for those who read the whole
// trail (models.AuditReaders); others are refused with insufficient_permission.
func (s *Service) Figures(ctx context.Context, by models.Principal, from, to models.Time) (Figures, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return Figures{}, err
	}
	if err := by.NeedRole(models.AuditReaders()...); err != nil {
		return Figures{}, err
	}
	var out Figures
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		count := figuring{queues: map[models.Queue]*QueueFigures{}, codes: map[models.Code]*CodeFigures{}, people: map[string]*PersonFigures{}, took: map[models.Queue][]time.Duration{}}
		if err := count.arrivals(tx, from, to); err != nil {
			return err
		}
		if err := count.decisions(tx, from, to); err != nil {
			return err
		}
		if err := count.claims(tx); err != nil {
			return err
		}
		out = count.done()
		return nil
	})
	return out, err
}

// figuring is counting in progress.
type figuring struct {
	queues map[models.Queue]*QueueFigures
	codes  map[models.Code]*CodeFigures
	people map[string]*PersonFigures
	took   map[models.Queue][]time.Duration
	cut    bool
}

func (f *figuring) queue(q models.Queue) *QueueFigures { return entry(f.queues, q) }
func (f *figuring) code(c models.Code) *CodeFigures    { return entry(f.codes, cmp.Or(c, NoCode)) }

func entry[K comparable, V any](all map[K]*V, key K) *V {
	if all[key] == nil {
		all[key] = new(V)
	}
	return all[key]
}

func (f *figuring) arrivals(tx *models.Tx, from, to models.Time) error {
	rows, err := tx.Query(`SELECT queue, code, count(*) FROM (SELECT queue, code FROM cases WHERE workspace_id = ? AND created_at >= ? AND created_at < ? ORDER BY created_at DESC LIMIT ?) AS came
		GROUP BY queue, code`, tx.By.WorkspaceID, from, to, models.MostCounted)
	if err != nil {
		return err
	}
	defer rows.Close()
	all := 0
	for rows.Next() {
		var q models.Queue
		var code models.Code
		var n int
		if err := rows.Scan(&q, &code, &n); err != nil {
			return err
		}
		f.queue(q).Came += n
		f.code(code).Came += n
		all += n
	}
	f.cut = f.cut || all == models.MostCounted
	return rows.Err()
}

func (f *figuring) decisions(tx *models.Tx, from, to models.Time) error {
	cal, err := tx.Calendar()
	if err != nil {
		return err
	}
	rows, err := tx.Query(`SELECT d.exit, COALESCE(d.decided_by_id, ''), d.decided_by_name, d.role, d.decided_at, c.code, c.queue, c.created_at, c.due_at, c.resolved_at
		FROM decisions d JOIN cases c ON c.id = d.case_id WHERE d.workspace_id = ? AND d.decided_at >= ? AND d.decided_at < ? ORDER BY d.decided_at DESC LIMIT ?`,
		tx.By.WorkspaceID, from, to, models.MostCounted)
	if err != nil {
		return err
	}
	defer rows.Close()
	exits := map[models.Code]map[string]int{}
	n := 0
	for ; rows.Next(); n++ {
		var exit, userID, name, role string
		var code models.Code
		var q models.Queue
		var at, opened, due, resolved models.Time
		if err := rows.Scan(&exit, &userID, &name, &role, &at, &code, &q, &opened, &due, &resolved); err != nil {
			return err
		}
		if exit == exitAskAgent {
			continue
		}
		key := cmp.Or(code, NoCode)
		if exits[key] == nil {
			exits[key] = map[string]int{}
		}
		exits[key][exit]++
		if userID == "" || role == "" || role == string(models.RoleAgent) {
			continue // the desk itself, or the agent that took it back
		}
		person := entry(f.people, userID)
		person.Name = name
		person.Decided++
		if !resolved.Equal(at.Time) {
			continue // held or moved, or resolved by a later decision
		}
		figures := f.queue(q)
		figures.Resolved++
		if !at.After(due.Time) {
			figures.InTime++
		}
		f.took[q] = append(f.took[q], cal.BusinessTime(opened, at))
	}
	f.cut = f.cut || n == models.MostCounted
	for code, chosen := range exits {
		for exit, n := range chosen {
			f.code(code).Exits = append(f.code(code).Exits, ExitFigure{exit, n})
		}
	}
	return rows.Err()
}

func (f *figuring) claims(tx *models.Tx) error {
	rows, err := tx.Query(`SELECT u.id, u.name, count(*) FROM cases c JOIN users u ON u.id = c.claimed_by_id
		WHERE c.claimed_by_id IN (SELECT user_id FROM memberships WHERE workspace_id = ?) AND c.workspace_id = ? AND c.claimed_until > ? GROUP BY u.id, u.name`,
		tx.By.WorkspaceID, tx.By.WorkspaceID, tx.Now)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, name string
		var n int
		if err := rows.Scan(&id, &name, &n); err != nil {
			return err
		}
		person := entry(f.people, id)
		person.Name, person.Claimed = name, n
	}
	return rows.Err()
}

func (f *figuring) done() Figures {
	out := Figures{Cut: f.cut}
	for _, q := range models.Queues() {
		figures := *f.queue(q)
		figures.Queue, figures.Median = q, models.Median(f.took[q])
		out.Queues = append(out.Queues, figures)
	}
	for code, figures := range f.codes {
		figures.Code = code
		slices.SortFunc(figures.Exits, func(a, b ExitFigure) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Exit, b.Exit)) })
		out.Codes = append(out.Codes, *figures)
	}
	slices.SortFunc(out.Codes, func(a, b CodeFigures) int { return cmp.Or(cmp.Compare(b.Came, a.Came), cmp.Compare(a.Code, b.Code)) })
	for id, figures := range f.people {
		figures.UserID = id
		out.People = append(out.People, *figures)
	}
	slices.SortFunc(out.People, func(a, b PersonFigures) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UserID, b.UserID))
	})
	return out
}
