package scaleup

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// choose applies the expanders in order; each keeps the best of what the one
// before left. What is equal after all of them is settled by the group's id.
func (pl *planner) choose(options []option) (index int, why string) {
	left := make([]int, len(options))
	for i := range left {
		left[i] = i
	}
	var words []string
	for _, name := range pl.p.Expanders {
		if len(left) == 1 {
			break
		}
		var said string
		left, said = pl.narrow(name, options, left)
		words = append(words, said)
	}
	best := slices.MinFunc(left, func(a, b int) int { return cmp.Compare(options[a].group, options[b].group) })
	if len(words) == 0 {
		return best, "the only group that suits"
	}
	return best, strings.Join(words, ", ")
}

func (pl *planner) narrow(name string, options []option, left []int) ([]int, string) {
	switch name {
	case "random":
		return []int{left[pl.dice(options, left)]}, "random"
	case "priority":
		return pl.byPriority(options, left)
	}
	score := func(i int) float64 { return pl.score(name, &options[i]) }
	best := math.Inf(1)
	for _, i := range left {
		best = min(best, score(i))
	}
	var kept []int
	for _, i := range left {
		if score(i) <= best {
			kept = append(kept, i)
		}
	}
	return kept, fmt.Sprintf("%s %s", name, display(name, best))
}

func display(name string, v float64) string {
	switch name {
	case "least-waste":
		return fmt.Sprintf("%.1f%%", 100*v)
	case "most-pods":
		return fmt.Sprintf("%.0f", -v)
	case "price":
		return fmt.Sprintf("%.2fx", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// score is what an expander minimises.
func (pl *planner) score(name string, o *option) float64 {
	switch name {
	case "least-waste":
		return pl.waste(o)
	case "most-pods":
		n := 0
		for _, b := range o.placed {
			n += b.Count
		}
		return -float64(n)
	case "least-nodes":
		return float64(o.nodes)
	case "price":
		return pl.priceRatio(o)
	}
	return 0
}

// waste is the share of the new nodes' CPU and memory that no pod of the
// option requests, the mean of the two. What static and DaemonSet pods take is
// not waste of the option's, and is left out on both sides.
func (pl *planner) waste(o *option) float64 {
	a := pl.w.Allocatable(o.template)
	sum := pl.sum(o.placed)
	part := func(used, per int64) float64 {
		all := float64(per) * float64(o.nodes)
		if all <= 0 {
			return 0
		}
		return 1 - float64(used)/all
	}
	return (part(sum.MilliCPU, a.MilliCPU) + part(sum.Memory, a.Memory)) / 2
}

func (pl *planner) sum(pods []model.Batch) model.Resources {
	var r model.Resources
	for _, b := range pods {
		r = r.Plus(pl.s.Classes[b.Class].Spec.Requests, int64(b.Count))
	}
	return r
}

// priceRatio is what the option costs over the least that its pods can cost:
// each pod's largest share of a node times the node's price, in the group
// where that is least. Options for different pods can be compared by it. A
// group without a price comes after all that have one.
func (pl *planner) priceRatio(o *option) float64 {
	price, ok := pl.price(o.head)
	if !ok {
		return math.MaxFloat64
	}
	least := 0.0
	for _, b := range o.placed {
		least += float64(b.Count) * pl.leastPrice(b.Class)
	}
	if least == 0 {
		return price * float64(o.nodes)
	}
	return price * float64(o.nodes) / least
}

func (pl *planner) leastPrice(c model.ClassID) float64 {
	least := math.Inf(1)
	r := pl.s.Classes[c].Spec.Requests
	for _, h := range pl.heads {
		price, ok := pl.price(h)
		if !ok || !pl.w.Suits(c, h.template) {
			continue
		}
		a := pl.w.Allocatable(h.template)
		least = min(least, price*max(share(r.MilliCPU, a.MilliCPU), share(r.Memory, a.Memory), share(1, a.Pods)))
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// price is a node's price per hour: by the group's id, else by its instance
// type, else what the provider says.
func (pl *planner) price(h head) (float64, bool) {
	g := &pl.s.Groups[h.group]
	if v, ok := pl.p.Prices[string(g.ID)]; ok {
		return v, true
	}
	if v, ok := pl.p.Prices[pl.s.Contents.Shapes[h.template.Shape].Node.Labels[corev1.LabelInstanceTypeStable]]; ok {
		return v, true
	}
	if g.PricePerHour != nil {
		return *g.PricePerHour, true
	}
	return 0, false
}

// dice picks by the snapshot's seed and by what there is to choose from: the
// same snapshot gives the same pick.
func (pl *planner) dice(options []option, left []int) int {
	h := fnv.New64a()
	for _, i := range left {
		fmt.Fprintf(h, "%s %d\n", pl.groupOf(options[i].group), options[i].nodes)
	}
	return rand.New(rand.NewPCG(pl.s.Seed, h.Sum64())).IntN(len(left))
}

// byPriority keeps the groups that the highest number in the priorities
// document matches. A group that no pattern matches comes last.
func (pl *planner) byPriority(options []option, left []int) ([]int, string) {
	table, err := ParsePriorities(pl.s.Priorities)
	if err != nil || len(table) == 0 {
		return left, "priority has no valid document"
	}
	best := math.MinInt
	var kept []int
	for _, i := range left {
		p, ok := table.of(pl.groupOf(options[i].group))
		if !ok {
			continue
		}
		if p > best {
			best, kept = p, nil
		}
		if p == best {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return left, "priority matches no group"
	}
	return kept, fmt.Sprintf("priority %d", best)
}

// notices says what is wrong with the priorities document, if it is asked for.
func (pl *planner) notices() []provider.Notice {
	if !slices.Contains(pl.p.Expanders, "priority") {
		return nil
	}
	if pl.s.Priorities == "" {
		return []provider.Notice{{Code: "PriorityConfigMapMissing", Message: "the priority expander has no document: every group is as good as the other for it"}}
	}
	if _, err := ParsePriorities(pl.s.Priorities); err != nil {
		return []provider.Notice{{Code: "PriorityConfigMapInvalid", Message: err.Error() + "; until it is mended every group is as good as the other"}}
	}
	return nil
}

// Priorities is the priority expander's document: for each number, patterns of
// group ids.
type Priorities map[int][]*regexp.Regexp

// ParsePriorities reads the document: YAML, numbers to lists of regular
// expressions. Empty is fine, and matches nothing.
func ParsePriorities(text string) (Priorities, error) {
	var raw map[int][]string
	if err := yaml.UnmarshalStrict([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("priorities: not a map of numbers to lists of patterns: %w", err)
	}
	p := Priorities{}
	for n, patterns := range raw {
		for _, s := range patterns {
			re, err := regexp.Compile(s)
			if err != nil {
				return nil, fmt.Errorf("priorities: %d: pattern %q: %w", n, s, err)
			}
			p[n] = append(p[n], re)
		}
	}
	return p, nil
}

func (p Priorities) of(g provider.GroupID) (int, bool) {
	best, found := 0, false
	for n, patterns := range p {
		for _, re := range patterns {
			if re.MatchString(string(g)) && (!found || n > best) {
				best, found = n, true
			}
		}
	}
	return best, found
}
