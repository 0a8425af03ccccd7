package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Node says what keeps a node, or how far its removal is.
type Node struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Time       time.Time        `json:"time"`
	Node       string           `json:"node"`
	Group      provider.GroupID `json:"group,omitempty"`
	State      string           `json:"state"` // Ready, Booting, Unready or Leaving
	// Since is when the node was made.
	Since  time.Time `json:"since"`
	Fate   NodeFate  `json:"fate"`
	Bought `json:",inline"`
	Hold   *Verdict `json:"verdict,omitempty"` // what keeps it; nil of a node that leaves
	// Tried is without what the plan was made once more: Rules of the pods in Pods, the group's Minimum, or its
	// Threshold. Then is what keeps the node in that plan; nil if nothing does.
	Tried string      `json:"tried,omitempty"`
	Then  *Verdict    `json:"then,omitempty"`
	Drain *DrainState `json:"drain,omitempty"`
	// Move is the one that the node goes for, or was bought for; nil if there is none.
	Move *model.MoveState `json:"move,omitempty"`
	// Use is the largest share that requests have of what the node can hold; 0 where it was not computed.
	Use float64 `json:"use,omitempty"`
	// Evict counts the pods that its removal moves. Pods are those of them that keep it, each with its rule or
	// budget, whatever else keeps it.
	Evict int       `json:"evict"`
	Pods  []PodHold `json:"pods,omitempty"`
	// UnneededSince is since when nothing needs the node, as far as that is remembered.
	UnneededSince time.Time `json:"unneededSince,omitzero"`
	// ReservedFor are the pods that the node is kept for, where it is reserved.
	ReservedFor []Reserved `json:"reservedFor,omitempty"`
	// Runs are the pods on it, those that take the largest share of it first.
	Runs []NodePod `json:"runs,omitempty"`
	// SavesPerHour is what the cluster costs less without it; nil where its price is not known.
	SavesPerHour *float64 `json:"savesPerHour,omitempty"`
}

// Bought is why a node was bought, as far as that is known.
type Bought struct {
	// For are the workloads that it was bought for, while that is remembered.
	For []string `json:"boughtFor,omitempty"`
	// Unknown says why it is not known for whom it was bought.
	Unknown string `json:"boughtForUnknown,omitempty"`
	// By is the decision that bought it, where the leader has recorded it.
	By *BoughtBy `json:"boughtBy,omitempty"`
}

// BoughtBy is the decision that bought a node.
type BoughtBy struct {
	Decision string    `json:"decision"`
	Time     time.Time `json:"time"`
	Why      string    `json:"why,omitempty"` // why it was this group
}

// NodeFate is what becomes of a node.
type NodeFate string

// The fates of a node.
const (
	Keep   NodeFate = "KEEP"
	Goes   NodeFate = "GOES"   // its removal begins
	Leaves NodeFate = "LEAVES" // its removal is under way
	Spare  NodeFate = "SPARE"  // nothing needs it, and something keeps it for now
)

// PodHold is a pod that keeps its node.
type PodHold struct {
	Pod     string `json:"pod"`
	Rule    string `json:"rule"` // of the rules on pods, or budget
	Verdict `json:",inline"`
}

// DrainState is how far the removal of a node is.
type DrainState struct {
	Stage model.Stage `json:"stage"`
	Since time.Time   `json:"since"`
	Began time.Time   `json:"began"`
	// Why is the reason of a rollback.
	Why string `json:"why,omitempty"`
	// Waiting are the pods that are still there, with what the API server last said of each.
	Waiting []Refusal `json:"waiting,omitempty"`
}

// Refusal is a pod whose eviction has not been granted.
type Refusal struct {
	Pod   string    `json:"pod"`
	Since time.Time `json:"since"`
	Why   string    `json:"why,omitempty"`
}

// RunningPod is where a pod runs, and what would move it.
type RunningPod struct {
	Node  string           `json:"node"`
	Group provider.GroupID `json:"group,omitempty"`
	// Bought is why its node was.
	Bought `json:",inline"`
	// Rule and Verdict say why the pod keeps its node; empty and nil if it does not.
	Rule    string   `json:"rule,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	// Moves: it is evicted when its node goes. Otherwise it ends with its node, or keeps it.
	Moves    bool     `json:"moves"`
	NodeFate NodeFate `json:"nodeFate"`
	// NodeHold is what keeps the node.
	NodeHold *Verdict `json:"nodeVerdict,omitempty"`
}

// NodeOf explains a node.
func NodeOf(c model.Cycle, p model.Policy, name string) (Node, error) {
	a := asked{snap: c.Snapshot, plan: &c.Plan, policy: p, memory: &c.Memory}
	at := slices.IndexFunc(a.snap.Nodes, func(n *model.Node) bool { return n.Name == name && n.Object != nil })
	if at < 0 {
		return Node{}, a.noNode(name)
	}
	n := a.snap.Nodes[at]
	out := Node{
		APIVersion: APIVersion, Kind: "Node", Time: a.snap.Now.UTC(), Node: name, State: n.Kind.String(),
		Since: n.Object.CreationTimestamp.UTC(), Bought: a.bought(n),
	}
	if n.Group >= 0 {
		out.Group = a.snap.Groups[n.Group].ID
	}
	if price, ok := a.snap.Fleet().Saves(n); ok {
		out.SavesPerHour = &price
	}
	out.Fate, out.Hold, out.Use = a.fate(n)
	if v := verdictAbout(a.plan.Unneeded, n.Name); v != nil {
		out.UnneededSince = v.Since.UTC()
	}
	if out.Hold != nil && out.Hold.Reason == model.Reserved {
		out.ReservedFor = a.reservedFor(model.NodeID(at))
	}
	out.Runs = a.runs(n)
	if d := n.Standing.Drain; d != nil {
		out.Drain = &DrainState{Stage: d.Stage, Since: d.Since.UTC(), Began: d.Began.UTC(), Why: d.Why}
		for _, e := range d.Evictions {
			if !e.Granted {
				out.Drain.Waiting = append(out.Drain.Waiting, Refusal{e.Pod, e.First.UTC(), e.Why})
			}
		}
	}
	out.Move = moveOf(&c, name)
	out.Evict, out.Pods = a.holds(n)
	switch {
	case out.Fate == Keep && len(out.Pods) > 0:
		out.Tried, out.Then = "Rules", a.without(at, out.Pods)
	case out.Fate == Spare && out.Hold.Reason == model.GroupAtMin:
		out.Tried, out.Then = "Minimum", a.withoutLimit(n, func(g *model.Group) { g.Min = 0 })
	case out.Fate == Keep && out.Hold != nil && out.Hold.Reason == model.NotUnderutilized && out.Hold.Fix != "":
		out.Tried, out.Then = "Threshold", a.withoutLimit(n, func(g *model.Group) {
			all := 2.0 // more than any use
			g.Options.ScaleDownUtilizationThreshold, g.Options.ScaleDownGPUUtilizationThreshold = &all, &all
		})
	}
	return out, nil
}

// moveOf is the move that a node goes for, or was bought for; nil if there is none.
func moveOf(c *model.Cycle, node string) *model.MoveState {
	for _, m := range c.MoveStates() {
		bought := slices.ContainsFunc(m.Comes, func(p model.Purchase) bool { return slices.Contains(p.Nodes, node) })
		if bought || slices.Contains(m.Goes, node) {
			return &m
		}
	}
	return nil
}

// fate is what the plan does with a node, and what keeps it.
func (a *asked) fate(n *model.Node) (NodeFate, *Verdict, float64) {
	if n.Kind == model.Leaving {
		return Leaves, leaves(n), 0
	}
	if v := verdictAbout(a.plan.Unneeded, n.Name); v != nil {
		if v.Reason == model.Unneeded {
			return Goes, spared(n, v), v.Use
		}
		return Spare, spared(n, v), v.Use
	}
	if v := verdictAbout(a.plan.Kept, n.Name); v != nil {
		return Keep, since(n, &v.Verdict), v.Use
	}
	return Keep, verdictOf(a.snap.Unhealthy), 0
}

// leaves says why a node leaves of which no removal is known; nil if one is.
func leaves(n *model.Node) *Verdict {
	v := model.Verdict{Reason: model.CurrentlyBeingDeleted}
	switch {
	case n.Standing.Drain != nil:
		return nil
	case n.Object != nil && n.Object.DeletionTimestamp != nil:
		v.Detail, v.Since = "its Node object is being deleted", n.Object.DeletionTimestamp.Time
	case n.Object != nil && model.HasTaint(n.Object, model.TaintToBeDeleted):
		v.Detail = "it has the taint " + model.TaintToBeDeleted
	default:
		v.Detail = "the cloud ends its machine"
	}
	return verdictOf(&v)
}

// since is a verdict with the time since when the node has had it, as far as that is remembered.
func since(n *model.Node, v *model.Verdict) *Verdict {
	out := verdictOf(v)
	if out.Since.IsZero() && n.Standing.Held == v.Reason {
		out.Since = n.Standing.HeldSince
	}
	return out
}

// spared is what keeps a node that nothing needs. The time of its verdict is since when nothing needs it.
func spared(n *model.Node, v *model.NodeVerdict) *Verdict {
	keeps := v.Verdict
	keeps.Since = time.Time{}
	return since(n, &keeps)
}

// verdictAbout finds a node's verdict in a list; nil if it has none.
func verdictAbout(list []model.NodeVerdict, node string) *model.NodeVerdict {
	for i := range list {
		if list[i].Node == node {
			return &list[i]
		}
	}
	return nil
}

// holds counts the pods that are evicted when a node goes, and lists those that keep it.
func (a *asked) holds(n *model.Node) (evict int, out []PodHold) {
	r, on := rules.Of(a.snap, a.policy), rules.ConditionOf(n)
	left := r.Budgets()
	for i := range n.Bound {
		p := &n.Bound[i]
		answer := r.Apply(on, p)
		name := a.nameOf(p)
		switch answer.Kind {
		case rules.Blocks:
			evict++
			out = append(out, PodHold{name, answer.Rule, *verdictOf(&answer.Verdict)})
		case rules.Moves:
			evict++
			// Pods of one budget go in turn: one that allows an eviction now keeps none of them.
			asks := r.Asks([]*model.Pod{p})
			if at := left.Refused(asks); at >= 0 {
				out = append(out, PodHold{name, "budget", *verdictOf(r.Refusal(&asks[at]))})
			}
		}
	}
	slices.SortFunc(out, func(a, b PodHold) int { return cmp.Compare(a.Pod, b.Pod) })
	return evict, out
}

// without is what would keep a node if the pods that keep it did not; nil if nothing would.
func (a *asked) without(at int, pods []PodHold) *Verdict {
	s, p := *a.snap, a.policy
	free := model.FactsID(len(s.Contents.Facts))
	s.Contents.Facts = append(slices.Clip(s.Contents.Facts),
		&model.Facts{Key: "free", Controller: "ReplicaSet", Group: "apps", Safe: model.EvictYes})
	s.Budgets = nil
	p.ScaleDown.Drain.MinReplicas = 0
	s.Nodes = slices.Clone(s.Nodes)
	n := *s.Nodes[at]
	n.Bound = slices.Clone(n.Bound)
	s.Nodes[at] = &n
	for i := range n.Bound {
		b := &n.Bound[i]
		name := s.Contents.Specs[b.Spec].Pod.Namespace + "/" + b.Name
		if slices.ContainsFunc(pods, func(h PodHold) bool { return h.Pod == name }) {
			b.Facts = free
		}
	}
	return keeping(&s, p, n.Name)
}

// withoutLimit is what would keep a node if its group did not have some limit; nil if nothing would.
func (a *asked) withoutLimit(n *model.Node, lift func(*model.Group)) *Verdict {
	s := *a.snap
	s.Groups = slices.Clone(s.Groups)
	lift(&s.Groups[n.Group])
	return keeping(&s, a.policy, n.Name)
}

// keeping is what keeps a node of a changed cluster; nil if nothing does.
func keeping(s *model.Snapshot, p model.Policy, node string) *Verdict {
	plan := decide.Decide(s, p)
	if v := verdictAbout(plan.Kept, node); v != nil {
		return verdictOf(&v.Verdict)
	}
	if v := verdictAbout(plan.Unneeded, node); v != nil && v.Reason != model.Unneeded {
		return verdictOf(&v.Verdict)
	}
	return nil
}

// bought is for whom a node was bought, or why that is not known.
func (a *asked) bought(n *model.Node) Bought {
	digests := map[string]bool{}
	for _, arrival := range a.memory.Arrivals {
		if arrival.Node == n.Name {
			for _, d := range arrival.For {
				digests[d] = true
			}
		}
	}
	for _, ask := range a.memory.Asks {
		if slices.ContainsFunc(ask.Units, func(u model.Unit) bool { return u.Node == n.Name }) {
			for _, d := range ask.For {
				digests[d] = true
			}
		}
	}
	out := Bought{For: a.workloadsOf(digests)}
	switch {
	case len(out.For) > 0:
	case n.Group < 0 && a.snap.InventoryErr != "":
		out.Unknown = "the node groups were not read"
	case n.Group < 0:
		out.Unknown = "it is of no node group"
	case len(digests) > 0:
		out.Unknown = "the pods that it was bought for are gone"
	case a.memory.LastGrowth.IsZero() && len(a.memory.Asks)+len(a.memory.Arrivals) == 0:
		out.Unknown = "no scale-up is remembered: it is older than the leader's memory, or that is not at hand"
	default:
		out.Unknown = "that is remembered only until the pods that it was bought for have their nodes"
	}
	return out
}

// workloadsOf are the workloads of classes that are named by their digests, as far as they have pods.
func (a *asked) workloadsOf(digests map[string]bool) (out []string) {
	if len(digests) == 0 {
		return nil
	}
	wanted := map[model.ClassID]bool{}
	for i := range a.snap.Classes {
		wanted[model.ClassID(i)] = digests[a.snap.Classes[i].Digest()]
	}
	add := func(p *model.Pod) {
		if c, ok := a.snap.ClassOf(p); ok && wanted[c] {
			out = append(out, cmp.Or(a.snap.Contents.Workload(p), a.nameOf(p)))
			wanted[c] = false
		}
	}
	for i := range a.snap.Nodes {
		for j := range a.snap.Nodes[i].Bound {
			add(&a.snap.Nodes[i].Bound[j])
		}
	}
	for i := range a.snap.Pending {
		add(a.snap.Pending[i].Pods[0])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// running answers for a pod that has a node.
func (a *asked) running(id model.NodeID, p *model.Pod) *RunningPod {
	n := a.snap.Nodes[id]
	out := &RunningPod{Node: n.Name, Bought: a.bought(n)}
	if n.Group >= 0 {
		out.Group = a.snap.Groups[n.Group].ID
	}
	r := rules.Of(a.snap, a.policy)
	answer := r.Apply(rules.ConditionOf(n), p)
	switch answer.Kind {
	case rules.Blocks:
		out.Rule, out.Verdict = answer.Rule, verdictOf(&answer.Verdict)
	case rules.Moves:
		if out.Verdict = verdictOf(r.Take(p, r.Budgets())); out.Verdict != nil {
			out.Rule = "budget"
		} else {
			out.Moves = true
		}
	}
	out.NodeFate, out.NodeHold, _ = a.fate(n)
	return out
}
