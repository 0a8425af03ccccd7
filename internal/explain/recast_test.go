package explain_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// Pods that wait get another content. The nodes are shared with the cluster as it is wherever no class gets another
// number, so that they are not loaded again for each value that is tried; else their pods have the new numbers.
func TestNodesAreSharedWhereNoClassMoves(t *testing.T) {
	shared, numbered := 0, 0
	for cpu := 2; cpu < 22; cpu++ {
		s := testkit.NewScenario()
		if err := s.Add(`
			group general max=4 cpu=8 memory=16Gi
			node n1 group=general
			pods web count=2 cpu=1 memory=1Gi node=n1
			pods api count=2 cpu=9 memory=1Gi
		`); err != nil {
			t.Fatal(err)
		}
		before := s.Snapshot(s.Policy)
		after, class := *before, before.Pending[0].Class
		pod := before.Classes[class].Spec.Pod.DeepCopy()
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(fmt.Sprint(cpu))
		now := explain.Recast(&after, class, pod, false)
		ran := before.Nodes[0].Batches[0].Class
		runs := after.Nodes[0].Batches[0].Class
		if after.Classes[runs].Key != before.Classes[ran].Key || after.Pending[0].Class != now || len(after.Classes) != 2 {
			t.Fatalf("cpu %d: %+v", cpu, after)
		}
		same := after.Nodes[0] == before.Nodes[0]
		if same != (ran == runs) {
			t.Errorf("cpu %d: the nodes are shared: %v, and web is class %d, then %d", cpu, same, ran, runs)
		}
		if same {
			shared++
		} else {
			numbered++
		}
	}
	if shared == 0 || numbered == 0 {
		t.Errorf("shared %d times, numbered %d times", shared, numbered)
	}
}
