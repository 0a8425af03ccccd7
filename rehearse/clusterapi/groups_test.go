package clusterapi_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
)

func TestAutoscaledGroupStartsAtItsMinimumAndGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "grows")
	group := w.group("workers", workerSpec("one"), bounds(2, 5))
	if group.Spec.Replicas == nil || *group.Spec.Replicas != 2 {
		t.Fatalf("the webhook set the replicas to %v, want 2", group.Spec.Replicas)
	}
	w.running(group, 2)
	w.scale(group, 4)
	w.running(group, 4)

	nodes := w.nodes()
	if len(nodes) != 4 {
		t.Fatalf("there are %d nodes, want 4", len(nodes))
	}
	for _, node := range nodes {
		if node.Labels["release"] != "one" || node.Labels[corev1.LabelArchStable] != "amd64" ||
			node.Labels[corev1.LabelHostname] != node.Name {
			t.Errorf("%s has the labels %v", node.Name, node.Labels)
		}
		if node.Annotations[clusterv1.MachineAnnotation]+".grows" != node.Name ||
			node.Annotations[clusterv1.ClusterNamespaceAnnotation] != "grows" {
			t.Errorf("%s has the annotations %v", node.Name, node.Annotations)
		}
		if want := "kwok://grows/" + node.Annotations[clusterv1.MachineAnnotation]; node.Spec.ProviderID != want {
			t.Errorf("%s has the provider id %s, want %s", node.Name, node.Spec.ProviderID, want)
		}
		if cpu := node.Status.Allocatable.Cpu().Value(); cpu != 4 {
			t.Errorf("%s offers %d CPUs, want 4", node.Name, cpu)
		}
	}
}

// Who applies a group without replicas leaves them to the autoscaler. The webhook
// fills them in only when there were none, or when the applier gives them up: then
// it keeps what is there, clamped to the range.
func TestReplicasUnderServerSideApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "applied")
	w.create(objects.MachineTemplate("applied", "workers", workerSpec("one")))
	var group clusterv1.MachineDeployment
	apply := func(step string, replicas *int32, minSize, maxSize int, want int32) {
		t.Helper()
		desired := objects.Autoscaled(objects.MachineDeployment(w.cluster, "workers", "workers"), minSize, maxSize)
		desired.Spec.Replicas = replicas
		desired.Spec.Template.Labels = map[string]string{"step": strings.ReplaceAll(step, " ", "-")}
		w.apply(desired)
		group = clusterv1.MachineDeployment{ObjectMeta: desired.ObjectMeta}
		w.get(&group)
		if *group.Spec.Replicas != want {
			t.Errorf("%s: there are %d replicas, want %d", step, *group.Spec.Replicas, want)
		}
	}
	apply("created", nil, 2, 5, 2)
	w.scale(&group, 4)
	apply("an upgrade", nil, 2, 5, 4)
	apply("another range", nil, 1, 3, 4)
	apply("owned", ptr.To[int32](6), 1, 3, 6)
	apply("given up above the range", nil, 1, 3, 3)
	apply("owned again", ptr.To[int32](2), 1, 3, 2)
	apply("given up within the range", nil, 1, 3, 2)
}

func TestBoundsThatAreNoNumbersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "refused")
	group := objects.Autoscaled(objects.MachineDeployment(w.cluster, "workers", "workers"), 1, 2)
	group.Annotations[clusterv1.AutoscalerMinSizeAnnotation] = "one"
	if err := admin.Create(t.Context(), group); err == nil {
		t.Error("a minimum that is no number was accepted")
	}
	group = objects.MachineDeployment(w.cluster, "workers", "workers")
	group.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{
		Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
		RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
			MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
		},
	}
	if err := admin.Create(t.Context(), group); err == nil {
		t.Error("a rollout that can never move was accepted: the validating webhook is not called")
	}
}

// While its node boots the machine is there already, with a provider id.
func TestMachineExistsWhileItsNodeBoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "booting")
	spec := workerSpec("one")
	spec.StartupDelay = &metav1.Duration{Duration: time.Hour}
	group := w.group("workers", spec, bounds(1, 5))
	var machine clusterv1.Machine
	w.eventually("the machine is provisioned", func() (bool, string) {
		machines := w.machines(group)
		if len(machines) == 1 {
			machine = machines[0]
		}
		return machine.Status.Phase == "Provisioned", machine.Status.Phase
	})
	if want := "kwok://booting/" + machine.Name; machine.Spec.ProviderID != want || machine.Status.NodeRef.IsDefined() ||
		len(w.nodes()) != 0 {
		t.Errorf("it has the provider id %s, want %s; the node %q; and there are %d nodes",
			machine.Spec.ProviderID, want, machine.Status.NodeRef.Name, len(w.nodes()))
	}
	w.patch(&kwokapi.KwokMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "booting", Name: machine.Name}},
		`{"spec":{"startupDelay":"0s"}}`)
	w.running(group, 1)
}

func TestNodeJoinsByItselfAfterItsStartupDelay(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Second
	w := newWorld(t, "delayed")
	spec := workerSpec("one")
	spec.StartupDelay = &metav1.Duration{Duration: delay}
	group := w.group("workers", spec, bounds(1, 5))
	machine := w.running(group, 1)[0]
	infrastructure := &kwokapi.KwokMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "delayed", Name: machine.Name}}
	w.get(infrastructure)
	// Both times are whole seconds, cut off.
	if took := w.nodes()[0].CreationTimestamp.Sub(infrastructure.CreationTimestamp.Time); took < delay-time.Second {
		t.Errorf("the node joined after %s, want %s", took, delay)
	}
}

// The groups of a rehearsal that names none are accepted, and stand as they should.
func TestDefaultWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "defaults")
	for range 2 { // the second call finds everything there
		if err := objects.CreateDefaultWorkers(t.Context(), admin, w.cluster); err != nil {
			t.Fatal(err)
		}
	}
	w.running(
		&clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "defaults", Name: objects.FixedGroup}}, 1,
	)
	var groups clusterv1.MachineDeploymentList
	if err := admin.List(t.Context(), &groups, client.InNamespace("defaults")); err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Items {
		_, bounded := group.Annotations[clusterv1.AutoscalerMaxSizeAnnotation]
		if fixed := group.Name == objects.FixedGroup; bounded == fixed || (*group.Spec.Replicas == 1) != fixed {
			t.Errorf("%s has %d replicas and the annotations %v", group.Name, *group.Spec.Replicas, group.Annotations)
		}
	}
	if len(groups.Items) != 5 {
		t.Errorf("there are %d groups, want 5", len(groups.Items))
	}
}
