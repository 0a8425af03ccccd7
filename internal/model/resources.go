package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources is an amount of every resource, in the units in which the
// scheduler counts: CPU in thousandths of a core, the rest in whole units
// (bytes for memory and storage). Extended is sorted by name and has no zeros.
type Resources struct {
	MilliCPU  int64
	Memory    int64
	Ephemeral int64
	Pods      int64
	Extended  []Amount
}

// Amount is a quantity of an extended resource.
type Amount struct {
	Name  corev1.ResourceName
	Value int64
}

// accelerators are the extended resources that make a node one of an accelerator, by their names or the beginnings
// of them. What else is extended, as hugepages and devices of any kind, is seldom what a node is bought for.
var accelerators = []string{
	"nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/", "aws.amazon.com/neuron", "google.com/tpu",
	"habana.ai/gaudi",
}

// IsAccelerator reports whether a resource is of an accelerator.
func IsAccelerator(name corev1.ResourceName) bool {
	return slices.ContainsFunc(accelerators, func(a string) bool { return strings.HasPrefix(string(name), a) })
}

// ResourcesOf converts a list the way the scheduler does: CPU by MilliValue,
// everything else by Value, both rounding up.
func ResourcesOf(list corev1.ResourceList) Resources {
	var r Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = q.MilliValue()
		case corev1.ResourceMemory:
			r.Memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			r.Ephemeral = q.Value()
		case corev1.ResourcePods:
			r.Pods = q.Value()
		default:
			if v := q.Value(); v != 0 {
				r.Extended = append(r.Extended, Amount{name, v})
			}
		}
	}
	slices.SortFunc(r.Extended, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// Value is the amount of one extended resource.
func (r Resources) Value(name corev1.ResourceName) int64 {
	for _, a := range r.Extended {
		if a.Name == name {
			return a.Value
		}
	}
	return 0
}

// Plus is r + n·o.
func (r Resources) Plus(o Resources, n int64) Resources {
	r.MilliCPU += n * o.MilliCPU
	r.Memory += n * o.Memory
	r.Ephemeral += n * o.Ephemeral
	r.Pods += n * o.Pods
	if len(o.Extended) == 0 {
		return r
	}
	sum := slices.Clone(r.Extended)
	for _, a := range o.Extended {
		i, found := slices.BinarySearchFunc(sum, a.Name, func(x Amount, n corev1.ResourceName) int {
			return cmp.Compare(x.Name, n)
		})
		if !found {
			sum = slices.Insert(sum, i, Amount{Name: a.Name})
		}
		sum[i].Value += n * a.Value
	}
	r.Extended = sum
	return r
}

// String writes the amounts that are not zero, for a person.
func (r Resources) String() string {
	var parts []string
	if r.MilliCPU != 0 {
		parts = append(parts, "cpu "+resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI).String())
	}
	if r.Memory != 0 {
		parts = append(parts, "memory "+resource.NewQuantity(r.Memory, resource.BinarySI).String())
	}
	if r.Ephemeral != 0 {
		parts = append(parts, "ephemeral-storage "+resource.NewQuantity(r.Ephemeral, resource.BinarySI).String())
	}
	for _, a := range r.Extended {
		parts = append(parts, fmt.Sprintf("%s %d", a.Name, a.Value))
	}
	return strings.Join(parts, ", ")
}
