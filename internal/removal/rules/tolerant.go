package rules

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// tolerant: the taint of a removal does not keep the pod away, so its replacement may land
// on the same node, however often it is evicted. This does not apply to a node that is
// not ready: such a pod keeps no dead machine.
var tolerant = rule{
	name:      "Tolerant",
	readyOnly: true,
	spec:      func(_ *Cluster, s *model.Spec) bool { return toleratesRemoval(s.Pod.Spec.Tolerations) },
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		return c.blocks(p, model.Verdict{
			Reason: model.ToleratesRemoval,
			Detail: "it tolerates the taint " + model.TaintToBeDeleted + ", and would come back",
			Fix:    "it does not tolerate that taint, or has the annotation " + annotationSafeToEvict + "=true",
		})
	},
}

// toleratesRemoval reports whether pods with these tolerations go to a node that has
// the taint of a removal. Its value is a time, which no toleration names.
func toleratesRemoval(tolerations []corev1.Toleration) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if t.Operator == corev1.TolerationOpExists && (t.Key == "" || t.Key == model.TaintToBeDeleted) &&
			(t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule) {
			return true
		}
	}
	return false
}
