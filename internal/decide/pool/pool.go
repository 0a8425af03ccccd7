// Package pool spreads what a pool may have over its groups: the sizing
// strategies, as pure functions.
//
// What flows in: the pool's minimum and maximum, and its members in the order of
// their zones, each with its target and whether it cannot grow now. What flows
// out: a Share for each member, and which members are to be raised so that the
// pool has its minimum. Who asks for growth takes it from a share and from the
// pool's Room at the same time; who removes leaves each member its Floor and the
// pool its minimum. So a cycle may grow any number of members, and the pool's
// targets never exceed its maximum by it.
//
// A member's own minimum and maximum are not known here; they hold besides.
//
// Of finds the pools of a snapshot and their members; which group is which zone
// follows from the names.
//
// Pure. Who may import it: decide and its parts, and hosts that check them.
package pool

import (
	"fmt"
	"slices"
)

// Sizing names a strategy.
type Sizing string

// The strategies. GEP-24 of Gardener describes the first two.
const (
	// LaxGreedy lets each member take all that the pool has left. Nodes may end up
	// in one zone.
	LaxGreedy Sizing = "Lax-Greedy"
	// BackwardCompatible gives each member its fixed share of minimum and maximum,
	// the first ones what does not divide. A member that cannot grow keeps its
	// share, so that the maximum may be out of reach.
	BackwardCompatible Sizing = "Backward-Compatible"
	// Equitable fills the members evenly, as water does: no zone is preferred, and
	// one that cannot grow leaves its share to the others.
	Equitable Sizing = "Equitable"
)

// parse reads a strategy's name; the empty one is Equitable.
func parse(name string) (Sizing, error) {
	switch s := Sizing(name); s {
	case "":
		return Equitable, nil
	case LaxGreedy, BackwardCompatible, Equitable:
		return s, nil
	}
	return "", fmt.Errorf("the sizing %q is none of %s, %s and %s", name, Equitable, LaxGreedy, BackwardCompatible)
}

// Bounds are the pool's minimum and maximum, in nodes.
type Bounds struct{ Min, Max int }

// Member is one group of the pool.
type Member struct {
	// Target is the size that counts: asked of the cloud, in flight or there.
	Target int
	// Blocked: it cannot grow now, since it is held, rests after a failure, or is
	// on its way out.
	Blocked bool
	// Leaving: it is on its way out with all that it has. That counts in the sum, and
	// nothing is spread over it any more; it is Blocked as well.
	Leaving bool
}

// Share is what one member may have.
type Share struct {
	// Min is what the strategy prints as the member's minimum.
	Min int
	// Max is the most that it may grow to in this cycle, at least its target. All
	// members together may not have their Max: Room limits the sum.
	Max int
	// Due is what the strategy gives it. Its target may have passed that: what Fill
	// raises for the pool's minimum may, and so may a person.
	Due int
	// Floor is the least that removals leave it, as long as they leave the pool its
	// minimum too.
	Floor int
}

// Shares spreads the limits over the members by a strategy that Parse knows.
func Shares(s Sizing, l Bounds, members []Member) []Share {
	switch s {
	case LaxGreedy:
		return laxGreedy(l, members)
	case BackwardCompatible:
		return backwardCompatible(l, members)
	}
	return equitable(l, members)
}

// Targets is how many nodes the pool has been asked for.
func Targets(members []Member) int {
	sum := 0
	for _, m := range members {
		sum += m.Target
	}
	return sum
}

// room is how many more nodes the pool may have; none if it has too many.
func room(l Bounds, members []Member) int { return max(0, l.Max-Targets(members)) }

func laxGreedy(l Bounds, members []Member) []Share {
	room := room(l, members)
	out := make([]Share, len(members))
	for i, m := range members {
		out[i].Max = m.Target
		if !m.Blocked {
			out[i].Max += room
		}
		out[i].Due = out[i].Max
	}
	return out
}

func backwardCompatible(l Bounds, members []Member) []Share {
	room := room(l, members)
	stay := 0 // the members that are not leaving
	for _, m := range members {
		if !m.Leaving {
			stay++
		}
	}
	out := make([]Share, len(members))
	part := 0
	for i, m := range members {
		if m.Leaving {
			out[i].Max, out[i].Due = m.Target, m.Target
			continue
		}
		most := distribute(part, l.Max, stay)
		if most == 0 && room > 0 {
			most = 1 // a pool with more zones than nodes is not bound to the first zones
		}
		least := distribute(part, l.Min, stay)
		part++
		out[i] = Share{Min: least, Max: max(m.Target, min(most, m.Target+room)), Due: most, Floor: least}
	}
	return out
}

// distribute is the i-th of n parts of a total; the first parts get what is left
// over.
func distribute(i, total, n int) int {
	part := total / n
	if i < total%n {
		part++
	}
	return part
}

// equitable raises a level until the pool would be full: each member may rise to
// it. Those that cannot grow count as they are.
func equitable(l Bounds, members []Member) []Share {
	room, all := room(l, members), Targets(members)
	var free []int
	stuck := 0
	for i, m := range members {
		if m.Blocked {
			stuck += m.Target
		} else {
			free = append(free, i)
		}
	}
	out := make([]Share, len(members))
	for i, m := range members {
		out[i].Max, out[i].Due = m.Target, m.Target
		if m.Blocked {
			out[i].Floor = min(m.Target, max(0, l.Min-(all-m.Target)))
		}
	}
	if len(free) > 0 {
		level := levelOf(l.Max-stuck, members, free)
		for _, i := range free {
			out[i].Max += min(room, max(0, level-members[i].Target))
			out[i].Due = level
		}
		// The minimum is kept where there is most, so that no zone has to shrink.
		byTarget := slices.Clone(free)
		slices.SortStableFunc(byTarget, func(a, b int) int { return members[b].Target - members[a].Target })
		for n, i := range byTarget {
			out[i].Floor = distribute(n, max(0, l.Min-stuck), len(free))
		}
	}
	for i := range out {
		out[i].Min = out[i].Floor
	}
	return out
}

// levelOf is the least level at which the free members, each raised to it, have at
// least so many nodes.
func levelOf(want int, members []Member, free []int) int {
	targets := make([]int, len(free))
	for n, i := range free {
		targets[n] = members[i].Target
	}
	slices.Sort(targets)
	above := 0 // nodes of the members that are higher than the level
	for _, t := range targets {
		above += t
	}
	if above >= want {
		return 0
	}
	// With the lowest n members at one level, and the others above it:
	for n := 1; ; n++ {
		above -= targets[n-1]
		level := (want - above + n - 1) / n
		if n == len(targets) || level <= targets[n] {
			return level
		}
	}
}

// Fill is by how much each member is to be raised so that the pool has its
// minimum, without any pod that asks for it: the least filled that can grow first,
// of equal ones the first. Shares are kept to as long as that reaches the minimum,
// then passed: a zone's share never keeps the pool below its minimum. Only the
// pool's maximum does.
func Fill(s Sizing, l Bounds, members []Member) []int {
	raise := make([]int, len(members))
	missing := min(l.Min-Targets(members), room(l, members))
	shares := Shares(s, l, members)
	for _, within := range []bool{true, false} {
		for ; missing > 0; missing-- {
			at := -1
			for i, m := range members {
				if m.Blocked || within && m.Target+raise[i] >= shares[i].Max {
					continue
				}
				if at < 0 || m.Target+raise[i] < members[at].Target+raise[at] {
					at = i
				}
			}
			if at < 0 {
				break
			}
			raise[at]++
		}
	}
	return raise
}
