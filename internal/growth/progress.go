package growth

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Progress brings a group's asks up to date with what is seen of it.
//
// Units are interchangeable until they have an instance. What the target has
// and no node stands for is missing, and each missing unit belongs to one ask:
// new instances go to the oldest ask that waits, units that we did not ask for
// are an ask that was found, and when fewer are missing than were asked for,
// the newest are dropped.
func (g *Group) Progress(f *Fold, pg *provider.Group) {
	now := f.Seen.Now
	first := g.before.IsZero()
	// 1. Instances, and whether anybody makes any.
	if first && f.Inherited {
		g.inherit(now)
	}
	g.stall(pg, now)
	if now.Sub(g.skewAt) >= skewTold {
		g.Skew = 0
	}
	g.instances(f, pg, first)
	// 2. Units whose instance is gone wait for another, or are gone as well.
	g.loseInstances(f, pg)
	// 3. Instances that registered before they were ever seen without a node.
	g.attribute(f, pg, true)
	g.nodes(f)
	// 4. As many units as are missing.
	g.ending = g.endings(f)
	if n := g.askedNow(f); n > 0 {
		g.Expected = max(g.Expected, g.ending+g.registered+n)
	}
	g.missing = max(0, g.Expected-g.ending-g.registered)
	g.reconcile(f, pg, first)
	// 5. Instances that are new, for those that have waited longest.
	g.attribute(f, pg, false)
	g.nodes(f)
	// 6. Instances without a node are waited for; what is not waited for any more, or
	// is again.
	g.wait(f, pg)
	g.await(pg, now)
	g.giveUp(f, pg)
	g.awaitsLater(pg, now)
	g.close(f)
	// 7. How long nodes have been missing (S4), and the group's health (S2).
	switch {
	case g.missing == 0:
		g.missingSince = time.Time{}
	case g.missingSince.IsZero():
		g.missingSince = now
	}
	g.health(f)
	g.rested(f)
	g.ReadAgain(pg, f.Seen.Inventory.AsOf)
}

// loseInstances takes the instances from units whose instance is gone or on its way out. One
// that is replaced late, though another one would have joined, has less time than others
// then: we err to giving that up, and trying again after a rest.
func (g *Group) loseInstances(f *Fold, pg *provider.Group) {
	for i := range g.asks {
		a := &g.asks[i]
		lost := func(u model.Unit) bool { return g.lost(&u, f.Turn) }
		if !slices.ContainsFunc(a.Units, lost) {
			continue
		}
		left := a.Units[:0]
		for _, u := range a.Units {
			stands := true
			if lost(u) {
				u, stands = Advance(u, Event{Kind: Gone, At: f.Seen.Now, From: g.retargeted(f, pg, &u)})
			}
			if stands {
				left = append(left, u)
			}
		}
		a.Units = left
	}
}

// retargeted is when the target was changed since the time of a unit began whose instance is gone; zero if a picture
// has shown that instance since then. It may have gone with its node, before that change, and what comes in its place
// be what was asked for by it.
func (g *Group) retargeted(f *Fold, pg *provider.Group, u *model.Unit) time.Time {
	began := model.Latest(u.Since, u.Exists) // of one that lost its node the latter, when that was
	if t := pg.TargetSince; g.before.Before(began) && t.After(began) && !t.After(f.Seen.Now) {
		return t
	}
	return time.Time{}
}

// askedNow counts the units without a node of scale-ups whose call is open. They are on their way whatever else there
// is: where a picture had a target that is lower than there are nodes, the call is to raise that.
func (g *Group) askedNow(f *Fold) (n int) {
	for i := range g.asks {
		if _, open := f.Calls[g.asks[i].ID]; !open {
			continue
		}
		for j := range g.asks[i].Units {
			if without(&g.asks[i].Units[j]) {
				n++
			}
		}
	}
	return n
}

// endings counts the instances that open calls remove, or calls of unknown end, and that are
// gone already: the target is about to go down by them, or has.
func (g *Group) endings(f *Fold) int {
	n := 0
	ends := func(id provider.InstanceID) {
		if in := g.machines[id]; in == nil || in.turn != f.Turn || in.state == model.StateBeingDeleted {
			if in == nil || in.tie != bound || !in.counted {
				n++
			}
		}
	}
	for _, id := range g.doubted {
		ends(id)
	}
	for _, c := range f.Calls {
		if c.Verb == model.Remove && c.Group == g.ID && !slices.Contains(g.doubted, c.Instance) {
			ends(c.Instance)
		}
	}
	return n
}

// instances takes in a group's instances. Those that no ask knows are fresh.
func (g *Group) instances(f *Fold, pg *provider.Group, first bool) {
	f.fresh = f.fresh[:0]
	now, asOf := f.Seen.Now, f.Seen.Inventory.AsOf
	for i := range pg.Instances {
		in := &pg.Instances[i]
		rec := g.records[i]
		if rec.first.IsZero() {
			if rec.first, rec.listed = now, now; first {
				// Who asked before us had a clock of its own.
				rec.listed = model.Earlier(now, asOf.Add(time.Minute))
			} else {
				rec.least = g.before
			}
			if rec.tie != bound {
				g.measure(rec, in, now) // one with a node is not new, whenever it was first seen
			}
		}
		if rec.turn != f.Turn {
			g.withoutNode(f, rec)
		}
		if in.State == provider.Deleting {
			rec.state = model.StateBeingDeleted
			continue
		}
		if rec.tie == bound {
			if first && !g.mayBring(rec.since, f.Rules.Provision(pg)) {
				rec.asked = true // it was there before us
			}
			if !rec.asked {
				f.fresh = append(f.fresh, in)
			}
			continue
		}
		if !rec.removed.IsZero() && (pg.Err != nil || asOf.Before(rec.removed.Add(model.Patience))) {
			rec.state = model.StateBeingDeleted // ended by us, whatever this picture says
			continue
		}
		if rec.tie == strayed && !f.Seen.HasNode(rec.node) {
			rec.deadline.Start(now)
			rec.tie, rec.since = lost, now
		}
		rec.state = model.StateUnregistered
		f.fresh = append(f.fresh, in)
	}
	slices.SortFunc(f.fresh, func(a, b *provider.Instance) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// mayBring reports whether a node that was made then may be one that an ask waits for: it came after that, and in time.
func (g *Group) mayBring(made time.Time, provision time.Duration) bool {
	return slices.ContainsFunc(g.asks, func(a model.Ask) bool {
		return a.At.Before(made) && made.Before(a.At.Add(provision))
	})
}

// withoutNode takes in that no node was seen of an instance. If it had one, its time to
// register starts over.
func (g *Group) withoutNode(f *Fold, rec *machine) {
	if rec.tie == bound {
		rec.deadline.Start(f.Seen.Now)
		switch rec.since = f.Seen.Now; {
		case f.Seen.HasNode(rec.node):
			rec.tie, f.Strays[rec.node] = strayed, g.ID
		case !rec.ends:
			rec.tie = lost
		default:
			rec.tie = released
		}
		rec.asked, rec.failed = false, false
	}
	rec.turn, rec.state = f.Turn, ""
}

// lost reports whether the instance of a unit is gone, or on its way out.
func (g *Group) lost(u *model.Unit, turn uint64) bool {
	if u.Instance == "" {
		return false
	}
	in := g.machines[u.Instance]
	return in == nil || in.turn != turn || in.state == model.StateBeingDeleted
}

// attribute gives instances, with or without a node, to the units that have
// waited longest. One that some unit has is left there.
func (g *Group) attribute(f *Fold, pg *provider.Group, registered bool) {
	if len(f.fresh) == 0 {
		return
	}
	held := map[provider.InstanceID]bool{}
	for i := range g.asks {
		for j := range g.asks[i].Units {
			held[g.asks[i].Units[j].Instance] = true
		}
	}
	for _, in := range f.fresh {
		rec := g.machines[in.ID]
		if held[in.ID] || (rec.tie == bound) != registered {
			continue
		}
		rec.asked = true
		seen := f.Seen.Now
		if rec.tie == unbound {
			seen = rec.listed
		}
		a, u := g.oldestAnonymous(seen)
		if u == nil {
			continue // no ask is for it
		}
		e := Event{Kind: Made, At: f.Seen.Now, Instance: in.ID, Exists: rec.made(in)}
		switch {
		case e.Exists.IsZero():
		case !registered && g.before.IsZero() && g.predates(pg, in, a.At):
			e.From = f.Seen.Now // it has lost its node while no process looked
		case !a.Found:
			e.Exists = model.Latest(e.Exists, a.At) // none is older than our own asking
		case rec.least.IsZero():
			e.From = a.At // by our own clock; it may be of any age
		default:
			e.From = rec.latest(in)
		}
		if !registered && !u.Since.IsZero() {
			e.From = model.Latest(e.From, g.lastFor(seen))
		}
		switch {
		case rec.tie == presumedLost:
		case rec.deadline.Since.After(e.Exists):
			e.Exists = rec.deadline.Since
		case e.Exists.IsZero():
			e.Exists = f.Seen.Now
		}
		*u, _ = Advance(*u, e)
	}
}

// oldestAnonymous finds the unit without an instance that has waited longest, one that is still waited for if there is
// any. What was there before a scale-up was asked for is none of its: it was not listed for a while, or the picture is
// old.
func (g *Group) oldestAnonymous(seen time.Time) (*model.Ask, *model.Unit) {
	var (
		ask  *model.Ask
		late *model.Unit
	)
	for i := range g.asks {
		a := &g.asks[i]
		if !a.Found && a.At.After(seen) {
			continue
		}
		for j := range a.Units {
			u := &a.Units[j]
			if u.Instance != "" {
				continue
			}
			if u.State == model.UnitAsked {
				return a, u
			}
			if late == nil {
				ask, late = a, u
			}
		}
	}
	return ask, late
}

// lastFor is when the last ask began that has a unit which never had an instance, zero if there is none. Whether the
// cloud has made a new one for it or in place of another, no picture tells, and we err to waiting longer.
func (g *Group) lastFor(seen time.Time) (at time.Time) {
	for i := range g.asks {
		a := &g.asks[i]
		never := func(u model.Unit) bool { return u.State == model.UnitAsked && u.Since.IsZero() }
		if (a.Found || !a.At.After(seen)) && slices.ContainsFunc(a.Units, never) {
			at = model.Latest(at, a.At)
		}
	}
	return at
}

// nodes takes units from instance to node to ready, and sees nodes become ready that
// were given up: their ask may be over.
func (g *Group) nodes(f *Fold) {
	now := f.Seen.Now
	for _, a := range f.Arrivals {
		if a.Group != g.ID || !a.Ready.IsZero() {
			continue
		}
		if in := g.ready(a.Node); in != nil {
			f.came(model.Arrival{Node: a.Node, Group: g.ID, Ready: in.readySince(f), For: a.For})
		}
	}
	for i := range g.asks {
		a := &g.asks[i]
		for j := range a.Units {
			u := &a.Units[j]
			in := g.machines[u.Instance]
			if u.Instance == "" || in == nil {
				continue
			}
			in.asked = true
			if u.State == model.UnitGivenUp && in.tie != bound {
				in.failed = true // it is on record
			}
			switch {
			case in.tie != bound && u.Node != "":
				// It waits for a node again, from when the other one was lost.
				late := u.Why
				*u, _ = Advance(*u, Event{Kind: NodeGone, At: now, Exists: orNow(in.deadline.Since, now)})
				if late != "" { // the first was no longer waited for, and neither is a second
					*u, _ = Advance(*u, Event{Kind: Late, At: now, Why: late})
				}
			case in.tie == bound && u.Node == "":
				if u.State == model.UnitGivenUp {
					g.back = append(g.back, now)
				}
				*u, _ = Advance(*u, Event{Kind: Registered, At: orNow(in.since, now), Node: in.node})
			}
			if u.Node != "" && u.State != model.UnitReady {
				g.started(f, a, u, in.state)
			}
		}
	}
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// started takes in what has become of the start of a unit's node.
func (g *Group) started(f *Fold, a *model.Ask, u *model.Unit, state model.NodeState) {
	now := f.Seen.Now
	switch state {
	case model.StateReady:
		*u, _ = Advance(*u, Event{Kind: Ready, At: now})
		g.arrived(f, a, u)
	case model.StateNeverStarted, model.StateUnready:
		if u.State == model.UnitGivenUp {
			return
		}
		*u, _ = Advance(*u, Event{Kind: NeverReady, At: now, Why: "its node did not become ready"})
		f.changed(model.Change{Kind: model.NodeGivenUp, Group: g.ID, Instance: u.Instance, Count: 1,
			Message: "node " + u.Node + " did not become ready"})
		f.came(model.Arrival{Node: u.Node, Group: g.ID, For: f.boughtFor(a)})
		if state != model.StateNeverStarted {
			return
		}
		if g.duds++; g.failsByDuds(f, a) {
			// Its removal would make the group look well again, and the same be bought.
			g.fail(f, now, &provider.Error{Op: provider.OpGrow, Group: g.ID, Kind: provider.Transient,
				Code: model.CodeNeverStarted, Message: fmt.Sprintf("node %s did not become ready in time", u.Node)})
		}
	}
}

// failsByDuds reports whether a scale-up has failed, one more node of which did not become
// ready: most of its nodes did not, and neither did one before it, or the group has too few
// nodes to tell. One machine of many is a dud now and then.
func (g *Group) failsByDuds(f *Fold, a *model.Ask) bool {
	duds := 0
	for i := range a.Units {
		if u := &a.Units[i]; u.Node != "" && u.Why != "" {
			duds++
		}
	}
	return f.Rules.DudsStop(duds, len(a.Units)) && (g.duds > 1 || g.dudsStop(f))
}

// arrived takes note of a node that has become ready. A scale-up that was asked
// for after the last failure, and works, ends the group's backoff; so does, where the
// cloud had no machines, one that it has made since. A node that was there before the failure, or
// before it was found, proves nothing: where ids drift, its machine counts as one that was asked for. Nor does one
// that comes in place of another, and whose machine was made before the failure.
func (g *Group) arrived(f *Fold, a *model.Ask, u *model.Unit) {
	in := g.machines[u.Instance]
	f.came(model.Arrival{Node: u.Node, Group: g.ID, Ready: in.readySince(f), For: f.boughtFor(a)})
	g.duds = 0
	r := g.Rests.Of(model.RestFailed)
	stockEnds := r.Kind == provider.NoCapacity && u.Exists.After(r.Since) && in.earliest().After(r.Since)
	old := !in.first.After(r.Since) || a.Found && (!in.since.After(model.Latest(r.Since, a.At)) ||
		!u.Exists.IsZero() && !u.Exists.After(r.Since))
	if !r.Since.IsZero() && (a.At.After(r.Since) || stockEnds) && !old {
		g.endBackoff(f, "a scale-up succeeded")
	}
}

// boughtFor lists the classes that a node of an ask is judged by. One that another client
// asked for, such as the cloud in place of a machine that it took, is judged by the classes
// that wait.
func (f *Fold) boughtFor(a *model.Ask) []string {
	if a.Found {
		return f.Waits
	}
	return a.For
}

// came notes the node of a unit: with when it became ready, or without, if it was given up
// and may become ready still. What it was bought for is to be judged by it then. One that is
// known and ready counts from the first time on: where ids drift, it comes again and again.
func (f *Fold) came(a model.Arrival) {
	if len(a.For) == 0 {
		return
	}
	same := func(was model.Arrival) bool { return was.Group == a.Group && was.Node == a.Node }
	if i := slices.IndexFunc(f.Arrivals, same); i >= 0 {
		if f.Arrivals[i].Ready.IsZero() {
			f.Arrivals[i] = a
		}
		return
	}
	f.Arrivals = append(f.Arrivals, a)
}

// ready finds the machine of a node that is ready; nil if there is none.
func (g *Group) ready(node string) *machine {
	for _, in := range g.machines {
		if in.tie == bound && in.node == node && in.state == model.StateReady {
			return in
		}
	}
	return nil
}

// found is an ask for units that another client asked for. Their timers start when the
// target changed, if that is after the last picture, else now: at the first look there
// is only the cloud's clock to say when that was. A change that is older than the time
// to register is not why they are missing: a machine was lost while no process looked.
func (g *Group) found(f *Fold, pg *provider.Group, first bool, units int) model.Ask {
	at := f.Seen.Now
	if t := pg.TargetSince; !first && t.Before(at) && t.After(g.before) && at.Sub(t) < f.Rules.Provision(pg) {
		at = t
	}
	return model.Ask{ID: fmt.Sprintf("found/%s/%d", g.ID, at.UnixNano()), Group: g.ID, At: at, Found: true, First: first,
		Units: make([]model.Unit, units)}
}

// reconcile makes the units that have not registered as many as are missing.
func (g *Group) reconcile(f *Fold, pg *provider.Group, first bool) {
	open := 0
	for i := range g.asks {
		for j := range g.asks[i].Units {
			if without(&g.asks[i].Units[j]) {
				open++
			}
		}
	}
	if more := g.missing - open; more > 0 {
		g.asks = append(g.asks, g.found(f, pg, first, more))
		slices.SortStableFunc(g.asks, func(a, b model.Ask) int { return a.At.Compare(b.At) })
		return
	}
	surplus := open - g.missing
	if surplus == 0 {
		return
	}
	for _, which := range []func(*model.Unit) bool{
		func(u *model.Unit) bool { return u.Instance == "" && u.State == model.UnitGivenUp },
		func(u *model.Unit) bool { return u.State == model.UnitKept },
		func(u *model.Unit) bool { return u.Instance == "" },
		func(u *model.Unit) bool { return without(u) && u.State == model.UnitGivenUp },
		without,
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

// without reports whether a unit has no node.
func without(u *model.Unit) bool { return u.Node == "" }

// close ends asks that wait for nothing any more.
func (g *Group) close(f *Fold) {
	g.asks = slices.DeleteFunc(g.asks, func(a model.Ask) bool {
		ready := 0
		for i := range a.Units {
			switch u := &a.Units[i]; {
			case u.State == model.UnitReady:
				ready++
			case u.State == model.UnitRegistered, without(u):
				return false
			}
		}
		if ready > 0 {
			f.changed(model.Change{Kind: model.AskArrived, Group: g.ID, Count: ready})
		}
		f.Closed = append(f.Closed, a)
		return true
	})
}
