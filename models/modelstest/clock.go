package modelstest

import (
	"sync"
	"time"
)

// Start is the moment at which every Clock begins: a Monday at 09:00 UTC, with
// business hours ahead of it in Europe.
var Start = time.Date(2026, time.October, 5, 9, 0, 0, 0, time.UTC)

// Clock is a clock that stands still until a test moves it. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now is the moment the clock shows, in UTC.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and returns what it shows then.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Set moves the clock to a moment, which may be an earlier one.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now.UTC()
}
