package gardener

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// gone says whether the Worker is.
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

// TestADeletedWorker takes its machine deployments along if they are this
// controller's to delete, and stays as long as one of them is there. What was made
// with Everything may be deleted with less: then the Worker waits and says for what.
// While its shoot moves, machines live on.
func TestADeletedWorker(t *testing.T) {
	const migrate = `{"metadata":{"annotations":{"gardener.cloud/operation":"migrate"}}}`
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
	}{
		{"everything", Everything, "", "", none, true, ""},
		{"everything, and the Cluster is gone before", Everything, "", "delete", none, true, ""},
		{"everything, moving", Everything, migrate, "", all, true, ""},
		{"everything, ignored", Everything, "", `{"spec":{"shoot":{"metadata":{"annotations":{"shoot.gardener.cloud/ignore":"true"}}}}}`, all, false, "Warning WorkerHeld the shoot is ignored"},
		{"limits only", LimitsOnly, "", "", all, false, "Warning WorkerHeld the Worker is held until its machine deployments are gone: with --limits-only"},
		{"limits only, moving", LimitsOnly, migrate, "", all, true, ""},
		{"status only", StatusOnly, "", "", all, false, "Warning WorkerHeld the Worker keeps its finalizer autoscaler.plimsoll.dev/worker-pools"},
		{"status only, moving", StatusOnly, migrate, "", all, false, "Warning WorkerHeld the Worker keeps its finalizer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{Extent: Everything}, awake()...)
			b.reconcile()
			if tt.worker != "" {
				b.merge(b.worker(), tt.worker)
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
				t.Errorf("the Worker is gone: %v", b.gone())
			}
			told := strings.Join(b.events(), "\n")
			if tt.event == "" && strings.Contains(told, "Warning") || strings.Count(told, tt.event) != 1 && tt.event != "" {
				t.Errorf("told %q", told)
			}
			if tt.gone {
				b.reconcile() // of one that is not there
				return
			}
			if got := b.conditions()["PlimsollPoolsApplied"]; got != "False WorkerHeld" {
				t.Errorf("the condition is %s", got)
			}
			if diff := cmp.Diff([]string{"status"}, b.api.Writes); diff != "" {
				t.Errorf("writes: %s", diff)
			}
			// Somebody else deletes the machine deployments, as whoever is at work then must.
			for name := range all {
				if err := b.writer.Delete(t.Context(), b.deployment(name)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.name == "limits only" {
				b.reconcile()
				if !b.gone() {
					t.Error("the Worker is held though nothing of it is left")
				}
			}
		})
	}
}

// TestSwitchingToLimitsOnly hands the machine deployments over: this controller no
// longer holds the Worker, whose deletion waits for whoever deletes them; they keep
// all that they have, but for what only this controller would take away again.
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
	b.reconcile()
	if got := b.worker().GetFinalizers(); len(got) > 0 {
		t.Errorf("the Worker is held by %v", got)
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
	if diff := cmp.Diff(map[string]int64{"a-z1": 0, "a-z2": 0, "a-z3": 0}, b.deployments()); diff != "" || !b.gone() {
		t.Errorf("gone: %v; what is Gardener's to delete: %s", b.gone(), diff)
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
	if diff := cmp.Diff([]string{Finalizer}, b.worker().GetFinalizers()); diff != "" {
		t.Error(diff)
	}
}

// TestReleaseWithoutTheRight: with --limits-only the right to patch Workers may be
// missing. The limits are written all the same, and the error says what is missing.
func TestReleaseWithoutTheRight(t *testing.T) {
	b := newBench(t, Settings{Extent: Everything}, awake()...)
	b.reconcile()
	b.merge(b.worker(), `{"spec":{"pools":[{"name":"a","minimum":3,"maximum":9,"maxSurge":3,"maxUnavailable":0,"zones":["za","zb","zc"]}]}}`)
	b.settings.Extent = LimitsOnly
	b.writer = interceptor.NewClient(b.api.WithWatch, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetObjectKind().GroupVersionKind() == workerKind {
				return apierrors.NewForbidden(schema.GroupResource{Group: workerKind.Group, Resource: "workers"}, "s", errors.New("no right"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	if _, err := b.Reconcile(t.Context(), request); err == nil || !strings.Contains(err.Error(), "needs the right to patch workers") {
		t.Errorf("got %v", err)
	}
	if got := b.deployment("a-z3").GetAnnotations()[mcm.PoolMaximumAnnotation]; got != "9" {
		t.Errorf("the pool's maximum is %q", got)
	}
	if got := b.conditions()["PlimsollPoolsApplied"]; got != "True Applied" {
		t.Errorf("the condition is %s", got)
	}
}
