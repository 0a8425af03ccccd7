package workers_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// TestReady: every step of the ladder, the order of each two neighbours, and the
// edges.
func TestReady(t *testing.T) {
	inPlace := func(c *v1alpha1.Cluster) {
		c.Spec.ControlPlaneConfiguration.UpgradeRolloutStrategy = &v1alpha1.UpgradeRolloutStrategy{Type: "InPlace"}
	}
	const whole = "True"
	tests := []struct {
		name    string
		cluster v1alpha1.Cluster
		groups  []v1alpha1.WorkerNodeGroup
		found   []workers.MachineDeployment
		// want is "True", or reason, severity and message.
		want    string
		message string
	}{
		// The steps, with groups without autoscaling only: as before there was any.
		{"control plane not initialized", v1alpha1.Cluster{}, groups(fixed("a", 1)), mds(md("c1-a", 1)), "ControlPlaneNotInitialized Info", ""},
		{"control plane known not to be initialized", v1alpha1.Cluster{
			Status: v1alpha1.ClusterStatus{Conditions: []v1alpha1.Condition{{Type: "ControlPlaneInitialized", Status: "False"}}},
		},
			groups(fixed("a", 1)), mds(md("c1-a", 1)), "ControlPlaneNotInitialized Info", ""},
		{"control plane before outdated", v1alpha1.Cluster{}, groups(fixed("a", 1)), mds(md("c1-a", 1, unobserved)), "ControlPlaneNotInitialized Info", ""},
		{"no groups", cluster(), nil, nil, whole, ""},
		{"all as asked", cluster(), groups(fixed("a", 2), fixed("b", 1)), mds(md("c1-a", 2), md("c1-b", 1)), whole, ""},
		{"not observed", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 1, unobserved)), "OutdatedInformation Info", "Worker node group c1-a status not up to date yet"},
		{"outdated before rolling", cluster(), groups(fixed("a", 2)), mds(md("c1-a", 2, rolling(1), unobserved)), "OutdatedInformation Info", "Worker node group c1-a status not up to date yet"},
		{"rolling", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 4, rolling(1))), "RollingUpgradeInProgress Info", "Worker nodes not up-to-date yet, 4 upgrading (1 up to date)"},
		{"rolling in place", cluster(inPlace), groups(fixed("a", 3)), mds(md("c1-a", 3, rolling(1))), "InPlaceUpgradeInProgress Info", "Worker nodes not up-to-date yet, 3 upgrading (1 up to date)"},
		{"rolling before scaling", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 2, rolling(1))), "RollingUpgradeInProgress Info", "Worker nodes not up-to-date yet, 2 upgrading (1 up to date)"},
		{"scaling up", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 1)), "ScalingUp Info", "Scaling up worker nodes, 3 expected (1 actual)"},
		{"growing, and the new machines are not known to be up to date", cluster(), groups(fixed("a", 4)), mds(md("c1-a", 3, wants(4), upToDate(2))), "ScalingUp Info", "Scaling up worker nodes, 4 expected (3 actual)"},
		{"no machine is known to be up to date, and no rollout is known", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 3, upToDate(0))), whole, ""},
		{"rollout that is not known of yet, but surges", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 4, wants(3), upToDate(3))), "RollingUpgradeInProgress Info", "Worker nodes not up-to-date yet, 4 upgrading (3 up to date)"},
		{"scaling down", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 10)), "ScalingDown Info", "Scaling down worker nodes, 1 expected (10 actual)"},
		{"scaling before not ready", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 2, ready(0))), "ScalingUp Info", "Scaling up worker nodes, 3 expected (2 actual)"},
		{"not ready", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 3, ready(2))), "NodesNotReady Info", "Worker nodes not ready yet, 3 expected (2 ready)"},
		{"nodes before machine deployment", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 3, ready(2), notReady)), "NodesNotReady Info", "Worker nodes not ready yet, 3 expected (2 ready)"},
		{"machine deployment says no", cluster(), groups(fixed("a", 3)), mds(md("c1-a", 3, notReady)), "MachineDeploymentNotReady Error", "Machine deployment c1-a not ready yet"},
		{"sums of several groups", cluster(), groups(fixed("a", 2), fixed("b", 2)), mds(md("c1-b", 1), md("c1-a", 2)), "ScalingUp Info", "Scaling up worker nodes, 4 expected (3 actual)"},
		{"other clusters do not count", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 1), md("c2-a", 5, ofCluster2, unobserved)), whole, ""},

		// Autoscaled groups.
		{"within the range, whatever the count", cluster(), groups(func() v1alpha1.WorkerNodeGroup { g := scaled("a", 1, 10); g.Count = count(1); return g }()), mds(md("c1-a", 10)), whole, ""},
		{"scaling within the range", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 4, wants(4), ready(2))), whole, ""},
		{"scaling within the range, and the machine deployment is not available meanwhile", cluster(), groups(scaled("a", 1, 10)), mds(md("c1-a", 10, ready(1), notReady)), whole, ""},
		{"scaling in v1beta2: new machines are not known to be up to date yet", cluster(), groups(scaled("a", 1, 10)), mds(md("c1-a", 10, upToDate(1), ready(1), notReady)), whole, ""},
		{"at the minimum", cluster(), groups(scaled("a", 2, 5)), mds(md("c1-a", 2)), whole, ""},
		{"at the maximum", cluster(), groups(scaled("a", 2, 5)), mds(md("c1-a", 5)), whole, ""},
		{"below, minimum just raised", cluster(), groups(scaled("a", 3, 5)), mds(md("c1-a", 2)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 3 and 5 yet (2 actual)"},
		{"above, maximum just lowered", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 6)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 1 and 5 yet (6 actual)"},
		{"above, and already asked for less", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 6, wants(5))), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 1 and 5 yet (6 actual)"},
		{"exactly n", cluster(), groups(scaled("a", 3, 3)), mds(md("c1-a", 3)), whole, ""},
		{"not exactly n", cluster(), groups(scaled("a", 3, 3)), mds(md("c1-a", 4)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 3 and 3 yet (4 actual)"},
		{"none of none to n", cluster(), groups(scaled("a", 0, 4)), mds(md("c1-a", 0)), whole, ""},
		{"an empty range", cluster(), groups(scaled("a", 0, 0)), mds(md("c1-a", 0)), whole, ""},
		{"an empty range with nodes", cluster(), groups(scaled("a", 0, 0)), mds(md("c1-a", 2)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 0 and 0 yet (2 actual)"},
		{"several out of range: the first of the spec", cluster(), groups(scaled("z", 1, 2), scaled("a", 1, 2)), mds(md("c1-a", 9), md("c1-z", 8)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-z not between 1 and 2 yet (8 actual)"},
		{"fixed group first, if both are wrong", cluster(), groups(scaled("a", 1, 2), fixed("b", 1)), mds(md("c1-a", 9), md("c1-b", 1, ready(0))), "NodesNotReady Info", "Worker nodes not ready yet, 1 expected (0 ready)"},
		{"range before machine deployment", cluster(), groups(fixed("b", 1), scaled("a", 1, 2)), mds(md("c1-a", 9), md("c1-b", 1, notReady)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 1 and 2 yet (9 actual)"},
		{"fewer than the minimum are available", cluster(), groups(scaled("a", 3, 5)), mds(md("c1-a", 4, ready(2), notReady)), "MachineDeploymentNotReady Error", "Machine deployment c1-a not ready yet"},
		{"not observed, autoscaled", cluster(), groups(fixed("b", 3), scaled("a", 1, 5)), mds(md("c1-b", 1), md("c1-a", 2, unobserved)), "OutdatedInformation Info", "Worker node group c1-a status not up to date yet"},
		{"not observed, but only scaled", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 2, wants(4), unobserved, onlyScaled)), whole, ""},
		{"not observed and only scaled, without autoscaling", cluster(), groups(fixed("a", 2)), mds(md("c1-a", 2, unobserved, onlyScaled)), "OutdatedInformation Info", "Worker node group c1-a status not up to date yet"},
		{"not observed and only scaled, left over", cluster(), groups(fixed("a", 2)), mds(md("c1-a", 2), md("c1-b", 0, unobserved, onlyScaled)), "OutdatedInformation Info", "Worker node group c1-b status not up to date yet"},
		{"all groups autoscaled", cluster(), groups(scaled("a", 1, 5), scaled("b", 1, 5)), mds(md("c1-a", 1), md("c1-b", 6)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-b not between 1 and 5 yet (6 actual)"},

		// What is not there.
		{"missing, fixed", cluster(), groups(fixed("a", 2)), mds(md("c2-z", 1, ofCluster2)), "ScalingUp Info", "Scaling up worker nodes, 2 expected (0 actual)"},
		{"missing, autoscaled", cluster(), groups(scaled("a", 2, 5)), mds(md("c2-z", 1, ofCluster2)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 2 and 5 yet (0 actual): machine deployment c1-a not created yet"},
		{"missing, autoscaled from none", cluster(), groups(scaled("a", 0, 5)), mds(md("c2-z", 1, ofCluster2)), "ScalingUp Info", "Machine deployment c1-a not created yet"},
		{"left over", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 1), md("c1-gone", 2, deleting)), "ScalingDown Info", "Scaling down worker nodes, 1 expected (3 actual)"},
		{"left over and annotated", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 1), md("c1-gone", 2, annotated("1", "5"))), "ScalingDown Info", "Scaling down worker nodes, 1 expected (3 actual)"},
		{"left over without machines", cluster(), groups(fixed("a", 1)), mds(md("c1-a", 1), md("c1-gone", 0, deleting, notReady)), whole, ""},

		// The spec decides, not annotations.
		{"autoscaling added, not annotated yet", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 3)), whole, ""},
		{"autoscaling removed, still annotated", cluster(), groups(fixed("a", 2)), mds(md("c1-a", 5, annotated("1", "5"))), "ScalingDown Info", "Scaling down worker nodes, 2 expected (5 actual)"},
		{"a fixed group that another client annotated", cluster(), groups(fixed("a", 2)), mds(md("c1-a", 2, annotated("1", "5"))), whole, ""},

		// Rollouts of autoscaled groups.
		{"rollout with surge at the maximum", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 6, wants(5), rolling(1))), "RollingUpgradeInProgress Info", "Worker nodes of c1-a not up-to-date yet, 6 upgrading (1 up to date)"},
		{"rollout within the range", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 3, rolling(1))), "RollingUpgradeInProgress Info", "Worker nodes of c1-a not up-to-date yet, 3 upgrading (1 up to date)"},
		{"rollout that the condition does not know of yet", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 6, wants(5), upToDate(5))), "RollingUpgradeInProgress Info", "Worker nodes of c1-a not up-to-date yet, 6 upgrading (5 up to date)"},
		{"above, and one machine is not known to be up to date: nothing surges", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 8, upToDate(7))), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 1 and 5 yet (8 actual)"},
		{"fewer than wanted, and none is known to be up to date", cluster(), groups(scaled("a", 1, 5)), mds(md("c1-a", 3, wants(5), upToDate(0), ready(3))), whole, ""},
		{"rollout in place", cluster(inPlace), groups(scaled("a", 1, 5)), mds(md("c1-a", 4, rolling(1))), "InPlaceUpgradeInProgress Info", "Worker nodes of c1-a not up-to-date yet, 4 upgrading (1 up to date)"},
		{"rollout after the fixed groups", cluster(), groups(fixed("b", 2), scaled("a", 1, 5)), mds(md("c1-b", 1), md("c1-a", 4, rolling(1))), "ScalingUp Info", "Scaling up worker nodes, 2 expected (1 actual)"},

		// Failure domains: several machine deployments are one group.
		{"split group within the range", cluster(), groups(split(scaled("a", 2, 4), "x", "y")), mds(md("c1-a-x", 3), md("c1-a-y", 1)), whole, ""},
		{"split group above the range", cluster(), groups(split(scaled("a", 2, 4), "x", "y")), mds(md("c1-a-x", 3), md("c1-a-y", 2)), "AutoscalerConstraintNotMet Info", "Worker nodes count for c1-a not between 2 and 4 yet (5 actual)"},
		{"split group, a part is missing", cluster(), groups(split(scaled("a", 2, 4), "x", "y")), mds(md("c1-a-x", 3)), "ScalingUp Info", "Machine deployment c1-a-y not created yet"},
		{"split group, fewer than a part of the minimum", cluster(), groups(split(scaled("a", 3, 6), "x", "y")), mds(md("c1-a-x", 2, ready(1), notReady), md("c1-a-y", 2)), "MachineDeploymentNotReady Error", "Machine deployment c1-a-x not ready yet"},
		{"split group without autoscaling", cluster(), groups(split(fixed("a", 3), "x", "y")), mds(md("c1-a-x", 2), md("c1-a-y", 1)), whole, ""},

		// Specs without a count.
		{"no count", cluster(), groups(v1alpha1.WorkerNodeGroup{Name: "a"}), mds(md("c1-a", 1)), whole, ""},
		{"no count, autoscaled", cluster(), groups(scaled("a", 2, 3)), mds(md("c1-a", 3)), whole, ""},
		{"no name", cluster(), groups(fixed("", 1)), mds(md("c1-md-0", 1)), whole, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := workers.Ready(tt.cluster, bind(tt.groups, tt.found))
			verdict := got.Status
			if got.Status == "False" {
				verdict = got.Reason + " " + got.Severity
			}
			if got.Type != "WorkersReady" || verdict != tt.want || got.Message != tt.message {
				t.Errorf("got  %s %q\nwant %s %q", verdict, got.Message, tt.want, tt.message)
			}

			reversed := slices.Clone(tt.found)
			slices.Reverse(reversed)
			if diff := cmp.Diff(got, workers.Ready(tt.cluster, bind(tt.groups, reversed))); diff != "" {
				t.Errorf("the order in which machine deployments are listed matters:\n%s", diff)
			}
		})
	}
}

// TestBindNames: a machine deployment is found by the name that it has, and by
// nothing that merely begins alike.
func TestBindNames(t *testing.T) {
	type bound map[string][]string
	tests := []struct {
		name     string
		groups   []v1alpha1.WorkerNodeGroup
		found    []workers.MachineDeployment
		want     bound
		leftover []string
		taken    []workers.Taken
	}{
		{"a name that begins alike", groups(fixed("a", 1)), mds(md("c1-a", 1), md("c1-a-b", 1)), bound{"a": {"c1-a"}}, []string{"c1-a-b"}, nil},
		{"a group named like another's part", groups(split(fixed("a", 1), "b"), fixed("a-b", 1)), mds(md("c1-a-b", 1)), bound{"a": nil, "a-b": {"c1-a-b"}}, nil, nil},
		{"parts in the order of the failure domains", groups(split(fixed("a", 1), "y", "x")), mds(md("c1-a-x", 1), md("c1-a-y", 1)), bound{"a": {"c1-a-y", "c1-a-x"}}, nil, nil},
		{"the whole is left over once there are parts", groups(split(fixed("a", 1), "x")), mds(md("c1-a", 1), md("c1-a-x", 1)), bound{"a": {"c1-a-x"}}, []string{"c1-a"}, nil},
		{"another cluster has the name", groups(fixed("a", 1)), mds(md("c1-a", 1, ofCluster2)), bound{"a": nil}, nil, []workers.Taken{{Name: "c1-a", By: "c2"}}},
		{"two groups of one name", groups(fixed("a", 1), fixed("a", 1)), mds(md("c1-a", 1)), bound{"a": {"c1-a"}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bind(tt.groups, tt.found)
			got := bound{}
			for _, g := range w.Groups {
				for _, m := range g.Found {
					got[g.Name] = append(got[g.Name], m.Name)
				}
				if _, ok := got[g.Name]; !ok {
					got[g.Name] = nil
				}
			}
			var leftover []string
			for _, m := range w.Leftover {
				leftover = append(leftover, m.Name)
			}
			if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.leftover, leftover) + cmp.Diff(tt.taken, w.Taken); diff != "" {
				t.Error(diff)
			}
		})
	}
}
