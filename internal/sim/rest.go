package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// quietFor is how long a world at rest must have seen no call.
const quietFor = 5 * time.Minute

// longRest is how long a world must have seen no call between two tries of one thing.
const longRest = 30 * time.Minute

// Unrest is what keeps the world from being at rest, which it must come to some
// time after all faults have ended: liveness. It is empty if nothing does.
func (w *world) Unrest() []string {
	var lacking []string
	lack := func(format string, args ...any) { lacking = append(lacking, fmt.Sprintf(format, args...)) }
	if w.leader == nil {
		lack("nobody leads")
		return lacking
	}
	// 1. Every target equals its nodes.
	for _, g := range w.cloud.Truth().Groups {
		ready := 0
		for _, m := range w.sortedMachines(g.ID) {
			// A node that is not ready is not removed at its pool's minimum: the cloud has to
			// replace it.
			if n := w.truth.object(m.node); n != nil && (model.NodeReady(n) || w.atMinimum(&g)) {
				ready++
			}
		}
		if g.Target != ready || len(g.Instances) != ready {
			lack("group %s: its target is %d, it has %d instances and %d ready nodes", g.ID, g.Target,
				len(g.Instances), ready)
		}
	}
	// 2. No taint, cordon or mark of the autoscaler is left on a node.
	for _, o := range w.truth.observed() {
		if model.HasTaint(o.Object, model.TaintToBeDeleted) {
			lack("node %s is still tainted", o.Object.Name)
		}
		if how, ours := o.Object.Annotations[model.AnnotationRemoval]; ours {
			lack("node %s is still %s by us", o.Object.Name, how)
		}
		if o.Object.Spec.Unschedulable && !w.cordons[o.Object.Name] {
			lack("node %s is cordoned, and not by people", o.Object.Name)
		}
	}
	// 3. No call is open, and none was made for a while.
	for _, c := range w.checker.last.Open {
		lack("call %s is still open", c.ID)
	}
	if quiet := w.now.Sub(w.checker.lastRan); quiet < quietFor && !w.checker.lastRan.IsZero() {
		lack("the last call began %s ago", quiet.Round(time.Second))
	}
	// 4. No growth is in flight.
	if s := w.checker.last.Snapshot; s != nil {
		for i := range s.Groups {
			for a := range s.Groups[i].Asks {
				ask := &s.Groups[i].Asks[a]
				if slices.ContainsFunc(ask.Units, func(u model.Unit) bool { return u.Open() }) {
					lack("group %s: the growth of %s is still open: %d units", ask.Group, stamp(ask.At), len(ask.Units))
				}
			}
		}
	}
	// 5. Every pod that fits some group runs, and all those that were evicted do.
	// 6. Every pool that can grow has its minimum.
	return slices.Concat(lacking, w.checker.unhoused(), w.homeless(), w.short())
}

// triesAgain reports whether pods wait, or did a short while ago, that a group may be able to
// serve while its cloud's choice is unknown: a few nodes are then bought in vain, and after a
// long rest a few more, which may serve them at last. Such a world is neither at rest nor restless.
func (w *world) triesAgain() bool {
	if w.now.Sub(w.checker.waited) >= longRest || w.checker.rested < longRest {
		return false
	}
	for _, g := range w.groups {
		if len(g.template.Places) > 0 {
			return true
		}
	}
	return false
}

// homeless are the workloads whose pods wait although some group may add a node that would take
// them.
func (w *world) homeless() []string {
	s := w.checker.last.Snapshot
	if s == nil || len(w.truth.waiting) == 0 {
		return nil
	}
	planner := schedsim.Load(nil, s)
	defer planner.Close()
	var lacking []string
	names := s.ClassNames()
	for q := range s.Pending {
		class := s.Pending[q].Class
		if s.Classes[class].Spec.Priority < w.settings.Policy.Rules.ExpendableBelow {
			continue // no node is bought for those
		}
		for i := range s.Groups {
			t, ok := planner.GroupTemplate(i)
			if !ok || !w.mayGrow(&s.Groups[i]) || full(s, i) || !simple(&s.Classes[class]) ||
				!couldServe(planner, class, t) {
				continue
			}
			lacking = append(lacking, fmt.Sprintf("%d pods %s wait, and group %s could have a node for them",
				len(s.Pending[q].Pods), names[class], s.Groups[i].ID))
			break
		}
	}
	return lacking
}

// couldServe reports whether the next node of a group serves the class, wherever the cloud's
// rule lets it land.
func couldServe(planner *schedsim.World, class model.ClassID, t schedsim.Template) bool {
	if !planner.Choosy(class, t.Group) {
		return planner.Suits(class, t)
	}
	l := planner.Landing(t.Group)
	var wanted []int
	for v, form := range l.Variants {
		if planner.Suits(class, form) {
			wanted = append(wanted, v)
		}
	}
	return l.Sure() && len(wanted) > 0 && l.AtWorst(planner.Landed(t.Group), wanted) == 1
}

// mayGrow reports whether limits let a group have one more node. A group whose machines differed
// from its template is not counted on.
func (w *world) mayGrow(g *model.Group) bool {
	own := w.groups[g.ID]
	if own == nil || own.differs || g.Target >= g.Max {
		return false
	}
	if targets, p := w.pool(g.Pool); p != nil && targets >= p.Max {
		return false
	}
	// The totals: everything that exists or is requested, with one more node of the group. People
	// may have used them up; and a node with a drifted id counts twice, as unmanaged and as in
	// flight.
	if w.checker.raised || slices.ContainsFunc(w.sortedMachines(""), func(m *machine) bool { return m.drifted }) {
		return false
	}
	nodes, cores, memory := w.totals(g.ID, g.Target+1)
	p := w.settings.Policy.ScaleUp
	return (p.MaxNodesTotal == 0 || nodes <= p.MaxNodesTotal) &&
		(p.MaxCoresTotal == 0 || cores <= 1000*p.MaxCoresTotal) &&
		(p.MaxMemoryTotal == 0 || memory <= p.MaxMemoryTotal)
}

// pool is the sum of the targets of a pool's groups, and its limits; nil for no pool.
func (w *world) pool(id provider.PoolID) (targets int, limits *provider.Pool) {
	truth := w.cloud.Truth()
	for _, g := range truth.Groups {
		if g.Pool == id {
			targets += g.Target
		}
	}
	if at := slices.IndexFunc(truth.Pools, func(p provider.Pool) bool { return p.ID == id && id != "" }); at >= 0 {
		limits = &truth.Pools[at]
	}
	return targets, limits
}

// atMinimum reports whether a removal from the group would take its pool below its minimum, or the
// group below what its pool's strategy leaves it.
func (w *world) atMinimum(g *provider.Group) bool {
	targets, p := w.pool(g.Pool)
	if p == nil || targets <= p.Min {
		return p != nil
	}
	s := w.checker.last.Snapshot
	if s == nil {
		return false
	}
	for _, p := range pool.Of(s) {
		for i, sh := range p.Shares() {
			if s.Groups[p.Groups[i]].ID == g.ID {
				return g.Target <= sh.Floor
			}
		}
	}
	return false
}

// full reports whether a group has its share of its pool.
func full(s *model.Snapshot, group int) bool {
	for _, p := range pool.Of(s) {
		for i, sh := range p.Shares() {
			if p.Groups[i] == group && p.Members[i].Target >= sh.Max {
				return true
			}
		}
	}
	return false
}

// short are the pools below their minimum although a group of theirs may grow.
func (w *world) short() []string {
	s := w.checker.last.Snapshot
	if s == nil {
		return nil
	}
	var lacking []string
	for i := range s.Groups {
		g := &s.Groups[i]
		if targets, p := w.pool(g.Pool); p != nil && targets < p.Min && g.HasTemplate && w.mayGrow(g) {
			lacking = append(lacking,
				fmt.Sprintf("pool %s has %d nodes of at least %d, and group %s may grow", p.ID, targets, p.Min, g.ID))
		}
	}
	return lacking
}

// Show describes the state of the world, for a person.
func (w *world) Show() string {
	var b strings.Builder
	for _, g := range w.cloud.Truth().Groups {
		registered, ready := 0, 0
		for _, m := range w.sortedMachines(g.ID) {
			if n := w.truth.object(m.node); n != nil {
				registered++
				if model.NodeReady(n) {
					ready++
				}
			}
		}
		fmt.Fprintf(&b, "group %s: target %d, %d instances, %d nodes, %d of them ready\n", g.ID, g.Target,
			len(g.Instances), registered, ready)
	}
	for _, wl := range w.sortedWorkloads() {
		bound := 0
		for id := range wl.pods {
			if w.truth.seats[id].node != "" {
				bound++
			}
		}
		fmt.Fprintf(&b, "workload %s: %d pods, %d of them have a node\n", wl.name, len(wl.pods), bound)
	}
	return b.String()
}
