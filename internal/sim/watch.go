package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// watch is what one leader knows of nodes, pods and budgets: the truth, later. Changes of one kind
// arrive in order, each with its own lag.
type watch struct {
	w      *world
	lag    Span
	ahead  time.Duration // of the watcher's clock
	seen   *view
	news   func()
	closed bool
	// When the last change of the kind arrives.
	nodes, pods, budgets time.Time
	// lists counts how often all was listed again: changes from before are not taken in.
	lists int
	// held are changes that wait until the API server can be reached.
	held []change
	// stopped reports whether the process is.
	stopped func() bool
	// moved is how far the dates of nodes seem to be off, and redated the nodes with such dates.
	moved   time.Duration
	redated map[*corev1.Node]*corev1.Node
}

// newWatch lists everything, and receives changes from then on.
func newWatch(w *world, lag Span, ahead time.Duration, news func(), stopped func() bool) *watch {
	v := &watch{w: w, lag: lag, ahead: ahead, seen: newView(), news: news, stopped: stopped}
	for _, o := range w.truth.observed() {
		v.seen.putNode(o.Object, o.Shape, false)
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.truth.seats), comparePods) {
		v.seen.putPod(v.dated(w.truth.seats[id]))
	}
	for _, b := range w.truth.observedBudgets() {
		v.seen.putBudget(b)
	}
	return v
}

// hear receives a change; it is known after its lag.
func (v *watch) hear(c change) {
	if v != v.w.stale && v.w.meets(lossyWatch, nil, "") != nil {
		return
	}
	last := &v.pods
	switch {
	case c.node != nil || c.goneNode != "":
		last = &v.nodes
	case c.budget != nil || c.goneBudget.name != "":
		last = &v.budgets
	}
	at := v.w.now.Add(v.lag.draw(v.w.dice.watch))
	if at.Before(*last) {
		at = *last
	}
	*last = at
	lists := v.lists
	v.w.at(at, func() {
		switch {
		case v.closed || lists != v.lists:
		case v.w.suffers(apiDown) != nil || v.stopped():
			v.held = append(v.held, c)
		case v.take(c):
			v.news()
		}
	})
}

// catchUp takes in what has waited.
func (v *watch) catchUp() {
	news := false
	for _, c := range v.held {
		news = v.take(c) || news
	}
	if v.held = nil; news {
		v.news()
	}
}

// take takes in a change that has arrived.
func (v *watch) take(c change) (news bool) {
	switch {
	case c.node != nil:
		return v.seen.putNode(c.node, c.shape, c.same)
	case c.goneNode != "":
		return v.seen.dropNode(c.goneNode)
	case c.gonePod.name != "":
		v.seen.dropPod(c.gonePod)
		return false
	case c.budget != nil:
		return v.seen.putBudget(*c.budget)
	case c.goneBudget.name != "":
		v.seen.dropBudget(c.goneBudget)
		return false
	default:
		return v.seen.putPod(v.dated(c.seat))
	}
}

// dated is a pod as it is seen: the time that it has to end is counted by the watcher's clock.
func (v *watch) dated(s seat) seat {
	if s.pod.Flags&model.Terminating != 0 {
		s.pod.Ends += int64(v.ahead / time.Second)
	}
	return s
}

// datedNodes are those seen, with their dates as far off as the machine's clock has jumped since the process began: as
// the cloud's are.
func (v *watch) datedNodes() []model.ObservedNode {
	if moved := v.ahead - v.w.ahead; moved != v.moved {
		v.moved, v.redated = moved, map[*corev1.Node]*corev1.Node{}
		for _, n := range v.seen.nodes {
			v.seen.touch(n)
		}
	}
	seen := v.seen.observed()
	if v.moved == 0 {
		return seen
	}
	seen = slices.Clone(seen)
	for i := range seen {
		n := seen[i].Object
		if v.redated[n] == nil {
			c := n.DeepCopy()
			c.CreationTimestamp = metav1.NewTime(n.CreationTimestamp.Add(v.moved))
			for j := range c.Status.Conditions {
				t := &c.Status.Conditions[j].LastTransitionTime
				*t = metav1.NewTime(t.Add(v.moved))
			}
			v.redated[n] = c
		}
		seen[i].Object = v.redated[n]
	}
	return seen
}

// readyNodes says which instances have a node that is Ready, as the leader sees it now.
func (l *leader) readyNodes() func(*provider.Instance) bool {
	byID := l.watch.seen.readyByID()
	return func(in *provider.Instance) bool {
		n := l.watch.seen.object(in.NodeName)
		return in.ProviderID != "" && byID[in.ProviderID] || n != nil && model.NodeReady(n)
	}
}

// Observe takes together what the leader knows at this moment.
func (l *leader) Observe(_ context.Context, now time.Time) (model.Observation, error) {
	cloud := l.reader.known.Latest()
	if l.reader.known.Contradicted() {
		cloud = l.reader.known.Believed(l.readyNodes())
	}
	w, nodes := l.w, l.watch.datedNodes() // before its generation is read
	w.judge.tell(check.Event{What: check.Sees, When: l.truly(cloud.AsOf), Process: l.jobs.name})
	seen := model.Observation{
		Now: now, Seed: w.settings.Seed, Generation: l.watch.seen.generation + l.reader.generation,
		Nodes: nodes, Unbound: l.watch.seen.unbound(), Budgets: l.watch.seen.observedBudgets(),
		DaemonSets: w.daemonSets, Namespaces: w.namespaces,
		Inventory: cloud, InventoryErr: l.reader.err, Templates: w.templates(cloud.Groups),
	}
	seen.Contents = w.catalog.Contents()
	l.again.see(seen)
	return seen, nil
}

// templates names what each group's template consists of.
func (w *world) templates(groups []provider.Group) []model.Template {
	out := make([]model.Template, len(groups))
	for i := range groups {
		t := groups[i].Template
		if t == nil || t.Node == nil {
			continue
		}
		known, ok := w.contents[t]
		if !ok {
			known = model.Template{Known: true,
				Shape: w.catalog.Shape(w.settings.Policy.Rules.Passing.Stripped(t.Node))}
			for _, pod := range t.Pods {
				known.Pods = append(known.Pods, w.catalog.Pod(pod))
			}
			w.contents[t] = known
		}
		out[i] = known
	}
	return out
}
