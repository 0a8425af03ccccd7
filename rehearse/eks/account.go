package eks

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

const (
	onDemand = "ON_DEMAND"
	spot     = "SPOT"

	version = "1.37" // of the nodes

	tagCluster   = "eks:cluster-name"
	tagNodegroup = "eks:nodegroup-name"
	tagEnabled   = "k8s.io/cluster-autoscaler/enabled"
	tagOwned     = "k8s.io/cluster-autoscaler/" // and the cluster's name
)

// How fast the simulated AWS is beside the boot delay: a second where the real one takes half a
// minute, so that tests and stories are short.
const (
	decideAfter = 200 * time.Millisecond
	launchAfter = 300 * time.Millisecond
	endAfter    = time.Second
)

// effects are EKS's words for the effects of taints.
var effects = map[string]corev1.TaintEffect{
	"NO_SCHEDULE": corev1.TaintEffectNoSchedule, "NO_EXECUTE": corev1.TaintEffectNoExecute,
	"PREFER_NO_SCHEDULE": corev1.TaintEffectPreferNoSchedule,
}

// ASGName is the name of a node group's Auto Scaling group. The real one ends in a
// UUID, which would only be in the way here.
func ASGName(nodegroup string) string { return "eks-" + nodegroup }

// asgTags are the tags of a node group's Auto Scaling group, with those that EKS
// sets by itself.
func (c Cluster) asgTags(n Nodegroup) map[string]string {
	tags := map[string]string{
		tagCluster: c.Name, tagNodegroup: n.Name,
		tagEnabled: "true", tagOwned + c.Name: "owned", "kubernetes.io/cluster/" + c.Name: "owned",
	}
	maps.Copy(tags, n.ASGTags)
	return tags
}

// Account is the cluster as an account of AWS: for each node group an Auto Scaling
// group with a launch template and a mixed instances policy, as EKS makes them.
func (c Cluster) Account() awstest.Spec {
	c = c.complete()
	spec := awstest.Spec{
		Region: c.Region, Queues: []string{c.Name}, // of interruptions
		Timing: awstest.Timing{Decide: decideAfter, Launch: launchAfter, Boot: c.BootDelay.Duration, End: endAfter},
	}
	for _, n := range c.Nodegroups {
		spec.Nodegroups = append(spec.Nodegroups, awstest.Nodegroup{
			Cluster: c.Name, Name: n.Name, Labels: n.Labels, Taints: n.Taints, Tags: n.Tags,
			AMIType: "AL2023_x86_64_STANDARD", CapacityType: n.CapacityType, DiskSize: n.DiskSize, Version: version,
			InstanceTypes: n.InstanceTypes, Groups: []string{ASGName(n.Name)},
		})
		template := awstest.TemplateRef{ID: "lt-" + n.Name, Name: ASGName(n.Name), Version: "1"}
		spec.LaunchTemplates = append(spec.LaunchTemplates, awstest.LaunchTemplate{
			ID: template.ID, Name: template.Name, Versions: []awstest.TemplateVersion{{VolumeGiB: n.DiskSize}},
		})
		mixed := &awstest.MixedInstances{Template: template}
		if n.CapacityType == spot {
			mixed.OnDemandPercentage = ptr.To(0)
		}
		for _, name := range n.InstanceTypes {
			mixed.Overrides = append(mixed.Overrides, awstest.Override{InstanceType: name})
		}
		spec.Groups = append(spec.Groups, awstest.Group{
			Name: ASGName(n.Name), Min: n.Min, Max: n.Max, Desired: max(n.Min, n.Desired), Zones: n.Zones,
			Tags: c.asgTags(n), MixedInstances: mixed,
		})
	}
	for _, s := range c.StockOuts {
		out := awstest.StockOut{InstanceType: s.InstanceType, Zone: s.Zone, Left: s.Left}
		if s.Nodegroup != "" {
			out.Group = ASGName(s.Nodegroup)
		}
		spec.StockOuts = append(spec.StockOuts, out)
	}
	return spec
}

// DiscoveryFlag is how Plimsoll finds the cluster's Auto Scaling groups.
func (c Cluster) DiscoveryFlag() string {
	return "--node-group-auto-discovery=asg:tag=" + tagEnabled + "," + tagOwned + c.complete().Name
}

// instanceType finds what an account tells of a type.
func instanceType(account awstest.Spec, name string) (awstest.InstanceType, bool) {
	i := slices.IndexFunc(account.InstanceTypes, func(t awstest.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return awstest.InstanceType{}, false
	}
	return account.InstanceTypes[i], true
}
