package awstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func TestGroupsShowAllThatTheyAre(t *testing.T) {
	zero := 0
	r := newRig(t, awstest.Spec{
		LaunchTemplates:      templates,
		LaunchConfigurations: []awstest.LaunchConfiguration{{Name: "old", InstanceType: "m4.large"}},
		Groups: []awstest.Group{
			{Name: "mixed", Min: 1, Max: 9, Desired: 2, Zones: []string{"us-east-1a", "us-east-1b"},
				Tags:      map[string]string{"k": "v", "a": ""},
				Suspended: []string{"AZRebalance"}, ProtectNew: true, MixedInstances: &awstest.MixedInstances{
					Template: awstest.TemplateRef{Name: "nodes", Version: "$Latest"}, OnDemandPercentage: &zero,
					Overrides: []awstest.Override{
						{InstanceType: "m5.large", Weight: "2"},
						{Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 2, Max: aws.Float64(8)}, MemoryMiB: awstest.Range{Min: 1024}, ExcludedTypes: []string{"t*"}}},
					}}},
			{Name: "old", Max: 3, Desired: 1, LaunchConfiguration: "old", Status: "Delete in progress"},
		},
	})
	g := r.group("mixed")
	if *g.MinSize != 1 || *g.MaxSize != 9 || *g.DesiredCapacity != 2 ||
		!slices.Equal(g.AvailabilityZones, []string{"us-east-1a", "us-east-1b"}) ||
		strings.Count(*g.VPCZoneIdentifier, "subnet-") != 2 ||
		!strings.Contains(*g.AutoScalingGroupARN, "autoScalingGroupName/mixed") || g.Status != nil {
		t.Errorf("the group is %+v", g)
	}
	var tags []string
	for _, tag := range g.Tags {
		tags = append(tags, *tag.Key+"="+*tag.Value)
	}
	if !slices.Equal(tags, []string{"a=", "k=v"}) || *g.SuspendedProcesses[0].ProcessName != "AZRebalance" {
		t.Errorf("tags %v, suspended %+v", tags, g.SuspendedProcesses)
	}
	m := g.MixedInstancesPolicy
	if *m.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName != "nodes" ||
		*m.LaunchTemplate.LaunchTemplateSpecification.Version != "$Latest" ||
		*m.InstancesDistribution.OnDemandPercentageAboveBaseCapacity != 0 {
		t.Errorf("the policy is %+v", m)
	}
	first, second := m.LaunchTemplate.Overrides[0], m.LaunchTemplate.Overrides[1]
	if *first.InstanceType != "m5.large" || *first.WeightedCapacity != "2" || first.InstanceRequirements != nil {
		t.Errorf("the first override is %+v", first)
	}
	if need := second.InstanceRequirements; second.InstanceType != nil || *need.VCpuCount.Min != 2 ||
		*need.VCpuCount.Max != 8 ||
		*need.MemoryMiB.Min != 1024 || need.MemoryMiB.Max != nil ||
		!slices.Equal(need.ExcludedInstanceTypes, []string{"t*"}) || need.AcceleratorCount != nil {
		t.Errorf("the second override's requirements are %+v", need)
	}
	// Two units are one instance of the weight 2.
	if len(g.Instances) != 1 {
		t.Fatalf("there are %d instances", len(g.Instances))
	}
	if i := g.Instances[0]; *i.WeightedCapacity != "2" || *i.InstanceType != "m5.large" || !*i.ProtectedFromScaleIn ||
		*i.HealthStatus != "Healthy" ||
		i.LifecycleState != types.LifecycleStateInService || *i.LaunchTemplate.Version != "3" {
		t.Errorf("the instance is %+v", i)
	}
	if old := r.group("old"); *old.LaunchConfigurationName != "old" || *old.Status != "Delete in progress" ||
		*old.Instances[0].InstanceType != "m4.large" {
		t.Errorf("the old group is %+v", old)
	}
}

func TestGroupsAreFoundByFiltersAndPages(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: templates}
	for i := range 120 {
		g := small(fmt.Sprintf("g%03d", i), 0, 3, 0)
		g.Tags = map[string]string{"cluster": "one", "only": fmt.Sprint(i % 2)}
		spec.Groups = append(spec.Groups, g)
	}
	r := newRig(t, spec)
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	for _, c := range []struct {
		name    string
		filters []types.Filter
		want    int
	}{
		{"none", nil, 120},
		{"a key", []types.Filter{filter("tag-key", "cluster")}, 120},
		{"another case", []types.Filter{filter("tag-key", "Cluster")}, 0},
		{"a key and value", []types.Filter{filter("tag:only", "1")}, 60},
		{"a value", []types.Filter{filter("tag-value", "0")}, 60},
		{"values are ORed", []types.Filter{filter("tag:only", "1", "0")}, 120},
		{"filters are ANDed", []types.Filter{filter("tag-key", "cluster"), filter("tag:only", "1"), filter("tag:only", "0")}, 0},
		{"no wildcards", []types.Filter{filter("tag-key", "clust*")}, 0},
	} {
		r.cloud.ForgetCalls()
		var names []string
		pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(r.asg, &autoscaling.DescribeAutoScalingGroupsInput{
			Filters: c.filters, MaxRecords: aws.Int32(50),
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range out.AutoScalingGroups {
				names = append(names, *g.AutoScalingGroupName)
			}
		}
		if len(names) != c.want || !slices.IsSorted(names) {
			t.Errorf("%s: %d groups, want %d: %v", c.name, len(names), c.want, names)
		}
		if calls := r.cloud.Count("DescribeAutoScalingGroups"); calls != max(1, (c.want+49)/50) {
			t.Errorf("%s: %d calls", c.name, calls)
		}
	}
}

func TestAPageGoesOnWhereTheLastOneEnded(t *testing.T) {
	spec := awstest.Spec{
		LaunchTemplates: templates, Groups: []awstest.Group{small("b", 0, 1, 0), small("d", 0, 1, 0), small("f", 0, 1, 0)},
	}
	r := newRig(t, spec)
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(r.asg,
		&autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(2)})
	if _, err := pages.NextPage(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := r.cloud.Change(func(s *awstest.Spec) {
		s.Groups = append(s.Groups[1:], small("a", 0, 1, 0), small("e", 0, 1, 0))
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := pages.NextPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range out.AutoScalingGroups {
		names = append(names, *g.AutoScalingGroupName)
	}
	if diff := cmp.Diff([]string{"e", "f"}, names); diff != "" {
		t.Errorf("the second page, after b had gone and a and e had come:\n%s", diff)
	}
}

func TestGroupsByName(t *testing.T) {
	r := newRig(t, awstest.Spec{
		LaunchTemplates: templates, Groups: []awstest.Group{small("a", 0, 3, 1), small("b", 0, 3, 0)},
	})
	describe := func(in autoscaling.DescribeAutoScalingGroupsInput) (int, error) {
		out, err := r.asg.DescribeAutoScalingGroups(t.Context(), &in)
		if err != nil {
			return 0, err
		}
		return len(out.AutoScalingGroups), nil
	}
	if n, err := describe(autoscaling.DescribeAutoScalingGroupsInput{
		AutoScalingGroupNames: []string{"a", "missing"},
	}); n != 1 || err != nil {
		t.Errorf("an unknown name beside a known one: %d groups, %v", n, err)
	}
	out, err := r.asg.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{IncludeInstances: aws.Bool(false)})
	if err != nil || len(out.AutoScalingGroups) != 2 || len(out.AutoScalingGroups[0].Instances) != 0 {
		t.Errorf("without instances: %+v, %v", out, err)
	}
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	_, err = describe(autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: many})
	refused(t, err, "ValidationError", "")
	if _, err := describe(autoscaling.DescribeAutoScalingGroupsInput{
		AutoScalingGroupNames: many, MaxRecords: aws.Int32(100),
	}); err != nil {
		t.Errorf("60 names with MaxRecords 100: %v", err)
	}
	_, err = describe(autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(101)})
	refused(t, err, "ValidationError", "1 validation error detected: Value '101' at 'maxRecords' failed to satisfy "+
		"constraint: Member must have value less than or equal to 100")
	_, err = describe(autoscaling.DescribeAutoScalingGroupsInput{NextToken: aws.String("bogus")})
	refused(t, err, "InvalidNextToken", "")
	_, err = describe(autoscaling.DescribeAutoScalingGroupsInput{
		Filters: []types.Filter{{Name: aws.String("zone"), Values: []string{"a"}}},
	})
	refused(t, err, "ValidationError", "")
}

func TestLaunchConfigurations(t *testing.T) {
	r := newRig(t, awstest.Spec{LaunchConfigurations: []awstest.LaunchConfiguration{
		{Name: "one", InstanceType: "m5.large", ImageID: "ami-1"}, {Name: "two", InstanceType: "c5.large", SpotPrice: "0.1"},
		{Name: "three", InstanceType: "c5.xlarge"},
	}})
	out, err := r.asg.DescribeLaunchConfigurations(t.Context(),
		&autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: []string{"two", "none"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.LaunchConfigurations) != 1 || *out.LaunchConfigurations[0].InstanceType != "c5.large" ||
		*out.LaunchConfigurations[0].SpotPrice != "0.1" {
		t.Errorf("found %+v", out.LaunchConfigurations)
	}
	var names []string
	pages := autoscaling.NewDescribeLaunchConfigurationsPaginator(r.asg,
		&autoscaling.DescribeLaunchConfigurationsInput{MaxRecords: aws.Int32(2)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range out.LaunchConfigurations {
			names = append(names, *l.LaunchConfigurationName)
		}
	}
	if diff := cmp.Diff([]string{"one", "three", "two"}, names); diff != "" {
		t.Errorf("paged:\n%s", diff)
	}
	_, err = r.asg.DescribeLaunchConfigurations(t.Context(),
		&autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: make([]string, 51)})
	refused(t, err, "ValidationError", "")
}
