package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// mostLarger is how many groups are asked for larger nodes.
const mostLarger = 3

// largerNodes is what a new group must have where pods are too large for the nodes of all groups: it is like the
// nearest group that such nodes let serve the pods; nil if none does, or if something else is nearer.
func (r *relaxer) largerNodes(out *PendingPod) *Fix {
	if out.Fix != nil && out.Verdict.Reason != model.InsufficientResources {
		return nil
	}
	tries := 0
	for i := range out.Groups {
		g := &out.Groups[i]
		if g.Reason != model.InsufficientResources || tries == mostLarger || r.exhausted() {
			continue
		}
		if st, ok := r.larger(groupAt(r.snap, g.Group)); ok {
			tries++
			if r.try(st).serves {
				in := st.show(0)
				return &Fix{Text: in.text, Short: in.short, Changes: in.changes, steps: 1}
			}
		}
	}
	return nil
}

// larger adds a group like another one, with nodes that have room for such a pod beside what starts on them. Such nodes
// have no price that is known, and the groups that are there stay as they are.
func (r *relaxer) larger(group int) (step, bool) {
	t, ok := r.world.GroupTemplate(group)
	if !ok {
		return step{}, false
	}
	want, left := r.snap.Classes[r.class].Spec.Requests, r.world.Allocatable(t)
	if model.AnyCountless(r.snap.Classes[r.class].Spec.Pod.Spec.Containers[0].Resources.Requests) {
		return step{}, false // no machine has as much
	}
	lacks := map[corev1.ResourceName]resource.Quantity{}
	for _, x := range []struct {
		name       corev1.ResourceName
		want, left *resource.Quantity
	}{
		{corev1.ResourceCPU, resource.NewMilliQuantity(want.MilliCPU, resource.DecimalSI),
			resource.NewMilliQuantity(left.MilliCPU, resource.DecimalSI)},
		{corev1.ResourceMemory, resource.NewQuantity(want.Memory, resource.BinarySI),
			resource.NewQuantity(left.Memory, resource.BinarySI)},
		{corev1.ResourceEphemeralStorage, resource.NewQuantity(want.Ephemeral, resource.BinarySI),
			resource.NewQuantity(left.Ephemeral, resource.BinarySI)},
	} {
		if x.want.Cmp(*x.left) > 0 {
			x.want.Sub(*x.left)
			lacks[x.name] = *x.want
		}
	}
	for _, x := range want.Extended {
		if more := x.Value - left.Value(x.Name); more > 0 {
			lacks[x.Name] = *resource.NewQuantity(more, resource.DecimalSI)
		}
	}
	if len(lacks) == 0 {
		return step{}, false
	}
	id := string(r.snap.Groups[group].ID)
	in := largerWords(id, templateOf(r.snap, group).Status.Allocatable, lacks)
	return step{about: "a group like " + id, rank: rankSize, show: func(int64) shown { return in },
		cluster: func(s *model.Snapshot, _ *model.Policy, _ int64) {
			s.Groups = append(s.Groups, likeGroup(s, group, int(r.many()), lacks))
		}}, true
}

// largerWords say what nodes have at least that lack nothing.
func largerWords(group string, has corev1.ResourceList, lacks map[corev1.ResourceName]resource.Quantity) shown {
	var texts []string
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		was := has[name]
		to := was.DeepCopy()
		to.Add(lacks[name])
		texts = append(texts, fmt.Sprintf("%s ≥ %s", name, to.String()))
		changes = append(changes, Change{Of: OfGroup, Name: group, Field: "template." + string(name), From: was.String(),
			To: to.String()})
	}
	short := "nodes with allocatable " + strings.Join(texts, ", ")
	return shown{"a group like " + group + " that has " + short, short, changes}
}

// likeGroup is a new group like another one, of the last name, with nodes that have more.
func likeGroup(s *model.Snapshot, group, most int, more map[corev1.ResourceName]resource.Quantity) model.Group {
	was := &s.Groups[group]
	g := model.Group{HasTemplate: true, Shape: enlarged(s, was.Shape, more), Static: was.Static}
	g.ID = s.Groups[len(s.Groups)-1].ID + "+"
	g.Max, g.Template, g.Options, g.Accelerator = most, was.Template, was.Options, was.Accelerator
	for _, v := range was.Variants {
		v.Shape = enlarged(s, v.Shape, more)
		g.Variants = append(g.Variants, v)
	}
	return g
}

// enlarged is a shape that has more. The snapshot must be a copy.
func enlarged(s *model.Snapshot, id model.ShapeID, more map[corev1.ResourceName]resource.Quantity) model.ShapeID {
	was := s.Contents.Shapes[id]
	node := was.Node.DeepCopy()
	for _, list := range []*corev1.ResourceList{&node.Status.Allocatable, &node.Status.Capacity} {
		if *list == nil { // a node that was written by hand need not have both
			*list = corev1.ResourceList{}
		}
		for name, q := range more {
			sum := (*list)[name]
			sum.Add(q)
			(*list)[name] = sum
		}
	}
	out := model.ShapeID(len(s.Contents.Shapes))
	s.Contents.Shapes = append(slices.Clip(s.Contents.Shapes), &model.Shape{Key: was.Key + "+", Node: node,
		Kept: out, Back: out, Allocatable: model.ResourcesOf(node.Status.Allocatable),
		Capacity: model.ResourcesOf(node.Status.Capacity)})
	return out
}
