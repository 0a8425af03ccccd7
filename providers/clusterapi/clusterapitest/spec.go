package clusterapitest

import "github.com/plimsoll-dev/plimsoll/providers/kubetest"

// Annotations that a group usually has, and the finalizer that holds a Machine.
const (
	MinSize       = Group + "/cluster-api-autoscaler-node-group-min-size"
	MaxSize       = Group + "/cluster-api-autoscaler-node-group-max-size"
	DeleteMachine = Group + "/delete-machine"
	Paused        = Group + "/paused"
	revision      = "machinedeployment.clusters.x-k8s.io/revision"
	finalizer     = "machine.cluster.x-k8s.io"
)

// NewCluster is a Cluster.
func NewCluster(namespace, name string) kubetest.Object {
	return kubetest.Object{
		"apiVersion": Group + "/v1beta2", "kind": "Cluster",
		"metadata": kubetest.Object{"namespace": namespace, "name": name},
		"spec":     kubetest.Object{},
	}
}

// NewGroup is a MachineDeployment, MachineSet or MachinePool of a Cluster, with
// annotations given as key, value, key, value.
func NewGroup(kind, namespace, name, cluster string, replicas int, annotations ...string) kubetest.Object {
	notes := kubetest.Object{}
	for i := 0; i+1 < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	o := kubetest.Object{
		"apiVersion": Group + "/v1beta2", "kind": kind,
		"metadata": kubetest.Object{
			"namespace": namespace, "name": name, "annotations": notes,
			"labels": kubetest.Object{Group + "/cluster-name": cluster},
		},
		"spec": kubetest.Object{
			"clusterName": cluster, "replicas": int64(replicas),
			"selector": kubetest.Object{
				"matchLabels": kubetest.Object{Group + "/cluster-name": cluster, "clusterapitest/group": name},
			},
			"template": kubetest.Object{
				"metadata": kubetest.Object{
					"labels": kubetest.Object{Group + "/cluster-name": cluster, "clusterapitest/group": name},
				},
				"spec": kubetest.Object{
					"clusterName": cluster,
					"infrastructureRef": kubetest.Object{
						"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TestMachineTemplate", "name": name,
					},
				},
			},
		},
	}
	if kind == "MachinePool" { // its Machines have its name, and it has no selector
		delete(o["spec"].(kubetest.Object), "selector")
	}
	return o
}

// Capacity are the annotations that a template is made of.
func Capacity(cpu, memory string) []string {
	return []string{
		"capacity.cluster-autoscaler.kubernetes.io/cpu", cpu, "capacity.cluster-autoscaler.kubernetes.io/memory", memory,
	}
}

// Templates is the kind that NewGroup refers to.
func Templates() kubetest.Resource {
	return kubetest.Resource{Group: "infrastructure.cluster.x-k8s.io", Versions: []string{"v1beta1"},
		Kind: "TestMachineTemplate", Plural: "testmachinetemplates"}
}

// Nodes is the kind of nodes. A world that serves it is its own workload
// cluster.
func Nodes() kubetest.Resource {
	return kubetest.Resource{Versions: []string{"v1"}, Kind: "Node", Plural: "nodes"}
}

// NewNode is a ready node, as a kubelet on an equal machine would make it.
func NewNode(name, providerID string, labels, allocatable kubetest.Object, taints ...any) kubetest.Object {
	all := kubetest.Object{"kubernetes.io/hostname": name}
	for key, value := range labels {
		all[key] = value
	}
	return kubetest.Object{
		"apiVersion": "v1", "kind": "Node", "metadata": kubetest.Object{"name": name, "labels": all},
		"spec": kubetest.Object{"providerID": providerID, "taints": taints},
		"status": kubetest.Object{
			"capacity": allocatable, "allocatable": allocatable,
			"conditions": []any{kubetest.Object{"type": "Ready", "status": "True"}},
		},
	}
}

// NewTemplate is one of these, with a capacity in its status.
func NewTemplate(namespace, name string, capacity kubetest.Object) kubetest.Object {
	return kubetest.Object{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "TestMachineTemplate",
		"metadata": kubetest.Object{"namespace": namespace, "name": name},
		"spec":     kubetest.Object{"template": kubetest.Object{"spec": kubetest.Object{}}},
		"status":   kubetest.Object{"capacity": capacity},
	}
}
