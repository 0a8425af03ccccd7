package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// narrowFor is how long the right to look in all namespaces is not asked for
// again.
const narrowFor = 10 * time.Minute

// census is all Machines, MachineSets and groups of the namespaces that are
// looked in, each kind by one LIST.
type census struct {
	kinds    kinds
	machines []machine
	sets     []scalable
	groups   []scalable
	// narrowed: the rights do not allow to look in all namespaces.
	narrowed bool
	// noPools says why MachinePools could not be read.
	noPools error
}

// takeCensus lists whatever the specs look at. Machines come first and targets
// last, so that what is asked for beside this read shows as asked for, and not
// as Machines too many.
func (p *Provider) takeCensus(ctx context.Context) (census, error) {
	k, err := p.directory.kinds(ctx, p.settings)
	if err != nil {
		return census{}, err
	}
	namespaces := p.settings.namespaces()
	fallback := p.settings.narrowed()
	all := namespaces[0] == ""
	narrow := all && len(fallback) > 0 && p.memory.isNarrow(p.now())
	if narrow {
		namespaces = fallback
	}
	c, err := p.listAll(ctx, k, namespaces)
	if err != nil && all && !narrow && len(fallback) > 0 && apierrors.IsForbidden(err) {
		narrow = true
		everywhere := err
		switch c, err = p.listAll(ctx, k, fallback); {
		case err == nil:
			p.memory.narrow(p.now().Add(narrowFor))
		case apierrors.IsForbidden(err):
			// Possibly no user chose the own namespace ("default" of a kubeconfig), so both errors are
			// reported: the first is about what was configured.
			err = errors.Join(everywhere, err)
		}
	}
	if apierrors.IsNotFound(err) {
		p.directory.forget(p.settings.keys.group) // the version is served no more
	}
	c.kinds, c.narrowed = k, narrow
	return c, err
}

func (p *Provider) listAll(ctx context.Context, k kinds, namespaces []string) (census, error) {
	parts := make([]census, len(namespaces))
	errs := make([]error, len(namespaces))
	forEach(len(namespaces), func(i int) { parts[i], errs[i] = p.listIn(ctx, k, namespaces[i]) })
	var c census
	for i, part := range parts {
		if errs[i] != nil {
			return census{}, errs[i]
		}
		c.machines = append(c.machines, part.machines...)
		c.sets = append(c.sets, part.sets...)
		c.groups = append(c.groups, part.groups...)
		c.noPools = errors.Join(c.noPools, part.noPools)
	}
	return c, nil
}

func (p *Provider) listIn(ctx context.Context, k kinds, namespace string) (census, error) {
	var c census
	var err error
	if c.machines, err = p.listMachines(ctx, k, namespace, nil); err != nil {
		return c, err
	}
	if c.sets, err = p.listScalables(ctx, k, machineSet, namespace); err != nil {
		return c, err
	}
	for i := range c.sets {
		if c.sets[i].owner.kind != machineDeployment {
			c.groups = append(c.groups, c.sets[i])
		}
	}
	if k.has(machineDeployment) {
		found, err := p.listScalables(ctx, k, machineDeployment, namespace)
		if err != nil {
			return c, err
		}
		c.groups = append(c.groups, found...)
	}
	if k.has(machinePool) {
		found, err := p.listScalables(ctx, k, machinePool, namespace)
		switch {
		case err == nil:
			p.memory.sawPools()
		case apierrors.IsForbidden(err) && !p.memory.hadPools():
			c.noPools = err // never had that right: there are none for us
		default:
			return c, err
		}
		c.groups = append(c.groups, found...)
	}
	return c, nil
}

// listMachines lists those that match the selector, or all.
func (p *Provider) listMachines(
	ctx context.Context, k kinds, namespace string, selector labels.Selector,
) ([]machine, error) {
	var options metav1.ListOptions
	if selector != nil {
		options.LabelSelector = selector.String()
	}
	items, err := p.list(ctx, k.resources[machineKind], namespace, options)
	out := make([]machine, 0, len(items))
	for i := range items {
		out = append(out, readMachine(&items[i], p.settings.keys))
	}
	return out, err
}

func (p *Provider) listScalables(ctx context.Context, k kinds, what kind, namespace string) ([]scalable, error) {
	items, err := p.list(ctx, k.resources[what], namespace, metav1.ListOptions{})
	out := make([]scalable, 0, len(items))
	for i := range items {
		out = append(out, readScalable(what, &items[i], p.settings.keys))
	}
	return out, err
}

// list asks without a resource version and without pages, so that the answer is
// as new as the storage and of one piece (rule P2).
func (p *Provider) list(
	ctx context.Context, r schema.GroupVersionResource, namespace string, options metav1.ListOptions,
) ([]unstructured.Unstructured, error) {
	where := "in all namespaces"
	if namespace != "" {
		where = "in the namespace " + namespace
	}
	answer, err := p.client.Resource(r).Namespace(namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list %s %s: %w", r.Resource, where, err)
	}
	if err := kube.Whole(answer); err != nil {
		return nil, fmt.Errorf("list %s %s: %w", r.Resource, where, err)
	}
	return answer.Items, nil
}

// families are the Machines and MachineSets of each group.
type families struct {
	members map[provider.GroupID][]*machine
	sets    map[provider.GroupID][]*scalable
	home    map[provider.InstanceID]provider.GroupID
}

// familiesOf follows the owners: a Machine's MachineSet, and its
// MachineDeployment; or its MachinePool. The labels by which a MachineDeployment
// was found need not be on what it made; those by which a MachineSet knows its
// Machines must be, since it has made another in place of one that lost them.
func familiesOf(machines []machine, sets []scalable) families {
	f := families{
		map[provider.GroupID][]*machine{}, map[provider.GroupID][]*scalable{}, map[provider.InstanceID]provider.GroupID{},
	}
	deployments := map[provider.GroupID]provider.GroupID{} // by MachineSet
	bySet := map[provider.GroupID]*scalable{}
	for i := range sets {
		s := &sets[i]
		bySet[s.id()] = s
		if s.owner.kind == machineDeployment {
			id := groupID(machineDeployment, s.namespace, s.owner.name)
			deployments[s.id()] = id
			f.sets[id] = append(f.sets[id], s)
		}
	}
	for i := range machines {
		m := &machines[i]
		if m.owner.kind == "" {
			continue // of a control plane, or without an owner
		}
		id := groupID(m.owner.kind, m.namespace, m.owner.name)
		if s := bySet[id]; s != nil && s.selector != nil && !s.selector.Matches(labels.Set(m.labels)) {
			continue
		}
		if d, ok := deployments[id]; ok {
			id = d
		}
		f.members[id] = append(f.members[id], m)
		f.home[m.id()] = id
	}
	return f
}
