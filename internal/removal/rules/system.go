package rules

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// system: the cluster may not work without this pod of kube-system, and no budget guards
// it. Once the pod is old enough, this rule has no answer, and the next rules are asked
// as for every other pod.
var system = rule{
	name:     "System",
	fleeting: true,
	spec: func(c *Cluster, s *model.Spec) bool {
		return c.drain.SkipSystem && s.Pod.Namespace == metav1.NamespaceSystem
	},
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		created := time.Unix(p.Created, 0).UTC()
		until := created.Add(c.drain.SystemTimeout)
		if !c.snap.Now.Before(until) || len(c.Covering(p)) > 0 {
			return Answer{}, false
		}
		return c.blocks(p, model.Verdict{
			Reason: model.UnmovableSystemPod,
			Detail: "no budget covers it, and it is younger than " + c.drain.SystemTimeout.String(),
			Since:  created, Until: until,
			Fix: "time, a PodDisruptionBudget for it, the annotation " + annotationSafeToEvict +
				"=true on it, or --skip-nodes-with-system-pods=false",
		})
	},
}
