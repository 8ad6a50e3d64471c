package erp

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// Options of the simulated ERP.
type Options struct {
	// Addr to listen on, host:port.
	Addr string `json:"addr"`
	// Books is the file the ERP keeps everything in.
	Books string `json:"books"`
	// Token its callers must present.
	Token string `json:"token"`
	// DeskURL is the desk's REST address, DeskToken redeems and reports there and
	// OfficeToken reads decided cases.
	DeskURL     string `json:"desk_url"`
	DeskToken   string `json:"desk_token"`
	OfficeToken string `json:"office_token"`
	// Today is the demo's day, YYYY-MM-DD.
	Today string `json:"today"`
	// Seed of the moments in which it is unavailable; zero is never.
	Seed uint64 `json:"seed"`
}

// Server is the running ERP.
type Server struct {
	opt       Options
	books     *Books
	desk      *desk
	office    *office
	approvals keyed
	wake      chan struct{}
	log       *slog.Logger
}

// New opens the books and prepares a server.
func New(opt Options, log *slog.Logger) (*Server, error) {
	today, err := time.Parse(time.DateOnly, opt.Today)
	if err != nil {
		return nil, fmt.Errorf("erp: %w", err)
	}
	if opt.Token == "" {
		return nil, errors.New("erp: callers need a token")
	}
	set := data.New(today)
	books, err := OpenBooks(opt.Books, set.Books)
	if err != nil {
		return nil, fmt.Errorf("erp: %w", err)
	}
	s := &Server{opt: opt, books: books, desk: newDesk(opt.DeskURL, opt.DeskToken), wake: make(chan struct{}, 1), log: log}
	s.office = &office{desk: newDesk(opt.DeskURL, opt.OfficeToken), books: books}
	for _, w := range set.Workspaces {
		s.office.workspaces = append(s.office.workspaces, w.ID)
	}
	return s, nil
}

// Handler serves /mcp and /state to callers with the token, and a read-only page
// of the books at /.
func (s *Server) Handler() http.Handler {
	server := s.newMCPServer()
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.authenticated(newWeather(s.opt.Seed).interrupt(tools)))
	mux.Handle("GET /state", s.authenticated(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.books.State())
	})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		_ = page.Execute(w, s.books.State())
	})
	return mux
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	want := []byte("Bearer " + s.opt.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "unauthenticated", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.opt.Addr)
	if err != nil {
		return fmt.Errorf("erp: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}

	var background sync.WaitGroup
	background.Go(func() { s.Background(ctx) })
	background.Go(func() {
		<-ctx.Done()
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer done()
		_ = server.Shutdown(stop)
	})
	s.log.Info("the ERP is open", "addr", listener.Addr().String())
	err = server.Serve(listener)
	cancel()
	background.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("erp: %w", err)
	}
	return nil
}

// Background finishes what a crash left behind, reports writes and carries out
// decisions, until the context ends.
func (s *Server) Background(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.report(ctx) })
	all.Go(func() { s.finish(ctx) })
	all.Go(func() {
		s.office.keep(ctx, time.Second, func(err error) { s.log.Warn("office", "error", err) })
	})
	all.Wait()
}

// SyncOffice carries out at once what people have decided so far.
func (s *Server) SyncOffice(ctx context.Context) error {
	return s.office.sync(ctx)
}

// State sums up the books.
func (s *Server) State() State { return s.books.State() }

// weather makes the ERP unavailable now and then, for part of a second.
type weather struct {
	mu    sync.Mutex
	rand  *rand.Rand
	until time.Time
}

func newWeather(seed uint64) *weather {
	w := &weather{}
	if seed != 0 {
		w.rand = rand.New(rand.NewPCG(seed, 0xa9d35c))
	}
	return w
}

func (w *weather) bad(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rand == nil {
		return false
	}
	if now.Before(w.until) {
		return true
	}
	if w.rand.IntN(15) == 0 {
		w.until = now.Add(time.Duration(50+w.rand.IntN(350)) * time.Millisecond)
		return true
	}
	return false
}

func (w *weather) interrupt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.bad(time.Now()) {
			rw.Header().Set("Retry-After", "1")
			http.Error(rw, "the ERP is being restarted", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

var page = template.Must(template.New("books").Parse(strings.TrimSpace(`
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Simulated ERP</title></head><body>
<h1>Simulated ERP: invoices</h1>
<p>Read only. What people state at the desk (an order reopened, an invoice rejected) is carried out here by itself.</p>
<table border="1" cellpadding="4"><thead><tr><th>Company</th><th>Invoice</th><th>Number</th><th>Supplier</th><th>Amount</th><th>Status</th><th>Document</th><th>Posting date</th></tr></thead><tbody>
{{range .Invoices}}<tr><td>{{.Workspace}}</td><td>{{.ID}}</td><td>{{.Number}}</td><td>{{.SupplierName}}</td><td>{{.Amount}} {{.Currency}}</td><td>{{.Status}}</td><td>{{.DocumentNumber}}</td><td>{{.PostingDate}}</td></tr>
{{end}}</tbody></table></body></html>`)))
