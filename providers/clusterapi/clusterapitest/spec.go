package clusterapitest

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
func NewCluster(namespace, name string) Object {
	return Object{
		"apiVersion": Group + "/v1beta2", "kind": "Cluster",
		"metadata": Object{"namespace": namespace, "name": name},
		"spec":     Object{},
	}
}

// NewGroup is a MachineDeployment, MachineSet or MachinePool of a Cluster, with
// annotations given as key, value, key, value.
func NewGroup(kind, namespace, name, cluster string, replicas int, annotations ...string) Object {
	notes := Object{}
	for i := 0; i+1 < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	o := Object{
		"apiVersion": Group + "/v1beta2", "kind": kind,
		"metadata": Object{
			"namespace": namespace, "name": name, "annotations": notes,
			"labels": Object{Group + "/cluster-name": cluster},
		},
		"spec": Object{
			"clusterName": cluster, "replicas": int64(replicas),
			"selector": Object{"matchLabels": Object{Group + "/cluster-name": cluster, "clusterapitest/group": name}},
			"template": Object{
				"metadata": Object{"labels": Object{Group + "/cluster-name": cluster, "clusterapitest/group": name}},
				"spec": Object{
					"clusterName":       cluster,
					"infrastructureRef": Object{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TestMachineTemplate", "name": name},
				},
			},
		},
	}
	if kind == "MachinePool" { // its Machines have its name, and it has no selector
		delete(o["spec"].(Object), "selector")
	}
	return o
}

// Capacity are the annotations that a template is made of.
func Capacity(cpu, memory string) []string {
	return []string{"capacity.cluster-autoscaler.kubernetes.io/cpu", cpu, "capacity.cluster-autoscaler.kubernetes.io/memory", memory}
}

// Templates is the kind that NewGroup refers to.
func Templates() Resource {
	return Resource{Group: "infrastructure.cluster.x-k8s.io", Versions: []string{"v1beta1"}, Kind: "TestMachineTemplate", Plural: "testmachinetemplates"}
}

// Nodes is the kind of nodes. A world that serves it is its own workload
// cluster.
func Nodes() Resource {
	return Resource{Versions: []string{"v1"}, Kind: "Node", Plural: "nodes"}
}

// NewNode is a ready node, as a kubelet on an equal machine would make it.
func NewNode(name, providerID string, labels, allocatable Object, taints ...any) Object {
	all := Object{"kubernetes.io/hostname": name}
	for key, value := range labels {
		all[key] = value
	}
	return Object{
		"apiVersion": "v1", "kind": "Node", "metadata": Object{"name": name, "labels": all},
		"spec": Object{"providerID": providerID, "taints": taints},
		"status": Object{
			"capacity": allocatable, "allocatable": allocatable,
			"conditions": []any{Object{"type": "Ready", "status": "True"}},
		},
	}
}

// NewTemplate is one of these, with a capacity in its status.
func NewTemplate(namespace, name string, capacity Object) Object {
	return Object{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "TestMachineTemplate",
		"metadata": Object{"namespace": namespace, "name": name},
		"spec":     Object{"template": Object{"spec": Object{}}},
		"status":   Object{"capacity": capacity},
	}
}
