package scaledown

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// needed says what a node is kept for as far as the node itself tells, nil if
// for nothing.
func (f *finder) needed(id model.NodeID) *model.Verdict {
	n := f.Snapshot.Nodes[id]
	annotation, until := "", time.Time{}
	if n.Annotated {
		annotation, until = model.Kept(n.Object, f.Snapshot.Now)
	}
	if n.Group < 0 && !n.Unknown && !n.Standing.UnneededSince.IsZero() && n.Occupants > 0 {
		// Its time runs on until its group is known again, but not while it is used.
		if why := f.atMost(useOf(f.Snapshot, n, f.Policy.ScaleDown)).tooMuch(); why != nil {
			return why
		}
	}
	switch {
	case n.Unknown && f.Snapshot.AsOf.IsZero():
		return &model.Verdict{Reason: model.NodeWithoutKnownInstance, Fix: "node groups that can be read",
			Detail: "the node groups could not be read: " + f.Snapshot.InventoryErr}
	case n.Unknown:
		return &model.Verdict{Reason: model.NodeWithoutKnownInstance,
			Detail: "it is younger than the last read of the cloud", Fix: "the next read"}
	case n.Group < 0:
		return &model.Verdict{Reason: model.NotAutoscaled, Detail: "it belongs to no node group"}
	case n.Kind == model.Leaving:
		return &model.Verdict{Reason: model.CurrentlyBeingDeleted}
	case n.Kind == model.Booting:
		return &model.Verdict{Reason: model.NotReady, Detail: n.Kind.String(), Until: n.BootsUntil}
	case annotation != "":
		key, _, _ := strings.Cut(annotation, "=")
		return &model.Verdict{Reason: model.ScaleDownDisabled, Detail: "it is annotated " + annotation, Until: until,
			Fix: "without the annotation " + key}
	case n.InstanceHold != "":
		return &model.Verdict{Reason: model.InstanceHeld, Detail: n.InstanceHold}
	}
	if v := f.failed(n); v != nil {
		return v
	}
	if n.Kind == model.Unready {
		if v := unready(n, f.Policy.ScaleDown); v != nil {
			return v
		}
	}
	if m := f.Room.BoughtFor(id); m != nil {
		return &model.Verdict{Reason: model.ReservedForMove, Detail: m.Text(), Since: m.Began, Fix: "the move's end"}
	}
	if f.Wanted[id] {
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods fit there", Fix: "they are bound elsewhere"}
	}
	return nil
}

// failed keeps a node whose removal failed, for its own rest or for the delay after a
// failure, whichever is longer. It is no candidate meanwhile: others may go in its place.
func (f *finder) failed(n *model.Node) *model.Verdict {
	failure := n.Standing.Failed
	if failure.At.IsZero() {
		return nil
	}
	rest := max(failure.Rest, f.Policy.ScaleDown.DelayAfterFailure)
	until := failure.At.Add(rest)
	if !until.After(f.Snapshot.Now) {
		return nil
	}
	return &model.Verdict{Reason: model.DrainFailed,
		Detail: fmt.Sprintf("it rests for %s, since its removal failed: %s", rest, failure.Why),
		Since:  failure.At, Until: until, Fix: "time; or remove what was in the way"}
}

// unready says why a node that is not ready is not to go for that, nil if it may.
func unready(n *model.Node, p model.ScaleDownPolicy) *model.Verdict {
	switch {
	case n.State != model.StateUnready && n.State != model.StateNeverStarted:
		return &model.Verdict{Reason: model.NotReady, Detail: string(n.State)}
	case !p.UnreadyEnabled:
		return &model.Verdict{Reason: model.UnreadyDisabled,
			Detail: model.UnreadyWhy(n.Object), Fix: "--scale-down-unready-enabled"}
	}
	return nil
}

// use is how much of a node is requested: of CPU and memory the larger fraction of what
// it can hold, on a node with an accelerator the fraction of that alone.
type use struct {
	resource  string
	fraction  float64
	threshold float64
	flag      string
	// unknown: the node does not tell how much it can hold.
	unknown bool
}

// atMost is what a node is used for one of the groups, whichever allows the most.
func (f *finder) atMost(u use) use {
	for i := range f.Snapshot.Groups {
		o := &f.Snapshot.Groups[i].Options
		t := o.ScaleDownUtilizationThreshold
		if model.IsAccelerator(corev1.ResourceName(u.resource)) {
			t = o.ScaleDownGPUUtilizationThreshold
		}
		if t != nil {
			u.threshold = max(u.threshold, *t)
		}
	}
	return u
}

// useOf sums the requests of all pods on the node, those nominated to it
// included. Pods of DaemonSets and static ones are left out where that is asked.
func useOf(s *model.Snapshot, n *model.Node, p model.ScaleDownPolicy) use {
	g := &model.Group{} // a node that no group has, as far as is known now
	if n.Group >= 0 {
		g = &s.Groups[n.Group]
	}
	sum := model.Resources{MilliCPU: n.MilliCPU, Memory: n.Memory}
	has := &s.Contents.Shapes[n.Shape].Allocatable
	if len(has.Extended) > 0 {
		sum = requests(s, n)
	}
	daemons := p.IgnoreDaemons
	if o := g.Options.IgnoreDaemonSetsUtilization; o != nil {
		daemons = *o
	}
	if daemons || p.IgnoreMirror {
		for i := range n.Bound {
			f := n.Bound[i].Flags
			if f&model.Finished == 0 && ((daemons && f&model.FromDaemonSet != 0) || (p.IgnoreMirror && f&model.Mirror != 0)) {
				sum = sum.Plus(s.Contents.Specs[n.Bound[i].Spec].Requests, -1)
			}
		}
	}
	for _, a := range has.Extended {
		if a.Value > 0 && model.IsAccelerator(a.Name) {
			u := use{
				resource: string(a.Name), fraction: float64(sum.Value(a.Name)) / float64(a.Value),
				threshold: p.GPUThreshold, flag: "--scale-down-gpu-utilization-threshold",
			}
			if o := g.Options.ScaleDownGPUUtilizationThreshold; o != nil {
				u.threshold, u.flag = *o, "the group's threshold for GPUs"
			}
			return u
		}
	}
	u := use{resource: "cpu", threshold: p.Threshold, flag: "--scale-down-utilization-threshold"}
	if o := g.Options.ScaleDownUtilizationThreshold; o != nil {
		u.threshold, u.flag = *o, "the group's threshold"
	}
	if has.MilliCPU <= 0 || has.Memory <= 0 {
		u.unknown = true
		return u
	}
	u.fraction = float64(sum.MilliCPU) / float64(has.MilliCPU)
	if m := float64(sum.Memory) / float64(has.Memory); m > u.fraction {
		u.resource, u.fraction = "memory", m
	}
	return u
}

// requests sums what the pods on a node request, extended resources included.
func requests(s *model.Snapshot, n *model.Node) (sum model.Resources) {
	for _, b := range n.Batches {
		sum = sum.Plus(s.Classes[b.Class].Spec.Requests, int64(b.Count))
	}
	return sum
}

// tooMuch says that a node is used too much to be a candidate, nil if it is not.
func (u use) tooMuch() *model.Verdict {
	switch {
	case u.unknown:
		return &model.Verdict{Reason: model.NotUnderutilized, Detail: "its allocatable CPU and memory are unknown"}
	case u.fraction < u.threshold:
		return nil
	}
	return &model.Verdict{Reason: model.NotUnderutilized,
		Detail: fmt.Sprintf("%s %s >= %s", u.resource, percent(u.fraction), percent(u.threshold)), Fix: u.flag}
}

func percent(fraction float64) string { return fmt.Sprintf("%.0f%%", 100*fraction) }
