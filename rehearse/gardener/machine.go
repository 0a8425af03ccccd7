package gardener

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const (
	// lookAgain is how soon something is looked at again that no event announces.
	lookAgain = 500 * time.Millisecond
)

// tries are those to make one machine that have failed with a code, and when the last did.
type tries struct {
	code string
	n    int
	last time.Time
}

// machines makes a node of every Machine, keeps the Machine's status in line with it,
// and ends both.
type machines struct {
	client client.Client // reads what is there, not what was
	now    func() time.Time
	// endTakes is how long a machine takes to end beyond what its class says.
	endTakes time.Duration
	// making: machines are made one after the other, lest two of them take the last
	// place of a quota. It guards failed as well.
	making sync.Mutex
	failed map[types.UID]tries
}

func (r *machines) setUp(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("machine").
		WithOptions(options).
		For(&machinev1.Machine{}).
		// A node has the name of its machine.
		Watches(&corev1.Node{},
			handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []reconcile.Request {
				return r.requests(ctx, func(m machinev1.Machine) bool { return m.Name == node.GetName() })
			})).
		Watches(&machinev1.MachineClass{},
			handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, class client.Object) []reconcile.Request {
				return r.requests(ctx, func(m machinev1.Machine) bool {
					return m.Namespace == class.GetNamespace() && m.Spec.Class.Name == class.GetName()
				})
			})).
		Complete(patient{r})
	if err != nil {
		return fmt.Errorf("set up the controller of Machines: %w", err)
	}
	return nil
}

// requests are for the machines that a change elsewhere may concern.
func (r *machines) requests(ctx context.Context, concerns func(machinev1.Machine) bool) []reconcile.Request {
	var list machinev1.MachineList
	if err := r.client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the machines that a change concerns")
		return nil
	}
	var all []reconcile.Request
	for _, m := range list.Items {
		if concerns(m) {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&m)})
		}
	}
	return all
}

// Reconcile brings one machine a step on.
func (r *machines) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var m machinev1.Machine
	if err := r.client.Get(ctx, request.NamespacedName, &m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var class machinev1.MachineClass
	err := r.client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Class.Name}, &class)
	if err != nil && (m.DeletionTimestamp == nil || !apierrors.IsNotFound(err)) {
		return ctrl.Result{}, fmt.Errorf("get the MachineClass %s of the machine %s: %w", m.Spec.Class.Name, m.Name, err)
	}
	behaviour, err := behaviourOf(class.Annotations)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("MachineClass %s: %w", class.Name, err)
	}
	if m.DeletionTimestamp != nil {
		return r.end(ctx, &m, behaviour)
	}
	if controllerutil.AddFinalizer(&m, machinev1.Finalizer) {
		return ctrl.Result{}, r.update(ctx, &m)
	}
	if phase := m.Status.CurrentStatus.Phase; phase == machinev1.MachineFailed || phase == machinev1.MachineTerminating {
		return ctrl.Result{}, nil
	}
	if m.Spec.ProviderID == "" {
		return r.make(ctx, &m, class, behaviour)
	}
	return r.keep(ctx, &m, class, behaviour)
}

// make has the cloud make the machine, if the quota allows.
func (r *machines) make(
	ctx context.Context, m *machinev1.Machine, class machinev1.MachineClass, b behaviour,
) (ctrl.Result, error) {
	r.making.Lock()
	defer r.making.Unlock()
	there, err := r.thereAre(ctx, class)
	if err != nil {
		return ctrl.Result{}, err
	}
	failed := r.failed[m.UID]
	switch {
	case b.quota != nil && there >= *b.quota:
		return r.refuse(ctx, m, machinev1.CodeResourceExhausted,
			fmt.Sprintf("the quota of %s in zone %s is used up: %d of %d",
				class.NodeTemplate.InstanceType, class.NodeTemplate.Zone, there, *b.quota))
	case b.createError != "" &&
		(b.createErrors == 0 || failed.code != b.createError || failed.n < b.createErrors || failed.left(r.now()) > 0):
		return r.refuse(ctx, m, b.createError, "the rehearsal wants it so")
	}
	delete(r.failed, m.UID)
	// One write: a machine has its id as soon as it has its node's name.
	m.Spec.ProviderID = providerID(class.NodeTemplate.Zone, m.Name)
	setIn(&m.Labels, machinev1.NodeLabel, m.Name)
	if m.Annotations[machinev1.PriorityAnnotation] == "" {
		setIn(&m.Annotations, machinev1.PriorityAnnotation, machinev1.PriorityDefault)
	}
	return ctrl.Result{}, r.update(ctx, m)
}

// left is how long until the next try.
func (t tries) left(now time.Time) time.Duration {
	if t.n == 0 {
		return 0
	}
	return t.last.Add(mcm.RetryAfter(t.code)).Sub(now)
}

// refuse fails one try to make a machine, when it is due. A status that would say the same
// again is not written.
func (r *machines) refuse(ctx context.Context, m *machinev1.Machine, code, message string) (ctrl.Result, error) {
	t := r.failed[m.UID]
	if t.code != code {
		t = tries{code: code}
	}
	if left := t.left(r.now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	t.n, t.last = t.n+1, r.now()
	r.failed[m.UID] = t
	again := ctrl.Result{RequeueAfter: mcm.RetryAfter(code)}
	status, was := refused(*m, r.now(), code, message), m.Status
	if status.CurrentStatus.Phase == was.CurrentStatus.Phase &&
		status.LastOperation.ErrorCode == was.LastOperation.ErrorCode &&
		status.LastOperation.Description == was.LastOperation.Description {
		return again, nil
	}
	return again, r.tell(ctx, m, status)
}

// thereAre counts the machines of a class's zone and instance type, of all classes.
func (r *machines) thereAre(ctx context.Context, class machinev1.MachineClass) (int, error) {
	if class.NodeTemplate == nil {
		return 0, fmt.Errorf("the MachineClass %s has no nodeTemplate: of what its nodes are is not known", class.Name)
	}
	var classes machinev1.MachineClassList
	var all machinev1.MachineList
	if err := errors.Join(r.client.List(ctx, &classes), r.client.List(ctx, &all)); err != nil {
		return 0, fmt.Errorf("count the machines against the quota of %s: %w", class.Name, err)
	}
	same := map[client.ObjectKey]bool{}
	for _, c := range classes.Items {
		same[client.ObjectKeyFromObject(&c)] = c.NodeTemplate != nil &&
			c.NodeTemplate.Zone == class.NodeTemplate.Zone && c.NodeTemplate.InstanceType == class.NodeTemplate.InstanceType
	}
	n := 0
	for _, m := range all.Items {
		if m.Spec.ProviderID != "" && same[client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Class.Name}] {
			n++
		}
	}
	return n, nil
}

// keep lets the machine's node join when it is due, and has the status follow.
func (r *machines) keep(
	ctx context.Context, m *machinev1.Machine, class machinev1.MachineClass, b behaviour,
) (ctrl.Result, error) {
	now := r.now()
	phase := m.Status.CurrentStatus.Phase
	if phase == "" || phase == machinev1.MachineCrashLoopBackOff {
		status := moved(m.DeepCopy().Status, now, machinev1.MachinePending, machinev1.OperationCreate,
			machinev1.StateProcessing,
			"Creating machine on cloud provider")
		return ctrl.Result{}, r.tell(ctx, m, status) // which is an event
	}
	node, err := r.nodeOf(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	boots := time.Duration(0)
	if node == nil && phase == machinev1.MachinePending && !b.neverRegisters {
		boots = m.Status.CurrentStatus.LastUpdateTime.Add(b.joinDelay).Sub(now)
		if boots <= 0 {
			node = nodeOf(*m, class)
			if err := r.client.Create(ctx, node); err != nil {
				return ctrl.Result{}, fmt.Errorf("register the node of the machine %s: %w", m.Name, err)
			}
		}
	}
	if node != nil {
		if err := r.attend(ctx, node, m.Annotations[NotReadyAnnotation] == "true"); err != nil {
			return ctrl.Result{}, err
		}
	}
	v := view{now: now, node: node}
	if phase == machinev1.MachineUnknown {
		if v.replacing, err = r.replacing(ctx, m); err != nil {
			return ctrl.Result{}, err
		}
	}
	status, again := health(*m, v)
	if boots > 0 {
		again = boots
	}
	return ctrl.Result{RequeueAfter: again}, r.tell(ctx, m, status)
}

// nodeOf is the machine's node; nil if there is none.
func (r *machines) nodeOf(ctx context.Context, m *machinev1.Machine) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := r.client.Get(ctx, client.ObjectKey{Name: m.Name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the node of the machine %s: %w", m.Name, err)
	}
	if node.Spec.ProviderID != m.Spec.ProviderID {
		return nil, fmt.Errorf("the node %s is there already, with the provider id %q; delete it, or the machine of its name",
			node.Name, node.Spec.ProviderID)
	}
	return node, nil
}

// attend gives the node to kwok, which keeps it ready, or takes it away and says that
// it is not.
func (r *machines) attend(ctx context.Context, node *corev1.Node, notReady bool) error {
	want := fakeValue
	if notReady {
		want = leftValue
	}
	if node.Annotations[fakeAnnotation] != want {
		before := node.DeepCopy()
		setIn(&node.Annotations, fakeAnnotation, want)
		if err := r.client.Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("leave the node %s to %q: %w", node.Name, want, err)
		}
	}
	if !notReady || !isReady(node) {
		return nil
	}
	before := node.DeepCopy()
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "the rehearsal wants it so"
			c.LastTransitionTime.Time = r.now()
		}
	}
	if err := r.client.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("say that the node %s is not ready: %w", node.Name, err)
	}
	return nil
}

// replacing reports whether another machine of the same deployment keeps this one from being given up.
func (r *machines) replacing(ctx context.Context, m *machinev1.Machine) (bool, error) {
	var all machinev1.MachineList
	name := client.MatchingLabels{machinev1.NameLabel: m.Labels[machinev1.NameLabel]}
	if err := r.client.List(ctx, &all, client.InNamespace(m.Namespace), name); err != nil {
		return false, fmt.Errorf("list the machines beside %s: %w", m.Name, err)
	}
	for _, other := range all.Items {
		phase := other.Status.CurrentStatus.Phase
		if other.Name != m.Name && phase != machinev1.MachineRunning && phase != machinev1.MachineUnknown {
			return true, nil
		}
	}
	return false, nil
}

// update writes the whole machine, as the real one does.
func (r *machines) update(ctx context.Context, m *machinev1.Machine) error {
	if err := r.client.Update(ctx, m); err != nil {
		return fmt.Errorf("update the machine %s: %w", m.Name, err)
	}
	return nil
}

// tell writes the status if it changed.
func (r *machines) tell(ctx context.Context, m *machinev1.Machine, status machinev1.MachineStatus) error {
	if equality.Semantic.DeepEqual(status, m.Status) {
		return nil
	}
	m.Status = status
	if err := r.client.Status().Update(ctx, m); err != nil {
		return fmt.Errorf("write the status of the machine %s: %w", m.Name, err)
	}
	return nil
}

// setIn sets a label or an annotation.
func setIn(to *map[string]string, key, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}
