package rules

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Replicas is how many pods a controller has, without those that have ended or are being
// deleted, and with those that wait for a node. A pod that a scheduling gate holds, or
// that has a node reserved for it, is not counted: we err to counting too few. The first
// question counts the pods of all controllers.
func (c *Cluster) Replicas(owner types.UID) int {
	if c.replicas == nil {
		c.replicas = replicasOf(c.snap)
	}
	return c.replicas[owner]
}

func replicasOf(s *model.Snapshot) map[types.UID]int {
	of := map[types.UID]int{}
	count := func(p *model.Pod) {
		if p.Owner != "" && p.Flags&(model.Finished|model.Terminating) == 0 {
			of[p.Owner]++
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			count(&s.Nodes[i].Bound[j])
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			count(p)
		}
	}
	return of
}
