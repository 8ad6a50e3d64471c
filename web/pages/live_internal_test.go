package pages

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// page is a connection that keeps what is written to it, as slowly as it is told.
type page struct {
	net.Conn // nil: nothing else of it is used
	written  bytes.Buffer
	until    time.Time
	closed   bool
}

func (p *page) Write(b []byte) (int, error)            { return p.written.Write(b) }
func (p *page) Close() error                           { p.closed = true; return nil }
func (p *page) SetWriteDeadline(until time.Time) error { p.until = until; return nil }

// A page that takes nothing any more holds its connection for a bounded time, and what goes wrong in a stream
// ends that stream alone.
func TestALiveStreamIsBoundedAndSurvivesAFault(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	ended := false
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	s := &liveStream{app: context.Background(), log: slog.New(slog.NewTextHandler(&logged, nil)), head: []byte("HTTP/1.1 200 OK\r\n\r\n"), wake: wake,
		unsubscribe: func() { ended = true }, alive: func(context.Context) bool { panic("no database") }}
	p := &page{}
	s.serve(p)
	if left := time.Until(p.until); left <= 0 || left > LiveTime {
		t.Errorf("it may be written to for %v", left)
	}
	if !ended || !p.closed || !strings.Contains(logged.String(), "no database") || p.written.String() != "HTTP/1.1 200 OK\r\n\r\nretry: 3000\n\n" {
		t.Errorf("ended %v, closed %v, logged %q, written %q", ended, p.closed, logged.String(), p.written.String())
	}
}
