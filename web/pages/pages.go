package pages

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/auth/passkey"
	"github.com/apdesk/apdesk/web/auth/provider"
	"github.com/apdesk/apdesk/web/problem"
)

// Config is what the pages need.
type Config struct {
	Store     *models.Store
	Queue     *queue.Service
	Approvals *approvals.Service
	Confirm   *confirm.Service
	Auth      *auth.Auth
	// Provider signs people in too; nil: only the desk's own passwords do.
	Provider *provider.Provider
	// PublicURL is the address people use.
	PublicURL string
	// Limit says how long a user has to wait before the next request; nil limits nobody.
	Limit  func(userID string) (wait time.Duration, ok bool)
	Logger *slog.Logger
	// Context ends when the desk shuts down, and with it every live stream. nil never ends.
	Context context.Context
}

// Pages serves the desk's pages. Make it with New and put it on a router with Mount.
type Pages struct {
	store     *models.Store
	queue     *queue.Service
	approvals *approvals.Service
	confirm   *confirm.Service
	auth      *auth.Auth
	passkeys  *passkey.Keys
	provider  *provider.Provider
	publicURL string
	limit     func(userID string) (wait time.Duration, ok bool)
	log       *slog.Logger
	app       context.Context
}

// New makes the pages.
func New(cfg Config) *Pages {
	p := &Pages{store: cfg.Store, queue: cfg.Queue, approvals: cfg.Approvals, confirm: cfg.Confirm, auth: cfg.Auth, limit: cfg.Limit, log: cfg.Logger, app: cfg.Context, passkeys: passkey.New(cfg.Store), provider: cfg.Provider, publicURL: cfg.PublicURL}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.app == nil {
		p.app = context.Background()
	}
	return p
}

// Mount puts every page on the router. GET and HEAD change nothing; every POST checks its CSRF token
// first.
func (p *Pages) Mount(r *fiber.App) {
	r.Server().KeepHijackedConns = true // live streams close theirs
	r.Get("/login", p.guarded(p.showLogin))
	r.Post("/login", p.guarded(p.signIn))
	r.Get(welcomePath, p.guarded(p.showWelcome))
	r.Post(welcomePath, p.guarded(p.useWelcome))
	p.mountSecondStep(r)
	p.mountProvider(r)

	get := func(path string, show func(*visit) error) { r.Get(path, p.guarded(p.signedIn(show))) }
	post := func(path string, act func(*visit) error) {
		r.Post(path, p.guarded(p.signedIn(func(v *visit) error {
			if err := p.auth.CheckCSRF(v.c); err != nil {
				return err
			}
			return act(v)
		})))
	}
	post("/logout", (*visit).signOut)
	post("/workspace", (*visit).switchWorkspace)
	get(LivePath, (*visit).live)

	get("/", (*visit).home)
	mountLists(get, post)

	get("/cases/:id", (*visit).showCase)
	post("/cases/:id", (*visit).decideCase)
	post("/cases/:id/decision", (*visit).decideCase)
	post("/cases/:id/claim", (*visit).claimCase)
	post("/cases/:id/release", (*visit).releaseCase)
	post("/cases/:id/take-over", (*visit).takeOverCase)
	post("/cases/:id/comments", (*visit).commentCase)

	mountBulk(get, post)
	get("/approvals", (*visit).listApprovals)
	get("/approvals/:id", (*visit).showApproval)
	post("/approvals/:id", (*visit).vote)
	post("/approvals/:id/vote", (*visit).vote)
	get("/approvals/:id/revoke", (*visit).askRevoke)
	post("/approvals/:id/revoke", (*visit).revoke)
	get("/approvals/:id/withdraw", (*visit).askWithdraw)
	post("/approvals/:id/withdraw", (*visit).withdraw)

	get("/confirmations", (*visit).listConfirmations)
	get("/confirmations/:id", (*visit).showConfirmation)
	post("/confirmations/:id", (*visit).answerConfirmation)

	get("/holds", (*visit).listHolds)
	get("/holds/:id", (*visit).showHold)

	get("/settings", (*visit).showSettings)
	post("/settings/period", (*visit).movePeriod)
	post("/settings/holidays", (*visit).addHoliday)
	post("/settings/holidays/remove", (*visit).removeHoliday)
	post("/settings/bindings", (*visit).setBinding)
	post("/settings/bindings/remove", (*visit).removeBinding)
	get("/settings/rules", (*visit).showRules)
	post("/settings/rules", (*visit).addRule)
	post("/settings/rules/:id/retire", (*visit).retireRule)
	get("/settings/servers", (*visit).showServers)
	post("/settings/servers", (*visit).addServerRule)
	post("/settings/servers/:id/retire", (*visit).retireServerRule)
	get("/settings/security", (*visit).showSecurity)
	post("/settings/security", (*visit).setBlock)

	for _, more := range []func(get, post route){mountMatrix, mountPeople, mountDelegations, mountInvoice, mountProof, mountNotices, mountFiles, mountWork, mountAudit, mountReports, mountSearch, mountHours, mountAccount, mountTokens, mountPasskeys} {
		more(get, post)
	}
}

// route puts one page, or one act of a person, on the router.
type route = func(path string, handle func(*visit) error)

// guarded turns the error of a handler into its page.
func (p *Pages) guarded(h fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := h(c); err != nil {
			return p.Problem(c, err)
		}
		return nil
	}
}

// signedIn lets only a signed-in person through; everybody else is sent to sign in, whatever the
// method.
func (p *Pages) signedIn(h func(*visit) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		v, err := p.visit(c)
		if models.IsCode(err, models.Unauthenticated) && c.Path() != LivePath {
			return p.toLogin(c) // a stream is no page: it just ends
		}
		if err != nil {
			return err
		}
		if err := v.chooseWorkspace(); err != nil {
			return v.orSetUp(err)
		}
		v.speak()
		return h(v)
	}
}

// visit says who comes. It fails with unauthenticated.
func (p *Pages) visit(c *fiber.Ctx) (*visit, error) {
	id, err := p.auth.Session(c)
	if err != nil {
		return nil, err
	}
	token, err := p.auth.CSRFToken(c)
	if err != nil {
		return nil, err
	}
	v := &visit{p: p, c: c, ctx: c.UserContext(), id: id, csrf: token, words: words{now: p.store.Now().Time}}
	v.workspaces, err = p.store.WorkspacesOf(v.ctx, id)
	return v, err
}

// param is a part of the address as text; it stays valid after the request.
func (v *visit) param(name string) string {
	raw := strings.Clone(v.c.Params(name))
	if text, err := url.PathUnescape(raw); err == nil {
		return text
	}
	return raw
}

// formField is one field of a posted form.
type formField struct{ name, value string }

// Typed is a field of a form before what no database keeps was marked in it. The request keeps those of a form
// in which something was, under TypedKey.
type Typed struct{ Name, Value string }

// TypedKey is the name under which they are kept.
const TypedKey = "apdesk/typed"

// isFreeText says whether people write into a field in their own words. What they write there is checked as a
// whole, by models.FreeText and models.FreeLine, so it comes as it was sent.
func isFreeText(name string) bool {
	return slices.Contains([]string{"reason", "text", "question", "note", "name", "server_name"}, name) || strings.HasPrefix(name, "input.") || strings.HasPrefix(name, "content.")
}

// posted lists the fields of the form in the order in which they were sent. What stands in the address
// is no field of a form.
func posted(c *fiber.Ctx) []formField {
	fields := postedMarked(c)
	raw, _ := c.Locals(TypedKey).([]Typed)
	for i, f := range raw {
		if isFreeText(f.Name) && strings.ContainsRune(f.Value, 0) {
			fields[i].value = strings.ToValidUTF8(f.Value, "\uFFFD")
		}
	}
	return fields
}

// postedMarked is posted with marks for what no database keeps.
func postedMarked(c *fiber.Ctx) []formField {
	var fields []formField
	c.Context().PostArgs().VisitAll(func(name, value []byte) {
		fields = append(fields, formField{string(name), string(value)})
	})
	if form, err := c.MultipartForm(); err == nil {
		for name, values := range form.Value {
			for _, value := range values {
				fields = append(fields, formField{name, value})
			}
		}
	}
	return fields
}

// fieldsOf reads fields of a form as they were sent; of several with one name the first that is filled
// in.
func fieldsOf(c *fiber.Ctx, names ...string) map[string]string {
	values := make(map[string]string, len(names))
	for _, f := range posted(c) {
		if slices.Contains(names, f.name) && values[f.name] == "" {
			values[f.name] = f.value
		}
	}
	return values
}

// typed reads fields of the form that was posted, without blanks around them.
func (v *visit) typed(names ...string) map[string]string {
	values := fieldsOf(v.c, names...)
	for name, value := range values {
		values[name] = trimmed(value)
	}
	return values
}

// trimmed is a text without blanks around it. Control characters stay, to be refused by name.
func trimmed(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) && (!unicode.IsControl(r) || strings.ContainsRune("\r\n\t", r))
	})
}

// version reads the version a form was made for.
func version(text string) (int64, []models.Issue) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		stale := models.Issue{Path: "/version", Message: "the form does not say which state it is about; read the page as it is now and send it again"}
		return 0, []models.Issue{stale}
	}
	return n, nil
}

// invalid is VALIDATION_ERROR with the issues, nil without any.
func invalid(issues []models.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return models.Invalid(issues...)
}

// asNamed is what a person may see of an error; anything that is no named error is INTERNAL.
func asNamed(err error) *models.NamedError {
	ne, _, _ := problem.Of(err, "")
	return ne
}
