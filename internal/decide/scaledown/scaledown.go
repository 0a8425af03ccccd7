// Package scaledown decides which nodes go, and says for every other what
// holds it.
//
// What flows in: a snapshot, and which nodes pending pods were placed on. What
// flows out: nodes that nothing needs, those whose removal starts now, and a
// verdict for each node that stays. Nodes that are not ready become unneeded as
// others do, and wait longer.
//
// This is its first form: only nodes without pods of their own go. Nodes whose
// pods could live elsewhere are kept with the verdict NotUnderutilized.
//
// Who may import it: decide.
package scaledown

import (
	"fmt"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// AnnotationDisabled on a node keeps it.
const AnnotationDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// Result is what was decided.
type Result struct {
	Unneeded []model.NodeVerdict
	Kept     []model.NodeVerdict
	// Start are the nodes whose removal begins now.
	Start []model.NodeID
	// Wake is the earliest instant at which time alone would change this.
	Wake time.Time
}

// Plan decides on removals. Reserved are the nodes that pending pods were
// placed on.
//
// Closed are the groups, by index, that something else is done to in the same
// plan.
func Plan(s *model.Snapshot, reserved map[model.NodeID]bool, policy model.Policy, closed map[int]model.Verdict) Result {
	b := newBudget(s, policy, closed)
	r := Result{Kept: make([]model.NodeVerdict, 0, len(s.Nodes))}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind == model.Coming {
			continue
		}
		v := model.NodeVerdict{Node: n.Name}
		if n.Group >= 0 {
			v.Group = s.Groups[n.Group].ID
		}
		// 1. Is it needed?
		if why := needed(n, reserved[model.NodeID(i)], policy.ScaleDown); why != nil {
			v.Verdict = *why
			r.Kept = append(r.Kept, v)
			continue
		}
		// 2. It is not. May it go now?
		since := n.Standing.UnneededSince
		if since.IsZero() {
			since = s.Now
		}
		why := b.held(s, n, since)
		if why == nil {
			b.take(s, n)
			r.Start = append(r.Start, model.NodeID(i))
			why = &model.Verdict{Reason: model.Unneeded, Detail: empty(n)}
		}
		v.Verdict = *why
		v.Since = since
		r.Unneeded = append(r.Unneeded, v)
		if !why.Until.IsZero() && (r.Wake.IsZero() || why.Until.Before(r.Wake)) {
			r.Wake = why.Until
		}
	}
	return r
}

// empty says what an unneeded node is.
func empty(n *model.Node) string {
	if n.Kind == model.Unready {
		return "not ready, and empty"
	}
	return "empty"
}

// unready says what keeps a node that is not ready from being unneeded for that;
// nil if nothing does.
func unready(n *model.Node, p model.ScaleDownPolicy) *model.Verdict {
	switch {
	case n.State != model.StateUnready && n.State != model.StateNeverStarted:
		return &model.Verdict{Reason: model.NotReady, Detail: string(n.State)}
	case !p.UnreadyEnabled:
		return &model.Verdict{Reason: model.NotReady, Detail: model.UnreadyWhy(n.Object), Fix: "--scale-down-unready-enabled"}
	}
	return nil
}

// needed says what a node is kept for, nil if for nothing.
func needed(n *model.Node, reserved bool, p model.ScaleDownPolicy) *model.Verdict {
	switch {
	case n.Unknown:
		return &model.Verdict{Reason: model.NodeWithoutKnownInstance, Detail: "it is younger than the last read of the cloud", Fix: "the next read"}
	case n.Group < 0:
		return &model.Verdict{Reason: model.NotAutoscaled, Detail: "no node group has it"}
	case n.Kind == model.Leaving:
		return &model.Verdict{Reason: model.CurrentlyBeingDeleted}
	case n.Kind == model.Booting:
		return &model.Verdict{Reason: model.NotReady, Detail: n.Kind.String(), Until: n.BootsUntil}
	case n.Standing.AwaitVersion != "":
		return &model.Verdict{Reason: model.ResourceVersionNotYetSeen}
	}
	if n.Kind == model.Unready {
		if v := unready(n, p); v != nil {
			return v
		}
	}
	if n.Occupants > 0 {
		return &model.Verdict{Reason: model.NotEmpty, Detail: strconv.Itoa(n.Occupants) + " pods, " + n.FirstOccupant + " among them", Fix: "it has no pods of its own"}
	}
	if reserved {
		return &model.Verdict{Reason: model.Reserved, Detail: "pending pods fit there", Fix: "they are bound elsewhere"}
	}
	if n.Object.Annotations[AnnotationDisabled] == "true" {
		return &model.Verdict{Reason: model.ScaleDownDisabled, Fix: "without the annotation " + AnnotationDisabled}
	}
	if n.InstanceHold != "" {
		return &model.Verdict{Reason: model.InstanceHeld, Detail: n.InstanceHold}
	}
	return nil
}

// budget is what removals may still use. It is counted down as they are
// decided, so that the limits hold for all of them together.
type budget struct {
	policy   model.Policy
	closed   map[int]model.Verdict
	groups   []int
	pools    map[provider.PoolID]int
	parallel int
	cores    int64 // thousandths above the minimum
	memory   int64
	cooldown *model.Verdict
	stale    *model.Verdict
}

func newBudget(s *model.Snapshot, policy model.Policy, closed map[int]model.Verdict) *budget {
	p := policy.ScaleDown
	b := &budget{policy: policy, closed: closed, groups: make([]int, len(s.Groups)), pools: map[provider.PoolID]int{}, parallel: p.MaxParallelism}
	for _, pool := range s.Pools {
		b.pools[pool.ID] = -pool.Min
	}
	for i := range s.Groups {
		b.groups[i] = s.Groups[i].Expected - s.Groups[i].Min
		if _, ok := b.pools[s.Groups[i].Pool]; ok {
			b.pools[s.Groups[i].Pool] += s.Groups[i].Expected
		}
	}
	b.cores, b.memory = -p.MinCoresTotal*1000, -p.MinMemoryTotal
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind == model.Leaving {
			if n.Standing.Drain != nil {
				b.parallel--
			}
			b.leave(s, n)
			continue
		}
		c := s.Contents.Shapes[n.Shape].Capacity
		b.cores += c.MilliCPU
		b.memory += c.Memory
	}
	b.cooldown = cooldown(s, p)
	if policy.Stale(s) {
		b.stale = &model.Verdict{Reason: model.StaleInventory, Since: s.AsOf, Detail: s.InventoryErr, Fix: "the cloud answers again"}
	}
	return b
}

// leave counts a node that is on its way out against its group's minimum,
// while the target still has it.
func (b *budget) leave(s *model.Snapshot, n *model.Node) {
	if d := n.Standing.Drain; n.Group < 0 || (d != nil && d.Stage == model.Removed) {
		return
	}
	g := &s.Groups[n.Group]
	for i := range g.Instances {
		if in := &g.Instances[i]; in.ID == n.Instance && (in.State != provider.Deleting || removing(n)) {
			b.groups[n.Group]--
			if _, ok := b.pools[g.Pool]; ok {
				b.pools[g.Pool]--
			}
		}
	}
}

// removing tells whether our removal of the node is under way: until it has ended
// the target still counts it, whatever the cloud shows.
func removing(n *model.Node) bool {
	return n.Standing.Drain != nil && n.Standing.Drain.Stage == model.Removing
}

func cooldown(s *model.Snapshot, p model.ScaleDownPolicy) *model.Verdict {
	if !p.Enabled {
		return &model.Verdict{Reason: model.ScaleDownOff, Fix: "--scale-down-enabled"}
	}
	for _, c := range []struct {
		what  string
		since time.Time
		delay time.Duration
	}{
		{"growth", s.LastGrowth, p.DelayAfterAdd},
		{"removal", s.LastRemoval, p.DelayAfterDelete},
		{"failed removal", s.LastFailure, p.DelayAfterFailure},
	} {
		if until := c.since.Add(c.delay); !c.since.IsZero() && until.After(s.Now) {
			return &model.Verdict{Reason: model.Cooldown, Detail: fmt.Sprintf("%s after the last %s", c.delay, c.what), Until: until}
		}
	}
	return nil
}

// held says what keeps an unneeded node for now, nil if nothing does.
func (b *budget) held(s *model.Snapshot, n *model.Node, since time.Time) *model.Verdict {
	g := &s.Groups[n.Group]
	since, wait := b.clock(g, n, since)
	if b.stale != nil {
		return b.stale
	}
	if b.cooldown != nil && b.cooldown.Reason == model.ScaleDownOff {
		return b.cooldown
	}
	if until := since.Add(wait); until.After(s.Now) {
		return &model.Verdict{Reason: model.NotUnneededLongEnough, Detail: fmt.Sprintf("%s of %s", s.Now.Sub(since).Round(time.Second), wait), Until: until}
	}
	if b.cooldown != nil {
		return b.cooldown
	}
	if v, ok := b.closed[n.Group]; ok {
		return &v
	}
	if over := g.ReadyNodes + g.BootingNodes + g.UnreadyNodes - g.Expected; n.Kind == model.Unready && over > 0 {
		return &model.Verdict{Reason: model.TargetNotReached, Detail: fmt.Sprintf("its group wants %d nodes, and has %d more", g.Expected, over), Fix: "they go"}
	}
	if n.Kind == model.Unready && (g.Missing > 0 || g.ComingNodes > 0) {
		return &model.Verdict{Reason: model.TargetNotReached, Detail: fmt.Sprintf("its group wants %d nodes, and %d are missing", g.Expected, max(g.Missing, g.ComingNodes)),
			Fix: "they arrive, or are given up"}
	}
	if g.Err != nil {
		return &model.Verdict{Reason: model.GroupUnreadable, Detail: g.Err.Error(), Fix: "the group can be read again"}
	}
	for _, h := range g.Holds {
		if h.Op == provider.OpRemove && (h.Until.IsZero() || h.Until.After(s.Now)) {
			return &model.Verdict{Reason: model.GroupHeld, Detail: h.Reason + ": " + h.Message, Since: h.Since, Until: h.Until}
		}
	}
	if g.AllOrNothing {
		return &model.Verdict{Reason: model.AllOrNothing, Detail: "the group goes as a whole or not at all"}
	}
	if b.groups[n.Group] <= 0 {
		return &model.Verdict{Reason: model.GroupAtMin, Detail: fmt.Sprintf("min %d", g.Min), Fix: "a lower minimum"}
	}
	if left, ok := b.pools[g.Pool]; ok && left <= 0 {
		return &model.Verdict{Reason: model.PoolAtMin, Detail: fmt.Sprintf("pool %s", g.Pool), Fix: "a lower minimum of the pool"}
	}
	c := s.Contents.Shapes[n.Shape].Capacity
	if b.cores < c.MilliCPU || b.memory < c.Memory {
		return &model.Verdict{Reason: model.MinimalResourceLimit, Detail: fmt.Sprintf("the cluster would have less than --cores-total's %d or --memory-total's minimum", b.policy.ScaleDown.MinCoresTotal)}
	}
	if b.parallel <= 0 {
		return &model.Verdict{Reason: model.MaxParallelismReached, Detail: fmt.Sprintf("%d at a time", b.policy.ScaleDown.MaxParallelism), Fix: "a removal's end"}
	}
	return nil
}

// clock is since when an unneeded node's time runs, and how long it must. That
// of a node that is not ready begins when it stopped to be.
func (b *budget) clock(g *model.Group, n *model.Node, since time.Time) (time.Time, time.Duration) {
	if n.Kind == model.Unready {
		wait := b.policy.ScaleDown.UnreadyTime
		if t := g.Options.ScaleDownUnreadyTime; t != nil {
			wait = *t
		}
		if t := model.UnreadySince(n.Object); t.After(since) {
			since = t
		}
		return since, wait
	}
	wait := b.policy.ScaleDown.UnneededTime
	if t := g.Options.ScaleDownUnneededTime; t != nil {
		wait = *t
	}
	return since, wait
}

func (b *budget) take(s *model.Snapshot, n *model.Node) {
	b.groups[n.Group]--
	if _, ok := b.pools[s.Groups[n.Group].Pool]; ok {
		b.pools[s.Groups[n.Group].Pool]--
	}
	c := s.Contents.Shapes[n.Shape].Capacity
	b.cores -= c.MilliCPU
	b.memory -= c.Memory
	b.parallel--
}
