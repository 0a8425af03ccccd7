package gardener

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// Name is the controller's name in logs, metrics and events, and as the manager of
// the fields that it writes.
const Name = "plimsoll-gardener"

// finalizer keeps a Worker until its machine deployments are gone.
const finalizer = "autoscaler.plimsoll.dev/worker-pools"

var (
	workerKind     = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.WorkerKind}
	clusterKind    = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.ClusterKind}
	deploymentKind = mcm.GroupVersion.WithKind(mcm.KindMachineDeployment)
	classKind      = mcm.GroupVersion.WithKind(mcm.KindMachineClass)
)

// Extent is how much the controller does.
type Extent string

const (
	// Everything: machine deployments are made, patched and deleted. No other controller may do that for the same Workers.
	Everything Extent = "everything"
	// LimitsOnly is for a seed where Gardener's own worker controller makes the machine
	// deployments: it writes the limits of their pool and the sizing on them.
	LimitsOnly Extent = "limits-only"
	// StatusOnly writes conditions, events and metrics, and no machine deployment.
	StatusOnly Extent = "status-only"
)

// Settings say what the controller does.
type Settings struct {
	Extent Extent
	// Namespace is that of the one shoot to manage. Empty: all.
	Namespace string
	// Types are the types of Workers to manage, such as aws. Empty: all.
	Types []string
}

func (s Settings) lookAfter(worker v1alpha1.Worker) bool {
	return len(s.Types) == 0 || slices.Contains(s.Types, worker.Spec.Type)
}

// Add adds the controller to a manager, whose cache must reach Workers,
// MachineDeployments and MachineClasses in the namespaces of the settings, and
// Clusters. Its metrics go to registerer.
func Add(mgr manager.Manager, settings Settings, registerer prometheus.Registerer) error {
	metrics, err := newMetrics(registerer)
	if err != nil {
		return err
	}
	r := &reconciler{
		settings: settings,
		reader:   mgr.GetCache(), // a manager's client reads unstructured objects past its cache
		live:     mgr.GetAPIReader(),
		writer:   mgr.GetClient(),
		recorder: mgr.GetEventRecorder(Name),
		metrics:  metrics,
		memory:   newMemory(),
	}
	err = builder.ControllerManagedBy(mgr).
		Named(Name).
		For(object(workerKind)).
		Watches(object(clusterKind),
			handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
				return r.workersIn(ctx, o.GetName()) // a Cluster is called like its namespace
			})).
		Watches(object(deploymentKind), handler.EnqueueRequestsFromMapFunc(r.workersBeside)).
		Watches(classObject(), handler.EnqueueRequestsFromMapFunc(r.workersBeside)).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}). // a host may end one and begin another
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller of Gardener's worker pools: %w", err)
	}
	return nil
}

func (r *reconciler) workersBeside(ctx context.Context, o client.Object) []reconcile.Request {
	return r.workersIn(ctx, o.GetNamespace())
}

// workersIn are the Workers of a namespace: usually one.
func (r *reconciler) workersIn(ctx context.Context, namespace string) []reconcile.Request {
	if r.settings.Namespace != "" && namespace != r.settings.Namespace {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workerKind)
	if err := r.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil // only before the cache is filled; then all Workers are looked at anyway
	}
	var requests []reconcile.Request
	for _, w := range list.Items {
		requests = append(requests,
			reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}})
	}
	return requests
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// classObject is a MachineClass without its content, which names secrets and is not needed here.
func classObject() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(classKind)
	return m
}
