package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// settledWorld has two nodes of a pool that run four pods each, after a while.
func settledWorld(t *testing.T, more string) *world {
	t.Helper()
	s := newScript()
	err := s.Add("flags --max-nodes-total=4\n" +
		"pool p min=2 max=3\ngroup g min=0 max=5 target=2 cpu=4 memory=16Gi pool=p\nworkload web count=8 cpu=1 memory=1Gi\n" +
		more)
	if err != nil {
		t.Fatal(err)
	}
	w := s.World()
	t.Cleanup(w.Close)
	if err := w.Run(10 * time.Minute); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTheCheckerSees: a checker that finds nothing must not be one that cannot.
func TestTheCheckerSees(t *testing.T) {
	grow := model.Call{ID: "grow", Verb: model.Grow, Group: "g", From: 2, To: 5}
	cycle := func(w *world, p model.Plan) model.Cycle {
		return model.Cycle{Decided: true, Snapshot: w.checker.last.Snapshot, Plan: p, Open: p.Calls}
	}
	for _, c := range []struct {
		rule, more string
		do         func(*world)
	}{
		{"no ready node that runs pods is removed", "", func(w *world) {
			w.checker.removing(model.Call{ID: "remove", Verb: model.Remove, Group: "g",
				Instance: w.sortedMachines("g")[0].instance})
		}},
		{"no pool below its minimum", "", func(w *world) {
			w.checker.removing(model.Call{ID: "remove", Verb: model.Remove, Group: "g",
				Instance: w.sortedMachines("g")[0].instance})
		}},
		{"no group below its minimum", "", func(w *world) {
			w.checker.removing(model.Call{ID: "remove", Verb: model.Remove, Group: "g",
				Instance: w.sortedMachines("g")[0].instance, Force: true})
		}},
		{"no more nodes than --max-nodes-total", "", func(w *world) { w.checker.growing(grow) }},
		{"no group above its maximum", "", func(w *world) {
			w.checker.cycle(cycle(w, model.Plan{Grow: []model.Growth{{Group: "g", From: 2, To: 6}}}))
		}},
		{"no pool above its maximum", "", func(w *world) {
			w.checker.cycle(cycle(w, model.Plan{Grow: []model.Growth{{Group: "g", From: 2, To: 4}}}))
		}},
		{"no call without its intent on record", "", func(w *world) {
			unknown := cycle(w, model.Plan{Calls: []model.Call{grow}})
			unknown.Open = nil
			w.checker.cycle(unknown)
		}},
		{"nothing is bought or removed in an unhealthy cluster",
			"group h min=0 max=9 target=5 cpu=4 memory=16Gi\nfault nodes=unready from=9m", func(w *world) {
				w.checker.cycle(cycle(w, model.Plan{Calls: []model.Call{grow}}))
			}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := settledWorld(t, c.more)
			c.do(w)
			if err := w.checker.breaches(); err == nil || !strings.Contains(err.Error(), c.rule) {
				t.Fatalf("it found: %v", err)
			}
		})
	}
}

// TestTheCheckerSeesWaste: nodes of a group came up with a taint that their
// template does not have; to buy there again for the same pods is in vain.
func TestTheCheckerSeesWaste(t *testing.T) {
	s := newScript()
	err := s.Add("group g min=0 max=5 cpu=4 memory=16Gi\nfault boots=extra-taint from=0s\nworkload web count=3 cpu=1 " +
		"memory=1Gi")
	if err != nil {
		t.Fatal(err)
	}
	w := s.World()
	t.Cleanup(w.Close)
	if err := w.Run(8 * time.Minute); err != nil {
		t.Fatal(err)
	}
	snap := w.checker.last.Snapshot
	if len(snap.Pending) != 1 {
		t.Fatalf("%d classes wait", len(snap.Pending))
	}
	again := model.Growth{Group: "g", From: 1, To: 2, Pods: []model.Batch{{Class: snap.Pending[0].Class, Count: 3}}}
	w.checker.cycle(model.Cycle{Decided: true, Snapshot: snap, Plan: model.Plan{Grow: []model.Growth{again}}})
	if err := w.checker.breaches(); err == nil || !strings.Contains(err.Error(), "one growth in vain at most") {
		t.Fatalf("it found: %v", err)
	}
}

// TestWhatAMachineWasBoughtFor: of several growths under way nobody knows which brought it.
func TestWhatAMachineWasBoughtFor(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(0, 0).Add(time.Duration(minute) * time.Minute) }
	b := newWasteBook()
	b.growths["g"] = []growth{{at(10), []string{"a", "b"}}, {at(12), []string{"b", "c"}}, {at(13), []string{"c"}}}
	for made, want := range map[int][]string{9: nil, 11: {"a", "b"}, 12: {"b"}, 13: nil, 16: {"c"}, 20: nil} {
		if got := b.boughtFor("g", at(made), 3*time.Minute); !slices.Equal(got, want) {
			t.Errorf("one made at %d was bought for %q, want %q", made, got, want)
		}
	}
}

// TestUnrestIsSeen: what keeps a world from being at rest is told.
func TestUnrestIsSeen(t *testing.T) {
	w := settledWorld(t, "")
	if lacking := w.Unrest(); len(lacking) > 0 {
		t.Fatalf("a world at rest lacks %q", lacking)
	}
	if err := w.cloud.SetTarget(provider.GroupID("g"), 3); err != nil {
		t.Fatal(err)
	}
	w.editNode(w.sortedMachines("g")[0].node, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
		n.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
		n.Spec.Unschedulable = true
	})
	all := strings.Join(w.Unrest(), "\n")
	for _, want := range []string{"its target is 3, it has 2 instances", "still tainted", "still cordoned by us",
		"cordoned, and not by people"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not told of in %q", want, all)
		}
	}
}
