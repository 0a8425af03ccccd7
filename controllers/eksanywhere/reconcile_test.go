package eksanywhere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/controllers/host/hosttest"
)

// These tests run against controller-runtime's in-memory client. It stores objects
// and answers conflicts, but it is no API server: who owns which field after a
// server-side apply, what a webhook defaults and what a schema refuses are proven
// on a real one, in the module of rehearsals.

const (
	oneGroup = `
apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: Cluster
metadata: {name: c1, namespace: default, uid: u1, annotations: {%s}}
spec:
  proxyConfiguration: {httpProxy: kept}
  workerNodeGroupConfigurations:
  - {name: a, count: 2, machineGroupRef: {kind: KwokMachineTemplate, name: small}, autoscalingConfiguration: {minCount: %d, maxCount: 5}}
status: {conditions: [{type: ControlPlaneInitialized, status: "True", extra: kept}]}
`
	machineDeployment = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: c1-a, namespace: eksa-system, uid: m1, generation: 1, labels: {cluster.x-k8s.io/cluster-name: c1}}
spec: {clusterName: c1, replicas: 3}
status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, upToDateReplicas: 3, availableReplicas: 3}
`
)

func TestReconcileWritesConditionsAndNothingElseOfACluster(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
	before := b.get(object(clusterKind), "default", "c1")
	b.reconcile()
	after := b.get(object(clusterKind), "default", "c1")
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	want := []any{
		map[string]any{"type": "ControlPlaneInitialized", "status": "True", "extra": "kept"},
		map[string]any{"type": "WorkersReady", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		map[string]any{"type": "WorkerNodeGroupsValid", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		map[string]any{"type": "WorkersReadyWritten", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "WrittenByPlimsoll", "message": "True"},
	}
	if diff := cmp.Diff(want, b.conditions()); diff != "" {
		t.Error(diff)
	}
	md := b.get(object(b.kind), "eksa-system", "c1-a")
	if got := md.GetAnnotations()["cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"]; got != "5" {
		t.Errorf("the machine deployment's maximum is %q", got)
	}
	if n, _, _ := unstructured.NestedInt64(md.Object, "spec", "replicas"); n != 3 {
		t.Errorf("the replicas are %d, want the 3 that were there", n)
	}

	// Nothing has changed: nothing is written.
	b.api.Writes = nil
	b.reconcile()
	if len(b.api.Writes) > 0 {
		t.Errorf("a second look wrote %v", b.api.Writes)
	}
}

func TestReconcileMakesAMachineDeploymentAtItsMinimumWithoutAWebhook(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 2))
	b.reconcile()
	b.reconcile()
	md := b.get(object(b.kind), "eksa-system", "c1-a")
	if n, found, _ := unstructured.NestedInt64(md.Object, "spec", "replicas"); !found || n != 2 {
		t.Errorf("the replicas are %d (%v), want the minimum, 2", n, found)
	}
}

// TestEventsNameTheirMachineDeployment, where they are about one worker group.
func TestEventsNameTheirMachineDeployment(t *testing.T) {
	b := newBench(t, Settings{}, `
apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: Cluster
metadata: {name: c1, namespace: default, uid: u1}
spec:
  workerNodeGroupConfigurations:
  - {name: a, count: 2, machineGroupRef: {kind: KwokMachineTemplate, name: small}}
  - {name: b, count: 3, machineGroupRef: {kind: KwokMachineTemplate, name: small}}
  - {name: c, count: 4, autoscalingConfiguration: {}}
  - {name: d, count: 5, autoscalingConfiguration: {}}
`)
	b.reconcile()
	want := []string{
		"MachineDeploymentApply MachineDeployment eksa-system/c1-a",
		"MachineDeploymentApply MachineDeployment eksa-system/c1-b",
		"AutoscalingRangeEmpty MachineDeployment eksa-system/c1-c",
		"MachineDeploymentNotCreated MachineDeployment eksa-system/c1-c",
		"AutoscalingRangeEmpty MachineDeployment eksa-system/c1-d",
		"MachineDeploymentNotCreated MachineDeployment eksa-system/c1-d",
		"CountIgnored MachineDeployment eksa-system/c1-c",
		"CountIgnored MachineDeployment eksa-system/c1-d",
	}
	var got []string
	for _, told := range b.recorder.Take() {
		got = append(got, told.Reason+" "+told.Related)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReconcileKeepsItsHandsOff: what must not be written is not, and the status
// follows nonetheless.
func TestReconcileKeepsItsHandsOff(t *testing.T) {
	namesake := strings.Replace(fmt.Sprintf(oneGroup, "", 1), "namespace: default, uid: u1",
		"namespace: other, uid: u2", 1)
	tests := []struct {
		name     string
		settings Settings
		objects  []string
		event    string // part of one
		ready    string
	}{
		{"status only", Settings{StatusOnly: true}, []string{fmt.Sprintf(oneGroup, "", 1)}, "MachineDeploymentWouldApply would be done without --status-only: machine deployment c1-a applied", "True"},
		{"paused", Settings{}, []string{fmt.Sprintf(oneGroup, `anywhere.eks.amazonaws.com/paused: "true"`, 1)}, "", "True"},
		{"invalid", Settings{}, []string{fmt.Sprintf(oneGroup, "", 6)}, "InvalidWorkerNodeGroups validating autoscaling configuration: min count must be no greater than max count", "False"},
		{"two Clusters of one name", Settings{}, []string{fmt.Sprintf(oneGroup, "", 1), namesake}, "ClusterNameNotUnique there is a Cluster c1 in namespace other", "True"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.settings, append(tt.objects, machineDeployment)...)
			b.reconcile()
			if diff := cmp.Diff([]string{"status"}, b.api.Writes); diff != "" {
				t.Errorf("writes: %s", diff)
			}
			if got := b.conditions()[1].(map[string]any)["status"]; got != tt.ready {
				t.Errorf("WorkersReady is %v", got)
			}
			told := strings.Join(b.events(), "\n")
			if !strings.Contains(told, tt.event) {
				t.Errorf("told %q, want %q", told, tt.event)
			}
			b.reconcile()
			if again := strings.Join(b.events(), "\n"); again != "" {
				t.Errorf("told again: %s", again)
			}
		})
	}
}

// TestStatusOnlyTellsWhatItWouldDo: before a person leaves --status-only away, each
// write is announced once, with the number of nodes that there is now. Nothing is
// written but conditions.
func TestStatusOnlyTellsWhatItWouldDo(t *testing.T) {
	const clusterOf3 = `
apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: Cluster
metadata: {name: c1, namespace: default, uid: u1%s}
spec:
  workerNodeGroupConfigurations:
  - {name: a, count: 3}
  - {name: b, count: 1, autoscalingConfiguration: {minCount: 1, maxCount: 5}}
  - {name: c, count: 1}
  - {name: d, count: 2, machineGroupRef: {kind: KwokMachineTemplate, name: small}}
`
	byHand := strings.NewReplacer("{cluster.x-k8s.io/cluster-name: c1}",
		`{cluster.x-k8s.io/cluster-name: c1}, annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1", cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "9"}`,
		"replicas: 3", "replicas: 8").Replace(machineDeployment)
	above := strings.NewReplacer("c1-a", "c1-b", "m1", "m2", "replicas: 3", "replicas: 8").Replace(machineDeployment)

	b := newBench(t, Settings{StatusOnly: true}, fmt.Sprintf(clusterOf3, ""), byHand, above)
	b.reconcile()
	want := []string{
		`Warning MachineDeploymentNotCreated machine deployment c1-c is not there, and one for machines of kind "" must be made by EKS Anywhere's own controller`,
		"Normal MachineDeploymentWouldUnannotate would be done without --status-only: machine deployment c1-a taken from the autoscaler: the worker node group is not autoscaled",
		"Warning MachineDeploymentWouldApply would be done without --status-only: machine deployment c1-a applied with 3 replicas (5 of its 8 go)",
		"Warning MachineDeploymentWouldHandOver would be done without --status-only: machine deployment c1-b replicas moved from 8 to 5, into the new range of 1 to 5 (3 of its 8 go)",
		"Normal MachineDeploymentWouldApply would be done without --status-only: machine deployment c1-b applied without replicas, for the autoscaler to size between 1 and 5",
		"Normal MachineDeploymentWouldApply would be done without --status-only: machine deployment c1-d created with 2 replicas",
	}
	if diff := cmp.Diff(want, b.events()); diff != "" {
		t.Error(diff)
	}
	b.reconcile()
	if told := b.events(); len(told) > 0 {
		t.Errorf("told again: %v", told)
	}
	if diff := cmp.Diff([]string{"status"}, b.api.Writes); diff != "" {
		t.Errorf("writes: %s", diff)
	}

	// What would not be done without the flag either is not announced.
	b = newBench(t, Settings{StatusOnly: true},
		fmt.Sprintf(clusterOf3, `, annotations: {anywhere.eks.amazonaws.com/paused: "true"}`), byHand, above)
	b.reconcile()
	if told := b.events(); len(told) > 0 {
		t.Errorf("of a paused Cluster it told %v", told)
	}
}

// TestReconcileTellsOfAClusterThatItCannotRead: an event says so, once, and no metric
// goes on saying what was true before.
func TestReconcileTellsOfAClusterThatItCannotRead(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
	b.reconcile()
	b.events()
	spec := func(value any) {
		cluster := b.get(object(clusterKind), "default", "c1")
		if err := unstructured.SetNestedField(cluster.Object, value, "spec", "kubernetesVersion"); err != nil {
			t.Fatal(err)
		}
		if err := b.writer.Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	for _, again := range []bool{false, true} {
		spec(map[string]any{"minor": int64(33)})
		b.api.Writes = nil
		if _, err := b.Reconcile(t.Context(), request); err == nil {
			t.Error("it is no error")
		}
		for _, name := range []string{"workers_ready", "worker_node_groups_valid"} {
			if n := b.metric("plimsoll_eks_anywhere_" + name); !slices.Equal(n, []float64{0}) {
				t.Errorf("%s is %v", name, n)
			}
		}
		told := strings.Join(b.events(), "\n")
		if got := strings.Contains(
			told, "Warning ClusterNotUnderstood understand Cluster default/c1 (is its definition that of EKS Anywhere?)",
		); got == again {
			t.Errorf("again: %v, told %q", again, told)
		}
		if len(b.api.Writes) > 0 {
			t.Errorf("it wrote %v", b.api.Writes)
		}
	}
	spec("1.33")
	b.reconcile()
	for _, name := range []string{"workers_ready", "worker_node_groups_valid"} {
		if n := b.metric("plimsoll_eks_anywhere_" + name); !slices.Equal(n, []float64{1}) {
			t.Errorf("once it is mended, %s is %v", name, n)
		}
	}
}

func TestReconcileTellsOfACountThatChanges(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 2), machineDeployment)
	b.reconcile()
	b.events()
	cluster := b.get(object(clusterKind), "default", "c1")
	groups, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "workerNodeGroupConfigurations")
	groups[0].(map[string]any)["count"] = int64(4)
	if err := unstructured.SetNestedSlice(cluster.Object, groups, "spec", "workerNodeGroupConfigurations"); err != nil {
		t.Fatal(err)
	}
	if err := b.writer.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b.api.Writes = nil
	b.reconcile()
	want := []string{
		"Warning CountIgnored count 4 of worker node group a is ignored: the autoscaler sizes it between 2 and 5",
	}
	if diff := cmp.Diff(want, b.events()); diff != "" {
		t.Error(diff)
	}
	if len(b.api.Writes) > 0 {
		t.Errorf("the count made it write %v", b.api.Writes)
	}
}

// TestReconcileErrors: after a lost race the objects are read again, and it is no error. A refused
// write is an error and an event.
func TestReconcileErrors(t *testing.T) {
	resource := schema.GroupResource{Group: mdKind.Group, Resource: "machinedeployments"}
	tests := []struct {
		name  string
		err   error
		again time.Duration
		fails bool
		event string
		end   string
	}{
		{"conflict", apierrors.NewConflict(resource, "c1-a", errors.New("changed")), host.AfterConflict, false, "", "conflict"},
		{"forbidden", apierrors.NewForbidden(resource, "c1-a", errors.New("no right")), 0, true, "MachineDeploymentNotWritten apply machine deployment eksa-system/c1-a", "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
			b.writer = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tt.err
				},
			})
			result, err := b.Reconcile(t.Context(), request)
			if result.RequeueAfter != tt.again || (err != nil) != tt.fails {
				t.Errorf("got %v, %v", result, err)
			}
			if told := strings.Join(b.events(), "\n"); !strings.Contains(told, tt.event) {
				t.Errorf("told %q", told)
			}
			if len(b.conditions()) != 4 {
				t.Error("the condition did not follow, though only the machine deployment could not be written")
			}
			if n := b.metric("plimsoll_eks_anywhere_writes_total", "Apply", tt.end); len(n) != 1 || n[0] != 1 {
				t.Errorf("writes that ended %s: %v", tt.end, n)
			}
		})
	}
}

// TestAnotherTextIsAnotherEvent: in a series of events that are equal but for their
// text, none is taken for one that has been told before, though nothing of the Cluster
// has changed meanwhile.
func TestAnotherTextIsAnotherEvent(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
	why := ""
	b.writer = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errors.New(why)
		},
	})
	var told []hosttest.Told
	for _, why = range []string{"the webhook is away", "the webhook is away", "the disk is full"} {
		if _, err := b.Reconcile(t.Context(), request); err == nil {
			t.Error("a write that failed is no error")
		}
		told = append(told,
			slices.DeleteFunc(b.recorder.Take(), func(e hosttest.Told) bool { return e.Reason != writeFailed })...)
	}
	if len(told) != 2 || !strings.Contains(told[1].Text, "the disk is full") {
		t.Fatalf("told %v", told)
	}
	told[0].Text, told[1].Text = "", ""
	if told[0] == told[1] {
		t.Errorf("both are %v, so that the second text is lost", told[0])
	}
}

// TestReconcileLeavesADeletedClusterAlone, its status included.
func TestReconcileLeavesADeletedClusterAlone(t *testing.T) {
	b := newBench(t, Settings{},
		strings.Replace(fmt.Sprintf(oneGroup, "", 1), "uid: u1", "uid: u1, finalizers: [theirs/own]", 1), machineDeployment)
	if err := b.writer.Delete(t.Context(), b.get(object(clusterKind), "default", "c1")); err != nil {
		t.Fatal(err)
	}
	b.api.Writes = nil
	b.reconcile()
	if told := b.events(); len(b.api.Writes)+len(told) > 0 {
		t.Errorf("writes %v, told %v", b.api.Writes, told)
	}
}

// TestReconcileWaitsForNames: what waits until another Cluster, or its machine
// deployment, gives a name up is looked at again by itself, and then carried out: no
// event of the waiting Cluster's tells.
func TestReconcileWaitsForNames(t *testing.T) {
	namesake := strings.Replace(fmt.Sprintf(oneGroup, "", 1), "namespace: default, uid: u1",
		"namespace: other, uid: u2", 1)
	anothers := strings.NewReplacer("cluster-name: c1", "cluster-name: c2", "clusterName: c1", "clusterName: c2").
		Replace(machineDeployment)
	for _, tt := range []struct {
		name, other string
		holder      func(*bench) *unstructured.Unstructured
	}{
		{"a Cluster of the same name", namesake, func(b *bench) *unstructured.Unstructured { return b.get(object(clusterKind), "other", "c1") }},
		{"a machine deployment of another cluster", anothers, func(b *bench) *unstructured.Unstructured { return b.get(object(b.kind), "eksa-system", "c1-a") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), tt.other)
			if got := b.reconcile(); got.RequeueAfter != afterNames || slices.Contains(b.api.Writes, "apply c1-a") {
				t.Errorf("got %v, writes %v", got, b.api.Writes)
			}
			if err := b.writer.Delete(t.Context(), tt.holder(b)); err != nil {
				t.Fatal(err)
			}
			if got := b.reconcile(); got.RequeueAfter != 0 || !slices.Contains(b.api.Writes, "apply c1-a") {
				t.Errorf("once the name is free: got %v, writes %v", got, b.api.Writes)
			}
		})
	}
}

// TestWritesExpectWhatWasLookedAt: once another client has changed a machine deployment, no write
// of any verb that was decided on its earlier state succeeds.
func TestWritesExpectWhatWasLookedAt(t *testing.T) {
	for verb, body := range map[workers.Verb]map[string]any{
		workers.Apply:      {"metadata": map[string]any{"annotations": map[string]any{"ours": "1"}}},
		workers.HandOver:   {"spec": map[string]any{"replicas": int64(1)}},
		workers.Unannotate: {"metadata": map[string]any{"annotations": map[string]any{"ours": nil}}},
		workers.Delete:     nil,
	} {
		t.Run(string(verb), func(t *testing.T) {
			b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
			md := b.get(object(b.kind), "eksa-system", "c1-a")
			step := workers.Step{Verb: verb, Name: "c1-a", UID: "m1", ResourceVersion: md.GetResourceVersion(), Body: body}
			md.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c2"})
			if err := b.writer.Update(t.Context(), md); err != nil {
				t.Fatal(err)
			}
			if _, err := b.carryOut(t.Context(), step, nil); !apierrors.IsConflict(err) {
				t.Errorf("got %v", err)
			}
			after := b.get(object(b.kind), "eksa-system", "c1-a")
			if n, _, _ := unstructured.NestedInt64(after.Object, "spec", "replicas"); n != 3 ||
				after.GetAnnotations()["ours"] != "" {
				t.Errorf("it was written: %v", after.Object)
			}
		})
	}
}

// TestNutanixSplitsGroups: the failure domains of the datacenter say what a group's
// machine deployments are called; those of a Cluster's worker group, which are
// vSphere's, do not. Without the permission to read them nothing is written.
func TestNutanixSplitsGroups(t *testing.T) {
	const nutanix = `
apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: Cluster
metadata: {name: c1, namespace: default, uid: u1}
spec:
  datacenterRef: {kind: NutanixDatacenterConfig, name: dc}
  workerNodeGroupConfigurations:
  - {name: a, count: 5, failureDomains: [ignored]}
status: {conditions: [{type: ControlPlaneInitialized, status: "True"}]}
`
	const datacenter = `
apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: NutanixDatacenterConfig
metadata: {name: dc, namespace: default}
spec: {failureDomains: [{name: d1, workerMachineGroups: [a, b]}, {name: other, workerMachineGroups: [b]}, {name: d2, workerMachineGroups: [a]}, {name: d3, workerMachineGroups: [a]}]}
`
	objects := []string{nutanix}
	for _, domain := range []string{"d1", "d2", "d3"} {
		objects = append(objects,
			strings.ReplaceAll(strings.Replace(machineDeployment, "uid: m1", "uid: m-"+domain, 1), "c1-a", "c1-a-"+domain))
	}
	b := newBench(t, Settings{}, append(objects, datacenter)...)
	b.reconcile()
	var got []int64
	for _, domain := range []string{"d1", "d2", "d3"} {
		n, _, _ := unstructured.NestedInt64(b.get(object(b.kind), "eksa-system", "c1-a-"+domain).Object, "spec", "replicas")
		got = append(got, n)
	}
	if !slices.Equal(got, []int64{3, 1, 1}) {
		t.Errorf("the replicas are %v, want 3, 1, 1", got)
	}

	b = newBench(t, Settings{}, objects...)
	if _, err := b.Reconcile(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "nutanixdatacenterconfigs") {
		t.Errorf("without the datacenter: %v", err)
	}
	if len(b.api.Writes) > 0 {
		t.Errorf("without the datacenter: writes %v", b.api.Writes)
	}
}

func TestReconcileForgetsAClusterThatIsGone(t *testing.T) {
	b := newBench(t, Settings{}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
	b.reconcile()
	if n := b.metric("plimsoll_eks_anywhere_workers_ready"); len(n) != 1 {
		t.Fatalf("the series are %v", n)
	}
	if err := b.writer.Delete(t.Context(), b.get(object(clusterKind), "default", "c1")); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if n := b.metric("plimsoll_eks_anywhere_workers_ready"); len(n) != 0 || len(b.memory.clusters) != 0 {
		t.Errorf("the series are %v, and %d Clusters are remembered", n, len(b.memory.clusters))
	}
}
