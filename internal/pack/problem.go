package pack

import (
	"fmt"
	"math"
)

// NoLimit is what PerNode and Max are where there is no limit.
const NoLimit = math.MaxInt

// Problem is what is to be packed, and into what.
type Problem struct {
	Classes []Class
	Types   []Type
	// Budget is how many steps may be spent. A plan is made for any budget: with none it is
	// a plain one, found by going through the classes once.
	Budget int
	// Enough is a bound on the price with which no plan is looked for; zero if there is none.
	Enough int64
	// Warm are patterns to begin with: Plan.Columns of the cycle before. Those that fit no
	// more are left out.
	Warm []Pattern
}

// Class is a number of items that are all alike.
type Class struct {
	Request []int64 // by resource; what is missing is zero
	Count   int
	// PerNode is how many may be on one node, or NoLimit; zero fits nowhere. Classes that share a
	// limit request a resource of which every type has that much.
	PerNode int
}

// Type is a kind of node that can be bought.
type Type struct {
	Capacity []int64 // by resource, free on a new node; what is missing or negative is zero
	Price    int64   // of one node, at least 1. Where all prices are equal, the plan has the fewest nodes
	Max      int     // at most so many nodes, or NoLimit; zero buys none
	Zone     int     // types that differ in nothing else are bought evenly over their zones
	Holds    Set     // the classes that it may hold; nil: all
}

// Set is a set of small numbers, a bit each.
type Set []uint64

// Add puts i into the set.
func (s *Set) Add(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

// Has reports whether i is in the set.
func (s Set) Has(i int) bool { return i/64 < len(s) && s[i/64]>>(i%64)&1 == 1 }

// The largest sum of counts, and the largest price: their product, which no plan exceeds, is an int64.
const (
	mostItems = math.MaxInt32
	mostPrice = math.MaxInt32
)

// check says what is wrong with the problem itself.
func (p *Problem) check() error {
	items := 0
	for i, c := range p.Classes {
		if c.Count < 0 || c.Count > mostItems-items {
			return fmt.Errorf("class %d has a count of %d: counts are at least 0, and at most %d in sum", i, c.Count, mostItems)
		}
		items += c.Count
		for r, request := range c.Request {
			if request < 0 {
				return fmt.Errorf("class %d requests %d of resource %d: requests are at least 0", i, request, r)
			}
		}
	}
	for t, ty := range p.Types {
		if ty.Price < 1 || ty.Price > mostPrice {
			return fmt.Errorf("type %d has a price of %d: prices are 1 to %d", t, ty.Price, mostPrice)
		}
	}
	return nil
}
