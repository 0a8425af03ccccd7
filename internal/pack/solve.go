package pack

import "slices"

// search is what the ways of finding a plan share: the problem, the steps, and the best plan so far.
type search struct {
	c      *core
	m      *meter
	best   *draft
	worth  worth
	method Method
	bound  *bound
}

// Solve packs as well as it can within the problem's budget. It fails for numbers that no cluster has.
func Solve(p Problem) (Plan, error) {
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	s, columns := solve(&p)
	return s.plan(&p, columns), nil
}

func solve(p *Problem) (*search, []pattern) {
	m := &meter{}
	c := fold(p, m)
	s := begin(c, m)
	if len(c.classes) == 0 || p.Enough > 0 && s.bound.least() >= p.Enough {
		return s, nil
	}
	return s, s.pack(c.warm(p), p.Budget)
}

// begin is a search that has a plan, of no quality, and a bound.
func begin(c *core, m *meter) *search {
	s := &search{c: c, m: m, bound: newBound(c)}
	s.offer(newDraft(c), MethodNextFit)
	if len(c.classes) > 0 {
		s.bound.offer(c.resourcePrices(c.cost, m))
		if slices.ContainsFunc(c.classes, func(k class) bool { return k.perNode != NoLimit }) {
			s.bound.offer(c.classPrices(m))
		}
	}
	return s
}

// pack goes through the ways, those that are cheap first. It returns the columns on which the bound
// rests.
func (s *search) pack(warm []pattern, until int) []pattern {
	worth := s.c.guess()
	if !s.c.columnsPay(until - s.m.spent) {
		many := len(s.c.classes) > mostGroups
		if s.heuristics(worth, s.m.spent+(until-s.m.spent)/4); many && !s.done() && s.m.spent < until {
			s.inGroups(worth, mostGroups, until)
		}
		return nil
	}
	drafts := s.heuristics(worth, s.m.spent+(until-s.m.spent)/20)
	if s.done() {
		return nil
	}
	g := newGenerator(s.c, s.bound, s.m)
	g.begin(s.best)
	for _, p := range warm {
		g.add(p.kind, p.load)
	}
	for _, d := range drafts {
		if float64(d.worth(s.c).price) > 1.3*float64(s.worth.price) {
			continue
		}
		for _, e := range d.entries {
			g.add(e.kind, e.load)
		}
	}
	s.columns(g, worth, until)
	return g.columns()
}

// columnsPay reports whether the budget is enough for column generation: to begin with, each row takes
// an exchange, and they take the longer the more rows there are.
func (c *core) columnsPay(budget int) bool {
	rows := len(c.classes)
	for k := range c.kinds {
		if rows <= mostRows && c.scarce(k) {
			rows++
		}
	}
	return rows <= mostRows && rows*rows*rows/operationsPerStep < budget
}

const mostRows = 1200

// columns generates columns and rounds, in turn: first without looking deep, so that there is a good
// plan soon, then deeper, for the proof and what it brings to light.
func (s *search) columns(g *generator, worth []float64, budget int) {
	r := &rounder{search: s, g: g, greedy: newGreedy(s.c, s.m, worth)}
	part := func(tenths int) int { return s.m.spent + (budget-s.m.spent)/10*tenths }
	for deep := stepsGrow * fewest(s.c); deep < budget && s.m.spent < budget && !s.done(); deep *= stepsGrow {
		if !g.prove(deep, part(5)) {
			r.rounds(mostDives, budget)
			return
		}
		r.rounds(fewDives, part(5))
	}
}

// offer keeps a draft if it is better than the best so far, each node of the cheapest kind. What
// the draft leaves unplaced although there is room is put on nodes of its own.
func (s *search) offer(d *draft, method Method) {
	s.c.nextFit(d, s.m)
	d.typeLast(s.c, s.m)
	w := d.worth(s.c)
	if s.best != nil && !w.less(s.worth) {
		return
	}
	if s.best == nil || w.left != s.worth.left {
		s.bound.beside(w.left)
	}
	s.best, s.worth, s.method = d, w, method
}

// done reports whether no plan is cheaper than the best so far.
func (s *search) done() bool { return s.worth.left == 0 && s.worth.price <= s.bound.least() }

// heuristics tries the ways that are cheap, and returns what they found.
func (s *search) heuristics(worth []float64, until int) []*draft {
	g := newGreedy(s.c, s.m, slices.Clone(worth))
	var drafts []*draft
	try := func(method Method, kinds []int, fill filler, share int) {
		d := newDraft(s.c)
		if s.m.spent < until && !s.done() && g.run(d, kinds, fill, share, until) {
			drafts = append(drafts, d.clone())
			s.offer(d, method)
		}
	}
	if len(s.c.kinds) > 1 {
		for _, k := range g.short {
			try(MethodTypeLast, []int{k}, largestFirst, 1)
		}
	}
	try(MethodLargestFirst, g.short, largestFirst, 1)
	try(MethodDotProduct, g.short, dotProduct, 1)
	if len(s.c.kinds) > 1 {
		for _, k := range g.short {
			try(MethodTypeLast, []int{k}, dotProduct, 2)
		}
	}
	try(MethodDotProduct, g.short, dotProduct, 4)
	try(MethodBestFit, g.short, bestFit, 2)
	if s.worth.left > 0 {
		for i := range g.worth {
			g.worth[i] = 1
		}
		g.alike = true
		try(MethodMostItems, s.c.every(), smallestFirst, 1)
	}
	return drafts
}
