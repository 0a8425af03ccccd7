package pool

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func members(targets []int, blocked ...int) []Member {
	out := make([]Member, len(targets))
	for i, t := range targets {
		out[i] = Member{Target: t, Blocked: slices.Contains(blocked, i)}
	}
	return out
}

func parts(shares []Share) (mins, maxs, floors []int) {
	for _, s := range shares {
		mins, maxs, floors = append(mins, s.Min), append(maxs, s.Max), append(floors, s.Floor)
	}
	return mins, maxs, floors
}

// TestExamplesOfTheProposal: the scans that GEP-24 prints.
func TestExamplesOfTheProposal(t *testing.T) {
	for i, row := range []struct {
		sizing   Sizing
		limits   Bounds
		targets  []int
		blocked  []int
		min, max []int
	}{
		{LaxGreedy, Bounds{3, 4}, []int{0, 0, 0}, nil, []int{0, 0, 0}, []int{4, 4, 4}},
		{LaxGreedy, Bounds{3, 4}, []int{1, 0, 0}, nil, []int{0, 0, 0}, []int{4, 3, 3}},
		{LaxGreedy, Bounds{3, 4}, []int{2, 1, 0}, nil, []int{0, 0, 0}, []int{3, 2, 1}},
		{LaxGreedy, Bounds{3, 4}, []int{2, 1, 1}, nil, []int{0, 0, 0}, []int{2, 1, 1}},
		{LaxGreedy, Bounds{0, 1}, []int{0, 0}, nil, []int{0, 0}, []int{1, 1}},
		{LaxGreedy, Bounds{0, 1}, []int{1, 0}, nil, []int{0, 0}, []int{1, 0}},
		{BackwardCompatible, Bounds{0, 1}, []int{0, 0}, nil, []int{0, 0}, []int{1, 1}},
		{BackwardCompatible, Bounds{0, 1}, []int{1, 0}, nil, []int{0, 0}, []int{1, 0}},
		{BackwardCompatible, Bounds{3, 4}, []int{0, 0, 0}, nil, []int{1, 1, 1}, []int{2, 1, 1}},
		{BackwardCompatible, Bounds{3, 4}, []int{1, 1, 0}, nil, []int{1, 1, 1}, []int{2, 1, 1}},
		{BackwardCompatible, Bounds{3, 4}, []int{2, 1, 1}, nil, []int{1, 1, 1}, []int{2, 1, 1}},
		{BackwardCompatible, Bounds{1, 2}, []int{0, 0, 0}, nil, []int{1, 0, 0}, []int{1, 1, 1}},
		{BackwardCompatible, Bounds{1, 2}, []int{0, 0, 1}, nil, []int{1, 0, 0}, []int{1, 1, 1}},
		// Two zones cannot grow, and keep their shares: the pool stays at 1 of 2.
		{BackwardCompatible, Bounds{1, 2}, []int{0, 0, 1}, []int{0, 1}, []int{1, 0, 0}, []int{1, 1, 1}},
	} {
		t.Run(fmt.Sprintf("%d %s", i+1, row.sizing), func(t *testing.T) {
			mins, maxs, _ := parts(Shares(row.sizing, row.limits, members(row.targets, row.blocked...)))
			if d := cmp.Diff(row.min, mins); d != "" {
				t.Error("min (-want +got):", d)
			}
			if d := cmp.Diff(row.max, maxs); d != "" {
				t.Error("max (-want +got):", d)
			}
		})
	}
}

func TestEquitable(t *testing.T) {
	for _, row := range []struct {
		name             string
		limits           Bounds
		targets, blocked []int
		max, floor, fill []int
	}{
		{"empty", Bounds{3, 4}, []int{0, 0, 0}, nil, []int{2, 2, 2}, []int{1, 1, 1}, []int{1, 1, 1}},
		{"at its minimum", Bounds{3, 4}, []int{1, 1, 1}, nil, []int{2, 2, 2}, []int{1, 1, 1}, []int{0, 0, 0}},
		{"a zone has no quota", Bounds{3, 4}, []int{0, 1, 1}, []int{0}, []int{0, 2, 2}, []int{0, 2, 1}, []int{0, 1, 0}},
		{"and its share is used", Bounds{3, 4}, []int{0, 2, 1}, []int{0}, []int{0, 2, 2}, []int{0, 2, 1}, []int{0, 0, 0}},
		{"it recovers", Bounds{3, 4}, []int{0, 2, 1}, nil, []int{1, 2, 1}, []int{1, 1, 1}, []int{0, 0, 0}},
		{"full", Bounds{3, 4}, []int{1, 2, 1}, nil, []int{1, 2, 1}, []int{1, 1, 1}, []int{0, 0, 0}},
		{"one node, two zones", Bounds{0, 1}, []int{0, 0}, nil, []int{1, 1}, []int{0, 0}, []int{0, 0}},
		{"the one node is there", Bounds{0, 1}, []int{1, 0}, nil, []int{1, 0}, []int{0, 0}, []int{0, 0}},
		{"one zone of three", Bounds{1, 2}, []int{0, 0, 1}, []int{0, 1}, []int{0, 0, 2}, []int{0, 0, 1}, []int{0, 0, 0}},
		{"no zone is preferred", Bounds{3, 5}, []int{0, 0}, nil, []int{3, 3}, []int{2, 1}, []int{2, 1}},
		{"more zones than nodes", Bounds{2, 3}, []int{1, 1, 0, 0}, nil, []int{1, 1, 1, 1}, []int{1, 1, 0, 0}, []int{0, 0, 0, 0}},
		{"above its maximum", Bounds{1, 3}, []int{4, 1}, nil, []int{4, 1}, []int{1, 0}, []int{0, 0}},
		{"no group can grow", Bounds{3, 4}, []int{1, 0}, []int{0, 1}, []int{1, 0}, []int{1, 0}, []int{0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := members(row.targets, row.blocked...)
			_, maxs, floors := parts(Shares(Equitable, row.limits, m))
			if d := cmp.Diff(row.max, maxs); d != "" {
				t.Error("max (-want +got):", d)
			}
			if d := cmp.Diff(row.floor, floors); d != "" {
				t.Error("floor (-want +got):", d)
			}
			if d := cmp.Diff(row.fill, Fill(Equitable, row.limits, m)); d != "" {
				t.Error("fill (-want +got):", d)
			}
		})
	}
}

// TestFillPassesAShare: the fixed share of a zone does not keep the pool below its
// minimum when another zone cannot grow.
func TestFillPassesAShare(t *testing.T) {
	m := members([]int{0, 1, 1}, 0)
	if d := cmp.Diff([]int{0, 1, 0}, Fill(BackwardCompatible, Bounds{3, 4}, m)); d != "" {
		t.Error("(-want +got):", d)
	}
}

// TestAZoneThatIsLeaving: under Backward-Compatible, what the others may have and keep
// is what it would be without it. What it has still counts in the sum.
func TestAZoneThatIsLeaving(t *testing.T) {
	for _, row := range []struct {
		name             string
		limits           Bounds
		targets, leaving []int
		max, floor, min  []int
	}{
		{"the last", Bounds{2, 8}, []int{2, 2, 4}, []int{2}, []int{2, 2, 4}, []int{1, 1, 0}, []int{1, 1, 0}},
		{"the first", Bounds{3, 9}, []int{4, 1, 1}, []int{0}, []int{4, 4, 4}, []int{0, 2, 1}, []int{0, 2, 1}},
		{"it is empty", Bounds{1, 5}, []int{0, 1, 1}, []int{0}, []int{0, 3, 2}, []int{0, 1, 0}, []int{0, 1, 0}},
		{"all", Bounds{2, 4}, []int{1, 1}, []int{0, 1}, []int{1, 1}, []int{0, 0}, []int{0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := members(row.targets, row.leaving...)
			for _, i := range row.leaving {
				m[i].Leaving = true
			}
			mins, maxs, floors := parts(Shares(BackwardCompatible, row.limits, m))
			if d := cmp.Diff([][]int{row.min, row.max, row.floor}, [][]int{mins, maxs, floors}); d != "" {
				t.Error("min, max, floor (-want +got):", d)
			}
		})
	}
}

// TestAPoolKeepsItsLimits plays cycles of growth, removal, fill, failing zones and
// hands that edit targets. What a cycle does by its shares never takes the pool
// above its maximum or below its minimum, and what the pool has room for can be
// used wherever a member can grow.
func TestAPoolKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizing := rapid.SampledFrom([]Sizing{LaxGreedy, BackwardCompatible, Equitable}).Draw(t, "sizing")
		n := rapid.IntRange(1, 6).Draw(t, "zones")
		l := Bounds{Min: rapid.IntRange(0, 8).Draw(t, "min")}
		l.Max = l.Min + rapid.IntRange(0, 12).Draw(t, "more")
		m := make([]Member, n)
		for cycle := range rapid.IntRange(1, 12).Draw(t, "cycles") {
			for i := range m {
				m[i].Blocked = rapid.IntRange(0, 3).Draw(t, "blocked") == 0
			}
			if cycle > 0 && rapid.IntRange(0, 5).Draw(t, "hand") == 0 {
				m[rapid.IntRange(0, n-1).Draw(t, "where")].Target = rapid.IntRange(0, l.Max+2).Draw(t, "by hand")
			}
			before := Targets(m)
			// 1. The minimum.
			for i, by := range Fill(sizing, l, m) {
				if by > 0 && m[i].Blocked {
					t.Fatalf("a member that cannot grow is raised: %v", m)
				}
				m[i].Target += by
			}
			filled := Targets(m)
			free := slices.ContainsFunc(m, func(m Member) bool { return !m.Blocked })
			if filled > max(before, min(l.Min, l.Max)) || free && filled < min(l.Min, l.Max) {
				t.Fatalf("%s %v: filled from %d to %d: %v", sizing, l, before, filled, m)
			}
			// 2. Growth, in any order, of as much as is wished for.
			shares, room := Shares(sizing, l, m), room(l, m)
			for i := range m {
				if shares[i].Max < m[i].Target || m[i].Blocked && sizing != BackwardCompatible && shares[i].Max != m[i].Target {
					t.Fatalf("%s %v: share %+v of %+v", sizing, l, shares[i], m[i])
				}
			}
			if usable := usable(shares, m); free && sizing != BackwardCompatible && usable < room {
				t.Fatalf("%s %v: room for %d, and %d can be used: %v %v", sizing, l, room, usable, m, shares)
			}
			for _, i := range rapid.Permutation(indexes(n)).Draw(t, "order") {
				if m[i].Blocked {
					continue
				}
				by := min(rapid.IntRange(0, 6).Draw(t, "want"), shares[i].Max-m[i].Target, room)
				m[i].Target, room = m[i].Target+by, room-by
			}
			if grown := Targets(m); grown > max(filled, l.Max) {
				t.Fatalf("%s %v: grown to %d: %v", sizing, l, grown, m)
			}
			// 3. Removals, as far as floors and the minimum let them.
			shares = Shares(sizing, l, m)
			if all := Targets(m); all > l.Min {
				if !slices.ContainsFunc(indexes(n), func(i int) bool { return m[i].Target > shares[i].Floor }) {
					t.Fatalf("%s %v: nothing may go of %d: %v %v", sizing, l, all, m, shares)
				}
			}
			grown := Targets(m)
			for _, i := range rapid.Permutation(indexes(n)).Draw(t, "order of removals") {
				for range rapid.IntRange(0, 4).Draw(t, "remove") {
					if m[i].Target > max(0, shares[i].Floor) && Targets(m) > l.Min {
						m[i].Target--
					}
				}
			}
			if left := Targets(m); left < min(grown, l.Min) {
				t.Fatalf("%s %v: %d are left: %v", sizing, l, left, m)
			}
		}
	})
}

// usable is how much all members that can grow may grow together, the pool's room
// aside.
func usable(shares []Share, m []Member) int {
	sum := 0
	for i := range m {
		if !m[i].Blocked {
			sum += shares[i].Max - m[i].Target
		}
	}
	return sum
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Sizing{
		"": Equitable, "Equitable": Equitable, "Lax-Greedy": LaxGreedy, "Backward-Compatible": BackwardCompatible,
	} {
		if got, err := parse(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := parse("equitable "); err == nil {
		t.Error("a name that is none is taken")
	}
}
