package gardener

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// A version that takes the marker for something else ends nobody: removals are held.
func TestTheMarkerIsHeldAgainstTheVersion(t *testing.T) {
	for _, c := range []struct {
		image string
		how   marker
		says  string
	}{
		{"", timestamped, ""}, {"registry:5000/mcm", timestamped, ""}, {"registry:5000/mcm:latest", timestamped, ""},
		{"registry:5000/gardener/mcm:v0.62.0@sha256:ab", timestamped, ""}, {"r/mcm:v0.61.3", timestamped, ""},
		{"r/mcm:v0.61.2", timestamped, "set it to names"}, {"r/mcm:v0.61.2", names, ""}, {"r/mcm:0.56.0", names, ""},
		{"r/mcm:v0.55.1@sha256:ab", names, "set it to priority"}, {"r/mcm:v0.55.1", timestamped, "set it to priority"}, {"r/mcm:v0.40.0", priority, ""},
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
	if g := inv.Groups[0]; !held(g, provider.OpRemove, string(provider.BadConfig)) || held(g, provider.OpGrow, string(provider.BadConfig)) || !noticed(inv, noticeWrongMarker, "v0.60.0") {
		t.Errorf("%+v, notices %v", g.Holds, inv.Notices)
	}
}
