package awstest

import (
	"cmp"
	"maps"
	"slices"
)

// InstanceType is what DescribeInstanceTypes tells of a type.
type InstanceType struct {
	Name      string `json:"name"`
	VCPU      int    `json:"vcpu"`
	MemoryMiB int    `json:"memoryMiB"`
	// Architectures are x86_64, and the CPU Intel's, if empty.
	Architectures   []string `json:"architectures,omitempty"`
	CPUManufacturer string   `json:"cpuManufacturer,omitempty"`
	GPUs            []GPU    `json:"gpus,omitempty"`
	Neurons         []Neuron `json:"neurons,omitempty"`
	BareMetal       bool     `json:"bareMetal,omitempty"`
	Burstable       bool     `json:"burstable,omitempty"`
	// Previous is a type of the previous generation.
	Previous bool `json:"previous,omitempty"`
	// Interfaces is how many network interfaces it may have, with Addresses
	// IPv4 addresses each.
	Interfaces int `json:"interfaces,omitempty"`
	Addresses  int `json:"addresses,omitempty"`
	// EFAs is how many Elastic Fabric Adapters it may have.
	EFAs int `json:"efas,omitempty"`
	// DisksGB are its local disks, SSDs.
	DisksGB []int `json:"disksGB,omitempty"`
}

// GPU is a kind of GPU of a type.
type GPU struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int    `json:"count"`
	MemoryMiB    int    `json:"memoryMiB"`
}

// Neuron is a kind of Inferentia or Trainium device of a type.
type Neuron struct {
	Name      string `json:"name"`
	Count     int    `json:"count"`
	Cores     int    `json:"cores"`
	MemoryMiB int    `json:"memoryMiB"`
}

// The built-in types. The figures are of
// https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
// and the pages of its families.
var builtIn = []InstanceType{
	{Name: "c5.large", VCPU: 2, MemoryMiB: 4096, Interfaces: 3, Addresses: 10},
	{Name: "c5.xlarge", VCPU: 4, MemoryMiB: 8192, Interfaces: 4, Addresses: 15},
	{Name: "g4dn.xlarge", VCPU: 4, MemoryMiB: 16384, Interfaces: 3, Addresses: 10, DisksGB: []int{125},
		GPUs: []GPU{{"T4", "NVIDIA", 1, 16384}}},
	{Name: "g4dn.12xlarge", VCPU: 48, MemoryMiB: 196608, Interfaces: 8, Addresses: 30, DisksGB: []int{900},
		GPUs: []GPU{{"T4", "NVIDIA", 4, 16384}}},
	{Name: "i3.large", VCPU: 2, MemoryMiB: 15616, Interfaces: 3, Addresses: 10, DisksGB: []int{475}},
	{Name: "inf2.xlarge", VCPU: 4, MemoryMiB: 16384, CPUManufacturer: "AMD", Interfaces: 4, Addresses: 15,
		Neurons: []Neuron{{"Inferentia2", 1, 2, 32768}}},
	{Name: "m4.large", VCPU: 2, MemoryMiB: 8192, Interfaces: 2, Addresses: 10, Previous: true},
	{Name: "m5.large", VCPU: 2, MemoryMiB: 8192, Interfaces: 3, Addresses: 10},
	{Name: "m5.xlarge", VCPU: 4, MemoryMiB: 16384, Interfaces: 4, Addresses: 15},
	{Name: "m5.2xlarge", VCPU: 8, MemoryMiB: 32768, Interfaces: 4, Addresses: 15},
	{Name: "m5.4xlarge", VCPU: 16, MemoryMiB: 65536, Interfaces: 8, Addresses: 30},
	{Name: "m5.metal", VCPU: 96, MemoryMiB: 393216, Interfaces: 15, Addresses: 50, BareMetal: true},
	{Name: "m6g.large", VCPU: 2, MemoryMiB: 8192, Interfaces: 3, Addresses: 10, Architectures: []string{"arm64"}, CPUManufacturer: "AWS"},
	{Name: "m6g.xlarge", VCPU: 4, MemoryMiB: 16384, Interfaces: 4, Addresses: 15, Architectures: []string{"arm64"}, CPUManufacturer: "AWS"},
	{Name: "p3.2xlarge", VCPU: 8, MemoryMiB: 62464, Interfaces: 4, Addresses: 15,
		GPUs: []GPU{{"V100", "NVIDIA", 1, 16384}}},
	{Name: "r5.large", VCPU: 2, MemoryMiB: 16384, Interfaces: 3, Addresses: 10},
	{Name: "r5.xlarge", VCPU: 4, MemoryMiB: 32768, Interfaces: 4, Addresses: 15},
	{Name: "t3.micro", VCPU: 2, MemoryMiB: 1024, Interfaces: 2, Addresses: 2, Burstable: true},
	{Name: "t3.medium", VCPU: 2, MemoryMiB: 4096, Interfaces: 3, Addresses: 6, Burstable: true},
	{Name: "trn1.2xlarge", VCPU: 8, MemoryMiB: 32768, Interfaces: 4, Addresses: 15, DisksGB: []int{475},
		Neurons: []Neuron{{"Trainium", 1, 2, 32768}}},
}

// catalogue gives the built-in types and the spec's own, by name, sorted.
func catalogue(own []InstanceType) []InstanceType {
	byName := map[string]InstanceType{}
	for _, t := range slices.Concat(builtIn, own) {
		if len(t.Architectures) == 0 {
			t.Architectures = []string{"x86_64"}
		}
		t.CPUManufacturer = cmp.Or(t.CPUManufacturer, "Intel")
		byName[t.Name] = t
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b InstanceType) int { return cmp.Compare(a.Name, b.Name) })
}

// accelerator is a GPU or a Neuron device in the words of requirements.
type accelerator struct {
	kind, manufacturer, name string
	count, memoryMiB         int
}
