package web

import (
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/proxy"
)

// limiter bounds how often each user, or each address, calls, with bursts of five times a second's calls.
type limiter struct {
	perSecond int
	now       func() models.Time

	mu      sync.Mutex
	users   map[string]*rate.Limiter
	cleared models.Time
}

const (
	bursts     = 5
	clearEvery = 10 * time.Minute
)

// newLimiter makes a limiter; perSecond 0 limits nobody.
func newLimiter(perSecond int, now func() models.Time) *limiter {
	return &limiter{perSecond: perSecond, now: now, users: map[string]*rate.Limiter{}, cleared: now()}
}

// take counts one call, or says how long the user has to wait for the next.
func (l *limiter) take(userID string) (wait time.Duration, ok bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	now := l.now()
	user := l.of(userID, now)
	if user.AllowN(now.Time, 1) {
		return 0, true
	}
	return l.missing(user, now), false
}

// look says how long the user has to wait for the next call, and counts none.
func (l *limiter) look(userID string) (wait time.Duration, ok bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	now := l.now()
	user := l.of(userID, now)
	if user.TokensAt(now.Time) >= 1 {
		return 0, true
	}
	return l.missing(user, now), false
}

func (l *limiter) missing(user *rate.Limiter, now models.Time) time.Duration {
	return time.Duration((1 - user.TokensAt(now.Time)) / float64(l.perSecond) * float64(time.Second))
}

func (l *limiter) of(userID string, now models.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.cleared.Time) > clearEvery {
		l.forget(now.Time)
	}
	user := l.users[userID]
	if user == nil {
		user = rate.NewLimiter(rate.Limit(l.perSecond), bursts*l.perSecond)
		l.users[userID] = user
	}
	return user
}

// forget drops users who have not called for so long that their burst is whole again.
func (l *limiter) forget(now time.Time) {
	for id, user := range l.users {
		if user.TokensAt(now) >= float64(user.Burst()) {
			delete(l.users, id)
		}
	}
	l.cleared = models.At(now)
}

// limitStrangers bounds how often an address comes without proof of who it is: to guess tokens and
// passwords, or to keep the desk busy. Who is known is counted per person instead, so that many behind one
// address do not stand in each other's way.
func (s *Server) limitStrangers(l *limiter) fiber.Handler {
	return func(c *fiber.Ctx) error {
		from := models.NetworkOf(proxy.Of(c).Address)
		if wait, ok := l.look(from); !ok {
			seconds := max(1, int((wait+time.Second-1)/time.Second))
			return models.E(models.RateLimited, "Too many calls from this address. Wait and repeat the same call.", map[string]any{"retry_after_seconds": seconds})
		}
		err := c.Next()
		if _, known := auth.IdentityOf(c); !known {
			l.take(from)
		}
		return err
	}
}
