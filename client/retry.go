package client

import (
	"context"
	"time"
)

// try repeats what a desk out of reach, or one that asks for a pause, did not do, as long as the
// confirmer's patience lasts. What is tried must be safe to repeat, and is cut off after most.
func try[T any](ctx, within context.Context, c *Confirmer, most time.Duration, do func(context.Context) (T, error)) (T, error) {
	var lost time.Duration
	for step := shortestPause; ; step = min(2*step, longestPause) {
		began := time.Now()
		attempt, cancel := context.WithTimeout(within, most)
		out, err := do(attempt)
		cancel()
		if err == nil || !passing(err) {
			return out, err
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		next := max(step, after(err))
		if lost += time.Since(began) + next; lost > c.opts.Patience {
			return out, err
		}
		if err := c.pause(ctx, next); err != nil {
			return out, err
		}
	}
}

// pause waits, or answers why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outliving is a context that ends a while after ctx does, and at once when it is done with.
func outliving(ctx context.Context) (longer context.Context, done func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}
