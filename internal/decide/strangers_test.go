package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestStrangersHoldForAWhile: a node without an instance that could be what did not come
// keeps the target as it is, for six hours; one that was the group's for as long as it lives.
func TestStrangersHoldForAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		givenUp time.Duration
		age     string // of the node, by the API server's clock
		stray   bool
		held    bool
	}{
		"a while":                   {5 * time.Hour, "1h", false, true},
		"long":                      {7 * time.Hour, "1h", false, false},
		"its own, long":             {7 * time.Hour, "1h", true, true},
		"from before, by its clock": {5 * time.Hour, "8h45m", false, true},
		"from before":               {5 * time.Hour, "9h30m", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			snap, policy := snapshotOf(t, `
				group a max=9 cpu=4 memory=16Gi
				asked a age=8h
				node other cpu=4 memory=16Gi age=`+c.age)
			snap.Groups[0].Asks[0].Units[0].Entered = snap.Now.Add(-c.givenUp)
			if c.stray {
				snap.Strays = map[string]provider.GroupID{"other": "a"}
			}
			plan := decide.Decide(snap, policy)
			if got := slices.Contains(writes(plan)["a"], model.Cancel); got == c.held {
				t.Errorf("calls %v", plan.Calls)
			}
			if end := snap.Now.Add(time.Hour); c.held && !c.stray && (plan.Wake.After(end) || plan.Wake.IsZero() ||
				!plan.Repair[0].Until.Equal(end)) {
				t.Errorf("wake %s, %+v", plan.Wake, plan.Repair)
			}
		})
	}
}

// TestALostMachineGoes: a machine that never registered goes only if it still has no node.
// One that lost its node may still be named with it by its provider, and would never go: that
// no node is its own is looked up all the same.
func TestALostMachineGoes(t *testing.T) {
	for lost, condition := range map[bool]provider.Condition{false: provider.StillWithoutNode, true: ""} {
		snap, policy := snapshotOf(t, "group a max=9 cpu=4 memory=16Gi\ninstance a1 group=a age=1h")
		snap.Groups[0].Waiting[0].Lost = lost
		calls := decide.Decide(snap, policy).Calls
		if len(calls) != 1 || calls[0].Verb != model.Remove || calls[0].If != condition || calls[0].ProviderID == "" {
			t.Errorf("lost %v: calls %+v", lost, calls)
		}
	}
}

// TestUnlistedMachinesHoldACancellation: while an answer lacks machines whose nodes are
// ready, it may lack the one that did not come as well (rule P6). Nodes of other groups, and
// nodes on their way out, hold nothing.
func TestUnlistedMachinesHoldACancellation(t *testing.T) {
	for node, held := range map[string]bool{"a1": true, "b1": false, "": false} {
		snap, policy := snapshotOf(t, `
			group a max=9 cpu=4 memory=16Gi
			group b max=9 cpu=4 memory=16Gi
			asked a age=8h
			node a1 group=a
			node b1 group=b`)
		snap.Groups[0].Asks[0].Units[0].Entered = snap.Now.Add(-7 * time.Hour)
		for i := range snap.Nodes {
			if n := snap.Nodes[i]; n.Name == node {
				snap.Groups[n.Group].InstanceNamed(n.Instance).Unlisted = true
			}
		}
		plan := decide.Decide(snap, policy)
		if got := slices.Contains(writes(plan)["a"], model.Cancel); got == held {
			t.Errorf("%q is not listed: calls %v, %+v", node, plan.Calls, plan.Repair)
		}
	}
}
