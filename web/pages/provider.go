package pages

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/web/auth/provider"
	"github.com/apdesk/apdesk/web/proxy"
)

const providerPath = "/login/provider"

// mountProvider puts signing in through an identity provider on the router, where one is configured.
func (p *Pages) mountProvider(r fiber.Router) {
	if p.provider == nil {
		return
	}
	r.Post(providerPath, p.guarded(p.toProvider))
	r.Get(provider.CallbackPath, p.guarded(p.fromProvider))
}

// providerButton lets people sign in through the identity provider; nil where there is none.
func (p *Pages) providerButton(csrf, next string) *views.ProviderForm {
	if p.provider == nil {
		return nil
	}
	return &views.ProviderForm{Form: views.Form{URL: providerPath, CSRF: csrf}, Next: next, Name: p.provider.Name()}
}

// toProvider is POST /login/provider with next. The browser is sent on by the page, not by a redirect: a
// form may be answered only from this site.
func (p *Pages) toProvider(c *fiber.Ctx) error {
	next := localPath(fieldsOf(c, "next")["next"])
	if err := p.auth.CheckCSRF(c); err != nil {
		return p.login(c, statusOf(err), signInForm{next: next}, err)
	}
	to, browser, err := p.provider.Begin(c.UserContext(), next)
	if err != nil {
		if !models.IsCode(err, models.Unavailable) {
			return err
		}
		p.log.WarnContext(c.UserContext(), "the identity provider does not answer", "issuer", p.provider.Issuer(), "cause", err)
		return p.login(c, statusOf(err), signInForm{next: next}, err)
	}
	p.auth.Away(c, browser)
	c.Set("Refresh", "0; url="+to)
	return p.render(c, http.StatusOK, views.ToProvider(views.ToProviderPage{Page: views.Page{Title: p.langOf(c).T("Sign in"), Assets: assets(), SelfURL: "/login"}, Name: p.provider.Name(), URL: templ.SafeURL(to)}))
}

// fromProvider is GET /login/provider/callback, where the provider sends people back to with state and code.
// It is the one GET that signs somebody in: the protocol wants it so, and the state, which only this browser
// can use and only once, takes the place of the form's token.
func (p *Pages) fromProvider(c *fiber.Ctx) error {
	if c.Method() != fiber.MethodGet {
		return fiber.NewError(http.StatusMethodNotAllowed)
	}
	query := func(name string) string { return utils.CopyString(c.Query(name)) }
	done, err := p.provider.Finish(c.UserContext(), p.auth.BackFrom(c), query("state"), query("code"), query("error"), proxy.Of(c).Address, utils.CopyString(c.Get(fiber.HeaderUserAgent)))
	if err == nil {
		if err := p.auth.Opened(c, done.Secret, done.Identity, nil); err != nil {
			return err
		}
		return seeOther(c, orHome(localPath(done.Next)))
	}
	ne, named := models.AsNamed(err)
	if !named || (ne.Code != models.Unauthenticated && ne.Code != models.InsufficientPermission && ne.Code != models.MembershipInactive && ne.Code != models.Unavailable) {
		return err
	}
	p.log.WarnContext(c.UserContext(), "nobody is signed in through the identity provider", "issuer", p.provider.Issuer(), "code", ne.Code, "cause", strings.TrimSpace(err.Error()))
	return p.login(c, statusOf(err), signInForm{next: localPath(done.Next)}, err)
}
