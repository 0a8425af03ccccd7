package status

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

const (
	// maxStays and maxDrains are how many nodes the document lists. Their counts
	// are complete.
	maxStays  = 500
	maxDrains = 200
	// maxDetail is how many characters of a node's texts are shown.
	maxDetail = 200
)

// Drains are the nodes on their way out. Where they are more than are listed,
// those that began first are.
type Drains struct {
	Total int     `json:"total"`
	Nodes []Drain `json:"nodes,omitempty"`
}

// Drain is one node's.
type Drain struct {
	Node  string      `json:"node"`
	Group string      `json:"group,omitempty"`
	Stage model.Stage `json:"stage"`
	// Since is when the stage was reached, and Began when the removal was decided.
	Since metav1.Time `json:"since,omitzero"`
	Began metav1.Time `json:"began,omitzero"`
	// PodsLeft counts the pods that keep the node still.
	PodsLeft int `json:"podsLeft"`
	// Refused is the last refusal of an eviction that has not been granted since.
	Refused *Refused `json:"refused,omitempty"`
	// Reason and Why are set during a rollback.
	Reason model.Reason `json:"reason,omitempty"`
	Why    string       `json:"why,omitempty"`
}

// Refused is a pod whose eviction is refused, and since when it is requested.
type Refused struct {
	Pod   string      `json:"pod"`
	Why   string      `json:"why"`
	Since metav1.Time `json:"since,omitzero"`
}

// Stays are the nodes that stay, but for those on their way out. Reasons counts
// all of them; Nodes lists some of each reason, where they are too many for all.
type Stays struct {
	Total   int           `json:"total"`
	Reasons []ReasonCount `json:"reasons,omitempty"`
	Nodes   []Stay        `json:"nodes,omitempty"`
}

// ReasonCount is how many nodes stay for a reason.
type ReasonCount struct {
	Reason model.Reason `json:"reason"`
	Nodes  int          `json:"nodes"`
}

// Stay is what keeps one node.
type Stay struct {
	Node  string `json:"node"`
	Group string `json:"group,omitempty"`
	// Use is the share of the node that pods request, 0 to 1 and more; 0 also where it is unknown.
	Use    float64      `json:"use,omitempty"`
	Reason model.Reason `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	// Since is when that began to keep the node, Until when it ends by itself, and
	// Fix what would change it. UnneededSince is set if nothing needs the node.
	Since         metav1.Time `json:"since,omitzero"`
	Until         metav1.Time `json:"until,omitzero"`
	UnneededSince metav1.Time `json:"unneededSince,omitzero"`
	Fix           string      `json:"fix,omitempty"`
}

// ReasonsOf counts the nodes that stay by reason, sorted by it. Those that
// nothing needs count with what holds them, and not if nothing does.
func ReasonsOf(p *model.Plan) []ReasonCount {
	counts := map[model.Reason]int{}
	for _, verdicts := range [][]model.NodeVerdict{p.Unneeded, p.Kept} {
		for i := range verdicts {
			if verdicts[i].Reason != model.Unneeded {
				counts[verdicts[i].Reason]++
			}
		}
	}
	return sortedCounts(counts)
}

func sortedCounts(counts map[model.Reason]int) []ReasonCount {
	var out []ReasonCount
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, ReasonCount{reason, counts[reason]})
	}
	return out
}

// drainsOf writes down the removals that are under way.
func drainsOf(s *model.Snapshot) Drains {
	var d Drains
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Standing.Drain != nil {
			d.Nodes = append(d.Nodes, drainOf(n))
		}
	}
	d.Total = len(d.Nodes)
	if d.Total > maxDrains {
		slices.SortFunc(d.Nodes, func(a, b Drain) int {
			return cmp.Or(a.Began.Compare(b.Began.Time), cmp.Compare(a.Node, b.Node))
		})
		d.Nodes = d.Nodes[:maxDrains:maxDrains]
		slices.SortFunc(d.Nodes, func(a, b Drain) int { return cmp.Compare(a.Node, b.Node) })
	}
	return d
}

func drainOf(n *model.Node) Drain {
	d := n.Standing.Drain
	out := Drain{
		Node: n.Name, Group: string(d.Group), Stage: d.Stage, Since: stamp(d.Since), Began: stamp(d.Began),
		PodsLeft: n.Occupants,
	}
	if d.Stage == model.RollingBack {
		out.Reason, out.Why = d.Code, cut(d.Why, maxDetail)
	}
	if e := lastRefusal(d); e != nil {
		out.Refused = &Refused{e.Pod, cut(e.Why, maxDetail), stamp(e.First)}
	}
	return out
}

// lastRefusal is the newest refusal that holds the drain up, nil if none does.
func lastRefusal(d *model.Drain) *model.Eviction {
	var last *model.Eviction
	for i := range d.Evictions {
		if e := &d.Evictions[i]; !e.Granted && e.Why != "" && (last == nil || e.Last.After(last.Last)) {
			last = e
		}
	}
	return last
}

// keeper is one node that stays, before it is known whether it is listed.
type keeper struct {
	verdict  *model.NodeVerdict
	unneeded bool
	since    time.Time
}

// staysOf writes down what keeps the nodes that stay. What kept a node already in
// the document before keeps the time since when, also over a restart.
func staysOf(now time.Time, c model.Cycle, before Stays) Stays {
	standing := make(map[string]*model.NodeStanding, len(c.Snapshot.Nodes))
	for i := range c.Snapshot.Nodes {
		standing[c.Snapshot.Nodes[i].Name] = &c.Snapshot.Nodes[i].Standing
	}
	was := make(map[string]*Stay, len(before.Nodes))
	for i := range before.Nodes {
		was[before.Nodes[i].Node] = &before.Nodes[i]
	}
	byReason := map[model.Reason][]keeper{}
	add := func(v *model.NodeVerdict, unneeded bool) {
		st := standing[v.Node]
		if st == nil {
			st = &model.NodeStanding{}
		}
		if st.Drain == nil && v.Reason != model.Unneeded {
			byReason[v.Reason] = append(byReason[v.Reason],
				keeper{v, unneeded, heldSince(now, v, unneeded, st, was[v.Node])})
		}
	}
	for i := range c.Plan.Unneeded {
		add(&c.Plan.Unneeded[i], true)
	}
	for i := range c.Plan.Kept {
		add(&c.Plan.Kept[i], false)
	}
	out := Stays{Nodes: someOf(byReason, maxStays)}
	counts := make(map[model.Reason]int, len(byReason))
	for reason, nodes := range byReason {
		counts[reason] = len(nodes)
		out.Total += len(nodes)
	}
	out.Reasons = sortedCounts(counts)
	return out
}

// heldSince is since when a node stays for its reason: from the ledger, else from the verdict, else
// now; or the earlier time of the document before.
func heldSince(now time.Time, v *model.NodeVerdict, unneeded bool, st *model.NodeStanding, was *Stay) time.Time {
	since := now
	switch {
	case st.Held == v.Reason && !st.HeldSince.IsZero():
		since = st.HeldSince
	case !unneeded && !v.Since.IsZero(): // of others, it is since when nothing needs them
		since = v.Since
	}
	if was != nil && was.Reason == v.Reason && !was.Since.IsZero() && was.Since.Time.Before(since) {
		since = was.Since.Time
	}
	return since
}

// someOf lists at most n nodes, sorted by name: all of rare reasons, and of the others those kept
// for longest, which change the least.
func someOf(byReason map[model.Reason][]keeper, most int) []Stay {
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b model.Reason) int {
		return cmp.Or(cmp.Compare(len(byReason[a]), len(byReason[b])), cmp.Compare(a, b))
	})
	var out []Stay
	for i, reason := range reasons {
		nodes := byReason[reason]
		if share := (most - len(out)) / (len(reasons) - i); share < len(nodes) {
			slices.SortFunc(nodes, func(a, b keeper) int {
				return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.verdict.Node, b.verdict.Node))
			})
			nodes = nodes[:share]
		}
		for _, k := range nodes {
			out = append(out, stayOf(k))
		}
	}
	slices.SortFunc(out, func(a, b Stay) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

func stayOf(k keeper) Stay {
	v := k.verdict
	out := Stay{
		Node: v.Node, Group: string(v.Group), Use: math.Round(100*v.Use) / 100, Reason: v.Reason,
		Detail: cut(v.Detail, maxDetail),
		Since:  stamp(k.since), Until: stamp(v.Until), Fix: cut(v.Fix, maxDetail),
	}
	if k.unneeded {
		out.UnneededSince = stamp(v.Since)
	}
	return out
}

// stamp is a time as the document's lists have it; zero stays zero.
func stamp(at time.Time) metav1.Time {
	if at.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(at.UTC())
}
