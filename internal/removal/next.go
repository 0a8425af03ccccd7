// Package removal advances a node's removal, one call at a time.
//
//	Tainting → Tainted → Removing → Removed                        an empty node
//	Tainting → Tainted → Cordoning → Evicting → Removing → Removed  one with pods
//	any of these before Removing → RollingBack → (closed)
//
// What flows in: a drain, which is a value that the ledger keeps, the node as
// the snapshot shows it, and what else of the cluster matters to it (View). What
// flows out: the next calls, or none yet, and when to ask again. Nothing here
// waits: what lasts minutes is many calls, so that a new leader goes on, or takes
// back, wherever the last one stopped.
//
// Who may import it: decide.
package removal

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

// Step is one call that a drain makes next.
type Step struct {
	Verb   model.Verb
	Reason model.Reason
	Why    string
	// Unready: the node goes because it is not ready.
	Unready bool
	// Whole is Remove's.
	Whole int
	// Known and LookOnly are Cordon's.
	Known    []types.UID
	LookOnly bool
	// Pod, PodUID and Grace are Evict's.
	Pod    string
	PodUID types.UID
	Grace  time.Duration
	// Note is Annotate's.
	Note string
}

// View is what a drain's next step depends on beside the node.
type View struct {
	// Wanted: pending pods fit there, for which another node would be bought.
	Wanted bool
	// Followed: pods that wait have a place by what they are to be beside, one of the
	// pods here.
	Followed bool
	// Pods are those on the node, as the rules judge them, in the snapshot's order.
	Pods []Pod
	// Homeless says why its pods do not fit on other nodes any more; nil if they do.
	Homeless *model.Verdict
	// Unsure: this cycle could not find out whether they do. Nothing is begun then.
	Unsure bool
	// Barred says why the node must not be written to now, or not go at all; nil if
	// nothing does. Back is set if it is to be given back for that.
	Barred *model.Verdict
	Back   bool
	// Slots is how many more evictions may be under way.
	Slots int
	// Missing: the pod that is to come for one that has left is not there yet.
	Missing bool
	// Replacement is the pod that came for an evicted one and that has no node yet,
	// the one that has waited longest; ReplacementSince since when. Empty if there
	// is none.
	Replacement      string
	ReplacementSince time.Time
	// Unmade is set where a pod that is still on the node has a controller that makes
	// none for those that were evicted, and since when that is so.
	Unmade time.Time
}

// Pod is one pod of the node.
type Pod struct {
	*model.Pod
	// Name is its namespace and name.
	Name     string
	Answer   rules.Answer
	Priority int32
	// Seeks: it is to be beside other pods, by affinity. Follows: some of those are still
	// on the node. They leave first, and have a new place before it is looked for one.
	Seeks, Follows bool
	Facts          *model.Facts
}

// Next tells a drain's next calls, and when time alone brings others; zero if it
// does not. A node that something landed on after its taint is given back, and
// so is one that is wanted, whose pods have no room elsewhere any more, or that
// a rule keeps by now.
func Next(n *model.Node, v View, now time.Time, p model.ScaleDownPolicy) (steps []Step, wake time.Time) {
	d := n.Standing.Drain
	if n.Standing.Busy != nil || n.Standing.AwaitVersion != "" {
		return nil, time.Time{}
	}
	// A rest after the cloud was busy may be minutes: it holds up the next step, and no
	// giving back, since pods may wait for the node by now.
	rests := now.Before(d.NotBefore)
	if rests && (d.Tries == 0 || d.Stage == model.RollingBack) {
		return nil, d.NotBefore
	}
	switch d.Stage {
	case model.Tainted, model.Evicting:
		if n.Group < 0 && d.Group == "" && model.HasTaint(n.Object, model.TaintToBeDeleted) {
			// Nobody's of ours: whoever tainted it knows why. If that was a Plimsoll, it
			// would have ended it by now, one way or the other.
			old := d.Began.Add(longest)
			if n.Object.Annotations[model.AnnotationRemoval] == "" {
				return nil, time.Time{}
			}
			if now.Before(old) {
				return nil, old
			}
		}
		if why := back(n, d, v, p); why != nil {
			return giveBack(why.Reason, why.Detail), time.Time{}
		}
		if rests {
			return nil, d.NotBefore
		}
		if d.Stage == model.Tainted {
			return whenTainted(n, d, v, now, p)
		}
		return whenEvicting(n, d, v, now, p)
	case model.RollingBack:
		reason := d.Code
		if reason == "" {
			reason = model.PodLanded
		}
		return giveBack(reason, d.Why), time.Time{}
	}
	return nil, time.Time{}
}

func giveBack(reason model.Reason, why string) []Step {
	return []Step{{Verb: model.Untaint, Reason: reason, Why: why}}
}

// back says why a node is given back, whatever its stage; nil if it is not.
func back(n *model.Node, d *model.Drain, v View, p model.ScaleDownPolicy) *model.Verdict {
	switch {
	case n.Group < 0:
		return &model.Verdict{Reason: model.NotAutoscaled, Detail: "no node group has it any more"}
	case !p.Enabled:
		return &model.Verdict{Reason: model.ScaleDownOff, Detail: "scale-down is off"}
	case n.Object.Annotations[model.AnnotationScaleDownDisabled] == "true":
		return &model.Verdict{Reason: model.ScaleDownDisabled, Detail: "it is annotated " + model.AnnotationScaleDownDisabled}
	case d.Unready && model.NodeReady(n.Object):
		return &model.Verdict{Reason: model.ReadyAgain, Detail: "it has become ready again"}
	case n.InstanceHold != "":
		return &model.Verdict{Reason: model.InstanceHeld, Detail: n.InstanceHold}
	case !model.HasTaint(n.Object, model.TaintToBeDeleted):
		return &model.Verdict{Reason: model.TakenBack, Detail: "somebody took the taint away"}
	case d.Stage == model.Evicting && n.Object.Annotations[model.AnnotationRemoval] == model.RemovalCordoned && !n.Object.Spec.Unschedulable:
		return &model.Verdict{Reason: model.TakenBack, Detail: "somebody took the cordon away"}
	case v.Wanted && d.Stage == model.Evicting:
		// It was in vain, and will be again as things are: it rests.
		return &model.Verdict{Reason: model.ReplacementWaits, Detail: "pods that wait fit there, and nowhere else without another node"}
	case v.Wanted:
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods fit there"}
	case v.Followed && d.Stage == model.Tainted:
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods are to be beside one of its pods"}
	}
	if name := occupant(v); name != "" && !d.Occupied {
		if d.Group == "" {
			return &model.Verdict{Reason: model.LeaderChanged, Detail: fmt.Sprintf("the taint is not of this process (of a leader before it, or a person), and pod %s is on it", name)}
		}
		return &model.Verdict{Reason: model.PodLanded, Detail: fmt.Sprintf("pod %s is on it", name)}
	}
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; a.Kind == rules.Blocks {
			return &a.Verdict
		}
	}
	if name := landed(d, v); name != "" {
		return &model.Verdict{Reason: model.PodLanded, Detail: fmt.Sprintf("pod %s is on it", name)}
	}
	if v.Barred != nil && v.Back {
		return v.Barred
	}
	return v.Homeless
}

// whenTainted is the step after the taint, and after the time that the scheduler has
// to see it: Cordon, which looks again, or Remove.
func whenTainted(n *model.Node, d *model.Drain, v View, now time.Time, p model.ScaleDownPolicy) ([]Step, time.Time) {
	if at := d.Since.Add(p.DeleteDelay); now.Before(at) {
		return nil, at
	}
	if v.Barred != nil || v.Unsure {
		return nil, now.Add(pace)
	}
	if !d.Occupied && !leaveFirst(v, p.Drain.EvictDaemonsEmpty) {
		return remove(n, d, now, p)
	}
	return []Step{{
		Verb: model.Cordon, Reason: model.Unneeded, Why: "its pods are to be evicted", Unready: d.Unready,
		Known: d.Pods, LookOnly: !p.Drain.Cordon,
	}}, time.Time{}
}

// occupant names a pod that keeps the node: none that ends with it.
func occupant(v View) string {
	for i := range v.Pods {
		if q := &v.Pods[i]; q.Answer.Kind != rules.Stays {
			return q.Name
		}
	}
	return ""
}

// longest is how long another Plimsoll's removal may take, on a node of a group
// that is its own.
const longest = 2 * time.Hour

// pace is how soon a drain is looked at again that could not go on for something
// that no watch tells.
const pace = 10 * time.Second

// landed names a pod that must be evicted and that was not there when the
// removal was decided: nobody has found a place for it.
func landed(d *model.Drain, v View) string {
	if !d.Occupied || len(d.Pods) == 0 {
		return ""
	}
	known := make(map[types.UID]bool, len(d.Pods))
	for _, uid := range d.Pods {
		known[uid] = true
	}
	for i := range v.Pods {
		if q := &v.Pods[i]; q.Answer.Kind == rules.Moves && !known[q.UID] {
			return q.Name
		}
	}
	return ""
}

// leaveFirst tells whether pods of DaemonSets are to be evicted before the node
// goes.
func leaveFirst(v View, policy bool) bool {
	for i := range v.Pods {
		if daemonLeaves(&v.Pods[i], policy) {
			return true
		}
	}
	return false
}

// daemonLeaves tells whether a pod is a DaemonSet's that is evicted before its
// node goes: as it says itself, else as the policy says.
func daemonLeaves(q *Pod, policy bool) bool {
	if q.Flags&model.FromDaemonSet == 0 || q.Flags&(model.Mirror|model.Finished) != 0 {
		return false
	}
	switch q.Facts.Daemon {
	case model.Yes:
		return true
	case model.No:
		return false
	}
	return policy
}

// remove is the last step, once annotations on the node delay it no more.
func remove(n *model.Node, d *model.Drain, now time.Time, p model.ScaleDownPolicy) ([]Step, time.Time) {
	for key := range n.Object.Annotations {
		if !strings.HasPrefix(key, model.PrefixDelayDeletion) {
			continue
		}
		if until := Emptied(d).Add(p.Drain.DelayTimeout); now.Before(until) {
			return nil, until
		}
	}
	why := "empty"
	switch {
	case d.Occupied:
		why = "its pods have left"
	case d.Unready:
		why = "not ready, and empty"
	}
	return []Step{{Verb: model.Remove, Reason: model.Unneeded, Why: why, Unready: d.Unready}}, time.Time{}
}

// Emptied is since when no pod can have kept the node.
func Emptied(d *model.Drain) time.Time {
	at := later(d.Since, d.Moved)
	for i := range d.Evictions {
		if e := &d.Evictions[i]; e.Last.After(at) {
			at = e.Last
		}
	}
	return at
}
