package explain

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Bound says how good it is what a plan buys for pods.
type Bound struct {
	// Nodes are bought, and any plan for the same pods buys AtLeast so many. That number knows of requests,
	// DaemonSets, labels and taints, host ports, anti-affinity of a class to itself and spread over
	// hostnames. It does not know of affinity to other pods and of spread over zones.
	Nodes   int `json:"nodes"`
	AtLeast int `json:"atLeast"`
	// CostPerHour and AtLeastPerHour are the same in money; nil where a price is not known.
	CostPerHour    *float64 `json:"costPerHour,omitempty"`
	AtLeastPerHour *float64 `json:"atLeastPerHour,omitempty"`
	// CostPerPod and AtLeastPerPod are that for each of the pods; nil unless the first expander asks for it.
	CostPerPod    *float64 `json:"costPerPod,omitempty"`
	AtLeastPerPod *float64 `json:"atLeastPerPod,omitempty"`
	// Gap says why the plan may be above the bound; empty where it is not.
	Gap []string `json:"gap,omitempty"`
}

// boundSteps is what the search for one bound may take: some 0.2 s.
const boundSteps = 8_000_000

// bound is nil where nothing is bought for pods.
func (a *answer) bound() *Bound {
	b := &Bound{}
	counts := map[model.ClassID]int{}
	cost, priced, served := 0.0, true, 0
	fleet := a.fleet.Clone()
	for i := range a.plan.Grow {
		g := &a.plan.Grow[i]
		if len(g.Pods) == 0 {
			continue // it fills a minimum
		}
		nodes := g.To - g.From
		b.Nodes += nodes
		for _, pods := range g.Pods {
			counts[pods.Class] += pods.Count
			served += pods.Count
		}
		at := a.group(g.Group)
		more, ok := fleet.Add(at, a.snap.Groups[at].Shape, nodes)
		cost, priced = cents(cost+more), priced && ok
	}
	if len(counts) == 0 {
		return nil
	}
	w := schedsim.Load(nil, a.snap)
	defer w.Close()
	nodes, least, proven := decide.Bound(w, a.snap, a.policy, a.plan.Grow, boundSteps)
	b.AtLeast = max(nodes, a.plan.LowerBound)
	if priced && proven {
		least = cents(max(least, a.plan.PriceBound))
		b.CostPerHour, b.AtLeastPerHour = &cost, &least
		if a.firstExpander() == model.ByPricePerPod {
			each, leastEach := cost/float64(served), least/float64(served)
			b.CostPerPod, b.AtLeastPerPod = &each, &leastEach
		}
	}
	if b.Nodes > b.AtLeast || b.CostPerHour != nil && *b.CostPerHour > *b.AtLeastPerHour {
		b.Gap = a.gap(w, b, counts)
	}
	return b
}

func (a *answer) firstExpander() model.Expander {
	if expanders := a.policy.ScaleUp.Expanders; len(expanders) > 0 {
		return expanders[0]
	}
	return model.ByLeastWaste
}

// gap lists what may keep the plan above its bound, or the bound below the best plan.
func (a *answer) gap(w *schedsim.World, b *Bound, counts map[model.ClassID]int) (why []string) {
	first := a.firstExpander()
	coupled, free := 0, 0
	for c, n := range counts {
		if w.Bulk(c) {
			free += n
		} else {
			coupled += n
		}
	}
	if coupled > 0 {
		why = append(why,
			fmt.Sprintf("%d of the pods depend on where other pods are, which the bound knows only in part", coupled))
	}
	var unasked []string
	if first != model.ByLeastNodes && b.Nodes > b.AtLeast {
		unasked = append(unasked, "few nodes")
	}
	if !first.AsksForLowPrice() && b.CostPerHour != nil && *b.CostPerHour > *b.AtLeastPerHour {
		unasked = append(unasked, "a low price")
	}
	if free > 0 && len(unasked) > 0 {
		why = append(why, fmt.Sprintf("the expander %s does not ask for %s", first, strings.Join(unasked, " or ")))
	}
	if a.plan.Tighter != "" {
		why = append(why, a.plan.Tighter)
	}
	if len(a.plan.Unseen) > 0 {
		why = append(why, "the steps of the cycle were used up")
	}
	if len(why) == 0 {
		why = append(why, "nodes are whole, and the search for a better plan has an end")
	}
	return why
}
