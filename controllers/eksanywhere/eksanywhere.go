package eksanywhere

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// DefaultNamespace is where EKS Anywhere keeps machine deployments.
const DefaultNamespace = "eksa-system"

// Name is the controller's name in logs, metrics and events.
const Name = "plimsoll-eks-anywhere"

var (
	clusterKind = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}
	mdKind      = schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "MachineDeployment"}
)

// Settings say what the controller does.
type Settings struct {
	// Namespace is that of the machine deployments. Empty: DefaultNamespace.
	Namespace string
	// StatusOnly keeps it from writing to machine deployments: conditions, events and
	// metrics only.
	StatusOnly bool
}

func (s Settings) namespace() string {
	if s.Namespace == "" {
		return DefaultNamespace
	}
	return s.Namespace
}

// Add adds the controller to a manager, whose cache must reach Clusters in all
// namespaces and machine deployments in that of the settings, and must keep their
// managedFields. Its metrics go to registerer.
//
// It asks the API server which version of machine deployments is served, once:
// when that version goes, the controller must be started again.
func Add(mgr manager.Manager, settings Settings, registerer prometheus.Registerer) error {
	kind, err := servedKind(mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	r := &reconciler{
		settings: settings,
		kind:     kind,
		reader:   mgr.GetCache(), // a manager's client reads unstructured objects past its cache
		live:     mgr.GetAPIReader(),
		writer:   mgr.GetClient(),
		recorder: mgr.GetEventRecorder(Name),
		metrics:  metrics,
		memory:   newMemory(),
	}
	err = builder.ControllerManagedBy(mgr).
		Named(Name).
		For(object(clusterKind)).
		Watches(object(r.kind), handler.EnqueueRequestsFromMapFunc(r.clustersOf)).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}). // a host may end one and begin another
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller of EKS Anywhere's workers: %w", err)
	}
	return nil
}

// servedKind is that of machine deployments in the version to use.
func servedKind(mapper meta.RESTMapper) (schema.GroupVersionKind, error) {
	if _, err := mapper.RESTMapping(clusterKind.GroupKind(), clusterKind.Version); err != nil {
		return schema.GroupVersionKind{},
			fmt.Errorf("look for EKS Anywhere's Clusters (this must be a management cluster of EKS Anywhere): %w", err)
	}
	mapping, err := mapper.RESTMapping(mdKind, workers.V1Beta2, workers.V1Beta1)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("look for Cluster API's MachineDeployments in %s or %s (is Cluster API "+
			"installed here?): %w", workers.V1Beta2, workers.V1Beta1, err)
	}
	return mapping.GroupVersionKind, nil
}

// clustersOf are the Clusters that a machine deployment may belong to: those of
// its cluster's name, in whatever namespace.
func (r *reconciler) clustersOf(ctx context.Context, md client.Object) []reconcile.Request {
	u, ok := md.(*unstructured.Unstructured)
	if !ok || u.GetNamespace() != r.settings.namespace() {
		return nil
	}
	clusters, err := r.clustersNamed(ctx, workers.ClusterOf(u.Object))
	if err != nil {
		return nil // only before the cache is filled; then all Clusters are looked at anyway
	}
	var requests []reconcile.Request
	for _, c := range clusters {
		requests = append(requests,
			reconcile.Request{NamespacedName: types.NamespacedName{Namespace: c.GetNamespace(), Name: c.GetName()}})
	}
	return requests
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}
