package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	// mostFixed is how many classes of pods have their fixes tried without being asked, those with the most pods
	// without room: as many as the status lists.
	mostFixed = 50
	// fixAge is how long a fix is believed while only other pods and nodes change.
	fixAge = time.Minute
	// idleShare: of the time, one part in so many is spent on fixes.
	idleShare = 10
)

// idleEffort bounds the search for a fix of one class in idle time.
var idleEffort = explain.Effort{Plans: 30, Steps: 2_000_000}

// fixes tries in idle time what would give pods room, and hands on cycles that say what was found. Reports,
// status and page then name fixes that were tried, and since when the answer is the same.
type fixes struct {
	next loop.Reporter
	log  *slog.Logger
	wake chan struct{} // holds one

	mu     sync.Mutex
	newest model.Cycle
	known  map[string]known // by the class's digest
}

// known is what is known of a class. said is what it was found for.
type known struct {
	said  string
	at    time.Time
	group provider.GroupID
	fix   *explain.Fix
	all   bool // that was to be tried was tried; else nothing is said
	// since is when the groups' reasons were first given.
	since map[model.Reason]time.Time
}

// newFixes begins with what the leader before wrote down.
func newFixes(before status.Pending, next loop.Reporter, log *slog.Logger) *fixes {
	f := &fixes{next: next, log: log, wake: make(chan struct{}, 1), known: map[string]known{}}
	for _, c := range before.List {
		f.known[c.Class] = known{since: map[model.Reason]time.Time{c.Reason: c.Since.Time}}
	}
	return f
}

// Report hands the cycle on, with what is known.
func (f *fixes) Report(ctx context.Context, c model.Cycle) error {
	told := f.told(c)
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return f.next.Report(ctx, told)
}

// told is the cycle with what is known. Classes that have no pods without room any more are forgotten.
func (f *fixes) told(c model.Cycle) model.Cycle {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = c
	there := map[string]known{}
	first := mostWithout(&c)
	if len(first) > 0 {
		c.Plan.Pending = slices.Clone(c.Plan.Pending)
	}
	for _, i := range first {
		v := &c.Plan.Pending[i]
		digest := c.Snapshot.Classes[v.Class].Digest()
		k := f.known[digest]
		before := k.since
		k.since = map[model.Reason]time.Time{}
		v.Groups = slices.Clone(v.Groups)
		for j := range v.Groups {
			g := &v.Groups[j]
			since, ok := before[g.Reason]
			if !ok {
				since = c.Snapshot.Now
			}
			k.since[g.Reason] = since
			if g.Since.Equal(v.Since) { // the age of the pods, for want of a better one
				g.Since = since
			}
		}
		there[digest] = k
		if k.all && k.said == saidOf(v) {
			v.Tried = &model.TriedFix{}
			if k.fix != nil {
				v.Tried.Group, v.Tried.Text = k.group, k.fix.Text
			}
		}
	}
	f.known = there
	return c
}

// mostWithout are the places of the classes of the plan with the most pods that get no room.
func mostWithout(c *model.Cycle) (out []int) {
	for i := range c.Plan.Pending {
		if v := &c.Plan.Pending[i]; v.Stays(c.Snapshot.Now) && v.Without() > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return c.Plan.Pending[b].Without() - c.Plan.Pending[a].Without() })
	return out[:min(mostFixed, len(out))]
}

// saidOf is what a fix is for: how many pods get no room, and what the groups say.
func saidOf(v *model.PendingVerdict) string {
	var b strings.Builder
	fmt.Fprint(&b, v.Without())
	if v.Skipped != nil {
		fmt.Fprint(&b, " ", v.Skipped.Reason)
	}
	for i := range v.Groups {
		fmt.Fprint(&b, " ", v.Groups[i].Group, " ", v.Groups[i].Reason)
	}
	return b.String()
}

// Run tries fixes until ctx ends.
func (f *fixes) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		for {
			took, more := f.tryNext()
			if !more {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After((idleShare - 1) * took):
			}
		}
	}
}

// tryNext tries fixes for one class, and says how long that took. It reports whether there was one.
func (f *fixes) tryNext() (took time.Duration, more bool) {
	c, i := f.stale()
	if i < 0 {
		return 0, false
	}
	began := time.Now()
	v := &c.Plan.Pending[i]
	group, fix, all := f.fixOf(c, v.Class)
	f.mu.Lock()
	defer f.mu.Unlock()
	digest := c.Snapshot.Classes[v.Class].Digest()
	if k, there := f.known[digest]; there {
		k.said, k.at, k.group, k.fix, k.all = saidOf(v), c.Snapshot.Now, group, fix, all
		f.known[digest] = k
	}
	return time.Since(began), true
}

// fixOf keeps a fault in trying away from the autoscaler: nothing was tried then, and the log says so.
func (f *fixes) fixOf(c model.Cycle, class model.ClassID) (group provider.GroupID, fix *explain.Fix, all bool) {
	defer func() {
		if r := recover(); r != nil {
			group, fix, all = "", nil, false
			f.log.Error("trying what would give pods room failed; nothing else is affected", "panic", r,
				"stack", string(debug.Stack()))
		}
	}()
	return explain.FixOf(c, c.Policy, class, idleEffort)
}

// stale is the newest cycle, and the place of the first class in it whose fix is not known; -1 if there is none.
func (f *fixes) stale() (model.Cycle, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.newest
	for _, i := range mostWithout(&c) {
		v := &c.Plan.Pending[i]
		k := f.known[c.Snapshot.Classes[v.Class].Digest()]
		if k.said != saidOf(v) || c.Snapshot.Now.Sub(k.at) >= fixAge {
			return c, i
		}
	}
	return c, -1
}
