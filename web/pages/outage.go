package pages

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/upload"
)

// maxAgain bounds a form that its problem page carries along, in bytes.
const maxAgain = 64 << 10

// sentInVain is what stood in a form that the desk could not take, to be read and sent again. What it
// carries, the proof that it came from the desk included, is what was sent and no more; a form that another
// site sent, or one with a secret in it, is not shown.
func (p *Pages) sentInVain(c *fiber.Ctx) ([]ui.Entry, *views.SendAgain) {
	if c.Method() != http.MethodPost || !p.auth.OwnOrigin(c) || upload.Takes(c.Method(), c.Path()) {
		return nil, nil
	}
	typed := p.speaker(c).writtenFields(c)
	kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	fields := posted(c)
	secret := slices.ContainsFunc(fields, func(f formField) bool {
		return strings.Contains(f.name, "password") || strings.Contains(f.name, "secret") || f.name == "code"
	})
	if err != nil || kind != fiber.MIMEApplicationForm || secret || len(fields) == 0 || len(c.Body()) > maxAgain {
		return typed, nil
	}
	again := views.SendAgain{URL: templ.SafeURL(c.OriginalURL())}
	if !strings.HasPrefix(string(again.URL), "/") || strings.HasPrefix(string(again.URL), "//") {
		return typed, nil
	}
	for _, f := range fields {
		again.Fields = append(again.Fields, ui.Hidden{Name: f.name, Value: f.value})
	}
	return typed, &again
}
