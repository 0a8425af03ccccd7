package testkit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// tell writes down all that matters of a world's nodes, pods and budgets.
func tell(s *model.Snapshot) (lines []string) {
	pod := func(p *model.Pod) string {
		spec := s.Contents.Specs[p.Spec]
		return fmt.Sprint(p.Name, p.UID, p.Owner, p.Flags, p.Created, p.Ends, spec.Pod.Namespace,
			s.Contents.Facts[p.Facts].Key)
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		lines = append(lines, fmt.Sprint(n.Name, n.Kind, n.Batches, n.Occupants, s.Groups[n.Group].ID,
			n.Object.Spec.Unschedulable, n.Object.Annotations))
		var own []string
		for j := range n.Bound {
			own = append(own, pod(&n.Bound[j]))
		}
		slices.Sort(own)
		lines = append(lines, own...)
	}
	for _, q := range s.Pending {
		for _, p := range q.Pods {
			lines = append(lines, fmt.Sprint(q.Class, pod(p)))
		}
	}
	for _, b := range s.Budgets {
		lines = append(lines, fmt.Sprint(b.Namespace, b.Name, b.Selector, b.Allowed))
	}
	return lines
}

func snapshotOf(w World, order func(int) []int) *model.Snapshot {
	return snapshot.New(nil, w.Build(order).Observation(), model.Standing{}, w.Policy.Rules)
}

// TestDrawOccupied: the worlds do not depend on the order in which they are
// built, and no node has more on it than it can hold.
func TestDrawOccupied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := DrawOccupied(t)
		s := snapshotOf(w, InOrder)
		if diff := cmp.Diff(tell(s), tell(snapshotOf(w, Backwards))); diff != "" {
			t.Fatalf("built backwards it is another world:\n%s", diff)
		}
		for i := range s.Nodes {
			n := s.Nodes[i]
			milli := int64(0)
			for j := range n.Bound {
				milli += s.Contents.Specs[n.Bound[j].Spec].Requests.MilliCPU
			}
			if can := s.Contents.Shapes[n.Shape].Allocatable.MilliCPU; milli > can {
				t.Fatalf("%s: %d of %d milli cores", n.Name, milli, can)
			}
		}
	})
}

// TestDrawOccupiedMeetsEverything: what keeps a node, or does not, all happens.
func TestDrawOccupiedMeetsEverything(t *testing.T) {
	met := map[string]int{}
	worlds := rapid.Custom(DrawOccupied)
	for seed := range 200 {
		s := snapshotOf(worlds.Example(seed), InOrder)
		for i := range s.Nodes {
			n := s.Nodes[i]
			met[fmt.Sprint("occupied ", n.Occupants > 0)]++
			met[fmt.Sprint("cordoned ", n.Object.Spec.Unschedulable)]++
			met[fmt.Sprint("disabled ", n.Object.Annotations[model.AnnotationScaleDownDisabled] != "")]++
			met["kind "+n.Kind.String()]++
			for j := range n.Bound {
				p := &n.Bound[j]
				f := s.Contents.Facts[p.Facts]
				met["controller "+f.Group+"/"+f.Controller]++
				met[fmt.Sprint("safe ", f.Safe)]++
				met[fmt.Sprint("local ", f.Local != "")]++
				met[fmt.Sprint("flags ", p.Flags)]++
				met[fmt.Sprint("overdue ", p.Ends != 0 && p.Ends < s.Now.Unix())]++
				met["in "+s.Contents.Specs[p.Spec].Pod.Namespace]++
			}
		}
		for _, b := range s.Budgets {
			met[fmt.Sprint("allowed ", b.Allowed)]++
		}
		met[fmt.Sprint("pending ", len(s.Pending) > 0)]++
	}
	for _, want := range []string{
		"controller apps/ReplicaSet", "controller apps/StatefulSet", "controller batch/Job",
		"controller /ReplicationController",
		"controller example.com/ReplicaSet", "controller /", "controller apps/DaemonSet",
		"safe 0", "safe 1", "safe 2", "safe 3", "local true", "local false", "in default", "in kube-system",
		fmt.Sprint("flags ", model.Terminating), fmt.Sprint("flags ", model.Finished),
		fmt.Sprint("flags ", model.FromDaemonSet), "flags 0",
		"overdue true", "occupied true", "occupied false", "cordoned true", "disabled true", "kind Ready", "kind Unready",
		"allowed 0", "allowed 1", "allowed 5", "pending true", "pending false",
	} {
		if met[want] == 0 {
			t.Errorf("never met: %s", want)
		}
	}
}

// TestExpandersAreDrawn: random worlds know every expander, but for those that want a document.
func TestExpandersAreDrawn(t *testing.T) {
	for i, name := range model.ExpanderNames() {
		e := model.Expander(i)
		if !e.AsksForLowPrice() && e != model.ByPriority && !slices.Contains(DrawnExpanders, e) {
			t.Errorf("random worlds have no expander %s: add it to DrawnExpanders (random.go), as the last one; or, if it "+
				"needs more than the cluster, to the exceptions here", name)
		}
	}
}
