package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flags are what the operator said. They come from the command line, and the defaults are those that
// users know: this file states them on its own, and takes none from the product.
type Flags struct {
	// Start is when the history begins: what breaches say is counted from it.
	Start time.Time
	// Seed is the world's, for breaches.
	Seed uint64

	ScanInterval, CallDeadline, InventoryMaxAge        time.Duration
	UnneededTime, UnreadyTime                          time.Duration
	DelayAfterAdd, DelayAfterDelete, DelayAfterFailure time.Duration
	DelayTypeLocal                                     bool
	UtilizationThreshold                               float64
	ProvisionTime, StartupTime                         time.Duration
	BackoffFirst, BackoffMost, BackoffReset            time.Duration
	MaxPodEvictionTime, MaxGraceful                    time.Duration
	MaxNodesTotal                                      int
	MaxCoresTotal, MaxMemoryTotal                      int64 // thousandths of cores, bytes; 0: none
	OkTotalUnready                                     int
	MaxUnreadyShare                                    float64
	ForceFailed, ForceUnregistered                     bool
	DecideSteps                                        int
	ExpendableBelow                                    int
	MaxDrains, MinReplicas                             int
	SystemTimeout                                      time.Duration
	SkipSystem, SkipLocal, SkipCustom                  bool
	EvictDaemons, EvictDaemonsEmpty                    bool
	ScaleDown, ScaleDownUnready                        bool
	// Cheaper: nodes may go for cheaper ones.
	Cheaper bool
	// Returns: nodes go for those of preferred groups.
	Returns bool
	// ReplaceAfter is how old nodes may get, 0: as old as they like.
	ReplaceAfter time.Duration
	// ReplaceUnready is how long nodes may be not ready, 0: as long as they like.
	ReplaceUnready time.Duration
	// Taken, Unsound, Drifted: nodes are replaced that say that the cloud is about to take their machine, or that
	// something is wrong with them, or that are not what their group makes now.
	Taken, Unsound, Drifted bool
	// MovePatience is how long the nodes of a move may take to go, from one to the next, and MoveStay how long pods that
	// were moved stay.
	MovePatience, MoveStay time.Duration
	Budget                 Budget
}

// ParseFlags reads a command line; flags that no rule is about are passed over.
func ParseFlags(words []string) (Flags, error) {
	var f Flags
	set := pflag.NewFlagSet("flags", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true
	for name, at := range map[string]struct {
		to      *time.Duration
		without time.Duration
	}{
		"scan-interval": {&f.ScanInterval, 10 * time.Second}, "call-deadline": {&f.CallDeadline, 2 * time.Minute},
		"inventory-max-age":                   {&f.InventoryMaxAge, 5 * time.Minute},
		"scale-down-unneeded-time":            {&f.UnneededTime, 10 * time.Minute},
		"scale-down-unready-time":             {&f.UnreadyTime, 20 * time.Minute},
		"scale-down-delay-after-add":          {&f.DelayAfterAdd, 10 * time.Minute},
		"scale-down-delay-after-delete":       {&f.DelayAfterDelete, 0},
		"scale-down-delay-after-failure":      {&f.DelayAfterFailure, 3 * time.Minute},
		"max-node-provision-time":             {&f.ProvisionTime, 15 * time.Minute},
		"max-node-startup-time":               {&f.StartupTime, 15 * time.Minute},
		"initial-node-group-backoff-duration": {&f.BackoffFirst, 5 * time.Minute},
		"max-node-group-backoff-duration":     {&f.BackoffMost, 30 * time.Minute},
		"node-group-backoff-reset-timeout":    {&f.BackoffReset, 3 * time.Hour},
		"max-pod-eviction-time":               {&f.MaxPodEvictionTime, 2 * time.Minute},

		"move-patience": {&f.MovePatience, time.Hour}, "move-stay": {&f.MoveStay, time.Hour},
		"replace-after": {&f.ReplaceAfter, 0}, "replace-unready-after": {&f.ReplaceUnready, 0},
		"blocking-system-pod-distruption-timeout": {&f.SystemTimeout, time.Hour},
	} {
		set.DurationVar(at.to, name, at.without, "")
	}
	for name, at := range map[string]struct {
		to      *bool
		without bool
	}{
		"scale-down-delay-type-local":     {&f.DelayTypeLocal, false},
		"force-delete-failed-nodes":       {&f.ForceFailed, false},
		"force-delete-unregistered-nodes": {&f.ForceUnregistered, false},
		"scale-down-enabled":              {&f.ScaleDown, true},
		"scale-down-unready-enabled":      {&f.ScaleDownUnready, true},
		"skip-nodes-with-system-pods":     {&f.SkipSystem, true},
		"skip-nodes-with-local-storage":   {&f.SkipLocal, true},
		"return-to-preferred":             {&f.Returns, false},
		"replace-drifted":                 {&f.Drifted, false},

		"skip-nodes-with-custom-controller-pods": {&f.SkipCustom, true},
		"daemonset-eviction-for-occupied-nodes":  {&f.EvictDaemons, true},
		"daemonset-eviction-for-empty-nodes":     {&f.EvictDaemonsEmpty, false},
	} {
		set.BoolVar(at.to, name, at.without, "")
	}
	set.IntVar(&f.MaxDrains, "max-drain-parallelism", 1, "")
	set.IntVar(&f.MinReplicas, "min-replica-count", 0, "")
	set.Float64Var(&f.UtilizationThreshold, "scale-down-utilization-threshold", 0.5, "")
	set.IntVar(&f.MaxNodesTotal, "max-nodes-total", 0, "")
	set.IntVar(&f.OkTotalUnready, "ok-total-unready-count", 3, "")
	set.IntVar(&f.DecideSteps, "decide-steps", 400_000, "")
	set.IntVar(&f.ExpendableBelow, "expendable-pods-priority-cutoff", -10, "")
	consolidation := set.String("consolidation", "", "")
	taken, unsound := set.String("replace-interrupted", "", ""), set.String("replace-conditions", "", "")
	share := set.Float64("max-total-unready-percentage", 45, "")
	graceful := set.Int("max-graceful-termination-sec", 600, "")
	levels := set.String("drain-priority-config", "", "")
	cores, memory := set.String("cores-total", "", ""), set.String("memory-total", "", "")
	if err := set.Parse(words); err != nil {
		return f, fmt.Errorf("read the flags %q: %w", words, err)
	}
	f.Cheaper, f.Taken, f.Unsound = *consolidation == "WhenCheaper", *taken != "", *unsound != ""
	f.MaxUnreadyShare, f.MaxGraceful = *share/100, time.Duration(*graceful)*time.Second
	for _, level := range strings.Split(*levels, ",") {
		if _, seconds, ok := strings.Cut(level, ":"); ok {
			n, err := strconv.Atoi(seconds)
			if err != nil {
				return f, fmt.Errorf("read --drain-priority-config: %w", err)
			}
			f.MaxGraceful = max(f.MaxGraceful, time.Duration(n)*time.Second)
		}
	}
	var err error
	if f.Budget, _, err = ParseBudget(words); err != nil {
		return f, err
	}
	if f.MaxCoresTotal, err = most("cores-total", *cores, 1000); err != nil {
		return f, err
	}
	f.MaxMemoryTotal, err = most("memory-total", *memory, 1<<30)
	return f, err
}

// moves reports whether nodes may go for others, which are bought first.
func (f *Flags) moves() bool {
	return f.Cheaper || f.Returns || f.ReplaceAfter > 0 || f.ReplaceUnready > 0 || f.Taken || f.Unsound || f.Drifted
}

// most is the maximum of a limit as min:max, 0 if there is none.
func most(name, text string, times int64) (int64, error) {
	_, upper, ok := strings.Cut(text, ":")
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(upper, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read --%s: %w", name, err)
	}
	return n * times, nil
}
