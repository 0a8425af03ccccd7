package scaleup

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// expander is a row of the table of expanders.
type expander struct {
	// score is what it minimises. It depends on nothing but the option, so that options
	// may be sorted by it.
	score func(*planner, *option) float64
	// show is what a plan says of the best score, beside the expander's name.
	show func(pl *planner, best float64) string
}

// expanders has a row for every expander. If the last has none this does not compile; if another
// has none, a test is red.
var expanders [model.ExpanderCount]expander = [...]expander{
	model.ByLeastWaste:  {(*planner).waste, asNumber("%.1f%%", 100)},
	model.ByLeastNodes:  {func(_ *planner, o *option) float64 { return float64(o.nodes) }, asNumber("%.0f", 1)},
	model.ByMostPods:    {func(_ *planner, o *option) float64 { return -float64(podsOf(o)) }, asNumber("%.0f", -1)},
	model.ByPrice:       {(*planner).priceRatio, showPrice("%.2f times the least")},
	model.ByPriority:    {(*planner).byPriority, (*planner).showPriority},
	model.AtRandom:      {(*planner).dice, func(*planner, float64) string { return "" }},
	model.ByPricePerPod: {(*planner).pricePerPod, showPrice("%.4g")},
}

// asNumber shows a score that is a multiple of what a person reads.
func asNumber(format string, times float64) func(*planner, float64) string {
	return func(_ *planner, best float64) string { return fmt.Sprintf(format, times*best) }
}

// showPrice shows the score of an option that has a price.
func showPrice(format string) func(*planner, float64) string {
	return func(_ *planner, best float64) string {
		if best == math.MaxFloat64 {
			return "knows no price"
		}
		return fmt.Sprintf(format, best)
	}
}

// choose applies the expanders in order; each keeps the best of what the one
// before left. What is equal after all of them is settled by the group's id.
func (pl *planner) choose(options []option) (index int, why string) {
	pl.w.Looked(looksPerGroup * len(options))
	left := make([]int, len(options))
	for i := range left {
		left[i] = i
	}
	var words []string
	for _, e := range pl.p.Expanders {
		if len(left) == 1 {
			break
		}
		var said string
		left, said = pl.narrow(e, options, left)
		words = append(words, said)
	}
	best := slices.MinFunc(left, func(a, b int) int { return cmp.Compare(options[a].group, options[b].group) })
	if len(words) == 0 && pl.limits.others {
		return best, "the only group that suits, but for those that come last"
	} else if len(words) == 0 {
		return best, "the only group that suits"
	}
	return best, strings.Join(words, ", ")
}

func (pl *planner) narrow(e model.Expander, options []option, left []int) ([]int, string) {
	best := math.Inf(1)
	scores := make([]float64, len(left))
	for j, i := range left {
		scores[j] = expanders[e].score(pl, &options[i])
		best = min(best, scores[j])
	}
	var kept []int
	for j, i := range left {
		if scores[j] <= best {
			kept = append(kept, i)
		}
	}
	return kept, strings.TrimSuffix(e.String()+" "+expanders[e].show(pl, best), " ")
}

// rank orders options for the pods of one class, best first: by the expanders as
// choose does, each option scored once. What is equal after all of them is settled
// by how many pods are served, then by the number of nodes, the fewer the better,
// then by the group's id.
func (pl *planner) rank(options []option) (order []int) {
	width := len(pl.p.Expanders)
	scores := make([]float64, 0, width*len(options))
	order = make([]int, len(options))
	for i := range options {
		order[i] = i
		for _, e := range pl.p.Expanders {
			scores = append(scores, expanders[e].score(pl, &options[i]))
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := slices.Compare(scores[a*width:][:width], scores[b*width:][:width]); c != 0 {
			return c
		}
		x, y := &options[a], &options[b]
		return cmp.Or(-cmp.Compare(podsOf(x), podsOf(y)), cmp.Compare(x.nodes, y.nodes), cmp.Compare(x.group, y.group))
	})
	return order
}

func podsOf(o *option) int {
	n := 0
	for _, b := range o.placed {
		n += b.Count
	}
	return n
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
	price, ok := pl.priceOf(o.head, o.nodes)
	if !ok {
		return math.MaxFloat64
	}
	least := 0.0
	for _, b := range o.placed {
		least += float64(b.Count) * pl.leastPrice(b.Class)
	}
	if least == 0 {
		return price
	}
	return price / least
}

// pricePerPod is what the option costs for each pod that it serves, whatever those request. A group without a
// price comes after all that have one.
func (pl *planner) pricePerPod(o *option) float64 {
	price, ok := pl.priceOf(o.head, o.nodes)
	if !ok {
		return math.MaxFloat64
	}
	return price / float64(max(1, podsOf(o)))
}

func (pl *planner) leastPrice(c model.ClassID) float64 {
	if least, ok := pl.prices[c]; ok {
		return least
	}
	least := math.Inf(1)
	r := pl.s.Classes[c].Spec.Requests
	for _, h := range pl.heads {
		price, ok := pl.price(h)
		if !ok || !pl.w.Suits(c, h.template) {
			continue
		}
		a := pl.w.Allocatable(h.template)
		least = min(least, price*max(fraction(r.MilliCPU, a.MilliCPU), fraction(r.Memory, a.Memory), fraction(1, a.Pods)))
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	pl.prices[c] = least
	return least
}

// price is what the next node that the head promises costs by the hour.
func (pl *planner) price(h head) (float64, bool) { return pl.priceOf(h, 1) }

// priceOf is what more nodes cost by the hour, beside those that the plan has.
func (pl *planner) priceOf(h head, nodes int) (float64, bool) {
	price, ok := pl.fleetWith(pl.grown).More(h.group, h.template.Shape, nodes)
	if pl.weights != nil {
		price *= 1 + pl.weights[h.group]
	}
	return price, ok
}

// fleetWith is the fleet with nodes that are bought. It is made once for as long as no more are: many options ask.
func (pl *planner) fleetWith(grown []growth) *model.Fleet {
	if !pl.s.Prices.Committed() {
		return pl.fleet
	}
	if pl.then == nil {
		pl.then, pl.thenOf = pl.fleet, make([]int, len(grown))
	}
	if !slices.ContainsFunc(pl.heads, func(h head) bool { return pl.thenOf[h.group] != grown[h.group].nodes }) {
		return pl.then
	}
	pl.then, pl.thenOf = pl.fleet.Clone(), make([]int, len(grown))
	for _, h := range pl.heads {
		if n := grown[h.group].nodes; n > 0 {
			pl.then.Add(h.group, h.template.Shape, n)
			pl.thenOf[h.group] = n
		}
	}
	return pl.then
}

// committed reports whether a commitment has something left for new nodes beside those of some growth, where the
// first expander asks for a low price.
func (pl *planner) committed(grown []growth) bool {
	if !pl.s.Prices.Committed() || !pl.first().AsksForLowPrice() {
		return false
	}
	f := pl.fleetWith(grown)
	return slices.ContainsFunc(pl.heads, func(h head) bool { return f.Left(h.group, h.template.Shape) })
}

// dice draws by the snapshot's seed and by what the option is: the same snapshot
// gives the same draw.
func (pl *planner) dice(o *option) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d\n", pl.groupOf(o.group), o.nodes)
	return rand.New(rand.NewPCG(pl.s.Seed, h.Sum64())).Float64()
}

// byPriority is the less, the higher the number that the priorities document has
// for the group. A group that no pattern matches comes last.
func (pl *planner) byPriority(o *option) float64 { return pl.s.Preference(o.group) }

func (pl *planner) showPriority(best float64) string {
	switch {
	case math.IsInf(best, 1) && pl.s.Priorities.Empty():
		return "has no valid document"
	case math.IsInf(best, 1):
		return "matches no group"
	}
	return fmt.Sprintf("%.0f", -best)
}

// notices says what is wrong with the priorities document, if it is asked for, which groups come last, and
// which DaemonSets do not count; until is when more may not.
func (pl *planner) notices() (out []provider.Notice, until time.Time) {
	out, until = pl.w.DaemonNotices()
	if last := pl.gate.Distrusts(); len(last) > 0 {
		names := make([]string, len(last))
		for i := range last {
			names[i] = last[i].Text()
		}
		out = append(out, provider.Notice{Code: "InterruptedOften", Message: "groups that were interrupted often are " +
			"bought from last: " + firstNames(names)})
	}
	return slices.Concat(pl.documentNotices(), pl.priceNotices(), out), until
}

// priceNotices says where prices are asked for and not known. A group without one is not taken for
// free: the expander price takes it last.
func (pl *planner) priceNotices() []provider.Notice {
	if pl.s.Prices == nil && !slices.ContainsFunc(pl.p.Expanders, model.Expander.AsksForLowPrice) {
		return nil
	}
	var unknown, foreign []string
	for i := range pl.s.Groups {
		g := &pl.s.Groups[i]
		if pl.s.Prices.Foreign(g) {
			foreign = append(foreign, string(g.ID))
		}
		if _, known := pl.s.PriceOf(i, g.Shape); !known && g.HasTemplate {
			name := string(g.ID)
			if gpu := pl.s.Prices.Unpriced(pl.s.Contents.Shapes[g.Shape]); gpu != "" {
				name += fmt.Sprintf(" (perUnit has no price of %s)", gpu)
			}
			unknown = append(unknown, name)
		}
	}
	var out []provider.Notice
	if idle := pl.s.IdlePrices(); len(idle) > 0 {
		out = append(out, provider.Notice{Code: "PriceMatchesNothing", Message: fmt.Sprintf("the operator's prices are of "+
			"no group or instance type that there is: %s", firstNames(idle))})
	}
	if len(foreign) > 0 {
		out = append(out, provider.Notice{Code: "PriceCurrency", Message: fmt.Sprintf("the prices of the operator are in "+
			"%s, those of the cloud are not and do not count: %s", pl.s.Prices.Currency, firstNames(foreign))})
	}
	if len(unknown) > 0 {
		out = append(out, provider.Notice{Code: "PriceUnknown", Message: fmt.Sprintf("no price is known of new nodes of "+
			"%s: they come last where prices decide, and are in no sum of costs", firstNames(unknown))})
	}
	if idle := pl.s.IdleCommitments(); len(idle) > 0 {
		out = append(out, provider.Notice{Code: "CommitmentMatchesNothing", Message: fmt.Sprintf("there are "+
			"commitments that are for no node and for no group: %s", firstNames(idle))})
	}
	return out
}

// firstNames lists the first of many names.
func firstNames(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// prioritised reports whether policies say the priorities, so that no document has to be there.
func (pl *planner) prioritised(err error) bool {
	return errors.Is(err, model.ErrNoPriorities) &&
		slices.ContainsFunc(pl.s.Groups, func(g model.Group) bool { return g.Settled.Priority != nil })
}

func (pl *planner) documentNotices() []provider.Notice {
	err := pl.s.Priorities.Err()
	switch {
	case err == nil || !slices.Contains(pl.p.Expanders, model.ByPriority) || pl.prioritised(err):
		return nil
	case errors.Is(err, model.ErrNoPriorities):
		return []provider.Notice{{
			Code: "PriorityConfigMapMissing", Message: err.Error() + ": it prefers no group",
		}}
	}
	return []provider.Notice{{
		Code: "PriorityConfigMapInvalid", Message: err.Error() + "; until it is fixed, it prefers no group",
	}}
}
