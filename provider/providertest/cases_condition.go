package providertest

import (
	"context"
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// P9: an instance that is ended only because it failed, or has no node, stays if that is no longer
// true.
var conditionCases = []scene{
	{"P9/WhatRunsIsNotEndedAsFailed", func(s *stage) {
		ids := s.standing(s.Group, 4)
		s.leavesAlone(s.removeIf(provider.StillFailed, ids[0], ids[1]))
		s.Door.Settle()
		s.unchanged(s.Group, 4, ids)
	}},
	{"P9/OnlyWhatStillFailsIsEnded", func(s *stage) {
		ids := s.standing(s.Group, 5)
		for _, id := range ids[:2] {
			s.done(s.Door.Fail(id))
		}
		g := s.read(s.Group)
		for _, id := range ids[:2] {
			i := slices.IndexFunc(g.Instances, func(in provider.Instance) bool { return in.ID == id })
			if i < 0 || g.Instances[i].State != provider.Creating || g.Instances[i].Err == nil {
				s.Fatalf("%s failed, and Inventory shows %+v", id, g.Instances)
			}
		}
		s.done(s.Door.Recover(ids[0]))
		// An instance that recovered, one that has not, one that never failed.
		result := s.removeIf(provider.StillFailed, ids[0], ids[1], ids[2])
		s.leavesAlone(provider.RemoveResult{Instances: []provider.InstanceResult{result.Instances[0], result.Instances[2]}})
		if e := result.Instances[1].Err; e != nil || result.Target != 4 {
			s.Errorf("removing %s, which still fails: target %d, %v", ids[1], result.Target, e)
		}
		s.Door.Settle()
		s.unchanged(s.Group, 4, slices.Delete(slices.Clone(ids), 1, 2))
	}},
	{"P9/OnlyWhatHasNoNodeIsEndedForThat", func(s *stage) {
		ids := s.standing(s.Group, 4)
		s.done(s.Door.Fail(ids[0]))
		result := s.removeIf(provider.StillWithoutNode, ids[0], ids[1])
		s.leavesAlone(provider.RemoveResult{Instances: result.Instances[1:]})
		if e := result.Instances[0].Err; e != nil || result.Target != 3 {
			s.Errorf("removing %s, which has no node: target %d, %v", ids[0], result.Target, e)
		}
		s.Door.Settle()
		s.unchanged(s.Group, 3, ids[1:])
	}},
}

// removeIf removes instances of the group on a condition.
func (s *stage) removeIf(condition provider.Condition, instances ...provider.InstanceID) provider.RemoveResult {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	result, err := s.Provider.Remove(ctx, provider.RemoveRequest{
		Group: s.Group, Instances: instances, Force: true, If: condition,
	})
	if err != nil {
		s.Fatalf("Remove %v of %q if %s: %v", instances, s.Group, condition, err)
	}
	s.answersEach(instances, result)
	return result
}

// leavesAlone checks that each instance was refused as a conflict.
func (s *stage) leavesAlone(result provider.RemoveResult) {
	s.Helper()
	for _, r := range result.Instances {
		if r.Err == nil || r.Err.Kind != provider.Conflict || r.Err.MayHaveHappened {
			s.Errorf("%s does not meet the condition of its removal, and the answer is %v", r.ID, r.Err)
		}
	}
}

// done fails the test if the back door failed.
func (s *stage) done(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
