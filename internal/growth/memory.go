package growth

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Remember adds to a memory what a later leader must know of the group.
func (g *Group) Remember(m *model.Memory) {
	m.Asks = append(m.Asks, g.asksToRemember()...)
	if r := g.Rests.Of(model.RestFailed); !r.Since.IsZero() {
		m.Backoffs = with(m.Backoffs, g.ID, r)
	}
	if r := g.Rests.Of(model.RestEnded); r.Count > 0 {
		m.Endings = with(m.Endings, g.ID, model.Endings{Count: r.Count, Last: r.Since})
	}
	if len(g.back) > 0 {
		m.Back = with(m.Back, g.ID, slices.Clone(g.back))
	}
	if !g.missingSince.IsZero() {
		m.Missing = with(m.Missing, g.ID, g.missingSince)
	}
}

func with[V any](m map[provider.GroupID]V, id provider.GroupID, v V) map[provider.GroupID]V {
	if m == nil {
		m = map[provider.GroupID]V{}
	}
	m[id] = v
	return m
}

// asksToRemember are the group's asks. While nothing makes its machines, a later leader
// must find that none of their time has run: it may see nothing of the stall.
func (g *Group) asksToRemember() []model.Ask {
	asks := copyOf(g.asks)
	if !g.stalls {
		return asks
	}
	for i := range asks {
		for j := range asks[i].Units {
			if u := &asks[i].Units[j]; u.Open() {
				u.Stop(g.deadline.Stalled)
			}
		}
	}
	return asks
}

// Restore gives the groups of a memory what it has of them.
func Restore(m model.Memory, group func(provider.GroupID) *Group) {
	for _, a := range m.Asks {
		if a.Group == "" || len(a.Units) == 0 {
			continue // nothing that anything could come of
		}
		g := group(a.Group)
		a.Units = slices.Clone(a.Units)
		for i := range a.Units {
			a.Units[i] = mended(a.Units[i])
		}
		g.asks = append(g.asks, a)
		slices.SortStableFunc(g.asks, func(a, b model.Ask) int { return a.At.Compare(b.At) })
	}
	for id, r := range m.Backoffs {
		r.Cause = model.RestFailed
		group(id).Rests.Put(r)
	}
	for id, e := range m.Endings {
		group(id).Rests.Put(e.Rest())
	}
	for id, times := range m.Back {
		group(id).back = slices.Clone(times)
	}
	for id, since := range m.Missing {
		group(id).missingSince = since
	}
}

// mended is a unit that has what its state says that it has. One that is less far is waited
// for again: we err to that.
func mended(u model.Unit) model.Unit {
	switch {
	case u.Instance == "":
		u.Node = ""
		if u.State != model.UnitGivenUp && u.State != model.UnitKept {
			u.State = model.UnitAsked
		}
	case u.State == model.UnitGivenUp:
	case u.Node == "" || u.State < model.UnitRegistered || u.State > model.UnitReady:
		u.State, u.Node = model.UnitMade, ""
	}
	return u
}

// Trust goes over what was remembered, at the first look: times that cannot be
// are mended, to the side of waiting longer. Alone is for how long no process led, if that was long: nothing was
// looked at, or rather the clock has jumped. No time of what is waited for has run then.
func (g *Group) Trust(rules model.Rules, now time.Time, alone time.Duration) {
	for i := range g.asks {
		if a := &g.asks[i]; a.At.IsZero() || a.At.After(now) {
			a.At = now
		}
		for j := range g.asks[i].Units {
			u := &g.asks[i].Units[j]
			for _, t := range []*time.Time{&u.Entered, &u.Since, &u.Stalled, &u.Lost, &u.Exists} {
				*t = model.Earlier(*t, now)
			}
			if alone > 0 && u.Open() {
				u.Stop(model.Earlier(u.From(model.Latest(g.asks[i].At, u.Exists)).Add(alone), now))
			}
		}
	}
	for i := range g.back {
		g.back[i] = model.Earlier(g.back[i], now)
	}
	longest := now.Add(rules.BackoffMost + rules.BackoffReset)
	if r := g.Rests.Of(model.RestFailed); r.Until.After(longest) || r.Since.After(now) {
		g.Rests.End(model.RestFailed)
	}
	if r := g.Rests.Of(model.RestEnded); r.Since.After(now) {
		g.Rests.Put(model.Endings{Count: r.Count, Last: now}.Rest())
	}
	if !g.missingSince.IsZero() {
		g.missingSince = model.Earlier(g.missingSince.Add(alone), now)
	}
}
