package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Remove marks the Machines with the annotation by which Cluster API deletes
// them first, and then, when that has had time to be seen, lowers the target by
// their number. The marks stay until the Machines are gone; they are taken back if
// the target was certainly not lowered. Before it marks any, it waits a little for
// those of the removal before it to be deleted, and refuses if they are not.
//
// A mark of ours on a Machine that is live, with a target as high as the number
// of Machines, is therefore what a removal left behind that ended half-way.
// The next one completes it if it is asked to, else takes it back.
func (p *Provider) Remove(ctx context.Context, req provider.RemoveRequest) (provider.RemoveResult, error) {
	result, marked, refusal := p.remove(ctx, req)
	if refusal == nil || refusal.MayHaveHappened {
		p.memory.left(req.Group, req.Instances)
	} else if err := p.takeBack(ctx, marked); err != nil {
		refusal.Message += fmt.Sprintf("; and the marks cannot be taken back: %v", err)
	}
	if refusal != nil {
		return result, refusal
	}
	return result, nil
}

// remove also returns the Machines that it has marked, even if it failed.
func (p *Provider) remove(
	ctx context.Context, req provider.RemoveRequest,
) (provider.RemoveResult, []*machine, *provider.Error) {
	var marked []*machine // by all attempts
	unsettled := false    // a mark was set or taken back, and Cluster API had no time to see it
	for tries, waits := 0, 0; ; {
		l, err := p.look(ctx, provider.OpRemove, req.Group)
		if err != nil {
			return provider.RemoveResult{}, marked, provider.AsError(provider.OpRemove, req.Group, err)
		}
		result := provider.RemoveResult{Target: *l.group.replicas}
		elsewhere, refusal := p.elsewhere(ctx, l, req)
		if refusal != nil {
			return result, marked, refusal
		}
		if l.lists(req.Instances) {
			result, refusal := p.empty(ctx, l, req, elsewhere)
			return result, marked, refusal
		}
		plan, refusal := planRemoval(l, req, elsewhere, p.settings.keys)
		if refusal != nil {
			return result, marked, refusal
		}
		if len(plan.doomed) == 0 { // or it was done by an attempt whose answer was lost
			result.Instances = plan.results
			return result, marked, p.giveUp(ctx, req.Group, marked, plan.results)
		}
		if last := plan.unfinished; last != nil {
			if waits++; waits > waitsForLast {
				return result, marked, kube.Refuse(provider.OpRemove, req.Group, provider.Conflict, "the Machine %s was removed, "+
					"and Cluster API has not begun to delete it: it could delete the next in its place", last.id())
			}
			if err := kube.Wait(ctx, p.settling/5<<(waits-1)); err != nil {
				return result, marked, hints.BeforeWrite(ctx, provider.OpRemove, req.Group,
					fmt.Sprintf("wait for Cluster API to delete the Machine %s, which was removed before", last.id()), err)
			}
			continue
		}
		tries++
		what := fmt.Sprintf("mark %d Machines to be deleted", len(plan.doomed))
		unsettled = unsettled || len(plan.stale) > 0
		if err = p.takeBack(ctx, plan.stale); err == nil {
			var now []*machine
			now, err = p.mark(ctx, l.kinds, plan.doomed)
			marked = append(marked, now...)
			unsettled = unsettled || len(now) > 0
		}
		if err == nil && unsettled {
			what = "wait for Cluster API to see the marks"
			err = kube.Wait(ctx, p.settling)
			unsettled = err != nil
			if err == nil && req.If != "" {
				continue // the wait was long enough for a Machine to be made after all
			}
		}
		if err == nil {
			what = fmt.Sprintf("lower its replicas from %d to %d, for marked Machines", *l.group.replicas, plan.target)
			err = p.setReplicas(ctx, l, plan.target)
		}
		if err == nil {
			return provider.RemoveResult{Target: plan.target, Instances: plan.results}, marked, nil
		}
		if apierrors.IsConflict(err) && tries < attempts {
			continue // the marks are found by the next look
		}
		return result, marked, hints.Write(ctx, provider.OpRemove, req.Group, what, err)
	}
}

// giveUp takes the marks from Machines that turned out to stay, though they had been
// marked: nothing is removed in their place.
func (p *Provider) giveUp(
	ctx context.Context, id provider.GroupID, marked []*machine, results []provider.InstanceResult,
) *provider.Error {
	staying := slices.DeleteFunc(slices.Clone(marked), func(m *machine) bool {
		return !slices.ContainsFunc(results, func(r provider.InstanceResult) bool { return r.ID == m.id() && r.Err != nil })
	})
	if err := p.takeBack(ctx, staying); err != nil {
		return hints.Write(ctx, provider.OpRemove, id, "take the marks from Machines that stay", err)
	}
	return nil
}

// settling is how long Cluster API has to see marks before the target falls. Its
// controllers choose which to delete from a cache of their own, and nothing in the API
// says when that cache has a mark: without it another Machine would go, with pods on it.
// Their caches are some tens of milliseconds behind as a rule. We err to
// waiting: a removal is never urgent.
const settling = time.Second

// waitsForLast is how often a removal waits for the one before it: a fifth of that, then
// twice as long each time, six seconds in all. Cluster API takes milliseconds, unless its
// controllers are down. A scale-up of the group waits meanwhile.
const waitsForLast = 5

// removal is what is to be done for a request.
type removal struct {
	results []provider.InstanceResult
	// doomed are the Machines to be marked and paid for; stale are ours, left
	// marked by a removal that is not wanted any more.
	doomed, stale []*machine
	// unfinished is one that was removed before and is not being deleted yet, nil if
	// there is none. To mark another beside it would leave the choice to Cluster API.
	unfinished *machine
	target     int
}

// planRemoval judges every instance before the first is touched. elsewhere tells
// of those that are no members of the group where they are, if they are.
func planRemoval(
	l look, req provider.RemoveRequest, elsewhere map[provider.InstanceID]string, k keys,
) (removal, *provider.Error) {
	target := *l.group.replicas
	standing := standingOf(l.members, l.sets, target)
	plan := removal{results: make([]provider.InstanceResult, len(req.Instances))}
	stays := func(id provider.InstanceID, why string) *provider.Error {
		return kube.Refuse(provider.OpRemove, req.Group, provider.Conflict, "the instance %s is left alone: %s", id, why)
	}
	for i, id := range req.Instances {
		plan.results[i].ID = id
		at := slices.IndexFunc(l.members, func(m *machine) bool { return m.id() == id })
		if at < 0 {
			if where := elsewhere[id]; where != "" {
				plan.results[i].Err = stays(id, where)
			}
			continue // else it is gone
		}
		m := l.members[at]
		switch {
		case standing.leaves(m) || slices.Contains(plan.doomed, m):
		case m.paused:
			plan.results[i].Err = stays(id, "it is paused, so that Cluster API would not delete it")
		default:
			if why := req.If.Unmet(standing.instanceOf(m), m.nodeName != ""); why != "" {
				plan.results[i].Err = stays(id, why)
				break
			}
			plan.doomed = append(plan.doomed, m)
		}
	}
	plan.target = target - len(plan.doomed)
	if len(plan.doomed) == 0 {
		return plan, nil
	}
	// From here on a refusal is one of the whole: what Cluster API would delete
	// is a question of all Machines of the group.
	no := func(kind provider.Kind, format string, args ...any) (removal, *provider.Error) {
		return removal{}, kube.Refuse(provider.OpRemove, req.Group, kind, format, args...)
	}
	if plan.target < l.bounds.min && !req.Force {
		return no(provider.Limit, "removing %d of %d Machines would leave %d, below the minimum of %d",
			len(plan.doomed), target, plan.target, l.bounds.min)
	}
	if old := rollingOut(l.sets); old != "" {
		return no(provider.Conflict, "it is being rolled out: the MachineSet %s of an older revision has Machines still", old)
	}
	if missing := target - len(standing.live); missing > 0 {
		return no(provider.Conflict,
			"%d of the Machines asked for are not there yet: lower replicas would only keep them from coming", missing)
	}
	for _, m := range standing.marked {
		switch {
		case standing.paid:
			plan.unfinished = m
		case slices.Contains(plan.doomed, m):
		case !m.markedByUs():
			return no(provider.Conflict,
				"another client annotated the Machine %s with %s, and Cluster API might delete it instead", m.name, k.deleteMe())
		default:
			plan.stale = append(plan.stale, m)
		}
	}
	return plan, nil
}

// elsewhere finds instances that are not the group's: those of other groups,
// and provider ids of a MachinePool.
func (p *Provider) elsewhere(
	ctx context.Context, l look, req provider.RemoveRequest,
) (map[provider.InstanceID]string, *provider.Error) {
	out := map[provider.InstanceID]string{}
	for _, id := range req.Instances {
		if home, ok := l.home[id]; ok {
			if home != req.Group {
				out[id] = fmt.Sprintf("it belongs to %s", home)
			}
			continue
		}
		if l.group.kind == machinePool && slices.Contains(l.group.providerIDs, string(id)) {
			if len(l.members) > 0 {
				return nil, kube.Refuse(provider.OpRemove, req.Group, provider.Conflict, "%s", hasMachines)
			}
			continue
		}
		namespace, name, ok := parseInstanceID(id)
		if !ok {
			continue
		}
		o, err := p.client.Resource(l.kinds.resources[machineKind]).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil && o.GetDeletionTimestamp() == nil:
			out[id] = "it is a Machine of another group, or of none"
		case err != nil && !apierrors.IsNotFound(err):
			return nil, hints.BeforeWrite(ctx, provider.OpRemove, req.Group, fmt.Sprintf("look for the Machine %s", id), err)
		}
	}
	return out, nil
}

// mark annotates Machines, and returns those that it has. It ends at the first failure.
func (p *Provider) mark(ctx context.Context, k kinds, machines []*machine) ([]*machine, error) {
	value := markPrefix + p.now().UTC().Format(time.RFC3339)
	var done []*machine
	for _, m := range machines {
		if m.mark != nil {
			continue // by an attempt before this one, or by another client
		}
		if err := p.annotate(ctx, k, m, &value); err != nil {
			return done, fmt.Errorf("annotate the Machine %s: %w", m.id(), err)
		}
		done = append(done, m)
	}
	return done, nil
}

// takeBack removes our marks again. A Machine that has changed since is read
// once more; one that is gone needs nothing.
func (p *Provider) takeBack(ctx context.Context, machines []*machine) error {
	if len(machines) == 0 {
		return nil
	}
	k, err := p.directory.kinds(ctx, p.settings)
	if err != nil {
		return err
	}
	var failures []string
	for _, m := range machines {
		client := p.client.Resource(k.resources[machineKind]).Namespace(m.namespace)
		for attempt := 1; ; attempt++ {
			o, err := client.Get(ctx, m.name, metav1.GetOptions{})
			if err == nil {
				again := readMachine(o, p.settings.keys)
				if !again.markedByUs() {
					break
				}
				err = p.annotate(ctx, k, &again, nil)
			}
			if err == nil || apierrors.IsNotFound(err) {
				break
			}
			if !apierrors.IsConflict(err) || attempt == attempts {
				failures = append(failures, fmt.Sprintf("%s: %v", m.id(), err))
				break
			}
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("unmark Machines: %s", strings.Join(failures, "; "))
	}
	return nil
}

// annotate sets or removes the mark, if the Machine is still the one that was
// read. It is an update, since the usual rights have no patch of Machines.
func (p *Provider) annotate(ctx context.Context, k kinds, m *machine, value *string) error {
	o := m.object.DeepCopy()
	annotations := o.GetAnnotations()
	if value == nil {
		delete(annotations, p.settings.keys.deleteMe())
	} else {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[p.settings.keys.deleteMe()] = *value
	}
	o.SetAnnotations(annotations)
	_, err := p.client.Resource(k.resources[machineKind]).Namespace(m.namespace).Update(ctx, o, writeOptions)
	return err
}
