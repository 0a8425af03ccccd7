package aws

import (
	"strings"
	"testing"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/provider"
)

var plainRules = templateRules{precedence: ASGTags, maxPods: podsRule{fixed: 110}}

func amountsOf(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

func TestTemplateOfAnInstanceType(t *testing.T) {
	got, conflicts, err := buildTemplate(templateFacts{
		region: "eu-west-1", zones: []string{"eu-west-1a"}, machines: []machine{builtIn["g4dn.12xlarge"]},
	}, plainRules)
	if err != nil || len(conflicts) > 0 {
		t.Fatal(err, conflicts)
	}
	wantLabels := map[string]string{
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "g4dn.12xlarge",
		"topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": "eu-west-1a",
		"topology.ebs.csi.aws.com/zone": "eu-west-1a",
	}
	if diff := cmp.Diff(wantLabels, got.Node.Labels); diff != "" {
		t.Error(diff)
	}
	wantAmounts := map[string]string{"cpu": "48", "memory": "192Gi", "pods": "110", "nvidia.com/gpu": "4"}
	if diff := cmp.Diff(wantAmounts, amountsOf(got.Node.Status.Allocatable)); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"label/kubernetes.io/arch", "label/topology.kubernetes.io/zone", "resource/cpu",
		"resource/pods", "resource/nvidia.com/gpu"} {
		if got.Sources[key] == "" {
			t.Errorf("%s has no source", key)
		}
	}
	if got.Node.Name != "" || len(got.Varies) > 0 || got.Version == "" {
		t.Errorf("name %q, varies %v, version %q", got.Node.Name, got.Varies, got.Version)
	}
}

func TestTemplateMachines(t *testing.T) {
	for _, c := range []struct {
		name    string
		types   []string
		labels  map[string]string
		varies  map[string][]string
		amounts map[string]string
	}{
		{"arm", []string{"m7g.large"}, map[string]string{
			"kubernetes.io/arch": "arm64", "node.kubernetes.io/instance-type": "m7g.large",
		}, nil,
			map[string]string{"cpu": "2", "memory": "8Gi", "pods": "110"}},
		{"neuron", []string{"inf2.24xlarge"}, map[string]string{
			"kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "inf2.24xlarge",
		}, nil,
			map[string]string{
				"cpu": "96", "memory": "384Gi", "pods": "110", "aws.amazon.com/neuron": "6", "aws.amazon.com/neuroncore": "12",
			}},
		// The least of them all, since AWS picks, and picks no GPU by chance.
		{"several", []string{"m5.xlarge", "m6g.large", "g5.xlarge"}, map[string]string{}, map[string][]string{
			"kubernetes.io/arch":               {"amd64", "arm64"},
			"node.kubernetes.io/instance-type": {"g5.xlarge", "m5.xlarge", "m6g.large"}},
			map[string]string{"cpu": "2", "memory": "8Gi", "pods": "110"}},
	} {
		f := templateFacts{}
		for _, name := range c.types {
			f.machines = append(f.machines, builtIn[name])
		}
		got, _, err := buildTemplate(f, plainRules)
		if err != nil {
			t.Fatal(err)
		}
		c.labels["kubernetes.io/os"] = "linux"
		if diff := cmp.Diff(c.labels, got.Node.Labels); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.varies, got.Varies); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.amounts, amountsOf(got.Node.Status.Capacity)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestZonesOfAGroupOverSeveralVary: upstream takes the first. A tag can settle
// one, and leaves the other.
func TestZonesOfAGroupOverSeveralVary(t *testing.T) {
	f := templateFacts{
		region: "us-west-2", zones: []string{"us-west-2b", "us-west-2a"}, machines: []machine{builtIn["m5.large"]},
	}
	got, _, _ := buildTemplate(f, plainRules)
	want := map[string][]string{
		"topology.kubernetes.io/zone":   {"us-west-2a", "us-west-2b"},
		"topology.ebs.csi.aws.com/zone": {"us-west-2a", "us-west-2b"},
	}
	if diff := cmp.Diff(want, got.Varies); diff != "" {
		t.Error(diff)
	}
	for i, zone := range want["topology.kubernetes.io/zone"] {
		labels := map[string]string{"topology.kubernetes.io/zone": zone, "topology.ebs.csi.aws.com/zone": zone}
		if len(got.Places) != 2 || !got.Balanced {
			t.Fatalf("places %v, balanced %t", got.Places, got.Balanced)
		}
		if diff := cmp.Diff(provider.Place{Zone: zone, Labels: labels}, got.Places[i]); diff != "" {
			t.Error(diff)
		}
	}
	f.tags = parseTags(map[string]string{tagLabel + "topology.kubernetes.io/zone": "us-west-2a"})
	got, _, _ = buildTemplate(f, plainRules)
	if got.Node.Labels["topology.kubernetes.io/zone"] != "us-west-2a" || len(got.Varies) != 1 ||
		len(got.Places) != 0 || got.Balanced {
		t.Errorf("labels %v, varies %v, places %v", got.Node.Labels, got.Varies, got.Places)
	}
}

// TestTheRegionOfALocalZone is not its name without the last letter.
func TestTheRegionOfALocalZone(t *testing.T) {
	got, _, _ := buildTemplate(templateFacts{
		region: "us-west-2", zones: []string{"us-west-2-lax-1a"}, machines: []machine{builtIn["t3.medium"]},
	}, plainRules)
	if r := got.Node.Labels["topology.kubernetes.io/region"]; r != "us-west-2" {
		t.Errorf("region %q", r)
	}
}

func sampleNodegroup() nodegroup {
	return nodegroupFrom(&ekstypes.Nodegroup{
		NodegroupName: ptr("ng"), CapacityType: ekstypes.CapacityTypesSpot, AmiType: ekstypes.AMITypesAl2023X8664Standard,
		DiskSize: ptr(int32(100)), Version: ptr("1.37"),
		Labels: map[string]string{"team": "eks", "only-eks": "1"},
		Taints: []ekstypes.Taint{
			{Key: ptr("both"), Value: ptr("eks"), Effect: ekstypes.TaintEffectNoSchedule},
			{Key: ptr("both"), Value: ptr("eks"), Effect: ekstypes.TaintEffectNoExecute},
			{Key: ptr("no-value"), Effect: ekstypes.TaintEffectPreferNoSchedule},
		},
		Tags: map[string]string{
			tagResource + "example.com/dongle": "1", tagResource + "only-eks": "3", tagLabel + "ignored": "x", "owner": "me",
		},
	})
}

var sampleTags = map[string]string{
	tagLabel + "team":                  "asg",
	tagLabel + "only-asg":              "1",
	tagTaint + "both":                  "asg:NoSchedule",
	tagTaint + "only-asg":              ":NoExecute",
	tagResource + "example.com/dongle": "2",
	tagResource + "memory":             "7Gi",
}

// TestPrecedence plays every source in both orders.
func TestPrecedence(t *testing.T) {
	for _, c := range []struct {
		precedence           Precedence
		team, both, dongle   string
		teamSource, dongleBy string
	}{
		{ASGTags, "asg", "asg", "2", sourceTag, sourceTag},
		{EKSAPI, "eks", "eks", "1", sourceEKS, sourceEKS + " tag"},
	} {
		n := sampleNodegroup()
		rules := plainRules
		rules.precedence = c.precedence
		got, conflicts, err := buildTemplate(
			templateFacts{machines: []machine{builtIn["m5.large"]}, tags: parseTags(sampleTags), nodegroup: &n}, rules,
		)
		if err != nil {
			t.Fatal(err)
		}
		wantLabels := map[string]string{
			"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m5.large",
			"team": c.team, "only-eks": "1", "only-asg": "1",
			"eks.amazonaws.com/nodegroup": "ng", "eks.amazonaws.com/capacityType": "SPOT", "amiType": "AL2023_x86_64_STANDARD",
			"diskSize": "100", "k8sVersion": "1.37",
		}
		if diff := cmp.Diff(wantLabels, got.Node.Labels); diff != "" {
			t.Errorf("%s: %s", c.precedence, diff)
		}
		wantTaints := []corev1.Taint{
			{Key: "both", Value: "eks", Effect: "NoExecute"}, {Key: "both", Value: c.both, Effect: "NoSchedule"},
			{Key: "no-value", Effect: "PreferNoSchedule"}, {Key: "only-asg", Effect: "NoExecute"},
		}
		if diff := cmp.Diff(wantTaints, got.Node.Spec.Taints); diff != "" {
			t.Errorf("%s: %s", c.precedence, diff)
		}
		wantAmounts := map[string]string{"cpu": "2", "memory": "7Gi", "pods": "110", "ephemeral-storage": "100Gi",
			"example.com/dongle": c.dongle, "only-eks": "3"}
		if diff := cmp.Diff(wantAmounts, amountsOf(got.Node.Status.Allocatable)); diff != "" {
			t.Errorf("%s: %s", c.precedence, diff)
		}
		var told []string
		for _, conflict := range conflicts {
			told = append(told, conflict.what+" "+conflict.tag+"/"+conflict.eks)
		}
		if diff := cmp.Diff(
			[]string{"label/team asg/eks", "taint/both:NoSchedule asg/eks", "resource/example.com/dongle 2/1"}, told,
		); diff != "" {
			t.Errorf("%s: %s", c.precedence, diff)
		}
		wantSources := map[string]string{
			"label/team": c.teamSource, "label/only-eks": sourceEKS,
			"label/only-asg": sourceTag, "label/eks.amazonaws.com/nodegroup": sourceEKS,
			"label/diskSize": sourceEKS + " (the real nodes do not carry it)", "resource/example.com/dongle": c.dongleBy,
			"resource/memory": sourceTag,
			"taint/no-value":  sourceEKS, "taint/only-asg": sourceTag, "resource/ephemeral-storage": sourceEKS + ": diskSize",
		}
		for key, want := range wantSources {
			if got.Sources[key] != want {
				t.Errorf("%s: the source of %s is %q, want %q", c.precedence, key, got.Sources[key], want)
			}
		}
	}
}

// TestTC6DuplicateLabelKeysSelectTheTag: the seed's own case.
func TestTC6DuplicateLabelKeysSelectTheTag(t *testing.T) {
	n := nodegroup{labels: map[string]string{"key": "from-eks"}}
	got, conflicts, _ := buildTemplate(templateFacts{machines: []machine{builtIn["m5.large"]}, nodegroup: &n,
		tags: parseTags(map[string]string{tagLabel + "key": "from-asg"})}, plainRules)
	if v := got.Node.Labels["key"]; v != "from-asg" || len(conflicts) != 1 {
		t.Errorf("key=%q, conflicts %v", v, conflicts)
	}
	for _, value := range []string{"from-asg", "from-eks"} {
		if !strings.Contains(conflicts[0].String(), value) {
			t.Errorf("the conflict does not tell %q: %s", value, conflicts[0])
		}
	}
}

// TestEqualValuesAreNoConflict, however they are written.
func TestEqualValuesAreNoConflict(t *testing.T) {
	n := nodegroup{
		labels:    map[string]string{"key": "v"},
		resources: map[corev1.ResourceName]amount{"memory": {resource.MustParse("1Gi"), "1Gi"}},
	}
	_, conflicts, _ := buildTemplate(templateFacts{machines: []machine{builtIn["m5.large"]}, nodegroup: &n,
		tags: parseTags(map[string]string{tagLabel + "key": "v", tagResource + "memory": "1024Mi"})}, plainRules)
	if len(conflicts) > 0 {
		t.Error(conflicts)
	}
}

// TestASGTagsBeatWhatTheMachineSays: generic labels too (PR #3926 upstream).
func TestASGTagsBeatWhatTheMachineSays(t *testing.T) {
	got, _, _ := buildTemplate(templateFacts{machines: []machine{builtIn["m5.large"]},
		tags: parseTags(map[string]string{
			tagLabel + "kubernetes.io/arch": "arm64", tagResource + "cpu": "1500m",
		})}, plainRules)
	cpu := got.Node.Status.Allocatable["cpu"]
	if got.Node.Labels["kubernetes.io/arch"] != "arm64" || cpu.String() != "1500m" {
		t.Errorf("arch %s, cpu %s", got.Node.Labels["kubernetes.io/arch"], cpu.String())
	}
}

func TestReserved(t *testing.T) {
	m := builtIn["m5.xlarge"] // 4 CPUs, 16 GiB, 58 pods by its interfaces
	n := nodegroup{diskGiB: 20}
	for _, c := range []struct {
		reserved, pods string
		want           map[string]string
	}{
		{"none", "", map[string]string{"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "20Gi"}},
		{"", "eni", map[string]string{"cpu": "4", "memory": "16Gi", "pods": "58", "ephemeral-storage": "20Gi"}},
		{"cpu=250m,memory=1Gi", "50", map[string]string{"cpu": "3750m", "memory": "15Gi", "pods": "50", "ephemeral-storage": "20Gi"}},
		// 60 + 10 + 2 × 5 millicores; 255 + 11 × 58 + 100 MiB; 1 GiB and a tenth.
		{"eks", "eni", map[string]string{"cpu": "3920m", "memory": "15391Mi", "pods": "58", "ephemeral-storage": "17Gi"}},
		{"cpu=100", "110", map[string]string{"cpu": "0", "memory": "16Gi", "pods": "110", "ephemeral-storage": "20Gi"}},
	} {
		s, err := Config{Nodes: []string{"0:1:g"}, KubeReserved: c.reserved, MaxPods: c.pods}.read()
		if err != nil {
			t.Fatal(err)
		}
		got, _, terr := buildTemplate(templateFacts{machines: []machine{m}, nodegroup: &n}, s.template)
		if terr != nil {
			t.Fatal(terr)
		}
		if diff := cmp.Diff(c.want, amountsOf(got.Node.Status.Allocatable)); diff != "" {
			t.Errorf("%q, %q: %s", c.reserved, c.pods, diff)
		}
		if full := got.Node.Status.Capacity["cpu"]; full.String() != "4" {
			t.Errorf("%q: the capacity is reduced as well: %s", c.reserved, full.String())
		}
	}
	for milli, want := range map[int64]int64{1000: 60, 2000: 70, 4000: 80, 8000: 90, 96000: 310} {
		if got := eksReservedMilliCPU(milli); got != want {
			t.Errorf("of %d millicores %d are reserved, want %d", milli, got, want)
		}
	}
	for _, text := range []string{"cpu", "cpu=", "cpu=x", "cpu=1,cpu=2", "pods=3", "cpu=-1", "eks,cpu=1", "cpu=1,"} {
		if _, err := parseReserved(text); err == nil {
			t.Errorf("--aws-kube-reserved=%q is accepted", text)
		}
	}
}

// TestWhatTagsSetIsNotReducedAgain: an amount by tag is what pods can use.
func TestWhatTagsSetIsNotReducedAgain(t *testing.T) {
	rules := templateRules{precedence: ASGTags, maxPods: podsRule{fixed: 110}, reserved: reserveRule{eks: true}}
	got, _, _ := buildTemplate(templateFacts{
		machines: []machine{builtIn["m5.large"]}, tags: parseTags(map[string]string{tagResource + "memory": "6Gi"}),
	}, rules)
	if q := got.Node.Status.Allocatable["memory"]; q.String() != "6Gi" {
		t.Errorf("memory %s", q.String())
	}
}

func TestTemplateVersionFollowsTheTemplate(t *testing.T) {
	version := func(tags map[string]string, zones ...string) string {
		got, _, err := buildTemplate(
			templateFacts{machines: []machine{builtIn["m5.large"]}, zones: zones, tags: parseTags(tags)}, plainRules,
		)
		if err != nil {
			t.Fatal(err)
		}
		return got.Version
	}
	first := version(sampleTags, "a", "b")
	if again := version(sampleTags, "b", "a"); again != first {
		t.Error("the same template has two versions")
	}
	if version(nil, "a", "b") == first || version(sampleTags, "a", "c") == first {
		t.Error("another template has the same version")
	}
}

func TestNoTemplate(t *testing.T) {
	if _, _, err := buildTemplate(templateFacts{}, plainRules); err == nil {
		t.Error("a template of no machine")
	}
	if _, _, err := buildTemplate(templateFacts{machines: []machine{{Type: "x"}}}, plainRules); err == nil {
		t.Error("a template of a machine without CPUs")
	}
}

// TestEffectsAreTranslated: EKS has its own words, and an unknown one spoils
// nothing else.
func TestEffectsAreTranslated(t *testing.T) {
	n := nodegroupFrom(&ekstypes.Nodegroup{Taints: []ekstypes.Taint{
		{Key: ptr("a"), Value: ptr("1"), Effect: "NO_SCHEDULE"}, {Key: ptr("b"), Effect: "NO_EXECUTE"},
		{Key: ptr("c"), Value: ptr(""), Effect: "PREFER_NO_SCHEDULE"},
		{Key: ptr("d"), Effect: "NEVER_MIND"},
	}})
	want := []corev1.Taint{
		{Key: "a", Value: "1", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}, {Key: "c", Effect: "PreferNoSchedule"},
	}
	if diff := cmp.Diff(want, n.taints); diff != "" || len(n.bad) != 1 {
		t.Error(diff, n.bad)
	}
}

// TestEKSTagsMakeNoLabels: upstream makes cluster-name and nodegroup-name of
// them, which no node carries.
func TestEKSTagsMakeNoLabels(t *testing.T) {
	got := parseTags(map[string]string{tagCluster: "c", tagNodegroup: "n", "x-eks:y": "z"})
	if len(got.labels)+len(got.bad) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestWindowsAndARMByImage(t *testing.T) {
	for ami, want := range map[string][2]string{
		"WINDOWS_CORE_2022_x86_64": {"windows", "amd64"}, "AL2023_ARM_64_STANDARD": {"linux", "arm64"},
		"BOTTLEROCKET_ARM_64": {"linux", "arm64"}, "CUSTOM": {"linux", "amd64"}, "": {"linux", "amd64"},
	} {
		n := nodegroup{amiType: ami}
		got, _, _ := buildTemplate(templateFacts{machines: []machine{builtIn["m5.large"]}, nodegroup: &n}, plainRules)
		if l := got.Node.Labels; l["kubernetes.io/os"] != want[0] || l["kubernetes.io/arch"] != want[1] {
			t.Errorf("%q: %s, %s", ami, l["kubernetes.io/os"], l["kubernetes.io/arch"])
		}
	}
}
