package aws

import (
	"encoding/json"
	"fmt"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// requestOf turns instance requirements, as Auto Scaling or a launch template
// has them, into the form in which EC2 is asked for the types that meet them.
// The three forms have the same fields, and are copied as a whole, so that none
// is left out that AWS adds.
func requestOf(requirements any) (*ec2types.InstanceRequirementsRequest, error) {
	body, err := json.Marshal(requirements)
	if err != nil {
		return nil, fmt.Errorf("read the instance requirements: %w", err)
	}
	out := &ec2types.InstanceRequirementsRequest{}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, fmt.Errorf("read the instance requirements: %w", err)
	}
	return out, nil
}

const sourceRequirements = "instance requirements"

// atLeast is the machine that requirements alone promise, where nothing is known
// of the types that meet them.
func atLeast(r *ec2types.InstanceRequirementsRequest) machine {
	m := machine{source: sourceRequirements}
	if r.VCpuCount != nil {
		m.CPU = int64(deref(r.VCpuCount.Min))
	}
	if r.MemoryMiB != nil {
		m.MemoryMiB = int64(deref(r.MemoryMiB.Min))
	}
	// Memory per vCPU promises more of the one, the more there is of the other.
	if per := r.MemoryGiBPerVCpu; per != nil {
		least, most := deref(per.Min), deref(per.Max)
		m.MemoryMiB = max(m.MemoryMiB, int64(least*1024*float64(m.CPU)))
		if most > 0 {
			m.CPU = max(m.CPU, int64(float64(m.MemoryMiB)/1024/most))
		}
	}
	if r.AcceleratorCount != nil && onlyNVIDIA(r) {
		m.NVIDIA = int64(deref(r.AcceleratorCount.Min))
	}
	return m
}

// onlyNVIDIA reports whether all accelerators of the machines are NVIDIA GPUs. Without
// both restrictions they may be another's.
func onlyNVIDIA(r *ec2types.InstanceRequirementsRequest) bool {
	return len(r.AcceleratorManufacturers) == 1 &&
		r.AcceleratorManufacturers[0] == ec2types.AcceleratorManufacturerNvidia &&
		len(r.AcceleratorTypes) == 1 && r.AcceleratorTypes[0] == ec2types.AcceleratorTypeGpu
}

// requirementsKey is under which the types that meet requirements are kept.
type requirementsKey struct{ arch, virtualization, requirements string }

func keyOf(image image, r *ec2types.InstanceRequirementsRequest) (requirementsKey, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return requirementsKey{}, fmt.Errorf("read the instance requirements: %w", err)
	}
	return requirementsKey{image.arch, image.virtualization, string(body)}, nil
}

func (k requirementsKey) request() (*ec2types.InstanceRequirementsRequest, error) {
	return requestOf(json.RawMessage(k.requirements))
}

// image is what is known of a machine image, in EC2's own words; both are empty
// if nothing is.
type image struct{ arch, virtualization string }

// kubernetesArch is the architecture of nodes with this image, empty if it is
// not known.
func (i image) kubernetesArch() string {
	switch ec2types.ArchitectureType(i.arch) {
	case ec2types.ArchitectureTypeX8664:
		return archAMD
	case ec2types.ArchitectureTypeArm64:
		return archARM
	}
	return ""
}
