package check

import (
	"slices"
	"time"
)

// sizeRules are about how much there is.
var sizeRules = []rule{
	{"N5", "No group, pool or cluster goes above a maximum by our asking, nor below a minimum by our ending; the " +
		"flags that force apart.", map[What]func(*Judge, *Event){TargetIs: atMost, MachineEnds: atLeast}},
	{"N12", "In an unhealthy cluster (more machines than --ok-total-unready-count, and more than the share of our " +
		"groups', are not ready or lost their node) nothing is bought, drained or ended.",
		map[What]func(*Judge, *Event){Asks: healthy}},
}

// readsLie is the fault by which groups are shown as they were, with a fresh date.
const readsLie = "reads=lies"

// settled is how long it may take until what people change is known and acted on.
const settled = 3 * time.Minute

// atMost: where people change a limit meanwhile, the older one may have been acted on. What people
// raised they may have raised above a limit, and the size of a group that was never read is unknown.
func atMost(j *Judge, e *Event) {
	t := &j.truth
	g := t.groups[e.Group]
	if g == nil || e.Call == "" || e.N <= g.target {
		return
	}
	w := t.writes[e.Call]
	most := g.max
	if j.since(g.changed) < settled {
		most = max(most, g.wasMax)
	}
	j.test(e.N <= most, e, e.Group, "it has %d of at most %d", e.N, most)
	more := e.N - g.target
	if p := t.pools[g.pool]; p != nil && j.since(t.touched) >= settled {
		j.test(t.poolSize(g.pool)+more <= p.max, e, g.pool, "it has %d of at most %d", t.poolSize(g.pool)+more, p.max)
	}
	if t.raised || w == nil || t.unread(w) || t.on(readsLie) || j.since(t.since[readsLie]) < settled {
		return // how much there is could not be known
	}
	nodes, cpu, memory := t.size()
	nodes, cpu, memory = nodes+more, cpu+int64(more)*g.cpu, memory+int64(more)*g.memory
	f := j.flags
	j.test((f.MaxNodesTotal == 0 || nodes <= f.MaxNodesTotal) && (f.MaxCoresTotal == 0 || cpu <= f.MaxCoresTotal) &&
		(f.MaxMemoryTotal == 0 || memory <= f.MaxMemoryTotal), e, "the cluster",
		"it has %d nodes of at most %d, %d thousandths of cores of %d, %d bytes of memory of %d", nodes, f.MaxNodesTotal,
		cpu, f.MaxCoresTotal, memory, f.MaxMemoryTotal)
}

// unread reports whether the process that began a write had never read some group, or a lack of it had
// been believed.
func (t *truth) unread(w *write) bool {
	for _, g := range t.groups {
		known, lacks := false, 0
		for _, r := range t.reads {
			if r.began.Before(t.led) || r.ended.After(w.began) {
				continue
			}
			if lacks++; !slices.Contains(r.missing, g.id) {
				known, lacks = true, 0
			}
		}
		if !known || lacks >= 3 {
			return true
		}
	}
	return false
}

func atLeast(j *Judge, e *Event) {
	t := &j.truth
	m := t.machines[e.Machine]
	w := t.writes[e.Call]
	if w == nil || m == nil || m.ending || j.since(t.touched) < settled {
		return
	}
	g := t.groups[m.group]
	if g == nil || j.flags.ForceFailed || j.flags.ForceUnregistered {
		return
	}
	// A pool fills up again what failed in it, so that such a machine may go at its minimum.
	repaired := w.Node == ""
	if p := t.pools[g.pool]; p != nil {
		if !repaired {
			j.test(t.poolSize(g.pool)-1 >= p.min, e, g.pool, "%d would be left of at least %d", t.poolSize(g.pool)-1, p.min)
		}
		return
	}
	j.test(g.target-1 >= g.min, e, g.id, "%d would be left of at least %d", g.target-1, g.min)
}

// healthy counts by the truth. What has been so for less than two minutes may not be known; what never
// was ready, or is being ended, is another matter. A node that no answer of the cloud has is not known to be ours.
// All are those that may be taken for good, such as a node whose machine went just now: we err to silence.
func healthy(j *Judge, e *Event) {
	switch e.Verb {
	case Grow, Cancel, Remove, Taint, Cordon, Evict:
	default:
		return
	}
	t := &j.truth
	bad, all, known := 0, 0, j.lag(j.long())
	for _, m := range t.machines {
		n := t.nodeOf(m)
		switch {
		case n != nil && m.ending && j.since(m.ended) > known:
		case n != nil:
			all++ // one that boots or is to go is one of all, too
			broke := n.ever && !n.ready && n.changed.Sub(n.made) > firstWord
			// When it broke says nothing to one whose clock is far behind: a node's own clock may be ahead. None is by hours.
			broke = broke && (t.onTime() || n.changed.Sub(n.made) > 2*time.Hour)
			if broke && n.tainted == "" && !n.drifted && !m.ending && j.since(n.changed) > known {
				bad++
			}
		case m.ending || !m.had || m.lost.IsZero():
		case j.since(m.lost) <= known:
			all++
		case !m.unseen && t.listed(m):
			all++
			bad++
		}
	}
	for _, n := range t.nodes {
		if !n.left.IsZero() && j.since(n.left) <= known {
			all++
		}
	}
	sick := bad > j.flags.OkTotalUnready && float64(bad) > j.flags.MaxUnreadyShare*float64(all)
	if bad > 0 {
		j.test(!sick, e, e.Call, "of %d machines %d are not ready or lost their node", all, bad)
	}
}

// firstWord is how long after it registered a node that is not ready cannot be told from one that boots:
// nothing in it says that it was ready before.
const firstWord = time.Minute + rounding

// long is how long a thing must have been so for the autoscaler to know it for sure.
func (j *Judge) long() time.Duration { return 2*time.Minute + j.tolerance() }

// listed reports whether the answers of the cloud had a machine ever since it lost its node, and one of
// them began after the loss. One that an answer lacks may have gone with its node.
func (t *truth) listed(m *machine) bool {
	seen := false
	for _, r := range t.reads {
		if !r.began.After(m.lost) {
			continue
		}
		if slices.Contains(r.missing, m.group) || slices.Contains(r.lacks, m.id) {
			return false
		}
		seen = true
	}
	return seen
}
