package observe

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func testNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), ResourceVersion: "1",
			Labels: map[string]string{corev1.LabelHostname: name, "zone": "a"},
			Annotations: map[string]string{
				"volumes.kubernetes.io/controller-managed-attach-detach": "true", "kwok.x-k8s.io/node": "fake",
			}},
		Spec: corev1.NodeSpec{ProviderID: "cloud://" + name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Images:      []corev1.ContainerImage{{Names: []string{"large"}}},
		},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }

// watched is a cluster with its counters, fed without a watch.
type watched struct {
	*cluster
	generation uint64
	signals    int
}

func newWatched() *watched {
	w := &watched{}
	w.cluster = newCluster(&w.generation, func() { w.signals++ })
	return w
}

// cutAt is when pods are seen.
var cutAt = time.Unix(2000, 0)

func (w *watched) pod(p *corev1.Pod)    { w.putPod(cutPod(w.catalog, p, cutAt)) }
func (w *watched) gone(ns, n string)    { w.dropPod(cache.ObjectName{Namespace: ns, Name: n}) }
func (w *watched) node1(n *corev1.Node) { w.putNode(trimNode(n)) }

// step does something and reports whether generation and signal moved.
func (w *watched) step(do func()) (moved, signalled bool) {
	g, s := w.generation, w.signals
	do()
	return w.generation != g, w.signals != s
}

func podNames(pods []model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

func TestWhatMovesAndWhatSignals(t *testing.T) {
	w := newWatched()
	check := func(name string, wantMoved, wantSignal bool, do func()) {
		t.Helper()
		if moved, signalled := w.step(do); moved != wantMoved || signalled != wantSignal {
			t.Errorf("%s: generation moved %v, want %v; signalled %v, want %v", name, moved, wantMoved, signalled, wantSignal)
		}
	}
	check("node appears", true, true, func() { w.node1(testNode("n", notReady)) })
	check("node turns ready", true, true, func() { w.node1(testNode("n")) })
	w.observed()
	check("kubelet is alive", false, false, func() {
		w.node1(testNode("n", func(n *corev1.Node) {
			n.ResourceVersion = "9"
			n.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(99, 0)
			n.Status.Images = nil
			n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
		}))
	})
	if v := w.observed()[0].Object.ResourceVersion; v != "9" {
		t.Errorf("the newest version is not seen: %s", v)
	}
	check("node is tainted", true, false, func() {
		w.node1(testNode("n", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}))
	})
	check("pod appears", true, true, func() { w.pod(testPod("ns", "p", "")) })
	check("pod says the same again", false, false, func() { w.pod(testPod("ns", "p", "")) })
	check("pod is refused", true, true, func() { w.pod(testPod("ns", "p", "", refused)) })
	check("pod is nominated", true, false, func() {
		w.pod(testPod("ns", "p", "", refused, func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }))
	})
	check("pod is bound", true, true, func() { w.pod(testPod("ns", "p", "n")) })
	check("bound pod's status changes", false, false, func() {
		w.pod(testPod("ns", "p", "n", func(p *corev1.Pod) {
			p.Status.PodIP = "10.0.0.1"
			p.Status.Phase = corev1.PodRunning
		}))
	})
	check("bound pod is being deleted", true, false, func() {
		w.pod(testPod("ns", "p", "n", func(p *corev1.Pod) { now := metav1.Unix(5, 0); p.DeletionTimestamp = &now }))
	})
	check("its time to end is cut short", true, false, func() {
		w.pod(testPod("ns", "p", "n", func(p *corev1.Pod) { now := metav1.Unix(4, 0); p.DeletionTimestamp = &now }))
	})
	check("its deletion is seen again, later", false, false, func() {
		w.putPod(cutPod(w.catalog, testPod("ns", "p", "n", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: cutAt}, ptr.To[int64](30)
		}), cutAt.Add(time.Minute)))
	})
	check("bound pod ends", true, false, func() { w.gone("ns", "p") })
	check("unknown pod goes", false, false, func() { w.gone("ns", "q") })
	check("node goes", true, true, func() { w.dropNode("n") })
	check("unknown node goes", false, false, func() { w.dropNode("m") })
	if len(w.nodes)+len(w.places)+len(w.unbound) != 0 {
		t.Errorf("left behind: %d nodes, %d places, %d pods", len(w.nodes), len(w.places), len(w.unbound))
	}
}

// What was given out never changes.
func TestObservedIsFrozen(t *testing.T) {
	w := newWatched()
	w.node1(testNode("n"))
	for i := range 5 {
		w.pod(testPod("ns", fmt.Sprint("p", i), "n"))
	}
	w.pod(testPod("ns", "u", ""))
	nodes, waiting := w.observed(), w.waiting()
	generation := nodes[0].Generation
	w.gone("ns", "p0")
	w.pod(testPod("ns", "p1", "n", func(p *corev1.Pod) { now := metav1.Unix(5, 0); p.DeletionTimestamp = &now }))
	w.pod(testPod("ns", "p9", "n"))
	w.pod(testPod("ns", "u", "n"))
	w.node1(testNode("n", notReady))
	if got := podNames(nodes[0].Pods); !slices.Equal(got, []string{"p0", "p1", "p2", "p3", "p4"}) {
		t.Errorf("pods given out are now %v", got)
	}
	for _, p := range nodes[0].Pods {
		if p.Flags != 0 {
			t.Errorf("%s changed in place", p.Name)
		}
	}
	if !model.NodeReady(nodes[0].Object) || nodes[0].Generation != generation {
		t.Error("the node given out changed")
	}
	if len(waiting) != 1 || waiting[0].Name != "u" {
		t.Errorf("waiting pods given out are now %v", podNames(waiting))
	}
	now := w.observed()
	if got := podNames(now[0].Pods); !slices.Equal(got, []string{"p1", "p2", "p3", "p4", "p9", "u"}) {
		t.Errorf("pods now %v", got)
	}
	if now[0].Generation == generation || len(w.waiting()) != 0 {
		t.Error("the change is not seen")
	}
}

func TestNodesAndPodsInAnyOrder(t *testing.T) {
	w := newWatched()
	w.pod(testPod("b", "same", "n"))
	w.pod(testPod("a", "same", "n"))
	w.pod(testPod("z", "w", ""))
	w.pod(testPod("a", "w", ""))
	if got := w.observed(); len(got) != 0 {
		t.Fatalf("a node that was never seen: %v", got)
	}
	w.node1(testNode("n"))
	w.node1(testNode("m"))
	got := w.observed()
	if len(got) != 2 || got[0].Object.Name != "m" || got[1].Object.Name != "n" || len(got[1].Pods) != 2 {
		t.Fatalf("nodes %+v", got)
	}
	if u := w.waiting(); u[0].UID != "a/w" || u[1].UID != "z/w" {
		t.Errorf("waiting %+v", u)
	}
	// One of two pods by the same name goes: it is the right one.
	w.gone("b", "same")
	if got := w.observed()[1].Pods; len(got) != 1 || got[0].UID != "a/same" {
		t.Errorf("left: %+v", got)
	}
	// A name comes back as another pod, elsewhere.
	w.pod(testPod("a", "same", "", func(p *corev1.Pod) { p.UID = "second" }))
	if got := w.observed()[1].Pods; len(got) != 0 {
		t.Errorf("the first pod is still there: %+v", got)
	}
	// The node goes first, its pods later.
	w.pod(testPod("a", "x", "n"))
	w.dropNode("n")
	if got := w.observed(); len(got) != 1 {
		t.Errorf("nodes %+v", got)
	}
	w.gone("a", "x")
	if _, ok := w.nodes["n"]; ok {
		t.Error("an entry is left behind")
	}
}

// A new list after an interruption says what is there, and what is not is gone.
func TestReplace(t *testing.T) {
	w := newWatched()
	w.node1(testNode("n"))
	w.node1(testNode("old"))
	w.pod(testPod("ns", "stays", "n"))
	w.pod(testPod("ns", "went", "n"))
	w.pod(testPod("ns", "waited", ""))
	w.replaceNodes([]*corev1.Node{trimNode(testNode("n")), trimNode(testNode("new"))})
	w.replacePods([]*podRow{
		cutPod(w.catalog, testPod("ns", "stays", "n"), cutAt), cutPod(w.catalog, testPod("ns", "came", "new"), cutAt),
	})
	got := w.observed()
	if len(got) != 2 || got[0].Object.Name != "n" || got[1].Object.Name != "new" {
		t.Fatalf("nodes %+v", got)
	}
	if len(got[0].Pods) != 1 || len(got[1].Pods) != 1 || len(w.waiting()) != 0 {
		t.Errorf("pods %v, %v, waiting %v", podNames(got[0].Pods), podNames(got[1].Pods), podNames(w.waiting()))
	}
}

func TestTrimmedNode(t *testing.T) {
	n := trimNode(testNode("n", func(n *corev1.Node) {
		n.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true"
		n.Annotations["delay-deletion.cluster-autoscaler.kubernetes.io/x"] = "y"
		n.Annotations["cluster-autoscaler.kwok.nodegroup/name"] = "g"
		n.Annotations[model.AnnotationDoNotDisrupt] = "true"
		n.Annotations["karpenter.sh/another"] = "x"
		n.Annotations[model.AnnotationStays] = "NotEnoughPdb"
		n.Annotations[model.AnnotationRemoval] = model.RemovalCordoned
		n.Annotations["plimsoll.dev/another"] = "x"
	}))
	want := []string{model.AnnotationScaleDownDisabled, "cluster-autoscaler.kwok.nodegroup/name",
		model.PrefixDelayDeletion + "x", model.AnnotationDoNotDisrupt, "kwok.x-k8s.io/node",
		model.AnnotationRemoval, model.AnnotationStays}
	var got []string
	for k := range n.Annotations {
		got = append(got, k)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("annotations %v", got)
	}
	if n.Status.Images != nil || n.ManagedFields != nil {
		t.Error("images or managed fields are kept")
	}
}

// Content that nothing has any more goes, and what is left keeps its meaning.
func TestCompact(t *testing.T) {
	w := newWatched()
	w.node1(testNode("n"))
	labelled := func(i int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = map[string]string{"job": fmt.Sprint(i)}
			p.Spec.Volumes = []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{Name: fmt.Sprint("scratch-", i), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			}
		}
	}
	for i := range 100 {
		w.pod(testPod("ns", fmt.Sprint("p", i), "n", labelled(i)))
	}
	w.checkAt = 0
	if n := w.live(w.catalog.Contents()); n != 301 { // a spec, a label set and facts each, and a shape
		t.Errorf("%d contents are live", n)
	}
	if w.compact() {
		t.Fatal("nothing was stale")
	}
	for i := range 90 {
		w.gone("ns", fmt.Sprint("p", i))
	}
	keys := func() (out []string) {
		c := w.catalog.Contents()
		for _, p := range w.observed()[0].Pods {
			out = append(out, c.Specs[p.Spec].Key+c.Labels[p.Labels].Key+fmt.Sprint(c.Specs[p.Spec].Claims,
				c.Specs[p.Spec].Requests)+c.Facts[p.Facts].Local+c.Facts[p.Facts].Key)
		}
		return append(out, c.Shapes[w.observed()[0].Shape].Key)
	}
	late := cutPod(w.catalog, testPod("ns", "late", "n", labelled(95)), cutAt)
	want, old, generation := keys(), w.observed(), w.generation
	oldContents := w.catalog.Contents()
	w.checkAt = 0
	if !w.compact() {
		t.Fatal("most of it was stale")
	}
	if got := keys(); !slices.Equal(got, want) {
		t.Errorf("contents changed:\n%v\n%v", got, want)
	}
	if c := w.catalog.Contents(); len(c.Labels) != 10 || len(c.Facts) != 10 {
		t.Errorf("%d label sets and %d facts, want 10 of each", len(c.Labels), len(c.Facts))
	}
	if w.generation == generation {
		t.Error("the generation did not move")
	}
	if l := oldContents.Labels[old[0].Pods[0].Labels].Labels["job"]; l == "" {
		t.Error("what was given out does not go with its contents any more")
	}
	// A row made with the old catalog arrives after the change.
	w.putPod(late)
	c := w.catalog.Contents()
	for _, p := range w.observed()[0].Pods {
		if p.Name == "late" && (c.Labels[p.Labels].Labels["job"] != "95" || c.Facts[p.Facts].Local != "scratch-95") {
			t.Errorf("the late row has labels %v, facts %+v", c.Labels[p.Labels].Labels, c.Facts[p.Facts])
		}
	}
}

// 150,000 pods on 5,000 nodes must fit well within 100 MB.
func TestMemoryOfManyPods(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	w := newWatched()
	const nodes, perNode = 5000, 30
	for i := range nodes {
		node := fmt.Sprintf("group-%04d", i)
		for j := range perNode {
			name := fmt.Sprintf("deployment-%d-7c9d8b6f5c-%05d", j, i)
			w.pod(testPod("namespace", name, node, ownedBy("apps/v1", "ReplicaSet", types.UID(fmt.Sprintf("%036d", j))),
				func(p *corev1.Pod) {
					p.UID = types.UID(fmt.Sprintf("%018d%018d", i, j))
				}))
		}
	}
	used := (heap() - before) >> 20
	t.Logf("%d pods: %d MB, %d bytes each", nodes*perNode, used, (heap()-before)/(nodes*perNode))
	if used > 75 {
		t.Errorf("%d MB", used)
	}
	runtime.KeepAlive(w)
}

// TestObservedSaysWhatChanged: a list of nodes in which only those are new that were touched says what one says that is
// made of all, and what was given out before stays as it was.
func TestObservedSaysWhatChanged(t *testing.T) {
	dice := rand.New(rand.NewPCG(12, 2))
	for range 300 {
		some, all := newWatched(), newWatched()
		var given, was []model.ObservedNode
		for range 30 {
			name, pod := fmt.Sprint("n", dice.IntN(4)), fmt.Sprint("p", dice.IntN(6))
			event, version := dice.IntN(8), fmt.Sprint(dice.IntN(3))
			for _, w := range []*watched{some, all} {
				switch event {
				case 0:
					w.node1(testNode(name, func(n *corev1.Node) { n.ResourceVersion = version }))
				case 1:
					w.node1(testNode(name, notReady))
				case 2:
					w.dropNode(name)
				case 3:
					w.gone("ns", pod)
				default:
					w.pod(testPod("ns", pod, name))
				}
			}
			if dice.IntN(3) > 0 {
				continue
			}
			all.order = nil
			got, want := some.observed(), all.observed()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("with what changed:\n%s", diff)
			}
			if diff := cmp.Diff(was, given); diff != "" {
				t.Fatalf("what was given out changed:\n%s", diff)
			}
			given, was = got, []model.ObservedNode{}
			for _, n := range got {
				n.Object, n.Pods = n.Object.DeepCopy(), slices.Clone(n.Pods)
				was = append(was, n)
			}
		}
	}
}
