package aws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// nodegroupKey names an EKS managed node group: the same name may be used in
// two clusters.
type nodegroupKey struct{ cluster, name string }

func (k nodegroupKey) String() string { return k.cluster + "/" + k.name }

// nodegroupOf is the node group that made an Auto Scaling group, by the tags
// that EKS puts onto it; false if it is none of EKS.
func nodegroupOf(tags map[string]string) (nodegroupKey, bool) {
	key := nodegroupKey{tags[tagCluster], tags[tagNodegroup]}
	return key, key.cluster != "" && key.name != ""
}

// nodegroup is what EKS says of a managed node group, as far as it tells what
// its nodes are like.
type nodegroup struct {
	labels    map[string]string
	taints    []corev1.Taint
	resources map[corev1.ResourceName]amount
	amiType   string
	diskGiB   int64
	// status is what EKS does with it, ACTIVE if nothing.
	status ekstypes.NodegroupStatus
	// unreal names the labels that the nodes themselves do not carry.
	unreal []string
	// bad is what EKS says and cannot be used.
	bad []string
	// unclear are the taints whose effect is not known.
	unclear []string
}

// Labels that follow from what a node group is. Its nodes carry the first two;
// the others are only ever in a template.
const (
	labelNodegroup    = "eks.amazonaws.com/nodegroup"
	labelCapacityType = "eks.amazonaws.com/capacityType"
	labelAMIType      = "amiType"
	labelDiskSize     = "diskSize"
	labelK8sVersion   = "k8sVersion"
)

// nodegroupFrom reads an answer of DescribeNodegroup.
func nodegroupFrom(n *ekstypes.Nodegroup) nodegroup {
	out := nodegroup{labels: map[string]string{}, resources: map[corev1.ResourceName]amount{}, amiType: string(n.AmiType),
		diskGiB: int64(deref(n.DiskSize)), status: n.Status}
	derived := map[string]string{
		labelNodegroup:    deref(n.NodegroupName),
		labelCapacityType: string(n.CapacityType),
		labelAMIType:      string(n.AmiType),
		labelK8sVersion:   deref(n.Version),
	}
	if n.DiskSize != nil {
		derived[labelDiskSize] = strconv.Itoa(int(*n.DiskSize))
	}
	for _, key := range slices.Sorted(maps.Keys(derived)) {
		if derived[key] == "" {
			continue
		}
		out.labels[key] = derived[key]
		if key == labelAMIType || key == labelDiskSize || key == labelK8sVersion {
			out.unreal = append(out.unreal, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if err := checkLabel(key, n.Labels[key]); err != nil {
			out.bad = append(out.bad, err.Error())
			continue
		}
		out.labels[key] = n.Labels[key]
		out.unreal = slices.DeleteFunc(out.unreal, func(other string) bool { return other == key })
	}
	for _, t := range n.Taints {
		taint, err := taintFrom(t)
		if err != nil {
			out.bad = append(out.bad, err.Error())
			if errors.Is(err, errNoEffect) {
				out.unclear = append(out.unclear, deref(t.Key))
			}
			continue
		}
		out.taints = append(out.taints, taint)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Tags)) {
		name, ok := strings.CutPrefix(key, tagResource)
		if !ok {
			continue
		}
		amount, err := parseAmount(name, n.Tags[key])
		if err != nil {
			out.bad = append(out.bad, fmt.Sprintf("tag %s: %v", key, err))
			continue
		}
		out.resources[corev1.ResourceName(name)] = amount
	}
	return out
}

// taintFrom reads a taint as EKS writes it. A taint may have no value; it keeps
// pods away all the same.
func taintFrom(t ekstypes.Taint) (corev1.Taint, error) {
	effect, ok := map[ekstypes.TaintEffect]corev1.TaintEffect{
		ekstypes.TaintEffectNoSchedule:       corev1.TaintEffectNoSchedule,
		ekstypes.TaintEffectNoExecute:        corev1.TaintEffectNoExecute,
		ekstypes.TaintEffectPreferNoSchedule: corev1.TaintEffectPreferNoSchedule,
	}[t.Effect]
	if !ok {
		return corev1.Taint{}, fmt.Errorf("taint %q: %q %w that is known", deref(t.Key), t.Effect, errNoEffect)
	}
	taint := corev1.Taint{Key: deref(t.Key), Value: deref(t.Value), Effect: effect}
	return taint, checkTaint(taint)
}

// changes reports whether EKS itself is changing the nodes, so that its answer will soon
// be out of date.
func (n *nodegroup) changes() bool {
	return n != nil && (n.status == ekstypes.NodegroupStatusUpdating || n.status == ekstypes.NodegroupStatusDeleting)
}

// holds leave the nodes to EKS while it updates or deletes the node group. An
// update raises the desired capacity for nodes that take the place of others: a removal
// or a lower number meanwhile would end the new ones.
func (n *nodegroup) holds(key nodegroupKey) []provider.Hold {
	if !n.changes() {
		return nil
	}
	ops := []provider.Op{provider.OpRemove, provider.OpCancel}
	if n.status == ekstypes.NodegroupStatusDeleting {
		ops = append([]provider.Op{provider.OpGrow}, ops...)
	}
	var out []provider.Hold
	for _, op := range ops {
		out = append(out, provider.Hold{
			Op: op, Reason: holdNodegroupChanges, Message: fmt.Sprintf("EKS says of the node group %s: %s", key, n.status),
		})
	}
	return out
}

// unclearTaints holds growth while the effect of a taint is not known: without
// that taint the group would be offered to pods that its nodes refuse. What EKS
// and the tags say of one key settle each other.
func unclearTaints(tags tagFacts, n nodegroup) []provider.Hold {
	settles := func(taints []corev1.Taint) func(key string) bool {
		return func(key string) bool {
			return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == key })
		}
	}
	left := append(slices.DeleteFunc(slices.Clone(tags.unclear), settles(n.taints)),
		slices.DeleteFunc(slices.Clone(n.unclear), settles(tags.taints))...)
	slices.Sort(left)
	var out []provider.Hold
	for _, key := range slices.Compact(left) {
		out = append(out, provider.Hold{Op: provider.OpGrow, Reason: holdTaintUnclear, Message: fmt.Sprintf(
			"it is not known which pods the taint %s keeps away: set the tag %s%s of the Auto Scaling group to "+
				"value:NoSchedule, value:NoExecute or value:PreferNoSchedule", key, tagTaint, key)})
	}
	return out
}

// os is the operating system that the node group's image has.
func (n *nodegroup) os() string {
	if n != nil && strings.HasPrefix(n.amiType, "WINDOWS_") {
		return "windows"
	}
	return "linux"
}

// arch is the architecture that the node group's image is for, empty if it does
// not tell.
func (n *nodegroup) arch() string {
	switch {
	case n == nil || n.amiType == "" || n.amiType == string(ekstypes.AMITypesCustom):
		return ""
	case strings.Contains(n.amiType, "ARM_64"):
		return archARM
	}
	return archAMD
}
