package scaledown

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// minimums are what removals may not go below: of groups, of pools,
// of the whole cluster. They are counted down as removals are decided, so that
// they hold for all of them together, those under way included.
type minimums struct {
	snap   *model.Snapshot
	least  model.ScaleDownPolicy
	groups []int // by group: how many nodes are above the minimum
	pools  map[provider.PoolID]int
	floors []int // by group: how many nodes are above what its pool's sizing leaves it
	moves  []int // by group: how many of its nodes count as gone that are to go for moves under way
	cores  int64 // thousandths above the minimum
	memory int64
}

func newMinimums(s *model.Snapshot, policy model.ScaleDownPolicy, access *gate.Gate) *minimums {
	l := &minimums{snap: s, least: policy, groups: make([]int, len(s.Groups)), pools: map[provider.PoolID]int{},
		moves: make([]int, len(s.Groups))}
	for _, pool := range s.Pools {
		l.pools[pool.ID] = -pool.Min
	}
	for i := range s.Groups {
		l.groups[i] = s.Groups[i].Expected - s.Groups[i].Min
		l.floors = append(l.floors, math.MaxInt)
		if _, ok := l.pools[s.Groups[i].Pool]; ok {
			l.pools[s.Groups[i].Pool] += s.Groups[i].Expected
		}
	}
	for _, p := range pool.Of(s, access) {
		for i, sh := range p.Shares() {
			l.floors[p.Groups[i]] = p.Members[i].Target - sh.Floor
		}
	}
	for i := range s.Groups {
		for range s.Groups[i].Ending {
			l.down(i)
		}
	}
	l.cores, l.memory = -l.least.MinCoresTotal*1000, -l.least.MinMemoryTotal
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Kind == model.Leaving {
			l.leave(n)
			continue
		}
		c := s.Contents.Shapes[n.Shape].Capacity
		l.cores += c.MilliCPU
		l.memory += c.Memory
	}
	return l
}

func (l *minimums) clone() *minimums {
	c := *l
	c.groups, c.floors, c.pools = slices.Clone(l.groups), slices.Clone(l.floors), maps.Clone(l.pools)
	c.moves = slices.Clone(l.moves)
	return &c
}

// leave counts a node that is on its way out against its group's minimum, while the
// target still has it. Those whose machine is gone are counted by Ending.
func (l *minimums) leave(n *model.Node) {
	if n.Group < 0 {
		return
	}
	in := l.snap.Groups[n.Group].InstanceNamed(n.Instance)
	if in != nil && model.CountedByTarget(n.Standing.Drain, in) {
		l.down(n.Group)
	}
}

// down counts a node of a group, and of its pool.
func (l *minimums) down(group int) {
	l.groups[group]--
	l.floors[group]--
	if pool := l.snap.Groups[group].Pool; pool != "" {
		if _, ok := l.pools[pool]; ok {
			l.pools[pool]--
		}
	}
}

// room says which minimum one more removal would go below, nil if none.
func (l *minimums) room(id model.NodeID) *model.Verdict {
	n := l.snap.Nodes[id]
	g := &l.snap.Groups[n.Group]
	if l.groups[n.Group] <= 0 {
		why := &model.Verdict{Reason: model.GroupAtMin,
			Detail: fmt.Sprintf("min %d%s", g.Min, g.Settled.Bound(g.Settled.MinFrom)), Fix: "a lower minimum"}
		if moved := l.moves[n.Group]; moved > 0 {
			why.Detail += fmt.Sprintf(", with %s counted as gone for moves under way", spelling.Count(moved, "node"))
		}
		return why
	}
	if left, ok := l.pools[g.Pool]; ok && left <= 0 {
		return &model.Verdict{Reason: model.PoolAtMin,
			Detail: fmt.Sprintf("pool %s", g.Pool), Fix: "a lower minimum of the pool"}
	}
	if l.floors[n.Group] <= 0 {
		return &model.Verdict{Reason: model.PoolFloor, Detail: fmt.Sprintf("pool %s leaves the group what it has", g.Pool),
			Fix: "nodes of the pool's other groups that are not needed, or another sizing"}
	}
	c := l.snap.Contents.Shapes[n.Shape].Capacity
	if l.cores < c.MilliCPU || l.memory < c.Memory {
		return &model.Verdict{Reason: model.MinimalResourceLimit,
			Detail: fmt.Sprintf("the cluster would have less than --cores-total's %d or --memory-total's minimum",
				l.least.MinCoresTotal)}
	}
	return nil
}

// take counts a removal.
func (l *minimums) take(id model.NodeID) {
	n := l.snap.Nodes[id]
	l.down(n.Group)
	c := l.snap.Contents.Shapes[n.Shape].Capacity
	l.cores -= c.MilliCPU
	l.memory -= c.Memory
}

// weight is what candidates have together.
func (l *minimums) weight(list []*candidate) model.Resources {
	var sum model.Resources
	for _, c := range list {
		r := l.snap.Contents.Shapes[l.snap.Nodes[c.node].Shape].Capacity
		sum.MilliCPU += r.MilliCPU
		sum.Memory += r.Memory
	}
	return sum
}

// Short says of nodes on their way out that a minimum was raised above what would
// be left: of each group and pool as many as it takes, those that began last.
func Short(s *model.Snapshot, policy model.ScaleDownPolicy, access *gate.Gate) map[model.NodeID]*model.Verdict {
	l := newMinimums(s, policy, access)
	var list []model.NodeID
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Group >= 0 && n.Standing.Drain != nil && (n.Standing.Drain.Stage == model.Tainted ||
			n.Standing.Drain.Stage == model.Evicting) {
			list = append(list, model.NodeID(i))
		}
	}
	slices.SortStableFunc(list, func(a, b model.NodeID) int {
		return s.Nodes[b].Standing.Drain.Began.Compare(s.Nodes[a].Standing.Drain.Began)
	})
	var out map[model.NodeID]*model.Verdict
	for _, id := range list {
		g := &s.Groups[s.Nodes[id].Group]
		pool, pooled := l.pools[g.Pool]
		if l.groups[s.Nodes[id].Group] >= 0 && (!pooled || pool >= 0 || g.PoolUnread != "") {
			continue
		}
		if out == nil {
			out = map[model.NodeID]*model.Verdict{}
		}
		out[id] = &model.Verdict{Reason: model.GroupAtMin,
			Detail: fmt.Sprintf("group %s has a minimum of %d by now, or its pool has", g.ID, g.Min)}
		l.groups[s.Nodes[id].Group]++
		if pooled {
			l.pools[g.Pool]++
		}
	}
	return out
}
