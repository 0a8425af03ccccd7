package schedsim

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

const podIndex = "apps.kubernetes.io/pod-index"

// indexed is a StatefulSet of running pods, whose index a pod's anti-affinity
// reads, so that each is a class of its own.
func indexed(running int) *model.Snapshot {
	c := testkit.New()
	c.AddNode(testkit.Node("n", "64", "64Gi", nil), "")
	for i := range running {
		c.Bound(testkit.Pod("default", "set", "1m", "1Mi", map[string]string{podIndex: fmt.Sprint(i)}), 1, "n")
	}
	p := testkit.Pod("default", "apart", "1m", "1Mi", nil)
	testkit.Apart(p, corev1.LabelTopologyZone, nil)
	term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	term.NamespaceSelector = &metav1.LabelSelector{}
	term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: podIndex,
		Operator: metav1.LabelSelectorOpExists}}}
	c.Pending(p, 1)
	return snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
}

// TestCouplingDoesNotLookAtPairs: one pod that thousands of classes matter to, and
// that matters to all of them, costs a look at each, not at each pair.
func TestCouplingDoesNotLookAtPairs(t *testing.T) {
	const running = 2000
	s := indexed(running)
	w := Load(nil, s)
	defer w.Close()
	if len(w.classes) != running+1 {
		t.Fatalf("%d classes, want %d", len(w.classes), running+1)
	}
	for c := range w.classes {
		id := model.ClassID(c)
		if got := w.class(id).coupling; got != domain {
			t.Fatalf("class %d has the coupling %d, want %d", c, got, domain)
		}
		w.outlook(id)
	}
	if most := 10 * running; w.bonds.steps > most { // with those by which the lists of classes are made
		t.Errorf("%d selectors were compared with labels for %d classes, want at most %d", w.bonds.steps, running, most)
	}
	// The pods that the one that waits repels are one count for all; so are those that repel the others.
	if got := len(w.counters.named); got != 2 {
		t.Errorf("%d classes read %d counters, want 2", running+1, got)
	}
}

// TestBondsAreKept: while classes, namespaces and hostnames stay the same, what
// binds them is not found out again, and after a change all that is known of each
// class by itself still is.
func TestBondsAreKept(t *testing.T) {
	s := indexed(50)
	first := Load(nil, s)
	first.class(s.Pending[0].Class)
	before, steps := first.bonds, first.bonds.steps
	known := first.known
	second := Load(first, s)
	second.class(s.Pending[0].Class)
	if second.bonds != before || second.bonds.steps != steps {
		t.Error("nothing has changed, and the classes were coupled again")
	}
	third := Load(second, indexed(51))
	defer third.Close()
	if third.bonds == before {
		t.Error("a class has come, and the old bonds are used")
	}
	made := 0
	for key, x := range third.known {
		if known[key] != x {
			made++
		}
	}
	if made != 1 {
		t.Errorf("one class has come, and %d were made", made)
	}
}

// TestConflictsAreThoseOfAllPairs: what is found by labels is what a look at all
// pairs of classes finds.
func TestConflictsAreThoseOfAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s := snapshot.New(nil, drawn.Build(testkit.InOrder).Observation(), model.Standing{}, drawn.Policy.Rules)
		comparePairs(t, s)
	})
}

// TestConflictsOverNamespaces: so it is where terms name namespaces, or select them.
func TestConflictsOverNamespaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, coin := testkit.New(), rapid.Bool()
		spaces := []string{"a", "b", "c", "unknown"}
		one := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "one") }
		for _, name := range spaces[:3] {
			c.Namespaces[name] = map[string]string{corev1.LabelMetadataName: name}
			if coin.Draw(t, "team") {
				c.Namespaces[name]["team"] = one("red", "blue")
			}
		}
		selector := func(key string, values ...string) *metav1.LabelSelector {
			switch rapid.IntRange(0, 4).Draw(t, "selector") {
			case 0:
				return nil
			case 1:
				return &metav1.LabelSelector{}
			case 2:
				return &metav1.LabelSelector{MatchLabels: map[string]string{key: one(values...)}}
			}
			how := metav1.LabelSelectorOperator(one("In", "NotIn", "Exists", "DoesNotExist"))
			r := metav1.LabelSelectorRequirement{Key: key, Operator: how}
			if how == metav1.LabelSelectorOpIn || how == metav1.LabelSelectorOpNotIn {
				r.Values = []string{one(values...)}
				if other := one(values...); other != r.Values[0] {
					r.Values = append(r.Values, other)
				}
			}
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "pods") {
			p := testkit.Pod(one(spaces...), fmt.Sprint("p", i), fmt.Sprintf("%dm", i+1), "", nil)
			if coin.Draw(t, "labelled") {
				p.Labels = map[string]string{"app": one("x", "y")}
			}
			for k := range rapid.IntRange(0, 2).Draw(t, "terms") {
				testkit.Apart(p, corev1.LabelHostname, nil)
				term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[k]
				term.LabelSelector = selector("app", "x", "y")
				term.NamespaceSelector = selector("team", "red", "blue")
				if coin.Draw(t, "named") {
					term.Namespaces = []string{one(spaces...), one(spaces...)}
				}
			}
			c.Pending(p, 1)
		}
		comparePairs(t, snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules))
	})
}

// comparePairs holds the conflicts of each class against what a look at all others finds.
func comparePairs(t *rapid.T, s *model.Snapshot) {
	w := Load(nil, s)
	defer w.Close()
	refuses := func(a, b *class, key func(string) bool) bool {
		for i := range a.anti {
			if key(a.anti[i].TopologyKey) && a.anti[i].Matches(b.info().Pod, s.Namespaces[b.pod.Namespace]) {
				return true
			}
		}
		return false
	}
	onHosts := func(key string) bool { return key == corev1.LabelHostname }
	for i := range w.classes {
		c := w.class(model.ClassID(i))
		if got := w.OnePerNode(c.id); got != w.conflicts(c).has(c.id) {
			t.Fatalf("class %d may be on one node once: %v", i, got)
		}
		for j := range w.classes {
			d, id := w.class(model.ClassID(j)), model.ClassID(j)
			want := refuses(c, d, onHosts) || refuses(d, c, onHosts) || portsConflict(c.spec, d.spec)
			if got := w.conflicts(c).has(id); got != want {
				t.Fatalf("class %d conflicts with %d on a host: %v, want %v", i, j, got, want)
			}
		}
	}
}

// TestInventedResourcesAreOneVerdict: resources that no node and no template has
// are told in a few words, the same of every node, and no amounts are kept of them.
func TestInventedResourcesAreOneVerdict(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	c.AddNode(testkit.Node("a", "4", "16Gi", nil), "g")
	c.AddNode(testkit.Node("b", "8", "16Gi", map[string]string{"x": "y"}), "")
	p := testkit.Pod("default", "p", "100m", "128Mi", nil)
	for i := range 4000 {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(
			fmt.Sprintf("example.com/r%04d", i))] = resource.MustParse("1")
	}
	c.Pending(p, 1)
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
	w := Load(nil, s)
	defer w.Close()
	q := s.Pending[0].Class
	tmpl, _ := w.GroupTemplate(0)
	said := w.ExplainTemplate(q, tmpl)
	if said.Reason != model.InsufficientResources || !strings.Contains(said.Detail, "example.com/r0000 1 wanted") ||
		len(said.Detail) > 200 {
		t.Errorf("a new node is refused by %s: %d letters, %.100s", said.Reason, len(said.Detail), said.Detail)
	}
	for i := range w.nodes {
		if got := w.Explain(q, Node(i)); got != said {
			t.Errorf("node %s says %.100s, a new one %.100s", w.nodes[i].called(), got.Detail, said.Detail)
		}
		if len(w.nodes[i].free.ext) > 0 {
			t.Errorf("node %s has amounts of %d resources", w.nodes[i].called(), len(w.nodes[i].free.ext))
		}
	}
	if w.work.PreFilters > 0 {
		t.Errorf("the plugins were asked %d times", w.work.PreFilters)
	}
}
