package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
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
	// Gap says why the plan may be above the bound; empty where it is not.
	Gap []string `json:"gap,omitempty"`
}

const (
	// boundSteps is what the search for one bound may take: some 0.2 s.
	boundSteps = 8_000_000
	// priceUnits is how finely prices are told apart.
	priceUnits = 1e5
)

// bound is nil where nothing is bought for pods.
func (a *answer) bound() *Bound {
	b := &Bound{}
	counts := map[model.ClassID]int{}
	grown := map[int]int{}
	cost, priced := 0.0, true
	for i := range a.plan.Grow {
		g := &a.plan.Grow[i]
		if len(g.Pods) == 0 {
			continue // it fills a minimum
		}
		nodes, at := g.To-g.From, a.group(g.Group)
		b.Nodes += nodes
		grown[at] = nodes
		for _, pods := range g.Pods {
			counts[pods.Class] += pods.Count
		}
		if price := a.newNodePrice(at); price != nil {
			cost = cents(cost + *price*float64(nodes))
		} else {
			priced = false
		}
	}
	if len(counts) == 0 {
		return nil
	}
	w := schedsim.Load(nil, a.snap)
	defer w.Close()
	packing := a.packing(w, counts, grown)
	b.AtLeast = max(int(packing.least()), a.plan.LowerBound)
	if priced && packing.price(a) {
		least := min(cost, max(float64(packing.least())/priceUnits, a.plan.PriceBound))
		b.CostPerHour, b.AtLeastPerHour = &cost, &least
	}
	if b.Nodes > b.AtLeast || b.CostPerHour != nil && *b.CostPerHour > *b.AtLeastPerHour {
		b.Gap = a.gap(w, b, counts)
	}
	return b
}

// gap lists what may keep the plan above its bound, or the bound below the best plan.
func (a *answer) gap(w *schedsim.World, b *Bound, counts map[model.ClassID]int) (why []string) {
	first := model.ByLeastWaste
	if expanders := a.policy.ScaleUp.Expanders; len(expanders) > 0 {
		first = expanders[0]
	}
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
	if first != model.ByPrice && b.CostPerHour != nil && *b.CostPerHour > *b.AtLeastPerHour {
		unasked = append(unasked, "a low price")
	}
	if free > 0 && len(unasked) > 0 {
		why = append(why, fmt.Sprintf("the expander %s does not ask for %s", first, strings.Join(unasked, " or ")))
	}
	if len(a.plan.Unseen) > 0 {
		why = append(why, "the steps of the cycle were used up")
	}
	if len(why) == 0 {
		why = append(why, "nodes are whole, and the search for a better plan has an end")
	}
	return why
}

// packing is what is bought, as a problem of numbers.
type packing struct {
	problem pack.Problem
	groups  []int // by type
}

// packing has the pods by class as items, and the groups' new nodes as types. Where the cloud chooses what
// a new node becomes, each of the forms is a type. grown is what the plan buys, by group.
func (a *answer) packing(w *schedsim.World, counts map[model.ClassID]int, grown map[int]int) *packing {
	classes := slices.Sorted(maps.Keys(counts))
	columns := a.columns(classes)
	p := &packing{problem: pack.Problem{Budget: boundSteps}}
	for _, c := range classes {
		perNode := pack.NoLimit
		switch {
		case w.OnePerNode(c):
			perNode = 1
		case !needsDomains(a.snap.Classes[c].Spec.Pod):
			perNode = w.MostPerHost(c)
		}
		p.problem.Classes = append(p.problem.Classes, pack.Class{
			Request: columns.of(a.snap.Classes[c].Spec.Requests), Count: counts[c], PerNode: perNode,
		})
	}
	for i := range a.snap.Groups {
		common, ok := w.GroupTemplate(i)
		if !ok {
			continue
		}
		forms := []schedsim.Template{common}
		if landing := w.Landing(i); landing != nil {
			forms = landing.Variants
		}
		g := &a.snap.Groups[i]
		for _, form := range forms {
			t := pack.Type{
				Capacity: columns.of(w.Allocatable(form)), Price: 1, Max: max(g.Max-g.Expected, grown[i], 0), Holds: pack.Set{0},
			}
			for j, c := range classes {
				if w.Suits(c, form) {
					t.Holds.Add(j)
				}
			}
			p.problem.Types = append(p.problem.Types, t)
			p.groups = append(p.groups, i)
		}
	}
	return p
}

// needsDomains reports whether a spread constraint of the pod wants a number of domains. New nodes are
// domains, too: with enough of them, each may take more.
func needsDomains(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(s corev1.TopologySpreadConstraint) bool {
		return s.MinDomains != nil
	})
}

// price gives the types their prices. It reports whether all of them have one.
func (p *packing) price(a *answer) bool {
	for i, group := range p.groups {
		price := a.newNodePrice(group)
		if price == nil {
			return false
		}
		p.problem.Types[i].Price = max(1, int64(*price*priceUnits))
	}
	return true
}

// least is what no plan is below, in the types' prices. Numbers that no cluster has prove nothing.
func (p *packing) least() int64 {
	plan, err := pack.Solve(p.problem)
	if err != nil {
		return 0
	}
	return plan.PriceBound
}

// columns are the resources that are counted, in a fixed order: those of every pod, then others by name.
type columns []corev1.ResourceName

func (a *answer) columns(classes []model.ClassID) columns {
	names := map[corev1.ResourceName]bool{}
	for _, c := range classes {
		for _, x := range a.snap.Classes[c].Spec.Requests.Extended {
			names[x.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (c columns) of(r model.Resources) []int64 {
	out := []int64{r.MilliCPU, r.Memory, r.Ephemeral, r.Pods}
	for _, name := range c {
		out = append(out, r.Value(name))
	}
	return out
}
