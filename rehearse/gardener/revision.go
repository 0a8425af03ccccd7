package gardener

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/mcm"
	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// hashLength is how much of a template's hash is in the name of its set.
const hashLength = 5

// sizeOf reads a deployment's size. An error means that it is not valid, and
// machine-controller-manager does nothing about it.
func sizeOf(d machinev1.MachineDeployment) (mcm.Deployment, error) {
	size := mcm.Deployment{Replicas: int(d.Spec.Replicas)}
	if d.Spec.Selector == nil {
		return size, fmt.Errorf("read the MachineDeployment %s: it has no spec.selector", d.Name)
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			return size, fmt.Errorf("read the MachineDeployment %s: spec.template.metadata.labels lacks %s=%s of the selector",
				d.Name, key, value)
		}
	}
	switch d.Spec.Strategy.Type {
	case machinev1.Recreate:
		return size, nil
	case machinev1.RollingUpdate:
	default:
		return size, fmt.Errorf(
			"read the MachineDeployment %s: the strategy %q is neither %s nor %s (updates in place are not played)",
			d.Name, d.Spec.Strategy.Type, machinev1.RollingUpdate, machinev1.Recreate,
		)
	}
	bounds := d.Spec.Strategy.RollingUpdate
	if bounds == nil || bounds.MaxSurge == nil || bounds.MaxUnavailable == nil {
		return size, fmt.Errorf("read the MachineDeployment %s: spec.strategy.rollingUpdate lacks maxSurge or maxUnavailable",
			d.Name)
	}
	var err error
	if size.MaxSurge, err = intstr.GetScaledValueFromIntOrPercent(bounds.MaxSurge, size.Replicas, true); err != nil {
		return size, fmt.Errorf("read maxSurge of the MachineDeployment %s: %w", d.Name, err)
	}
	if size.MaxUnavailable, err = intstr.GetScaledValueFromIntOrPercent(
		bounds.MaxUnavailable, size.Replicas, false,
	); err != nil {
		return size, fmt.Errorf("read maxUnavailable of the MachineDeployment %s: %w", d.Name, err)
	}
	if size.MaxSurge+size.MaxUnavailable == 0 {
		size.MaxUnavailable = 1 // else a rollout could never move
	}
	return size, nil
}

// split finds the set of the present template. What may change without new machines
// (the node template and the timeouts) makes no template another one.
func split(
	d machinev1.MachineDeployment, all []machinev1.MachineSet,
) (newest *machinev1.MachineSet, old []machinev1.MachineSet) {
	for i := range all {
		if newest == nil && equality.Semantic.DeepEqual(identity(d.Spec.Template), identity(all[i].Spec.Template)) {
			newest = &all[i]
		} else {
			old = append(old, all[i])
		}
	}
	return newest, old
}

// identity is the part of a template whose change asks for new machines.
func identity(t machinev1.MachineTemplateSpec) machinev1.MachineTemplateSpec {
	labels := maps.Clone(t.Labels)
	delete(labels, machinev1.TemplateHashLabel)
	return machinev1.MachineTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: t.Annotations},
		Spec:       machinev1.MachineSpec{Class: machinev1.ClassSpec{Name: t.Spec.Class.Name}},
	}
}

// newSet is the set of the deployment's present template.
func newSet(d machinev1.MachineDeployment, replicas, revision int) *machinev1.MachineSet {
	hash := hashOf(d.Spec.Template)
	template := d.DeepCopy().Spec.Template
	setIn(&template.Labels, machinev1.TemplateHashLabel, hash)
	selector := d.Spec.Selector.DeepCopy()
	setIn(&selector.MatchLabels, machinev1.TemplateHashLabel, hash)
	name := rand.SafeEncodeString(hash)
	set := &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + name[:min(hashLength, len(name))], Namespace: d.Namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(&d, machinev1.GroupVersion.WithKind(machinev1.KindMachineDeployment)),
			},
		},
		Spec: machinev1.MachineSetSpec{
			Replicas: int32(replicas), Selector: selector, MachineClass: template.Spec.Class, Template: template,
			MinReadySeconds: d.Spec.MinReadySeconds,
		},
	}
	set.Annotations = inherited(d, nil)
	setIn(&set.Annotations, machinev1.RevisionAnnotation, strconv.Itoa(revision))
	return set
}

func hashOf(t machinev1.MachineTemplateSpec) string {
	h := fnv.New32a()
	// Maps print sorted, and an identity has no pointers.
	fmt.Fprintf(h, "%+v", identity(t))
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

// inherited are a set's annotations with those of its deployment, but for what each
// has of its own.
func inherited(d machinev1.MachineDeployment, own map[string]string) map[string]string {
	all := maps.Clone(own)
	for key, value := range d.Annotations {
		switch key {
		case machinev1.RevisionAnnotation, machinev1.DesiredReplicasAnnotation, machinev1.MaxReplicasAnnotation,
			machinev1.TriggerDeletionAnnotation, machinev1.UnfreezeAnnotation,
			"kubectl.kubernetes.io/last-applied-configuration":
		default:
			setIn(&all, key, value)
		}
	}
	return all
}

// copyDown gives the newest set, and no other, what may change without new machines, and
// the highest revision.
func (r *machineDeployments) copyDown(
	ctx context.Context, d *machinev1.MachineDeployment, newest *machinev1.MachineSet, old []machinev1.MachineSet,
) (changed bool, err error) {
	if newest == nil {
		return false, nil
	}
	s := newest.DeepCopy()
	s.Annotations = inherited(*d, s.Annotations)
	class := s.Spec.Template.Spec.Class
	s.Spec.Template.Spec = d.DeepCopy().Spec.Template.Spec
	s.Spec.Template.Spec.Class = class
	if revisionOf(*s) <= revision(old) {
		setIn(&s.Annotations, machinev1.RevisionAnnotation, strconv.Itoa(revision(old)+1))
	}
	if !equality.Semantic.DeepEqual(s, newest) {
		if err := r.client.Update(ctx, s); err != nil {
			return false, fmt.Errorf("update the set %s: %w", s.Name, err)
		}
		return true, nil
	}
	if d.Annotations[machinev1.RevisionAnnotation] == newest.Annotations[machinev1.RevisionAnnotation] {
		return false, nil
	}
	setIn(&d.Annotations, machinev1.RevisionAnnotation, newest.Annotations[machinev1.RevisionAnnotation])
	return true, r.update(ctx, d)
}

// noteSize writes down for what the set was sized.
func noteSize(s *machinev1.MachineSet, size mcm.Deployment) {
	setIn(&s.Annotations, machinev1.DesiredReplicasAnnotation, strconv.Itoa(size.Replicas))
	setIn(&s.Annotations, machinev1.MaxReplicasAnnotation, strconv.Itoa(size.Replicas+size.MaxSurge))
}

// note writes it on the sets whose size did not change as well: the resize is done.
func (r *machineDeployments) note(ctx context.Context, all []machinev1.MachineSet, size mcm.Deployment) error {
	for i := range all {
		before := all[i].DeepCopy()
		noteSize(&all[i], size)
		if all[i].Spec.Replicas == 0 || maps.Equal(before.Annotations, all[i].Annotations) {
			continue
		}
		if err := r.client.Update(ctx, &all[i]); err != nil {
			return fmt.Errorf("note the size on the set %s: %w", all[i].Name, err)
		}
	}
	return nil
}

// valueOf is the set as package mcm knows it.
func valueOf(s machinev1.MachineSet) mcm.Set {
	v := mcm.Set{Name: s.Name, Created: s.CreationTimestamp.Time, Replicas: int(s.Spec.Replicas),
		Available: int(s.Status.AvailableReplicas)}
	if n, err := strconv.Atoi(s.Annotations[machinev1.DesiredReplicasAnnotation]); err == nil {
		v.Sized = &n
	}
	return v
}

// revisionOf is the number of a set, 0 if it has none.
func revisionOf(s machinev1.MachineSet) int {
	n, err := strconv.Atoi(strings.TrimSpace(s.Annotations[machinev1.RevisionAnnotation]))
	if err != nil {
		return 0
	}
	return n
}

// revision is the highest of them.
func revision(all []machinev1.MachineSet) int {
	highest := 0
	for _, s := range all {
		highest = max(highest, revisionOf(s))
	}
	return highest
}
