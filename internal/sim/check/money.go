package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// moneyRules are about nodes that go for cheaper ones, where that is asked for.
var moneyRules = []rule{
	{"M4", "At a constant load and without faults no set of nodes comes back.",
		map[What]func(*Judge, *Event){Sees: returns}},
	{"M5", "Nor does what the nodes cost by the hour rise, from one set that stands for half an hour to the next.",
		map[What]func(*Judge, *Event){Sees: dearer}},
	{"M6", "No budget is ever exceeded: by nodes on their way out, by nodes that begin to go within a time, or outside " +
		"of the times at which they may.", map[What]func(*Judge, *Event){Tainted: budgeted}},
	{"M-stay", "No pod is moved twice for a cheaper fleet within --move-stay.",
		map[What]func(*Judge, *Event){PodEnds: stays}},
}

// stays: of pods that are alike the judge takes the one that was made for an evicted one for its successor. What
// another process did need not have been written down when it ended.
func stays(j *Judge, e *Event) {
	t := &j.truth
	p := j.evicted(e)
	if p == nil || p.own || t.nodes[p.node] == nil || !t.nodes[p.node].saves {
		return
	}
	first := p.saved.IsZero() || p.saved.Before(t.led)
	j.test(first || j.since(p.saved) >= j.flags.MoveStay-rounding, e, p.uid, "what it came for was moved at %s",
		j.stamp(p.saved))
}

// sets are the sets of nodes that have stood for a while since the load last changed, each with all pods bound.
type sets struct {
	known []string
	last  string
	since time.Time
	price float64 // of the last that stood for long, 0: there was none
}

// Nodes that go and those that come for them are there together for a while, and many sets are there only in between.
const (
	standing     = 10 * time.Minute
	standingLong = 30 * time.Minute
)

// steady takes in the set of nodes that there is now, and reports for how long it has stood, with nothing that comes
// and nothing that goes, and what it costs by the hour, zero if that is not known.
// Where anybody but the autoscaler changes anything, nothing that was before counts, nor for as long as nodes are to
// be replaced whatever that costs: one more is there for a while, and then the same number as before. A budget may
// hold up a move for any time, so that what is there in between counts for nothing. A delay after a removal holds it up
// for so long, which is not time that a set has stood.
func (j *Judge) steady() (set string, price float64, stood time.Duration) {
	t := &j.truth
	if j.Renews() {
		t.due = j.now
	}
	if !j.flags.Cheaper && !j.flags.Returns || j.since(t.due) < j.flags.MovePatience || j.flags.Budget.any() ||
		!t.calm(j.now) {
		t.sets = sets{}
		return "", 0, 0
	}
	var b strings.Builder
	have, complete, priced := t.counts(), t.unbound == 0, true
	for _, id := range sorted(have) {
		g := t.groups[id]
		fmt.Fprintf(&b, " %s:%d", id, g.target)
		complete = complete && have[id].Ready == g.target && have[id].Machines == g.target
		priced = priced && (g.price > 0 || g.target == 0)
		price += g.price * float64(g.target)
	}
	if !priced {
		price = 0
	}
	if set = b.String(); set != t.sets.last || !complete {
		t.sets.last, t.sets.since = set, j.now
	}
	return set, price, j.since(t.sets.since) - j.flags.DelayAfterDelete
}

func returns(j *Judge, e *Event) {
	set, _, stood := j.steady()
	t := &j.truth
	if stood < standing || len(t.sets.known) > 0 && t.sets.known[len(t.sets.known)-1] == set {
		return
	}
	j.test(!slices.Contains(t.sets.known, set), e, "set"+set,
		"it was there before, of %d sets since the load last changed", len(t.sets.known))
	t.sets.known = append(t.sets.known, set)
}

func dearer(j *Judge, e *Event) {
	set, price, stood := j.steady()
	t := &j.truth
	if stood < standingLong || price <= 0 || price == t.sets.price {
		return
	}
	if t.sets.price > 0 {
		j.test(price < t.sets.price, e, "set"+set,
			"the nodes cost %.4g by the hour, and did %.4g before", price, t.sets.price)
	}
	t.sets.price = price
}
