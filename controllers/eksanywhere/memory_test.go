package eksanywhere

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
)

// TestReconcileKnowsItsConditionAgain: after a restart or a change of leader, a
// condition in a list that another manager wrote last is this controller's if it
// stands as it left it there, and the other's if not.
func TestReconcileKnowsItsConditionAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(condition map[string]any)
		want string // the condition's reason in the end
	}{
		{"the other left it alone", func(map[string]any) {}, "AutoscalerConstraintNotMet"},
		{"the other wrote it, too", func(c map[string]any) { c["status"], c["reason"] = "False", "ScalingDown" }, "ScalingDown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Settings{StatusOnly: true}, fmt.Sprintf(oneGroup, "", 1), machineDeployment)
			b.reconcile()
			b.writeConditionsAs("eks-a-controller", func(list []any) []any {
				tt.edit(list[1].(map[string]any))
				return append(list, map[string]any{"type": "Ready", "status": "True"})
			})
			md := b.get(object(b.kind), "eksa-system", "c1-a")
			for _, count := range []string{"replicas", "readyReplicas", "upToDateReplicas", "availableReplicas"} {
				if err := unstructured.SetNestedField(md.Object, int64(6), "status", count); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.writer.Update(t.Context(), md); err != nil {
				t.Fatal(err)
			}
			b.memory = newMemory()
			b.events()
			b.reconcile()
			if got := b.conditions()[1].(map[string]any)["reason"]; got != tt.want {
				t.Errorf("the reason is %v, want %s", got, tt.want)
			}
			const line = "kubectl get clusters.anywhere.eks.amazonaws.com -n default c1 -o json | jq"
			told := strings.Join(b.events(), "\n")
			if got := strings.Contains(told, "ConditionHasOtherWriter") &&
				strings.Contains(told, line); got != (tt.want == "ScalingDown") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestMemoryCompares: a spec that is not observed yet differs from the observed one
// in its replicas alone, or not.
func TestMemoryCompares(t *testing.T) {
	read := func(generation, observed int64, spec string) []workers.MachineDeployment {
		text := fmt.Sprintf("{apiVersion: v1, kind: x, metadata: {name: a, uid: u, generation: %d}, spec: %s, status: "+
			"{observedGeneration: %d}}", generation, spec, observed)
		return []workers.MachineDeployment{workers.Read(parse(t, text).Object, "v1beta2")}
	}
	m := newMemory()
	steps := []struct {
		name string
		mds  []workers.MachineDeployment
		want bool
	}{
		{"nothing is known", read(2, 1, "{clusterName: c, replicas: 2}"), false},
		{"observed", read(2, 2, "{clusterName: c, replicas: 2}"), false},
		{"scaled", read(3, 2, "{clusterName: c, replicas: 3}"), true},
		{"scaled again, still not observed", read(4, 2, "{clusterName: c, replicas: 4}"), true},
		{"changed", read(5, 2, "{clusterName: c, replicas: 4, paused: true}"), false},
		{"changed and scaled", read(6, 5, "{clusterName: c, replicas: 5, paused: true}"), false},
		{"changed back", read(7, 5, "{clusterName: c, replicas: 5}"), false},
		{"observed again", read(7, 7, "{clusterName: c, replicas: 5}"), false},
		{"touched", read(8, 7, "{clusterName: c, replicas: 5}"), true},
		{"on its way out", func() []workers.MachineDeployment {
			mds := read(9, 7, "{clusterName: c, replicas: 5}")
			mds[0].Deleting = true
			return mds
		}(), false},
	}
	for _, tt := range steps {
		if got := m.compare(tt.mds)[0].OnlyScaled; got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	m.compare(nil)
	if len(m.observed) > 0 {
		t.Error("a machine deployment that is gone is remembered")
	}
}
