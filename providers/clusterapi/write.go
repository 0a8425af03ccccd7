package clusterapi

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// attempts bounds how often a write reads again because another client's write
// came first: Cluster API's controllers write the status of a group that grows
// many times a second.
const attempts = 10

// Grow sets spec.replicas through the scale subresource, after a fresh look.
func (p *Provider) Grow(ctx context.Context, req provider.GrowRequest) (provider.GrowResult, error) {
	if req.To < req.From {
		return provider.GrowResult{}, kube.Refuse(provider.OpGrow, req.Group, provider.Unsupported,
			"cannot scale up from %d to %d", req.From, req.To)
	}
	at := p.now()
	for attempt := 1; ; attempt++ {
		l, err := p.fresh(ctx, provider.OpGrow, req.Group)
		if err != nil {
			return provider.GrowResult{}, err
		}
		target := *l.group.replicas
		// The client repeats a request that the server was too busy for. If that
		// was done all the same, the repetition met its own effect.
		if attempt > 1 && target == req.To {
			p.memory.Asked(req.Group, at, req.To)
			return provider.GrowResult{Target: target}, nil
		}
		switch {
		case target != req.From:
			return provider.GrowResult{Target: target}, kube.Refuse(provider.OpGrow, req.Group, provider.Conflict,
				"the target is %d, not %d", target, req.From)
		case req.To > l.bounds.max:
			return provider.GrowResult{Target: target}, kube.Refuse(provider.OpGrow, req.Group, provider.Limit,
				"a target of %d is above the maximum of %d", req.To, l.bounds.max)
		case req.To == target:
			return provider.GrowResult{Target: target}, nil
		}
		if err := p.emptied(ctx, l, req.Group); err != nil {
			return provider.GrowResult{Target: target}, err
		}
		if err := p.allGone(ctx, req.Group); err != nil {
			return provider.GrowResult{Target: target}, err
		}
		err = p.setReplicas(ctx, l, req.To)
		if err == nil {
			p.memory.Asked(req.Group, at, req.To)
			return provider.GrowResult{Target: req.To}, nil
		}
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		e := hints.Write(ctx, provider.OpGrow, req.Group, fmt.Sprintf("set its replicas to %d", req.To), err)
		if e.MayHaveHappened {
			p.memory.Asked(req.Group, at, req.To)
		}
		return provider.GrowResult{Target: target}, e
	}
}

// allGone refuses a scale-up while Machines that the target was lowered for are
// not being deleted yet: Cluster API would find as many as it should have, and
// keep them. Where another client has raised the target again since, they stay, and their marks are removed.
func (p *Provider) allGone(ctx context.Context, id provider.GroupID) error {
	leaving := p.memory.stillLeaving(id)
	if len(leaving) == 0 {
		return nil
	}
	l, err := p.look(ctx, provider.OpGrow, id)
	if err != nil {
		return err
	}
	s := standingOf(l.members, l.sets, *l.group.replicas)
	var ours []*machine
	for _, m := range s.marked {
		if m.markedByUs() && slices.Contains(leaving, m.id()) {
			ours = append(ours, m)
		}
	}
	if len(ours) > 0 && (s.paid || s.rolling) {
		return kube.Refuse(provider.OpGrow, id, provider.Conflict, "the Machine %s was removed, and Cluster API has not "+
			"begun to delete it: it would stay if the group grew now", ours[0].id())
	}
	if err := p.takeBack(ctx, ours); err != nil {
		return hints.BeforeWrite(ctx, provider.OpGrow, id, "let Machines stay that were to be removed", err)
	}
	p.memory.gone(id)
	return nil
}

// Cancel takes back replicas that have no Machine. Cluster API deletes Machines
// only if there are more than replicas say, so that nothing is deleted as long
// as replicas stay at or above the number of Machines.
//
// A MachineSet that is about to make Machines could make them between our look
// and our write. So nothing is cancelled before its controllers have seen all of
// what was asked for, and have done with it what they could, or say that they
// cannot; and if Machines came all the same, the target is raised again. What a
// MachinePool's infrastructure is about to do shows nowhere: there it is waited until
// nothing has moved for long.
func (p *Provider) Cancel(ctx context.Context, req provider.CancelRequest) (provider.CancelResult, error) {
	for attempt := 1; ; attempt++ {
		l, err := p.look(ctx, provider.OpCancel, req.Group)
		if err != nil {
			return provider.CancelResult{}, err
		}
		target := *l.group.replicas
		if target != req.From {
			return provider.CancelResult{Target: target}, kube.Refuse(provider.OpCancel, req.Group, provider.Conflict,
				"the target is %d, not %d", target, req.From)
		}
		floor := max(req.To, l.bounds.min, len(standingOf(l.members, l.sets, target).live))
		if floor >= target || !quiet(l.group, l.sets) && !p.atStandstill(l) {
			return provider.CancelResult{Target: target}, nil
		}
		err = p.setReplicas(ctx, l, floor)
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		if err != nil {
			return provider.CancelResult{Target: target}, hints.Write(ctx, provider.OpCancel, req.Group,
				fmt.Sprintf("set its replicas to %d", floor), err)
		}
		floor = p.makeRoom(ctx, req.Group, floor)
		return provider.CancelResult{Target: floor, Cancelled: target - floor}, nil
	}
}

// makeRoom raises the target again to the number of Machines, if some came while
// it was lowered. A failure here is only logged: what Cluster API deletes
// then is the Machine that was made last, which has no node yet. (A MachinePool's
// infrastructure may choose otherwise: see atStandstill.)
func (p *Provider) makeRoom(ctx context.Context, id provider.GroupID, target int) int {
	l, err := p.look(ctx, provider.OpCancel, id)
	if err != nil {
		p.log.Warn("a group cannot be read again after its replicas were lowered", "group", id, "error", err)
		return target
	}
	live := len(standingOf(l.members, l.sets, target).live)
	if *l.group.replicas != target || live <= target {
		return target
	}
	if err := p.setReplicas(ctx, l, live); err != nil {
		p.log.Warn("Machines came while replicas were lowered, and these cannot be raised again", "group", id, "error", err)
		return target
	}
	return live
}

// look is a group as it was read right before a write, with its Machines where
// the write is about these.
type look struct {
	kinds   kinds
	group   *scalable
	bounds  bounds
	members []*machine
	sets    []*scalable
	// home is the group of each Machine that was read: at least the group's own.
	home map[provider.InstanceID]provider.GroupID
}

// fresh reads the group alone. Its answer has the last word (rule P4).
func (p *Provider) fresh(ctx context.Context, op provider.Op, id provider.GroupID) (look, error) {
	unknown := kube.Refuse(op, id, provider.NotFound, "there is no such group that --node-group-auto-discovery means")
	what, namespace, name, ok := parseGroupID(id)
	if !ok {
		return look{}, unknown
	}
	k, err := p.directory.kinds(ctx, p.settings)
	if err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "find Cluster API", err)
	}
	if !k.has(what) {
		return look{}, unknown
	}
	o, err := p.client.Resource(k.resources[what]).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return look{}, unknown
	}
	if err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "read the group before the write", err)
	}
	g := readScalable(what, o, p.settings.keys)
	b, bad := readBounds(g.annotations, p.settings.keys)
	switch {
	case !p.settings.meant(&g), what == machineSet && g.owner.kind == machineDeployment, bad == nil && b.max == 0:
		return look{}, unknown
	case bad != nil:
		return look{}, kube.Refuse(op, id, provider.BadConfig, "%s", bad)
	case g.replicas == nil:
		return look{}, kube.Refuse(op, id, provider.Transient, "its spec.replicas is not set")
	}
	if why := unscalable(&g, p.settings.keys); why != nil {
		return look{}, kube.Refuse(op, id, why.kind, "%s", why.message)
	}
	return look{kinds: k, group: &g, bounds: b}, nil
}

// look reads the group, its MachineSets and its Machines.
func (p *Provider) look(ctx context.Context, op provider.Op, id provider.GroupID) (look, error) {
	l, err := p.fresh(ctx, op, id)
	if err != nil {
		return look{}, err
	}
	machines, err := p.listMachines(ctx, l.kinds, l.group.namespace, l.group.selector)
	if err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "read its Machines before the write", err)
	}
	sets, err := p.listScalables(ctx, l.kinds, machineSet, l.group.namespace)
	if err != nil {
		return look{}, hints.BeforeWrite(ctx, op, id, "read its MachineSets before the write", err)
	}
	f := familiesOf(machines, sets)
	l.members, l.sets, l.home = f.members[id], f.sets[id], f.home
	return l, nil
}

// quiet reports whether the controllers have seen what the group says now, and
// nothing is rolled out. What a MachinePool's infrastructure is about to do is
// never known.
func quiet(g *scalable, sets []*scalable) bool {
	// A MachineSet that fails to make Machines counts as one that has not seen
	// the last change, and says so by a condition.
	done := func(s *scalable) bool { return s.settled || s.stuck != nil }
	switch g.kind {
	case machineSet:
		return done(g)
	case machineDeployment:
		sum := 0
		for _, s := range sets {
			if !done(s) {
				return false
			}
			sum += deref(s.replicas)
		}
		return g.settled && sum == deref(g.replicas) && rollingOut(sets) == ""
	}
	return false
}

// setReplicas writes the scale subresource, if the group is still the one that
// was read. Replicas are written even where they are 0.
//
// The Cluster Autoscaler's usual rights allow to scale MachineDeployments and
// MachinePools, and to update MachineSets: those are updated as a whole if they
// may not be scaled, which is not tried each time.
func (p *Provider) setReplicas(ctx context.Context, l look, n int) error {
	g := l.group
	client := p.client.Resource(l.kinds.resources[g.kind]).Namespace(g.namespace)
	if g.kind == machineSet && p.memory.setsAreWhole(p.now()) {
		return p.updateReplicas(ctx, client, g, n)
	}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{
			"name": g.name, "namespace": g.namespace, "resourceVersion": g.object.GetResourceVersion(),
		},
		"spec": map[string]any{"replicas": int64(n)},
	}}
	_, err := client.Update(ctx, scale, writeOptions, "scale")
	if g.kind != machineSet || !apierrors.IsForbidden(err) {
		return err
	}
	p.memory.keepSetsWhole(p.now().Add(deniedFor))
	return p.updateReplicas(ctx, client, g, n)
}

func (p *Provider) updateReplicas(ctx context.Context, client dynamic.ResourceInterface, g *scalable, n int) error {
	whole := g.object.DeepCopy()
	if err := unstructured.SetNestedField(whole.Object, int64(n), "spec", "replicas"); err != nil {
		return err
	}
	_, err := client.Update(ctx, whole, writeOptions)
	return err
}
