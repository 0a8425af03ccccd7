package aws

import (
	"context"
	"sync"
	"time"
)

// errand is work on AWS that a read waits for, while it is done in time. After it
// was late, reads do not wait for it: it goes on in the background, one at a
// time, and what it learns is there for the reads after it. So a service that
// says nothing makes one read late, and not all of them.
type errand struct {
	now func() time.Time

	mu       sync.Mutex
	apart    time.Time // until when no read waits
	underWay bool
}

// apartFor is for how long reads do not wait for an errand that was late.
const apartFor = 5 * time.Minute

// run does the work, with patience at most, and returns when it is done or when
// reads are not to wait for it.
func (e *errand) run(ctx context.Context, patience time.Duration, work func(context.Context)) {
	e.mu.Lock()
	apart := e.now().Before(e.apart)
	busy := apart && e.underWay
	e.underWay = e.underWay || apart
	e.mu.Unlock()
	if busy {
		return
	}
	do := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		work(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		if isTimeout(ctx.Err()) {
			e.apart = e.now().Add(apartFor)
		}
		if apart {
			e.underWay = false
		}
	}
	if apart {
		go do(context.WithoutCancel(ctx))
		return
	}
	do(ctx)
}
