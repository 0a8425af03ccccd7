package mcm

import (
	"cmp"
	"slices"
	"time"
)

// Deployment is what a MachineDeployment asks for.
type Deployment struct {
	Replicas int
	// MaxSurge and MaxUnavailable bound a rolling update; both resolved to machines.
	MaxSurge, MaxUnavailable int
}

// Set is one MachineSet.
type Set struct {
	Name    string
	Created time.Time
	// Replicas is its spec's, Available how many of its machines may take pods.
	Replicas, Available int
	// Sized is the deployment's replicas when the set was last sized; nil if the set has no note of them.
	Sized *int
}

// IsScaling reports whether the deployment was resized since its sets were sized. As
// long as that is so, no rollout moves.
func IsScaling(d Deployment, all []Set) bool {
	return slices.ContainsFunc(all, func(s Set) bool {
		return s.Replicas > 0 && s.Sized != nil && *s.Sized != d.Replicas
	})
}

// Scale follows a resize. Where one set has all the machines, it takes the change.
// In the middle of a rollout growth goes to the newest set alone, and a shrinking
// takes from all, in proportion: a caller that asked for one machine's end by name may
// lose another one of an older set besides.
//
// newest is nil where there is none, as in a deployment that was paused before its
// template changed.
func Scale(d Deployment, newest *Set, old []Set) map[string]int {
	all := slices.Clone(old)
	if newest != nil {
		all = append(all, *newest)
	}
	if len(all) == 0 {
		return nil
	}
	active := slices.DeleteFunc(slices.Clone(all), func(s Set) bool { return s.Replicas == 0 })
	if one, ok := activeOrLatest(newest, all, active); ok {
		return changes(all, map[string]int{one: d.Replicas})
	}
	if newest != nil && saturated(d, *newest) {
		sizes := map[string]int{}
		for _, s := range old {
			sizes[s.Name] = 0
		}
		return changes(all, sizes)
	}
	allowed := 0
	if d.Replicas > 0 {
		allowed = d.Replicas + d.MaxSurge
	}
	surplus := replicas(active) - allowed
	if surplus < 0 {
		to := slices.MaxFunc(active, func(a, b Set) int { return a.Created.Compare(b.Created) })
		if newest != nil {
			to = *newest
		}
		return changes(all, map[string]int{to.Name: to.Replicas - surplus})
	}
	return changes(all, shrink(active, surplus))
}

// activeOrLatest is the set that takes a resize alone: the only one with machines,
// else, if none has any, the newest one.
func activeOrLatest(newest *Set, all, active []Set) (string, bool) {
	switch {
	case len(active) == 1:
		return active[0].Name, true
	case len(active) > 1:
		return "", false
	case newest != nil:
		return newest.Name, true
	}
	return slices.MaxFunc(all, func(a, b Set) int { return a.Created.Compare(b.Created) }).Name, true
}

// saturated reports whether the newest set needs no other one any more.
func saturated(d Deployment, newest Set) bool {
	return newest.Replicas == d.Replicas && newest.Available == d.Replicas && newest.Sized != nil &&
		*newest.Sized == d.Replicas
}

// shrink takes the surplus from all sets in proportion to their size, the larger
// ones first and the older ones of equal size; what rounding leaves, from the first.
func shrink(active []Set, surplus int) map[string]int {
	order := slices.SortedFunc(slices.Values(active), func(a, b Set) int {
		return cmp.Or(cmp.Compare(b.Replicas, a.Replicas), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	total, left := replicas(order), surplus
	sizes := map[string]int{}
	for _, s := range order {
		share := min(left, (2*s.Replicas*surplus+total)/(2*total)) // rounded half up
		sizes[s.Name] = s.Replicas - share
		left -= share
	}
	for _, s := range order {
		more := min(left, sizes[s.Name])
		sizes[s.Name] -= more
		left -= more
	}
	return sizes
}

// Roll is one step of a rolling update: up if there is room for the newest set, else
// down as far as enough machines are available. Of the old sets, machines that are
// not available go first.
func Roll(d Deployment, newest Set, old []Set) map[string]int {
	all := append(slices.Clone(old), newest)
	if up := newSize(d, newest, all); up != newest.Replicas {
		return changes(all, map[string]int{newest.Name: up})
	}
	return changes(all, rollDown(d, newest, old))
}

// NewSize is the size with which a new set begins beside the old ones.
func NewSize(d Deployment, old []Set) int { return newSize(d, Set{}, old) }

func newSize(d Deployment, newest Set, all []Set) int {
	if newest.Replicas >= d.Replicas {
		return d.Replicas
	}
	room := d.Replicas + d.MaxSurge - replicas(all)
	return newest.Replicas + max(0, min(room, d.Replicas-newest.Replicas))
}

func rollDown(d Deployment, newest Set, old []Set) map[string]int {
	least := d.Replicas - d.MaxUnavailable // that must stay available
	// Machines of the newest set that are not there yet are no reason to give up
	// more of the old ones.
	most := replicas(old) + newest.Replicas - least - (newest.Replicas - newest.Available)
	if most <= 0 {
		return nil
	}
	sizes, gone := map[string]int{}, 0
	order := slices.SortedFunc(slices.Values(old), func(a, b Set) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range order {
		ill := min(max(0, s.Replicas-s.Available), most-gone)
		sizes[s.Name] = s.Replicas - ill
		gone += ill
	}
	spare := newest.Available - least
	for _, s := range order {
		spare += s.Available
	}
	for _, s := range order {
		n := max(0, min(sizes[s.Name], spare))
		sizes[s.Name] -= n
		spare -= n
	}
	return sizes
}

func replicas(sets []Set) int {
	sum := 0
	for _, s := range sets {
		sum += s.Replicas
	}
	return sum
}

// changes drops from sizes what is so already.
func changes(all []Set, sizes map[string]int) map[string]int {
	changed := map[string]int{}
	for _, s := range all {
		if size, ok := sizes[s.Name]; ok && size != s.Replicas {
			changed[s.Name] = size
		}
	}
	return changed
}
