package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	motivePods = 5000
	motiveApps = 30
	appTaint   = "rehearse.plimsoll.dev/app"
)

var zones = []string{"a", "b", "c"}

// MotiveFigures are those of a Deployment that goes from 1 to 5,000 pods in a
// cluster with many isolated groups beside it.
type MotiveFigures struct {
	Groups     int
	Pods       int
	Nodes      int           // bought for them
	Bound      time.Duration // from the scale command until every pod had a node
	Plimsoll   Cost          // from its start until then
	Growing    time.Duration // Plimsoll's processor time while they were bound
	Divergence int
	Foreign    float64 // share of the machine that other programs took meanwhile
}

// motiveCluster is 30 apps, each alone on tainted groups of its own in three
// zones, one pod and node in each; and three groups for everybody.
func motiveCluster() ([]stage.Group, []stage.Workload) {
	var groups []stage.Group
	var workloads []stage.Workload
	for app := range motiveApps {
		name := fmt.Sprintf("app-%02d", app)
		taint := corev1.Taint{Key: appTaint + "-" + name, Value: "only", Effect: corev1.TaintEffectNoSchedule}
		for _, zone := range zones {
			group := stage.Group{
				Name: name + "-" + zone, Zone: zone, CPU: "4", Memory: "16Gi", Max: 100, Taints: []corev1.Taint{taint},
			}
			groups = append(groups, group)
			workloads = append(workloads, stage.Workload{
				Name: group.Name, Replicas: 1, CPU: "2", Memory: "4Gi",
				Selector: map[string]string{stage.GroupLabel: group.Name}, Tolerates: taint.Key,
			})
		}
	}
	for _, zone := range zones {
		groups = append(groups, stage.Group{Name: "shared-" + zone, Zone: zone, CPU: "12", Memory: "31Gi", Max: 500})
	}
	return groups, workloads
}

// Motive measures a Deployment's way from 1 to 5,000 pods of one core and 2 GiB.
func Motive(ctx context.Context, plimsoll string, log *slog.Logger) (f MotiveFigures, err error) {
	groups, apps := motiveCluster()
	f.Groups, f.Pods = len(groups), motivePods
	s, err := open(ctx, log)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(s.WithLog(err), s.Close()) }()

	// 1. The apps, and the first pod.
	if err := start(ctx, s, plimsoll, groups); err != nil {
		return f, err
	}
	first := stage.Workload{Name: workload, Replicas: 1, CPU: "1", Memory: "2Gi"}
	if err := s.Create(ctx, append(apps, first)...); err != nil {
		return f, err
	}
	err = wait(ctx, s, growthLimit, "every app runs in each of its zones", func(t stage.Tally) bool {
		return t.Pods().Running == len(apps)+1
	})
	if err != nil {
		return f, err
	}
	nodes := s.Watch.Tally().Nodes().Ever
	before, err := processCost(s, autoscaler.Name)
	if err != nil {
		return f, err
	}

	// 2. From 1 to 5,000.
	busy, err := startForeign(s)
	if err != nil {
		return f, err
	}
	if f.Bound, err = scaleUntilBound(ctx, s, motivePods); err != nil {
		return f, err
	}
	if f.Plimsoll, err = processCost(s, autoscaler.Name); err != nil {
		return f, err
	}
	if f.Foreign, err = busy.share(s); err != nil {
		return f, err
	}
	f.Growing = f.Plimsoll.CPU - before.CPU
	f.Nodes = s.Watch.Tally().Nodes().Ever - nodes
	f.Divergence, err = divergence(ctx, s)
	return f, err
}
