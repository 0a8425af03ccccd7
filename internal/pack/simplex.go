package pack

import (
	"math"
	"slices"
)

// simplex finds the cheapest amounts of columns that cover a demand, row by row, and with them what
// a unit of each row is worth (its dual). Columns are added between runs, and a run goes on from the
// basis of the one before: a revised simplex with a dense inverse, for some hundred rows.
//
// Against degeneracy the demand is perturbed a little, in the same way each time.
type simplex struct {
	m    *meter
	rows int
	rhs  []float64 // the demand, perturbed

	first   []int32 // of a column's entries
	row     []int32 // of each entry
	entry   []float64
	cost    []float64
	inBasis []bool // by column
	surplus []bool // by row: what is covered beyond the demand is in the basis

	basis   []int // by position: a column, or ^row for the surplus of a row
	inverse []float64
	x       []float64
	dual    []float64
	w       []float64 // the entering column in terms of the basis
	started bool
	kept    *simplex // a basis to come back to
}

func newSimplex(rows int, m *meter) *simplex {
	return &simplex{m: m, rows: rows, rhs: make([]float64, rows), first: []int32{0},
		surplus: make([]bool, rows), basis: make([]int, rows), inverse: make([]float64, rows*rows),
		x: make([]float64, rows), dual: make([]float64, rows), w: make([]float64, rows)}
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
		s.amounts()
		if slices.Min(s.x) >= -1e-9 {
			return
		}
	}
	clear(s.inverse)
	clear(s.inBasis)
	clear(s.surplus)
	for i, n := range s.rhs {
		if n < 0 {
			s.basis[i], s.surplus[i], s.inverse[i*s.rows+i], s.x[i] = ^i, true, -1, -n
		} else {
			s.basis[i], s.inBasis[i], s.inverse[i*s.rows+i], s.x[i] = i, true, 1, n
		}
	}
	s.started = true
}

// keep remembers the basis, and back returns to the one that was kept.
func (s *simplex) keep() {
	if s.kept == nil {
		s.kept = newSimplex(s.rows, s.m)
	}
	s.kept.started = s.started
	copy(s.kept.basis, s.basis)
	copy(s.kept.inverse, s.inverse)
}

func (s *simplex) back() {
	if s.kept == nil {
		return
	}
	s.started = s.kept.started
	copy(s.basis, s.kept.basis)
	copy(s.inverse, s.kept.inverse)
	clear(s.inBasis)
	clear(s.surplus)
	for _, b := range s.basis {
		s.mark(b, true)
	}
}

func (s *simplex) amounts() {
	for i := range s.x {
		s.x[i] = dot(s.inverse[i*s.rows:(i+1)*s.rows], s.rhs)
	}
	s.m.work(s.rows * s.rows)
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

// run goes on until no column there is makes it cheaper, or so many steps are spent.
func (s *simplex) run(until int) {
	s.duals()
	for n := 1; s.m.spent < until; n++ {
		if n%32 == 0 {
			s.steady()
			s.duals()
		}
		enter, reduced, ok := s.entering()
		if !ok {
			return
		}
		s.expand(enter)
		leave := s.leaving()
		if leave < 0 {
			return
		}
		s.pivot(enter, leave, reduced)
	}
}

// duals are computed again from the basis.
func (s *simplex) duals() {
	clear(s.dual)
	for i, b := range s.basis {
		if b >= 0 {
			add(s.dual, s.cost[b], s.inverse[i*s.rows:(i+1)*s.rows])
		}
	}
	s.m.work(s.rows * s.rows)
}

// add adds a multiple of a row.
func add(to []float64, times float64, row []float64) {
	for i, v := range row {
		to[i] += float64(times * v)
	}
}

// entering is the column that gains most for its cost, or the surplus that gains most.
func (s *simplex) entering() (enter int, reduced float64, ok bool) {
	best := -1e-9
	for c, cost := range s.cost {
		if s.inBasis[c] {
			continue
		}
		r := cost
		rows, entries := s.column(c)
		for at, row := range rows {
			r -= float64(s.dual[row] * entries[at])
		}
		if r < best*cost {
			best, enter, reduced, ok = r/cost, c, r, true
		}
	}
	for i, y := range s.dual {
		if y < best && !s.surplus[i] {
			best, enter, reduced, ok = y, ^i, y, true
		}
	}
	s.m.work(len(s.row) + 2*len(s.cost))
	return
}

// expand writes a column in terms of the basis.
func (s *simplex) expand(enter int) {
	if enter < 0 {
		for i := range s.w {
			s.w[i] = -s.inverse[i*s.rows+^enter]
		}
		return
	}
	rows, entries := s.column(enter)
	for i := range s.w {
		w, line := 0.0, s.inverse[i*s.rows:(i+1)*s.rows]
		for at, row := range rows {
			w += float64(line[row] * entries[at])
		}
		s.w[i] = w
	}
	s.m.work(s.rows * len(rows))
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

func (s *simplex) pivot(enter, leave int, reduced float64) {
	far := max(0, s.x[leave]/s.w[leave])
	for i, w := range s.w {
		s.x[i] = max(0, s.x[i]-float64(far*w))
	}
	s.x[leave] = far
	s.mark(s.basis[leave], false)
	s.mark(enter, true)
	s.basis[leave] = enter
	line := s.inverse[leave*s.rows : (leave+1)*s.rows]
	for i := range line {
		line[i] /= s.w[leave]
	}
	add(s.dual, reduced, line)
	touched := 1
	for i, w := range s.w {
		if i != leave && math.Abs(w) > 1e-14 {
			add(s.inverse[i*s.rows:(i+1)*s.rows], -w, line)
			touched++
		}
	}
	s.m.work(touched * s.rows)
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

// steady computes the inverse again where it has drifted: where the amounts no longer give the demand.
func (s *simplex) steady() {
	rest := slices.Clone(s.rhs)
	entries := 0
	for i, b := range s.basis {
		if b < 0 {
			rest[^b] += s.x[i]
			continue
		}
		rows, column := s.column(b)
		entries += len(rows)
		for at, row := range rows {
			rest[row] -= float64(column[at] * s.x[i])
		}
	}
	s.m.work(entries)
	for i, r := range rest {
		if math.Abs(r) > 1e-8*max(1, math.Abs(s.rhs[i])) {
			s.invert()
			return
		}
	}
}

// invert makes the inverse of the basis by Gauss and Jordan. A basis that has become singular is
// left as it is: its bound is checked elsewhere, and its plan is rounded anyway.
func (s *simplex) invert() {
	n := s.rows
	wide := make([]float64, 2*n*n)
	line := func(r int) []float64 { return wide[2*r*n : 2*(r+1)*n] }
	for i, b := range s.basis {
		if b < 0 {
			line(^b)[i] = -1
			continue
		}
		rows, column := s.column(b)
		for at, row := range rows {
			line(int(row))[i] = column[at]
		}
	}
	for r := range n {
		line(r)[n+r] = 1
	}
	s.m.work(2 * n * n * n)
	for c := range n {
		top := c
		for r := c + 1; r < n; r++ {
			if math.Abs(line(r)[c]) > math.Abs(line(top)[c]) {
				top = r
			}
		}
		pivot := line(top)[c]
		if math.Abs(pivot) < 1e-12 {
			return
		}
		for i, v := range line(top) {
			line(top)[i], line(c)[i] = line(c)[i], v/pivot
		}
		for r := range n {
			if w := line(r)[c]; r != c && w != 0 {
				add(line(r)[c:], -w, line(c)[c:])
			}
		}
	}
	for r := range n {
		copy(s.inverse[r*n:(r+1)*n], line(r)[n:])
	}
	s.amounts()
	for i, x := range s.x {
		s.x[i] = max(0, x)
	}
}
