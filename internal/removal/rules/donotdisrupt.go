package rules

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// doNotDisrupt: the pod says in Karpenter's word that it must not be evicted, for ever or for a time after its
// creation. A pod of a DaemonSet may say so as well; one that is being deleted may not. Where both vocabularies are
// used and differ, the pod stays.
var doNotDisrupt = rule{
	name:     "DoNotDisrupt",
	fleeting: true,
	facts:    func(_ *Cluster, f *model.Facts) bool { return f.Alone > 0 },
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		if p.Flags&model.Terminating != 0 {
			return Answer{}, false
		}
		v := model.Verdict{
			Reason: model.NotSafeToEvict,
			Detail: "it is annotated " + model.AnnotationDoNotDisrupt + "=true",
			Fix:    "that annotation is taken off the pod, and off the template that it is made from",
		}
		if alone := c.facts(p.Facts).Alone; alone < model.Always {
			v.Since = time.Unix(p.Created, 0).UTC()
			v.Until = v.Since.Add(alone)
			if !c.snap.Now.Before(v.Until) {
				return Answer{}, false
			}
			v.Detail = "it is annotated " + model.AnnotationDoNotDisrupt + "=" + alone.String()
			v.Fix = "time, or " + v.Fix
		}
		return c.blocks(p, v)
	},
}
