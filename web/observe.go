package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/static"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/problem"
	"github.com/apdesk/apdesk/web/proxy"
)

// contentPolicy lets a page load nothing but the desk's own style, script and pictures, and lets
// nobody frame it.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// name gives the request its id; one that came from outside is not believed.
func (s *Server) name(c *fiber.Ctx) {
	id := s.cfg.Store.NewID("req")
	problem.SetRequestID(c, id)
	c.Set(fiber.HeaderXRequestID, id)
}

// observe names, bounds, measures and logs every request, and survives a handler that panics.
func (s *Server) observe(c *fiber.Ctx) error {
	start := time.Now()
	s.name(c)
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	c.SetUserContext(ctx)

	if err := s.survive(c); err != nil {
		if err := s.failed(c, err); err != nil {
			return err
		}
	}
	took := time.Since(start)
	status := c.Response().StatusCode()
	route := "none"
	if r := c.Route(); r != nil && status != http.StatusNotFound {
		route = r.Path
	}
	s.metrics.observe("people", c.Method(), route, status, took)
	if route == "/healthz" || route == "/readyz" || route == "/metrics" {
		return nil
	}
	line := []slog.Attr{slog.String("method", c.Method()), slog.String("route", route), slog.Int("status", status),
		slog.Duration("took", took), slog.Int("bytes", len(c.Request().Body())), slog.String("request_id", problem.RequestID(c)), slog.String("address", proxy.Of(c).Address)}
	if id, ok := auth.IdentityOf(c); ok {
		line = append(line, slog.String("user", id.User.ID))
		line = append(line, slog.String("token_type", id.TokenType()))
		if id.Token != nil {
			line = append(line, slog.String("token", id.Token.Prefix))
		}
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "request", line...)
	return nil
}

func (s *Server) survive(c *fiber.Ctx) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.ErrorContext(c.UserContext(), "handler panicked", "request_id", problem.RequestID(c), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fmt.Errorf("web: panic: %v", cause)
		}
	}()
	return c.Next()
}

func (s *Server) headers(c *fiber.Ctx) error {
	s.setHeaders(c)
	return c.Next()
}

// setHeaders tells browsers to be strict. Answers are not kept unless a handler says otherwise.
func (s *Server) setHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderContentSecurityPolicy, contentPolicy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	// Not no-referrer: with that, browsers send forms with the origin "null".
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.Set("X-Permitted-Cross-Domain-Policies", "none")
	c.Set(fiber.HeaderPermissionsPolicy, permissions)
	c.Set(fiber.HeaderCacheControl, "no-store")
	if s.strictTransport || proxy.Of(c).Proto == "https" {
		c.Set(fiber.HeaderStrictTransportSecurity, strictTransport)
	}
}

// permissions are what pages may use of the device. Passkeys are for the desk's own pages alone.
const permissions = "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), " +
	"publickey-credentials-create=(self), publickey-credentials-get=(self), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()"

// strictTransport keeps browsers on https for a year.
const strictTransport = "max-age=31536000"

// strict is headers for the MCP endpoint.
func (s *Server) strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		h.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
		h.Set(fiber.HeaderXFrameOptions, "DENY")
		h.Set(fiber.HeaderReferrerPolicy, "no-referrer")
		h.Set(fiber.HeaderCacheControl, "no-store")
		if s.strictTransport || proxy.From(r.Context()).Proto == "https" {
			h.Set(fiber.HeaderStrictTransportSecurity, strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}

// serveStatic answers an asset. Under the name that carries its hash it may be kept for ever.
func serveStatic(c *fiber.Ctx) error {
	asset, ok := static.File(strings.TrimPrefix(c.Path(), static.Prefix))
	if !ok {
		return fiber.NewError(http.StatusNotFound)
	}
	c.Set(fiber.HeaderETag, asset.ETag)
	if asset.Immutable {
		c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	} else {
		c.Set(fiber.HeaderCacheControl, "public, no-cache")
	}
	if c.Get(fiber.HeaderIfNoneMatch) == asset.ETag {
		return c.SendStatus(http.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, asset.Type)
	return c.Send(asset.Body)
}
