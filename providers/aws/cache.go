package aws

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// managedNodegroups remembers what EKS says of managed node groups. EKS refuses
// those who ask often, and is asked for one group at a time; so an answer holds
// for a time, callers that want the same share one question, and only a few
// questions are under way at once. Callers wait for the answer; but once EKS was
// silent, they take what there is until it speaks again.
//
// Failures are remembered as well. After access denied or not found the group
// has its tags alone, at once; after anything else the last good answer stays.
type managedNodegroups struct {
	ask   func(context.Context, nodegroupKey) (nodegroup, error)
	ttl   time.Duration
	now   func() time.Time
	count func(lookup string)
	slots chan struct{}

	mu      sync.Mutex
	entries map[nodegroupKey]*nodegroupEntry
}

type nodegroupEntry struct {
	good   *nodegroup
	goodAt time.Time
	err    error // of the last question, nil if it was answered
	until  time.Time
	// asking is open while a question is under way.
	asking chan struct{}
	// silent: EKS has not answered in time, or not at all. No caller waits for it until
	// it does.
	silent bool
}

const (
	// askAtOnce bounds the questions that are under way.
	askAtOnce = 8
	// askPatience is how long a question may take, the SDK's repeats included.
	askPatience = 10 * time.Second
	// slowly is how many times longer an answer holds for a group that has
	// nodes: what it is like changes seldom, and its growth seldom waits for it.
	slowly = 20
)

// What can come of a lookup, as the metric names it.
const (
	lookupHit   = "hit"
	lookupMiss  = "miss"
	lookupError = "error"
	lookupStale = "stale"
)

func newManagedNodegroups(ttl time.Duration, now func() time.Time, count func(string), ask func(
	context.Context, nodegroupKey,
) (nodegroup, error)) *managedNodegroups {
	return &managedNodegroups{ask: ask, ttl: ttl, now: now, count: count, slots: make(chan struct{}, askAtOnce),
		entries: map[nodegroupKey]*nodegroupEntry{}}
}

// get is what is known of a node group, nil if nothing is, and why EKS could not
// be asked. With lazily, EKS is asked for what was never known, is very old, or
// is about to change.
func (c *managedNodegroups) get(ctx context.Context, key nodegroupKey, lazily bool) (*nodegroup, error) {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		e = &nodegroupEntry{}
		c.entries[key] = e
	}
	now := c.now()
	// Neither trouble nor an update is lazy: its end is to be seen soon.
	fresh := now.Before(e.until) ||
		lazily && e.err == nil && e.good != nil && !e.good.changes() && now.Before(e.goodAt.Add(slowly*c.ttl))
	if fresh {
		good, err := e.good, e.err
		c.mu.Unlock()
		c.count(lookupHit)
		return good, err
	}
	if e.asking == nil {
		e.asking = make(chan struct{})
		// One caller's end must not be the others' failure.
		go c.refresh(context.WithoutCancel(ctx), key, e)
	}
	asking, silent := e.asking, e.silent
	c.mu.Unlock()
	c.count(lookupMiss)
	if !silent {
		select {
		case <-asking:
		case <-ctx.Done():
			silent = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if silent && e.asking == asking {
		e.silent = true
		if e.err == nil && e.good == nil {
			return nil, context.DeadlineExceeded
		}
	}
	return e.good, e.err
}

// refresh asks EKS once and keeps the answer.
func (c *managedNodegroups) refresh(ctx context.Context, key nodegroupKey, e *nodegroupEntry) {
	c.slots <- struct{}{}
	asked := c.now()
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	answer, err := c.ask(ctx, key)
	cancel()
	<-c.slots

	c.mu.Lock()
	defer c.mu.Unlock()
	e.err = err
	e.silent = isTimeout(err)
	switch {
	case err == nil:
		e.good, e.goodAt, e.until = &answer, asked, c.now().Add(jittered(c.ttl))
	case isFinal(err):
		e.good, e.until = nil, c.now().Add(jittered(c.ttl))
		c.count(lookupError)
	default:
		e.until = c.now().Add(jittered(c.ttl / 2))
		c.count(lookupError)
		if e.good != nil {
			c.count(lookupStale)
		}
	}
	close(e.asking)
	e.asking = nil
}

// forget drops what was kept of node groups that are gone.
func (c *managedNodegroups) forget(alive map[nodegroupKey]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if !alive[key] && e.asking == nil {
			delete(c.entries, key)
		}
	}
}

// isFinal reports whether EKS has answered that it will not, or cannot, answer.
func isFinal(err error) bool {
	kind := kindOf(err)
	return kind == provider.Denied || kind == provider.NotFound
}

// jittered is up to a tenth longer, so that groups do not fall due together.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/10+1))
}
