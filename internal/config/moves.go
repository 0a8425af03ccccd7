package config

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
)

// moves binds the flags that say which nodes are worth replacing.
func (f *Flags) moves() {
	m := &f.config.Policy.Moves
	f.consolidation = m.Consolidation.String()
	f.section("Consolidation", func(s *pflag.FlagSet) {
		s.StringVar(&f.consolidation, "consolidation", f.consolidation,
			"which nodes go: WhenEmpty, nodes without pods of their own; WhenUnneeded, also little used ones whose pods have "+
				"room elsewhere; WhenCheaper, also nodes whose pods have room on cheaper nodes, which are bought first")
		s.Float64Var(&m.MinSavingsPerHour, "min-savings-per-hour", m.MinSavingsPerHour,
			"a move to cheaper nodes must save at least this amount per hour, in the currency of the prices")
		s.Float64Var(&m.MinSavingsShare, "min-savings-share", m.MinSavingsShare,
			"a move must save at least this share of what its nodes cost, 0 to 1")
		s.Float64Var(&m.MinSavingsPerDisruption, "min-savings-per-disruption", m.MinSavingsPerDisruption,
			"a move must save at least this amount per hour for each node that it removes and each pod that it evicts; "+
				"a pod of high priority counts as up to 10")
		s.DurationVar(&m.Stay, "move-stay", m.Stay,
			"how long other moves leave the nodes of a move alone after its end")
		s.DurationVar(&m.Patience, "move-patience", m.Patience,
			"a move is given up when none of its old nodes has been removed for this long; those that are left stay")
		s.BoolVar(&m.Return, "return-to-preferred", m.Return,
			"replace nodes of groups that come behind in the priorities by nodes of preferred ones, when these can grow again; "+
				"needs priority as the first expander")
		s.DurationVar(&m.ExpireAfter, "replace-after", m.ExpireAfter,
			"how old a node may get before it is replaced by a new one, which is bought first; 0: no limit")
		s.DurationVar(&m.UnreadyAfter, "replace-unready-after", m.UnreadyAfter,
			"how long a node may be not ready before it is replaced by a new one, which is bought first; 0: "+
				"no limit")
		s.BoolVar(&m.Drifted, "replace-drifted", m.Drifted,
			"replace nodes that differ from what their group makes now by new ones, which are bought first")
		s.StringSliceVar(&m.Unsound, "replace-conditions", m.Unsound,
			"types of node conditions; a node with a true one is replaced by a new node, which is bought first")
		s.StringSliceVar(&m.Interrupted, "replace-interrupted", m.Interrupted,
			"keys of taints and annotations of nodes, and types of conditions, by which the cloud says that it is about to "+
				"take a machine; such a node is replaced at once")
		s.StringSliceVar(&m.Maintained, "maintenance-conditions", m.Maintained,
			"types of node conditions and keys of taints, such as MaintenancePlanned; of the nodes that could go, one that has "+
				"one goes first")
		s.Float64Var(&m.InterruptionWeight, "interruption-weight", m.InterruptionWeight,
			"a move must save this share of the price of the spot nodes that come for it beside all else, since the cloud "+
				"may take them; 0: they count as others do")
		s.IntVar(&m.MaxInterruptions, "max-interruptions", m.MaxInterruptions,
			"a group of which so many nodes were interrupted within --interruption-span is bought from last, and not for "+
				"cheaper nodes; 0: no number is too many")
		s.DurationVar(&m.InterruptionSpan, "interruption-span", m.InterruptionSpan,
			"how long an interruption counts for --max-interruptions")
	}, "consolidation", "min-savings-share")
}

func (f *Flags) checkMoves(m *model.MovePolicy, wrong func(flag, format string, args ...any)) {
	if kind, ok := policy.ConsolidationNamed(f.consolidation); ok {
		m.Consolidation = kind
	} else {
		wrong("consolidation", "%q is none of WhenEmpty, WhenUnneeded, WhenCheaper", f.consolidation)
	}
	for flag, x := range map[string]float64{
		"min-savings-per-hour": m.MinSavingsPerHour, "min-savings-share": m.MinSavingsShare,
		"min-savings-per-disruption": m.MinSavingsPerDisruption, "interruption-weight": m.InterruptionWeight,
	} {
		if !(x >= 0) || math.IsInf(x, 1) {
			wrong(flag, "%s is no amount", fmt.Sprint(x))
		}
	}
	if m.MinSavingsShare > 1 {
		wrong("min-savings-share", "%v is above 1, which is all that the nodes cost", m.MinSavingsShare)
	}
	for flag, after := range map[string]time.Duration{
		"replace-after": m.ExpireAfter, "replace-unready-after": m.UnreadyAfter,
	} {
		if after != 0 && after < time.Minute {
			wrong(flag, "%s is below 1m, and not 0", after)
		}
	}
	if slices.Contains(m.Unsound, string(corev1.NodeReady)) {
		wrong("replace-conditions", "%s is true of nodes that are well", corev1.NodeReady)
	}
	if slices.Contains(m.Interrupted, string(corev1.NodeReady)) {
		wrong("replace-interrupted", "%s is true of nodes that are well", corev1.NodeReady)
	}
	if slices.Contains(m.Maintained, string(corev1.NodeReady)) {
		wrong("maintenance-conditions", "%s is true of nodes that are well", corev1.NodeReady)
	}
	if m.MaxInterruptions < 0 {
		wrong("max-interruptions", "%d is below 0", m.MaxInterruptions)
	}
	if m.InterruptionSpan <= 0 {
		wrong("interruption-span", "%s must be above 0", m.InterruptionSpan)
	}
	if m.Stay < 0 {
		wrong("move-stay", "%s is below 0", m.Stay)
	}
	if m.Patience <= 0 {
		wrong("move-patience", "%s must be above 0: pods take a while to leave", m.Patience)
	}
}
