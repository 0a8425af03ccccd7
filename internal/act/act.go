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

	changed chan struct{}
	closing chan struct{} // closed by Close
	running sync.WaitGroup

	nodeSlots, podSlots chan struct{}

	mu    sync.Mutex
	lanes map[string][]job
	ends  []model.Outcome
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
	cloud provider.Provider, client kubernetes.Interface, may func() error, ended func(), log *slog.Logger,
) *Actor {
	return &Actor{
		cloud: cloud, client: client, may: may, ended: ended, log: log,
		changed: make(chan struct{}, 1), closing: make(chan struct{}), lanes: map[string][]job{},
		nodeSlots: make(chan struct{}, atOnce), podSlots: make(chan struct{}, atOnce),
	}
}

// Start begins the calls and returns at once. Calls that still wait for their turn when ctx ends
// never begin. Collect returns the ends of all.
func (a *Actor) Start(ctx context.Context, calls []model.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, call := range calls {
		if a.ending() {
			a.tell(notBegun(call, errEnding))
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

// drain carries out the calls of a lane until it is empty.
func (a *Actor) drain(lane string) {
	for {
		a.mu.Lock()
		queue := a.lanes[lane]
		if len(queue) == 0 {
			delete(a.lanes, lane)
			a.mu.Unlock()
			return
		}
		n := head(queue)
		next := queue[:n]
		a.lanes[lane] = queue[n:]
		a.mu.Unlock()
		a.carryOut(next)
	}
}

// carryOut is one write, for one call or for several removals, and reports the end of each. A write
// that does not return at its deadline, against the contract, is reported as unknown. Its lane
// stays taken until it does return, since a second write must not run beside it.
func (a *Actor) carryOut(jobs []job) {
	var admitted []job
	var slots []func()
	for _, j := range jobs {
		release, err := a.admit(j)
		if err != nil {
			a.finish(notBegun(j.call, err))
			continue
		}
		admitted, slots = append(admitted, j), append(slots, release)
	}
	if len(admitted) == 0 {
		return
	}
	calls := callsOf(admitted)
	began, deadline := time.Now(), firstDeadline(calls)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(admitted[0].ctx), deadline)
	defer cancel()
	done := make(chan []model.Outcome, 1)
	go func() { done <- a.guarded(ctx, admitted, began) }()
	patience := time.NewTimer(time.Until(deadline) + hangGrace)
	defer patience.Stop()
	var outs []model.Outcome
	hung := false
	select {
	case outs = <-done:
	case <-patience.C:
		hung = true
		outs = unknown(calls, began, provider.Unavailable, "it did not return at its deadline")
	}
	// A write that hangs returns its slot: else a few of them would stop all writes.
	for _, release := range slots {
		release()
	}
	for _, out := range outs {
		a.finish(out)
	}
	if !hung {
		return
	}
	<-done
	if touchesCloud(calls[0]) {
		a.ended()
	}
}

func firstDeadline(calls []model.Call) time.Time {
	return slices.MinFunc(calls, func(a, b model.Call) int { return a.Deadline.Compare(b.Deadline) }).Deadline
}

// admit waits for a slot if the call needs one, and returns the function that releases it. It is an
// error if the call must not begin.
func (a *Actor) admit(j job) (release func(), err error) {
	release = func() {}
	if slots := a.slots(j.call); slots != nil {
		ctx, cancel := context.WithDeadlineCause(j.ctx, j.call.Deadline, errLate)
		defer cancel()
		select {
		case slots <- struct{}{}:
			release = func() { <-slots }
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-a.closing:
			return nil, errEnding
		}
	}
	if err := a.mayBegin(j); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// mayBegin says why a call must not begin now, nil if it may.
func (a *Actor) mayBegin(j job) error {
	if a.ending() {
		return errEnding
	}
	if err := context.Cause(j.ctx); err != nil {
		return err
	}
	if err := a.may(); err != nil {
		return err
	}
	if !time.Now().Before(j.call.Deadline) {
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

func notBegun(call model.Call, why error) model.Outcome {
	now := time.Now()
	out := outcome(call, now)
	out.Ended = now
	out.Err = callError(call, provider.Transient, "not begun: "+why.Error(), why)
	out.Err.Code = model.CodeNotBegun
	return out
}

// finish dates an end and reports it. After each write to the cloud, begun or not, the cloud is
// read again: that read must begin after the end.
func (a *Actor) finish(out model.Outcome) {
	a.mu.Lock()
	out.Ended = time.Now()
	a.tell(out)
	a.mu.Unlock()
	if touchesCloud(out.Call) {
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

func (a *Actor) ending() bool {
	select {
	case <-a.closing:
		return true
	default:
		return false
	}
}

// Close takes no further calls and waits until those under way have ended. It
// is an error if ctx ends first: a write may then be without a known end.
func (a *Actor) Close(ctx context.Context) error {
	a.mu.Lock()
	if !a.ending() {
		close(a.closing)
	}
	// Calls that wait for their turn never begin.
	for lane, queue := range a.lanes {
		for _, j := range queue {
			a.tell(notBegun(j.call, errEnding))
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
