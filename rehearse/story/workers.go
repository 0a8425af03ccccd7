package story

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
)

// workerState is the worker groups of one EKS Anywhere Cluster at one moment: as its
// spec has them, and as Cluster API carries them out.
type workerState struct {
	spec        v1alpha1.ClusterSpec
	ready       v1alpha1.Condition // WorkersReady; without a type: not there yet
	deployments map[string]deployment
	machines    map[types.UID]machine
}

// deployment is a group's machine deployment.
type deployment struct {
	replicas      int // asked for
	actual, ready int
	version       string // that its machines shall have
	seen          bool   // its status is as new as its spec
	bounded       bool   // it has a range for the autoscaler
}

// machine is one machine, with the machine deployment that it belongs to.
type machine struct{ deployment, version string }

// of counts a machine deployment's machines, and those of them of one version.
func (w workerState) of(deployment, version string) (all, ofVersion int) {
	for _, m := range w.machines {
		if m.deployment == deployment {
			all++
			if m.version == version {
				ofVersion++
			}
		}
	}
	return all, ofVersion
}

// settled says that the group's machine deployment wants so many machines, and has
// exactly these: of this version, ready, and none beside them.
func (w workerState) settled(deployment string, replicas int, version string) bool {
	d, there := w.deployments[deployment]
	all, ofVersion := w.of(deployment, version)
	return there && d.seen && d.version == version &&
		d.replicas == replicas && d.actual == replicas && d.ready == replicas && all == replicas && ofVersion == replicas
}

// String tells the state in one line, for errors.
func (w workerState) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.deployments)) {
		d := w.deployments[name]
		parts = append(parts, fmt.Sprintf("%s: %d replicas, %d actual, %d ready", name, d.replicas, d.actual, d.ready))
	}
	return strings.Join(append(parts, "WorkersReady "+conditionText(w.ready)), "; ")
}

// conditionText is a condition in one line: status, reason and message.
func conditionText(c v1alpha1.Condition) string {
	if c.Type == "" {
		return "not there"
	}
	text := c.Status
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// record is all that the workers of one Cluster have been, from a watch: nothing
// that was ever written is missed, or the record has an error.
type record struct {
	admin   client.WithWatch
	cluster string
	tell    func(v1alpha1.Condition) // each other status or reason of WorkersReady; not to block
	stop    func()

	mu         sync.Mutex
	changed    chan struct{} // closed, and replaced, at each change
	now        workerState
	at         map[types.UID]string // the resource version of each object
	conditions []v1alpha1.Condition // that WorkersReady was, without repetitions
	replicas   map[string][]int     // that each machine deployment asked for, without repetitions
	err        error
}

// newRecord begins to watch the Cluster of that name, which need not be there yet.
func newRecord(ctx context.Context, admin client.WithWatch, cluster string, tell func(v1alpha1.Condition)) (*record, error) {
	r := &record{
		admin: admin, cluster: cluster, tell: tell,
		changed:  make(chan struct{}),
		now:      workerState{deployments: map[string]deployment{}, machines: map[types.UID]machine{}},
		at:       map[types.UID]string{},
		replicas: map[string][]int{},
	}
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(eksanywhere.ClusterKind)
	var watches []watch.Interface
	var running sync.WaitGroup
	ending := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		close(ending)
		for _, w := range watches {
			w.Stop()
		}
		running.Wait()
	})
	for _, list := range []client.ObjectList{clusters, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineList{}} {
		w, err := admin.Watch(ctx, list, client.InNamespace(eksanywhere.Namespace))
		if err != nil {
			r.stop()
			return nil, fmt.Errorf("watch the workers of cluster %s: %w", cluster, err)
		}
		watches = append(watches, w)
		running.Go(func() {
			for event := range w.ResultChan() {
				r.take(event)
			}
			select {
			case <-ending:
			default:
				r.fail(errors.New("the API server ended a watch, so that the record has a gap; play the story again"))
			}
		})
	}
	return r, nil
}

// take takes in one event.
func (r *record) take(event watch.Event) {
	if event.Type == watch.Error {
		r.fail(fmt.Errorf("watch the workers of cluster %s: %v", r.cluster, event.Object))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := event.Type == watch.Deleted
	switch o := event.Object.(type) {
	case *clusterv1.MachineDeployment:
		r.takeDeployment(o, gone)
	case *clusterv1.Machine:
		if gone {
			delete(r.now.machines, o.UID)
		} else {
			r.now.machines[o.UID] = machine{deployment: o.Labels[clusterv1.MachineDeploymentNameLabel], version: o.Spec.Version}
		}
	case *unstructured.Unstructured:
		if o.GetName() != r.cluster {
			return
		}
		r.takeCluster(o)
	}
	if o, ok := event.Object.(client.Object); ok {
		r.at[o.GetUID()] = o.GetResourceVersion()
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *record) takeDeployment(md *clusterv1.MachineDeployment, gone bool) {
	if gone {
		delete(r.now.deployments, md.Name)
		return
	}
	d := deployment{
		replicas: number(md.Spec.Replicas),
		actual:   number(md.Status.Replicas),
		ready:    number(md.Status.ReadyReplicas),
		version:  md.Spec.Template.Spec.Version,
		seen:     md.Status.ObservedGeneration == md.Generation,
	}
	_, d.bounded = md.Annotations[clusterv1.AutoscalerMaxSizeAnnotation]
	r.now.deployments[md.Name] = d
	if was := r.replicas[md.Name]; len(was) == 0 || was[len(was)-1] != d.replicas {
		r.replicas[md.Name] = append(was, d.replicas)
	}
}

func (r *record) takeCluster(u *unstructured.Unstructured) {
	var c v1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("read Cluster %s: %w", u.GetName(), err))
		return
	}
	r.now.spec, r.now.ready = c.Spec, v1alpha1.Condition{}
	for _, condition := range c.Status.Conditions {
		if condition.Type == v1alpha1.WorkersReady {
			r.now.ready = condition
		}
	}
	last := v1alpha1.Condition{}
	if n := len(r.conditions); n > 0 {
		last = r.conditions[n-1]
	}
	if r.now.ready.SameState(last) {
		return
	}
	r.conditions = append(r.conditions, r.now.ready)
	if r.now.ready.Status != last.Status || r.now.ready.Reason != last.Reason {
		r.tell(r.now.ready)
	}
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
	close(r.changed)
	r.changed = make(chan struct{})
}

// look returns the workers as they are, when to look again, and what is wrong with
// the record.
func (r *record) look() (workerState, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	now.deployments, now.machines = maps.Clone(now.deployments), maps.Clone(now.machines)
	return now, r.changed, r.err
}

// mark is a place in the record.
type mark struct {
	conditions int
	replicas   map[string]int
}

// here is the place in the record from which on something is looked for; what is so
// at this moment belongs to it.
func (r *record) here() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := mark{conditions: max(0, len(r.conditions)-1), replicas: map[string]int{}}
	for name, values := range r.replicas {
		m.replicas[name] = len(values) - 1
	}
	return m
}

// passage is a part of the record.
type passage struct {
	conditions []v1alpha1.Condition
	replicas   map[string][]int
}

// since is the record from a place on, with everything that has been written by
// now: the watch is waited for.
func (r *record) since(ctx context.Context, m mark) (passage, error) {
	if err := r.catchUp(ctx); err != nil {
		return passage{}, err
	}
	return r.passage(m), nil
}

// passage is the record from a place on, as far as the watch has come.
func (r *record) passage(m mark) passage {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := passage{conditions: slices.Clone(r.conditions[m.conditions:]), replicas: map[string][]int{}}
	for name, values := range r.replicas {
		p.replicas[name] = slices.Clone(values[m.replicas[name]:])
	}
	return p
}

// catchUp returns once the record has all that has been written to the Cluster and
// its machine deployments by now.
func (r *record) catchUp(ctx context.Context) error {
	cluster := eksanywhere.Cluster(eksanywhere.Namespace, r.cluster)
	if err := r.admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return fmt.Errorf("read Cluster %s: %w", r.cluster, err)
	}
	var mds clusterv1.MachineDeploymentList
	if err := r.admin.List(ctx, &mds, client.InNamespace(eksanywhere.Namespace)); err != nil {
		return fmt.Errorf("list the machine deployments of cluster %s: %w", r.cluster, err)
	}
	written := map[types.UID]string{cluster.GetUID(): cluster.GetResourceVersion()}
	for _, md := range mds.Items {
		written[md.UID] = md.ResourceVersion
	}
	for {
		r.mu.Lock()
		behind, err, changed := r.behind(written), r.err, r.changed
		r.mu.Unlock()
		if err != nil || !behind {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until the watch has seen all that was written: %w", context.Cause(ctx))
		}
	}
}

// behind says whether an object's newest state that was seen is older than the one
// that was written. The caller holds the lock.
func (r *record) behind(written map[types.UID]string) bool {
	for uid, version := range written {
		if order, err := resourceversion.CompareResourceVersion(r.at[uid], version); err != nil || order < 0 {
			return true
		}
	}
	return false
}
