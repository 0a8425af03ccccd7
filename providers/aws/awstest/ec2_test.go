package awstest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func TestLaunchTemplateVersions(t *testing.T) {
	r := newRig(t, awstest.Spec{
		LaunchTemplates: append([]awstest.LaunchTemplate{{ID: "lt-0b", Name: "other", Versions: []awstest.TemplateVersion{{
			Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 4}, MemoryMiB: awstest.Range{
				Min: 1024, Max: aws.Float64(4096),
			}, AcceleratorTypes: []string{"gpu"}, AcceleratorCount: &awstest.Range{Max: aws.Float64(0)}, BareMetal: "included"},
		}}}}, templates...),
	})
	read := func(in ec2.DescribeLaunchTemplateVersionsInput) ([]string, error) {
		var all []string
		pages := ec2.NewDescribeLaunchTemplateVersionsPaginator(r.ec2, &in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				return nil, err
			}
			for _, v := range out.LaunchTemplateVersions {
				all = append(all, fmt.Sprintf("%s %s %d %s",
					*v.LaunchTemplateId, *v.LaunchTemplateName, *v.VersionNumber, v.LaunchTemplateData.InstanceType))
			}
		}
		return all, nil
	}
	one, two, three := "lt-0a nodes 1 t3.micro", "lt-0a nodes 2 m5.large", "lt-0a nodes 3 m6g.large"
	for _, c := range []struct {
		name string
		in   ec2.DescribeLaunchTemplateVersionsInput
		want []string
	}{
		{"the default", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), Versions: []string{"$Default"}}, []string{two}},
		{"the latest, by id", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a"), Versions: []string{"$Latest"}}, []string{three}},
		{"numbers", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), Versions: []string{"1", "2", "$Default"}}, []string{one, two}},
		{"all, paged", ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), MaxResults: aws.Int32(1)}, []string{one, two, three}},
		{"the latest of all", ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}}, []string{three, "lt-0b other 1 "}},
	} {
		got, err := read(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	for _, c := range []struct {
		in   ec2.DescribeLaunchTemplateVersionsInput
		code string
	}{
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("gone"), Versions: []string{"$Default"}}, "InvalidLaunchTemplateName.NotFoundException"},
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0c")}, "InvalidLaunchTemplateId.NotFound"},
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a"), Versions: []string{"7"}}, "InvalidLaunchTemplateId.VersionNotFound"},
		{ec2.DescribeLaunchTemplateVersionsInput{}, "MissingParameter"},
		{ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"1"}}, "MissingParameter"},
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a"), LaunchTemplateName: aws.String("nodes")}, "InvalidParameterCombination"},
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a"), MaxResults: aws.Int32(201)}, "InvalidParameterValue"},
		{ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a"), MinVersion: aws.String("2")}, "AwstestNotSimulated"},
	} {
		_, err := read(c.in)
		refused(t, err, c.code, "")
	}
	out, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateName: aws.String("nodes"), Versions: []string{"2", "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	second, third := out.LaunchTemplateVersions[0], out.LaunchTemplateVersions[1]
	if !*second.DefaultVersion || *second.LaunchTemplateData.ImageId != "ami-1" ||
		*second.LaunchTemplateData.BlockDeviceMappings[0].Ebs.VolumeSize != 80 ||
		third.LaunchTemplateData.InstanceMarketOptions.MarketType != types.MarketTypeSpot {
		t.Errorf("versions 2 and 3 are %+v and %+v", second, third)
	}
	out, err = r.ec2.DescribeLaunchTemplateVersions(t.Context(),
		&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("other")})
	if err != nil {
		t.Fatal(err)
	}
	need := out.LaunchTemplateVersions[0].LaunchTemplateData.InstanceRequirements
	if *need.VCpuCount.Min != 4 || need.VCpuCount.Max != nil || *need.MemoryMiB.Max != 4096 ||
		need.AcceleratorTypes[0] != types.AcceleratorTypeGpu ||
		*need.AcceleratorCount.Max != 0 || need.BareMetal != types.BareMetalIncluded {
		t.Errorf("the requirements are %+v", need)
	}
}

func TestInstanceTypes(t *testing.T) {
	spec := awstest.Spec{InstanceTypes: []awstest.InstanceType{{Name: "x9.large", VCPU: 2, MemoryMiB: 4096, EFAs: 2}}}
	for i := range 100 {
		spec.InstanceTypes = append(spec.InstanceTypes, awstest.InstanceType{
			Name: fmt.Sprintf("z%02d.large", i), VCPU: 1, MemoryMiB: 1024,
		})
	}
	r := newRig(t, spec)
	out, err := r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{
		InstanceTypes: []types.InstanceType{"m5.large", "m6g.large", "g4dn.12xlarge", "inf2.xlarge", "x9.large"},
	})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[types.InstanceType]types.InstanceTypeInfo{}
	for _, info := range out.InstanceTypes {
		byName[info.InstanceType] = info
	}
	if m := byName["m5.large"]; *m.VCpuInfo.DefaultVCpus != 2 || *m.MemoryInfo.SizeInMiB != 8192 ||
		m.ProcessorInfo.SupportedArchitectures[0] != types.ArchitectureTypeX8664 ||
		m.GpuInfo != nil || m.NeuronInfo != nil || *m.NetworkInfo.MaximumNetworkInterfaces != 3 ||
		*m.NetworkInfo.Ipv4AddressesPerInterface != 10 || !*m.CurrentGeneration {
		t.Errorf("m5.large is %+v", m)
	}
	if m := byName["m6g.large"]; m.ProcessorInfo.SupportedArchitectures[0] != types.ArchitectureTypeArm64 {
		t.Errorf("m6g.large is %+v", m)
	}
	if g := byName["g4dn.12xlarge"].GpuInfo; *g.Gpus[0].Count != 4 || *g.Gpus[0].Name != "T4" ||
		*g.Gpus[0].Manufacturer != "NVIDIA" || *g.TotalGpuMemoryInMiB != 65536 {
		t.Errorf("g4dn.12xlarge has %+v", g)
	}
	if n := byName["inf2.xlarge"]; *n.NeuronInfo.NeuronDevices[0].Count != 1 ||
		*n.NeuronInfo.NeuronDevices[0].CoreInfo.Count != 2 ||
		*n.InferenceAcceleratorInfo.Accelerators[0].Name != "Inferentia2" {
		t.Errorf("inf2.xlarge has %+v", n.NeuronInfo)
	}
	if x := byName["x9.large"]; *x.NetworkInfo.EfaInfo.MaximumEfaInterfaces != 2 {
		t.Errorf("x9.large is %+v", x)
	}

	count := 0
	pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count += len(out.InstanceTypes)
	}
	if calls := r.cloud.Count("DescribeInstanceTypes"); count < 115 || calls != 3 {
		t.Errorf("%d types, and %d calls with the one by names", count, calls)
	}
	_, err = r.ec2.DescribeInstanceTypes(t.Context(),
		&ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large", "nope.large"}})
	refused(t, err, "InvalidInstanceType", "The following supplied instance types do not exist: [nope.large]")
	_, err = r.ec2.DescribeInstanceTypes(t.Context(),
		&ec2.DescribeInstanceTypesInput{InstanceTypes: make([]types.InstanceType, 101)})
	refused(t, err, "InvalidParameterValue", "")
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(4)})
	refused(t, err, "InvalidParameterValue", "")
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{NextToken: aws.String("bogus")})
	refused(t, err, "InvalidPaginationToken", "")
}

func TestImages(t *testing.T) {
	r := newRig(t, awstest.Spec{Images: []awstest.Image{{ID: "ami-1", Name: "x86"}, {ID: "ami-2", Architecture: "arm64"}}})
	out, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-2"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Images) != 1 || out.Images[0].Architecture != types.ArchitectureValuesArm64 ||
		out.Images[0].VirtualizationType != types.VirtualizationTypeHvm || out.Images[0].State != types.ImageStateAvailable {
		t.Errorf("the images are %+v", out.Images)
	}
	_, err = r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-1", "ami-9"}})
	refused(t, err, "InvalidAMIID.NotFound", "The image id '[ami-9]' does not exist")
	_, err = r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"image"}})
	refused(t, err, "InvalidAMIID.Malformed", "")
}

func TestTypesFromRequirements(t *testing.T) {
	r := newRig(t, awstest.Spec{})
	find := func(need types.InstanceRequirementsRequest, architecture types.ArchitectureType) []string {
		t.Helper()
		var names []string
		pages := ec2.NewGetInstanceTypesFromInstanceRequirementsPaginator(r.ec2,
			&ec2.GetInstanceTypesFromInstanceRequirementsInput{
				ArchitectureTypes: []types.ArchitectureType{architecture}, VirtualizationTypes: []types.VirtualizationType{"hvm"},
				InstanceRequirements: &need, MaxResults: aws.Int32(2)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range out.InstanceTypes {
				names = append(names, *i.InstanceType)
			}
		}
		return names
	}
	cpu := func(low, high int32) *types.VCpuCountRangeRequest {
		return &types.VCpuCountRangeRequest{Min: &low, Max: &high}
	}
	memory := func(low int32) *types.MemoryMiBRequest { return &types.MemoryMiBRequest{Min: &low} }
	for _, c := range []struct {
		name string
		need types.InstanceRequirementsRequest
		arch types.ArchitectureType
		want []string
	}{
		{"small, of the current generation, no burstable ones", types.InstanceRequirementsRequest{
			VCpuCount: cpu(1, 2), MemoryMiB: memory(0), InstanceGenerations: []types.InstanceGeneration{"current"},
		}, "x86_64",
			[]string{"c5.large", "i3.large", "m5.large", "r5.large"}},
		{"arm", types.InstanceRequirementsRequest{VCpuCount: cpu(1, 4), MemoryMiB: memory(0)}, "arm64", []string{"m6g.large", "m6g.xlarge"}},
		{"GPUs", types.InstanceRequirementsRequest{
			VCpuCount:                cpu(1, 96),
			MemoryMiB:                memory(0),
			AcceleratorTypes:         []types.AcceleratorType{"gpu"},
			AcceleratorManufacturers: []types.AcceleratorManufacturer{"nvidia"},
			AcceleratorCount:         &types.AcceleratorCountRequest{Min: aws.Int32(1), Max: aws.Int32(1)},
		}, "x86_64", []string{"g4dn.xlarge", "p3.2xlarge"}},
		{"no accelerators", types.InstanceRequirementsRequest{VCpuCount: cpu(4, 4), MemoryMiB: memory(16384), AcceleratorCount: &types.AcceleratorCountRequest{Max: aws.Int32(0)}}, "x86_64", []string{"m5.xlarge", "r5.xlarge"}},
		{"by pattern", types.InstanceRequirementsRequest{VCpuCount: cpu(1, 96), MemoryMiB: memory(0),
			AllowedInstanceTypes: []string{"m5*", "t3.*"}, BareMetal: "included", BurstablePerformance: "included"}, "x86_64",
			[]string{"m5.2xlarge", "m5.4xlarge", "m5.large", "m5.metal", "m5.xlarge", "t3.medium", "t3.micro"}},
		{"memory per CPU, and not some", types.InstanceRequirementsRequest{
			VCpuCount:             cpu(1, 4),
			MemoryMiB:             memory(0),
			MemoryGiBPerVCpu:      &types.MemoryGiBPerVCpuRequest{Min: aws.Float64(7.5)},
			ExcludedInstanceTypes: []string{"i*"},
		}, "x86_64", []string{"r5.large", "r5.xlarge"}},
		{"nothing", types.InstanceRequirementsRequest{VCpuCount: cpu(97, 97), MemoryMiB: memory(0)}, "x86_64", nil},
	} {
		if diff := cmp.Diff(c.want, find(c.need, c.arch)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	_, err := r.ec2.GetInstanceTypesFromInstanceRequirements(t.Context(),
		&ec2.GetInstanceTypesFromInstanceRequirementsInput{
			ArchitectureTypes: []types.ArchitectureType{"x86_64"}, VirtualizationTypes: []types.VirtualizationType{"hvm"},
			InstanceRequirements: &types.InstanceRequirementsRequest{
				VCpuCount: cpu(1, 2), MemoryMiB: memory(0), RequireHibernateSupport: aws.Bool(true),
			}})
	refused(t, err, "AwstestNotSimulated", "")
}

// A group of requirements launches one of the types that meet them, for the
// architecture of the template's image.
func TestAGroupByRequirementsLaunchesOneThatMeetsThem(t *testing.T) {
	r := newRig(t, awstest.Spec{
		Images: []awstest.Image{{ID: "ami-arm", Architecture: "arm64"}},
		LaunchTemplates: []awstest.LaunchTemplate{{
			ID: "lt-1", Name: "arm", Versions: []awstest.TemplateVersion{{ImageID: "ami-arm"}},
		}},
		Groups: []awstest.Group{{
			Name: "g", Max: 9, Desired: 1, MixedInstances: &awstest.MixedInstances{Template: awstest.TemplateRef{ID: "lt-1"},
				Overrides: []awstest.Override{{Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 1}}}}},
		}},
	})
	if got := *r.group("g").Instances[0].InstanceType; !slices.Contains([]string{"m6g.large", "m6g.xlarge"}, got) {
		t.Errorf("an ARM group launched %s", got)
	}
}
