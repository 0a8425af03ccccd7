package schedsim

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestSearchesAreGoneOnWith: classes of one family go where they would if each looked at all nodes for itself, while
// nodes are added, dropped, shut and undone.
func TestSearchesAreGoneOnWith(t *testing.T) {
	wentOn := 0
	rapid.Check(t, func(t *rapid.T) {
		c := testkit.New()
		for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
			zone := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")
			size := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "cores")
			c.AddNode(testkit.Node(fmt.Sprintf("n%d", i), size, "16Gi", map[string]string{corev1.LabelTopologyZone: zone}), "")
		}
		c.Group("g", 0, 10, testkit.Node("", "2", "16Gi", map[string]string{corev1.LabelTopologyZone: "b"}))
		skew := rapid.SampledFrom([]int32{1, 3}).Draw(t, "skew")
		for i := range 12 {
			app := rapid.SampledFrom([]string{"db", "db", "kv"}).Draw(t, "app")
			p := testkit.Pod("default", fmt.Sprintf("%s-%02d", app, i), "1", "", map[string]string{"app": app})
			testkit.SpreadOver(p, corev1.LabelTopologyZone, skew, p.Labels)
			c.Claim(p, fmt.Sprintf("data-%02d", i), false)
			c.Pending(p, 1)
		}
		s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
		w, each := Load(nil, s), Load(nil, s)
		defer w.Close()
		defer each.Close()
		var marks [][2]Mark
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"place", "place", "place", "place", "now", "add", "drop", "shut", "reopen",
				"mark", "undo"}).Draw(t, "step")
			i := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
			id := model.ClassID(rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"))
			if step == "undo" && len(marks) == 0 {
				continue
			}
			if step == "mark" {
				marks = append(marks, [2]Mark{})
			}
			var got [2][]Put
			for k, x := range []*World{w, each} {
				if k == 1 {
					clear(x.searches)
				} else if step == "place" {
					if f, ok := x.searches[searched{x.classes[id].family, OnReady | OnPlanned}]; ok && f.made == x.made {
						wentOn++
					}
				}
				switch step {
				case "place":
					got[k], _, _ = x.Place(id, 1, OnReady|OnPlanned, 1_000_000)
				case "now":
					got[k], _, _ = x.PlaceNow(id, 1, 1_000_000)
				case "add":
					tmpl, _ := x.GroupTemplate(0)
					x.AddNodes(tmpl, 1)
				case "drop":
					if i >= len(s.Nodes) && !x.nodes[i].gone {
						x.Drop(Node(i))
					}
				case "shut":
					x.Shut(Node(i))
				case "reopen":
					if i < len(s.Nodes) {
						x.Reopen(Node(i))
					}
				case "mark":
					marks[len(marks)-1][k] = x.Mark()
				case "undo":
					x.Undo(marks[len(marks)-1][k])
				}
			}
			if step == "undo" {
				marks = marks[:len(marks)-1]
			}
			if !reflect.DeepEqual(got[0], got[1]) {
				t.Fatalf("%s of class %d: %v, alone %v", step, id, got[0], got[1])
			}
		}
	})
	t.Logf("%d searches were gone on with", wentOn)
}

// TestSearchesWhereNodesAreUndecided: a volume may tell apart what a node may become, so that there each class looks
// for itself.
func TestSearchesWhereNodesAreUndecided(t *testing.T) {
	for zones, want := range map[string]bool{"zone=a": true, "zones=a|b": false} {
		s := testkit.NewScenario()
		if err := s.Add("group g max=10 cpu=4 memory=16Gi " + zones + "\npods web count=3 cpu=1 spread=zone"); err != nil {
			t.Fatal(err)
		}
		w := Load(nil, s.Snapshot(s.Policy))
		class := w.class(w.snap.Pending[0].Class)
		class.carries = true
		search := byDomain{spreader: spreader{w: w, class: class.id, o: w.outlook(class.id)}}
		if _, got := search.searches(OnReady); got != want {
			t.Errorf("a group of %s: a search is left to others: %v, want %v", zones, got, want)
		}
		w.Close()
	}
}
