package scaleup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// option is one group's best answer to all the pods that are left.
type option struct {
	head
	nodes   int
	packing schedsim.Packing
	placed  []model.Batch
	most    int  // nodes that the group may have
	shared  bool // groups that pack alike may have the same
}

// growInBulk serves the classes that can be packed by patterns. In each round
// every group says how many of the pods left it could take, the expanders
// choose one, and its growth becomes part of the plan; what is left goes into
// the next round.
func (pl *planner) growInBulk(list []*waiting) {
	var bulk []*waiting
	for _, q := range list {
		if q.left > 0 && !q.outOfSteps && pl.packed(q) {
			bulk = append(bulk, q)
		}
	}
	pl.w.Allow(pl.stepsLeft())
	if pl.cut(bulk) {
		return
	}
	// Room that the domains' growth has left comes first.
	pl.fillPlanned(bulk)
	before := pl.stage(bulk)
	pl.growByGroups(bulk)
	pl.growTogether(bulk, before)
}

// growByGroups buys of one group after the other.
func (pl *planner) growByGroups(bulk []*waiting) {
	offers := make([]*option, len(pl.heads))
	for {
		var options []option
		made := map[int]*option{}
		for i, h := range pl.heads {
			if offers[i] == nil && len(options) > 0 && pl.w.Exhausted() {
				continue // one of those that have been made is taken, and no other
			}
			if offers[i] == nil {
				offers[i] = pl.offer(h, bulk, made[pl.looksOf(h)])
				if offers[i].shared {
					made[pl.looksOf(h)] = offers[i]
				}
				pl.options++
			}
			if offers[i].nodes > 0 {
				options = append(options, *offers[i])
			}
		}
		if len(options) == 0 {
			return
		}
		i, why := pl.choose(options)
		chosen := options[i]
		if pl.aim(chosen.placed) == nil {
			chosen = pl.fewer(chosen)
		}
		taken := pl.grow(chosen, options, bulk, why)
		if len(taken) == 0 {
			return // an option always places pods; without progress there is no next round
		}
		pl.fillPlanned(bulk)
		if pl.cut(bulk) {
			return
		}
		pl.expire(offers, taken)
	}
}

// fillPlanned puts pods onto nodes that the plan has bought already.
func (pl *planner) fillPlanned(bulk []*waiting) {
	for _, q := range bulk {
		if q.left == 0 {
			continue
		}
		before := q.left
		_, q.left, _ = pl.w.Place(q.Class, q.left, schedsim.OnPlanned, pl.stepsLeft())
		q.planned += before - q.left
	}
}

// offer packs all that is left and suits the group onto its new nodes. Twin is the
// offer of a group that packs alike, made of the same pods; nil if there is none.
func (pl *planner) offer(h head, bulk []*waiting, twin *option) *option {
	o := &option{head: h, most: pl.limits.most(h.group)}
	if o.most == 0 {
		return o
	}
	if pl.s.Prices.Committed() && pl.first().AsksForLowPrice() {
		// What is beyond a commitment is another bargain, and gets an offer of its own.
		o.most = pl.fleetWith(pl.grown).AtOnePrice(h.group, h.template.Shape, o.most)
	}
	if twin != nil && twin.shared && (twin.most == o.most || twin.nodes < twin.most && twin.nodes <= o.most) {
		o.nodes, o.packing, o.placed, o.shared = twin.nodes, twin.packing, twin.placed, true
		o.packing.Template = h.template
		return o
	}
	o.shared = true
	var want []model.Batch
	for _, q := range bulk {
		if q.left > 0 && !pl.w.Choosy(q.Class, h.group) && pl.w.Suits(q.Class, h.template) {
			want = append(want, model.Batch{Class: q.Class, Count: q.left})
			o.shared = o.shared && !pl.w.ReadsHost(q.Class)
		}
	}
	if len(want) == 0 {
		return o
	}
	o.packing = pl.w.Pack(want, h.template, o.most)
	o.nodes, o.placed = o.packing.Nodes, o.packing.Placed
	return o
}

// grow carries out an option, spread over similar groups if so wished. It
// returns the classes that pods were placed of.
func (pl *planner) grow(o option, all []option, bulk []*waiting, why string) map[model.ClassID]bool {
	taken := map[model.ClassID]bool{}
	commit := func(p schedsim.Packing) {
		pl.carryOut(p, bulk, why)
		for _, b := range p.Placed {
			taken[b.Class] = true
		}
	}
	partners := pl.partners(o, all)
	if len(partners) < 2 {
		commit(o.packing)
		return taken
	}
	shares := pl.balance(partners, o.nodes)
	why = fmt.Sprintf("%s; balanced over %d similar groups", why, len(partners))
	for i, h := range partners {
		if shares[i] == 0 {
			continue
		}
		var want []model.Batch
		for _, b := range o.placed {
			q := bulk[slices.IndexFunc(bulk, func(q *waiting) bool { return q.Class == b.Class })]
			if q.left > 0 {
				want = append(want, model.Batch{Class: b.Class, Count: q.left})
			}
		}
		commit(pl.w.Pack(want, h.template, min(shares[i], pl.limits.most(h.group))))
	}
	if len(taken) == 0 {
		// The partners looked alike and could take nothing after all (a volume in
		// another zone, say): the option stands as it was offered.
		commit(o.packing)
	}
	return taken
}

// carryOut makes a packing part of the plan.
func (pl *planner) carryOut(p schedsim.Packing, bulk []*waiting, why string) {
	pl.w.Commit(p)
	pl.limits.take(p.Template.Group, p.Nodes)
	pl.record(p.Template.Group, p.Nodes, why)
	for _, b := range p.Placed {
		i := slices.IndexFunc(bulk, func(q *waiting) bool { return q.Class == b.Class })
		bulk[i].left -= b.Count
		bulk[i].planned += b.Count
	}
}

// balance shares n nodes out so that the groups' sizes end as equal as their
// limits allow: one node at a time to the smallest that has room.
func (pl *planner) balance(groups []head, n int) []int {
	shares := make([]int, len(groups))
	for range n {
		best := -1
		for i, h := range groups {
			if pl.limits.most(h.group) == 0 {
				continue
			}
			size := pl.sizeOf(h) + shares[i]
			if best < 0 || size < pl.sizeOf(groups[best])+shares[best] {
				best = i
			}
		}
		if best < 0 {
			break
		}
		shares[best]++
		pl.limits.take(groups[best].group, 1) // so that limits which groups share are not taken twice
	}
	for i, h := range groups {
		pl.limits.take(h.group, -shares[i])
	}
	return shares
}

func (pl *planner) sizeOf(h head) int {
	return pl.s.Groups[h.group].Expected + pl.grown[h.group].nodes
}

// expire forgets the offers that the last scale-up has made wrong: those with a
// class that was placed, and those that a limit now binds.
func (pl *planner) expire(offers []*option, taken map[model.ClassID]bool) {
	for i, o := range offers {
		if o == nil || o.nodes == 0 {
			continue
		}
		if o.nodes > pl.limits.most(o.group) ||
			slices.ContainsFunc(o.placed, func(b model.Batch) bool { return taken[b.Class] }) {
			offers[i] = nil
		}
	}
}

// similar groups

// partners are the groups that the option's growth may be balanced over: those
// similar to its group that suit all of its pods; the option's own is among
// them. In order of id.
func (pl *planner) partners(o option, all []option) []head {
	if !pl.p.BalanceSimilar {
		return nil
	}
	var list []head
	for _, other := range all {
		if other.group == o.group || (pl.similar(o.head, other.head) && pl.suitsAll(o.placed, other.head)) {
			list = append(list, other.head)
		}
	}
	slices.SortFunc(list, func(a, b head) int { return cmp.Compare(a.group, b.group) })
	return list
}

func (pl *planner) suitsAll(pods []model.Batch, h head) bool {
	for _, b := range pods {
		if pl.w.Choosy(b.Class, h.group) || !pl.w.Suits(b.Class, h.template) {
			return false
		}
	}
	return true
}
