package pack

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// TestProofs checks the prices on which a bound rests, in whole numbers and without the knapsack: no
// load of all there are is worth more than its node and the toll, and what all items are worth is the
// bound.
func TestProofs(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	by := map[Proof]int{}
	for n := range 400 {
		p := drawn(r, 7, 30)
		if n%4 == 0 { // large items, none of which has two of a kind of node
			p.Budget = 1 << 20
			for i := range p.Classes {
				p.Classes[i].Request = []int64{int64(200 + r.Intn(700)), int64(200 + r.Intn(700))}
			}
			for i := range p.Types {
				p.Types[i].Capacity = []int64{int64(1000 + r.Intn(1500)), int64(1000 + r.Intn(1500))}
			}
		}
		solved(t, p)
		s, _ := solve(&p)
		if len(s.c.classes) == 0 {
			continue
		}
		by[s.bound.prices.proof]++
		if exact := exactly(t, s); s.c.whole(s.bound.best) > exact {
			t.Fatalf("problem %d: the bound is %d, its prices prove %d\n%+v", n, s.c.whole(s.bound.best), exact, p)
		}
	}
	if by[ProofColumns] < 50 || by[ProofResourcePrices] < 50 {
		t.Errorf("bounds by proof: %v", by)
	}
}

// exactly is what the prices of a bound prove, in whole numbers.
func exactly(t *testing.T, s *search) int64 {
	const one = 1 << 44
	c, prices := s.c, s.bound.prices
	item := make([]int64, len(c.classes))
	for i, price := range prices.item {
		if price < 0 {
			t.Fatalf("class %d has a price of %v", i, price)
		}
		item[i] = int64(price * (1 - margin/2) * one)
	}
	value := int64(0)
	unplaced := s.bound.unplaced
	dearest := make([]int64, 0)
	for i, class := range c.classes {
		for range class.count {
			dearest = append(dearest, item[i])
		}
		value += item[i] * int64(class.count)
	}
	for range unplaced {
		most := 0
		for at := range dearest {
			if dearest[at] > dearest[most] {
				most = at
			}
		}
		value -= dearest[most]
		dearest[most] = 0
	}
	for k := range c.kinds {
		toll := int64(0)
		if prices.toll != nil && prices.toll[k] > 0 {
			toll = int64(math.Ceil(prices.toll[k] * one))
			value -= toll * int64(c.kinds[k].limit)
		}
		most := c.kinds[k].price * one / int64(c.priceMost)
		if worth := dearestLoad(c, k, item); worth > most+toll {
			t.Fatalf("a load of kind %d is worth %d, and costs %d and a toll of %d", k, worth, most, toll)
		}
	}
	unit := one / int64(c.priceMost) * c.priceUnit
	return (value + unit - 1) / unit * c.priceUnit
}

// dearestLoad goes through all loads.
func dearestLoad(c *core, k int, item []int64) int64 {
	free := append([]int64(nil), c.kinds[k].capacity...)
	var best int64
	var from func(i int, worth int64)
	from = func(i int, worth int64) {
		if best = max(best, worth); i == len(item) {
			return
		}
		class := &c.classes[i]
		taken := 0
		for ; taken <= int(c.kinds[k].most[i]) && fits(make([]int64, len(free)), free); taken++ {
			from(i+1, worth+item[i]*int64(taken))
			for r, n := range class.request {
				free[r] -= n
			}
		}
		for r, n := range class.request {
			free[r] += n * int64(taken)
		}
	}
	from(0, 0)
	return best
}

// TestKnapsack: with as many steps as it needs the best load of all is found, and with any number the
// bound holds.
func TestKnapsack(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for n := range 2000 {
		p := drawn(r, 6, 9)
		c := fold(&p, &meter{})
		item, value := make([]int64, len(c.classes)), make([]float64, len(c.classes))
		for i := range value {
			item[i] = int64(r.Intn(1000))
			value[i] = float64(item[i])
		}
		for k := range c.kinds {
			want := float64(dearestLoad(c, k, item))
			for _, steps := range []int{1, 5, 50, math.MaxInt32} {
				s := newKnapsack(c, &meter{})
				best, bound := s.solve(k, value, c.counts(), steps)
				worth := 0.0
				for _, p := range s.load(false) {
					worth += value[p.class] * float64(p.count)
				}
				all := steps == math.MaxInt32
				if bound < want || best > want || worth != best || all && (best < want || bound > want*1.000001) {
					t.Fatalf("problem %d, kind %d, %d steps: %v is worth %v, bound %v; the best is worth %v\n%+v",
						n, k, steps, s.load(false), best, bound, want, p)
				}
			}
		}
	}
}

// TestSimplex: the amounts cover the demand, no column and no surplus would make them cheaper, and the
// two values are one.
func TestSimplex(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for n := range 500 {
		rows := 1 + r.Intn(12+n/10)
		s := newSimplex(rows, &meter{})
		demand := make([]float64, rows)
		for i := range demand {
			demand[i] = float64(r.Intn(100))
			s.put(i, 1)
			s.add(1000)
		}
		if n%3 == 0 { // a limit on some columns
			demand[rows-1] = -float64(r.Intn(20))
		}
		for range r.Intn(60) {
			for i := range rows {
				if entry := r.Intn(9) - 4; entry > 0 {
					s.put(i, float64(entry))
				}
			}
			s.add(float64(1 + r.Intn(50)))
		}
		s.ask(demand)
		s.run(math.MaxInt)
		if n%2 == 0 { // with another demand some amounts are below zero at first
			for i := range demand {
				if demand[i] > 0 {
					demand[i] = float64(r.Intn(100))
				}
			}
			s.ask(demand)
			s.run(math.MaxInt)
		}
		covered, dual := make([]float64, rows), 0.0
		for i, b := range s.basis {
			if b >= 0 {
				at, entries := s.column(b)
				for j, row := range at {
					covered[row] += entries[j] * s.x[i]
				}
			}
			if s.x[i] < -1e-9 {
				t.Fatalf("problem %d: amount %v", n, s.x[i])
			}
		}
		for i := range demand {
			dual += s.dual[i] * s.rhs[i]
			if covered[i] < s.rhs[i]-1e-6 || s.dual[i] < -1e-6 {
				t.Fatalf("problem %d: row %d has %v of %v, worth %v", n, i, covered[i], s.rhs[i], s.dual[i])
			}
		}
		for c, cost := range s.cost {
			at, entries := s.column(c)
			for j, row := range at {
				cost -= s.dual[row] * entries[j]
			}
			if cost < -1e-5 {
				t.Fatalf("problem %d: column %d gains %v", n, c, -cost)
			}
		}
		if math.Abs(dual-s.value()) > 1e-6*max(1, dual) {
			t.Fatalf("problem %d: %v and %v", n, s.value(), dual)
		}
	}
}

// TestFactors: a column in terms of a matrix makes that column again, and a row in terms of its rows that row; also
// after some of its columns were exchanged, and where some that are no good on their own were replaced.
func TestFactors(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	for n := range 300 {
		rows := 1 + r.Intn(40)
		matrix := make([][]float64, rows) // by position, then by row
		drawn := func() []float64 {
			column := make([]float64, rows)
			for range 1 + r.Intn(4) {
				column[r.Intn(rows)] = float64(1 + r.Intn(9))
			}
			return column
		}
		for p := range matrix {
			if matrix[p] = drawn(); p > 0 && n%3 == 0 && r.Intn(3) == 0 {
				matrix[p] = slices.Clone(matrix[p-1])
			}
		}
		f := newFactors(rows, &meter{})
		for ok := false; !ok; {
			f.begin()
			for p := range matrix {
				for row, v := range matrix[p] {
					if v != 0 {
						f.put(row, p, v)
					}
				}
			}
			var row, position int
			if row, position, ok = f.take(); !ok {
				clear(matrix[position])
				matrix[position][row] = 1
			}
		}
		x, y := make([]float64, rows), make([]float64, rows)
		same := func(what string, a, b float64) {
			if math.Abs(a-b) > 1e-6*max(1, math.Abs(a)) {
				t.Fatalf("problem %d: %s: %v for %v of %v", n, what, b, a, matrix)
			}
		}
		for range 8 {
			want := drawn()
			f.column(slices.Clone(want), x)
			for row := range rows {
				sum := 0.0
				for p := range rows {
					sum += matrix[p][row] * x[p]
				}
				same("column", want[row], sum)
			}
			z := drawn()
			f.row(slices.Clone(z), y)
			for p := range rows {
				same("row", z[p], dot(y, matrix[p]))
			}
			if p := r.Intn(rows); math.Abs(x[p]) > 0.1 {
				f.exchange(p, x)
				matrix[p] = want
			}
		}
	}
}
