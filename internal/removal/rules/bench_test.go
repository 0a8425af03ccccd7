package rules_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

// large is a cluster of that many pods of 200 workloads in 20 namespaces, 40 to a
// node, in an order in which no two of a workload are neighbours.
func large(pods int) world {
	var w world
	w.policy = plain().policy
	s := &model.Snapshot{Now: now}
	for i := range 200 {
		s.Contents.Specs = append(s.Contents.Specs,
			&model.Spec{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%20)}}})
		s.Contents.Labels = append(s.Contents.Labels, &model.LabelSet{Labels: map[string]string{
			"app": fmt.Sprintf("app-%d", i), "pod-template-hash": "5d4f8c7b9", "tier": fmt.Sprintf("t%d", i%5),
		}})
	}
	s.Contents.Facts = []*model.Facts{{Controller: "ReplicaSet", Group: "apps"}}
	w.pods = make([]model.Pod, pods)
	for i := range w.pods {
		of := i * 7 % 200
		w.pods[i] = model.Pod{
			Name: fmt.Sprintf("app-%d-%d", of, i), Owner: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i*7%20000)),
			Content: model.Content{Spec: model.SpecID(of), Labels: model.LabelsID(of)}, Created: now.Add(-time.Minute).Unix(),
		}
	}
	for i := 0; i < pods; i += 40 {
		s.Nodes = append(s.Nodes, &model.Node{Name: fmt.Sprintf("n%d", i/40), Bound: w.pods[i:min(pods, i+40)]})
	}
	w.snap = s
	return w
}

// manyBudgets is one namespace of that many budgets, each for pods of its own.
func manyBudgets(budgets, pods int) world {
	w := large(0)
	s := w.snap
	s.Contents.Labels = nil
	for i := range budgets {
		s.Budgets = append(s.Budgets, budget("team-0", fmt.Sprintf("b%d", i), fmt.Sprintf("app=app-%d,tier=web", i), 1<<30))
	}
	for i := range pods {
		s.Contents.Labels = append(s.Contents.Labels, &model.LabelSet{
			Labels: map[string]string{"app": fmt.Sprintf("app-%d", i%budgets), "tier": "web", "pod": fmt.Sprint(i)},
		})
		w.pods = append(w.pods, model.Pod{Name: fmt.Sprintf("p%d", i), Content: model.Content{Labels: model.LabelsID(i)}})
	}
	return w
}

// BenchmarkPods is Of, and then Apply for every pod, and Take for each that moves,
// of a cluster of 600,000 pods: what a cycle pays if every node is a candidate.
func BenchmarkPods(b *testing.B) {
	const pods = 600_000
	for _, c := range []struct {
		name   string
		change func(*world)
	}{
		{"plain", func(*world) {}},
		{"budgets", func(w *world) {
			// A tenth of the workloads, in two namespaces.
			for i := range 200 {
				if i%20 < 2 {
					w.snap.Budgets = append(w.snap.Budgets,
						budget(fmt.Sprintf("team-%d", i%20), fmt.Sprintf("b%d", i), fmt.Sprintf("app=app-%d", i), 1<<30))
				}
			}
		}},
		{"budgets-used-up", func(w *world) {
			for i := range 200 {
				if i%20 < 2 {
					w.snap.Budgets = append(w.snap.Budgets,
						budget(fmt.Sprintf("team-%d", i%20), fmt.Sprintf("b%d", i), fmt.Sprintf("app=app-%d", i), 0))
				}
			}
		}},
		{"daemonsets", func(w *world) {
			for i := range w.pods {
				w.pods[i].Flags = model.FromDaemonSet
			}
		}},
		{"local-storage", func(w *world) { w.snap.Contents.Facts[0].Local = "cache" }},
		{"min-replicas", func(w *world) { w.policy.ScaleDown.Drain.MinReplicas = 2 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := large(pods)
			c.change(&w)
			b.ReportAllocs()
			for b.Loop() {
				judgeAll(&w)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
		})
	}
	b.Run("budget-each", func(b *testing.B) {
		// One namespace of 5,000 workloads with a budget each, and 50,000 pods with
		// labels of their own.
		w := manyBudgets(5_000, 50_000)
		b.ReportAllocs()
		for b.Loop() {
			judgeAll(&w)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50_000, "ns/pod")
	})
}

func judgeAll(w *world) (kept int) {
	c := rules.Of(w.snap, w.policy)
	left := c.Budgets()
	for i := range w.pods {
		if a := c.Apply(rules.Ready, &w.pods[i]); a.Kind != rules.Moves || c.Take(&w.pods[i], left) != nil {
			kept++
		}
	}
	return kept
}
