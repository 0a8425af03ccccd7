// Package loop turns the crank: observe, fold, decide, act, report.
//
//	seen  := observer.Observe(now)                 what is there
//	ledger.Fold(seen, actor.Collect())             and what became of our calls
//	snap  := snapshot.New(seen, ledger)
//	plan  := decide.Decide(snap, policy)           pure
//	ledger.Note(snap, plan)                        intent on record
//	actor.Start(plan.Calls)                        returns at once
//	reporter.Report(cycle)
//
// What flows in: the three ports below, a policy, nudges. What flows out: a
// cycle per turn, to the reporter. It owns the clock, the triggers and the
// ledger; it knows nothing of Kubernetes or of any cloud.
//
// Who may import it: hosts (cmd, sim). It imports decide, ledger and model, and
// none of what fills its ports.
package loop

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// Observer reads. It answers from memory and never waits for the cloud.
type Observer interface {
	Observe(ctx context.Context, now time.Time) (model.Observation, error)
}

// Actor writes. Start returns at once; the ends of calls are collected later.
type Actor interface {
	Start(ctx context.Context, calls []model.Call)
	Collect() []model.Outcome
}

// Reporter reports.
type Reporter interface {
	Report(ctx context.Context, c model.Cycle) error
}

// Triggers say when the loop turns.
type Triggers struct {
	// Interval is how long the next turn waits without a nudge. It may take longer: a nudge at its
	// end is waited out, for Longest at most, and before a plan's NotBefore there is no turn at
	// all.
	Interval time.Duration
	// Idle and Longest coalesce nudges (rule L12): a turn begins when none has
	// come for Idle, or Longest after the first.
	Idle, Longest time.Duration
	// Nudges are the channels that ask for a turn soon.
	Nudges []<-chan struct{}
}

// Loop is one autoscaler. It serves one goroutine.
type Loop struct {
	observer Observer
	actor    Actor
	reporter Reporter
	policy   model.Policy
	next     atomic.Pointer[model.Policy]
	now      func() time.Time

	ledger  *ledger.Ledger
	decider decide.Decider
	snap    *model.Snapshot
	plan    model.Plan
	memory  model.Memory
	decided bool
	// awaits: something has waited for the next read of the cloud since the last decision.
	awaits bool
	// rechecked is when what is kept was last held against a decision from nothing. replay is what is still to be held
	// against the plugins, nil if nothing is, and replayed what came of the last one, until it is reported.
	rechecked time.Time
	replay    *decide.Replay
	replayed  *model.Replay
	// replayAfter is the time before which no other replay begins.
	replayAfter time.Time
}

// New makes a loop that continues from a ledger: an empty one, or one restored from an earlier
// leader's memory.
func New(o Observer, a Actor, r Reporter, p model.Policy, now func() time.Time, book *ledger.Ledger) *Loop {
	return &Loop{observer: o, actor: a, reporter: r, policy: p, now: now, ledger: book}
}

// Close releases the scheduler's plugins for later loops in the same process, as the simulation has
// them. A process with one loop needs no Close. The loop must not turn again.
func (l *Loop) Close() { l.decider.Close() }

// Adopt gives the policy that counts from the next turn on. It may be called from any goroutine.
func (l *Loop) Adopt(p model.Policy) { l.next.Store(&p) }

// adopt takes a policy that was given since the last turn.
func (l *Loop) adopt() {
	if p := l.next.Swap(nil); p != nil {
		p.InventoryNotBefore, p.Disallowed = l.policy.InventoryNotBefore, l.policy.Disallowed // the process's own
		if l.policy.Steps > 0 {
			p.Share(l.policy.Steps) // as was measured at its start
		}
		l.policy, l.decided = *p, false
		l.ledger.Adopt(p.Rules)
	}
}

// Steps counts the steps of all decisions so far. It may be read from any goroutine: it grows while
// a decision makes progress.
func (l *Loop) Steps() int64 { return l.decider.Steps() }

// RunOnce is one turn. The error is that of observing or reporting. Deciding does not fail, and
// failed calls come back with the next turn.
func (l *Loop) RunOnce(ctx context.Context) error {
	l.adopt()
	// 1. Observe.
	began := l.now()
	seen, err := l.observer.Observe(ctx, began)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	in, policies := &seen.Inventory, l.policy.Groups
	policies.Pauses = seen.Pauses
	in.Groups, seen.Settled, seen.SettledUntil = policies.Groups(in.Groups, seen.Now)
	in.Notices = slices.Concat(in.Notices, policies.Notices(in.Groups))
	ended := l.actor.Collect()
	cycle := model.Cycle{Ended: ended, Policy: l.policy}
	// 2. Fold.
	l.ledger.Fold(seen, ended)
	l.awaits = l.awaits || l.ledger.AwaitsCloud()
	observed := l.now()
	cycle.Took.Observe = observed.Sub(began)
	// 3. Decide, unless nothing can have changed (rule L11).
	if l.stillHolds(seen, ended) {
		if len(l.ledger.Changes()) > 0 {
			l.memory = l.ledger.Memory()
		}
		now := *l.snap
		now.Now, now.AsOf = seen.Now, seen.Inventory.AsOf
		cycle.Snapshot, cycle.Plan = &now, l.plan
		cycle.Recheck, cycle.Replay = l.recheck(seen), l.tellReplay()
		cycle.Open, cycle.Changes, cycle.Memory = l.ledger.Open(), l.ledger.Changes(), l.memory
		return l.report(ctx, cycle)
	}
	l.endReplay(false)
	l.snap = snapshot.New(l.snap, seen, l.ledger.Standing(), l.policy.Rules)
	l.plan = l.decider.Decide(l.snap, l.policy)
	l.decided = true
	cycle.Took.Decide = l.now().Sub(observed)
	// 4. Record the intent, then act.
	l.ledger.Note(l.snap, l.plan)
	l.awaits = l.ledger.AwaitsCloud() || l.snap.AwaitsCloud()
	l.memory = l.ledger.Memory()
	l.actor.Start(ctx, l.plan.Calls)
	// 5. Report.
	cycle.Replay = l.tellReplay()
	cycle.Snapshot, cycle.Plan, cycle.Decided = l.snap, l.plan, true
	cycle.Open, cycle.Changes, cycle.Memory = l.ledger.Open(), l.ledger.Changes(), l.memory
	l.beginReplay()
	return l.report(ctx, cycle)
}

func (l *Loop) report(ctx context.Context, c model.Cycle) error {
	if err := l.reporter.Report(ctx, c); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// stillHolds reports whether Decide would add nothing to the last plan: the generation is the same,
// the plan's wake is ahead, no call has ended since, the ledger has no news, and nothing waits for
// a read of the cloud. The plan's own calls are under way then, and are not started again.
func (l *Loop) stillHolds(seen model.Observation, ended []model.Outcome) bool {
	if !l.decided || seen.Generation == 0 || seen.Generation != l.snap.Generation || len(ended) > 0 || l.ledger.News() {
		return false
	}
	if !l.plan.Wake.IsZero() && !seen.Now.Before(l.plan.Wake) {
		return false
	}
	asOf := seen.Inventory.AsOf
	if l.policy.Stale(seen.Now, asOf) != l.policy.Stale(l.snap.Now, l.snap.AsOf) {
		return false
	}
	return asOf.Equal(l.snap.AsOf) || !l.awaits
}

// Run turns until ctx ends. It calls failed for each turn that failed, and goes on.
func (l *Loop) Run(ctx context.Context, t Triggers, failed func(error)) {
	nudged := merge(ctx, t.Nudges)
	for ctx.Err() == nil {
		if err := l.RunOnce(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		l.wait(ctx, t, nudged)
	}
}

// Next is the time until the next turn without a nudge: the interval, a second while calls are
// under way, or the plan's wake. It reports whether nudges may bring the turn forward: before a
// plan's NotBefore they may not.
func (l *Loop) Next(t Triggers) (due time.Duration, nudgeable bool) {
	now := l.now()
	if until := l.plan.NotBefore; until.After(now) {
		return until.Sub(now), false
	}
	due = t.Interval
	if len(l.ledger.Open()) > 0 {
		due = min(due, time.Second)
	}
	if w := l.plan.Wake; !w.IsZero() {
		due = max(t.Idle, min(due, w.Sub(now)))
	}
	return due, true
}

// wait returns when the next turn is due, or soon after a nudge.
func (l *Loop) wait(ctx context.Context, t Triggers, nudged <-chan struct{}) {
	due, nudgeable := l.Next(t)
	if !nudgeable {
		nudged = nil
	}
	timer := time.NewTimer(due)
	defer timer.Stop()
	if !l.idle(ctx, timer.C, nudged) {
		return
	}
	longest := time.NewTimer(t.Longest)
	defer longest.Stop()
	for {
		idle := time.NewTimer(t.Idle)
		select {
		case <-ctx.Done():
		case <-longest.C:
		case <-idle.C:
		case <-nudged:
			idle.Stop()
			continue
		}
		idle.Stop()
		return
	}
}

// idle waits for a nudge, and reports whether there was one before the turn was due. It does what there is to do in
// idle time, a piece at a time.
func (l *Loop) idle(ctx context.Context, due <-chan time.Time, nudged <-chan struct{}) bool {
	for l.replay != nil {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return false
		case <-nudged:
			return true
		default:
			l.doubt()
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
		return false
	case <-nudged:
		return true
	}
}

// merge joins several channels into one, which holds one nudge at most.
func merge(ctx context.Context, in []<-chan struct{}) <-chan struct{} {
	out := make(chan struct{}, 1)
	for _, c := range in {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-c:
				}
				select {
				case out <- struct{}{}:
				default:
				}
			}
		}()
	}
	return out
}
