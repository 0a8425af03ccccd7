package gardener

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// rival is a live machine that would go, or might, in the place of one that is named.
type rival struct {
	machine string
	// low: before all that are named, whatever the marker.
	low bool
	why string
}

// rivals are a group's, those that certainly go first before the others. Remove
// refuses whatever leaves one of them behind, and the Inventory holds the same, since
// a removal that is refused only at its end has moved pods for nothing.
func (s standing) rivals(how marker) []rival {
	var low, marked []rival
	for _, m := range s.live {
		if n := priorityOf(m); n < priorityDelete {
			low = append(low, rival{m.Name, true, fmt.Sprintf("the machine %s has the priority %d, goes before all that are "+
				"named, and would go instead: set its annotation %s to %q",
				m.Name, n, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDefault)})
		}
	}
	if how == timestamped {
		return low // the named machines go, whatever else is marked
	}
	for _, m := range s.marked {
		if priorityOf(m) >= priorityDelete {
			marked = append(marked, rival{m.Name, false, fmt.Sprintf("the machine %s is marked to go first, and might go "+
				"instead: remove it, or set its annotation %s to %q and take its name out of the MachineDeployment's annotation %s",
				m.Name, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDefault, v1alpha1.TriggerDeletionAnnotation)})
		}
	}
	return slices.Concat(low, marked)
}

// holdForRivals holds each instance that has another's rival. A rival that is the only
// one may go. marking are machines that a removal under way may just be marking:
// these hold nothing up, since their marks are paid for, or taken back, in a second.
func holdForRivals(instances []provider.Instance, rivals []rival, marking []provider.InstanceID) {
	rivals = slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool {
		return !r.low && slices.Contains(marking, provider.InstanceID(r.machine))
	})
	for i := range instances {
		in := &instances[i]
		if in.State == provider.Deleting || in.Hold != "" {
			continue
		}
		if at := slices.IndexFunc(rivals, func(r rival) bool { return r.machine != string(in.ID) }); at >= 0 {
			in.Hold = rivals[at].why
		}
	}
}

// underWay remembers the last removal of each group, as long as this process lives:
// a read at the same time must not take its marks for another client's.
type underWay struct {
	mu       sync.Mutex
	removals map[provider.GroupID]removing
}

// removing is a call of Remove; its end is zero until then.
type removing struct {
	instances []provider.InstanceID
	end       time.Time
}

func (u *underWay) begin(id provider.GroupID, instances []provider.InstanceID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removals[id] = removing{instances: slices.Clone(instances)}
}

func (u *underWay) end(id provider.GroupID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.removals[id]
	r.end = at
	u.removals[id] = r
}

// since are the instances of a removal that was not over at an instant.
func (u *underWay) since(id provider.GroupID, at time.Time) []provider.InstanceID {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.removals[id]; r.end.IsZero() || !r.end.Before(at) {
		return r.instances
	}
	return nil
}
