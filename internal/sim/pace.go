package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Pace is how long a workload's pods take.
type Pace struct {
	// Stop is from the beginning of their end, if they are let; zero: some end soon,
	// some use up their time.
	Stop Span
	// Start is from their being bound to their being ready, as far as budgets are
	// concerned.
	Start Span
}

// ordinaryStart is how long pods take to be ready if it is not said.
var ordinaryStart = Span{time.Second, 10 * time.Second}

// The kinds of controllers that differ here: a StatefulSet makes a pod anew only
// when the old one is gone, and where there is none nobody does.
const (
	statefulSet  = "StatefulSet"
	noController = ""
)

// remakers are the controllers of which it is known that they make pods anew.
var remakers = []string{"ReplicaSet", "ReplicationController", "Job", statefulSet}

// stays says why an autoscaler must never evict one of a workload's pods, empty
// if it may. The checker asks: it is stated here apart from the product's rules.
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
		return "nobody would make it anew"
	case !slices.Contains(remakers, f.Controller) && p.SkipCustom:
		return "nobody knows whether its controller would make it anew"
	case f.Local != "" && p.SkipLocal:
		return "what it has on its node would be lost"
	case wl.namespace == metav1.NamespaceSystem && !budgeted && p.SkipSystem && age < p.SystemTimeout:
		return "it is of the system, and no budget is about it"
	case wl.tolerant:
		return "nothing would keep what comes for it away"
	}
	return ""
}
