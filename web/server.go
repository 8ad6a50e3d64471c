package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/api"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/auth/oauth"
	signin "github.com/apdesk/apdesk/web/auth/provider"
	"github.com/apdesk/apdesk/web/mcpserver"
	"github.com/apdesk/apdesk/web/pages"
	"github.com/apdesk/apdesk/web/problem"
	"github.com/apdesk/apdesk/web/proxy"
	"github.com/apdesk/apdesk/web/upload"
)

// Limits of one request.
const (
	BodyLimit   = 14 << 20 // bytes
	requestTime = 90 * time.Second
	readTime    = 2 * time.Minute // for the whole body
	writeTime   = 2 * time.Minute // for the whole answer, from when it is known
	idleTime    = 2 * time.Minute
	headerTime  = 10 * time.Second
	headerBytes = 16 << 10 // an access token that names many groups is long
	drainTime   = 15 * time.Second
	lookTime    = 50 * time.Millisecond // between two looks at who may be let go while draining
)

// Config is what the server needs. All but OAuth, Logger and Version must be set.
type Config struct {
	Store     *models.Store
	Queue     *queue.Service
	Approvals *approvals.Service
	Confirm   *confirm.Service

	Addr      string // of pages and REST
	MCPAddr   string // of the MCP endpoint
	PublicURL string // where people reach the pages; no trailing slash
	MCPURL    string // where agents reach the MCP endpoint

	// Provider signs people in to the pages; nil: only the desk's own passwords do.
	Provider *signin.Provider

	OAuth *oauth.Verifier // of an identity provider's access tokens; nil: only the desk's own tokens

	SecretKey []byte // 32 bytes or more; the same on every replica
	// Proxies are believed when they say for whom they ask; the zero value believes none.
	Proxies   proxy.Trust
	RateLimit int // calls a second per user, and per address, with bursts of five times as many; 0 is off
	Version   string
	Logger    *slog.Logger
}

// Server serves both addresses. Make it with New.
type Server struct {
	cfg     Config
	log     *slog.Logger
	app     *fiber.App
	mcp     *http.Server
	pages   *pages.Pages
	metrics *metrics

	ctx   context.Context // ends first when the desk shuts down
	stop  context.CancelFunc
	ready atomic.Bool

	mu              sync.Mutex
	addr, mcpAddr   net.Addr
	listening       chan struct{}
	strictTransport bool
}

// New builds the server; Run makes it listen.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.PublicURL = strings.TrimSuffix(cfg.PublicURL, "/")
	sessions, err := auth.New(cfg.Store, cfg.SecretKey, cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, listening: make(chan struct{}), strictTransport: strings.HasPrefix(strings.ToLower(cfg.PublicURL), "https://")}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.metrics = newMetrics(cfg.Store)
	perPerson := newLimiter(cfg.RateLimit, cfg.Store.Now).take // over REST and MCP together

	identify, issuers, scopes := auth.Identify(cfg.Store.IdentityByToken), []string(nil), []models.Scope(nil)
	if cfg.OAuth != nil {
		identify, issuers, scopes = cfg.OAuth.Identify, []string{cfg.OAuth.Issuer()}, cfg.OAuth.Scopes()
	}

	s.app = fiber.New(fiber.Config{
		AppName: "apdesk", DisableStartupMessage: true, Immutable: true, // strings outlive the request in services and logs
		BodyLimit: BodyLimit, DisablePreParseMultipartForm: true, ReadBufferSize: headerBytes, ReadTimeout: headerTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		ErrorHandler: s.failed,
	})
	s.app.Server().HeaderReceived = bounds
	s.app.Use(cfg.Proxies.Handler, s.observe, s.headers, unambiguous)
	s.app.Get("/healthz", s.healthForPeople)
	s.app.Get("/readyz", s.healthForPeople)
	s.app.Get("/metrics", s.metrics.handler())
	s.app.Use(s.limitStrangers(newLimiter(cfg.RateLimit, cfg.Store.Now)), readable)
	s.app.Get("/static/*", serveStatic)
	s.app.All("/mcp", s.misdirected)
	api.New(api.Config{
		Store: cfg.Store, Queue: cfg.Queue, Approvals: cfg.Approvals, Confirm: cfg.Confirm, PublicURL: cfg.PublicURL, Version: cfg.Version,
		Context: s.ctx, Limit: perPerson, Waiting: s.metrics.waiting("api"), Identify: identify, Logger: cfg.Logger,
	}).Mount(s.app)
	s.pages = pages.New(pages.Config{
		Store: cfg.Store, Queue: cfg.Queue, Approvals: cfg.Approvals, Confirm: cfg.Confirm, Auth: sessions, Provider: cfg.Provider, PublicURL: cfg.PublicURL, Limit: perPerson, Logger: cfg.Logger, Context: s.ctx,
	})
	s.pages.Mount(s.app)

	s.mcp = &http.Server{
		Handler: cfg.Proxies.Behind(s.strict(s.healthForAgents(s.metrics.counting(mcpserver.New(mcpserver.Config{
			Store: cfg.Store, Queue: cfg.Queue, Approvals: cfg.Approvals, Confirm: cfg.Confirm, PublicURL: cfg.PublicURL, MCPURL: cfg.MCPURL, Version: cfg.Version,
			LimitPerson: perPerson, LimitAddress: newLimiter(cfg.RateLimit, cfg.Store.Now).take, Observe: s.metrics.toolCalled, Waiting: s.metrics.waiting("mcp"),
			Identify: identify, AuthorizationServers: issuers, OAuthScopes: scopes, Stopping: s.ctx.Done(), Logger: cfg.Logger,
		}))))),
		// The time to write counts from the last header on: body, wait and answer.
		ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: readTime + requestTime + writeTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// bounds are the limits of one request, once its headers are there: one that may carry a file may be
// larger than others.
func bounds(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	limit := fasthttp.RequestConfig{MaxRequestBodySize: BodyLimit, ReadTimeout: readTime, WriteTimeout: writeTime}
	path, _, _ := strings.Cut(string(h.RequestURI()), "?")
	if upload.Takes(string(h.Method()), path) {
		limit.MaxRequestBodySize = upload.BodyLimit
	}
	return limit
}

// Addresses are where the server really listens, once it does. They differ from those configured when
// a port was 0.
func (s *Server) Addresses(ctx context.Context) (people, agents string, err error) {
	select {
	case <-ctx.Done():
		return "", "", ctx.Err()
	case <-s.listening:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr.String(), s.mcpAddr.String(), nil
}

// Run listens on both addresses and serves until ctx ends or an address fails. Then it takes no more
// connections, ends waits and live streams at once, and lets what runs finish for a bounded time.
func (s *Server) Run(ctx context.Context) error {
	defer s.stop()
	var listen net.ListenConfig
	forPeople, err := listen.Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("web: listen for pages and REST: %w", err)
	}
	forAgents, err := listen.Listen(ctx, "tcp", s.cfg.MCPAddr)
	if err != nil {
		return errors.Join(fmt.Errorf("web: listen for MCP: %w", err), forPeople.Close())
	}
	people, agents := newListener(forPeople), newListener(forAgents)
	s.mu.Lock()
	s.addr, s.mcpAddr = people.Addr(), agents.Addr()
	s.mu.Unlock()

	failed := make(chan error, 2)
	go func() { failed <- s.app.Listener(people) }()
	go func() {
		err := s.mcp.Serve(agents)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		failed <- err
	}()
	s.ready.Store(true)
	close(s.listening)
	s.log.InfoContext(ctx, "desk is up", "pages", s.cfg.PublicURL, "mcp", s.cfg.MCPURL, "addr", people.Addr().String(), "mcp_addr", agents.Addr().String())

	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
		if err == nil {
			err = errors.New("web: an address closed by itself")
		}
	}
	s.log.InfoContext(ctx, "desk is going down")
	return errors.Join(err, s.shutdown(people, agents))
}

// shutdown ends waits first, because they would keep their connections busy.
func (s *Server) shutdown(listeners ...*listener) error {
	s.ready.Store(false)
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	done := make(chan error, 2)
	go func() {
		err := s.app.ShutdownWithContext(ctx)
		if err != nil {
			err = fmt.Errorf("web: shut down pages and REST with %d connections open: %w", s.app.Server().GetOpenConnectionsCount(), err)
		}
		done <- err
	}()
	go func() {
		err := s.mcp.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("web: shut down MCP: %w", err), s.mcp.Close())
		}
		done <- err
	}()
	var errs []error
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for len(errs) < cap(done) {
		for _, l := range listeners {
			l.closeSilent()
		}
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-look.C:
		}
	}
	return errors.Join(errs...)
}

// failed answers what no handler answered: on REST in the envelope, else as a page.
func (s *Server) failed(c *fiber.Ctx, err error) error {
	if problem.RequestID(c) == "" { // refused before any handler ran
		s.name(c)
		s.setHeaders(c)
		_, status, _ := problem.Of(err, "")
		s.metrics.observe("people", "other", "none", status, 0)
		s.log.InfoContext(c.UserContext(), "request refused unread", "status", status, "request_id", problem.RequestID(c), "address", proxy.Of(c).Address, "cause", err)
	}
	var web *fiber.Error
	if errors.As(err, &web) && web.Code == http.StatusRequestEntityTooLarge {
		limit := BodyLimit
		if upload.Takes(c.Method(), c.Path()) {
			limit = models.MaxFile
		}
		ne := models.E(models.BadRequest, fmt.Sprintf("The body is too large (limit %d bytes).", limit), map[string]any{"limit_bytes": limit})
		if conn, ok := c.Context().Conn().(*connection); ok {
			conn.linger.Store(true)
		}
		if !strings.HasPrefix(c.Path(), "/api/") && wantsPage(c) {
			return s.pages.Problem(c, err)
		}
		return problem.SendNamed(c, ne, web.Code)
	}
	if c.Path() == api.Prefix || strings.HasPrefix(c.Path(), "/api/") || !wantsPage(c) {
		return problem.Send(c, s.log, err)
	}
	return s.pages.Problem(c, err)
}

// wantsPage says whether somebody reads the answer in a browser.
func wantsPage(c *fiber.Ctx) bool { return strings.Contains(c.Get(fiber.HeaderAccept), "text/html") }

// misdirected tells a client that came to the people's address where the MCP endpoint is.
func (s *Server) misdirected(c *fiber.Ctx) error {
	ne := models.E(models.BadRequest, "The MCP endpoint is not at this address. Connect to "+s.cfg.MCPURL+" instead.", map[string]any{"mcp_url": s.cfg.MCPURL})
	return problem.SendNamed(c, ne, http.StatusMisdirectedRequest)
}

// health is what a supervisor and a proxy ask, on both addresses alike.
func (s *Server) health(ctx context.Context, path string) (status int, text string, known bool) {
	switch path {
	case "/healthz": // both addresses accept calls
		text = "ok\n"
	case "/readyz": // calls can be answered now
		text = "ready\n"
	default:
		return 0, "", false
	}
	if !s.ready.Load() {
		return http.StatusServiceUnavailable, "not listening\n", true
	}
	if path == "/readyz" {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := s.cfg.Store.Ready(ctx); err != nil {
			s.log.WarnContext(ctx, "not ready", "cause", err)
			return http.StatusServiceUnavailable, "the database does not answer, or takes no writes\n", true
		}
	}
	return http.StatusOK, text, true
}

func (s *Server) healthForPeople(c *fiber.Ctx) error {
	status, text, _ := s.health(c.UserContext(), c.Path())
	return c.Status(status).SendString(text)
}

func (s *Server) healthForAgents(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			if status, text, known := s.health(r.Context(), r.URL.Path); known {
				w.Header().Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text) // whoever asked may be gone
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
