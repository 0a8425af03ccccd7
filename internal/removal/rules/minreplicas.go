package rules

import (
	"strconv"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// minReplicas: the pod's controller has fewer pods than --min-replica-count. The pod's
// own annotation on eviction does not overrule this.
var minReplicas = rule{
	name:     "MinReplicas",
	fleeting: true,
	facts: func(c *Cluster, f *model.Facts) bool {
		return c.drain.SkipCustom && c.drain.MinReplicas > 0 && f.Controller != ""
	},
	answer: func(c *Cluster, p *model.Pod) (Answer, bool) {
		if p.Owner == "" {
			return Answer{}, false
		}
		n := c.Replicas(p.Owner)
		if n >= c.drain.MinReplicas {
			return Answer{}, false
		}
		return c.blocks(p, model.Verdict{
			Reason: model.MinReplicasReached,
			Detail: "pods of its " + c.facts(p.Facts).Controller + " " + strconv.Itoa(n) +
				" < " + strconv.Itoa(c.drain.MinReplicas),
			Fix: "more replicas, or a lower --min-replica-count",
		})
	},
}
