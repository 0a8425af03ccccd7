package providertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Run plays every case of the suite against fresh subjects.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	cases := slices.Concat(shapeCases, deadlineCases, writeCases, unitCases, conditionCases, readCases)
	names := map[string]bool{}
	for _, c := range cases {
		names[c.name] = true
	}
	for name := range fresh(t).Lacks {
		if !names[name] {
			t.Errorf("Subject.Lacks names %q, which is no case", name)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := fresh(t)
			if reason, lacks := s.Lacks[c.name]; lacks {
				t.Logf("this cloud cannot play it: %s", reason)
				return
			}
			c.play(&stage{T: t, Subject: s})
		})
	}
}

// scene is one case: the rule and what it shows, as its name.
type scene struct {
	name string
	play func(*stage)
}

// stage is a subject with the verbs of which cases are made. Each verb fails
// the test if what it does is not what the contract says.
type stage struct {
	*testing.T
	Subject
}

const (
	// patience is how long an undisturbed call may take, and how long a call may take to return
	// after its deadline.
	patience = 20 * time.Second
	// deadline is that of a call which is meant to meet it. The call must still reach the cloud by then, on a busy
	// machine and under the race detector.
	deadline = 300 * time.Millisecond
)

// read returns a group as the provider shows it.
func (s *stage) read(id provider.GroupID) provider.Group {
	s.Helper()
	return groupIn(s, s.inventory(), id)
}

func (s *stage) inventory() provider.Inventory {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	inv, err := s.Provider.Inventory(ctx)
	if err != nil {
		s.Fatalf("Inventory: %v", err)
	}
	return inv
}

func groupIn(s *stage, inv provider.Inventory, id provider.GroupID) provider.Group {
	s.Helper()
	i := slices.IndexFunc(inv.Groups, func(g provider.Group) bool { return g.ID == id })
	if i < 0 {
		s.Fatalf("Inventory does not show the group %q", id)
	}
	if inv.Groups[i].Err != nil {
		s.Fatalf("Inventory cannot read the group %q: %v", id, inv.Groups[i].Err)
	}
	return inv.Groups[i]
}

// standing grows a group to n running machines, and returns their ids.
func (s *stage) standing(id provider.GroupID, n int) []provider.InstanceID {
	s.Helper()
	s.grow(id, n)
	s.Door.Settle()
	g := s.read(id)
	if g.Target != n || len(Live(g)) != n {
		s.Fatalf("group %q: after a growth to %d that settled: target %d, instances %v", id, n, g.Target, Live(g))
	}
	return Live(g)
}

// grow grows a group from where it is to n.
func (s *stage) grow(id provider.GroupID, n int) provider.GrowResult {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	from := s.read(id).Target
	result, err := s.Provider.Grow(ctx, provider.GrowRequest{Group: id, From: from, To: n})
	if err != nil {
		s.Fatalf("Grow %q from %d to %d: %v", id, from, n, err)
	}
	if result.Target != n {
		s.Errorf("Grow %q from %d to %d: the result's target is %d", id, from, n, result.Target)
	}
	return result
}

func (s *stage) remove(id provider.GroupID, force bool, instances ...provider.InstanceID) provider.RemoveResult {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	result, err := s.Provider.Remove(ctx, provider.RemoveRequest{Group: id, Instances: instances, Force: force})
	if err != nil {
		s.Fatalf("Remove %v of %q: %v", instances, id, err)
	}
	s.answersEach(instances, result)
	return result
}

// answersEach: one entry per instance asked for, in that order.
func (s *stage) answersEach(asked []provider.InstanceID, result provider.RemoveResult) {
	s.Helper()
	var answered []provider.InstanceID
	for _, r := range result.Instances {
		answered = append(answered, r.ID)
	}
	if !slices.Equal(asked, answered) {
		s.Fatalf("Remove was asked for %v and answers for %v", asked, answered)
	}
}

func (s *stage) cancel(id provider.GroupID, from, to int) provider.CancelResult {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	result, err := s.Provider.Cancel(ctx, provider.CancelRequest{Group: id, From: from, To: to})
	if err != nil {
		s.Fatalf("Cancel of %q from %d to %d: %v", id, from, to, err)
	}
	return result
}

// refused checks that an error is the contract's, of the kind, and says that
// nothing happened; an empty kind is any.
func (s *stage) refused(err error, op provider.Op, group provider.GroupID, kind provider.Kind) {
	s.Helper()
	e := s.contractError(err, op, group)
	if kind != "" && e.Kind != kind {
		s.Errorf("%s: the kind is %s, want %s: %v", op, e.Kind, kind, e)
	}
	if e.MayHaveHappened {
		s.Errorf("%s: a plain refusal says that it may have happened: %v", op, e)
	}
}

func (s *stage) contractError(err error, op provider.Op, group provider.GroupID) *provider.Error {
	s.Helper()
	if err == nil {
		s.Fatalf("%s: no error", op)
	}
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		s.Fatalf("%s: the error is a %T, not a *provider.Error: %v", op, err, err)
	}
	if e.Op != op || e.Group != group || e.Kind == "" || e.Error() == "" {
		s.Errorf("%s on %q: the error tells op %q, group %q, kind %q", op, group, e.Op, e.Group, e.Kind)
	}
	return e
}

// unchanged checks that a group has the target and exactly the instances.
func (s *stage) unchanged(id provider.GroupID, target int, instances []provider.InstanceID) {
	s.Helper()
	g := s.read(id)
	if g.Target != target || !slices.Equal(Live(g), instances) {
		s.Errorf("group %q: target %d and instances %v, want still %d and %v", id, g.Target, Live(g), target, instances)
	}
	if truth := sorted(s.Door.Instances(id)); !slices.Equal(truth, instances) {
		s.Errorf("group %q: the cloud has %v, want still %v", id, truth, instances)
	}
}

func sorted(ids []provider.InstanceID) []provider.InstanceID {
	slices.Sort(ids)
	return ids
}

// calls are the writes, each in a valid form for a group with target 3.
func (s *stage) calls(ids []provider.InstanceID) []call {
	return []call{
		{provider.OpGrow, func(ctx context.Context) error {
			_, err := s.Provider.Grow(ctx, provider.GrowRequest{Group: s.Group, From: 3, To: 5})
			return err
		}},
		{provider.OpRemove, func(ctx context.Context) error {
			_, err := s.Provider.Remove(ctx, provider.RemoveRequest{Group: s.Group, Instances: ids[:2], Force: true})
			return err
		}},
		{provider.OpCancel, func(ctx context.Context) error {
			_, err := s.Provider.Cancel(ctx, provider.CancelRequest{Group: s.Group, From: 3, To: 0})
			return err
		}},
	}
}

type call struct {
	op provider.Op
	do func(context.Context) error
}

// at runs a call with the deadline and fails if it does not keep to it.
func (s *stage) at(limit time.Duration, what provider.Op, do func(context.Context) error) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit + patience):
		s.Fatalf("%s did not return at its deadline", what)
		return nil
	}
}
