package demo

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/agent"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/erp"
)

func TestAgentAndERPBringEveryInvoiceToItsEnd(t *testing.T) {
	t.Parallel()
	set := data.New(time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC))
	desk := newFakeDesk(set)
	deskServer := httptest.NewServer(desk.handler())
	defer deskServer.Close()

	dir := t.TempDir()
	books, err := erp.New(erp.Options{Books: filepath.Join(dir, "books.json"), Token: "erp-token", DeskURL: deskServer.URL, Today: set.Today, Seed: 7},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go books.Background(ctx)
	erpServer := httptest.NewServer(books.Handler())
	defer erpServer.Close()

	var out bytes.Buffer
	opt := agent.Options{Dir: filepath.Join(dir, "agent"), DeskURL: deskServer.URL + "/mcp", ERPURL: erpServer.URL + "/mcp", ERPToken: "erp-token",
		Today: set.Today, Fast: true, RecheckEvery: 10, PollSeconds: 1}
	err = agent.New(opt, &out).Run(ctx, set.Inbox)
	t.Logf("%s", out.String())
	if err != nil {
		t.Fatal(err)
	}
	works, err := agent.Load(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := books.SyncOffice(ctx); err != nil {
		t.Fatal(err)
	}
	for _, line := range Compare(set, works, books.State()) {
		if line.Wrong != "" {
			t.Errorf("%s: %s", line.Invoice, line.Wrong)
		}
	}
	if len(desk.misuses) > 0 {
		t.Error(desk.misuses)
	}
}
