package story

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
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
	version  string // of the object
}

// of is what a pool asks for, by the names of its MachineDeployments in order.
func (s poolState) of(deployments []string) []int {
	var all []int
	for _, name := range deployments {
		all = append(all, s.targets[name].replicas)
	}
	return all
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

// poolRecord is all that worker pools have asked for, from one watch of their
// MachineDeployments: whatever was written, in the order in which it was, or the
// record has an error.
type poolRecord struct {
	admin     client.WithWatch
	namespace string
	stop      func()

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, at each change
	now     poolState
	minds   bool // the least counts
	err     error
}

// newPoolRecord begins to watch a shoot's namespace, before there are any pools.
func newPoolRecord(ctx context.Context, admin client.WithWatch, namespace string) (*poolRecord, error) {
	r := &poolRecord{
		admin: admin, namespace: namespace, changed: make(chan struct{}),
		now: poolState{targets: map[string]target{}, most: map[string]int{}, least: map[string]int{}},
	}
	w, err := admin.Watch(ctx, &machinev1.MachineDeploymentList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("watch the MachineDeployments of %s: %w", namespace, err)
	}
	ending := make(chan struct{})
	var running sync.WaitGroup
	r.stop = sync.OnceFunc(func() {
		close(ending)
		w.Stop()
		running.Wait()
	})
	running.Go(func() {
		for event := range w.ResultChan() {
			r.take(event)
		}
		select {
		case <-ending:
		default:
			r.fail(errors.New("the API server ended the watch, so that the record has a gap; play the story again"))
		}
	})
	return r, nil
}

// take takes in one event.
func (r *poolRecord) take(event watch.Event) {
	if event.Type == watch.Error {
		r.fail(fmt.Errorf("watch the MachineDeployments of %s: %v", r.namespace, event.Object))
		return
	}
	d, ok := event.Object.(*machinev1.MachineDeployment)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Type == watch.Deleted {
		delete(r.now.targets, d.Name)
	} else {
		r.now.targets[d.Name] = target{pool: d.Labels[machinev1.PoolLabel], replicas: int(d.Spec.Replicas), version: d.ResourceVersion}
	}
	for pool, sum := range r.now.sums() {
		r.now.most[pool] = max(r.now.most[pool], sum)
		if r.minds {
			r.now.least[pool] = min(r.now.least[pool], sum)
		}
	}
	r.tell()
}

// mindLeast begins to note the least that pools ask for.
func (r *poolRecord) mindLeast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.minds, r.now.least = true, r.now.sums()
}

func (r *poolRecord) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
	r.tell()
}

// nudge wakes whoever waits, for something that the record does not hold.
func (r *poolRecord) nudge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell()
}

// tell wakes whoever waits. The caller holds the lock.
func (r *poolRecord) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// look returns what is asked for, when to look again, and what is wrong with the
// record.
func (r *poolRecord) look() (poolState, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := poolState{targets: maps.Clone(r.now.targets), most: maps.Clone(r.now.most), least: maps.Clone(r.now.least)}
	return now, r.changed, r.err
}

// catchUp returns the record once it has all that has been written by now.
func (r *poolRecord) catchUp(ctx context.Context) (poolState, error) {
	var written machinev1.MachineDeploymentList
	if err := r.admin.List(ctx, &written, client.InNamespace(r.namespace)); err != nil {
		return poolState{}, fmt.Errorf("list the MachineDeployments of %s: %w", r.namespace, err)
	}
	for {
		now, changed, err := r.look()
		behind := slices.ContainsFunc(written.Items, func(d machinev1.MachineDeployment) bool {
			order, err := resourceversion.CompareResourceVersion(now.targets[d.Name].version, d.ResourceVersion)
			return err != nil || order < 0
		})
		if err != nil || !behind {
			return now, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, fmt.Errorf("wait until the watch has seen all that was written: %w", context.Cause(ctx))
		}
	}
}
