package awstest

import (
	"cmp"
	"slices"
	"strings"
)

// Requirements are attributes by which AWS chooses instance types, with the
// meanings and defaults of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html
// The prices and the bandwidths are not simulated.
type Requirements struct {
	VCPU             Range  `json:"vcpu"`
	MemoryMiB        Range  `json:"memoryMiB"`
	MemoryGiBPerVCPU *Range `json:"memoryGiBPerVCPU,omitempty"`

	AcceleratorCount          *Range   `json:"acceleratorCount,omitempty"`
	AcceleratorTotalMemoryMiB *Range   `json:"acceleratorTotalMemoryMiB,omitempty"`
	AcceleratorManufacturers  []string `json:"acceleratorManufacturers,omitempty"`
	AcceleratorNames          []string `json:"acceleratorNames,omitempty"`
	AcceleratorTypes          []string `json:"acceleratorTypes,omitempty"`

	CPUManufacturers []string `json:"cpuManufacturers,omitempty"`
	Generations      []string `json:"generations,omitempty"`
	AllowedTypes     []string `json:"allowedTypes,omitempty"`
	ExcludedTypes    []string `json:"excludedTypes,omitempty"`
	// Each of these is included, required or excluded.
	BareMetal    string `json:"bareMetal,omitempty"`
	Burstable    string `json:"burstable,omitempty"`
	LocalStorage string `json:"localStorage,omitempty"`

	TotalLocalStorageGB *Range `json:"totalLocalStorageGB,omitempty"`
	NetworkInterfaces   *Range `json:"networkInterfaces,omitempty"`
}

// Range has a minimum and may have a maximum.
type Range struct {
	Min float64  `json:"min"`
	Max *float64 `json:"max,omitempty"`
}

func (r *Range) holds(value float64) bool {
	return r == nil || value >= r.Min && (r.Max == nil || value <= *r.Max)
}

// matching are the names of the types that meet the requirements, sorted. An
// empty list of architectures is any.
func (r *Requirements) matching(types []InstanceType, architectures []string) []string {
	var names []string
	for _, t := range types {
		if r.meets(t) && (len(architectures) == 0 || overlap(architectures, t.Architectures)) {
			names = append(names, t.Name)
		}
	}
	return names
}

func (r *Requirements) meets(t InstanceType) bool {
	disks := 0
	for _, gb := range t.DisksGB {
		disks += gb
	}
	generation := "current"
	if t.Previous {
		generation = "previous"
	}
	return r.VCPU.holds(float64(t.VCPU)) &&
		r.MemoryMiB.holds(float64(t.MemoryMiB)) &&
		r.MemoryGiBPerVCPU.holds(float64(t.MemoryMiB)/1024/float64(max(t.VCPU, 1))) &&
		r.NetworkInterfaces.holds(float64(t.Interfaces)) &&
		r.TotalLocalStorageGB.holds(float64(disks)) &&
		named(r.BareMetal, "excluded", t.BareMetal) &&
		named(r.Burstable, "excluded", t.Burstable) &&
		named(r.LocalStorage, "included", disks > 0) &&
		among(r.Generations, generation) &&
		among(r.CPUManufacturers, wireManufacturer(t.CPUManufacturer)) &&
		(len(r.AllowedTypes) == 0 || slices.ContainsFunc(r.AllowedTypes, func(p string) bool {
			return wildcard(p, t.Name)
		})) &&
		!slices.ContainsFunc(r.ExcludedTypes, func(p string) bool { return wildcard(p, t.Name) }) &&
		r.meetsAccelerators(t)
}

func (r *Requirements) meetsAccelerators(t InstanceType) bool {
	count, memory := 0, 0
	for _, a := range accelerators(t) {
		if !among(r.AcceleratorManufacturers, a.manufacturer) || !among(r.AcceleratorNames, a.name) ||
			!among(r.AcceleratorTypes, a.kind) {
			return false
		}
		count += a.count
		memory += a.count * a.memoryMiB
	}
	asked := len(r.AcceleratorManufacturers)+len(r.AcceleratorNames)+len(r.AcceleratorTypes) > 0
	return (count > 0 || !asked) && r.AcceleratorCount.holds(float64(count)) &&
		r.AcceleratorTotalMemoryMiB.holds(float64(memory))
}

func accelerators(t InstanceType) []accelerator {
	var all []accelerator
	for _, g := range t.GPUs {
		all = append(all, accelerator{"gpu", wireManufacturer(g.Manufacturer), strings.ToLower(g.Name), g.Count, g.MemoryMiB})
	}
	for _, n := range t.Neurons {
		all = append(all, accelerator{"inference", "amazon-web-services", strings.ToLower(n.Name), n.Count, n.MemoryMiB})
	}
	return all
}

// wireManufacturer is a maker's name as requirements have it.
func wireManufacturer(name string) string {
	if name == "AWS" {
		return "amazon-web-services"
	}
	return strings.ToLower(name)
}

// named reports whether a choice of included, required or excluded allows it.
func named(choice, byDefault string, has bool) bool {
	switch cmp.Or(choice, byDefault) {
	case "required":
		return has
	case "excluded":
		return !has
	}
	return true
}

func among(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// wildcard matches a name with a pattern in which * is anything.
func wildcard(pattern, name string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, head)
	for i := 0; ok && i <= len(rest); i++ {
		if wildcard(tail, rest[i:]) {
			return true
		}
	}
	return false
}
