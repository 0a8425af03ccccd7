package awstest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// A desired capacity that is lowered to the count of instances that were there a
// moment ago kills a healthy one, if AWS launches in between
// (https://github.com/kubernetes/autoscaler/issues/10147). The server must show
// that in every order of the four things that happen: AWS decides, AWS launches,
// the client reads the count, the client writes it.
func TestALoweredDesiredCapacityKillsAHealthyInstance(t *testing.T) {
	type move struct {
		name string
		do   func(*rig, *int)
	}
	decide := move{"decide", func(r *rig, _ *int) { r.cloud.Play("g", awstest.Decide, 1) }}
	launch := move{"launch", func(r *rig, _ *int) { r.cloud.Play("g", awstest.Launch, 1) }}
	read := move{"read", func(r *rig, n *int) { *n = len(r.group("g").Instances) }}
	write := move{"write", func(r *rig, n *int) {
		if err := r.setDesired("g", *n); err != nil {
			r.Fatal(err)
		}
	}}
	for _, c := range []struct {
		moves []move
		dies  bool
	}{
		{[]move{decide, launch, read, write}, false},
		{[]move{decide, read, launch, write}, true},
		{[]move{decide, read, write, launch}, true},
		{[]move{read, decide, launch, write}, true},
		{[]move{read, decide, write, launch}, true},
		{[]move{read, write, decide, launch}, false},
	} {
		var names []string
		for _, m := range c.moves {
			names = append(names, m.name)
		}
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			r := newRig(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 3)}})
			if err := r.cloud.Hold("g", awstest.Decide, awstest.Launch); err != nil {
				t.Fatal(err)
			}
			before, _ := r.cloud.Group("g")
			if err := r.setDesired("g", 4); err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, m := range c.moves {
				m.do(r, &count)
			}
			if err := r.cloud.Release("g"); err != nil {
				t.Fatal(err)
			}
			r.cloud.Settle()
			after, _ := r.cloud.Group("g")
			died := slices.ContainsFunc(before.Live(), func(id string) bool { return !slices.Contains(after.Live(), id) })
			if died != c.dies || len(after.Live()) != after.Desired {
				t.Errorf("of %v there are %v, at a desired capacity of %d; one dies: %v, want %v",
					before.Live(), after.Live(), after.Desired, died, c.dies)
			}
		})
	}
}

// A launch that was decided on is nowhere to be read until it has an instance.
func TestALaunchUnderWayIsNotSeen(t *testing.T) {
	r := newRig(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 1)}})
	if err := r.cloud.Hold("g"); err != nil {
		t.Fatal(err)
	}
	if err := r.setDesired("g", 3); err != nil {
		t.Fatal(err)
	}
	if n := r.cloud.Play("g", awstest.Decide, 5); n != 1 {
		t.Errorf("deciding was played %d times", n)
	}
	if g, _ := r.cloud.Group("g"); g.Launching != 2 {
		t.Errorf("%d launches are under way", g.Launching)
	}
	if got, history := r.states("g"), r.activities("g"); got != "map[InService:1]" || len(history) != 0 {
		t.Errorf("instances %s, activities %+v", got, history)
	}
	if n := r.cloud.Play("g", awstest.Launch, 1); n != 1 {
		t.Errorf("launching was played %d times", n)
	}
	if got, history := r.states("g"), r.activities("g"); got != "map[InService:1 Pending:1]" || len(history) != 1 {
		t.Errorf("instances %s, activities %+v", got, history)
	}
}
