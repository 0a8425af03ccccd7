package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// lasts are when things last happened, zero if never, and what failed then.
type lasts struct {
	growth, removal, failure time.Time
	why                      string
}

// or fills in for what has not happened yet.
func (t lasts) or(o lasts) lasts {
	if t.growth.IsZero() {
		t.growth = o.growth
	}
	if t.removal.IsZero() {
		t.removal = o.removal
	}
	if t.failure.IsZero() {
		t.failure, t.why = o.failure, o.why
	}
	return t
}

// Memory is what a later ledger must know to go on where this one stands.
func (l *Ledger) Memory() model.Memory {
	m := model.Memory{
		Brakes: slices.Clone(l.brakes), Arrivals: slices.Clone(l.arrivals),
		LastGrowth: l.last.growth, LastRemoval: l.last.removal, LastFailure: l.last.failure,
		Resume: l.resume, Displaced: lastDisplaced(l.displaced), Strays: firstStrays(l.strays),
	}
	for _, id := range slices.Sorted(maps.Keys(l.groups)) {
		g := l.groups[id]
		m.Asks = append(m.Asks, g.asksToRemember()...)
		if !g.backoff.Since.IsZero() {
			if m.Backoffs == nil {
				m.Backoffs = map[provider.GroupID]model.Backoff{}
			}
			m.Backoffs[id] = g.backoff
		}
		if g.endings.Count > 0 {
			if m.Endings == nil {
				m.Endings = map[provider.GroupID]model.Endings{}
			}
			m.Endings[id] = g.endings
		}
		if !g.missingSince.IsZero() {
			if m.Missing == nil {
				m.Missing = map[provider.GroupID]time.Time{}
			}
			m.Missing[id] = g.missingSince
		}
	}
	for name, n := range l.nodes.of {
		if !n.UnneededSince.IsZero() {
			if m.Unneeded == nil {
				m.Unneeded = map[string]time.Time{}
			}
			m.Unneeded[name] = n.UnneededSince
		}
		if n.Drain != nil {
			if d, ok := toRemember(*n.Drain); ok {
				m.Drains = append(m.Drains, d)
			}
		}
		if !n.Failed.At.IsZero() {
			if m.Failures == nil {
				m.Failures = map[string]model.Failure{}
			}
			m.Failures[name] = n.Failed
		}
	}
	m.Drains, m.Failures = bounded(m.Drains), longestRests(m.Failures)
	return m
}

// lastDisplaced are the controllers to be remembered: of too many, those of the
// last evictions.
func lastDisplaced(all map[types.UID]model.Displaced) map[types.UID]model.Displaced {
	if len(all) == 0 {
		return nil
	}
	owners := slices.SortedFunc(maps.Keys(all), func(a, b types.UID) int { return cmp.Or(all[b].Last.Compare(all[a].Last), cmp.Compare(a, b)) })
	out := map[types.UID]model.Displaced{}
	for _, o := range owners[:min(len(owners), mostDisplaced)] {
		out[o] = all[o]
	}
	return out
}

// longestRests are the failures to be remembered: of too many, those whose rests last
// the longest.
func longestRests(all map[string]model.Failure) map[string]model.Failure {
	if len(all) <= mostFailures {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(all[b].Until().Compare(all[a].Until()), cmp.Compare(a, b)) })
	for _, name := range names[mostFailures:] {
		delete(all, name)
	}
	return all
}

// firstStrays are the strays to be remembered: of too many, the first by name.
func firstStrays(all map[string]provider.GroupID) map[string]provider.GroupID {
	if len(all) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	out := map[string]provider.GroupID{}
	for _, n := range names[:min(len(names), mostStrays)] {
		out[n] = all[n]
	}
	return out
}

// What is remembered of drains is bounded, as all that the memory lies in is. A
// drain that is not remembered is taken back after a restart.
const (
	mostDrains = 50
	// mostPods is of their pods together: they are named by UIDs, which no
	// compression makes shorter.
	mostPods = 1000
	// mostDisplaced is how many controllers of evicted pods are remembered.
	mostDisplaced = 200
	// mostFailures is how many nodes are remembered whose removal failed, and mostWhy
	// how many letters of what was in the way.
	mostFailures = 200
	mostWhy      = 300
	// mostStrays is how many nodes whose instance is listed no more are.
	mostStrays = 200
)

// toRemember tells what a later leader must know of a drain. The taint alone
// says enough of an empty node, and of one whose taint is being written nothing
// is lost if it is given back. To cordon a node twice does no harm, so that of a
// cordon under way only its beginning is remembered.
func toRemember(d model.Drain) (model.Drain, bool) {
	if !d.Occupied {
		return d, false
	}
	for i := range d.Evictions {
		switch e := &d.Evictions[i]; {
		case e.Granted || e.Busy && e.Why == "":
			d.Moved = latest(d.Moved, e.Last)
		case e.Why != "" && (d.Refused.IsZero() || e.First.Before(d.Refused)):
			d.Refused = e.First
		}
	}
	d.Evictions = nil
	switch d.Stage {
	case model.Cordoning:
		d.Stage = model.Tainted
	case model.Tainted, model.Evicting, model.Removing, model.RollingBack:
	default:
		return d, false
	}
	return d, true
}

// bounded keeps as many drains as may be remembered, first those whose pods have
// begun to leave; sorted by node.
func bounded(drains []model.Drain) []model.Drain {
	waits := func(d *model.Drain) int {
		if d.Stage == model.Tainted {
			return 1
		}
		return 0
	}
	slices.SortFunc(drains, func(a, b model.Drain) int { return cmp.Or(waits(&a)-waits(&b), cmp.Compare(a.Node, b.Node)) })
	kept, pods := drains[:0], 0
	for _, d := range drains {
		if len(kept) < mostDrains && pods+len(d.Pods) <= mostPods {
			kept, pods = append(kept, d), pods+len(d.Pods)
		}
	}
	slices.SortFunc(kept, func(a, b model.Drain) int { return cmp.Compare(a.Node, b.Node) })
	return kept
}

// Restore gives a ledger that knows what an earlier one remembered.
func Restore(rules model.Rules, m model.Memory) *Ledger {
	last := lasts{growth: m.LastGrowth, removal: m.LastRemoval, failure: m.LastFailure}
	l := &Ledger{
		rules: rules, groups: map[provider.GroupID]*group{}, calls: map[string]model.Call{}, nodes: newStandings(),
		before: map[string]*model.Drain{}, timed: map[string]bool{}, homes: model.NewHomes(0, nil),
		brakes: slices.Clone(m.Brakes), arrivals: slices.Clone(m.Arrivals),
		displaced: map[types.UID]model.Displaced{}, strays: map[string]provider.GroupID{}, written: m.Written, last: last, inherited: last, resume: m.Resume,
	}
	maps.Copy(l.displaced, m.Displaced)
	maps.Copy(l.strays, m.Strays)
	for _, a := range m.Asks {
		if a.Group == "" || len(a.Units) == 0 {
			continue // nothing that anything could come of
		}
		g := l.group(a.Group)
		a.Units = slices.Clone(a.Units)
		g.asks = append(g.asks, a)
	}
	for _, g := range l.groups {
		slices.SortStableFunc(g.asks, func(a, b model.Ask) int { return a.At.Compare(b.At) })
	}
	for id, b := range m.Backoffs {
		l.group(id).backoff = b
	}
	for id, e := range m.Endings {
		l.group(id).endings = e
	}
	for id, since := range m.Missing {
		l.group(id).missingSince = since
	}
	for name, since := range m.Unneeded {
		l.nodes.put(name, model.NodeStanding{UnneededSince: since})
	}
	for name, f := range m.Failures {
		n := l.nodes.of[name]
		n.Failed = f
		l.nodes.put(name, n)
	}
	for _, d := range m.Drains {
		d, ok := toRemember(d)
		if !ok || d.Node == "" || d.Stage == model.Removing && d.Instance == "" {
			continue // nothing that anybody would have written
		}
		n := l.nodes.of[d.Node]
		n.Drain = &d
		l.nodes.put(d.Node, n)
	}
	return l
}

// gap is how long nobody may have looked for what was remembered of unneeded
// nodes to count: in the meantime they may have been needed.
const gap = 2 * time.Minute

// trust goes over what was remembered, at the first look: times that cannot be
// are mended, to the side of waiting longer.
func (l *Ledger) trust(now time.Time) {
	late := !l.written.IsZero() && now.Sub(l.written) > gap
	for name, n := range l.nodes.of {
		if late || n.UnneededSince.After(now) {
			n.UnneededSince = time.Time{}
		}
		if n.Drain != nil {
			d := *n.Drain
			d.Since, d.Began, d.NotBefore = earlier(d.Since, now), earlier(d.Began, now), earlier(d.NotBefore, now.Add(retry))
			d.Refused, d.Moved = earlier(d.Refused, now), earlier(d.Moved, now)
			n.Drain = &d
		}
		n.Failed.At, n.Failed.Rest = earlier(n.Failed.At, now), min(max(n.Failed.Rest, 0), mostNodeRest)
		l.nodes.put(name, n)
	}
	for _, g := range l.groups {
		for i := range g.asks {
			if a := &g.asks[i]; a.At.IsZero() || a.At.After(now) {
				a.At = now
			}
			for j := range g.asks[i].Units {
				u := &g.asks[i].Units[j]
				u.Since, u.Stalled, u.Lost = earlier(u.Since, now), earlier(u.Stalled, now), earlier(u.Lost, now)
				u.Exists = earlier(u.Exists, now)
			}
		}
		if b := &g.backoff; b.Until.After(now.Add(l.rules.BackoffMost+l.rules.BackoffReset)) || b.Since.After(now) {
			*b = model.Backoff{}
		}
		g.endings.Last = earlier(g.endings.Last, now)
		if g.missingSince.After(now) {
			g.missingSince = now
		}
	}
	for owner, d := range l.displaced {
		d.First, d.Last = earlier(d.First, now), earlier(d.Last, now)
		l.displaced[owner] = d
	}
	for _, t := range []*lasts{&l.last, &l.inherited} {
		t.growth, t.removal, t.failure = earlier(t.growth, now), earlier(t.removal, now), earlier(t.failure, now)
	}
}

// earlier is a time, or the latest that it can be.
func earlier(t, latest time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return t
}

// asksToRemember are the group's asks. While nothing makes its machines, a later leader
// must find that none of their time has run: it may see nothing of the stall.
func (g *group) asksToRemember() []model.Ask {
	asks := copyOf(g.asks)
	if !g.stalls {
		return asks
	}
	for i := range asks {
		for j := range asks[i].Units {
			if u := &asks[i].Units[j]; u.Open() {
				u.Stalled = latest(u.Stalled, g.stalled)
			}
		}
	}
	return asks
}

func copyOf(asks []model.Ask) []model.Ask {
	out := slices.Clone(asks)
	for i := range out {
		out[i].Units = slices.Clone(out[i].Units)
	}
	return out
}
