package eks

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// one is an account with one instance of a type.
func one(t *testing.T, machine string, n Nodegroup) (awstest.Spec, awstest.Group, awstest.Instance) {
	t.Helper()
	n.Name, n.Max, n.Desired, n.InstanceTypes = "w", 1, 1, []string{machine}
	clock := awstest.NewClock(dawn)
	cloud, err := awstest.New(Cluster{Nodegroups: []Nodegroup{n}}.Account(), clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	account := cloud.Account()
	return account, account.Groups[0], account.Groups[0].Instances[0]
}

func TestANodeIsThatOfARealNodeGroup(t *testing.T) {
	value := "web"
	account, g, i := one(t, "m5.xlarge", Nodegroup{
		Zones: []string{"eu-west-1b"}, Labels: map[string]string{"team": "web"}, DiskSize: 50,
		Taints: []awstest.Taint{
			{Key: "dedicated", Value: &value, Effect: "NO_SCHEDULE"}, {Key: "bare", Effect: "NO_EXECUTE"},
		},
	})
	node, err := nodeOf(account, g, i, "ip-10-1-2-3.eu-west-1.compute.internal")
	if err != nil {
		t.Fatal(err)
	}
	if node.Spec.ProviderID != "aws:///eu-west-1b/"+i.ID || node.Annotations["kwok.x-k8s.io/node"] != "fake" {
		t.Errorf("got %+v", node)
	}
	for key, want := range map[string]string{
		"kubernetes.io/hostname": "ip-10-1-2-3.eu-west-1.compute.internal", "kubernetes.io/arch": "amd64",
		"kubernetes.io/os":                 "linux",
		"node.kubernetes.io/instance-type": "m5.xlarge", "topology.kubernetes.io/region": "eu-west-1",
		"topology.kubernetes.io/zone":   "eu-west-1b",
		"topology.ebs.csi.aws.com/zone": "eu-west-1b", "eks.amazonaws.com/nodegroup": "w",
		"eks.amazonaws.com/capacityType": "ON_DEMAND", "team": "web",
	} {
		if node.Labels[key] != want {
			t.Errorf("the label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	// What EKS tells of a node group, and does not put on its nodes.
	for _, key := range []string{"amiType", "diskSize", "k8sVersion"} {
		if _, ok := node.Labels[key]; ok {
			t.Errorf("the node carries %s", key)
		}
	}
	want := []corev1.Taint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}, {Key: "bare", Effect: "NoExecute"}}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[0] != want[0] || node.Spec.Taints[1] != want[1] {
		t.Errorf("the taints are %v", node.Spec.Taints)
	}
	// 4 interfaces of 15 addresses; 6 % + 1 % + 2 x 0.5 % of the cores; 255 MiB, 11 MiB
	// for each pod and 100 MiB; 1 GiB and a tenth.
	for name, amounts := range map[corev1.ResourceName][2]string{
		"cpu": {"4", "3920m"}, "pods": {"58", "58"}, "memory": {"16Gi", "15391Mi"}, "ephemeral-storage": {"50Gi", "44Gi"},
	} {
		capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
		if capacity.String() != amounts[0] || allocatable.String() != amounts[1] {
			t.Errorf("%s: %s of %s, want %s of %s", name, allocatable.String(), capacity.String(), amounts[1], amounts[0])
		}
	}
}

func TestDevicesAndArchitectures(t *testing.T) {
	for machine, want := range map[string]struct {
		arch, device string
		count        int64
	}{
		"g4dn.12xlarge": {"amd64", "nvidia.com/gpu", 4},
		"inf2.xlarge":   {"amd64", "aws.amazon.com/neuroncore", 2},
		"m6g.large":     {"arm64", "cpu", 2},
	} {
		account, g, i := one(t, machine, Nodegroup{})
		node, err := nodeOf(account, g, i, "n")
		if err != nil {
			t.Fatal(err)
		}
		device := node.Status.Allocatable[corev1.ResourceName(want.device)]
		if node.Labels["kubernetes.io/arch"] != want.arch || want.device != "cpu" && device.Value() != want.count {
			t.Errorf("%s: got %v, %v", machine, node.Labels, node.Status.Allocatable)
		}
	}
}

func TestNodeNames(t *testing.T) {
	i := awstest.Instance{ID: "i-1", Zone: "eu-west-1c"}
	name := nodeName("eu-west-1", i, 0)
	if again := nodeName("eu-west-1", i, 0); again != name {
		t.Errorf("%s is %s, too", name, again)
	}
	if other := nodeName("eu-west-1", i, 1); other == name {
		t.Errorf("a second try gives %s again", name)
	}
	for zone, want := range map[string]int{"eu-west-1a": 0, "eu-west-1c": 2, "us-west-2-lax-1b": 1, "": 0} {
		if got := subnetOf(zone); got != want {
			t.Errorf("the subnet of %q is %d, want %d", zone, got, want)
		}
	}
}
