package pages

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/views/lang"
)

const langKey = "pages.lang"

// langOf is the language of the answer: the one the signed-in person chose, else the browser's wish.
func (p *Pages) langOf(c *fiber.Ctx) *lang.Lang {
	if l, ok := c.Locals(langKey).(*lang.Lang); ok {
		return l
	}
	l := p.wish(c)
	c.Locals(langKey, l)
	return l
}

// speak turns to the person in their language. A choice that cannot be read is none.
func (v *visit) speak() {
	chosen := ""
	if likes, err := v.likes(); err == nil {
		chosen = likes.Language
	}
	v.lang = v.p.wish(v.c)
	if chosen != "" {
		v.lang = lang.Find(chosen)
	}
	v.c.Locals(langKey, v.lang)
}

// render sends a page whole: it is written to memory first, so that a component that fails leaves the
// error page and never half of this one.
func render(c *fiber.Ctx, status int, page templ.Component) error {
	l, _ := c.Locals(langKey).(*lang.Lang)
	var body bytes.Buffer
	if err := page.Render(lang.With(c.UserContext(), l), &body); err != nil {
		return fmt.Errorf("pages: render: %w", err)
	}
	c.Status(status)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Send(body.Bytes())
}

// render sends a page to somebody who may not be signed in.
func (p *Pages) render(c *fiber.Ctx, status int, page templ.Component) error {
	p.langOf(c)
	return render(c, status, page)
}

// seeOther sends the browser on to a page after a form, so that reloading it posts nothing again.
func seeOther(c *fiber.Ctx, to string) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect(to, http.StatusSeeOther)
}
