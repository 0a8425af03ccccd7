package aws

import (
	"fmt"
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// machine is what is known of an instance type, as the lists of EC2 have it.
type machine struct {
	Type      string `json:"type"`
	Arch      string `json:"arch"` // as Kubernetes writes it
	CPU       int64  `json:"cpu"`
	MemoryMiB int64  `json:"memoryMiB"`
	// ENIPods is how many pods its network interfaces have addresses for, 0 if
	// that is not known.
	ENIPods     int64 `json:"eniPods,omitempty"`
	NVIDIA      int64 `json:"nvidia,omitempty"`
	AMD         int64 `json:"amd,omitempty"`
	Neuron      int64 `json:"neuron,omitempty"`
	NeuronCores int64 `json:"neuronCores,omitempty"`
	// From names the sources, in the built-in list.
	From string `json:"from,omitempty"`
	// source is where the facts are from, for a person; archSource is where the
	// architecture is from, if from elsewhere.
	source, archSource string
}

// machineOf is an instance type as the API describes it.
func machineOf(info ec2types.InstanceTypeInfo) machine {
	m := machine{Type: string(info.InstanceType), Arch: archOf(info.ProcessorInfo)}
	m.source = "instance type " + m.Type
	if info.VCpuInfo != nil {
		m.CPU = int64(deref(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		m.MemoryMiB = deref(info.MemoryInfo.SizeInMiB)
	}
	if info.GpuInfo != nil {
		for _, gpu := range info.GpuInfo.Gpus {
			switch strings.ToUpper(deref(gpu.Manufacturer)) {
			case "NVIDIA":
				m.NVIDIA += int64(deref(gpu.Count))
			case "AMD":
				m.AMD += int64(deref(gpu.Count))
			}
		}
	}
	if info.NeuronInfo != nil {
		for _, device := range info.NeuronInfo.NeuronDevices {
			n := int64(deref(device.Count))
			m.Neuron += n
			if device.CoreInfo != nil {
				m.NeuronCores += n * int64(deref(device.CoreInfo.Count))
			}
		}
	}
	if n := info.NetworkInfo; n != nil {
		m.ENIPods = eniPods(defaultCard(n), int64(deref(n.Ipv4AddressesPerInterface)))
	}
	return m
}

// eniPods is EKS' own formula: each interface keeps one address for itself, and
// two pods of each node use the host's network.
// https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/runtime/eni-max-pods.txt
func eniPods(interfaces, addresses int64) int64 {
	if interfaces <= 0 || addresses <= 0 {
		return 0
	}
	return interfaces*(addresses-1) + 2
}

// defaultCard counts the interfaces of the card that pods' addresses come from:
// of machines with several cards, not all.
func defaultCard(n *ec2types.NetworkInfo) int64 {
	for _, card := range n.NetworkCards {
		if card.NetworkCardIndex != nil && *card.NetworkCardIndex == deref(n.DefaultNetworkCardIndex) {
			return int64(deref(card.MaximumNetworkInterfaces))
		}
	}
	return int64(deref(n.MaximumNetworkInterfaces))
}

// archOf is the architecture that a node of this type reports.
func archOf(p *ec2types.ProcessorInfo) string {
	if p != nil && slices.ContainsFunc(p.SupportedArchitectures, func(a ec2types.ArchitectureType) bool {
		return a == ec2types.ArchitectureTypeArm64 || a == ec2types.ArchitectureTypeArm64Mac
	}) {
		return archARM
	}
	return archAMD
}

const (
	archARM = "arm64"
	archAMD = "amd64"
)

// deref is what a pointer of the SDK points at, and nothing if it is nil.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// smallest is what every machine of a list has at least: the node that a group
// of several types adds is one of them, and AWS chooses which. Its type is
// empty if they are several.
func smallest(list []machine) machine {
	out := list[0]
	for _, m := range list[1:] {
		out.CPU = min(out.CPU, m.CPU)
		out.MemoryMiB = min(out.MemoryMiB, m.MemoryMiB)
		out.ENIPods = min(out.ENIPods, m.ENIPods)
		out.NVIDIA = min(out.NVIDIA, m.NVIDIA)
		out.AMD = min(out.AMD, m.AMD)
		out.Neuron = min(out.Neuron, m.Neuron)
		out.NeuronCores = min(out.NeuronCores, m.NeuronCores)
		if m.Type != out.Type {
			out.Type = ""
		}
		if m.Arch != out.Arch {
			out.Arch = ""
		}
	}
	if len(list) > 1 {
		out.source, out.archSource = fmt.Sprintf("the least of %d instance types", len(list)), ""
	}
	if len(list) > 1 && slices.ContainsFunc(list, func(m machine) bool { return m.source == sourceRequirements }) {
		out.source += " and of the instance requirements"
	}
	return out
}
