package growth

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// wait lists the instances that have no node, each with the time of its unit.
func (g *Group) wait(f *Fold, pg *provider.Group) {
	now, provision := f.Seen.Now, f.Rules.Provision(pg)
	g.back = slices.DeleteFunc(g.back, func(at time.Time) bool { return now.Sub(at) >= model.EndingsApart })
	units := g.unitsOf()
	known := sync.OnceValues(func() (time.Duration, bool) { return g.apart(pg, now) }) // it looks at all instances
	apart := func(otherwise time.Duration) time.Duration {
		if d, told := known(); told {
			return d
		}
		return otherwise
	}
	for i := range pg.Instances {
		in, rec := &pg.Instances[i], g.records[i]
		if rec.state != model.StateUnregistered {
			continue
		}
		w := model.Waiting{Instance: in.ID, ProviderID: in.ProviderID, NodeName: in.NodeName, Hold: in.Hold}
		rec.countFailing(in, f.Seen)
		w.Err, w.RetriedUntil = g.whyUnmade(in, rec, f.Seen.Now)
		u := units[in.ID]
		w.Lost = f.noteLoss(rec, u)
		w.Created = rec.created(in, u, w.Lost, apart)
		w.Since = g.since(in, rec, u)
		until := w.Since.Add(provision)
		w.Long = !now.Before(until)
		if w.Long {
			rec.state = model.StateLongUnregistered
		} else {
			g.Wake(until)
		}
		g.Counts.Add(rec.state, nil)
		if w.Lost {
			g.Counts.Lost++
		}
		g.waiting = append(g.waiting, w)
	}
	slices.SortFunc(g.waiting, func(a, b model.Waiting) int { return cmp.Compare(a.Instance, b.Instance) })
	g.Counts.Lost += min(g.unlisted(f), max(0, g.missing-len(g.waiting)))
}

// Unread is what was asked of a group that has not been read: all of it may come in its time, without the group's own
// options.
func (g *Group) Unread(rules model.Rules, now time.Time) (out []model.Unread) {
	for i := range g.asks {
		a := &g.asks[i]
		var until time.Time
		for j := range a.Units {
			if u := &a.Units[j]; u.Open() {
				until = model.Latest(until, u.From(model.Latest(a.At, u.Exists)).Add(rules.ProvisionTime))
			}
		}
		if until.After(now) && len(a.For) > 0 {
			out = append(out, model.Unread{Group: g.ID, For: a.For, Until: until})
		}
	}
	return out
}

// unlisted counts the machines without their node that the last pictures lack, and forgets those that
// enough pictures lack. One picture may be wrong, and with these machines ends what the loss of many means.
func (g *Group) unlisted(f *Fold) (n int) {
	if len(g.machines) == len(g.records) {
		return 0
	}
	for id, in := range g.machines {
		if in.turn == f.Turn {
			continue
		}
		if asOf := f.Seen.Inventory.AsOf; asOf.After(in.absentAt) {
			in.absent, in.absentAt = in.absent+1, asOf
		}
		if in.absent >= forgetAfter {
			delete(g.machines, id)
			g.leave(f, id, in)
		} else {
			n++
		}
	}
	return n
}

// created is when the cloud made an instance without a node at the earliest, zero if unknown.
// apart is how far its clock may be ahead, if that is known.
func (in *machine) created(
	of *provider.Instance, u *model.Unit, isLost bool, apart func(otherwise time.Duration) time.Duration,
) time.Time {
	created, hadNode := in.made(of), in.tie != unbound && in.tie != presumedLost
	if in.least.IsZero() && !created.IsZero() {
		// It was there before the first look: its age is the word of the cloud alone.
		created = created.Add(-apart(anyClock))
	}
	if u != nil && u.Since.IsZero() && !u.Exists.IsZero() && !hadNode {
		created = u.Exists // else it is when it lost its node
	}
	if said := of.Created.Add(-apart(0)); !of.Created.IsZero() && !hadNode && said.Before(created) {
		created = said // pictures that lacked it, and our own clock, may have been wrong: they make no node another's
	}
	if isLost && in.tie != presumedLost {
		created = model.Latest(created, in.since) // no node from before can be its own
	}
	return created
}

// since is when the time to register began of an instance without a node, which may have a
// unit.
func (g *Group) since(of *provider.Instance, in *machine, u *model.Unit) time.Time {
	began, deadline := in.first, model.Deadline{}
	if made := in.made(of); !in.least.IsZero() && !made.IsZero() && in.latest(of).IsZero() {
		began = made
	}
	if u != nil {
		deadline = u.Deadline
		if !u.Exists.IsZero() {
			began = u.Exists
		}
	}
	deadline.Stop(in.deadline.Since)
	if u == nil || u.Open() {
		deadline.Stop(g.deadline.Stalled) // what was given up before stays so
	}
	return deadline.From(began)
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

// countFailing counts the pictures in a row that show that the cloud fails to make an
// instance, and tries again. A new leader starts to count again: we err to waiting.
func (in *machine) countFailing(of *provider.Instance, seen *model.Observation) {
	switch {
	case of.State != provider.Creating || of.Err == nil:
		in.failing = failing{}
	case of.Retry <= 0:
	case in.failing.looks == 0:
		in.failing = failing{looks: 1, since: seen.Now, last: seen.Inventory.AsOf}
	case seen.Inventory.AsOf.After(in.failing.last):
		in.failing.looks, in.failing.last = in.failing.looks+1, seen.Inventory.AsOf
	}
}

// whyUnmade is why the cloud could not make an instance, nil if nothing says that it could
// not, and until when it is waited for all the same, zero if it is not.
func (g *Group) whyUnmade(in *provider.Instance, rec *machine, now time.Time) (*provider.Error, time.Time) {
	switch {
	case in.State != provider.Creating || in.Err == nil:
		return nil, time.Time{}
	case in.Retry <= 0:
		return in.Err, time.Time{}
	}
	until := g.deadline.From(rec.failing.since).Add(max(retriesLeast, 2*in.Retry+retriesMargin))
	if !now.Before(until) && rec.failing.looks >= retriesLooks {
		return in.Err, time.Time{}
	}
	if now.Before(until) {
		g.Wake(until) // past it, only another picture changes anything
	}
	return in.Err, until
}

// noteLoss takes in that an instance without a node has lost the one that it had, and reports
// whether it has. Only a picture that began after the loss can show that the machine is still
// there. While the cluster is unhealthy the time of such machines does not run: people are at
// work.
func (f *Fold) noteLoss(rec *machine, u *model.Unit) bool {
	if u != nil && rec.tie == unbound && !u.Lost.IsZero() {
		// A leader before us saw it, or found it so.
		if rec.tie, rec.since = presumedLost, u.Lost; !u.Exists.Before(u.Lost) {
			rec.tie = lost
			rec.deadline.Start(u.Exists)
		}
	}
	if (rec.tie != lost && rec.tie != presumedLost) || !f.Seen.Inventory.AsOf.After(rec.since) {
		return false
	}
	if f.Halted {
		rec.deadline.Start(f.Seen.Now)
	}
	switch {
	case u == nil:
	case rec.tie == presumedLost:
		u.Lost = rec.since
		u.Start(rec.deadline.Since)
	default:
		u.Lost, u.Exists = rec.since, model.Latest(u.Exists, rec.deadline.Since)
	}
	return true
}

// PresumeLost finds, where groups are looked at for the first time, the machines that run
// without a node for longer than any clock is off: they have lost theirs while no process
// looked. Where as many nodes belong to no group, those could be theirs, and nothing is
// presumed. A machine that never registered, and was not ended, counts as well: we err to
// leaving such a cluster alone.
func PresumeLost(f *Fold, groups []*Group, homeless int) {
	var found []*machine
	for i, g := range groups {
		pg := &f.Seen.Inventory.Groups[i]
		if !g.before.IsZero() || pg.Err != nil {
			continue
		}
		known := g.unitsOf()
		old := f.Seen.Now.Add(-anyClock - f.Rules.Provision(pg))
		for j := range pg.Instances {
			in, rec := &pg.Instances[j], g.records[j]
			if in.State == provider.Running && !in.Created.IsZero() && in.Created.Before(old) &&
				rec.first.IsZero() && rec.turn != f.Turn && known[in.ID] == nil {
				found = append(found, rec)
			}
		}
	}
	if len(found) <= homeless {
		return
	}
	for _, rec := range found {
		rec.tie, rec.since = presumedLost, f.Seen.Now
	}
}

// unitsOf finds the unit of each instance that has one.
func (g *Group) unitsOf() map[provider.InstanceID]*model.Unit {
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
func (g *Group) stall(pg *provider.Group, now time.Time) {
	was := g.stalls
	g.stalls = slices.ContainsFunc(pg.Holds, func(h provider.Hold) bool { return h.Stalled && h.Stands(now) })
	if !g.stalls && !was {
		return
	}
	g.deadline.Stop(now)
	if g.stalls {
		return
	}
	for i := range g.asks {
		for j := range g.asks[i].Units {
			if u := &g.asks[i].Units[j]; u.Open() {
				u.Stop(now) // where a later leader finds it
			}
		}
	}
}

// anyClock is how far the clock of another machine may be off.
const anyClock = time.Hour

// apart is how far the clock that dates instances may be ahead of the one that dates nodes, by what instances with both
// show, or showed lately.
func (g *Group) apart(pg *provider.Group, now time.Time) (most time.Duration, told bool) {
	for i := range pg.Instances {
		if in, rec := &pg.Instances[i], g.records[i]; rec.tie == bound && !rec.since.IsZero() && !in.Created.IsZero() {
			most, told = max(most, in.Created.Sub(rec.since)), true
		}
	}
	if told {
		g.ahead, g.aheadAt = min(most, anyClock), now
	}
	return g.ahead, !g.aheadAt.IsZero() && now.Sub(g.aheadAt) < skewTold
}

// predates reports whether an instance was made before a time of our own clock, however far the one that dates
// instances is behind: no further than the dates of an instance and its node are apart, for any that has one.
func (g *Group) predates(pg *provider.Group, of *provider.Instance, at time.Time) bool {
	behind := anyClock
	for i := range pg.Instances {
		if in, rec := &pg.Instances[i], g.records[i]; rec.tie == bound && !rec.since.IsZero() && !in.Created.IsZero() {
			behind = min(behind, rec.since.Sub(in.Created))
		}
	}
	return of.Created.Add(behind).Before(at)
}

// made is when the cloud made an instance, zero if it does not tell. The cloud's clock may
// be off: an instance was not made after it was first seen, nor before a picture without it.
func (in *machine) made(of *provider.Instance) time.Time {
	if of.Created.IsZero() {
		return of.Created
	}
	return model.Latest(model.Earlier(of.Created, in.first), in.least)
}

// latest is the latest time at which an instance can have been made, by our clock, where the
// cloud's clock is off and the real time is unknown; else zero. Its time to register runs
// from then: we err to waiting.
func (in *machine) latest(of *provider.Instance) time.Time {
	if of.Created.Before(in.least) && !of.Created.IsZero() {
		return in.first
	}
	return time.Time{}
}

// earliest is the earliest time at which an instance can have been made, by our clock; zero if unknown. One that seems
// to be younger than the look which found it may be as old as the picture before that.
func (in *machine) earliest() time.Time {
	if in.dated.After(in.first) {
		return in.least
	}
	return model.Latest(in.dated, in.least)
}

// measure notes how far the cloud's clock is off, as far as an instance that is seen for the
// first time shows it. Less than a minute counts as nothing: pictures may be as much behind.
// An instance that runs by then, and seems old, was rather made for something else.
func (g *Group) measure(in *machine, of *provider.Instance, now time.Time) {
	if of.Created.IsZero() {
		return
	}
	off := of.Created.Sub(in.made(of)).Truncate(time.Minute)
	if in.least.IsZero() && off == 0 || of.State == provider.Running && off < 0 {
		return // it may be of any age
	}
	g.Skew, g.skewAt = off, now
}

// skewTold is for how long what a machine has told of the cloud's clock is taken to be so
// still.
const skewTold = 3 * time.Hour

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
func (g *Group) await(pg *provider.Group, now time.Time) {
	if g.Rests.Of(model.RestFailed).Stands(now) || stockOut(pg, now) != nil {
		return
	}
	again := model.Ask{Group: g.ID, At: now, Found: true}
	for i := range g.asks {
		g.asks[i].Units = slices.DeleteFunc(g.asks[i].Units, func(u model.Unit) bool {
			if !g.awaits(&u, pg) {
				return false
			}
			next, _ := Advance(u, Event{Kind: AskedAgain, At: now})
			again.Units = append(again.Units, next)
			return true
		})
	}
	if len(again.Units) > 0 {
		again.ID = fmt.Sprintf("again/%s/%d", g.ID, now.UnixNano())
		g.asks = append(g.asks, again)
	}
}

// awaits reports whether the group waits for a unit once more when it may grow again.
func (g *Group) awaits(u *model.Unit, pg *provider.Group) bool {
	return u.State == model.UnitKept || u.Instance == "" && u.State == model.UnitGivenUp && g.Expected <= pg.Min
}

// awaitsLater wakes the loop when time alone lets the group wait once more.
func (g *Group) awaitsLater(pg *provider.Group, now time.Time) {
	r := g.Rests.Of(model.RestFailed)
	if r.Stands(now) && slices.ContainsFunc(g.asks, func(a model.Ask) bool {
		return slices.ContainsFunc(a.Units, func(u model.Unit) bool { return g.awaits(&u, pg) })
	}) {
		g.Wake(r.Until)
	}
}

// giveUp ends the wait for units whose time is over, whose instance the cloud
// could not make, or for which it has nothing to make one of. The timer of a unit
// is its own.
func (g *Group) giveUp(f *Fold, pg *provider.Group) {
	if len(g.asks) == 0 && len(g.waiting) == 0 {
		return
	}
	now, provision := f.Seen.Now, f.Rules.Provision(pg)
	late, refused := 0, 0
	out := stockOut(pg, now)
	for i := range g.asks {
		a := &g.asks[i]
		for j := range a.Units {
			u := &a.Units[j]
			if u.Instance != "" {
				continue
			}
			if u.State == model.UnitAsked {
				deadline := u.Deadline
				deadline.Stop(g.deadline.Stalled)
				until := deadline.From(a.At).Add(provision)
				switch {
				case out != nil && !out.Since.Before(a.At.Truncate(time.Second)):
					*u, _ = Advance(*u, Event{Kind: Late, At: now, Why: out.Reason})
					refused++
				case now.Before(until):
					g.Wake(until)
					continue
				default:
					*u, _ = Advance(*u, Event{Kind: Late, At: now, Why: fmt.Sprintf("no instance within %s", provision)})
					late++
				}
			}
			g.countGivenUp(u, out, now)
		}
	}
	// A unit more than there are anonymous requests is none that could be cancelled.
	anonymous := max(0, g.missing-len(g.waiting))
	g.kept = min(g.kept, anonymous)
	g.overdue = min(g.overdue, anonymous-g.kept)
	// It is unknown which of them the cloud has no machines for: we err to calling the group unhealthy.
	g.unexplained = min(g.unexplained, anonymous)
	if refused > 0 {
		e := &provider.Error{Op: provider.OpGrow, Group: g.ID, Kind: provider.Kind(out.Reason), Message: out.Message}
		f.changed(model.Change{Kind: model.AskGivenUp, Group: g.ID, Count: refused, Cause: e.Kind, Message: e.Message})
		g.fail(f, now, e)
	}
	if n := late + g.unregistered(f, provision); n > 0 {
		e := &provider.Error{Op: provider.OpGrow, Group: g.ID, Kind: provider.Transient, Code: model.CodeTimeout,
			Message: fmt.Sprintf("%d of the nodes asked for did not register within %s", n, provision)}
		f.changed(model.Change{Kind: model.AskGivenUp, Group: g.ID, Count: n, Cause: e.Kind, Message: e.Message})
		g.fail(f, now, e)
	}
}

// countGivenUp counts a unit without an instance that is not waited for any more.
func (g *Group) countGivenUp(u *model.Unit, out *provider.Hold, now time.Time) {
	if !soldOut(u.Why) {
		g.unexplained++
	}
	if u.State != model.UnitKept {
		g.overdue++
		return
	}
	g.kept++
	if r := g.Rests.Of(model.RestFailed); r.Stands(now) {
		g.Wake(r.Until)
	}
	if out != nil && !out.Until.IsZero() {
		g.Wake(out.Until)
	}
	if g.keptSince.IsZero() || u.Entered.Before(g.keptSince) {
		g.keptSince = u.Entered
	}
}

// unregistered gives instances up that have no node and are not waited for any more. It
// counts those that are late, and have not been on record for that.
func (g *Group) unregistered(f *Fold, provision time.Duration) (late int) {
	units := g.unitsOf()
	for i := range g.waiting {
		w := &g.waiting[i]
		rec, u := g.machines[w.Instance], units[w.Instance]
		if !w.GivenUp() {
			continue
		}
		why := fmt.Sprintf("no node within %s", provision)
		if w.Err != nil {
			why = w.Err.Error()
		}
		if u != nil {
			*u, _ = Advance(*u, Event{Kind: Late, At: f.Seen.Now, Why: why})
		}
		if rec.failed {
			continue // it is on record
		}
		rec.failed = true
		if w.Err != nil {
			f.changed(model.Change{Kind: model.CreationFailed, Group: g.ID, Instance: w.Instance, Count: 1,
				Cause: w.Err.Kind, Message: why})
			g.fail(f, f.Seen.Now, w.Err)
			continue
		}
		late++
	}
	return late
}
