package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// replicated: a pod that no controller replaces would be gone for good. Whether a custom
// controller replaces its pods is not known; an operator may say so.
var replicated = rule{
	name: "Replicated",
	facts: func(c *Cluster, f *model.Facts) bool {
		return f.Controller == "" || c.drain.SkipCustom && !replaces(f)
	},
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		f := c.facts(p.Facts)
		if f.Controller == "" {
			return c.blocks(p, model.Verdict{
				Reason: model.NotReplicated,
				Detail: "no controller would replace it",
				Fix:    "a controller, or, if it may be lost, the annotation " + annotationSafeToEvict + "=true on it",
			})
		}
		kind := f.Controller
		if f.Group != "" {
			kind += "." + f.Group
		}
		return c.blocks(p, model.Verdict{
			Reason: model.NotReplicated,
			Detail: "its controller is a " + kind + ", which is not known to replace its pods",
			Fix:    "--skip-nodes-with-custom-controller-pods=false, or the annotation " + annotationSafeToEvict + "=true",
		})
	},
}

// replaces reports whether a controller is of a kind that replaces its pods. DaemonSets
// replace them on the same node only, and have a rule of their own.
func replaces(f *model.Facts) bool {
	switch f.Controller {
	case "ReplicationController":
		return f.Group == ""
	case "Job":
		return f.Group == "batch"
	case "ReplicaSet":
		return f.Group == "apps" || f.Group == "extensions"
	case "StatefulSet":
		return f.Group == "apps"
	}
	return false
}
