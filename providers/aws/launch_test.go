package aws

import (
	"fmt"
	"reflect"
	"testing"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func lt(id, version string) *asgtypes.LaunchTemplateSpecification {
	s := &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: ptr(id), LaunchTemplateName: ptr("name-of-" + id)}
	if version != "" {
		s.Version = ptr(version)
	}
	return s
}

func mixed(
	spec *asgtypes.LaunchTemplateSpecification, overrides ...asgtypes.LaunchTemplateOverrides,
) *asgtypes.MixedInstancesPolicy {
	return &asgtypes.MixedInstancesPolicy{
		LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: spec, Overrides: overrides},
	}
}

func TestLaunchOf(t *testing.T) {
	byType := func(t string) asgtypes.LaunchTemplateOverrides {
		return asgtypes.LaunchTemplateOverrides{InstanceType: ptr(t)}
	}
	byNeed := asgtypes.LaunchTemplateOverrides{
		InstanceRequirements: &asgtypes.InstanceRequirements{VCpuCount: &asgtypes.VCpuCountRequest{Min: ptr(int32(4))}},
	}
	for name, c := range map[string]struct {
		group asgtypes.AutoScalingGroup
		want  string // of the launch, or of its error
		wrong bool
	}{
		"configuration":             {asgtypes.AutoScalingGroup{LaunchConfigurationName: ptr("lc")}, "lc", false},
		"configuration first":       {asgtypes.AutoScalingGroup{LaunchConfigurationName: ptr("lc"), LaunchTemplate: lt("lt", "1")}, "lc", false},
		"template":                  {asgtypes.AutoScalingGroup{LaunchTemplate: lt("lt", "7")}, "lt 7", false},
		"no version is the default": {asgtypes.AutoScalingGroup{LaunchTemplate: lt("lt", "")}, "lt $Default", false},
		"template before policy":    {asgtypes.AutoScalingGroup{LaunchTemplate: lt("lt", "$Latest"), MixedInstancesPolicy: mixed(lt("x", ""))}, "lt $Latest", false},
		"policy":                    {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"))}, "lt 3", false},
		"overrides":                 {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"), byType("a"), byType("b"), byType("a"))}, "[a b]", false},
		"requirements":              {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"), byNeed)}, "lt 3 needs 4", false},
		"requirements of another": {
			asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"), asgtypes.LaunchTemplateOverrides{
				InstanceRequirements: byNeed.InstanceRequirements, LaunchTemplateSpecification: lt("own", "2"),
			})}, "own 2 needs 4", false,
		},
		"both":                      {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"), byType("a"), byNeed)}, "", true},
		"two requirements":          {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(lt("lt", "3"), byNeed, byNeed)}, "", true},
		"nothing":                   {asgtypes.AutoScalingGroup{}, "", true},
		"empty policy":              {asgtypes.AutoScalingGroup{MixedInstancesPolicy: &asgtypes.MixedInstancesPolicy{}}, "", true},
		"policy without a template": {asgtypes.AutoScalingGroup{MixedInstancesPolicy: mixed(nil)}, "", true},
		"nameless template":         {asgtypes.AutoScalingGroup{LaunchTemplate: &asgtypes.LaunchTemplateSpecification{}}, "", true},
	} {
		l, err := launchOf(c.group)
		got := l.config
		switch {
		case len(l.types) > 0:
			got = fmt.Sprint(l.types)
		case l.requirements != nil:
			got = fmt.Sprintf("%s %s needs %d", l.template.id, l.template.version, *l.requirements.VCpuCount.Min)
		case l.template.id != "":
			got = l.template.id + " " + l.template.version
		}
		if (err != nil) != c.wrong || err == nil && got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestNoRequirementIsLost: whatever field the SDK has for requirements reaches
// the question to EC2. Upstream copies by hand, and lacks the newer ones.
func TestNoRequirementIsLost(t *testing.T) {
	for _, from := range []any{&asgtypes.InstanceRequirements{}, &ec2types.InstanceRequirements{}} {
		fill(reflect.ValueOf(from).Elem(), 1)
		got, err := requestOf(from)
		if err != nil {
			t.Fatal(err)
		}
		compareFields(t, fmt.Sprintf("%T", from), reflect.ValueOf(from).Elem(), reflect.ValueOf(got).Elem())
	}
}

// fill sets every field of a value to something.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n+i)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+1)
	case reflect.String:
		v.SetString(fmt.Sprint("value", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 2)
	}
}

// compareFields looks for each field of from in to, by its name.
func compareFields(t *testing.T, path string, from, to reflect.Value) {
	t.Helper()
	if from.Kind() == reflect.Pointer {
		if to.Kind() != reflect.Pointer || to.IsNil() {
			t.Errorf("%s is lost", path)
			return
		}
		from, to = from.Elem(), to.Elem()
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			f := from.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			other := to.FieldByName(f.Name)
			if !other.IsValid() {
				t.Errorf("%s.%s is no field of the question", path, f.Name)
				continue
			}
			compareFields(t, path+"."+f.Name, from.Field(i), other)
		}
	case reflect.Slice:
		if from.Len() != to.Len() {
			t.Errorf("%s has %d of %d elements", path, to.Len(), from.Len())
			return
		}
		for i := range from.Len() {
			compareFields(t, path, from.Index(i), to.Index(i))
		}
	default:
		if fmt.Sprint(from.Interface()) != fmt.Sprint(to.Interface()) {
			t.Errorf("%s is %v, want %v", path, to.Interface(), from.Interface())
		}
	}
}

func TestRequirementsPromise(t *testing.T) {
	r := &ec2types.InstanceRequirementsRequest{
		VCpuCount:                &ec2types.VCpuCountRangeRequest{Min: ptr(int32(4))},
		MemoryMiB:                &ec2types.MemoryMiBRequest{Min: ptr(int32(8192))},
		AcceleratorManufacturers: []ec2types.AcceleratorManufacturer{"nvidia"},
		AcceleratorTypes:         []ec2types.AcceleratorType{"gpu"},
	}
	// An accelerator count that is not there made upstream crash.
	if got := atLeast(r); got.CPU != 4 || got.MemoryMiB != 8192 || got.NVIDIA != 0 {
		t.Errorf("%+v", got)
	}
	r.AcceleratorCount = &ec2types.AcceleratorCountRequest{Min: ptr(int32(2))}
	if got := atLeast(r); got.NVIDIA != 2 {
		t.Errorf("%+v", got)
	}
	r.AcceleratorManufacturers = append(r.AcceleratorManufacturers, "amd")
	if got := atLeast(r); got.NVIDIA != 0 {
		t.Errorf("what may be AMD's is not NVIDIA's: %+v", got)
	}
	for _, c := range []struct {
		cpu, memoryMiB         int32
		least, most            *float64
		wantCPU, wantMemoryMiB int64
	}{
		{4, 0, ptr(4.0), nil, 4, 16384},        // 4 GiB for each of 4 vCPUs
		{4, 32768, ptr(4.0), nil, 4, 32768},    // more is asked for anyway
		{2, 65536, nil, ptr(8.0), 8, 65536},    // 64 GiB need 8 vCPUs
		{2, 8192, ptr(0.5), ptr(8.0), 2, 8192}, // nothing follows
		{2, 10240, nil, ptr(3.0), 3, 10240},    // a fraction is left out
	} {
		got := atLeast(&ec2types.InstanceRequirementsRequest{
			VCpuCount:        &ec2types.VCpuCountRangeRequest{Min: ptr(c.cpu)},
			MemoryMiB:        &ec2types.MemoryMiBRequest{Min: ptr(c.memoryMiB)},
			MemoryGiBPerVCpu: &ec2types.MemoryGiBPerVCpuRequest{Min: c.least, Max: c.most},
		})
		if got.CPU != c.wantCPU || got.MemoryMiB != c.wantMemoryMiB {
			t.Errorf("%+v: %d vCPUs, %d MiB", c, got.CPU, got.MemoryMiB)
		}
	}
	if got := atLeast(&ec2types.InstanceRequirementsRequest{}); got.CPU != 0 {
		t.Errorf("%+v", got)
	}
}

func TestMachineOf(t *testing.T) {
	got := machineOf(ec2types.InstanceTypeInfo{
		InstanceType: "p5.48xlarge", VCpuInfo: &ec2types.VCpuInfo{DefaultVCpus: ptr(int32(192))},
		MemoryInfo:    &ec2types.MemoryInfo{SizeInMiB: ptr(int64(2097152))},
		ProcessorInfo: &ec2types.ProcessorInfo{SupportedArchitectures: []ec2types.ArchitectureType{"x86_64"}},
		GpuInfo: &ec2types.GpuInfo{Gpus: []ec2types.GpuDeviceInfo{
			{Manufacturer: ptr("NVIDIA"), Count: ptr(int32(8))}, {Manufacturer: ptr("Habana"), Count: ptr(int32(3))},
		}},
		NetworkInfo: &ec2types.NetworkInfo{MaximumNetworkInterfaces: ptr(int32(64)),
			Ipv4AddressesPerInterface: ptr(int32(50)), DefaultNetworkCardIndex: ptr(int32(0)),
			NetworkCards: []ec2types.NetworkCardInfo{
				{NetworkCardIndex: ptr(int32(1)), MaximumNetworkInterfaces: ptr(int32(31))},
				{NetworkCardIndex: ptr(int32(0)), MaximumNetworkInterfaces: ptr(int32(2))},
			}},
	})
	want := builtIn["p5.48xlarge"]
	want.source, want.From = "instance type p5.48xlarge", ""
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(machine{})); diff != "" {
		t.Error(diff)
	}
	trn := machineOf(ec2types.InstanceTypeInfo{NeuronInfo: &ec2types.NeuronInfo{NeuronDevices: []ec2types.NeuronDeviceInfo{
		{Count: ptr(int32(16)), CoreInfo: &ec2types.NeuronDeviceCoreInfo{Count: ptr(int32(2))}},
	}}})
	if trn.Neuron != 16 || trn.NeuronCores != 32 {
		t.Errorf("%+v", trn)
	}
	if empty := machineOf(ec2types.InstanceTypeInfo{}); empty.CPU != 0 || empty.ENIPods != 0 {
		t.Errorf("%+v", empty)
	}
}

// TestBuiltInTypes: the list holds what it is there for, and nothing absurd.
func TestBuiltInTypes(t *testing.T) {
	for _, name := range []string{"t3.medium", "t3a.small", "t4g.nano", "m5.large", "m5a.24xlarge", "m6i.32xlarge",
		"m6a.48xlarge", "m6g.medium", "m7i.48xlarge", "m7a.medium", "m7g.16xlarge",
		"c5.9xlarge", "c6g.metal", "c7i.metal-24xl", "r5.metal", "r6i.large", "r7a.xlarge", "g4dn.metal", "g5.48xlarge",
		"g6.xlarge", "p3.2xlarge", "p4d.24xlarge", "p5.48xlarge", "inf1.6xlarge", "inf2.xlarge", "trn1.32xlarge"} {
		m, ok := builtIn[name]
		if !ok || m.CPU <= 0 || m.MemoryMiB < 512 || m.Arch != archAMD && m.Arch != archARM {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if len(builtIn) < 1000 || builtInDate == "" {
		t.Errorf("%d types", len(builtIn))
	}
}
