package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// These are answers of AWS that are missing in part: the template is made of what
// is left, says where that is from, and a person is informed.

// byNeed is a group of arm64 machines by requirements, one of whose types no list
// knows.
func byNeed() awstest.Spec {
	return awstest.Spec{
		LaunchTemplates: []awstest.LaunchTemplate{{
			ID: "lt-1", Name: "nodes", Versions: []awstest.TemplateVersion{{ImageID: "ami-arm",
				Requirements: &awstest.Requirements{
					VCPU: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 4096}, AllowedTypes: []string{"m6g.*", "x99g.*"},
				}}},
		}},
		Images: []awstest.Image{{ID: "ami-arm", Architecture: "arm64"}},
		InstanceTypes: []awstest.InstanceType{{
			Name: "x99g.huge", VCPU: 8, MemoryMiB: 65536, Architectures: []string{"arm64"},
		}},
		Groups: []awstest.Group{named("g")},
	}
}

const archLabel, typeLabel = "kubernetes.io/arch", "node.kubernetes.io/instance-type"

// TestTheArchitectureIsTheImages where the types, or one of them, are not known.
func TestTheArchitectureIsTheImages(t *testing.T) {
	strange := func(edit func(*awstest.Spec)) func() awstest.Spec {
		return func() awstest.Spec {
			spec := byNeed()
			edit(&spec)
			return spec
		}
	}
	policy := func(overrides ...awstest.Override) func(*awstest.Spec) {
		return func(s *awstest.Spec) {
			s.Groups[0].LaunchTemplate, s.Groups[0].MixedInstances = nil, &awstest.MixedInstances{
				Template: awstest.TemplateRef{ID: "lt-1"}, Overrides: overrides,
			}
			s.Groups[0].Tags[tagResource+"cpu"], s.Groups[0].Tags[tagResource+"memory"] = "4", "8Gi"
		}
	}
	both := []string{"amd64", "arm64"}
	for _, c := range []struct {
		name        string
		spec        func() awstest.Spec
		denied      []string
		arch        string
		source      string
		arches      []string // if it varies
		types       []string // the same
		cpu, memory string
		notices     []string
	}{
		{"all is known", byNeed, nil, "arm64", "the least of 3 instance types", nil, []string{"m6g.large", "m6g.xlarge", "x99g.huge"}, "2", "8Gi", nil},
		{"which types fit is denied", byNeed, []string{"GetInstanceTypesFromInstanceRequirements"},
			"arm64", "image ami-arm", nil, nil, "2", "4Gi", []string{noticeNoFitting}},
		{"one type is not known", byNeed, []string{"DescribeInstanceTypes"},
			"arm64", "the least of 3 instance types and of the instance requirements", nil,
			[]string{"m6g.large", "m6g.xlarge", "x99g.huge"}, "2", "4Gi", []string{noticeNoTypes, noticeUnknownType}},
		{"the image too", byNeed, []string{"GetInstanceTypesFromInstanceRequirements", "DescribeImages"},
			"", "", both, nil, "2", "4Gi", []string{noticeNoFitting, noticeNoImages}},
		{"the image alone", byNeed, []string{"DescribeImages"},
			"arm64", "the least of 3 instance types", nil, []string{"m6g.large", "m6g.xlarge", "x99g.huge"}, "2", "8Gi",
			[]string{noticeNoImages}},
		{"overrides, one of them not known", strange(policy(awstest.Override{InstanceType: "m6g.large"}, awstest.Override{
			InstanceType: "x99g.huge",
		})), []string{"DescribeInstanceTypes"},
			"arm64", "the least of 2 instance types", nil, []string{"m6g.large", "x99g.huge"}, "4", "8Gi",
			[]string{noticeNoTypes, noticeUnknownType}},
		// What that image is for is unknown.
		{"overrides with templates of their own", strange(policy(awstest.Override{InstanceType: "m6g.large"},
			awstest.Override{InstanceType: "x99g.huge", Template: &awstest.TemplateRef{ID: "lt-1"}})),
			[]string{"DescribeInstanceTypes"}, "", "", both, []string{"m6g.large", "x99g.huge"}, "4", "8Gi",
			[]string{noticeNoTypes, noticeUnknownType}},
		{"a launch configuration", strange(func(s *awstest.Spec) {
			policy()(s)
			s.LaunchConfigurations = []awstest.LaunchConfiguration{{Name: "lc", InstanceType: "x99g.huge", ImageID: "ami-arm"}}
			s.Groups[0].MixedInstances, s.Groups[0].LaunchConfiguration = nil, "lc"
		}), []string{"DescribeInstanceTypes"}, "arm64", "image ami-arm", nil, nil, "4", "8Gi",
			[]string{noticeNoTypes, noticeUnknownType}},
	} {
		w := newWorld(t, c.spec(), byTag)
		for _, action := range c.denied {
			w.Arm(awstest.Fault{Action: action, Mishap: awstest.Denied})
		}
		inv := w.read(t)
		g := groupIn(t, inv, "g")
		if g.Template == nil {
			t.Errorf("%s: %v", c.name, g.TemplateErr)
			continue
		}
		have := amountsOf(g.Template.Node.Status.Allocatable)
		if g.Template.Node.Labels[archLabel] != c.arch || g.Template.Sources["label/"+archLabel] != c.source ||
			have["cpu"] != c.cpu || have["memory"] != c.memory {
			t.Errorf("%s: arch %q from %q, %v",
				c.name, g.Template.Node.Labels[archLabel], g.Template.Sources["label/"+archLabel], have)
		}
		if diff := cmp.Diff([][]string{c.arches, c.types}, [][]string{
			g.Template.Varies[archLabel], g.Template.Varies[typeLabel],
		}); diff != "" {
			t.Errorf("%s: what varies: %s", c.name, diff)
		}
		var told []string
		for _, n := range otherNotices(inv, noticeZones) {
			told = append(told, n.Code)
		}
		if diff := cmp.Diff(c.notices, told); diff != "" {
			t.Errorf("%s: %s in %v", c.name, diff, inv.Notices)
		}
	}
}

// TestDeniedActionsAreToldOnce: not for each group or image, and not again at
// each read, though EC2 words its refusal differently each time.
func TestDeniedActionsAreToldOnce(t *testing.T) {
	for action, code := range map[string]string{
		"DescribeImages": noticeNoImages, "DescribeInstanceTypes": noticeNoTypes,
		"GetInstanceTypesFromInstanceRequirements": noticeNoFitting,
	} {
		spec := byNeed()
		spec.LaunchTemplates = append(spec.LaunchTemplates, awstest.LaunchTemplate{
			ID: "lt-2", Name: "others", Versions: []awstest.TemplateVersion{{ImageID: "ami-2",
				Requirements: &awstest.Requirements{
					VCPU: awstest.Range{Min: 1}, MemoryMiB: awstest.Range{Min: 1024}, AllowedTypes: []string{"m6g.large"},
				}}},
		})
		spec.Images = append(spec.Images, awstest.Image{ID: "ami-2", Architecture: "arm64"})
		spec.Groups = append(spec.Groups, named("h"),
			named("i", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-2"} }))
		w := newWorld(t, spec, byTag)
		for i := range 4 {
			w.ClearFaults()
			w.Arm(awstest.Fault{Action: action, Mishap: awstest.Answer, Status: 403, Code: "UnauthorizedOperation",
				Message: fmt.Sprintf(
					"You are not authorized to perform this operation. Encoded authorization failure message: %d-aBcD", i,
				)})
			inv := w.read(t)
			if n := noticesOf(inv, code); len(n) != 1 || n[0].Group != "" ||
				!strings.Contains(n[0].Message, "UnauthorizedOperation") || !strings.Contains(n[0].Message, "docs/aws.md") {
				t.Errorf("%s: %v", action, n)
			}
			w.clock.pass(failureTTL + time.Second)
		}
		if n := w.log.count("code=" + code); n != 1 {
			t.Errorf("%s: logged %d times", action, n)
		}
		w.ClearFaults()
		w.clock.pass(failureTTL + time.Second)
		if inv := w.read(t); len(otherNotices(inv, noticeZones)) != 0 {
			t.Errorf("%s: when it is allowed again: %v", action, inv.Notices)
		}
	}
}

// TestAnUnknownTypeIsToldAndNotGuessed: a group that may launch it has no
// template, unless tags say what matters.
func TestAnUnknownTypeIsToldAndNotGuessed(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) {
		g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
			Template: *template(""), Overrides: []awstest.Override{{InstanceType: "m5.large"}, {InstanceType: "x99.huge"}},
		}
	})}}
	w := newWorld(t, spec, byTag)
	inv := w.read(t)
	g := groupIn(t, inv, "g")
	if g.Template != nil || g.TemplateErr.Kind != provider.BadConfig ||
		!strings.Contains(g.TemplateErr.Message, `"x99.huge"`) {
		t.Errorf("%+v, %v", g.Template, g.TemplateErr)
	}
	n := noticesOf(inv, noticeUnknownType)
	if len(n) != 1 || n[0].Group != "g" || !strings.Contains(n[0].Message, "x99.huge") ||
		strings.Contains(n[0].Message, "m5.large") {
		t.Errorf("told: %v", inv.Notices)
	}

	// The amounts by tag, as the notice says. GPUs that only one of the types has are not counted.
	err := w.Change(func(s *awstest.Spec) {
		s.Groups[0].Tags[tagResource+"cpu"], s.Groups[0].Tags[tagResource+"memory"] = "2", "7Gi"
	})
	if err != nil {
		t.Fatal(err)
	}
	g = w.group(t, "g")
	if g.Template == nil {
		t.Fatal(g.TemplateErr)
	}
	if diff := cmp.Diff(
		map[string]string{"cpu": "2", "memory": "7Gi", "pods": "110"}, amountsOf(g.Template.Node.Status.Allocatable),
	); diff != "" {
		t.Error(diff)
	}

	// A right that is missing is no fault of the configuration.
	w.clock.pass(machineTTL)
	w.Arm(awstest.Fault{Action: "DescribeInstanceTypes", Mishap: awstest.Denied})
	if err := w.Change(func(s *awstest.Spec) { s.Groups[0].Tags = map[string]string{"mine": "true"} }); err != nil {
		t.Fatal(err)
	}
	if g := w.group(t, "g"); g.TemplateErr == nil || g.TemplateErr.Kind != provider.Denied {
		t.Errorf("%v", g.TemplateErr)
	}
}
