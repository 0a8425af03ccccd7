package providertest

import (
	"context"
	"slices"
	"sync"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// P2 to P4: read your writes, reads beside writes, hard limits.
var writeCases = []scene{
	{"P2/AReadShowsTheWriteBeforeIt", func(s *stage) {
		ids := s.standing(s.Group, 3)
		for n := 4; n <= 8; n++ {
			s.grow(s.Group, n)
			if g := s.read(s.Group); g.Target != n {
				s.Fatalf("after a growth to %d the target reads %d", n, g.Target)
			}
		}
		result := s.remove(s.Group, false, ids[0])
		if g := s.read(s.Group); g.Target != 7 || result.Target != 7 || slices.Contains(Live(g), ids[0]) {
			s.Errorf("after a removal from 8: the result's target is %d, and reads show %d with %v",
				result.Target, g.Target, Live(g))
		}
	}},
	{"P2/AReadShowsWhatWasDoneByHand", func(s *stage) {
		s.standing(s.Group, 3)
		if err := s.Door.SetTarget(s.Group, 5); err != nil {
			s.Fatal(err)
		}
		if g := s.read(s.Group); g.Target != 5 {
			s.Errorf("the target was set to 5 by hand and reads %d", g.Target)
		}
	}},
	{"P3/ReadsRunBesideAWrite", func(s *stage) {
		s.standing(s.Group, 3)
		ctx, cancel := context.WithCancel(s.Context())
		var wg sync.WaitGroup
		var targets []int
		var failed error
		wg.Go(func() {
			for ctx.Err() == nil {
				inv, err := s.Provider.Inventory(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					failed = err
					return
				}
				for _, g := range inv.Groups {
					if g.ID == s.Group {
						targets = append(targets, g.Target)
					}
				}
			}
		})
		for n := 4; n <= 10; n++ {
			s.grow(s.Group, n)
		}
		cancel()
		wg.Wait()
		if failed != nil {
			s.Fatalf("a read beside a write: %v", failed)
		}
		if !slices.IsSorted(targets) || len(targets) > 0 && (targets[0] < 3 || targets[len(targets)-1] > 10) {
			s.Errorf("while the group grew from 3 to 10, reads showed %v", targets)
		}
	}},
	{"P4/GrowKeepsTheMaximum", func(s *stage) {
		ids := s.standing(s.Group, 3)
		top := s.read(s.Group).Max
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: s.Group, From: 3, To: top + 1})
		s.refused(err, provider.OpGrow, s.Group, provider.Limit)
		s.unchanged(s.Group, 3, ids)
	}},
	{"P4/GrowKeepsThePoolsMaximum", func(s *stage) {
		inv := s.inventory()
		i := slices.IndexFunc(inv.Pools, func(p provider.Pool) bool { return p.ID == s.Pool })
		if i < 0 {
			s.Fatalf("Inventory does not show the pool %q", s.Pool)
		}
		ids := s.standing(s.Group, 3)
		s.standing(s.Other, 6)
		used := 0
		for _, g := range s.inventory().Groups {
			if g.Pool == s.Pool {
				used += g.Target
			}
		}
		over := 3 + inv.Pools[i].Max - used + 1
		if over > s.read(s.Group).Max {
			s.Fatalf("the group's own maximum comes before its pool's: the subject is not as it should be")
		}
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: s.Group, From: 3, To: over})
		s.refused(err, provider.OpGrow, s.Group, provider.Limit)
		s.unchanged(s.Group, 3, ids)
	}},
	{"P4/GrowGoesByTheLiveTarget", func(s *stage) {
		s.standing(s.Group, 3)
		if err := s.Door.SetTarget(s.Group, 5); err != nil {
			s.Fatal(err)
		}
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: s.Group, From: 3, To: 6})
		s.refused(err, provider.OpGrow, s.Group, provider.Conflict)
		if g := s.read(s.Group); g.Target != 5 {
			s.Errorf("a growth from an old target changed it from 5 to %d", g.Target)
		}
	}},
	{"P4/CancelGoesByTheLiveTarget", func(s *stage) {
		s.standing(s.Group, 3)
		if err := s.Door.SetTarget(s.Group, 5); err != nil {
			s.Fatal(err)
		}
		_, err := s.Provider.Cancel(s.Context(), provider.CancelRequest{Group: s.Group, From: 3, To: 1})
		s.refused(err, provider.OpCancel, s.Group, provider.Conflict)
		if g := s.read(s.Group); g.Target != 5 {
			s.Errorf("a cancellation from an old target changed it from 5 to %d", g.Target)
		}
	}},
	{"P4/AGrowthNeverShrinks", func(s *stage) {
		ids := s.standing(s.Group, 3)
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: s.Group, From: 3, To: 2})
		s.refused(err, provider.OpGrow, s.Group, "")
		s.unchanged(s.Group, 3, ids)
	}},
	{"P4/RemoveKeepsTheMinimum", func(s *stage) {
		low := s.read(s.Group).Min
		ids := s.standing(s.Group, low+1)
		_, err := s.Provider.Remove(s.Context(), provider.RemoveRequest{Group: s.Group, Instances: ids[:2]})
		s.refused(err, provider.OpRemove, s.Group, provider.Limit)
		s.unchanged(s.Group, low+1, ids)
		s.remove(s.Group, false, ids[0])
		s.Door.Settle()
		s.unchanged(s.Group, low, ids[1:])
	}},
	{"P4/OnlyWhatIsEndedCountsAgainstTheMinimum", func(s *stage) {
		low := s.read(s.Group).Min
		ids := s.standing(s.Group, low+1)
		// One id twice is one removal; and the same again, now at the minimum,
		// ends nothing and is fine.
		for _, asked := range [][]provider.InstanceID{{ids[0], ids[0]}, {ids[0]}} {
			for _, r := range s.remove(s.Group, false, asked...).Instances {
				if r.Err != nil {
					s.Errorf("removing %v: %v", asked, r.Err)
				}
			}
		}
		s.Door.Settle()
		s.unchanged(s.Group, low, ids[1:])
	}},
	{"P4/ForcePassesTheMinimum", func(s *stage) {
		low := s.read(s.Group).Min
		ids := s.standing(s.Group, low)
		for _, r := range s.remove(s.Group, true, ids...).Instances {
			if r.Err != nil {
				s.Errorf("forced removal of %s: %v", r.ID, r.Err)
			}
		}
		s.Door.Settle()
		s.unchanged(s.Group, 0, nil)
	}},
	{"P4/AnUnknownGroupIsNotFound", func(s *stage) {
		const none = provider.GroupID("there-is-no-such-group")
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: none, To: 1})
		s.refused(err, provider.OpGrow, none, provider.NotFound)
		_, err = s.Provider.Remove(s.Context(), provider.RemoveRequest{Group: none, Instances: []provider.InstanceID{"x"}})
		s.refused(err, provider.OpRemove, none, provider.NotFound)
		_, err = s.Provider.Cancel(s.Context(), provider.CancelRequest{Group: none})
		s.refused(err, provider.OpCancel, none, provider.NotFound)
	}},
}
