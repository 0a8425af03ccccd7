package ledger

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestRestartInEachStage: a drain of a node with pods goes on where its leader
// left it, as far as the node still shows it; otherwise it is taken back.
func TestRestartInEachStage(t *testing.T) {
	adopted := model.Drain{Node: "n", Stage: model.Tainted, Unready: true} // its node does not say that it is ready
	ours := func(s model.Stage, pods int) model.Drain {
		return model.Drain{Node: "n", Group: "g", Instance: "n", Stage: s, Began: at(1), Occupied: true,
			Pods: []types.UID{"uid-a", "uid-b"}[:pods:pods]}
	}
	moved := func(d model.Drain, second int) *model.Drain {
		d.Moved = at(second)
		return &d
	}
	leftover := model.Drain{Node: "n", Stage: model.RollingBack, Unready: true, Code: model.LeaderChanged,
		Why: "its removal was begun, and its taint was removed"}
	rollingBack := ours(model.RollingBack, 2)
	rollingBack.Code, rollingBack.Why = model.EvictionRefused, "b stays"
	for _, c := range []struct {
		name   string
		before func(*emptying)
		want   *model.Drain // Since is looked at apart
	}{
		{"the taint's intent, and no taint yet", func(e *emptying) { e.note(taintCall()) }, nil},
		{"the taint's intent, and the taint", func(e *emptying) { e.note(taintCall()); e.taint() }, &adopted},
		{"tainted", func(e *emptying) { e.until(model.Tainted) }, new(ours(model.Tainted, 2))},
		{"tainted, and the taint is gone", func(e *emptying) { e.until(model.Tainted); e.node = node("n", "1") }, nil},
		{"the cordon's intent", func(e *emptying) { e.until(model.Tainted); e.note(onNode(model.Cordon, "n")) }, new(ours(model.Tainted, 2))},
		{"the cordon's intent, and the cordon", func(e *emptying) { e.until(model.Tainted); e.note(onNode(model.Cordon, "n")); e.cordon() }, new(ours(model.Tainted, 2))},
		{"half of the evictions", func(e *emptying) { e.until(model.Evicting); e.call(evictCall("a")); e.note(evictCall("b")) }, moved(ours(model.Evicting, 2), 4)},
		{"evicting, cordoned by whomever", func(e *emptying) { e.until(model.Evicting); e.node.Annotations = nil }, new(ours(model.Evicting, 2))},
		{"evicting, and the cordon's note alone", func(e *emptying) { e.until(model.Evicting); e.node.Spec.Unschedulable = false }, new(ours(model.Evicting, 2))},
		{"evicting, and no cordon", func(e *emptying) {
			e.until(model.Evicting)
			e.node.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalTainted}
			e.node.Spec.Unschedulable = false
		}, &adopted},
		{"evicting, and the taint is gone", func(e *emptying) { e.until(model.Evicting); e.node.Spec.Taints = nil }, &leftover},
		// A read that began after the restart says that the instance is there still.
		{"removing", func(e *emptying) { e.until(model.Removing) }, moved(ours(model.Tainted, 2), 5)},
		{"removing, and the taint is gone", func(e *emptying) { e.until(model.Removing); e.node.Spec.Taints = nil }, &leftover},
		{"removed", func(e *emptying) {
			e.until(model.Removing)
			e.look(model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(e.second), Target: 0})
		}, &adopted},
		{"rolling back", func(e *emptying) { e.until(model.Evicting); e.note(untaintCall(model.EvictionRefused, "b stays")) }, &rollingBack},
		{"the node is gone", func(e *emptying) { e.until(model.Evicting); e.node = nil }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmptying(t)
			c.before(e)
			e.restart()
			if c.want == nil {
				want(t, "standing", e.standing(), model.NodeStanding{})
				return
			}
			d := e.drain()
			if d.Since.IsZero() || d.Since.After(at(e.second)) {
				t.Errorf("since %v", d.Since)
			}
			d.Since = time.Time{}
			if d.Group == "" {
				d.Began = time.Time{}
			}
			if len(d.Pods) == 0 {
				d.Pods = c.want.Pods // nil or empty
			}
			want(t, "drain", d, *c.want)
		})
	}
}

// TestRestartAfterAGivingBack: the leader before gave the node back and died
// before it said so. Its removal has failed all the same.
func TestRestartAfterAGivingBack(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.note(untaintCall(model.EvictionRefused, "b stays"))
	e.node = node("n", "1")
	e.restart()
	n, s := e.standing(), e.l.Standing()
	want(t, "drain", n.Drain == nil, true)
	want(t, "failed", []any{n.Failed.At, n.Failed.Why, s.LastFailure},
		[]any{at(e.second), "EvictionRefused: b stays", at(e.second)})
}

// TestADrainAfterARestart is told to its end: its evictions begin again.
func TestADrainAfterARestart(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.call(evictCall("a"))
	e.pods = e.pods[1:]
	e.restart()
	want(t, "evictions", len(e.drain().Evictions), 0)
	e.call(evictCall("b"))
	e.pods = nil
	e.look()
	e.call(onNode(model.Remove, "n"))
	want(t, "stage", e.drain().Stage, model.Removed)
	e.node = nil
	e.look()
	want(t, "left behind", len(e.l.Standing().Nodes), 0)
}

// TestMovedPodsAreRemembered: that pods were moved for a removal, and when, outlives leaders.
// One that fails has moved them in vain, and its node rests.
func TestMovedPodsAreRemembered(t *testing.T) {
	for _, c := range []struct {
		name  string
		evict func(*emptying)
		moved bool
	}{
		{"granted", func(e *emptying) { e.call(evictCall("a")) }, true},
		{"under way", func(e *emptying) { e.note(evictCall("a")) }, true},
		{"refused", func(e *emptying) { e.call(evictCall("a"), refused) }, false},
		{"none", func(*emptying) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmptying(t)
			e.until(model.Evicting)
			c.evict(e)
			var last time.Time
			if c.moved {
				last = e.drain().Evictions[0].Last
			}
			e.restart()
			want(t, "moved", e.drain().Moved, last)
			e.restart()
			want(t, "moved, two leaders later", e.drain().Moved, last)
			e.call(untaintCall(model.AllOrNothing, "n2 stays"))
			want(t, "failed", !e.standing().Failed.At.IsZero(), c.moved)
		})
	}
}

// TestEmptyNodesAreNotRemembered: the taint says all.
func TestEmptyNodesAreNotRemembered(t *testing.T) {
	l := noted(folded(seen(0, 1, node("n", "7")), nil), 1, plan(onNode(model.Taint, "n")))
	l.Fold(seen(2, 1, node("n", "7")), []model.Outcome{{Call: onNode(model.Taint, "n"), Ended: at(2), Target: -1}})
	want(t, "stage", drainOf(l, "n").Stage, model.Tainted)
	want(t, "drains", len(l.Memory().Drains), 0)
}

// TestMemoryOfManyDrains is bounded, in drains and in pods. Those whose pods have
// begun to leave come first.
func TestMemoryOfManyDrains(t *testing.T) {
	drain := func(i int, s model.Stage, pods int) model.Drain {
		d := model.Drain{Node: fmt.Sprintf("n%03d", i), Group: "g", Stage: s, Occupied: true}
		for j := range pods {
			d.Pods = append(d.Pods, types.UID(fmt.Sprintf("%d-%d", i, j)))
		}
		return d
	}
	var m model.Memory
	for i := range 40 {
		m.Drains = append(m.Drains, drain(i, model.Tainted, 2))
	}
	for i := 40; i < 100; i++ {
		m.Drains = append(m.Drains, drain(i, model.Evicting, 0))
	}
	kept := Restore(empty().rules, m).Memory().Drains
	want(t, "drains", len(kept), 50)
	want(t, "first", kept[0].Node, "n040")
	want(t, "again", Restore(empty().rules, model.Memory{Drains: kept}).Memory().Drains, kept)

	m.Drains = []model.Drain{drain(0, model.Tainted, 999), drain(1, model.Tainted, 2), drain(2, model.Tainted, 1)}
	kept = Restore(empty().rules, m).Memory().Drains
	want(t, "nodes", []string{kept[0].Node, kept[1].Node}, []string{"n000", "n002"})
	want(t, "how many", len(kept), 2)
}

// TestMemoryOfOddDrains: what no version writes is left out, and impossible times are corrected.
func TestMemoryOfOddDrains(t *testing.T) {
	later := t0.Add(1000 * time.Hour)
	taint := corev1.Taint{Key: model.TaintToBeDeleted, Value: fmt.Sprint(t0.Unix())}
	drain := model.Drain{Group: "g", Stage: model.Tainted, Occupied: true, Since: later, Began: later, NotBefore: later,
		Moved: later}
	with := func(name string, mend func(*model.Drain)) model.Drain {
		d := drain
		d.Node = name
		mend(&d)
		return d
	}
	l := Restore(empty().rules, model.Memory{LastFailure: later, Drains: []model.Drain{
		with("", func(*model.Drain) {}),
		with("empty", func(d *model.Drain) { d.Occupied = false }),
		with("n", func(*model.Drain) {}),
		with("odd", func(d *model.Drain) { d.Stage = "Melting" }),
		with("removed", func(d *model.Drain) { d.Stage = model.Removed }),
	}})
	want(t, "nodes", len(l.Standing().Nodes), 1)
	l.Fold(seen(10, 1, node("n", "1", taint)), nil)
	d := drainOf(l, "n")
	want(t, "times", []time.Time{d.Since, d.Began, d.NotBefore, d.Moved}, []time.Time{at(10), at(10), at(15), at(10)})
	want(t, "last failure of a group", l.Standing().Groups["g"].LastFailure, at(10))
}

// TestTaintOfTomorrow: a clock that was ahead keeps no node tainted for long.
func TestTaintOfTomorrow(t *testing.T) {
	taint := corev1.Taint{Key: model.TaintToBeDeleted, Value: fmt.Sprint(t0.Add(24 * time.Hour).Unix())}
	l := folded(seen(3, 1, node("n", "7", taint)), nil)
	want(t, "since", drainOf(l, "n").Since, at(3))
}

// TestGroupsOwnTimes: each group has its own last scale-up, removal and failure.
// After a restart it is unknown which group it was, and it counts for all of them until they have their own.
func TestGroupsOwnTimes(t *testing.T) {
	e := newEmptying(t)
	e.call(grow(1, 3))
	grown := at(e.second)
	times := func(id provider.GroupID) [3]time.Time {
		g := e.l.Standing().Groups[id]
		return [3]time.Time{g.LastGrowth, g.LastRemoval, g.LastFailure}
	}
	want(t, "g", times("g"), [3]time.Time{grown})
	want(t, "h", times("h"), [3]time.Time{})
	e.call(taintCall(), denied)
	failed := at(e.second)
	want(t, "g", times("g"), [3]time.Time{grown, {}, failed})
	want(t, "h", times("h"), [3]time.Time{})
	e.restart()
	want(t, "g after a restart", times("g"), [3]time.Time{grown, {}, failed})
	want(t, "h after a restart", times("h"), [3]time.Time{grown, {}, failed})
	e.call(taintCall(), denied)
	want(t, "g has its own", times("g"), [3]time.Time{grown, {}, at(e.second)})
	want(t, "h has none", times("h"), [3]time.Time{grown, {}, failed})
}

// TestDelaysWhileNoProcessLeads: a memory that is old may be one by a clock that was behind ours. No delay has run
// since it was written.
func TestDelaysWhileNoProcessLeads(t *testing.T) {
	for _, c := range []struct{ began, last int }{{200, 10}, {1900, 1810}, {50, 10}} {
		m := model.Memory{LastGrowth: at(10), LastDemand: at(10), LastFailure: at(10), Written: at(100)}
		l := Restore(model.Rules{}, m)
		l.Fold(seen(c.began, 1, node("n", "7")), nil)
		s := l.Standing()
		want(t, "growth, demand, failure, removal",
			[]any{c.began, s.LastGrowth, s.LastDemand, s.LastFailure, s.LastRemoval},
			[]any{c.began, at(c.last), at(c.last), at(c.last), time.Time{}})
	}
}

// TestResume: where the search goes on is the last plan's, and survives.
func TestResume(t *testing.T) {
	e := newEmptying(t)
	e.l.Note(&model.Snapshot{Now: at(1)}, model.Plan{Resume: "n7"})
	want(t, "standing", e.l.Standing().Resume, "n7")
	e.restart()
	want(t, "after a restart", e.l.Standing().Resume, "n7")
	e.l.Note(&model.Snapshot{Now: at(3)}, model.Plan{})
	want(t, "at the end", e.l.Standing().Resume, "")
}

// TestANodeRestsLonger: each further removal that is begun in vain costs a longer rest,
// over restarts too, until it has gone well for a while. That the cloud refuses one is
// not the node's doing.
func TestANodeRestsLonger(t *testing.T) {
	e := newEmptying(t)
	fail := func(code model.Reason, times int, rest time.Duration) {
		t.Helper()
		e.until(model.Evicting)
		e.call(untaintCall(code, "because"), func(o *model.Outcome) { o.ResourceVersion = "" })
		want(t, "failed", e.standing().Failed, model.Failure{At: at(e.second), Why: string(code) + ": because",
			Times: times, Rest: rest})
		e.node = node("n", "1")
		e.restart()
		want(t, "rest after a restart", e.standing().Failed.Rest, rest)
		e.second += int(rest / time.Second)
	}
	for i, rest := range []time.Duration{0, 30 * time.Minute, 90 * time.Minute, 270 * time.Minute, 6 * time.Hour,
		6 * time.Hour} {
		fail([]model.Reason{model.PodLanded, model.EvictionRefused, model.NoPlaceToMovePods, model.ReplacementWaits}[i%4],
			i+1, rest)
	}
	fail(model.DrainFailed, 6, 6*time.Hour)
	e.second += 11 * 3600
	e.look()
	want(t, "not forgotten", e.standing().Failed.Times, 6)
	e.second += 2 * 3600
	e.look()
	want(t, "forgotten", e.standing().Failed, model.Failure{})
	fail(model.DrainFailed, 0, 0)
	fail(model.PodLanded, 1, 0)
}

// TestMemoryOfManyStrays: of too many nodes without an instance, the first are remembered.
func TestMemoryOfManyStrays(t *testing.T) {
	m := model.Memory{Strays: map[string]provider.GroupID{}}
	for i := range 300 {
		m.Strays[fmt.Sprintf("n%03d", i)] = "g"
	}
	kept := Restore(model.Rules{}, m).Memory().Strays
	want(t, "in number", len(kept), 200)
	want(t, "the last one", slices.Max(slices.Collect(maps.Keys(kept))), "n199")
}

// TestARefusalAfterEvictions: pods that were moved for a node that the cloud does not end
// were moved in vain: the node rests by itself, longer each time, whatever the refusal is.
func TestARefusalAfterEvictions(t *testing.T) {
	for name, end := range map[string]func(e *emptying){
		"a conflict": func(e *emptying) {
			e.look(model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(e.second + 1), Target: -1,
				Err: &provider.Error{Kind: provider.Conflict, Message: "no"}})
		},
		"others stay": func(e *emptying) {
			o := model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(e.second + 1), Target: -1}
			notBegun(&o)
			e.look(o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptying(t)
			for i, rest := range []time.Duration{0, 30 * time.Minute, 90 * time.Minute} {
				pods := e.pods
				e.until(model.Removing)
				code := model.DrainFailed
				if name == "others stay" {
					code = model.AllOrNothing
				}
				end(e)
				e.call(untaintCall(code, "because"), func(o *model.Outcome) { o.ResourceVersion = "" })
				want(t, "times", e.standing().Failed.Times, i+1)
				want(t, "rest", e.standing().Failed.Rest, rest)
				e.node, e.pods = node("n", "1"), pods
				e.second += int(rest / time.Second)
			}
		})
	}
}

// TestMemoryOfAGrowthUnderWay: the next leader never hears how it ends, and takes it for the last one. What is refused
// is none.
func TestMemoryOfAGrowthUnderWay(t *testing.T) {
	for reason, demand := range map[model.Reason]time.Time{"": at(3), model.NodeDrifted: {}} {
		c := model.Call{ID: "grow", Verb: model.Grow, Group: "g", From: 0, To: 1, Deadline: at(3), Reason: reason}
		l := noted(folded(seen(0, 0), nil), 0, model.Plan{Calls: []model.Call{c}})
		m := l.Memory()
		want(t, fmt.Sprintf("under way, %q", reason), []time.Time{m.LastGrowth, m.LastDemand}, []time.Time{at(3), demand})
		l.Fold(seen(1, 0), []model.Outcome{{Call: c, Ended: at(1), Target: 0, Err: &provider.Error{Kind: provider.Quota}}})
		want(t, "refused", l.Memory().LastGrowth, time.Time{})
	}
}
