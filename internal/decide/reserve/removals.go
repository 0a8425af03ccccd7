package reserve

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Removal is a removal under way, and what its next step depends on.
type Removal struct {
	Node model.NodeID
	View removal.View
	// Moving are the pods of the node that must have room elsewhere.
	Moving []*model.Pod
}

func (r *Room) findRemovals() {
	for i := range r.snap.Nodes {
		n := r.snap.Nodes[i]
		if n.Standing.Drain == nil || n.Unknown {
			continue
		}
		o := Removal{Node: model.NodeID(i)}
		if n.Standing.Drain.Stage != model.RollingBack {
			o.View.Pods = r.podsOf(n)
		}
		r.Removals = append(r.Removals, o)
	}
}

// IsDraft reports whether a removal has got no further than the taint. Of a node that goes for a move none
// is: there is room that was bought for its pods.
func (r *Room) IsDraft(o *Removal) bool {
	return r.snap.Nodes[o.Node].Standing.Drain.IsDraft() && r.replaced[o.Node] == nil
}

// Drafts are the drafts that have pods to move.
func (r *Room) Drafts() (drafts []*Removal) {
	for i := range r.Removals {
		if o := &r.Removals[i]; r.IsDraft(o) && len(o.Moving) > 0 {
			drafts = append(drafts, o)
		}
	}
	return drafts
}

// gather finds, for some removals, the pods that are still to be moved, counts them
// against the budgets, and looks up what is lacking for those that were evicted.
func (r *Room) gather(which func(*Removal) bool) {
	for i := range r.Removals {
		o := &r.Removals[i]
		d := r.snap.Nodes[o.Node].Standing.Drain
		if !d.Occupied || !which(o) {
			continue
		}
		v := &o.View
		v.Missing = missing(r.snap.Now, d, r.made)
		o.Moving = r.toMove(v.Pods, r.Budgets)
		waits := replacement(d, r.made)
		for _, q := range o.Moving {
			l, ok := r.lacks[q.Owner]
			switch {
			case !ok:
			case l.pod != nil && (waits == nil || l.pod.Created < waits.Created):
				waits = l.pod
			case l.pod != nil:
			case v.Unmade.IsZero() || l.since.Before(v.Unmade):
				v.Unmade = l.since
			}
		}
		if waits != nil {
			v.Replacement, v.ReplacementSince = waits.name(r.snap), waits.since()
		}
	}
}

// podsOf applies the rules to the pods of a node.
func (r *Room) podsOf(n *model.Node) []removal.Pod {
	pods := make([]removal.Pod, 0, len(n.Bound))
	for i := range n.Bound {
		q := &n.Bound[i]
		spec := r.snap.Contents.Specs[q.Spec]
		pods = append(pods, removal.Pod{
			Pod: q, Name: spec.Pod.Namespace + "/" + q.Name, Answer: r.Rules.Apply(rules.ConditionOf(n), q),
			Priority: spec.Priority, Facts: r.snap.Contents.Facts[q.Facts],
		})
	}
	return pods
}

// toMove are the pods that must have room elsewhere. Those that are to be evicted are
// counted against the budgets.
func (r *Room) toMove(pods []removal.Pod, left rules.Budgets) []*model.Pod {
	var out []*model.Pod
	for i := range pods {
		q := &pods[i]
		if q.Answer.Kind == rules.Moves {
			r.Rules.Take(q.Pod, left) // whether or not it is refused: the API server decides
		}
		if NeedsRoom(q.Answer, q.Facts) {
			out = append(out, q.Pod)
		}
	}
	return out
}

// NeedsRoom reports whether a pod must have room elsewhere before its node goes: it is
// to be evicted, or it is ending and its controller makes the next one only then.
func NeedsRoom(a rules.Answer, facts *model.Facts) bool {
	return a.Kind == rules.Moves || (a.Kind == rules.Ends && facts.Controller == "StatefulSet")
}

// FindCompany completes what the next steps of removals depend on: which pods must be
// beside which others. Waited are the classes of pods that wait and have a place in the
// plan.
func (r *Room) FindCompany(waited []model.ClassID) {
	for i := range r.Removals {
		o := &r.Removals[i]
		if r.IsDraft(o) {
			// Those that wait have their place because a pod of the node is where it is.
			for _, b := range Batches(r.snap, o.Moving) {
				o.View.Followed = o.View.Followed ||
					slices.ContainsFunc(waited, func(c model.ClassID) bool { return r.World.Follows(c, b.Class) })
			}
		}
		for j := range o.View.Pods {
			q := &o.View.Pods[j]
			q.Seeks, q.Follows = r.follows(q, o.View.Pods)
		}
	}
	r.findAlone()
}

// findAlone finds the pods of removals under way that only pods on nodes which leave can serve beside, for the time
// until others have come for them. Of a controller that has such pods on several nodes, those of one node go first.
func (r *Room) findAlone() {
	alone := map[types.UID][]*removal.Pod{}
	first := r.firstEvicted()
	for i := range r.Removals {
		o := &r.Removals[i]
		d := r.snap.Nodes[o.Node].Standing.Drain
		if d.Stage != model.Evicting {
			continue
		}
		for j := range o.View.Pods {
			q := &o.View.Pods[j]
			if _, ok := first[q.Owner]; !ok {
				first[q.Owner] = i // none has asked yet
			}
			if q.Owner == "" || q.Answer.Kind != rules.Moves || q.Follows || len(r.Rules.Covering(q.Pod)) > 0 {
				continue
			}
			if q.Behind = first[q.Owner] != i; q.Behind || r.accompanied(d, q, o.View.Pods) {
				alone[q.Owner] = append(alone[q.Owner], q)
			}
		}
	}
	if len(alone) == 0 {
		return
	}
	for i := range r.snap.Nodes {
		if n := r.snap.Nodes[i]; n.Kind == model.Ready {
			for j := range n.Bound {
				if p := &n.Bound[j]; p.Flags&model.Terminating == 0 {
					for _, q := range alone[p.Owner] {
						q.Behind = false
					}
					delete(alone, p.Owner)
				}
			}
		}
	}
	for _, pods := range alone {
		for _, q := range pods {
			q.Alone = true
		}
	}
}

// firstEvicted is the removal, by controller, that has asked for the eviction of a pod which is there still.
func (r *Room) firstEvicted() map[types.UID]int {
	first := map[types.UID]int{}
	for i := range r.Removals {
		o := &r.Removals[i]
		asked := r.snap.Nodes[o.Node].Standing.Drain.Evictions
		for j := range o.View.Pods {
			q := &o.View.Pods[j]
			is := func(x model.Eviction) bool { return x.UID == q.UID }
			if _, ok := first[q.Owner]; !ok && slices.ContainsFunc(asked, is) {
				first[q.Owner] = i
			}
		}
	}
	return first
}

// accompanied reports whether a pod is to leave with others of its controller, or after some have. Of a drain that
// another process began the evictions are not known any more, but the controllers of the pods are.
func (r *Room) accompanied(d *model.Drain, q *removal.Pod, beside []removal.Pod) bool {
	return !r.snap.Displaced[q.Owner].First.IsZero() ||
		slices.ContainsFunc(beside, func(p removal.Pod) bool { return p.Owner == q.Owner && p.UID != q.UID }) ||
		slices.ContainsFunc(d.Evictions, func(x model.Eviction) bool { return x.Owner == q.Owner && x.UID != q.UID })
}

// follows reports whether a pod must be beside others, by affinity, and whether one of
// those is on the same node.
func (r *Room) follows(q *removal.Pod, beside []removal.Pod) (seeks, follows bool) {
	c, ok := r.snap.ClassOf(q.Pod)
	if !ok {
		return false, false
	}
	spec := r.snap.Classes[c].Spec
	a := spec.Pod.Spec.Affinity
	if a == nil || a.PodAffinity == nil || len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		return false, false
	}
	return true, slices.ContainsFunc(beside, func(p removal.Pod) bool {
		other, ok := r.snap.ClassOf(p.Pod)
		return ok && r.snap.Classes[other].Spec != spec && (p.Answer.Kind == rules.Moves || p.Answer.Kind == rules.Ends) &&
			r.World.Follows(c, other)
	})
}

// NoPlace names a pod that finds no room.
func NoPlace(s *model.Snapshot, pods []*model.Pod, stuck *schedsim.Stuck) *model.Verdict {
	why := cmp.Or(stuck.Verdict.Detail, string(stuck.Verdict.Reason))
	return &model.Verdict{Reason: model.NoPlaceToMovePods,
		Detail: fmt.Sprintf("pod %s: %s", PodOf(s, pods, stuck.Class), why),
		Fix:    "a node that stays, that has room for the pod, and that its spread, affinity and tolerations allow"}
}

// PodOf names the first pod of a class.
func PodOf(s *model.Snapshot, pods []*model.Pod, class model.ClassID) string {
	for _, p := range pods {
		if c, ok := s.ClassOf(p); ok && c == class {
			return nameOf(s, p)
		}
	}
	return ""
}

func nameOf(s *model.Snapshot, p *model.Pod) string {
	return s.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name
}

// Batches counts pods by class, sorted by class.
func Batches(s *model.Snapshot, pods []*model.Pod) []model.Batch {
	var out []model.Batch
	for _, p := range pods {
		id, ok := s.ClassOf(p)
		if !ok {
			continue // it takes no room
		}
		i, found := slices.BinarySearchFunc(out, id, func(b model.Batch, c model.ClassID) int {
			return cmp.Compare(b.Class, c)
		})
		if !found {
			out = slices.Insert(out, i, model.Batch{Class: id})
		}
		out[i].Count++
	}
	return out
}
