package gardener

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Remove names the machines in an annotation of their MachineDeployment, and lowers
// replicas by their number, in one patch. From then on it is
// machine-controller-manager's to end them, whichever process leads here.
//
// With the marker priority the machines themselves are annotated, before replicas
// are lowered; the marks are taken back if replicas were certainly not, after a
// deadline, too.
func (p *Provider) Remove(ctx context.Context, req provider.RemoveRequest) (provider.RemoveResult, error) {
	p.underWay.begin(req.Group, req.Instances)
	defer func() { p.underWay.end(req.Group, p.now()) }()
	before := priorities{} // of the machines that were annotated, by all attempts
	result, lowering, refusal := p.remove(ctx, req, before)
	if refusal == nil {
		p.unmarkStaying(ctx, before, result.Instances)
		return result, nil
	}
	if !lowering || !refusal.MayHaveHappened {
		p.unmark(ctx, refusal, before)
	}
	return result, refusal
}

// remove also reports whether replicas may have been lowered all the same: what fails
// before they are written has not, even where P1 wants it to count as done.
func (p *Provider) remove(
	ctx context.Context, req provider.RemoveRequest, before priorities,
) (provider.RemoveResult, bool, *provider.Error) {
	unsettled := false // a machine was annotated, and there was no time to see it
	lowering := false  // the last write of replicas has failed, and no look has shown since that they were not lowered
	for attempt := 1; ; attempt++ {
		l, refusal := p.look(ctx, provider.OpRemove, req.Group)
		if refusal != nil {
			return provider.RemoveResult{}, lowering, refusal
		}
		result := provider.RemoveResult{Target: l.target}
		plan, refusal := planRemoval(l, req, p.settings.marker, p.now())
		if refusal != nil {
			return result, false, refusal
		}
		result.Instances = plan.results
		if len(plan.doomed) == 0 { // or it was done by an attempt whose answer was lost
			return result, false, nil
		}
		what := fmt.Sprintf("name %d machines to be deleted, and lower its replicas from %d to %d",
			len(plan.doomed), l.target, plan.target)
		var err error
		if p.settings.marker == priority {
			var marked bool
			marked, err = p.prioritise(ctx, l, plan.doomed, before)
			unsettled = unsettled || marked
			if err == nil && unsettled {
				what = "wait for machine-controller-manager to see the marks"
				err = kube.Wait(ctx, p.settling)
				unsettled = err != nil
				if err == nil && req.If != "" {
					continue // the wait was long enough for a machine to be made after all
				}
			}
		}
		lowering = err == nil
		if lowering {
			err = p.patch(ctx, l.deployment, plan.target, plan.annotations)
		}
		if err == nil {
			result.Target = plan.target
			return result, false, nil
		}
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		return provider.RemoveResult{Target: l.target}, lowering, hints.Write(ctx, provider.OpRemove, req.Group, what, err)
	}
}

// settling is how long machine-controller-manager has to see the priorities of
// machines before the target falls: it chooses from a cache of its own, and nothing
// says when that has them. We err to waiting: a removal is never urgent. Names in the
// annotation need no such time, since they come with the replicas.
const settling = time.Second

// removal is what is to be done for a request.
type removal struct {
	results     []provider.InstanceResult
	doomed      []string // machines to be named and paid for
	target      int
	annotations map[string]string // of the MachineDeployment
}

// planRemoval judges every instance before the first is touched.
func planRemoval(l look, req provider.RemoveRequest, how marker, now time.Time) (removal, *provider.Error) {
	plan := removal{results: make([]provider.InstanceResult, len(req.Instances))}
	stays := func(id provider.InstanceID, format string, args ...any) *provider.Error {
		return kube.Refuse(provider.OpRemove, req.Group, provider.Conflict, "the instance %s is left alone: %s", id,
			fmt.Sprintf(format, args...))
	}
	for i, id := range req.Instances {
		plan.results[i].ID = id
		home, exists := l.home[id]
		at := slices.IndexFunc(l.machines, func(m *v1alpha1.Machine) bool { return m.Name == string(id) })
		switch {
		case !exists:
			continue // it is gone
		case at < 0 && home == "":
			plan.results[i].Err = stays(id, "it is a Machine of no MachineDeployment")
		case at < 0:
			plan.results[i].Err = stays(id, "it belongs to %s", home)
		case l.standing.leaving[string(id)] || slices.Contains(plan.doomed, string(id)):
		default:
			in := instanceOf(l.machines[at], l.standing, l.census.strange[v1alpha1.KindMachine+"/"+string(id)], now)
			if why := cmp.Or(in.Hold, req.If.Unmet(in, hasJoined(l.machines[at]))); why != "" {
				plan.results[i].Err = stays(id, "%s", why)
				continue
			}
			plan.doomed = append(plan.doomed, string(id))
		}
	}
	plan.target = l.target - len(plan.doomed)
	if len(plan.doomed) == 0 {
		return plan, nil
	}
	if refusal := l.mayShrink(req, plan, how); refusal != nil {
		return removal{}, refusal
	}
	switch how {
	case timestamped:
		at := markTime(now, l.deployment, l.marks)
		plan.annotations = map[string]string{
			v1alpha1.TriggerDeletionAnnotation:   formatMarks(addMarks(l.ownMarks(), plan.doomed, at)),
			v1alpha1.LastReplicaChangeAnnotation: at.Format(time.RFC3339),
		}
	case names:
		plan.annotations = map[string]string{
			v1alpha1.TriggerDeletionAnnotation: formatMarks(addMarks(l.ownMarks(), plan.doomed, time.Time{})),
		}
	}
	return plan, nil
}

// ownMarks are those that the MachineDeployment has now; a look joins them with
// earlier ones.
func (l look) ownMarks() []mark {
	return parseMarks(l.deployment.Annotations[v1alpha1.TriggerDeletionAnnotation])
}

// mayShrink holds a removal against the minima, and against all that would make
// another machine go than the one that is named. What it refuses is refused as a
// whole.
func (l look) mayShrink(req provider.RemoveRequest, plan removal, how marker) *provider.Error {
	no := func(kind provider.Kind, format string, args ...any) *provider.Error {
		return kube.Refuse(provider.OpRemove, req.Group, kind, format, args...)
	}
	k := len(plan.doomed)
	switch {
	case !req.Force && plan.target < l.bounds.min:
		return no(provider.Limit, "removing %d of %d machines would leave %d, below the minimum of %d",
			k, l.target, plan.target, l.bounds.min)
	case !req.Force && l.pool != nil && l.pool.living()-k < l.pool.limits.min:
		return no(provider.Limit, "the pool %s has %d machines in the zones that stay; without %d of them it is below its "+
			"minimum of %d", l.pool.id, l.pool.living(), k, l.pool.limits.min)
	case plan.target < 0:
		return no(provider.Conflict,
			"its target is %d, and %d machines beyond it are machine-controller-manager's own to remove", l.target, k)
	case l.standing.rolling != "":
		return no(provider.Conflict, "%s", rolloutMessage(l.standing.rolling))
	}
	rivals := slices.DeleteFunc(l.standing.rivals(how), func(r rival) bool {
		return slices.Contains(plan.doomed, r.machine)
	})
	if len(rivals) > 0 && rivals[0].low {
		return no(provider.Conflict, "%s", rivals[0].why)
	}
	if how == timestamped {
		return nil // the named machines go, whatever else is there or missing
	}
	if missing := l.target - len(l.standing.live); missing > 0 {
		return no(provider.Conflict,
			"%d of the machines asked for are not there yet: lower replicas would only keep them from coming", missing)
	}
	if len(rivals) > 0 {
		return no(provider.Conflict, "%s", rivals[0].why)
	}
	return nil
}
