package pack

import "math/bits"

// meter counts the steps that were spent. A step takes about as long as looking at one node of a
// search tree, some 25 ns; what takes longer is counted as more of them.
type meter struct{ spent int }

// work counts operations on numbers, many of which go into a step.
func (m *meter) work(operations int) { m.spent += operations/operationsPerStep + 1 }

const operationsPerStep = 16

// dice are numbers that look random and are the same in each run (SplitMix64).
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is one of 0 to n-1.
func (d *dice) below(n int) int {
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int(hi)
}

// fraction is at least 0 and less than 1.
func (d *dice) fraction() float64 { return float64(d.next()>>11) / (1 << 53) }
