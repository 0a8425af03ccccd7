package aws

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// podsRule says how many pods a node takes.
type podsRule struct {
	fixed int64
	// eni takes what the type's network interfaces allow, where that is known.
	eni bool
}

func parseMaxPods(text string) (podsRule, error) {
	switch text {
	case "":
		return podsRule{fixed: defaultMaxPods}, nil
	case "eni":
		return podsRule{fixed: defaultMaxPods, eni: true}, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return podsRule{}, fmt.Errorf("%s: it is a number of pods above 0, or eni", quotedFlag("aws-max-pods", text))
	}
	return podsRule{fixed: n}, nil
}

// of is how many pods a node of this type takes, and the source of that.
func (r podsRule) of(m machine) (int64, string) {
	if r.eni && m.ENIPods > 0 {
		return m.ENIPods, m.source + ": network interfaces"
	}
	if r.eni {
		return r.fixed, "default: the interfaces of the instance type are not known"
	}
	return r.fixed, "--aws-max-pods"
}

// reserveRule says what a node keeps for itself: nothing, what EKS' images set,
// or given amounts.
type reserveRule struct {
	eks     bool
	amounts corev1.ResourceList
}

// sourceEKSReserve is where the amounts are from that EKS' images set.
const sourceEKSReserve = "https://docs.aws.amazon.com/eks/latest/userguide/node-resource-reservations.html, " +
	"https://github.com/awslabs/amazon-eks-ami"

func parseReserved(text string) (reserveRule, error) {
	switch text {
	case "", "none":
		return reserveRule{}, nil
	case "eks":
		return reserveRule{eks: true}, nil
	}
	wrong := func(why string) (reserveRule, error) {
		return reserveRule{}, fmt.Errorf("%s: %s; it is none, eks, or amounts as in "+
			"cpu=100m,memory=700Mi,ephemeral-storage=1Gi", quotedFlag("aws-kube-reserved", text), why)
	}
	rule := reserveRule{amounts: corev1.ResourceList{}}
	for _, element := range strings.Split(text, ",") {
		name, value, found := strings.Cut(element, "=")
		if !found {
			return wrong(fmt.Sprintf("%q has no =", element))
		}
		switch corev1.ResourceName(name) {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		default:
			return wrong(fmt.Sprintf("%q is none of cpu, memory and ephemeral-storage", name))
		}
		if _, twice := rule.amounts[corev1.ResourceName(name)]; twice {
			return wrong(name + " is there twice")
		}
		amount, err := parseAmount(name, value)
		if err != nil {
			return wrong(err.Error())
		}
		rule.amounts[corev1.ResourceName(name)] = amount.Quantity
	}
	return rule, nil
}

// of is what a node with this capacity keeps for itself, and what says so.
func (r reserveRule) of(capacity corev1.ResourceList) (corev1.ResourceList, string) {
	if !r.eks {
		return r.amounts, "--aws-kube-reserved"
	}
	cpu, pods := capacity[corev1.ResourceCPU], capacity[corev1.ResourcePods]
	kept := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(eksReservedMilliCPU(cpu.MilliValue()), resource.DecimalSI),
		// 255 MiB and 11 MiB for each pod are reserved; below 100 MiB pods are evicted.
		corev1.ResourceMemory: *resource.NewQuantity((255+11*pods.Value()+100)<<20, resource.BinarySI),
	}
	if disk, ok := capacity[corev1.ResourceEphemeralStorage]; ok {
		// 1 GiB is reserved, and below a tenth of the disk pods are evicted.
		kept[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(1<<30+disk.Value()/10, resource.BinarySI)
	}
	return kept, "--aws-kube-reserved=eks, by " + sourceEKSReserve
}

// eksReservedMilliCPU is 6 % of the first core, 1 % of the second, half a
// percent of the next two, and a quarter of a percent of all others.
func eksReservedMilliCPU(milli int64) int64 {
	var kept, from int64 // kept in ten-thousandths of a millicore
	for _, step := range []struct{ upTo, share int64 }{{1000, 600}, {2000, 100}, {4000, 50}, {math.MaxInt64, 25}} {
		kept += max(0, min(milli, step.upTo)-from) * step.share
		from = step.upTo
	}
	return kept / 10000
}

// subtract takes what is kept from what there is, never below nothing.
func subtract(have, kept corev1.ResourceList) corev1.ResourceList {
	left := have.DeepCopy()
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		q, ok := left[name]
		if !ok {
			continue
		}
		q.Sub(kept[name])
		if q.Sign() < 0 {
			q = resource.Quantity{Format: q.Format}
		}
		left[name] = q
	}
	return left
}
