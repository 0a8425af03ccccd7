package aws

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// templateRules are what the operator says about all templates.
type templateRules struct {
	precedence Precedence
	maxPods    podsRule
	reserved   reserveRule
}

// templateFacts are all that a group's template is made of.
type templateFacts struct {
	region string
	zones  []string
	// machines are the instance types of which AWS picks one.
	machines []machine
	tags     tagFacts
	// nodegroup is nil if EKS does not know the group, or did not say.
	nodegroup *nodegroup
}

const (
	labelEBSZone     = "topology.ebs.csi.aws.com/zone"
	labelAccelerator = "k8s.amazonaws.com/accelerator"

	sourceGroup = "Auto Scaling group"
	sourceEKS   = "EKS node group"
	sourceTag   = "ASG tag"

	resourceNVIDIA      = corev1.ResourceName("nvidia.com/gpu")
	resourceAMD         = corev1.ResourceName("amd.com/gpu")
	resourceNeuron      = corev1.ResourceName("aws.amazon.com/neuron")
	resourceNeuronCores = corev1.ResourceName("aws.amazon.com/neuroncore")
)

// buildTemplate makes the node that a scale-up would add, out of what is known of
// the group, with the source of each label, taint and resource, and the places
// where a tag and EKS disagree. The order, weakest first: the instance types,
// then EKS, then the tags; or with EKSAPI the tags before EKS.
func buildTemplate(f templateFacts, rules templateRules) (*provider.Template, []conflict, *provider.Error) {
	if len(f.machines) == 0 {
		return nil, nil, &provider.Error{
			Op: provider.OpInventory, Kind: provider.BadConfig, Message: "no instance type of the group is known",
		}
	}
	m := smallest(f.machines)
	b := builder{sources: map[string]string{}, precedence: rules.precedence}
	var n nodegroup
	if f.nodegroup != nil {
		n = *f.nodegroup
	}

	// 1. What any node of these machines has.
	labels, varies := generic(f, m)
	capacity, podsSource := amounts(m, n, rules.maxPods)
	for key := range labels {
		b.sources["label/"+key] = genericSource(key, f, m)
	}
	for name := range capacity {
		b.sources["resource/"+string(name)] = m.source
	}
	b.sources["resource/pods"] = podsSource
	if n.diskGiB > 0 {
		b.sources["resource/"+string(corev1.ResourceEphemeralStorage)] = sourceEKS + ": diskSize"
	}

	// 2. What the node keeps for itself. Amounts that the user sets below are taken as they are.
	kept, reservedBy := rules.reserved.of(capacity)
	allocatable := subtract(capacity, kept)
	for name := range kept {
		if _, ok := capacity[name]; ok {
			b.sources["resource/"+string(name)] += ", less " + reservedBy
		}
	}

	// 3. What EKS and the tags add.
	b.labels(labels, n, f.tags)
	for key := range labels {
		delete(varies, key)
	}
	taints := b.taints(n, f.tags)
	b.resources(capacity, allocatable, n, f.tags)
	if capacity.Cpu().Sign() <= 0 || capacity.Memory().Sign() <= 0 {
		return nil, nil, &provider.Error{Op: provider.OpInventory, Kind: provider.BadConfig,
			Message: fmt.Sprintf("its machines have %s CPUs and %s of memory, as far as is known: set the tags %scpu and "+
				"%smemory, or minimums in the instance requirements",
				capacity.Cpu(), capacity.Memory(), tagResource, tagResource)}
	}

	node := &corev1.Node{
		TypeMeta: nodeType,
		Spec:     corev1.NodeSpec{Taints: taints},
		Status:   corev1.NodeStatus{Capacity: capacity, Allocatable: allocatable},
	}
	node.Labels = labels
	if len(varies) == 0 {
		varies = nil
	}
	t := &provider.Template{Node: node, Varies: varies, Places: places(varies), Sources: b.sources}
	t.Balanced = len(t.Places) > 0
	version, err := versionOf(t)
	if err != nil {
		return nil, nil, &provider.Error{Op: provider.OpInventory, Kind: provider.Transient, Message: err.Error(), Err: err}
	}
	t.Version = version
	return t, b.conflicts, nil
}

// places are the zones of a group over several. An Auto Scaling group launches in the
// one with the fewest of its instances.
func places(varies map[string][]string) []provider.Place {
	var out []provider.Place
	for _, zone := range varies[corev1.LabelTopologyZone] {
		p := provider.Place{Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone}}
		if len(varies[labelEBSZone]) > 0 {
			p.Labels[labelEBSZone] = zone
		}
		out = append(out, p)
	}
	return out
}

// generic are the labels that kubelet and the cloud's controllers set. Where
// AWS picks one of several values as it launches, the label varies.
func generic(f templateFacts, m machine) (map[string]string, map[string][]string) {
	labels := map[string]string{corev1.LabelOSStable: f.nodegroup.os()}
	varies := map[string][]string{}
	put := func(key string, values []string) {
		values = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(values))),
			func(v string) bool { return v == "" })
		switch len(values) {
		case 0:
		case 1:
			labels[key] = values[0]
		default:
			varies[key] = values
		}
	}
	var types, arches []string
	for _, m := range f.machines {
		types, arches = append(types, m.Type), append(arches, m.Arch)
	}
	if arch := f.nodegroup.arch(); arch != "" {
		arches = []string{arch}
	} else if slices.Contains(arches, "") {
		arches = []string{archAMD, archARM} // it may be either
	}
	put(corev1.LabelInstanceTypeStable, types)
	put(corev1.LabelArchStable, arches)
	put(corev1.LabelTopologyRegion, []string{f.region})
	put(corev1.LabelTopologyZone, f.zones)
	put(labelEBSZone, f.zones)
	return labels, varies
}

func genericSource(key string, f templateFacts, m machine) string {
	switch key {
	case corev1.LabelInstanceTypeStable:
		return m.source
	case corev1.LabelArchStable:
		if f.nodegroup.arch() != "" {
			return sourceEKS + ": amiType"
		}
		return cmp.Or(m.archSource, m.source)
	case corev1.LabelOSStable:
		return "default"
	case corev1.LabelTopologyRegion:
		return "AWS region"
	}
	return sourceGroup
}

// amounts is what a machine has, and the source of its number of pods.
func amounts(m machine, n nodegroup, pods podsRule) (corev1.ResourceList, string) {
	count, source := pods.of(m)
	out := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(m.CPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(m.MemoryMiB<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(count, resource.DecimalSI),
	}
	for name, count := range map[corev1.ResourceName]int64{
		resourceNVIDIA: m.NVIDIA, resourceAMD: m.AMD, resourceNeuron: m.Neuron, resourceNeuronCores: m.NeuronCores,
	} {
		if count > 0 {
			out[name] = *resource.NewQuantity(count, resource.DecimalSI)
		}
	}
	if n.diskGiB > 0 {
		out[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(n.diskGiB<<30, resource.BinarySI)
	}
	return out, source
}

// versionOf changes exactly when the template does.
func versionOf(t *provider.Template) (string, error) {
	body, err := json.Marshal(struct {
		Node   *corev1.Node
		Varies map[string][]string
	}{t.Node, t.Varies})
	if err != nil {
		return "", fmt.Errorf("hash the template: %w", err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8]), nil
}

// byKey sorts taints, and is how two of them are the same one.
func byKey(a, b corev1.Taint) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
}

func sortedNames(lists ...map[corev1.ResourceName]amount) []corev1.ResourceName {
	all := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
