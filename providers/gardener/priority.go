package gardener

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// priorities are the values that the priority annotation of machines had before it
// became a mark, nil where there was none: another client may have set it.
type priorities map[string]*string

// The values of v1alpha1 as numbers.
const (
	priorityDelete  = 1
	priorityDefault = 3
)

// priorityOf is how soon a machine goes when one must: that of the least number does
// first. What is no number is the default.
func priorityOf(m *v1alpha1.Machine) int {
	if n, err := strconv.Atoi(m.Annotations[v1alpha1.PriorityAnnotation]); err == nil {
		return n
	}
	return priorityDefault
}

// prioritised reports whether a machine goes first, or even before those that are marked.
func prioritised(m *v1alpha1.Machine) bool { return priorityOf(m) <= priorityDelete }

// prioritise makes machines the first to go, adds what they had before, and tells
// whether any was annotated, or may have been. An answer may be lost, or be a
// conflict with what a repeated request has done itself: only what was refused for
// another reason is certainly not ours.
func (p *Provider) prioritise(ctx context.Context, l look, machines []string, before priorities) (bool, error) {
	marked := false
	for _, m := range l.machines {
		if !slices.Contains(machines, m.Name) || prioritised(m) {
			continue
		}
		before[m.Name] = nil
		if value, ok := m.Annotations[v1alpha1.PriorityAnnotation]; ok {
			before[m.Name] = &value
		}
		mark := v1alpha1.PriorityDelete
		err := p.setPriority(ctx, m, &mark)
		if err == nil {
			marked = true
			continue
		}
		err = fmt.Errorf("annotate the Machine %s: %w", m.Name, err)
		if !apierrors.IsConflict(err) && !hints.Write(ctx, provider.OpRemove, "", "", err).MayHaveHappened {
			delete(before, m.Name)
			return marked, err
		}
		return true, err
	}
	return marked, nil
}

// forGivingBack is how long a removal that has failed may still take for that, since
// its own time may be over. It is less than a lease needs, by default, to pass to another
// leader, which could count on a mark that it finds. What stays marked is reported.
const forGivingBack = 3 * time.Second

// unmark restores the priorities that machines had, and adds to the refusal which could
// not be restored.
func (p *Provider) unmark(ctx context.Context, refusal *provider.Error, before priorities) {
	var stay []string
	failures := p.giveBackInTime(ctx, before)
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		stay = append(stay, fmt.Sprintf("%s: %v", name, failures[name]))
	}
	if len(stay) > 0 {
		refusal.Message += "; and these machines stay the first to go: " + strings.Join(stay, "; ")
	}
}

// unmarkStaying restores the priorities of marked machines that turned out to stay. A
// failure is an error of that machine alone: the removal itself has happened. All of them
// together have the time of forGivingBack.
func (p *Provider) unmarkStaying(ctx context.Context, before priorities, results []provider.InstanceResult) {
	staying := priorities{}
	for _, r := range results {
		if value, marked := before[string(r.ID)]; marked && r.Err != nil {
			staying[string(r.ID)] = value
		}
	}
	failures := p.giveBackInTime(ctx, staying)
	for _, r := range results {
		if err := failures[string(r.ID)]; err != nil {
			r.Err.Message += fmt.Sprintf("; and it stays the first to go: %s: %v", r.ID, err)
		}
	}
}

// giveBackInTime is giveBack after a deadline, too: a mark that stays holds every other
// machine of its group.
func (p *Provider) giveBackInTime(ctx context.Context, before priorities) map[string]error {
	if len(before) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forGivingBack)
	defer cancel()
	return p.giveBack(ctx, before)
}

// giveBack writes what there was before, if the mark is what there is now: a value that another
// client has set since stays. It returns the errors, by machine.
func (p *Provider) giveBack(ctx context.Context, before priorities) map[string]error {
	left, failures := maps.Clone(before), map[string]error{}
	for attempt := 1; len(left) > 0; attempt++ {
		c := census{strange: map[string]error{}}
		machines, err := listed[v1alpha1.Machine](ctx, p, &c, v1alpha1.ResourceMachines, v1alpha1.KindMachine)
		if err != nil {
			for name := range left {
				failures[name] = err
			}
			return failures
		}
		conflicts := priorities{}
		for _, m := range machines {
			value, ok := left[m.Name]
			if !ok || m.Annotations[v1alpha1.PriorityAnnotation] != v1alpha1.PriorityDelete {
				continue
			}
			switch err := p.setPriority(ctx, m, value); {
			case err == nil, apierrors.IsNotFound(err):
			case apierrors.IsConflict(err) && attempt < attempts:
				conflicts[m.Name] = value
			default:
				failures[m.Name] = err
			}
		}
		left = conflicts
	}
	return failures
}

// setPriority sets the annotation, or with nil takes it away, if the Machine is still
// the one that was read.
func (p *Provider) setPriority(ctx context.Context, m *v1alpha1.Machine, value *string) error {
	return p.send(ctx, v1alpha1.ResourceMachines, m.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": m.ResourceVersion, "annotations": map[string]*string{v1alpha1.PriorityAnnotation: value},
	}})
}
