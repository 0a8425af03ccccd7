package sim

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestTheCheckerSeesDrains: each rule on removals of nodes with pods can be broken
// before its eyes.
func TestTheCheckerSeesDrains(t *testing.T) {
	const web = "workload web count=6 cpu=1 memory=1Gi stop=5s\n"
	cycle := func(w *world, p model.Plan, open ...model.Call) model.Cycle {
		s := *w.checker.last.Snapshot
		s.Now = w.now
		return model.Cycle{Decided: true, Snapshot: &s, Plan: p, Open: append(open, p.Calls...)}
	}
	for _, c := range []struct {
		rule, more string
		do         func(*testing.T, *world)
	}{
		{"no disruption budget is violated", web + "budget web min=6", func(_ *testing.T, w *world) {
			w.budgets[podName{"default", "web"}].allowed = 1
			_ = evictOne(w, "web-00001")
		}},
		{"no pod is evicted that must not be", web + "workload alone count=1 cpu=1 controller=none",
			func(_ *testing.T, w *world) { _ = evictOne(w, "alone-00001") }},
		{"no pod is evicted that must not be", web + "workload kept count=1 cpu=1 evict=false",
			func(_ *testing.T, w *world) { _ = evictOne(w, "kept-00001") }},
		{"no pod is evicted that must not be", web + "workload disk count=1 cpu=1 local=data",
			func(_ *testing.T, w *world) { _ = evictOne(w, "disk-00001") }},
		{"no pod of a DaemonSet is evicted that is to stay", web + "daemonset agent memory=100Mi dsevict=false",
			func(_ *testing.T, w *world) {
				_ = evictOne(w, "agent-"+w.sortedMachines("g")[0].node)
			}},
		{"no pod has more time to end than it asked for", web, func(_ *testing.T, w *world) {
			hour := int64(3600)
			_ = evictPod(w, "web-00001", w.truth.seats[podName{"default", "web-00001"}].pod.UID, &hour)
		}},
		{"a cordon that people made is left alone", web, func(t *testing.T, w *world) {
			name := w.sortedMachines("g")[0].node
			if err := w.Cordon(name, true); err != nil {
				t.Fatal(err)
			}
			w.editNode(name, func(n *corev1.Node) {
				n.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalCordoned}
			})
			rollBack(t, w, name)
		}},
		{"no removal is begun in vain again and again", web, func(t *testing.T, w *world) {
			for range mostTries + 1 {
				name := w.sortedMachines("g")[0].node
				w.editNode(name, func(n *corev1.Node) {
					n.Annotations = map[string]string{model.AnnotationRemoval: model.RemovalTainted}
				})
				rollBack(t, w, name)
			}
		}},
		{"pods of DaemonSets are not evicted again and again", web + "daemonset agent memory=100Mi",
			func(t *testing.T, w *world) {
				for range daemonTimes + 1 {
					_ = evictOne(w, "agent-"+w.sortedMachines("g")[0].node)
					_ = w.Run(time.Minute)
				}
			}},
		{"who was evicted has a node again soon", web + "workload filler count=6 cpu=1 memory=1Gi",
			func(t *testing.T, w *world) {
				homeless(t, w)
				_ = w.Run(5 * time.Minute)
			}},
		{"no node is bought for pods that were just evicted from one like it",
			web + "workload filler count=6 cpu=1 memory=1Gi", func(t *testing.T, w *world) {
				homeless(t, w)
				run(t, w, 10*time.Second)
				s := w.checker.last.Snapshot
				if len(s.Pending) != 1 {
					t.Fatalf("%d classes wait", len(s.Pending))
				}
				w.checker.cycle(cycle(w,
					model.Plan{Grow: []model.Growth{{Group: "g", From: 3, To: 4,
						Pods: []model.Batch{{Class: s.Pending[0].Class, Count: 1}}}}}))
			}},
		{"no more drains at once than --max-drain-parallelism", web, func(_ *testing.T, w *world) {
			c := cycle(w, model.Plan{})
			for i := range c.Snapshot.Nodes {
				c.Snapshot.Nodes[i].Standing.Drain = &model.Drain{Stage: model.Evicting, Occupied: true}
			}
			w.checker.cycle(c)
		}},
		{"nothing is deleted twice", web, func(t *testing.T, w *world) {
			id := w.sortedMachines("g")[0].instance
			if _, err := w.cloud.Remove(background,
				provider.RemoveRequest{Group: "g", Instances: []provider.InstanceID{id}}); err != nil {
				t.Fatal(err)
			}
			run(t, w, 12*time.Second)
			w.checker.cycle(cycle(w,
				model.Plan{Calls: []model.Call{{ID: "remove", Verb: model.Remove, Group: "g", Instance: id}}}))
		}},
		{"no group below its minimum", web + "at 4m limits g min=3 max=5", func(t *testing.T, w *world) {
			run(t, w, settled)
			id := w.sortedMachines("g")[0].instance
			w.checker.cycle(cycle(w, model.Plan{},
				model.Call{ID: "remove", Verb: model.Remove, Group: "g", Instance: id}))
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := still(t, c.more)
			c.do(t, w)
			if err := w.checker.breaches(); err == nil || !strings.Contains(err.Error(), c.rule) {
				t.Fatalf("it found: %v", err)
			}
		})
	}
}

// rollBack takes all of a removal off a node, through the API server.
func rollBack(t *testing.T, w *world, name string) {
	t.Helper()
	n := w.truth.object(name).DeepCopy()
	n.Spec.Taints, n.Spec.Unschedulable = nil, false
	delete(n.Annotations, model.AnnotationRemoval)
	if _, ok := w.put(n).(*corev1.Node); !ok {
		t.Fatalf("node %s cannot be written", name)
	}
}

// homeless evicts a pod whose room is taken away at once: by somebody whom the
// checker does not see.
func homeless(t *testing.T, w *world) {
	t.Helper()
	s := w.truth.seats[podName{"default", "web-00001"}]
	for _, m := range w.sortedMachines("g") {
		w.editNode(m.node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	}
	run(t, w, time.Second)
	if err := evictOne(w, s.id.name); err != nil {
		t.Fatal(err)
	}
	run(t, w, 5*time.Second)
	if len(w.checker.drains.waiting) != 1 {
		t.Fatalf("%d wait", len(w.checker.drains.waiting))
	}
}

// TestWhatExcuses: when people and faults move the world after an eviction, the
// autoscaler cannot keep what it promised.
func TestWhatExcuses(t *testing.T) {
	w := still(t, "workload web count=6 cpu=1 memory=1Gi stop=5s\nworkload filler count=6 cpu=1 memory=1Gi")
	homeless(t, w)
	if err := w.Scale("filler", 7); err != nil {
		t.Fatal(err)
	}
	run(t, w, 2*time.Minute)
	if lacking := w.checker.unhoused(); len(lacking) > 0 {
		t.Errorf("%q", lacking)
	}
}
