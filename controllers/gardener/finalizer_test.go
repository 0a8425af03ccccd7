package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// gone reports whether the Worker is.
func (b *bench) gone() bool {
	b.t.Helper()
	err := b.live.Get(b.t.Context(), request.NamespacedName, object(workerKind))
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	return err != nil
}

func (b *bench) deleteWorker() {
	b.t.Helper()
	if err := b.writer.Delete(b.t.Context(), b.worker()); err != nil {
		b.t.Fatal(err)
	}
}

// others is the finalizer of Gardener's own worker controller.
const others = "extensions.gardener.cloud/worker"

func (b *bench) finalizers(names ...string) {
	b.t.Helper()
	raw, err := json.Marshal(names)
	if err != nil {
		b.t.Fatal(err)
	}
	b.merge(b.worker(), fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, raw))
}

// TestADeletedWorker takes its machine deployments along if they are this
// controller's to delete, and stays as long as one of them is there. What was made
// with Everything may be deleted with less: then the Worker waits and says for what.
// While its shoot moves, machines live on.
func TestADeletedWorker(t *testing.T) {
	const (
		migrate = `{"metadata":{"annotations":{"gardener.cloud/operation":"migrate"}}}`
		restore = `{"metadata":{"annotations":{"gardener.cloud/operation":"restore"}}}`
		moved   = `{"status":{"lastOperation":{"type":"Migrate","state":"Succeeded"}}}`
		ignored = `{"spec":{"shoot":{"metadata":{"annotations":{"shoot.gardener.cloud/ignore":"true"}}}}}`
	)
	all := map[string]int64{"a-z1": 1, "a-z2": 1, "a-z3": 1}
	none := map[string]int64{}
	tests := []struct {
		name    string
		extent  Extent // when it is deleted
		worker  string // a patch
		cluster string // a patch
		left    map[string]int64
		gone    bool
		event   string
		after   bool // it is gone after another client has deleted the machine deployments
	}{
		{"everything", Everything, "", "", none, true, "", true},
		{"everything, and the Cluster is gone before", Everything, "", "delete", none, true, "", true},
		{"everything, moving away", Everything, migrate, "", all, true, "", true},
		{"everything, moved away", Everything, moved, "", all, true, "", true},
		{"everything, moving in", Everything, restore, "", all, false,
			"Warning WorkerHeld the shoot moves to another seed (gardener.cloud/operation: restore): its machine deployments " +
				"are left alone; they are deleted, and the Worker with them, once the annotation is gone", true},
		{"everything, moving in, and the Cluster is gone before", Everything, restore, "delete", all, false, "Warning WorkerHeld the shoot moves to another seed", true},
		{"everything, ignored", Everything, "", ignored, all, false, "Warning WorkerHeld the shoot is ignored", false},
		{"limits only", LimitsOnly, "", "", all, false, "Warning WorkerHeld the Worker is held until its machine deployments are gone: with --limits-only", true},
		{"limits only, moving away", LimitsOnly, migrate, "", all, true, "", true},
		{"limits only, moving in", LimitsOnly, restore, "", all, false, "Warning WorkerHeld the Worker is held until its machine deployments are gone: with --limits-only", true},
		{"status only", StatusOnly, "", "", all, false, "Warning WorkerHeld the Worker keeps its finalizer autoscaler.plimsoll.dev/worker-pools, set when", false},
		{"status only, moving away", StatusOnly, migrate, "", all, false, "Warning WorkerHeld the Worker keeps its finalizer autoscaler.plimsoll.dev/worker-pools and with it holds up the move of its shoot", false},
		{"status only, moving in", StatusOnly, restore, "", all, false, "Warning WorkerHeld the Worker keeps its finalizer autoscaler.plimsoll.dev/worker-pools, set when", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: Everything}, awake()...)
			b.reconcile()
			if tt.worker != "" {
				b.merge(b.worker(), tt.worker)
				if err := b.writer.Status().Patch(
					t.Context(), b.worker(), client.RawPatch(types.MergePatchType, []byte(tt.worker)),
				); err != nil {
					t.Fatal(err)
				}
			}
			switch cluster := parse(t, fmt.Sprintf(oneCluster, "", false)); tt.cluster {
			case "":
			case "delete":
				if err := b.writer.Delete(t.Context(), cluster); err != nil {
					t.Fatal(err)
				}
			default:
				b.merge(cluster, tt.cluster)
			}
			b.deleteWorker()
			b.events()
			b.settings.Extent = tt.extent
			b.api.Writes = nil
			b.reconcile()
			b.reconcile()
			if diff := cmp.Diff(tt.left, b.deployments()); diff != "" {
				t.Error(diff)
			}
			if b.gone() != tt.gone {
				t.Fatalf("the Worker is gone: %v", b.gone())
			}
			told := strings.Join(b.events(), "\n")
			if tt.event == "" && strings.Contains(told, "Warning") || strings.Count(told, tt.event) != 1 && tt.event != "" {
				t.Errorf("told %q", told)
			}
			if !tt.gone {
				if got := b.conditions()["PlimsollPoolsApplied"]; got != "False WorkerHeld" {
					t.Errorf("the condition is %s", got)
				}
				if diff := cmp.Diff([]string{"status"}, b.api.Writes); diff != "" {
					t.Errorf("writes: %s", diff)
				}
			}
			// Another client deletes the machine deployments, as the controller in charge of them must.
			for name := range tt.left {
				if err := b.writer.Delete(t.Context(), b.deployment(name)); err != nil {
					t.Fatal(err)
				}
			}
			b.reconcile() // maybe of one that is not there
			if b.gone() != tt.after {
				t.Errorf("nothing of it is left, and the Worker is gone: %v", b.gone())
			}
		})
	}
}

// TestADeletedWorkerThatIsNotHeld may be gone at any moment: that its machine
// deployments stay behind is reported, but for those that are to stay or are not this
// controller's to delete.
func TestADeletedWorkerThatIsNotHeld(t *testing.T) {
	const warning = "Warning WorkerNotHeld the Worker is deleted without the finalizer " +
		"autoscaler.plimsoll.dev/worker-pools, so that shoot--p--s-a-z1, shoot--p--s-a-z2, shoot--p--s-a-z3 stay behind"
	tests := []struct {
		name      string
		extent    Extent
		operation string
		emptied   bool
		told      int
	}{
		{"everything", Everything, "", false, 1},
		{"everything, nothing left", Everything, "", true, 0},
		{"everything, moving away", Everything, "migrate", false, 0},
		{"limits only", LimitsOnly, "", false, 0},
		{"status only", StatusOnly, "", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: Everything}, awake()...)
			b.reconcile()
			b.finalizers(others)
			b.merge(b.worker(), fmt.Sprintf(`{"metadata":{"annotations":{"gardener.cloud/operation":%q}}}`, tt.operation))
			b.deleteWorker()
			before := b.deployments()
			if tt.emptied {
				for name := range before {
					if err := b.writer.Delete(t.Context(), b.deployment(name)); err != nil {
						t.Fatal(err)
					}
				}
				before = map[string]int64{}
			}
			b.events()
			b.settings.Extent = tt.extent
			b.reconcile()
			b.reconcile()
			told := strings.Join(b.events(), "\n")
			if strings.Count(told, warning) != tt.told || strings.Count(told, "Warning") != tt.told {
				t.Errorf("told %q", told)
			}
			want := "True Applied"
			if tt.told > 0 {
				want = "False WorkerNotHeld"
			}
			if got := b.conditions()["PlimsollPoolsApplied"]; got != want {
				t.Errorf("the condition is %s", got)
			}
			if diff := cmp.Diff(before, b.deployments()); diff != "" {
				t.Errorf("machine deployments of a Worker that was let go have changed: %s", diff)
			}
		})
	}
}

// TestHoldIsRefused: nothing is made for a Worker that cannot be held, and it says so.
func TestHoldIsRefused(t *testing.T) {
	workers := schema.GroupResource{Group: workerKind.Group, Resource: "workers"}
	tests := []struct {
		name    string
		err     error
		fails   bool
		event   string
		applied string
	}{
		{"forbidden", apierrors.NewForbidden(workers, "s", errors.New("no right")), true,
			"Warning MachineDeploymentNotWritten patch the finalizers of Worker shoot--p--s/s (the controller needs the right " +
				"to patch workers)", "False MachineDeploymentNotWritten"},
		{"conflict", apierrors.NewConflict(workers, "s", errors.New("changed")), false, "", "True Applied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: LimitsOnly}, awake()...)
			b.reconcile()
			b.settings.Extent = Everything
			b.reconcile() // makes them, for the condition to be True
			b.finalizers()
			b.merge(b.worker(),
				`{"spec":{"pools":[{"name":"a","minimum":3,"maximum":9,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
			b.refuse(tt.err)
			b.events()
			if _, err := b.Reconcile(t.Context(), request); (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
			told := strings.Join(b.events(), "\n")
			if !strings.Contains(told, tt.event) || tt.event == "" && told != "" {
				t.Errorf("told %q", told)
			}
			if got := b.conditions()["PlimsollPoolsApplied"]; got != tt.applied {
				t.Errorf("the condition is %s", got)
			}
			if got := b.deployment("a-z3").GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "4" {
				t.Errorf("the pool's maximum was written: %q", got)
			}
		})
	}
}

// refuse makes patches of Workers fail, but not those of their status.
func (b *bench) refuse(answer error) {
	b.writer = interceptor.NewClient(b.api.WithWatch, interceptor.Funcs{
		Patch: func(
			ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			if o.GetObjectKind().GroupVersionKind() == workerKind {
				return answer
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
}

// TestSwitchingToLimitsOnly hands the machine deployments over: this controller removes its
// finalizer from the Worker as soon as another controller has added one, since the Worker's
// deletion must wait for the controller that deletes them. They keep all that they have, except
// what only this controller would remove later.
func TestSwitchingToLimitsOnly(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	cluster := parse(t, fmt.Sprintf(oneCluster, "", true))
	hibernate := func(yes bool) {
		b.merge(cluster, fmt.Sprintf(`{"spec":{"shoot":{"spec":{"hibernation":{"enabled":%v}}}}}`, yes))
	}
	hibernate(true)
	b.reconcile()
	hibernated := func() string { return b.deployment("a-z1").GetAnnotations()[pools.HibernatedAnnotation] }
	if hibernated() != "true" {
		t.Fatal("it is not marked as hibernated")
	}
	b.settings.Extent = LimitsOnly
	b.events()
	b.reconcile()
	b.reconcile()
	if diff := cmp.Diff([]string{finalizer}, b.worker().GetFinalizers()); diff != "" {
		t.Errorf("deleted now, the Worker would vanish and its machines run on: %s", diff)
	}
	if told := strings.Join(b.events(), "\n"); strings.Count(
		told, "Warning WorkerHeld the Worker keeps its finalizer "+finalizer+", the only one: if the Worker were deleted",
	) != 1 {
		t.Errorf("told %q", told)
	}
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "False WorkerHeld" {
		t.Errorf("the condition is %s", got)
	}
	b.finalizers(finalizer, others) // Gardener's own worker controller starts
	b.reconcile()
	if diff := cmp.Diff([]string{others}, b.worker().GetFinalizers()); diff != "" {
		t.Error(diff)
	}
	if told := strings.Join(b.events(), "\n"); strings.Contains(told, "WorkerHeld") {
		t.Errorf("told %q", told)
	}
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "True Applied" {
		t.Errorf("the condition is %s", got)
	}
	if hibernated() != "true" {
		t.Error("while the shoot is hibernated, the autoscaler must leave it alone")
	}
	hibernate(false)
	b.reconcile()
	if hibernated() != "" {
		t.Error("the shoot is awake, and the autoscaler would hold the group for ever")
	}
	if got := b.deployment("a-z1").GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "4" {
		t.Errorf("the pool's maximum is %q", got)
	}
	b.api.Writes = nil
	b.reconcile()
	if len(b.api.Writes) > 0 {
		t.Errorf("a second look wrote %v", b.api.Writes)
	}
	b.deleteWorker()
	b.reconcile()
	if diff := cmp.Diff(map[string]int64{"a-z1": 0, "a-z2": 0, "a-z3": 0}, b.deployments()); diff != "" {
		t.Errorf("what is Gardener's to delete: %s", diff)
	}
	b.finalizers() // Gardener has done that
	if !b.gone() {
		t.Error("the Worker is still held")
	}
}

// TestSwitchingBack takes them over again.
func TestSwitchingBack(t *testing.T) {
	b := newBench(t, Settings{Extent: LimitsOnly}, awake()...)
	b.reconcile()
	if got := b.worker().GetFinalizers(); len(got) > 0 {
		t.Errorf("with --limits-only the Worker is held by %v", got)
	}
	b.settings.Extent = Everything
	b.reconcile()
	if diff := cmp.Diff([]string{finalizer}, b.worker().GetFinalizers()); diff != "" {
		t.Error(diff)
	}
}

// TestReleaseWithoutTheRight: with --limits-only the right to patch Workers may be
// missing. The limits are written all the same, and the error says what is missing.
func TestReleaseWithoutTheRight(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	b.merge(b.worker(),
		`{"spec":{"pools":[{"name":"a","minimum":3,"maximum":9,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
	b.finalizers(finalizer, others)
	b.settings.Extent = LimitsOnly
	b.refuse(apierrors.NewForbidden(schema.GroupResource{Group: workerKind.Group, Resource: "workers"}, "s",
		errors.New("no right")))
	if _, err := b.Reconcile(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "needs the right to patch workers") {
		t.Errorf("got %v", err)
	}
	if got := b.deployment("a-z3").GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "9" {
		t.Errorf("the pool's maximum is %q", got)
	}
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "True Applied" {
		t.Errorf("the condition is %s", got)
	}
}
