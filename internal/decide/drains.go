package decide

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// open is a removal under way, and what its next step depends on.
type open struct {
	node model.NodeID
	view removal.View
	// moving are the pods of the node that must have room elsewhere.
	moving []*model.Pod
}

// openDrains lists the removals under way.
func openDrains(s *model.Snapshot, cluster *rules.Cluster) (list []open) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Standing.Drain == nil || n.Unknown {
			continue
		}
		o := open{node: model.NodeID(i)}
		if n.Standing.Drain.Stage != model.RollingBack {
			o.view.Pods = podsOf(s, cluster, n)
		}
		list = append(list, o)
	}
	return list
}

// tainted are the drains that have got no further than the taint: their pods are
// all there, and the node can be given back at any time as if nothing had been.
func tainted(s *model.Snapshot, o *open) bool {
	return s.Nodes[o.node].Standing.Drain.Stage == model.Tainted
}

// gather finds, for some removals under way, the pods that are still to be moved,
// counts them against what may be disrupted, and sees what of the evicted ones is
// still lacking.
func gather(s *model.Snapshot, cluster *rules.Cluster, left rules.Budgets, list []open, which func(*open) bool, waits map[types.UID]wait) {
	for i := range list {
		o := &list[i]
		n := &s.Nodes[o.node]
		if !n.Standing.Drain.Occupied || !which(o) {
			continue
		}
		o.view.Replacement, o.view.ReplacementSince = replacement(s, n.Standing.Drain)
		o.view.Missing = missing(s, n.Standing.Drain)
		o.moving = moving(o.view.Pods, left, cluster)
		for _, q := range o.moving {
			w, ok := waits[q.Owner]
			switch {
			case !ok:
			case w.pod == "" && (o.view.Unmade.IsZero() || w.since.Before(o.view.Unmade)):
				o.view.Unmade = w.since
			case w.pod != "" && (o.view.Replacement == "" || w.since.Before(o.view.ReplacementSince)):
				o.view.Replacement, o.view.ReplacementSince = w.pod, w.since
			}
		}
	}
}

// house gives the gathered pods their room in the world. Guests gets the nodes on
// which that room is.
func house(s *model.Snapshot, p model.Policy, world *schedsim.World, list []open, guests map[model.NodeID]bool) {
	var mover *schedsim.Mover
	for i := range list {
		o := &list[i]
		if len(o.moving) == 0 {
			continue
		}
		if mover == nil {
			mover = world.Mover(scaledown.Rooms(s), p.ScaleDown.StepLimit)
		}
		puts, stuck, enough := mover.Move(o.node, scaledown.Batches(s, o.moving))
		switch {
		case !enough:
			o.view.Unsure = true
		case stuck != nil:
			o.view.Homeless = scaledown.NoPlace(s, o.moving, stuck)
		}
		for _, put := range puts {
			guests[put.Node] = true
		}
	}
}

// drafts are the removals that have got no further than the taint, for the search
// for unneeded nodes to place their pods as it did before it began them.
func drafts(s *model.Snapshot, list []open) (out []scaledown.Draft) {
	for i := range list {
		if o := &list[i]; tainted(s, o) && len(o.moving) > 0 {
			out = append(out, scaledown.Draft{Node: o.node, Moving: o.moving})
		}
	}
	return out
}

// served are the classes of pods that wait and have a place in the plan.
func served(up *scaleup.Result) (classes []model.ClassID) {
	for i := range up.Pending {
		if v := &up.Pending[i]; v.Skipped == nil && v.Existing+v.Upcoming+v.Planned > 0 {
			classes = append(classes, v.Class)
		}
	}
	return classes
}

// onTheMove are the classes of pods that are on their way: those of open drains, and
// those that wait.
func onTheMove(s *model.Snapshot, list []open, waited []model.ClassID) []model.ClassID {
	classes := slices.Clone(waited)
	for i := range list {
		for _, b := range scaledown.Batches(s, list[i].moving) {
			classes = append(classes, b.Class)
		}
	}
	return classes
}

// accompany sees which pods of a node are to be beside others, and which of those are
// still on it.
func accompany(world *schedsim.World, s *model.Snapshot, list []open) {
	for i := range list {
		pods := list[i].view.Pods
		for j := range pods {
			c, ok := s.ClassOf(pods[j].Pod)
			if !ok || !seeks(s.Classes[c].Spec) {
				continue
			}
			pods[j].Seeks = true
			pods[j].Follows = slices.ContainsFunc(pods, func(q removal.Pod) bool {
				other, ok := s.ClassOf(q.Pod)
				return ok && s.Classes[other].Spec != s.Classes[c].Spec && (q.Answer.Kind == rules.Moves || q.Answer.Kind == rules.Ends) && world.Follows(c, other)
			})
		}
	}
}

// seeks reports whether pods are to be beside others.
func seeks(spec *model.Spec) bool {
	a := spec.Pod.Spec.Affinity
	return a != nil && a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// missed sees which nodes that are only tainted have pods that others, which wait, are to
// be beside: those have their place in the plan because the pods are where they are.
func missed(world *schedsim.World, s *model.Snapshot, list []open, waited []model.ClassID) {
	for i := range list {
		o := &list[i]
		if !tainted(s, o) {
			continue
		}
		for _, b := range scaledown.Batches(s, o.moving) {
			o.view.Followed = o.view.Followed || slices.ContainsFunc(waited, func(c model.ClassID) bool { return world.Follows(c, b.Class) })
		}
	}
}

// podsOf asks the rules about the pods of a node.
func podsOf(s *model.Snapshot, cluster *rules.Cluster, n *model.Node) []removal.Pod {
	pods := make([]removal.Pod, 0, len(n.Bound))
	for i := range n.Bound {
		q := &n.Bound[i]
		spec := s.Contents.Specs[q.Spec]
		pods = append(pods, removal.Pod{Pod: q, Name: spec.Pod.Namespace + "/" + q.Name, Answer: cluster.Apply(rules.ConditionOf(n), q), Priority: spec.Priority, Facts: s.Contents.Facts[q.Facts]})
	}
	return pods
}

// moving are the pods that must have room elsewhere. What the budgets allow is used
// up by those that are to be evicted.
func moving(pods []removal.Pod, left rules.Budgets, cluster *rules.Cluster) []*model.Pod {
	var out []*model.Pod
	for i := range pods {
		q := &pods[i]
		if q.Answer.Kind == rules.Moves {
			cluster.Take(q.Pod, left) // refused or not: it is for the API server to say
		}
		if scaledown.Housed(q.Answer, q.Facts) {
			out = append(out, q.Pod)
		}
	}
	return out
}

// replacement finds the pod that came for an evicted one and that has no node
// yet, the one that has waited longest. A pod of the same controller that came
// after the eviction counts, whatever it came for: we err to waiting.
func replacement(s *model.Snapshot, d *model.Drain) (name string, since time.Time) {
	evicted := map[types.UID]time.Time{}
	for i := range d.Evictions {
		e := &d.Evictions[i]
		if e.Owner == "" || !(e.Granted || e.Busy) {
			continue
		}
		if first, ok := evicted[e.Owner]; !ok || e.First.Before(first) {
			evicted[e.Owner] = e.First
		}
	}
	if len(evicted) == 0 {
		return "", time.Time{}
	}
	unplaced := func(p *model.Pod) {
		first, ok := evicted[p.Owner]
		created := time.Unix(p.Created, 0)
		// Creation is told in whole seconds, rounded down.
		if !ok || created.Add(time.Second).Before(first) {
			return
		}
		if name == "" || created.Before(since) {
			name, since = s.Contents.Specs[p.Spec].Pod.Namespace+"/"+p.Name, created
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			unplaced(p)
		}
	}
	for _, p := range s.Gated {
		unplaced(p)
	}
	return name, since
}

// arrives is how long after a pod has left its controller may take to make the
// next one. Some do so only then.
const arrives = 10 * time.Second

// missing tells whether a pod that is to come for an evicted one is awaited: its
// controller has not made one since, and has had no time to.
func missing(s *model.Snapshot, d *model.Drain) bool {
	made := map[types.UID]int64{} // by controller: when its youngest pod came to be
	young := func(p *model.Pod) { made[p.Owner] = max(made[p.Owner], p.Created) }
	looked := false
	for i := range d.Evictions {
		e := &d.Evictions[i]
		if e.Owner == "" || e.Gone.IsZero() || !s.Now.Before(e.Gone.Add(arrives)) {
			continue
		}
		if !looked {
			looked = true
			for j := range s.Nodes {
				for k := range s.Nodes[j].Bound {
					young(&s.Nodes[j].Bound[k])
				}
			}
			for j := range s.Pending {
				for _, p := range s.Pending[j].Pods {
					young(p)
				}
			}
			for _, p := range s.Gated {
				young(p)
			}
		}
		// Creation is told in whole seconds, rounded down.
		if time.Unix(made[e.Owner], 0).Add(time.Second).Before(e.First) {
			return true
		}
	}
	return false
}

// atOnce is how many evictions may be under way, of all drains together, and of
// one.
const (
	atOnce     = 20
	atOnceEach = 10
)

// busy counts the evictions under way.
func busy(d *model.Drain) int {
	n := 0
	for i := range d.Evictions {
		if d.Evictions[i].Busy {
			n++
		}
	}
	return n
}

// doubtful holds the drains that have got no further than the taint where growth had no
// steps to place all pods: those may need the node, which can be given back still.
func doubtful(s *model.Snapshot, list []open, unseen int) {
	for i := range list {
		if d := s.Nodes[list[i].node].Standing.Drain; tainted(s, &list[i]) && !d.Unready && scaledown.MayBeNeeded(s, unseen, d.Since) {
			list[i].view.Unsure = true
		}
	}
}

// advance asks every open drain for its next calls. Found is what the search for
// unneeded nodes made of those that are only tainted.
func advance(s *model.Snapshot, list []open, wanted map[model.NodeID]bool, p model.Policy, access *gate.Gate, found *scaledown.Result) (calls []model.Call, wake time.Time) {
	steps := make([][]removal.Step, len(list))
	slots := atOnce
	for i := range list {
		slots -= busy(s.Nodes[list[i].node].Standing.Drain)
	}
	short := scaledown.Short(s, p.ScaleDown)
	for i := range list {
		o := &list[i]
		n := &s.Nodes[o.node]
		o.view.Wanted = wanted[o.node]
		if v, ok := found.Homeless[o.node]; ok {
			o.view.Homeless, o.view.Unsure = v, o.view.Unsure || v == nil
		}
		o.view.Slots = min(slots, atOnceEach-busy(n.Standing.Drain))
		if n.Group >= 0 {
			o.view.Barred = access.Closed(n.Group, gate.Continue)
			o.view.Back = gate.GivesBack(o.view.Barred)
		}
		if o.view.Barred == nil {
			o.view.Barred = short[o.node]
			o.view.Back = o.view.Barred != nil
		}
		var at time.Time
		steps[i], at = removal.Next(n, o.view, s.Now, p.ScaleDown)
		wake = earliest(wake, at)
		for _, step := range steps[i] {
			if step.Verb == model.Evict {
				slots--
			}
		}
	}
	wake = earliest(wake, together(s, list, steps))
	for i := range list {
		for _, step := range steps[i] {
			calls = append(calls, nodeCall(s, p, &s.Nodes[list[i].node], step))
		}
	}
	return calls, wake
}

// together holds the nodes of a group that goes as a whole until all of them can
// go, and gives all of them back if one stays and none has gone, or if they have waited for
// too long for what could end with them. It returns when time alone would change this, zero
// if it would not.
func together(s *model.Snapshot, list []open, steps [][]removal.Step) (wake time.Time) {
	type state struct {
		leaving, ready, gone, back int
		emptied                    time.Time
	}
	groups := map[int]*state{}
	for i := range list {
		n := &s.Nodes[list[i].node]
		if n.Group < 0 || !s.Groups[n.Group].GoesWhole() {
			continue
		}
		g := groups[n.Group]
		if g == nil {
			g = &state{}
			groups[n.Group] = g
		}
		g.leaving++
		switch stage := n.Standing.Drain.Stage; {
		case stage == model.Removing || stage == model.Removed:
			g.gone++
		case stage == model.RollingBack || (len(steps[i]) > 0 && steps[i][0].Verb == model.Untaint):
			g.back++
		case len(steps[i]) == 1 && steps[i][0].Verb == model.Remove:
			g.ready++
		}
		if at := removal.Emptied(n.Standing.Drain); at.After(g.emptied) {
			g.emptied = at
		}
	}
	for i := range list {
		n := &s.Nodes[list[i].node]
		g := groups[n.Group]
		if n.Group < 0 || g == nil || g.gone > 0 {
			continue
		}
		stays := s.Groups[n.Group].ReadyNodes + s.Groups[n.Group].UnreadyNodes + s.Groups[n.Group].BootingNodes
		stage := n.Standing.Drain.Stage
		switch {
		case len(steps[i]) > 0 && steps[i][0].Verb == model.Untaint:
		case (g.back > 0 || stays > 0) && (stage == model.Tainted || stage == model.Evicting) && n.Standing.Busy == nil && n.Standing.AwaitVersion == "":
			steps[i] = []removal.Step{{Verb: model.Untaint, Reason: model.AllOrNothing, Why: "another node of its group stays, and the group goes as a whole"}}
		case len(steps[i]) != 1 || steps[i][0].Verb != model.Remove:
		case g.ready < g.leaving:
			steps[i] = nil
		default:
			v, until := scaledown.Unnamed(s, &s.Groups[n.Group]), g.emptied.Add(scaledown.Unlisted)
			switch {
			case v != nil && s.Now.Before(until):
				steps[i], wake = nil, earliest(earliest(wake, v.Until), until)
			case v != nil:
				steps[i] = []removal.Step{{Verb: model.Untaint, Reason: v.Reason, Why: v.Detail}}
			case s.Groups[n.Group].CloudChooses:
				steps[i][0].Whole = g.leaving
			}
		}
	}
	return wake
}
