package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/proxy"
	"github.com/apdesk/apdesk/web/upload"
)

// CSRFField is the form field that proves a form came from one of the desk's own pages.
const CSRFField = "csrf_token"

// minKey is the shortest secret key accepted, in bytes.
const minKey = 32

// preSessionLife is how long the sign-in form stays valid.
const preSessionLife = 12 * time.Hour

// Auth keeps people signed in and guards their forms. Make it with New.
type Auth struct {
	store  *models.Store
	key    []byte
	origin string // scheme and host people use; empty: whatever the request names
	secure bool
}

// New needs the desk's secret key, at least 32 bytes, and the address people use, which may
// be empty. Over https the cookies are bound to that host alone.
func New(store *models.Store, secretKey []byte, publicURL string) (*Auth, error) {
	if len(secretKey) < minKey {
		return nil, errors.New("auth: the secret key needs at least 32 bytes")
	}
	a := &Auth{store: store, key: secretKey}
	if publicURL != "" {
		u, err := url.Parse(publicURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, errors.New("auth: the public URL must start with http:// or https://")
		}
		a.origin = strings.ToLower(u.Scheme + "://" + u.Host)
		a.secure = u.Scheme == "https"
	}
	return a, nil
}

// Secure says whether a request came over https: because people use the desk so, or because a trusted
// proxy says so.
func (a *Auth) Secure(c *fiber.Ctx) bool { return a.secure || proxy.Of(c).Proto == "https" }

// Cookie is the full name of a cookie. With the prefix a browser takes it only over https, for this
// host and the whole site, so that no neighbour can plant one.
func (a *Auth) Cookie(c *fiber.Ctx, name string) string {
	if a.Secure(c) {
		return "__Host-" + name
	}
	return name
}

const (
	sessionCookie    = "apdesk_session"
	preSessionCookie = "apdesk_sign_in"
)

func (a *Auth) setCookie(c *fiber.Ctx, name, value string, life time.Duration) {
	cookie := &fiber.Cookie{Name: a.Cookie(c, name), Value: value, Path: "/", HTTPOnly: true, Secure: a.Secure(c), SameSite: fiber.CookieSameSiteLaxMode,
		MaxAge: int(life / time.Second)}
	if life <= 0 {
		cookie.MaxAge, cookie.Expires = -1, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

// Session is who is signed in. It fails with unauthenticated when nobody is.
func (a *Auth) Session(c *fiber.Ctx) (models.Identity, error) {
	if id, ok := IdentityOf(c); ok && id.Session != nil {
		return id, nil
	}
	secret := utils.CopyString(c.Cookies(a.Cookie(c, sessionCookie)))
	id, err := a.store.IdentityBySession(c.UserContext(), secret)
	if err != nil {
		if secret != "" && models.IsCode(err, models.Unauthenticated) {
			a.setCookie(c, sessionCookie, "", 0)
		}
		return models.Identity{}, err
	}
	c.Locals(identityKey, id)
	c.Locals(sessionKey, secret)
	return id, nil
}

// SignIn checks a password and starts a session. It fails with unauthenticated or RATE_LIMITED, and with
// ErrSecondStep when a passkey is asked for.
func (a *Auth) SignIn(c *fiber.Ctx, email, password string) error {
	secret, id, err := a.store.SignIn(c.UserContext(), strings.Clone(email), strings.Clone(password), proxy.Of(c).Address, utils.CopyString(c.Get(fiber.HeaderUserAgent)), a.devices(c)...)
	if err == nil && id.Session == nil {
		a.halfSignedIn(c, secret)
		return ErrSecondStep
	}
	return a.Opened(c, secret, id, err)
}

// SignOut ends a person's session.
func (a *Auth) SignOut(c *fiber.Ctx, id models.Identity) error {
	a.setCookie(c, sessionCookie, "", 0)
	if id.Session == nil {
		return nil
	}
	return a.store.SignOut(c.UserContext(), id)
}

// CSRFToken is the value for the field CSRFField of every form on the page being made. For somebody
// who is not signed in it starts a pre-session, which only ties the sign-in form to this browser.
func (a *Auth) CSRFToken(c *fiber.Ctx) (string, error) {
	secret, err := a.secretOf(c)
	if err != nil {
		return "", err
	}
	if secret == "" {
		secret = a.preSession(c)
	}
	return a.token(secret), nil
}

// secretOf is the secret of the running session; empty when nobody is signed in.
func (a *Auth) secretOf(c *fiber.Ctx) (string, error) {
	if _, err := a.Session(c); err != nil {
		if models.IsCode(err, models.Unauthenticated) {
			return "", nil
		}
		return "", err
	}
	secret, _ := c.Locals(sessionKey).(string)
	return secret, nil
}

func (a *Auth) preSession(c *fiber.Ctx) string {
	if known, ok := c.Locals(preSessionKey).(string); ok {
		return known
	}
	secret := utils.CopyString(c.Cookies(a.Cookie(c, preSessionCookie)))
	if len(secret) < 32 || len(secret) > 128 {
		secret = models.Secret(rand.Reader, 32)
		a.setCookie(c, preSessionCookie, secret, preSessionLife)
	}
	c.Locals(preSessionKey, secret)
	return secret
}

func (a *Auth) token(secret string) string {
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte("apdesk csrf\x00" + secret))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckCSRF refuses a form that was not sent from one of the desk's own pages in this very browser
// session: SECURITY_BLOCKED.
func (a *Auth) CheckCSRF(c *fiber.Ctx) error {
	secret, err := a.secretOf(c)
	if err != nil {
		return err
	}
	if secret == "" {
		secret = c.Cookies(a.Cookie(c, preSessionCookie))
	}
	sent := subtle.ConstantTimeCompare([]byte(posted(c, CSRFField)), []byte(a.token(secret))) == 1
	if secret == "" || !sent || !a.OwnOrigin(c) {
		return models.E(models.SecurityBlocked, "This form was not sent from a current page of the desk. Load the page again and repeat what you did.",
			map[string]any{"reason": "form_not_current"})
	}
	return nil
}

// OwnOrigin believes what the browser says about where a form came from. Clients that say nothing
// are judged by the token alone.
func (a *Auth) OwnOrigin(c *fiber.Ctx) bool {
	switch c.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := strings.ToLower(c.Get(fiber.HeaderOrigin))
	if origin == "" {
		return true
	}
	if a.origin != "" && origin == a.origin {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && !a.secure && u.Host != "" && u.Host == proxy.HostOf(c) && (u.Scheme == "https" || !a.Secure(c))
}

// posted is a field of the form's body, never of the address.
func posted(c *fiber.Ctx, name string) string {
	if v := c.Context().PostArgs().Peek(name); len(v) > 0 {
		return string(v)
	}
	// A form with a file is not unpacked for this: it would stand in memory twice.
	if v := upload.Field(c, name); v != "" {
		return v
	}
	form, err := c.MultipartForm()
	if err != nil || len(form.Value[name]) == 0 {
		return ""
	}
	return form.Value[name][0]
}
