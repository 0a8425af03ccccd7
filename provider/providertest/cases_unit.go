package providertest

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// P5 and P6: what has a name and what has none, and whose node it is.
var unitCases = []scene{
	{"P5/RemoveEndsExactlyTheNamed", func(s *stage) {
		ids := s.standing(s.Group, 6)
		// Not in the order of the ids, and one of them twice.
		asked := []provider.InstanceID{ids[4], ids[1], ids[4]}
		result := s.remove(s.Group, false, asked...)
		for _, r := range result.Instances {
			if r.Err != nil {
				s.Errorf("%s: %v", r.ID, r.Err)
			}
		}
		if result.Target != 4 {
			s.Errorf("two of six were removed, and the result's target is %d", result.Target)
		}
		s.Door.Settle()
		s.unchanged(s.Group, 4, []provider.InstanceID{ids[0], ids[2], ids[3], ids[5]})
	}},
	{"P5/RemovingAgainChangesNothing", func(s *stage) {
		ids := s.standing(s.Group, 5)
		for range 2 {
			if r := s.remove(s.Group, false, ids[0]).Instances[0]; r.Err != nil {
				s.Errorf("removing %s: %v", r.ID, r.Err)
			}
			s.Door.Settle()
			s.unchanged(s.Group, 4, ids[1:])
		}
	}},
	{"P5/RemoveLeavesOtherGroupsInstancesAlone", func(s *stage) {
		ids, others := s.standing(s.Group, 5), s.standing(s.Other, 3)
		result := s.remove(s.Group, false, others[0], ids[0])
		if result.Instances[0].Err == nil {
			s.Errorf("removing %s, which is another group's, was a success", others[0])
		}
		if result.Instances[1].Err != nil {
			s.Errorf("removing %s: %v", ids[0], result.Instances[1].Err)
		}
		s.Door.Settle()
		s.unchanged(s.Other, 3, others)
		s.unchanged(s.Group, 4, ids[1:])
	}},
	{"P5/RemovingNothingIsFine", func(s *stage) {
		ids := s.standing(s.Group, 3)
		s.remove(s.Group, false)
		s.unchanged(s.Group, 3, ids)
	}},
	{"P5/CancelNeverEndsAnInstance", func(s *stage) {
		ids := s.standing(s.Group, 4)
		if r := s.cancel(s.Group, 4, 1); r.Target != 4 || r.Cancelled != 0 {
			s.Errorf("nothing was anonymous, and Cancel answers %+v", r)
		}
		s.unchanged(s.Group, 4, ids)
	}},
	{"P5/CancelTakesBackAnonymousRequests", func(s *stage) {
		ids := s.standing(s.Group, 3)
		if err := s.Door.Starve(s.Group); err != nil {
			s.Fatal(err)
		}
		s.grow(s.Group, 8)
		s.Door.Settle()
		if g := s.read(s.Group); g.Target != 8 || len(Live(g)) != 3 {
			s.Fatalf("five of eight got no machine: target %d, instances %v", g.Target, Live(g))
		}
		if r := s.cancel(s.Group, 8, 6); r.Target != 6 || r.Cancelled != 2 {
			s.Errorf("Cancel from 8 to 6 answers %+v", r)
		}
		if r := s.cancel(s.Group, 6, 0); r.Target != 3 || r.Cancelled != 3 {
			s.Errorf("Cancel from 6 to 0, with three machines, answers %+v", r)
		}
		s.unchanged(s.Group, 3, ids)
	}},
	{"P5/CancelKeepsTheMinimum", func(s *stage) {
		low := s.read(s.Group).Min
		if err := s.Door.Starve(s.Group); err != nil {
			s.Fatal(err)
		}
		s.grow(s.Group, low+2)
		if r := s.cancel(s.Group, low+2, 0); r.Target != low || r.Cancelled != 2 {
			s.Errorf("Cancel from %d to 0, with a minimum of %d, answers %+v", low+2, low, r)
		}
	}},
	{"P6/InstancesCanBeMatchedToNodes", func(s *stage) {
		s.standing(s.Group, 4)
		s.standing(s.Other, 3)
		seen := map[string]bool{}
		unique := func(kind, value string) {
			if value == "" {
				return
			}
			if seen[kind+value] {
				s.Errorf("two instances with the %s %q", kind, value)
			}
			seen[kind+value] = true
		}
		for _, g := range s.inventory().Groups {
			for _, i := range g.Instances {
				if i.ID == "" || i.ProviderID == "" && i.NodeName == "" {
					s.Errorf("group %q: instance %+v cannot be matched to a node", g.ID, i)
				}
				if !slices.Contains([]provider.State{provider.Creating, provider.Running, provider.Deleting}, i.State) {
					s.Errorf("instance %s: state %q", i.ID, i.State)
				}
				unique("id", string(i.ID))
				unique("provider id", i.ProviderID)
				unique("node name", i.NodeName)
			}
		}
	}},
	{"P6/AnInstanceKeepsItsName", func(s *stage) {
		s.standing(s.Group, 3)
		created := s.grow(s.Group, 6).Created
		early := Live(s.read(s.Group))
		s.Door.Settle()
		late := Live(s.read(s.Group))
		for _, id := range append(created, early...) {
			if !slices.Contains(late, id) {
				s.Errorf("instance %s was named early, and later there are %v", id, late)
			}
		}
	}},
}
