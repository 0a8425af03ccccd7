package clusterapi

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

const (
	// patience is how long something optional is waited for: an Inventory is not
	// to be late, nor to fail, for want of it.
	patience = 5 * time.Second
	// readsAtOnce bounds the optional reads that run side by side.
	readsAtOnce = 8
	// knownFor is how long what was read is believed, emptyFor how long that
	// there was nothing in it, deniedFor how long that it may not be read, and
	// brokenFor how long a read that failed otherwise is not repeated.
	knownFor  = 5 * time.Minute
	emptyFor  = time.Minute
	deniedFor = 5 * time.Minute
	brokenFor = 20 * time.Second
)

// behind is what an object of an infrastructure provider tells.
type behind struct {
	promise promise
	// machineKind is the kind of the Machines that a MachinePool's object makes,
	// empty if it makes none.
	machineKind string
	// err says why it is not known; what was known before stays beside it.
	err   error
	until time.Time
}

// infrastructure remembers what stands behind the groups. Each object is read by
// a plain GET: no watch is begun that would wait for a right or for a kind that
// is not there.
type infrastructure struct {
	client    dynamic.Interface
	directory *directory
	now       func() time.Time
	patience  time.Duration

	mu    sync.Mutex
	known map[reference]behind
}

func newInfrastructure(client dynamic.Interface, d *directory, now func() time.Time) *infrastructure {
	return &infrastructure{client: client, directory: d, now: now, patience: patience, known: map[reference]behind{}}
}

// of is what is known of a reference.
func (i *infrastructure) of(ref reference) behind {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.known[ref]
}

// learn reads what is not known or not fresh, and forgets what is not asked for.
// It returns when patience is over at the latest.
func (i *infrastructure) learn(ctx context.Context, refs []reference) {
	now := i.now()
	i.mu.Lock()
	kept := map[reference]behind{}
	var stale []reference
	for _, ref := range refs {
		if _, twice := kept[ref]; twice || ref.kind == "" {
			continue
		}
		kept[ref] = i.known[ref]
		if !now.Before(kept[ref].until) {
			stale = append(stale, ref)
		}
	}
	i.known = kept
	i.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, i.patience)
	defer cancel()
	forEach(len(stale), func(n int) {
		found := i.read(ctx, stale[n])
		i.mu.Lock()
		defer i.mu.Unlock()
		if found.err != nil && !kube.Withheld(found.err) {
			found.promise, found.machineKind = i.known[stale[n]].promise, i.known[stale[n]].machineKind
		}
		i.known[stale[n]] = found
	})
}

// forEach runs do for 0 to n-1, several at a time, and waits for all.
func forEach(n int, do func(int)) {
	var wg sync.WaitGroup
	free := make(chan struct{}, readsAtOnce)
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	wg.Wait()
}

func (i *infrastructure) read(ctx context.Context, ref reference) behind {
	object, err := i.get(ctx, ref)
	if err != nil {
		wait := brokenFor
		if kube.Withheld(err) {
			wait = deniedFor
		}
		return behind{err: fmt.Errorf("read %s: %w", ref, err), until: i.now().Add(wait)}
	}
	out := behind{
		promise: readPromise(amounts(object), text(object, "status", "nodeInfo", "architecture"),
			text(object, "status", "nodeInfo", "operatingSystem")),
		machineKind: text(object, "status", "infrastructureMachineKind"),
		until:       i.now().Add(knownFor),
	}
	if len(out.promise.resources) == 0 {
		out.until = i.now().Add(emptyFor) // its controller may fill it in yet
	}
	return out
}

func (i *infrastructure) get(ctx context.Context, ref reference) (*unstructured.Unstructured, error) {
	r, namespaced, err := i.directory.resource(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !namespaced {
		return i.client.Resource(r).Get(ctx, ref.name, metav1.GetOptions{})
	}
	return i.client.Resource(r).Namespace(ref.namespace).Get(ctx, ref.name, metav1.GetOptions{})
}

// amounts reads status.capacity, whose quantities may be written as text or as
// numbers.
func amounts(o *unstructured.Unstructured) map[string]string {
	fields, _, err := unstructured.NestedMap(o.Object, "status", "capacity")
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for name, value := range fields {
		switch v := value.(type) {
		case string:
			out[name] = v
		case int64:
			out[name] = strconv.FormatInt(v, 10)
		case float64:
			out[name] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return out
}
