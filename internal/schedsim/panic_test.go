package schedsim

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// brittle is a set of plugins that panics on pods with a label, before it looks at
// a node or when it does.
type brittle struct {
	framework.Framework
	early bool
}

func breaks(pod *corev1.Pod) bool { return pod.Labels["app"] == "broken" }

func (b brittle) RunPreFilterPlugins(ctx context.Context, s fwk.CycleState, pod *corev1.Pod) (*fwk.PreFilterResult,
	*fwk.Status, sets.Set[string]) {
	if b.early && breaks(pod) {
		panic("no such answer")
	}
	return b.Framework.RunPreFilterPlugins(ctx, s, pod)
}

func (b brittle) RunFilterPlugins(ctx context.Context, s fwk.CycleState, pod *corev1.Pod, n fwk.NodeInfo) *fwk.Status {
	if breaks(pod) {
		panic("no such thing")
	}
	return b.Framework.RunFilterPlugins(ctx, s, pod, n)
}

// TestPanicCostsItsClassOneTurn: a plugin that panics on a pod refuses that class
// with the words of the panic, all others are answered as before, and the next world
// asks again.
func TestPanicCostsItsClassOneTurn(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	c.AddNode(testkit.Node("n", "4", "16Gi", nil), "g")
	for _, app := range []string{"broken", "sound"} {
		p := testkit.Pod("default", app, "100m", "128Mi", map[string]string{"app": app})
		testkit.Apart(p, corev1.LabelHostname, p.Labels)
		c.Pending(p, 2)
	}
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
	var broken, sound model.ClassID
	for _, q := range s.Pending {
		if s.Classes[q.Class].Labels["app"] == "broken" {
			broken = q.Class
		} else {
			sound = q.Class
		}
	}
	for _, early := range []bool{true, false} {
		w := Load(nil, s)
		whole := w.filters.static
		w.filters.static = brittle{whole, early}
		for range 2 {
			v := w.Explain(broken, 0)
			if v.Reason != model.FilterPanicked || !strings.Contains(v.Detail, "schedsim.brittle.Run") {
				t.Errorf("early %v: %+v", early, v)
			}
		}
		if put, left, _ := w.Place(broken, 2, OnReady, 1000); len(put) > 0 || left != 2 {
			t.Errorf("early %v: pods that the filters panic on were placed on %v", early, put)
		}
		if put, _, _ := w.Place(sound, 2, OnReady, 1000); len(put) != 1 {
			t.Errorf("early %v: the others were placed on %v", early, put)
		}
		if got := w.Panicked(); len(got) != 1 || got[0].Class != broken {
			t.Errorf("early %v: told of %+v", early, got)
		}
		w.filters.static = whole
		next := Load(w, s)
		if v := next.Explain(broken, 0); v.Reason != model.Fits || len(next.Panicked()) > 0 {
			t.Errorf("early %v: the next world says %+v", early, v)
		}
		next.Close()
	}
}

// brittleNode panics when a plugin counts its pods, which some plugins do in
// goroutines of their own if they are let.
type brittleNode struct{ fwk.NodeInfo }

func (brittleNode) GetPods() []fwk.PodInfo { panic("no such pods") }

// TestPanicInWhatPluginsDoInParallel: so does one in the parts of PreFilter that the
// scheduler's plugins spread over goroutines, where no caller could recover from it.
func TestPanicInWhatPluginsDoInParallel(t *testing.T) {
	for _, wish := range []func(p *corev1.Pod){
		func(p *corev1.Pod) { testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, p.Labels) },
		func(p *corev1.Pod) { testkit.Together(p, corev1.LabelTopologyZone, p.Labels) },
	} {
		c := testkit.New()
		c.AddNode(testkit.Node("n", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}), "")
		p := testkit.Pod("default", "web", "100m", "128Mi", map[string]string{"app": "web"})
		wish(p)
		c.Pending(p, 1)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
		w := Load(nil, s)
		no := w.ask(w.filters.full, s.Pending[0].Class, w.info(0), []stageNode{brittleNode{w.info(0)}})
		if no == nil || no.reason != model.FilterPanicked || len(w.Panicked()) != 1 {
			t.Errorf("the answer is %+v, and told was %+v", no, w.Panicked())
		}
		w.Close()
	}
}
