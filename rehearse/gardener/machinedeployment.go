package gardener

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// machineDeployments keep the sets of a MachineDeployment.
type machineDeployments struct {
	client     client.Client // reads what is there, not what was
	now        func() time.Time
	knowsPools bool
}

func (r *machineDeployments) setUp(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("machinedeployment").
		WithOptions(options).
		For(&machinev1.MachineDeployment{}).
		Owns(&machinev1.MachineSet{}).
		// The trigger annotation follows the machines that it names.
		Watches(&machinev1.Machine{},
			handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, m client.Object) []reconcile.Request {
				return r.ofMachine(ctx, m)
			})).
		Complete(patient{r})
	if err != nil {
		return fmt.Errorf("set up the controller of MachineDeployments: %w", err)
	}
	return nil
}

func (r *machineDeployments) ofMachine(ctx context.Context, m client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(m)
	if owner == nil {
		return nil
	}
	var set machinev1.MachineSet
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: owner.Name}, &set); err != nil {
		if client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the deployment of a machine", "machine", m.GetName())
		}
		return nil
	}
	if owner = metav1.GetControllerOf(&set); owner == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: set.Namespace, Name: owner.Name}}}
}

// Reconcile brings one deployment a step on: machines that are named, then a resize,
// then a rollout.
func (r *machineDeployments) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var d machinev1.MachineDeployment
	if err := r.client.Get(ctx, request.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	all, err := r.setsOf(ctx, &d)
	if err != nil {
		return ctrl.Result{}, err
	}
	if d.DeletionTimestamp != nil {
		return ctrl.Result{}, r.end(ctx, &d, all)
	}
	size, err := sizeOf(d)
	if err != nil {
		// Like the real one: it is left alone until it is corrected.
		ctrl.LoggerFrom(ctx).Error(err, "this MachineDeployment is ignored")
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&d, machinev1.Finalizer) {
		return ctrl.Result{}, r.update(ctx, &d)
	}
	if changed, err := r.followTrigger(ctx, &d, all); err != nil || changed {
		return ctrl.Result{}, err
	}
	newest, old := split(d, all)
	if newest == nil && !d.Spec.Paused {
		return ctrl.Result{}, r.begin(ctx, &d, old, size)
	}
	if changed, err := r.thaw(ctx, &d, all); err != nil || changed {
		return ctrl.Result{}, err
	}
	if changed, err := r.copyDown(ctx, &d, newest, old); err != nil || changed {
		return ctrl.Result{}, err
	}
	if err := r.markNodes(ctx, newest, old); err != nil {
		return ctrl.Result{}, err
	}
	for name, to := range r.next(d, size, newest, old) {
		i := slices.IndexFunc(all, func(s machinev1.MachineSet) bool { return s.Name == name })
		all[i].Spec.Replicas = int32(to)
		noteSize(&all[i], size)
		if err := r.client.Update(ctx, &all[i]); err != nil {
			return ctrl.Result{}, fmt.Errorf("size the set %s to %d: %w", name, to, err)
		}
	}
	if err := r.note(ctx, all, size); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.dropOld(ctx, d, old); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.tell(ctx, &d, all)
}

// next are the sizes that change now.
func (r *machineDeployments) next(
	d machinev1.MachineDeployment, size mcm.Deployment, newest *machinev1.MachineSet, old []machinev1.MachineSet,
) map[string]int {
	var olds []mcm.Set
	for _, s := range old {
		olds = append(olds, valueOf(s))
	}
	var latest *mcm.Set
	everything := slices.Clone(olds)
	if newest != nil {
		v := valueOf(*newest)
		latest = &v
		everything = append(everything, v)
	}
	switch {
	case latest == nil || d.Spec.Paused || mcm.IsScaling(size, everything):
		return mcm.Scale(size, latest, olds)
	case d.Spec.Strategy.Type == machinev1.Recreate:
		return recreate(size, *latest, old)
	}
	return mcm.Roll(size, *latest, olds)
}

// recreate ends every old machine before the first new one is made.
func recreate(size mcm.Deployment, newest mcm.Set, old []machinev1.MachineSet) map[string]int {
	sizes, left := map[string]int{}, false
	for _, s := range old {
		if s.Spec.Replicas > 0 {
			sizes[s.Name] = 0
		}
		left = left || s.Spec.Replicas > 0 || s.Status.Replicas > 0
	}
	if !left && newest.Replicas != size.Replicas {
		sizes[newest.Name] = size.Replicas
	}
	return sizes
}

// begin makes the set of a template that has none yet.
func (r *machineDeployments) begin(
	ctx context.Context, d *machinev1.MachineDeployment, old []machinev1.MachineSet, size mcm.Deployment,
) error {
	var olds []mcm.Set
	for _, s := range old {
		olds = append(olds, valueOf(s))
	}
	replicas := mcm.NewSize(size, olds)
	if d.Spec.Strategy.Type == machinev1.Recreate && len(old) > 0 {
		replicas = 0
	}
	set := newSet(*d, replicas, revision(old)+1)
	noteSize(set, size)
	if err := r.client.Create(ctx, set); err != nil {
		return fmt.Errorf("create the set %s: %w", set.Name, err)
	}
	setIn(&d.Annotations, machinev1.RevisionAnnotation, set.Annotations[machinev1.RevisionAnnotation])
	return r.update(ctx, d)
}

// followTrigger marks the machines that the autoscaler named, before anything is
// resized, and takes off the annotation those that have begun to end.
func (r *machineDeployments) followTrigger(
	ctx context.Context, d *machinev1.MachineDeployment, all []machinev1.MachineSet,
) (changed bool, err error) {
	text, ok := d.Annotations[machinev1.TriggerDeletionAnnotation]
	if !ok {
		return false, nil
	}
	if d.Annotations[machinev1.LastReplicaChangeAnnotation] == "" {
		setIn(&d.Annotations, machinev1.LastReplicaChangeAnnotation, r.now().UTC().Format(time.RFC3339))
		return true, r.update(ctx, d)
	}
	var machines []machinev1.Machine
	for i := range all {
		of, err := machinesOf(ctx, r.client, &all[i])
		if err != nil {
			return false, err
		}
		machines = append(machines, of...)
	}
	mark, stay := mcm.Follow(mcm.ReadTrigger(text, d.Annotations[machinev1.LastReplicaChangeAnnotation]), machines)
	for _, n := range mark {
		i := slices.IndexFunc(machines, func(m machinev1.Machine) bool { return m.Name == n.Machine })
		n.Mark(&machines[i])
		if err := r.client.Update(ctx, &machines[i]); err != nil {
			return false, fmt.Errorf("mark the machine %s for its end: %w", n.Machine, err)
		}
	}
	left := mcm.WriteTrigger(stay)
	if left == text {
		return false, nil
	}
	if left == "" {
		delete(d.Annotations, machinev1.TriggerDeletionAnnotation)
	} else {
		d.Annotations[machinev1.TriggerDeletionAnnotation] = left
	}
	return true, r.update(ctx, d)
}

// thaw removes a label that a user has set by hand: a deployment is frozen together with one of its
// sets, or not at all.
func (r *machineDeployments) thaw(
	ctx context.Context, d *machinev1.MachineDeployment, all []machinev1.MachineSet,
) (changed bool, err error) {
	_, labelled := d.Labels[machinev1.FreezeLabel]
	frozen := slices.ContainsFunc(all, func(s machinev1.MachineSet) bool {
		return s.Labels[machinev1.FreezeLabel] == machinev1.FreezeValue || slices.ContainsFunc(s.Status.Conditions,
			func(c machinev1.Condition) bool { return c.Type == machinev1.ConditionFrozen })
	})
	if !labelled || frozen {
		return false, nil
	}
	delete(d.Labels, machinev1.FreezeLabel)
	return true, r.update(ctx, d)
}

// dropOld deletes empty sets of before, but for as many as the history shall have.
func (r *machineDeployments) dropOld(
	ctx context.Context, d machinev1.MachineDeployment, old []machinev1.MachineSet,
) error {
	if d.Spec.RevisionHistoryLimit == nil {
		return nil
	}
	empty := slices.DeleteFunc(slices.Clone(old), func(s machinev1.MachineSet) bool {
		return s.Spec.Replicas > 0 || s.Status.Replicas > 0 || s.Status.ObservedGeneration < s.Generation ||
			s.DeletionTimestamp != nil
	})
	slices.SortFunc(empty, func(a, b machinev1.MachineSet) int { return revisionOf(a) - revisionOf(b) })
	for _, s := range empty[:max(0, len(empty)-int(*d.Spec.RevisionHistoryLimit))] {
		if err := r.client.Delete(ctx, &s); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the old set %s: %w", s.Name, err)
		}
	}
	return nil
}

// end deletes every set, then lets the deployment go.
func (r *machineDeployments) end(
	ctx context.Context, d *machinev1.MachineDeployment, all []machinev1.MachineSet,
) error {
	for _, s := range all {
		if s.DeletionTimestamp != nil {
			continue
		}
		if err := r.client.Delete(ctx, &s); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the set %s: %w", s.Name, err)
		}
	}
	if len(all) > 0 || !controllerutil.RemoveFinalizer(d, machinev1.Finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.update(ctx, d))
}

// setsOf are the sets that a deployment controls.
func (r *machineDeployments) setsOf(
	ctx context.Context, d *machinev1.MachineDeployment,
) ([]machinev1.MachineSet, error) {
	var list machinev1.MachineSetList
	if err := r.client.List(ctx, &list, client.InNamespace(d.Namespace)); err != nil {
		return nil, fmt.Errorf("list the sets of %s: %w", d.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(s machinev1.MachineSet) bool { return !metav1.IsControlledBy(&s, d) }), nil
}

// update writes the whole object back, as a typed client does that may know nothing
// of pools: what it does not know is gone.
func (r *machineDeployments) update(ctx context.Context, d *machinev1.MachineDeployment) error {
	if !r.knowsPools {
		d.Spec.PoolMinimum, d.Spec.PoolMaximum = nil, nil
	}
	if err := r.client.Update(ctx, d); err != nil {
		return fmt.Errorf("update the MachineDeployment %s: %w", d.Name, err)
	}
	return nil
}
