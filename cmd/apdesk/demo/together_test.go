package demo

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/agent"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/erp"
)

type world struct {
	set   data.Set
	desk  *fakeDesk
	books *erp.Server
	opt   agent.Options
}

func newWorld(t *testing.T, ctx context.Context) *world {
	t.Helper()
	w := &world{set: data.New(time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC))}
	w.desk = newFakeDesk(w.set)
	deskServer := httptest.NewServer(w.desk.handler())
	t.Cleanup(deskServer.Close)
	dir := t.TempDir()
	var err error
	w.books, err = erp.New(erp.Options{Books: filepath.Join(dir, "books.json"), Token: "erp-token", DeskURL: deskServer.URL, Today: w.set.Today, Seed: 7},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	background, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { w.books.Background(background); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	erpServer := httptest.NewServer(w.books.Handler())
	t.Cleanup(erpServer.Close)
	w.opt = agent.Options{Dir: filepath.Join(dir, "agent"), DeskURL: deskServer.URL + "/mcp", ERPURL: erpServer.URL + "/mcp", ERPToken: "erp-token",
		Today: w.set.Today, Fast: true, RecheckEvery: 10, PollSeconds: 1}
	return w
}

// ended fails the test for every invoice that did not end as it should.
func (w *world) ended(t *testing.T, ctx context.Context) {
	t.Helper()
	works, err := agent.Load(w.opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.books.SyncOffice(ctx); err != nil {
		t.Fatal(err)
	}
	for _, line := range Compare(w.set, works, w.books.State(), nil) {
		if line.Wrong != "" {
			t.Errorf("%s: %s", line.Invoice, line.Wrong)
		}
	}
	if len(w.desk.misuses) > 0 {
		t.Error(w.desk.misuses)
	}
}

func TestAgentAndERPBringEveryInvoiceToItsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := newWorld(t, ctx)
	var out bytes.Buffer
	if err := agent.New(w.opt, &out).Run(ctx, w.set.Inbox); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	w.ended(t, ctx)
}

func TestAnAgentThatIsInterruptedAllTheTimeDoublesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w := newWorld(t, ctx)
	handovers := func() int { w.desk.mu.Lock(); defer w.desk.mu.Unlock(); return w.desk.handovers }
	chance := rand.New(rand.NewPCG(3, 1))
	lives := 0
	for {
		lives++
		life, end := context.WithTimeout(ctx, time.Duration(20+chance.IntN(200))*time.Millisecond)
		if lives > 8 {
			end()
			life, end = context.WithCancel(ctx)
		}
		err := agent.New(w.opt, io.Discard).Run(life, w.set.Inbox)
		end()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	if lives < 3 {
		t.Errorf("the agent was interrupted only %d times", lives-1)
	}
	w.ended(t, ctx)

	undisturbed := newWorld(t, ctx)
	if err := agent.New(undisturbed.opt, io.Discard).Run(ctx, undisturbed.set.Inbox); err != nil {
		t.Fatal(err)
	}
	if undisturbed.desk.handovers != handovers() {
		t.Errorf("%d handovers with interruptions, %d without", handovers(), undisturbed.desk.handovers)
	}
}
