package bench

import (
	"fmt"
	"math/rand"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/pack"
)

// A step takes 15 to 30 ns: this many are a tenth of a second at most.
const tenth = 3_000_000

// quality are problems for the packer alone: so many items in so many classes of random sizes, onto one
// type, or the seven or forty priced ones. Gap is what the plan may cost above its own bound.
var quality = []struct {
	name    string
	types   int
	items   int
	classes int
	alone   int // every so many classes go at most one a node; 0: none
	budget  int
	gap     float64
}{
	{"Q1", 1, 20000, 30, 0, tenth, 0.002},
	{"Q1alone", 1, 20000, 30, 5, tenth, 0.005},
	{"Q2", 7, 20000, 30, 0, 2 * tenth, 0.01},
	{"Q2long", 7, 20000, 30, 0, 10 * tenth, 0.003},
	{"Q2alone", 7, 20000, 30, 5, 2 * tenth, 0.01},
	{"Q2-100", 7, 20000, 100, 0, 2 * tenth, 0.01},
	{"Q2-300", 7, 20000, 300, 0, 10 * tenth, 0.015},
	{"Q2-forty", 40, 20000, 30, 0, 2 * tenth, 0.01},
	{"Q2-1000", 7, 1000, 30, 0, tenth, 0.02},
}

// BenchmarkPack packs each, with big, mixed and small items, three seeds each.
func BenchmarkPack(b *testing.B) {
	for _, q := range quality {
		for _, size := range []string{"big", "mixed", "small"} {
			for seed := range 3 {
				b.Run(fmt.Sprintf("%s-%s-%d", q.name, size, seed+1), func(b *testing.B) {
					p := drawnItems(size, int64(seed+1), q.items, q.classes, q.alone)
					p.Types, p.Budget = packTypes(q.types), q.budget
					solvePack(b, p)
				})
			}
		}
	}
}

// BenchmarkPackMany has as many classes and types as no column generation takes.
func BenchmarkPackMany(b *testing.B) {
	for _, classes := range []int{1000, 10000} {
		for _, types := range []int{7, 400} {
			b.Run(fmt.Sprintf("%d-%d", classes, types), func(b *testing.B) {
				p := drawnItems("mixed", 1, 20000, classes, 0)
				p.Types, p.Budget = packTypes(types), 5*tenth
				solvePack(b, p)
			})
		}
	}
}

// BenchmarkPackDiverse has the sizes of Karpenter's benchmark and its 400 types, and a fifth of the items
// go one a node, whatever their size: they share a resource of which each node has one.
func BenchmarkPackDiverse(b *testing.B) {
	for _, items := range []int{1000, 5000, 20000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			p := drawnItems("small", 1, items, 60, 0)
			for i := range p.Classes {
				p.Classes[i].Request = append(p.Classes[i].Request, int64(i%5/4))
			}
			for n := range int64(400) {
				cpu := n + 1
				p.Types = append(p.Types, pack.Type{Capacity: []int64{cpu*1000 - 100, cpu*2048 - 10, 10 * cpu, 1},
					Price: 315 * cpu, Max: 10000, Zone: int(n % 3)})
			}
			p.Budget = 2 * tenth
			solvePack(b, p)
		})
	}
}

// BenchmarkPackWarm is the cycle after: a tenth of the items came since.
func BenchmarkPackWarm(b *testing.B) {
	p := drawnItems("mixed", 1, 20000, 30, 0)
	p.Types, p.Budget = packTypes(7), 2*tenth
	plan, err := pack.Solve(p)
	if err != nil {
		b.Fatal(err)
	}
	p.Warm = plan.Columns
	for i := range p.Classes {
		p.Classes[i].Count += p.Classes[i].Count * (i % 3) / 10
	}
	solvePack(b, p)
}

// solvePack reports the processor time of a plan: the machine may have other work.
func solvePack(b *testing.B, p pack.Problem) {
	var plan pack.Plan
	before := processorTime(b)
	for b.Loop() {
		var err error
		if plan, err = pack.Solve(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorTime(b)-before)/float64(b.N)*1e3, "cpu-ms")
	b.ReportMetric(float64(plan.Nodes), "nodes")
	b.ReportMetric(float64(plan.NodeBound), "lower_bound")
	b.ReportMetric(float64(plan.Price), "price")
	b.ReportMetric(float64(plan.PriceBound), "price_bound")
	b.ReportMetric(100*plan.Gap(), "gap-%")
	b.ReportMetric(float64(plan.Steps), "steps")
}

// processorTime is what this process has used of it, in seconds.
func processorTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// TestPlansAreNearTheBound: within a number of steps each plan is as near its own bound as is promised;
// of one type, it is the bound plus one node at most where that is more.
func TestPlansAreNearTheBound(t *testing.T) {
	for _, q := range quality {
		for _, size := range []string{"big", "mixed", "small"} {
			if testing.Short() && size != "mixed" || strings.HasSuffix(q.name, "long") {
				continue // the benchmark has them
			}
			p := drawnItems(size, 1, q.items, q.classes, q.alone)
			p.Types, p.Budget = packTypes(q.types), q.budget
			plan, err := pack.Solve(p)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range plan.Unplaced {
				if n > 0 {
					t.Errorf("%s %s: %d of class %d are not placed", q.name, size, n, i)
				}
			}
			if plan.Gap() > q.gap && plan.Nodes > plan.NodeBound+1 || plan.Steps > p.Budget+p.Budget/20 {
				t.Errorf("%s %s: %d for %d, the bound is %d (%.2f %%), in %d steps", q.name, size, plan.Nodes, plan.Price,
					plan.PriceBound, 100*plan.Gap(), plan.Steps)
			}
		}
	}
}

// drawnItems are items of random sizes: milli cores, MiB, and one pod each.
func drawnItems(size string, seed int64, items, classes, alone int) pack.Problem {
	r := rand.New(rand.NewSource(seed))
	cores := []int{100, 250, 500, 1000, 1500}
	memory := []int{100, 256, 512, 1024, 2048, 4096}
	var p pack.Problem
	for k := range classes {
		n := items / (classes - k)
		items -= n
		c := pack.Class{Count: n, PerNode: pack.NoLimit}
		cpu, mem := 0, 0
		switch size {
		case "big":
			cpu, mem = 2000+r.Intn(7000), 1024*(4+r.Intn(24))
		case "mixed":
			cpu = 100 + r.Intn(3900)
			mem = min(30000, cpu*(1<<r.Intn(5))*1024/1000)
		case "small":
			cpu, mem = cores[r.Intn(5)], memory[r.Intn(6)]
		}
		if alone > 0 && k%alone == 0 {
			c.PerNode = 1
		}
		c.Request = []int64{int64(cpu), int64(mem), 1}
		p.Classes = append(p.Classes, c)
	}
	return p
}

// packTypes are kinds of nodes: one that costs 1; seven as clouds have them; and families of growing
// machines, less what the system keeps, for cores and memory by the piece.
func packTypes(count int) (types []pack.Type) {
	add := func(cpu, mem, price int64) {
		types = append(types, pack.Type{Capacity: []int64{cpu, mem, 110}, Price: price, Max: pack.NoLimit})
	}
	switch count {
	case 1:
		add(15890, 60000, 1)
	case 7:
		for _, c := range []struct{ cpu, mem, price int64 }{{8, 16, 34}, {8, 32, 40}, {8, 64, 53}, {16, 32, 68},
			{16, 64, 80}, {16, 128, 106}, {32, 128, 160}} {
			add(c.cpu*1000, c.mem<<10, c.price)
		}
	default:
		sizes := int64(count / 5)
		for _, perCore := range []int64{2, 3, 4, 8, 16} {
			for n := int64(1); n <= sizes; n++ {
				cpu := 1 + 96*n*n/sizes/sizes
				add(cpu*990-60, cpu*perCore*1004-1465, 345*cpu+38*cpu*perCore)
			}
		}
	}
	return types
}
