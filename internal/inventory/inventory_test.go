package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// answer makes an inventory at a number of seconds after t0.
func answer(seconds int, groups ...provider.Group) provider.Inventory {
	return provider.Inventory{AsOf: t0.Add(time.Duration(seconds) * time.Second), Groups: groups}
}

func group(id string, target int, instances ...string) provider.Group {
	g := provider.Group{ID: provider.GroupID(id), Max: 10, Target: target}
	for _, i := range instances {
		g.Instances = append(g.Instances, provider.Instance{
			ID: provider.InstanceID(i), ProviderID: "cloud://" + i, NodeName: i, State: provider.Running,
		})
	}
	return g
}

// noNode: no instance has a node that is Ready.
func noNode(*provider.Instance) bool { return false }

func mustFold(t *testing.T, k Known, a provider.Inventory) Known {
	t.Helper()
	next, err := k.Fold(a, noNode)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Rule P7: an answer that says that nothing is there is never taken for zero.
func TestEmptyAnswer(t *testing.T) {
	k := mustFold(t, Known{}, answer(1))
	k = mustFold(t, k, answer(2, group("a", 3), group("b", 1)))
	next, err := k.Fold(answer(3), noNode)
	if err == nil || !strings.Contains(err.Error(), "2") {
		t.Fatalf("error %v", err)
	}
	if len(next.inventory.Groups) != 2 || next.inventory.AsOf != k.inventory.AsOf {
		t.Errorf("known now: %+v", next.inventory)
	}
}

// The last group of ours is gone, and the answer shows that the cloud was read: the
// group is forgotten as any other is.
func TestTheLastGroupGoes(t *testing.T) {
	k := mustFold(t, Known{}, answer(1, group("a", 3)))
	for at := range forgetGroupAfter {
		if len(k.inventory.Groups) != 1 {
			t.Fatalf("forgotten after %d answers without it", at)
		}
		none := answer(at + 2)
		none.Others = 1
		k = mustFold(t, k, none)
	}
	if len(k.inventory.Groups) != 0 {
		t.Errorf("known still: %+v", k.inventory.Groups)
	}
}

func TestAnswerThatCannotBeTrue(t *testing.T) {
	for name, a := range map[string]provider.Inventory{
		"a group twice": answer(1, group("a", 1), group("a", 2)),
		"no time":       {Groups: []provider.Group{group("a", 1)}},
	} {
		var contract *provider.Error
		if _, err := (Known{}).Fold(a, noNode); !errors.As(err, &contract) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A group with a Ready node is not forgotten for some answers without it: a Ready node
// contradicts them, for as long as it contradicts those that lack an instance.
func TestMissingGroupWithANode(t *testing.T) {
	ready := func(in *provider.Instance) bool { return in.ID == "i" }
	fold := func(k Known, a provider.Inventory, nodes func(*provider.Instance) bool) Known {
		t.Helper()
		next, err := k.Fold(a, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	k := fold(Known{}, answer(0, group("a", 2, "h", "i"), group("b", 1)), ready)
	for at := 1; at < 2+forgetGroupAfter; at++ {
		k = fold(k, answer(60*at, group("b", 1)), ready)
		if g := k.Latest().Groups; len(g) != 2 || g[0].Err == nil || g[0].Err.Code != reasonMissing || g[0].Target != 2 {
			t.Fatalf("after %d answers without it: %+v", at, g)
		}
	}
	for name, next := range map[string]Known{
		"its node is gone":       fold(k, answer(301, group("b", 1)), noNode),
		"it was believed enough": fold(k, answer(60+int(believeNodeAgainst/time.Second), group("b", 1)), ready),
	} {
		if g := next.Latest().Groups; len(g) != 1 {
			t.Errorf("%s: %+v", name, g)
		}
	}
	// Its instances are in another group by now: they are that one's.
	moved := fold(k, answer(301, group("b", 2, "h", "i")), ready)
	if g := moved.Latest().Groups; len(g) != 1 || len(g[0].Instances) != 2 {
		t.Errorf("its instances are another group's: %+v", g)
	}
	if g := fold(k, answer(400, group("a", 1), group("b", 1)), ready).Latest().Groups; len(g) != 2 || g[0].Err != nil ||
		g[0].Target != 1 {
		t.Errorf("it is back: %+v", g)
	}
}

// An unreadable group keeps what was known of it.
func TestUnreadableGroup(t *testing.T) {
	bad := provider.Group{ID: "a", Err: &provider.Error{Kind: provider.Throttled}}
	k := mustFold(t, Known{}, answer(1, group("a", 3, "i"), group("b", 1)))
	k = mustFold(t, k, answer(2, bad, group("b", 2)))
	a, b := k.inventory.Groups[0], k.inventory.Groups[1]
	if a.Target != 3 || len(a.Instances) != 1 || a.Err == nil || a.Err.Kind != provider.Throttled {
		t.Errorf("a: %+v", a)
	}
	if b.Target != 2 || b.Err != nil {
		t.Errorf("b: %+v", b)
	}
	k = mustFold(t, k, answer(3, group("a", 4), group("b", 2)))
	if a := k.inventory.Groups[0]; a.Target != 4 || a.Err != nil {
		t.Errorf("a, readable again: %+v", a)
	}
	k = mustFold(t, Known{}, answer(1, bad))
	if a := k.inventory.Groups[0]; a.Err == nil {
		t.Errorf("never read: %+v", a)
	}
}

// Rule P7: a group missing from complete answers is held, and forgotten at the
// third.
func TestMissingGroup(t *testing.T) {
	k := mustFold(t, Known{}, answer(0, group("a", 3), group("b", 1)))
	for i := 1; i < forgetGroupAfter; i++ {
		k = mustFold(t, k, answer(i, group("b", 1)))
		if len(k.inventory.Groups) != 2 || k.inventory.Groups[0].Target != 3 || k.inventory.Groups[0].Err == nil ||
			k.inventory.Groups[0].Err.Kind != provider.NotFound {
			t.Fatalf("answer %d: %+v", i, k.inventory.Groups)
		}
	}
	back := mustFold(t, k, answer(9, group("a", 5), group("b", 1)))
	if g := back.inventory.Groups[0]; g.Target != 5 || g.Err != nil || len(back.missing) != 0 {
		t.Errorf("back: %+v", g)
	}
	k = mustFold(t, k, answer(9, group("b", 1)))
	if len(k.inventory.Groups) != 1 || k.inventory.Groups[0].ID != "b" {
		t.Errorf("not forgotten: %+v", k.inventory.Groups)
	}
	// A failed read between two answers does not count as one.
	k = mustFold(t, Known{}, answer(0, group("a", 3), group("b", 1)))
	k = mustFold(t, k, answer(1, group("b", 1)))
	k, err := k.Fold(answer(2), noNode)
	if err == nil || k.missing["a"].answers != 1 {
		t.Errorf("missing from %d answers, error %v", k.missing["a"].answers, err)
	}
}

// Rule P7: a Ready node contradicts an absent instance, and is believed.
func TestAbsentInstance(t *testing.T) {
	k := mustFold(t, Known{}, answer(0, group("a", 2, "i", "j")))
	ready := map[string]bool{"i": true, "j": false}
	isReady := func(in *provider.Instance) bool { return ready[in.NodeName] }
	k = mustFold(t, k, answer(1, group("a", 2)))
	if got := k.Believed(isReady).Groups[0].Instances; len(got) != 1 || got[0].ID != "i" || !got[0].Unlisted {
		t.Fatalf("believed %+v", got)
	}
	if len(k.inventory.Groups[0].Instances) != 0 {
		t.Error("what is known was changed")
	}
	// It stays believed over answers, and no longer than its node is Ready.
	k = mustFold(t, k, answer(60, group("a", 2)))
	if got := k.Believed(isReady).Groups[0].Instances; len(got) != 1 {
		t.Fatalf("a minute later: %+v", got)
	}
	ready["i"] = false
	if got := k.Believed(isReady).Groups[0].Instances; len(got) != 0 {
		t.Errorf("its node is not Ready any more: %+v", got)
	}
	ready["i"] = true
	// A node that was not Ready when its instance vanished, and is again.
	ready["j"] = true
	if got := k.Believed(isReady).Groups[0].Instances; len(got) != 2 {
		t.Errorf("both nodes are Ready: %+v", got)
	}
	ready["j"] = false
	// The cloud lists it again, under any of its names: once.
	listed := group("a", 2)
	listed.Instances = []provider.Instance{{ID: "new-id", NodeName: "i"}}
	if back := mustFold(t, k, answer(90, listed)); len(back.Believed(isReady).Groups[0].Instances) != 1 {
		t.Errorf("twice: %+v", back.Believed(isReady).Groups[0].Instances)
	}
	// Not for ever.
	k = mustFold(t, k, answer(1+int(believeNodeAgainst.Seconds()), group("a", 2)))
	if got := k.Believed(isReady).Groups[0].Instances; len(got) != 0 {
		t.Errorf("after %s: %+v", believeNodeAgainst, got)
	}
}
