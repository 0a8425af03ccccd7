package scaleup

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// limits is what growth may still use: of each group, each pool, and the
// cluster. It is counted down as the plan grows, so that the limits hold for
// the plan as a whole.
type limits struct {
	s      *model.Snapshot
	p      model.ScaleUpPolicy
	room   []int            // by group
	closed []*model.Verdict // by group: why it may not grow at all
	// last are the groups that come last, by group, and others: it is the turn of the others.
	last   []bool
	others bool
	pools  map[provider.PoolID]int
	shares []portion // by group
	trials map[int]trial
	pooled []pool.Pool
	nodes  int   // cluster-wide, and of this plan
	plan   int   // --max-nodes-per-scaleup
	milli  int64 // CPU
	memory int64
	have   model.Resources // what the cluster has, for the reasons
	count  int
}

// portion is what a group may still take of its pool; of a group in no pool anything.
type portion struct {
	left   int
	most   int // the group's maximum by the pool's sizing
	due    int // what the sizing gives it, which it may have passed
	sizing pool.Sizing
	// blocked: the group has left its share to the others, or keeps it in vain.
	blocked bool
}

func newLimits(s *model.Snapshot, p model.ScaleUpPolicy, access *gate.Gate) *limits {
	l := &limits{s: s, p: p, nodes: math.MaxInt, plan: math.MaxInt, milli: math.MaxInt64, memory: math.MaxInt64,
		pools: map[provider.PoolID]int{}}
	stands := make([]int, len(s.Groups)) // machines that are about to leave the target, whose nodes are still there
	for i := range s.Nodes {
		n := s.Nodes[i]
		l.have = l.have.Plus(s.Contents.Shapes[n.Shape].Capacity, 1)
		l.count++
		if d := n.Standing.Drain; n.Group >= 0 && d != nil && d.Stage == model.Removing &&
			!model.CountedByTarget(d, s.Groups[n.Group].InstanceNamed(n.Instance)) {
			stands[n.Group]++
		}
	}
	for i := range s.Groups {
		// What is given up may yet come, and counts while the target has it; so does what is about to leave the
		// target: the cloud may have put another in its place.
		given := s.Groups[i].GivenUp() + max(0, s.Groups[i].Ending-stands[i])
		l.count += given
		if given > 0 && s.Groups[i].HasTemplate {
			l.have = l.have.Plus(s.Contents.Shapes[s.Groups[i].Shape].Capacity, int64(given))
		}
		if !s.Groups[i].HasTemplate {
			l.count += s.Groups[i].ComingNodes
		}
	}
	if p.MaxNodesTotal > 0 {
		l.nodes = max(0, p.MaxNodesTotal-l.count)
	}
	if p.MaxNodesPerScaleUp > 0 {
		l.plan = p.MaxNodesPerScaleUp
	}
	if p.MaxCoresTotal > 0 {
		l.milli = max(0, p.MaxCoresTotal*1000-l.have.MilliCPU)
	}
	if p.MaxMemoryTotal > 0 {
		l.memory = max(0, p.MaxMemoryTotal-l.have.Memory)
	}
	for i := range s.Pools {
		l.pools[s.Pools[i].ID] = s.Pools[i].Max
	}
	l.room = make([]int, len(s.Groups))
	l.closed = make([]*model.Verdict, len(s.Groups))
	for i := range s.Groups {
		g := &s.Groups[i]
		l.room[i] = max(0, g.Max-g.Expected)
		if _, ok := l.pools[g.Pool]; ok {
			l.pools[g.Pool] -= g.Expected
		}
		l.shares = append(l.shares, portion{left: math.MaxInt})
		l.closed[i] = access.Closed(i, gate.Grow)
		tries := access.Tries(i)
		l.last = append(l.last, access.Distrusted(i) || tries)
		if tries {
			l.try(i, 1, model.NodeNeverStarted)
		}
	}
	l.pooled = pool.Of(s, access)
	for _, p := range l.pooled {
		for n, sh := range p.Shares() {
			l.shares[p.Groups[n]] = portion{
				left: sh.Max - p.Members[n].Target, most: sh.Max, due: sh.Due, sizing: p.Sizing, blocked: p.Members[n].Blocked,
			}
		}
	}
	return l
}

// most is how many nodes of the group may be added now.
func (l *limits) most(group int) int {
	if l.others && l.last[group] {
		return 0
	}
	return max(0, min(l.hard(group), l.shares[group].left))
}

// hard is the same whatever the group's share of its pool is.
func (l *limits) hard(group int) int {
	if l.closed[group] != nil {
		return 0
	}
	g := &l.s.Groups[group]
	n := min(l.room[group], l.nodes, l.plan, l.mostTrial(group))
	if g.Pool != "" {
		if room, ok := l.pools[g.Pool]; ok {
			n = min(n, max(0, room))
		}
	}
	if l.milli == math.MaxInt64 && l.memory == math.MaxInt64 {
		return n
	}
	c := l.s.Contents.Shapes[g.Shape].Capacity
	if c.MilliCPU > 0 {
		n = int(min(int64(n), l.milli/c.MilliCPU))
	}
	if c.Memory > 0 {
		n = int(min(int64(n), l.memory/c.Memory))
	}
	return n
}

// take counts n nodes of the group as added.
func (l *limits) take(group, n int) {
	g := &l.s.Groups[group]
	l.room[group] -= n
	if l.shares[group].left != math.MaxInt {
		l.shares[group].left -= n
	}
	if _, ok := l.pools[g.Pool]; ok {
		l.pools[g.Pool] -= n
	}
	c := l.s.Contents.Shapes[g.Shape].Capacity
	sub := func(left *int, by int) {
		if *left != math.MaxInt {
			*left -= by
		}
	}
	sub(&l.nodes, n)
	sub(&l.plan, n)
	l.tried(group, n)
	if l.milli != math.MaxInt64 {
		l.milli -= int64(n) * c.MilliCPU
	}
	if l.memory != math.MaxInt64 {
		l.memory -= int64(n) * c.Memory
	}
}

// verdict says which limit keeps the group from growing by one more node, nil
// if none does.
func (l *limits) verdict(group int) *model.Verdict {
	if l.closed[group] != nil {
		return l.closed[group]
	}
	g := &l.s.Groups[group]
	if l.room[group] <= 0 {
		return &model.Verdict{
			Reason: model.GroupAtMax, Detail: fmt.Sprintf("%d/%s%s", max(g.Expected, g.Max-l.room[group]),
				spelling.Count(g.Max, "node"), g.Settled.Bound(g.Settled.MaxFrom)),
			Fix: fmt.Sprintf("max ≥ %d", g.Max+1),
		}
	}
	if room, ok := l.pools[g.Pool]; ok && room <= 0 {
		return &model.Verdict{
			Reason: model.PoolAtMax, Detail: fmt.Sprintf("pool %s", g.Pool), Fix: "a larger maximum of the pool",
		}
	}
	if sh := l.shares[group]; sh.left <= 0 {
		return &model.Verdict{Reason: model.PoolShare, Detail: sh.detail(g), Fix: sh.remedy(g)}
	}
	if l.nodes <= 0 {
		return &model.Verdict{
			Reason: model.MaxNodesTotal, Detail: fmt.Sprintf("%s of %d",
				spelling.Count(l.p.MaxNodesTotal-l.nodes, "node"), l.p.MaxNodesTotal),
			Fix: "a larger --max-nodes-total",
		}
	}
	if l.plan <= 0 {
		return &model.Verdict{
			Reason: model.MaxNodesPerScaleUp,
			Detail: spelling.Count(l.p.MaxNodesPerScaleUp, "node") + " in this cycle",
			Fix:    "the next cycle",
		}
	}
	if v := l.trialVerdict(group); v != nil {
		return v
	}
	c := l.s.Contents.Shapes[g.Shape].Capacity
	if c.MilliCPU > 0 && l.milli < c.MilliCPU {
		return &model.Verdict{Reason: model.CoresTotal, Detail: fmt.Sprintf("a node has %s, %s left of %d",
			model.Resources{MilliCPU: c.MilliCPU}, cores(l.milli), l.p.MaxCoresTotal), Fix: "a larger --cores-total"}
	}
	if c.Memory > 0 && l.memory < c.Memory {
		return &model.Verdict{
			Reason: model.MemoryTotal,
			Detail: fmt.Sprintf("a node has %s, %s left", model.Resources{Memory: c.Memory}, left(l.memory)),
			Fix:    "a larger --memory-total",
		}
	}
	return nil
}

// detail tells how much of its share a group has. For its pool's minimum, or by a person,
// it may have more.
func (sh portion) detail(g *model.Group) string {
	have := sh.most - sh.left
	if have > sh.due {
		return fmt.Sprintf("%s, past its share of %d of pool %s by the sizing %s", spelling.Count(have, "node"), sh.due,
			g.Pool, sh.sizing)
	}
	return fmt.Sprintf("%d of %s that are its share of pool %s by the sizing %s", have, spelling.Count(sh.most, "node"),
		g.Pool, sh.sizing)
}

// remedy is what would let a group grow that has its share.
func (sh portion) remedy(g *model.Group) string {
	switch {
	case sh.blocked && g.GivenUp() > 0:
		return fmt.Sprintf("the end of what did not come, %d of its nodes, or their arrival", g.GivenUp())
	case sh.blocked:
		return "an end of what keeps it from growing"
	case sh.sizing == pool.BackwardCompatible:
		return fmt.Sprintf("the sizing %s, by which groups that cannot grow leave their share to others, or %s",
			pool.Equitable, pool.LaxGreedy)
	case sh.sizing == pool.Equitable:
		return fmt.Sprintf("groups of the pool that cannot grow, or the sizing %s", pool.LaxGreedy)
	}
	return "fewer nodes in the pool's other groups"
}

func cores(milli int64) string { return fmt.Sprintf("%.3g cores", float64(milli)/1000) }

func left(bytes int64) string {
	if s := (model.Resources{Memory: bytes}).String(); s != "" {
		return s
	}
	return "memory 0"
}

// clone copies the counts, to try something.
func (l *limits) clone() *limits {
	c := *l
	c.room = slices.Clone(l.room)
	c.shares = slices.Clone(l.shares)
	c.pools, c.trials = maps.Clone(l.pools), maps.Clone(l.trials)
	return &c
}

// reopening is when the first of the groups that time alone opens again does,
// zero if there is none.
func reopening(l *limits) (at time.Time) {
	for _, v := range l.closed {
		if v != nil && v.Reason != model.GroupBusy && v.Until.After(l.s.Now) {
			at = earliest(at, v.Until)
		}
	}
	return at
}
