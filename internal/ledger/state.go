package ledger

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/growth"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Ledger is what is known beyond what can be seen.
type Ledger struct {
	rules  model.Rules
	groups map[provider.GroupID]*growth.Group
	calls  map[string]model.Call
	nodes  *standings
	brakes []model.Brake
	// doubts are by class; doubted are the pods that they are about, and the class of each. Each Note replaces both.
	doubts  map[string]model.Doubt
	doubted map[types.UID]string

	counts, others model.Counts
	unhealthy      *model.Verdict

	// last is of the whole cluster. inherited is what was remembered of it: in
	// which group it happened is not, so that it counts for each that has had
	// nothing of the kind since. We err to waiting longer.
	last, inherited growth.Lasts
	// moves are those under way, and those whose nodes are left alone; by when they began.
	moves []model.Move
	// exits are the nodes that began to go a short while ago, where a budget counts them.
	exits []budget.Exit
	// interruptions are those that the last plan had.
	interruptions []model.Interruption
	// resume is where the search for unneeded nodes goes on.
	resume string
	// unseen are the classes that the last cycle had no steps for.
	unseen []string
	// displaced are the controllers of pods that were evicted a short while ago.
	displaced map[types.UID]model.Displaced
	// strays are nodes whose instance is listed no more, with the group that had it.
	strays map[string]provider.GroupID
	// written is when what was restored had been written down, folded when the last observation was taken in.
	written, folded time.Time
	// news: the ledger says something else than it did to the last decision, and
	// nothing that is seen need have changed for that.
	news bool

	// calm is the generation of an observation that may be folded again without a look at it; zero if there
	// is none.
	calm uint64
	// busyNodes counts the nodes of the last fold that have a removal, a rest, or something of ours that is not
	// seen yet.
	busyNodes int

	// fold is what all groups share of the fold that goes on, or was last. Beyond that,
	// it keeps the arrivals, and the classes that the last plan found pending.
	fold growth.Fold

	// What follows is refilled by each Fold; it keeps its memory only.
	turn   uint64
	homes  model.Homes
	of     []provider.Group // the groups that homes was made of
	order  []*growth.Group  // by index of the inventory's groups
	places []place          // by index of the nodes
	still  bool             // the instances are the very ones of the fold before
	timed  map[string]bool  // nodes whose time of being unneeded goes on
}

// place is the home that was found for a node. It stays right while neither the node's name
// and id nor the instances change.
type place struct {
	name, providerID string
	home             model.Home
	ok               bool
	// quiet is the object of a node that was ready in the fold before, of a group, and had nothing of ours under way:
	// while nothing of this changes, no time changes what is known of it. Nil of others. known: something is.
	quiet *corev1.Node
	known bool
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

// group gives a group's record, a new one if there is none.
func (l *Ledger) group(id provider.GroupID) *growth.Group {
	g, ok := l.groups[id]
	if !ok {
		g = growth.New(id)
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

// open reports whether a call on the node is under way.
func (l *Ledger) open(node string) bool {
	for _, c := range l.calls {
		if c.Node == node {
			return true
		}
	}
	return false
}

// busy reports whether a write to the group is under way.
func (l *Ledger) busy(id provider.GroupID) bool {
	for _, c := range l.calls {
		if c.Group == id && busiesGroup(&c) {
			return true
		}
	}
	return false
}

// endsAmiss reports whether a call ends a machine because something is amiss with it. One that
// the cloud could not make is none.
func endsAmiss(c model.Call) bool {
	return c.Verb == model.Remove && (c.Unready || c.Node == "" && c.Reason != model.InstanceFailed)
}

// busiesGroup reports whether a call changes its group's target. The others are
// writes to one node, or to one pod.
func busiesGroup(c *model.Call) bool {
	return c.Verb == model.Grow || c.Verb == model.Cancel || c.Verb == model.Remove
}

// busiesNode reports whether a call writes to its node. An eviction does not: many
// of one node may be under way.
func busiesNode(c *model.Call) bool { return c.Node != "" && c.Verb != model.Evict }

// standings has an entry for each node that something is known of: in a large cluster, for
// every node. To copy it for each snapshot would cost more than to fold an observation. It is
// copied before the first change that follows a snapshot, and not at all if nothing changes.
type standings struct {
	of    map[string]model.NodeStanding
	given bool // a snapshot refers to the map
	// changed are those that were put since the nodes were last gone through.
	changed map[string]bool
	// unneeded is how many of them are unneeded since some time, and since is when, by name; nil where that has
	// changed since it was last asked for.
	unneeded int
	since    map[string]time.Time
	// leaving is how many of them have a drain.
	leaving int
}

func newStandings() *standings {
	return &standings{of: map[string]model.NodeStanding{}, changed: map[string]bool{}}
}

// give hands the map out.
func (s *standings) give() map[string]model.NodeStanding {
	s.given = true
	return s.of
}

// own makes sure that no snapshot refers to the map.
func (s *standings) own() {
	if s.given {
		s.of, s.given = maps.Clone(s.of), false
	}
}

// times is since when nodes are unneeded, by name. It must not be changed.
func (s *standings) times() map[string]time.Time {
	if s.since == nil && s.unneeded > 0 {
		s.since = make(map[string]time.Time, s.unneeded)
		for name, n := range s.of {
			if !n.UnneededSince.IsZero() {
				s.since[name] = n.UnneededSince
			}
		}
	}
	return s.since
}

// put sets a node's standing; an empty one is forgotten.
func (s *standings) put(name string, n model.NodeStanding) {
	was := s.of[name]
	if n == was {
		return
	}
	s.own()
	s.changed[name] = true
	if n.UnneededSince != was.UnneededSince {
		s.since = nil
	}
	if !was.UnneededSince.IsZero() {
		s.unneeded--
	}
	if !n.UnneededSince.IsZero() {
		s.unneeded++
	}
	if was.Drain != nil {
		s.leaving--
	}
	if n.Drain != nil {
		s.leaving++
	}
	if n == (model.NodeStanding{}) {
		delete(s.of, name)
		return
	}
	s.of[name] = n
}
