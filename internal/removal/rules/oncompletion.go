package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// onCompletion: the pod wants to run to its end, and its node waits.
var onCompletion = rule{
	name:  "OnCompletion",
	facts: func(_ *Cluster, f *model.Facts) bool { return f.Safe == model.EvictOnCompletion },
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		return c.blocks(p, model.Verdict{
			Reason: model.BlockedByOnCompletionPod,
			Detail: "it is annotated " + annotationSafeToEvict + "=on-completion",
			Fix:    "the pod's own end",
		})
	},
}
