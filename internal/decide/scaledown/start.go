package scaledown

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// starts decides which unneeded nodes begin to go now. It is counted down as
// they do.
type starts struct {
	Input
	*minimums
	budgets  *budget.Book
	parallel int // how many more may be on their way out
	drains   int // and how many of those may have pods of their own
	open     int // how many are on their way out
	// unready are the nodes that the cluster's health counts as not ready, of all. A node
	// that begins to go counts in neither.
	unready, all int
	cooldown     *model.Verdict
	unseen       string // a pod that came for an evicted one, and that the scheduler has not looked at
	begun        map[model.NodeID]bool
	// words says how long an unneeded node has to wait, by that time: many nodes wait for the same one.
	words map[time.Duration]string
	// waits is the verdict on the last of them.
	waits *model.Verdict
	// leave are the controllers that have pods on nodes that are on their way out, with one of those nodes.
	leave map[types.UID]string
}

func newStarts(in Input, least *minimums) *starts {
	s, policy := in.Snapshot, in.Policy
	p := policy.ScaleDown
	b := &starts{Input: in, minimums: least.clone(), budgets: s.Book(policy.Budgets),
		parallel: p.MaxParallelism, drains: p.MaxDrains,
		begun: map[model.NodeID]bool{}, words: map[time.Duration]string{},
		leave: map[types.UID]string{}}
	b.unseen, _ = in.Room.Unseen()
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Kind != model.Leaving || n.Standing.Drain == nil || n.Standing.Drain.Stage == model.Removed {
			continue
		}
		b.leaves(n)
		b.open++
		b.parallel--
		// Of a removal that a leader before this one began it is not known whether pods are being evicted.
		if d := n.Standing.Drain; d.Occupied || d.Group == "" && n.Group >= 0 {
			b.drains--
		}
	}
	b.unready, b.all = policy.Rules.Unready(s.Counts, s.Others)
	if !p.LocalDelays {
		b.cooldown = cooldown(s.Now, p, lasts{s.LastGrowth, s.LastRemoval, s.LastFailure, s.FailureWhy})
	}
	return b
}

// lasts are when things last happened in the cluster or in a group, and what failed.
type lasts struct {
	growth, removal, failure time.Time
	why                      string
}

// cooldown says which delay after something that happened is not over yet.
func cooldown(now time.Time, p model.ScaleDownPolicy, last lasts) *model.Verdict {
	for _, c := range []struct {
		what, why string
		since     time.Time
		delay     time.Duration
	}{
		{"scale-up", "", last.growth, p.DelayAfterAdd},
		{"removal", "", last.removal, p.DelayAfterDelete},
		{"failed removal", last.why, last.failure, p.DelayAfterFailure}, // why: nothing where it is not known any more
	} {
		if until := c.since.Add(c.delay); !c.since.IsZero() && until.After(now) {
			v := gate.Cooldown(c.delay, c.what, c.why)
			v.Until = until
			return v
		}
	}
	return nil
}

// turns is the time within which each class of waiting pods has its turn, even if one
// cycle has no steps for all: classes that it did not reach come first in the next, some
// seconds later. The time has an end: otherwise a user who makes many classes of pods
// could keep every node forever.
const turns = 10 * time.Minute

// MayBeNeeded reports whether a node that could go since then may be needed by pods of
// classes, unseen in number, that this cycle had no steps for.
func MayBeNeeded(s *model.Snapshot, unseen int, since time.Time) bool {
	return unseen > 0 && since.Add(turns).After(s.Now)
}

// blocked says what keeps an unneeded node for now, nil if nothing does.
func (b *starts) blocked(c *candidate, since time.Time) *model.Verdict {
	n := b.Snapshot.Nodes[c.node]
	g := &b.Snapshot.Groups[n.Group]
	if v := b.Gate.Closed(n.Group, gate.Time); v != nil {
		return v
	}
	if v := b.off(); v != nil {
		return v
	}
	until, early := b.early(c, since)
	switch {
	case early != nil:
		return early
	case n.Kind != model.Unready && MayBeNeeded(b.Snapshot, b.Unseen, until):
		return &model.Verdict{Reason: model.StepBudget,
			Detail: fmt.Sprintf("pods of %s were not looked at in this cycle, and may need it",
				spelling.Count(b.Unseen, "class")),
			Until: until.Add(turns), Fix: "the next cycles"}
	}
	if v := b.resting(g, n.Group); v != nil {
		return v
	}
	return b.held(c)
}

// off says that no removal begins, nil if they may. One that began would be given back at once, and begin again.
func (b *starts) off() *model.Verdict {
	if b.Policy.ScaleDown.Enabled {
		return nil
	}
	return &model.Verdict{Reason: model.ScaleDownOff, Fix: "--scale-down-enabled"}
}

// early says until when a node has to be unneeded, or not ready, and the verdict while that time runs.
func (b *starts) early(c *candidate, since time.Time) (until time.Time, v *model.Verdict) {
	n := b.Snapshot.Nodes[c.node]
	since, wait, short := b.clock(&b.Snapshot.Groups[n.Group], n, since)
	if until = since.Add(wait); until.After(b.Snapshot.Now) {
		words := b.wanted(wait)
		if w := b.waits; w == nil || w.Reason != short || w.Detail != words || w.Until != until {
			b.waits = &model.Verdict{Reason: short, Detail: words, Until: until}
		}
		v = b.waits
	}
	return until, v
}

// wanted says how long an unneeded node has to be so.
func (b *starts) wanted(wait time.Duration) string {
	words, ok := b.words[wait]
	if !ok {
		words = fmt.Sprintf("%s are wanted", wait)
		b.words[wait] = words
	}
	return words
}

// held says what keeps a node for now whose time has come, nil if nothing does.
func (b *starts) held(c *candidate) *model.Verdict {
	n := b.Snapshot.Nodes[c.node]
	g := &b.Snapshot.Groups[n.Group]
	if v := b.lacking(c); v != nil && !b.hurries(c) {
		return v
	}
	if n.Standing.AwaitVersion != "" || n.Standing.Busy != nil {
		return &model.Verdict{Reason: model.ResourceVersionNotYetSeen}
	}
	if n.Standing.Drain != nil && n.Kind != model.Leaving {
		// Its taint could not be written for sure, nor taken away. A taint that is begun now would be of no removal.
		return &model.Verdict{Reason: model.Cooldown, Detail: "whether its last removal is taken back is not known yet",
			Fix: "an answer of the API server"}
	}
	if until := n.Standing.TaintAfter; until.After(b.Snapshot.Now) {
		return &model.Verdict{Reason: model.Cooldown, Detail: "its taint could not be written", Until: until, Fix: "time"}
	}
	begin := gate.Begin
	if n.Kind == model.Unready {
		begin = gate.BeginUnready
	}
	if v := b.Gate.Closed(n.Group, begin); v != nil {
		return v
	}
	if v := b.room(c.node); v != nil {
		return v
	}
	if g.GoesWhole() {
		return nil // the limits on how many are for its nodes together
	}
	if v := b.unhealthyWithout([]*candidate{c}); v != nil {
		return v
	}
	if b.hurries(c) {
		return nil
	}
	if n.Kind == model.Unready {
		if v := b.Rate.Held(n.Group); v != nil {
			return v
		}
	}
	if v := b.tooMany(c, 1); v != nil {
		return v
	}
	if v := b.overBudget([]*candidate{c}); v != nil {
		return v
	}
	return b.last(c)
}

// hurries reports whether the cloud is about to take the machine of a node that goes for a move: what holds others does
// not hold it.
func (b *starts) hurries(c *candidate) bool {
	x := b.Room.ReplacedBy(c.node)
	return x != nil && x.Move.Reason == model.NodeInterrupted
}

// lacking says what a pod on the node waits for whose like have left other nodes.
func (b *starts) lacking(c *candidate) *model.Verdict {
	if v := b.waitsFor(c); v != nil {
		return v
	}
	if !c.empty() && b.unseen != "" {
		return &model.Verdict{Reason: model.ReplacementWaits, Detail: b.unseen, Fix: "the scheduler is up"}
	}
	return nil
}

// waitsFor says which pod elsewhere has no node, of a controller that has one on the candidate.
func (in *Input) waitsFor(c *candidate) *model.Verdict {
	for _, q := range c.moving {
		if why := in.Room.Lacks(q.Owner); why != "" {
			return &model.Verdict{Reason: model.ReplacementWaits,
				Detail: why + "; a pod of the same controller is here", Fix: "a node for it"}
		}
	}
	return nil
}

func (b *starts) leaves(n *model.Node) {
	for i := range n.Bound {
		if owner := n.Bound[i].Owner; owner != "" {
			b.leave[owner] = n.Name
		}
	}
	if d := n.Standing.Drain; d != nil {
		for i := range d.Evictions { // those that come for them may have no node yet
			if owner := d.Evictions[i].Owner; owner != "" {
				b.leave[owner] = n.Name
			}
		}
	}
}

// last keeps a node that has the last pods of a controller while its others leave other nodes, or have none: for a
// while none would serve. Of the pods of one node the last waits in the drain itself (removal.Pod.Alone).
func (b *starts) last(c *candidate) *model.Verdict {
	if v := lastServing(b.Room, b.Snapshot.Nodes[c.node], c.moving); v != nil {
		return v
	}
	for _, p := range c.moving {
		on := b.leave[p.Owner]
		if on != "" && b.Snapshot.Nodes[c.node].Kind == model.Ready && !b.runsElsewhere(c.node, p.Owner) {
			return &model.Verdict{Reason: model.ReplacementWaits, Fix: "those that come for them have nodes",
				Detail: fmt.Sprintf("pod %s: all others of its controller leave their nodes, as %s", p.Name, on)}
		}
	}
	return nil
}

// lastServing keeps a ready node with the last pods of a controller while another of it has no node.
func lastServing(room *reserve.Room, n *model.Node, leaving []*model.Pod) *model.Verdict {
	if n.Kind != model.Ready {
		return nil // they do not serve
	}
	why, _ := lastOf(room, leaving)
	return why
}

// lastOf is lastServing for pods of ready nodes, of one or of several that go together; with the pod that it is about.
func lastOf(room *reserve.Room, leaving []*model.Pod) (*model.Verdict, *model.Pod) {
	p, why := room.LastServing(leaving)
	if p == nil {
		return nil, nil
	}
	return &model.Verdict{Reason: model.ReplacementWaits, Detail: why, Fix: "a node for it"}, p
}

// runsElsewhere reports whether a controller has a pod on a ready node that does not go.
func (b *starts) runsElsewhere(but model.NodeID, owner types.UID) bool {
	for i := range b.Snapshot.Nodes {
		n, id := b.Snapshot.Nodes[i], model.NodeID(i)
		if id != but && n.Kind == model.Ready && !b.begun[id] && slices.ContainsFunc(n.Bound, func(p model.Pod) bool {
			return p.Owner == owner && p.Flags&model.Terminating == 0
		}) {
			return true
		}
	}
	return false
}

// resting is the delay that holds the group, nil if none does.
func (b *starts) resting(g *model.Group, group int) *model.Verdict {
	local := b.Policy.ScaleDown.LocalDelays
	if _, here := b.Growing[group]; len(b.Growing) > 0 && (!local || here) {
		return b.underWay()
	}
	if local {
		return cooldown(b.Snapshot.Now, b.Policy.ScaleDown, lasts{g.LastGrowth, g.LastRemoval, g.LastFailure, g.FailureWhy})
	}
	return b.cooldown
}

// underWay is the delay after a scale-up that has not ended.
func (b *starts) underWay() *model.Verdict {
	v := gate.Cooldown(b.Policy.ScaleDown.DelayAfterAdd, "scale-up, and one begins now or is under way", "")
	v.Fix = "its end, and time"
	return v
}

// replaced says what keeps a node that goes for a move whose new nodes are ready, nil if nothing does. Its use is not
// asked for; but one that is not ready may come back, and has its time as any other.
func (b *starts) replaced(c *candidate, since time.Time) *model.Verdict {
	n := b.Snapshot.Nodes[c.node]
	if v := b.off(); v != nil {
		return v
	}
	if b.hurries(c) {
		return b.held(c)
	}
	if n.Kind == model.Unready && b.Room.ReplacedBy(c.node).Move.Reason != model.NodeUnready {
		if _, v := b.early(c, since); v != nil {
			return v
		}
	}
	// A delay wakes when it is over. A window that closes until then would wake nothing.
	if v := b.demanded(n.Group); v != nil {
		return v
	}
	return b.held(c)
}

// demanded is the delay that holds the nodes of a group that go for a move, nil if none does: what moves have bought
// does not count. The nodes that came are to be emptied onto while both are paid for.
func (b *starts) demanded(group int) *model.Verdict {
	s, p := b.Snapshot, b.Policy.ScaleDown
	for at, demand := range b.Growing {
		if demand && (!p.LocalDelays || at == group) {
			return b.underWay()
		}
	}
	if p.LocalDelays {
		g := &s.Groups[group]
		return cooldown(s.Now, p, lasts{g.LastDemand, g.LastRemoval, g.LastFailure, g.FailureWhy})
	}
	return cooldown(s.Now, p, lasts{s.LastDemand, s.LastRemoval, s.LastFailure, s.FailureWhy})
}

// never reports whether a limit of zero keeps all nodes like this one.
func (b *starts) never(c *candidate) bool {
	p := b.Policy.ScaleDown
	return p.MaxParallelism == 0 || !c.empty() && p.MaxDrains == 0
}

// unhealthyWithout says that the cluster would be left alone as unhealthy if these nodes,
// of one group, went. They would be rolled back at once, begin to go again, and so on.
func (b *starts) unhealthyWithout(list []*candidate) *model.Verdict {
	unready, all := b.counted(list)
	unready, all = b.unready-unready, b.all-all
	if !b.Policy.Rules.TooMany(unready, all) {
		return nil
	}
	without := "it"
	if len(list) > 1 {
		without = fmt.Sprintf("the group's %d nodes, which go together", len(list))
	}
	return &model.Verdict{Reason: model.ClusterUnhealthy, Fix: "more nodes are ready",
		Detail: fmt.Sprintf("without %s, %d of %s would not be ready: the cluster would count as unhealthy",
			without, unready, spelling.Count(all, "node"))}
}

// counted is what nodes count in the cluster's health while they do not go.
func (b *starts) counted(list []*candidate) (unready, all int) {
	var counts model.Counts
	for _, c := range list {
		n := b.Snapshot.Nodes[c.node]
		counts.Add(n.State, n.Object)
	}
	return b.Policy.Rules.Unready(counts, model.Counts{})
}

// tooMany says which limit on removals at a time keeps so many more nodes like
// this one.
func (b *starts) tooMany(c *candidate, count int) *model.Verdict {
	p := b.Policy.ScaleDown
	switch {
	case b.parallel < count:
		return &model.Verdict{Reason: model.MaxParallelismReached, Detail: fmt.Sprintf("%d at a time", p.MaxParallelism),
			Fix: "a removal's end, or a higher --max-scale-down-parallelism"}
	case !c.empty() && b.drains < count:
		return &model.Verdict{Reason: model.MaxDrainsReached, Detail: fmt.Sprintf("%d with pods at a time", p.MaxDrains),
			Fix: "a drain's end, or a higher --max-drain-parallelism"}
	}
	return nil
}

// overBudget says which budget keeps nodes of one group from going together.
func (b *starts) overBudget(list []*candidate) *model.Verdict {
	counts := map[budget.Reason]int{}
	for _, c := range list {
		counts[b.exits(c)]++
	}
	for _, reason := range budget.Reasons {
		if counts[reason] == 0 {
			continue
		}
		// What goes together counts together, where a budget covers several reasons: we err to waiting.
		if h := b.budgets.Ask(b.Snapshot.Nodes[list[0].node].Group, reason, len(list)); h != nil {
			return &model.Verdict{Reason: model.HeldByBudget, Detail: fmt.Sprintf("%s: %s", h.Budget, h.Detail),
				Until: h.Until, Fix: h.Fix}
		}
	}
	return nil
}

// exits is what a node would go for.
func (b *starts) exits(c *candidate) budget.Reason {
	why := model.Unneeded
	if x := b.Room.ReplacedBy(c.node); x != nil {
		why = x.Move.Reason
	}
	return model.ExitReason(why, b.Snapshot.Nodes[c.node].Kind == model.Unready, !c.empty())
}

// clock says since when the time of an unneeded node runs, how long it must run, and the
// reason until then. For a node that is not ready it begins when the node stopped
// being ready.
func (b *starts) clock(g *model.Group, n *model.Node, since time.Time) (time.Time, time.Duration, model.Reason) {
	if n.Kind == model.Unready {
		wait := b.Policy.ScaleDown.UnreadyTime
		if t := g.Options.ScaleDownUnreadyTime; t != nil {
			wait = *t
		}
		// The time is by another machine's clock. One in the future says nothing.
		if t := model.UnreadySince(n.Object); t.After(since) && !t.After(b.Snapshot.Now) {
			since = t
		}
		return since, wait, model.NotUnreadyLongEnough
	}
	wait := b.Policy.ScaleDown.UnneededTime
	if t := g.Options.ScaleDownUnneededTime; t != nil {
		wait = *t
	}
	return since, wait, model.NotUnneededLongEnough
}

// take counts a removal that begins.
func (b *starts) take(c *candidate) {
	b.minimums.take(c.node)
	b.budgets.Take(b.Snapshot.Nodes[c.node].Group, b.exits(c), 1)
	b.begun[c.node] = true
	b.leaves(b.Snapshot.Nodes[c.node])
	unready, all := b.counted([]*candidate{c})
	b.unready, b.all = b.unready-unready, b.all-all
	if n := b.Snapshot.Nodes[c.node]; n.Kind == model.Unready {
		b.Rate.Take(n.Group)
	}
	b.parallel--
	if !c.empty() {
		b.drains--
	}
}
