package story

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	startLimit = 3 * time.Minute
	growLimit  = 4 * time.Minute
	goneLimit  = 4 * time.Minute

	batchTaint = "rehearse.plimsoll.dev/batch"
	kindLabel  = "rehearse.plimsoll.dev/kind"
)

// The groups of the growth story: a general kind in each of three zones, of
// which one always keeps a node; many cores behind a taint; much memory.
func growthGroups() []stage.Group {
	general := map[string]string{kindLabel: "general"}
	batch := []corev1.Taint{{Key: batchTaint, Value: "only", Effect: corev1.TaintEffectNoSchedule}}
	return []stage.Group{
		{Name: "general-a", Zone: "zone-a", CPU: "8", Memory: "32Gi", Min: 1, Max: 40, Labels: general},
		{Name: "general-b", Zone: "zone-b", CPU: "8", Memory: "32Gi", Max: 40, Labels: general},
		{Name: "general-c", Zone: "zone-c", CPU: "8", Memory: "32Gi", Max: 40, Labels: general},
		{Name: "batch", Zone: "zone-a", CPU: "16", Memory: "32Gi", Max: 40, Taints: batch},
		{Name: "memory", Zone: "zone-b", CPU: "8", Memory: "128Gi", Max: 40},
	}
}

// The workloads of the growth story. None can take room that was bought for
// another, so that the nodes that it takes are known beforehand.
func growthWorkloads() []stage.Workload {
	return []stage.Workload{
		{Name: "web", Replicas: 150, CPU: "1", Memory: "2Gi", Selector: map[string]string{kindLabel: "general"},
			SpreadOver: corev1.LabelTopologyZone},
		{Name: "render", Replicas: 100, CPU: "3", Memory: "2Gi", Selector: map[string]string{stage.GroupLabel: "batch"},
			Tolerates: batchTaint},
		{Name: "cache", Replicas: 42, CPU: "500m", Memory: "40Gi"},
	}
}

// growthFlags make Plimsoll remove nodes within seconds, where its defaults wait
// ten minutes: the viewer is told.
func growthFlags() []string {
	return []string{
		"--scan-interval=2s",
		"--scale-down-unneeded-time=5s",
		"--scale-down-delay-after-add=5s",
		"--node-delete-delay-after-taint=1s",
	}
}

// growthResult is what the growth story counted.
type growthResult struct {
	Groups    []stage.Group
	Workloads []stage.Workload
	Start     stage.Tally // before anything was asked for
	Full      stage.Tally // when all ran
	End       stage.Tally
	AllRun    time.Duration // from the first Deployment until every pod ran
	AllGone   time.Duration // from the scale command until every node that should go was gone
}

// growth is the growth story.
func growth(s *scene) *act {
	r := &growthResult{Groups: growthGroups(), Workloads: growthWorkloads()}
	gone := none(r.Workloads)
	return &act{
		say: fmt.Sprintf(`Plimsoll starts, with five node groups, and buys no more than it must: one node.
To be quick it waits seconds where it would wait minutes: %q`, growthFlags()),
		open:    func(ctx context.Context) error { return s.Autoscale(ctx, s.plimsoll, r.Groups, growthFlags()...) },
		columns: groupsOf(r.Groups),
		steps: []step{{
			limit: startLimit,
			what:  "each group has its minimum of ready nodes",
			done:  func(t stage.Tally) bool { return atMinimum(r.Groups, t) },
			after: func(context.Context, time.Duration) error {
				r.Start = s.Watch.Tally()
				return nil
			},
		}, {
			say: fmt.Sprintf(`
Three Deployments arrive with %d pods: web, on general nodes, spread evenly over
three zones; render, 3 cores each, on batch nodes; cache, 40 GiB each, on whatever
has so much.`, wanted(r.Workloads)),
			title: "pods wait, nodes come", limit: growLimit, workloads: r.Workloads,
			begin: s.create(r.Workloads...),
			what:  fmt.Sprintf("all %d pods run", wanted(r.Workloads)),
			done:  allRun(r.Workloads...),
			after: func(_ context.Context, took time.Duration) error {
				r.AllRun, r.Full = took, s.Watch.Tally()
				s.screen.Say(fmt.Sprintf("\nEvery pod runs after %.1f s. Now the Deployments shrink to nothing.", took.Seconds()))
				return nil
			},
		}, {
			title: "nodes empty and go", limit: goneLimit, workloads: gone,
			begin: s.scaleAll(gone),
			what:  "every node above its group's minimum goes",
			done:  func(t stage.Tally) bool { return allRun(gone...)(t) && atMinimum(r.Groups, t) },
			after: func(_ context.Context, took time.Duration) error {
				r.AllGone, r.End = took, s.Watch.Tally()
				return nil
			},
		}},
		result: func() string { return r.String() },
	}
}

// atMinimum reports whether each group has its minimum of nodes, all of them to
// stay.
func atMinimum(groups []stage.Group, t stage.Tally) bool {
	for _, g := range groups {
		if n := t.Groups[g.Name]; n.All != g.Min || n.Ready != g.Min || n.Leaving != 0 {
			return false
		}
	}
	return true
}

// String is the summary.
func (r growthResult) String() string {
	rows := [][]string{{"node group", "at start", "bought", "peak", "left", "minimum"}}
	number := strconv.Itoa
	for _, g := range r.Groups {
		start, end := r.Start.Groups[g.Name], r.End.Groups[g.Name]
		rows = append(rows, []string{
			g.Name, number(start.All), number(end.Ever - start.Ever), number(end.Peak), number(end.All), number(g.Min),
		})
	}
	start, end := r.Start.Nodes(), r.End.Nodes()
	rows = append(rows, []string{
		"all", number(start.All), number(end.Ever - start.Ever), number(end.Peak), number(end.All), "",
	})
	text := table(rows) + "\n\n"

	rows = [][]string{{"workload", "pods run", "of", "had to wait"}}
	for _, w := range r.Workloads {
		rows = append(rows, []string{
			w.Name, number(r.Full.Workloads[w.Name].Running), number(w.Replicas), number(r.Full.Workloads[w.Name].Waited),
		})
	}
	text += table(rows) + "\n\n"
	return text + fmt.Sprintf("  all pods run: %.1f s after they were asked for\n  all nodes gone that should go: %.1f s "+
		"after the Deployments shrank",
		r.AllRun.Seconds(), r.AllGone.Seconds())
}
