package aws

import (
	"fmt"
	"maps"
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
		Nodegroups: []awstest.Nodegroup{{
			Cluster:      "prod",
			Name:         "ng",
			Labels:       labels,
			CapacityType: "ON_DEMAND",
			AMIType:      "AL2023_x86_64_STANDARD",
			DiskSize:     50,
			Version:      "1.37",
			Taints:       []awstest.Taint{{Key: "dedicated", Effect: "NO_SCHEDULE"}},
			Tags:         map[string]string{tagResource + "example.com/dongle": "1"},
		}},
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
	for key, want := range map[string]string{
		"example.com/label-59":           "59",
		"team":                           "asg",
		"eks.amazonaws.com/nodegroup":    "ng",
		"eks.amazonaws.com/capacityType": "ON_DEMAND",
		"diskSize":                       "50",
	} {
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
		if n := noticesOf(w.read(t), noticeConflict); len(n) != 1 || !strings.Contains(n[0].Message, `"asg"`) ||
			!strings.Contains(n[0].Message, `"eks"`) {
			t.Errorf("conflicts told: %v", n)
		}
	}
	if n := w.log.count("code=" + noticeConflict); n != 1 {
		t.Errorf("the conflict is logged %d times", n)
	}
}

// TestAmountsInConflictsAreToldAsWritten: a person looks for the text that
// stands in the tag.
func TestAmountsInConflictsAreToldAsWritten(t *testing.T) {
	spec := managed(0)
	spec.Groups[0].Tags[tagResource+"ephemeral-storage"] = "1024Mi"
	spec.Nodegroups[0].Tags[tagResource+"ephemeral-storage"] = "100Gi"
	delete(spec.Groups[0].Tags, tagLabel+"team")
	w := newWorld(t, spec, byTag)
	n := noticesOf(w.read(t), noticeConflict)
	if len(n) != 1 || !strings.Contains(n[0].Message, `the ASG tag says "1024Mi", the EKS node group "100Gi"`) {
		t.Errorf("conflicts told: %v", n)
	}
}

// TestATaintOfUnknownEffectHoldsTheGroup: without the taint, pods would be sent
// to nodes that refuse them. A user who knows the effect can set it in a tag.
func TestATaintOfUnknownEffectHoldsTheGroup(t *testing.T) {
	for _, c := range []struct {
		name     string
		eks, tag string // the effect by EKS, the value of the tag; empty is no taint
		held     bool
	}{
		{"EKS", "NEVER_MIND", "", true},
		{"the tag", "", "web:NoSchedul", true},
		{"the tag names none", "", "web", true},
		{"the tag settles it", "NEVER_MIND", "web:NoSchedule", false},
		{"EKS settles it", "NO_SCHEDULE", "web:NoSchedul", false},
		{"both", "NEVER_MIND", "web:NoSchedul", true},
		{"known", "NO_EXECUTE", "", false},
	} {
		spec := managed(0)
		spec.Nodegroups[0].Taints = nil
		if c.eks != "" {
			spec.Nodegroups[0].Taints = []awstest.Taint{{Key: "strange", Effect: c.eks}}
		}
		if c.tag != "" {
			spec.Groups[0].Tags[tagTaint+"strange"] = c.tag
		}
		g := newWorld(t, spec, byTag).group(t, "eks-ng")
		held := growHold(g)
		if (held != nil) != c.held ||
			held != nil && (held.Reason != holdTaintUnclear || !strings.Contains(held.Message, "taint strange")) {
			t.Errorf("%s: %+v", c.name, g.Holds)
		}
		if g.Err != nil || len(g.Holds) > 1 {
			t.Errorf("%s: more than growth is held: %v, %+v", c.name, g.Err, g.Holds)
		}
	}
}

// TestOneNameInTwoClusters: each node group has its own answer, also while both
// are remembered.
func TestOneNameInTwoClusters(t *testing.T) {
	of := func(cluster string) (awstest.Nodegroup, awstest.Group) {
		return awstest.Nodegroup{Cluster: cluster, Name: "ng", Labels: map[string]string{"of": cluster}},
			named(cluster, func(g *awstest.Group) { g.Tags[tagCluster], g.Tags[tagNodegroup] = cluster, "ng" })
	}
	spec := awstest.Spec{LaunchTemplates: m5}
	for _, cluster := range []string{"prod", "test"} {
		n, g := of(cluster)
		spec.Nodegroups, spec.Groups = append(spec.Nodegroups, n), append(spec.Groups, g)
	}
	w := newWorld(t, spec, byTag)
	for range 2 {
		inv := w.read(t)
		for _, cluster := range []string{"prod", "test"} {
			if g := groupIn(t, inv, cluster); g.Template == nil || g.Template.Node.Labels["of"] != cluster {
				t.Errorf("%s: %+v %v", cluster, g.Template, g.TemplateErr)
			}
		}
		w.clock.pass(time.Second)
	}
	if n := w.Count("DescribeNodegroup"); n != 2 {
		t.Errorf("EKS was asked %d times", n)
	}
}

// TestOneOfTheTwoTagsIsNoNodegroup: EKS sets both, and cannot be asked with one.
func TestOneOfTheTwoTagsIsNoNodegroup(t *testing.T) {
	for _, tag := range []string{tagCluster, tagNodegroup} {
		spec := managed(0)
		delete(spec.Groups[0].Tags, tag)
		w := newWorld(t, spec, byTag)
		inv := w.read(t)
		if g := groupIn(t, inv, "eks-ng"); g.Template == nil || len(g.Holds) > 0 || len(otherNotices(inv, noticeZones)) > 0 {
			t.Errorf("without %s: %v, %+v, %v", tag, g.TemplateErr, g.Holds, inv.Notices)
		}
		if n := w.Count("DescribeNodegroup"); n != 0 {
			t.Errorf("without %s EKS was asked %d times", tag, n)
		}
	}
}

// TestTheUsersLabelsBeatDerivedOnes: a label that a user sets on the node group is on the real
// nodes, and wins over one that is derived from the group.
func TestTheUsersLabelsBeatDerivedOnes(t *testing.T) {
	own := map[string]string{labelNodegroup: "mine", labelCapacityType: "mine", labelAMIType: "mine",
		labelDiskSize: "mine", labelK8sVersion: "mine"}
	spec := managed(0)
	spec.Nodegroups[0].Labels = own
	g := newWorld(t, spec, byTag).group(t, "eks-ng")
	if g.Template == nil {
		t.Fatal(g.TemplateErr)
	}
	for key := range own {
		if v := g.Template.Node.Labels[key]; v != "mine" || g.Template.Sources["label/"+key] != sourceEKS {
			t.Errorf("%s=%q, from %q", key, v, g.Template.Sources["label/"+key])
		}
	}
}

// TestABadLabelOfEKSIsToldAndDropped: no node can carry it.
func TestABadLabelOfEKSIsToldAndDropped(t *testing.T) {
	for key, value := range map[string]string{
		"no key!": "x", "too/many/parts": "x", "team": "no value!", corev1.LabelHostname: "one",
	} {
		spec := managed(0)
		delete(spec.Groups[0].Tags, tagLabel+"team")
		spec.Nodegroups[0].Labels = map[string]string{key: value, "good": "1"}
		w := newWorld(t, spec, byTag)
		inv := w.read(t)
		g := groupIn(t, inv, "eks-ng")
		if g.Template == nil {
			t.Fatal(g.TemplateErr)
		}
		if v, there := g.Template.Node.Labels[key]; there || g.Template.Node.Labels["good"] != "1" {
			t.Errorf("%s=%q is in the template: %v", key, v, g.Template.Node.Labels)
		}
		if n := noticesOf(inv, noticeBadNodegroup); len(n) != 1 || n[0].Group != "eks-ng" ||
			!strings.Contains(n[0].Message, "prod/ng") {
			t.Errorf("%s=%q: told %v", key, value, inv.Notices)
		}
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
// a person is informed once, and EKS is not asked at each read.
func TestTC5AccessDeniedFallsBackToTheTags(t *testing.T) {
	w := newWorld(t, managed(0), byTag)
	w.Arm(awstest.Fault{Action: "DescribeNodegroup", Mishap: awstest.Denied})
	for range 5 {
		inv := w.read(t)
		g := groupIn(t, inv, "eks-ng")
		if g.Template == nil || g.Template.Node.Labels["team"] != "asg" ||
			g.Template.Node.Labels["example.com/label-59"] != "" {
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

// One right that is missing is one notice, however many node groups there are.
func TestADeniedRightIsOneNoticeForAllNodeGroups(t *testing.T) {
	one := managed(0)
	two, group := one.Nodegroups[0], one.Groups[0]
	two.Name, group.Name = "ng-2", "eks-ng-2"
	group.Tags = maps.Clone(group.Tags)
	group.Tags[tagNodegroup] = "ng-2"
	one.Nodegroups, one.Groups = append(one.Nodegroups, two), append(one.Groups, group)
	w := newWorld(t, one, byTag)
	w.Arm(awstest.Fault{Action: "DescribeNodegroup", Mishap: awstest.Denied})
	n := noticesOf(w.read(t), noticeNotDescribed)
	if len(n) != 1 || n[0].Group != "" || !strings.Contains(
		n[0].Message, "could not describe 2 EKS node groups (prod/ng, prod/ng-2;",
	) || !strings.Contains(n[0].Message, "AccessDenied") {
		t.Errorf("notices: %v", n)
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

// TestANodegroupUpdateIsLeftToEKS: EKS raises the desired capacity, and drains and ends instances
// that it chooses. A client that removes nodes meanwhile, or lowers the desired capacity, ends
// those that EKS has just launched. (aws/containers-roadmap 2609)
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
			if h.Reason != holdNodegroupChanges || !strings.Contains(h.Message, status) ||
				!strings.Contains(h.Message, "prod/ng") {
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
