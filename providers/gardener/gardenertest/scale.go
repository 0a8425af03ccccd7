package gardenertest

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
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
	frozen := slices.ContainsFunc(sets, func(s *v1alpha1.MachineSet) bool {
		return s.Labels[v1alpha1.FreezeLabel] == v1alpha1.FreezeValue
	})
	if _, labelled := d.Labels[v1alpha1.FreezeLabel]; labelled && !frozen {
		delete(d.Labels, v1alpha1.FreezeLabel) // only the safety rule freezes
		o.Put(encode(d))
	}
	total, machines := 0, 0
	for _, s := range sets {
		total += int(s.Spec.Replicas)
		machines += int(s.Status.Replicas)
	}
	size := mcm.Deployment{Replicas: int(d.Spec.Replicas), MaxSurge: min(len(sets)-1, 1)}
	switch {
	case d.DeletionTimestamp != nil:
		for _, s := range sets {
			c.scale(o, s, 0)
		}
	case total < size.Replicas, total > size.Replicas+size.MaxSurge:
		c.resize(o, size, sets)
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
	named := mcm.ReadTrigger(text, last)
	if c.marks == Names {
		named = mcm.ReadNames(text)
	}
	var machines []v1alpha1.Machine
	for _, s := range c.sets(o, d) {
		for _, m := range c.members(o, s) {
			machines = append(machines, *m)
		}
	}
	mark, left := mcm.Follow(named, machines)
	for _, n := range mark {
		m := get[v1alpha1.Machine](o, d.Namespace, v1alpha1.KindMachine, n.Machine)
		n.Mark(m)
		o.Put(encode(m))
	}
	if now := mcm.WriteTrigger(left); now != text {
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
			Annotations: map[string]string{v1alpha1.RevisionAnnotation: strconv.Itoa(revision)},
			Finalizers:  []string{v1alpha1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineDeployment)),
			},
		},
		Spec: v1alpha1.MachineSetSpec{Replicas: int32(replicas), Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	o.Put(encode(s))
}

// resize shares a new size out to the sets, from the oldest revision to the newest.
func (c *controllers) resize(o *kubetest.Objects, size mcm.Deployment, all []*v1alpha1.MachineSet) {
	var values []mcm.Set
	for _, s := range all {
		values = append(values, mcm.Set{
			Name:      s.Name,
			Created:   s.CreationTimestamp.Time,
			Replicas:  int(s.Spec.Replicas),
			Available: int(s.Status.AvailableReplicas),
		})
	}
	old, newest := values[:len(values)-1], values[len(values)-1]
	sizes := mcm.Scale(size, &newest, old)
	for _, s := range all {
		if n, ok := sizes[s.Name]; ok {
			c.scale(o, s, n)
		}
	}
}

func (c *controllers) scale(o *kubetest.Objects, s *v1alpha1.MachineSet, n int) {
	if int(s.Spec.Replicas) != n {
		s.Spec.Replicas = int32(n)
		o.Put(encode(s))
	}
}

// Finish ends rollouts, and lets go of what is deleted.
func (c *controllers) Finish(o *kubetest.Objects) bool {
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
	told := slices.ContainsFunc(s.Status.Conditions, func(c v1alpha1.Condition) bool {
		return c.Type == v1alpha1.ConditionReplicaFailure
	})
	if s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == replicas && told == failed {
		return
	}
	s.Status.ObservedGeneration, s.Status.Replicas, s.Status.Conditions = s.Generation, replicas, nil
	if failed {
		s.Status.Conditions = []v1alpha1.Condition{{
			Type:    v1alpha1.ConditionReplicaFailure,
			Status:  v1alpha1.ConditionTrue,
			Reason:  "FailedCreate",
			Message: "there is nothing to make a machine of",
		}}
	}
	o.Put(encode(s))
}

// match makes or deletes machines until there are as many as there should be, and reports
// whether it could not.
func (c *controllers) match(o *kubetest.Objects, s *v1alpha1.MachineSet, deployment string) bool {
	members := c.members(o, s)
	var machines []v1alpha1.Machine
	for _, m := range members {
		machines = append(machines, *m)
	}
	_, disabled := s.Labels[v1alpha1.ScaleUpDisabledLabel]
	want := mcm.Demand{Replicas: int(s.Spec.Replicas), Now: o.Now(), Blocked: disabled ||
		s.Labels[v1alpha1.FreezeLabel] == v1alpha1.FreezeValue}
	if c.marks == Times {
		want.LastChange = s.Annotations[v1alpha1.LastReplicaChangeAnnotation]
	}
	p := mcm.PlanOf(want, machines)
	if p.Make > 0 && o.Starved(kubetest.Key{
		Kind: v1alpha1.KindMachineDeployment, Namespace: s.Namespace, Name: deployment,
	}) {
		return true
	}
	for range p.Make {
		c.newMachine(o, s)
	}
	for _, m := range members {
		if slices.Contains(p.End, m.Name) {
			c.terminate(o, m)
		}
	}
	return false
}

func (c *controllers) newMachine(o *kubetest.Objects, s *v1alpha1.MachineSet) {
	m := &v1alpha1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachine},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: o.NewName(s.Name + "-"), Labels: map[string]string{},
			Finalizers: []string{v1alpha1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineSet)),
			},
		},
		Status: v1alpha1.MachineStatus{CurrentStatus: v1alpha1.CurrentStatus{Phase: v1alpha1.MachinePending}},
	}
	s.Spec.Template.Spec.DeepCopyInto(&m.Spec)
	for key, value := range s.Spec.Template.Labels {
		m.Labels[key] = value
	}
	o.Put(encode(m))
	c.machines[m.Name] = life{boot: o.Now().Add(o.Timing().Boot)}
}
