package pools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// testCluster is a shoot with one pool.
func testCluster(minimum, maximum int32, zones int) Cluster {
	return Cluster{Shoot: "s", Worker: "s", Namespace: "shoot--p--s", Sizing: defaultSizing, Pools: []v1alpha1.Pool{
		{Name: "a", Minimum: minimum, Maximum: maximum, MaxSurge: ints(1), MaxUnavailable: ints(0), Zones: zoneNames(zones)},
	}}
}

// there is a zone's machine deployment as this controller made it.
func there(z Zone, replicas int32) MachineDeployment {
	object := z.Render(z.Name())
	object["metadata"].(map[string]any)["uid"] = "uid-" + z.Name()
	object["metadata"].(map[string]any)["resourceVersion"] = "1"
	object["spec"].(map[string]any)["replicas"] = int64(replicas)
	return Read(object)
}

func allThere(c Cluster, replicas ...int32) []MachineDeployment {
	var all []MachineDeployment
	for i, z := range c.Zones() {
		if i < len(replicas) {
			all = append(all, there(z, replicas[i]))
		}
	}
	return all
}

// replicasOf are the replicas that a plan writes, by machine deployment.
func replicasOf(p Plan) map[string]int64 {
	all := map[string]int64{}
	for _, s := range p.Steps {
		if n, ok := nested(s.Body, "spec", "replicas").(int64); ok {
			all[s.Name] = n
		}
	}
	return all
}

func short(c Cluster, all map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name, n := range all {
		out[strings.TrimPrefix(name, c.Namespace+"-a-")] = n
	}
	return out
}

// TestReplicasAreWrittenWhen are the rules of Gardener's worker controller, one after
// the other, with the pool's limits instead of the zones' shares.
func TestReplicasAreWrittenWhen(t *testing.T) {
	hibernated := func(c Cluster) Cluster { c.Hibernated = true; return c }
	slept := func(c Cluster, n int) []MachineDeployment {
		c.Hibernated = true
		return allThere(c, make([]int32, n)...)
	}
	foreign := func(mds []MachineDeployment) []MachineDeployment {
		for i := range mds {
			annotations := mds[i].Object["metadata"].(map[string]any)["annotations"].(map[string]any)
			delete(annotations, workerAnnotation)
			mds[i] = Read(mds[i].Object)
		}
		return mds
	}
	unlabelled := func(mds []MachineDeployment) []MachineDeployment {
		for i := range mds {
			delete(mds[i].Object["metadata"].(map[string]any), "labels")
			mds[i] = Read(mds[i].Object)
		}
		return mds
	}
	going := func(mds []MachineDeployment) []MachineDeployment {
		mds[1].Deleting = true
		return mds
	}
	c := testCluster(3, 4, 3)
	tests := []struct {
		name     string
		cluster  Cluster
		live     []MachineDeployment
		restored map[string]int32
		want     map[string]int64
	}{
		{"hibernated: 0", hibernated(c), allThere(c, 2, 1, 0), nil, map[string]int64{"z1": 0, "z2": 0}},
		{"hibernated and new: 0", hibernated(c), nil, nil, map[string]int64{"z1": 0, "z2": 0, "z3": 0}},
		{"no autoscaler, too many: what is above the share goes, and no more than is too much", testCluster(4, 4, 3), allThere(testCluster(4, 4, 3), 4, 0, 1), nil, map[string]int64{"z1": 3}},
		{"no autoscaler, too few: as many as are missing", testCluster(4, 4, 3), allThere(testCluster(4, 4, 3), 0, 2, 1), nil, map[string]int64{"z1": 1}},
		{"no autoscaler, as many as there must be: untouched, wherever they are", testCluster(4, 4, 3), allThere(testCluster(4, 4, 3), 0, 2, 2), nil, map[string]int64{}},
		{"no autoscaler, below 0", testCluster(4, 4, 3), allThere(testCluster(4, 4, 3), -3, 2, 2), nil, map[string]int64{"z1": 0}},
		{"no autoscaler, a zone that goes has its machines still", testCluster(3, 3, 2), allThere(testCluster(3, 3, 3), 1, 1, 1), nil, map[string]int64{}},
		{"no autoscaler, and it is gone", testCluster(3, 3, 2), allThere(testCluster(3, 3, 3), 1, 1), nil, map[string]int64{"z1": 2}},
		{"no autoscaler, a new zone takes what is missing", testCluster(4, 4, 3), allThere(testCluster(4, 4, 3), 2, 1), nil, map[string]int64{"z3": 1}},
		{"no autoscaler, waking up", testCluster(4, 4, 3), slept(testCluster(4, 4, 3), 3), nil, map[string]int64{"z1": 2, "z2": 1, "z3": 1}},
		{"new: the share of the minimum", testCluster(4, 9, 3), nil, nil, map[string]int64{"z1": 2, "z2": 1, "z3": 1}},
		{"new, and brought along from another seed", testCluster(3, 9, 3), nil, map[string]int32{
			"shoot--p--s-a-z1": 5, "shoot--p--s-a-z2": 0,
		},
			map[string]int64{"z1": 5, "z2": 0, "z3": 1}},
		{"brought along: not more than the pool's maximum", c, nil, map[string]int32{"shoot--p--s-a-z1": 3, "shoot--p--s-a-z2": 3}, map[string]int64{"z1": 3, "z2": 1, "z3": 0}},
		{"a new zone: no more than the pool has room for", c, allThere(c, 2, 2), nil, map[string]int64{"z3": 0}},
		{"a new zone beside one with more than the maximum", c, allThere(c, 7, 0), nil, map[string]int64{"z1": 4, "z3": 0}},
		{"a new zone beside ones without their pool's label", c, unlabelled(allThere(c, 2, 2)), nil, map[string]int64{"z3": 0}},
		{"a new zone beside one that is going, which has its machines still", c, going(allThere(c, 2, 2)), nil, map[string]int64{"z3": 0}},
		{"waking up: the share of the minimum", c, slept(c, 3), nil, map[string]int64{"z1": 1, "z2": 1, "z3": 1}},
		{"waking up, and another client was faster", c, append(slept(c, 2), there(c.Zones()[2], 4)), nil, map[string]int64{}},
		{"taken over asleep from Gardener's own controller", c, foreign(allThere(c, 0, 0, 0)), nil, map[string]int64{"z1": 1, "z2": 1, "z3": 1}},
		{"taken over awake", c, foreign(allThere(c, 4, 0, 0)), nil, map[string]int64{}},
		{"all at 0 and never hibernated: the autoscaler's business", c, allThere(c, 0, 0, 0), nil, map[string]int64{}},
		{"below its share of the minimum: untouched", c, allThere(c, 3, 0, 0), nil, map[string]int64{}},
		{"above its share of the maximum: untouched", c, allThere(c, 0, 4, 0), nil, map[string]int64{}},
		{"the pool below its minimum: the autoscaler's business", c, allThere(c, 1, 0, 0), nil, map[string]int64{}},
		{"the pool above its maximum, no zone alone: untouched", c, allThere(c, 2, 2, 2), nil, map[string]int64{}},
		{"a zone above the pool's maximum: the maximum", c, allThere(c, 5, 0, 0), nil, map[string]int64{"z1": 4}},
		{"below 0: 0", c, allThere(c, -2, 3, 0), nil, map[string]int64{"z1": 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := short(tt.cluster, replicasOf(MakePlan(tt.cluster, Seen{MachineDeployments: tt.live, Restored: tt.restored})))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReplicasInsideTheLimitsAreNeverMoved: whatever the pool, its zones and those that
// it has no more, and wherever its replicas are, a plan moves none that is within 0 and
// the pool's maximum, as long as an autoscaler looks after the pool. Where none does,
// a pool that has what it must have is left alone, and any other only comes nearer to
// it. After no step, in whatever order and wherever they end, is the pool above its
// maximum by what was written.
func TestReplicasInsideTheLimitsAreNeverMoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.IntRange(0, 6).Draw(t, "zones")
		minimum := rapid.Int32Range(0, 12).Draw(t, "minimum")
		more := rapid.Int32Range(0, 12).Draw(t, "more")
		maximum := minimum + more
		c := testCluster(minimum, maximum, zones)
		var live []MachineDeployment
		before, sum, wanted := map[string]int64{}, int64(0), int64(0)
		for _, z := range testCluster(minimum, maximum, zones+rapid.IntRange(0, 2).Draw(t, "former zones")).Zones() {
			if !rapid.Bool().Draw(t, "there") {
				continue
			}
			n := rapid.Int32Range(0, maximum+3).Draw(t, "replicas")
			md := there(z, n)
			if rapid.Bool().Draw(t, "changed") {
				md.Object["metadata"].(map[string]any)["annotations"].(map[string]any)[mcm.PoolMaximumAnnotation] = "77"
			}
			live = append(live, md)
			before[z.Name()] = int64(n)
			sum += int64(n)
			if int(z.Index) < max(1, zones) {
				wanted += int64(n)
			}
		}
		plan := MakePlan(c, Seen{MachineDeployments: live})
		if rapid.Bool().Draw(t, "in another order") {
			plan.Steps = rapid.Permutation(plan.Steps).Draw(t, "steps")
		}
		for _, s := range plan.Steps {
			n, writes := nested(s.Body, "spec", "replicas").(int64)
			if !writes {
				continue // a deletion frees nothing as long as its machines are there
			}
			was, wasThere := before[s.Name]
			switch {
			case wasThere && more > 0 && was <= int64(maximum):
				t.Fatalf("%s was moved from %d to %d within 0 to %d", s.Name, was, n, maximum)
			case wasThere && more == 0 && (n > was && wanted >= int64(minimum) || n < was && wanted <= int64(minimum)):
				t.Fatalf("%s was moved from %d to %d, and the pool had %d of %d", s.Name, was, n, wanted, minimum)
			}
			sum += n - was
			if n > was && sum > int64(maximum) {
				t.Fatalf("%s was raised from %d to %d, and the sum is %d, above %d", s.Name, was, n, sum, maximum)
			}
		}
	})
}

// TestPoolsWithoutAnAutoscalerComeToWhatTheyMustHave: where no pool has room between its
// limits, and all zones are there, the pool has its minimum after one plan, with no
// zone that was moved beyond its share; and a second plan moves nothing.
func TestPoolsWithoutAnAutoscalerComeToWhatTheyMustHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int32Range(0, 12).Draw(t, "size")
		c := testCluster(size, size, rapid.IntRange(1, 6).Draw(t, "zones"))
		after := make([]int32, len(c.Zones()))
		for i := range after {
			after[i] = rapid.Int32Range(-2, size+3).Draw(t, "replicas")
		}
		sum := int32(0)
		written := replicasOf(MakePlan(c, Seen{MachineDeployments: allThere(c, after...)}))
		for i, z := range c.Zones() {
			if n, ok := written[z.Name()]; ok {
				if to, was := int32(n), max(0, after[i]); to > was && to > z.Minimum() || to < was && to < z.Minimum() {
					t.Fatalf("%s was moved from %d to %d, and its share is %d", z.Name(), was, to, z.Minimum())
				}
				after[i] = int32(n)
			}
			sum += after[i]
		}
		if sum != size {
			t.Fatalf("the pool has %v, %d in all, and must have %d", after, sum, size)
		}
		if again := replicasOf(MakePlan(c, Seen{MachineDeployments: allThere(c, after...)})); len(again) > 0 {
			t.Fatalf("of %v, %v was moved again", after, again)
		}
	})
}

// TestNewPoolsStartAtTheirMinimum: new machine deployments are together the pool's
// minimum.
func TestNewPoolsStartAtTheirMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minimum := rapid.Int32Range(0, 50).Draw(t, "minimum")
		c := testCluster(minimum, minimum+rapid.Int32Range(0, 50).Draw(t, "more"), rapid.IntRange(0, 9).Draw(t, "zones"))
		sum := int64(0)
		for _, n := range replicasOf(MakePlan(c, Seen{})) {
			sum += n
		}
		if sum != int64(minimum) {
			t.Fatalf("they start with %d in all, want %d", sum, minimum)
		}
	})
}
