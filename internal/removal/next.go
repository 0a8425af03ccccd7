// Package removal is the whole life of a node on its way out, from the taint to the end of
// its machine.
//
//	Tainting → Tainted → Removing → Removed                        an empty node
//	Tainting → Tainted → Cordoning → Evicting → Removing → Removed  one with pods
//	Tainted or Evicting → RollingBack → (over)                      one that stays after all
//
// A removal is a value, model.Drain, which the ledger keeps. Advance says what becomes of
// it when something happens: a call begins, a call ends, an observation shows the node and
// its machine. One table (table.go) has the answer for each stage and each kind of event. Next
// says which calls come next, if any, and when to ask again. Nothing here waits: what takes
// minutes is many short calls, so that a new leader goes on, or takes back, where the last
// one stopped.
//
// What flows in: drains, events, the node as the snapshot shows it, and what else of the
// cluster matters to it (View). What flows out: drains, News for others, and calls.
//
// Who may import it: decide and ledger. It imports model.
package removal

import (
	"fmt"
	"slices"
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
	// Whole is for Remove, Known and LookOnly for Cordon, Pod, PodUID and Grace for Evict,
	// and Note for Annotate: see model.Call.
	Whole    int
	Known    []types.UID
	LookOnly bool
	Pod      string
	PodUID   types.UID
	Grace    time.Duration
	Note     string
}

// View is what a removal's next calls depend on beside the node.
type View struct {
	// Hurries: the cloud is about to take the machine. The pods leave together, as far as their budgets let them, and
	// wait for nothing else: what stays ends with the node.
	Hurries bool
	// Wanted: pending pods fit on the node, and otherwise another node would be bought.
	Wanted bool
	// Replaced: it goes for a move, whose new nodes are there.
	Replaced bool
	// Followed: pending pods have a place because a pod on this node is where it is.
	Followed bool
	// Pods are those on the node, each with the answer of the rules, in the snapshot's order.
	Pods []Pod
	// Homeless says why its pods no longer fit on other nodes; nil if they do.
	Homeless *model.Verdict
	// Unsure: this cycle could not find out whether they do. Nothing is begun then.
	Unsure bool
	// Barred says why the node must not be written to now, or must not go at all; nil if
	// it may. Back: it is rolled back for that reason.
	Barred *model.Verdict
	Back   bool
	// Slots is how many more evictions may be under way.
	Slots int
	// Missing: the replacement of a pod that has left is not there yet.
	Missing bool
	// Replacement is the replacement of an evicted pod that has had no node for the longest
	// time, and ReplacementSince since when; empty if there is none.
	Replacement      string
	ReplacementSince time.Time
	// Unmade is since when the controller of a pod that is still on the node has made no
	// replacement for an evicted pod; zero if that is not so.
	Unmade time.Time
}

// Pod is one pod of the node.
type Pod struct {
	*model.Pod
	// Name is its namespace and name.
	Name     string
	Answer   rules.Answer
	Priority int32
	// Seeks: it must be near other pods, by affinity. Follows: some of those are still on
	// the node. They leave first, and have a new place before one is looked for it.
	Seeks, Follows bool
	// Alone: no other node has a pod of its controller, and no budget says how many are to
	// stay. The last of them leaves when another one has a node.
	Alone bool
	// Behind: others of its controller are on a node that leaves before, and none on one that stays.
	Behind bool
	Facts  *model.Facts
}

// Next lists the next calls of a removal, and says when time alone would change them; zero:
// never. A drain is rolled back if a pod landed on it after the taint, if pending pods need
// it, if its pods no longer have room elsewhere, or if a rule keeps it by now.
func Next(n *model.Node, v View, now time.Time, p model.ScaleDownPolicy) (steps []Step, wake time.Time) {
	d := n.Standing.Drain
	if v.Hurries {
		v = v.unbound()
	}
	if n.Standing.Busy != nil || n.Standing.AwaitVersion != "" {
		return nil, time.Time{}
	}
	// After the cloud was busy the next try may be minutes away. It can be rolled back
	// meanwhile, since pods may wait for it by now.
	rests := now.Before(d.NotBefore)
	if rests && (d.Tries == 0 || d.Stage == model.RollingBack) {
		return nil, d.NotBefore
	}
	switch d.Stage {
	case model.Tainted, model.Evicting:
		if n.Group < 0 && d.Group == "" && model.HasTaint(n.Object, model.TaintToBeDeleted) {
			// The node is in none of our groups, and the taint is not ours. If it is of another
			// Plimsoll, its removal is over by then.
			then := d.Began.Add(longest)
			if n.Object.Annotations[model.AnnotationRemoval] == "" {
				return nil, time.Time{}
			}
			if now.Before(then) {
				return nil, then
			}
		}
		if v.Wanted && d.Stage == model.Evicting && endsSoon(v, now) {
			// Pods that wait have the room of pods that end. It is free before the node is back.
			return nil, now.Add(time.Second)
		}
		if why := whyBack(n, d, v, now, p); why != nil {
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

// unbound is a view without all that a node waits for, or is given back for, while its pods have time.
func (v View) unbound() View {
	v.Wanted, v.Followed, v.Homeless, v.Unsure = false, false, nil, false
	v.Missing, v.Replacement, v.Unmade = false, "", time.Time{}
	v.Pods = slices.Clone(v.Pods)
	for i := range v.Pods {
		v.Pods[i].Seeks, v.Pods[i].Follows, v.Pods[i].Alone, v.Pods[i].Behind = false, false, false, false
	}
	return v
}

func giveBack(reason model.Reason, why string) []Step {
	return []Step{{Verb: model.Untaint, Reason: reason, Why: why}}
}

// whyBack says why the drain of a node that is tainted or being emptied is rolled back; nil if it is not.
func whyBack(n *model.Node, d *model.Drain, v View, now time.Time, p model.ScaleDownPolicy) *model.Verdict {
	annotation, _ := model.Kept(n.Object, now)
	switch {
	case n.Group < 0:
		return &model.Verdict{Reason: model.NotAutoscaled, Detail: "it belongs to no node group any more"}
	case !p.Enabled:
		return &model.Verdict{Reason: model.ScaleDownOff, Detail: "scale-down is off"}
	case annotation != "":
		return &model.Verdict{Reason: model.ScaleDownDisabled, Detail: "it is annotated " + annotation}
	case d.Unready && model.NodeReady(n.Object):
		return &model.Verdict{Reason: model.ReadyAgain, Detail: "it has become ready again"}
	case n.InstanceHold != "":
		return &model.Verdict{Reason: model.InstanceHeld, Detail: n.InstanceHold}
	case !model.HasTaint(n.Object, model.TaintToBeDeleted):
		return &model.Verdict{Reason: model.TakenBack, Detail: "its taint was removed"}
	case d.Stage == model.Evicting && !n.Object.Spec.Unschedulable &&
		n.Object.Annotations[model.AnnotationRemoval] == model.RemovalCordoned:
		return &model.Verdict{Reason: model.TakenBack, Detail: "its cordon was removed"}
	case v.Wanted && (d.Stage == model.Evicting || v.Replaced):
		// Pods were moved for nothing, and would be again: the node rests afterwards. So does one that goes for a move:
		// its own pods have room elsewhere still, so that it would go again at once.
		return &model.Verdict{
			Reason: model.ReplacementWaits, Detail: "pods that wait fit there, and nowhere else without another node",
		}
	case v.Wanted:
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods fit there"}
	case v.Followed && d.Stage == model.Tainted:
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods are to be beside one of its pods"}
	}
	if name := occupant(v); name != "" && !d.Occupied {
		if d.Group == "" {
			const detail = "the taint is not of this process (of a leader before it, or a person), and pod %s is on it"
			return &model.Verdict{Reason: model.LeaderChanged, Detail: fmt.Sprintf(detail, name)}
		}
		return &model.Verdict{Reason: model.PodLanded, Detail: fmt.Sprintf("pod %s is on it", name)}
	}
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; a.Kind == rules.Blocks {
			return &a.Verdict
		}
	}
	if name := landed(d, v); name != "" && !v.Hurries {
		return &model.Verdict{Reason: model.PodLanded, Detail: fmt.Sprintf("pod %s is on it", name)}
	}
	if v.Barred != nil && v.Back {
		return v.Barred
	}
	return v.Homeless
}

// whenTainted is the step after the taint, once the scheduler has had time to see it:
// Cordon, which looks at the pods again, or Remove.
func whenTainted(n *model.Node, d *model.Drain, v View, now time.Time, p model.ScaleDownPolicy) ([]Step, time.Time) {
	if at := d.Since.Add(p.DeleteDelay); now.Before(at) {
		return nil, at
	}
	if v.Barred != nil || v.Unsure {
		return nil, now.Add(pace)
	}
	if !d.Occupied && !leaveFirst(v, p.Drain.EvictDaemonsEmpty) {
		return remove(n, d, v, now, p)
	}
	return []Step{{
		Verb: model.Cordon, Reason: model.Unneeded, Why: "its pods are to be evicted", Unready: d.Unready,
		Known: d.Pods, LookOnly: !p.Drain.Cordon,
	}}, time.Time{}
}

// endsSoon reports whether a pod of the node ends soon.
func endsSoon(v View, now time.Time) bool {
	return slices.ContainsFunc(v.Pods, func(q Pod) bool { return q.EndsSoon(now) })
}

// occupant names a pod that does not end with the node; empty if there is none.
func occupant(v View) string {
	for i := range v.Pods {
		if q := &v.Pods[i]; q.Answer.Kind != rules.Stays {
			return q.Name
		}
	}
	return ""
}

// longest is how long a removal by another Plimsoll may take.
const longest = 2 * time.Hour

// pace is how soon a removal is looked at again if no watch tells when it can go on.
const pace = 10 * time.Second

// landed names a pod that must be evicted and that was not there when the removal was
// decided: no place was looked for it. Empty if there is none.
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

// leaveFirst reports whether pods of DaemonSets are evicted before the node goes.
func leaveFirst(v View, policy bool) bool {
	for i := range v.Pods {
		if daemonLeaves(&v.Pods[i], policy) {
			return true
		}
	}
	return false
}

// daemonLeaves reports whether a pod is of a DaemonSet and is evicted before its node goes:
// as its annotation says, else as the policy says.
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

// remove is the last step, once no annotation on the node delays it.
func remove(n *model.Node, d *model.Drain, v View, now time.Time, p model.ScaleDownPolicy) ([]Step, time.Time) {
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
	step := Step{Verb: model.Remove, Reason: model.Unneeded, Why: why, Unready: d.Unready, Known: overdue(v)}
	return []Step{step}, time.Time{}
}

// overdue are the pods that should have ended long ago: the node goes with them.
func overdue(v View) (pods []types.UID) {
	for i := range v.Pods {
		if q := &v.Pods[i]; q.Flags&model.Terminating != 0 && q.Answer.Kind == rules.Stays {
			pods = append(pods, q.UID)
		}
	}
	return pods
}

// Emptied is since when no pod has kept the node.
func Emptied(d *model.Drain) time.Time {
	at := model.Latest(d.Since, d.Moved)
	for i := range d.Evictions {
		if e := &d.Evictions[i]; e.Last.After(at) {
			at = e.Last
		}
	}
	return at
}
