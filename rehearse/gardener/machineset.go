package gardener

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// machineSets keep as many machines of a MachineSet as it shall have.
type machineSets struct {
	client client.Client // reads what is there, not what was
	now    func() time.Time
}

func (r *machineSets) setUp(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("machineset").
		WithOptions(options).
		For(&machinev1.MachineSet{}).
		Owns(&machinev1.Machine{}).
		Complete(patient{r})
	if err != nil {
		return fmt.Errorf("set up the controller of MachineSets: %w", err)
	}
	return nil
}

// Reconcile brings one set in line.
func (r *machineSets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var set machinev1.MachineSet
	if err := r.client.Get(ctx, request.NamespacedName, &set); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	all, err := machinesOf(ctx, r.client, &set)
	if err != nil {
		return ctrl.Result{}, err
	}
	if set.DeletionTimestamp != nil {
		return ctrl.Result{}, r.end(ctx, &set, all)
	}
	if controllerutil.AddFinalizer(&set, machinev1.Finalizer) {
		return ctrl.Result{}, r.update(ctx, &set)
	}
	if err := r.copyTemplate(ctx, set, all); err != nil {
		return ctrl.Result{}, err
	}
	if changed, err := r.keepSafe(ctx, &set, len(all)); err != nil || changed {
		return ctrl.Result{}, err // which is an event
	}
	_, disabled := set.Labels[machinev1.ScaleUpDisabledLabel]
	blocked := disabled || set.Labels[machinev1.FreezeLabel] == machinev1.FreezeValue
	p := mcm.PlanOf(mcm.Demand{
		Replicas: int(set.Spec.Replicas), Blocked: blocked,
		LastChange: set.Annotations[machinev1.LastReplicaChangeAnnotation], Now: r.now(),
	}, all)
	for range p.Make {
		if err := r.client.Create(ctx, newMachine(set)); err != nil {
			return ctrl.Result{}, fmt.Errorf("create a machine of the set %s: %w", set.Name, err)
		}
	}
	for _, m := range all {
		if slices.Contains(p.End, m.Name) {
			if err := r.terminate(ctx, m); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	if p.Make > 0 || len(p.End) > 0 {
		if all, err = machinesOf(ctx, r.client, &set); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.tell(ctx, &set, all)
}

// machinesOf are the machines that a set controls.
func machinesOf(ctx context.Context, c client.Client, set *machinev1.MachineSet) ([]machinev1.Machine, error) {
	var list machinev1.MachineList
	if err := c.List(ctx, &list, client.InNamespace(set.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines of the set %s: %w", set.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(m machinev1.Machine) bool { return !metav1.IsControlledBy(&m, set) }), nil
}

func newMachine(set machinev1.MachineSet) *machinev1.Machine {
	t := set.DeepCopy().Spec.Template
	return &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: set.Name + "-", Namespace: set.Namespace,
			Labels: t.Labels, Annotations: t.Annotations, Finalizers: []string{machinev1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(&set, machinev1.GroupVersion.WithKind(machinev1.KindMachineSet)),
			},
		},
		Spec: t.Spec,
	}
}

// copyTemplate gives machines what may change without a new machine: the node's
// labels and taints, and the timeouts.
func (r *machineSets) copyTemplate(ctx context.Context, set machinev1.MachineSet, all []machinev1.Machine) error {
	for _, m := range all {
		want := set.DeepCopy().Spec.Template.Spec
		want.ProviderID, want.Class.Name = m.Spec.ProviderID, m.Spec.Class.Name
		if mcm.IsEnding(m) || equality.Semantic.DeepEqual(want, m.Spec) {
			continue
		}
		m.Spec = want
		if err := r.client.Update(ctx, &m); err != nil {
			return fmt.Errorf("update the machine %s: %w", m.Name, err)
		}
	}
	return nil
}

// keepSafe freezes a set that has far too many machines, and thaws it; its deployment
// with it.
func (r *machineSets) keepSafe(ctx context.Context, set *machinev1.MachineSet, there int) (changed bool, err error) {
	var d machinev1.MachineDeployment
	owner := metav1.GetControllerOf(set)
	if owner == nil {
		return false, nil
	}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: owner.Name}, &d); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	size, err := sizeOf(d)
	if err != nil {
		return false, nil // the deployment's own controller tells
	}
	frozen := set.Labels[machinev1.FreezeLabel] == machinev1.FreezeValue
	_, ordered := set.Annotations[machinev1.UnfreezeAnnotation]
	_, also := d.Annotations[machinev1.UnfreezeAnnotation]
	freeze, message := safety(frozen, there, size.Replicas, size.MaxSurge, ordered || also)
	if freeze == frozen {
		return false, nil
	}
	set.Status.Conditions = frozenCondition(set.Status.Conditions, freeze, message, r.now())
	if err := r.client.Status().Update(ctx, set); err != nil {
		return false, fmt.Errorf("write the status of the set %s: %w", set.Name, err)
	}
	label := func(o client.Object) error {
		before := o.DeepCopyObject().(client.Object)
		labels, annotations := o.GetLabels(), o.GetAnnotations()
		if freeze {
			setIn(&labels, machinev1.FreezeLabel, machinev1.FreezeValue)
		} else {
			delete(labels, machinev1.FreezeLabel)
			delete(annotations, machinev1.UnfreezeAnnotation)
		}
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
		if err := r.client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("freeze or thaw %s: %w", o.GetName(), err)
		}
		return nil
	}
	if err := label(&d); err != nil {
		return false, err
	}
	return true, label(set)
}

func frozenCondition(all []machinev1.Condition, freeze bool, message string, now time.Time) []machinev1.Condition {
	if !freeze {
		return dropCondition(all, machinev1.ConditionFrozen)
	}
	at := metav1.NewTime(now)
	return setCondition(all, machinev1.Condition{
		Type: machinev1.ConditionFrozen, Status: machinev1.ConditionTrue, Reason: overshoot, Message: message,
		LastUpdateTime: at, LastTransitionTime: at,
	})
}

// terminate deletes the machine: from then on it does not count. Its phase tells so when
// the controller of machines has seen that.
func (r *machineSets) terminate(ctx context.Context, m machinev1.Machine) error {
	if m.DeletionTimestamp != nil {
		return nil
	}
	if err := r.client.Delete(ctx, &m); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the machine %s: %w", m.Name, err)
	}
	return nil
}

// end ends every machine, then lets the set go.
func (r *machineSets) end(ctx context.Context, set *machinev1.MachineSet, all []machinev1.Machine) error {
	for _, m := range all {
		if err := r.terminate(ctx, m); err != nil {
			return err
		}
	}
	if len(all) > 0 || !controllerutil.RemoveFinalizer(set, machinev1.Finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.update(ctx, set))
}

func (r *machineSets) update(ctx context.Context, set *machinev1.MachineSet) error {
	if err := r.client.Update(ctx, set); err != nil {
		return fmt.Errorf("update the set %s: %w", set.Name, err)
	}
	return nil
}

// tell writes the set's status if it changed.
func (r *machineSets) tell(ctx context.Context, set *machinev1.MachineSet, all []machinev1.Machine) error {
	status := setStatus(*set, all)
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	set.Status = status
	if err := r.client.Status().Update(ctx, set); err != nil {
		return fmt.Errorf("write the status of the set %s: %w", set.Name, err)
	}
	return nil
}

// setStatus counts machines that are on their way out among the replicas.
func setStatus(set machinev1.MachineSet, all []machinev1.Machine) machinev1.MachineSetStatus {
	status := set.DeepCopy().Status
	status.ObservedGeneration = set.Generation
	status.Replicas, status.FullyLabeledReplicas = int32(len(all)), int32(len(all))
	status.ReadyReplicas, status.AvailableReplicas, status.FailedMachines = 0, 0, nil
	for _, m := range all {
		switch m.Status.CurrentStatus.Phase {
		case machinev1.MachineRunning:
			status.ReadyReplicas++
			status.AvailableReplicas++
		case machinev1.MachineAvailable:
			status.AvailableReplicas++
		}
		if m.Status.LastOperation.State == machinev1.StateFailed {
			status.FailedMachines = append(status.FailedMachines, machinev1.MachineSummary{
				Name: m.Name, ProviderID: m.Spec.ProviderID, LastOperation: m.Status.LastOperation, OwnerRef: set.Name,
			})
		}
	}
	return status
}

// DeploymentOf is the name of the MachineDeployment of a machine, by the names that
// machines have: their set's, which is the deployment's, each with a part more.
func DeploymentOf(machine string) string {
	name := machine
	for range 2 {
		name = name[:max(0, strings.LastIndexByte(name, '-'))]
	}
	return name
}
