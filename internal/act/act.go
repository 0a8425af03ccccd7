package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// hangGrace is how long after its deadline a call may still return before its end is reported as
// unknown.
const hangGrace = 2 * time.Second

// Why a call was not begun.
var (
	errEnding = errors.New("this process is ending")
	errLate   = errors.New("its deadline passed while it waited for its turn")
)

// Actor carries out calls. Its methods may be called from any goroutine.
type Actor struct {
	cloud  provider.Provider
	client kubernetes.Interface
	may    func() error
	ended  func()
	log    *slog.Logger
	run    Runtime

	changed chan struct{}
	running sync.WaitGroup

	// mu guards what follows, and is not held while a job runs.
	mu sync.Mutex
	// lanes are what waits for its turn, by lane. A lane is there while a write of it is under way
	// or waits.
	lanes               map[string][]job
	nodeSlots, podSlots slots
	ends                []model.Outcome
	closing             bool
}

// job is a call that waits for its turn.
type job struct {
	ctx  context.Context
	call model.Call
}

// New makes an actor on a cloud and a cluster. may returns why this process may no longer write,
// nil if it may. It is called right before each call, since a process that was stopped learns late
// that it lost its lease, and again before each later write of the call. ended is called after each
// write to the cloud, successful or not, begun or not, so that the cloud is read again soon.
// Neither may block.
func New(
	cloud provider.Provider, client kubernetes.Interface, may func() error, ended func(), run Runtime, log *slog.Logger,
) *Actor {
	return &Actor{
		cloud: cloud, client: client, may: may, ended: ended, run: run, log: log,
		changed: make(chan struct{}, 1), lanes: map[string][]job{},
		nodeSlots: slots{free: atOnce}, podSlots: slots{free: atOnce},
	}
}

// Start begins the calls and returns at once. Calls that still wait for their turn when ctx ends
// never begin. Collect returns the ends of all.
func (a *Actor) Start(ctx context.Context, calls []model.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var idle []string
	for _, call := range calls {
		if a.closing {
			a.tell(a.notBegun(call, errEnding))
			continue
		}
		lane := laneOf(call)
		queue, busy := a.lanes[lane]
		if !busy {
			idle = append(idle, lane)
		}
		a.lanes[lane] = append(queue, job{ctx, call})
	}
	for _, lane := range idle {
		a.next(lane)
	}
}

// write is what one job does: one call, or several removals. The Actor's mu guards it.
type write struct {
	lane  string
	jobs  []job
	slots *slots // in which it takes one; nil: it needs none
	// over: its end is reported, by its job or because it did not return.
	over bool
}

// carryOut is one write, for one call or for several removals, and reports the end of each. A write
// that does not return at its deadline, against the contract, is reported as unknown. Its lane
// stays taken until it does return, since a second write must not run beside it.
func (a *Actor) carryOut(w *write) {
	var admitted []job
	for _, j := range w.jobs {
		if err := a.mayBegin(j); err != nil {
			a.report(a.notBegun(j.call, err))
			continue
		}
		admitted = append(admitted, j)
	}
	if len(admitted) > 0 {
		a.perform(w, admitted)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !w.over {
		a.release(w.slots)
	}
	a.next(w.lane)
}

// perform makes the write for those jobs that may begin.
func (a *Actor) perform(w *write, jobs []job) {
	calls := callsOf(jobs)
	began, deadline := a.run.Now(), firstDeadline(calls)
	ctx, cancel := a.run.WithDeadline(context.WithoutCancel(jobs[0].ctx), deadline)
	defer cancel()
	stop := a.run.After(deadline.Sub(began)+hangGrace, func() {
		a.end(w, unknown(calls, began, provider.Unavailable, "it did not return at its deadline"))
	})
	defer stop()
	if outs := a.guarded(ctx, jobs, began); !a.end(w, outs) && touchesCloud(calls[0]) {
		a.ended() // it was reported before it returned, and what was read since then may lack it
	}
}

// end reports a write's ends, once: it returns whether these are the first. A write that hangs
// returns its slot, else a few of them would stop all writes.
func (a *Actor) end(w *write, outs []model.Outcome) (first bool) {
	a.mu.Lock()
	first = !w.over
	if first {
		w.over = true
		a.release(w.slots)
	}
	a.mu.Unlock()
	if first {
		a.report(outs...)
	}
	return first
}

func firstDeadline(calls []model.Call) time.Time {
	return slices.MinFunc(calls, func(a, b model.Call) int { return a.Deadline.Compare(b.Deadline) }).Deadline
}

// mayBegin says why a call must not begin now, nil if it may.
func (a *Actor) mayBegin(j job) error {
	a.mu.Lock()
	closing := a.closing
	a.mu.Unlock()
	if closing {
		return errEnding
	}
	if err := context.Cause(j.ctx); err != nil {
		return err
	}
	if err := a.may(); err != nil {
		return err
	}
	if !a.run.Now().Before(j.call.Deadline) {
		return errLate
	}
	return nil
}

// guarded turns a panic into ends whose effect is unknown.
func (a *Actor) guarded(ctx context.Context, jobs []job, began time.Time) (outs []model.Outcome) {
	calls := callsOf(jobs)
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("a call panicked", "calls", idsOf(calls), "panic", p, "stack", string(debug.Stack()))
			outs = unknown(calls, began, provider.Transient, fmt.Sprintf("it panicked: %v", p))
		}
	}()
	if calls[0].Verb == model.Remove {
		return a.remove(ctx, jobs, began)
	}
	return []model.Outcome{a.do(ctx, calls[0], outcome(calls[0], began))}
}

func callsOf(jobs []job) []model.Call {
	var calls []model.Call
	for _, j := range jobs {
		calls = append(calls, j.call)
	}
	return calls
}

func idsOf(calls []model.Call) []string {
	var ids []string
	for _, call := range calls {
		ids = append(ids, call.ID)
	}
	return ids
}

// unknown are ends of calls whose write may have happened.
func unknown(calls []model.Call, began time.Time, kind provider.Kind, message string) []model.Outcome {
	var outs []model.Outcome
	for _, call := range calls {
		out := outcome(call, began)
		out.Err = callError(call, kind, message, nil)
		out.Err.MayHaveHappened = true
		outs = append(outs, out)
	}
	return outs
}

// do carries out any call but a removal, by its verb.
func (a *Actor) do(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	switch call.Verb {
	case model.Grow:
		return a.grow(ctx, call, out)
	case model.Cancel:
		return a.cancel(ctx, call, out)
	case model.Taint:
		return a.taint(ctx, call, out)
	case model.Untaint:
		return a.untaint(ctx, call, out)
	case model.Cordon:
		return a.cordon(ctx, call, out)
	case model.Mark:
		return a.mark(ctx, call, out)
	case model.Unmark:
		return a.unmark(ctx, call, out)
	case model.Annotate:
		return a.annotate(ctx, call, out)
	case model.Evict:
		return a.evict(ctx, call, out)
	default:
		out.Err = callError(call, provider.Unsupported, "no such verb", nil)
		return out
	}
}

func outcome(call model.Call, began time.Time) model.Outcome {
	return model.Outcome{Call: call, Began: began, Target: -1}
}

func (a *Actor) notBegun(call model.Call, why error) model.Outcome {
	now := a.run.Now()
	out := outcome(call, now)
	out.Ended = now
	out.Err = callError(call, provider.Transient, "not begun: "+why.Error(), why)
	out.Err.Code = model.CodeNotBegun
	return out
}

// report dates the ends of a write and tells them. After each write to the cloud, begun or not, the
// cloud is read again: that read must begin after the end.
func (a *Actor) report(outs ...model.Outcome) {
	a.mu.Lock()
	for _, out := range outs {
		out.Ended = a.run.Now()
		a.tell(out)
	}
	a.mu.Unlock()
	if touchesCloud(outs[0].Call) {
		a.ended()
	}
}

// tell adds an end to those that Collect returns. The lock must be held.
func (a *Actor) tell(out model.Outcome) {
	a.ends = append(a.ends, out)
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// Collect returns the ends since it was last called, in order.
func (a *Actor) Collect() []model.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends := a.ends
	a.ends = nil
	return ends
}

// Changed signals, coalesced, that a call has ended.
func (a *Actor) Changed() <-chan struct{} { return a.changed }

// Close takes no further calls and waits until those under way have ended. It
// is an error if ctx ends first: a write may then be without a known end.
func (a *Actor) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closing = true
	// Calls that wait for their turn never begin.
	a.nodeSlots.waiting, a.podSlots.waiting = nil, nil
	for lane, queue := range a.lanes {
		for _, j := range queue {
			a.tell(a.notBegun(j.call, errEnding))
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
