package schedsim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestHostnamesThatAreNotTheirOwn: where nodes share a hostname, or have none, the verdicts are the
// scheduler's still.
func TestHostnamesThatAreNotTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *stand, n *corev1.Node)
	}{
		{"each its own", func(*stand, *corev1.Node) {}},
		{"another's", func(_ *stand, n *corev1.Node) { n.Labels[corev1.LabelHostname] = "a1" }},
		{"none", func(_ *stand, n *corev1.Node) { delete(n.Labels, corev1.LabelHostname) }},
		{"that of one to come", func(s *stand, n *corev1.Node) {
			s.Groups[2].Target++
			n.Labels[corev1.LabelHostname] = "c:coming-0"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand()
			web := app("web", "100m")
			testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
			for _, name := range []string{"a1", "a2", "b1", "b2"} {
				n := s.node(name)
				s.Bound(web, int(name[1]-'0'), name)
				if name == "b2" {
					tt.change(s, n)
				}
			}
			x := s.load(t, 1000, "a1", "a2", "b1", "b2")
			class := x.s.Nodes[0].Batches[0].Class
			sameRefusals(t, x.w, "with them")
			for i := range x.w.nodes {
				got, want := x.w.check(class, i) == nil, schedulerSays(x.w, class, i)
				if got != want {
					t.Errorf("%s: %v, the scheduler says %v", x.w.nodes[i].name, got, want)
				}
			}
		})
	}
}

// TestHostsAreDomains: each node is a domain for minDomains.
func TestHostsAreDomains(t *testing.T) {
	for _, tt := range []struct {
		domains int32
		want    model.Reason
	}{
		{0, model.Fits},
		{3, model.Fits},
		{8, model.TopologySpread},
	} {
		s := newStand()
		web := app("web", "100m")
		testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
		if tt.domains > 0 {
			web.Spec.TopologySpreadConstraints[0].MinDomains = &tt.domains
		}
		for _, name := range []string{"a1", "a2", "b1", "b2", "c1", "c2", "c3"} {
			s.node(name)
			if tt.domains > 0 && name != "a1" && tt.want != model.Fits {
				s.Bound(web, 1, name)
			}
		}
		s.Bound(web, 1, "a1")
		x := s.load(t, 1000, "a1")
		class := x.s.Nodes[0].Batches[0].Class
		if got := x.w.Fits(class, x.node("a2")); got != tt.want ||
			(got == model.Fits) != schedulerSays(x.w, class, int(x.node("a2"))) {
			t.Errorf("%d domains: %s, want %s", tt.domains, got, tt.want)
		}
	}
}

// TestHostsThatAreNotCounted: nodes with a taint are none for a
// constraint that honours taints, and each of them could be the emptiest for one
// that does not.
func TestHostsThatAreNotCounted(t *testing.T) {
	for _, tt := range []struct {
		policy corev1.NodeInclusionPolicy
		want   model.Reason
	}{
		{corev1.NodeInclusionPolicyHonor, model.Fits},
		{corev1.NodeInclusionPolicyIgnore, model.TopologySpread},
	} {
		s := newStand()
		web := app("web", "100m")
		testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
		web.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &tt.policy
		s.node("c1").Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
		s.node("a2")
		s.node("a3")
		s.Bound(web, 1, "a2")
		s.Bound(web, 1, "a3")
		x := s.load(t, 1000, "a2")
		class := x.s.Nodes[x.node("a2")].Batches[0].Class
		if got := x.w.Fits(class, x.node("a2")); got != tt.want ||
			(got == model.Fits) != schedulerSays(x.w, class, int(x.node("a2"))) {
			t.Errorf("%s: %s, want %s", tt.policy, got, tt.want)
		}
	}
}

// domainPlugins are the scheduler's own judges of what is counted here, before nodes that a test
// shows them.
var domainPlugins = sync.OnceValues(func() (*filters, error) {
	conf, err := latest.Default()
	if err != nil {
		return nil, err
	}
	f := &filters{stage: &stage{}, factory: informers.NewSharedInformerFactory(nil, 0), ctx: context.Background()}
	f.full, err = f.framework(conf.Profiles[0], []string{names.PodTopologySpread, names.InterPodAffinity})
	return f, err
})

// sameRefusals compares what is counted with what the plugins say who see all nodes: for each class
// and node the same yes, or the same no in the same words. It tells how many pairs it has compared.
func sameRefusals(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, w *World, when string) (pairs int) {
	t.Helper()
	f, err := domainPlugins()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.feed(w.snap); err != nil {
		t.Fatal(err)
	}
	var all []stageNode
	for i := range w.nodes {
		if !w.nodes[i].gone {
			all = append(all, w.info(i))
		}
	}
	f.stage.show(all)
	for c := range w.classes {
		id := model.ClassID(c)
		class := w.class(id)
		if class.unsupported != "" || class.broken {
			continue
		}
		state := framework.NewCycleState()
		if _, status, _ := f.full.RunPreFilterPlugins(f.ctx, state, class.info().Pod); !status.IsSuccess() {
			t.Fatalf("%s: class %d: %s", when, c, status.Message())
		}
		for i := range w.nodes {
			if w.nodes[i].gone {
				continue
			}
			pairs++
			want := rejectionOf(f.full.RunFilterPlugins(f.ctx, state, class.info().Pod, w.info(i)))
			if got := w.outlook(id).refusal(w, i); said(got) != said(want) {
				t.Fatalf("%s: class %d on %s: counted %s, the scheduler says %s", when, c, w.nodes[i].called(),
					said(got), said(want))
			}
		}
	}
	return pairs
}

// TestRefusalsAreThePlugins: in random small worlds, after every change of a world, what counters say
// of each class and node is what the plugins say, to the word. It goes on until it has compared
// 100,000 pairs; `make soak` compares more.
func TestRefusalsAreThePlugins(t *testing.T) {
	for pairs := 0; pairs < 100_000; {
		rapid.Check(t, func(t *rapid.T) {
			w := Load(nil, drawCoupled(t))
			defer w.Close()
			if rapid.Bool().Draw(t, "all counters from the start") {
				countAll(w)
			}
			pairs += sameRefusals(t, w, "at first")
			var marks []Mark
			for range rapid.IntRange(1, 10).Draw(t, "steps") {
				i := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
				c := model.ClassID(rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"))
				step := rapid.SampledFrom([]string{"put", "put", "add", "vacate", "drop", "mark", "undo"}).Draw(t, "step")
				switch n := &w.nodes[i]; {
				case step == "put" && !n.gone:
					w.put(i, c, rapid.IntRange(1, 3).Draw(t, "pods"))
				case step == "vacate" && i < len(w.snap.Nodes):
					w.vacate(i, slices.Clone(n.batches))
				case step == "add":
					if template, ok := w.GroupTemplate(rapid.IntRange(0, 1).Draw(t, "group")); ok {
						w.AddNodes(template, rapid.IntRange(1, 2).Draw(t, "nodes"))
					}
				case step == "drop" && i >= len(w.snap.Nodes) && !n.gone:
					w.Drop(Node(i))
				case step == "mark":
					marks = append(marks, w.Mark())
				case step == "undo" && len(marks) > 0:
					w.Undo(marks[len(marks)-1])
					marks = marks[:len(marks)-1]
				}
				pairs += sameRefusals(t, w, step)
				if err := countersAddUp(w); err != nil {
					t.Fatalf("%s: %v", step, err)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}

// drawCoupled makes small clusters of pods with all that a spread constraint or an affinity may say,
// and nodes that differ in what those read.
func drawCoupled(t *rapid.T) *model.Snapshot {
	d := drawer{t}
	c := testkit.New()
	c.Namespaces["other"] = map[string]string{"team": "x", corev1.LabelMetadataName: "other"}
	node := func(name string) *corev1.Node {
		n := testkit.Node(name, "64", "64Gi", map[string]string{"disk": d.of("disk", "1", "3")})
		if zone := d.of("zone", "a", "b", "c", ""); zone != "" {
			n.Labels[corev1.LabelTopologyZone] = zone
		}
		if d.one("tainted", 4) {
			n.Spec.Taints = []corev1.Taint{{Key: d.of("taint", "k", "l"), Value: "1", Effect: corev1.TaintEffectNoSchedule}}
		}
		return n
	}
	pods := make([]*corev1.Pod, d.number("classes", 1, 4))
	for i := range pods {
		app := d.of("app", "a", "b")
		pods[i] = testkit.Pod(d.of("namespace", "default", "default", "other"), fmt.Sprintf("p%d", i), "10m", "",
			map[string]string{"app": app, "hash": d.of("hash", "1", "2")})
		d.placement(pods[i], app)
		for k := range pods[i].Spec.TopologySpreadConstraints {
			// What matches nothing, and what matches everything.
			switch s := &pods[i].Spec.TopologySpreadConstraints[k]; d.number("selector of all", 0, 9) {
			case 0:
				s.LabelSelector = nil
			case 1:
				s.LabelSelector = &metav1.LabelSelector{}
			}
		}
		c.Pending(pods[i], 1)
	}
	for g := range 2 {
		c.Group(fmt.Sprintf("g%d", g), 0, 9, node("")).Target = d.number("coming", 0, 1)
	}
	for i := range d.number("nodes", 1, 6) {
		n := node(fmt.Sprintf("n%d", i))
		switch d.number("hostname", 0, 19) {
		case 0:
			delete(n.Labels, corev1.LabelHostname)
		case 1:
			n.Labels[corev1.LabelHostname] = "n0"
		}
		c.AddNode(n, "")
		for _, like := range pods {
			p := like.DeepCopy()
			if d.one("ends", 6) {
				p.DeletionTimestamp = &metav1.Time{Time: testkit.Start}
			}
			c.Bound(p, d.number("pods", 0, 2), n.Name)
		}
	}
	return snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
}
