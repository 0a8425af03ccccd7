package exact

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is what a round was, and what came of it.
type Result struct {
	Seed                    uint64
	Groups, Workloads, Pods int
	// Nodes came for the pods, where any plans for them would buy Bound.
	Nodes, Bound int
	// Allowed are the plans that were put before the scheduler's filters to their end, Unfinished those that a later one
	// ended, and Diverged the classes of pods that needed another scale-up.
	Allowed, Unfinished, Diverged int
	// Pending are the pods that stay pending, with the reason that Plimsoll gives.
	Pending []string
	// Woken are pods that were replaced, since the scheduler left them alone although they fit a node.
	Woken       int
	LongestWait time.Duration
	Took        time.Duration
}

func newResult(r *Round) Result {
	out := Result{Seed: r.Seed, Groups: len(r.Groups), Workloads: len(r.Workloads)}
	for _, w := range r.Workloads {
		out.Pods += w.Pods
	}
	return out
}

func (r Result) String() string {
	gap := "0%"
	if r.Bound > 0 {
		gap = fmt.Sprintf("%.0f%%", 100*(float64(r.Nodes)/float64(r.Bound)-1))
	}
	pending := "none"
	if len(r.Pending) > 0 {
		pending = strings.Join(slices.Sorted(slices.Values(r.Pending)), ", ")
	}
	return fmt.Sprintf("seed %d: groups %d, workloads %d, pods %d; nodes %d, bound %d, gap %s; replays allowed %d, "+
		"unfinished %d; diverged %d; woken %d; longest wait %.0f s; %.0f s; pending: %s",
		r.Seed, r.Groups, r.Workloads, r.Pods, r.Nodes, r.Bound, gap, r.Allowed, r.Unfinished, r.Diverged,
		r.Woken, r.LongestWait.Seconds(), r.Took.Seconds(), pending)
}
