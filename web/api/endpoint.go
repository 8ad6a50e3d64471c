package api

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/wire"
)

// endpoint is one operation.
type endpoint struct {
	method, path string // path as OpenAPI writes it: /cases/{case_id}
	name         string // operationId
	summary      string
	about        string // what a caller has to know beyond the summary

	action string // what the workspace can forbid, by the name of the tool that does the same; empty: nothing

	open        bool // needs no token
	noWorkspace bool // answers about the caller, not about a workspace
	scopes      []models.Scope
	roles       []models.Role // who may, for the document; the services decide

	query  reflect.Type // nil: none but workspace_id
	bodies []*wire.Spec // what the body may be; none: there is no body
	empty  bool         // an empty body is as good as {}
	upload bool         // the body is a file, or a form with one
	binary bool         // the answer is a file
	answer reflect.Type
	status []int         // of success
	fails  []models.Code // beyond those every operation may answer

	run func(ctx context.Context, c *call) (status int, answer any, err error)
}

// call is one call of an operation by somebody who may make it.
type call struct {
	by       models.Principal
	identity models.Identity
	body     *wire.Body
	query    any // pointer to the operation's query struct
	id       string
	http     *fiber.Ctx // of an upload
	key      string     // idempotency key of an upload
}

// sender is an answer that is no JSON.
type sender interface{ send(c *fiber.Ctx) error }

type workspaceQuery struct{ wire.Where }

// idName is the name of the path's parameter; empty when there is none.
func (e endpoint) idName() string {
	_, rest, found := strings.Cut(e.path, "{")
	name, _, _ := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return name
}

// routePath is the path as Fiber writes it.
func routePath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// serve runs an operation: workspace, then scope, then what the workspace forbids, then what was sent,
// then the service.
func (a *API) serve(e endpoint) fiber.Handler {
	queryType := e.query
	if queryType == nil {
		queryType = reflect.TypeFor[workspaceQuery]()
	}
	return func(c *fiber.Ctx) error {
		x := &call{query: reflect.New(queryType).Interface()}
		x.identity, _ = auth.IdentityOf(c)
		if name := e.idName(); name != "" {
			id, err := url.PathUnescape(utils.CopyString(c.Params(name)))
			if err != nil {
				return models.E(models.NotFound, "There is nothing at this address.", nil)
			}
			x.id = id
		}
		if err := e.read(c, x); err != nil {
			return err
		}
		if err := e.admit(c, x); err != nil {
			return err
		}
		if err := a.allowed(c.UserContext(), e, x.by); err != nil {
			return err
		}
		if err := wire.ReadQuery(parameters(c), x.query); err != nil {
			return err
		}
		status, answer, err := e.run(c.UserContext(), x)
		if err != nil {
			return err
		}
		if file, ok := answer.(sender); ok {
			return file.send(c)
		}
		body, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, "application/json; charset=utf-8")
		return c.Status(status).Send(body)
	}
}

// read takes the body apart.
func (e endpoint) read(c *fiber.Ctx, x *call) error {
	if e.upload {
		x.http, x.key = c, utils.CopyString(c.Get("Idempotency-Key"))
		if n := utf8.RuneCountInString(x.key); n > models.MaxIdempotencyKey || !utf8.ValidString(x.key) {
			return models.Invalid(models.Issue{Path: "/idempotency_key", Message: fmt.Sprintf("must have at most %d characters", models.MaxIdempotencyKey)})
		}
		return nil
	}
	if len(e.bodies) == 0 {
		return nil
	}
	raw := c.Body()
	if len(raw) == 0 && !e.empty {
		return models.E(models.BadRequest, "This address needs a JSON object as its body.", nil)
	}
	if len(raw) > 0 {
		media, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
		if err != nil || media != fiber.MIMEApplicationJSON {
			return fiber.NewError(http.StatusUnsupportedMediaType)
		}
	}
	body, err := wire.Parse(raw)
	if err != nil {
		return err
	}
	body.UseKey(utils.CopyString(c.Get("Idempotency-Key")))
	if name := e.idName(); name != "" {
		body.UseID(name, x.id)
	}
	x.body = body
	return nil
}

// admit finds the workspace and checks the token's scopes, before anything sent is judged.
func (e endpoint) admit(c *fiber.Ctx, x *call) error {
	if e.open {
		return nil
	}
	probe := models.Principal{Channel: models.ChannelAPI, Scopes: x.identity.Scopes(), TokenName: x.identity.TokenName()}
	if e.noWorkspace {
		x.by = probe
		return auth.Reaches(c)
	}
	argument := ""
	if x.body != nil {
		if err := x.body.CheckWorkspace(); err != nil {
			return err
		}
		argument = x.body.WorkspaceID()
	}
	by, err := auth.Principal(c, argument)
	if err != nil {
		return err
	}
	x.by = by
	return by.NeedScope(e.scopes...)
}

// allowed refuses what the workspace's security settings forbid over REST. Whoever may not do it
// anyway is told that instead.
func (a *API) allowed(ctx context.Context, e endpoint, by models.Principal) error {
	if e.action == "" {
		return nil
	}
	err := a.cfg.Store.CheckBlocked(ctx, by, e.action)
	if models.IsCode(err, models.SecurityBlocked) && len(e.roles) > 0 {
		if refused := by.NeedRole(e.roles...); refused != nil {
			return refused
		}
	}
	return err
}

func parameters(c *fiber.Ctx) []wire.Parameter {
	var list []wire.Parameter
	c.Context().QueryArgs().VisitAll(func(name, value []byte) {
		list = append(list, wire.Parameter{Name: string(name), Value: string(value)})
	})
	return list
}
