package gardener

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// With a version that reads the marker differently no machine is deleted: removals are held.
func TestTheMarkerIsHeldAgainstTheVersion(t *testing.T) {
	for _, c := range []struct {
		image string
		how   marker
		says  string
	}{
		{"", timestamped, ""}, {"registry:5000/mcm", timestamped, ""}, {"registry:5000/mcm:latest", timestamped, ""},
		{"registry:5000/gardener/mcm:v0.62.0@sha256:ab", timestamped, ""}, {"r/mcm:v0.61.3", timestamped, ""},
		{"r/mcm:v0.61.2", timestamped, "set it to names"}, {"r/mcm:v0.61.2", names, ""}, {"r/mcm:0.56.0", names, ""},
		{"r/mcm:v0.55.1@sha256:ab", names, "set it to priority"}, {"r/mcm:v0.55.1", timestamped, "set it to priority"},
		{"r/mcm:v0.40.0", priority, ""},
	} {
		if got := mistaken(c.image, c.how); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s with %s: %q", c.image, c.how, got)
		}
	}
	w, p, _ := three(t)
	o := gardenertest.Manager(ns, 1)
	kubetest.Set(o, []any{
		kubetest.Object{"name": "machine-controller-manager-provider-aws", "image": "r/mcm-provider-aws:v0.20.0"},
		kubetest.Object{"name": "machine-controller-manager", "image": "r/mcm:v0.60.0"},
	}, "spec", "template", "spec", "containers")
	w.Apply(o)
	inv := inventory(t, p)
	if g := inv.Groups[0]; !held(g, provider.OpRemove, string(provider.BadConfig)) ||
		held(g, provider.OpGrow, string(provider.BadConfig)) || !noticed(inv, noticeWrongMarker, "v0.60.0") {
		t.Errorf("%+v, notices %v", g.Holds, inv.Notices)
	}
}

// TestMCMIsAwayForLongerThanANodeMayTake: nodes were asked for, and
// machine-controller-manager goes away before it has made one, for longer than any node
// may take. Every look from its end to its return holds all groups for all writes, also that of a
// new process, and shows the target and since when it stands. The first look after it holds
// nothing, so that a caller that does not count the time of the hold gives up on nothing.
func TestMCMIsAwayForLongerThanANodeMayTake(t *testing.T) {
	const goes, vanishes, leads, returns, end = 1, 20, 30, 41, 45 // minutes; a node may take 15
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var minute atomic.Int64
	clock := func() time.Time { return begin.Add(time.Duration(minute.Load()) * time.Minute) }
	w := gardenertest.New(clock, ns)
	for i, n := range []int{1, 0} {
		w.Add(gardenertest.NewClass(ns, zone(i), "zone"),
			gardenertest.NewDeployment(ns, zone(i), "web", "zone", n, limited("0", "4")...))
	}
	w.Settle()
	w.SetTiming(gardenertest.Timing{Observe: time.Hour}) // no machine is made by itself
	look := connect(t, w, anywhere)
	look.now = clock
	if err := grow(look, t, id(0), 1, 3); err != nil {
		t.Fatal(err)
	}
	asked := begin
	for m := int64(0); m <= end; m++ {
		minute.Store(m)
		switch m {
		case goes:
			w.Apply(gardenertest.Manager(ns, 0))
		case vanishes:
			w.Drop("Deployment", ns, v1alpha1.ControllerManagerDeployment)
		case leads: // another process, which has asked for nothing
			look = connect(t, w, anywhere)
			look.now, asked = clock, time.Time{}
		case returns:
			w.Apply(gardenertest.Manager(ns, 1))
		case returns + 1:
			w.Reconcile()
		}
		inv := inventory(t, look)
		away := m >= goes && m < returns
		for _, g := range inv.Groups {
			for _, op := range everyWrite {
				if held(g, op, holdUnavailable) != away {
					t.Errorf("minute %d: %s of %s is held: %v", m, op, g.ID, !away)
				}
			}
			for _, h := range g.Holds {
				if !h.Stalled {
					t.Errorf("minute %d: %s: the time of what was asked for runs on: %+v", m, g.ID, h)
				}
			}
			if !away && len(g.Holds) != 0 {
				t.Errorf("minute %d: %s: %+v", m, g.ID, g.Holds)
			}
		}
		want := 1
		if m > returns {
			want = 3
		}
		if g := inv.Groups[0]; g.Target != 3 || !g.TargetSince.Equal(asked) || len(g.Instances) != want {
			t.Errorf("minute %d: a target of %d since %v, %d instances, want %d",
				m, g.Target, g.TargetSince, len(g.Instances), want)
		}
		if noticed(inv, noticeUnavailable, "machine-controller-manager") != away {
			t.Errorf("minute %d: notices %v", m, inv.Notices)
		}
	}
}
