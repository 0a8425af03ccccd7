package gardener

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// These tests run against controller-runtime's in-memory client. It stores objects
// and answers conflicts, but it is no API server: what a definition prunes, what
// rights allow and what a watch brings are proven on a real one, in the module of
// rehearsals.

const (
	oneWorker = `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Worker
metadata: {name: s, namespace: shoot--p--s, uid: u1, annotations: {%s}}
spec:
  type: local
  secretRef: {name: kept}
  pools:
  - {name: a, minimum: 3, maximum: 4, maxSurge: 3, maxUnavailable: 0, zones: [za, zb, zc], machineType: kept}
status: {conditions: [{type: EveryNodeReady, status: "True", reason: r, message: m, codes: [kept]}]}
`
	oneCluster = `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Cluster
metadata: {name: shoot--p--s}
spec: {shoot: {metadata: {name: s, namespace: garden-p, annotations: {%s}}, spec: {hibernation: {enabled: %v}}}}
`
)

func class(name string) string {
	return "{apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineClass, metadata: {namespace: shoot--p--s, name: " +
		"shoot--p--s-" + name + "}}"
}

func classes() []string {
	return []string{class("a-z1-11111"), class("a-z2-22222"), class("a-z3-33333")}
}

func awake() []string {
	return append(classes(), fmt.Sprintf(oneWorker, ""), fmt.Sprintf(oneCluster, "", false))
}

func TestReconcileMakesMachineDeployments(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	before := b.worker()
	b.reconcile()
	if diff := cmp.Diff(map[string]int64{"a-z1": 1, "a-z2": 1, "a-z3": 1}, b.deployments()); diff != "" {
		t.Error(diff)
	}
	md := b.deployment("a-z2")
	if got, _, _ := unstructured.NestedString(
		md.Object, "spec", "template", "spec", "class", "name",
	); got != "shoot--p--s-a-z2-22222" {
		t.Errorf("its class is %q", got)
	}
	if got, _, _ := unstructured.NestedString(
		md.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels", "topology.kubernetes.io/zone",
	); got != "zb" {
		t.Errorf("its zone is %q", got)
	}
	if got := md.GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "4" {
		t.Errorf("the pool's maximum is %q", got)
	}

	// Of the Worker, only the status and the finalizer are written, and what others
	// say in it stays.
	after := b.worker()
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{finalizer}, after.GetFinalizers()); diff != "" {
		t.Error(diff)
	}
	want := []any{
		map[string]any{"name": "shoot--p--s-a-z1", "minimum": int64(1), "maximum": int64(2)},
		map[string]any{"name": "shoot--p--s-a-z2", "minimum": int64(1), "maximum": int64(1)},
		map[string]any{"name": "shoot--p--s-a-z3", "minimum": int64(1), "maximum": int64(1)},
	}
	listed, _, _ := unstructured.NestedSlice(after.Object, "status", "machineDeployments")
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Error(diff)
	}
	list, _, _ := unstructured.NestedSlice(after.Object, "status", "conditions")
	if diff := cmp.Diff(map[string]any{
		"type": "EveryNodeReady", "status": "True", "reason": "r", "message": "m", "codes": []any{"kept"},
	}, list[0]); diff != "" {
		t.Error(diff)
	}
	wantConditions := map[string]string{"EveryNodeReady": "True r", "PlimsollPoolsValid": "True Valid",
		"PlimsollPoolsApplied": "True Applied", "PlimsollMachineClassesFound": "True Found"}
	if diff := cmp.Diff(wantConditions, b.conditions()); diff != "" {
		t.Error(diff)
	}

	// Nothing has changed: nothing is written.
	b.api.Writes = nil
	b.reconcile()
	if len(b.api.Writes) > 0 {
		t.Errorf("a second look wrote %v", b.api.Writes)
	}
}

// TestTwentyReconcilesNeverMoveTheReplicasBack: while an autoscaler scales within
// the pool's limits, and the pools change twenty times, its numbers stay.
func TestTwentyReconcilesNeverMoveTheReplicasBack(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	steps := [][3]int64{{2, 1, 1}, {4, 0, 0}, {0, 0, 4}, {1, 3, 0}, {0, 0, 0}, {0, 1, 0}}
	for i := range 20 {
		want := map[string]int64{}
		for zone, n := range steps[i%len(steps)] {
			name := fmt.Sprintf("a-z%d", zone+1)
			want[name] = n
			b.merge(b.deployment(name), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
		}
		b.merge(b.worker(),
			fmt.Sprintf(
				`{"spec":{"pools":[{"name":"a","minimum":3,"maximum":4,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"],"labels":{"release":"%d"}}]}}`, i,
			))
		b.reconcile()
		if diff := cmp.Diff(want, b.deployments()); diff != "" {
			t.Fatalf("look %d: %s", i, diff)
		}
		got, _, _ := unstructured.NestedString(b.deployment("a-z1").Object, "spec", "template", "spec", "nodeTemplate",
			"metadata", "labels", "release")
		if got != fmt.Sprint(i) {
			t.Fatalf("look %d: the label is %q", i, got)
		}
	}
}

// TestReconcileFollowsThePools: zones and pools come and go.
func TestReconcileFollowsThePools(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	b.merge(b.deployment("a-z1"), `{"spec":{"replicas":2}}`)
	b.merge(b.worker(), `{"spec":{"pools":[
		{"name":"a","minimum":2,"maximum":6,"maxSurge":2,"maxUnavailable":0,"zones":["za","zb"]},
		{"name":"b","minimum":1,"maximum":3,"maxSurge":1,"maxUnavailable":0}]}}`)
	b.reconcile()
	if diff := cmp.Diff(map[string]int64{"a-z1": 2, "a-z2": 1, "b-z1": 1}, b.deployments()); diff != "" {
		t.Error(diff)
	}
	if got := b.conditions()["PlimsollMachineClassesFound"]; got != "False MachineClassMissing" {
		t.Errorf("the condition is %s", got)
	}
	if told := strings.Join(
		b.events(), "\n",
	); !strings.Contains(told, "Warning MachineClassMissing machine class shoot--p--s-b-z1 is not there") {
		t.Errorf("told %s", told)
	}
	if err := b.writer.Create(t.Context(), parse(t, class("b-z1-44444"))); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if got, _, _ := unstructured.NestedString(
		b.deployment("b-z1").Object, "spec", "template", "spec", "class", "name",
	); got != "shoot--p--s-b-z1-44444" {
		t.Errorf("the class is %s", got)
	}
	if got := b.conditions()["PlimsollMachineClassesFound"]; got != "True Found" {
		t.Errorf("the condition is %s", got)
	}
}

func TestHibernationAndBack(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	hibernate := func(yes bool) {
		b.merge(parse(t, fmt.Sprintf(oneCluster, "", yes)),
			fmt.Sprintf(`{"spec":{"shoot":{"spec":{"hibernation":{"enabled":%v}}}}}`, yes))
		b.reconcile()
	}
	hibernate(true)
	if diff := cmp.Diff(map[string]int64{"a-z1": 0, "a-z2": 0, "a-z3": 0}, b.deployments()); diff != "" {
		t.Error(diff)
	}
	hibernate(false)
	if diff := cmp.Diff(map[string]int64{"a-z1": 1, "a-z2": 1, "a-z3": 1}, b.deployments()); diff != "" {
		t.Error(diff)
	}
}

// TestHandsOff: what must not be written is not, and the Worker says why.
func TestHandsOff(t *testing.T) {
	cluster := fmt.Sprintf(oneCluster, "", false)
	worker := fmt.Sprintf(oneWorker, "")
	tests := []struct {
		name     string
		settings Settings
		objects  []string
		writes   []string
		applied  string
		event    string // part of one
	}{
		{"status only", Settings{Extent: StatusOnly}, []string{worker, cluster}, []string{"status"}, "", ""},
		{"another type", Settings{Extent: Everything, Types: []string{"aws"}}, []string{worker, cluster}, nil, "", ""},
		{"no Cluster", Settings{Extent: Everything}, []string{worker}, []string{"status"}, "False ClusterMissing", "ClusterMissing there is no Cluster shoot--p--s"},
		{"moving away", Settings{Extent: Everything}, []string{
			fmt.Sprintf(oneWorker, "gardener.cloud/operation: migrate"), cluster,
		}, []string{"status"},
			"False ShootMovesToAnotherSeed", "ShootMovesToAnotherSeed the shoot moves"},
		{"moved away", Settings{Extent: Everything}, []string{
			strings.Replace(worker, "status: {", "status: {lastOperation: {type: Migrate, state: Succeeded}, ", 1), cluster,
		}, []string{"status"},
			"False ShootMovesToAnotherSeed",
			"ShootMovesToAnotherSeed the shoot moves to another seed (status.lastOperation: Migrate)"},
		{"moving in after it moved away", Settings{Extent: Everything}, []string{strings.Replace(fmt.Sprintf(
			oneWorker, "gardener.cloud/operation: restore",
		), "status: {", "status: {lastOperation: {type: Migrate, state: Succeeded}, ", 1), cluster},
			[]string{"status"}, "False ShootMovesToAnotherSeed",
			"ShootMovesToAnotherSeed the shoot moves to another seed (gardener.cloud/operation: restore)"},
		{"moving in", Settings{Extent: Everything}, []string{
			fmt.Sprintf(oneWorker, "gardener.cloud/operation: restore"), cluster,
		}, []string{"status"},
			"False ShootMovesToAnotherSeed", "ShootMovesToAnotherSeed the shoot moves"},
		{"ignored", Settings{Extent: Everything}, []string{
			worker, fmt.Sprintf(oneCluster, `shoot.gardener.cloud/ignore: "true"`, false),
		}, []string{"status"},
			"False ShootIgnored", "ShootIgnored the shoot is ignored"},
		{"invalid", Settings{Extent: Everything}, []string{strings.Replace(worker, "minimum: 3", "minimum: 5", 1), cluster},
			[]string{"status"},
			"False InvalidWorkerPools",
			"InvalidWorkerPools spec.pools[0].maximum: Invalid value: 4: must not be less than the minimum, 5"},
		{"a new pool with fewer nodes than zones", Settings{Extent: Everything}, []string{
			strings.Replace(worker, "minimum: 3, maximum: 4", "minimum: 0, maximum: 2", 1), cluster,
		}, []string{"status"},
			"False InvalidWorkerPools", "spec.pools[0].maximum: Invalid value: 2: must not be less than the number of zones, 3"},
		{"two sizings", Settings{Extent: Everything}, []string{worker, strings.Replace(cluster, "spec: {hibernation",
			"spec: {kubernetes: {clusterAutoscaler: {sizing: Equitable, nodeGroupSizingStrategy: Lax-Greedy}}, hibernation", 1)},
			[]string{"status"}, "False InvalidWorkerPools", "nodeGroupSizingStrategy: Invalid value"},
		{"limits only, nothing there", Settings{Extent: LimitsOnly}, []string{worker, cluster}, []string{"status"}, "False MachineDeploymentNotThere", "pool a has 0 of 3 machine deployments"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.settings, append(classes(), tt.objects...)...)
			b.reconcile()
			if diff := cmp.Diff(tt.writes, b.api.Writes); diff != "" {
				t.Errorf("writes: %s", diff)
			}
			if got := b.conditions()["PlimsollPoolsApplied"]; got != tt.applied {
				t.Errorf("the condition is %q", got)
			}
			if told := strings.Join(b.events(), "\n"); !strings.Contains(told, tt.event) {
				t.Errorf("told %q", told)
			}
			b.reconcile()
			if again := strings.Join(b.events(), "\n"); again != "" {
				t.Errorf("told again: %s", again)
			}
		})
	}
}

// TestExistingPoolsWithFewerNodesThanZonesGoOn, with a warning.
func TestExistingPoolsWithFewerNodesThanZonesGoOn(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	b.events()
	b.merge(b.worker(),
		`{"spec":{"pools":[{"name":"a","minimum":1,"maximum":2,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
	b.reconcile()
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "True Applied" {
		t.Errorf("the condition is %s", got)
	}
	if told := strings.Join(
		b.events(), "\n",
	); !strings.Contains(told, "UnwiseWorkerPools spec.pools[0].maximum: 2 is less than the number of zones, 3") {
		t.Errorf("told %s", told)
	}
}

// TestPoolsThatWereThereBeforeAreExisting: a pool that the shoot brings along from
// another seed is not new, nor is one whose machine deployments have lost their label
// and have its names.
func TestPoolsThatWereThereBeforeAreExisting(t *testing.T) {
	small := strings.Replace(fmt.Sprintf(oneWorker, ""), "minimum: 3, maximum: 4", "minimum: 1, maximum: 2", 1)
	t.Run("on another seed", func(t *testing.T) {
		moved := strings.Replace(small, "status: {", "status: {state: {machineDeployments: {shoot--p--s-a-z1: {replicas: "+
			"0}, shoot--p--s-a-z2: {replicas: 2}, shoot--p--s-a-z3: {replicas: 0}}}, ", 1)
		b := newBench(t, Settings{Extent: Everything}, append(classes(), moved, fmt.Sprintf(oneCluster, "", false))...)
		b.reconcile()
		if diff := cmp.Diff(map[string]int64{"a-z1": 0, "a-z2": 2, "a-z3": 0}, b.deployments()); diff != "" {
			t.Error(diff)
		}
		if told := strings.Join(
			b.events(), "\n",
		); !strings.Contains(told, "UnwiseWorkerPools spec.pools[0].maximum: 2 is less than the number of zones, 3") {
			t.Errorf("told %s", told)
		}
	})
	t.Run("without the label", func(t *testing.T) {
		b := newBench(t, Settings{Extent: Everything}, awake()...)
		b.reconcile()
		for _, name := range []string{"a-z1", "a-z2", "a-z3"} {
			b.merge(b.deployment(name), `{"metadata":{"labels":null}}`)
		}
		b.merge(b.worker(),
			`{"spec":{"pools":[{"name":"a","minimum":1,"maximum":2,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
		b.reconcile()
		if got := b.conditions()["PlimsollPoolsApplied"]; got != "True Applied" {
			t.Errorf("the condition is %s", got)
		}
		if got := b.deployment("a-z1").GetLabels()[mcm.PoolLabel]; got != "a" {
			t.Errorf("its pool is %q", got)
		}
	})
}

// TestAPoolWithoutAnAutoscaler: its limits become one number while a zone has nothing.
// What runs, runs on; and a conflict in the middle leaves nothing above the maximum.
func TestAPoolWithoutAnAutoscaler(t *testing.T) {
	of := func(size int) string {
		return fmt.Sprintf(
			`{"spec":{"pools":[{"name":"a","minimum":%d,"maximum":%d,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`, size, size,
		)
	}
	for _, c := range []struct {
		name      string
		size      int
		want, end map[string]int64 // after the conflict with a-z2, and after another look
	}{
		{"as many as there must be", 4, map[string]int64{"a-z1": 0, "a-z2": 2, "a-z3": 2}, map[string]int64{"a-z1": 0, "a-z2": 2, "a-z3": 2}},
		{"too few", 5, map[string]int64{"a-z1": 1, "a-z2": 2, "a-z3": 2}, map[string]int64{"a-z1": 1, "a-z2": 2, "a-z3": 2}},
		{"too many", 3, map[string]int64{"a-z1": 0, "a-z2": 2, "a-z3": 2}, map[string]int64{"a-z1": 0, "a-z2": 1, "a-z3": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: Everything}, awake()...)
			b.reconcile()
			for name, n := range map[string]int{"a-z1": 0, "a-z2": 2, "a-z3": 2} {
				b.merge(b.deployment(name), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
			}
			b.merge(b.worker(), of(c.size))
			writer := b.writer
			b.writer = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
				Patch: func(
					ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
				) error {
					if o.GetName() == "shoot--p--s-a-z2" {
						return apierrors.NewConflict(schema.GroupResource{Group: mcm.GroupName, Resource: mcm.ResourceMachineDeployments},
							"x", errors.New("changed"))
					}
					return w.Patch(ctx, o, p, opts...)
				},
			})
			b.reconcile()
			if diff := cmp.Diff(c.want, b.deployments()); diff != "" {
				t.Errorf("after the conflict: %s", diff)
			}
			b.writer = writer
			b.reconcile()
			if diff := cmp.Diff(c.end, b.deployments()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTwoWritersComeToAnEnd: what another controller undoes each time is not written
// for ever.
func TestTwoWritersComeToAnEnd(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	b.api.Writes = nil
	count := func() int {
		n := 0
		for _, w := range b.api.Writes {
			if w == "patch shoot--p--s-a-z1" {
				n++
			}
		}
		return n
	}
	undo := func() {
		if err := b.live.(client.Client).Patch(t.Context(), b.deployment("a-z1"),
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"minReadySeconds":7}}`))); err != nil {
			t.Fatal(err)
		}
		b.api.Writes = b.api.Writes[:len(b.api.Writes)-1] // not this controller's
	}
	var wait time.Duration
	for range 10 {
		undo()
		wait = b.reconcile().RequeueAfter
		b.time = b.time.Add(time.Minute)
	}
	if n := count(); n != undoneTimes {
		t.Errorf("it wrote %d times", n)
	}
	if wait <= 0 || wait > undoneIn {
		t.Errorf("it looks again in %v", wait)
	}
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "False MachineDeploymentHasOtherWriter" {
		t.Errorf("the condition is %s", got)
	}
	if told := strings.Join(b.events(), "\n"); strings.Count(told, "MachineDeploymentHasOtherWriter") != 1 {
		t.Errorf("told %s", told)
	}
	// Something else to write is written at once.
	b.merge(b.worker(),
		`{"spec":{"pools":[{"name":"a","minimum":3,"maximum":9,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
	b.reconcile()
	if got := b.deployment("a-z1").GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "9" {
		t.Errorf("the maximum is %s", got)
	}
}

// TestReconcileErrors: after a lost race the objects are read again before any more replicas are
// written, since the pool has been counted wrongly; it is no error. A refused write is an error and
// an event, and stops no other machine deployment.
func TestReconcileErrors(t *testing.T) {
	resource := schema.GroupResource{Group: mcm.GroupName, Resource: mcm.ResourceMachineDeployments}
	tests := []struct {
		name   string
		err    error
		again  time.Duration
		fails  bool
		event  string
		status string
		others map[string]int64
	}{
		{"conflict", apierrors.NewConflict(resource, "x", errors.New("changed")), host.AfterConflict, false, "", "", map[string]int64{}},
		{"there already", apierrors.NewAlreadyExists(resource, "x"), host.AfterConflict, false, "", "", map[string]int64{}},
		{"forbidden", apierrors.NewForbidden(resource, "x", errors.New("no right")), 0, true,
			"MachineDeploymentNotWritten create machine deployment shoot--p--s/shoot--p--s-a-z1",
			"False MachineDeploymentNotWritten", map[string]int64{"a-z2": 1, "a-z3": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: Everything}, awake()...)
			b.writer = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if o.GetName() == "shoot--p--s-a-z1" {
						return tt.err
					}
					return c.Create(ctx, o, opts...)
				},
			})
			result, err := b.Reconcile(t.Context(), request)
			if result.RequeueAfter != tt.again || (err != nil) != tt.fails {
				t.Errorf("got %v, %v", result, err)
			}
			if told := strings.Join(b.events(), "\n"); !strings.Contains(told, tt.event) {
				t.Errorf("told %q", told)
			}
			if got := b.conditions()["PlimsollPoolsApplied"]; got != tt.status {
				t.Errorf("the condition is %q", got)
			}
			if diff := cmp.Diff(tt.others, b.deployments()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// lag makes the watch show what there is now, whatever comes.
func (b *bench) lag() {
	b.t.Helper()
	worker := b.worker()
	var deployments unstructured.UnstructuredList
	deployments.SetGroupVersionKind(deploymentKind)
	if err := b.live.List(b.t.Context(), &deployments); err != nil {
		b.t.Fatal(err)
	}
	b.reconciler.reader = interceptor.NewClient(b.live.(client.WithWatch), interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
		) error {
			if u, ok := o.(*unstructured.Unstructured); ok && u.GetKind() == workerKind.Kind {
				worker.DeepCopyInto(u)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if u, ok := l.(*unstructured.UnstructuredList); ok && strings.HasPrefix(u.GetKind(), deploymentKind.Kind) {
				deployments.DeepCopyInto(u)
				return nil
			}
			return c.List(ctx, l, opts...)
		},
	})
}

// TestRoomIsCountedOnWhatIs: the watch has not shown yet that the autoscaler has
// filled the pool, and a new zone begins with nothing all the same.
func TestRoomIsCountedOnWhatIs(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	if err := b.writer.Delete(t.Context(), b.deployment("a-z3")); err != nil {
		t.Fatal(err)
	}
	b.lag()
	b.merge(b.deployment("a-z1"), `{"spec":{"replicas":3}}`)
	b.reconcile()
	if diff := cmp.Diff(map[string]int64{"a-z1": 3, "a-z2": 1, "a-z3": 0}, b.deployments()); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsWrittenOnWhatIsOver: what has changed since the watch showed it is
// looked at again before it is written.
func TestNothingIsWrittenOnWhatIsOver(t *testing.T) {
	t.Run("a machine deployment", func(t *testing.T) {
		b := newBench(t, Settings{Extent: Everything}, awake()...)
		b.reconcile()
		b.merge(b.worker(),
			`{"spec":{"pools":[{"name":"a","minimum":3,"maximum":9,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
		b.lag()
		b.merge(b.deployment("a-z1"), `{"metadata":{"annotations":{"autoscaler.plimsoll.dev/pool-maximum":"8"}}}`)
		if again := b.reconcile().RequeueAfter; again != host.AfterConflict {
			t.Errorf("it looks again in %v", again)
		}
		for name, want := range map[string]string{"a-z1": "8", "a-z2": "9"} {
			if got := b.deployment(name).GetAnnotations()[mcm.PoolMaximumAnnotation]; got != want {
				t.Errorf("%s has the maximum %s, want %s", name, got, want)
			}
		}
		if told := strings.Join(b.events(), "\n"); strings.Contains(told, "Warning") {
			t.Errorf("told %s", told)
		}
	})
	t.Run("a Worker's status", func(t *testing.T) {
		b := newBench(t, Settings{Extent: StatusOnly}, awake()...)
		b.lag()
		version := b.worker().GetResourceVersion()
		b.writer = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
			SubResourcePatch: func(
				_ context.Context, _ client.Client, _ string, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption,
			) error {
				raw, err := p.Data(o) // the in-memory client does not compare versions of a status
				if err != nil || !strings.Contains(string(raw), fmt.Sprintf(`"resourceVersion":%q`, version)) {
					t.Errorf("the patch does not expect version %s: %s, %v", version, raw, err)
				}
				return apierrors.NewConflict(schema.GroupResource{Group: workerKind.Group, Resource: "workers"}, "s",
					errors.New("changed"))
			},
		})
		if again := b.reconcile().RequeueAfter; again != host.AfterConflict {
			t.Errorf("it looks again in %v", again)
		}
	})
}
