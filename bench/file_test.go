package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// BenchmarkFile is from a dump to the plan: so many nodes with 30 pods each, and twice as many pods that wait.
func BenchmarkFile(b *testing.B) {
	for _, bm := range []struct {
		name  string
		form  clusterfile.Form
		nodes int
	}{
		{"JSON1000", clusterfile.JSON, 1000}, {"JSON5000", clusterfile.JSON, 5000},
		{"YAML1000", clusterfile.YAML, 1000}, {"YAML5000", clusterfile.YAML, 5000},
	} {
		b.Run(bm.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), bm.name)
			size := writeFile(b, file, bm.form, bm.nodes)
			runtime.GC()
			debug.FreeOSMemory()
			peak := watchHeap(b.Context())
			b.SetBytes(size)
			for b.Loop() {
				read, err := clusterfile.Read(b.Context(), []string{file}, nil)
				if err != nil {
					b.Fatal(err)
				}
				seen, err := read.Observation(observe.Settings{Namespace: "kube-system"})
				if err != nil {
					b.Fatal(err)
				}
				cycle, err := ask.Decide(seen, read.Memory, testkit.Policy())
				if err != nil {
					b.Fatal(err)
				}
				if cycle.Plan.Nodes == 0 {
					b.Fatal(fmt.Sprint("nothing is bought: ", cycle.Plan.Text(cycle.Snapshot)))
				}
			}
			b.ReportMetric(float64(peak())/1e6, "peak_MB")
		})
	}
}

// writeFile writes that cluster, and gives the file's length.
func writeFile(b *testing.B, name string, form clusterfile.Form, nodes int) int64 {
	c := filled(nodes)
	for k := range 10 {
		app := fmt.Sprintf("app%02d", k)
		c.Pending(testkit.Pod("default", app, fmt.Sprintf("%dm", 200+50*k), "512Mi", map[string]string{"app": app}), nodes/5)
	}
	inventory := c.Inventory()
	whole := clusterfile.Cluster{Time: c.Now, Inventory: &inventory}
	for _, obj := range c.Objects() {
		whole.Objects = append(whole.Objects, observe.Cut(obj))
	}
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := clusterfile.Write(file, &whole, form); err != nil {
		b.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// watchHeap looks at the heap every 20 ms. The function that it returns ends that, and gives the most that
// the process had of the system.
func watchHeap(ctx context.Context) func() uint64 {
	ctx, cancel := context.WithCancel(ctx)
	most := make(chan uint64)
	go func() {
		at := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		peak := uint64(0)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(at)
			peak = max(peak, at[0].Value.Uint64()-at[1].Value.Uint64())
			select {
			case <-tick.C:
			case <-ctx.Done():
				most <- peak
				return
			}
		}
	}()
	return func() uint64 { cancel(); return <-most }
}
