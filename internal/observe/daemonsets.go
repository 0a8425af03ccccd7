package observe

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// daemonSet is a DaemonSet with the content of the pods that it makes.
func daemonSet(c *catalog.Catalog, ds *appsv1.DaemonSet) model.DaemonSet {
	template := ds.Spec.Template
	template.Spec.Tolerations = slices.Concat(template.Spec.Tolerations, daemonTolerations(template.Spec.HostNetwork))
	return model.DaemonSet{
		Namespace: ds.Namespace,
		Name:      ds.Name,
		UID:       ds.UID,
		Content:   c.Template(ds.Namespace, &template),
	}
}

// daemonTolerations are those that the DaemonSet controller adds to its pods
// (kubernetes.io: "Taints and tolerations" of DaemonSet).
func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	out := []corev1.Toleration{
		exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	}
	if hostNetwork {
		out = append(out, exists(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

// behind is a DaemonSet that has fewer pods than it wants: how many it has, and
// since when none has been added.
type behind struct {
	has   int32
	since time.Time
}

// behindOf finds the DaemonSets that are behind now, from their controller's own count. It counts
// all pods that exist, so the missing ones are those that it could not make.
func behindOf(before map[types.UID]behind, all []*appsv1.DaemonSet, now time.Time) map[types.UID]behind {
	out := map[types.UID]behind{}
	for _, ds := range all {
		has := ds.Status.CurrentNumberScheduled
		if has >= ds.Status.DesiredNumberScheduled {
			continue
		}
		if was, ok := before[ds.UID]; ok && was.has == has {
			out[ds.UID] = was
			continue
		}
		out[ds.UID] = behind{has, now}
	}
	return out
}
