package scaleup

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Buyer buys nodes for pods that have a node and are to have another, by the same packing as for pods that wait. What
// it places and buys is in the world; who asks takes it back by the world's marks.
type Buyer struct {
	w      *schedsim.World
	s      *model.Snapshot
	p      model.ScaleUpPolicy
	limits *limits
	// fleet is what is there, and what has been bought.
	fleet *model.Fleet
	heads []head
	// priced are the groups whose price is known, but for those that come last.
	priced []head
	prices map[model.ClassID]float64
	packs  map[model.ClassID]bool
	// weights are by what shares the prices of groups count for more where a low price is asked for; nil: by none. Those
	// prices have a memory of their own, weighted.
	weights  []float64
	weighted map[model.ClassID]float64
	// preferences are those of all groups, once they are asked for.
	preferences []float64
}

// NewBuyer is a buyer beside what a plan buys for pods that wait. Groups that grow for those grow for nothing else in
// the same plan.
func NewBuyer(
	w *schedsim.World, s *model.Snapshot, p model.ScaleUpPolicy, access *gate.Gate, grow []model.Growth,
) *Buyer {
	b := &Buyer{
		w: w, s: s, p: p, limits: newLimits(s, p, access), fleet: s.Fleet(),
		prices: map[model.ClassID]float64{}, packs: map[model.ClassID]bool{}, weighted: map[model.ClassID]float64{},
	}
	grows := map[int]bool{}
	for i := range grow {
		at := slices.IndexFunc(s.Groups, func(g model.Group) bool { return g.ID == grow[i].Group })
		grows[at] = true
		b.Take(at, grow[i].To-grow[i].From)
	}
	for i := range s.Groups {
		t, ok := w.GroupTemplate(i)
		h := head{group: i, template: t}
		if !ok || grows[i] || b.limits.most(i) == 0 {
			continue
		}
		b.heads = append(b.heads, h)
		if _, priced := b.Price(h.group); priced && !b.limits.last[i] {
			b.priced = append(b.priced, h)
		}
	}
	return b
}

// Weigh has what is bought for its low price count for more, by a share of the price of each group.
func (b *Buyer) Weigh(weights []float64) {
	b.weights = weights
	clear(b.weighted)
}

// Sells reports whether there is any group to buy from whose price is known.
func (b *Buyer) Sells() bool { return len(b.priced) > 0 }

// Price is what a new node of a group costs by the hour.
func (b *Buyer) Price(group int) (float64, bool) {
	return b.fleet.Next(group)
}

// Least is the least that pods could cost by the hour: each its largest share of a node, in the group where that
// costs least. Pods that no group with a price takes cost nothing, so that nothing is said to be saved by them.
func (b *Buyer) Least(pods []model.Batch) (sum float64) {
	pl := b.cheapest(0)
	for _, x := range pods {
		sum += float64(x.Count) * pl.leastPrice(x.Class)
	}
	return sum
}

// cheapest is a planner that buys what costs least, from groups whose price is known.
func (b *Buyer) cheapest(steps int) *planner {
	pl := b.planner(steps)
	pl.heads, pl.weights, pl.prices = b.priced, b.weights, b.weighted
	pl.p.Expanders, pl.p.BalanceSimilar = []model.Expander{model.ByPrice, model.ByLeastWaste}, false
	return pl
}

// planner buys as for pods that wait.
func (b *Buyer) planner(steps int) *planner {
	return &planner{
		w: b.w, s: b.s, p: b.p, limits: b.limits, fleet: b.fleet, heads: b.heads, grown: make([]growth, len(b.s.Groups)),
		domains: map[model.ClassID]int{}, prices: b.prices, packs: b.packs, braked: map[brakeKey]model.Brake{},
		forms: map[brakeKey][]head{}, filled: make([]int, len(b.s.Groups)), end: b.w.Work().Steps + steps,
	}
}

// BuyCheap finds room for pods on nodes that are ready, and buys what costs least for the others, with so many steps,
// but no nodes of the groups in without. Nodes are those bought, by group; left are pods without a place, and all
// where it depends on what the cloud picks: pods that have a node do not lose it for a hope.
func (b *Buyer) BuyCheap(pods []model.Batch, without []int, steps int) (nodes map[int]int, left int) {
	return b.buySurely(b.cheapest(steps), pods, without, steps)
}

// BuyPreferred is BuyCheap as growth is set, from the groups that the priorities prefer to all of some: by what those
// have at most. Groups that come last are not among them.
func (b *Buyer) BuyPreferred(pods []model.Batch, than float64, steps int) (nodes map[int]int, left int) {
	if b.preferences == nil {
		b.preferences = b.s.Preferences()
	}
	pl := b.planner(steps)
	pl.heads, pl.prices, pl.packs = nil, map[model.ClassID]float64{}, map[model.ClassID]bool{} // those are of all heads
	for _, h := range b.heads {
		if !b.limits.last[h.group] && b.preferences[h.group] < than {
			pl.heads = append(pl.heads, h)
		}
	}
	return b.buySurely(pl, pods, nil, steps)
}

// buySurely leaves all pods where it depends on what the cloud picks.
func (b *Buyer) buySurely(pl *planner, pods []model.Batch, without []int, steps int) (nodes map[int]int, left int) {
	nodes, left = b.buy(pl, pods, without, steps)
	if pl.hopes() {
		for _, x := range pods {
			left += x.Count
		}
	}
	return nodes, left
}

// Buy is BuyCheap from all groups, in the way in which pods that wait have nodes bought for them: in hope, too. But
// against the cloud's own rule only for pods that are about to lose their nodes: others would have a node bought in
// vain, and the next one as soon as that is given up.
func (b *Buyer) Buy(pods []model.Batch, pressed bool, steps int) (nodes map[int]int, left int) {
	pl := b.planner(steps)
	pl.ruled = !pressed
	return b.buy(pl, pods, nil, steps)
}

// Room is how many more nodes a group may have beside others that are to be bought, by group.
func (b *Buyer) Room(group int, beside map[int]int) int {
	left := b.limits.clone()
	for of, n := range beside {
		left.take(of, n)
	}
	return left.most(group)
}

func (b *Buyer) buy(pl *planner, pods []model.Batch, without []int, steps int) (nodes map[int]int, left int) {
	pl.opening, pl.limits = b.limits, b.limits.clone()
	for _, group := range without {
		pl.limits.room[group] = 0
	}
	defer b.w.AllowAll()
	list := pl.asWaiting(pods)
	b.w.Allow(steps)
	for _, q := range list {
		_, q.left, _ = b.w.Place(q.Class, q.left, schedsim.OnReady, pl.stepsLeft())
	}
	pl.growFor(list)
	nodes = map[int]int{}
	for i := range pl.grown {
		if n := pl.grown[i].nodes; n > 0 {
			nodes[i] = n
		}
	}
	return nodes, pl.leftOver(list)
}

// Take counts nodes as bought, and says what they cost by the hour.
func (b *Buyer) Take(group, n int) (perHour float64) {
	b.limits.take(group, n)
	perHour, _ = b.fleet.Add(group, b.s.Groups[group].Shape, n)
	return perHour
}

// Saves is what is saved by the hour without one node of those that are there.
func (b *Buyer) Saves(n *model.Node) (perHour float64, ok bool) { return b.fleet.Saves(n) }

// AtOnePrice is how many of the first of these nodes save each, together, what it saves alone. Beyond them, those that
// stay are no longer the ones that a commitment does not pay for.
func (b *Buyer) AtOnePrice(nodes []*model.Node) int {
	if !b.s.Prices.Committed() {
		return len(nodes)
	}
	fleet := b.fleet.Clone()
	for i, n := range nodes {
		alone, _ := b.fleet.Saves(n)
		if more, _ := fleet.Add(n.Group, n.Shape, -1); i > 0 && -more < alone*(1-1e-9) {
			return i
		}
	}
	return len(nodes)
}

// Lose counts nodes as gone, and says what is saved by that; back forgets it, and what was taken since.
func (b *Buyer) Lose(nodes []*model.Node) (perHour float64, back func()) {
	fleet, limits := b.fleet, b.limits
	b.fleet, b.limits = fleet.Clone(), limits.clone()
	for _, n := range nodes {
		more, _ := b.fleet.Add(n.Group, n.Shape, -1)
		perHour -= more
	}
	return perHour, func() { b.fleet, b.limits = fleet, limits }
}

// asWaiting are pods in the order in which growth serves those that wait.
func (pl *planner) asWaiting(pods []model.Batch) []*waiting {
	counts := map[model.ClassID]int{}
	for _, x := range pods {
		counts[x.Class] += x.Count
	}
	largest := pl.largestTemplate()
	var list []*waiting
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		q := &waiting{Pending: &model.Pending{Class: c, Refused: true, Oldest: time.Time{}}, left: counts[c],
			postponed: map[int]bool{}}
		q.freedom = pl.freedom(c)
		list = append(list, q)
	}
	slices.SortStableFunc(list, func(a, b *waiting) int {
		ca, cb := &pl.s.Classes[a.Class], &pl.s.Classes[b.Class]
		return cmp.Or(cmp.Compare(a.freedom, b.freedom),
			-cmp.Compare(size(ca.Spec.Requests, largest), size(cb.Spec.Requests, largest)), cmp.Compare(ca.Key, cb.Key))
	})
	return list
}
