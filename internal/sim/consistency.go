package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// consistency is what only the product can know of itself: that its record has every call, that a cycle
// which does not decide overlooks nothing (rethink), and that what it says of the scheduler is so. Package
// check, which knows the truth alone, judges the rest.
type consistency struct {
	w      *world
	broken []error
	seen   map[string]bool // breaches by rule and subject: each is reported once
	// last is the newest cycle of the leader's; calls are those under way.
	last  model.Cycle
	calls map[string]bool
}

func newConsistency(w *world) consistency {
	return consistency{w: w, seen: map[string]bool{}, calls: map[string]bool{}}
}

func (c *consistency) breach(rule, subject, format string, args ...any) {
	if c.seen[rule+"/"+subject] {
		return
	}
	c.seen[rule+"/"+subject] = true
	text := fmt.Sprintf("breach of %q: %s: %s", rule, subject, fmt.Sprintf(format, args...))
	c.broken = append(c.broken, errors.New(stamp(c.w.now)+"  "+text))
	c.w.log.say("%s", text)
}

// orphaned: the leader died, and its calls have no owner.
func (c *consistency) orphaned() {
	clear(c.calls)
	c.last = model.Cycle{}
}

// cycle takes in a cycle.
func (c *consistency) cycle(is model.Cycle) {
	for _, out := range is.Ended {
		delete(c.calls, out.Call.ID)
	}
	c.last = is
	if !is.Decided {
		return
	}
	for _, call := range is.Plan.Calls {
		c.calls[call.ID] = true
	}
	known := map[string]bool{}
	for _, call := range is.Open {
		known[call.ID] = true
	}
	for _, id := range sortedKeys(c.calls) {
		if !known[id] {
			c.breach("no call without its intent on record", id,
				"it was started, has not ended, and the ledger does not have it")
		}
	}
	c.agrees(is)
}

// agrees: pods wait beside nodes that the planner has in mind for them no longer than the scheduler leaves
// refused pods alone, unless it is of another mind, the planner does not see what there is, or expendable pods
// have yet to end there.
func (c *consistency) agrees(is model.Cycle) {
	w := c.w
	if w.schedulerErrs() || len(w.sched.refuses) > 0 || w.suffers(lossyWatch) != nil {
		return
	}
	names := is.Snapshot.ClassNames()
	for i := range is.Plan.Pending {
		v := &is.Plan.Pending[i]
		if v.Disagrees != nil && c.waits(is.Snapshot, v.Class) &&
			is.Snapshot.Now.Sub(v.Disagrees.Since) > triedAgain+unaware &&
			w.now.Sub(w.judge.stirred) > unaware && !w.roomIsMade() {
			c.breach("where the planner sees room, the scheduler binds pods", names[v.Class], "%s", v.Disagrees.Detail)
		}
	}
}

// waits reports whether a pod of a class that waited when the snapshot was taken still does.
func (c *consistency) waits(s *model.Snapshot, class model.ClassID) bool {
	return slices.ContainsFunc(s.Pending, func(q model.Pending) bool {
		return q.Class == class && slices.ContainsFunc(q.Pods, func(p *model.Pod) bool {
			_, ok := c.w.truth.waiting[podName{s.Classes[class].Namespace(), p.Name}]
			return ok
		})
	})
}

// unaware is how long the leader may not know of a change.
const unaware = 30 * time.Second
