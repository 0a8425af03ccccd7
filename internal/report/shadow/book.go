package shadow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// News is what one cycle adds.
type News struct {
	// Began are the calls that would have begun, in the order of the plan's.
	Began []Would
	// Grown and Gone are what another actor did; sorted by group and by node.
	Grown []Grown
	Gone  []Gone
	// Over are the scale-ups that are no longer needed; sorted by group.
	Over []Over
}

// Would is a call that would have begun.
type Would struct {
	model.Call
	// Nodes of a Grow are those that were not reported before; Pods are all that it is for.
	Nodes, Pods int
	// Moves, of a Taint, are the pods that would be evicted next; the instance's end
	// would follow.
	Moves int
}

// Agreement compares what another actor did with what would have been done here.
type Agreement string

// The agreements.
const (
	// Wanted: it would have been done here as well.
	Wanted Agreement = "wanted"
	// Elsewhere: of a scale-up, another group would have grown then.
	Elsewhere Agreement = "elsewhere"
	// Unneeded: of a node that went, nothing needed it, and it would have gone later.
	Unneeded Agreement = "unneeded"
	// Unwanted: it would not have been done.
	Unwanted Agreement = "unwanted"
)

// Grown is a group whose target another actor has raised.
type Grown struct {
	Group     provider.GroupID
	Nodes     int
	Agreement Agreement
	// After is how long before it would have been done here; 0 unless Wanted.
	After time.Duration
}

// Gone is a node of a group that another actor has begun to remove, or that is gone.
type Gone struct {
	Node      string
	Group     provider.GroupID
	Agreement Agreement
}

// Over is a scale-up that is no longer needed: another actor has requested Bought of its Nodes.
type Over struct {
	Group         provider.GroupID
	Nodes, Bought int
	For           time.Duration
}

// Book is what has been reported and still holds. The zero Book is empty. It serves one goroutine.
type Book struct {
	growths map[provider.GroupID]*growth
	taints  map[string]bool // nodes whose removal was reported
	others  map[string]bool // the rest of the last plan's calls, by verb and subject

	// The rest is the state of the last cycle.
	started  bool
	targets  map[provider.GroupID]int
	nodes    map[string]provider.GroupID // of our groups, registered
	leaving  map[string]bool             // nodes that another actor removes
	unneeded map[string]bool
}

// growth is one that has been reported, and is still needed.
type growth struct {
	from, to int
	bought   int // by another actor, on the way from one to the other
	since    time.Time
	classes  map[string]bool // by key, those of the pods that it is for
	// idle is since when no pod waits for it, zero while one does. It is kept until the next read
	// of the cloud: pods may run on nodes that others bought before the purchase is known.
	idle time.Time
}

// AwaitsCloud reports whether some news waits for a newer read of the cloud, whatever that shows.
func (b *Book) AwaitsCloud() bool {
	for _, g := range b.growths {
		if !g.idle.IsZero() {
			return true
		}
	}
	return false
}

// Note takes in a cycle that decided.
func (b *Book) Note(s *model.Snapshot, p *model.Plan) News {
	var news News
	if b.started {
		news.Grown = b.grown(s)
		news.Gone = b.gone(s)
	}
	news.Over = b.over(s, p)
	news.Began = b.began(s, p)
	b.remember(s, p)
	return news
}

// grown compares the targets with those of the last cycle.
func (b *Book) grown(s *model.Snapshot) []Grown {
	var out []Grown
	for i := range s.Groups {
		g := &s.Groups[i]
		was, known := b.targets[g.ID]
		if !known || g.Err != nil || g.Target <= was {
			continue
		}
		nodes, elsewhere := g.Target-was, maps.Clone(b.growths)
		if own := b.growths[g.ID]; own != nil {
			if met := min(g.Target, own.to) - was; met > 0 {
				own.bought += met
				nodes -= met
				out = append(out, Grown{g.ID, met, Wanted, s.Now.Sub(own.since)})
			}
			delete(elsewhere, g.ID)
		}
		switch {
		case nodes <= 0:
		case len(elsewhere) > 0:
			out = append(out, Grown{g.ID, nodes, Elsewhere, 0})
		default:
			out = append(out, Grown{g.ID, nodes, Unwanted, 0})
		}
	}
	slices.SortStableFunc(out, func(x, y Grown) int { return cmp.Compare(x.Group, y.Group) })
	return out
}

// gone finds the nodes that no longer exist, and those whose removal has begun.
func (b *Book) gone(s *model.Snapshot) []Gone {
	var out []Gone
	tell := func(node string, group provider.GroupID) {
		agreement := Unwanted
		switch {
		case b.taints[node]:
			agreement = Wanted
		case b.unneeded[node]:
			agreement = Unneeded
		}
		out = append(out, Gone{node, group, agreement})
	}
	there := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes[:s.Registered()] {
		n := s.Nodes[i]
		there[n.Name] = true
		group, known := b.nodes[n.Name]
		switch {
		case n.Kind != model.Leaving:
			delete(b.leaving, n.Name) // it was rolled back
		case known && !b.leaving[n.Name]:
			b.leaving[n.Name] = true
			tell(n.Name, group)
		}
	}
	for node, group := range b.nodes {
		if !there[node] {
			if !b.leaving[node] {
				tell(node, group)
			}
			delete(b.leaving, node)
		}
	}
	slices.SortFunc(out, func(x, y Gone) int { return cmp.Compare(x.Node, y.Node) })
	return out
}

// over drops what no longer holds. What a cycle did not examine is kept.
func (b *Book) over(s *model.Snapshot, p *model.Plan) []Over {
	// 1. Growths.
	waits, grows := map[string]bool{}, map[provider.GroupID]bool{}
	for i := range p.Pending {
		if v := &p.Pending[i]; v.Skipped != nil || v.Planned+v.Left+v.Delayed > 0 {
			waits[s.Classes[v.Class].Key] = true
		}
	}
	for i := range p.Grow {
		grows[p.Grow[i].Group] = true
	}
	targets := b.targetsOf(s)
	var out []Over
	for id, g := range b.growths {
		needed := grows[id]
		for class := range g.classes {
			needed = needed || waits[class]
		}
		switch target, there := targets[id]; {
		case !there || target >= g.to:
		case needed:
			g.idle = time.Time{}
			continue
		case g.idle.IsZero():
			g.idle = s.Now
			continue
		case !s.AsOf.After(g.idle):
			continue
		}
		out = append(out, Over{id, g.to - g.from, g.bought, s.Now.Sub(g.since)})
		delete(b.growths, id)
	}
	slices.SortFunc(out, func(x, y Over) int { return cmp.Compare(x.Group, y.Group) })
	// 2. Removals of nodes.
	still := map[string]bool{}
	for i := range p.Unneeded {
		still[p.Unneeded[i].Node] = true
	}
	for i := range p.Kept {
		if p.Kept[i].Reason == model.StepBudget {
			still[p.Kept[i].Node] = true
		}
	}
	for node := range b.taints {
		if !still[node] {
			delete(b.taints, node)
		}
	}
	return out
}

// began returns the calls that were not reported before.
func (b *Book) began(s *model.Snapshot, p *model.Plan) []Would {
	var out []Would
	others := map[string]bool{}
	for _, call := range p.Calls {
		switch call.Verb {
		case model.Grow:
			if more, pods := b.grow(s, p, call); more > 0 {
				out = append(out, Would{Call: call, Nodes: more, Pods: pods})
			}
		case model.Taint:
			if !b.taints[call.Node] {
				b.taint(call.Node)
				out = append(out, Would{Call: call, Moves: len(call.Known)})
			}
		default:
			if ofRemoval(call) {
				continue
			}
			key := string(call.Verb) + " " + cmp.Or(call.Node, string(call.Instance), string(call.Group))
			others[key] = true
			if !b.others[key] {
				out = append(out, Would{Call: call})
			}
		}
	}
	b.others = others
	return out
}

// ofRemoval reports whether a call continues, or takes back, the removal of a node
// that has been begun.
func ofRemoval(call model.Call) bool {
	switch call.Verb {
	case model.Cordon, model.Evict, model.Untaint:
		return true
	case model.Remove:
		return call.Node != ""
	}
	return false
}

// grow takes a scale-up in. It returns how many of its nodes are new, and how many pods it is for.
func (b *Book) grow(s *model.Snapshot, p *model.Plan, call model.Call) (more, pods int) {
	if b.growths == nil {
		b.growths = map[provider.GroupID]*growth{}
	}
	g := b.growths[call.Group]
	if g == nil {
		g = &growth{from: call.From, to: call.From, since: s.Now, classes: map[string]bool{}}
		b.growths[call.Group] = g
	}
	for i := range p.Grow {
		if p.Grow[i].Group != call.Group {
			continue
		}
		for _, batch := range p.Grow[i].Pods {
			g.classes[s.Classes[batch.Class].Key] = true
			pods += batch.Count
		}
	}
	more = max(0, call.To-max(g.to, call.From))
	g.to = max(g.to, call.To)
	return more, pods
}

func (b *Book) taint(node string) {
	if b.taints == nil {
		b.taints = map[string]bool{}
	}
	b.taints[node] = true
}

// remember keeps the state of this cycle.
func (b *Book) remember(s *model.Snapshot, p *model.Plan) {
	if !b.started {
		b.leaving = map[string]bool{}
	}
	b.targets = b.targetsOf(s)
	b.nodes = make(map[string]provider.GroupID, len(b.nodes))
	for i := range s.Nodes[:s.Registered()] {
		n := s.Nodes[i]
		if n.Group < 0 {
			continue
		}
		b.nodes[n.Name] = s.Groups[n.Group].ID
		if n.Kind == model.Leaving && !b.started {
			b.leaving[n.Name] = true
		}
	}
	b.unneeded = make(map[string]bool, len(p.Unneeded))
	for i := range p.Unneeded {
		b.unneeded[p.Unneeded[i].Node] = true
	}
	b.started = true
}

// targetsOf are the groups' targets. That of one that cannot be read is the last one
// that was.
func (b *Book) targetsOf(s *model.Snapshot) map[provider.GroupID]int {
	out := make(map[provider.GroupID]int, len(s.Groups))
	for i := range s.Groups {
		g := &s.Groups[i]
		if last, known := b.targets[g.ID]; g.Err == nil {
			out[g.ID] = g.Target
		} else if known {
			out[g.ID] = last
		}
	}
	return out
}
