package auth

import (
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
)

// ErrSecondStep is what SignIn answers when the password was right and a passkey is asked for: nobody is
// signed in yet, and this browser may finish the sign-in.
var ErrSecondStep = errors.New("auth: the password is right, and a passkey is asked for")

const (
	halfCookie = "apdesk_half_sign_in"
	awayCookie = "apdesk_at_provider"
)

// HalfSecret is the secret of the sign-in that waits for a passkey in this browser; empty when none does.
func (a *Auth) HalfSecret(c *fiber.Ctx) string {
	if known, ok := c.Locals(halfKey).(string); ok {
		return known
	}
	return utils.CopyString(c.Cookies(a.Cookie(c, halfCookie)))
}

func (a *Auth) halfSignedIn(c *fiber.Ctx, secret string) {
	a.setCookie(c, halfCookie, secret, models.HalfSignInLife)
	c.Locals(halfKey, secret)
}

// FinishByCode ends the sign-in that waits for a passkey with a recovery code. It fails as
// models.Store.FinishSignInByCode.
func (a *Auth) FinishByCode(c *fiber.Ctx, code string) error {
	secret, id, err := a.store.FinishSignInByCode(c.UserContext(), a.HalfSecret(c), strings.Clone(code))
	return a.Opened(c, secret, id, err)
}

// Opened hands a session that was just opened to the browser, unless err says that none was.
func (a *Auth) Opened(c *fiber.Ctx, secret string, id models.Identity, err error) error {
	if err != nil {
		return err
	}
	_, life := a.store.SessionLimits()
	a.setCookie(c, sessionCookie, secret, life)
	a.Remember(c, id.User)
	a.setCookie(c, preSessionCookie, "", 0)
	if c.Cookies(a.Cookie(c, halfCookie)) != "" {
		a.setCookie(c, halfCookie, "", 0)
	}
	c.Locals(identityKey, id)
	c.Locals(sessionKey, secret)
	return nil
}

// Changed lets the rest of the request see what became of the person's session.
func (a *Auth) Changed(c *fiber.Ctx, id models.Identity) { c.Locals(identityKey, id) }

// Away remembers in the browser that it is on its way through the identity provider.
func (a *Auth) Away(c *fiber.Ctx, secret string) {
	a.setCookie(c, awayCookie, secret, models.ProviderSignInLife)
}

// BackFrom is what Away remembered, which then is forgotten; empty when the browser was not sent there.
func (a *Auth) BackFrom(c *fiber.Ctx) string {
	secret := utils.CopyString(c.Cookies(a.Cookie(c, awayCookie)))
	if secret != "" {
		a.setCookie(c, awayCookie, "", 0)
	}
	return secret
}
