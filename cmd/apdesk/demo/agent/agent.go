package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// Options of the agent.
type Options struct {
	// Dir holds one file per invoice.
	Dir string `json:"dir"`
	// DeskURL and ERPURL are MCP endpoints, with the token for each.
	DeskURL   string `json:"desk_url"`
	DeskToken string `json:"desk_token"`
	ERPURL    string `json:"erp_url"`
	ERPToken  string `json:"erp_token"`
	// Today is the demo's day, YYYY-MM-DD.
	Today string `json:"today"`
	// Fast ends the work on an invoice that a person lets wait.
	Fast bool `json:"fast"`
	// RecheckEvery is how long a business day lasts for re-checks, in
	// milliseconds; the desk takes a report before the check is due.
	RecheckEvery int `json:"recheck_every_ms"`
	// PollSeconds is the longest wait in one poll of the desk, at most 50.
	PollSeconds int `json:"poll_seconds"`
}

// caller is what the agent needs of an MCP server.
type caller interface {
	Call(ctx context.Context, tool string, arguments any, meta map[string]any) (result []byte, refused *mcpcall.NamedError, err error)
}

type mcpCaller struct{ c *mcpcall.Client }

func (m mcpCaller) Call(ctx context.Context, tool string, arguments any, meta map[string]any) ([]byte, *mcpcall.NamedError, error) {
	raw, refused, err := m.c.Call(ctx, tool, arguments, meta)
	return raw, refused, err
}

// Agent works an inbox.
type Agent struct {
	opt       Options
	desk, erp caller
	now       func() time.Time
	pause     func(ctx context.Context, d time.Duration)
	busy      *semaphore.Weighted

	mu  sync.Mutex
	out io.Writer
}

// atOnce is how many invoices are worked on at a time; waiting for people costs
// no place.
const atOnce = 4

// New connects nothing yet.
func New(opt Options, out io.Writer) *Agent {
	return newAgent(opt, out,
		mcpCaller{mcpcall.New(opt.DeskURL, opt.DeskToken, "demo-agent")},
		mcpCaller{mcpcall.New(opt.ERPURL, opt.ERPToken, "demo-agent")})
}

func newAgent(opt Options, out io.Writer, desk, erp caller) *Agent {
	if opt.RecheckEvery == 0 {
		opt.RecheckEvery = 20000
	}
	if opt.PollSeconds == 0 {
		opt.PollSeconds = 25
	}
	return &Agent{opt: opt, desk: desk, erp: erp, now: time.Now, pause: sleep, busy: semaphore.NewWeighted(atOnce), out: out}
}

// Run works every document to its end; it returns nil once all have ended, the
// context's error when it was told to stop.
func (a *Agent) Run(ctx context.Context, inbox []data.Document) error {
	if err := os.MkdirAll(a.opt.Dir, 0o700); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	var all sync.WaitGroup
	faults := make([]error, len(inbox))
	for i, doc := range inbox {
		w, err := openWork(a.opt.Dir, doc, a.opt.Today)
		if err != nil {
			return err
		}
		all.Go(func() { faults[i] = a.work(ctx, w) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// work takes one invoice to its end.
func (a *Agent) work(ctx context.Context, w *Work) error {
	for w.End == "" {
		waiting := w.Step == stepCase || w.Step == stepApproval || w.Step == stepRecheck
		if !waiting {
			if err := a.busy.Acquire(ctx, 1); err != nil {
				return err
			}
		}
		err := a.advance(ctx, w)
		if !waiting {
			a.busy.Release(1)
		}
		if err != nil {
			return err
		}
		if err := w.save(a.opt.Dir); err != nil {
			return err
		}
		if w.End != "" {
			a.say(w, "finished", w.End, w.Why)
		}
	}
	return nil
}

// say prints one line per step.
func (a *Agent) say(w *Work, what, outcome, next string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if next != "" {
		next = "-> " + next
	}
	fmt.Fprintf(a.out, "agent  %s  %-24s %-20s %s\n", w.Doc.Key, what, outcome, next)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
