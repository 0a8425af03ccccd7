package infrastructure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// pools makes the machines of every KwokMachinePool that belongs to a MachinePool.
// Nothing is to be done for one that is deleted: its machines are its dependents.
type pools struct {
	client client.Client
	// live reads what is there, and not what a cache has seen of it: a machine that
	// was made a moment ago would be made once more.
	live client.Reader
}

func (r *pools) setUp(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	ofMachinePool := util.MachinePoolToInfrastructureMapFunc(ctx,
		kwokapi.InfrastructureGroupVersion.WithKind(kwokapi.MachinePoolKind))
	ofMachine := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &kwokapi.KwokMachinePool{})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("kwokmachinepool").
		WithOptions(options).
		For(&kwokapi.KwokMachinePool{}).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(ofMachinePool)). // its pause as well
		Watches(&kwokapi.KwokMachine{}, ofMachine).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of KwokMachinePools: %w", err)
	}
	return nil
}

// Reconcile makes or ends the machines by which one pool differs from its
// MachinePool's replicas, and tells which there are.
func (r *pools) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pool := &kwokapi.KwokMachinePool{}
	if err := r.client.Get(ctx, request.NamespacedName, pool); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner, err := util.GetOwnerMachinePool(ctx, r.client, pool.ObjectMeta)
	if err != nil || owner == nil || !owner.DeletionTimestamp.IsZero() || !pool.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cluster, err := util.GetClusterByName(ctx, r.client, owner.Namespace, owner.Spec.ClusterName)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get the cluster of %s: %w", request, err)
	}
	isPaused, again, err := paused.EnsurePausedCondition(ctx, r.client, cluster, pool)
	if err != nil || isPaused || again {
		return ctrl.Result{}, err // a condition that was written is an event of its own
	}
	members, err := r.members(ctx, owner)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, errors.Join(r.tell(ctx, pool, members), r.resize(ctx, pool, owner, members))
}

// member is one machine of a pool, and the Machine that Cluster API has made of it; nil
// as long as there is none.
type member struct {
	infra   *kwokapi.KwokMachine
	machine *clusterv1.Machine
}

func (m member) leaving() bool {
	return !m.infra.DeletionTimestamp.IsZero() || m.machine != nil && !m.machine.DeletionTimestamp.IsZero()
}

func (m member) marked() bool {
	return m.machine != nil && metav1.HasAnnotation(m.machine.ObjectMeta, clusterv1.DeleteMachineAnnotation)
}

// memberLabels are those by which Cluster API finds the machines of a MachinePool.
func memberLabels(owner *clusterv1.MachinePool) map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel:     owner.Spec.ClusterName,
		clusterv1.MachinePoolNameLabel: format.MustFormatValue(owner.Name),
	}
}

func (r *pools) members(ctx context.Context, owner *clusterv1.MachinePool) ([]member, error) {
	var machines clusterv1.MachineList
	var infra kwokapi.KwokMachineList
	for _, list := range []client.ObjectList{&machines, &infra} {
		if err := r.live.List(
			ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels(memberLabels(owner)),
		); err != nil {
			return nil, fmt.Errorf("list the machines of the MachinePool %s: %w", client.ObjectKeyFromObject(owner), err)
		}
	}
	byInfra := map[string]*clusterv1.Machine{}
	for i := range machines.Items {
		byInfra[machines.Items[i].Spec.InfrastructureRef.Name] = &machines.Items[i]
	}
	var all []member
	for i := range infra.Items {
		all = append(all, member{infra: &infra.Items[i], machine: byInfra[infra.Items[i].Name]})
	}
	return all, nil
}

// difference is how many machines a pool lacks, or which of them it has too many. Those
// that are marked go first, as Cluster API asks of those who support Machines, then the
// oldest, so that no test takes the choice of the newest for obedience.
func difference(members []member, want int) (missing int, doomed []member) {
	staying := slices.DeleteFunc(slices.Clone(members), member.leaving)
	slices.SortFunc(staying, func(a, b member) int {
		if a.marked() != b.marked() {
			if a.marked() {
				return -1
			}
			return 1
		}
		return cmp.Or(a.infra.CreationTimestamp.Compare(b.infra.CreationTimestamp.Time),
			cmp.Compare(a.infra.Name, b.infra.Name))
	})
	return max(0, want-len(staying)), staying[:max(0, len(staying)-want)]
}

// resize deletes Machines and not what is behind them, so that Cluster API drains their
// nodes first.
func (r *pools) resize(
	ctx context.Context, pool *kwokapi.KwokMachinePool, owner *clusterv1.MachinePool, members []member,
) error {
	missing, doomed := difference(members, int(ptr.Deref(owner.Spec.Replicas, 0)))
	for range missing {
		if err := r.client.Create(ctx, newMember(pool, owner)); err != nil {
			return fmt.Errorf("create a machine of %s: %w", client.ObjectKeyFromObject(pool), err)
		}
	}
	for _, m := range doomed {
		var object client.Object = m.infra
		if m.machine != nil {
			object = m.machine
		}
		if err := r.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the machine %s: %w", client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// newMember is one more machine. Cluster API makes its Machine the controller, so that
// the pool is an owner beside it and no more.
func newMember(pool *kwokapi.KwokMachinePool, owner *clusterv1.MachinePool) *kwokapi.KwokMachine {
	template := pool.Spec.Template
	labels := map[string]string{}
	maps.Copy(labels, template.Metadata.Labels)
	maps.Copy(labels, memberLabels(owner))
	machine := &kwokapi.KwokMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    pool.Namespace,
			GenerateName: pool.Name + "-",
			Labels:       labels,
			Annotations:  maps.Clone(template.Metadata.Annotations),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kwokapi.InfrastructureGroupVersion.String(), Kind: kwokapi.MachinePoolKind,
				Name: pool.Name, UID: pool.UID,
			}},
		},
		Spec: template.Spec,
	}
	machine.Spec.ProviderID = ""
	return machine
}

// tell writes which machines exist. One that is on its way out is told as long as it is
// there: Cluster API deletes the nodes of those that are not, drained or not.
func (r *pools) tell(ctx context.Context, pool *kwokapi.KwokMachinePool, members []member) error {
	var ids []string
	for _, m := range members {
		if m.infra.Spec.ProviderID != "" {
			ids = append(ids, m.infra.Spec.ProviderID)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, pool.Spec.ProviderIDList) {
		before := pool.DeepCopy()
		pool.Spec.ProviderIDList = ids
		if err := r.client.Patch(ctx, pool, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("write the provider ids of %s: %w", client.ObjectKeyFromObject(pool), err)
		}
	}
	status := kwokapi.KwokMachinePoolStatus{
		KwokMachineTemplateStatus: templateStatus(pool.Spec.Template.Spec.Node),
		Ready:                     true,
		Replicas:                  int32(len(members)),
		InfrastructureMachineKind: kwokapi.MachineKind,
		Conditions:                pool.Status.Conditions,
	}
	if equality.Semantic.DeepEqual(status, pool.Status) {
		return nil
	}
	before := pool.DeepCopy()
	pool.Status = status
	if err := r.client.Status().Patch(ctx, pool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(pool), err)
	}
	return nil
}
