package clusterapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	defaultMaxPods = 110
	// labelAccelerator marks GPU nodes; its value is the kind of GPU.
	labelAccelerator = "cluster-api/accelerator"

	sourceDefault    = "default"
	sourceAnnotation = "capacity annotation"
	sourceTemplate   = "infrastructure template's status"
	sourceMachines   = "spec.template of the group"
)

// ownLabels have values that name the group or the place that it is in: groups
// that differ in nothing else are similar.
var ownLabels = []string{
	"cluster.x-k8s.io/deployment-name", "cluster.x-k8s.io/set-name", "cluster.x-k8s.io/pool-name", "machine-template-hash",
	"topology.ebs.csi.aws.com/zone", "topology.disk.csi.azure.com/zone", "topology.gke.io/zone",
	"topology.csi.vmware.com/k8s-zone",
}

// promise is what an infrastructure template's status says of its machines.
type promise struct {
	resources corev1.ResourceList
	arch, os  string
	bad       []string
}

// buildTemplate makes the node that a scale-up would add, weakest source first:
// defaults, the infrastructure template's status, what Cluster API copies from
// the group's own template, the capacity annotations.
func buildTemplate(g *scalable, said capacity, behind promise, defaultArch string) (*provider.Template, error) {
	sources := map[string]string{}

	// 1. Resources.
	amounts := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(defaultMaxPods, resource.DecimalSI)}
	sources["resource/pods"] = sourceDefault
	for _, from := range []struct {
		list   corev1.ResourceList
		source string
	}{{behind.resources, sourceTemplate}, {said.resources, sourceAnnotation}} {
		for name, amount := range from.list {
			amounts[name] = amount
			sources["resource/"+string(name)] = from.source
		}
	}
	if err := enough(amounts); err != nil {
		return nil, err
	}

	// 2. Labels.
	labels := map[string]string{}
	put := func(key, value, source string) {
		if value != "" || source == sourceAnnotation || source == sourceMachines {
			labels[key] = value
			sources["label/"+key] = source
		}
	}
	put(corev1.LabelOSStable, "linux", sourceDefault)
	put(corev1.LabelArchStable, defaultArch, sourceDefault)
	put(corev1.LabelOSStable, behind.os, sourceTemplate)
	put(corev1.LabelArchStable, behind.arch, sourceTemplate)
	for key, value := range g.templateLabels {
		if managed(key) && checkLabel(key, value) == nil {
			put(key, value, sourceMachines)
		}
	}
	for key, value := range said.labels {
		put(key, value, sourceAnnotation)
	}

	// 3. Taints: of the same key and effect the annotation's is the one.
	var taints []corev1.Taint
	for _, t := range said.taints {
		taints = append(taints, t)
		sources["taint/"+t.Key] = sourceAnnotation
	}
	for _, t := range g.templateTaints {
		if checkTaint(t) != nil || slices.ContainsFunc(said.taints, func(other corev1.Taint) bool {
			return byKey(t, other) == 0
		}) {
			continue
		}
		taints = append(taints, t)
		sources["taint/"+t.Key] = sourceMachines
	}
	slices.SortStableFunc(taints, byKey)
	taints = slices.CompactFunc(taints, func(a, b corev1.Taint) bool { return byKey(a, b) == 0 })

	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		Spec:     corev1.NodeSpec{Taints: taints},
		Status:   corev1.NodeStatus{Capacity: amounts, Allocatable: amounts.DeepCopy()},
	}
	node.Labels = labels
	return finish(node, said, sources)
}

// enough reports whether amounts are those of a node.
func enough(amounts corev1.ResourceList) error {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if amount := amounts[name]; amount.Sign() <= 0 {
			return fmt.Errorf("%s of a new node is not known", name)
		}
	}
	return nil
}

// finish adds what only the annotations tell, and the version.
func finish(node *corev1.Node, said capacity, sources map[string]string) (*provider.Template, error) {
	t := &provider.Template{Node: node, CSINode: csiNode(said.csi), ResourceSlices: slicesOf(said), Sources: sources}
	var err error
	t.Version, err = versionOf(t)
	return t, err
}

// managed reports whether Cluster API copies a label from the Machine to its node.
func managed(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	if domain == "node-role.kubernetes.io" {
		return true
	}
	for _, d := range []string{"node-restriction.kubernetes.io", "node.cluster.x-k8s.io"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return false
}

func csiNode(limits []csiLimit) *storagev1.CSINode {
	if len(limits) == 0 {
		return nil
	}
	out := &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}}
	for _, l := range limits {
		d := storagev1.CSINodeDriver{Name: l.driver}
		if l.limit > 0 {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: &l.limit}
		}
		out.Spec.Drivers = append(out.Spec.Drivers, d)
	}
	return out
}

func slicesOf(said capacity) []*resourcev1.ResourceSlice {
	if said.draDriver == "" {
		return nil
	}
	gpu := "gpu"
	out := &resourcev1.ResourceSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: said.draDriver,
			Pool:   resourcev1.ResourcePool{Name: said.draDriver, ResourceSliceCount: 1},
		},
	}
	for i := range said.draCount {
		out.Spec.Devices = append(out.Spec.Devices, resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &gpu}},
		})
	}
	return []*resourcev1.ResourceSlice{out}
}

// versionOf changes exactly when the template does.
func versionOf(t *provider.Template) (string, error) {
	body, err := json.Marshal([]any{t.Node, t.CSINode, t.ResourceSlices})
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

// readPromise reads status.capacity and status.nodeInfo. An amount that is none
// is in bad.
func readPromise(capacity map[string]string, arch, os string) promise {
	out := promise{resources: corev1.ResourceList{}}
	for name, text := range capacity {
		amount, err := parseAmount(text)
		if err != nil || len(validation.IsQualifiedName(name)) > 0 {
			out.bad = append(out.bad, fmt.Sprintf("status.capacity[%s]=%q is no amount of a resource", name, text))
			continue
		}
		out.resources[corev1.ResourceName(name)] = amount
	}
	slices.Sort(out.bad)
	for _, each := range []struct {
		key, value string
		into       *string
	}{{corev1.LabelArchStable, arch, &out.arch}, {corev1.LabelOSStable, os, &out.os}} {
		if checkLabel(each.key, each.value) == nil {
			*each.into = each.value
		}
	}
	return out
}
