package story

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const gib = 1 << 30

// Usage is what a group's nodes have, and what the pods on them ask for. CPU is
// in thousandths of a core, memory in bytes.
type Usage struct {
	Nodes                          int
	AllocatableCPU, RequestedCPU   int64
	AllocatableMem, RequestedMem   int64
	StrandedCPU, StrandedMem, Room int64
}

// WastedCPU is allocatable minus the requests of bound pods.
func (u Usage) WastedCPU() int64 { return u.AllocatableCPU - u.RequestedCPU }

// WastedMem is allocatable minus the requests of bound pods.
func (u Usage) WastedMem() int64 { return u.AllocatableMem - u.RequestedMem }

func (u Usage) plus(v Usage) Usage {
	return Usage{
		Nodes:          u.Nodes + v.Nodes,
		AllocatableCPU: u.AllocatableCPU + v.AllocatableCPU,
		RequestedCPU:   u.RequestedCPU + v.RequestedCPU,
		AllocatableMem: u.AllocatableMem + v.AllocatableMem,
		RequestedMem:   u.RequestedMem + v.RequestedMem,
		StrandedCPU:    u.StrandedCPU + v.StrandedCPU,
		StrandedMem:    u.StrandedMem + v.StrandedMem,
		Room:           u.Room + v.Room,
	}
}

// account sums the nodes by group. A group's own shape of pods is one core with
// memoryPerCore bytes: Room is how many of those still fit, node by node, and
// what is wasted beyond them is stranded.
func account(nodes []corev1.Node, pods []corev1.Pod, memoryPerCore map[string]int64) map[string]Usage {
	type request struct{ cpu, mem int64 }
	requested := map[string]request{}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		sum := requested[pod.Spec.NodeName]
		for _, c := range pod.Spec.Containers {
			sum.cpu += c.Resources.Requests.Cpu().MilliValue()
			sum.mem += c.Resources.Requests.Memory().Value()
		}
		requested[pod.Spec.NodeName] = sum
	}
	usage := map[string]Usage{}
	for i := range nodes {
		node := &nodes[i]
		group := stage.GroupOf(node)
		u := Usage{
			Nodes:          1,
			AllocatableCPU: node.Status.Allocatable.Cpu().MilliValue(),
			AllocatableMem: node.Status.Allocatable.Memory().Value(),
			RequestedCPU:   requested[node.Name].cpu,
			RequestedMem:   requested[node.Name].mem,
		}
		u.StrandedCPU, u.StrandedMem = u.WastedCPU(), u.WastedMem()
		if own := memoryPerCore[group]; own > 0 {
			u.Room = min(u.WastedCPU()/1000, u.WastedMem()/own)
			u.StrandedCPU -= 1000 * u.Room
			u.StrandedMem -= own * u.Room
		}
		usage[group] = usage[group].plus(u)
	}
	return usage
}
