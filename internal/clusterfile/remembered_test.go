package clusterfile_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestMachinesWithoutNodes: the time of a machine without a node runs since it was made, as far as the memory does not
// know better.
func TestMachinesWithoutNodes(t *testing.T) {
	policy := model.Policy{Rules: model.Rules{ProvisionTime: 15 * time.Minute}}
	old := testkit.Start.Add(-4 * time.Hour)
	machine := provider.Instance{ID: "i", State: provider.Running, Created: old}
	for _, c := range []struct {
		what   string
		in     provider.Instance
		memory []model.Ask
		node   bool
		asks   int
		late   bool
	}{
		{what: "made long ago", in: machine, asks: 1, late: true},
		{what: "made a moment ago", asks: 1,
			in: provider.Instance{ID: "i", State: provider.Creating, Created: testkit.Start.Add(-time.Minute)}},
		{what: "it has a node", in: machine, node: true},
		{what: "it goes", in: provider.Instance{ID: "i", State: provider.Deleting, Created: old}},
		{what: "it is not known when it was made", in: provider.Instance{ID: "i", State: provider.Running}},
		{what: "the memory knows it", in: machine, asks: 1, memory: []model.Ask{{ID: "a", Group: "g", At: testkit.Start,
			Units: []model.Unit{{State: model.UnitMade, Instance: "i", Exists: testkit.Start}}}}},
		{what: "the memory asked for one", in: machine, asks: 1, late: true,
			memory: []model.Ask{{ID: "a", Group: "g", At: old, Units: make([]model.Unit, 1)}}},
		{what: "the memory asked for a later one", in: machine, asks: 2, late: true,
			memory: []model.Ask{{ID: "a", Group: "g", At: testkit.Start, Units: make([]model.Unit, 1)}}},
	} {
		inventory := provider.Inventory{AsOf: testkit.Start, Groups: []provider.Group{
			{ID: "g", Max: 2, Target: 1, Instances: []provider.Instance{c.in}},
		}}
		cluster := clusterfile.Cluster{Time: testkit.Start, Inventory: &inventory, Memory: model.Memory{Asks: c.memory}}
		if c.node {
			inventory.Groups[0].Instances[0].NodeName = "n"
			cluster.Objects = []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
		}
		if got := cluster.Remembered().Asks; len(got) != c.asks {
			t.Errorf("%s: asks %+v, want %d", c.what, got, c.asks)
		}
		if len(cluster.Memory.Asks) != len(c.memory) {
			t.Errorf("%s: the memory itself has changed: %+v", c.what, cluster.Memory)
		}
		late := false
		for _, w := range decide(t, &cluster, policy).Snapshot.Groups[0].Waiting {
			late = late || w.Long
		}
		if late != c.late {
			t.Errorf("%s: it is late: %t, want %t", c.what, late, c.late)
		}
	}
}
