package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// marks says what of a removal is on a node.
func marks(n *corev1.Node) string {
	var words []string
	for _, key := range []string{model.TaintToBeDeleted, model.TaintCandidate} {
		if model.HasTaint(n, key) {
			words = append(words, key[:len("Deletion")])
		}
	}
	if n.Spec.Unschedulable {
		words = append(words, "cordoned")
	}
	if how, ok := n.Annotations[model.AnnotationRemoval]; ok {
		words = append(words, "removal="+how)
	}
	return strings.Join(words, " ")
}

// leaderless is a still world without anybody who would take back what is done.
func leaderless(t *testing.T, script string) *world {
	w := still(t, script)
	w.Crash(1000 * time.Hour)
	return w
}

// TestNodeWrites: what each call makes of a node, whoever wrote on it before.
func TestNodeWrites(t *testing.T) {
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	others := func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, c := range []struct {
		name   string
		before func(*corev1.Node)
		verbs  []model.Verb
		want   string
	}{
		{"taint", nil, []model.Verb{model.Taint}, "ToBeDele removal=tainted"},
		{"twice is once", nil, []model.Verb{model.Taint, model.Taint}, "ToBeDele removal=tainted"},
		{"cordon", nil, []model.Verb{model.Taint, model.Cordon}, "ToBeDele cordoned removal=cordoned"},
		{"given back", nil, []model.Verb{model.Mark, model.Taint, model.Cordon, model.Untaint}, ""},
		{"people's cordon stays", cordoned, []model.Verb{model.Taint, model.Cordon, model.Untaint}, "cordoned"},
		{"what another autoscaler left goes", others, []model.Verb{model.Untaint}, ""},
		{"and is not made ours", others, []model.Verb{model.Taint}, "ToBeDele cordoned"},
		{"a candidate", nil, []model.Verb{model.Mark}, "Deletion"},
		{"no more", nil, []model.Verb{model.Mark, model.Unmark}, ""},
		{"no candidate once it goes", nil, []model.Verb{model.Taint, model.Mark}, "ToBeDele removal=tainted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := leaderless(t, "")
			node := w.sortedMachines("g")[0].node
			if c.before != nil {
				w.editNode(node, c.before)
			}
			for _, v := range c.verbs {
				w.performOnNode(model.Outcome{Call: model.Call{ID: fmt.Sprint(v), Verb: v, Node: node}})
			}
			if got := marks(w.truth.object(node)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestCordonLooks: a pod that the plan did not know has landed, unless it is at
// its end; and to look is not to write.
func TestCordonLooks(t *testing.T) {
	w := leaderless(t, "workload web count=3 cpu=1 memory=1Gi stop=20s\ndaemonset agent cpu=100m memory=100Mi")
	node := w.truth.seats[podName{"default", "web-00001"}].node
	cordon := model.Call{Verb: model.Cordon, Node: node, LookOnly: true}
	if out := w.performOnNode(model.Outcome{Call: cordon}); out.Err == nil ||
		!strings.Contains(out.Err.Message, "took the taint away") {
		t.Errorf("without a taint: %v", out.Err)
	}
	w.performOnNode(model.Outcome{Call: model.Call{Verb: model.Taint, Node: node}})
	for _, p := range w.truth.podsOn(node) {
		if p.Name != "web-00001" && p.Name != "web-00002" {
			cordon.Known = append(cordon.Known, p.UID)
		}
	}
	evictOne(w, "web-00002")
	out := w.performOnNode(model.Outcome{Call: cordon})
	if out.Err == nil || len(out.Landed) != 1 || out.Landed[0] != "default/web-00001" {
		t.Errorf("a pod has landed: %q, %v", out.Landed, out.Err)
	}
	cordon.Known = append(cordon.Known, w.truth.seats[podName{"default", "web-00001"}].pod.UID)
	if out := w.performOnNode(model.Outcome{Call: cordon}); out.Err != nil || !out.Unchanged ||
		w.truth.object(node).Spec.Unschedulable {
		t.Errorf("it is known, and nothing was to be written: %+v", out)
	}
	cordon.LookOnly = false
	if out := w.performOnNode(model.Outcome{Call: cordon}); out.Err != nil || out.Unchanged ||
		!w.truth.object(node).Spec.Unschedulable {
		t.Errorf("it is known, and the node is to be cordoned: %+v", out)
	}
}

// TestTheLastLookWaits: for a pod that is ending, half a minute longer than it
// has, and no longer.
func TestTheLastLookWaits(t *testing.T) {
	w := leaderless(t, "workload web count=1 cpu=1 memory=1Gi stop=20s")
	s := w.truth.seats[podName{"default", "web-00001"}]
	w.performOnNode(model.Outcome{Call: model.Call{Verb: model.Taint, Node: s.node}})
	look := func() bool {
		_, err := w.lastLook(model.Call{Verb: model.Remove, Node: s.node})
		return err == nil
	}
	if look() {
		t.Fatal("a pod is on it")
	}
	w.dead[s.node] = true // nobody ends the pod
	evictOne(w, "web-00001")
	run(t, w, 59*time.Second)
	if look() {
		t.Error("its time is not over for long enough")
	}
	run(t, w, 2*time.Second)
	if !look() {
		t.Error("it need not be waited for any longer")
	}
}
