package ledger

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// seen is what is observed at an instant: an inventory read then, and nodes.
func seen(second, target int, nodes ...*corev1.Node) model.Observation {
	o := model.Observation{Now: at(second), Inventory: provider.Inventory{
		AsOf: at(second), Groups: []provider.Group{{ID: "g", Pool: "p", Target: target, Max: 10},
			{ID: "h", Pool: "p", Max: 10}},
	}}
	for _, n := range nodes {
		o.Nodes = append(o.Nodes, model.ObservedNode{Object: n})
		o.Inventory.Groups[0].Instances = append(o.Inventory.Groups[0].Instances,
			provider.Instance{ID: provider.InstanceID(n.Name), NodeName: n.Name, State: provider.Running})
	}
	return o
}

func node(name, version string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
		Spec: corev1.NodeSpec{Taints: taints}}
}

// failed is a call that ended with an error of this kind.
func failed(c model.Call, second int, kind provider.Kind) []model.Outcome {
	return []model.Outcome{{Call: c, Ended: at(second), Target: -1, Err: &provider.Error{Kind: kind}}}
}

// written is a write to a node that succeeded.
func written(c model.Call, second int, version string) []model.Outcome {
	return []model.Outcome{{Call: c, Ended: at(second), Target: -1, ResourceVersion: version}}
}

func grow(from, to int) model.Call {
	return model.Call{ID: "grow/g", Verb: model.Grow, Group: "g", Pool: "p", From: from, To: to}
}

func onNode(verb model.Verb, name string) model.Call {
	return model.Call{ID: string(verb) + "/" + name, Verb: verb, Group: "g", Pool: "p", Node: name,
		Instance: provider.InstanceID(name)}
}

// noted puts a plan on record at an instant.
func noted(l *Ledger, second int, p model.Plan) *Ledger {
	l.Note(&model.Snapshot{Now: at(second)}, p)
	return l
}

// folded is a new ledger that has seen something.
func folded(seen model.Observation, ended []model.Outcome) *Ledger {
	l := empty()
	l.Fold(seen, ended)
	return l
}

func empty() *Ledger {
	return New(model.Rules{StartupTime: 15 * time.Minute, ProvisionTime: 15 * time.Minute, MaxUnready: 3,
		MaxUnreadyShare: 0.45, BackoffFirst: 5 * time.Minute, BackoffMost: 30 * time.Minute, BackoffReset: 3 * time.Hour})
}

func plan(calls ...model.Call) model.Plan { return model.Plan{Calls: calls} }

func expected(t *testing.T, l *Ledger, want int) {
	t.Helper()
	if got := l.Standing().Groups["g"].Expected; got != want {
		t.Fatalf("expected target %d, want %d", got, want)
	}
}

// TestGrowthIsExpectedBeforeItIsSeen: from the intent on, the new target
// counts, whatever older reads say (rules L1, L3).
func TestGrowthIsExpectedBeforeItIsSeen(t *testing.T) {
	l := folded(seen(0, 2), nil)
	expected(t, l, 2)
	l = noted(l, 1, plan(grow(2, 5)))
	expected(t, l, 5)
	if b := l.Standing().Groups["g"].Busy; b == nil || b.To != 5 {
		t.Fatalf("the group is not busy: %+v", b)
	}
	if b := l.Standing().Groups["h"].Busy; b == nil {
		t.Fatal("another group of the same pool is not busy")
	}
	// A read that began before the call ended does not lower it.
	l.Fold(seen(2, 2), nil)
	expected(t, l, 5)
	late := seen(4, 2)
	late.Inventory.AsOf = at(2)
	l.Fold(late, []model.Outcome{{Call: grow(2, 5), Ended: at(3), Target: 5}})
	expected(t, l, 5)
	if l.Standing().Groups["g"].Busy != nil || len(l.Open()) != 0 {
		t.Fatal("the call is still open after its end")
	}
	// A newer one does.
	l.Fold(seen(5, 3), nil)
	expected(t, l, 3)
}

// TestAnAgreementOutlastsARemoval: a picture with the target from before a growth that the cloud has agreed to a moment
// ago is not believed, whatever else was written to the group since.
func TestAnAgreementOutlastsARemoval(t *testing.T) {
	l := noted(folded(seen(0, 2, node("a", "1")), nil), 1, plan(grow(2, 5)))
	l.Fold(seen(2, 2, node("a", "1")), []model.Outcome{{Call: grow(2, 5), Ended: at(2), Target: 5}})
	end := model.Call{ID: "remove/i", Verb: model.Remove, Group: "g", Pool: "p", Instance: "i"}
	l = noted(l, 3, plan(end))
	l.Fold(seen(4, 2, node("a", "1")), []model.Outcome{{Call: end, Ended: at(4), Target: 4}})
	expected(t, l, 4)
	l.Fold(seen(10, 2, node("a", "1")), nil)
	expected(t, l, 4)
	l.Fold(seen(130, 2, node("a", "1")), nil)
	expected(t, l, 2)
}

// TestUnknownEndCountsAsDone: until a read that began after it (rule L2).
func TestUnknownEndCountsAsDone(t *testing.T) {
	l := noted(folded(seen(0, 2), nil), 1, plan(grow(2, 5)))
	unknown := model.Outcome{Call: grow(2, 5), Ended: at(3), Target: -1,
		Err: &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}}
	old := seen(4, 2)
	old.Inventory.AsOf = at(2)
	l.Fold(old, []model.Outcome{unknown})
	expected(t, l, 5)
	if s := l.Standing().Groups["g"]; !s.Rests.Of(model.RestPaused).Until.Equal(at(8)) || !s.Unsure {
		t.Fatalf("%+v: a short rest is wanted, and a newer read", s)
	}
	l.Fold(seen(5, 2), nil)
	expected(t, l, 2)
	if l.Standing().Groups["g"].Unsure {
		t.Fatal("still unsure after a newer read")
	}
}

// TestFailedGrowth: what was refused is not expected, and the group rests; a
// conflict only means to look again.
func TestFailedGrowth(t *testing.T) {
	l := noted(folded(seen(0, 2), nil), 1, plan(grow(2, 5)))
	l.Fold(seen(4, 2), failed(grow(2, 5), 3, provider.NoCapacity))
	expected(t, l, 2)
	if until := l.Standing().Groups["g"].Rests.Of(model.RestFailed).Until; !until.Equal(at(303)) {
		t.Fatalf("backed off until %v", until)
	}
	l = noted(l, 340, plan(grow(2, 5)))
	l.Fold(seen(343, 2), failed(grow(2, 5), 342, provider.Conflict))
	if s := l.Standing().Groups["g"]; !s.Rests.Of(model.RestFailed).Until.Equal(at(303)) ||
		!s.Rests.Of(model.RestPaused).Until.IsZero() {
		t.Fatalf("a conflict is no failure: %+v", s)
	}
}

// TestOutageIsNoGroupsFault: a cloud that does not answer keeps all groups from
// growing until it is read again, and none for longer.
func TestOutageIsNoGroupsFault(t *testing.T) {
	l := noted(folded(seen(0, 2), nil), 1, plan(grow(2, 5)))
	old := seen(4, 2)
	old.Inventory.AsOf = at(2)
	l.Fold(old, failed(grow(2, 5), 3, provider.Unavailable))
	for _, id := range []provider.GroupID{"g", "h"} {
		if s := l.Standing().Groups[id]; !s.Unsure || !s.Rests.Of(model.RestPaused).Until.IsZero() {
			t.Errorf("%s: %+v", id, s)
		}
	}
	l.Fold(seen(5, 2), nil)
	for _, id := range []provider.GroupID{"g", "h"} {
		if s := l.Standing().Groups[id]; s.Unsure {
			t.Errorf("%s: %+v after a newer read", id, s)
		}
	}
}

// TestPartialGrowth: what the provider counted is what is expected.
func TestPartialGrowth(t *testing.T) {
	l := noted(folded(seen(0, 2), nil), 1, plan(grow(2, 5)))
	o := model.Outcome{Call: grow(2, 5), Ended: at(3), Target: 4,
		Err: &provider.Error{Kind: provider.Transient, MayHaveHappened: true}}
	old := seen(4, 2)
	old.Inventory.AsOf = at(2)
	l.Fold(old, []model.Outcome{o})
	expected(t, l, 4)
}

// TestUnreadableGroupStays: and so does one in an inventory that never came.
func TestUnreadableGroupStays(t *testing.T) {
	l := folded(seen(0, 4), nil)
	o := seen(10, 0)
	o.Inventory.Groups[0].Err = &provider.Error{Kind: provider.Unavailable}
	l.Fold(o, nil)
	expected(t, l, 4)
	l.Fold(model.Observation{Now: at(20)}, nil)
	expected(t, l, 4)
}

func drainOf(l *Ledger, name string) model.Drain {
	if d := l.Standing().Nodes[name].Drain; d != nil {
		return *d
	}
	return model.Drain{}
}

// TestRemoval: taint, then remove, each seen before the next; the node's end
// closes the drain.
func TestRemoval(t *testing.T) {
	l := folded(seen(0, 1, node("n", "7")), nil)
	l = noted(l, 1, plan(onNode(model.Taint, "n")))
	if d := drainOf(l, "n"); d.Stage != model.Tainting {
		t.Fatalf("stage %q", d.Stage)
	}
	l.Fold(seen(2, 1, node("n", "7")), written(onNode(model.Taint, "n"), 2, "9"))
	if n := l.Standing().Nodes["n"]; n.Drain.Stage != model.Tainted || n.AwaitVersion != "9" {
		t.Fatalf("%+v %+v", n, n.Drain)
	}
	l.Fold(seen(3, 1, node("n", "8")), nil)
	if l.Standing().Nodes["n"].AwaitVersion == "" {
		t.Fatal("version 8 was taken for 9 or later (rule L4)")
	}
	l.Fold(seen(4, 1, node("n", "10")), nil)
	if l.Standing().Nodes["n"].AwaitVersion != "" {
		t.Fatal("version 10 was not taken for 9 or later (rule L4)")
	}
	l = noted(l, 5, plan(onNode(model.Remove, "n")))
	l.Fold(seen(6, 1, node("n", "10")), []model.Outcome{{Call: onNode(model.Remove, "n"), Ended: at(6), Target: 0}})
	if d := drainOf(l, "n"); d.Stage != model.Removed {
		t.Fatalf("stage %q", d.Stage)
	}
	expected(t, l, 0)
	if !l.Standing().LastRemoval.Equal(at(6)) {
		t.Fatal("the removal is not on record")
	}
	// The cloud said yes, and a later read still has it: once more.
	l.Fold(seen(7, 1, node("n", "10")), nil)
	if again := drainOf(l, "n"); again.Stage != model.Removed {
		t.Fatalf("stage %q: the cloud is to be believed for a while", again.Stage)
	}
	l.Fold(seen(200, 1, node("n", "10")), nil)
	if again := drainOf(l, "n"); again.Stage != model.Tainted {
		t.Fatalf("stage %q though the instance is still there", again.Stage)
	}
	l.Fold(seen(208, 0), nil)
	if len(l.Standing().Nodes) != 0 {
		t.Fatalf("left behind: %+v", l.Standing().Nodes)
	}
}

// TestRemovalOfUnknownEnd: a newer read decides whether it is gone (rule L2).
func TestRemovalOfUnknownEnd(t *testing.T) {
	l := noted(folded(seen(0, 1, node("n", "7")), nil), 1, plan(onNode(model.Taint, "n")))
	l.Fold(seen(2, 1, node("n", "7")), written(onNode(model.Taint, "n"), 2, "7"))
	l = noted(l, 3, plan(onNode(model.Remove, "n")))
	o := []model.Outcome{{Call: onNode(model.Remove, "n"), Ended: at(5), Target: -1,
		Err: &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}}}
	old := seen(6, 1, node("n", "7"))
	old.Inventory.AsOf = at(4)
	l.Fold(old, o)
	if d := drainOf(l, "n"); d.Stage != model.Removing {
		t.Fatalf("stage %q before a newer read", d.Stage)
	}
	l.Fold(seen(7, 1, node("n", "7")), nil)
	if d := drainOf(l, "n"); d.Stage != model.Tainted {
		t.Fatalf("stage %q after a read that still shows it", d.Stage)
	}
}

// TestRemovalRefused: the node is rolled back.
func TestRemovalRefused(t *testing.T) {
	taint := corev1.Taint{Key: model.TaintToBeDeleted, Value: fmt.Sprint(t0.Unix())}
	l := noted(folded(seen(0, 1, node("n", "7", taint)), nil), 1, plan(onNode(model.Remove, "n")))
	l.Fold(seen(2, 1, node("n", "7")), []model.Outcome{{Call: onNode(model.Remove, "n"), Ended: at(2), Target: -1,
		Landed: []string{"default/late"}, Err: &provider.Error{Kind: provider.Conflict}}})
	if d := drainOf(l, "n"); d.Stage != model.RollingBack {
		t.Fatalf("stage %q", d.Stage)
	}
	l = noted(l, 3, plan(onNode(model.Untaint, "n")))
	l.Fold(seen(4, 1, node("n", "7")), failed(onNode(model.Untaint, "n"), 4, provider.Unavailable))
	if d := drainOf(l, "n"); d.Stage != model.RollingBack || !d.NotBefore.Equal(at(9)) {
		t.Fatalf("after a failed untaint: %+v", d)
	}
	l = noted(l, 9, plan(onNode(model.Untaint, "n")))
	l.Fold(seen(10, 1, node("n", "8")),
		written(onNode(model.Untaint, "n"), 10, "8"))
	if n := l.Standing().Nodes["n"]; n.Drain != nil {
		t.Fatalf("still draining: %+v", n.Drain)
	}
}

// TestRestartAdoptsHalfDoneRemovals: after a restart the taint is all that is
// left of a removal, and it goes on from there (rule L8).
func TestRestartAdoptsHalfDoneRemovals(t *testing.T) {
	taint := corev1.Taint{Key: model.TaintToBeDeleted, Value: "1767225600", Effect: corev1.TaintEffectNoSchedule}
	l := folded(seen(0, 1, node("n", "7", taint)), nil)
	d := drainOf(l, "n")
	if d.Stage != model.Tainted || d.Since.Unix() != 1767225600 {
		t.Fatalf("%+v", d)
	}
}

// TestACordonOfOursIsFound: another client removed the taint of a removal that is not remembered.
// Else the node would stay cordoned for ever.
func TestACordonOfOursIsFound(t *testing.T) {
	n := node("n", "7")
	n.Spec.Unschedulable, n.Annotations = true, map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
	l := folded(seen(0, 1, n), nil)
	if d := l.Standing().Nodes["n"].Drain; d == nil || d.Stage != model.RollingBack {
		t.Fatalf("%+v", d)
	}
}

// TestAGoneNodeIsForgotten, though another one's time ends in the same fold: the next node of its
// name has not been unneeded for as long.
func TestAGoneNodeIsForgotten(t *testing.T) {
	a, b := node("a", "7"), node("b", "7")
	for _, n := range []*corev1.Node{a, b} {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	of := func(nodes ...*corev1.Node) model.Observation {
		o := seen(0, 2, nodes...)
		o.Inventory.Groups[0].Instances = []provider.Instance{
			{ID: "a", NodeName: "a", State: provider.Running}, {ID: "b", NodeName: "b", State: provider.Running}}
		return o
	}
	l := folded(of(a, b), nil)
	since := model.Verdict{Since: at(0)}
	l = noted(l, 0, model.Plan{Unneeded: []model.NodeVerdict{{Node: "a", Verdict: since}, {Node: "b", Verdict: since}}})
	sick := a.DeepCopy()
	sick.Status.Conditions[0].Status = corev1.ConditionFalse
	l.Fold(of(sick), nil)
	if s := l.Standing().Nodes["a"].UnneededSince; !s.IsZero() {
		t.Fatalf("it is not ready any more, and its time goes on since %v", s)
	}
	l.Fold(of(sick, b), nil)
	if s := l.Standing().Nodes["b"].UnneededSince; !s.IsZero() {
		t.Fatalf("since %v", s)
	}
}

// TestUnneededSince: kept while the node stays unneeded, dropped when not.
func TestUnneededSince(t *testing.T) {
	l := folded(seen(0, 1, node("n", "7")), nil)
	v := model.NodeVerdict{Node: "n", Verdict: model.Verdict{Since: at(0)}}
	l = noted(l, 0, model.Plan{Unneeded: []model.NodeVerdict{v}})
	l.Fold(seen(5, 1, node("n", "7")), nil)
	if s := l.Standing().Nodes["n"].UnneededSince; !s.Equal(at(0)) {
		t.Fatalf("since %v", s)
	}
	l = noted(l, 5, model.Plan{})
	if s := l.Standing().Nodes["n"].UnneededSince; !s.IsZero() {
		t.Fatalf("since %v, though it is needed", s)
	}
}
