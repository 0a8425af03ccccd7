package awstest

import "slices"

// This file is DescribeInstanceTypes and GetInstanceTypesFromInstanceRequirements:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetInstanceTypesFromInstanceRequirements.html

type describeTypesResult struct {
	Types     []xmlType `xml:"instanceTypeSet>item"`
	NextToken string    `xml:"nextToken,omitempty"`
}

type xmlType struct {
	InstanceType         string        `xml:"instanceType"`
	CurrentGeneration    bool          `xml:"currentGeneration"`
	BareMetal            bool          `xml:"bareMetal"`
	Burstable            bool          `xml:"burstablePerformanceSupported"`
	UsageClasses         []string      `xml:"supportedUsageClasses>item"`
	VirtualizationTypes  []string      `xml:"supportedVirtualizationTypes>item"`
	Architectures        []string      `xml:"processorInfo>supportedArchitectures>item"`
	CPUManufacturer      string        `xml:"processorInfo>manufacturer"`
	DefaultVCPUs         int           `xml:"vCpuInfo>defaultVCpus"`
	MemoryMiB            int           `xml:"memoryInfo>sizeInMiB"`
	StorageSupported     bool          `xml:"instanceStorageSupported"`
	Storage              *xmlStorage   `xml:"instanceStorageInfo,omitempty"`
	MaximumInterfaces    int           `xml:"networkInfo>maximumNetworkInterfaces"`
	AddressesOfInterface int           `xml:"networkInfo>ipv4AddressesPerInterface"`
	EFASupported         bool          `xml:"networkInfo>efaSupported"`
	EFA                  *xmlEFA       `xml:"networkInfo>efaInfo,omitempty"`
	GPU                  *xmlGPUs      `xml:"gpuInfo,omitempty"`
	Neuron               *xmlNeurons   `xml:"neuronInfo,omitempty"`
	Inference            *xmlInference `xml:"inferenceAcceleratorInfo,omitempty"`
}

type xmlStorage struct {
	TotalSizeInGB int       `xml:"totalSizeInGB"`
	Disks         []xmlDisk `xml:"disks>item"`
}

type xmlDisk struct {
	SizeInGB int    `xml:"sizeInGB"`
	Count    int    `xml:"count"`
	Type     string `xml:"type"`
}

type xmlEFA struct {
	Maximum int `xml:"maximumEfaInterfaces"`
}

type xmlGPUs struct {
	GPUs     []xmlGPU `xml:"gpus>item"`
	TotalMiB int      `xml:"totalGpuMemoryInMiB"`
}

type xmlGPU struct {
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer"`
	Count        int    `xml:"count"`
	MemoryMiB    int    `xml:"memoryInfo>sizeInMiB"`
}

type xmlNeurons struct {
	Devices  []xmlNeuron `xml:"neuronDevices>item"`
	TotalMiB int         `xml:"totalNeuronDeviceMemoryInMiB"`
}

type xmlNeuron struct {
	Name      string `xml:"name"`
	Count     int    `xml:"count"`
	Cores     int    `xml:"coreInfo>count"`
	MemoryMiB int    `xml:"memoryInfo>sizeInMiB"`
}

type xmlInference struct {
	Accelerators []xmlGPU `xml:"accelerators>member"`
	TotalMiB     int      `xml:"totalInferenceMemoryInMiB"`
}

func (c *Cloud) describeTypes(q *query) (any, *refusal) {
	if refused := q.only("InstanceType", "MaxResults", "NextToken"); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(5, 100)
	if refused != nil {
		return nil, refused
	}
	names := q.list("InstanceType")
	if len(names) > 100 {
		return nil, badValue("awstest: %d instance types are asked for, and 100 are allowed", len(names))
	}
	absent := slices.Clone(names)
	var found []xmlType
	for _, t := range c.types {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		absent = slices.DeleteFunc(absent, func(name string) bool { return name == t.Name })
		found = append(found, t.xml())
	}
	if len(absent) > 0 {
		return nil, noSuchTypes(absent)
	}
	found, next, ok := page(q, found, func(t xmlType) string { return t.InstanceType }, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return describeTypesResult{found, next}, nil
}

func (t InstanceType) xml() xmlType {
	x := xmlType{
		InstanceType: t.Name, CurrentGeneration: !t.Previous, BareMetal: t.BareMetal, Burstable: t.Burstable,
		UsageClasses: []string{"on-demand", "spot"}, VirtualizationTypes: []string{"hvm"},
		Architectures: t.Architectures, CPUManufacturer: t.CPUManufacturer, DefaultVCPUs: t.VCPU, MemoryMiB: t.MemoryMiB,
		StorageSupported: len(t.DisksGB) > 0, MaximumInterfaces: t.Interfaces, AddressesOfInterface: t.Addresses,
		EFASupported: t.EFAs > 0,
	}
	if t.EFAs > 0 {
		x.EFA = &xmlEFA{t.EFAs}
	}
	if len(t.DisksGB) > 0 {
		x.Storage = &xmlStorage{}
		for _, gb := range t.DisksGB {
			x.Storage.TotalSizeInGB += gb
			x.Storage.Disks = append(x.Storage.Disks, xmlDisk{gb, 1, "ssd"})
		}
	}
	if len(t.GPUs) > 0 {
		x.GPU = &xmlGPUs{}
		for _, g := range t.GPUs {
			x.GPU.GPUs = append(x.GPU.GPUs, xmlGPU(g))
			x.GPU.TotalMiB += g.Count * g.MemoryMiB
		}
	}
	if len(t.Neurons) > 0 {
		x.Neuron, x.Inference = &xmlNeurons{}, &xmlInference{}
		for _, n := range t.Neurons {
			x.Neuron.Devices = append(x.Neuron.Devices, xmlNeuron(n))
			x.Neuron.TotalMiB += n.Count * n.MemoryMiB
			x.Inference.Accelerators = append(x.Inference.Accelerators, xmlGPU{n.Name, "AWS", n.Count, n.MemoryMiB})
			x.Inference.TotalMiB += n.Count * n.MemoryMiB
		}
	}
	return x
}

type fromRequirementsResult struct {
	Types     []xmlTypeName `xml:"instanceTypeSet>item"`
	NextToken string        `xml:"nextToken,omitempty"`
}

type xmlTypeName struct {
	InstanceType string `xml:"instanceType"`
}

func (c *Cloud) typesFromRequirements(q *query) (any, *refusal) {
	if refused := q.only(
		"ArchitectureType", "VirtualizationType", "InstanceRequirements", "MaxResults", "NextToken",
	); refused != nil {
		return nil, refused
	}
	size, refused := q.ec2Size(1, 1000)
	if refused != nil {
		return nil, refused
	}
	requirements, refused := q.requirements()
	if refused != nil {
		return nil, refused
	}
	architectures, virtualizations := q.list("ArchitectureType"), q.list("VirtualizationType")
	if len(architectures) == 0 || len(virtualizations) == 0 {
		return nil, &refusal{400, "MissingParameter", "awstest: the architecture or the virtualization type is missing"}
	}
	var found []xmlTypeName
	if slices.Contains(virtualizations, "hvm") { // what every type here is
		for _, name := range requirements.matching(c.types, architectures) {
			found = append(found, xmlTypeName{name})
		}
	}
	found, next, ok := page(q, found, func(t xmlTypeName) string { return t.InstanceType }, size)
	if !ok {
		return nil, badPaginationToken()
	}
	return fromRequirementsResult{found, next}, nil
}
