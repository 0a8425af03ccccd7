package repair

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Rate bounds how many unhealthy machines are ended. It is
// counted down by repairs and by removals of nodes that are not ready, and those under
// way count as ended. What the cloud could not make does not count: there is no machine.
type Rate struct {
	snap   *model.Snapshot
	groups []int // by group: how many more may be ended
	all    int
	untils []time.Time // by group: when what was ended is forgotten
	ended  []ending    // sorted by time
}

// ending is when so many endings of a group are forgotten.
type ending struct {
	until time.Time
	count int
}

// NewRate counts what was ended, and what is about to be.
func NewRate(s *model.Snapshot) *Rate {
	r := &Rate{snap: s, groups: make([]int, len(s.Groups)), untils: make([]time.Time, len(s.Groups))}
	nodes := 0
	for i := range s.Groups {
		g := &s.Groups[i]
		nodes += g.Expected
		rest := g.Rests.Of(model.RestEnded)
		n := rest.Within(s.Now)
		if n > 0 {
			r.untils[i] = rest.Until
			r.ended = append(r.ended, ending{r.untils[i], n})
		}
		n += g.Amiss // a call's machine and node may be gone before it is answered
		r.groups[i] = model.MostEndings(g.Expected) - n
		r.all -= n
	}
	r.all += model.MostEndingsOfAll(nodes)
	slices.SortFunc(r.ended, func(a, b ending) int { return a.until.Compare(b.until) })
	for i := range s.Nodes {
		n := s.Nodes[i]
		c, d := n.Standing.Busy, n.Standing.Drain
		if n.Group >= 0 && d != nil && d.Unready && d.Stage != model.Removed && d.Stage != model.RollingBack &&
			(c == nil || c.Verb != model.Remove) {
			r.Take(n.Group)
		}
	}
	return r
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Take counts a machine of a group that is to be ended.
func (r *Rate) Take(group int) {
	r.groups[group]--
	r.all--
}

// Held says why no unhealthy machine of the group may be ended now, nil if one may.
func (r *Rate) Held(group int) *model.Verdict {
	g := &r.snap.Groups[group]
	v := model.Verdict{Reason: model.ManyAmiss, Fix: "time; see what these machines have in common"}
	switch {
	case r.groups[group] <= 0:
		v.Detail = fmt.Sprintf("at most %d unhealthy machines of the group are ended within %s",
			model.MostEndings(g.Expected), model.EndingsApart)
		v.Until = r.untils[group]
	case r.all <= 0:
		v.Detail = fmt.Sprintf("no more unhealthy machines of all groups are ended within %s",
			model.EndingsApart)
		v.Until = r.enough()
	default:
		return nil
	}
	return &v
}

// enough is when so much of what was ended in all groups is forgotten that one more may
// be; zero if time alone does not bring that.
func (r *Rate) enough() time.Time {
	left := r.all
	for _, e := range r.ended {
		if left += e.count; left > 0 {
			return e.until
		}
	}
	return time.Time{}
}

// together is how close the ends of two machines' times are if they count as one event.
const together = time.Minute

// halts are how long each group's machines without a node are left alone, since there
// are so many of them at once: the fault is then rather the cluster's, or ours, and they
// may come back. Those that have come back lately count as well: the others may follow.
// By index; zero: not at all. Fewer is when the first of those that came back no longer counts; zero
// if none did. All of these times are by our own clock.
func halts(s *model.Snapshot, rules model.Rules) (out []time.Time, fewer time.Time) {
	out = make([]time.Time, len(s.Groups))
	if !slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.Counts.LongUnregistered > 0 }) {
		return out, time.Time{} // none is to be ended
	}
	var all []time.Time
	nodes := 0
	for i := range s.Groups {
		g := &s.Groups[i]
		nodes += g.Expected
		own := slices.Clone(g.Back)
		for _, at := range own {
			if over := at.Add(model.EndingsApart); fewer.IsZero() || over.Before(fewer) {
				fewer = over
			}
		}
		for _, w := range g.Waiting {
			if until := w.Since.Add(rules.Provision(&g.Group)); w.Err == nil && until.Before(s.Now.Add(together)) {
				own = append(own, until)
			}
		}
		out[i] = haltOf(own, model.MostEndings(g.Expected))
		all = append(all, own...)
	}
	until := haltOf(all, model.MostEndingsOfAll(nodes))
	for i := range out {
		out[i] = latest(out[i], until)
	}
	return out, fewer
}

// haltOf is until when nothing is ended, given since when each machine is to be.
func haltOf(since []time.Time, most int) time.Time {
	if len(since) <= most {
		return time.Time{}
	}
	slices.SortFunc(since, time.Time.Compare)
	return since[most].Add(model.EndingsApart)
}
