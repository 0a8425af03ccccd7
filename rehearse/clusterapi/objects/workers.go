package objects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// capacityLabels tells an autoscaler which labels the nodes of an empty group would
// bear. A template's status has no place for them.
const capacityLabels = "capacity.cluster-autoscaler.kubernetes.io/labels"

// FixedGroup is the group of the default workers that has no bounds: no autoscaler
// may touch it.
const FixedGroup = "fixed"

// defaultWorkers are the groups of a rehearsal that names none: those of the kwok
// provider's default templates, of the same names and sizes.
var defaultWorkers = []struct {
	name, instanceType, zone, cpu, memory string
	maxSize                               int // 0: not autoscaled
}{
	{FixedGroup, "small-2-8", "rehearsal-a", "2", "8Gi", 0},
	{"small", "small-2-8", "rehearsal-a", "2", "8Gi", 200},
	{"general-a", "general-8-32", "rehearsal-a", "8", "32Gi", 1000},
	{"general-b", "general-8-32", "rehearsal-b", "8", "32Gi", 1000},
	{"general-c", "general-8-32", "rehearsal-c", "8", "32Gi", 1000},
}

// CreateDefaultWorkers gives a cluster the groups of a rehearsal that names none:
// one of a single machine without bounds, and empty ones that may grow. What is
// there already stays as it is.
func CreateDefaultWorkers(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) error {
	for _, one := range defaultWorkers {
		labels := map[string]string{
			corev1.LabelInstanceTypeStable: one.instanceType,
			corev1.LabelTopologyRegion:     "rehearsal",
			corev1.LabelTopologyZone:       one.zone,
		}
		template := MachineTemplate(cluster.Namespace, one.name, kwokapi.KwokMachineSpec{Node: kwokapi.NodeSpec{
			Labels: labels,
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:              resource.MustParse(one.cpu),
				corev1.ResourceMemory:           resource.MustParse(one.memory),
				corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
				corev1.ResourcePods:             resource.MustParse("110"),
			},
		}})
		group := MachineDeployment(cluster, one.name, one.name)
		if one.maxSize == 0 {
			group.Spec.Replicas = ptr.To[int32](1)
		} else {
			Autoscaled(group, 0, one.maxSize)
			group.Annotations[capacityLabels] = joinLabels(labels)
		}
		for _, object := range []client.Object{template, group} {
			if err := ensure(ctx, c, object); err != nil {
				return fmt.Errorf("make the workers %s: %w", one.name, err)
			}
		}
	}
	return nil
}

func joinLabels(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}
