package mcpserver

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Limit counts one call of somebody, or says how long they have to wait for the next.
type Limit func(key string) (wait time.Duration, ok bool)

func rateLimited(wait time.Duration) *models.NamedError {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	return models.E(models.RateLimited, "Too many calls. Wait and repeat the same call.", map[string]any{"retry_after_seconds": seconds})
}

// checkAddress refuses an address that sends more than it may, whatever it sends.
func (h *handler) checkAddress(w http.ResponseWriter, r *http.Request) *refusal {
	if h.cfg.LimitAddress == nil {
		return nil
	}
	wait, ok := h.cfg.LimitAddress(addressOf(r))
	if ok {
		return nil
	}
	ne := rateLimited(wait)
	w.Header().Set("Retry-After", fmt.Sprint(ne.Details["retry_after_seconds"]))
	return &refusal{status: http.StatusTooManyRequests, code: codeInvalidRequest, message: ne.Message, data: ne}
}

// checkPerson refuses a tool to somebody who calls more often than they may.
func (h *handler) checkPerson(id models.Identity) error {
	if h.cfg.LimitPerson == nil {
		return nil
	}
	if wait, ok := h.cfg.LimitPerson(id.User.ID); !ok {
		return rateLimited(wait)
	}
	return nil
}

// addressOf is whom a connection counts for.
func addressOf(r *http.Request) string { return models.NetworkOf(clientOf(r)) }

// clientOf is the address that sent a request, without its port.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
