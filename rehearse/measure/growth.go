package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	growthPods  = 2000
	podsPerNode = 8
	workload    = "load"

	startLimit  = 2 * time.Minute
	growthLimit = 3 * time.Minute
)

// What is aimed at, and what the Cluster Autoscaler needed for the same.
const (
	growthAim, growthUpstream = 20 * time.Second, 50 * time.Second
	cpuAim, cpuUpstream       = 3 * time.Second, 4 * time.Second
	peakAim, peakUpstream     = 130, 138 // megabytes
)

// GrowthFigures are those of 2,000 pending one-core pods onto 8-core nodes.
type GrowthFigures struct {
	Pods       int
	Nodes      int           // bought
	FirstNode  time.Duration // from the scale command until there was a node
	EnoughRoom time.Duration // and until enough nodes for all pods were ready
	Bound      time.Duration // and until every pod had a node
	Alone      time.Duration // the same without Plimsoll, the nodes being there
	Plimsoll   Cost          // from its start until every pod had a node
	Divergence int
	Components map[string]time.Duration // processor time while the pods were bound
	Foreign    float64                  // share of the machine that other programs took meanwhile
	ForeignToo float64                  // the same in the second pass
}

// Growth measures 2,000 pods that Plimsoll buys nodes for and then, on the same
// control plane with Plimsoll gone and its nodes kept, the same 2,000 pods once
// more. The second pass finds everything warm: the ratio errs against Plimsoll.
func Growth(ctx context.Context, plimsoll string, log *slog.Logger) (f GrowthFigures, err error) {
	group := stage.Group{Name: "eight-core", CPU: "8", Memory: "32Gi", Max: 1000}
	load := stage.Workload{Name: workload, CPU: "1", Memory: "2Gi"}
	f.Pods = growthPods

	// 1. An empty cluster, Plimsoll at its defaults.
	s, err := open(ctx, log)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(s.WithLog(err), s.Close()) }()
	if err := start(ctx, s, plimsoll, []stage.Group{group}, "--kwok-keep-nodes"); err != nil {
		return f, err
	}
	if err := s.Create(ctx, load); err != nil {
		return f, err
	}

	// 2. The growth.
	before, err := componentTimes(s)
	if err != nil {
		return f, err
	}
	began := time.Now()
	busy, err := startForeign(s)
	if err != nil {
		return f, err
	}
	if err := s.Scale(ctx, workload, growthPods); err != nil {
		return f, err
	}
	for _, step := range []struct {
		took *time.Duration
		what string
		done func(stage.Tally) bool
	}{
		{&f.FirstNode, "there is a node", func(t stage.Tally) bool { return t.Nodes().Ever > 0 }},
		{&f.EnoughRoom, "there is room for all pods", func(t stage.Tally) bool {
			return t.Nodes().Ready*podsPerNode >= growthPods
		}},
		{&f.Bound, "every pod has a node", func(t stage.Tally) bool { return t.Workloads[workload].Bound == growthPods }},
	} {
		if err := wait(ctx, s, growthLimit, step.what, step.done); err != nil {
			return f, err
		}
		*step.took = time.Since(began)
	}
	if f.Foreign, err = busy.share(s); err != nil {
		return f, err
	}
	if f.Plimsoll, err = processCost(s, autoscaler.Name); err != nil {
		return f, err
	}
	after, err := componentTimes(s)
	if err != nil {
		return f, err
	}
	f.Components = map[string]time.Duration{}
	for name, spent := range after {
		f.Components[name] = spent - before[name]
	}
	f.Nodes = s.Watch.Tally().Groups[group.Name].Ever
	if f.Divergence, err = divergence(ctx, s); err != nil {
		return f, err
	}

	// 3. The control plane alone, on the same nodes.
	f.Alone, f.ForeignToo, err = again(ctx, s)
	return f, err
}

// again places the pods once more, without Plimsoll, and says how long that took, and which
// share of the machine other programs had meanwhile.
func again(ctx context.Context, s *stage.Stage) (took time.Duration, foreign float64, err error) {
	if _, err := s.Cluster.Processes().End(autoscaler.Name); err != nil {
		return 0, 0, err
	}
	if err := s.Scale(ctx, workload, 0); err != nil {
		return 0, 0, err
	}
	err = wait(ctx, s, growthLimit, "the pods of the first pass are gone", func(t stage.Tally) bool {
		return t.Pods().All == 0
	})
	if err != nil {
		return 0, 0, err
	}
	busy, err := startForeign(s)
	if err != nil {
		return 0, 0, err
	}
	if took, err = scaleUntilBound(ctx, s, growthPods); err != nil {
		return took, 0, err
	}
	foreign, err = busy.share(s)
	return took, foreign, err
}

// scaleUntilBound scales the workload and returns how long it took until every
// pod had a node.
func scaleUntilBound(ctx context.Context, s *stage.Stage, pods int) (time.Duration, error) {
	began := time.Now()
	if err := s.Scale(ctx, workload, pods); err != nil {
		return 0, err
	}
	err := wait(ctx, s, growthLimit, fmt.Sprintf("%d pods are bound", pods), func(t stage.Tally) bool {
		return t.Workloads[workload].Bound == pods
	})
	return time.Since(began), err
}

func open(ctx context.Context, log *slog.Logger) (*stage.Stage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	return stage.Open(ctx, log)
}

func start(ctx context.Context, s *stage.Stage, plimsoll string, groups []stage.Group, flags ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	return s.Autoscale(ctx, plimsoll, groups, flags...)
}

// wait waits within a limit; a process that dies ends it at once.
func wait(ctx context.Context, s *stage.Stage, limit time.Duration, what string, done func(stage.Tally) bool) error {
	ctx, release := s.Guard(ctx)
	defer release()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the limit of %s is over", limit))
	defer cancel()
	return s.Watch.Wait(ctx, what, done)
}

func processCost(s *stage.Stage, name string) (Cost, error) {
	pid, err := s.PID(name)
	if err != nil {
		return Cost{}, err
	}
	return costOf(pid)
}

// componentTimes are the processor times of whatever runs on the stage.
func componentTimes(s *stage.Stage) (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	for _, status := range s.Cluster.Processes().Processes() {
		if !status.Running {
			continue
		}
		cost, err := costOf(status.PID)
		if err != nil {
			return nil, err
		}
		times[status.Name] = cost.CPU
	}
	return times, nil
}
