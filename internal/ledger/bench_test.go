package ledger

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// BenchmarkFold folds what has not changed over and over: 15,000 nodes in 200
// groups, without and with 1,000 asks in flight, and with a verdict on record for
// each node. Each turn has a newer inventory,
// so that nothing can be skipped. The allocations must not grow with the nodes:
// a tenth of them is there to compare.
func BenchmarkFold(b *testing.B) {
	for _, c := range []struct{ nodes, groups, asks, held int }{{15000, 200, 0, 0}, {1500, 200, 0, 0},
		{15000, 200, 1000, 0}, {15000, 200, 0, 15000}} {
		b.Run(fmt.Sprintf("nodes=%d/groups=%d/asks=%d/held=%d", c.nodes, c.groups, c.asks, c.held), func(b *testing.B) {
			seen := large(c.nodes, c.groups)
			l := folded(seen, nil)
			var p model.Plan
			for i := range c.asks {
				g := provider.GroupID(fmt.Sprintf("group-%03d", i%c.groups))
				n := l.Standing().Groups[g].Expected
				p.Calls = []model.Call{{ID: fmt.Sprint(i), Verb: model.Grow, Group: g, From: n, To: n + 2}}
				l.Note(&model.Snapshot{Now: seen.Now}, p)
				l.Fold(seen, []model.Outcome{{Call: p.Calls[0], Ended: seen.Now, Target: n + 2}})
			}
			for i := range seen.Inventory.Groups {
				seen.Inventory.Groups[i].Target = l.Standing().Groups[seen.Inventory.Groups[i].ID].Expected
			}
			asks := 0
			for _, g := range l.Standing().Groups {
				asks += len(g.Asks)
			}
			if asks != c.asks {
				b.Fatalf("%d asks are in flight, want %d", asks, c.asks)
			}
			if c.held > 0 {
				l.Note(&model.Snapshot{Now: seen.Now}, model.Plan{Kept: keptNodes(seen)})
			}
			if n := len(l.Standing().Nodes); n != c.held {
				b.Fatalf("%d nodes are held, want %d", n, c.held)
			}
			b.ReportAllocs()
			for b.Loop() {
				seen.Now = seen.Now.Add(time.Millisecond)
				seen.Inventory.AsOf = seen.Now
				l.Fold(seen, nil)
			}
		})
	}
}

// BenchmarkFoldWaiting folds groups half of whose machines were there without a node before
// the first look. The time for each machine must not grow with the machines of its group.
func BenchmarkFoldWaiting(b *testing.B) {
	for _, machines := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			seen := large(machines/2, 1)
			g := &seen.Inventory.Groups[0]
			for i := range machines / 2 {
				g.Instances = append(g.Instances, provider.Instance{ID: provider.InstanceID(fmt.Sprintf("waits-%05d", i)),
					State: provider.Running, Created: seen.Now.Add(-time.Minute)})
			}
			g.Target = len(g.Instances)
			l := folded(seen, nil)
			if n := len(l.Standing().Groups[g.ID].Waiting); n != machines/2 {
				b.Fatalf("%d machines wait, want %d", n, machines/2)
			}
			for b.Loop() {
				seen.Now = seen.Now.Add(time.Millisecond)
				seen.Inventory.AsOf = seen.Now
				l.Fold(seen, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(machines), "ns/machine")
		})
	}
}

// BenchmarkNote gives a standing out and notes the verdicts on 15,000 nodes: the
// same as before, others for one node in a hundred, and all nodes unneeded.
func BenchmarkNote(b *testing.B) {
	seen := large(15000, 200)
	l := folded(seen, nil)
	snap := snapshot.New(nil, seen, l.Standing(), l.rules)
	same := model.Plan{Kept: keptNodes(seen)}
	others := model.Plan{Kept: keptNodes(seen)}
	for i := 0; i < len(others.Kept); i += 100 {
		others.Kept[i].Reason = model.NoPlaceToMovePods
	}
	unneeded := model.Plan{Unneeded: keptNodes(seen)}
	for i := range unneeded.Unneeded {
		unneeded.Unneeded[i].Since = t0
	}
	for _, c := range []struct {
		name  string
		plans [2]model.Plan
	}{
		{"same", [2]model.Plan{same, same}}, {"some=150", [2]model.Plan{same, others}},
		{"unneeded", [2]model.Plan{unneeded, unneeded}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l.Note(snap, c.plans[0])
			turn := 0
			b.ReportAllocs()
			for b.Loop() {
				turn++
				if n := len(l.Standing().Nodes); n != 15000 {
					b.Fatalf("%d standings", n)
				}
				l.Note(snap, c.plans[turn%2])
			}
		})
	}
}

// BenchmarkStanding gives out what is known of 15,000 nodes, and nothing has
// changed since it was last given out. What it costs otherwise is Note's.
func BenchmarkStanding(b *testing.B) {
	seen := large(15000, 200)
	l := folded(seen, nil)
	l.Note(&model.Snapshot{Now: seen.Now}, model.Plan{Kept: keptNodes(seen)})
	b.ReportAllocs()
	for b.Loop() {
		if n := len(l.Standing().Nodes); n != 15000 {
			b.Fatalf("%d standings", n)
		}
	}
}

func keptNodes(seen model.Observation) []model.NodeVerdict {
	out := make([]model.NodeVerdict, 0, len(seen.Nodes))
	for _, n := range seen.Nodes {
		out = append(out, model.NodeVerdict{Node: n.Object.Name, Verdict: model.Verdict{Reason: model.NotUnderutilized}})
	}
	return out
}

func large(nodes, groups int) model.Observation {
	o := model.Observation{Now: t0, Inventory: provider.Inventory{AsOf: t0}}
	for g := range groups {
		pg := provider.Group{ID: provider.GroupID(fmt.Sprintf("group-%03d", g)), Max: 1000}
		for i := range nodes / groups {
			name := fmt.Sprintf("%s-node-%05d", pg.ID, i)
			pg.Instances = append(pg.Instances, provider.Instance{ID: provider.InstanceID(name),
				ProviderID: "cloud:///" + name, NodeName: name, State: provider.Running, Created: t0.Add(-time.Hour)})
			o.Nodes = append(o.Nodes, model.ObservedNode{Object: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(t0.Add(-time.Hour))},
				Spec:       corev1.NodeSpec{ProviderID: "cloud:///" + name},
				Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status: corev1.ConditionTrue}}},
			}})
		}
		pg.Target = len(pg.Instances)
		o.Inventory.Groups = append(o.Inventory.Groups, pg)
	}
	return o
}
