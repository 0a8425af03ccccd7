package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestDiscoveryAndNodesTogether: a group of both is one, and --nodes holds for
// it within what AWS allows; a discovered one follows its Auto Scaling group, and
// goes when its tag does.
func TestDiscoveryAndNodesTogether(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{
		named("both", func(g *awstest.Group) { g.Min, g.Max = 1, 10 }),
		named("found", func(g *awstest.Group) { g.Min, g.Max = 2, 7 }),
		{Name: "named", Max: 5, LaunchTemplate: template("")}, {Name: "stranger", Max: 5, LaunchTemplate: template("")},
	}}, Config{Discovery: byTag.Discovery, Nodes: []string{"0:4:both", "2:9:named"}})
	inv := w.read(t)
	var got []string
	for _, g := range inv.Groups {
		got = append(got, fmt.Sprintf("%s %d-%d", g.ID, g.Min, g.Max))
	}
	if diff := cmp.Diff([]string{"both 1-4", "found 2-7", "named 2-5"}, got); diff != "" {
		t.Error(diff)
	}
	if n := noticesOf(inv, noticeLimits); len(n) != 2 {
		t.Errorf("notices of narrowed limits: %v", n)
	}
	if err := w.Change(func(s *awstest.Spec) { s.Groups[1].Tags = nil; s.Groups[1].Max = 8 }); err != nil {
		t.Fatal(err)
	}
	if inv := w.read(t); len(inv.Groups) != 2 {
		t.Errorf("%d groups after the tag is gone", len(inv.Groups))
	}
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "found", To: 1}); err == nil ||
		provider.AsError("", "", err).Kind != provider.NotFound {
		t.Errorf("a group that is not meant any more grows: %v", err)
	}
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "stranger", To: 1}); err == nil ||
		provider.AsError("", "", err).Kind != provider.NotFound {
		t.Errorf("a group that is not meant grows: %v", err)
	}
}

// TestNoGroupsWhereThereWereSome is not taken for true.
func TestNoGroupsWhereThereWereSome(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g")}}, byTag)
	w.read(t)
	w.Arm(awstest.Fault{Action: "DescribeAutoScalingGroups", Mishap: awstest.EmptyBody})
	if inv, err := w.Inventory(t.Context()); err == nil {
		t.Errorf("%d groups and no error", len(inv.Groups))
	}
}

// TestTheThirdEmptyAnswerIsBelieved: the operator has taken the tags off the last
// group. One answer with groups in between, and the count begins again. (rule P7)
func TestTheThirdEmptyAnswerIsBelieved(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g")}}, byTag)
	w.read(t)
	empty := func(want bool) {
		t.Helper()
		inv, err := w.Inventory(t.Context())
		if (err == nil) != want || len(inv.Groups) > 0 {
			t.Errorf("%d groups, %v; want it believed: %v", len(inv.Groups), err, want)
		}
	}
	tag := func(key string) {
		if err := w.Change(func(s *awstest.Spec) { s.Groups[0].Tags = map[string]string{key: "true"} }); err != nil {
			t.Fatal(err)
		}
	}
	tag("others")
	empty(false)
	empty(false)
	tag("mine")
	w.read(t)
	tag("others")
	for _, want := range []bool{false, false, true, true} {
		empty(want)
	}
	tag("mine")
	w.read(t)
	tag("others")
	empty(false)
}

// TestBadTagsAreToldOnce in the log, and for as long as they are there in the
// notices.
func TestBadTagsAreToldOnce(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5,
		Groups:          []awstest.Group{named("g", func(g *awstest.Group) { g.Tags[tagResource+"cpu"] = "lots" })},
	}, byTag)
	for range 3 {
		if n := noticesOf(w.read(t), noticeBadTag); len(n) != 1 || n[0].Group != "g" ||
			!strings.Contains(n[0].Message, `"lots"`) {
			t.Errorf("notices: %v", n)
		}
	}
	if n := w.log.count("code=BadTag"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}
