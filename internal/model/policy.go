package model

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
)

// Policy is what the operator wants, as far as deciding goes. It comes from
// flags; every field has its default in package config.
type Policy struct {
	Rules     Rules
	ScaleUp   ScaleUpPolicy
	ScaleDown ScaleDownPolicy
	Moves     MovePolicy
	Repair    RepairPolicy
	// Groups is what is otherwise for some groups.
	Groups policy.Set
	// Budgets bound how many nodes go, beside MaxParallelism and MaxDrains.
	Budgets []budget.Budget
	// Disallowed are classes, by key, of which the scheduler's plugins did not allow what a plan had found, and what they
	// said. They alone say where pods of these may go. It is what the process has learned, and no operator's wish.
	Disallowed map[string]string
	// Steps are what one cycle's decision may take, as Share has parted them.
	Steps int
	// InventoryMaxAge: with an older inventory nothing is written to the cloud.
	InventoryMaxAge time.Duration
	// InventoryNotBefore: nor with one that began before this instant, when this process
	// became the leader. An older one may lack the last writes of the leader before, or
	// those of the provider's start.
	InventoryNotBefore time.Time
	// CallDeadline is how long one call may take.
	CallDeadline time.Duration
}

// StepsPerSecond is how many steps a machine takes in a second, where that was not measured.
const StepsPerSecond = 200_000

// hostsPerStep is how many nodes the search for unneeded ones looks at in the time of one step.
const hostsPerStep = 16

// Share parts the steps that one cycle's decision may take. Three quarters are for scale-up, and a tenth of that more
// for its words. Three sixteenths are for each search for room for the pods of nodes that go, of which there are four
// at most, and a sixteenth is for moves. So all together stay below twice the steps, whatever each of them meets.
func (p *Policy) Share(steps int) {
	p.Steps = steps
	p.ScaleUp.SpreadStepLimit = max(1, steps/4*3)
	p.ScaleDown.StepLimit = max(1, steps/16*3*hostsPerStep)
	p.Moves.StepLimit = max(1, steps/16)
}

// ScaleUpPolicy bounds and steers scale-ups. A limit of 0 means none.
type ScaleUpPolicy struct {
	MaxNodesTotal      int
	MaxCoresTotal      int64 // cores
	MaxMemoryTotal     int64 // bytes
	MaxNodesPerScaleUp int
	// Expanders are applied in order: each narrows the choice that the one
	// before it left. What remains after the last is settled by the group's id,
	// or by the seed if AtRandom is among them.
	Expanders []Expander
	// BalanceSimilar spreads a scale-up over groups that are similar.
	BalanceSimilar bool
	BalanceIgnore  []string // label keys that do not count in that
	BalanceLabels  []string // if set: only these label keys count
	MemoryRatio    float64  // how far capacity in memory may differ
	FreeRatio      float64  // how far what DaemonSets leave may differ
	AllocRatio     float64  // how far allocatable may differ
	ScaleFromZero  bool
	EnforceMin     bool // groups grow to their minimum, whether or not pods need it
	NewPodDelay    time.Duration
	Bypassed       []string // schedulers whose refusal is not waited for
	Allowed        []string // schedulers whose pods count; empty: all
	// SpreadStepLimit is how many steps one cycle's decision on scale-up may take.
	SpreadStepLimit int
}

// RepairPolicy says what is done about what does not arrive.
type RepairPolicy struct {
	// ForceUnregistered and ForceFailed let instances that never registered, or
	// that the cloud could not make, be removed below their group's minimum.
	ForceUnregistered, ForceFailed bool
	// WholeCycle: while any group is resized to what it has, nothing else is
	// bought or removed; otherwise only in that group.
	WholeCycle bool
}

// ScaleDownPolicy bounds and steers removal.
type ScaleDownPolicy struct {
	Enabled      bool
	UnneededTime time.Duration
	// UnreadyEnabled lets nodes that are not ready go, after UnreadyTime.
	UnreadyEnabled    bool
	UnreadyTime       time.Duration
	DelayAfterAdd     time.Duration
	DelayAfterDelete  time.Duration
	DelayAfterFailure time.Duration
	// LocalDelays: the delays after a scale-up, a removal and a failed removal hold only
	// the group in which it happened.
	LocalDelays bool
	// MaxParallelism bounds the nodes on their way out at once, and MaxDrains
	// those of them that had pods of their own.
	MaxParallelism int
	MaxDrains      int
	// A node is a candidate when the largest share of its CPU and memory that pods
	// request is below Threshold (0 to 1), on nodes of an accelerator the share of
	// those below GPUThreshold. Pods of DaemonSets and static ones may be left out.
	Threshold, GPUThreshold     float64
	IgnoreDaemons, IgnoreMirror bool
	Drain                       DrainPolicy
	// SoftTaints is how many nodes one cycle marks, or unmarks, as candidates; 0:
	// none is marked.
	SoftTaints int
	// StepLimit is how many nodes one search for room for the pods of unneeded nodes may look at; one that the
	// scheduler's filters are shown counts as one more.
	StepLimit int
	// Annotate writes on nodes what keeps them.
	Annotate       bool
	DeleteDelay    time.Duration // between the taint and the last look
	MinCoresTotal  int64
	MinMemoryTotal int64
}

// Prefers reports whether the priorities are what decides first which group grows.
func (p *ScaleUpPolicy) Prefers() bool { return len(p.Expanders) > 0 && p.Expanders[0] == ByPriority }

// MovePolicy says which nodes go beside those that nothing needs, what a move must be worth, and how long one may
// take. Of says what counts for one group.
type MovePolicy struct {
	Consolidation policy.Consolidation
	// A move must save at least so much: by the hour in the currency of the prices, of what its nodes cost
	// (0 to 1), and by the hour for each pod that it evicts.
	MinSavingsPerHour, MinSavingsShare, MinSavingsPerDisruption float64
	// Stay is how long the nodes of a move are left alone by other moves when it is over.
	Stay time.Duration
	// Patience is how long the nodes that go may take, from one to the next.
	Patience time.Duration
	// Return: nodes are replaced by those of groups that the priorities prefer, when these can grow again.
	Return bool
	// ExpireAfter is how old a node may get before it is replaced; zero: no limit. Drifted: nodes are
	// replaced that are not what their group makes now. Unsound are types of conditions; a node is replaced
	// while one of them is true.
	ExpireAfter time.Duration
	Drifted     bool
	Unsound     []string
	// UnreadyAfter is how long a node may be not ready before it is replaced; zero: as long as its pods stay.
	UnreadyAfter time.Duration
	// Interrupted are keys of taints and annotations, and types of conditions, by which the cloud says that it is about
	// to take the machine of a node.
	Interrupted []string
	// MaxInterruptions is how many nodes of a group may be interrupted within InterruptionSpan: with as many, other
	// groups are bought from first. Zero: any number.
	MaxInterruptions int
	InterruptionSpan time.Duration
	// InterruptionWeight is what a move to spot capacity must save beside all else, as a share of the price of what
	// comes. It is of the group that is bought from.
	InterruptionWeight float64
	// Maintained are types of conditions and keys of taints by which a node says that it is about to be maintained, or
	// is: it is the first to go of those that could.
	Maintained []string
	// StepLimit is how many steps one cycle's search for moves may take.
	StepLimit int
}

// DrainPolicy says which pods may be moved, and how.
type DrainPolicy struct {
	// SkipSystem keeps nodes with pods of kube-system that no budget covers, until
	// SystemTimeout after such a pod came to be. SkipLocal keeps nodes with pods
	// that have storage on the node, SkipCustom those with pods of controllers
	// that are not known to replace them.
	SkipSystem    bool
	SystemTimeout time.Duration
	SkipLocal     bool
	SkipCustom    bool
	// MinReplicas: pods of controllers with fewer pods are not moved.
	MinReplicas int
	// Cordon makes a node unschedulable before its pods are evicted.
	Cordon bool
	// EvictDaemons and EvictDaemonsEmpty: pods of DaemonSets are evicted from nodes
	// that had pods of their own, and from those that had none.
	EvictDaemons, EvictDaemonsEmpty bool
	// MaxGrace is how long a pod may take to end at most. Levels, if there are any,
	// say so by priority instead, and pods leave level by level, the lowest first.
	MaxGrace time.Duration
	Levels   []DrainLevel
	// EvictionTime is how long evictions may be refused before the removal is rolled back.
	EvictionTime time.Duration
	// DelayTimeout is how long annotations on a node may delay its end.
	DelayTimeout time.Duration
	// ReplacementTime is how long the pod that comes for an evicted one may wait
	// for a node before the drain is given up.
	ReplacementTime time.Duration
}

// DrainLevel is the pods of at least a priority, up to the next level's.
type DrainLevel struct {
	Priority int32
	Grace    time.Duration
}

// LevelOf is the highest level that a priority reaches, the lowest if it reaches none.
func (p *DrainPolicy) LevelOf(priority int32) int {
	at := 0
	for i, l := range p.Levels {
		if priority >= l.Priority {
			at = i
		}
	}
	return at
}

// Most is how long a pod of a priority may take to end.
func (p *DrainPolicy) Most(priority int32) time.Duration {
	if len(p.Levels) > 0 {
		return p.Levels[p.LevelOf(priority)].Grace
	}
	return p.MaxGrace
}

// Stale reports whether an inventory is too old for writes to the cloud (rule L10).
func (p Policy) Stale(now, asOf time.Time) bool {
	return asOf.Before(p.InventoryNotBefore) || (p.InventoryMaxAge > 0 && now.Sub(asOf) > p.InventoryMaxAge)
}
