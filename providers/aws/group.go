package aws

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// ownLabels have values that name the group, or the place that it happens to
// be in: groups that differ in nothing else are similar.
var ownLabels = []string{
	labelNodegroup, "eks.amazonaws.com/nodegroup-image", "eks.amazonaws.com/sourceLaunchTemplateId",
	"eks.amazonaws.com/sourceLaunchTemplateVersion",
	"alpha.eksctl.io/nodegroup-name", "alpha.eksctl.io/instance-id", "kops.k8s.io/instancegroup",
	"k8s.amazonaws.com/eniConfig",
	labelEBSZone, "topology.k8s.aws/zone-id",
}

// bounds are the sizes that a group may have. What --nodes says holds within
// what the Auto Scaling group itself allows, since AWS enforces that.
type bounds struct{ min, max int }

func boundsOf(g asgtypes.AutoScalingGroup, spec *groupSpec) (bounds, error) {
	l := bounds{int(deref(g.MinSize)), int(deref(g.MaxSize))}
	if spec != nil {
		l = bounds{max(l.min, spec.min), min(l.max, spec.max)}
	}
	if l.min > l.max {
		if spec != nil {
			return l, fmt.Errorf(
				"--nodes allows %d to %d nodes and the Auto Scaling group %d to %d: no size is right for both; change one of them",
				spec.min, spec.max, deref(g.MinSize), deref(g.MaxSize),
			)
		}
		return l, fmt.Errorf("its minimum %d is above its maximum %d", l.min, l.max)
	}
	return l, nil
}

// phase is what an instance's lifecycle state means here.
type phase int

const (
	gone phase = iota // no machine of the group any more, or not yet
	creating
	running
	apart // running, and not counted in the desired capacity
	deleting
)

// phaseOf reads a lifecycle state. One that is not known is that of a machine
// that runs, and is left alone.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
func phaseOf(state asgtypes.LifecycleState) phase {
	s := string(state)
	switch {
	case strings.HasPrefix(s, "Warmed:"), s == "Terminated", s == "Detached":
		return gone
	case strings.HasPrefix(s, "Pending"):
		return creating
	case strings.HasPrefix(s, "Terminating"), s == "Detaching":
		return deleting
	case s == "Standby", s == "EnteringStandby":
		return apart
	}
	return running
}

// sizes are a group's numbers, in machines.
type sizes struct {
	// target is the desired capacity, and the instances in Standby beside it.
	target int
	// live are the instances that are not being deleted, those in Standby too.
	live, standby int
}

func sizesOf(g asgtypes.AutoScalingGroup) sizes {
	s := sizes{target: int(deref(g.DesiredCapacity))}
	for _, i := range g.Instances {
		switch phaseOf(i.LifecycleState) {
		case apart:
			s.standby++
			s.live++
		case creating, running:
			s.live++
		}
	}
	s.target += s.standby
	return s
}

// seenAs is the group as far as its own description tells: without template,
// options and what its activities say.
func seenAs(g asgtypes.AutoScalingGroup, l bounds) provider.Group {
	n := sizesOf(g)
	out := provider.Group{
		ID: provider.GroupID(deref(g.AutoScalingGroupName)), Min: l.min, Max: l.max, Target: n.target,
		OwnLabels: slices.Clone(ownLabels), Holds: holdsOf(g),
	}
	for _, i := range g.Instances {
		if seen, ok := instanceOf(g, i); ok {
			out.Instances = append(out.Instances, seen)
		}
	}
	slices.SortFunc(out.Instances, func(a, b provider.Instance) int { return cmp.Compare(a.ID, b.ID) })
	if weighted(g) != "" {
		// The rest of the capacity is no known number of machines.
		out.Target = n.live
	}
	return out
}

func instanceOf(g asgtypes.AutoScalingGroup, i asgtypes.Instance) (provider.Instance, bool) {
	id, zone := deref(i.InstanceId), deref(i.AvailabilityZone)
	out := provider.Instance{
		ID: provider.InstanceID(id), ProviderID: "aws:///" + zone + "/" + id, Zone: zone, State: provider.Running,
	}
	switch phaseOf(i.LifecycleState) {
	case gone:
		return provider.Instance{}, false
	case creating:
		out.State = provider.Creating
	case deleting:
		out.State = provider.Deleting
		return out, id != ""
	case apart:
		out.Hold = fmt.Sprintf("it is in the lifecycle state %s: it was taken out of service", i.LifecycleState)
	case running:
		if i.LifecycleState != asgtypes.LifecycleStateInService {
			out.Hold = fmt.Sprintf("it is in the lifecycle state %s", i.LifecycleState)
		}
	}
	// A group that protects all of its instances keeps AWS from choosing among
	// them, which is no wish to keep any one of them.
	if deref(i.ProtectedFromScaleIn) && !deref(g.NewInstancesProtectedFromScaleIn) {
		out.Hold = "it is protected from scale-in, unlike new instances of its group"
	}
	return out, id != ""
}

// Reasons of holds, beside the kinds of error.
const (
	holdLaunchSuspended = "LaunchSuspended"
	// holdNodegroupChanges is that EKS updates or deletes the node group.
	holdNodegroupChanges = "NodegroupChanges"
	// holdTaintUnclear is that a taint of the nodes has an effect that is not known.
	holdTaintUnclear = "TaintEffectUnknown"
)

// holdsOf are the operations that the group is not to be asked for.
func holdsOf(g asgtypes.AutoScalingGroup) []provider.Hold {
	every := func(reason, message string) []provider.Hold {
		var out []provider.Hold
		for _, op := range []provider.Op{provider.OpGrow, provider.OpRemove, provider.OpCancel} {
			out = append(out, provider.Hold{Op: op, Reason: reason, Message: message})
		}
		return out
	}
	if why := weighted(g); why != "" {
		return every(string(provider.Unsupported), why+", so that its size is no number of nodes; use groups without weights")
	}
	if status := deref(g.Status); status != "" {
		return every(provider.BeingDeleted, "AWS says of the group: "+status)
	}
	for _, p := range g.SuspendedProcesses {
		if deref(p.ProcessName) == "Launch" {
			return []provider.Hold{{Op: provider.OpGrow, Reason: holdLaunchSuspended, Message: fmt.Sprintf(
				"its process Launch is suspended (%s): AWS launches nothing until `aws autoscaling resume-processes` is called",
				deref(p.SuspensionReason))}}
		}
	}
	return nil
}

// protects reports whether the group is set to protect all of its instances from
// scale-in, those too that are launched from now on.
func protects(g asgtypes.AutoScalingGroup) bool {
	if !deref(g.NewInstancesProtectedFromScaleIn) {
		return false
	}
	return !slices.ContainsFunc(g.Instances, func(i asgtypes.Instance) bool {
		p := phaseOf(i.LifecycleState)
		return (p == creating || p == running) && !deref(i.ProtectedFromScaleIn)
	})
}

// guarded reports whether AWS itself ends none of the group's instances when its
// desired capacity is lowered. Protection begins in service: an instance that is
// pending, for a lifecycle hook perhaps, may carry pods and has none yet.
func guarded(g asgtypes.AutoScalingGroup) bool {
	return protects(g) &&
		!slices.ContainsFunc(g.Instances, func(i asgtypes.Instance) bool { return phaseOf(i.LifecycleState) == creating })
}

func tagsOf(g asgtypes.AutoScalingGroup) map[string]string {
	out := map[string]string{}
	for _, t := range g.Tags {
		out[deref(t.Key)] = deref(t.Value)
	}
	return out
}

func inService(i asgtypes.Instance) bool { return i.LifecycleState == asgtypes.LifecycleStateInService }
