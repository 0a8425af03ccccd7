package clusterapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// kind is a kind of the Cluster API.
type kind string

const (
	machineDeployment kind = "MachineDeployment"
	machineSet        kind = "MachineSet"
	machinePool       kind = "MachinePool"
	machineKind       kind = "Machine"
	clusterKind       kind = "Cluster"
)

// scalables are the kinds that groups are of.
var scalables = []kind{machineDeployment, machineSet, machinePool}

// reference names an object of an infrastructure provider. In v1beta1 it has a
// version, in v1beta2 it has none.
type reference struct{ group, version, kind, namespace, name string }

func (r reference) String() string {
	return fmt.Sprintf("%s %s/%s (%s)", r.kind, r.namespace, r.name, r.group)
}

// scalable is a MachineDeployment, a MachineSet or a MachinePool, in either
// version.
type scalable struct {
	kind                     kind
	namespace, name, cluster string
	labels, annotations      map[string]string
	// replicas is nil while it is neither set nor defaulted.
	replicas       *int
	statusReplicas int
	deleting       bool
	// settled: its controller has seen what it says now.
	settled bool
	// stuck says why a MachineSet cannot make the Machines that it should have,
	// nil if it can or has tried nothing. As long as that is so, it does not
	// count as settled, whatever it has seen.
	stuck   *condition
	owner   owner
	created time.Time
	infra   reference
	// selector is what all of its Machines match, nil if it says nothing. A
	// MachineSet does not count a Machine that has lost its labels.
	selector labels.Selector
	// What each Machine is made with.
	templateLabels map[string]string
	templateTaints []corev1.Taint
	// providerIDs are those that a MachinePool lists.
	providerIDs []string
	// nodeNames are those that a MachinePool lists.
	nodeNames []string
	object    *unstructured.Unstructured
}

// owner is the object of the Cluster API that made this one.
type owner struct {
	kind kind
	name string
}

func (g *scalable) id() provider.GroupID { return groupID(g.kind, g.namespace, g.name) }

// groupID is kind, namespace and name, as the Cluster Autoscaler has it.
func groupID(k kind, namespace, name string) provider.GroupID {
	return provider.GroupID(fmt.Sprintf("%s/%s/%s", k, namespace, name))
}

func parseGroupID(id provider.GroupID) (k kind, namespace, name string, ok bool) {
	parts := strings.Split(string(id), "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return "", "", "", false
	}
	for _, k := range scalables {
		if string(k) == parts[0] {
			return k, parts[1], parts[2], true
		}
	}
	return "", "", "", false
}

// readScalable reads a group's object. A field of a wrong type reads as one that
// is not there: the API server's schema does not let it happen.
func readScalable(k kind, o *unstructured.Unstructured, keys keys) scalable {
	s := scalable{
		kind: k, namespace: o.GetNamespace(), name: o.GetName(), object: o,
		labels: o.GetLabels(), annotations: o.GetAnnotations(),
		deleting: o.GetDeletionTimestamp() != nil, created: o.GetCreationTimestamp().Time,
		cluster: text(o, "spec", "clusterName"), owner: ownerOf(o, keys.group),
		templateLabels: texts(o, "spec", "template", "metadata", "labels"),
		providerIDs:    textList(o, "spec", "providerIDList"),
	}
	if s.cluster == "" {
		s.cluster = s.labels[keys.clusterName()]
	}
	if n, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas"); found && err == nil {
		replicas := int(n)
		s.replicas = &replicas
	}
	s.statusReplicas = int(number(o, "status", "replicas"))
	s.settled = number(o, "status", "observedGeneration") >= o.GetGeneration()
	s.infra = readReference(o, s.namespace, "spec", "template", "spec", "infrastructureRef")
	s.selector = readSelector(o)
	s.stuck = readStuck(o)
	s.templateTaints = readTaints(o)
	s.nodeNames = readNodeRefs(o)
	return s
}

// readSelector reads spec.selector. One that cannot be read, or that would match
// anything, is as none.
func readSelector(o *unstructured.Unstructured) labels.Selector {
	fields, found, err := unstructured.NestedMap(o.Object, "spec", "selector")
	if !found || err != nil {
		return nil
	}
	var said metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &said); err != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&said)
	if err != nil || selector.Empty() {
		return nil
	}
	return selector
}

// readReference reads {apiVersion, kind, name, namespace} of v1beta1, or
// {apiGroup, kind, name} of v1beta2.
func readReference(o *unstructured.Unstructured, namespace string, path ...string) reference {
	at := func(field string) string { return text(o, append(append([]string{}, path...), field)...) }
	r := reference{group: at("apiGroup"), kind: at("kind"), name: at("name"), namespace: at("namespace")}
	if gv, err := schema.ParseGroupVersion(at("apiVersion")); r.group == "" && err == nil {
		r.group, r.version = gv.Group, gv.Version
	}
	if r.namespace == "" {
		r.namespace = namespace
	}
	return r
}

// readTaints reads the taints that Cluster API puts onto the nodes.
func readTaints(o *unstructured.Unstructured) []corev1.Taint {
	items, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "taints")
	if err != nil {
		return nil
	}
	var out []corev1.Taint
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		of := func(name string) string { v, _ := fields[name].(string); return v }
		out = append(out, corev1.Taint{Key: of("key"), Value: of("value"), Effect: corev1.TaintEffect(of("effect"))})
	}
	return out
}

// readNodeRefs reads the nodes of a MachinePool.
func readNodeRefs(o *unstructured.Unstructured) []string {
	items, _, err := unstructured.NestedSlice(o.Object, "status", "nodeRefs")
	if err != nil {
		return nil
	}
	var out []string
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			if name, _ := fields["name"].(string); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// ownerOf is the MachineDeployment, MachineSet or MachinePool that an object
// belongs to, if any. A Cluster, which owns what has no other owner, does not count.
func ownerOf(o *unstructured.Unstructured, group string) owner {
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || gv.Group != group {
			continue
		}
		for _, k := range scalables {
			if string(k) == ref.Kind && ref.Name != "" {
				return owner{k, ref.Name}
			}
		}
	}
	return owner{}
}

// handsOver is the field manager by which Plimsoll's controller for EKS Anywhere gives
// replicas to the autoscaler: it applies them once and never again.
const handsOver = "plimsoll-eks-anywhere-handover"

// replicasManager names the other field manager that applies spec.replicas, and would put them
// back; empty if there is none.
func replicasManager(o *unstructured.Unstructured) string {
	for _, m := range o.GetManagedFields() {
		if m.Operation != metav1.ManagedFieldsOperationApply || m.FieldsV1 == nil || m.Subresource != "" ||
			m.Manager == handsOver {
			continue
		}
		var owned map[string]any
		if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned); err != nil {
			continue // not ours to judge
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(owned, "f:spec", "f:replicas"); found {
			return m.Manager
		}
	}
	return ""
}

func text(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

func texts(o *unstructured.Unstructured, path ...string) map[string]string {
	v, _, _ := unstructured.NestedStringMap(o.Object, path...)
	return v
}

func textList(o *unstructured.Unstructured, path ...string) []string {
	v, _, _ := unstructured.NestedStringSlice(o.Object, path...)
	return v
}

func number(o *unstructured.Unstructured, path ...string) int64 {
	v, _, _ := unstructured.NestedInt64(o.Object, path...)
	return v
}

// condition is one of either form; only v1beta1's has a severity.
type condition struct {
	kind, status, severity, reason, message string
	since                                   time.Time
}

func conditions(o *unstructured.Unstructured, path ...string) []condition {
	// Thousands of Machines have a dozen of these each: they are not copied.
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	items, _ := found.([]any)
	var out []condition
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		of := func(name string) string { v, _ := fields[name].(string); return v }
		c := condition{
			kind: of("type"), status: of("status"), severity: of("severity"), reason: of("reason"), message: of("message"),
		}
		if at, err := time.Parse(time.RFC3339, of("lastTransitionTime")); err == nil {
			c.since = at
		}
		out = append(out, c)
	}
	return out
}

// readStuck reads the condition of a MachineSet that fails to make Machines. It
// is one of v1beta1, and in v1beta2 kept as deprecated.
func readStuck(o *unstructured.Unstructured) *condition {
	for _, at := range [][]string{{"status", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}} {
		for _, c := range conditions(o, at...) {
			if c.kind == "MachinesCreated" && c.status == "False" && c.severity == "Error" {
				return &c
			}
		}
	}
	return nil
}

// isTrue reads a boolean field; what is not there is false.
func isTrue(o *unstructured.Unstructured, path ...string) bool {
	v, _, _ := unstructured.NestedBool(o.Object, path...)
	return v
}

// writeOptions name us as the one who wrote.
var writeOptions = metav1.UpdateOptions{FieldManager: "plimsoll"}
