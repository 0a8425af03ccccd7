package workers_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

func TestValidate(t *testing.T) {
	withCount := func(g v1alpha1.WorkerNodeGroup, n int) v1alpha1.WorkerNodeGroup { g.Count = &n; return g }
	inPlace := func(g v1alpha1.WorkerNodeGroup) v1alpha1.WorkerNodeGroup {
		g.UpgradeRolloutStrategy = &v1alpha1.UpgradeRolloutStrategy{Type: "InPlace"}
		return g
	}
	tests := []struct {
		name       string
		datacenter string
		groups     []v1alpha1.WorkerNodeGroup
		want       string
	}{
		{"fine", "", groups(fixed("a", 0), scaled("b", 0, 5)), ""},
		{"no count at all", "", groups(v1alpha1.WorkerNodeGroup{Name: "a"}), ""},
		{"count below zero", "", groups(fixed("a", -1)), "validating autoscaling configuration: worker node count must be zero or greater if autoscaling is not enabled"},
		{"count below zero means nothing if autoscaled", "", groups(withCount(scaled("a", 1, 2), -1)), ""},
		{"minimum below zero", "", groups(scaled("a", -1, 2)), "validating autoscaling configuration: min count must be non negative"},
		{"minimum above maximum", "", groups(scaled("a", 3, 2)), "validating autoscaling configuration: min count must be no greater than max count"},
		{"a minimum alone", "", groups(scaled("a", 2, 0)), "validating autoscaling configuration: min count must be no greater than max count"},
		{"a minimum below zero is named first", "", groups(scaled("a", -1, -2)), "validating autoscaling configuration: min count must be non negative"},
		{"an empty range", "", groups(scaled("a", 0, 0)), ""},
		{"count below the range", "", groups(withCount(scaled("a", 3, 5), 1)), ""},
		{"count above the range", "", groups(withCount(scaled("a", 3, 5), 9)), ""},
		{"the first group may have no name", "", groups(fixed("", 1)), ""},
		{"another must have one", "", groups(fixed("a", 1), fixed("", 1)), "must specify name for worker nodes"},
		{"one name twice", "", groups(fixed("a", 1), fixed("a", 1)), "worker node group names must be unique"},
		{"the default name twice", "", groups(fixed("", 1), fixed("md-0", 1)), "worker node group names must be unique"},
		{"a name before a range", "", groups(fixed("a", 1), scaled("", 3, 2)), "must specify name for worker nodes"},
		{"a range before a name twice", "", groups(fixed("a", 1), scaled("a", 3, 2)), "validating autoscaling configuration: min count must be no greater than max count"},
		{"the first wrong group is told", "", groups(scaled("a", 3, 2), fixed("", -1)), "validating autoscaling configuration: min count must be no greater than max count"},
		{"in place and autoscaled", "TinkerbellDatacenterConfig", groups(inPlace(fixed("a", 1)), scaled("b", 1, 2)), "austoscaler configuration not supported with InPlace upgrades"},
		{"in place without autoscaling", "TinkerbellDatacenterConfig", groups(inPlace(fixed("a", 1))), ""},
		{"in place where nothing is upgraded in place", "VSphereDatacenterConfig", groups(inPlace(scaled("a", 1, 2))), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := workers.Validate(v1alpha1.ClusterSpec{
				DatacenterRef: v1alpha1.Ref{Kind: tt.datacenter}, WorkerNodeGroupConfigurations: tt.groups,
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
