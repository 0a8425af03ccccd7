package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// leavingTaint marks a node that the autoscaler is about to remove.
const leavingTaint = "ToBeDeletedByClusterAutoscaler"

// Pods counts the pods of one workload.
type Pods struct {
	All     int // every pod object, ending ones included
	Bound   int // has a node
	Running int
	Refused int // the scheduler finds no node for it now
	Waited  int // pods that were ever refused, gone ones included
	Ever    int // pods that were ever there, gone ones included
}

// Nodes counts the nodes of one group.
type Nodes struct {
	All     int // every node object
	Ready   int
	Leaving int // cordoned, or tainted by the autoscaler, to go
	Ever    int // nodes that were ever there, gone ones included
	Peak    int // the most that were there at once
}

// Tally is the cluster, counted.
type Tally struct {
	Workloads map[string]Pods
	Groups    map[string]Nodes
}

// Pods sums over all workloads.
func (t Tally) Pods() Pods {
	var sum Pods
	for _, p := range t.Workloads {
		sum.All += p.All
		sum.Bound += p.Bound
		sum.Running += p.Running
		sum.Refused += p.Refused
		sum.Waited += p.Waited
	}
	return sum
}

// Nodes sums over all groups; the peaks need not have been at one time.
func (t Tally) Nodes() Nodes {
	var sum Nodes
	for _, n := range t.Groups {
		sum.All += n.All
		sum.Ready += n.Ready
		sum.Leaving += n.Leaving
		sum.Ever += n.Ever
		sum.Peak += n.Peak
	}
	return sum
}

// String tells the state in one line, for errors.
func (t Tally) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.Workloads)) {
		p := t.Workloads[name]
		parts = append(parts,
			fmt.Sprintf("%s: %d pods, %d bound, %d running, %d refused", name, p.All, p.Bound, p.Running, p.Refused))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Groups)) {
		n := t.Groups[name]
		if n.All > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d nodes, %d ready, %d leaving", name, n.All, n.Ready, n.Leaving))
		}
	}
	if len(parts) == 0 {
		return "there are no pods and no nodes"
	}
	return strings.Join(parts, "; ")
}

// podRow and nodeRow are what is counted of an object.
type podRow struct {
	workload                        string
	bound, running, refused, waited bool
}

type nodeRow struct {
	group          string
	ready, leaving bool
}

// Watch keeps the tally of a cluster from informers.
type Watch struct {
	stop context.CancelFunc
	done func()

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, at each change
	pods    map[types.UID]podRow
	nodes   map[types.UID]nodeRow
	tally   Tally
}

func newWatch(ctx context.Context, client kubernetes.Interface) (*Watch, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim))
	w := &Watch{
		stop:    stop,
		done:    factory.Shutdown,
		changed: make(chan struct{}),
		pods:    map[types.UID]podRow{},
		nodes:   map[types.UID]nodeRow{},
		tally:   Tally{Workloads: map[string]Pods{}, Groups: map[string]Nodes{}},
	}
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.setPod(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { w.setPod(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) { w.dropPod(last[*corev1.Pod](object).UID) },
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch the pods: %w", err)
	}
	_, err = nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.setNode(object.(*corev1.Node)) },
		UpdateFunc: func(_, object any) { w.setNode(object.(*corev1.Node)) },
		DeleteFunc: func(object any) { w.dropNode(last[*corev1.Node](object).UID) },
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch the nodes: %w", err)
	}
	factory.Start(running.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		w.close()
		return nil, fmt.Errorf("watch the pods and nodes: %w", context.Cause(ctx))
	}
	return w, nil
}

func (w *Watch) close() {
	w.stop()
	w.done()
}

// trim drops the largest fields that no caller reads.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		o.ManagedFields = nil
	case *corev1.Node:
		o.ManagedFields = nil
	}
	return object, nil
}

// last is the object of a deletion, whose event may have been missed.
func last[T any](object any) T {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	return object.(T)
}

// Tally returns the present counts.
func (w *Watch) Tally() Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Tally{Workloads: maps.Clone(w.tally.Workloads), Groups: maps.Clone(w.tally.Groups)}
}

// Changed is closed at the next change of the tally. Who waits for more than the
// tally takes it before looking, so that no change is missed.
func (w *Watch) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Wait returns once the tally is as wanted; done must not keep it. The error of
// an ended context tells what did not happen, and how things stand.
func (w *Watch) Wait(ctx context.Context, what string, done func(Tally) bool) error {
	for {
		w.mu.Lock()
		reached, changed := done(w.tally), w.changed
		w.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("this did not happen: %s: %w (%s)", what, context.Cause(ctx), w.Tally())
		}
	}
}

func (w *Watch) setPod(pod *corev1.Pod) {
	row := podRow{
		workload: WorkloadOf(pod),
		bound:    pod.Spec.NodeName != "",
		running:  pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil,
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			row.refused = true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.pods[pod.UID]
	row.waited = row.refused || before.waited
	if known && before == row {
		return
	}
	count := w.tally.Workloads[row.workload]
	if known {
		count.add(before, -1)
	} else {
		count.Ever++
	}
	count.add(row, 1)
	if row.waited && !before.waited {
		count.Waited++
	}
	w.tally.Workloads[row.workload] = count
	w.pods[pod.UID] = row
	w.tell()
}

func (w *Watch) dropPod(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := w.pods[uid]
	count := w.tally.Workloads[row.workload]
	count.add(row, -1)
	w.tally.Workloads[row.workload] = count
	delete(w.pods, uid)
	w.tell()
}

func (p *Pods) add(row podRow, by int) {
	p.All += by
	if row.bound {
		p.Bound += by
	}
	if row.running {
		p.Running += by
	}
	if row.refused {
		p.Refused += by
	}
}

func (w *Watch) setNode(node *corev1.Node) {
	row := nodeRow{group: GroupOf(node), leaving: node.DeletionTimestamp != nil || node.Spec.Unschedulable}
	for _, c := range node.Status.Conditions {
		row.ready = row.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	for _, taint := range node.Spec.Taints {
		row.leaving = row.leaving || taint.Key == leavingTaint
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.nodes[node.UID]
	if known && before == row {
		return
	}
	if known {
		count := w.tally.Groups[before.group]
		count.add(before, -1)
		count.Ever-- // it moves, if its group has only become known now
		w.tally.Groups[before.group] = count
	}
	count := w.tally.Groups[row.group]
	count.add(row, 1)
	count.Ever++
	count.Peak = max(count.Peak, count.All)
	w.tally.Groups[row.group] = count
	w.nodes[node.UID] = row
	w.tell()
}

func (w *Watch) dropNode(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := w.nodes[uid]
	count := w.tally.Groups[row.group]
	count.add(row, -1)
	w.tally.Groups[row.group] = count
	delete(w.nodes, uid)
	w.tell()
}

func (n *Nodes) add(row nodeRow, by int) {
	n.All += by
	if row.ready {
		n.Ready += by
	}
	if row.leaving {
		n.Leaving += by
	}
}

// tell wakes all goroutines that wait. The caller holds the lock.
func (w *Watch) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}
