package gardener

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// census is all there is in the namespace.
type census struct {
	machines    []*v1alpha1.Machine
	sets        []*v1alpha1.MachineSet
	classes     map[string]*v1alpha1.MachineClass
	deployments []*v1alpha1.MachineDeployment
	// strange says what is wrong with objects that could not be read, by kind and
	// name: only their metadata is known, and of a MachineDeployment what concerns its
	// pool, unless the error is an unsized one.
	strange map[string]error
	// marks are those of each MachineDeployment, by its name.
	marks map[string][]mark
}

// takeCensus lists everything. Machines come first and targets last, so that what is
// asked for beside this read shows as asked for, and not as machines too many.
//
// The MachineDeployments are listed before the machines as well, for their marks:
// machine-controller-manager takes a mark away once the machine is Terminating, and
// without the earlier look that machine, listed as live in between, would seem to
// have come back.
//
// Classes are left out where only sizes matter.
func (p *Provider) takeCensus(ctx context.Context, classes bool) (census, error) {
	c := census{strange: map[string]error{}, classes: map[string]*v1alpha1.MachineClass{}}
	before, err := p.listDeployments(ctx, &c)
	if err != nil {
		return census{}, err
	}
	if c.machines, err = listed[v1alpha1.Machine](
		ctx, p, &c, v1alpha1.ResourceMachines, v1alpha1.KindMachine,
	); err != nil {
		return census{}, err
	}
	if c.sets, err = listed[v1alpha1.MachineSet](
		ctx, p, &c, v1alpha1.ResourceMachineSets, v1alpha1.KindMachineSet,
	); err != nil {
		return census{}, err
	}
	if classes {
		found, err := listed[v1alpha1.MachineClass](ctx, p, &c, v1alpha1.ResourceMachineClasses, v1alpha1.KindMachineClass)
		if err != nil {
			return census{}, err
		}
		for _, class := range found {
			c.classes[class.Name] = class
		}
	}
	if c.deployments, err = p.listDeployments(ctx, &c); err != nil {
		return census{}, err
	}
	c.marks = marksOf(before, c.deployments)
	return c, nil
}

func (p *Provider) listDeployments(ctx context.Context, c *census) ([]*v1alpha1.MachineDeployment, error) {
	return listed[v1alpha1.MachineDeployment](ctx, p, c, v1alpha1.ResourceMachineDeployments,
		v1alpha1.KindMachineDeployment)
}

// marksOf joins the marks of two looks at the same MachineDeployments. The later
// look's come first.
func marksOf(before, after []*v1alpha1.MachineDeployment) map[string][]mark {
	out := map[string][]mark{}
	for _, looks := range [][]*v1alpha1.MachineDeployment{after, before} {
		for _, d := range looks {
			out[d.Name] = append(out[d.Name], parseMarks(d.Annotations[v1alpha1.TriggerDeletionAnnotation])...)
		}
	}
	return out
}

// kinds of objects that are listed.
type kinds interface {
	v1alpha1.MachineDeployment | v1alpha1.MachineSet | v1alpha1.Machine | v1alpha1.MachineClass
}

// meta is the metadata of an object.
func meta[T kinds](o *T) *metav1.ObjectMeta {
	switch o := any(o).(type) {
	case *v1alpha1.MachineDeployment:
		return &o.ObjectMeta
	case *v1alpha1.MachineSet:
		return &o.ObjectMeta
	case *v1alpha1.Machine:
		return &o.ObjectMeta
	case *v1alpha1.MachineClass:
		return &o.ObjectMeta
	}
	return nil
}

// listed lists a kind, without a resource version and without pages, so that the
// answer is as new as the storage and of one piece (rule P2). One object that cannot
// be read is strange, and no reason to fail.
func listed[T kinds](ctx context.Context, p *Provider, c *census, resource, kind string) ([]*T, error) {
	what := fmt.Sprintf("list %s in the namespace %s", resource, p.settings.namespace)
	answer, err := p.client.Resource(v1alpha1.Resource(resource)).Namespace(p.settings.namespace).List(ctx,
		metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := kube.Whole(answer); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out := make([]*T, 0, len(answer.Items))
	for i := range answer.Items {
		o := new(T)
		if err := convert(&answer.Items[i], o); err != nil {
			c.strange[kind+"/"+answer.Items[i].GetName()] = err
		}
		out = append(out, o)
	}
	return out, nil
}

// convert reads an object. Of one that cannot be read as a whole, the metadata are (the
// API server keeps those in order), and of a MachineDeployment what its pool needs.
func convert[T kinds](from *unstructured.Unstructured, to *T) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s%w", misfit[T](from.Object), err)
	*to = *new(T)
	m := meta(to)
	m.Namespace, m.Name, m.UID, m.ResourceVersion, m.Generation = from.GetNamespace(), from.GetName(), from.GetUID(),
		from.GetResourceVersion(), from.GetGeneration()
	m.Labels, m.Annotations, m.OwnerReferences = from.GetLabels(), from.GetAnnotations(), from.GetOwnerReferences()
	m.CreationTimestamp, m.DeletionTimestamp = from.GetCreationTimestamp(), from.GetDeletionTimestamp()
	if d, ok := any(to).(*v1alpha1.MachineDeployment); ok && !readSize(from.Object, &d.Spec) {
		return unsized{err}
	}
	return err
}

// unsized is why a MachineDeployment cannot be read, not even its replicas, so that the
// size of its pool is unknown.
type unsized struct{ error }

func isUnsized(err error) bool {
	_, ok := errors.AsType[unsized](err)
	return ok
}

// readSize reads each field that concerns the pool for itself, and reports whether the
// replicas are known. A limit that cannot be read is none that it says.
func readSize(object map[string]any, into *v1alpha1.MachineDeploymentSpec) bool {
	fields, ok := object["spec"].(map[string]any)
	if !ok && object["spec"] != nil {
		return false
	}
	alone := func(field string) (v1alpha1.MachineDeploymentSpec, bool) {
		var spec v1alpha1.MachineDeploymentSpec
		value, there := fields[field]
		return spec, !there ||
			runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{field: value}, &spec) == nil
	}
	if spec, ok := alone("poolMinimum"); ok {
		into.PoolMinimum = spec.PoolMinimum
	}
	if spec, ok := alone("poolMaximum"); ok {
		into.PoolMaximum = spec.PoolMaximum
	}
	spec, ok := alone("replicas")
	into.Replicas = spec.Replicas
	return ok
}

// misfit names the first part of an object that cannot be read, in the form "spec.paused:
// ", empty if it is none of its own: the converter's errors say what is wrong, not where.
func misfit[T kinds](object map[string]any) string {
	fits := func(part map[string]any) bool {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(part, new(T)) == nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if fits(map[string]any{name: object[name]}) {
			continue
		}
		fields, _ := object[name].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if !fits(map[string]any{name: map[string]any{field: fields[field]}}) {
				return name + "." + field + ": "
			}
		}
		return name + ": "
	}
	return ""
}

// families are the machines and MachineSets of each MachineDeployment, by its name.
type families struct {
	machines map[string][]*v1alpha1.Machine
	sets     map[string][]*v1alpha1.MachineSet
	home     map[provider.InstanceID]string
}

// familiesOf follows the owners: a machine's MachineSet, and its MachineDeployment.
// A machine whose MachineSet is gone already, or that has none yet, belongs to the
// one MachineDeployment that selects it.
func familiesOf(c census) families {
	f := families{map[string][]*v1alpha1.Machine{}, map[string][]*v1alpha1.MachineSet{}, map[provider.InstanceID]string{}}
	bySet := map[string]string{}
	for _, s := range c.sets {
		if d := ownerOf(s.OwnerReferences, v1alpha1.KindMachineDeployment); d != "" {
			bySet[s.Name] = d
			f.sets[d] = append(f.sets[d], s)
		}
	}
	for _, m := range c.machines {
		home := bySet[ownerOf(m.OwnerReferences, v1alpha1.KindMachineSet)]
		if home == "" {
			home = selectedBy(m, c.deployments)
		}
		if home != "" {
			f.machines[home] = append(f.machines[home], m)
			f.home[provider.InstanceID(m.Name)] = home
		}
	}
	return f
}

func ownerOf(refs []metav1.OwnerReference, kind string) string {
	for _, ref := range refs {
		if ref.Kind == kind && ref.Controller != nil && *ref.Controller {
			return ref.Name
		}
	}
	return ""
}

// selectedBy is the MachineDeployment that selects a machine, empty if none or
// several do.
func selectedBy(m *v1alpha1.Machine, deployments []*v1alpha1.MachineDeployment) string {
	found := ""
	for _, d := range deployments {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(m.Labels)) {
			continue
		}
		if found != "" {
			return ""
		}
		found = d.Name
	}
	return found
}
