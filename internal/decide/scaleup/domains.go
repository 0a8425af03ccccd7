package scaleup

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// growOverDomains serves classes whose pods depend on whole topology domains:
// a class grows over all the groups that suit it at once, in one zone as much
// as in another.
func (pl *planner) growOverDomains(list []*waiting) {
	pl.w.Allow(pl.stepsLeft() / 2)
	for _, q := range list {
		if q.left == 0 || q.outOfSteps || pl.packed(q) || pl.w.Unsupported(q.Class) != "" || pl.cut([]*waiting{q}) {
			continue
		}
		pl.growOne(q)
	}
}

// attempt is a set of heads to spread a class over, and how it went.
type attempt struct {
	heads []head
	got   schedsim.Spreading
	steps int // that it took
}

// growOne spreads one class. Where a domain that has no node yet runs into a
// limit, its few nodes hold back all other domains: then the class is tried
// again without that domain, and the attempt that serves the most pods wins;
// among equals, the first. A group that was left out so stays out for this
// cycle: once the others' pods are bound, the next cycle may open its domain.
func (pl *planner) growOne(q *waiting) {
	heads := pl.suitable(q)
	var best attempt
	tried := attempt{heads: heads}
	stands := false // the best attempt is carried out already
	untried := false
	steps := pl.stepsLeft() / 4
	for round := 0; ; round++ {
		m, before := pl.w.Mark(), pl.w.Work().Steps
		tried.got = pl.spread(q, tried.heads, steps)
		tried.steps = pl.w.Work().Steps - before
		better := round == 0 || tried.got.Left < best.got.Left
		if better {
			best = tried
		}
		// It stands, too, where the steps would not do for another and for this one again.
		short := !tried.got.Enough || pl.w.Remaining() < best.steps+tried.steps
		if stands = tried.got.Left == 0; stands {
			untried = false
			break
		}
		next := withoutRefused(tried)
		untried = short && len(next) > 0 && len(next) < len(tried.heads)
		if stands = better && short; stands {
			break
		}
		pl.w.Undo(m)
		if short || len(next) == len(tried.heads) || len(next) == 0 {
			break
		}
		tried = attempt{heads: next}
	}
	for _, h := range heads {
		if len(best.heads) == len(heads) {
			break // none was left out
		}
		if !slices.ContainsFunc(best.heads, func(k head) bool { return k.group == h.group }) {
			q.postponed[h.group] = true
		}
	}
	if !stands {
		best.got = pl.spread(q, best.heads, steps)
	}
	if untried {
		best.got.Enough = false // the next cycle, in which the class comes first, may try it
	}
	pl.count(q, best)
}

// suitable lists the groups that may grow for the class, best first by the
// expanders. Those that could not be used are left out.
func (pl *planner) suitable(q *waiting) []head {
	if r := pl.ranking(q); r != nil {
		return r.heads
	}
	options := pl.answersOf(q, pl.w.MostPerHost(q.Class))
	pl.options += len(options)
	heads := make([]head, 0, len(options))
	for _, i := range pl.rank(options) {
		h := options[i].head
		if !pl.w.Choosy(q.Class, h.group) {
			heads = append(heads, h)
			continue
		}
		for _, v := range pl.variants(q.Class, h) {
			v.hoped = h.hoped
			heads = append(heads, v)
		}
	}
	slices.SortStableFunc(heads, func(a, b head) int { return pl.hope(q.Class, a) - pl.hope(q.Class, b) })
	return heads
}

// answersOf are the groups that may grow for the class, each with the nodes that its pods need, of which no more than
// perHost share one.
func (pl *planner) answersOf(q *waiting, perHost int) []option {
	options, placed := pl.answers[:0], make([]model.Batch, 0, len(pl.heads))
	pl.w.Looked(looksPerGroup * len(pl.heads))
	for _, h := range pl.heads {
		most := pl.limits.most(h.group)
		if pl.w.Choosy(q.Class, h.group) {
			most = max(most, pl.w.Undecided(h.group))
		}
		if most == 0 || q.postponed[h.group] || !pl.suits(q.Class, h) {
			continue
		}
		outlook := pl.prospect(q.Class, h.group)
		if outlook == unseen || outlook == never || pl.ruled && outlook == byStep {
			continue
		}
		h.hoped = outlook == byStep
		// A form of the group suits the class, so that a node of it takes one at least,
		// though what all forms have in common may take none.
		per := max(1, min(perHost, pl.w.Capacity(q.Class, h.template)))
		nodes := min(most, (q.left+per-1)/per)
		placed = append(placed, model.Batch{Class: q.Class, Count: min(q.left, nodes*per)})
		options = append(options, option{head: h, nodes: nodes, placed: placed[len(placed)-1:]})
	}
	pl.answers = options
	return options
}

func (pl *planner) spread(q *waiting, heads []head, steps int) schedsim.Spreading {
	pass := pl.pass[:0]
	for _, h := range heads {
		pass = append(pass, schedsim.Head{
			Template: h.template, Landing: h.landing, Variant: h.variant, Passing: h.passing, Hoped: h.hoped,
		})
	}
	pl.pass = pass
	var trial *limits // once it is asked for: the pods may all have room
	taken := make([]int, len(heads))
	allow := func(h int, opened []int) bool {
		if trial == nil {
			trial = pl.limits.clone()
		}
		for i, n := range opened {
			if n != taken[i] {
				trial.take(heads[i].group, n-taken[i])
				taken[i] = n
			}
		}
		return trial.most(heads[h].group) > 0
	}
	const on = schedsim.OnReady | schedsim.OnComing | schedsim.OnReturning | schedsim.OnPlanned
	return pl.w.Settle(q.Class, q.left, on, pass, allow, steps)
}

func withoutRefused(a attempt) []head {
	var next []head
	for i, h := range a.heads {
		if !a.got.Refused[i] {
			next = append(next, h)
		}
	}
	return next
}

// count takes the attempt that won into the plan.
func (pl *planner) count(q *waiting, a attempt) {
	got := a.got
	placed := q.left - got.Left
	why := func(groups int) string {
		if pl.w.Bulk(q.Class) {
			return "for what the cloud may make of its nodes"
		}
		return "spread over " + spelling.Count(groups, "group")
	}
	grown := map[int]bool{}
	for i, n := range got.Opened {
		if n > 0 {
			grown[a.heads[i].group] = true
		}
	}
	for i, n := range got.Opened {
		if n > 0 {
			pl.limits.take(a.heads[i].group, n)
			pl.record(a.heads[i].group, n, why(len(grown)))
		}
	}
	if _, done := pl.domains[q.Class]; !done && placed > 0 {
		pl.domains[q.Class] = pl.w.Domains(q.Class)
	}
	ready, coming, planned := pl.w.CountByKind(got.Put)
	q.upcoming += ready + coming // pods on ready nodes are there beside those on others
	q.planned += planned
	q.left = got.Left
	q.outOfSteps = !got.Enough
	q.unseen = q.unseen || q.outOfSteps
}
