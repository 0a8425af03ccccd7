package eksanywhere

import (
	"context"
	"slices"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/controllers/host/hosttest"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "c1"}}

// bench is a reconciler with everything around it.
type bench struct {
	*reconciler
	t        *testing.T
	api      *hosttest.Client
	recorder *hosttest.Recorder
	registry *prometheus.Registry
}

func newBench(t *testing.T, settings Settings, objects ...string) *bench {
	t.Helper()
	b := &bench{t: t, recorder: &hosttest.Recorder{}, registry: prometheus.NewRegistry()}
	kind := schema.GroupVersionKind{Group: mdKind.Group, Version: "v1beta2", Kind: mdKind.Kind}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(clusterKind, meta.RESTScopeNamespace)
	mapper.Add(kind, meta.RESTScopeNamespace)
	mapper.Add(clusterKind.GroupVersion().WithKind("NutanixDatacenterConfig"), meta.RESTScopeNamespace)
	builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithReturnManagedFields().
		WithStatusSubresource(object(clusterKind))
	api, err := hosttest.NewClient(builder, objects...)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := newMetrics(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	b.api = api
	b.reconciler = &reconciler{
		settings: settings, kind: kind, reader: api, live: api, writer: api, recorder: b.recorder, metrics: metrics,
		memory: newMemory(),
		clock:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
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

func (b *bench) get(u *unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	b.t.Helper()
	if err := b.live.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		b.t.Fatal(err)
	}
	return u
}

func (b *bench) events() []string { return hosttest.Texts(b.recorder.Take()) }

// metric is the values of a metric's series that have all these label values.
func (b *bench) metric(name string, labels ...string) []float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	var values []float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var has []string
			for _, pair := range m.GetLabel() {
				has = append(has, pair.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
				values = append(values, m.GetGauge().GetValue()+m.GetCounter().GetValue())
			}
		}
	}
	return values
}

// writeConditionsAs replaces the whole list in another manager's name. The in-memory
// client does not note who writes a status, so that is added where it is read: a list
// that is owned as a whole has one owner, the last.
func (b *bench) writeConditionsAs(manager string, edit func([]any) []any) {
	b.t.Helper()
	cluster := b.get(object(clusterKind), "default", "c1")
	if err := unstructured.SetNestedSlice(cluster.Object, edit(b.conditions()), "status", "conditions"); err != nil {
		b.t.Fatal(err)
	}
	if err := b.writer.Status().Update(b.t.Context(), cluster); err != nil {
		b.t.Fatal(err)
	}
	owner := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: cluster.GetAPIVersion(),
		FieldsType: "FieldsV1", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`),
	}
	b.reader = interceptor.NewClient(b.writer.(client.WithWatch), interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
		) error {
			err := c.Get(ctx, key, o, opts...)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{owner})
			return err
		},
	})
}

func (b *bench) conditions() []any {
	list, _, _ := unstructured.NestedSlice(b.get(object(clusterKind), "default", "c1").Object, "status", "conditions")
	return list
}
