package pack

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"
)

// FuzzSolve: whatever the numbers are, the plan holds, is proven soundly, comes from the input alone,
// and does not take much longer than the budget allows.
func FuzzSolve(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte{0xff, 0xfe, 9, 9, 9, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0, 250, 251, 252, 253, 254, 255})
	seed := []byte{}
	for i := range 400 {
		seed = append(seed, byte(i*i>>3), byte(i*7))
		if i%40 == 0 {
			f.Add(append([]byte(nil), seed...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := problemOf(data)
		plan, err := Solve(p)
		if err != nil {
			t.Fatalf("%v\n%+v", err, p)
		}
		if err := broken(p, plan); err != nil {
			t.Fatalf("%v\n%+v\n%+v", err, p, plan)
		}
		if most := p.Budget + overhead(p); plan.Steps > most {
			t.Fatalf("%d steps, at most %d\n%+v", plan.Steps, most, p)
		}
		again, _ := Solve(p)
		if !reflect.DeepEqual(plan, again) {
			t.Fatalf("%+v\n%+v\n%+v", p, plan, again)
		}
		p.Warm = plan.Columns
		if plan, _ = Solve(p); broken(p, plan) != nil {
			t.Fatalf("warm: %v\n%+v", broken(p, plan), p)
		}
	})
}

// overhead is what is spent beside the budget: the problem is folded, one plan is made, and what has
// begun is ended.
func overhead(p Problem) int {
	classes, types := len(p.Classes)+1, len(p.Types)+1
	return 5000 + 50*classes*(types+4)
}

// problemOf reads a problem from bytes: small numbers most of the time, and those at the ends of
// their ranges.
func problemOf(data []byte) Problem {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	amount := func() int64 {
		switch b := next(); {
		case b < 200:
			return int64(b % 40)
		case b < 220:
			return int64(b) << (next() % 50)
		case b < 250:
			return int64(binary.BigEndian.Uint32([]byte{0, byte(next()), byte(next()), byte(next())}))
		default:
			return math.MaxInt64 - int64(b-250)
		}
	}
	limit := func() int {
		if b := next(); b < 100 {
			return b % 7
		} else if b < 110 {
			return b * 1000003
		}
		return NoLimit
	}
	p := Problem{Budget: next() * next() * next() / 8}
	resources, classes, types := 1+next()%5, 1+next()%40, 1+next()%12
	row := func() []int64 {
		list := make([]int64, max(1, resources-next()%2))
		for r := range list {
			list[r] = amount()
		}
		return list
	}
	for range classes {
		count := next()
		if count > 240 {
			count *= 50000
		}
		p.Classes = append(p.Classes, Class{Request: row(), Count: count, PerNode: limit()})
	}
	for range types {
		ty := Type{Capacity: row(), Price: 1 + amount()%mostPrice, Max: limit(), Zone: next() % 3}
		if next()%4 == 0 {
			ty.Capacity[0] = -ty.Capacity[0]
		}
		if next()%3 == 0 {
			ty.Holds = Set{uint64(next()) | uint64(next())<<8 | uint64(next())<<16}
		}
		p.Types = append(p.Types, ty)
	}
	return p
}
