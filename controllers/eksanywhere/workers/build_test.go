package workers_test

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

func count(n int) *int { return &n }

func fixed(name string, n int) v1alpha1.WorkerNodeGroup {
	return v1alpha1.WorkerNodeGroup{Name: name, Count: &n}
}

func scaled(name string, minCount, maxCount int) v1alpha1.WorkerNodeGroup {
	return v1alpha1.WorkerNodeGroup{
		Name: name, AutoscalingConfiguration: &v1alpha1.AutoscalingConfiguration{MinCount: minCount, MaxCount: maxCount},
	}
}

func kwok(g v1alpha1.WorkerNodeGroup, template string) v1alpha1.WorkerNodeGroup {
	g.MachineGroupRef = &v1alpha1.Ref{Kind: "KwokMachineTemplate", Name: template}
	return g
}

// md is a machine deployment of cluster c1, settled at n replicas.
func md(name string, n int, change ...func(*workers.MachineDeployment)) workers.MachineDeployment {
	m := workers.MachineDeployment{
		Name: name, Cluster: "c1", UID: "uid-" + name, ResourceVersion: "7", Generation: 3, ObservedGeneration: 3,
		Wanted: &n, Replicas: n, Ready: n, UpToDate: n, Available: n,
		Object: map[string]any{"spec": map[string]any{"replicas": int64(n)}},
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

func ready(n int) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) { m.Ready, m.Available = n, n }
}

func upToDate(n int) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) { m.UpToDate = n }
}

func wants(n int) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) { m.Wanted = &n }
}

// rolling: machines are being replaced, and n are of the present template.
func rolling(n int) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) { m.UpToDate, m.Rolling = n, true }
}

func notReady(m *workers.MachineDeployment)    { m.NotReady = true }
func unobserved(m *workers.MachineDeployment)  { m.Generation++ }
func onlyScaled(m *workers.MachineDeployment)  { m.OnlyScaled = true }
func deleting(m *workers.MachineDeployment)    { m.Deleting = true }
func ofCluster2(m *workers.MachineDeployment)  { m.Cluster = "c2" }
func withoutWish(m *workers.MachineDeployment) { m.Wanted = nil }

// annotated has the autoscaler's annotations, of an unknown client.
func annotated(minSize, maxSize string) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) {
		m.MinSize, m.MaxSize = &minSize, &maxSize
		annotate(m, minKey, minSize)
		annotate(m, maxKey, maxSize)
	}
}

// applied has the annotations of a range that this controller applied.
func applied(minSize, maxSize string) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) {
		annotated(minSize, maxSize)(m)
		bounds := minSize + ".." + maxSize
		m.AppliedRange = &bounds
		annotate(m, rangeKey, bounds)
	}
}

func annotate(m *workers.MachineDeployment, key, value string) {
	metadata, _ := m.Object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{"annotations": map[string]any{}}
		m.Object["metadata"] = metadata
	}
	metadata["annotations"].(map[string]any)[key] = value
}

const (
	minKey = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxKey = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

	rangeKey = "plimsoll.dev/applied-range"
)

var (
	ownsRange = workers.Fields{"f:metadata": map[string]any{"f:annotations": map[string]any{
		"f:" + minKey: map[string]any{}, "f:" + maxKey: map[string]any{}, "f:" + rangeKey: map[string]any{}}}}
	// ownsRangeNoted is what is left once another manager has applied other values.
	ownsRangeNoted = workers.Fields{
		"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + rangeKey: map[string]any{}}},
	}
	ownsReplicas = workers.Fields{"f:spec": map[string]any{"f:replicas": map[string]any{}}}
)

func owned(f workers.Fields) func(*workers.MachineDeployment) {
	return func(m *workers.MachineDeployment) { m.Applied = f }
}

func cluster(change ...func(*v1alpha1.Cluster)) v1alpha1.Cluster {
	c := v1alpha1.Cluster{
		Status: v1alpha1.ClusterStatus{Conditions: []v1alpha1.Condition{{Type: "ControlPlaneInitialized", Status: "True"}}},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// domainsKey is where split notes the failure domains of a group for bind.
const domainsKey = "failure domains"

// split is a group that the datacenter splits over failure domains.
func split(g v1alpha1.WorkerNodeGroup, domains ...string) v1alpha1.WorkerNodeGroup {
	g.Labels = map[string]string{domainsKey: strings.Join(domains, ",")}
	return g
}

// bind binds the groups of cluster c1, with the datacenter that split tells of: its
// failure domains stand in the order in which the groups name them first.
func bind(list []v1alpha1.WorkerNodeGroup, found []workers.MachineDeployment) workers.Workers {
	var n v1alpha1.Nutanix
	plain := slices.Clone(list)
	for i := range plain {
		said, ok := plain[i].Labels[domainsKey]
		if !ok {
			continue
		}
		plain[i].Labels = nil
		for _, name := range strings.Split(said, ",") {
			at := slices.IndexFunc(n.Spec.FailureDomains, func(d v1alpha1.FailureDomain) bool { return d.Name == name })
			if at < 0 {
				at = len(n.Spec.FailureDomains)
				n.Spec.FailureDomains = append(n.Spec.FailureDomains, v1alpha1.FailureDomain{Name: name})
			}
			d := &n.Spec.FailureDomains[at]
			d.WorkerMachineGroups = append(d.WorkerMachineGroups, plain[i].Name)
		}
	}
	return workers.Bind("c1", plain, n, found)
}

// simulated: its machines are simulated nodes.
func simulated(m *workers.MachineDeployment) {
	m.Object["spec"].(map[string]any)["template"] = map[string]any{
		"spec": map[string]any{"infrastructureRef": map[string]any{"kind": "KwokMachineTemplate"}},
	}
}

func groups(g ...v1alpha1.WorkerNodeGroup) []v1alpha1.WorkerNodeGroup { return g }

func mds(m ...workers.MachineDeployment) []workers.MachineDeployment { return m }
