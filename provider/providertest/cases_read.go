package providertest

import (
	"context"
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// P7 and P8: no answer is never an empty one, and what cannot be done is an error.
var readCases = []scene{
	{"P7/ARefusedReadIsAnError", noAnswer(Refused)},
	{"P7/AnEmptyReadIsAnError", noAnswer(Empty)},
	{"P7/AGarbledReadIsAnError", noAnswer(Garbled)},
	{"P7/OnlyWhatTheCloudTakesIsInterrupted", func(s *stage) {
		ids := s.standing(s.Group, 3)
		taken := ids[:0]
		if s.Interrupt != nil {
			taken = ids[:1]
			s.done(s.Interrupt(taken[0]))
		}
		for _, in := range s.read(s.Group).Instances {
			x := in.Interrupted
			if told := slices.Contains(taken, in.ID); told != (x != nil) {
				s.Errorf("%s is to be taken: %t, and is shown with %+v", in.ID, told, x)
			}
			if x != nil && (x.Kind == "" || x.Since.IsZero() || !x.Until.IsZero() && x.Until.Before(x.Since)) {
				s.Errorf("%s is shown with %+v, which lacks what, or since when, or ends before it begins", in.ID, x)
			}
		}
	}},
	{"P8/WhatCannotBeDoneIsHeld", func(s *stage) {
		g := s.read(s.Unsupported)
		if !slices.ContainsFunc(g.Holds, func(h provider.Hold) bool {
			return h.Op == provider.OpGrow && h.Reason == string(provider.Unsupported) && h.Message != ""
		}) {
			s.Errorf("group %q: the holds %+v do not say that it cannot grow", g.ID, g.Holds)
		}
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: g.ID, From: g.Target, To: g.Target + 1})
		s.refused(err, provider.OpGrow, g.ID, provider.Unsupported)
		if again := s.read(s.Unsupported); again.Target != g.Target {
			s.Errorf("group %q: the target went from %d to %d", g.ID, g.Target, again.Target)
		}
	}},
}

// noAnswer: a read that fails is an error of the whole or of each group, and
// the next read that works shows everything again.
func noAnswer(how Breakage) func(*stage) {
	return func(s *stage) {
		ids := s.standing(s.Group, 3)
		s.Door.Break(provider.OpInventory, "", how)
		var inv provider.Inventory
		err := s.at(patience, provider.OpInventory, func(ctx context.Context) error {
			var err error
			inv, err = s.Provider.Inventory(ctx)
			return err
		})
		if err != nil {
			s.contractError(err, provider.OpInventory, "")
		}
		for _, g := range inv.Groups {
			if err == nil && g.ID == s.Group && g.Err == nil {
				s.Errorf("the cloud's answer was %s, and the group reads as target %d with %v", how, g.Target, Live(g))
			}
		}
		if err == nil && len(inv.Groups) == 0 {
			s.Errorf("the cloud's answer was %s, and the inventory is empty without an error", how)
		}
		s.Door.Mend()
		s.unchanged(s.Group, 3, ids)
	}
}
