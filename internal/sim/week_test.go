package sim

import (
	"fmt"
	"testing"
	"time"
)

// aWeek is a world that comes to rest with something of each kind left: pods that fit nowhere, pods that a
// maximum keeps waiting, a node that a minimum keeps, and a group that failed.
const aWeek = `seed %d
flags --scan-interval=5m --scale-down-unneeded-time=20m --scale-down-delay-after-add=10m --max-nodes-total=12
lags watch=100ms read=1s
pool p min=2 max=4 sizing=Equitable
group a min=0 max=4 cpu=4 memory=16Gi zone=a pool=p
group b min=0 max=4 cpu=4 memory=16Gi zone=b pool=p
group c min=1 max=3 target=2 cpu=8 memory=32Gi zone=a
group d min=0 max=2 cpu=2 memory=8Gi zone=b taint=dedicated=x:NoSchedule
daemonset agent cpu=200m memory=100Mi
workload web count=9 cpu=1 memory=1Gi
workload huge count=3 cpu=64 memory=1Gi
workload picky count=9 cpu=1500m memory=1Gi tolerate=dedicated select=zone:b apart=host
budget web max=1
fault calls=refuse call=Grow error=NoCapacity group=b from=0s for=40m
at 1h workload web count=5
`

// TestAWeekAtRest lets worlds at rest be for a week: nothing is bought, drained or ended any more (A5), and
// what a cycle costs does not grow with time (N17).
func TestAWeekAtRest(t *testing.T) {
	for _, seed := range []int{1, 2} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newScript()
			if err := s.Add(fmt.Sprintf(aWeek, seed)); err != nil {
				t.Fatal(err)
			}
			w := s.World()
			defer w.Close()
			if err := w.Run(2 * time.Hour); err != nil {
				t.Fatal(err)
			}
			lacking, err := comesToRest(w, peaceful)
			if err != nil || len(lacking) > 0 {
				t.Fatalf("%v\n%v\n%s", err, lacking, w.Show())
			}
			w.Timeline().Take()
			w.Timeline().Quiet()
			if err := w.Run(7 * 24 * time.Hour); err != nil {
				t.Errorf("%v\n%s", err, w.Show())
			}
		})
	}
}
