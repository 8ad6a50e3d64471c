package client

import (
	"context"
	"time"
)

// WithoutPauses makes a Confirmer that does not pause between attempts, and tells how long it would have.
func WithoutPauses(c *Confirmer, paused func(time.Duration)) *Confirmer {
	c.pause = func(ctx context.Context, d time.Duration) error {
		if paused != nil {
			paused(d)
		}
		return context.Cause(ctx)
	}
	return c
}
