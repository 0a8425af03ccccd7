package ledger

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
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
		Resume: l.resume, Strays: firstStrays(l.strays),
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
	}
	removal.Remember(&m, l.nodes.of, l.displaced)
	return m
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

// mostStrays is how many nodes whose instance is listed no more are remembered.
const mostStrays = 200

// Restore gives a ledger that knows what an earlier one remembered.
func Restore(rules model.Rules, m model.Memory) *Ledger {
	last := lasts{growth: m.LastGrowth, removal: m.LastRemoval, failure: m.LastFailure}
	l := &Ledger{
		rules: rules, groups: map[provider.GroupID]*group{}, calls: map[string]model.Call{}, nodes: newStandings(),
		timed: map[string]bool{}, homes: model.NewHomes(0, nil),
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
	for _, d := range removal.Recalled(&m) {
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
		l.nodes.put(name, removal.Mended(n, now))
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
