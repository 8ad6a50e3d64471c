package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/auth"
)

// Path is where the endpoint answers.
const Path = "/mcp"

const wellKnown = "/.well-known/oauth-protected-resource"

// Config is what the endpoint needs. Store, Queue, Approvals and MCPURL must be set.
type Config struct {
	Store     *models.Store
	Queue     *queue.Service
	Approvals *approvals.Service
	// Confirm keeps the questions of tools that undo something, and those of other servers; without it
	// neither kind of tool is offered.
	Confirm *confirm.Service

	PublicURL string // address of the pages, for links in answers; no trailing slash
	MCPURL    string // public address of this endpoint
	Version   string // of the program, shown to clients

	// AllowedHosts are further host names to answer to, besides loopback and those of the two URLs.
	AllowedHosts []string
	// AuthorizationServers are the issuers whose access tokens are accepted; none by default.
	AuthorizationServers []string
	// OAuthScopes are the scopes their access tokens may carry, for clients to ask for.
	OAuthScopes []models.Scope
	// Identify finds whose bearer token it is; unauthenticated when nobody's. By default personal
	// tokens of the store.
	Identify auth.Identify
	// LimitPerson and LimitAddress bound how often somebody calls a tool, and an address sends anything
	// at all; nil: as often as they like.
	LimitPerson, LimitAddress Limit
	// Observe is told how each tools/call ended: ok, input_required, the code of an error, or why no tool
	// answered. A tool the endpoint does not have is "unknown". It must not block.
	Observe func(tool, outcome string, took time.Duration)
	// Waiting is told when a read begins (+1) and ends (-1) to wait for a decision.
	Waiting func(change int)
	// Stopping is closed when the program shuts down: waits then answer at once with what they have.
	Stopping <-chan struct{}
	Logger   *slog.Logger
}

type handler struct {
	cfg         Config
	logger      *slog.Logger
	hosts       hostList
	metadataURL string
	tools       map[string]*tool
	sdk         http.Handler
	mux         *http.ServeMux
	keeper      keeper           // nil without Config.Confirm
	waiting     func(change int) // told when a wait begins and ends; nil: nobody watches

	// alsoServes says what a server made of the same parts offers besides the desk's methods and tools;
	// nil, as at the desk: nothing.
	alsoServes func(*message) bool
}

// New makes the endpoint: Path and the RFC 9728 metadata; anything else is 404.
//
// The server it runs on must be net/http's, so that a client that goes away ends its call, and must
// allow answers to take longer than the longest wait of 50 seconds.
func New(cfg Config) http.Handler { return newHandler(cfg).mux }

// newHandler makes the endpoint with further tools besides its own.
func newHandler(cfg Config, further ...*tool) *handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Identify == nil {
		cfg.Identify = cfg.Store.IdentityByToken
	}
	h := &handler{cfg: cfg, logger: cfg.Logger, tools: map[string]*tool{}, waiting: cfg.Waiting}
	if cfg.Confirm != nil {
		h.keeper = cfg.Confirm.Sealer()
	}
	h.hosts = newHostList(cfg.PublicURL, cfg.MCPURL)
	for _, name := range cfg.AllowedHosts {
		h.hosts[name] = true
	}
	resourcePath := Path
	if u, err := url.Parse(cfg.MCPURL); err == nil && u.Host != "" {
		resourcePath = u.Path
		u.Path, u.RawQuery, u.Fragment = wellKnown+u.Path, "", ""
		h.metadataURL = u.String()
	}

	server := mcp.NewServer(
		&mcp.Implementation{Name: "apdesk", Title: "apdesk", Version: cfg.Version, WebsiteURL: cfg.PublicURL},
		&mcp.ServerOptions{
			Instructions: instructions,
			// Prompts and resources are offered empty, so that asking for one names it as unknown.
			Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
			SupportedProtocolVersions: versions,
			SetCacheable:              cacheable,
			Logger:                    slog.New(slog.DiscardHandler), // every call has its own line here
		})
	for _, t := range append(h.allTools(), further...) {
		h.tools[t.name] = t
		t.shown = t.published()
		server.AddTool(t.registered(), h.serve(t))
	}
	server.AddReceivingMiddleware(h.survive, h.listed)
	h.sdk = h.speak(server, false)

	mux := http.NewServeMux()
	h.mux = mux
	mux.HandleFunc(Path, h.endpoint)
	for _, path := range []string{wellKnown, wellKnown + Path, wellKnown + resourcePath} {
		if _, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}}); pattern == "" {
			mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				if refused := h.checkHosts(r); refused != nil {
					refused.write(w)
					return
				}
				h.metadata(w, r)
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		(&refusal{status: http.StatusNotFound, code: codeInvalidRequest, message: "Not found: the endpoint is " + Path}).write(w)
	})
	return h
}

// speak is the SDK's side of the endpoint. Streams carry progress; the desk's answers are plain JSON.
func (h *handler) speak(server *mcp.Server, streams bool) http.Handler {
	return mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 !streams,
			PropagateRequestCancellation: true,
			MaxRequestBodyBytes:          bodyLimit,
			DisableLocalhostProtection:   true, // checkHosts knows the public names too
			Logger:                       h.logger,
		})
}

// cacheable says how long lists may be kept. Which tools are listed depends on the caller.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	if _, ok := req.GetParams().(*mcp.ListToolsParams); ok {
		c.TTLMs, c.CacheScope = int(time.Minute.Milliseconds()), "private"
		return
	}
	c.TTLMs, c.CacheScope = int(time.Hour.Milliseconds()), "public"
}

// exchange is one HTTP request on its way through: who asks, what, and what became of it.
type exchange struct {
	http      context.Context // ends when the client goes away
	requestID string
	address   string // that the request came from
	identity  models.Identity
	header    string // workspace named by header
	query     string // workspace named by query
	version   string
	msg       *message
	log       record
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// endpoint checks a request in the published order and hands it to the SDK.
func (h *handler) endpoint(w http.ResponseWriter, r *http.Request) {
	started := time.Now() // how long it took, not when it was
	x := &exchange{http: r.Context(), requestID: h.cfg.Store.NewID("req"), address: clientOf(r)}
	w.Header().Set("X-Request-Id", x.requestID)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	version, body, refused := h.check(w, r, x)
	called := x.msg != nil && x.msg.method == "tools/call"
	if refused != nil {
		x.log.refused(refused)
		if called {
			h.logCall(x, time.Since(started))
		}
		refuse(w, r, refused)
		return
	}
	if called {
		defer func() { h.logCall(x, time.Since(started)) }()
	}
	if x.msg.notification() {
		w.WriteHeader(http.StatusAccepted) // each request stands alone: there is nothing to be notified of
		return
	}
	x.version = version
	if t := h.tools[x.msg.tool]; t != nil && t.asks && x.msg.method == "tools/call" {
		body = x.msg.withoutAnswer()
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header = r.Header.Clone()
	r.Header.Del("Last-Event-ID") // to be ignored, says the protocol; the SDK refuses it
	r.Header.Del("Authorization") // nothing behind this point needs the secret
	if version == version2026 {
		if param, ok := nameParam[x.msg.method]; ok {
			name, _ := text(x.msg.params[param])
			r.Header.Set(nameHeader, name) // decoded, which the SDK does not do
		}
	}
	answer := &jsonOnly{ResponseWriter: w, id: x.msg.id}
	h.sdk.ServeHTTP(answer, r)
	answer.finish()
	if answer.status >= http.StatusBadRequest {
		x.log.unless(fmt.Sprintf("http_%d", answer.status)) // the SDK refused it before any tool ran
	}
}

// check is the published order of checks up to the params.
func (h *handler) check(w http.ResponseWriter, r *http.Request, x *exchange) (version string, body []byte, refused *refusal) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return "", nil, &refusal{status: http.StatusMethodNotAllowed, code: codeInvalidRequest, message: "Method Not Allowed: send requests with POST"}
	}
	if r.ContentLength > bodyLimit {
		return "", nil, tooLarge()
	}
	if r.ContentLength < 0 { // unknown until read
		if body, refused = readBody(r); refused != nil {
			return "", nil, refused
		}
	}
	if x.identity, refused = h.identify(w, r, x.requestID); refused != nil {
		return "", nil, refused
	}
	if refused = h.checkHosts(r); refused != nil {
		return "", nil, refused
	}
	if refused = h.checkAddress(w, r); refused != nil {
		return "", nil, refused
	}
	if x.header, x.query, refused = defaultWorkspaces(r, x.identity); refused != nil {
		return "", nil, refused
	}
	if refused = checkMedia(r); refused != nil {
		return "", nil, refused
	}
	if body == nil {
		if body, refused = readBody(r); refused != nil {
			return "", nil, refused
		}
	}
	if x.msg, refused = h.parse(body); refused != nil {
		return "", nil, refused
	}
	if x.msg.notification() {
		return "", body, nil
	}
	if version, refused = checkVersion(r, x.msg); refused != nil {
		return "", nil, refused
	}
	if refused = checkHeaders(r, x.msg, version); refused != nil {
		return "", nil, refused
	}
	if refused = checkMethod(x.msg, version); refused != nil && !h.servesToo(x.msg) {
		return "", nil, refused
	}
	if refused = h.checkParams(x.msg, version); refused != nil {
		return "", nil, refused
	}
	return version, body, nil
}
