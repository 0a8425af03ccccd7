package act

import (
	"context"
	"time"
)

// Runtime is an Actor's clock, and what runs its jobs. A job blocks in requests to the API
// server and in the provider's calls, and nowhere else: a test that answers those can run the
// jobs one at a time and in virtual time.
type Runtime interface {
	// Now is the time by this clock. No other clock is asked.
	Now() time.Time
	// Go runs a job beside the caller, and returns at once. Nothing of the job runs before that.
	Go(job func())
	// After calls do once that much time has passed. stop prevents it unless it has begun.
	After(d time.Duration, do func()) (stop func())
	// WithDeadline is as in package context, by this clock.
	WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc)
}

// Live is the Runtime of a process: goroutines, and the time of day.
type Live struct{}

// Now is the time of day.
func (Live) Now() time.Time { return time.Now() }

// Go runs a job in a goroutine.
func (Live) Go(job func()) { go job() }

// After calls do in a goroutine.
func (Live) After(d time.Duration, do func()) (stop func()) {
	timer := time.AfterFunc(d, do)
	return func() { timer.Stop() }
}

// WithDeadline is context.WithDeadline.
func (Live) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}
