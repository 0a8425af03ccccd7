package providertest

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// P1: deadlines, unknown ends, and no lock over I/O.
var deadlineCases = []scene{
	{"P1/InventoryKeepsItsDeadline", func(s *stage) {
		s.Door.Break(provider.OpInventory, "", Hanging)
		err := s.at(deadline, provider.OpInventory, func(ctx context.Context) error {
			_, err := s.Provider.Inventory(ctx)
			return err
		})
		s.contractError(err, provider.OpInventory, "")
	}},
	{"P1/GrowMayHaveHappened", unknownEnd(provider.OpGrow, Hanging)},
	{"P1/RemoveMayHaveHappened", unknownEnd(provider.OpRemove, Hanging)},
	{"P1/CancelMayHaveHappened", unknownEnd(provider.OpCancel, Hanging)},
	{"P1/LostGrowIsNotDoneTwice", func(s *stage) {
		unknownEnd(provider.OpGrow, Lost)(s)
		s.Door.Mend()
		if g := s.read(s.Group); g.Target != 5 {
			s.Fatalf("the cloud grew from 3 to 5 and lost the answer; now the target reads %d", g.Target)
		}
		_, err := s.Provider.Grow(s.Context(), provider.GrowRequest{Group: s.Group, From: 3, To: 5})
		s.refused(err, provider.OpGrow, s.Group, provider.Conflict)
		if g := s.read(s.Group); g.Target != 5 {
			s.Errorf("the growth was done twice: the target is %d", g.Target)
		}
	}},
	{"P1/LostRemoveIsNotDoneTwice", func(s *stage) {
		ids := s.standing(s.Group, 5)
		s.Door.Break(provider.OpRemove, s.Group, Lost)
		req := provider.RemoveRequest{Group: s.Group, Instances: ids[:2], Force: true}
		err := s.at(deadline, provider.OpRemove, func(ctx context.Context) error {
			_, err := s.Provider.Remove(ctx, req)
			return err
		})
		if e := s.contractError(err, provider.OpRemove, s.Group); !e.MayHaveHappened {
			s.Errorf("the answer was lost, and the error does not say that it may have happened: %v", e)
		}
		s.Door.Mend()
		for _, r := range s.remove(s.Group, true, ids[:2]...).Instances {
			if r.Err != nil {
				s.Errorf("repeating a removal: %v", r.Err)
			}
		}
		s.unchanged(s.Group, 3, ids[2:])
	}},
	{"P1/RefusalsSayThatNothingHappened", func(s *stage) {
		ids := s.standing(s.Group, 3)
		for _, c := range s.calls(ids) {
			s.Door.Break(c.op, s.Group, Refused)
			err := s.at(patience, c.op, c.do)
			s.Door.Mend()
			// A removal may tell the refusal per instance, in its result.
			if err == nil && c.op == provider.OpRemove {
				s.unchanged(s.Group, 3, ids)
				continue
			}
			s.refused(err, c.op, s.Group, "")
			s.unchanged(s.Group, 3, ids)
		}
	}},
	{"P1/AHangingWriteHoldsUpNothingElse", func(s *stage) {
		s.standing(s.Group, 3)
		met := s.Door.Break(provider.OpGrow, s.Group, Hanging)
		ctx, cancel := context.WithCancel(s.Context())
		hung := make(chan error, 1)
		go func() {
			_, err := s.Provider.Grow(ctx, provider.GrowRequest{Group: s.Group, From: 3, To: 5})
			hung <- err
		}()
		select {
		case <-met:
		case err := <-hung:
			s.Fatalf("the growth was to hang and returned: %v", err)
		case <-time.After(patience):
			s.Fatal("the growth never reached the cloud")
		}
		s.inventory()
		s.grow(s.Other, s.read(s.Other).Target+1)
		cancel()
		select {
		case err := <-hung:
			if e := s.contractError(err, provider.OpGrow, s.Group); !e.MayHaveHappened {
				s.Errorf(
					"the caller gave up on a growth that was under way, and the error does not say that it may have happened: %v", e,
				)
			}
		case <-time.After(patience):
			s.Fatal("the growth did not return when its caller gave up")
		}
	}},
}

// unknownEnd: a write that gets no answer by its deadline may have happened.
func unknownEnd(op provider.Op, how Breakage) func(*stage) {
	return func(s *stage) {
		ids := s.standing(s.Group, 3)
		s.Door.Break(op, s.Group, how)
		for _, c := range s.calls(ids) {
			if c.op != op {
				continue
			}
			err := s.at(deadline, op, c.do)
			if e := s.contractError(err, op, s.Group); !e.MayHaveHappened {
				s.Errorf("%s met its deadline, and the error does not say that it may have happened: %v", op, e)
			}
		}
	}
}

// checkNotifier: Notify signals a change by hand, and ends with its context.
func (s *stage) checkNotifier(n provider.Notifier) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	told := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- n.Notify(ctx, func() {
			select {
			case told <- struct{}{}:
			default:
			}
		})
	}()
	// Notify may take a moment to listen; changes go on until one is told.
	target := s.read(s.Group).Target
	for begun := time.Now(); ; target = 5 - target%2 {
		if err := s.Door.SetTarget(s.Group, target); err != nil {
			s.Fatal(err)
		}
		select {
		case <-told:
		case err := <-ended:
			s.Fatalf("Notify ended by itself: %v", err)
		case <-time.After(time.Millisecond):
			if time.Since(begun) < patience {
				continue
			}
			s.Fatal("changes by hand were not told")
		}
		break
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		s.Fatal("Notify did not end with its context")
	}
}
