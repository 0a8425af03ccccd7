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
	// rough: the pods have not been packed; nodes are the fewest that any packing of them may have.
	rough bool
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
	deeds := pl.growByGroups(bulk)
	pl.growTogether(bulk, before, deeds)
}

// deed is one scale-up of growByGroups, which may be over several groups that are alike.
type deed struct {
	packings []schedsim.Packing
	why      string
}

// growByGroups buys of one group after the other. It returns what it did, to be done again.
func (pl *planner) growByGroups(bulk []*waiting) (deeds []deed) {
	known, apart := make([]*option, len(pl.heads)), pl.apart(lotsOf(batchesOf(bulk)))
	for {
		options := pl.offers(known, bulk, apart)
		if len(options) == 0 {
			return deeds
		}
		i, why := pl.choose(options)
		chosen := options[i]
		if pl.aim(chosen.placed) == nil {
			chosen = pl.fewer(chosen)
		}
		d, taken := pl.grow(chosen, options, bulk, why)
		if len(taken) == 0 {
			return deeds // an option always places pods; without progress there is no next round
		}
		deeds = append(deeds, d)
		pl.fillPlanned(bulk)
		if pl.cut(bulk) {
			return deeds
		}
		pl.expire(known, taken)
	}
}

// batchesOf are the pods that are left.
func batchesOf(list []*waiting) (out []model.Batch) {
	for _, q := range list {
		if q.left > 0 {
			out = append(out, model.Batch{Class: q.Class, Count: q.left})
		}
	}
	return out
}

// growAgain does what growByGroups has done before, to the same plan.
func (pl *planner) growAgain(bulk []*waiting, deeds []deed) {
	for _, d := range deeds {
		for _, p := range d.packings {
			pl.carryOut(p, bulk, d.why)
		}
		pl.fillPlanned(bulk)
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

// offer is all that is left and suits the group, on its new nodes: packed, or roughly where that will do. Twin is the
// offer of a group that packs alike, made of the same pods; nil if there is none.
func (pl *planner) offer(h head, bulk []*waiting, twin *option, apart cliques) *option {
	o := &option{head: h, most: pl.limits.most(h.group)}
	if o.most == 0 {
		return o
	}
	if pl.s.Prices.Committed() && pl.first().AsksForLowPrice() {
		// What is beyond a commitment is another bargain, and gets an offer of its own.
		o.most = pl.fleetWith(pl.grown).AtOnePrice(h.group, h.template.Shape, o.most)
	}
	if o.takeOver(twin) {
		return o
	}
	o.shared = true
	for _, q := range bulk {
		if q.left > 0 && !pl.w.Choosy(q.Class, h.group) && pl.w.Suits(q.Class, h.template) {
			o.placed = append(o.placed, model.Batch{Class: q.Class, Count: q.left})
			o.shared = o.shared && !pl.w.ReadsHost(q.Class)
		}
	}
	if len(o.placed) == 0 {
		return o
	}
	if o.nodes, o.rough = pl.fewest(h, o.placed, o.most, apart); !o.rough {
		pl.packUp(o, nil)
	}
	return o
}

// packUp packs the pods of an option.
func (pl *planner) packUp(o *option, twin *option) {
	if o.takeOver(twin) {
		return
	}
	o.packing = pl.w.Pack(o.placed, o.template, o.most)
	o.nodes, o.placed, o.rough = o.packing.Nodes, o.packing.Placed, false
}

// takeOver takes what is known of an option of a group that packs alike, as far as that group's limit has not cut it
// and this one's does not.
func (o *option) takeOver(twin *option) bool {
	if twin == nil || !twin.shared {
		return false
	}
	least := twin.nodes
	if twin.rough {
		least = podsOf(twin)
	}
	if twin.most != o.most && (least >= twin.most || least > o.most) {
		return false
	}
	o.nodes, o.packing, o.placed, o.rough, o.shared = twin.nodes, twin.packing, twin.placed, twin.rough, true
	o.packing.Template = o.template
	return true
}

// grow carries out an option, spread over similar groups if so wished. It
// returns the classes that pods were placed of.
func (pl *planner) grow(o option, all []option, bulk []*waiting, why string) (d deed, taken map[model.ClassID]bool) {
	d.why, taken = why, map[model.ClassID]bool{}
	commit := func(p schedsim.Packing) {
		pl.carryOut(p, bulk, d.why)
		d.packings = append(d.packings, p)
		for _, b := range p.Placed {
			taken[b.Class] = true
		}
	}
	partners := pl.partners(o, all)
	if len(partners) < 2 {
		commit(o.packing)
		return d, taken
	}
	shares := pl.balance(partners, o.nodes)
	d.why = fmt.Sprintf("%s; balanced over %d similar groups", why, len(partners))
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
	return d, taken
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
		least := o.nodes
		if o.rough {
			least = podsOf(o) // else it is not known how many of them are served
		}
		if least > pl.limits.most(o.group) ||
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
