package gardenertest

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// life is when a machine gets its node, and when a deleted one is gone.
type life struct {
	boot, end time.Time
	// retry is when the cloud is asked again for a machine that it did not make; zero: it
	// was not asked yet, or has made it.
	retry time.Time
	made  bool
}

// controllers are machine-controller-manager's. They are called with the objects
// locked.
type controllers struct {
	marks     Marks
	forgetful bool
	failing   map[string]v1alpha1.LastOperation // by MachineDeployment
	machines  map[string]life
}

var _ kubetest.Controllers = (*controllers)(nil)

// Reconcile is one look of all controllers, and reports whether they did anything.
func (c *controllers) Reconcile(o *kubetest.Objects) bool {
	before := o.Version()
	for _, k := range o.Keys(v1alpha1.KindMachineDeployment) {
		if d := get[v1alpha1.MachineDeployment](o, k.Namespace, k.Kind, k.Name); d != nil {
			c.deployment(o, d)
		}
	}
	for _, k := range o.Keys(v1alpha1.KindMachineSet) {
		if s := get[v1alpha1.MachineSet](o, k.Namespace, k.Kind, k.Name); s != nil {
			c.machineSet(o, s)
		}
	}
	return o.Version() != before
}

// Age gives machines their nodes, and lets go of deleted ones.
func (c *controllers) Age(o *kubetest.Objects, now time.Time) bool {
	before := o.Version()
	for _, k := range o.Keys(v1alpha1.KindMachine) {
		stored, l := o.Get(k), c.machines[k.Name]
		phase := v1alpha1.MachinePhase(kubetest.Text(stored, "status", "currentStatus", "phase"))
		booted := !l.boot.IsZero() && !now.Before(l.boot)
		switch {
		case kubetest.Deleting(stored):
			if l.end.IsZero() {
				l.end = o.Now().Add(o.Timing().End)
				c.machines[k.Name] = l
			} else if phase != v1alpha1.MachineTerminating {
				m := decode[v1alpha1.Machine](stored)
				m.Status.CurrentStatus = v1alpha1.CurrentStatus{
					Phase: v1alpha1.MachineTerminating, LastUpdateTime: metav1.NewTime(o.Now()),
				}
				m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.OperationDelete, State: v1alpha1.StateProcessing}
				o.Put(encode(m))
			}
			if !now.Before(l.end) {
				o.Remove(k)
				delete(c.machines, k.Name)
			}
		case kubetest.Text(stored, "spec", "providerID") == "" && c.asks(o, stored, l, now):
			c.create(o, decode[v1alpha1.Machine](stored), l)
		case phase == v1alpha1.MachineCrashLoopBackOff && kubetest.Text(stored, "spec", "providerID") != "" && l.made:
			// The provider id was one write, and this is another.
			m := decode[v1alpha1.Machine](stored)
			m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.OperationCreate, State: v1alpha1.StateProcessing}
			m.Status.CurrentStatus = v1alpha1.CurrentStatus{
				Phase: v1alpha1.MachinePending, LastUpdateTime: metav1.NewTime(o.Now()),
			}
			o.Put(encode(m))
		case phase != v1alpha1.MachinePending && phase != "" || !booted:
		default:
			m := decode[v1alpha1.Machine](stored)
			m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.OperationCreate, State: v1alpha1.StateSuccessful}
			m.Status.CurrentStatus = v1alpha1.CurrentStatus{
				Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(o.Now()),
			}
			o.Put(encode(m))
		}
	}
	return o.Version() != before
}

// asks reports whether the cloud is asked for a machine now: at first, and again when what
// it said last has had its time. What goes on failing is not asked for sooner by a Settle.
func (c *controllers) asks(o *kubetest.Objects, stored kubetest.Object, l life, now time.Time) bool {
	switch v1alpha1.MachinePhase(kubetest.Text(stored, "status", "currentStatus", "phase")) {
	case "", v1alpha1.MachinePending:
		return true
	case v1alpha1.MachineCrashLoopBackOff:
		if _, failing := c.failing[kubetest.Text(stored, "metadata", "labels", v1alpha1.NameLabel)]; failing {
			now = o.Now()
		}
		return !l.retry.IsZero() && !now.Before(l.retry)
	}
	return false
}

// create asks the cloud for a machine. The first write after it has made one is of the
// object, and the status follows.
func (c *controllers) create(o *kubetest.Objects, m *v1alpha1.Machine, l life) {
	refused, failing := c.failing[m.Labels[v1alpha1.NameLabel]]
	if failing {
		l.retry = o.Now().Add(mcm.RetryAfter(refused.ErrorCode))
		c.machines[m.Name] = l
		m.Status.LastOperation = refused
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{
			Phase: v1alpha1.MachineCrashLoopBackOff, LastUpdateTime: metav1.NewTime(o.Now()),
		}
		o.Put(encode(m))
		return
	}
	l.made = true
	c.machines[m.Name] = l
	m.Spec.ProviderID = fmt.Sprintf("test:///%s/%s", m.Namespace, m.Name)
	m.Labels[v1alpha1.NodeLabel] = m.Name
	if m.Annotations[v1alpha1.PriorityAnnotation] == "" {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDefault)
	}
	o.Put(encode(m))
}

// terminate begins the end of a machine: its phase tells so a look later.
func (c *controllers) terminate(o *kubetest.Objects, m *v1alpha1.Machine) {
	if m.DeletionTimestamp == nil {
		o.Delete(kubetest.KeyOf(encode(m)))
	}
}
