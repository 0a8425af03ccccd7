package gardener

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/controllers/host/hosttest"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const namespace = "shoot--p--s"

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "s"}}

// bench is a reconciler with everything around it.
type bench struct {
	*reconciler
	t        *testing.T
	api      *hosttest.Client
	recorder *hosttest.Recorder
	time     time.Time
}

func newBench(t *testing.T, settings Settings, objects ...string) *bench {
	t.Helper()
	b := &bench{t: t, recorder: &hosttest.Recorder{}, time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{workerKind, deploymentKind, classKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mapper.Add(clusterKind, meta.RESTScopeRoot)
	scheme := runtime.NewScheme()
	// to be listed by their metadata alone
	scheme.AddKnownTypes(mcm.GroupVersion, &mcm.MachineClass{}, &mcm.MachineClassList{})
	metav1.AddToGroupVersion(scheme, mcm.GroupVersion)
	api, err := hosttest.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).
		WithStatusSubresource(object(workerKind)), objects...)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	b.api = api
	b.reconciler = &reconciler{
		settings: settings, reader: api, live: api, writer: api, recorder: b.recorder, metrics: metrics, memory: newMemory(),
		clock: func() time.Time { return b.time },
	}
	t.Cleanup(func() {
		if slices.ContainsFunc(api.Writes, func(w string) bool { return strings.HasPrefix(w, "update") }) {
			t.Error("an update writes an object as a whole, and drops what is not known of it")
		}
	})
	return b
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u, err := hosttest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (b *bench) reconcile() reconcile.Result {
	b.t.Helper()
	result, err := b.Reconcile(b.t.Context(), request)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func (b *bench) worker() *unstructured.Unstructured {
	b.t.Helper()
	return b.get(object(workerKind), "s")
}

func (b *bench) deployment(name string) *unstructured.Unstructured {
	b.t.Helper()
	return b.get(object(deploymentKind), namespace+"-"+name)
}

func (b *bench) get(u *unstructured.Unstructured, name string) *unstructured.Unstructured {
	b.t.Helper()
	if err := b.live.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		b.t.Fatal(err)
	}
	return u
}

// deployments are the names of all machine deployments with their replicas.
func (b *bench) deployments() map[string]int64 {
	b.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(deploymentKind)
	if err := b.live.List(b.t.Context(), list); err != nil {
		b.t.Fatal(err)
	}
	all := map[string]int64{}
	for _, u := range list.Items {
		n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		all[strings.TrimPrefix(u.GetName(), namespace+"-")] = n
	}
	return all
}

// merge patches an object as another client.
func (b *bench) merge(u *unstructured.Unstructured, patch string) {
	b.t.Helper()
	if err := b.writer.Patch(
		b.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("another-client"),
	); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) events() []string { return hosttest.Texts(b.recorder.Take()) }

// conditions are the Worker's, as "type status reason".
func (b *bench) conditions() map[string]string {
	b.t.Helper()
	list, _, _ := unstructured.NestedSlice(b.worker().Object, "status", "conditions")
	all := map[string]string{}
	for _, item := range list {
		c := item.(map[string]any)
		all[c["type"].(string)] = strings.TrimSpace(c["status"].(string) + " " + c["reason"].(string))
	}
	return all
}
