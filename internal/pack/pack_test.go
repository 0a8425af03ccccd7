package pack

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"reflect"
	"slices"
	"testing"
)

// broken says what a plan promises and does not hold, in whole numbers and without this package's
// own arithmetic.
func broken(p Problem, plan Plan) error {
	placed := make([]int, len(p.Classes))
	bought := make([]int, len(p.Types))
	nodes, price := 0, int64(0)
	for at, pattern := range plan.Patterns {
		ty := p.Types[pattern.Type]
		if pattern.Nodes < 1 || len(pattern.Items) == 0 {
			return fmt.Errorf("pattern %d: %+v", at, pattern)
		}
		sum := map[int]*big.Int{}
		for n, item := range pattern.Items {
			c := p.Classes[item.Class]
			if item.Count < 1 || item.Count > c.PerNode {
				return fmt.Errorf("pattern %d has %d of class %d on a node", at, item.Count, item.Class)
			}
			if ty.Holds != nil && !ty.Holds.Has(item.Class) {
				return fmt.Errorf("type %d may not hold class %d", pattern.Type, item.Class)
			}
			if n > 0 && pattern.Items[n-1].Class >= item.Class {
				return fmt.Errorf("pattern %d is not sorted: %v", at, pattern.Items)
			}
			for r, request := range c.Request {
				if sum[r] == nil {
					sum[r] = new(big.Int)
				}
				sum[r].Add(sum[r], new(big.Int).Mul(big.NewInt(request), big.NewInt(int64(item.Count))))
			}
			placed[item.Class] += item.Count * pattern.Nodes
		}
		for r, need := range sum {
			var capacity int64
			if r < len(ty.Capacity) {
				capacity = max(0, ty.Capacity[r])
			}
			if need.Cmp(big.NewInt(capacity)) > 0 {
				return fmt.Errorf("pattern %d needs %v of resource %d, of %d", at, need, r, capacity)
			}
		}
		bought[pattern.Type] += pattern.Nodes
		nodes += pattern.Nodes
		price += int64(pattern.Nodes) * ty.Price
	}
	for i, c := range p.Classes {
		if plan.Unplaced[i] < 0 || placed[i]+plan.Unplaced[i] != c.Count {
			return fmt.Errorf("class %d: %d placed and %d not, of %d", i, placed[i], plan.Unplaced[i], c.Count)
		}
	}
	for t, n := range bought {
		if n > p.Types[t].Max {
			return fmt.Errorf("%d nodes of type %d, at most %d", n, t, p.Types[t].Max)
		}
	}
	switch {
	case nodes != plan.Nodes || price != plan.Price:
		return fmt.Errorf("%d nodes for %d, the plan says %d for %d", nodes, price, plan.Nodes, plan.Price)
	case plan.NodeBound > nodes || plan.PriceBound > price:
		return fmt.Errorf("bounds of %d nodes and a price of %d are above %d nodes for %d", plan.NodeBound,
			plan.PriceBound, nodes, price)
	case nodes > 0 && (plan.NodeBound < 1 || plan.PriceBound < 1 || plan.Method == "" || plan.Proof == ""):
		return fmt.Errorf("nothing is said of %d nodes: %+v", nodes, plan)
	}
	return nil
}

// solved solves a problem, and fails if the plan is broken.
func solved(t *testing.T, p Problem) Plan {
	t.Helper()
	plan, err := Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := broken(p, plan); err != nil {
		t.Fatalf("%v\n%+v\n%+v", err, p, plan)
	}
	return plan
}

func any(capacity ...int64) Type { return Type{Capacity: capacity, Price: 1, Max: NoLimit} }

func free(count int, request ...int64) Class {
	return Class{Request: request, Count: count, PerNode: NoLimit}
}

func set(members ...int) Set {
	s := Set{}
	for _, m := range members {
		s.Add(m)
	}
	return s
}

func TestSolve(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		name     string
		p        Problem
		unplaced []int
		nodes    int
		price    int64
		bound    int64
	}{
		{"nothing", Problem{}, []int{}, 0, 0, 0},
		{"no types", Problem{Classes: []Class{free(3, 1)}}, []int{3}, 0, 0, 0},
		{"whole nodes", Problem{Classes: []Class{free(8, 5)}, Types: []Type{any(20)}}, []int{0}, 2, 2, 2},
		{"fits nowhere", Problem{Classes: []Class{free(3, 5), free(3, 30)}, Types: []Type{any(20)}}, []int{0, 3}, 1, 1, 1},
		{"a resource that no type has", Problem{Classes: []Class{free(3, 5), free(3, 5, 1)}, Types: []Type{any(20)}}, []int{0, 3}, 1, 1, 1},
		{"a resource that one type has", Problem{Classes: []Class{free(4, 5), free(2, 5, 1)}, Types: []Type{any(20), {Capacity: []int64{20, 1}, Price: 3, Max: NoLimit}}}, []int{0, 0}, 2, 6, 6},
		{"requests of nothing", Problem{Classes: []Class{free(1000000, 0), free(3, 5)}, Types: []Type{any(20)}}, []int{0, 0}, 1, 1, 1},
		{"nothing but requests of nothing", Problem{Classes: []Class{free(1000)}, Types: []Type{any()}}, []int{0}, 1, 1, 1},
		{"a negative capacity holds requests of nothing", Problem{Classes: []Class{free(7, 0, 1), free(1, 1)}, Types: []Type{any(-5, 7)}}, []int{0, 1}, 1, 1, 1},
		{"at most one a node", Problem{Classes: []Class{{Request: []int64{1}, Count: 7, PerNode: 1}, {Request: []int64{1}, Count: 5, PerNode: 1}}, Types: []Type{any(20)}}, []int{0, 0}, 7, 7, 7},
		{"at most one a node of two classes", Problem{Classes: []Class{free(7, 1, 1), free(5, 1, 1), free(30, 1)}, Types: []Type{any(20, 1)}}, []int{0, 0, 0}, 12, 12, 12},
		{"at most none a node", Problem{Classes: []Class{{Request: []int64{1}, Count: 7}}, Types: []Type{any(20)}}, []int{7}, 0, 0, 0},
		{"a limit on nodes", Problem{Classes: []Class{free(9, 10)}, Types: []Type{{Capacity: []int64{20}, Price: 1, Max: 3}}}, []int{3}, 3, 3, 3},
		{"small ones first where not all have room", Problem{Classes: []Class{free(2, 20), free(4, 5)}, Types: []Type{{Capacity: []int64{20}, Price: 1, Max: 1}}}, []int{2, 0}, 1, 1, 1},
		{"no nodes may be bought", Problem{Classes: []Class{free(9, 10)}, Types: []Type{{Capacity: []int64{20}, Price: 1}}}, []int{9}, 0, 0, 0},
		{"the cheap type is limited", Problem{Classes: []Class{free(10, 10)}, Types: []Type{{Capacity: []int64{20}, Price: 2, Max: 3}, {Capacity: []int64{20}, Price: 5, Max: NoLimit}}}, []int{0}, 5, 16, 16},
		{"few may use the limited type", Problem{Classes: []Class{free(4, 10), free(4, 10)}, Types: []Type{{Capacity: []int64{20}, Price: 1, Max: 2}, {Capacity: []int64{20}, Price: 9, Max: NoLimit, Holds: set(0)}}}, []int{0, 0}, 4, 20, 20},
		{"classes apart", Problem{Classes: []Class{free(3, 5), free(3, 5)}, Types: []Type{{Capacity: []int64{20}, Price: 1, Max: NoLimit, Holds: set(0)}, {Capacity: []int64{20}, Price: 1, Max: NoLimit, Holds: set(1)}}}, []int{0, 0}, 2, 2, 2},
		{"the type last", Problem{Classes: []Class{free(5, 10)}, Types: []Type{{Capacity: []int64{40}, Price: 7, Max: NoLimit}, {Capacity: []int64{10}, Price: 2, Max: NoLimit}}}, []int{0}, 2, 9, 9},
		{"numbers at their end", Problem{Classes: []Class{free(2, huge, 1), free(3, huge/2, huge/2)}, Types: []Type{any(huge, huge)}}, []int{0, 0}, 4, 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, budget := range []int{0, 1000} { // any plan will do
				c.p.Budget = budget
				solved(t, c.p)
			}
			c.p.Budget = 1 << 20
			plan := solved(t, c.p)
			if !slices.Equal(plan.Unplaced, c.unplaced) || plan.Nodes != c.nodes || plan.Price != c.price ||
				plan.PriceBound != c.bound {
				t.Errorf("%+v", plan)
			}
		})
	}
}

// TestTypeLast: even with no budget, each node is of the cheapest type that holds its load and has room.
func TestTypeLast(t *testing.T) {
	p := Problem{Classes: []Class{free(5, 30)}, Types: []Type{any(60), any(30)}}
	p.Types[0].Price, p.Types[1].Price = 5, 4
	if plan := solved(t, p); plan.Price != 14 {
		t.Errorf("%+v", plan)
	}
	p.Types[1].Max = 0
	if plan := solved(t, p); plan.Price != 15 {
		t.Errorf("%+v", plan)
	}
}

// TestMistakes: numbers that no cluster has are told, with where they stand.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{Problem{Classes: []Class{free(-1)}}, "class 0 has a count of -1: counts are at least 0, and at most 2147483647 in sum"},
		{Problem{Classes: []Class{free(math.MaxInt32), free(1)}}, "class 1 has a count of 1: counts are at least 0, and at most 2147483647 in sum"},
		{Problem{Classes: []Class{free(1, 0, -2)}}, "class 0 requests -2 of resource 1: requests are at least 0"},
		{Problem{Types: []Type{{Price: 1}, {}}}, "type 1 has a price of 0: prices are 1 to 2147483647"},
	} {
		if _, err := Solve(c.p); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestLimitsAreInTheBound: where the best types are few, the bound is that of what is left to buy.
func TestLimitsAreInTheBound(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	p := Problem{Budget: 1 << 22}
	for range 30 {
		p.Classes = append(p.Classes, free(600, int64(100+r.Intn(1400)), int64(100+r.Intn(4000)), 1))
	}
	for n := range int64(5) {
		p.Types = append(p.Types, Type{Capacity: []int64{8000 + 4000*n, 24000 + 9000*n, 110}, Price: 50 + 40*n, Max: NoLimit})
	}
	loose := solved(t, p)
	for i := range 4 {
		p.Types[i].Max = 120
	}
	tight := solved(t, p)
	t.Logf("%d of %d, with limits %d of %d", loose.Price, loose.PriceBound, tight.Price, tight.PriceBound)
	if tight.PriceBound <= loose.Price || tight.Gap() > 0.01 || tight.Proof != ProofColumns {
		t.Errorf("%d nodes of type 0 were bought without limits", loose.Patterns[0].Nodes)
	}
}

// TestEnough: where the bound that is known at once is enough, nothing is searched for; where it is one less, the
// search is the same as ever.
func TestEnough(t *testing.T) {
	p := drawn(rand.New(rand.NewSource(7)), 12, 20)
	p.Budget = 0
	plain := solved(t, p)
	p.Budget = 1 << 20
	best := solved(t, p)
	for enough, want := range map[int64]Plan{plain.PriceBound: plain, plain.PriceBound + 1: best} {
		p.Enough = enough
		if got := solved(t, p); got.Price != want.Price || got.PriceBound != want.PriceBound {
			t.Errorf("enough is %d: %d of %d, want %d of %d", enough, got.Price, got.PriceBound, want.Price, want.PriceBound)
		}
	}
	if best.Price == plain.Price {
		t.Error("there was nothing to search for")
	}
}

// TestGroupsTooMany: classes with a limit per node stay alone in groups, and where they are too many for columns,
// groups are of no use and cost next to nothing.
func TestGroupsTooMany(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	p := Problem{Budget: 6_000_000}
	for range 800 {
		c := free(2, int64(100+r.Intn(4000)), int64(100+r.Intn(16000)), 1)
		c.PerNode = 1
		p.Classes = append(p.Classes, c)
	}
	for n := range int64(20) {
		size := []int64{8000 * (n + 1), 32000 * (n + 1), 110}
		p.Types = append(p.Types, Type{Capacity: size, Price: 90 * (n + 1), Max: NoLimit})
	}
	m := &meter{}
	s := begin(fold(&p, m), m)
	s.heuristics(s.c.guess(), p.Budget/4)
	if all := solved(t, p).Steps; all > s.m.spent*5/4 {
		t.Errorf("%d steps, of which a plan without groups takes %d", all, s.m.spent)
	}
}

// TestGroups: items packed in groups of nearly one size are packed in their own, however few groups there
// are; and with more classes than columns are generated for, a plan is still near its bound.
func TestGroups(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	made := 0
	for range 500 {
		p := drawn(r, 12, 20)
		p.Budget = 0
		s, _ := solve(&p)
		if len(s.c.classes) == 0 {
			continue
		}
		s.best = nil
		if s.inGroups(s.c.guess(), 1+r.Intn(4), 100000); s.best == nil {
			continue // all as large as the largest fit nowhere
		}
		made++
		if err := broken(p, s.plan(&p, nil)); err != nil {
			t.Fatalf("%v\n%+v", err, p)
		}
	}
	if made < 200 {
		t.Errorf("%d plans", made)
	}
	p := Problem{Budget: 1 << 22}
	for range 2000 {
		p.Classes = append(p.Classes, free(1+r.Intn(5), int64(100+r.Intn(4000)), int64(100+r.Intn(16000)), 1))
	}
	for _, c := range [][3]int64{{8, 16, 34}, {8, 64, 53}, {16, 64, 80}} {
		p.Types = append(p.Types, Type{Capacity: []int64{1000 * c[0], c[1] << 10, 110}, Price: c[2], Max: NoLimit})
	}
	plan := solved(t, p)
	t.Logf("%d of %d (%.2f %%) by %s in %d steps", plan.Price, plan.PriceBound, 100*plan.Gap(), plan.Method, plan.Steps)
	if plan.Gap() > 0.03 || plan.Method != MethodGroups || plan.Steps > p.Budget+p.Budget/10 {
		t.Error("the gap is to be at most 3 percent")
	}
}

// TestZonesAreEven: types that differ in their zone alone are bought evenly, as far as their limits go,
// and so is each pattern.
func TestZonesAreEven(t *testing.T) {
	p := Problem{Classes: []Class{free(40, 10), free(40, 3)}, Budget: 1 << 20}
	for zone := range 3 {
		p.Types = append(p.Types, Type{Capacity: []int64{13}, Price: 1, Max: 30, Zone: zone})
	}
	p.Types = append(p.Types, p.Types[0]) // two types in zone 0
	count := func(plan Plan) (by [4]int) {
		for _, pattern := range plan.Patterns {
			by[pattern.Type] += pattern.Nodes
		}
		return by
	}
	if by := count(solved(t, p)); by != [4]int{7, 13, 13, 7} {
		t.Errorf("got %v", by)
	}
	p.Types[1].Max = 4
	if by := count(solved(t, p)); by != [4]int{9, 4, 18, 9} {
		t.Errorf("got %v", by)
	}
}

// drawn is a small problem in which everything there is comes up soon.
func drawn(r *rand.Rand, classes, count int) Problem {
	p := Problem{Budget: []int{0, 300, 30000, 1 << 20}[r.Intn(4)]}
	resources := 1 + r.Intn(3)
	numbers := func(most int) []int64 {
		n := make([]int64, resources)
		for i := range n {
			n[i] = int64(r.Intn(most))
		}
		return n
	}
	for range 1 + r.Intn(classes) {
		c := Class{Request: numbers(7), Count: r.Intn(count + 1), PerNode: NoLimit}
		if r.Intn(3) == 0 {
			c.PerNode = r.Intn(3)
		}
		p.Classes = append(p.Classes, c)
	}
	for range 1 + r.Intn(3) {
		ty := Type{Capacity: numbers(16), Price: int64(1 + r.Intn(9)), Max: NoLimit, Zone: r.Intn(2)}
		if r.Intn(3) == 0 {
			ty.Max = r.Intn(4)
		}
		if r.Intn(3) == 0 {
			ty.Holds = Set{r.Uint64()}
		}
		p.Types = append(p.Types, ty)
	}
	if r.Intn(3) == 0 { // count nodes
		for t := range p.Types {
			p.Types[t].Price = 1
		}
	}
	return p
}

// brute tries all plans: what is the lowest price at which at most so many stay unplaced?
type brute struct {
	p     Problem
	price func(t int) int64
	known map[string][]int64
}

// least is by how many are left at most, what the types from t on cost.
func (b *brute) least(t, bought int, rest []int) []int64 {
	all := 0
	for _, n := range rest {
		all += n
	}
	key := fmt.Sprint(t, bought, rest)
	if l, ok := b.known[key]; ok {
		return l
	}
	least := make([]int64, all+1)
	for u := range least {
		least[u] = math.MaxInt64
	}
	least[all] = 0
	take := func(others []int64, cost int64) {
		for u, price := range others {
			if price < math.MaxInt64 {
				least[u] = min(least[u], price+cost)
			}
		}
	}
	if t < len(b.p.Types) {
		take(b.least(t+1, 0, rest), 0)
		if bought < b.p.Types[t].Max && all > 0 {
			b.loads(t, rest, func(after []int) { take(b.least(t, bought+1, after), b.price(t)) })
		}
	}
	for u := 1; u <= all; u++ {
		least[u] = min(least[u], least[u-1])
	}
	b.known[key] = least
	return least
}

// loads calls do with what is left by every load of a node but the empty one.
func (b *brute) loads(t int, rest []int, do func(after []int)) {
	ty := b.p.Types[t]
	after := slices.Clone(rest)
	room := make([]int64, len(ty.Capacity))
	for r, n := range ty.Capacity {
		room[r] = max(0, n)
	}
	var from func(i int)
	from = func(i int) {
		if i == len(rest) {
			if !slices.Equal(after, rest) {
				do(slices.Clone(after))
			}
			return
		}
		from(i + 1)
		c := b.p.Classes[i]
		taken := 0
		for ty.Holds == nil || ty.Holds.Has(i) {
			fits := taken < c.PerNode && after[i] > 0
			for r, n := range c.Request {
				fits = fits && (n == 0 || r < len(room) && n <= room[r])
			}
			if !fits {
				break
			}
			taken++
			after[i]--
			for r, n := range c.Request {
				room[r] -= n
			}
			from(i + 1)
		}
		after[i] += taken
		for r, n := range c.Request {
			room[r] += n * int64(taken)
		}
	}
	from(0)
}

// TestAgainstAllPlans: bounds are at most what the best plan of all is, and with a budget nearly all plans
// are as good as that.
func TestAgainstAllPlans(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	worse, left, tight, full := 0, 0, 0, 0
	for n := range 3000 {
		p := drawn(r, 4, 4)
		plan := solved(t, p)
		unplaced, counts := 0, []int{}
		for i, c := range p.Classes {
			unplaced += plan.Unplaced[i]
			counts = append(counts, c.Count)
		}
		b := &brute{p, func(t int) int64 { return p.Types[t].Price }, map[string][]int64{}}
		prices := b.least(0, 0, counts)
		fewest := 0
		for prices[fewest] == math.MaxInt64 {
			fewest++
		}
		nodes := (&brute{p, func(int) int64 { return 1 }, map[string][]int64{}}).least(0, 0, counts)
		if best := prices[unplaced]; unplaced < fewest || plan.Price < best || plan.PriceBound > best ||
			int64(plan.NodeBound) > nodes[unplaced] {
			t.Fatalf("problem %d: the best costs %d, the smallest has %d nodes, %d must be left and %d are\n%+v\n%+v",
				n, best, nodes[unplaced], fewest, unplaced, p, plan)
		}
		if p.Budget < 30000 {
			continue
		}
		full++
		if unplaced > fewest {
			left++
		} else if plan.Price > prices[unplaced] {
			worse++
		}
		if plan.PriceBound == prices[unplaced] {
			tight++
		}
	}
	t.Logf("%d: %d leave more than they must, %d cost more, %d bounds are met", full, left, worse, tight)
	if left*200 > full || worse*100 > full || tight*100 < full*80 {
		t.Error("at most 0.5 and 1 percent may, and at least 80 percent are to be met")
	}
}

// TestFoldingChangesNothing: a class cut into several that are alike, and a type into zones, are bought
// for the same price.
func TestFoldingChangesNothing(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 300 {
		p := drawn(r, 6, 20)
		p.Budget = 1 << 16
		want := solved(t, p)
		cut := Problem{Budget: p.Budget}
		held := make([]Set, len(p.Types))
		for i, c := range p.Classes {
			parts := 1
			if c.PerNode == NoLimit {
				parts = 1 + r.Intn(3)
			}
			for n := parts; n > 0; n-- {
				part := c
				part.Count = c.Count / n
				c.Count -= part.Count
				for t, ty := range p.Types {
					if ty.Holds == nil || ty.Holds.Has(i) {
						held[t].Add(len(cut.Classes))
					}
				}
				cut.Classes = append(cut.Classes, part)
			}
		}
		for t, ty := range p.Types {
			ty.Holds = held[t]
			if ty.Holds == nil {
				ty.Holds = Set{0}
			}
			for zone := range 2 {
				part := ty
				part.Zone = zone
				if ty.Max != NoLimit {
					part.Max = (ty.Max + zone) / 2
				}
				cut.Types = append(cut.Types, part)
			}
		}
		got := solved(t, cut)
		if want.Price != got.Price || want.PriceBound != got.PriceBound {
			t.Fatalf("%d for %d, cut %d for %d\n%+v", want.Nodes, want.Price, got.Nodes, got.Price, p)
		}
	}
}

// TestWarm: a cycle that begins with the columns of the one before finds as good a plan, and proves as
// much, with an eighth of the steps; what does not fit any more does no harm.
func TestWarm(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	p := Problem{Types: []Type{{Capacity: []int64{16000, 64000, 110}, Price: 1, Max: NoLimit}}}
	for range 40 {
		p.Classes = append(p.Classes, free(1+r.Intn(900), int64(100+r.Intn(5000)), int64(200+r.Intn(20000)), 1))
	}
	p.Budget = 1 << 18
	cold := solved(t, p)
	p.Budget = 1 << 21
	long := solved(t, p)
	p.Budget, p.Warm = 1<<18, long.Columns
	warm := solved(t, p)
	t.Logf("long %d of %d, cold %d of %d, warm %d of %d", long.Price, long.PriceBound, cold.Price, cold.PriceBound,
		warm.Price, warm.PriceBound)
	if warm.Price > long.Price || warm.PriceBound < long.PriceBound || cold.Price <= warm.Price {
		t.Errorf("in %d, %d and %d steps", long.Steps, cold.Steps, warm.Steps)
	}
	p.Types[0].Capacity[0] /= 2
	p.Classes = p.Classes[:30]
	p.Warm = append(p.Warm, Pattern{Type: 7}, Pattern{Items: []Item{{Class: -1, Count: 1}}},
		Pattern{Items: []Item{{Class: 0, Count: -1}}})
	solved(t, p)
}

// TestSameInputSamePlan: nothing but the problem decides.
func TestSameInputSamePlan(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 200 {
		p := drawn(r, 12, 40)
		if a, b := solved(t, p), solved(t, p); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v\n%+v", p, a, b)
		}
	}
}
