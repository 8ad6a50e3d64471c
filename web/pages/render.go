package pages

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
)

// render sends a page whole: it is written to memory first, so that a component that fails leaves the
// error page and never half of this one.
func render(c *fiber.Ctx, status int, page templ.Component) error {
	var body bytes.Buffer
	if err := page.Render(c.UserContext(), &body); err != nil {
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
