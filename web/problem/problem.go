package problem

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

// Envelope is an error as it stands in the body of an answer.
type Envelope struct {
	Error *models.NamedError `json:"error"`
}

// RetryAfter is how long a caller waits when an error that asks for waiting names no time, in seconds.
const RetryAfter = 30

// Of is what a caller may see of err, and its HTTP status. unexpected says that the cause belongs in
// the log, because the caller is not told.
func Of(err error, requestID string) (ne *models.NamedError, status int, unexpected bool) {
	if named, ok := models.AsNamed(err); ok {
		if _, published := models.Lookup(named.Code); published {
			return named, named.Status(), named.Code == models.Internal || errors.Unwrap(named) != nil
		}
	}
	var web *fiber.Error
	if errors.As(err, &web) {
		return ofStatus(web.Code), web.Code, false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		ne = models.E(models.Unavailable, "The desk could not finish this in time. Wait and repeat the same call.",
			map[string]any{"retry_after_seconds": 5})
		return ne, ne.Status(), true
	}
	ne = models.E(models.Internal, "The desk failed. Tell its operator the request id.", map[string]any{"request_id": requestID})
	return ne, ne.Status(), true
}

// ofStatus names what the server itself refuses before any handler runs.
func ofStatus(status int) *models.NamedError {
	switch status {
	case http.StatusNotFound:
		return models.E(models.NotFound, "There is nothing at this address.", nil)
	case http.StatusMethodNotAllowed:
		return models.E(models.BadRequest, "This address does not take this method.", nil)
	case http.StatusRequestEntityTooLarge:
		return models.E(models.BadRequest, "The body is too large.", nil)
	case http.StatusUnsupportedMediaType:
		return models.E(models.BadRequest, "Send the body as application/json.", nil)
	case http.StatusServiceUnavailable:
		return models.E(models.Unavailable, "The desk cannot answer right now. Wait and repeat the same call.", nil)
	}
	if status >= http.StatusInternalServerError {
		return models.E(models.Internal, "The desk failed.", nil)
	}
	return models.E(models.BadRequest, "The request could not be understood.", nil)
}

// Wait is how long a caller is asked to wait before the same call again, in seconds; 0 when a
// repeated call is no use or needs no wait.
func Wait(ne *models.NamedError) int {
	if !ne.Retryable || ne.NextAction != models.HoldAndRecheck {
		return 0
	}
	switch n := ne.Details["retry_after_seconds"].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return RetryAfter
}

const requestIDKey = "requestid"

// SetRequestID names the request, for its log lines, its audit events and the answer to an
// unexpected failure.
func SetRequestID(c *fiber.Ctx, id string) { c.Locals(requestIDKey, id) }

// RequestID is the name SetRequestID gave; empty when it gave none.
func RequestID(c *fiber.Ctx) string {
	id, _ := c.Locals(requestIDKey).(string)
	return id
}

// Send answers with the error's envelope and logs what the caller is not told.
func Send(c *fiber.Ctx, log *slog.Logger, err error) error {
	ne, status, unexpected := Of(err, RequestID(c))
	if unexpected {
		Log(c.UserContext(), log, ne, RequestID(c), err)
	}
	return SendNamed(c, ne, status)
}

// Log writes down the cause of an error that the caller is not told.
func Log(ctx context.Context, log *slog.Logger, ne *models.NamedError, requestID string, err error) {
	cause := err
	if named, ok := models.AsNamed(err); ok {
		if inner := errors.Unwrap(named); inner != nil {
			cause = inner
		}
	}
	level := slog.LevelError
	if ne.Code != models.Internal {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "request failed", slog.String("code", string(ne.Code)), slog.String("request_id", requestID), slog.Any("cause", cause))
}

// SendNamed answers with the envelope of an error under a status.
func SendNamed(c *fiber.Ctx, ne *models.NamedError, status int) error {
	if wait := Wait(ne); wait > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(wait))
	}
	if status == http.StatusUnauthorized && c.GetRespHeader(fiber.HeaderWWWAuthenticate) == "" {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="apdesk"`)
	}
	body, err := json.Marshal(Envelope{ne})
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "application/json; charset=utf-8")
	return c.Status(status).Send(body)
}
