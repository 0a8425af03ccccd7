package kwok

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// member is one of this provider's own nodes, as far as its metadata tells, or
// a machine without a node.
type member struct {
	name     string
	group    string
	uid      types.UID
	created  time.Time
	zone     string
	deleting bool
	// fault is why it has no node; a member with a node has none here.
	fault fault
}

// census is all nodes of one LIST, and the machines that have none.
type census struct {
	asOf time.Time
	// own are this provider's members by group; others the names of all nodes
	// besides.
	own    map[string][]member
	byName map[string]member
	others map[string]bool
	roll   roll
}

// knows reports whether a node or a machine has this name.
func (c census) knows(name string) bool {
	_, own := c.byName[name]
	return own || c.others[name]
}

// live counts the members of a group that are not being deleted: its target.
func (c census) live(group string) int {
	n := 0
	for _, m := range c.own[group] {
		if !m.deleting {
			n++
		}
	}
	return n
}

// lister takes the census. A LIST of thousands of nodes costs the API server and this process more
// than all else that a call does, and a cycle may grow a hundred groups at once: callers that
// arrive within a moment share one LIST. Only callers that asked before it began share it, so that
// it shows each of them their own earlier writes (rule P2). No caller waits for a LIST that is
// under way, so that a hanging one delays no other (rule P1).
type lister struct {
	nodes    metadata.Getter
	machines machineStore
	window   time.Duration

	mu   sync.Mutex
	open *reading // still to begin, if not nil
}

// reading is one LIST, and the read of the ConfigMap with it. It ends early when the last of its callers has left.
type reading struct {
	done   chan struct{}
	census census
	err    error

	callers int // guarded by lister.mu
	cancel  context.CancelFunc
}

func newLister(client metadata.Interface, machines machineStore) *lister {
	return &lister{
		nodes:    client.Resource(corev1.SchemeGroupVersion.WithResource("nodes")),
		machines: machines,
		window:   2 * time.Millisecond,
	}
}

// census returns a picture that begins after this call and ends with ctx.
func (l *lister) census(ctx context.Context) (census, error) {
	r := l.join(ctx)
	defer l.leave(r)
	select {
	case <-r.done:
		return r.census, r.err
	case <-ctx.Done():
		return census{}, fmt.Errorf("list the nodes' metadata: %w", context.Cause(ctx))
	}
}

func (l *lister) join(ctx context.Context) *reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		// It lives as long as any of its callers, not only the first.
		shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := &reading{done: make(chan struct{}), cancel: cancel}
		l.open = r
		time.AfterFunc(l.window, func() { l.read(shared, r) })
	}
	l.open.callers++
	return l.open
}

func (l *lister) leave(r *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.callers--
	if r.callers > 0 {
		return
	}
	r.cancel()
	if l.open == r {
		l.open = nil // later callers must not join a cancelled reading
	}
}

func (l *lister) read(ctx context.Context, r *reading) {
	l.mu.Lock()
	if l.open == r {
		l.open = nil
	}
	l.mu.Unlock()
	r.census, r.err = takeCensus(ctx, l.nodes, l.machines)
	close(r.done)
}

// memberOf is what the metadata of one of this provider's own nodes say of it.
func memberOf(node *metav1.ObjectMeta) member {
	return member{
		name:     node.Name,
		group:    node.Annotations[annotationGroup],
		uid:      node.UID,
		created:  node.CreationTimestamp.Time,
		zone:     node.Labels[corev1.LabelTopologyZone],
		deleting: node.DeletionTimestamp != nil,
	}
}

// takeCensus lists without a resource version and without pages: the API server
// answers that from its cache, in one piece, once the cache is known to be as
// new as the storage. A page would be read from the storage.
//
// The machines without a node are a second read. A member is in one of the two
// for all its life, so that none is missed or counted twice between them.
func takeCensus(ctx context.Context, nodes metadata.Getter, machines machineStore) (census, error) {
	c := census{asOf: time.Now(), own: map[string][]member{}, byName: map[string]member{}, others: map[string]bool{}}
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return census{}, fmt.Errorf("list the nodes' metadata: %w", err)
	}
	// An answer that is none of a list (an empty body, another kind) decodes
	// without an error, and would read as "no nodes".
	if list.ResourceVersion == "" {
		return census{}, fmt.Errorf("list the nodes' metadata: the answer is not a list: it has no resourceVersion")
	}
	if list.Continue != "" {
		return census{},
			fmt.Errorf("list the nodes' metadata: the answer is only a part of the list, and all of it was asked for")
	}
	for i := range list.Items {
		item := &list.Items[i]
		if !isOwn(item.Annotations) {
			c.others[item.Name] = true
			continue
		}
		m := memberOf(&item.ObjectMeta)
		c.own[m.group] = append(c.own[m.group], m)
		c.byName[m.name] = m
	}
	if c.roll, err = machines.read(ctx); err != nil {
		return census{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.roll.machines)) {
		entry := c.roll.machines[name]
		m := member{name: name, group: entry.Group, created: entry.Created, zone: entry.Zone, fault: entry.Fault}
		c.own[m.group] = append(c.own[m.group], m)
		c.byName[m.name] = m
	}
	return c, nil
}
