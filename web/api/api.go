package api

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/problem"
)

// Prefix is where the operations live.
const Prefix = "/api/v1"

// Config is what the operations need.
type Config struct {
	Store     *models.Store
	Queue     *queue.Service
	Approvals *approvals.Service
	Confirm   *confirm.Service
	PublicURL string // where people reach the pages that answers point to; no trailing slash
	Version   string // of the program, for the OpenAPI document
	// Context ends when the desk shuts down: waits then answer at once with what they have. nil never
	// ends.
	Context context.Context
	// Limit says how long a user has to wait before the next call; nil limits nobody.
	Limit func(userID string) (wait time.Duration, ok bool)
	// Waiting is told when a wait begins (+1) and ends (-1); may be nil.
	Waiting func(change int)
	// Identify finds whose bearer token it is; by default personal tokens of the store.
	Identify auth.Identify
	Logger   *slog.Logger
}

// API serves the operations. Make it with New and put it on a router with Mount.
type API struct {
	cfg       Config
	endpoints []endpoint
	document  func() ([]byte, error)
}

// New makes the API.
func New(cfg Config) *API {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	if cfg.Identify == nil && cfg.Store != nil {
		cfg.Identify = cfg.Store.IdentityByToken
	}
	a := &API{cfg: cfg}
	a.endpoints = a.table()
	a.document = sync.OnceValues(func() ([]byte, error) { return a.openAPI() })
	return a
}

// Mount puts every operation on the router, under Prefix.
func (a *API) Mount(r fiber.Router) {
	api := r.Group(Prefix)
	api.Get("/openapi.json", a.answering(func(c *fiber.Ctx) error {
		doc, err := a.document()
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(doc)
	}))
	bearer := auth.Bearer(a.cfg.Identify)
	for _, e := range a.endpoints {
		handlers := []fiber.Handler{}
		if !e.open {
			handlers = append(handlers, a.answering(bearer), a.answering(a.limited))
		}
		handlers = append(handlers, a.answering(a.serve(e)))
		api.Add(e.method, routePath(e.path), handlers...)
		if e.method == fiber.MethodGet {
			api.Add(fiber.MethodHead, routePath(e.path), handlers...)
		}
	}
}

// answering turns the error of a handler into the envelope.
func (a *API) answering(h fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := h(c); err != nil {
			return problem.Send(c, a.cfg.Logger, err)
		}
		return nil
	}
}

func (a *API) limited(c *fiber.Ctx) error {
	id, ok := auth.IdentityOf(c)
	if a.cfg.Limit == nil || !ok {
		return c.Next()
	}
	if wait, ok := a.cfg.Limit(id.User.ID); !ok {
		seconds := max(1, int((wait+time.Second-1)/time.Second))
		return models.E(models.RateLimited, "Too many calls. Wait and repeat the same call.", map[string]any{"retry_after_seconds": seconds})
	}
	return c.Next()
}

// pageOf is the address of a record's page, for people.
func (a *API) pageOf(kind, id string) string {
	return a.cfg.PublicURL + "/" + kind + "/" + url.PathEscape(id)
}

// wait reads with a wait that ends at once, with the state as it is, when the desk shuts down.
func wait[T any](a *API, ctx context.Context, seconds int64, read func(context.Context, time.Duration) (T, error)) (T, error) {
	if seconds == 0 {
		return read(ctx, 0)
	}
	if a.cfg.Waiting != nil {
		a.cfg.Waiting(+1)
		defer a.cfg.Waiting(-1)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.cfg.Context, cancel)()
	out, err := read(waiting, time.Duration(seconds)*time.Second)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return read(ctx, 0)
	}
	return out, err
}
