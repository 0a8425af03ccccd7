package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// pace is how long a workload's pods take.
type pace struct {
	// Stop is how long they take to end, within their grace period; zero: some end soon, some use
	// it up.
	Stop Span
	// Start is from their binding to their readiness, for budgets.
	Start Span
}

// ordinaryStart is how long pods take to be ready by default.
var ordinaryStart = Span{time.Second, 10 * time.Second}

// The kinds of controllers that differ here: a StatefulSet replaces a pod only when the old one is
// gone; a pod without a controller is not replaced.
const (
	statefulSet  = "StatefulSet"
	noController = ""
)

// remakers are the controllers that are known to replace pods.
var remakers = []string{"ReplicaSet", "ReplicationController", "Job", statefulSet}

// stays says why an autoscaler must never evict one of a workload's pods, empty if it may. The
// checker uses it: it is written independently of the product's rules.
func (wl *workload) stays(p model.DrainPolicy, budgeted bool, age time.Duration) string {
	f := wl.facts
	switch {
	case f.Controller != noController && wl.want < p.MinReplicas:
		return "its controller has too few of them"
	case f.Safe == model.EvictYes:
		return ""
	case f.Safe != model.EvictUnsaid:
		return "it says so itself"
	case f.Controller == noController:
		return "no controller would replace it"
	case !slices.Contains(remakers, f.Controller) && p.SkipCustom:
		return "its controller is not known to replace it"
	case f.Local != "" && p.SkipLocal:
		return "what it has on its node would be lost"
	case wl.namespace == metav1.NamespaceSystem && !budgeted && p.SkipSystem && age < p.SystemTimeout:
		return "it is of the system, and no budget is about it"
	case wl.tolerant:
		return "nothing would keep what comes for it away"
	}
	return ""
}
