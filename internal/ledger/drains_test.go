package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// emptying is a node "n" of the group "g" that is to go, second by second.
type emptying struct {
	t      *testing.T
	l      *Ledger
	second int
	node   *corev1.Node
	pods   []model.Pod
	target int
}

// newEmptying puts a node there with the pods a and b, of two controllers.
func newEmptying(t *testing.T) *emptying {
	e := &emptying{t: t, l: empty(), node: node("n", "1"), target: 1, pods: []model.Pod{
		{Name: "a", UID: "uid-a", Owner: "set-a"}, {Name: "b", UID: "uid-b", Owner: "set-b"},
	}}
	e.look()
	return e
}

func (e *emptying) seen() model.Observation {
	if e.node == nil {
		return seen(e.second, e.target)
	}
	o := seen(e.second, e.target, e.node)
	o.Nodes[0].Pods = e.pods
	return o
}

// look lets a second pass, and folds what is seen then.
func (e *emptying) look(ended ...model.Outcome) {
	e.second++
	e.l.Fold(e.seen(), ended)
}

func (e *emptying) note(calls ...model.Call) {
	snap := &model.Snapshot{Now: at(e.second)}
	if e.node != nil {
		snap.Nodes = []*model.Node{{Name: "n", Object: e.node, Bound: e.pods, Standing: e.standing()}}
		snap.Displaced = e.l.Standing().Displaced
	}
	e.l.Note(snap, plan(calls...))
}

func (e *emptying) standing() model.NodeStanding { return e.l.Standing().Nodes["n"] }

// drain is the open drain, an empty one if there is none.
func (e *emptying) drain() model.Drain { return drainOf(e.l, "n") }

// call makes a call and lets it end a second later, well unless it is said
// otherwise.
func (e *emptying) call(c model.Call, mend ...func(*model.Outcome)) {
	e.note(c)
	o := model.Outcome{Call: c, Ended: at(e.second + 1), Target: -1}
	for _, f := range mend {
		f(&o)
	}
	e.look(o)
}

// until brings the node to a stage, by the calls that lead there.
func (e *emptying) until(s model.Stage) {
	e.t.Helper()
	e.call(taintCall())
	e.taint()
	if s == model.Tainted {
		return
	}
	e.call(onNode(model.Cordon, "n"))
	e.cordon()
	if s == model.Evicting {
		return
	}
	e.call(evictCall("a"))
	e.call(evictCall("b"))
	e.pods = nil
	e.look()
	e.note(onNode(model.Remove, "n"))
	want(e.t, "stage", e.drain().Stage, s)
}

// taint and cordon are what the API server shows after those calls.
func (e *emptying) taint() {
	e.node = e.node.DeepCopy()
	e.node.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: fmt.Sprint(at(e.second).Unix()),
		Effect: corev1.TaintEffectNoSchedule}}
}

func (e *emptying) cordon() {
	e.node = e.node.DeepCopy()
	e.node.Spec.Unschedulable = true
	e.node.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
}

// restart goes on with what would have been written down.
func (e *emptying) restart() {
	e.l = Restore(e.l.rules, throughJSON(e.t, e.l.Memory()))
	e.look()
}

func taintCall() model.Call {
	c := onNode(model.Taint, "n")
	c.Known = []types.UID{"uid-a", "uid-b"}
	return c
}

func evictCall(pod string) model.Call {
	c := onNode(model.Evict, "n")
	c.ID, c.Pod, c.PodUID = "evict/"+pod, "default/"+pod, types.UID("uid-"+pod)
	return c
}

func untaintCall(code model.Reason, why string) model.Call {
	c := onNode(model.Untaint, "n")
	c.Reason, c.Why = code, why
	return c
}

// The ends of calls.
func denied(o *model.Outcome) { o.Err = &provider.Error{Kind: provider.Denied, Message: "no"} }

func refused(o *model.Outcome) { o.Err = &provider.Error{Kind: provider.Conflict, Message: "no"} }

func lost(o *model.Outcome) {
	o.Err = &provider.Error{Kind: provider.Unavailable, Message: "no answer", MayHaveHappened: true}
}

func notBegun(o *model.Outcome) {
	o.Err = &provider.Error{Kind: provider.Transient, Code: model.CodeNotBegun, Message: "not begun: the lease is lost"}
}

func landed(o *model.Outcome) {
	o.Err = &provider.Error{Kind: provider.Conflict, Message: "pods are on it"}
	o.Landed = []string{"default/late"}
}

func granted(*model.Outcome) {}

func wrote(version string) func(*model.Outcome) {
	return func(o *model.Outcome) { o.ResourceVersion = version }
}

func unchanged(o *model.Outcome) { o.Unchanged, o.ResourceVersion = true, "99" } // it was read at that version

// TestADrainToldCallByCall: taint, cordon, evict, remove, each on record before
// it is begun; the node's end closes it.
func TestADrainToldCallByCall(t *testing.T) {
	e := newEmptying(t)
	// Taint.
	e.note(taintCall())
	want(t, "tainting", e.drain(), model.Drain{
		Node: "n", Group: "g", Instance: "n", Stage: model.Tainting, Since: at(1), Began: at(1), Occupied: true,
		Pods: []types.UID{"uid-a", "uid-b"},
	})
	want(t, "busy", e.standing().Busy.Verb, model.Taint)
	e.look(model.Outcome{Call: taintCall(), Ended: at(2), Target: -1, ResourceVersion: "2"})
	d := e.drain()
	want(t, "stage", d.Stage, model.Tainted)
	want(t, "since", d.Since, at(2))
	want(t, "await", e.standing().AwaitVersion, "2")
	want(t, "busy", e.standing().Busy == nil, true)
	e.taint()
	e.node.ResourceVersion = "2"
	e.look()
	want(t, "await", e.standing().AwaitVersion, "")
	// Cordon.
	e.note(onNode(model.Cordon, "n"))
	want(t, "stage", e.drain().Stage, model.Cordoning)
	want(t, "pods", len(e.drain().Pods), 2)
	e.look(model.Outcome{Call: onNode(model.Cordon, "n"), Ended: at(4), Target: -1, ResourceVersion: "3"})
	d = e.drain()
	want(t, "stage", d.Stage, model.Evicting)
	want(t, "since", d.Since, at(4))
	want(t, "pods", len(d.Pods), 2)
	want(t, "await", e.standing().AwaitVersion, "3")
	e.cordon()
	e.node.ResourceVersion = "3"
	e.look()
	// Evict: the node itself is not busy.
	e.note(evictCall("b"), evictCall("a"))
	a := model.Eviction{Pod: "default/a", UID: "uid-a", Owner: "set-a", First: at(5), Last: at(5), Busy: true}
	b := model.Eviction{Pod: "default/b", UID: "uid-b", Owner: "set-b", First: at(5), Last: at(5), Busy: true}
	want(t, "evictions", e.drain().Evictions, []model.Eviction{a, b})
	want(t, "busy", e.standing().Busy == nil, true)
	// One is granted, the other refused: that is no failure.
	e.look(model.Outcome{Call: evictCall("a"), Ended: at(6), Target: -1},
		model.Outcome{Call: evictCall("b"), Ended: at(6), Target: -1,
			Err: &provider.Error{Kind: provider.Conflict, Message: "the budget has none to spare"}})
	a.Busy, a.Granted, a.Last = false, true, at(6)
	b.Busy, b.Last, b.Why = false, at(6), e.drain().Evictions[1].Why
	want(t, "evictions", e.drain().Evictions, []model.Eviction{a, b})
	want(t, "why is told", b.Why != "", true)
	want(t, "stage", e.drain().Stage, model.Evicting)
	want(t, "no failure", e.l.Standing().LastFailure.IsZero(), true)
	// Once more, later: it is the same eviction.
	e.second = 15
	e.call(evictCall("b"))
	b.Granted, b.Last = true, at(16)
	want(t, "evictions", e.drain().Evictions, []model.Eviction{a, b})
	e.pods = nil
	e.look()
	// Remove.
	e.note(onNode(model.Remove, "n"))
	want(t, "stage", e.drain().Stage, model.Removing)
	want(t, "since", e.drain().Since, at(e.second))
	e.target = 0
	e.look(model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(18), Target: 0})
	want(t, "stage", e.drain().Stage, model.Removed)
	want(t, "began", e.drain().Began, at(1))
	s := e.l.Standing()
	want(t, "last removal", []time.Time{s.LastRemoval, s.Groups["g"].LastRemoval, s.Groups["h"].LastRemoval},
		[]time.Time{at(18), at(18), {}})
	e.node = nil
	e.look()
	want(t, "left behind", len(e.l.Standing().Nodes), 0)
	want(t, "open calls", len(e.l.Open()), 0)
	expected(t, e.l, 0)
}

// TestEndsOfNodeCalls: what becomes of a drain when a call on its node ends, in
// each way.
func TestEndsOfNodeCalls(t *testing.T) {
	type after struct {
		Stage model.Stage
		Code  model.Reason
		Since int // seconds after the call was made
		Pods  int // that were known
		Rests bool
		Await string
		// Failed: a removal has failed by now.
		Failed    bool
		MarkRests bool
	}
	for _, c := range []struct {
		name  string
		stage model.Stage // before; empty: none
		verb  model.Verb
		ends  []func(*model.Outcome)
		want  after
	}{
		{"taint", "", model.Taint, []func(*model.Outcome){wrote("7")}, after{Stage: model.Tainted, Since: 1, Pods: 2, Await: "7"}},
		{"taint that was there", "", model.Taint, []func(*model.Outcome){unchanged}, after{Stage: model.Tainted, Since: 1, Pods: 2, Await: "99"}},
		{"taint refused", "", model.Taint, []func(*model.Outcome){denied}, after{Failed: true}},
		{"taint in a conflict", "", model.Taint, []func(*model.Outcome){refused}, after{Rests: true}},
		{"taint without an answer", "", model.Taint, []func(*model.Outcome){lost}, after{Stage: model.Tainted, Since: 1, Pods: 2}},
		{"taint never begun", "", model.Taint, []func(*model.Outcome){notBegun}, after{Rests: true}},

		{"cordon", model.Tainted, model.Cordon, []func(*model.Outcome){wrote("7")}, after{Stage: model.Evicting, Since: 1, Await: "7", Pods: 2}},
		{"cordon that was there", model.Tainted, model.Cordon, []func(*model.Outcome){unchanged}, after{Stage: model.Evicting, Since: 1, Await: "99", Pods: 2}},
		{"cordon, and a pod landed", model.Tainted, model.Cordon, []func(*model.Outcome){wrote("7"), landed},
			after{Stage: model.RollingBack, Code: model.PodLanded, Since: 1, Pods: 2, Await: "7"}},
		{"cordon refused", model.Tainted, model.Cordon, []func(*model.Outcome){refused}, after{Stage: model.RollingBack, Code: model.DrainFailed, Since: 1, Pods: 2}},
		{"cordon without an answer", model.Tainted, model.Cordon, []func(*model.Outcome){lost}, after{Stage: model.Tainted, Since: -1, Pods: 2, Rests: true}},
		{"cordon never begun", model.Tainted, model.Cordon, []func(*model.Outcome){notBegun}, after{Stage: model.Tainted, Since: -1, Pods: 2, Rests: true}},

		{"remove", model.Evicting, model.Remove, nil, after{Stage: model.Removed, Since: 1, Pods: 2}},
		{"remove, and a pod landed", model.Evicting, model.Remove, []func(*model.Outcome){landed},
			after{Stage: model.RollingBack, Code: model.PodLanded, Since: 1, Failed: true, Pods: 2}},
		{"remove refused", model.Evicting, model.Remove, []func(*model.Outcome){refused}, after{Stage: model.RollingBack, Code: model.DrainFailed, Since: 1, Failed: true, Pods: 2}},
		{"remove without an answer", model.Evicting, model.Remove, []func(*model.Outcome){lost}, after{Stage: model.Removing, Since: 1, Pods: 2}},
		{"remove never begun", model.Evicting, model.Remove, []func(*model.Outcome){notBegun}, after{Stage: model.Evicting, Since: -1, Rests: true, Pods: 2}},

		{"untaint", model.Evicting, model.Untaint, []func(*model.Outcome){wrote("7")}, after{Await: "7"}},
		{"untaint of what was gone", model.Evicting, model.Untaint, []func(*model.Outcome){unchanged}, after{Await: "99"}},
		{"untaint refused", model.Evicting, model.Untaint, []func(*model.Outcome){refused}, after{Stage: model.RollingBack, Code: model.Reserved, Rests: true, Pods: 2}},
		{"untaint without an answer", model.Evicting, model.Untaint, []func(*model.Outcome){lost}, after{Stage: model.RollingBack, Code: model.Reserved, Rests: true, Pods: 2}},
		{"untaint never begun", model.Evicting, model.Untaint, []func(*model.Outcome){notBegun}, after{Stage: model.Evicting, Since: -1, Rests: true, Pods: 2}},

		{"mark", "", model.Mark, []func(*model.Outcome){wrote("7")}, after{Await: "7"}},
		{"mark that was there", "", model.Mark, []func(*model.Outcome){unchanged}, after{Await: "99"}},
		{"unmark refused", "", model.Unmark, []func(*model.Outcome){refused}, after{MarkRests: true}},
		{"annotate refused", model.Tainted, model.Annotate, []func(*model.Outcome){refused}, after{Stage: model.Tainted, Since: -1, Pods: 2, MarkRests: true}},
		{"annotate never begun", model.Tainted, model.Annotate, []func(*model.Outcome){notBegun}, after{Stage: model.Tainted, Since: -1, Pods: 2, MarkRests: true}},
		{"annotate without an answer", model.Tainted, model.Annotate, []func(*model.Outcome){lost}, after{Stage: model.Tainted, Since: -1, Pods: 2, MarkRests: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmptying(t)
			if c.stage != "" {
				e.until(c.stage)
				e.look()
			}
			before := e.drain()
			made := e.second
			call := onNode(c.verb, "n")
			switch c.verb {
			case model.Taint:
				call = taintCall()
			case model.Untaint:
				call = untaintCall(model.Reserved, "pending pods fit there")
				e.node = node("n", "1")
			}
			// The picture is older than the call: the cloud has no say in this.
			e.note(call)
			want(t, "busy", e.standing().Busy.Verb, c.verb)
			o := model.Outcome{Call: call, Ended: at(made + 1), Target: -1}
			for _, f := range c.ends {
				f(&o)
			}
			e.second++
			seen := e.seen()
			seen.Inventory.AsOf = at(made)
			e.l.Fold(seen, []model.Outcome{o})
			d, n := e.drain(), e.standing()
			want(t, "busy", n.Busy == nil, true)
			got := after{
				Stage: d.Stage, Code: d.Code, Pods: len(d.Pods), Await: n.AwaitVersion,
				Rests:  model.Latest(d.NotBefore, n.TaintAfter).Equal(at(made + 1).Add(5 * time.Second)),
				Failed: !e.l.Standing().LastFailure.IsZero(), MarkRests: n.MarkAfter.After(at(made + 1)),
			}
			switch {
			case d.Stage == "":
			case d.Since.Equal(before.Since):
				got.Since = -1
			default:
				got.Since = int(d.Since.Sub(at(made)).Seconds())
			}
			want(t, "after", got, c.want)
			if d.Stage != "" {
				want(t, "occupied", d.Occupied, true)
			}
			if len(o.Landed) > 0 {
				want(t, "why", d.Why, "new pods are on it: default/late")
			}
			if c.stage != "" && d.Stage != "" {
				want(t, "began", d.Began, before.Began)
			}
		})
	}
}

// TestEndsOfEvictions: a refusal, or no answer, gives nothing back by itself;
// whatever was granted before a refusal is not any more.
func TestEndsOfEvictions(t *testing.T) {
	for _, c := range []struct {
		name         string
		ends         []func(*model.Outcome)
		granted, why bool
	}{
		{"granted", []func(*model.Outcome){granted}, true, false},
		{"gone already", []func(*model.Outcome){unchanged}, true, false},
		{"refused", []func(*model.Outcome){refused}, false, true},
		{"no answer", []func(*model.Outcome){lost}, false, true},
		{"never begun", []func(*model.Outcome){notBegun}, false, true},
		{"refused, then granted", []func(*model.Outcome){refused, granted}, true, true},
		{"granted, then refused", []func(*model.Outcome){granted, refused}, false, true},
		{"granted, then no answer", []func(*model.Outcome){granted, lost}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEmptying(t)
			e.until(model.Evicting)
			asked := e.second
			for _, end := range c.ends {
				e.call(evictCall("a"), end)
			}
			got := e.drain().Evictions[0]
			want(t, "eviction", got, model.Eviction{
				Pod: "default/a", UID: "uid-a", Owner: "set-a", First: at(asked), Last: at(e.second), Granted: c.granted,
				Why: got.Why,
			})
			want(t, "there is a why", got.Why != "", c.why)
			want(t, "stage", e.drain().Stage, model.Evicting)
			want(t, "await", e.standing().AwaitVersion, "")
			want(t, "no failure", e.l.Standing().LastFailure.IsZero(), true)
		})
	}
}

// TestARightThatIsMissing: what Plimsoll may not do with one pod it may do with none, so
// that the group rests, with the reason, and no node after another is tainted in vain.
func TestARightThatIsMissing(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	for range 10 { // asked for each ten seconds
		e.call(evictCall("a"), func(o *model.Outcome) {
			o.Err = &provider.Error{Kind: provider.Denied, Code: model.CodeRightMissing,
				Message: "cannot evict it (grant create on pods/eviction)"}
		})
		e.second += 9
	}
	g := e.l.Standing().Groups["g"]
	r := g.Rests.Of(model.RestRefused)
	if r.Code != model.CodeRightMissing || !r.Until.After(at(e.second)) || !strings.Contains(r.Message, "grant") {
		t.Errorf("the group's removals: %+v", g.Rests.Of(model.RestRefused))
	}
	e = newEmptying(t)
	e.until(model.Evicting)
	for range 10 {
		e.call(evictCall("a"), func(o *model.Outcome) {
			o.Err = &provider.Error{Kind: provider.Denied, Message: "a webhook says no"}
		})
		e.second += 9
	}
	if g := e.l.Standing().Groups["g"]; !g.Rests.Of(model.RestRefused).Until.IsZero() {
		t.Errorf("one pod's webhook holds the group: %+v", g.Rests.Of(model.RestRefused))
	}
}

// TestPodsThatAreGone: a pod that is on the node no more has been evicted,
// whatever its call's end was; its call ends when it ends.
func TestPodsThatAreGone(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.call(evictCall("a"), refused)
	e.note(evictCall("b"))
	e.pods = nil
	e.look()
	for i, busy := range []bool{false, true} {
		x := e.drain().Evictions[i]
		want(t, x.Pod+" granted", x.Granted, true)
		want(t, x.Pod+" busy", x.Busy, busy)
	}
}

// TestPodOfTheSameName: a pod that takes another one's name is another one, and
// the end of the other's eviction says nothing of it.
func TestPodOfTheSameName(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.note(evictCall("a"))
	first := evictCall("a")
	e.pods[0] = model.Pod{Name: "a", UID: "uid-a2", Owner: "set-a"}
	again := evictCall("a")
	again.ID, again.PodUID = "evict/a/again", "uid-a2"
	e.look()
	e.note(again)
	made := e.second
	e.look(model.Outcome{Call: first, Ended: at(made + 1), Target: -1})
	want(t, "evictions", e.drain().Evictions,
		[]model.Eviction{{Pod: "default/a", UID: "uid-a2", Owner: "set-a", First: at(made), Last: at(made), Busy: true}})
}

// TestEvictionOverlapsARollback: it ends in the drain that it finds, and its pod
// is not busy any more.
func TestEvictionOverlapsARollback(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.note(evictCall("a"))
	e.note(untaintCall(model.EvictionRefused, "b stays"))
	e.look(model.Outcome{Call: evictCall("a"), Ended: at(e.second), Target: -1})
	want(t, "stage", e.drain().Stage, model.RollingBack)
	want(t, "granted", e.drain().Evictions[0].Granted, true)
	// The untaint never began: the drain goes on, with what has ended meanwhile.
	o := model.Outcome{Call: untaintCall(model.EvictionRefused, "b stays"), Ended: at(e.second), Target: -1}
	notBegun(&o)
	e.look(o)
	want(t, "stage", e.drain().Stage, model.Evicting)
	want(t, "granted", e.drain().Evictions[0].Granted, true)
	want(t, "busy", e.drain().Evictions[0].Busy, false)
}

// TestEvictionOverlapsTheNextDrain: an eviction that the drain before requested does not
// keep the next one from requesting it again, and its end is not taken for the later call's.
func TestEvictionOverlapsTheNextDrain(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.note(evictCall("a"))
	e.call(untaintCall(model.EvictionRefused, "b stays"))
	e.node = node("n", "1")
	e.until(model.Evicting)
	want(t, "evictions", len(e.drain().Evictions), 0)
	again := evictCall("a")
	again.ID = "evict/a/again"
	e.note(again)
	e.look(model.Outcome{Call: evictCall("a"), Ended: at(e.second), Target: -1})
	want(t, "busy with the later one", e.drain().Evictions[0].Busy, true)
	e.look(model.Outcome{Call: again, Ended: at(e.second), Target: -1})
	want(t, "busy", e.drain().Evictions[0].Busy, false)
}

// TestGivenBack: which rollbacks count as removals that failed. Those that a person or a waiting pod wanted do not.
func TestGivenBack(t *testing.T) {
	for code, failed := range map[model.Reason]bool{
		model.PodLanded: true, model.EvictionRefused: true, model.ReplacementWaits: true,
		model.NoPlaceToMovePods: true, model.DrainFailed: true, model.NotEnoughPdb: true, model.NotSafeToEvict: true,
		model.Reserved: false, model.ScaleDownOff: false, model.ReadyAgain: false, model.InstanceHeld: false,
		model.ClusterUnhealthy: false, model.LeaderChanged: false, model.NotAutoscaled: false,
		model.ScaleDownDisabled: false, model.AllOrNothing: false, "": false,
	} {
		t.Run(string(code), func(t *testing.T) {
			e := newEmptying(t)
			e.l.Note(&model.Snapshot{Now: at(1)},
				model.Plan{Unneeded: []model.NodeVerdict{{Node: "n", Verdict: model.Verdict{Since: at(1)}}}})
			e.until(model.Evicting)
			e.call(untaintCall(code, "because"), func(o *model.Outcome) { o.ResourceVersion = "9" })
			n, s := e.standing(), e.l.Standing()
			want(t, "drain", n.Drain == nil, true)
			want(t, "await", n.AwaitVersion, "9")
			want(t, "unneeded since", n.UnneededSince, time.Time{})
			now, failure := at(e.second), model.Failure{At: at(e.second), Why: string(code) + ": because", Times: 1}
			why := fmt.Sprintf("node %q: %s: because", "n", code)
			if code == model.DrainFailed {
				failure.Times = 0
			}
			if !failed {
				now, failure, why = time.Time{}, model.Failure{}, ""
			}
			want(t, "what failed", []string{s.FailureWhy, s.Groups["g"].FailureWhy, s.Groups["h"].FailureWhy},
				[]string{why, why, ""})
			want(t, "node", n.Failed, failure)
			want(t, "cluster and groups", []time.Time{s.LastFailure, s.Groups["g"].LastFailure, s.Groups["h"].LastFailure},
				[]time.Time{now, now, {}})
		})
	}
}

// TestARollbackKeepsItsReason: what else would be one by now does not change
// what became of the drain.
func TestARollbackKeepsItsReason(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Tainted)
	e.call(onNode(model.Cordon, "n"), landed)
	e.call(untaintCall(model.ClusterUnhealthy, "4 of 5 nodes are not ready"), lost)
	want(t, "code", e.drain().Code, model.PodLanded)
	e.call(untaintCall(model.ClusterUnhealthy, "4 of 5 nodes are not ready"))
	want(t, "failed", e.standing().Failed.Why, "PodLanded: new pods are on it: default/late")
}

// TestNamesOfLandedPods are not all told.
func TestNamesOfLandedPods(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Tainted)
	e.call(onNode(model.Cordon, "n"), landed,
		func(o *model.Outcome) { o.Landed = []string{"a", "b", "c", "d", "e", "f", "g"} })
	want(t, "why", e.drain().Why, "new pods are on it: a, b, c, d, e and 2 more")
}

// TestWhatACallBusies: its node, unless it is an eviction; its group and pool, if
// it changes a target.
func TestWhatACallBusies(t *testing.T) {
	for verb, busy := range map[model.Verb]struct{ node, group bool }{
		model.Grow: {false, true}, model.Cancel: {false, true}, model.Remove: {true, true},
		model.Taint: {true, false}, model.Untaint: {true, false}, model.Cordon: {true, false},
		model.Mark: {true, false}, model.Unmark: {true, false}, model.Annotate: {true, false}, model.Evict: {false, false},
	} {
		t.Run(string(verb), func(t *testing.T) {
			e := newEmptying(t)
			e.until(model.Evicting)
			c := onNode(verb, "n")
			if verb == model.Grow || verb == model.Cancel {
				c.Node, c.Instance = "", ""
			}
			e.note(c)
			s := e.l.Standing()
			want(t, "node", s.Nodes["n"].Busy != nil, busy.node)
			want(t, "group", s.Groups["g"].Busy != nil, busy.group)
			want(t, "another group of the pool", s.Groups["h"].Busy != nil, busy.group)
			want(t, "writes to the group", e.l.busy("g"), busy.group)
		})
	}
}

// TestAGrowthBesideARemoval: of the calls that keep a group busy its own growth is told, by which
// no removal begins.
func TestAGrowthBesideARemoval(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	going := onNode(model.Remove, "n")
	going.ID = "remove/n"
	e.note(going, grow(1, 2))
	want(t, "busy", e.l.Standing().Groups["g"].Busy.Verb, model.Grow)
	want(t, "another group of the pool", e.l.Standing().Groups["h"].Busy != nil, true)
}

// TestStandingsAreFrozen: what was given out stays as it was, whatever happens
// afterwards.
func TestStandingsAreFrozen(t *testing.T) {
	e := newEmptying(t)
	type given struct {
		standing model.Standing
		said     string
	}
	var all []given
	give := func() {
		s := e.l.Standing()
		all = append(all, given{s, told(t, s)})
	}
	give()
	for _, c := range []model.Call{taintCall(), onNode(model.Cordon, "n"), evictCall("b"), evictCall("a"),
		evictCall("b"), onNode(model.Remove, "n"), untaintCall(model.PodLanded, "late")} {
		e.note(c)
		give()
		e.look(model.Outcome{Call: c, Ended: at(e.second), Target: -1, ResourceVersion: "1"})
		give()
	}
	e.l.Note(&model.Snapshot{Now: at(e.second)},
		model.Plan{Kept: []model.NodeVerdict{{Node: "n", Verdict: model.Verdict{Reason: model.Cooldown}}}})
	give()
	e.node = nil
	e.look()
	give()
	for i, g := range all {
		want(t, fmt.Sprintf("standing %d", i), told(t, g.standing), g.said)
	}
}

// TestAdoptedRemovalOfUnknownEnd: a drain that was found learns whose it is, so
// that a read can tell whether its instance is there still.
func TestAdoptedRemovalOfUnknownEnd(t *testing.T) {
	e := newEmptying(t)
	e.pods = nil
	e.taint()
	e.look()
	want(t, "group", e.drain().Group, provider.GroupID(""))
	e.call(onNode(model.Remove, "n"), lost)
	e.look()
	want(t, "stage", e.drain().Stage, model.Tainted)
	want(t, "group", e.drain().Group, provider.GroupID("g"))
}

// TestWhatTheCloudDeletesAlready is not asked for again, no matter who asked. If
// nothing comes of it, the drain goes on.
func TestWhatTheCloudDeletesAlready(t *testing.T) {
	for name, before := range map[string]func(*emptying){
		"found after a restart": func(e *emptying) { e.pods = nil; e.taint() },
		"tainted":               func(e *emptying) { e.until(model.Tainted) },
		"evicting":              func(e *emptying) { e.until(model.Evicting); e.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptying(t)
			before(e)
			state := func(s provider.State) {
				e.second++
				o := e.seen()
				o.Inventory.Groups[0].Instances[0].State = s
				e.l.Fold(o, nil)
			}
			state(provider.Deleting)
			want(t, "stage", e.drain().Stage, model.Removed)
			e.second += int(model.Patience / time.Second)
			state(provider.Deleting)
			want(t, "stage", e.drain().Stage, model.Removed)
			state(provider.Running)
			want(t, "stage", e.drain().Stage, model.Tainted)
		})
	}
}

// TestEvictionWithoutADrain opens none, and hurts nothing.
func TestEvictionWithoutADrain(t *testing.T) {
	e := newEmptying(t)
	e.note(evictCall("a"))
	want(t, "under way", len(e.l.Open()), 1)
	want(t, "standing", e.standing(), model.NodeStanding{})
	e.look(model.Outcome{Call: evictCall("a"), Ended: at(2), Target: -1})
	want(t, "standing", e.standing(), model.NodeStanding{})
}

// TestWhatCannotHappenIsTold: it changes nothing, and is a bug of ours that must be reported.
func TestWhatCannotHappenIsTold(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	want(t, "all is well", len(kinds(e.l)), 0)
	e.note(onNode(model.Cordon, "n"))
	want(t, "stage", e.drain().Stage, model.Evicting)
	want(t, "told", kinds(e.l), []model.ChangeKind{model.RemovalOdd})
	want(t, "what", e.l.Changes()[0].Message, `node "n": Cordon begins, in stage "Evicting"`)
}

// TestKnownPodsStayOnRecord: a pod may land after the look still, one that
// tolerates everything, or any where nodes are not cordoned.
func TestKnownPodsStayOnRecord(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Tainted)
	look := onNode(model.Cordon, "n")
	look.LookOnly = true
	e.call(look)
	want(t, "stage", e.drain().Stage, model.Evicting)
	want(t, "known pods", len(e.drain().Pods), 2)
}

// TestWhenAPodHasLeft: an eviction tells since when its pod is gone, once.
func TestWhenAPodHasLeft(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.call(evictCall("a"))
	want(t, "gone", e.drain().Evictions[0].Gone.IsZero(), true)
	e.pods = nil
	e.look()
	gone := at(e.second)
	want(t, "gone", e.drain().Evictions[0].Gone, gone)
	e.look()
	want(t, "gone", e.drain().Evictions[0].Gone, gone)
}

// TestRemovalInAnUnreadableGroup: a group that could not be read says nothing of
// a removal.
func TestRemovalInAnUnreadableGroup(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Removing)
	e.l.Fold(func() model.Observation {
		e.second++
		seen := e.seen()
		seen.Inventory.Groups[0].Err = &provider.Error{Kind: provider.Unavailable}
		return seen
	}(), []model.Outcome{{Call: onNode(model.Remove, "n"), Ended: at(e.second),
		Err: &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}, Target: -1}})
	e.second++
	seen := e.seen()
	seen.Inventory.Groups[0].Err = &provider.Error{Kind: provider.Unavailable}
	e.l.Fold(seen, nil)
	want(t, "stage", e.drain().Stage, model.Removing)
}

// TestDisplaced: the controllers of evicted pods are known beyond the drain and over
// a restart, until half an hour has passed, none of their pods is without a node and some controller
// has made a pod; else for six hours.
func TestDisplaced(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	want(t, "no controller", len(e.l.Standing().Displaced), 0)
	first := at(e.second)
	e.call(evictCall("a"))
	e.call(evictCall("b"), func(o *model.Outcome) { o.Err = &provider.Error{Kind: provider.Conflict, Message: "refused"} })
	got := e.l.Standing().Displaced
	want(t, "one controller", len(got), 1)
	for _, d := range got {
		want(t, "first", d.First, first)
		want(t, "a refusal displaces no pod", d.Last, first)
	}
	e.restart()
	want(t, "after a restart", e.l.Standing().Displaced, got)
	e.note()
	want(t, "news", e.l.News(), false)
	e.second += 25 * 60
	e.look()
	want(t, "25 minutes later", len(e.l.Standing().Displaced), 1)
	e.second += 5*60 + 1
	e.look()
	want(t, "half an hour later, and no controller has made a pod", len(e.l.Standing().Displaced), 1)
	e.pods = append(e.pods, model.Pod{Name: "other", UID: "uid-other", Owner: "set-other", Created: at(e.second).Unix()})
	e.look()
	known := map[types.UID]model.Displaced{"set-a": {Settled: first, Known: first.Add(time.Hour)}}
	want(t, "another has made one", e.l.Standing().Displaced, known)
	want(t, "which is news", e.l.News(), true)
	e.restart()
	want(t, "after another restart", e.l.Standing().Displaced, known)
	e.second += 30 * 60
	e.look()
	want(t, "an hour later", len(e.l.Standing().Displaced), 0)

	for came, after := range map[bool]int{true: 0, false: 1} {
		e = newEmptying(t)
		e.until(model.Evicting)
		e.call(evictCall("a"))
		if came {
			e.l.Note(&model.Snapshot{Now: at(e.second)}, model.Plan{MadeUp: []types.UID{"set-a"}})
		}
		e.second += 30*60 + 1
		e.look()
		open := 0
		for _, d := range e.l.Standing().Displaced {
			if !d.First.IsZero() {
				open++
			}
		}
		want(t, fmt.Sprintf("half an hour later; it has made one: %v", came), open, after)
		e.second += 330 * 60
		e.look()
		want(t, "six hours later", len(e.l.Standing().Displaced), 0)
	}
}

// TestMovedAgain: a pod that came for an evicted one, and is evicted too, leaves behind that the next
// one rests, for longer each time; also over a restart.
func TestMovedAgain(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	e.call(evictCall("a"))
	move := func(name string) model.Displaced {
		e.pods = []model.Pod{{Name: "later", UID: "uid-later", Owner: "set-later", Created: at(e.second + 60).Unix()},
			{Name: name, UID: types.UID("uid-" + name), Owner: "set-a", Created: at(e.second).Unix()}}
		e.look()
		e.call(evictCall(name))
		return e.l.Standing().Displaced["set-a"]
	}
	want(t, "moved once", e.l.Standing().Displaced["set-a"].Times, 0)
	d := move("a2")
	again := at(e.second - 1)
	want(t, "moved twice", []time.Time{d.Again, d.Rests()}, []time.Time{again, again.Add(time.Hour)})
	want(t, "one from before", d.Rest(again.Add(-2*time.Second).Unix()), time.Time{})
	e.second += 40 * 60
	e.restart()
	d = e.l.Standing().Displaced["set-a"]
	want(t, "after 40 minutes", d, model.Displaced{
		Again: again, Times: 1, Resting: again, Settled: d.Settled, Known: again.Add(time.Hour),
	})
	d = move("a3")
	want(t, "three times", d.Rests(), d.Again.Add(3*time.Hour))
	want(t, "one that came between rests on", d.Rest(again.Add(20*time.Minute).Unix()), d.Rests())
	e.second += 3 * 60 * 60
	e.look()
	want(t, "in the end", len(e.l.Standing().Displaced), 0)
}

// TestMovedAgainAfterItSettled: a pod that came for an evicted one runs for more than half an hour, and is evicted
// within the hour: it was moved again, though its controller had settled.
func TestMovedAgainAfterItSettled(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	first := at(e.second)
	e.call(evictCall("a"))
	e.second += 31 * 60
	e.pods = []model.Pod{{Name: "a2", UID: "uid-a2", Owner: "set-a", Created: first.Unix() + 1}}
	e.look()
	want(t, "it has settled", e.l.Standing().Displaced["set-a"].First.IsZero(), true)
	now := at(e.second)
	e.call(evictCall("a2"))
	d := e.l.Standing().Displaced["set-a"]
	want(t, "moved again", []time.Time{d.First, d.Again}, []time.Time{now, now})
	want(t, "what comes for it rests", d.Rest(now.Unix()), now.Add(time.Hour))
}

// TestRefusalsSurvive: a new leader does not begin to count again for how long
// evictions have been refused.
func TestRefusalsSurvive(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Evicting)
	refused := func(o *model.Outcome) { o.Err = &provider.Error{Kind: provider.Conflict, Message: "refused"} }
	e.call(evictCall("a"), refused)
	first := e.drain().Evictions[0].First
	for range 3 {
		e.second += 5
		e.restart()
		e.call(evictCall("a"), refused)
		want(t, "since", e.drain().Evictions[0].First, first)
	}
}

// TestRemovalOfNothing: a remembered removal without an instance, which no version writes, is not waited for.
func TestRemovalOfNothing(t *testing.T) {
	l := Restore(model.Rules{}, model.Memory{Drains: []model.Drain{{Node: "n", Stage: model.Removing, Occupied: true}}})
	want(t, "drains", len(l.Memory().Drains), 0)
}

// TestRefusedRemovals: from the second refusal in a row on, the group's removals rest,
// longer each time; one that works ends it.
func TestRefusedRemovals(t *testing.T) {
	e := newEmptying(t)
	e.l.rules.BackoffFirst, e.l.rules.BackoffMost = 5*time.Minute, 30*time.Minute
	e.node = node("n", "1")
	remove := func(mend ...func(*model.Outcome)) model.Rest {
		e.pods = nil
		e.call(onNode(model.Taint, "n"))
		e.taint()
		e.look()
		e.call(onNode(model.Remove, "n"), mend...)
		if len(mend) > 0 {
			e.node = node("n", "1")
			e.call(untaintCall(model.DrainFailed, "refused"))
		}
		return e.l.Standing().Groups["g"].Rests.Of(model.RestRefused)
	}
	denied := func(o *model.Outcome) { o.Err = &provider.Error{Kind: provider.Denied, Message: "not allowed"} }
	want(t, "once", remove(denied).Until, time.Time{})
	e.second += 5
	want(t, "in the same burst", remove(denied).Until, time.Time{})
	e.second += 60
	r := remove(denied)
	want(t, "twice", r.Length, 5*time.Minute)
	want(t, "why", r.Kind, provider.Denied)
	e.second += 60
	want(t, "thrice", remove(denied).Length, 10*time.Minute)
	e.second += 60
	want(t, "it works again", remove().Length, time.Duration(0))
}

// TestANameThatIsUsedAgain: a machine that takes the name of one that was removed, before
// anybody saw that one go, is a node as any other.
func TestANameThatIsUsedAgain(t *testing.T) {
	e := newEmptying(t)
	e.until(model.Removing)
	e.look(model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(e.second + 1), Target: 1})
	e.node = e.node.DeepCopy()
	e.node.UID, e.node.Spec.Taints, e.node.Spec.Unschedulable, e.node.Annotations = "another", nil, false, nil
	e.node.Spec.ProviderID = "cloud://i-new"
	e.second++
	s := e.seen()
	s.Inventory.Groups[0].Instances = []provider.Instance{{ID: "i-new", ProviderID: "cloud://i-new",
		State: provider.Running}}
	e.l.Fold(s, nil)
	if n := e.standing(); n != (model.NodeStanding{}) {
		t.Errorf("of another machine's node it is thought: %+v, %+v", n, n.Drain)
	}
}

// TestACloudThatIsBusy: an emptied node is not rolled back because the cloud could not
// remove it just then; it is asked again, more slowly each time, and rolled back in the end.
func TestACloudThatIsBusy(t *testing.T) {
	for name, code := range map[string]string{"the cloud": "", "the API server": model.CodeNotBegun} {
		t.Run(name, func(t *testing.T) { cloudIsBusy(t, code) })
	}
}

func cloudIsBusy(t *testing.T, code string) {
	e := newEmptying(t)
	var rests []time.Duration
	e.until(model.Removing)
	for try := range 6 {
		if try > 0 {
			e.note(onNode(model.Remove, "n"))
		}
		o := model.Outcome{Call: onNode(model.Remove, "n"), Ended: at(e.second + 1), Target: -1,
			Err: &provider.Error{Op: provider.OpRemove, Group: "g", Kind: provider.Throttled, Code: code, Message: "slow down"}}
		if try > 0 && try < 3 {
			o.Err.RetryAfter = time.Duration(try*try) * time.Minute
		}
		e.look(o)
		if e.drain().Stage == model.RollingBack {
			break
		}
		rests = append(rests, e.drain().NotBefore.Sub(o.Ended))
		e.second += 200
	}
	want := []time.Duration{5 * time.Second, time.Minute, 2 * time.Minute, 40 * time.Second, 80 * time.Second}
	if d := e.drain(); d.Stage != model.RollingBack || !slices.Equal(rests, want) {
		t.Errorf("%s after rests of %v, want %v", d.Stage, rests, want)
	}
	if e.l.Standing().LastFailure.IsZero() {
		t.Error("nothing keeps further nodes from being emptied")
	}
}
