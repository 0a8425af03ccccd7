package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Budgets is how many evictions each budget still allows, by its index in the
// snapshot.
type Budgets []int

// Clone is a copy, for trying one candidate without a trace.
func (b Budgets) Clone() Budgets { return slices.Clone(b) }

// Budgets is what each budget allows now.
func (c *Cluster) Budgets() Budgets {
	left := make(Budgets, len(c.snap.Budgets))
	for i := range left {
		left[i] = max(0, c.snap.Budgets[i].Allowed)
	}
	return left
}

// Take counts a pod that moves against the budget that covers it. If the budget allows
// no more evictions, the verdict says so and nothing is counted. A pod that several
// budgets cover never moves, whatever they allow: the Eviction API refuses it.
func (c *Cluster) Take(p *model.Pod, left Budgets) *model.Verdict {
	covering := c.Covering(p)
	switch {
	case len(covering) == 0:
		return nil
	case len(covering) == 1 && left[covering[0]] > 0:
		left[covering[0]]--
		return nil
	}
	return c.refusal(p, covering)
}

// refusal says why budgets do not let a pod go that they cover.
func (c *Cluster) refusal(p *model.Pod, covering []int) *model.Verdict {
	if len(covering) > 1 {
		return &model.Verdict{
			Reason: model.NotEnoughPdb,
			Detail: c.name(p) + ": the API server refuses to evict a pod that " + strconv.Itoa(len(covering)) +
				" budgets cover: " + c.names(covering),
			Fix: "selectors of which one covers the pod",
		}
	}
	b := &c.snap.Budgets[covering[0]]
	detail := c.name(p) + ": budget " + c.names(covering) + " allows no eviction now"
	if b.Allowed > 0 {
		detail = c.name(p) + ": budget " + c.names(covering) + " allows " + strconv.Itoa(b.Allowed) +
			" now, and other pods that move take all of it"
	}
	if b.Detail != "" {
		detail += " (" + b.Detail + ")"
	}
	return &model.Verdict{
		Reason: model.NotEnoughPdb, Detail: detail, Fix: "more healthy pods, or a budget that allows more",
	}
}

// Ask is what the pods of one node that move ask of one budget.
type Ask struct {
	pod      *model.Pod // the first of them
	covering []int      // the budget; several where they cover the pod, which never moves then
	pods     int
}

// Asks lists what the pods of one node that move ask of the budgets, in the order of the pods. The answer is the same
// while the budgets are, whatever they allow.
func (c *Cluster) Asks(pods []*model.Pod) (asks []Ask) {
	for _, p := range pods {
		covering := c.Covering(p)
		if len(covering) == 0 {
			continue
		}
		at := slices.IndexFunc(asks, func(a Ask) bool { return a.covering[0] == covering[0] })
		if len(covering) == 1 && at >= 0 {
			asks[at].pods++
			continue
		}
		asks = append(asks, Ask{pod: p, covering: covering, pods: 1})
		if len(covering) > 1 {
			break // it is refused, whatever the others ask
		}
	}
	return asks
}

// Refused is the first ask that is not granted, by its index, -1 if there is none. Pods of one node need not all go at
// once: a budget that allows one eviction now is enough for several of them, since they go in turn, as their
// replacements become ready. No other node may use that budget then.
func (b Budgets) Refused(asks []Ask) int {
	return slices.IndexFunc(asks, func(a Ask) bool { return len(a.covering) > 1 || b[a.covering[0]] <= 0 })
}

// Spend counts asks of which none is refused.
func (b Budgets) Spend(asks []Ask) {
	for i := range asks {
		at := asks[i].covering[0]
		b[at] = max(0, b[at]-asks[i].pods)
	}
}

// Refusal says why an ask is not granted.
func (c *Cluster) Refusal(a *Ask) *model.Verdict { return c.refusal(a.pod, a.covering) }

// names names budgets, with their namespace.
func (c *Cluster) names(budgets []int) string {
	names := make([]string, len(budgets))
	for i, b := range budgets {
		names[i] = c.snap.Budgets[b].Namespace + "/" + c.snap.Budgets[b].Name
	}
	return strings.Join(names, ", ")
}

// Covering lists the budgets that cover a pod, by index, sorted. The list must not be
// changed.
func (c *Cluster) Covering(p *model.Pod) []int {
	home := c.homes[p.Spec]
	if home == nil {
		home = c.home(p.Spec)
	}
	if home == free {
		return nil
	}
	covering, ok := home.known[p.Labels]
	if !ok {
		covering = home.covering(c.snap.Budgets, c.snap.Contents.Labels[p.Labels].Labels)
		home.known[p.Labels] = covering
	}
	return covering
}

func (c *Cluster) home(id model.SpecID) *namespace {
	home, ok := c.budgets[c.snap.Contents.Specs[id].Pod.Namespace]
	if !ok {
		home = free
	}
	c.homes[id] = home
	return home
}
