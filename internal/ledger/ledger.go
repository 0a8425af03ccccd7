// Package ledger is the cluster state registry, as a fold: what was asked, how
// far it has come, what is under way, and how healthy all of it is.
//
//	ledger' = ledger.Fold(seen, ended)     what is seen, after the ends of calls
//	standing = ledger.Standing()           for the snapshot to be decided on
//	ledger'' = ledger.Note(snapshot, plan) intent on record, before the writes
//
// Each growth is an Ask, whose units come one by one from asked to instance to
// node to ready, or are given up when their own time is over: a growth that is
// asked for later postpones nobody's timer. Each removal is a Drain, advanced by
// the calls of plans, by their ends, and by what is seen of the node and of the
// pods on it; what comes next is for decide to say. Calls under way are values,
// too.
//
// What must survive a restart is a Memory, and Restore begins with one; with an
// empty one the ledger finds out from the cloud what is on its way.
//
// What flows in: observations, outcomes of calls, snapshots with their plans.
// What flows out: a model.Standing, a model.Memory, and what changed. It reads
// no clock and does no I/O.
//
// Who may import it: loop and the hosts. It imports model.
package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Ledger is what is known beyond what can be seen.
type Ledger struct {
	rules    model.Rules
	groups   map[provider.GroupID]*group
	calls    map[string]model.Call
	nodes    *standings
	brakes   []model.Brake
	arrivals []model.Arrival
	doubts   map[string]model.Doubt // by class; made anew by each Note
	waits    []string               // the classes that the last plan found pending, by digest
	changes  []model.Change

	counts, others model.Counts
	unhealthy      *model.Verdict

	// last is of the whole cluster. inherited is what was remembered of it: in
	// which group it happened is not, so that it counts for each that has had
	// nothing of the kind since. We err to waiting longer.
	last, inherited lasts
	// resume is where the search for unneeded nodes goes on.
	resume string
	// unseen are the classes that the last cycle had no steps for.
	unseen []string
	// displaced are the controllers of pods that were evicted a short while ago.
	displaced map[types.UID]model.Displaced
	// strays are nodes whose instance is listed no more, with the group that had it.
	strays map[string]provider.GroupID
	// written is when what was restored had been written down.
	written time.Time
	// news: the ledger says something else than it did to the last decision, and
	// nothing that is seen need have changed for that.
	news bool

	// What follows is filled anew by each Fold; it keeps its memory only.
	turn   uint64
	homes  model.Homes
	of     []provider.Group // the groups that homes was made of
	order  []*group         // by index of the inventory's groups
	places []place          // by index of the nodes
	fresh  []*provider.Instance
	timed  map[string]bool // nodes whose time of being unneeded goes on
}

// place is where a node was found to be at home. It stays right while neither
// the node's name and id nor the instances change.
type place struct {
	name, providerID string
	home             model.Home
	ok               bool
}

// New gives a ledger that knows nothing.
func New(rules model.Rules) *Ledger { return Restore(rules, model.Memory{}) }

// Fold takes in the ends of calls, then what is seen.
func (l *Ledger) Fold(seen model.Observation, ended []model.Outcome) {
	l.turn++
	l.changes = nil
	if l.turn == 1 {
		l.trust(seen.Now)
	}
	// 1. Ends of calls, in the order in which they ended.
	if len(ended) > 0 {
		ended = slices.Clone(ended)
		slices.SortFunc(ended, func(a, b model.Outcome) int {
			return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Call.ID, b.Call.ID))
		})
	}
	for _, o := range ended {
		l.end(o)
	}
	// 2. Targets, and whose instance each node is.
	l.targets(seen)
	l.match(&seen.Inventory)
	// 3. Nodes: their state; what we wrote is seen, what is gone is forgotten.
	l.seenNodes(&seen)
	// 4. Groups: how far each unit is, what is missing, what is given up.
	l.presumeLost(&seen)
	for i, g := range l.order {
		if g.sighted {
			l.progress(g, &seen.Inventory.Groups[i], seen)
		}
	}
	l.dropGone(seen.Nodes)
	l.news = removal.Settle(l.displaced, &seen) || l.news
	// 5. The health of it all (S1).
	l.health(seen.Now)
}

// dropGone forgets arrivals whose node is gone.
func (l *Ledger) dropGone(nodes []model.ObservedNode) {
	if len(l.arrivals) == 0 {
		return
	}
	l.arrivals = slices.DeleteFunc(l.arrivals, func(a model.Arrival) bool { return !inNodes(nodes, a.Node) })
}

// match finds the home of every node, unless the instances are those of the
// last picture.
func (l *Ledger) match(inv *provider.Inventory) {
	l.order = l.order[:0]
	for i := range inv.Groups {
		g := l.group(inv.Groups[i].ID)
		g.begin()
		l.order = append(l.order, g)
	}
	if !sameInstances(l.of, inv.Groups) {
		l.homes.Fill(len(inv.Groups), func(i int) *provider.Group { return &inv.Groups[i] })
		l.places = l.places[:0]
		for i, g := range l.order {
			for _, node := range g.fill(&inv.Groups[i]) {
				l.strays[node] = g.id
			}
		}
	}
	l.of = inv.Groups
}

// sameInstances tells whether two pictures have the same instances, in the same
// order, whatever their states.
func sameInstances(a, b []provider.Group) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.ID != y.ID || len(x.Instances) != len(y.Instances) {
			return false
		}
		for j := range x.Instances {
			p, q := &x.Instances[j], &y.Instances[j]
			if p.ID != q.ID || p.ProviderID != q.ProviderID || p.NodeName != q.NodeName {
				return false
			}
		}
	}
	return true
}

// home finds a node's home: where it was, or by its id and name.
func (l *Ledger) home(i int, n *corev1.Node) (model.Home, bool) {
	for len(l.places) <= i {
		l.places = append(l.places, place{})
	}
	at := &l.places[i]
	if at.name != n.Name || at.providerID != n.Spec.ProviderID {
		*at = place{name: n.Name, providerID: n.Spec.ProviderID}
		at.home, at.ok = l.homes.Of(n)
	}
	return at.home, at.ok
}

// Note puts a plan's intents on record, before any of its calls is started, and
// what the plan found out: since when nodes have been unneeded, what holds them,
// and which growths did not help.
func (l *Ledger) Note(s *model.Snapshot, p model.Plan) {
	l.news = !slices.Equal(s.Brakes, p.Brakes) // this plan has tried the groups that the next must not, or not those that it may
	grown := map[provider.GroupID][]string{}
	for _, g := range p.Grow {
		for _, b := range g.Pods {
			grown[g.Group] = append(grown[g.Group], s.Classes[b.Class].Digest())
		}
	}
	for _, c := range p.Calls {
		l.calls[c.ID] = c
		switch {
		case c.Verb == model.Grow:
			g := l.group(c.Group)
			g.expected, g.written = c.To, s.Now
			g.asks = append(g.asks, model.Ask{ID: c.ID, Group: c.Group, At: s.Now, For: grown[c.Group], Units: make([]model.Unit, max(0, c.To-c.From))})
		case c.Node != "":
			l.noteNode(s, c)
		}
	}
	l.noteVerdicts(s, &p)
	l.brakes, l.resume, l.unseen = p.Brakes, p.Resume, p.Unseen
	l.dropArrivals(s, p)
	l.noteDoubts(s, p)
}

// noteDoubts keeps since when the scheduler has refused pods that fit ready nodes. One
// pod less is progress: the scheduler may have more to do than it can at once. A
// restart begins anew; we err to waiting longer.
func (l *Ledger) noteDoubts(s *model.Snapshot, p model.Plan) {
	before := l.doubts
	l.doubts = nil
	for i := range p.Pending {
		v := &p.Pending[i]
		if v.Skipped != nil || (v.Existing == 0 && v.Disagrees == nil) {
			continue
		}
		class := s.Classes[v.Class].Digest()
		now := model.Doubt{Since: s.Now, Pods: v.Pods}
		switch was, ok := before[class]; {
		case ok && was.Pods <= v.Pods:
			now.Since = was.Since
		case ok:
			l.news = true // the plan still went by the time that begins again
		}
		if l.doubts == nil {
			l.doubts = map[string]model.Doubt{}
		}
		l.doubts[class] = now
	}
}

// dropArrivals forgets the nodes that have come for pods that wait no more.
func (l *Ledger) dropArrivals(s *model.Snapshot, p model.Plan) {
	l.waits = nil
	for i := range p.Pending {
		l.waits = append(l.waits, s.Classes[p.Pending[i].Class].Digest())
	}
	if len(l.arrivals) == 0 {
		return
	}
	before := len(l.arrivals)
	l.arrivals = slices.DeleteFunc(slices.Clone(l.arrivals), func(a model.Arrival) bool {
		return !slices.ContainsFunc(a.For, func(class string) bool { return slices.Contains(l.waits, class) })
	})
	l.news = l.news || len(l.arrivals) < before // a node that settled for them is what it is
}

// group gives a group's record, a new one if there is none.
func (l *Ledger) group(id provider.GroupID) *group {
	g, ok := l.groups[id]
	if !ok {
		g = &group{id: id, instances: map[provider.InstanceID]*instance{}}
		l.groups[id] = g
	}
	return g
}

// Open lists the calls under way, by id.
func (l *Ledger) Open() []model.Call {
	open := make([]model.Call, 0, len(l.calls))
	for _, id := range slices.Sorted(maps.Keys(l.calls)) {
		open = append(open, l.calls[id])
	}
	return open
}

// AwaitsCloud reports whether a newer read of the cloud may change what is known
// even if it shows nothing new: a call is open, a node is on its way out, or a
// group is not settled. We err to saying so.
func (l *Ledger) AwaitsCloud() bool {
	if len(l.calls) > 0 || l.nodes.leaving > 0 {
		return true
	}
	for _, g := range l.groups {
		if !g.settled() {
			return true
		}
	}
	return false
}

// News reports whether the ledger says something else than it did to the last decision,
// though nothing that is seen need have changed: a version that was waited for is seen,
// which by itself is no news of a node; a time is over; the last plan let something be
// forgotten.
func (l *Ledger) News() bool { return l.news }

// Changes are what happened in the last Fold.
func (l *Ledger) Changes() []model.Change { return l.changes }
