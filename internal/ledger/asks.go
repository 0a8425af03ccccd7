package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// progress brings a group's asks up to date with what is seen of it.
//
// Units are interchangeable until they have an instance. What the target has
// and no node stands for is missing, and each missing unit belongs to one ask:
// new instances go to the oldest ask that waits, units that nobody asked for by
// us are an ask that was found, and when fewer are missing than were asked for,
// the newest are dropped.
func (l *Ledger) progress(g *group, pg *provider.Group, seen model.Observation) {
	now := seen.Now
	first := g.before.IsZero()
	// 1. Instances, and whether anybody makes any.
	g.stall(pg, now)
	if now.Sub(g.skewAt) >= skewTold {
		g.skew = 0
	}
	l.instances(g, pg, seen, first)
	// 2. Units whose instance is gone wait for another, or are gone as well.
	g.loseUnits(l.turn)
	// 3. Instances that registered before they were ever seen without a node.
	g.attribute(l.fresh, now, true)
	g.advance(l, now)
	// 4. As many units as are missing.
	g.missing = max(0, g.expected-l.ending(g)-g.registered)
	g.reconcile(pg, seen, first, l.rules.Provision(pg))
	// 5. Instances that are new, for those that have waited longest.
	g.attribute(l.fresh, now, false)
	g.advance(l, now)
	// 6. Instances without a node are waited for; what is not waited for any more, or
	// is again.
	l.wait(g, pg, seen)
	g.await(pg, now)
	l.giveUp(g, pg, now)
	l.close(g)
	// 7. How long nodes have been missing (S4), and the group's health (S2).
	switch {
	case g.missing == 0:
		g.missingSince = time.Time{}
	case g.missingSince.IsZero():
		g.missingSince = now
	}
	l.groupHealth(g, now)
	l.rested(g, now)
	if pg.Err == nil {
		g.before = seen.Inventory.AsOf
	}
}

// ending counts the instances that open calls remove and that are gone already:
// the target is about to go down by them.
func (l *Ledger) ending(g *group) int {
	n := 0
	for _, c := range l.calls {
		if c.Verb != model.Remove || c.Group != g.id {
			continue
		}
		if in := g.instances[c.Instance]; in == nil || in.turn != l.turn || in.state == model.StateBeingDeleted {
			if in == nil || in.node == "" || !in.counted {
				n++
			}
		}
	}
	return n
}

// instances takes in a group's instances. Those that no ask knows are fresh.
func (l *Ledger) instances(g *group, pg *provider.Group, seen model.Observation, first bool) {
	l.fresh = l.fresh[:0]
	for i := range pg.Instances {
		in := &pg.Instances[i]
		rec := g.records[i]
		if rec.first.IsZero() {
			if rec.first = seen.Now; !first {
				rec.least = g.before
			}
			if rec.node == "" {
				g.measure(rec, in, seen.Now) // one with a node is not new, whenever it was first seen
			}
		}
		if rec.turn != l.turn {
			if rec.node != "" {
				// Its node is gone and it is not: its time to register starts anew.
				rec.vanished = seen.Now
				switch {
				case inNodes(seen.Nodes, rec.node):
					l.strays[rec.node], rec.stray = g.id, rec.node // the node is there, and the cloud has another id for it
				case rec.state != model.StateBeingDeleted:
					rec.lost = seen.Now
				}
				rec.asked, rec.failed, rec.presumed = false, false, false
			}
			rec.turn, rec.node, rec.state = l.turn, "", ""
		}
		if in.State == provider.Deleting {
			rec.state = model.StateBeingDeleted
			continue
		}
		if rec.node != "" {
			rec.lost, rec.presumed, rec.stray = time.Time{}, false, ""
			if first {
				rec.asked = true // it was there before us
			}
			if !rec.asked {
				l.fresh = append(l.fresh, in)
			}
			continue
		}
		if !rec.removed.IsZero() && (pg.Err != nil || seen.Inventory.AsOf.Before(rec.removed.Add(model.Patience))) {
			rec.state = model.StateBeingDeleted // ended by us, whatever this picture says
			continue
		}
		if rec.stray != "" && !inNodes(seen.Nodes, rec.stray) {
			rec.vanished, rec.lost, rec.stray = seen.Now, seen.Now, ""
		}
		rec.state = model.StateUnregistered
		l.fresh = append(l.fresh, in)
	}
	slices.SortFunc(l.fresh, func(a, b *provider.Instance) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// wait lists the instances that have no node, each with the time of its unit.
func (l *Ledger) wait(g *group, pg *provider.Group, seen model.Observation) {
	now, provision := seen.Now, l.rules.Provision(pg)
	units := g.unitsOf()
	apart := sync.OnceValue(func() time.Duration { return g.apart(pg) }) // it looks at all instances
	for i := range pg.Instances {
		in, rec := &pg.Instances[i], g.records[i]
		if rec.node != "" || rec.state != model.StateUnregistered {
			continue
		}
		w := model.Waiting{Instance: in.ID, ProviderID: in.ProviderID, NodeName: in.NodeName, Since: rec.made(in), Hold: in.Hold}
		if w.Created = w.Since; rec.least.IsZero() {
			// It was there before the first look: its age is the word of the cloud alone.
			w.Since = rec.first
			if !w.Created.IsZero() {
				w.Created = w.Created.Add(-apart())
			}
		}
		w.Err, w.RetriedUntil = g.whyUnmade(in, rec, seen)
		u := units[in.ID]
		w.Lost = l.loses(rec, u, seen)
		if u != nil && !u.Since.IsZero() {
			w.Since = u.Since
		} else if u != nil && !u.Exists.IsZero() {
			w.Since = u.Exists
			if rec.vanished.IsZero() {
				w.Created = u.Exists // else it is when it lost its node
			}
		}
		if said := in.Created; !said.IsZero() && rec.vanished.IsZero() && said.Before(w.Created) {
			w.Created = said // pictures that lacked it may have been wrong: they make no node another's
		}
		if w.Lost && !rec.presumed {
			w.Created = latest(w.Created, rec.lost) // no node from before can be its own
		}
		if w.Since.IsZero() {
			w.Since = rec.first
		}
		if u != nil {
			w.Since = latest(w.Since, u.Stalled)
		}
		w.Since = latest(w.Since, rec.vanished)
		if u == nil || u.Open() {
			w.Since = latest(w.Since, g.stalled) // what was given up before stays so
		}
		until := w.Since.Add(provision)
		w.Long = !now.Before(until)
		if w.Long {
			rec.state = model.StateLongUnregistered
		} else {
			g.wake(until)
		}
		g.counts.Add(rec.state, nil)
		if w.Lost {
			g.counts.Lost++
		}
		g.waiting = append(g.waiting, w)
	}
	slices.SortFunc(g.waiting, func(a, b model.Waiting) int { return cmp.Compare(a.Instance, b.Instance) })
}

// How long what the cloud fails to make, and tries again, is waited for: for two more
// tries and a little, at least for a while, and not on the word of one or two pictures.
// One transient error must not end a machine that runs seconds later; and what goes on
// failing is better bought elsewhere than waited for until its time is over.
const (
	retriesLeast  = 2 * time.Minute
	retriesMargin = 30 * time.Second
	retriesLooks  = 3
)

// whyUnmade is why the cloud could not make an instance, nil if nothing says that it could
// not, and until when it is waited for all the same, zero if it is not. A new leader begins
// to count anew: we err to waiting.
func (g *group) whyUnmade(in *provider.Instance, rec *instance, seen model.Observation) (*provider.Error, time.Time) {
	if in.State != provider.Creating || in.Err == nil {
		rec.failing, rec.looks, rec.lookedAt = time.Time{}, 0, time.Time{}
		return nil, time.Time{}
	}
	if in.Retry <= 0 {
		return in.Err, time.Time{}
	}
	if rec.failing.IsZero() {
		rec.failing = seen.Now
	}
	if rec.lookedAt.IsZero() || seen.Inventory.AsOf.After(rec.lookedAt) {
		rec.looks, rec.lookedAt = rec.looks+1, seen.Inventory.AsOf
	}
	until := latest(rec.failing, g.stalled).Add(max(retriesLeast, 2*in.Retry+retriesMargin))
	if !seen.Now.Before(until) && rec.looks >= retriesLooks {
		return in.Err, time.Time{}
	}
	if seen.Now.Before(until) {
		g.wake(until) // past it, only another picture changes anything
	}
	return in.Err, until
}

// loses reports whether an instance without a node has lost the one that it had. Only a
// picture that began after the loss can tell that the machine is still there. While the
// cluster is unhealthy the time of such machines does not run: people are at work.
func (l *Ledger) loses(rec *instance, u *model.Unit, seen model.Observation) bool {
	if u != nil && rec.lost.IsZero() && !u.Lost.IsZero() {
		// A leader before us saw it, or found it so.
		rec.lost, rec.presumed = u.Lost, u.Exists.Before(u.Lost)
		if !rec.presumed {
			rec.vanished = latest(rec.vanished, u.Exists)
		}
	}
	if rec.lost.IsZero() || !seen.Inventory.AsOf.After(rec.lost) {
		return false
	}
	if l.unhealthy != nil {
		rec.vanished = seen.Now
	}
	switch {
	case u == nil:
	case rec.presumed:
		u.Lost, u.Since = rec.lost, latest(u.Since, rec.vanished)
	default:
		u.Lost, u.Exists = rec.lost, latest(u.Exists, rec.vanished)
	}
	return true
}

// presumeLost finds, where a group is looked at for the first time, the machines that run
// without a node for longer than any clock is off: they have lost theirs while nobody
// looked. Where as many nodes are at home nowhere, those could be theirs, and nothing is
// presumed. A machine that never registered, and that nobody ended, counts as well: we err
// to leaving a cluster alone in which so much is amiss.
func (l *Ledger) presumeLost(seen *model.Observation) {
	var found []*instance
	for i, g := range l.order {
		pg := &seen.Inventory.Groups[i]
		if !g.before.IsZero() || pg.Err != nil {
			continue
		}
		known := g.unitsOf()
		old := seen.Now.Add(-anyClock - l.rules.Provision(pg))
		for j := range pg.Instances {
			in, rec := &pg.Instances[j], g.records[j]
			if in.State == provider.Running && !in.Created.IsZero() && in.Created.Before(old) &&
				rec.first.IsZero() && rec.turn != l.turn && known[in.ID] == nil {
				found = append(found, rec)
			}
		}
	}
	if len(found) <= l.others.Total {
		return
	}
	for _, rec := range found {
		rec.lost, rec.presumed = seen.Now, true
	}
}

// unitsOf finds the unit of each instance that has one.
func (g *group) unitsOf() map[provider.InstanceID]*model.Unit {
	var units map[provider.InstanceID]*model.Unit
	for i := range g.asks {
		for j := range g.asks[i].Units {
			u := &g.asks[i].Units[j]
			if u.Instance == "" {
				continue
			}
			if units == nil {
				units = map[provider.InstanceID]*model.Unit{}
			}
			units[u.Instance] = u
		}
	}
	return units
}

// stall notes that what makes the group's machines does not work. No time of its units
// runs meanwhile, and each has all of it when it works again: we err to waiting longer.
func (g *group) stall(pg *provider.Group, now time.Time) {
	if slices.ContainsFunc(pg.Holds, func(h provider.Hold) bool { return h.Stalled && h.Stands(now) }) {
		g.stalls, g.stalled = true, now
		return
	}
	if !g.stalls {
		return
	}
	g.stalls, g.stalled = false, now
	for i := range g.asks {
		for j := range g.asks[i].Units {
			if u := &g.asks[i].Units[j]; u.Open() {
				u.Stalled = now // where a later leader finds it
			}
		}
	}
}

// latest is the last of some times.
func latest(t time.Time, more ...time.Time) time.Time {
	for _, m := range more {
		if m.After(t) {
			t = m
		}
	}
	return t
}

// loseUnits takes the instances from units whose instance is gone or on its way
// out. A unit that had registered, or was given up, is over with it. Another one waits
// for what the cloud makes instead, and its time goes on: clouds replace what does not
// join, some of them sooner than we give it up, and nobody would ever learn that no
// machine of the group joins. So one that is replaced late, though another one would
// have joined, has less time than others: we err to giving that up, and trying again
// after a rest.
func (g *group) loseUnits(turn uint64) {
	for i := range g.asks {
		g.asks[i].Units = slices.DeleteFunc(g.asks[i].Units, func(u model.Unit) bool {
			return g.lost(&u, turn) && (!u.Registered.IsZero() || !u.GivenUp.IsZero())
		})
		for j := range g.asks[i].Units {
			if u := &g.asks[i].Units[j]; g.lost(u, turn) {
				since := u.Since
				if since.IsZero() {
					since = u.Exists
				}
				*u = model.Unit{Since: since, Stalled: u.Stalled}
			}
		}
	}
}

func (g *group) lost(u *model.Unit, turn uint64) bool {
	if u.Instance == "" {
		return false
	}
	in := g.instances[u.Instance]
	return in == nil || in.turn != turn || in.state == model.StateBeingDeleted
}

// attribute gives instances, with or without a node, to the units that have
// waited longest. One that some unit has is left there.
func (g *group) attribute(fresh []*provider.Instance, now time.Time, registered bool) {
	if len(fresh) == 0 {
		return
	}
	held := map[provider.InstanceID]bool{}
	for i := range g.asks {
		for j := range g.asks[i].Units {
			held[g.asks[i].Units[j].Instance] = true
		}
	}
	for _, in := range fresh {
		rec := g.instances[in.ID]
		if held[in.ID] || (rec.node != "") != registered {
			continue
		}
		a, u := g.oldestAnonymous()
		if u == nil {
			rec.asked = true // nobody asked for it
			continue
		}
		rec.asked = true
		*u = model.Unit{Instance: in.ID, Exists: rec.made(in), Since: u.Since, Stalled: u.Stalled}
		switch {
		case u.Exists.IsZero():
		case !a.Found:
			u.Exists = latest(u.Exists, a.At) // none is older than our own asking
		case rec.least.IsZero():
			u.Since = latest(u.Since, a.At) // by our own clock; it may be of any age
		}
		switch {
		case rec.presumed:
		case rec.vanished.After(u.Exists):
			u.Exists = rec.vanished
		case u.Exists.IsZero():
			u.Exists = now
		}
	}
}

// anyClock is how far the clock of another machine may be off.
const anyClock = time.Hour

// apart is how far the clock that dates instances may be ahead of the one that dates nodes:
// by what those tell that have both, else by as much as any may be.
func (g *group) apart(pg *provider.Group) time.Duration {
	most, told := time.Duration(0), false
	for i := range pg.Instances {
		if in, rec := &pg.Instances[i], g.records[i]; rec.node != "" && !rec.since.IsZero() && !in.Created.IsZero() {
			most, told = max(most, in.Created.Sub(rec.since)), true
		}
	}
	if !told {
		return anyClock
	}
	return min(most, anyClock)
}

// made is when the cloud made an instance, zero if it does not tell. The cloud's clock may
// be off: an instance was not made after it was first seen, nor before a picture without it.
func (in *instance) made(of *provider.Instance) time.Time {
	if of.Created.IsZero() {
		return of.Created
	}
	return latest(earlier(of.Created, in.first), in.least)
}

// measure takes note of how far the cloud's clock is off, as far as an instance tells that
// is seen for the first time. To be off by less than a minute is nothing: pictures may be
// as much behind. One that runs by then, and seems old, was rather made for something else.
func (g *group) measure(in *instance, of *provider.Instance, now time.Time) {
	if of.Created.IsZero() {
		return
	}
	off := of.Created.Sub(in.made(of)).Truncate(time.Minute)
	if in.least.IsZero() && off == 0 || of.State == provider.Running && off < 0 {
		return // it may be of any age
	}
	g.skew, g.skewAt = off, now
}

// skewTold is for how long what a machine has told of the cloud's clock is taken to be so
// still.
const skewTold = 3 * time.Hour

// oldestAnonymous finds the unit without an instance that has waited longest,
// one that is still waited for if there is any.
func (g *group) oldestAnonymous() (*model.Ask, *model.Unit) {
	var (
		ask  *model.Ask
		late *model.Unit
	)
	for i := range g.asks {
		for j := range g.asks[i].Units {
			u := &g.asks[i].Units[j]
			if u.Instance != "" {
				continue
			}
			if u.GivenUp.IsZero() {
				return &g.asks[i], u
			}
			if late == nil {
				ask, late = &g.asks[i], u
			}
		}
	}
	return ask, late
}

// advance takes units from instance to node to ready, and sees nodes become ready that
// were given up: their ask may be over.
func (g *group) advance(l *Ledger, now time.Time) {
	for _, a := range l.arrivals {
		if a.Group == g.id && a.Ready.IsZero() && g.hasReady(a.Node) {
			l.came(model.Arrival{Node: a.Node, Group: g.id, Ready: now, For: a.For})
		}
	}
	for i := range g.asks {
		a := &g.asks[i]
		for j := range a.Units {
			u := &a.Units[j]
			in := g.instances[u.Instance]
			if u.Instance == "" || in == nil {
				continue
			}
			in.asked = true
			if !u.GivenUp.IsZero() && in.node == "" {
				in.failed = true // it is on record
			}
			if in.node == "" && !u.Registered.IsZero() {
				// It waits for a node again, from when the other one was lost.
				u.Since, u.Exists = time.Time{}, in.vanished
				if u.Exists.IsZero() {
					u.Exists = now
				}
				u.Registered, u.Node, u.Ready = time.Time{}, "", time.Time{}
			}
			if in.node != "" && u.Registered.IsZero() {
				u.Registered, u.Node = in.since, in.node
				if u.Registered.IsZero() {
					u.Registered = now
				}
				u.GivenUp, u.Why = time.Time{}, "" // late, and welcome
			}
			if u.Registered.IsZero() || !u.Ready.IsZero() {
				continue
			}
			switch in.state {
			case model.StateReady:
				u.Ready = now
				l.arrived(g, a, u, now)
			case model.StateNeverStarted, model.StateUnready:
				if u.GivenUp.IsZero() {
					u.GivenUp, u.Why = now, "its node did not become ready"
					l.changed(model.Change{Kind: model.NodeGivenUp, Group: g.id, Instance: u.Instance, Count: 1, Message: "node " + u.Node + " did not become ready"})
					l.came(model.Arrival{Node: u.Node, Group: g.id, For: l.boughtFor(a)})
					if in.state == model.StateNeverStarted && l.failsByDuds(g, a) {
						// Its removal would make the group look well again, and the same be bought.
						l.fail(g, now, &provider.Error{Op: provider.OpGrow, Group: g.id, Kind: provider.Transient, Code: model.CodeNeverStarted,
							Message: fmt.Sprintf("node %s did not become ready in time", u.Node)})
					}
				}
			}
		}
	}
}

// failsByDuds takes note of one more node that did not become ready, and reports whether
// that is a failure of the growth: most of its nodes did not, and neither did one before
// it, or the group has too few nodes to tell. One machine of many is a dud now and then.
func (l *Ledger) failsByDuds(g *group, a *model.Ask) bool {
	g.duds++
	duds := 0
	for i := range a.Units {
		if u := &a.Units[i]; !u.Registered.IsZero() && !u.GivenUp.IsZero() {
			duds++
		}
	}
	return l.rules.DudsStop(duds, len(a.Units)) && (g.duds > 1 || l.dudsStop(g))
}

// arrived takes note of a node that has become ready. A growth that was asked
// for after the last failure, and works, ends the group's backoff; so does, where the
// cloud had no machines, one that it has made since.
func (l *Ledger) arrived(g *group, a *model.Ask, u *model.Unit, now time.Time) {
	l.came(model.Arrival{Node: u.Node, Group: g.id, Ready: now, For: l.boughtFor(a)})
	g.duds = 0
	stockEnds := g.backoff.Kind == provider.NoCapacity && u.Exists.After(g.backoff.Since)
	if !g.backoff.Since.IsZero() && (a.At.After(g.backoff.Since) || stockEnds) {
		g.backoff = model.Backoff{}
		l.changed(model.Change{Kind: model.BackoffEnded, Group: g.id, Message: "a growth worked"})
	}
}

// boughtFor lists the classes that a node of an ask is judged by. One that somebody else
// asked for, as the cloud does for a machine that it took, is judged by those that wait.
func (l *Ledger) boughtFor(a *model.Ask) []string {
	if a.Found {
		return l.waits
	}
	return a.For
}

// came notes the node of a unit: with when it became ready, or without, if it was given up
// and may become ready still. What it was bought for is to be judged by it then.
func (l *Ledger) came(a model.Arrival) {
	if len(a.For) == 0 {
		return
	}
	if i := slices.IndexFunc(l.arrivals, func(was model.Arrival) bool { return was.Group == a.Group && was.Node == a.Node }); i >= 0 {
		l.arrivals[i] = a
		return
	}
	l.arrivals = append(l.arrivals, a)
}

// hasReady tells whether a node of the group is ready.
func (g *group) hasReady(node string) bool {
	for _, in := range g.instances {
		if in.node == node {
			return in.state == model.StateReady
		}
	}
	return false
}

// found is an ask for units that somebody else asked for. Their timers start when
// the target changed, if that is after the last picture, else now: at the first look
// there is only the cloud's clock to say when that was. A change that is older than the
// time to register is not why they are missing: a machine was lost while nobody looked.
func found(g *group, pg *provider.Group, seen model.Observation, first bool, units int, provision time.Duration) model.Ask {
	at := seen.Now
	if t := pg.TargetSince; !first && t.Before(at) && t.After(g.before) && seen.Now.Sub(t) < provision {
		at = t
	}
	return model.Ask{ID: fmt.Sprintf("found/%s/%d", g.id, at.UnixNano()), Group: g.id, At: at, Found: true, First: first, Units: make([]model.Unit, units)}
}

// reconcile makes the units that have not registered as many as are missing.
func (g *group) reconcile(pg *provider.Group, seen model.Observation, first bool, provision time.Duration) {
	open := 0
	for i := range g.asks {
		for j := range g.asks[i].Units {
			if g.asks[i].Units[j].Registered.IsZero() {
				open++
			}
		}
	}
	if more := g.missing - open; more > 0 {
		g.asks = append(g.asks, found(g, pg, seen, first, more, provision))
		slices.SortStableFunc(g.asks, func(a, b model.Ask) int { return a.At.Compare(b.At) })
		return
	}
	surplus := open - g.missing
	if surplus == 0 {
		return
	}
	for _, which := range []func(*model.Unit) bool{
		func(u *model.Unit) bool { return u.Instance == "" && !u.GivenUp.IsZero() && u.Kept.IsZero() },
		func(u *model.Unit) bool { return u.Instance == "" && !u.GivenUp.IsZero() },
		func(u *model.Unit) bool { return u.Instance == "" },
		func(u *model.Unit) bool { return u.Registered.IsZero() && !u.GivenUp.IsZero() },
		func(u *model.Unit) bool { return u.Registered.IsZero() },
	} {
		for i := len(g.asks) - 1; i >= 0 && surplus > 0; i-- {
			g.asks[i].Units = slices.DeleteFunc(g.asks[i].Units, func(u model.Unit) bool {
				if surplus == 0 || !which(&u) {
					return false
				}
				surplus--
				return true
			})
		}
	}
}

// giveUp ends the wait for units whose time is over, whose instance the cloud
// could not make, or for which it has nothing to make one of. The timer of a unit
// is its own.
func (l *Ledger) giveUp(g *group, pg *provider.Group, now time.Time) {
	provision := l.rules.Provision(pg)
	if len(g.asks) == 0 && len(g.waiting) == 0 {
		return
	}
	unit := map[provider.InstanceID]*model.Unit{}
	late, refused := 0, 0
	out := stockOut(pg, now)
	for i := range g.asks {
		a := &g.asks[i]
		for j := range a.Units {
			u := &a.Units[j]
			since := a.At
			if !u.Since.IsZero() {
				since = u.Since
			}
			until := latest(since, u.Stalled, g.stalled).Add(provision)
			switch {
			case u.Instance != "":
				if u.Registered.IsZero() {
					unit[u.Instance] = u
				}
			case !u.Kept.IsZero():
				g.kept++
				if g.backoff.Until.After(now) {
					g.wake(g.backoff.Until)
				}
				if out != nil && !out.Until.IsZero() {
					g.wake(out.Until)
				}
				if g.keptSince.IsZero() || u.Kept.Before(g.keptSince) {
					g.keptSince = u.Kept
				}
			case !u.GivenUp.IsZero():
				g.overdue++
			case out != nil && !out.Since.Before(a.At.Truncate(time.Second)):
				u.GivenUp, u.Why = now, out.Reason
				g.overdue++
				refused++
			case now.Before(until):
				g.wake(until)
			default:
				u.GivenUp, u.Why = now, fmt.Sprintf("no instance within %s", provision)
				g.overdue++
				late++
			}
			if u.Instance == "" && !u.GivenUp.IsZero() && !soldOut(u.Why) {
				g.unexplained++
			}
		}
	}
	// A unit more than there are anonymous requests is none that could be cancelled.
	anonymous := max(0, g.missing-len(g.waiting))
	g.kept = min(g.kept, anonymous)
	g.overdue = min(g.overdue, anonymous-g.kept)
	// Which of them those are that the cloud has no machines for, nobody knows: we err to
	// calling the group unhealthy.
	g.unexplained = min(g.unexplained, anonymous)
	if refused > 0 {
		e := &provider.Error{Op: provider.OpGrow, Group: g.id, Kind: provider.Kind(out.Reason), Message: out.Message}
		l.changed(model.Change{Kind: model.AskGivenUp, Group: g.id, Count: refused, Cause: e.Kind, Message: e.Message})
		l.fail(g, now, e)
	}
	unregistered := 0
	for i := range g.waiting {
		w := &g.waiting[i]
		rec, u := g.instances[w.Instance], unit[w.Instance]
		if !w.GivenUp() {
			continue
		}
		why := fmt.Sprintf("no node within %s", provision)
		if w.Err != nil {
			why = w.Err.Error()
		}
		if u != nil && u.GivenUp.IsZero() {
			u.GivenUp, u.Why = now, why
		}
		if rec.failed {
			continue // it is on record
		}
		rec.failed = true
		if w.Err != nil {
			l.changed(model.Change{Kind: model.CreationFailed, Group: g.id, Instance: w.Instance, Count: 1, Cause: w.Err.Kind, Message: why})
			l.fail(g, now, w.Err)
			continue
		}
		unregistered++
	}
	if n := late + unregistered; n > 0 {
		e := &provider.Error{Op: provider.OpGrow, Group: g.id, Kind: provider.Transient, Code: model.CodeTimeout,
			Message: fmt.Sprintf("%d of the nodes asked for did not register within %s", n, provision)}
		l.changed(model.Change{Kind: model.AskGivenUp, Group: g.id, Count: n, Cause: e.Kind, Message: e.Message})
		l.fail(g, now, e)
	}
}

// stockOut is the provider's word that what was asked for up to its Since, and has
// no instance yet, does not come for now; nil if there is none.
func stockOut(pg *provider.Group, now time.Time) *provider.Hold {
	for i := range pg.Holds {
		h := &pg.Holds[i]
		if h.NoLaunch() && h.Stands(now) {
			return h
		}
	}
	return nil
}

// soldOut reports whether a unit was given up because the cloud has no machine to sell.
func soldOut(why string) bool {
	return why == string(provider.NoCapacity) || why == string(provider.Quota)
}

// await begins to wait once more for units that the cloud could not take back, or
// that the group's minimum keeps asked for, as soon as the group may grow again: the
// cloud may fill the old request then, and to ask for more would buy them twice.
func (g *group) await(pg *provider.Group, now time.Time) {
	if g.backoff.Until.After(now) || stockOut(pg, now) != nil {
		return
	}
	again := model.Ask{Group: g.id, At: now, Found: true}
	for i := range g.asks {
		g.asks[i].Units = slices.DeleteFunc(g.asks[i].Units, func(u model.Unit) bool {
			if u.Kept.IsZero() && (u.Instance != "" || u.GivenUp.IsZero() || g.expected > pg.Min) {
				return false
			}
			again.Units = append(again.Units, model.Unit{})
			return true
		})
	}
	if len(again.Units) > 0 {
		again.ID = fmt.Sprintf("again/%s/%d", g.id, now.UnixNano())
		g.asks = append(g.asks, again)
	}
}

// close ends asks that wait for nothing any more.
func (l *Ledger) close(g *group) {
	g.asks = slices.DeleteFunc(g.asks, func(a model.Ask) bool {
		ready := 0
		for i := range a.Units {
			u := &a.Units[i]
			switch {
			case !u.Ready.IsZero():
				ready++
			case u.Registered.IsZero(), u.GivenUp.IsZero():
				return false
			}
		}
		if ready > 0 {
			l.changed(model.Change{Kind: model.AskArrived, Group: g.id, Count: ready})
		}
		return true
	})
}
