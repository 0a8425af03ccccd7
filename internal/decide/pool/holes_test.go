package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests here are named for what GEP-24 leaves open, by the letters that providers/gardener
// has for it, too (holes_test.go there).

// Hole a: each group may go to a maximum of its own, and all of them to that would be
// twelve. What the pool has left bounds the sum, in whatever order they grow.
func TestHoleATheSumIsBounded(t *testing.T) {
	limits := Bounds{Min: 3, Max: 4}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		m := members([]int{0, 0, 0})
		sum := 0
		for _, s := range Shares(LaxGreedy, limits, m) {
			sum += s.Max
		}
		if sum != 12 {
			t.Fatalf("the shares sum to %d", sum)
		}
		shares := Shares(LaxGreedy, limits, m)
		for _, i := range order {
			m[i].Target += min(shares[i].Max-m[i].Target, room(limits, m))
		}
		if got := Targets(m); got != limits.Max {
			t.Errorf("in the order %v they have %d", order, got)
		}
	}
}

// Hole c: Lax-Greedy calls every group's minimum 0, and the pool's is filled all the
// same.
func TestHoleCLaxGreedyIsFilled(t *testing.T) {
	m := members([]int{0, 1, 0})
	mins, _, _ := parts(Shares(LaxGreedy, Bounds{Min: 3, Max: 4}, m))
	if d := cmp.Diff([]int{0, 0, 0}, mins); d != "" {
		t.Error("min (-want +got):", d)
	}
	if d := cmp.Diff([]int{1, 0, 1}, Fill(LaxGreedy, Bounds{Min: 3, Max: 4}, m)); d != "" {
		t.Error("fill (-want +got):", d)
	}
}

// Hole d: a pool above its maximum takes nothing from a group, and gives none.
func TestHoleDNothingIsTaken(t *testing.T) {
	for _, s := range []Sizing{LaxGreedy, BackwardCompatible, Equitable} {
		_, maxs, _ := parts(Shares(s, Bounds{Min: 1, Max: 2}, members([]int{1, 0, 3})))
		if d := cmp.Diff([]int{1, 0, 3}, maxs); d != "" {
			t.Errorf("%s (-want +got): %s", s, d)
		}
	}
}

// Hole e: under Backward-Compatible a zone that cannot grow keeps its share: the
// maximum stays out of reach, the minimum does not.
func TestHoleETheMaximumMayStayOutOfReach(t *testing.T) {
	limits, m := Bounds{Min: 3, Max: 4}, members([]int{0, 1, 1}, 0)
	if d := cmp.Diff([]int{0, 1, 0}, Fill(BackwardCompatible, limits, m)); d != "" {
		t.Error("fill (-want +got):", d)
	}
	m[1].Target++
	_, maxs, _ := parts(Shares(BackwardCompatible, limits, m))
	if d := cmp.Diff([]int{1, 2, 1}, maxs); d != "" {
		t.Error("max (-want +got):", d)
	}
}
