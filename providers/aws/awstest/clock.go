package awstest

import (
	"sync"
	"time"
)

// Clock is a clock that a test moves by hand.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock that stands at start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now is where the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
