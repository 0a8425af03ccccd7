package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// annotationSafeToEvict is a pod's own word on its eviction; annotationSafeVolumes
// names volumes that may be lost with the node.
const (
	annotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationSafeVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
)

// safeToEvict: the pod says that it may be evicted, and the rules below are not
// asked. Budgets are, since the API server would refuse.
var safeToEvict = rule{
	name:  "SafeToEvict",
	facts: func(_ *Cluster, f *model.Facts) bool { return f.Safe == model.EvictYes },
	answer: func(*Cluster, *model.Pod) (Answer, bool) {
		return Answer{Kind: Moves}, true
	},
}
