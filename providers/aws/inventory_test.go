package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// byTag discovers everything that the tests make.
var byTag = Config{Discovery: []string{"asg:tag=mine"}}

var m5 = []awstest.LaunchTemplate{{
	ID: "lt-1", Name: "nodes", Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}},
}}

func template(version string) *awstest.TemplateRef {
	return &awstest.TemplateRef{ID: "lt-1", Version: version}
}

func named(name string, edit ...func(*awstest.Group)) awstest.Group {
	g := awstest.Group{Name: name, Max: 10, Tags: map[string]string{"mine": "true"}, LaunchTemplate: template("")}
	for _, e := range edit {
		e(&g)
	}
	return g
}

func typeOf(g provider.Group) string {
	if g.Template == nil {
		return ""
	}
	return g.Template.Node.Labels["node.kubernetes.io/instance-type"]
}

// TestManyGroupsFewCalls: 1,300 groups on 10 launch templates.
func TestManyGroupsFewCalls(t *testing.T) {
	spec := awstest.Spec{}
	for i := range 10 {
		spec.LaunchTemplates = append(spec.LaunchTemplates, awstest.LaunchTemplate{
			ID: fmt.Sprintf("lt-%d", i), Name: fmt.Sprintf("nodes-%d", i),
			Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "c5.xlarge"}},
		})
	}
	for i := range 1300 {
		spec.Groups = append(spec.Groups, named(fmt.Sprintf("group-%04d", i), func(g *awstest.Group) {
			g.LaunchTemplate = &awstest.TemplateRef{
				ID: fmt.Sprintf("lt-%d", i%10), Version: []string{"$Latest", "$Default", "1", "2"}[i/10%4],
			}
		}))
	}
	w := newWorld(t, spec, byTag)
	inv := w.read(t)
	first := w.Count()
	if first > 30 {
		t.Errorf("%d calls", first)
	}
	for i, g := range inv.Groups {
		want := []string{"c5.xlarge", "m5.large", "m5.large", "c5.xlarge"}[i/10%4]
		if g.Err != nil || typeOf(g) != want {
			t.Fatalf("%s: type %q, want %q: %v %v", g.ID, typeOf(g), want, g.Err, g.TemplateErr)
		}
	}
	if len(inv.Groups) != 1300 {
		t.Errorf("%d groups", len(inv.Groups))
	}
	w.ForgetCalls()
	w.clock.pass(time.Minute)
	w.read(t)
	if n := w.Count(); n != 13 || w.Count("DescribeAutoScalingGroups") != 13 {
		t.Errorf("the second time: %d calls, of which %d list the groups", n, w.Count("DescribeAutoScalingGroups"))
	}
}

// TestOneBadGroupLeavesTheOthers: whatever is wrong with it, and however.
func TestOneBadGroupLeavesTheOthers(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5,
		Groups: []awstest.Group{
			named("good"),
			named("no-template", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-gone"} }),
			named("no-version", func(g *awstest.Group) { g.LaunchTemplate = template("9") }),
			named("no-configuration", func(g *awstest.Group) { g.LaunchTemplate, g.LaunchConfiguration = nil, "gone" }),
			named("no-such-type", func(g *awstest.Group) {
				g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
					Template: *template(""), Overrides: []awstest.Override{{InstanceType: "m5.lrge"}},
				}
			}),
			named("both", func(g *awstest.Group) {
				g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
					Template: *template(""), Overrides: []awstest.Override{
						{InstanceType: "m5.large"},
						{Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 1}, MemoryMiB: awstest.Range{Min: 1}}}},
				}
			}),
			named("squeezed"),
		},
	}, Config{Discovery: byTag.Discovery, Nodes: []string{"20:30:squeezed", "0:3:not-there"}})
	inv := w.read(t)
	for name, want := range map[string]struct {
		kind  provider.Kind
		told  string
		whole bool
	}{
		"no-template":      {provider.NotFound, "lt-gone", false},
		"no-version":       {provider.NotFound, "version 9", false},
		"no-configuration": {provider.BadConfig, `"gone"`, false},
		"no-such-type":     {provider.BadConfig, "m5.lrge", false},
		"both":             {provider.BadConfig, "only one of them", false},
		"squeezed":         {provider.BadConfig, "no size is right for both", true},
		"not-there":        {provider.NotFound, "not there", true},
	} {
		g := groupIn(t, inv, name)
		err := g.TemplateErr
		if want.whole {
			err = g.Err
		}
		if err == nil || err.Kind != want.kind || !strings.Contains(err.Error(), want.told) || string(err.Group) != name {
			t.Errorf("%s: %v, want the kind %s and %q", name, err, want.kind, want.told)
		}
		if !want.whole && g.Err != nil {
			t.Errorf("%s is unreadable for want of a template: %v", name, g.Err)
		}
	}
	if g := groupIn(t, inv, "good"); g.Err != nil || typeOf(g) != "m5.large" {
		t.Errorf("the good one: %v %v", g.Err, g.TemplateErr)
	}
}

// TestAFailedPageFailsTheRead: page two of three, of both ways to list.
func TestAFailedPageFailsTheRead(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: m5}
	var nodes []string
	for i := range 250 {
		name := fmt.Sprintf("group-%03d", i)
		spec.Groups = append(spec.Groups, named(name))
		nodes = append(nodes, "0:5:"+name)
	}
	for _, cfg := range []Config{byTag, {Nodes: nodes}} {
		w := newWorld(t, spec, cfg)
		calls := 0
		w.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Met: func() {
			if calls++; calls == 1 {
				w.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Mishap: awstest.Denied})
			}
		}, Times: 1})
		inv, err := w.Inventory(t.Context())
		if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Denied || len(inv.Groups) > 0 {
			t.Errorf("%d groups, %v", len(inv.Groups), err)
		}
		w.ClearFaults()
		if inv := w.read(t); len(inv.Groups) != 250 {
			t.Errorf("%d groups when it works again", len(inv.Groups))
		}
	}
}

// TestSourcesOfTheInstanceType, all of them, as they change.
func TestSourcesOfTheInstanceType(t *testing.T) {
	spec := awstest.Spec{
		LaunchConfigurations: []awstest.LaunchConfiguration{{Name: "lc", InstanceType: "c5.large", ImageID: "ami-1"}},
		LaunchTemplates: append([]awstest.LaunchTemplate{
			{ID: "lt-3", Name: "three", Default: 2, Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "c5.large"}, {InstanceType: "g4dn.xlarge"}}},
			{ID: "lt-r", Name: "req", Versions: []awstest.TemplateVersion{{ImageID: "ami-1", Requirements: &awstest.Requirements{VCPU: awstest.Range{Min: 4}, MemoryMiB: awstest.Range{Min: 4096}}}}},
		}, m5...),
		Images: []awstest.Image{{ID: "ami-1"}},
		Groups: []awstest.Group{
			named("lc", func(g *awstest.Group) { g.LaunchTemplate, g.LaunchConfiguration = nil, "lc" }),
			named("default", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-3"} }),
			named("default-by-name", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{Name: "three", Version: "$Default"} }),
			named("latest", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-3", Version: "$Latest"} }),
			named("one", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-3", Version: "1"} }),
			named("mixed", func(g *awstest.Group) {
				g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{Template: awstest.TemplateRef{ID: "lt-3"}}
			}),
			named("overrides", func(g *awstest.Group) {
				g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
					Template:  awstest.TemplateRef{ID: "lt-3"},
					Overrides: []awstest.Override{{InstanceType: "c5.xlarge"}, {InstanceType: "m5.large"}},
				}
			}),
			named("requirements", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-r"} }),
			named("overridden-requirements", func(g *awstest.Group) {
				g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
					Template: awstest.TemplateRef{ID: "lt-r"}, Overrides: []awstest.Override{
						{Requirements: &awstest.Requirements{
							VCPU: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 1024}, AllowedTypes: []string{"c5.*"},
						}}},
				}
			}),
		},
	}
	w := newWorld(t, spec, byTag)
	inv := w.read(t)
	for name, want := range map[string]string{"lc": "c5.large", "default": "c5.large", "default-by-name": "c5.large",
		"latest": "g4dn.xlarge", "one": "m5.large", "mixed": "c5.large"} {
		if g := groupIn(t, inv, name); typeOf(g) != want {
			t.Errorf("%s: %q, want %q: %v", name, typeOf(g), want, g.TemplateErr)
		}
	}
	for name, want := range map[string]struct {
		types       []string
		cpu, memory string
	}{
		"overrides":               {[]string{"c5.xlarge", "m5.large"}, "2", "8Gi"},
		"overridden-requirements": {[]string{"c5.large", "c5.xlarge"}, "2", "4Gi"},
	} {
		g := groupIn(t, inv, name)
		if g.Template == nil {
			t.Errorf("%s: %v", name, g.TemplateErr)
			continue
		}
		if diff := cmp.Diff(want.types, g.Template.Varies["node.kubernetes.io/instance-type"]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		have := amountsOf(g.Template.Node.Status.Allocatable)
		if have["cpu"] != want.cpu || have["memory"] != want.memory {
			t.Errorf("%s: %v", name, have)
		}
	}
	g := groupIn(t, inv, "requirements")
	if g.Template == nil {
		t.Fatal(g.TemplateErr)
	}
	if have := amountsOf(g.Template.Node.Status.Allocatable); have["cpu"] != "4" ||
		g.Template.Node.Labels["kubernetes.io/arch"] != "amd64" {
		t.Errorf("requirements: %v, %v", have, g.Template.Node.Labels)
	}

	// A new version of the template is seen after a while, and only that is asked.
	err := w.Change(func(s *awstest.Spec) {
		for i := range s.LaunchTemplates {
			if s.LaunchTemplates[i].ID == "lt-3" {
				s.LaunchTemplates[i].Versions = append(s.LaunchTemplates[i].Versions,
					awstest.TemplateVersion{InstanceType: "c5.xlarge"})
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.pass(movingTTL)
	if g := w.group(t, "latest"); typeOf(g) != "c5.xlarge" {
		t.Errorf("latest: %q", typeOf(g))
	}
}

// TestInstancesAreAsOldAsTheReadThatLackedThem: AWS does not tell when an
// instance was made. A moment before it is known of those that came later, for
// life; of those that were there when their group was first read, nothing is.
func TestInstancesAreAsOldAsTheReadThatLackedThem(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) { g.Desired = 2 })},
	}, byTag)
	created := func(name string) map[time.Time]int {
		out := map[time.Time]int{}
		for _, i := range w.group(t, name).Instances {
			out[i.Created]++
		}
		return out
	}
	want := func(name string, want map[time.Time]int) {
		t.Helper()
		if diff := cmp.Diff(want, created(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	want("g", map[time.Time]int{{}: 2})
	w.clock.pass(time.Minute)
	lacked := w.clock.now()
	w.grow(t, "g", 3) // which reads first
	w.clock.pass(time.Minute)
	for range 3 {
		want("g", map[time.Time]int{{}: 2, lacked: 1})
		w.clock.pass(time.Minute)
	}

	// Neither a read that fails, nor one that lacks the group, makes it younger.
	w.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Mishap: awstest.Denied, Times: 1})
	if _, err := w.Inventory(t.Context()); err == nil {
		t.Fatal("no error")
	}
	tags := func(mine string) {
		if err := w.Change(func(s *awstest.Spec) { s.Groups[0].Tags = map[string]string{mine: "true"} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Change(func(s *awstest.Spec) {
		s.Groups = append(s.Groups, named("new", func(g *awstest.Group) { g.Desired = 1 }))
	}); err != nil {
		t.Fatal(err)
	}
	tags("others")
	want("new", map[time.Time]int{{}: 1})
	tags("mine")
	want("g", map[time.Time]int{{}: 2, lacked: 1})
}

// TestInstancesOfAWarmPoolHaveNoAge: their nodes may be older than the moment in
// which they join the group.
func TestInstancesOfAWarmPoolHaveNoAge(t *testing.T) {
	m := newMemory(newClock().now())
	group := func(ids ...string) reading {
		g := reading{AutoScalingGroup: asgWithTags("g", nil)}
		g.WarmPoolConfiguration = &asgtypes.WarmPoolConfiguration{}
		for _, id := range ids {
			g.Instances = append(g.Instances, asgtypes.Instance{InstanceId: ptr(id), LifecycleState: "InService"})
		}
		return g
	}
	m.see([]reading{group()}, newClock().now())
	m.see([]reading{group("i-1")}, newClock().now().Add(time.Minute))
	if at := m.created("i-1"); !at.IsZero() {
		t.Errorf("made at %s", at)
	}
}

// TestUnreachableEC2 leaves what is known, and the built-in list.
func TestUnreachableEC2(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g")}}, byTag)
	w.Arm(awstest.Fault{Action: "DescribeInstanceTypes", Mishap: awstest.Denied})
	g := w.group(t, "g")
	if g.Template == nil || !strings.Contains(g.Template.Sources["resource/cpu"], "built-in list") {
		t.Fatalf("%v: %v", g.TemplateErr, g.Template)
	}
	w.ClearFaults()
	w.clock.pass(failureTTL)
	if g := w.group(t, "g"); g.Template.Sources["resource/cpu"] != "instance type m5.large" {
		t.Errorf("the source is %q", g.Template.Sources["resource/cpu"])
	}
	// The facts are read again after a time, and outlive an outage.
	w.clock.pass(machineTTL + 24*time.Hour)
	w.Arm(awstest.Fault{Action: "DescribeInstanceTypes", Mishap: awstest.Denied})
	w.Arm(awstest.Fault{Action: "DescribeLaunchTemplateVersions", Mishap: awstest.Denied})
	w.ForgetCalls()
	if g := w.group(t, "g"); typeOf(g) != "m5.large" || w.Count("DescribeInstanceTypes") == 0 {
		t.Errorf("type %q, %d calls: %v", typeOf(g), w.Count("DescribeInstanceTypes"), g.TemplateErr)
	}
}

// TestARetiredTypeSpoilsNoOther: one unknown name in a call by names.
func TestARetiredTypeSpoilsNoOther(t *testing.T) {
	w := newWorld(t,
		awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("good"), named("bad", func(g *awstest.Group) {
			g.LaunchTemplate, g.MixedInstances = nil, &awstest.MixedInstances{
				Template: *template(""), Overrides: []awstest.Override{{InstanceType: "x9.huge"}, {InstanceType: "y9.huge"}},
			}
		})}}, byTag)
	inv := w.read(t)
	if g := groupIn(t, inv, "good"); g.Template == nil || g.Template.Sources["resource/cpu"] != "instance type m5.large" {
		t.Errorf("%v", g.TemplateErr)
	}
	w.ForgetCalls()
	w.read(t)
	if n := w.Count("DescribeInstanceTypes"); n != 0 {
		t.Errorf("the unknown names are asked for again at once: %d calls", n)
	}
}

// TestALostImageSpoilsNoOther: one unknown image in a call by ids.
func TestALostImageSpoilsNoOther(t *testing.T) {
	need := &awstest.Requirements{VCPU: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 1024}}
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: []awstest.LaunchTemplate{
			{ID: "lt-arm", Name: "arm", Versions: []awstest.TemplateVersion{{ImageID: "ami-arm", Requirements: need}}},
			{ID: "lt-lost", Name: "lost", Versions: []awstest.TemplateVersion{{ImageID: "ami-lost", Requirements: need}}},
		},
		Images: []awstest.Image{{ID: "ami-arm", Architecture: "arm64"}},
		Groups: []awstest.Group{
			named("arm", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-arm"} }),
			named("lost", func(g *awstest.Group) { g.LaunchTemplate = &awstest.TemplateRef{ID: "lt-lost"} }),
		},
	}, byTag)
	inv := w.read(t)
	if g := groupIn(t, inv, "arm"); g.Template == nil || g.Template.Node.Labels["kubernetes.io/arch"] != "arm64" {
		t.Errorf("%v: %+v", g.TemplateErr, g.Template)
	}
	if g := groupIn(t, inv, "lost"); g.Template == nil || len(g.Template.Varies["kubernetes.io/arch"]) != 2 {
		t.Errorf("%v: %+v", g.TemplateErr, g.Template)
	}
}

func TestTheStaticListAlone(t *testing.T) {
	cfg := byTag
	cfg.StaticInstanceTypes = true
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g")}}, cfg)
	if g := w.group(t, "g"); typeOf(g) != "m5.large" || w.Count("DescribeInstanceTypes") != 0 {
		t.Errorf("type %q, %d calls", typeOf(g), w.Count("DescribeInstanceTypes"))
	}
}
