package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// scaleDown binds the flags that say which nodes go, and when.
func (f *Flags) scaleDown() {
	d := &f.config.Policy.ScaleDown
	f.section("Scale down", func(s *pflag.FlagSet) {
		s.BoolVar(&d.Enabled, "scale-down-enabled", d.Enabled, "remove unneeded nodes")
		s.DurationVar(&d.UnneededTime, "scale-down-unneeded-time", d.UnneededTime,
			"how long a node must be unneeded before it is removed")
		s.Float64Var(&d.Threshold, "scale-down-utilization-threshold", d.Threshold,
			"a node can be unneeded if its pods request less than this share of its CPU and of its "+
				"memory, 0 to 1: 0.5 is 50 %; above 1 every node counts as little used")
		s.Float64Var(&d.GPUThreshold, "scale-down-gpu-utilization-threshold", d.GPUThreshold,
			"the same for the accelerators of nodes that have some")
		s.BoolVar(&d.IgnoreDaemons, "ignore-daemonsets-utilization", d.IgnoreDaemons,
			"do not count pods of DaemonSets in a node's utilization")
		s.BoolVar(&d.IgnoreMirror, "ignore-mirror-pods-utilization", d.IgnoreMirror,
			"do not count static pods in a node's utilization")
		s.DurationVar(&d.DelayAfterAdd, "scale-down-delay-after-add", d.DelayAfterAdd,
			"how long after a scale-up no scale-down starts")
		s.DurationVar(&d.DelayAfterDelete, "scale-down-delay-after-delete", d.DelayAfterDelete,
			"how long after a node was removed no scale-down starts")
		s.DurationVar(&d.DelayAfterFailure, "scale-down-delay-after-failure", d.DelayAfterFailure,
			"how long after a failed scale-down no scale-down starts")
		s.BoolVar(&d.LocalDelays, "scale-down-delay-type-local", d.LocalDelays,
			"apply the delays --scale-down-delay-after-... to the group concerned only, not to the "+
				"whole cluster")
		s.IntVar(&d.MaxParallelism, "max-scale-down-parallelism", d.MaxParallelism,
			"maximum number of nodes being removed at once")
		s.IntVar(&d.MaxDrains, "max-drain-parallelism", d.MaxDrains,
			"maximum number of nodes being drained at once")
		s.BoolVar(&d.UnreadyEnabled, "scale-down-unready-enabled", d.UnreadyEnabled,
			"remove unready nodes that are unneeded")
		s.DurationVar(&d.UnreadyTime, "scale-down-unready-time", d.UnreadyTime,
			"how long an unready node must be unneeded before it is removed")
		s.DurationVar(&d.DeleteDelay, "node-delete-delay-after-taint", d.DeleteDelay,
			"time between the taint on a node and its removal")
		s.IntVar(&d.SoftTaints, "max-bulk-soft-taint-count", d.SoftTaints,
			"maximum number of nodes that one scan marks as candidates, or unmarks; 0: mark none")
		s.BoolVar(&d.Annotate, "annotate-nodes", d.Annotate,
			"write the reason why a node stays into its annotation "+model.AnnotationStays)
	}, "scale-down-enabled", "scale-down-unneeded-time", "scale-down-utilization-threshold", "scale-down-delay-after-add",
		"scale-down-delay-after-delete", "scale-down-delay-after-failure", "max-scale-down-parallelism",
		"max-drain-parallelism", "node-delete-delay-after-taint", "scale-down-unready-time", "annotate-nodes")
	f.drain()
}

// drain binds the flags that say which pods may be moved, and how.
func (f *Flags) drain() {
	d := &f.config.Policy.ScaleDown.Drain
	f.graceSeconds = int64(d.MaxGrace / time.Second)
	f.section("Pods of nodes that go", func(s *pflag.FlagSet) {
		s.BoolVar(&d.SkipSystem, "skip-nodes-with-system-pods", d.SkipSystem,
			"keep nodes with pods of kube-system that no PodDisruptionBudget covers")
		s.DurationVar(&d.SystemTimeout, systemTimeout, d.SystemTimeout,
			"a pod of kube-system without a disruption budget keeps its node only this long after it was made (--"+
				systemTimeoutToo+" is the same)")
		s.BoolVar(&d.SkipLocal, "skip-nodes-with-local-storage", d.SkipLocal,
			"keep nodes with pods that use local storage")
		s.BoolVar(&d.SkipCustom, "skip-nodes-with-custom-controller-pods", d.SkipCustom,
			"keep nodes with pods of controllers other than those of Kubernetes")
		s.IntVar(&d.MinReplicas, "min-replica-count", d.MinReplicas,
			"keep nodes with pods of controllers that have fewer pods than this")
		s.Int64Var(&f.graceSeconds, maxGrace, f.graceSeconds, "how many seconds a pod may take to end at most")
		s.Var(&f.levels, drainLevels, "how many seconds a pod may take to end, by its priority: priority:seconds, "+
			"comma-separated (10000:20,1000:100,0:60), instead of --"+maxGrace+"; pods of the lowest priority leave first")
		s.DurationVar(&d.EvictionTime, "max-pod-eviction-time", d.EvictionTime,
			"how long evictions on a node may be refused before its removal is rolled back")
		s.DurationVar(&d.ReplacementTime, "max-replacement-wait", d.ReplacementTime,
			"how long the replacement of an evicted pod may be pending before the removal is rolled back")
		s.BoolVar(&d.EvictDaemonsEmpty, "daemonset-eviction-for-empty-nodes", d.EvictDaemonsEmpty,
			"evict DaemonSet pods from nodes that have no other pods")
		s.BoolVar(&d.EvictDaemons, "daemonset-eviction-for-occupied-nodes", d.EvictDaemons,
			"evict DaemonSet pods from nodes that have other pods")
		s.BoolVar(&d.Cordon, "cordon-node-before-terminating", d.Cordon,
			"cordon a node before its pods are evicted")
		s.DurationVar(&d.DelayTimeout, "node-deletion-delay-timeout", d.DelayTimeout,
			"how long annotations "+model.PrefixDelayDeletion+"... may delay a node's end")
	}, "skip-nodes-with-system-pods", "skip-nodes-with-local-storage", maxGrace, drainLevels, "max-pod-eviction-time",
		"max-replacement-wait")
}

// Names of flags that are used in more than one place.
const (
	maxGrace    = "max-graceful-termination-sec"
	drainLevels = "drain-priority-config"
	// systemTimeout is spelled as the Cluster Autoscaler spells it.
	systemTimeout    = "blocking-system-pod-distruption-timeout"
	systemTimeoutToo = "blocking-system-pod-disruption-timeout"
)

// mostSeconds is the longest time that there is.
const mostSeconds = math.MaxInt64 / int64(time.Second)

// levels is the value of a flag of the form priority:seconds,...
type levels []model.DrainLevel

func (l *levels) String() string {
	parts := make([]string, len(*l))
	for i, level := range *l {
		parts[i] = fmt.Sprintf("%d:%d", level.Priority, level.Grace/time.Second)
	}
	return strings.Join(parts, ",")
}

// Type is what the help calls it.
func (l *levels) Type() string { return "levels" }

// Set reads the levels, and sorts them by priority. No text is no level.
func (l *levels) Set(s string) error {
	*l = nil
	if s == "" {
		return nil
	}
	var out levels
	for entry := range strings.SplitSeq(s, ",") {
		entry = strings.TrimSpace(entry)
		a, b, ok := strings.Cut(entry, ":")
		priority, err1 := strconv.ParseInt(a, 10, 32)
		seconds, err2 := strconv.ParseInt(b, 10, 64)
		switch {
		case !ok || err1 != nil || err2 != nil:
			return fmt.Errorf("%q is not of the form priority:seconds, two whole numbers", entry)
		case seconds < 0 || seconds > mostSeconds:
			return fmt.Errorf("%q: the seconds must be at least 0 and at most %d", entry, mostSeconds)
		case slices.ContainsFunc(out, func(d model.DrainLevel) bool { return int64(d.Priority) == priority }):
			return fmt.Errorf("%q: the priority %d is there twice", entry, priority)
		}
		out = append(out, model.DrainLevel{Priority: int32(priority), Grace: time.Duration(seconds) * time.Second})
	}
	slices.SortFunc(out, func(a, b model.DrainLevel) int { return cmp.Compare(a.Priority, b.Priority) })
	*l = out
	return nil
}

// checkScaleDown finds what is wrong with the flags of scale-down.
func (f *Flags) checkScaleDown(p *model.ScaleDownPolicy, wrong func(flag, format string, args ...any)) {
	for flag, share := range map[string]float64{
		"scale-down-utilization-threshold": p.Threshold, "scale-down-gpu-utilization-threshold": p.GPUThreshold,
	} {
		// Above 1 is a warning only: some want it, as with the Cluster Autoscaler.
		if !(share >= 0) || math.IsInf(share, 0) {
			wrong(flag, "%v is not a share of a node: 0.5 is half of it", share)
		}
	}
	for flag, n := range map[string]int{
		"max-scale-down-parallelism": p.MaxParallelism, "max-drain-parallelism": p.MaxDrains,
		"min-replica-count": p.Drain.MinReplicas, "max-bulk-soft-taint-count": p.SoftTaints,
	} {
		if n < 0 {
			wrong(flag, "%d is below 0", n)
		}
	}
	for flag, d := range map[string]time.Duration{
		"scale-down-unneeded-time": p.UnneededTime, "scale-down-unready-time": p.UnreadyTime,
		"scale-down-delay-after-add": p.DelayAfterAdd, "scale-down-delay-after-delete": p.DelayAfterDelete,
		"scale-down-delay-after-failure": p.DelayAfterFailure, "node-delete-delay-after-taint": p.DeleteDelay,
		systemTimeout: p.Drain.SystemTimeout, "max-pod-eviction-time": p.Drain.EvictionTime,
		"node-deletion-delay-timeout": p.Drain.DelayTimeout,
	} {
		if d < 0 {
			wrong(flag, "%s is below 0", d)
		}
	}
	if p.Drain.ReplacementTime <= 0 {
		wrong("max-replacement-wait", "%s must be above 0: every new pod waits for a moment", p.Drain.ReplacementTime)
	}
	if f.graceSeconds < 0 || f.graceSeconds > mostSeconds {
		wrong(maxGrace, "%d must be at least 0 and at most %d", f.graceSeconds, mostSeconds)
	}
	if len(f.levels) > 0 && f.set.Changed(maxGrace) {
		wrong(drainLevels, "it says how long pods may take to end, and cannot be used together with --%s", maxGrace)
	}
}
