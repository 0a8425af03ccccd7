package pack

import (
	"math"
	"slices"
)

// factors are a square matrix as a product of two triangles, and of the exchanges of columns since. Of a matrix in
// which most is zero, they have little more than it has. Its columns are called positions.
type factors struct {
	m     *meter
	steps []elimination
	cells []cell // of all steps, then of all exchanges
	later []exchange

	// What is left of the matrix while it is taken apart: by row, and by position which rows may have something there.
	rows   [][]cell
	in     [][]int32
	counts []int32 // by position, of rows that are left; -1 for one that is done
	open   []bool  // by row: it is left
	at     []int32 // by position: where a row has it, one more than the place in its list
}

type cell struct {
	at    int32
	value float64
}

// elimination takes a row and a position out of what is left. Multiples of the row go to others below, and what
// it has at other positions right.
type elimination struct {
	row, position     int32
	pivot             float64
	from, middle, end int32 // below, then right
}

// exchange puts another column, written in terms of the matrix, in a position.
type exchange struct {
	position  int32
	pivot     float64
	from, end int32
}

func newFactors(rows int, m *meter) *factors {
	return &factors{m: m, rows: make([][]cell, rows), in: make([][]int32, rows), counts: make([]int32, rows),
		open: make([]bool, rows), at: make([]int32, rows)}
}

// begin has an empty matrix, to be put together by put.
func (f *factors) begin() {
	f.steps, f.cells, f.later = f.steps[:0], f.cells[:0], f.later[:0]
	for i := range f.rows {
		f.rows[i], f.in[i], f.counts[i], f.open[i] = f.rows[i][:0], f.in[i][:0], 0, true
	}
}

func (f *factors) put(row, position int, value float64) {
	f.rows[row] = append(f.rows[row], cell{int32(position), value})
	f.in[position] = append(f.in[position], int32(row))
	f.counts[position]++
}

// take takes the matrix apart. Where there is nothing to go on with, it is not ok: with that row alone at that position
// it may be.
func (f *factors) take() (row, position int, ok bool) {
	var single []int32 // positions, and ^row, of which one cell may be left
	for i := range f.rows {
		if f.counts[i] == 1 {
			single = append(single, int32(i))
		}
		if len(f.rows[i]) == 1 {
			single = append(single, ^int32(i))
		}
	}
	work := 0
	for len(f.steps) < len(f.rows) {
		if n := len(single); n > 0 {
			row, position = f.alone(int(single[n-1]))
			single = single[:n-1]
		} else {
			row, position = f.cheapest()
			work += len(f.rows)
			if row < 0 {
				f.m.work(work)
				return slices.Index(f.open, true), slices.IndexFunc(f.counts, func(n int32) bool { return n >= 0 }), false
			}
		}
		if row >= 0 {
			single, work = f.eliminate(row, position, single), work+len(f.rows[row])*len(f.in[position])
		}
	}
	f.m.work(2*len(f.cells) + 2*work + 8*len(f.rows))
	return 0, 0, true
}

// firm is how small a pivot may be beside others at its position, and flat what counts as zero.
const (
	firm = 0.1
	flat = 1e-9
)

// alone is the cell that is the only one of a position or of a row, if it is one to go on with.
func (f *factors) alone(of int) (row, position int) {
	if of >= 0 {
		if f.counts[of] != 1 {
			return -1, -1
		}
		for _, i := range f.in[of] {
			if f.open[i] && math.Abs(f.value(int(i), of)) > flat {
				return int(i), of
			}
		}
		return -1, -1
	}
	if row = ^of; !f.open[row] || len(f.rows[row]) != 1 {
		return -1, -1
	}
	c := f.rows[row][0]
	if f.largest(int(c.at))*firm > math.Abs(c.value) || math.Abs(c.value) <= flat {
		return -1, -1
	}
	return row, int(c.at)
}

// cheapest is a cell that makes few new ones: of a position with fewest, and of a row with fewest of those that are
// firm there.
func (f *factors) cheapest() (row, position int) {
	row, position = -1, -1
	for p, n := range f.counts {
		if n <= 0 || position >= 0 && n >= f.counts[position] {
			continue
		}
		largest := f.largest(p)
		if largest <= flat {
			continue
		}
		position, row = p, -1
		for _, i := range f.in[p] {
			if f.open[i] && math.Abs(f.value(int(i), p)) >= firm*largest && (row < 0 || len(f.rows[i]) < len(f.rows[row])) {
				row = int(i)
			}
		}
	}
	return row, position
}

func (f *factors) largest(position int) (most float64) {
	for _, i := range f.in[position] {
		if f.open[i] {
			most = max(most, math.Abs(f.value(int(i), position)))
		}
	}
	return most
}

func (f *factors) value(row, position int) float64 {
	for _, c := range f.rows[row] {
		if int(c.at) == position {
			return c.value
		}
	}
	return 0
}

// eliminate takes a row and a position out. It adds to single what has one cell left now.
func (f *factors) eliminate(row, position int, single []int32) []int32 {
	pivot, from := f.value(row, position), len(f.cells)
	for _, i := range f.in[position] {
		if int(i) == row || !f.open[i] {
			continue
		}
		list := f.rows[i]
		for k, c := range list {
			f.at[c.at] = int32(k + 1)
		}
		k := f.at[position] - 1
		if k < 0 {
			panic("pack: a row that has nothing at a position is listed there")
		}
		times := list[k].value / pivot
		f.cells = append(f.cells, cell{i, times})
		for _, c := range f.rows[row] {
			if k := f.at[c.at]; int(c.at) == position {
				continue
			} else if k > 0 {
				list[k-1].value -= float64(times * c.value)
			} else {
				list = append(list, cell{c.at, -times * c.value})
				f.in[c.at] = append(f.in[c.at], i)
				f.counts[c.at]++
			}
		}
		for _, c := range list {
			f.at[c.at] = 0
		}
		last := len(list) - 1
		list[k] = list[last]
		if f.rows[i] = list[:last]; last == 1 {
			single = append(single, ^i)
		}
	}
	middle := len(f.cells)
	for _, c := range f.rows[row] {
		if int(c.at) == position {
			continue
		}
		f.cells = append(f.cells, c)
		if f.counts[c.at]--; f.counts[c.at] == 1 {
			single = append(single, c.at)
		}
	}
	f.open[row], f.counts[position] = false, -1
	f.steps = append(f.steps, elimination{
		int32(row), int32(position), pivot, int32(from), int32(middle), int32(len(f.cells)),
	})
	return single
}

// exchange puts a column in a position, where w is that column in terms of the matrix.
func (f *factors) exchange(position int, w []float64) {
	from := len(f.cells)
	for i, v := range w {
		if i != position && math.Abs(v) > 1e-14 {
			f.cells = append(f.cells, cell{int32(i), v})
		}
	}
	f.later = append(f.later, exchange{int32(position), w[position], int32(from), int32(len(f.cells))})
}

// column writes a column in terms of the matrix: x by position is what it takes to make v, which is by row and is used
// up.
func (f *factors) column(v, x []float64) {
	for _, s := range f.steps {
		if t := v[s.row]; t != 0 {
			for _, c := range f.cells[s.from:s.middle] {
				v[c.at] -= float64(c.value * t)
			}
		}
	}
	for k := len(f.steps) - 1; k >= 0; k-- {
		s := &f.steps[k]
		t := v[s.row]
		for _, c := range f.cells[s.middle:s.end] {
			t -= float64(c.value * x[c.at])
		}
		x[s.position] = t / s.pivot
	}
	for _, e := range f.later {
		t := x[e.position] / e.pivot
		if x[e.position] = t; t != 0 {
			for _, c := range f.cells[e.from:e.end] {
				x[c.at] -= float64(c.value * t)
			}
		}
	}
	f.m.work(2*len(f.cells) + 2*len(f.steps))
}

// row is the combination of rows that is z, by position, which is used up.
func (f *factors) row(z, y []float64) {
	for k := len(f.later) - 1; k >= 0; k-- {
		e := &f.later[k]
		t := z[e.position]
		for _, c := range f.cells[e.from:e.end] {
			t -= float64(c.value * z[c.at])
		}
		z[e.position] = t / e.pivot
	}
	for _, s := range f.steps {
		t := z[s.position] / s.pivot
		if y[s.row] = t; t != 0 {
			for _, c := range f.cells[s.middle:s.end] {
				z[c.at] -= float64(c.value * t)
			}
		}
	}
	for k := len(f.steps) - 1; k >= 0; k-- {
		s := &f.steps[k]
		for _, c := range f.cells[s.from:s.middle] {
			y[s.row] -= float64(c.value * y[c.at])
		}
	}
	f.m.work(2*len(f.cells) + 2*len(f.steps))
}
