package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests here are named for what operators of Gardener's autoscaler complain about, as
// those of providers/gardener are (complaints_test.go there).

// gardener/gardener#8142, #2014: a zone is added to a pool that has all it may have.
// What every zone would get of the maximum is less than two of them have; no share goes
// below that. When a node has gone, the new zone may have one.
func Test8142AZoneIsAdded(t *testing.T) {
	limits := Bounds{Min: 2, Max: 6}
	for _, s := range []Sizing{LaxGreedy, BackwardCompatible, Equitable} {
		for i, row := range []struct{ targets, max []int }{{[]int{3, 3, 0}, []int{3, 3, 0}}, {[]int{2, 3, 0}, nil}} {
			m := members(row.targets)
			shares := Shares(s, limits, m)
			_, maxs, floors := parts(shares)
			if d := cmp.Diff(row.max, maxs); row.max != nil && d != "" {
				t.Errorf("%s: max (-want +got): %s", s, d)
			}
			if i == 1 && maxs[2] < 1 {
				t.Errorf("%s: the new zone may have %d", s, maxs[2])
			}
			for n, floor := range floors {
				if floor > m[n].Target && row.targets[n] > 0 {
					t.Errorf("%s: zone %d has %d, and keeps %d", s, n, m[n].Target, floor)
				}
			}
			if d := cmp.Diff([]int{0, 0, 0}, Fill(s, limits, m)); d != "" {
				t.Errorf("%s: fill (-want +got): %s", s, d)
			}
		}
	}
}

// gardener/gardener#7857: the first zone, which has the pool's minimum by its number,
// has no machines to give. Another one fills it.
func Test7857TheMinimumIsNotTheFirstZones(t *testing.T) {
	for _, s := range []Sizing{LaxGreedy, BackwardCompatible, Equitable} {
		for _, limits := range []Bounds{{1, 1}, {1, 4}} {
			if d := cmp.Diff([]int{0, 1, 0}, Fill(s, limits, members([]int{0, 0, 0}, 0))); d != "" {
				t.Errorf("%s %v: fill (-want +got): %s", s, limits, d)
			}
		}
	}
}

// gardener/gardener#8534: a zone is out for long. Its part of the maximum is the others'
// meanwhile, so that pods do not wait for it. (Backward-Compatible keeps the fixed
// parts: hole e.)
func Test8534AZoneIsOut(t *testing.T) {
	limits := Bounds{Min: 3, Max: 9}
	for s, want := range map[Sizing][]int{LaxGreedy: {1, 6, 6}, Equitable: {1, 4, 4}} {
		m := members([]int{1, 2, 2}, 0)
		shares := Shares(s, limits, m)
		_, maxs, _ := parts(shares)
		if d := cmp.Diff(want, maxs); d != "" {
			t.Errorf("%s: max (-want +got): %s", s, d)
		}
		if can, room := usable(shares, m), room(limits, m); can < room {
			t.Errorf("%s: the others can use %d of %d", s, can, room)
		}
	}
}

// #30, #87: a pool that another client took below its minimum is raised again
// at the next look, without a pending pod and without Gardener's next
// reconciliation.
func Test30ThePoolIsRaisedAgain(t *testing.T) {
	for _, s := range []Sizing{LaxGreedy, BackwardCompatible, Equitable} {
		for _, targets := range [][]int{{0, 0, 0}, {2, 0, 0}, {0, 0, 1}} {
			m := members(targets)
			for i, by := range Fill(s, Bounds{Min: 3, Max: 4}, m) {
				m[i].Target += by
			}
			if got := Targets(m); got != 3 {
				t.Errorf("%s from %v: %d", s, targets, got)
			}
		}
	}
}
