package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// group is what we know of a group.
type group struct {
	id   provider.GroupID
	pool provider.PoolID
	// sighted: a target of it has been read.
	sighted  bool
	expected int
	// written is when our last write ended; an inventory whose AsOf is not
	// after it does not change what is expected (rules L2, L3).
	written time.Time
	// A short rest after a call that failed, and why; unsure: a write failed, and
	// no newer read has shown the target.
	pausedUntil time.Time
	failure     string
	unsure      bool
	backoff     model.Backoff
	// refused is the rest of removals that the cloud refuses, and refusals how many
	// bursts of refusals there were in a row, the last from refusedAt on.
	refused   model.Backoff
	refusals  int
	refusedAt time.Time
	// endings are the machines that were ended because something was amiss with them.
	endings model.Endings
	// strikes counts growths in a row that ended without an answer, throttled those that
	// the cloud had no time for, and limited those that the pool's maximum refused, the
	// last at limitedAt.
	strikes, throttled, limited int
	limitedAt                   time.Time
	// conflicts counts those that somebody's write to the target was in the way of, the
	// last at conflictAt.
	conflicts  int
	conflictAt time.Time
	// duds counts the nodes in a row that did not become ready in time.
	duds int
	// stalls: what makes its machines does not work; stalled is when it was last seen
	// not to, or, since then, to work again.
	stalls  bool
	stalled time.Time
	// asks are the growths in flight, oldest first; instances all that the last
	// picture had.
	asks      []model.Ask
	instances map[provider.InstanceID]*instance
	records   []*instance // by index of the last picture's instances
	// before is the AsOf of the picture that was last taken in with the group in it, and
	// skew how far the cloud's clock was off when it dated the newest machine, at skewAt.
	before       time.Time
	skew         time.Duration
	skewAt       time.Time
	missingSince time.Time
	unhealthy    *model.Verdict
	last         lasts
	// pictured is the turn of the last picture that had it; absent counts those in a row
	// that lacked it, the last at absentAt.
	pictured uint64
	absent   int
	absentAt time.Time

	// What follows is counted anew in each Fold.
	counts       model.Counts
	registered   int // nodes that the target counts
	missing      int
	overdue      int
	kept         int
	unexplained  int // of those two: the cloud has not said that it has no machines for them
	keptSince    time.Time
	neverStarted string
	waiting      []model.Waiting
	due          time.Time
}

// instance is what we know of one instance.
type instance struct {
	first   time.Time // when it was first seen; zero: not yet
	least   time.Time // it cannot be older: the picture before that lacked it; zero: unknown
	removed time.Time // when our removal of it ended
	// vanished is when its node was last seen to be gone, while it was not.
	vanished time.Time
	// lost is when it lost a node that nobody had begun to remove. presumed: nobody saw
	// that, and it is too old to be on its way.
	lost     time.Time
	presumed bool
	// stray is the node that it had, while that is there and no id leads to it.
	stray   string
	turn    uint64 // of the Fold that last saw it
	node    string // its node, empty if it has none
	counted bool   // the target counts that node
	state   model.NodeState
	since   time.Time // the node's creation
	// asked: it is some ask's unit, or was there without one.
	asked bool
	// failed: that the cloud could not make it is on record.
	failed bool
	// failing is since when the cloud has been seen to fail to make it, and try again;
	// zero: it does not. looks counts the pictures that showed it, the last of lookedAt.
	failing  time.Time
	looks    int
	lookedAt time.Time
}

// begin empties what is counted anew.
func (g *group) begin() {
	g.counts, g.registered, g.missing, g.overdue, g.kept, g.unexplained, g.neverStarted = model.Counts{}, 0, 0, 0, 0, 0, ""
	g.keptSince = time.Time{}
	g.waiting, g.due = g.waiting[:0], time.Time{}
}

// fill finds the record of each instance of a picture, and forgets those of
// others. It gives the nodes that those had and that nobody was removing.
func (g *group) fill(pg *provider.Group) (strays []string) {
	g.records = g.records[:0]
	for i := range pg.Instances {
		in := g.instances[pg.Instances[i].ID]
		if in == nil {
			in = &instance{}
			g.instances[pg.Instances[i].ID] = in
		}
		g.records = append(g.records, in)
	}
	if len(g.instances) == len(g.records) {
		return nil
	}
	there := make(map[*instance]bool, len(g.records))
	for _, in := range g.records {
		there[in] = true
	}
	maps.DeleteFunc(g.instances, func(_ provider.InstanceID, in *instance) bool {
		if !there[in] && in.node != "" && in.state != model.StateBeingDeleted {
			strays = append(strays, in.node)
		}
		return !there[in]
	})
	return strays
}

// wake brings the instant forward at which time alone changes the group.
func (g *group) wake(at time.Time) {
	if g.due.IsZero() || at.Before(g.due) {
		g.due = at
	}
}

// standing is what is known of the group; inherited are the cluster's last
// growth, removal and failure where its own are not known.
func (g *group) standing(inherited lasts) model.GroupStanding {
	last := g.last.or(inherited)
	return model.GroupStanding{
		Expected: g.expected, Backoff: g.backoff, PausedUntil: g.pausedUntil, Failure: g.failure, Unsure: g.unsure,
		Asks: copyOf(g.asks), Counts: g.counts, Unhealthy: g.unhealthy,
		Overdue: g.overdue, Kept: g.kept, KeptSince: g.keptSince, Waiting: append([]model.Waiting(nil), g.waiting...),
		Missing: g.missing, MissingSince: g.missingSince, Due: g.due, Refused: g.refused, Endings: g.endings,
		LastGrowth: last.growth, LastRemoval: last.removal, LastFailure: last.failure, FailureWhy: last.why,
	}
}

// settled reports whether the group is as it was asked to be, and a read that began
// after our last write to it has shown that.
func (g *group) settled() bool {
	return g.sighted && !g.unsure && g.absent == 0 && len(g.asks) == 0 && g.missing == 0 && len(g.waiting) == 0 &&
		g.counts.BeingDeleted == 0 && g.before.After(g.written)
}

// targets takes over observed targets where no write of ours is newer.
func (l *Ledger) targets(seen model.Observation) {
	inv := &seen.Inventory
	if inv.AsOf.IsZero() {
		return
	}
	for i := range inv.Groups {
		pg := &inv.Groups[i]
		g := l.group(pg.ID)
		g.pool, g.pictured = pg.Pool, l.turn
		if pg.Err != nil {
			continue // it stays as it is known; never read yet, nothing is known of it, least of all zero
		}
		if !g.sighted || (inv.AsOf.After(g.written) && !l.busy(pg.ID)) {
			g.expected, g.unsure, g.sighted = pg.Target, false, true
		}
	}
	if len(inv.Groups) == 0 {
		return // an answer without groups forgets nothing
	}
	var absent []provider.GroupID
	for id, g := range l.groups {
		if g.pictured == l.turn || l.busy(id) {
			g.absent = 0
			continue
		}
		absent = append(absent, id)
	}
	slices.Sort(absent) // what changed is told in this order
	for _, id := range absent {
		g := l.groups[id]
		if inv.AsOf.After(g.absentAt) {
			g.absent, g.absentAt = g.absent+1, inv.AsOf
		}
		// Who makes the picture holds a group that it knew for a while (rule P7). One
		// that is only remembered has not been known to it.
		if g.sighted || g.absent >= forgetAfter {
			delete(l.groups, id)
			l.changed(model.Change{Kind: model.GroupForgotten, Group: g.id})
		}
	}
}

// forgetAfter is how many pictures in a row must lack a remembered group.
const forgetAfter = 3

func (l *Ledger) changed(c model.Change) { l.changes = append(l.changes, c) }
