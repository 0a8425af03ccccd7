package model_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func TestPassingTaints(t *testing.T) {
	p := model.PassingTaints{
		Startup: []string{"a/starting"}, StartupPrefixes: []string{"b.io/"}, Status: []string{"c/state"},
	}
	for key, want := range map[string]struct{ starts, stripped bool }{
		"a/starting": {true, true}, "b.io/anything": {true, true}, "c/state": {false, true},
		"startup-taint.cluster-autoscaler.kubernetes.io/x": {true, true},
		"ignore-taint.cluster-autoscaler.kubernetes.io/x":  {true, true},
		"status-taint.cluster-autoscaler.kubernetes.io/x":  {false, true},
		"node.cloudprovider.kubernetes.io/uninitialized":   {true, true},
		"node.cluster.x-k8s.io/uninitialized":              {true, true},
		"dedicated":                                        {false, false},
	} {
		n := &corev1.Node{}
		n.Spec.Taints = []corev1.Taint{
			{Key: "stays", Effect: corev1.TaintEffectNoSchedule}, {Key: key, Effect: corev1.TaintEffectNoSchedule},
		}
		out := p.Stripped(n)
		has := slices.ContainsFunc(out.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		if p.Starting(n) != want.starts || has == want.stripped || !model.HasTaint(out, "stays") {
			t.Errorf("%s: starting %t, and of the template are left %v", key, p.Starting(n), out.Spec.Taints)
		}
		if len(n.Spec.Taints) != 2 {
			t.Errorf("%s: the node itself was changed", key)
		}
	}
}
