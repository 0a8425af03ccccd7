package pool

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Pool is one pool of a snapshot, as the strategies see it.
type Pool struct {
	ID     provider.PoolID
	Sizing Sizing
	// Named: the pool says how it is sized.
	Named  bool
	Bounds Bounds
	// Groups index the snapshot's groups in the order of their zones; Members are
	// the same groups.
	Groups  []int
	Members []Member
}

// Of is the pools of a snapshot that have groups. Where no strategy is named, the
// bounds hold for the sum and nothing is spread, as Lax-Greedy has it. An unknown name
// counts as Equitable: the provider reports it where it reads the name. The gate says which groups cannot grow.
func Of(s *model.Snapshot, access *gate.Gate) []Pool {
	if len(s.Pools) == 0 {
		return nil
	}
	groups := map[provider.PoolID][]int{}
	for i := range s.Groups {
		groups[s.Groups[i].Pool] = append(groups[s.Groups[i].Pool], i)
	}
	var pools []Pool
	for _, p := range s.Pools {
		sizing, err := parse(p.Sizing)
		switch {
		case p.Sizing == "":
			sizing = LaxGreedy
		case err != nil:
			sizing = Equitable
		}
		one := Pool{ID: p.ID, Sizing: sizing, Named: p.Sizing != "", Bounds: Bounds{p.Min, p.Max}, Groups: groups[p.ID]}
		if len(one.Groups) == 0 {
			continue
		}
		// Zones are numbered in the names: of two the shorter number is the smaller.
		slices.SortStableFunc(one.Groups, func(a, b int) int { return cmp.Compare(len(s.Groups[a].ID), len(s.Groups[b].ID)) })
		for _, i := range one.Groups {
			one.Members = append(one.Members, memberOf(s, i, access, one.Named))
		}
		pools = append(pools, one)
	}
	return pools
}

// Shares spreads the pool's limits over its groups, in the order of Groups.
func (p Pool) Shares() []Share { return Shares(p.Sizing, p.Bounds, p.Members) }

// Shown is what each group may have of pools that name a sizing, sorted by group, for a
// person; a part of the minimum that the pool has no room for, since others have it, is left
// out. A pool is left out if one of its groups has not been read: its size is unknown.
func Shown(s *model.Snapshot, pools []Pool) []model.PoolShareOf {
	var out []model.PoolShareOf
	for _, p := range pools {
		if !p.Named || s.Groups[p.Groups[0]].PoolUnread != "" {
			continue
		}
		for i, sh := range p.Shares() {
			out = append(out, model.PoolShareOf{
				Group: s.Groups[p.Groups[i]].ID, Pool: p.ID, Sizing: string(p.Sizing), Min: min(sh.Min, sh.Max), Max: sh.Max,
			})
		}
	}
	slices.SortFunc(out, func(a, b model.PoolShareOf) int { return cmp.Compare(a.Group, b.Group) })
	return out
}

// Read is Shown of an inventory alone, as a reader without history sees it: no
// group rests, and nothing has been given up.
func Read(inv provider.Inventory) []model.PoolShareOf {
	s := &model.Snapshot{Now: inv.AsOf, Pools: inv.Pools}
	unread := map[provider.PoolID]provider.GroupID{}
	for _, g := range inv.Groups {
		if g.Err != nil {
			unread[g.Pool] = g.ID
		}
	}
	for _, g := range inv.Groups {
		s.Groups = append(s.Groups, model.Group{
			Group:         g,
			HasTemplate:   g.Template != nil,
			GroupStanding: model.GroupStanding{Expected: g.Target},
			PoolUnread:    unread[g.Pool],
		})
	}
	return Shown(s, Of(s, gate.New(s, model.Policy{})))
}

func memberOf(s *model.Snapshot, group int, access *gate.Gate, spread bool) Member {
	g := &s.Groups[group]
	return Member{
		Target: g.Expected,
		// A group that cannot grow for longer than a call takes leaves its share to the
		// others meanwhile. Where nothing is spread it has no share to leave: what it lacks
		// makes it rest like a group without a pool, and then it may grow.
		Blocked: access.Closed(group, gate.Share) != nil || g.Expected >= g.Max || spread && unresolved(s, g),
		Leaving: slices.ContainsFunc(g.Holds, func(h provider.Hold) bool {
			return h.Op == provider.OpGrow && h.Reason == provider.BeingDeleted && h.Stands(s.Now)
		}),
	}
}

// unresolved reports whether the group's target still has a unit that failed or never
// came, and that is about to be given up, or that the cloud could not take back. One
// that stays, since it is held or the group is at its own minimum, counts as part of
// the group, because it may stay for any time.
func unresolved(s *model.Snapshot, g *model.Group) bool {
	if g.GivenUp() == 0 || g.Expected <= g.Min || gate.Hold(g, s.Now, provider.OpRemove, provider.OpCancel) != nil {
		return false
	}
	return g.Overdue+g.Kept > 0 ||
		slices.ContainsFunc(g.Waiting, func(w model.Waiting) bool { return w.GivenUp() && w.Hold == "" })
}
