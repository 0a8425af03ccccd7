package clusterapi

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// This file is about MachinePools without Machines, which are a number to their
// infrastructure: when it is lowered, the cloud chooses which machines end. With an annotation, a
// user allows Plimsoll to empty such a pool, all machines at once: then there is nothing to choose.

// annotationShrink on a MachinePool without Machines says how it may be made smaller;
// shrinkToZero is its one value.
const (
	annotationShrink = "plimsoll.dev/shrink"
	shrinkToZero     = "to-zero"
)

// readShrink reports whether the group may be emptied, should it be a MachinePool without
// Machines. A value that is not understood allows nothing.
func readShrink(g *scalable) (bool, *badAnnotation) {
	value, ok := g.annotations[annotationShrink]
	switch {
	case !ok:
		return false, nil
	case g.kind != machinePool:
		return false, &badAnnotation{annotationShrink, value, fmt.Sprintf(
			"has no effect on a %s, whose Machines are removed one by one: it is for MachinePools without Machines", g.kind,
		)}
	case value != shrinkToZero:
		return false, &badAnnotation{annotationShrink, value, fmt.Sprintf("has no effect: the one value is %q", shrinkToZero)}
	}
	return true, nil
}

// moving says why a MachinePool without Machines must not be emptied now, nil if it may
// be. It must list as many machines as it is to have, its infrastructure must count as many,
// and nothing must have changed for long: a machine that the cloud has made and that is not
// listed yet would end with the others, with pods on it.
func (p *Provider) moving(g *scalable) *provider.Hold {
	want := deref(g.replicas)
	hold := &provider.Hold{Op: provider.OpRemove, Reason: holdMoving}
	if listed := distinct(g.providerIDs); !g.settled || listed != want || g.statusReplicas != want {
		hold.Message = fmt.Sprintf("spec.replicas is %d, spec.providerIDList has %d machines, status.replicas is %d: "+
			"machines that are not listed would end with the others", want, listed, g.statusReplicas)
		if listed == want && g.statusReplicas == want {
			hold.Message = "its controller has not seen the last change yet"
		}
		return hold
	}
	if stood := p.stood(g, nil); stood < p.standstill {
		since := p.now().Add(-stood)
		hold.Since, hold.Until = since, since.Add(p.standstill)
		hold.Message = fmt.Sprintf("nothing of it must have changed for %s, while Plimsoll was looking on: its "+
			"infrastructure could have machines that it does not list yet", p.standstill)
		return hold
	}
	return nil
}

func distinct(ids []string) int {
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen)
}

// emptying reports whether a MachinePool was lowered to zero, and its infrastructure still
// counts machines that it lists. If the pool has no Machines, it would keep some of these if
// it grew now, even drained ones.
func emptying(g *scalable) bool {
	return g.kind == machinePool && deref(g.replicas) == 0 && g.statusReplicas > 0 && len(g.providerIDs) > 0
}

// emptied refuses a scale-up of a MachinePool without Machines that is being emptied.
func (p *Provider) emptied(ctx context.Context, l look, id provider.GroupID) error {
	if !emptying(l.group) {
		return nil
	}
	whole, err := p.look(ctx, provider.OpGrow, id)
	if err != nil {
		return err
	}
	if len(whole.members) > 0 || !emptying(whole.group) {
		return nil
	}
	return kube.Refuse(provider.OpGrow, id, provider.Conflict, "%s", whyEmptying(whole.group))
}

func whyEmptying(g *scalable) string {
	return fmt.Sprintf("it was lowered to 0, and its infrastructure still counts %d machines: it would keep some of "+
		"those if the pool grew now", g.statusReplicas)
}

const hasMachines = "it has Machines by now, and those are removed by their names"

// lists reports whether any of the instances is one that a MachinePool without Machines
// lists.
func (l look) lists(instances []provider.InstanceID) bool {
	return l.group.kind == machinePool && len(l.members) == 0 &&
		slices.ContainsFunc(instances, func(id provider.InstanceID) bool {
			return slices.Contains(l.group.providerIDs, string(id))
		})
}

// empty lowers a MachinePool without Machines to zero, for a removal of all that it lists.
// elsewhere says where instances are that are no members, if they are anywhere.
func (p *Provider) empty(
	ctx context.Context, l look, req provider.RemoveRequest, elsewhere map[provider.InstanceID]string,
) (provider.RemoveResult, *provider.Error) {
	for attempt := 1; ; attempt++ {
		target := *l.group.replicas
		result := provider.RemoveResult{Target: target, Instances: make([]provider.InstanceResult, len(req.Instances))}
		for i, id := range req.Instances {
			result.Instances[i].ID = id
			if where := elsewhere[id]; where != "" {
				result.Instances[i].Err = kube.Refuse(provider.OpRemove, req.Group, provider.Conflict,
					"the instance %s is left alone: %s", id, where)
			}
		}
		if target == 0 {
			return result, nil // all are on their way out: by an attempt whose answer was lost, or by another client
		}
		if refusal := p.mayEmpty(l, req); refusal != nil {
			return result, refusal
		}
		// What it lists was made, and which node is whose it does not tell.
		if why := req.If.Unmet(provider.Instance{State: provider.Running}, len(l.group.nodeNames) > 0); why != "" {
			for i := range result.Instances {
				result.Instances[i].Err = kube.Refuse(provider.OpRemove, req.Group, provider.Conflict,
					"the instance %s is left alone: of those that go together, %s", result.Instances[i].ID, why)
			}
			return result, nil
		}
		err := p.setReplicas(ctx, l, 0)
		if err == nil {
			result.Target = 0
			return result, nil
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return result, hints.Write(ctx, provider.OpRemove, req.Group,
				fmt.Sprintf("lower its replicas from %d to 0", target), err)
		}
		if l, err = p.look(ctx, provider.OpRemove, req.Group); err != nil {
			return result, provider.AsError(provider.OpRemove, req.Group, err)
		}
	}
}

// mayEmpty says why the pool must not be emptied for a removal, nil if it may be.
func (p *Provider) mayEmpty(l look, req provider.RemoveRequest) *provider.Error {
	no := func(kind provider.Kind, format string, args ...any) *provider.Error {
		return kube.Refuse(provider.OpRemove, req.Group, kind, format, args...)
	}
	if may, _ := readShrink(l.group); !may {
		return no(provider.Unsupported, "%s", cloudChooses)
	}
	if len(l.members) > 0 {
		return no(provider.Conflict, "%s", hasMachines)
	}
	for _, id := range l.group.providerIDs {
		if !slices.Contains(req.Instances, provider.InstanceID(id)) {
			return no(provider.Conflict, "the machine %s was not named: the cloud would choose who goes", id)
		}
	}
	if l.bounds.min > 0 && !req.Force {
		return no(provider.Limit, "it can only be lowered to 0, below its minimum of %d", l.bounds.min)
	}
	if hold := p.moving(l.group); hold != nil {
		return no(provider.Conflict, "%s", hold.Message)
	}
	return nil
}

// cloudChooses is why a MachinePool without Machines is not made smaller.
const cloudChooses = "its infrastructure makes no Machines: to lower the MachinePool would let the cloud choose who " +
	"goes; the annotation " + annotationShrink + "=" + shrinkToZero + " allows to empty it as a whole"
