package eks

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

const (
	// NodegroupLabel is on every node of a managed node group: its name.
	NodegroupLabel = "eks.amazonaws.com/nodegroup"

	// kwok keeps a node ready that has this annotation.
	fakeAnnotation = "kwok.x-k8s.io/node"
	fakeValue      = "fake"

	providerScheme = "aws:///"
	defaultMaxPods = 110
)

// providerID is how Kubernetes names an instance.
func providerID(i awstest.Instance) string { return providerScheme + i.Zone + "/" + i.ID }

// hasBooted reports whether an instance's kubelet registers. That of an instance that is ending
// does not, though a node that is there may stay.
func hasBooted(i awstest.Instance) bool { return i.State == awstest.InService || i.State == "Standby" }

// nodeOf is what kubelet registers for an instance.
func nodeOf(account awstest.Spec, g awstest.Group, i awstest.Instance, name string) (*corev1.Node, error) {
	machine, ok := instanceType(account, i.Type)
	if !ok {
		return nil, fmt.Errorf("make a node of the instance %s: the account has no type %q", i.ID, i.Type)
	}
	n, managed := nodegroupOf(account, g)
	if !managed {
		return nil, fmt.Errorf("make a node of the instance %s: the Auto Scaling group %s is of no node group", i.ID, g.Name)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: labelsOf(account.Region, n, machine, i),
			Annotations: map[string]string{fakeAnnotation: fakeValue},
		},
		Spec: corev1.NodeSpec{ProviderID: providerID(i)},
	}
	node.Labels[corev1.LabelHostname] = name
	for _, t := range n.Taints {
		taint := corev1.Taint{Key: t.Key, Effect: effects[t.Effect]}
		if t.Value != nil {
			taint.Value = *t.Value
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	node.Status.Capacity = capacityOf(machine, n.DiskSize)
	node.Status.Allocatable = allocatableOf(node.Status.Capacity)
	return node, nil
}

// nodegroupOf finds the node group behind an Auto Scaling group.
func nodegroupOf(account awstest.Spec, g awstest.Group) (awstest.Nodegroup, bool) {
	i := slices.IndexFunc(account.Nodegroups, func(n awstest.Nodegroup) bool { return slices.Contains(n.Groups, g.Name) })
	if i < 0 {
		return awstest.Nodegroup{}, false
	}
	return account.Nodegroups[i], true
}

// labelsOf are the labels of the real nodes of a managed node group, where the EBS
// CSI driver is installed. The node group's amiType, diskSize and version are not
// among them.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
// https://kubernetes.io/docs/reference/labels-annotations-taints/
func labelsOf(region string, n awstest.Nodegroup, machine awstest.InstanceType, i awstest.Instance) map[string]string {
	arch := "amd64"
	if slices.Contains(machine.Architectures, "arm64") {
		arch = "arm64"
	}
	labels := map[string]string{
		corev1.LabelArchStable:              arch,
		corev1.LabelOSStable:                "linux",
		"beta.kubernetes.io/arch":           arch,
		"beta.kubernetes.io/os":             "linux",
		corev1.LabelInstanceTypeStable:      i.Type,
		corev1.LabelInstanceType:            i.Type,
		corev1.LabelTopologyRegion:          region,
		corev1.LabelFailureDomainBetaRegion: region,
		corev1.LabelTopologyZone:            i.Zone,
		corev1.LabelFailureDomainBetaZone:   i.Zone,
		"topology.ebs.csi.aws.com/zone":     i.Zone,
		NodegroupLabel:                      n.Name,
		"eks.amazonaws.com/capacityType":    n.CapacityType,
	}
	if i.Template != nil {
		labels["eks.amazonaws.com/sourceLaunchTemplateId"] = i.Template.ID
		labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = i.Template.Version
	}
	maps.Copy(labels, n.Labels)
	return labels
}

// capacityOf is what kubelet and the device plugins find on a machine. Of a real one
// the kernel keeps some of the memory that EC2 tells of; that is not simulated.
func capacityOf(machine awstest.InstanceType, diskGiB int) corev1.ResourceList {
	// Pods get their addresses from the machine's network interfaces:
	// https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/runtime/eni-max-pods.txt
	pods := machine.Interfaces*(machine.Addresses-1) + 2
	if machine.Interfaces == 0 {
		pods = defaultMaxPods
	}
	counts := map[corev1.ResourceName]int{corev1.ResourceCPU: machine.VCPU, corev1.ResourcePods: pods}
	for _, gpu := range machine.GPUs {
		if strings.EqualFold(gpu.Manufacturer, "nvidia") {
			counts["nvidia.com/gpu"] += gpu.Count
		}
	}
	for _, neuron := range machine.Neurons {
		counts["aws.amazon.com/neuron"] += neuron.Count
		counts["aws.amazon.com/neuroncore"] += neuron.Count * neuron.Cores
	}
	capacity := corev1.ResourceList{
		corev1.ResourceMemory:           *resource.NewQuantity(int64(machine.MemoryMiB)<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(diskGiB)<<30, resource.BinarySI),
	}
	for name, n := range counts {
		capacity[name] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	return capacity
}

// allocatableOf is what EKS's images leave to pods:
// https://docs.aws.amazon.com/eks/latest/userguide/node-resource-reservations.html
func allocatableOf(capacity corev1.ResourceList) corev1.ResourceList {
	// In hundredths of a percent of a core: the first, the second, the third and
	// fourth, each of the others.
	kept := int64(0)
	for core := range capacity.Cpu().Value() {
		switch core {
		case 0:
			kept += 600
		case 1:
			kept += 100
		case 2, 3:
			kept += 50
		default:
			kept += 25
		}
	}
	reserved := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(kept/10, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity((255+11*capacity.Pods().Value()+100)<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<30+capacity.StorageEphemeral().Value()/10,
			resource.BinarySI),
	}
	left := capacity.DeepCopy()
	for name, amount := range reserved {
		q := left[name]
		q.Sub(amount)
		left[name] = q
	}
	return left
}

// Each zone has a subnet of its own, 10.N.0.0/16. AWS keeps the first four and the
// last address of a subnet; here no instance gets them in any block of 256.
const (
	firstHost = 4
	hosts     = 250
)

// nodeName is the name of an instance's node: its private address, as AWS's name of
// it. Two instances may draw one address; a further try gives the next.
func nodeName(region string, i awstest.Instance, try int) string {
	h := fnv.New32a()
	h.Write([]byte(i.ID))
	at := (int(h.Sum32()%(256*hosts)) + try) % (256 * hosts)
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return fmt.Sprintf("ip-10-%d-%d-%d.%s", subnetOf(i.Zone), at/hosts, firstHost+at%hosts, domain)
}

// subnetOf is the number of a zone's subnet, 0 for zone a.
func subnetOf(zone string) int {
	if letter := strings.TrimLeft(zone, "abcdefghijklmnopqrstuvwxyz-"); len(letter) > 1 {
		return int(letter[len(letter)-1]-'a') & 0xff
	}
	return 0
}
