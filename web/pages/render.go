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

// langOf is the language of the answer: the one the signed-in person chose, else the best for what the
// browser accepts.
func langOf(c *fiber.Ctx) *lang.Lang {
	if l, ok := c.Locals(langKey).(*lang.Lang); ok {
		return l
	}
	return lang.Choose("", c.Get(fiber.HeaderAcceptLanguage))
}

// speak turns to the person in their language. A choice that cannot be read is none.
func (v *visit) speak() {
	chosen := ""
	if likes, err := v.likes(); err == nil {
		chosen = likes.Language
	}
	v.lang = lang.Choose(chosen, v.c.Get(fiber.HeaderAcceptLanguage))
	v.c.Locals(langKey, v.lang)
}

// render sends a page whole: it is written to memory first, so that a component that fails leaves the
// error page and never half of this one.
func render(c *fiber.Ctx, status int, page templ.Component) error {
	var body bytes.Buffer
	if err := page.Render(lang.With(c.UserContext(), langOf(c)), &body); err != nil {
		return fmt.Errorf("pages: render: %w", err)
	}
	c.Status(status)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Send(body.Bytes())
}

// seeOther sends the browser on to a page after a form, so that reloading it posts nothing again.
func seeOther(c *fiber.Ctx, to string) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect(to, http.StatusSeeOther)
}
