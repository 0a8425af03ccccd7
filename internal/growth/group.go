package growth

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Fold is what all groups share of one fold of the ledger: what they read, and what they
// tell beyond themselves.
type Fold struct {
	Rules model.Rules
	// Turn counts the folds, from 1.
	Turn uint64
	Seen *model.Observation
	// Calls are those under way.
	Calls map[string]model.Call
	// Halted: the cluster is unhealthy. People are at work, and no time runs of machines
	// that have lost their node.
	Halted bool
	// Inherited: an earlier leader died, and may have done what its memory does not say.
	Inherited bool
	// Waits are the classes that the last plan found pending, by digest.
	Waits []string

	// Strays are nodes whose instance is listed no more, with the group that had it.
	Strays map[string]provider.GroupID
	// Arrivals are the nodes that have come for pods that may still wait.
	Arrivals []model.Arrival
	// Closed are the asks that are over since this fold began.
	Closed  []model.Ask
	Changes []model.Change

	fresh []*provider.Instance
}

func (f *Fold) changed(c model.Change) { f.Changes = append(f.Changes, c) }

// Lasts are when things last happened, zero if never, and what failed then.
type Lasts struct {
	Growth, Removal, Failure time.Time
	Why                      string
	// Demand is the last growth for anything but a move.
	Demand time.Time
}

// Grew takes in the end of a growth.
func (t *Lasts) Grew(o model.Outcome) {
	if t.Growth = o.Ended; !o.Call.Reason.OfMove() {
		t.Demand = o.Ended
	}
}

// Or fills in for what has not happened yet.
func (t Lasts) Or(o Lasts) Lasts {
	if t.Growth.IsZero() {
		t.Growth = o.Growth
	}
	if t.Demand.IsZero() {
		t.Demand = o.Demand
	}
	if t.Removal.IsZero() {
		t.Removal = o.Removal
	}
	if t.Failure.IsZero() {
		t.Failure, t.Why = o.Failure, o.Why
	}
	return t
}

// longOver reports whether all that is too long ago for any delay to run.
func (t *Lasts) longOver(rules model.Rules, now time.Time) bool {
	return now.Sub(model.Latest(t.Growth, t.Removal, t.Failure)) > rules.BackoffReset
}

// Trust brings times that lie ahead back to now. Alone is for how long no process led, or how far the clock has jumped:
// no delay has run then.
func (t *Lasts) Trust(now time.Time, alone time.Duration) {
	for _, at := range []*time.Time{&t.Growth, &t.Demand, &t.Removal, &t.Failure} {
		if !at.IsZero() {
			*at = model.Earlier(at.Add(alone), now)
		}
	}
}

// Group is what is known of a group.
type Group struct {
	ID   provider.GroupID
	Pool provider.PoolID
	// Sighted: a target of it has been read.
	Sighted  bool
	Expected int
	// written is when our last write ended; an inventory whose AsOf is not
	// after it does not change what is expected (rules L2, L3).
	written time.Time
	// unsure: a write failed, and no newer read has shown the target.
	unsure bool
	// agreed is when the last growth that the cloud agreed to ended, and from the target before it.
	agreed time.Time
	from   int
	// doubted are the machines whose removal had an unknown end since the target was last
	// known.
	doubted []provider.InstanceID
	Rests   model.Rests
	// duds counts the nodes in a row that did not become ready in time.
	duds int
	// stalls: what makes its machines does not work. The deadline is that of all units: it
	// is stopped for as long.
	stalls   bool
	deadline model.Deadline
	// asks are the scale-ups in flight, oldest first; machines all instances that the last
	// picture had.
	asks     []model.Ask
	machines map[provider.InstanceID]*machine
	records  []*machine // by index of the last picture's instances
	// away are machines without a node that pictures lack and that we have not removed. They count for nothing, and are
	// forgotten after a while.
	away map[provider.InstanceID]*machine
	// ahead is how far the clock that dates instances was ahead of the one that dates nodes at the most, at aheadAt.
	ahead   time.Duration
	aheadAt time.Time
	// before is the AsOf of the picture that was last taken in with the group in it, and
	// Skew how far the cloud's clock was off when it dated the newest machine, at skewAt.
	before       time.Time
	Skew         time.Duration
	skewAt       time.Time
	missingSince time.Time
	back         []time.Time // when machines registered lately that were not waited for any more
	unhealthy    *model.Verdict
	Last         Lasts
	// pictured is the turn of the last picture that had it; absent counts those in a row
	// that lacked it, the last at absentAt.
	pictured uint64
	absent   int
	absentAt time.Time
	// remnant: the group is forgotten but for its rests and when things last happened.
	remnant bool

	// What follows is counted again in each fold.
	Counts       model.Counts
	registered   int // nodes that the target counts
	ending       int // see model.GroupStanding
	missing      int
	overdue      int
	kept         int
	unexplained  int // of those two: the cloud has not said that it has no machines for them
	keptSince    time.Time
	neverStarted string
	waiting      []model.Waiting
	due          time.Time
}

// New is a group of which nothing is known.
func New(id provider.GroupID) *Group {
	return &Group{ID: id, machines: map[provider.InstanceID]*machine{}, away: map[provider.InstanceID]*machine{}}
}

// Begin empties what each fold counts again.
func (g *Group) Begin() {
	g.Counts, g.registered, g.ending, g.missing, g.neverStarted = model.Counts{}, 0, 0, 0, ""
	g.overdue, g.kept, g.unexplained = 0, 0, 0
	g.keptSince = time.Time{}
	g.waiting, g.due = g.waiting[:0], time.Time{}
}

// Fill finds the record of each instance of a picture, and forgets those of
// others. Nodes of those that were not being removed are strays.
func (g *Group) Fill(f *Fold, pg *provider.Group) {
	g.records = g.records[:0]
	maps.DeleteFunc(g.away, func(_ provider.InstanceID, in *machine) bool {
		return !f.Seen.Now.Before(in.forgotten(f.Rules.Provision(pg)))
	})
	for i := range pg.Instances {
		id, created := pg.Instances[i].ID, pg.Instances[i].Created
		in := g.machines[id]
		if in == nil {
			in = g.listed(id, created)
			g.machines[id] = in
		}
		in.absent, in.dated = 0, created
		g.records = append(g.records, in)
	}
	if len(g.machines) == len(g.records) {
		return
	}
	there := make(map[*machine]bool, len(g.records))
	for _, in := range g.records {
		there[in] = true
	}
	maps.DeleteFunc(g.machines, func(id provider.InstanceID, in *machine) bool {
		if there[in] || in.leftWithoutNode() {
			return false // until enough pictures lack it
		}
		if g.stray(f, in); in.state != model.StateBeingDeleted {
			g.withoutNode(f, in)
			g.leave(f, id, in)
		}
		return true
	})
}

// listed is the record of a machine that the picture before lacked: its own, or that of a new one. Another one may have
// its id, and was made at another time.
func (g *Group) listed(id provider.InstanceID, created time.Time) *machine {
	in := g.away[id]
	delete(g.away, id)
	if in == nil || !in.dated.Equal(created) {
		return &machine{}
	}
	return in
}

// leave remembers a machine without a node that pictures lack: they may be wrong, and another machine is asked for
// in its place. Listed again, it must not pass for that one, whose time has run before; nor for one that was made just
// now, whose node no older one can be.
func (g *Group) leave(f *Fold, id provider.InstanceID, in *machine) {
	if in.leftWithoutNode() || (in.tie == strayed || in.tie == unbound) && in.removed.IsZero() {
		in.left, in.asked, g.away[id] = f.Seen.Now, false, in // its unit has none now
	}
}

// stray remembers the node of a machine that pictures lack.
func (g *Group) stray(f *Fold, in *machine) {
	if in.tie == bound && in.state != model.StateBeingDeleted {
		f.Strays[in.node] = g.ID
	}
}

// Target takes over what a picture says of the group, where no write by Plimsoll is newer, nor
// under way.
func (g *Group) Target(f *Fold, pg *provider.Group, busy bool) {
	g.Pool, g.pictured, g.remnant = pg.Pool, f.Turn, false
	if pg.Err != nil {
		return // it stays as it is known; never read yet, nothing is known of it, least of all zero
	}
	if !g.Sighted || (f.Seen.Inventory.AsOf.After(g.written) && !busy) {
		if g.unseen(pg.Target, f.Seen.Inventory.AsOf) {
			g.unsure = true
			return
		}
		g.Expected, g.unsure, g.doubted, g.Sighted = pg.Target, false, nil, true
	}
}

// unseen reports whether a target is that from before a growth that the cloud has agreed to a moment ago, whatever was
// written since. What shows it may be older than its date, so that the agreement counts: else the same
// nodes would be bought elsewhere as well. Where another client has taken the scale-up back, pods wait for
// that moment longer.
func (g *Group) unseen(target int, asOf time.Time) bool {
	return g.Sighted && target == g.from && target < g.Expected && asOf.Before(g.agreed.Add(model.Patience))
}

// forgetAfter is how many pictures in a row must lack a remembered group, or a machine without its node.
const forgetAfter = 3

// CountAbsence counts the pictures in a row that lack the group.
func (g *Group) CountAbsence(f *Fold, busy bool) {
	if !g.isAbsent(f, busy) {
		g.absent = 0
	} else if asOf := f.Seen.Inventory.AsOf; asOf.After(g.absentAt) {
		g.absent, g.absentAt = g.absent+1, asOf
	}
}

// isAbsent reports whether the picture lacks the group, and nothing of it is under way.
func (g *Group) isAbsent(f *Fold, busy bool) bool { return g.pictured != f.Turn && !busy }

// Forgotten reports whether an absent group is not heard of any more. Who makes the picture
// holds a group that it knew for a while (rule P7); one that is only remembered has not been
// known to it.
func (g *Group) Forgotten(f *Fold, busy bool) bool {
	return g.isAbsent(f, busy) && (g.Sighted || g.absent >= forgetAfter)
}

// Forget gives what stays of a forgotten group: its rests, and when things last happened, while they count, since it
// may come back; nil if none do. Its nodes are strays. It reports whether more was known of it until now.
func (g *Group) Forget(f *Fold) (left *Group, more bool) {
	now := f.Seen.Now
	for _, in := range g.machines {
		g.stray(f, in)
	}
	failed, ended := g.Rests.Of(model.RestFailed), g.Rests.Of(model.RestEnded)
	if (failed.Since.IsZero() || longOver(f.Rules, failed, now)) && !ended.Stands(now) &&
		g.Last.longOver(f.Rules, now) {
		return nil, !g.remnant
	}
	left = New(g.ID)
	left.Rests, left.Last, left.remnant = g.Rests, g.Last, true
	left.absent, left.absentAt = g.absent, g.absentAt
	return left, !g.remnant
}

// Has reports whether a node was that of an instance, by its index in the picture, when it was last seen.
func (g *Group) Has(instance int, node string) bool {
	in := g.records[instance]
	return in.tie == bound && in.node == node
}

// See takes in the node of an instance, by the index of the instance in the picture: in
// which state it is, whether the target counts it, and whether it goes since its machine does. It reports whether the
// node has turned ready since it was last seen, or stopped to be. It is called for each node of the cluster: its
// arguments fit into registers.
func (g *Group) See(
	turn uint64, instance int, n *corev1.Node, state model.NodeState, counted, ends bool,
) (turned bool) {
	g.Counts.Add(state, n)
	if counted {
		g.registered++
	}
	if state == model.StateNeverStarted && g.neverStarted == "" {
		g.neverStarted = n.Name
	}
	rec := g.records[instance]
	same := rec.tie == bound && rec.node == n.Name
	turned = same && (rec.state == model.StateReady) != (state == model.StateReady)
	rec.tie, rec.node, rec.since = bound, n.Name, n.CreationTimestamp.Time
	rec.state, rec.turn, rec.counted, rec.ends = state, turn, counted, ends
	if !same && state == model.StateReady {
		rec.ready = model.ReadinessChanged(n)
	}
	return turned
}

// SeeAgain is See for a node that is as it was when it was last seen, ready and counted. It reports false, and does
// nothing, where its instance was last that of another node.
func (g *Group) SeeAgain(turn uint64, instance int, n *corev1.Node, name string) bool {
	rec := g.records[instance]
	if rec.tie != bound || rec.node != name {
		return false
	}
	g.Counts.Add(model.StateReady, n)
	g.registered++
	rec.turn = turn
	return true
}

// Wake brings the instant forward at which time alone changes the group.
func (g *Group) Wake(at time.Time) {
	if g.due.IsZero() || at.Before(g.due) {
		g.due = at
	}
}

// Standing is what is known of the group; inherited are the cluster's last
// growth, removal and failure where its own are not known.
func (g *Group) Standing(inherited Lasts) model.GroupStanding {
	last := g.Last.Or(inherited)
	return model.GroupStanding{
		Expected: g.Expected, Ending: g.ending, Rests: slices.Clone(g.Rests), Unsure: g.unsure,
		Written: g.written,
		Asks:    copyOf(g.asks), Counts: g.Counts, Unhealthy: g.unhealthy,
		Overdue: g.overdue, Kept: g.kept, KeptSince: g.keptSince, Waiting: append([]model.Waiting(nil), g.waiting...),
		Back: slices.Clone(g.back), Missing: g.missing, MissingSince: g.missingSince, Due: g.due,
		LastGrowth: last.Growth, LastDemand: last.Demand, LastRemoval: last.Removal,
		LastFailure: last.Failure, FailureWhy: last.Why,
	}
}

// Settled reports whether the group is as it was asked to be, and a read that began
// after our last write to it has shown that.
func (g *Group) Settled() bool {
	return g.remnant || g.Sighted && !g.unsure && g.absent == 0 && len(g.asks) == 0 && g.missing == 0 &&
		len(g.waiting) == 0 && g.Counts.BeingDeleted == 0 && g.before.After(g.written)
}

// Ask is the scale-up of an id that is in flight; ok is false if there is none.
func (g *Group) Ask(id string) (a model.Ask, ok bool) {
	i := slices.IndexFunc(g.asks, func(a model.Ask) bool { return a.ID == id })
	if i < 0 {
		return model.Ask{}, false
	}
	return g.asks[i], true
}

// ReadySince are the nodes of the group that are ready and were made after an instant, sorted.
func (g *Group) ReadySince(t time.Time) (names []string) {
	for _, in := range g.machines {
		if in.tie == bound && in.state == model.StateReady && in.since.After(t) {
			names = append(names, in.node)
		}
	}
	slices.Sort(names)
	return names
}

// Calm reports whether no time runs in the group, and nothing of it is under way: while nothing else is seen
// of it, it stays what it is.
func (g *Group) Calm(pg *provider.Group) bool {
	return g.Settled() && !g.remnant && len(pg.Holds) == 0 && !g.stalls && len(g.Rests) == 0 && len(g.doubted) == 0 &&
		g.Skew == 0 && g.Counts.Young == 0 && g.Counts.NeverStarted == 0 && g.unhealthy == nil
}

// ReadAgain takes in that a newer picture shows the same of a calm group.
func (g *Group) ReadAgain(pg *provider.Group, asOf time.Time) {
	if pg.Err == nil {
		g.before = asOf
	}
}

func copyOf(asks []model.Ask) []model.Ask {
	out := slices.Clone(asks)
	for i := range out {
		out[i].Units = slices.Clone(out[i].Units)
	}
	return out
}
