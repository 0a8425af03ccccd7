package catalog

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect, TimeAdded: ptr.To(metav1.Unix(1, 0))}
}

// Our own marks make no more shapes than there are verdicts.
func TestShapesAndOurMarks(t *testing.T) {
	c := New()
	shape := func(taints ...corev1.Taint) model.ShapeID {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{model.AnnotationStays: "x"}},
			Spec:       corev1.NodeSpec{Taints: taints},
		}
		before := n.DeepCopy()
		id := c.Shape(n)
		if !apiequality.Semantic.DeepEqual(n, before) {
			t.Errorf("the node was changed: %+v", n)
		}
		return id
	}
	dedicated := taint("dedicated", "x", corev1.TaintEffectNoSchedule)
	candidate := func(since string) corev1.Taint {
		return taint(model.TaintCandidate, since, corev1.TaintEffectPreferNoSchedule)
	}
	deleted := func(since string) corev1.Taint {
		return taint(model.TaintToBeDeleted, since, corev1.TaintEffectNoSchedule)
	}
	plain := shape(dedicated)
	if shape(candidate("1"), dedicated) != plain || shape(dedicated, candidate("2")) != plain {
		t.Error("a candidate has a shape of its own")
	}
	going := shape(dedicated, deleted("1"))
	if going == plain {
		t.Error("a node that is being deleted looks like one that is not")
	}
	if shape(dedicated, deleted("2"), candidate("3")) != going {
		t.Error("since when a node is being deleted makes a shape of its own")
	}
	if s := c.Contents().Shapes; s[going].Kept != plain || s[plain].Kept != plain {
		t.Errorf("given back, shape %d is shape %d and not %d, which is %d", going, s[going].Kept, plain, s[plain].Kept)
	}
	if s := c.Contents().Shapes[going].Node.Spec.Taints; len(s) != 2 || s[1].Key != model.TaintToBeDeleted ||
		s[1].Value != "" || s[1].Effect != corev1.TaintEffectNoSchedule {
		t.Errorf("taints of the shape: %+v", s)
	}
	if shape(taint("dedicated", "y", corev1.TaintEffectNoSchedule)) == plain {
		t.Error("the value of another taint is lost")
	}
	// The name is ours; the effect is what filters read.
	if shape(dedicated, taint(model.TaintCandidate, "", corev1.TaintEffectNoSchedule)) == plain {
		t.Error("a taint that filters read is lost")
	}
	if none := shape(); shape(candidate("1")) != none {
		t.Error("a candidate without other taints has a shape of its own")
	}
}
