package explain

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Plan is what one turn of the loop would do, and what it would not do and why. Its lists are sorted.
type Plan struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	// Changes: something is bought, removed, moved or given up now. Soft taints and annotations do
	// not count.
	Changes bool `json:"changes"`
	// Unhealthy says why nothing is decided at all; nil if it is.
	Unhealthy *Verdict `json:"unhealthy,omitempty"`
	// InventoryError says why the node groups could not be read: nothing is bought or removed then.
	InventoryError string `json:"inventoryError,omitempty"`
	// GuessedFrom are the labels of nodes that the node groups are guessed from; none where they are known.
	GuessedFrom []string `json:"guessedFrom,omitempty"`
	// Before and After are the cluster now and once the plan is carried out.
	Before Size       `json:"before"`
	After  Size       `json:"after"`
	Buy    []Purchase `json:"buy"`
	Bound  *Bound     `json:"bound,omitempty"`
	Remove []Removal  `json:"remove"`
	GiveUp []GivenUp  `json:"giveUp"`
	// Moves are nodes that go for others, or would: under way, waiting, or over with nodes that rest.
	Moves []model.MoveState `json:"moves,omitempty"`
	// Costs is what the fleet costs once all that is planned is done; nil where nothing may move or prices lack.
	Costs   *Costs    `json:"costs,omitempty"`
	Pending []Waiting `json:"pending"`
	Kept    []Kept    `json:"kept"`
	// Notices are what is wrong with the operator's documents, and what the provider says.
	Notices []provider.Notice `json:"notices,omitempty"`
}

// Size is how large a cluster is.
type Size struct {
	// Nodes are those that are there and those on their way, without those that leave.
	Nodes int `json:"nodes"`
	// PendingPods have no node.
	PendingPods int `json:"pendingPods"`
	// CostPerHour is the sum of the nodes' prices, without the Unpriced ones; nil where no price is
	// known.
	CostPerHour *float64 `json:"costPerHour,omitempty"`
	Unpriced    int      `json:"unpricedNodes,omitempty"`
}

// Costs is what a fleet costs by the hour: now, once what nothing needs is gone and what is bought for pods is
// there, and after the moves that are under way or wait. No fleet for the same pods costs less than AtLeast.
type Costs struct {
	Now           float64  `json:"now"`
	AfterRemovals float64  `json:"afterRemovals"`
	AfterMoves    float64  `json:"afterMoves"`
	AtLeast       *float64 `json:"atLeast,omitempty"`
}

// Purchase is what one group grows by.
type Purchase struct {
	Group provider.GroupID `json:"group"`
	From  int              `json:"from"`
	To    int              `json:"to"`
	Max   int              `json:"max"`
	Pods  []Pods           `json:"pods"`
	// PricePerHour is that of one node; nil if it is not known.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	Why          string   `json:"why"`
}

// Pods are a number of pods of one class.
type Pods struct {
	Class string `json:"class"`
	Count int    `json:"count"`
}

// When says when a node goes.
type When string

// The times of a removal.
const (
	Now      When = "Now"      // it begins
	UnderWay When = "UnderWay" // it has begun
	Later    When = "Later"    // nothing needs the node, and something keeps it for now
	Ended    When = "Ended"    // it has begun, and the node stays after all
)

// Removal is a node that goes.
type Removal struct {
	Node  string           `json:"node"`
	Group provider.GroupID `json:"group"`
	When  When             `json:"when"`
	// Stage is how far a removal is that has begun.
	Stage model.Stage `json:"stage,omitempty"`
	// Use is the largest share that requests have of what the node can hold.
	Use float64 `json:"use,omitempty"`
	// Verdict is what keeps a node that goes later, or why a removal is ended.
	Verdict *Verdict `json:"verdict,omitempty"`
	// UnneededSince is since when nothing needs the node, as far as that is remembered.
	UnneededSince time.Time `json:"unneededSince,omitzero"`
	// Moves are the pods that have to find another node, as namespace/name.
	Moves []string `json:"moves"`
	// PricePerHour is the node's; nil if it is not known.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
}

// GivenUp is a machine, or a number of requests, that is not waited for any more.
type GivenUp struct {
	Group    provider.GroupID    `json:"group"`
	Instance provider.InstanceID `json:"instance,omitempty"`
	Count    int                 `json:"count"`
	// Now: it is given back to the cloud by this plan.
	Now     bool    `json:"now"`
	Verdict Verdict `json:"verdict"`
}

// Waiting is a class of equal pods that have no node.
type Waiting struct {
	Class string `json:"class"`
	// Workloads are what made the pods: pods of several may be equal in all that the scheduler reads.
	Workloads []string  `json:"workloads"`
	Requests  string    `json:"requests"`
	Since     time.Time `json:"since"`
	Pods      int       `json:"pods"`
	// FitNow fit nodes that are ready, FitSoon nodes on their way, and FitBought those that are bought.
	// Left find no room. Delayed wish to wait.
	FitNow    int `json:"fitNow,omitempty"`
	FitSoon   int `json:"fitSoon,omitempty"`
	FitBought int `json:"fitBought,omitempty"`
	Left      int `json:"left,omitempty"`
	Delayed   int `json:"delayed,omitempty"`
	// Skipped says why no room was looked for, and Disagrees that the scheduler leaves pods waiting that
	// fit ready nodes.
	Skipped   *Verdict `json:"skipped,omitempty"`
	Disagrees *Verdict `json:"disagrees,omitempty"`
	// Groups are what each group says of the pods that are left, the nearest to a yes first.
	Groups []GroupAnswer `json:"groups,omitempty"`
	// Fix is the nearest change with which all of them get a node; nil if none was found.
	Fix *Fix `json:"fix,omitempty"`
	// Larger is what a new group must have where the pods are too large for the nodes of all groups.
	Larger *Fix `json:"larger,omitempty"`
	// Untried: no fix was looked for, so that the verdicts' words are all that is known. Unsearched: the search ended
	// before all was tried.
	Untried    bool `json:"untried,omitempty"`
	Unsearched bool `json:"unsearched,omitempty"`

	class model.ClassID
}

// Stays reports whether the plan leaves pods of the class without a node.
func (w *Waiting) Stays() bool { return w.Left > 0 || w.Skipped != nil || w.Disagrees != nil }

// Kept counts the nodes that stay for one reason.
type Kept struct {
	Reason model.Reason `json:"reason"`
	Nodes  int          `json:"nodes"`
}

// PlanOf puts a turn of the loop into words. No fixes are tried: Try does that.
func PlanOf(c model.Cycle, p model.Policy) Plan {
	s, plan := c.Snapshot, &c.Plan
	a := answer{snap: s, plan: plan, policy: p, names: s.ClassNames(), fleet: s.Fleet(), then: s.Fleet()}
	out := Plan{
		APIVersion: APIVersion, Kind: "Plan", Time: s.Now.UTC(),
		Unhealthy: verdictOf(s.Unhealthy), InventoryError: s.InventoryErr,
		Buy: a.buy(), Remove: a.remove(), GiveUp: a.giveUp(), Pending: a.pending(), Kept: a.kept(),
		Notices: slices.Concat(s.Notices, plan.Notices),
	}
	for i := range plan.Calls {
		switch plan.Calls[i].Verb {
		case model.Mark, model.Unmark, model.Annotate:
		default:
			out.Changes = true
		}
	}
	out.Before, out.After = a.sizes(&out)
	out.Bound = a.bound()
	if out.Moves = c.MoveStates(); len(out.Moves) > 0 || a.mayMove() {
		out.Costs = a.costs(&out)
	}
	return out
}

// answer is what the parts of a Plan are made of.
type answer struct {
	snap   *model.Snapshot
	plan   *model.Plan
	policy model.Policy
	names  []string // of classes
	// fleet is what is there before the plan.
	fleet *model.Fleet
	// then is what is there after it, once what is bought and what goes is told.
	then *model.Fleet
}

// group is the index of a group, which must be there.
func (a *answer) group(id provider.GroupID) int { return groupAt(a.snap, id) }

// priceEach adds nodes that are alike to a fleet, or takes some away, and is what each of them costs; nil if that is
// not known. The rows of a plan add up to what it costs, since each is asked of the fleet that the one before left.
func priceEach(f *model.Fleet, group int, shape model.ShapeID, count int) *float64 {
	more, ok := f.Add(group, shape, count)
	if !ok {
		return nil
	}
	each := math.Round(more/float64(count)*1e9) / 1e9
	return &each
}

func (a *answer) buy() []Purchase {
	out := []Purchase{}
	for i := range a.plan.Grow {
		g := &a.plan.Grow[i]
		at := a.group(g.Group)
		b := Purchase{Group: g.Group, From: g.From, To: g.To, Max: a.snap.Groups[at].Max, Pods: []Pods{},
			Why: g.Why, PricePerHour: priceEach(a.then, at, a.snap.Groups[at].Shape, g.To-g.From)}
		for _, pods := range g.Pods {
			b.Pods = append(b.Pods, Pods{a.names[pods.Class], pods.Count})
		}
		slices.SortStableFunc(b.Pods, func(a, b Pods) int { return cmp.Compare(a.Class, b.Class) })
		out = append(out, b)
	}
	return out
}

// remove has the nodes whose removal begins, goes on or ends, and those that nothing needs.
func (a *answer) remove() []Removal {
	calls := map[string]*model.Call{}
	for i := range a.plan.Calls {
		switch c := &a.plan.Calls[i]; c.Verb {
		case model.Taint, model.Untaint:
			calls[c.Node] = c
		}
	}
	unneeded := map[string]*model.NodeVerdict{}
	for i := range a.plan.Unneeded {
		unneeded[a.plan.Unneeded[i].Node] = &a.plan.Unneeded[i]
	}
	out := []Removal{}
	for i := range a.snap.Nodes {
		n := a.snap.Nodes[i]
		call, v := calls[n.Name], unneeded[n.Name]
		r := Removal{Node: n.Name, Moves: []string{}}
		if n.Group >= 0 {
			r.Group = a.snap.Groups[n.Group].ID
		}
		if n.Standing.Drain != nil {
			r.Stage = n.Standing.Drain.Stage
		}
		if v != nil {
			r.Use, r.UnneededSince = v.Use, v.Since.UTC()
		}
		switch {
		case call != nil && call.Verb == model.Untaint:
			r.When, r.Verdict = Ended, &Verdict{Reason: call.Reason, Detail: call.Why}
		case call != nil:
			r.When, r.Moves = Now, a.moves(n)
		case n.Standing.Drain != nil:
			r.When, r.Moves = UnderWay, a.moves(n)
		case v != nil:
			r.When, r.Moves, r.Verdict = Later, a.moves(n), spared(n, v)
		default:
			continue
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Removal) int {
		return cmp.Compare(slices.Index(whens, a.When), slices.Index(whens, b.When))
	})
	a.priceRemovals(out)
	return out
}

// priceRemovals says what each node costs that goes, or stays after all: those that are alike share it, and what goes
// later is asked of the fleet without what goes now.
func (a *answer) priceRemovals(list []Removal) {
	nodes := map[string]*model.Node{}
	for i := range a.snap.Nodes {
		nodes[a.snap.Nodes[i].Name] = a.snap.Nodes[i]
	}
	type kind struct {
		group int
		shape model.ShapeID
	}
	for _, when := range whens {
		fleet, sign := a.then, -1
		switch when {
		case Ended:
			sign = 1
		case Later:
			fleet = a.then.Clone()
		}
		alike, order := map[kind][]*Removal{}, []kind{}
		for i := range list {
			r := &list[i]
			n := nodes[r.Node]
			if r.When != when {
				continue
			}
			if when == UnderWay || (n.Kind == model.Leaving) != (when == Ended) { // no part of the sums
				if saves, ok := a.fleet.Saves(n); ok {
					r.PricePerHour = &saves
				}
				continue
			}
			k := kind{n.Group, n.Shape}
			if alike[k] == nil {
				order = append(order, k)
			}
			alike[k] = append(alike[k], r)
		}
		for _, k := range order {
			each := priceEach(fleet, k.group, k.shape, sign*len(alike[k]))
			for _, r := range alike[k] {
				r.PricePerHour = each
			}
		}
	}
}

// whens is the order in which removals stand.
var whens = []When{Now, UnderWay, Ended, Later}

// moves are the pods that a node's removal evicts.
func (a *answer) moves(n *model.Node) []string {
	out := []string{}
	for i := range n.Bound {
		p := &n.Bound[i]
		if p.Flags&(model.FromDaemonSet|model.Mirror|model.Finished) == 0 {
			out = append(out, a.snap.Contents.Specs[p.Spec].Pod.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (a *answer) giveUp() []GivenUp {
	out := []GivenUp{}
	for i := range a.plan.Calls {
		c := &a.plan.Calls[i]
		up := GivenUp{Group: c.Group, Instance: c.Instance, Count: 1, Now: true,
			Verdict: Verdict{Reason: c.Reason, Detail: c.Why}}
		switch {
		case c.Verb == model.Cancel:
			up.Count = c.From - c.To
		case c.Verb != model.Remove || c.Node != "":
			continue
		}
		out = append(out, up)
	}
	for i := range a.plan.Repair {
		v := &a.plan.Repair[i]
		out = append(out, GivenUp{Group: v.Group, Instance: v.Instance, Count: max(1, v.Count),
			Verdict: *verdictOf(&v.Verdict)})
	}
	return out
}

func (a *answer) pending() []Waiting {
	out := []Waiting{}
	for i := range a.plan.Pending {
		v := &a.plan.Pending[i]
		q, _ := slices.BinarySearchFunc(a.snap.Pending, v.Class, func(q model.Pending, c model.ClassID) int {
			return cmp.Compare(q.Class, c)
		})
		w := Waiting{
			Workloads: a.snap.Contents.Workloads(a.snap.Pending[q].Pods),
			Class:     a.names[v.Class], Requests: a.snap.Classes[v.Class].Spec.Requests.String(), Since: v.Since.UTC(),
			Pods: v.Pods, FitNow: v.Existing, FitSoon: v.Upcoming, FitBought: v.Planned, Left: v.Left, Delayed: v.Delayed,
			Skipped: verdictOf(v.Skipped), Disagrees: verdictOf(v.Disagrees), class: v.Class,
		}
		if w.Skipped != nil {
			w.Left = v.Pods
		}
		if v.Left > 0 {
			w.Groups = answersOf(v, a.snap.Now)
		}
		w.Untried = searched(v)
		out = append(out, w)
	}
	// Those that stay pending first, the largest of them at the top.
	slices.SortStableFunc(out, func(a, b Waiting) int {
		return cmp.Or(-cmp.Compare(a.Left, b.Left), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// planning bounds the search for fixes of all classes of a plan together.
var planning = Effort{400, 120_000_000}

// Try looks for what would give the pods a node that the plan of a cycle leaves without one, for those first of which
// there are the most. Each class is answered as PodOf answers for one of its pods, as far as the effort for all of
// them suffices.
func (p *Plan) Try(c model.Cycle, policy model.Policy) {
	left := planning
	a := asked{snap: c.Snapshot, plan: &c.Plan, policy: policy, memory: &c.Memory}
	for i := range p.Pending {
		w := &p.Pending[i]
		if !w.Untried || left.Plans <= 0 || left.Steps <= 0 {
			continue
		}
		if a.world == nil {
			a.world = schedsim.Load(nil, a.snap)
			defer a.world.Close()
		}
		a.effort = Effort{min(asking.Plans, left.Plans), min(asking.Steps, left.Steps)}
		out := PendingPod{Groups: w.Groups}
		used := a.search(w.class, &out)
		left.Plans, left.Steps = left.Plans-used.Plans, left.Steps-used.Steps
		w.Groups, w.Fix, w.Larger = out.Groups, out.Fix, out.Larger
		w.Unsearched, w.Untried = out.Unsearched, false
	}
}

func (a *answer) kept() []Kept {
	counts := map[model.Reason]int{}
	for i := range a.plan.Kept {
		counts[a.plan.Kept[i].Reason]++
	}
	out := []Kept{}
	for reason, n := range counts {
		out = append(out, Kept{reason, n})
	}
	slices.SortFunc(out, func(a, b Kept) int {
		return cmp.Or(-cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// sizes are the cluster before and after the plan.
func (a *answer) sizes(p *Plan) (before, after Size) {
	before, after = sizeOf(a.fleet), sizeOf(a.then)
	for i := range p.Pending {
		before.PendingPods += p.Pending[i].Pods
		after.PendingPods += p.Pending[i].Left + p.Pending[i].Delayed
	}
	return before, after
}

// cents rounds a sum of money to what is certain of it.
func cents(x float64) float64 { return math.Round(x*1e6) / 1e6 }

func sizeOf(f *model.Fleet) Size {
	s := Size{Nodes: f.Nodes(), Unpriced: f.Unknown()}
	if s.Nodes > s.Unpriced {
		sum := cents(f.Cost())
		s.CostPerHour = &sum
	}
	return s
}
