package act

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// hangGrace is how long after its deadline a call may still return before its
// end is told as unknown.
const hangGrace = 2 * time.Second

// Actor carries out calls. Its methods may be called from any goroutine.
type Actor struct {
	cloud  provider.Provider
	client kubernetes.Interface
	may    func() error
	ended  func()
	log    *slog.Logger

	changed chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	lanes  map[string][]job
	ends   []model.Outcome
	closed bool
}

// job is a call that waits for its turn.
type job struct {
	ctx  context.Context
	call model.Call
}

// New gives an actor on a cloud and a cluster. may is asked right before each
// call begins whether this process may still write, and says why if not: a
// process that was stopped for a while learns last of all that its lease is
// gone. ended is called after each write to the cloud has ended, well or not, so
// that the cloud is read again soon. Neither may block.
func New(cloud provider.Provider, client kubernetes.Interface, may func() error, ended func(), log *slog.Logger) *Actor {
	return &Actor{
		cloud: cloud, client: client, may: may, ended: ended, log: log,
		changed: make(chan struct{}, 1), lanes: map[string][]job{},
	}
}

// Start begins the calls and returns at once. Calls that ctx's end finds
// waiting for their turn never begin; the ends of all are told by Collect.
func (a *Actor) Start(ctx context.Context, calls []model.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, call := range calls {
		if a.closed {
			now := time.Now()
			a.tell(notBegun(call, now, "Plimsoll is ending"))
			continue
		}
		lane := laneOf(call)
		queue, busy := a.lanes[lane]
		a.lanes[lane] = append(queue, job{ctx, call})
		if !busy {
			a.running.Go(func() { a.drain(lane) })
		}
	}
}

// laneOf names what a call must not share with another one at the same time.
func laneOf(call model.Call) string {
	switch {
	case call.Verb == model.Taint || call.Verb == model.Untaint:
		return "node/" + call.Node
	case call.Pool != "":
		return "pool/" + string(call.Pool)
	default:
		return "group/" + string(call.Group)
	}
}

// drain works off a lane until it is empty.
func (a *Actor) drain(lane string) {
	for {
		a.mu.Lock()
		queue := a.lanes[lane]
		if len(queue) == 0 {
			delete(a.lanes, lane)
			a.mu.Unlock()
			return
		}
		next := queue[0]
		a.lanes[lane] = queue[1:]
		a.mu.Unlock()
		a.one(next)
	}
}

// one carries out a call and tells its end. A call that does not return at its
// deadline, against the contract, is told as unknown then; its lane stays taken
// until it does return, since a second write must not run beside it.
func (a *Actor) one(j job) {
	began := time.Now()
	if err := context.Cause(j.ctx); err != nil {
		a.finish(notBegun(j.call, began, err.Error()))
		return
	}
	if err := a.may(); err != nil {
		a.finish(notBegun(j.call, began, err.Error()))
		return
	}
	if !began.Before(j.call.Deadline) {
		a.finish(notBegun(j.call, began, "its deadline passed while it waited for its turn"))
		return
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(j.ctx), j.call.Deadline)
	defer cancel()
	done := make(chan model.Outcome, 1)
	go func() { done <- a.guarded(ctx, j.call, began) }()
	hung := time.NewTimer(time.Until(j.call.Deadline) + hangGrace)
	defer hung.Stop()
	select {
	case out := <-done:
		a.finish(out)
	case <-hung.C:
		out := outcome(j.call, began)
		out.Err = callError(j.call, provider.Unavailable, "it did not return at its deadline", nil)
		out.Err.MayHaveHappened = true
		a.finish(out)
		<-done
		if touchesCloud(j.call) {
			a.ended()
		}
	}
}

// guarded turns a panic into an end whose effect is unknown.
func (a *Actor) guarded(ctx context.Context, call model.Call, began time.Time) (out model.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a call panicked", "call", call.ID, "panic", p, "stack", string(debug.Stack()))
			out = outcome(call, began)
			out.Err = callError(call, provider.Transient, fmt.Sprintf("it panicked: %v", p), nil)
			out.Err.MayHaveHappened = true
		}
	}()
	return a.do(ctx, call, outcome(call, began))
}

// do carries out a call by its verb.
func (a *Actor) do(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	switch call.Verb {
	case model.Grow:
		return a.grow(ctx, call, out)
	case model.Cancel:
		return a.cancel(ctx, call, out)
	case model.Remove:
		return a.remove(ctx, call, out)
	case model.Taint:
		return a.taint(ctx, call, out)
	case model.Untaint:
		return a.untaint(ctx, call, out)
	default:
		out.Err = callError(call, provider.Unsupported, "no such verb", nil)
		return out
	}
}

func touchesCloud(call model.Call) bool {
	return call.Verb == model.Grow || call.Verb == model.Cancel || call.Verb == model.Remove
}

func outcome(call model.Call, began time.Time) model.Outcome {
	return model.Outcome{Call: call, Began: began, Target: -1}
}

func notBegun(call model.Call, now time.Time, why string) model.Outcome {
	out := outcome(call, now)
	out.Ended = now
	out.Err = callError(call, provider.Transient, "not begun: "+why, nil)
	out.Err.Code = model.CodeNotBegun
	return out
}

// finish stamps an end and tells it. The cloud is to be read again after every
// write to it, and only then: such a read must have begun after the end.
func (a *Actor) finish(out model.Outcome) {
	a.mu.Lock()
	out.Ended = time.Now()
	a.tell(out)
	a.mu.Unlock()
	if touchesCloud(out.Call) {
		a.ended()
	}
}

// tell adds an end to those that Collect gives out. The lock must be held.
func (a *Actor) tell(out model.Outcome) {
	a.ends = append(a.ends, out)
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// Collect gives the ends since it was last called, in the order in which they
// came.
func (a *Actor) Collect() []model.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends := a.ends
	a.ends = nil
	return ends
}

// Changed tells, coalesced, that a call has ended.
func (a *Actor) Changed() <-chan struct{} { return a.changed }

// Close takes no further calls and waits until those under way have ended. It
// is an error if ctx ends first: a write may then be without a known end.
func (a *Actor) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	// What waits for its turn does not begin any more.
	for lane, queue := range a.lanes {
		for _, j := range queue {
			a.tell(notBegun(j.call, time.Now(), "Plimsoll is ending"))
		}
		a.lanes[lane] = nil
	}
	a.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		a.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("act: calls were still under way at the end: %w", context.Cause(ctx))
	}
}
