package pack

import (
	"encoding/binary"
	"math"
	"slices"
)

// generator solves the configuration program: the cheapest amounts of patterns (a kind with a load)
// that hold all items. There are far too many patterns to list; those that can make it cheaper are
// found one by one, by a knapsack over what the items are worth at the moment. Each round of these
// knapsacks is a bound, too.
type generator struct {
	c        *core
	m        *meter
	master   *simplex
	knapsack *knapsack
	dice     dice
	bound    *bound
	patterns []pattern // by column, after the first len(c.classes) columns: those leave an item unplaced
	known    map[string]bool
	limits   []int     // by kind: its row in the master, or -1
	centre   []float64 // prices that are known to be a bound; new ones are kept near them
	turn     int       // the kind to begin with
	steps    int       // of one knapsack
	value    float64   // of the master
}

type pattern struct {
	kind int
	load load
}

// The knapsacks are asked at prices between the master's and the centre, which keeps them from
// swinging. Their steps begin low, since most find something at once, and grow where none does.
const (
	toCentre  = 0.5
	stepsGrow = 8
)

// fewest are enough steps for some loads.
func fewest(c *core) int { return 400 + 10*len(c.classes) }

// wanted are enough patterns for the master to go on with.
func wanted(c *core) int { return 6 + len(c.classes)/8 }

func newGenerator(c *core, b *bound, m *meter) *generator {
	g := &generator{c: c, m: m, knapsack: newKnapsack(c, m), dice: 1, bound: b, known: map[string]bool{},
		limits: make([]int, len(c.kinds)), centre: slices.Clone(b.prices.item), steps: fewest(c)}
	rows := len(c.classes)
	for k := range c.kinds {
		if g.limits[k] = -1; c.scarce(k) {
			g.limits[k] = rows
			rows++
		}
	}
	g.master = newSimplex(rows, m)
	for i := range c.classes {
		// Leaving an item out costs more than a node of its own.
		least := math.Inf(1)
		for k := range c.kinds {
			if c.kinds[k].most[i] > 0 {
				least = min(least, c.cost(k))
			}
		}
		cost := 2 * least
		if rows > len(c.classes) {
			cost = 100
		}
		g.master.put(i, 1)
		g.master.add(cost)
	}
	return g
}

// scarce reports whether the limit of a kind may matter.
func (c *core) scarce(k int) bool {
	if c.kinds[k].limit == NoLimit {
		return false
	}
	need := make([]float64, c.dims)
	nodes := 1.0
	for i := range c.classes {
		if most := c.kinds[k].most[i]; most > 0 {
			add(need, float64(c.classes[i].count), c.classes[i].share)
			nodes = max(nodes, float64(c.classes[i].count)/float64(most))
		}
	}
	for r, n := range need {
		if n > 0 {
			nodes = max(nodes, n/c.kinds[k].share[r])
		}
	}
	return float64(c.kinds[k].limit) < 2*nodes+1
}

// add adds a pattern as a column, unless it is there.
func (g *generator) add(k int, l load) bool {
	key := binary.AppendUvarint(nil, uint64(k))
	for _, p := range l {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(p.class)), uint64(p.count))
	}
	if len(l) == 0 || g.known[string(key)] {
		return false
	}
	g.known[string(key)] = true
	for _, p := range l {
		g.master.put(int(p.class), float64(p.count))
	}
	if row := g.limits[k]; row >= 0 {
		g.master.put(row, -1)
	}
	g.master.add(g.c.cost(k))
	g.patterns = append(g.patterns, pattern{k, l})
	return true
}

// begin takes a draft for the first basis. Each of its loads uses up a class, so that it takes that one's place.
func (g *generator) begin(d *draft) {
	for _, e := range d.entries {
		g.add(e.kind, e.load)
	}
	g.ask(newDraft(g.c))
	for at := range g.patterns {
		g.master.enter(len(g.c.classes) + at)
	}
}

// ask sets what is to be placed, and how many nodes of each kind there may be.
func (g *generator) ask(d *draft) {
	demand := make([]float64, g.master.rows)
	for i, n := range d.rest {
		demand[i] = float64(n)
	}
	for k, row := range g.limits {
		if row >= 0 {
			demand[row] = -float64(d.room(g.c, k)) - 1e-6 // below zero, for the plain basis
		}
	}
	g.master.ask(demand)
}

// prove generates columns for everything until the bound is met, nothing is left to find, or the
// steps are spent; or until a knapsack would need more than deep steps to find something. It reports
// whether there may be more to find.
func (g *generator) prove(deep, until int) bool {
	g.master.back()
	g.ask(newDraft(g.c))
	defer g.master.keep()
	item := make([]float64, len(g.c.classes))
	rest := g.c.counts()
	for round := 1; ; round++ {
		g.master.run(until)
		g.value = g.master.value()
		if g.met() {
			return false
		}
		towards := toCentre
		for {
			if g.m.spent >= until {
				return true
			}
			for i := range item {
				item[i] = max(0, float64(towards*g.centre[i])+float64((1-towards)*g.master.dual[i]))
			}
			atMost, found, cut := g.look(item, rest, asked{steps: g.steps, all: round%8 == 0, until: until})
			if atMost != nil {
				if scale, better := g.bound.columns(item, atMost); better {
					for i, v := range item {
						g.centre[i] = v / scale
					}
				}
			}
			if found > 0 {
				break
			}
			if towards > 0 {
				if towards /= 2; towards < 0.05 {
					towards = 0
				}
				continue
			}
			if !cut {
				return false
			}
			if g.steps *= stepsGrow; g.steps > deep {
				return true
			}
		}
	}
}

// met reports whether the bound is as high as the program, or rounds to the same price.
func (g *generator) met() bool {
	if g.bound.best >= g.value*(1-1e-5) {
		return true
	}
	return g.bound.least() >= g.c.whole(g.value*(1-1e-6))
}

// asked is how the knapsacks are asked: steps of each, whether all of them, and when to end.
type asked struct {
	steps int
	all   bool
	until int
}

// look asks the knapsack of each kind for patterns that are worth more than they cost. Once enough are
// found, the other kinds are left for the next time, unless all are to be asked. It returns how many
// were found, and whether a knapsack ended early; and if all were asked, what no load exceeds.
func (g *generator) look(item []float64, rest []int, how asked) (atMost []float64, found int, cut bool) {
	atMost = make([]float64, len(g.c.kinds))
	for n := range g.c.kinds {
		k := (g.turn + n) % len(g.c.kinds)
		if found >= wanted(g.c) && !how.all || g.m.spent >= how.until {
			g.turn = k
			return nil, found, cut
		}
		_, atMost[k] = g.knapsack.solve(k, item, rest, min(how.steps, how.until-g.m.spent))
		cut = cut || g.knapsack.ended
		found += g.more(k, item, rest)
	}
	return atMost, found, cut
}

// more adds the loads that the knapsack has found. Then it looks for others, without the classes of
// those that are found: columns that have little in common move the master farther than one alone.
func (g *generator) more(k int, item []float64, rest []int) (found int) {
	for _, before := range []bool{true, false} {
		if l := g.knapsack.load(before); g.gains(k, l) && g.add(k, l) {
			found++
		}
	}
	if found == 0 {
		return 0
	}
	rest = slices.Clone(rest)
	for range len(rest) / 8 {
		for _, p := range g.knapsack.load(false) {
			rest[p.class] = 0
		}
		g.knapsack.solve(k, item, rest, fewest(g.c))
		l := g.knapsack.load(false)
		if !g.gains(k, l) {
			break
		}
		if g.add(k, l) {
			found++
		}
	}
	return found
}

// gains reports whether a load is worth more than its node costs, at the master's prices.
func (g *generator) gains(k int, l load) bool {
	worth, cost := 0.0, g.c.cost(k)
	for _, p := range l {
		worth += float64(g.master.dual[p.class] * float64(p.count))
	}
	if row := g.limits[k]; row >= 0 {
		cost += g.master.dual[row]
	}
	return worth > cost*(1+1e-7)
}

// refine generates some columns for what is left of a draft; the bound is not touched.
func (g *generator) refine(d *draft, rounds, until int) {
	g.ask(d)
	item := make([]float64, len(g.c.classes))
	for range rounds {
		g.master.run(until)
		if g.m.spent >= until {
			return
		}
		for i := range item {
			item[i] = max(0, g.master.dual[i])
		}
		if _, found, _ := g.look(item, d.rest, asked{steps: fewest(g.c), until: until}); found == 0 {
			return
		}
	}
}

// amount is so many nodes, with a fraction, of a pattern.
type amount struct {
	pattern pattern
	nodes   float64
}

// amounts are what the master buys.
func (g *generator) amounts() []amount {
	var list []amount
	for i, b := range g.master.basis {
		if at := b - len(g.c.classes); at >= 0 && g.master.x[i] > 1e-6 {
			list = append(list, amount{g.patterns[at], g.master.x[i]})
		}
	}
	return list
}

// columns are the patterns of the basis that the last proof ended with.
func (g *generator) columns() []pattern {
	g.master.back()
	var list []pattern
	for _, b := range g.master.basis {
		if at := b - len(g.c.classes); at >= 0 {
			list = append(list, g.patterns[at])
		}
	}
	return list
}
