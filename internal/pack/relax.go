package pack

import "math"

// relaxation is a knapsack whose items may be cut: the most that items of some value are worth in
// one node, with as many rows as there are resources. Of its answer only the price of each resource
// is used. Any prices of at least zero give a bound; these give the lowest.
type relaxation struct {
	rows    int
	value   []float64
	share   []float64 // items × rows, as parts of the node
	most    []float64 // of each item
	upper   []bool    // a variable that is not in the basis and stands at its upper end
	inBasis []bool
	basis   []int // by row: an item, or len(value)+row for what is free of it
	inverse []float64
	x       []float64 // of the basis
	price   []float64 // of each resource, for a whole node of it
	column  []float64
}

func newRelaxation(rows, items int) *relaxation {
	return &relaxation{rows: rows, upper: make([]bool, items+rows), inBasis: make([]bool, items+rows),
		basis: make([]int, rows), inverse: make([]float64, rows*rows), x: make([]float64, rows),
		price: make([]float64, rows), column: make([]float64, rows)}
}

// solve is a simplex over variables with bounds. Where it ends early, its prices are merely worse.
func (l *relaxation) solve(value, share, most []float64, m *meter) {
	l.value, l.share, l.most = value, share, most
	n := len(value)
	clear(l.upper)
	clear(l.inBasis)
	clear(l.inverse)
	for r := range l.rows {
		l.basis[r], l.inBasis[n+r], l.inverse[r*l.rows+r], l.x[r] = n+r, true, 1, 1
	}
	for range 60 + 2*n {
		l.prices()
		m.work(n*(l.rows+1) + l.rows*l.rows)
		enter := l.entering()
		if enter < 0 {
			return
		}
		if !l.exchange(enter) {
			return
		}
	}
}

func (l *relaxation) prices() {
	clear(l.price)
	for row, j := range l.basis {
		if j < len(l.value) {
			for r, v := range l.inverse[row*l.rows : (row+1)*l.rows] {
				l.price[r] += float64(l.value[j] * v)
			}
		}
	}
}

// entering is the variable that gains most by leaving its end, or -1.
func (l *relaxation) entering() int {
	best, most, n := -1, 1e-11, len(l.value)
	for j, gain := range l.value {
		if l.inBasis[j] {
			continue
		}
		for r, s := range l.share[j*l.rows : (j+1)*l.rows] {
			gain -= float64(l.price[r] * s)
		}
		if l.upper[j] {
			gain = -gain
		}
		if gain > most {
			best, most = j, gain
		}
	}
	for r, price := range l.price {
		if !l.inBasis[n+r] && -price > most {
			best, most = n+r, -price
		}
	}
	return best
}

func (l *relaxation) end(j int) float64 {
	if j < len(l.value) {
		return l.most[j]
	}
	return math.Inf(1)
}

// exchange lets a variable go as far as it may: to its other end, or until one of the basis is at
// its own, whose place it takes.
func (l *relaxation) exchange(enter int) bool {
	n, rows := len(l.value), l.rows
	direction := 1.0
	if l.upper[enter] {
		direction = -1
	}
	far, leave, atUpper := l.end(enter), -1, false
	for row := range rows {
		w := 0.0
		if enter < n {
			for r, v := range l.inverse[row*rows : (row+1)*rows] {
				w += float64(v * l.share[enter*rows+r])
			}
		} else {
			w = l.inverse[row*rows+enter-n]
		}
		l.column[row] = w
		if w *= direction; w > 1e-12 {
			if t := l.x[row] / w; t < far {
				far, leave, atUpper = t, row, false
			}
		} else if w < -1e-12 {
			if t := (l.end(l.basis[row]) - l.x[row]) / -w; t < far {
				far, leave, atUpper = t, row, true
			}
		}
	}
	if math.IsInf(far, 1) {
		return false
	}
	far = max(far, 0)
	for row, w := range l.column {
		l.x[row] -= float64(direction * w * far)
	}
	if leave < 0 {
		l.upper[enter] = !l.upper[enter]
		return true
	}
	if l.upper[enter] {
		far = l.end(enter) - far
	}
	out := l.basis[leave]
	l.inBasis[out], l.upper[out] = false, atUpper
	l.inBasis[enter], l.upper[enter] = true, false
	l.basis[leave], l.x[leave] = enter, far
	pivot := l.inverse[leave*rows : (leave+1)*rows]
	for r := range pivot {
		pivot[r] /= l.column[leave]
	}
	for row, w := range l.column {
		if row != leave && w != 0 {
			for r, v := range pivot {
				l.inverse[row*rows+r] -= float64(w * v)
			}
		}
	}
	return true
}
