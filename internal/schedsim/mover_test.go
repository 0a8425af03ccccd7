package schedsim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// stand is a cluster of nodes "a1", "b2", ...: the first letter is the zone.
type stand struct {
	*testkit.Cluster
	standing model.Standing
}

func newStand(nodes ...string) *stand {
	s := &stand{testkit.New(), model.Standing{Nodes: map[string]model.NodeStanding{}}}
	for _, z := range []string{"a", "b", "c"} {
		s.Group(z, 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: z}))
	}
	for _, name := range nodes {
		s.node(name)
	}
	return s
}

func (s *stand) node(name string) *corev1.Node {
	n := testkit.Node(name, "4", "16Gi", map[string]string{corev1.LabelTopologyZone: name[:1]})
	s.AddNode(n, name[:1])
	return n
}

// leaving lets a node be one whose removal has got to a stage.
func (s *stand) leaving(n *corev1.Node, stage model.Stage) {
	n.Spec.Taints = append(n.Spec.Taints,
		corev1.Taint{Key: model.TaintToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule})
	s.standing.Nodes[n.Name] = model.NodeStanding{Drain: &model.Drain{Node: n.Name, Stage: stage}}
}

// scene is a stand that was loaded.
type scene struct {
	t *testing.T
	s *model.Snapshot
	w *World
	m *Mover
	// reason is that of the last refusal.
	reason model.Reason
}

// load makes a Mover with the nodes as hosts, in that order.
func (s *stand) load(t *testing.T, steps int, hosts ...string) *scene {
	t.Helper()
	snap := snapshot.New(nil, s.Observation(), s.standing, testkit.Policy().Rules)
	w := Load(nil, snap)
	t.Cleanup(w.Close)
	x := &scene{t: t, s: snap, w: w}
	var list []Node
	for _, h := range hosts {
		list = append(list, x.node(h))
	}
	x.m = w.Mover(list, steps)
	return x
}

func (x *scene) node(name string) Node {
	i := slices.IndexFunc(x.s.Nodes, func(n *model.Node) bool { return n.Name == name })
	if i < 0 {
		x.t.Fatalf("no node %s", name)
	}
	return Node(i)
}

// move moves all pods of a node that are not of a DaemonSet, and says in words
// what came of it.
func (x *scene) move(name string) string {
	id := x.node(name)
	var pods []model.Batch
	for _, b := range x.w.nodes[id].batches {
		if x.s.Classes[b.Class].Labels["app"] != "agent" {
			pods = append(pods, b)
		}
	}
	put, stuck, enough := x.m.Move(id, pods)
	switch {
	case !enough:
		return "not enough steps"
	case stuck != nil:
		x.reason = stuck.Verdict.Reason
		return stuck.Verdict.Detail
	}
	words := []string{}
	for _, p := range put {
		words = append(words, fmt.Sprintf("%d to %s", p.Count, x.s.Nodes[p.Node].Name))
	}
	return strings.Join(words, ", ")
}

func (x *scene) want(got, want string) {
	x.t.Helper()
	if got != want {
		x.t.Errorf("got  %q\nwant %q", got, want)
	}
}

// check lets the referee look at all that was moved.
func (x *scene) check() {
	x.t.Helper()
	if err := Referee(x.w); err != nil {
		x.t.Error(err)
	}
}

func app(name, cpu string) *corev1.Pod {
	return testkit.Pod("default", name, cpu, "1Gi", map[string]string{"app": name})
}

// TestMovesFillInOrder: pods go to the first host that takes them, what does not
// fit there to the next; a node with other nodes' pods is full for those to come.
func TestMovesFillInOrder(t *testing.T) {
	s := newStand("a1", "a2", "b1", "b2")
	s.Bound(app("web", "1"), 3, "a1")
	s.Bound(app("web", "1"), 3, "a2")
	s.Bound(app("web", "1"), 1, "b1")
	x := s.load(t, 1000, "b1", "b2", "a1", "a2")
	x.want(x.move("a1"), "3 to b1")
	x.want(x.move("a2"), "3 to b2")
	x.want(x.move("b1"), "InsufficientResources on 1 node") // b2 has room for one
	x.check()
}

// TestMoveIsAllOrNone: pods that would fit are not moved without those that would
// not, and the room that was tried is there for the next.
func TestMoveIsAllOrNone(t *testing.T) {
	s := newStand("a1", "a2", "a3")
	s.Bound(app("big", "2"), 1, "a1")
	s.Bound(app("web", "1"), 1, "a1")
	s.Bound(app("web", "1"), 2, "a2")
	s.Bound(app("old", "2500m"), 1, "a3")
	x := s.load(t, 1000, "a2", "a3")
	before := state(x.w)
	x.m.Exclude(x.node("a3"))
	x.want(x.move("a1"), "InsufficientResources on 1 node")
	x.want(state(x.w), before)
	x.want(x.move("a3"), "InsufficientResources on 1 node; cpu 2500m > 2 on the roomiest")
	x.check()
}

// TestHardToPlaceFirst: the largest pods choose first, and before them those that
// only one zone takes.
func TestHardToPlaceFirst(t *testing.T) {
	for _, sizes := range [][]string{{"1", "2"}, {"2", "1"}} { // whichever class comes first
		s := newStand("a1", "a2", "a3")
		s.Bound(app("x", sizes[0]), 1, "a1")
		s.Bound(app("y", sizes[1]), 1, "a1")
		s.Bound(app("old", "2"), 1, "a2")
		s.Bound(app("old", "3"), 1, "a3")
		x := s.load(t, 1000, "a2", "a3")
		x.want(x.move("a1"), "1 to a2, 1 to a3")
		x.check()
	}
	s := newStand("a1", "a2", "b1")
	web := app("web", "1")
	testkit.SpreadOver(web, corev1.LabelTopologyZone, 1, web.Labels)
	s.Bound(web, 1, "a1")
	s.Bound(web, 1, "b1")
	s.Bound(app("big", "2"), 1, "a1")
	s.Bound(app("old", "1500m"), 1, "a2")
	x := s.load(t, 1000, "a2", "b1")
	x.want(x.move("a1"), "1 to a2, 1 to b1")
	x.check()
}

// TestDomainThatSuitsBest: a spread pod goes to the zone that has the fewest, one
// that seeks others to the zone that has the most, wherever the first host is; but
// where each host is a domain, to the first that may be.
func TestDomainThatSuitsBest(t *testing.T) {
	for _, tt := range []struct {
		want   string
		couple func(*corev1.Pod)
	}{
		{"1 to c2", func(p *corev1.Pod) { testkit.SpreadOver(p, corev1.LabelTopologyZone, 9, p.Labels) }},
		{"1 to b2", func(p *corev1.Pod) { testkit.Together(p, corev1.LabelTopologyZone, p.Labels) }},
		{"1 to a2", func(p *corev1.Pod) { testkit.SpreadOver(p, corev1.LabelHostname, 9, p.Labels) }},
		{"1 to c2", func(p *corev1.Pod) { testkit.SpreadOver(p, corev1.LabelHostname, 2, p.Labels) }},
		{"1 to a2", func(p *corev1.Pod) { testkit.Together(p, corev1.LabelHostname, p.Labels) }},
	} {
		s := newStand("a1", "a2", "b1", "b2", "c1", "c2")
		web := app("web", "500m")
		tt.couple(web)
		s.Bound(web, 2, "a2")
		s.Bound(web, 2, "b2")
		s.Bound(web, 1, "b1")
		s.Bound(web, 1, "c2")
		s.Bound(web, 1, "a1")
		hosts := []string{"a2", "b2", "c2", "c1"}
		x := s.load(t, 1000, hosts...)
		x.want(x.move("a1"), tt.want)
		x.check()
	}
}

// TestMovedPodsAreTakenFromTheirDomain: under a strict spread, pods of the only
// node of a zone have nowhere to go but that zone; those of another may follow,
// and a zone that refused a pod takes it when the others have more.
func TestMovedPodsAreTakenFromTheirDomain(t *testing.T) {
	s := newStand("a1", "a2", "b1", "b2", "c1")
	web := app("web", "500m")
	testkit.SpreadOver(web, corev1.LabelTopologyZone, 1, web.Labels)
	s.Bound(web, 1, "a1")
	s.Bound(web, 2, "b1")
	s.Bound(web, 1, "c1")
	x := s.load(t, 1000, "a2", "b2", "c1", "a1", "b1")
	x.want(x.move("c1"), "TopologySpread on 4 nodes")
	x.want(x.move("b1"), "1 to a2, 1 to b2")
	// Now zone a has 2, b and c 1 each: one of a's may go to b, and c1 may still not
	// be emptied.
	x.want(x.move("a2"), "1 to a1")
	x.want(x.move("c1"), "TopologySpread on 2 nodes")
	x.want(x.move("a1"), "TopologySpread on 2 nodes")
	x.check()
}

// TestDomainThatRefusedTakesLater: zone b has too many of the group for the pod of
// zone a, until a pod of the group that is not bound by the spread has left it.
func TestDomainThatRefusedTakesLater(t *testing.T) {
	s := newStand("a1", "b1", "b2", "b3", "c1", "c2")
	group := map[string]string{"group": "x"}
	web, other := testkit.Pod("default", "web", "1", "1Gi", group),
		testkit.Pod("default", "other", "300m", "1Gi", group)
	testkit.SpreadOver(web, corev1.LabelTopologyZone, 2, group)
	s.Bound(web, 1, "a1")
	s.Bound(other, 1, "b1")
	s.Bound(web, 1, "b3")
	s.Bound(web, 1, "c1")
	s.Bound(app("old", "3500m"), 1, "c2") // room for other, and not for web
	x := s.load(t, 1000, "c2", "b2")
	x.want(x.move("a1"), "InsufficientResources on 1 node, TopologySpread on 1")
	x.want(x.move("b1"), "1 to c2")
	x.want(x.move("a1"), "1 to b2")
	x.check()
}

// TestPodsThatSeekEachOtherMoveTogether: of two apps on a node one must be where
// the other is; it is tried again once that has been placed.
func TestPodsThatSeekEachOtherMoveTogether(t *testing.T) {
	s := newStand()
	s.node("a1")
	s.node("b1")
	first, second := app("first", "1"), app("second", "500m")
	testkit.Together(first, corev1.LabelTopologyZone, second.Labels)
	testkit.SpreadOver(second, corev1.LabelTopologyZone, 5, second.Labels)
	s.Bound(first, 1, "a1")
	s.Bound(second, 1, "a1")
	x := s.load(t, 1000, "b1")
	x.want(x.move("a1"), "2 to b1")
	x.check()
}

// TestPodsThatShareADisk: of two pods with one disk that may be written, one goes
// to a node; what else has been put there stays.
func TestPodsThatShareADisk(t *testing.T) {
	s := newStand("a1", "a2", "a3")
	disk := app("disk", "100m")
	disk.Spec.Volumes = []corev1.Volume{{Name: "data",
		VolumeSource: corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "one"}}}}
	s.Bound(disk, 2, "a1")
	for i := range 5 { // those that are placed before it, on either side of it in the list
		port := app(fmt.Sprintf("port%d", i), fmt.Sprintf("%dm", 200+100*i))
		port.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: int32(80 + i), ContainerPort: 80}}
		s.Bound(port, 1, "a1")
	}
	x := s.load(t, 1000, "a2", "a3")
	x.want(x.move("a1"), "6 to a2, 1 to a3")
	if err := consistent(x.w); err != nil {
		t.Error(err)
	}
	x.check()
}

// TestGhostStaysADomain: a node whose pods were moved still counts as a zone with
// no pods, so that a strict spread holds the others back, and its DaemonSet's pod
// stays on it.
func TestGhostStaysADomain(t *testing.T) {
	s := newStand("a1", "b1", "b2")
	agent := app("agent", "100m")
	uid := s.DaemonSet("agent", agent)
	s.BoundAs(agent, 1, "a1", model.FromDaemonSet, uid)
	s.Bound(app("other", "1"), 1, "a1")
	web := app("web", "500m")
	testkit.SpreadOver(web, corev1.LabelTopologyZone, 1, web.Labels)
	s.Bound(web, 1, "b1")
	x := s.load(t, 1000, "b2", "b1")
	x.want(x.move("a1"), "1 to b2")
	if n := &x.w.nodes[x.node("a1")]; n.kind != ghost || podsOn(n) != 1 {
		t.Errorf("a1 is of kind %d with %d pods", n.kind, podsOn(n))
	}
	pods := x.w.nodes[x.node("b1")].batches
	class := pods[slices.IndexFunc(pods,
		func(b model.Batch) bool { return x.s.Classes[b.Class].Labels["app"] == "web" })].Class
	if got := x.w.Fits(class, x.node("b2")); got != model.TopologySpread {
		t.Errorf("a second pod in zone b: %s", got)
	}
	x.check()
}

// TestNodesThatLeaveAlready: a node that is leaving, or could still be had back,
// takes no pods, and its pods can be moved; then it cannot be had back any more.
func TestNodesThatLeaveAlready(t *testing.T) {
	s := newStand()
	s.leaving(s.node("a1"), model.Evicting)
	s.leaving(s.node("a2"), model.Tainted)
	s.node("a3")
	s.node("a4")
	s.Bound(app("web", "1"), 2, "a1")
	s.BoundAs(app("web", "1"), 1, "a2", model.FromDaemonSet, "") // others keep a node
	s.Bound(app("web", "1"), 2, "a3")
	x := s.load(t, 1000, "a1", "a2", "a3", "a4")
	if kinds := []NodeSet{x.w.nodes[x.node("a1")].kind, x.w.nodes[x.node("a2")].kind}; !slices.Equal(kinds,
		[]NodeSet{OnReturning, OnReturning}) {
		t.Fatalf("kinds %v", kinds)
	}
	x.want(x.move("a1"), "2 to a3")
	x.want(x.move("a2"), "1 to a4")
	for _, name := range []string{"a1", "a2"} {
		if n := &x.w.nodes[x.node(name)]; n.kind != ghost || podsOn(n) != 0 {
			t.Errorf("%s is of kind %d with %d pods", name, n.kind, podsOn(n))
		}
	}
	if put, _, _ := x.w.Place(x.w.nodes[x.node("a4")].batches[0].Class, 10, OnReturning, 1000); len(put) > 0 {
		t.Errorf("%v went to a node that had them taken away", put)
	}
	x.check()
}

// TestPodsThatAreNotThere: room is reserved for pods that have gone from their
// node already.
func TestPodsThatAreNotThere(t *testing.T) {
	s := newStand()
	s.node("a1")
	s.node("a2")
	s.Bound(app("web", "1"), 1, "a1")
	x := s.load(t, 1000, "a2")
	class := x.s.Nodes[x.node("a1")].Batches[0].Class
	put, stuck, enough := x.m.Move(x.node("a1"), []model.Batch{{Class: class, Count: 3}, {Class: class, Count: 1}})
	if want := []Put{{x.node("a2"), 4}}; !reflect.DeepEqual(put, want) || stuck != nil || !enough {
		t.Errorf("%v %v %v", put, stuck, enough)
	}
	if podsOn(&x.w.nodes[x.node("a1")]) != 0 || podsOn(&x.w.nodes[x.node("a2")]) != 4 {
		t.Error("the pods are elsewhere")
	}
}

// TestHostsThatAreNone: of what is called a host, only nodes that are ready or on
// their way take pods, each once.
func TestHostsThatAreNone(t *testing.T) {
	s := newStand()
	unready := s.node("a1")
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	s.leaving(s.node("a2"), model.Tainted)
	s.leaving(s.node("a3"), model.Removing)
	s.node("b1")
	s.node("b2")
	s.Groups[2].Target = 1
	s.Bound(app("web", "3"), 2, "b1")
	x := s.load(t, 1000, "a1", "a2", "a3", "b2", "b2", "c:coming-0")
	if x.m.open != 2 {
		t.Errorf("%d hosts", x.m.open)
	}
	x.want(x.move("b1"), "1 to b2, 1 to c:coming-0")
	x.check()
}

// TestExcludeAndUndo: an excluded host takes nothing; to take back what was done
// since a mark opens it again, with all room that it had.
func TestExcludeAndUndo(t *testing.T) {
	s := newStand("a1", "a2", "a3", "a4")
	s.Bound(app("web", "3"), 1, "a1")
	s.Bound(app("web", "3"), 1, "a2")
	s.Bound(app("web", "3"), 1, "a3")
	x := s.load(t, 1000, "a4", "a3", "a2", "a1")
	mark, before := x.m.Mark(), state(x.w)
	x.m.Exclude(x.node("a4"))
	x.want(x.move("a1"), "InsufficientResources on 2 nodes; cpu 3 > 1 on the roomiest")
	x.m.Undo(mark)
	x.want(x.move("a1"), "1 to a4")
	x.want(x.move("a2"), "InsufficientResources on 2 nodes; cpu 3 > 1 on the roomiest")
	x.m.Undo(mark)
	x.want(state(x.w), before)
	x.want(x.move("a2"), "1 to a4")
	x.want(x.move("a1"), "InsufficientResources on 2 nodes; cpu 3 > 1 on the roomiest")
	x.check()
}

// TestMovesAreNoScaleUps: what is moved is not what was placed for pending
// pods.
func TestMovesAreNoScaleUps(t *testing.T) {
	s := newStand("a1", "a2", "b1")
	s.Bound(app("web", "1"), 2, "a1")
	s.Pending(app("new", "3"), 2)
	x := s.load(t, 1000, "b1")
	x.w.Place(x.s.Pending[0].Class, 1, OnReady, 1000)
	tmpl, _ := x.w.GroupTemplate(0)
	first := x.w.AddNodes(tmpl, 2)
	x.w.Place(x.s.Pending[0].Class, 1, OnPlanned, 1000)
	reserved, planned, idle := x.w.Reserved(), x.w.Planned(), x.w.Idle()
	x.want(x.move("a1"), "2 to b1")
	if got := x.w.Reserved(); !reflect.DeepEqual(got, reserved) {
		t.Errorf("reserved %v, was %v", got, reserved)
	}
	if got := x.w.Planned(); !reflect.DeepEqual(got, planned) {
		t.Errorf("planned %v, was %v", got, planned)
	}
	if got := x.w.Idle(); !slices.Equal(got, idle) || len(got) != 1 || got[0] != first+1 {
		t.Errorf("idle %v, was %v", got, idle)
	}
	x.check()
}

// TestMovesLookAtAHostOnce: however many nodes are moved, a host is looked at
// about once for each size of pod, and not once for each move, be it full, tainted
// or taken by a pod that bears no other.
func TestMovesLookAtAHostOnce(t *testing.T) {
	const nodes = 60
	s := newStand()
	hosts := []string{}
	lone := app("lone", "100m")
	testkit.Apart(lone, corev1.LabelHostname, lone.Labels)
	for i := range 3 * nodes {
		name := fmt.Sprintf("a%03d", i)
		n := s.node(name)
		hosts = append(hosts, name)
		switch {
		case i < nodes/2:
			s.Bound(app("old", "4"), 1, name)
		case i < nodes:
			n.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
		case i < 2*nodes:
			s.Bound(lone, 1, name)
		default:
			s.Bound(app("web", "2"), 1, name)
			s.Bound(app("other", "2"), 1, name)
		}
	}
	x := s.load(t, 1_000_000, hosts[:2*nodes]...)
	for _, name := range hosts[2*nodes:] {
		x.move(name)
	}
	for _, name := range hosts[nodes : 2*nodes] {
		x.want(x.move(name)[:12], "PodAffinity ")
	}
	// Each of three classes looks at each host once, and once more in vain before it
	// has a roster of its own; each of 180 pods looks at a few that take it.
	if most := 3*2*len(x.m.hosts) + 4*180; x.m.used > most {
		t.Errorf("%d steps for %d hosts, want at most %d", x.m.used, len(x.m.hosts), most)
	}
	x.check()
}

// TestRefereeOfMovesCanSayNo: it finds a pod that was moved to where it must not
// be, for want of room and for another pod.
func TestRefereeOfMovesCanSayNo(t *testing.T) {
	s := newStand()
	s.node("a1")
	s.node("a2")
	web := app("web", "1")
	testkit.Apart(web, corev1.LabelTopologyZone, web.Labels)
	s.Bound(web, 1, "a1")
	s.Bound(app("big", "4"), 2, "a1")
	x := s.load(t, 1000, "a2")
	for _, b := range x.s.Nodes[x.node("a1")].Batches {
		mark := x.w.Mark()
		x.w.vacate(int(x.node("a1")), []model.Batch{b})
		x.w.put(int(x.node("a2")), b.Class, b.Count)
		x.w.settled(mark)
		wrong := b.Count > 1 // two big ones; the one of web alone is right
		if err := Referee(x.w); (err != nil) != wrong {
			t.Errorf("class %d: %v", b.Class, err)
		}
		x.w.Undo(mark)
	}
	class := x.s.Nodes[x.node("a1")].Batches[0].Class
	if x.w.class(class).coupling != domain {
		class = x.s.Nodes[x.node("a1")].Batches[1].Class
	}
	mark := x.w.Mark()
	x.w.put(int(x.node("a2")), class, 1) // the first is still on a1, in the same zone
	x.w.settled(mark)
	if err := Referee(x.w); err == nil {
		t.Error("two pods that bear no other in one zone, and no word of it")
	}
}
