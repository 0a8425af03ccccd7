package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
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

// MostOfAny is what no node has more of, in the units of Resources: eight petabytes, in bytes. A pod may request
// whatever its author writes: Countless stands for what is above. Even those of hundreds of pods have a sum.
const (
	MostOfAny = 1 << 53
	Countless = 2 * MostOfAny
)

// Counted is the list itself, or one in which Countless stands for what is above MostOfAny.
func Counted(list corev1.ResourceList) corev1.ResourceList {
	if !AnyCountless(list) {
		return list
	}
	list = maps.Clone(list)
	for name, q := range list {
		switch {
		case !isCountless(name, q):
		case name == corev1.ResourceCPU:
			list[name] = *resource.NewMilliQuantity(Countless, resource.DecimalSI)
		default:
			list[name] = *resource.NewQuantity(Countless, resource.BinarySI)
		}
	}
	return list
}

// AnyCountless reports whether something in the list is above MostOfAny.
func AnyCountless(list corev1.ResourceList) bool {
	for name, q := range list {
		if isCountless(name, q) {
			return true
		}
	}
	return false
}

// isCountless compares roughly: an amount may have more digits than there is memory for.
func isCountless(name corev1.ResourceName, q resource.Quantity) bool {
	about := q.AsApproximateFloat64()
	if name == corev1.ResourceCPU {
		about *= 1000
	}
	return about > MostOfAny
}

// Cores, Bytes and Number write an amount for a person: of CPU, of memory or storage, and of what else there is.
func Cores(v int64) string  { return written(v, resource.NewMilliQuantity(v, resource.DecimalSI)) }
func Bytes(v int64) string  { return written(v, resource.NewQuantity(v, resource.BinarySI)) }
func Number(v int64) string { return written(v, nil) }

func written(v int64, q *resource.Quantity) string {
	switch {
	case v > MostOfAny:
		return "more than any node has"
	case q == nil:
		return strconv.FormatInt(v, 10)
	}
	return q.String()
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
		parts = append(parts, "cpu "+Cores(r.MilliCPU))
	}
	if r.Memory != 0 {
		parts = append(parts, "memory "+Bytes(r.Memory))
	}
	if r.Ephemeral != 0 {
		parts = append(parts, "ephemeral-storage "+Bytes(r.Ephemeral))
	}
	for _, a := range r.Extended {
		parts = append(parts, string(a.Name)+" "+Number(a.Value))
	}
	return strings.Join(parts, ", ")
}
