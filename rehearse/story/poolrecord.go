package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// poolState is what worker pools ask for at one moment: the replicas of their
// MachineDeployments.
type poolState struct {
	targets map[string]target // by MachineDeployment
	most    map[string]int    // of each pool, the most that was ever asked for at once
	least   map[string]int    // the least, since the record was told to mind it
}

type target struct {
	pool     string
	replicas int
}

func (s poolState) sums() map[string]int {
	sums := map[string]int{}
	for _, t := range s.targets {
		sums[t.pool] += t.replicas
	}
	return sums
}

// String tells the state in one line, for errors.
func (s poolState) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.targets)) {
		parts = append(parts, fmt.Sprintf("%s asks for %d", name, s.targets[name].replicas))
	}
	return strings.Join(parts, ", ")
}

// poolRecord is all that worker pools have asked for, in the order in which it was
// written. That one asked for more than its maximum is an error of the record.
type poolRecord struct {
	*record
	pools poolState
	minds bool // the least counts
}

// newPoolRecord is of a shoot's namespace, before there are any pools.
func newPoolRecord(namespace string) *poolRecord {
	r := &poolRecord{
		record: newRecord("the MachineDeployments of "+namespace, nil, namespace),
		pools:  poolState{targets: map[string]target{}, most: map[string]int{}, least: map[string]int{}},
	}
	r.keep, r.state = r.takeObject, func() string { return r.now().String() }
	return r
}

func (r *poolRecord) takeObject(o client.Object, gone bool) error {
	d, ok := o.(*machinev1.MachineDeployment)
	if !ok {
		return nil
	}
	if gone {
		delete(r.pools.targets, d.Name)
	} else {
		r.pools.targets[d.Name] = target{pool: d.Labels[machinev1.PoolLabel], replicas: int(d.Spec.Replicas)}
	}
	for pool, sum := range r.pools.sums() {
		r.pools.most[pool] = max(r.pools.most[pool], sum)
		if r.minds {
			r.pools.least[pool] = min(r.pools.least[pool], sum)
		}
	}
	return withinMaximum(r.pools.most)
}

// mindLeast begins to note the least that pools ask for.
func (r *poolRecord) mindLeast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.minds, r.pools.least = true, r.pools.sums()
}

// now is what is asked for.
func (r *poolRecord) now() poolState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return poolState{
		targets: maps.Clone(r.pools.targets), most: maps.Clone(r.pools.most), least: maps.Clone(r.pools.least),
	}
}
