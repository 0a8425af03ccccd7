package gardenertest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// deployment is one look of the controller of MachineDeployments.
func (c *controllers) deployment(o *kubetest.Objects, d *v1alpha1.MachineDeployment) {
	if d.Spec.Selector == nil || d.Spec.Strategy.Type == "" {
		return // invalid, and ignored
	}
	c.mark(o, d)
	sets := c.sets(o, d)
	if len(sets) == 0 && d.DeletionTimestamp == nil {
		c.newSet(o, d, int(d.Spec.Replicas))
		sets = c.sets(o, d)
	}
	// Annotations are copied to the newest MachineSet alone.
	if len(sets) > 0 {
		newest, last := sets[len(sets)-1], d.Annotations[v1alpha1.LastReplicaChangeAnnotation]
		if last != newest.Annotations[v1alpha1.LastReplicaChangeAnnotation] {
			metav1.SetMetaDataAnnotation(&newest.ObjectMeta, v1alpha1.LastReplicaChangeAnnotation, last)
			o.Put(encode(newest))
		}
	}
	frozen := slices.ContainsFunc(sets, func(s *v1alpha1.MachineSet) bool { return s.Labels[v1alpha1.FreezeLabel] == v1alpha1.FreezeValue })
	if _, labelled := d.Labels[v1alpha1.FreezeLabel]; labelled && !frozen {
		delete(d.Labels, v1alpha1.FreezeLabel) // nobody but the safety rule freezes
		o.Put(encode(d))
	}
	total, machines := 0, 0
	for _, s := range sets {
		total += int(s.Spec.Replicas)
		machines += int(s.Status.Replicas)
	}
	want := int(d.Spec.Replicas)
	switch surge := min(len(sets)-1, 1); {
	case d.DeletionTimestamp != nil:
		for _, s := range sets {
			c.scale(o, s, 0)
		}
	case total < want:
		newest := sets[len(sets)-1]
		c.scale(o, newest, int(newest.Spec.Replicas)+want-total)
	case total > want+surge:
		// From all of them, the largest first.
		for left := total - want - surge; left > 0; left-- {
			largest := slices.MaxFunc(sets, func(a, b *v1alpha1.MachineSet) int { return cmp.Compare(a.Spec.Replicas, b.Spec.Replicas) })
			c.scale(o, largest, int(largest.Spec.Replicas)-1)
		}
	}
	d = get[v1alpha1.MachineDeployment](o, d.Namespace, v1alpha1.KindMachineDeployment, d.Name)
	forget := c.forgetful && (d.Spec.PoolMinimum != nil || d.Spec.PoolMaximum != nil)
	if d.Status.ObservedGeneration == d.Generation && int(d.Status.Replicas) == machines && !forget {
		return
	}
	if forget {
		d.Spec.PoolMinimum, d.Spec.PoolMaximum = nil, nil
		d.Generation++ // as the write counts it
	}
	d.Status.ObservedGeneration, d.Status.Replicas = d.Generation, int32(machines)
	o.Put(encode(d))
}

// mark gives the machines that the annotation names the lowest priority, and forgets
// those that are gone or going. Since there are times, a name without one gets that of
// the last change, so that it is obeyed at once, and a machine that has a time keeps it.
func (c *controllers) mark(o *kubetest.Objects, d *v1alpha1.MachineDeployment) {
	text := d.Annotations[v1alpha1.TriggerDeletionAnnotation]
	if text == "" || c.marks == Neither {
		return
	}
	last := d.Annotations[v1alpha1.LastReplicaChangeAnnotation]
	if c.marks == Times && last == "" {
		last = o.Now().UTC().Format(time.RFC3339)
		d.Annotations[v1alpha1.LastReplicaChangeAnnotation] = last
		o.Put(encode(d))
	}
	var left []string
	for element := range strings.SplitSeq(text, ",") {
		name, stamp := element, ""
		if c.marks == Times {
			parts := strings.Split(element, "~")
			switch len(parts) {
			case 1:
				stamp, element = last, element+"~"+last
			case 2:
				name, stamp = parts[0], parts[1]
			default:
				continue
			}
		}
		m := get[v1alpha1.Machine](o, d.Namespace, v1alpha1.KindMachine, name)
		if m == nil || m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed || m.Status.CurrentStatus.Phase == v1alpha1.MachineTerminating {
			continue
		}
		left = append(left, element)
		has := m.Annotations[v1alpha1.MarkedForDeletionAnnotation] != "" || c.marks == Names
		if m.Annotations[v1alpha1.PriorityAnnotation] == v1alpha1.PriorityDelete && has {
			continue
		}
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDelete)
		if !has {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.MarkedForDeletionAnnotation, stamp)
		}
		o.Put(encode(m))
	}
	if now := strings.Join(left, ","); now != text {
		d.Annotations[v1alpha1.TriggerDeletionAnnotation] = now
		if now == "" {
			delete(d.Annotations, v1alpha1.TriggerDeletionAnnotation)
		}
		o.Put(encode(d))
	}
}

// sets are a MachineDeployment's, from the oldest revision to the newest.
func (c *controllers) sets(o *kubetest.Objects, d *v1alpha1.MachineDeployment) []*v1alpha1.MachineSet {
	var out []*v1alpha1.MachineSet
	for _, s := range o.Owned(v1alpha1.KindMachineSet, d.Namespace, d.UID) {
		out = append(out, decode[v1alpha1.MachineSet](s))
	}
	return out
}

// members are a MachineSet's machines, from the oldest to the newest.
func (c *controllers) members(o *kubetest.Objects, s *v1alpha1.MachineSet) []*v1alpha1.Machine {
	var out []*v1alpha1.Machine
	for _, m := range o.Owned(v1alpha1.KindMachine, s.Namespace, s.UID) {
		out = append(out, decode[v1alpha1.Machine](m))
	}
	return out
}

func (c *controllers) newSet(o *kubetest.Objects, d *v1alpha1.MachineDeployment, replicas int) {
	revision := len(c.sets(o, d)) + 1
	s := &v1alpha1.MachineSet{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachineSet},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: o.NewName(d.Name + "-"), Labels: map[string]string{v1alpha1.NameLabel: d.Name},
			Annotations: map[string]string{v1alpha1.RevisionAnnotation: strconv.Itoa(revision)}, Finalizers: []string{v1alpha1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineDeployment))},
		},
		Spec: v1alpha1.MachineSetSpec{Replicas: int32(replicas), Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	o.Put(encode(s))
}

func (c *controllers) scale(o *kubetest.Objects, s *v1alpha1.MachineSet, n int) {
	if int(s.Spec.Replicas) != n {
		s.Spec.Replicas = int32(n)
		o.Put(encode(s))
	}
}

// finish ends rollouts, and lets go of what is deleted.
func (c *controllers) finish(o *kubetest.Objects) bool {
	before := o.Version()
	for _, k := range o.Keys(v1alpha1.KindMachineDeployment) {
		d := get[v1alpha1.MachineDeployment](o, k.Namespace, k.Kind, k.Name)
		if d == nil {
			continue
		}
		sets := c.sets(o, d)
		if d.DeletionTimestamp != nil {
			machines := 0
			for _, s := range sets {
				machines += len(c.members(o, s))
			}
			if machines == 0 {
				for _, s := range sets {
					o.Remove(kubetest.KeyOf(encode(s)))
				}
				o.Remove(k)
			}
			continue
		}
		if len(sets) > 1 {
			for _, s := range sets[:len(sets)-1] {
				c.scale(o, s, 0)
			}
			c.scale(o, sets[len(sets)-1], int(d.Spec.Replicas))
		}
	}
	return o.Version() != before
}

// machineSet is one look of the controller of MachineSets.
func (c *controllers) machineSet(o *kubetest.Objects, s *v1alpha1.MachineSet) {
	d := ""
	for _, ref := range s.OwnerReferences {
		d = ref.Name
	}
	failed := c.match(o, s, d)
	s = get[v1alpha1.MachineSet](o, s.Namespace, v1alpha1.KindMachineSet, s.Name)
	replicas := int32(len(c.members(o, s)))
	told := slices.ContainsFunc(s.Status.Conditions, func(c v1alpha1.Condition) bool { return c.Type == v1alpha1.ConditionReplicaFailure })
	if s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == replicas && told == failed {
		return
	}
	s.Status.ObservedGeneration, s.Status.Replicas, s.Status.Conditions = s.Generation, replicas, nil
	if failed {
		s.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionReplicaFailure, Status: v1alpha1.ConditionTrue, Reason: "FailedCreate", Message: "there is nothing to make a machine of"}}
	}
	o.Put(encode(s))
}

// match makes or deletes machines until there are as many as there should be. It
// tells whether it could not.
func (c *controllers) match(o *kubetest.Objects, s *v1alpha1.MachineSet, deployment string) bool {
	living := slices.DeleteFunc(c.members(o, s), func(m *v1alpha1.Machine) bool {
		return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase == v1alpha1.MachineTerminating
	})
	diff := len(living) - int(s.Spec.Replicas)
	if diff < 0 {
		_, disabled := s.Labels[v1alpha1.ScaleUpDisabledLabel]
		switch {
		case s.Labels[v1alpha1.FreezeLabel] == v1alpha1.FreezeValue || disabled:
			return false
		case c.starved[deployment]:
			return true
		}
		for ; diff < 0; diff++ {
			c.newMachine(o, s)
		}
		return false // what is marked is deleted at the next look
	}
	slices.SortStableFunc(living, before)
	last, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.LastReplicaChangeAnnotation])
	for i, m := range living {
		marked := markTime(m)
		dated := err == nil && !marked.IsZero() && !marked.After(last) && m.Annotations[v1alpha1.PriorityAnnotation] == v1alpha1.PriorityDelete
		failed := m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed && m.Status.CurrentStatus.PreserveExpiryTime == nil
		if i < diff || c.marks == Times && dated || failed {
			c.terminate(o, m)
		}
	}
	return false
}

func markTime(m *v1alpha1.Machine) time.Time {
	at, err := time.Parse(time.RFC3339, m.Annotations[v1alpha1.MarkedForDeletionAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// before is the order in which machines go; what is equal goes by age.
func before(a, b *v1alpha1.Machine) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	priority := func(m *v1alpha1.Machine) int {
		if n, err := strconv.Atoi(m.Annotations[v1alpha1.PriorityAnnotation]); err == nil {
			return n
		}
		return 3
	}
	phases := []v1alpha1.MachinePhase{
		"", v1alpha1.MachineTerminating, v1alpha1.MachineFailed, v1alpha1.MachineCrashLoopBackOff, v1alpha1.MachineUnknown,
		v1alpha1.MachinePending, v1alpha1.MachineAvailable, v1alpha1.MachineRunning,
	}
	phase := func(m *v1alpha1.Machine) int { return slices.Index(phases, m.Status.CurrentStatus.Phase) }
	return cmp.Or(
		cmp.Compare(yes(a.Status.CurrentStatus.PreserveExpiryTime != nil), yes(b.Status.CurrentStatus.PreserveExpiryTime != nil)),
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(yes(markTime(a).IsZero()), yes(markTime(b).IsZero())),
		markTime(a).Compare(markTime(b)),
		cmp.Compare(phase(a), phase(b)),
	)
}

func (c *controllers) newMachine(o *kubetest.Objects, s *v1alpha1.MachineSet) {
	m := &v1alpha1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachine},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: o.NewName(s.Name + "-"), Labels: map[string]string{}, Finalizers: []string{v1alpha1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineSet))},
		},
		Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{Phase: v1alpha1.MachinePending}},
	}
	s.Spec.Template.Spec.DeepCopyInto(&m.Spec)
	for key, value := range s.Spec.Template.Labels {
		m.Labels[key] = value
	}
	o.Put(encode(m))
	c.machines[m.Name] = life{boot: o.Now().Add(c.timing.Boot)}
}
