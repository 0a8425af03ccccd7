package eksanywhere_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
)

// TestConditionFollowsMachineDeployments: with nothing but machine deployments
// changing, the condition goes through its steps, and what else is in the Cluster
// survives.
func TestConditionFollowsMachineDeployments(t *testing.T) {
	w := bare.newWorld(t, "follows")
	c := w.run(t, eksanywhere.Settings{})
	w.want(fixed("a", 2).kwok("small"), scaled("b", 1, 5).kwok("small"))
	w.readyIs("False OutdatedInformation Worker node group follows-a status not up to date yet")
	w.tells("MachineDeploymentApply", "follows-a created with 2 replicas")
	w.tells("MachineDeploymentApply", "follows-b created without replicas")
	w.settle("a", 2)
	w.readyIs("False OutdatedInformation Worker node group follows-b status not up to date yet")
	w.settle("b", 1)
	w.readyIs("True")
	w.status("a", 2, 1)
	w.readyIs("False NodesNotReady Worker nodes not ready yet, 2 expected (1 ready)")
	w.settle("a", 2)
	w.readyIs("True")
	w.settle("b", 6)
	w.readyIs("False AutoscalerConstraintNotMet Worker nodes count for follows-b not between 1 and 5 yet (6 actual)")
	w.settle("b", 5)
	w.readyIs("True")

	cluster := w.cluster()
	list, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	if diff := cmp.Diff(
		map[string]any{"type": "ControlPlaneInitialized", "status": "True", "note": "kept"}, list[0],
	); diff != "" {
		t.Errorf("another client's condition: %s", diff)
	}
	if name, _, _ := unstructured.NestedString(cluster.Object, "spec", "gitOpsRef", "name"); name != "kept" {
		t.Error("a field that this controller does not know did not survive")
	}
	if got := owners(cluster, "spec"); slices.Contains(got, "plimsoll-eks-anywhere") {
		t.Errorf("the spec is owned by %v", got)
	}
	if got := condition(cluster, "WorkerNodeGroupsValid"); got != "True" {
		t.Errorf("WorkerNodeGroupsValid is %s", got)
	}

	// Others go on writing conditions into the same list, and it goes on writing its own.
	list = append(list, map[string]any{"type": "Ready", "status": "False"})
	w.writeConditions("eks-a-controller", list)
	w.settle("b", 7)
	w.readyIs("False AutoscalerConstraintNotMet")
	if got := condition(w.cluster(), "Ready"); got != "False" {
		t.Errorf("the other's condition is %s", got)
	}

	// Another client is the last to write the list before a restart: the controller that starts next
	// recognises its own condition in it.
	c.end()
	list, _, _ = unstructured.NestedSlice(w.cluster().Object, "status", "conditions")
	w.writeConditions("eks-a-controller", append(list, map[string]any{"type": "More", "status": "True"}))
	if got := owners(w.cluster(), "status", "conditions"); !slices.Equal(got, []string{"eks-a-controller"}) {
		t.Fatalf("the conditions are owned by %v", got)
	}
	w.settle("b", 5)
	w.run(t, eksanywhere.Settings{})
	w.readyIs("True")
}

func (w world) writeConditions(manager string, list []any) {
	w.t.Helper()
	text, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": list}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.patchStatus(w.clusterObject(), manager, string(text))
}

// TestConditionOfAnotherWriter: where another controller writes WorkersReady, it is
// left to it, and events and metrics tell; once the condition is taken away, it is
// this controller's.
func TestConditionOfAnotherWriter(t *testing.T) {
	w := bare.newWorld(t, "other")
	theirs := map[string]any{"type": "WorkersReady", "status": "False", "reason": "ScalingDown",
		"message": "Scaling down worker nodes, 1 expected (10 actual)"}
	initialized := map[string]any{"type": "ControlPlaneInitialized", "status": "True"}
	w.made("a", 3)
	w.settle("a", 3)
	w.writeConditions("eks-a-controller", []any{initialized, theirs})
	c := w.run(t, eksanywhere.Settings{StatusOnly: true})
	w.want(scaled("a", 1, 5))
	w.tells("ConditionHasOtherWriter", "eks-a-controller writes the condition WorkersReady")
	w.eventually("the metric tells what the condition should be", func() (bool, string) {
		return c.metric("plimsoll_eks_anywhere_workers_ready", "other") == 1 &&
			c.metric("plimsoll_eks_anywhere_condition_other_writer", "eks-a-controller") == 1, ""
	})
	w.settle("a", 6)
	w.eventually("the metric follows", func() (bool, string) {
		return c.metric("plimsoll_eks_anywhere_workers_ready", "other") == 0, ""
	})
	cluster := w.cluster()
	if got := condition(cluster, "WorkersReady"); !strings.HasPrefix(got, "False ScalingDown") {
		t.Errorf("the condition is %s", got)
	}
	if got := owners(cluster, "status", "conditions"); !slices.Equal(got, []string{"eks-a-controller"}) {
		t.Errorf("the conditions are owned by %v", got)
	}

	w.writeConditions("kubectl", []any{initialized})
	w.readyIs("False AutoscalerConstraintNotMet")
	w.eventually("the metric is gone", func() (bool, string) {
		return c.metric("plimsoll_eks_anywhere_condition_other_writer", "eks-a-controller") == 0, ""
	})

	// The other is back, and writes over it: this controller gives in.
	w.writeConditions("eks-a-controller", []any{initialized, theirs})
	w.eventually("it gives in", func() (bool, string) {
		return c.metric("plimsoll_eks_anywhere_condition_other_writer", "eks-a-controller") == 1, ""
	})
	w.settle("a", 4)
	w.eventually("the metric follows", func() (bool, string) {
		return c.metric("plimsoll_eks_anywhere_workers_ready", "other") == 1, ""
	})
	if got := condition(w.cluster(), "WorkersReady"); !strings.HasPrefix(got, "False ScalingDown") {
		t.Errorf("the condition is %s", got)
	}
}

// TestStatusOnlyAndPaused: the condition follows, and machine deployments are not
// touched.
func TestStatusOnlyAndPaused(t *testing.T) {
	for _, tt := range []struct {
		name, annotation string
		settings         eksanywhere.Settings
	}{
		{"status-only", "unrelated", eksanywhere.Settings{StatusOnly: true}},
		{"paused", "anywhere.eks.amazonaws.com/paused", eksanywhere.Settings{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := bare.newWorld(t, tt.name)
			w.made("a", 3)
			w.made("gone", 1)
			w.settle("a", 3)
			w.settle("gone", 0)
			w.patch(w.clusterObject(), "user", `{"metadata":{"annotations":{"`+tt.annotation+`":"true"}}}`)
			before := w.md("a").GetResourceVersion()
			w.run(t, tt.settings)
			w.want(scaled("a", 1, 2), scaled("b", 1, 2).kwok("small"))
			w.readyIs(
				"False AutoscalerConstraintNotMet Worker nodes count for " + tt.name + "-a not between 1 and 2 yet (3 actual)",
			)
			w.want(scaled("a", 1, 3))
			w.readyIs("True")
			if w.md("a").GetResourceVersion() != before || len(w.deployments(t.Context())) != 2 {
				t.Error("machine deployments were written")
			}
		})
	}
}

// TestInvalidSpec: a wrong spec is reported and carried out by no part; once it is
// mended, all is.
func TestInvalidSpec(t *testing.T) {
	w := bare.newWorld(t, "invalid")
	w.run(t, eksanywhere.Settings{})
	w.want(fixed("a", 1).kwok("small"), scaled("b", 3, 2).kwok("small"))
	const text = "validating autoscaling configuration: min count must be no greater than max count"
	w.tells("InvalidWorkerNodeGroups", text)
	w.eventually("the condition tells", func() (bool, string) {
		got := condition(w.cluster(), "WorkerNodeGroupsValid")
		return got == "False InvalidWorkerNodeGroups "+text, got
	})
	if mds := w.deployments(t.Context()); len(mds) > 0 {
		t.Errorf("%d machine deployments were made", len(mds))
	}
	w.want(fixed("a", 1).kwok("small"), scaled("b", 2, 3).kwok("small"))
	w.eventually("the groups are there", func() (bool, string) {
		_, a := w.replicasAre("a", 1)
		_, b := w.replicasAre("b", 2)
		return a == "1" && b == "2", a + " " + b
	})
	w.eventually("the condition tells", func() (bool, string) {
		got := condition(w.cluster(), "WorkerNodeGroupsValid")
		return got == "True", got
	})
}
