package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// reconnect is how soon a cluster is asked again that has no connection yet. The
// connection's own event comes sooner, as a rule.
const reconnect = 5 * time.Second

// machines makes a node of every KwokMachine that belongs to a Machine.
type machines struct {
	client   client.Client
	clusters clustercache.ClusterCache
}

func (r *machines) setUp(mgr ctrl.Manager, options controller.Options) error {
	ofCluster, err := util.ClusterToTypedObjectsMapper(r.client, &kwokapi.KwokMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map clusters to their KwokMachines: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("kwokmachine").
		WithOptions(options).
		For(&kwokapi.KwokMachine{}).
		// A cluster that is paused no more.
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.clusters.GetClusterSource("kwokmachine", ofCluster)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of KwokMachines: %w", err)
	}
	return nil
}

// Reconcile brings one machine a step on.
func (r *machines) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	machine := &kwokapi.KwokMachine{}
	if err := r.client.Get(ctx, request.NamespacedName, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name, known := machine.Labels[clusterv1.ClusterNameLabel]
	if !known {
		return ctrl.Result{}, nil // Cluster API labels it when a Machine takes it
	}
	cluster := &clusterv1.Cluster{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, cluster)
	if apierrors.IsNotFound(err) && !machine.DeletionTimestamp.IsZero() {
		// Without the cluster it is unknown where its node was.
		return ctrl.Result{}, r.release(ctx, machine)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get the cluster of %s: %w", client.ObjectKeyFromObject(machine), err)
	}
	isPaused, again, err := paused.EnsurePausedCondition(ctx, r.client, cluster, machine)
	if err != nil || isPaused || again {
		return ctrl.Result{}, err // a condition that was written is an event of its own
	}
	if !machine.DeletionTimestamp.IsZero() {
		return r.end(ctx, machine, cluster)
	}
	owner, err := util.GetOwnerMachine(ctx, r.client, machine.ObjectMeta)
	if err != nil || owner == nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if added, err := finalizers.EnsureFinalizer(ctx, r.client, machine, kwokapi.MachineFinalizer); err != nil || added {
		return ctrl.Result{}, err
	}
	return r.start(ctx, machine, owner, cluster)
}

// start lets the machine exist at once and its node join when it is due. Where both
// happen together the node comes first: Cluster API then finds it with the first
// look, which it takes when the machine exists.
func (r *machines) start(
	ctx context.Context, machine *kwokapi.KwokMachine, owner *clusterv1.Machine, cluster *clusterv1.Cluster,
) (ctrl.Result, error) {
	left := untilStarted(machine, time.Now())
	reached := stageOf(machine, left == 0)
	joined := machine.Status.NodeName
	if reached == stageProvisioned && left == 0 && joined == "" {
		workload, err := r.clusters.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
		if errors.Is(err, clustercache.ErrClusterNotConnected) {
			return ctrl.Result{RequeueAfter: reconnect}, nil
		}
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("connect to the cluster of %s: %w", client.ObjectKeyFromObject(machine), err)
		}
		if joined, err = join(ctx, workload, machine, owner.Spec.Version); err != nil {
			return ctrl.Result{}, err
		}
	}
	if reached == stageProvisioned && machine.Spec.ProviderID == "" {
		before := machine.DeepCopy()
		machine.Spec.ProviderID = providerID(machine)
		if err := r.client.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, fmt.Errorf("write the provider id of %s: %w", client.ObjectKeyFromObject(machine), err)
		}
	}
	if status := machineStatus(machine, reached, joined); !equality.Semantic.DeepEqual(status, machine.Status) {
		before := machine.DeepCopy()
		machine.Status = status
		if err := r.client.Status().Patch(ctx, machine, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(machine), err)
		}
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

// join creates the machine's node, whose kubelet is of that version, and returns its
// name. A node of that name that belongs to another machine is an error: no machine may take it over.
func join(ctx context.Context, workload client.Client, machine *kwokapi.KwokMachine, version string) (string, error) {
	node := newNode(machine, version)
	err := workload.Create(ctx, node)
	if err == nil {
		return node.Name, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the node %s: %w", node.Name, err)
	}
	existing := &corev1.Node{}
	if err := workload.Get(ctx, client.ObjectKeyFromObject(node), existing); err != nil {
		return "", fmt.Errorf("get the node %s: %w", node.Name, err)
	}
	if existing.Spec.ProviderID != node.Spec.ProviderID {
		return "", fmt.Errorf("the node %s is there already, with the provider id %q; delete it or rename the machine",
			node.Name, existing.Spec.ProviderID)
	}
	return node.Name, nil
}

// end deletes the machine's node, then lets the machine go.
func (r *machines) end(
	ctx context.Context, machine *kwokapi.KwokMachine, cluster *clusterv1.Cluster,
) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(machine, kwokapi.MachineFinalizer) {
		return ctrl.Result{}, nil
	}
	workload, err := r.clusters.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ctrl.Result{RequeueAfter: reconnect}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("connect to the cluster of %s: %w", client.ObjectKeyFromObject(machine), err)
	}
	if err := leave(ctx, workload, machine); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.release(ctx, machine)
}

// leave deletes the machine's node, by its UID: what bears its name may be another's.
func leave(ctx context.Context, workload client.Client, machine *kwokapi.KwokMachine) error {
	node := &corev1.Node{}
	err := workload.Get(ctx, client.ObjectKey{Name: nodeName(machine)}, node)
	if apierrors.IsNotFound(err) || err == nil && node.Spec.ProviderID != providerID(machine) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get the node %s: %w", nodeName(machine), err)
	}
	err = workload.Delete(ctx, node, client.Preconditions{UID: ptr.To(node.UID)})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the node %s: %w", node.Name, err)
	}
	return nil
}

func (r *machines) release(ctx context.Context, machine *kwokapi.KwokMachine) error {
	before := machine.DeepCopy()
	if !controllerutil.RemoveFinalizer(machine, kwokapi.MachineFinalizer) {
		return nil
	}
	// The list of finalizers is replaced as a whole. The lock keeps it from undoing another client's change.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, machine, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release %s: %w", client.ObjectKeyFromObject(machine), err)
	}
	return nil
}
