package gardener

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const (
	defaultMaxPods = 110
	defaultArch    = "amd64"
	nvidiaGPU      = "nvidia.com/gpu"

	sourceDefault = "default"
	sourceClass   = "MachineClass"
	sourceVirtual = "MachineClass, virtual capacity"
	sourceGroup   = "spec.template.spec.nodeTemplate of the MachineDeployment"
)

// ownLabels have values that name the place that a group is in: groups that differ
// in nothing else are similar.
var ownLabels = []string{
	"topology.ebs.csi.aws.com/zone", "topology.disk.csi.azure.com/zone", "topology.gke.io/zone",
	"topology.cinder.csi.openstack.org/zone",
	"topology.diskplugin.csi.alibabacloud.com/zone", "failure-domain.beta.kubernetes.io/zone", "machine-template-hash",
}

// buildTemplate makes the node that a scale-up would add: amounts and place from the
// MachineClass, labels and taints from the MachineDeployment. How much of it a node
// has to give is learned from ready nodes of the same instance type, the least of each;
// without any, all of the capacity counts.
func buildTemplate(
	d *v1alpha1.MachineDeployment, class *v1alpha1.MachineClass, nodes []*corev1.Node,
) (*provider.Template, error) {
	name := d.Spec.Template.Spec.Class.Name
	switch {
	case class == nil:
		return nil, fmt.Errorf("there is no MachineClass %q", name)
	case class.NodeTemplate == nil:
		return nil, fmt.Errorf("the MachineClass %s has no nodeTemplate", name)
	}
	from := class.NodeTemplate
	sources := map[string]string{"resource/pods": sourceDefault}

	// 1. Amounts.
	amounts := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(defaultMaxPods, resource.DecimalSI)}
	put(amounts, from.Capacity, sources, sourceClass)
	capacity := amounts.DeepCopy()
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return from.InstanceType != "" && n.Labels[corev1.LabelInstanceTypeStable] != from.InstanceType
	})
	if len(nodes) > 0 {
		put(capacity, least(nodes, func(n *corev1.Node) corev1.ResourceList { return n.Status.Capacity }), sources, "")
		put(amounts, least(nodes, func(n *corev1.Node) corev1.ResourceList { return n.Status.Allocatable }), sources,
			"node "+nodes[0].Name)
	}
	// Virtual capacity may be newer than what the nodes say: it needs no rollout.
	put(capacity, from.VirtualCapacity, sources, sourceVirtual)
	put(amounts, from.VirtualCapacity, sources, sourceVirtual)
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if amount := amounts[resource]; amount.Sign() <= 0 {
			return nil, fmt.Errorf("the capacity of the MachineClass %s has no %s", name, resource)
		}
	}

	// 2. Labels: what the class says of the machine is what the cloud will.
	labels := map[string]string{}
	label := func(key, value, source string) {
		if value != "" && key != corev1.LabelHostname && len(validation.IsQualifiedName(key)) == 0 &&
			len(validation.IsValidLabelValue(value)) == 0 {
			labels[key] = value
			sources["label/"+key] = source
		}
	}
	label(corev1.LabelOSStable, "linux", sourceDefault)
	label(corev1.LabelArchStable, defaultArch, sourceDefault)
	for key, value := range d.Spec.Template.Spec.NodeTemplate.Labels {
		label(key, value, sourceGroup)
		if _, ok := labels[key]; !ok && value == "" && len(validation.IsQualifiedName(key)) == 0 {
			labels[key] = "" // which is a value as well
			sources["label/"+key] = sourceGroup
		}
	}
	if from.Architecture != nil {
		label(corev1.LabelArchStable, *from.Architecture, sourceClass)
	}
	label(corev1.LabelInstanceTypeStable, from.InstanceType, sourceClass)
	label(corev1.LabelTopologyRegion, from.Region, sourceClass)
	label(corev1.LabelTopologyZone, from.Zone, sourceClass)

	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		Spec:     corev1.NodeSpec{Taints: lastingTaints(d, sources)},
		Status:   corev1.NodeStatus{Capacity: capacity, Allocatable: amounts},
	}
	node.Labels = labels
	body, err := json.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("hash the template: %w", err)
	}
	sum := sha256.Sum256(body)
	return &provider.Template{Node: node, Sources: sources, Version: hex.EncodeToString(sum[:8])}, nil
}

// lastingTaints are the taints of new nodes, but for those that pass, in order.
func lastingTaints(d *v1alpha1.MachineDeployment, sources map[string]string) []corev1.Taint {
	var taints []corev1.Taint
	for _, t := range d.Spec.Template.Spec.NodeTemplate.Spec.Taints {
		if t.Key == "" || passes(t.Key) {
			continue
		}
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		sources["taint/"+t.Key] = sourceGroup
	}
	slices.SortStableFunc(taints, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	return taints
}

// put writes amounts over others, and where they come from. GPUs of Gardener get the
// name that they have on nodes.
func put(into, from corev1.ResourceList, sources map[string]string, source string) {
	for resource, amount := range from {
		if resource == v1alpha1.ResourceGPU {
			resource = nvidiaGPU
		}
		if len(validation.IsQualifiedName(string(resource))) > 0 || amount.Sign() < 0 ||
			resource == nvidiaGPU && amount.IsZero() {
			continue
		}
		into[resource] = amount
		if source != "" {
			sources["resource/"+string(resource)] = source
		}
	}
}

// least is the smallest amount of each resource that the nodes have. One that a node
// has nothing of is not counted: its device plugin may not run yet.
func least(nodes []*corev1.Node, of func(*corev1.Node) corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, n := range nodes {
		for name, amount := range of(n) {
			if have, ok := out[name]; !amount.IsZero() && (!ok || amount.Cmp(have) < 0) {
				out[name] = amount.DeepCopy()
			}
		}
	}
	return out
}

// passes reports whether a taint is put onto live nodes and taken away again.
func passes(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || strings.Contains(key, "ClusterAutoscaler") ||
		slices.Contains([]string{v1alpha1.CriticalComponentsNotReadyTaint, v1alpha1.PreferNoScheduleTaint,
			"node.cloudprovider.kubernetes.io/uninitialized"}, key)
}

// readOptions reads a group's own values of flags. A wrong one is reported, and counts as
// missing.
func readOptions(d *v1alpha1.MachineDeployment) (provider.Options, []string) {
	var out provider.Options
	var bad []string
	for key, value := range d.Annotations {
		name, found := strings.CutPrefix(key, v1alpha1.OptionPrefix)
		if !found {
			continue
		}
		if err := out.Set(strings.ReplaceAll(name, "-", ""), value); err != nil {
			bad = append(bad, fmt.Sprintf("the annotation %s=%q does not count: %v", key, value, err))
		}
	}
	slices.Sort(bad)
	return out, bad
}
