package schedsim

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// schedulerSays is the verdict without any shortcut: all nodes before all plugins.
func schedulerSays(w *World, c model.ClassID, i int) bool {
	var stage []stageNode
	for j := range w.nodes {
		if !w.nodes[j].gone {
			stage = append(stage, w.info(j))
		}
	}
	return w.ask(w.filters.full, c, w.info(i), stage) == nil
}

// TestVerdictsAreTheSchedulers: in random worlds, while pods are placed, nodes
// added, dropped and undone, the verdict on every class and node is the one
// that the plugins give when they see all nodes.
func TestVerdictsAreTheSchedulers(t *testing.T) {
	pairs := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s := snapshot.New(nil, drawn.Build(testkit.InOrder).Observation(), model.Standing{}, drawn.Policy.Rules)
		w := Load(nil, s)
		defer w.Close()
		compare := func(when string) {
			for c := range w.classes {
				for i := range w.nodes {
					if w.nodes[i].gone {
						continue
					}
					got, want := w.check(model.ClassID(c), i) == nil, schedulerSays(w, model.ClassID(c), i)
					if got != want {
						t.Fatalf("%s: class %d (coupling %d) on node %s: %v, the scheduler says %v", when, c,
							w.class(model.ClassID(c)).coupling, w.nodes[i].called(), got, want)
					}
				}
			}
		}
		compare("at first")
		pairs += sameRefusals(t, w, "at first")
		var marks []Mark
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"add", "put", "put", "place", "mark", "undo", "drop"}).Draw(t, "step")
			switch step {
			case "add":
				if tmpl, ok := w.GroupTemplate(rapid.IntRange(0, len(s.Groups)-1).Draw(t, "group")); ok {
					w.AddNodes(tmpl, rapid.IntRange(1, 2).Draw(t, "nodes"))
				}
			case "put":
				if len(w.nodes) == 0 || len(w.classes) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
				c := model.ClassID(rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"))
				if !w.nodes[i].gone && w.check(c, i) == nil {
					w.put(i, c, 1)
				}
			case "place":
				if len(w.classes) > 0 {
					w.Place(model.ClassID(rapid.IntRange(0, len(w.classes)-1).Draw(t, "class")), 2,
						OnReady|OnPlanned, 1_000_000)
				}
			case "mark":
				marks = append(marks, w.Mark())
			case "undo":
				if n := len(marks); n > 0 {
					w.Undo(marks[n-1])
					marks = marks[:n-1]
				}
			case "drop":
				if n := len(w.nodes); n > len(s.Nodes) && !w.nodes[n-1].gone {
					w.Drop(Node(n - 1))
				}
			}
			compare(step)
			pairs += sameRefusals(t, w, step)
			if err := countersAddUp(w); err != nil {
				t.Fatalf("%s: %v", step, err)
			}
		}
	})
	t.Logf("%d pairs of a class and a node were compared", pairs)
}

// TestUndoRestoresEverything: after undoing, the world answers and counts as it
// did, and its views are those of a world loaded afresh.
func TestUndoRestoresEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		s := snapshot.New(nil, drawn.Build(testkit.InOrder).Observation(), model.Standing{}, drawn.Policy.Rules)
		w := Load(nil, s)
		defer w.Close()
		m := w.Mark()
		for i := range s.Pending {
			w.Place(s.Pending[i].Class, len(s.Pending[i].Pods), OnReady, 1_000_000)
			if tmpl, ok := w.GroupTemplate(0); ok {
				w.Commit(w.Pack([]model.Batch{{Class: s.Pending[i].Class, Count: 3}}, tmpl, 2))
			}
		}
		w.Undo(m)
		fresh := Load(nil, s)
		defer fresh.Close()
		for i := range fresh.nodes {
			if !sameAmounts(w.nodes[i].free, fresh.nodes[i].free) ||
				len(w.nodes[i].batches) != len(fresh.nodes[i].batches) {
				t.Fatalf("node %d: %+v, was %+v", i, w.nodes[i], fresh.nodes[i])
			}
		}
		if len(w.nodes) != len(fresh.nodes) || len(w.journal) != 0 {
			t.Fatalf("%d nodes and %d placements left behind", len(w.nodes)-len(fresh.nodes), len(w.journal))
		}
		if err := countersAddUp(w); err != nil {
			t.Fatal(err)
		}
		for claim, n := range w.claims {
			if n != fresh.claims[claim] {
				t.Fatalf("claim %s: %d users, want %d", claim, n, fresh.claims[claim])
			}
		}
	})
}

func sameAmounts(a, b amounts) bool {
	if a.cpu != b.cpu || a.memory != b.memory || a.ephemeral != b.ephemeral || a.pods != b.pods {
		return false
	}
	left := func(x, y amounts) bool {
		return slices.ContainsFunc(x.ext, func(z model.Amount) bool { return z.Value != y.of(z.Name) })
	}
	return !left(a, b) && !left(b, a)
}

// TestCountIsWhatTheFilterAllows: dividing amounts gives just as many pods as
// asking the scheduler's resource filter again and again.
func TestCountIsWhatTheFilterAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testkit.New()
		cpu := rapid.SampledFrom([]string{"", "0", "1m", "333m", "1", "2500m"}).Draw(t, "cpu")
		memory := rapid.SampledFrom([]string{"", "0", "1", "100Mi", "1500M", "3Gi"}).Draw(t, "memory")
		pod := testkit.Pod("default", "p", cpu, memory, nil)
		n := testkit.Node("n", rapid.SampledFrom([]string{"1", "3999m", "8"}).Draw(t, "node cpu"),
			rapid.SampledFrom([]string{"1Gi", "16G"}).Draw(t, "node memory"), nil)
		c.AddNode(n, "")
		c.Bound(testkit.Pod("default", "old", "700m", "200Mi", nil), rapid.IntRange(0, 6).Draw(t, "old pods"), "n")
		c.Pending(pod, 1)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
		w := Load(nil, s)
		defer w.Close()
		id := s.Pending[0].Class
		want := w.classes[id].count(&w.nodes[0].free)
		if fits := w.classes[id].fits(&w.nodes[0].free); fits != (want > 0) {
			t.Fatalf("counted %d, and that one fits is %v", want, fits)
		}
		got := 0
		for got < 200 && schedulerSays(w, id, 0) {
			w.put(0, id, 1)
			got++
		}
		if got != want {
			t.Fatalf("counted %d, the filter lets in %d", want, got)
		}
	})
}

// TestSpreadBesideAffinity: counts that all domains have in common
// cancel out for a spread constraint, and one pod must stay for affinity, which
// asks whether there is any.
func TestSpreadBesideAffinity(t *testing.T) {
	c := testkit.New()
	pod := testkit.Pod("default", "p", "100m", "", map[string]string{"app": "p"})
	testkit.SpreadOver(pod, corev1.LabelTopologyZone, 1, pod.Labels)
	testkit.Together(pod, corev1.LabelTopologyZone, pod.Labels)
	for _, n := range []struct {
		name, zone string
		pods       int
	}{{"a1", "a", 2}, {"b1", "b", 1}, {"b2", "b", 0}} {
		c.AddNode(testkit.Node(n.name, "4", "16Gi", map[string]string{corev1.LabelTopologyZone: n.zone}), "")
		c.Bound(pod.DeepCopy(), n.pods, n.name)
	}
	c.Pending(pod.DeepCopy(), 1)
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
	w := Load(nil, s)
	defer w.Close()
	for i, want := range []bool{false, true, true} {
		if got := w.check(s.Pending[0].Class, i) == nil; got != want {
			t.Errorf("%s: %v, want %v", w.nodes[i].name, got, want)
		}
	}
}
