package pack

import "math"

// simplex finds the cheapest amounts of columns that cover a demand, row by row, and with them what
// a unit of each row is worth (its dual). Columns are added between runs, and a run goes on from the
// basis of the one before: a revised simplex, whose basis is kept as a product of triangles.
//
// Against degeneracy the demand is perturbed a little, in the same way each time.
type simplex struct {
	m    *meter
	rows int
	rhs  []float64 // the demand, perturbed

	first   []int32 // of a column's entries
	row     []int32 // of each entry
	entry   []float64
	byRow   [][]cell // the same entries, with their columns
	cost    []float64
	inBasis []bool // by column
	surplus []bool // by row: what is covered beyond the demand is in the basis

	basis   []int // by position: a column, or ^row for the surplus of a row
	factors *factors
	x       []float64
	dual    []float64
	w       []float64 // the entering column in terms of the basis
	line    []float64 // by row: what makes the position that is left
	across  []float64 // by column: what it has there
	scratch []float64
	reduced []float64 // by column: what one more of it costs beyond what it is worth
	weight  []float64 // by column, and by row of its surplus: how far one more moves what it is compared with
	spare   []float64
	started bool
	kept    []int // a basis to come back to
}

func newSimplex(rows int, m *meter) *simplex {
	return &simplex{m: m, rows: rows, rhs: make([]float64, rows), first: []int32{0},
		surplus: make([]bool, rows), basis: make([]int, rows), factors: newFactors(rows, m),
		x: make([]float64, rows), dual: make([]float64, rows), w: make([]float64, rows),
		line: make([]float64, rows), scratch: make([]float64, rows), byRow: make([][]cell, rows)}
}

// add adds a column; its entries are appended with put before.
func (s *simplex) add(cost float64) {
	s.first = append(s.first, int32(len(s.row)))
	s.cost = append(s.cost, cost)
	s.inBasis = append(s.inBasis, false)
}

func (s *simplex) put(row int, entry float64) {
	s.row = append(s.row, int32(row))
	s.entry = append(s.entry, entry)
	s.byRow[row] = append(s.byRow[row], cell{int32(len(s.cost)), entry})
}

func (s *simplex) column(c int) ([]int32, []float64) {
	from, to := s.first[c], s.first[c+1]
	return s.row[from:to], s.entry[from:to]
}

// ask sets the demand. The basis is kept if it still covers it, and is the plain one otherwise: of
// rows with a positive demand the column of the same number, of the others the surplus.
func (s *simplex) ask(demand []float64) {
	d := dice(1)
	for i, n := range demand {
		s.rhs[i] = n * (1 + float64(1e-6*d.fraction()))
		if n == 0 {
			s.rhs[i] = 1e-7 * d.fraction()
		}
	}
	if s.started {
		if s.amounts(); s.mend() {
			return
		}
	}
	clear(s.inBasis)
	clear(s.surplus)
	for i := range s.basis {
		s.basis[i] = s.plain(i)
		s.mark(s.basis[i], true)
	}
	s.started = true
	s.factor()
}

// plain is what a row begins with.
func (s *simplex) plain(row int) int {
	if s.rhs[row] < 0 {
		return ^row
	}
	return row
}

// factor takes the basis apart again, and computes its amounts. What makes it singular goes; its amounts
// may be below zero then.
func (s *simplex) factor() {
	for {
		s.factors.begin()
		for i, b := range s.basis {
			if b < 0 {
				s.factors.put(^b, i, -1)
				continue
			}
			rows, entries := s.column(b)
			for at, row := range rows {
				s.factors.put(int(row), i, entries[at])
			}
		}
		row, position, ok := s.factors.take()
		if ok {
			break
		}
		s.mark(s.basis[position], false)
		s.basis[position] = s.plain(row)
		s.mark(s.basis[position], true)
	}
	s.amounts()
}

// keep remembers the basis, and back returns to the one that was kept.
func (s *simplex) keep() { s.kept = append(s.kept[:0], s.basis...) }

func (s *simplex) back() {
	if s.kept == nil {
		return
	}
	copy(s.basis, s.kept)
	clear(s.inBasis)
	clear(s.surplus)
	for _, b := range s.basis {
		s.mark(b, true)
	}
	s.factor()
}

func (s *simplex) amounts() {
	copy(s.scratch, s.rhs)
	s.factors.column(s.scratch, s.x)
}

// dot is a product of rows. The conversion keeps the compiler from fusing the operations, which
// some machines would do and others not: a plan is the same on all.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += float64(v * b[i])
	}
	return sum
}

// run goes on until no column there is makes it cheaper, or so many steps are spent. Of those that do it takes the one
// that gains most for how far it moves the others, by Devex's weights: of as many loads as there are, few are worth a
// step.
func (s *simplex) run(until int) {
	s.reset()
	for s.m.spent < until {
		enter, ok := s.entering()
		if !ok {
			return
		}
		s.expand(enter.column)
		leave := s.leaving()
		if leave < 0 {
			return
		}
		s.leave(leave)
		s.follow(enter, leave)
		s.exchange(enter.column, leave)
		for i, x := range s.x {
			s.x[i] = max(0, x)
		}
	}
}

// entrant may enter the basis: a column, or ^row for the surplus of a row.
type entrant struct {
	column          int
	reduced, weight float64
}

// reset computes what columns gain, and has them all alike but for what they cost.
func (s *simplex) reset() {
	s.price()
	s.weight, s.spare = s.weight[:0], s.spare[:0]
	for _, cost := range s.cost {
		s.weight = append(s.weight, cost*cost)
	}
	for range s.rows {
		s.spare = append(s.spare, 1)
	}
}

// price computes again what each column gains.
func (s *simplex) price() {
	s.duals()
	s.reduced = append(s.reduced[:0], s.cost...)
	for row, y := range s.dual {
		for _, c := range s.byRow[row] {
			s.reduced[c.at] -= float64(y * c.value)
		}
	}
	s.m.work(len(s.row) + len(s.cost))
}

// follow has the duals, and the gains and weights of all columns, follow an exchange.
func (s *simplex) follow(enter entrant, leave int) {
	part := 1 / s.w[leave]
	gain, least := enter.reduced*part, enter.weight*part*part
	for c, w := range s.across {
		if w != 0 && !s.inBasis[c] {
			s.reduced[c] -= float64(gain * w)
			s.weight[c] = max(s.weight[c], w*w*least)
		}
	}
	for i, w := range s.line {
		s.spare[i] = max(s.spare[i], w*w*least)
	}
	if b := s.basis[leave]; b >= 0 {
		s.reduced[b], s.weight[b] = -gain, max(least, s.cost[b]*s.cost[b])
	} else {
		s.spare[^b] = max(least, 1)
	}
	add(s.dual, gain, s.line)
	s.m.work(2*len(s.cost) + 2*s.rows)
}

// enter takes a column into the basis, whatever it gains.
func (s *simplex) enter(column int) {
	s.expand(column)
	if leave := s.leaving(); leave >= 0 {
		s.exchange(column, leave)
	}
}

// mend takes amounts below zero out of the basis, each for what costs least more. It is a dual simplex, which takes few
// exchanges where the basis was the cheapest for another demand.
func (s *simplex) mend() bool {
	s.reset()
	for range s.rows {
		leave := 0
		for i, x := range s.x {
			if x < s.x[leave] {
				leave = i
			}
		}
		if s.x[leave] >= -1e-9 {
			return true
		}
		s.leave(leave)
		enter, ok := s.replacing()
		if !ok {
			return false
		}
		s.expand(enter.column)
		s.follow(enter, leave)
		s.exchange(enter.column, leave)
	}
	return false
}

// replacing is the column or the surplus that raises the amount at the position that is left for the least.
func (s *simplex) replacing() (enter entrant, ok bool) {
	best := math.Inf(1)
	for c, w := range s.across {
		if w < -1e-9 && !s.inBasis[c] {
			if ratio := max(0, s.reduced[c]) / -w; ratio < best {
				best, enter, ok = ratio, entrant{c, s.reduced[c], s.weight[c]}, true
			}
		}
	}
	for i, w := range s.line {
		if w > 1e-9 && !s.surplus[i] {
			if ratio := max(0, s.dual[i]) / w; ratio < best {
				best, enter, ok = ratio, entrant{^i, s.dual[i], s.spare[i]}, true
			}
		}
	}
	s.m.work(len(s.cost) + s.rows)
	return
}

// duals are computed again from the basis.
func (s *simplex) duals() {
	clear(s.scratch)
	for i, b := range s.basis {
		if b >= 0 {
			s.scratch[i] = s.cost[b]
		}
	}
	s.factors.row(s.scratch, s.dual)
}

// leave says what makes a position, and what each column has there.
func (s *simplex) leave(position int) {
	clear(s.scratch)
	s.scratch[position] = 1
	s.factors.row(s.scratch, s.line)
	s.across = append(s.across[:0], s.cost...)
	clear(s.across)
	entries := 0
	for row, v := range s.line {
		if math.Abs(v) < 1e-12 {
			s.line[row] = 0
			continue
		}
		entries += len(s.byRow[row])
		for _, c := range s.byRow[row] {
			s.across[c.at] += float64(v * c.value)
		}
	}
	s.m.work(entries + len(s.cost))
}

// add adds a multiple of a row.
func add(to []float64, times float64, row []float64) {
	for i, v := range row {
		to[i] += float64(times * v)
	}
}

// entering is the column, or the surplus, that gains most for its weight.
func (s *simplex) entering() (enter entrant, ok bool) {
	best := 0.0
	for c, r := range s.reduced {
		if r < -1e-9*s.cost[c] && !s.inBasis[c] && r*r > best*s.weight[c] {
			best, enter, ok = r*r/s.weight[c], entrant{c, r, s.weight[c]}, true
		}
	}
	for i, y := range s.dual {
		if y < -1e-9 && !s.surplus[i] && y*y > best*s.spare[i] {
			best, enter, ok = y*y/s.spare[i], entrant{^i, y, s.spare[i]}, true
		}
	}
	s.m.work(2*len(s.cost) + 2*s.rows)
	return
}

// expand writes a column in terms of the basis.
func (s *simplex) expand(enter int) {
	clear(s.scratch)
	if enter < 0 {
		s.scratch[^enter] = -1
	} else {
		rows, entries := s.column(enter)
		for at, row := range rows {
			s.scratch[row] = entries[at]
		}
	}
	s.factors.column(s.scratch, s.w)
}

// leaving is the position whose amount reaches zero first; of several the one with the largest
// pivot, which is the safest.
func (s *simplex) leaving() int {
	leave, far := -1, math.Inf(1)
	for i, w := range s.w {
		if w > 1e-9 {
			if t := s.x[i] / w; t < far-1e-12 || t <= far+1e-12 && (leave < 0 || w > s.w[leave]) {
				far, leave = t, i
			}
		}
	}
	return leave
}

// fewExchanges are so many that it costs less to take the basis apart again than to go on with more.
const fewExchanges = 16

// exchange has a column, which expand has written in terms of the basis, take a position.
func (s *simplex) exchange(enter, leave int) {
	far := s.x[leave] / s.w[leave]
	for i, w := range s.w {
		s.x[i] -= float64(far * w)
	}
	s.x[leave] = far
	s.mark(s.basis[leave], false)
	s.mark(enter, true)
	s.basis[leave] = enter
	s.factors.exchange(leave, s.w)
	if len(s.factors.later) == fewExchanges {
		s.factor()
		s.price()
	}
}

func (s *simplex) mark(b int, in bool) {
	if b >= 0 {
		s.inBasis[b] = in
	} else {
		s.surplus[^b] = in
	}
}

// value is what the columns of the basis cost.
func (s *simplex) value() float64 {
	sum := 0.0
	for i, b := range s.basis {
		if b >= 0 {
			sum += float64(s.cost[b] * s.x[i])
		}
	}
	return sum
}
