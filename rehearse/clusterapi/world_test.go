package clusterapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

// eventTimeout is how long a condition may take on a machine that is busy with
// other things: on a quiet one it takes seconds.
const eventTimeout = 90 * time.Second

// world is one test's cluster, in a namespace of its own.
type world struct {
	t       *testing.T
	cluster *clusterv1.Cluster
}

func newWorld(t *testing.T, namespace string) world {
	t.Helper()
	cluster, err := objects.CreateCluster(t.Context(), admin, namespace, "west", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return world{t: t, cluster: cluster}
}

func (w world) create(object client.Object) {
	w.t.Helper()
	if err := admin.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// workerSpec is a machine of four CPUs whose node bears a label of that value.
func workerSpec(release string) kwokapi.KwokMachineSpec {
	return kwokapi.KwokMachineSpec{Node: kwokapi.NodeSpec{
		Labels: map[string]string{"release": release},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("16Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		},
	}}
}

// group creates a group of machines of that spec, and its template of the same name.
func (w world) group(
	name string, spec kwokapi.KwokMachineSpec, edit func(*clusterv1.MachineDeployment),
) *clusterv1.MachineDeployment {
	w.t.Helper()
	w.create(objects.MachineTemplate(w.cluster.Namespace, name, spec))
	group := objects.MachineDeployment(w.cluster, name, name)
	if edit != nil {
		edit(group)
	}
	w.create(group)
	return group
}

func bounds(minSize, maxSize int) func(*clusterv1.MachineDeployment) {
	return func(group *clusterv1.MachineDeployment) { objects.Autoscaled(group, minSize, maxSize) }
}

// scale sizes the group as an autoscaler does, through the scale subresource.
func (w world) scale(group *clusterv1.MachineDeployment, replicas int32) {
	w.t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := admin.SubResource("scale").Patch(
		w.t.Context(), group, patch, client.WithSubResourceBody(scale),
	); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) patch(object client.Object, patch string) {
	w.t.Helper()
	if err := admin.Patch(
		w.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)),
	); err != nil {
		w.t.Fatal(err)
	}
}

// apply is server-side apply: only fields that are set are owned.
func (w world) apply(group *clusterv1.MachineDeployment) {
	w.t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(group)
	if err != nil {
		w.t.Fatal(err)
	}
	delete(fields, "status")
	applied := &unstructured.Unstructured{Object: fields}
	applied.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineDeployment"))
	err = admin.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("test"),
		client.ForceOwnership)
	if err != nil {
		w.t.Fatal(err)
	}
}

// machines are the machines of a group, by name.
func (w world) machines(group client.Object) []clusterv1.Machine {
	w.t.Helper()
	var list clusterv1.MachineList
	err := admin.List(w.t.Context(), &list, client.InNamespace(group.GetNamespace()),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: group.GetName()})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// nodes are the nodes that our provider made for the cluster: it is alone in its namespace and
// shares them with no other provider.
func (w world) nodes() []corev1.Node {
	w.t.Helper()
	var list corev1.NodeList
	if err := admin.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(node corev1.Node) bool {
		return !strings.HasSuffix(node.Name, "."+w.cluster.Namespace)
	})
}

// running waits until the group has exactly that many machines, each with a Ready
// node to which it refers and which takes pods, and returns them.
func (w world) running(group client.Object, want int) []clusterv1.Machine {
	w.t.Helper()
	var machines []clusterv1.Machine
	w.eventually(fmt.Sprintf("%s has %d machines with ready nodes", group.GetName(), want), func() (bool, string) {
		machines = w.machines(group)
		ready := map[string]bool{}
		for _, node := range w.nodes() {
			ready[node.Name] = isReady(node)
		}
		good := 0
		for _, machine := range machines {
			if machine.DeletionTimestamp.IsZero() && machine.Status.Phase == "Running" && ready[machine.Status.NodeRef.Name] {
				good++
			}
		}
		return good == want && len(machines) == want, fmt.Sprintf("%d machines, %d of them good; nodes %v",
			len(machines), good, ready)
	})
	return machines
}

func isReady(node corev1.Node) bool {
	return len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func (w world) get(object client.Object) {
	w.t.Helper()
	if err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.t.Fatal(err)
	}
}

// conditionIs waits for a condition of the object.
func (w world) conditionIs(object interface {
	client.Object
	GetConditions() []metav1.Condition
}, kind string, want metav1.ConditionStatus) metav1.Condition {
	w.t.Helper()
	var found metav1.Condition
	w.eventually(fmt.Sprintf("%T %s is %s=%s", object, object.GetName(), kind, want), func() (bool, string) {
		if err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return false, err.Error()
		}
		for _, condition := range object.GetConditions() {
			if condition.Type == kind {
				found = condition
			}
		}
		return found.Status == want, fmt.Sprint(found)
	})
	return found
}

func (w world) eventually(what string, condition func() (bool, string)) {
	w.t.Helper()
	planetest.Eventually(w.t, eventTimeout, what, condition)
}
