package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/apdesk/apdesk/models"
)

// limiter bounds how often each user calls, with bursts of five times a second's calls.
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
	l.mu.Lock()
	if now.Sub(l.cleared.Time) > clearEvery {
		l.forget(now.Time)
	}
	user := l.users[userID]
	if user == nil {
		user = rate.NewLimiter(rate.Limit(l.perSecond), bursts*l.perSecond)
		l.users[userID] = user
	}
	l.mu.Unlock()
	if user.AllowN(now.Time, 1) {
		return 0, true
	}
	missing := 1 - user.TokensAt(now.Time)
	return time.Duration(missing / float64(l.perSecond) * float64(time.Second)), false
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
