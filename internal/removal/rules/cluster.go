package rules

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Cluster is a snapshot and the policy, prepared for the rules. It caches answers, so
// it serves one goroutine.
type Cluster struct {
	snap            *model.Snapshot
	expendableBelow int32
	drain           model.DrainPolicy

	// bySpec and byFacts are the rules about each spec and each of the facts; 0: not
	// found out yet.
	bySpec  []places
	byFacts []places
	// budgets are those of each namespace that has any, and homes the namespace of
	// each spec; nil: not found out yet.
	budgets map[string]*namespace
	homes   []*namespace
	// replicas counts pods by controller; nil: not counted yet.
	replicas map[types.UID]int
}

// Of prepares a snapshot.
func Of(s *model.Snapshot, p model.Policy) *Cluster {
	return &Cluster{
		snap: s, expendableBelow: p.Rules.ExpendableBelow, drain: p.ScaleDown.Drain,
		bySpec: make([]places, len(s.Contents.Specs)), byFacts: make([]places, len(s.Contents.Facts)),
		budgets: namespaces(s.Budgets), homes: make([]*namespace, len(s.Contents.Specs)),
	}
}

// unknown are the facts of pods in a snapshot that has no facts. They have no
// controller, so such pods stay where they are.
var unknown model.Facts

func (c *Cluster) facts(id model.FactsID) *model.Facts {
	if len(c.snap.Contents.Facts) == 0 {
		return &unknown
	}
	return c.snap.Contents.Facts[id]
}

// aboutSpec and aboutFacts are the rules about a spec and about facts. What is found out
// once only is apart, so that these two are inlined.
func (c *Cluster) aboutSpec(id model.SpecID) places {
	if about := c.bySpec[id]; about != 0 {
		return about
	}
	return c.lookAtSpec(id)
}

func (c *Cluster) aboutFacts(id model.FactsID) places {
	if int(id) < len(c.byFacts) && c.byFacts[id] != 0 {
		return c.byFacts[id]
	}
	return c.lookAtFacts(id)
}

func (c *Cluster) lookAtSpec(id model.SpecID) places {
	about := seen
	for i := range list {
		if is := list[i].spec; is != nil && is(c, c.snap.Contents.Specs[id]) {
			about |= 1 << i
		}
	}
	c.bySpec[id] = about
	return about
}

func (c *Cluster) lookAtFacts(id model.FactsID) places {
	f, about := c.facts(id), seen
	for i := range list {
		if is := list[i].facts; is != nil && is(c, f) {
			about |= 1 << i
		}
	}
	if int(id) < len(c.byFacts) {
		c.byFacts[id] = about
	}
	return about
}

// namespaceOf is the namespace of a pod, and name the pod's with it.
func (c *Cluster) namespaceOf(p *model.Pod) string {
	return c.snap.Contents.Specs[p.Spec].Pod.Namespace
}

func (c *Cluster) name(p *model.Pod) string { return c.namespaceOf(p) + "/" + p.Name }
