package schedsim

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestManyDaemonSetsAreCounted: anybody who may make DaemonSets may make many. The work
// on them counts as steps, and groups that have the same ones share what was found: it
// grows with each group by no more than putting the pods onto its node.
func TestManyDaemonSetsAreCounted(t *testing.T) {
	const sets, groups = 300, 30
	zones := []string{"a", "b", "c"}
	c := testkit.New()
	for g := range groups {
		own := c.Group(fmt.Sprintf("g%02d", g), 0, 10,
			testkit.Node("", "64", "256Gi", map[string]string{"of": fmt.Sprint(g)}))
		for _, z := range zones {
			own.Template.Places = append(own.Template.Places,
				provider.Place{Zone: z, Labels: map[string]string{corev1.LabelTopologyZone: z}})
		}
	}
	for i := range sets {
		name := fmt.Sprintf("ds%03d", i)
		p := testkit.Pod("kube-system", name, "1m", "1Mi", map[string]string{"app": name})
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zones[i%3]}
		c.DaemonSet(name, p)
	}
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
	w := Load(nil, s)
	defer w.Close()
	for g := range groups {
		n, without := w.newNode(g)
		pods := 0
		for _, b := range n.batches {
			pods += b.Count
		}
		if pods != sets/len(zones) || len(without) > 0 {
			t.Fatalf("group %d: %d pods and %d without room, %d wanted: as many as a zone has", g, pods,
				len(without), sets/len(zones))
		}
	}
	// Each DaemonSet a few times for the template and each zone, with the filters' own
	// steps, then its pods for each group.
	least, most := groups*sets/len(zones)/model.LooksPerStep,
		(6*sets*(1+len(zones))+groups*sets/len(zones))/model.LooksPerStep
	if got := w.Work().Steps; got < least || got > most {
		t.Errorf("%d steps, %d to %d wanted", got, least, most)
	}
}
