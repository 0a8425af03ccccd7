package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// notSafeToEvict: the pod says that it must not be evicted.
var notSafeToEvict = rule{
	name:  "NotSafeToEvict",
	facts: func(_ *Cluster, f *model.Facts) bool { return f.Safe == model.EvictNo },
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		return c.blocks(p, model.Verdict{
			Reason: model.NotSafeToEvict,
			Detail: "it is annotated " + annotationSafeToEvict + "=false",
			Fix:    "that annotation is taken off the pod, and off the template that it is made from",
		})
	},
}
