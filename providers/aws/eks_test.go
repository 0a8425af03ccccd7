package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// managed is an EKS node group of 60 labels, far more than tags there may be,
// and its Auto Scaling group.
func managed(desired int) awstest.Spec {
	labels := map[string]string{"team": "eks"}
	for i := range 60 {
		labels[fmt.Sprintf("example.com/label-%02d", i)] = fmt.Sprint(i)
	}
	return awstest.Spec{
		LaunchTemplates: m5,
		Nodegroups: []awstest.Nodegroup{{Cluster: "prod", Name: "ng", Labels: labels, CapacityType: "ON_DEMAND", AMIType: "AL2023_x86_64_STANDARD", DiskSize: 50, Version: "1.37",
			Taints: []awstest.Taint{{Key: "dedicated", Effect: "NO_SCHEDULE"}}, Tags: map[string]string{tagResource + "example.com/dongle": "1"}}},
		Groups: []awstest.Group{named("eks-ng", func(g *awstest.Group) {
			g.Desired = desired
			g.Tags[tagCluster], g.Tags[tagNodegroup] = "prod", "ng"
			g.Tags[tagLabel+"team"] = "asg"
		})},
	}
}

func TestTC1DescribeNodegroupRequest(t *testing.T) {
	in := describeRequest(nodegroupKey{"prod", "ng"})
	if *in.ClusterName != "prod" || *in.NodegroupName != "ng" {
		t.Errorf("%+v", in)
	}
	// And on the wire.
	w := newWorld(t, managed(0), byTag)
	w.read(t)
	for _, call := range w.Calls() {
		if call.Action == "DescribeNodegroup" {
			if call.Params.Get("cluster") != "prod" || call.Params.Get("nodegroup") != "ng" || call.Service != "eks" {
				t.Errorf("%+v", call)
			}
			return
		}
	}
	t.Error("EKS was not asked")
}

func TestAManagedNodegroupAtZero(t *testing.T) {
	w := newWorld(t, managed(0), byTag)
	g := w.group(t, "eks-ng")
	if g.Template == nil {
		t.Fatal(g.TemplateErr)
	}
	node := g.Template.Node
	for key, want := range map[string]string{"example.com/label-59": "59", "team": "asg", "eks.amazonaws.com/nodegroup": "ng", "eks.amazonaws.com/capacityType": "ON_DEMAND", "diskSize": "50"} {
		if node.Labels[key] != want {
			t.Errorf("%s=%q, want %q", key, node.Labels[key], want)
		}
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0] != (corev1.Taint{Key: "dedicated", Effect: "NoSchedule"}) {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	if q := node.Status.Allocatable["example.com/dongle"]; q.Value() != 1 {
		t.Errorf("dongles %s", q.String())
	}
	if q := node.Status.Allocatable["ephemeral-storage"]; q.String() != "50Gi" {
		t.Errorf("storage %s", q.String())
	}
	if !strings.Contains(g.Template.Sources["label/amiType"], "real nodes do not carry it") {
		t.Errorf("the source of amiType: %q", g.Template.Sources["label/amiType"])
	}
	for range 3 {
		if n := noticesOf(w.read(t), noticeConflict); len(n) != 1 || !strings.Contains(n[0].Message, `"asg"`) || !strings.Contains(n[0].Message, `"eks"`) {
			t.Errorf("conflicts told: %v", n)
		}
	}
	if n := w.log.count("code=" + noticeConflict); n != 1 {
		t.Errorf("the conflict is logged %d times", n)
	}
}

func TestTheOrderOfUpstreamByFlag(t *testing.T) {
	cfg := byTag
	cfg.Precedence = EKSAPI
	w := newWorld(t, managed(0), cfg)
	if v := w.group(t, "eks-ng").Template.Node.Labels["team"]; v != "eks" {
		t.Errorf("team=%q", v)
	}
}

// TestTC5AccessDeniedFallsBackToTheTags, on the wire: the group can still grow,
// a person is told once, and EKS is not asked at each read.
func TestTC5AccessDeniedFallsBackToTheTags(t *testing.T) {
	w := newWorld(t, managed(0), byTag)
	w.Arm(awstest.Fault{Action: "DescribeNodegroup", Mishap: awstest.Denied})
	for range 5 {
		inv := w.read(t)
		g := groupIn(t, inv, "eks-ng")
		if g.Template == nil || g.Template.Node.Labels["team"] != "asg" || g.Template.Node.Labels["example.com/label-59"] != "" {
			t.Fatalf("%v", g.TemplateErr)
		}
		if n := noticesOf(inv, noticeNotDescribed); len(n) != 1 || !strings.Contains(n[0].Message, "AccessDenied") {
			t.Errorf("notices: %v", n)
		}
		w.clock.pass(10 * time.Second)
	}
	if n := w.Count("DescribeNodegroup"); n != 1 {
		t.Errorf("EKS was asked %d times in 50 s", n)
	}
	if n := w.log.count("code=" + noticeNotDescribed); n != 1 {
		t.Errorf("logged %d times", n)
	}
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "eks-ng", From: 0, To: 1}); err != nil {
		t.Errorf("it cannot grow: %v", err)
	}
}

// TestAnOutageOfEKSForgetsNothing: five minutes of server errors.
func TestAnOutageOfEKSForgetsNothing(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	w := newWorld(t, managed(0), byTag)
	version := w.group(t, "eks-ng").Template.Version
	w.Arm(awstest.Fault{Action: "DescribeNodegroup", Mishap: awstest.ServerError})
	for range 10 {
		w.clock.pass(30 * time.Second)
		inv := w.read(t)
		if g := groupIn(t, inv, "eks-ng"); g.Template.Version != version {
			t.Errorf("the template has become another one")
		}
	}
	if w.Count("DescribeNodegroup") > 12 {
		t.Errorf("EKS was asked %d times", w.Count("DescribeNodegroup"))
	}
}

// TestOnlyGroupsWithoutNodesAreAsked, after the first time; a flag asks for all.
func TestOnlyGroupsWithoutNodesAreAsked(t *testing.T) {
	for _, all := range []bool{false, true} {
		cfg := byTag
		cfg.DescribeAllNodegroups = all
		w := newWorld(t, managed(2), cfg)
		for range 5 {
			if v := w.group(t, "eks-ng").Template.Node.Labels["example.com/label-59"]; v != "59" {
				t.Errorf("the label that no tag has: %q", v)
			}
			w.clock.pass(2 * time.Minute)
		}
		want := 1
		if all {
			want = 5
		}
		if n := w.Count("DescribeNodegroup"); n != want {
			t.Errorf("all %v: EKS was asked %d times, want %d", all, n, want)
		}
	}
}

// TestANodegroupUpdateIsLeftToEKS: it raises the desired capacity, and drains and
// ends instances of its own choice; whoever removes nodes beside it, or lowers the
// number, ends those that it has just launched. (aws/containers-roadmap 2609)
func TestANodegroupUpdateIsLeftToEKS(t *testing.T) {
	for status, want := range map[string][]provider.Op{
		"ACTIVE": nil, "CREATING": nil, "DEGRADED": nil, "": nil,
		"UPDATING": {provider.OpRemove, provider.OpCancel},
		"DELETING": {provider.OpGrow, provider.OpRemove, provider.OpCancel},
	} {
		spec := managed(2)
		spec.Nodegroups[0].Status = status
		w := newWorld(t, spec, byTag)
		var ops []provider.Op
		for _, h := range w.group(t, "eks-ng").Holds {
			ops = append(ops, h.Op)
			if h.Reason != holdNodegroupChanges || !strings.Contains(h.Message, status) || !strings.Contains(h.Message, "prod/ng") {
				t.Errorf("%s: %+v", status, h)
			}
		}
		if !slices.Equal(ops, want) {
			t.Errorf("%s: %v are held, want %v", status, ops, want)
		}
	}
}

// TestTheEndOfANodegroupUpdateIsSeenSoon, though the group has nodes: EKS is
// asked at the plain TTL meanwhile, and seldom again afterwards.
func TestTheEndOfANodegroupUpdateIsSeenSoon(t *testing.T) {
	spec := managed(2)
	spec.Nodegroups[0].Status = "UPDATING"
	w := newWorld(t, spec, byTag)
	for range 3 {
		if len(w.group(t, "eks-ng").Holds) == 0 {
			t.Error("it is not held while EKS updates it")
		}
		w.clock.pass(2 * time.Minute)
	}
	if n := w.Count("DescribeNodegroup"); n != 3 {
		t.Errorf("EKS was asked %d times in 6 minutes", n)
	}
	if err := w.Change(func(s *awstest.Spec) { s.Nodegroups[0].Status = "ACTIVE" }); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if h := w.group(t, "eks-ng").Holds; len(h) > 0 {
			t.Errorf("still held: %+v", h)
		}
		w.clock.pass(2 * time.Minute)
	}
	if n := w.Count("DescribeNodegroup"); n != 4 {
		t.Errorf("EKS was asked %d times in all", n)
	}
}

// TestManyNodegroupsAFewAtATime: in parallel, and bounded.
func TestManyNodegroupsAFewAtATime(t *testing.T) {
	spec := managed(0)
	for i := range 40 {
		n, g := spec.Nodegroups[0], named(fmt.Sprintf("eks-%02d", i))
		n.Name = fmt.Sprintf("ng-%02d", i)
		g.Tags[tagCluster], g.Tags[tagNodegroup] = "prod", n.Name
		spec.Nodegroups, spec.Groups = append(spec.Nodegroups, n), append(spec.Groups, g)
	}
	w := newWorld(t, spec, byTag)
	w.Arm(awstest.Fault{Action: "DescribeNodegroup", Delay: 20 * time.Millisecond})
	w.read(t)
	if peak := w.Peak("DescribeNodegroup"); peak < 2 || peak > askAtOnce {
		t.Errorf("%d at once", peak)
	}
	if n := w.Count("DescribeNodegroup"); n != 41 {
		t.Errorf("%d calls for 41 node groups", n)
	}
}
