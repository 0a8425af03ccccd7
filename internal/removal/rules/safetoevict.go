package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// annotationSafeToEvict says whether a pod may be evicted; annotationSafeVolumes names
// volumes that may be lost with the node.
const (
	annotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationSafeVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
)

// safeToEvict: the pod says that it may be evicted, so the rules below are not asked.
// Budgets still count, since the API server would refuse.
var safeToEvict = rule{
	name:  "SafeToEvict",
	facts: func(_ *Cluster, f *model.Facts) bool { return f.Safe == model.EvictYes },
	answer: func(*Cluster, *model.Pod) (Answer, bool) {
		return Answer{Kind: Moves}, true
	},
}
