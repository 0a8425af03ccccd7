package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// localStorage: what the pod keeps on the node would be lost with it.
var localStorage = rule{
	name:  "LocalStorage",
	facts: func(c *Cluster, f *model.Facts) bool { return c.drain.SkipLocal && f.Local != "" },
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		volume := c.facts(p.Facts).Local
		return c.blocks(p, model.Verdict{
			Reason: model.LocalStorageRequested,
			Detail: "its volume " + volume + " is on the node",
			Fix: "the pod has the annotation " + annotationSafeVolumes + " with the volume's name " + volume +
				" in it, or --skip-nodes-with-local-storage=false",
		})
	},
}
