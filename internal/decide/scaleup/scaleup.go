// Package scaleup decides which groups grow, by how much, and why the others
// do not.
//
// What flows in: a loaded schedsim.World, its snapshot, the policy. What flows
// out: scale-ups for any number of groups at once, and for each class of pending
// pods what became of it. The world is left with the plan carried out in it,
// so that what is decided after sees which nodes are needed.
//
// Pure: no clock, no I/O, no global, the same answer for the same input in any
// order.
//
// Who may import it: decide.
package scaleup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Result is what was decided.
type Result struct {
	Grow       []model.Growth
	Pending    []model.PendingVerdict
	Nodes      int
	LowerBound int
	Price      float64
	PriceBound float64
	// Tighter is as in model.Plan.
	Tighter string
	Options int
	Notices []provider.Notice
	Brakes  []model.Brake
	Shares  []model.PoolShareOf
	// Unseen are the digests of the classes that the steps did not suffice for.
	Unseen []string
	// Wake is when pods that wish to wait stop waiting, zero if there are none.
	Wake time.Time
}

// Plan decides on growth.
//
// A spread constraint counts every domain that has a node, also one that is
// opened for other pods later in the same plan. Where that happened, the plan
// is made again with the nodes of the first one there from the start; after a
// few rounds the last one stands, but for what it got wrong, which is the next
// cycle's.
//
// Where a limit was used up for pods while others of a higher priority are left, it is made again in strict order, one
// priority after the other; that plan stands if it leaves fewer pods of the highest priority at which the two differ.
//
// The gate says which groups may grow at all.
func Plan(w *schedsim.World, s *model.Snapshot, p model.Policy, access *gate.Gate) Result {
	defer w.AllowAll()
	defer w.DoubtNone()
	end := w.Work().Steps + p.ScaleUp.SpreadStepLimit
	var seeds []schedsim.Forms
	var filled []int
	options := 0
	var order strictness
	for round := 1; ; round++ {
		m := w.Mark()
		pl := newPlanner(w, s, p, access)
		pl.end, pl.options, pl.strict = end, options, order.strict
		pl.plan(p, seeds, filled)
		if order.again(pl) {
			seeds, filled, options, round = nil, nil, pl.options, 0
			w.DoubtNone()
			w.Undo(m)
			continue
		}
		last := round == maxRounds || 2*pl.stepsLeft() < p.ScaleUp.SpreadStepLimit
		if pl.settle(last) || last {
			pl.packWhole()
			return pl.result()
		}
		seeds, filled, options = pl.bought(), pl.filled, pl.options
		w.DoubtNone()
		w.Undo(m)
	}
}

const maxRounds = 4

func newPlanner(w *schedsim.World, s *model.Snapshot, p model.Policy, access *gate.Gate) *planner {
	return &planner{
		w: w, s: s, p: p.ScaleUp, gate: access, end: w.Work().Steps + p.ScaleUp.SpreadStepLimit,
		domains: map[model.ClassID]int{}, prices: map[model.ClassID]float64{}, packs: map[model.ClassID]bool{},
		braked: map[brakeKey]model.Brake{}, tries: map[brakeKey]int{}, forms: map[brakeKey][]head{}, fleet: s.Fleet(),
	}
}

func (pl *planner) plan(p model.Policy, seeds []schedsim.Forms, filled []int) {
	// 1. Which pods are waiting for room, and which groups have a template.
	pl.candidates()
	pl.list = pl.waiting(p.Rules)
	waiting := pl.list
	// 2. Growths that did not help are not repeated.
	pl.limits = newLimits(pl.s, pl.p, pl.gate)
	pl.opening = pl.limits.clone()
	pl.brake(waiting)
	// 3. Room on nodes that are there, then on those that are on their way; which
	// groups may grow, and by how much.
	pl.placeOnExisting(waiting)
	pl.awaitUnread(waiting)
	pl.applyTrials(waiting)
	pl.step = pl.doubt(waiting)
	pl.begin = pl.stage(waiting)
	pl.wake = earliest(pl.wake, reopening(pl.limits))
	pl.seed(seeds, filled)
	pl.fillGroups()
	// 4. Classes whose pods depend on whole topology domains, one by one; then
	// all others, a group at a time. Pods of one class may be what another's
	// affinity waits for, so that it is done again while it helps.
	// A seed that proves idle goes, and its domain with it: that may let more in.
	for again := true; again; again = pl.dropIdle() && pl.leftOver(waiting) > 0 {
		pl.growInOrder(waiting)
	}
	// 5. Pools that have less than their minimum still. Pods that no share was left
	// for may find room there.
	if pl.fillPools() && pl.leftOver(waiting) > 0 {
		pl.growInOrder(waiting)
	}
}

// growInOrder buys for all that is left, or, where the order is strict, for one priority after the other. Bought for
// together, pods share nodes better; but those that depend on topology domains have nodes before others of a higher
// priority.
func (pl *planner) growInOrder(list []*waiting) {
	if !pl.strict {
		pl.growFor(list)
		return
	}
	bands := map[int32][]*waiting{}
	for _, q := range list {
		bands[pl.priority(q)] = append(bands[pl.priority(q)], q)
	}
	var open []*waiting
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(bands))) {
		// Those before may wait for the company of these.
		open = append(open, bands[priority]...)
		pl.growFor(open)
	}
}

// growFor buys for the pods that are left while that helps, of groups that come last only if others do not suffice.
func (pl *planner) growFor(list []*waiting) {
	if slices.Contains(pl.limits.last, true) {
		pl.limits.others = true
		pl.growWhile(list)
		pl.limits.others = false
	}
	pl.growWhile(list)
}

func (pl *planner) growWhile(list []*waiting) {
	for before := -1; before != pl.leftOver(list); {
		before = pl.leftOver(list)
		pl.growOverDomains(list)
		pl.growInBulk(list)
	}
}

// seed adds the nodes that an earlier round bought, by group; those of them that
// filled a pool stay, whether or not pods come to them.
//
// What nodes were made of where the cloud picks stays, too: a domain that one of them
// opens is there from the start.
func (pl *planner) seed(forms []schedsim.Forms, filled []int) {
	pl.seeds, pl.filled = map[model.NodeID]int{}, make([]int, len(pl.s.Groups))
	copy(pl.filled, filled)
	if forms == nil {
		return
	}
	for _, h := range pl.heads {
		f := forms[h.group]
		for v, n := range f.Coming {
			for range n {
				pl.w.Decide(h.group, v)
			}
		}
		total := f.Open
		for _, n := range f.Bought {
			total += n
		}
		// What fills a pool may pass the group's share of it, as it did before.
		filled := pl.filled[h.group]
		n := min(total-filled, pl.limits.most(h.group))
		n += min(filled, pl.limits.hard(h.group)-n)
		nodes := pl.addNodes(h.template, min(n, f.Open))
		for v, more := range f.Bought {
			nodes = append(nodes, pl.addNodes(pl.w.Landing(h.group).Variants[v], min(n-len(nodes), more))...)
		}
		for i := filled; i < len(nodes); i++ {
			pl.seeds[nodes[i]] = h.group
		}
		pl.limits.take(h.group, len(nodes))
		pl.record(h.group, len(nodes), "with the nodes of all groups in view")
	}
}

func (pl *planner) addNodes(t schedsim.Template, n int) (nodes []model.NodeID) {
	first := pl.w.AddNodes(t, n)
	for i := range n {
		nodes = append(nodes, first+model.NodeID(i))
	}
	return nodes
}

// dropIdle gives up the seeds that turned out to be of no use, and tells
// whether there were any.
func (pl *planner) dropIdle() bool {
	dropped := false
	for _, id := range pl.w.Idle() {
		if group, ok := pl.seeds[id]; ok && pl.w.Spares(id) {
			pl.w.Drop(id)
			pl.limits.take(group, -1)
			pl.grown[group].nodes--
			dropped = true
		}
	}
	return dropped
}

// domainsMoved reports whether a class with a spread constraint was placed before
// some domain that counts for it was opened.
func (pl *planner) domainsMoved() bool {
	for c, n := range pl.domains {
		if pl.w.Domains(c) > n {
			return true
		}
	}
	return false
}

// bought is what the plan adds and counts on, by group.
func (pl *planner) bought() []schedsim.Forms {
	forms := make([]schedsim.Forms, len(pl.grown))
	for i := range pl.grown {
		forms[i] = pl.w.Forms(i)
	}
	return forms
}

// planner is the state of one call of Plan.
type planner struct {
	w      *schedsim.World
	s      *model.Snapshot
	p      model.ScaleUpPolicy
	limits *limits
	// opening are the limits before anything is bought, proven what packing has found of all plans.
	opening *limits
	proven  proof
	tighter string // what a better packing was not bought for
	heads   []head // groups with a template, in order of id
	list    []*waiting
	step    *waiting // the class that the scheduler is believed of, nil if there is none
	begin   stage    // what the plan was before anything was bought
	strict  bool     // one priority after the other
	ruled   bool     // nothing is bought in hope against the cloud's rule
	grown   []growth
	skip    []model.PendingVerdict
	wake    time.Time
	seeds   map[model.NodeID]int // node → group
	filled  []int                // by group: nodes that fill its pool
	alike   []int                // looksOf, by group, once asked for
	// domains is how many domains each spread class had when it was first
	// placed over groups.
	domains map[model.ClassID]int
	// gate says which groups may grow at all; braked and brakes are what must not be
	// bought again.
	gate   *gate.Gate
	braked map[brakeKey]model.Brake
	brakes []model.Brake
	tries  map[brakeKey]int // what trials allow
	// packs remembers packed, forms what variants found, and coming what placed did.
	packs  map[model.ClassID]bool
	forms  map[brakeKey][]head
	coming map[int][]int

	fleet   *model.Fleet // the nodes that are there before anything is bought
	then    *model.Fleet // with what is bought besides: so many nodes of each group
	thenOf  []int
	weights []float64                 // by what shares prices count for more, by group; nil: by none
	prices  map[model.ClassID]float64 // leastPrice, where it was asked for
	options int
	ranked  *seekers        // once asked for
	answers []option        // memory for answersOf
	pass    []schedsim.Head // and for spread
	end     int             // how many steps the world may have taken when the plan is made
}

// head is a group that could grow.
type head struct {
	group    int
	template schedsim.Template
	// landing is that of a head that is one variant of its group's nodes; passing says
	// that it is of no use to the class that is grown for, hoped that one node is bought
	// though the cloud's rule does not say that it will be of use.
	landing *schedsim.Landing
	variant int
	passing bool
	hoped   bool
}

// waiting is one class and how its pods fare.
type waiting struct {
	*model.Pending
	freedom                           int
	existing, upcoming, planned, left int
	delayed                           int // pods that wish to wait still
	outOfSteps                        bool
	// disagrees is the scheduler's word against ours, nil if there is none.
	disagrees *model.Verdict
	unseen    bool // the steps were used up before its turn was over
	// postponed are the groups whose domain would hold back the others' now.
	postponed map[int]bool
}

// growth is one group's part of the plan so far; the pods are known when the
// plan is done, since later pods find room on nodes bought for earlier ones.
type growth struct {
	nodes int
	pods  []model.Batch
	why   string
}

// of is how many pods of a class the group's new nodes take.
func (g *growth) of(c model.ClassID) int {
	i, found := slices.BinarySearchFunc(g.pods, c, func(b model.Batch, c model.ClassID) int { return int(b.Class - c) })
	if !found {
		return 0
	}
	return g.pods[i].Count
}

// waiting sorts out which pending classes are to be served, most urgent first:
// those that the last cycle had no steps for, then by priority, then those whose
// pods are hardest to place, then by size.
func (pl *planner) waiting(rules model.Rules) []*waiting {
	var list []*waiting
	for i := range pl.s.Pending {
		q := &pl.s.Pending[i]
		if v := pl.skipped(q, rules); v != nil {
			pl.skip = append(pl.skip, model.PendingVerdict{
				Class: q.Class, Pods: len(q.Pods), Left: len(q.Pods), Since: q.Oldest, Skipped: v,
			})
			continue
		}
		due, _ := pl.due(q)
		list = append(list, &waiting{Pending: q, left: due, delayed: len(q.Pods) - due, postponed: map[int]bool{}})
	}
	turn := pl.turns(list)
	largest := pl.largestTemplate()
	for _, q := range list {
		q.freedom = pl.freedom(q.Class)
	}
	slices.SortStableFunc(list, func(a, b *waiting) int {
		ca, cb := &pl.s.Classes[a.Class], &pl.s.Classes[b.Class]
		return cmp.Or(
			cmp.Compare(turn[ca.Key], turn[cb.Key]),
			-cmp.Compare(ca.Spec.Priority, cb.Spec.Priority),
			cmp.Compare(a.freedom, b.freedom),
			-cmp.Compare(size(ca.Spec.Requests, largest), size(cb.Spec.Requests, largest)),
			cmp.Compare(ca.Key, cb.Key),
		)
	})
	return list
}

// freedom puts those first that are harder to place: those that want one form of a
// group's nodes, and are no further coupled; pods that depend on whole domains; then
// those of which a node takes one only. Nodes that others have filled have no room for
// these, which then need nodes of their own.
func (pl *planner) freedom(c model.ClassID) int {
	switch {
	case !pl.w.Bulk(c):
		return 1
	case slices.ContainsFunc(pl.heads, func(h head) bool { return pl.w.Choosy(c, h.group) }):
		return 0
	case pl.w.OnePerNode(c):
		return 2
	}
	return 3
}

// largestTemplate is the yardstick for sizes: the most of each resource that
// any group's node has.
func (pl *planner) largestTemplate() model.Resources {
	var most model.Resources
	for i := range pl.s.Groups {
		if !pl.s.Groups[i].HasTemplate {
			continue
		}
		a := pl.s.Contents.Shapes[pl.s.Groups[i].Shape].Allocatable
		most.MilliCPU = max(most.MilliCPU, a.MilliCPU)
		most.Memory = max(most.Memory, a.Memory)
	}
	return most
}

// size is the sum of a pod's shares of CPU and memory: first-fit decreasing by
// it fills nodes well.
func size(r, of model.Resources) float64 {
	return fraction(r.MilliCPU, of.MilliCPU) + fraction(r.Memory, of.Memory)
}

func fraction(part, of int64) float64 {
	if of <= 0 {
		return float64(part)
	}
	return float64(part) / float64(of)
}

// skipped says why a class is not to be served now, nil if it is.
func (pl *planner) skipped(q *model.Pending, rules model.Rules) *model.Verdict {
	c := &pl.s.Classes[q.Class]
	scheduler := c.Spec.Pod.Spec.SchedulerName
	if c.Spec.Priority < rules.ExpendableBelow {
		return &model.Verdict{Reason: model.Expendable, Since: q.Oldest,
			Detail: fmt.Sprintf("priority %d < %d", c.Spec.Priority, rules.ExpendableBelow),
			Fix:    "a higher priority, or a lower --expendable-pods-priority-cutoff"}
	}
	if len(pl.p.Allowed) > 0 && !slices.Contains(pl.p.Allowed, scheduler) {
		return &model.Verdict{Reason: model.ForeignScheduler, Since: q.Oldest,
			Detail: schedulerText(scheduler), Fix: "name it in --allowed-scheduler-names"}
	}
	if !q.Refused && !slices.Contains(pl.p.Bypassed, scheduler) {
		if tell := q.Oldest.Add(model.IgnoredAfter); tell.After(pl.s.Now) {
			pl.wake = earliest(pl.wake, tell)
		}
		return &model.Verdict{Reason: model.NotRefused, Since: q.Oldest,
			Detail: schedulerText(scheduler) + " has not looked at them yet"}
	}
	if due, until := pl.due(q); due == 0 {
		return &model.Verdict{Reason: model.ScaleUpDelayed, Since: q.Oldest, Until: until}
	}
	return nil
}

// schedulerText names a scheduler. A pod that is no copy of the API server's may name none.
func schedulerText(name string) string {
	if name == "" {
		return "the scheduler"
	}
	return fmt.Sprintf("scheduler %q", name)
}

// due counts the pods of a class that have waited for as long as they, or the
// flag, wish; until is when the next one will have.
func (pl *planner) due(q *model.Pending) (n int, until time.Time) {
	for _, p := range q.Pods {
		delay := max(pl.p.NewPodDelay, p.ScaleUpDelay)
		at := time.Unix(p.Created, 0).Add(delay)
		if delay == 0 || !at.After(pl.s.Now) {
			n++
			continue
		}
		until = earliest(until, at)
	}
	pl.wake = earliest(pl.wake, until)
	return n, until
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// placeOnExisting puts pods onto the nodes that are there, and onto those that are on their way.
func (pl *planner) placeOnExisting(list []*waiting) {
	pl.w.Allow(pl.stepsLeft() / 2)
	pl.w.Mean(pl.boughtFor(list))
	before := make([]waiting, len(list))
	for i, q := range list {
		before[i] = *q
	}
	m := pl.w.Mark()
	best := inTurn
	pl.placeInTurn(list, best)
	left := pl.leftOver(list)
	if left == 0 || !slices.ContainsFunc(list, func(q *waiting) bool { return q.upcoming > 0 && pl.w.Bulk(q.Class) }) {
		return
	}
	// A packing may have bought the nodes on their way for these very pods, each of which had a place on them.
	try := func(how filling) int {
		pl.w.Undo(m)
		for i, q := range list {
			*q = before[i]
		}
		pl.placeInTurn(list, how)
		return pl.leftOver(list)
	}
	last := inTurn
	for _, how := range []filling{evenly, asBought} {
		last = how
		if n := try(how); n < left {
			best, left = how, n
		}
		if left == 0 {
			break
		}
	}
	if last != best {
		try(best)
	}
}

// filling is how nodes on their way are filled.
type filling int

const (
	inTurn   filling = iota // one node after the other
	evenly                  // as the scheduler does it
	asBought                // those of whole purchases with the pods that they were bought for, and with no others
)

// placeInTurn puts the pods of one class after the other onto nodes that are there, or on their way.
func (pl *planner) placeInTurn(list []*waiting, how filling) {
	var bought map[string]int
	if how == asBought {
		bought = pl.wholePurchases(list)
	}
	for _, q := range list {
		if pl.w.Exhausted() {
			q.outOfSteps, q.unseen = true, true
			continue
		}
		var enough bool
		for _, on := range []schedsim.NodeSet{
			schedsim.OnReady,
			schedsim.OnReady | schedsim.OnComing,
			schedsim.OnReady | schedsim.OnComing | schedsim.OnReturning,
		} {
			var put []schedsim.Put
			if how == evenly && on != schedsim.OnReady && pl.w.Bulk(q.Class) {
				waits := q.left
				q.left = pl.w.PlaceEvenly(q.Class, waits, schedsim.OnComing)
				q.upcoming += waits - q.left
			}
			if on == schedsim.OnReady {
				put, q.left, enough = pl.w.PlaceNow(q.Class, q.left, pl.stepsLeft())
			} else {
				put, q.left, enough = pl.w.Place(q.Class, q.left, on, pl.stepsLeft())
			}
			if on == schedsim.OnReady {
				q.existing = len(q.Pods) - q.delayed - q.left
				pl.disagreements(q, put)
				if q.existing > 0 {
					pl.applyStepBrakes(q.Class)
				}
				if n := min(q.left, bought[pl.s.Classes[q.Class].Digest()]); n > 0 {
					q.left, q.upcoming = q.left-n, q.upcoming+n
				}
			} else {
				// Those that fit a ready node only beside pods on others wait for these, too.
				ready, coming, _ := pl.w.CountByKind(put)
				q.upcoming += ready + coming
			}
			if q.left == 0 || !enough {
				break
			}
		}
		q.outOfSteps = !enough
		q.unseen = q.unseen || q.outOfSteps
	}
}

// wholePurchases are how many pods of each class, by digest, nodes were bought for that are all on their way. No others
// are placed on these. A group is left out if some of its nodes on their way were not bought so, or for pods whose
// place others depend on: we err to placing them one after the other.
func (pl *planner) wholePurchases(list []*waiting) map[string]int {
	coupled := map[string]bool{}
	for _, q := range list {
		coupled[pl.s.Classes[q.Class].Digest()] = !pl.w.Bulk(q.Class)
	}
	coming := map[int][]model.NodeID{} // by group
	for id, n := range pl.s.Nodes {
		if n.Kind == model.Coming {
			coming[n.Group] = append(coming[n.Group], model.NodeID(id))
		}
	}
	bought := map[string]int{}
	for i := range pl.s.Groups {
		units, whole := 0, true
		for j := range pl.s.Groups[i].Asks {
			a := &pl.s.Groups[i].Asks[j]
			units += len(a.Units)
			whole = whole && a.Whole() && !slices.ContainsFunc(a.For, func(class string) bool { return coupled[class] })
		}
		if !whole || len(coming[i]) != units {
			continue
		}
		for _, a := range pl.s.Groups[i].Asks {
			for j, class := range a.For {
				bought[class] += a.Pods[j]
			}
		}
		for _, id := range coming[i] {
			pl.w.Shut(id)
		}
	}
	return bought
}

// boughtFor are the nodes that were bought for each class that waits: those on their way, by group, and
// those that have come so lately that the scheduler may not have looked at its pods since.
func (pl *planner) boughtFor(list []*waiting) map[model.ClassID]schedsim.Bought {
	of := map[string]schedsim.Bought{} // by a class's digest
	bought := func(class string) schedsim.Bought {
		if _, ok := of[class]; !ok {
			of[class] = schedsim.Bought{Groups: map[int]bool{}, Nodes: map[model.NodeID]bool{}}
		}
		return of[class]
	}
	for i := range pl.s.Groups {
		for _, a := range pl.s.Groups[i].Asks {
			for _, class := range a.For {
				bought(class).Groups[i] = true
			}
		}
	}
	var wake time.Time
	for _, a := range pl.s.Arrivals {
		until := a.Ready.Add(disagreeAfter + time.Minute) // first they are judged beside it (disagreements)
		id, ok := pl.node(a.Node)
		if !ok || a.Ready.IsZero() || !until.After(pl.s.Now) {
			continue
		}
		wake = earliest(wake, until)
		for _, class := range a.For {
			bought(class).Nodes[model.NodeID(id)] = true
		}
	}
	if len(of) == 0 {
		return nil
	}
	meant := map[model.ClassID]schedsim.Bought{}
	for _, q := range list {
		if b, ok := of[pl.s.Classes[q.Class].Digest()]; ok {
			meant[q.Class] = b
		}
	}
	if len(meant) > 1 { // one may leave another's node alone until then
		pl.wake = earliest(pl.wake, wake)
	}
	return meant
}

// awaitUnread leaves pods to nodes that a leader before this one bought for their class, of a group that has not been
// read yet. What these nodes are, and how many of the pods they are for, is not known: we err to waiting.
func (pl *planner) awaitUnread(list []*waiting) {
	if len(pl.s.Unread) == 0 {
		return
	}
	until := map[string]time.Time{}
	for _, x := range pl.s.Unread {
		for _, class := range x.For {
			until[class] = model.Latest(until[class], x.Until)
		}
	}
	for _, q := range list {
		if over, ok := until[pl.s.Classes[q.Class].Digest()]; ok && q.left > 0 {
			q.upcoming, q.left = q.upcoming+q.left, 0
			pl.wake = earliest(pl.wake, over)
		}
	}
}

func (pl *planner) leftOver(list []*waiting) int {
	n := 0
	for _, q := range list {
		n += q.left
	}
	return n
}

// candidates finds the groups that have a template.
func (pl *planner) candidates() {
	pl.grown = make([]growth, len(pl.s.Groups))
	for i := range pl.s.Groups {
		if t, ok := pl.w.GroupTemplate(i); ok {
			pl.heads = append(pl.heads, head{group: i, template: t})
		}
	}
}

// record counts nodes that the plan adds to a group.
func (pl *planner) record(group, nodes int, why string) {
	g := &pl.grown[group]
	g.nodes += nodes
	if nodes > 0 && g.why == "" {
		g.why = why
	}
}

// result says what became of each class, and of each group for it.
func (pl *planner) result() Result {
	pl.stepped(pl.step)
	notices, until := pl.notices()
	r := Result{
		Tighter: pl.tighter, Options: pl.options, Wake: earliest(pl.wake, until), Notices: notices, Brakes: pl.brakes,
		Shares: pool.Shown(pl.limits.s, pl.limits.pooled),
	}
	loads := pl.w.Planned()
	for gi := range pl.grown {
		g := &pl.grown[gi]
		g.nodes, g.pods = loads[gi].Nodes, loads[gi].Pods
		if g.nodes == 0 {
			continue
		}
		sg := &pl.s.Groups[gi]
		if where := pl.lands(gi); where != "" {
			g.why += "; " + where
		}
		r.Grow = append(r.Grow, model.Growth{
			Group: sg.ID, From: sg.Expected, To: sg.Expected + g.nodes, Pods: g.pods, Why: g.why,
		})
		r.Nodes += g.nodes
	}
	if len(r.Grow) > 0 {
		pl.bound(&r)
	}
	r.Pending = pl.skip
	pl.endEarly(pl.list, &r)
	for _, q := range pl.list {
		v := model.PendingVerdict{
			Class: q.Class, Pods: len(q.Pods), Existing: q.existing, Upcoming: q.upcoming,
			Planned: q.planned, Left: q.left, Delayed: q.delayed, Since: q.Oldest, Disagrees: q.disagrees,
		}
		v.Groups = pl.explain(q)
		r.Pending = append(r.Pending, v)
	}
	slices.SortFunc(r.Pending, func(a, b model.PendingVerdict) int { return cmp.Compare(a.Class, b.Class) })
	return r
}

// groupOf names a group.
func (pl *planner) groupOf(i int) provider.GroupID { return pl.s.Groups[i].ID }
