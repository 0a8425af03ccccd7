package gardener

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// attempts bounds how often a write reads again because another client's write came first:
// machine-controller-manager writes the status of a group that grows many times a second.
const attempts = 10

// Grow sets spec.replicas, after a fresh look at the whole pool. The write expects that
// its own object is as it was; the pool's others may have changed since the look, and
// only another one shows that.
func (p *Provider) Grow(ctx context.Context, req provider.GrowRequest) (provider.GrowResult, error) {
	if req.To < req.From {
		return provider.GrowResult{}, kube.Refuse(provider.OpGrow, req.Group, provider.Unsupported,
			"cannot scale up from %d to %d", req.From, req.To)
	}
	at := p.now()
	for attempt := 1; ; attempt++ {
		l, refusal := p.beforeGrowth(ctx, req.Group)
		if refusal != nil {
			return provider.GrowResult{}, refusal
		}
		result := provider.GrowResult{Target: l.target}
		// The client repeats a request that the server was too busy for. If that was
		// done all the same, the repetition met its own effect.
		if attempt > 1 && l.target == req.To {
			p.memory.Asked(req.Group, at, req.To)
			if above := l.above(req); above != nil {
				return result, above
			}
			return result, nil
		}
		if refusal := l.mayGrow(req); refusal != nil {
			return result, refusal
		}
		if req.To == l.target {
			return result, nil
		}
		err := p.patch(ctx, l.deployment, req.To, nil)
		if err == nil {
			p.memory.Asked(req.Group, at, req.To)
			result.Target = req.To
			if above := p.afterGrowth(ctx, l, req); above != nil {
				return result, above
			}
			return result, nil
		}
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		e := hints.Write(ctx, provider.OpGrow, req.Group, fmt.Sprintf("set its replicas to %d", req.To), err)
		if e.MayHaveHappened {
			p.memory.Asked(req.Group, at, req.To)
		}
		return result, e
	}
}

// beforeGrowth looks at the pool. Where a mark alone does not end a machine, it also
// looks whether one waits to be ended: a scale-up now would let it stay.
func (p *Provider) beforeGrowth(ctx context.Context, id provider.GroupID) (look, *provider.Error) {
	if p.settings.marker != priority {
		l, refusal := p.glance(ctx, provider.OpGrow, id)
		if refusal != nil || p.settings.marker == timestamped ||
			len(parseMarks(l.deployment.Annotations[v1alpha1.TriggerDeletionAnnotation])) == 0 {
			return l, refusal
		}
	}
	l, refusal := p.look(ctx, provider.OpGrow, id)
	if refusal == nil && len(l.standing.waiting) > 0 {
		return l, kube.Refuse(provider.OpGrow, id, provider.Conflict, "the machine %s was removed, and "+
			"machine-controller-manager has not begun to delete it: it would stay if the group grew now", l.standing.waiting[0])
	}
	return l, refusal
}

// mayGrow holds a scale-up against the target and the limits.
func (l look) mayGrow(req provider.GrowRequest) *provider.Error {
	switch {
	case l.target != req.From:
		return kube.Refuse(provider.OpGrow, req.Group, provider.Conflict, "the target is %d, not %d", l.target, req.From)
	case req.To == l.target:
		return nil
	case req.To > l.bounds.max:
		return kube.Refuse(provider.OpGrow, req.Group, provider.Limit, "a target of %d is above the maximum of %d",
			req.To, l.bounds.max)
	case l.pool != nil && l.pool.target()+req.To-l.target > l.pool.limits.max:
		return kube.Refuse(provider.OpGrow, req.Group, provider.Limit, "the pool %s has %d machines in all of its zones; %d "+
			"more are above its maximum of %d", l.pool.id, l.pool.target(), req.To-l.target, l.pool.limits.max)
	}
	return nil
}

// afterGrowth looks at the pool once more, if there are others in it. A failure here is
// only logged: what was written is written.
func (p *Provider) afterGrowth(ctx context.Context, before look, req provider.GrowRequest) *provider.Error {
	if before.pool == nil || len(before.pool.members) < 2 {
		return nil
	}
	l, refusal := p.glance(ctx, provider.OpGrow, req.Group)
	if refusal != nil {
		p.log.Warn("a pool cannot be read again after one of its groups has grown", "group", req.Group, "pool",
			before.pool.id, "error", refusal)
		return nil
	}
	return l.above(req)
}

// above is the error of a scale-up that was done, if the pool now has more than its maximum:
// another client has changed the pool between the look and the write.
//
// Nothing is taken back. As soon as replicas are written, machine-controller-manager may
// make the machine, and lower replicas would then end one that it chooses. We err to a
// machine too many: nothing grows until the pool is below its maximum again, and one that
// is not needed goes by its name.
func (l look) above(req provider.GrowRequest) *provider.Error {
	if l.pool == nil || l.pool.target() <= l.pool.limits.max {
		return nil
	}
	e := kube.Refuse(provider.OpGrow, req.Group, provider.Limit, "its replicas were raised from %d to %d, and the pool "+
		"%s was changed by another client meanwhile: it has %d machines in all of its zones, %d above its maximum of %d; "+
		"what was asked for is not taken back, and nothing grows until the pool is below its maximum",
		req.From, req.To, l.pool.id, l.pool.target(), l.pool.target()-l.pool.limits.max, l.pool.limits.max)
	e.MayHaveHappened = true
	return e
}

// Cancel takes back replicas that have no machine. machine-controller-manager deletes
// machines only if there are more than replicas say; so nothing is deleted as long as
// replicas stay at or above the number of machines.
//
// A MachineSet that is about to make machines could do so between our look and our
// write, and which machine goes then is not ours to say. So nothing is taken back
// unless its controllers have seen all of what was asked for and say that they make
// no machines; and if some come all the same, the target is raised again.
func (p *Provider) Cancel(ctx context.Context, req provider.CancelRequest) (provider.CancelResult, error) {
	for attempt := 1; ; attempt++ {
		l, refusal := p.look(ctx, provider.OpCancel, req.Group)
		if refusal != nil {
			return provider.CancelResult{}, refusal
		}
		result := provider.CancelResult{Target: l.target}
		if l.target != req.From {
			return result, kube.Refuse(provider.OpCancel, req.Group, provider.Conflict, "the target is %d, not %d",
				l.target, req.From)
		}
		floor := max(req.To, l.bounds.min, len(l.standing.live))
		if l.pool != nil {
			floor = max(floor, l.target-max(0, l.pool.living()-l.pool.limits.min))
		}
		if floor >= l.target || !l.stuck() {
			return result, nil
		}
		err := p.patch(ctx, l.deployment, floor, nil)
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		if err != nil {
			return result, hints.Write(ctx, provider.OpCancel, req.Group, fmt.Sprintf("set its replicas to %d", floor), err)
		}
		floor = p.makeRoom(ctx, req.Group, floor)
		return provider.CancelResult{Target: floor, Cancelled: l.target - floor}, nil
	}
}

// stuck reports whether the controllers have seen what the group says now, and make no
// machines for it.
func (l look) stuck() bool {
	d := l.deployment
	newest := newestOf(l.sets)
	if newest == nil || l.standing.rolling != "" || d.Status.ObservedGeneration < d.Generation {
		return false
	}
	sum := 0
	for _, s := range l.sets {
		if s.Status.ObservedGeneration < s.Generation {
			return false
		}
		sum += int(s.Spec.Replicas)
	}
	_, disabled := newest.Labels[v1alpha1.ScaleUpDisabledLabel]
	return sum == l.target && (disabled || frozen(newest.Labels, newest.Status.Conditions) ||
		holds(newest.Status.Conditions, v1alpha1.ConditionReplicaFailure))
}

// makeRoom raises the target again to the number of machines, if some came while it
// was lowered. A failure here is only logged: what goes then is most likely what
// came last, which has no node yet.
func (p *Provider) makeRoom(ctx context.Context, id provider.GroupID, target int) int {
	l, refusal := p.look(ctx, provider.OpCancel, id)
	if refusal != nil {
		p.log.Warn("a group cannot be read again after its replicas were lowered", "group", id, "error", refusal)
		return target
	}
	live := len(l.standing.live)
	if l.target != target || live <= target {
		return target
	}
	if err := p.patch(ctx, l.deployment, live, nil); err != nil {
		p.log.Warn("machines came while replicas were lowered, and these cannot be raised again", "group", id, "error", err)
		return target
	}
	return live
}

// patch sets spec.replicas, and annotations with them, if the MachineDeployment is
// still the one that was read. Nothing else of it is sent.
func (p *Provider) patch(
	ctx context.Context, d *v1alpha1.MachineDeployment, replicas int, annotations map[string]string,
) error {
	return p.send(ctx, v1alpha1.ResourceMachineDeployments, d.Name, map[string]any{
		"metadata": patchMeta(d.ResourceVersion, annotations),
		"spec":     map[string]any{"replicas": replicas},
	})
}

func patchMeta(resourceVersion string, annotations map[string]string) map[string]any {
	meta := map[string]any{"resourceVersion": resourceVersion}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return meta
}

func (p *Provider) send(ctx context.Context, resource, name string, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("write down a patch of %s %s: %w", resource, name, err)
	}
	_, err = p.client.Resource(v1alpha1.Resource(resource)).Namespace(p.settings.namespace).Patch(ctx, name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: "plimsoll"})
	return err
}
