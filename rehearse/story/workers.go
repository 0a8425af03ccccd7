package story

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

// workerRecord is all that the workers of one Cluster have been.
type workerRecord struct {
	*record
	cluster string
	tell    func(v1alpha1.Condition) // each other status or reason of WorkersReady; not to block

	workers    workerState
	conditions []v1alpha1.Condition // that WorkersReady was, without repetitions
	replicas   map[string][]int     // that each machine deployment asked for, without repetitions
}

// newWorkerRecord is of the Cluster of that name, which need not be there yet.
func newWorkerRecord(cluster string, tell func(v1alpha1.Condition)) *workerRecord {
	r := &workerRecord{
		record:  newRecord("the workers of cluster "+cluster, nil, eksanywhere.Namespace),
		cluster: cluster, tell: tell,
		workers:  workerState{deployments: map[string]deployment{}, machines: map[types.UID]machine{}},
		replicas: map[string][]int{},
	}
	r.keep, r.state = r.takeObject, func() string { return r.now().String() }
	return r
}

// workerLists are what is watched.
func workerLists() []client.ObjectList {
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(eksanywhere.ClusterKind)
	return []client.ObjectList{clusters, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineList{}}
}

func (r *workerRecord) takeObject(o client.Object, gone bool) error {
	switch o := o.(type) {
	case *clusterv1.MachineDeployment:
		r.takeDeployment(o, gone)
	case *clusterv1.Machine:
		if gone {
			delete(r.workers.machines, o.UID)
		} else {
			r.workers.machines[o.UID] = machine{
				deployment: o.Labels[clusterv1.MachineDeploymentNameLabel], version: o.Spec.Version,
			}
		}
	case *unstructured.Unstructured:
		if o.GetName() == r.cluster {
			return r.takeCluster(o)
		}
	}
	return nil
}

func (r *workerRecord) takeDeployment(md *clusterv1.MachineDeployment, gone bool) {
	if gone {
		delete(r.workers.deployments, md.Name)
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
	r.workers.deployments[md.Name] = d
	if was := r.replicas[md.Name]; len(was) == 0 || was[len(was)-1] != d.replicas {
		r.replicas[md.Name] = append(was, d.replicas)
	}
}

func (r *workerRecord) takeCluster(u *unstructured.Unstructured) error {
	var c v1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
		return fmt.Errorf("read Cluster %s: %w", u.GetName(), err)
	}
	r.workers.spec, r.workers.ready = c.Spec, v1alpha1.Condition{}
	for _, condition := range c.Status.Conditions {
		if condition.Type == v1alpha1.WorkersReady {
			r.workers.ready = condition
		}
	}
	last := v1alpha1.Condition{}
	if n := len(r.conditions); n > 0 {
		last = r.conditions[n-1]
	}
	if r.workers.ready.SameState(last) {
		return nil
	}
	r.conditions = append(r.conditions, r.workers.ready)
	if r.workers.ready.Status != last.Status || r.workers.ready.Reason != last.Reason {
		r.tell(r.workers.ready)
	}
	return nil
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// now are the workers as they are.
func (r *workerRecord) now() workerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.workers
	now.deployments, now.machines = maps.Clone(now.deployments), maps.Clone(now.machines)
	return now
}

// mark is a place in the record.
type mark struct {
	conditions int
	replicas   map[string]int
}

// here is the place in the record from which on something is looked for; what is so
// at this moment belongs to it.
func (r *workerRecord) here() mark {
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
func (r *workerRecord) since(ctx context.Context, m mark) (passage, error) {
	if err := r.catchUp(ctx, workerLists()[:2]...); err != nil {
		return passage{}, err
	}
	return r.passage(m), nil
}

// passage is the record from a place on, as far as the watch has come.
func (r *workerRecord) passage(m mark) passage {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := passage{conditions: slices.Clone(r.conditions[m.conditions:]), replicas: map[string][]int{}}
	for name, values := range r.replicas {
		p.replicas[name] = slices.Clone(values[m.replicas[name]:])
	}
	return p
}
