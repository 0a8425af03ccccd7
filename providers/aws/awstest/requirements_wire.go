package awstest

import (
	"strconv"
	"strings"
)

// This file is how requirements look on the wire: Auto Scaling and EC2 have two
// dialects of XML for the same thing, and EC2 a third form in its requests.

type asgRequirements struct {
	VCpuCount                 asgRange
	MemoryMiB                 asgRange
	MemoryGiBPerVCpu          *asgRange `xml:",omitempty"`
	AcceleratorCount          *asgRange `xml:",omitempty"`
	AcceleratorTotalMemoryMiB *asgRange `xml:",omitempty"`
	TotalLocalStorageGB       *asgRange `xml:",omitempty"`
	NetworkInterfaceCount     *asgRange `xml:",omitempty"`
	AcceleratorManufacturers  []string  `xml:"AcceleratorManufacturers>member"`
	AcceleratorNames          []string  `xml:"AcceleratorNames>member"`
	AcceleratorTypes          []string  `xml:"AcceleratorTypes>member"`
	CPUManufacturers          []string  `xml:"CpuManufacturers>member"`
	InstanceGenerations       []string  `xml:"InstanceGenerations>member"`
	AllowedInstanceTypes      []string  `xml:"AllowedInstanceTypes>member"`
	ExcludedInstanceTypes     []string  `xml:"ExcludedInstanceTypes>member"`
	BareMetal                 string    `xml:",omitempty"`
	BurstablePerformance      string    `xml:",omitempty"`
	LocalStorage              string    `xml:",omitempty"`
}

type ec2Requirements struct {
	VCPUCount                 ec2Range  `xml:"vCpuCount"`
	MemoryMiB                 ec2Range  `xml:"memoryMiB"`
	MemoryGiBPerVCPU          *ec2Range `xml:"memoryGiBPerVCpu,omitempty"`
	AcceleratorCount          *ec2Range `xml:"acceleratorCount,omitempty"`
	AcceleratorTotalMemoryMiB *ec2Range `xml:"acceleratorTotalMemoryMiB,omitempty"`
	TotalLocalStorageGB       *ec2Range `xml:"totalLocalStorageGB,omitempty"`
	NetworkInterfaceCount     *ec2Range `xml:"networkInterfaceCount,omitempty"`
	AcceleratorManufacturers  []string  `xml:"acceleratorManufacturerSet>item"`
	AcceleratorNames          []string  `xml:"acceleratorNameSet>item"`
	AcceleratorTypes          []string  `xml:"acceleratorTypeSet>item"`
	CPUManufacturers          []string  `xml:"cpuManufacturerSet>item"`
	InstanceGenerations       []string  `xml:"instanceGenerationSet>item"`
	AllowedInstanceTypes      []string  `xml:"allowedInstanceTypeSet>item"`
	ExcludedInstanceTypes     []string  `xml:"excludedInstanceTypeSet>item"`
	BareMetal                 string    `xml:"bareMetal,omitempty"`
	BurstablePerformance      string    `xml:"burstablePerformance,omitempty"`
	LocalStorage              string    `xml:"localStorage,omitempty"`
}

type asgRange struct {
	Min string `xml:"Min"`
	Max string `xml:"Max,omitempty"`
}

type ec2Range struct {
	Min string `xml:"min"`
	Max string `xml:"max,omitempty"`
}

// text gives the bounds as AWS writes them; no maximum is an empty one.
func (r *Range) text() (low, high string) {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	if r.Max != nil {
		high = number(*r.Max)
	}
	return number(r.Min), high
}

func (r *Range) asg() *asgRange {
	if r == nil {
		return nil
	}
	low, high := r.text()
	return &asgRange{low, high}
}

func (r *Range) ec2() *ec2Range {
	if r == nil {
		return nil
	}
	low, high := r.text()
	return &ec2Range{low, high}
}

func (r *Requirements) asg() *asgRequirements {
	if r == nil {
		return nil
	}
	return &asgRequirements{
		VCpuCount: *r.VCPU.asg(), MemoryMiB: *r.MemoryMiB.asg(), MemoryGiBPerVCpu: r.MemoryGiBPerVCPU.asg(),
		AcceleratorCount: r.AcceleratorCount.asg(), AcceleratorTotalMemoryMiB: r.AcceleratorTotalMemoryMiB.asg(),
		TotalLocalStorageGB: r.TotalLocalStorageGB.asg(), NetworkInterfaceCount: r.NetworkInterfaces.asg(),
		AcceleratorManufacturers: r.AcceleratorManufacturers, AcceleratorNames: r.AcceleratorNames,
		AcceleratorTypes: r.AcceleratorTypes,
		CPUManufacturers: r.CPUManufacturers, InstanceGenerations: r.Generations,
		AllowedInstanceTypes: r.AllowedTypes, ExcludedInstanceTypes: r.ExcludedTypes,
		BareMetal: r.BareMetal, BurstablePerformance: r.Burstable, LocalStorage: r.LocalStorage,
	}
}

func (r *Requirements) ec2() *ec2Requirements {
	if r == nil {
		return nil
	}
	return &ec2Requirements{
		VCPUCount: *r.VCPU.ec2(), MemoryMiB: *r.MemoryMiB.ec2(), MemoryGiBPerVCPU: r.MemoryGiBPerVCPU.ec2(),
		AcceleratorCount: r.AcceleratorCount.ec2(), AcceleratorTotalMemoryMiB: r.AcceleratorTotalMemoryMiB.ec2(),
		TotalLocalStorageGB: r.TotalLocalStorageGB.ec2(), NetworkInterfaceCount: r.NetworkInterfaces.ec2(),
		AcceleratorManufacturers: r.AcceleratorManufacturers, AcceleratorNames: r.AcceleratorNames,
		AcceleratorTypes: r.AcceleratorTypes,
		CPUManufacturers: r.CPUManufacturers, InstanceGenerations: r.Generations,
		AllowedInstanceTypes: r.AllowedTypes, ExcludedInstanceTypes: r.ExcludedTypes,
		BareMetal: r.BareMetal, BurstablePerformance: r.Burstable, LocalStorage: r.LocalStorage,
	}
}

// requirements reads those of a request. One that is not simulated is refused:
// to leave it out would answer another question.
func (q *query) requirements() (*Requirements, *refusal) {
	r := &Requirements{}
	lists := map[string]*[]string{
		"AcceleratorManufacturer": &r.AcceleratorManufacturers, "AcceleratorName": &r.AcceleratorNames,
		"AcceleratorType": &r.AcceleratorTypes,
		"CpuManufacturer": &r.CPUManufacturers, "InstanceGeneration": &r.Generations,
		"AllowedInstanceType": &r.AllowedTypes, "ExcludedInstanceType": &r.ExcludedTypes,
	}
	choices := map[string]*string{
		"BareMetal": &r.BareMetal, "BurstablePerformance": &r.Burstable, "LocalStorage": &r.LocalStorage,
	}
	optional := map[string]**Range{
		"MemoryGiBPerVCpu": &r.MemoryGiBPerVCPU, "AcceleratorCount": &r.AcceleratorCount,
		"AcceleratorTotalMemoryMiB": &r.AcceleratorTotalMemoryMiB,
		"TotalLocalStorageGB":       &r.TotalLocalStorageGB, "NetworkInterfaceCount": &r.NetworkInterfaces,
	}
	vcpu, memory := &r.VCPU, &r.MemoryMiB
	optional["VCpuCount"], optional["MemoryMiB"] = &vcpu, &memory

	const prefix = "InstanceRequirements."
	for _, key := range sortedKeys(q.params) {
		rest, ours := strings.CutPrefix(key, prefix)
		if !ours {
			continue
		}
		name, bound, _ := strings.Cut(rest, ".")
		switch {
		case lists[name] != nil:
			*lists[name] = q.list(prefix + name)
		case choices[name] != nil:
			*choices[name] = q.params.Get(key)
		case optional[name] != nil && (bound == "Min" || bound == "Max"):
			value, err := strconv.ParseFloat(q.params.Get(key), 64)
			if err != nil {
				return nil, badValue("awstest: %s is %q, which is no number", key, q.params.Get(key))
			}
			if *optional[name] == nil {
				*optional[name] = &Range{}
			}
			if bound == "Min" {
				(*optional[name]).Min = value
			} else {
				(*optional[name]).Max = &value
			}
		default:
			return nil, notSimulated("parameter %s of %s", key, q.action)
		}
	}
	return r, nil
}
