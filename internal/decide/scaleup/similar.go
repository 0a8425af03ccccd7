package scaleup

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// placeLabels say where a node is, and what it is called; they do not tell
// groups apart that are otherwise alike.
var placeLabels = []string{
	corev1.LabelHostname,
	corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone,
	corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion,
	"topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.disk.csi.azure.com/zone",
}

// similar reports whether two groups' nodes differ only in where they are and in
// labels whose value names the group itself, and have about the same amounts.
func (pl *planner) similar(a, b head) bool {
	sa, sb := pl.s.Contents.Shapes[a.template.Shape], pl.s.Contents.Shapes[b.template.Shape]
	if len(pl.p.BalanceLabels) > 0 {
		for _, k := range pl.p.BalanceLabels {
			if sa.Node.Labels[k] != sb.Node.Labels[k] {
				return false
			}
		}
		return true
	}
	if !close(sa.Capacity, sb.Capacity, 0, pl.p.MemoryRatio) ||
		!close(sa.Allocatable, sb.Allocatable, pl.p.AllocRatio, pl.p.AllocRatio) ||
		!close(pl.w.Allocatable(a.template), pl.w.Allocatable(b.template), pl.p.FreeRatio, pl.p.FreeRatio) {
		return false
	}
	ignore := slices.Concat(placeLabels, pl.p.BalanceIgnore,
		pl.s.Groups[a.group].OwnLabels, pl.s.Groups[b.group].OwnLabels)
	if !maps.Equal(without(sa.Node.Labels, ignore), without(sb.Node.Labels, ignore)) {
		return false
	}
	return slices.EqualFunc(sa.Node.Spec.Taints, sb.Node.Spec.Taints, func(x, y corev1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
}

func without(labels map[string]string, keys []string) map[string]string {
	kept := maps.Clone(labels)
	for _, k := range keys {
		delete(kept, k)
	}
	return kept
}

// close reports whether two sets of amounts are near enough: CPU and all else by
// one ratio, memory by another; extended resources must be the same.
func close(a, b model.Resources, ratio, memoryRatio float64) bool {
	return near(a.MilliCPU, b.MilliCPU, ratio) && near(a.Memory, b.Memory, memoryRatio) &&
		slices.Equal(a.Extended, b.Extended)
}

func near(a, b int64, ratio float64) bool {
	if a == b {
		return true
	}
	return math.Abs(float64(a-b)) <= ratio*float64(max(a, b))
}
