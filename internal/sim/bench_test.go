package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkDay is a virtual day of a cluster of 100 nodes in ten groups at a
// scan every 10 s, with a load that comes and goes by the hour. It is to take
// 30 s at most.
func BenchmarkDay(b *testing.B) {
	var script strings.Builder
	for g := range 10 {
		fmt.Fprintf(&script, "group g%d min=2 max=20 target=8 cpu=8 memory=32Gi zone=%c\n", g, 'a'+g%3)
	}
	script.WriteString("daemonset agent cpu=100m memory=100Mi\nworkload steady count=400 cpu=1 memory=2Gi\nworkload " +
		"tide count=0 cpu=500m memory=1Gi\n")
	for hour := range 24 {
		fmt.Fprintf(&script, "at %dm workload tide count=%d\n", 60*hour+7, 200+(hour*137)%400)
	}
	script.WriteString("fault nodes=taken every=2h\nfault nodes=flap every=45m\n")
	pass(b, script.String(), 24*time.Hour)
}

// BenchmarkHour is a virtual hour of a cluster of 1,000 nodes in 20 groups, to
// which a tenth comes and from which it goes again. It is to take 60 s at most.
func BenchmarkHour(b *testing.B) {
	var script strings.Builder
	for g := range 20 {
		fmt.Fprintf(&script, "group g%02d min=0 max=100 target=50 cpu=8 memory=32Gi zone=%c\n", g, 'a'+g%3)
	}
	script.WriteString("daemonset agent cpu=100m memory=100Mi\nworkload steady count=6900 cpu=1 memory=2Gi\n")
	script.WriteString("workload tide count=0 cpu=1 memory=2Gi\nat 5m workload tide count=800\nat 25m workload tide " +
		"count=0\nat 45m workload tide count=500\n")
	script.WriteString("fault nodes=taken every=10m\nfault nodes=flap every=5m\n")
	pass(b, script.String(), time.Hour)
}

func pass(b *testing.B, script string, d time.Duration) {
	for b.Loop() {
		s := newScript()
		if err := s.Add(script); err != nil {
			b.Fatal(err)
		}
		w := s.World()
		w.Timeline().Quiet()
		if err := w.Run(d); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}
