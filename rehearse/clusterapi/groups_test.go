package clusterapi_test

import (
	"fmt"
	"slices"
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

// A machine that is annotated goes first, pods and all; the others stay.
func TestNamedMachineIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "named")
	group := w.group("workers", workerSpec("one"), bounds(1, 5))
	w.scale(group, 3)
	before := w.running(group, 3)
	chosen := before[1]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-the-named-node"},
		Spec: corev1.PodSpec{
			NodeName:   chosen.Status.NodeRef.Name,
			Containers: []corev1.Container{{Name: "main", Image: "none"}},
		},
	}
	w.create(pod)
	w.eventually("the pod runs", func() (bool, string) {
		w.get(pod)
		return pod.Status.Phase == corev1.PodRunning, string(pod.Status.Phase)
	})

	w.patch(&chosen, `{"metadata":{"annotations":{"cluster.x-k8s.io/delete-machine":"yes"}}}`)
	w.scale(group, 2)
	after := w.running(group, 2)
	for _, machine := range after {
		if machine.Name == chosen.Name {
			t.Errorf("%s is still there", chosen.Name)
		}
		if !slices.ContainsFunc(before, func(m clusterv1.Machine) bool { return m.UID == machine.UID }) {
			t.Errorf("%s is new", machine.Name)
		}
	}
	w.eventually("the machine's node is gone", func() (bool, string) {
		nodes := w.nodes()
		return len(nodes) == 2 &&
			!slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == chosen.Status.NodeRef.Name }), ""
	})
}

func TestRolloutReplacesEveryMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "rollout")
	group := w.group("workers", workerSpec("old"), func(group *clusterv1.MachineDeployment) {
		objects.Autoscaled(group, 1, 5)
		group.Spec.Template.Spec.Version = "v1.36.2"
	})
	w.scale(group, 2)
	before := w.running(group, 2)
	w.upToDate(group, "v1.36.2")
	w.create(objects.MachineTemplate("rollout", "workers-2", workerSpec("new")))
	w.patch(group, `{"spec":{"template":{"spec":{"version":"v1.37.0","infrastructureRef":{"name":"workers-2"}}}}}`)
	fewest := len(before)
	w.eventually("every node is of the new release", func() (bool, string) {
		nodes := w.nodes()
		fewest = min(fewest, len(nodes))
		old := slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Labels["release"] != "new" })
		return len(nodes) == 2 && !old, ""
	})
	for _, machine := range w.running(group, 2) {
		if slices.ContainsFunc(before, func(m clusterv1.Machine) bool { return m.UID == machine.UID }) {
			t.Errorf("%s was not replaced", machine.Name)
		}
	}
	if fewest < 2 {
		t.Errorf("there were only %d nodes at times, and no machine may be unavailable", fewest)
	}
	w.upToDate(group, "v1.37.0")
	if *group.Spec.Replicas != 2 {
		t.Errorf("the rollout changed the replicas to %d", *group.Spec.Replicas)
	}
}

// upToDate waits until Cluster API takes every machine of the group for up to date,
// and wants their nodes' kubelets to be of that version.
func (w world) upToDate(group *clusterv1.MachineDeployment, version string) {
	w.t.Helper()
	w.eventually("every machine is up to date", func() (bool, string) {
		w.get(group)
		return ptr.Deref(group.Status.UpToDateReplicas, 0) == ptr.Deref(group.Spec.Replicas,
			0), fmt.Sprintf("%+v", group.Status)
	})
	for _, node := range w.nodes() {
		if is := node.Status.NodeInfo.KubeletVersion; is != version {
			w.t.Errorf("the kubelet of %s is of the version %s, want %s", node.Name, is, version)
		}
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

func TestFailedMachineSaysSoAndCanBeRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "failed")
	spec := workerSpec("one")
	spec.Failure = &kwokapi.Failure{Reason: "InsufficientCapacity", Message: "no machine of this kind is left"}
	group := w.group("workers", spec, bounds(0, 5))
	w.scale(group, 1)
	var machine clusterv1.Machine
	w.eventually("there is a machine", func() (bool, string) {
		machines := w.machines(group)
		if len(machines) == 1 {
			machine = machines[0]
		}
		return len(machines) == 1, ""
	})
	w.eventually("the machine has failed", func() (bool, string) {
		w.get(&machine)
		deprecated := machine.Status.Deprecated
		return deprecated != nil && deprecated.V1Beta1 != nil && deprecated.V1Beta1.FailureReason != nil, machine.Status.Phase
	})
	if reason := *machine.Status.Deprecated.V1Beta1.FailureReason; reason != "InsufficientCapacity" {
		t.Errorf("the machine's failure is %s", reason)
	}
	ready := w.conditionIs(&machine, clusterv1.MachineInfrastructureReadyCondition, metav1.ConditionFalse)
	if ready.Reason != "InsufficientCapacity" {
		t.Errorf("its infrastructure is not ready for the reason %s: %s", ready.Reason, ready.Message)
	}
	if machine.Spec.ProviderID != "" || machine.Status.NodeRef.IsDefined() || len(w.nodes()) != 0 {
		t.Errorf("it has the provider id %q, the node %q, and there are %d nodes",
			machine.Spec.ProviderID, machine.Status.NodeRef.Name, len(w.nodes()))
	}
	w.scale(group, 0)
	w.running(group, 0)
}

// What an autoscaler needs to let a group grow from nothing.
func TestEmptyGroupTellsWhatItsMachinesWouldOffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "empty")
	spec := workerSpec("one")
	spec.Node.Architecture = "arm64"
	group := w.group("workers", spec, bounds(0, 3))
	if *group.Spec.Replicas != 0 {
		t.Errorf("the group starts with %d replicas, want 0", *group.Spec.Replicas)
	}
	template := &kwokapi.KwokMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "empty", Name: "workers"}}
	w.eventually("the template tells its capacity", func() (bool, string) {
		w.get(template)
		return template.Status.NodeInfo != nil, ""
	})
	if template.Status.Capacity.Cpu().Value() != 4 || template.Status.NodeInfo.Architecture != "arm64" ||
		template.Status.NodeInfo.OperatingSystem != "linux" {
		t.Errorf("the template's status is %+v", template.Status)
	}
	w.scale(group, 1)
	w.running(group, 1)
	w.scale(group, 0)
	w.running(group, 0)
	if nodes := w.nodes(); len(nodes) != 0 {
		t.Errorf("%d nodes are left", len(nodes))
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
