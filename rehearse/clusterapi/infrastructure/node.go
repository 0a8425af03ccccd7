package infrastructure

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

const (
	// kwok cares for the nodes that bear this annotation.
	fakeNodeAnnotation = "kwok.x-k8s.io/node"
	fakeNodeValue      = "fake"

	defaultArchitecture    = "amd64"
	defaultOperatingSystem = "linux"
)

// nodeName is the name that the machine's node registers with. As with most clouds
// it is not the machine's own: machines of several namespaces may share a name, and
// a rehearsal has one API server for all of their nodes.
func nodeName(machine *kwokapi.KwokMachine) string {
	return machine.Name + "." + machine.Namespace
}

// providerID names the machine among all machines. Its last part is not unique.
func providerID(machine *kwokapi.KwokMachine) string {
	return "kwok://" + machine.Namespace + "/" + machine.Name
}

// newNode is the machine's node, as its kubelet would register it. It bears the
// taint with which Cluster API's bootstrap providers let nodes join: Cluster API
// removes it once it has synced the machine's labels. The version is its kubelet's;
// where the Machine names none, kwok fills in its own. Cluster API takes a Machine
// for outdated as long as its node reports another one.
func newNode(machine *kwokapi.KwokMachine, version string) *corev1.Node {
	spec := machine.Spec.Node
	name := nodeName(machine)
	architecture, operatingSystem := platform(spec)
	labels := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelArchStable: architecture,
		corev1.LabelOSStable:   operatingSystem,
	}
	maps.Copy(labels, spec.Labels)
	allocatable := spec.Allocatable
	if allocatable == nil {
		allocatable = spec.Capacity
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      labels,
			Annotations: map[string]string{fakeNodeAnnotation: fakeNodeValue},
		},
		Spec: corev1.NodeSpec{
			ProviderID: providerID(machine),
			Taints:     append(slices.Clone(spec.Taints), clusterv1.NodeUninitializedTaint),
		},
		Status: corev1.NodeStatus{
			Capacity:    spec.Capacity,
			Allocatable: allocatable,
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: architecture, OperatingSystem: operatingSystem, KubeletVersion: version,
			},
		},
	}
}

func platform(spec kwokapi.NodeSpec) (architecture, operatingSystem string) {
	return cmp.Or(spec.Architecture, defaultArchitecture), cmp.Or(spec.OperatingSystem, defaultOperatingSystem)
}

// untilStarted is how much of the machine's start-up delay is left.
func untilStarted(machine *kwokapi.KwokMachine, now time.Time) time.Duration {
	if machine.Spec.StartupDelay == nil {
		return 0
	}
	return max(0, machine.CreationTimestamp.Add(machine.Spec.StartupDelay.Duration).Sub(now))
}
