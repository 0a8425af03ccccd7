package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// stage is a cloud of one group and its nodes, minute by minute.
type stage struct {
	t         *testing.T
	l         *Ledger
	minute    float64
	target    int
	since     time.Time
	instances []provider.Instance
	nodes     []*corev1.Node
	others    []*corev1.Node
	holds     []provider.Hold
	least     int
	serial    int
}

func newStage(t *testing.T, target int) *stage {
	return &stage{t: t, l: empty(), target: target}
}

// bought is a group at zero of which n nodes have just been asked for.
func bought(t *testing.T, n int) *stage {
	s := newStage(t, 0)
	s.at(0)
	s.grow(n)
	return s
}

// settled is a group of n ready nodes that has been looked at once.
func settled(t *testing.T, n int) *stage {
	s := newStage(t, n)
	s.fleet(n)
	s.at(0)
	return s
}

// backoff is the group's rest after a failure.
func backoff(g model.GroupStanding) model.Rest { return g.Rests.Of(model.RestFailed) }

func (s *stage) now() time.Time { return t0.Add(time.Duration(s.minute * float64(time.Minute))) }

func (s *stage) seen() model.Observation {
	o := model.Observation{Now: s.now(), Inventory: provider.Inventory{AsOf: s.now(), Groups: []provider.Group{{
		ID: "g", Min: s.least, Max: 100, Target: s.target, TargetSince: s.since, Instances: s.instances, Holds: s.holds,
	}}}}
	for _, n := range append(append([]*corev1.Node(nil), s.nodes...), s.others...) {
		o.Nodes = append(o.Nodes, model.ObservedNode{Object: n})
	}
	return o
}

// at lets time pass and folds what is seen then.
func (s *stage) at(minute float64, ended ...model.Outcome) model.GroupStanding {
	s.minute = minute
	s.l.Fold(s.seen(), ended)
	return s.l.Standing().Groups["g"]
}

// grow asks for more, and the cloud agrees at once.
func (s *stage) grow(by int) {
	c := model.Call{ID: fmt.Sprintf("grow/g/%v", s.minute), Verb: model.Grow, Group: "g", From: s.target,
		To: s.target + by}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	s.target = c.To
	s.l.Fold(s.seen(), []model.Outcome{{Call: c, Ended: s.now(), Target: c.To}})
}

func (s *stage) instance(mend ...func(*provider.Instance)) string {
	s.serial++
	name := fmt.Sprintf("i%03d", s.serial)
	in := provider.Instance{ID: provider.InstanceID(name), NodeName: name, State: provider.Creating, Created: s.now()}
	for _, f := range mend {
		f(&in)
	}
	s.instances = append(s.instances, in)
	return name
}

// node registers an instance, made now unless there is one of the name.
func (s *stage) node(name string, ready corev1.ConditionStatus, changed time.Time) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(s.now())},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready,
			LastTransitionTime: metav1.NewTime(changed)}}},
	}
	s.nodes = append(s.nodes, n)
	return n
}

// fleet puts n ready nodes there that have been for an hour.
func (s *stage) fleet(n int) {
	now := s.minute
	s.minute -= 60
	for range n {
		s.node(s.instance(), corev1.ConditionTrue, s.now())
	}
	s.minute = now
}

func (s *stage) turn(n *corev1.Node, status corev1.ConditionStatus) {
	n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = status, metav1.NewTime(s.now())
}

func units(g model.GroupStanding) (open, givenUp int) {
	for _, a := range g.Asks {
		for _, u := range a.Units {
			if u.Open() {
				open++
			}
			if u.State == model.UnitGivenUp || u.State == model.UnitKept {
				givenUp++
			}
		}
	}
	return open, givenUp
}

func kinds(l *Ledger) []model.ChangeKind {
	var out []model.ChangeKind
	for _, c := range l.Changes() {
		out = append(out, c.Kind)
	}
	return out
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// TestAnAskToldUnitByUnit: from asked to instance to node to ready; then it is
// closed.
func TestAnAskToldUnitByUnit(t *testing.T) {
	s := bought(t, 2)
	name := s.instance()
	g := s.at(1)
	want(t, "asks", len(g.Asks), 1)
	want(t, "instance of the first unit", g.Asks[0].Units[0].Instance, provider.InstanceID(name))
	want(t, "missing", g.Missing, 2)
	want(t, "waiting", g.Waiting, []model.Waiting{{Instance: provider.InstanceID(name), NodeName: name, Created: t0,
		Since: t0}})
	s.minute = 2
	n := s.node(name, corev1.ConditionFalse, s.now())
	g = s.at(2)
	want(t, "node of the first unit", g.Asks[0].Units[0].Node, name)
	want(t, "counts", g.Counts, model.Counts{Total: 1, Young: 1})
	s.minute = 3
	s.turn(n, corev1.ConditionTrue)
	s.node(s.instance(), corev1.ConditionTrue, s.now())
	g = s.at(3)
	want(t, "asks after all is ready", len(g.Asks), 0)
	want(t, "changes", kinds(s.l), []model.ChangeKind{model.AskArrived})
	want(t, "counts", g.Counts, model.Counts{Total: 2, Ready: 2})
}

// TestTrickleDoesNotPostpone: each ask has its own timer. A registry that keeps
// one per group, begun again by each growth, would never give the first up.
func TestTrickleDoesNotPostpone(t *testing.T) {
	s := bought(t, 2)
	for m := 4.0; m < 15; m += 4 {
		s.at(m)
		s.grow(1)
	}
	want(t, "overdue before the time", s.at(14.9).Overdue, 0)
	g := s.at(15)
	want(t, "overdue", g.Overdue, 2)
	want(t, "missing", g.Missing, 5)
	open, _ := units(g)
	want(t, "still waited for", open, 3)
	want(t, "the second ask's time", s.at(19).Overdue, 3)
}

// TestOnlyWhatDidNotArriveIsGivenUp: not the whole ask. A cancel of all five
// would be refused, or end machines that are there.
func TestOnlyWhatDidNotArriveIsGivenUp(t *testing.T) {
	s := bought(t, 5)
	s.minute = 3
	for range 3 {
		s.node(s.instance(), corev1.ConditionTrue, s.now())
	}
	s.at(3)
	g := s.at(16)
	want(t, "overdue", g.Overdue, 2)
	want(t, "changes", kinds(s.l), []model.ChangeKind{model.AskGivenUp, model.BackoffBegan})
	// They are cancelled: two fewer are expected, and the ask is over.
	c := model.Call{ID: "cancel/g", Verb: model.Cancel, Group: "g", From: 5, To: 3}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	s.target = 3
	g = s.at(17, model.Outcome{Call: c, Ended: s.now(), Target: 3})
	want(t, "expected", g.Expected, 3)
	want(t, "asks", len(g.Asks), 0)
	want(t, "given up", g.GivenUp(), 0)
	want(t, "again", kinds(s.l), []model.ChangeKind{model.AskArrived})
}

// TestTimersAreTheUnitsOwn: an instance's time runs from its own
// creation, an anonymous unit's from its ask.
func TestTimersAreTheUnitsOwn(t *testing.T) {
	s := bought(t, 2)
	s.minute = 10
	s.instance()
	s.at(10)
	g := s.at(15)
	want(t, "overdue", g.Overdue, 1)
	want(t, "long", g.Waiting[0].Long, false)
	g = s.at(25)
	want(t, "long", g.Waiting[0].Long, true)
	want(t, "given up", g.GivenUp(), 2)
}

// TestBootingCapacityAfterARestart: with an empty ledger, and after another client raised
// the target, what is on its way is upcoming, and nothing of it is bought again.
func TestBootingCapacityAfterARestart(t *testing.T) {
	s := newStage(t, 6)
	s.fleet(2)
	s.instance()
	g := s.at(0)
	want(t, "missing", g.Missing, 4)
	want(t, "given up", g.GivenUp(), 0)
	want(t, "found", g.Asks[0].Found, true)
	snap := snapshot.New(nil, s.seen(), s.l.Standing(), s.l.rules)
	want(t, "coming", snap.Groups[0].ComingNodes, 4)
	s.target = 9
	g = s.at(1)
	want(t, "missing after another client raised the target", g.Missing, 7)
	// The timer of the raise is the raise's own.
	want(t, "overdue", s.at(15.5).Overdue, 3)
	want(t, "overdue", s.at(16).Overdue, 6)
}

// TestNoTimeRunsWhileNoneLeads: a clock that jumps ahead between two processes, and a process that comes an hour
// after the last, give up nothing that is on its way: it has what was left of its time.
func TestNoTimeRunsWhileNoneLeads(t *testing.T) {
	s := bought(t, 2)
	s.minute = 3
	s.instance()
	s.at(5)
	s.restart()
	g := s.at(66)
	want(t, "given up an hour later", g.GivenUp(), 0)
	want(t, "missing since", g.MissingSince, t0.Add(61*time.Minute))
	want(t, "overdue before the rest of its time is over", s.at(75.9).Overdue, 0)
	want(t, "overdue after it", s.at(76).Overdue, 1)
}

// TestANodeThatAnotherClockDates: with our clock an hour ahead of the API server's, a node that registers has all
// of its time to become ready all the same. One that a watch has told of a little late has its own.
func TestANodeThatAnotherClockDates(t *testing.T) {
	s := bought(t, 1)
	s.minute = 2
	name := s.instance()
	s.at(3)
	hourAgo := s.now().Add(-time.Hour)
	s.node(name, corev1.ConditionFalse, hourAgo).CreationTimestamp = metav1.NewTime(hourAgo)
	want(t, "young", s.at(4).Counts.Young, 1)
	want(t, "young before its time is over", s.at(18.9).Counts.Young, 1)
	want(t, "never started after it", s.at(19).Counts.NeverStarted, 1)
	s.turn(s.nodes[0], corev1.ConditionTrue)
	s.at(20)
	want(t, "standing of a ready node", s.l.Standing().Nodes[name], model.NodeStanding{})

	s = bought(t, 1)
	s.minute = 2
	s.node(s.instance(), corev1.ConditionFalse, s.now())
	s.at(2.9)
	want(t, "never started", s.at(17).Counts.NeverStarted, 1)

	// One that is still to come by our clock has its time from when it was first seen.
	s = bought(t, 1)
	s.minute = 2
	hence := s.now().Add(time.Hour)
	s.node(s.instance(), corev1.ConditionFalse, hence).CreationTimestamp = metav1.NewTime(hence)
	s.at(2.5)
	want(t, "young before its time is over", s.at(17.4).Counts.Young, 1)
	want(t, "never started after it", s.at(17.5).Counts.NeverStarted, 1)
}

// TestZeroInstancesIsAnAnswer: for an ask that was never filled.
func TestZeroInstancesIsAnAnswer(t *testing.T) {
	s := bought(t, 3)
	want(t, "overdue", s.at(15).Overdue, 3)
}

// TestFailedInstances are given up at once, and the group rests: longer each
// time, until a scale-up works.
func TestFailedInstances(t *testing.T) {
	s := newStage(t, 0)
	s.at(0)
	fail := func(minute float64) model.GroupStanding {
		s.at(minute)
		s.grow(1)
		s.instance(func(in *provider.Instance) {
			in.Err = &provider.Error{Kind: provider.NoCapacity, Code: "Sold", Message: "out"}
		})
		g := s.at(minute + 0.5)
		s.instances, s.target = nil, 0 // it is removed
		return g
	}
	g := fail(1)
	want(t, "given up", g.GivenUp(), 1)
	want(t, "kind", backoff(g).Kind, provider.NoCapacity)
	want(t, "rest", backoff(g).Length, 5*time.Minute)
	want(t, "changes", kinds(s.l), []model.ChangeKind{model.CreationFailed, model.BackoffBegan})
	want(t, "rest while resting", backoff(fail(2)).Length, 5*time.Minute)
	want(t, "the next rest", backoff(fail(9)).Length, 10*time.Minute)
	want(t, "the next rest", backoff(fail(30)).Length, 20*time.Minute)
	want(t, "the most", backoff(fail(60)).Length, 30*time.Minute)
	want(t, "the most", backoff(fail(100)).Length, 30*time.Minute)
	want(t, "after three hours", backoff(fail(100.5+181)).Length, 5*time.Minute)
	// A scale-up that works ends it.
	s.at(300)
	s.grow(1)
	s.node(s.instance(), corev1.ConditionTrue, s.now())
	g = s.at(301)
	want(t, "after a success", backoff(g), model.Rest{Cause: model.RestFailed})
}

// TestAnEarlierGrowthEndsNoBackoff: units of the ask that failed in part do not
// clear the failure.
func TestAnEarlierGrowthEndsNoBackoff(t *testing.T) {
	s := bought(t, 2)
	s.minute = 1
	s.instance(func(in *provider.Instance) { in.Err = &provider.Error{Kind: provider.Quota} })
	good := s.instance()
	s.at(1)
	s.minute = 2
	s.node(good, corev1.ConditionTrue, s.now())
	g := s.at(2)
	want(t, "kind", backoff(g).Kind, provider.Quota)
}

// TestLostNode: an instance whose node was deleted has the whole time again to
// register.
func TestLostNode(t *testing.T) {
	s := settled(t, 1)
	s.nodes = nil
	g := s.at(1)
	want(t, "given up", g.GivenUp(), 0)
	want(t, "missing", g.Missing, 1)
	want(t, "given up", s.at(15.9).GivenUp(), 0)
	g = s.at(16)
	want(t, "given up", g.GivenUp(), 1)
	want(t, "overdue units beside it", g.Overdue, 0)
}

// TestKilledMachine: the cloud looks for another one, and it is upcoming.
func TestKilledMachine(t *testing.T) {
	s := newStage(t, 3)
	s.since = t0.Add(-24 * time.Hour)
	s.fleet(3)
	s.at(0)
	s.instances, s.nodes = s.instances[:2], s.nodes[:2]
	g := s.at(1)
	want(t, "missing", g.Missing, 1)
	want(t, "given up", g.GivenUp(), 0)
	want(t, "overdue", s.at(16).Overdue, 1)
}

// TestMemory: what is remembered restores the same standing.
func TestMemory(t *testing.T) {
	s := settled(t, 2)
	s.grow(3)
	s.minute = 1
	s.instance()
	s.instance(func(in *provider.Instance) { in.Err = &provider.Error{Kind: provider.NoCapacity} })
	s.at(1)
	v := model.NodeVerdict{Node: "i001", Verdict: model.Verdict{Since: t0}}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Unneeded: []model.NodeVerdict{v},
		Brakes: []model.Brake{{Group: "g", Class: "c", Reason: model.TemplateMismatch}}})
	text, err := json.Marshal(s.l.Memory())
	if err != nil {
		t.Fatal(err)
	}
	var m model.Memory
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	again := Restore(s.l.rules, m)
	again.Fold(s.seen(), nil)
	want(t, "changes", len(again.Changes()), 0)
	s.l.Fold(s.seen(), nil)
	a, b := s.l.Standing(), again.Standing()
	own := a.Groups["g"]
	own.Written = time.Time{} // a new process trusts no picture from before it
	a.Groups["g"] = own
	want(t, "standing", b, a)
	g := b.Groups["g"]
	if backoff(g).Until.IsZero() || len(g.Asks) != 1 || g.Overdue != 0 ||
		b.Nodes["i001"].UnneededSince.IsZero() || len(b.Brakes) != 1 {
		t.Fatalf("%+v", b)
	}
}

// TestHealth is S1, S2 and UC3, by the two numbers.
func TestHealth(t *testing.T) {
	for name, c := range map[string]struct {
		ready, unready, never, others int
		countOthers                   bool
		cluster, group                model.Reason
	}{
		"all are ready":                        {ready: 10},
		"three are not":                        {ready: 1, unready: 3},
		"four of ten are not":                  {ready: 6, unready: 4},
		"five of ten are not":                  {ready: 5, unready: 5, cluster: model.ClusterUnhealthy, group: model.GroupUnhealthy},
		"one never started":                    {ready: 9, never: 1},
		"one of two never started":             {ready: 1, never: 1, group: model.NodeNeverStarted},
		"many never started":                   {ready: 4, never: 4, group: model.GroupUnhealthy},
		"none of a new cluster started":        {never: 8, group: model.GroupUnhealthy},
		"others that are not ready":            {ready: 3, others: 20},
		"others that are not ready, and count": {ready: 3, others: 20, countOthers: true, cluster: model.ClusterUnhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.ready+c.unready+c.never)
			s.l.rules.CountOthers = c.countOthers
			s.fleet(c.ready + c.unready)
			s.minute = -30
			for range c.never {
				s.node(s.instance(), corev1.ConditionFalse, s.now())
			}
			for range c.others {
				s.others = append(s.others, s.node("x", corev1.ConditionFalse, s.now()))
				s.nodes = s.nodes[:len(s.nodes)-1]
			}
			s.minute = 0
			for i := range c.unready {
				s.turn(s.nodes[i], corev1.ConditionFalse)
			}
			g := s.at(1)
			reason := func(v *model.Verdict) model.Reason {
				if v == nil {
					return ""
				}
				return v.Reason
			}
			want(t, "the cluster", reason(s.l.Standing().Unhealthy), c.cluster)
			want(t, "the group", reason(g.Unhealthy), c.group)
			if c.cluster != "" {
				s.at(5)
				want(t, "since", s.l.Standing().Unhealthy.Since, t0.Add(time.Minute))
			}
		})
	}
}

// TestALossBehindAnOldPicture: while the cloud's answers are old a node is gone, and its machine with it, and another
// client asks for more. What it asked for has all of its time, and is not what comes late for that machine.
func TestALossBehindAnOldPicture(t *testing.T) {
	s := settled(t, 2)
	old := s.seen().Inventory
	s.nodes = s.nodes[:1]
	for s.minute = 4; s.minute < 12; s.minute++ {
		o := s.seen()
		o.Inventory = old
		s.l.Fold(o, nil)
	}
	s.target, s.since, s.instances = 3, t0.Add(10*time.Minute), s.instances[:1]
	s.at(13)
	s.instance()
	s.instance()
	for _, at := range []struct{ minute, late int }{{14, 0}, {20, 0}, {24, 0}, {25, 1}} {
		g := s.at(float64(at.minute))
		if _, late := units(g); late != at.late {
			t.Errorf("minute %d: %d given up, not %d", at.minute, late, at.late)
		}
	}
}

// TestALossBehindALeadersEnd: a machine that lost its node is ended while no process leads, and the target was changed:
// what comes after it was asked for then, and is not what comes late for that machine.
func TestALossBehindALeadersEnd(t *testing.T) {
	s := bought(t, 1)
	s.minute = 1
	name := s.instance()
	s.at(1)
	s.node(name, corev1.ConditionTrue, s.now())
	s.at(2)
	s.nodes = nil
	s.at(4)
	s.at(9)
	s.restart()
	s.target, s.since, s.instances = 2, t0.Add(10*time.Minute), nil
	s.minute = 10.5
	s.instance()
	s.instance()
	for _, at := range []struct{ minute, late int }{{11, 0}, {20, 0}, {24, 0}, {26, 2}} {
		g := s.at(float64(at.minute))
		if _, late := units(g); late != at.late {
			t.Errorf("minute %d: %d given up, not %d", at.minute, late, at.late)
		}
	}
}

// TestStraysAreUnready: nodes that are not ready count on when an answer of the cloud lacks their instances.
func TestStraysAreUnready(t *testing.T) {
	s := newStage(t, 10)
	s.fleet(10)
	for _, n := range s.nodes[:6] {
		s.turn(n, corev1.ConditionFalse)
	}
	s.at(1)
	s.instances = s.instances[6:]
	s.at(2)
	if u := s.l.Standing().Unhealthy; u == nil || !u.Since.Equal(t0.Add(time.Minute)) {
		t.Errorf("the cluster: %+v", u)
	}
}

// TestNodesOfAForgottenGroupAreUnready: so do those of a group that answers of the cloud lack as a whole.
func TestNodesOfAForgottenGroupAreUnready(t *testing.T) {
	s := newStage(t, 10)
	s.fleet(10)
	for _, n := range s.nodes[:6] {
		s.turn(n, corev1.ConditionFalse)
	}
	s.at(1)
	s.minute = 2
	seen := s.seen()
	seen.Inventory.Groups[0] = provider.Group{ID: "other", Max: 1}
	s.l.Fold(seen, nil)
	standing := s.l.Standing()
	if _, known := standing.Groups["g"]; known || standing.Unhealthy == nil {
		t.Errorf("the group is known: %t; the cluster: %+v", known, standing.Unhealthy)
	}
}

// TestDepartedNodesMakeNoClusterHealthy: ready nodes count on where an answer of the cloud lacks their machines, but
// not where another client has lowered the target by them.
func TestDepartedNodesMakeNoClusterHealthy(t *testing.T) {
	for _, lowered := range []bool{false, true} {
		s := newStage(t, 11)
		s.fleet(11)
		for _, n := range s.nodes[:4] {
			s.turn(n, corev1.ConditionFalse)
		}
		s.at(1)
		for i := range s.instances[6:] {
			s.instances[6+i].Unlisted = true // and believed, since its node is ready
		}
		if lowered {
			s.target = 6
		}
		s.at(2)
		if u := s.l.Standing().Unhealthy; (u != nil) != lowered {
			t.Errorf("lowered %t: the cluster: %+v", lowered, u)
		}
	}
}

// TestATargetThatIsTooLowHidesNoGrowth: where a picture has a target that is lower than there are nodes, what is being
// asked for is on its way all the same, until its call has ended.
func TestATargetThatIsTooLowHidesNoGrowth(t *testing.T) {
	s := newStage(t, 1)
	s.fleet(7)
	s.at(0)
	c := model.Call{ID: "grow", Verb: model.Grow, Group: "g", From: 1, To: 3}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	for _, minute := range []float64{0.5, 1} {
		if g := s.at(minute); g.Missing != 2 || g.Expected != 9 {
			t.Errorf("%d are missing, of %d; want 2 of 9", g.Missing, g.Expected)
		}
	}
	e := &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.Conflict}
	if g := s.at(2, model.Outcome{Call: c, Ended: s.now(), Target: -1, Err: e}); g.Missing != 0 || g.Expected != 1 {
		t.Errorf("refused, %d are missing, of %d; want 0 of 1", g.Missing, g.Expected)
	}
}

// TestMissingNodesMakeAGroupUnhealthy: what did not arrive counts in S2, and not
// in S1.
func TestMissingNodesMakeAGroupUnhealthy(t *testing.T) {
	s := settled(t, 5)
	s.grow(6)
	if v := s.at(14).Unhealthy; v != nil {
		t.Fatalf("while they may still come: %+v", v)
	}
	if v := s.at(15).Unhealthy; v == nil || v.Reason != model.GroupUnhealthy {
		t.Fatalf("%+v", v)
	}
	if v := s.l.Standing().Unhealthy; v != nil {
		t.Fatalf("the cluster: %+v", v)
	}
	want(t, "missing since", s.l.Standing().Groups["g"].MissingSince, t0)
}

// TestRemovedInstance: after a repair's end, an older picture that still has the
// instance neither counts it nor hides another.
func TestRemovedInstance(t *testing.T) {
	s := newStage(t, 2)
	s.at(-21)
	s.minute = -20
	s.instance()
	s.instance()
	s.at(-20)
	g := s.at(0)
	want(t, "given up", g.GivenUp(), 2)
	c := model.Call{ID: "remove/instance", Verb: model.Remove, Group: "g", Instance: "i001"}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	seen := s.seen()
	s.minute = 1
	seen.Now = s.now()
	s.l.Fold(seen, []model.Outcome{{Call: c, Ended: s.now(), Target: 1}})
	g = s.l.Standing().Groups["g"]
	want(t, "expected", g.Expected, 1)
	want(t, "missing", g.Missing, 1)
	want(t, "given up", g.GivenUp(), 1)
}

// restart goes on with what would have been written down, and a cloud of its own
// words.
func (s *stage) restart() {
	s.t.Helper()
	text, err := json.Marshal(s.l.Memory())
	if err != nil {
		s.t.Fatal(err)
	}
	var m model.Memory
	if err := json.Unmarshal(text, &m); err != nil {
		s.t.Fatal(err)
	}
	m.Written = s.now()
	s.l = Restore(s.l.rules, m)
}

// TestFailedGrowthRevivesNothing: units that were given up stay so when a later
// growth is refused; its own units go.
func TestFailedGrowthRevivesNothing(t *testing.T) {
	s := bought(t, 3)
	want(t, "overdue", s.at(16).Overdue, 3)
	c := model.Call{ID: "grow/more", Verb: model.Grow, Group: "g", From: 3, To: 5}
	s.minute = 22
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	g := s.at(22.1, model.Outcome{Call: c, Ended: s.now(), Target: -1, Err: &provider.Error{Kind: provider.NoCapacity}})
	want(t, "overdue", g.Overdue, 3)
	want(t, "missing", g.Missing, 3)
}

// TestRemovedNodeHidesNoUnit: a node that we ended stays ready for a while, and
// the cloud's picture may keep its instance for that long. The unit in flight
// beside it is still missing.
func TestRemovedNodeHidesNoUnit(t *testing.T) {
	s := settled(t, 2)
	s.grow(1)
	for _, c := range []model.Call{
		{ID: "taint", Verb: model.Taint, Group: "g", Node: "i001", Instance: "i001"},
		{ID: "remove", Verb: model.Remove, Group: "g", Node: "i001", Instance: "i001"},
	} {
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
		o := model.Outcome{Call: c, Ended: s.now(), Target: -1}
		if c.Verb == model.Remove {
			o.Target, s.target = 2, 2
		}
		s.at(s.minute+0.1, o)
	}
	for range 3 {
		g := s.at(s.minute + 0.2)
		want(t, "missing", g.Missing, 1)
		want(t, "asks", len(g.Asks), 1)
		want(t, "stage", s.l.Standing().Nodes["i001"].Drain.Stage, model.Removed)
	}
}

// TestEmptyAnswerAfterARestart forgets nothing, and neither do two without the
// group.
func TestEmptyAnswerAfterARestart(t *testing.T) {
	s := settled(t, 2)
	s.grow(1)
	s.l.group("g").Rests.Put(model.Rest{Cause: model.RestFailed, Since: s.now(), Until: s.now().Add(5 * time.Minute),
		Kind: provider.Quota})
	s.restart()
	for i, groups := range [][]provider.Group{nil, {{ID: "other"}}, {{ID: "other"}}} {
		s.minute += 0.2
		s.l.Fold(model.Observation{Now: s.now(), Inventory: provider.Inventory{AsOf: s.now(), Groups: groups}}, nil)
		if m := s.l.Memory(); len(m.Asks) != 1 || m.Backoffs["g"].Kind != provider.Quota {
			t.Fatalf("after answer %d: %+v", i+1, m)
		}
	}
	g := s.at(2)
	want(t, "backoff", backoff(g).Kind, provider.Quota)
	want(t, "found again", g.Asks[0].Found, false)
}

// TestGrowthsWithoutAnAnswer: one is the cloud's affair, two in a row are held
// against the group, so that another one is tried.
func TestGrowthsWithoutAnAnswer(t *testing.T) {
	for name, e := range map[string]provider.Error{
		"an outage":      {Kind: provider.Unavailable},
		"an unknown end": {Kind: provider.Unavailable, MayHaveHappened: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 0)
			for i, rests := range []bool{false, true} {
				s.at(float64(i))
				c := model.Call{ID: fmt.Sprint(i), Verb: model.Grow, Group: "g", To: 2}
				s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
				g := s.at(float64(i)+0.5, model.Outcome{Call: c, Ended: s.now(), Target: -1, Err: &e})
				want(t, "backs off", !backoff(g).Until.IsZero(), rests)
			}
		})
	}
}

// TestLostNodeAcrossARestart: the time that a lost node has survives, too.
func TestLostNodeAcrossARestart(t *testing.T) {
	s := settled(t, 1)
	s.nodes = nil
	s.at(1)
	s.minute = 2
	s.restart()
	want(t, "given up", s.at(2.5).GivenUp(), 0)
	want(t, "given up when its time is over", s.at(16.5).GivenUp(), 1)
}

// TestMachineLostWithoutALeader: an old target is not why a unit is missing.
func TestMachineLostWithoutALeader(t *testing.T) {
	s := newStage(t, 3)
	s.since = t0.Add(-10 * time.Hour)
	s.fleet(2)
	g := s.at(0)
	want(t, "missing", g.Missing, 1)
	want(t, "overdue", g.Overdue, 0)
	want(t, "overdue in its own time", s.at(15).Overdue, 1)
}

// TestUnneededAcrossAGap: since when a node is unneeded counts over a restart, and not over
// hours in which no process looked.
func TestUnneededAcrossAGap(t *testing.T) {
	for minutes, kept := range map[float64]bool{1: true, 3: false, 180: false} {
		s := newStage(t, 1)
		s.fleet(1)
		s.at(0)
		v := model.NodeVerdict{Node: "i001", Verdict: model.Verdict{Since: t0}}
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Unneeded: []model.NodeVerdict{v}})
		s.restart()
		s.at(minutes)
		want(t, fmt.Sprintf("kept over %v minutes", minutes), !s.l.Standing().Nodes["i001"].UnneededSince.IsZero(), kept)
	}
}

// TestUnneededAcrossAChangeOfReadiness: a node that turned ready after the memory was written has all of its time,
// though who leads now has not seen it otherwise.
func TestUnneededAcrossAChangeOfReadiness(t *testing.T) {
	for turned, kept := range map[float64]bool{-5: true, 0.5: false} {
		s := newStage(t, 1)
		s.fleet(1)
		s.at(0)
		v := model.NodeVerdict{Node: "i001", Verdict: model.Verdict{Since: t0}}
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Unneeded: []model.NodeVerdict{v}})
		s.restart()
		s.minute = turned
		s.turn(s.nodes[0], corev1.ConditionTrue)
		s.at(1)
		since := s.l.Standing().Nodes["i001"].UnneededSince
		want(t, fmt.Sprintf("kept, ready at minute %v", turned), !since.IsZero(), kept)
	}
}

// TestMemoryOfOddTimes: what cannot be is mended to the side of waiting.
func TestMemoryOfOddTimes(t *testing.T) {
	s := newStage(t, 2)
	s.fleet(2)
	later := t0.Add(1000 * time.Hour)
	s.l = Restore(s.l.rules, model.Memory{
		Asks: []model.Ask{
			{ID: "a", Group: "g", Units: make([]model.Unit, 1)},
			{ID: "b", Group: "g", At: later, Units: []model.Unit{{Deadline: model.Deadline{Stalled: later}}}},
			{Group: "g"},
		},
		Backoffs:   map[provider.GroupID]model.Rest{"g": {Until: later, Since: t0}},
		Unneeded:   map[string]time.Time{"i001": later},
		LastGrowth: later,
	})
	s.target = 4
	g := s.at(1)
	want(t, "overdue", g.Overdue, 0)
	want(t, "asks", len(g.Asks), 2)
	want(t, "backoff", backoff(g), model.Rest{Cause: model.RestFailed})
	want(t, "unneeded", s.l.Standing().Nodes["i001"].UnneededSince.IsZero(), true)
	want(t, "last growth", s.l.Standing().LastGrowth, s.now())
	want(t, "overdue in time", s.at(17).Overdue, 2)
}

// TestNeverReadyBacksOff: a node that was asked for and does not become ready makes
// its group rest, and its end does not end that.
func TestNeverReadyBacksOff(t *testing.T) {
	s := bought(t, 1)
	s.minute = 1
	s.node(s.instance(), corev1.ConditionFalse, s.now())
	s.at(1)
	g := s.at(16)
	want(t, "code", backoff(g).Code, model.CodeNeverStarted)
	want(t, "unhealthy", g.Unhealthy.Reason, model.NodeNeverStarted)
	s.nodes, s.instances, s.target = nil, nil, 0
	g = s.at(17)
	want(t, "code after its end", backoff(g).Code, model.CodeNeverStarted)
	want(t, "the cluster", s.l.Standing().Unhealthy == nil, true)
}

// TestReadyAfterItWasGivenUp: a node that was given up and becomes ready after all, when
// its ask is long over, is one to be judged by what it was bought for, though no such pod waited meanwhile.
func TestReadyAfterItWasGivenUp(t *testing.T) {
	s := newStage(t, 0)
	s.at(0)
	s.target++
	s.l.group("g").Note(s.now(), grow(0, 1), []string{"web"}, []int{1})
	s.minute = 1
	n := s.node(s.instance(), corev1.ConditionFalse, s.now())
	s.at(1)
	s.at(17)
	want(t, "given up", s.l.Standing().Arrivals, []model.Arrival{{Node: n.Name, Group: "g", For: []string{"web"}}})
	s.l.Note(&model.Snapshot{Now: t0.Add(18 * time.Minute)}, model.Plan{})
	want(t, "while no such pod waits", len(s.l.Standing().Arrivals), 1)
	s.restart()
	s.minute = 40
	s.turn(n, corev1.ConditionTrue)
	s.at(40)
	s.at(41)
	want(t, "ready", s.l.Standing().Arrivals,
		[]model.Arrival{{Node: n.Name, Group: "g", Ready: t0.Add(40 * time.Minute), For: []string{"web"}}})
	s.l.Note(&model.Snapshot{Now: t0.Add(41 * time.Minute)}, model.Plan{})
	want(t, "no arrivals", len(s.l.Standing().Arrivals), 0)
	want(t, "the next decision sees another node", s.l.News(), true)
	s.l.Note(&model.Snapshot{Now: t0.Add(41 * time.Minute)}, model.Plan{})
	want(t, "decided", s.l.News(), false)
}

// TestHealthBesideAGroupThatWasNeverRead: nodes that no group has count where one has never been read: they may be its.
func TestHealthBesideAGroupThatWasNeverRead(t *testing.T) {
	for _, read := range []bool{true, false} {
		s := newStage(t, 0)
		for range 4 {
			s.minute = -60
			s.node(s.instance(), corev1.ConditionFalse, t0.Add(-30*time.Minute))
		}
		s.others, s.nodes, s.instances = s.nodes, nil, nil
		s.minute = 0
		o := s.seen()
		if !read {
			o.Inventory.Groups[0] = provider.Group{ID: "g", Max: 100,
				Err: &provider.Error{Kind: provider.Unavailable}}
		}
		s.l.Fold(o, nil)
		want(t, fmt.Sprintf("healthy, read %t", read), s.l.Standing().Unhealthy == nil, read)
	}
}

// TestReadyBeforeItWasKnown: what completes a node has had its time since the node turned ready, though a new leader
// finds it so, or an old answer of the cloud did not say whose it is. A time from before the node was made is none.
func TestReadyBeforeItWasKnown(t *testing.T) {
	for changed, ready := range map[float64]float64{6: 6, 0: 10, 30: 10} {
		for _, restarts := range []bool{true, false} {
			s := newStage(t, 0)
			s.at(0)
			s.minute, s.target = 1, 1
			s.l.group("g").Note(s.now(), grow(0, 1), []string{"web"}, []int{1})
			s.at(1, model.Outcome{Call: grow(0, 1), Ended: s.now(), Target: 1})
			s.minute = 5
			n := s.node(s.instance(), corev1.ConditionTrue, t0.Add(time.Duration(changed)*time.Minute))
			if restarts {
				s.minute = 1
				s.restart()
			} else {
				known := s.instances
				s.instances = nil
				s.at(7)
				s.instances = known
			}
			s.at(10)
			at := t0.Add(time.Duration(ready) * time.Minute)
			want(t, fmt.Sprintf("by its own word at minute %v, restart %t", changed, restarts), s.l.Standing().Arrivals,
				[]model.Arrival{{Node: n.Name, Group: "g", Ready: at, For: []string{"web"}}})
		}
	}
}

// TestArrivalThatIsGone: a node that is gone is not judged.
func TestArrivalThatIsGone(t *testing.T) {
	s := newStage(t, 1)
	s.fleet(1)
	there := model.Arrival{Node: "i001", Group: "g", For: []string{"web"}}
	gone := model.Arrival{Node: "i002", Group: "g", For: []string{"web"}}
	s.l = Restore(s.l.rules, model.Memory{Arrivals: []model.Arrival{gone, there}})
	s.at(0)
	left := s.l.Standing().Arrivals
	want(t, "left", len(left), 1)
	want(t, "the one that is there", left[0].Node, "i001")
}

// TestUnhealthyClusterClearsTheTimers: what was unneeded begins again, nodes of no
// group included.
func TestUnhealthyClusterClearsTheTimers(t *testing.T) {
	s := settled(t, 1)
	v := model.NodeVerdict{Node: "i001", Verdict: model.Verdict{Since: t0}}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Unneeded: []model.NodeVerdict{v}})
	s.at(1)
	stranger := model.Node{Name: "i001", Group: -1, Standing: s.l.Standing().Nodes["i001"]}
	for sick, kept := range map[bool]bool{false: true, true: false} {
		snap := &model.Snapshot{Now: s.now(), Nodes: []*model.Node{&stranger}}
		if sick {
			snap.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy}
		}
		l := Restore(s.l.rules, s.l.Memory())
		l.Fold(s.seen(), nil)
		l.Note(snap, model.Plan{})
		want(t, fmt.Sprintf("kept, sick %v", sick), !l.Standing().Nodes["i001"].UnneededSince.IsZero(), kept)
	}
}

// TestStockOut: the provider's word that it cannot launch ends the wait at once,
// for what was asked for before; the group rests.
func TestStockOut(t *testing.T) {
	s := bought(t, 3)
	s.minute = 1
	s.instance()
	// What failed before the ask says nothing about it; nor does a hold of another kind.
	s.holds = []provider.Hold{
		{Op: provider.OpGrow, Reason: string(provider.NoCapacity), Since: t0.Add(-time.Minute)},
		{Op: provider.OpGrow, Reason: "rollout", Since: s.now()},
		{Op: provider.OpGrow, Reason: string(provider.NoCapacity)},
		{Op: provider.OpGrow, Reason: string(provider.NoCapacity), Since: s.now(), Until: s.now()},
	}
	g := s.at(1)
	want(t, "overdue before", g.Overdue, 0)
	s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.NoCapacity), Message: "zone a is sold out",
		Since: s.now()}}
	g = s.at(1)
	want(t, "overdue", g.Overdue, 2)
	want(t, "given up", g.GivenUp(), 2)
	want(t, "changes", kinds(s.l), []model.ChangeKind{model.AskGivenUp, model.BackoffBegan})
	want(t, "why", backoff(g).Kind, provider.NoCapacity)
	open, _ := units(g)
	want(t, "the instance is waited for", open, 1)
	s.at(2)
	want(t, "told once", len(kinds(s.l)), 0)
}

// TestRequestsThatStay: what the cloud cannot take back it is not asked for again;
// once the group may grow, that is waited for before more is bought.
func TestRequestsThatStay(t *testing.T) {
	s := bought(t, 3)
	s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.Quota), Since: t0,
		Until: t0.Add(2 * time.Minute)}}
	want(t, "overdue", s.at(1).Overdue, 3)
	c := model.Call{ID: "cancel/g", Verb: model.Cancel, Group: "g", From: 3, To: 0}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	s.target = 2
	g := s.at(1, model.Outcome{Call: c, Ended: s.now(), Target: 2})
	want(t, "one was taken back", g.Expected, 2)
	want(t, "two were not", g.Kept, 2)
	want(t, "since", g.KeptSince, s.now())
	want(t, "nothing to ask for", g.Overdue, 0)
	want(t, "no room", g.GivenUp(), 2)
	want(t, "next look", g.Due, t0.Add(2*time.Minute)) // the hold's end
	// It is remembered.
	s.l = Restore(s.l.rules, throughJSON(t, s.l.Memory()))
	want(t, "after a restart", s.at(1.5).Kept, 2)
	// A machine that comes late counts.
	s.node(s.instance(), corev1.ConditionTrue, s.now())
	g = s.at(2)
	want(t, "one came", g.Kept, 1)
	// The backoff's end: they are waited for once more, from now on.
	s.holds = nil
	until := backoff(g).Until.Sub(t0).Minutes()
	want(t, "just before", s.at(until-0.1).Kept, 1)
	g = s.at(until)
	want(t, "waited for again", g.Kept, 0)
	want(t, "room again", g.GivenUp(), 0)
	want(t, "from now on", g.Asks[len(g.Asks)-1].At, s.now())
	// The cloud says no once more.
	s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.Quota), Since: s.now()}}
	want(t, "given up again", s.at(until+1).Overdue, 1)
}

// TestRequestsAtTheMinimum: what the minimum keeps asked for is never cancelled, and
// is waited for once more when the group may grow, before more is bought.
func TestRequestsAtTheMinimum(t *testing.T) {
	s := newStage(t, 0)
	s.least = 2
	s.at(0)
	s.grow(2)
	s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.NoCapacity), Since: t0}}
	g := s.at(1)
	want(t, "given up", g.Overdue, 2)
	s.holds = nil
	until := backoff(g).Until.Sub(t0).Minutes()
	want(t, "while it rests", s.at(until-0.1).Overdue, 2)
	g = s.at(until)
	want(t, "waited for again", g.GivenUp(), 0)
	want(t, "from now on", g.Asks[len(g.Asks)-1].At, s.now())
}

// TestStockIsBack: a machine that the cloud has made since it had none ends the rest,
// though it was asked for before.
func TestStockIsBack(t *testing.T) {
	s := bought(t, 2)
	s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.NoCapacity), Since: t0}}
	g := s.at(1)
	want(t, "rests", backoff(g).Kind, provider.NoCapacity)
	s.holds, s.minute = nil, 2
	s.node(s.instance(), corev1.ConditionTrue, s.now())
	s.at(2.5)
	want(t, "ended", kinds(s.l), []model.ChangeKind{model.BackoffEnded})
}

// TestStockIsBackByAClockThatIsAhead: when a machine was made that seems to be from the future is known by the pictures
// alone. Only one that began after the failure and lacked it shows that it was made since then.
func TestStockIsBackByAClockThatIsAhead(t *testing.T) {
	for _, lacked := range []bool{false, true} {
		s := bought(t, 2)
		s.minute = 1
		s.instance(func(in *provider.Instance) { in.Err = &provider.Error{Kind: provider.NoCapacity} })
		want(t, "rests", backoff(s.at(1)).Kind, provider.NoCapacity)
		if lacked {
			s.at(1.1)
		}
		s.minute = 1.2
		other := s.instance(func(in *provider.Instance) { in.Created = s.now().Add(time.Hour) })
		s.at(1.2)
		s.minute = 2
		s.node(other, corev1.ConditionTrue, s.now())
		want(t, fmt.Sprintf("the rest has ended, a picture since the failure lacked it: %t", lacked),
			backoff(s.at(2)).Until.IsZero(), lacked)
	}
}

// TestAnothersNodeEndsTheRest: a node that another client asked for after a failure, and that comes, ends the rest. One
// that is older than what was found proves nothing: where ids drift, a machine that the group had looks like that. Nor
// does one whose machine was made before the failure.
func TestAnothersNodeEndsTheRest(t *testing.T) {
	for _, c := range []struct {
		made, came float64 // the minutes of the machines and of their nodes; the larger target is seen at 3
		ended      bool
	}{{2, 2, false}, {3.4, 3.4, true}, {0.9, 3.4, false}} {
		s := bought(t, 2)
		s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(provider.Quota), Since: t0}}
		want(t, "rests", backoff(s.at(1)).Kind, provider.Quota)
		s.holds, s.target = nil, 3
		if c.made > 1 {
			s.at(3)
		}
		var machines []string
		for s.minute = c.made; len(machines) < 3; {
			machines = append(machines, s.instance())
		}
		s.at(3.2)
		s.minute = c.came
		for _, name := range machines {
			s.node(name, corev1.ConditionTrue, s.now())
		}
		s.at(3.5)
		want(t, fmt.Sprintf("the rest has ended, with machines of %v and nodes of %v", c.made, c.came),
			backoff(s.at(4)).Until.IsZero(), c.ended)
	}
}

// TestAMachineThatDriftsEndsNoRest: for a while the cloud has another id for a machine that is there for long. It
// counts as one that was made for what was asked for, before the failure or after it, and its node is no success.
func TestAMachineThatDriftsEndsNoRest(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := settled(t, 2)
		right := slices.Clone(s.instances)
		s.grow(2)
		s.instance(func(in *provider.Instance) { in.Err = &provider.Error{Kind: provider.NoCapacity} })
		want(t, "rests", backoff(s.at(1)).Kind, provider.NoCapacity)
		if s.instances, s.target = right, 3; later {
			s.at(7)
			s.grow(1)
		}
		now := s.minute
		s.instances = slices.Clone(right)
		s.instances[0].ProviderID, s.instances[0].NodeName = "drifted://1", ""
		s.at(now + 0.5)
		s.at(now + 1)
		s.instances = right
		s.at(now + 1.5)
		if g := s.at(now + 2); backoff(g).Since.IsZero() {
			t.Errorf("asked for later %t: the rest has ended: %v", later, kinds(s.l))
		}
	}
}

// What the cloud could not make and tries again by itself is waited for: for two more
// tries and two minutes at least, by three pictures, and again each time that it recovers.
// What it does not try again is given up at once.
func TestWhatIsTriedAgainIsWaitedFor(t *testing.T) {
	type look struct {
		minute float64
		fails  bool
		gone   bool // given up, and the group rests
	}
	const fails, gone = true, true
	for name, c := range map[string]struct {
		retry time.Duration
		looks []look
	}{
		"never tried again":     {0, []look{{1, fails, gone}}},
		"made at the next try":  {5 * time.Second, []look{{1, fails, false}, {1.1, false, false}, {4, false, false}}},
		"two minutes at least":  {5 * time.Second, []look{{1, fails, false}, {2, fails, false}, {2.9, fails, false}, {3, fails, gone}}},
		"two more tries":        {3 * time.Minute, []look{{1, fails, false}, {4, fails, false}, {7.4, fails, false}, {7.5, fails, gone}}},
		"by three pictures":     {5 * time.Second, []look{{1, fails, false}, {9, fails, false}, {9.1, fails, gone}}},
		"counted again":         {5 * time.Second, []look{{1, fails, false}, {2, fails, false}, {2.5, false, false}, {3, fails, false}, {4, fails, false}, {5, fails, gone}}},
		"made after the end":    {5 * time.Second, []look{{1, fails, false}, {2, fails, false}, {3, fails, gone}, {3.1, false, false}}},
		"its own time is ended": {time.Hour, []look{{1, fails, false}, {10, fails, false}, {15.9, fails, false}, {16, fails, gone}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 0)
			s.at(0)
			s.grow(1)
			s.minute = 1
			s.instance(func(in *provider.Instance) { in.Retry = c.retry })
			rests := false
			for _, l := range c.looks {
				s.instances[0].Err = nil
				if l.fails {
					s.instances[0].Err = &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.Transient,
						Code: "Unavailable"}
				}
				g := s.at(l.minute)
				rests = rests || l.gone
				if len(g.Waiting) != 1 || g.Waiting[0].GivenUp() != l.gone || (g.GivenUp() == 1) != l.gone ||
					!backoff(g).Until.IsZero() != rests {
					t.Errorf("minute %v: %+v, backoff %+v", l.minute, g.Waiting, backoff(g))
				}
				if waits := l.fails && !l.gone; !g.Waiting[0].Long && waits == g.Waiting[0].RetriedUntil.IsZero() {
					t.Errorf("minute %v: waited for until %s", l.minute, g.Waiting[0].RetriedUntil)
				}
			}
		})
	}
}

// TestLossOfNodesCounts: machines whose Node objects are gone count as nodes that are not
// ready (S1, S2), however long it lasts; their time to register begins when it is over.
func TestLossOfNodesCounts(t *testing.T) {
	s := settled(t, 10)
	lost := s.nodes[:6]
	s.nodes = s.nodes[6:]
	s.at(1) // the picture is no newer than the loss
	g := s.at(1.5)
	want(t, "lost", g.Counts.Lost, 6)
	if s.l.Standing().Unhealthy == nil || g.Unhealthy == nil || g.Unhealthy.Reason != model.GroupUnhealthy {
		t.Fatalf("the cluster: %v, the group: %v", s.l.Standing().Unhealthy, g.Unhealthy)
	}
	s.restart()
	if s.at(40); s.l.Standing().Unhealthy == nil {
		t.Fatal("a restart forgets the loss")
	}
	s.nodes = append(s.nodes, lost[:3]...)
	g = s.at(41)
	if s.l.Standing().Unhealthy != nil || g.Counts.Lost != 3 || g.Counts.LongUnregistered != 0 {
		t.Fatalf("the cluster: %v, %+v", s.l.Standing().Unhealthy, g.Counts)
	}
	if g = s.at(55); g.Counts.LongUnregistered != 0 {
		t.Errorf("14 minutes after the cluster is healthy again: %+v", g.Counts)
	}
	if g = s.at(56); g.Counts.LongUnregistered != 3 {
		t.Errorf("their time is over: %+v", g.Counts)
	}
}

// TestWhatCameBackCounts: when a machine registered after its time is told for a while, by our own clock, and to a
// later leader. One that did so in time is not told of, however far the clocks are off that date machines and nodes.
func TestWhatCameBackCounts(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := settled(t, 10)
		lost := s.nodes[:2:2]
		s.nodes = s.nodes[2:]
		s.at(1)
		came := 10.0
		if late {
			came = 20
			s.at(17)
		}
		for _, n := range lost {
			n = n.DeepCopy()
			n.CreationTimestamp = metav1.NewTime(t0.Add(time.Hour)) // by another clock
			s.nodes = append(s.nodes, n)
		}
		want(t, "came back", len(s.at(came).Back) > 0, late)
		s.restart()
		g := s.at(came + 9)
		if want(t, "still told of", len(g.Back) > 0, late); late {
			want(t, "when", g.Back, []time.Time{t0.Add(20 * time.Minute), t0.Add(20 * time.Minute)})
		}
		want(t, "told of no longer", len(s.at(came+10).Back), 0)
	}
}

// TestLossUnderAnotherName: a cloud that has other ids for its machines for a while does not
// hide that their nodes go meanwhile.
func TestLossUnderAnotherName(t *testing.T) {
	s := settled(t, 10)
	right := s.instances
	s.instances = slices.Clone(right)
	for i := range s.instances[:6] {
		s.instances[i].ProviderID, s.instances[i].NodeName = fmt.Sprintf("drifted://%d", i), ""
	}
	s.at(1)
	if g := s.at(2); g.Counts.Lost != 0 {
		t.Fatalf("their nodes are there: %+v", g.Counts)
	}
	s.nodes = s.nodes[6:]
	s.at(3)
	s.instances = right
	if g := s.at(4); g.Counts.Lost != 6 || s.l.Standing().Unhealthy == nil {
		t.Errorf("%+v, the cluster: %v", g.Counts, s.l.Standing().Unhealthy)
	}
}

// TestOurOwnRemovalLosesNothing: a node that we remove is gone before its machine is. One that was only tainted is
// lost: the end of its machine was not asked for.
func TestOurOwnRemovalLosesNothing(t *testing.T) {
	for _, asked := range []bool{false, true} {
		s := newStage(t, 5)
		s.fleet(5)
		for _, n := range s.nodes {
			n.Spec.Taints = []corev1.Taint{{Key: model.TaintToBeDeleted, Value: "1"}}
		}
		s.at(0)
		var calls []model.Call
		for _, n := range s.nodes {
			calls = append(calls, model.Call{ID: "remove/" + n.Name, Verb: model.Remove, Group: "g", Node: n.Name,
				Instance: provider.InstanceID(n.Name)})
		}
		if asked {
			s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: calls})
			s.at(0.5)
		}
		s.nodes = nil
		s.at(1)
		g := s.at(2)
		if (g.Counts.Lost == 0) != asked || (s.l.Standing().Unhealthy == nil) != asked {
			t.Errorf("asked for %t: %+v, %v", asked, g.Counts, s.l.Standing().Unhealthy)
		}
	}
}

// TestEndingsAreCounted: an unhealthy machine that is ended is
// on record for ten minutes, across a restart; one that the cloud could not make is not.
func TestEndingsAreCounted(t *testing.T) {
	s := newStage(t, 5)
	s.fleet(2)
	s.at(0)
	for i, reason := range []model.Reason{model.ProvisionTimeout, model.ProvisionTimeout, model.InstanceFailed} {
		s.minute = float64(i)
		c := model.Call{ID: fmt.Sprint("remove/", i), Verb: model.Remove, Group: "g", Instance: "x", Reason: reason}
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
		s.at(s.minute, model.Outcome{Call: c, Ended: s.now(), Target: -1})
	}
	m := throughJSON(t, s.l.Memory())
	m.Written, m.Closed = s.now(), true
	s.l = Restore(s.l.rules, m)
	g := s.at(10)
	want(t, "ended", g.Rests.Of(model.RestEnded).Within(s.now()), 2)
	want(t, "ended, later", g.Rests.Of(model.RestEnded).Within(s.now().Add(time.Minute)), 0)
}

// TestEndingsUnderWayAreRemembered: a leader that dies while it ends a machine never says that it
// did. One that begins after a clean end counts it; after any other it counts as many as there can be.
func TestEndingsUnderWayAreRemembered(t *testing.T) {
	s := newStage(t, 5)
	s.fleet(2)
	s.at(0)
	c := model.Call{ID: "remove/1", Verb: model.Remove, Group: "g", Instance: "x", Reason: model.ProvisionTimeout,
		Deadline: s.now().Add(time.Minute)}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	m := throughJSON(t, s.l.Memory())
	for _, c := range []struct {
		how     string
		written time.Time
		closed  bool
		want    int
	}{
		{"clean end", s.now(), true, 1},
		{"crash", s.now(), false, 3},
		{"no memory of a leader", time.Time{}, false, 1},
	} {
		m.Written, m.Closed = c.written, c.closed
		s.l = Restore(s.l.rules, m)
		g := s.at(1)
		want(t, c.how, g.Rests.Of(model.RestEnded).Within(s.now()), c.want)
	}
}

// TestARemovalOfUnknownEndIsNotReliedOn: the target may have been lowered or not. A later read shows.
// Until then the machine counts as one that ends, as it does while the call is open, whether its node is
// there or not.
func TestARemovalOfUnknownEndIsNotReliedOn(t *testing.T) {
	s := settled(t, 2)
	c := model.Call{ID: "remove/i001", Verb: model.Remove, Group: "g", Node: "i001", Instance: "i001"}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
	want(t, "ending, while it is there", s.at(0.2).Ending, 0)
	s.instances, s.nodes = s.instances[1:], s.nodes[1:]
	g := s.at(0.5)
	want(t, "ending, while the call is open", g.Ending, 1)
	want(t, "missing, while the call is open", g.Missing, 0)
	err := &provider.Error{Kind: provider.Unavailable, MayHaveHappened: true}
	s.minute = 1
	s.l.Fold(s.seen(), []model.Outcome{{Call: c, Ended: s.now(), Target: -1, Err: err}})
	g = s.l.Standing().Groups["g"]
	want(t, "unsure", g.Unsure, true)
	want(t, "ending, unsure", g.Ending, 1)
	want(t, "missing, unsure", g.Missing, 0)
	s.target = 1
	g = s.at(2)
	want(t, "unsure after a read", g.Unsure, false)
	want(t, "ending after a read", g.Ending, 0)
}

// TestDudsStopTheirGroup: one node of many that never becomes ready stops nothing; the
// second in a row makes its group back off; one of two nodes stops the group, and one of
// any number where that is asked for.
func TestDudsStopTheirGroup(t *testing.T) {
	for _, c := range []struct {
		name            string
		nodes, duds     int
		first           bool
		unhealthy, rest bool
	}{
		{"one of 41", 40, 1, false, false, false},
		{"two in a row", 40, 2, false, false, true},
		{"one of two", 1, 1, false, true, true},
		{"two of three", 1, 2, false, true, true},
		{"three of three, and all may be unready", 0, 3, false, true, true},
		{"one of 41, by the letter", 40, 1, true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.nodes)
			s.l.rules.StopOnFirstDud = c.first
			if c.nodes == 0 {
				s.l.rules.MaxUnreadyShare = 1
			}
			s.fleet(c.nodes)
			s.at(0)
			for range c.duds {
				s.grow(1)
				s.node(s.instance(), corev1.ConditionFalse, s.now())
				s.at(s.minute + 20)
			}
			g := s.at(s.minute)
			if got := g.Unhealthy != nil; got != c.unhealthy || got && g.Unhealthy.Reason != model.NodeNeverStarted {
				t.Errorf("unhealthy: %+v", g.Unhealthy)
			}
			if got := backoff(g).Until.After(s.now()); got != c.rest {
				t.Errorf("backoff: %+v", backoff(g))
			}
		})
	}
}

// TestSkewedClocks: whatever the cloud's clock says, a machine has all of its time from our
// asking on, across a restart, and the skew is told.
func TestSkewedClocks(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, -16 * time.Minute, 0, 16 * time.Minute, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			s := newStage(t, 1)
			s.fleet(1)
			s.at(0)
			s.minute = 1
			s.grow(1)
			s.minute = 1.5
			s.instance(func(in *provider.Instance) { in.Created = s.now().Add(skew) })
			s.at(2)
			if got := s.l.Standing().Notices; len(got) != min(1, int(skew.Abs())) {
				t.Errorf("notices: %v", got)
			}
			if g := s.at(10); g.GivenUp() != 0 {
				t.Errorf("given up nine minutes after it was asked for: %+v", g.Waiting)
			}
			s.restart()
			s.at(10.1)
			if g := s.at(15.9); g.GivenUp() != 0 {
				t.Errorf("given up before its time: %+v", g.Waiting)
			}
			if g := s.at(17.1); g.GivenUp() != 1 {
				t.Errorf("not given up when its time is over: %+v", g.Waiting)
			}
		})
	}
}

// TestConflictsPause: scale-ups that end in a conflict, each after a newer look, are asked for
// more and more seldom, by group; the first is asked for again at once, and so is one after
// a scale-up that worked.
func TestConflictsPause(t *testing.T) {
	s := settled(t, 1)
	ask := func(id string, err *provider.Error) model.GroupStanding {
		c := model.Call{ID: id, Verb: model.Grow, Group: "g", From: 1, To: 2}
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}})
		out := model.Outcome{Call: c, Ended: s.now(), Target: 2, Err: err}
		if err != nil {
			out.Target = -1
		}
		return s.at(s.minute+0.01, out)
	}
	conflict := &provider.Error{Kind: provider.Conflict}
	tried := 0
	for s.minute < 1 {
		if g := s.at(s.minute + 1.0/60); g.Rests.Of(model.RestPaused).Until.After(s.now()) {
			continue
		}
		tried++
		ask(fmt.Sprint("grow/", tried), conflict)
	}
	want(t, "growths in a minute", tried, 4)
	s.minute = 5
	ask("grow/works", nil)
	if g := ask("grow/again", conflict); g.Rests.Of(model.RestPaused).Until.After(s.now()) {
		t.Errorf("one conflict after a growth that worked: paused until %s", g.Rests.Of(model.RestPaused).Until)
	}
}

// TestLossBeforeTheStart: a process that remembers nothing finds machines without a node.
// Each has all of its time to register, whatever the cloud says of its age. Machines that
// are older than any clock is off count as lost, unless that many nodes are at home nowhere
// and could be theirs; a node that is older than the loss could be theirs, too.
func TestLossBeforeTheStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		age     float64 // in minutes
		strange int
		lost    bool
	}{{"old", 80, 0, true}, {"young", 70, 0, false}, {"drifted", 80, 15, false}, {"beside others", 80, 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, 20)
			s.minute = -c.age
			for range 20 {
				s.node(s.instance(func(in *provider.Instance) { in.State = provider.Running }), corev1.ConditionTrue, s.now())
			}
			s.nodes = s.nodes[:5]
			for i := range c.strange {
				n := s.node(fmt.Sprint("strange", i), corev1.ConditionTrue, s.now())
				s.nodes, s.others = s.nodes[:5], append(s.others, n)
			}
			if g := s.at(0); g.GivenUp() != 0 {
				t.Errorf("%d given up at the first look", g.GivenUp())
			}
			g := s.at(10)
			if got := s.l.Standing().Unhealthy != nil; got != c.lost || (g.Counts.Lost == 15) != c.lost || g.GivenUp() != 0 {
				t.Errorf("unhealthy: %v, %d lost, %d given up", s.l.Standing().Unhealthy, g.Counts.Lost, g.GivenUp())
			}
			s.restart()
			s.at(10.1)
			if g = s.at(14.9); g.GivenUp() != 0 {
				t.Errorf("%d given up before their time", g.GivenUp())
			}
			if g = s.at(15.1); (g.GivenUp() == 15) == c.lost {
				t.Errorf("%d given up when their time is over", g.GivenUp())
			}
			if g = s.at(60); c.lost && g.GivenUp() != 0 {
				t.Errorf("%d given up in an unhealthy cluster", g.GivenUp())
			}
			for _, w := range g.Waiting {
				if w.Created.After(t0.Add(-time.Duration(c.age) * time.Minute)) {
					t.Fatalf("instance %s is younger than its node may be: %s", w.Instance, w.Created)
				}
			}
		})
	}
}

// TestATargetOfAnyAge: at the first look, too, no time runs by the clock of the cloud alone.
func TestATargetOfAnyAge(t *testing.T) {
	s := newStage(t, 3)
	s.since = t0.Add(-14 * time.Minute)
	s.fleet(2)
	s.at(0)
	want(t, "overdue before the time is over", s.at(14.9).Overdue, 0)
	want(t, "overdue in time", s.at(15).Overdue, 1)
}

// TestSoldOutIsNoIllness: a group that gets no machines, since the cloud has none, backs off
// and says why; it is not unhealthy for that. One whose machines do not come for no reason
// that anybody tells is.
func TestSoldOutIsNoIllness(t *testing.T) {
	for _, c := range []struct {
		kind provider.Kind
		sick bool
	}{{provider.NoCapacity, false}, {provider.Quota, false}, {provider.BadConfig, true}, {"", true}} {
		t.Run(string(c.kind), func(t *testing.T) {
			s := newStage(t, 2)
			s.fleet(2)
			s.at(0)
			s.grow(6)
			if c.kind != "" {
				s.holds = []provider.Hold{{Op: provider.OpGrow, Reason: string(c.kind), Since: t0}}
			}
			g := s.at(16)
			if want(t, "given up", g.GivenUp(), 6); (g.Unhealthy != nil) != c.sick {
				t.Errorf("unhealthy: %+v", g.Unhealthy)
			}
			// The cloud takes none of them back.
			cancel := model.Call{ID: "cancel/g", Verb: model.Cancel, Group: "g", From: 8, To: 2}
			s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{cancel}})
			s.at(16.1, model.Outcome{Call: cancel, Ended: s.now(), Target: 8})
			s.restart()
			if g = s.at(17); g.Kept != 6 || (g.Unhealthy != nil) != c.sick {
				t.Errorf("%d kept, unhealthy: %+v", g.Kept, g.Unhealthy)
			}
		})
	}
}

// TestWhatIsNoSkew: a machine that ran already when it was first seen was rather made
// elsewhere and adopted than dated by a clock that is behind; and what a machine has told of
// the cloud's clock is believed for a while.
func TestWhatIsNoSkew(t *testing.T) {
	for _, c := range []struct {
		state provider.State
		off   time.Duration
		told  bool
	}{
		{provider.Running, -5 * time.Hour, false},
		{provider.Running, 16 * time.Minute, true},
		{provider.Creating, -16 * time.Minute, true},
	} {
		s := newStage(t, 1)
		s.at(0)
		s.minute = 1
		s.instance(func(in *provider.Instance) { in.State, in.Created = c.state, s.now().Add(c.off) })
		s.at(1)
		if got := s.l.Standing().Notices; (len(got) > 0) != c.told {
			t.Errorf("%s, off by %s: %v", c.state, c.off, got)
		}
		s.at(200)
		if got := s.l.Standing().Notices; len(got) > 0 {
			t.Errorf("%s, off by %s, three hours later: %v", c.state, c.off, got)
		}
	}
}

// TestHowFarClocksAreApart: by how much the node of an instance that was there before the
// first look may seem older than it, is what those tell that have nodes.
func TestHowFarClocksAreApart(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, 16 * time.Minute, 3 * time.Hour} {
		s := newStage(t, 2)
		s.minute = -30
		s.node(s.instance(func(in *provider.Instance) { in.Created = s.now().Add(ahead) }), corev1.ConditionTrue, s.now())
		s.instance()
		w := s.at(0).Waiting[0]
		want(t, ahead.String(), t0.Add(-30*time.Minute).Sub(w.Created), min(max(0, ahead), time.Hour))
	}
}

// TestANodeMayBeDatedByAClockThatIsBehind: which nodes may be an instance's depends on how far the clock that dates it
// is ahead of the one that dates nodes, and not on ours, whenever it came; also when none shows both any more.
func TestANodeMayBeDatedByAClockThatIsBehind(t *testing.T) {
	s := newStage(t, 2)
	cloud, api := -29*time.Minute, -54*time.Minute
	dated := func(in *provider.Instance) { in.Created = s.now().Add(cloud) }
	n := s.node(s.instance(dated), corev1.ConditionTrue, s.now())
	n.CreationTimestamp = metav1.NewTime(s.now().Add(api))
	s.at(1)
	s.minute = 2
	s.instance(dated)
	want(t, "beside one that has a node", s.at(2).Waiting[0].Created, t0.Add(2*time.Minute).Add(api))
	s.target, s.nodes, s.instances = 1, nil, s.instances[1:]
	want(t, "alone", s.at(3).Waiting[0].Created, t0.Add(2*time.Minute).Add(api))
}
