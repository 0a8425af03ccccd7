package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file is DescribeAutoScalingGroups and DescribeLaunchConfigurations:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_DescribeAutoScalingGroups.html
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_AutoScalingGroup.html

type describeGroupsResult struct {
	Groups    []xmlGroup `xml:"AutoScalingGroups>member"`
	NextToken string     `xml:",omitempty"`
}

type xmlGroup struct {
	AutoScalingGroupName             string
	AutoScalingGroupARN              string
	LaunchConfigurationName          string       `xml:",omitempty"`
	LaunchTemplate                   *xmlTemplate `xml:",omitempty"`
	MixedInstancesPolicy             *xmlMixed    `xml:",omitempty"`
	MinSize                          int
	MaxSize                          int
	DesiredCapacity                  int
	DefaultCooldown                  int
	AvailabilityZones                []string `xml:"AvailabilityZones>member"`
	CapacityDistributionStrategy     string   `xml:"AvailabilityZoneDistribution>CapacityDistributionStrategy"`
	HealthCheckType                  string
	HealthCheckGracePeriod           int
	Instances                        []xmlInstance `xml:"Instances>member"`
	CreatedTime                      string
	SuspendedProcesses               []xmlSuspended `xml:"SuspendedProcesses>member"`
	VPCZoneIdentifier                string
	Status                           string   `xml:",omitempty"`
	Tags                             []xmlTag `xml:"Tags>member"`
	TerminationPolicies              []string `xml:"TerminationPolicies>member"`
	NewInstancesProtectedFromScaleIn bool
}

type xmlTemplate struct {
	LaunchTemplateId   string `xml:",omitempty"`
	LaunchTemplateName string `xml:",omitempty"`
	Version            string `xml:",omitempty"`
}

type xmlMixed struct {
	Template                            xmlTemplate   `xml:"LaunchTemplate>LaunchTemplateSpecification"`
	Overrides                           []xmlOverride `xml:"LaunchTemplate>Overrides>member"`
	OnDemandBaseCapacity                int           `xml:"InstancesDistribution>OnDemandBaseCapacity"`
	OnDemandPercentageAboveBaseCapacity int           `xml:"InstancesDistribution>OnDemandPercentageAboveBaseCapacity"`
}

type xmlOverride struct {
	InstanceType                string           `xml:",omitempty"`
	WeightedCapacity            string           `xml:",omitempty"`
	LaunchTemplateSpecification *xmlTemplate     `xml:",omitempty"`
	InstanceRequirements        *asgRequirements `xml:",omitempty"`
}

type xmlInstance struct {
	InstanceId              string
	InstanceType            string `xml:",omitempty"`
	AvailabilityZone        string
	LifecycleState          string
	HealthStatus            string
	LaunchConfigurationName string       `xml:",omitempty"`
	LaunchTemplate          *xmlTemplate `xml:",omitempty"`
	ProtectedFromScaleIn    bool
	WeightedCapacity        string `xml:",omitempty"`
}

type xmlSuspended struct{ ProcessName, SuspensionReason string }

type xmlTag struct {
	ResourceId, ResourceType, Key, Value string
	PropagateAtLaunch                    bool
}

func (c *Cloud) describeGroups(q *query) (any, *refusal) {
	if refused := q.only(
		"AutoScalingGroupNames", "Filters", "MaxRecords", "NextToken", "IncludeInstances",
	); refused != nil {
		return nil, refused
	}
	size, refused := q.size("MaxRecords", 50, 100)
	if refused != nil {
		return nil, refused
	}
	withInstances, refused := q.flag("IncludeInstances", true)
	if refused != nil {
		return nil, refused
	}
	names := q.list("AutoScalingGroupNames.member")
	if len(names) > size {
		return nil, tooLarge(names, "autoScalingGroupNames", "length", size)
	}
	filters := q.filters()
	for _, f := range filters {
		if f.name != "tag-key" && f.name != "tag-value" && !strings.HasPrefix(f.name, "tag:") {
			return nil, invalid("awstest: the filter %q is none of tag-key, tag-value and tag:<key>", f.name)
		}
	}
	var found []*group
	for _, name := range c.order {
		if g := c.groups[name]; (len(names) == 0 || slices.Contains(names, name)) && g.passes(filters) {
			found = append(found, g)
		}
	}
	found, next, ok := page(q, found, func(g *group) string { return g.Name }, size)
	if !ok {
		return nil, badToken()
	}
	result := describeGroupsResult{NextToken: next}
	for _, g := range found {
		result.Groups = append(result.Groups, g.xml(withInstances))
	}
	return result, nil
}

// passes: all filters hold, each for one of its values, case and all
// (https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-tag-filters-aws-cli.html).
func (g *group) passes(filters []filter) bool {
	for _, f := range filters {
		one := false
		for key, value := range g.Tags {
			switch {
			case f.name == "tag-key":
				one = one || slices.Contains(f.values, key)
			case f.name == "tag-value":
				one = one || slices.Contains(f.values, value)
			default:
				one = one || f.name == "tag:"+key && slices.Contains(f.values, value)
			}
		}
		if !one {
			return false
		}
	}
	return true
}

func (g *group) xml(withInstances bool) xmlGroup {
	x := xmlGroup{
		AutoScalingGroupName: g.Name, AutoScalingGroupARN: g.arn,
		LaunchConfigurationName: g.LaunchConfiguration, LaunchTemplate: g.LaunchTemplate.xml(),
		MixedInstancesPolicy: g.MixedInstances.xml(),
		MinSize:              g.Min, MaxSize: g.Max, DesiredCapacity: g.desired, DefaultCooldown: 300,
		AvailabilityZones: g.Zones, CapacityDistributionStrategy: g.Distribution,
		HealthCheckType: "EC2", HealthCheckGracePeriod: 300,
		CreatedTime: millis(g.created), Status: g.Status,
		TerminationPolicies: g.TerminationPolicies, NewInstancesProtectedFromScaleIn: g.ProtectNew,
	}
	if len(x.TerminationPolicies) == 0 {
		x.TerminationPolicies = []string{"Default"}
	}
	var subnets []string
	for _, zone := range g.Zones {
		subnets = append(subnets, g.subnet(zone))
	}
	x.VPCZoneIdentifier = strings.Join(subnets, ",")
	for _, process := range g.Suspended {
		x.SuspendedProcesses = append(x.SuspendedProcesses, xmlSuspended{process, "User suspended at " + seconds(g.created)})
	}
	for _, key := range sortedKeys(g.Tags) {
		x.Tags = append(x.Tags, xmlTag{g.Name, "auto-scaling-group", key, g.Tags[key], true})
	}
	if !withInstances {
		return x
	}
	for _, i := range g.instances {
		health := "Healthy"
		if i.Unhealthy {
			health = "Unhealthy"
		}
		x.Instances = append(x.Instances, xmlInstance{
			InstanceId: i.ID, InstanceType: i.Type, AvailabilityZone: i.Zone, LifecycleState: i.State, HealthStatus: health,
			LaunchConfigurationName: i.LaunchConfig, LaunchTemplate: i.Template.xml(),
			ProtectedFromScaleIn: i.Protected, WeightedCapacity: i.Weight,
		})
	}
	slices.SortFunc(x.Instances, func(a, b xmlInstance) int { return cmp.Compare(a.InstanceId, b.InstanceId) })
	return x
}

func (r *TemplateRef) xml() *xmlTemplate {
	if r == nil {
		return nil
	}
	return &xmlTemplate{r.ID, r.Name, r.Version}
}

func (m *MixedInstances) xml() *xmlMixed {
	if m == nil {
		return nil
	}
	x := &xmlMixed{
		Template: *m.Template.xml(), OnDemandBaseCapacity: m.OnDemandBase, OnDemandPercentageAboveBaseCapacity: 100,
	}
	if m.OnDemandPercentage != nil {
		x.OnDemandPercentageAboveBaseCapacity = *m.OnDemandPercentage
	}
	for _, o := range m.Overrides {
		x.Overrides = append(x.Overrides, xmlOverride{o.InstanceType, o.Weight, o.Template.xml(), o.Requirements.asg()})
	}
	return x
}

type describeConfigurationsResult struct {
	Configurations []xmlConfiguration `xml:"LaunchConfigurations>member"`
	NextToken      string             `xml:",omitempty"`
}

type xmlConfiguration struct {
	LaunchConfigurationName string
	LaunchConfigurationARN  string
	ImageId                 string
	InstanceType            string
	SpotPrice               string `xml:",omitempty"`
	CreatedTime             string
}

// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_DescribeLaunchConfigurations.html
func (c *Cloud) describeConfigurations(q *query) (any, *refusal) {
	if refused := q.only("LaunchConfigurationNames", "MaxRecords", "NextToken"); refused != nil {
		return nil, refused
	}
	size, refused := q.size("MaxRecords", 50, 100)
	if refused != nil {
		return nil, refused
	}
	names := q.list("LaunchConfigurationNames.member")
	if len(names) > 50 {
		return nil, tooLarge(names, "launchConfigurationNames", "length", 50)
	}
	var found []LaunchConfiguration
	for _, l := range c.spec.LaunchConfigurations {
		if len(names) == 0 || slices.Contains(names, l.Name) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b LaunchConfiguration) int { return cmp.Compare(a.Name, b.Name) })
	found, next, ok := page(q, found, func(l LaunchConfiguration) string { return l.Name }, size)
	if !ok {
		return nil, badToken()
	}
	result := describeConfigurationsResult{NextToken: next}
	for _, l := range found {
		result.Configurations = append(result.Configurations, xmlConfiguration{
			LaunchConfigurationName: l.Name,
			LaunchConfigurationARN: fmt.Sprintf("arn:aws:autoscaling:%s:%s:launchConfiguration::launchConfigurationName/%s",
				q.region, q.account, l.Name),
			ImageId: l.ImageID, InstanceType: l.InstanceType, SpotPrice: l.SpotPrice, CreatedTime: millis(c.born),
		})
	}
	return result, nil
}
