package auth

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/problem"
)

// WorkspaceHeader names the workspace a call is about, when its arguments do not.
const WorkspaceHeader = "X-Workspace-Id"

// WorkspaceQuery is the query field that does the same.
const WorkspaceQuery = "workspace_id"

// BearerSecret is the credential in an Authorization header; empty when it carries none.
func BearerSecret(header string) string {
	scheme, secret, found := strings.Cut(strings.TrimSpace(header), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Clone(strings.TrimSpace(secret))
}

// Identify finds whose bearer token it is. It fails with unauthenticated, or with UNAVAILABLE when that
// cannot be found out now.
type Identify func(ctx context.Context, token string) (models.Identity, error)

type key int

const (
	identityKey key = iota
	sessionKey
	preSessionKey
	halfKey
)

// Bearer lets only holders of a token pass.
func Bearer(identify Identify) fiber.Handler {
	return func(c *fiber.Ctx) error {
		header := utils.CopyString(c.Get(fiber.HeaderAuthorization))
		id, err := identify(c.UserContext(), BearerSecret(header))
		if err != nil {
			if models.IsCode(err, models.Unauthenticated) && BearerSecret(header) != "" {
				c.Set(fiber.HeaderWWWAuthenticate, invalidToken)
			}
			return err
		}
		c.Locals(identityKey, id)
		err = c.Next()
		if models.IsCode(err, models.Unauthenticated) || c.Response().StatusCode() == fiber.StatusUnauthorized {
			c.Set(fiber.HeaderWWWAuthenticate, invalidToken) // it was revoked while the call waited
		}
		return err
	}
}

const invalidToken = `Bearer realm="apdesk", error="invalid_token"`

// IdentityOf is who calls, once Bearer or Sessions has found out.
func IdentityOf(c *fiber.Ctx) (models.Identity, bool) {
	id, ok := c.Locals(identityKey).(models.Identity)
	return id, ok
}

// Principal is who calls, acting in the workspace that the argument, the header, the query or the
// token names. It fails with the four ways in which a workspace can be refused.
func Principal(c *fiber.Ctx, argument string) (models.Principal, error) {
	id, ok := IdentityOf(c)
	if !ok {
		return models.Principal{}, models.E(models.Unauthenticated, "A bearer token is required.", nil)
	}
	return In(id, argument, utils.CopyString(c.Get(WorkspaceHeader)), utils.CopyString(c.Query(WorkspaceQuery)), models.ChannelAPI, problem.RequestID(c))
}

// Reaches refuses a call whose header or query names a workspace the caller cannot reach, although the
// call is about none.
func Reaches(c *fiber.Ctx) error {
	id, _ := IdentityOf(c)
	_, err := id.ChooseWorkspace("any", utils.CopyString(c.Get(WorkspaceHeader)), utils.CopyString(c.Query(WorkspaceQuery)))
	return err
}

// In is an identity acting in the workspace that argument, header, query or token names, on any
// channel.
func In(id models.Identity, argument, header, query string, channel models.Channel, requestID string) (models.Principal, error) {
	workspace, err := id.ChooseWorkspace(argument, header, query)
	if err != nil {
		return models.Principal{}, err
	}
	return id.As(workspace, channel, requestID)
}
