package workers

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
)

// The reasons of a WorkersReady condition that is False. They are EKS Anywhere's
// own, so that its command line and people's alerts go on understanding them.
const (
	controlPlaneNotInitialized = "ControlPlaneNotInitialized"
	OutdatedInformation        = "OutdatedInformation"
	RollingUpgradeInProgress   = "RollingUpgradeInProgress"
	inPlaceUpgradeInProgress   = "InPlaceUpgradeInProgress"
	scalingUp                  = "ScalingUp"
	scalingDown                = "ScalingDown"
	nodesNotReady              = "NodesNotReady"
	AutoscalerConstraintNotMet = "AutoscalerConstraintNotMet"
	MachineDeploymentNotReady  = "MachineDeploymentNotReady"
)

// Ready is the ladder: the WorkersReady condition of a cluster, without a time.
// The first step that says no is the answer.
//
// Groups without autoscaling are judged together, by their sums, against the
// counts of the spec. Only then come the autoscaled groups, one by one in the
// order of the spec, against their ranges. Within its range an autoscaled group
// is as it should be however it moves: so how many of its nodes are ready is
// asked of its minimum alone. For the same reason a status that is older than the
// spec is no news there if only the autoscaler's number has changed: otherwise each
// of its steps would make the cluster unready for a moment.
func Ready(cluster v1alpha1.Cluster, w Workers) v1alpha1.Condition {
	if !controlPlaneInitialized(cluster) {
		return no(controlPlaneNotInitialized, v1alpha1.SeverityInfo, "")
	}
	upgrading := RollingUpgradeInProgress
	if s := cluster.Spec.ControlPlaneConfiguration.UpgradeRolloutStrategy; s != nil && s.Type == v1alpha1.InPlace {
		upgrading = inPlaceUpgradeInProgress
	}
	for _, md := range w.all() {
		if md.ObservedGeneration != md.Generation && !(md.OnlyScaled && w.scales(md)) {
			return no(OutdatedInformation, v1alpha1.SeverityInfo, "Worker node group %s status not up to date yet", md.Name)
		}
	}
	if c, ok := fixedReady(w, upgrading); !ok {
		return w.suspect(c)
	}
	for _, g := range w.Groups {
		if !g.Autoscaled() {
			continue
		}
		if c, ok := autoscaledReady(g, upgrading); !ok {
			return w.suspect(c)
		}
	}
	for _, g := range w.Groups {
		for _, md := range g.Found {
			if md.NotReady && (!g.Autoscaled() || md.Available < g.Range(g.index(md)).Min) {
				return no(MachineDeploymentNotReady, v1alpha1.SeverityError, "Machine deployment %s not ready yet", md.Name)
			}
		}
	}
	return v1alpha1.Condition{Type: v1alpha1.WorkersReady, Status: v1alpha1.True}
}

// suspect adds to a condition that is not True that machine deployments may be looked
// for in the wrong place.
func (w Workers) suspect(c v1alpha1.Condition) v1alpha1.Condition {
	if w.Empty {
		c.Message += " (there is no machine deployment of any cluster: is --machine-deployment-namespace right?)"
	}
	return c
}

// fixedReady judges the groups without autoscaling. What is left over of removed
// groups counts as well: the cluster is not as it should be while it is there.
func fixedReady(w Workers, upgrading string) (v1alpha1.Condition, bool) {
	expected, mds := 0, w.Leftover
	for _, g := range w.Groups {
		if !g.Autoscaled() {
			expected += g.Expected()
			mds = append(g.Found[:len(g.Found):len(g.Found)], mds...)
		}
	}
	is := sum(mds)
	switch {
	case slices.ContainsFunc(mds, MachineDeployment.rollsOut):
		return no(upgrading, v1alpha1.SeverityInfo, "Worker nodes not up-to-date yet, %d upgrading (%d up to date)",
			is.Replicas, is.UpToDate), false
	case is.Replicas < expected:
		return no(scalingUp, v1alpha1.SeverityInfo, "Scaling up worker nodes, %d expected (%d actual)",
			expected, is.Replicas), false
	case is.Replicas > expected:
		return no(scalingDown, v1alpha1.SeverityInfo, "Scaling down worker nodes, %d expected (%d actual)",
			expected, is.Replicas), false
	case is.Ready != expected:
		return no(nodesNotReady, v1alpha1.SeverityInfo, "Worker nodes not ready yet, %d expected (%d ready)",
			expected, is.Ready), false
	}
	return v1alpha1.Condition{}, true
}

// autoscaledReady judges one autoscaled group: is it there, is it being rolled
// out, is it within its range.
func autoscaledReady(g Group, upgrading string) (v1alpha1.Condition, bool) {
	bounds, is := *g.AutoscalingConfiguration, sum(g.Found)
	if name, missing := g.missing(); missing {
		if is.Replicas < bounds.MinCount {
			return no(AutoscalerConstraintNotMet, v1alpha1.SeverityInfo,
				"Worker nodes count for %s not between %d and %d yet (%d actual): machine deployment %s not created yet",
				g.Title, bounds.MinCount, bounds.MaxCount, is.Replicas, name), false
		}
		return no(scalingUp, v1alpha1.SeverityInfo, "Machine deployment %s not created yet", name), false
	}
	switch {
	case g.rollsOut(is):
		return no(upgrading, v1alpha1.SeverityInfo, "Worker nodes of %s not up-to-date yet, %d upgrading (%d up to date)",
			g.Title, is.Replicas, is.UpToDate), false
	case is.Replicas < bounds.MinCount || is.Replicas > bounds.MaxCount:
		return no(AutoscalerConstraintNotMet, v1alpha1.SeverityInfo,
			"Worker nodes count for %s not between %d and %d yet (%d actual)",
			g.Title, bounds.MinCount, bounds.MaxCount, is.Replicas), false
	}
	return v1alpha1.Condition{}, true
}

// rollsOut reports whether machines are being replaced. Where a rollout begins, the first
// new machine can be there before any is known to be of an older template: then there
// are more than are wanted, and not all of them are known to be up to date.
func (md MachineDeployment) rollsOut() bool {
	return md.Rolling || md.surges()
}

func (md MachineDeployment) surges() bool {
	return md.Wanted != nil && md.Replicas > *md.Wanted && md.UpToDate < md.Replicas
}

// rollsOut reports whether an autoscaled group's machines are being replaced. More
// machines than are wanted only count above the maximum, where a surge must not be
// called a violation: below it, they are the autoscaler's, on their way out.
func (g Group) rollsOut(is MachineDeployment) bool {
	above := is.Replicas > g.AutoscalingConfiguration.MaxCount
	return slices.ContainsFunc(g.Found, func(md MachineDeployment) bool { return md.Rolling || above && md.surges() })
}

// scales reports whether a machine deployment is one of an autoscaled group.
func (w Workers) scales(md MachineDeployment) bool {
	for _, g := range w.Groups {
		if _, ok := g.find(md.Name); ok {
			return g.Autoscaled()
		}
	}
	return false
}

// missing is the first of the group's machine deployments that is not there.
func (g Group) missing() (string, bool) {
	for _, name := range g.Names {
		if _, ok := g.find(name); !ok {
			return name, true
		}
	}
	return "", false
}

func (g Group) find(name string) (MachineDeployment, bool) {
	for _, md := range g.Found {
		if md.Name == name {
			return md, true
		}
	}
	return MachineDeployment{}, false
}

// index is which of the group's machine deployments md is.
func (g Group) index(md MachineDeployment) int {
	for i, name := range g.Names {
		if name == md.Name {
			return i
		}
	}
	return 0
}

func sum(mds []MachineDeployment) MachineDeployment {
	var s MachineDeployment
	for _, md := range mds {
		s.Replicas += md.Replicas
		s.Ready += md.Ready
		s.UpToDate += md.UpToDate
	}
	return s
}

func controlPlaneInitialized(cluster v1alpha1.Cluster) bool {
	for _, c := range cluster.Status.Conditions {
		if c.Type == v1alpha1.ControlPlaneInitialized {
			return c.Status == v1alpha1.True
		}
	}
	return false
}

func no(reason, severity, format string, args ...any) v1alpha1.Condition {
	return v1alpha1.Condition{
		Type: v1alpha1.WorkersReady, Status: v1alpha1.False, Reason: reason, Severity: severity,
		Message: fmt.Sprintf(format, args...),
	}
}
